//! Several dialects at once, `explain`, `diff`, `lint`.

use super::*;

/// A group that one dialect alone can not name, a misspelling that one alone does not forgive, and a rule that decides nothing.
const TRICKY: &str = "User-agent: *\nDisallow: /a\nAllow: /a/%62\nDisalow: /typo\nDisallow: /a/%62\n\nUser-agent: MJ12bot\nDisallow: /\n";

fn tricky() -> Place {
    let place = Place::empty();
    place.write("tricky.txt", TRICKY);
    place.write("robots/example.com", TRICKY);
    place.write("urls.txt", "https://example.com/typo\nhttps://example.com/a/b\nhttps://example.com/b\nno url\n");
    place
}

#[test]
fn check_answers_in_each_dialect() {
    let place = tricky();
    let ran = place
        .run("check --format json --robots tricky.txt --agent X --dialect rfc9309,google --dialect scrapy https://example.com/typo")
        .is(1);
    assert_eq!(ran.values("dialect"), ["rfc9309", "google", "scrapy"]);
    assert_eq!(ran.values("verdict"), ["allow", "disallow", "disallow"]);
    let text = place.run("check --robots tricky.txt --agent X --dialects rfc9309,google https://example.com/typo").is(1);
    assert!(text.text().contains("X rfc9309") && text.text().contains("X google"), "{}", text.text());
    let one = place.run("check --format json --robots tricky.txt --agent X --dialect google https://example.com/typo").is(1);
    assert!(one.objects()[0].get("dialect").is_none(), "one dialect needs no key");
    place.run("check --robots tricky.txt --agent X --dialect bing https://example.com/").fails(&["rfc9309", "google", "scrapy"]);
}

#[test]
fn eval_has_a_column_a_dialect() {
    let place = tricky();
    place.run("eval robots urls.txt --agent X --agent MJ12bot --dialect google,rfc9309 -o out.arrow --summary-json s.json").is(0);
    let columns = Columns::read(place.read("out.arrow"));
    assert_eq!(columns.names(), ["row", "allow_X_google", "allow_MJ12bot_google", "allow_X_rfc9309", "allow_MJ12bot_rfc9309"]);
    assert_eq!(columns.1.metadata()["robosieve.dialect"], "google,rfc9309");
    assert_eq!(columns.verdicts("allow_X_google"), ["disallow", "disallow", "allow", "unresolved"]);
    assert_eq!(columns.verdicts("allow_X_rfc9309"), ["allow", "allow", "allow", "unresolved"]);
    assert_eq!(columns.verdicts("allow_MJ12bot_google"), ["disallow", "disallow", "allow", "unresolved"]);
    assert_eq!(columns.verdicts("allow_MJ12bot_rfc9309"), ["disallow", "disallow", "disallow", "unresolved"]);
    let summary = place.json("s.json");
    assert_eq!((&summary["dialect"], &summary["agents"][3]["dialect"]), (&"google,rfc9309".into(), &"rfc9309".into()));
    assert_eq!(summary["agents"].as_array().unwrap().len(), 4);
}

#[test]
fn a_store_is_read_in_another_dialect_from_its_bodies() {
    let place = tricky();
    place.run("compile -o own.rsieve robots").is(0);
    place.run("compile -o google.rsieve robots --dialect google").is(0);
    place.run("compile -o bare.rsieve robots --no-bodies").is(0);
    let verdicts = |line: &str| place.run(line).is(0).values("verdict");
    let as_google = verdicts("eval google.rsieve urls.txt --agent X -o - --output-format jsonl");
    assert_eq!(as_google, ["disallow", "disallow", "allow", "unresolved"]);
    assert_eq!(verdicts("eval own.rsieve urls.txt --agent X -o - --output-format jsonl --dialect google"), as_google);
    assert_eq!(verdicts("eval own.rsieve urls.txt --agent X -o - --output-format jsonl")[0], "allow");
    assert_eq!(verdicts("eval google.rsieve urls.txt --agent X -o - --output-format jsonl --dialect scrapy")[0], "disallow");
    assert_eq!(verdicts("eval bare.rsieve urls.txt --agent X -o - --output-format jsonl --dialect rfc9309")[0], "allow");
    place.run("eval bare.rsieve urls.txt --agent X --dialect google").fails(&["no bodies", "--no-bodies", "--dialect"]);
    place.run("explain bare.rsieve https://example.com/a --agent X").fails(&["no bodies", "--no-bodies"]);
    place.run("lint bare.rsieve").fails(&["no bodies", "--no-bodies"]);
}

