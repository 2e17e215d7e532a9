//! Many targets at once: the matcher's other way in, for rows of one place that lie in one block of octets.
//!
//! ```text
//!   rows ──▶ walk (waves) ──▶ parity of the state ──▶ bits
//!     ▲        │ slow                  ▲
//!     │        ├──▶ one by one ────────┤
//!     │        └──▶ floating: fingerprints over the block ──▶ hits ──▶ levels raised
//!     └── canonical copies of rows with octets on which canonicalising is not the identity
//! ```

use super::floating::{Floating, Hits, Rule, floating_rules};
use super::kernel::{Automaton, Kernel, Of, Row, StateId};
use super::waves::{CHUNK, Lists, MARGIN, walk};
use super::{Matcher, Scratch};
use crate::engine::program::view::Step;
use crate::engine::program::{Corrupt, Detail, segments};
use crate::engine::scan::{Isa, Task, Vector};
use crate::target::form::TargetForm;

/// Rows of one place: where each target begins and where the row ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Targets<'a> {
    pub(crate) octets: &'a [u8],
    /// Ascending.
    pub(crate) starts: &'a [u32],
    /// Behind the last octet, where an LF or a CR and an LF stands.
    pub(crate) ends: &'a [u32],
}

impl<'a> Targets<'a> {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.starts.len()
    }

    /// The raw target of a row.
    pub(crate) fn raw(&self, row: usize) -> &'a [u8] {
        let end = self.ends[row] as usize;
        let end = if end > 0 && self.octets[end - 1] == b'\r' { end - 1 } else { end };
        self.octets.get(self.starts[row] as usize..end).unwrap_or_default()
    }
}

/// What a rule set needs to be asked about many rows at once.
#[derive(Debug)]
pub(crate) struct Prepared {
    kernel: Kernel,
    /// Its floating rules, with states for levels, and the search for them.
    rules: Vec<Rule>,
    floating: Option<Floating>,
    /// What may stand for the `%` of a canonical target, since no rule names the one or the other.
    stand_in: Option<u8>,
}

/// The search for the floating rules of several rule sets at once.
#[derive(Debug)]
pub(crate) struct Together(Floating);

/// A rule set, and what was prepared for it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Member<'a, 'p> {
    pub(crate) matcher: &'a Matcher<'p>,
    pub(crate) prepared: &'a Prepared,
}

/// Buffers for many rows at once. Of states and lists there is one a member.
#[derive(Debug, Default)]
pub(crate) struct BlockScratch {
    narrow: Vec<[u16; CHUNK]>,
    wide: Vec<[Row; CHUNK]>,
    lists: Lists,
    hits: Hits,
    one_by_one: Vec<Vec<u16>>,
    copies: Vec<Copies>,
}

/// Canonical targets of rows, with something for each `%` that the automaton can read.
#[derive(Debug, Default)]
struct Copies {
    rows: Vec<u32>,
    octets: Vec<u8>,
    starts: Vec<u32>,
    ends: Vec<u32>,
}

impl Copies {
    fn clear(&mut self) {
        self.rows.clear();
        self.octets.clear();
        self.starts.clear();
        self.ends.clear();
    }

    /// Adds the copy of a row, if there can be one.
    fn add(&mut self, row: u32, raw: &[u8], form: &TargetForm, stand_in: u8, buffer: &mut Vec<u8>) -> bool {
        let (Ok(start), canonical) = (u32::try_from(self.octets.len()), form.canonical(raw, buffer)) else { return false };
        let Ok(end) = u32::try_from(self.octets.len() + canonical.len()) else { return false };
        self.octets.extend(canonical.iter().map(|&octet| if octet == b'%' { stand_in } else { octet }));
        if self.octets[start as usize..].iter().any(|&octet| form.not_identity().contains(octet)) {
            self.octets.truncate(start as usize);
            return false;
        }
        self.octets.push(b'\n');
        self.rows.push(row);
        self.starts.push(start);
        self.ends.push(end);
        true
    }

