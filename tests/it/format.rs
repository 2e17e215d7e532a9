//! The octets that docs/FORMAT.md shows are those that the code writes.

use std::fs;
use std::path::PathBuf;

use robosieve::compile::{Options, compile};
use robosieve::dialect::RFC9309;
use robosieve::policy::Policy;
use robosieve::store::build::{Builder, Record};

/// Lines as `0040  48 01 00 00  what it is` of a section: the address, and the octets there.
fn shown(section: &str) -> Vec<(usize, Vec<u8>)> {
    let line = |line: &str| {
        let (address, rest) = line.split_once("  ")?;
        let address = usize::from_str_radix(address, 16).ok().filter(|_| address.len() == 4)?;
        let hex = rest.split("  ").next()?;
        let octets = hex.split(' ').map(|octet| u8::from_str_radix(octet, 16).ok()).collect::<Option<Vec<_>>>()?;
        Some((address, octets))
    };
    section.lines().filter_map(line).collect()
}

fn check(heading: &str, octets: &[u8], at_least: usize) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/FORMAT.md");
    let text = fs::read_to_string(path).unwrap();
    let section = text.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
    let mut shown_len = 0;
    for (address, shown) in shown(section) {
        assert_eq!(octets[address..address + shown.len()], shown, "{heading}: {address:04x}");
        shown_len += shown.len();
    }
    assert!(shown_len >= at_least, "{heading}: {shown_len} octets are shown");
}

#[test]
fn the_smallest_store() {
    let mut builder = Builder::new(RFC9309);
    builder.add_name("a_443", Record::body(Vec::new())).unwrap();
    let octets = builder.finish().unwrap().into_octets();
    check("The smallest store", &octets, octets.len());
}

#[test]
fn a_program() {
    let policy = Policy::parse(b"User-agent: *\nDisallow: /p\n", &RFC9309);
    check("A program", &compile(&policy, &Options::default()), 560);
}
