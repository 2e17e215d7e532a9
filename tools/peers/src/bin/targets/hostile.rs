//! Half a megabyte of wildcard rules, and URLs of 8 KiB.

use std::io;

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile};
use robosieve::dialect::RFC9309;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::policy::Policy;
use robosieve::program::Program;
use robosieve_peers::clock::{Contestant, take_turns};
use robosieve_peers::corpus::Corpus;
use robosieve_peers::hostile::{KINDS, Kind};

use crate::Plan;
use crate::report::{Report, Target};

const RULES: usize = 500_000;
const URL: usize = 8192;

/// What doubling may cost: twice, and what a larger automaton misses in the caches.
const DOUBLED: f64 = 2.5;

pub fn measure(_: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    for kind in KINDS {
        kind_of_file(kind, plan, report);
    }
    Ok(())
}

fn kind_of_file(kind: &Kind, plan: &Plan, report: &mut Report) {
    let (whole, half) = (program(kind, RULES), program(kind, RULES / 2));
    let (long, short) = (kind.target(URL), kind.target(URL / 2));
    let runs = [(&whole, &long), (&half, &long), (&whole, &short)];
    let times = take_turns(plan.rounds, runs.map(|(program, target)| contestant(program, target)).into());
    let [all, half_rules, half_url] = &times[..] else { unreachable!("three ran") };
    let name = format!("hostile, {}", kind.name);
    let units = (REPEATS * URL) as u64;
    report.line(&format!("{name}: ns an octet"), all.spread_ns(units), Target::AtMost(100.0));
    report.line(&format!("{name}: twice the rules"), all.over(1, half_rules, 1), Target::AtMost(DOUBLED));
    report.line(&format!("{name}: twice the URL"), all.over(1, half_url, 1), Target::AtMost(DOUBLED));
}

/// How often a target is asked in a round.
const REPEATS: usize = 4;

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
