//! The summary of a run: every row, under exactly one heading, for every agent.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use robosieve::agent::Agent;
use robosieve::decision::{Reason, Verdict};
use robosieve::io::domains::{DomainRule, DomainTally};
use robosieve::io::json::harmless;
use robosieve::io::sums::{ColumnSum, Sum, Total};
use robosieve::io::text::to_terminal_text;
use robosieve::pipeline::{Asked, AskedUsage, Evaluator, Lent, Reading, Summary, Tally, UsageTally};
use robosieve::usage::UsageKey;

use crate::args::{Counted, FailOn, FilterArgs, RunArgs, UndecidedArg};
use crate::exit::{Exit, Failure, say, shown};
use crate::inputs::Remark;
use crate::output::Output;
use crate::progress::Progress;

/// What a run came to, and how long it took.
#[derive(Default)]
pub struct Report {
    pub summary: Summary,
    pub seconds: f64,
    /// The files read, and the rows of each.
    pub files: Vec<(PathBuf, u64)>,
    pub progress: Progress,
    /// What there is to say about them.
    pub remarks: Vec<Remark>,
    /// Files that were left as they are, since an earlier run has written their outputs.
    pub resumed: u64,
    /// Of each column asked for: its name, and what it comes to.
    pub sums: Vec<(String, ColumnSum)>,
    /// Whole domains, where they are judged.
    pub domains: Option<Domains>,
    /// Rows whose octets stand as `%XX` in the output.
    pub escaped: u64,
    /// Of a filter.
    pub kept: Option<Kept>,
}

/// What a filter did.
#[derive(Debug)]
pub struct Kept {
    /// Rows written to its output.
    pub rows: u64,
    /// Rows without an answer, and what was to become of them.
    pub undecided: u64,
    /// Rows left out for a use that is unwanted.
    pub opted_out: u64,
    pub what: UndecidedArg,
}

/// What is said about whole domains.
#[derive(Debug)]
pub struct Domains {
    pub rule: Arc<DomainRule>,
    /// One a column.
    pub tallies: Vec<DomainTally>,
}

impl Domains {
    pub fn new(rule: DomainRule) -> Domains {
        Domains { rule: Arc::new(rule), tallies: Vec::new() }
    }

    /// Adds what another file came to.
    pub fn add(&mut self, tallies: Vec<DomainTally>) {
        self.tallies.resize_with(tallies.len(), DomainTally::default);
        self.tallies.iter_mut().zip(&tallies).for_each(|(mine, theirs)| mine.add(theirs));
    }
}

impl Kept {
    /// Of no rows.
    pub fn nothing(args: &FilterArgs) -> Kept {
        Kept { rows: 0, undecided: 0, opted_out: 0, what: args.undecided.clone() }
    }
}

impl Report {
    /// Adds what another file came to.
    pub fn add_sums(&mut self, names: &[String], sums: Vec<ColumnSum>) {
        if self.sums.is_empty() {
            self.sums = names.iter().map(|name| (name.clone(), ColumnSum::default())).collect();
        }
        self.sums.iter_mut().zip(&sums).for_each(|((_, mine), theirs)| mine.add(theirs));
    }

    /// Prints the summary to standard error.
    pub fn print(&self, args: &RunArgs, evaluator: &Evaluator<'_>) {
        let store = evaluator.store();
        say!(
            "{} rows in {:.2} s ({}/s), {} look-ups; {}: {} origins, dialect {}, access {}",
            grouped(self.summary.rows),
            self.seconds,
            grouped((self.summary.rows as f64 / self.seconds.max(1e-9)) as u64),
            grouped(self.summary.lookups),
            shown(&args.policies.policies),
            if store.meta().any_origin { "all".to_owned() } else { grouped(store.origin_count() as u64) },
            joined(evaluator, |reading| reading.store().dialect().name),
            joined(evaluator, |reading| reading.access().name()),
        );
        self.print_columns(evaluator);
        for (agents, reasons) in self.reasons(evaluator) {
            say!("unresolved ({agents}): {reasons}");
        }
        self.print_usages(evaluator);
        self.print_sums(evaluator);
        self.print_domains(evaluator);
        self.print_assumptions(evaluator);
        self.remarks.iter().for_each(Remark::print);
        if self.escaped > 0 {
            say!("{} rows are not UTF-8: their octets stand as %XX in the output", grouped(self.escaped));
        }
        if let Some(kept) = &self.kept {
            say!("{} rows pass", grouped(kept.rows));
            if kept.opted_out > 0 {
                say!("{} rows left out for a use that is unwanted (n), and for no verdict", grouped(kept.opted_out));
            }
            if kept.undecided > 0 {
                let reasons = self.reasons(evaluator).into_iter().map(|(_, reasons)| reasons).next().unwrap_or_default();
                say!("{}", undecided_line(kept.undecided, self.summary.rows, &reasons, &kept.what));
            }
        }
    }

