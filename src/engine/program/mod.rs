//! A program is octets: rule sets compiled, the only thing the matcher reads.
//!
//! The compiler writes a program, a store concatenates many, a memory map shows them; nothing is decoded when one is used. All numbers are
//! little endian and read where they lie, without regard to alignment, so a program may start anywhere.
//!
//! ```text
//! Program   header · blocks · tokens · rule sets · block table · rule maps · filters · token octets
//! Block     header · levels · [groups of ranks] · [DFA] · trie · [segment automaton]
//! ```
//!
//! * A **token** names a rule set: the groups that name it, merged.
//! * A **rule set** names a block, a map from the block's ranks to rule ids, and, where merging its groups would have cost too much, the
//!   groups by which a shared block is filtered.
//! * A **block** is rules in rank order and the automata over them. Ranks count from 1 in order of precedence: of the rules that match a target,
//!   the one with the highest rank decides. 0 stands for "no rule", and the rank above the last rule for the exemption of `/robots.txt`.
//! * A **level** is a run of ranks with one verdict. Level 0 allows, and verdicts alternate, so the verdict of a level is its parity.
//!
//! [`Program::check`] proves every offset, index and order that the matcher relies on. The matcher reads through checked accessors all the
//! same: if the octets change under it (a mapped file written to), it answers [`Corrupt`], and never reads outside of them or loops.
//! docs/FORMAT.md draws the tables.

mod check;
mod print;
pub(crate) mod spellings;
pub(crate) mod view;

use std::fmt;

use crate::protocol::agent::Agent;
use crate::target::form::{AgentComparison, TargetForm};
use crate::target::quote::is_python_space;

/// The first four octets of a program.
pub(crate) const MAGIC: u32 = u32::from_le_bytes(*b"RSP1");
pub(crate) const HEADER_LEN: usize = 64;
pub(crate) const TOKEN_WORDS: usize = 3;
pub(crate) const SET_WORDS: usize = 5;
pub(crate) const NO_SET: u32 = u32::MAX;

/// Positions of the words of the program header.
pub(crate) mod header {
    pub(crate) const MAGIC: usize = 0;
    /// Form id in the lowest octet, detail in the next.
    pub(crate) const FORM_DETAIL: usize = 1;
    pub(crate) const LEN: usize = 2;
    pub(crate) const RULE_COUNT: usize = 3;
    pub(crate) const TOKEN_COUNT: usize = 4;
    pub(crate) const TOKENS: usize = 5;
    pub(crate) const SET_COUNT: usize = 6;
    pub(crate) const SETS: usize = 7;
    pub(crate) const BLOCK_COUNT: usize = 8;
    pub(crate) const BLOCKS: usize = 9;
    pub(crate) const STAR_SET: usize = 10;
    pub(crate) const GROUP_COUNT: usize = 11;
}

/// Positions of the words of a block header.
pub(crate) mod block {
    /// Rung in the lowest octet, constant in the next.
    pub(crate) const RUNG_CONSTANT: usize = 0;
    pub(crate) const RANK_COUNT: usize = 1;
    pub(crate) const LEVELS: usize = 2;
    /// 0 where the block is not filtered.
    pub(crate) const GROUPS: usize = 3;
    pub(crate) const FLOATING_MAX: usize = 4;
    pub(crate) const DFA: usize = 5;
    pub(crate) const DFA_LEN: usize = 6;
    pub(crate) const TRIE: usize = 7;
    pub(crate) const TRIE_LEN: usize = 8;
    pub(crate) const SEGMENTS: usize = 9;
    pub(crate) const SEGMENTS_LEN: usize = 10;
    pub(crate) const WORDS: usize = 11;
}

/// Positions of the words of a DFA section.
pub(crate) mod dfa {
    pub(crate) const START: usize = 0;
    pub(crate) const STATE_COUNT: usize = 1;
    pub(crate) const STRIDE: usize = 2;
    pub(crate) const SPECIAL_COUNT: usize = 3;
    /// Octets of a table entry: 2 or 4.
    pub(crate) const WIDTH: usize = 4;
    pub(crate) const SPECIALS: usize = 5;
    pub(crate) const TABLE: usize = 6;
    pub(crate) const CHAINS: usize = 7;
    pub(crate) const CHAINS_LEN: usize = 8;
    pub(crate) const WORDS: usize = 9;
    /// Octet to class, 256 octets behind the header.
    pub(crate) const CLASSES: usize = WORDS * 4;

