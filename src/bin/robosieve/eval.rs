//! `eval`: verdict columns for every row.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Instant;

use robosieve::io::arrow::{ArrowColumns, Columns};
use robosieve::io::filter::NoAnswer;
use robosieve::io::json::JsonLines;
use robosieve::io::lines::{MappedLines, StreamedLines};
use robosieve::io::table::Table;
use robosieve::pipeline::{Discard, Evaluator, RunError, Sink, Source, run as run_pipeline};
use robosieve::store::map::{Octets, open as open_map};

use crate::args::{EvalArgs, OutputFormat, RunArgs};
use crate::exit::{Exit, Failure, shown};
use crate::output::Output;
use crate::summary::Report;
use crate::{agents, policies};

pub fn run(args: &EvalArgs) -> Result<Exit, Failure> {
    let format = args.output.as_deref().map(|path| output_format(path, args.output_format)).transpose()?;
    let outputs = [args.output.as_deref(), args.run.summary_json.as_deref()];
    Output::all_apart(&outputs, &kept(&args.run))?;
    Output::all_apart(&outputs, &[&args.run.urls])?;
    let output = args.output.as_deref().map(Output::create).transpose()?;
    with_evaluator(&args.run, |evaluator, report| {
        let Some((output, format)) = output.zip(format) else {
            return decide(&args.run, evaluator, &mut Discard, report);
        };
        match format {
            OutputFormat::Arrow => {
                let columns = Columns { with_url: args.with_url, prefix: args.column_prefix.clone(), ..Columns::default() };
                let mut sink = ArrowColumns::file(output, evaluator, columns)?;
                decide(&args.run, evaluator, &mut sink, report)?;
                report.escaped = sink.escaped();
                sink.finish()?.commit()
            }
            OutputFormat::Jsonl => {
                let mut sink = JsonLines::new(output, evaluator, true);
                decide(&args.run, evaluator, &mut sink, report)?;
                report.escaped = sink.escaped();
                sink.finish()?.commit()
            }
            OutputFormat::Text => {
                let mut sink = Table::new(output, evaluator);
                decide(&args.run, evaluator, &mut sink, report)?;
                report.escaped = sink.escaped();
                sink.finish()?.commit()
            }
        }
    })
}

fn output_format(path: &Path, given: Option<OutputFormat>) -> Result<OutputFormat, Failure> {
    if let Some(format) = given {
        return Ok(format);
    }
    if path == Path::new("-") {
        return Ok(OutputFormat::Text);
    }
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("arrow" | "ipc" | "feather") => Ok(OutputFormat::Arrow),
        Some("jsonl" | "ndjson") => Ok(OutputFormat::Jsonl),
        Some("txt") => Ok(OutputFormat::Text),
        _ => Err(Failure::new(format!(
            "{}: the name does not say how to write it: end it with .arrow, .jsonl or .txt, or give --output-format",
            shown(path)
        ))),
    }
}

/// What a run reads and must keep beside the list, which only a filter may replace by what passes.
pub fn kept(args: &RunArgs) -> Vec<&Path> {
    std::iter::once(&args.policies.policies).chain(&args.agents.agent_file).map(|path| path.as_path()).collect()
}

/// Opens everything that a run reads, does `work`, and prints the summary.
pub fn with_evaluator(args: &RunArgs, work: impl FnOnce(&Evaluator<'_>, &mut Report) -> Result<(), Failure>) -> Result<Exit, Failure> {
    if args.urls == Path::new("-") && args.policies.policies == Path::new("-") {
        return Err(Failure::new("standard input can be the policies or the URLs, not both"));
    }
    let summary_json = args.summary_json.as_deref().map(Output::create).transpose()?;
    let agents = agents::collect(&args.agents)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.count().get()).build()?;
    let stores = pool.install(|| policies::load_all(&args.policies, &args.reading.dialects()))?;
    let preferences = pool.install(|| policies::preferences(&stores, &args.usage.keys()))?;
    drop(pool);
    let mut evaluator = Evaluator::new(&stores[0], agents);
    for store in &stores[1..] {
        evaluator = evaluator.and_by(store);
    }
    for preferences in &preferences {
        evaluator = evaluator.and_usage(preferences);
    }
    if let Some(access) = args.reading.access {
        evaluator = evaluator.with_access(access);
    }
    let mut report = Report::default();
    work(&evaluator, &mut report)?;
    report.print(args, &evaluator);
    if let Some(out) = summary_json {
        report.write_json(out, args, &evaluator)?;
    }
    Ok(report.exit(&args.fail_on))
}

/// Runs the rows through the pipeline into `sink`.
pub fn decide(args: &RunArgs, evaluator: &Evaluator<'_>, sink: &mut dyn Sink, report: &mut Report) -> Result<(), Failure> {
    let started = Instant::now();
    let octets;
    let mut source: Box<dyn Source<'_>> = match Input::open(&args.urls)? {
        Input::Mapped(mapped) => {
            octets = mapped;
            Box::new(MappedLines::new(octets.as_slice()))
        }
        Input::Stream(stream) => Box::new(StreamedLines::new(stream)),
    };
    report.summary = run_lines(&mut *source, evaluator, sink, args)?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(())
}

fn run_lines<'s>(
    source: &mut dyn Source<'s>,
    evaluator: &Evaluator<'s>,
    sink: &mut dyn Sink,
    args: &RunArgs,
) -> Result<robosieve::pipeline::Summary, Failure> {
    run_pipeline(source, evaluator, sink, args.threads.count()).map_err(|error| match error {
        RunError::Sink(error) if !error.get_ref().is_some_and(|inner| inner.is::<NoAnswer>()) => Failure::from(error),
        RunError::Sink(error) | RunError::Source(error) => Failure::of(shown(&args.urls), &error),
        other => Failure::from(other),
    })
}

enum Input {
    Mapped(Octets),
    Stream(Box<dyn io::Read>),
}

impl Input {
    fn open(path: &Path) -> Result<Input, Failure> {
        if path == Path::new("-") {
            return Ok(Input::piped(io::stdin()));
        }
        let failed = |error: io::Error| Failure::of(shown(path), &error);
        let metadata = std::fs::metadata(path).map_err(failed)?;
        if metadata.is_file() || metadata.is_dir() {
            return open_map(path).map(Input::Mapped).map_err(failed);
        }
        Ok(Input::piped(File::open(path).map_err(failed)?))
    }

    #[cfg(unix)]
    fn piped(stream: impl io::Read + std::os::fd::AsFd + 'static) -> Input {
        robosieve::io::lines::widen_pipe(&stream);
        Input::Stream(Box::new(stream))
    }

    #[cfg(not(unix))]
    fn piped(stream: impl io::Read + 'static) -> Input {
        Input::Stream(Box::new(stream))
    }
}
