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

use super::Matcher;
use super::block::Targets;
use crate::engine::program::segments;
use crate::engine::program::view::SegmentsView;
use crate::engine::scan::{Buckets, Members, Vector};

/// Octets of a window that the tables look at.
const WINDOW_LEN: usize = 3;
/// Windows for which one set of eight buckets is enough.
const ONE_SET: usize = 16;
/// Windows beyond which hits are no longer rare.
const MAX_WINDOWS: usize = 256;
/// Rules that are looked at on one line at most; where there are more it is asked by itself.
const LOOKS: u32 = 32;

/// Entries of the table that tells false hits.
const HASH_BITS: u32 = 10;
const HASHES: usize = 1 << HASH_BITS;

/// How common octets are in targets, the most common first; what is not here is rare.
const BY_FREQUENCY: &[u8] = b"eaiotrnsl/cdpmug-h.fb1y2w0v5k3_4=?6879x&jqSAzCPTDMRLBEINFGO";

/// The floating rules of a rule set, ready for blocks.
#[derive(Debug)]
pub(super) struct Floating {
    /// The highest level that one of them can give.
    max_level: u32,
    sets: Vec<[Buckets; WINDOW_LEN]>,
    /// Octets on which canonicalising is not the identity, and `#`, but for line ends.
    special: Members,
    /// Windows of each bucket, eight a set: from where on in `windows`.
    buckets: Vec<u32>,
    windows: Vec<Window>,
    rules: Vec<Rule>,
    /// By a hash of three octets, the highest level of the windows that begin with them.
    levels: Box<[u32; HASHES]>,
    /// Buckets with shorter windows.
    short: u16,
}

/// A window and the rules that have it.
#[derive(Debug)]
struct Window {
    value: u32,
    mask: u32,
    /// The highest level among its rules.
    level: u32,
    rules: std::ops::Range<u32>,
}

#[derive(Debug, Clone)]
struct Rule {
    level: u32,
    /// Where in a target it may begin: 0, or 1 behind the first `/`.
    depth: usize,
    segments: Vec<Vec<u8>>,
    anchored: bool,
    /// Of the window: in which segment and where in it.
    segment: usize,
    offset: usize,
}

/// What was found in a chunk, in buffers that outlive it.
#[derive(Debug, Default)]
pub(super) struct Hits {
    /// Rows whose level a floating rule could raise.
    rows: Vec<u16>,
    hits: Vec<Hit>,
}

/// A place where fingerprints may stand.
#[derive(Debug, Clone, Copy, Default)]
struct Hit {
    row: u16,
    /// The buckets: those of the second set in the upper half.
    bits: u16,
    place: u32,
}

impl Floating {
    /// The floating rules of `matcher`, with the value of their rank for a level; `None` where there are none that blocks can be asked for.
    pub(super) fn new(matcher: &Matcher<'_>, value_of: impl Fn(u32) -> Option<u32>) -> Option<Floating> {
        let rules = floating_rules(matcher, value_of)?;
        let mut by_window: Vec<(u32, u32, Rule)> = rules
            .into_iter()
            .map(|mut rule| {
                let (value, mask) = rule.choose_window()?;
                Some((value, mask, rule))
            })
            .collect::<Option<_>>()?;
        by_window.sort_by(|a, b| (a.0, a.1, b.2.level).cmp(&(b.0, b.1, a.2.level)));
        let mut windows: Vec<Window> = Vec::new();
        for (index, (value, mask, rule)) in by_window.iter().enumerate() {
            match windows.last_mut().filter(|last| (last.value, last.mask) == (*value, *mask)) {
                Some(last) => last.rules.end += 1,
                None => windows.push(Window { value: *value, mask: *mask, level: rule.level, rules: index as u32..index as u32 + 1 }),
            }
        }
        if windows.len() > MAX_WINDOWS {
            return None;
        }
        let not_identity = matcher.rules.form.not_identity();
        let is_special = |octet: u8| !matches!(octet, b'\n' | b'\r') && (octet == b'#' || not_identity.contains(octet));
        if (0x80..=0xFF).any(|octet| is_special(octet) != is_special(0xFF)) {
            return None;
        }
        let rules: Vec<Rule> = by_window.into_iter().map(|(_, _, rule)| rule).collect();
        let mut floating = Floating {
            max_level: rules.iter().map(|rule| rule.level).max()?,
            sets: Vec::new(),
            special: Members::new(is_special),
            buckets: Vec::new(),
            windows: Vec::new(),
            rules,
            levels: Box::new([0; HASHES]),
            short: 0,
        };
        floating.fill_buckets(windows);
        Some(floating)
    }

