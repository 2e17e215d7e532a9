//! What a program holds beside its blocks: who is bound by which rule set, and what the ranks of its block stand for.

use std::borrow::Cow;

use super::write::Writer;
use crate::engine::program::{Detail, MAGIC, NO_SET, SET_WORDS, TOKEN_WORDS, header};

/// What one rule set becomes.
#[derive(Default)]
pub(super) struct SetEntry<'a> {
    pub(super) block: u32,
    /// The rule id of each rank; empty where the map is the shared one.
    pub(super) map: Vec<u32>,
    /// The groups that count, where the block is shared.
    pub(super) filter: Cow<'a, [u32]>,
}

/// The tables of a program.
pub(super) struct Tables<'a> {
    pub(super) form: u8,
    pub(super) detail: Detail,
    pub(super) rule_count: u32,
    pub(super) group_count: u32,
    /// The rule set of the `*` groups.
    pub(super) star: Option<u32>,
    pub(super) tokens: Vec<(&'a [u8], u32)>,
    pub(super) sets: Vec<SetEntry<'a>>,
    /// One map for all rule sets that are filtered.
    pub(super) shared_map: Option<Vec<u32>>,
}

impl Tables<'_> {
    /// Writes them behind the blocks, whose offsets and lengths are given: a whole program.
    pub(super) fn write(&self, blocks: &[[u32; 2]], mut out: Writer) -> Vec<u8> {
        let tokens = out.reserve(self.tokens.len() * TOKEN_WORDS);
        let sets = out.reserve(self.sets.len() * SET_WORDS);
        let blocks_at = out.words(blocks.as_flattened());
        let shared_map = self.shared_map.as_ref().map(|map| (out.words(map), map.len()));
        for (index, set) in self.sets.iter().enumerate() {
            let (map, map_len) = match shared_map {
                Some(map) if !set.filter.is_empty() => map,
                _ => (out.words(&set.map), set.map.len()),
            };
            let filter = if set.filter.is_empty() { 0 } else { out.words(&set.filter) };
            out.set_all(sets + index * SET_WORDS, &[set.block, map, map_len as u32, filter, set.filter.len() as u32]);
        }
        for (index, (token, set)) in self.tokens.iter().enumerate() {
            let at = out.octets(token);
            out.set_all(tokens + index * TOKEN_WORDS, &[at, token.len() as u32, *set]);
        }
        out.set(header::MAGIC, MAGIC);
        out.set(header::FORM_DETAIL, u32::from_le_bytes([self.form, self.detail as u8, 0, 0]));
        out.set(header::RULE_COUNT, self.rule_count);
        out.set(header::GROUP_COUNT, self.group_count);
        out.set(header::STAR_SET, self.star.unwrap_or(NO_SET));
        out.set_all(header::TOKEN_COUNT, &[self.tokens.len() as u32, (tokens * 4) as u32]);
        out.set_all(header::SET_COUNT, &[self.sets.len() as u32, (sets * 4) as u32]);
        out.set_all(header::BLOCK_COUNT, &[blocks.len() as u32, blocks_at]);
        out.align();
        out.set(header::LEN, out.len() as u32);
        out.into_octets()
    }
}
