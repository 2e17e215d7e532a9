//! What algorithms ask, for instruction sets that look at 64 octets at a time.

use super::{Fingerprints, Found, Hit, Lines, Vector, prefetch_far};

/// What is asked of 64 octets. Bit `i` of an answer is about octet `i`.
pub(super) trait Blocks: Copy {
    /// Which octets equal `octet`.
    fn equal(self, octets: &[u8; 64], octet: u8) -> u64;

    /// Where `a` and `b` differ.
    fn differ(self, a: &[u8; 64], b: &[u8; 64]) -> u64;

    /// Where the 32 octets of `a` and `b` differ.
    fn differ_32(self, a: &[u8; 32], b: &[u8; 32]) -> u32;

    /// Which numbers are odd.
    fn odd(self, numbers: &[u16; 64]) -> u64;

    /// What special octets and the buckets of so many sets are looked up in, kept in registers while lines are searched. Where windows are few,
    /// shorter tables will do that find more.
    type Tables<const SETS: usize, const FEW: bool>: Copy;

    /// The tables of `fingerprints`, which have so many sets.
    fn tables<const SETS: usize, const FEW: bool>(self, fingerprints: &Fingerprints) -> Self::Tables<SETS, FEW>;

    /// Which of the first 64 octets are special, and where fingerprints may stand: the octet has a bit in the first table of a set that the next one
    /// has in the second and the one after it in the third. There may be more of these than the tables say.
    fn find<const SETS: usize, const FEW: bool>(self, octets: &[u8; 66], tables: &Self::Tables<SETS, FEW>) -> (u64, u64);
}

impl<B: Blocks> Vector for B {
    #[inline(always)]
    fn line_ends(self, octets: &[u8], ends: &mut Vec<u32>) -> usize {
        line_ends(self, octets, ends)
    }

    #[inline(always)]
    fn begins(self, octets: &[u8; 64], head: &[u8; 64], len: usize) -> bool {
        self.differ(octets, head) << (64 - len) == 0
    }

    #[inline(always)]
    fn shared(self, a: &[u8; 32], b: &[u8; 32], len: u32) -> u32 {
        (u64::from(self.differ_32(a, b)) | 1 << len).trailing_zeros()
    }

    #[inline(always)]
    fn odd(self, numbers: &[u16; 64]) -> u64 {
        Blocks::odd(self, numbers)
    }

    #[inline(always)]
    fn search(self, lines: Lines<'_>, fingerprints: &Fingerprints, rows: &mut Vec<u16>, found: &mut Found) {
        match (fingerprints.sets.len(), fingerprints.are_few) {
            (2.., _) => search::<B, 2, false>(self, lines, fingerprints, rows, found),
            (_, false) => search::<B, 1, false>(self, lines, fingerprints, rows, found),
            (_, true) => search::<B, 1, true>(self, lines, fingerprints, rows, found),
        }
    }
}

/// Searches 64 octets of every line, then lists without a branch those that are longer: a loop a line would guess wrong where each one ends.
#[inline(always)]
fn search<B: Blocks, const SETS: usize, const FEW: bool>(
    blocks: B,
    Lines { octets, starts, ends }: Lines<'_>,
    fingerprints: &Fingerprints,
    rows: &mut Vec<u16>,
    found: &mut Found,
) {
    let tables = blocks.tables::<SETS, FEW>(fingerprints);
    let Found { special, hits, masks } = found;
    special.clear();
    hits.clear();
    let mut depth = 0;
    while !rows.is_empty() {
        let (count, first) = (rows.len(), special.len());
        special.resize(first + count, 0);
        masks.resize(masks.len().max(count), (0, 0));
        let (rows_of, special_of, masks_of) = (&mut rows[..], &mut special[first..], &mut masks[..count]);
        let (mut special_count, mut longer, mut mask_count) = (0, 0, 0);
        // Nothing is called in this loop: a call would put the tables out of their registers.
        for at in 0..count {
            let row = rows_of[at];
            let (start, end) = (starts[usize::from(row)] + depth, ends[usize::from(row)]);
            let block = octets[start as usize..].first_chunk::<66>().expect("66 octets follow the line");
            let left = end.saturating_sub(start);
            let valid = if left == 0 { 0 } else { u64::MAX >> (64 - left.min(64)) };
            let (is_special, hit) = blocks.find(block, &tables);
            special_of[special_count] = row;
            special_count += usize::from(is_special & valid != 0);
            masks_of[mask_count] = (row, hit & valid);
            mask_count += usize::from(hit & valid != 0);
            rows_of[longer] = row;
            longer += usize::from(left > 64);
        }
        for &(row, mut mask) in &masks[..mask_count] {
            let start = starts[usize::from(row)] + depth;
            while mask != 0 {
                hits.push(Hit { row, place: start + mask.trailing_zeros() });
                mask &= mask - 1;
            }
        }
        special.truncate(first + special_count);
        rows.truncate(longer);
        depth += 64;
    }
}

/// Places are written to a buffer of this many first, with a mask instead of a check.
const BUFFER: usize = 1024;
/// Line ends that are written for every 64 octets, be there as many or not: no branch for the ordinary line.
const UNCONDITIONAL: usize = 3;

#[inline(always)]
fn line_ends<B: Blocks>(blocks: B, octets: &[u8], all: &mut Vec<u32>) -> usize {
    let (chunks, rest) = octets.as_chunks::<64>();
    let mut buffer = [0u32; BUFFER];
    let mut len = 0;
    let mut cr_count = 0;
    all.clear();
    for (index, chunk) in chunks.iter().enumerate() {
        let base = (index * 64) as u32;
        prefetch_far(chunk, 4096);
        let mut ends = blocks.equal(chunk, b'\n');
        let count = ends.count_ones() as usize;
        cr_count += blocks.equal(chunk, b'\r').count_ones() as usize;
        for at in 0..UNCONDITIONAL {
            buffer[(len + at) % BUFFER] = base + ends.trailing_zeros();
            ends &= ends.wrapping_sub(1);
        }
        for at in UNCONDITIONAL..count {
            buffer[(len + at) % BUFFER] = base + ends.trailing_zeros();
            ends &= ends.wrapping_sub(1);
        }
        len += count;
        if len > BUFFER - 64 - UNCONDITIONAL {
            all.extend_from_slice(&buffer[..len]);
            len = 0;
        }
    }
    all.extend_from_slice(&buffer[..len]);
    let base = chunks.len() * 64;
    all.extend((base..).zip(rest).filter(|(_, octet)| **octet == b'\n').map(|(at, _)| at as u32));
    cr_count + rest.iter().filter(|octet| **octet == b'\r').count()
}