    /// Adds what has to follow the last one.
    fn end(&mut self) {
        self.octets.resize(self.octets.len() + MARGIN, b'\n');
    }

    fn targets(&self) -> Targets<'_> {
        Targets { octets: &self.octets, starts: &self.starts, ends: &self.ends }
    }
}

/// The answers for rows: one bit each, 64 a word, and 0 behind the last row.
#[derive(Debug, Default, Clone)]
pub(crate) struct Answers {
    pub(crate) allow: Vec<u64>,
    /// Rows that the program's octets can not tell, since they changed. Their bits are 0.
    pub(crate) corrupt: Vec<u32>,
}

impl Answers {
    #[inline(always)]
    fn set(&mut self, row: usize, bit: bool) {
        let word = &mut self.allow[row / 64];
        *word = *word & !(1 << (row % 64)) | u64::from(bit) << (row % 64);
    }

    /// What `allows` says of each raw target.
    pub(crate) fn ask_each(&mut self, targets: Targets<'_>, mut allows: impl FnMut(&[u8]) -> Result<bool, Corrupt>) {
        self.allow.clear();
        self.allow.resize(targets.len().div_ceil(64), 0);
        self.corrupt.clear();
        for row in 0..targets.len() {
            match allows(targets.raw(row)) {
                Ok(allows) => self.allow[row / 64] |= u64::from(allows) << (row % 64),
                Err(Corrupt { .. }) => self.corrupt.push(row as u32),
            }
        }
    }
}

impl Prepared {
    /// How many rows must ask for a rule set before it is worth preparing: what a row saves is some fifty times what an entry of the table costs.
    pub(crate) fn worthwhile_rows(matcher: &Matcher<'_>) -> usize {
        64 + matcher.rules.block.dfa.len() / 32
    }

    /// Prepares a rule set for verdicts; `None` if it is to be asked row by row.
    pub(crate) fn new(matcher: &Matcher<'_>) -> Option<Prepared> {
        Prepared::of(matcher, |value| matcher.level_of_value(value), |rank| matcher.rules.block.level(rank))
    }

    /// Prepares a rule set of a program that knows ranks for [`Prepared::ask_ranks`].
    pub(crate) fn with_ranks(matcher: &Matcher<'_>) -> Option<Prepared> {
        match matcher.rules.detail {
            Detail::Rules => Prepared::of(matcher, Some, Some),
            Detail::Verdicts => None,
        }
    }

    fn of(matcher: &Matcher<'_>, level_of: impl Fn(u32) -> Option<u32>, level_of_rank: impl Fn(u32) -> Option<u32>) -> Option<Prepared> {
        let dfa = matcher.dfa.as_ref()?;
        let mut rules = match matcher.rules.block.floating_max {
            0 => Vec::new(),
            _ => floating_rules(matcher, level_of_rank)?,
        };
        let kernel = Kernel::new(dfa, rules.iter().map(|rule| rule.level).collect(), level_of)?;
        for rule in &mut rules {
            rule.level = kernel.final_state(rule.level)?;
        }
        let floating = if rules.is_empty() { None } else { Some(Floating::new(matcher.rules.form, &[&rules])?) };
        Some(Prepared { kernel, rules, floating, stand_in: stand_in(matcher) })
    }

    /// Whether it can be asked together with others.
    pub(crate) fn joins(&self) -> bool {
        matches!(self.kernel, Kernel::Narrow(_))
    }

    /// Brings what most walks begin with into the cache.
    pub(crate) fn prefetch(&self) {
        match &self.kernel {
            Kernel::Narrow(automaton) => automaton.prefetch(),
            Kernel::Wide(automaton) => automaton.prefetch(),
        }
    }

    /// Size in octets.
    pub(crate) fn octet_len(&self) -> usize {
        self.kernel.octet_len() + self.floating.as_ref().map_or(0, |floating| 2 * floating.octet_len())
    }

