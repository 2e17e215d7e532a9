//! Where rows stand whose verdicts alone are asked for, by what they begin with.
//!
//! ```text
//!   hash of the prefix ──▶ index ──▶ spot: the octets, who waits, one verdict for all or ──▶ place: who is bound by what
//!                            └─ nobody there ──▶ the store's own slots: no origin ──▶ the spot of rows without a policy
//! ```
//!
//! Most hosts of a list without order have no policy, and are seen once. The slots of the store tell so by the same hash, so nothing is remembered of them,
//! and all their rows stand in one spot. What a spot with one verdict for all targets answers with lies in two lines of the cache.

use super::cut::{Link, NONE};
use super::evaluate::Evaluator;
use super::place::{Buffers, Origin, Place};
use super::rows::Lines;
use crate::engine::scan::{Task, Vector, prefetch};
use crate::protocol::decision::{Decision, Reason, Verdict};
use crate::store::Slots;

/// Spots that a thread remembers at most; fewer when there are many columns.
const MAX_SPOTS: usize = 8192;

/// The spot of rows whose origin has no policy.
const NO_POLICY: u32 = 0;
/// The spot of rows that name no origin.
const NOWHERE: u32 = 1;

/// Entries of the index that are looked at: a list can be made in which many prefixes crowd, and whoever finds no free entry takes another's.
const MAX_PROBES: usize = 16;

/// Runs ahead for which what they are looked up in is brought into the cache.
const AHEAD: usize = 4;

/// Where rows that begin alike stand.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Spot<'s> {
    /// The octets that decide the origin, the first 64.
    head: [u8; 64],
    len: usize,
    /// All of them, if they are more.
    long: Box<[u8]>,
    /// The first and the last of its runs that wait for an answer; [`NONE`] if none does.
    pub(super) first: u32,
    last: u32,
    /// Rows that wait.
    pub(super) rows: u32,
    /// The verdict of all targets but robots.txt, for every agent.
    pub(super) fixed: Option<Verdict>,
    pub(super) place: Box<Place<'s>>,
}

impl<'s> Spot<'s> {
    fn new(prefix: &[u8], place: Place<'s>) -> Spot<'s> {
        let mut head = [0; 64];
        let len = prefix.len().min(64);
        head[..len].copy_from_slice(&prefix[..len]);
        let long = if prefix.len() > 64 { prefix.into() } else { Box::default() };
        Spot { head, len: prefix.len(), long, first: NONE, last: NONE, rows: 0, fixed: place.fixed(), place: Box::new(place) }
    }

    /// Whether `octets` begin with its own, which are `len`.
    #[inline(always)]
    fn is<V: Vector>(&self, vector: V, octets: &[u8], len: usize) -> bool {
        if self.len != len {
            return false;
        }
        match octets.first_chunk::<64>() {
            Some(head) if len <= 64 => vector.begins(head, &self.head, len),
            _ if len <= 64 => octets.starts_with(&self.head[..len]),
            _ => octets.starts_with(&self.long),
        }
    }

    /// Nobody waits any more. Gives the first run that did.
    pub(super) fn take(&mut self) -> u32 {
        self.rows = 0;
        std::mem::replace(&mut self.first, NONE)
    }
}

/// The spots of a thread.
#[derive(Debug, Default)]
pub(super) struct Spots<'s> {
    /// Spots by hash, plus one, in the next free entry; 0 is free.
    index: Vec<u32>,
    pub(super) all: Vec<Spot<'s>>,
    /// Those in which rows of the batch stand, in order of first appearance.
    pub(super) touched: Vec<u32>,
}

impl<'s> Spots<'s> {
    /// Forgets all, and makes room for an evaluator with so many columns.
    pub(super) fn reset(&mut self, evaluator: &Evaluator<'s>) {
        let room = (MAX_SPOTS / evaluator.column_count().max(1)).max(64).next_power_of_two();
        self.all.clear();
        self.touched.clear();
        self.index.clear();
        self.index.resize(4 * room, 0);
        for (has_origin, reason) in [(true, Reason::NoPolicy), (false, Reason::BadUrl)] {
            let place = Place::of_one_decision(has_origin, evaluator.agents.len(), Decision::unresolved(reason));
            self.all.push(Spot::new(&[], place));
        }
    }

