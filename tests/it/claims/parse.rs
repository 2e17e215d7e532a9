//! Any octets are a policy, in every dialect and under any limit, and every policy compiles. The input is a body.

use robosieve::compile::{Options, compile};
use robosieve::dialect::{CutLine, Dialect};
use robosieve::matcher::Matcher;
use robosieve::parse::directives;
use robosieve::policy::{FindingCode, Policy, Rule};
use robosieve::program::{Detail, Program};
use robosieve::text::Text;

/// Programs of more octets are neither compiled twice nor printed: that shows nothing that smaller ones do not.
const SMALL: usize = 8192;

pub fn check(body: &[u8]) {
    // The last octet chooses where a small limit cuts, so that plain robots.txt files are inputs.
    let small = body.len() * usize::from(body.last().copied().unwrap_or(0)) / 256;
    for dialect in Dialect::ALL {
        let whole = Policy::parse(body, &dialect);
        check_policy(body, &whole);
        check_compiled(&whole);
        for limit in [small, small % 4] {
            let dialect = dialect.with_byte_limit(Some(limit));
            let cut = Policy::parse(body, &dialect);
            check_policy(body, &cut);
            if dialect.cut_line == CutLine::LeftOut {
                let same = |(a, b): (Rule, Rule)| (a.line(), a.allows(), a.pattern()) == (b.line(), b.allows(), b.pattern());
                assert!(cut.rules().len() <= whole.rules().len() && cut.rules().zip(whole.rules()).all(same), "a limit makes another rule");
            }
        }
    }
}

fn check_policy(body: &[u8], policy: &Policy) {
    let limit = policy.dialect().byte_limit.unwrap_or(usize::MAX);
    assert_eq!(policy.read_len(), body.len().min(limit));
    let line_count = 1 + body.iter().filter(|octet| matches!(octet, b'\n' | b'\r')).count() as u32;
    check_lines(body, policy, line_count);
    check_groups(policy, line_count);
    check_records(policy, line_count);
    check_findings(policy, line_count, body.len());
}

fn check_lines(body: &[u8], policy: &Policy, line_count: u32) {
    let text = Text::read(body, policy.dialect());
    assert_eq!((text.read_len(), text.encoding()), (policy.read_len(), policy.encoding()));
    check_ascending("line", text.lines().map(|(number, _)| number), line_count);
    check_ascending("directive", directives(&text).map(|line| line.number), line_count);
}

/// Line numbers count from 1, never fall and are those of lines that exist.
fn check_ascending(what: &str, lines: impl Iterator<Item = u32>, line_count: u32) {
    let mut last = 1;
    for line in lines {
        assert!((last..=line_count).contains(&line), "{what}: line {line} behind {last} of {line_count}");
        last = line;
    }
}

fn check_groups(policy: &Policy, line_count: u32) {
    let mut next_rule = 0;
    for (index, group) in policy.groups().enumerate() {
        assert!(group.agents().len() > 0, "a group is opened by a user-agent line");
        let range = group.rule_range();
        assert_eq!((range.start, range.len()), (next_rule, group.rules().len()), "rules of group {index}");
        next_rule = range.end;
        assert!(group.rules().all(|rule| rule.group() == index as u32));
        let first_rule = group.rules().next().map_or(line_count, |rule| rule.line());
        assert!(group.agents().next().is_some_and(|agent| agent.line() <= first_rule));
    }
    assert_eq!(next_rule as usize, policy.rules().len());
    check_ascending("agent", policy.groups().flat_map(|group| group.agents()).map(|agent| agent.line()), line_count);
    check_ascending("rule", policy.rules().map(|rule| rule.line()), line_count);
    for rule in policy.rules() {
        assert!(!rule.value().is_empty(), "an empty value is no rule");
        assert!(matches!(rule.pattern(), [] | [b'/' | b'*', ..]), "{}", rule.pattern().escape_ascii());
        assert_eq!(rule.specificity() as usize, rule.pattern().len());
    }
}

fn check_records(policy: &Policy, line_count: u32) {
    check_ascending("record", policy.records().map(|record| record.line()), line_count);
    for record in policy.records() {
        assert!(record.group().is_none_or(|group| (group as usize) < policy.groups().len()));
    }
}

fn check_findings(policy: &Policy, line_count: u32, body_len: usize) {
    let findings = policy.findings();
    assert!(findings.is_sorted_by_key(|finding| finding.line), "{findings:?}");
    assert!(findings.iter().all(|finding| finding.line <= line_count), "{findings:?} of {line_count} lines");
    let lines_of = |code| findings.iter().filter(move |finding| finding.code == code).map(|finding| finding.line);
    assert!(lines_of(FindingCode::OverLimit).eq((body_len > policy.read_len()).then_some(0)), "{findings:?}");
    let unmatched = policy.rules().filter(|rule| rule.pattern().is_empty()).map(|rule| rule.line());
    assert!(lines_of(FindingCode::MatchesNothing).eq(unmatched), "{findings:?}");
}

fn check_compiled(policy: &Policy) {
    for detail in [Detail::Verdicts, Detail::Rules] {
        let options = Options::default().with_detail(detail);
        let octets = compile(policy, &options);
        let program = Program::check(&octets).unwrap_or_else(|corrupt| panic!("{corrupt}"));
        assert_eq!((program.rule_count(), program.group_count()), (policy.rules().len(), policy.groups().len()));
        for set in 0..program.rule_set_count() as u32 {
            let rules = program.rule_set(set).unwrap();
            assert!(rules.block().rule_count() <= policy.rules().len());
            Matcher::new(rules).unwrap();
        }
        if octets.len() < SMALL {
            assert!(compile(policy, &options) == octets, "compiling again gives other octets");
            let _ = format!("{program:#}");
        }
    }
}
