//! The exact search: is there a target that one rule matches and no rule above it does?
//!
//! All rules read the target at once. A rule under way is one position (stretch, octets of it found), since the leftmost fit of a stretch is always right;
//! so the product of all rules is deterministic, and what is searched is a graph whose nodes are vectors of positions. A node is dead once a rule above
//! has matched for good or the rule itself no longer can; it is the end if the rule matches there and no anchored rule above does.
//!
//! The product is as large as the product of the rules' lengths at worst (whether patterns cover another one is hard as soon as octets are
//! few), so the search pays for each step and gives up honestly. Two things keep it small where it matters. It goes on where the fewest octets
//! are read and missing (A*), so a target that exists is found almost straight. And a node is left out if another one of the same place leaves every rule
//! above at most as far: whatever gets through from the one gets through from the other (an antichain, as in De Wulf, Doyen, Henzinger and Raskin,
//! "Antichains: a new algorithm for checking universality of finite automata", 2006).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::rc::Rc;

use super::language::{Language, Place};
use crate::target::percent::{Parts, Segment};

/// What the search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Found {
    /// A canonical target.
    Target(Vec<u8>),
    /// There is none, and these rules above are enough to see that.
    Nothing(BTreeSet<usize>),
    /// The budget ended first.
    Exceeded,
}

/// A rule, those above it, and the octets from which targets are made.
pub(super) struct Question<'a> {
    pub(super) language: &'a Language,
    pub(super) rule: &'a Parts,
    pub(super) above: &'a [Parts],
    /// Of octets that no rule names, the first that is here is tried first.
    pub(super) octets: &'a [u8],
}

impl Question<'_> {
    /// Searches; every position that is computed or compared costs one unit of `budget`.
    pub(super) fn search(&self, budget: &mut u64) -> Found {
        let size: usize = self.above.iter().chain([self.rule]).map(len).sum();
        if !spend(budget, size) {
            return Found::Exceeded;
        }
        let above: Vec<Track> = self.above.iter().map(Track::new).collect();
        Search {
            question: self,
            rule: Track::new(self.rule),
            above,
            nodes: Vec::new(),
            seen: HashMap::new(),
            pending: BinaryHeap::new(),
            killers: BTreeSet::new(),
        }
        .run(budget)
    }
}

/// The octets of a pattern.
fn len(parts: &Parts) -> usize {
    let segments = parts.segments.iter().map(|segment| segment.octets.len() + segment.in_query.as_ref().map_or(0, Vec::len));
    parts.prefix.len() + segments.sum::<usize>()
}

fn spend(budget: &mut u64, work: usize) -> bool {
    match budget.checked_sub(work as u64) {
        Some(left) => *budget = left,
        None => *budget = 0,
    }
    *budget > 0
}

/// A literal and where to go on when an octet does not fit (Knuth, Morris and Pratt, 1977).
struct Needle {
    octets: Vec<u8>,
    /// By number of octets found: the longest proper suffix of those that the needle begins with.
    failure: Vec<u32>,
}

impl Needle {
    fn new(octets: &[u8]) -> Needle {
        let mut needle = Needle { octets: octets.to_vec(), failure: vec![0; octets.len() + 1] };
        for (end, &octet) in octets.iter().enumerate().skip(1) {
            needle.failure[end + 1] = needle.step(needle.failure[end], octet);
        }
        needle
    }

    fn len(&self) -> u32 {
        self.octets.len() as u32
    }

    fn step(&self, mut found: u32, octet: u8) -> u32 {
        loop {
            if self.octets.get(found as usize) == Some(&octet) {
                return found + 1;
            }
            if found == 0 {
                return 0;
            }
            found = self.failure[found as usize];
        }
    }

    /// Whether the needle is missing at most as much after `more` as after `less`, whatever comes.
    fn is_ahead(&self, less: u32, mut more: u32) -> bool {
        while more > less {
            more = self.failure[more as usize];
        }
        more == less
    }
}

/// Where a rule is in the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Position {
    /// 0 in the prefix, else the number of the segment that is sought, from 1.
    stage: u32,
    /// Octets found of that.
    found: u32,
    /// The same of its second spelling.
    found_in_query: u32,
}

/// The position of a rule that has matched, whatever comes.
const MATCHED: Position = Position { stage: u32::MAX, found: 0, found_in_query: 0 };

