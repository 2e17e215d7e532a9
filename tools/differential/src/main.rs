//! Holds robosieve's verdicts to those of another robots.txt program, and names the cause of every difference.
//!
//! Files are read from directories or made up; URLs and agents are made from each file. Both sides answer, and each difference is put down to
//! [quirks](quirk): switches of a naive [model] that turns the one verdict into the other. A difference that no quirk explains, or a verdict that the model
//! does not give, is printed in full and makes the exit code 1.

mod compare;
mod hostile;
mod model;
mod ours;
mod peer;
mod question;
mod quirk;
mod random;
mod reading;

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use robosieve::dialect::Dialect;

use compare::Tally;
use peer::{Asked, Job, Peer};
use question::{Questions, Size};
use random::Random;

/// Jobs that a peer may have before its answers are read: enough for both sides to be busy.
const AHEAD: usize = 4;
/// A larger file is no robots.txt.
const MAX_LEN: u64 = 64 << 20;

#[derive(Parser)]
#[command(about = "Holds robosieve's verdicts to those of another robots.txt program, and names the cause of every difference")]
struct Args {
    /// Directories of robots.txt files; every regular file counts, and the robots.txt in a folder
    folders: Vec<PathBuf>,
    /// The dialect of robosieve
    #[arg(long, default_value = "rfc9309")]
    dialect: String,
    /// The program it is compared with
    #[arg(long)]
    peer: Peer,
    /// Also ask about so many made-up files
    #[arg(long, default_value_t = 0, value_name = "N")]
    random: u64,
    /// Which made-up files
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// URLs a file, at most
    #[arg(long, default_value_t = 64)]
    urls: usize,
    /// Agents a file, at most
    #[arg(long, default_value_t = 6)]
    agents: usize,
    /// Of the files in folders, every one in so many
    #[arg(long, default_value_t = 1, value_name = "N")]
    every: usize,
    /// Hold the models to every verdict, not only to those that differ
    #[arg(long)]
    check_models: bool,
    /// The Python that has the peers
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// The script that asks peers in Python
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/peer.py"))]
    script: PathBuf,
}

fn main() -> ExitCode {
    peer::silence_peers();
    match run(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("differential: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<bool, String> {
    let known = || Dialect::ALL.map(|dialect| dialect.name).join(", ");
    let dialect =
        Dialect::by_name(&args.dialect).ok_or_else(|| format!("no dialect is called {}: choose one of {}", args.dialect, known()))?;
    let files = files(args)?;
    let made_up = (0..args.random).map(|index| args.seed.wrapping_mul(1_000_003).wrapping_add(index));
    let bodies = files.into_iter().map(Origin::File).chain(made_up.map(Origin::Seed));
    let asked = args.peer.start(&args.python, &args.script).map_err(|error| format!("{}: {error}", args.python.display()))?;
    let tally = compare_all(args, &dialect, asked, bodies)?;
    print!("{}", tally.report(&format!("{} and {}", dialect.name, args.peer.title())));
    Ok(tally.is_explained())
}

/// Where a body comes from.
enum Origin {
    File(PathBuf),
    Seed(u64),
}

impl Origin {
    fn body(&self) -> Result<(String, Vec<u8>), String> {
        match self {
            Origin::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                fs::read(path).map(|body| (name, body)).map_err(|error| format!("{}: {error}", path.display()))
            }
            Origin::Seed(seed) => Ok((format!("seed {seed}"), hostile::file(&mut Random::new(*seed)))),
        }
    }
}

fn compare_all(args: &Args, dialect: &Dialect, mut asked: Asked, origins: impl Iterator<Item = Origin>) -> Result<Tally, String> {
    let mut tally = Tally::default();
    let mut pending = VecDeque::new();
    let readings = (reading::of_dialect(dialect.name), args.peer.reading());
    let failed = |error: io::Error| format!("{}: {error}", args.peer.title());
    let mut settle = |asked: &mut Asked, job: Arc<Job>| {
        let ours = ours::answers(&job, dialect);
        let theirs = asked.collect().map_err(failed)?;
        tally.add(&job, readings, (&ours, &theirs), args.check_models);
        Ok::<(), String>(())
    };
    for origin in origins {
        let (name, body) = origin.body()?;
        let job = Arc::new(job(args, dialect, name, body));
        asked.submit(Arc::clone(&job)).map_err(failed)?;
        pending.push_back(job);
        if pending.len() > AHEAD {
            settle(&mut asked, pending.pop_front().expect("more than none"))?;
        }
    }
    for job in pending {
        settle(&mut asked, job)?;
    }
    Ok(tally)
}

fn job(args: &Args, dialect: &Dialect, name: String, body: Vec<u8>) -> Job {
    let wanted = Size { agents: args.agents, urls: args.urls, odd: dialect.form.cuts_anything() };
    let mut questions = Questions::about(&body, args.peer.size(body.len(), wanted));
    questions.agents.retain(|agent| args.peer.takes(agent, dialect.name));
    Job { name, body, questions }
}

/// The files of the folders, in order of name.
fn files(args: &Args) -> Result<Vec<PathBuf>, String> {
    let mut files = Vec::new();
    for folder in &args.folders {
        let entries =
            fs::read_dir(folder).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>());
        let mut entries = entries.map_err(|error| format!("{}: {error}", folder.display()))?;
        entries.sort_unstable();
        files.extend(entries.into_iter().filter_map(|entry| robots_txt(&entry)));
    }
    if files.is_empty() && args.random == 0 {
        return Err("nothing to ask about: name a directory of robots.txt files, or --random N".to_owned());
    }
    Ok(files.into_iter().step_by(args.every.max(1)).collect())
}

fn robots_txt(entry: &Path) -> Option<PathBuf> {
    let is_hidden = entry.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let path = if entry.is_dir() { entry.join("robots.txt") } else { entry.to_owned() };
    let meta = fs::metadata(&path).ok()?;
    (!is_hidden && meta.is_file() && meta.len() <= MAX_LEN).then_some(path)
}
