//! Writes a workload to measure on: robots.txt policies and a list of URLs, the same on every machine.
//!
//! `cargo run --release --package robosieve-tools --bin workload -- --class L --rows 1000000 DIR`

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[path = "../../../benches/random/mod.rs"]
mod random;
#[path = "../../../benches/workload/mod.rs"]
mod workload;

use workload::{Shape, Workload, generate};

const USAGE: &str = "\
usage: workload [OPTION...] DIR

Writes DIR/robots/HOST, a robots.txt for each origin, and DIR/urls.txt, a URL a line. The same options make the same files everywhere.

  --class NAME     S (6 rules), M (60 rules in 4 groups), L (1,000 in 30), R (5,500 in one); what follows changes it [M]
  --rules N        rules a policy
  --groups N       groups a policy, the first for *
  --wildcards N    rules with a star among them
  --floating N     of a hundred of those, how many begin with it
  --allowing N     of a hundred rules, how many allow
  --rows N         URLs
  --matching N     of a hundred URLs, how many are made from a rule
  --origins N      origins, each with a policy of its own
  --run N          rows of one origin that follow each other, on average
  --seed N         another seed, another workload
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let (shape, folder) = match parse(&arguments) {
        Ok(parsed) => parsed,
        Err(message) => {
            eprintln!("workload: {message}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match write(&generate(&shape), &folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("workload: {}: {error}", folder.display());
            ExitCode::from(2)
        }
    }
}

fn parse(arguments: &[String]) -> Result<(Shape, PathBuf), String> {
    let class = arguments.iter().position(|argument| argument == "--class");
    let class = class.map_or(Ok("M"), |at| arguments.get(at + 1).map(String::as_str).ok_or("--class needs a name".to_owned()))?;
    let mut shape = Shape::class(class).ok_or_else(|| format!("no class is called {class}: S, M, L or R"))?;
    let mut folder = None;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if !argument.starts_with('-') {
            if folder.replace(PathBuf::from(argument)).is_some() {
                return Err(format!("{argument}: one folder is enough"));
            }
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("{argument} needs a value"))?;
        if argument != "--class" {
            set(&mut shape, argument, value)?;
        }
    }
    Ok((sound(shape)?, folder.ok_or("no folder is named")?))
}

fn set(shape: &mut Shape, option: &str, value: &str) -> Result<(), String> {
    let number: u64 = value.parse().map_err(|_| format!("{option} {value}: that is no number"))?;
    let place = match option {
        "--rules" => &mut shape.rules,
        "--groups" => &mut shape.groups,
        "--wildcards" => &mut shape.wildcards,
        "--floating" => &mut shape.floating,
        "--allowing" => &mut shape.allowing,
        "--rows" => &mut shape.rows,
        "--matching" => &mut shape.matching,
        "--origins" => &mut shape.origins,
        "--run" => &mut shape.run,
        "--seed" => {
            shape.seed = number;
            return Ok(());
        }
        _ => return Err(format!("{option} is no option")),
    };
    *place = usize::try_from(number).map_err(|_| format!("{option} {value}: that is too much"))?;
    Ok(())
}

fn sound(shape: Shape) -> Result<Shape, String> {
    for (option, share) in [("--floating", shape.floating), ("--allowing", shape.allowing), ("--matching", shape.matching)] {
        if share > 100 {
            return Err(format!("{option} {share}: a share of a hundred is at most 100"));
        }
    }
    for (option, count) in [("--groups", shape.groups), ("--origins", shape.origins), ("--run", shape.run)] {
        if count == 0 {
            return Err(format!("{option} 0: at least 1"));
        }
    }
    if shape.wildcards > shape.rules {
        return Err(format!("--wildcards {}: there are but {} rules", shape.wildcards, shape.rules));
    }
    Ok(shape)
}