    fn print_columns(&self, evaluator: &Evaluator<'_>) {
        let header = ["agent", "allow", "disallow", "by name", "by *", "by fetch", "whole site", "unresolved"];
        let rows: Vec<[String; 8]> = evaluator
            .columns()
            .zip(&self.summary.agents)
            .map(|(asked, tally)| {
                let counts = [
                    tally.allow,
                    tally.disallow(),
                    tally.disallow_named,
                    tally.disallow_star,
                    tally.disallow_fetch,
                    tally.disallow_site,
                    tally.unresolved(),
                ];
                let mut cells = counts.iter().map(|&count| grouped(count));
                std::array::from_fn(|column| match column {
                    0 => to_terminal_text(asked.label().as_bytes()).into_owned(),
                    _ => cells.next().unwrap_or_default(),
                })
            })
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0).max(header[column].len());
        let widths: [usize; 8] = std::array::from_fn(width);
        let line = |cells: [&str; 8]| {
            let mut line = format!("{:<width$}", cells[0], width = widths[0]);
            for column in 1..8 {
                line.push_str(&format!("  {:>width$}", cells[column], width = widths[column]));
            }
            line
        };
        say!("{}", line(header));
        for row in &rows {
            say!("{}", line(std::array::from_fn(|column| &row[column][..])));
        }
    }

    /// Why rows have no answer, once for agents for whom it is the same.
    fn reasons(&self, evaluator: &Evaluator<'_>) -> Vec<(String, String)> {
        let text = |tally: &Tally| {
            let counted = Reason::ALL.into_iter().filter(|&reason| tally.unresolved_for(reason) > 0);
            counted.map(|reason| format!("{reason} {}", grouped(tally.unresolved_for(reason)))).collect::<Vec<_>>().join(", ")
        };
        let mut texts: Vec<(Vec<String>, String)> = Vec::new();
        for (asked, tally) in evaluator.columns().zip(&self.summary.agents).filter(|(_, tally)| tally.unresolved() > 0) {
            let text = text(tally);
            match texts.iter_mut().find(|(_, known)| *known == text) {
                Some((names, _)) => names.push(asked.label()),
                None => texts.push((vec![asked.label()], text)),
            }
        }
        let all = evaluator.columns().len();
        let names = |names: Vec<String>| if names.len() == all { "every agent".to_owned() } else { names.join(", ") };
        texts.into_iter().map(|(agents, text)| (names(agents), text)).collect()
    }

    /// What columns come to by verdict.
    fn print_sums(&self, evaluator: &Evaluator<'_>) {
        for (name, column) in &self.sums {
            let name = to_terminal_text(name.as_bytes());
            for (asked, sum) in evaluator.columns().zip(&column.agents) {
                let [allow, disallow, unresolved] = VERDICTS.map(|verdict| shown_total(sum.total_of(verdict)));
                let agent = asked.label();
                let agent = to_terminal_text(agent.as_bytes());
                say!("sum of {name} ({agent}): allow {allow}, disallow {disallow}, unresolved {unresolved}");
            }
            if column.nulls + column.not_numbers > 0 {
                say!(
                    "sum of {name}: {} rows have none, {} have something that is no number",
                    grouped(column.nulls),
                    grouped(column.not_numbers)
                );
            }
        }
    }

    /// What the rule for whole domains comes to.
    fn print_domains(&self, evaluator: &Evaluator<'_>) {
        let Some(Domains { rule, tallies }) = &self.domains else { return };
        for (column, (asked, tally)) in evaluator.columns().zip(tallies).enumerate() {
            let agent = asked.label();
            let [allow, disallow, unresolved] = tally.rows.map(grouped);
            say!(
                "whole domains ({}): allow {allow}, disallow {disallow} ({} of them as pages too), unresolved {unresolved}; {} of {} domains opted out",
                to_terminal_text(agent.as_bytes()),
                grouped(tally.both),
                grouped(rule.opted_out_count(column) as u64),
                grouped(rule.domain_count() as u64)
            );
            for ((name, _), sum) in self.sums.iter().zip(&tally.sums) {
                let [allow, disallow, unresolved] = sum.map(shown_total);
                say!("  sum of {}: allow {allow}, disallow {disallow}, unresolved {unresolved}", to_terminal_text(name.as_bytes()));
            }
        }
    }

    /// What is stated about uses, once for agents to whom it is the same.
    fn print_usages(&self, evaluator: &Evaluator<'_>) {
        let columns: Vec<Asked<'_, '_>> = evaluator.columns().collect();
        let mut lines: Vec<(&UsageKey, String, Vec<String>)> = Vec::new();
        for (asked, tally) in evaluator.usages().zip(&self.summary.usages) {
            let none = self.summary.rows - tally.yes - tally.no;
            let counts = format!("y {}, n {}, nothing stated {}", grouped(tally.yes), grouped(tally.no), grouped(none));
            let agent = to_terminal_text(columns[asked.column].label().as_bytes()).into_owned();
            match lines.iter_mut().find(|(key, known, _)| *key == asked.key && *known == counts) {
                Some((_, _, agents)) => agents.push(agent),
                None => lines.push((asked.key, counts, vec![agent])),
            }
        }
        for (key, counts, agents) in &lines {
            let agents = if agents.len() == columns.len() { "every agent".to_owned() } else { agents.join(", ") };
            say!("usage {key} ({agents}): {counts}");
        }
        for key in lines.iter().map(|line| line.0).filter(|key| !UsageKey::VOCABULARY.contains(&key.name())) {
            let is_stated = |(asked, tally): (AskedUsage<'_, '_>, &UsageTally)| asked.key == key && tally.yes + tally.no > 0;
            if !evaluator.usages().zip(&self.summary.usages).any(is_stated) {
                say!(
                    "note: no policy met states anything about {key}, which is not in the AIPREF vocabulary ({})",
                    UsageKey::VOCABULARY.join(", ")
                );
            }
        }
    }

    fn print_assumptions(&self, evaluator: &Evaluator<'_>) {
        let summary = &self.summary;
        if summary.undated > 0 {
            say!("assumed: {} rows are answered by undated policies, taken to be in force at all times", grouped(summary.undated));
        }
        for (lent, &rows) in Lent::ALL.iter().zip(&summary.lent).filter(|(_, rows)| **rows > 0) {
            let lender = match lent {
                Lent::Scheme => "the other scheme",
                Lent::Www => "the host with www. or without",
                Lent::SchemeAndWww => "the other scheme and the host with www. or without",
            };
            say!(
                "assumed: {} rows have no policy of their own origin and are answered by that of {lender} (--origin-fallback)",
                grouped(rows)
            );
        }
        if summary.dated > 0 {
            say!("assumed: {} rows are answered by the newest snapshot of their origin", grouped(summary.dated));
        }
        let suspects: Vec<&str> = evaluator
            .columns()
            .zip(&summary.agents)
            .filter(|(asked, tally)| asked.reading == 0 && is_suspect(asked.agent, tally))
            .map(|(asked, _)| asked.agent.name())
            .collect();
        if !suspects.is_empty() {
            say!("note: no policy met names {}, and no crawler that robosieve knows is called so: a typing error?", first_ten(&suspects));
        }
        let bad = summary.agents.first().map_or(0, |tally| tally.unresolved_for(Reason::BadUrl));
        if summary.rows > 0 && bad == summary.rows {
            say!("note: no row is a URL, as https://example.com/page: is this a list of URLs, one a line?");
        } else if summary.rows > 0 && summary.undated + summary.dated == 0 {
            say!("note: no row's origin has a policy here: are these the right policies for the list?");
        }
    }

    /// Writes the summary as JSON.
    pub fn write_json(&self, mut out: Output, args: &RunArgs, evaluator: &Evaluator<'_>) -> Result<(), Failure> {
        let value = self.json(args, evaluator);
        writeln!(out, "{}", harmless(format!("{value:#}")))?;
        out.commit()
    }

    fn json(&self, args: &RunArgs, evaluator: &Evaluator<'_>) -> Value {
        let store = evaluator.store();
        let mut agents: Vec<Value> =
            evaluator.columns().zip(&self.summary.agents).map(|(asked, tally)| column_json(&asked, tally)).collect();
        for (asked, tally) in evaluator.usages().zip(&self.summary.usages) {
            let none = self.summary.rows - tally.yes - tally.no;
            agents[asked.column]["usage"][asked.key.name()] = json!({ "y": tally.yes, "n": tally.no, "none": none });
        }
        for (name, column) in &self.sums {
            for (agent, sum) in agents.iter_mut().zip(&column.agents) {
                agent["sums"][&name[..]] = sum_json(sum);
            }
        }
        for (agent, (column, tally)) in agents.iter_mut().zip(self.domains.iter().flat_map(|domains| domains.tallies.iter().enumerate())) {
            let opted_out = self.domains.as_ref().map_or(0, |domains| domains.rule.opted_out_count(column));
            let [allow, disallow, unresolved] = tally.rows;
            agent["registered_domains"] = json!({ "opted_out": opted_out, "allow": allow, "disallow": disallow, "unresolved": unresolved, "disallow_both": tally.both });
            for ((name, _), sum) in self.sums.iter().zip(&tally.sums) {
                let [allow, disallow, unresolved] = sum.map(total_json);
                agent["registered_domains"]["sums"][&name[..]] = json!({ "allow": allow, "disallow": disallow, "unresolved": unresolved });
            }
        }
        let mut value = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "policies": args.policies.policies.to_string_lossy(),
            "store_digest": format!("{:016x}", store.digest()),
            "origins": store.origin_count(),
            "any_origin": store.meta().any_origin,
            "urls": args.inputs.urls.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(" "),
            "files": self.files.iter().map(|(path, rows)| json!({ "file": path.to_string_lossy(), "rows": rows })).collect::<Vec<_>>(),
            "dialect": joined(evaluator, |reading| reading.store().dialect().name),
            "access": joined(evaluator, |reading| reading.access().name()),
            "as_of": "newest",
            "rows": self.summary.rows,
            "lookups": self.summary.lookups,
            "rows_undated": self.summary.undated,
            "rows_dated": self.summary.dated,
            "rows_lent": Lent::ALL.iter().zip(self.summary.lent).map(|(lent, rows)| (lent.name().to_owned(), json!(rows))).collect::<Map<_, _>>(),
            "rows_escaped": self.escaped,
            "rows_malformed": self.remarks.iter().map(|remark| remark.malformed.rows).sum::<u64>(),
            "seconds": self.seconds,
            "agents": agents,
        });
        for (name, column) in &self.sums {
            value["sums"][&name[..]] = json!({ "null": column.nulls, "no_number": column.not_numbers });
        }
        if let Some(domains) = &self.domains {
            value["registered_domains"] = json!(domains.rule.domain_count());
        }
        if self.resumed > 0 {
            value["files_resumed"] = json!(self.resumed);
        }
        if let Some(kept) = &self.kept {
            value["kept"] = json!(kept.rows);
            value["undecided"] = json!(kept.undecided);
            if evaluator.usages().len() > 0 {
                value["opted_out"] = json!(kept.opted_out);
            }
        }
        value
    }

    /// The exit code, by the conditions of `--fail-on`.
    pub fn exit(&self, conditions: &[FailOn]) -> Exit {
        let mut exit = Exit::Done;
        for condition in conditions {
            let count = |tally: &Tally| match condition.what {
                Counted::Allow => tally.allow,
                Counted::Disallow => tally.disallow(),
                Counted::Undecided => tally.unresolved(),
            };
            let worst = self.summary.agents.iter().map(count).max().unwrap_or(0) as f64;
            let limit = if condition.percent { condition.limit / 100.0 * self.summary.rows as f64 } else { condition.limit };
            if worst > limit {
                say!("robosieve: --fail-on {}: there are {}", condition.text, grouped(worst as u64));
                exit = Exit::Found;
            }
        }
        exit
    }
}