#[test]
fn explain_takes_every_step() {
    let place = tricky();
    let ran = place.run("explain tricky.txt https://example.com/a/b?x --agent X").is(0);
    for words in [
        "origin     https://example.com",
        "bound by the groups of *",
        "line 1 *",
        "line    3, specificity   4: allow: /a/%62  (as /a/b)",
        "line    2",
        "allow by line 3",
    ] {
        assert!(ran.text().contains(words), "{words:?} is missing:\n{}", ran.text());
    }
    let questions = "tricky.txt https://example.com/a/b https://example.com/typo https://example.com/robots.txt no-url --agent X --agent MJ12bot --dialect rfc9309,google,scrapy";
    let explained = place.run(&format!("explain {questions} --format json")).is(0);
    let checked = place.run(&format!("check --robots {questions} --format json")).is(2);
    let answers = |ran: &Ran| {
        let answer = |o: &Value| format!("{} {} {} {} {} {}", o["url"], o["agent"], o["dialect"], o["verdict"], o["reason"], o["line"]);
        let mut answers: Vec<String> = ran.objects().iter().map(answer).collect();
        answers.sort();
        answers
    };
    assert_eq!(answers(&explained), answers(&checked));
    assert_eq!(explained.objects().len(), 4 * 2 * 3);
    assert_eq!(explained.objects()[0]["matches"].as_array().unwrap().len(), 3);
    let missing = place.run("explain robots https://unknown.test/x --agent X").is(0);
    assert!(missing.text().contains("unresolved (no-policy"), "{}", missing.text());
}

#[test]
fn diff_lists_what_differs_and_why() {
    let place = tricky();
    let ran = place.run("diff --dialects rfc9309,google robots urls.txt --agent X --agent MJ12bot --format json").is(0);
    let rows: Vec<String> = ran.objects().iter().map(|o| format!("{} {} {}", o["row"], o["agent"], o["cause"])).collect();
    assert_eq!(rows, ["0 \"X\" \"line\"", "1 \"X\" \"octets\"", "2 \"MJ12bot\" \"group\""]);
    assert!(ran.err.contains("3 of 8 answers differ"), "{}", ran.err);
    place.run("diff --dialects rfc9309,google robots urls.txt --agent X --exit-code").is(1);
    place.run("diff --dialects google,google robots urls.txt --agent X").fails(&["two dialects", "--dialects"]);
    place.run("diff robots urls.txt --agent X").fails(&["--dialects rfc9309,google"]);
}

