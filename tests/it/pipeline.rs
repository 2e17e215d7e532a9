//! Rows through the pipeline: the same answers mapped and in memory, from a map and a stream, on any number of threads, as the oracle gives.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::num::NonZeroUsize;

use proptest::prelude::*;

use robosieve::agent::Agent;
use robosieve::decision::{Reason, Verdict};
use robosieve::dialect::RFC9309;
use robosieve::io::lines::{MappedLines, StreamedLines};
use robosieve::pipeline::{Batch, Decided, Discard, Evaluator, Fallback, Lent, Sink, Source, Summary, Unit, Values, count_rows, run};
use robosieve::scan::Isa;
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};
use robosieve::url::origins_of_name;

use crate::corpus;
use crate::ladder::right_answer;
use crate::oracle::{self, Oracle};

/// Keeps what a sink gets: a row's octets, and verdict, reason and line for each agent.
pub struct Keep<'s> {
    pub store: &'s Store,
    pub detail: bool,
    pub rows: Vec<Vec<u8>>,
    pub answers: Vec<Vec<(Verdict, Option<Reason>, u32)>>,
}

impl<'s> Keep<'s> {
    pub fn new(store: &'s Store, detail: bool) -> Keep<'s> {
        Keep { store, detail, rows: Vec::new(), answers: Vec::new() }
    }
}

impl Sink for Keep<'_> {
    fn wants_decisions(&self) -> bool {
        self.detail
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        assert_eq!(decided.first_row(), self.rows.len() as u64);
        let agents = decided.columns().len();
        for row in 0..decided.row_count() {
            self.rows.push(decided.row(row).to_vec());
            self.answers.push((0..agents).map(|agent| (decided.verdict(row, agent), None, 0)).collect());
        }
        for run in decided.runs() {
            let table = run.rule_table(0, self.store);
            for row in run.rows.clone() {
                let answers = &mut self.answers[decided.first_row() as usize + row];
                for (answer, decision) in answers.iter_mut().zip(decided.decisions(row)) {
                    assert_eq!(answer.0, decision.verdict);
                    let line = table.and_then(|table| table.rule(decision.rule)).map_or(0, |rule| rule.line);
                    *answer = (decision.verdict, Some(decision.reason), line);
                }
            }
        }
        Ok(())
    }
}

