//! Many targets at once: the matcher's other way in, for rows of one place that lie in one block of octets.
//!
//! ```text
//!   rows ──▶ walk (waves) ──▶ parity of the state ──▶ bits
//!              │ slow                  ▲
//!              ├──▶ one by one ────────┤
//!              └──▶ floating: fingerprints over the block ──▶ hits ──▶ levels raised
//! ```

use super::floating::{Floating, Hits, Rule, floating_rules};
use super::kernel::{Automaton, Kernel, Of, StateId};
use super::waves::{CHUNK, Lists, MARGIN, walk};
use super::{Matcher, Scratch};
use crate::engine::program::{Corrupt, Detail};
use crate::engine::scan::{Isa, Task, Vector};

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
    wide: Vec<[u32; CHUNK]>,
    lists: Lists,
    hits: Hits,
    one_by_one: Vec<Vec<u16>>,
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
        Some(Prepared { kernel, rules, floating })
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

    fn ask(&mut self, row: usize, matcher: &Matcher<'_>, raw: &[u8], scratch: &mut Scratch) {
        self[row] = matcher.rank(raw, scratch).unwrap_or(NO_RANK);
    }
}

impl<O: Out> Task for Ask<'_, '_, O> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let Ask { members, floating, targets, scratch, block, outs } = self;
        let BlockScratch { narrow, wide, lists, hits, one_by_one } = block;
        one_by_one.resize_with(one_by_one.len().max(members.len()), Vec::new);
        let one_by_one = &mut one_by_one[..members.len()];
        let mut first = 0;
        for (starts, ends) in targets.starts.chunks(CHUNK).zip(targets.ends.chunks(CHUNK)) {
            let targets = Targets { starts, ends, ..targets };
            let mut chunk = Chunk { members, floating, targets, hits, one_by_one };
            match members {
                [Member { prepared: Prepared { kernel: Kernel::Wide(_), .. }, .. }] => chunk.decide(vector, wide, lists, outs),
                _ => chunk.decide(vector, narrow, lists, outs),
            }
            for ((member, out), rows) in members.iter().zip(&mut *outs).zip(&*one_by_one) {
                for &row in rows {
                    out.ask(first + usize::from(row), member.matcher, targets.raw(usize::from(row)), scratch);
                }
            }
            first += starts.len();
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
    fn decide<V: Vector, S: StateId>(&mut self, vector: V, states: &mut Vec<[S; CHUNK]>, lists: &mut Lists, outs: &mut [impl Out])
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
        for ((member, states), out) in self.members.iter().zip(states).zip(outs) {
            out.take(vector, member.prepared.kernel.automaton(), states, starts.len());
        }
    }
}
