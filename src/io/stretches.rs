//! Texts of records, read in stretches: cut where a record ends, parsed by the threads that decide.

use std::borrow::Cow;
use std::io::{self, Read};
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::tables::{are_surt, why_no_surt};

/// Octets a stretch has, but for the last one and those of longer records: enough rows that handing one over costs nothing, few enough that a thread's two
/// stay in its cache.
pub(super) const STRETCH_LEN: usize = 512 << 10;

/// Octets that a record may have. More than a row is likely a quote that nothing closes, or no such text at all.
const MAX_RECORD_LEN: usize = 256 << 20;

/// Finds where records end.
pub(super) trait Cut {
    /// Goes on through `octets`, which begin with a record and may have grown since the last call; gives where the last whole record ends, 0 if none does.
    fn last_end(&mut self, octets: &[u8]) -> usize;

    /// Forgets what it saw: the next octets begin with a record.
    fn begin(&mut self);

    /// Where a quote opens that nothing closed so far.
    fn unclosed(&self) -> Option<usize> {
        None
    }
}

/// Records that end with LF, whatever they hold.
#[cfg(feature = "json")]
#[derive(Debug, Default)]
pub(super) struct AtLines {
    searched: usize,
    end: usize,
}

#[cfg(feature = "json")]
impl Cut for AtLines {
    fn last_end(&mut self, octets: &[u8]) -> usize {
        if let Some(at) = memchr::memrchr(b'\n', &octets[self.searched..]) {
            self.end = self.searched + at + 1;
        }
        self.searched = octets.len();
        self.end
    }

    fn begin(&mut self) {
        *self = AtLines::default();
    }
}

/// A text in a map, or one that comes as a stream.
pub(super) enum Text<'s> {
    /// In memory.
    Mapped(&'s [u8]),
    /// A stream.
    Stream(Box<dyn Read + 's>),
}

impl<'s> Text<'s> {
    /// The first octets, a stretch or all there are, and the text again.
    pub(super) fn head(self) -> io::Result<(Cow<'s, [u8]>, Text<'s>)> {
        match self {
            Text::Mapped(octets) => Ok((Cow::Borrowed(&octets[..octets.len().min(STRETCH_LEN)]), self)),
            Text::Stream(mut stream) => {
                let mut head = Vec::new();
                (&mut stream).take(STRETCH_LEN as u64).read_to_end(&mut head)?;
                let again = io::Cursor::new(head.clone()).chain(stream);
                Ok((Cow::Owned(head), Text::Stream(Box::new(again))))
            }
        }
    }

    /// The text behind its first `len` octets, of which there are so many.
    #[cfg(feature = "csv")]
    pub(super) fn behind(self, len: usize) -> io::Result<Text<'s>> {
        match self {
            Text::Mapped(octets) => Ok(Text::Mapped(&octets[len..])),
            Text::Stream(mut stream) => {
                io::copy(&mut (&mut stream).take(len as u64), &mut io::sink())?;
                Ok(Text::Stream(stream))
            }
        }
    }
}

/// Refuses what begins as UTF-16 does.
pub(super) fn refuse_utf16(head: &[u8]) -> io::Result<()> {
    match head {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => {
            Err(io::Error::other("the text is UTF-16: write it as UTF-8 first (iconv -f UTF-16 -t UTF-8)"))
        }
        _ => Ok(()),
    }
}

/// The mark that a text in UTF-8 may begin with.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A text that is cut into stretches.
pub(super) struct Stretches<'s, C> {
    text: Text<'s>,
    cut: C,
    len: usize,
    /// Of a stream: what was read behind the last stretch.
    kept: Vec<u8>,
    at_end: bool,
    spares: Spares,
    /// The line that the next stretch begins with, from 1.
    line: u64,
    /// The line of a quote that nothing closed.
    unclosed: Option<u64>,
}

