//! Decisions as JSON lines.

use std::io::{self, Write};

use super::text::{does_something, to_text};
use crate::pipeline::{Asked, Carried, Decided, Evaluator, Run, Sink};
use crate::protocol::usage::{Preference, UsageKey};
use crate::store::RuleTable;

/// Writes an object a row and agent, in order: `row` and `file` (where asked for), `url`, `agent`, `dialect` (where there are several), `verdict`, `reason`, `group`, `rule`, `line`.
///
/// `group` is the token that bound the agent, `*`, or null; `rule` the value of the rule that decided, as written, or null; `line` its line from 1, or 0.
/// Where policies may be lent, `origin_fallback` is `scheme`, `www`, `scheme,www`, or null. Where uses are asked about, `usage` is an object with a key a use: `y`, `n`, or null where nothing is stated.
pub struct JsonLines<'e, 's, W> {
    out: W,
    columns: Vec<Asked<'e, 's>>,
    /// Of each column: the uses asked about, and the index of their usage columns.
    usages: Vec<Vec<(&'s UsageKey, usize)>>,
    with_rows: bool,
    /// The names of the inputs by their number, where they are written.
    files: Option<Vec<String>>,
    /// The names of the columns that rows carry.
    carried: Vec<String>,
    /// Whether it is said who has lent the policy.
    with_lent: bool,
    escaped: u64,
}

impl<'e, 's, W: Write> JsonLines<'e, 's, W> {
    /// JSON lines of the decisions that `evaluator` gives, with the number of each row if asked for.
    pub fn new(out: W, evaluator: &'e Evaluator<'s>, with_rows: bool) -> JsonLines<'e, 's, W> {
        let (columns, usages) = (evaluator.columns().collect(), evaluator.usages_by_column());
        JsonLines {
            out,
            columns,
            usages,
            with_rows,
            files: None,
            carried: Vec::new(),
            with_lent: !evaluator.fallback().is_off(),
            escaped: 0,
        }
    }

    /// Writes `file` too, the name of the input that a row comes from: `files` has them by their numbers.
    pub fn with_files(self, files: Vec<String>) -> JsonLines<'e, 's, W> {
        JsonLines { files: Some(files), ..self }
    }

    /// Writes `carried` too, an object of what a row carries: `names` are those of the columns that the source was asked for, in that order.
    pub fn with_carried(self, names: Vec<String>) -> JsonLines<'e, 's, W> {
        JsonLines { carried: names, ..self }
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
        decided: &Decided<'_>,
        row: usize,
        url: &str,
        column: usize,
        run: &Run<'_>,
        table: Option<RuleTable<'_>>,
    ) -> io::Result<()> {
        let decision = &decided.decisions(row)[column];
        let Asked { agent, dialect, .. } = self.columns[column];
        self.out.write_all(b"{")?;
        if self.with_rows {
            write!(self.out, "\"row\":{},", decided.first_row() + row as u64)?;
        }
        if let Some(files) = &self.files {
            self.out.write_all(b"\"file\":")?;
            string(&mut self.out, &files[decided.file() as usize])?;
            self.out.write_all(b",")?;
        }
        self.out.write_all(b"\"url\":")?;
        string(&mut self.out, url)?;
        self.out.write_all(b",\"agent\":")?;
        string(&mut self.out, agent.name())?;
        if let Some(dialect) = dialect {
            write!(self.out, ",\"dialect\":\"{dialect}\"")?;
        }
        write!(self.out, ",\"verdict\":\"{}\",\"reason\":\"{}\",\"group\":", decision.verdict, decision.reason)?;
        match run.group(column, agent.tokens()) {
            Some(group) => string(&mut self.out, &to_text(group).0)?,
            None => self.out.write_all(b"null")?,
        }
        self.out.write_all(b",\"rule\":")?;
        let rule = table.and_then(|table| table.rule(decision.rule));
        match rule {
            Some(rule) => string(&mut self.out, &to_text(rule.text).0)?,
            None => self.out.write_all(b"null")?,
        }
        write!(self.out, ",\"line\":{}", rule.map_or(0, |rule| rule.line))?;
        match decided.lent(row) {
            _ if !self.with_lent => Ok(()),
            Some(lent) => write!(self.out, ",\"origin_fallback\":\"{}\"", lent.name()),
            None => self.out.write_all(b",\"origin_fallback\":null"),
        }
    }

