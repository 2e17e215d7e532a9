//! Typed views of the sections of a block: where each table lies and what a record's words are.
//!
//! A view copies a dozen numbers out of a section's header; records are read as they are asked for. Every accessor is checked and answers
//! `None` where the octets do not hold what they should.

use super::{Words, dfa, segments, trie};

/// The radix trie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrieView<'a> {
    nodes: Words<'a>,
    firsts: &'a [u8],
    pub(crate) labels: &'a [u8],
    pub(crate) lists: Words<'a>,
}

/// A node of the radix trie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrieNode {
    pub(crate) label: usize,
    pub(crate) label_len: usize,
    pub(crate) first_child: usize,
    pub(crate) child_count: usize,
    /// Index of its list, plus one.
    pub(crate) list: usize,
    /// The highest rank that this node or one below it can give.
    pub(crate) max: u32,
}

impl<'a> TrieView<'a> {
    #[inline]
    pub(crate) fn new(words: Words<'a>) -> Option<TrieView<'a>> {
        let count = words.at(trie::NODE_COUNT)?;
        Some(TrieView {
            nodes: words.table(words.get(trie::NODES)?, count.checked_mul(trie::NODE_WORDS)?)?,
            firsts: words.octets(words.get(trie::FIRSTS)?, count)?,
            labels: words.octets(words.get(trie::LABELS)?, words.at(trie::LABELS_LEN)?)?,
            lists: words.table(words.get(trie::LISTS)?, words.at(trie::LISTS_LEN)?)?,
        })
    }

    pub(crate) fn node_count(&self) -> usize {
        self.firsts.len()
    }

    #[inline(always)]
    pub(crate) fn node(&self, index: usize) -> Option<TrieNode> {
        let at = index * trie::NODE_WORDS;
        Some(TrieNode {
            label: self.nodes.at(at + trie::NODE_LABEL)?,
            label_len: self.nodes.at(at + trie::NODE_LABEL_LEN)?,
            first_child: self.nodes.at(at + trie::NODE_FIRST_CHILD)?,
            child_count: self.nodes.at(at + trie::NODE_CHILD_COUNT)?,
            list: self.nodes.at(at + trie::NODE_LIST)?,
            max: self.nodes.get(at + trie::NODE_MAX)?,
        })
    }

    #[inline(always)]
    pub(crate) fn label(&self, node: &TrieNode) -> Option<&'a [u8]> {
        self.labels.get(node.label..)?.get(..node.label_len)
    }

    /// The first octet of a node's label.
    pub(crate) fn first(&self, index: usize) -> Option<u8> {
        self.firsts.get(index).copied()
    }

    /// The child of `node` whose label begins with `octet`.
    #[inline(always)]
    pub(crate) fn child(&self, node: &TrieNode, octet: u8) -> Option<usize> {
        let firsts = self.firsts.get(node.first_child..)?.get(..node.child_count)?;
        place_of(octet, firsts).map(|at| node.first_child + at)
    }
}

/// The place of an octet among a few, or among many: a loop over those would end where no processor foresees it.
#[inline(always)]
fn place_of(octet: u8, octets: &[u8]) -> Option<usize> {
    if octets.len() <= 8 { octets.iter().position(|&other| other == octet) } else { memchr::memchr(octet, octets) }
}

/// The segment automaton and the tree of segment sequences.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentsView<'a> {
    words: Words<'a>,
    sequences: Words<'a>,
    states: Words<'a>,
    octets: &'a [u8],
    pub(crate) root: &'a [u8; 256],
    needles: Words<'a>,
    segments: Words<'a>,
    pub(crate) pool: Words<'a>,
}

/// A node of the tree of segment sequences: what has matched once these segments, in this order, were found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequence {
    pub(crate) matches: usize,
    pub(crate) match_count: usize,
    pub(crate) children: usize,
    pub(crate) child_count: usize,
    pub(crate) max: u32,
}

/// How a sequence goes on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step<'a> {
    /// By a segment of that number.
    Segment(usize),
    /// By a segment of one octet.
    Octet(u8),
    /// By several of one octet each.
    Run(&'a [u8]),
}

/// A state of the segment automaton.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) fail: usize,
    pub(crate) first_child: usize,
    pub(crate) child_count: usize,
    /// The longest needle that ends here, plus one.
    pub(crate) longest: usize,
}

