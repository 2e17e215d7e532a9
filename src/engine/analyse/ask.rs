//! One analysis under way: rules are put to the compiled rule sets, and what that leaves open to the exact search.

use std::collections::BTreeSet;

use super::language::Language;
use super::search::{Found, Question};
use super::variant::Variant;
use super::{Analysis, Budget, FILLERS, Octets, Reach, alphabet};
use crate::engine::matcher::{Matcher, Scratch};
use crate::engine::program::Program;
use crate::protocol::decision::{Reason, RuleId};
use crate::target::percent::Parts;

/// The canonical targets that are robots.txt, as patterns.
const EXEMPT: [&[u8]; 2] = [b"/robots.txt$", b"/robots.txt?"];

/// A decision costs its octets, this, and a share of the stars of all rules it looks at: an octet may move as many rules.
const DECISION: usize = 32;
const STARS_A_UNIT: usize = 8;

/// Stars of a rule that are emptied one by one to make a witness short, and rules that are left out one by one to make a proof so.
const SHORTENED: usize = 16;

/// What may stand above a rule. The exemption comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Above {
    Rule(u32),
    RobotsTxt,
}

/// Rules that shadow one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Shadowers(BTreeSet<Above>);

impl Shadowers {
    fn of(reach: &Reach) -> Option<Shadowers> {
        let Reach::Shadowed { by, robots_txt } = reach else {
            return None;
        };
        let rules = by.iter().filter_map(|by| by.index()).map(Above::Rule);
        Some(Shadowers(rules.chain(robots_txt.then_some(Above::RobotsTxt)).collect()))
    }

    fn into_reach(self) -> Reach {
        let robots_txt = self.0.contains(&Above::RobotsTxt);
        let rule = |above: Above| match above {
            Above::Rule(rule) => Some(RuleId::new(rule)),
            Above::RobotsTxt => None,
        };
        Reach::Shadowed { by: self.0.into_iter().filter_map(rule).collect(), robots_txt }
    }
}

/// What one variant of a rule came to.
enum Probe {
    /// The rule decides this raw target.
    Decides(Vec<u8>),
    /// One rule covers the variant.
    Covered(Cover),
    /// Neither.
    Open,
}

/// A rule covers a variant, which a target shows: whatever stands for its octet `filler`, the rule matches.
struct Cover {
    target: Vec<u8>,
    filler: u8,
    by: Above,
}

/// The state of an analysis.
pub(super) struct Run<'a> {
    analysis: &'a Analysis<'a>,
    language: Language,
    /// Octets that canonical targets hold, those first that read best.
    fillers: Vec<u8>,
    scratch: Scratch,
    budget: Budget,
}

impl<'a> Run<'a> {
    pub(super) fn new(analysis: &'a Analysis<'a>, budget: Budget) -> Run<'a> {
        let language = Language::of(analysis.form);
        let fillers = FILLERS.iter().copied().filter(|&octet| language.holds(octet)).collect();
        Run { analysis, language, fillers, scratch: Scratch::new(), budget }
    }

    /// What a rule decides in any of its rule sets.
    pub(super) fn reach(&mut self, rule: u32) -> Reach {
        let Analysis { rules, sets_of_groups, .. } = self.analysis;
        let own = rules[rule as usize].group();
        // Each enough in all rule sets that have its groups.
        let mut known: Vec<Shadowers> = Vec::new();
        let mut other = None;
        for &set in &sets_of_groups[own as usize] {
            if self.spend(1 + known.len()).is_none() {
                return Reach::Unknown;
            }
            if known.iter().any(|known| self.are_in(known, &self.analysis.sets[set as usize])) {
                continue;
            }
            let reach = self.reach_in(rule, set);
            match Shadowers::of(&reach) {
                Some(found) => known.push(found),
                None if reach == Reach::Unknown => other = Some(reach),
                None => return reach,
            }
            // What the rule's own group has all its rule sets have.
            if known.last().is_some_and(|found| self.are_in(found, &[own])) {
                known.drain(..known.len() - 1);
                other = None;
                break;
            }
        }
        if let Some(unknown) = other {
            return unknown;
        }
        if known.is_empty() {
            return Reach::BindsNobody;
        }
        Shadowers(known.into_iter().flat_map(|known| known.0).collect()).into_reach()
    }

    /// Whether all those rules stand in some of `groups`.
    fn are_in(&self, shadowers: &Shadowers, groups: &[u32]) -> bool {
        let is_in = |above: &Above| match above {
            Above::Rule(rule) => groups.binary_search(&self.analysis.rules[*rule as usize].group()).is_ok(),
            Above::RobotsTxt => true,
        };
        shadowers.0.iter().all(is_in)
    }

    /// What a rule decides in one rule set.
    pub(super) fn reach_in(&mut self, rule: u32, set: u32) -> Reach {
        if self.analysis.rules[rule as usize].pattern().is_empty() {
            return Reach::NeverMatches;
        }
        self.ask(rule, set).unwrap_or(Reach::Unknown)
    }

    /// `None` when the budget ends.
    fn ask(&mut self, rule: u32, set: u32) -> Option<Reach> {
        let parts = self.analysis.parts(rule);
        let program = Program::view(&self.analysis.program).ok()?;
        let matcher = Matcher::new(program.rule_set(set).ok()?).ok()?;
        let mut asked = Asked { run: self, matcher, rule, set };
        let mut covers = Vec::new();
        let mut is_open = false;
        for variant in Variant::of(&parts) {
            match asked.probe(&variant)? {
                Probe::Decides(witness) => return Some(Reach::Decides { witness, rule_set: set }),
                Probe::Covered(cover) => covers.push(cover),
                Probe::Open => is_open = true,
            }
        }
        if is_open {
            return asked.search(&parts);
        }
        Some(if covers.is_empty() { Reach::NeverMatches } else { asked.fewest(&covers).into_reach() })
    }

    fn spend(&mut self, work: usize) -> Option<()> {
        let left = self.budget.work.checked_sub(work as u64);
        self.budget.work = left.unwrap_or(0);
        left.map(|_| ())
    }
}

