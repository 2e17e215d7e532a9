//! Stretches of records to rows.

use std::borrow::Cow;

use memchr::{memchr, memchr_iter, memchr3};

use super::columns::Columns;
use super::{CsvOptions, QUOTE, is_line_end};
use crate::io::stretches::{Decoded, FoundRows, MalformedCount, Span, Stretch};
use crate::pipeline::{Carried, Values};

/// Octets that a record likely has, or more.
const LIKELY_LEN: usize = 64;

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
        CsvBatch { rows: FoundRows { stretch, decoded, urls, carried, carried_count: self.columns.carried_count() }, records }
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

    /// Rows of any stretch, field by field as the crate `csv` has them. It copies every field, and this one only finds them: twice as fast where
    /// texts are long.
    fn read(&self, rows: &mut Rows<'_, '_>) {
        let octets = rows.octets;
        let blank = |at: usize| octets[at..].iter().take_while(|octet| is_line_end(**octet)).count();
        let mut pos = blank(0);
        while pos < octets.len() {
            let start = pos;
            pos = self.read_record(rows, start);
            rows.add(start, pos);
            pos += blank(pos);
        }
    }

    /// Finds the fields of the record at `start`; gives where it ends.
    fn read_record(&self, rows: &mut Rows<'_, '_>, start: usize) -> usize {
        let (octets, wanted) = (rows.octets, &self.columns.fields[..]);
        rows.found.fill(Span::NONE);
        let (mut pos, mut done) = (start, 0);
        for field in 0.. {
            let value = self.field(octets, pos);
            if wanted.get(done) == Some(&field) {
                rows.found[done] = value.span(octets, &mut rows.decoded);
                done += 1;
            }
            pos = value.end;
            match octets[pos..] {
                [] => break,
                [b'\r', b'\n', ..] => return pos + 2,
                [b'\r' | b'\n', ..] => return pos + 1,
                _ => pos += 1, // a delimiter
            }
        }
        pos
    }

    /// The field that begins at `start`.
    #[inline]
    fn field(&self, octets: &[u8], start: usize) -> Field {
        if !self.quoting || octets.get(start) != Some(&QUOTE) {
            let end = self.unquoted_end(octets, start);
            return Field { start, quoted_end: end, end, is_quoted: false, has_doubled: false };
        }
        let (start, mut pos, mut has_doubled) = (start + 1, start + 1, false);
        while let Some(at) = memchr(QUOTE, &octets[pos..]).map(|at| pos + at) {
            if octets.get(at + 1) != Some(&QUOTE) {
                return Field { start, quoted_end: at, end: self.unquoted_end(octets, at + 1), is_quoted: true, has_doubled };
            }
            (pos, has_doubled) = (at + 2, true);
        }
        Field { start, quoted_end: octets.len(), end: octets.len(), is_quoted: true, has_doubled }
    }

    #[inline]
    fn unquoted_end(&self, octets: &[u8], start: usize) -> usize {
        match octets.get(start) {
            Some(&octet) if octet == self.delimiter || is_line_end(octet) => start,
            _ => memchr3(self.delimiter, b'\n', b'\r', &octets[start..]).map_or(octets.len(), |at| start + at),
        }
    }
}

/// Where a field stands.
struct Field {
    /// Behind the quote, if there is one.
    start: usize,
    /// Where the closing quote stands, if there is one; else as `end`.
    quoted_end: usize,
    /// Where a delimiter or a line end stands, or the text ends. What stands between is text too.
    end: usize,
    is_quoted: bool,
    has_doubled: bool,
}

impl Field {
    #[inline]
    fn span(&self, octets: &[u8], decoded: &mut Decoded) -> Span {
        let behind = octets.get(self.quoted_end + 1..self.end).unwrap_or_default();
        if !self.is_quoted || (!self.has_doubled && behind.is_empty()) {
            return Span::new(self.start, self.quoted_end);
        }
        decoded.add(octets, |out| {
            unquote(&octets[self.start..self.quoted_end], out);
            out.extend_from_slice(behind);
        })
    }
}

/// Of two quotes there is one left. Quotes stand in twos.
fn unquote(quoted: &[u8], out: &mut Vec<u8>) {
    let mut start = 0;
    while let Some(at) = memchr(QUOTE, &quoted[start..]).map(|at| start + at) {
        out.extend_from_slice(&quoted[start..=at]);
        start = at + 2;
    }
    out.extend_from_slice(&quoted[start..]);
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
            urls: Vec::with_capacity(octets.len() / LIKELY_LEN),
            records: Vec::with_capacity(octets.len() / LIKELY_LEN),
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
    rows: FoundRows<'s>,
    records: Vec<Span>,
}

impl Values for CsvBatch<'_> {
    fn row_count(&self) -> usize {
        self.rows.urls.len()
    }

    #[inline]
    fn value(&self, row: usize) -> &[u8] {
        self.rows.url(row)
    }

    fn is_null(&self, row: usize) -> bool {
        self.value(row).is_empty()
    }

    fn record(&self, row: usize) -> &[u8] {
        self.rows.get(self.records[row])
    }

    fn carried(&self, column: usize, row: usize) -> Carried<'_> {
        match self.rows.carried(column, row) {
            b"" => Carried::Null,
            text => Carried::Text(Cow::Borrowed(text)),
        }
    }
}
