//! However a policy is compiled, it decides as its rules do when they are asked one by one, and in `rfc9309` as the oracle does. The input is a body,
//! and behind its last NUL, if it has one, targets, one a line.

use std::cmp::Reverse;

use robosieve::agent::{Agent, LineToken};
use robosieve::compile::{Options, compile};
use robosieve::decision::{Decision, Reason, RuleId, Verdict};
use robosieve::dialect::Dialect;
use robosieve::form::AgentComparison;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::percent::Parts;
use robosieve::policy::Policy;
use robosieve::program::{Detail, Program, Rung};

use crate::oracle::{self, Oracle};

/// More rules and targets than this cost the naive side more than they show.
const MAX_RULES: usize = 200;
const MAX_TARGETS: usize = 16;

pub fn check(data: &[u8]) {
    let nul = data.iter().rposition(|&octet| octet == 0);
    let (body, rows) = nul.map_or((data, &data[data.len()..]), |nul| (&data[..nul], &data[nul + 1..]));
    let oracle = Oracle::parse(body);
    // A few ways to compile an input, all of them over many.
    let choice = data.iter().fold(0, |sum, &octet| sum + usize::from(octet));
    for dialect in Dialect::ALL {
        let policy = Policy::parse(body, &dialect);
        if policy.rules().len() <= MAX_RULES {
            let oracle = Some(&oracle).filter(|_| dialect.name == "rfc9309");
            Case::new(&policy, choice).check(&targets(&policy, rows), oracle);
        }
    }
}

/// Ways to compile: rungs, budgets that end early, both details.
fn ways(choice: usize) -> Vec<Options> {
    let default = Options::default();
    let rungs = [Rung::Constant, Rung::Dfa, Rung::Backstop].map(|rung| default.clone().with_rung(Some(rung)));
    let budgets = [(0, None), (90, None), (400, Some(200)), (1_000_000, Some(0)), (1_000_000, Some(100))];
    let budgets = budgets.map(|(work, merge)| default.clone().with_budgets(work, merge));
    let all: Vec<Options> = rungs.into_iter().chain(budgets).collect();
    let details = [Detail::Verdicts, Detail::Rules];
    let chosen = (0..2).map(|i| all[(choice / [1, all.len()][i]) % all.len()].clone().with_detail(details[(choice + i) % 2]));
    details.map(|detail| default.clone().with_detail(detail)).into_iter().chain(chosen).collect()
}

/// What stands behind the authority of URLs: the rows of the input, and what the rules' own texts suggest.
fn targets(policy: &Policy, rows: &[u8]) -> Vec<Vec<u8>> {
    let mut targets: Vec<Vec<u8>> = rows.split(|&octet| octet == b'\n').map(behind_authority).take(MAX_TARGETS / 2).collect();
    for rule in policy.rules() {
        for fill in [&b""[..], b"x?q=%2F"] {
            let stretches: Vec<&[u8]> = rule.value().split(|&octet| octet == b'*').collect();
            let text = stretches.join(fill);
            let text = text.strip_suffix(b"$").unwrap_or(&text);
            targets.push(behind_authority(text));
            targets.push(behind_authority(&[text, b"a"].concat()));
        }
    }
    targets.push(b"/robots.txt?x".to_vec());
    targets.truncate(MAX_TARGETS);
    targets
}

fn behind_authority(row: &[u8]) -> Vec<u8> {
    match row {
        [] | [b'/' | b'?' | b'#', ..] => row.to_vec(),
        _ => [b"/", row].concat(),
    }
}

/// An agent, and the text that it is compared by where one is given as a token.
struct Asked {
    agent: Agent,
    given: Option<&'static str>,
}

fn agents() -> Vec<Asked> {
    let token = |given: &'static str| Asked { agent: Agent::token(given).unwrap(), given: Some(given) };
    let other = |agent: Agent| Asked { agent, given: None };
    vec![
        token("*"),
        token("ABOT/2"),
        other(Agent::profile("x-bbot", ["bbot", "abot"], true)),
        other(Agent::profile("cbot", ["cbot"], false)),
        other(Agent::from_header("Mozilla/5.0 (compatible; bbot/1.0; +http://a.example/abot)")),
    ]
}

struct Case<'p> {
    policy: &'p Policy,
    programs: Vec<(Options, Vec<u8>)>,
    parts: Vec<Option<Parts>>,
}

