//! `eval`.

use super::*;

#[test]
fn the_summary_goes_to_standard_error_alone() {
    let place = Place::with_store();
    let ran = place.run("eval store.rsieve urls.txt --agent AnyBot --agent GPTBot").is(0);
    assert!(ran.out.is_empty(), "{}", ran.text());
    let counts = |agent: &str| {
        let line = ran.err.lines().find(|line| line.starts_with(agent)).unwrap_or_default();
        line.split_whitespace().skip(1).map(|count| count.parse::<u64>().unwrap()).collect::<Vec<_>>()
    };
    // Allow, disallow, by name, by `*`, by fetch, whole site, unresolved.
    assert_eq!((counts("AnyBot"), counts("GPTBot")), (vec![4, 3, 0, 3, 0, 1, 2], vec![1, 6, 5, 1, 0, 6, 2]));
    for words in ["9 rows in ", "unresolved (every agent): bad-url 1, no-policy 1", "7 rows are answered by undated policies"] {
        assert!(ran.err.contains(words), "{words}: {}", ran.err);
    }
    assert!(ran.err.lines().any(|line| line.contains("AnyBot") && line.contains("typing error")), "{}", ran.err);
    assert!(!ran.err.lines().any(|line| line.contains("GPTBot") && line.contains("typing error")), "{}", ran.err);
    let ran = place.pipe("http://nobody.test/\n", "eval store.rsieve - --agent GPTBot").is(0);
    assert!(ran.err.contains("right policies"), "{}", ran.err);
}

#[test]
fn arrow() {
    let place = Place::with_store();
    place.run("eval store.rsieve urls.txt --agent AnyBot --agent GPTBot --agent * -o out.arrow --with-url").is(0);
    let columns = Columns::read(place.read("out.arrow"));
    assert_eq!(columns.names(), ["row", "url", "allow_AnyBot", "allow_GPTBot", "allow_any"]);
    assert_eq!(columns.rows(), (0..URL_COUNT).collect::<Vec<_>>());
    assert_eq!(columns.urls(), URLS.lines().collect::<Vec<_>>());
    let [a, d, u] = ["allow", "disallow", "unresolved"];
    assert_eq!(columns.verdicts("allow_AnyBot"), [a, d, a, d, d, a, u, u, a]);
    assert_eq!(columns.verdicts("allow_GPTBot"), [d, d, d, d, d, a, u, u, d]);
    assert_eq!(columns.verdicts("allow_any"), columns.verdicts("allow_AnyBot"));
    let metadata = columns.1.metadata();
    let digest = place.run("inspect store.rsieve").is(0);
    let digest = digest.text().split("digest ").nth(1).unwrap().lines().next().unwrap();
    for (key, value) in [
        ("version", env!("CARGO_PKG_VERSION")),
        ("dialect", "rfc9309"),
        ("access", "rfc9309"),
        ("as_of", "newest"),
        ("store_digest", digest),
        ("agents", "AnyBot=AnyBot\nGPTBot=GPTBot\n*=*"),
    ] {
        assert_eq!(metadata.get(&format!("robosieve.{key}")).map(|value| &value[..]), Some(value), "{key}");
    }
}

#[test]
fn arrow_without_urls_and_with_another_prefix() {
    let place = Place::with_store();
    let line = "eval store.rsieve urls.txt --agent AnyBot --access hold -o out.ipc --output-format arrow --column-prefix may_";
    place.run(line).is(0);
    let columns = Columns::read(place.read("out.ipc"));
    assert_eq!(columns.names(), ["row", "may_AnyBot"]);
    assert_eq!(columns.1.metadata()["robosieve.access"], "hold");
}