const VERDICTS: [Verdict; 3] = [Verdict::Allow, Verdict::Disallow, Verdict::Unresolved];

/// A sum by verdict, and by reason where there is anything.
fn sum_json(sum: &Sum) -> Value {
    let by_verdict = VERDICTS.map(|verdict| {
        let reasons = Reason::ALL.into_iter().map(|reason| (reason.name().to_owned(), sum.total(verdict, reason)));
        let mut value: Map<String, Value> =
            reasons.filter(|(_, total)| total.as_f64() != 0.0).map(|(name, total)| (name, total_json(total))).collect();
        value.insert("total".to_owned(), total_json(sum.total_of(verdict)));
        (verdict.name().to_owned(), Value::Object(value))
    });
    Value::Object(by_verdict.into_iter().collect())
}

fn total_json(total: Total) -> Value {
    match total {
        Total::Integer(sum) => match i64::try_from(sum) {
            Ok(sum) => json!(sum),
            Err(_) => json!(sum as f64),
        },
        Total::Float(sum) => json!(sum),
    }
}

fn shown_total(total: Total) -> String {
    match total {
        Total::Integer(sum) => match u64::try_from(sum) {
            Ok(sum) => grouped(sum),
            Err(_) => sum.to_string(),
        },
        Total::Float(sum) => format!("{sum}"),
    }
}

