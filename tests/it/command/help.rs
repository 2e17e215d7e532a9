//! `help`.

use super::*;

#[test]
fn every_subcommand_has_help_with_examples() {
    let place = Place::empty();
    let all = place.run("--help").is(0);
    for subcommand in ["check", "compile", "eval", "filter", "inspect", "agents", "bench"] {
        let ran = place.run(&format!("{subcommand} --help")).is(0);
        for words in ["Usage: robosieve ", "Example", &format!("\n  robosieve {subcommand} ")] {
            assert!(ran.text().contains(words), "{words}: {}", ran.text());
        }
        assert!(ran.err.is_empty() && all.text().contains(&format!("\n  {subcommand} ")), "{}", all.text());
        assert_eq!(place.run(&format!("help {subcommand}")).is(0).text(), ran.text());
        place.run(&format!("{subcommand} --no-such-option")).fails(&["--no-such-option", "--help"]);
    }
    assert!(all.text().contains("Exit codes: 0 done"), "{}", all.text());
    assert_eq!(place.run("--version").is(0).text(), format!("robosieve {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn examples_of_the_help_are_no_errors_of_usage() {
    let place = Place::empty();
    for subcommand in ["check", "compile", "eval", "filter", "inspect", "agents", "bench"] {
        let help = place.run(&format!("{subcommand} --help")).is(0);
        let examples = help.text().lines().filter_map(|line| line.strip_prefix("  robosieve "));
        for example in examples.filter(|example| !example.contains("--help")) {
            let ran = place.run(example.split(['|', '>']).next().unwrap());
            assert!(!ran.err.contains("Usage:") && !ran.err.contains("error:"), "{example}: {}", ran.err);
        }
    }
}

#[test]
fn what_is_no_command() {
    let place = Place::empty();
    place.run("").is(2);
    place.run("--no-such-option").fails(&["--no-such-option", "--help"]);
    place.run("crawl").fails(&["crawl", "--help"]);
    place.run("eval").fails(&["<POLICIES>", "<URLS>"]);
    place.run("compile robots").fails(&["--output"]);
}
