//! What is wrong, or not as its author may think, with one robots.txt.
//!
//! Findings of the parse come as they are. Beside them stand those that need more than a line: rules in conflict, groups that leave out what `*` has,
//! lines that the dialects read otherwise, and, proved on automata, rules that decide nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::analyse::{Analysis, Budget, Reach};
use super::matcher::{Matcher, Scratch};
use crate::protocol::agent::LineToken;
use crate::protocol::decision::RuleId;
use crate::protocol::dialect::{Dialect, GOOGLE};
use crate::protocol::policy::{AgentLine, FindingCode, Group, Policy, Rule};
use crate::protocol::text::Text;
use crate::target::percent::escape_value;

/// A finding with what is to be said of this one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// The line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// What was found. Its [severity](FindingCode::severity) and [advice](FindingCode::advice) go with it.
    pub code: FindingCode,
    /// What is said of this one; empty where the advice says it all. It may hold octets of the file, as text.
    pub detail: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]: {}", self.code.severity(), self.code, self.code.advice())?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, " ({})", self.detail) }
    }
}

/// Looks through a robots.txt, as `dialect` reads it. Remarks come by line, those on the file as a whole first.
///
/// ```
/// use robosieve::{dialect::RFC9309, lint::lint};
///
/// let remarks = lint(b"User-agent: *\nAllow: /*a/b\nDisallow: /a/b\nDisalow: /c\n", &RFC9309);
/// let found: Vec<_> = remarks.iter().map(|remark| (remark.line, remark.code.name())).collect();
/// assert_eq!(found, [(3, "shadowed-rule"), (4, "misspelled-key"), (4, "read-differently")]);
/// ```
pub fn lint(body: &[u8], dialect: &Dialect) -> Vec<Remark> {
    let policy = Policy::parse(body, dialect);
    let mut remarks: Vec<Remark> = policy.findings().iter().map(|finding| remark(finding.line, finding.code, String::new())).collect();
    if remarks.iter().any(|remark| remark.code == FindingCode::Html) {
        // What a page holds line by line is of no interest.
        remarks.retain(|remark| remark.line == 0);
        return remarks;
    }
    long_lines(body, dialect, &mut remarks);
    let analysis = Analysis::of(&policy);
    conflicts(&policy, &analysis, &mut remarks);
    let budget = Budget::of(policy.read_len());
    lacking(&policy, &analysis, budget, &mut remarks);
    // What lies behind the limit is found as such, and not once more line by line.
    differences(&body[..policy.read_len()], &policy, &mut remarks);
    proofs(&policy, &analysis, budget, &mut remarks);
    remarks.sort_by_key(|remark| (remark.line, remark.code));
    remarks.dedup();
    remarks
}

fn remark(line: u32, code: FindingCode, detail: impl Into<String>) -> Remark {
    Remark { line, code, detail: detail.into() }
}

fn long_lines(body: &[u8], dialect: &Dialect, remarks: &mut Vec<Remark>) {
    let limit = GOOGLE.line_limit.unwrap_or(usize::MAX);
    // Whatever the dialect reads of a line, this is about all of it.
    let whole = Dialect { line_limit: None, nul_ends_line: false, ..*dialect };
    for (line, octets) in Text::read(body, &whole).lines().filter(|(_, octets)| octets.len() > limit) {
        remarks.push(remark(line, FindingCode::LongLine, format!("{} octets; Google reads {limit}", octets.len())));
    }
}

fn token_of(agent: &AgentLine<'_>) -> Option<Vec<u8>> {
    agent.token().map(|token| match token {
        LineToken::Star => b"*".to_vec(),
        LineToken::Product(token) => token.to_ascii_lowercase(),
    })
}

