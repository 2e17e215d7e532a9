//! A rule set and a target to a verdict.
//!
//! ```text
//! raw target ──▶ constant ─────────────────────────────────────────────▶ verdict
//!            ──▶ DFA over raw octets ──▶ value ──▶ floating rules ─────▶ verdict
//!                     │ an octet that canonicalising may change            ▲
//!                     ▼                                                    │ highest rank
//!                canonical target ──▶ radix trie ──▶ segment automaton ────┘
//! ```
//!
//! The DFA reads the target as it stands in the URL. Only when it meets an octet on which canonicalising is not the identity before it has come to an
//! end does the target get canonical octets, and the backstop decides on those. Nothing allocates once a [`Scratch`] has grown to the sizes that the
//! programs need.

mod backstop;
#[cfg(feature = "pipeline")]
pub(crate) mod block;
#[cfg(feature = "pipeline")]
mod floating;
#[cfg(feature = "pipeline")]
mod kernel;
mod walk;
#[cfg(feature = "pipeline")]
mod waves;

use super::program::view::{DfaView, SegmentsView, TrieView};
use super::program::{Constant, Corrupt, Detail, RuleSet, Rung};
use crate::protocol::decision::{Decision, Reason, RuleId, Verdict};
use backstop::Progress;
use walk::{End, walk};

/// Buffers that matching needs: one a thread, for any number of programs.
#[derive(Debug, Default)]
pub struct Scratch {
    canonical: Vec<u8>,
    progress: Progress,
}

impl Scratch {
    /// Empty buffers.
    pub fn new() -> Scratch {
        Scratch::default()
    }
}

/// One rule set, ready to be asked.
///
/// ```
/// use robosieve::{agent::Agent, compile::compile, dialect::RFC9309, matcher::{Matcher, Scratch}, policy::Policy, program::Program};
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /a\nAllow: /a/b\n", &RFC9309);
/// let octets = compile(&policy, &Default::default());
/// let program = Program::check(&octets)?;
/// let rule_set = program.bind(&Agent::token("AnyBot").unwrap()).rule_set().unwrap();
/// let matcher = Matcher::new(program.rule_set(rule_set)?)?;
/// let mut scratch = Scratch::new();
/// assert!(!matcher.allows(b"/a?x", &mut scratch)?);
/// assert!(matcher.allows(b"/a/b/c", &mut scratch)?);
/// assert_eq!(matcher.decide(b"/a/b/c", &mut scratch)?.rule.index(), Some(1));
/// # Ok::<(), robosieve::program::Corrupt>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Matcher<'p> {
    rules: RuleSet<'p>,
    dfa: Option<DfaView<'p>>,
    trie: TrieView<'p>,
    segments: Option<SegmentsView<'p>>,
}