/// A rule, to be followed octet by octet.
struct Track {
    prefix: Vec<u8>,
    segments: Vec<(Needle, Option<Needle>)>,
    anchored: bool,
    /// By stage: the least number of octets behind it.
    behind: Vec<u32>,
}

impl Track {
    fn new(parts: &Parts) -> Track {
        let needles = |segment: &Segment| (Needle::new(&segment.octets), segment.in_query.as_deref().map(Needle::new));
        let segments: Vec<_> = parts.segments.iter().map(needles).collect();
        let mut behind = vec![0; segments.len() + 1];
        for stage in (0..segments.len()).rev() {
            let (written, decoded) = &segments[stage];
            behind[stage] = behind[stage + 1] + decoded.as_ref().map_or(written.len(), |decoded| decoded.len().min(written.len()));
        }
        Track { prefix: parts.prefix.clone(), segments, anchored: parts.anchored, behind }
    }

    fn start(&self) -> Position {
        self.settled(Position { stage: 0, found: 0, found_in_query: 0 })
    }

    /// Goes on to the next stage if this one is complete.
    fn settled(&self, position: Position) -> Position {
        let is_last = position.stage as usize == self.segments.len();
        let is_complete = match position.stage {
            0 => position.found as usize == self.prefix.len(),
            stage => {
                let (written, decoded) = &self.segments[stage as usize - 1];
                position.found == written.len() || decoded.as_ref().is_some_and(|decoded| position.found_in_query == decoded.len())
            }
        };
        match (is_complete, is_last) {
            (true, true) if !self.anchored => MATCHED,
            (true, false) => Position { stage: position.stage + 1, found: 0, found_in_query: 0 },
            _ => position,
        }
    }

    /// The position behind `octet`, unless the rule can no longer match. `in_query`: whether a `?` stands before that octet.
    fn step(&self, position: Position, octet: u8, in_query: bool) -> Option<Position> {
        if position == MATCHED {
            return Some(MATCHED);
        }
        if position.stage == 0 {
            let fits = self.prefix.get(position.found as usize) == Some(&octet);
            return fits.then(|| self.settled(Position { found: position.found + 1, ..position }));
        }
        let (written, decoded) = &self.segments[position.stage as usize - 1];
        let found_in_query = match decoded {
            Some(decoded) if in_query => decoded.step(position.found_in_query, octet),
            _ => 0,
        };
        Some(self.settled(Position { found: written.step(position.found, octet), found_in_query, ..position }))
    }

    /// Whether the rule matches a target that ends here.
    fn matches_at_end(&self, position: Position) -> bool {
        if position == MATCHED {
            return true;
        }
        if !self.anchored || position.stage as usize != self.segments.len() {
            return false;
        }
        match position.stage {
            0 => position.found as usize == self.prefix.len(),
            stage => {
                let (written, decoded) = &self.segments[stage as usize - 1];
                position.found == written.len() || decoded.as_ref().is_some_and(|decoded| position.found_in_query == decoded.len())
            }
        }
    }

    /// At most as many octets as are missing.
    fn missing(&self, position: Position) -> u32 {
        if position == MATCHED {
            return 0;
        }
        let Some(index) = position.stage.checked_sub(1) else {
            return self.prefix.len() as u32 - position.found + self.behind[0];
        };
        let (written, decoded) = &self.segments[index as usize];
        let missing = written.len() - position.found;
        let decoded = decoded.as_ref().map_or(missing, |decoded| decoded.len() - position.found_in_query);
        missing.min(decoded) + self.behind[index as usize + 1]
    }

    /// Whether the rule matches at `more`, whatever comes, if it does at `less`. Both are positions at the same place of the language.
    fn is_ahead(&self, less: Position, more: Position) -> bool {
        if less == more {
            return true;
        }
        if less.stage != more.stage || more.stage == 0 {
            // A star takes what would have been found of a stage before it.
            return less.stage < more.stage;
        }
        let (written, decoded) = &self.segments[more.stage as usize - 1];
        let decoded_is_ahead = decoded.as_ref().is_none_or(|decoded| decoded.is_ahead(less.found_in_query, more.found_in_query));
        written.is_ahead(less.found, more.found) && decoded_is_ahead
    }
}

/// The rules above that can still match, by index, and where they are.
type Above = Rc<[(u32, Position)]>;

#[derive(Clone)]
struct Node {
    parent: u32,
    octet: u8,
    depth: u32,
    place: Place,
    rule: Position,
    above: Above,
}

