//! From a program that knows verdicts to one that knows rules, without the policy.
//!
//! Trie and segment section hold every pattern of a block with its rank, and are the same in both. Only the deterministic automaton differs, and it is
//! built from what those two say: the trie as it lies there, and the rules behind its gates, put together from their sequences of segments.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::Options;
use super::block::{self, Head};
use super::budget::Budget;
use super::determinise::{Gated, Input, determinise};
use super::tables::{SetEntry, Tables};
use super::trie::{Node, Trie};
use super::write::Writer;
use crate::engine::program::spellings::Spellings;
use crate::engine::program::view::{self, SegmentsView, TrieView};
use crate::engine::program::{Block, Constant, Corrupt, Detail, HEADER_LEN, Program, RuleSet, Rung, Words};
use crate::engine::program::{block as block_layout, segments as segment_layout, trie as trie_layout};
use crate::target::form::TargetForm;

/// The same program with automata that know rules ([`Detail::Rules`]), from its octets alone.
///
/// Tokens, rule sets and the rule ids of ranks are those of `program`. Of a program compiled with default options, the result is what compiling the policy for
/// rules gives, octet for octet. It costs about what compiling does.
///
/// ```
/// use robosieve::{compile::{Options, compile, with_ranks}, dialect::RFC9309, policy::Policy, program::{Detail, Program}};
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /a\nDisallow: /a*.pdf$\n", &RFC9309);
/// let verdicts = compile(&policy, &Options::default());
/// let rules = with_ranks(&Program::check(&verdicts)?)?;
/// assert_eq!(rules, compile(&policy, &Options::default().with_detail(Detail::Rules)));
/// # Ok::<(), robosieve::program::Corrupt>(())
/// ```
///
/// # Errors
///
/// [`Corrupt`] when the program's octets are none, or changed since they were checked.
pub fn with_ranks(program: &Program<'_>) -> Result<Vec<u8>, Corrupt> {
    // A copy can not change between its check and its use.
    let octets = program.as_octets().to_vec();
    let program = Program::check(&octets)?;
    rebuilt(&program).ok_or(Corrupt::new("rules"))
}

fn rebuilt(program: &Program<'_>) -> Option<Vec<u8>> {
    let mut budget = Budget { octets: 0, work: Options::default().work_budget };
    let mut out = Writer::with_header(HEADER_LEN / 4, program.as_octets().len());
    let mut blocks = Vec::with_capacity(program.block_count());
    for index in 0..program.block_count() {
        let block = program.block(index).ok()?;
        let mut written = None;
        blocks.push(out.section(block_layout::WORDS, |out| written = rebuild(&block, program.form(), &mut budget, out)));
        written?;
    }
    Some(tables(program)?.write(&blocks, out))
}

fn tables<'a>(program: &Program<'a>) -> Option<Tables<'a>> {
    let rule_sets = (0..program.rule_set_count() as u32).map(|index| program.rule_set(index).ok()).collect::<Option<Vec<RuleSet>>>()?;
    let entry = |set: &RuleSet| SetEntry {
        block: set.block_index,
        map: if set.is_filtered() { Vec::new() } else { list(set.map) },
        filter: Cow::Owned(list(set.filter)),
    };
    Some(Tables {
        form: program.form().id(),
        detail: Detail::Rules,
        rule_count: program.rule_count() as u32,
        group_count: program.group_count() as u32,
        star: program.star_rule_set(),
        tokens: (0..program.token_count()).map(|index| program.token(index)).collect::<Option<Vec<_>>>()?,
        sets: rule_sets.iter().map(entry).collect(),
        shared_map: rule_sets.iter().find(|set| set.is_filtered()).map(|set| list(set.map)),
    })
}

fn list(words: Words<'_>) -> Vec<u32> {
    (0..words.len()).map_while(|index| words.get(index)).collect()
}

