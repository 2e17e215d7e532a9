//! Many origins and many rows, from a manifest and a list to columns.
//!
//! A thousandth of what ROBOSIEVE_THOROUGH=1 asks for: 100,000 origins, 10 million rows.

use std::io::BufWriter;

use robosieve::agent::Agent;

use super::*;
use crate::ladder::right_answer;
use crate::oracle::Oracle;

/// The robots.txt of an origin: a few rules of many kinds, the same for origins far apart.
fn robots(origin: u64) -> String {
    let mut text = String::new();
    for group in 0..1 + origin % 3 {
        let agent = ["*", "GPTBot", "abot"][((origin / 3 + group) % 3) as usize];
        writeln_to(&mut text, format_args!("User-agent: {agent}"));
        for rule in 0..(origin / 7 + group) % 6 {
            let path = ["/", "/private/", "/*.pdf$", "/a%2Fb", "/x/*/y", "/?id=", "/p$"][((origin + rule * 5) % 7) as usize];
            let kind = if (origin / 11 + rule).is_multiple_of(3) { "Allow" } else { "Disallow" };
            writeln_to(
                &mut text,
                format_args!("{kind}: {path}{}", if rule.is_multiple_of(2) { String::new() } else { (origin % 1_000).to_string() }),
            );
        }
    }
    text
}

fn writeln_to(text: &mut String, line: std::fmt::Arguments<'_>) {
    use std::fmt::Write as _;
    writeln!(text, "{line}").unwrap();
}

/// Row by row: the origin, and the URL.
fn row(number: u64, origins: u64) -> (u64, String) {
    // Now and then an origin that has no policy.
    let origin = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (origins + origins / 10);
    let path = ["", "/", "/private/a", "/doc.pdf", "/doc.pdf?x", "/a%2fb", "/x/1/2/y", "/?id=5", "/p", "/private/%7Ea", "/robots.txt"]
        [(number % 11) as usize];
    let more = if number.is_multiple_of(4) && !number.is_multiple_of(11) { (origin % 1_000).to_string() } else { String::new() };
    let scheme = if number.is_multiple_of(5) { "HTTPS://H" } else { "https://h" };
    (origin, format!("{scheme}{origin}.example{path}{more}"))
}

#[test]
fn a_hundred_thousand_origins() {
    let (origins, rows) = match std::env::var_os("ROBOSIEVE_THOROUGH") {
        Some(_) => (100_000, 10_000_000),
        None => (100, 10_000),
    };
    let place = Place::empty();
    let mut manifest = BufWriter::new(File::create(place.path("fetched.jsonl")).unwrap());
    for origin in 0..origins {
        let line = serde_json::json!({ "origin": format!("https://h{origin}.example"), "status": 200, "body": robots(origin) });
        writeln!(manifest, "{line}").unwrap();
    }
    manifest.into_inner().unwrap();
    let mut list = BufWriter::new(File::create(place.path("urls.txt")).unwrap());
    (0..rows).for_each(|number| writeln!(list, "{}", row(number, origins).1).unwrap());
    list.into_inner().unwrap();
    place.run("compile -o store.rsieve fetched.jsonl").is(0);
    place.run("eval store.rsieve urls.txt --agent * --agent GPTBot -o out.arrow --summary-json sum.json").is(0);

    let columns = Columns::read(place.read("out.arrow"));
    let names = ["allow_any", "allow_GPTBot"];
    let verdicts = names.map(|name| columns.verdicts(name));
    let agents = [Agent::token("*").unwrap(), Agent::token("GPTBot").unwrap()];
    let step = (rows / 20_000).max(1) as usize;
    for number in (0..rows).step_by(step) {
        let (origin, url) = row(number, origins);
        for (agent, verdicts) in agents.iter().zip(&verdicts) {
            let expected = match origin < origins {
                true => right_answer(&Oracle::parse(robots(origin).as_bytes()), agent, url.as_bytes()).0.name(),
                // It answers for its robots.txt, if for nothing else.
                false if url.ends_with("/robots.txt") => "allow",
                false => "unresolved",
            };
            assert_eq!(verdicts[number as usize], expected, "row {number}: {url} for {}\n{}", agent.name(), robots(origin));
        }
    }
    let summary = place.json("sum.json");
    assert_eq!((summary["rows"].as_u64(), summary["origins"].as_u64()), (Some(rows), Some(origins)));
    for (agent, verdicts) in summary["agents"].as_array().unwrap().iter().zip(&verdicts) {
        for verdict in ["allow", "disallow", "unresolved"] {
            let count = verdicts.iter().filter(|known| **known == verdict).count() as u64;
            assert_eq!(agent[verdict].as_u64(), Some(count));
            assert!(count > rows / 30, "{verdict}: {count}");
        }
    }
}
