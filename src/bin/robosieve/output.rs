//! Where data goes: standard output, or a file that takes its place when it is complete.

use std::io::{self, BufWriter, Stdout, Write};
use std::path::{Path, PathBuf};

use robosieve::io::compressed::{Compression, Encoder};
use robosieve::store::replace::Replacement;

use crate::exit::{Failure, STDOUT, shown};

/// An output, opened before work starts. A file whose name ends so is compressed with gzip or zstd.
pub enum Output {
    Stdout(BufWriter<Stdout>),
    File(Box<Encoder<Replacement>>, String),
}

impl Output {
    /// Opens `path`, or standard output for `-`.
    pub fn create(path: &Path) -> Result<Output, Failure> {
        if is_stdout(path) {
            return Ok(Output::Stdout(BufWriter::with_capacity(1 << 16, io::stdout())));
        }
        let name = shown(path).to_string();
        let file = Replacement::beside(path).and_then(|file| Encoder::new(file, Compression::of_name(path)));
        Ok(Output::File(Box::new(file.map_err(|error| Failure::of(&name, &error))?), name))
    }

    /// Refuses outputs of one run that go to the same place, or to that of something that the run reads and must keep.
    pub fn all_apart(outputs: &[Option<&Path>], kept: &[&Path]) -> Result<(), Failure> {
        let places: Vec<PathBuf> = outputs.iter().flatten().map(|path| place(path)).collect();
        if let Some(one) = (0..places.len()).find(|&one| places[..one].contains(&places[one])) {
            return Err(Failure::new(format!("two outputs can not both go to {}", shown(&places[one]))));
        }
        let kept: Vec<PathBuf> = kept.iter().map(|path| path.canonicalize().unwrap_or_default()).collect();
        // Of a directory every file may be read.
        let is_read =
            |place: &&PathBuf| kept.iter().any(|kept| *place == kept || (kept.is_dir() && place.is_file() && place.starts_with(kept)));
        match places.iter().find(is_read) {
            Some(place) => Err(Failure::new(format!("the output would replace {}, which is read: give it another name", shown(place)))),
            None => Ok(()),
        }
    }

    /// Writes everything out and puts a file in its place.
    pub fn commit(self) -> Result<(), Failure> {
        match self {
            Output::Stdout(mut out) => out.flush().map_err(|error| Failure::of(STDOUT, &error)),
            Output::File(file, name) => file.finish().and_then(Replacement::commit).map_err(|error| Failure::of(name, &error)),
        }
    }
}

impl Write for Output {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Output::Stdout(out) => out.write(octets).map_err(|error| named(STDOUT, &error)),
            Output::File(file, name) => file.write(octets).map_err(|error| named(name, &error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Output::Stdout(out) => out.flush().map_err(|error| named(STDOUT, &error)),
            Output::File(file, name) => file.flush().map_err(|error| named(name, &error)),
        }
    }
}

/// Whether a path is this process's standard output, by whatever name.
fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path == Path::new(name))
}

/// Where a path leads, whether there is anything or not.
fn place(path: &Path) -> PathBuf {
    if is_stdout(path) {
        return PathBuf::from("-");
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf());
    path.canonicalize().unwrap_or_else(|_| folder.join(path.file_name().unwrap_or_default()))
}

/// The same error, with the name of what it happened to.
pub fn named(name: &str, error: &io::Error) -> io::Error {
    let kind = match error.kind() {
        io::ErrorKind::BrokenPipe if name != STDOUT => io::ErrorKind::Other,
        kind => kind,
    };
    io::Error::new(kind, format!("{name}: {error}"))
}