#[test]
fn json_lines() {
    let place = Place::with_store();
    let ran = place.run("eval store.rsieve urls.txt --agent GPTBot --agent CCBot -o out.jsonl").is(0);
    let text = place.text("out.jsonl");
    let expected = r#"
{"row":0,"url":"https://example.com/","agent":"GPTBot","verdict":"disallow","reason":"rule","group":"GPTBot","rule":"/","line":2}
{"row":0,"url":"https://example.com/","agent":"CCBot","verdict":"allow","reason":"no-rule","group":"*","rule":null,"line":0}
{"row":1,"url":"https://example.com/private/a","agent":"GPTBot","verdict":"disallow","reason":"rule","group":"GPTBot","rule":"/","line":2}
"#;
    assert!(text.starts_with(expected.trim_start()), "{text}");
    let last = r#"{"row":8,"url":"https://example.com/last","agent":"CCBot","verdict":"allow","reason":"no-rule","group":"*","rule":null,"line":0}"#;
    assert_eq!((text.lines().count(), text.lines().last()), (18, Some(last)));
    assert!(ran.out.is_empty());
}

#[test]
fn text_and_what_a_name_says_of_the_format() {
    let place = Place::with_store();
    let eval = |more: &str| place.run(&format!("eval store.rsieve urls.txt --agent AnyBot {more}")).is(0);
    eval("-o out.txt");
    let piped = eval("-o -");
    assert_eq!(piped.text(), place.text("out.txt"));
    assert_eq!(piped.cells()[1], ["disallow", "AnyBot", "5", "/private/", "https://example.com/private/a"]);
    assert_eq!(piped.cells().len() as u64, URL_COUNT);
    assert_eq!(eval("-o - --output-format jsonl").objects().len() as u64, URL_COUNT);
    assert_eq!(Columns::read(eval("-o - --output-format arrow").out).rows().len() as u64, URL_COUNT);
    eval("-o jsonl.txt --output-format jsonl");
    assert!(place.text("jsonl.txt").starts_with("{\"row\":0,"));
}

#[test]
fn an_unknown_format_is_an_error_that_lists_the_known() {
    let place = Place::with_store();
    let names = place.names();
    for name in ["out.xlsx", "out", "out.arrow.gz"] {
        let ran = place.run(&format!("eval store.rsieve urls.txt --agent A -o {name}"));
        ran.fails(&[name, ".arrow", ".jsonl", ".txt", "--output-format"]);
    }
    place.run("eval store.rsieve urls.txt --agent A -o out.arrow --output-format xlsx").fails(&["arrow", "jsonl", "text"]);
    assert_eq!(place.names(), names);
}

#[test]
fn a_store_and_its_directory_say_the_same() {
    let place = Place::empty();
    place.run_and("compile -o store.rsieve", &[sample("robots")]).is(0);
    for format in ["arrow --with-url", "jsonl", "text"] {
        let eval = |policies: &Path| {
            let agents = "--agent Googlebot --agent GPTBot --agent *";
            place.run_and(&format!("eval {agents} -o - --output-format {format}"), &[policies, &sample("urls.txt")]).is(0).out
        };
        let (store, directory) = (eval(&place.path("store.rsieve")), eval(&sample("robots")));
        assert!(store == directory && store.len() > 10_000, "{format}");
    }
}

#[test]
fn one_robots_txt_says_the_same_for_its_origin() {
    let place = Place::new();
    fs::remove_file(place.path("robots/closed.example")).unwrap();
    fs::rename(place.path("robots/example.com"), place.path("robots/https_example.com_443")).unwrap();
    place.run("compile -o store.rsieve robots").is(0);
    let eval = |policies: &str| place.run(&format!("eval {policies} urls.txt --agent A --agent GPTBot -o - --output-format jsonl")).is(0);
    let store = eval("store.rsieve");
    assert_eq!(store.values("verdict")[6..8], ["unresolved", "unresolved"], "http is another origin");
    for policies in ["robots", "robots.txt --origin https://example.com", "robots.txt --origin HTTPS://example.com:443/any"] {
        assert!(eval(policies).out == store.out, "{policies}");
    }
    let any = eval("robots.txt --any-origin");
    let verdicts = any.values("verdict");
    assert_eq!((verdicts[6..10].join(" "), &verdicts[14][..]), ("disallow disallow allow disallow".to_owned(), "unresolved"));
    let piped = place.pipe(ROBOTS, "eval - urls.txt --any-origin --agent A --agent GPTBot -o - --output-format jsonl").is(0);
    assert!(piped.out == any.out);
}

