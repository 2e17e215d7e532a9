//! Hashing for the tables of a compilation: fast on short keys, and keyed, since strangers choose what is hashed.
//!
//! A word is mixed in by one multiplication to twice its width, whose halves are folded together (as in wyhash and its kin). Whoever does not know the two
//! numbers of the process can not choose texts that collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map with that hash.
pub(super) type Map<K, V> = HashMap<K, V, Keyed>;

/// Makes hashers with the numbers of the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keyed {
    start: u64,
    factor: u64,
}

impl Default for Keyed {
    fn default() -> Keyed {
        static KEYED: OnceLock<Keyed> = OnceLock::new();
        *KEYED.get_or_init(|| {
            let random = RandomState::new();
            Keyed { start: random.hash_one(0), factor: random.hash_one(1) | 1 }
        })
    }
}

impl BuildHasher for Keyed {
    type Hasher = Folded;

    #[inline]
    fn build_hasher(&self) -> Folded {
        Folded { state: self.start, factor: self.factor }
    }
}

pub(super) struct Folded {
    state: u64,
    factor: u64,
}

impl Folded {
    #[inline]
    fn mix(&mut self, word: u64) {
        let product = u128::from(self.state ^ word) * u128::from(self.factor);
        self.state = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for Folded {
    #[inline]
    fn write(&mut self, octets: &[u8]) {
        let (words, rest) = octets.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.mix(u64::from(number));
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.mix(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.mix(number);
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The table takes its place from the low bits and its tag from the high ones.
        self.state ^ self.state >> 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_differ_in_little_spread() {
        let keyed = Keyed::default();
        let mut buckets = [0u32; 256];
        for number in 0..25_600u32 {
            let text = format!("/{number:b}");
            buckets[keyed.hash_one(text.as_bytes()) as usize % 256] += 1;
            assert_ne!(keyed.hash_one(text.as_bytes()), keyed.hash_one(format!("{text}\0").as_bytes()));
        }
        // A hundred each, and ten is one standard deviation.
        assert!(buckets.iter().all(|&count| (30..200).contains(&count)), "{buckets:?}");
    }
}
