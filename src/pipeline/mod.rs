//! How rows flow: a source gives batches, threads decide them, a sink gets them in order.
//!
//! ```text
//!  source ──▶ batch ──▶ ┌ worker ┐ ──▶ decided batch ──▶ sink
//!    │        batch ──▶ │ worker │ ──▶ decided batch       │  in the order of the rows,
//!    ▼        batch ──▶ └ worker ┘ ──▶ decided batch       ▼  whichever worker was first
//!  map or stream      at most two in flight a thread     bitmaps, decisions, tallies
//! ```
//!
//! Rows are borrowed from the mapped file, or from the batch's own buffer where the input is a stream. Consecutive rows of one origin share one
//! look-up. All agents are answered in one pass, and agents with the same rules cost one evaluation. Memory is bounded by the batches in
//! flight (and by the longest row), whatever the length of the input.

mod batch;
mod cut;
mod evaluate;
mod fallback;
mod place;
mod prefix;
mod prepare;
mod rows;
mod run;
mod spots;
mod tally;
mod usage;
mod worker;

use std::borrow::Cow;
use std::ops::Range;
use std::{io, mem};

use crate::engine::scan::Isa;
use crate::protocol::decision::{Decision, Verdict};
use crate::store::{RuleTable, Snapshot, Store};

pub use batch::{Batch, Carried, Unit, Values};
use batch::{Content, gather};
pub use evaluate::{Asked, Blocks, Evaluator, Reading};
pub use fallback::{Fallback, Lent};
use rows::Rows;
pub use run::{RunError, run};
pub use tally::{Summary, Tally, UsageTally};
pub use usage::{AskedUsage, UsageColumn};
pub use worker::Worker;

/// How many rows `source` has, found as [`run`] finds them, and nothing else: the least that any evaluation of the source takes.
///
/// # Errors
///
/// When the input can not be read.
pub fn count_rows<'s>(source: &mut dyn Source<'s>, isa: Isa) -> io::Result<u64> {
    let mut rows = Rows::default();
    let mut count = 0;
    while let Some(batch) = source.next_batch()? {
        match batch.content {
            Content::Lines(octets) => rows.set_lines(&octets, isa),
            Content::Ranges(_, ranges) => rows.set_ranges(ranges),
            Content::Values(values) => {
                count += values.row_count() as u64;
                continue;
            }
            Content::Unit(mut unit) => {
                count += count_rows(&mut Parts(&mut *unit), isa)?;
                continue;
            }
        }
        count += rows.len() as u64;
    }
    Ok(count)
}

/// The parts of a unit as a source.
struct Parts<'u, 's>(&'u mut (dyn Unit<'s> + 's));

impl<'s> Source<'s> for Parts<'_, 's> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        self.0.next_part()
    }
}

/// Where rows come from.
pub trait Source<'s> {
    /// The next batch; `None` at the end.
    ///
    /// # Errors
    ///
    /// When the input can not be read.
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>>;

    /// How many batches may be in flight a thread: where one holds much, fewer.
    fn in_flight(&self) -> usize {
        2 // one that is decided, and one that waits so that nobody else has to
    }

    /// Takes back the octets of a batch that is done with, if they were its own: a source that reads may read into them again. Nobody has to.
    fn recycle(&mut self, octets: Vec<u8>) {
        drop(octets);
    }
}

/// Where decided rows go, in order.
pub trait Sink {
    /// Whether the sink wants whole [`Decision`]s, with reasons and rules, and not bitmaps alone.
    fn wants_decisions(&self) -> bool {
        false
    }

    /// Whether the sink wants the rows themselves, and not answers alone: what is decided in a [`Unit`] is then kept until the sink takes it.
    fn wants_rows(&self) -> bool {
        true
    }

    /// Takes a batch.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()>;
}

/// A sink that keeps nothing: the summary is all that is asked for.
#[derive(Debug, Default, Clone, Copy)]
pub struct Discard;

impl Sink for Discard {
    fn wants_rows(&self) -> bool {
        false
    }

