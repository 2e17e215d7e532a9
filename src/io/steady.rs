//! Files that are read by place and must not change meanwhile.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

/// An open file, as long and as old as it was when it was opened. Reading moves no position that threads share.
#[derive(Debug, Clone)]
pub(super) struct Steady {
    file: Arc<File>,
    len: u64,
    modified: Option<SystemTime>,
}

impl Steady {
    pub(super) fn new(file: File) -> io::Result<Steady> {
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        Ok(Steady { file: Arc::new(file), len: metadata.len(), modified: metadata.modified().ok() })
    }

    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// An error if it is not as it was, by its length and the time of its last change: what was read since can be anything.
    pub(super) fn check_unchanged(&self) -> io::Result<()> {
        let found = self.file.metadata()?;
        if found.len() != self.len {
            return Err(changed(&format!("it had {} octets and has {}", self.len, found.len())));
        }
        if self.modified.is_some() && found.modified().ok() != self.modified {
            return Err(changed("it was written to"));
        }
        Ok(())
    }

    #[cfg(unix)]
    pub(super) fn read_at(&self, into: &mut [u8], start: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&*self.file, into, start)
    }

    #[cfg(windows)]
    pub(super) fn read_at(&self, into: &mut [u8], start: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&*self.file, into, start)
    }

    pub(super) fn read_exact_at(&self, mut into: &mut [u8], mut start: u64) -> io::Result<()> {
        while !into.is_empty() {
            match self.read_at(into, start) {
                Ok(0) => {
                    self.check_unchanged()?;
                    return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
                }
                Ok(read) => {
                    into = &mut into[read..];
                    start += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn changed(how: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the file changed while it was read ({how}): run again when nothing writes to it any more"),
    )
}
