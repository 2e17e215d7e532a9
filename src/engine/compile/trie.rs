//! The radix trie of all that is tied to the start of a target: literal rules, and the literal prefixes of the others.

use std::ops::Range;

use super::write::Writer;
use crate::engine::program::trie as layout;

/// What a place in the trie means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// The rule of that rank matches.
    Match(u32),
    /// The rule of that rank matches if the target ends here.
    Anchored(u32),
    /// The segment sequences that begin here.
    Gate(u32),
}

/// A node; its lists of ranks are ranges of the trie's.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    pub(super) label: Range<usize>,
    pub(super) first_child: u32,
    pub(super) child_count: u32,
    /// Ranks, highest first; likewise `anchored`. Several where patterns differ in spelling only (`/a`, `/a*`), or groups share a block.
    pub(super) matches: Range<usize>,
    pub(super) anchored: Range<usize>,
    pub(super) gate: Option<u32>,
    /// The highest rank here or below, those behind gates included.
    pub(super) max: u32,
}

impl Node {
    fn has_list(&self) -> bool {
        !self.matches.is_empty() || !self.anchored.is_empty() || self.gate.is_some()
    }
}

/// Nodes in order of depth, so that a node's children lie side by side behind it, in the order of their first octets.
#[derive(Debug)]
pub(super) struct Trie {
    pub(super) nodes: Vec<Node>,
    pub(super) labels: Vec<u8>,
    pub(super) ranks: Vec<u32>,
}

impl Trie {
    /// Builds the trie in time linear in the octets of `entries`, after sorting them. `gate_max` tells the highest rank behind a gate.
    pub(super) fn build(mut entries: Vec<(&[u8], Value)>, gate_max: impl Fn(u32) -> u32) -> Trie {
        entries.sort_unstable();
        let most_nodes = entries.len() * 2 + 1;
        let mut trie = Trie {
            nodes: Vec::with_capacity(most_nodes),
            labels: Vec::with_capacity(entries.iter().map(|(octets, _)| octets.len()).sum()),
            ranks: Vec::with_capacity(entries.len()),
        };
        trie.nodes.push(Node::default());
        // The entries of each node, and how many octets lead to it.
        let mut pending = Vec::with_capacity(most_nodes);
        pending.push((0..entries.len(), 0));
        let mut node = 0;
        while let Some((range, depth)) = pending.get(node).cloned() {
            let own = entries[range.clone()].partition_point(|(octets, _)| octets.len() == depth);
            trie.place(node, &entries[range.start..range.start + own]);
            trie.nodes[node].first_child = trie.nodes.len() as u32;
            let mut start = range.start + own;
            while start < range.end {
                let octet = entries[start].0[depth];
                let end = start + entries[start..range.end].partition_point(|(octets, _)| octets[depth] == octet);
                let deeper = trie.add_child(&entries[start].0[depth..], &entries[end - 1].0[depth..]);
                pending.push((start..end, depth + deeper));
                start = end;
            }
            trie.nodes[node].child_count = trie.nodes.len() as u32 - trie.nodes[node].first_child;
            node += 1;
        }
        trie.set_maxima(gate_max);
        trie
    }

    fn place(&mut self, node: usize, entries: &[(&[u8], Value)]) {
        // Entries of equal octets are sorted by kind and rank; lists want the highest rank first.
        let mut ranks = |rank_of: fn(Value) -> Option<u32>| {
            let start = self.ranks.len();
            self.ranks.extend(entries.iter().rev().filter_map(|&(_, value)| rank_of(value)));
            start..self.ranks.len()
        };
        let node = &mut self.nodes[node];
        node.matches = ranks(|value| if let Value::Match(rank) = value { Some(rank) } else { None });
        node.anchored = ranks(|value| if let Value::Anchored(rank) = value { Some(rank) } else { None });
        node.gate = entries.iter().find_map(|&(_, value)| if let Value::Gate(sequence) = value { Some(sequence) } else { None });
    }

    /// Adds a node whose label is what the first and the last of its sorted entries share; gives its length.
    fn add_child(&mut self, first: &[u8], last: &[u8]) -> usize {
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let start = self.labels.len();
        self.labels.extend_from_slice(&first[..shared]);
        self.nodes.push(Node { label: start..start + shared, ..Node::default() });
        shared
    }

    fn set_maxima(&mut self, gate_max: impl Fn(u32) -> u32) {
        for index in (0..self.nodes.len()).rev() {
            let node = &self.nodes[index];
            let own = [self.best_match(node), self.best_anchored(node), node.gate.map_or(0, &gate_max)];
            let own = own.into_iter().max().unwrap_or(0);
            let below = self.children(index).map(|child| self.nodes[child].max).max().unwrap_or(0);
            self.nodes[index].max = own.max(below);
        }
    }

    /// The highest rank that a node's place gives; 0 if none.
    pub(super) fn best_match(&self, node: &Node) -> u32 {
        self.ranks[node.matches.clone()].first().copied().unwrap_or(0)
    }

    /// The highest rank that it gives at the end of a target; 0 if none.
    pub(super) fn best_anchored(&self, node: &Node) -> u32 {
        self.ranks[node.anchored.clone()].first().copied().unwrap_or(0)
    }

    pub(super) fn children(&self, node: usize) -> Range<usize> {
        let node = &self.nodes[node];
        node.first_child as usize..(node.first_child + node.child_count) as usize
    }

    pub(super) fn label(&self, node: usize) -> &[u8] {
        &self.labels[self.nodes[node].label.clone()]
    }

    /// Writes the section, into a writer that made room for its header.
    pub(super) fn write(&self, out: &mut Writer) {
        let nodes = out.reserve(self.nodes.len() * layout::NODE_WORDS);
        let listed = self.nodes.iter().filter(|node| node.has_list()).count();
        let mut lists = Vec::with_capacity(self.ranks.len() + listed * layout::LIST_HEAD);
        for (index, node) in self.nodes.iter().enumerate() {
            let label = [node.label.start as u32, node.label.len() as u32];
            let children = [if node.child_count > 0 { node.first_child } else { 0 }, node.child_count];
            let at = nodes + index * layout::NODE_WORDS;
            out.set_all(at + layout::NODE_LABEL, &label);
            out.set_all(at + layout::NODE_FIRST_CHILD, &children);
            out.set_all(at + layout::NODE_LIST, &[self.write_list(node, &mut lists), node.max]);
        }
        let lists_at = out.words(&lists);
        let firsts_at = out.octets_of((0..self.nodes.len()).map(|node| self.label(node).first().copied().unwrap_or(0)));
        let labels_at = out.octets(&self.labels);
        out.set_all(layout::NODE_COUNT, &[self.nodes.len() as u32, (nodes * 4) as u32]);
        out.set(layout::FIRSTS, firsts_at);
        out.set_all(layout::LISTS, &[lists_at, lists.len() as u32]);
        out.set_all(layout::LABELS, &[labels_at, self.labels.len() as u32]);
    }

    /// Appends a node's list, if it needs one; gives the list's index plus one.
    fn write_list(&self, node: &Node, lists: &mut Vec<u32>) -> u32 {
        if !node.has_list() {
            return 0;
        }
        let index = lists.len() as u32 + 1;
        lists.extend([node.matches.len() as u32, node.anchored.len() as u32, node.gate.map_or(0, |gate| gate + 1)]);
        lists.extend_from_slice(&self.ranks[node.matches.clone()]);
        lists.extend_from_slice(&self.ranks[node.anchored.clone()]);
        index
    }
}
