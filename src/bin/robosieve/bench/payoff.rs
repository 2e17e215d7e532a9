//! From how many URLs on compiling a policy pays: beside a scan over its ranked rules, which compiles nothing.

use std::collections::HashMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile};
use robosieve::explain::{Bound, bound};
use robosieve::matcher::{Matcher, Scratch};
use robosieve::policy::Policy;
use robosieve::program::Program;

use super::inputs::{Places, Standing, rows};
use super::measure::quantile;
use super::scan::Ranked;
use crate::exit::Failure;

/// Policies that are looked at.
const MAX_POLICIES: usize = 100;
/// URLs of each.
const MAX_TARGETS: usize = 64;
const ROUNDS: usize = 5;
const MIN_SAMPLE: Duration = Duration::from_micros(100);

/// What is compared, in one sentence each.
pub const WORK: [&str; 4] = [
    "compile: a parsed policy to a program (for all agents), the agent bound, a matcher made",
    "rank: the rules of the groups that bind the agent (taken as known) sorted, patterns taken apart",
    "match: one URL asked of the matcher, its target cut beforehand",
    "scan: one URL compared with ranked rules until one matches, its target cut beforehand",
];

/// What came out, over the policies: quartiles in ascending order.
#[derive(Debug, Default)]
pub struct Payoff {
    pub policies: usize,
    /// Policies on which the scan is never slower.
    pub never: usize,
    /// Of the number of URLs from which on compiling pays: infinite where it never does.
    pub urls: [f64; 3],
    /// Nanoseconds, in the order of [`WORK`].
    pub costs: [[f64; 3]; 4],
}

/// Measures up to a hundred of the policies that are met, evenly spread.
pub fn payoff(places: &mut Places<'_>, agent: &Agent, list: &[u8]) -> Result<Payoff, Failure> {
    let targets = targets(places, list)?;
    let mut order: Vec<_> = targets.into_iter().collect();
    order.sort_unstable();
    let mut costs: [Vec<f64>; 4] = Default::default();
    let mut urls = Vec::new();
    for (index, targets) in order {
        let policy = &places.met[index].policy;
        let Some(cost) = costs_of(policy, &bound(policy, agent), agent, &targets)? else { continue };
        urls.push(pays_at(cost));
        costs.iter_mut().zip(cost).for_each(|(all, cost)| all.push(cost));
    }
    Ok(Payoff {
        policies: urls.len(),
        never: urls.iter().filter(|urls| urls.is_infinite()).count(),
        urls: quartiles(urls),
        costs: costs.map(quartiles),
    })
}

fn pays_at([compile, rank, matched, scan]: [f64; 4]) -> f64 {
    match scan > matched {
        true => ((compile - rank) / (scan - matched)).ceil().max(1.0),
        false => f64::INFINITY,
    }
}

fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [0.25, 0.5, 0.75].map(|share| quantile(&values, share))
}

/// Some targets of each policy that is looked at.
fn targets(places: &mut Places<'_>, list: &[u8]) -> Result<HashMap<usize, Vec<Vec<u8>>>, Failure> {
    let (met, wanted) = (places.met.len(), places.met.len().min(MAX_POLICIES));
    let mut targets: HashMap<usize, Vec<Vec<u8>>> = (0..wanted).map(|place| (place * met / wanted, Vec::new())).collect();
    for row in rows(list) {
        let (Standing::Rules(index), at) = places.find(row)? else { continue };
        if let Some(known) = targets.get_mut(&index).filter(|known| known.len() < MAX_TARGETS) {
            known.push(row[at..].to_vec());
        }
    }
    Ok(targets)
}

/// Medians of the four costs; `None` where no rule binds the agent.
fn costs_of(policy: &Policy, bound: &Bound, agent: &Agent, targets: &[Vec<u8>]) -> Result<Option<[f64; 4]>, Failure> {
    let ranked = Ranked::new(policy, bound);
    let octets = compile(policy, &Options::default());
    let program = Program::check(&octets)?;
    let Some(rule_set) = program.bind(agent).rule_set() else { return Ok(None) };
    let matcher = Matcher::new(program.rule_set(rule_set)?)?;
    let (mut scratch, mut buffer) = (Scratch::new(), Vec::new());
    let mut samples: [Vec<f64>; 4] = Default::default();
    for _ in 0..ROUNDS {
        samples[0].push(repeated(1, || {
            let octets = compile(policy, &Options::default());
            let program = Program::view(&octets).expect("a program that was just compiled is sound");
            let rules = program.bind(agent).rule_set().map(|rule_set| program.rule_set(rule_set).and_then(Matcher::new));
            _ = black_box(rules);
        }));
        samples[1].push(repeated(1, || _ = black_box(Ranked::new(policy, bound))));
        samples[2].push(repeated(targets.len(), || targets.iter().for_each(|target| _ = black_box(matcher.allows(target, &mut scratch)))));
        samples[3].push(repeated(targets.len(), || targets.iter().for_each(|target| _ = black_box(ranked.verdict(target, &mut buffer)))));
    }
    Ok(Some(samples.map(|samples| quartiles(samples)[1])))
}

/// Nanoseconds that one of `count` takes, over enough repetitions.
fn repeated(count: usize, mut work: impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut repeats = 0;
    while repeats == 0 || started.elapsed() < MIN_SAMPLE {
        work();
        repeats += 1;
    }
    started.elapsed().as_nanos() as f64 / (repeats * count.max(1)) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiling_pays_when_the_saved_time_exceeds_its_cost() {
        assert_eq!(pays_at([1_000.0, 100.0, 10.0, 100.0]), 10.0);
        assert_eq!(pays_at([100.0, 1_000.0, 10.0, 100.0]), 1.0);
        assert_eq!(pays_at([1_000.0, 100.0, 10.0, 10.0]), f64::INFINITY);
    }
}