/// One rule in one rule set.
struct Asked<'r, 'a> {
    run: &'r mut Run<'a>,
    matcher: Matcher<'a>,
    rule: u32,
    set: u32,
}

impl Asked<'_, '_> {
    /// Looks for a witness among targets made of one variant, and for a rule that covers it.
    fn probe(&mut self, variant: &Variant<'_>) -> Option<Probe> {
        if let Some(Decided::Here(raw)) = self.decide(&variant.filled(0, |_| false))? {
            return Some(Probe::Decides(raw));
        }
        let named = self.run.analysis.named_in_sets[self.set as usize];
        let first = self.run.fillers.iter().position(|&octet| !named.contains(octet));
        let tried = first.map_or(0..self.run.fillers.len(), |first| first..first + 1);
        for index in tried {
            let filler = self.run.fillers[index];
            let target = variant.filled(filler, |_| true);
            match self.decide(&target)? {
                Some(Decided::Here(raw)) => return Some(Probe::Decides(self.shortened(variant, filler, raw)?)),
                Some(Decided::Above(by)) if !self.named(by).contains(filler) => return Some(Probe::Covered(Cover { target, filler, by })),
                _ => {}
            }
        }
        Some(Probe::Open)
    }

    /// Empties as many stars of a witness as may be.
    fn shortened(&mut self, variant: &Variant<'_>, filler: u8, mut raw: Vec<u8>) -> Option<Vec<u8>> {
        let mut is_filled = vec![true; variant.star_count()];
        for star in (0..is_filled.len()).rev().take(SHORTENED) {
            is_filled[star] = false;
            match self.decide(&variant.filled(filler, |star| is_filled[star]))? {
                Some(Decided::Here(shorter)) => raw = shorter,
                _ => is_filled[star] = true,
            }
        }
        Some(raw)
    }

    /// Asks the rule set for a canonical target: nothing if it is none, or if no rule decides.
    fn decide(&mut self, target: &[u8]) -> Option<Option<Decided>> {
        self.run.spend(target.len() + DECISION + self.stars() / STARS_A_UNIT)?;
        let Some(raw) = self.run.language.raw(target) else {
            return Some(None);
        };
        let decision = self.matcher.decide(&raw, &mut self.run.scratch).ok()?;
        Some(match decision.rule.index() {
            Some(rule) if rule == self.rule => Some(Decided::Here(raw)),
            Some(rule) => Some(Decided::Above(Above::Rule(rule))),
            None => (decision.reason == Reason::RobotsTxt).then_some(Decided::Above(Above::RobotsTxt)),
        })
    }

    /// The stars of all rules that a decision looks at.
    fn stars(&self) -> usize {
        let Analysis { stars_in_sets, star_count, .. } = self.run.analysis;
        if self.matcher.rule_set().is_filtered() { *star_count } else { stars_in_sets[self.set as usize] }
    }

    fn named(&self, above: Above) -> Octets {
        match above {
            Above::Rule(rule) => self.run.analysis.named[rule as usize],
            Above::RobotsTxt => Octets::in_text(EXEMPT[1]),
        }
    }

