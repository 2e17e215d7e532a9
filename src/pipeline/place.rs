//! Where rows of one origin stand in one reading of the policies.

use super::evaluate::{Evaluator, Reading};
use super::fallback::{Fallback, Lent};
use super::prepare::Workshop;
use super::{Bits, BoundBy, Column, Summary, Tally};
use crate::engine::matcher::block::{Answers, BlockScratch, NO_RANK, Targets};
use crate::engine::matcher::{Matcher, Scratch};
use crate::engine::program::{Binding, Constant, Corrupt, Program, RuleSet, Rung};
use crate::protocol::agent::Agent;
use crate::protocol::decision::{Decision, Reason, Verdict};
use crate::protocol::fetch::{Access, Outcome};
use crate::store::{Snapshot, SnapshotTime};
use crate::target::form::{OriginKey, TargetForm};
use crate::target::url::{BadUrl, Url};

/// How an agent stands at the origin of the current rows.
#[derive(Debug, Clone, Copy)]
struct Standing<'s> {
    /// The same for every target but robots.txt, or decided by the matcher of that index.
    answer: Answer,
    bound_by: BoundBy<'s>,
}

#[derive(Debug, Clone, Copy)]
enum Answer {
    Same(Decision),
    Asked(usize),
}

/// What one agent's rows came to in the current run.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    allow: u64,
    unresolved: u64,
}

/// Buffers of a thread.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pub(super) scratch: Scratch,
    pub(super) target: Vec<u8>,
    pub(super) key: Vec<u8>,
    /// What each matcher said of the current row.
    verdicts: Vec<Verdict>,
    block: BlockScratch,
    pub(super) workshop: Workshop,
    /// What each matcher said of the current run: verdicts, or ranks.
    answers: Vec<Answers>,
    ranks: Vec<Vec<u32>>,
}

/// Where rows that are answered together lie in their batch.
#[derive(Debug, Clone, Copy)]
pub(super) enum RowsOf<'r> {
    /// One behind another from this row on.
    From(usize),
    /// These rows.
    Each(&'r [u32]),
}

impl RowsOf<'_> {
    pub(super) fn row(&self, index: usize) -> usize {
        match self {
            RowsOf::From(first) => first + index,
            RowsOf::Each(rows) => rows[index] as usize,
        }
    }

    /// Sets their bits, given by words.
    fn set(&self, bits: &mut Bits, words: impl Iterator<Item = u64>) {
        match self {
            RowsOf::From(first) => bits.set_words(*first, words),
            RowsOf::Each(rows) => {
                for (rows, word) in rows.chunks(64).zip(words) {
                    rows.iter().enumerate().for_each(|(at, &row)| bits.set(row as usize, word >> at & 1 == 1));
                }
            }
        }
    }
}

/// What a row begins with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'r> {
    /// Octets that are the key of the origin themselves.
    Plain(&'r [u8]),
    /// Any other URL.
    Split(Url<'r>),
}

impl<'r> Origin<'r> {
    #[inline]
    pub(super) fn of(row: &'r [u8]) -> Result<Origin<'r>, BadUrl> {
        match Url::plain_origin(row) {
            Some(prefix) => Ok(Origin::Plain(prefix)),
            None => Url::split(row).map(Origin::Split),
        }
    }

    /// The octets that decide the origin.
    #[inline]
    pub(super) fn prefix(&self) -> &'r [u8] {
        match self {
            Origin::Plain(prefix) => prefix,
            Origin::Split(url) => url.prefix(),
        }
    }

    /// Replaces `key` by the key that a form knows the origin by.
    pub(super) fn write_key(&self, form: OriginKey, key: &mut Vec<u8>) -> Result<(), BadUrl> {
        key.clear();
        match (self, form) {
            (Origin::Plain(prefix), OriginKey::SchemeHostPort) => {
                key.extend_from_slice(prefix);
                Ok(())
            }
            (Origin::Plain(prefix), _) => Url::split(prefix)?.write_key(form, key),
            (Origin::Split(url), _) => url.write_key(form, key),
        }
    }
}

/// Where the current rows stand in one reading.
#[derive(Debug, Default)]
pub(super) struct Place<'s> {
    /// Whether the rows name an origin.
    pub(super) has_origin: bool,
    /// Where the raw target begins in the rows; `None` where each row is cut on its own.
    pub(super) target_at: Option<usize>,
    pub(super) snapshot: Option<Snapshot<'s>>,
    /// Which origin has lent its policy.
    pub(super) lent: Option<Lent>,
    standings: Vec<Standing<'s>>,
    counts: Vec<Counts>,
    /// Agents with the same rules share one.
    matchers: Vec<Matcher<'s>>,
    /// The program that they are of.
    program: Option<Program<'s>>,
    /// Of each, where the workshop keeps what it needs; none before it was asked for.
    slots: Vec<u32>,
}

