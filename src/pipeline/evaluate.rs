//! One batch: rows to decisions.

use std::ops::Range;

use super::{Batch, BoundBy, Column, Decided, Run, Summary, Tally};
use crate::engine::matcher::{Matcher, Scratch};
use crate::engine::program::{Binding, Constant, Corrupt, RuleSet};
use crate::protocol::agent::Agent;
use crate::protocol::decision::{Decision, Reason, Verdict};
use crate::protocol::fetch::{Access, AccessTable};
use crate::store::{Snapshot, SnapshotTime, Store};
use crate::target::form::TargetForm;
use crate::target::url::Url;

/// What every row is asked: which policies, which agents, how outcomes are read.
#[derive(Debug)]
pub struct Evaluator<'s> {
    store: &'s Store,
    form: &'static TargetForm,
    agents: Vec<Agent>,
    access: AccessTable,
}

impl<'s> Evaluator<'s> {
    /// Asks the policies of `store` for `agents`.
    pub fn new(store: &'s Store, agents: Vec<Agent>) -> Evaluator<'s> {
        let dialect = store.dialect();
        Evaluator { store, form: dialect.form, agents, access: dialect.access }
    }

    /// Reads fetch outcomes by another table than the dialect's own.
    pub fn with_access(self, access: AccessTable) -> Evaluator<'s> {
        Evaluator { access, ..self }
    }

    /// The agents, in the order of the columns.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// The policies.
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// The table by which fetch outcomes are read.
    pub fn access(&self) -> AccessTable {
        self.access
    }
}

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

/// The state of one thread, in buffers that outlive batches.
#[derive(Debug, Default)]
pub struct Worker<'s> {
    /// Whether whole decisions are asked for, and not verdicts alone.
    detail: bool,
    scratch: Scratch,
    target: Vec<u8>,
    key: Vec<u8>,
    /// The octets that decide the origin of the current rows.
    prefix: Vec<u8>,
    /// Where the raw target begins in the current rows; `None` where each row is cut on its own.
    target_at: Option<usize>,
    snapshot: Option<Snapshot<'s>>,
    standings: Vec<Standing<'s>>,
    counts: Vec<Counts>,
    /// Agents with the same rules share one.
    matchers: Vec<Matcher<'s>>,
    /// What each matcher said of the current row.
    verdicts: Vec<Verdict>,
    decisions: Vec<Decision>,
}

