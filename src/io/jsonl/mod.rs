//! JSON lines: an object a line, as corpora and crawlers write them.
//!
//! Every line is a row. One that is no JSON object, or whose URL is no text, has no URL; it is counted, and stops nothing. Only the keys that are asked for are
//! looked at, so that long texts beside them cost little. The output of verdicts as JSON lines is [`super::json`].

mod object;

use std::borrow::Cow;
use std::io::{self, Read};
use std::sync::Arc;

use memchr::memchr_iter;

pub use super::stretches::Malformed;
use super::stretches::{AtLines, BYTE_ORDER_MARK, Decoded, FoundRows, MalformedCount, STRETCH_LEN, Span, Stretch, Stretches, Text};
use super::stretches::{refuse_surt, refuse_utf16};
use super::tables::{listed, why_no_surt};
use super::text::to_terminal_text;
use crate::pipeline::{Batch, Carried, Source, Unit, Values};
use object::{Found, Path, find, keys};

/// How JSON lines are read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JsonOptions {
    /// The key of the URLs, `url` unless told. With dots it leads through objects within objects (`metadata.url`), unless a key has that very name.
    pub url_column: Option<String>,
    /// Keys, or paths of them, whose values rows carry along, for outputs and sums.
    pub carry: Vec<String>,
    /// Octets that a thread parses at once. For tests and measurements.
    pub stretch_len: usize,
}

impl Default for JsonOptions {
    fn default() -> JsonOptions {
        JsonOptions { url_column: None, carry: Vec::new(), stretch_len: STRETCH_LEN }
    }
}

/// The rows of JSON lines.
///
/// ```
/// use std::num::NonZeroUsize;
/// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::io::filter::{Filter, LineWriter, Require, Undecided};
/// use robosieve::io::jsonl::{JsonOptions, JsonRows};
/// use robosieve::pipeline::{Evaluator, run};
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
///
/// let corpus = br#"{"text": "one", "metadata": {"url": "https://example.com/private/x"}}
/// {"text": "two", "metadata": {"url": "https:\/\/example.com\/y"}}
/// {"text": "three", "metadata": null}
/// "#;
/// let options = JsonOptions { url_column: Some("metadata.url".to_owned()), ..JsonOptions::default() };
/// let mut rows = JsonRows::mapped(corpus, &options)?;
/// let mut kept = Vec::new();
/// let mut filter = Filter::new(LineWriter::new(&mut kept), Require::All, Undecided::Drop);
/// run(&mut rows, &evaluator, &mut filter, NonZeroUsize::MIN)?;
/// filter.finish()?;
/// assert_eq!(kept, b"{\"text\": \"two\", \"metadata\": {\"url\": \"https:\\/\\/example.com\\/y\"}}\n");
/// assert_eq!((rows.malformed().rows, rows.malformed().first_line), (1, Some(3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct JsonRows<'s> {
    stretches: Stretches<'s, AtLines>,
    parser: Arc<Parser>,
    malformed: Arc<MalformedCount>,
}