impl<'p> Case<'p> {
    fn new(policy: &'p Policy, choice: usize) -> Case<'p> {
        let programs = ways(choice).into_iter().map(|options| (options.clone(), compile(policy, &options))).collect();
        let form = policy.dialect().form;
        let parts = |pattern: &[u8], value: &[u8]| (!pattern.is_empty()).then(|| form.parts(pattern, value));
        Case { policy, programs, parts: policy.rules().map(|rule| parts(rule.pattern(), rule.value())).collect() }
    }

    fn check(&self, targets: &[Vec<u8>], oracle: Option<&Oracle>) {
        let programs: Vec<Program> = self.programs.iter().map(|(_, octets)| Program::check(octets).unwrap()).collect();
        for asked in agents() {
            let bound = self.bound(&asked);
            for raw in targets {
                let right = self.right(bound.as_deref(), raw);
                if let Some(oracle) = oracle {
                    let url = [b"https://example.com", &raw[..]].concat();
                    assert_eq!(self.answer(right), right_answer(oracle, &asked.agent, &url), "{asked:?} {}", raw.escape_ascii());
                }
                for (program, (options, _)) in programs.iter().zip(&self.programs) {
                    let decision = decide(program, &asked.agent, raw);
                    let name = self.policy.dialect().name;
                    assert_eq!(decision, right, "{name} {options:?} {asked:?} {}\n{program:#}", raw.escape_ascii());
                }
            }
        }
    }

    /// Verdict, reason and line.
    fn answer(&self, decision: Decision) -> (Verdict, Reason, u32) {
        let line = self.policy.rule(decision.rule).map_or(0, |rule| rule.line());
        (decision.verdict, decision.reason, line)
    }

    /// The ids of the rules that bind an agent, found by looking at every user-agent line.
    fn bound(&self, asked: &Asked) -> Option<Vec<u32>> {
        let tokens: Vec<Vec<u8>> = match (self.policy.dialect().form.agents(), asked.given) {
            (AgentComparison::Contained, _) => return self.best_contained(&asked.agent).map(|token| self.bound_by(&token)),
            (AgentComparison::GivenIgnoringCase, Some(given)) => vec![given.into()],
            _ => asked.agent.tokens().iter().map(|token| token.clone().into_bytes()).collect(),
        };
        let star = asked.agent.star().then(|| b"*".to_vec());
        let named = tokens.into_iter().filter(|token| token != b"*").chain(star).find(|token| self.names(token));
        named.map(|token| self.bound_by(&token))
    }

    fn names(&self, token: &[u8]) -> bool {
        self.policy.groups().flat_map(|group| group.agents()).any(|line| line.token().is_some_and(|named| is(named, token)))
    }

    fn bound_by(&self, token: &[u8]) -> Vec<u32> {
        let groups = self.policy.groups().filter(|group| group.agents().any(|line| line.token().is_some_and(|named| is(named, token))));
        groups.flat_map(|group| group.rule_range()).collect()
    }

    /// The first of the longest tokens that stand in the agent's text.
    fn best_contained(&self, agent: &Agent) -> Option<Vec<u8>> {
        let text = agent.given().to_lowercase();
        let mut best: Option<(usize, Vec<u8>)> = None;
        for token in self.policy.groups().flat_map(|group| group.agents()).filter_map(|line| line.token()) {
            let (token, score) = match token {
                LineToken::Star => (&b"*"[..], usize::from(agent.star())),
                LineToken::Product(token) if stands_in(token, &text) => (token, String::from_utf8_lossy(token).chars().count()),
                LineToken::Product(_) => continue,
            };
            if score > best.as_ref().map_or(0, |(score, _)| *score) {
                best = Some((score, token.to_vec()));
            }
        }
        best.map(|(_, token)| token)
    }

    fn right(&self, bound: Option<&[u32]>, raw: &[u8]) -> Decision {
        let form = self.policy.dialect().form;
        let mut buffer = Vec::new();
        if form.is_exempt(raw, &mut buffer) {
            return Decision::new(Verdict::Allow, Reason::RobotsTxt);
        }
        let Some(bound) = bound else { return Decision::new(Verdict::Allow, Reason::NoGroup) };
        let target = form.canonical(raw, &mut buffer);
        let matches = |rule: &&u32| self.parts[**rule as usize].as_ref().is_some_and(|parts| parts.matches(target));
        let rank = |&id: &u32| {
            let rule = self.policy.rules().nth(id as usize).unwrap();
            (rule.specificity(), rule.allows(), Reverse(id))
        };
        match bound.iter().filter(matches).map(rank).max() {
            Some((_, true, Reverse(id))) => Decision::by_rule(Verdict::Allow, RuleId::new(id)),
            Some((_, false, Reverse(id))) => Decision::by_rule(Verdict::Disallow, RuleId::new(id)),
            None => Decision::new(Verdict::Allow, Reason::NoRule),
        }
    }
}

impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.agent.fmt(f)
    }
}

fn is(named: LineToken<'_>, token: &[u8]) -> bool {
    match named {
        LineToken::Star => token == b"*",
        LineToken::Product(product) => product.eq_ignore_ascii_case(token),
    }
}

/// Whether `token` stands in `text` behind nothing that goes on with a name.
fn stands_in(token: &[u8], text: &str) -> bool {
    let goes_on = |before: char| before.is_alphanumeric() || matches!(before, '-' | '_');
    text.char_indices().any(|(at, _)| text.as_bytes()[at..].starts_with(token) && !text[..at].chars().next_back().is_some_and(goes_on))
}

fn decide(program: &Program<'_>, agent: &Agent, raw: &[u8]) -> Decision {
    let mut scratch = Scratch::new();
    let Some(set) = program.bind(agent).rule_set() else {
        let exempt = program.form().is_exempt(raw, &mut Vec::new());
        return Decision::new(Verdict::Allow, if exempt { Reason::RobotsTxt } else { Reason::NoGroup });
    };
    let matcher = Matcher::new(program.rule_set(set).unwrap()).unwrap();
    let decision = matcher.decide(raw, &mut scratch).unwrap();
    let allows = matcher.allows(raw, &mut scratch).unwrap();
    assert_eq!(allows, decision.verdict == Verdict::Allow, "verdict and decision differ on {}\n{program:#}", raw.escape_ascii());
    decision
}

/// The oracle's answer in the engine's words: verdict, reason, line.
pub fn right_answer(oracle: &Oracle, agent: &Agent, url: &[u8]) -> (Verdict, Reason, u32) {
    let tokens: Vec<&str> = agent.tokens().iter().map(String::as_str).collect();
    let answer = oracle.decide(&tokens, agent.star(), url);
    let verdict = match answer.verdict {
        oracle::Verdict::Allow => Verdict::Allow,
        oracle::Verdict::Disallow => Verdict::Disallow,
        oracle::Verdict::Unresolved => Verdict::Unresolved,
    };
    (verdict, Reason::ALL.into_iter().find(|reason| reason.name() == answer.reason).unwrap(), answer.line)
}
