//! Verdict columns as CSV or TSV.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{Writer, WriterBuilder};

use crate::io::names::{Beside, ColumnNames};
use crate::io::text::to_text;
use crate::pipeline::{Asked, Carried, Decided, Evaluator, Lent, Run, Sink};
use crate::protocol::decision::Decision;
use crate::protocol::usage::Preference;
use crate::store::{RuleTable, SnapshotTime};

/// What the columns hold beside verdicts, what they are called, and how they are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CsvVerdictsOptions {
    /// What stands between fields: `,` unless told.
    pub delimiter: u8,
    /// Whether there is a column `url`. There is unless told.
    pub with_url: bool,
    /// The names of inputs by their numbers, for a column `file`; none for no such column.
    pub files: Option<Vec<String>>,
    /// Names of the columns that rows carry, in the order in which the source was asked to.
    pub carry: Vec<String>,
    /// Whether reason, group, rule and line stand there for every agent, and the snapshot for every row.
    pub explain: bool,
    /// What the names of verdict columns begin with: `allow_` unless told.
    pub prefix: String,
    /// Whether texts are written as they are. Unless told, one that a spreadsheet would take for a formula has an apostrophe before it.
    pub raw: bool,
}

impl Default for CsvVerdictsOptions {
    fn default() -> CsvVerdictsOptions {
        CsvVerdictsOptions {
            delimiter: b',',
            with_url: true,
            files: None,
            carry: Vec::new(),
            explain: false,
            prefix: "allow_".to_owned(),
            raw: false,
        }
    }
}

/// Writes a record a row: `row`, `file` and `url` where asked for, carried columns, `allow_AGENT` (`true`, `false`, or empty where there is no answer),
/// `usage_KEY_AGENT` (likewise), and where asked for `reason_AGENT`, `group_AGENT`, `rule_AGENT`, `line_AGENT`, `snapshot_digest` and
/// `snapshot_time`. docs/COLUMNS.md defines them.
///
/// Texts from outside (URLs, file names, carried texts, groups, rules, names of carried columns) that begin with `=`, `+`, `-`, `@`, a tab, CR or LF, or the wide
/// forms of the first four, have an apostrophe before them, so that no spreadsheet takes them for a formula; numbers stay. See
/// [`CsvVerdictsOptions::raw`].
///
/// ```
/// use std::num::NonZeroUsize;
/// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::io::{csv::{CsvVerdicts, CsvVerdictsOptions}, lines::MappedLines};
/// use robosieve::pipeline::{Evaluator, run};
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
/// let mut sink = CsvVerdicts::new(Vec::new(), &evaluator, CsvVerdictsOptions::default())?;
/// run(&mut MappedLines::new(b"https://example.com/private/x\n=1+1\n"), &evaluator, &mut sink, NonZeroUsize::MIN)?;
/// assert_eq!(sink.finish()?, b"row,url,allow_AnyBot\n0,https://example.com/private/x,false\n1,'=1+1,\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CsvVerdicts<'e, 's, W: Write> {
    out: Fields<W>,
    columns: Vec<Asked<'e, 's>>,
    readings: usize,
    with_lent: bool,
    options: CsvVerdictsOptions,
}

impl<'e, 's, W: Write> CsvVerdicts<'e, 's, W> {
    /// Writes the header.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn new(out: W, evaluator: &'e Evaluator<'s>, options: CsvVerdictsOptions) -> io::Result<CsvVerdicts<'e, 's, W>> {
        let writer = WriterBuilder::new().delimiter(options.delimiter).flexible(true).from_writer(out);
        let mut out = Fields { writer, raw: options.raw, escaped: 0, number: String::new() };
        let beside = Beside { file: options.files.is_some(), url: options.with_url, carried: &options.carry, explained: options.explain };
        for name in ColumnNames::new(evaluator, &options.prefix, beside).all(beside) {
            out.text(name.as_bytes())?;
        }
        out.end()?;
        Ok(CsvVerdicts {
            out,
            columns: evaluator.columns().collect(),
            readings: evaluator.readings().len(),
            with_lent: !evaluator.fallback().is_off(),
            options,
        })
    }

    /// Rows whose URL was not UTF-8: their octets stand as `%XX`.
    pub fn escaped(&self) -> u64 {
        self.out.escaped
    }

    /// Gives the output back, with everything written out.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn finish(self) -> io::Result<W> {
        self.out.writer.into_inner().map_err(|error| error.into_error())
    }

    /// What every record has before its explanation.
    fn write_row(&mut self, decided: &Decided<'_>, row: usize) -> io::Result<()> {
        self.out.number(decided.first_row() + row as u64)?;
        if let Some(files) = &self.options.files {
            self.out.text(files.get(decided.file() as usize).map_or(&b""[..], |name| name.as_bytes()))?;
        }
        if self.options.with_url {
            self.out.url(decided.row(row))?;
        }
        for column in 0..self.options.carry.len() {
            let carried = decided.values().map_or(Carried::Null, |values| values.carried(column, row));
            self.out.carried(&carried)?;
        }
        for column in decided.columns() {
            self.out.truth(column.resolved.get(row).then(|| column.allow.get(row)))?;
        }
        for column in decided.usages() {
            self.out.truth(column.preference(row).map(|preference| preference == Preference::Yes))?;
        }
        Ok(())
    }

    fn write_reasons(&mut self, run: &Run<'_>, decisions: &[Decision], tables: &[Option<RuleTable<'_>>]) -> io::Result<()> {
        for (column, decision) in decisions.iter().enumerate() {
            self.out.plain(decision.reason.name())?;
            self.out.text(run.group(column, self.columns[column].agent.tokens()).unwrap_or_default())?;
            match tables[column].and_then(|table| table.rule(decision.rule)) {
                Some(rule) => {
                    self.out.text(rule.text)?;
                    self.out.number(rule.line.into())?;
                }
                None => {
                    self.out.plain("")?;
                    self.out.plain("")?;
                }
            }
        }
        Ok(())
    }

    fn write_snapshots(&mut self, snapshots: &[(String, String)]) -> io::Result<()> {
        for (digest, time) in snapshots {
            self.out.plain(digest)?;
            self.out.plain(time)?;
        }
        Ok(())
    }

    /// The end of a record, with who has lent the policy before it.
    fn end(&mut self, decided: &Decided<'_>, row: usize) -> io::Result<()> {
        if self.with_lent {
            self.out.plain(decided.lent(row).map_or("", Lent::name))?;
        }
        self.out.end()
    }

    fn write_explained(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for run in decided.runs() {
            let tables: Vec<Option<RuleTable<'_>>> = self.columns.iter().map(|asked| run.rule_table(asked.reading, asked.store)).collect();
            let snapshots: Vec<(String, String)> = (0..self.readings).map(|reading| snapshot(run, reading)).collect();
            for row in run.rows.clone() {
                self.write_row(decided, row)?;
                self.write_reasons(run, decided.decisions(row), &tables)?;
                self.write_snapshots(&snapshots)?;
                self.end(decided, row)?;
            }
        }
        Ok(())
    }
}

