//! The answer: a verdict, its reason and the rule that decided.

use std::fmt;

/// What the Robots Exclusion Protocol says about crawling a URL. It is no permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Verdict {
    /// The protocol lets the agent crawl it.
    Allow = 0,
    /// The protocol asks the agent not to.
    Disallow = 1,
    /// There is no answer: see the [`Reason`]. Never to be folded into one of the others silently.
    Unresolved = 2,
}

impl Verdict {
    /// `allow`, `disallow` or `unresolved`.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Disallow => "disallow",
            Verdict::Unresolved => "unresolved",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a verdict is what it is. The variants stand in the order in which they are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Reason {
    /// The row names no origin.
    BadUrl = 0,
    /// `/robots.txt` itself is always allowed (RFC 9309, section 2.2.2).
    RobotsTxt = 1,
    /// No policy is known for the origin.
    NoPolicy = 2,
    /// The stored policy does not pass its checks.
    Corrupt = 3,
    /// The policy is older than was asked for.
    Stale = 4,
    /// The outcome of the fetch decided (RFC 9309, section 2.3.1).
    FetchStatus = 5,
    /// No group binds the agent (RFC 9309, section 2.2.1).
    NoGroup = 6,
    /// A rule decided.
    Rule = 7,
    /// A group binds the agent, and none of its rules matches.
    NoRule = 8,
}

impl Reason {
    /// Every reason, in the order in which they are asked.
    pub const ALL: [Reason; 9] = [
        Reason::BadUrl,
        Reason::RobotsTxt,
        Reason::NoPolicy,
        Reason::Corrupt,
        Reason::Stale,
        Reason::FetchStatus,
        Reason::NoGroup,
        Reason::Rule,
        Reason::NoRule,
    ];

    /// The name that outputs use.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::BadUrl => "bad-url",
            Reason::RobotsTxt => "robots-txt",
            Reason::NoPolicy => "no-policy",
            Reason::Corrupt => "corrupt",
            Reason::Stale => "stale",
            Reason::FetchStatus => "fetch-status",
            Reason::NoGroup => "no-group",
            Reason::Rule => "rule",
            Reason::NoRule => "no-rule",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The id of a rule in its policy: its position among the policy's rules in file order, or none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(u32);

impl RuleId {
    /// No rule.
    pub const NONE: RuleId = RuleId(u32::MAX);

    /// The id of the rule at `index`.
    ///
    /// # Panics
    ///
    /// Never for a rule of a policy: a policy of the largest size has far fewer.
    pub const fn new(index: u32) -> RuleId {
        assert!(index != u32::MAX, "a rule's index is below 2^32 - 1");
        RuleId(index)
    }

    /// The id of the rule at `index`, if a rule can stand there.
    pub(crate) const fn checked(index: u32) -> Option<RuleId> {
        match index {
            u32::MAX => None,
            index => Some(RuleId(index)),
        }
    }

    /// The rule's index, if there is a rule.
    pub const fn index(self) -> Option<u32> {
        match self.0 {
            u32::MAX => None,
            index => Some(index),
        }
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index() {
            Some(index) => write!(f, "RuleId({index})"),
            None => f.write_str("RuleId(none)"),
        }
    }
}

/// Marks on a decision that change no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u16);

impl Flags {
    /// No mark.
    pub const NONE: Flags = Flags(0);
    /// The policy is older than 24 hours at the time asked for (RFC 9309, section 2.4).
    pub const STALE: Flags = Flags(1);

    /// Whether every mark of `other` is set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both marks.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// One answer for one agent and one URL, in eight octets.
///
/// ```
/// use robosieve::decision::{Decision, Reason, Verdict};
///
/// let decision = Decision::unresolved(Reason::NoPolicy);
/// assert_eq!(decision.verdict, Verdict::Unresolved);
/// assert_eq!(size_of::<Decision>(), 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decision {
    /// What the protocol says.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
    /// Marks that change no verdict.
    pub flags: Flags,
    /// The rule that decided, if one did.
    pub rule: RuleId,
}

impl Decision {
    /// A decision without a rule.
    pub const fn new(verdict: Verdict, reason: Reason) -> Decision {
        Decision { verdict, reason, flags: Flags::NONE, rule: RuleId::NONE }
    }

    /// No answer, and why.
    pub const fn unresolved(reason: Reason) -> Decision {
        Decision::new(Verdict::Unresolved, reason)
    }

    /// A rule decided.
    pub const fn by_rule(verdict: Verdict, rule: RuleId) -> Decision {
        Decision { verdict, reason: Reason::Rule, flags: Flags::NONE, rule }
    }
}