    /// The class of the end of a target.
    pub(crate) const CLASS_END: u8 = 0;
    /// The class of octets on which canonicalising is not the identity.
    pub(crate) const CLASS_SLOW: u8 = 1;
    /// The class of octets that no rule of the automaton names.
    pub(crate) const CLASS_OTHER: u8 = 2;

    pub(crate) const SPECIAL_WORDS: usize = 4;
    /// The walk is over, and the value is known. A special state's first word is its value and, in the two lowest bits, its kind.
    pub(crate) const KIND_FINAL: u32 = 0;
    /// Only the backstop, on canonical octets, can tell.
    pub(crate) const KIND_SLOW: u32 = 1;
    /// A literal stretch, and nothing else can match: offset, length, next state; the value is final where it breaks off.
    pub(crate) const KIND_CHAIN: u32 = 2;
}

/// Positions of the words of a trie section.
pub(crate) mod trie {
    pub(crate) const NODE_COUNT: usize = 0;
    pub(crate) const NODES: usize = 1;
    /// The first octet of each node's label.
    pub(crate) const FIRSTS: usize = 2;
    pub(crate) const LISTS: usize = 3;
    pub(crate) const LISTS_LEN: usize = 4;
    pub(crate) const LABELS: usize = 5;
    pub(crate) const LABELS_LEN: usize = 6;
    pub(crate) const WORDS: usize = 7;

    pub(crate) const NODE_WORDS: usize = 6;
    pub(crate) const NODE_LABEL: usize = 0;
    pub(crate) const NODE_LABEL_LEN: usize = 1;
    pub(crate) const NODE_FIRST_CHILD: usize = 2;
    pub(crate) const NODE_CHILD_COUNT: usize = 3;
    /// Index into the lists, plus one; 0 for none. A list: count of matches, count of anchored, gate plus one, matches, anchored.
    pub(crate) const NODE_LIST: usize = 4;
    pub(crate) const NODE_MAX: usize = 5;
    pub(crate) const LIST_HEAD: usize = 3;
}

/// Positions of the words of a segment section.
pub(crate) mod segments {
    pub(crate) const SEQUENCE_COUNT: usize = 0;
    pub(crate) const SEQUENCES: usize = 1;
    pub(crate) const STATE_COUNT: usize = 2;
    pub(crate) const STATES: usize = 3;
    /// The octet that leads into each state.
    pub(crate) const OCTETS: usize = 4;
    /// Octet to child of the root plus one, 256 octets.
    pub(crate) const ROOT: usize = 5;
    pub(crate) const NEEDLE_COUNT: usize = 6;
    pub(crate) const NEEDLES: usize = 7;
    pub(crate) const SEGMENT_COUNT: usize = 8;
    pub(crate) const SEGMENTS: usize = 9;
    pub(crate) const POOL: usize = 10;
    pub(crate) const POOL_LEN: usize = 11;
    /// The sequence that starts at the very start of a target, plus one; 0 for none.
    pub(crate) const ROOT_EMPTY: usize = 12;
    /// The sequence that starts behind the first `/`, plus one; 0 for none.
    pub(crate) const ROOT_SLASH: usize = 13;
    /// Needles that begin floating sequences, one bit each, as words: as written, and decoded.
    pub(crate) const LIVE: usize = 14;
    pub(crate) const LIVE_IN_QUERY: usize = 15;
    pub(crate) const WORDS: usize = 16;

    /// A node of the tree of segment sequences: matches (pool index), match count, children (pool index of pairs), child count, maximum. A pair is a
    /// step and the sequence behind it; a step the number of a segment, or one of these.
    pub(crate) const SEQUENCE_WORDS: usize = 5;
    /// The segment is one octet, and this is it.
    pub(crate) const ONE_OCTET: u32 = 1 << 31;
    /// Several segments of one octet each: pool index of their count and, behind it, the octets.
    pub(crate) const RUN: u32 = 1 << 30;
    /// A state: fail, first child, child count, the longest needle that ends here plus one.
    pub(crate) const STATE_WORDS: usize = 4;
    /// A needle: length, head of its path, the next shorter needle that ends where the head does plus one, floating sequences that begin with it
    /// (pool index of pairs), their count, those that begin with it in the query (pool index), their count, tails (pool index of pairs), their count.
    pub(crate) const NEEDLE_WORDS: usize = 9;
    /// A segment: needle of its spelling, needle of the decoded spelling plus one.
    pub(crate) const SEGMENT_WORDS: usize = 2;
}

