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

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::evaluate::Evaluator;
use super::place::{Buffers, Origin, Place, RowsOf};
use super::prefix::{Prefix, SamePrefix};
use super::rows::Lines;
use super::usage::Stated;
use super::{Batch, Column, Decided, Run, Summary, UsageColumn};
use crate::engine::matcher::block::Targets;
use crate::engine::scan::Isa;
use crate::target::url::BadUrl;

/// Octets before a path that a thread remembers the places of, at most; fewer when there are many columns.
const MAX_KNOWN: usize = 4096;

/// Places ahead for which what they are asked with is brought into the cache.
const AHEAD: usize = 4;

/// The state of one thread, in buffers that outlive batches.
#[derive(Debug, Default)]
pub struct Worker<'s> {
    /// Whether whole decisions are asked for, and not verdicts alone.
    detail: bool,
    /// The evaluator that the worker last worked for.
    evaluator: u64,
    buffers: Buffers,
    /// By hash of the octets that decide the origin.
    known: Vec<Option<Box<Known<'s>>>>,
    /// Where a row stands that names no origin.
    nowhere: Known<'s>,
    /// Where the targets of the current rows begin, where they are lines with one prefix.
    starts: Vec<u32>,
    /// Those places of `known` that rows of the batch stand in, in order of first appearance.
    touched: Vec<u32>,
    /// The runs of the batch.
    runs: Vec<Link>,
    group: Group,
}

/// Consecutive rows of one place, and the next such rows of that place.
#[derive(Debug)]
struct Link {
    first: u32,
    count: u32,
    next: u32,
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
            self.rows.extend(run.first..run.first + run.count);
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

    /// Decides a batch. `spare` is a decided batch that is no longer needed, for its buffers.
    pub fn decide(&mut self, evaluator: &Evaluator<'s>, batch: Batch<'s>, detail: bool, spare: Option<Decided<'s>>) -> Decided<'s> {
        if (self.evaluator, self.detail) != (evaluator.number(), detail) {
            (self.evaluator, self.detail) = (evaluator.number(), detail);
            self.known.clear();
            let columns = (evaluator.column_count() + evaluator.usage_count()).max(1);
            self.known.resize_with((MAX_KNOWN / columns).max(64).next_power_of_two(), || None);
        }
        let mut decided = spare.unwrap_or_default();
        decided.octets = batch.split(evaluator.isa, &mut decided.rows);
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
        self.runs.clear();
        let mut start = 0;
        while start < decided.rows.len() {
            start = self.gather(evaluator, decided, start);
        }
        for index in 0..self.touched.len() {
            if let Some(ahead) = self.touched.get(index + AHEAD).and_then(|&at| self.known[at as usize].as_ref()) {
                ahead.places[0].prefetch(&self.buffers);
            }
            self.answer_place(evaluator, decided, self.touched[index] as usize);
        }
    }

    /// Notes where the rows from `first` on that begin alike stand; gives the row behind them.
    #[inline]
    fn gather(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, first: usize) -> usize {
        let row = &decided.octets[decided.rows.range(&decided.octets, first)];
        let origin = Origin::of(row);
        let prefix = match &origin {
            Ok(origin) if !evaluator.readings[0].cuts_itself() => origin.prefix(),
            _ => return self.answer_odd(evaluator, decided, first),
        };
        let at = xxh3_64(prefix) as usize & (self.known.len() - 1);
        if self.known[at].get_or_insert_default().prefix.octets() != prefix {
            self.answer_place(evaluator, decided, at);
            let row = &decided.octets[decided.rows.range(&decided.octets, first)];
            let known = self.known[at].as_mut().expect("just made");
            known.enter(evaluator, row, Origin::of(row), false, &mut self.buffers);
        }
        let known = self.known[at].as_mut().expect("just made");
        if !known.places[0].has_origin {
            // A host that is none: the row looks like a URL, and has no origin.
            RunOf { evaluator, rows: first..first + 1, buffers: &mut self.buffers, decided }.answer(known);
            return first + 1;
        }
        let count = known.same_place(evaluator.isa, decided, first, &mut self.starts);
        let run = self.runs.len() as u32;
        self.runs.push(Link { first: first as u32, count: count as u32, next: NONE });
        match &mut known.waiting {
            Some((_, last)) => {
                self.runs[*last as usize].next = run;
                *last = run;
            }
            None => {
                known.waiting = Some((run, run));
                self.touched.push(at as u32);
            }
        }
        first + count
    }

    /// Answers rows from `first` on that name no origin, or are all cut by themselves; gives the row behind them.
    fn answer_odd(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>, first: usize) -> usize {
        let Worker { nowhere, buffers, starts, .. } = self;
        let row = decided.row(first);
        nowhere.enter(evaluator, row, Origin::of(row), false, buffers);
        let end = first + nowhere.same_place(evaluator.isa, decided, first, starts);
        RunOf { evaluator, rows: first..end, buffers, decided }.answer(nowhere);
        end
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
        if group.rows.len() < evaluator.blocks.min_rows() {
            for (index, &row) in group.rows.iter().enumerate() {
                place.verdict_raw(evaluator.readings[0].form, targets.raw(index), buffers, columns, row as usize);
            }
        } else {
            let rows = if first == last { RowsOf::From(group.rows[0] as usize) } else { RowsOf::Each(&group.rows) };
            place.verdicts_of(evaluator, targets, buffers, columns, rows);
        }
        summary.lookups += group.runs;
        place.count_time(summary, group.rows.len() as u64);
        place.count_run(&mut summary.agents.iter_mut(), group.rows.len() as u64);
    }

    fn decide_rows(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>) {
        let Worker { detail, buffers, known, nowhere, starts, .. } = self;
        let mut start = 0;
        while start < decided.rows.len() {
            let row = &decided.octets[decided.rows.range(&decided.octets, start)];
            let known = enter(known, nowhere, evaluator, row, *detail, buffers);
            let end = start + known.same_place(evaluator.isa, decided, start, starts);
            let mut run = RunOf { evaluator, rows: start..end, buffers, decided };
            match detail {
                true => run.decide(known, starts),
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
    if known.prefix.octets() != prefix {
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

    /// How many rows from `first` on stand where that one does. `starts` gets where their targets begin, if they are lines and there is one reading.
    fn same_place(&self, isa: Isa, decided: &Decided<'_>, first: usize, starts: &mut Vec<u32>) -> usize {
        starts.clear();
        if self.places.iter().all(|place| place.has_origin && place.target_at.is_none()) {
            return decided.rows.len() - first;
        }
        if !self.places.iter().all(|place| place.has_origin) {
            return 1; // what goes on from a row that names no origin may well name one
        }
        if let (Some(lines), [Place { target_at: Some(target_at), .. }]) = (decided.rows.lines(), &self.places[..]) {
            let (octets, prefix) = (&decided.octets[..], &self.prefix);
            return isa.run(SamePrefix { octets, lines, first, prefix, target_at: *target_at as u32, starts });
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

    /// Whole decisions. `starts` has where the targets begin, if that is known.
    fn decide(&mut self, known: &mut Known<'s>, starts: &[u32]) {
        known.places.iter_mut().for_each(Place::begin);
        let (evaluator, buffers) = (self.evaluator, &mut *self.buffers);
        let Decided { octets, rows: places, decisions, columns, .. } = &mut *self.decided;
        let first = decisions.len();
        match (places.lines(), &mut known.places[..]) {
            (Some(lines), [place]) if starts.len() >= evaluator.blocks.min_rows() => {
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
