//! Every command of the README runs, and prints what the README shows.
//!
//! `README_UPDATE=1 cargo test --test it readme` writes what the commands print into the README.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// A command of a `console` block and what the block shows of its output.
struct Shown {
    command: String,
    output: Vec<String>,
}

fn shown(readme: &str) -> Vec<Shown> {
    let mut found: Vec<Shown> = Vec::new();
    let mut inside = false;
    for line in readme.lines() {
        match line {
            "```console" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ => match line.strip_prefix("$ ") {
                Some(command) => found.push(Shown { command: command.to_owned(), output: Vec::new() }),
                None => found.last_mut().expect("a block begins with a command").output.push(line.to_owned()),
            },
        }
    }
    found
}

/// The command as the test runs it: the binary just built, and a file instead of a site.
fn runnable(command: &str) -> String {
    let site = format!("file://{}", root().join("data/sample/robots/www.example.com").display());
    command.replace("cargo run --release --", "robosieve").replace("https://example.com/robots.txt", &site)
}

fn run(command: &str, folder: &Path) -> (i32, Vec<String>) {
    let binary = Path::new(env!("CARGO_BIN_EXE_robosieve")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let script = format!("{{ {command}; }} 2>&1");
    let output = Command::new("sh").arg("-c").arg(script).current_dir(folder).env("PATH", path).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text.lines().map(str::to_owned).collect())
}

/// A line without what differs from run to run: seconds and rates.
fn steady(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let steady = words.iter().enumerate().map(|(index, word)| {
        let is_time = word.parse::<f64>().is_ok() && words.get(index + 1).is_some_and(|next| *next == "s");
        let is_rate = word.starts_with('(') && word.ends_with("/s),");
        if is_time || is_rate { "…" } else { word }
    });
    steady.collect::<Vec<_>>().join(" ")
}

/// What every machine prints for a benchmark: the words of each line, and of a table of verdicts its counts. Lines that name instruction sets or
/// threads are this machine's own.
fn check_bench(shown: &[String], printed: &[String]) {
    let is_figure = |word: &&str| word.contains(|c: char| c.is_ascii_digit());
    let kept = |lines: &[String]| -> Vec<String> {
        let own = ["machine ", "engine, ", "robosieve"];
        let lines = lines.iter().filter(|line| *line != "…" && !own.iter().any(|start| line.starts_with(start)));
        let mut in_verdicts = false;
        lines
            .map(|line| {
                in_verdicts = line.starts_with("verdicts ") || in_verdicts && !line.is_empty();
                let words = line.split_whitespace().filter(|word| in_verdicts || !is_figure(word));
                words.collect::<Vec<_>>().join(" ")
            })
            .collect()
    };
    let (shown, printed) = (kept(shown), kept(printed));
    assert!(shown.len() > 10, "the README shows a benchmark");
    assert_eq!(shown, printed[..shown.len().min(printed.len())]);
}

fn with_sample() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(root().join("data"), folder.path().join("data")).unwrap();
    folder
}

#[test]
fn every_command_prints_what_the_readme_shows() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let folder = with_sample();
    let mut updated = readme.clone();
    let commands = shown(&readme);
    assert!(commands.len() >= 8);
    for Shown { command, output } in commands {
        let (code, mut lines) = run(&runnable(&command), folder.path());
        assert!(code == 0 || (code == 1 && command.contains(" check ")), "{command}: exit {code}\n{}", lines.join("\n"));
        if command.starts_with("curl") {
            assert!(lines[0].starts_with("verdict") && lines.len() == 2, "{command}: {lines:?}");
            continue;
        }
        if command.contains(" bench ") {
            check_bench(&output, &lines);
            continue;
        }
        if output.last().is_some_and(|last| last == "…") {
            lines.truncate(output.len() - 1); // the README shows the beginning
            lines.push("…".to_owned());
        }
        let block = |lines: &[String]| lines.iter().fold(format!("$ {command}\n"), |block, line| block + line + "\n");
        updated = updated.replace(&block(&output), &block(&lines));
        if std::env::var_os("README_UPDATE").is_none() {
            let [shown, printed] = [output, lines].map(|lines| lines.iter().map(|line| steady(line)).collect::<Vec<_>>());
            assert_eq!(shown, printed, "{command}");
        }
    }
    if std::env::var_os("README_UPDATE").is_some() {
        fs::write(root().join("README.md"), updated).unwrap();
    }
}

/// What the README says of cargo is what the gate runs.
#[test]
fn the_cargo_commands_are_in_the_gate() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let gate = fs::read_to_string(root().join(".ci/run")).unwrap();
    let first = shown(&readme).remove(0).command;
    for command in ["cargo test", "cargo install --path .", &first] {
        assert!(readme.contains(command), "the README names {command}");
        assert!(gate.lines().any(|line| line.trim().starts_with(command)), "the gate runs {command}");
    }
}

/// Every option that the guide and the README name exists.
#[test]
fn options_named_in_documents_exist() {
    let helps: String = ["check", "compile", "eval", "filter", "inspect", "agents", "explain", "diff", "lint", "origins", "bench"]
        .iter()
        .map(|subcommand| run(&format!("robosieve {subcommand} --help"), &root()).1.join("\n"))
        .collect();
    for document in ["README.md", "docs/GUIDE.md", "docs/COLUMNS.md", "docs/DIALECTS.md"] {
        let text = fs::read_to_string(root().join(document)).unwrap();
        let commands = text.split('`').filter(|code| code.contains("--")).flat_map(|code| code.split_whitespace());
        for option in commands.filter(|word| word.starts_with("--") && word.len() > 3) {
            let known = helps.contains(option.trim_end_matches([',', '.', ')', '\'']))
                || ["--release", "--path", "--max-redirs", "--max-time"].contains(&option);
            assert!(known, "{document} names {option}");
        }
    }
}