    /// Asks `matcher`, for which this was prepared, about `targets`.
    pub(crate) fn ask(
        &self,
        matcher: &Matcher<'_>,
        isa: Isa,
        targets: Targets<'_>,
        scratch: &mut Scratch,
        block: &mut BlockScratch,
        answers: &mut Answers,
    ) {
        ask(&[Member { matcher, prepared: self }], self.floating.as_ref(), isa, targets, scratch, block, std::slice::from_mut(answers));
    }

    /// Asks for the deciding ranks of `matcher`, of whose program this was prepared with ranks; [`NO_RANK`] where its octets changed.
    pub(crate) fn ask_ranks(
        &self,
        matcher: &Matcher<'_>,
        isa: Isa,
        targets: Targets<'_>,
        scratch: &mut Scratch,
        block: &mut BlockScratch,
        ranks: &mut Vec<u32>,
    ) {
        ask(&[Member { matcher, prepared: self }], self.floating.as_ref(), isa, targets, scratch, block, std::slice::from_mut(ranks));
    }
}

impl Together {
    /// Of members that [join](Prepared::joins), in this order.
    pub(crate) fn new(members: &[Member<'_, '_>]) -> Option<Together> {
        let rules: Vec<&[Rule]> = members.iter().map(|member| &member.prepared.rules[..]).collect();
        Floating::new(members.first()?.matcher.rules.form, &rules).map(Together)
    }

    /// Asks those members about `targets`; an answer each.
    pub(crate) fn ask(
        &self,
        members: &[Member<'_, '_>],
        isa: Isa,
        targets: Targets<'_>,
        scratch: &mut Scratch,
        block: &mut BlockScratch,
        answers: &mut [Answers],
    ) {
        ask(members, Some(&self.0), isa, targets, scratch, block, answers);
    }
}

fn ask<O: Out>(
    members: &[Member<'_, '_>],
    floating: Option<&Floating>,
    isa: Isa,
    targets: Targets<'_>,
    scratch: &mut Scratch,
    block: &mut BlockScratch,
    outs: &mut [O],
) {
    outs.iter_mut().for_each(O::clear);
    isa.run(Ask { members, floating, targets, scratch, block, outs });
}

/// What stands for a rank that the octets can not tell.
pub(crate) const NO_RANK: u32 = u32::MAX;

struct Ask<'a, 'p, O> {
    members: &'a [Member<'a, 'p>],
    floating: Option<&'a Floating>,
    targets: Targets<'a>,
    scratch: &'a mut Scratch,
    block: &'a mut BlockScratch,
    outs: &'a mut [O],
}

/// What is wanted of rows: verdicts, or ranks.
trait Out {
    fn clear(&mut self);

    /// Takes the states in which the walks of at most [`CHUNK`] rows ended, of which the first `rows` count.
    fn take<V: Vector, S: StateId>(&mut self, vector: V, automaton: &Automaton<S>, states: &[S; CHUNK], rows: usize);

    /// Takes the state of one row again.
    fn put<S: StateId>(&mut self, row: usize, automaton: &Automaton<S>, state: S);

    /// Asks about one row.
    fn ask(&mut self, row: usize, matcher: &Matcher<'_>, raw: &[u8], scratch: &mut Scratch);
}

impl Out for Answers {
    fn clear(&mut self) {
        self.allow.clear();
        self.corrupt.clear();
    }

    #[inline(always)]
    fn take<V: Vector, S: StateId>(&mut self, vector: V, _: &Automaton<S>, states: &[S; CHUNK], rows: usize) {
        for states in states[..rows.next_multiple_of(64)].as_chunks::<64>().0 {
            self.allow.push(!vector.odd(&states.map(S::low)));
        }
        if !rows.is_multiple_of(64) {
            *self.allow.last_mut().expect("a word for the last rows") &= u64::MAX >> (64 - rows % 64);
        }
    }

