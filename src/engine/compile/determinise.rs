//! The deterministic automaton over literal and gated rules.
//!
//! A state is a place in the trie (or none: no literal can match any more), for each gated rule under way how far it is, and the best value so
//! far. A rule under way is one number: which segment it waits for and how much of it the last octets spell, as in the search of Knuth, Morris
//! and Pratt. So every part is deterministic by itself, and so is their product.
//!
//! ```text
//!            octet that no rule here wants, nothing left that outranks the value
//!   ┌────────────────────────────────────────────────────────────────────────────▶ final(value)
//! state ── octet ──▶ state ── `%`, space, … ──▶ slow: canonical octets, backstop
//!   │
//!   └── one way on, nothing else can match ──▶ chain("private/") ──▶ state
//! ```
//!
//! The end of a target is a class of its own, so `$` is a transition and the walk needs no length.

use std::collections::BTreeMap;

use super::budget::Budget;
use super::hash::Map;
use super::lists::{EMPTY, Lists};
use super::trie::Trie;
use super::write::Writer;
use crate::engine::program::dfa as layout;
use crate::target::form::TargetForm;
use crate::target::percent::OctetSet;

/// A stretch that is shorter costs less as states.
const MIN_CHAIN_LEN: usize = 3;
/// The largest automaton: a table of this many states stays within the fast caches.
const MAX_STATES: usize = 4096;
/// The largest automaton without gated rules: large policies are mostly literal, and their states few per rule.
const MAX_LITERAL_STATES: usize = 16384;

/// A rule behind a gate.
pub(super) struct Gated<'a> {
    pub(super) rank: u32,
    pub(super) segments: Vec<&'a [u8]>,
    pub(super) anchored: bool,
    /// Whether a segment has two spellings: such a rule is left to the backstop.
    pub(super) two_spellings: bool,
}

/// What there is to determinise.
pub(super) struct Input<'a> {
    pub(super) trie: &'a Trie,
    /// Rules by the sequence of their gate.
    pub(super) gated: &'a BTreeMap<u32, Vec<Gated<'a>>>,
    /// The value of each rank.
    pub(super) values: &'a [u32],
    pub(super) form: &'a TargetForm,
}

/// Builds the automaton, within the budget: with the gated rules in it, else with a way to the backstop at their gates.
pub(super) fn determinise(input: &Input<'_>, budget: &mut Budget) -> Option<Vec<u8>> {
    let gates = !input.gated.is_empty();
    let first = Determiniser::new(input, gates)?.run(if gates { MAX_STATES } else { MAX_LITERAL_STATES }, budget);
    match first {
        None if gates => Determiniser::new(input, false)?.run(MAX_LITERAL_STATES, budget),
        result => result,
    }
}

const NOWHERE: u32 = u32::MAX;
const NO_POSITION: u32 = u32::MAX;
const MATCHED: u32 = u32::MAX;
const UNKNOWN: u32 = u32::MAX;
/// A reference to a special state has this bit.
const SPECIAL: u32 = 1 << 31;

/// A place in a segment of a gated rule.
struct Position {
    /// The octet that leads on; none behind the last octet of an anchored tail.
    wants: Option<u8>,
    /// Where it leads, or [`MATCHED`].
    next: u32,
    /// Where to look when another octet comes: the longest shorter place that wants another octet, or [`NO_POSITION`].
    fail: u32,
    /// The start of the segment.
    start: u32,
    value: u32,
}

/// How far gated rules can be: one number for each place in each segment.
#[derive(Default)]
struct Positions(Vec<Position>);

impl Positions {
    /// Adds a rule; gives its first position.
    fn add(&mut self, rule: &Gated<'_>, value: u32) -> u32 {
        let first = self.0.len() as u32;
        for (index, segment) in rule.segments.iter().enumerate() {
            let is_last = index + 1 == rule.segments.len();
            self.add_segment(segment, is_last, is_last && rule.anchored, value);
        }
        first
    }

