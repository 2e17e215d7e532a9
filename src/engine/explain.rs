//! Explanations: every step from a policy, an agent and a target to a decision, and why two readings decide otherwise.
//!
//! An explanation looks at one rule after another, so it costs the rules times the target. It is for people who ask about one URL, and what it decides is
//! what the [matcher](super::matcher) decides: a test holds the one to the other.

use std::fmt;

use super::compile::{Options, compile};
use super::program::{Binding, Program};
use crate::protocol::agent::{Agent, LineToken};
use crate::protocol::decision::{Decision, Reason, RuleId, Verdict};
use crate::protocol::policy::{Policy, Rule};

/// Which groups of a policy bind an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The token by which they do: `*`, or one in lower case; `None` where no group binds the agent.
    pub token: Option<Vec<u8>>,
    /// The indices of the groups, in file order.
    pub groups: Vec<u32>,
}

/// Finds the groups that bind `agent` (RFC 9309, section 2.2.1, or as the policy's dialect has it).
///
/// ```
/// use robosieve::{agent::Agent, dialect::RFC9309, explain::bound, policy::Policy};
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /\n\nUser-agent: GPTBot\nAllow: /\n", &RFC9309);
/// assert_eq!(bound(&policy, &Agent::token("gptbot")?).groups, [1]);
/// # Ok::<(), robosieve::agent::AgentError>(())
/// ```
pub fn bound(policy: &Policy, agent: &Agent) -> Bound {
    let octets = compile(policy, &Options::default().with_budgets(0, Some(0)));
    let program = Program::view(&octets).expect("a program that was just compiled is sound");
    let token = match program.bind(agent) {
        Binding::Nobody => return Bound { token: None, groups: Vec::new() },
        Binding::Star { .. } => b"*".to_vec(),
        Binding::Contained { token, .. } => token.to_vec(),
        Binding::Named { token, .. } => agent.tokens()[token].to_ascii_lowercase().into_bytes(),
    };
    let names = |line: LineToken<'_>| match line {
        LineToken::Star => token == b"*",
        LineToken::Product(product) => product.eq_ignore_ascii_case(&token),
    };
    let binds = |index: &u32| policy.group(*index).agents().any(|agent| agent.token().is_some_and(names));
    let groups = (0..policy.groups().len() as u32).filter(binds).collect();
    Bound { token: Some(token), groups }
}

/// Every step to a decision.
#[derive(Debug, Clone)]
pub struct Explanation<'p> {
    /// Which groups bind the agent.
    pub bound: Bound,
    /// The canonical target.
    pub target: Vec<u8>,
    /// The rules of those groups that match it, in order of precedence: the first decides.
    pub matches: Vec<(RuleId, Rule<'p>)>,
    /// The decision.
    pub decision: Decision,
}

/// Explains what `policy` says to `agent` about `raw`: what stands behind a URL's authority, as written.
///
/// ```
/// use robosieve::{agent::Agent, dialect::RFC9309, explain::explain, policy::Policy};
///
/// let policy = Policy::parse(b"User-agent: *\nDisallow: /a\nAllow: /a/%62\n", &RFC9309);
/// let explanation = explain(&policy, &Agent::token("AnyBot")?, b"/a/b?c");
/// let lines: Vec<_> = explanation.matches.iter().map(|(_, rule)| (rule.line(), rule.specificity())).collect();
/// assert_eq!(lines, [(3, 4), (2, 2)]);
/// assert_eq!(explanation.decision.verdict.name(), "allow");
/// # Ok::<(), robosieve::agent::AgentError>(())
/// ```
pub fn explain<'p>(policy: &'p Policy, agent: &Agent, raw: &[u8]) -> Explanation<'p> {
    explain_bound(policy, bound(policy, agent), raw)
}

/// As [`explain`], for an agent of whom it is known what binds it: many targets may be asked about.
pub fn explain_bound<'p>(policy: &'p Policy, bound: Bound, raw: &[u8]) -> Explanation<'p> {
    let form = policy.dialect().form;
    let mut buffer = Vec::new();
    let target = form.canonical(raw, &mut buffer).to_vec();
    let is_bound = |rule: &Rule<'_>| bound.groups.binary_search(&rule.group()).is_ok();
    let mut matches: Vec<(RuleId, Rule<'p>)> =
        (0..).map(RuleId::new).zip(policy.rules()).filter(|(_, rule)| is_bound(rule) && matches(policy, rule, &target)).collect();
    matches.sort_by_key(|(id, rule)| (std::cmp::Reverse((rule.specificity(), rule.allows())), id.index()));
    let decision = match (&bound.token, matches.first()) {
        _ if form.is_exempt(raw, &mut buffer) => Decision::new(Verdict::Allow, Reason::RobotsTxt),
        (None, _) => Decision::new(Verdict::Allow, Reason::NoGroup),
        (Some(_), None) => Decision::new(Verdict::Allow, Reason::NoRule),
        (Some(_), Some((id, rule))) => Decision::by_rule(if rule.allows() { Verdict::Allow } else { Verdict::Disallow }, *id),
    };
    Explanation { bound, target, matches, decision }
}

