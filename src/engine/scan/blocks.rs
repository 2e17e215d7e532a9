//! What algorithms ask, for instruction sets that look at 64 octets at a time.

use super::fingerprints::{Buckets, Members, PLACES};
use super::{Fingerprints, Hit, Line, Vector, prefetch_far};

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

    /// Which octets are members.
    fn members(self, octets: &[u8; 64], members: &Members) -> u64;

    /// Where fingerprints may stand: the octet has a bit in the first table that the next one has in the second and the one after it in the third. `out`
    /// gets those bits. There may be more than the tables say, more so if `are_few`: windows so few that a wrong hit is rare anyway.
    fn fingerprints(self, octets: &[u8; 66], tables: &[Buckets; PLACES], are_few: bool, out: &mut [u8; 64]) -> u64;
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
    fn search(self, octets: &[u8], line: Line, fingerprints: &Fingerprints, hits: &mut Vec<Hit>) -> bool {
        let mut special = 0;
        let mut bits = [[0u8; 64]; 2];
        let mut place = line.start;
        while place < line.end {
            let block = octets[place as usize..].first_chunk::<66>().expect("66 octets follow the line");
            let valid = u64::MAX >> (64 - (line.end - place).min(64));
            special |= self.members(block.first_chunk().expect("64 of 66"), &fingerprints.special) & valid;
            let mut found = 0;
            for (set, bits) in fingerprints.sets.iter().zip(&mut bits) {
                found |= self.fingerprints(block, set, fingerprints.are_few, bits);
            }
            found &= valid;
            while found != 0 {
                let at = found.trailing_zeros();
                let bits = u16::from_le_bytes([bits[0][at as usize], bits[1][at as usize]]);
                hits.push(Hit { row: line.row, bits, place: place + at });
                found &= found - 1;
            }
            place += 64;
        }
        special != 0
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
