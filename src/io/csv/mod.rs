//! CSV and TSV: records with a header, in and out.
//!
//! Records are read as the crate [`csv`] reads them: LF, CR and CRLF end one, blank lines are none, a field that begins with a quote goes on to the next
//! one that is not doubled, whatever stands between, and a quote elsewhere is itself. A row with too few fields has no URL; it is counted, and
//! stops nothing.
//!
//! Texts are cut where a record ends by looking for quotes alone, and parsed by the threads that decide.

mod columns;
mod cut;
mod filter;
mod parse;
mod verdicts;

use std::io::{self, Read};
use std::sync::Arc;

use csv::{ByteRecord, ReaderBuilder};

pub use super::stretches::Malformed;
use super::stretches::{BYTE_ORDER_MARK, MalformedCount, STRETCH_LEN, Stretch, Stretches, Text, refuse_surt, refuse_utf16};
use crate::pipeline::{Batch, Source, Unit, Values};
use columns::Columns;
use cut::AtRecords;
pub use filter::CsvFilter;
use parse::Parser;
pub use verdicts::{CsvVerdicts, CsvVerdictsOptions};

/// What fields are quoted with.
const QUOTE: u8 = b'"';

#[inline]
fn is_line_end(octet: u8) -> bool {
    matches!(octet, b'\n' | b'\r')
}

/// How a table is read.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CsvOptions {
    /// What stands between fields: `,` unless told, a tab in TSV.
    pub delimiter: u8,
    /// Whether quotes around a field mean anything. They do unless told; a TSV as IANA registered it has none.
    pub quoting: bool,
    /// The column of the URLs. Unless told: `url`, else the split columns of Common Crawl's columnar index.
    pub url_column: Option<String>,
    /// Columns that rows carry along, for outputs and sums.
    pub carry: Vec<String>,
    /// Octets that a thread parses at once. For tests and measurements.
    pub stretch_len: usize,
}

impl Default for CsvOptions {
    fn default() -> CsvOptions {
        CsvOptions { delimiter: b',', quoting: true, url_column: None, carry: Vec::new(), stretch_len: STRETCH_LEN }
    }
}

impl CsvOptions {
    /// Fields parted by tabs.
    pub fn tsv() -> CsvOptions {
        CsvOptions { delimiter: b'\t', ..CsvOptions::default() }
    }
}

/// The rows of a CSV or TSV.
///
/// ```
/// use std::num::NonZeroUsize;
/// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::io::csv::{CsvFilter, CsvOptions, CsvRows};
/// use robosieve::io::filter::{Filter, Require, Undecided};
/// use robosieve::pipeline::{Evaluator, run};
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
///
/// let table = b"id,url,note\n7,https://example.com/private/x,\n8,https://example.com/,\"two\nlines\"\n";
/// let mut rows = CsvRows::mapped(table, &CsvOptions::default())?;
/// let mut kept = Vec::new();
/// let mut filter = Filter::new(CsvFilter::new(&mut kept, rows.header()), Require::All, Undecided::Drop);
/// run(&mut rows, &evaluator, &mut filter, NonZeroUsize::MIN)?;
/// filter.finish()?;
/// assert_eq!(kept, b"id,url,note\n8,https://example.com/,\"two\nlines\"\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CsvRows<'s> {
    stretches: Stretches<'s, AtRecords>,
    parser: Arc<Parser>,
    malformed: Arc<MalformedCount>,
    header: Vec<u8>,
    notes: Vec<String>,
}

