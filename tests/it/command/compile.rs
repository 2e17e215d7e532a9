//! `compile`.

use super::*;

/// The verdicts for an unnamed agent.
fn verdicts(place: &Place, policies: &str, urls: &[&str]) -> Vec<String> {
    let ran = place.pipe(urls.join("\n"), &format!("eval {policies} - --agent AnyBot -o - --output-format jsonl")).is(0);
    ran.values("verdict")
}

#[test]
fn names_of_files() {
    let place = Place::empty();
    for name in [
        "host.example",
        "ported.example_8080",
        "https_exact.example_8443",
        "tls.example_443",
        "plain.example_80",
        "text.example.txt",
        "http_text.example_81.txt",
        "folder.example/robots.txt",
        "https_folder.example_444/robots.txt",
    ] {
        place.write(format!("robots/{name}"), "User-agent: *\nDisallow: /\n");
    }
    let governed = [
        "http://host.example/",
        "https://HOST.example.:443/",
        "http://ported.example:8080/",
        "https://ported.example:8080/",
        "https://exact.example:8443/",
        "https://tls.example/",
        "http://plain.example/",
        "https://text.example/",
        "http://text.example:81/",
        "http://folder.example/",
        "https://folder.example:444/",
    ];
    let others = [
        "http://www.host.example/",
        "http://host.example:8080/",
        "http://ported.example/",
        "http://exact.example:8443/",
        "https://exact.example/",
        "http://tls.example/",
        "https://plain.example/",
        "https://text.example:81/",
        "http://folder.example:444/",
        "http://text.example.txt/",
    ];
    place.run("compile -o store.rsieve robots").is(0);
    assert_eq!(verdicts(&place, "store.rsieve", &governed), ["disallow"; 11]);
    assert_eq!(verdicts(&place, "store.rsieve", &others), ["unresolved"; 10]);
}

#[test]
fn an_exact_name_beats_a_host() {
    let place = Place::empty();
    place.write("robots/both.example", "User-agent: *\nDisallow: /\n");
    place.write("robots/https_both.example_443", "");
    let ran = place.run("compile -o store.rsieve robots").is(0);
    assert_eq!(verdicts(&place, "store.rsieve", &["http://both.example/", "https://both.example/"]), ["disallow", "allow"]);
    assert!(!ran.err.contains("both answer"), "{}", ran.err);
}

#[test]
fn several_directories() {
    let place = Place::with_store();
    place.write("a/example.com", ROBOTS);
    place.write("b/closed.example", "User-agent: *\nDisallow: /\n");
    let ran = place.run("compile -o two.rsieve a b").is(0);
    assert!(ran.out.is_empty() && ran.err.contains("two.rsieve: 4 origins"), "{}", ran.err);
    place.run("compile -o two.rsieve a none").fails(&["none"]);
    place.run("compile -o two.rsieve robots.txt").fails(&["robots.txt", "directory"]);
}

#[test]
fn files_left_out_are_named_with_the_reason() {
    let place = Place::new();
    place.write("robots/not a host", "");
    place.write("robots/port.example_70000", "");
    place.write("robots/.hidden", "");
    fs::create_dir(place.path("robots/empty.example")).unwrap();
    let ran = place.run("compile -o store.rsieve robots").is(0);
    for (name, why) in [
        ("not a host", "the host holds a character that no host has"),
        ("port.example_70000", "65535"),
        ("empty.example", "without a robots.txt in it"),
    ] {
        let line = ran.err.lines().find(|line| line.contains(name));
        assert!(line.is_some_and(|line| line.contains("left out") && line.contains(why)), "{name}: {}", ran.err);
    }
    assert!(ran.err.contains("3 files left out") && ran.err.contains(": 4 origins") && !ran.err.contains(".hidden"), "{}", ran.err);
    let ran = place.run("eval robots urls.txt --agent A").is(0);
    assert!(ran.err.contains("left out") && ran.err.contains("not a host"), "{}", ran.err);
}

