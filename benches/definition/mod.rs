//! A benchmark as data: what it runs on, and what must come out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use toml::{Table, Value};

use robosieve::agent::Agent;
use robosieve::dialect::RFC9309;
use robosieve::io::directory::add_directory;
use robosieve::store::build::{Builder, Built, Record};
use robosieve::url::Url;

use crate::workload::{Shape, Workload, generate, token};

/// A definition.
pub struct Definition(Table);

/// What a definition runs on.
pub struct Input {
    policies: Policies,
    /// The list.
    pub list: Vec<u8>,
}

enum Policies {
    /// A file that answers for every origin, or a folder of files named by origin.
    Path(PathBuf),
    /// Bodies by the names of their origins.
    Bodies(Vec<(String, Vec<u8>)>),
}

impl Definition {
    /// All definitions.
    pub fn all() -> Vec<Definition> {
        let text = fs::read_to_string(root().join("benches/definitions.toml")).expect("the definitions");
        let table: Table = text.parse().expect("TOML");
        let entries = table["bench"].as_array().expect("a list of benchmarks");
        entries.iter().map(|entry| Definition(entry.as_table().expect("a table").clone())).collect()
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> &str {
        self.optional(key).unwrap_or_else(|| panic!("{key} is missing: {:?}", self.0))
    }

    fn optional(&self, key: &str) -> Option<&str> {
        self.0.get(key).and_then(Value::as_str)
    }

    /// The numbers of a key, which may be one alone.
    pub fn numbers(&self, key: &str) -> Vec<u64> {
        let value = self.0.get(key).unwrap_or_else(|| panic!("{key} is missing: {:?}", self.0));
        let values = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        values.iter().map(|value| value.as_integer().expect("a number") as u64).collect()
    }

    /// The agents: a list of tokens, or how many of those that workloads name, from `*` on.
    pub fn agents(&self) -> Vec<Agent> {
        let agent = |text: &str| Agent::token(text).expect("a token");
        match &self.0["agents"] {
            Value::Integer(count) => (0..*count as usize).map(|group| agent(&token(group))).collect(),
            tokens => tokens.as_array().expect("a list of agents").iter().map(|token| agent(token.as_str().expect("a token"))).collect(),
        }
    }

    /// What it runs on; nothing where that is the corpus and there is none, which is said.
    pub fn input(&self) -> Option<Input> {
        if let Some(name) = self.optional("corpus") {
            return corpus(name, self.text("name"));
        }
        if let Some(shape) = self.0.get("workload") {
            let Workload { policies, urls } = generate(&self.shape(shape.as_table().expect("a table")));
            let bodies = policies.into_iter().map(|policy| (policy.host, policy.robots.into_bytes())).collect();
            return Some(Input { policies: Policies::Bodies(bodies), list: urls.into_bytes() });
        }
        let list = self.optional("urls").map(|urls| fs::read(root().join(urls)).expect("a list")).unwrap_or_default();
        Some(Input { policies: Policies::Path(root().join(self.text("policies"))), list })
    }

    /// A class with what the definition changes of it.
    fn shape(&self, changes: &Table) -> Shape {
        let mut shape = Shape::class(changes["class"].as_str().expect("a name")).expect("a class");
        for (key, value) in changes.iter().filter(|(key, _)| *key != "class") {
            let number = value.as_integer().expect("a number") as usize;
            match key.as_str() {
                "rows" => shape.rows = number,
                "origins" => shape.origins = number,
                "run" => shape.run = number,
                _ => panic!("{}: a workload has no {key} here", self.text("name")),
            }
        }
        shape
    }
}

impl Input {
    /// Parses and compiles the policies.
    pub fn build(&self) -> Built {
        let mut builder = Builder::new(RFC9309);
        match &self.policies {
            Policies::Path(folder) if folder.is_dir() => {
                let left_out = add_directory(&mut builder, folder).expect("a readable directory");
                assert!(left_out.is_empty(), "{left_out:?}");
            }
            Policies::Path(file) => builder.add_any(Record::body(fs::read(file).expect("a readable file"))),
            Policies::Bodies(bodies) => {
                for (name, body) in bodies {
                    builder.add_name(name, Record::body(body.clone())).expect("a name");
                }
            }
        }
        builder.finish().expect("a store")
    }
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A policy of the corpus under the origin of its list, where `ROBOSIEVE_CORPUS` names a folder that holds them.
fn corpus(name: &str, asks: &str) -> Option<Input> {
    let folder = std::env::var_os("ROBOSIEVE_CORPUS").map(PathBuf::from).filter(|folder| folder.is_dir());
    let Some(folder) = folder else {
        eprintln!("SKIPPED {asks}: ROBOSIEVE_CORPUS names no folder of real files");
        return None;
    };
    let body = fs::read(folder.join(format!("{name}.robots"))).expect("a policy of the corpus");
    let list = unpacked(&folder.join(format!("{name}.urls.zst")));
    let first = list.split(|&octet| octet == b'\n').next().expect("a row");
    let origin = Url::split(first).and_then(|url| url.origin()).expect("a first row with an origin");
    Some(Input { policies: Policies::Bodies(vec![(origin, body)]), list })
}

fn unpacked(path: &Path) -> Vec<u8> {
    let output = Command::new("zstd").arg("-dcq").arg(path).stderr(Stdio::inherit()).output().expect("zstd is there");
    assert!(output.status.success(), "{} does not unpack", path.display());
    output.stdout
}
