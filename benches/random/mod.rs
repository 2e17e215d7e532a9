//! Numbers that look random and are the same on every machine and in each run.

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
pub struct Random(pub u64);

#[allow(dead_code, reason = "each of those that share it asks for some")]
impl Random {
    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// So many of `letters`.
    pub fn text(&mut self, letters: &str, len: usize) -> String {
        (0..len).map(|_| char::from(letters.as_bytes()[self.below(letters.len())])).collect()
    }

    /// The same, each behind a star.
    pub fn starred(&mut self, letters: &str, len: usize) -> String {
        self.text(letters, len).chars().flat_map(|letter| ['*', letter]).collect()
    }
}