#[test]
fn origins_are_asked_for_where_they_are_needed_and_only_there() {
    let place = Place::with_store();
    let eval = |line: &str| place.run(&format!("eval {line} urls.txt --agent A"));
    eval("robots.txt").fails(&["robots.txt", "--origin", "--any-origin"]);
    for policies in ["store.rsieve", "robots"] {
        eval(&format!("{policies} --origin https://example.com")).fails(&[policies, "--origin"]);
        eval(&format!("{policies} --any-origin")).fails(&[policies, "--any-origin"]);
    }
    eval("robots.txt --origin example.com").fails(&["example.com", "https://"]);
    eval("robots.txt --origin https://example.com --any-origin").fails(&["--origin", "--any-origin"]);
    place.run("eval - - --any-origin --agent A").fails(&["standard input"]);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let place = Place::with_store();
    // Enough batches for three threads to come in out of order.
    place.write("long.txt", fs::read(sample("urls.txt")).unwrap().repeat(5));
    let policies = sample("robots");
    for format in ["arrow --with-url", "jsonl"] {
        let eval = |threads: u32| {
            let line = format!("eval --threads {threads} --agent GPTBot --agent A -o - --output-format {format}");
            place.run_and(&line, &[&policies, Path::new("long.txt")]).is(0).out
        };
        let one = eval(1);
        assert!(one.len() > 10_000 && eval(2) == one && eval(3) == one, "{format}");
    }
    let filter =
        |threads: u32| place.run_and(&format!("filter --threads {threads} --agent A"), &[&policies, Path::new("long.txt")]).is(0).out;
    let one = filter(1);
    assert!(one.len() > 10_000 && filter(2) == one && filter(3) == one);
}

#[test]
fn a_list_from_a_pipe_is_a_list() {
    let place = Place::with_store();
    let list = fs::read(sample("urls.txt")).unwrap().repeat(2);
    place.write("list.txt", &list);
    for command in ["eval -o - --output-format arrow --with-url", "eval -o - --output-format jsonl", "filter"] {
        let file = place.run_and(&format!("{command} --agent A"), &[sample("robots"), "list.txt".into()]).is(0);
        let piped = run(place.command(&format!("{command} --agent A")).args([sample("robots"), "-".into()]), &list).is(0);
        if command.contains("arrow") {
            // Batches may be cut elsewhere: what they hold is the same.
            let (file, piped) = (Columns::read(file.out), Columns::read(piped.out));
            assert!(file.rows() == piped.rows() && file.urls() == piped.urls());
            assert!(file.verdicts("allow_A") == piped.verdicts("allow_A") && file.rows().len() == 20_000);
        } else {
            assert!(file.out == piped.out && file.out.len() > 10_000, "{command}");
        }
    }
}

