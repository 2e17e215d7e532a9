//! Stretches of records to rows.

use std::borrow::Cow;
use std::io;

use csv::{ByteRecord, ReaderBuilder};
use memchr::{memchr, memchr_iter};

use super::columns::Columns;
use super::{CsvOptions, QUOTE};
use crate::io::stretches::{Decoded, MalformedCount, Span, Stretch};
use crate::pipeline::{Carried, Values};

/// What every stretch is parsed with.
#[derive(Debug)]
pub(super) struct Parser {
    pub(super) columns: Columns,
    delimiter: u8,
    quoting: bool,
}

impl Parser {
    pub(super) fn new(columns: Columns, options: &CsvOptions) -> Parser {
        Parser { columns, delimiter: options.delimiter, quoting: options.quoting }
    }

    /// The rows of a stretch. Blank lines are none.
    pub(super) fn parse<'s>(&self, stretch: Stretch<'s>, malformed: &MalformedCount) -> CsvBatch<'s> {
        let mut rows = Rows::new(&self.columns, stretch.octets());
        match self.is_plain(stretch.octets()) {
            true => self.split(&mut rows),
            false => self.read(&mut rows),
        }
        if rows.short > 0 {
            malformed.add(rows.short, stretch.line_of(rows.first_short));
        }
        let Rows { decoded, urls, records, carried, .. } = rows;
        CsvBatch { stretch, decoded, urls, records, carried, carried_count: self.columns.carried_count() }
    }

    /// Whether delimiters and LF are all that has a meaning, but for a CR before LF.
    fn is_plain(&self, octets: &[u8]) -> bool {
        let no_quotes = !self.quoting || memchr(QUOTE, octets).is_none();
        no_quotes && memchr_iter(b'\r', octets).all(|at| octets.get(at + 1) == Some(&b'\n'))
    }

    /// Rows of a stretch in which nothing is quoted: many times faster than reading it octet by octet.
    fn split(&self, rows: &mut Rows<'_, '_>) {
        let octets = rows.octets;
        let mut start = 0;
        for end in memchr_iter(b'\n', octets).map(|at| at + 1).chain([octets.len()]) {
            let line = without_end(&octets[start..end]);
            if !line.is_empty() {
                fields(line, start, self.delimiter, &self.columns.fields, &mut rows.found);
                rows.add(start, end);
            }
            start = end;
        }
    }

    fn read(&self, rows: &mut Rows<'_, '_>) {
        let octets = rows.octets;
        // A line end first, which is no record: what looks like a byte order mark is none here.
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.delimiter)
            .quoting(self.quoting)
            .from_reader(io::Read::chain(&b"\n"[..], octets));
        let (mut record, mut end) = (ByteRecord::new(), 0);
        while reader.read_byte_record(&mut record).is_ok_and(|more| more) {
            let start = end + octets[end..].iter().take_while(|octet| matches!(octet, b'\r' | b'\n')).count();
            end = reader.position().byte() as usize - 1;
            if octets[..end].ends_with(b"\r") && octets.get(end) == Some(&b'\n') {
                end += 1;
            }
            for (found, &field) in rows.found.iter_mut().zip(&self.columns.fields) {
                *found = match record.get(field) {
                    Some(value) => rows.decoded.add(octets, |out| out.extend_from_slice(value)),
                    None => Span::NONE,
                };
            }
            rows.add(start, end);
        }
    }
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Where the fields `wanted`, ascending, stand in a line that begins at `start`.
#[inline]
fn fields(line: &[u8], start: usize, delimiter: u8, wanted: &[usize], found: &mut [Span]) {
    let (mut field, mut field_start, mut done) = (0, 0, 0);
    for field_end in memchr_iter(delimiter, line).chain([line.len()]) {
        if wanted[done] == field {
            found[done] = Span::new(start + field_start, start + field_end);
            done += 1;
            if done == wanted.len() {
                return;
            }
        }
        field += 1;
        field_start = field_end + 1;
    }
    found[done..].fill(Span::NONE);
}

/// Rows of a stretch under way.
struct Rows<'p, 'o> {
    columns: &'p Columns,
    octets: &'o [u8],
    /// The fields that are read of the current record.
    found: Vec<Span>,
    /// Records with too few fields to have a URL, and where the first of them begins.
    short: u64,
    first_short: usize,
    decoded: Decoded,
    urls: Vec<Span>,
    records: Vec<Span>,
    /// Row by row.
    carried: Vec<Span>,
}

impl<'p, 'o> Rows<'p, 'o> {
    fn new(columns: &'p Columns, octets: &'o [u8]) -> Rows<'p, 'o> {
        Rows {
            columns,
            octets,
            found: vec![Span::NONE; columns.fields.len()],
            short: 0,
            first_short: 0,
            decoded: Decoded::default(),
            urls: Vec::new(),
            records: Vec::new(),
            carried: Vec::new(),
        }
    }

    #[inline]
    fn add(&mut self, start: usize, end: usize) {
        let (url, is_whole) = self.columns.url(self.octets, &self.found, &mut self.decoded);
        if !is_whole {
            if self.short == 0 {
                self.first_short = start;
            }
            self.short += 1;
        }
        self.urls.push(url);
        self.records.push(Span::new(start, end));
        self.carried.extend(self.columns.carried(&self.found));
    }
}

/// The rows of a stretch.
#[derive(Debug)]
pub(super) struct CsvBatch<'s> {
    stretch: Stretch<'s>,
    decoded: Decoded,
    urls: Vec<Span>,
    records: Vec<Span>,
    /// Row by row.
    carried: Vec<Span>,
    carried_count: usize,
}

impl CsvBatch<'_> {
    #[inline]
    fn get(&self, span: Span) -> &[u8] {
        self.decoded.get(self.stretch.octets(), span)
    }
}

impl Values for CsvBatch<'_> {
    fn row_count(&self) -> usize {
        self.urls.len()
    }

    #[inline]
    fn value(&self, row: usize) -> &[u8] {
        self.get(self.urls[row])
    }

    fn is_null(&self, row: usize) -> bool {
        self.value(row).is_empty()
    }

    fn record(&self, row: usize) -> &[u8] {
        self.get(self.records[row])
    }

    fn carried(&self, column: usize, row: usize) -> Carried<'_> {
        if column >= self.carried_count {
            return Carried::Null;
        }
        match self.get(self.carried[row * self.carried_count + column]) {
            b"" => Carried::Null,
            text => Carried::Text(Cow::Borrowed(text)),
        }
    }
}
