//! Half a megabyte of wildcard rules, and URLs of 8 KiB.

use std::io;

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile};
use robosieve::dialect::RFC9309;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::policy::Policy;
use robosieve::program::Program;
use robosieve_peers::clock::{Contestant, Spread, take_turns};
use robosieve_peers::corpus::Corpus;
use robosieve_peers::hostile::{KINDS, Kind};

use crate::Plan;
use crate::report::{Report, Target};

const RULES: usize = 500_000;
const URL: usize = 8192;

/// What doubling may cost: twice, and what a larger automaton misses in the caches.
const DOUBLED: f64 = 2.5;

/// How often a target is asked in a round.
const REPEATS: usize = 4;

pub fn measure(_: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let doubled: Vec<[Spread; 2]> = KINDS.iter().map(|kind| kind_of_file(kind, plan, report)).collect();
    for (at, what) in ["rules", "URL"].into_iter().enumerate() {
        let (kind, worst) = KINDS.iter().zip(&doubled).max_by(|a, b| a.1[at].median.total_cmp(&b.1[at].median)).expect("some kinds");
        report.line(&format!("hostile, worst ({}): twice the {what}", kind.name), worst[at], Target::AtMost(DOUBLED));
    }
    Ok(())
}

/// Prints what an octet costs; gives what twice the rules and twice the URL cost.
fn kind_of_file(kind: &Kind, plan: &Plan, report: &mut Report) -> [Spread; 2] {
    let (whole, half) = (program(kind, RULES), program(kind, RULES / 2));
    let (long, short) = (kind.target(URL, 1), kind.target(URL / 2, 1));
    let runs = [(&whole, &long), (&half, &long), (&whole, &short)];
    let times = take_turns(2 * plan.rounds, runs.map(|(program, target)| contestant(program, target)).into());
    let [all, half_rules, half_url] = &times[..] else { unreachable!("three ran") };
    let (rules, url) = (all.over(1, half_rules, 1), all.over(1, half_url, 1));
    report.line(&format!("hostile, {}: ns an octet", kind.name), all.spread_ns((REPEATS * URL) as u64), Target::AtMost(100.0));
    report.note(&format!("twice the rules: {rules} times, twice the URL: {url} times"));
    [rules, url]
}

fn program(kind: &Kind, len: usize) -> Vec<u8> {
    compile(&Policy::parse(&kind.robots(len), &RFC9309), &Options::default())
}

fn contestant<'c>(program: &'c [u8], target: &'c [u8]) -> Contestant<'c> {
    let program = Program::check(program).expect("a sound program");
    let set = program.bind(&Agent::token("*").expect("a token")).rule_set().expect("the group of everybody");
    let matcher = Matcher::new(program.rule_set(set).expect("a sound rule set")).expect("a sound rule set");
    let mut scratch = Scratch::new();
    Contestant::new(move || {
        for _ in 0..REPEATS {
            std::hint::black_box(matcher.allows(std::hint::black_box(target), &mut scratch).expect("a sound program"));
        }
    })
}
