//! POLICIES: a store, a directory, a manifest, or one robots.txt.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use robosieve::compile::Options;
use robosieve::dialect::{Dialect, RFC9309, SCRAPY};
use robosieve::fetch::Outcome;
use robosieve::form::OriginKey;
use robosieve::io::directory::LeftOut;
use robosieve::io::manifest::{Manifest, Report, add_inputs};
use robosieve::io::text::to_terminal_text;
use robosieve::policy::Policy;
use robosieve::store::build::{Builder, Record};
use robosieve::store::{Preferences, Store};
use robosieve::url::{Url, origins_of_name};
use robosieve::usage::UsageKey;

use crate::args::PolicyArgs;
use crate::exit::{Failure, say, shown};
use crate::summary::grouped;

/// Opens or compiles the policies, once for each dialect; without any, in a store's own or RFC 9309.
pub fn load_all(args: &PolicyArgs, dialects: &[Dialect]) -> Result<Vec<Store>, Failure> {
    // Keys with a scheme can be made into such without one, not the other way round.
    let base = dialects.iter().find(|dialect| dialect.form.origin() == OriginKey::SchemeHostPort).or(dialects.first());
    let first = load(args, base.copied().unwrap_or(RFC9309))?;
    if dialects.is_empty() {
        return Ok(vec![first]);
    }
    let first_name = first.dialect().name;
    let others = dialects.iter().filter(|dialect| dialect.name != first_name);
    let mut stores: Vec<Store> = others.map(|&dialect| first.recompiled(dialect)).collect::<Result<_, _>>()?;
    if dialects.iter().any(|dialect| dialect.name == first_name) {
        stores.push(first);
    }
    let place = |store: &Store| dialects.iter().position(|dialect| dialect.name == store.dialect().name);
    stores.sort_by_key(place);
    Ok(stores)
}

/// As [`load_all`], for questions about single URLs: one robots.txt answers for every origin unless told for which.
pub fn load_for_questions(args: &PolicyArgs, dialects: &[Dialect]) -> Result<Vec<Store>, Failure> {
    let path = &args.policies;
    let is_one = !path.is_dir() && !is_manifest(path) && !is_store(path)?;
    match is_one && args.origin.is_none() {
        true => load_all(&PolicyArgs { any_origin: true, ..args.clone() }, dialects),
        false => load_all(args, dialects),
    }
}

/// What the policies state about each use, in every dialect they are read in.
pub fn preferences(stores: &[Store], keys: &[&UsageKey]) -> Result<Vec<Preferences>, Failure> {
    let each = keys.iter().flat_map(|key| stores.iter().map(|store| store.preferences(key)));
    Ok(each.collect::<Result<_, _>>()?)
}

fn load(args: &PolicyArgs, dialect: Dialect) -> Result<Store, Failure> {
    let path = &args.policies;
    let of_one = args.origin.is_some() || args.any_origin;
    let many = |what: &str| Failure::new(format!("{} is {what} and knows its origins: leave --origin and --any-origin out", shown(path)));
    if path.is_dir() {
        return if of_one { Err(many("a directory")) } else { compile_inputs(std::slice::from_ref(path), Vec::new(), dialect) };
    }
    if is_store(path)? {
        return if of_one { Err(many("a store")) } else { Ok(Store::open(path)?) };
    }
    if is_manifest(path) && !of_one {
        return compile_inputs(&[], vec![open_manifest(path)?], dialect);
    }
    let mut builder = Builder::new(dialect);
    let record = || {
        let body = read_robots(path)?;
        note_body(&body);
        Ok::<_, Failure>(Record::body(body))
    };
    match &args.origin {
        Some(origin) => builder.add_batch(vec![(origin.clone(), origins_of_name(&origin_url(origin)?)?, record()?)]),
        None if args.any_origin => builder.add_any(record()?),
        None => {
            return Err(Failure::new(format!(
                "{} is one robots.txt: say which origin it governs with --origin https://example.com, or --any-origin for all rows",
                shown(path)
            )));
        }
    }
    Ok(builder.finish()?.open()?)
}

/// What to say where no input gave a policy.
pub const NOTHING_TO_COMPILE: &str =
    "nothing to compile: no file in the given directories is named by an origin, and no line of a manifest can be used";

/// The key by which a form knows an `--origin` value.
pub fn origin_key(text: &str, form: OriginKey) -> Result<String, Failure> {
    origin_url(text)?;
    let mut key = Vec::new();
    let written = Url::split(text.as_bytes()).and_then(|url| url.write_key(form, &mut key));
    written.map_err(|bad| Failure::new(format!("--origin {text:?} is no origin ({bad}): write it as https://example.com")))?;
    Ok(String::from_utf8_lossy(&key).into_owned())
}

/// A fetch that failed leaves an empty file or a page, and a wrong argument anything at all: they let everything through, which nobody may have meant.
pub fn note_body(body: &[u8]) {
    let start = body.trim_ascii_start();
    if start.is_empty() {
        say!("robosieve: the robots.txt is empty: if its fetch failed, say so with --status");
    } else if start[0] == b'<' {
        say!("robosieve: the robots.txt looks like a page (HTML), and no rule of it counts: if its fetch failed, say so with --status");
    } else if Policy::parse(body, &SCRAPY).groups().len() == 0 {
        say!("robosieve: the robots.txt has no user-agent line, so no rule of it counts: is it another file?");
    }
}

/// An `--origin` value, which must be a URL.
pub fn origin_url(text: &str) -> Result<String, Failure> {
    let origin = Url::split(text.as_bytes()).and_then(|url| url.origin());
    origin.map_err(|bad| Failure::new(format!("--origin {text:?} is no origin ({bad}): write it as https://example.com")))
}

