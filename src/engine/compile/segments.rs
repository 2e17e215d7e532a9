//! The segment automaton: the literal stretches behind stars, and in which order rules want them.
//!
//! Rules with a star become a tree: from the literal prefix on, one edge a segment. Rules that begin with the same segments share the nodes of
//! that beginning and so advance together. All segments of all rules are the needles of one automaton (Aho and Corasick, 1975) over the target.
//! A segment with an escaped delimiter has two needles, of which the decoded one counts only in the query.

use std::collections::VecDeque;
use std::ops::Range;

use super::hash::Map;
use super::write::Writer;
use crate::engine::program::segments as layout;
use crate::target::percent::{Parts, Segment};

#[derive(Debug, Default)]
struct SequenceNode {
    matches: Vec<u32>,
    /// How it goes on, and the sequence behind that: the number of a segment, or with [`layout::RUN`] that of a run.
    children: Vec<(u32, u32)>,
    max: u32,
}

#[derive(Debug, Default)]
struct NeedleEntry<'p> {
    octets: &'p [u8],
    /// Segment and whether this spelling counts only in the query.
    segments: Vec<(u32, bool)>,
    /// Rank, parent sequence and whether this spelling counts only in the query.
    tails: Vec<(u32, u32, bool)>,
}

/// The rules with stars of a block.
#[derive(Default)]
pub(super) struct Segments<'p> {
    roots: Map<&'p [u8], u32>,
    sequences: Vec<SequenceNode>,
    children: Map<(u32, u32), u32>,
    segment_ids: Map<&'p Segment, u32>,
    /// By number: the octet of those that are one.
    one_octet: Vec<Option<u8>>,
    /// Several segments of one octet each that nothing branches off.
    runs: Vec<Vec<u8>>,
    needle_ids: Map<&'p [u8], u32>,
    needles: Vec<NeedleEntry<'p>>,
}

/// Whether rules with that literal prefix float: they begin nearly everywhere, so no automaton over prefixes can hold them back.
pub(super) fn is_floating(prefix: &[u8]) -> bool {
    prefix.len() <= 1
}

impl<'p> Segments<'p> {
    pub(super) fn is_empty(&self) -> bool {
        self.sequences.is_empty()
    }

    /// Adds a rule, which has segments. Rules come in rank order.
    pub(super) fn add(&mut self, rank: u32, parts: &'p Parts) {
        let mut node = self.root(&parts.prefix);
        let (tail, middle) = match parts.segments.split_last() {
            Some((tail, middle)) if parts.anchored => (Some(tail), middle),
            _ => (None, &parts.segments[..]),
        };
        for segment in middle {
            node = self.child(node, segment);
        }
        self.sequences[node as usize].max = rank;
        match tail {
            None => self.sequences[node as usize].matches.push(rank),
            Some(tail) => {
                for (octets, in_query) in spellings(tail) {
                    let needle = self.needle(octets);
                    self.needles[needle as usize].tails.push((rank, node, in_query));
                }
            }
        }
    }

    fn root(&mut self, prefix: &'p [u8]) -> u32 {
        if let Some(&root) = self.roots.get(prefix) {
            return root;
        }
        let root = self.add_sequence();
        self.roots.insert(prefix, root);
        root
    }

    fn add_sequence(&mut self) -> u32 {
        self.sequences.push(SequenceNode::default());
        self.sequences.len() as u32 - 1
    }

    fn child(&mut self, parent: u32, segment: &'p Segment) -> u32 {
        let segment = self.segment(segment);
        if let Some(&child) = self.children.get(&(parent, segment)) {
            return child;
        }
        let child = self.add_sequence();
        self.children.insert((parent, segment), child);
        self.sequences[parent as usize].children.push((segment, child));
        child
    }

    fn segment(&mut self, segment: &'p Segment) -> u32 {
        if let Some(&id) = self.segment_ids.get(segment) {
            return id;
        }
        let id = self.segment_ids.len() as u32;
        self.segment_ids.insert(segment, id);
        self.one_octet.push(match segment.octets[..] {
            [octet] => Some(octet).filter(|_| segment.in_query.is_none()),
            _ => None,
        });
        for (octets, in_query) in spellings(segment) {
            let needle = self.needle(octets);
            self.needles[needle as usize].segments.push((id, in_query));
        }
        id
    }

