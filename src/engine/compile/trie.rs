//! The radix trie of all that is tied to the start of a target: literal rules, and the literal prefixes of the others.

use std::collections::VecDeque;
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

#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) label: Range<usize>,
    pub(super) first_child: u32,
    pub(super) child_count: u32,
    /// Ranks, highest first; likewise `anchored`. Several where patterns differ in spelling only (`/a`, `/a*`), or groups share a block.
    pub(super) matches: Vec<u32>,
    pub(super) anchored: Vec<u32>,
    pub(super) gate: Option<u32>,
    /// The highest rank here or below, those behind gates included.
    pub(super) max: u32,
}

/// Nodes in order of depth, so that a node's children lie side by side behind it.
#[derive(Debug)]
pub(super) struct Trie {
    pub(super) nodes: Vec<Node>,
    pub(super) labels: Vec<u8>,
}

impl Trie {
    /// Builds the trie in time linear in the octets of `entries`, after sorting them. `gate_max` tells the highest rank behind a gate.
    pub(super) fn build(mut entries: Vec<(Vec<u8>, Value)>, gate_max: impl Fn(u32) -> u32) -> Trie {
        entries.sort_unstable();
        let mut trie = Trie { nodes: vec![Node::default()], labels: Vec::new() };
        let mut pending = VecDeque::from([(0, 0..entries.len(), 0)]);
        while let Some((node, range, depth)) = pending.pop_front() {
            let own = entries[range.clone()].partition_point(|(octets, _)| octets.len() == depth);
            trie.place(node, &entries[range.start..range.start + own]);
            trie.nodes[node].first_child = trie.nodes.len() as u32;
            let mut start = range.start + own;
            while start < range.end {
                let octet = entries[start].0[depth];
                let end = start + entries[start..range.end].partition_point(|(octets, _)| octets[depth] == octet);
                let (child, deeper) = trie.add_child(&entries[start].0[depth..], &entries[end - 1].0[depth..]);
                pending.push_back((child, start..end, depth + deeper));
                start = end;
            }
            trie.nodes[node].child_count = trie.nodes.len() as u32 - trie.nodes[node].first_child;
        }
        trie.set_maxima(gate_max);
        trie
    }

    fn place(&mut self, node: usize, entries: &[(Vec<u8>, Value)]) {
        let node = &mut self.nodes[node];
        // Entries of equal octets are sorted by kind and rank; lists want the highest rank first.
        for (_, value) in entries.iter().rev() {
            match *value {
                Value::Match(rank) => node.matches.push(rank),
                Value::Anchored(rank) => node.anchored.push(rank),
                Value::Gate(sequence) => node.gate = Some(sequence),
            }
        }
    }

    /// Adds a node whose label is what the first and the last of its sorted entries share.
    fn add_child(&mut self, first: &[u8], last: &[u8]) -> (usize, usize) {
        let shared = first.iter().zip(last).take_while(|(a, b)| a == b).count();
        let start = self.labels.len();
        self.labels.extend_from_slice(&first[..shared]);
        self.nodes.push(Node { label: start..start + shared, ..Node::default() });
        (self.nodes.len() - 1, shared)
    }

    fn set_maxima(&mut self, gate_max: impl Fn(u32) -> u32) {
        for index in (0..self.nodes.len()).rev() {
            let node = &self.nodes[index];
            let own = [node.matches.first().copied(), node.anchored.first().copied(), node.gate.map(&gate_max)];
            let own = own.into_iter().flatten().max().unwrap_or(0);
            let below = self.children(index).map(|child| self.nodes[child].max).max().unwrap_or(0);
            self.nodes[index].max = own.max(below);
        }
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
        let mut lists = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let label = [node.label.start as u32, node.label.len() as u32];
            let children = [if node.child_count > 0 { node.first_child } else { 0 }, node.child_count];
            let at = nodes + index * layout::NODE_WORDS;
            out.set_all(at + layout::NODE_LABEL, &label);
            out.set_all(at + layout::NODE_FIRST_CHILD, &children);
            out.set_all(at + layout::NODE_LIST, &[node.write_list(&mut lists), node.max]);
        }
        let lists_at = out.words(&lists);
        let firsts: Vec<u8> = (0..self.nodes.len()).map(|node| self.label(node).first().copied().unwrap_or(0)).collect();
        let firsts_at = out.octets(&firsts);
        let labels_at = out.octets(&self.labels);
        out.set_all(layout::NODE_COUNT, &[self.nodes.len() as u32, (nodes * 4) as u32]);
        out.set(layout::FIRSTS, firsts_at);
        out.set_all(layout::LISTS, &[lists_at, lists.len() as u32]);
        out.set_all(layout::LABELS, &[labels_at, self.labels.len() as u32]);
    }
}

impl Node {
    /// Appends the node's list, if it needs one; gives the list's index plus one.
    fn write_list(&self, lists: &mut Vec<u32>) -> u32 {
        if self.matches.is_empty() && self.anchored.is_empty() && self.gate.is_none() {
            return 0;
        }
        let index = lists.len() as u32 + 1;
        lists.extend([self.matches.len() as u32, self.anchored.len() as u32, self.gate.map_or(0, |gate| gate + 1)]);
        lists.extend_from_slice(&self.matches);
        lists.extend_from_slice(&self.anchored);
        index
    }
}
