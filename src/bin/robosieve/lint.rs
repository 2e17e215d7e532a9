//! `lint`: what is wrong, or not as its author may think, with robots.txt files.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::json;

use robosieve::dialect::{Dialect, RFC9309};
use robosieve::io::json::line;
use robosieve::io::text::{to_terminal_text, to_text};
use robosieve::lint::{Remark, lint};
use robosieve::policy::FindingCode;
use robosieve::store::Store;

use crate::args::{FailOnFinding, Format, LintArgs};
use crate::exit::{Exit, Failure, say, shown};
use crate::output::Output;
use crate::policies::{is_manifest, is_store, load_inputs, read_robots};
use crate::summary::grouped;

/// Files looked through at once, so that a directory of millions is never held in memory.
const BATCH: usize = 512;

pub fn run(args: &LintArgs) -> Result<Exit, Failure> {
    let mut out = Output::create(Path::new("-"))?;
    if args.codes {
        print_codes(args.format, &mut out)?;
        out.commit()?;
        return Ok(Exit::Done);
    }
    let mut report = Report { args, out, counts: [0; 3], files: 0, failing: 0 };
    for input in &args.inputs {
        if input.join("manifest.jsonl").is_file() || is_manifest(input) {
            report.store(&load_inputs(input, args.dialect.unwrap_or(RFC9309))?)?;
        } else if input.is_dir() {
            report.directory(input)?;
        } else if is_store(input)? {
            report.store(&Store::open(input)?)?;
        } else {
            let name = if input == Path::new("-") { "-".to_owned() } else { shown(input) };
            report.files(vec![(name, read_robots(input)?)], args.dialect.unwrap_or(RFC9309))?;
        }
    }
    report.finish()
}

fn print_codes(format: Format, out: &mut impl Write) -> io::Result<()> {
    FindingCode::ALL.iter().try_for_each(|code| match format {
        Format::Text => writeln!(out, "{code:<22} {:<8} {}", code.severity(), code.advice()),
        Format::Json => {
            writeln!(out, "{}", json!({ "code": code.name(), "severity": code.severity().name(), "message": code.advice() }))
        }
    })
}

struct Report<'a> {
    args: &'a LintArgs,
    out: Output,
    /// By severity.
    counts: [u64; 3],
    files: u64,
    /// Findings that `--fail-on` asks for.
    failing: u64,
}

impl Report<'_> {
    fn directory(&mut self, directory: &Path) -> Result<(), Failure> {
        let paths = robots_files(directory).map_err(|error| Failure::of(shown(directory), &error))?;
        if paths.is_empty() {
            return Err(Failure::new(format!("{} holds no files", shown(directory))));
        }
        for batch in paths.chunks(BATCH) {
            let read = |path: &PathBuf| fs::read(path).map(|body| (shown(path), body)).map_err(|error| Failure::of(shown(path), &error));
            let mut bodies = Vec::new();
            for path in batch {
                match read(path) {
                    Ok(file) => bodies.push(file),
                    Err(failure) => say!("robosieve: left out {failure}"),
                }
            }
            self.files(bodies, self.args.dialect.unwrap_or(RFC9309))?;
        }
        Ok(())
    }

    /// The newest snapshot of each origin; origins that share a body are named by the first of them.
    fn store(&mut self, store: &Store) -> Result<(), Failure> {
        let mut seen = std::collections::HashSet::new();
        let mut batch = Vec::new();
        for origin in store.origins() {
            let origin = origin?;
            let snapshot = origin.newest()?;
            if !seen.insert(*snapshot.digest()) || snapshot.program_index().is_none() {
                continue;
            }
            let body = store.body(&snapshot)?.ok_or_else(|| {
                Failure::new("the store keeps no bodies, which lint needs: compile the policies again without --no-bodies")
            })?;
            batch.push((format!("{}/robots.txt", to_terminal_text(origin.key())), body));
            if batch.len() == BATCH {
                self.files(std::mem::take(&mut batch), self.args.dialect.unwrap_or(*store.dialect()))?;
            }
        }
        self.files(batch, self.args.dialect.unwrap_or(*store.dialect()))
    }

    fn files(&mut self, bodies: Vec<(String, Vec<u8>)>, dialect: Dialect) -> Result<(), Failure> {
        let remarks: Vec<Vec<Remark>> = bodies.par_iter().map(|(_, body)| lint(body, &dialect)).collect();
        for ((name, _), remarks) in bodies.iter().zip(remarks) {
            self.files += 1;
            for remark in remarks {
                self.write(name, &remark)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, name: &str, remark: &Remark) -> io::Result<()> {
        let severity = remark.code.severity();
        self.counts[severity as usize] += 1;
        let asked = |what: &FailOnFinding| match what {
            FailOnFinding::Severity(least) => severity >= *least,
            FailOnFinding::Code(code) => remark.code == *code,
        };
        self.failing += u64::from(self.args.fail_on.iter().any(asked));
        match self.args.format {
            Format::Json => {
                let object = json!({
                    "file": name,
                    "line": remark.line,
                    "code": remark.code.name(),
                    "severity": severity.name(),
                    "message": remark.code.advice(),
                    "detail": to_text(remark.detail.as_bytes()).0,
                });
                writeln!(self.out, "{}", line(&object))
            }
            Format::Text if remark.line == 0 => writeln!(self.out, "{name}: {}", to_terminal_text(remark.to_string().as_bytes())),
            Format::Text => writeln!(self.out, "{name}:{}: {}", remark.line, to_terminal_text(remark.to_string().as_bytes())),
        }
    }

    fn finish(self) -> Result<Exit, Failure> {
        self.out.commit()?;
        let [notes, warnings, errors] = self.counts.map(grouped);
        say!("{} files: {errors} errors, {warnings} warnings, {notes} notes", grouped(self.files));
        if self.failing > 0 {
            say!("robosieve: --fail-on: {} findings are of that kind", grouped(self.failing));
            return Ok(Exit::Found);
        }
        Ok(Exit::Done)
    }
}

/// The files of a directory, and the robots.txt of its folders, in the order of their names.
fn robots_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let is_hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let path = if path.is_dir() { path.join("robots.txt") } else { path };
        if path.is_file() && !is_hidden {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
