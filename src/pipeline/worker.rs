//! One batch: rows to decisions.
//!
//! ```text
//!   row ──▶ octets before its path ──hash──▶ known? ──▶ place: who is bound by what
//!                                              └─ no: look the origin up, bind the agents, remember
//!   rows of the batch by place ──▶ many at once, or one after another ──▶ bits where the rows lie
//! ```
//!
//! In a list without order the rows of a well-known host lie all over a batch. So verdicts are not given as rows come: the rows of a place are put
//! together first, in chains through the batch, and each place is asked once.

use std::borrow::Cow;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::evaluate::Evaluator;
use super::place::{Buffers, Origin, Place, RowsOf};
use super::prefix::{Prefix, SamePrefix};
use super::prepare::Workshop;
use super::rows::Lines;
use super::usage::Stated;
use super::{Batch, Column, Decided, Run, Summary, UsageColumn};
use crate::engine::matcher::block::Targets;
use crate::engine::scan::{Isa, prefetch};
use crate::target::url::BadUrl;

/// Octets before a path that a thread remembers the places of, at most; fewer when there are many columns.
const MAX_KNOWN: usize = 4096;

/// Octets of a batch of a map, behind which the next one lies.
const BATCH_LEN: usize = 256 << 10;

/// Places ahead for which what they are asked with is brought into the cache.
const AHEAD: usize = 4;

/// The state of one thread, in buffers that outlive batches.
#[derive(Debug, Default)]
pub struct Worker<'s> {
    /// Whether whole decisions are asked for, and not verdicts alone.
    detail: bool,
    /// The evaluator that the worker last worked for.
    evaluator: u64,
    /// How many other threads take batches by turns with this one.
    others: usize,
    /// How far ahead the octets of its next batch lie, likely.
    ahead: usize,
    buffers: Buffers,
    /// By hash of the octets that decide the origin.
    known: Vec<Option<Box<Known<'s>>>>,
    /// Where a row stands that names no origin.
    nowhere: Known<'s>,
    /// That of the rows being cut.
    prefix: Prefix,
    /// Those places of `known` that rows of the batch stand in, in order of first appearance.
    touched: Vec<u32>,
    /// The runs of the batch.
    runs: Vec<Link>,
    group: Group,
}

/// Consecutive rows that begin alike, and the next such rows of that place.
#[derive(Debug, Clone, Copy)]
struct Link {
    first: u32,
    count: u32,
    next: u32,
    /// Of the octets before the path, of which there are so many; none where the rows name no origin.
    hash: u64,
    prefix_len: u32,
}

impl Link {
    /// Where a table of that size remembers the place.
    #[inline]
    fn place(&self, size: usize) -> usize {
        self.hash as usize & (size - 1)
    }
}

/// No run.
const NONE: u32 = u32::MAX;

/// The rows of one place, gathered.
#[derive(Debug, Default)]
struct Group {
    rows: Vec<u32>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    runs: u64,
}

impl Group {
    /// Gathers the runs from `first` on; targets begin `target_at` octets behind the start of their line.
    fn gather(&mut self, lines: Lines<'_>, runs: &[Link], first: u32, target_at: u32) {
        self.rows.clear();
        self.starts.clear();
        self.ends.clear();
        self.runs = 0;
        let mut next = first;
        while next != NONE {
            let run = &runs[next as usize];
            let rows = run.first as usize..(run.first + run.count) as usize;
            // Of one run the first row tells all.
            let count = if first == next && run.next == NONE { 1 } else { run.count };
            self.rows.extend(run.first..run.first + count);
            self.starts.push(lines.start(rows.start) + target_at);
            let ends = lines.ends(rows);
            self.starts.extend(ends[..ends.len() - 1].iter().map(|end| end + 1 + target_at));
            self.ends.extend_from_slice(ends);
            self.runs += 1;
            next = run.next;
        }
    }
}

/// Where rows that begin alike stand.
#[derive(Debug, Default)]
struct Known<'s> {
    /// The first and the last of its runs that wait for an answer.
    waiting: Option<(u32, u32)>,
    /// The octets that decide the origin.
    prefix: Prefix,
    /// One a reading.
    places: Vec<Place<'s>>,
    /// One a use.
    stated: Vec<Stated<'s>>,
}

