//! `inspect`: what is in a store or a robots.txt.

use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use robosieve::agent::LineToken;
use robosieve::compile::{Options, compile};
use robosieve::dialect::RFC9309;
use robosieve::io::text::to_terminal_text;
use robosieve::policy::{Policy, Record};
use robosieve::program::Program;
use robosieve::record::RecordValue;
use robosieve::store::{Origin, SnapshotTime, Store};

use crate::args::InspectArgs;
use crate::compile::rungs;
use crate::exit::{Exit, Failure, shown};
use crate::output::Output;
use crate::policies::{is_store, origin_key, read_robots};
use crate::summary::grouped;

pub fn run(args: &InspectArgs) -> Result<Exit, Failure> {
    let mut out = Output::create(Path::new("-"))?;
    if args.policies.is_dir() {
        return Err(Failure::new(format!("{} is a directory: inspect one of its files, or a store made of it", shown(&args.policies))));
    }
    if is_store(&args.policies)? {
        let store = Store::open(&args.policies)?;
        let store = match args.dialect.filter(|dialect| dialect.name != store.dialect().name) {
            Some(dialect) => store.recompiled(dialect)?,
            None => store,
        };
        inspect_store(&store, args, &mut out)?;
    } else if args.origin.is_some() {
        return Err(Failure::new("--origin goes with a store; a robots.txt has no other policy"));
    } else {
        let body = read_robots(&args.policies)?;
        inspect_policy(&Policy::parse(&body, &args.dialect.unwrap_or(RFC9309)), &mut out)?;
        print_program(&body, args, &mut out)?;
    }
    out.commit()?;
    Ok(Exit::Done)
}

fn inspect_store(store: &Store, args: &InspectArgs, out: &mut impl Write) -> Result<(), Failure> {
    if let Some(origin) = &args.origin {
        let key = origin_key(origin, store.dialect().form.origin())?;
        let origin = store.find(key.as_bytes())?.ok_or_else(|| Failure::new(format!("the store has no policy for {key}")))?;
        return inspect_origin(store, &origin, args, out);
    }
    let meta = store.meta();
    writeln!(out, "store {}: {} octets, digest {:016x}", shown(&args.policies), grouped(store.octet_len() as u64), store.digest())?;
    let limit = meta.byte_limit.map_or("none".to_owned(), grouped);
    let bodies = if meta.has_bodies { "kept" } else { "left out" };
    writeln!(out, "written by robosieve {}, dialect {}, limit {limit} octets, bodies {bodies}", meta.version, meta.dialect)?;
    let counts = [
        ("origins", store.origin_count()),
        ("snapshots", store.snapshot_count()),
        ("distinct programs", store.program_count()),
        ("distinct rule tables", store.rule_table_count()),
        ("distinct bodies", store.body_count()),
    ];
    for (name, count) in counts {
        writeln!(out, "{:>12} {name}", grouped(count as u64))?;
    }
    let mut sizes = store.programs().map(|program| program.map(|program| program.as_octets().len())).collect::<Result<Vec<_>, _>>()?;
    sizes.sort_unstable();
    if let (Some(median), Some(largest)) = (sizes.get(sizes.len() / 2), sizes.last()) {
        writeln!(out, "octets of a program: median {}, largest {}", grouped(*median as u64), grouped(*largest as u64))?;
    }
    writeln!(out, "{}", rungs(store)?)?;
    Ok(())
}

fn inspect_origin(store: &Store, origin: &Origin<'_>, args: &InspectArgs, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "origin {}", to_terminal_text(origin.key()))?;
    for snapshot in origin.snapshots() {
        let snapshot = snapshot?;
        let time = time_text(snapshot.time());
        let digest = snapshot.digest_hex();
        writeln!(out, "snapshot {time}, fetch {}, {} octets, {} read", snapshot.outcome(), snapshot.body_len(), snapshot.read_len())?;
        writeln!(out, "sha-256 {digest}")?;
        if !snapshot.final_url().is_empty() {
            writeln!(out, "from {}", to_terminal_text(snapshot.final_url()))?;
        }
        if let Some(body) = store.body(&snapshot)? {
            inspect_policy(&Policy::parse(&body, store.dialect()), out)?;
        }
        if snapshot.program_index().is_some() {
            show(&store.program(&snapshot)?, args, out)?;
        }
    }
    Ok(())
}

