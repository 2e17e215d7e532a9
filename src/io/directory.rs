//! A directory of robots.txt files named by origin.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::store::Store;
use crate::store::build::{Builder, Record};
use crate::target::url::{NamedOrigins, origins_of_name};

/// The file of a directory that says what became of fetches.
pub const MANIFEST: &str = "manifest.jsonl";

/// A file of more octets is no robots.txt.
pub(super) const MAX_LEN: u64 = 64 << 20;
/// Files read and compiled at a time: this bounds memory.
pub(super) const BATCH: usize = 512;

/// A file, or a line of one, that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
    /// The line of a manifest, from 1; `None` for a file as a whole.
    pub line: Option<u64>,
    /// Why.
    pub why: String,
}

impl LeftOut {
    fn file(path: &Path, why: impl Into<String>) -> LeftOut {
        LeftOut { path: path.to_path_buf(), line: None, why: why.into() }
    }
}

/// Adds every file of `folder` to `builder`, in order of name.
///
/// A file's name is `HOST`, `HOST_PORT` or `SCHEME_HOST_PORT` (see [`origins_of_name`]), with or without `.txt`; a folder of such a name stands for
/// the `robots.txt` in it. Names that begin with a dot are passed over. What can not be used is left out and reported, never fatal. So is a
/// [`MANIFEST`]: `io::manifest::add_inputs` (feature `json`) reads it.
///
/// # Errors
///
/// When the folder itself can not be read.
pub fn add_directory(builder: &mut Builder, folder: &Path) -> io::Result<Vec<LeftOut>> {
    let mut listing = Listing::default();
    let manifest = listing.read(folder)?;
    let mut left_out = listing.add(builder);
    left_out.extend(manifest.map(|path| LeftOut::file(&path, "a manifest, and manifests are not read here: add it as one")));
    Ok(left_out)
}

/// The files of directories, each of which is added by its name unless a manifest speaks for it.
#[derive(Debug, Default)]
pub(super) struct Listing {
    entries: Vec<Entry>,
    /// Entries by their real place.
    by_place: HashMap<PathBuf, usize>,
    /// Entries by each origin that no manifest has spoken for yet.
    by_origin: HashMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct Entry {
    path: PathBuf,
    origins: Result<NamedOrigins, String>,
    /// How many of its origins are its own.
    own_count: usize,
    /// Whether a manifest says what it is.
    is_named: bool,
}

impl Listing {
    /// Lists another directory. Gives its manifest, if it holds one.
    pub(super) fn read(&mut self, folder: &Path) -> io::Result<Option<PathBuf>> {
        let mut paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
        paths.sort_unstable();
        let place = folder.canonicalize()?;
        let mut manifest = None;
        for path in paths {
            match path.file_name() {
                Some(name) if name == MANIFEST && path.is_file() => manifest = Some(path),
                Some(name) if !name.as_encoded_bytes().starts_with(b".") => self.push(place.join(name), path),
                _ => {}
            }
        }
        Ok(manifest)
    }

    fn push(&mut self, place: PathBuf, path: PathBuf) {
        let index = self.entries.len();
        let origins = origins_of_file(&path);
        let own = origins.as_ref().map_or(&[][..], NamedOrigins::origins);
        for origin in own {
            self.by_origin.entry(origin.clone()).or_default().push(index);
        }
        self.by_place.insert(place, index);
        self.entries.push(Entry { path, own_count: own.len(), origins, is_named: false });
    }

    /// Adds the files that no manifest speaks for. Gives what can not be used.
    pub(super) fn add(self, builder: &mut Builder) -> Vec<LeftOut> {
        let mut left_out = Vec::new();
        let entries: Vec<Entry> = self.entries.into_iter().filter(|entry| !entry.is_named && !entry.is_aside()).collect();
        for entries in entries.chunks(BATCH) {
            let mut batch = Vec::with_capacity(entries.len());
            for entry in entries {
                match entry.read() {
                    Ok(record) => batch.push(record),
                    Err(why) => left_out.push(LeftOut::file(&entry.path, why)),
                }
            }
            builder.add_batch(batch);
        }
        left_out
    }
}

/// What manifests say of the files.
#[cfg(feature = "json")]
impl Listing {
    /// Notes that a manifest has a record for these origins.
    pub(super) fn speak_for(&mut self, origins: &NamedOrigins) {
        for origin in origins.origins() {
            for index in self.by_origin.remove(origin).unwrap_or_default() {
                self.entries[index].own_count -= 1;
            }
        }
    }

    /// Notes that a manifest says what the file at `place`, a real path, is.
    pub(super) fn name(&mut self, place: &Path) {
        // A body may lie deep inside a folder of the directory.
        for ancestor in place.ancestors().take_while(|_| !self.by_place.is_empty()) {
            if let Some(&index) = self.by_place.get(ancestor) {
                self.entries[index].is_named = true;
            }
        }
    }

    /// How many files give way to a manifest that has a record for each of their origins.
    pub(super) fn aside_count(&self) -> u64 {
        self.entries.iter().filter(|entry| entry.is_aside() && !entry.is_named).count() as u64
    }
}

impl Entry {
    fn is_aside(&self) -> bool {
        self.own_count == 0 && self.origins.is_ok()
    }

    fn read(&self) -> Result<(String, NamedOrigins, Record), String> {
        let origins = self.origins.clone()?;
        let file = if self.path.is_dir() { self.path.join("robots.txt") } else { self.path.clone() };
        let body = read_body(&file).map_err(|error| error.to_string())?;
        Ok((file.display().to_string(), origins, Record::body(body)))
    }
}

fn origins_of_file(path: &Path) -> Result<NamedOrigins, String> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("its name is not UTF-8")?;
    let name = if path.is_dir() {
        if !path.join("robots.txt").is_file() {
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
    origins_of(name).map_err(|why| format!("its name {why}"))
}

/// The origins of a name that a person gave, or why there are none.
pub(super) fn origins_of(name: &str) -> Result<NamedOrigins, String> {
    let has_port = name.rsplit_once('_').is_some_and(|(_, port)| port.bytes().all(|octet| octet.is_ascii_digit()));
    if !has_port && !name.contains("://") && ["http_", "https_"].iter().any(|scheme| name.starts_with(scheme)) {
        return Err(format!("has a scheme, which needs a port: write {name}_443 (or another port), or the host alone"));
    }
    origins_of_name(name)
        .map_err(|bad| format!("is no origin ({bad}): write HOST, HOST_PORT or SCHEME_HOST_PORT, as example.com or https_example.com_8443"))
}

/// The octets of a file that holds one robots.txt.
pub(super) fn read_body(path: &Path) -> io::Result<Vec<u8>> {
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