/// One text a reading, parted by commas.
fn joined(evaluator: &Evaluator<'_>, text: impl Fn(&Reading<'_>) -> &'static str) -> String {
    evaluator.readings().iter().map(text).collect::<Vec<_>>().join(",")
}

fn column_json(asked: &Asked<'_, '_>, tally: &Tally) -> Value {
    let agent = asked.agent;
    let unresolved: Map<String, Value> = Reason::ALL
        .into_iter()
        .map(|reason| (reason.name().to_owned(), json!(tally.unresolved_for(reason))))
        .filter(|(_, n)| *n != 0)
        .collect();
    let mut value = json!({
        "agent": agent.name(),
        "tokens": agent.tokens(),
        "star": agent.star(),
        "header": agent.header(),
        "known": agent.is_known(),
        "allow": tally.allow,
        "disallow": tally.disallow(),
        "disallow_by_name": tally.disallow_named,
        "disallow_by_star": tally.disallow_star,
        "disallow_by_fetch": tally.disallow_fetch,
        "disallow_whole_site": tally.disallow_site,
        "disallow_by_path": tally.disallow() - tally.disallow_site - tally.disallow_fetch,
        "unresolved": tally.unresolved(),
        "unresolved_by_reason": unresolved,
        "rows_named": tally.named,
    });
    if let Some(dialect) = asked.dialect {
        value["dialect"] = json!(dialect);
    }
    value
}

