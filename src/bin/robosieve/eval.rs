//! `eval`: verdict columns for every row.

use std::path::Path;
use std::time::Instant;

use robosieve::io::arrow::{ArrowColumns, Columns};
use robosieve::io::domains::{DomainRule, DomainTallies};
use robosieve::io::inputs::InputFile;
use robosieve::io::json::JsonLines;
use robosieve::io::sums::Sums;
use robosieve::io::table::Table;
use robosieve::pipeline::{Discard, Evaluator, Sink, run as run_pipeline};

use crate::args::{EvalArgs, OutputFormat, RunArgs, ScopeArg};
use crate::exit::{Exit, Failure, shown};
use crate::inputs::Wanted;
use crate::output::Output;
use crate::summary::{Domains, Report};
use crate::{agents, inputs, policies};

pub fn run(args: &EvalArgs) -> Result<Exit, Failure> {
    let format = args.output.as_deref().map(|path| output_format(path, args.output_format)).transpose()?;
    let outputs = [args.output.as_deref(), args.run.summary_json.as_deref()];
    let inputs = inputs::find(&args.run.inputs)?;
    Output::all_apart(&outputs, &kept(&args.run))?;
    Output::all_apart(&outputs, &inputs.files.iter().map(|file| &*file.path).collect::<Vec<_>>())?;
    let output = args.output.as_deref().map(Output::create).transpose()?;
    let files = &inputs.files[..];
    let wanted = Wanted { carried: &args.carry, whole: false };
    with_evaluator(&args.run, files, |evaluator, report| {
        let Some((output, format)) = output.zip(format) else {
            return decide(&args.run, files, wanted, evaluator, &mut Discard, report);
        };
        match format {
            OutputFormat::Arrow => {
                let columns = Columns { with_url: args.with_url, prefix: args.column_prefix.clone(), ..Columns::default() };
                let mut sink = ArrowColumns::file(output, evaluator, columns)?;
                decide(&args.run, files, wanted, evaluator, &mut sink, report)?;
                report.escaped = sink.escaped();
                sink.finish()?.commit()
            }
            OutputFormat::Jsonl => {
                let mut sink = JsonLines::new(output, evaluator, true);
                decide(&args.run, files, wanted, evaluator, &mut sink, report)?;
                report.escaped = sink.escaped();
                sink.finish()?.commit()
            }
            OutputFormat::Text => {
                let mut sink = Table::new(output, evaluator);
                decide(&args.run, files, wanted, evaluator, &mut sink, report)?;
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
pub fn with_evaluator(
    args: &RunArgs,
    files: &[InputFile],
    work: impl FnOnce(&Evaluator<'_>, &mut Report) -> Result<(), Failure>,
) -> Result<Exit, Failure> {
    if args.inputs.urls.iter().any(|path| path == Path::new("-")) && args.policies.policies == Path::new("-") {
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
    if args.account.scope == ScopeArg::RegisteredDomain {
        report.domains = Some(Domains::new(DomainRule::of(&evaluator, args.threads.count())?));
    }
    report.progress.begin(inputs::octet_len(files));
    let worked = work(&evaluator, &mut report);
    report.progress.finish();
    worked?;
    report.print(args, &evaluator);
    if let Some(out) = summary_json {
        report.write_json(out, args, &evaluator)?;
    }
    Ok(report.exit(&args.fail_on))
}

/// Runs the rows of `files` through the pipeline into `sink`, and adds what they come to to `report`.
pub fn decide(
    args: &RunArgs,
    files: &[InputFile],
    wanted: Wanted<'_>,
    evaluator: &Evaluator<'_>,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<(), Failure> {
    let started = Instant::now();
    let mut carried = wanted.carried.to_vec();
    let sum_columns: Vec<usize> = args.account.sums.iter().map(|name| place_of(name, &mut carried)).collect();
    let wanted = Wanted { carried: &carried, ..wanted };
    let meter = report.progress.meter();
    let mut counting = report.progress.counting(sink);
    let read = |sink: &mut dyn Sink| {
        inputs::with_source(files, &args.inputs, wanted, &meter, evaluator, |source, evaluator| {
            run_pipeline(source, evaluator, sink, args.threads.count()).map_err(|error| inputs::failure(files, error))
        })
    };
    let by_domain = |sink: &mut dyn Sink, domains: &mut Option<Domains>| match domains {
        None => read(sink),
        Some(domains) => {
            let mut tallies = DomainTallies::new(sink, &domains.rule, sum_columns.clone());
            let summary = read(&mut tallies)?;
            domains.add(tallies.into_tallies());
            Ok(summary)
        }
    };
    let (summary, sums) = if sum_columns.is_empty() {
        (by_domain(&mut counting, &mut report.domains)?, Vec::new())
    } else {
        let mut sums = Sums::new(&mut counting, sum_columns.iter().copied());
        (by_domain(&mut sums, &mut report.domains)?, sums.into_sums())
    };
    let rows = counting.file_rows;
    report.add_sums(&args.account.sums, sums);
    report.files.extend(files.iter().enumerate().map(|(number, file)| (file.path.clone(), rows.get(number).copied().unwrap_or(0))));
    report.summary.add(&summary);
    report.seconds += started.elapsed().as_secs_f64();
    Ok(())
}

/// The place of a name among names, at whose end it is put if it is not there.
fn place_of(name: &str, names: &mut Vec<String>) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}
