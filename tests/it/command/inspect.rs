//! `inspect`.

use super::*;

#[test]
fn a_store() {
    let place = Place::with_store();
    let ran = place.run("inspect store.rsieve").is(0);
    let size = place.read("store.rsieve").len();
    let size = format!("{},{:03} octets", size / 1000, size % 1000);
    for words in [&size, "dialect rfc9309", "4 origins", "4 snapshots", "2 distinct programs", "2 distinct bodies", "rule sets: 2 constant"]
    {
        assert!(ran.text().contains(words), "{words}: {}", ran.text());
    }
    assert!(ran.err.is_empty(), "{}", ran.err);
}

#[test]
fn one_origin_of_a_store() {
    let place = Place::with_store();
    let ran = place.run("inspect store.rsieve --origin HTTPS://example.com:443/x").is(0);
    for words in ["origin https://example.com\n", "undated", "group 0: GPTBot", "disallow /private/", "specificity 9"] {
        assert!(ran.text().contains(words), "{words}: {}", ran.text());
    }
    place.run("inspect store.rsieve --origin https://unknown.test").fails(&["https://unknown.test"]);
    place.run("inspect store.rsieve --origin example.com").fails(&["example.com", "https://"]);
}

#[test]
fn a_robots_txt_and_its_automata() {
    let place = Place::new();
    let short = place.run("inspect robots.txt").is(0);
    for words in ["group 1: *", "line    5 disallow /private/", "rung", "constant", "dfa"] {
        assert!(short.text().contains(words), "{words}: {}", short.text());
    }
    let long = place.run("inspect robots.txt --automata").is(0);
    assert!(long.text().contains("trie\n") && !short.text().contains("trie\n"), "{}", long.text());
    assert!(long.text().lines().count() > short.text().lines().count() + 5);
    assert_eq!(place.pipe(ROBOTS, "inspect -").is(0).text(), short.text());
    place.run("compile -o store.rsieve robots").is(0);
    let of_store = place.run("inspect store.rsieve --origin https://example.com --automata").is(0);
    assert!(of_store.text().contains(long.text()), "{}", of_store.text());
}

#[test]
fn findings_and_records_have_their_lines() {
    let place = Place::empty();
    place.write("odd.txt", "Disallow: /x\nUser-agent: bot\nDissallow: /\nCrawl-delay: 5\nno colon\n");
    let ran = place.run("inspect odd.txt").is(0);
    for words in ["line    1 rule-before-group", "line    3 misspelled-key", "line    5 no-colon", "record line    4 crawl-delay: 5"] {
        assert!(ran.text().contains(words), "{words}: {}", ran.text());
    }
}

#[test]
fn what_can_not_be_inspected() {
    let place = Place::new();
    place.run("inspect robots").fails(&["robots", "directory"]);
    place.run("inspect none.rsieve").fails(&["none.rsieve"]);
    place.run("inspect robots.txt --origin https://example.com").fails(&["--origin"]);
}
