//! The backstop: a radix trie for what is tied to the start of the target, one automaton for all segments behind stars.
//!
//! The walk down the trie meets every literal rule that matches and every *gate*, the literal prefix of rules with stars. Then the
//! automaton reads the target once. At each octet it tells which segments end there; each of them moves on the rules that wait for it:
//!
//! ```text
//!   gate "/a"  ──waits for──▶ "next=" ──▶ waits for ".php" ──▶ rank 7 matches
//!                 since 2                    since 14
//! ```
//!
//! A rule may take a segment only if it starts where the rule has been waiting since, or later. Rules join a segment's list in the order of that
//! place, so the list is a queue: whoever may move stands in front, and every look at a list but the last moves a rule. Tails that are tied to
//! the end of the target are looked up once, in the state in which the automaton ends.
//!
//! Where a segment ends, a thousand others may end that are suffixes of it. Needles (spellings of segments) are numbered so that those are few
//! intervals, and a bitmap tells which of them anybody waits for:
//!
//! ```text
//!   ends here:  aaaa            number   0    1    2     3
//!   and so do:  aaa, aa, a      needle   a ── aa ── aaa ── aaaa      one path, one interval, one word of the bitmap
//! ```
//!
//! A needle that could not yet count for whoever stands in front is not looked for: its queue is due where it first could.
//!
//! A segment of one octet needs no queue. A table of where the octet stands tells the next place in one step, so a sequence moves through single
//! octets at once, ahead of the scan. Each step waits for the one before, so four runs of octets are followed side by side (`*a*b*a…` a quarter of a
//! million times over: 1.5 ns a move; 4 one run after another by a bitmap, 100 with queues). Only where a longer segment follows, it waits until the
//! scan has come to it, so that queues keep their order.
//!
//! So the cost is that of reading the target, plus one for each rule that moves, and every rule moves through each of its segments at most once.

use crate::engine::program::segments as layout;
use crate::engine::program::trie as trie_layout;
use crate::engine::program::view::{Needle, SegmentsView, Sequence, Step, TrieNode, TrieView};

mod occurrences;

use occurrences::{Occurrences, RUNS, Run};

const NONE: u32 = u32::MAX;
const NOT_DUE: u32 = u32::MAX - 1;
/// Octets of a needle that is looked for before it can count.
const SHORT: usize = 4;

/// How far a sequence is.
#[derive(Debug, Clone, Copy, Default)]
struct Reached {
    /// The run in which it was found, and where its last segment ended.
    found: u32,
    at: u32,
    /// The run in which it began to wait, since where, and who waits behind it: for the spelling as written, and for the decoded one. Once it was found
    /// ahead of the scan: who else was.
    waits: u32,
    since: u32,
    next: [u32; 2],
}

/// Who waits for a needle, in one run: anywhere, or in the query.
#[derive(Debug, Clone, Copy, Default)]
struct Queue {
    run: u32,
    front: u32,
    back: u32,
    /// How many of the floating sequences that begin with the needle were looked at.
    floating: u32,
    /// The next one in the list of those that are due at the same place ahead; [`NOT_DUE`] if it is in no list.
    next_due: u32,
}

/// The state of matching one target, in buffers that outlive it. A number of the run tells what is of this run.
#[derive(Debug, Default)]
pub(super) struct Progress {
    run: u32,
    reached: Vec<Reached>,
    /// Sequences found whose children were not looked at yet.
    moves: Vec<(u32, u32)>,
    occurrences: Occurrences,
    /// By place in the target: the first sequence that was found to end there before the scan came to it, and has children to wait from there on. Empty
    /// as long as there are none.
    ahead: Vec<u32>,
    /// By needle, those who take it anywhere, and behind them those who take it in the query.
    queues: Vec<Queue>,
    /// By place in the target: the first queue whose front can be served there, and not before.
    due: Vec<u32>,
    /// Needles that somebody waits for, one bit each, and those that will count once the query begins.
    live: Vec<u32>,
    live_in_query: Vec<u32>,
    /// Gates that the walk down the trie met: depth and sequence, in order of depth.
    gates: Vec<(usize, u32)>,
}