    fn fill_buckets(&mut self, windows: Vec<Window>) {
        let set_count = if windows.len() > ONE_SET { 2 } else { 1 };
        let mut groups = grouped(windows, set_count * 8);
        groups.resize_with(set_count * 8, Vec::new);
        for set in groups.chunks_mut(8) {
            let mut tables = [([0u8; 128], 0u8); WINDOW_LEN];
            for (bucket, windows) in set.iter().enumerate() {
                for window in windows {
                    for (place, (ascii, beyond)) in tables.iter_mut().enumerate() {
                        match window.octet(place) {
                            Some(octet) => ascii[usize::from(octet)] |= 1 << bucket,
                            None => ascii.iter_mut().chain([beyond]).for_each(|bits| *bits |= 1 << bucket),
                        }
                    }
                }
            }
            self.sets.push(tables.map(|(ascii, beyond)| Buckets::new(ascii, beyond)));
        }
        for (bucket, group) in groups.into_iter().enumerate() {
            self.buckets.push(self.windows.len() as u32);
            for window in &group {
                if window.octet(WINDOW_LEN - 1).is_none() {
                    self.short |= 1 << bucket;
                }
                let level = &mut self.levels[hash(window.value)];
                *level = window.level.max(*level);
            }
            self.windows.extend(group);
        }
        self.buckets.push(self.windows.len() as u32);
    }

    /// Looks for floating rules on every line and tells of each whose level they raise, in `raised`. Lines that have to be asked one by one go to `others`.
    #[inline(always)]
    pub(super) fn raise<V: Vector>(
        &self,
        vector: V,
        targets: &Targets<'_>,
        level_of: impl Fn(usize) -> u32,
        found: &mut Hits,
        mut raised: impl FnMut(usize, u32),
        others: &mut Vec<u16>,
    ) {
        let Hits { rows, hits } = found;
        rows.resize(targets.len() + 1, 0);
        let mut count = 0;
        for row in 0..targets.len() {
            rows[count] = row as u16;
            count += usize::from(level_of(row) < self.max_level);
        }
        hits.clear();
        for &row in &rows[..count] {
            if self.find(vector, targets, row, hits) {
                others.push(row);
            }
        }
        self.drop_false(targets, &level_of, hits);
        let mut line = Line::default();
        for hit in hits.iter() {
            if line.row != Some(hit.row) {
                line.finish(&mut raised, others);
                line = Line::new(targets, hit.row, level_of(usize::from(hit.row)));
            }
            self.look(&mut line, targets.octets, hit);
        }
        line.finish(&mut raised, others);
    }

    /// Finds places on a line; says whether it has a special octet.
    #[inline(always)]
    fn find<V: Vector>(&self, vector: V, targets: &Targets<'_>, row: u16, hits: &mut Vec<Hit>) -> bool {
        let (mut place, end) = (targets.starts[usize::from(row)], targets.ends[usize::from(row)]);
        let mut special = 0;
        let mut bits = [[0u8; 64]; 2];
        while place < end {
            let block = targets.octets[place as usize..].first_chunk::<66>().expect("lines end a margin before their octets do");
            let valid = u64::MAX >> (64 - (end - place).min(64));
            special |= vector.members(block.first_chunk().expect("64 of 66"), &self.special) & valid;
            let mut found = 0;
            for (set, bits) in self.sets.iter().zip(&mut bits) {
                found |= vector.fingerprints(block, set, bits);
            }
            found &= valid;
            while found != 0 {
                let at = found.trailing_zeros() as usize;
                hits.push(Hit { row, bits: u16::from_le_bytes([bits[0][at], bits[1][at]]), place: place + at as u32 });
                found &= found - 1;
            }
            place += 64;
        }
        special != 0
    }

