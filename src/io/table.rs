//! Decisions as a table for people.

use std::io::{self, Write};

use super::text::to_terminal_text;
use crate::pipeline::{Decided, Sink};
use crate::protocol::agent::Agent;
use crate::protocol::decision::Decision;
use crate::store::{RuleText, Store};

/// Writes a line a row and agent: verdict, agent, the rule that decided with its line, or the reason; the URL last.
pub struct Table<'s, W> {
    out: W,
    store: &'s Store,
    agents: Vec<Agent>,
    agent_width: usize,
    at_start: bool,
    escaped: u64,
}

impl<'s, W: Write> Table<'s, W> {
    /// A table of decisions by the policies of `store` for `agents`.
    pub fn new(out: W, store: &'s Store, agents: &[Agent]) -> Table<'s, W> {
        let agent_width = agents.iter().map(|agent| to_terminal_text(agent.name().as_bytes()).chars().count()).max().unwrap_or(0);
        Table { out, store, agents: agents.to_vec(), agent_width: agent_width.clamp(5, 24), at_start: true, escaped: 0 }
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

    fn write_row(&mut self, url: &[u8], agent: usize, decision: &Decision, rule: Option<RuleText<'_>>) -> io::Result<()> {
        let name = to_terminal_text(self.agents[agent].name().as_bytes());
        write!(self.out, "{:<10} {name:<width$} ", decision.verdict, width = self.agent_width)?;
        match rule {
            Some(rule) => write!(self.out, "{:>5} {:<26} ", rule.line, to_terminal_text(rule.text))?,
            None => write!(self.out, "{:>5} {:<26} ", "", format!("({})", decision.reason))?,
        }
        writeln!(self.out, "{}", to_terminal_text(url))
    }
}

impl<W: Write> Sink for Table<'_, W> {
    fn wants_decisions(&self) -> bool {
        true
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        if std::mem::take(&mut self.at_start) {
            writeln!(self.out, "{:<10} {:<width$} {:>5} {:<26} url", "verdict", "agent", "line", "rule", width = self.agent_width)?;
        }
        let store = self.store;
        for run in decided.runs() {
            let table = run.rule_table(store);
            for row in run.rows.clone() {
                self.escaped += u64::from(std::str::from_utf8(decided.row(row)).is_err());
                for (agent, decision) in decided.decisions(row).iter().enumerate() {
                    let rule = table.and_then(|table| table.rule(decision.rule));
                    self.write_row(decided.row(row), agent, decision, rule)?;
                }
            }
        }
        Ok(())
    }
}
