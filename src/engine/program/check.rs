//! The proof that a program's octets are one: every offset, index and order that the matcher relies on.

use super::view::{DfaView, Needle, SegmentsView, Step, TrieView};
use super::{Block, Constant, Corrupt, HEADER_LEN, NO_SET, Program, Rung, Words, dfa, header, segments, trie};
use crate::target::form::AgentComparison;

type Checked = Result<(), Corrupt>;

fn ensure(holds: bool, what: &'static str) -> Checked {
    if holds { Ok(()) } else { Err(Corrupt::new(what)) }
}

fn read<T>(value: Option<T>, what: &'static str) -> Result<T, Corrupt> {
    value.ok_or(Corrupt::new(what))
}

pub(super) fn check(program: &Program<'_>) -> Checked {
    let words = program.words;
    for index in 0..program.block_count() {
        check_block(&program.block(index)?)?;
    }
    check_rule_sets(program)?;
    let sets = Some(program.rule_set_count() as u32);
    ensure(words.get(header::STAR_SET) == Some(NO_SET) || words.get(header::STAR_SET) < sets, "star rule set")?;
    let in_file_order = program.form.agents() == AgentComparison::Contained;
    let mut last: Option<&[u8]> = None;
    for index in 0..program.token_count() {
        let (token, set) = read(program.token(index), "token")?;
        ensure((last < Some(token) || in_file_order) && Some(set) < sets, "token order")?;
        last = Some(token);
    }
    ensure(words.0.len() >= HEADER_LEN, "header")
}

fn check_rule_sets(program: &Program<'_>) -> Checked {
    // Rule sets that share a filtered block share its map. Filters lie one behind another. So the time is linear in the octets.
    let mut shared: Option<Words<'_>> = None;
    let mut read_len = 0;
    for index in 0..program.rule_set_count() {
        let set = program.rule_set(index as u32)?;
        ensure(set.map.len() == set.block.rank_count as usize, "rule map length")?;
        if !shared.is_some_and(|known| std::ptr::eq(known.0, set.map.0)) {
            ensure((0..set.map.len()).all(|i| set.map.at(i) < Some(program.rule_count())), "rule map")?;
            shared = if set.is_filtered() { Some(set.map) } else { shared };
            read_len += set.map.len();
        }
        read_len += set.filter.len();
        ensure(read_len <= program.words.len(), "rule maps that overlap")?;
        let filter = (0..set.filter.len()).map(|i| set.filter.at(i));
        ensure(filter.clone().is_sorted() && filter.into_iter().all(|group| group < Some(program.group_count())), "group filter")?;
        ensure(set.is_filtered() == (set.block.groups.len() > 0), "filter and groups")?;
    }
    Ok(())
}

fn check_block(block: &Block<'_>) -> Checked {
    let top = block.rank_count.checked_add(1).ok_or(Corrupt::new("rank count"))?;
    let mut level = Some(0);
    for rank in 1..=top {
        let next = block.level(rank);
        ensure(next == level || next == level.map(|level| level + 1), "levels")?;
        level = next;
    }
    ensure(block.floating_max <= block.rank_count, "floating maximum")?;
    ensure(block.floating_max == 0 || block.segments.len() > 0, "floating rules without segments")?;
    ensure(block.rung != Rung::Constant || block.constant != Constant::Nothing, "constant")?;
    let gates = check_trie(block, top)?;
    if block.segments.len() > 0 {
        check_segments(block, top, &gates)?;
    }
    if block.dfa.len() > 0 { check_dfa(block.dfa, top) } else { ensure(block.rung != Rung::Dfa, "no automaton") }
}

fn ranks_descend(list: Words<'_>, from: usize, count: usize, top: u32) -> bool {
    let ranks = (from..from + count).map(|i| list.get(i));
    ranks.clone().all(|rank| matches!(rank, Some(rank) if rank >= 1 && rank <= top)) && ranks.is_sorted_by(|a, b| a > b)
}

