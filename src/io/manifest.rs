//! Manifests: what became of fetches of robots.txt, one JSON object a line.
//!
//! | key | holds |
//! |---|---|
//! | `origin` or `url` | whose robots.txt it is: a name (see [`origins_of_name`]), or any URL of the origin |
//! | `status` | the HTTP status of the last answer, as a number or text |
//! | `error` | why there was no such answer; it counts more than a status |
//! | `fetched_at` | when: RFC 3339, or seconds since 1970; without it the record is undated |
//! | `final_url` | the URL that the body came from, after redirects |
//! | `path`, `body`, `body_base64` | the body as received: a file beside the manifest, text, or Base64 |
//!
//! Other keys are ignored and counted; a null counts as missing, and so does an empty text but for `body`. A line that can not be used is left
//! out and reported, and never ends a run. Lines are read one after another: memory is bounded by what the [`Builder`] keeps.
//!
//! [`origins_of_name`]: crate::url::origins_of_name

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Component, Path, PathBuf};

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::directory::{BATCH, LeftOut, Listing, MAX_LEN, origins_of, read_body};
use crate::protocol::fetch::Outcome;
use crate::store::SnapshotTime;
use crate::store::build::{Builder, Record};
use crate::target::url::{NamedOrigins, Url};

/// A line of more octets holds no fetch of a robots.txt: Base64 makes four octets of three.
const MAX_LINE_LEN: u64 = 2 * MAX_LEN;
/// Octets of bodies compiled at a time, about: this bounds memory where bodies are large.
const BATCH_LEN: usize = 32 << 20;
/// Lines left out that a report describes, and ignored keys that it names. The others are counted.
const MAX_DESCRIBED: usize = 1000;
/// Characters of a message that quotes a line.
const MAX_MESSAGE_LEN: usize = 300;

/// Ignored keys that are noted of one line.
const MAX_IGNORED: usize = 32;

/// What a line may hold.
const KEYS: [&str; 9] = ["origin", "url", "status", "error", "fetched_at", "final_url", "path", "body", "body_base64"];

/// Why a fetch came to no answer, by the words that `error` may hold.
const ERRORS: [(&str, Outcome); 8] = [
    ("unreachable", Outcome::Unreachable),
    ("dns", Outcome::Unreachable),
    ("timeout", Outcome::Unreachable),
    ("reset", Outcome::Unreachable),
    ("refused", Outcome::Unreachable),
    ("tls", Outcome::Unreachable),
    ("too-many-redirects", Outcome::TooManyRedirects),
    ("unknown", Outcome::Unknown),
];

/// A manifest to be read.
pub struct Manifest {
    lines: Box<dyn BufRead + Send>,
    name: PathBuf,
    root: PathBuf,
}

impl Manifest {
    /// The manifest in a file. Its paths are relative to the folder of the file.
    ///
    /// # Errors
    ///
    /// When the file can not be opened.
    pub fn open(path: &Path) -> io::Result<Manifest> {
        let lines = BufReader::with_capacity(1 << 16, File::open(path)?);
        let root = path.parent().filter(|root| !root.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Ok(Manifest::new(lines, path, root))
    }

    /// The manifest in a stream. Messages call it `name`; its paths are relative to `root`.
    pub fn new(lines: impl BufRead + Send + 'static, name: &Path, root: &Path) -> Manifest {
        Manifest { lines: Box::new(lines), name: name.to_path_buf(), root: root.to_path_buf() }
    }
}

impl fmt::Debug for Manifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Manifest").field("name", &self.name).field("root", &self.root).finish_non_exhaustive()
    }
}

/// What came of directories and manifests.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// What was left out: every file, and the first thousand lines.
    pub left_out: Vec<LeftOut>,
    /// Files left out.
    pub file_count: u64,
    /// Lines of manifests left out.
    pub line_count: u64,
    /// Manifests read.
    pub manifest_count: u64,
    /// Records that manifests gave.
    pub record_count: u64,
    /// Files that were not added by their names because a manifest has records for their origins.
    pub aside_count: u64,
    /// Keys that mean nothing in a manifest, and in how many lines each stood.
    pub ignored_keys: BTreeMap<String, u64>,
}

