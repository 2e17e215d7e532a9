//! Where single octets stand in a target.

/// For octets that are asked for, where they stand. In a target of usual length, a table tells for each place the next one; in a longer one a bitmap of the
/// places takes a tenth of the memory and twice the time.
#[derive(Debug)]
pub(super) struct Occurrences {
    /// Which octets have a map in this run, and by octet where it begins; [`NO_MAP`] where there is none.
    made: Vec<u8>,
    maps: [u32; 256],
    target_len: usize,
    /// The tables: for each place of the target and the one behind it, where the next place of the octet ends. One behind that stands for "nowhere", and
    /// leads to itself.
    ends: Vec<u16>,
    bitmaps: Bitmaps,
}

const NO_MAP: u32 = u32::MAX;
/// Longer targets have places that a table can not tell.
const MAX_TABLE_LEN: usize = u16::MAX as usize - 1;

/// Octets that are looked for one behind another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run<'o> {
    pub(super) octets: &'o [u8],
    /// Where the octets before ended.
    pub(super) end: usize,
    /// Who asked.
    pub(super) sequence: u32,
}

impl Run<'_> {
    pub(super) const NONE: Run<'static> = Run { octets: &[], end: 0, sequence: 0 };
}

/// Entries that are written at once.
const STRIDE: usize = 16;

/// How many runs are followed side by side, and how many steps are made before those that ended are left out.
pub(super) const RUNS: usize = 4;
const STEPS: usize = 32;

impl Default for Occurrences {
    fn default() -> Occurrences {
        Occurrences { made: Vec::new(), maps: [NO_MAP; 256], target_len: 0, ends: Vec::new(), bitmaps: Bitmaps::default() }
    }
}

impl Occurrences {
    /// Forgets what was made for another target.
    pub(super) fn begin(&mut self, target_len: usize) {
        self.made.drain(..).for_each(|octet| self.maps[usize::from(octet)] = NO_MAP);
        self.target_len = target_len;
        self.bitmaps.words = target_len.div_ceil(64);
    }

    /// Where the first place of `octet` in `target` from `from` on ends.
    #[inline]
    pub(super) fn next_end(&mut self, target: &[u8], octet: u8, from: usize) -> Option<usize> {
        let map = self.map(target, octet);
        if self.target_len > MAX_TABLE_LEN {
            return self.bitmaps.next(map, from).map(|at| at + 1);
        }
        let end = usize::from(*self.ends.get(map + from)?);
        (end <= self.target_len).then_some(end)
    }

