//! `check`.

use super::*;

#[test]
fn exit_codes_and_unresolved_outranks_disallowed() {
    let place = Place::new();
    let (good, refused, bad) = ("https://a.example/", "https://a.example/private/", "mailto:a@a.example");
    for (urls, code) in [
        (vec![good], 0),
        (vec![refused], 1),
        (vec![good, refused, good], 1),
        (vec![bad], 2),
        (vec![good, bad], 2),
        (vec![bad, refused], 2),
        (vec![refused, bad, good], 2),
        (vec![""], 2),
    ] {
        let ran = place.run_and("check --robots robots.txt --agent AnyBot", &urls);
        assert_eq!((ran.code, ran.cells().len()), (Some(code), urls.len()), "{urls:?}");
    }
    place.run_and("check --robots robots.txt --agent AnyBot --agent GPTBot", &[good]).is(1);
}

#[test]
fn json_has_the_documented_keys_in_order() {
    let place = Place::new();
    let urls = ["https://a.example/private/\"x", "https://a.example/", "https://a.example/robots.txt", "//a.example"];
    let ran = place.run_and("check --format json --robots robots.txt --agent AnyBot", &urls).is(2);
    let expected = r#"
{"url":"https://a.example/private/\"x","agent":"AnyBot","verdict":"disallow","reason":"rule","group":"*","rule":"/private/","line":5}
{"url":"https://a.example/","agent":"AnyBot","verdict":"allow","reason":"no-rule","group":"*","rule":null,"line":0}
{"url":"https://a.example/robots.txt","agent":"AnyBot","verdict":"allow","reason":"robots-txt","group":"*","rule":null,"line":0}
{"url":"//a.example","agent":"AnyBot","verdict":"unresolved","reason":"bad-url","group":null,"rule":null,"line":0}
"#;
    assert_eq!(ran.text(), expected.trim_start());
    place.write("named.txt", "User-agent: gptbot\nDisallow: /*.PDF$ # papers\n");
    let ran = place.run("check --format json --robots named.txt --agent GPTBot --agent AnyBot http://h/a.PDF").is(1);
    let expected = r#"
{"url":"http://h/a.PDF","agent":"GPTBot","verdict":"disallow","reason":"rule","group":"GPTBot","rule":"/*.PDF$","line":2}
{"url":"http://h/a.PDF","agent":"AnyBot","verdict":"allow","reason":"no-group","group":null,"rule":null,"line":0}
"#;
    assert_eq!(ran.text(), expected.trim_start());
}

#[test]
fn several_agents_are_answered_url_by_url_and_each_once() {
    let place = Place::new();
    let line = "check --format json --robots robots.txt --agent AnyBot --agent GPTBot --agent * --agent AnyBot http://h/ http://h/b";
    let ran = place.run(line).is(1);
    assert_eq!(ran.values("agent"), ["AnyBot", "GPTBot", "*", "AnyBot", "GPTBot", "*"]);
    assert_eq!(ran.values("url")[2..4], ["http://h/", "http://h/b"]);
    assert_eq!(ran.values("verdict")[..3], ["allow", "disallow", "allow"]);
}

#[test]
fn text_is_a_table() {
    let place = Place::new();
    let ran = place.run("check --robots robots.txt --agent AnyBot --agent GPTBot http://h/private/open x:").is(2);
    assert_eq!(ran.text().lines().next().unwrap().split_whitespace().collect::<Vec<_>>(), ["verdict", "agent", "line", "rule", "url"]);
    let expected = [
        "allow AnyBot 6 /private/open http://h/private/open",
        "disallow GPTBot 2 / http://h/private/open",
        "unresolved AnyBot (bad-url) x:",
        "unresolved GPTBot (bad-url) x:",
    ];
    assert_eq!(ran.cells(), expected.map(|line| line.split(' ').collect::<Vec<_>>()));
    let at = ran.text().find("url").unwrap();
    assert!(ran.text().lines().skip(1).all(|line| line[at..].starts_with("http") || &line[at..] == "x:"), "{}", ran.text());
}