impl Progress {
    /// The highest rank that matches `target`, among those that bind.
    pub(super) fn best(
        &mut self,
        trie: &TrieView<'_>,
        segments: Option<&SegmentsView<'_>>,
        target: &[u8],
        binds: impl Fn(u32) -> Option<bool>,
    ) -> Option<u32> {
        self.gates.clear();
        let best = self.walk_trie(trie, target, &binds)?;
        let Some(segments) = segments else {
            return Some(best);
        };
        Scan::new(self, segments, target, &binds, best).run()
    }

    /// The highest rank of `known` and the floating rules that match `target`.
    pub(super) fn best_floating(&mut self, segments: &SegmentsView<'_>, target: &[u8], known: u32) -> Option<u32> {
        self.gates.clear();
        Scan::new(self, segments, target, &|_| Some(true), known).run()
    }

    fn walk_trie(&mut self, trie: &TrieView<'_>, target: &[u8], binds: &impl Fn(u32) -> Option<bool>) -> Option<u32> {
        let mut best = 0;
        let mut depth = 0;
        let mut node = trie.node(0)?;
        loop {
            best = self.visit(trie, &node, depth, depth == target.len(), best, binds)?;
            let Some(&octet) = target.get(depth).filter(|_| node.max > best) else {
                return Some(best);
            };
            let Some(child) = trie.child(&node, octet) else {
                return Some(best);
            };
            node = trie.node(child)?;
            let label = trie.label(&node)?;
            if label.is_empty() || !target[depth..].starts_with(label) {
                return Some(best);
            }
            depth += label.len();
        }
    }

    fn visit(
        &mut self,
        trie: &TrieView<'_>,
        node: &TrieNode,
        depth: usize,
        at_end: bool,
        mut best: u32,
        binds: &impl Fn(u32) -> Option<bool>,
    ) -> Option<u32> {
        let Some(at) = node.list.checked_sub(1) else {
            return Some(best);
        };
        let (matches, anchored) = (trie.lists.at(at)?, trie.lists.at(at + 1)?);
        let gate = trie.lists.get(at + 2)?;
        let first = at + trie_layout::LIST_HEAD;
        best = highest(|i| trie.lists.get(first + i), matches, best, binds)?;
        if at_end {
            best = highest(|i| trie.lists.get(first + matches + i), anchored, best, binds)?;
        }
        if gate > 0 {
            self.gates.push((depth, gate - 1));
        }
        Some(best)
    }

    fn begin(&mut self, segments: &SegmentsView<'_>, target_len: usize, with_floating: bool) -> Option<()> {
        self.run = self.run.wrapping_add(1);
        if self.run == 0 {
            self.reached.clear();
            self.queues.clear();
            self.run = 1;
        }
        let (sequence_count, queue_count) = (segments.count(layout::SEQUENCE_COUNT), segments.count(layout::NEEDLE_COUNT) * 2);
        if self.reached.len() < sequence_count {
            self.reached.resize(sequence_count, Reached::default());
        }
        if self.queues.len() < queue_count {
            self.queues.resize(queue_count, Queue::default());
        }
        self.due.clear();
        self.due.resize(target_len + 1, NONE);
        self.ahead.clear();
        self.moves.clear();
        self.occurrences.begin(target_len);
        for (live, which) in [(&mut self.live, layout::LIVE), (&mut self.live_in_query, layout::LIVE_IN_QUERY)] {
            let words = segments.live(which)?;
            live.clear();
            live.extend((0..words.len()).map(|word| if with_floating { words.get(word).unwrap_or(0) } else { 0 }));
        }
        Some(())
    }
}

/// The first rank of a descending list that binds and is above `best`.
fn highest(rank_at: impl Fn(usize) -> Option<u32>, count: usize, best: u32, binds: &impl Fn(u32) -> Option<bool>) -> Option<u32> {
    for index in 0..count {
        let rank = rank_at(index)?;
        if rank <= best {
            break;
        }
        if binds(rank)? {
            return Some(rank);
        }
    }
    Some(best)
}

