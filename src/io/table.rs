//! Decisions as a table for people.

use std::io::{self, Write};

use super::text::to_terminal_text;
use crate::pipeline::{Asked, Decided, Evaluator, Lent, Sink};
use crate::protocol::decision::Decision;
use crate::protocol::usage::{Preference, UsageKey};
use crate::store::{RuleTable, RuleText};

/// Writes a line a row and agent: verdict, agent, the rule that decided with its line, or the reason; what is stated about the uses asked
/// about (`y`, `n`, or `-` for nothing); the URL last.
pub struct Table<'e, 's, W> {
    out: W,
    columns: Vec<Asked<'e, 's>>,
    /// The uses asked about.
    keys: Vec<&'s UsageKey>,
    /// Of each column: the uses asked about, and the index of their usage columns.
    usages: Vec<Vec<(&'s UsageKey, usize)>>,
    /// Whether it is said who has lent the policy.
    with_lent: bool,
    agent_width: usize,
    at_start: bool,
    escaped: u64,
}

impl<'e, 's, W: Write> Table<'e, 's, W> {
    /// A table of the decisions that `evaluator` gives.
    pub fn new(out: W, evaluator: &'e Evaluator<'s>) -> Table<'e, 's, W> {
        let columns: Vec<Asked<'_, '_>> = evaluator.columns().collect();
        let agent_width = columns.iter().map(|asked| to_terminal_text(asked.label().as_bytes()).chars().count()).max().unwrap_or(0);
        let usages = evaluator.usages_by_column();
        let mut keys: Vec<&UsageKey> = Vec::new();
        for &(key, _) in usages.iter().flatten() {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        Table {
            out,
            columns,
            keys,
            usages,
            with_lent: !evaluator.fallback().is_off(),
            agent_width: agent_width.clamp(5, 32),
            at_start: true,
            escaped: 0,
        }
    }

    /// Rows that were not UTF-8: their octets stand as `%XX`.
    pub fn escaped(&self) -> u64 {
        self.escaped
    }

    /// Gives the writer back, with everything written out.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_row(
        &mut self,
        decided: &Decided<'_>,
        row: usize,
        column: usize,
        decision: &Decision,
        rule: Option<RuleText<'_>>,
    ) -> io::Result<()> {
        let name = self.columns[column].label();
        let name = to_terminal_text(name.as_bytes());
        write!(self.out, "{:<10} {name:<width$} ", decision.verdict, width = self.agent_width)?;
        match rule {
            Some(rule) => write!(self.out, "{:>5} {:<26} ", rule.line, to_terminal_text(rule.text))?,
            None => write!(self.out, "{:>5} {:<26} ", "", format!("({})", decision.reason))?,
        }
        for key in &self.keys {
            let index = self.usages[column].iter().find(|(asked, _)| asked == key).map(|&(_, index)| index);
            let preference = index.and_then(|index| decided.usages()[index].preference(row));
            write!(self.out, "{:<width$} ", preference.map_or("-", Preference::name), width = key.name().len())?;
        }
        if self.with_lent {
            write!(self.out, "{:<10} ", decided.lent(row).map_or("-", Lent::name))?;
        }
        writeln!(self.out, "{}", to_terminal_text(decided.row(row)))
    }
}

impl<W: Write> Sink for Table<'_, '_, W> {
    fn wants_decisions(&self) -> bool {
        true
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        if std::mem::take(&mut self.at_start) {
            write!(self.out, "{:<10} {:<width$} {:>5} {:<26} ", "verdict", "agent", "line", "rule", width = self.agent_width)?;
            for key in &self.keys {
                write!(self.out, "{key} ")?;
            }
            if self.with_lent {
                write!(self.out, "{:<10} ", "lent by")?;
            }
            writeln!(self.out, "url")?;
        }
        for run in decided.runs() {
            let tables: Vec<Option<RuleTable<'_>>> = self.columns.iter().map(|asked| run.rule_table(asked.reading, asked.store)).collect();
            for row in run.rows.clone() {
                self.escaped += u64::from(std::str::from_utf8(decided.row(row)).is_err());
                for (column, decision) in decided.decisions(row).iter().enumerate() {
                    let rule = tables[column].and_then(|table| table.rule(decision.rule));
                    self.write_row(decided, row, column, decision, rule)?;
                }
            }
        }
        Ok(())
    }
}
