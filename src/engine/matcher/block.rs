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
use crate::engine::program::Corrupt;
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

    /// Prepares a rule set; `None` if it is to be asked row by row.
    pub(crate) fn new(matcher: &Matcher<'_>) -> Option<Prepared> {
        let kernel = Kernel::new(matcher.dfa.as_ref()?, |value| matcher.level_of_value(value))?;
        let floating = match matcher.rules.block.floating_max {
            0 => None,
            _ => Some(Floating::new(matcher)?),
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
        isa.run(Ask { prepared: self, matcher, targets, scratch, block, answers });
    }
}

struct Ask<'a, 'p> {
    prepared: &'a Prepared,
    matcher: &'a Matcher<'p>,
    targets: Targets<'a>,
    scratch: &'a mut Scratch,
    block: &'a mut BlockScratch,
    answers: &'a mut Answers,
}

impl Task for Ask<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let Ask { prepared, matcher, targets, scratch, block, answers } = self;
        let BlockScratch { narrow, wide, lists, hits, one_by_one } = block;
        answers.allow.clear();
        answers.corrupt.clear();
        let mut first = 0;
        for (starts, ends) in targets.starts.chunks(CHUNK).zip(targets.ends.chunks(CHUNK)) {
            let targets = Targets { starts, ends, ..targets };
            let mut chunk = Chunk { matcher, floating: prepared.floating.as_ref(), targets, hits, one_by_one, answers };
            match &prepared.kernel {
                Kernel::Narrow(automaton) => chunk.decide(vector, automaton, narrow, lists),
                Kernel::Wide(automaton) => chunk.decide(vector, automaton, wide, lists),
            }
            chunk.decide_others(first, scratch);
            first += starts.len();
        }
    }
}

/// At most [`CHUNK`] rows.
struct Chunk<'a, 'p> {
    matcher: &'a Matcher<'p>,
    floating: Option<&'a Floating>,
    targets: Targets<'a>,
    hits: &'a mut Hits,
    one_by_one: &'a mut Vec<u16>,
    answers: &'a mut Answers,
}

impl Chunk<'_, '_> {
    #[inline(always)]
    fn decide<V: Vector, S: StateId>(&mut self, vector: V, automaton: &Automaton<S>, states: &mut [S; CHUNK], lists: &mut Lists) {
        let Targets { octets, starts, ends } = self.targets;
        let rows = starts.len();
        // Rows too near the end of the octets are asked one by one.
        let walked = ends.partition_point(|&end| end as usize + MARGIN <= octets.len());
        walk(vector, automaton, octets, &starts[..walked], states, lists);
        states[walked..rows].fill(automaton.slow);
        self.one_by_one.clear();
        for (row, &state) in states[..rows].iter().enumerate() {
            if state == automaton.slow {
                self.one_by_one.push(row as u16);
            }
        }
        if self.matcher.rules.form.exempts_as_written() {
            let is_exempt = |&row: &usize| self.matcher.rules.form.is_exempt_as_written(self.targets.raw(row));
            self.one_by_one.extend((0..walked).filter(is_exempt).map(|row| row as u16));
        }
        let first_word = self.answers.allow.len();
        for states in states[..rows.next_multiple_of(64)].as_chunks::<64>().0 {
            self.answers.allow.push(!vector.odd(&states.map(S::low)));
        }
        if let Some(floating) = self.floating {
            let levels = |row: usize| if states[row] < automaton.slow { automaton.level(states[row]) } else { u32::MAX };
            let targets = Targets { octets, starts: &starts[..walked], ends: &ends[..walked] };
            let words = &mut self.answers.allow[first_word..];
            floating.raise(vector, &targets, levels, self.hits, |row, level| set(words, row, level % 2 == 0), self.one_by_one);
        }
        if rows % 64 > 0 {
            *self.answers.allow.last_mut().expect("a word for the last rows") &= u64::MAX >> (64 - rows % 64);
        }
    }

    /// The rows that are asked one by one.
    fn decide_others(&mut self, first: usize, scratch: &mut Scratch) {
        for &row in self.one_by_one.iter() {
            let row = usize::from(row);
            match self.matcher.allows(self.targets.raw(row), scratch) {
                Ok(allows) => set(&mut self.answers.allow, first + row, allows),
                Err(Corrupt { .. }) => {
                    set(&mut self.answers.allow, first + row, false);
                    self.answers.corrupt.push((first + row) as u32);
                }
            }
        }
    }
}

#[inline(always)]
fn set(words: &mut [u64], row: usize, bit: bool) {
    let word = &mut words[row / 64];
    *word = *word & !(1 << (row % 64)) | u64::from(bit) << (row % 64);
}