    fn add_segment(&mut self, segment: &[u8], is_last: bool, anchored: bool, value: u32) {
        let start = self.0.len() as u32;
        let borders = borders(segment);
        for place in 0..segment.len() + usize::from(anchored) {
            let wants = segment.get(place).copied();
            let ends = place + 1 == segment.len() && is_last && !anchored;
            let fail = match place {
                0 => NO_POSITION,
                _ => {
                    let border = start + borders[place - 1] as u32;
                    if wants.is_some() && self.at(border).wants == wants { self.at(border).fail } else { border }
                }
            };
            self.0.push(Position { wants, next: if ends { MATCHED } else { start + place as u32 + 1 }, fail, start, value });
        }
    }

    #[inline]
    fn at(&self, position: u32) -> &Position {
        &self.0[position as usize]
    }

    /// Where `position` goes on `octet`: a position, or [`MATCHED`].
    #[inline]
    fn step(&self, position: u32, octet: u8) -> u32 {
        let mut at = self.at(position);
        loop {
            if at.wants == Some(octet) {
                return at.next;
            }
            match at.fail {
                NO_POSITION => return at.start,
                fail => at = self.at(fail),
            }
        }
    }
}

/// For each prefix of `segment`, from one octet on, the length of its longest border.
fn borders(segment: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; segment.len()];
    let mut len = 0;
    for at in 1..segment.len() {
        while len > 0 && segment[len] != segment[at] {
            len = borders[len - 1];
        }
        len += usize::from(segment[len] == segment[at]);
        borders[at] = len;
    }
    borders
}

/// What the determiniser asks of a node of the trie, as values.
struct Place {
    /// What the place gives, and what it gives at the end of a target.
    own: u32,
    at_end: u32,
    /// The most that can come, from before the end of the label and from there on.
    max: u32,
    max_behind: u32,
}

fn places(trie: &Trie, values: &[u32]) -> Vec<Place> {
    let value = |rank: u32| values[rank as usize];
    let place = |(index, node)| {
        let below = trie.children(index).map(|child| trie.nodes[child].max).max().unwrap_or(0);
        let at_end = trie.best_anchored(node);
        Place { own: value(trie.best_match(node)), at_end: value(at_end), max: value(node.max), max_behind: value(below.max(at_end)) }
    };
    trie.nodes.iter().enumerate().map(place).collect()
}

/// A state under construction.
#[derive(Debug, Clone, Copy)]
struct State {
    /// A node of the trie, or [`NOWHERE`], and how much of its label was read.
    node: u32,
    offset: u32,
    best: u32,
    /// Gated rules under way: a sorted list of positions.
    items: u32,
}

/// The octets on which a state does something of its own.
#[derive(Default)]
struct Octets([u64; 4]);

impl Octets {
    #[inline]
    fn insert(&mut self, octet: u8) {
        self.0[usize::from(octet >> 6)] |= 1 << (octet & 63);
    }

    fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// In order.
    fn iter(&self) -> impl Iterator<Item = u8> {
        let words = self.0;
        (0..4u8).flat_map(move |index| {
            let mut word = words[usize::from(index)];
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as u8)?;
                word &= word - 1;
                Some(index << 6 | bit)
            })
        })
    }
}

struct SpecialState {
    kind: u32,
    value: u32,
    chain: (u32, u32),
    next: u32,
}

/// What is behind a gate.
struct Gate {
    /// The first positions of its rules.
    first_positions: Vec<u32>,
    /// The highest value of those that only the backstop can tell.
    backstop: u32,
}

/// A class of octets that canonicalising makes escapes, of equal digits as far as the automaton tells them apart.
struct Escape {
    class: u8,
    digits: [u8; 2],
}

