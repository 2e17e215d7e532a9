//! `eval`: verdict columns for every row.

use std::path::Path;
use std::time::Instant;

use robosieve::io::arrow::{ArrowColumns, Columns, url_type};
use robosieve::io::compressed::Compression;
use robosieve::io::csv::{CsvVerdicts, CsvVerdictsOptions};
use robosieve::io::domains::{DomainRule, DomainTallies};
use robosieve::io::inputs::{Format, InputFile};
use robosieve::io::json::JsonLines;
use robosieve::io::parquet::ParquetColumns;
use robosieve::io::sums::Sums;
use robosieve::io::table::Table;
use robosieve::io::text::to_text;
use robosieve::pipeline::{Discard, Evaluator, Fallback, Sink, Summary, run as run_pipeline};

use crate::args::{EvalArgs, FallbackArg, OutputFormat, RunArgs, ScopeArg};
use crate::exit::{Exit, Failure, shown};
use crate::inputs::{Reading, Wanted};
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
    with_evaluator(&args.run, files, |evaluator, report| {
        let wanted = Wanted { carried: &args.carry, sums: &args.run.account.sums, whole: false };
        let mut reading = Reading::open(files, &args.run.inputs, wanted, report.progress.meter())?;
        let Some((output, format)) = output.zip(format) else {
            return decide(&args.run, &mut reading, evaluator, &mut Discard, report);
        };
        let names = || files.iter().map(|file| to_text(file.path.as_os_str().as_encoded_bytes()).0.into_owned()).collect::<Vec<_>>();
        let names = (files.len() > 1).then(names);
        let columns = |reading: &Reading<'_>| Columns {
            with_url: args.with_url,
            prefix: args.column_prefix.clone(),
            url_type: url_type(reading.url_field()),
            files: names.clone(),
            carry: reading.carried_fields(),
            explain: args.explain,
        };
        let delimited = |delimiter: u8| CsvVerdictsOptions {
            delimiter,
            with_url: args.with_url,
            files: names.clone(),
            carry: args.carry.clone(),
            explain: args.explain,
            prefix: args.column_prefix.clone(),
            raw: args.raw,
        };
        let (output, escaped) = match format {
            OutputFormat::Arrow | OutputFormat::Arrows => {
                let mut sink = match format {
                    OutputFormat::Arrow => ArrowColumns::file(output, evaluator, columns(&reading))?,
                    _ => ArrowColumns::stream(output, evaluator, columns(&reading))?,
                };
                decide(&args.run, &mut reading, evaluator, &mut sink, report)?;
                let escaped = sink.escaped();
                (sink.finish()?, escaped)
            }
            OutputFormat::Parquet => {
                let mut sink = ParquetColumns::new(output, evaluator, columns(&reading))?;
                decide(&args.run, &mut reading, evaluator, &mut sink, report)?;
                let escaped = sink.escaped();
                (sink.finish()?, escaped)
            }
            OutputFormat::Csv | OutputFormat::Tsv => {
                let delimiter = if format == OutputFormat::Csv { b',' } else { b'\t' };
                let mut sink = CsvVerdicts::new(output, evaluator, delimited(delimiter))?;
                decide(&args.run, &mut reading, evaluator, &mut sink, report)?;
                let escaped = sink.escaped();
                (sink.finish()?, escaped)
            }
            OutputFormat::Jsonl => {
                let mut sink = JsonLines::new(output, evaluator, true).with_carried(args.carry.clone());
                if let Some(names) = names {
                    sink = sink.with_files(names);
                }
                decide(&args.run, &mut reading, evaluator, &mut sink, report)?;
                let escaped = sink.escaped();
                (sink.finish()?, escaped)
            }
            OutputFormat::Text => {
                let mut sink = Table::new(output, evaluator);
                decide(&args.run, &mut reading, evaluator, &mut sink, report)?;
                let escaped = sink.escaped();
                (sink.finish()?, escaped)
            }
        };
        report.escaped = escaped;
        output.commit()
    })
}

fn output_format(path: &Path, given: Option<OutputFormat>) -> Result<OutputFormat, Failure> {
    if let Some(format) = given {
        return Ok(format);
    }
    if path == Path::new("-") {
        return Ok(OutputFormat::Text);
    }
    let is_compressed = Compression::of_name(path) != Compression::None;
    let format = match Format::of_file_name(path).filter(|format| format.is_text() || !is_compressed) {
        Some(Format::Lines) => Some(OutputFormat::Text),
        Some(Format::Csv) => Some(OutputFormat::Csv),
        Some(Format::Tsv) => Some(OutputFormat::Tsv),
        Some(Format::JsonLines) => Some(OutputFormat::Jsonl),
        Some(Format::ArrowFile) => Some(OutputFormat::Arrow),
        Some(Format::ArrowStream) => Some(OutputFormat::Arrows),
        Some(Format::Parquet) => Some(OutputFormat::Parquet),
        None => None,
    };
    format.ok_or_else(|| {
        Failure::new(format!(
            "{}: the name does not say how to write it: end it with .arrow, .arrows, .parquet, .csv, .tsv, .jsonl or .txt, or give --output-format",
            shown(path)
        ))
    })
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
    let may_lend = |which| args.origin_fallback.contains(&which);
    evaluator = evaluator.with_fallback(Fallback { scheme: may_lend(FallbackArg::Scheme), www: may_lend(FallbackArg::Www) });
    let mut report = Report { summary: Summary::new(evaluator.columns().len(), evaluator.usages().len()), ..Report::default() };
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

/// Runs rows through the pipeline into `sink`, and adds what they come to to `report`.
pub fn decide(
    args: &RunArgs,
    reading: &mut Reading<'_>,
    evaluator: &Evaluator<'_>,
    sink: &mut dyn Sink,
    report: &mut Report,
) -> Result<(), Failure> {
    let started = Instant::now();
    let (files, sum_columns) = (reading.files(), reading.sum_columns.clone());
    let mut counting = report.progress.counting(sink);
    let mut read = |sink: &mut dyn Sink| {
        reading.with_source(evaluator, |source, evaluator| {
            run_pipeline(source, evaluator, sink, args.threads.count()).map_err(|error| inputs::failure(files, error))
        })
    };
    let mut by_domain = |sink: &mut dyn Sink, domains: &mut Option<Domains>| match domains {
        None => read(sink),
        Some(domains) => {
            let mut tallies = DomainTallies::new(sink, &domains.rule, sum_columns.clone());
            let summary = read(&mut tallies)?;
            let tallies = tallies.into_tallies();
            domains.add(tallies);
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
    report.remarks.append(&mut reading.remarks);
    report.seconds += started.elapsed().as_secs_f64();
    Ok(())
}
