//! Many targets at once: the matcher's other way in, for rows of one place that lie in one block of octets.
//!
//! ```text
//!   rows ──▶ walk (waves) ──▶ parity of the state ──▶ bits
//!              │ slow                  ▲
//!              ├──▶ one by one ────────┤
//!              └──▶ floating: fingerprints over the block ──▶ hits ──▶ levels raised
//! ```

use super::floating::{Floating, Hits};
use super::kernel::{Automaton, Kernel, StateId};
use super::waves::{CHUNK, Lists, MARGIN, walk};
use super::{Matcher, Scratch};
use crate::engine::program::{Corrupt, Detail};
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
    floating: Option<Floating>,
}

/// Buffers for many rows at once.
#[derive(Debug)]
pub(crate) struct BlockScratch {
    narrow: Box<[u16; CHUNK]>,
    wide: Box<[u32; CHUNK]>,
    lists: Lists,
    hits: Hits,
    one_by_one: Vec<u16>,
}

impl Default for BlockScratch {
    fn default() -> BlockScratch {
        BlockScratch {
            narrow: Box::new([0; CHUNK]),
            wide: Box::new([0; CHUNK]),
            lists: Lists::default(),
            hits: Hits::default(),
            one_by_one: Vec::new(),
        }
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
        let kernel = Kernel::new(matcher.dfa.as_ref()?, level_of)?;
        let floating = match matcher.rules.block.floating_max {
            0 => None,
            _ => Some(Floating::new(matcher, level_of_rank)?),
        };
        Some(Prepared { kernel, floating })
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
        self.kernel.octet_len()
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
        answers.allow.clear();
        answers.corrupt.clear();
        isa.run(Ask { prepared: self, matcher, targets, scratch, block, out: answers });
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
        ranks.clear();
        isa.run(Ask { prepared: self, matcher, targets, scratch, block, out: ranks });
    }
}

/// What stands for a rank that the octets can not tell.
pub(crate) const NO_RANK: u32 = u32::MAX;

struct Ask<'a, 'p, O> {
    prepared: &'a Prepared,
    matcher: &'a Matcher<'p>,
    targets: Targets<'a>,
    scratch: &'a mut Scratch,
    block: &'a mut BlockScratch,
    out: &'a mut O,
}

/// What is wanted of rows: verdicts, or ranks.
trait Out {
    /// Takes the states in which the walks of at most [`CHUNK`] rows ended, [`CHUNK`] of them, of which the first `rows` count.
    fn take<V: Vector, S: StateId>(&mut self, vector: V, automaton: &Automaton<S>, states: &[S; CHUNK], rows: usize);

    /// A floating rule gives a row another level.
    fn raise(&mut self, row: usize, level: u32);

    /// Asks about one row.
    fn ask(&mut self, row: usize, matcher: &Matcher<'_>, raw: &[u8], scratch: &mut Scratch);
}

impl Out for Answers {
    #[inline(always)]
    fn take<V: Vector, S: StateId>(&mut self, vector: V, _: &Automaton<S>, states: &[S; CHUNK], rows: usize) {
        for states in states[..rows.next_multiple_of(64)].as_chunks::<64>().0 {
            self.allow.push(!vector.odd(&states.map(S::low)));
        }
        if rows % 64 > 0 {
            *self.allow.last_mut().expect("a word for the last rows") &= u64::MAX >> (64 - rows % 64);
        }
    }

    #[inline(always)]
    fn raise(&mut self, row: usize, level: u32) {
        self.set(row, level.is_multiple_of(2));
    }

    fn ask(&mut self, row: usize, matcher: &Matcher<'_>, raw: &[u8], scratch: &mut Scratch) {
        let answer = matcher.allows(raw, scratch);
        self.set(row, answer == Ok(true));
        if answer.is_err() {
            self.corrupt.push(row as u32);
        }
    }
}

impl Out for Vec<u32> {
    #[inline(always)]
    fn take<V: Vector, S: StateId>(&mut self, _: V, automaton: &Automaton<S>, states: &[S; CHUNK], rows: usize) {
        self.extend(states[..rows].iter().map(|&state| automaton.level(state)));
    }

    #[inline(always)]
    fn raise(&mut self, row: usize, level: u32) {
        self[row] = level;
    }

    fn ask(&mut self, row: usize, matcher: &Matcher<'_>, raw: &[u8], scratch: &mut Scratch) {
        self[row] = matcher.rank(raw, scratch).unwrap_or(NO_RANK);
    }
}

impl<O: Out> Task for Ask<'_, '_, O> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let Ask { prepared, matcher, targets, scratch, block, out } = self;
        let BlockScratch { narrow, wide, lists, hits, one_by_one } = block;
        let mut first = 0;
        for (starts, ends) in targets.starts.chunks(CHUNK).zip(targets.ends.chunks(CHUNK)) {
            let targets = Targets { starts, ends, ..targets };
            let mut chunk = Chunk { form: matcher.rules.form, floating: prepared.floating.as_ref(), targets, first, hits, one_by_one };
            match &prepared.kernel {
                Kernel::Narrow(automaton) => chunk.decide(vector, automaton, narrow, lists, out),
                Kernel::Wide(automaton) => chunk.decide(vector, automaton, wide, lists, out),
            }
            for &row in one_by_one.iter() {
                out.ask(first + usize::from(row), matcher, targets.raw(usize::from(row)), scratch);
            }
            first += starts.len();
        }
    }
}

/// At most [`CHUNK`] rows.
struct Chunk<'a> {
    form: &'static TargetForm,
    floating: Option<&'a Floating>,
    targets: Targets<'a>,
    /// The number of the first row among all.
    first: usize,
    hits: &'a mut Hits,
    one_by_one: &'a mut Vec<u16>,
}

impl Chunk<'_> {
    #[inline(always)]
    fn decide<V: Vector, S: StateId>(
        &mut self,
        vector: V,
        automaton: &Automaton<S>,
        states: &mut [S; CHUNK],
        lists: &mut Lists,
        out: &mut impl Out,
    ) {
        let Targets { octets, starts, ends } = self.targets;
        // Rows too near the end of the octets are asked one by one.
        let walked = ends.partition_point(|&end| end as usize + MARGIN <= octets.len());
        walk(vector, automaton, octets, &starts[..walked], states, lists);
        states[walked..starts.len()].fill(automaton.slow);
        self.one_by_one.clear();
        for (row, &state) in states[..starts.len()].iter().enumerate() {
            if state == automaton.slow {
                self.one_by_one.push(row as u16);
            }
        }
        if self.form.exempts_as_written() {
            let is_exempt = |&row: &usize| self.form.is_exempt_as_written(self.targets.raw(row));
            self.one_by_one.extend((0..walked).filter(is_exempt).map(|row| row as u16));
        }
        out.take(vector, automaton, states, starts.len());
        if let Some(floating) = self.floating {
            let levels = |row: usize| if states[row] < automaton.slow { automaton.level(states[row]) } else { u32::MAX };
            let targets = Targets { octets, starts: &starts[..walked], ends: &ends[..walked] };
            let first = self.first;
            floating.raise(vector, &targets, levels, self.hits, |row, level| out.raise(first + row, level), self.one_by_one);
        }
    }
}