/// A file or directory that can not be read.
#[derive(Debug)]
pub struct InputError {
    path: PathBuf,
    error: io::Error,
}

impl InputError {
    /// Which one.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why.
    pub fn error(&self) -> &io::Error {
        &self.error
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for InputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Adds directories of files named by origin, the manifests in them (`manifest.jsonl`), and other manifests.
///
/// Manifests come first. A file that one of them names by its path is what that line says, and a file is not added by its name where a manifest has
/// records for all of its origins, whether they could be used or not; all other files are added as [`add_directory`] does.
///
/// [`add_directory`]: super::directory::add_directory
///
/// ```
/// use std::path::Path;
/// use robosieve::{dialect::RFC9309, fetch::Outcome, io::manifest::{Manifest, add_inputs}, store::{SnapshotTime, build::Builder}};
///
/// let lines = br#"{"url": "https://example.com/robots.txt", "status": 503, "fetched_at": "2026-01-01T00:00:00Z"}
/// {"origin": "example.org", "error": "gremlins"}
/// "#;
/// let mut builder = Builder::new(RFC9309);
/// let report = add_inputs(&mut builder, &[], vec![Manifest::new(&lines[..], Path::new("fetches.jsonl"), Path::new("."))])?;
/// assert_eq!((report.record_count, report.line_count, report.left_out[0].line), (1, 1, Some(2)));
///
/// let store = builder.finish()?.open()?;
/// let snapshot = store.find(b"https://example.com")?.unwrap().newest()?;
/// assert_eq!((snapshot.outcome(), snapshot.time()), (Outcome::Status(503), SnapshotTime::Observed(1767225600)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`InputError`] when a directory or a manifest can not be read.
pub fn add_inputs(builder: &mut Builder, directories: &[PathBuf], manifests: Vec<Manifest>) -> Result<Report, InputError> {
    let mut listing = Listing::default();
    let mut report = Report::default();
    let mut all = manifests;
    for path in directories {
        let of = |path: &Path, error| InputError { path: path.to_path_buf(), error };
        if let Some(found) = listing.read(path).map_err(|error| of(path, error))? {
            all.push(Manifest::open(&found).map_err(|error| of(&found, error))?);
        }
    }
    let mut seen = HashSet::new();
    // One that is given and lies in a given directory is read once.
    all.retain(|manifest| fs::canonicalize(&manifest.name).map_or(true, |place| seen.insert(place)));
    for manifest in all {
        let name = manifest.name.clone();
        let reading = Reading::new(builder, &mut listing, &mut report, manifest);
        reading.and_then(Reading::run).map_err(|error| InputError { path: name, error })?;
    }
    report.aside_count = listing.aside_count();
    let left_out = listing.add(builder);
    report.file_count = left_out.len() as u64;
    report.left_out.extend(left_out);
    Ok(report)
}

/// A manifest under way.
struct Reading<'a> {
    builder: &'a mut Builder,
    listing: &'a mut Listing,
    report: &'a mut Report,
    manifest: Manifest,
    /// The folder of its paths, for real.
    place: PathBuf,
    batch: Vec<(String, NamedOrigins, Record)>,
    batch_len: usize,
}

impl<'a> Reading<'a> {
    fn new(builder: &'a mut Builder, listing: &'a mut Listing, report: &'a mut Report, manifest: Manifest) -> io::Result<Reading<'a>> {
        let place = manifest.root.canonicalize()?;
        Ok(Reading { builder, listing, report, manifest, place, batch: Vec::new(), batch_len: 0 })
    }

    fn run(mut self) -> io::Result<()> {
        self.report.manifest_count += 1;
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            let Some(whole) = read_line(&mut self.manifest.lines, &mut line)? else { break };
            let text = line.strip_prefix(b"\xEF\xBB\xBF").filter(|_| number == 1).unwrap_or(&line).trim_ascii();
            if text.is_empty() {
                continue;
            }
            let read = if whole { self.read(text) } else { Err("a line of over 128 MiB: give the body as a file, by its path".to_owned()) };
            match read {
                Ok((origins, record)) => self.push(number, origins, record),
                Err(why) => self.leave_out(number, why),
            }
        }
        self.flush();
        Ok(())
    }