/// A spelling of segments.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Needle {
    pub(crate) len: usize,
    /// The shortest needle of its path: those from there to this one end wherever this one does.
    pub(crate) head: usize,
    /// The next shorter needle that ends wherever the head does, plus one.
    pub(crate) shorter: usize,
    /// Floating sequences that begin with it: pairs of depth and sequence.
    pub(crate) floating: usize,
    pub(crate) floating_count: usize,
    /// Floating sequences that begin with it in the query.
    pub(crate) in_query: usize,
    pub(crate) in_query_count: usize,
    pub(crate) tails: usize,
    pub(crate) tail_count: usize,
}

/// A segment: its spellings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SegmentEntry {
    pub(crate) written: usize,
    /// The needle of the decoded spelling, plus one.
    pub(crate) decoded: usize,
}

impl<'a> SegmentsView<'a> {
    #[inline]
    pub(crate) fn new(words: Words<'a>) -> Option<SegmentsView<'a>> {
        let table = |offset: usize, count: usize, record: usize| words.table(words.get(offset)?, words.at(count)?.checked_mul(record)?);
        Some(SegmentsView {
            words,
            sequences: table(segments::SEQUENCES, segments::SEQUENCE_COUNT, segments::SEQUENCE_WORDS)?,
            states: table(segments::STATES, segments::STATE_COUNT, segments::STATE_WORDS)?,
            octets: words.octets(words.get(segments::OCTETS)?, words.at(segments::STATE_COUNT)?)?,
            root: words.octets(words.get(segments::ROOT)?, 256)?.first_chunk()?,
            needles: table(segments::NEEDLES, segments::NEEDLE_COUNT, segments::NEEDLE_WORDS)?,
            segments: table(segments::SEGMENTS, segments::SEGMENT_COUNT, segments::SEGMENT_WORDS)?,
            pool: table(segments::POOL, segments::POOL_LEN, 1)?,
        })
    }

    /// One of the counts in the header.
    pub(crate) fn count(&self, index: usize) -> usize {
        self.words.at(index).unwrap_or(0)
    }

    #[inline(always)]
    pub(crate) fn sequence(&self, index: usize) -> Option<Sequence> {
        let [matches, match_count, children, child_count, max] = self.sequences.record(index * segments::SEQUENCE_WORDS)?;
        Some(Sequence {
            matches: matches as usize,
            match_count: match_count as usize,
            children: children as usize,
            child_count: child_count as usize,
            max,
        })
    }

    #[inline(always)]
    pub(crate) fn state(&self, index: usize) -> Option<State> {
        let words = self.states.record(index * segments::STATE_WORDS)?;
        let [fail, first_child, child_count, longest] = words.map(|word| word as usize);
        Some(State { fail, first_child, child_count, longest })
    }

    /// The child of `state` on `octet`.
    #[inline(always)]
    pub(crate) fn child(&self, state: &State, octet: u8) -> Option<usize> {
        let octets = self.octets.get(state.first_child..)?.get(..state.child_count)?;
        place_of(octet, octets).map(|at| state.first_child + at)
    }

    /// The octet that leads into a state.
    pub(crate) fn octet_into(&self, state: usize) -> Option<u8> {
        self.octets.get(state).copied()
    }

    #[inline(always)]
    pub(crate) fn needle(&self, index: usize) -> Option<Needle> {
        let words = self.needles.record(index * segments::NEEDLE_WORDS)?;
        let [len, head, shorter, floating, floating_count, in_query, in_query_count, tails, tail_count] = words.map(|word| word as usize);
        Some(Needle { len, head, shorter, floating, floating_count, in_query, in_query_count, tails, tail_count })
    }

    #[inline(always)]
    pub(crate) fn segment(&self, index: usize) -> Option<SegmentEntry> {
        let at = index * segments::SEGMENT_WORDS;
        Some(SegmentEntry { written: self.segments.at(at)?, decoded: self.segments.at(at + 1)? })
    }

    /// The needles that begin floating sequences, one bit each: as written (`segments::LIVE`) or decoded (`segments::LIVE_IN_QUERY`).
    pub(crate) fn live(&self, which: usize) -> Option<Words<'a>> {
        self.words.table(self.words.get(which)?, self.count(segments::NEEDLE_COUNT).div_ceil(32))
    }