impl<'s> Worker<'s> {
    /// An idle thread.
    pub fn new() -> Worker<'s> {
        Worker::default()
    }

    /// Decides a batch. `spare` is a decided batch that is no longer needed, for its buffers.
    pub fn decide(&mut self, evaluator: &Evaluator<'s>, batch: Batch<'s>, detail: bool, spare: Option<Decided<'s>>) -> Decided<'s> {
        self.detail = detail;
        let mut decided = spare.unwrap_or_default();
        decided.octets = batch.split(&mut decided.rows);
        decided.decisions.clear();
        decided.runs.clear();
        decided.summary = Summary::new(evaluator.agents.len());
        decided.summary.rows = decided.rows.len() as u64;
        decided.columns.resize(evaluator.agents.len(), Column::default());
        for column in &mut decided.columns {
            column.allow.reset(decided.rows.len());
            column.resolved.reset(decided.rows.len());
        }
        self.decide_rows(evaluator, &mut decided);
        decided
    }

    fn decide_rows(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>) {
        let mut start = 0;
        while start < decided.rows.len() {
            let row = &decided.octets[decided.rows[start].clone()];
            let enters = self.enter(evaluator, row);
            let end = match enters {
                true => start + self.same_origin(&decided.octets, &decided.rows[start..]),
                false => start + 1,
            };
            self.decide_run(evaluator, decided, start..end, enters);
            start = end;
        }
    }

    /// Looks up the origin of `row`. Says whether it has one.
    fn enter(&mut self, evaluator: &Evaluator<'s>, row: &[u8]) -> bool {
        self.key.clear();
        self.prefix.clear();
        if evaluator.store.has_any_origin() && evaluator.form.cuts_anything() {
            self.target_at = None;
            return self.find_policy(evaluator);
        }
        let key_form = evaluator.form.origin();
        let prefix_len = Url::split(row).and_then(|url| url.write_key(key_form, &mut self.key).map(|()| url.prefix_len()));
        let Ok(prefix_len) = prefix_len else {
            self.snapshot = None;
            self.set_all(evaluator, Decision::unresolved(Reason::BadUrl));
            return false;
        };
        self.prefix.extend_from_slice(&row[..prefix_len]);
        self.target_at = Some(evaluator.form.start(&self.prefix));
        self.find_policy(evaluator)
    }

    fn find_policy(&mut self, evaluator: &Evaluator<'s>) -> bool {
        if let Err(reason) = self.look_up(evaluator) {
            self.set_all(evaluator, Decision::unresolved(reason));
        }
        true
    }

    /// How many of `rows` begin with the current prefix and end their authority there.
    fn same_origin(&self, octets: &[u8], rows: &[Range<usize>]) -> usize {
        if self.target_at.is_none() {
            return rows.len();
        }
        let same = |row: &Range<usize>| {
            let behind = octets[row.clone()].strip_prefix(&self.prefix[..]);
            matches!(behind, Some([] | [b'/' | b'?' | b'#', ..]))
        };
        rows.iter().position(|row| !same(row)).unwrap_or(rows.len())
    }

    fn set_all(&mut self, evaluator: &Evaluator<'s>, decision: Decision) {
        self.matchers.clear();
        self.standings.clear();
        self.standings.resize(evaluator.agents.len(), Standing { answer: Answer::Same(decision), bound_by: BoundBy::Nobody });
    }

    fn look_up(&mut self, evaluator: &Evaluator<'s>) -> Result<(), Reason> {
        self.snapshot = None;
        let corrupt = |_: Corrupt| Reason::Corrupt;
        let origin = evaluator.store.find(&self.key).map_err(corrupt)?.ok_or(Reason::NoPolicy)?;
        let snapshot = origin.newest().map_err(corrupt)?;
        self.snapshot = Some(snapshot);
        let by_fetch = |verdict| Decision::new(verdict, Reason::FetchStatus);
        match evaluator.access.read(snapshot.outcome()) {
            Access::Rules => return self.bind_all(evaluator, &snapshot).map_err(corrupt),
            Access::Allow => self.set_all(evaluator, by_fetch(Verdict::Allow)),
            Access::Disallow => self.set_all(evaluator, by_fetch(Verdict::Disallow)),
            Access::Unresolved if snapshot.outcome() == crate::protocol::fetch::Outcome::Unknown => return Err(Reason::NoPolicy),
            Access::Unresolved => return Err(Reason::FetchStatus),
        }
        Ok(())
    }

    fn bind_all(&mut self, evaluator: &Evaluator<'s>, snapshot: &Snapshot<'s>) -> Result<(), Corrupt> {
        self.matchers.clear();
        self.standings.clear();
        let Some(program) = snapshot.program_index().map(|_| evaluator.store.program(snapshot)).transpose()? else {
            // A success without a body: an empty file, which binds nobody.
            self.set_all(evaluator, Decision::new(Verdict::Allow, Reason::NoGroup));
            return Ok(());
        };
        for agent in &evaluator.agents {
            let binding = program.bind(agent);
            let bound_by = match binding {
                Binding::Named { token, .. } => BoundBy::Token(token),
                Binding::Contained { token, .. } => BoundBy::Contained(token),
                Binding::Star { .. } => BoundBy::Star,
                Binding::Nobody => BoundBy::Nobody,
            };
            let answer = match binding.rule_set() {
                Some(rule_set) => Answer::Asked(self.matcher(Matcher::new(program.rule_set(rule_set)?)?)),
                None => Answer::Same(Decision::new(Verdict::Allow, Reason::NoGroup)),
            };
            self.standings.push(Standing { answer, bound_by });
        }
        Ok(())
    }

    /// The index of that matcher or of one that gives the same answers.
    fn matcher(&mut self, matcher: Matcher<'s>) -> usize {
        let (detail, rules) = (self.detail, matcher.rule_set());
        let serves = |known: RuleSet<'s>| if detail { known.has_decisions_of(&rules) } else { known.has_verdicts_of(&rules) };
        let known = self.matchers.iter().position(|known| serves(known.rule_set()));
        known.unwrap_or_else(|| {
            self.matchers.push(matcher);
            self.matchers.len() - 1
        })
    }

    fn decide_run(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, rows: Range<usize>, has_origin: bool) {
        self.counts.clear();
        self.counts.resize(self.standings.len(), Counts::default());
        for row in rows.clone() {
            let octets = &decided.octets[decided.rows[row].clone()];
            let raw = if has_origin { &octets[self.target_at.unwrap_or_else(|| evaluator.form.start(octets))..] } else { &[] };
            if self.detail {
                self.decide_row(evaluator, raw, has_origin);
                for (agent, decision) in self.decisions.iter().enumerate() {
                    set(&mut decided.columns[agent], row, decision.verdict);
                    count(&mut self.counts[agent], decision.verdict);
                }
                decided.decisions.extend_from_slice(&self.decisions);
            } else {
                self.verdict_row(evaluator, raw, has_origin, &mut decided.columns, row);
            }
        }
        self.count_run(&mut decided.summary, rows.len() as u64, has_origin);
        if self.detail {
            let bound_by = self.standings.iter().map(|standing| standing.bound_by).collect();
            decided.runs.push(Run { rows, snapshot: self.snapshot, bound_by });
        }
    }

    /// Verdicts alone: each matcher is asked once, each agent gets a bit.
    #[inline]
    fn verdict_row(&mut self, evaluator: &Evaluator<'s>, raw: &[u8], has_origin: bool, columns: &mut [Column], row: usize) {
        self.verdicts.clear();
        for matcher in &self.matchers {
            self.verdicts.push(match matcher.allows(raw, &mut self.scratch) {
                Ok(true) => Verdict::Allow,
                Ok(false) => Verdict::Disallow,
                Err(_) => Verdict::Unresolved,
            });
        }
        for (agent, standing) in self.standings.iter().enumerate() {
            let verdict = match standing.answer {
                Answer::Asked(matcher) => self.verdicts[matcher],
                Answer::Same(Decision { verdict: Verdict::Allow, .. }) => Verdict::Allow,
                Answer::Same(decision) => match has_origin && evaluator.form.is_exempt(raw, &mut self.target) {
                    true => Verdict::Allow,
                    false => decision.verdict,
                },
            };
            set(&mut columns[agent], row, verdict);
            count(&mut self.counts[agent], verdict);
        }
    }

    /// Whole decisions for one row, one an agent.
    fn decide_row(&mut self, evaluator: &Evaluator<'s>, raw: &[u8], has_origin: bool) {
        let corrupt = |_| Decision::unresolved(Reason::Corrupt);
        self.decisions.clear();
        for standing in &self.standings {
            let decision = match standing.answer {
                Answer::Asked(matcher) => {
                    let rules = &self.matchers[matcher];
                    rules.decide(raw, &mut self.scratch).unwrap_or_else(corrupt)
                }
                Answer::Same(_) if has_origin && evaluator.form.is_exempt(raw, &mut self.target) => {
                    Decision::new(Verdict::Allow, Reason::RobotsTxt)
                }
                Answer::Same(decision) => decision,
            };
            self.decisions.push(decision);
        }
    }

    fn count_run(&self, summary: &mut Summary, rows: u64, has_origin: bool) {
        summary.lookups += u64::from(has_origin);
        match self.snapshot.map(|snapshot| snapshot.time()) {
            Some(SnapshotTime::Undated) => summary.undated += rows,
            Some(_) => summary.dated += rows,
            None => {}
        }
        for ((tally, standing), counts) in summary.agents.iter_mut().zip(&self.standings).zip(&self.counts) {
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
fn set(column: &mut Column, row: usize, verdict: Verdict) {
    column.allow.set(row, verdict == Verdict::Allow);
    column.resolved.set(row, verdict != Verdict::Unresolved);
}

#[inline]
fn count(counts: &mut Counts, verdict: Verdict) {
    counts.allow += u64::from(verdict == Verdict::Allow);
    counts.unresolved += u64::from(verdict == Verdict::Unresolved);
}
