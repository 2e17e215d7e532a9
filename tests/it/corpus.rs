//! Real files to run on, where `ROBOSIEVE_CORPUS` names a folder that holds them.

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The folder, or nothing: then the test that asked says so, loudly, and ends.
pub fn folder(test: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("ROBOSIEVE_CORPUS").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        eprintln!("SKIPPED {test}: ROBOSIEVE_CORPUS names no folder of real files");
    }
    folder
}

/// The bodies of a tar archive of robots.txt files, with their names, in order of name.
pub fn bodies(archive: &str, test: &str) -> Option<Vec<(String, Vec<u8>)>> {
    let archive = folder(test)?.join(archive);
    let dir = tempfile::tempdir().unwrap();
    let status = Command::new("tar").arg("--zstd").arg("-xf").arg(&archive).arg("-C").arg(dir.path()).status().unwrap();
    assert!(status.success(), "{} does not unpack", archive.display());
    let mut pending = vec![dir.path().to_path_buf()];
    let mut bodies = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            bodies.push((path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()));
        }
    }
    bodies.sort();
    Some(bodies)
}

/// An unpacked file of the corpus.
pub fn unpacked(file: &str, test: &str) -> Option<Vec<u8>> {
    let path = folder(test)?.join(file);
    let mut child = Command::new("zstd").arg("-dcq").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let mut octets = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut octets).unwrap();
    assert!(child.wait().unwrap().success(), "{} does not unpack", path.display());
    Some(octets)
}