pub fn threads(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

fn build(policies: &[(String, Vec<u8>)]) -> robosieve::store::build::Built {
    let mut builder = Builder::new(RFC9309);
    builder.add_batch(
        policies.iter().map(|(name, body)| (name.clone(), origins_of_name(name).unwrap(), Record::body(body.clone()))).collect(),
    );
    builder.finish().unwrap()
}

fn agents() -> Vec<Agent> {
    // Two that no group tells apart, one that a group names, one of several tokens, one that `*` does not bind.
    vec![
        Agent::token("*").unwrap(),
        Agent::token("nobody").unwrap(),
        Agent::token("abot").unwrap(),
        Agent::profile("several", ["bbot", "abot"], true),
        Agent::profile("own", ["bbot"], false),
    ]
}

/// The answers of the oracle for one row.
fn right(oracles: &HashMap<String, Oracle>, agents: &[Agent], row: &[u8]) -> Vec<(Verdict, Reason, u32)> {
    let known = oracle::origin(row).and_then(|origin| oracles.get(&origin));
    let unknown = Oracle::parse(b"");
    let answer = |agent: &Agent| match known {
        Some(oracle) => right_answer(oracle, agent, row),
        None => {
            let answer = unknown.decide_fetched("unknown", "rfc9309", &[], true, row);
            let reason = Reason::ALL.into_iter().find(|reason| reason.name() == answer.reason).unwrap();
            let verdict = if reason == Reason::RobotsTxt { Verdict::Allow } else { Verdict::Unresolved };
            (verdict, reason, 0)
        }
    };
    agents.iter().map(answer).collect()
}

fn oracles(policies: &[(String, Vec<u8>)]) -> HashMap<String, Oracle> {
    let mut oracles = HashMap::new();
    for (name, body) in policies {
        for origin in origins_of_name(name).unwrap().origins() {
            oracles.insert(origin.clone(), Oracle::parse(body));
        }
    }
    oracles
}

fn check_summary(summary: &Summary, answers: &[Vec<(Verdict, Reason, u32)>]) {
    assert_eq!(summary.rows, answers.len() as u64);
    for (agent, tally) in summary.agents.iter().enumerate() {
        let count = |verdict| answers.iter().filter(|row| row[agent].0 == verdict).count() as u64;
        assert_eq!(tally.allow, count(Verdict::Allow));
        assert_eq!(tally.disallow(), count(Verdict::Disallow));
        assert_eq!(tally.unresolved(), count(Verdict::Unresolved));
        for reason in Reason::ALL {
            let right = answers.iter().filter(|row| row[agent].0 == Verdict::Unresolved && row[agent].1 == reason).count() as u64;
            assert_eq!(tally.unresolved_for(reason), right, "{reason}");
        }
    }
}

/// Runs a list in every way there is and holds each to the oracle.
fn check_everywhere(policies: &[(String, Vec<u8>)], list: &[u8], rows: &[&[u8]]) {
    let agents = agents();
    let oracles = oracles(policies);
    let right: Vec<_> = rows.iter().map(|row| right(&oracles, &agents, row)).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    build(policies).write(file.path()).unwrap();
    let stores = [build(policies).open().unwrap(), Store::open(file.path()).unwrap()];
    for store in &stores {
        let evaluator = Evaluator::new(store, agents.clone());
        for count in [1, 2, 5] {
            for detail in [false, true] {
                let sources: [Box<dyn Source<'_>>; 2] = [Box::new(MappedLines::new(list)), Box::new(StreamedLines::new(list))];
                for mut source in sources {
                    let mut keep = Keep::new(store, detail);
                    let summary = run(&mut *source, &evaluator, &mut keep, threads(count)).unwrap();
                    assert_eq!(keep.rows, rows);
                    for ((answers, right), row) in keep.answers.iter().zip(&right).zip(rows) {
                        for (answer, right) in answers.iter().zip(right) {
                            let reason = if detail { Some(right.1) } else { None };
                            let line = if detail { right.2 } else { 0 };
                            assert_eq!(*answer, (right.0, reason, line), "{} on {count} threads", row.escape_ascii());
                        }
                    }
                    check_summary(&summary, &right);
                }
            }
        }
    }
}

fn policy() -> impl Strategy<Value = Vec<u8>> {
    let lines = prop::collection::vec(
        prop::sample::select(vec![
            "User-agent: *",
            "User-agent: abot",
            "User-agent: bbot",
            "Disallow: /",
            "Disallow: /a",
            "Allow: /a/b",
            "Disallow: /*b",
            "Allow: /a*b$",
            "Disallow: /robots",
            "Allow: /",
            "Disallow:",
            "# x",
            "Crawl-delay: 2",
            "Disallow: /%61%2F",
            "Disallow: /*?",
        ]),
        0..14,
    );
    lines.prop_map(|lines| lines.join("\n").into_bytes())
}

fn row() -> impl Strategy<Value = String> {
    let origin = prop::sample::select(vec![
        "http://a.example",
        "https://a.example",
        "https://A.EXAMPLE:443",
        "http://u@b.example:8080",
        "https://c.example",
        "http://b.example",
        "http://a.example",
        "http://a.exampleX",
        "mailto:x@a.example",
        "http:",
        "",
        "http://[::1",
        "https://d.example.",
    ]);
    let target = prop::sample::select(vec![
        "",
        "/",
        "/a",
        "/a/b",
        "/ab?x#y",
        "?b",
        "/robots.txt",
        "/robots.txt?1",
        "/%61/b",
        "/A",
        "/a%2Fb",
        "/%72obots.txt",
        "#f",
        "/a b",
        "/é",
        "/r",
    ]);
    (origin, target).prop_map(|(origin, target)| format!("{origin}{target}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_gives_what_the_oracle_gives(
        bodies in prop::collection::vec(policy(), 4),
        rows in prop::collection::vec((row(), 1..4usize), 0..60),
        crlf in any::<bool>(),
        ends in any::<bool>(),
    ) {
        let names = ["a.example", "b.example_8080", "https_c.example_443", "d.example"];
        let policies: Vec<_> = names.iter().map(|name| (*name).to_owned()).zip(bodies).collect();
        let rows: Vec<String> = rows.into_iter().flat_map(|(row, times)| std::iter::repeat_n(row, times)).collect();
        let line_end = if crlf { "\r\n" } else { "\n" };
        let mut list = rows.join(line_end);
        // A last empty row is one only with its line end.
        if ends || rows.last().is_some_and(String::is_empty) {
            list.push_str(line_end);
        }
        let list = if rows.is_empty() { String::new() } else { list };
        check_everywhere(&policies, list.as_bytes(), &rows.iter().map(String::as_bytes).collect::<Vec<_>>());
    }
}

#[test]
fn every_row_of_an_ugly_list_has_its_answer() {
    let policies = vec![("a.example".to_owned(), b"User-agent: *\nDisallow: /a".to_vec())];
    let long = [b"http://a.example/".to_vec(), vec![b'a'; 10 << 20]].concat();
    let binary: Vec<u8> = (0..=255u8).filter(|octet| !matches!(octet, b'\n' | b'\r')).collect();
    let binary_url = [b"http://a.example/", &binary[..]].concat();
    let rows: Vec<&[u8]> =
        vec![b"", b"", b"http://a.example/a", &long, &binary, &binary_url, b"", b"http://a.example/b\rc", b"http://a.example/x"];
    for line_end in [&b"\n"[..], b"\r\n"] {
        let list = rows.join(line_end);
        check_everywhere(&policies, &list, &rows);
        check_everywhere(&policies, &[&list[..], line_end].concat(), &rows);
    }
}

/// More origins with a policy than a thread remembers, beside hosts without one and rows without an origin, spelled in every way.
#[test]
fn more_origins_than_are_remembered() {
    let bodies =
        ["User-agent: *\nDisallow: /", "User-agent: *\nDisallow:", "", "User-agent: abot\nDisallow: /a\n\nUser-agent: *\nDisallow: /*b"];
    let host = |number: usize| format!("h{number}{}.example", if number.is_multiple_of(50) { "-long".repeat(12) } else { String::new() });
    let policies: Vec<_> = (0..1500).map(|number| (host(number), bodies[number % bodies.len()].as_bytes().to_vec())).collect();
    let paths = ["/", "/a/b", "", "?a", "/robots.txt", "/%72obots.txt?x", "/ab#b", "/robots.txt/a"];
    let rows: Vec<String> = (0..9000usize)
        .map(|number| {
            let (host, path) = (host(number * 7 % 1700), paths[number / 3 % paths.len()]);
            match number % 11 {
                0..4 => format!("https://{host}{path}"),
                4..8 => format!("http://{host}{path}"),
                8 => format!("HTTPS://me@{}:443{path}", host.to_uppercase()),
                9 => format!("http://{host}.{path}"),
                _ => ["http:///a", "//h1.example/", "http://h1.example:99999/", "http://h 1/", "ftp://h1.example/a"][number % 5].to_owned(),
            }
        })
        .collect();
    check_everywhere(&policies, rows.join("\n").as_bytes(), &rows.iter().map(String::as_bytes).collect::<Vec<_>>());
}

#[test]
fn a_batch_boundary_loses_nothing() {
    let policies = vec![("a.example".to_owned(), b"User-agent: *\nDisallow: /1".to_vec())];
    let rows: Vec<String> = (0..60_000).map(|i| format!("http://{}.example/{i}", if i % 7 == 0 { "b" } else { "a" })).collect();
    let list = rows.join("\n");
    let rows: Vec<&[u8]> = rows.iter().map(String::as_bytes).collect();
    check_everywhere(&policies, list.as_bytes(), &rows);
}

#[test]
fn a_sink_that_fails_ends_the_run() {
    struct Full;
    impl Sink for Full {
        fn write(&mut self, _: &Decided<'_>) -> io::Result<()> {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        }
    }
    let store = build(&[]).open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    let list = b"http://a.example/\n".repeat(200_000);
    for count in [1, 3] {
        let error = run(&mut MappedLines::new(&list), &evaluator, &mut Full, threads(count)).unwrap_err();
        assert!(error.to_string().contains("writing the output"), "{error}");
    }
}

#[test]
fn a_source_that_fails_ends_the_run() {
    struct Broken(u32);
    impl io::Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.0 += 1;
            if self.0 > 40 {
                return Err(io::Error::other("the disk is gone"));
            }
            buffer.fill(b'\n');
            Ok(buffer.len())
        }
    }
    let store = build(&[]).open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    for count in [1, 3] {
        let error = run(&mut StreamedLines::new(Broken(0)), &evaluator, &mut Discard, threads(count)).unwrap_err();
        assert!(error.to_string().contains("the disk is gone"), "{error}");
    }
}

/// Small batches of one row, of which some are slow to decide, and what came back of them.
struct Uneven {
    given: usize,
    came_back: usize,
    /// The batch whose row lies outside its octets.
    broken: Option<usize>,
}

impl Uneven {
    const COUNT: usize = 300;

    fn new(broken: Option<usize>) -> Uneven {
        Uneven { given: 0, came_back: 0, broken }
    }

    fn row(number: usize) -> Vec<u8> {
        let long = if number.is_multiple_of(13) { 1 << 20 } else { 0 };
        format!("http://a.example/{number}{}", "x".repeat(long)).into_bytes()
    }
}

impl<'s> Source<'s> for Uneven {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        if self.given == Uneven::COUNT {
            return Ok(None);
        }
        let row = Uneven::row(self.given);
        let end = row.len() + usize::from(self.broken == Some(self.given));
        self.given += 1;
        Ok(Some(Batch::rows(row, std::iter::once(0..end).collect())))
    }

    fn recycle(&mut self, octets: Vec<u8>) {
        assert_eq!(octets, Uneven::row(self.came_back), "the octets that came with the batch, oldest first");
        self.came_back += 1;
        assert!(self.given - self.came_back < 2 * 5, "in flight");
    }
}

#[test]
fn batches_keep_their_order_and_give_their_octets_back() {
    let store = build(&[("a.example".to_owned(), b"User-agent: *\nDisallow: /1".to_vec())]).open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    for count in [1, 2, 5] {
        let (mut source, mut keep) = (Uneven::new(None), Keep::new(&store, false));
        let summary = run(&mut source, &evaluator, &mut keep, threads(count)).unwrap();
        assert_eq!((source.came_back, summary.rows), (Uneven::COUNT, Uneven::COUNT as u64));
        for (number, (row, answers)) in keep.rows.iter().zip(&keep.answers).enumerate() {
            assert_eq!(*row, Uneven::row(number));
            assert_eq!(answers[0].0 == Verdict::Disallow, number.to_string().starts_with('1'), "row {number}");
        }
    }
}

#[test]
fn a_stream_is_read_into_few_buffers() {
    #[derive(Default)]
    struct Places(BTreeSet<usize>);
    impl Sink for Places {
        fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
            self.0.insert(decided.row(0).as_ptr() as usize);
            Ok(())
        }
    }
    let store = build(&[]).open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    let list = b"http://a.example/some/path\r\n".repeat(200_000);
    for count in [1, 3] {
        let mut places = Places::default();
        let summary = run(&mut StreamedLines::new(&list[..]), &evaluator, &mut places, threads(count)).unwrap();
        assert_eq!(summary.rows, 200_000);
        assert!(places.0.len() <= 2 * count, "{} buffers on {count} threads", places.0.len());
    }
}

