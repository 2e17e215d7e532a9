//! Floating rules over a block: fingerprints find where one may stand, a look closer says whether it does.
//!
//! ```text
//!   rule      /*.pdf$            windows of at most three octets, the rarest of each rule, in eight buckets a set
//!   window     .pd               octet ──table──▶ buckets that have it at that place; three tables, one AND, 64 octets at a time
//!   hit     …/x.pdf⏎             the window's four octets as a number, then the rule: segments leftmost before and behind
//! ```
//!
//! Lines with an octet on which canonicalising is not the identity, or with a fragment, are asked one by one if a floating rule could still change their
//! verdict; so are lines on which too many rules had to be looked at, since looking closer is not linear and the segment automaton is.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::Matcher;
use super::block::Targets;
use super::kernel::StateId;
use super::waves::CHUNK;
use crate::engine::program::segments;
use crate::engine::program::spellings::Spellings;
use crate::engine::program::view::{SegmentsView, Step};
use crate::engine::scan::{Fingerprints, Hit, Line, Vector};
use crate::target::form::TargetForm;

/// Octets of a window that the tables look at.
const WINDOW_LEN: usize = 3;
/// Windows for which one set of eight buckets is enough.
const ONE_SET: usize = 16;
/// Windows beyond which hits are no longer rare.
const MAX_WINDOWS: usize = 256;
/// Rules, and sequences of their segments, beyond which the segment automaton is no worse; and segments of one of them. (Real groups have 322 at most.)
const MAX_RULES: usize = 2048;
const MAX_SEGMENTS: usize = 32;
/// Octets of a segment in which a window is sought.
const MAX_OFFSETS: usize = 64;
/// Rules that are looked at on one line at most; where there are more it is asked by itself.
const LOOKS: u32 = 64;

/// Entries of the table that tells false hits.
const HASH_BITS: u32 = 10;
const HASHES: usize = 1 << HASH_BITS;

/// How common octets are in targets, the most common first; what is not here is rare.
const BY_FREQUENCY: &[u8] = b"eaiotrnsl/cdpmug-h.fb1y2w0v5k3_4=?6879x&jqSAzCPTDMRLBEINFGO";

/// A floating rule of one rule set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    /// The level that it gives, or the final state of that.
    pub(super) level: u32,
    pattern: Pattern,
}

/// What a floating rule matches.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Pattern {
    /// Where in a target it may begin: 0, or 1 behind the first `/`.
    depth: usize,
    segments: Vec<Vec<u8>>,
    /// The first segment that counts behind the first `?` alone: `segments.len()` if all count anywhere.
    in_query: usize,
    anchored: bool,
}

/// The floating rules of some rule sets, the *members*, ready for blocks.
#[derive(Debug)]
pub(super) struct Floating {
    /// Of each member, the highest state that one of them can give.
    maxima: Vec<u32>,
    /// Those of the windows. Special octets are those on which canonicalising is not the identity, and `#`, but for line ends.
    fingerprints: Fingerprints,
    /// Windows of each bucket, eight a set: from where on in `windows`.
    buckets: Vec<u32>,
    windows: Vec<Window>,
    looks: Vec<Look>,
    gifts: Vec<Gift>,
    /// By a hash of three octets, the highest state that windows that begin with them can give anybody.
    highest: Box<[u32; HASHES]>,
    /// Buckets with shorter windows.
    short: u16,
}

/// A window and the patterns that have it.
#[derive(Debug, Clone)]
struct Window {
    value: u32,
    mask: u32,
    looks: Range<u32>,
    highest: u32,
}

/// A pattern, with its window: in which segment and where in it; and what it gives to whom.
#[derive(Debug)]
struct Look {
    pattern: Pattern,
    segment: usize,
    offset: usize,
    gifts: Range<u32>,
}

/// A member and the state that it gets.
#[derive(Debug, Clone, Copy)]
struct Gift {
    member: u32,
    state: u32,
}

/// What was found in a chunk, in buffers that outlive it.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// Rows that a floating rule could give another state.
    rows: Vec<u16>,
    hits: Vec<Hit>,
}