/// Lines that match the same, one of which allows and one of which disallows, in groups that bind one agent. A line for which the dialect has several
/// patterns matches the same as one that has all of them.
fn conflicts(policy: &Policy, analysis: &Analysis<'_>, remarks: &mut Vec<Remark>) {
    let mut budget = WORK;
    for groups in analysis.rule_sets() {
        let rules: Vec<Rule<'_>> = groups.iter().flat_map(|&group| policy.group(group).rules()).collect();
        let Some(left) = budget.checked_sub(rules.len()) else { return };
        budget = left;
        let mut seen: BTreeMap<Vec<&[u8]>, (u32, bool)> = BTreeMap::new();
        for line in rules.chunk_by(|a, b| a.line() == b.line()).filter(|line| !line[0].pattern().is_empty()) {
            let patterns = line.iter().map(|rule| rule.pattern()).collect();
            let &mut (first, allows) = seen.entry(patterns).or_insert((line[0].line(), line[0].allows()));
            if allows != line[0].allows() {
                let detail = format!("line {first} says the opposite of the same URLs; allow wins");
                remarks.push(remark(line[0].line(), FindingCode::ConflictingRules, detail));
            }
        }
    }
}

/// Rules looked at, at most, for what compares groups with each other: thousands of groups may share thousands of rules.
const WORK: usize = 1_000_000;
/// Octets of targets decided, at most, for the same.
const TARGET_WORK: usize = 4_000_000;