    #[inline(always)]
    fn put<S: StateId>(&mut self, row: usize, _: &Automaton<S>, state: S) {
        self.set(row, state.low().is_multiple_of(2));
    }

    fn ask(&mut self, row: usize, matcher: &Matcher<'_>, raw: &[u8], scratch: &mut Scratch) {
        let answer = matcher.allows(raw, scratch);
        self.set(row, answer == Ok(true));
        if answer.is_err() && !self.corrupt.contains(&(row as u32)) {
            self.corrupt.push(row as u32);
        }
    }
}

impl Out for Vec<u32> {
    fn clear(&mut self) {
        Vec::clear(self);
    }

    #[inline(always)]
    fn take<V: Vector, S: StateId>(&mut self, _: V, automaton: &Automaton<S>, states: &[S; CHUNK], rows: usize) {
        self.extend(states[..rows].iter().map(|&state| automaton.level(state)));
    }

    #[inline(always)]
    fn put<S: StateId>(&mut self, row: usize, automaton: &Automaton<S>, state: S) {
        self[row] = automaton.level(state);
    }

    fn ask(&mut self, row: usize, matcher: &Matcher<'_>, raw: &[u8], scratch: &mut Scratch) {
        self[row] = matcher.rank(raw, scratch).unwrap_or(NO_RANK);
    }
}

impl<O: Out> Task for Ask<'_, '_, O> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(mut self, vector: V) {
        match self.members {
            [Member { prepared: Prepared { kernel: Kernel::Wide(_), .. }, .. }] => {
                let mut states = std::mem::take(&mut self.block.wide);
                self.decide(vector, &mut states);
                self.block.wide = states;
            }
            _ => {
                let mut states = std::mem::take(&mut self.block.narrow);
                self.decide(vector, &mut states);
                self.block.narrow = states;
            }
        }
    }
}

impl<O: Out> Ask<'_, '_, O> {
    /// Decides the rows as they stand for all members, then for each member the canonical copies of those that it could not decide so.
    #[inline(always)]
    fn decide<V: Vector, S: StateId>(&mut self, vector: V, states: &mut Vec<[S; CHUNK]>)
    where
        Kernel: Of<S>,
    {
        let Ask { members, floating, targets, scratch, block, outs } = self;
        let BlockScratch { lists, hits, one_by_one, copies, .. } = &mut **block;
        one_by_one.resize_with(one_by_one.len().max(members.len()), Vec::new);
        copies.resize_with(copies.len().max(members.len()), Copies::default);
        copies.iter_mut().for_each(Copies::clear);
        for pass in 0..=members.len() {
            let index = pass.saturating_sub(1);
            let mut copied = if pass > 0 { std::mem::take(&mut copies[index]) } else { Copies::default() };
            copied.end();
            let (asked, floating, all) = match pass {
                0 => (*members, *floating, *targets),
                _ => (&members[index..=index], members[index].prepared.floating.as_ref(), copied.targets()),
            };
            let mut first = 0;
            for (starts, ends) in all.starts.chunks(CHUNK).zip(all.ends.chunks(CHUNK)) {
                let one_by_one = &mut one_by_one[..asked.len()];
                let chunk = Targets { starts, ends, ..all };
                Chunk { members: asked, floating, targets: chunk, hits, one_by_one }.decide(vector, states, lists);
                for (at, member) in (index..).zip(asked) {
                    let (out, states, rows) = (&mut outs[at], &states[at - index], &one_by_one[at - index]);
                    let automaton = member.prepared.kernel.automaton();
                    if pass == 0 {
                        out.take(vector, automaton, states, starts.len());
                    } else {
                        copied.rows[first..]
                            .iter()
                            .zip(&states[..starts.len()])
                            .for_each(|(&row, &state)| out.put(row as usize, automaton, state));
                    }
                    for row in rows.iter().map(|&row| first + usize::from(row)) {
                        let row = if pass == 0 { row } else { copied.rows[row] as usize };
                        let raw = targets.raw(row);
                        if pass > 0 || !member.copies(row, raw, &mut copies[at], scratch) {
                            out.ask(row, member.matcher, raw, scratch);
                        }
                    }
                }
                first += starts.len();
            }
            if pass > 0 {
                copies[index] = copied;
            }
        }
    }
}

