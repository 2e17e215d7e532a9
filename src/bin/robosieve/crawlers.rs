//! `agents`: the well-known crawlers and the presets, listed and explained.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use robosieve::agent::{Agent, Crawler, Identified, Mention, Preset, Purpose, crawlers, identify, lookup, mentions, presets};
use robosieve::io::json::line;
use robosieve::io::text::to_terminal_text;

use crate::agents::find_preset;
use crate::args::{CrawlersArgs, Format};
use crate::exit::{Exit, Failure};
use crate::output::Output;

pub fn run(args: &CrawlersArgs) -> Result<Exit, Failure> {
    let mut out = Output::create(Path::new("-"))?;
    let (names, tokens): (Vec<&String>, Vec<&String>) = args.names.iter().partition(|name| name.starts_with('@'));
    if !args.headers.is_empty() {
        args.headers.iter().try_for_each(|header| explain_header(header, args.format, &mut out))?;
    } else if args.presets {
        list_presets(args.format, &mut out)?;
    } else if tokens.is_empty() {
        let names = names.into_iter().chain(&args.preset);
        let chosen = names.map(|name| find_preset(name)).collect::<Result<Vec<_>, _>>()?;
        list(&chosen, &args.purpose, args.format, &mut out)?;
    } else if names.is_empty() && args.preset.is_empty() && args.purpose.is_empty() {
        let chosen = tokens.into_iter().map(|token| find(token)).collect::<Result<Vec<_>, _>>()?;
        explain(&chosen, args.format, &mut out)?;
    } else {
        return Err(Failure::new("give tokens to explain, or presets and purposes to list, not both"));
    }
    out.commit()?;
    Ok(Exit::Done)
}

/// The crawler with this token, or an error that names those which look like it.
fn find(text: &str) -> Result<&'static Crawler, Failure> {
    let agent = Agent::token(text)?;
    if let Some(crawler) = lookup(agent.name()) {
        return Ok(crawler);
    }
    let near = near(agent.name());
    let hint = match near.is_empty() {
        true => "`robosieve agents` lists those it knows; any other token can be asked for all the same".to_owned(),
        false => format!("did you mean {}?", near.join(", ")),
    };
    Err(Failure::new(format!("no crawler {:?} in the registry: {hint}", agent.name())))
}

/// At most five tokens that look like `name`, the nearest first.
fn near(name: &str) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase();
    let mut found: Vec<(usize, &str)> = Vec::new();
    for crawler in crawlers() {
        let token = crawler.token.to_ascii_lowercase();
        let is_part = name.len() >= 3 && (token.contains(&name) || (token.len() >= 4 && name.contains(&token)));
        let changes = changes(name.as_bytes(), token.as_bytes());
        if is_part || changes <= 1 + name.len() / 5 {
            found.push((changes, crawler.token));
        }
    }
    found.sort_by_key(|&(changes, _)| changes);
    found.into_iter().take(5).map(|(_, token)| token).collect()
}

/// How many octets must be put in, left out or replaced to make `to` of `from` (Levenshtein), a row of the table at a time.
fn changes(from: &[u8], to: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (line, octet) in (1..).zip(from) {
        let mut diagonal = std::mem::replace(&mut row[0], line);
        for column in 1..=to.len() {
            let replaced = diagonal + usize::from(to[column - 1] != *octet);
            diagonal = row[column];
            row[column] = replaced.min(diagonal + 1).min(row[column - 1] + 1);
        }
    }
    row[to.len()]
}

/// The crawlers of any of the presets, if there are some, and of any of the purposes, if there are some.
fn list(chosen: &[&Preset], purposes: &[Purpose], format: Format, out: &mut impl Write) -> Result<(), Failure> {
    let tokens: Vec<&str> = match chosen {
        [] => crawlers().iter().map(|crawler| crawler.token).collect(),
        presets => presets.iter().flat_map(|preset| preset.tokens).copied().collect(),
    };
    let mut rows: Vec<&Crawler> = Vec::new();
    let is_asked = |crawler: &&Crawler| purposes.is_empty() || purposes.contains(&crawler.purpose);
    for crawler in tokens.iter().filter_map(|token| lookup(token)).filter(is_asked) {
        if !rows.contains(&crawler) {
            rows.push(crawler);
        }
    }
    match format {
        Format::Json => rows.into_iter().try_for_each(|crawler| writeln!(out, "{}", line(&crawler_json(crawler))))?,
        Format::Text => {
            write_table(&rows, out)?;
            if tokens.contains(&"*") {
                writeln!(out, "and `*`, an agent that nobody names")?;
            }
        }
    }
    Ok(())
}