#[test]
fn lint_says_where_what_and_what_to_do() {
    let place = tricky();
    let ran = place.run("lint tricky.txt --format json").is(0);
    let found: Vec<String> = ran.objects().iter().map(|o| format!("{}:{}", o["line"], o["code"].as_str().unwrap())).collect();
    assert_eq!(
        found,
        [
            "3:read-differently",
            "4:misspelled-key",
            "4:read-differently",
            "5:conflicting-rules",
            "5:read-differently",
            "5:shadowed-rule",
            "7:token-outside-grammar",
            "7:read-differently",
        ]
    );
    let text = place.run("lint tricky.txt robots").is(0);
    assert!(text.text().starts_with("tricky.txt:3: warning [read-differently]: "), "{}", text.text());
    assert!(text.text().contains("robots/example.com:5: note [shadowed-rule]: "), "{}", text.text());
    assert!(text.err.contains("2 files: 0 errors"), "{}", text.err);
    place.run("compile -o s.rsieve robots").is(0);
    assert!(place.run("lint s.rsieve").is(0).text().starts_with("http://example.com/robots.txt:3: "));
    assert_eq!(place.pipe(TRICKY, "lint -").is(0).text().lines().count(), 8);
    for (what, code) in [("error", 0), ("warning", 1), ("note", 1), ("shadowed-rule", 1), ("html", 0)] {
        place.run(&format!("lint tricky.txt --fail-on {what}")).is(code);
    }
    place.run("lint tricky.txt --fail-on everything").fails(&["lint --codes"]);
    place.run("lint missing.txt").fails(&["missing.txt"]);
    let codes = place.run("lint --codes").is(0);
    assert!(codes.text().lines().count() >= 20 && codes.text().lines().all(|line| line.split_whitespace().count() > 5), "{}", codes.text());
}

#[test]
fn what_the_new_commands_print_does_nothing_to_a_terminal() {
    let place = Place::empty();
    place.write("evil.txt", b"User-agent: *\nDisallow: /\x1B[2J\xE2\x80\xAE\nDisalow: /\x1Bc\n\x1B]0;x\x07: y\n");
    place.write("urls.txt", "https://example.com/\x1Bc\n");
    for line in [
        "lint evil.txt",
        "lint evil.txt --format json",
        "explain evil.txt https://example.com/\x1B[2J --agent X",
        "diff --dialects rfc9309,google evil.txt urls.txt --agent X --any-origin",
    ] {
        let ran = place.run(line).is(0);
        assert!(!ran.out.is_empty() && is_harmless(ran.text()) && is_harmless(&ran.err), "{line}: {:?}", ran.text());
    }
}

#[test]
fn a_list_is_replaced_by_what_passes_and_by_nothing_else() {
    let place = Place::with_store();
    for line in [
        "eval store.rsieve urls.txt --agent X -o urls.txt",
        "eval store.rsieve urls.txt --agent X --summary-json urls.txt",
        "filter store.rsieve urls.txt --agent X -o out.txt --undecided urls.txt",
        "filter store.rsieve urls.txt --agent X -o out.txt --summary-json urls.txt",
    ] {
        place.run(line).fails(&["urls.txt", "would replace"]);
        assert_eq!(place.text("urls.txt"), URLS, "{line}");
    }
    place.run("eval robots urls.txt --agent X -o robots/example.com --output-format jsonl").fails(&["robots/example.com", "would replace"]);
    assert_eq!(place.text("robots/example.com"), ROBOTS);
}

#[test]
fn inspect_reads_a_store_in_another_dialect() {
    let place = tricky();
    place.run("compile -o own.rsieve robots").is(0);
    assert!(place.run("inspect own.rsieve --dialect google").is(0).text().contains("dialect google"));
    for dialect in ["google", "scrapy"] {
        let ran = place.run(&format!("inspect own.rsieve --origin https://example.com --dialect {dialect}")).is(0);
        assert!(ran.text().contains("disallow /typo") && ran.text().contains(&format!("target form {dialect}")), "{}", ran.text());
    }
    assert!(!place.run("inspect own.rsieve --origin https://example.com").is(0).text().contains("disallow /typo"));
}

#[test]
fn lint_follows_a_manifest() {
    let place = Place::empty();
    place.write("crawl/manifest.jsonl", "{\"url\":\"https://example.com/\",\"status\":200,\"path\":\"bodies/one\"}\n");
    place.write("crawl/bodies/one", "User-agent: *\nDisalow: /x\n");
    for input in ["crawl", "crawl/manifest.jsonl"] {
        let ran = place.run(&format!("lint {input}")).is(0);
        assert!(ran.text().starts_with("https://example.com/robots.txt:2: warning [misspelled-key]"), "{}", ran.text());
    }
    place.write("plain/.hidden", "Disallow: /x\n");
    place.write("plain/example.com/robots.txt", "Disallow: /x\n");
    let ran = place.run("lint plain").is(0);
    assert_eq!(ran.text().lines().map(|line| line.split(": ").next().unwrap()).collect::<Vec<_>>(), ["plain/example.com/robots.txt:1"]);
    place.write("bad.jsonl", "no object\n");
    place.run("eval bad.jsonl crawl/bodies/one --agent X").is(2);
}

