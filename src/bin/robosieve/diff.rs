//! `diff`: the URLs on which dialects disagree, and why.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use serde_json::json;

use robosieve::explain::Cause;
use robosieve::io::json::line as to_line;
use robosieve::io::text::{to_terminal_text, to_text};
use robosieve::pipeline::{Asked, Decided, Evaluator, Sink};

use crate::args::{DiffArgs, Format};
use crate::eval::{decide, with_evaluator};
use crate::exit::{Exit, Failure, say};
use crate::explain::{Parsed, Steps};
use crate::inputs::{self, Reading, Wanted};
use crate::output::Output;
use crate::summary::grouped;

pub fn run(args: &DiffArgs) -> Result<Exit, Failure> {
    if args.run.reading.dialects().len() != 2 {
        return Err(Failure::new("diff compares two dialects: give --dialects rfc9309,google"));
    }
    let output = Output::create(Path::new("-"))?;
    let inputs = inputs::find(&args.run.inputs)?;
    let mut differing = 0;
    let exit = with_evaluator(&args.run, &inputs.files, |evaluator, report| {
        let mut sink = Differences::new(output, evaluator, args);
        let mut reading = Reading::open(&inputs.files, &args.run.inputs, Wanted::URLS, report.progress.meter())?;
        decide(&args.run, &mut reading, evaluator, &mut sink, report)?;
        sink.report();
        differing = sink.counts.values().sum();
        sink.out.commit()
    })?;
    match differing > 0 && args.exit_code {
        true => Ok(exit.max(Exit::Found)),
        false => Ok(exit),
    }
}

/// Writes the rows on which the two readings disagree.
struct Differences<'e, 's> {
    out: Output,
    evaluator: &'e Evaluator<'s>,
    columns: Vec<Asked<'e, 's>>,
    format: Format,
    /// One a reading.
    parsed: [Parsed; 2],
    counts: BTreeMap<Cause, u64>,
    rows: u64,
    at_start: bool,
}

impl<'e, 's> Differences<'e, 's> {
    fn new(out: Output, evaluator: &'e Evaluator<'s>, args: &DiffArgs) -> Differences<'e, 's> {
        let columns = evaluator.columns().collect();
        Differences {
            out,
            evaluator,
            columns,
            format: args.format,
            parsed: Default::default(),
            counts: BTreeMap::new(),
            rows: 0,
            at_start: true,
        }
    }

    /// Explains a difference, and writes it.
    fn write_row(&mut self, number: u64, url: &[u8], columns: [usize; 2]) -> io::Result<()> {
        let access = columns.map(|column| self.evaluator.readings()[self.columns[column].reading].access());
        let mut take = |side: usize| {
            let Asked { store, agent, .. } = self.columns[columns[side]];
            Steps::take(store, url, agent, access[side], &mut self.parsed[side]).map_err(|failure| io::Error::other(failure.to_string()))
        };
        let steps = [take(0)?, take(1)?];
        let explanations = [steps[0].explanation(), steps[1].explanation()];
        let decisions = [0, 1].map(|side| steps[side].decision(explanations[side].as_ref()));
        let cause = match (&steps, &explanations) {
            ([a, b], [Some(explained_a), Some(explained_b)]) => {
                a.policy().zip(b.policy()).map(|(policy_a, policy_b)| Cause::of((policy_a, explained_a), (policy_b, explained_b)))
            }
            _ => Cause::of_reasons(decisions[0].reason, decisions[1].reason),
        };
        let cause = cause.unwrap_or(Cause::Access);
        *self.counts.entry(cause).or_default() += 1;
        let line = |side: usize| {
            let explanation = explanations[side].as_ref().filter(|_| decisions[side].rule.index().is_some());
            explanation.and_then(|explanation| explanation.matches.first()).map_or(0, |(_, rule)| rule.line())
        };
        let agent = self.columns[columns[0]].agent;
        let names = columns.map(|column| self.columns[column].dialect.unwrap_or_default());
        if self.format == Format::Json {
            let side = |side: usize| json!({ "verdict": decisions[side].verdict.name(), "reason": decisions[side].reason.name(), "line": line(side) });
            let object = json!({
                "row": number, "url": to_text(url).0, "agent": agent.name(), "cause": cause.name(), names[0]: side(0), names[1]: side(1),
            });
            return writeln!(self.out, "{}", to_line(&object));
        }
        if std::mem::take(&mut self.at_start) {
            writeln!(self.out, "{:<12} {:<16} {:<22} {:<22} url", "cause", "agent", names[0], names[1])?;
        }
        let side = |side: usize| match line(side) {
            0 => format!("{} ({})", decisions[side].verdict, decisions[side].reason),
            line => format!("{} line {line}", decisions[side].verdict),
        };
        let agent = to_terminal_text(agent.name().as_bytes()).into_owned();
        writeln!(self.out, "{:<12} {agent:<16} {:<22} {:<22} {}", cause, side(0), side(1), to_terminal_text(url))
    }

    fn report(&self) {
        let (differing, answers) = (self.counts.values().sum::<u64>(), self.rows * (self.columns.len() / 2) as u64);
        say!("{} of {} answers differ", grouped(differing), grouped(answers));
        for (cause, count) in &self.counts {
            say!("{:>12} {cause}: {}", grouped(*count), in_words(*cause));
        }
    }
}

impl Sink for Differences<'_, '_> {
    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let half = self.columns.len() / 2;
        self.rows += decided.row_count() as u64;
        for row in 0..decided.row_count() {
            for agent in 0..half {
                if decided.verdict(row, agent) != decided.verdict(row, half + agent) {
                    self.write_row(decided.first_row() + row as u64, decided.row(row), [agent, half + agent])?;
                }
            }
        }
        Ok(())
    }
}

fn in_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Url => "one of them takes the row for no URL",
        Cause::Origin => "they look for the policy under different origins",
        Cause::Access => "they take the outcome of the fetch otherwise",
        Cause::RobotsTxt => "one of them exempts robots.txt",
        Cause::Group => "other groups bind the agent",
        Cause::Line => "a line is a rule to one of them alone",
        Cause::Octets => "a rule matches for one of them alone: other octets are compared",
        Cause::Specificity => "the same rules match, and another one is the most specific",
        _ => "something else",
    }
}