    /// Drops hits whose three octets begin no window that could raise the level, without a branch.
    #[inline(always)]
    fn drop_false(&self, targets: &Targets<'_>, level_of: impl Fn(usize) -> u32, hits: &mut Vec<Hit>) {
        let mut count = 0;
        for at in 0..hits.len() {
            let hit = hits[at];
            let octets = targets.octets[hit.place as usize..].first_chunk::<4>().map_or(0, |octets| u32::from_le_bytes(*octets));
            let is_higher = self.levels[hash(octets)] > level_of(usize::from(hit.row));
            hits[count] = hit;
            count += usize::from(is_higher | (hit.bits & self.short != 0));
        }
        hits.truncate(count);
    }

    #[inline(always)]
    fn look(&self, line: &mut Line<'_>, octets: &[u8], hit: &Hit) {
        let place = hit.place as usize;
        let Some(word) = octets[place..].first_chunk::<4>().map(|octets| u32::from_le_bytes(*octets)) else { return };
        let mut bits = hit.bits;
        while bits != 0 {
            let bucket = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            for window in &self.windows[self.buckets[bucket] as usize..self.buckets[bucket + 1] as usize] {
                if word & window.mask == window.value && window.level > line.level {
                    self.look_at_rules(line, window, place);
                }
            }
        }
    }

    fn look_at_rules(&self, line: &mut Line<'_>, window: &Window, place: usize) {
        for rule in &self.rules[window.rules.start as usize..window.rules.end as usize] {
            if rule.level <= line.level {
                return;
            }
            line.looks += 1;
            if line.looks <= LOOKS && rule.matches_at(line.target, place - line.start) {
                line.level = rule.level;
                return;
            }
        }
    }
}

/// Of the first three octets.
#[inline(always)]
fn hash(octets: u32) -> usize {
    ((octets & 0xFF_FFFF).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize
}

/// A line whose hits are looked at.
#[derive(Default)]
struct Line<'a> {
    row: Option<u16>,
    start: usize,
    target: &'a [u8],
    level: u32,
    before: u32,
    looks: u32,
}

impl<'a> Line<'a> {
    fn new(targets: &Targets<'a>, row: u16, level: u32) -> Line<'a> {
        let start = targets.starts[usize::from(row)] as usize;
        Line { row: Some(row), start, target: targets.raw(usize::from(row)), level, before: level, looks: 0 }
    }

    #[inline(always)]
    fn finish(&self, raised: &mut impl FnMut(usize, u32), others: &mut Vec<u16>) {
        let Some(row) = self.row else { return };
        if self.looks > LOOKS {
            others.push(row);
        } else if self.level != self.before {
            raised(usize::from(row), self.level);
        }
    }
}

impl Window {
    fn octet(&self, place: usize) -> Option<u8> {
        (self.mask.to_le_bytes()[place] != 0).then(|| self.value.to_le_bytes()[place])
    }
}

impl Rule {
    /// The rarest window of at most four octets: its octets as a number, and which count.
    fn choose_window(&mut self) -> Option<(u32, u32)> {
        let rarity = |octet: u8| BY_FREQUENCY.iter().position(|&known| known == octet).unwrap_or(BY_FREQUENCY.len()) as u32;
        let mut best: Option<((usize, u32), usize, usize)> = None;
        for (segment, octets) in self.segments.iter().enumerate() {
            for offset in 0..octets.len() {
                let window = &octets[offset..octets.len().min(offset + WINDOW_LEN)];
                // Longer windows first, then those of rare octets.
                let score = (window.len(), window.iter().map(|&octet| rarity(octet)).sum::<u32>());
                if window.iter().all(u8::is_ascii) && best.is_none_or(|(known, ..)| score > known) {
                    best = Some((score, segment, offset));
                }
            }
        }
        let (_, segment, offset) = best?;
        (self.segment, self.offset) = (segment, offset);
        let window = &self.segments[segment][offset..];
        let len = window.len().min(4);
        let (mut value, mut mask) = ([0; 4], [0; 4]);
        value[..len].copy_from_slice(&window[..len]);
        mask[..len].fill(0xFF);
        Some((u32::from_le_bytes(value), u32::from_le_bytes(mask)))
    }

