//! External matchers on the sample: a run of the program for each policy, verdicts first, then time.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::agreement::{Agreement, Verdicts};
use super::external::{Command, Question, Ran};
use super::inputs::{Met, Sample};
use super::measure::{Job, Section, Unit, quantile};
use crate::exit::{Failure, shown};

/// What every external matcher is asked.
pub struct Asked {
    _folder: TempDir,
    parts: Vec<Part>,
    agent: String,
    timeout: Duration,
}

/// The rows of one policy.
struct Part {
    robots: PathBuf,
    urls: Arc<Vec<u8>>,
    /// Of each URL, its place in the sample.
    places: Vec<usize>,
}

impl Asked {
    pub fn new(sample: &Sample, met: &[Met], agent: &str, timeout: Duration) -> Result<Asked, Failure> {
        let folder = tempfile::Builder::new().prefix("robosieve-bench-").tempdir()?;
        let mut parts = Vec::new();
        for (number, index) in sample.policies().into_iter().enumerate() {
            let robots = folder.path().join(format!("robots-{number}.txt"));
            fs::write(&robots, &met[index].body).map_err(|error| Failure::of(shown(&robots), &error))?;
            let (mut urls, mut places) = (Vec::new(), Vec::new());
            for (place, url) in super::inputs::rows(&sample.list).enumerate().filter(|&(place, _)| sample.rows[place].1 == index) {
                urls.extend_from_slice(url);
                urls.push(b'\n');
                places.push(place);
            }
            parts.push(Part { robots, urls: Arc::new(urls), places });
        }
        Ok(Asked { _folder: folder, parts, agent: agent.to_owned(), timeout })
    }

    fn ask(&self, command: &Command, part: &Part, with_urls: bool) -> Result<Ran, Failure> {
        let (urls, url_count) = if with_urls { (part.urls.clone(), part.places.len()) } else { (Arc::default(), 0) };
        command.ask(&Question { robots: &part.robots, agent: &self.agent, urls, url_count, timeout: self.timeout })
    }
}

/// An external matcher, and what is known of it.
pub struct Peer<'a> {
    pub command: &'a Command,
    pub about: Option<String>,
    /// Nanoseconds of a run without URLs, in order.
    pub starts: Vec<f64>,
}

impl<'a> Peer<'a> {
    /// Asks for all verdicts, and compares them.
    pub fn check(command: &'a Command, asked: &Asked, sample: &Sample, reference: &Verdicts) -> Result<(Peer<'a>, Agreement), Failure> {
        let urls: Vec<&[u8]> = super::inputs::rows(&sample.list).collect();
        let mut agreement = Agreement::new(&command.name, true);
        let mut about = None;
        for part in &asked.parts {
            let ran = asked.ask(command, part, true)?;
            about = about.or(ran.about);
            for (&place, verdict) in part.places.iter().zip(ran.verdicts) {
                let row = sample.rows[place].0;
                agreement.compare(row, urls[place], 0, reference.get(row), verdict);
            }
        }
        Ok((Peer { command, about, starts: Vec::new() }, agreement))
    }

    pub fn job<'b>(&'b mut self, asked: &'b Asked, row_count: usize) -> Job<'b> {
        let (command, starts) = (self.command, &mut self.starts);
        let of_itself = self.about.as_deref().unwrap_or("it says nothing about its version and work");
        let work =
            format!("a process that reads URLs and writes verdicts, {} runs, each less one without URLs; {of_itself}", asked.parts.len());
        let pass = move || {
            let mut total = 0.0;
            for part in &asked.parts {
                let start = asked.ask(command, part, false)?.elapsed.as_nanos() as f64;
                starts.push(start);
                total += asked.ask(command, part, true)?.elapsed.as_nanos() as f64 - start;
            }
            Ok(total)
        };
        let count = row_count as u64;
        Job { section: Section::Sample, way: command.name.clone(), work, unit: Unit::Url, count, pass: Box::new(pass) }
    }

    /// The median of a run without URLs, in nanoseconds.
    pub fn start(&self) -> f64 {
        let mut starts = self.starts.clone();
        starts.sort_by(f64::total_cmp);
        quantile(&starts, 0.5)
    }
}