/// Gives the sequences of the gates.
fn check_trie(block: &Block<'_>, top: u32) -> Result<Vec<usize>, Corrupt> {
    let words = block.trie;
    let view = read(TrieView::new(words), "trie tables")?;
    let count = view.node_count();
    ensure(count > 0, "trie without a root")?;
    let sequence_count = block.segments.at(segments::SEQUENCE_COUNT).unwrap_or(0);
    let mut next_child = 1;
    // Lists lie one behind another, so the time is linear in the octets.
    let mut next_list = 0;
    let mut gates = Vec::new();
    for index in 0..count {
        let node = read(view.node(index), "trie node")?;
        ensure((index == 0) == (node.label_len == 0) && view.label(&node).is_some(), "trie label")?;
        if node.child_count > 0 {
            ensure(node.first_child == next_child && node.child_count <= count - next_child, "trie children")?;
            next_child += node.child_count;
        }
        ensure(node.max <= top, "trie maximum")?;
        if node.list > 0 {
            let at = node.list - 1;
            let list = view.lists;
            ensure(at == next_list, "order of trie lists")?;
            let (matches, anchored) = (read(list.at(at), "trie list")?, read(list.at(at + 1), "trie list")?);
            next_list = at + trie::LIST_HEAD + matches + anchored;
            ensure(ranks_descend(list, at + trie::LIST_HEAD, matches, top), "trie ranks")?;
            ensure(ranks_descend(list, at + trie::LIST_HEAD + matches, anchored, top), "trie ranks")?;
            let gate = read(list.at(at + 2), "trie list")?;
            ensure(gate <= sequence_count, "trie gate")?;
            gates.extend(gate.checked_sub(1));
        }
    }
    ensure(next_child == count, "trie nodes without a parent")?;
    let first = |index| view.node(index).and_then(|node| view.label(&node)?.first().copied());
    ensure((1..count).all(|index| first(index) == view.first(index)), "trie firsts")?;
    Ok(gates)
}

fn check_segments(block: &Block<'_>, top: u32, gates: &[usize]) -> Checked {
    let view = read(SegmentsView::new(block.segments), "segment tables")?;
    let sequence_count = view.count(segments::SEQUENCE_COUNT);
    let mut parents = vec![false; sequence_count];
    // Everything in the pool lies one behind another, so the time is linear in the octets.
    let mut pool_end = 0;
    let mut follows = |start: usize, len: usize| {
        let expected = std::mem::replace(&mut pool_end, start.saturating_add(len));
        ensure(start == expected, "order of the pool")
    };
    for index in 0..sequence_count {
        let node = read(view.sequence(index), "sequence")?;
        follows(node.matches, node.match_count)?;
        follows(node.children, node.child_count.saturating_mul(2))?;
        ensure(node.max <= top && ranks_descend(view.pool, node.matches, node.match_count, top), "sequence ranks")?;
        for child in 0..node.child_count {
            let (step, sequence) = read(view.step(&node, child), "sequence children")?;
            let is_step = match step {
                Step::Segment(segment) => segment < view.count(segments::SEGMENT_COUNT),
                Step::Octet(octet) => is_one_octet(&view, octet),
                Step::Run(octets) => {
                    let at = read(view.pair(node.children, child), "sequence children")?.0 & !(segments::RUN as usize);
                    follows(at, 1 + octets.len().div_ceil(4))?;
                    octets.iter().all(|&octet| is_one_octet(&view, octet))
                }
            };
            ensure(is_step && sequence > index && sequence < sequence_count, "sequence child")?;
            ensure(!std::mem::replace(&mut parents[sequence], true), "sequence with two parents")?;
        }
    }
    // The sequences are a forest: every one is a gate's, a root, or the child of one other. So none is entered twice.
    let roots = [segments::ROOT_EMPTY, segments::ROOT_SLASH].map(|root| view.count(root));
    for sequence in gates.iter().copied().chain(roots.iter().filter_map(|root| root.checked_sub(1))) {
        ensure(parents.get_mut(sequence).is_some_and(|has| !std::mem::replace(has, true)), "sequence root")?;
    }
    ensure(parents.iter().all(|&has| has), "sequence without a way to it")?;
    check_states(&view)?;
    ensure(view.live(segments::LIVE).is_some() && view.live(segments::LIVE_IN_QUERY).is_some(), "live needles")?;
    for index in 0..view.count(segments::NEEDLE_COUNT) {
        let needle = read(view.needle(index), "needle")?;
        let before = index.checked_sub(1).and_then(|before| view.needle(before));
        let is_longer = |other: Option<Needle>| other.is_some_and(|other| other.len < needle.len);
        ensure(needle.len > 0 && (needle.head == index || before.is_some_and(|before| before.head == needle.head)), "needle path")?;
        ensure(needle.head == index || is_longer(before), "needle path")?;
        ensure(needle.shorter <= needle.head && (needle.shorter == 0 || is_longer(view.needle(needle.shorter - 1))), "needle order")?;
        follows(needle.floating, needle.floating_count.saturating_mul(2))?;
        follows(needle.in_query, needle.in_query_count)?;
        follows(needle.tails, needle.tail_count.saturating_mul(2))?;
        for i in 0..needle.floating_count {
            let (depth, sequence) = read(view.pair(needle.floating, i), "floating sequences")?;
            ensure(depth <= 1 && sequence < sequence_count, "floating sequence")?;
        }
        let in_query = (needle.in_query..needle.in_query + needle.in_query_count).map(|i| view.pool.at(i));
        ensure(in_query.into_iter().all(|sequence| sequence < Some(sequence_count) && sequence.is_some()), "floating sequence")?;
        for i in 0..needle.tail_count {
            let (parent, rank) = read(view.pair(needle.tails, i), "needle tails")?;
            ensure(parent >> 1 < sequence_count && rank >= 1 && rank <= top as usize, "needle tail")?;
        }
    }
    for index in 0..view.count(segments::SEGMENT_COUNT) {
        let segment = read(view.segment(index), "segment")?;
        let needles = view.count(segments::NEEDLE_COUNT);
        ensure(segment.written < needles && segment.decoded <= needles, "segment needles")?;
    }
    Ok(())
}