#[test]
fn urls_from_standard_input_are_answered_as_they_come() {
    let place = Place::new();
    for format in ["json", "text"] {
        let mut command = place.command(&format!("check --format {format} --robots robots.txt --agent GPTBot"));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut stdin, answers) = (child.stdin.take().unwrap(), lines_of(child.stdout.take().unwrap()));
        for url in ["http://h/one", "http://h/two", "http://h/three"] {
            writeln!(stdin, "{url}").unwrap();
            let is_answer = |line: &String| line.contains(url) && line.contains("disallow");
            let mut lines = std::iter::from_fn(|| answers.recv_timeout(PATIENCE).ok());
            assert!(lines.any(|line| is_answer(&line)), "no answer in {format} before the next line is written");
        }
        drop(stdin);
        assert_eq!(wait(&mut child), Some(1));
        assert_eq!(answers.recv_timeout(PATIENCE).ok(), None);
    }
}

#[test]
fn lines_of_standard_input_are_rows() {
    let place = Place::new();
    let ran = place.pipe("http://h/a\r\n\nhttp://h/b", "check --format json --robots robots.txt --agent AnyBot").is(2);
    assert_eq!(ran.values("url"), ["http://h/a", "", "http://h/b"]);
    assert_eq!(ran.values("reason"), ["no-rule", "bad-url", "no-rule"]);
    let ran = place.run("check --robots robots.txt --agent AnyBot").is(0);
    assert!(ran.out.is_empty(), "{}", ran.text());
}

#[test]
fn robots_from_standard_input() {
    let place = Place::empty();
    let ran = place.pipe(ROBOTS, "check --format json --robots - --agent GPTBot http://h/x").is(1);
    assert_eq!(ran.values("rule"), ["/"]);
}

#[test]
fn robots_and_urls_can_not_both_come_from_standard_input() {
    Place::empty().pipe(ROBOTS, "check --robots - --agent GPTBot").fails(&["standard input", "arguments"]);
}

#[test]
fn an_outcome_needs_no_robots_where_it_decides() {
    let place = Place::empty();
    for (status, verdict, reason, code) in [
        ("404", "allow", "fetch-status", 0),
        ("503", "disallow", "fetch-status", 1),
        ("unreachable", "disallow", "fetch-status", 1),
        ("too-many-redirects", "allow", "fetch-status", 0),
        ("unknown", "unresolved", "no-policy", 2),
    ] {
        let ran = place.run(&format!("check --format json --status {status} --agent AnyBot http://h/x")).is(code);
        assert_eq!((ran.values("verdict"), ran.values("reason")), (vec![verdict.to_owned()], vec![reason.to_owned()]), "{status}");
        place.run(&format!("check --status {status} --agent AnyBot http://h/robots.txt")).is(0);
    }
    place.run("check --agent AnyBot http://h/x").fails(&["--robots"]);
    place.run("check --status 99 --agent AnyBot http://h/x").fails(&["99", "unreachable", "too-many-redirects", "unknown"]);
}

#[test]
fn a_success_without_a_robots_txt_is_no_permission() {
    Place::empty().run("check --status 200 --agent AnyBot http://h/x").fails(&["--robots"]);
}

#[test]
fn access_tables() {
    let place = Place::new();
    place.write("closed.txt", "User-agent: *\nDisallow: /\n");
    let [rules, allow, disallow, unresolved] = ["disallow rule", "allow fetch-status", "disallow fetch-status", "unresolved fetch-status"];
    let outcomes = [
        ("204", [rules, rules, rules, rules]),
        ("302", [allow, allow, rules, unresolved]),
        ("too-many-redirects", [allow, allow, rules, unresolved]),
        ("404", [allow, allow, rules, allow]),
        ("403", [allow, allow, rules, unresolved]),
        ("429", [allow, disallow, rules, unresolved]),
        ("500", [disallow, disallow, rules, unresolved]),
        ("unreachable", [disallow, disallow, "allow fetch-status", unresolved]),
        ("unknown", ["unresolved no-policy"; 4]),
    ];
    for (status, expected) in outcomes {
        for (access, expected) in ["rfc9309", "google", "scrapy", "hold"].into_iter().zip(expected) {
            let line = format!("check --format json --robots closed.txt --status {status} --access {access} --agent A http://h/x");
            let ran = place.run(&line);
            assert_eq!(format!("{} {}", ran.values("verdict")[0], ran.values("reason")[0]), expected, "{status} {access}");
        }
    }
    let line = "check --format json --robots closed.txt --status 429 --agent A http://h/x";
    assert_eq!(place.run(line).values("verdict"), ["allow"], "the dialect's own table is the default");
    place.run("check --robots closed.txt --access lenient --agent A http://h/").fails(&["rfc9309", "google", "scrapy", "hold"]);
    place.run("check --robots closed.txt --dialect lenient --agent A http://h/").fails(&["rfc9309"]);
}

