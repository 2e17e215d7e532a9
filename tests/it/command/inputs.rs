//! Several inputs and directories, in and out.

use super::*;

fn place() -> Place {
    let place = Place::with_store();
    place.write("lists/a.txt", "https://example.com/\nhttps://example.com/private/a\n");
    place.write("lists/deep/b.urls", "https://example.com/private/b\nhttps://unknown.test/\nhttps://example.com/c\n");
    place.write("lists/empty.txt", "");
    place.write("lists/README", "what these are\n");
    place.write("lists/_SUCCESS", "");
    place
}

#[test]
fn several_files_are_one_run() {
    let place = place();
    let ran = place.run("eval store.rsieve lists/a.txt lists/deep/b.urls --agent A --summary-json sum.json").is(0);
    assert!(ran.err.starts_with("5 rows in "), "{}", ran.err);
    let summary = place.json("sum.json");
    assert_eq!(summary["rows"], 5);
    assert_eq!(summary["files"][1]["file"], "lists/deep/b.urls");
    assert_eq!((&summary["files"][0]["rows"], &summary["files"][1]["rows"]), (&2.into(), &3.into()));
    let passing = place.run("filter store.rsieve lists/a.txt lists/deep/b.urls --agent A").is(0);
    assert_eq!(passing.text(), "https://example.com/\nhttps://example.com/c\n");
}

#[test]
fn a_directory_is_its_files_by_name() {
    let place = place();
    let ran = place.run("eval store.rsieve lists --agent A --summary-json sum.json").is(0);
    assert!(ran.err.contains("1 files in directories are left out") && ran.err.contains("lists/README"), "{}", ran.err);
    let names: Vec<_> = place.json("sum.json")["files"].as_array().unwrap().iter().map(|file| file["file"].clone()).collect();
    assert_eq!(names, ["lists/a.txt", "lists/deep/b.urls", "lists/empty.txt"]);
    let ran = place.run("eval store.rsieve lists --agent A --input-format lines").is(0);
    assert!(ran.err.starts_with("6 rows in "), "{}", ran.err);
    place.write("none/README", "");
    place.run("eval store.rsieve none --agent A").fails(&["none", "--input-format"]);
    place.run("eval store.rsieve nowhere lists --agent A").fails(&["nowhere"]);
    place.run("eval store.rsieve lists --agent A --input-format xml").fails(&["lines, csv, tsv, jsonl, arrow, arrows, parquet"]);
}

#[test]
fn a_directory_is_filtered_into_one_with_the_same_names() {
    let place = place();
    let ran = place.run("filter store.rsieve lists --agent A -o out/new --undecided rest.d/").is(0);
    assert_eq!(place.text("out/new/a.txt"), "https://example.com/\n");
    assert_eq!(place.text("out/new/deep/b.urls"), "https://example.com/c\n");
    assert_eq!(place.text("out/new/empty.txt"), "");
    assert_eq!(place.text("rest.d/deep/b.urls"), "https://unknown.test/\n");
    assert!(ran.err.contains("2 rows pass"), "{}", ran.err);
    // What is there already is written anew, or left as it is.
    place.write("out/new/a.txt", "old\n");
    fs::remove_file(place.path("out/new/deep/b.urls")).unwrap();
    let ran = place.run("filter store.rsieve lists --agent A -o out/new --resume").is(0);
    assert_eq!((&place.text("out/new/a.txt")[..], &place.text("out/new/deep/b.urls")[..]), ("old\n", "https://example.com/c\n"));
    assert!(ran.err.contains("2 files were left as they are") && ran.err.contains("3 rows in"), "{}", ran.err);
    // Where nothing is left to do, there is a summary all the same, of no rows.
    place.run("filter store.rsieve lists --agent A -o out/new --usage train-ai --resume --summary-json sum.json").is(0);
    let summary = place.json("sum.json");
    assert_eq!((&summary["rows"], &summary["kept"], &summary["files_resumed"]), (&0.into(), &0.into(), &3.into()));
    assert_eq!((&summary["agents"][0]["agent"], &summary["agents"][0]["allow"]), (&"A".into(), &0.into()));
    place.run("filter store.rsieve lists --agent A -o out/new").is(0);
    assert_eq!(place.text("out/new/a.txt"), "https://example.com/\n");
}

#[test]
fn outputs_that_can_not_be() {
    let place = place();
    place.write("other/a.txt", "https://example.com/\n");
    let filter = |rest: &str| place.run(&format!("filter store.rsieve {rest} --agent A"));
    filter("lists/a.txt other/a.txt -o out").fails(&["two inputs are called a.txt"]);
    filter("lists -o lists").fails(&["lists would be read and written to"]);
    filter("lists -o lists/deep").fails(&["would be read and written to"]);
    filter("lists -o out --undecided ./out").fails(&["two outputs"]);
    filter("lists other --resume").fails(&["--resume", "-o DIRECTORY"]);
    filter("- - --undecided drop").fails(&["standard input can be read only once"]);
    place.pipe("https://example.com/\n", "filter store.rsieve - lists -o out --agent A").fails(&["standard input", "no name"]);
    assert_eq!(place.text("lists/a.txt").lines().count(), 2, "an input is as it was");
}

#[test]
fn one_of_the_agents_is_enough() {
    let place = Place::new();
    place.write("robots/example.com", "User-agent: a\nDisallow: /a\n\nUser-agent: b\nDisallow: /b\n\nUser-agent: c\nDisallow: /");
    let list = ["a", "b", "c", "ab"].map(|path| format!("https://example.com/{path}\n")).concat() + "https://unknown.test/\n";
    let filter = |rest: &str| place.pipe(&list, &format!("filter robots - {rest}")).is(0).text().replace("https://", "");
    assert_eq!(filter("--agent a --agent b --require any"), "example.com/a\nexample.com/b\nexample.com/c\nexample.com/ab\n");
    assert_eq!(filter("--agent a --agent b --require all"), "example.com/c\n");
    assert_eq!(filter("--agent a --agent c --require any --undecided keep"), "example.com/b\nexample.com/c\nunknown.test/\n");
    assert_eq!(filter("--agent c --require any"), "");
}

#[test]
fn a_list_that_changes_while_it_is_read() {
    let place = Place::with_store();
    let line = "https://example.com/some/path/that/is/long/enough\n";
    place.write("list.txt", line.repeat(2_000_000));
    // The reader is held up by its output, a full pipe.
    for change in ["shorter", "written to", "gone"] {
        let mut child =
            place.command("filter store.rsieve list.txt --agent A").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        out.read_exact(&mut [0; 1000]).unwrap();
        let file = fs::OpenOptions::new().write(true).open(place.path("list.txt")).unwrap();
        match change {
            "shorter" => file.set_len(90_000_000).unwrap(),
            "gone" => file.set_len(0).unwrap(), // under the batch that is being written
            _ => (&file).write_all(b"https://example.org").unwrap(),
        }
        drop(file);
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).unwrap();
        let mut message = String::new();
        child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        assert_eq!(wait(&mut child), Some(2), "{message}");
        match change {
            "gone" => assert!(message.contains("became shorter"), "{message}"),
            _ => assert!(message.contains("list.txt: the file ") && message.contains(change), "{message}"),
        }
    }
}
