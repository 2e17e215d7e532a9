//! What rule sets need to be asked about blocks of rows, made once enough rows ask for it, by one thread for all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::{Blocks, Evaluator};
use crate::engine::compile::with_ranks;
use crate::engine::matcher::block::{Answers, BlockScratch, Member, Prepared, Targets, Together};
use crate::engine::matcher::{Matcher, Scratch};
use crate::engine::program::Program;

/// Octets of prepared rule sets that an evaluator keeps.
const MAX_LEN: usize = 64 << 20;

/// Rule sets that an evaluator counts the rows of.
const MAX_SLOTS: usize = 1 << 16;

/// The prepared rule sets of an evaluator: whichever thread prepares one does so for all, and for runs to come.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// By where the octets of a block lie: a store lies still as long as anybody asks it.
    entries: Mutex<HashMap<usize, Arc<Entry>>>,
    /// Octets of what is prepared.
    len: AtomicUsize,
    /// How often everything was forgotten.
    era: AtomicU64,
}

/// What is kept of one rule set.
#[derive(Debug, Default)]
struct Entry {
    verdicts: Due,
    /// The same with automata that know ranks, for decisions.
    ranks: Due,
}

/// Something that is made once enough rows have asked for it.
#[derive(Debug, Default)]
struct Due {
    asked: AtomicUsize,
    made: OnceLock<Option<Arc<Prepared>>>,
}

impl Shared {
    fn era(&self) -> u64 {
        // Nothing is published through it: a thread that sees a change late forgets late.
        self.era.load(Ordering::Relaxed)
    }

    fn entry(&self, place: usize) -> Arc<Entry> {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if entries.len() >= MAX_SLOTS {
            self.forget(&mut entries);
        }
        Arc::clone(entries.entry(place).or_default())
    }

    /// So many octets are kept more.
    fn add(&self, len: usize) {
        if self.len.fetch_add(len, Ordering::Relaxed) + len > MAX_LEN {
            self.forget(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Threads follow with their next batch.
    fn forget(&self, entries: &mut HashMap<usize, Arc<Entry>>) {
        entries.clear();
        self.len.store(0, Ordering::Relaxed);
        self.era.fetch_add(1, Ordering::Relaxed);
    }
}

/// What one thread knows of the prepared rule sets.
#[derive(Debug, Default)]
pub(super) struct Workshop {
    /// The era that the rest is of.
    era: u64,
    /// By where the octets of a block lie.
    slots: HashMap<usize, u32>,
    known: Vec<Known>,
    ranked: Vec<Known>,
    /// By the slots of matchers of one place, the search for all their floating rules.
    groups: HashMap<Vec<u32>, Option<Together>>,
    /// The program last made again with ranks, by where its octets lie.
    remade: Option<(usize, Vec<u8>)>,
}

#[derive(Debug)]
enum Known {
    /// Rows still ask.
    Asked(Arc<Entry>),
    /// It is prepared, or not to be.
    Made(Option<Arc<Prepared>>),
}

impl Workshop {
    /// Nothing is known yet of what `shared` keeps.
    pub(super) fn new(shared: &Shared) -> Workshop {
        Workshop { era: shared.era(), ..Workshop::default() }
    }

    /// Whether `shared` forgot what this knows, so that it should begin anew, with whoever remembers slots.
    pub(super) fn is_past(&self, shared: &Shared) -> bool {
        self.era != shared.era()
    }

    /// Where the workshop keeps what `matcher` needs.
    pub(super) fn slot(&mut self, shared: &Shared, matcher: &Matcher<'_>) -> u32 {
        let Workshop { slots, known, ranked, .. } = self;
        let place = matcher.rule_set().block().place();
        *slots.entry(place).or_insert_with(|| {
            let entry = shared.entry(place);
            known.push(Known::Asked(Arc::clone(&entry)));
            ranked.push(Known::Asked(entry));
            known.len() as u32 - 1
        })
    }

    /// Prepares what `matcher` needs for verdicts, if by now enough rows have asked, of which `rows` are new.
    #[inline]
    fn prepare(&mut self, slot: u32, matcher: &Matcher<'_>, rows: usize, evaluator: &Evaluator<'_>) {
        let known = &mut self.known[slot as usize];
        if let Known::Asked(entry) = known {
            let due = &entry.verdicts;
            if due.is_due(rows, evaluator.blocks, || Prepared::worthwhile_rows(matcher)) {
                *known = Known::Made(due.make(&evaluator.prepared, || Prepared::new(matcher)));
            }
        }
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
            self.prepare(slot, matcher, targets.len(), evaluator);
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
        evaluator: &Evaluator<'_>,
    ) -> Option<&Prepared> {
        let Workshop { ranked: all, remade, .. } = self;
        let known = &mut all[slot as usize];
        if let Known::Asked(entry) = known {
            let due = &entry.ranks;
            if due.is_due(rows, evaluator.blocks, || Prepared::worthwhile_rows(matcher) + program.as_octets().len() / 8) {
                *known = Known::Made(due.make(&evaluator.prepared, || ranked(matcher, program, remade)));
            }
        }
        known.made()
    }

    /// Brings what is prepared in a slot into the cache.
    #[inline]
    pub(super) fn prefetch(&self, slot: u32) {
        if let Some(prepared) = self.known[slot as usize].made() {
            prepared.prefetch();
        }
    }
}

impl Due {
    /// Whether it is made, or the rows that have asked, of which `rows` are new, are enough to pay for it.
    #[inline]
    fn is_due(&self, rows: usize, blocks: Blocks, worthwhile: impl Fn() -> usize) -> bool {
        let asked = self.asked.fetch_add(rows, Ordering::Relaxed) + rows;
        match blocks {
            Blocks::Never => false,
            Blocks::Always => true,
            Blocks::Worthwhile => asked >= worthwhile() || self.made.get().is_some(),
        }
    }

    /// Makes it, unless another thread has: or is about to, which is sooner done than asking row by row.
    #[cold]
    fn make(&self, shared: &Shared, make: impl FnOnce() -> Option<Prepared>) -> Option<Arc<Prepared>> {
        let mut len = 0;
        let made = self.made.get_or_init(|| {
            let prepared = make().map(Arc::new);
            len = prepared.as_ref().map_or(0, |prepared| prepared.octet_len());
            prepared
        });
        shared.add(len);
        made.clone()
    }
}

impl Known {
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
