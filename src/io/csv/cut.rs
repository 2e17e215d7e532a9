//! Where records end, found by their quotes.

use memchr::{memchr_iter, memrchr};

use super::{QUOTE, is_line_end};
use crate::io::stretches::Cut;

/// Records that end with a line end outside quotes.
///
/// A quote opens where a field begins and nowhere else; inside, two of them are one. So only quotes are looked for, and then the last line end between
/// them.
#[derive(Debug)]
pub(super) struct AtRecords {
    delimiter: u8,
    /// Whether quotes mean anything.
    quoting: bool,
    pos: usize,
    /// Where the quotes opened that `pos` lies in.
    opened: Option<usize>,
    /// Where what lies outside quotes begins and ends, but for the last of them.
    outside: Vec<(usize, usize)>,
    /// Where the last of them begins.
    last_outside: usize,
}

impl AtRecords {
    pub(super) fn new(delimiter: u8, quoting: bool) -> AtRecords {
        AtRecords { delimiter, quoting, pos: 0, opened: None, outside: Vec::new(), last_outside: 0 }
    }

    fn go_on(&mut self, octets: &[u8]) {
        let first = self.pos;
        for at in memchr_iter(QUOTE, &octets[first..]).map(|at| first + at) {
            if at < self.pos {
                continue; // the second of two
            }
            self.pos = at + 1;
            if self.opened.is_none() {
                let begins = at == 0 || octets[at - 1] == self.delimiter || is_line_end(octets[at - 1]);
                if begins {
                    self.close_outside(octets, at);
                    self.opened = Some(at);
                }
                continue;
            }
            match octets.get(at + 1) {
                Some(&QUOTE) => self.pos = at + 2,
                Some(_) => {
                    self.opened = None;
                    self.last_outside = at + 1;
                }
                None => {
                    self.pos = at; // nobody knows yet
                    return;
                }
            }
        }
        self.pos = octets.len();
    }

    /// Notes what lies outside quotes up to `end`. It is mostly one delimiter, in which no record ends.
    #[inline]
    fn close_outside(&mut self, octets: &[u8], end: usize) {
        if end - self.last_outside != 1 || is_line_end(octets[self.last_outside]) {
            self.outside.push((self.last_outside, end));
        }
    }

    /// The places outside quotes, the last one first.
    fn outside_from_end<'o>(&'o self, octets: &'o [u8]) -> impl Iterator<Item = (usize, &'o [u8])> {
        let last = self.opened.is_none().then_some((self.last_outside, octets.len()));
        last.into_iter().chain(self.outside.iter().rev().copied()).map(|(start, end)| (start, &octets[start..end]))
    }
}

impl Cut for AtRecords {
    fn last_end(&mut self, octets: &[u8]) -> usize {
        if self.quoting {
            self.go_on(octets);
        }
        let last =
            |end: u8, octets| self.outside_from_end(octets).find_map(|(start, outside)| memrchr(end, outside).map(|at| start + at + 1));
        // A CR is a line end too; the last octet may be half of one.
        last(b'\n', octets).or_else(|| last(b'\r', octets).filter(|&end| end < octets.len())).unwrap_or(0)
    }

    fn begin(&mut self) {
        self.outside.clear();
        (self.pos, self.opened, self.last_outside) = (0, None, 0);
    }

    fn unclosed(&self) -> Option<usize> {
        self.opened
    }
}
