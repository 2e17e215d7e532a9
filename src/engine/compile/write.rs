//! Octets being written: words, with places filled in later.

/// A growing run of octets whose header and tables are filled in as their content becomes known.
pub(super) struct Writer(Vec<u8>);

impl Writer {
    /// A writer whose first `words` words are zero, to be set later.
    pub(super) fn with_header(words: usize) -> Writer {
        Writer(vec![0; words * 4])
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn into_octets(self) -> Vec<u8> {
        self.0
    }

    /// Pads to a whole word.
    pub(super) fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Makes room for `words` words; gives the index of the first.
    pub(super) fn reserve(&mut self, words: usize) -> usize {
        self.align();
        let index = self.0.len() / 4;
        self.0.resize(self.0.len() + words * 4, 0);
        index
    }

    pub(super) fn set(&mut self, index: usize, word: u32) {
        self.0[index * 4..index * 4 + 4].copy_from_slice(&word.to_le_bytes());
    }

    pub(super) fn set_all(&mut self, index: usize, words: &[u32]) {
        for (i, &word) in words.iter().enumerate() {
            self.set(index + i, word);
        }
    }

    /// Appends words; gives their offset in octets.
    pub(super) fn words(&mut self, words: &[u32]) -> u32 {
        self.align();
        let offset = self.offset();
        self.0.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        offset
    }

    /// Appends octets; gives their offset.
    pub(super) fn octets(&mut self, octets: &[u8]) -> u32 {
        let offset = self.offset();
        self.0.extend_from_slice(octets);
        offset
    }

    fn offset(&self) -> u32 {
        u32::try_from(self.0.len()).expect("the budgets of the compiler keep a program far below 4 GiB")
    }
}
