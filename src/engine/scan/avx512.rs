//! AVX-512, with the byte permutations of VBMI.

#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::Task;
use super::blocks::Blocks;
use super::fingerprints::{Buckets, Members, PLACES};

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

    #[inline(always)]
    fn members(self, octets: &[u8; 64], members: &Members) -> u64 {
        let octets = load(octets);
        // SAFETY: as above.
        unsafe {
            let beyond = _mm512_movepi8_mask(octets);
            let ascii = _mm512_movepi8_mask(look_up(octets, &members.ascii));
            if members.high { ascii | beyond } else { ascii & !beyond }
        }
    }

    #[inline(always)]
    fn fingerprints(self, octets: &[u8; 66], tables: &[Buckets; PLACES], are_few: bool, out: &mut [u8; 64]) -> u64 {
        // SAFETY: as above; octets 0 to 65 are loaded, 64 at a time from 0, 1 and 2 on.
        unsafe {
            let mut all = _mm512_set1_epi8(-1);
            for (place, table) in tables.iter().enumerate() {
                let octets = _mm512_loadu_si512(octets.as_ptr().add(place).cast());
                // To look 64 entries up is one instruction, 128 are three; many windows are found too often by six bits of an octet.
                let bits = match are_few {
                    true => _mm512_permutexvar_epi8(octets, _mm512_loadu_si512(table.folded.as_ptr().cast())),
                    false => look_up(octets, &table.ascii),
                };
                all = _mm512_and_si512(all, bits);
            }
            _mm512_storeu_si512(out.as_mut_ptr().cast(), all);
            _mm512_test_epi8_mask(all, all)
        }
    }
}

/// The entries at the lower seven bits of each octet.
#[inline(always)]
fn look_up(octets: __m512i, table: &[u8; 128]) -> __m512i {
    // SAFETY: as above; a table is two vectors.
    unsafe {
        let low = _mm512_loadu_si512(table.as_ptr().cast());
        let high = _mm512_loadu_si512(table.as_ptr().add(64).cast());
        _mm512_permutex2var_epi8(low, octets, high)
    }
}
