//! A directory of robots.txt files named by origin.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::store::Store;
use crate::store::build::{Builder, Record};
use crate::target::url::{NamedOrigins, origins_of_name};

/// A file of more octets is no robots.txt.
const MAX_LEN: u64 = 64 << 20;
/// Files read and compiled at a time: this bounds memory.
const BATCH: usize = 512;

/// A file that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub why: String,
}

/// Adds every file of `folder` to `builder`, in order of name.
///
/// A file's name is `HOST`, `HOST_PORT` or `SCHEME_HOST_PORT` (see [`origins_of_name`]), with or without `.txt`; a folder of such a name stands for
/// the `robots.txt` in it. Names that begin with a dot are passed over. What can not be used is left out and reported, never fatal.
///
/// # Errors
///
/// When the folder itself can not be read.
pub fn add_directory(builder: &mut Builder, folder: &Path) -> io::Result<Vec<LeftOut>> {
    let mut entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    entries.sort_unstable();
    let mut left_out = Vec::new();
    for paths in entries.chunks(BATCH) {
        let mut batch = Vec::with_capacity(paths.len());
        for path in paths.iter().filter(|path| !is_hidden(path)) {
            match read(path) {
                Ok(entry) => batch.push(entry),
                Err(why) => left_out.push(LeftOut { path: path.clone(), why }),
            }
        }
        builder.add_batch(batch);
    }
    Ok(left_out)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

fn read(path: &Path) -> Result<(String, NamedOrigins, Record), String> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("its name is not UTF-8")?;
    let mut file = path.to_path_buf();
    let name = if path.is_dir() {
        file.push("robots.txt");
        if !file.is_file() {
            return Err("a folder without a robots.txt in it".to_owned());
        }
        name
    } else if name == "robots.txt" {
        return Err(
            "its name does not say whose it is: name it by its origin, as example.com, or put it into a folder of that name".to_owned()
        );
    } else {
        name.strip_suffix(".txt").unwrap_or(name)
    };
    let has_port = name.rsplit_once('_').is_some_and(|(_, port)| port.bytes().all(|octet| octet.is_ascii_digit()));
    if !has_port && ["http_", "https_"].iter().any(|scheme| name.starts_with(scheme)) {
        return Err(format!("a scheme needs a port: name it {name}_443 (or another port), or by its host alone"));
    }
    let origins = origins_of_name(name).map_err(|bad| {
        format!("its name is no origin ({bad}): name it HOST, HOST_PORT or SCHEME_HOST_PORT, as example.com or https_example.com_8443")
    })?;
    let body = read_body(&file).map_err(|error| error.to_string())?;
    Ok((file.display().to_string(), origins, Record::body(body)))
}

fn read_body(path: &Path) -> io::Result<Vec<u8>> {
    // Asked before the file is opened: opening a named pipe waits for its writer.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let file = fs::File::open(path)?;
    let mut body = Vec::new();
    file.take(MAX_LEN + 1).read_to_end(&mut body)?;
    if Store::is_store(&body) {
        return Err(io::Error::other("a store of compiled policies, no robots.txt"));
    }
    if body.len() as u64 > MAX_LEN {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "over 64 MiB, which no robots.txt is"));
    }
    Ok(body)
}
