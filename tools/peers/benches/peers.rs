//! The peers beside robosieve and the floor, in one run, on the same definitions: each must allow as many rows as its definition says.

use std::hint::black_box;
use std::path::Path;

use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime};
use toml::{Table, Value};

use robosieve::compile::Options;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Discard, Evaluator};
use robosieve_peers::corpus::{Corpus, row_count};
use robosieve_peers::peer::{Peer, Rows};
use robosieve_peers::policy::{self, ONE, floor};

#[path = "../../../benches/random/mod.rs"]
mod random;
#[path = "../../../benches/workload/mod.rs"]
#[allow(dead_code)]
mod workload;

use workload::{Shape, generate};

/// Rows for robotstxt, which parses the body for every one of them.
const FEW: usize = 200;

/// A definition.
struct Definition<'t>(&'t Table);

impl Definition<'_> {
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    fn name(&self) -> String {
        let of = self.text("corpus").or(self.text("workload")).expect("a corpus or a workload");
        format!("{of} {}", self.agent())
    }

    fn agent(&self) -> &str {
        self.text("agent").expect("an agent")
    }

    /// How many rows `who` must allow.
    fn allowed(&self, who: &str) -> u64 {
        let count = self.0.get(who).unwrap_or(&self.0["allow"]).as_integer().expect("a number");
        u64::try_from(count).expect("a count")
    }

    /// The policy and the list.
    fn input(&self, corpus: Option<&Corpus>) -> Option<(Vec<u8>, Vec<u8>)> {
        if let Some(class) = self.text("workload") {
            let made = generate(&Shape { rows: 20_000, ..Shape::class(class).expect("a class") });
            return Some((made.policies[0].robots.clone().into_bytes(), made.urls.into_bytes()));
        }
        let (name, corpus) = (self.text("corpus").expect("a corpus"), corpus?);
        let octets = |name: String| corpus.octets(&name).expect("a file of the corpus");
        Some((octets(format!("{name}.robots")), octets(format!("{name}.urls"))))
    }
}

fn peers(criterion: &mut Criterion) {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/definitions.toml")).expect("the definitions");
    let table: Table = text.parse().expect("TOML");
    let corpus = Corpus::from_env("the definitions of the corpus");
    for entry in table["bench"].as_array().expect("a list of benchmarks") {
        let definition = Definition(entry.as_table().expect("a table"));
        if let Some((body, list)) = definition.input(corpus.as_ref()) {
            let mut group = criterion.benchmark_group(definition.name());
            group.sample_size(10);
            one(&mut group, &definition, &body, &list);
            group.finish();
        }
    }
}

fn one(group: &mut BenchmarkGroup<'_, WallTime>, definition: &Definition<'_>, body: &[u8], list: &[u8]) {
    let rows = row_count(list);
    group.throughput(Throughput::Elements(rows));
    group.bench_function("floor", |bencher| bencher.iter(|| assert_eq!(floor(black_box(list)), rows)));
    let store = policy::single(body, list, Options::default());
    let evaluator = Evaluator::new(&store, policy::agents([definition.agent()]));
    let ours = || policy::evaluate(&evaluator, &mut MappedLines::new(list), &mut Discard, ONE).agents[0].allow;
    assert_eq!(ours(), definition.allowed("allow"), "robosieve on {}", definition.name());
    group.bench_function("robosieve", |bencher| bencher.iter(ours));
    let all = Rows::new(std::str::from_utf8(list).expect("a list of UTF-8"));
    for name in Peer::NAMES {
        let peer = Peer::new(name, definition.agent(), body).expect("a policy that it takes");
        let rows = if name == "robotstxt" { all.first(FEW) } else { all.first(all.urls.len()) };
        assert_eq!(peer.allowed(&rows), definition.allowed(name), "{name} on {}", definition.name());
        group.throughput(Throughput::Elements(rows.urls.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| peer.allowed(&rows)));
    }
}

criterion_group!(benches, peers);
criterion_main!(benches);