struct Search<'a> {
    question: &'a Question<'a>,
    rule: Track,
    above: Vec<Track>,
    nodes: Vec<Node>,
    /// Nodes by where the language and the rule are.
    seen: HashMap<(Place, Position), Vec<u32>>,
    /// Octets read and missing, fewest first, and of those the deepest node.
    pending: BinaryHeap<Reverse<(u32, Reverse<u32>, u32)>>,
    killers: BTreeSet<usize>,
}

/// What became of a node that was looked at.
enum Step {
    End,
    Open,
}

impl Search<'_> {
    fn run(mut self, budget: &mut u64) -> Found {
        let above = self.above.iter().enumerate().map(|(index, track)| (index as u32, track.start())).collect();
        let root = Node { parent: u32::MAX, octet: 0, depth: 0, place: Place::default(), rule: self.rule.start(), above };
        match self.follow(&root, u32::MAX, b'/', budget) {
            Some(Step::End) => return Found::Target(self.spelled(self.nodes.len() - 1)),
            Some(Step::Open) => {}
            None => return Found::Exceeded,
        }
        while let Some(Reverse((_, _, index))) = self.pending.pop() {
            let node = self.nodes[index as usize].clone();
            for &octet in self.question.octets {
                match self.follow(&node, index, octet, budget) {
                    Some(Step::End) => return Found::Target(self.spelled(self.nodes.len() - 1)),
                    Some(Step::Open) => {}
                    None => return Found::Exceeded,
                }
            }
        }
        Found::Nothing(self.killers)
    }

    /// Looks at what lies behind `octet`; `None` when the budget ends.
    fn follow(&mut self, node: &Node, index: u32, octet: u8, budget: &mut u64) -> Option<Step> {
        if !spend(budget, 1 + node.above.len()) {
            return None;
        }
        let in_query = node.place.in_query;
        let (Some(place), Some(rule)) = (self.question.language.step(node.place, octet), self.rule.step(node.rule, octet, in_query)) else {
            return Some(Step::Open);
        };
        let Some(above) = self.above_behind(node, octet) else {
            return Some(Step::Open);
        };
        if self.is_covered((place, rule), &above, budget)? {
            return Some(Step::Open);
        }
        let depth = node.depth + 1;
        let number = self.nodes.len() as u32;
        let is_end = self.rule.matches_at_end(rule) && !self.is_taken_at_end(&above);
        self.pending.push(Reverse((depth + self.rule.missing(rule), Reverse(depth), number)));
        self.seen.entry((place, rule)).or_default().push(number);
        self.nodes.push(Node { parent: index, octet, depth, place, rule, above });
        Some(if is_end { Step::End } else { Step::Open })
    }

    /// The rules above behind `octet`, unless one of them has matched.
    fn above_behind(&mut self, node: &Node, octet: u8) -> Option<Above> {
        let mut behind = Vec::with_capacity(node.above.len());
        let mut killer = None;
        for &(index, position) in node.above.iter() {
            match self.above[index as usize].step(position, octet, node.place.in_query) {
                Some(MATCHED) => killer = killer.filter(|killer| self.killers.contains(killer)).or(Some(index as usize)),
                Some(position) => behind.push((index, position)),
                None => {}
            }
        }
        self.killers.extend(killer);
        killer.is_none().then(|| behind.into())
    }

    /// Whether an anchored rule above takes a target that ends here.
    fn is_taken_at_end(&mut self, above: &Above) -> bool {
        let takes = |&&(index, position): &&(u32, Position)| self.above[index as usize].matches_at_end(position);
        let taking: Vec<usize> = above.iter().filter(takes).map(|&(index, _)| index as usize).collect();
        if let Some(&first) = taking.first()
            && !taking.iter().any(|index| self.killers.contains(index))
        {
            self.killers.insert(first);
        }
        !taking.is_empty()
    }

    /// Whether a node was seen from which everything gets through that gets through from here.
    fn is_covered(&self, key: (Place, Position), above: &Above, budget: &mut u64) -> Option<bool> {
        let Some(seen) = self.seen.get(&key) else {
            return Some(false);
        };
        for &other in seen {
            let other = &self.nodes[other as usize].above;
            if !spend(budget, 1 + other.len()) {
                return None;
            }
            if self.is_behind(other, above) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// Whether every rule of `less` is in `more`, at least as far.
    fn is_behind(&self, less: &Above, more: &Above) -> bool {
        let mut more = more.iter();
        less.iter().all(|&(index, position)| {
            let same = more.find(|&&(other, _)| other >= index).filter(|&&(other, _)| other == index);
            same.is_some_and(|&(_, further)| self.above[index as usize].is_ahead(position, further))
        })
    }

    fn spelled(&self, index: usize) -> Vec<u8> {
        let mut target = Vec::new();
        let mut index = index as u32;
        while let Some(node) = self.nodes.get(index as usize) {
            target.push(node.octet);
            index = node.parent;
        }
        target.reverse();
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::analyse::language::tests::strings as targets;
    use crate::target::form::TargetForm;
    use crate::target::percent::canonical_pattern;
    use proptest::prelude::*;

    fn pattern(pieces: &'static [&'static str], form: &'static TargetForm) -> impl Strategy<Value = Parts> {
        let value = prop::collection::vec(prop::sample::select(pieces), 0..6).prop_map(|pieces| format!("/{}", pieces.concat()));
        (value, any::<bool>(), any::<bool>()).prop_map(move |(value, anchored, star)| {
            let value = format!("{}{}", if star { value.replacen('/', "*", 1) } else { value }, if anchored { "$" } else { "" });
            let mut pattern = Vec::new();
            canonical_pattern(value.as_bytes(), &mut pattern);
            form.parts(&pattern, value.as_bytes())
        })
    }

    fn check(form: &'static TargetForm, rule: &Parts, above: &[Parts], octets: &[u8], len: usize) -> Result<(), TestCaseError> {
        let language = Language::of(form);
        let is_right = |target: &[u8], above: &[Parts]| rule.matches(target) && !above.iter().any(|above| above.matches(target));
        let is_canonical = |target: &[u8]| !language.keeps_escapes() || form.canonical(target, &mut Vec::new()) == target;
        match (Question { language: &language, rule, above, octets }).search(&mut 50_000_000) {
            Found::Target(target) => {
                prop_assert!(is_right(&target, above), "{}", target.escape_ascii());
                prop_assert!(is_canonical(&target), "{}", target.escape_ascii());
            }
            Found::Nothing(killers) => {
                for target in targets(octets, len).into_iter().filter(|target| is_canonical(target)) {
                    prop_assert!(!is_right(&target, above), "{}", target.escape_ascii());
                }
                prop_assert!(killers.iter().all(|&index| index < above.len()));
            }
            Found::Exceeded => prop_assert!(false, "the budget ended"),
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// Three octets, all of them named: patterns that cover only together.
        #[test]
        fn as_brute_force_finds_it(
            rule in pattern(&["*", "a", "b", "/"], TargetForm::GOOGLE),
            above in prop::collection::vec(pattern(&["*", "*", "a", "b", "/"], TargetForm::GOOGLE), 0..10),
        ) {
            check(TargetForm::GOOGLE, &rule, &above, b"ab/", 7)?;
        }

        /// Escapes, broken ones too, stretches of two spellings, the query.
        #[test]
        fn as_brute_force_finds_it_among_escapes(
            rule in pattern(&["*", "%2F", "%", "2", "?", "F", "/"], TargetForm::RFC9309),
            above in prop::collection::vec(pattern(&["*", "*", "%2F", "%", "2", "?", "F", "/"], TargetForm::RFC9309), 0..8),
        ) {
            check(TargetForm::RFC9309, &rule, &above, b"%2F?/", 6)?;
        }
    }

    #[test]
    fn patterns_that_cover_only_together() {
        let language = Language::of(TargetForm::GOOGLE);
        let rule = Parts::literal(b"/*");
        let above: Vec<Parts> = [&b"/$"[..], b"/*a$", b"/*b$", b"/*/$"].map(Parts::literal).into();
        let ask = |above: &[Parts], octets| Question { language: &language, rule: &rule, above, octets }.search(&mut 10_000);
        assert_eq!(ask(&above, b"ab/"), Found::Nothing((0..4).collect()));
        assert_eq!(ask(&above, b"ab/c"), Found::Target(b"/c".to_vec()));
        assert_eq!(ask(&above[..3], b"ab/"), Found::Target(b"//".to_vec()));
        assert_eq!(Question { language: &language, rule: &rule, above: &above, octets: b"ab/" }.search(&mut 10), Found::Exceeded);
    }
}