/// Writes a block with an automaton that knows ranks, if it may have one.
fn rebuild(block: &Block<'_>, form: &TargetForm, budget: &mut Budget, out: &mut Writer) -> Option<()> {
    let is_filtered = block.groups.len() > 0;
    let levels = list(block.levels);
    let automaton = match block.constant {
        Constant::Nothing if !is_filtered => automaton(block, &levels, form, budget)?,
        _ => None,
    };
    let rung = match (&automaton, block.constant) {
        (Some(_), _) => Rung::Dfa,
        (None, Constant::Nothing) => Rung::Backstop,
        (None, _) => Rung::Constant,
    };
    let head =
        Head { rung, constant: block.constant, levels: &levels, groups: list(block.groups), floating_max: block.floating_max, automaton };
    head.write(out);
    let at = out.copied(block.trie.0);
    out.set_all(block_layout::TRIE, &at);
    if block.segments.len() > 0 {
        let at = out.copied(block.segments.0);
        out.set_all(block_layout::SEGMENTS, &at);
    }
    Some(())
}

/// The automaton of a block, or nothing where the budget does not reach.
fn automaton(block: &Block<'_>, levels: &[u32], form: &TargetForm, budget: &mut Budget) -> Option<Option<Vec<u8>>> {
    let trie = trie(&TrieView::new(block.trie)?)?;
    let mut gated: BTreeMap<u32, Vec<Gated>> = trie.nodes.iter().filter_map(|node| Some((node.gate?, Vec::new()))).collect();
    let spellings;
    if !gated.is_empty() {
        let view = SegmentsView::new(block.segments)?;
        let steps = steps(&view, &gated)?;
        let rules = rules(&view, &steps)?;
        // Where the budget can not reach, rules are not spelled out either: a crafted program could hold more of them than memory does.
        if rules.iter().map(|rule| rule.position_count).sum::<u64>() > budget.work {
            budget.work = 0;
            return Some(None);
        }
        let paths: Vec<Vec<usize>> = rules.iter().map(|rule| rule.path(&view, &steps)).collect::<Option<_>>()?;
        spellings = Spellings::of(&view, paths.iter().flatten().copied())?;
        for (rule, path) in rules.iter().zip(&paths) {
            gated.get_mut(&rule.gate)?.push(Gated {
                rank: rule.rank,
                segments: path.iter().map(|&needle| &spellings.0[needle][..]).collect(),
                anchored: rule.tail.is_some(),
                two_spellings: rule.two_spellings,
            });
        }
    }
    let input = Input { trie: &trie, gated: &gated, values: &block::values(levels, Detail::Rules), form };
    Some(determinise(&input, budget))
}

/// The trie as the compiler had it.
fn trie(view: &TrieView<'_>) -> Option<Trie> {
    let (mut nodes, mut ranks) = (Vec::with_capacity(view.node_count()), Vec::new());
    let mut next_label = 0;
    for index in 0..view.node_count() {
        let node = view.node(index)?;
        let label = node.label..node.label + node.label_len;
        // Labels lie one behind another, so what is made of them is linear in the octets.
        if label.start != std::mem::replace(&mut next_label, label.end) {
            return None;
        }
        let mut list = |start: usize, count: usize| {
            let first = ranks.len();
            (start..start + count).try_for_each(|at| view.lists.get(at).map(|rank| ranks.push(rank)))?;
            Some(first..ranks.len())
        };
        let (mut matches, mut anchored, mut gate) = (0..0, 0..0, None);
        if let Some(at) = node.list.checked_sub(1) {
            let first = at + trie_layout::LIST_HEAD;
            matches = list(first, view.lists.at(at)?)?;
            anchored = list(first + matches.len(), view.lists.at(at + 1)?)?;
            gate = view.lists.get(at + 2)?.checked_sub(1);
        }
        let (first_child, child_count) = (node.first_child as u32, node.child_count as u32);
        nodes.push(Node { label, first_child, child_count, matches, anchored, gate, max: node.max });
    }
    Some(Trie { nodes, labels: view.labels.to_vec(), ranks })
}

/// How a sequence of segments behind a gate comes about.
#[derive(Clone, Copy)]
struct Step<'a> {
    gate: Option<u32>,
    /// The sequence before it, and how it goes on from there; none for the gate's own.
    behind: Option<(u32, view::Step<'a>)>,
    /// Octets of all its segments.
    len: u64,
    two_spellings: bool,
}

