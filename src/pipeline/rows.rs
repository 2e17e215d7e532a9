//! Where rows lie in the octets of a batch.

use std::ops::Range;

use crate::engine::scan::{Isa, find_lines};

/// The rows of a batch.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// Where lines end: at an LF, or at the end of the octets.
    ends: Vec<u32>,
    /// Whether some line ends with CR and LF.
    has_cr: bool,
    /// Whether every CR belongs to a line end.
    cr_ends_lines: bool,
    /// Places given by the source; lines do not count then.
    ranges: Option<Vec<Range<usize>>>,
}

/// Rows that are lines: where each begins, and where it ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lines<'r> {
    ends: &'r [u32],
}

impl<'r> Lines<'r> {
    /// Where a row begins.
    #[inline(always)]
    pub(super) fn start(&self, row: usize) -> u32 {
        match row.checked_sub(1) {
            Some(before) => self.ends[before] + 1,
            None => 0,
        }
    }

    /// Where the LF of each row stands, or the octets end.
    pub(super) fn ends(&self, rows: Range<usize>) -> &'r [u32] {
        &self.ends[rows]
    }

    /// The same for all rows from `first` on.
    pub(super) fn ends_from(&self, first: usize) -> &'r [u32] {
        &self.ends[first..]
    }
}

impl Rows {
    /// The lines of `octets`.
    ///
    /// LF ends a row; a CR before it, or at the end of the octets, belongs to the line end. A last line without LF is a row; behind a last LF there is
    /// none.
    pub(super) fn set_lines(&mut self, octets: &[u8], isa: Isa) {
        self.ranges = None;
        let Ok(len) = u32::try_from(octets.len()) else {
            // A line of more than 4 GiB: rare enough for a list of places.
            let mut start = 0;
            let lines = octets.split_inclusive(|&octet| octet == b'\n').map(|line| {
                let row = start..start + without_end(line);
                start += line.len();
                row
            });
            self.ranges = Some(lines.collect());
            return;
        };
        let found = find_lines(octets, isa, &mut self.ends);
        let open = octets.last().is_some_and(|&last| last != b'\n');
        if open {
            self.ends.push(len);
        }
        self.has_cr = found.cr_count > 0;
        let ends_with_cr = |&&end: &&u32| end > 0 && octets[end as usize - 1] == b'\r';
        self.cr_ends_lines = !self.has_cr || self.ends.iter().filter(ends_with_cr).count() == found.cr_count;
    }

    /// Rows at these places.
    pub(super) fn set_ranges(&mut self, ranges: Vec<Range<usize>>) {
        self.ranges = Some(ranges);
    }

    /// Whether a line ends with CR and LF.
    pub(super) fn has_cr(&self) -> bool {
        self.has_cr
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ranges.as_ref().map_or(self.ends.len(), Vec::len)
    }

    /// Where a row lies, without its line end.
    #[inline]
    pub(super) fn range(&self, octets: &[u8], row: usize) -> Range<usize> {
        if let Some(ranges) = &self.ranges {
            return ranges[row].clone();
        }
        let lines = Lines { ends: &self.ends };
        let (start, end) = (lines.start(row) as usize, self.ends[row] as usize);
        if self.has_cr && end > start && octets[end - 1] == b'\r' { start..end - 1 } else { start..end }
    }

    /// The rows as lines, if they are, with no CR but before LF.
    pub(super) fn lines(&self) -> Option<Lines<'_>> {
        (self.ranges.is_none() && self.cr_ends_lines).then_some(Lines { ends: &self.ends })
    }
}

fn without_end(line: &[u8]) -> usize {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line).len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_lines() {
        let mut rows = Rows::default();
        for (text, expected) in [
            ("", vec![]),
            ("a", vec!["a"]),
            ("a\n", vec!["a"]),
            ("a\r\n\r\n\nb\r", vec!["a", "", "", "b"]),
            ("\n\n", vec!["", ""]),
            ("\r", vec![""]),
            ("a\rb\n", vec!["a\rb"]),
            ("a\r\r\n", vec!["a\r"]),
        ] {
            for isa in Isa::available() {
                rows.set_lines(text.as_bytes(), isa);
                let found: Vec<&str> = (0..rows.len()).map(|row| &text[rows.range(text.as_bytes(), row)]).collect();
                assert_eq!(found, expected, "{text:?}");
                let cr = text.matches('\r').count();
                let ends = text.matches("\r\n").count() + usize::from(text.ends_with('\r'));
                assert_eq!(rows.lines().is_some(), cr == ends, "{text:?}");
            }
            let mut start = 0;
            for (line, expected) in text.as_bytes().split_inclusive(|&octet| octet == b'\n').zip(expected) {
                assert_eq!(&text[start..start + without_end(line)], expected);
                start += line.len();
            }
        }
    }
}