/// At most [`CHUNK`] rows.
struct Chunk<'a, 'p> {
    members: &'a [Member<'a, 'p>],
    floating: Option<&'a Floating>,
    targets: Targets<'a>,
    hits: &'a mut Hits,
    /// Rows that are asked one by one, a list a member.
    one_by_one: &'a mut [Vec<u16>],
}

impl Chunk<'_, '_> {
    #[inline(always)]
    fn decide<V: Vector, S: StateId>(&mut self, vector: V, states: &mut Vec<[S; CHUNK]>, lists: &mut Lists)
    where
        Kernel: Of<S>,
    {
        states.resize_with(states.len().max(self.members.len()), || [S::default(); CHUNK]);
        let states = &mut states[..self.members.len()];
        let Targets { octets, starts, ends } = self.targets;
        // Rows too near the end of the octets are asked one by one.
        let walked = ends.partition_point(|&end| end as usize + MARGIN <= octets.len());
        for ((member, states), one_by_one) in self.members.iter().zip(&mut *states).zip(&mut *self.one_by_one) {
            let automaton = member.prepared.kernel.automaton();
            walk(vector, automaton, octets, &starts[..walked], states, lists);
            states[walked..starts.len()].fill(automaton.slow);
            one_by_one.clear();
            let is_slow = |&(_, state): &(usize, &S)| *state == automaton.slow;
            one_by_one.extend(states[..starts.len()].iter().enumerate().filter(is_slow).map(|(row, _)| row as u16));
            let form = member.matcher.rules.form;
            if form.exempts_as_written() {
                let is_exempt = |&row: &usize| form.is_exempt_as_written(self.targets.raw(row));
                one_by_one.extend((0..walked).filter(is_exempt).map(|row| row as u16));
            }
        }
        if let Some(floating) = self.floating {
            let targets = Targets { octets, starts: &starts[..walked], ends: &ends[..walked] };
            floating.raise(vector, &targets, states, self.hits, self.one_by_one);
        }
    }
}

impl Member<'_, '_> {
    /// Adds the canonical copy of a row, if the automaton can read it.
    fn copies(&self, row: usize, raw: &[u8], copies: &mut Copies, scratch: &mut Scratch) -> bool {
        let Some(stand_in) = self.prepared.stand_in else { return false };
        copies.add(row as u32, raw, self.matcher.rules.form, stand_in, &mut scratch.canonical)
    }
}

/// An octet that may stand for the `%` of canonical targets: none of the rules names either of them, so none can tell.
fn stand_in(matcher: &Matcher<'_>) -> Option<u8> {
    let form = matcher.rules.form;
    if form.exempts_as_written() {
        return None;
    }
    let mut named = [false; 256];
    matcher.trie.labels.iter().for_each(|&octet| named[usize::from(octet)] = true);
    if let Some(segments) = &matcher.segments {
        for state in 0..segments.count(segments::STATE_COUNT) {
            named[usize::from(segments.octet_into(state)?)] = true;
        }
        for sequence in 0..segments.count(segments::SEQUENCE_COUNT) {
            let sequence = segments.sequence(sequence)?;
            for index in 0..sequence.child_count {
                match segments.step(&sequence, index)?.0 {
                    Step::Octet(octet) => named[usize::from(octet)] = true,
                    Step::Run(octets) => octets.iter().for_each(|&octet| named[usize::from(octet)] = true),
                    Step::Segment(_) => {}
                }
            }
        }
    }
    let is_free = |&octet: &u8| !named[usize::from(octet)] && !form.not_identity().contains(octet) && octet != b'#';
    (b'!'..=b'~').find(is_free).filter(|_| !named[usize::from(b'%')])
}