/// How a block finds its verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Rung {
    /// Every target but robots.txt has the same verdict.
    Constant = 0,
    /// A deterministic automaton over literal and gated rules; floating rules beside it.
    Dfa = 1,
    /// The radix trie and the segment automaton: linear whatever the rules.
    Backstop = 2,
}

impl Rung {
    /// `constant`, `dfa` or `backstop`.
    pub const fn name(self) -> &'static str {
        match self {
            Rung::Constant => "constant",
            Rung::Dfa => "dfa",
            Rung::Backstop => "backstop",
        }
    }

    fn of(octet: u8) -> Option<Rung> {
        [Rung::Constant, Rung::Dfa, Rung::Backstop].into_iter().find(|&rung| rung as u8 == octet)
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the values of a DFA are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Detail {
    /// Levels: the automaton knows the verdict, and the backstop is asked for the rule.
    Verdicts = 0,
    /// Ranks: the automaton knows the rule. It is larger.
    Rules = 1,
}

/// Octets that are no program, or changed since they were checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Corrupt {
    what: &'static str,
}

impl Corrupt {
    pub(crate) const fn new(what: &'static str) -> Corrupt {
        Corrupt { what }
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the compiled program is corrupt ({}); compile the policy again", self.what)
    }
}

impl std::error::Error for Corrupt {}

/// Little-endian words, read where they lie.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<'a>(pub(crate) &'a [u8]);

impl<'a> Words<'a> {
    #[inline(always)]
    pub(crate) fn get(self, index: usize) -> Option<u32> {
        let octets = self.0.get(index.checked_mul(4)?..)?.first_chunk::<4>()?;
        Some(u32::from_le_bytes(*octets))
    }

    /// The word at `index` as an index.
    #[inline(always)]
    pub(crate) fn at(self, index: usize) -> Option<usize> {
        self.get(index).map(|word| word as usize)
    }

    /// The `N` words from `index` on.
    #[inline(always)]
    pub(crate) fn record<const N: usize>(self, index: usize) -> Option<[u32; N]> {
        let (words, _) = self.0.get(index.checked_mul(4)?..)?.get(..N * 4)?.as_chunks::<4>();
        Some(std::array::from_fn(|at| u32::from_le_bytes(words[at])))
    }

    /// `count` words from the octet at `offset` on.
    pub(crate) fn table(self, offset: u32, count: usize) -> Option<Words<'a>> {
        self.octets(offset, count.checked_mul(4)?).map(Words)
    }

    pub(crate) fn octets(self, offset: u32, len: usize) -> Option<&'a [u8]> {
        self.0.get(offset as usize..)?.get(..len)
    }

    pub(crate) fn len(self) -> usize {
        self.0.len() / 4
    }
}

/// Whether `token` stands somewhere in `text` behind no letter, digit, `-` or `_`.
fn stands_in(token: &[u8], text: &str) -> bool {
    let goes_on = |before: char| before.is_alphanumeric() || matches!(before, '-' | '_');
    let mut from = 0;
    while let Some(at) = memchr::memmem::find(&text.as_bytes()[from..], token).map(|at| from + at) {
        if text.get(..at).is_some_and(|front| !front.ends_with(goes_on)) {
            return true;
        }
        from = at + 1;
    }
    false
}

/// A compiled policy, borrowed from wherever its octets lie.
///
/// ```
/// use robosieve::{agent::Agent, compile::compile, dialect::RFC9309, policy::Policy, program::Program};
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /private/\n", &RFC9309);
/// let octets = compile(&policy, &Default::default());
/// let program = Program::check(&octets).unwrap();
/// assert!(program.bind(&Agent::token("AnyBot").unwrap()).rule_set().is_some());
/// println!("{program}"); // a readable table
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Program<'a> {
    words: Words<'a>,
    form: &'static TargetForm,
    detail: Detail,
}

/// Who binds an agent: the groups that name one of its tokens, the `*` groups, or nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Binding<'a> {
    /// Groups that name the agent's token of that index.
    Named {
        /// Which of the agent's tokens, in its order.
        token: usize,
        /// The rule set of those groups.
        rule_set: u32,
    },
    /// Groups whose token stands in the text the agent was given as.
    Contained {
        /// The token, in lower case.
        token: &'a [u8],
        /// The rule set of those groups.
        rule_set: u32,
    },
    /// The `*` groups.
    Star {
        /// The rule set of those groups.
        rule_set: u32,
    },
    /// No group.
    Nobody,
}

