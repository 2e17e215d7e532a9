//! Benchmarks by the definitions in `definitions.toml`: what runs, and what must come out.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toml::{Table, Value};

use robosieve::agent::Agent;
use robosieve::dialect::RFC9309;
use robosieve::io::directory::add_directory;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Decided, Discard, Evaluator, Sink, Summary, run};
use robosieve::store::Store;
use robosieve::store::build::{Builder, Built, Record};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A definition.
struct Definition(Table);

impl Definition {
    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_else(|| panic!("{key} is missing: {:?}", self.0))
    }

    fn path(&self, key: &str) -> PathBuf {
        root().join(self.text(key))
    }

    fn numbers(&self, key: &str) -> Vec<u64> {
        let values = self.0[key].as_array().map_or(std::slice::from_ref(&self.0[key]), Vec::as_slice);
        values.iter().map(|value| value.as_integer().expect("a number") as u64).collect()
    }

    fn agents(&self) -> Vec<Agent> {
        let tokens = self.0["agents"].as_array().expect("a list of agents");
        tokens.iter().map(|token| Agent::token(token.as_str().expect("a token")).expect("a token")).collect()
    }

    /// The counts must be those of the definition: a fast wrong answer is none.
    fn check(&self, summary: &Summary) {
        let counts = |count: fn(&robosieve::pipeline::Tally) -> u64| summary.agents.iter().map(count).collect::<Vec<_>>();
        let name = self.text("name");
        assert_eq!(counts(|tally| tally.allow), self.numbers("allow"), "{name}: allow");
        assert_eq!(counts(|tally| tally.disallow()), self.numbers("disallow"), "{name}: disallow");
        assert_eq!(counts(|tally| tally.unresolved()), self.numbers("unresolved"), "{name}: unresolved");
    }
}

fn build(policies: &Path) -> Built {
    let mut builder = Builder::new(RFC9309);
    if policies.is_dir() {
        let left_out = add_directory(&mut builder, policies).expect("a readable directory");
        assert!(left_out.is_empty(), "{left_out:?}");
    } else {
        builder.add_any(Record::body(fs::read(policies).expect("a readable file")));
    }
    builder.finish().expect("a store")
}

/// A sink that asks for rules and keeps nothing.
struct WithRules;

impl Sink for WithRules {
    fn wants_decisions(&self) -> bool {
        true
    }

    fn write(&mut self, _: &Decided<'_>) -> std::io::Result<()> {
        Ok(())
    }
}

fn evaluate(criterion: &mut Criterion, definition: &Definition, sink: &mut dyn Sink) {
    let store: Store = build(&definition.path("policies")).open().expect("a sound store");
    let urls = fs::read(definition.path("urls")).expect("a list");
    let evaluator = Evaluator::new(&store, definition.agents());
    let mut once = || run(&mut MappedLines::new(&urls), &evaluator, sink, NonZeroUsize::MIN).expect("a run");
    let summary = once();
    definition.check(&summary);
    let mut group = criterion.benchmark_group(definition.text("kind"));
    group.throughput(Throughput::Elements(summary.rows));
    group.bench_function(definition.text("name"), |bencher| bencher.iter(&mut once));
    group.finish();
}

fn compile(criterion: &mut Criterion, definition: &Definition) {
    let folder = definition.path("policies");
    let built = build(&folder);
    let (rules, len) = (built.report().rule_count, built.report().body_len);
    let store = built.open().expect("a sound store");
    assert_eq!(vec![rules], definition.numbers("rules"), "rules");
    assert_eq!(vec![store.program_count() as u64], definition.numbers("programs"), "programs");
    let mut group = criterion.benchmark_group("compile");
    group.throughput(Throughput::Bytes(len));
    group.bench_function(definition.text("name"), |bencher| bencher.iter(|| build(&folder)));
    group.finish();
}

fn definitions(criterion: &mut Criterion) {
    let text = fs::read_to_string(root().join("benches/definitions.toml")).expect("the definitions");
    let table: Table = text.parse().expect("TOML");
    for entry in table["bench"].as_array().expect("a list of benchmarks") {
        let definition = Definition(entry.as_table().expect("a table").clone());
        match definition.text("kind") {
            "evaluate" => evaluate(criterion, &definition, &mut Discard),
            "decide" => evaluate(criterion, &definition, &mut WithRules),
            "compile" => compile(criterion, &definition),
            other => panic!("no kind of benchmark: {other}"),
        }
    }
}

criterion_group!(benches, definitions);
criterion_main!(benches);