#[test]
fn a_header_is_read_and_said_so() {
    let place = Place::new();
    let ask = |header: &str| place.run_and("check --format json --robots robots.txt http://h/ --user-agent", &[header]);
    let ran = ask("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.3; +https://openai.com/gptbot").is(1);
    assert_eq!((ran.values("agent"), ran.values("group")), (vec!["GPTBot".to_owned()], vec!["GPTBot".to_owned()]));
    assert!(ran.err.contains("read as GPTBot"), "{}", ran.err);
    let ran = ask("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0").is(0);
    assert_eq!((ran.values("agent"), ran.values("group")), (vec!["*".to_owned()], vec!["*".to_owned()]));
    assert!(ran.err.contains("`*`"), "{}", ran.err);
}

#[test]
fn a_version_is_dropped_and_said_so() {
    let place = Place::new();
    let ran = place.run("check --format json --robots robots.txt --agent CCBot/2.0 http://h/").is(0);
    assert_eq!(ran.values("agent"), ["CCBot"]);
    assert!(ran.err.contains("CCBot/2.0") && ran.err.contains("read as"), "{}", ran.err);
    assert_eq!(place.run("check --robots robots.txt --agent CCBot http://h/").is(0).err, "");
}

#[test]
fn what_is_no_token_points_to_the_header_option() {
    let place = Place::new();
    for agent in ["Big Bot", "Mozilla/5.0 (compatible; GPTBot/1.3)", "bot!"] {
        place.run_and("check --robots robots.txt http://h/ --agent", &[agent]).fails(&["--user-agent", agent]);
    }
    place.run_and("check --robots robots.txt http://h/ --agent", &[""]).fails(&["empty"]);
    place.run("check --robots robots.txt http://h/").fails(&["--agent", "--user-agent", "--agent-file"]);
}

#[test]
fn an_agent_that_nobody_knows_is_noted() {
    let place = Place::new();
    let ran = place.run("check --robots robots.txt --agent GTPBot --agent ClaudeBot http://h/").is(0);
    assert!(ran.err.contains("GTPBot") && ran.err.contains("typing error") && !ran.err.contains("ClaudeBot"), "{}", ran.err);
}

#[test]
fn agents_from_a_file() {
    let place = Place::new();
    place.write("agents.txt", "# crawlers\nGPTBot # OpenAI\r\n\n  CCBot\n");
    let ran = place.run("check --format json --robots robots.txt --agent-file agents.txt http://h/").is(1);
    assert_eq!(ran.values("agent"), ["GPTBot", "CCBot"]);
    place.write("agents.txt", "GPTBot\nBig Bot\n");
    place.run("check --robots robots.txt --agent-file agents.txt http://h/").fails(&["agents.txt", "line 2"]);
    place.run("check --robots robots.txt --agent-file none.txt http://h/").fails(&["none.txt"]);
}

#[test]
fn agents_from_standard_input() {
    let place = Place::new();
    let ran = place.pipe("GPTBot\n", "check --format json --robots robots.txt --agent-file - http://h/").is(1);
    assert_eq!(ran.values("agent"), ["GPTBot"]);
}