    /// What is stated about uses.
    fn write_usage(&mut self, decided: &Decided<'_>, row: usize, column: usize) -> io::Result<()> {
        for (place, &(key, index)) in self.usages[column].iter().enumerate() {
            // Keys hold nothing that JSON would escape.
            write!(self.out, "{}\"{key}\":", if place == 0 { ",\"usage\":{" } else { "," })?;
            match decided.usages()[index].preference(row).map(Preference::name) {
                Some(name) => write!(self.out, "\"{name}\"")?,
                None => self.out.write_all(b"null")?,
            }
        }
        if !self.usages[column].is_empty() {
            self.out.write_all(b"}")?;
        }
        Ok(())
    }

    /// The end of an object, with what the row carries before it.
    fn write_carried(&mut self, decided: &Decided<'_>, row: usize) -> io::Result<()> {
        for (column, name) in self.carried.iter().enumerate() {
            self.out.write_all(if column == 0 { b",\"carried\":{" } else { b"," })?;
            string(&mut self.out, name)?;
            self.out.write_all(b":")?;
            match decided.values().map_or(Carried::Null, |values| values.carried(column, row)) {
                Carried::Bool(value) => write!(self.out, "{value}")?,
                Carried::Integer(value) => write!(self.out, "{value}")?,
                Carried::Float(value) if value.is_finite() => serde_json::to_writer(&mut self.out, &value)?,
                Carried::Null | Carried::Float(_) => self.out.write_all(b"null")?,
                Carried::Text(text) => string(&mut self.out, &to_text(&text).0)?,
                Carried::Json(json) => self.out.write_all(harmless(json.into_owned()).as_bytes())?,
            }
        }
        self.out.write_all(if self.carried.is_empty() { b"}\n" } else { b"}}\n" })
    }
}

/// A value as one line of JSON that does nothing to a terminal.
///
/// ```
/// use robosieve::io::json::line;
///
/// assert_eq!(line(&serde_json::json!({ "rule": "/\u{202E}x" })), r#"{"rule":"/\u202ex"}"#);
/// ```
pub fn line(value: &serde_json::Value) -> String {
    harmless(value.to_string())
}

/// The same JSON, doing nothing to a terminal: characters that would are written as `\\uXXXX`, which means the same. serde_json does so for what is
/// below U+0020 alone. Line ends stay, which stand between the members of pretty JSON.
pub fn harmless(json: String) -> String {
    let is_harmful = |character: char| character != '\n' && does_something(character);
    if !json.chars().any(is_harmful) {
        return json;
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for character in json.chars() {
        match is_harmful(character) {
            true => character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}"))),
            false => safe.push(character),
        }
    }
    safe
}

fn string(out: &mut impl Write, text: &str) -> io::Result<()> {
    if !text.chars().any(does_something) {
        return serde_json::to_writer(out, text).map_err(io::Error::from);
    }
    out.write_all(harmless(serde_json::to_string(text)?).as_bytes())
}

impl<W: Write> Sink for JsonLines<'_, '_, W> {
    fn wants_decisions(&self) -> bool {
        true
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for run in decided.runs() {
            let tables: Vec<Option<RuleTable<'_>>> = self.columns.iter().map(|asked| run.rule_table(asked.reading, asked.store)).collect();
            for row in run.rows.clone() {
                let (url, escaped) = to_text(decided.row(row));
                self.escaped += u64::from(escaped);
                for (column, &table) in tables.iter().enumerate() {
                    self.write_object(decided, row, &url, column, run, table)?;
                    self.write_usage(decided, row, column)?;
                    self.write_carried(decided, row)?;
                }
            }
        }
        Ok(())
    }
}
