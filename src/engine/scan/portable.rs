//! Vectors without vector instructions: what all others must agree with.

use super::{Buckets, Members, Vector};

#[derive(Debug, Clone, Copy)]
pub(super) struct Portable;

const ONES: u64 = u64::from_ne_bytes([1; 8]);
const HIGH: u64 = ONES << 7;

/// Gathers the highest bit of each octet into the lowest eight.
#[inline(always)]
fn high_bits(word: u64) -> u64 {
    (word >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The highest bit of each octet that is not zero.
#[inline(always)]
fn not_zero(word: u64) -> u64 {
    (((word & !HIGH) + !HIGH) | word) & HIGH
}

#[inline(always)]
fn words<const N: usize>(octets: &[u8; N]) -> impl Iterator<Item = u64> {
    octets.as_chunks::<8>().0.iter().map(|octets| u64::from_le_bytes(*octets))
}

#[inline(always)]
fn gather(masks: impl Iterator<Item = u64>) -> u64 {
    masks.enumerate().fold(0, |all, (index, mask)| all | high_bits(mask) << (index * 8))
}

impl Vector for Portable {
    #[inline(always)]
    fn equal(self, octets: &[u8; 64], octet: u8) -> u64 {
        let wanted = ONES * u64::from(octet);
        gather(words(octets).map(|word| not_zero(word ^ wanted) ^ HIGH))
    }

    #[inline(always)]
    fn differ(self, a: &[u8; 64], b: &[u8; 64]) -> u64 {
        gather(words(a).zip(words(b)).map(|(a, b)| not_zero(a ^ b)))
    }

    #[inline(always)]
    fn differ_32(self, a: &[u8; 32], b: &[u8; 32]) -> u32 {
        gather(words(a).zip(words(b)).map(|(a, b)| not_zero(a ^ b))) as u32
    }

    #[inline(always)]
    fn odd(self, numbers: &[u16; 64]) -> u64 {
        numbers.iter().enumerate().fold(0, |all, (index, number)| all | u64::from(number & 1) << index)
    }

    #[inline(always)]
    fn members(self, octets: &[u8; 64], members: &Members) -> u64 {
        octets.iter().enumerate().fold(0, |all, (at, &octet)| all | u64::from(members.contains(octet)) << at)
    }

    #[inline(always)]
    fn fingerprints(self, octets: &[u8; 66], tables: &[Buckets; 3], out: &mut [u8; 64]) -> u64 {
        let mut hits = 0;
        for at in 0..64 {
            out[at] = tables[0].of(octets[at]) & tables[1].of(octets[at + 1]) & tables[2].of(octets[at + 2]);
            hits |= u64::from(out[at] != 0) << at;
        }
        hits
    }
}
