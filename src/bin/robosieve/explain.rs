//! `explain`: every step from a URL and an agent to a decision.

use std::collections::HashMap;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use serde_json::{Value, json};

use robosieve::agent::{Agent, LineToken};
use robosieve::decision::{Decision, Reason, Verdict};
use robosieve::explain::{Bound, Explanation, bound, explain_bound};
use robosieve::fetch::{Access, AccessTable, Outcome};
use robosieve::io::json::line;
use robosieve::io::text::{to_terminal_text, to_text};
use robosieve::policy::{Policy, Rule};
use robosieve::store::{Snapshot, SnapshotTime, Store};
use robosieve::url::{BadUrl, Url};

use crate::args::{ExplainArgs, Format};
use crate::exit::{Exit, Failure};
use crate::inspect::{date, time_text};
use crate::output::Output;
use crate::{agents, policies};

pub fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let agents = agents::collect(&args.agents)?;
    let stores = policies::load_for_questions(&args.policies, &args.reading.dialects())?;
    let mut out = Output::create(Path::new("-"))?;
    let mut parsed: Vec<Parsed> = stores.iter().map(|_| Parsed::default()).collect();
    let mut is_first = true;
    for url in &args.urls {
        for agent in &agents {
            for (store, parsed) in stores.iter().zip(&mut parsed) {
                let access = args.reading.access.unwrap_or(store.dialect().access);
                let steps = Steps::take(store, url.as_encoded_bytes(), agent, access, parsed)?;
                match args.format {
                    Format::Json => writeln!(out, "{}", line(&steps.json()))?,
                    Format::Text => {
                        if !std::mem::take(&mut is_first) {
                            writeln!(out)?;
                        }
                        steps.print(&mut out)?;
                    }
                }
            }
        }
    }
    out.commit()?;
    Ok(Exit::Done)
}

/// The policy of a store that was asked last, and what binds whom by it: one URL after another is mostly of the same origin.
#[derive(Default)]
pub struct Parsed {
    last: Option<([u8; 32], Rc<Policy>)>,
    bounds: HashMap<Agent, Bound>,
}

impl Parsed {
    fn take(&mut self, store: &Store, snapshot: &Snapshot<'_>, agent: &Agent) -> Result<(Rc<Policy>, Bound), Failure> {
        let policy = match &self.last {
            Some((digest, policy)) if digest == snapshot.digest() => policy.clone(),
            _ => {
                let body = store.body(snapshot)?.ok_or_else(|| {
                    Failure::new("the store keeps no bodies, which explaining needs: compile the policies again without --no-bodies")
                })?;
                let policy = Rc::new(Policy::parse(&body, store.dialect()));
                self.bounds.clear();
                self.last = Some((*snapshot.digest(), policy.clone()));
                policy
            }
        };
        let bound = self.bounds.entry(agent.clone()).or_insert_with(|| bound(&policy, agent)).clone();
        Ok((policy, bound))
    }
}

/// What is known of one question, step by step, as far as the steps go.
pub struct Steps<'a> {
    store: &'a Store,
    url: &'a [u8],
    agent: &'a Agent,
    access: AccessTable,
    origin: Result<String, BadUrl>,
    /// Where the raw target begins.
    target_at: usize,
    snapshot: Option<Snapshot<'a>>,
    policy: Option<(Rc<Policy>, Bound)>,
}

impl<'a> Steps<'a> {
    /// Takes the steps up to the policy. What it says is asked of it each time.
    pub fn take(store: &'a Store, url: &'a [u8], agent: &'a Agent, access: AccessTable, parsed: &mut Parsed) -> Result<Steps<'a>, Failure> {
        let form = store.dialect().form;
        let cuts_itself = store.has_any_origin() && form.cuts_anything();
        let split = Url::split(url);
        let mut key = Vec::new();
        let named = split.and_then(|url| url.write_key(form.origin(), &mut key));
        let mut steps = Steps {
            store,
            url,
            agent,
            access,
            origin: named.map(|()| String::from_utf8_lossy(&key).into_owned()),
            target_at: match (cuts_itself, split) {
                (false, Ok(split)) => form.start(split.prefix()),
                _ => form.start(url),
            },
            snapshot: None,
            policy: None,
        };
        if steps.origin.is_ok() || cuts_itself {
            steps.snapshot = store.find(&key)?.map(|origin| origin.newest()).transpose()?;
        }
        let snapshot = steps.snapshot.filter(|snapshot| access.read(snapshot.outcome()) == Access::Rules);
        if let Some(snapshot) = snapshot.filter(|snapshot| snapshot.program_index().is_some()) {
            steps.policy = Some(parsed.take(store, &snapshot, agent)?);
        }
        Ok(steps)
    }

    /// The policy that decides, if rules do.
    pub fn policy(&self) -> Option<&Policy> {
        self.policy.as_ref().map(|(policy, _)| &**policy)
    }

    /// What the policy's rules say.
    pub fn explanation(&self) -> Option<Explanation<'_>> {
        self.policy.as_ref().map(|(policy, bound)| explain_bound(policy, bound.clone(), &self.url[self.target_at..]))
    }