    fn write(&mut self, _: &Decided<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// One bit a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    /// No bit set, for so many rows.
    pub fn zeros(len: usize) -> Bits {
        Bits { words: vec![0; len.div_ceil(64)], len }
    }

    /// So many bits, in words of 64, the first lowest; those behind the last are 0.
    pub(crate) fn from_words(words: Vec<u64>, len: usize) -> Bits {
        debug_assert!(words.len() == len.div_ceil(64));
        Bits { words, len }
    }

    fn reset(&mut self, len: usize) {
        self.words.clear();
        self.words.resize(len.div_ceil(64), 0);
        self.len = len;
    }

    /// Sets the bit of a row that was not set. There must be such a row.
    #[inline]
    pub fn set(&mut self, row: usize, bit: bool) {
        debug_assert!(row < self.len, "row {row} of {}", self.len);
        self.words[row / 64] |= u64::from(bit) << (row % 64);
    }

    /// Sets the bits of `count` rows from `first` on.
    #[inline]
    fn set_range(&mut self, first: usize, count: usize) {
        let (mut at, mut from, mut rest) = (first / 64, first % 64, count);
        while rest > 0 {
            let bits = rest.min(64 - from);
            self.words[at] |= u64::MAX >> (64 - bits) << from;
            (at, from, rest) = (at + 1, 0, rest - bits);
        }
    }

    /// Takes a bit back.
    pub(crate) fn clear(&mut self, row: usize) {
        self.words[row / 64] &= !(1 << (row % 64));
    }

    /// Sets bits by words, of which the first begins with row `first`; bits behind the last row must be 0.
    fn set_words(&mut self, first: usize, words: impl Iterator<Item = u64>) {
        let (at, shift) = (first / 64, first % 64);
        for (index, word) in words.enumerate() {
            self.words[at + index] |= word << shift;
            if shift > 0 && word >> (64 - shift) != 0 {
                self.words[at + index + 1] |= word >> (64 - shift);
            }
        }
    }

    /// The bit of a row.
    ///
    /// # Panics
    ///
    /// When there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> bool {
        assert!(row < self.len, "row {row} of {}", self.len);
        self.words[row / 64] >> (row % 64) & 1 == 1
    }

    /// The rows whose bits are set, in order.
    pub fn ones(&self) -> impl Iterator<Item = usize> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)))
                .take_while(|&word| word != 0)
                .map(move |word| index * 64 + word.trailing_zeros() as usize)
        })
    }

    /// How many bits are set.
    pub fn count_ones(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bits, 64 rows a word, the first row lowest; those behind the last row are 0.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

/// The answers for one agent.
#[derive(Debug, Clone, Default)]
pub struct Column {
    /// Rows that the agent may crawl. Never set where a row is unresolved.
    pub allow: Bits,
    /// Rows that have an answer.
    pub resolved: Bits,
}

impl Column {
    #[inline]
    pub(crate) fn set(&mut self, row: usize, verdict: Verdict) {
        self.allow.set(row, verdict == Verdict::Allow);
        self.resolved.set(row, verdict != Verdict::Unresolved);
    }

    /// Sets `count` rows from `first` on, of which none was set before.
    #[inline]
    fn set_range(&mut self, first: usize, count: usize, verdict: Verdict) {
        if verdict == Verdict::Allow {
            self.allow.set_range(first, count);
        }
        if verdict != Verdict::Unresolved {
            self.resolved.set_range(first, count);
        }
    }
}

/// Which group bound an agent in a run of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundBy<'s> {
    /// None, or none was asked.
    Nobody,
    /// The `*` groups.
    Star,
    /// Groups that name the agent's token of that index.
    Token(usize),
    /// Groups with this token, in lower case, which stands in the text the agent was given as.
    Contained(&'s [u8]),
}

/// Consecutive rows of one origin.
#[derive(Debug, Clone)]
pub struct Run<'s> {
    /// The rows.
    pub rows: Range<usize>,
    /// The snapshot that answered, one a reading.
    pub snapshots: Vec<Option<Snapshot<'s>>>,
    /// Which group bound the agent, one a column.
    pub bound_by: Vec<BoundBy<'s>>,
}

impl Run<'_> {
    /// The token by which groups bound the agent of a column, which has these tokens, or `*`; none where nobody did, or nobody was asked.
    pub fn group<'r>(&'r self, column: usize, tokens: &'r [String]) -> Option<&'r [u8]> {
        match self.bound_by[column] {
            BoundBy::Nobody => None,
            BoundBy::Star => Some(b"*"),
            BoundBy::Contained(token) => Some(token),
            BoundBy::Token(token) => Some(tokens[token].as_bytes()),
        }
    }

    /// The lines and texts of the rules that answered in a reading of `store`; `None` where there are none, or they are damaged.
    pub fn rule_table<'s>(&self, reading: usize, store: &'s Store) -> Option<RuleTable<'s>> {
        store.rule_table(self.snapshots[reading].as_ref().filter(|snapshot| snapshot.program_index().is_some())?).ok()
    }
}