impl<'s> JsonRows<'s> {
    /// The rows of lines in memory, or in a mapped file.
    ///
    /// # Errors
    ///
    /// When objects begin the lines and none of the first ones has the key, when the URLs are SURT keys, or when the lines are one array.
    pub fn mapped(octets: &'s [u8], options: &JsonOptions) -> io::Result<JsonRows<'s>> {
        JsonRows::new(Text::Mapped(octets), options)
    }

    /// The rows of lines that come as a stream. Memory is bounded by the batches in flight and the longest line, which has at most 256 MiB.
    ///
    /// # Errors
    ///
    /// As [`JsonRows::mapped`]; or when the stream can not be read.
    pub fn streamed(stream: impl Read + 's, options: &JsonOptions) -> io::Result<JsonRows<'s>> {
        JsonRows::new(Text::Stream(Box::new(stream)), options)
    }

    fn new(text: Text<'s>, options: &JsonOptions) -> io::Result<JsonRows<'s>> {
        let (head, text) = text.head()?;
        refuse_utf16(&head)?;
        let url = options.url_column.as_deref().unwrap_or("url");
        if url == "url_surtkey" {
            return Err(io::Error::other(why_no_surt(url)));
        }
        let paths = std::iter::once(url).chain(options.carry.iter().map(String::as_str)).map(Path::new).collect();
        let parser = Parser { paths };
        parser.check(&head)?;
        let stretches = Stretches::new(text, AtLines::default(), options.stretch_len, 1);
        Ok(JsonRows { stretches, parser: Arc::new(parser), malformed: Arc::default() })
    }

    /// Rows that are no object, or have no text and no null for the URL. Complete when all rows are decided.
    pub fn malformed(&self) -> Malformed {
        self.malformed.get()
    }
}

impl<'s> Source<'s> for JsonRows<'s> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        let Some(stretch) = self.stretches.next()? else { return Ok(None) };
        Ok(Some(Batch::unit(Lines { stretch: Some(stretch), parser: self.parser.clone(), malformed: self.malformed.clone() })))
    }
}

/// A stretch that is still to be parsed.
struct Lines<'s> {
    stretch: Option<Stretch<'s>>,
    parser: Arc<Parser>,
    malformed: Arc<MalformedCount>,
}

impl<'s> Unit<'s> for Lines<'s> {
    fn next_part(&mut self) -> io::Result<Option<Batch<'s>>> {
        Ok(self.stretch.take().map(|stretch| Batch::values(self.parser.parse(stretch, &self.malformed))))
    }
}

/// What every stretch is parsed with.
#[derive(Debug)]
struct Parser {
    /// That of the URL, and those of what is carried.
    paths: Vec<Path>,
}

/// What a row has for a URL.
enum Url {
    At(Span),
    Null,
    Malformed,
}

impl Parser {
    fn parse<'s>(&self, stretch: Stretch<'s>, malformed: &MalformedCount) -> JsonBatch<'s> {
        let octets = stretch.octets();
        let (mut decoded, mut urls, mut ends, mut carried) = (Decoded::default(), Vec::new(), Vec::new(), Vec::new());
        let mut found = vec![Found::default(); self.paths.len()];
        let (mut bad, mut first_bad) = (0, 0);
        for line in lines(octets) {
            let start = line.as_ptr().addr() - octets.as_ptr().addr();
            let is_object = find(without_mark(line, stretch.first_line, start), &self.paths, &mut found);
            if !is_object {
                found.fill(Found::default());
            }
            urls.push(match url(octets, found[0].raw, &mut decoded) {
                Url::At(span) => span,
                Url::Null => Span::NONE,
                Url::Malformed => {
                    if bad == 0 {
                        first_bad = start;
                    }
                    bad += 1;
                    Span::NONE
                }
            });
            ends.push((start + line.len()) as u32);
            carried.extend(found[1..].iter().map(|found| found.raw.map_or(Span::NONE, |raw| span_of(octets, raw))));
        }
        if bad > 0 {
            malformed.add(bad, stretch.line_of(first_bad));
        }
        JsonBatch { rows: FoundRows { stretch, decoded, urls, carried, carried_count: self.paths.len() - 1 }, ends }
    }

    /// Looks at the first lines: whether there are objects with a URL at all.
    fn check(&self, head: &[u8]) -> io::Result<()> {
        if head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start().starts_with(b"[") {
            return Err(io::Error::other("the text is a JSON array: write an object a line instead (jq -c '.[]')"));
        }
        let mut found = vec![Found::default(); self.paths.len()];
        let (mut objects, mut with_key, mut first_keys, mut values) = (0, 0, None, Decoded::default());
        let mut spans = Vec::new();
        for line in lines(head) {
            let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
            if !find(line, &self.paths, &mut found) {
                continue;
            }
            objects += 1;
            with_key += usize::from(found[0].raw.is_some());
            if first_keys.is_none() {
                first_keys = keys(line);
            }
            if let Url::At(span) = url(head, found[0].raw, &mut values) {
                spans.push(span);
            }
        }
        let name = self.paths[0].as_str();
        if objects > 0 && with_key == 0 {
            let keys = first_keys.unwrap_or_default();
            return Err(io::Error::other(format!(
                "no key {} in the first {objects} objects: there are {}; say which holds the URLs (--url-column)",
                to_terminal_text(name.as_bytes()),
                listed(keys.iter().map(|key| key.as_bytes()))
            )));
        }
        refuse_surt(name, spans.iter().map(|&span| values.get(head, span)))
    }
}

