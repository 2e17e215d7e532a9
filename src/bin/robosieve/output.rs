//! Where data goes: standard output, or a file that takes its place when it is complete.

use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::Path;

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
            Output::Stdout(out) => out.write(octets),
            Output::File(file, _) => file.write(octets),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stdout(out) => out.flush(),
            Output::File(file, _) => file.flush(),
        }
    }
}