impl<'s> Place<'s> {
    /// Looks up the origin of a row and binds the agents.
    pub(super) fn enter(
        &mut self,
        reading: &Reading<'s>,
        agents: &[Agent],
        origin: Result<Origin<'_>, BadUrl>,
        detail: bool,
        fallback: Fallback,
        key: &mut Vec<u8>,
    ) {
        key.clear();
        self.snapshot = None;
        self.lent = None;
        self.target_at = None;
        self.has_origin = true;
        if !reading.cuts_itself() {
            let Ok(origin) = origin.and_then(|origin| origin.write_key(reading.form.origin(), key).map(|()| origin)) else {
                self.has_origin = false;
                return self.set_all(agents.len(), Decision::unresolved(Reason::BadUrl));
            };
            self.target_at = Some(reading.form.start(origin.prefix()));
        }
        if let Err(reason) = self.look_up(reading, agents, detail, fallback, key) {
            self.set_all(agents.len(), Decision::unresolved(reason));
        }
    }

    /// Where rows of no origin in particular stand, if they have one at all.
    pub(super) fn of_one_decision(has_origin: bool, agent_count: usize, decision: Decision) -> Place<'s> {
        let mut place = Place { has_origin, ..Place::default() };
        place.set_all(agent_count, decision);
        place
    }

    /// The verdict of every target but robots.txt for every agent, if they all have the same.
    pub(super) fn fixed(&self) -> Option<Verdict> {
        let of = |standing: &Standing<'_>| match standing.answer {
            Answer::Same(decision) => Some(decision.verdict),
            Answer::Asked(matcher) => {
                let block = self.matchers[matcher].rule_set().block();
                match (block.rung(), block.constant()) {
                    (Rung::Constant, Constant::Allows) => Some(Verdict::Allow),
                    (Rung::Constant, Constant::Disallows) => Some(Verdict::Disallow),
                    _ => None,
                }
            }
        };
        let first = of(self.standings.first()?)?;
        self.standings.iter().all(|standing| of(standing) == Some(first)).then_some(first)
    }

    /// Counts rows that have their verdicts, of which so many are not the fixed one but allowed as robots.txt.
    pub(super) fn count_fixed(&mut self, fixed: Verdict, rows: u64, exempt: u64) {
        let allow = if fixed == Verdict::Allow { rows } else { exempt };
        let unresolved = if fixed == Verdict::Unresolved { rows - exempt } else { 0 };
        self.counts.clear();
        self.counts.resize(self.standings.len(), Counts { allow, unresolved });
    }

    fn set_all(&mut self, agent_count: usize, decision: Decision) {
        self.matchers.clear();
        self.slots.clear();
        self.standings.clear();
        self.standings.resize(agent_count, Standing { answer: Answer::Same(decision), bound_by: BoundBy::Nobody });
    }

    fn look_up(&mut self, reading: &Reading<'s>, agents: &[Agent], detail: bool, fallback: Fallback, key: &[u8]) -> Result<(), Reason> {
        let corrupt = |_: Corrupt| Reason::Corrupt;
        let (origin, lent) = fallback.find(reading.store, key).map_err(corrupt)?.ok_or(Reason::NoPolicy)?;
        self.lent = lent;
        let snapshot = origin.newest().map_err(corrupt)?;
        self.snapshot = Some(snapshot);
        let by_fetch = |verdict| Decision::new(verdict, Reason::FetchStatus);
        match reading.access.read(snapshot.outcome()) {
            Access::Rules => return self.bind_all(reading, agents, detail, &snapshot).map_err(corrupt),
            Access::Allow => self.set_all(agents.len(), by_fetch(Verdict::Allow)),
            Access::Disallow => self.set_all(agents.len(), by_fetch(Verdict::Disallow)),
            Access::Unresolved if snapshot.outcome() == Outcome::Unknown => return Err(Reason::NoPolicy),
            Access::Unresolved => return Err(Reason::FetchStatus),
        }
        Ok(())
    }

    fn bind_all(&mut self, reading: &Reading<'s>, agents: &[Agent], detail: bool, snapshot: &Snapshot<'s>) -> Result<(), Corrupt> {
        self.matchers.clear();
        self.slots.clear();
        self.standings.clear();
        let Some(program) = snapshot.program_index().map(|_| reading.store.program(snapshot)).transpose()? else {
            // A success without a body: an empty file, which binds nobody.
            self.set_all(agents.len(), Decision::new(Verdict::Allow, Reason::NoGroup));
            return Ok(());
        };
        self.program = Some(program);
        for agent in agents {
            let binding = program.bind(agent);
            let bound_by = match binding {
                Binding::Named { token, .. } => BoundBy::Token(token),
                Binding::Contained { token, .. } => BoundBy::Contained(token),
                Binding::Star { .. } => BoundBy::Star,
                Binding::Nobody => BoundBy::Nobody,
            };
            let answer = match binding.rule_set() {
                Some(rule_set) => Answer::Asked(self.matcher(Matcher::new(program.rule_set(rule_set)?)?, detail)),
                None => Answer::Same(Decision::new(Verdict::Allow, Reason::NoGroup)),
            };
            self.standings.push(Standing { answer, bound_by });
        }
        Ok(())
    }

    /// The index of that matcher or of one that gives the same answers.
    fn matcher(&mut self, matcher: Matcher<'s>, detail: bool) -> usize {
        let rules = matcher.rule_set();
        let serves = |known: RuleSet<'s>| if detail { known.has_decisions_of(&rules) } else { known.has_verdicts_of(&rules) };
        let known = self.matchers.iter().position(|known| serves(known.rule_set()));
        known.unwrap_or_else(|| {
            self.matchers.push(matcher);
            self.matchers.len() - 1
        })
    }

    /// The raw target of a row.
    #[inline]
    pub(super) fn target<'r>(&self, form: &TargetForm, row: &'r [u8]) -> &'r [u8] {
        match (self.has_origin, self.target_at) {
            (false, _) => &[],
            (true, Some(start)) => &row[start..],
            (true, None) => &row[form.start(row)..],
        }
    }

    /// Verdicts alone: each matcher is asked once, each agent gets a bit.
    #[inline]
    pub(super) fn verdict_row(&mut self, form: &TargetForm, row_octets: &[u8], buffers: &mut Buffers, columns: &mut [Column], row: usize) {
        let raw = self.target(form, row_octets);
        self.verdict_raw(form, raw, buffers, columns, row);
    }

    /// The same for a raw target.
    #[inline]
    pub(super) fn verdict_raw(&mut self, form: &TargetForm, raw: &[u8], buffers: &mut Buffers, columns: &mut [Column], row: usize) {
        buffers.verdicts.clear();
        for matcher in &self.matchers {
            buffers.verdicts.push(match matcher.allows(raw, &mut buffers.scratch) {
                Ok(true) => Verdict::Allow,
                Ok(false) => Verdict::Disallow,
                Err(_) => Verdict::Unresolved,
            });
        }
        for ((standing, column), counts) in self.standings.iter().zip(columns).zip(&mut self.counts) {
            let verdict = match standing.answer {
                Answer::Asked(matcher) => buffers.verdicts[matcher],
                Answer::Same(Decision { verdict: Verdict::Allow, .. }) => Verdict::Allow,
                Answer::Same(decision) => match self.has_origin && form.is_exempt(raw, &mut buffers.target) {
                    true => Verdict::Allow,
                    false => decision.verdict,
                },
            };
            column.set(row, verdict);
            count(counts, verdict);
        }
    }

    /// Verdicts alone, for lines with one prefix, which lie in the batch as `rows` says.
    pub(super) fn verdicts_of(
        &mut self,
        evaluator: &Evaluator<'s>,
        targets: Targets<'_>,
        buffers: &mut Buffers,
        columns: &mut [Column],
        rows: RowsOf<'_>,
    ) {
        let form = evaluator.readings[0].form;
        let Buffers { scratch, block, workshop, answers, target, .. } = buffers;
        let count = self.matchers.len();
        answers.resize_with(answers.len().max(count + 1), Answers::default);
        self.slots.extend(self.matchers[self.slots.len()..].iter().map(|matcher| workshop.slot(&evaluator.prepared, matcher)));
        workshop.ask(&self.matchers, &self.slots, evaluator, targets, scratch, block, answers);
        // Who is not asked may still crawl robots.txt itself.
        let is_same = |standing: &Standing| matches!(standing.answer, Answer::Same(decision) if decision.verdict != Verdict::Allow);
        if self.standings.iter().any(is_same) {
            answers[count].ask_each(targets, |raw| Ok(form.is_exempt(raw, target)));
        }
        let all = |index: usize| all_of(targets.len(), index);
        for ((standing, column), counts) in self.standings.iter().zip(columns).zip(&mut self.counts) {
            match standing.answer {
                Answer::Asked(matcher) => {
                    let Answers { allow, corrupt } = &answers[matcher];
                    rows.set(&mut column.allow, allow.iter().copied());
                    rows.set(&mut column.resolved, (0..allow.len()).map(all));
                    corrupt.iter().for_each(|&row| column.resolved.clear(rows.row(row as usize)));
                    counts.allow += count_ones(allow);
                    counts.unresolved += corrupt.len() as u64;
                }
                Answer::Same(Decision { verdict: Verdict::Allow, .. }) => {
                    rows.set(&mut column.allow, (0..targets.len().div_ceil(64)).map(all));
                    rows.set(&mut column.resolved, (0..targets.len().div_ceil(64)).map(all));
                    counts.allow += targets.len() as u64;
                }
                Answer::Same(decision) => {
                    let exempt = &answers[count].allow;
                    rows.set(&mut column.allow, exempt.iter().copied());
                    counts.allow += count_ones(exempt);
                    if decision.verdict == Verdict::Unresolved {
                        rows.set(&mut column.resolved, exempt.iter().copied());
                        counts.unresolved += targets.len() as u64 - count_ones(exempt);
                    } else {
                        rows.set(&mut column.resolved, (0..exempt.len()).map(all));
                    }
                }
            }
        }
    }

    /// Whole decisions for one row, one an agent.
    pub(super) fn decide_row(&mut self, form: &TargetForm, row: &[u8], buffers: &mut Buffers, decisions: &mut Vec<Decision>) {
        let raw = self.target(form, row);
        for (standing, counts) in self.standings.iter().zip(&mut self.counts) {
            let decision = match standing.answer {
                Answer::Asked(matcher) => {
                    let decision = self.matchers[matcher].decide(raw, &mut buffers.scratch);
                    decision.unwrap_or_else(|_| Decision::unresolved(Reason::Corrupt))
                }
                Answer::Same(_) if self.has_origin && form.is_exempt(raw, &mut buffers.target) => {
                    Decision::new(Verdict::Allow, Reason::RobotsTxt)
                }
                Answer::Same(decision) => decision,
            };
            count(counts, decision.verdict);
            decisions.push(decision);
        }
    }

    /// Brings what the rows of this place will be asked with into the cache.
    #[inline]
    pub(super) fn prefetch(&self, buffers: &Buffers) {
        self.slots.iter().take(1).for_each(|&slot| buffers.workshop.prefetch(slot));
    }

    /// Nothing is counted yet of a run.
    pub(super) fn begin(&mut self) {
        self.counts.clear();
        self.counts.resize(self.standings.len(), Counts::default());
    }

    /// Which group bound each agent.
    pub(super) fn bound_by(&self) -> impl Iterator<Item = BoundBy<'s>> {
        self.standings.iter().map(|standing| standing.bound_by)
    }

    /// Whole decisions for lines with one prefix, one a row and agent, appended to `decisions`.
    pub(super) fn decisions_of(
        &mut self,
        evaluator: &Evaluator<'s>,
        targets: Targets<'_>,
        buffers: &mut Buffers,
        decisions: &mut Vec<Decision>,
    ) {
        let form = evaluator.readings[0].form;
        let corrupt = Decision::unresolved(Reason::Corrupt);
        let Buffers { scratch, block, workshop, ranks, target, .. } = buffers;
        ranks.resize_with(ranks.len().max(self.matchers.len()), Vec::new);
        self.slots.extend(self.matchers[self.slots.len()..].iter().map(|matcher| workshop.slot(&evaluator.prepared, matcher)));
        for ((matcher, &slot), ranks) in self.matchers.iter().zip(&self.slots).zip(&mut *ranks) {
            let program = self.program.as_ref().expect("matchers are of a program");
            ranks.clear();
            if let Some(prepared) = workshop.ranked(slot, matcher, program, targets.len(), evaluator) {
                prepared.ask_ranks(matcher, evaluator.isa, targets, scratch, block, ranks);
            }
        }
        for row in 0..targets.len() {
            let raw = targets.raw(row);
            for (standing, counts) in self.standings.iter().zip(&mut self.counts) {
                let decision = match standing.answer {
                    Answer::Asked(matcher) => match ranks[matcher].get(row) {
                        Some(&NO_RANK) => corrupt,
                        Some(_) if form.is_exempt_as_written(raw) => Decision::new(Verdict::Allow, Reason::RobotsTxt),
                        Some(&rank) => self.matchers[matcher].decision(rank).unwrap_or(corrupt),
                        None => self.matchers[matcher].decide(raw, scratch).unwrap_or(corrupt),
                    },
                    Answer::Same(_) if form.is_exempt(raw, target) => Decision::new(Verdict::Allow, Reason::RobotsTxt),
                    Answer::Same(decision) => decision,
                };
                count(counts, decision.verdict);
                decisions.push(decision);
            }
        }
    }

    pub(super) fn count_time(&self, summary: &mut Summary, rows: u64) {
        match self.snapshot.map(|snapshot| snapshot.time()) {
            Some(SnapshotTime::Undated) => summary.undated += rows,
            Some(_) => summary.dated += rows,
            None => {}
        }
        if let Some(lent) = self.lent {
            summary.lent[lent as usize - 1] += rows;
        }
    }

    pub(super) fn count_run<'t>(&self, tallies: &mut impl Iterator<Item = &'t mut Tally>, rows: u64) {
        for ((standing, counts), tally) in self.standings.iter().zip(&self.counts).zip(tallies) {
            self.count_agent(tally, standing, counts, rows);
        }
    }

    fn count_agent(&self, tally: &mut Tally, standing: &Standing<'s>, counts: &Counts, rows: u64) {
        let disallow = rows - counts.allow - counts.unresolved;
        tally.allow += counts.allow;
        let reason = match standing.answer {
            Answer::Same(decision) => decision.reason,
            Answer::Asked(_) => Reason::Corrupt,
        };
        tally.unresolved[reason as usize] += counts.unresolved;
        match standing.bound_by {
            BoundBy::Nobody => tally.disallow_fetch += disallow,
            BoundBy::Star => tally.disallow_star += disallow,
            BoundBy::Token(_) | BoundBy::Contained(_) => {
                tally.disallow_named += disallow;
                tally.named += rows;
            }
        }
        if let Answer::Asked(matcher) = standing.answer {
            let is_site = self.matchers[matcher].rule_set().block().constant() == Constant::Disallows;
            tally.disallow_site += if is_site { disallow } else { 0 };
        }
    }
}

#[inline]
fn count(counts: &mut Counts, verdict: Verdict) {
    counts.allow += u64::from(verdict == Verdict::Allow);
    counts.unresolved += u64::from(verdict == Verdict::Unresolved);
}

/// The word at `index` of bits that are set for `len` rows.
fn all_of(len: usize, index: usize) -> u64 {
    match len - index * 64 {
        rest @ 0..64 => (1 << rest) - 1,
        _ => u64::MAX,
    }
}

fn count_ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}
