//! The ways in which robosieve can evaluate the list: by rung, with and without rules, by threads, by agents.

use std::num::NonZeroUsize;

use robosieve::agent::Agent;
use robosieve::compile::Options;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Blocks, Decided, Evaluator, Sink, count_rows, run};
use robosieve::program::Rung;
use robosieve::scan::Isa;
use robosieve::store::Store;

use super::agreement::{Agreement, Compare, Keep, Verdicts};
use super::inputs::Inputs;
use super::measure::{Job, Section, Unit, timed};
use super::report::FLOOR;
use crate::exit::Failure;
use crate::summary::grouped;

/// The policies, compiled for one rung alone each.
pub struct Rungs {
    stores: Vec<(Rung, Store)>,
}

impl Rungs {
    /// None of them where the store keeps no bodies.
    pub fn compile(store: &Store) -> Result<Rungs, Failure> {
        let mut rungs = Rungs { stores: Vec::new() };
        if store.meta().has_bodies {
            for rung in [Rung::Backstop, Rung::Dfa] {
                let options = Options::default().with_rung(Some(rung));
                rungs.stores.push((rung, store.recompiled_with(*store.dialect(), options)?));
            }
        }
        Ok(rungs)
    }

    /// The backstop, if there is one.
    pub fn backstop(&self) -> Option<&Store> {
        self.stores.iter().find(|(rung, _)| *rung == Rung::Backstop).map(|(_, store)| store)
    }
}

/// The verdicts that all others are compared with: on every row, for every agent.
pub fn reference(store: &Store, agents: &[Agent], list: &[u8]) -> Result<Keep, Failure> {
    let mut keep = Keep::default();
    run(&mut MappedLines::new(list), &Evaluator::new(store, agents.to_vec()), &mut keep, NonZeroUsize::MIN)?;
    Ok(keep)
}

/// One way.
pub struct Way<'s> {
    section: Section,
    pub name: String,
    work: String,
    /// One pass each, with the index of its first agent.
    passes: Vec<(usize, Evaluator<'s>)>,
    threads: NonZeroUsize,
    rules: bool,
}

/// What a pass includes, whichever way it goes.
pub const WORK: &str =
    "mapped list to one verdict a row: lines, origin look-up, evaluation, verdict bits, counts; policies compiled beforehand";

impl<'s> Way<'s> {
    fn new(name: &str, store: &'s Store, agents: &[Agent]) -> Way<'s> {
        let passes = vec![(0, Evaluator::new(store, agents.to_vec()))];
        Way { section: Section::Whole, name: name.to_owned(), work: WORK.to_owned(), passes, threads: NonZeroUsize::MIN, rules: false }
    }

    fn and_work(mut self, more: &str) -> Way<'s> {
        self.work = format!("{WORK}; {more}");
        self
    }

    /// The same with other evaluators.
    fn with(mut self, change: impl Fn(Evaluator<'s>) -> Evaluator<'s>) -> Way<'s> {
        self.passes = self.passes.into_iter().map(|(first, evaluator)| (first, change(evaluator))).collect();
        self
    }

    /// Every verdict of the way, beside the reference.
    pub fn check(&self, list: &[u8], reference: &[Verdicts]) -> Result<Agreement, Failure> {
        let mut agreement = Agreement::new(&self.name, false);
        for (first, evaluator) in &self.passes {
            let mut compare = Compare { reference, first: *first, rules: self.rules, agreement: &mut agreement };
            run(&mut MappedLines::new(list), evaluator, &mut compare, self.threads)?;
        }
        Ok(agreement)
    }

    fn pass(&self, list: &[u8]) -> Result<(), Failure> {
        for (_, evaluator) in &self.passes {
            run(&mut MappedLines::new(list), evaluator, &mut Drop { rules: self.rules }, self.threads)?;
        }
        Ok(())
    }

    pub fn job<'a>(&'a self, list: &'a [u8], rows: u64) -> Job<'a> {
        let pass = move || timed(|| self.pass(list));
        Job { section: self.section, way: self.name.clone(), work: self.work.clone(), unit: Unit::Url, count: rows, pass: Box::new(pass) }
    }
}

/// A sink that drops what it gets.
struct Drop {
    rules: bool,
}

impl Sink for Drop {
    fn wants_decisions(&self) -> bool {
        self.rules
    }

