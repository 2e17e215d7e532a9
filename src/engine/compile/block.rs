//! One block: rules in rank order, and the automata over them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::budget::Budget;
use super::determinise::{Gated, Input, determinise};
use super::segments::{Segments, is_floating};
use super::trie::{Trie, Value};
use super::write::Writer;
use super::{Options, Ranked};
use crate::engine::program::{Constant, Detail, Rung, block as layout, segments as segment_layout, trie as trie_layout};
use crate::target::form::TargetForm;
use crate::target::percent::Parts;

/// A rule taken apart.
struct Shape<'p> {
    /// What stands before the first star.
    prefix: Cow<'p, [u8]>,
    anchored: bool,
    /// All of it, where there is a star.
    parts: Option<Parts>,
}

impl<'p> Shape<'p> {
    fn of(rule: &Ranked<'p>, form: &TargetForm) -> Shape<'p> {
        // Most patterns have neither stars nor escapes: they are their own prefix.
        if memchr::memchr2(b'*', b'%', rule.pattern).is_none() {
            let literal = rule.pattern.strip_suffix(b"$");
            return Shape { prefix: Cow::Borrowed(literal.unwrap_or(rule.pattern)), anchored: literal.is_some(), parts: None };
        }
        let parts = form.parts(rule.pattern, rule.value);
        let anchored = parts.anchored;
        match parts.segments.is_empty() {
            true => Shape { prefix: Cow::Owned(parts.prefix), anchored, parts: None },
            false => Shape { prefix: Cow::Owned(Vec::new()), anchored, parts: Some(parts) },
        }
    }

    fn has_segments(&self) -> bool {
        self.parts.is_some()
    }
}

/// Writes a block, into a writer that made room for its header. A rule's rank is its place, from 1.
pub(super) fn build(rules: &[&Ranked<'_>], filtered: bool, form: &TargetForm, options: &Options, budget: &mut Budget, out: &mut Writer) {
    let shapes: Vec<Shape> = rules.iter().map(|rule| Shape::of(rule, form)).collect();
    let levels = levels(rules);
    let mut segments = Segments::default();
    for (rank, shape) in (1..).zip(&shapes) {
        shape.parts.iter().for_each(|parts| segments.add(rank, parts));
    }
    segments.finish();
    let trie = Trie::build(trie_entries(&shapes, &segments, form), |sequence| segments.max(sequence));
    let constant = constant(&shapes, &levels);
    let automaton = match options.rung {
        Some(Rung::Backstop | Rung::Constant) => None,
        _ if filtered => None,
        None if constant != Constant::Nothing => None,
        _ => automaton(&shapes, &segments, &trie, &levels, form, options.detail, budget),
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
fn levels(rules: &[&Ranked<'_>]) -> Vec<u32> {
    let mut level = 0;
    let mut levels = Vec::with_capacity(rules.len() + 1);
    levels.extend(rules.iter().map(|rule| rule.allows).chain([true]).map(|allows| {
        level += u32::from((level % 2 == 0) != allows);
        level
    }));
    levels
}

fn trie_entries<'p>(shapes: &'p [Shape<'_>], segments: &Segments<'p>, form: &TargetForm) -> Vec<(&'p [u8], Value)> {
    let literals = (1..).zip(shapes).filter(|(_, shape)| !shape.has_segments());
    // Two more for robots.txt; of the others each is a rule or the gate of some.
    let mut entries: Vec<(&[u8], Value)> = Vec::with_capacity(shapes.len() + 2);
    entries
        .extend(literals.map(|(rank, shape)| (&shape.prefix[..], if shape.anchored { Value::Anchored(rank) } else { Value::Match(rank) })));
    entries.extend(segments.gates().map(|(prefix, sequence)| (prefix, Value::Gate(sequence))));
    if form.robots_txt_exempt() {
        let top = shapes.len() as u32 + 1;
        entries.push((b"/robots.txt", Value::Anchored(top)));
        entries.push((b"/robots.txt?", Value::Match(top)));
    }
    entries
}

/// Whether every target but robots.txt has the same verdict, as far as the patterns show it.
fn constant(shapes: &[Shape<'_>], levels: &[u32]) -> Constant {
    let top = shapes.len().checked_sub(1).map_or(0, |last| levels[last]);
    let all = (0..shapes.len()).filter(|&index| matches_all(&shapes[index])).map(|index| levels[index]).max().unwrap_or(0);
    match (top, all == top) {
        (0, _) => Constant::Allows,
        (_, true) if top % 2 == 1 => Constant::Disallows,
        (_, true) => Constant::Allows,
        _ => Constant::Nothing,
    }
}

fn matches_all(shape: &Shape<'_>) -> bool {
    !shape.has_segments() && !shape.anchored && matches!(&shape.prefix[..], b"" | b"/")
}

fn automaton(
    shapes: &[Shape<'_>],
    segments: &Segments<'_>,
    trie: &Trie,
    levels: &[u32],
    form: &TargetForm,
    detail: Detail,
    budget: &mut Budget,
) -> Option<Vec<u8>> {
    let mut gated: BTreeMap<u32, Vec<Gated>> = BTreeMap::new();
    let rules = (1..).zip(shapes).filter_map(|(rank, shape)| Some((rank, shape.parts.as_ref()?)));
    for (rank, parts) in rules.filter(|(_, parts)| !is_floating(&parts.prefix)) {
        let Some(sequence) = segments.gate(&parts.prefix) else { continue };
        gated.entry(sequence).or_default().push(Gated {
            rank,
            segments: parts.segments.iter().map(|segment| &segment.octets[..]).collect(),
            anchored: parts.anchored,
            two_spellings: parts.segments.iter().any(|segment| segment.in_query.is_some()),
        });
    }
    let input = Input { trie, gated: &gated, values: &values(levels, detail), form };
    determinise(&input, budget)
}
