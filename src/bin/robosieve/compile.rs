//! `compile`: policies into a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use robosieve::io::manifest::Manifest;
use robosieve::program::Rung;
use robosieve::store::Store;
use robosieve::store::build::Builder;
use robosieve::store::replace::Replacement;

use crate::args::CompileArgs;
use crate::exit::{Exit, Failure, say, shown};
use crate::policies::{NOTHING_TO_COMPILE, add, is_manifest, is_store, open_manifest, report_conflicts, report_inputs};
use crate::summary::grouped;

pub fn run(args: &CompileArgs) -> Result<Exit, Failure> {
    let started = Instant::now();
    let dialect = args.dialect.with_byte_limit(args.byte_limit.0);
    let mut builder = Builder::new(dialect).keep_bodies(!args.no_bodies);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(args.threads.count().get()).build()?;
    if args.output == Path::new("-") {
        return Err(Failure::new("a store is read through a map, so it goes to a file: give --output FILE"));
    }
    if fs::metadata(&args.output).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) && !is_store(&args.output)? {
        return Err(Failure::new(format!("{} is there and is no store: give another name, or remove it", shown(&args.output))));
    }
    let failed = |error: std::io::Error| Failure::of(shown(&args.output), &error);
    let replacement = Replacement::beside(&args.output).map_err(failed)?;
    let directories: Vec<PathBuf> = args.inputs.iter().filter(|input| input.is_dir()).cloned().collect();
    let manifests = manifests(args)?;
    let inputs = pool.install(|| add(&mut builder, &directories, manifests))?;
    report_inputs(&inputs);
    let built = builder.finish()?;
    report_conflicts(built.report());
    if built.report().record_count == 0 {
        return Err(Failure::new(NOTHING_TO_COMPILE));
    }
    let len = built.write_into(replacement).map_err(failed)?;
    let report = built.report();
    say!(
        "{} robots.txt ({} octets, {} distinct), {} rules; {} files left out",
        grouped(report.record_count),
        grouped(report.body_len),
        grouped(report.distinct_body_count),
        grouped(report.rule_count),
        grouped(inputs.file_count),
    );
    let store = Store::open(&args.output)?;
    say!("{}", rungs(&store)?);
    if !report.findings.is_empty() {
        let findings: Vec<_> = report.findings.iter().map(|(code, count)| format!("{code} {}", grouped(*count))).collect();
        say!("findings: {}", findings.join(", "));
    }
    say!(
        "{}: {} origins, {} programs, {} octets, in {:.2} s",
        shown(&args.output),
        grouped(store.origin_count() as u64),
        grouped(store.program_count() as u64),
        grouped(len),
        started.elapsed().as_secs_f64(),
    );
    Ok(Exit::Done)
}

/// The manifests among the inputs, and those of `--manifest`.
fn manifests(args: &CompileArgs) -> Result<Vec<Manifest>, Failure> {
    let mut manifests = Vec::new();
    for input in args.inputs.iter().filter(|input| !input.is_dir()) {
        if input != Path::new("-") && !is_manifest(input) {
            let metadata = fs::metadata(input).map_err(|error| Failure::of(shown(input), &error))?;
            let what = if metadata.is_file() { "a file" } else { "neither a file nor a directory" };
            return Err(Failure::new(format!(
                "{} is {what}: give a directory of robots.txt files, each named by its origin, or a manifest (named .jsonl, or with --manifest)",
                shown(input)
            )));
        }
        manifests.push(open_manifest(input)?);
    }
    for path in &args.manifests {
        manifests.push(open_manifest(path)?);
    }
    Ok(manifests)
}

/// How many blocks of the store's programs are on each rung.
pub fn rungs(store: &Store) -> Result<String, Failure> {
    let mut counts = [0u64; 3];
    let mut floating = 0u64;
    for program in store.programs() {
        let program = program?;
        for index in 0..program.block_count() {
            let block = program.block(index)?;
            counts[block.rung() as usize] += 1;
            floating += u64::from(block.has_floating() && block.rung() == Rung::Dfa);
        }
    }
    Ok(format!(
        "rule sets: {} constant, {} DFA ({} with floating rules beside it), {} backstop",
        grouped(counts[Rung::Constant as usize]),
        grouped(counts[Rung::Dfa as usize]),
        grouped(floating),
        grouped(counts[Rung::Backstop as usize]),
    ))
}
