//! Manifests: outcomes, times and bodies of fetches, into stores and out of them.

use super::*;

/// What each outcome comes to for a path that its body disallows, under rfc9309, google, scrapy and hold, as verdict and reason. The body is an empty
/// one where there is none. From the tables of docs/GUIDE.md, typed by hand.
const OUTCOMES: [(&str, &str, [&str; 4]); 22] = [
    ("ok", r#""status": 200"#, ["d rule", "d rule", "d rule", "d rule"]),
    ("text", r#""status": "203""#, ["d rule", "d rule", "d rule", "d rule"]),
    ("real", r#""status": 200.0"#, ["d rule", "d rule", "d rule", "d rule"]),
    ("unsaid", r#""final_url": null"#, ["d rule", "d rule", "d rule", "d rule"]),
    ("moved", r#""status": 200, "final_url": "https://www.moved.test/robots.txt""#, ["d rule", "d rule", "d rule", "d rule"]),
    ("hop", r#""status": 301, "final_url": "https://www.hop.test/robots.txt""#, ["d rule", "d rule", "d rule", "d rule"]),
    ("unfollowed", r#""status": 302"#, ["a fetch-status", "a fetch-status", "d rule", "u fetch-status"]),
    (
        "same",
        r#""status": 301, "final_url": "https://same.test/robots.txt""#,
        ["a fetch-status", "a fetch-status", "d rule", "u fetch-status"],
    ),
    ("loop", r#""status": 301, "error": "too-many-redirects""#, ["a fetch-status", "a fetch-status", "d rule", "u fetch-status"]),
    ("missing", r#""status": 404"#, ["a fetch-status", "a fetch-status", "d rule", "a fetch-status"]),
    ("gone", r#""status": "410""#, ["a fetch-status", "a fetch-status", "d rule", "a fetch-status"]),
    ("locked", r#""status": 401"#, ["a fetch-status", "a fetch-status", "d rule", "u fetch-status"]),
    ("forbidden", r#""status": 403"#, ["a fetch-status", "a fetch-status", "d rule", "u fetch-status"]),
    ("busy", r#""status": 429"#, ["a fetch-status", "d fetch-status", "d rule", "u fetch-status"]),
    ("broken", r#""status": 503"#, ["d fetch-status", "d fetch-status", "d rule", "u fetch-status"]),
    ("down", r#""error": "unreachable""#, ["d fetch-status", "d fetch-status", "a fetch-status", "u fetch-status"]),
    ("nameless", r#""error": "dns""#, ["d fetch-status", "d fetch-status", "a fetch-status", "u fetch-status"]),
    ("slow", r#""error": "timeout""#, ["d fetch-status", "d fetch-status", "a fetch-status", "u fetch-status"]),
    ("cut", r#""status": 200, "error": "reset""#, ["d fetch-status", "d fetch-status", "a fetch-status", "u fetch-status"]),
    ("shut", r#""error": "refused""#, ["d fetch-status", "d fetch-status", "a fetch-status", "u fetch-status"]),
    ("untrusted", r#""error": "tls""#, ["d fetch-status", "d fetch-status", "a fetch-status", "u fetch-status"]),
    ("never", r#""error": "unknown""#, ["u no-policy", "u no-policy", "u no-policy", "u no-policy"]),
];

const TABLES: [&str; 4] = ["rfc9309", "google", "scrapy", "hold"];

fn manifest_of_outcomes() -> String {
    let line = |(host, keys, _): &(&str, &str, [&str; 4])| {
        format!(r#"{{"url": "https://{host}.test/robots.txt", {keys}, "body": "User-agent: *\nDisallow: /x\n"}}"#)
    };
    OUTCOMES.iter().map(line).map(|line| line + "\n").collect()
}

fn verdicts_and_reasons(ran: &Ran) -> Vec<String> {
    ran.values("verdict").iter().zip(ran.values("reason")).map(|(verdict, reason)| format!("{} {reason}", &verdict[..1])).collect()
}

#[test]
fn every_outcome_under_every_access_table() {
    let place = Place::empty();
    place.write("fetches.jsonl", manifest_of_outcomes());
    place.write("urls.txt", OUTCOMES.map(|(host, ..)| format!("https://{host}.test/x\n")).concat());
    place.run("compile -o store.rsieve fetches.jsonl").is(0);
    for (column, table) in TABLES.iter().enumerate() {
        let expected = OUTCOMES.map(|(_, _, verdicts)| verdicts[column].to_owned());
        for policies in ["store.rsieve", "fetches.jsonl"] {
            let line =
                format!("eval {policies} urls.txt --agent AnyBot --access {table} -o - --output-format jsonl --summary-json summary.json");
            let ran = place.run(&line).is(0);
            assert_eq!(verdicts_and_reasons(&ran), expected, "{policies} {table}");
            let of = |verdict: &str, reason: &str| expected.iter().filter(|text| **text == format!("{verdict} {reason}")).count();
            let agent = &place.json("summary.json")["agents"][0];
            assert_eq!(agent["disallow_by_fetch"], of("d", "fetch-status"), "{table}: {agent}");
            assert_eq!(agent["disallow_by_star"], of("d", "rule"), "{table}: {agent}");
            assert_eq!(agent["allow"], of("a", "fetch-status"), "{table}: {agent}");
            let unresolved = &agent["unresolved_by_reason"];
            assert_eq!(unresolved["no-policy"], of("u", "no-policy"), "{table}: {agent}");
            assert_eq!(unresolved["fetch-status"].as_u64().unwrap_or(0), of("u", "fetch-status") as u64, "{table}: {agent}");
        }
        let passing = |verdict: &str| OUTCOMES.iter().filter(|(.., verdicts)| verdicts[column].starts_with(verdict)).count();
        let kept = place.run(&format!("filter store.rsieve urls.txt --agent AnyBot --access {table} --undecided undecided.txt")).is(0);
        assert_eq!(kept.text().lines().count(), passing("a"), "{table}");
        assert_eq!(place.text("undecided.txt").lines().count(), passing("u"), "{table}");
    }
}

#[test]
fn robots_txt_itself_is_allowed_whatever_its_fetch_came_to() {
    let place = Place::empty();
    place.write("fetches.jsonl", manifest_of_outcomes());
    let urls = OUTCOMES.map(|(host, ..)| format!("https://{host}.test/robots.txt\n")).concat();
    for table in TABLES {
        let ran = place.pipe(&urls, &format!("eval fetches.jsonl - --agent AnyBot --access {table} -o - --output-format jsonl")).is(0);
        assert!(ran.values("verdict").iter().zip(OUTCOMES).all(|(verdict, (host, ..))| verdict == "allow" || host == "never"), "{table}");
    }
}

#[test]
fn outcomes_without_a_body() {
    let place = Place::empty();
    let lines = [
        (r#""status": 404"#, ["a fetch-status", "a no-group"]),
        (r#""status": 503"#, ["d fetch-status", "a no-group"]),
        (r#""status": 301"#, ["a fetch-status", "a no-group"]),
        (r#""status": 204"#, ["a no-group", "a no-group"]),
        (r#""status": 200, "body": """#, ["a no-group", "a no-group"]),
        (r#""status": 200, "body_base64": """#, ["a no-group", "a no-group"]),
        (r#""status": null"#, ["u no-policy", "u no-policy"]),
    ];
    let manifest: String =
        lines.iter().enumerate().map(|(host, (keys, _))| format!("{{\"origin\": \"h{host}.test\", {keys}}}\n")).collect();
    place.write("fetches.jsonl", manifest);
    let urls: String = (0..lines.len()).map(|host| format!("http://h{host}.test/x\n")).collect();
    for (column, table) in [(0, "rfc9309"), (1, "scrapy")] {
        let ran = place.pipe(&urls, &format!("eval fetches.jsonl - --agent AnyBot --access {table} -o - --output-format jsonl")).is(0);
        assert_eq!(verdicts_and_reasons(&ran), lines.map(|(_, verdicts)| verdicts[column]), "{table}");
    }
}

/// The verdicts for an unnamed agent.
fn verdicts(place: &Place, policies: &str, urls: &[&str]) -> Vec<String> {
    place.pipe(urls.join("\n"), &format!("eval {policies} - --agent AnyBot -o - --output-format jsonl")).is(0).values("verdict")
}

#[test]
fn names_of_origins() {
    let place = Place::empty();
    place.write(
        "fetches.jsonl",
        r#"{"origin": "host.test", "status": 500}
{"origin": "ported.test_8080", "status": 500}
{"origin": "https_exact.test_8443", "status": 500}
{"origin": "HTTP://one.test", "status": 500}
{"url": "https://deep.test:444/a/b?c#d", "status": 500}
{"origin": "both.test", "url": "http://both.test/robots.txt", "status": 500}
"#,
    );
    place.run("compile -o store.rsieve fetches.jsonl").is(0);
    let governed = [
        "http://host.test/",
        "https://host.test/",
        "http://ported.test:8080/",
        "https://exact.test:8443/",
        "http://one.test/",
        "https://deep.test:444/",
        "https://both.test/",
    ];
    let others = ["http://host.test:8080/", "http://exact.test:8443/", "https://one.test/", "https://deep.test/"];
    assert_eq!(verdicts(&place, "store.rsieve", &governed), ["disallow"; 7]);
    assert_eq!(verdicts(&place, "store.rsieve", &others), ["unresolved"; 4]);
}

#[test]
fn bodies_by_path_text_and_base64_are_the_same() {
    let place = Place::new();
    place.write("crawl/bodies/ab/robots.bin", ROBOTS);
    let text = serde_json::to_string(ROBOTS).unwrap();
    let encoded = "VXNlci1hZ2VudDogR1BUQm90CkRpc2FsbG93OiAvCgpVc2VyLWFnZW50OiAqCkRpc2FsbG93OiAvcHJpdmF0ZS8KQWxsb3c6IC9wcml2YXRlL29wZW4K";
    let lines = format!(
        "{{\"origin\": \"path.test\", \"path\": \"./bodies/ab/robots.bin\"}}\n{{\"origin\": \"text.test\", \"body\": {text}, \"path\": \"\"}}\n\
        {{\"origin\": \"base.test\", \"body_base64\": \"{encoded}\", \"body\": \"\"}}\n"
    );
    place.write("crawl/manifest.jsonl", &lines);
    place.run("compile -o store.rsieve crawl").is(0);
    let store = place.run("inspect store.rsieve").is(0);
    for words in ["6 origins", "1 distinct programs", "1 distinct bodies"] {
        assert!(store.text().contains(words), "{words}: {}", store.text());
    }
    // Paths are relative to the manifest, wherever the command runs; on standard input to that place.
    for line in ["compile -o other.rsieve crawl/manifest.jsonl", "compile -o other.rsieve --manifest crawl/manifest.jsonl"] {
        place.run(line).is(0);
        assert!(place.read("other.rsieve") == place.read("store.rsieve"), "{line}");
    }
    let lines = lines.replace("./bodies", "crawl/bodies");
    for line in ["compile -o other.rsieve -", "compile -o other.rsieve --manifest -"] {
        place.pipe(&lines, line).is(0);
        assert!(place.read("other.rsieve") == place.read("store.rsieve"), "{line}");
    }
}

#[test]
fn times_and_final_urls_show_in_inspect() {
    let place = Place::empty();
    place.write(
        "fetches.jsonl",
        r#"{"url": "https://a.test/robots.txt", "status": 200, "fetched_at": 1767225600.5, "body": "User-agent: *\nDisallow: /old\n"}
{"url": "https://a.test/robots.txt", "error": "timeout", "fetched_at": "2026-01-03T01:00:00+01:00"}
{"url": "https://a.test/robots.txt", "status": "200", "fetched_at": "2026-01-02T00:00:00Z", "final_url": "https://www.a.test/\u001b[2Jrobots.txt", "body": ""}
{"url": "https://b.test/robots.txt", "status": 404}
"#,
    );
    place.run("compile -o store.rsieve fetches.jsonl").is(0);
    let ran = place.run("inspect store.rsieve --origin https://a.test").is(0);
    let snapshots: Vec<&str> = ran.text().lines().filter(|line| line.starts_with("snapshot")).collect();
    assert_eq!(
        snapshots,
        [
            "snapshot observed 2026-01-01T00:00:00Z, fetch 200, 29 octets, 29 read",
            "snapshot observed 2026-01-02T00:00:00Z, fetch 200, 0 octets, 0 read",
            "snapshot observed 2026-01-03T00:00:00Z, fetch unreachable, 0 octets, 0 read",
        ]
    );
    assert!(ran.text().contains("from https://www.a.test/%1B[2Jrobots.txt\n") && is_harmless(ran.text()), "{}", ran.text());
    let other = place.run("inspect store.rsieve --origin https://b.test").is(0);
    assert!(other.text().contains("snapshot undated, fetch 404"), "{}", other.text());
    // The newest one answers, and the summary says so.
    let ran = place.pipe("https://a.test/\nhttps://b.test/\n", "eval store.rsieve - --agent A -o - --output-format jsonl").is(0);
    assert_eq!(verdicts_and_reasons(&ran), ["d fetch-status", "a fetch-status"]);
    assert!(
        ran.err.contains("1 rows are answered by the newest snapshot") && ran.err.contains("1 rows are answered by undated"),
        "{}",
        ran.err
    );
}

#[test]
fn lines_that_can_not_be_used_are_left_out_with_their_numbers() {
    let place = Place::new();
    let wrong: [(&str, &str); 27] = [
        ("not JSON", "one JSON object"),
        ("[1]", "expected an object"),
        ("{\"origin\": \"a.test\", \"status\": 404} {}", "trailing characters"),
        ("{\"origin\": \"a.test\"", "one JSON object"),
        ("{\"origin\": 5}", "expected a string"),
        ("{\"origin\": \"a.test\", \"origin\": \"b.test\"}", "twice"),
        ("{\"status\": 404}", "neither origin nor url"),
        ("{\"origin\": \"\", \"status\": 404}", "neither origin nor url"),
        ("{\"origin\": \"not a host\", \"status\": 404}", "no origin"),
        ("{\"origin\": \"https_a.test\", \"status\": 404}", "https_a.test_443"),
        ("{\"url\": \"https://a.test:99999/\", \"status\": 404}", "65535"),
        ("{\"origin\": \"a.test\", \"url\": \"https://b.test/\", \"status\": 404}", "final_url"),
        ("{\"origin\": \"a.test\", \"status\": 0}", "no HTTP status"),
        ("{\"origin\": \"a.test\", \"status\": 404.5}", "no HTTP status"),
        ("{\"origin\": \"a.test\", \"status\": \"Not Found\"}", "no HTTP status"),
        ("{\"origin\": \"a.test\", \"status\": [404]}", "expected a number or a string"),
        ("{\"origin\": \"a.test\", \"status\": 200}", "without a body"),
        ("{\"origin\": \"a.test\", \"status\": 304}", "older copy"),
        (
            "{\"origin\": \"a.test\", \"error\": \"gremlins\"}",
            "unreachable, dns, timeout, reset, refused, tls, too-many-redirects, unknown",
        ),
        ("{\"origin\": \"a.test\", \"status\": 404, \"fetched_at\": \"yesterday\"}", "2026-01-01T00:00:00Z"),
        ("{\"origin\": \"a.test\", \"status\": 404, \"fetched_at\": 1767225600000}", "milliseconds"),
        ("{\"origin\": \"a.test\", \"path\": \"../robots.txt\"}", "leaves the folder"),
        ("{\"origin\": \"a.test\", \"path\": \"/etc/hostname\"}", "leaves the folder"),
        ("{\"origin\": \"a.test\", \"path\": \"none.txt\"}", "none.txt"),
        ("{\"origin\": \"a.test\", \"path\": \"robots\"}", "not a regular file"),
        ("{\"origin\": \"a.test\", \"body\": \"a\", \"body_base64\": \"YQ==\"}", "give one"),
        ("{\"origin\": \"a.test\", \"body_base64\": \"a\"}", "Base64"),
    ];
    for (line, why) in wrong {
        place.write(
            "fetches.jsonl",
            format!(
                "\u{FEFF}\r\n{{\"origin\": \"ok.test\", \"status\": 404}}\r\n\r\n  \n{line}\n{{\"origin\": \"last.test\", \"status\": 404}}"
            ),
        );
        let ran = place.run("compile -o store.rsieve fetches.jsonl").is(0);
        let said = ran.err.lines().find(|said| said.contains("left out fetches.jsonl:5: ")).unwrap_or_default();
        assert!(said.contains(why), "{line}: {}", ran.err);
        assert!(ran.err.contains("2 records; 1 lines left out") && ran.err.contains("store.rsieve: 4 origins"), "{line}: {}", ran.err);
        // The same line alone is nothing at all.
        place.write("alone.jsonl", line);
        place.run("compile -o none.rsieve alone.jsonl").fails(&["alone.jsonl:1", "nothing to compile"]);
    }
    let ran = place.run("eval fetches.jsonl urls.txt --agent A").is(0);
    assert!(ran.err.contains("fetches.jsonl:5") && ran.err.contains("1 lines left out"), "{}", ran.err);
}

#[test]
fn octets_that_are_not_utf8_cost_their_line_alone() {
    let place = Place::empty();
    let lines = [
        &b"{\"origin\": \"a.test\", \"body\": \"caf\xE9\"}\n{\"origin\": \"b.test\", \"body\": \"\\ud800\"}\n"[..],
        b"\xFF\xFE\n\0\n{\"origin\": \"c.test\", \"status\": 404}",
    ];
    place.write("fetches.jsonl", lines.concat());
    let ran = place.run("compile -o store.rsieve fetches.jsonl").is(0);
    for number in 1..=4 {
        assert!(ran.err.contains(&format!("left out fetches.jsonl:{number}: column")), "{number}: {}", ran.err);
    }
    assert!(ran.err.contains("store.rsieve: 2 origins"), "{}", ran.err);
}

#[test]
fn many_lines_left_out_are_counted_and_quoted_harmlessly() {
    let place = Place::empty();
    let line = format!("{{\"origin\": \"a.test\", \"error\": \"\\u001b[31m\u{202E}{}\", \"k\\u001bey\": 1}}\n", "x".repeat(10_000));
    place.write("fetches.jsonl", line.repeat(2500) + "{\"origin\": \"b.test\", \"status\": 404, \"length\": 5}\n");
    let ran = place.run("compile -o store.rsieve fetches.jsonl").is(0);
    assert!(ran.err.contains("2,500 files and lines were left out") && ran.err.contains("1 records; 2,500 lines left out"), "{}", ran.err);
    assert!(ran.err.contains("ignored: k%1Bey 2,500, length 1"), "{}", ran.err);
    assert!(ran.err.lines().count() < 20 && ran.err.len() < 8000 && is_harmless(&ran.err), "{}", ran.err);
}

#[test]
fn a_manifest_speaks_for_the_files_beside_it() {
    let place = Place::empty();
    let deny = "User-agent: *\nDisallow: /\n";
    for name in [
        "plain.test",
        "named.test",
        "page.test",
        "spoken.test",
        "half.test",
        "tls.test_443",
        "folder.test/robots.txt",
        "bad.test",
        "bad2.test",
    ] {
        place.write(format!("robots/{name}"), deny);
    }
    place.write(
        "robots/manifest.jsonl",
        r#"{"origin": "other.test", "path": "named.test"}
{"url": "https://page.test/robots.txt", "status": 404, "path": "page.test", "fetched_at": 1}
{"origin": "spoken.test", "status": 404}
{"url": "https://half.test/robots.txt", "status": 404, "fetched_at": 1}
{"origin": "tls.test", "status": 404}
{"url": "http://elsewhere.test/", "path": "folder.test/robots.txt"}
{"origin": "bad.test", "status": "five hundred"}
{"path": "bad2.test", "status": 500}
"#,
    );
    let expected = [
        ("http://plain.test/", "disallow"),
        ("http://named.test/", "unresolved"),
        ("http://other.test/", "disallow"),
        ("https://page.test/", "allow"),
        ("http://page.test/", "unresolved"),
        ("http://spoken.test/", "allow"),
        ("https://half.test/", "allow"),
        ("http://half.test/", "disallow"),
        ("https://tls.test/", "allow"),
        ("http://folder.test/", "unresolved"),
        ("http://elsewhere.test/", "disallow"),
        ("http://bad.test/", "unresolved"),
        ("http://bad2.test/", "unresolved"),
    ];
    let (urls, answers): (Vec<&str>, Vec<&str>) = expected.into_iter().unzip();
    let ran = place.run("compile -o store.rsieve robots").is(0);
    for words in ["6 records; 2 lines left out", "0 files left out", "3 files stand aside"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    assert!(!ran.err.contains("both answer"), "{}", ran.err);
    for policies in ["store.rsieve", "robots"] {
        assert_eq!(verdicts(&place, policies, &urls), answers, "{policies}");
    }
    // Given from elsewhere, or twice, it says the same.
    for more in ["robots/manifest.jsonl", "--manifest ./robots/../robots/manifest.jsonl"] {
        place.run(&format!("compile -o more.rsieve robots {more}")).is(0);
        assert_eq!(verdicts(&place, "more.rsieve", &urls), answers, "{more}");
    }
    let text = place.text("robots/manifest.jsonl").replace("\"path\": \"", "\"path\": \"robots/");
    fs::remove_file(place.path("robots/manifest.jsonl")).unwrap();
    place.write("fetches.txt", text);
    place.run("compile -o more.rsieve robots --manifest fetches.txt").is(0);
    assert_eq!(verdicts(&place, "more.rsieve", &urls), answers);
}

#[test]
fn two_records_of_one_time_are_a_conflict() {
    let place = Place::empty();
    let line = |status: u16, at: u64| format!("{{\"url\": \"https://a.test/\", \"status\": {status}, \"fetched_at\": {at}}}\n");
    place.write("fetches.jsonl", [line(404, 5), line(500, 5), line(500, 4)].concat());
    let ran = place.run("compile -o store.rsieve fetches.jsonl").is(0);
    let words = "fetches.jsonl:1 and fetches.jsonl:2 both answer for https://a.test: fetches.jsonl:1 is kept";
    assert!(ran.err.contains(words), "{}", ran.err);
    assert_eq!(verdicts(&place, "store.rsieve", &["https://a.test/"]), ["allow"]);
}

#[test]
fn more_lines_than_a_batch_on_any_number_of_threads() {
    let place = Place::empty();
    let line = |number: usize| {
        format!(
            "{{\"url\": \"https://h{number}.test/robots.txt\", \"fetched_at\": {number}, \"body\": \"User-agent: *\\nDisallow: /{}\\n\"}}\n",
            number % 7
        )
    };
    place.write("fetches.jsonl", (0..3000).map(line).collect::<String>());
    for threads in [1, 2] {
        place.run(&format!("compile -o {threads}.rsieve --threads {threads} fetches.jsonl")).is(0);
    }
    assert!(place.read("1.rsieve") == place.read("2.rsieve"));
    let urls: Vec<String> = (0..3000).map(|number| format!("https://h{number}.test/{}", number % 5)).collect();
    let urls: Vec<&str> = urls.iter().map(|url| &url[..]).collect();
    let answers = verdicts(&place, "1.rsieve", &urls);
    assert!(answers.iter().enumerate().all(|(number, answer)| (answer == "disallow") == (number % 7 == number % 5)));
}

#[test]
fn what_is_no_manifest() {
    let place = Place::new();
    place.run("compile -o store.rsieve none.jsonl").fails(&["none.jsonl"]);
    place.run("compile -o store.rsieve --manifest none.jsonl").fails(&["none.jsonl"]);
    place.run("compile -o store.rsieve --manifest robots").fails(&["robots", "directory"]);
    place.run("compile -o store.rsieve urls.txt").fails(&["urls.txt", "--manifest", "directory"]);
    place.run("compile -o store.rsieve").fails(&["INPUT"]);
    place.write("empty.jsonl", "");
    place.run("compile -o store.rsieve empty.jsonl").fails(&["nothing to compile"]);
    assert!(!place.path("store.rsieve").exists());
    // With an origin it is a robots.txt of that name.
    place.write("odd.jsonl", ROBOTS);
    let ran = place.run("eval odd.jsonl urls.txt --agent GPTBot --origin https://example.com -o - --output-format jsonl").is(0);
    assert_eq!(ran.values("verdict")[..2], ["disallow", "disallow"]);
}
