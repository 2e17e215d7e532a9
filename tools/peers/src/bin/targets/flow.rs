//! How rows flow: many agents, two threads, a pipe, rule lines.

use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use robosieve::agent::Agent;
use robosieve::io::lines::{MappedLines, StreamedLines, widen_pipe};
use robosieve::pipeline::{Discard, Evaluator};
use robosieve::scan::Isa;
use robosieve_peers::clock::{Contestant, Times, take_turns};
use robosieve_peers::corpus::Corpus;
use robosieve_peers::policy::{self, ONE, WithRules};

use crate::Plan;
use crate::many;
use crate::report::{Report, Target};
use crate::single::{Setting, evaluate, ns};

const TWO: NonZeroUsize = NonZeroUsize::new(2).expect("not zero");

/// Rows for many agents: 27 passes over ten million would take minutes.
const AGENTS_ROWS: u64 = 2_000_000;

pub fn agents(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    distinct_agents(corpus, plan, report)?;
    for file in ["bench-M", "bench-L"] {
        shared_agents(file, corpus, plan, report)?;
    }
    Ok(())
}

/// 27 agents with rules of their own, in one pass and in 27.
fn distinct_agents(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let setting = Setting::new(corpus, "bench-L", plan.rows.min(AGENTS_ROWS))?;
    let tokens = policy::distinct_tokens(&setting.body, 27);
    assert_eq!(tokens.len(), 27, "so many groups differ");
    let octets = setting.repeated.as_slice();
    let all = Evaluator::new(&setting.store, policy::agents(tokens.iter().map(String::as_str)));
    let singles: Vec<Evaluator<'_>> = tokens.iter().map(|token| Evaluator::new(&setting.store, policy::agents([token.as_str()]))).collect();
    let mut contestants = vec![Contestant::new(|| evaluate(&all, octets, setting.rows))];
    contestants.extend(singles.iter().map(|single| Contestant::new(|| evaluate(single, octets, setting.rows))));
    let times = take_turns(plan.rounds, contestants);
    let passes = Times::sum(&times[1..]);
    let what = "L, 27 distinct groups in one pass: of 27 passes";
    report.line(what, times[0].over(1, &passes, 1), Target::AtMost(0.45));
    report.note(&ns(&[("one pass", &times[0], setting.rows), ("27 passes", &passes, setting.rows)]));
    if plan.check {
        setting.check(what, &all, false, report);
    }
    Ok(())
}

/// 20 agents that fall into three rule sets, and the one with the longest of them.
fn shared_agents(file: &str, corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let setting = Setting::new(corpus, file, plan.rows.min(AGENTS_ROWS))?;
    let unnamed = (1..=18).map(|number| Agent::token(&format!("Nobody{number}")).expect("a token"));
    let agents: Vec<Agent> = policy::agents(["Googlebot", "Bingbot"]).into_iter().chain(unnamed).collect();
    let (all, one) = (Evaluator::new(&setting.store, agents), Evaluator::new(&setting.store, policy::agents(["*"])));
    let octets = setting.repeated.as_slice();
    let turns = [&all, &one].map(|evaluator| Contestant::new(|| evaluate(evaluator, octets, setting.rows)));
    let times = take_turns(plan.rounds, turns.into());
    let what = format!("{}, 20 agents in three rule sets: times one agent", file.trim_start_matches("bench-"));
    report.line(&what, times[0].over(1, &times[1], 1), Target::AtMost(2.2));
    report.note(&ns(&[("20 agents", &times[0], setting.rows), ("one", &times[1], setting.rows)]));
    if plan.check {
        setting.check(&what, &all, false, report);
    }
    Ok(())
}

pub fn threads(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    for file in ["bench-S", "bench-L"] {
        let setting = Setting::new(corpus, file, plan.rows)?;
        let evaluator = Evaluator::new(&setting.store, policy::agents(["*"]));
        two_over_one(file.trim_start_matches("bench-"), &evaluator, setting.repeated.as_slice(), setting.rows, plan, report);
    }
    let setting = many::Setting::new(corpus, "urls-gov.txt", "robots-gov")?;
    let evaluator = Evaluator::new(&setting.store, policy::agents(["*"]));
    two_over_one("urls-gov", &evaluator, setting.list.as_slice(), setting.rows, plan, report);
    Ok(())
}

fn two_over_one(what: &str, evaluator: &Evaluator<'_>, octets: &[u8], rows: u64, plan: &Plan, report: &mut Report) {
    let on = |threads| assert_eq!(policy::evaluate(evaluator, &mut MappedLines::new(octets), &mut Discard, threads).rows, rows);
    let times = take_turns(plan.rounds, vec![Contestant::new(|| on(ONE)), Contestant::new(|| on(TWO))]);
    report.line(&format!("{what} *: two threads over one, times as fast"), times[0].over(1, &times[1], 1), Target::AtLeast(1.85));
    report.note(&ns(&[("one thread", &times[0], rows), ("two", &times[1], rows)]));
}

/// Another process that writes a file into a pipe.
struct Pipe {
    cat: Child,
}

impl Pipe {
    fn of(path: &Path) -> Pipe {
        Pipe { cat: Command::new("cat").arg(path).stdout(Stdio::piped()).spawn().expect("cat is there") }
    }

    fn out(&mut self) -> ChildStdout {
        self.cat.stdout.take().expect("a pipe")
    }

