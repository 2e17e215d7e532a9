//! The walk of a block of targets through one automaton, side by side.
//!
//! ```text
//!   line   https://host/private/x⏎        1. entry    `/` and two octets at once, for every line
//!   line   https://host/a/b⏎              2. waves    STEPS steps for every line that is not over; those that still are not are
//!   line   https://host/img/1.png⏎                    written to the next list, without a branch
//!             start ─┘ └─ depth           3. chains   lines that came to a chain are compared with it, 32 octets at once, and go on to 2.
//!
//!   states  final  slow  chain  live  …     one a line: where its walk stands
//! ```
//!
//! One line after another would wait for each look-up and guess wrong where each walk ends; side by side the processor works on many lines at once,
//! and nothing is guessed. A walk that is over stays where it is, so a step too many does no harm but to read an octet behind the end of its line:
//! the lines of a block end [`MARGIN`] octets before the octets do.

#![allow(unsafe_code)]

use super::kernel::{Automaton, CHAIN_LEN, StateId};
use crate::engine::scan::Vector;

/// How far behind the end of a line the walk may read.
pub(super) const MARGIN: usize = 66;
/// Lines that are walked together: their states and lists stay in the fastest cache.
pub(super) const CHUNK: usize = 1024;
/// Steps a wave, once the first is over.
const STEPS: usize = 4;
/// Octets that the entry takes.
const ENTRY_LEN: usize = 3;

/// Lists of lines under way.
#[derive(Debug)]
pub(super) struct Lists {
    /// Lines whose walks go on, and the places of those that do not all stand at one depth.
    rows: Box<[u16; CHUNK]>,
    places: Box<[u32; CHUNK]>,
    /// Lines at chains.
    chains: Box<[u16; CHUNK]>,
}

impl Default for Lists {
    fn default() -> Lists {
        Lists { rows: Box::new([0; CHUNK]), places: Box::new([0; CHUNK]), chains: Box::new([0; CHUNK]) }
    }
}

/// Walks the targets that begin at `starts` in `octets`; `states` gets where each walk ends: in a final state, or in the slow one.
///
/// `starts` ascends, and there are at most [`CHUNK`].
#[inline(always)]
pub(super) fn walk<V: Vector, S: StateId>(
    vector: V,
    automaton: &Automaton<S>,
    octets: &[u8],
    starts: &[u32],
    states: &mut [S; CHUNK],
    lists: &mut Lists,
) {
    assert!(starts.len() <= CHUNK && starts.is_sorted(), "a chunk of ascending starts");
    assert!(starts.last().is_none_or(|&last| last as usize + MARGIN <= octets.len()), "lines end a margin before their octets do");
    let mut walk = Walk { automaton, octets, starts, states, lists, limit: octets.len().saturating_sub(MARGIN) };
    if automaton.start >= automaton.live {
        let count = walk.enter();
        walk.first_waves(count);
    } else {
        walk.states[..starts.len()].fill(automaton.start);
        walk.leave_odd();
    }
    walk.chains(vector);
}

struct Walk<'a, S> {
    automaton: &'a Automaton<S>,
    octets: &'a [u8],
    starts: &'a [u32],
    states: &'a mut [S; CHUNK],
    lists: &'a mut Lists,
    /// No octet is read from here on but by a step too many.
    limit: usize,
}