impl Floating {
    /// The floating rules of `members`, whose levels are states; `None` where there are none, or none that blocks can be asked for.
    pub(super) fn new(form: &TargetForm, members: &[&[Rule]]) -> Option<Floating> {
        let is_special = |octet: u8| !matches!(octet, b'\n' | b'\r') && (octet == b'#' || form.not_identity().contains(octet));
        if (0x80..=0xFF).any(|octet| is_special(octet) != is_special(0xFF)) {
            return None;
        }
        let mut floating = Floating {
            maxima: members.iter().map(|rules| rules.iter().map(|rule| rule.level).max().unwrap_or(0)).collect(),
            fingerprints: Fingerprints::new(is_special),
            buckets: Vec::new(),
            windows: Vec::new(),
            looks: Vec::new(),
            gifts: Vec::new(),
            highest: Box::new([0; HASHES]),
            short: 0,
        };
        let windows = floating.fill_windows(members)?;
        floating.fill_buckets(windows);
        Some(floating)
    }

    /// Size in octets.
    pub(super) fn octet_len(&self) -> usize {
        self.fingerprints.octet_len() + size_of_val(&*self.looks) * 3 + size_of_val(&*self.windows) + size_of_val(&*self.gifts) + HASHES * 4
    }

    /// Patterns by window, and windows.
    fn fill_windows(&mut self, members: &[&[Rule]]) -> Option<Vec<Window>> {
        let mut by_pattern: BTreeMap<&Pattern, Vec<Gift>> = BTreeMap::new();
        for (member, rules) in (0..).zip(members) {
            for rule in *rules {
                by_pattern.entry(&rule.pattern).or_default().push(Gift { member, state: rule.level });
            }
        }
        let mut by_window: Vec<_> = by_pattern
            .into_iter()
            .map(|(pattern, gifts)| {
                let highest = gifts.iter().map(|gift| gift.state).max()?;
                Some((pattern.window()?, Reverse(highest), pattern, gifts))
            })
            .collect::<Option<_>>()?;
        by_window.sort_by_key(|(chosen, highest, ..)| (chosen.value, chosen.mask, *highest));
        let mut windows: Vec<Window> = Vec::new();
        for (chosen, Reverse(highest), pattern, gifts) in by_window {
            let (look, gift) = (self.looks.len() as u32, self.gifts.len() as u32);
            match windows.last_mut().filter(|last| (last.value, last.mask) == (chosen.value, chosen.mask)) {
                Some(last) => last.looks.end += 1,
                None => windows.push(Window { value: chosen.value, mask: chosen.mask, looks: look..look + 1, highest }),
            }
            let gifts_of = gift..gift + gifts.len() as u32;
            self.gifts.extend(gifts);
            self.looks.push(Look { pattern: pattern.clone(), segment: chosen.segment, offset: chosen.offset, gifts: gifts_of });
        }
        (1..=MAX_WINDOWS).contains(&windows.len()).then_some(windows)
    }

    fn fill_buckets(&mut self, windows: Vec<Window>) {
        let set_count = if windows.len() > ONE_SET { 2 } else { 1 };
        let mut groups = grouped(windows, set_count * 8);
        groups.resize_with(set_count * 8, Vec::new);
        for set in groups.chunks_mut(8) {
            let mut tables = [[0u8; 128]; WINDOW_LEN];
            for (bucket, windows) in set.iter().enumerate() {
                for window in windows {
                    for (place, ascii) in tables.iter_mut().enumerate() {
                        match window.octet(place) {
                            Some(octet) => ascii[usize::from(octet)] |= 1 << bucket,
                            None => ascii.iter_mut().for_each(|bits| *bits |= 1 << bucket),
                        }
                    }
                }
            }
            self.fingerprints.add_set(&tables, set.iter().all(|windows| windows.len() <= 1));
        }
        for (bucket, group) in groups.into_iter().enumerate() {
            self.buckets.push(self.windows.len() as u32);
            for window in &group {
                if window.octet(WINDOW_LEN - 1).is_none() {
                    self.short |= 1 << bucket;
                }
                let highest = &mut self.highest[hash(window.value)];
                *highest = window.highest.max(*highest);
            }
            self.windows.extend(group);
        }
        self.buckets.push(self.windows.len() as u32);
    }