impl<'s> Worker<'s> {
    /// An idle thread.
    pub fn new() -> Worker<'s> {
        Worker::default()
    }

    /// An idle thread of so many that take the batches of a source by turns.
    pub(super) fn one_of(threads: usize) -> Worker<'s> {
        Worker { others: threads - 1, ..Worker::default() }
    }

    /// Decides a batch. `spare` is a decided batch that is no longer needed, for its buffers.
    pub fn decide(&mut self, evaluator: &Evaluator<'s>, batch: Batch<'s>, detail: bool, spare: Option<Decided<'s>>) -> Decided<'s> {
        if (self.evaluator, self.detail) != (evaluator.number(), detail) {
            (self.evaluator, self.detail) = (evaluator.number(), detail);
            self.known.clear();
            let columns = (evaluator.column_count() + evaluator.usage_count()).max(1);
            self.known.resize_with((MAX_KNOWN / columns).max(64).next_power_of_two(), || None);
        }
        if self.buffers.workshop.is_full() {
            // Places remember slots, so both begin anew.
            self.buffers.workshop = Workshop::default();
            self.known.iter_mut().for_each(|known| *known = None);
        }
        let mut decided = spare.unwrap_or_default();
        decided.octets = batch.split(evaluator.isa, &mut decided.rows);
        self.ahead = match decided.octets {
            Cow::Borrowed(_) => BATCH_LEN * (self.others + 1),
            Cow::Owned(_) => 0, // a buffer of its own: nothing follows
        };
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
        if !detail && evaluator.readings.len() == 1 && evaluator.uses.is_empty() && decided.rows.lines().is_some() {
            self.answer_lines(evaluator, &mut decided);
        } else {
            self.decide_rows(evaluator, &mut decided);
        }
        decided
    }

    /// Verdicts alone, of one reading, for rows that are lines: gathered by place.
    fn answer_lines(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>) {
        self.touched.clear();
        self.cut(evaluator, decided);
        for run in 0..self.runs.len() {
            self.prefetch_places(run);
            self.place(evaluator, decided, run);
        }
        for index in 0..self.touched.len() {
            if let Some(ahead) = self.touched.get(index + AHEAD).and_then(|&at| self.known[at as usize].as_ref()) {
                ahead.places[0].prefetch(&self.buffers);
            }
            self.answer_place(evaluator, decided, self.touched[index] as usize);
        }
    }

    /// Cuts the rows into runs that begin alike.
    fn cut(&mut self, evaluator: &Evaluator<'s>, decided: &Decided<'s>) {
        let Worker { runs, prefix, ahead, .. } = self;
        runs.clear();
        let (octets, rows) = (&decided.octets[..], &decided.rows);
        let lines = rows.lines().expect("rows are gathered where they are lines");
        let mut first = 0;
        while first < rows.len() {
            let mut run = Link { first: first as u32, count: 1, next: NONE, hash: 0, prefix_len: 0 };
            if evaluator.readings[0].cuts_itself() {
                run.count = (rows.len() - first) as u32;
            } else if let Ok(origin) = Origin::of(&octets[rows.range(octets, first)]) {
                prefix.set(origin.prefix());
                run.count = evaluator.isa.run(SamePrefix { octets, lines, first, prefix, ahead: *ahead }) as u32;
                (run.hash, run.prefix_len) = (xxh3_64(origin.prefix()), origin.prefix().len() as u32);
            }
            first += run.count as usize;
            runs.push(run);
        }
    }

    /// Brings into the cache what runs ahead will be looked up in: first the table, then what it leads to.
    #[inline]
    fn prefetch_places(&self, run: usize) {
        if let Some(ahead) = self.runs.get(run + 2 * AHEAD) {
            prefetch(&self.known[ahead.place(self.known.len())]);
        }
        if let Some(known) = self.runs.get(run + AHEAD).and_then(|ahead| self.known[ahead.place(self.known.len())].as_ref()) {
            known.prefix.prefetch();
        }
    }

    /// Notes where the rows of a run stand.
    #[inline]
    fn place(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, run: usize) {
        let Link { first, count, prefix_len, .. } = self.runs[run];
        let first = first as usize;
        if prefix_len == 0 {
            return self.answer_odd(evaluator, decided, first..first + count as usize);
        }
        let at = self.runs[run].place(self.known.len());
        let row = decided.rows.range(&decided.octets, first);
        let prefix = row.start..row.start + prefix_len as usize;
        if !self.known[at].get_or_insert_default().prefix.is(&decided.octets[prefix]) {
            self.answer_place(evaluator, decided, at);
            let known = self.known[at].as_mut().expect("just made");
            known.enter(evaluator, &decided.octets[row.clone()], Origin::of(&decided.octets[row]), false, &mut self.buffers);
        }
        let known = self.known[at].as_mut().expect("just made");
        if !known.places[0].has_origin {
            // A host that is none: the rows look like URLs, and have no origin.
            let rows = first..first + count as usize;
            return RunOf { evaluator, rows, buffers: &mut self.buffers, decided }.answer(known);
        }
        match &mut known.waiting {
            Some((_, last)) => {
                self.runs[*last as usize].next = run as u32;
                *last = run as u32;
            }
            None => {
                known.waiting = Some((run as u32, run as u32));
                self.touched.push(at as u32);
            }
        }
    }

    /// Answers rows that name no origin, or are all cut by themselves.
    fn answer_odd(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, rows: Range<usize>) {
        let Worker { nowhere, buffers, .. } = self;
        let row = decided.row(rows.start);
        nowhere.enter(evaluator, row, Origin::of(row), false, buffers);
        RunOf { evaluator, rows, buffers, decided }.answer(nowhere);
    }

    /// Answers the rows that wait in a place.
    fn answer_place(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, at: usize) {
        let Worker { known, runs, group, buffers, .. } = self;
        let Some(known) = known[at].as_mut() else { return };
        let Some((first, last)) = known.waiting.take() else { return };
        let place = &mut known.places[0];
        let target_at = place.target_at.expect("a place with an origin, whose rows are not cut by themselves") as u32;
        let Decided { octets, rows, columns, summary, .. } = decided;
        let lines = rows.lines().expect("rows are gathered where they are lines");
        group.gather(lines, &runs[..], first, target_at);
        place.begin();
        let targets = Targets { octets, starts: &group.starts, ends: &group.ends };
        let count = group.starts.len();
        let rows = if first == last { RowsOf::From(group.rows[0] as usize) } else { RowsOf::Each(&group.rows) };
        if count < evaluator.blocks.min_rows() {
            for index in 0..count {
                place.verdict_raw(evaluator.readings[0].form, targets.raw(index), buffers, columns, rows.row(index));
            }
        } else {
            place.verdicts_of(evaluator, targets, buffers, columns, rows);
        }
        summary.lookups += group.runs;
        place.count_time(summary, count as u64);
        place.count_run(&mut summary.agents.iter_mut(), count as u64);
    }

    fn decide_rows(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>) {
        let Worker { detail, buffers, known, nowhere, group, ahead, .. } = self;
        let mut start = 0;
        while start < decided.rows.len() {
            let row = &decided.octets[decided.rows.range(&decided.octets, start)];
            let known = enter(known, nowhere, evaluator, row, *detail, buffers);
            let end = start + known.same_place(evaluator.isa, decided, start, *ahead);
            let mut run = RunOf { evaluator, rows: start..end, buffers, decided };
            match detail {
                true => run.decide(known, &mut group.starts),
                false => run.answer(known),
            }
            start = end;
        }
    }
}