    /// Its end, widened as the command widens what it reads from.
    fn wide_out(&mut self) -> ChildStdout {
        let out = self.out();
        widen_pipe(&out);
        out
    }

    fn end(mut self) {
        assert!(self.cat.wait().expect("a child").success());
    }
}

/// Reads the pipe to its end and does nothing with it.
fn drain(path: &Path, wide: bool, buffer: &mut [u8]) -> u64 {
    let mut pipe = Pipe::of(path);
    let (mut out, mut len) = (if wide { pipe.wide_out() } else { pipe.out() }, 0);
    loop {
        match out.read(buffer).expect("a pipe can be read") {
            0 => break,
            read => len += read as u64,
        }
    }
    pipe.end();
    len
}

pub fn pipe(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    for file in ["bench-S", "bench-L"] {
        let setting = Setting::new(corpus, file, plan.rows)?;
        let path = corpus.scratch("piped");
        corpus.repeat(setting.repeated.as_slice(), 1, &path)?;
        for (threads, name) in [(ONE, "one thread"), (TWO, "two threads")] {
            piped(&format!("{} *, {name}", file.trim_start_matches("bench-")), &setting, &path, threads, plan, report);
        }
    }
    Ok(())
}

fn piped(what: &str, setting: &Setting, path: &Path, threads: NonZeroUsize, plan: &Plan, report: &mut Report) {
    let (octets, rows) = (setting.repeated.as_slice(), setting.rows);
    let evaluator = Evaluator::new(&setting.store, policy::agents(["*"]));
    let drained = |wide| assert_eq!(drain(path, wide, &mut vec![0; 256 << 10]), octets.len() as u64);
    let mapped = || assert_eq!(policy::evaluate(&evaluator, &mut MappedLines::new(octets), &mut Discard, threads).rows, rows);
    let streamed = || {
        let mut pipe = Pipe::of(path);
        let mut source = StreamedLines::new(pipe.wide_out());
        assert_eq!(policy::evaluate(&evaluator, &mut source, &mut Discard, threads).rows, rows);
        drop(source);
        pipe.end();
    };
    let times = take_turns(
        plan.rounds,
        vec![Contestant::new(|| drained(false)), Contestant::new(mapped), Contestant::new(streamed), Contestant::new(|| drained(true))],
    );
    let greater = times[0].greater(&times[1]);
    report.line(&format!("{what}: from a pipe, times the greater"), times[2].over(1, &greater, 1), Target::AtMost(1.2));
    let wide = ("bare drain of a widened pipe", &times[3], rows);
    report.note(&ns(&[("bare drain", &times[0], rows), ("mapped", &times[1], rows), ("from a pipe", &times[2], rows), wide]));
}

/// With the deciding rule of every row, over verdicts alone.
pub fn rules(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    for (file, limit) in [("bench-S", 2.0), ("bench-M", 3.0), ("bench-L", 3.0)] {
        let setting = Setting::new(corpus, file, plan.rows)?;
        let (octets, rows) = (setting.repeated.as_slice(), setting.rows);
        let evaluator = Evaluator::new(&setting.store, policy::agents(["*"]));
        let with_rules = || assert_eq!(policy::evaluate(&evaluator, &mut MappedLines::new(octets), &mut WithRules, ONE).rows, rows);
        let times = take_turns(plan.rounds, vec![Contestant::new(|| evaluate(&evaluator, octets, rows)), Contestant::new(with_rules)]);
        let what = format!("{} *: with rule lines, times without", file.trim_start_matches("bench-"));
        report.line(&what, times[1].over(1, &times[0], 1), Target::AtMost(limit));
        report.note(&ns(&[("verdicts", &times[0], rows), ("with rules", &times[1], rows)]));
        if plan.check {
            setting.check(&what, &evaluator, true, report);
        }
    }
    Ok(())
}

/// Narrower instruction sets over the widest.
pub fn isa(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let named = ["avx512", "avx2", "portable"].map(Isa::by_name);
    let [Some(avx512), Some(avx2), Some(portable)] = named else {
        report.note("instruction sets: not measured, this processor has no AVX-512 to compare with");
        return Ok(());
    };
    for file in ["bench-S", "bench-M", "bench-L", "bench-R3"] {
        let setting = Setting::new(corpus, file, plan.rows)?;
        let with = |isa| Evaluator::new(&setting.store, policy::agents(["*"])).with_isa(isa);
        let evaluators = [avx512, avx2, portable].map(with);
        let octets = setting.repeated.as_slice();
        let turns = evaluators.each_ref().map(|evaluator| Contestant::new(|| evaluate(evaluator, octets, setting.rows)));
        let times = take_turns(plan.rounds, turns.into());
        let name = file.trim_start_matches("bench-");
        for (at, what, limit) in [(1, "AVX2", 1.4), (2, "portable", 2.5)] {
            let what = format!("{name} *: {what}, times AVX-512");
            report.line(&what, times[at].over(1, &times[0], 1), Target::AtMost(limit));
            if plan.check {
                setting.check(&what, &evaluators[at], false, report);
            }
        }
        report.note(&ns(&[("AVX-512", &times[0], setting.rows), ("AVX2", &times[1], setting.rows), ("portable", &times[2], setting.rows)]));
    }
    Ok(())
}
