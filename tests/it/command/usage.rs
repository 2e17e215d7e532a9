//! `--usage`.

use super::*;

const STATED: &str = "User-agent: GPTBot\nDisallow: /never/\nContent-Usage: train-ai=n, search=y\nContent-Usage: /ai-ok/ train-ai=y\n\n\
    User-agent: *\nDisallow:\n";
const ROWS: &str = "https://e.example/x\nhttps://e.example/never/x\nhttps://e.example/ai-ok/x\nhttps://other.test/\n";

fn place() -> Place {
    let place = Place::empty();
    place.write("robots.txt", STATED);
    place.write("robots/e.example", STATED);
    place.write("urls.txt", ROWS);
    place
}

#[test]
fn arrow_columns() {
    let place = place();
    let line = "eval robots urls.txt --agent GPTBot --agent AnyBot --usage train-ai,search --usage train-ai -o out.arrow";
    place.run(line).is(0);
    let columns = Columns::read(place.read("out.arrow"));
    let usage = ["usage_train-ai_GPTBot", "usage_train-ai_AnyBot", "usage_search_GPTBot", "usage_search_AnyBot"];
    assert_eq!(columns.names(), [&["row", "allow_GPTBot", "allow_AnyBot"], &usage[..]].concat());
    // Booleans all: true for y, false for n, null for nothing.
    let [y, n, none] = ["allow", "disallow", "unresolved"];
    assert_eq!(columns.verdicts(usage[0]), [n, none, y, none]);
    assert_eq!(columns.verdicts(usage[1]), [none; 4]);
    assert_eq!(columns.verdicts(usage[2]), [y, none, y, none]);
    let lines = "train-ai=allow_GPTBot\ntrain-ai=allow_AnyBot\nsearch=allow_GPTBot\nsearch=allow_AnyBot";
    assert_eq!(columns.1.metadata()["robosieve.usage"], lines);
}

#[test]
fn names_that_are_taken() {
    let place = place();
    place.run("eval robots urls.txt --agent b_c --agent c --usage a,a_b --column-prefix usage_a_b_ -o out.arrow").is(0);
    let names = ["row", "usage_a_b_b_c", "usage_a_b_c", "usage_a_b_c_2", "usage_a_c", "usage_a_b_b_c_2", "usage_a_b_c_3"];
    assert_eq!(Columns::read(place.read("out.arrow")).names(), names);
    place.run("eval robots urls.txt --agent c --usage a --dialect google,rfc9309 -o out.arrow").is(0);
    let names = ["row", "allow_c_google", "allow_c_rfc9309", "usage_a_c_google", "usage_a_c_rfc9309"];
    assert_eq!(Columns::read(place.read("out.arrow")).names(), names);
}

