//! How far a run is, on a terminal.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use robosieve::pipeline::{Decided, Sink, Summary};

use crate::inputs::Meter;
use crate::summary::grouped;

/// How often the line changes.
const PERIOD: Duration = Duration::from_millis(250);

/// The line that says how far a run is. Without a terminal there is none.
#[derive(Debug, Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
    meter: Meter,
    started: Option<Instant>,
    drawn: Option<Instant>,
    rows: u64,
    /// Rows that the first agent may crawl, if there is one.
    allowed: Option<u64>,
}

impl Progress {
    /// A line for inputs of so many octets, if that is known.
    pub fn begin(&mut self, octets: Option<u64>) {
        self.started = Some(Instant::now());
        if !std::io::stderr().is_terminal() {
            return;
        }
        let bar = ProgressBar::with_draw_target(octets, ProgressDrawTarget::stderr());
        let template = if octets.is_some() { "{bar:24} {percent:>3} %  {msg}  {eta} left" } else { "{spinner} {msg}" };
        bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
        self.bar = Some(bar);
    }

    /// What sources count what they read with.
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }

    /// Counts a batch, and draws if it is time.
    pub fn count(&mut self, summary: &Summary) {
        self.rows += summary.rows;
        if let Some(tally) = summary.agents.first() {
            *self.allowed.get_or_insert(0) += tally.allow;
        }
        let Some(bar) = &self.bar else { return };
        let now = Instant::now();
        if self.drawn.is_some_and(|drawn| now - drawn < PERIOD) {
            return;
        }
        self.drawn = Some(now);
        let seconds = self.started.map_or(0.0, |started| (now - started).as_secs_f64()).max(1e-3);
        bar.set_position(self.meter.octets());
        bar.set_message(format!(
            "{} rows, {}/s{}",
            grouped(self.rows),
            grouped((self.rows as f64 / seconds) as u64),
            self.allowed.map_or(String::new(), |allowed| format!(", {:.1} % allowed", allowed as f64 * 100.0 / self.rows.max(1) as f64))
        ));
    }

    /// A sink that counts what passes on its way to `sink`.
    pub fn counting<'c, 'k>(&'c mut self, sink: &'k mut dyn Sink) -> Counting<'c, 'k> {
        Counting { sink, progress: self, file_rows: Vec::new() }
    }

    /// Takes the line away.
    pub fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Counts what passes through on its way to a sink.
pub struct Counting<'c, 'k> {
    sink: &'k mut dyn Sink,
    progress: &'c mut Progress,
    /// Rows of each file.
    pub file_rows: Vec<u64>,
}

impl Sink for Counting<'_, '_> {
    fn wants_decisions(&self) -> bool {
        self.sink.wants_decisions()
    }

    fn wants_rows(&self) -> bool {
        self.sink.wants_rows()
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        self.sink.write(decided)?;
        let file = decided.file() as usize;
        if self.file_rows.len() <= file {
            self.file_rows.resize(file + 1, 0);
        }
        self.file_rows[file] += decided.row_count() as u64;
        self.progress.count(decided.summary());
        Ok(())
    }
}