/// Where `row` stands: as remembered, or looked up.
#[inline]
fn enter<'k, 's>(
    memory: &'k mut [Option<Box<Known<'s>>>],
    nowhere: &'k mut Known<'s>,
    evaluator: &Evaluator<'s>,
    row: &[u8],
    detail: bool,
    buffers: &mut Buffers,
) -> &'k mut Known<'s> {
    let origin = Origin::of(row);
    let prefix = match &origin {
        Ok(origin) if evaluator.readings.iter().all(|reading| !reading.cuts_itself()) => origin.prefix(),
        _ => {
            nowhere.enter(evaluator, row, origin, detail, buffers);
            return nowhere;
        }
    };
    let at = xxh3_64(prefix) as usize & (memory.len() - 1);
    let known = memory[at].get_or_insert_default();
    if !known.prefix.is(prefix) {
        known.enter(evaluator, row, origin, detail, buffers);
    }
    known
}

impl<'s> Known<'s> {
    /// Looks up the origin of `row` in every reading.
    fn enter(&mut self, evaluator: &Evaluator<'s>, row: &[u8], origin: Result<Origin<'_>, BadUrl>, detail: bool, buffers: &mut Buffers) {
        self.prefix.set(origin.map_or(row, |origin| origin.prefix()));
        self.places.resize_with(evaluator.readings.len(), Place::default);
        self.stated.resize_with(evaluator.uses.len(), Stated::default);
        for (place, reading) in self.places.iter_mut().zip(&evaluator.readings) {
            place.enter(reading, &evaluator.agents, origin, detail, &mut buffers.key);
        }
        for (stated, asked) in self.stated.iter_mut().zip(&evaluator.uses) {
            let access = evaluator.readings[asked.reading].access;
            stated.enter(asked.preferences, access, &evaluator.agents, origin.ok(), &mut buffers.key);
        }
    }