    fn is_full(&self) -> bool {
        self.all.len() > self.index.len() / 4
    }

    /// Brings into the cache what a run will be looked up in: first the tables, then what they lead to.
    #[inline(always)]
    fn prefetch(&self, runs: &[Link], run: usize, slots: Slots<'_>) {
        if let Some(ahead) = runs.get(run + 2 * AHEAD) {
            prefetch(&self.index[self.entry(ahead.hash)]);
            slots.first(ahead.hash).inspect(|slot| prefetch(*slot));
        }
        if let Some(ahead) = runs.get(run + AHEAD)
            && let Some(spot) = self.all.get((self.index[self.entry(ahead.hash)] as usize).wrapping_sub(1))
        {
            prefetch(&spot.head);
            prefetch(&spot.rows);
        }
    }

    #[inline(always)]
    fn entry(&self, hash: u64) -> usize {
        hash as usize & (self.index.len() - 1)
    }

    /// The spot of a prefix, or the entry that it should get.
    #[inline(always)]
    fn find<V: Vector>(&self, vector: V, octets: &[u8], len: usize, hash: u64) -> Result<u32, usize> {
        let first = self.entry(hash);
        for probe in 0..MAX_PROBES {
            let at = (first + probe) & (self.index.len() - 1);
            let Some(spot) = self.index[at].checked_sub(1) else { return Err(at) };
            if self.all[spot as usize].is(vector, octets, len) {
                return Ok(spot);
            }
        }
        Err(first)
    }

    /// Lets a run wait in a spot.
    #[inline(always)]
    fn wait(&mut self, runs: &mut [Link], run: usize, at: u32) {
        let spot = &mut self.all[at as usize];
        if spot.first == NONE {
            spot.first = run as u32;
            self.touched.push(at);
        } else {
            runs[spot.last as usize].next = run as u32;
        }
        spot.last = run as u32;
        spot.rows += runs[run].count;
    }
}

/// Lets runs wait where they stand, `from` one on. Gives the run at which there was no room left for another spot, or their number.
pub(super) struct Stand<'a, 's> {
    pub(super) evaluator: &'a Evaluator<'s>,
    pub(super) octets: &'a [u8],
    pub(super) lines: Lines<'a>,
    pub(super) slots: Slots<'s>,
    pub(super) runs: &'a mut [Link],
    pub(super) from: usize,
    pub(super) spots: &'a mut Spots<'s>,
    pub(super) buffers: &'a mut Buffers,
}

impl Task for Stand<'_, '_> {
    type Output = usize;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> usize {
        let Stand { evaluator, octets, lines, slots, runs, from, spots, buffers } = self;
        for run in from..runs.len() {
            spots.prefetch(runs, run, slots);
            let Link { first, prefix_len, hash, is_plain, .. } = runs[run];
            let (octets, len) = (&octets[lines.start(first as usize) as usize..], prefix_len as usize);
            let spot = match spots.find(vector, octets, len, hash) {
                _ if len == 0 => NOWHERE,
                Ok(spot) => spot,
                Err(_) if is_plain && slots.lack(hash) => NO_POLICY,
                Err(_) if spots.is_full() => return run,
                Err(at) => spots.enter(evaluator, slots, &octets[..len], at, buffers),
            };
            spots.wait(runs, run, spot);
        }
        runs.len()
    }
}

impl<'s> Spots<'s> {
    /// Where rows with a prefix stand that no spot has: in a new one, for which that entry of the index is, if the store may know the origin.
    #[inline(never)]
    fn enter(&mut self, evaluator: &Evaluator<'s>, slots: Slots<'s>, prefix: &[u8], at: usize, buffers: &mut Buffers) -> u32 {
        let (reading, key) = (&evaluator.readings[0], &mut buffers.key);
        let origin = Origin::of(prefix).and_then(|origin| origin.write_key(reading.form.origin(), key).map(|()| origin));
        match origin {
            Err(_) => return NOWHERE,
            Ok(_) if slots.lack(slots.hash(key)) => return NO_POLICY,
            Ok(_) => {}
        }
        let mut place = Place::default();
        place.enter(reading, &evaluator.agents, origin, false, evaluator.fallback, key);
        self.all.push(Spot::new(prefix, place));
        self.index[at] = self.all.len() as u32;
        self.all.len() as u32 - 1
    }
}
