//! Files that take the place of others only when they are complete.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

const BUFFER_LEN: usize = 1 << 18;

/// A file being written beside the one whose place it will take. Dropped before [`Replacement::commit`], it leaves nothing behind.
///
/// A symbolic link stays one: the file that it leads to is replaced. What is no regular file (a device, a named pipe) can not be replaced and is
/// written to as it stands.
#[derive(Debug)]
pub struct Replacement(Kind);

#[derive(Debug)]
enum Kind {
    Beside(BufWriter<File>, TempPath, PathBuf),
    InPlace(BufWriter<File>),
}

impl Replacement {
    /// Creates the temporary file in the folder of `path`.
    ///
    /// # Errors
    ///
    /// When the folder does not let one.
    pub fn beside(path: &Path) -> io::Result<Replacement> {
        // Names of what a process has open: a regular file behind one is somebody's stream.
        if ["/dev", "/proc"].iter().any(|folder| path.starts_with(folder)) {
            let file = OpenOptions::new().append(true).open(path)?;
            return Ok(Replacement(Kind::InPlace(BufWriter::with_capacity(BUFFER_LEN, file))));
        }
        let path = match path.canonicalize() {
            Ok(target) => target,
            Err(_) => path.to_path_buf(),
        };
        let mut replaced = None;
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return Err(io::Error::from(io::ErrorKind::IsADirectory)),
            Ok(metadata) if !metadata.is_file() => {
                let file = OpenOptions::new().write(true).open(&path)?;
                return Ok(Replacement(Kind::InPlace(BufWriter::with_capacity(BUFFER_LEN, file))));
            }
            Ok(metadata) => replaced = Some(metadata.permissions()),
            Err(_) => {}
        }
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let mut options = tempfile::Builder::new();
        options.prefix(".robosieve-").suffix(".partial");
        let permissions = shared_permissions();
        if let Some(permissions) = permissions {
            options.permissions(permissions);
        }
        fs::metadata(folder)?;
        // The temporary file's name would say nothing to whoever reads the error.
        let file = options.tempfile_in(folder).map_err(|error| io::Error::from(error.kind()))?;
        if let Some(permissions) = replaced {
            file.as_file().set_permissions(permissions)?;
        }
        let (file, temporary) = file.into_parts();
        Ok(Replacement(Kind::Beside(BufWriter::with_capacity(BUFFER_LEN, file), temporary, path)))
    }

    /// Puts the file in its place, once all of it is on disk.
    ///
    /// # Errors
    ///
    /// When it can not be written out or moved; the old file is then as it was.
    pub fn commit(self) -> io::Result<()> {
        match self.0 {
            Kind::InPlace(mut file) => file.flush(),
            Kind::Beside(file, temporary, path) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.sync_all()?;
                temporary.persist(&path).map_err(|error| error.error)?;
                Ok(())
            }
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Beside(file, ..) => file.write(octets),
            Kind::InPlace(file) => file.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Beside(file, ..) => file.flush(),
            Kind::InPlace(file) => file.flush(),
        }
    }
}

/// The permissions of an ordinary new file, before the process's mask: temporary files are private otherwise.
fn shared_permissions() -> Option<Permissions> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    #[cfg(not(unix))]
    None
}
