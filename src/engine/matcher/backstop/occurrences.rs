//! Where single octets stand in a target.

/// For octets that are asked for, a bitmap of their places, and for each of its words the next one that is not empty.
#[derive(Debug)]
pub(super) struct Occurrences {
    /// Octets that have a map in this run, and which.
    made: [u64; 4],
    slots: [u8; 256],
    slot_count: usize,
    /// Words of a map.
    stride: usize,
    words: Vec<u64>,
    /// Of each word, the first one behind it that is not empty; the stride when there is none.
    next_words: Vec<u32>,
}

impl Default for Occurrences {
    fn default() -> Occurrences {
        Occurrences { made: [0; 4], slots: [0; 256], slot_count: 0, stride: 0, words: Vec::new(), next_words: Vec::new() }
    }
}

impl Occurrences {
    /// Forgets what was made for another target.
    pub(super) fn begin(&mut self, target_len: usize) {
        self.made = [0; 4];
        self.slot_count = 0;
        self.stride = target_len.div_ceil(64);
    }

    /// The first place of `octet` in `target` from `from` on.
    #[inline]
    pub(super) fn next(&mut self, target: &[u8], octet: u8, from: usize) -> Option<usize> {
        if self.made[usize::from(octet >> 6)] >> (octet & 63) & 1 == 0 {
            self.make(target, octet);
        }
        let base = usize::from(self.slots[usize::from(octet)]) * self.stride;
        let mut word = from / 64;
        if word >= self.stride {
            return None;
        }
        let mut bits = self.words.get(base + word)? & (u64::MAX << (from % 64));
        if bits == 0 {
            word = *self.next_words.get(base + word)? as usize;
            if word >= self.stride {
                return None;
            }
            bits = *self.words.get(base + word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    #[cold]
    fn make(&mut self, target: &[u8], octet: u8) {
        self.made[usize::from(octet >> 6)] |= 1 << (octet & 63);
        self.slots[usize::from(octet)] = self.slot_count as u8;
        let base = self.slot_count * self.stride;
        self.slot_count += 1;
        let end = base + self.stride;
        if self.words.len() < end {
            self.words.resize(end, 0);
            self.next_words.resize(end, 0);
        }
        let words = &mut self.words[base..end];
        words.fill(0);
        memchr::memchr_iter(octet, target).for_each(|at| words[at / 64] |= 1 << (at % 64));
        // Of a word, the next one behind it.
        let mut next = self.stride as u32;
        for (word, behind) in self.next_words[base..end].iter_mut().enumerate().rev() {
            *behind = next;
            next = if words[word] == 0 { next } else { word as u32 };
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