#[test]
fn the_summary_as_json_adds_up() {
    let place = Place::with_store();
    place.run("eval store.rsieve urls.txt --agent AnyBot --agent GPTBot --user-agent Mozilla/5.0 --summary-json summary.json").is(0);
    let summary = place.json("summary.json");
    assert_eq!((&summary["rows"], &summary["origins"], &summary["rows_undated"]), (&URL_COUNT.into(), &4.into(), &7.into()));
    for (key, value) in [("policies", "store.rsieve"), ("urls", "urls.txt"), ("dialect", "rfc9309"), ("access", "rfc9309")] {
        assert_eq!(summary[key], value);
    }
    let agents = summary["agents"].as_array().unwrap();
    assert_eq!(agents.iter().map(|agent| agent["agent"].as_str().unwrap()).collect::<Vec<_>>(), ["AnyBot", "GPTBot", "*"]);
    for agent in agents {
        let sum = |keys: &[&str]| keys.iter().map(|key| agent[key].as_u64().unwrap()).sum::<u64>();
        let disallow = sum(&["disallow"]);
        assert_eq!(sum(&["allow", "disallow", "unresolved"]), URL_COUNT, "{agent}");
        assert_eq!(sum(&["disallow_by_name", "disallow_by_star", "disallow_by_fetch"]), disallow, "{agent}");
        assert_eq!(sum(&["disallow_by_path", "disallow_whole_site", "disallow_by_fetch"]), disallow, "{agent}");
        assert_eq!(agent["unresolved_by_reason"], serde_json::json!({"bad-url": 1, "no-policy": 1}));
    }
    assert_eq!((&agents[0]["disallow_by_path"], &agents[1]["disallow_by_name"]), (&2.into(), &5.into()));
    assert_eq!((&agents[0]["known"], &agents[1]["known"], &agents[1]["rows_named"]), (&false.into(), &true.into(), &5.into()));
    let ran = place.run("eval store.rsieve urls.txt --agent A --summary-json -").is(0);
    assert_eq!(serde_json::from_slice::<Value>(&ran.out).unwrap()["rows"], URL_COUNT);
}

#[test]
fn fail_on() {
    let place = Place::with_store();
    // Of nine rows: 4 allow, 3 disallow, 2 undecided; for GPTBot 1, 6, 2.
    for (condition, code) in [
        ("undecided>2", 0),
        ("undecided>1", 1),
        ("undecided>22.3%", 0),
        ("undecided>22.2%", 1),
        ("disallow > 3", 0),
        ("disallow>0", 1),
        ("allow>4", 0),
        ("allow>44%", 1),
    ] {
        let ran = place.run_and("eval store.rsieve urls.txt -o out.txt --agent A --fail-on", &[condition]).is(code);
        assert_eq!(ran.err.contains("--fail-on"), code == 1, "{}", ran.err);
        assert_eq!(place.text("out.txt").lines().count() as u64, URL_COUNT + 1, "the output is whole either way");
    }
    place.run("eval store.rsieve urls.txt --agent A --agent GPTBot --fail-on disallow>3").is(1);
    place.run("filter store.rsieve urls.txt --agent A --fail-on undecided>5 --fail-on undecided>1 -o out.txt").is(1);
    place.pipe("", "eval store.rsieve - --agent A --fail-on undecided>0% --fail-on allow>0").is(0);
    for condition in ["undecided", "undecided>", "undecided<1", "errors>1", "undecided>-1", "undecided>x%", "undecided>nan"] {
        place.run(&format!("eval store.rsieve urls.txt --agent A --fail-on {condition}")).fails(&["undecided>1%"]);
    }
}

#[test]
fn a_corrupt_store_is_an_error_that_names_it() {
    let place = Place::with_store();
    let store = place.read("store.rsieve");
    let longer = [&store[..], b"x"].concat();
    for octets in [&store[..8], &store[..100], &store[..store.len() / 2], &store[..store.len() - 1], &longer] {
        place.write("bad.rsieve", octets);
        for line in ["eval bad.rsieve urls.txt --agent A", "filter bad.rsieve urls.txt --agent A", "inspect bad.rsieve"] {
            place.run(line).fails(&["bad.rsieve"]);
        }
    }
}