/// Whichever thread it is that panics, the others go home and the caller sees it.
#[test]
fn a_panic_ends_the_run() {
    struct Panics;
    impl Sink for Panics {
        fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
            assert!(decided.first_row() < 20, "the sink has enough");
            Ok(())
        }
    }
    let store = build(&[]).open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    for count in [1, 2, 5] {
        for broken in [0, 1, 2, 3, 50, Uneven::COUNT - 1] {
            let run = || run(&mut Uneven::new(Some(broken)), &evaluator, &mut Discard, threads(count));
            assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err(), "batch {broken} on {count} threads");
        }
        let run = || run(&mut Uneven::new(None), &evaluator, &mut Panics, threads(count));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).is_err(), "the sink on {count} threads");
    }
}

/// Real URLs under their hosts' own policies.
#[test]
fn real_lists_agree_with_the_oracle() {
    let test = "real_lists_agree_with_the_oracle";
    for (archive, list) in [("robots-gov.tar.zst", "urls-gov.txt.zst"), ("robots-top.tar.zst", "urls-mixed.txt.zst")] {
        let (Some(policies), Some(list)) = (corpus::bodies(archive, test), corpus::unpacked(list, test)) else { return };
        let store = build(&policies).open().unwrap();
        let agents = ["*", "Googlebot", "GPTBot"].map(|token| Agent::token(token).unwrap()).to_vec();
        let evaluator = Evaluator::new(&store, agents.clone());
        let mut keep = Keep::new(&store, true);
        let summary = run(&mut MappedLines::new(&list), &evaluator, &mut keep, threads(2)).unwrap();
        let verdicts = run(&mut MappedLines::new(&list), &evaluator, &mut Discard, threads(2)).unwrap();
        assert_eq!(summary, verdicts, "the tallies with and without decisions");
        let oracles = oracles(&policies);
        let mut checked = 0;
        for (row, answers) in keep.rows.iter().zip(&keep.answers).step_by(61) {
            for (answer, right) in answers.iter().zip(right(&oracles, &agents, row)) {
                assert_eq!(*answer, (right.0, Some(right.1), right.2), "{}", row.escape_ascii());
                checked += 1;
            }
        }
        eprintln!("{archive}: {} rows, {checked} answers checked, no difference", keep.rows.len());
        assert!(checked > 50_000);
    }
}

