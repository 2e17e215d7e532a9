//! Where data goes: standard output, or a file that takes its place when it is complete.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

use robosieve::store::replace::Replacement;

use crate::exit::Failure;

/// An output, opened before work starts.
pub enum Output {
    Stdout(BufWriter<StdoutLock<'static>>),
    File(Replacement, String),
}

impl Output {
    /// Opens `path`, or standard output for `-`.
    pub fn create(path: &Path) -> Result<Output, Failure> {
        if path == Path::new("-") {
            return Ok(Output::Stdout(BufWriter::with_capacity(1 << 16, io::stdout().lock())));
        }
        let name = path.display().to_string();
        let replacement = Replacement::beside(path).map_err(|error| Failure::of(&name, &error))?;
        Ok(Output::File(replacement, name))
    }

    /// Refuses outputs of one run that go to the same place.
    pub fn all_apart(paths: &[Option<&Path>]) -> Result<(), Failure> {
        let place = |path: &Path| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
            path.canonicalize().unwrap_or_else(|_| folder.join(path.file_name().unwrap_or_default()))
        };
        let places: Vec<PathBuf> =
            paths.iter().flatten().map(|path| if *path == Path::new("-") { path.to_path_buf() } else { place(path) }).collect();
        match (0..places.len()).find(|&one| places[..one].contains(&places[one])) {
            Some(one) => Err(Failure::new(format!("two outputs can not both go to {}", places[one].display()))),
            None => Ok(()),
        }
    }

    /// Writes everything out and puts a file in its place.
    pub fn commit(self) -> Result<(), Failure> {
        match self {
            Output::Stdout(mut out) => out.flush().map_err(|error| Failure::of("standard output", &error)),
            Output::File(file, name) => file.commit().map_err(|error| Failure::of(name, &error)),
        }
    }
}

impl Write for Output {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Output::Stdout(out) => out.write(octets).map_err(|error| named("standard output", &error)),
            Output::File(file, name) => file.write(octets).map_err(|error| named(name, &error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stdout(out) => out.flush().map_err(|error| named("standard output", &error)),
            Output::File(file, name) => file.flush().map_err(|error| named(name, &error)),
        }
    }
}

/// The same error, with the name of what it happened to.
fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