fn matches(policy: &Policy, rule: &Rule<'_>, target: &[u8]) -> bool {
    !rule.pattern().is_empty() && policy.dialect().form.parts(rule.pattern(), rule.value()).matches(target)
}

/// Why two readings of one robots.txt decide otherwise about a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    /// One of them takes the row for no URL.
    Url,
    /// One of them exempts robots.txt.
    RobotsTxt,
    /// They look for the policy under different origins.
    Origin,
    /// They take the outcome of the fetch otherwise.
    Access,
    /// Other groups bind the agent.
    Group,
    /// A line is a rule to one of them alone.
    Line,
    /// A rule matches for one of them alone: other octets are compared.
    Octets,
    /// The same rules match, and another one is the most specific.
    Specificity,
}

impl Cause {
    /// Every cause, in the order in which they are asked.
    pub const ALL: [Cause; 8] =
        [Cause::Url, Cause::RobotsTxt, Cause::Origin, Cause::Access, Cause::Group, Cause::Line, Cause::Octets, Cause::Specificity];

    /// The name that outputs use.
    pub const fn name(self) -> &'static str {
        match self {
            Cause::Url => "url",
            Cause::Origin => "origin",
            Cause::Access => "access",
            Cause::RobotsTxt => "robots-txt",
            Cause::Group => "group",
            Cause::Line => "line",
            Cause::Octets => "octets",
            Cause::Specificity => "specificity",
        }
    }

    /// The cause that reasons alone show: one step of a decision was taken by one reading only.
    pub fn of_reasons(a: Reason, b: Reason) -> Option<Cause> {
        let either = |reason| (a == reason) != (b == reason);
        // In the order in which reasons are asked.
        if either(Reason::BadUrl) {
            Some(Cause::Url)
        } else if either(Reason::RobotsTxt) {
            Some(Cause::RobotsTxt)
        } else if either(Reason::NoPolicy) {
            Some(Cause::Origin)
        } else if either(Reason::FetchStatus) || (a, b) == (Reason::FetchStatus, Reason::FetchStatus) {
            Some(Cause::Access)
        } else {
            None
        }
    }

    /// The cause that policies and explanations show.
    pub fn of(a: (&Policy, &Explanation<'_>), b: (&Policy, &Explanation<'_>)) -> Cause {
        let (decision_a, decision_b) = (a.1.decision, b.1.decision);
        if let Some(cause) = Cause::of_reasons(decision_a.reason, decision_b.reason) {
            return cause;
        }
        let known = [(a, b), (b, a)].into_iter().find_map(|(mine, other)| {
            let line = mine.1.matches.first()?.1.line();
            if other.0.rules().all(|rule| rule.line() != line) {
                return Some(Cause::Line);
            }
            let is_bound = |rule: &Rule<'_>| rule.line() == line && other.1.bound.groups.contains(&rule.group());
            if !other.0.rules().any(|rule| is_bound(&rule)) {
                return Some(Cause::Group);
            }
            let matches = other.1.matches.iter().any(|(_, rule)| rule.line() == line);
            (!matches).then_some(Cause::Octets)
        });
        known.unwrap_or(Cause::Specificity)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::dialect::{Dialect, GOOGLE, RFC9309, SCRAPY};

    fn cause(body: &str, agent: &str, raw: &str, a: Dialect, b: Dialect) -> Cause {
        let agent = Agent::token(agent).unwrap();
        let policies = [a, b].map(|dialect| Policy::parse(body.as_bytes(), &dialect));
        let explanations = [0, 1].map(|index| explain(&policies[index], &agent, raw.as_bytes()));
        assert_ne!(explanations[0].decision.verdict, explanations[1].decision.verdict, "{body:?}");
        Cause::of((&policies[0], &explanations[0]), (&policies[1], &explanations[1]))
    }

    #[test]
    fn causes() {
        assert_eq!(cause("User-agent: *\nDisalow: /x", "a", "/x", RFC9309, GOOGLE), Cause::Line);
        assert_eq!(cause("User-agent: MJ12bot\nDisallow: /x", "MJ12bot", "/x", RFC9309, GOOGLE), Cause::Group);
        assert_eq!(cause("User-agent: *\nDisallow: /%78", "a", "/x", RFC9309, GOOGLE), Cause::Octets);
        assert_eq!(cause("User-agent: *\nDisallow: /", "a", "/robots.txt", RFC9309, GOOGLE), Cause::RobotsTxt);
        assert_eq!(Cause::of_reasons(Reason::RobotsTxt, Reason::NoPolicy), Some(Cause::RobotsTxt), "an origin without a policy");
        assert_eq!(cause("User-agent: *\nAllow: /a/\nDisallow: /*?", "a", "/a/?", RFC9309, SCRAPY), Cause::Specificity);
    }
}