/// A column, of which empty values are null.
struct Column<'a>(Vec<&'a [u8]>);

impl Values for Column<'_> {
    fn row_count(&self) -> usize {
        self.0.len()
    }

    fn value(&self, row: usize) -> &[u8] {
        self.0[row]
    }

    fn is_null(&self, row: usize) -> bool {
        self.0[row].is_empty()
    }

    fn record(&self, row: usize) -> &[u8] {
        &self.0[row][self.0[row].len() / 2..]
    }
}

/// Columns as batches or in units of three parts, the last of which may not be readable.
struct Columns<'a> {
    columns: Vec<Vec<&'a [u8]>>,
    in_units: bool,
    broken: bool,
}

struct Parts<'a> {
    columns: Vec<Vec<&'a [u8]>>,
    broken: bool,
}

impl<'a> Unit<'a> for Parts<'a> {
    fn next_part(&mut self) -> io::Result<Option<Batch<'a>>> {
        if self.columns.is_empty() && self.broken {
            return Err(io::Error::other("a page is damaged"));
        }
        Ok(self.columns.pop().map(|column| Batch::values(Column(column))))
    }
}

impl<'a> Source<'a> for Columns<'a> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'a>>> {
        let len = self.columns.len().min(if self.in_units { 3 } else { 1 });
        let mut columns: Vec<_> = self.columns.drain(..len).rev().collect();
        Ok(match (len, self.in_units) {
            (0, _) => None,
            (_, true) => Some(Batch::unit(Parts { columns, broken: self.broken && self.columns.is_empty() })),
            (_, false) => columns.pop().map(|column| Batch::values(Column(column))),
        })
    }

    fn recycle(&mut self, _: Vec<u8>) {
        panic!("the source has given no octets");
    }
}

