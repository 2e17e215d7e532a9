//! `check`: one policy, few URLs.

use std::io::{self, BufRead, StdinLock, Write};
use std::num::NonZeroUsize;
use std::path::Path;

use robosieve::agent::Agent;
use robosieve::compile::Options;
use robosieve::dialect::RFC9309;
use robosieve::fetch::{Access, Outcome};
use robosieve::io::json::JsonLines;
use robosieve::io::table::Table;
use robosieve::pipeline::{Batch, Evaluator, RunError, Sink, Source, Summary, run as run_pipeline};
use robosieve::program::Detail;
use robosieve::store::Store;

use crate::args::{CheckArgs, Format};
use crate::exit::{Exit, Failure, STDOUT, say};
use crate::summary::{first_ten, is_suspect};
use crate::{agents, policies};

pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let agents = agents::collect(&args.agents)?;
    let body = match &args.robots {
        Some(path) if path == Path::new("-") && args.urls.is_empty() => {
            return Err(Failure::new("the robots.txt comes from standard input, so the URLs must be given as arguments"));
        }
        Some(path) => policies::read_robots(path)?,
        None => Vec::new(),
    };
    if args.robots.is_some() {
        policies::note_body(&body);
    }
    let options = Options::default().with_detail(Detail::Rules);
    let dialects = match args.reading.dialects() {
        none if none.is_empty() => vec![RFC9309],
        dialects => dialects,
    };
    let one = |&dialect| policies::one_for_all(body.clone(), args.status, dialect, options.clone());
    let stores: Vec<Store> = dialects.iter().map(one).collect::<Result<_, _>>()?;
    let preferences = policies::preferences(&stores, &args.usage.keys())?;
    let mut evaluator = Evaluator::new(&stores[0], agents.clone());
    for store in &stores[1..] {
        evaluator = evaluator.and_by(store);
    }
    for preferences in &preferences {
        evaluator = evaluator.and_usage(preferences);
    }
    if let Some(access) = args.reading.access {
        evaluator = evaluator.with_access(access);
    }
    let is_empty = matches!(args.status, Outcome::Status(204 | 205)); // these have no body
    if args.robots.is_none() && !is_empty && evaluator.readings().iter().any(|reading| reading.access().read(args.status) == Access::Rules)
    {
        return Err(Failure::new(format!(
            "after a fetch that ended with {}, rules decide: give the robots.txt with --robots FILE",
            args.status
        )));
    }
    let mut source: Box<dyn Source<'_>> = match args.urls.is_empty() {
        true => Box::new(LineByLine { stdin: io::stdin().lock() }),
        false => Box::new(Given { rows: Some(args.urls.iter().map(|url| url.as_encoded_bytes().to_vec()).collect()) }),
    };
    let out = io::stdout().lock();
    let summary = match args.format {
        Format::Json => ask(&mut *source, &evaluator, JsonLines::new(out, &evaluator, false)),
        Format::Text => ask(&mut *source, &evaluator, Table::new(out, &evaluator)),
    }?;
    note_unknown(&agents, &summary);
    Ok(exit_of(&summary))
}

fn ask<'s>(source: &mut dyn Source<'s>, evaluator: &Evaluator<'s>, mut sink: impl Sink) -> Result<Summary, Failure> {
    let summary = run_pipeline(source, evaluator, &mut sink, NonZeroUsize::MIN).map_err(|error| match error {
        RunError::Sink(error) => Failure::of(STDOUT, &error),
        RunError::Source(error) => Failure::of("standard input", &error),
        other => Failure::from(other),
    })?;
    io::stdout().flush().map_err(|error| Failure::of(STDOUT, &error))?;
    Ok(summary)
}

/// 2 outranks 1: an answer that nobody has is not to be mistaken for a refusal.
fn exit_of(summary: &Summary) -> Exit {
    let worst = |exit, tally: &robosieve::pipeline::Tally| match (tally.unresolved(), tally.disallow()) {
        (0, 0) => exit,
        (0, _) => Exit::Found.max(exit),
        _ => Exit::Error,
    };
    summary.agents.iter().fold(Exit::Done, worst)
}

fn note_unknown(agents: &[Agent], summary: &Summary) {
    let suspects: Vec<&str> =
        agents.iter().zip(&summary.agents).filter(|(agent, tally)| is_suspect(agent, tally)).map(|(agent, _)| agent.name()).collect();
    if summary.rows > 0 && !suspects.is_empty() {
        say!("robosieve: no group names {}, and no crawler that robosieve knows is called so: a typing error?", first_ten(&suspects));
    }
}

/// The URLs of the command line, in one batch.
struct Given {
    rows: Option<Vec<Vec<u8>>>,
}

impl<'s> Source<'s> for Given {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        let Some(rows) = self.rows.take() else { return Ok(None) };
        let mut octets = Vec::new();
        let place = |row: Vec<u8>| {
            let start = octets.len();
            octets.extend(row);
            start..octets.len()
        };
        let places = rows.into_iter().map(place).collect();
        Ok(Some(Batch::rows(octets, places)))
    }
}

/// The lines of standard input, each answered before the next is read: a person may be typing them.
struct LineByLine {
    stdin: StdinLock<'static>,
}

impl<'s> Source<'s> for LineByLine {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        let mut line = Vec::new();
        match self.stdin.read_until(b'\n', &mut line)? {
            0 => Ok(None),
            _ => Ok(Some(Batch::lines(line))),
        }
    }
}