impl<'s, C: Cut> Stretches<'s, C> {
    /// The stretches of `text`, which begins in the line with that number: of `len` octets or a little less, or of one longer record.
    pub(super) fn new(text: Text<'s>, cut: C, len: usize, line: u64) -> Stretches<'s, C> {
        Stretches { text, cut, len: len.max(1), kept: Vec::new(), at_end: false, spares: Spares::default(), line, unclosed: None }
    }

    /// The line of a quote that nothing closed, so that everything behind it is one record. Known at the end.
    #[cfg(feature = "csv")]
    pub(super) fn unclosed(&self) -> Option<u64> {
        self.unclosed
    }

    /// The next stretch; `None` at the end.
    pub(super) fn next(&mut self) -> io::Result<Option<Stretch<'s>>> {
        self.cut.begin();
        let octets = match self.text {
            Text::Mapped(rest) => Cow::Borrowed(self.next_mapped(rest)?),
            Text::Stream(_) => Cow::Owned(self.next_streamed()?),
        };
        if octets.is_empty() {
            return Ok(None);
        }
        let stretch = Stretch { octets, first_line: self.line, spares: self.spares.clone() };
        if self.at_end {
            self.cut.last_end(stretch.octets());
            self.unclosed = self.cut.unclosed().map(|at| stretch.line_of(at));
        }
        self.line = stretch.line_of(stretch.octets().len());
        Ok(Some(stretch))
    }

    fn next_mapped(&mut self, rest: &'s [u8]) -> io::Result<&'s [u8]> {
        let mut len = self.len;
        let end = loop {
            if len >= rest.len() {
                self.at_end = true;
                break rest.len();
            }
            match self.cut.last_end(&rest[..len]) {
                0 => len = self.grown(len)?,
                end => break end,
            }
        };
        let (stretch, rest) = rest.split_at(end);
        self.text = Text::Mapped(rest);
        Ok(stretch)
    }

    fn next_streamed(&mut self) -> io::Result<Vec<u8>> {
        let kept = mem::take(&mut self.kept);
        let mut buffer = self.spares.take();
        buffer.resize(self.len.max(2 * kept.len()), 0);
        buffer[..kept.len()].copy_from_slice(&kept);
        let mut len = kept.len();
        self.kept = kept; // for its room
        self.kept.clear();
        let end = loop {
            len = self.fill(&mut buffer, len)?;
            if self.at_end {
                break len;
            }
            match self.cut.last_end(&buffer) {
                0 => buffer.resize(self.grown(len)?, 0),
                end => break end,
            }
        };
        self.kept.extend_from_slice(&buffer[end..len]);
        buffer.truncate(end);
        Ok(buffer)
    }

    /// More octets to look for a record's end in.
    fn grown(&self, len: usize) -> io::Result<usize> {
        if len >= MAX_RECORD_LEN {
            return Err(io::Error::other(format!(
                "line {}: a record does not end within {} MiB: is a quote never closed, or is it another format?",
                self.line,
                MAX_RECORD_LEN >> 20
            )));
        }
        Ok(2 * len)
    }

    /// Reads until the buffer, which holds `len` octets, is full or the stream ends; gives how many it holds then.
    fn fill(&mut self, buffer: &mut [u8], mut len: usize) -> io::Result<usize> {
        let Text::Stream(stream) = &mut self.text else { return Ok(len) };
        while len < buffer.len() && !self.at_end {
            match stream.read(&mut buffer[len..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(len)
    }
}

/// Whole records.
#[derive(Debug)]
pub(super) struct Stretch<'s> {
    octets: Cow<'s, [u8]>,
    /// The line of the text that it begins with, from 1.
    pub(super) first_line: u64,
    spares: Spares,
}

impl Stretch<'_> {
    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// The line of the text in which the octet at `at` stands.
    pub(super) fn line_of(&self, at: usize) -> u64 {
        self.first_line + memchr::memchr_iter(b'\n', &self.octets[..at]).count() as u64
    }
}

impl Drop for Stretch<'_> {
    fn drop(&mut self) {
        if let Cow::Owned(octets) = mem::take(&mut self.octets) {
            self.spares.give(octets);
        }
    }
}

/// Buffers that came back from the threads that parsed and the sink that wrote.
#[derive(Debug, Clone, Default)]
struct Spares(Arc<Mutex<Vec<Vec<u8>>>>);

impl Spares {
    /// More than are in flight were never needed.
    const MAX_COUNT: usize = 64;

