//! One batch: rows to decisions.

use std::ops::Range;

use super::usage::{AskedUsage, Stated};
use super::{Batch, BoundBy, Column, Decided, Run, Summary, Tally, UsageColumn};
use crate::engine::matcher::{Matcher, Scratch};
use crate::engine::program::{Binding, Constant, Corrupt, RuleSet};
use crate::protocol::agent::Agent;
use crate::protocol::decision::{Decision, Reason, Verdict};
use crate::protocol::fetch::{Access, AccessTable};
use crate::protocol::usage::UsageKey;
use crate::store::{Preferences, Snapshot, SnapshotTime, Store};
use crate::target::form::TargetForm;
use crate::target::url::{BadUrl, Url};

/// What every row is asked: by which policies, for which agents, how outcomes are read.
///
/// Policies may be read in several ways at once (see [`Evaluator::and_by`]): then there is a column a reading and agent, those of the first reading
/// first.
#[derive(Debug)]
pub struct Evaluator<'s> {
    readings: Vec<Reading<'s>>,
    agents: Vec<Agent>,
    uses: Vec<Use<'s>>,
}

/// A use that is asked about.
#[derive(Debug, Clone, Copy)]
struct Use<'s> {
    /// The index of the reading whose verdicts say where preferences apply.
    reading: usize,
    preferences: &'s Preferences,
}

/// Policies read in one way.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'s> {
    store: &'s Store,
    form: &'static TargetForm,
    access: AccessTable,
}

impl<'s> Reading<'s> {
    /// The policies.
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// The table by which fetch outcomes are read.
    pub fn access(&self) -> AccessTable {
        self.access
    }

    fn of(store: &'s Store) -> Reading<'s> {
        let dialect = store.dialect();
        Reading { store, form: dialect.form, access: dialect.access }
    }
}

/// What one column answers.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'e, 's> {
    /// The index of the reading.
    pub reading: usize,
    /// The policies.
    pub store: &'s Store,
    /// The agent.
    pub agent: &'e Agent,
    /// The dialect, where there are several readings.
    pub dialect: Option<&'static str>,
}

impl Asked<'_, '_> {
    /// What people read of it: the agent, and the dialect where there are several.
    pub fn label(&self) -> String {
        match self.dialect {
            Some(dialect) => format!("{} {dialect}", self.agent.name()),
            None => self.agent.name().to_owned(),
        }
    }
}

impl<'s> Evaluator<'s> {
    /// Asks the policies of `store` for `agents`.
    pub fn new(store: &'s Store, agents: Vec<Agent>) -> Evaluator<'s> {
        Evaluator { readings: vec![Reading::of(store)], agents, uses: Vec::new() }
    }

    /// Asks these policies too: the same ones, read in another dialect (see [`Store::recompiled`]).
    ///
    /// ```
    /// use robosieve::{agent::Agent, dialect::{GOOGLE, RFC9309}, pipeline::Evaluator, store::build::{Builder, Record}};
    ///
    /// let mut builder = Builder::new(RFC9309);
    /// builder.add_name("example.com", Record::body(b"User-agent: *\nDisalow: /x\n".to_vec()))?;
    /// let store = builder.finish()?.open()?;
    /// let as_google = store.recompiled(GOOGLE)?;
    /// let evaluator = Evaluator::new(&store, vec![Agent::token("GPTBot")?]).and_by(&as_google);
    /// assert_eq!(evaluator.columns().count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn and_by(mut self, store: &'s Store) -> Evaluator<'s> {
        self.readings.push(Reading::of(store));
        self
    }

    /// Asks what the same policies state about a use as well: a usage column for each agent.
    ///
    /// The longest path decides, as among rules, in the groups that bind the agent; a record without a path is the shortest. On equal length *no*
    /// wins. A record that says nothing about the use hides none that does. Where the verdict is not `allow` nothing is stated
    /// (draft-ietf-aipref-attach-05, "Content-Usage Rule Semantics": preferences apply to what may be crawled).
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use robosieve::{agent::Agent, dialect::RFC9309, usage::UsageKey, store::build::{Builder, Record}};
    /// use robosieve::{io::lines::MappedLines, pipeline::{Discard, Evaluator, run}};
    ///
    /// let mut builder = Builder::new(RFC9309);
    /// let robots = b"User-agent: *\nDisallow: /never/\nContent-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n";
    /// builder.add_name("example.com", Record::body(robots.to_vec()))?;
    /// let store = builder.finish()?.open()?;
    /// let preferences = store.preferences(&UsageKey::new("train-ai")?)?;
    /// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]).and_usage(&preferences);
    /// let mut rows = MappedLines::new(b"https://example.com/test\nhttps://example.com/never/test\nhttps://example.com/ai-ok/test\n");
    /// let summary = run(&mut rows, &evaluator, &mut Discard, NonZeroUsize::MIN)?;
    /// assert_eq!((summary.usages[0].yes, summary.usages[0].no), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no reading in the dialect of `preferences` yet.
    pub fn and_usage(mut self, preferences: &'s Preferences) -> Evaluator<'s> {
        let name = preferences.dialect_name();
        let reading = self.readings.iter().position(|reading| reading.store.dialect().name == name);
        let reading = reading.unwrap_or_else(|| panic!("no reading in the dialect {name}, that of the preferences"));
        self.uses.push(Use { reading, preferences });
        self
    }

    /// Reads fetch outcomes by another table than the dialects' own.
    pub fn with_access(mut self, access: AccessTable) -> Evaluator<'s> {
        self.readings.iter_mut().for_each(|reading| reading.access = access);
        self
    }

