//! What rule sets need to be asked about blocks of rows, made once enough rows ask for it.

use std::collections::HashMap;

use super::Blocks;
use crate::engine::matcher::Matcher;
use crate::engine::matcher::block::Prepared;

/// Octets of prepared rule sets that a thread keeps.
const MAX_LEN: usize = 64 << 20;

/// The prepared rule sets of one thread.
#[derive(Debug, Default)]
pub(super) struct Workshop {
    /// By where the octets of a block lie: a store lies still as long as anybody asks it.
    slots: HashMap<usize, u32>,
    known: Vec<Known>,
    len: usize,
}

#[derive(Debug)]
enum Known {
    /// So many rows have asked.
    Asked(usize),
    /// It is prepared, or not to be.
    Made(Option<Box<Prepared>>),
}

impl Workshop {
    /// Where the workshop keeps what `matcher` needs.
    pub(super) fn slot(&mut self, matcher: &Matcher<'_>) -> u32 {
        let Workshop { slots, known, .. } = self;
        *slots.entry(matcher.rule_set().block().place()).or_insert_with(|| {
            known.push(Known::Asked(0));
            known.len() as u32 - 1
        })
    }

    /// What `matcher` needs, if by now enough rows have asked, of which `rows` are new.
    #[inline]
    pub(super) fn prepared(&mut self, slot: u32, matcher: &Matcher<'_>, rows: usize, blocks: Blocks) -> Option<&Prepared> {
        if let Known::Asked(asked) = &mut self.known[slot as usize] {
            *asked += rows;
            if blocks == Blocks::Never || blocks == Blocks::Worthwhile && *asked < Prepared::worthwhile_rows(matcher) {
                return None;
            }
            self.prepare(slot, matcher);
        }
        match &self.known[slot as usize] {
            Known::Made(prepared) => prepared.as_deref(),
            Known::Asked(_) => None,
        }
    }

    #[cold]
    fn prepare(&mut self, slot: u32, matcher: &Matcher<'_>) {
        let prepared = Prepared::new(matcher).map(Box::new);
        let len = prepared.as_ref().map_or(0, |prepared| prepared.octet_len());
        self.len += len;
        if self.len > MAX_LEN {
            self.known.iter_mut().for_each(|known| *known = Known::Asked(0));
            self.len = len;
        }
        self.known[slot as usize] = Known::Made(prepared);
    }

    /// Brings what is prepared in a slot into the cache.
    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        if let Known::Made(Some(prepared)) = &self.known[slot as usize] {
            prepared.prefetch();
        }
    }
}