impl Binding<'_> {
    /// The rule set that binds, if one does.
    pub fn rule_set(self) -> Option<u32> {
        match self {
            Binding::Named { rule_set, .. } | Binding::Contained { rule_set, .. } | Binding::Star { rule_set } => Some(rule_set),
            Binding::Nobody => None,
        }
    }
}

impl<'a> Program<'a> {
    /// Reads the octets of a program and proves everything the matcher relies on, in time linear in their number.
    ///
    /// # Errors
    ///
    /// [`Corrupt`], with what is wrong.
    pub fn check(octets: &'a [u8]) -> Result<Program<'a>, Corrupt> {
        let program = Program::view(octets)?;
        check::check(&program)?;
        Ok(program)
    }

    /// Reads the header alone, for octets that were checked before.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when the header is none.
    pub fn view(octets: &'a [u8]) -> Result<Program<'a>, Corrupt> {
        let words = Words(octets);
        if words.get(header::MAGIC) != Some(MAGIC) || octets.len() < HEADER_LEN {
            return Err(Corrupt::new("no program label"));
        }
        if words.at(header::LEN) != Some(octets.len()) {
            return Err(Corrupt::new("its length is not what it says"));
        }
        let [form, detail, ..] = words.get(header::FORM_DETAIL).unwrap_or(0).to_le_bytes();
        let form = TargetForm::by_id(form).ok_or(Corrupt::new("unknown target form"))?;
        let detail = match detail {
            0 => Detail::Verdicts,
            1 => Detail::Rules,
            _ => return Err(Corrupt::new("unknown detail")),
        };
        Ok(Program { words, form, detail })
    }

    /// The octets.
    pub fn as_octets(&self) -> &'a [u8] {
        self.words.0
    }

    /// How URLs and agents are looked at.
    pub fn form(&self) -> &'static TargetForm {
        self.form
    }

    /// What its automata know.
    pub fn detail(&self) -> Detail {
        self.detail
    }

    /// How many rules the policy has.
    pub fn rule_count(&self) -> usize {
        self.word(header::RULE_COUNT)
    }

    /// How many groups the policy has.
    pub fn group_count(&self) -> usize {
        self.word(header::GROUP_COUNT)
    }

    /// How many distinct tokens its groups name, `*` not counted, unless agents are compared by containment.
    pub fn token_count(&self) -> usize {
        self.word(header::TOKEN_COUNT)
    }

    /// How many rule sets there are.
    pub fn rule_set_count(&self) -> usize {
        self.word(header::SET_COUNT)
    }

    /// How many blocks there are.
    pub fn block_count(&self) -> usize {
        self.word(header::BLOCK_COUNT)
    }

    fn word(&self, index: usize) -> usize {
        self.words.at(index).unwrap_or(0)
    }

    /// The token at `index`, in lower case, with its rule set: in octet order, or where agents are compared by containment in file order.
    pub fn token(&self, index: usize) -> Option<(&'a [u8], u32)> {
        let record = self.record(header::TOKENS, header::TOKEN_COUNT, TOKEN_WORDS, index)?;
        Some((self.words.octets(record.get(0)?, record.at(1)?)?, record.get(2)?))
    }

    /// The rule set of the `*` groups, if there are any.
    pub fn star_rule_set(&self) -> Option<u32> {
        self.words.get(header::STAR_SET).filter(|&set| set != NO_SET)
    }

