//! AVX-512, with the byte permutations of VBMI.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::blocks::Blocks;
use super::fingerprints::{Members, PLACES};
use super::{Fingerprints, Task};

/// Proof that the processor has AVX-512 F, BW, DQ, VL, VBMI and what comes with them: there is no other way to a value than [`Avx512::detect`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Avx512(());

impl Avx512 {
    pub(super) fn detect() -> Option<Avx512> {
        let has_all = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vbmi")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Avx512(()))
    }

    #[inline]
    pub(super) fn run<T: Task>(self, task: T) -> T::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn inner<T: Task>(task: T, vector: Avx512) -> T::Output {
            task.run(vector)
        }
        // SAFETY: `self` proves that the processor has these features.
        unsafe { inner(task, self) }
    }
}

// SAFETY of every block below: `self` proves that the processor has the features, and every load and store is of a whole array behind a reference.

#[inline(always)]
fn load(octets: &[u8; 64]) -> __m512i {
    // SAFETY: as above; called from methods of `Avx512` alone.
    unsafe { _mm512_loadu_si512(octets.as_ptr().cast()) }
}

impl Blocks for Avx512 {
    #[inline(always)]
    fn equal(self, octets: &[u8; 64], octet: u8) -> u64 {
        // SAFETY: as above.
        unsafe { _mm512_cmpeq_epi8_mask(load(octets), _mm512_set1_epi8(octet as i8)) }
    }

    #[inline(always)]
    fn differ(self, a: &[u8; 64], b: &[u8; 64]) -> u64 {
        // SAFETY: as above.
        unsafe { _mm512_cmpneq_epi8_mask(load(a), load(b)) }
    }

    #[inline(always)]
    fn differ_32(self, a: &[u8; 32], b: &[u8; 32]) -> u32 {
        // SAFETY: as above.
        unsafe { _mm256_cmpneq_epi8_mask(_mm256_loadu_si256(a.as_ptr().cast()), _mm256_loadu_si256(b.as_ptr().cast())) }
    }

    #[inline(always)]
    fn odd(self, numbers: &[u16; 64]) -> u64 {
        let (low, high) = (numbers.as_ptr(), numbers[32..].as_ptr());
        // SAFETY: as above; both halves hold 32 numbers.
        unsafe {
            let one = _mm512_set1_epi16(1);
            let low = _mm512_test_epi16_mask(_mm512_loadu_si512(low.cast()), one);
            let high = _mm512_test_epi16_mask(_mm512_loadu_si512(high.cast()), one);
            u64::from(low) | u64::from(high) << 32
        }
    }

    type Tables<const SETS: usize, const FEW: bool> = Tables<SETS>;

    #[inline(always)]
    fn tables<const SETS: usize, const FEW: bool>(self, fingerprints: &Fingerprints) -> Tables<SETS> {
        // SAFETY: as above.
        let zero = unsafe { _mm512_setzero_si512() };
        let Members { ascii, high, .. } = &fingerprints.special;
        // SAFETY: as above.
        let high = unsafe { _mm512_set1_epi8(if *high { -1 } else { 0 }) };
        let mut tables = Tables { special: halves(ascii), high, sets: [[[zero; 2]; PLACES]; SETS] };
        for (set, buckets) in tables.sets.iter_mut().zip(&fingerprints.sets) {
            for (table, buckets) in set.iter_mut().zip(buckets) {
                *table = if FEW { [load(&buckets.folded), zero] } else { halves(&buckets.ascii) };
            }
        }
        tables
    }

    #[inline(always)]
    fn find<const SETS: usize, const FEW: bool>(self, octets: &[u8; 66], tables: &Tables<SETS>) -> (u64, u64) {
        // SAFETY: as above; octets 0 to 65 are loaded, 64 at a time from 0, 1 and 2 on.
        unsafe {
            let start = octets.as_ptr();
            let places =
                [_mm512_loadu_si512(start.cast()), _mm512_loadu_si512(start.add(1).cast()), _mm512_loadu_si512(start.add(2).cast())];
            // Of an octet from 128 on `high` tells, of others the table.
            let [low, high] = tables.special;
            let special = _mm512_permutex2var_epi8(low, places[0], high);
            let special = _mm512_movepi8_mask(_mm512_ternarylogic_epi64::<0xB8>(special, places[0], tables.high));
            let mut any = _mm512_setzero_si512();
            for set in &tables.sets {
                let mut all = _mm512_set1_epi8(-1);
                for ([low, high], octets) in set.iter().zip(places) {
                    // To look 64 entries up is one instruction, 128 are three; many windows are found too often by six bits of an octet.
                    let bits = if FEW { _mm512_permutexvar_epi8(octets, *low) } else { _mm512_permutex2var_epi8(*low, octets, *high) };
                    all = _mm512_and_si512(all, bits);
                }
                any = _mm512_or_si512(any, all);
            }
            (special, _mm512_test_epi8_mask(any, any))
        }
    }
}

/// What lines are searched by, in registers: 128 entries are two vectors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tables<const SETS: usize> {
    special: [__m512i; 2],
    /// All bits if octets from 128 on are special.
    high: __m512i,
    sets: [[[__m512i; 2]; PLACES]; SETS],
}

#[inline(always)]
fn halves(table: &[u8; 128]) -> [__m512i; 2] {
    let [low, high] = table.as_chunks::<64>().0 else { unreachable!("128 octets are two halves") };
    [load(low), load(high)]
}
