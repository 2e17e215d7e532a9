//! The sample: its traps have the verdicts that were reasoned by hand, and the engine agrees with the oracle on all of it.

use std::fs;
use std::path::PathBuf;

use robosieve::agent::Agent;
use robosieve::dialect::RFC9309;
use robosieve::io::directory::add_directory;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Evaluator, run};
use robosieve::store::Store;
use robosieve::store::build::Builder;

use crate::oracle::Oracle;
use crate::pipeline::{Keep, threads};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data/sample")
}

fn store() -> Store {
    let mut builder = Builder::new(RFC9309);
    let left_out = add_directory(&mut builder, &folder().join("robots")).unwrap();
    assert!(left_out.is_empty(), "{left_out:?}");
    let built = builder.finish().unwrap();
    assert!(built.report().conflicts.is_empty(), "{:?}", built.report().conflicts);
    built.open().unwrap()
}

#[test]
fn the_traps_have_the_verdicts_reasoned_by_hand() {
    let store = store();
    let agents = ["Googlebot", "GPTBot"].map(|token| Agent::token(token).unwrap()).to_vec();
    let evaluator = Evaluator::new(&store, agents);
    let list = fs::read(folder().join("traps.txt")).unwrap();
    let mut keep = Keep::new(&store, true);
    run(&mut MappedLines::new(&list), &evaluator, &mut keep, threads(1)).unwrap();
    let right = fs::read_to_string(folder().join("traps.tsv")).unwrap();
    let mut rows = 0;
    for (index, line) in right.lines().skip(1).enumerate() {
        let cells: Vec<&str> = line.split('\t').collect();
        let (row, agent) = (index / 2, index % 2);
        assert_eq!(keep.rows[row], cells[0].as_bytes());
        assert_eq!(cells[1], ["Googlebot", "GPTBot"][agent]);
        let answer = keep.answers[row][agent];
        assert_eq!((answer.0.name(), answer.2), (cells[2], cells[3].parse().unwrap()), "{line}");
        rows += 1;
    }
    assert_eq!(rows, keep.rows.len() * 2);
    assert!(rows >= 48);
}

#[test]
fn the_whole_list_agrees_with_the_oracle() {
    let store = store();
    let agents = ["*", "Googlebot", "GPTBot", "CCBot"].map(|token| Agent::token(token).unwrap()).to_vec();
    let evaluator = Evaluator::new(&store, agents.clone());
    let list = fs::read(folder().join("urls.txt")).unwrap();
    let mut keep = Keep::new(&store, true);
    run(&mut MappedLines::new(&list), &evaluator, &mut keep, threads(2)).unwrap();
    let mut oracles = std::collections::HashMap::new();
    for origin in store.origins() {
        let origin = origin.unwrap();
        let body = store.body(&origin.newest().unwrap()).unwrap().unwrap();
        oracles.insert(origin.key().to_vec(), Oracle::parse(&body));
    }
    let mut disallowed = 0;
    for (row, answers) in keep.rows.iter().zip(&keep.answers) {
        let oracle = crate::oracle::origin(row).and_then(|origin| oracles.get(origin.as_bytes()));
        for (agent, answer) in agents.iter().zip(answers) {
            if let Some(oracle) = oracle {
                let right = crate::ladder::right_answer(oracle, agent, row);
                assert_eq!(*answer, (right.0, Some(right.1), right.2), "{}", row.escape_ascii());
            }
        }
        disallowed += usize::from(answers.iter().any(|answer| answer.0.name() == "disallow"));
    }
    assert!(keep.rows.len() >= 10_000 && disallowed > keep.rows.len() / 4);
}
