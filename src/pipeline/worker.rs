//! One batch: rows to decisions.
//!
//! ```text
//!   row ──▶ octets before its path ──hash──▶ known? ──▶ place: who is bound by what
//!                                              └─ no: look the origin up, bind the agents, remember
//!   rows of the batch by place ──▶ one verdict for all, many at once, or one after another ──▶ bits where the rows lie
//! ```
//!
//! In a list without order the rows of a well-known host lie all over a batch. So verdicts are not given as rows come: the rows of a place are put
//! together first, in chains through the batch, and each place is asked once.

use std::borrow::Cow;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::cut::{Cut, Link, NONE};
use super::evaluate::{Blocks, Evaluator};
use super::fallback::Lent;
use super::place::{Buffers, Origin, Place, RowsOf};
use super::prefix::{Prefix, SamePrefix};
use super::prepare::Workshop;
use super::rows::Lines;
use super::spots::{Spots, Stand};
use super::usage::Stated;
use super::{Batch, Column, Decided, Run, Summary, UsageColumn};
use crate::engine::matcher::block::Targets;
use crate::engine::scan::{Isa, prefetch};
use crate::protocol::decision::Verdict;
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
    /// Likewise, where verdicts alone are asked for.
    spots: Spots<'s>,
    /// The runs of the batch.
    runs: Vec<Link>,
    group: Group,
}

/// The rows of one place, gathered.
#[derive(Debug, Default)]
struct Group {
    rows: Vec<u32>,
    starts: Vec<u32>,
    ends: Vec<u32>,
    runs: u64,
}

