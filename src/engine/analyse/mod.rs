//! Which rules decide anything at all: proofs, and targets that anybody can check.
//!
//! A rule is *shadowed* in a rule set if there is no target for which it decides: whatever it matches, a rule above it matches too (above means more
//! specific, or as specific and an `allow`, or equal in both and on a smaller line). For a rule that is not, the analysis has a *witness*, a target for which
//! the compiled rule set names that rule. Neither is ever guessed: what a budget does not suffice to find out is [`Reach::Unknown`].
//!
//! # One question is nearly always enough
//!
//! In general, whether patterns together cover another one is hard. It is easy as soon as there is an octet that no pattern names, and a robots.txt
//! that names all 83 octets a canonical target may hold is rare. Put that octet, say `~`, for every star of the rule, the one that ends every pattern
//! without an anchor among them, and ask which rule decides on that target:
//!
//! ```text
//! rule    /a*b          target  /a~b~
//!
//! above   /a*           matches /a~b~. Its stretches lie in those of the rule and its stars on the `~`,
//!                       so it matches whatever stands there: it covers the rule, alone.
//! above   /*b$, /ab     do not match. Nothing does: `/a~b~` is a witness.
//! ```
//!
//! So either the target is a witness, or one rule above is proof. This holds for every rule that is a pattern over targets of which each begins with `/`;
//! a rule that begins with a star is two of those, and one with stretches of two spellings some more (`variant`). One decision each, by the engine
//! itself: the whole analysis is as linear as deciding is.
//!
//! # Where it is not
//!
//! A rule set may name every octet, above all in the `scrapy` form, where canonical targets hold 69. Then each octet is tried that some rule above does not
//! name. If none settles it, the exact search (`search`) walks the product of the rule and all rules above, over the alphabet and the laws of
//! canonical octets (`language`), within a budget.
//!
//! The exemption of robots.txt counts as a rule above all others where the form has it in its canonical targets. Where it is known from the URL as
//! written, every canonical target can be spelled so that it is not exempt.

mod ask;
mod language;
mod search;
mod variant;

use super::compile::{Bindings, Options, compile};
use super::program::{Detail, Program, Rung};
use crate::protocol::decision::RuleId;
use crate::protocol::policy::{Policy, Rule};
use crate::target::form::TargetForm;
use crate::target::percent::{Parts, Segment};
use ask::Run;
use language::Language;
use search::{Found, Question};

/// Whether a rule decides anything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reach {
    /// It decides this target, which is raw: what stands behind a URL's authority.
    Decides {
        /// The target.
        witness: Vec<u8>,
        /// A rule set in which it does, by its number in the program of the policy.
        rule_set: u32,
    },
    /// No canonical target matches it.
    NeverMatches,
    /// What it matches, other rules above it match too.
    Shadowed {
        /// Rules that are enough for that, in file order.
        by: Vec<RuleId>,
        /// Whether the exemption of robots.txt is one of them.
        robots_txt: bool,
    },
    /// Its group names nobody.
    BindsNobody,
    /// The budget ended first.
    Unknown,
}

/// How much an analysis may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// Units for the whole policy. A unit is an octet decided, an eighth of a star that a decision may have to move, or a position of a rule computed:
    /// some nanoseconds for most files, and a third of a microsecond for those made to hurt.
    pub work: u64,
    /// Units for one exact search, which holds some 16 octets for each.
    pub search: u64,
}

impl Default for Budget {
    /// That of a robots.txt of 512,000 octets.
    fn default() -> Budget {
        Budget::of(512_000)
    }
}

impl Budget {
    /// A budget linear in the size of a robots.txt, in octets. Real files need a fraction of it.
    pub fn of(len: usize) -> Budget {
        Budget { work: 2_000_000 + 8 * len as u64, search: 500_000 }
    }

    /// This budget with other units: see its fields.
    pub fn with_units(self, work: u64, search: u64) -> Budget {
        Budget { work, search }
    }
}

/// A line whose rules are shadowed in every rule set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadow {
    /// The line, from 1.
    pub line: u32,
    /// The index of its group.
    pub group: u32,
    /// Rules of other lines that shadow it, in file order: enough in every rule set, each needed in one.
    pub by: Vec<RuleId>,
    /// Whether the exemption of robots.txt does so too.
    pub robots_txt: bool,
}