    /// What a line says.
    fn read(&mut self, text: &[u8]) -> Result<(NamedOrigins, Record), String> {
        let mut fields: Fields = serde_json::from_slice(text).map_err(|error| json_message(&error))?;
        fields.ignored.iter().for_each(|key| self.count_ignored(key));
        // What a line names is that line's business even if it can not be used: its file must not pass for a success then.
        if let Some(path) = fields.path.as_deref().and_then(|path| inner_path(path).ok()) {
            self.listing.name(&self.place.join(path));
        }
        let origins = fields.origins()?;
        self.listing.speak_for(&origins);
        let time = fields.time()?;
        let body = fields.take_body(&self.manifest.root)?;
        let outcome = fields.outcome(body.is_some(), &origins)?;
        let final_url = fields.final_url.unwrap_or_default().into_bytes();
        Ok((origins, Record { outcome, time, final_url, body }))
    }

    fn push(&mut self, number: u64, origins: NamedOrigins, record: Record) {
        self.report.record_count += 1;
        self.batch_len += record.body.as_ref().map_or(0, Vec::len);
        self.batch.push((format!("{}:{number}", self.manifest.name.display()), origins, record));
        if self.batch.len() >= BATCH || self.batch_len >= BATCH_LEN {
            self.flush();
        }
    }

    fn flush(&mut self) {
        self.batch_len = 0;
        self.builder.add_batch(std::mem::take(&mut self.batch));
    }

    fn leave_out(&mut self, number: u64, why: String) {
        self.report.line_count += 1;
        if self.report.left_out.len() < MAX_DESCRIBED {
            let why = shortened(&why, MAX_MESSAGE_LEN).into_owned();
            self.report.left_out.push(LeftOut { path: self.manifest.name.clone(), line: Some(number), why });
        }
    }