#[test]
fn json_lines_and_tables() {
    let place = place();
    let ran = place.run("eval robots urls.txt --agent GPTBot --usage train-ai --usage search -o - --output-format jsonl").is(0);
    let usages: Vec<String> = ran.objects().iter().map(|object| object["usage"].to_string()).collect();
    let none = r#"{"search":null,"train-ai":null}"#;
    assert_eq!(usages, [r#"{"search":"y","train-ai":"n"}"#, none, r#"{"search":"y","train-ai":"y"}"#, none]);
    assert!(ran.text().lines().all(|line| line.ends_with("}}") && line.contains(r#","usage":{"train-ai":"#)), "{}", ran.text());
    let plain = place.run("eval robots urls.txt --agent GPTBot -o - --output-format jsonl").is(0);
    assert!(plain.objects().iter().all(|object| object.get("usage").is_none()), "{}", plain.text());

    let check = place.run("check --robots robots.txt --agent GPTBot --agent AnyBot --usage train-ai https://e.example/x").is(0);
    assert!(check.text().starts_with("verdict ") && check.text().lines().next().unwrap().ends_with(" train-ai url"), "{}", check.text());
    assert_eq!(check.cells()[0], ["allow", "GPTBot", "(no-rule)", "n", "https://e.example/x"]);
    assert_eq!(check.cells()[1], ["allow", "AnyBot", "(no-rule)", "-", "https://e.example/x"]);
    let line = "check --robots robots.txt --agent GPTBot --usage search --dialect google,scrapy --format json https://e.example/never/x";
    let check = place.run(line).is(1);
    assert!(check.objects().iter().all(|object| object["usage"]["search"].is_null()), "{}", check.text());
}

#[test]
fn the_summary_counts_what_is_stated() {
    let place = place();
    let ran =
        place.run("eval robots urls.txt --agent GPTBot --agent AnyBot --usage train-ai --usage ai-train --summary-json out.json").is(0);
    for words in [
        "usage train-ai (GPTBot): y 1, n 1, nothing stated 2",
        "usage train-ai (AnyBot): y 0, n 0, nothing stated 4",
        "usage ai-train (every agent): y 0, n 0, nothing stated 4",
        "note: no policy met states anything about ai-train, which is not in the AIPREF vocabulary (train-ai, ai-use, search)",
    ] {
        assert!(ran.err.lines().any(|line| line == words), "{words}: {}", ran.err);
    }
    let agents = place.json("out.json")["agents"].clone();
    assert_eq!(agents[0]["usage"]["train-ai"], serde_json::json!({ "y": 1, "n": 1, "none": 2 }));
    assert_eq!(agents[1]["usage"]["ai-train"], serde_json::json!({ "y": 0, "n": 0, "none": 4 }));
}

#[test]
fn filter_leaves_out_what_is_unwanted() {
    let place = place();
    let ran = place.run("filter robots urls.txt --agent GPTBot --usage train-ai --undecided keep --summary-json out.json").is(0);
    assert_eq!(ran.text(), "https://e.example/ai-ok/x\nhttps://other.test/\n");
    assert!(ran.err.contains("\n1 rows left out for a use that is unwanted (n), and for no verdict\n"), "{}", ran.err);
    assert_eq!(place.json("out.json")["opted_out"], 1);
    let ran = place.run("filter robots urls.txt --agent GPTBot --usage search").is(0);
    assert_eq!(ran.text(), "https://e.example/x\nhttps://e.example/ai-ok/x\n");
}

#[test]
fn stores_and_errors() {
    let place = place();
    place.run("compile -o store.rsieve robots").is(0);
    let ran = place.run("filter store.rsieve urls.txt --agent GPTBot --usage train-ai").is(0);
    assert_eq!(ran.text(), "https://e.example/ai-ok/x\n");
    place.run("compile -o bare.rsieve robots --no-bodies").is(0);
    place.run("eval bare.rsieve urls.txt --agent GPTBot --usage train-ai").fails(&["no bodies", "compile", "--no-bodies"]);
    place.run("eval robots urls.txt --agent GPTBot --usage Train-AI").fails(&["Train-AI", "small letter", "train-ai"]);
}

#[test]
fn inspect_shows_what_records_say() {
    let place = Place::empty();
    let records = "Crawl-delay: 1\nUser-agent: a\nCrawl-delay: 2.50\nRequest-rate: 1/10m 0600-0845\nVisit-time: 2300-0100\n\
        Sitemap: https://e.example/s.xml\nClean-param: a&b /x\nContent-Signal: search=yes,ai-train=no\n\
        Content-Usage: /a\x1b train-ai=n, x=1, search=y\nContent-Usage: x=1\nCrawl-delay: soon\n";
    place.write("odd.txt", records);
    let ran = place.run("inspect odd.txt").is(0);
    for line in [
        "record line    1 crawl-delay: 1 (before any group: to nobody; 1 s)",
        "record line    3 crawl-delay: 2.50 (group 0; 2.5 s)",
        "record line    4 request-rate: 1/10m 0600-0845 (group 0; 1 in 600 s, 06:00 to 08:45 UTC)",
        "record line    5 visit-time: 2300-0100 (group 0; 23:00 to 01:00 UTC)",
        "record line    6 sitemap: https://e.example/s.xml (site)",
        "record line    7 clean-param: a&b /x (site; a, b on /x)",
        "record line    8 content-signal: search=yes,ai-train=no (group 0; search=yes, ai-train=no)",
        "record line    9 content-usage: /a%1B train-ai=n, x=1, search=y (group 0; train-ai n, search y on /a%1B)",
        "record line   10 content-usage: x=1 (group 0; nothing stated on every path)",
        "record line   11 crawl-delay: soon (group 0; malformed)",
        "finding line   11 malformed-record",
    ] {
        assert!(ran.text().lines().any(|shown| shown == line), "{line}: {}", ran.text());
    }
    assert!(is_harmless(ran.text()));
}