struct Determiniser<'a> {
    input: &'a Input<'a>,
    places: Vec<Place>,
    positions: Positions,
    gates: BTreeMap<u32, Gate>,
    classes: [u8; 256],
    escapes: Vec<Escape>,
    /// Where escapes lead from states behind their `%` that have no place in the trie, by best value and items.
    behind_escapes: Map<(u32, u32), Vec<u32>>,
    stride: usize,
    /// States without a place in the trie, by best value and items. Every place in the trie is entered once, so those with one are all different.
    known: Map<(u32, u32), u32>,
    lists: Lists,
    /// Items of the state in hand.
    items: Vec<u32>,
    pending: Vec<State>,
    /// References, `stride` a state.
    table: Vec<u32>,
    specials: Vec<SpecialState>,
    /// By value, and the one slow state; [`UNKNOWN`] where there is none yet.
    finals: Vec<u32>,
    slow: u32,
    chains: Vec<u8>,
    /// Chains that follow one another, with their values.
    following: Vec<(u32, (u32, u32))>,
}

impl<'a> Determiniser<'a> {
    /// With gated rules or without. `None` if they name more octets than a table has columns, which no canonical octets do.
    fn new(input: &'a Input<'a>, with_gated: bool) -> Option<Determiniser<'a>> {
        let mut positions = Positions::default();
        let value = |rule: &Gated<'_>| input.values[rule.rank as usize];
        let gate = |rules: &Vec<Gated>| Gate {
            first_positions: match with_gated {
                true => rules.iter().filter(|rule| !rule.two_spellings).map(|rule| positions.add(rule, value(rule))).collect(),
                false => Vec::new(),
            },
            backstop: rules.iter().filter(|rule| rule.two_spellings || !with_gated).map(value).max().unwrap_or(0),
        };
        let gates = input.gated.values().map(gate);
        let gates = input.gated.keys().copied().zip(gates).collect();
        let (classes, escapes, stride) = classes(input, &positions)?;
        // What most policies need; others grow.
        let states = (input.trie.nodes.len() * 2).min(MAX_STATES);
        Some(Determiniser {
            input,
            places: places(input.trie, input.values),
            positions,
            gates,
            classes,
            escapes,
            behind_escapes: Map::default(),
            stride,
            known: Map::default(),
            lists: Lists::default(),
            items: Vec::new(),
            pending: Vec::with_capacity(states),
            table: Vec::with_capacity(states * stride),
            specials: Vec::with_capacity(states),
            finals: vec![UNKNOWN; input.values.iter().max().map_or(1, |&most| most as usize + 1)],
            slow: UNKNOWN,
            chains: Vec::with_capacity(input.trie.labels.len()),
            following: Vec::new(),
        })
    }

    fn run(mut self, max_states: usize, budget: &mut Budget) -> Option<Vec<u8>> {
        budget.work(self.positions.0.len() + self.input.trie.nodes.len())?;
        let start = self.arrive(0, 0, 0);
        let mut done = 0;
        while done < self.pending.len() {
            let state = self.pending[done];
            done += 1;
            let octets = self.explicit(&state);
            budget.work((self.lists.of(state.items).len() + 4) * (octets.count() + 1) + self.stride)?;
            self.write_row(&state, &octets);
            self.write_escapes(done - 1, &state, budget)?;
            if self.pending.len() > max_states {
                return None;
            }
        }
        Some(self.write(start))
    }

    fn write_row(&mut self, state: &State, octets: &Octets) {
        let row = self.table.len();
        let end = self.final_state(self.value_at_end(state));
        let slow = self.slow_state();
        let other = self.step(state, None);
        self.table.resize(row + self.stride, other);
        self.table[row + usize::from(layout::CLASS_END)] = end;
        self.table[row + usize::from(layout::CLASS_SLOW)] = slow;
        for octet in octets.iter() {
            self.table[row + usize::from(self.classes[usize::from(octet)])] = self.step(state, Some(octet));
        }
    }

    /// The part of a row for octets that stand for an escape: the three steps of that in one.
    fn write_escapes(&mut self, row: usize, state: &State, budget: &mut Budget) -> Option<()> {
        if self.escapes.is_empty() {
            return Some(());
        }
        let references = match self.settled_behind(state, b'%') {
            Ok(behind) => self.behind_percent(&behind, budget)?,
            Err(reference) => vec![reference; self.escapes.len()],
        };
        for (escape, reference) in self.escapes.iter().zip(references) {
            self.table[row * self.stride + usize::from(escape.class)] = reference;
        }
        Some(())
    }

    /// Where the digits of each escape lead. Most rows ask that of the same few states: those in which no rule goes on with a `%`.
    fn behind_percent(&mut self, state: &State, budget: &mut Budget) -> Option<Vec<u32>> {
        let key = (state.best, state.items);
        if let Some(known) = self.behind_escapes.get(&key).filter(|_| state.node == NOWHERE) {
            return Some(known.clone());
        }
        budget.work((self.lists.of(state.items).len() + 4) * 2 * self.escapes.len())?;
        let references: Vec<u32> = (0..self.escapes.len()).map(|index| self.behind_digits(state, self.escapes[index].digits)).collect();
        if state.node == NOWHERE {
            self.behind_escapes.insert(key, references.clone());
        }
        Some(references)
    }

    fn behind_digits(&mut self, state: &State, digits: [u8; 2]) -> u32 {
        match self.settled_behind(state, digits[0]) {
            Ok(between) => self.step(&between, Some(digits[1])),
            Err(reference) => reference,
        }
    }

    /// The state behind `octet`, which gets no row, or the reference of one that needs none.
    fn settled_behind(&mut self, state: &State, octet: u8) -> Result<State, u32> {
        let (node, offset, best) = self.move_on(state, Some(octet));
        self.settled(node, offset, best)
    }

    /// The octets on which the state does something of its own.
    fn explicit(&self, state: &State) -> Octets {
        let mut octets = Octets::default();
        let mut insert = |octet: u8| {
            if self.classes[usize::from(octet)] > layout::CLASS_OTHER {
                octets.insert(octet);
            }
        };
        if state.node != NOWHERE {
            let trie = self.input.trie;
            match trie.label(state.node as usize).get(state.offset as usize) {
                Some(&octet) => insert(octet),
                None => trie.children(state.node as usize).for_each(|child| insert(trie.label(child)[0])),
            }
        }
        for &item in self.lists.of(state.items) {
            let mut at = item;
            while at != NO_POSITION {
                let position = self.positions.at(at);
                position.wants.into_iter().for_each(&mut insert);
                at = position.fail;
            }
        }
        octets
    }

    /// The reference of the state behind `octet`, or behind one that nobody wants.
    fn step(&mut self, state: &State, octet: Option<u8>) -> u32 {
        let (node, offset, best) = self.move_on(state, octet);
        self.arrive(node, offset, best)
    }

    /// Where `octet` leads, before anything is taken from there: node, offset and best value, with the items in hand.
    fn move_on(&mut self, state: &State, octet: Option<u8>) -> (u32, u32, u32) {
        let mut best = state.best;
        self.items.clear();
        for &item in self.lists.of(state.items) {
            match octet.map_or(self.positions.at(item).start, |octet| self.positions.step(item, octet)) {
                MATCHED => best = best.max(self.positions.at(item).value),
                position => self.items.push(position),
            }
        }
        let (node, offset) = octet.and_then(|octet| self.step_trie(state, octet)).unwrap_or((NOWHERE, 0));
        (node, offset, best)
    }

    fn step_trie(&self, state: &State, octet: u8) -> Option<(u32, u32)> {
        let trie = self.input.trie;
        if state.node == NOWHERE {
            return None;
        }
        match trie.label(state.node as usize).get(state.offset as usize) {
            Some(&wanted) => (wanted == octet).then_some((state.node, state.offset + 1)),
            None => trie.children(state.node as usize).find(|&child| trie.label(child)[0] == octet).map(|child| (child as u32, 1)),
        }
    }

    /// The reference of the state that is entered at a place of the trie, with the items in hand. Where it is a chain, so is all behind it, as long as
    /// chains follow one another.
    fn arrive(&mut self, mut node: u32, mut offset: u32, mut best: u32) -> u32 {
        let mut reference = loop {
            let state = match self.settled(node, offset, best) {
                Ok(state) => state,
                Err(reference) => break reference,
            };
            let Some((behind, chain)) = self.chain(&state) else {
                break self.reference(state);
            };
            self.following.push((state.best, chain));
            (node, offset, best) = (behind.0, behind.1, state.best);
            self.items.clear();
        };
        while let Some((value, chain)) = self.following.pop() {
            self.specials.push(SpecialState { kind: layout::KIND_CHAIN, value, chain, next: reference });
            reference = SPECIAL | (self.specials.len() as u32 - 1);
        }
        reference
    }

    /// The reference of a state with transitions, which is found or added.
    fn reference(&mut self, state: State) -> u32 {
        let next = self.pending.len() as u32;
        let known = match state.node {
            NOWHERE => *self.known.entry((state.best, state.items)).or_insert(next),
            _ => next,
        };
        if known == next {
            self.pending.push(state);
        }
        known
    }

    /// Takes what the place in the trie gives, and leaves out what can no longer win: a state, or the reference of one that needs none.
    fn settled(&mut self, mut node: u32, mut offset: u32, mut best: u32) -> Result<State, u32> {
        let trie = self.input.trie;
        if node != NOWHERE {
            let place = &self.places[node as usize];
            let at_label_end = offset as usize == trie.nodes[node as usize].label.len();
            if at_label_end {
                best = best.max(place.own);
                if let Some(gate) = trie.nodes[node as usize].gate.and_then(|sequence| self.gates.get(&sequence)) {
                    if gate.backstop > best {
                        return Err(self.slow_state());
                    }
                    self.items.extend_from_slice(&gate.first_positions);
                }
            }
            if best >= if at_label_end { place.max_behind } else { place.max } {
                (node, offset) = (NOWHERE, 0);
            }
        }
        if !self.items.is_empty() {
            self.items.retain(|&item| self.positions.at(item).value > best);
            self.items.sort_unstable();
            self.items.dedup();
        }
        if node == NOWHERE && self.items.is_empty() {
            return Err(self.final_state(best));
        }
        Ok(State { node, offset, best, items: self.lists.name(&self.items) })
    }

    fn value_at_end(&self, state: &State) -> u32 {
        let mut value = state.best;
        if state.node != NOWHERE && state.offset as usize == self.input.trie.nodes[state.node as usize].label.len() {
            value = value.max(self.places[state.node as usize].at_end);
        }
        let ended = self.lists.of(state.items).iter().map(|&item| self.positions.at(item)).filter(|position| position.wants.is_none());
        ended.map(|position| position.value).fold(value, u32::max)
    }

    /// The octets of the state as a chain, and the place behind it, where the trie leads on one way alone and nothing else is under way.
    fn chain(&mut self, state: &State) -> Option<((u32, u32), (u32, u32))> {
        if state.items != EMPTY {
            return None;
        }
        let trie = self.input.trie;
        let (node, offset) = match trie.nodes[state.node as usize].label.len() - state.offset as usize {
            0 if trie.nodes[state.node as usize].anchored.is_empty() => {
                let children = trie.children(state.node as usize);
                (children.len() == 1).then_some((children.start, 0))?
            }
            0 => return None,
            _ => (state.node as usize, state.offset as usize),
        };
        let stretch = &trie.label(node)[offset..];
        let len = stretch.iter().take_while(|&&octet| !self.input.form.not_identity().contains(octet)).count();
        if len < MIN_CHAIN_LEN {
            return None;
        }
        let at = self.chains.len() as u32;
        self.chains.extend_from_slice(&stretch[..len]);
        Some(((node as u32, (offset + len) as u32), (at, len as u32)))
    }

    fn final_state(&mut self, value: u32) -> u32 {
        match self.finals[value as usize] {
            UNKNOWN => {
                let reference = self.special(layout::KIND_FINAL, value);
                self.finals[value as usize] = reference;
                reference
            }
            known => known,
        }
    }

    fn slow_state(&mut self) -> u32 {
        if self.slow == UNKNOWN {
            self.slow = self.special(layout::KIND_SLOW, 0);
        }
        self.slow
    }

    fn special(&mut self, kind: u32, value: u32) -> u32 {
        self.specials.push(SpecialState { kind, value, chain: (0, 0), next: 0 });
        SPECIAL | (self.specials.len() as u32 - 1)
    }

    fn write(&self, start: u32) -> Vec<u8> {
        let special_count = self.specials.len() as u32;
        // States are numbered by where their row begins, behind the special ones: one comparison tells them apart.
        let number = |reference: u32| match reference & SPECIAL {
            0 => special_count + reference * self.stride as u32,
            _ => reference & !SPECIAL,
        };
        let wide = special_count as usize + self.table.len() > usize::from(u16::MAX);
        let len = (layout::WORDS + 64 + self.specials.len() * layout::SPECIAL_WORDS + self.table.len()) * 4 + self.chains.len();
        let mut out = Writer::with_header(layout::WORDS + 64, len);
        let specials = self.specials.iter().flat_map(|special| {
            let next = if special.kind == layout::KIND_CHAIN { number(special.next) } else { 0 };
            [special.value << 2 | special.kind, special.chain.0, special.chain.1, next]
        });
        let specials_at = out.words_of(self.specials.len() * layout::SPECIAL_WORDS, specials);
        let entries = self.table.iter().map(|&reference| number(reference));
        let table_at = match wide {
            true => out.words_of(self.table.len(), entries),
            false => out.halves_of(self.table.len(), entries.map(|entry| entry as u16)),
        };
        let chains_at = out.octets(&self.chains);
        out.set(layout::START, number(start));
        out.set_all(layout::STATE_COUNT, &[self.pending.len() as u32, self.stride as u32, special_count]);
        out.set(layout::WIDTH, if wide { 4 } else { 2 });
        out.set_all(layout::SPECIALS, &[specials_at, table_at, chains_at, self.chains.len() as u32]);
        for (index, classes) in self.classes.as_chunks::<4>().0.iter().enumerate() {
            out.set(layout::WORDS + index, u32::from_le_bytes(*classes));
        }
        out.into_octets()
    }
}