    fn count_ignored(&mut self, key: &str) {
        let keys = &mut self.report.ignored_keys;
        let name = if keys.contains_key(key) || keys.len() < MAX_DESCRIBED { key } else { "(others)" };
        *keys.entry(name.to_owned()).or_default() += 1;
    }
}

/// Reads a line, or `None` at the end. Says whether it was read as a whole: the rest of one that is too long is skipped.
fn read_line(lines: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Option<bool>> {
    if lines.take(MAX_LINE_LEN).read_until(b'\n', line)? == 0 {
        return Ok(None);
    }
    let whole = line.last() == Some(&b'\n') || (line.len() as u64) < MAX_LINE_LEN;
    if !whole {
        lines.skip_until(b'\n')?;
    }
    Ok(Some(whole))
}

/// A line as it stands.
#[derive(Debug, Default)]
struct Fields {
    origin: Option<String>,
    url: Option<String>,
    status: Scalar,
    error: Option<String>,
    fetched_at: Scalar,
    final_url: Option<String>,
    path: Option<String>,
    body: Option<String>,
    body_base64: Option<String>,
    /// Keys that mean nothing here: the first of a line, each cut short.
    ignored: Vec<String>,
}

impl Fields {
    fn origins(&self) -> Result<NamedOrigins, String> {
        let named = |key: &str, name: &str| origins_of(name).map_err(|why| format!("{key} {} {why}", quoted(name)));
        let url = self.url.as_deref().map(|url| named("url", url)).transpose()?;
        let origin = self.origin.as_deref().map(|origin| named("origin", origin)).transpose()?;
        match (origin, url) {
            (Some(origin), Some(url)) if !url.origins().iter().all(|url| origin.origins().contains(url)) => {
                Err("origin and url are of different origins: give one; where redirects led is final_url".to_owned())
            }
            (Some(origins), _) | (None, Some(origins)) => Ok(origins),
            (None, None) => {
                Err("neither origin nor url: say whose robots.txt it is, as \"url\": \"https://example.com/robots.txt\"".to_owned())
            }
        }
    }

    fn time(&self) -> Result<SnapshotTime, String> {
        let wrong = |given: &dyn fmt::Display| {
            format!(
                "fetched_at {given} is no time: write it as 2026-01-01T00:00:00Z, with the offset, or in seconds since 1970 (not milliseconds)"
            )
        };
        let seconds = match &self.fetched_at {
            Scalar::Missing => return Ok(SnapshotTime::Undated),
            Scalar::Integer(seconds) => Some(*seconds),
            Scalar::Real(seconds) => whole_seconds(*seconds),
            Scalar::Text(text) => match text.bytes().all(|octet| matches!(octet, b'0'..=b'9' | b'.' | b'-')) {
                true => text.parse().ok().and_then(whole_seconds),
                false => text.parse::<jiff::Timestamp>().ok().map(|time| time.as_nanosecond().div_euclid(1_000_000_000) as i64),
            },
        };
        // The years -9999 to 9999. Milliseconds of today are beyond them.
        let seconds = seconds.filter(|&seconds| jiff::Timestamp::from_second(seconds).is_ok());
        seconds.map(SnapshotTime::Observed).ok_or_else(|| wrong(&self.fetched_at))
    }

    /// The body, taken out of the line or read from its file under `root`.
    fn take_body(&mut self, root: &Path) -> Result<Option<Vec<u8>>, String> {
        let has = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        // An empty one counts where there is no other.
        let any = self.path.is_some() || has(&self.body) || has(&self.body_base64);
        let text = self.body.take().filter(|text| !any || !text.is_empty());
        let encoded = self.body_base64.take().filter(|text| !any || !text.is_empty());
        let body = match (&self.path, text, encoded) {
            (None, None, None) => return Ok(None),
            (Some(path), None, None) => {
                let inner = inner_path(path)?;
                return read_body(&root.join(inner)).map(Some).map_err(|error| format!("path {}: {error}", quoted(path)));
            }
            (None, Some(text), encoded) if encoded.is_none() || !any => text.into_bytes(),
            (None, None, Some(encoded)) => {
                decode_base64(&encoded).ok_or("body_base64 is no Base64 (RFC 4648): use the alphabet with + and /, without line ends")?
            }
            _ => return Err("more than one of path, body and body_base64: give one".to_owned()),
        };
        if body.len() as u64 > MAX_LEN {
            return Err("a body of over 64 MiB, which no robots.txt has".to_owned());
        }
        Ok(Some(body))
    }

    fn outcome(&self, has_body: bool, origins: &NamedOrigins) -> Result<Outcome, String> {
        if let Some(error) = &self.error {
            let known = ERRORS.iter().find(|(word, _)| word == error);
            let words = || ERRORS.map(|(word, _)| word).join(", ");
            return known
                .map(|(_, outcome)| *outcome)
                .ok_or_else(|| format!("error {} is not known; there are {}", quoted(error), words()));
        }
        match self.status()? {
            None if has_body => Ok(Outcome::OK),
            None => Ok(Outcome::Unknown),
            Some(Outcome::Status(304)) => {
                Err("304 says that an older copy still holds: give that copy as the body, and status 200".to_owned())
            }
            Some(Outcome::Status(300..=399)) if has_body && self.is_from_elsewhere(origins) => Ok(Outcome::OK),
            Some(Outcome::Status(200..=203 | 206..=299)) if !has_body => {
                Err("a success without a body, whose rules nobody knows: give path, body or body_base64 (an empty file is \"body\": \"\")"
                    .to_owned())
            }
            Some(outcome) => Ok(outcome),
        }
    }

    fn status(&self) -> Result<Option<Outcome>, String> {
        let wrong = || {
            format!(
                "status {} is no HTTP status (100 to 999): where no answer came, leave it out and give error, as \"error\": \"timeout\"",
                self.status
            )
        };
        match &self.status {
            Scalar::Missing => Ok(None),
            // Exports from tables with gaps write 404.0.
            Scalar::Real(status) if status.fract() == 0.0 => format!("{status:.0}").parse().map(Some).map_err(|_| wrong()),
            Scalar::Real(_) => Err(wrong()),
            Scalar::Integer(status) => status.to_string().parse().map(Some).map_err(|_| wrong()),
            Scalar::Text(text) => text.parse().map(Some).map_err(|_| wrong()),
        }
    }

    /// Whether the body is noted to be from another URL than the one asked: then it is no redirect's own page.
    fn is_from_elsewhere(&self, origins: &NamedOrigins) -> bool {
        let place = |url: &str| {
            let url = Url::split(url.as_bytes()).ok()?;
            Some((url.origin().ok()?, url.rest().to_vec()))
        };
        let Some(end) = self.final_url.as_deref().and_then(place) else { return false };
        let asked = self.url.as_deref().and_then(place);
        let usual = origins.origins().iter().map(|origin| (origin.clone(), b"/robots.txt".to_vec()));
        usual.chain(asked).all(|asked| asked != end)
    }
}

/// Whole seconds at or before that many.
fn whole_seconds(seconds: f64) -> Option<i64> {
    seconds.is_finite().then(|| seconds.floor() as i64)
}

/// The path of a body, which must lie in the folder of its manifest.
fn inner_path(path: &str) -> Result<PathBuf, String> {
    let inner = Path::new(path).components().filter(|part| *part != Component::CurDir);
    let inner: Option<PathBuf> = inner.map(|part| matches!(part, Component::Normal(_)).then_some(part)).collect();
    inner.ok_or_else(|| format!("path {} leaves the folder of the manifest: give one relative to it, without ..", quoted(path)))
}

/// A text out of a line, for a message.
fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text, 80))
}

