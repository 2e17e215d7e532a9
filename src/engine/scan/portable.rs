//! Vectors without vector instructions: words of eight octets, tables, and the crate memchr.

use super::fingerprints::SPECIAL;
use super::{Fingerprints, Found, Hit, Lines, Vector};

#[derive(Debug, Clone, Copy)]
pub(super) struct Portable;

/// Octets whose fingerprints are looked up between two questions whether there were any.
const STRETCH: usize = 8;

/// From `64 - len` on, a mask of the first `len` of 64 octets.
static FIRST: [u8; 128] = {
    let mut mask = [0; 128];
    let mut at = 0;
    while at < 64 {
        mask[at] = 0xFF;
        at += 1;
    }
    mask
};

#[inline(always)]
fn words<const N: usize>(octets: &[u8; N]) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator {
    octets.as_chunks::<8>().0.iter().map(|octets| u64::from_le_bytes(*octets))
}

impl Vector for Portable {
    #[inline(always)]
    fn line_ends(self, octets: &[u8], ends: &mut Vec<u32>) -> usize {
        ends.clear();
        ends.extend(memchr::memchr_iter(b'\n', octets).map(|at| at as u32));
        memchr::memchr_iter(b'\r', octets).count()
    }

    #[inline(always)]
    fn begins(self, octets: &[u8; 64], head: &[u8; 64], len: usize) -> bool {
        let mask = FIRST[64 - len..].first_chunk::<64>().expect("64 of at least 64");
        words(octets).zip(words(head)).zip(words(mask)).fold(0, |all, ((a, b), mask)| all | (a ^ b) & mask) == 0
    }

    #[inline(always)]
    fn shared(self, a: &[u8; 32], b: &[u8; 32], len: u32) -> u32 {
        let differ = words(a).zip(words(b)).map(|(a, b)| a ^ b).enumerate();
        let first =
            |shared, (index, differ): (usize, u64)| if differ == 0 { shared } else { index as u32 * 8 + differ.trailing_zeros() / 8 };
        differ.rev().fold(32, first).min(len)
    }

    #[inline(always)]
    fn odd(self, numbers: &[u16; 64]) -> u64 {
        // Four lowest bits, 16 apart, are moved to the highest four by one multiplication.
        let four = |numbers: &[u16; 4]| {
            let word = numbers.iter().rev().fold(0, |word, &number| word << 16 | u64::from(number));
            (word & 0x0001_0001_0001_0001).wrapping_mul(0x1000_2000_4000_8000) >> 60
        };
        numbers.as_chunks::<4>().0.iter().rev().fold(0, |bits, numbers| bits << 4 | four(numbers))
    }

    #[inline(always)]
    fn search(self, lines: Lines<'_>, fingerprints: &Fingerprints, rows: &mut Vec<u16>, found: &mut Found) {
        let Found { special, hits, .. } = found;
        special.clear();
        hits.clear();
        for &row in &*rows {
            if search_line(lines, row, fingerprints, hits) {
                special.push(row);
            }
        }
    }
}

/// Adds where fingerprints stand on a line; says whether it has a special octet.
#[inline(always)]
fn search_line(lines: Lines<'_>, row: u16, fingerprints: &Fingerprints, hits: &mut Vec<Hit>) -> bool {
    let [first, second, third] = &*fingerprints.words;
    let (mut place, end) = (lines.starts[usize::from(row)], lines.ends[usize::from(row)]);
    let mut all = 0;
    while place < end {
        let stretch = lines.octets[place as usize..].first_chunk::<{ STRETCH + 2 }>().expect("66 octets follow the line");
        let word = |at: usize| {
            let [a, b, c] = [stretch[at], stretch[at + 1], stretch[at + 2]].map(usize::from);
            first[a] & second[b] & third[c]
        };
        if (0..STRETCH).fold(0, |any, at| any | word(at)) != 0 {
            for at in 0..STRETCH.min((end - place) as usize) {
                let word = word(at);
                all |= word;
                if word as u16 != 0 {
                    hits.push(Hit { row, place: place + at as u32 });
                }
            }
        }
        place += STRETCH as u32;
    }
    all & SPECIAL != 0
}