    /// Looks for floating rules on every line and raises the states of those that they match, a list of states a member. Lines that have to be asked one by
    /// one go to `others`, a list a member.
    #[inline(always)]
    pub(super) fn raise<V: Vector, S: StateId>(
        &self,
        vector: V,
        targets: &Targets<'_>,
        states: &mut [[S; CHUNK]],
        found: &mut Hits,
        others: &mut [Vec<u16>],
    ) {
        let Hits { rows, hits } = found;
        self.rows_in_question(targets.len(), states, rows);
        hits.clear();
        for &row in &*rows {
            if self.find(vector, targets, row, hits) {
                self.ask_one_by_one(row, states, others);
            }
        }
        self.drop_false(targets, states, hits);
        let mut at = 0;
        while at < hits.len() {
            let row = hits[at].row;
            let target = targets.raw(usize::from(row));
            let mut budget = LOOKS;
            while at < hits.len() && hits[at].row == row {
                self.look(targets, target, &hits[at], states, &mut budget);
                at += 1;
            }
            if budget == 0 {
                self.ask_one_by_one(row, states, others);
            }
        }
    }

    /// The rows that a floating rule could give another state.
    #[inline(always)]
    fn rows_in_question<S: StateId>(&self, count: usize, states: &[[S; CHUNK]], rows: &mut Vec<u16>) {
        rows.resize(CHUNK + 1, 0);
        let mut listed = 0;
        if let ([states], [highest]) = (states, &self.maxima[..]) {
            for (row, state) in states[..count].iter().enumerate() {
                rows[listed] = row as u16;
                listed += usize::from((state.index() as u32) < *highest);
            }
        } else {
            for row in 0..count {
                rows[listed] = row as u16;
                let could = |(states, highest): (&[S; CHUNK], &u32)| (states[row].index() as u32) < *highest;
                listed += usize::from(states.iter().zip(&self.maxima).any(could));
            }
        }
        rows.truncate(listed);
    }

    fn ask_one_by_one<S: StateId>(&self, row: u16, states: &[[S; CHUNK]], others: &mut [Vec<u16>]) {
        for ((states, others), highest) in states.iter().zip(others).zip(&self.maxima) {
            if (states[usize::from(row)].index() as u32) < *highest {
                others.push(row);
            }
        }
    }

    /// Finds places on a line; says whether it has a special octet.
    #[inline(always)]
    fn find<V: Vector>(&self, vector: V, targets: &Targets<'_>, row: u16, hits: &mut Vec<Hit>) -> bool {
        let (start, end) = (targets.starts[usize::from(row)], targets.ends[usize::from(row)]);
        vector.search(targets.octets, Line { row, start, end }, &self.fingerprints, hits)
    }

    /// Drops hits whose three octets begin no window that could raise a state, without a branch.
    #[inline(always)]
    fn drop_false<S: StateId>(&self, targets: &Targets<'_>, states: &[[S; CHUNK]], hits: &mut Vec<Hit>) {
        let only = if let [states] = states { Some(states) } else { None };
        let mut count = 0;
        for at in 0..hits.len() {
            let hit = hits[at];
            let octets = targets.octets[hit.place as usize..].first_chunk::<4>().map_or(0, |octets| u32::from_le_bytes(*octets));
            let state = only.map_or(0, |states| states[usize::from(hit.row) % CHUNK].index() as u32);
            hits[count] = hit;
            count += usize::from((self.highest[hash(octets)] > state) | (hit.bits & self.short != 0));
        }
        hits.truncate(count);
    }

    #[inline(always)]
    fn look<S: StateId>(&self, targets: &Targets<'_>, target: &[u8], hit: &Hit, states: &mut [[S; CHUNK]], budget: &mut u32) {
        let place = hit.place as usize;
        let Some(word) = targets.octets[place..].first_chunk::<4>().map(|octets| u32::from_le_bytes(*octets)) else { return };
        let start = targets.starts[usize::from(hit.row)] as usize;
        let mut bits = hit.bits;
        while bits != 0 {
            let bucket = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            for window in &self.windows[self.buckets[bucket] as usize..self.buckets[bucket + 1] as usize] {
                if word & window.mask == window.value {
                    self.look_closer(window, target, place - start, usize::from(hit.row), states, budget);
                }
            }
        }
    }