    /// The agents.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// How the policies are read.
    pub fn readings(&self) -> &[Reading<'s>] {
        &self.readings
    }

    /// The policies of the first reading.
    pub fn store(&self) -> &'s Store {
        self.readings[0].store
    }

    /// The table by which the first reading takes fetch outcomes.
    pub fn access(&self) -> AccessTable {
        self.readings[0].access
    }

    /// What the columns answer, in their order: agents within readings.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Asked<'_, 's>> {
        let (agents, several) = (&self.agents, self.readings.len() > 1);
        (0..self.column_count()).map(move |column| {
            let reading = column / agents.len();
            let store = self.readings[reading].store;
            let dialect = several.then(|| store.dialect().name);
            Asked { reading, store, agent: &agents[column % agents.len()], dialect }
        })
    }

    /// What the usage columns answer, in their order: agents within preferences.
    pub fn usages(&self) -> impl ExactSizeIterator<Item = AskedUsage<'_, 's>> {
        let several = self.readings.len() > 1;
        (0..self.usage_count()).map(move |index| {
            let (asked, agent) = (self.uses[index / self.agents.len()], index % self.agents.len());
            AskedUsage {
                key: asked.preferences.key(),
                column: asked.reading * self.agents.len() + agent,
                agent: &self.agents[agent],
                dialect: several.then(|| asked.preferences.dialect_name()),
            }
        })
    }

    /// Of each column: the uses asked about, and the indices of their usage columns.
    pub(crate) fn usages_by_column(&self) -> Vec<Vec<(&'s UsageKey, usize)>> {
        let mut usages = vec![Vec::new(); self.column_count()];
        for (index, asked) in self.usages().enumerate() {
            usages[asked.column].push((asked.key, index));
        }
        usages
    }

    pub(super) fn column_count(&self) -> usize {
        self.readings.len() * self.agents.len()
    }

    pub(super) fn usage_count(&self) -> usize {
        self.uses.len() * self.agents.len()
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
    buffers: Buffers,
    /// The octets that decide the origin of the current rows.
    prefix: Vec<u8>,
    /// One a reading.
    places: Vec<Place<'s>>,
    /// One a use.
    stated: Vec<Stated<'s>>,
    /// One decision a column, for the current row.
    decisions: Vec<Decision>,
}

#[derive(Debug, Default)]
struct Buffers {
    scratch: Scratch,
    target: Vec<u8>,
    key: Vec<u8>,
    /// What each matcher said of the current row.
    verdicts: Vec<Verdict>,
}

/// Where the current rows stand in one reading.
#[derive(Debug, Default)]
struct Place<'s> {
    /// Whether the rows name an origin.
    has_origin: bool,
    /// Where the raw target begins in the rows; `None` where each row is cut on its own.
    target_at: Option<usize>,
    snapshot: Option<Snapshot<'s>>,
    standings: Vec<Standing<'s>>,
    counts: Vec<Counts>,
    /// Agents with the same rules share one.
    matchers: Vec<Matcher<'s>>,
}