/// Groups for a name that leave out what `*` disallows: there is a URL for which a rule of `*` decides and which they allow.
fn lacking(policy: &Policy, analysis: &Analysis<'_>, budget: Budget, remarks: &mut Vec<Remark>) {
    let program = analysis.program();
    let Some(star) = program.star_rule_set() else { return };
    let disallowed: Vec<(Rule<'_>, Vec<u8>)> = analysis
        .reaches_in(star, budget)
        .into_iter()
        .filter_map(|(id, reach)| match (reach, policy.rule(id)?) {
            (Reach::Decides { witness, .. }, rule) if !rule.allows() => Some((rule, witness)),
            _ => None,
        })
        .collect();
    let cost: usize = disallowed.iter().map(|(_, witness)| witness.len() + 16).sum();
    let (mut octets_left, mut scratch) = (TARGET_WORK, Scratch::new());
    let tokens = (0..program.token_count()).filter_map(|index| program.token(index));
    for (token, set) in tokens.filter(|&(token, _)| token != b"*") {
        let groups = &analysis.rule_sets()[set as usize];
        let named = || groups.iter().map(|&group| policy.group(group));
        // Whoever says of everything what holds has thought of it.
        let says_all = |rule: Rule<'_>| matches!(rule.pattern(), b"/" | b"*" | b"/*");
        if named().any(|group| group.has_empty_rule() || group.rules().any(says_all)) {
            continue;
        }
        let Some(left) = octets_left.checked_sub(cost) else { return };
        octets_left = left;
        let matcher = program.rule_set(set).and_then(Matcher::new).ok();
        let (Some(matcher), Some(line)) = (matcher, line_naming(policy, groups, token)) else { continue };
        let mut allowed = disallowed.iter().filter(|(_, witness)| matcher.allows(witness, &mut scratch) == Ok(true));
        let Some((rule, witness)) = allowed.next() else { continue };
        let detail = format!(
            "{} of the {} rules by which * is disallowed do not bind {}; the first is on line {}, as for {}",
            1 + allowed.count(),
            disallowed.len(),
            text(token),
            rule.line(),
            text(witness)
        );
        remarks.push(remark(line, FindingCode::LacksStarRules, detail));
    }
}

fn line_naming(policy: &Policy, groups: &[u32], token: &[u8]) -> Option<u32> {
    let agents = groups.iter().flat_map(|&group| policy.group(group).agents());
    agents.filter(|agent| token_of(agent).as_deref() == Some(token)).map(|agent| agent.line()).next()
}

/// Whether a rule allows, its value, and its patterns.
type RuleSaid = (bool, Vec<u8>, Vec<Vec<u8>>);

/// What a dialect takes a line to say.
#[derive(PartialEq, Eq)]
struct Said {
    /// Whom it names.
    names: BTreeSet<Vec<u8>>,
    /// A rule.
    rule: Option<RuleSaid>,
    /// The lines that name the agents whom it binds; of the first rule of a group alone.
    binds: Option<BTreeSet<u32>>,
}

fn said(policy: &Policy) -> BTreeMap<u32, Said> {
    let mut lines: BTreeMap<u32, Said> = BTreeMap::new();
    let new = || Said { names: BTreeSet::new(), rule: None, binds: None };
    for group in policy.groups() {
        for agent in group.agents() {
            lines.entry(agent.line()).or_insert_with(new).names.extend(token_of(&agent));
        }
        let named: BTreeSet<u32> = first_lines(&group);
        for (index, rule) in group.rules().enumerate() {
            let said = lines.entry(rule.line()).or_insert_with(new);
            let entry = said.rule.get_or_insert_with(|| (rule.allows(), rule.value().to_vec(), Vec::new()));
            entry.2.push(rule.pattern().to_vec());
            if index == 0 {
                said.binds = Some(named.clone());
            }
        }
    }
    lines
}

/// The lines of the group's agents: all of a short run, the ends of a long one.
fn first_lines(group: &Group<'_>) -> BTreeSet<u32> {
    let agents = group.agents();
    match agents.len() {
        0..=16 => agents.map(|agent| agent.line()).collect(),
        count => agents.enumerate().filter(|(index, _)| [0, count - 1].contains(index)).map(|(_, agent)| agent.line()).collect(),
    }
}

/// Lines that another dialect reads otherwise.
fn differences(body: &[u8], policy: &Policy, remarks: &mut Vec<Remark>) {
    let own = said(policy);
    let mut details: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for dialect in Dialect::ALL.iter().filter(|dialect| dialect.name != policy.dialect().name) {
        let other_policy = Policy::parse(body, dialect);
        let other = said(&other_policy);
        let lines: BTreeSet<u32> = own.keys().chain(other.keys()).copied().collect();
        for line in lines {
            if let Some(difference) = difference((policy, own.get(&line)), (&other_policy, other.get(&line))) {
                details.entry(line).or_default().push(format!("{} {difference}", dialect.name));
            }
        }
    }
    let remark_of = |(line, details): (u32, Vec<String>)| remark(line, FindingCode::ReadDifferently, details.join("; "));
    remarks.extend(details.into_iter().map(remark_of));
}

/// A URL that the rule itself suggests, and that one of two readings of it matches and the other does not. Says whether the other does.
fn matched_by_one(own: (&Policy, &RuleSaid), other: (&Policy, &RuleSaid)) -> Option<(bool, Vec<u8>)> {
    let does = |(policy, (_, value, patterns)): (&Policy, &RuleSaid), target: &[u8]| {
        let form = policy.dialect().form;
        let mut buffer = Vec::new();
        let canonical = form.canonical(target, &mut buffer);
        patterns.iter().any(|pattern| !pattern.is_empty() && form.parts(pattern, value).matches(canonical))
    };
    let suggested = targets(&own.1.1).into_iter().map(|target| (does(other, &target), target));
    suggested.into_iter().find(|(other_does, target)| does(own, target) != *other_does)
}

/// Targets that the value of a rule suggests, as URLs are written: as it stands, with escapes decoded, with escapes where there are none, with its `$`.
fn targets(value: &[u8]) -> Vec<Vec<u8>> {
    let is_literal = value.ends_with(b"$");
    let body = value.strip_suffix(b"$").unwrap_or(value);
    let plain: Vec<u8> = body.iter().copied().filter(|octet| *octet != b'*').collect();
    let mut decoded = Vec::with_capacity(plain.len());
    let mut rest = &plain[..];
    while let Some(&octet) = rest.first() {
        let escaped = (octet == b'%').then(|| escape_value(rest)).flatten();
        decoded.push(escaped.unwrap_or(octet));
        rest = &rest[if escaped.is_some() { 3 } else { 1 }..];
    }
    let escape = |octet: &u8| match is_written(*octet) {
        true => vec![*octet],
        false => format!("%{octet:02X}").into_bytes(),
    };
    let escaped: Vec<u8> = plain.iter().flat_map(escape).collect();
    let mut all = vec![decoded, escaped, plain.clone()];
    if is_literal {
        all.push([&plain[..], b"$"].concat());
    }
    all.retain(|target| target.first() == Some(&b'/') && target.iter().all(|&octet| is_written(octet)));
    all
}

/// Whether URLs hold the octet as it is.
fn is_written(octet: u8) -> bool {
    octet.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&octet)
}

