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
mod ranks;
mod segments;
mod tables;
mod trie;
mod write;

use std::borrow::Cow;

use super::program::block::WORDS as BLOCK_WORDS;
use super::program::{Detail, HEADER_LEN, Rung};
use crate::protocol::agent::LineToken;
use crate::protocol::policy::{Group, Policy};
use crate::target::form::{AgentComparison, TargetForm};

use block::BlockRule;
use budget::Budget;
use hash::Map;
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
    /// Tokens in lower case with the index of their groups: in octet order, or where agents are compared by containment in file order, `*` among
    /// them.
    tokens: Vec<(Vec<u8>, u32)>,
    star: Option<u32>,
    /// Distinct lists of groups, each in file order.
    sets: Vec<Vec<u32>>,
}

impl Bindings {
    pub(super) fn of(policy: &Policy) -> Bindings {
        let in_file_order = policy.dialect().form.agents() == AgentComparison::Contained;
        let mut indices: Map<Vec<u8>, usize> = Map::default();
        let mut named: Vec<(Vec<u8>, Vec<u32>)> = Vec::new();
        for (index, group) in policy.groups().enumerate() {
            for agent in group.agents() {
                let token = match agent.token() {
                    Some(LineToken::Star) => b"*".to_vec(),
                    Some(LineToken::Product(token)) => token.to_ascii_lowercase(),
                    None => continue,
                };
                let place = *indices.entry(token).or_insert_with_key(|token| {
                    named.push((token.clone(), Vec::new()));
                    named.len() - 1
                });
                let list = &mut named[place].1;
                if list.last() != Some(&(index as u32)) {
                    list.push(index as u32);
                }
            }
        }
        let mut sets = SetInterner::default();
        let star = indices.get(&b"*"[..]).map(|&place| sets.index(named[place].1.clone()));
        if !in_file_order {
            named.retain(|(token, _)| token != b"*");
            named.sort_unstable();
        }
        let tokens = named.into_iter().map(|(token, groups)| (token, sets.index(groups))).collect();
        Bindings { tokens, star, sets: sets.sets }
    }

    /// The groups of each rule set, by its number in the program.
    pub(super) fn into_sets(self) -> Vec<Vec<u32>> {
        self.sets
    }

    /// The sets with the fewest rules first, so that a budget serves as many as it can.
    fn in_order_of_size(&self, policy: &Policy) -> Vec<(usize, &[u32])> {
        let sizes: Vec<usize> = policy.groups().map(|group| group.rules().len()).collect();
        let mut order: Vec<_> = self.sets.iter().map(Vec::as_slice).enumerate().collect();
        order.sort_by_cached_key(|(_, groups)| groups.iter().map(|&group| sizes[group as usize]).sum::<usize>());
        order
    }
}

#[derive(Default)]
struct SetInterner {
    sets: Vec<Vec<u32>>,
    indices: Map<Vec<u32>, u32>,
}

impl SetInterner {
    fn index(&mut self, groups: Vec<u32>) -> u32 {
        *self.indices.entry(groups).or_insert_with_key(|groups| {
            self.sets.push(groups.clone());
            self.sets.len() as u32 - 1
        })
    }
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
    let form = policy.dialect().form;
    let mut spellings: Map<Spelling<'_>, u32> = Map::with_capacity_and_hasher(policy.rules().len(), hash::Keyed::default());
    let mut rules: Vec<Option<Ranked>> = policy
        .rules()
        .enumerate()
        .map(|(id, rule)| {
            let pattern = rule.pattern();
            let next = spellings.len() as u32;
            (!pattern.is_empty()).then(|| Ranked {
                id: id as u32,
                group: rule.group(),
                allows: rule.allows(),
                pattern,
                value: rule.value(),
                specificity: rule.specificity(),
                order: 0,
                spelling: *spellings.entry(spelling(form, pattern, rule.value())).or_insert(next),
            })
        })
        .collect();
    let mut order: Vec<&mut Ranked> = rules.iter_mut().flatten().collect();
    // Of rules equal in specificity and verdict, the first in the file is reported, so it ranks above the others.
    order.sort_unstable_by_key(|rule| (rule.specificity, rule.allows, std::cmp::Reverse(rule.id)));
    for (place, rule) in order.into_iter().enumerate() {
        rule.order = place as u32;
    }
    rules
}

/// What decides what a rule matches: its pattern, and its value where a stretch has two spellings.
type Spelling<'p> = (&'p [u8], Option<&'p [u8]>);

fn spelling<'p>(form: &TargetForm, pattern: &'p [u8], value: &'p [u8]) -> Spelling<'p> {
    (pattern, form.has_two_spellings(pattern).then_some(value))
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
        let ranges: Vec<_> = groups.iter().map(|&group| self.policy.group(group).rule_range()).collect();
        let cost: usize = groups.iter().map(|&group| self.group_costs[group as usize]).sum();
        self.sets[index] = if cost <= self.budget.octets {
            self.budget.octets -= cost;
            self.merged(ranges.into_iter().flatten())
        } else {
            self.filtered(groups)
        };
    }

    fn merged(&mut self, ids: impl Iterator<Item = u32>) -> SetEntry<'p> {
        let mut rules: Vec<&Ranked> = ids.filter_map(|id| self.ranked[id as usize].as_ref()).collect();
        rules.sort_unstable_by_key(|rule| rule.order);
        self.leave_out_dead(&mut rules);
        let key: Vec<u32> = rules.iter().map(|rule| rule.spelling << 1 | u32::from(rule.allows)).collect();
        let map = rules.iter().map(|rule| rule.id).collect();
        let block = match self.interned.get(&key) {
            Some(&block) => block,
            None => {
                let block = self.add_block(&rules, false);
                self.interned.insert(key, block);
                block
            }
        };
        SetEntry { block, map, filter: Cow::Borrowed(&[]) }
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
        let rules: Vec<BlockRule> = rules
            .iter()
            .map(|rule| BlockRule { pattern: rule.pattern, value: rule.value, allows: rule.allows, group: rule.group })
            .collect();
        let Self { policy, options, budget, out, .. } = self;
        let form = policy.dialect().form;
        self.blocks.push(out.section(BLOCK_WORDS, |out| block::build(&rules, filtered, form, options, budget, out)));
        self.blocks.len() as u32 - 1
    }

    fn write(self, bindings: &Bindings) -> Vec<u8> {
        let tables = Tables {
            form: self.policy.dialect().form.id(),
            detail: self.options.detail,
            rule_count: self.policy.rules().len() as u32,
            group_count: self.policy.groups().len() as u32,
            star: bindings.star,
            tokens: bindings.tokens.iter().map(|(token, set)| (&token[..], *set)).collect(),
            sets: self.sets,
            shared_map: self.shared.map(|(_, map)| map),
        };
        tables.write(&self.blocks, self.out)
    }
}