    /// How many rows from `first` on stand where that one does.
    fn same_place(&self, isa: Isa, decided: &Decided<'_>, first: usize, ahead: usize) -> usize {
        if self.places.iter().all(|place| place.has_origin && place.target_at.is_none()) {
            return decided.rows.len() - first;
        }
        if !self.places.iter().all(|place| place.has_origin) {
            return 1; // what goes on from a row that names no origin may well name one
        }
        if let Some(lines) = decided.rows.lines() {
            return isa.run(SamePrefix { octets: &decided.octets, lines, first, prefix: &self.prefix, ahead });
        }
        (first..decided.rows.len()).position(|row| !self.prefix.begins(decided.row(row))).unwrap_or(decided.rows.len() - first)
    }
}

/// Rows that stand in one place.
struct RunOf<'a, 's> {
    evaluator: &'a Evaluator<'s>,
    rows: Range<usize>,
    buffers: &'a mut Buffers,
    decided: &'a mut Decided<'s>,
}

impl<'s> RunOf<'_, 's> {
    /// Verdicts alone.
    fn answer(&mut self, known: &mut Known<'s>) {
        known.places.iter_mut().for_each(Place::begin);
        let agent_count = self.evaluator.agents.len().max(1);
        let Decided { octets, rows: places, columns, .. } = &mut *self.decided;
        for ((place, reading), columns) in known.places.iter_mut().zip(&self.evaluator.readings).zip(columns.chunks_mut(agent_count)) {
            for row in self.rows.clone() {
                place.verdict_row(reading.form, &octets[places.range(octets, row)], self.buffers, columns, row);
            }
        }
        self.finish(known);
    }

    /// Whole decisions. `starts` is a buffer.
    fn decide(&mut self, known: &mut Known<'s>, starts: &mut Vec<u32>) {
        known.places.iter_mut().for_each(Place::begin);
        let (evaluator, buffers) = (self.evaluator, &mut *self.buffers);
        let Decided { octets, rows: places, decisions, columns, .. } = &mut *self.decided;
        let first = decisions.len();
        match (places.lines(), &mut known.places[..]) {
            (Some(lines), [place @ Place { target_at: Some(_), .. }]) if self.rows.len() >= evaluator.blocks.min_rows() => {
                let target_at = place.target_at.unwrap_or(0) as u32;
                starts.clear();
                starts.extend(self.rows.clone().map(|row| lines.start(row) + target_at));
                let targets = Targets { octets, starts, ends: lines.ends(self.rows.clone()) };
                place.decisions_of(evaluator, targets, buffers, decisions);
            }
            (_, all) => {
                for row in self.rows.clone() {
                    for (place, reading) in all.iter_mut().zip(&evaluator.readings) {
                        place.decide_row(reading.form, &octets[places.range(octets, row)], buffers, decisions);
                    }
                }
            }
        }
        for (row, decisions) in self.rows.clone().zip(decisions[first..].chunks(columns.len().max(1))) {
            columns.iter_mut().zip(decisions).for_each(|(column, decision)| column.set(row, decision.verdict));
        }
        self.finish(known);
        let bound_by = known.places.iter().flat_map(Place::bound_by).collect();
        let snapshots = known.places.iter().map(|place| place.snapshot).collect();
        self.decided.runs.push(Run { rows: self.rows.clone(), snapshots, bound_by });
    }

    fn finish(&mut self, known: &mut Known<'s>) {
        if !known.stated.is_empty() {
            self.usages_of(known);
        }
        let (summary, rows) = (&mut self.decided.summary, self.rows.len() as u64);
        summary.lookups += u64::from(known.places.iter().any(|place| place.has_origin));
        known.places[0].count_time(summary, rows);
        let mut tallies = summary.agents.iter_mut();
        known.places.iter().for_each(|place| place.count_run(&mut tallies, rows));
    }

    /// What is stated about the rows that have their verdicts.
    fn usages_of(&mut self, known: &mut Known<'s>) {
        let Known { places, stated, .. } = known;
        let (evaluator, decided) = (self.evaluator, &mut *self.decided);
        let agent_count = evaluator.agents.len();
        for (index, (stated, asked)) in stated.iter_mut().zip(&evaluator.uses).enumerate().filter(|(_, (stated, _))| !stated.is_silent()) {
            let (place, form) = (&places[asked.reading], evaluator.readings[asked.reading].form);
            let verdicts = asked.reading * agent_count..;
            for row in self.rows.clone() {
                let octets = &decided.octets[decided.rows.range(&decided.octets, row)];
                stated.ask(place.target(form, octets), &mut self.buffers.scratch);
                for (agent, verdict) in (0..agent_count).zip(&decided.columns[verdicts.clone()]) {
                    if let Some(preference) = stated.answer(agent).filter(|_| verdict.allow.get(row)) {
                        decided.usages[index * agent_count + agent].set(row, preference);
                        decided.summary.usages[index * agent_count + agent].count(preference);
                    }
                }
            }
        }
    }
}
