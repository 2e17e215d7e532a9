//! Writes `src/protocol/agent/registry.rs` from `data/crawlers.toml`.
//!
//!     cargo run -p robosieve-tools --bin registry              writes the table
//!     cargo run -p robosieve-tools --bin registry -- --check   exits 1 if the table is not what would be written

use std::collections::{HashMap, HashSet};
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
    preset: Vec<Preset>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Crawler {
    token: String,
    operator: String,
    purpose: Purpose,
    source: String,
    #[serde(default)]
    header: Vec<String>,
    #[serde(default)]
    carries: Vec<String>,
    #[serde(default)]
    fallback: Vec<String>,
    #[serde(default = "yes")]
    star: bool,
    #[serde(default)]
    never_in_header: bool,
    #[serde(default)]
    user_triggered: bool,
    note: Option<String>,
    example: Option<String>,
    #[serde(default)]
    listed: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Preset {
    name: String,
    about: String,
    #[serde(default)]
    purposes: Vec<Purpose>,
    #[serde(default)]
    members: Vec<String>,
    #[serde(default)]
    all: bool,
    source: Option<String>,
}

/// The variants are named as in `robosieve::agent::Purpose`, whose paths are made from their `Debug` form.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
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
    Data,
    Research,
    Tool,
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
    validate(&registry).map_err(|error| format!("{INPUT}: {error}"))?;
    let table = render(&registry);
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

/// Lists of others that may stand in for an operator's page, all under the MIT licence.
const LISTS: [&str; 2] = ["https://github.com/monperrus/crawler-user-agents", "https://github.com/ai-robots-txt/ai.robots.txt"];

fn validate(registry: &Registry) -> Result<(), String> {
    let mut seen = HashSet::new();
    for crawler in &registry.crawler {
        if !seen.insert(crawler.token.to_ascii_lowercase()) {
            return Err(format!("{} is listed twice", crawler.token));
        }
    }
    let by_token: HashMap<&str, &Crawler> = registry.crawler.iter().map(|crawler| (&crawler.token[..], crawler)).collect();
    for crawler in &registry.crawler {
        let checks = [check_tokens(crawler, &by_token), check_needles(crawler), check_text(crawler)];
        checks.into_iter().collect::<Result<(), _>>().map_err(|error| format!("{}: {error}", crawler.token))?;
    }
    validate_needles(&registry.crawler)?;
    validate_presets(&registry.preset, &by_token)
}

fn check_tokens(crawler: &Crawler, by_token: &HashMap<&str, &Crawler>) -> Result<(), String> {
    if !is_token(&crawler.token) {
        return Err("not a product token".to_owned());
    }
    for other in crawler.fallback.iter().chain(&crawler.carries) {
        let known = by_token.get(&other[..]).ok_or_else(|| format!("{other} is no crawler of this file"))?;
        let is_own = known.operator == crawler.operator;
        if known.token == crawler.token || (is_own && crawler.carries.contains(other)) {
            return Err(format!("{other} is its own: a fallback is another token, and `carries` is for other operators"));
        }
    }
    Ok(())
}

fn check_needles(crawler: &Crawler) -> Result<(), String> {
    let is_needle = |needle: &String| {
        let ends_in_token = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        needle.is_ascii() && ends_in_token(needle.bytes().next()) && ends_in_token(needle.bytes().last()) && !needle.ends_with('.')
    };
    if let Some(bad) = crawler.header.iter().find(|needle| !is_needle(needle)) {
        return Err(format!("{bad:?} can not be sought in headers: it must begin and end with an octet of a token"));
    }
    if crawler.never_in_header && !(crawler.header.is_empty() && crawler.carries.is_empty() && crawler.example.is_none()) {
        return Err("no header carries the token, so there is none to describe".to_owned());
    }
    Ok(())
}

fn check_text(crawler: &Crawler) -> Result<(), String> {
    if crawler.operator.is_empty() {
        return Err("no operator".to_owned());
    }
    if !is_address(&crawler.source) {
        return Err("the source is no https address".to_owned());
    }
    if crawler.listed != LISTS.contains(&&crawler.source[..]) {
        return Err(format!("`listed` says whether the source is one of {}", LISTS.join(", ")));
    }
    match (&crawler.purpose, crawler.user_triggered) {
        (Purpose::UserTriggered, false) => Err("of purpose user-triggered, and not `user_triggered`".to_owned()),
        _ => Ok(()),
    }
}

/// A needle names one crawler.
fn validate_needles(crawlers: &[Crawler]) -> Result<(), String> {
    let mut seen = HashMap::new();
    for crawler in crawlers {
        for needle in needles(crawler) {
            if let Some(other) = seen.insert(needle.to_ascii_lowercase(), &crawler.token) {
                return Err(format!("{needle:?} would stand for {other} and for {}", crawler.token));
            }
        }
    }
    Ok(())
}

fn validate_presets(presets: &[Preset], by_token: &HashMap<&str, &Crawler>) -> Result<(), String> {
    let mut seen = HashSet::new();
    for preset in presets {
        let name = &preset.name;
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') {
            return Err(format!("{name:?} is no name of a preset: small letters and hyphens"));
        }
        if !seen.insert(name) {
            return Err(format!("preset {name} is there twice"));
        }
        if [!preset.purposes.is_empty(), !preset.members.is_empty(), preset.all].into_iter().filter(|&way| way).count() != 1 {
            return Err(format!("preset {name}: give one of `purposes`, `members` and `all`"));
        }
        if let Some(member) = preset.members.iter().find(|member| *member != "*" && !by_token.contains_key(&member[..])) {
            return Err(format!("preset {name}: {member} is no crawler of this file"));
        }
        if (1..preset.members.len()).any(|index| preset.members[..index].contains(&preset.members[index])) {
            return Err(format!("preset {name} holds a member twice"));
        }
        if preset.about.is_empty() || preset.source.as_deref().is_some_and(|source| !is_address(source)) {
            return Err(format!("preset {name}: `about` is empty or `source` is no https address"));
        }
    }
    Ok(())
}

