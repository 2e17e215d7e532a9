//! Real files to run on, where a folder holds them, packed by zstd and tar.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// The folder of real files, and where they are unpacked.
#[derive(Debug)]
pub struct Corpus {
    folder: PathBuf,
    unpacked: TempDir,
}

impl Corpus {
    /// Opens the folder.
    pub fn open(folder: &Path) -> io::Result<Corpus> {
        if !folder.is_dir() {
            return Err(io::Error::other(format!("{} is no folder: name the one that holds the real files", folder.display())));
        }
        Ok(Corpus { folder: folder.to_path_buf(), unpacked: tempfile::tempdir()? })
    }

    /// The folder that `ROBOSIEVE_CORPUS` names; nothing where it names none, which is said.
    pub fn from_env(asks: &str) -> Option<Corpus> {
        let corpus = std::env::var_os("ROBOSIEVE_CORPUS").and_then(|folder| Corpus::open(Path::new(&folder)).ok());
        if corpus.is_none() {
            eprintln!("SKIPPED {asks}: ROBOSIEVE_CORPUS names no folder of real files");
        }
        corpus
    }

    /// Where temporary files may lie as long as this lives.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.unpacked.path().join(name)
    }

    /// A file as it lies there, or unpacked from `NAME.zst`.
    pub fn octets(&self, name: &str) -> io::Result<Vec<u8>> {
        let path = self.folder.join(name);
        if path.is_file() {
            return fs::read(path);
        }
        let packed = self.folder.join(format!("{name}.zst"));
        let output = Command::new("zstd").arg("-dcq").arg(&packed).stderr(Stdio::inherit()).output()?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(io::Error::other(format!("{} can not be unpacked by zstd", packed.display()))),
        }
    }

    /// The folder of files that `NAME.tar.zst` holds.
    pub fn files(&self, name: &str) -> io::Result<PathBuf> {
        let into = self.scratch(name);
        if !into.is_dir() {
            fs::create_dir(&into)?;
            let packed = self.folder.join(format!("{name}.tar.zst"));
            let status = Command::new("tar").arg("--zstd").arg("-xf").arg(&packed).arg("-C").arg(&into).status()?;
            if !status.success() {
                return Err(io::Error::other(format!("{} can not be unpacked by tar", packed.display())));
            }
        }
        innermost(into)
    }

    /// Writes `octets` over and over into a temporary file, whole lists, until it has `rows` rows at least. Gives how often.
    pub fn repeat(&self, octets: &[u8], rows: u64, into: &Path) -> io::Result<u64> {
        let times = rows.div_ceil(row_count(octets)).max(1);
        let mut file = File::create(into)?;
        (0..times).try_for_each(|_| file.write_all(octets))?;
        file.sync_all()?; // else it is written out while something is timed
        Ok(times)
    }
}

/// The folder below in which the files are, where folders hold but one folder each.
fn innermost(mut folder: PathBuf) -> io::Result<PathBuf> {
    loop {
        let entries = fs::read_dir(&folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
        match &entries[..] {
            [only] if only.is_dir() => folder = only.clone(),
            _ => return Ok(folder),
        }
    }
}

/// How many lines there are.
pub fn row_count(octets: &[u8]) -> u64 {
    let rest = octets.last().is_some_and(|&last| last != b'\n');
    memchr::memchr_iter(b'\n', octets).count() as u64 + u64::from(rest)
}
