//! The rows that may be crawled, as they came.

use std::fmt;
use std::io::{self, Write};

use crate::pipeline::{Bits, Column, Decided, Sink};
use crate::protocol::decision::{Reason, Verdict};
use crate::protocol::usage::Preference;

/// Which of the agents have to be allowed a row for it to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Require {
    /// Every one: a row that one of them may not crawl is left out, and one that is undecided for some and disallowed for none is undecided.
    #[default]
    All,
    /// At least one: a row that one of them may crawl passes, and one that is undecided for some and allowed for none is undecided.
    Any,
}

/// Where rows go, in the form that they came in.
pub trait RowWriter {
    /// Whether the writer takes rows from what was decided, or has them from elsewhere by their number.
    fn wants_rows(&self) -> bool {
        true
    }

    /// Writes those rows of a batch whose bit is set.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    fn write_rows(&mut self, decided: &Decided<'_>, rows: &Bits) -> io::Result<()>;

    /// Writes out what is still buffered, and what belongs at the end.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    fn finish(&mut self) -> io::Result<()>;
}

impl<R: RowWriter + ?Sized> RowWriter for Box<R> {
    fn wants_rows(&self) -> bool {
        (**self).wants_rows()
    }

    fn write_rows(&mut self, decided: &Decided<'_>, rows: &Bits) -> io::Result<()> {
        (**self).write_rows(decided, rows)
    }

    fn finish(&mut self) -> io::Result<()> {
        (**self).finish()
    }
}

/// What decides about rows instead of their own verdicts.
pub trait Scope {
    /// The verdict that counts for a row and a column.
    fn verdict(&mut self, decided: &Decided<'_>, row: usize, column: usize) -> Verdict;
}

/// What happens to rows without an answer.
pub enum Undecided<'w> {
    /// They are left out.
    Drop,
    /// They are kept.
    Keep,
    /// The first of them ends the run.
    Error,
    /// They go there.
    Write(Box<dyn RowWriter + 'w>),
}

/// Writes the rows that the agents may crawl as they came.
///
/// A row for which a use that was asked about is unwanted (`n`) for one of the agents is left out as well.
pub struct Filter<'w> {
    out: Box<dyn RowWriter + 'w>,
    require: Require,
    undecided: Undecided<'w>,
    scope: Option<Box<dyn Scope + 'w>>,
    kept: u64,
    undecided_count: u64,
    opted_out: u64,
}

impl<'w> Filter<'w> {
    /// A filter that writes to `out`.
    pub fn new(out: impl RowWriter + 'w, require: Require, undecided: Undecided<'w>) -> Filter<'w> {
        Filter { out: Box::new(out), require, undecided, scope: None, kept: 0, undecided_count: 0, opted_out: 0 }
    }

    /// Lets `scope` decide instead of the verdicts on the rows.
    pub fn with_scope(self, scope: impl Scope + 'w) -> Filter<'w> {
        Filter { scope: Some(Box::new(scope)), ..self }
    }

    /// Rows written.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Rows without an answer.
    pub fn undecided(&self) -> u64 {
        self.undecided_count
    }

    /// Rows that their verdicts let pass and that are left out all the same, because a use that was asked about is unwanted.
    pub fn opted_out(&self) -> u64 {
        self.opted_out
    }

    /// Writes out what is still buffered.
    ///
    /// # Errors
    ///
    /// When the outputs can not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.finish()?;
        match &mut self.undecided {
            Undecided::Write(out) => out.finish(),
            Undecided::Drop | Undecided::Keep | Undecided::Error => Ok(()),
        }
    }

    /// The rows that pass by their verdicts, and those that have no answer.
    fn choose(&mut self, decided: &Decided<'_>) -> (Bits, Bits) {
        let rows = decided.row_count();
        let scoped: Option<Vec<Column>> = self.scope.as_mut().map(|scope| scoped(&mut **scope, decided));
        let columns = scoped.as_deref().unwrap_or(decided.columns());
        let (mut passing, mut undecided) = (Vec::new(), Vec::new());
        for word in 0..rows.div_ceil(64) {
            let valid = u64::MAX >> (64 - (rows - word * 64).min(64));
            let (mut all, mut any, mut disallowed, mut unresolved) = (valid, 0, 0, 0);
            for column in columns {
                let (allow, resolved) = (column.allow.words()[word], column.resolved.words()[word]);
                all &= allow;
                any |= allow;
                disallowed |= resolved & !allow;
                unresolved |= valid & !resolved;
            }
            let (pass, decided) = match self.require {
                Require::All => (all, disallowed),
                Require::Any => (any, any),
            };
            passing.push(pass);
            undecided.push(unresolved & !decided);
        }
        (Bits::from_words(passing, rows), Bits::from_words(undecided, rows))
    }

    /// Takes the rows out for which a use that was asked about is unwanted.
    fn opt_out(&mut self, decided: &Decided<'_>, passing: &mut Bits, undecided: &mut Bits) {
        for row in 0..decided.row_count() {
            let is_left = passing.get(row) || undecided.get(row);
            if is_left && decided.usages().iter().any(|column| column.preference(row) == Some(Preference::No)) {
                self.opted_out += 1;
                passing.clear(row);
                undecided.clear(row);
            }
        }
    }
}