/// One run of the segment automaton.
struct Scan<'r, 's, B> {
    progress: &'r mut Progress,
    segments: &'r SegmentsView<'s>,
    target: &'r [u8],
    binds: &'r B,
    best: u32,
    /// Where the first `?` stands; the target's length when there is none.
    query: usize,
    /// Whether the scan has passed it.
    in_query: bool,
    /// How far the scan has come.
    now: usize,
    needle_count: usize,
    /// Runs of single octets to be followed, side by side.
    runs: [Run<'s>; RUNS],
    run_count: usize,
}

impl<'r, 's, B: Fn(u32) -> Option<bool>> Scan<'r, 's, B> {
    fn new(progress: &'r mut Progress, segments: &'r SegmentsView<'s>, target: &'r [u8], binds: &'r B, best: u32) -> Scan<'r, 's, B> {
        let (query, in_query, now) = (target.len(), false, 0);
        let needle_count = segments.count(layout::NEEDLE_COUNT);
        Scan { progress, segments, target, binds, best, query, in_query, now, needle_count, runs: [Run::NONE; RUNS], run_count: 0 }
    }

    fn run(&mut self) -> Option<u32> {
        let roots = [(0, layout::ROOT_EMPTY), (1, layout::ROOT_SLASH)].map(|(depth, root)| (depth, self.segments.count(root)));
        let floating = roots.iter().filter(|(_, root)| *root > 0);
        let mut floating_max = 0;
        for &(_, root) in floating {
            floating_max = self.segments.sequence(root - 1)?.max.max(floating_max);
        }
        if floating_max <= self.best && self.progress.gates.is_empty() {
            return Some(self.best);
        }
        self.progress.begin(self.segments, self.target.len(), floating_max > self.best)?;
        for (depth, root) in roots.into_iter().filter(|(_, root)| *root > 0) {
            self.mark_found(root as u32 - 1, depth)?;
        }
        // No segment of a gated rule can begin before its gate, so without floating rules the target is read from the first gate on.
        let start = if floating_max > self.best { 0 } else { self.progress.gates[0].0 };
        self.query = memchr::memchr(b'?', self.target).unwrap_or(self.target.len());
        let state = self.read(start)?;
        self.tails(state)?;
        Some(self.best)
    }

    fn read(&mut self, start: usize) -> Option<usize> {
        let mut state = 0;
        let mut next_gate = 0;
        if start > self.query {
            self.enter_query();
        }
        for at in start..self.target.len() {
            while let Some(&(_, sequence)) = self.progress.gates.get(next_gate).filter(|gate| gate.0 == at) {
                self.now = at;
                self.found(sequence, at)?;
                next_gate += 1;
            }
            state = self.step(state, self.target[at])?;
            if at == self.query {
                self.enter_query();
            }
            self.now = at + 1;
            self.catch_up()?;
            self.wake(at + 1)?;
            self.needles_end(self.segments.state(state)?.longest, at + 1)?;
        }
        Some(state)
    }

    /// From here on decoded spellings count.
    fn enter_query(&mut self) {
        let Progress { live, live_in_query, .. } = &mut *self.progress;
        live.iter_mut().zip(live_in_query).for_each(|(live, in_query)| *live |= std::mem::take(in_query));
        self.in_query = true;
    }

    /// Every needle that is a suffix of `longest` (plus one; 0 for none) ends at `end`: those that somebody waits for are looked at.
    #[inline]
    fn needles_end(&mut self, mut longest: usize, end: usize) -> Option<()> {
        while let Some(number) = longest.checked_sub(1) {
            let needle = self.segments.needle(number)?;
            self.path_ends(needle.head, number, end)?;
            if needle.shorter >= longest {
                return None;
            }
            longest = needle.shorter;
        }
        Some(())
    }

    /// The live needles from `head` to `number`, longest first.
    #[inline]
    fn path_ends(&mut self, head: usize, number: usize, end: usize) -> Option<()> {
        let mut word = number / 32;
        let mut bits = *self.progress.live.get(word)? & (u32::MAX >> (31 - number % 32));
        loop {
            if word == head / 32 {
                bits &= u32::MAX << (head % 32);
            }
            while bits > 0 {
                let bit = 31 - bits.leading_zeros() as usize;
                bits &= !(1 << bit);
                self.needle_ends(word * 32 + bit, end)?;
            }
            if word <= head / 32 {
                return Some(());
            }
            word -= 1;
            bits = *self.progress.live.get(word)?;
        }
    }