#[test]
fn values_are_rows_whatever_they_hold() {
    let robots = b"User-agent: *\nDisallow: /a\nDisallow: /*.pdf$\nUser-agent: abot\nDisallow: /*\xE4\nDisallow: /b%0A".to_vec();
    let policies = [("a.example".to_owned(), robots)];
    let store = build(&policies).open().unwrap();
    let (oracles, evaluator) = (oracles(&policies), Evaluator::new(&store, agents()));
    let values: Vec<&[u8]> = vec![
        b"http://a.example/a",
        b"",
        b"http://a.example/x.pdf",
        b"http://a.example/x.pdf\n",
        b"http://a.example/b\nhttp://a.example/a",
        b"http://a.example/a\r",
        b"http://a.example/x.pdf\r",
        b"http://a.example/\xE4",
        b"http://b.example/",
        b"nothing",
    ];
    // Columns of every shape: with and without values that are no lines.
    let columns: Vec<Vec<&[u8]>> =
        (0..40).map(|n| values.iter().cycle().skip(n % 10).step_by(n % 7 + 1).take(n * 3).copied().collect()).collect();
    let all: Vec<&[u8]> = columns.concat();
    let rights: Vec<_> = all.iter().map(|row| right(&oracles, &agents(), row)).collect();
    for (detail, count, in_units) in [(false, 1, false), (false, 3, true), (true, 1, true), (true, 3, false)] {
        let source = || Columns { columns: columns.clone(), in_units, broken: false };
        let mut keep = Keep::new(&store, detail);
        let summary = run(&mut source(), &evaluator, &mut keep, threads(count)).unwrap();
        assert_eq!(keep.rows, all);
        check_summary(&summary, &rights);
        assert_eq!(count_rows(&mut source(), Isa::best()).unwrap(), all.len() as u64);
        assert_eq!(run(&mut source(), &evaluator, &mut Discard, threads(count)).unwrap(), summary);
        for (answers, rights) in keep.answers.iter().zip(&rights) {
            let answers: Vec<_> = answers.iter().map(|answer| (answer.0, answer.1.unwrap_or(Reason::Rule))).collect();
            let rights: Vec<_> = rights.iter().map(|right| (right.0, if detail { right.1 } else { Reason::Rule })).collect();
            assert_eq!(answers, rights);
        }
    }
}