fn shortened(text: &str, len: usize) -> Cow<'_, str> {
    match text.char_indices().nth(len) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

fn json_message(error: &serde_json::Error) -> String {
    // Every line is the first that the decoder sees.
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(&text[..], |(what, _)| what);
    let what = shortened(what, MAX_MESSAGE_LEN / 2);
    // What is wrong with a line as a whole stands in no column.
    let column = if error.column() > 0 { format!("column {}: ", error.column()) } else { String::new() };
    let hint = if error.is_data() { "" } else { ": a line holds one JSON object in UTF-8" };
    format!("{column}{what}{hint}")
}

/// The octets of a text in Base64 (RFC 4648, section 4); the padding may be missing.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let value = |octet: u8| match octet {
        b'A'..=b'Z' => Some(octet - b'A'),
        b'a'..=b'z' => Some(octet - b'a' + 26),
        b'0'..=b'9' => Some(octet - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    if digits.len() % 4 == 1 || (digits.len() != text.len() && !text.len().is_multiple_of(4)) {
        return None;
    }
    let mut octets = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for chunk in digits.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for &digit in chunk {
            bits = (bits << 6) | u32::from(value(digit)?);
        }
        let [_, group @ ..] = (bits << (6 * (4 - chunk.len()))).to_be_bytes();
        let (whole, spare) = group.split_at(chunk.len() - 1);
        // Bits behind the last octet are none of it: a text that sets them was cut or is not Base64.
        if spare.iter().any(|&octet| octet != 0) {
            return None;
        }
        octets.extend_from_slice(whole);
    }
    Some(octets)
}

/// A number or a text.
#[derive(Debug, Default)]
enum Scalar {
    #[default]
    Missing,
    Integer(i64),
    Real(f64),
    Text(String),
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Missing => f.write_str("null"),
            Scalar::Integer(number) => write!(f, "{number}"),
            Scalar::Real(number) => write!(f, "{number}"),
            Scalar::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Scalar, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a string")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar::Integer(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(i64::try_from(number).map_or(Scalar::Real(number as f64), Scalar::Integer))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar::Real(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(if text.is_empty() { Scalar::Missing } else { Scalar::Text(text.to_owned()) })
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar::Missing)
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Fields, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, as {\"url\": \"https://example.com/robots.txt\", \"status\": 404}")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Fields, M::Error> {
        let mut fields = Fields::default();
        let mut seen = 0u16;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            let Some(index) = KEYS.iter().position(|known| *known == key) else {
                map.next_value::<IgnoredAny>()?;
                if fields.ignored.len() < MAX_IGNORED {
                    fields.ignored.push(shortened(&key, 40).into_owned());
                }
                continue;
            };
            if seen & 1 << index != 0 {
                return Err(M::Error::custom(format_args!("{key} stands there twice")));
            }
            seen |= 1 << index;
            fields.set(KEYS[index], &mut map)?;
        }
        Ok(fields)
    }
}

