//! `origins`: which robots.txt files there are to fetch.

use std::io::{self, Write};
use std::path::Path;

use jiff::Timestamp;
use serde_json::json;

use robosieve::dialect::RFC9309;
use robosieve::io::json::line as to_line;
use robosieve::io::origins::OriginCounts;
use robosieve::pipeline::{Evaluator, run as run_pipeline};
use robosieve::store::build::Builder;
use robosieve::store::{SnapshotTime, Store};
use robosieve::url::Url;

use crate::args::{Format, OriginsArgs, PolicyArgs};
use crate::exit::{Exit, Failure, say, shown};
use crate::inputs::{self, Reading, Remark, Wanted};
use crate::output::Output;
use crate::policies;
use crate::progress::Progress;
use crate::summary::grouped;

pub fn run(args: &OriginsArgs) -> Result<Exit, Failure> {
    let files = inputs::find(&args.inputs)?.files;
    if args.missing.as_deref() == Some(Path::new("-")) {
        return Err(Failure::new("--missing takes a store, a directory or a manifest, and no stream"));
    }
    let mut out = Output::create(Path::new("-"))?;
    let known = args.missing.as_ref().map(|path| Known::load(path, args)).transpose()?;
    let counts = count(args, &files)?;
    let (mut listed, mut rows, mut unfetchable) = (0, 0, 0);
    for (origin, count) in counts.most_first() {
        let state = match &known {
            Some(known) => match known.state(&origin)? {
                Some(state) => state,
                None => continue,
            },
            None => State::Asked,
        };
        if !origin.starts_with("http://") && !origin.starts_with("https://") {
            unfetchable += 1;
            continue;
        }
        listed += 1;
        rows += count;
        write(&mut out, args.format, &origin, count, state)?;
    }
    out.commit()?;
    say!(
        "{} of {} origins are listed, {} of {} rows",
        grouped(listed),
        grouped(counts.origin_count() as u64),
        grouped(rows),
        grouped(counts.row_count())
    );
    if unfetchable > 0 {
        say!("{} origins are left out: neither http nor https", grouped(unfetchable));
    }
    if counts.rows_without_origin() > 0 {
        say!("{} rows name no origin", grouped(counts.rows_without_origin()));
    }
    if let Some(known) = known.filter(|known| known.undated.get() > 0 && args.older_than.is_some()) {
        say!("{} origins have an undated policy, which is never old", grouped(known.undated.get()));
    }
    Ok(Exit::Done)
}

fn count(args: &OriginsArgs, files: &[robosieve::io::inputs::InputFile]) -> Result<OriginCounts, Failure> {
    let nothing = Builder::new(RFC9309).finish()?.open()?;
    let evaluator = Evaluator::new(&nothing, Vec::new());
    let mut progress = Progress::default();
    progress.begin(inputs::octet_len(files));
    let mut counts = OriginCounts::default();
    let mut reading = Reading::open(files, &args.inputs, Wanted::URLS, progress.meter())?;
    let counted = reading.with_source(&evaluator, |source, evaluator| {
        let mut sink = progress.counting(&mut counts);
        run_pipeline(source, evaluator, &mut sink, args.threads.count()).map_err(|error| inputs::failure(files, error))
    });
    progress.finish();
    reading.remarks.iter().for_each(Remark::print);
    counted.map(|_| counts)
}

/// Why an origin is listed.
#[derive(Debug, Clone, Copy)]
enum State {
    /// All are.
    Asked,
    /// No policy of it is known.
    Missing,
    /// The newest snapshot is of that time.
    Old(Timestamp),
}

fn write(out: &mut Output, format: Format, origin: &str, rows: u64, state: State) -> io::Result<()> {
    if format == Format::Text {
        return writeln!(out, "{origin}/robots.txt\t{rows}");
    }
    let mut object = json!({ "robots_url": format!("{origin}/robots.txt"), "origin": origin, "rows": rows });
    match state {
        State::Asked => {}
        State::Missing => object["fetched_at"] = json!(null),
        State::Old(time) => object["fetched_at"] = json!(time.to_string()),
    }
    writeln!(out, "{}", to_line(&object))
}

/// What is known already.
struct Known {
    store: Store,
    /// Older snapshots are old.
    oldest: Option<Timestamp>,
    undated: std::cell::Cell<u64>,
}

impl Known {
    fn load(path: &Path, args: &OriginsArgs) -> Result<Known, Failure> {
        if !path.is_dir() && !policies::is_manifest(path) && !policies::is_store(path)? {
            return Err(Failure::new(format!("--missing {}: that is no store, no directory and no manifest", shown(path))));
        }
        let args_of = PolicyArgs { policies: path.to_path_buf(), origin: None, any_origin: false };
        let store = policies::load_all(&args_of, &[])?.swap_remove(0);
        let oldest = args.older_than.map(|duration| Timestamp::now().checked_sub(duration)).transpose()?;
        Ok(Known { store, oldest, undated: Default::default() })
    }

    /// Why an origin is listed, if it is.
    fn state(&self, origin: &str) -> Result<Option<State>, Failure> {
        let mut key = Vec::new();
        Url::split(origin.as_bytes()).and_then(|url| url.write_key(self.store.dialect().form.origin(), &mut key))?;
        let Some(found) = self.store.find(&key)? else { return Ok(Some(State::Missing)) };
        let Some(oldest) = self.oldest else { return Ok(None) };
        match found.newest()?.time() {
            SnapshotTime::Undated => {
                self.undated.set(self.undated.get() + 1);
                Ok(None)
            }
            SnapshotTime::Effective(second) | SnapshotTime::Observed(second) => {
                let time = Timestamp::from_second(second)?;
                Ok((time < oldest).then_some(State::Old(time)))
            }
        }
    }
}
