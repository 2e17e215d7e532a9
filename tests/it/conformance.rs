//! The conformance tables in `data/conformance`, played through the library, compiled in every way, and through the command.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use robosieve::agent::Agent;
use robosieve::compile::Options;
use robosieve::decision::Verdict;
use robosieve::dialect::Dialect;
use robosieve::fetch::{AccessTable, Outcome};
use robosieve::pipeline::{Batch, Evaluator, Source, run};
use robosieve::program::{Detail, Rung};
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};
use toml::{Table, Value};

use crate::pipeline::{Keep, threads};

/// One robots.txt and what is asked of it.
struct Case {
    /// Folder, file and id: what a message calls it.
    name: String,
    dialect: Dialect,
    robots: Vec<u8>,
    status: Option<String>,
    access: Option<String>,
    header: bool,
    /// Whether robosieve is known to answer otherwise than the program that was measured.
    differs: bool,
    checks: Vec<Check>,
}

struct Check {
    agent: String,
    url: Vec<u8>,
    verdict: Verdict,
    line: Option<u32>,
}

/// Every case of every table.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for folder in sorted_names(&root()).into_iter().filter(|name| root().join(name).is_dir()) {
        let dialect = Dialect::by_name(&folder).unwrap_or_else(|| panic!("{folder} is no dialect"));
        for file in sorted_names(&root().join(&folder)) {
            let text = fs::read_to_string(root().join(&folder).join(&file)).unwrap();
            let table: Table = text.parse().unwrap_or_else(|error| panic!("{folder}/{file}: {error}"));
            cases.extend(table["case"].as_array().unwrap().iter().map(|case| Case::read(&format!("{folder}/{file}"), dialect, case)));
        }
    }
    cases
}

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/conformance")
}

fn sorted_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let names: BTreeSet<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.into_iter().collect()
}

const KEYS: [&str; 11] =
    ["id", "why", "authority", "differs", "robots", "robots_parts", "status", "access", "header", "measurable", "checks"];

impl Case {
    fn read(file: &str, dialect: Dialect, case: &Value) -> Case {
        let case = case.as_table().unwrap();
        let name = format!("{file} {}", case["id"].as_str().unwrap());
        for key in case.keys() {
            assert!(KEYS.contains(&key.as_str()), "{name}: nobody knows the key {key}");
        }
        let text = |key: &str| case.get(key).map(|value| value.as_str().unwrap_or_else(|| panic!("{name}: {key} is no text")).to_owned());
        assert!(text("why").is_some_and(|why| !why.is_empty()), "{name}: why is missing");
        let authority = text("authority").unwrap_or_default();
        let known = ["RFC ", "https://", "measured: ", "robosieve: "].iter().any(|start| authority.starts_with(start));
        assert!(known, "{name}: authority is missing or of no known kind: {authority:?}");
        let is_measured = authority.starts_with("measured: ");
        let measurable = case.get("measurable").map(|measurable| measurable.as_bool().unwrap());
        let is_followed = dialect.name != "rfc9309";
        assert_eq!(measurable, (is_followed && !is_measured).then_some(false), "{name}: measured, or else `measurable = false`");
        let differs = text("differs").is_some();
        assert!(!differs || is_measured, "{name}: only from a program that was measured may robosieve differ");
        let robots = match (case.get("robots"), case.get("robots_parts")) {
            (Some(robots), None) => octets(robots),
            (None, Some(parts)) => all_octets(parts),
            _ => panic!("{name}: give robots or robots_parts"),
        };
        let header = case.get("header").is_some_and(|header| header.as_bool().unwrap());
        let checks = case["checks"].as_array().unwrap().iter().map(|row| Check::read(&name, row)).collect();
        Case { status: text("status"), access: text("access"), name, dialect, robots, header, differs, checks }
    }

    fn agent(&self, text: &str) -> Agent {
        match self.header {
            true => Agent::from_header(text),
            false => Agent::token(text).unwrap_or_else(|error| panic!("{}: {error}", self.name)),
        }
    }

    /// The agents, each once.
    fn agents(&self) -> Vec<&str> {
        let mut agents: Vec<&str> = Vec::new();
        for check in &self.checks {
            if !agents.contains(&&check.agent[..]) {
                agents.push(&check.agent);
            }
        }
        agents
    }
}

impl Check {
    fn read(name: &str, row: &Value) -> Check {
        let row = row.as_array().unwrap();
        assert!(row.len() == 3 || row.len() == 4, "{name}: a check is [agent, URL, verdict] or [agent, URL, verdict, line]");
        let verdict = match row[2].as_str() {
            Some("allow") => Verdict::Allow,
            Some("disallow") => Verdict::Disallow,
            Some("unresolved") => Verdict::Unresolved,
            _ => panic!("{name}: {:?} is no verdict", row[2]),
        };
        let line = row.get(3).map(|line| line.as_integer().unwrap().try_into().unwrap());
        Check { agent: row[0].as_str().unwrap().to_owned(), url: octets(&row[1]), verdict, line }
    }

    fn expect(&self, case: &Case, how: &str, verdict: Verdict, line: u32) {
        if case.differs {
            assert_ne!(verdict, self.verdict, "{}, {how}: {} differs no longer: take `differs` out", case.name, self.agent);
            return;
        }
        let right = verdict == self.verdict && self.line.is_none_or(|right| right == line);
        let url = self.url.escape_ascii().to_string();
        let (agent, url) = (&self.agent, &url[..url.len().min(200)]);
        let (right_verdict, right_line) = (self.verdict, self.line);
        assert!(right, "{}, {how}: {agent} on {url}: {verdict:?} by line {line}, right is {right_verdict:?} by {right_line:?}", case.name);
    }
}

