//! Decisions as JSON lines.

use std::io::{self, Write};

use super::text::{does_something, to_text};
use crate::pipeline::{BoundBy, Decided, Run, Sink};
use crate::protocol::agent::Agent;
use crate::protocol::decision::Decision;
use crate::store::{RuleTable, Store};

/// Writes an object a row and agent, in order: `row` (where asked for), `url`, `agent`, `verdict`, `reason`, `group`, `rule`, `line`.
///
/// `group` is the token that bound the agent, `*`, or null; `rule` the value of the rule that decided, as written, or null; `line` its line from 1, or 0.
pub struct JsonLines<'s, W> {
    out: W,
    store: &'s Store,
    agents: Vec<Agent>,
    with_rows: bool,
    escaped: u64,
}

impl<'s, W: Write> JsonLines<'s, W> {
    /// JSON lines of decisions by the policies of `store` for `agents`, with the number of each row if asked for.
    pub fn new(out: W, store: &'s Store, agents: &[Agent], with_rows: bool) -> JsonLines<'s, W> {
        JsonLines { out, store, agents: agents.to_vec(), with_rows, escaped: 0 }
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

    fn write_object(
        &mut self,
        row: Option<u64>,
        url: &str,
        agent: usize,
        run: &Run<'_>,
        decision: &Decision,
        table: Option<RuleTable<'_>>,
    ) -> io::Result<()> {
        let agent_entry = &self.agents[agent];
        if let Some(row) = row {
            write!(self.out, "{{\"row\":{row},\"url\":")?;
        } else {
            self.out.write_all(b"{\"url\":")?;
        }
        string(&mut self.out, url)?;
        self.out.write_all(b",\"agent\":")?;
        string(&mut self.out, agent_entry.name())?;
        write!(self.out, ",\"verdict\":\"{}\",\"reason\":\"{}\",\"group\":", decision.verdict, decision.reason)?;
        match run.bound_by[agent] {
            BoundBy::Nobody => self.out.write_all(b"null")?,
            BoundBy::Star => self.out.write_all(b"\"*\"")?,
            BoundBy::Contained(token) => string(&mut self.out, &to_text(token).0)?,
            BoundBy::Token(token) => string(&mut self.out, &agent_entry.tokens()[token])?,
        }
        self.out.write_all(b",\"rule\":")?;
        let rule = table.and_then(|table| table.rule(decision.rule));
        match rule {
            Some(rule) => string(&mut self.out, &to_text(rule.text).0)?,
            None => self.out.write_all(b"null")?,
        }
        writeln!(self.out, ",\"line\":{}}}", rule.map_or(0, |rule| rule.line))
    }
}

fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    if !text.chars().any(does_something) {
        return serde_json::to_writer(out, text).map_err(io::Error::from);
    }
    // What does something to a terminal is said in ASCII. serde_json does so for what is below U+0020 alone.
    let quoted = serde_json::to_string(text)?;
    let mut rest = &quoted[..];
    while let Some(at) = rest.find(does_something) {
        let character = rest[at..].chars().next().unwrap_or_default();
        write!(out, "{}\\u{:04x}", &rest[..at], u32::from(character))?;
        rest = &rest[at + character.len_utf8()..];
    }
    out.write_all(rest.as_bytes())
}

impl<W: Write> Sink for JsonLines<'_, W> {
    fn wants_decisions(&self) -> bool {
        true
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let store = self.store;
        for run in decided.runs() {
            let table = run.rule_table(store);
            for row in run.rows.clone() {
                let (url, escaped) = to_text(decided.row(row));
                self.escaped += u64::from(escaped);
                let number = self.with_rows.then(|| decided.first_row() + row as u64);
                for (agent, decision) in decided.decisions(row).iter().enumerate() {
                    self.write_object(number, &url, agent, run, decision, table)?;
                }
            }
        }
        Ok(())
    }
}