    #[inline]
    fn step(&self, mut state: usize, octet: u8) -> Option<usize> {
        while state > 0 {
            let entry = self.segments.state(state)?;
            if let Some(child) = self.segments.child(&entry, octet) {
                return Some(child);
            }
            if entry.fail >= state {
                return None;
            }
            state = entry.fail;
        }
        // The root's children begin with state 1.
        Some(usize::from(self.segments.root[usize::from(octet)]))
    }

    fn needle_ends(&mut self, number: usize, end: usize) -> Option<()> {
        let needle = self.segments.needle(number)?;
        let start = end.checked_sub(needle.len)?;
        // Whoever begins to wait meanwhile sets the bit again.
        self.set_bit(number, false)?;
        let mut stays = self.floating_ends(&needle, number, start, end)?;
        stays |= self.queue_ends(number, start, end)?;
        if self.in_query {
            let in_query = self.needle_count + number;
            stays |= self.floating_in_query_ends(&needle, in_query, start, end)?;
            stays |= self.queue_ends(in_query, start, end)?;
        }
        if stays { self.set_bit(number, true) } else { Some(()) }
    }

    fn set_bit(&mut self, number: usize, live: bool) -> Option<()> {
        let word = self.progress.live.get_mut(number / 32)?;
        let bit = 1 << (number % 32);
        *word = if live { *word | bit } else { *word & !bit };
        Some(())
    }

    /// Whether a spelling counts where it starts: the decoded one only behind the first `?`.
    fn counts(&self, in_query: bool, start: usize) -> bool {
        !in_query || start > self.query
    }

    /// The needle of a queue, and whether it is that of the decoded spelling.
    fn needle_of(&self, queue: usize) -> (usize, bool) {
        match queue.checked_sub(self.needle_count) {
            Some(needle) => (needle, true),
            None => (queue, false),
        }
    }

    /// The queue as it is in this run.
    fn queue(&mut self, index: usize) -> Option<&mut Queue> {
        let run = self.progress.run;
        let queue = self.progress.queues.get_mut(index)?;
        if queue.run != run {
            *queue = Queue { run, front: NONE, back: NONE, floating: 0, next_due: NOT_DUE };
        }
        Some(queue)
    }

    /// Floating sequences begin where their depth lets them. Says whether some could begin later only.
    fn floating_ends(&mut self, needle: &Needle, queue: usize, start: usize, end: usize) -> Option<bool> {
        loop {
            let at = self.queue(queue)?.floating as usize;
            if at >= needle.floating_count {
                return Some(false);
            }
            let (depth, sequence) = self.segments.pair(needle.floating, at)?;
            if depth > start {
                return Some(true);
            }
            self.queue(queue)?.floating += 1;
            self.found_once(sequence as u32, end)?;
        }
    }

    /// The same for those that begin with a decoded spelling.
    fn floating_in_query_ends(&mut self, needle: &Needle, queue: usize, start: usize, end: usize) -> Option<bool> {
        let at = self.queue(queue)?.floating as usize;
        if at >= needle.in_query_count || !self.counts(true, start) {
            return Some(at < needle.in_query_count);
        }
        self.queue(queue)?.floating = needle.in_query_count as u32;
        for index in 0..needle.in_query_count {
            let sequence = self.segments.pool.get(needle.in_query + index)?;
            self.found_once(sequence, end)?;
        }
        Some(false)
    }

    /// Moves those on who have waited since `start` or before. If others wait, their needle is looked for once it can count for the first of them. Says
    /// whether that is at the next octet.
    fn queue_ends(&mut self, index: usize, start: usize, end: usize) -> Option<bool> {
        loop {
            let front = self.queue(index)?.front;
            if front == NONE {
                return Some(false);
            }
            let waiting = *self.progress.reached.get(front as usize)?;
            let since = self.since(index, waiting.since as usize);
            if since > start {
                self.make_due(index, since + (end - start))?;
                return Some(false);
            }
            let (_, in_query) = self.needle_of(index);
            let queue = self.queue(index)?;
            queue.front = waiting.next[usize::from(in_query)];
            if queue.front == NONE {
                queue.back = NONE;
            }
            self.found_once(front, end)?;
        }
    }

