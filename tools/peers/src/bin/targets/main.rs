//! The table of targets with the ratios measured in one run. `tools/peers/run` builds it and runs it.

mod build;
mod flow;
mod hostile;
mod many;
mod report;
mod single;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use report::Report;
use robosieve_peers::corpus::Corpus;

/// Measures robosieve against its targets on real files, and prints the table.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// The folder of real files.
    #[arg(env = "ROBOSIEVE_CORPUS", value_name = "CORPUS")]
    corpus: PathBuf,
    /// Only these parts.
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Part>,
    /// Rows to which lists are repeated.
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// Rounds in which the contestants take turns.
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// Leaves out the check of verdicts by the backstop and the oracle.
    #[arg(long)]
    unchecked: bool,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    #[value(name = "S")]
    S,
    #[value(name = "M")]
    M,
    #[value(name = "M-Googlebot")]
    MGooglebot,
    #[value(name = "L")]
    L,
    #[value(name = "L-Googlebot")]
    LGooglebot,
    #[value(name = "R3")]
    R3,
    Gov,
    Mixed,
    Agents,
    Threads,
    Pipe,
    Isa,
    Rules,
    Compile,
    Store,
    Hostile,
}

/// How to measure.
#[derive(Clone, Copy)]
struct Plan {
    rows: u64,
    rounds: usize,
    check: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match measure(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("targets: {error}");
            ExitCode::from(2)
        }
    }
}

fn measure(arguments: &Arguments) -> std::io::Result<()> {
    let corpus = Corpus::open(&arguments.corpus)?;
    let plan = Plan { rows: arguments.rows, rounds: arguments.rounds.max(1), check: !arguments.unchecked };
    let wanted = |part: Part| arguments.only.is_empty() || arguments.only.contains(&part);
    let mut report = Report::start(&plan);
    for target in single::TARGETS.iter().filter(|target| wanted(target.part)) {
        single::measure(target, &corpus, &plan, &mut report)?;
    }
    type Measure = fn(&Corpus, &Plan, &mut Report) -> std::io::Result<()>;
    let parts: [(Part, Measure); 10] = [
        (Part::Gov, many::gov),
        (Part::Mixed, many::mixed),
        (Part::Agents, flow::agents),
        (Part::Threads, flow::threads),
        (Part::Pipe, flow::pipe),
        (Part::Isa, flow::isa),
        (Part::Rules, flow::rules),
        (Part::Compile, build::compile),
        (Part::Store, build::store),
        (Part::Hostile, hostile::measure),
    ];
    for (_, measure) in parts.into_iter().filter(|(part, _)| wanted(*part)) {
        measure(&corpus, &plan, &mut report)?;
    }
    report.finish();
    Ok(())
}
