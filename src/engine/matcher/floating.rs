//! Floating rules over a block: fingerprints find where one may stand, a look closer says whether it does.
//!
//! ```text
//!   rule      /*.pdf$            windows of at most three octets, the rarest of each rule, in eight buckets a set
//!   window     .pd               octet ──table──▶ buckets that have it at that place; three tables, one AND, 64 octets at a time
//!   hit     …/x.pdf⏎             sixteen octets around it, masked and compared without a branch: those that all rules with such a window have there
//!   look       .pdf$             then the rule: segments leftmost before and behind
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
use crate::engine::scan::{Fingerprints, Found, Hit, Lines, Vector};
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
/// Octets of a segment beyond which its rule is not worth a copy: hardly a target is as long.
const MAX_SEGMENT_LEN: usize = 1 << 14;
/// Octets of a segment in which a window is sought.
const MAX_OFFSETS: usize = 64;
/// What may be spent on looking at rules on one line: one for each whose surroundings are compared, so many for each that is looked at whole. Where
/// more is needed the line is asked by itself.
const LOOKS: u32 = 64 * LOOK;
const LOOK: u32 = 16;

/// By the hash of so many bits are windows found.
const HASH_BITS: u32 = 10;
const HASHES: usize = 1 << HASH_BITS;
/// Octets around the start of a window that are compared at once, and how many of them stand before it.
const CONTEXT: usize = 16;
const BEFORE: usize = 6;

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
    /// By a hash of three octets, which entry has the windows that begin with them; the first entry has none.
    by_hash: Box<[u16; HASHES]>,
    entries: Vec<Entry>,
    looks: Vec<Look>,
    gifts: Vec<Gift>,
}

/// The windows that share a hash: all of their patterns have `value` around them where `mask` is set.
#[derive(Debug)]
struct Entry {
    value: u128,
    mask: u128,
    /// The highest state that one of them can give anybody.
    highest: u32,
    looks: Vec<u32>,
}