/// What a hostile page may put into a link: colours, a one-octet CSI, a carriage return, DEL, overrides and isolates.
const TRAP: &str = "http://h/a\u{1B}[31m\u{9B}2J\r\u{7F}\u{202E}\u{2066}\u{200F}\u{2028}b";

#[test]
fn nothing_in_a_url_or_rule_reaches_a_terminal_raw() {
    let place = Place::new();
    place.write("robots.txt", "User-agent: *\nDisallow: /a\u{1B}[31m*\u{202E}\nDisallow: /b\n");
    let given = place.run_and("check --robots robots.txt --agent A", &[TRAP]).is(1);
    let piped = place.pipe(format!("{TRAP}\n"), "check --robots robots.txt --agent A").is(1);
    let inspected = place.run("inspect --automata robots.txt").is(0);
    for ran in [&given, &piped, &inspected] {
        assert!(is_harmless(ran.text()) && is_harmless(&ran.err), "{:?} {:?}", ran.text(), ran.err);
        assert!(ran.text().contains("/a%1B[31m"), "{}", ran.text());
    }
    assert!(given.text().contains("%C2%9B2J%0D%7F%E2%80%AE%E2%81%A6%E2%80%8F%E2%80%A8b"), "{}", given.text());
    assert_eq!(given.text(), piped.text());
}

#[test]
fn nothing_in_a_url_reaches_a_terminal_raw_in_json() {
    let ran = Place::new().run_and("check --format json --robots robots.txt --agent A", &[TRAP]).is(0);
    assert_eq!(ran.values("url"), [TRAP]);
    assert!(is_harmless(ran.text()), "JSON can say these as \\uXXXX: {:?}", ran.text());
}

#[test]
fn nothing_in_an_agent_reaches_a_terminal_raw() {
    let place = Place::new();
    for option in ["--agent", "--user-agent"] {
        let ran = place.run_and("check --robots robots.txt http://h/", &[option, "bot\u{1B}[31m\u{202E}\u{9B}x"]);
        assert!(is_harmless(ran.text()) && is_harmless(&ran.err) && !ran.err.is_empty(), "{:?} {:?}", ran.text(), ran.err);
    }
}

#[cfg(unix)]
#[test]
fn a_url_that_is_not_utf8() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    place.write("robots.txt", "User-agent: *\nDisallow: /caf%E9\n");
    let url = [OsStr::from_bytes(b"http://h/caf\xE9")];
    let ran = place.run_and("check --format json --robots robots.txt --agent A", &url).is(1);
    assert_eq!((ran.values("url"), ran.values("rule")), (vec!["http://h/caf%E9".to_owned()], vec!["/caf%E9".to_owned()]));
    let ran = place.run_and("check --robots robots.txt --agent A", &url).is(1);
    assert_eq!(ran.cells()[0].last(), Some(&"http://h/caf%E9"));
}

#[test]
fn a_robots_txt_that_can_not_be_read_is_named() {
    let place = Place::new();
    place.run("check --robots none.txt --agent A http://h/").fails(&["none.txt"]);
    place.run("check --robots robots --agent A http://h/").fails(&["robots", "directory"]);
}

#[test]
fn a_store_is_no_robots_txt() {
    let place = Place::with_store();
    place.run("check --robots store.rsieve --agent GPTBot https://example.com/").fails(&["store.rsieve", "store"]);
    place.pipe(place.read("store.rsieve"), "eval - urls.txt --any-origin --agent GPTBot").fails(&["store"]);
}

#[test]
fn a_fetch_that_failed_is_noticed() {
    let place = Place::empty();
    for (body, word) in [("", "empty"), ("<!DOCTYPE html>\n<p>Not found", "HTML")] {
        place.write("robots.txt", body);
        let output = Command::new(env!("CARGO_BIN_EXE_robosieve"))
            .args(["check", "--robots", "robots.txt", "--agent", "GPTBot", "https://example.com/"])
            .current_dir(place.0.path())
            .output()
            .unwrap();
        assert!(output.status.success());
        assert!(String::from_utf8_lossy(&output.stderr).contains(word), "{output:?}");
    }
}
