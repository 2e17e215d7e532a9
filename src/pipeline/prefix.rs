//! How many rows in a row begin alike.

use super::rows::Lines;
use crate::engine::scan::{Task, Vector, prefetch, prefetch_far};

/// How far ahead octets are brought into the cache.
const AHEAD: usize = 256 << 10;

/// The octets that decide the origin of rows, for comparing 64 at once.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    octets: Vec<u8>,
    /// The octets and a `/` behind them, and which of the 64 count; none if there are more.
    head: [u8; 64],
    mask: u64,
}

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix { octets: Vec::new(), head: [0; 64], mask: 0 }
    }
}

impl Prefix {
    /// Whether these are its octets; none are before any were set.
    #[inline]
    pub(super) fn is(&self, octets: &[u8]) -> bool {
        match self.head.get(..octets.len()) {
            Some(head) if self.mask != 0 => self.mask == mask_of(octets.len()) && head == octets,
            _ => self.octets == octets,
        }
    }

    /// Brings it into the cache.
    #[inline]
    pub(super) fn prefetch(&self) {
        prefetch(&self.head);
    }

    pub(super) fn set(&mut self, octets: &[u8]) {
        self.octets.clear();
        self.octets.extend_from_slice(octets);
        self.mask = 0;
        if let Some(head) = self.head.get_mut(..octets.len() + 1) {
            let (slash, prefix) = head.split_last_mut().expect("at least the `/`");
            prefix.copy_from_slice(octets);
            *slash = b'/';
            self.mask = mask_of(octets.len());
        }
    }

    /// Whether `row` begins with the prefix and goes on as a URL may.
    pub(super) fn begins(&self, row: &[u8]) -> bool {
        matches!(row.strip_prefix(&self.octets[..]), Some([] | [b'/' | b'?' | b'#', ..]))
    }
}

/// The bits of so many octets and the `/` behind them.
fn mask_of(len: usize) -> u64 {
    if len < 64 { u64::MAX >> (63 - len) } else { 0 }
}

/// How many lines from `first` on have the prefix.
pub(super) struct SamePrefix<'a> {
    pub(super) octets: &'a [u8],
    pub(super) lines: Lines<'a>,
    pub(super) first: usize,
    pub(super) prefix: &'a Prefix,
}

impl Task for SamePrefix<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> usize {
        let SamePrefix { octets, lines, first, prefix } = self;
        let ends = lines.ends_from(first);
        let mut start = lines.start(first);
        for (count, &end) in ends.iter().enumerate() {
            let row = &octets[start as usize..];
            prefetch_far(row, AHEAD);
            prefetch_far(row, AHEAD + 64);
            let same = match row.first_chunk::<64>() {
                Some(head) if prefix.mask != 0 && vector.differ(head, &prefix.head) & prefix.mask == 0 => true,
                _ => {
                    let line = &row[..(end - start) as usize];
                    prefix.begins(line.strip_suffix(b"\r").unwrap_or(line))
                }
            };
            if !same {
                return count;
            }
            start = end + 1;
        }
        ends.len()
    }
}
