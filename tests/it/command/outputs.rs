//! `outputs`.

use super::*;

#[test]
fn a_run_that_fails_leaves_the_old_file_and_nothing_else() {
    let place = Place::with_store();
    place.write("old.txt", "old\n");
    let names = place.names();
    for line in [
        "filter store.rsieve urls.txt --agent A --undecided error -o old.txt",
        "filter store.rsieve none.txt --agent A -o old.txt",
        "eval store.rsieve none.txt --agent A -o old.txt",
        "eval none.rsieve urls.txt --agent A -o old.txt",
    ] {
        place.run(line).is(2);
        assert_eq!((place.text("old.txt"), place.names()), ("old\n".to_owned(), names.clone()), "{line}");
    }
}

#[test]
fn a_file_is_replaced_only_when_it_is_complete() {
    let place = Place::with_store();
    place.write("out.txt", "old\n");
    for line in ["filter store.rsieve - --agent A -o out.txt", "eval store.rsieve - --agent A -o out.txt"] {
        place.write("out.txt", "old\n");
        let mut child = place.command(line).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // More than pipes and buffers hold: some of it has been through the command when the last octet is written.
        stdin.write_all(&b"https://example.com/\n".repeat(100_000)).unwrap();
        assert_eq!(place.text("out.txt"), "old\n", "{line}");
        drop(stdin);
        assert_eq!(wait(&mut child), Some(0));
        assert!(place.text("out.txt").lines().count() >= 100_000, "{line}");
    }
    assert!(place.names().iter().all(|name| !name.ends_with(".partial")), "{:?}", place.names());
}

#[test]
fn the_list_may_be_replaced_by_what_passes() {
    let place = Place::with_store();
    let passes = place.run("filter store.rsieve urls.txt --agent A").is(0).out;
    place.run("filter store.rsieve urls.txt --agent A -o urls.txt").is(0);
    assert!(place.read("urls.txt") == passes && passes.len() < URLS.len());
}

#[test]
fn every_output_is_opened_before_the_work() {
    let place = Place::with_store();
    place.write("out.txt", "old\n");
    for command in ["eval", "filter"] {
        let line = format!("{command} store.rsieve urls.txt --agent A -o out.txt --summary-json none/summary.json");
        let ran = place.run(&line).fails(&["none/summary.json"]);
        assert!(place.text("out.txt") == "old\n" && !ran.err.contains("rows in"), "{command} did the work first: {}", ran.err);
    }
}

#[test]
fn two_outputs_never_share_a_stream_or_a_file() {
    let place = Place::with_store();
    for line in [
        "filter store.rsieve urls.txt --agent A --summary-json -",
        "eval store.rsieve urls.txt --agent A -o - --summary-json -",
        "filter store.rsieve urls.txt --agent A -o out.txt --undecided out.txt",
        "filter store.rsieve urls.txt --agent A -o out.txt --undecided ./out.txt",
        "filter store.rsieve urls.txt --agent A --undecided -",
    ] {
        let ran = place.run(line);
        assert_eq!((ran.code, ran.text()), (Some(2), ""), "{line}: {}", ran.err);
    }
}

/// Ends the reader after the first line, as `head -1` does.
fn head(place: &Place, line: &str, input: &'static [u8]) -> (Option<i32>, String) {
    let mut command = place.command(line);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(input));
    let mut first = [0];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let err = lines_of(child.stderr.take().unwrap());
    let code = wait(&mut child);
    drop(writer.join().unwrap());
    (code, err.iter().collect::<Vec<_>>().join("\n"))
}

#[test]
fn a_broken_pipe_is_no_error() {
    let place = Place::with_store();
    place.write("long.txt", b"https://example.com/a/path/of/some/length\n".repeat(50_000));
    place.write("long-robots.txt", format!("User-agent: *\n{}", "Disallow: /a/path/of/some/length\n".repeat(10_000)));
    for line in [
        "filter store.rsieve long.txt --agent A",
        "filter store.rsieve long.txt --agent A --threads 1",
        "eval store.rsieve long.txt --agent A -o -",
        "eval store.rsieve long.txt --agent A -o - --output-format jsonl",
        "eval store.rsieve long.txt --agent A -o - --output-format arrow --with-url",
        "inspect long-robots.txt",
    ] {
        assert_eq!(head(&place, line, b""), (Some(0), String::new()), "{line}");
    }
    let urls: &[u8] = b"https://example.com/private/\n".repeat(20_000).leak();
    for format in ["text", "json"] {
        let line = format!("check --robots robots.txt --agent GPTBot --format {format}");
        assert_eq!(head(&place, &line, urls), (Some(0), String::new()), "{line}");
    }
}

