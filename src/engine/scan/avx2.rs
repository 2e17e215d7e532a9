//! AVX2: 64 octets are two vectors.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::blocks::Blocks;
use super::fingerprints::{Members, PLACES};
use super::{Fingerprints, Task};

/// Proof that the processor has AVX2 and what comes with it: there is no other way to a value than [`Avx2::detect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Avx2(()))
    }

    #[inline]
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn inner<T: Task>(task: T, vector: Avx2) -> T::Output {
            task.run(vector)
        }
        // SAFETY: `self` proves that the processor has these features.
        unsafe { inner(task, self) }
    }
}

/// A hint, with any address.
#[inline(always)]
pub(super) fn prefetch(address: *const i8) {
    // SAFETY: a prefetch reads nothing and never faults; SSE is part of x86-64.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address) }
}

/// The same into the second cache.
#[inline(always)]
pub(super) fn prefetch_far(address: *const i8) {
    // SAFETY: as above.
    unsafe { _mm_prefetch::<_MM_HINT_T1>(address) }
}

// SAFETY of every block below: `self` proves that the processor has the features, and every load and store is of a whole array behind a reference.

#[inline(always)]
fn load(octets: &[u8; 32]) -> __m256i {
    // SAFETY: as above; called from methods of `Avx2` alone.
    unsafe { _mm256_loadu_si256(octets.as_ptr().cast()) }
}

#[inline(always)]
fn halves(octets: &[u8; 64]) -> [&[u8; 32]; 2] {
    let [low, high] = octets.as_chunks::<32>().0 else { unreachable!("64 octets are two halves") };
    [low, high]
}

#[inline(always)]
fn equal_32(a: __m256i, b: __m256i) -> u32 {
    // SAFETY: as above.
    unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)) as u32 }
}

#[inline(always)]
fn both(masks: [u32; 2]) -> u64 {
    u64::from(masks[0]) | u64::from(masks[1]) << 32
}

impl Blocks for Avx2 {
    #[inline(always)]
    fn equal(self, octets: &[u8; 64], octet: u8) -> u64 {
        // SAFETY: as above.
        let wanted = unsafe { _mm256_set1_epi8(octet as i8) };
        let [low, high] = halves(octets);
        both([equal_32(load(low), wanted), equal_32(load(high), wanted)])
    }

    #[inline(always)]
    fn differ(self, a: &[u8; 64], b: &[u8; 64]) -> u64 {
        let ([a, c], [b, d]) = (halves(a), halves(b));
        !both([equal_32(load(a), load(b)), equal_32(load(c), load(d))])
    }

    #[inline(always)]
    fn differ_32(self, a: &[u8; 32], b: &[u8; 32]) -> u32 {
        !equal_32(load(a), load(b))
    }

    #[inline(always)]
    fn odd(self, numbers: &[u16; 64]) -> u64 {
        let [low, high] = numbers.as_chunks::<32>().0 else { unreachable!("64 numbers are two halves") };
        both([odd_32(low), odd_32(high)])
    }

    type Tables<const SETS: usize, const FEW: bool> = Tables<SETS>;

    #[inline(always)]
    fn tables<const SETS: usize, const FEW: bool>(self, fingerprints: &Fingerprints) -> Tables<SETS> {
        // SAFETY: as above.
        let zero = unsafe { _mm256_setzero_si256() };
        let Members { rows, high, .. } = &fingerprints.special;
        let mut tables = Tables { rows: twice(rows), high: *high, sets: [[[zero; 2]; PLACES]; SETS] };
        for (set, buckets) in tables.sets.iter_mut().zip(&fingerprints.sets) {
            for (table, buckets) in set.iter_mut().zip(buckets) {
                *table = [twice(&buckets.nibbles[0]), twice(&buckets.nibbles[1])];
            }
        }
        tables
    }

    #[inline(always)]
    fn find<const SETS: usize, const FEW: bool>(self, octets: &[u8; 66], tables: &Tables<SETS>) -> (u64, u64) {
        let (mut special, mut found) = ([0; 2], [0; 2]);
        for (half, (special, found)) in special.iter_mut().zip(&mut found).enumerate() {
            // SAFETY: as above; octets `start` to `start + 33` are loaded, 32 at a time, and 66 are there.
            unsafe {
                let start = octets.as_ptr().add(half * 32);
                let octets = _mm256_loadu_si256(start.cast());
                let second = nibbles(_mm256_loadu_si256(start.add(1).cast()));
                let places = [nibbles(octets), second, nibbles(_mm256_loadu_si256(start.add(2).cast()))];
                *special = special_32(octets, places[0], tables.rows, tables.high);
                let mut any = _mm256_setzero_si256();
                for set in &tables.sets {
                    let mut all = _mm256_set1_epi8(-1);
                    for (table, nibbles) in set.iter().zip(places) {
                        let bits = _mm256_and_si256(_mm256_shuffle_epi8(table[0], nibbles[0]), _mm256_shuffle_epi8(table[1], nibbles[1]));
                        all = _mm256_and_si256(all, bits);
                    }
                    any = _mm256_or_si256(any, all);
                }
                *found = !equal_32(any, _mm256_setzero_si256());
            }
        }
        (both(special), both(found))
    }
}

/// What lines are searched by, in registers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables<const SETS: usize> {
    /// Of special octets, and whether those from 128 on are.
    rows: __m256i,
    high: bool,
    /// By low nibble and by high nibble.
    sets: [[[__m256i; 2]; PLACES]; SETS],
}

#[inline(always)]
fn odd_32(numbers: &[u16; 32]) -> u32 {
    // SAFETY: as above; 32 numbers are two vectors.
    unsafe {
        let (low, high) = (numbers.as_ptr(), numbers[16..].as_ptr());
        let low = _mm256_slli_epi16::<15>(_mm256_loadu_si256(low.cast()));
        let high = _mm256_slli_epi16::<15>(_mm256_loadu_si256(high.cast()));
        // Packing takes from both vectors by halves; the permutation puts them in order again.
        _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packs_epi16(low, high))) as u32
    }
}

#[inline(always)]
fn special_32(octets: __m256i, [low, high]: [__m256i; 2], rows: __m256i, all_beyond: bool) -> u32 {
    const ROWS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0, 0, 0];
    // SAFETY: as above.
    unsafe {
        let in_row = _mm256_and_si256(_mm256_shuffle_epi8(rows, low), _mm256_shuffle_epi8(twice(&ROWS), high));
        let ascii = !equal_32(in_row, _mm256_setzero_si256());
        let beyond = _mm256_movemask_epi8(octets) as u32;
        if all_beyond { ascii | beyond } else { ascii & !beyond }
    }
}

/// The low and the high nibble of each octet.
#[inline(always)]
fn nibbles(octets: __m256i) -> [__m256i; 2] {
    // SAFETY: as above.
    unsafe {
        let nibble = _mm256_set1_epi8(0x0F);
        [_mm256_and_si256(octets, nibble), _mm256_and_si256(_mm256_srli_epi16::<4>(octets), nibble)]
    }
}

/// A table of 16 entries in both halves of a vector.
#[inline(always)]
fn twice(table: &[u8; 16]) -> __m256i {
    // SAFETY: as above; the table is half a vector.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(table.as_ptr().cast())) }
}