fn is_one_octet(view: &SegmentsView<'_>, octet: u8) -> bool {
    view.needle_of_octet(octet).and_then(|needle| view.needle(needle)).is_some_and(|needle| needle.len == 1)
}

fn check_states(view: &SegmentsView<'_>) -> Checked {
    let count = view.count(segments::STATE_COUNT);
    ensure(count > 0, "automaton without a root")?;
    // How many octets lead to each state: no needle that ends there is longer.
    let mut depths = vec![0; count];
    let mut next_child = 1;
    for index in 0..count {
        let state = read(view.state(index), "state")?;
        ensure(if index == 0 { state.fail == 0 && state.longest == 0 } else { state.fail < index }, "state order")?;
        if let Some(needle) = state.longest.checked_sub(1) {
            ensure(view.needle(needle).is_some_and(|needle| needle.len <= depths[index]), "needle length")?;
        }
        if state.child_count > 0 {
            ensure(state.first_child == next_child && state.child_count <= count - next_child, "state children")?;
            next_child += state.child_count;
            let depth = depths[index] + 1;
            depths[state.first_child..next_child].fill(depth);
        }
    }
    ensure(next_child == count, "states without a parent")?;
    let root = read(view.state(0), "state")?;
    ensure(view.root.iter().all(|&child| usize::from(child) <= root.child_count), "root table")
}

fn check_dfa(words: Words<'_>, top: u32) -> Checked {
    let view = read(DfaView::new(words), "automaton tables")?;
    let (stride, specials) = (view.stride, view.special_count);
    ensure(view.classes.iter().all(|&class| u32::from(class) < stride), "automaton classes")?;
    let valid =
        |state: u32| state < specials || ((state - specials).is_multiple_of(stride) && ((state - specials) / stride) < view.state_count);
    ensure(valid(view.start), "automaton start")?;
    let is_final = |state: u32| state < specials && view.special(state).is_some_and(|special| special.kind == dfa::KIND_FINAL);
    for row in (0..view.state_count as usize).map(|row| row * stride as usize) {
        ensure((row..row + stride as usize).all(|entry| view.entry(entry).is_some_and(valid)), "automaton table")?;
        ensure(view.entry(row + usize::from(dfa::CLASS_END)).is_some_and(is_final), "automaton table at the end of a target")?;
    }
    for index in 0..specials {
        let special = read(view.special(index), "special state")?;
        ensure(special.value <= top, "special value")?;
        match special.kind {
            dfa::KIND_FINAL | dfa::KIND_SLOW => {}
            dfa::KIND_CHAIN => {
                let octets = read(view.chain(&special), "chain octets")?;
                ensure(!octets.is_empty() && valid(special.next), "chain")?;
            }
            _ => return Err(Corrupt::new("kind of special state")),
        }
    }
    Ok(())
}