    fn write(&mut self, _: &Decided<'_>) -> std::io::Result<()> {
        Ok(())
    }
}

/// What all others are measured by: the rows, found as evaluation finds them.
pub fn floor(list: &[u8], rows: u64) -> Job<'_> {
    let work =
        format!("the rows of the mapped list are found, by the code that evaluation uses, and nothing else; {}, one thread", Isa::best());
    let pass = move || {
        timed(|| match count_rows(&mut MappedLines::new(list), Isa::best())? {
            counted if counted == rows => Ok(()),
            counted => Err(Failure::new(format!("{counted} rows were counted where {rows} are evaluated"))),
        })
    };
    Job { section: Section::Whole, way: FLOOR.to_owned(), work, unit: Unit::Url, count: rows, pass: Box::new(pass) }
}

/// Every way that there is for these inputs.
pub fn all<'s>(inputs: &'s Inputs, rungs: &'s Rungs, threads: NonZeroUsize) -> Vec<Way<'s>> {
    let (store, one) = (&inputs.store, &inputs.agents[..1]);
    let mut ways =
        vec![Way::new("engine", store, one).and_work(&format!("the cheapest rung for each rule set, {}, one thread", Isa::best()))];
    for (rung, store) in &rungs.stores {
        let work = match rung {
            Rung::Backstop => "the backstop for every rule set, one thread",
            _ => "the DFA for every rule set that it holds, one thread",
        };
        ways.push(Way::new(rung.name(), store, one).and_work(work));
    }
    for isa in Isa::available().filter(|isa| *isa != Isa::best()) {
        let way = Way::new(&format!("engine, {isa}"), store, one).with(|evaluator| evaluator.with_isa(isa));
        ways.push(way.and_work(&format!("with the instruction set {isa}, one thread")));
    }
    let row_by_row = Way::new("engine, row by row", store, one).with(|evaluator| evaluator.with_blocks(Blocks::Never));
    ways.push(row_by_row.and_work("each row to its end before the next, not many at once, one thread"));
    let with_rules = Way { rules: true, ..Way::new("engine, with rules", store, one) };
    ways.push(with_rules.and_work("and the reason, group and rule of each verdict, one thread"));
    for count in thread_counts(threads) {
        let work = format!("on {count} threads, which are started and ended");
        ways.push(Way { threads: count, ..Way::new(&format!("engine, {count} threads"), store, one).and_work(&work) });
    }
    ways.extend(by_agents(store, &inputs.agents));
    ways
}

fn by_agents<'s>(store: &'s Store, agents: &[Agent]) -> Vec<Way<'s>> {
    let count = agents.len();
    if count < 2 {
        return Vec::new();
    }
    let one_pass = Way::new(&format!("{count} agents, one pass"), store, agents).and_work("for all agents at once, one thread");
    let mut separate = Way::new(&format!("{count} agents, {count} passes"), store, agents).and_work("once for each agent, one thread");
    separate.passes = agents.iter().map(|agent| Evaluator::new(store, vec![agent.clone()])).enumerate().collect();
    [one_pass, separate].into_iter().map(|way| Way { section: Section::Agents, ..way }).collect()
}

/// 2, 4, 8 and so on, and all of them.
fn thread_counts(threads: NonZeroUsize) -> Vec<NonZeroUsize> {
    let mut counts: Vec<usize> =
        std::iter::successors(Some(2), |count| Some(count * 2)).take_while(|&count| count < threads.get()).collect();
    counts.extend((threads.get() > 1).then_some(threads.get()));
    counts.into_iter().filter_map(NonZeroUsize::new).collect()
}

/// The engine on the rows that slow matchers get.
pub fn on_sample<'s>(inputs: &'s Inputs, row_count: usize) -> Way<'s> {
    let way = Way::new("engine, sample", &inputs.store, &inputs.agents[..1]);
    let way = way.and_work(&format!("on the {} rows of the sample, repeated, so all in the cache; one thread", grouped(row_count as u64)));
    Way { section: Section::Sample, ..way }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_double_up_to_those_there_are() {
        let counts = |threads| thread_counts(NonZeroUsize::new(threads).unwrap()).iter().map(|count| count.get()).collect::<Vec<_>>();
        assert_eq!([counts(1), counts(2), counts(6), counts(8)], [vec![], vec![2], vec![2, 4, 6], vec![2, 4, 8]]);
    }
}