impl<'s> CsvRows<'s> {
    /// The rows of a table in memory, or in a mapped file.
    ///
    /// # Errors
    ///
    /// When there is no header, when it has no column of URLs or none of a name that was asked for, or when the URLs are SURT keys.
    pub fn mapped(octets: &'s [u8], options: &CsvOptions) -> io::Result<CsvRows<'s>> {
        CsvRows::new(Text::Mapped(octets), options)
    }

    /// The rows of a table that comes as a stream. Memory is bounded by the batches in flight and the longest record, which has at most 256 MiB.
    ///
    /// # Errors
    ///
    /// As [`CsvRows::mapped`]; or when the stream can not be read.
    pub fn streamed(stream: impl Read + 's, options: &CsvOptions) -> io::Result<CsvRows<'s>> {
        CsvRows::new(Text::Stream(Box::new(stream)), options)
    }

    fn new(text: Text<'s>, options: &CsvOptions) -> io::Result<CsvRows<'s>> {
        if matches!(options.delimiter, QUOTE | b'\n' | b'\r') {
            return Err(io::Error::other("a quote or a line end can not part fields: give another delimiter"));
        }
        let (head, text) = text.head()?;
        refuse_utf16(&head)?;
        let (names, header_len) = read_header(&head, options)?;
        let mut columns = Columns::find(&names, options.url_column.as_deref(), &options.carry)?;
        let notes = std::mem::take(&mut columns.notes);
        let parser = Parser::new(columns, options);
        refuse_surt_keys(&parser, &head[header_len..], options)?;
        let header = head[..header_len].to_vec();
        let first_line = 1 + memchr::memchr_iter(b'\n', &header).count() as u64;
        let cut = AtRecords::new(options.delimiter, options.quoting);
        let stretches = Stretches::new(text.behind(header_len)?, cut, options.stretch_len, first_line);
        Ok(CsvRows { stretches, parser: Arc::new(parser), malformed: Arc::default(), header, notes })
    }

    /// The header, octet for octet, with what stands before it (a byte order mark, blank lines) and its line end.
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// Rows with too few fields to have a URL. Complete when all rows are decided.
    pub fn malformed(&self) -> Malformed {
        self.malformed.get()
    }

    /// What the user may want to know: a name that several columns have, and, when all rows are decided, a quote that nothing closed.
    pub fn notes(&self) -> Vec<String> {
        let unclosed = |line| format!("line {line}: a quote opens a field that nothing closes: all that follows was read as one record");
        self.notes.iter().cloned().chain(self.stretches.unclosed().map(unclosed)).collect()
    }
}

/// The names in the header, and where it ends.
fn read_header(head: &[u8], options: &CsvOptions) -> io::Result<(ByteRecord, usize)> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(options.delimiter)
        .quoting(options.quoting)
        .from_reader(head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head));
    let mut names = ByteRecord::new();
    if !reader.read_byte_record(&mut names)? {
        return Err(io::Error::other("there is no header: the first record names the columns, one of which holds the URLs"));
    }
    let mut end = reader.position().byte() as usize + if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    if head[..end].ends_with(b"\r") && head.get(end) == Some(&b'\n') {
        end += 1;
    }
    if end == head.len() && head.len() == STRETCH_LEN {
        return Err(io::Error::other(format!(
            "the header does not end within {STRETCH_LEN} octets: is a quote never closed, or is it no table?"
        )));
    }
    Ok((names, end))
}

fn refuse_surt_keys(parser: &Parser, octets: &[u8], options: &CsvOptions) -> io::Result<()> {
    let cut = AtRecords::new(options.delimiter, options.quoting);
    let first = Stretches::new(Text::Mapped(octets), cut, 16 << 10, 1).next()?;
    let Some(rows) = first.map(|stretch| parser.parse(stretch, &MalformedCount::default())) else { return Ok(()) };
    refuse_surt(&parser.columns.url_name, (0..rows.row_count()).map(|row| rows.value(row)))
}

impl<'s> Source<'s> for CsvRows<'s> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        let Some(stretch) = self.stretches.next()? else { return Ok(None) };
        Ok(Some(Batch::unit(Records { stretch: Some(stretch), parser: self.parser.clone(), malformed: self.malformed.clone() })))
    }
}

/// A stretch that is still to be parsed.
struct Records<'s> {
    stretch: Option<Stretch<'s>>,
    parser: Arc<Parser>,
    malformed: Arc<MalformedCount>,
}

impl<'s> Unit<'s> for Records<'s> {
    fn next_part(&mut self) -> io::Result<Option<Batch<'s>>> {
        Ok(self.stretch.take().map(|stretch| Batch::values(self.parser.parse(stretch, &self.malformed))))
    }
}
