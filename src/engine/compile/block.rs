//! One block: rules in rank order, and the automata over them.

use std::collections::BTreeMap;

use super::Options;
use super::budget::Budget;
use super::determinise::{Gated, Input, determinise};
use super::hash::Map;
use super::segments::{Segments, is_floating};
use super::trie::{Trie, Value};
use super::write::Writer;
use crate::engine::program::{Constant, Detail, Rung, block as layout, segments as segment_layout, trie as trie_layout};
use crate::target::form::TargetForm;
use crate::target::percent::Parts;

/// A rule of a block. Its rank is its place in the order of precedence, from 1.
pub(super) struct BlockRule<'p> {
    pub(super) pattern: &'p [u8],
    pub(super) value: &'p [u8],
    pub(super) allows: bool,
    pub(super) group: u32,
}

/// Writes a block, into a writer that made room for its header.
pub(super) fn build(rules: &[BlockRule<'_>], filtered: bool, form: &TargetForm, options: &Options, budget: &mut Budget, out: &mut Writer) {
    let parts: Vec<Parts> = rules.iter().map(|rule| form.parts(rule.pattern, rule.value)).collect();
    let levels = levels(rules);
    let mut segments = Segments::default();
    for (rank, parts) in (1..).zip(&parts).filter(|(_, parts)| !parts.segments.is_empty()) {
        segments.add(rank, parts);
    }
    segments.finish();
    let trie = Trie::build(trie_entries(&parts, &segments, form), |sequence| segments.max(sequence));
    let constant = constant(&parts, &levels);
    let automaton = match options.rung {
        Some(Rung::Backstop | Rung::Constant) => None,
        _ if filtered => None,
        None if constant != Constant::Nothing => None,
        _ => automaton(&parts, &segments, &trie, &levels, form, options.detail, budget),
    };
    let rung = match (options.rung, &automaton) {
        (None | Some(Rung::Constant), _) if !filtered && constant != Constant::Nothing => Rung::Constant,
        (_, Some(_)) => Rung::Dfa,
        _ => Rung::Backstop,
    };
    let head = Head {
        rung,
        constant: if filtered { Constant::Nothing } else { constant },
        levels: &levels,
        // The exemption of robots.txt is nobody's rule and everybody's.
        groups: if filtered { rules.iter().map(|rule| rule.group).chain([u32::MAX]).collect() } else { Vec::new() },
        floating_max: segments.floating_max(),
        automaton,
    };
    head.write(out);
    let at = out.section(trie_layout::WORDS, |out| trie.write(out));
    out.set_all(layout::TRIE, &at);
    if !segments.is_empty() {
        let at = out.section(segment_layout::WORDS, |out| segments.write(out));
        out.set_all(layout::SEGMENTS, &at);
    }
}

/// All of a block but the trie and the segment section.
pub(super) struct Head<'a> {
    pub(super) rung: Rung,
    pub(super) constant: Constant,
    /// One more than there are ranks: the last is that of the exemption.
    pub(super) levels: &'a [u32],
    /// Empty where the block is not filtered, else as many as levels.
    pub(super) groups: Vec<u32>,
    pub(super) floating_max: u32,
    pub(super) automaton: Option<Vec<u8>>,
}

impl Head<'_> {
    pub(super) fn write(&self, out: &mut Writer) {
        out.set(layout::RUNG_CONSTANT, u32::from_le_bytes([self.rung as u8, self.constant as u8, 0, 0]));
        let levels_at = out.words(self.levels);
        out.set_all(layout::RANK_COUNT, &[self.levels.len() as u32 - 1, levels_at]);
        if !self.groups.is_empty() {
            let groups_at = out.words(&self.groups);
            out.set(layout::GROUPS, groups_at);
        }
        out.set(layout::FLOATING_MAX, self.floating_max);
        if let Some(automaton) = &self.automaton {
            let at = out.copied(automaton);
            out.set_all(layout::DFA, &at);
        }
    }
}

/// What the automaton calls each rank, from rank 0.
pub(super) fn values(levels: &[u32], detail: Detail) -> Vec<u32> {
    match detail {
        Detail::Verdicts => [0].into_iter().chain(levels.iter().copied()).collect(),
        Detail::Rules => (0..=levels.len() as u32).collect(),
    }
}

/// The level of each rank from 1, the exemption of robots.txt last: a run of one verdict is a level, and level 0 allows.
fn levels(rules: &[BlockRule<'_>]) -> Vec<u32> {
    let mut level = 0;
    let verdicts = rules.iter().map(|rule| rule.allows).chain([true]);
    verdicts
        .map(|allows| {
            level += u32::from((level % 2 == 0) != allows);
            level
        })
        .collect()
}

fn trie_entries<'p>(parts: &'p [Parts], segments: &Segments<'p>, form: &TargetForm) -> Vec<(&'p [u8], Value)> {
    let literals = (1..).zip(parts).filter(|(_, parts)| parts.segments.is_empty());
    let mut entries: Vec<_> = literals
        .map(|(rank, parts)| (&parts.prefix[..], if parts.anchored { Value::Anchored(rank) } else { Value::Match(rank) }))
        .collect();
    entries.extend(segments.gates().map(|(prefix, sequence)| (prefix, Value::Gate(sequence))));
    if form.robots_txt_exempt() {
        let top = parts.len() as u32 + 1;
        entries.push((b"/robots.txt", Value::Anchored(top)));
        entries.push((b"/robots.txt?", Value::Match(top)));
    }
    entries
}

/// Whether every target but robots.txt has the same verdict, as far as the patterns show it.
fn constant(parts: &[Parts], levels: &[u32]) -> Constant {
    let top = parts.len().checked_sub(1).map_or(0, |last| levels[last]);
    let all = (0..parts.len()).filter(|&index| matches_all(&parts[index])).map(|index| levels[index]).max().unwrap_or(0);
    match (top, all == top) {
        (0, _) => Constant::Allows,
        (_, true) if top % 2 == 1 => Constant::Disallows,
        (_, true) => Constant::Allows,
        _ => Constant::Nothing,
    }
}

fn matches_all(parts: &Parts) -> bool {
    parts.segments.is_empty() && !parts.anchored && matches!(&parts.prefix[..], b"" | b"/")
}

fn automaton(
    parts: &[Parts],
    segments: &Segments<'_>,
    trie: &Trie,
    levels: &[u32],
    form: &TargetForm,
    detail: Detail,
    budget: &mut Budget,
) -> Option<Vec<u8>> {
    let sequences: Map<&[u8], u32> = segments.gates().collect();
    let mut gated: BTreeMap<u32, Vec<Gated>> = BTreeMap::new();
    let rules = (1..).zip(parts).filter(|(_, parts)| !parts.segments.is_empty() && !is_floating(&parts.prefix));
    for (rank, parts) in rules {
        gated.entry(sequences[&parts.prefix[..]]).or_default().push(Gated {
            rank,
            segments: parts.segments.iter().map(|segment| &segment.octets[..]).collect(),
            anchored: parts.anchored,
            two_spellings: parts.segments.iter().any(|segment| segment.in_query.is_some()),
        });
    }
    let input = Input { trie, gated: &gated, values: &values(levels, detail), form };
    determinise(&input, budget)
}
