//! Writes `src/protocol/agent/registry.rs` from `data/crawlers.toml`.
//!
//!     cargo run -p robosieve-tools --bin registry              writes the table
//!     cargo run -p robosieve-tools --bin registry -- --check   exits 1 if the table is not what would be written

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Deserialize;

const INPUT: &str = "data/crawlers.toml";
const OUTPUT: &str = "src/protocol/agent/registry.rs";
const COMMAND: &str = "cargo run -p robosieve-tools --bin registry";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Registry {
    crawler: Vec<Crawler>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Crawler {
    token: String,
    operator: String,
    purpose: Purpose,
    source: String,
    #[serde(default)]
    fallback: Vec<String>,
    #[serde(default = "yes")]
    star: bool,
    #[serde(default)]
    never_in_header: bool,
    #[serde(default)]
    user_triggered: bool,
}

/// The variants are named as in `robosieve::agent::Purpose`, whose paths are made from their `Debug` form.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Purpose {
    Search,
    AiTraining,
    AiSearch,
    UserTriggered,
    Seo,
    Archive,
    Ads,
    Preview,
}

fn yes() -> bool {
    true
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => {
            eprintln!("usage: {COMMAND} [-- --check]");
            return ExitCode::from(2);
        }
    };
    match run(&root(), check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("registry: {message}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn run(root: &Path, check: bool) -> Result<(), String> {
    let text = fs::read_to_string(root.join(INPUT)).map_err(|error| format!("reading {INPUT}: {error}"))?;
    let registry: Registry = toml::from_str(&text).map_err(|error| format!("{INPUT}: {error}"))?;
    validate(&registry.crawler).map_err(|error| format!("{INPUT}: {error}"))?;
    let table = render(&registry.crawler);
    if check {
        compare(&root.join(OUTPUT), &table)
    } else {
        fs::write(root.join(OUTPUT), table).map_err(|error| format!("writing {OUTPUT}: {error}"))
    }
}

fn compare(path: &Path, table: &str) -> Result<(), String> {
    let current = fs::read_to_string(path).map_err(|error| format!("reading {OUTPUT}: {error}"))?;
    if current == table {
        return Ok(());
    }
    let same = current.lines().zip(table.lines()).take_while(|(a, b)| a == b).count();
    Err(format!("{OUTPUT} is not what {INPUT} gives (first difference in line {}); run `{COMMAND}`", same + 1))
}

fn validate(crawlers: &[Crawler]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for crawler in crawlers {
        let token = &crawler.token;
        if let Some(bad) = tokens(crawler).find(|token| !is_token(token)) {
            return Err(format!("{bad:?} is not a product token"));
        }
        if !seen.insert(token.to_ascii_lowercase()) {
            return Err(format!("{token} is listed twice"));
        }
        if crawler.fallback.iter().any(|other| other.eq_ignore_ascii_case(token)) {
            return Err(format!("{token} falls back to itself"));
        }
        if crawler.operator.is_empty() {
            return Err(format!("{token} has no operator"));
        }
        if !crawler.source.starts_with("https://") {
            return Err(format!("{token} has a source that is no https address"));
        }
    }
    Ok(())
}

fn tokens(crawler: &Crawler) -> impl Iterator<Item = &String> {
    std::iter::once(&crawler.token).chain(&crawler.fallback)
}

/// The header search relies on the last octet: there, a full stop after a token is punctuation.
fn is_token(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && text.bytes().all(legal) && !text.ends_with('.')
}

fn render(crawlers: &[Crawler]) -> String {
    let mut out = String::from(
        "// Generated from data/crawlers.toml by tools/; do not edit by hand.\n\n\
         use super::{Crawler, Purpose};\n\n\
         pub(crate) static CRAWLERS: &[Crawler] = &[\n",
    );
    for crawler in crawlers {
        render_crawler(&mut out, crawler);
    }
    out.push_str("];\n");
    out
}

fn render_crawler(out: &mut String, crawler: &Crawler) {
    out.push_str("    Crawler {\n");
    field(out, "token", &format!("{:?}", crawler.token));
    field(out, "operator", &format!("{:?}", crawler.operator));
    field(out, "purpose", &format!("Purpose::{:?}", crawler.purpose));
    field(out, "fallback", &format!("&{:?}", crawler.fallback));
    field(out, "star", &crawler.star.to_string());
    field(out, "never_in_header", &crawler.never_in_header.to_string());
    field(out, "user_triggered", &crawler.user_triggered.to_string());
    field(out, "source", &format!("{:?}", crawler.source));
    out.push_str("    },\n");
}

/// rustfmt never moves a string away from its field's name, however long the line becomes.
fn field(out: &mut String, name: &str, value: &str) {
    writeln!(out, "        {name}: {value},").expect("a String takes every write");
}