fn is_address(text: &str) -> bool {
    text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_graphic()))
}

/// The header search relies on the last octet: there, a full stop after a token is punctuation.
fn is_token(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && text.bytes().all(legal) && !text.ends_with('.')
}

/// What a header carries of the crawler.
fn needles(crawler: &Crawler) -> &[String] {
    match (crawler.never_in_header, &crawler.header[..]) {
        (true, _) => &[],
        (false, []) => std::slice::from_ref(&crawler.token),
        (false, given) => given,
    }
}

fn render(registry: &Registry) -> String {
    let mut out = String::from(
        "// Generated from data/crawlers.toml by tools/; do not edit by hand.\n\n\
         use super::{Crawler, Preset, Purpose};\n\n\
         #[rustfmt::skip]\n\
         pub(crate) static CRAWLERS: &[Crawler] = &[\n",
    );
    for crawler in &registry.crawler {
        render_crawler(&mut out, crawler);
    }
    out.push_str("];\n\n#[rustfmt::skip]\npub(crate) static PRESETS: &[Preset] = &[\n");
    for preset in &registry.preset {
        out.push_str("    Preset {\n");
        field(&mut out, "name", &format!("{:?}", preset.name));
        field(&mut out, "about", &format!("{:?}", preset.about));
        render_members(&mut out, &members(preset, &registry.crawler));
        field(&mut out, "source", &format!("{:?}", preset.source));
        out.push_str("    },\n");
    }
    out.push_str("];\n");
    out
}

fn members<'a>(preset: &'a Preset, crawlers: &'a [Crawler]) -> Vec<&'a String> {
    let is_in = |crawler: &&Crawler| preset.all || preset.purposes.contains(&crawler.purpose);
    preset.members.iter().chain(crawlers.iter().filter(is_in).map(|crawler| &crawler.token)).collect()
}

fn render_members(out: &mut String, members: &[&String]) {
    out.push_str("        tokens: &[\n");
    for member in members {
        writeln!(out, "            {member:?},").expect("a String takes every write");
    }
    out.push_str("        ],\n");
}

fn render_crawler(out: &mut String, crawler: &Crawler) {
    out.push_str("    Crawler {\n");
    field(out, "token", &format!("{:?}", crawler.token));
    field(out, "operator", &format!("{:?}", crawler.operator));
    field(out, "purpose", &format!("Purpose::{:?}", crawler.purpose));
    field(out, "header", &format!("&{:?}", needles(crawler)));
    field(out, "carries", &format!("&{:?}", crawler.carries));
    field(out, "fallback", &format!("&{:?}", crawler.fallback));
    field(out, "star", &crawler.star.to_string());
    field(out, "never_in_header", &crawler.never_in_header.to_string());
    field(out, "user_triggered", &crawler.user_triggered.to_string());
    field(out, "note", &format!("{:?}", crawler.note));
    field(out, "example", &format!("{:?}", crawler.example));
    field(out, "source", &format!("{:?}", crawler.source));
    field(out, "listed", &crawler.listed.to_string());
    out.push_str("    },\n");
}

