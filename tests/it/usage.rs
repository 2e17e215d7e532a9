//! Stated preferences: the pipeline gives what a naive reading of the same lines gives, and what the drafts' own example says.

use std::io;

use proptest::prelude::*;

use robosieve::agent::Agent;
use robosieve::dialect::{Dialect, RFC9309, SCRAPY};
use robosieve::fetch::Outcome;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Decided, Evaluator, Sink, Summary, run};
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};
use robosieve::usage::{Preference, UsageKey};

use crate::oracle::{self, Oracle};
use crate::pipeline::threads;

/// Keeps preferences, one a row and usage column.
struct Keep {
    detail: bool,
    stated: Vec<Vec<Option<Preference>>>,
}

impl Sink for Keep {
    fn wants_decisions(&self) -> bool {
        self.detail
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let row = |row: usize| decided.usages().iter().map(|column| column.preference(row)).collect();
        self.stated.extend((0..decided.row_count()).map(row));
        Ok(())
    }
}

fn store(dialect: Dialect, policies: &[(&str, Record)]) -> Store {
    let mut builder = Builder::new(dialect);
    policies.iter().for_each(|(name, record)| builder.add_name(name, record.clone()).unwrap());
    builder.finish().unwrap().open().unwrap()
}

fn of_text(text: &str) -> Record {
    Record::body(text.as_bytes().to_vec())
}

fn key(name: &str) -> UsageKey {
    UsageKey::new(name).unwrap()
}

/// What is stated to each agent about a use, row by row, on any number of threads, with and without decisions.
fn stated(store: &Store, agents: &[Agent], key: &UsageKey, list: &str) -> Vec<Vec<Option<Preference>>> {
    let preferences = store.preferences(key).unwrap();
    let evaluator = Evaluator::new(store, agents.to_vec()).and_usage(&preferences);
    let mut all: Vec<(Vec<Vec<Option<Preference>>>, Summary)> = Vec::new();
    for (count, detail) in [(1, false), (1, true), (3, false)] {
        let mut keep = Keep { detail, stated: Vec::new() };
        let summary = run(&mut MappedLines::new(list.as_bytes()), &evaluator, &mut keep, threads(count)).unwrap();
        all.push((keep.stated, summary));
    }
    let (rows, summary) = all.pop().unwrap();
    assert!(all.iter().all(|other| *other == (rows.clone(), summary.clone())));
    for (agent, tally) in summary.usages.iter().enumerate() {
        let count = |preference| rows.iter().filter(|row| row[agent] == Some(preference)).count() as u64;
        assert_eq!((tally.yes, tally.no), (count(Preference::Yes), count(Preference::No)));
    }
    rows
}

const Y: Option<Preference> = Some(Preference::Yes);
const N: Option<Preference> = Some(Preference::No);

/// The example of draft-ietf-aipref-attach-05, section "Example", with its table.
#[test]
fn the_example_of_the_draft() {
    let robots = "User-Agent: *\nAllow: /\nDisallow: /never/\nContent-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n\n\
        User-Agent: ExampleBot\nAllow: /\nContent-Usage: train-ai=y\n";
    let store = store(RFC9309, &[("e.example", of_text(robots))]);
    let agents = ["Other", "ExampleBot"].map(|token| Agent::token(token).unwrap());
    let list = "https://e.example/test\nhttps://e.example/never/test\nhttps://e.example/ai-ok/test\nhttps://unknown.example/\nno url\n";
    let rows = stated(&store, &agents, &key("train-ai"), list);
    assert_eq!(rows, [[N, Y], [None, Y], [Y, Y], [None, None], [None, None]]);
    assert!(stated(&store, &agents, &key("search"), list).concat().iter().all(Option::is_none));
}

#[test]
fn the_fetch_decides_whether_anything_is_stated() {
    let robots = "User-agent: *\nContent-Usage: train-ai=n\n";
    let record = |outcome| of_text(robots).with_outcome(outcome);
    let policies = [("ok.example", record(Outcome::OK)), ("gone.example", record("404".parse().unwrap()))];
    let list = "http://ok.example/robots.txt\nhttp://gone.example/\n";
    let agents = [Agent::token("a").unwrap()];
    assert_eq!(stated(&store(RFC9309, &policies), &agents, &key("train-ai"), list), [[N], [None]]);
    // Scrapy reads the body whatever the status, and makes no exception of robots.txt where preferences are asked for.
    assert_eq!(stated(&store(SCRAPY, &policies), &agents, &key("train-ai"), list), [[N], [N]]);
}

/// Of `e.example` (both schemes) and `https://e.example` alone: keys without a scheme meet, and stay with the policies that had them.
#[test]
fn keys_of_a_store_stay_as_they_are() {
    let text = |value: &str| of_text(&format!("User-agent: *\nContent-Usage: train-ai={value}\n"));
    let store = store(SCRAPY, &[("e.example", text("y")), ("https_e.example_443", text("n"))]);
    let list = "http://e.example/\nhttps://e.example/\nhttp://e.example:80/\nhttps://e.example:443/\n";
    let rows = stated(&store, &[Agent::token("a").unwrap()], &key("train-ai"), list);
    assert_eq!(rows, [[N], [N], [Y], [N]]);
}

#[test]
fn a_store_without_bodies_says_what_to_do() {
    let mut builder = Builder::new(RFC9309).keep_bodies(false);
    builder.add_name("e.example", of_text("User-agent: *\nContent-Usage: train-ai=n\n")).unwrap();
    let store = builder.finish().unwrap().open().unwrap();
    let error = store.preferences(&key("train-ai")).unwrap_err().to_string();
    assert!(error.contains("--no-bodies"), "{error}");
}