    fn take(&self) -> Vec<u8> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop().unwrap_or_default()
    }

    fn give(&self, octets: Vec<u8>) {
        // Not the buffer of a record of megabytes.
        if octets.capacity() > 0 && octets.capacity() <= 4 * STRETCH_LEN {
            let mut spares = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if spares.len() < Spares::MAX_COUNT {
                spares.push(octets);
            }
        }
    }
}

/// A place in a stretch, or behind its end in what was decoded from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// No place.
    pub(super) const NONE: Span = Span { start: u32::MAX, end: u32::MAX };

    /// A place in the stretch. Records and what is decoded from them are shorter than 4 GiB.
    #[inline]
    pub(super) fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    pub(super) fn is_none(self) -> bool {
        self == Span::NONE
    }
}

/// What was decoded from a stretch: values that do not stand in it as they are.
#[derive(Debug, Default)]
pub(super) struct Decoded(Vec<u8>);

impl Decoded {
    /// Adds a value of the stretch `octets`, which `write` writes.
    pub(super) fn add(&mut self, octets: &[u8], write: impl FnOnce(&mut Vec<u8>)) -> Span {
        let start = octets.len() + self.0.len();
        write(&mut self.0);
        Span::new(start, octets.len() + self.0.len())
    }

    /// A value of the stretch `octets`; empty for none.
    #[inline]
    pub(super) fn get<'v>(&'v self, octets: &'v [u8], span: Span) -> &'v [u8] {
        let (start, end) = (span.start as usize, span.end as usize);
        match start.checked_sub(octets.len()) {
            None => &octets[start..end],
            Some(_) if span.is_none() => &[],
            Some(start) => &self.0[start..end - octets.len()],
        }
    }
}

/// Rows of a text that have no URL because they are not as they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Malformed {
    /// How many there are.
    pub rows: u64,
    /// The line of the file that the first of them begins with, from 1.
    pub first_line: Option<u64>,
}

/// Counts such rows, in whatever order threads come to them.
#[derive(Debug)]
pub(super) struct MalformedCount {
    rows: AtomicU64,
    first_line: AtomicU64,
}

impl Default for MalformedCount {
    fn default() -> MalformedCount {
        MalformedCount { rows: AtomicU64::new(0), first_line: AtomicU64::new(u64::MAX) }
    }
}

impl MalformedCount {
    pub(super) fn add(&self, rows: u64, first_line: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.first_line.fetch_min(first_line, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Malformed {
        let first_line = self.first_line.load(Ordering::Relaxed);
        Malformed { rows: self.rows.load(Ordering::Relaxed), first_line: (first_line != u64::MAX).then_some(first_line) }
    }
}

/// What was found in a stretch: URLs, and what rows carry.
#[derive(Debug)]
pub(super) struct FoundRows<'s> {
    pub(super) stretch: Stretch<'s>,
    pub(super) decoded: Decoded,
    pub(super) urls: Vec<Span>,
    /// Row by row.
    pub(super) carried: Vec<Span>,
    pub(super) carried_count: usize,
}

impl FoundRows<'_> {
    #[inline]
    pub(super) fn get(&self, span: Span) -> &[u8] {
        self.decoded.get(self.stretch.octets(), span)
    }

    #[inline]
    pub(super) fn url(&self, row: usize) -> &[u8] {
        self.get(self.urls[row])
    }

    /// What a row carries in a column, as it was found; nothing in one that was not asked for.
    pub(super) fn carried(&self, column: usize, row: usize) -> &[u8] {
        if column >= self.carried_count { &[] } else { self.get(self.carried[row * self.carried_count + column]) }
    }
}

/// Refuses values that are sort keys, all of the first ones.
pub(super) fn refuse_surt<'v>(column: &str, values: impl Iterator<Item = &'v [u8]>) -> io::Result<()> {
    if are_surt(values) { Err(io::Error::other(why_no_surt(column))) } else { Ok(()) }
}