impl<S: StateId> Walk<'_, S> {
    /// The first octets of every target. Gives how many walks go on.
    #[inline(always)]
    fn enter(&mut self) -> usize {
        let a = self.automaton;
        let mut count = 0;
        for (row, &start) in self.starts.iter().enumerate() {
            debug_assert!(start as usize + MARGIN <= self.octets.len());
            // SAFETY: every line ends MARGIN octets or more before the octets do, so four can be read where it starts (`walk` has asserted it of the last).
            let head = unsafe { self.octets.as_ptr().add(start as usize).cast::<[u8; 4]>().read_unaligned() };
            let state = a.enter(head[1], head[2]);
            let state = if head[0] == b'/' { state } else { a.slow };
            self.states[row % CHUNK] = state;
            self.lists.rows[count % CHUNK] = row as u16;
            count += usize::from(state >= a.live);
        }
        count
    }

    /// Targets that do not begin with a `/`.
    fn leave_odd(&mut self) {
        for (state, &start) in self.states.iter_mut().zip(self.starts) {
            if self.octets.get(start as usize) != Some(&b'/') {
                *state = self.automaton.slow;
            }
        }
    }

    /// Waves over lines that all stand at one depth: a short one first, since most walks end early.
    #[inline(always)]
    fn first_waves(&mut self, count: usize) {
        let (count, mut depth) = (self.wave::<2>(count, ENTRY_LEN), ENTRY_LEN + 2);
        let mut count = count;
        while count > 0 {
            count = self.wave::<STEPS>(count, depth);
            depth += STEPS;
        }
    }

    /// Steps for the first `count` lines of the list, which stand `depth` octets behind their starts. Gives how many go on.
    #[inline(always)]
    fn wave<const K: usize>(&mut self, mut count: usize, depth: usize) -> usize {
        let a = self.automaton;
        // The list ascends: the last line is the first to come too close to the end.
        while count > 0 && self.starts[usize::from(self.lists.rows[count - 1])] as usize + depth >= self.limit {
            count -= 1;
            self.states[usize::from(self.lists.rows[count])] = a.slow;
        }
        let mut next = 0;
        for at in 0..count {
            let row = self.lists.rows[at];
            let (start, state) = (self.starts[usize::from(row)] as usize, &mut self.states[usize::from(row) % CHUNK]);
            // SAFETY: the last of the ascending starts, and so each of them, lies `depth` octets or more before `limit`, which is K octets or more before
            // the end; no row of `states` was written but with states of the automaton.
            *state = unsafe { steps::<S, K>(a, self.octets, *state, start + depth) };
            self.lists.rows[next] = row;
            next += usize::from(*state >= a.live);
        }
        next
    }

    /// Lines that came to chains, until there are none.
    #[inline(always)]
    fn chains<V: Vector>(&mut self, vector: V) {
        let a = self.automaton;
        let mut count = 0;
        for row in 0..self.starts.len() {
            self.lists.chains[count % CHUNK] = row as u16;
            count += usize::from(self.states[row] > a.slow);
        }
        while count > 0 {
            let (mut live, mut chains) = (0, 0);
            for at in 0..count {
                // The list of chains is written anew in front of where it is read.
                let row = self.lists.chains[at];
                let chain = a.chain(self.states[usize::from(row) % CHUNK]);
                let place = (self.starts[usize::from(row)] + chain.depth) as usize;
                let (state, place) = self.compare(vector, chain, place);
                self.note(row, state, place, &mut live, &mut chains);
            }
            count = self.waves(live, chains);
        }
    }

    /// Notes where a walk stands, and lists it with those that go on or with those at chains.
    #[inline(always)]
    fn note(&mut self, row: u16, state: S, place: usize, live: &mut usize, chains: &mut usize) {
        let a = self.automaton;
        self.states[usize::from(row) % CHUNK] = state;
        self.lists.rows[*live % CHUNK] = row;
        self.lists.places[*live % CHUNK] = place as u32;
        *live += usize::from(state >= a.live);
        self.lists.chains[*chains % CHUNK] = row;
        *chains += usize::from((state > a.slow) & (state < a.live));
    }

    /// Where a target that came to a chain stands behind it.
    #[inline(always)]
    fn compare<V: Vector>(&self, vector: V, chain: &super::kernel::Chain<S>, place: usize) -> (S, usize) {
        let Some(text) = self.octets.get(place..).and_then(|octets| octets.first_chunk::<CHAIN_LEN>()) else {
            return (self.automaton.slow, place);
        };
        let shared = vector.shared(text, &chain.octets, chain.len);
        let broken = if self.automaton.is_slow_octet(text[shared as usize % CHAIN_LEN]) { self.automaton.slow } else { chain.broken };
        (if shared == chain.len { chain.next } else { broken }, place + chain.len as usize)
    }

    /// Waves over the `count` listed lines, which stand at places of their own, until each is over or at a chain. Gives how many are at a chain, of which
    /// `chains` were before.
    #[inline(always)]
    fn waves(&mut self, mut count: usize, mut chains: usize) -> usize {
        let a = self.automaton;
        while count > 0 {
            let mut live = 0;
            for at in 0..count {
                let (row, place) = (self.lists.rows[at], self.lists.places[at] as usize);
                let state = self.states[usize::from(row) % CHUNK];
                // SAFETY: `limit` is STEPS octets or more before the end, and the state is one of the automaton.
                let state = if place < self.limit { unsafe { steps::<S, STEPS>(a, self.octets, state, place) } } else { a.slow };
                self.note(row, state, place + STEPS, &mut live, &mut chains);
            }
            count = live;
        }
        chains
    }
}

/// K steps from `state`, over the octets at `place` and behind.
///
/// # Safety
///
/// `place + K` is at most the number of octets, and `state` is a state of `automaton`: it has a row of its table.
#[inline(always)]
unsafe fn steps<S: StateId, const K: usize>(automaton: &Automaton<S>, octets: &[u8], mut state: S, place: usize) -> S {
    debug_assert!(place + K <= octets.len());
    for step in 0..K {
        // SAFETY: the caller's promise.
        let octet = unsafe { *octets.get_unchecked(place + step) };
        let class = usize::from(automaton.classes[usize::from(octet)]);
        debug_assert!(automaton.start_of(state) + class < automaton.table.len());
        // SAFETY: classes are fewer than a row is long, and every entry of a class has a row: `Automaton` was proved closed when it was made.
        state = unsafe { *automaton.table.get_unchecked(automaton.start_of(state) + class) };
    }
    state
}