fn write_table(rows: &[&Crawler], out: &mut impl Write) -> io::Result<()> {
    let header = ["token", "operator", "purpose", "*", "notes"].map(str::to_owned);
    let cells = |crawler: &&Crawler| {
        let star = if crawler.star { "yes" } else { "no" };
        [crawler.token.to_owned(), crawler.operator.to_owned(), crawler.purpose.to_string(), star.to_owned(), remarks(crawler)]
    };
    let lines: Vec<[String; 5]> = std::iter::once(header).chain(rows.iter().map(cells)).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths = [0, 1, 2, 3].map(width);
    for [token, operator, purpose, star, notes] in &lines {
        let line = format!("{token:<0$}  {operator:<1$}  {purpose:<2$}  {star:<3$}  {notes}", widths[0], widths[1], widths[2], widths[3]);
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// What a line of the table says beside the columns.
fn remarks(crawler: &Crawler) -> String {
    let mut remarks = Vec::new();
    if !crawler.fallback.is_empty() {
        remarks.push(format!("falls back to {}", crawler.fallback.join(", ")));
    }
    if crawler.never_in_header {
        remarks.push("never in a header".to_owned());
    } else if crawler.header != [crawler.token] {
        remarks.push(format!("header {}", crawler.header.join(" | ")));
    }
    if crawler.user_triggered {
        remarks.push("a person asks".to_owned());
    }
    remarks.join("; ")
}

fn explain(chosen: &[&Crawler], format: Format, out: &mut impl Write) -> Result<(), Failure> {
    for (index, crawler) in chosen.iter().enumerate() {
        match format {
            Format::Json => writeln!(out, "{}", line(&crawler_json(crawler)))?,
            Format::Text => {
                if index > 0 {
                    writeln!(out)?;
                }
                write_crawler(crawler, out)?;
            }
        }
    }
    Ok(())
}

fn write_crawler(crawler: &Crawler, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}", crawler.token)?;
    let presets: Vec<String> = crawler.presets().map(|preset| format!("@{}", preset.name)).collect();
    let kind = if crawler.listed { "a list that others keep, under the MIT licence" } else { "the operator's page" };
    let mut facts = vec![
        ("operator", crawler.operator.to_owned()),
        ("purpose", crawler.purpose.to_string()),
        ("bound by", bound_by(crawler)),
        ("header", in_header(crawler)),
    ];
    facts.extend(crawler.example.map(|example| ("example", example.to_owned())));
    if crawler.user_triggered {
        facts.push(("fetches", "when a person asks for it".to_owned()));
    }
    facts.extend(crawler.note.map(|note| ("note", note.to_owned())));
    facts.push(("presets", presets.join(", ")));
    facts.push(("source", format!("{} ({kind})", crawler.source)));
    facts.iter().try_for_each(|(name, fact)| writeln!(out, "  {name:<8}  {fact}"))
}

/// Which groups of a robots.txt count, the first that there is.
fn bound_by(crawler: &Crawler) -> String {
    let mut names = vec![crawler.token];
    names.extend(crawler.fallback);
    names.extend(crawler.star.then_some("*"));
    let groups = names.join(", else ");
    match crawler.star {
        true => format!("groups for {groups}"),
        false => format!("groups for {groups}; never those for *"),
    }
}

fn in_header(crawler: &Crawler) -> String {
    if crawler.never_in_header {
        return "none carries the token: it stands in robots.txt only".to_owned();
    }
    let carries = match crawler.carries {
        [] => String::new(),
        others => format!(", and beside it {}, which is no other crawler there", others.join(", ")),
    };
    format!("carries {}{carries}", crawler.header.join(" or "))
}

fn crawler_json(crawler: &Crawler) -> Value {
    json!({
        "token": crawler.token,
        "operator": crawler.operator,
        "purpose": crawler.purpose.name(),
        "header": crawler.header,
        "carries": crawler.carries,
        "fallback": crawler.fallback,
        "star": crawler.star,
        "never_in_header": crawler.never_in_header,
        "user_triggered": crawler.user_triggered,
        "note": crawler.note,
        "example": crawler.example,
        "presets": crawler.presets().map(|preset| preset.name).collect::<Vec<_>>(),
        "source": crawler.source,
        "listed": crawler.listed,
    })
}

fn list_presets(format: Format, out: &mut impl Write) -> Result<(), Failure> {
    for preset in presets() {
        if format == Format::Json {
            let value = json!({ "name": preset.name, "about": preset.about, "agents": preset.tokens, "source": preset.source });
            writeln!(out, "{}", line(&value))?;
            continue;
        }
        writeln!(out, "@{}: {} ({})", preset.name, preset.about, preset.tokens.len())?;
        writeln!(out, "  {}", preset.tokens.join(", "))?;
        if let Some(source) = preset.source {
            writeln!(out, "  published at {source}")?;
        }
    }
    Ok(())
}

fn explain_header(header: &str, format: Format, out: &mut impl Write) -> Result<(), Failure> {
    let identified = identify(header);
    let mentions = mentions(header);
    let agent = Agent::from_header(header);
    let why = why(&identified, &mentions, header);
    if format == Format::Json {
        return Ok(writeln!(out, "{}", line(&header_json(&agent, &identified, &mentions, &why)))?);
    }
    writeln!(out, "header   {}", to_terminal_text(header.as_bytes()))?;
    writeln!(out, "read as  {}", to_terminal_text(agent.name().as_bytes()))?;
    writeln!(out, "because  {why}")?;
    for mention in &mentions {
        let place = format!("octets {} to {}", mention.range.start, mention.range.end);
        writeln!(out, "carries  {} of {}, {} ({place})", mention.crawler.token, mention.crawler.operator, mention.crawler.purpose)?;
    }
    if let Some(note) = agent.note() {
        writeln!(out, "warning  {note}")?;
    }
    Ok(())
}

/// Why a header is read as it is, in one sentence.
fn why(identified: &Identified<'_>, mentions: &[Mention], header: &str) -> String {
    let crawler = match identified {
        Identified::Crawler(crawler) => crawler,
        Identified::Ambiguous(crawlers) => crawlers[0],
        Identified::Product(product) => {
            let leads = header.trim_ascii_start().starts_with(product);
            let place = if leads { "the header starts with it" } else { "it stands after `compatible;`" };
            return match lookup(product).is_some_and(|crawler| crawler.never_in_header) {
                true => format!("{place}, though its operator says that no header carries it: an imitation"),
                false => format!("{place}, and no well-known crawler is named"),
            };
        }
        _ => return "there is no token in it: only groups for `*` bind such an agent".to_owned(),
    };
    let is_other = |mention: &&Mention| mention.crawler != crawler;
    let carried = |mention: &Mention| crawler.carries.contains(&mention.crawler.token);
    if mentions.iter().any(|mention| mention.crawler == crawler && mention.after_compatible) {
        "it stands right after `compatible;`".to_owned()
    } else if !mentions.iter().any(|mention| is_other(&mention)) {
        "it is the only well-known crawler in it".to_owned()
    } else if mentions.iter().filter(is_other).all(carried) {
        "it is known to carry the other name beside its own".to_owned()
    } else {
        "it is the longest name of a well-known crawler in it, and the first of that length".to_owned()
    }
}

fn header_json(agent: &Agent, identified: &Identified<'_>, mentions: &[Mention], why: &str) -> Value {
    let outcome = match identified {
        Identified::Crawler(_) => "crawler",
        Identified::Ambiguous(_) => "ambiguous",
        Identified::Product(_) => "product",
        _ => "nobody",
    };
    let mention = |mention: &Mention| {
        json!({
            "token": mention.crawler.token,
            "operator": mention.crawler.operator,
            "start": mention.range.start,
            "end": mention.range.end,
            "after_compatible": mention.after_compatible,
        })
    };
    json!({
        "header": agent.header(),
        "agent": agent.name(),
        "outcome": outcome,
        "why": why,
        "mentions": mentions.iter().map(mention).collect::<Vec<_>>(),
        "warning": agent.note(),
    })
}
