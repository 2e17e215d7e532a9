//! How many rows in a row begin alike.

use super::rows::Lines;
use crate::engine::scan::{Task, Vector, prefetch_far};
use crate::target::url::Url;

/// The octets that decide the origin of rows, for comparing 64 at once.
#[derive(Debug, Clone)]
pub(super) struct Prefix {
    octets: Vec<u8>,
    /// The octets and a `/` behind them, and how many that are; 0 if there are more than 64.
    head: [u8; 64],
    len: usize,
}

impl Default for Prefix {
    fn default() -> Prefix {
        Prefix { octets: Vec::new(), head: [0; 64], len: 0 }
    }
}

impl Prefix {
    /// Whether these are its octets; none are before any were set.
    #[inline]
    pub(super) fn is(&self, octets: &[u8]) -> bool {
        match self.head.get(..octets.len()) {
            Some(head) if self.len != 0 => self.len == octets.len() + 1 && head == octets,
            _ => self.octets == octets,
        }
    }

    pub(super) fn set(&mut self, octets: &[u8]) {
        self.octets.clear();
        self.octets.extend_from_slice(octets);
        self.len = 0;
        if let Some(head) = self.head.get_mut(..octets.len() + 1) {
            let (slash, prefix) = head.split_last_mut().expect("at least the `/`");
            prefix.copy_from_slice(octets);
            *slash = b'/';
            self.len = octets.len() + 1;
        }
    }

    /// Whether `row` begins with the prefix and goes on as a URL may.
    pub(super) fn begins(&self, row: &[u8]) -> bool {
        Url::is_prefix(&self.octets, row)
    }
}

/// How many lines from `first` on have the prefix.
pub(super) struct SamePrefix<'a> {
    pub(super) octets: &'a [u8],
    pub(super) lines: Lines<'a>,
    pub(super) first: usize,
    pub(super) prefix: &'a Prefix,
    /// How far ahead octets are brought into the cache.
    pub(super) ahead: usize,
}

impl Task for SamePrefix<'_> {
    type Output = usize;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> usize {
        let SamePrefix { octets, lines, first, prefix, ahead } = self;
        let ends = lines.ends_from(first);
        let mut start = lines.start(first);
        for (count, &end) in ends.iter().enumerate() {
            let row = &octets[start as usize..];
            prefetch_far(row, ahead);
            prefetch_far(row, ahead + 64);
            let same = match row.first_chunk::<64>() {
                Some(head) if prefix.len != 0 && vector.begins(head, &prefix.head, prefix.len) => true,
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