    /// Whether the rule matches `target`, in which its window stands at `place`.
    fn matches_at(&self, target: &[u8], place: usize) -> bool {
        let segment = &self.segments[self.segment];
        let Some(start) = place.checked_sub(self.offset).filter(|&start| start >= self.depth) else { return false };
        if !target[start..].starts_with(segment) {
            return false;
        }
        if self.segments.len() == 1 {
            return !self.anchored || start + segment.len() == target.len();
        }
        self.matches(target)
    }

    /// Whether the rule matches `target`: each segment leftmost.
    fn matches(&self, target: &[u8]) -> bool {
        let mut from = self.depth;
        let (last, but_last) = self.segments.split_last().expect("a floating rule has segments");
        for segment in but_last {
            let Some(at) = target.get(from..).and_then(|rest| memchr::memmem::find(rest, segment)) else { return false };
            from += at + segment.len();
        }
        let rest = target.get(from..).unwrap_or_default();
        if self.anchored { rest.ends_with(last) } else { memchr::memmem::find(rest, last).is_some() }
    }
}

/// The floating rules that can decide something, from the segment automaton. `None` where one of them has a second spelling.
fn floating_rules(matcher: &Matcher<'_>, value_of: impl Fn(u32) -> Option<u32>) -> Option<Vec<Rule>> {
    let view = matcher.segments.as_ref()?;
    let needles = needle_octets(view)?;
    let mut rules = Vec::new();
    // The segments on the way to each sequence that is under a floating root.
    let mut paths: Vec<Option<(usize, Vec<usize>)>> = vec![None; view.count(segments::SEQUENCE_COUNT)];
    for (depth, root) in [(0, segments::ROOT_EMPTY), (1, segments::ROOT_SLASH)] {
        let Some(root) = view.count(root).checked_sub(1) else { continue };
        let mut pending = vec![(root, Vec::new())];
        while let Some((sequence, path)) = pending.pop() {
            let node = view.sequence(sequence)?;
            if node.match_count > 0 && !path.is_empty() {
                let level = value_of(view.pool.get(node.matches)?)?;
                rules.push(Rule::of(level, depth, &path, false, &needles));
            }
            for index in 0..node.child_count {
                let (segment, child) = view.pair(node.children, index)?;
                let segment = view.segment(segment)?;
                if segment.decoded != 0 {
                    return None;
                }
                pending.push((child, path.iter().copied().chain([segment.written]).collect()));
            }
            *paths.get_mut(sequence)? = Some((depth, path));
        }
    }
    for number in 0..view.count(segments::NEEDLE_COUNT) {
        let needle = view.needle(number)?;
        for index in 0..needle.tail_count {
            let (parent, rank) = view.pair(needle.tails, index)?;
            let Some((depth, path)) = paths.get(parent >> 1)? else { continue };
            if parent & 1 == 1 {
                return None;
            }
            let path: Vec<usize> = path.iter().copied().chain([number]).collect();
            rules.push(Rule::of(value_of(rank as u32)?, *depth, &path, true, &needles));
        }
    }
    rules.retain(|rule| rule.level > 0);
    Some(rules)
}

impl Rule {
    fn of(level: u32, depth: usize, path: &[usize], anchored: bool, needles: &[Vec<u8>]) -> Rule {
        let segments = path.iter().map(|&needle| needles[needle].clone()).collect();
        Rule { level, depth, segments, anchored, segment: 0, offset: 0 }
    }
}

/// The octets of each needle: those on the way to the state in which it ends.
fn needle_octets(view: &SegmentsView<'_>) -> Option<Vec<Vec<u8>>> {
    let mut needles = vec![Vec::new(); view.count(segments::NEEDLE_COUNT)];
    let mut ways: Vec<Vec<u8>> = vec![Vec::new(); view.count(segments::STATE_COUNT)];
    for index in 0..ways.len() {
        let state = view.state(index)?;
        let way = std::mem::take(&mut ways[index]);
        if let Some(number) =
            state.longest.checked_sub(1).filter(|&number| view.needle(number).is_some_and(|needle| needle.len == way.len()))
        {
            needles[number] = way.clone();
        }
        for child in state.first_child..state.first_child + state.child_count {
            ways.get_mut(child)?.extend(way.iter().copied().chain([view.octet(child)?]));
        }
    }
    Some(needles)
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