    /// Follows some runs side by side: each step of a run waits for the one before, so the processor has others to make meanwhile. Calls back with the
    /// sequence of each run that stands in the target, and where it ends.
    pub(super) fn follow(&mut self, target: &[u8], runs: &mut [Run<'_>], mut found: impl FnMut(u32, usize)) {
        if self.target_len > MAX_TABLE_LEN {
            for run in runs {
                let end = run.octets.iter().try_fold(run.end, |end, &octet| self.next_end(target, octet, end));
                end.into_iter().for_each(|end| found(run.sequence, end));
            }
            return;
        }
        let mut count = runs.len();
        while count > 0 {
            let steps = runs[..count].iter().map(|run| run.octets.len()).min().unwrap_or(0).min(STEPS);
            match runs[..count].first_chunk_mut() {
                Some(all) => self.steps::<RUNS>(target, all, steps),
                None => runs[..count].iter_mut().for_each(|run| self.steps(target, std::array::from_mut(run), steps)),
            }
            for index in (0..count).rev() {
                let run = runs[index];
                if run.end <= self.target_len && !run.octets.is_empty() {
                    continue;
                }
                if run.end <= self.target_len {
                    found(run.sequence, run.end);
                }
                count -= 1;
                runs.swap(index, count);
            }
        }
    }

    #[inline(always)]
    fn steps<const N: usize>(&mut self, target: &[u8], runs: &mut [Run<'_>; N], steps: usize) {
        let octets = runs.map(|run| &run.octets[..steps]);
        for &octet in octets.iter().flat_map(|octets| *octets) {
            self.map(target, octet);
        }
        let mut ends = runs.map(|run| run.end);
        for step in 0..steps {
            for (octets, end) in octets.iter().zip(&mut ends) {
                *end = usize::from(self.ends[self.maps[usize::from(octets[step])] as usize + *end]);
            }
        }
        for (run, end) in runs.iter_mut().zip(ends) {
            (run.octets, run.end) = (&run.octets[steps..], end);
        }
    }

    #[inline(always)]
    fn map(&mut self, target: &[u8], octet: u8) -> usize {
        match self.maps[usize::from(octet)] {
            NO_MAP => self.make(target, octet),
            map => map as usize,
        }
    }

    #[cold]
    fn make(&mut self, target: &[u8], octet: u8) -> usize {
        let number = self.made.len();
        let map =
            if target.len() > MAX_TABLE_LEN { self.bitmaps.make(number, target, octet) } else { self.make_table(number, target, octet) };
        self.made.push(octet);
        self.maps[usize::from(octet)] = map as u32;
        map
    }

    fn make_table(&mut self, number: usize, target: &[u8], octet: u8) -> usize {
        let (map, end) = (number * (target.len() + 2), (number + 1) * (target.len() + 2));
        if self.ends.len() < end + STRIDE {
            self.ends.resize(end + STRIDE, 0);
        }
        let table = &mut self.ends[map..end + STRIDE];
        let mut from = 0;
        for at in memchr::memchr_iter(octet, target) {
            // What is written beyond is written again.
            let mut place = from;
            while place <= at {
                table[place..place + STRIDE].copy_from_slice(&[at as u16 + 1; STRIDE]);
                place += STRIDE;
            }
            from = at + 1;
        }
        table[from..target.len() + 2].fill(target.len() as u16 + 1);
        map
    }
}

/// For octets, a bitmap of their places, and for each 64 of them the next ones that are not empty.
#[derive(Debug, Default)]
struct Bitmaps {
    /// Words of a map that hold places; one more stands behind them, empty.
    words: usize,
    /// The maps, so that 64 places can be read from any eighth on.
    bits: Vec<u8>,
    /// Of each word, the first one behind it that is not empty; the last when there is none.
    next_words: Vec<u32>,
}

impl Bitmaps {
    /// The first place from `from` on in the map that begins at that word.
    fn next(&self, map: usize, from: usize) -> Option<usize> {
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

    /// Makes the map of that number; gives its first word.
    fn make(&mut self, number: usize, target: &[u8], octet: u8) -> usize {
        let map = number * (self.words + 1);
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
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of all sizes, one of them over several words.
    fn target(len: usize) -> Vec<u8> {
        (0..len).map(|at| if at % 7 == 0 && !(80..600).contains(&at) { b'a' } else { b'b' + (at % 90 == 3) as u8 }).collect()
    }

    fn next_end(target: &[u8], octet: u8, from: usize) -> Option<usize> {
        target[from..].iter().position(|&other| other == octet).map(|at| from + at + 1)
    }

    #[test]
    fn tells_the_next_place_of_each_octet() {
        let mut occurrences = Occurrences::default();
        let long = MAX_TABLE_LEN;
        for len in [0, 1, 63, 64, 65, 128, 700, long, long + 1, long + 70] {
            let target = target(len);
            occurrences.begin(target.len());
            for octet in b'a'..=b'd' {
                for from in (0..=len).filter(|from| *from < 800 || from + 80 > len) {
                    let expected = next_end(&target, octet, from);
                    assert_eq!(occurrences.next_end(&target, octet, from), expected, "{octet} from {from} of {len}");
                }
            }
        }
    }

    #[test]
    fn follows_runs_of_any_lengths() {
        let mut occurrences = Occurrences::default();
        for len in [0, 1, 100, 700, MAX_TABLE_LEN + 1] {
            let target = target(len);
            occurrences.begin(target.len());
            for count in 0..=RUNS {
                for seed in 0..40 {
                    let text: Vec<u8> = (0..200).map(|at| b"abac"[(at * seed + at / 9) % 4]).collect();
                    let octets = |index: usize| &text[index * 7..index * 7 + [1, 31, 32, 33, 90, 2, 64][(seed + index) % 7]];
                    let run = |index: usize| Run { octets: octets(index), end: (seed * index).min(len), sequence: index as u32 };
                    let mut runs: Vec<Run> = (0..count).map(run).collect();
                    let follow = |run: &Run| {
                        let end = run.octets.iter().try_fold(run.end, |end, &octet| next_end(&target, octet, end))?;
                        Some((run.sequence, end))
                    };
                    let expected: Vec<(u32, usize)> = runs.iter().filter_map(follow).collect();
                    let mut found = Vec::new();
                    occurrences.follow(&target, &mut runs, |sequence, end| found.push((sequence, end)));
                    found.sort_unstable();
                    assert_eq!(found, expected, "{count} runs, seed {seed}, {len} octets");
                }
            }
        }
    }
}
