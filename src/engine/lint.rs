//! What is wrong, or not as its author may think, with one robots.txt.
//!
//! Findings of the parse come as they are. Beside them stand those that need more than a line: rules in conflict, groups that leave out what `*` has,
//! lines that the dialects read otherwise, and, proved on automata, rules that decide nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::analyse::{Analysis, Budget, Reach};
use crate::protocol::agent::LineToken;
use crate::protocol::decision::RuleId;
use crate::protocol::dialect::{Dialect, GOOGLE};
use crate::protocol::policy::{AgentLine, FindingCode, Group, Policy, Rule};
use crate::protocol::text::Text;

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
    let sets = RuleSets::of(&policy);
    conflicts(&policy, &sets, &mut remarks);
    lacking(&policy, &sets, &mut remarks);
    // What lies behind the limit is found as such, and not once more line by line.
    differences(&body[..policy.read_len()], &policy, &mut remarks);
    proofs(&policy, &mut remarks);
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

/// Which groups bind each agent that the file names.
struct RuleSets {
    /// By token in lower case, `*` among them, in file order of their groups.
    groups: BTreeMap<Vec<u8>, Vec<u32>>,
}

impl RuleSets {
    fn of(policy: &Policy) -> RuleSets {
        let mut groups: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
        for (index, group) in (0..).zip(policy.groups()) {
            for token in group.agents().filter_map(|agent| token_of(&agent)) {
                let list = groups.entry(token).or_default();
                if list.last() != Some(&index) {
                    list.push(index);
                }
            }
        }
        RuleSets { groups }
    }
}

fn token_of(agent: &AgentLine<'_>) -> Option<Vec<u8>> {
    agent.token().map(|token| match token {
        LineToken::Star => b"*".to_vec(),
        LineToken::Product(token) => token.to_ascii_lowercase(),
    })
}

/// Rules that match the same, one of which allows and one of which disallows, in groups that bind one agent.
fn conflicts(policy: &Policy, sets: &RuleSets, remarks: &mut Vec<Remark>) {
    let lists: BTreeSet<&[u32]> = sets.groups.values().map(Vec::as_slice).collect();
    let mut budget = WORK;
    for groups in lists {
        let mut seen: BTreeMap<&[u8], (u32, bool)> = BTreeMap::new();
        for rule in groups.iter().flat_map(|&group| policy.group(group).rules()).filter(|rule| !rule.pattern().is_empty()) {
            let Some(left) = budget.checked_sub(1) else { return };
            budget = left;
            let &mut (line, allows) = seen.entry(rule.pattern()).or_insert((rule.line(), rule.allows()));
            if allows != rule.allows() {
                remarks.push(remark(
                    rule.line(),
                    FindingCode::ConflictingRules,
                    format!("line {line} says the opposite of the same URLs; allow wins"),
                ));
            }
        }
    }
}

/// Rules looked at, at most, for what compares groups with each other: thousands of groups may share thousands of rules.
const WORK: u32 = 1_000_000;

/// Groups for a name that leave out what `*` disallows.
fn lacking(policy: &Policy, sets: &RuleSets, remarks: &mut Vec<Remark>) {
    let Some(star) = sets.groups.get(&b"*"[..]) else { return };
    let disallowed: Vec<Rule<'_>> =
        star.iter().flat_map(|&group| policy.group(group).rules()).filter(|rule| !rule.allows() && !rule.pattern().is_empty()).collect();
    let mut budget = WORK;
    for (token, groups) in sets.groups.iter().filter(|(token, _)| token[..] != b"*"[..]) {
        let mut patterns: BTreeSet<&[u8]> = BTreeSet::new();
        let mut is_settled = false;
        for group in groups.iter().map(|&group| policy.group(group)) {
            is_settled |= group.has_empty_rule();
            patterns.extend(group.rules().map(|rule| rule.pattern()));
        }
        let Some(left) = budget.checked_sub((patterns.len() + disallowed.len()) as u32) else { return };
        budget = left;
        // Whoever says of everything what holds has thought of it.
        is_settled |= patterns.iter().any(|pattern| matches!(&pattern[..], b"/" | b"*" | b"/*"));
        let lacking: Vec<&Rule<'_>> = disallowed.iter().filter(|rule| !patterns.contains(rule.pattern())).collect();
        if let (false, Some(first), Some(line)) = (is_settled, lacking.first(), line_naming(policy, groups, token)) {
            let detail = format!(
                "{} of the {} rules by which * is disallowed, the first on line {}, do not bind {}",
                lacking.len(),
                disallowed.len(),
                first.line(),
                text(token)
            );
            remarks.push(remark(line, FindingCode::LacksStarRules, detail));
        }
    }
}

fn line_naming(policy: &Policy, groups: &[u32], token: &[u8]) -> Option<u32> {
    let agents = groups.iter().flat_map(|&group| policy.group(group).agents());
    agents.filter(|agent| token_of(agent).as_deref() == Some(token)).map(|agent| agent.line()).next()
}

/// What a dialect takes a line to say.
#[derive(PartialEq, Eq)]
struct Said {
    /// Whom it names.
    names: BTreeSet<Vec<u8>>,
    /// A rule: whether it allows, its value, and its patterns if those are comparable with RFC 9309's.
    rule: Option<(bool, Vec<u8>, Vec<Vec<u8>>)>,
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
        let comparable = is_literal(policy.dialect()) && is_literal(dialect);
        let lines: BTreeSet<u32> = own.keys().chain(other.keys()).copied().collect();
        for line in lines {
            if let Some(difference) = difference(own.get(&line), other.get(&line), comparable) {
                details.entry(line).or_default().push(format!("{} {difference}", dialect.name));
            }
        }
    }
    let remark_of = |(line, details): (u32, Vec<String>)| remark(line, FindingCode::ReadDifferently, details.join("; "));
    remarks.extend(details.into_iter().map(remark_of));
}

/// Whether a dialect's patterns are spelled as the rules are, so that those of two such dialects can be compared.
fn is_literal(dialect: &Dialect) -> bool {
    dialect.name != "scrapy"
}

/// How the other reading differs, in a few words that go on from the dialect's name.
fn difference(own: Option<&Said>, other: Option<&Said>, comparable: bool) -> Option<String> {
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
            } else if comparable && patterns.first() != other_patterns.first() {
                Some(format!("compares {}", text(other_patterns.first().map_or(&[], Vec::as_slice))))
            } else {
                None
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
fn proofs(policy: &Policy, remarks: &mut Vec<Remark>) {
    let analysis = Analysis::of(policy);
    let reaches = analysis.reaches(Budget::default());
    let line_of = |id: &RuleId| id.index().and_then(|index| policy.rules().nth(index as usize)).map_or(0, |rule| rule.line());
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
        assert!(detail.contains("1 of the 2") && detail.contains("line 3") && detail.ends_with('x'), "{detail}");
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
        assert_eq!(one("User-agent: *\nDisallow: /%7ex\n"), "2: google compares /%7Ex");
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