impl<'s> Worker<'s> {
    /// An idle thread.
    pub fn new() -> Worker<'s> {
        Worker::default()
    }

    /// Decides a batch. `spare` is a decided batch that is no longer needed, for its buffers.
    pub fn decide(&mut self, evaluator: &Evaluator<'s>, batch: Batch<'s>, detail: bool, spare: Option<Decided<'s>>) -> Decided<'s> {
        self.detail = detail;
        self.places.resize_with(evaluator.readings.len(), Place::default);
        self.stated.resize_with(evaluator.uses.len(), Stated::default);
        let mut decided = spare.unwrap_or_default();
        decided.octets = batch.split(&mut decided.rows);
        decided.decisions.clear();
        decided.runs.clear();
        decided.summary = Summary::new(evaluator.column_count(), evaluator.usage_count());
        decided.summary.rows = decided.rows.len() as u64;
        decided.columns.resize(evaluator.column_count(), Column::default());
        for column in &mut decided.columns {
            column.allow.reset(decided.rows.len());
            column.resolved.reset(decided.rows.len());
        }
        decided.usages.resize(evaluator.usage_count(), UsageColumn::default());
        for column in &mut decided.usages {
            column.reset(decided.rows.len());
        }
        self.decide_rows(evaluator, &mut decided);
        decided
    }

    fn decide_rows(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>) {
        let mut start = 0;
        while start < decided.rows.len() {
            let row = &decided.octets[decided.rows[start].clone()];
            self.enter(evaluator, row);
            let end = start + self.same_place(&decided.octets, &decided.rows[start..]);
            self.decide_run(evaluator, decided, start..end);
            start = end;
        }
    }

    /// Looks up the origin of `row` in every reading.
    fn enter(&mut self, evaluator: &Evaluator<'s>, row: &[u8]) {
        let url = Url::split(row);
        self.prefix.clear();
        self.prefix.extend_from_slice(url.map_or(row, |url| &row[..url.prefix_len()]));
        for (place, reading) in self.places.iter_mut().zip(&evaluator.readings) {
            place.enter(reading, &evaluator.agents, url, self.detail, &mut self.buffers.key);
        }
        for (stated, asked) in self.stated.iter_mut().zip(&evaluator.uses) {
            let access = evaluator.readings[asked.reading].access;
            stated.enter(asked.preferences, access, &evaluator.agents, url.ok(), &mut self.buffers.key);
        }
    }

    /// How many of `rows` stand where the first does.
    fn same_place(&self, octets: &[u8], rows: &[Range<usize>]) -> usize {
        if self.places.iter().all(|place| place.has_origin && place.target_at.is_none()) {
            return rows.len();
        }
        if !self.places.iter().all(|place| place.has_origin) {
            return 1; // what goes on from a row that names no origin may well name one
        }
        let same = |row: &Range<usize>| {
            let behind = octets[row.clone()].strip_prefix(&self.prefix[..]);
            matches!(behind, Some([] | [b'/' | b'?' | b'#', ..]))
        };
        rows.iter().position(|row| !same(row)).unwrap_or(rows.len())
    }

    fn decide_run(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, rows: Range<usize>) {
        for place in &mut self.places {
            place.counts.clear();
            place.counts.resize(place.standings.len(), Counts::default());
        }
        if self.detail {
            self.decisions_of(evaluator, decided, rows.clone());
        } else {
            self.verdicts_of(evaluator, decided, rows.clone());
        }
        self.usages_of(evaluator, decided, rows.clone());
        decided.summary.lookups += u64::from(self.places.iter().any(|place| place.has_origin));
        self.places[0].count_time(&mut decided.summary, rows.len() as u64);
        let mut tallies = decided.summary.agents.iter_mut();
        for place in &self.places {
            place.count_run(&mut tallies, rows.len() as u64);
        }
        if self.detail {
            let bound_by = self.places.iter().flat_map(|place| &place.standings).map(|standing| standing.bound_by).collect();
            decided.runs.push(Run { rows, snapshots: self.places.iter().map(|place| place.snapshot).collect(), bound_by });
        }
    }

    fn verdicts_of(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, rows: Range<usize>) {
        let agent_count = evaluator.agents.len();
        for ((place, reading), columns) in
            self.places.iter_mut().zip(&evaluator.readings).zip(decided.columns.chunks_mut(agent_count.max(1)))
        {
            for row in rows.clone() {
                let octets = &decided.octets[decided.rows[row].clone()];
                place.verdict_row(reading.form, octets, &mut self.buffers, columns, row);
            }
        }
    }

    /// What is stated about the rows that have their verdicts.
    fn usages_of(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, rows: Range<usize>) {
        let agent_count = evaluator.agents.len();
        for (index, (stated, asked)) in
            self.stated.iter_mut().zip(&evaluator.uses).enumerate().filter(|(_, (stated, _))| !stated.is_silent())
        {
            let (place, form) = (&self.places[asked.reading], evaluator.readings[asked.reading].form);
            let verdicts = asked.reading * agent_count..;
            for row in rows.clone() {
                stated.ask(place.target(form, &decided.octets[decided.rows[row].clone()]), &mut self.buffers.scratch);
                for (agent, verdict) in (0..agent_count).zip(&decided.columns[verdicts.clone()]) {
                    if let Some(preference) = stated.answer(agent).filter(|_| verdict.allow.get(row)) {
                        decided.usages[index * agent_count + agent].set(row, preference);
                        decided.summary.usages[index * agent_count + agent].count(preference);
                    }
                }
            }
        }
    }

    fn decisions_of(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, rows: Range<usize>) {
        for row in rows {
            let octets = &decided.octets[decided.rows[row].clone()];
            self.decisions.clear();
            for (place, reading) in self.places.iter_mut().zip(&evaluator.readings) {
                place.decide_row(reading.form, octets, &mut self.buffers, &mut self.decisions);
            }
            for (column, decision) in decided.columns.iter_mut().zip(&self.decisions) {
                set(column, row, decision.verdict);
            }
            decided.decisions.extend_from_slice(&self.decisions);
        }
    }
}