    fn needle(&mut self, octets: &'p [u8]) -> u32 {
        if let Some(&id) = self.needle_ids.get(octets) {
            return id;
        }
        let id = self.needles.len() as u32;
        self.needle_ids.insert(octets, id);
        self.needles.push(NeedleEntry { octets, ..NeedleEntry::default() });
        id
    }

    /// Joins what goes on in one way and computes maxima, once every rule was added. A node's children lie behind it.
    pub(super) fn finish(&mut self) {
        self.join_runs();
        for index in (0..self.sequences.len()).rev() {
            let below = self.sequences[index].children.iter().map(|&(_, child)| self.sequences[child as usize].max).max();
            let node = &mut self.sequences[index];
            node.max = node.max.max(below.unwrap_or(0));
            node.matches.sort_unstable_by(|a, b| b.cmp(a));
        }
        for needle in &mut self.needles {
            needle.tails.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The octet by which a node goes on, where it has nothing else.
    fn only_octet(&self, sequence: u32) -> Option<u8> {
        let node = &self.sequences[sequence as usize];
        match node.children[..] {
            [(segment, _)] if node.matches.is_empty() => self.one_octet[segment as usize],
            _ => None,
        }
    }

    /// Nodes between two segments of one octet that nothing else branches off, matches or ends at become one run of octets: a rule of thousands of
    /// such segments is read octet by octet, without a record for each.
    fn join_runs(&mut self) {
        let mut inner = vec![false; self.sequences.len()];
        for parent in 0..self.sequences.len() {
            for &(segment, child) in &self.sequences[parent].children {
                inner[child as usize] = self.one_octet[segment as usize].is_some() && self.only_octet(child).is_some();
            }
        }
        // What floating rules begin with is found as a needle, and tails name the sequence before them.
        let floating = [&b""[..], b"/"].into_iter().filter_map(|prefix| self.roots.get(prefix));
        let heads = floating.flat_map(|&root| self.sequences[root as usize].children.iter().map(|&(_, child)| child));
        let tails = self.needles.iter().flat_map(|needle| needle.tails.iter().map(|&(_, parent, _)| parent));
        heads.chain(tails).for_each(|sequence| inner[sequence as usize] = false);
        if inner.contains(&true) {
            self.leave_out(&inner);
        }
    }

    fn leave_out(&mut self, inner: &[bool]) {
        let kept_before = |count: &mut u32, &inner: &bool| {
            let number = *count;
            *count += u32::from(!inner);
            Some(number)
        };
        let numbers: Vec<u32> = inner.iter().scan(0, kept_before).collect();
        for index in (0..inner.len()).filter(|&index| !inner[index]) {
            let mut children = std::mem::take(&mut self.sequences[index].children);
            for (step, child) in &mut children {
                if !inner[*child as usize] {
                    *child = numbers[*child as usize];
                    continue;
                }
                let mut run: Vec<u8> = self.one_octet[*step as usize].into_iter().collect();
                while inner[*child as usize] {
                    run.extend(self.only_octet(*child));
                    *child = self.sequences[*child as usize].children[0].1;
                }
                *step = layout::RUN | self.runs.len() as u32;
                *child = numbers[*child as usize];
                self.runs.push(run);
            }
            self.sequences[index].children = children;
        }
        let mut index = 0..inner.len();
        self.sequences.retain(|_| index.next().is_some_and(|index| !inner[index]));
        self.roots.values_mut().for_each(|root| *root = numbers[*root as usize]);
        self.needles.iter_mut().flat_map(|needle| &mut needle.tails).for_each(|(_, parent, _)| *parent = numbers[*parent as usize]);
    }

    /// The prefixes that the trie must know, with their sequences.
    pub(super) fn gates(&self) -> impl Iterator<Item = (&'p [u8], u32)> {
        self.roots.iter().filter(|(prefix, _)| !is_floating(prefix)).map(|(&prefix, &root)| (prefix, root))
    }

    /// The sequence of the rules with that prefix.
    pub(super) fn gate(&self, prefix: &[u8]) -> Option<u32> {
        self.roots.get(prefix).copied()
    }

    pub(super) fn max(&self, sequence: u32) -> u32 {
        self.sequences[sequence as usize].max
    }

    /// The highest rank of a floating rule; 0 if there is none.
    pub(super) fn floating_max(&self) -> u32 {
        [&b""[..], b"/"].iter().filter_map(|prefix| self.roots.get(prefix)).map(|&root| self.max(root)).max().unwrap_or(0)
    }

    /// Writes the section, into a writer that made room for its header.
    pub(super) fn write(&self, out: &mut Writer) {
        let automaton = Automaton::of(&self.needles);
        let paths = Paths::of(&automaton, &self.needles);
        let mut pool = Vec::new();
        let sequences = self.sequence_words(&mut pool);
        let segments = self.segment_needles(&paths);
        let floating = self.floating(&segments);
        let needles = self.needle_words(&paths, &floating, &mut pool);
        let live = live_words(&floating, |floating| !floating.as_written.is_empty());
        let live_in_query = live_words(&floating, |floating| !floating.in_query.is_empty());
        let sequences_at = out.words(&sequences);
        let states_at = automaton.write(&paths, out);
        let needles_at = out.words(&needles);
        let segments_at = out.words(segments.as_flattened());
        let pool_at = out.words(&pool);
        let live_at = [out.words(&live), out.words(&live_in_query)];
        let octets_at = out.octets(&automaton.octets);
        let root_at = out.octets(&automaton.root_table());
        out.set_all(layout::SEQUENCE_COUNT, &[self.sequences.len() as u32, sequences_at]);
        out.set_all(layout::STATE_COUNT, &[automaton.states.len() as u32, states_at]);
        out.set_all(layout::OCTETS, &[octets_at, root_at]);
        out.set_all(layout::NEEDLE_COUNT, &[self.needles.len() as u32, needles_at]);
        out.set_all(layout::SEGMENT_COUNT, &[self.segment_ids.len() as u32, segments_at]);
        out.set_all(layout::POOL, &[pool_at, pool.len() as u32]);
        out.set(layout::ROOT_EMPTY, self.roots.get(&b""[..]).map_or(0, |root| root + 1));
        out.set(layout::ROOT_SLASH, self.roots.get(&b"/"[..]).map_or(0, |root| root + 1));
        out.set_all(layout::LIVE, &live_at);
    }

    fn sequence_words(&self, pool: &mut Vec<u32>) -> Vec<u32> {
        let mut words = Vec::with_capacity(self.sequences.len() * layout::SEQUENCE_WORDS);
        for node in &self.sequences {
            let matches = pool.len() as u32;
            pool.extend_from_slice(&node.matches);
            let children = pool.len() as u32;
            let mut run_at = children + node.children.len() as u32 * 2;
            for &(step, child) in &node.children {
                let step = match self.run(step) {
                    Some(octets) => {
                        let at = run_at;
                        run_at += 1 + octets.len().div_ceil(4) as u32;
                        layout::RUN | at
                    }
                    None => self.one_octet[step as usize].map_or(step, |octet| layout::ONE_OCTET | u32::from(octet)),
                };
                pool.extend([step, child]);
            }
            for octets in node.children.iter().filter_map(|&(step, _)| self.run(step)) {
                pool.push(octets.len() as u32);
                pool.extend(octets.chunks(4).map(|chunk| {
                    let mut word = [0; 4];
                    word[..chunk.len()].copy_from_slice(chunk);
                    u32::from_le_bytes(word)
                }));
            }
            words.extend([matches, node.matches.len() as u32, children, node.children.len() as u32, node.max]);
        }
        words
    }

    fn run(&self, step: u32) -> Option<&[u8]> {
        (step & layout::RUN != 0).then(|| &self.runs[(step & !layout::RUN) as usize][..])
    }

    /// The needles of each segment, by number: as written, and decoded plus one.
    fn segment_needles(&self, paths: &Paths) -> Vec<[u32; 2]> {
        let mut needles = vec![[0, 0]; self.segment_ids.len()];
        for (index, needle) in self.needles.iter().enumerate() {
            for &(segment, in_query) in &needle.segments {
                needles[segment as usize][usize::from(in_query)] = paths.numbers[index] + u32::from(in_query);
            }
        }
        needles
    }

    /// The floating sequences that begin with each needle: those tied to nothing first.
    fn floating(&self, segment_needles: &[[u32; 2]]) -> Vec<Floating> {
        let mut floating = vec![Floating::default(); self.needles.len()];
        for (depth, prefix) in [(0, &b""[..]), (1, b"/")] {
            let Some(&root) = self.roots.get(prefix) else { continue };
            // These are never runs, see `join_runs`.
            for &(segment, child) in &self.sequences[root as usize].children {
                let [written, decoded] = segment_needles[segment as usize];
                floating[written as usize].as_written.push([depth, child]);
                if let Some(decoded) = decoded.checked_sub(1) {
                    floating[decoded as usize].in_query.push(child);
                }
            }
        }
        floating
    }

    /// Needles in the order of their paths.
    fn needle_words(&self, paths: &Paths, floating: &[Floating], pool: &mut Vec<u32>) -> Vec<u32> {
        let mut words = Vec::with_capacity(self.needles.len() * layout::NEEDLE_WORDS);
        for (number, &index) in paths.order.iter().enumerate() {
            let (needle, floating) = (&self.needles[index as usize], &floating[number]);
            words.extend([needle.octets.len() as u32, paths.heads[number], paths.shorter[number]]);
            words.extend([pool.len() as u32, floating.as_written.len() as u32]);
            pool.extend(floating.as_written.iter().flatten());
            words.extend([pool.len() as u32, floating.in_query.len() as u32]);
            pool.extend(&floating.in_query);
            words.extend([pool.len() as u32, needle.tails.len() as u32]);
            pool.extend(needle.tails.iter().flat_map(|&(rank, parent, in_query)| [parent << 1 | u32::from(in_query), rank]));
        }
        words
    }
}

/// The floating sequences that begin with a needle: with their depth as written, and in the query.
#[derive(Debug, Clone, Default)]
struct Floating {
    as_written: Vec<[u32; 2]>,
    in_query: Vec<u32>,
}

/// One bit each for the needles that `is_live`.
fn live_words(floating: &[Floating], is_live: impl Fn(&Floating) -> bool) -> Vec<u32> {
    let mut words = vec![0; floating.len().div_ceil(32)];
    for (number, _) in floating.iter().enumerate().filter(|(_, floating)| is_live(floating)) {
        words[number / 32] |= 1 << (number % 32);
    }
    words
}

/// The order of the needles.
///
/// Where a needle ends, all that are suffixes of it end too, and there may be a thousand of them. "Is the longest proper suffix of" makes a tree
/// of the needles. Cut into heavy paths and numbered along those, the suffixes of a needle are few intervals of numbers, and which of them anybody waits
/// for is read from a bitmap, 64 at a time.
struct Paths {
    /// The number of each needle.
    numbers: Vec<u32>,
    /// The needle of each number.
    order: Vec<u32>,
    /// By number: the first number of its path, and the number of the longest proper suffix of that one plus one.
    heads: Vec<u32>,
    shorter: Vec<u32>,
}

const NO_NEEDLE: u32 = u32::MAX;

impl Paths {
    fn of(automaton: &Automaton, needles: &[NeedleEntry<'_>]) -> Paths {
        let mut suffix = vec![NO_NEEDLE; needles.len()];
        for state in &automaton.states {
            let behind = automaton.states[state.fail as usize].longest;
            // Where nothing shorter was taken over, the needle is the state's own.
            if state.longest != behind {
                suffix[state.longest as usize] = behind;
            }
        }
        let mut by_len: Vec<u32> = (0..needles.len() as u32).collect();
        by_len.sort_by_key(|&needle| needles[needle as usize].octets.len());
        let heavy = Paths::heavy(&suffix, &by_len);
        let mut paths = Paths {
            numbers: vec![NO_NEEDLE; needles.len()],
            order: Vec::with_capacity(needles.len()),
            heads: Vec::with_capacity(needles.len()),
            shorter: Vec::with_capacity(needles.len()),
        };
        for &first in &by_len {
            if paths.numbers[first as usize] == NO_NEEDLE {
                paths.add_path(first, &suffix, &heavy);
            }
        }
        paths
    }

    /// For each needle, the one with the most needles behind it of those whose longest proper suffix it is.
    fn heavy(suffix: &[u32], by_len: &[u32]) -> Vec<u32> {
        let mut sizes = vec![1u32; suffix.len()];
        let mut heavy = vec![NO_NEEDLE; suffix.len()];
        for &needle in by_len.iter().rev() {
            let parent = suffix[needle as usize];
            if parent != NO_NEEDLE {
                sizes[parent as usize] += sizes[needle as usize];
                let heaviest = &mut heavy[parent as usize];
                if *heaviest == NO_NEEDLE || sizes[*heaviest as usize] < sizes[needle as usize] {
                    *heaviest = needle;
                }
            }
        }
        heavy
    }

    fn add_path(&mut self, first: u32, suffix: &[u32], heavy: &[u32]) {
        let head = self.order.len() as u32;
        let shorter = match suffix[first as usize] {
            NO_NEEDLE => 0,
            needle => self.numbers[needle as usize] + 1,
        };
        let mut needle = first;
        while needle != NO_NEEDLE {
            self.numbers[needle as usize] = self.order.len() as u32;
            self.order.push(needle);
            self.heads.push(head);
            self.shorter.push(shorter);
            needle = heavy[needle as usize];
        }
    }
}

fn spellings(segment: &Segment) -> impl Iterator<Item = (&[u8], bool)> {
    let decoded = segment.in_query.as_deref().map(|octets| (octets, true));
    [Some((&segment.octets[..], false)), decoded].into_iter().flatten()
}

/// States in order of depth, so that a state's children lie side by side and its failure before it.
struct Automaton {
    states: Vec<AutomatonState>,
    octets: Vec<u8>,
}

#[derive(Clone, Copy)]
struct AutomatonState {
    fail: u32,
    first_child: u32,
    child_count: u32,
    /// The longest needle that ends here: until links are made, the one that is spelled from the root.
    longest: u32,
}

impl AutomatonState {
    const NEW: AutomatonState = AutomatonState { fail: 0, first_child: 0, child_count: 0, longest: NO_NEEDLE };
}

impl Automaton {
    fn of(needles: &[NeedleEntry<'_>]) -> Automaton {
        let mut sorted: Vec<(&[u8], u32)> = needles.iter().zip(0..).map(|(needle, id)| (needle.octets, id)).collect();
        sorted.sort_unstable();
        let mut automaton = Automaton { states: vec![AutomatonState::NEW], octets: vec![0] };
        let mut pending: VecDeque<(usize, Range<usize>, usize)> = VecDeque::from([(0, 0..sorted.len(), 0)]);
        while let Some((state, mut range, depth)) = pending.pop_front() {
            if depth > 0 && sorted[range.start].0.len() == depth {
                automaton.states[state].longest = sorted[range.start].1;
                range.start += 1;
            }
            automaton.states[state].first_child = automaton.states.len() as u32;
            while range.start < range.end {
                let octet = sorted[range.start].0[depth];
                let end = range.start + sorted[range.clone()].partition_point(|(octets, _)| octets[depth] == octet);
                pending.push_back((automaton.states.len(), range.start..end, depth + 1));
                automaton.states.push(AutomatonState::NEW);
                automaton.octets.push(octet);
                automaton.states[state].child_count += 1;
                range.start = end;
            }
        }
        automaton.link();
        automaton
    }

    /// Failure links: of each state, the longest proper suffix that is a state too. Parents come before children.
    fn link(&mut self) {
        let root = self.root_table();
        for parent in 0..self.states.len() {
            let children = self.states[parent].first_child..self.states[parent].first_child + self.states[parent].child_count;
            for child in children {
                let fail = if parent == 0 { 0 } else { self.suffix(self.states[parent].fail, self.octets[child as usize], &root) };
                let behind = self.states[fail as usize].longest;
                let state = &mut self.states[child as usize];
                state.fail = fail;
                if state.longest == NO_NEEDLE {
                    state.longest = behind;
                }
            }
        }
    }

    fn suffix(&self, mut state: u32, octet: u8, root: &[u8; 256]) -> u32 {
        loop {
            if state == 0 {
                return match root[usize::from(octet)] {
                    0 => 0,
                    child => self.states[0].first_child + u32::from(child) - 1,
                };
            }
            let entry = &self.states[state as usize];
            let children = entry.first_child as usize..(entry.first_child + entry.child_count) as usize;
            if let Some(at) = self.octets[children].iter().position(|&into| into == octet) {
                return entry.first_child + at as u32;
            }
            state = entry.fail;
        }
    }

    /// Octet to child of the root plus one. Canonical octets are printable ASCII, so there are at most 94 children.
    fn root_table(&self) -> [u8; 256] {
        let mut table = [0; 256];
        for child in 0..self.states[0].child_count as usize {
            table[usize::from(self.octets[1 + child])] = child as u8 + 1;
        }
        table
    }

    /// Appends the states; gives their offset.
    fn write(&self, paths: &Paths, out: &mut Writer) -> u32 {
        let words = self.states.iter().flat_map(|state| {
            let first_child = if state.child_count > 0 { state.first_child } else { 0 };
            let longest = if state.longest == NO_NEEDLE { 0 } else { paths.numbers[state.longest as usize] + 1 };
            [state.fail, first_child, state.child_count, longest]
        });
        out.words_of(self.states.len() * layout::STATE_WORDS, words)
    }
}