/// A statement of very many keys, and a group of very many agents and records: neither is compared with itself.
#[test]
fn large_statements_are_read() {
    let keys: String = (0..60_000).map(|index| format!("a{index}=n,")).collect();
    let mut robots = format!("User-agent: *\nContent-Usage: {keys}train-ai=y\n");
    (0..4_000).for_each(|index| robots.push_str(&format!("User-agent: b{index}\nContent-Usage: /{index}* train-ai=n\n")));
    let store = store(RFC9309.with_byte_limit(None), &[("e.example", of_text(&robots))]);
    let agents = ["b3999", "b0"].map(|token| Agent::token(token).unwrap());
    let list = "http://e.example/\nhttp://e.example/39991\n";
    assert_eq!(stated(&store, &agents, &key("train-ai"), list), [[Y, Y], [N, N]]);
}

/// A line of a generated policy.
#[derive(Debug, Clone, Copy)]
enum Line {
    Agent(&'static str),
    Rule(&'static str),
    Usage(Option<&'static str>, &'static str),
}

impl Line {
    fn text(self) -> String {
        match self {
            Line::Agent(token) => format!("User-agent: {token}\n"),
            Line::Rule(rule) => format!("{rule}\n"),
            Line::Usage(None, statement) => format!("Content-Usage: {statement}\n"),
            Line::Usage(Some(path), statement) => format!("content-usage : {path}\t{statement} # x\n"),
        }
    }
}

fn line() -> impl Strategy<Value = Line> {
    let path = prop::sample::select(vec!["/", "/a", "/a/b", "/*b", "/a*b$", "/%61%2F", "/robots", "/*?", "/a/*", "/ab$", "/%2a", "/**b"]);
    let statement = prop::sample::select(vec![
        "train-ai=y",
        "train-ai=n",
        "train-ai=n;x=1, search=y",
        "search=n",
        "train-ai=maybe",
        "train-ai",
        "train-ai=n, train-ai=y",
        "train-ai=n,",
        "TRAIN-AI=n",
    ]);
    prop_oneof![
        2 => prop::sample::select(vec!["*", "abot", "bbot"]).prop_map(Line::Agent),
        1 => prop::sample::select(vec!["Disallow: /a/b", "Allow: /a/bc", "Disallow: /*x", "Disallow:"]).prop_map(Line::Rule),
        5 => (prop::option::weighted(0.8, path), statement).prop_map(|(path, statement)| Line::Usage(path, statement)),
    ]
}

/// What a statement says about `train-ai`, from a table: what the drafts say of each.
fn says(statement: &str) -> Option<Preference> {
    match statement {
        "train-ai=y" | "train-ai=n, train-ai=y" => Y,
        "train-ai=n" | "train-ai=n;x=1, search=y" => N,
        _ => None,
    }
}

/// The tokens of a group, and what its records state with the specificity of each.
type NaiveGroup<'a> = (Vec<&'a str>, Vec<(usize, Preference)>);

fn naive(lines: &[Line], agent: &Agent, url: &str) -> Option<Preference> {
    let text: String = lines.iter().map(|line| line.text()).collect();
    let tokens: Vec<&str> = agent.tokens().iter().map(String::as_str).collect();
    let answer = Oracle::parse(text.as_bytes()).decide(&tokens, agent.star(), url.as_bytes());
    if answer.verdict != oracle::Verdict::Allow {
        return None;
    }
    let mut groups: Vec<NaiveGroup<'_>> = Vec::new();
    let mut in_run = false;
    for &line in lines {
        match line {
            Line::Agent(token) => {
                if !in_run {
                    groups.push((Vec::new(), Vec::new()));
                }
                in_run = true;
                groups.last_mut().unwrap().0.push(token);
            }
            Line::Rule(_) => in_run = false,
            Line::Usage(path, statement) => {
                let specificity = path.map_or(Some(0), |path| oracle::specificity_of_match(path.as_bytes(), url.as_bytes()));
                if let (Some(group), Some(specificity), Some(preference)) = (groups.last_mut(), specificity, says(statement)) {
                    group.1.push((specificity, preference));
                }
            }
        }
    }
    let star = agent.star().then_some("*");
    let binding = tokens.iter().copied().chain(star).find(|token| groups.iter().any(|group| group.0.contains(token)))?;
    let stated = groups.iter().filter(|group| group.0.contains(&binding)).flat_map(|group| &group.1);
    stated.max().map(|&(_, preference)| preference) // `No` is the greater of the two
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_pipeline_gives_what_a_naive_reading_gives(lines in prop::collection::vec(line(), 0..16)) {
        let agents = [
            Agent::token("nobody").unwrap(),
            Agent::token("abot").unwrap(),
            Agent::profile("several", ["bbot", "abot"], true),
            Agent::profile("own", ["bbot"], false),
        ];
        let targets = ["", "/", "/a", "/ab", "/a/b", "/a/bc", "/a%2Fb", "/a?b", "?b", "/robots.txt", "/robots.txt?b", "/*", "/x", "/b/b", "/é"];
        let rows: Vec<String> = targets.iter().map(|target| format!("https://e.example{target}")).collect();
        let text: String = lines.iter().map(|line| line.text()).collect();
        let store = store(RFC9309, &[("e.example", of_text(&text))]);
        let stated = stated(&store, &agents, &key("train-ai"), &rows.join("\n"));
        for (row, stated) in rows.iter().zip(stated) {
            let right: Vec<_> = agents.iter().map(|agent| naive(&lines, agent, row)).collect();
            prop_assert_eq!(stated, right, "{} under\n{}", row, text);
        }
    }
}