    /// Who binds `agent` (RFC 9309, section 2.2.1).
    pub fn bind(&self, agent: &Agent) -> Binding<'a> {
        match self.form.agents() {
            AgentComparison::EqualIgnoringCase => self.bind_equal(agent, agent.tokens()),
            AgentComparison::GivenIgnoringCase => match agent.given_token() {
                Some(given) => self.bind_equal(agent, &[given]),
                None => self.bind_equal(agent, agent.tokens()),
            },
            AgentComparison::Contained => self.bind_contained(agent),
        }
    }

    fn bind_equal(&self, agent: &Agent, tokens: &[impl AsRef<str>]) -> Binding<'a> {
        let named = tokens.iter().enumerate().find_map(|(token, text)| {
            let rule_set = self.find_token(text.as_ref().as_bytes())?;
            Some(Binding::Named { token, rule_set })
        });
        let star = || self.star_rule_set().filter(|_| agent.star()).map(|rule_set| Binding::Star { rule_set });
        named.or_else(star).unwrap_or(Binding::Nobody)
    }

    /// As Protego's `_RuleSet.applies_to` has it: a token scores its length if it stands in the agent's text behind nothing that goes on with a
    /// name, `*` scores 1, and the first of the best wins.
    fn bind_contained(&self, agent: &Agent) -> Binding<'a> {
        let text = agent.given().trim_matches(is_python_space).to_lowercase();
        let mut best = (0, Binding::Nobody);
        for (token, rule_set) in (0..self.token_count()).map_while(|index| self.token(index)) {
            let (score, binding) = match token {
                b"*" => (usize::from(agent.star()), Binding::Star { rule_set }),
                _ if stands_in(token, &text) => (String::from_utf8_lossy(token).chars().count(), Binding::Contained { token, rule_set }),
                _ => continue,
            };
            if score > best.0 {
                best = (score, binding);
            }
        }
        best.1
    }

    fn find_token(&self, wanted: &[u8]) -> Option<u32> {
        let (mut low, mut high) = (0, self.token_count());
        while low < high {
            let middle = low + (high - low) / 2;
            let (token, set) = self.token(middle)?;
            match token.iter().copied().cmp(wanted.iter().map(u8::to_ascii_lowercase)) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(set),
            }
        }
        None
    }

    /// A rule set.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when there is none of that number, or its octets changed.
    pub fn rule_set(&self, index: u32) -> Result<RuleSet<'a>, Corrupt> {
        self.rule_set_of(index).ok_or(Corrupt::new("rule set"))
    }

    fn rule_set_of(&self, index: u32) -> Option<RuleSet<'a>> {
        let record = self.record(header::SETS, header::SET_COUNT, SET_WORDS, index as usize)?;
        Some(RuleSet {
            block: self.block_of(record.at(0)?)?,
            block_index: record.get(0)?,
            map: self.words.table(record.get(1)?, record.at(2)?)?,
            filter: self.words.table(record.get(3)?, record.at(4)?)?,
            form: self.form,
            detail: self.detail,
        })
    }

    /// A block.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when there is none of that number, or its octets changed.
    pub fn block(&self, index: usize) -> Result<Block<'a>, Corrupt> {
        self.block_of(index).ok_or(Corrupt::new("block"))
    }

    fn block_of(&self, index: usize) -> Option<Block<'a>> {
        let record = self.record(header::BLOCKS, header::BLOCK_COUNT, 2, index)?;
        Block::view(self.words.octets(record.get(0)?, record.at(1)?)?)
    }

    fn record(&self, table: usize, count: usize, words: usize, index: usize) -> Option<Words<'a>> {
        let count = self.words.at(count)?;
        if index >= count {
            return None;
        }
        let all = self.words.table(self.words.get(table)?, count.checked_mul(words)?)?;
        all.table((index * words * 4) as u32, words)
    }
}

/// The rules that bind one agent: a block, and what its ranks stand for.
#[derive(Debug, Clone, Copy)]
pub struct RuleSet<'a> {
    pub(crate) block: Block<'a>,
    pub(crate) block_index: u32,
    /// Rule id of each rank, from rank 1.
    pub(crate) map: Words<'a>,
    /// Groups that count, sorted; empty where the block is not filtered.
    pub(crate) filter: Words<'a>,
    pub(crate) form: &'static TargetForm,
    pub(crate) detail: Detail,
}

impl<'a> RuleSet<'a> {
    /// The block that answers for it.
    pub fn block(&self) -> Block<'a> {
        self.block
    }

    /// The number of the block that answers for it. Rule sets of one program that share an unfiltered block give the same verdicts.
    pub fn block_index(&self) -> u32 {
        self.block_index
    }

    /// Whether another rule set of the same program gives the same verdicts. Rule ids may differ: they are those of either.
    pub fn has_verdicts_of(&self, other: &RuleSet<'a>) -> bool {
        self.block_index == other.block_index && self.filter.0 == other.filter.0
    }

    /// Whether another rule set of the same program gives the same decisions, rules included.
    pub fn has_decisions_of(&self, other: &RuleSet<'a>) -> bool {
        self.has_verdicts_of(other) && self.map.0 == other.map.0
    }

    /// Whether the block holds rules of other agents too and is filtered by group.
    pub fn is_filtered(&self) -> bool {
        self.filter.len() > 0
    }
}

