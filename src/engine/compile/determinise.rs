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

use std::collections::HashMap;

use super::budget::Budget;
use super::trie::Trie;
use super::write::Writer;
use crate::engine::program::dfa as layout;
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
    pub(super) gated: &'a HashMap<u32, Vec<Gated<'a>>>,
    /// The value of each rank.
    pub(super) values: &'a [u32],
    pub(super) not_identity: &'a OctetSet,
}

/// Builds the automaton, within the budget: with the gated rules in it, else with a way to the backstop at their gates.
pub(super) fn determinise(input: &Input<'_>, budget: &mut Budget) -> Option<Vec<u8>> {
    let gates = !input.gated.is_empty();
    let with_gated = || Determiniser::new(input, gates);
    let first = with_gated().run(if gates { MAX_STATES } else { MAX_LITERAL_STATES }, budget);
    match first {
        None if gates => Determiniser::new(input, false).run(MAX_LITERAL_STATES, budget),
        result => result,
    }
}

const NOWHERE: u32 = u32::MAX;
const NO_POSITION: u32 = u32::MAX;
const MATCHED: u32 = u32::MAX;
/// A reference to a special state has this bit.
const SPECIAL: u32 = 1 << 31;

/// How far gated rules can be: one number for each place in each segment.
#[derive(Default)]
struct Positions {
    /// The octet that leads on; none behind the last octet of an anchored tail.
    wants: Vec<Option<u8>>,
    /// Where it leads, or [`MATCHED`].
    next: Vec<u32>,
    /// Where to look when another octet comes: the longest shorter place that wants another octet, or [`NO_POSITION`].
    fail: Vec<u32>,
    /// The start of the segment.
    start: Vec<u32>,
    value: Vec<u32>,
}

impl Positions {
    /// Adds a rule; gives its first position.
    fn add(&mut self, rule: &Gated<'_>, value: u32) -> u32 {
        let first = self.wants.len() as u32;
        for (index, segment) in rule.segments.iter().enumerate() {
            let is_last = index + 1 == rule.segments.len();
            self.add_segment(segment, is_last, is_last && rule.anchored, value);
        }
        first
    }

    fn add_segment(&mut self, segment: &[u8], is_last: bool, anchored: bool, value: u32) {
        let start = self.wants.len() as u32;
        let borders = borders(segment);
        let places = segment.len() + usize::from(anchored);
        for place in 0..places {
            let wants = segment.get(place).copied();
            let ends = place + 1 == segment.len() && is_last && !anchored;
            self.wants.push(wants);
            self.next.push(if ends { MATCHED } else { start + place as u32 + 1 });
            self.start.push(start);
            self.value.push(value);
            let fail = match place {
                0 => NO_POSITION,
                _ => {
                    let border = start + borders[place - 1] as u32;
                    if wants.is_some() && self.wants[border as usize] == wants { self.fail[border as usize] } else { border }
                }
            };
            self.fail.push(fail);
        }
    }

    /// Where `position` goes on `octet`: a position, or [`MATCHED`].
    fn step(&self, position: u32, octet: u8) -> u32 {
        let mut at = position;
        loop {
            if self.wants[at as usize] == Some(octet) {
                return self.next[at as usize];
            }
            match self.fail[at as usize] {
                NO_POSITION => return self.start[at as usize],
                fail => at = fail,
            }
        }
    }

    fn is_end(&self, position: u32) -> bool {
        self.wants[position as usize].is_none()
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

/// A state under construction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct State {
    /// A node of the trie, or [`NOWHERE`], and how much of its label was read.
    node: u32,
    offset: u32,
    best: u32,
    /// Gated rules under way, sorted.
    items: Vec<u32>,
}

struct SpecialState {
    kind: u32,
    value: u32,
    chain: (u32, u32),
    next: u32,
}

struct Determiniser<'a> {
    input: &'a Input<'a>,
    /// Whether gated rules are in the automaton; else a gate leads to the backstop.
    with_gated: bool,
    positions: Positions,
    /// First positions of the gated rules, by sequence.
    first_positions: HashMap<u32, Vec<u32>>,
    classes: [u8; 256],
    stride: usize,
    known: HashMap<State, u32>,
    pending: Vec<State>,
    /// References, `stride` a state.
    table: Vec<u32>,
    specials: Vec<SpecialState>,
    finals: HashMap<u32, u32>,
    chains: Vec<u8>,
}