/// The sequences of a section; those of floating rules have no gate.
fn steps<'a>(view: &SegmentsView<'a>, gated: &BTreeMap<u32, Vec<Gated<'_>>>) -> Option<Vec<Step<'a>>> {
    let count = view.count(segment_layout::SEQUENCE_COUNT);
    let mut steps = vec![Step { gate: None, behind: None, len: 0, two_spellings: false }; count];
    for &gate in gated.keys() {
        steps.get_mut(gate as usize)?.gate = Some(gate);
    }
    // A sequence stands behind the one that it goes on from.
    for index in 0..count {
        let (node, step) = (view.sequence(index)?, steps[index]);
        for child in 0..node.child_count {
            let (by, sequence) = view.step(&node, child)?;
            let (len, has_two) = match by {
                view::Step::Segment(segment) => {
                    view.segment(segment).and_then(|segment| Some((view.needle(segment.written)?.len, segment.decoded > 0)))?
                }
                view::Step::Octet(_) => (1, false),
                view::Step::Run(octets) => (octets.len(), false),
            };
            *steps.get_mut(sequence)? = Step {
                gate: step.gate,
                behind: Some((index as u32, by)),
                len: step.len + len as u64,
                two_spellings: step.two_spellings || has_two,
            };
        }
    }
    Some(steps)
}

/// A rule behind a gate, as the section holds it.
struct GatedRule {
    rank: u32,
    gate: u32,
    /// The sequence of its segments, but for a tail that is tied to the end: the needle of that as written.
    sequence: usize,
    tail: Option<usize>,
    two_spellings: bool,
    /// How many places it has in the automaton.
    position_count: u64,
}

impl GatedRule {
    fn of(rank: u32, sequence: usize, step: &Step<'_>, tail: Option<(usize, usize)>, two_spellings: bool) -> Option<GatedRule> {
        let two_spellings = two_spellings || step.two_spellings;
        let position_count = if two_spellings { 0 } else { step.len + tail.map_or(0, |(_, len)| len as u64 + 1) };
        Some(GatedRule { rank, gate: step.gate?, sequence, tail: tail.map(|(needle, _)| needle), two_spellings, position_count })
    }

    /// The needles of its segments. Those of a rule with two spellings are not asked for.
    fn path(&self, view: &SegmentsView<'_>, steps: &[Step<'_>]) -> Option<Vec<usize>> {
        if self.two_spellings {
            return Some(Vec::new());
        }
        let mut path: Vec<usize> = self.tail.into_iter().collect();
        let mut sequence = self.sequence;
        while let Some((before, by)) = steps[sequence].behind {
            match by {
                view::Step::Segment(segment) => path.push(view.segment(segment)?.written),
                view::Step::Octet(octet) => path.push(view.needle_of_octet(octet)?),
                view::Step::Run(octets) => {
                    octets.iter().rev().try_for_each(|&octet| view.needle_of_octet(octet).map(|needle| path.push(needle)))?;
                }
            }
            sequence = before as usize;
        }
        path.reverse();
        Some(path)
    }
}

/// The rules behind gates.
fn rules(view: &SegmentsView<'_>, steps: &[Step<'_>]) -> Option<Vec<GatedRule>> {
    let mut rules = Vec::new();
    for (index, step) in steps.iter().enumerate().filter(|(_, step)| step.gate.is_some()) {
        let node = view.sequence(index)?;
        for at in 0..node.match_count {
            rules.extend(GatedRule::of(view.pool.get(node.matches + at)?, index, step, None, false));
        }
    }
    // A tail stands at each needle that spells it, with the rank of its rule.
    let mut tails: BTreeMap<usize, Tail> = BTreeMap::new();
    for number in 0..view.count(segment_layout::NEEDLE_COUNT) {
        let needle = view.needle(number)?;
        for at in 0..needle.tail_count {
            let (parent, rank) = view.pair(needle.tails, at)?;
            let tail = tails.entry(rank).or_insert(Tail { parent: parent >> 1, written: None, is_decoded: false });
            match parent & 1 {
                0 => tail.written = Some((number, needle.len)),
                _ => tail.is_decoded = true,
            }
        }
    }
    for (rank, tail) in tails {
        let written = Some(tail.written?);
        rules.extend(GatedRule::of(rank as u32, tail.parent, steps.get(tail.parent)?, written, tail.is_decoded));
    }
    Some(rules)
}

/// A tail of a rule: the sequence before it, and its needles.
struct Tail {
    parent: usize,
    /// The needle as written, and its length.
    written: Option<(usize, usize)>,
    is_decoded: bool,
}