/// A batch and its answers.
#[derive(Debug, Default)]
pub struct Decided<'s> {
    octets: Cow<'s, [u8]>,
    rows: Rows,
    values: Option<Box<dyn Values + 's>>,
    file: u32,
    first_row: u64,
    columns: Vec<Column>,
    usages: Vec<UsageColumn>,
    /// Row by row, who has lent the policy; empty where nobody may.
    lent: Vec<u8>,
    /// Row by row, one decision a column; empty unless asked for.
    decisions: Vec<Decision>,
    /// Empty unless decisions were asked for.
    runs: Vec<Run<'s>>,
    summary: Summary,
}

impl<'s> Decided<'s> {
    /// Takes the rows of a batch that is no unit.
    fn take(&mut self, batch: Batch<'s>, isa: Isa) {
        self.file = batch.file;
        self.values = None;
        match batch.content {
            Content::Lines(octets) => {
                self.rows.set_lines(&octets, isa);
                self.octets = octets;
            }
            Content::Ranges(octets, ranges) => {
                self.rows.set_ranges(ranges);
                self.octets = octets;
            }
            Content::Values(values) => {
                let mut octets = match mem::take(&mut self.octets) {
                    Cow::Owned(octets) => octets,
                    Cow::Borrowed(_) => Vec::new(),
                };
                gather(&*values, isa, &mut octets, &mut self.rows);
                self.octets = Cow::Owned(octets);
                self.values = Some(values);
            }
            Content::Unit(_) => panic!("a unit is decided part by part"),
        }
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// The number of the input that the rows belong to, as the source gave it.
    pub fn file(&self) -> u32 {
        self.file
    }

    /// What the rows came in, where they are values of a column.
    pub fn values(&self) -> Option<&(dyn Values + 's)> {
        self.values.as_deref()
    }

    /// The number of the first row in its input, from 0.
    pub fn first_row(&self) -> u64 {
        self.first_row
    }

    /// A row as it came, without its line end.
    ///
    /// # Panics
    ///
    /// When there is no such row, or it is that of a [`Unit`] and the sink did not want rows.
    #[inline]
    pub fn row(&self, row: usize) -> &[u8] {
        match &self.values {
            Some(values) => values.value(row),
            None => &self.octets[self.rows.range(&self.octets, row)],
        }
    }

    /// A row of a list as it came, with its line end if it had one; of a text of another kind the whole record.
    #[inline]
    pub fn line(&self, row: usize) -> &[u8] {
        if let Some(values) = &self.values {
            return values.record(row);
        }
        let Range { start, end } = self.rows.range(&self.octets, row);
        let line_end = match self.octets[end..] {
            [b'\r', b'\n', ..] => 2,
            [b'\n' | b'\r', ..] => 1,
            _ => 0,
        };
        &self.octets[start..end + line_end]
    }

    /// The answers, one column an agent (and reading, where there are several).
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// What is stated about uses, in the order of [`Evaluator::usages`].
    pub fn usages(&self) -> &[UsageColumn] {
        &self.usages
    }

    /// Which origin has lent its policy for a row (see [`Evaluator::with_fallback`]); with several readings, in the first.
    pub fn lent(&self, row: usize) -> Option<Lent> {
        self.lent.get(row).and_then(|&number| Lent::of_number(number))
    }

    /// The verdict for a row and a column.
    pub fn verdict(&self, row: usize, column: usize) -> Verdict {
        let column = &self.columns[column];
        match (column.resolved.get(row), column.allow.get(row)) {
            (false, _) => Verdict::Unresolved,
            (true, true) => Verdict::Allow,
            (true, false) => Verdict::Disallow,
        }
    }

    /// The decisions for a row, one a column.
    ///
    /// # Panics
    ///
    /// When the sink did not ask for decisions.
    pub fn decisions(&self, row: usize) -> &[Decision] {
        let column_count = self.columns.len();
        &self.decisions[row * column_count..(row + 1) * column_count]
    }

    /// The runs of rows of one origin, in order; none unless the sink asked for decisions.
    pub fn runs(&self) -> &[Run<'s>] {
        &self.runs
    }

    /// What was counted in this batch.
    pub fn summary(&self) -> &Summary {
        &self.summary
    }
}