    /// The decision.
    pub fn decision(&self, explanation: Option<&Explanation<'_>>) -> Decision {
        if let Some(explanation) = explanation {
            return explanation.decision;
        }
        let form = self.store.dialect().form;
        let Some(snapshot) = self.snapshot else {
            return match self.origin {
                Err(_) => Decision::unresolved(Reason::BadUrl),
                Ok(_) if form.is_exempt(&self.url[self.target_at..], &mut Vec::new()) => Decision::new(Verdict::Allow, Reason::RobotsTxt),
                Ok(_) => Decision::unresolved(Reason::NoPolicy),
            };
        };
        if form.is_exempt(&self.url[self.target_at..], &mut Vec::new()) {
            return Decision::new(Verdict::Allow, Reason::RobotsTxt);
        }
        match self.access.read(snapshot.outcome()) {
            Access::Rules => Decision::new(Verdict::Allow, Reason::NoGroup),
            Access::Allow => Decision::new(Verdict::Allow, Reason::FetchStatus),
            Access::Disallow => Decision::new(Verdict::Disallow, Reason::FetchStatus),
            Access::Unresolved if snapshot.outcome() == Outcome::Unknown => Decision::unresolved(Reason::NoPolicy),
            Access::Unresolved => Decision::unresolved(Reason::FetchStatus),
        }
    }

    fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "url        {}", to_terminal_text(self.url))?;
        match &self.origin {
            Ok(key) => writeln!(out, "origin     {key}")?,
            Err(bad) if self.snapshot.is_some() => writeln!(out, "origin     none ({bad}); the policy answers for anything")?,
            Err(bad) => writeln!(out, "origin     none: {bad}")?,
        }
        match &self.snapshot {
            Some(snapshot) => self.print_snapshot(snapshot, out)?,
            None => writeln!(out, "snapshot   none: no policy is known for this origin")?,
        }
        let explanation = self.explanation();
        if let (Some(policy), Some(explanation)) = (self.policy(), &explanation) {
            self.print_rules(policy, explanation, out)?;
        }
        let decision = self.decision(explanation.as_ref());
        let rule = explanation.as_ref().and_then(|explanation| explanation.matches.first()).filter(|_| decision.rule.index().is_some());
        match rule {
            Some((_, rule)) => writeln!(out, "decision   {} by line {}: {}", decision.verdict, rule.line(), rule_text(rule)),
            None => writeln!(out, "decision   {} ({}: {})", decision.verdict, decision.reason, in_words(decision.reason)),
        }
    }

    fn print_snapshot(&self, snapshot: &Snapshot<'_>, out: &mut impl Write) -> io::Result<()> {
        write!(out, "snapshot   {}, {} octets, {} read", time_text(snapshot.time()), snapshot.body_len(), snapshot.read_len())?;
        writeln!(out, ", sha-256 {}", &snapshot.digest_hex()[..16])?;
        if !snapshot.final_url().is_empty() {
            writeln!(out, "from       {}", to_terminal_text(snapshot.final_url()))?;
        }
        let access = match self.access.read(snapshot.outcome()) {
            Access::Rules => "the rules decide",
            Access::Allow => "everything is allowed",
            Access::Disallow => "everything is disallowed",
            Access::Unresolved => "nothing is known",
        };
        writeln!(out, "fetch      {}: by the access table {}, {access}", snapshot.outcome(), self.access.name())
    }

    fn print_rules(&self, policy: &Policy, explanation: &Explanation<'_>, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "dialect    {}", policy.dialect().name)?;
        let name = to_terminal_text(self.agent.name().as_bytes());
        match &explanation.bound.token {
            Some(token) => writeln!(out, "agent      {name}, bound by the groups of {}", to_terminal_text(token))?,
            None => writeln!(out, "agent      {name}, which no group binds")?,
        }
        for &group in &explanation.bound.groups {
            let lines: Vec<String> =
                policy.group(group).agents().map(|agent| format!("line {} {}", agent.line(), token_text(agent.token()))).collect();
            let rules = policy.group(group).rules().len();
            writeln!(out, "group      {} ({rules} rules)", lines.join(", "))?;
        }
        writeln!(out, "target     {}", to_terminal_text(&self.url[self.target_at..]))?;
        writeln!(out, "canonical  {}", to_terminal_text(&explanation.target))?;
        for (_, rule) in &explanation.matches {
            let spelled =
                if rule.pattern() == rule.value() { String::new() } else { format!("  (as {})", to_terminal_text(rule.pattern())) };
            writeln!(out, "matches    line {:>4}, specificity {:>3}: {}{spelled}", rule.line(), rule.specificity(), rule_text(rule))?;
        }
        if explanation.matches.is_empty() && !explanation.bound.groups.is_empty() {
            writeln!(out, "matches    no rule")?;
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let explanation = self.explanation();
        let decision = self.decision(explanation.as_ref());
        let mut value = json!({
            "url": to_text(self.url).0,
            "agent": self.agent.name(),
            "dialect": self.store.dialect().name,
            "access": self.access.name(),
            "origin": self.origin.as_deref().ok(),
            "target": to_text(&self.url[self.target_at..]).0,
            "snapshot": self.snapshot.map(|snapshot| snapshot_json(&snapshot)),
            "verdict": decision.verdict.name(),
            "reason": decision.reason.name(),
            "token": Value::Null,
            "groups": [],
            "canonical": Value::Null,
            "matches": [],
            "rule": Value::Null,
            "line": 0,
        });
        let (Some(policy), Some(explanation)) = (self.policy(), &explanation) else { return value };
        value["token"] = json!(explanation.bound.token.as_deref().map(|token| to_text(token).0.into_owned()));
        value["groups"] = explanation.bound.groups.iter().map(|&group| group_json(policy, group)).collect();
        value["canonical"] = json!(to_text(&explanation.target).0);
        value["matches"] = explanation.matches.iter().map(|(_, rule)| rule_json(rule)).collect();
        if let Some((_, rule)) = explanation.matches.first().filter(|_| decision.rule.index().is_some()) {
            value["rule"] = json!(to_text(rule.value()).0);
            value["line"] = json!(rule.line());
        }
        value
    }
}