/// The octets that a text or a table of the format stands for.
fn octets(value: &Value) -> Vec<u8> {
    let Value::Table(table) = value else { return value.as_str().unwrap().as_bytes().to_vec() };
    if let Some(parts) = table.get("parts") {
        return all_octets(parts);
    }
    let times = table.get("times").map_or(1, |times| times.as_integer().unwrap().try_into().unwrap());
    let text = |key: &str| table.get(key).map(|text| text.as_str().unwrap());
    let units = |text: &str, unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let once = match (text("text"), text("hex"), text("utf16le"), text("utf16be")) {
        (Some(text), None, None, None) => text.as_bytes().to_vec(),
        (None, Some(digits), None, None) => from_hex(digits),
        (None, None, Some(text), None) => units(text, u16::to_le_bytes),
        (None, None, None, Some(text)) => units(text, u16::to_be_bytes),
        _ => panic!("a part is text, hex, utf16le or utf16be: {value:?}"),
    };
    once.repeat(times)
}

fn all_octets(parts: &Value) -> Vec<u8> {
    parts.as_array().unwrap().iter().flat_map(octets).collect()
}

fn from_hex(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2), "{digits}");
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// The URLs of a case, in one batch.
struct Urls<'c>(Option<&'c [Check]>);

impl<'s> Source<'s> for Urls<'_> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        let Some(checks) = self.0.take() else { return Ok(None) };
        let mut octets = Vec::new();
        let rows = checks.iter().map(|check| {
            octets.extend_from_slice(&check.url);
            octets.len() - check.url.len()..octets.len()
        });
        let rows = rows.collect();
        Ok(Some(Batch::rows(octets, rows)))
    }
}

fn store_of(case: &Case, options: Options) -> Store {
    let outcome = case.status.as_deref().map_or(Outcome::OK, |status| status.parse().unwrap());
    let mut builder = Builder::new(case.dialect).options(options);
    builder.add_any(Record::body(case.robots.clone()).with_outcome(outcome));
    builder.finish().unwrap().open().unwrap()
}

fn play(case: &Case, options: Options, how: &str) {
    let store = store_of(case, options);
    let texts = case.agents();
    let mut evaluator = Evaluator::new(&store, texts.iter().map(|text| case.agent(text)).collect());
    if let Some(access) = &case.access {
        evaluator = evaluator.with_access(AccessTable::by_name(access).unwrap());
    }
    let mut keep = Keep::new(&store, true);
    run(&mut Urls(Some(&case.checks)), &evaluator, &mut keep, threads(1)).unwrap();
    assert_eq!(keep.answers.len(), case.checks.len(), "{}", case.name);
    for (check, answers) in case.checks.iter().zip(&keep.answers) {
        let agent = texts.iter().position(|text| *text == check.agent).unwrap();
        let (verdict, _, line) = answers[agent];
        check.expect(case, how, verdict, line);
    }
}

#[test]
fn the_library_agrees_on_every_rung() {
    for case in cases() {
        for rung in [None, Some(Rung::Constant), Some(Rung::Dfa), Some(Rung::Backstop)] {
            let options = Options::default().with_detail(Detail::Rules).with_rung(rung);
            play(&case, options, &format!("{rung:?}"));
        }
    }
}

#[cfg(unix)]
#[test]
fn the_command_agrees() {
    let place = tempfile::tempdir().unwrap();
    for case in cases() {
        fs::write(place.path().join("robots.txt"), &case.robots).unwrap();
        for agent in case.agents() {
            ask(&case, agent, place.path());
        }
    }
}

/// One run of `check` for one agent of a case.
#[cfg(unix)]
fn ask(case: &Case, agent: &str, place: &Path) {
    use std::os::unix::ffi::OsStrExt;
    let checks: Vec<&Check> = case.checks.iter().filter(|check| check.agent == agent).collect();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_robosieve"));
    command.current_dir(place).args(["check", "--format", "json", "--robots", "robots.txt", "--dialect", case.dialect.name]);
    command.arg(format!("{}={agent}", if case.header { "--user-agent" } else { "--agent" }));
    command.args(case.status.iter().flat_map(|status| ["--status", status]));
    command.args(case.access.iter().flat_map(|access| ["--access", access]));
    command.arg("--").args(checks.iter().map(|check| std::ffi::OsStr::from_bytes(&check.url)));
    let output = command.output().unwrap();
    let answers: Vec<serde_json::Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!(answers.len(), checks.len(), "{}: {agent}: {complaint}", case.name);
    for (check, answer) in checks.iter().zip(&answers) {
        let verdict =
            [Verdict::Allow, Verdict::Disallow, Verdict::Unresolved].into_iter().find(|verdict| answer["verdict"] == verdict.name());
        check.expect(case, "check", verdict.unwrap(), answer["line"].as_u64().unwrap().try_into().unwrap());
    }
}

/// Tables do not shrink unnoticed, and every case can be named.
#[test]
fn there_are_enough_checks_and_each_id_is_one_cases() {
    let cases = cases();
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.name.rsplit(' ').next().unwrap()).collect();
    assert_eq!(ids.len(), cases.len(), "an id stands for two cases");
    let count = |dialect: &str| cases.iter().filter(|case| case.dialect.name == dialect).map(|case| case.checks.len()).sum::<usize>();
    for (dialect, least) in [("rfc9309", 800), ("google", 300), ("scrapy", 350)] {
        assert!(count(dialect) >= least, "{dialect}: {} checks, want {least}", count(dialect));
    }
}