impl<'p> Matcher<'p> {
    /// Reads the headers of the rule set's automata.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when they are none: the program was not checked, or changed since.
    pub fn new(rules: RuleSet<'p>) -> Result<Matcher<'p>, Corrupt> {
        Matcher::of(rules).ok_or(Corrupt::new("automata"))
    }

    fn of(rules: RuleSet<'p>) -> Option<Matcher<'p>> {
        let block = rules.block;
        let dfa = match block.rung {
            Rung::Dfa => Some(DfaView::new(block.dfa)?),
            Rung::Constant | Rung::Backstop => None,
        };
        let segments = if block.segments.len() > 0 { Some(SegmentsView::new(block.segments)?) } else { None };
        Some(Matcher { rules, dfa, trie: TrieView::new(block.trie)?, segments })
    }

    /// The rule set it asks.
    pub fn rule_set(&self) -> RuleSet<'p> {
        self.rules
    }

    /// Whether many targets can be decided at once: by an automaton that can be copied, with floating rules that can be sought by fingerprints. Else each is
    /// decided by itself.
    #[cfg(feature = "pipeline")]
    pub fn decides_blocks(&self) -> bool {
        self.rules.block.rung == Rung::Constant || block::Prepared::new(self).is_some()
    }

    /// Whether the rules allow `raw`: what stands behind a URL's authority, as written (see [`Url::rest`](crate::target::url::Url::rest)).
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when the program's octets changed since they were checked.
    #[inline]
    pub fn allows(&self, raw: &[u8], scratch: &mut Scratch) -> Result<bool, Corrupt> {
        self.allows_inner(raw, scratch).ok_or(Corrupt::new("changed while in use"))
    }

    #[inline]
    fn allows_inner(&self, raw: &[u8], scratch: &mut Scratch) -> Option<bool> {
        if self.rules.form.is_exempt_as_written(raw) {
            return Some(true);
        }
        if let (Rung::Constant, constant) = (self.rules.block.rung, self.rules.block.constant) {
            return Some(constant == Constant::Allows || self.rules.form.is_exempt(raw, &mut scratch.canonical));
        }
        let end = match &self.dfa {
            Some(dfa) => walk(dfa, raw)?,
            None => End::Slow,
        };
        let level = match end {
            End::Value(value) => self.with_floating(value, self.level_of_value(value)?, raw, scratch)?,
            End::Slow => self.rules.block.level(self.backstop(raw, scratch)?)?,
        };
        Some(level.is_multiple_of(2))
    }

    /// The level once the floating rules had their say.
    #[inline]
    fn with_floating(&self, value: u32, level: u32, raw: &[u8], scratch: &mut Scratch) -> Option<u32> {
        let block = &self.rules.block;
        if block.floating_max == 0 || block.level(block.floating_max)? <= level {
            return Some(level);
        }
        let known = if self.rules.detail == Detail::Rules { value } else { block.last_rank_of(level)? };
        let rank = self.floating(known, raw, scratch)?;
        Some(level.max(block.level(rank)?))
    }

    /// Decides `raw`: the verdict and the rule.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when the program's octets changed since they were checked.
    pub fn decide(&self, raw: &[u8], scratch: &mut Scratch) -> Result<Decision, Corrupt> {
        if self.rules.form.is_exempt_as_written(raw) {
            return Ok(Decision::new(Verdict::Allow, Reason::RobotsTxt));
        }
        let rank = self.rank(raw, scratch);
        rank.and_then(|rank| self.decision(rank)).ok_or(Corrupt::new("changed while in use"))
    }

    fn rank(&self, raw: &[u8], scratch: &mut Scratch) -> Option<u32> {
        match &self.dfa {
            Some(dfa) if self.rules.detail == Detail::Rules => match walk(dfa, raw)? {
                End::Value(rank) if rank >= self.rules.block.floating_max => Some(rank),
                End::Value(rank) => self.floating(rank, raw, scratch),
                End::Slow => self.backstop(raw, scratch),
            },
            _ => self.backstop(raw, scratch),
        }
    }

    /// The decision by a rank that decides.
    #[inline]
    pub(crate) fn decision(&self, rank: u32) -> Option<Decision> {
        if rank == 0 {
            return Some(Decision::new(Verdict::Allow, Reason::NoRule));
        }
        if rank > self.rules.block.rank_count {
            return Some(Decision::new(Verdict::Allow, Reason::RobotsTxt));
        }
        let verdict = if self.rules.block.level(rank)? % 2 == 0 { Verdict::Allow } else { Verdict::Disallow };
        Some(Decision::by_rule(verdict, RuleId::checked(self.rules.map.get(rank as usize - 1)?)?))
    }

    fn level_of_value(&self, value: u32) -> Option<u32> {
        match self.rules.detail {
            Detail::Verdicts => Some(value),
            Detail::Rules => self.rules.block.level(value),
        }
    }

    /// The highest rank of all rules that match, by trie and segment automaton.
    fn backstop(&self, raw: &[u8], scratch: &mut Scratch) -> Option<u32> {
        let Scratch { canonical, progress } = scratch;
        let target = self.rules.form.canonical(raw, canonical);
        let RuleSet { filter, block, .. } = self.rules;
        if filter.len() == 0 {
            return progress.best(&self.trie, self.segments.as_ref(), target, |_| Some(true));
        }
        let binds = |rank: u32| {
            let group = block.groups.get(rank as usize - 1)?;
            Some(group == u32::MAX || contains(filter, group)?)
        };
        progress.best(&self.trie, self.segments.as_ref(), target, binds)
    }

    /// The highest rank of `known` and the floating rules that match.
    fn floating(&self, known: u32, raw: &[u8], scratch: &mut Scratch) -> Option<u32> {
        let Scratch { canonical, progress } = scratch;
        let target = self.rules.form.canonical(raw, canonical);
        progress.best_floating(self.segments.as_ref()?, target, known)
    }
}

fn contains(sorted: super::program::Words<'_>, wanted: u32) -> Option<bool> {
    let (mut low, mut high) = (0, sorted.len());
    while low < high {
        let middle = low + (high - low) / 2;
        match sorted.get(middle)?.cmp(&wanted) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return Some(true),
        }
    }
    Some(false)
}