    /// Where what a queue's waiters take may begin: a decoded spelling behind the first `?`.
    fn since(&self, queue: usize, since: usize) -> usize {
        if self.needle_of(queue).1 { since.max(self.query + 1) } else { since }
    }

    /// From `end` on, the queue's needle is looked for.
    fn make_due(&mut self, index: usize, end: usize) -> Option<()> {
        if self.queue(index)?.next_due != NOT_DUE {
            return Some(());
        }
        let Some(first) = self.progress.due.get_mut(end) else {
            return Some(()); // behind the end of the target: never
        };
        let next_due = std::mem::replace(first, index as u32);
        self.queue(index)?.next_due = next_due;
        Some(())
    }

    /// Looks for the needles that can count from `end` on.
    #[inline]
    fn wake(&mut self, end: usize) -> Option<()> {
        let mut index = std::mem::replace(self.progress.due.get_mut(end)?, NONE);
        while index != NONE {
            let next = std::mem::replace(&mut self.queue(index as usize)?.next_due, NOT_DUE);
            self.set_bit(self.needle_of(index as usize).0, true)?;
            index = next;
        }
        Some(())
    }

    fn mark_found(&mut self, sequence: u32, at: usize) -> Option<()> {
        let run = self.progress.run;
        let reached = self.progress.reached.get_mut(sequence as usize)?;
        (reached.found, reached.at) = (run, at as u32);
        Some(())
    }

    #[inline]
    fn was_found(&self, sequence: usize) -> Option<bool> {
        Some(self.progress.reached.get(sequence)?.found == self.progress.run)
    }

    /// The same for a sequence that may have been found in its other spelling.
    fn found_once(&mut self, sequence: u32, end: usize) -> Option<()> {
        if self.was_found(sequence as usize)? { Some(()) } else { self.found(sequence, end) }
    }

    /// A sequence's last segment ended at `end`. What follows in single octets is found at once, and what follows that.
    fn found(&mut self, sequence: u32, end: usize) -> Option<()> {
        self.progress.moves.push((sequence, end as u32));
        loop {
            while let Some((sequence, end)) = self.progress.moves.pop() {
                let node = self.segments.sequence(sequence as usize)?;
                if node.max <= self.best {
                    continue;
                }
                self.mark_found(sequence, end as usize)?;
                self.best = highest(|i| self.segments.pool.get(node.matches + i), node.match_count, self.best, self.binds)?;
                self.follow(sequence, &node, end as usize)?;
            }
            if self.run_count == 0 {
                return Some(());
            }
            self.follow_runs();
        }
    }

    /// The ends of the runs that stand in the target are found.
    fn follow_runs(&mut self) {
        let Progress { occurrences, moves, .. } = &mut *self.progress;
        let runs = &mut self.runs[..std::mem::take(&mut self.run_count)];
        occurrences.follow(self.target, runs, |sequence, end| moves.push((sequence, end as u32)));
    }

    /// Moves on to the children by single octets; the others wait, from when the scan comes to `end`.
    fn follow(&mut self, sequence: u32, node: &Sequence, end: usize) -> Option<()> {
        let mut is_early = false;
        for index in 0..node.child_count {
            match self.segments.step(node, index)? {
                (Step::Octet(octet), child) => {
                    let next_end = self.progress.occurrences.next_end(self.target, octet, end);
                    if let Some(end) = next_end
                        && self.may_find(child, sequence)?
                    {
                        self.progress.moves.push((child as u32, end as u32));
                    }
                }
                (Step::Run(octets), child) => {
                    if self.may_find(child, sequence)? {
                        self.runs[self.run_count] = Run { octets, end, sequence: child as u32 };
                        self.run_count += 1;
                        if self.run_count == RUNS {
                            self.follow_runs();
                        }
                    }
                }
                (Step::Segment(_), _) if end > self.now => is_early = true,
                (Step::Segment(segment), child) => self.wait(segment, child, end)?,
            }
        }
        if is_early { self.find_ahead(sequence, end) } else { Some(()) }
    }

