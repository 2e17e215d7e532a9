//! Files that take the place of others only when they are complete.

use std::fs::Permissions;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// A file being written beside the one whose place it will take. Dropped before [`Replacement::commit`], it leaves nothing behind.
#[derive(Debug)]
pub struct Replacement {
    file: BufWriter<NamedTempFile>,
    path: PathBuf,
}

impl Replacement {
    /// Creates the temporary file in the folder of `path`.
    ///
    /// # Errors
    ///
    /// When the folder does not let one.
    pub fn beside(path: &Path) -> io::Result<Replacement> {
        if path.is_dir() {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
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
        let file = BufWriter::with_capacity(1 << 18, options.tempfile_in(folder)?);
        Ok(Replacement { file, path: path.to_path_buf() })
    }

    /// Puts the file in its place, once all of it is on disk.
    ///
    /// # Errors
    ///
    /// When it can not be written out or moved; the old file is then as it was.
    pub fn commit(self) -> io::Result<()> {
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

impl Write for Replacement {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.file.write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The permissions of an ordinary new file, before the process's mask: temporary files are private otherwise.
fn shared_permissions() -> Option<Permissions> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    #[cfg(not(unix))]
    None
}