/// Names as messages show them: ten, and how many more.
pub fn first_ten(names: &[&str]) -> String {
    let shown = to_terminal_text(names[..names.len().min(10)].join(", ").as_bytes()).into_owned();
    match names.len().checked_sub(10) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {} more", grouped(more as u64)),
    }
}

/// Whether an agent looks like a typing error: nobody names it, and the registry does not know it.
pub fn is_suspect(agent: &Agent, tally: &Tally) -> bool {
    let is_token = !agent.tokens().is_empty() && agent.header().is_none();
    is_token && tally.named == 0 && !agent.is_known()
}

/// A number with its thousands apart.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The last line of a filter's summary: how many rows have no answer, why, and what became of them or could.
fn undecided_line(undecided: u64, rows: u64, reasons: &str, what: &UndecidedArg) -> String {
    let share = undecided as f64 * 100.0 / (rows.max(1)) as f64;
    let done = match what {
        UndecidedArg::Drop => "left out; keep them with --undecided keep, or write them to a file with --undecided FILE".to_owned(),
        UndecidedArg::Keep => "kept, as --undecided keep asks".to_owned(),
        UndecidedArg::Error => "an error, as --undecided error asks".to_owned(),
        UndecidedArg::File(path) => format!("written to {}", shown(path)),
    };
    format!("{} rows ({share:.1} %) have no answer ({reasons}): {done}", grouped(undecided))
}
