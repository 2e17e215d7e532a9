//! Rule sets to a program: who is bound by what, in which order rules count, and which automata find out.
//!
//! # Without backtracking, and why that is enough
//!
//! Rank the rules of a set by (specificity, allow after disallow). A pattern is tied to the start of the target, so once matched it stays
//! matched: a walk over the target only ever raises the best rank so far. A second value per place says which rule wins if the target ends
//! there (`$`). Both are known when the automaton is built. Rules that rank below the best so far can never win and are left out of every
//! state behind it: that pruning keeps automata small.
//!
//! Stars do not bring backtracking back. In `prefix*s1*s2`, the leftmost fit of each segment is always right: it leaves the most room for
//! the next. So a rule is a number, how many of its segments have been found, and one automaton over all segments (after Aho and Corasick,
//! "Efficient string matching", 1975) moves all rules forward as it reads the target once.
//!
//! # The ladder
//!
//! 1. [`Rung::Constant`]: no rule matters, or one rule matches everything and none that outranks it differs.
//! 2. [`Rung::Dfa`]: literal rules and *gated* ones (with a literal prefix before the first star) in one deterministic automaton. *Floating* rules
//!    (`/*x`, `*x`) stay out of it, since with them every state would have to carry them all; the segment automaton runs beside it.
//! 3. [`Rung::Backstop`]: a radix trie of all literals and the segment automaton. Always there: it is linear in the target whatever the rules.
//!
//! Determinising is paid from a budget of *work* per policy, not of states: giving up a large automaton costs as much as building it.
//!
//! # No quadratic merge
//!
//! Merging the groups that name an agent copies rules. Thousands of agents that share thousands of rules and own one each fit into one
//! robots.txt, and merged would be a hundred million. So merging has a budget too, linear in the file. The rule sets that do not fit
//! share one block of all rules and look only at the matches whose group binds them.

mod block;
mod budget;
mod determinise;
mod hash;
mod lists;
mod ranks;
mod segments;
mod tables;
mod trie;
mod write;

use std::borrow::Cow;
use std::ops::Range;

use super::program::block::WORDS as BLOCK_WORDS;
use super::program::{Detail, HEADER_LEN, Rung};
use crate::protocol::agent::LineToken;
use crate::protocol::policy::{Group, Policy};
use crate::target::form::{AgentComparison, TargetForm};

use budget::Budget;
use hash::Map;
use lists::Lists;
use tables::{SetEntry, Tables};
use write::Writer;

pub use ranks::with_ranks;

/// How to compile.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// What the automata should know.
    pub detail: Detail,
    /// The only rung to use, where it applies; `None` for the cheapest one. For tests and measurements.
    pub rung: Option<Rung>,
    /// Units of work that determinising may cost a policy. A unit is a few nanoseconds.
    pub work_budget: u64,
    /// Octets that merging groups may copy, each rule counted as its pattern and 32 more; `None` for twice
    /// those of the whole policy, and half a million beyond at most.
    pub merge_budget: Option<usize>,
}

impl Default for Options {
    fn default() -> Options {
        Options { detail: Detail::Verdicts, rung: None, work_budget: 1_000_000, merge_budget: None }
    }
}

impl Options {
    /// These options with another detail.
    pub fn with_detail(self, detail: Detail) -> Options {
        Options { detail, ..self }
    }

    /// These options with other budgets: see their fields.
    pub fn with_budgets(self, work_budget: u64, merge_budget: Option<usize>) -> Options {
        Options { work_budget, merge_budget, ..self }
    }

    /// These options with one rung alone.
    pub fn with_rung(self, rung: Option<Rung>) -> Options {
        Options { rung, ..self }
    }
}

/// Octets that merging may copy beyond those of the policy: patterns can be nine times as long as their text.
const MAX_COPIES: usize = 500_000;