/// How the other reading differs, in a few words that go on from the dialect's name.
fn difference((policy, own): (&Policy, Option<&Said>), (other_policy, other): (&Policy, Option<&Said>)) -> Option<String> {
    let (rule, other_rule) = (own.and_then(|said| said.rule.as_ref()), other.and_then(|said| said.rule.as_ref()));
    let none = BTreeSet::new();
    let names = |said: Option<&Said>| said.map_or(none.clone(), |said| said.names.clone());
    let (names, other_names) = (names(own), names(other));
    let list = |names: &BTreeSet<Vec<u8>>| names.iter().map(|name| text(name)).collect::<Vec<_>>().join(" and ");
    match (rule, other_rule) {
        (None, Some((allows, value, _))) => Some(format!("reads the rule {}: {}", if *allows { "allow" } else { "disallow" }, text(value))),
        (Some(_), None) => Some("reads no rule".to_owned()),
        (Some((_, value, patterns)), Some((_, other_value, other_patterns))) => {
            let binds = |said: Option<&Said>| said.and_then(|said| said.binds.clone());
            if value != other_value {
                Some(format!("reads the value {}", text(other_value)))
            } else if binds(own).is_some() && binds(own) != binds(other) {
                Some("takes it to bind the agents of other lines".to_owned())
            } else if patterns.len() < other_patterns.len() && value.windows(10).any(|part| part == b"/index.htm") {
                Some("takes it for the folder too".to_owned())
            } else {
                let one = matched_by_one((policy, rule?), (other_policy, other_rule?));
                one.map(|(does, target)| format!("{} {}", if does { "matches" } else { "does not match" }, text(&target)))
            }
        }
        (None, None) if names != other_names => Some(match other_names.is_empty() {
            true => "takes it to name nobody".to_owned(),
            false => format!("takes it to name {}", list(&other_names)),
        }),
        (None, None) => None,
    }
}

