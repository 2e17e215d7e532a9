//! Columns of numbers, added up by what became of their rows.

use std::io;

use crate::pipeline::{Carried, Decided, Sink};
use crate::protocol::decision::{Reason, Verdict};

/// A sum of numbers: exact as long as all are whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Total {
    /// Of whole numbers.
    Integer(i128),
    /// Of which one was no whole number, or the sum too large for one.
    Float(f64),
}

impl Default for Total {
    fn default() -> Total {
        Total::Integer(0)
    }
}

impl Total {
    /// The sum as a floating point number.
    pub fn as_f64(self) -> f64 {
        match self {
            Total::Integer(sum) => sum as f64,
            Total::Float(sum) => sum,
        }
    }

    pub(super) fn add(&mut self, other: Total) {
        *self = match (*self, other) {
            (Total::Integer(a), Total::Integer(b)) => a.checked_add(b).map_or(Total::Float(a as f64 + b as f64), Total::Integer),
            (a, b) => Total::Float(a.as_f64() + b.as_f64()),
        };
    }
}

/// What one column comes to for one agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sum {
    /// By verdict (in the order allow, disallow, unresolved) and [`Reason`] (in that of [`Reason::ALL`]).
    totals: [[Total; Reason::ALL.len()]; 3],
}

impl Sum {
    /// The sum over rows of that verdict and reason.
    pub fn total(&self, verdict: Verdict, reason: Reason) -> Total {
        self.totals[index(verdict)][reason as usize]
    }

    /// The sum over rows of that verdict.
    pub fn total_of(&self, verdict: Verdict) -> Total {
        let mut total = Total::default();
        self.totals[index(verdict)].iter().for_each(|&part| total.add(part));
        total
    }
}

fn index(verdict: Verdict) -> usize {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Disallow => 1,
        Verdict::Unresolved => 2,
    }
}

impl Sum {
    fn add(&mut self, other: &Sum) {
        let pairs = self.totals.iter_mut().flatten().zip(other.totals.iter().flatten());
        pairs.for_each(|(mine, theirs)| mine.add(*theirs));
    }
}

/// What one column comes to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnSum {
    /// One a verdict column.
    pub agents: Vec<Sum>,
    /// Rows without a number: null.
    pub nulls: u64,
    /// Rows with something that is no number.
    pub not_numbers: u64,
}

impl ColumnSum {
    /// Adds what other rows come to.
    pub fn add(&mut self, other: &ColumnSum) {
        self.agents.resize_with(other.agents.len(), Sum::default);
        self.agents.iter_mut().zip(&other.agents).for_each(|(mine, theirs)| mine.add(theirs));
        self.nulls += other.nulls;
        self.not_numbers += other.not_numbers;
    }
}

/// A sink that adds columns of numbers up on the way to another sink.
///
/// The columns are those that rows carry, by their numbers (see [`Values::carried`](crate::pipeline::Values::carried)). Texts that are numbers count as such.
pub struct Sums<'k> {
    sink: &'k mut dyn Sink,
    /// The number of each column, and what it comes to.
    columns: Vec<(usize, ColumnSum)>,
}

impl<'k> Sums<'k> {
    /// Adds up the carried columns of those numbers on the way to `sink`.
    pub fn new(sink: &'k mut dyn Sink, columns: impl IntoIterator<Item = usize>) -> Sums<'k> {
        Sums { sink, columns: columns.into_iter().map(|column| (column, ColumnSum::default())).collect() }
    }

    /// What the columns come to, in the order given.
    pub fn into_sums(self) -> Vec<ColumnSum> {
        self.columns.into_iter().map(|(_, sum)| sum).collect()
    }
}

impl Sink for Sums<'_> {
    fn wants_decisions(&self) -> bool {
        true // whose reasons are counted apart
    }

    fn wants_rows(&self) -> bool {
        true
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for (column, sum) in &mut self.columns {
            sum.agents.resize_with(decided.columns().len(), Sum::default);
            for row in 0..decided.row_count() {
                let number = match decided.values().map_or(Carried::Null, |values| values.carried(*column, row)) {
                    Carried::Null => {
                        sum.nulls += 1;
                        continue;
                    }
                    carried => number(&carried),
                };
                let Some(number) = number else {
                    sum.not_numbers += 1;
                    continue;
                };
                for (agent, decision) in sum.agents.iter_mut().zip(decided.decisions(row)) {
                    agent.totals[index(decision.verdict)][decision.reason as usize].add(number);
                }
            }
        }
        self.sink.write(decided)
    }
}

/// The number that a row carries in a column.
#[cfg(feature = "domains")]
pub(super) fn number_of(decided: &Decided<'_>, column: usize, row: usize) -> Option<Total> {
    number(&decided.values()?.carried(column, row))
}

fn number(carried: &Carried<'_>) -> Option<Total> {
    match carried {
        Carried::Integer(number) => Some(Total::Integer(*number)),
        Carried::Float(number) => number.is_finite().then_some(Total::Float(*number)),
        Carried::Text(text) => {
            let text = std::str::from_utf8(text).ok()?.trim();
            let float = || text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Total::Float);
            text.parse::<i128>().ok().map(Total::Integer).or_else(float)
        }
        Carried::Json(json) => json.parse::<f64>().ok().filter(|number| number.is_finite()).map(Total::Float),
        Carried::Null | Carried::Bool(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_while_they_are_whole() {
        let mut total = Total::default();
        for (number, expected) in [
            (Total::Integer(i128::from(u64::MAX)), Total::Integer(18_446_744_073_709_551_615)),
            (Total::Integer(1), Total::Integer(18_446_744_073_709_551_616)),
            (Total::Float(0.5), Total::Float(18_446_744_073_709_551_616.5)),
        ] {
            total.add(number);
            assert_eq!(total, expected);
        }
        let mut large = Total::Integer(i128::MAX);
        large.add(Total::Integer(1));
        assert_eq!(large, Total::Float(i128::MAX as f64 + 1.0));
    }

    #[test]
    fn texts_may_be_numbers() {
        let text = |text: &'static str| number(&Carried::Text(text.as_bytes().into()));
        assert_eq!(text(" 12 "), Some(Total::Integer(12)));
        assert_eq!(text("-1.5e3"), Some(Total::Float(-1500.0)));
        assert_eq!([text("inf"), text("NaN"), text(""), text("1,000"), number(&Carried::Bool(true))], [None; 5]);
        assert_eq!(number(&Carried::Float(f64::NAN)), None);
    }
}
