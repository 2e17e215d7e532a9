//! A program as a readable table: `{}` for what there is, `{:#}` for every node and state as well.

use std::fmt;

use super::view::{DfaView, SegmentsView, Step, TrieView};
use super::{Block, Program, dfa, segments, trie};

impl fmt::Display for Program<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "program: {} octets, {} rules, {} groups, {} tokens, {} rule sets, {} blocks, target form {}",
            self.as_octets().len(),
            self.rule_count(),
            self.group_count(),
            self.token_count(),
            self.rule_set_count(),
            self.block_count(),
            self.form().name(),
        )?;
        writeln!(f, "{:<28} {:>8} {:>6} {:>8}", "agent", "rule set", "block", "filtered")?;
        let tokens = (0..self.token_count()).map_while(|index| self.token(index));
        for (token, set) in tokens {
            self.print_binding(f, &token.escape_ascii().to_string(), set)?;
        }
        if let Some(set) = self.star_rule_set() {
            self.print_binding(f, "*", set)?;
        }
        writeln!(
            f,
            "{:<6} {:<9} {:>6} {:>6} {:>10} {:>10} {:>12} {:>10} {:>8}",
            "block", "rung", "rules", "levels", "dfa states", "trie nodes", "segm. states", "floating", "octets"
        )?;
        for index in 0..self.block_count() {
            let Ok(block) = self.block(index) else { break };
            writeln!(
                f,
                "{:<6} {:<9} {:>6} {:>6} {:>10} {:>10} {:>12} {:>10} {:>8}",
                index,
                block.rung(),
                block.rule_count(),
                block.level_count(),
                block.dfa_state_count(),
                block.trie_node_count(),
                block.segment_state_count(),
                if block.has_floating() { "yes" } else { "no" },
                block.octet_len(),
            )?;
            if f.alternate() {
                print_block(f, &block)?;
            }
        }
        Ok(())
    }
}

impl Program<'_> {
    fn print_binding(&self, f: &mut fmt::Formatter<'_>, agent: &str, set: u32) -> fmt::Result {
        let Ok(rules) = self.rule_set(set) else { return Ok(()) };
        let filtered = if rules.is_filtered() { "yes" } else { "no" };
        writeln!(f, "{agent:<28} {set:>8} {:>6} {filtered:>8}", rules.block_index())
    }
}

fn print_block(f: &mut fmt::Formatter<'_>, block: &Block<'_>) -> fmt::Result {
    if let Some(view) = DfaView::new(block.dfa).filter(|_| block.dfa.len() > 0) {
        print_dfa(f, &view)?;
    }
    if let Some(view) = TrieView::new(block.trie) {
        print_trie(f, &view)?;
    }
    match SegmentsView::new(block.segments).filter(|_| block.segments.len() > 0) {
        Some(view) => print_segments(f, &view),
        None => Ok(()),
    }
}

fn print_dfa(f: &mut fmt::Formatter<'_>, view: &DfaView<'_>) -> fmt::Result {
    writeln!(f, "  dfa: start {}, {} classes", view.start, view.stride)?;
    for index in 0..view.special_count {
        let Some(special) = view.special(index) else { break };
        match special.kind {
            dfa::KIND_FINAL => writeln!(f, "  {index:>6} final {}", special.value)?,
            dfa::KIND_CHAIN => {
                let octets = view.chain(&special).unwrap_or_default().escape_ascii();
                writeln!(f, "  {index:>6} chain {octets} -> {} else final {}", special.next, special.value)?;
            }
            _ => writeln!(f, "  {index:>6} slow")?,
        }
    }
    for row in 0..view.state_count {
        let at = row * view.stride;
        let entry = |class: u8| view.entry(at as usize + usize::from(class)).unwrap_or(0);
        write!(f, "  {:>6} end {} other {}", at + view.special_count, entry(dfa::CLASS_END), entry(dfa::CLASS_OTHER))?;
        for octet in 0..=255u8 {
            let class = view.classes[usize::from(octet)];
            if class > dfa::CLASS_OTHER && entry(class) != entry(dfa::CLASS_OTHER) {
                write!(f, " {} {}", octet.escape_ascii(), entry(class))?;
            }
        }
        writeln!(f)?;
    }
    Ok(())
}

fn print_trie(f: &mut fmt::Formatter<'_>, view: &TrieView<'_>) -> fmt::Result {
    writeln!(f, "  trie")?;
    for index in 0..view.node_count() {
        let Some(node) = view.node(index) else { break };
        let label = view.label(&node).unwrap_or_default().escape_ascii();
        write!(f, "  {index:>6} {label}")?;
        if let Some(at) = node.list.checked_sub(1) {
            let word = |index: usize| view.lists.at(at + index);
            let (matches, anchored) = (word(0).unwrap_or(0), word(1).unwrap_or(0));
            for (name, from, count) in [("rank", 0, matches), ("rank at end", matches, anchored)] {
                let mut ranks = (0..count).map_while(|i| word(trie::LIST_HEAD + from + i));
                ranks.try_for_each(|rank| write!(f, " [{name} {rank}]"))?;
            }
            if let Some(gate) = word(2).and_then(|gate| gate.checked_sub(1)) {
                write!(f, " [gate {gate}]")?;
            }
        }
        if node.child_count > 0 {
            write!(f, " -> {}..{}", node.first_child, node.first_child + node.child_count)?;
        }
        writeln!(f)?;
    }
    Ok(())
}

fn print_segments(f: &mut fmt::Formatter<'_>, view: &SegmentsView<'_>) -> fmt::Result {
    writeln!(f, "  segment sequences")?;
    for index in 0..view.count(segments::SEQUENCE_COUNT) {
        let Some(node) = view.sequence(index) else { break };
        write!(f, "  {index:>6}")?;
        let mut ranks = (0..node.match_count).map_while(|i| view.pool.get(node.matches + i));
        ranks.try_for_each(|rank| write!(f, " [rank {rank}]"))?;
        for (step, child) in (0..node.child_count).map_while(|i| view.step(&node, i)) {
            match step {
                Step::Segment(segment) => write!(f, " segment {segment} -> {child}")?,
                Step::Octet(octet) => write!(f, " {} -> {child}", char::from(octet).escape_default())?,
                Step::Run(octets) => write!(f, " each of {} -> {child}", octets.escape_ascii())?,
            }
        }
        writeln!(f)?;
    }
    for index in 0..view.count(segments::SEGMENT_COUNT) {
        let Some(segment) = view.segment(index) else { break };
        write!(f, "  segment {index}: needle {}", segment.written)?;
        match segment.decoded.checked_sub(1) {
            Some(decoded) => writeln!(f, ", in the query {decoded}")?,
            None => writeln!(f)?,
        }
    }
    for index in 0..view.count(segments::NEEDLE_COUNT) {
        let Some(needle) = view.needle(index) else { break };
        write!(f, "  needle {index} of {} octets, path from {}:", needle.len, needle.head)?;
        for (depth, sequence) in (0..needle.floating_count).map_while(|i| view.pair(needle.floating, i)) {
            write!(f, " [sequence {sequence} from {depth}]")?;
        }
        for sequence in (0..needle.in_query_count).map_while(|i| view.pool.get(needle.in_query + i)) {
            write!(f, " [sequence {sequence} in the query]")?;
        }
        for (parent, rank) in (0..needle.tail_count).map_while(|i| view.pair(needle.tails, i)) {
            write!(f, " [rank {rank} at end behind {}]", parent >> 1)?;
        }
        writeln!(f)?;
    }
    Ok(())
}