fn snapshot_json(snapshot: &Snapshot<'_>) -> Value {
    json!({
        "time": match snapshot.time() {
            SnapshotTime::Undated => Value::Null,
            SnapshotTime::Effective(seconds) | SnapshotTime::Observed(seconds) => json!(date(seconds)),
        },
        "time_kind": match snapshot.time() {
            SnapshotTime::Undated => "undated",
            SnapshotTime::Effective(_) => "effective",
            SnapshotTime::Observed(_) => "observed",
        },
        "outcome": snapshot.outcome().to_string(),
        "final_url": to_text(snapshot.final_url()).0,
        "octets": snapshot.body_len(),
        "octets_read": snapshot.read_len(),
        "sha256": snapshot.digest_hex(),
    })
}

fn group_json(policy: &Policy, group: u32) -> Value {
    let agent = |agent: robosieve::policy::AgentLine<'_>| json!({ "line": agent.line(), "token": token_text(agent.token()) });
    json!({ "agents": policy.group(group).agents().map(agent).collect::<Vec<_>>(), "rules": policy.group(group).rules().len() })
}

fn rule_json(rule: &Rule<'_>) -> Value {
    json!({
        "line": rule.line(),
        "allows": rule.allows(),
        "rule": to_text(rule.value()).0,
        "pattern": to_text(rule.pattern()).0,
        "specificity": rule.specificity(),
    })
}

fn rule_text(rule: &Rule<'_>) -> String {
    format!("{}: {}", if rule.allows() { "allow" } else { "disallow" }, to_terminal_text(rule.value()))
}

fn token_text(token: Option<LineToken<'_>>) -> String {
    match token {
        Some(LineToken::Star) => "*".to_owned(),
        Some(LineToken::Product(token)) => to_terminal_text(token).into_owned(),
        None => "(nobody)".to_owned(),
    }
}

fn in_words(reason: Reason) -> &'static str {
    match reason {
        Reason::BadUrl => "the URL names no origin",
        Reason::RobotsTxt => "robots.txt itself may always be fetched",
        Reason::NoPolicy => "no policy is known for the origin",
        Reason::FetchStatus => "the outcome of the fetch decides",
        Reason::NoGroup => "no group binds the agent",
        Reason::NoRule => "no rule of the groups matches",
        _ => "see the manual",
    }
}