/// When a snapshot is from, as people read it.
pub fn time_text(time: SnapshotTime) -> String {
    match time {
        SnapshotTime::Undated => "undated".to_owned(),
        SnapshotTime::Effective(seconds) => format!("effective {}", date(seconds)),
        SnapshotTime::Observed(seconds) => format!("observed {}", date(seconds)),
    }
}

/// A time as RFC 3339 writes it, where it can.
pub fn date(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} s after 1970"), |time| time.to_string())
}

fn inspect_policy(policy: &Policy, out: &mut impl Write) -> io::Result<()> {
    for (index, group) in policy.groups().enumerate() {
        let names: Vec<String> = group
            .agents()
            .map(|agent| match agent.token() {
                Some(LineToken::Star) => "*".to_owned(),
                Some(LineToken::Product(token)) => to_terminal_text(token).into_owned(),
                None => "(nobody)".to_owned(),
            })
            .collect();
        writeln!(out, "group {index}: {}", names.join(", "))?;
        for rule in group.rules() {
            let verb = if rule.allows() { "allow" } else { "disallow" };
            write!(out, "  line {:>4} {verb:<8} {}", rule.line(), to_terminal_text(rule.value()))?;
            match rule.pattern() {
                [] => write!(out, "  (matches nothing)")?,
                pattern if pattern != rule.value() => write!(out, "  (compared as {})", to_terminal_text(pattern))?,
                _ => {}
            }
            writeln!(out, "  specificity {}", rule.specificity())?;
        }
    }
    for record in policy.records() {
        write!(out, "record line {:>4} {}: {}", record.line(), record.kind().key(), to_terminal_text(record.value()))?;
        writeln!(out, " ({}{})", scope(&record), meaning(&record))?;
    }
    for finding in policy.findings() {
        match finding.line {
            0 => writeln!(out, "finding {}", finding.code)?,
            line => writeln!(out, "finding line {line:>4} {}", finding.code)?,
        }
    }
    Ok(())
}

/// To whom a record speaks.
fn scope(record: &Record<'_>) -> String {
    match record.group() {
        Some(group) => format!("group {group}"),
        None if record.kind().is_grouped() => "before any group: to nobody".to_owned(),
        None => "site".to_owned(),
    }
}

/// What a record says, behind a semicolon, where that is more than its text.
fn meaning(record: &Record<'_>) -> String {
    let words = |words: &[&[u8]]| words.iter().map(|word| to_terminal_text(word).into_owned()).collect::<Vec<_>>().join(", ");
    let path = |path: Option<&[u8]>| path.map_or("every path".to_owned(), |path| to_terminal_text(path).into_owned());
    let text = match record.parsed() {
        None => "malformed".to_owned(),
        Some(RecordValue::CrawlDelay(seconds)) => format!("{seconds} s"),
        Some(RecordValue::RequestRate(rate)) => {
            let window = rate.window.map_or(String::new(), |window| format!(", {window}"));
            format!("{} in {} s{window}", rate.requests, rate.seconds)
        }
        Some(RecordValue::VisitTime(window)) => window.to_string(),
        Some(RecordValue::CleanParam(clean)) => format!("{} on {}", words(&clean.parameters), path(clean.path)),
        Some(RecordValue::ContentSignal(signals)) => {
            let signal = |key: &[u8], value: &[u8]| format!("{}={}", to_terminal_text(key), to_terminal_text(value));
            signals.iter().map(|each| signal(each.key, each.value)).collect::<Vec<_>>().join(", ")
        }
        Some(RecordValue::ContentUsage(usage)) => {
            let stated: Vec<String> = usage
                .members
                .iter()
                .filter_map(|member| Some(format!("{} {}", to_terminal_text(member.key), member.preference()?)))
                .collect();
            let stated = if stated.is_empty() { "nothing stated".to_owned() } else { stated.join(", ") };
            format!("{stated} on {}", path(usage.path))
        }
        _ => return String::new(),
    };
    format!("; {text}")
}

fn print_program(body: &[u8], args: &InspectArgs, out: &mut impl Write) -> Result<(), Failure> {
    let octets = compile(&Policy::parse(body, &args.dialect.unwrap_or(RFC9309)), &Options::default());
    show(&Program::check(&octets)?, args, out)
}

fn show(program: &Program<'_>, args: &InspectArgs, out: &mut impl Write) -> Result<(), Failure> {
    match args.automata {
        true => write!(out, "{program:#}")?,
        false => write!(out, "{program}")?,
    }
    Ok(())
}