/// A policy, ready to be asked which of its rules decide anything.
///
/// ```
/// use robosieve::{analyse::{Analysis, Budget, Reach}, dialect::RFC9309, policy::Policy};
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /a/\nAllow: /*/b/\nDisallow: /a/b\n", &RFC9309);
/// let analysis = Analysis::of(&policy);
/// let shadows = analysis.shadows(Budget::default());
/// assert!(shadows.is_empty());
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /a/b\nAllow: /*a/b\n", &RFC9309);
/// let analysis = Analysis::of(&policy);
/// let [shadow] = &analysis.shadows(Budget::default())[..] else { panic!("the first rule alone") };
/// assert_eq!((shadow.line, shadow.by[0].index()), (2, Some(1)));
/// let Reach::Decides { witness, .. } = &analysis.reaches(Budget::default())[1] else { panic!() };
/// assert_eq!(witness, b"/a/b");
/// ```
#[derive(Debug)]
pub struct Analysis<'p> {
    rules: Vec<Rule<'p>>,
    form: &'static TargetForm,
    /// The program that the questions go to: its backstop alone, since each target is asked once.
    program: Vec<u8>,
    /// The groups of each rule set.
    sets: Vec<Vec<u32>>,
    /// The rule sets of each group, small ones first.
    sets_of_groups: Vec<Vec<u32>>,
    /// The rules of each group.
    groups: Vec<std::ops::Range<u32>>,
    /// The octets that each rule names.
    named: Vec<Octets>,
    /// The octets that the rules of each rule set name.
    named_in_sets: Vec<Octets>,
    /// The stars of the rules of each rule set, runs of them as one.
    stars_in_sets: Vec<usize>,
    /// The stars of all rules.
    star_count: usize,
}

impl<'p> Analysis<'p> {
    /// Compiles the policy.
    pub fn of(policy: &'p Policy) -> Analysis<'p> {
        let form = policy.dialect().form;
        let rules: Vec<Rule> = policy.rules().collect();
        let groups: Vec<_> = policy.groups().map(|group| group.rule_range()).collect();
        let sets = Bindings::of(policy).into_sets();
        let named: Vec<Octets> = rules.iter().map(|rule| Octets::of(&form.parts(rule.pattern(), rule.value()))).collect();
        let in_groups: Vec<Octets> =
            groups.iter().map(|group| Octets::all(named[group.start as usize..group.end as usize].iter().copied())).collect();
        let named_in_sets = sets.iter().map(|set| Octets::all(set.iter().map(|&group| in_groups[group as usize]))).collect();
        let sets_of_groups = sets_of_groups(&sets, groups.len());
        let stars = |rule: &Rule<'_>| rule.pattern().windows(2).filter(|two| two[0] == b'*' && two[1] != b'*').count();
        let in_groups: Vec<usize> = policy.groups().map(|group| group.rules().map(|rule| stars(&rule)).sum()).collect();
        let star_count = in_groups.iter().sum();
        let stars_in_sets = sets.iter().map(|set| set.iter().map(|&group| in_groups[group as usize]).sum()).collect();
        let options = Options::default().with_detail(Detail::Rules).with_rung(Some(Rung::Backstop));
        Analysis {
            rules,
            form,
            program: compile(policy, &options),
            sets,
            sets_of_groups,
            groups,
            named,
            named_in_sets,
            stars_in_sets,
            star_count,
        }
    }

    /// The program that the questions go to.
    pub(crate) fn program(&self) -> Program<'_> {
        Program::view(&self.program).expect("a program that was just compiled is sound")
    }

    /// The groups of each rule set, by its number in the program of the policy.
    pub fn rule_sets(&self) -> &[Vec<u32>] {
        &self.sets
    }

    /// What each rule of the policy decides, by id: something in one of the rule sets it belongs to, or nothing in any.
    pub fn reaches(&self, budget: Budget) -> Vec<Reach> {
        let mut run = Run::new(self, budget);
        (0..self.rules.len() as u32).map(|rule| run.reach(rule)).collect()
    }

    /// What each rule of one rule set decides there, in file order.
    ///
    /// # Panics
    ///
    /// When there is no rule set of that number.
    pub fn reaches_in(&self, rule_set: u32, budget: Budget) -> Vec<(RuleId, Reach)> {
        let mut run = Run::new(self, budget);
        let ids = self.sets[rule_set as usize].iter().flat_map(|&group| self.groups[group as usize].clone());
        ids.map(|rule| (RuleId::new(rule), run.reach_in(rule, rule_set))).collect()
    }

    /// The lines that decide nothing for anybody: a dialect may make several rules of a line, and all of them are shadowed or never match.
    /// Lines of which none can match are left out.
    pub fn shadows(&self, budget: Budget) -> Vec<Shadow> {
        self.shadows_of(&self.reaches(budget))
    }

    /// The same from what [`Analysis::reaches`] gave.
    pub fn shadows_of(&self, reaches: &[Reach]) -> Vec<Shadow> {
        let mut shadows = Vec::new();
        let mut rest = &self.rules[..];
        while let Some(first) = rest.first() {
            let count = rest.iter().take_while(|rule| rule.line() == first.line()).count();
            let start = self.rules.len() - rest.len();
            shadows.extend(self.shadow_of_line(first, &reaches[start..start + count]));
            rest = &rest[count..];
        }
        shadows
    }

    fn shadow_of_line(&self, rule: &Rule<'_>, reaches: &[Reach]) -> Option<Shadow> {
        let mut all = Shadow { line: rule.line(), group: rule.group(), by: Vec::new(), robots_txt: false };
        let mut is_shadowed = false;
        for reach in reaches {
            match reach {
                Reach::NeverMatches => {}
                Reach::Shadowed { by, robots_txt } => {
                    is_shadowed = true;
                    all.by.extend(by.iter().filter(|by| by.index().is_some_and(|by| self.rules[by as usize].line() != rule.line())));
                    all.robots_txt |= robots_txt;
                }
                _ => return None,
            }
        }
        all.by.sort_unstable();
        all.by.dedup();
        is_shadowed.then_some(all)
    }

    fn parts(&self, rule: u32) -> Parts {
        let rule = &self.rules[rule as usize];
        self.form.parts(rule.pattern(), rule.value())
    }

    /// What ranks a rule: see `engine::compile`.
    fn rank(&self, rule: u32) -> (u32, bool, std::cmp::Reverse<u32>) {
        let entry = &self.rules[rule as usize];
        (entry.specificity(), entry.allows(), std::cmp::Reverse(rule))
    }
}

fn sets_of_groups(sets: &[Vec<u32>], group_count: usize) -> Vec<Vec<u32>> {
    let mut by_size: Vec<u32> = (0..sets.len() as u32).collect();
    by_size.sort_by_key(|&set| sets[set as usize].len());
    let mut of_groups = vec![Vec::new(); group_count];
    for set in by_size {
        for &group in &sets[set as usize] {
            of_groups[group as usize].push(set);
        }
    }
    of_groups
}

/// A target that a pattern of the form matches, raw and as short as found; `None` if there is none.
///
/// The rules of a policy have patterns that are canonical, and match something. Of others it is worth asking: where escapes of letters are decoded,
/// no target has one.
///
/// # Errors
///
/// [`Exceeded`] when the budget for a search ends first.
///
/// ```
/// use robosieve::{analyse::{Budget, can_match}, form::TargetForm, percent::Parts};
///
/// let escaped = Parts::literal(b"/%41");
/// assert_eq!(can_match(TargetForm::RFC9309, &escaped, Budget::default()), Ok(None));
/// assert_eq!(can_match(TargetForm::GOOGLE, &escaped, Budget::default()), Ok(Some(b"/%41".to_vec())));
/// ```
pub fn can_match(form: &'static TargetForm, parts: &Parts, budget: Budget) -> Result<Option<Vec<u8>>, Exceeded> {
    let language = Language::of(form);
    let octets = alphabet(&language, Octets::of(parts));
    let mut left = budget.search;
    match (Question { language: &language, rule: parts, above: &[], octets: &octets }).search(&mut left) {
        Found::Target(target) => Ok(language.raw(&target)),
        Found::Nothing(_) => Ok(None),
        Found::Exceeded => Err(Exceeded),
    }
}

/// A budget ended before there was an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded;

impl std::fmt::Display for Exceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the budget of the analysis ended before there was an answer; give it a larger one")
    }
}

impl std::error::Error for Exceeded {}

/// The octets that rules name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Octets([u128; 2]);

impl Octets {
    fn of(parts: &Parts) -> Octets {
        let segments =
            parts.segments.iter().flat_map(|Segment { octets, in_query }| [Some(octets), in_query.as_ref()].into_iter().flatten());
        Octets::all(segments.chain([&parts.prefix]).map(|text| Octets::in_text(text)))
    }

    fn in_text(text: &[u8]) -> Octets {
        let mut set = Octets::default();
        text.iter().for_each(|octet| set.0[usize::from(octet >> 7)] |= 1 << (octet & 127));
        set
    }

    fn all(sets: impl Iterator<Item = Octets>) -> Octets {
        sets.fold(Octets::default(), |Octets([a, b]), Octets([c, d])| Octets([a | c, b | d]))
    }

    fn contains(self, octet: u8) -> bool {
        self.0[usize::from(octet >> 7)] >> (octet & 127) & 1 == 1
    }
}

/// Octets to stand where any may, those that read best first.
const FILLERS: &[u8] = b"xzqjkvwyuhgmnlpistrobacdefXZQJKVWYUHGMNLPISTROBACDEF0123456789-_.~=,;!:@&+'()$*[]|^{}<>\"`\\ \xFF";

/// The octets from which targets are made, if rules name `named`: those, one for all others, and those on which escapes depend.
///
/// Every target has a counterpart made of these that the same rules match: take the one octet for every one that is not here. If no octet is left that
/// could be taken, all that targets hold are needed.
fn alphabet(language: &Language, named: Octets) -> Vec<u8> {
    let is_special = |octet: u8| octet.is_ascii_hexdigit() || matches!(octet, b'%' | b'?' | b'/');
    let is_special = |octet: u8| language.keeps_escapes() && is_special(octet);
    let is_other = |&octet: &u8| !(named.contains(octet) || is_special(octet)) && language.holds(octet);
    let other = FILLERS.iter().copied().find(is_other);
    let is_needed = |octet: u8| match other {
        None => true,
        Some(_) => octet == b'/' || named.contains(octet) || (named.contains(b'%') && is_special(octet)),
    };
    other.into_iter().chain((0..=255).filter(|&octet| Some(octet) != other && is_needed(octet) && language.holds(octet))).collect()
}