fn write(workload: &Workload, folder: &Path) -> io::Result<()> {
    let robots = folder.join("robots");
    fs::create_dir_all(&robots)?;
    for policy in &workload.policies {
        fs::write(robots.join(&policy.host), &policy.robots)?;
    }
    fs::write(folder.join("urls.txt"), &workload.urls)?;
    let (origins, rows) = (workload.policies.len(), workload.urls.lines().count());
    println!("{}: {origins} robots.txt, {rows} URLs", folder.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::workload::group_ranges;

    fn parsed(line: &str) -> Result<(Shape, PathBuf), String> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options() {
        let (shape, folder) = parsed("--rows 7 out --class L --seed 18446744073709551615").unwrap();
        assert_eq!((shape.rows, shape.rules, shape.seed, folder), (7, 1_000, u64::MAX, PathBuf::from("out")));
        assert_eq!(parsed("out").unwrap().0, Shape::class("M").unwrap());
    }

    #[test]
    fn what_is_refused_is_named() {
        for (line, part) in [
            ("", "folder"),
            ("a b", "b: one"),
            ("out --rows", "--rows"),
            ("out --rows x", "--rows x"),
            ("out --nothing 1", "--nothing"),
            ("out --class X", "X"),
            ("out --class", "--class"),
            ("out --matching 101", "--matching 101"),
            ("out --origins 0", "--origins 0"),
            ("out --class S --wildcards 7", "--wildcards 7"),
        ] {
            let message = parsed(line).unwrap_err();
            assert!(message.contains(part), "{line}: {message}");
        }
    }

    #[test]
    fn files_are_those_of_the_workload() {
        let folder = std::env::temp_dir().join(format!("workload-{}", std::process::id()));
        let (shape, _) = parsed("out --origins 3 --rows 9").unwrap();
        let workload = generate(&shape);
        write(&workload, &folder).unwrap();
        let written = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(written("urls.txt"), workload.urls);
        assert!(workload.policies.iter().all(|policy| written(&format!("robots/{}", policy.host)) == policy.robots));
        fs::remove_dir_all(&folder).unwrap();
    }

    fn policy(name: &str) -> String {
        let shape = Shape { rows: 0, ..Shape::class(name).unwrap() };
        generate(&shape).policies.remove(0).robots
    }

    fn count(text: &str, is: impl Fn(&str) -> bool) -> usize {
        text.lines().filter(|line| is(line)).count()
    }

    #[test]
    fn classes_are_as_large_as_they_say() {
        for (name, rules, groups, stars) in [("S", 6, 1, 0), ("M", 60, 4, 12), ("L", 1_000, 30, 297), ("R", 5_500, 1, 0)] {
            let text = policy(name);
            let is_rule = |line: &str| line.starts_with("Allow: ") || line.starts_with("Disallow: ");
            assert_eq!(count(&text, is_rule), rules, "{name}");
            assert_eq!(count(&text, |line| line.starts_with("User-agent: ")), groups, "{name}");
            assert_eq!(count(&text, |line| is_rule(line) && line.contains('*')), stars, "{name}");
        }
        assert_eq!(Shape::class("X"), None);
    }

    #[test]
    fn groups_hold_all_rules() {
        for (rules, groups) in [(6, 1), (60, 4), (1_000, 30), (10, 2), (3, 3), (0, 2), (40, 100)] {
            let ranges = group_ranges(rules, groups);
            assert_eq!((ranges[0].start, ranges[groups - 1].end), (0, rules));
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
        }
    }

    #[test]
    fn patterns_are_distinct() {
        let text = policy("R");
        let rules: HashSet<&str> = text.lines().filter_map(|line| line.split_once("llow: ")).map(|(_, value)| value).collect();
        assert_eq!(rules.len(), 5_500);
    }

    #[test]
    fn a_seed_is_a_workload() {
        let shape = Shape { rows: 500, origins: 7, run: 3, ..Shape::class("M").unwrap() };
        let workload = generate(&shape);
        assert_eq!(workload, generate(&shape));
        assert_ne!(workload, generate(&Shape { seed: 2, ..shape.clone() }));
        assert_eq!((workload.policies.len(), workload.urls.lines().count()), (7, 500));
        let hosts: HashSet<&str> = workload.policies.iter().map(|policy| policy.host.as_str()).collect();
        assert_eq!(hosts.len(), 7);
        assert!(workload.urls.lines().all(|url| hosts.contains(url.split('/').nth(2).unwrap())));
    }

    #[test]
    fn urls_look_like_urls() {
        let urls = generate(&Shape { rows: 20_000, ..Shape::class("M").unwrap() }).urls;
        let mean = urls.len() / 20_000;
        assert!((60..=90).contains(&mean), "{mean} octets a row");
        let url = |line: &str| {
            line.starts_with("https://www.shop.example/") && line.bytes().all(|octet| octet.is_ascii_graphic()) && !line.contains('*')
        };
        assert_eq!(urls.lines().find(|line| !url(line)), None);
        let distinct: HashSet<&str> = urls.lines().collect();
        assert!(distinct.len() > 17_000, "{}", distinct.len());
    }
}