#[test]
fn a_damaged_store_never_answers_otherwise() {
    let place = Place::with_store();
    let store = place.read("store.rsieve");
    let eval = |name: &str| place.run(&format!("eval {name} urls.txt --agent A --agent GPTBot -o - --output-format jsonl"));
    let sound = eval("store.rsieve").is(0).values("verdict");
    let (mut errors, mut holes) = (0, 0);
    for at in (0..store.len()).step_by(37) {
        let mut damaged = store.clone();
        damaged[at] ^= 0x55;
        place.write("bad.rsieve", &damaged);
        let ran = eval("bad.rsieve");
        if ran.code == Some(2) {
            errors += 1;
            ran.fails(&["bad.rsieve"]);
            continue;
        }
        let verdicts = ran.is(0).values("verdict");
        assert_eq!(verdicts.len(), sound.len(), "octet {at}");
        let same = |(now, then): (&String, &String)| now == then || now == "unresolved";
        assert!(verdicts.iter().zip(&sound).all(same), "octet {at}: {verdicts:?}");
        holes += usize::from(verdicts != sound);
    }
    assert!(errors > 0 && holes > 0, "{errors} errors, {holes} stores with holes");
}

#[test]
fn what_a_damaged_store_can_not_answer_is_corrupt() {
    let place = Place::with_store();
    let mut store = place.read("store.rsieve");
    let key = b"https://example.com";
    let at = store.windows(key.len()).rposition(|octets| octets == key).unwrap();
    store[at + 10] ^= 1;
    place.write("bad.rsieve", store);
    let ran = place.pipe("https://example.com/\n", "eval bad.rsieve - --agent A -o - --output-format jsonl").is(0);
    assert_eq!((ran.values("verdict")[0].as_str(), ran.values("reason")[0].as_str()), ("unresolved", "corrupt"));
}

#[test]
fn files_that_do_not_exist_are_named() {
    let place = Place::with_store();
    let names = place.names();
    for (line, name) in [
        ("eval none.rsieve urls.txt --agent A -o out.arrow", "none.rsieve"),
        ("eval store.rsieve none.txt --agent A -o out.arrow", "none.txt"),
        ("eval store.rsieve robots --agent A -o out.arrow", "robots"),
        ("eval store.rsieve urls.txt --agent-file none.txt -o out.arrow", "none.txt"),
        ("eval store.rsieve urls.txt --agent A -o none/out.arrow", "none/out.arrow"),
        ("eval store.rsieve urls.txt --agent A -o robots --output-format arrow", "robots"),
        ("eval store.rsieve urls.txt --agent A --summary-json none/summary.json", "none/summary.json"),
        ("filter none urls.txt --agent A -o out.txt", "none"),
        ("filter store.rsieve none.txt --agent A -o out.txt", "none.txt"),
        ("filter store.rsieve urls.txt --agent A -o none/out.txt", "none/out.txt"),
        ("filter store.rsieve urls.txt --agent A -o out.txt --undecided none/undecided.txt", "none/undecided.txt"),
    ] {
        place.run(line).fails(&[name]);
        assert_eq!(place.names(), names, "{line}");
    }
}

#[test]
fn rows_that_are_not_utf8_are_counted_in_every_format_that_holds_text() {
    let place = Place::with_store();
    place.write("list.txt", b"https://example.com/\xFF\nhttps://example.com/\xC3\xA9\n\x80\n");
    for format in ["arrow --with-url", "jsonl", "text"] {
        let line = format!("eval store.rsieve list.txt --agent A -o out --output-format {format} --summary-json summary.json");
        let ran = place.run(&line).is(0);
        assert_eq!(place.json("summary.json")["rows_escaped"], 2, "{format}");
        assert!(ran.err.contains("2 rows are not UTF-8"), "{format}: {}", ran.err);
    }
}

#[test]
fn no_two_columns_have_one_name() {
    let place = Place::with_store();
    let output = Command::new(env!("CARGO_BIN_EXE_robosieve"))
        .args([
            "eval",
            "store.rsieve",
            "urls.txt",
            "--with-url",
            "--column-prefix",
            "",
            "--agent",
            "row",
            "--agent",
            "url",
            "-o",
            "v.arrow",
        ])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let reader = FileReader::try_new(File::open(place.path("v.arrow")).unwrap(), None).unwrap();
    let names: Vec<_> = reader.schema().fields().iter().map(|field| field.name().clone()).collect();
    assert_eq!(names, ["row", "url", "row_2", "url_2"]);
}