#[test]
fn a_sink_gets_the_values_back() {
    struct Records(Vec<u8>, u64);
    impl Sink for Records {
        fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
            let values = decided.values().expect("values");
            for row in 0..decided.row_count() {
                self.0.extend(decided.line(row));
                self.1 += u64::from(values.is_null(row));
            }
            Ok(())
        }
    }
    let store = build(&[]).open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    for (count, in_units) in [(1, true), (2, false), (2, true)] {
        let mut records = Records(Vec::new(), 0);
        let columns = vec![vec![&b"onetwo"[..], b"", b"threefour!"]; 50];
        run(&mut Columns { columns, in_units, broken: false }, &evaluator, &mut records, threads(count)).unwrap();
        assert_eq!((records.0, records.1), (b"twofour!".repeat(50), 50));
    }
}

#[test]
fn a_unit_that_can_not_be_read_ends_the_run() {
    let store = build(&[]).open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    for count in [1, 2, 5] {
        let columns = vec![vec![&b"http://a.example/"[..]]; 100];
        let error = run(&mut Columns { columns, in_units: true, broken: true }, &evaluator, &mut Discard, threads(count)).unwrap_err();
        assert_eq!(error.to_string(), "reading the input: a page is damaged");
    }
}

#[test]
fn rows_are_numbered_by_file() {
    struct Files(u32);
    impl<'s> Source<'s> for Files {
        fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
            self.0 += 1;
            Ok((self.0 <= 9).then(|| Batch::lines(b"a\nb\n".to_vec()).of_file(self.0 / 4)))
        }
    }
    struct Numbers(Vec<(u32, u64)>);
    impl Sink for Numbers {
        fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
            self.0.push((decided.file(), decided.first_row()));
            Ok(())
        }
    }
    let store = build(&[]).open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    for count in [1, 2] {
        let mut numbers = Numbers(Vec::new());
        assert_eq!(run(&mut Files(0), &evaluator, &mut numbers, threads(count)).unwrap().rows, 18);
        assert_eq!(numbers.0, [(0, 0), (0, 2), (0, 4), (1, 0), (1, 2), (1, 4), (1, 6), (2, 0), (2, 2)]);
    }
}