/// Rules in rank order and the automata over them.
#[derive(Debug, Clone, Copy)]
pub struct Block<'a> {
    pub(crate) rung: Rung,
    pub(crate) constant: Constant,
    pub(crate) rank_count: u32,
    pub(crate) floating_max: u32,
    /// Level of each rank, from rank 1, the exemption's last.
    pub(crate) levels: Words<'a>,
    /// Group of each rank; empty where the block is not filtered.
    pub(crate) groups: Words<'a>,
    pub(crate) dfa: Words<'a>,
    pub(crate) trie: Words<'a>,
    pub(crate) segments: Words<'a>,
    octets: &'a [u8],
}

/// What is the same for every target but robots.txt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Constant {
    /// Nothing.
    Nothing = 0,
    /// The verdict is allow.
    Allows = 1,
    /// The verdict is disallow.
    Disallows = 2,
}

impl<'a> Block<'a> {
    fn view(octets: &'a [u8]) -> Option<Block<'a>> {
        let words = Words(octets);
        let [rung, constant, ..] = words.get(block::RUNG_CONSTANT)?.to_le_bytes();
        let constant = match constant {
            0 => Constant::Nothing,
            1 => Constant::Allows,
            2 => Constant::Disallows,
            _ => return None,
        };
        let rank_count = words.get(block::RANK_COUNT)?;
        let entries = (rank_count as usize).checked_add(1)?;
        let groups = words.get(block::GROUPS)?;
        let section = |offset: usize, len: usize| words.octets(words.get(offset)?, words.at(len)?).map(Words);
        Some(Block {
            rung: Rung::of(rung)?,
            constant,
            rank_count,
            floating_max: words.get(block::FLOATING_MAX)?,
            levels: words.table(words.get(block::LEVELS)?, entries)?,
            groups: words.table(groups, if groups == 0 { 0 } else { entries })?,
            dfa: section(block::DFA, block::DFA_LEN)?,
            trie: section(block::TRIE, block::TRIE_LEN)?,
            segments: section(block::SEGMENTS, block::SEGMENTS_LEN)?,
            octets,
        })
    }

    /// The rung that answers verdicts.
    pub fn rung(&self) -> Rung {
        self.rung
    }

    /// What is the same for every target.
    pub fn constant(&self) -> Constant {
        self.constant
    }

    /// How many rules can decide: those that can not, because an equal one ranks above, are left out.
    pub fn rule_count(&self) -> usize {
        self.rank_count as usize
    }

    /// Whether rules that begin with a star (or `/*`) run beside the DFA.
    pub fn has_floating(&self) -> bool {
        self.floating_max > 0
    }

    /// How many levels the ranks make.
    pub fn level_count(&self) -> usize {
        self.levels.at(self.rank_count as usize).map_or(0, |top| top + 1)
    }

    /// States of the DFA, if there is one.
    pub fn dfa_state_count(&self) -> usize {
        self.dfa.at(dfa::STATE_COUNT).unwrap_or(0) + self.dfa.at(dfa::SPECIAL_COUNT).unwrap_or(0)
    }

    /// Nodes of the trie.
    pub fn trie_node_count(&self) -> usize {
        self.trie.at(trie::NODE_COUNT).unwrap_or(0)
    }

    /// States of the segment automaton, if there is one.
    pub fn segment_state_count(&self) -> usize {
        self.segments.at(segments::STATE_COUNT).unwrap_or(0)
    }

    /// Octets of the DFA, of the trie and of the segment automaton.
    pub fn section_lens(&self) -> [usize; 3] {
        [self.dfa.0.len(), self.trie.0.len(), self.segments.0.len()]
    }

    /// Where its octets lie in memory: as long as they are borrowed, no other block lies there.
    #[cfg(feature = "pipeline")]
    pub(crate) fn place(&self) -> usize {
        self.octets.as_ptr() as usize
    }

    /// Octets of the whole block.
    pub fn octet_len(&self) -> usize {
        self.octets.len()
    }

    /// The level of a rank; 0 for rank 0.
    #[inline]
    pub(crate) fn level(&self, rank: u32) -> Option<u32> {
        match rank.checked_sub(1) {
            Some(index) => self.levels.get(index as usize),
            None => Some(0),
        }
    }

    /// The highest rank of that level or a lower one: no rule up to it can change a verdict that stands at the level.
    pub(crate) fn last_rank_of(&self, level: u32) -> Option<u32> {
        let (mut low, mut high) = (0, self.rank_count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.levels.get(middle as usize)? <= level { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }
}