#[test]
fn a_file_that_is_no_robots_txt_is_noticed() {
    let place = Place::new();
    for line in ["check --robots urls.txt --agent X https://example.com/", "eval urls.txt urls.txt --agent X --any-origin"] {
        assert!(place.run(line).is(0).err.contains("no user-agent line"), "{line}");
    }
    place.run("check --robots robots --agent X https://example.com/").fails(&["robots is a directory", "explain"]);
}

#[test]
fn profiles_follow_what_operators_document() {
    let place = Place::empty();
    place.write("robots.txt", "User-agent: *\nDisallow: /\n\nUser-agent: Googlebot\nAllow: /\n");
    let ask = |options: &str| place.run(&format!("check --robots robots.txt {options} --format json https://example.com/x"));
    let plain = ask("--agent AdsBot-Google --agent Googlebot-Image").is(1);
    assert_eq!(plain.values("verdict"), ["disallow", "disallow"]);
    assert!(plain.err.contains("AdsBot-Google, Googlebot-Image") && plain.err.contains("--profiles"), "{}", plain.err);
    let documented = ask("--agent AdsBot-Google --agent Googlebot-Image --agent X --profiles").is(1);
    assert_eq!(documented.values("verdict"), ["allow", "allow", "disallow"]);
    assert_eq!(documented.values("group"), ["null", "Googlebot", "*"]);
    place.run("check --robots robots.txt --agent GPTBot,CCBot https://example.com/").fails(&["comma", "its own --agent"]);
}

#[test]
fn explain_shows_when_a_policy_was_seen() {
    let place = Place::empty();
    place.write("m.jsonl", "{\"url\":\"https://example.com/\",\"fetched_at\":1767225600,\"body\":\"\"}\n");
    assert!(place.run("explain m.jsonl https://example.com/x --agent X").is(0).text().contains("observed 2026-01-01T00:00:00Z"));
    let json = place.run("explain m.jsonl https://example.com/x --agent X --format json").is(0);
    let snapshot = &json.objects()[0]["snapshot"];
    assert_eq!((&snapshot["time"], &snapshot["time_kind"]), (&"2026-01-01T00:00:00Z".into(), &"observed".into()));
}

#[test]
fn many_agents_are_collected_in_time_linear_in_their_number() {
    let place = Place::new();
    place.write("many.txt", (0..30_000).map(|number| format!("agent-{number}\n")).collect::<String>());
    let started = Instant::now();
    let ran = place.run("check --robots robots.txt --agent-file many.txt --format json https://example.com/").is(0);
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
    assert_eq!(ran.text().lines().count(), 30_000);
    place.write("marked.txt", "\u{FEFF}GPTBot\r\n# one more\r\nX\r\n");
    let marked = place.run("check --robots robots.txt --agent-file marked.txt --format json https://example.com/").is(1);
    assert_eq!(marked.values("agent"), ["GPTBot", "X"]);
    assert!(ran.err.len() < 2000 && ran.err.contains("and 29,990 more"), "{}", ran.err);
}

#[test]
fn an_empty_answer_needs_no_file() {
    let place = Place::empty();
    for (status, code) in [("204", 0), ("205", 0), ("404", 0), ("503", 1), ("200", 2)] {
        place.run(&format!("check --status {status} --agent X https://example.com/")).is(code);
    }
}