impl<'a> Determiniser<'a> {
    fn new(input: &'a Input<'a>, with_gated: bool) -> Determiniser<'a> {
        let mut positions = Positions::default();
        let mut first_positions = HashMap::new();
        if with_gated {
            for (&sequence, rules) in input.gated {
                let rules = rules.iter().filter(|rule| !rule.two_spellings);
                let firsts = rules.map(|rule| positions.add(rule, input.values[rule.rank as usize])).collect();
                first_positions.insert(sequence, firsts);
            }
        }
        let (classes, stride) = classes(input, &positions);
        Determiniser {
            input,
            with_gated,
            positions,
            first_positions,
            classes,
            stride,
            known: HashMap::new(),
            pending: Vec::new(),
            table: Vec::new(),
            specials: Vec::new(),
            finals: HashMap::new(),
            chains: Vec::new(),
        }
    }

    fn run(mut self, max_states: usize, budget: &mut Budget) -> Option<Vec<u8>> {
        budget.work(self.positions.wants.len() + self.input.trie.nodes.len())?;
        let root = State { node: 0, offset: 0, best: 0, items: Vec::new() };
        let start = self.arrive(root);
        let mut done = 0;
        while done < self.pending.len() {
            let state = self.pending[done].clone();
            done += 1;
            let octets = self.explicit(&state);
            budget.work((state.items.len() + 4) * (octets.len() + 1) + self.stride)?;
            self.write_row(&state, &octets);
            if self.pending.len() > max_states {
                return None;
            }
        }
        Some(self.write(start))
    }

    fn write_row(&mut self, state: &State, octets: &[u8]) {
        let row = self.table.len();
        let end = self.final_state(self.value_at_end(state));
        let slow = self.special(layout::KIND_SLOW, 0);
        let other = self.arrive(self.step(state, None));
        self.table.resize(row + self.stride, other);
        self.table[row + usize::from(layout::CLASS_END)] = end;
        self.table[row + usize::from(layout::CLASS_SLOW)] = slow;
        for &octet in octets {
            self.table[row + usize::from(self.classes[usize::from(octet)])] = self.arrive(self.step(state, Some(octet)));
        }
    }

    /// The octets on which the state does something of its own.
    fn explicit(&self, state: &State) -> Vec<u8> {
        let mut octets = Vec::new();
        if state.node != NOWHERE {
            let label = self.input.trie.label(state.node as usize);
            match label.get(state.offset as usize) {
                Some(&octet) => octets.push(octet),
                None => octets.extend(self.input.trie.children(state.node as usize).map(|child| self.input.trie.label(child)[0])),
            }
        }
        for &item in &state.items {
            let mut at = item;
            while at != NO_POSITION {
                octets.extend(self.positions.wants[at as usize]);
                at = self.positions.fail[at as usize];
            }
        }
        octets.sort_unstable();
        octets.dedup();
        octets.retain(|&octet| !self.input.not_identity.contains(octet));
        octets
    }

    /// The state behind `octet`, or behind one that nobody wants.
    fn step(&self, state: &State, octet: Option<u8>) -> State {
        let mut best = state.best;
        let mut items = Vec::with_capacity(state.items.len());
        for &item in &state.items {
            match octet.map_or(self.positions.start[item as usize], |octet| self.positions.step(item, octet)) {
                MATCHED => best = best.max(self.positions.value[item as usize]),
                position => items.push(position),
            }
        }
        let (node, offset) = self.step_trie(state, octet).unwrap_or((NOWHERE, 0));
        State { node, offset, best, items }
    }

    fn step_trie(&self, state: &State, octet: Option<u8>) -> Option<(u32, u32)> {
        let (trie, octet) = (self.input.trie, octet?);
        if state.node == NOWHERE {
            return None;
        }
        match trie.label(state.node as usize).get(state.offset as usize) {
            Some(&wanted) => (wanted == octet).then_some((state.node, state.offset + 1)),
            None => trie.children(state.node as usize).find(|&child| trie.label(child)[0] == octet).map(|child| (child as u32, 1)),
        }
    }

    /// The reference of a state just entered: takes what the place in the trie gives, leaves out what can no longer win, and finds or adds it.
    fn arrive(&mut self, mut state: State) -> u32 {
        let trie = self.input.trie;
        if state.node != NOWHERE {
            let node = &trie.nodes[state.node as usize];
            if state.offset as usize == node.label.len() {
                state.best = state.best.max(node.matches.first().map_or(0, |&rank| self.value(rank)));
                if let Some(sequence) = node.gate {
                    if self.needs_backstop(sequence, state.best) {
                        return self.special(layout::KIND_SLOW, 0);
                    }
                    state.items.extend(self.first_positions.get(&sequence).into_iter().flatten());
                }
            }
            if self.value(self.max_ahead(&state)) <= state.best {
                state.node = NOWHERE;
                state.offset = 0;
            }
        }
        state.items.retain(|&item| self.positions.value[item as usize] > state.best);
        state.items.sort_unstable();
        state.items.dedup();
        if state.node == NOWHERE && state.items.is_empty() {
            return self.final_state(state.best);
        }
        if let Some(&known) = self.known.get(&state) {
            return known;
        }
        if let Some(chain) = self.chain(&state) {
            self.known.insert(state, chain);
            return chain;
        }
        let reference = self.pending.len() as u32;
        self.known.insert(state.clone(), reference);
        self.pending.push(state);
        reference
    }

    fn value(&self, rank: u32) -> u32 {
        self.input.values[rank as usize]
    }

    /// The highest rank that the trie can still give ahead of the state's place.
    fn max_ahead(&self, state: &State) -> u32 {
        let trie = self.input.trie;
        let node = &trie.nodes[state.node as usize];
        if (state.offset as usize) < node.label.len() {
            return node.max;
        }
        let anchored = node.anchored.first().copied().unwrap_or(0);
        trie.children(state.node as usize).map(|child| trie.nodes[child].max).max().unwrap_or(0).max(anchored)
    }

    fn needs_backstop(&self, sequence: u32, best: u32) -> bool {
        let rules = &self.input.gated[&sequence];
        rules.iter().any(|rule| (rule.two_spellings || !self.with_gated) && self.value(rule.rank) > best)
    }

    fn value_at_end(&self, state: &State) -> u32 {
        let mut value = state.best;
        if state.node != NOWHERE {
            let node = &self.input.trie.nodes[state.node as usize];
            if state.offset as usize == node.label.len() {
                value = value.max(node.anchored.first().map_or(0, |&rank| self.value(rank)));
            }
        }
        let ended = state.items.iter().filter(|&&item| self.positions.is_end(item));
        ended.map(|&item| self.positions.value[item as usize]).fold(value, u32::max)
    }

    /// The state as a chain, where the trie leads on one way alone and nothing else is under way.
    fn chain(&mut self, state: &State) -> Option<u32> {
        if !state.items.is_empty() {
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
        let len = stretch.iter().take_while(|&&octet| !self.input.not_identity.contains(octet)).count();
        if len < MIN_CHAIN_LEN {
            return None;
        }
        let at = self.chains.len() as u32;
        self.chains.extend_from_slice(&stretch[..len]);
        let behind = State { node: node as u32, offset: (offset + len) as u32, best: state.best, items: Vec::new() };
        let next = self.arrive(behind);
        self.specials.push(SpecialState { kind: layout::KIND_CHAIN, value: state.best, chain: (at, len as u32), next });
        Some(SPECIAL | (self.specials.len() as u32 - 1))
    }

    fn final_state(&mut self, value: u32) -> u32 {
        if let Some(&known) = self.finals.get(&value) {
            return known;
        }
        let reference = self.special(layout::KIND_FINAL, value);
        self.finals.insert(value, reference);
        reference
    }

    fn special(&mut self, kind: u32, value: u32) -> u32 {
        let same = |special: &SpecialState| special.kind == layout::KIND_SLOW;
        if let Some(at) = self.specials.iter().position(same).filter(|_| kind == layout::KIND_SLOW) {
            return SPECIAL | at as u32;
        }
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
        let mut out = Writer::with_header(layout::WORDS + 64);
        let specials = self.specials.iter().flat_map(|special| {
            let next = if special.kind == layout::KIND_CHAIN { number(special.next) } else { 0 };
            [special.value << 2 | special.kind, special.chain.0, special.chain.1, next]
        });
        let specials_at = out.words(&specials.collect::<Vec<_>>());
        let entries = self.table.iter().map(|&reference| number(reference));
        let table: Vec<u8> = match wide {
            true => entries.flat_map(u32::to_le_bytes).collect(),
            false => entries.flat_map(|entry| (entry as u16).to_le_bytes()).collect(),
        };
        let table_at = out.octets(&table);
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

/// Classes of octets that the automaton does not tell apart, and how many there are.
fn classes(input: &Input<'_>, positions: &Positions) -> ([u8; 256], usize) {
    let mut named = [false; 256];
    for &octet in input.trie.labels.iter().chain(positions.wants.iter().flatten()) {
        named[usize::from(octet)] = true;
    }
    let mut classes = [layout::CLASS_OTHER; 256];
    let mut next = layout::CLASS_OTHER + 1;
    for octet in 0..=255u8 {
        let class = &mut classes[usize::from(octet)];
        if octet == b'#' {
            *class = layout::CLASS_END;
        } else if input.not_identity.contains(octet) {
            *class = layout::CLASS_SLOW;
        } else if named[usize::from(octet)] {
            *class = next;
            next += 1;
        }
    }
    (classes, usize::from(next))
}
