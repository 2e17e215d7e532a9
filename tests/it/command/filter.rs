//! `filter`.

use super::*;

#[test]
fn rows_as_they_came() {
    let place = Place::with_store();
    place.write("list.txt", "HTTPS://Example.com/A%2f?b#c \r\nhttps://example.com/private/a\r\nhttps://example.com/é\n");
    for policies in ["store.rsieve", "robots"] {
        let ran = place.run(&format!("filter {policies} list.txt --agent AnyBot")).is(0);
        assert_eq!(ran.text(), "HTTPS://Example.com/A%2f?b#c \r\nhttps://example.com/é\n");
        assert!(ran.err.contains("3 rows in ") && ran.last_words().starts_with("2 rows pass"), "{}", ran.err);
    }
}

#[test]
fn all_agents_must_be_allowed() {
    let place = Place::with_store();
    place.write("robots/example.com", "User-agent: a\nDisallow: /a\n\nUser-agent: b\nDisallow: /b\n");
    let list = ["a", "b", "c", "ab"].map(|path| format!("https://example.com/{path}\n")).concat();
    let filter = |agents: &str| place.pipe(&list, &format!("filter robots - {agents}")).is(0).text().replace("https://example.com/", "");
    assert_eq!(filter("--agent a"), "b\nc\n");
    assert_eq!(filter("--agent b"), "a\nc\nab\n");
    assert_eq!(filter("--agent a --agent b"), "c\n");
    assert_eq!(filter("--agent c --agent a"), "b\nc\n");
    assert_eq!(filter("--agent c"), "a\nb\nc\nab\n");
}

#[test]
fn undecided_rows() {
    let place = Place::with_store();
    let filter = |undecided: &str| place.run(&format!("filter store.rsieve urls.txt --agent A {undecided}"));
    let rows = |wanted: &[usize]| wanted.iter().map(|&row| format!("{}\n", URLS.lines().nth(row).unwrap())).collect::<String>();
    let (passes, undecided) = (rows(&[0, 2, 5, 8]), rows(&[6, 7]));
    assert_eq!(filter("").is(0).text(), passes);
    assert_eq!(filter("--undecided drop").is(0).text(), passes);
    assert_eq!(filter("--undecided keep").is(0).text(), rows(&[0, 2, 5, 6, 7, 8]));
    assert_eq!(filter("--undecided rest.txt").is(0).text(), passes);
    assert_eq!(place.text("rest.txt"), undecided);
    filter("--undecided error -o out.txt").fails(&["line 7", "https://unknown.test/"]);
    place.pipe("https://example.com/\n", "filter store.rsieve - --agent A --undecided error").is(0);
}

#[test]
fn an_undecided_row_is_no_failure_to_write() {
    let place = Place::with_store();
    place.write("list.txt", "https://unknown.test/\u{1B}[31m\u{202E}\n");
    let ran = place.run("filter store.rsieve list.txt --agent A --undecided error").fails(&["list.txt", "line 1", "no-policy"]);
    assert!(!ran.err.contains("writing the output") && is_harmless(&ran.err), "{}", ran.err);
}

#[test]
fn the_last_line_says_how_many_why_and_what_to_do() {
    let place = Place::with_store();
    let ran = place.run("filter store.rsieve urls.txt --agent A").is(0);
    for words in ["2 rows (22.2 %)", "bad-url 1, no-policy 1", "--undecided keep", "--undecided FILE"] {
        assert!(ran.last_words().contains(words), "{words}: {}", ran.err);
    }
    let ran = place.pipe("https://example.com/\n", "filter store.rsieve - --agent A").is(0);
    assert!(ran.last_words() == "1 rows pass" && !ran.err.contains("--undecided"), "{}", ran.err);
}

#[test]
fn the_last_line_does_not_advise_what_was_done() {
    let place = Place::with_store();
    let ran = place.run("filter store.rsieve urls.txt --agent A --undecided keep").is(0);
    assert!(ran.last_words().contains("2 rows") && !ran.last_words().contains("keep them with"), "{}", ran.err);
    let ran = place.run("filter store.rsieve urls.txt --agent A --undecided rest.txt").is(0);
    assert!(ran.last_words().contains("rest.txt") && !ran.last_words().contains("--undecided FILE"), "{}", ran.err);
}

#[test]
fn the_summary_as_json_counts_what_passed() {
    let place = Place::with_store();
    place.run("filter store.rsieve urls.txt --agent A --agent GPTBot --summary-json summary.json -o out.txt").is(0);
    let summary = place.json("summary.json");
    assert_eq!((&summary["rows"], &summary["kept"], &summary["undecided"]), (&URL_COUNT.into(), &1.into(), &2.into()));
    assert_eq!(place.text("out.txt"), "https://closed.example/robots.txt\n");
}

#[test]
fn a_misspelled_choice_is_no_file() {
    let place = Place::with_store();
    let output = Command::new(env!("CARGO_BIN_EXE_robosieve"))
        .args(["filter", "store.rsieve", "urls.txt", "--agent", "x", "--undecided", "drp"])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!place.path("drp").exists());
}