#[test]
fn lint_takes_its_time_from_the_size_of_the_file() {
    let place = Place::empty();
    let lines = |count: usize, line: &dyn Fn(usize) -> String| (0..count).map(line).collect::<String>();
    let star = "User-agent: *\n";
    let files = [
        format!("{star}{}", lines(24_000, &|i| format!("Disallow: /*a*b*c*d{i}\n"))),
        format!("{star}Disallow: /{}", "*a".repeat(249_000)),
        format!("{}{}", lines(5_500, &|i| format!("User-agent: a{i}\n")), lines(20_000, &|i| format!("allow:/{i}\n"))),
        format!(
            "{star}{}{}",
            lines(12_000, &|i| format!("disallow:/{i}\n")),
            lines(8_000, &|i| format!("User-agent: a{i}\ndisallow:/z\n"))
        ),
        // Most of it behind the limit.
        format!("{star}#{}\n{}", "x".repeat(512_000), lines(300_000, &|i| format!("allow:/{i}\n"))),
    ];
    for (number, file) in files.iter().enumerate() {
        place.write("robots.txt", file);
        let started = Instant::now();
        let ran = place.run("lint robots.txt").is(0);
        assert!(started.elapsed() < PATIENCE, "file {number}: {:?}", started.elapsed());
        assert!(ran.out.len() < 8 * file.len().min(512_000), "file {number}: {} octets", ran.out.len());
    }
}

#[test]
fn a_policy_may_be_lent_and_every_such_row_says_so() {
    let place = Place::empty();
    place.write("robots/https_www.example.com_443", "User-agent: *\nDisallow: /private/\n");
    place.write("urls.txt", "http://example.com/private/a\nhttps://www.example.com/private/a\nhttps://example.com/\nhttp://example.org/\n");
    let lent = |fallback: &str| {
        let ran = place.run(&format!("eval robots urls.txt --agent A {fallback} -o - --output-format jsonl")).is(0);
        ran.objects().iter().map(|object| (object["verdict"].clone(), object["origin_fallback"].clone())).collect::<Vec<_>>()
    };
    let pair = |verdict: &str, by: Option<&str>| (Value::from(verdict), by.map_or(Value::Null, Value::from));
    let (unresolved, own) = (pair("unresolved", None), pair("disallow", None));
    let both = [pair("disallow", Some("scheme,www")), own.clone(), pair("allow", Some("www")), unresolved.clone()];
    assert_eq!(lent("--origin-fallback scheme,www"), both);
    assert_eq!(lent("--origin-fallback www"), [unresolved.clone(), own.clone(), pair("allow", Some("www")), unresolved.clone()]);
    assert_eq!(lent("--origin-fallback scheme"), [unresolved.clone(), own.clone(), unresolved.clone(), unresolved.clone()]);
    assert_eq!(lent(""), [unresolved.clone(), own, unresolved.clone(), unresolved]);
    let ran = place.run("eval robots urls.txt --agent A --origin-fallback scheme,www --summary-json sum.json -o -").is(0);
    assert!(ran.text().contains("scheme,www http://example.com/private/a"), "{}", ran.text());
    assert!(ran.err.contains("1 rows have no policy of their own origin and are answered by that of the host with www."), "{}", ran.err);
    let summary = place.json("sum.json");
    assert_eq!(summary["rows_lent"], serde_json::json!({ "scheme": 0, "www": 1, "scheme,www": 1 }));
    place.run("eval robots urls.txt --agent A --origin-fallback scheme,www -o out.csv").is(0);
    assert_eq!(place.text("out.csv"), "row,allow_A,origin_fallback\n0,false,\"scheme,www\"\n1,false,\n2,true,www\n3,,\n");
    place.run("eval robots urls.txt --agent A --origin-fallback scheme,www -o out.arrow").is(0);
    let lent: Vec<Option<String>> = Columns::read(place.read("out.arrow")).strings("origin_fallback");
    assert_eq!(lent, [Some("scheme,www".to_owned()), None, Some("www".to_owned()), None]);
    place.run("eval robots urls.txt --agent A --origin-fallback port").fails(&["scheme, www"]);
}