impl<'s> Place<'s> {
    fn enter(&mut self, reading: &Reading<'s>, agents: &[Agent], url: Result<Url<'_>, BadUrl>, detail: bool, key: &mut Vec<u8>) {
        key.clear();
        self.snapshot = None;
        self.target_at = None;
        self.has_origin = true;
        let cuts_itself = reading.store.has_any_origin() && reading.form.cuts_anything();
        if !cuts_itself {
            let Ok(url) = url.and_then(|url| url.write_key(reading.form.origin(), key).map(|()| url)) else {
                self.has_origin = false;
                return self.set_all(agents.len(), Decision::unresolved(Reason::BadUrl));
            };
            self.target_at = Some(reading.form.start(url.prefix()));
        }
        if let Err(reason) = self.look_up(reading, agents, detail, key) {
            self.set_all(agents.len(), Decision::unresolved(reason));
        }
    }

    fn set_all(&mut self, agent_count: usize, decision: Decision) {
        self.matchers.clear();
        self.standings.clear();
        self.standings.resize(agent_count, Standing { answer: Answer::Same(decision), bound_by: BoundBy::Nobody });
    }

    fn look_up(&mut self, reading: &Reading<'s>, agents: &[Agent], detail: bool, key: &[u8]) -> Result<(), Reason> {
        let corrupt = |_: Corrupt| Reason::Corrupt;
        let origin = reading.store.find(key).map_err(corrupt)?.ok_or(Reason::NoPolicy)?;
        let snapshot = origin.newest().map_err(corrupt)?;
        self.snapshot = Some(snapshot);
        let by_fetch = |verdict| Decision::new(verdict, Reason::FetchStatus);
        match reading.access.read(snapshot.outcome()) {
            Access::Rules => return self.bind_all(reading, agents, detail, &snapshot).map_err(corrupt),
            Access::Allow => self.set_all(agents.len(), by_fetch(Verdict::Allow)),
            Access::Disallow => self.set_all(agents.len(), by_fetch(Verdict::Disallow)),
            Access::Unresolved if snapshot.outcome() == crate::protocol::fetch::Outcome::Unknown => return Err(Reason::NoPolicy),
            Access::Unresolved => return Err(Reason::FetchStatus),
        }
        Ok(())
    }

    fn bind_all(&mut self, reading: &Reading<'s>, agents: &[Agent], detail: bool, snapshot: &Snapshot<'s>) -> Result<(), Corrupt> {
        self.matchers.clear();
        self.standings.clear();
        let Some(program) = snapshot.program_index().map(|_| reading.store.program(snapshot)).transpose()? else {
            // A success without a body: an empty file, which binds nobody.
            self.set_all(agents.len(), Decision::new(Verdict::Allow, Reason::NoGroup));
            return Ok(());
        };
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
    fn target<'r>(&self, form: &TargetForm, row: &'r [u8]) -> &'r [u8] {
        match (self.has_origin, self.target_at) {
            (false, _) => &[],
            (true, Some(start)) => &row[start..],
            (true, None) => &row[form.start(row)..],
        }
    }

    /// Verdicts alone: each matcher is asked once, each agent gets a bit.
    #[inline]
    fn verdict_row(&mut self, form: &TargetForm, row_octets: &[u8], buffers: &mut Buffers, columns: &mut [Column], row: usize) {
        let raw = self.target(form, row_octets);
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
            set(column, row, verdict);
            count(counts, verdict);
        }
    }

    /// Whole decisions for one row, one an agent.
    fn decide_row(&mut self, form: &TargetForm, row: &[u8], buffers: &mut Buffers, decisions: &mut Vec<Decision>) {
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

    fn count_time(&self, summary: &mut Summary, rows: u64) {
        match self.snapshot.map(|snapshot| snapshot.time()) {
            Some(SnapshotTime::Undated) => summary.undated += rows,
            Some(_) => summary.dated += rows,
            None => {}
        }
    }

    fn count_run<'t>(&self, tallies: &mut impl Iterator<Item = &'t mut Tally>, rows: u64) {
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
fn set(column: &mut Column, row: usize, verdict: Verdict) {
    column.allow.set(row, verdict == Verdict::Allow);
    column.resolved.set(row, verdict != Verdict::Unresolved);
}

#[inline]
fn count(counts: &mut Counts, verdict: Verdict) {
    counts.allow += u64::from(verdict == Verdict::Allow);
    counts.unresolved += u64::from(verdict == Verdict::Unresolved);
}