    /// Whether a child can be found, and would tell anything.
    #[inline]
    fn may_find(&self, child: usize, sequence: u32) -> Option<bool> {
        // Children lie behind: so this ends whatever the octets are.
        if child <= sequence as usize || self.was_found(child)? {
            return None;
        }
        Some(self.segments.sequence(child)?.max > self.best)
    }

    /// Keeps a sequence that was found until the scan comes to where.
    fn find_ahead(&mut self, sequence: u32, end: usize) -> Option<()> {
        let Progress { ahead, reached, .. } = &mut *self.progress;
        if ahead.is_empty() {
            ahead.resize(self.target.len() + 1, NONE);
        }
        let first = std::mem::replace(ahead.get_mut(end)?, sequence);
        reached.get_mut(sequence as usize)?.next[0] = first;
        Some(())
    }

    /// The children of sequences that were found to end here begin to wait.
    #[inline]
    fn catch_up(&mut self) -> Option<()> {
        let Some(first) = self.progress.ahead.get_mut(self.now) else {
            return Some(());
        };
        let mut sequence = std::mem::replace(first, NONE);
        while sequence != NONE {
            let node = self.segments.sequence(sequence as usize)?;
            for index in 0..node.child_count {
                if let (Step::Segment(segment), child) = self.segments.step(&node, index)? {
                    self.wait(segment, child, self.now)?;
                }
            }
            sequence = self.progress.reached.get(sequence as usize)?.next[0];
        }
        Some(())
    }

    fn wait(&mut self, segment: usize, sequence: usize, since: usize) -> Option<()> {
        if self.segments.sequence(sequence)?.max <= self.best {
            return Some(());
        }
        let run = self.progress.run;
        let reached = self.progress.reached.get_mut(sequence)?;
        if reached.waits == run {
            return None; // a sequence waits once; the octets changed
        }
        (reached.waits, reached.since, reached.next) = (run, since as u32, [NONE; 2]);
        let entry = self.segments.segment(segment)?;
        self.join(entry.written, sequence, since)?;
        match entry.decoded.checked_sub(1) {
            Some(decoded) => self.join(self.needle_count + decoded, sequence, since),
            None => Some(()),
        }
    }

    /// Puts a sequence at the end of a queue. Its needle is looked for from where it can count for the first in the queue; a short one at once, which seldom
    /// costs a look in vain and saves the list of those that are due.
    fn join(&mut self, index: usize, sequence: usize, since: usize) -> Option<()> {
        let (needle, in_query) = self.needle_of(index);
        let queue = self.queue(index)?;
        let last = std::mem::replace(&mut queue.back, sequence as u32);
        if last != NONE {
            self.progress.reached.get_mut(last as usize)?.next[usize::from(in_query)] = sequence as u32;
            return Some(());
        }
        queue.front = sequence as u32;
        let (since, len) = (self.since(index, since), self.segments.needle(needle)?.len);
        if len <= SHORT && since <= self.now { self.set_bit(needle, true) } else { self.make_due(index, since + len) }
    }

    /// The rules whose last segment is tied to the end: every needle that ends there, and whether what comes before was found in time.
    fn tails(&mut self, state: usize) -> Option<()> {
        let mut longest = self.segments.state(state)?.longest;
        while let Some(number) = longest.checked_sub(1) {
            let path = self.segments.needle(number)?;
            for number in (path.head..=number).rev() {
                self.needle_tails(number)?;
            }
            if path.shorter >= longest {
                return None;
            }
            longest = path.shorter;
        }
        Some(())
    }

    fn needle_tails(&mut self, number: usize) -> Option<()> {
        let needle = self.segments.needle(number)?;
        let start = self.target.len().checked_sub(needle.len)?;
        for index in 0..needle.tail_count {
            let (parent, rank) = self.segments.pair(needle.tails, index)?;
            if rank as u32 <= self.best {
                break;
            }
            let reached = self.progress.reached.get(parent >> 1)?;
            let in_time = reached.found == self.progress.run && reached.at as usize <= start;
            if in_time && self.counts(parent & 1 == 1, start) && (self.binds)(rank as u32)? {
                self.best = rank as u32;
                break;
            }
        }
        Some(())
    }
}