/// The verdicts that a scope has instead of those on the rows.
fn scoped(scope: &mut dyn Scope, decided: &Decided<'_>) -> Vec<Column> {
    let rows = decided.row_count();
    let mut columns = vec![Column { allow: Bits::zeros(rows), resolved: Bits::zeros(rows) }; decided.columns().len()];
    for row in 0..rows {
        for (index, column) in columns.iter_mut().enumerate() {
            column.set(row, scope.verdict(decided, row, index));
        }
    }
    columns
}

impl Sink for Filter<'_> {
    fn wants_decisions(&self) -> bool {
        matches!(self.undecided, Undecided::Error) // which says why
    }

    fn wants_rows(&self) -> bool {
        self.out.wants_rows()
            || self.scope.is_some()
            || match &self.undecided {
                Undecided::Drop | Undecided::Keep => false,
                Undecided::Error => true,
                Undecided::Write(out) => out.wants_rows(),
            }
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let (mut kept, mut undecided) = self.choose(decided);
        if !decided.usages().is_empty() {
            self.opt_out(decided, &mut kept, &mut undecided);
        }
        self.undecided_count += undecided.count_ones();
        match &self.undecided {
            Undecided::Drop | Undecided::Write(_) => {}
            Undecided::Error => undecided.ones().next().map_or(Ok(()), |row| Err(no_answer(decided, row)))?,
            Undecided::Keep => undecided.ones().for_each(|row| kept.set(row, true)),
        }
        self.kept += kept.count_ones();
        self.out.write_rows(decided, &kept)?;
        match &mut self.undecided {
            Undecided::Write(out) => out.write_rows(decided, &undecided),
            Undecided::Drop | Undecided::Keep | Undecided::Error => Ok(()),
        }
    }
}

/// Writes rows of a text octet for octet, with their line ends.
#[derive(Debug)]
pub struct LineWriter<W>(W);

impl<W: Write> LineWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> LineWriter<W> {
        LineWriter(out)
    }
}

impl<W: Write> RowWriter for LineWriter<W> {
    fn write_rows(&mut self, decided: &Decided<'_>, rows: &Bits) -> io::Result<()> {
        for row in rows.ones() {
            let line = decided.line(row);
            self.0.write_all(line)?;
            // A last line without its end gets one, so that no two rows ever become one.
            if !line.ends_with(b"\n") {
                self.0.write_all(b"\n")?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The row without an answer that ended a run, as [`Undecided::Error`] asks.
#[derive(Debug)]
pub struct NoAnswer {
    /// The number of its input, as the source gave it.
    pub file: u32,
    /// Of the row, from 0.
    number: u64,
    is_line: bool,
    reason: &'static str,
    row: String,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_line {
            true => write!(f, "line {} has no answer ({}): {}", self.number + 1, self.reason, self.row),
            false => write!(f, "row {} (from 0) has no answer ({}): {}", self.number, self.reason, self.row),
        }
    }
}

impl std::error::Error for NoAnswer {}

fn no_answer(decided: &Decided<'_>, row: usize) -> io::Error {
    let reason = decided.decisions(row).iter().find(|decision| decision.verdict == Verdict::Unresolved).map(|decision| decision.reason);
    io::Error::other(NoAnswer {
        file: decided.file(),
        number: decided.first_row() + row as u64,
        is_line: decided.values().is_none(),
        reason: reason.map_or("no policy of its domain", Reason::name),
        row: super::text::to_terminal_text(decided.row(row)).into_owned(),
    })
}