fn compile_inputs(directories: &[PathBuf], manifests: Vec<Manifest>, dialect: Dialect) -> Result<Store, Failure> {
    let mut builder = Builder::new(dialect);
    report_inputs(&add(&mut builder, directories, manifests)?);
    let built = builder.finish()?;
    report_conflicts(built.report());
    if built.report().record_count == 0 {
        return Err(Failure::new(NOTHING_TO_COMPILE));
    }
    Ok(built.open()?)
}

/// Compiles a directory, with its manifest if it has one, or a manifest.
pub fn load_inputs(path: &Path, dialect: Dialect) -> Result<Store, Failure> {
    match path.is_dir() {
        true => compile_inputs(&[path.to_path_buf()], Vec::new(), dialect),
        false => compile_inputs(&[], vec![open_manifest(path)?], dialect),
    }
}

/// Adds directories, with their manifests, and other manifests.
pub fn add(builder: &mut Builder, directories: &[PathBuf], manifests: Vec<Manifest>) -> Result<Report, Failure> {
    add_inputs(builder, directories, manifests).map_err(|error| Failure::of(shown(error.path()), error.error()))
}

/// Whether a file is a manifest, by its name.
pub fn is_manifest(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl" || extension == "ndjson")
}

/// The manifest in a file, or on standard input: its paths are then relative to the folder where the command runs.
pub fn open_manifest(path: &Path) -> Result<Manifest, Failure> {
    if path == Path::new("-") {
        return Ok(Manifest::new(BufReader::new(io::stdin()), Path::new("standard input"), Path::new(".")));
    }
    let is_dir = path.is_dir().then(|| io::Error::from(io::ErrorKind::IsADirectory));
    is_dir.map_or_else(|| Manifest::open(path), Err).map_err(|error| Failure::of(shown(path), &error))
}

/// A store in memory whose one policy answers for every origin.
pub fn one_for_all(body: Vec<u8>, outcome: Outcome, dialect: Dialect, options: Options) -> Result<Store, Failure> {
    let mut builder = Builder::new(dialect).options(options);
    builder.add_any(Record::body(body).with_outcome(outcome));
    Ok(builder.finish()?.open()?)
}

/// Whether the file at `path` is a store.
pub fn is_store(path: &Path) -> Result<bool, Failure> {
    if path == Path::new("-") {
        return Ok(false);
    }
    let mut head = Vec::new();
    let file = File::open(path).map_err(|error| Failure::of(shown(path), &error))?;
    if !file.metadata().map_err(|error| Failure::of(shown(path), &error))?.is_file() {
        return Ok(false); // a pipe, which can be read only once
    }
    file.take(8).read_to_end(&mut head).map_err(|error| Failure::of(shown(path), &error))?;
    Ok(Store::is_store(&head))
}

/// The octets of a robots.txt, from a file or standard input.
pub fn read_robots(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let read = match path == Path::new("-") {
        true => io::stdin().lock().read_to_end(&mut body),
        false if path.is_dir() => {
            return Err(Failure::new(format!(
                "{} is a directory, and one robots.txt is asked for: eval and explain take directories",
                shown(path)
            )));
        }
        false => File::open(path).and_then(|mut file| file.read_to_end(&mut body)),
    };
    let name = if path == Path::new("-") { "standard input".to_owned() } else { shown(path).to_string() };
    read.map_err(|error| Failure::of(&name, &error))?;
    match Store::is_store(&body) {
        true => Err(Failure::new(format!("{name} is a store of compiled policies, no robots.txt"))),
        false => Ok(body),
    }
}

const MAX_REPORTED: usize = 10;

/// Says on standard error what was left out and why, and what manifests came to.
pub fn report_inputs(report: &Report) {
    report.left_out.iter().take(MAX_REPORTED).for_each(report_left_out);
    report_more(report.file_count + report.line_count, "files and lines were left out");
    if report.manifest_count > 0 {
        say!(
            "{}: {} records; {} lines left out",
            if report.manifest_count == 1 { "manifest".to_owned() } else { format!("{} manifests", grouped(report.manifest_count)) },
            grouped(report.record_count),
            grouped(report.line_count),
        );
    }
    if report.aside_count > 0 {
        say!("note: {} files stand aside, for a manifest speaks for their origins", grouped(report.aside_count));
    }
    if !report.ignored_keys.is_empty() {
        say!("note: keys that mean nothing in a manifest are ignored: {}", most_frequent(&report.ignored_keys));
    }
}

fn report_left_out(left_out: &LeftOut) {
    let line = left_out.line.map_or(String::new(), |line| format!(":{line}"));
    say!("robosieve: left out {}{line}: {}", shown(&left_out.path), to_terminal_text(left_out.why.as_bytes()));
}

fn most_frequent(counts: &BTreeMap<String, u64>) -> String {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(**count));
    let named = counts.iter().take(MAX_REPORTED).map(|(key, count)| format!("{} {}", to_terminal_text(key.as_bytes()), grouped(**count)));
    let more = counts.len().saturating_sub(MAX_REPORTED);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

/// Says on standard error which records answer for the same origin at the same time.
pub fn report_conflicts(report: &robosieve::store::build::BuildReport) {
    for conflict in report.conflicts.iter().take(MAX_REPORTED) {
        let (kept, left_out) = (to_terminal_text(conflict.kept.as_bytes()), to_terminal_text(conflict.left_out.as_bytes()));
        say!("robosieve: {kept} and {left_out} both answer for {}: {kept} is kept", conflict.origin);
    }
    report_more(report.conflicts.len() as u64, "times, two answer for the same origin");
}

fn report_more(count: u64, what: &str) {
    if count > MAX_REPORTED as u64 {
        say!("robosieve: {} {what}; the first {MAX_REPORTED} are named above", grouped(count));
    }
}