/// The lines, each with its end.
fn lines(octets: &[u8]) -> impl Iterator<Item = &[u8]> {
    let last = (!octets.ends_with(b"\n")).then_some(octets.len());
    let mut start = 0;
    memchr_iter(b'\n', octets).map(|at| at + 1).chain(last.filter(|&len| len > 0)).map(move |end| {
        let line = &octets[start..end];
        start = end;
        line
    })
}

/// A line without the mark that the text may begin with.
fn without_mark(line: &[u8], first_line: u64, start: usize) -> &[u8] {
    match (first_line, start) {
        (1, 0) => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
        _ => line,
    }
}

/// Where a part of `octets` lies.
fn span_of(octets: &[u8], part: &str) -> Span {
    let start = part.as_ptr().addr() - octets.as_ptr().addr();
    Span::new(start, start + part.len())
}

#[inline]
fn url(octets: &[u8], raw: Option<&str>, decoded: &mut Decoded) -> Url {
    let Some(raw) = raw else { return Url::Malformed };
    match text(raw) {
        Some(Cow::Borrowed(url)) => Url::At(span_of(octets, url)),
        Some(Cow::Owned(url)) => Url::At(decoded.add(octets, |out| out.extend_from_slice(url.as_bytes()))),
        None if raw == "null" => Url::Null,
        None => Url::Malformed,
    }
}

/// What a JSON string says; `None` if the value is no string, or half a character.
#[inline]
fn text(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    match memchr::memchr(b'\\', inner.as_bytes()) {
        None => Some(Cow::Borrowed(inner)),
        Some(_) => serde_json::from_str(raw).ok().map(Cow::Owned),
    }
}

/// The rows of a stretch.
#[derive(Debug)]
struct JsonBatch<'s> {
    rows: FoundRows<'s>,
    /// Where lines end.
    ends: Vec<u32>,
}

impl Values for JsonBatch<'_> {
    fn row_count(&self) -> usize {
        self.rows.urls.len()
    }

    #[inline]
    fn value(&self, row: usize) -> &[u8] {
        self.rows.url(row)
    }

    fn is_null(&self, row: usize) -> bool {
        self.rows.urls[row].is_none()
    }

    fn record(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.rows.stretch.octets()[start as usize..self.ends[row] as usize]
    }

    fn carried(&self, column: usize, row: usize) -> Carried<'_> {
        std::str::from_utf8(self.rows.carried(column, row)).map_or(Carried::Null, carried)
    }
}

/// A value in its own type.
fn carried(raw: &str) -> Carried<'_> {
    match raw.as_bytes() {
        b"" | b"null" => Carried::Null,
        b"true" => Carried::Bool(true),
        b"false" => Carried::Bool(false),
        // Half a character stays as it is written.
        [b'"', inner @ .., b'"'] => Carried::Text(text(raw).map_or(Cow::Borrowed(inner), |text| match text {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        })),
        [b'{' | b'[', ..] => Carried::Json(Cow::Borrowed(raw)),
        _ => match raw.parse() {
            Ok(number) => Carried::Integer(number),
            Err(_) => match raw.parse::<f64>() {
                Ok(number) if number.to_string() == raw => Carried::Float(number),
                // As it was written: a float would round it, or write it otherwise.
                _ => Carried::Json(raw.into()),
            },
        },
    }
}