    fn look_closer<S: StateId>(
        &self,
        window: &Window,
        target: &[u8],
        place: usize,
        row: usize,
        states: &mut [[S; CHUNK]],
        budget: &mut u32,
    ) {
        for look in &self.looks[window.looks.start as usize..window.looks.end as usize] {
            let gifts = &self.gifts[look.gifts.start as usize..look.gifts.end as usize];
            let is_higher = |gift: &&Gift| states[gift.member as usize][row].index() < gift.state as usize;
            if gifts.iter().find(is_higher).is_none() || *budget == 0 {
                continue;
            }
            *budget -= 1;
            if look.matches_at(target, place) {
                for gift in gifts {
                    let state = &mut states[gift.member as usize][row];
                    *state = (*state).max(S::of(gift.state as usize).expect("a state of the automaton"));
                }
            }
        }
    }
}

/// Of the first three octets.
#[inline(always)]
fn hash(octets: u32) -> usize {
    ((octets & 0xFF_FFFF).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize
}

/// A window of a pattern: its octets as a number, and which count.
struct Chosen {
    value: u32,
    mask: u32,
    segment: usize,
    offset: usize,
}

impl Window {
    fn octet(&self, place: usize) -> Option<u8> {
        (self.mask.to_le_bytes()[place] != 0).then(|| self.value.to_le_bytes()[place])
    }
}

impl Pattern {
    /// The rarest window, of at most four octets.
    fn window(&self) -> Option<Chosen> {
        let rarity = |octet: u8| BY_FREQUENCY.iter().position(|&known| known == octet).unwrap_or(BY_FREQUENCY.len()) as u32;
        let mut best: Option<((usize, u32), usize, usize)> = None;
        for (segment, octets) in self.segments.iter().enumerate() {
            for offset in 0..octets.len().min(MAX_OFFSETS) {
                let window = &octets[offset..octets.len().min(offset + WINDOW_LEN)];
                // Longer windows first, then those of rare octets.
                let score = (window.len(), window.iter().map(|&octet| rarity(octet)).sum::<u32>());
                if window.is_ascii() && best.is_none_or(|(known, ..)| score > known) {
                    best = Some((score, segment, offset));
                }
            }
        }
        let (_, segment, offset) = best?;
        let window = &self.segments[segment][offset..];
        let len = window.len().min(4);
        let (mut value, mut mask) = ([0; 4], [0; 4]);
        value[..len].copy_from_slice(&window[..len]);
        mask[..len].fill(0xFF);
        Some(Chosen { value: u32::from_le_bytes(value), mask: u32::from_le_bytes(mask), segment, offset })
    }

    /// Whether it matches `target`: each segment leftmost.
    fn matches(&self, target: &[u8]) -> bool {
        let mut from = self.depth;
        let (last, but_last) = self.segments.split_last().expect("a floating rule has segments");
        for (index, segment) in self.segments.iter().enumerate() {
            if index == self.in_query {
                let Some(mark) = memchr::memchr(b'?', target) else { return false };
                from = from.max(mark + 1);
            }
            if index == but_last.len() {
                break;
            }
            let Some(at) = target.get(from..).and_then(|rest| memchr::memmem::find(rest, segment)) else { return false };
            from += at + segment.len();
        }
        let rest = target.get(from..).unwrap_or_default();
        if self.anchored { rest.ends_with(last) } else { memchr::memmem::find(rest, last).is_some() }
    }
}

impl Look {
    /// Whether the pattern matches `target`, in which its window stands at `place`.
    #[inline]
    fn matches_at(&self, target: &[u8], place: usize) -> bool {
        let Look { pattern, segment, offset, .. } = self;
        let octets = &pattern.segments[*segment];
        let Some(start) = place.checked_sub(*offset).filter(|&start| start >= pattern.depth) else { return false };
        if !target.get(start..).is_some_and(|rest| rest.starts_with(octets)) {
            return false;
        }
        match pattern.segments.len() {
            1 if pattern.in_query == 0 && memchr::memchr(b'?', &target[..start]).is_none() => false,
            1 => !pattern.anchored || start + octets.len() == target.len(),
            _ => pattern.matches(target),
        }
    }
}

/// How a pattern goes on.
#[derive(Debug, Clone, Copy)]
enum Part {
    Needle(usize),
    /// A decoded spelling, which counts behind the first `?`. The written one holds a `%`, and lines that do are asked one by one.
    InQuery(usize),
    Octet(u8),
}

/// The floating rules that can decide something, from the segment automaton. `None` where they are so many or so
/// long that looking closer at them would be no better than the automaton itself: reading them is bounded by that.
pub(super) fn floating_rules(matcher: &Matcher<'_>, value_of: impl Fn(u32) -> Option<u32>) -> Option<Vec<Rule>> {
    let view = matcher.segments.as_ref()?;
    let paths = floating_paths(view)?;
    let mut found: Vec<(u32, usize, Vec<Part>, bool)> = Vec::new();
    for (&sequence, (depth, path)) in paths.iter().filter(|(_, (_, path))| !path.is_empty()) {
        let node = view.sequence(sequence)?;
        if node.match_count > 0 {
            found.push((view.pool.get(node.matches)?, *depth, path.clone(), false));
        }
    }
    for number in 0..view.count(segments::NEEDLE_COUNT) {
        let needle = view.needle(number)?;
        for index in 0..needle.tail_count {
            let (parent, rank) = view.pair(needle.tails, index)?;
            let Some((depth, path)) = paths.get(&(parent >> 1)) else { continue };
            if found.len() >= MAX_RULES {
                return None;
            }
            let last = if parent & 1 == 1 { Part::InQuery(number) } else { Part::Needle(number) };
            found.push((rank as u32, *depth, path.iter().copied().chain([last]).collect(), true));
        }
    }
    let parts = found.iter().flat_map(|(_, _, path, _)| path);
    let wanted = parts.filter_map(|part| if let Part::Needle(needle) | Part::InQuery(needle) = part { Some(*needle) } else { None });
    let Spellings(spellings) = Spellings::of(view, wanted)?;
    let mut rules = Vec::with_capacity(found.len());
    for (rank, depth, path, anchored) in found {
        let spell = |part: Part| match part {
            Part::Needle(needle) | Part::InQuery(needle) => spellings[needle].clone(),
            Part::Octet(octet) => vec![octet],
        };
        let in_query = path.iter().position(|part| matches!(part, Part::InQuery(_))).unwrap_or(path.len());
        let segments = path.into_iter().map(spell).collect();
        rules.push(Rule { level: value_of(rank)?, pattern: Pattern { depth, segments, in_query, anchored } });
    }
    rules.retain(|rule| rule.level > 0);
    Some(rules)
}

/// Of each sequence under a floating root, where it may begin and the parts on the way to it.
fn floating_paths(view: &SegmentsView<'_>) -> Option<HashMap<usize, (usize, Vec<Part>)>> {
    let mut paths = HashMap::new();
    for (depth, root) in [(0, segments::ROOT_EMPTY), (1, segments::ROOT_SLASH)] {
        let Some(root) = view.count(root).checked_sub(1) else { continue };
        let mut pending = vec![(root, Vec::new())];
        while let Some((sequence, path)) = pending.pop() {
            let node = view.sequence(sequence)?;
            if paths.len() + pending.len() + node.child_count > MAX_RULES || path.len() > MAX_SEGMENTS {
                return None;
            }
            for index in 0..node.child_count {
                let (step, child) = view.step(&node, index)?;
                let mut longer = path.clone();
                match step {
                    Step::Octet(octet) => longer.push(Part::Octet(octet)),
                    Step::Run(octets) => longer.extend(octets.iter().take(MAX_SEGMENTS + 1).map(|&octet| Part::Octet(octet))),
                    Step::Segment(segment) => {
                        let segment = view.segment(segment)?;
                        longer.push(match segment.decoded.checked_sub(1) {
                            Some(decoded) => Part::InQuery(decoded),
                            None => Part::Needle(segment.written),
                        });
                    }
                }
                pending.push((child, longer));
            }
            paths.insert(sequence, (depth, path));
        }
    }
    Some(paths)
}

/// Windows in at most `count` groups: those that begin alike together, so that a bucket has few octets at each place.
fn grouped(mut windows: Vec<Window>, count: usize) -> Vec<Vec<Window>> {
    // Short windows hit often: they keep to themselves, behind the long ones.
    windows.sort_by_key(|window| (window.mask.count_ones() < 24, window.value.swap_bytes()));
    let per_group = windows.len().div_ceil(count).max(1);
    let mut groups: Vec<Vec<Window>> = Vec::new();
    for window in windows {
        match groups.last_mut().filter(|group| group.len() < per_group) {
            Some(group) => group.push(window),
            None => groups.push(vec![window]),
        }
    }
    groups
}
