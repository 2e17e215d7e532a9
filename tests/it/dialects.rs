//! docs/DIALECTS.md: its tables are the constants, and its examples give the verdicts that it says.

use std::fs;
use std::path::Path;

use robosieve::agent::Agent;
use robosieve::compile::Options;
use robosieve::decision::Decision;
use robosieve::dialect::Dialect;
use robosieve::fetch::Outcome;
use robosieve::pipeline::{Batch, Evaluator, Worker};
use robosieve::program::Detail;
use robosieve::store::build::{Builder, Record};

fn document() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/DIALECTS.md")).unwrap()
}

/// The cells of a row of a table.
fn cells(line: &str) -> Vec<&str> {
    line.trim().trim_matches('|').split(" | ").map(str::trim).collect()
}

fn field(dialect: &Dialect, name: &str) -> Option<String> {
    Some(match name {
        "byte_limit" => format!("{:?}", dialect.byte_limit),
        "cut_line" => format!("{:?}", dialect.cut_line),
        "decoding" => format!("{:?}", dialect.decoding),
        "line_ends" => format!("{:?}", dialect.line_ends),
        "line_limit" => format!("{:?}", dialect.line_limit),
        "nul_ends_line" => format!("{:?}", dialect.nul_ends_line),
        "white_space" => format!("{:?}", dialect.white_space),
        "key_match" => format!("{:?}", dialect.key_match),
        "missing_colon" => format!("{:?}", dialect.missing_colon),
        "run_end" => format!("{:?}", dialect.run_end),
        "agent_line" => format!("{:?}", dialect.agent_line),
        "access" => format!("{:?}", dialect.access),
        "agents" => format!("{:?}", dialect.form.agents()),
        "origin" => format!("{:?}", dialect.form.origin()),
        "cuts_anything" => format!("{:?}", dialect.form.cuts_anything()),
        _ => return None,
    })
}

#[test]
fn the_tables_are_the_constants() {
    let document = document();
    let rows = document.split("\n## The tables").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut count = 0;
    for row in rows.lines().filter(|line| line.starts_with("| ")).map(cells).filter(|row| row[0] != "field") {
        for (dialect, cell) in Dialect::ALL.iter().zip(&row[1..]) {
            assert_eq!(field(dialect, row[0]).as_deref(), Some(*cell), "{} of {}", row[0], dialect.name);
            count += 1;
        }
    }
    assert_eq!(count, 15 * Dialect::ALL.len(), "a field left the table");
}

/// Text with the document's escapes as octets.
fn octets(text: &str) -> Vec<u8> {
    if let Some(text) = text.strip_prefix("{utf16:").and_then(|rest| rest.strip_suffix('}')) {
        return format!("\u{FEFF}{text}").replace("\\n", "\n").encode_utf16().flat_map(u16::to_le_bytes).collect();
    }
    let mut out = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        if let Some((digits, behind)) = rest.strip_prefix("\\x").and_then(|rest| rest.split_at_checked(2)) {
            out.push(u8::from_str_radix(digits, 16).unwrap());
            rest = behind;
        } else if let Some((count, what, behind)) = repetition(rest) {
            out.extend(what.repeat(count).bytes());
            rest = behind;
        } else {
            let len = rest.chars().next().unwrap().len_utf8();
            out.extend(rest[..len].bytes());
            rest = &rest[len..];
        }
    }
    out
}

fn repetition(text: &str) -> Option<(usize, &str, &str)> {
    let (inner, behind) = text.strip_prefix('{')?.split_once('}')?;
    let (count, what) = inner.split_once('*')?;
    Some((count.parse().ok()?, what, behind))
}

fn agent(text: &str) -> Agent {
    if text.contains(' ') { Agent::from_header(text) } else { Agent::token(text).unwrap() }
}

/// The verdict and the line, as the document writes them.
fn answer(body: &[u8], dialect: Dialect, agent: Agent, url: &[u8]) -> String {
    let mut builder = Builder::new(dialect).options(Options::default().with_detail(Detail::Rules));
    builder.add_any(Record::body(body.to_vec()).with_outcome(Outcome::OK));
    let store = builder.finish().unwrap().open().unwrap();
    let evaluator = Evaluator::new(&store, vec![agent]);
    let batch = Batch::rows(url.to_vec(), std::iter::once(0..url.len()).collect());
    let decided = Worker::new().decide(&evaluator, batch, true, None);
    let Decision { verdict, rule, .. } = decided.decisions(0)[0];
    let line = decided.runs()[0].rule_table(0, &store).and_then(|table| table.rule(rule));
    line.map_or(verdict.to_string(), |rule| format!("{verdict} {}", rule.line))
}

#[test]
fn the_examples_give_what_they_say() {
    let document = document();
    let mut wrong = Vec::new();
    let (mut examples, mut questions) = (0, 0);
    for part in document.split("\n```robots\n").skip(1) {
        let (robots, behind) = part.split_once("\n```\n").unwrap();
        let rows: Vec<Vec<&str>> = behind.trim_start().lines().take_while(|line| line.starts_with('|')).map(cells).collect();
        assert_eq!(rows[0], ["agent", "URL", "rfc9309", "google", "scrapy"], "{robots}");
        examples += 1;
        let mut differs = false;
        for row in &rows[2..] {
            let (agent, url) = (agent(row[0].trim_matches('`')), octets(row[1].trim_matches('`')));
            let answers = Dialect::ALL.map(|dialect| answer(&octets(robots), dialect, agent.clone(), &url));
            questions += 1;
            differs |= answers[0] != answers[1] || answers[0] != answers[2];
            if answers[..] != row[2..] {
                wrong.push(format!("{robots}\n{row:?}: {answers:?}"));
            }
        }
        assert!(differs, "an example without a difference: {robots}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(examples >= 35 && questions >= 45, "{examples} examples, {questions} questions");
}