fn field(out: &mut String, name: &str, value: &str) {
    writeln!(out, "        {name}: {value},").expect("a String takes every write");
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"
        [[crawler]]
        token = "ABot"
        operator = "A"
        purpose = "search"
        source = "https://a.example/bot"

        [[crawler]]
        token = "BBot"
        operator = "B"
        purpose = "user-triggered"
        header = ["B Bot", "BBot/2"]
        carries = ["ABot"]
        fallback = ["ABot"]
        user_triggered = true
        source = "https://b.example/bot"

        [[preset]]
        name = "some"
        about = "Some"
        members = ["BBot", "*"]
    "#;

    fn check(text: &str) -> Result<String, String> {
        let registry: Registry = toml::from_str(text).map_err(|error| error.to_string())?;
        validate(&registry).map(|()| render(&registry))
    }

    #[test]
    fn a_table_is_written() {
        let table = check(GOOD).unwrap();
        for part in [
            "token: \"ABot\",\n",
            "header: &[\"ABot\"],\n",
            "header: &[\"B Bot\", \"BBot/2\"],\n",
            "purpose: Purpose::UserTriggered,\n",
            "tokens: &[\n            \"BBot\",\n            \"*\",\n        ],\n",
        ] {
            assert!(table.contains(part), "{part}: {table}");
        }
    }

    #[test]
    fn purposes_and_all_are_members_in_order() {
        let all = check(&GOOD.replace("members = [\"BBot\", \"*\"]", "all = true")).unwrap();
        assert!(all.contains("tokens: &[\n            \"ABot\",\n            \"BBot\",\n        ],\n"), "{all}");
        let some = check(&GOOD.replace("members = [\"BBot\", \"*\"]", "purposes = [\"search\"]")).unwrap();
        assert!(some.contains("tokens: &[\n            \"ABot\",\n        ],\n"), "{some}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, word) in [
            ("token = \"ABot\"", "token = \"bbot\"", "listed twice"),
            ("token = \"ABot\"", "token = \"A Bot\"", "not a product token"),
            ("operator = \"A\"", "operator = \"\"", "no operator"),
            ("operator = \"A\"", "operator = \"B\"", "is its own"),
            ("https://a.example/bot", "http://a.example/bot", "https"),
            ("https://a.example/bot", LISTS[0], "listed"),
            ("https://a.example/bot\"", "https://a.example/bot\"\nlisted = true", "listed"),
            ("fallback = [\"ABot\"]", "fallback = [\"CBot\"]", "CBot is no crawler"),
            ("fallback = [\"ABot\"]", "fallback = [\"BBot\"]", "is its own"),
            ("carries = [\"ABot\"]", "carries = [\"CBot\"]", "CBot is no crawler"),
            ("user_triggered = true", "user_triggered = false", "user-triggered"),
            ("user_triggered = true", "user_triggered = true\nnever_in_header = true", "no header"),
            ("\"B Bot\"", "\"\"", "can not be sought"),
            ("\"B Bot\"", "\" Bot\"", "can not be sought"),
            ("\"B Bot\"", "\"Bot(\"", "can not be sought"),
            ("\"B Bot\"", "\"abot\"", "would stand for"),
            ("members = [\"BBot\", \"*\"]", "members = [\"CBot\"]", "CBot is no crawler"),
            ("members = [\"BBot\", \"*\"]", "members = [\"*\", \"*\"]", "twice"),
            ("members = [\"BBot\", \"*\"]", "", "give one of"),
            ("members = [\"BBot\", \"*\"]", "members = [\"BBot\"]\nall = true", "give one of"),
            ("name = \"some\"", "name = \"Some\"", "no name of a preset"),
            ("about = \"Some\"", "about = \"\"", "`about` is empty"),
            ("about = \"Some\"", "about = \"Some\"\nsource = \"a.example\"", "https"),
            ("purpose = \"search\"", "purpose = \"spam\"", "spam"),
            ("purpose = \"search\"", "purpose = \"search\"\nkind = \"x\"", "kind"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let error = check(&GOOD.replacen(from, to, 1)).expect_err(to);
            assert!(error.contains(word), "{word:?}: {error}");
        }
    }
}