/// Classes of octets that the automaton does not tell apart, those of them that stand for escapes, and how many there are.
fn classes(input: &Input<'_>, positions: &Positions) -> Option<([u8; 256], Vec<Escape>, usize)> {
    let mut named = Octets::default();
    input.trie.labels.iter().for_each(|&octet| named.insert(octet));
    positions.0.iter().filter_map(|position| position.wants).for_each(|octet| named.insert(octet));
    let not_identity = input.form.not_identity();
    let class = |octet: usize| if not_identity.contains(octet as u8) { layout::CLASS_SLOW } else { layout::CLASS_OTHER };
    let mut classes: [u8; 256] = std::array::from_fn(class);
    classes[usize::from(b'#')] = layout::CLASS_END;
    let mut next = layout::CLASS_OTHER + 1;
    for octet in named.iter() {
        let class = &mut classes[usize::from(octet)];
        if *class == layout::CLASS_OTHER {
            *class = next;
            next = next.checked_add(1)?;
        }
    }
    let mut escapes: Vec<Escape> = Vec::new();
    if *input.form.always_escaped() == OctetSet::new() {
        return Some((classes, escapes, usize::from(next)));
    }
    for octet in (0..=255u8).filter(|&octet| input.form.always_escaped().contains(octet)) {
        let digits = [octet >> 4, octet & 15].map(|digit| b"0123456789ABCDEF"[usize::from(digit)]);
        let told_apart = |digits: [u8; 2]| digits.map(|digit| classes[usize::from(digit)]);
        let class = match escapes.iter().find(|escape| told_apart(escape.digits) == told_apart(digits)) {
            Some(escape) => escape.class,
            None => {
                escapes.push(Escape { class: next, digits });
                next = next.checked_add(1)?;
                next - 1
            }
        };
        classes[usize::from(octet)] = class;
    }
    Some((classes, escapes, usize::from(next)))
}
