//! Verdicts first: what each way says of each row, beside what the reference says.

use std::io;

use robosieve::decision::Verdict;
use robosieve::pipeline::{Decided, Sink};

/// Differences that are shown of each way.
const MAX_SHOWN: usize = 5;

/// Verdicts of one agent, two bits a row.
#[derive(Debug, Default)]
pub struct Verdicts {
    words: Vec<u64>,
    len: usize,
}

impl Verdicts {
    pub fn push(&mut self, verdict: Verdict) {
        if self.len.is_multiple_of(32) {
            self.words.push(0);
        }
        let code = match verdict {
            Verdict::Allow => 0,
            Verdict::Disallow => 1,
            Verdict::Unresolved => 2,
        };
        self.words[self.len / 32] |= code << (self.len % 32 * 2);
        self.len += 1;
    }

    pub fn get(&self, row: u64) -> Verdict {
        match self.words[row as usize / 32] >> (row % 32 * 2) & 3 {
            0 => Verdict::Allow,
            1 => Verdict::Disallow,
            _ => Verdict::Unresolved,
        }
    }
}

/// A sink that keeps every verdict.
#[derive(Debug, Default)]
pub struct Keep {
    pub columns: Vec<Verdicts>,
    pub rows: u64,
}

impl Sink for Keep {
    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        self.columns.resize_with(decided.columns().len(), Verdicts::default);
        for (column, verdicts) in self.columns.iter_mut().enumerate() {
            (0..decided.row_count()).for_each(|row| verdicts.push(decided.verdict(row, column)));
        }
        self.rows += decided.row_count() as u64;
        Ok(())
    }
}

/// A row on which a way differs.
#[derive(Debug, Clone)]
pub struct Difference {
    pub row: u64,
    pub url: Vec<u8>,
    /// The index of the agent.
    pub agent: usize,
    pub reference: Verdict,
    /// `None` where an external matcher could not tell.
    pub answer: Option<Verdict>,
}

/// What became of comparing one way.
#[derive(Debug, Clone)]
pub struct Agreement {
    pub way: String,
    pub external: bool,
    /// Verdicts compared.
    pub compared: u64,
    pub differ: u64,
    pub shown: Vec<Difference>,
}

impl Agreement {
    pub fn new(way: &str, external: bool) -> Agreement {
        Agreement { way: way.to_owned(), external, compared: 0, differ: 0, shown: Vec::new() }
    }

    pub fn compare(&mut self, row: u64, url: &[u8], agent: usize, reference: Verdict, answer: Option<Verdict>) {
        self.compared += 1;
        if answer == Some(reference) {
            return;
        }
        self.differ += 1;
        if self.shown.len() < MAX_SHOWN {
            self.shown.push(Difference { row, url: url.to_vec(), agent, reference, answer });
        }
    }

    /// The part of verdicts that are the same.
    pub fn share(&self) -> f64 {
        if self.compared == 0 { 1.0 } else { 1.0 - self.differ as f64 / self.compared as f64 }
    }
}

/// A sink that compares.
pub struct Compare<'a> {
    pub reference: &'a [Verdicts],
    /// The index of the agent of the first column.
    pub first: usize,
    pub rules: bool,
    pub agreement: &'a mut Agreement,
}

impl Sink for Compare<'_> {
    fn wants_decisions(&self) -> bool {
        self.rules
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for column in 0..decided.columns().len() {
            let agent = self.first + column;
            for row in 0..decided.row_count() {
                let number = decided.first_row() + row as u64;
                let (reference, answer) = (self.reference[agent].get(number), decided.verdict(row, column));
                self.agreement.compare(number, decided.row(row), agent, reference, Some(answer));
                if self.rules && decided.decisions(row)[column].verdict != answer {
                    let decision = decided.decisions(row)[column].verdict;
                    self.agreement.compare(number, decided.row(row), agent, reference, Some(decision));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_kept_and_differences_counted() {
        let all = [Verdict::Allow, Verdict::Disallow, Verdict::Unresolved];
        let mut verdicts = Verdicts::default();
        (0..100).for_each(|row| verdicts.push(all[row * 7 % 3]));
        assert!((0..100).all(|row| verdicts.get(row) == all[row as usize * 7 % 3]));
        let mut agreement = Agreement::new("way", false);
        for row in 0..8 {
            agreement.compare(row, b"url", 0, Verdict::Allow, (row % 2 == 0).then_some(Verdict::Disallow));
            agreement.compare(row, b"url", 0, Verdict::Allow, Some(Verdict::Allow));
        }
        assert_eq!((agreement.compared, agreement.differ, agreement.shown.len()), (16, 8, MAX_SHOWN));
        assert!((agreement.share() - 0.5).abs() < 1e-9);
    }
}
