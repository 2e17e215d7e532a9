//! Policies to programs and stores.

use std::fs;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::time::{Duration, Instant};

use robosieve::compile::{Options, compile as to_program};
use robosieve::dialect::RFC9309;
use robosieve::policy::Policy;
use robosieve_peers::clock::{Contestant, Spread, median, short, take_turns};
use robosieve_peers::corpus::Corpus;
use robosieve_peers::policy;

use crate::Plan;
use crate::report::{Report, Target};

/// The octets of a robots.txt that count.
const LIMIT: usize = 512_000;

/// What a file costs.
struct Cost {
    len: usize,
    parse: Duration,
    compile: Duration,
    program_len: usize,
    /// What texting_robots takes to parse it for one agent; nothing where it refuses or panics.
    peer: Option<Duration>,
}

/// Every file by itself: the greatest time, and the medians.
pub fn compile(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let mut costs = Vec::new();
    let silent = panic::take_hook();
    panic::set_hook(Box::new(|_| {})); // a peer that panics is counted, not reported
    for archive in ["robots-gov", "robots-top"] {
        let bodies = policy::bodies(&corpus.files(archive)?)?;
        costs.extend(bodies.iter().filter(|body| body.len() <= LIMIT).map(|body| cost(body, plan.rounds.min(3))));
    }
    panic::set_hook(silent);
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let slowest = costs.iter().max_by_key(|cost| cost.parse + cost.compile).expect("files");
    report.line("greatest ms to parse and compile a file", one(micros(slowest.parse + slowest.compile) / 1e3), Target::AtMost(10.0));
    report.note(&format!(
        "of {} octets: parse {} µs, compile {} µs",
        slowest.len,
        short(micros(slowest.parse)),
        short(micros(slowest.compile))
    ));
    let of = |value: &dyn Fn(&Cost) -> f64| median(&costs.iter().filter(|cost| cost.peer.is_some()).map(value).collect::<Vec<_>>());
    let ours = of(&|cost| micros(cost.parse + cost.compile));
    let theirs = of(&|cost| micros(cost.peer.expect("only those")));
    report.line("median file, parsed and compiled: times texting_robots' parse", one(ours / theirs), Target::AtMost(4.0));
    let refused = costs.iter().filter(|cost| cost.peer.is_none()).count();
    let (parse, compile) = (of(&|cost| micros(cost.parse)), of(&|cost| micros(cost.compile)));
    report.note(&format!(
        "parse {} µs, compile {} µs, both {} µs; texting_robots {} µs ({} files, without {refused} that it refuses)",
        short(parse),
        short(compile),
        short(ours),
        short(theirs),
        costs.len()
    ));
    let lens = costs.iter().map(|cost| cost.program_len as f64 / 1024.0).collect::<Vec<_>>();
    report.line("median program, KiB", one(median(&lens)), Target::AtMost(4.0));
    Ok(())
}

fn one(value: f64) -> Spread {
    Spread::of(vec![value])
}

/// The least of some times.
fn least<T>(rounds: usize, mut work: impl FnMut() -> T) -> (T, Duration) {
    let mut timed = || {
        let start = Instant::now();
        let result = std::hint::black_box(work());
        (result, start.elapsed())
    };
    let first = timed();
    (1..rounds).fold(first, |least, _| {
        let again = timed();
        if again.1 < least.1 { again } else { least }
    })
}

fn cost(body: &[u8], rounds: usize) -> Cost {
    let (parsed, parse) = least(rounds, || Policy::parse(body, &RFC9309));
    let (program, compile) = least(rounds, || to_program(&parsed, &Options::default()));
    let ask = || texting_robots::Robot::new("Googlebot", body).is_ok();
    let peer = panic::catch_unwind(AssertUnwindSafe(|| least(rounds, ask))).ok();
    let peer = peer.filter(|(accepts, _)| *accepts).map(|(_, time)| time);
    Cost { len: body.len(), parse, compile, program_len: program.len(), peer }
}

/// All files into one store: read, parsed, compiled on every core, written.
pub fn store(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let (gov, top) = (corpus.files("robots-gov")?, corpus.files("robots-top")?);
    let folders: [&Path; 2] = [&gov, &top];
    let path = corpus.scratch("all.rsieve");
    let build = || drop(policy::of_folders(&folders, Options::default(), &path).expect("a store"));
    let times = take_turns(plan.rounds.min(5), vec![Contestant::new(build)]);
    let count = fs::read_dir(&gov)?.count() + fs::read_dir(&top)?.count();
    report.line(&format!("{count} policies into a store, seconds"), times[0].spread_ns(1_000_000_000), Target::AtMost(3.0));
    Ok(())
}
