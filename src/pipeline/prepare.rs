//! What rule sets need to be asked about blocks of rows, made once enough rows ask for it.

use std::collections::HashMap;

use super::{Blocks, Evaluator};
use crate::engine::compile::with_ranks;
use crate::engine::matcher::block::{Answers, BlockScratch, Member, Prepared, Targets, Together};
use crate::engine::matcher::{Matcher, Scratch};
use crate::engine::program::Program;

/// Octets of prepared rule sets that a thread keeps.
const MAX_LEN: usize = 64 << 20;

/// Rule sets that a thread counts the rows of.
const MAX_SLOTS: usize = 1 << 16;

/// The prepared rule sets of one thread.
#[derive(Debug, Default)]
pub(super) struct Workshop {
    /// By where the octets of a block lie: a store lies still as long as anybody asks it.
    slots: HashMap<usize, u32>,
    known: Vec<Known>,
    /// The same with automata that know ranks, for decisions.
    ranked: Vec<Known>,
    /// By the slots of matchers of one place, the search for all their floating rules.
    groups: HashMap<Vec<u32>, Option<Together>>,
    len: usize,
    /// The program last made again with ranks, by where its octets lie.
    remade: Option<(usize, Vec<u8>)>,
}

#[derive(Debug)]
enum Known {
    /// So many rows have asked.
    Asked(usize),
    /// It is prepared, or not to be.
    Made(Option<Box<Prepared>>),
}

impl Workshop {
    /// Whether it counts so many rule sets that it should begin anew, with whoever remembers slots.
    pub(super) fn is_full(&self) -> bool {
        self.known.len() > MAX_SLOTS
    }

    /// Where the workshop keeps what `matcher` needs.
    pub(super) fn slot(&mut self, matcher: &Matcher<'_>) -> u32 {
        let Workshop { slots, known, ranked, .. } = self;
        *slots.entry(matcher.rule_set().block().place()).or_insert_with(|| {
            known.push(Known::Asked(0));
            ranked.push(Known::Asked(0));
            known.len() as u32 - 1
        })
    }

    /// What `matcher` needs for verdicts, if by now enough rows have asked, of which `rows` are new.
    #[inline]
    pub(super) fn prepared(&mut self, slot: u32, matcher: &Matcher<'_>, rows: usize, blocks: Blocks) -> Option<&Prepared> {
        let known = &mut self.known[slot as usize];
        if known.is_due(rows, blocks, || Prepared::worthwhile_rows(matcher)) {
            let made = known.make(|| Prepared::new(matcher));
            self.add(made);
        }
        self.known[slot as usize].made()
    }

