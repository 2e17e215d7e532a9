//! The rows that may be crawled, as they came.

use std::fmt;
use std::io::{self, Write};

use crate::pipeline::{Decided, Sink};
use crate::protocol::decision::{Reason, Verdict};
use crate::protocol::usage::Preference;

/// What happens to rows without an answer.
pub enum Undecided<'w> {
    /// They are left out.
    Drop,
    /// They are kept.
    Keep,
    /// The first of them ends the run.
    Error,
    /// They go there.
    Write(Box<dyn Write + 'w>),
}

/// Writes the rows that every agent may crawl, octet for octet as they came, with their line ends.
///
/// A row that one of the agents may not crawl is left out, whatever the others; one that is undecided for some and disallowed for none is undecided.
/// A row for which a use that was asked about is unwanted (`n`) is left out as well.
pub struct Filter<'w> {
    out: Box<dyn Write + 'w>,
    undecided: Undecided<'w>,
    kept: u64,
    undecided_count: u64,
    opted_out: u64,
}

impl<'w> Filter<'w> {
    /// A filter that writes to `out`.
    pub fn new(out: impl Write + 'w, undecided: Undecided<'w>) -> Filter<'w> {
        Filter { out: Box::new(out), undecided, kept: 0, undecided_count: 0, opted_out: 0 }
    }

    /// Rows written.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Rows without an answer.
    pub fn undecided(&self) -> u64 {
        self.undecided_count
    }

    /// Rows disallowed for no agent and left out all the same, because a use that was asked about is unwanted.
    pub fn opted_out(&self) -> u64 {
        self.opted_out
    }

    /// Writes out what is still buffered.
    ///
    /// # Errors
    ///
    /// When the outputs can not be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        match &mut self.undecided {
            Undecided::Write(out) => out.flush(),
            Undecided::Drop | Undecided::Keep | Undecided::Error => Ok(()),
        }
    }
}

impl Sink for Filter<'_> {
    fn wants_decisions(&self) -> bool {
        matches!(self.undecided, Undecided::Error) // which says why
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for row in 0..decided.row_count() {
            match verdict_of_all(decided, row) {
                Verdict::Disallow => {}
                _ if is_opted_out(decided, row) => self.opted_out += 1,
                Verdict::Allow => {
                    self.kept += 1;
                    write_line(&mut self.out, decided.line(row))?;
                }
                Verdict::Unresolved => {
                    self.undecided_count += 1;
                    match &mut self.undecided {
                        Undecided::Drop => {}
                        Undecided::Error => return Err(no_answer(decided, row)),
                        Undecided::Keep => {
                            self.kept += 1;
                            write_line(&mut self.out, decided.line(row))?;
                        }
                        Undecided::Write(out) => write_line(out, decided.line(row))?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// The row without an answer that ended a run, as [`Undecided::Error`] asks.
#[derive(Debug)]
pub struct NoAnswer {
    line: u64,
    reason: &'static str,
    row: String,
}

impl fmt::Display for NoAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} has no answer ({}): {}", self.line, self.reason, self.row)
    }
}

impl std::error::Error for NoAnswer {}

fn verdict_of_all(decided: &Decided<'_>, row: usize) -> Verdict {
    let columns = decided.columns();
    if columns.iter().all(|column| column.allow.get(row)) {
        return Verdict::Allow;
    }
    match columns.iter().any(|column| column.resolved.get(row) && !column.allow.get(row)) {
        true => Verdict::Disallow,
        false => Verdict::Unresolved,
    }
}

fn is_opted_out(decided: &Decided<'_>, row: usize) -> bool {
    decided.usages().iter().any(|column| column.preference(row) == Some(Preference::No))
}

fn no_answer(decided: &Decided<'_>, row: usize) -> io::Error {
    let reason = decided.decisions(row).iter().find(|decision| decision.verdict == Verdict::Unresolved).map(|decision| decision.reason);
    io::Error::other(NoAnswer {
        line: decided.first_row() + row as u64 + 1,
        reason: reason.map_or("", Reason::name),
        row: super::text::to_terminal_text(decided.row(row)).into_owned(),
    })
}

/// A last line without its end gets one, so that no two rows ever become one.
fn write_line(out: &mut Box<dyn Write + '_>, line: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    if line.ends_with(b"\n") { Ok(()) } else { out.write_all(b"\n") }
}
