//! Benchmarks by the definitions in `definitions.toml`: what runs, and what must come out.

mod definition;
mod hostile;
mod random;
mod workload;

use std::io;
use std::num::NonZeroUsize;

use arrow::array::Array;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile as to_program};
use robosieve::dialect::RFC9309;
use robosieve::io::arrow::boolean_array;
use robosieve::io::lines::MappedLines;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::pipeline::{Decided, Discard, Evaluator, Sink, Summary, Tally, count_rows, run};
use robosieve::policy::Policy;
use robosieve::program::Program;
use robosieve::scan::Isa;
use robosieve::store::Store;
use robosieve::url::Url;

use definition::{Definition, Input};

/// A sink that asks for rules and keeps nothing.
struct WithRules;

impl Sink for WithRules {
    fn wants_decisions(&self) -> bool {
        true
    }

    fn write(&mut self, _: &Decided<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// A sink that makes Arrow arrays of all columns, and counts what they hold.
#[derive(Default)]
struct Arrays {
    allow: u64,
    unresolved: u64,
}

impl Sink for Arrays {
    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for array in decided.columns().iter().map(boolean_array) {
            self.allow += array.true_count() as u64;
            self.unresolved += array.null_count() as u64;
        }
        Ok(())
    }
}

/// The counts must be those of the definition: a fast wrong answer is none.
fn check(definition: &Definition, summary: &Summary) {
    let counts = |count: fn(&Tally) -> u64| summary.agents.iter().map(count).collect::<Vec<_>>();
    let name = definition.text("name");
    assert_eq!(counts(|tally| tally.allow), definition.numbers("allow"), "{name}: allow");
    assert_eq!(counts(|tally| tally.disallow()), definition.numbers("disallow"), "{name}: disallow");
    assert_eq!(counts(|tally| tally.unresolved()), definition.numbers("unresolved"), "{name}: unresolved");
}

/// Times `once`, which goes through so many units, under the kind and name of the definition.
fn time<T>(criterion: &mut Criterion, definition: &Definition, units: Throughput, mut once: impl FnMut() -> T) {
    let mut group = criterion.benchmark_group(definition.text("kind"));
    group.throughput(units);
    group.bench_function(definition.text("name"), |bencher| bencher.iter(&mut once));
    group.finish();
}

fn evaluate(criterion: &mut Criterion, definition: &Definition, input: &Input, sink: &mut dyn Sink) {
    let store = open(input);
    let evaluator = Evaluator::new(&store, definition.agents());
    let mut once = || run(&mut MappedLines::new(&input.list), &evaluator, sink, NonZeroUsize::MIN).expect("a run");
    let summary = once();
    check(definition, &summary);
    time(criterion, definition, Throughput::Elements(summary.rows), once);
}

/// The rows of the list found, and nothing else: what the other figures are to be seen beside.
fn floor(criterion: &mut Criterion, definition: &Definition, input: &Input) {
    let once = || count_rows(&mut MappedLines::new(&input.list), Isa::best()).expect("rows in memory");
    let rows = once();
    assert_eq!(vec![rows], definition.numbers("rows"), "{}: rows", definition.text("name"));
    time(criterion, definition, Throughput::Elements(rows), once);
}

fn arrow_columns(criterion: &mut Criterion, definition: &Definition, input: &Input) {
    let store = open(input);
    let evaluator = Evaluator::new(&store, definition.agents());
    let once = || {
        let mut arrays = Arrays::default();
        let summary = run(&mut MappedLines::new(&input.list), &evaluator, &mut arrays, NonZeroUsize::MIN).expect("a run");
        (summary, arrays)
    };
    let (summary, arrays) = once();
    check(definition, &summary);
    let sum = |key: &str| definition.numbers(key).iter().sum::<u64>();
    assert_eq!((arrays.allow, arrays.unresolved), (sum("allow"), sum("unresolved")), "{}: arrays", definition.text("name"));
    time(criterion, definition, Throughput::Elements(summary.rows), once);
}

fn compile(criterion: &mut Criterion, definition: &Definition, input: &Input) {
    let built = input.build();
    let (rules, len) = (built.report().rule_count, built.report().body_len);
    let store = built.open().expect("a sound store");
    let name = definition.text("name");
    assert_eq!(vec![rules], definition.numbers("rules"), "{name}: rules");
    assert_eq!(vec![store.program_count() as u64], definition.numbers("programs"), "{name}: programs");
    time(criterion, definition, Throughput::Bytes(len), || input.build());
}

/// The origin of each row is split off, written as a key and looked up.
fn look_up(criterion: &mut Criterion, definition: &Definition, input: &Input) {
    let store = open(input);
    let origins = store.dialect().form.origin();
    let rows: Vec<&[u8]> = input.list.split(|&octet| octet == b'\n').filter(|row| !row.is_empty()).collect();
    let mut key = Vec::new();
    let mut is_found = |row: &[u8]| {
        key.clear();
        let has_key = Url::split(row).is_ok_and(|url| url.write_key(origins, &mut key).is_ok());
        has_key && store.find(&key).expect("a sound store").is_some()
    };
    let mut once = || rows.iter().filter(|row| is_found(row)).count() as u64;
    assert_eq!(vec![once()], definition.numbers("found"), "{}: found", definition.text("name"));
    time(criterion, definition, Throughput::Elements(rows.len() as u64), once);
}

/// Half a megabyte of rules with stars, and targets of 8 KiB.
fn hostile_rules(criterion: &mut Criterion, definition: &Definition) {
    let name = definition.text("rules");
    let kind = hostile::KINDS.iter().find(|kind| kind.name == name).unwrap_or_else(|| panic!("no kind of hostile file: {name}"));
    let octets = to_program(&Policy::parse(&kind.robots(500_000), &RFC9309), &Options::default());
    let program = Program::check(&octets).expect("a sound program");
    let set = program.bind(&Agent::token("*").expect("a token")).rule_set().expect("the group of everybody");
    let matcher = Matcher::new(program.rule_set(set).expect("a sound rule set")).expect("a sound rule set");
    let targets: Vec<Vec<u8>> = (1..=8).map(|seed| kind.target(8192, seed)).collect();
    let mut scratch = Scratch::new();
    let mut once = || targets.iter().filter(|target| matcher.allows(target, &mut scratch).expect("a sound program")).count() as u64;
    assert_eq!(vec![once()], definition.numbers("allow"), "{}: allow", definition.text("name"));
    time(criterion, definition, Throughput::Bytes(8 * 8192), once);
}

fn open(input: &Input) -> Store {
    input.build().open().expect("a sound store")
}

fn definitions(criterion: &mut Criterion) {
    for definition in Definition::all() {
        if definition.text("kind") == "hostile" {
            hostile_rules(criterion, &definition);
            continue;
        }
        let Some(input) = definition.input() else { continue };
        match definition.text("kind") {
            "floor" => floor(criterion, &definition, &input),
            "evaluate" => evaluate(criterion, &definition, &input, &mut Discard),
            "decide" => evaluate(criterion, &definition, &input, &mut WithRules),
            "arrow" => arrow_columns(criterion, &definition, &input),
            "compile" => compile(criterion, &definition, &input),
            "lookup" => look_up(criterion, &definition, &input),
            other => panic!("no kind of benchmark: {other}"),
        }
    }
}

criterion_group!(benches, definitions);
criterion_main!(benches);