    /// Asks `matchers`, of one program, about `targets`: as many as can be together, each of the others by itself.
    #[expect(clippy::too_many_arguments)]
    pub(super) fn ask(
        &mut self,
        matchers: &[Matcher<'_>],
        slots: &[u32],
        evaluator: &Evaluator<'_>,
        targets: Targets<'_>,
        scratch: &mut Scratch,
        block: &mut BlockScratch,
        answers: &mut [Answers],
    ) {
        for (&slot, matcher) in slots.iter().zip(matchers) {
            self.prepared(slot, matcher, targets.len(), evaluator.blocks);
        }
        if let ([matcher], [slot], [answers, ..]) = (matchers, slots, &mut *answers) {
            return match self.known[*slot as usize].made() {
                Some(prepared) => prepared.ask(matcher, evaluator.isa, targets, scratch, block, answers),
                None => answers.ask_each(targets, |raw| matcher.allows(raw, scratch)),
            };
        }
        let Workshop { known, groups, .. } = self;
        let member = |index: usize| Some(Member { matcher: &matchers[index], prepared: known[slots[index] as usize].made()? });
        let joins = |&index: &usize| member(index).is_some_and(|member| member.prepared.joins());
        let mut together: Vec<usize> = (0..matchers.len()).filter(joins).collect();
        let members: Vec<Member> = together.iter().filter_map(|&index| member(index)).collect();
        let key = together.iter().map(|&index| slots[index]).collect();
        match groups.entry(key).or_insert_with(|| if members.len() > 1 { Together::new(&members) } else { None }) {
            Some(group) => {
                let mut outs: Vec<Answers> = together.iter().map(|&index| std::mem::take(&mut answers[index])).collect();
                group.ask(&members, evaluator.isa, targets, scratch, block, &mut outs);
                together.iter().zip(outs).for_each(|(&index, out)| answers[index] = out);
            }
            None => together.clear(),
        }
        for index in (0..matchers.len()).filter(|index| !together.contains(index)) {
            let (matcher, answers) = (&matchers[index], &mut answers[index]);
            match member(index) {
                Some(Member { prepared, .. }) => prepared.ask(matcher, evaluator.isa, targets, scratch, block, answers),
                None => answers.ask_each(targets, |raw| matcher.allows(raw, scratch)),
            }
        }
    }

    /// What `matcher`, a rule set of `program`, needs for decisions, likewise: an automaton that knows ranks, made from the program.
    pub(super) fn ranked(
        &mut self,
        slot: u32,
        matcher: &Matcher<'_>,
        program: &Program<'_>,
        rows: usize,
        blocks: Blocks,
    ) -> Option<&Prepared> {
        let Workshop { ranked: all, remade, .. } = self;
        let known = &mut all[slot as usize];
        if known.is_due(rows, blocks, || Prepared::worthwhile_rows(matcher) + program.as_octets().len() / 8) {
            let made = known.make(|| ranked(matcher, program, remade));
            self.add(made);
        }
        self.ranked[slot as usize].made()
    }

    /// So many octets are kept more.
    fn add(&mut self, len: usize) {
        self.len += len;
        if self.len > MAX_LEN {
            self.known.iter_mut().chain(&mut self.ranked).for_each(|known| *known = Known::Asked(0));
            self.groups.clear();
            self.len = 0;
        }
    }

    /// Brings what is prepared in a slot into the cache.
    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        if let Some(prepared) = self.known[slot as usize].made() {
            prepared.prefetch();
        }
    }
}

impl Known {
    /// Whether the rows that have asked, of which `rows` are new, are enough to pay for it.
    #[inline]
    fn is_due(&mut self, rows: usize, blocks: Blocks, worthwhile: impl Fn() -> usize) -> bool {
        let Known::Asked(asked) = self else { return false };
        *asked += rows;
        match blocks {
            Blocks::Never => false,
            Blocks::Always => true,
            Blocks::Worthwhile => *asked >= worthwhile(),
        }
    }

    /// Makes it; gives its size.
    #[cold]
    fn make(&mut self, make: impl FnOnce() -> Option<Prepared>) -> usize {
        let prepared = make().map(Box::new);
        let len = prepared.as_ref().map_or(0, |prepared| prepared.octet_len());
        *self = Known::Made(prepared);
        len
    }

    #[inline]
    fn made(&self) -> Option<&Prepared> {
        match self {
            Known::Made(prepared) => prepared.as_deref(),
            Known::Asked(_) => None,
        }
    }
}

/// Prepares a rule set of `program` made again with ranks, or of `remade` if that is it.
fn ranked(matcher: &Matcher<'_>, program: &Program<'_>, remade: &mut Option<(usize, Vec<u8>)>) -> Option<Prepared> {
    let place = program.as_octets().as_ptr() as usize;
    if remade.as_ref().is_none_or(|(known, _)| *known != place) {
        *remade = Some((place, with_ranks(program).ok()?));
    }
    let program = Program::view(&remade.as_ref()?.1).ok()?;
    let mut sets = (0..program.rule_set_count() as u32).filter_map(|index| program.rule_set(index).ok());
    let rules = sets.find(|rules| rules.block_index() == matcher.rule_set().block_index())?;
    Prepared::with_ranks(&Matcher::new(rules).ok()?)
}
