//! Where single octets stand in a target.

/// For octets that are asked for, a bitmap of their places, and for each 64 of them the next ones that are not empty.
#[derive(Debug)]
pub(super) struct Occurrences {
    /// Octets that have a map in this run, and which.
    made: [u64; 4],
    slots: [u8; 256],
    slot_count: usize,
    /// Words of a map that hold places; one more stands behind them, empty.
    words: usize,
    /// The maps, so that 64 places can be read from any eighth on.
    bits: Vec<u8>,
    /// Of each word, the first one behind it that is not empty; the last when there is none.
    next_words: Vec<u32>,
}

impl Default for Occurrences {
    fn default() -> Occurrences {
        Occurrences { made: [0; 4], slots: [0; 256], slot_count: 0, words: 0, bits: Vec::new(), next_words: Vec::new() }
    }
}

impl Occurrences {
    /// Forgets what was made for another target.
    pub(super) fn begin(&mut self, target_len: usize) {
        self.made = [0; 4];
        self.slot_count = 0;
        self.words = target_len.div_ceil(64);
    }

    /// The first place of `octet` in `target` from `from` on.
    #[inline]
    pub(super) fn next(&mut self, target: &[u8], octet: u8, from: usize) -> Option<usize> {
        if self.made[usize::from(octet >> 6)] >> (octet & 63) & 1 == 0 {
            self.make(target, octet);
        }
        let map = usize::from(self.slots[usize::from(octet)]) * (self.words + 1);
        let window = self.window(map * 8 + from / 8)? >> (from % 8);
        if window != 0 {
            return Some(from + window.trailing_zeros() as usize);
        }
        self.next_behind(map, from / 64)
    }

    #[inline]
    fn window(&self, at: usize) -> Option<u64> {
        self.bits.get(at..)?.first_chunk().map(|octets| u64::from_le_bytes(*octets))
    }

    /// The window ends behind the word: so the word and the next ones have to be looked at.
    fn next_behind(&self, map: usize, mut word: usize) -> Option<usize> {
        if word >= self.words {
            return None;
        }
        word = *self.next_words.get(map + word)? as usize;
        let bits = self.window((map + word) * 8)?;
        (bits != 0).then(|| word * 64 + bits.trailing_zeros() as usize)
    }

    #[cold]
    fn make(&mut self, target: &[u8], octet: u8) {
        self.made[usize::from(octet >> 6)] |= 1 << (octet & 63);
        self.slots[usize::from(octet)] = self.slot_count as u8;
        let map = self.slot_count * (self.words + 1);
        self.slot_count += 1;
        let end = map + self.words + 1;
        if self.next_words.len() < end {
            self.next_words.resize(end, 0);
            // A window may begin in the last octet.
            self.bits.resize(end * 8 + 8, 0);
        }
        let bits = &mut self.bits[map * 8..end * 8];
        bits.fill(0);
        memchr::memchr_iter(octet, target).for_each(|at| bits[at / 8] |= 1 << (at % 8));
        let mut next = self.words as u32;
        for (word, behind) in self.next_words[map..end].iter_mut().enumerate().rev() {
            *behind = next;
            next = if bits[word * 8..word * 8 + 8] == [0; 8] { next } else { word as u32 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_next_place_of_each_octet() {
        let mut occurrences = Occurrences::default();
        for len in [0, 1, 63, 64, 65, 128, 700] {
            // Gaps of all sizes, one of them over several words.
            let target: Vec<u8> =
                (0..len).map(|at| if at % 7 == 0 && !(80..600).contains(&at) { b'a' } else { b'b' + (at % 90 == 3) as u8 }).collect();
            occurrences.begin(target.len());
            for octet in b'a'..=b'd' {
                for from in 0..=len {
                    let expected = target[from..].iter().position(|&other| other == octet).map(|at| from + at);
                    assert_eq!(occurrences.next(&target, octet, from), expected, "{octet} from {from} of {len}");
                }
            }
        }
    }
}