impl<W: Write> Sink for CsvVerdicts<'_, '_, W> {
    fn wants_decisions(&self) -> bool {
        self.options.explain
    }

    fn wants_rows(&self) -> bool {
        self.options.with_url || !self.options.carry.is_empty()
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        if self.options.explain {
            return self.write_explained(decided);
        }
        for row in 0..decided.row_count() {
            self.write_row(decided, row)?;
            self.end(decided, row)?;
        }
        Ok(())
    }
}

/// Digest and time of the snapshot that answered; empty where there is none.
fn snapshot(run: &Run<'_>, reading: usize) -> (String, String) {
    let Some(snapshot) = &run.snapshots[reading] else { return Default::default() };
    let time = match snapshot.time() {
        SnapshotTime::Undated => None,
        SnapshotTime::Effective(seconds) | SnapshotTime::Observed(seconds) => jiff::Timestamp::from_second(seconds).ok(),
    };
    (snapshot.digest_hex(), time.map_or(String::new(), |time| time.to_string()))
}

/// Fields under way.
struct Fields<W: Write> {
    writer: Writer<W>,
    raw: bool,
    escaped: u64,
    number: String,
}

impl<W: Write> Fields<W> {
    /// A field that comes from nowhere but here.
    fn plain(&mut self, text: &str) -> io::Result<()> {
        Ok(self.writer.write_field(text)?)
    }

    /// A text from outside.
    fn text(&mut self, octets: &[u8]) -> io::Result<()> {
        let text = to_text(octets).0;
        Ok(self.writer.write_field(if self.raw { text } else { guarded(text) }.as_bytes())?)
    }

    fn url(&mut self, octets: &[u8]) -> io::Result<()> {
        self.escaped += u64::from(std::str::from_utf8(octets).is_err());
        self.text(octets)
    }

    fn number(&mut self, number: u64) -> io::Result<()> {
        use std::fmt::Write as _;
        self.number.clear();
        _ = write!(self.number, "{number}");
        Ok(self.writer.write_field(&self.number)?)
    }

    fn truth(&mut self, truth: Option<bool>) -> io::Result<()> {
        self.plain(match truth {
            Some(true) => "true",
            Some(false) => "false",
            None => "",
        })
    }

    fn carried(&mut self, carried: &Carried<'_>) -> io::Result<()> {
        match carried {
            Carried::Null => self.plain(""),
            Carried::Bool(truth) => self.truth(Some(*truth)),
            Carried::Integer(number) => self.plain(&number.to_string()),
            Carried::Float(number) => self.plain(&number.to_string()),
            Carried::Text(text) => self.text(text),
            Carried::Json(json) => self.text(json.as_bytes()),
        }
    }

    fn end(&mut self) -> io::Result<()> {
        Ok(self.writer.write_record(None::<&[u8]>)?)
    }
}

/// What a spreadsheet takes for the beginning of a formula, after OWASP's page "CSV Injection".
const FORMULA: [char; 11] = ['=', '+', '-', '@', '\t', '\r', '\n', '\u{FF1D}', '\u{FF0B}', '\u{FF0D}', '\u{FF20}'];

/// A text that no spreadsheet takes for a formula.
fn guarded(text: Cow<'_, str>) -> Cow<'_, str> {
    match text.starts_with(FORMULA) && !is_number(&text) {
        true => Cow::Owned(format!("'{text}")),
        false => text,
    }
}

/// Whether a text is a number and nothing more: `-1.5e3`.
fn is_number(text: &str) -> bool {
    text.bytes().all(|octet| octet.is_ascii_digit() || b"+-.eE".contains(&octet)) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_guarded_and_numbers_are_none() {
        let guard = |text: &str| guarded(Cow::Borrowed(text)).into_owned();
        for text in ["=1+1", "+x", "-2+3", "@SUM(A1)", "\tx", "\r", "\n=1", "\u{FF1D}1", "-", "+-1", "-inf", "-1 "] {
            assert_eq!(guard(text), format!("'{text}"));
        }
        for text in ["", "-1", "+1.5", "-1e9", "1-1", "https://example.com/=1", "'=1", " =1"] {
            assert_eq!(guard(text), text);
        }
    }
}