impl Fields {
    fn set<'de, M: MapAccess<'de>>(&mut self, key: &str, map: &mut M) -> Result<(), M::Error> {
        let field = match key {
            "status" => return map.next_value().map(|status| self.status = status),
            "fetched_at" => return map.next_value().map(|time| self.fetched_at = time),
            "body" => return map.next_value().map(|body| self.body = body),
            "body_base64" => return map.next_value().map(|body| self.body_base64 = body),
            "origin" => &mut self.origin,
            "url" => &mut self.url,
            "error" => &mut self.error,
            "final_url" => &mut self.final_url,
            _ => &mut self.path,
        };
        *field = map.next_value::<Option<String>>()?.filter(|text| !text.is_empty());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str) -> Fields {
        serde_json::from_str(line).unwrap()
    }

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn base64() {
        for (octets, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(decode_base64(text).as_deref(), Some(octets.as_bytes()), "{text}");
            assert_eq!(decode_base64(text.trim_end_matches('=')).as_deref(), Some(octets.as_bytes()), "{text} without padding");
        }
        assert_eq!(decode_base64("+/+/").as_deref(), Some(&[0xFB, 0xFF, 0xBF][..]));
        for wrong in ["Z", "Zh==", "Zm9=", "Zm9v=", "Zm9v==", "Zg=", "=", "====", "Zm 9v", "Zm9v\n", "-_-_", "Zg==Zg=="] {
            assert_eq!(decode_base64(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn times() {
        let time = |value: &str| fields(&format!("{{\"fetched_at\": {value}}}")).time();
        for (value, seconds) in [
            ("0", 0),
            ("1767225600", 1767225600),
            ("1767225600.9", 1767225600),
            ("\"1767225600\"", 1767225600),
            ("\"1767225600.25\"", 1767225600),
            ("-0.5", -1),
            ("\"2026-01-01T00:00:00Z\"", 1767225600),
            ("\"2026-01-01T01:30:00.999+01:30\"", 1767225600),
            ("\"2026-01-01 00:00:00z\"", 1767225600),
            ("\"1969-12-31T23:59:59.5Z\"", -1),
        ] {
            assert_eq!(time(value), Ok(SnapshotTime::Observed(seconds)), "{value}");
        }
        for missing in ["null", "\"\""] {
            assert_eq!(time(missing), Ok(SnapshotTime::Undated));
        }
        for wrong in [
            "1767225600000",
            "20260101000000",
            "\"20260101000000\"",
            "1e300",
            "18446744073709551615",
            "\"2026-01-01\"",
            "\"2026-01-01T00:00:00\"",
            "\"2026-02-30T00:00:00Z\"",
            "\"yesterday\"",
            "\"-\"",
            "\"1.2.3\"",
        ] {
            assert!(time(wrong).is_err_and(|why| why.contains("2026-01-01T00:00:00Z")), "{wrong}");
        }
    }

    #[test]
    fn paths_stay_inside() {
        for (path, inner) in [("a.txt", "a.txt"), ("./a/./b", "a/b"), ("a//b", "a/b"), ("..a/b..", "..a/b..")] {
            assert_eq!(inner_path(path), Ok(PathBuf::from(inner)), "{path}");
        }
        for path in ["..", "../a", "a/../b", "a/../../b", "/a", "//a", "/"] {
            assert!(inner_path(path).is_err(), "{path}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_skipped_to_its_end() {
        let long = io::repeat(b'x').take(MAX_LINE_LEN + 70_000);
        let mut lines = BufReader::new(b"first\n".chain(long).chain(&b"\nlast"[..]));
        let mut read = Vec::new();
        let mut line = Vec::new();
        while let Some(whole) = read_line(&mut lines, &mut line).unwrap() {
            read.push((whole, line.len().min(100)));
            line.clear();
        }
        assert_eq!(read, [(true, 6), (false, 100), (true, 4)]);
    }
}
