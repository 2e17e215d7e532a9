//! Octets being written: words, with places filled in later.

/// A growing run of octets whose header and tables are filled in as their content becomes known.
///
/// Sections are written into it where they will lie, each with offsets and indices of its own: nothing is put together from copies.
pub(super) struct Writer {
    octets: Vec<u8>,
    /// Where the section being written begins.
    base: usize,
}

impl Writer {
    /// A writer whose first `words` words are zero, to be set later, with room for about `len` octets.
    pub(super) fn with_header(words: usize, len: usize) -> Writer {
        let mut octets = Vec::with_capacity(len.max(words * 4));
        octets.resize(words * 4, 0);
        Writer { octets, base: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.octets.len() - self.base
    }

    pub(super) fn into_octets(self) -> Vec<u8> {
        self.octets
    }

    /// Writes a section with a header of `words` words; gives its offset and length.
    pub(super) fn section(&mut self, words: usize, write: impl FnOnce(&mut Writer)) -> [u32; 2] {
        self.align();
        let offset = self.offset();
        let outer = std::mem::replace(&mut self.base, self.octets.len());
        self.octets.resize(self.base + words * 4, 0);
        write(self);
        let len = self.offset();
        self.base = outer;
        [offset, len]
    }

    /// Writes a section that is known as a whole; gives its offset and length.
    pub(super) fn copied(&mut self, section: &[u8]) -> [u32; 2] {
        self.align();
        [self.octets(section), section.len() as u32]
    }

    /// Pads to a whole word.
    pub(super) fn align(&mut self) {
        self.octets.resize(self.octets.len().next_multiple_of(4), 0);
    }

    /// Makes room for `words` words; gives the index of the first.
    pub(super) fn reserve(&mut self, words: usize) -> usize {
        self.align();
        let index = self.len() / 4;
        self.octets.resize(self.octets.len() + words * 4, 0);
        index
    }

    pub(super) fn set(&mut self, index: usize, word: u32) {
        let at = self.base + index * 4;
        self.octets[at..at + 4].copy_from_slice(&word.to_le_bytes());
    }

    pub(super) fn set_all(&mut self, index: usize, words: &[u32]) {
        for (i, &word) in words.iter().enumerate() {
            self.set(index + i, word);
        }
    }

    /// Appends words; gives their offset in octets.
    pub(super) fn words(&mut self, words: &[u32]) -> u32 {
        self.words_of(words.len(), words.iter().copied())
    }

    /// Appends `count` words as they come; gives their offset in octets.
    pub(super) fn words_of(&mut self, count: usize, words: impl Iterator<Item = u32>) -> u32 {
        self.align();
        let offset = self.offset();
        let start = self.octets.len();
        self.octets.resize(start + count * 4, 0);
        self.octets[start..].as_chunks_mut::<4>().0.iter_mut().zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
        offset
    }

    /// Appends `count` half words as they come; gives their offset.
    pub(super) fn halves_of(&mut self, count: usize, halves: impl Iterator<Item = u16>) -> u32 {
        let offset = self.offset();
        let start = self.octets.len();
        self.octets.resize(start + count * 2, 0);
        self.octets[start..].as_chunks_mut::<2>().0.iter_mut().zip(halves).for_each(|(place, half)| *place = half.to_le_bytes());
        offset
    }

    /// Appends octets as they come; gives their offset.
    pub(super) fn octets_of(&mut self, octets: impl Iterator<Item = u8>) -> u32 {
        let offset = self.offset();
        self.octets.extend(octets);
        offset
    }

    /// Appends octets; gives their offset.
    pub(super) fn octets(&mut self, octets: &[u8]) -> u32 {
        let offset = self.offset();
        self.octets.extend_from_slice(octets);
        offset
    }

    fn offset(&self) -> u32 {
        u32::try_from(self.len()).expect("the budgets of the compiler keep a program far below 4 GiB")
    }
}