    fn matches(&self, above: Above, target: &[u8]) -> bool {
        match above {
            Above::Rule(rule) => self.run.analysis.parts(rule).matches(target),
            Above::RobotsTxt => EXEMPT.iter().any(|pattern| Parts::literal(pattern).matches(target)),
        }
    }

    /// Rules that cover all variants, none of which could be left out.
    fn fewest(&self, covers: &[Cover]) -> Shadowers {
        let mut all: BTreeSet<Above> = covers.iter().map(|cover| cover.by).collect();
        if all.len() > 1 && all.len() <= SHORTENED {
            for above in all.clone() {
                let covers_all = |rest: &BTreeSet<Above>| {
                    let covers_one =
                        |by: &Above, cover: &Cover| !self.named(*by).contains(cover.filler) && self.matches(*by, &cover.target);
                    covers.iter().all(|cover| rest.iter().any(|by| covers_one(by, cover)))
                };
                all.remove(&above);
                if !covers_all(&all) {
                    all.insert(above);
                }
            }
        }
        Shadowers(all)
    }

    /// The exact search.
    fn search(&mut self, parts: &Parts) -> Option<Reach> {
        let (names, above) = self.above(parts)?;
        let named = Octets::all(above.iter().chain([parts]).map(Octets::of));
        let octets = alphabet(&self.run.language, named);
        let all: Vec<usize> = (0..above.len()).collect();
        match self.search_with(parts, &above, &all, &octets) {
            Found::Target(target) => match self.decide(&target)? {
                Some(Decided::Here(witness)) => Some(Reach::Decides { witness, rule_set: self.set }),
                _ => None,
            },
            Found::Nothing(_) if self.search_with(parts, &above, &[], &octets) == Found::Nothing(BTreeSet::new()) => {
                Some(Reach::NeverMatches)
            }
            Found::Nothing(killers) => {
                let enough = self.enough(parts, &above, killers.into_iter().collect(), &octets).unwrap_or(all);
                Some(Shadowers(enough.into_iter().map(|index| names[index]).collect()).into_reach())
            }
            Found::Exceeded => None,
        }
    }

    /// The rules above, and the exemption, of those that begin as the rule does.
    fn above(&mut self, parts: &Parts) -> Option<(Vec<Above>, Vec<Parts>)> {
        let analysis = self.run.analysis;
        let own = analysis.rank(self.rule);
        let mut names = Vec::new();
        let mut above = Vec::new();
        let mut add = |name: Above, other: Parts| {
            if other.prefix.iter().zip(&parts.prefix).all(|(a, b)| a == b) {
                names.push(name);
                above.push(other);
            }
        };
        let mut left = self.run.budget.search;
        for id in analysis.sets[self.set as usize].iter().flat_map(|&group| analysis.groups[group as usize].clone()) {
            let len = analysis.rules[id as usize].pattern().len();
            left = left.checked_sub(1 + len as u64)?;
            self.run.spend(1 + len)?;
            if len > 0 && analysis.rank(id) > own {
                add(Above::Rule(id), analysis.parts(id));
            }
        }
        if analysis.form.robots_txt_exempt() {
            EXEMPT.iter().for_each(|pattern| add(Above::RobotsTxt, Parts::literal(pattern)));
        }
        Some((names, above))
    }

    fn search_with(&mut self, parts: &Parts, above: &[Parts], chosen: &[usize], octets: &[u8]) -> Found {
        let above: Vec<Parts> = chosen.iter().map(|&index| above[index].clone()).collect();
        let most = self.run.budget.search.min(self.run.budget.work);
        let mut left = most;
        let question = Question { language: &self.run.language, rule: parts, above: &above, octets };
        let found = question.search(&mut left);
        self.run.budget.work -= most - left;
        found
    }

    /// As few of those as are enough by themselves; nothing if they are not, or the budget ends.
    fn enough(&mut self, parts: &Parts, above: &[Parts], mut chosen: Vec<usize>, octets: &[u8]) -> Option<Vec<usize>> {
        let is_enough = |found: Found| matches!(found, Found::Nothing(_));
        if !is_enough(self.search_with(parts, above, &chosen, octets)) {
            return None;
        }
        let mut index = 0;
        while chosen.len() <= SHORTENED && index < chosen.len() {
            let mut fewer = chosen.clone();
            fewer.remove(index);
            if is_enough(self.search_with(parts, above, &fewer, octets)) {
                chosen = fewer;
            } else {
                index += 1;
            }
        }
        Some(chosen)
    }
}

/// Who decides a target.
enum Decided {
    /// The rule that was asked about, on this raw target.
    Here(Vec<u8>),
    Above(Above),
}