/// A pattern, with its window: in which segment and where in it; what stands around that; and what it gives to whom.
#[derive(Debug)]
struct Look {
    pattern: Pattern,
    segment: usize,
    offset: usize,
    value: u128,
    mask: u128,
    highest: u32,
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
    found: Found,
    /// Hits whose surroundings are those of a rule that counts.
    candidates: Vec<Candidate>,
    /// What may still be spent on each row.
    budgets: Vec<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    row: u16,
    entry: u16,
    place: u32,
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
            by_hash: Box::new([0; HASHES]),
            entries: Vec::new(),
            looks: Vec::new(),
            gifts: Vec::new(),
        };
        let windows = floating.fill_looks(members)?;
        floating.fill_entries(&windows);
        let mut distinct = windows;
        distinct.dedup();
        if !(1..=MAX_WINDOWS).contains(&distinct.len()) {
            return None;
        }
        floating.fill_buckets(distinct);
        Some(floating)
    }

    /// Size in octets.
    pub(super) fn octet_len(&self) -> usize {
        self.fingerprints.octet_len() + size_of_val(&*self.looks) * 3 + size_of_val(&*self.entries) + size_of_val(&*self.gifts) + HASHES * 2
    }

    /// The patterns of all members in order of their windows. Gives those.
    fn fill_looks(&mut self, members: &[&[Rule]]) -> Option<Vec<Window>> {
        let mut by_pattern: BTreeMap<&Pattern, Vec<Gift>> = BTreeMap::new();
        for (member, rules) in (0..).zip(members) {
            for rule in *rules {
                by_pattern.entry(&rule.pattern).or_default().push(Gift { member, state: rule.level });
            }
        }
        let mut by_window: Vec<_> =
            by_pattern.into_iter().map(|(pattern, gifts)| Some((pattern.window()?, pattern, gifts))).collect::<Option<_>>()?;
        by_window.sort_by_key(|(chosen, ..)| chosen.window);
        for (Chosen { segment, offset, .. }, pattern, gifts) in &by_window {
            let (segment, offset, first) = (*segment, *offset, self.gifts.len() as u32);
            self.gifts.extend(gifts);
            let highest = gifts.iter().map(|gift| gift.state).max()?;
            let (value, mask) = context(&pattern.segments[segment], offset);
            let gifts = first..self.gifts.len() as u32;
            self.looks.push(Look { pattern: (*pattern).clone(), segment, offset, value, mask, highest, gifts });
        }
        Some(by_window.into_iter().map(|(chosen, ..)| chosen.window).collect())
    }

    /// Entries for the looks, whose windows these are.
    fn fill_entries(&mut self, windows: &[Window]) {
        let mut by_hash: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
        for (look, window) in (0..).zip(windows) {
            window.hashes(|hash| by_hash.entry(hash).or_default().push(look));
        }
        let mut known: HashMap<Vec<u32>, u16> = HashMap::new();
        self.entries.push(Entry { value: 1, mask: 0, highest: 0, looks: Vec::new() });
        for (hash, looks) in by_hash {
            self.by_hash[hash] = *known.entry(looks).or_insert_with_key(|looks| {
                self.entries.push(Entry::of(looks, &self.looks));
                self.entries.len() as u16 - 1
            });
        }
    }

    fn fill_buckets(&mut self, windows: Vec<Window>) {
        let set_count = if windows.len() > ONE_SET { 2 } else { 1 };
        let mut groups = grouped(windows, set_count * 8);
        groups.resize_with(set_count * 8, Vec::new);
        for set in groups.chunks(8) {
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
        let Hits { rows, found, candidates, budgets } = found;
        self.rows_in_question(targets.len(), states, rows);
        let Targets { octets, starts, ends } = *targets;
        vector.search(Lines { octets, starts, ends }, &self.fingerprints, rows, found);
        found.special.sort_unstable();
        found.special.dedup();
        for &row in &found.special {
            self.ask_one_by_one(row, states, others);
        }
        self.drop_false(octets, states, &found.hits, candidates);
        budgets.clear();
        budgets.resize(targets.len(), LOOKS);
        for candidate in &*candidates {
            let budget = &mut budgets[usize::from(candidate.row)];
            if *budget > 0 {
                self.look(targets, candidate, states, budget);
                if *budget == 0 {
                    self.ask_one_by_one(candidate.row, states, others);
                }
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

    /// Drops hits that do not look like a rule that could raise a state, without a branch.
    #[inline(always)]
    fn drop_false<S: StateId>(&self, octets: &[u8], states: &[[S; CHUNK]], hits: &[Hit], candidates: &mut Vec<Candidate>) {
        let only = if let [states] = states { Some(states) } else { None };
        candidates.resize(candidates.len().max(hits.len()), Candidate::default());
        let mut count = 0;
        for &Hit { row, place } in hits {
            let entry = self.by_hash[hash(&octets[place as usize..])];
            let Entry { value, mask, highest, .. } = self.entries[usize::from(entry)];
            let state = only.map_or(0, |states| states[usize::from(row) % CHUNK].index() as u32);
            candidates[count] = Candidate { row, entry, place };
            count += usize::from(holds(octets, place as usize, value, mask) & (highest > state));
        }
        candidates.truncate(count);
    }

    /// Looks at the rules that a candidate may belong to.
    #[inline(always)]
    fn look<S: StateId>(&self, targets: &Targets<'_>, candidate: &Candidate, states: &mut [[S; CHUNK]], budget: &mut u32) {
        let (row, place) = (usize::from(candidate.row), candidate.place as usize);
        for &look in &self.entries[usize::from(candidate.entry)].looks {
            let look = &self.looks[look as usize];
            *budget = budget.saturating_sub(1);
            if !holds(targets.octets, place, look.value, look.mask) {
                continue;
            }
            let gifts = &self.gifts[look.gifts.start as usize..look.gifts.end as usize];
            let is_higher = |gift: &&Gift| states[gift.member as usize][row].index() < gift.state as usize;
            if gifts.iter().find(is_higher).is_none() || *budget == 0 {
                continue;
            }
            *budget = budget.saturating_sub(LOOK);
            if look.matches_at(targets.raw(row), place - targets.starts[row] as usize) {
                for gift in gifts {
                    let state = &mut states[gift.member as usize][row];
                    *state = (*state).max(S::of(gift.state as usize).expect("a state of the automaton"));
                }
            }
        }
    }
}

/// Of the first three octets; four are read.
#[inline(always)]
fn hash(octets: &[u8]) -> usize {
    let octets = octets.first_chunk::<4>().map_or(0, |octets| u32::from_le_bytes(*octets));
    ((octets & 0xFF_FFFF).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize
}

/// Whether `value` stands around `place` where `mask` is set; too near the beginning or the end nobody knows.
#[inline(always)]
fn holds(octets: &[u8], place: usize, value: u128, mask: u128) -> bool {
    let context = octets.get(place.wrapping_sub(BEFORE)..).and_then(|octets| octets.first_chunk::<CONTEXT>());
    context.is_none_or(|octets| u128::from_le_bytes(*octets) & mask == value)
}

/// What stands around a window at `offset` in `segment`: the octets and a mask of those that are known.
fn context(segment: &[u8], offset: usize) -> (u128, u128) {
    let (mut value, mut mask) = ([0; CONTEXT], [0; CONTEXT]);
    for (at, octet) in segment.iter().enumerate() {
        if let Some(place) = (at + BEFORE).checked_sub(offset).filter(|&place| place < CONTEXT) {
            (value[place], mask[place]) = (*octet, 0xFF);
        }
    }
    (u128::from_le_bytes(value), u128::from_le_bytes(mask))
}

/// At most three octets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Window {
    /// Short ones last: they hit often, and keep to themselves.
    missing: usize,
    octets: [u8; WINDOW_LEN],
}

/// The window of a pattern, and in which segment and where it stands.
struct Chosen {
    window: Window,
    segment: usize,
    offset: usize,
}

impl Entry {
    fn of(looks: &[u32], all: &[Look]) -> Entry {
        let mut looks = looks.to_vec();
        looks.sort_by_key(|&look| Reverse(all[look as usize].highest));
        let of = |look: &u32| &all[*look as usize];
        let Look { value: first, highest, .. } = of(&looks[0]);
        let mask = looks.iter().map(of).fold(u128::MAX, |mask, look| {
            let differ = (look.value ^ first).to_le_bytes().map(|octet| if octet == 0 { 0xFF } else { 0 });
            mask & look.mask & u128::from_le_bytes(differ)
        });
        Entry { value: first & mask, mask, highest: *highest, looks }
    }
}

impl Window {
    fn octet(&self, place: usize) -> Option<u8> {
        (place + self.missing < WINDOW_LEN).then(|| self.octets[place])
    }

    /// The hashes of all octets that begin with the window.
    fn hashes(&self, mut take: impl FnMut(usize)) {
        let [a, b, c] = self.octets;
        match self.missing {
            0 => take(hash(&[a, b, c, 0])),
            1 => {
                let mut all: Vec<usize> = (0..=0xFF).map(|c| hash(&[a, b, c, 0])).collect();
                all.sort_unstable();
                all.dedup();
                all.into_iter().for_each(take);
            }
            _ => (0..HASHES).for_each(take),
        }
    }
}

impl Pattern {
    /// The rarest window.
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
        let len = window.len().min(WINDOW_LEN);
        let mut octets = [0; WINDOW_LEN];
        octets[..len].copy_from_slice(&window[..len]);
        Some(Chosen { window: Window { missing: WINDOW_LEN - len, octets }, segment, offset })
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
    let wanted: Vec<usize> = wanted.collect();
    if wanted.iter().any(|&needle| view.needle(needle).is_none_or(|needle| needle.len > MAX_SEGMENT_LEN)) {
        return None;
    }
    let Spellings(spellings) = Spellings::of(view, wanted.into_iter())?;
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

/// Windows in order in at most `count` groups: those that begin alike together, so that a bucket has few octets at each place.
fn grouped(windows: Vec<Window>, count: usize) -> Vec<Vec<Window>> {
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