/// Compiles a policy. The octets are a [`Program`](super::program::Program).
///
/// Time is near-linear in the size of the policy, whatever it contains.
///
/// ```
/// use robosieve::{compile::{Options, compile}, dialect::RFC9309, policy::Policy, program::Program};
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /*.pdf$\n", &RFC9309);
/// let octets = compile(&policy, &Options::default());
/// assert_eq!(Program::check(&octets).unwrap().rule_set_count(), 1);
/// ```
pub fn compile(policy: &Policy, options: &Options) -> Vec<u8> {
    let bindings = Bindings::of(policy);
    let ranked = ranked_rules(policy);
    let mut program = ProgramBuilder::new(policy, options, &ranked);
    program.sets.resize_with(bindings.sets.len(), SetEntry::default);
    for (index, groups) in bindings.in_order_of_size(policy) {
        program.add_set(index, groups);
    }
    program.write(&bindings)
}

/// Which groups name whom.
pub(super) struct Bindings {
    /// Tokens in lower case, one behind another.
    octets: Vec<u8>,
    /// Tokens with the index of their groups: in octet order, or where agents are compared by containment in file order, `*` among them.
    tokens: Vec<(Range<usize>, u32)>,
    star: Option<u32>,
    /// Distinct lists of groups, each in file order.
    sets: Lists,
}

/// A token where it is named, and its group.
struct Named {
    token: Range<usize>,
    group: u32,
}

impl Bindings {
    pub(super) fn of(policy: &Policy) -> Bindings {
        let (octets, named) = named(policy);
        // Where each token is named, first to last: a stable sort keeps the order of the file.
        let token = |place: &u32| &octets[named[*place as usize].token.clone()];
        let mut places: Vec<u32> = (0..named.len() as u32).collect();
        places.sort_by(|a, b| token(a).cmp(token(b)));
        let mut runs: Vec<&[u32]> = places.chunk_by(|a, b| token(a) == token(b)).collect();
        let star = runs.iter().position(|run| token(&run[0]) == b"*");
        let star_run = star.map(|at| if in_file_order(policy) { runs[at] } else { runs.remove(at) });
        if in_file_order(policy) {
            runs.sort_unstable_by_key(|run| run[0]);
        }
        let (mut sets, mut groups) = (Lists::default(), Vec::new());
        let mut set = |run: &[u32]| {
            groups.clear();
            groups.extend(run.iter().map(|&place| named[place as usize].group));
            groups.dedup();
            sets.name(&groups) - 1
        };
        let star = star_run.map(&mut set);
        let tokens = runs.into_iter().map(|run| (named[run[0] as usize].token.clone(), set(run))).collect();
        Bindings { octets, tokens, star, sets }
    }

    /// The groups of each rule set, by its number in the program.
    pub(super) fn into_sets(self) -> Vec<Vec<u32>> {
        (0..self.sets.len()).map(|index| self.groups(index).to_vec()).collect()
    }

    fn groups(&self, set: usize) -> &[u32] {
        self.sets.of(set as u32 + 1)
    }

    /// The sets with the fewest rules first, so that a budget serves as many as it can.
    fn in_order_of_size(&self, policy: &Policy) -> impl Iterator<Item = (usize, &[u32])> {
        let size = |index: usize| self.groups(index).iter().map(|&group| policy.group(group).rules().len()).sum::<usize>();
        let mut order: Vec<(usize, usize)> = (0..self.sets.len()).map(|index| (size(index), index)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, index)| (index, self.groups(index)))
    }
}

fn in_file_order(policy: &Policy) -> bool {
    policy.dialect().form.agents() == AgentComparison::Contained
}

/// Every token that is named, in file order, in octets of their own.
fn named(policy: &Policy) -> (Vec<u8>, Vec<Named>) {
    let mut octets = Vec::with_capacity(16 * policy.groups().len());
    let mut named = Vec::with_capacity(policy.groups().len());
    for (group, entry) in (0..).zip(policy.groups()) {
        for agent in entry.agents() {
            let start = octets.len();
            match agent.token() {
                Some(LineToken::Star) => octets.push(b'*'),
                Some(LineToken::Product(token)) => octets.extend(token.iter().map(u8::to_ascii_lowercase)),
                None => continue,
            }
            named.push(Named { token: start..octets.len(), group });
        }
    }
    (octets, named)
}

/// A rule that can match, with what ranks it.
struct Ranked<'p> {
    id: u32,
    group: u32,
    allows: bool,
    pattern: &'p [u8],
    value: &'p [u8],
    specificity: u32,
    /// Its place in the order of precedence of the whole policy.
    order: u32,
    /// The same for rules that match the same, whatever their verdict.
    spelling: u32,
}

/// The rules of a policy by id; those that match nothing are left out.
fn ranked_rules(policy: &Policy) -> Vec<Option<Ranked<'_>>> {
    let mut rules: Vec<Option<Ranked>> = Vec::with_capacity(policy.rules().len());
    rules.extend((0..).zip(policy.rules()).map(|(id, rule)| {
        let pattern = rule.pattern();
        let (group, allows, value, specificity) = (rule.group(), rule.allows(), rule.value(), rule.specificity());
        (!pattern.is_empty()).then_some(Ranked { id, group, allows, pattern, value, specificity, order: 0, spelling: 0 })
    }));
    let mut order: Vec<&mut Ranked> = Vec::with_capacity(rules.len());
    order.extend(rules.iter_mut().flatten());
    // Of rules equal in specificity and verdict, the first in the file is reported, so it ranks above the others.
    order.sort_unstable_by_key(|rule| (rule.specificity, rule.allows, std::cmp::Reverse(rule.id)));
    for (place, rule) in (0..).zip(&mut order) {
        (rule.order, rule.spelling) = (place, place);
    }
    // Rules that match the same are equally specific: the one that ranks lowest gives the number to all.
    let form = policy.dialect().form;
    order.chunk_by_mut(|a, b| a.specificity == b.specificity).for_each(|run| unite_spellings(run, form));
    rules
}

/// So many rules are held to each other as fast as they are hashed.
const FEW: usize = 8;

/// Gives rules that match the same the number of the first.
fn unite_spellings(rules: &mut [&mut Ranked<'_>], form: &TargetForm) {
    if rules.len() > FEW {
        let mut spellings: Map<Spelling<'_>, u32> = Map::with_capacity_and_hasher(rules.len(), hash::Keyed::default());
        rules.iter_mut().for_each(|rule| rule.spelling = *spellings.entry(spelling(form, rule)).or_insert(rule.spelling));
        return;
    }
    for at in 1..rules.len() {
        let (before, rule) = (&rules[..at], &rules[at]);
        let is_same = |other: &&&mut Ranked| other.pattern == rule.pattern && spelling(form, other) == spelling(form, rule);
        if let Some(same) = before.iter().find(is_same).map(|other| other.spelling) {
            rules[at].spelling = same;
        }
    }
}

/// What decides what a rule matches: its pattern, and its value where a stretch has two spellings.
type Spelling<'p> = (&'p [u8], Option<&'p [u8]>);

fn spelling<'p>(form: &TargetForm, rule: &Ranked<'p>) -> Spelling<'p> {
    (rule.pattern, form.has_two_spellings(rule.pattern).then_some(rule.value))
}

struct ProgramBuilder<'p> {
    policy: &'p Policy,
    options: &'p Options,
    ranked: &'p [Option<Ranked<'p>>],
    budget: Budget,
    out: Writer,
    /// Offset and length of each block.
    blocks: Vec<[u32; 2]>,
    /// Blocks by the contents of their rules in rank order.
    interned: Map<Vec<u32>, u32>,
    /// The block of all rules, once a rule set needs it, and its map: one for all sets that share it.
    shared: Option<(u32, Vec<u32>)>,
    /// The rule sets by number, those not added yet empty.
    sets: Vec<SetEntry<'p>>,
    /// What copying the rules of each group costs.
    group_costs: Vec<usize>,
    /// How many rule sets were merged, and by spelling the last of them that has it.
    merge_count: u32,
    seen_in: Vec<u32>,
}

impl<'p> ProgramBuilder<'p> {
    fn new(policy: &'p Policy, options: &'p Options, ranked: &'p [Option<Ranked<'p>>]) -> ProgramBuilder<'p> {
        let cost = |group: Group<'_>| group.rules().map(|rule| rule.pattern().len() + 32).sum();
        let group_costs: Vec<usize> = policy.groups().map(cost).collect();
        let all: usize = group_costs.iter().sum();
        ProgramBuilder {
            policy,
            options,
            ranked,
            budget: Budget { octets: options.merge_budget.unwrap_or(4096 + all + all.min(MAX_COPIES)), work: options.work_budget },
            out: Writer::with_header(HEADER_LEN / 4, 1024 + 100 * ranked.len()),
            blocks: Vec::new(),
            interned: Map::default(),
            shared: None,
            sets: Vec::new(),
            group_costs,
            merge_count: 0,
            seen_in: vec![0; ranked.len()],
        }
    }

    fn add_set(&mut self, index: usize, groups: &'p [u32]) {
        let cost: usize = groups.iter().map(|&group| self.group_costs[group as usize]).sum();
        self.sets[index] = if cost <= self.budget.octets {
            self.budget.octets -= cost;
            self.merged(groups)
        } else {
            self.filtered(groups)
        };
    }

    fn merged(&mut self, groups: &[u32]) -> SetEntry<'p> {
        let ranges = groups.iter().map(|&group| self.policy.group(group).rule_range());
        let mut rules: Vec<&Ranked> = Vec::with_capacity(ranges.clone().map(|range| range.len()).sum());
        rules.extend(ranges.flatten().filter_map(|id| self.ranked[id as usize].as_ref()));
        rules.sort_unstable_by_key(|rule| rule.order);
        self.leave_out_dead(&mut rules);
        let map = rules.iter().map(|rule| rule.id).collect();
        let block = if self.sets.len() == 1 { self.add_block(&rules, false) } else { self.interned_block(&rules) };
        SetEntry { block, map, filter: Cow::Borrowed(&[]) }
    }

    /// The block of these rules, in rank order, which is added if none like it was.
    fn interned_block(&mut self, rules: &[&Ranked<'p>]) -> u32 {
        let key: Vec<u32> = rules.iter().map(|rule| rule.spelling << 1 | u32::from(rule.allows)).collect();
        if let Some(&block) = self.interned.get(&key) {
            return block;
        }
        let block = self.add_block(rules, false);
        self.interned.insert(key, block);
        block
    }

    /// Leaves out the rules that never decide because an equal pattern ranks above: `rules` is in rank order.
    fn leave_out_dead(&mut self, rules: &mut Vec<&Ranked<'p>>) {
        self.merge_count += 1;
        let (seen_in, merge) = (&mut self.seen_in, self.merge_count);
        rules.reverse();
        rules.retain(|rule| std::mem::replace(&mut seen_in[rule.spelling as usize], merge) != merge);
        rules.reverse();
    }

    fn filtered(&mut self, groups: &'p [u32]) -> SetEntry<'p> {
        if self.shared.is_none() {
            let mut rules: Vec<&Ranked> = self.ranked.iter().flatten().collect();
            rules.sort_unstable_by_key(|rule| rule.order);
            self.shared = Some((self.add_block(&rules, true), rules.iter().map(|rule| rule.id).collect()));
        }
        let block = self.shared.as_ref().map_or(0, |(block, _)| *block);
        SetEntry { block, map: Vec::new(), filter: Cow::Borrowed(groups) }
    }

    fn add_block(&mut self, rules: &[&Ranked<'p>], filtered: bool) -> u32 {
        let Self { policy, options, budget, out, .. } = self;
        let form = policy.dialect().form;
        self.blocks.push(out.section(BLOCK_WORDS, |out| block::build(rules, filtered, form, options, budget, out)));
        self.blocks.len() as u32 - 1
    }

    fn write(self, bindings: &Bindings) -> Vec<u8> {
        let tables = Tables {
            form: self.policy.dialect().form.id(),
            detail: self.options.detail,
            rule_count: self.policy.rules().len() as u32,
            group_count: self.policy.groups().len() as u32,
            star: bindings.star,
            tokens: bindings.tokens.iter().map(|(token, set)| (&bindings.octets[token.clone()], *set)).collect(),
            sets: self.sets,
            shared_map: self.shared.map(|(_, map)| map),
        };
        tables.write(&self.blocks, self.out)
    }
}