    /// The pair at `index` of the pairs that begin at word `start` of the pool.
    #[inline(always)]
    pub(crate) fn pair(&self, start: usize, index: usize) -> Option<(usize, usize)> {
        let [first, second] = self.pool.record(start.checked_add(index * 2)?)?;
        Some((first as usize, second as usize))
    }

    /// The child at `index` of a sequence: how it goes on, and the sequence behind that.
    #[inline(always)]
    pub(crate) fn step(&self, sequence: &Sequence, index: usize) -> Option<(Step<'a>, usize)> {
        let [step, child] = self.pool.record(sequence.children.checked_add(index * 2)?)?;
        let step = match step {
            step if step & segments::ONE_OCTET != 0 => Step::Octet(step as u8),
            step if step & segments::RUN != 0 => self.run(step & !segments::RUN)?,
            segment => Step::Segment(segment as usize),
        };
        Some((step, child as usize))
    }

    fn run(&self, at: u32) -> Option<Step<'a>> {
        let len = self.pool.at(at as usize)?;
        self.pool.octets((at + 1).checked_mul(4)?, len).map(Step::Run)
    }

    /// The needle that is one octet.
    pub(crate) fn needle_of_octet(&self, octet: u8) -> Option<usize> {
        self.state(usize::from(self.root[usize::from(octet)]))?.longest.checked_sub(1)
    }
}

/// The deterministic automaton.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DfaView<'a> {
    pub(crate) start: u32,
    pub(crate) state_count: u32,
    pub(crate) stride: u32,
    pub(crate) special_count: u32,
    pub(crate) classes: &'a [u8; 256],
    wide: bool,
    table: &'a [u8],
    specials: Words<'a>,
    chains: &'a [u8],
}

/// A state without transitions of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Special {
    pub(crate) kind: u32,
    /// The value when the walk ends here.
    pub(crate) value: u32,
    pub(crate) next: u32,
    chain: u32,
    chain_len: u32,
}

impl<'a> DfaView<'a> {
    #[inline]
    pub(crate) fn new(words: Words<'a>) -> Option<DfaView<'a>> {
        let stride = words.get(dfa::STRIDE).filter(|&stride| stride > u32::from(dfa::CLASS_OTHER) && stride <= 256)?;
        let state_count = words.get(dfa::STATE_COUNT)?;
        let special_count = words.get(dfa::SPECIAL_COUNT)?;
        let width = words.at(dfa::WIDTH).filter(|width| matches!(width, 2 | 4))?;
        let entries = (state_count as usize).checked_mul(stride as usize)?;
        Some(DfaView {
            start: words.get(dfa::START)?,
            state_count,
            stride,
            special_count,
            classes: words.octets(dfa::CLASSES as u32, 256)?.first_chunk()?,
            wide: width == 4,
            table: words.octets(words.get(dfa::TABLE)?, entries.checked_mul(width)?)?,
            specials: words.table(words.get(dfa::SPECIALS)?, (special_count as usize).checked_mul(dfa::SPECIAL_WORDS)?)?,
            chains: words.octets(words.get(dfa::CHAINS)?, words.at(dfa::CHAINS_LEN)?)?,
        })
    }

    /// The table's entry at `index`.
    #[inline(always)]
    pub(crate) fn entry(&self, index: usize) -> Option<u32> {
        if self.wide {
            Some(u32::from_le_bytes(*self.table.get(index * 4..)?.first_chunk()?))
        } else {
            Some(u32::from(u16::from_le_bytes(*self.table.get(index * 2..)?.first_chunk()?)))
        }
    }

    #[inline(always)]
    pub(crate) fn special(&self, index: u32) -> Option<Special> {
        let at = index as usize * dfa::SPECIAL_WORDS;
        let kind_value = self.specials.get(at)?;
        Some(Special {
            kind: kind_value & 3,
            value: kind_value >> 2,
            chain: self.specials.get(at + 1)?,
            chain_len: self.specials.get(at + 2)?,
            next: self.specials.get(at + 3)?,
        })
    }

    #[inline(always)]
    pub(crate) fn chain(&self, special: &Special) -> Option<&'a [u8]> {
        self.chains.get(special.chain as usize..)?.get(..special.chain_len as usize)
    }
}