#[test]
fn a_reader_of_messages_may_go_away() {
    let place = Place::with_store();
    place.write("robots/not a host", "");
    for (line, code) in [
        ("eval store.rsieve urls.txt --agent A -o out.jsonl", 0),
        ("filter store.rsieve urls.txt --agent A -o out.txt", 0),
        ("compile -o again.rsieve robots", 0),
        ("check --robots robots.txt --agent GTPBot/1 http://h/", 0),
        ("eval none.rsieve urls.txt --agent A", 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = place.command(line).stdout(Stdio::null()).stderr(writer).status().unwrap();
        assert_eq!(status.code(), Some(code), "{line}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_that_says_where() {
    let place = Place::with_store();
    for line in [
        "filter store.rsieve urls.txt --agent A",
        "eval store.rsieve urls.txt --agent A -o -",
        "eval store.rsieve urls.txt --agent A -o - --output-format arrow",
        "eval store.rsieve urls.txt --agent A --summary-json -",
        "check --robots robots.txt --agent A http://h/",
        "inspect store.rsieve",
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = place.command(line).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {err}");
        assert!(err.contains("standard output") && !err.contains("urls.txt:"), "{line}: {err}");
    }
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_written_to_and_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let place = Place::with_store();
    let pipe = place.path("pipe.txt");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    let read = lines_of(reader.stdout.take().unwrap());
    let mut child = place.command("filter store.rsieve urls.txt --agent A -o pipe.txt").stderr(Stdio::null()).spawn().unwrap();
    let code = wait(&mut child);
    let is_pipe = fs::metadata(&pipe).unwrap().file_type().is_fifo();
    if !is_pipe {
        reader.kill().unwrap();
    }
    reader.wait().unwrap();
    assert!(is_pipe, "the pipe was replaced by a file");
    assert_eq!((code, read.iter().count()), (Some(0), 4));
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link() {
    let place = Place::with_store();
    place.write("folder/real.txt", "old\n");
    std::os::unix::fs::symlink("folder/real.txt", place.path("link.txt")).unwrap();
    place.run("filter store.rsieve urls.txt --agent A -o link.txt").is(0);
    assert!(place.path("link.txt").is_symlink(), "the link was replaced by a file");
    assert_eq!(place.text("folder/real.txt").lines().count(), 4);
}

#[cfg(unix)]
#[test]
fn a_private_file_stays_private() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with_store();
    place.write("out.txt", "old\n");
    fs::set_permissions(place.path("out.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    place.run("filter store.rsieve urls.txt --agent A -o out.txt").is(0);
    assert_eq!(fs::metadata(place.path("out.txt")).unwrap().permissions().mode() & 0o777, 0o600);
}

/// The data is in its place before the summary is written, and only standard output's reader may go away without a word.
#[test]
fn a_summary_that_nobody_reads_costs_no_data() {
    let place = Place::new();
    place.write("robots.txt", ROBOTS);
    place.write("urls.txt", URLS);
    let script = format!(
        "{} filter robots.txt urls.txt --any-origin --agent x -o out.txt --summary-json - 2>/dev/null | true",
        env!("CARGO_BIN_EXE_robosieve")
    );
    assert!(Command::new("sh").arg("-c").arg(script).current_dir(place.0.path()).status().unwrap().success());
    assert!(fs::read_to_string(place.0.path().join("out.txt")).unwrap().contains("https://example.com/last"));
}

#[test]
fn standard_output_by_another_name_is_a_stream() {
    let place = Place::new();
    place.write("robots.txt", ROBOTS);
    place.write("urls.txt", URLS);
    place.write("all.txt", "before\n");
    let script = format!(
        "{{ {0} filter robots.txt urls.txt --any-origin --agent x -o /dev/stdout; echo after; }} >> all.txt 2>/dev/null",
        env!("CARGO_BIN_EXE_robosieve")
    );
    assert!(Command::new("sh").arg("-c").arg(script).current_dir(place.0.path()).status().unwrap().success());
    let all = fs::read_to_string(place.0.path().join("all.txt")).unwrap();
    assert!(all.starts_with("before\nhttps://example.com/\n") && all.ends_with("after\n"), "{all}");
}

#[test]
fn what_is_read_is_not_replaced() {
    let place = Place::new();
    place.write("robots.txt", ROBOTS);
    place.write("urls.txt", URLS);
    place.write("agents.txt", "x\n");
    for arguments in [
        ["filter", "robots.txt", "urls.txt", "--any-origin", "--agent", "x", "-o", "./robots.txt"],
        ["filter", "robots.txt", "urls.txt", "--any-origin", "--agent-file", "agents.txt", "-o", "agents.txt"],
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_robosieve")).args(arguments).current_dir(place.0.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("would replace"), "{output:?}");
    }
    fs::create_dir(place.0.path().join("d")).unwrap();
    place.write("d/h.example", ROBOTS);
    let compile =
        Command::new(env!("CARGO_BIN_EXE_robosieve")).args(["compile", "-o", "d/h.example", "d"]).current_dir(place.0.path()).output();
    assert_eq!(compile.unwrap().status.code(), Some(2));
    assert_eq!(fs::read_to_string(place.0.path().join("d/h.example")).unwrap(), ROBOTS);
    assert_eq!(fs::read_to_string(place.0.path().join("robots.txt")).unwrap(), ROBOTS);
}

#[test]
fn a_comment_that_begins_like_a_label_is_no_store() {
    let place = Place::new();
    place.write("robots.txt", format!("#RSVP by mail\n{ROBOTS}"));
    let output = Command::new(env!("CARGO_BIN_EXE_robosieve"))
        .args(["check", "--robots", "robots.txt", "--agent", "GPTBot", "https://example.com/"])
        .current_dir(place.0.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn threads_have_a_bound() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_robosieve")).args(["eval", "a", "b", "--agent", "x", "--threads", "4000"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 to 256"), "{output:?}");
}