#[test]
fn policies_are_lent_where_there_is_none() {
    let robots = |path: &str| format!("User-agent: *\nDisallow: /{path}\n").into_bytes();
    let mut builder = Builder::new(RFC9309);
    for (name, path) in [
        ("https://a.example", "a"),
        ("http://www.b.example", "b"),
        ("https://www.c.example", "c"),
        ("http://c.example", "none"),
        ("https://d.example:8443", "d"),
    ] {
        builder.add_name(name, Record::body(robots(path))).unwrap();
    }
    let store = builder.finish().unwrap().open().unwrap();
    let list: [(&str, u8, Option<Lent>); 10] = [
        ("http://a.example/a", 1, Some(Lent::Scheme)),
        ("http://a.example/x", 0, Some(Lent::Scheme)),
        ("https://a.example/a", 1, None),
        ("http://b.example/b", 1, Some(Lent::Www)),
        ("https://b.example/b", 1, Some(Lent::SchemeAndWww)),
        ("http://www.a.example/a", 1, Some(Lent::SchemeAndWww)),
        ("https://c.example/c", 0, Some(Lent::Scheme)), // that of the other scheme comes first
        ("http://www.c.example/c", 1, Some(Lent::Scheme)),
        ("http://d.example:8443/d", 2, None),
        ("https://www.d.example:8443/robots.txt", 0, Some(Lent::Www)),
    ];
    struct Rows(Vec<(Verdict, Option<Lent>)>, bool);
    impl Sink for Rows {
        fn wants_decisions(&self) -> bool {
            self.1
        }
        fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
            self.0.extend((0..decided.row_count()).map(|row| (decided.verdict(row, 0), decided.lent(row))));
            Ok(())
        }
    }
    let verdicts = [Verdict::Allow, Verdict::Disallow, Verdict::Unresolved];
    // Again and again, so that places are asked many rows at once.
    let rows: Vec<_> = list.iter().cycle().take(5_000).collect();
    let text: String = rows.iter().map(|row| format!("{}\n", row.0)).collect();
    let right: Vec<_> = rows.iter().map(|row| (verdicts[usize::from(row.1)], row.2)).collect();
    for (detail, count) in [(false, 1), (true, 1), (false, 3)] {
        let evaluator = Evaluator::new(&store, agents()).with_fallback(Fallback { scheme: true, www: true });
        let mut found = Rows(Vec::new(), detail);
        let summary = run(&mut MappedLines::new(text.as_bytes()), &evaluator, &mut found, threads(count)).unwrap();
        assert_eq!(found.0, right);
        assert_eq!(summary.lent, Lent::ALL.map(|lent| right.iter().filter(|row| row.1 == Some(lent)).count() as u64));
        assert_eq!(summary.agents[0].unresolved(), 500);
    }
    let only_own = run(&mut MappedLines::new(text.as_bytes()), &Evaluator::new(&store, agents()), &mut Discard, threads(1)).unwrap();
    assert_eq!((only_own.lent, only_own.agents[0].unresolved()), ([0; 3], 4_000));
}