impl Group {
    /// Gathers the runs from `first` on; `target_at` tells of each how many octets behind the start of a line the target begins.
    #[inline]
    fn gather(&mut self, lines: Lines<'_>, runs: &[Link], first: u32, target_at: impl Fn(&Link) -> u32) {
        self.rows.clear();
        self.starts.clear();
        self.ends.clear();
        self.runs = 0;
        let mut next = first;
        while next != NONE {
            let run = &runs[next as usize];
            let rows = run.first as usize..(run.first + run.count) as usize;
            let target_at = target_at(run);
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
    ///
    /// # Panics
    ///
    /// When the batch is a [`Unit`](super::Unit): its parts are batches.
    pub fn decide(&mut self, evaluator: &Evaluator<'s>, batch: Batch<'s>, detail: bool, spare: Option<Decided<'s>>) -> Decided<'s> {
        if (self.evaluator, self.detail) != (evaluator.number(), detail) {
            (self.evaluator, self.detail) = (evaluator.number(), detail);
            self.forget(evaluator);
        }
        if self.buffers.workshop.is_past(&evaluator.prepared) {
            self.forget(evaluator);
        }
        let mut decided = spare.unwrap_or_default();
        decided.take(batch, evaluator.isa);
        self.ahead = match decided.octets {
            Cow::Borrowed(_) => BATCH_LEN * (self.others + 1),
            Cow::Owned(_) => 0, // a buffer of its own: nothing follows
        };
        decided.decisions.clear();
        decided.runs.clear();
        decided.lent.clear();
        if !evaluator.fallback.is_off() {
            decided.lent.resize(decided.rows.len(), 0);
        }
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
        match &evaluator.readings[..] {
            [reading] if !detail && !reading.cuts_itself() && evaluator.uses.is_empty() && decided.rows.lines().is_some() => {
                self.answer_lines(evaluator, &mut decided)
            }
            _ => self.decide_rows(evaluator, &mut decided),
        }
        decided
    }

    /// Places remember where the workshop keeps what they need, so all begin anew together.
    fn forget(&mut self, evaluator: &Evaluator<'s>) {
        self.buffers.workshop = Workshop::new(&evaluator.prepared);
        self.known.clear();
        self.spots.reset(evaluator);
    }

    /// Verdicts alone, of one reading, for rows that are lines: gathered by place.
    fn answer_lines(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>) {
        let (slots, key) = (evaluator.slots(), evaluator.readings[0].form.origin());
        let lines = decided.rows.lines().expect("rows are gathered where they are lines");
        evaluator.isa.run(Cut { octets: &decided.octets, lines, slots, key, ahead: self.ahead, runs: &mut self.runs });
        let mut from = 0;
        loop {
            let Worker { runs, spots, buffers, .. } = self;
            let (octets, lines) = (&decided.octets[..], decided.rows.lines().expect("as before"));
            from = evaluator.isa.run(Stand { evaluator, octets, lines, slots, runs, from, spots, buffers });
            self.answer_spots(evaluator, decided);
            if from == self.runs.len() {
                return;
            }
            self.spots.reset(evaluator);
        }
    }

    /// Answers all rows that wait.
    fn answer_spots(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>) {
        let Worker { spots, runs, group, buffers, .. } = self;
        let Spots { all, touched, .. } = spots;
        for index in 0..touched.len() {
            if let Some(&ahead) = touched.get(index + 2 * AHEAD) {
                prefetch(&*all[ahead as usize].place);
            }
            if let Some(ahead) = touched.get(index + AHEAD).map(|&at| &all[at as usize])
                && ahead.fixed.is_none()
            {
                ahead.place.prefetch(buffers);
            }
            let spot = &mut all[touched[index] as usize];
            let (rows, fixed) = (u64::from(spot.rows), spot.fixed.filter(|_| evaluator.blocks != Blocks::Never));
            let first = spot.take();
            let waiting = Waiting { evaluator, runs, first, place: &mut spot.place, buffers, decided };
            let run_count = match fixed {
                Some(verdict) => waiting.answer_fixed(verdict, rows),
                None => waiting.answer(group),
            };
            if let Some(lent) = spot.place.lent {
                note_lent(&mut decided.lent, runs, first, lent);
            }
            let summary = &mut decided.summary;
            summary.lookups += if spot.place.has_origin { run_count } else { 0 };
            spot.place.count_time(summary, rows);
            spot.place.count_run(&mut summary.agents.iter_mut(), rows);
        }
        touched.clear();
    }

    fn decide_rows(&mut self, evaluator: &Evaluator<'s>, decided: &mut Decided<'s>) {
        let Worker { detail, buffers, known, nowhere, group, ahead, .. } = self;
        if known.is_empty() {
            let columns = (evaluator.column_count() + evaluator.usage_count()).max(1);
            known.resize_with((MAX_KNOWN / columns).max(64).next_power_of_two(), || None);
        }
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

/// Notes who has lent the policy for the runs from `first` on.
fn note_lent(rows: &mut [u8], runs: &[Link], first: u32, lent: Lent) {
    let mut next = first;
    while next != NONE {
        let run = &runs[next as usize];
        rows[run.first as usize..(run.first + run.count) as usize].fill(lent as u8);
        next = run.next;
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
            place.enter(reading, &evaluator.agents, origin, detail, evaluator.fallback, &mut buffers.key);
        }
        for (stated, asked) in self.stated.iter_mut().zip(&evaluator.uses) {
            let access = evaluator.readings[asked.reading].access;
            stated.enter(asked.preferences, access, &evaluator.agents, origin.ok(), evaluator.fallback, &mut buffers.key);
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

/// Rows that wait in one place.
struct Waiting<'a, 's> {
    evaluator: &'a Evaluator<'s>,
    runs: &'a [Link],
    /// The first of their runs.
    first: u32,
    place: &'a mut Place<'s>,
    buffers: &'a mut Buffers,
    decided: &'a mut Decided<'s>,
}

impl<'s> Waiting<'_, 's> {
    /// Verdicts where every target but robots.txt has the same. Gives the number of runs.
    fn answer_fixed(self, verdict: Verdict, row_count: u64) -> u64 {
        let Waiting { evaluator, runs, first, place, buffers, decided } = self;
        let Decided { octets, rows, columns, .. } = decided;
        let (form, lines) = (evaluator.readings[0].form, rows.lines().expect("rows are gathered where they are lines"));
        let (mut run_count, mut exempt, mut next) = (0, 0, first);
        while next != NONE {
            let run = &runs[next as usize];
            next = run.next;
            run_count += 1;
            let (first, count) = (run.first as usize, run.count as usize);
            columns.iter_mut().for_each(|column| column.set_range(first, count, verdict));
            if verdict == Verdict::Allow || !place.has_origin {
                continue;
            }
            let start = lines.start(first) as usize;
            let target_at = form.start(&octets[start..start + run.prefix_len as usize]);
            for row in first..first + count {
                let raw = &octets[rows.range(octets, row)][target_at..];
                if form.is_exempt(raw, &mut buffers.target) {
                    exempt += 1;
                    columns.iter_mut().for_each(|column| column.set(row, Verdict::Allow));
                }
            }
        }
        place.count_fixed(verdict, row_count, exempt);
        run_count
    }

    /// Verdicts of automata. Gives the number of runs.
    fn answer(self, group: &mut Group) -> u64 {
        let Waiting { evaluator, runs, first, place, buffers, decided } = self;
        let Decided { octets, rows, columns, .. } = decided;
        let (form, lines) = (evaluator.readings[0].form, rows.lines().expect("rows are gathered where they are lines"));
        let target_at = |run: &Link| match place.target_at {
            Some(target_at) => target_at as u32,
            None => form.start(&octets[lines.start(run.first as usize) as usize..][..run.prefix_len as usize]) as u32,
        };
        group.gather(lines, runs, first, target_at);
        place.begin();
        let targets = Targets { octets, starts: &group.starts, ends: &group.ends };
        let rows = if group.runs == 1 { RowsOf::From(group.rows[0] as usize) } else { RowsOf::Each(&group.rows) };
        if group.starts.len() < evaluator.blocks.min_rows() || !place.has_origin {
            for index in 0..group.starts.len() {
                place.verdict_raw(form, targets.raw(index), buffers, columns, rows.row(index));
            }
        } else {
            place.verdicts_of(evaluator, targets, buffers, columns, rows);
        }
        group.runs
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
        if let Some(lent) = known.places[0].lent {
            self.decided.lent[self.rows.clone()].fill(lent as u8);
        }
        let summary = &mut self.decided.summary;
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