#[test]
fn many_files_left_out_are_counted() {
    let place = Place::new();
    (0..25).for_each(|number| place.write(format!("robots/bad name {number}"), ""));
    let ran = place.run("compile -o store.rsieve robots").is(0);
    assert!(ran.err.contains("25 files left out") && ran.err.lines().count() < 20, "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn names_of_files_do_not_reach_a_terminal_raw() {
    let place = Place::new();
    place.write("robots/bad\u{1B}[31m\u{202E}name", "");
    let ran = place.run("compile -o store.rsieve robots").is(0);
    assert!(ran.err.contains("left out") && is_harmless(&ran.err), "{:?}", ran.err);
}

#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf8_is_left_out() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::new();
    place.write(Path::new("robots").join(OsStr::from_bytes(b"caf\xE9.example")), "");
    let ran = place.run("compile -o store.rsieve robots").is(0);
    assert!(ran.err.contains("caf") && ran.err.contains("not UTF-8") && ran.err.contains("1 files left out"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_pipe_among_the_files_is_left_out() {
    let place = Place::new();
    assert!(Command::new("mkfifo").arg(place.path("robots/pipe.example")).status().unwrap().success());
    let mut child = place.command("compile -o store.rsieve robots").stderr(Stdio::piped()).spawn().unwrap();
    let err = lines_of(child.stderr.take().unwrap());
    assert_eq!(wait(&mut child), Some(0));
    let err: Vec<String> = err.iter().collect();
    assert!(err.iter().any(|line| line.contains("left out") && line.contains("pipe.example")), "{err:?}");
}

#[test]
fn conflicts_are_named() {
    let place = Place::empty();
    place.write("robots/a.example_80", "");
    place.write("robots/http_a.example_80", "User-agent: *\nDisallow: /\n");
    let ran = place.run("compile -o store.rsieve robots").is(0);
    for word in ["a.example_80", "http_a.example_80", "both answer for http://a.example"] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    assert_eq!(verdicts(&place, "store.rsieve", &["http://a.example/"]), ["allow"], "the first is kept");
}

#[test]
fn conflicts_name_the_files() {
    let place = Place::new();
    place.write("robots/example.com.txt", "");
    place.write("more/closed.example", "");
    let ran = place.run("compile -o store.rsieve robots more").is(0);
    for name in ["example.com.txt", "closed.example"] {
        let line = ran.err.lines().find(|line| line.contains("both answer") && line.contains(name)).unwrap_or_default();
        let (one, two) = line.trim_start_matches("robosieve: ").split_once(" and ").unwrap_or_default();
        assert!(!two.is_empty() && !two.starts_with(&format!("{one} ")), "which file is which? {}", ran.err);
    }
}

#[test]
fn nothing_to_compile_is_an_error_and_leaves_nothing() {
    let place = Place::empty();
    fs::create_dir(place.path("robots")).unwrap();
    place.run("compile -o store.rsieve robots").fails(&["nothing to compile"]);
    place.write("robots/not a host", "");
    place.run("compile -o store.rsieve robots").fails(&["nothing to compile", "not a host"]);
    assert_eq!(place.names(), ["robots"]);
}

#[test]
fn a_missing_folder_for_the_store_is_named() {
    let place = Place::new();
    place.run("compile -o none/store.rsieve robots").fails(&["none/store.rsieve"]);
    place.run("compile -o robots robots").fails(&["robots", "directory"]);
    assert_eq!(place.names(), ["robots", "robots.txt", "urls.txt"]);
}

#[test]
fn a_missing_folder_for_the_store_is_found_before_the_work() {
    let place = Place::new();
    place.write("robots/not a host", "");
    let ran = place.run("compile -o none/store.rsieve robots").fails(&["none/store.rsieve"]);
    assert!(!ran.err.contains("left out"), "the policies were read first: {}", ran.err);
}

#[test]
fn a_store_stays_when_compiling_fails() {
    let place = Place::with_store();
    let (before, names) = (place.read("store.rsieve"), place.names());
    fs::create_dir(place.path("empty")).unwrap();
    place.run("compile -o store.rsieve empty").fails(&["nothing to compile"]);
    place.run("compile -o store.rsieve robots none").fails(&["none"]);
    place.run("compile -o store.rsieve --byte-limit few robots").fails(&["--byte-limit"]);
    fs::remove_dir(place.path("empty")).unwrap();
    assert!(place.read("store.rsieve") == before && place.names() == names);
}

/// A directory that takes a while to compile.
fn write_large_directory(place: &Place) {
    for host in 0..150 {
        let rules: String = (0..300).map(|rule| format!("Disallow: /{}/*/{rule}-{host}\n", rule * 7919 % 1000)).collect();
        place.write(format!("large/h{host}.example"), format!("User-agent: *\n{rules}"));
    }
}

#[cfg(unix)]
#[test]
fn a_store_stays_when_compiling_is_killed() {
    use std::os::unix::process::ExitStatusExt;
    let place = Place::with_store();
    write_large_directory(&place);
    let before = place.read("store.rsieve");
    let answers = place.run("eval store.rsieve urls.txt --agent A -o -").is(0).out;
    let started = Instant::now();
    place.run("compile -o large.rsieve large").is(0);
    let (whole, takes) = (place.read("large.rsieve"), started.elapsed());
    let is_partial = |name: &String| name.ends_with(".partial");
    let mut killed = 0;
    for quarter in 1..=4 {
        let mut child = place.command("compile -o store.rsieve large").stderr(Stdio::null()).spawn().unwrap();
        let started = Instant::now();
        // The last one dies while it writes, if we can see it write.
        while started.elapsed() < takes * quarter / 4 && !(quarter == 4 && place.names().iter().any(is_partial)) {
            thread::sleep(Duration::from_micros(100));
        }
        child.kill().unwrap();
        match child.wait().unwrap().signal() {
            Some(_) => killed += 1,
            None => continue,
        }
        let now = place.read("store.rsieve");
        assert!(now == before || now == whole, "neither the old store nor the new one");
        if now == before {
            assert!(place.run("eval store.rsieve urls.txt --agent A -o -").is(0).out == answers);
        }
    }
    assert!(killed > 0, "every run ended before it was killed");
    for name in place.names().iter().filter(|name| is_partial(name)) {
        let is_whole = place.read(name) == whole;
        assert_eq!(place.run(&format!("eval {name} urls.txt --agent A")).code, Some(if is_whole { 0 } else { 2 }), "{name}");
    }
    place.run("compile -o store.rsieve large").is(0);
    assert!(place.read("store.rsieve") == whole);
}

#[test]
fn the_same_input_gives_the_same_octets() {
    let place = Place::empty();
    let sample = sample("robots");
    for (name, threads) in [("one", "--threads 1"), ("two", "--threads 2"), ("default", ""), ("again", "--threads 2")] {
        place.run_and(&format!("compile -o {name}.rsieve {threads}"), &[&sample]).is(0);
    }
    let one = place.read("one.rsieve");
    assert!(["two", "default", "again"].iter().all(|name| place.read(&format!("{name}.rsieve")) == one));
    place.run("compile -o none.rsieve --threads 0 .").fails(&["--threads"]);
}

#[test]
fn a_dash_is_a_stream_and_no_file() {
    let place = Place::with_store();
    let ran = place.run("compile -o - robots");
    assert!(!place.path("-").exists(), "a store of that name was made");
    assert!(ran.code == Some(2) || ran.out == place.read("store.rsieve"), "{}", ran.err);
}

#[test]
fn a_store_among_the_files_is_no_robots_txt() {
    let place = Place::new();
    place.run("compile -o robots/policies.rsieve robots").is(0);
    let first = place.read("robots/policies.rsieve");
    let ran = place.run("compile -o robots/policies.rsieve robots").is(0);
    assert!(place.read("robots/policies.rsieve") == first, "the store was taken for the robots.txt of a host: {}", ran.err);
}

#[test]
fn without_bodies_the_store_is_smaller_and_says_the_same() {
    let place = Place::with_store();
    place.run("compile -o lean.rsieve --no-bodies robots").is(0);
    assert!(place.read("lean.rsieve").len() < place.read("store.rsieve").len());
    let answers = |store: &str| place.run(&format!("eval {store} urls.txt --agent A --agent GPTBot -o - --output-format jsonl")).is(0).out;
    assert!(answers("lean.rsieve") == answers("store.rsieve"));
    assert!(place.run("inspect lean.rsieve").is(0).text().contains("bodies left out"));
    assert!(place.run("inspect store.rsieve").is(0).text().contains("bodies kept"));
}

#[test]
fn the_limit_of_octets() {
    let place = Place::empty();
    let body = "User-agent: *\nDisallow: /a\nDisallow: /b\n";
    place.write("robots/a.example", body);
    let (cut, whole) = (body.len() - 2, body.len());
    for (limit, second, findings) in [
        (cut.to_string(), "allow", "cut-line 1"),
        ((body.len() - 13).to_string(), "allow", "over-limit 1"),
        (whole.to_string(), "disallow", ""),
        ("none".to_owned(), "disallow", ""),
    ] {
        let ran = place.run(&format!("compile -o store.rsieve --byte-limit {limit} robots")).is(0);
        assert_eq!(verdicts(&place, "store.rsieve", &["http://a.example/a", "http://a.example/b"]), ["disallow", second], "{limit}");
        assert!(ran.err.contains(findings) && ran.err.contains("findings") != findings.is_empty(), "{limit}: {}", ran.err);
        let says = format!("limit {limit}");
        assert!(place.run("inspect store.rsieve").is(0).text().contains(&says), "{says}");
    }
    place.run("compile -o store.rsieve --byte-limit few robots").fails(&["--byte-limit", "none"]);
}

#[test]
fn a_scheme_without_a_port_is_no_host() {
    let place = Place::empty();
    place.write("d/https_example.com", "");
    place.write("d/example.com", "");
    let output = Command::new(env!("CARGO_BIN_EXE_robosieve"))
        .args(["compile", "-o", "s.rsieve", "d"])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(messages.contains("https_example.com_443") && messages.contains("1 files left out"), "{messages}");
}
