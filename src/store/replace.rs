//! Files that take the place of others only when they are complete.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::TempPath;

const BUFFER_LEN: usize = 1 << 18;

/// A file being written beside the one whose place it will take. Dropped before [`Replacement::commit`], it leaves nothing behind; on Linux, where the file
/// system has files without names, not even if the process is killed.
///
/// A symbolic link stays one: the file that it leads to is replaced. What is no regular file (a device, a named pipe) can not be replaced and is
/// written to as it stands.
#[derive(Debug)]
pub struct Replacement(Kind);

#[derive(Debug)]
enum Kind {
    Beside(BufWriter<File>, TempPath, PathBuf),
    /// A file without a name, which vanishes with the process.
    #[cfg(target_os = "linux")]
    Nameless(BufWriter<File>, PathBuf),
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
        let folder = folder_of(&path);
        #[cfg(target_os = "linux")]
        if let Some(file) = nameless(folder) {
            if let Some(permissions) = replaced {
                file.set_permissions(permissions)?;
            }
            return Ok(Replacement(Kind::Nameless(BufWriter::with_capacity(BUFFER_LEN, file), path)));
        }
        let mut options = names();
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
            #[cfg(target_os = "linux")]
            Kind::Nameless(file, path) => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.sync_all()?;
                // Where there is nothing to replace, one step does.
                if name_it(&file, &path).is_ok() {
                    return Ok(());
                }
                let folder = folder_of(&path);
                // Else a name of its own first: only a rename takes the place of another file.
                let named = names().make_in(folder, |name| name_it(&file, name)).map_err(|error| io::Error::from(error.kind()))?;
                named.into_temp_path().persist(&path).map_err(|error| error.error)
            }
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
            #[cfg(target_os = "linux")]
            Kind::Nameless(file, _) => file.write(octets),
            Kind::InPlace(file) => file.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Beside(file, ..) => file.flush(),
            #[cfg(target_os = "linux")]
            Kind::Nameless(file, _) => file.flush(),
            Kind::InPlace(file) => file.flush(),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// What files are called that are not yet in their place.
fn names() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".robosieve-").suffix(".partial");
    names
}

/// A file in that folder without a name; `None` where there is no such thing, or no way to name it afterwards.
#[cfg(target_os = "linux")]
fn nameless(folder: &Path) -> Option<File> {
    use rustix::fs::{Mode, OFlags};

    let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::WGRP | Mode::ROTH | Mode::WOTH;
    let file = File::from(rustix::fs::open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode).ok()?);
    fs::symlink_metadata(path_of(&file)).is_ok().then_some(file)
}

/// Gives a file without a name one.
#[cfg(target_os = "linux")]
fn name_it(file: &File, name: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};

    Ok(linkat(CWD, path_of(file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
}

/// Where a file of this process stands that has no name.
#[cfg(target_os = "linux")]
fn path_of(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;

    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// The permissions of an ordinary new file, before the process's mask: temporary files are private otherwise.
fn shared_permissions() -> Option<Permissions> {
    #[cfg(unix)]
    return Some(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    #[cfg(not(unix))]
    None
}