/// Rules that decide nothing.
fn proofs(policy: &Policy, analysis: &Analysis<'_>, budget: Budget, remarks: &mut Vec<Remark>) {
    let reaches = analysis.reaches(budget);
    let line_of = |id: &RuleId| policy.rule(*id).map_or(0, |rule| rule.line());
    for shadow in analysis.shadows_of(&reaches) {
        let mut lines: Vec<u32> = shadow.by.iter().map(line_of).collect();
        lines.dedup();
        let shown: Vec<String> = lines.iter().take(8).map(u32::to_string).collect();
        let more = if lines.len() > shown.len() { format!(" and {} more", lines.len() - shown.len()) } else { String::new() };
        let exempt = if shadow.robots_txt { "; robots.txt is always allowed" } else { "" };
        let by = match lines.len() {
            0 => "by the exemption of robots.txt".to_owned(),
            1 => format!("by line {}{exempt}", shown[0]),
            _ => format!("by lines {}{more}{exempt}", shown.join(", ")),
        };
        remarks.push(remark(shadow.line, FindingCode::ShadowedRule, by));
    }
    for (rule, reach) in policy.rules().zip(&reaches) {
        if *reach == Reach::NeverMatches && !rule.pattern().is_empty() {
            remarks.push(remark(rule.line(), FindingCode::NeverMatches, String::new()));
        }
    }
    let unknown = reaches.iter().filter(|reach| **reach == Reach::Unknown).count();
    if unknown > 0 {
        remarks.push(remark(0, FindingCode::NotProved, format!("{unknown} rules")));
    }
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::dialect::RFC9309;

    fn found(body: &str) -> Vec<(u32, &'static str, String)> {
        lint(body.as_bytes(), &RFC9309).into_iter().map(|remark| (remark.line, remark.code.name(), remark.detail)).collect()
    }

    fn codes(body: &str) -> Vec<(u32, &'static str)> {
        found(body).into_iter().map(|(line, code, _)| (line, code)).collect()
    }

    #[test]
    fn a_plain_file_has_no_findings() {
        assert_eq!(codes("User-agent: *\nDisallow: /a\nAllow: /a/b\n\nUser-agent: GPTBot\nDisallow: /\n"), []);
    }

    #[test]
    fn equal_rules_in_conflict() {
        let body = "User-agent: a\nDisallow: /x\n\nUser-agent: A\nAllow: /%78\n";
        assert_eq!(codes(body), [(2, "shadowed-rule"), (5, "conflicting-rules"), (5, "read-differently")]);
    }

    #[test]
    fn groups_that_leave_out_what_star_has() {
        let body = "User-agent: *\nDisallow: /a\nDisallow: /b\n\nUser-agent: x\nDisallow: /a\n";
        let [(line, code, detail)] = &found(body)[..] else { panic!("{:?}", found(body)) };
        assert_eq!((*line, *code), (5, "lacks-star-rules"));
        assert!(detail.contains("1 of the 2") && detail.contains("bind x") && detail.ends_with("line 3, as for /b"), "{detail}");
        assert_eq!(
            codes("User-agent: *\nDisallow: /a$\n\nUser-agent: y\nDisallow: /a\n"),
            [(2, "read-differently")],
            "its own rule is wider"
        );
        let dead = "User-agent: x\nUser-agent: *\nDisallow: /a\nAllow: /a*\n\nUser-agent: y\nDisallow: /b\n";
        assert!(!codes(dead).iter().any(|(_, code)| *code == "lacks-star-rules"), "no rule of * decides anything: {:?}", codes(dead));
        assert_eq!(codes("User-agent: *\nDisallow: /a\n\nUser-agent: x\nCrawl-delay: 1\n").last(), Some(&(4, "lacks-star-rules")));
        assert_eq!(codes("User-agent: *\nDisallow: /a\n\nUser-agent: x\nDisallow:\n"), []);
        assert_eq!(codes("User-agent: *\nDisallow: /a\n\nUser-agent: x\nAllow: /\n"), []);
    }

    #[test]
    fn lines_that_dialects_read_otherwise() {
        let details =
            |body: &str| found(body).into_iter().filter(|(_, code, _)| *code == "read-differently").map(|(line, _, detail)| (line, detail));
        let one = |body: &str| details(body).map(|(line, detail)| format!("{line}: {detail}")).collect::<Vec<_>>().join(" | ");
        assert_eq!(one("User-agent: MJ12bot\nDisallow: /x\n"), "1: google takes it to name mj");
        assert_eq!(one("User-agent: *\nDisalow: /x\n"), "2: google reads the rule disallow: /x; scrapy reads the rule disallow: /x");
        assert_eq!(one("User-agent: *\nDisallow: /%7ex\n"), "2: google does not match /~x");
        assert_eq!(
            one("User-agent: *\nAllow: /d/index.html\nDisallow: /d\n"),
            "2: google takes it for the folder too; scrapy takes it for the folder too"
        );
        assert_eq!(
            one("User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /x\n"),
            "4: scrapy takes it to bind the agents of other lines"
        );
    }

    #[test]
    fn files_as_a_whole() {
        assert_eq!(codes("<!DOCTYPE html>\n<html>\n"), [(0, "html")]);
        let over = format!("User-agent: *\nDisallow: /a\n{}Disallow: /b\nDisallow: /c\n", "#x\n".repeat(170_667));
        assert_eq!(codes(&over)[0], (0, "over-limit"));
        assert!(codes(&over).iter().all(|(_, code)| ["over-limit", "cut-line"].contains(code)), "{:?}", codes(&over));
        let long = format!("User-agent: *\nDisallow: /{}\n", "x".repeat(17_000));
        assert!(codes(&long).contains(&(2, "long-line")), "{:?}", codes(&long));
    }
}
