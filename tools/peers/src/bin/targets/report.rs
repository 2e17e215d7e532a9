//! What is printed.

use std::fs;

use robosieve_peers::clock::{Spread, short};

use crate::Plan;

/// What a figure must keep to.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    fn is_met(self, value: f64) -> bool {
        match self {
            Target::AtMost(limit) => value <= limit,
            Target::AtLeast(limit) => value >= limit,
        }
    }

    fn text(self) -> String {
        match self {
            Target::AtMost(limit) => format!("at most {limit}"),
            Target::AtLeast(limit) => format!("at least {limit}"),
        }
    }
}

/// The table under way.
pub struct Report {
    met: usize,
    missed: Vec<String>,
    wrong: usize,
}

const WIDTH: usize = 58;

impl Report {
    pub fn start(plan: &Plan) -> Report {
        println!("robosieve ({}) beside texting_robots 0.2.2, {}", robosieve::scan::Isa::best().name(), machine());
        println!("lists repeated to {} rows; medians of {} rounds in turn (least..greatest)\n", grouped(plan.rows), plan.rounds);
        println!("{:<WIDTH$} {:>24}  {:<16} met", "what", "measured", "target");
        Report { met: 0, missed: Vec::new(), wrong: 0 }
    }

    /// A line of the table.
    pub fn line(&mut self, what: &str, measured: Spread, target: Target) {
        let is_met = target.is_met(measured.median);
        println!("{what:<WIDTH$} {measured:>24}  {:<16} {}", target.text(), if is_met { "yes" } else { "NO" });
        match is_met {
            true => self.met += 1,
            false => self.missed.push(format!("{what}: {} ({})", short(measured.median), target.text())),
        }
    }

    /// Something that belongs to the line before it.
    pub fn note(&self, text: &str) {
        println!("    {text}");
    }

    /// What is not as it must be, whatever the time: each is printed.
    pub fn check(&mut self, what: &str, wrong: &[String]) {
        for wrong in wrong.iter().take(5) {
            println!("    WRONG: {what}: {wrong}");
        }
        self.wrong += wrong.len();
    }

    pub fn finish(self) {
        println!("\n{} targets met, {} missed, {} wrong verdicts", self.met, self.missed.len(), self.wrong);
        self.missed.iter().for_each(|missed| println!("missed: {missed}"));
    }
}

fn machine() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field =
        |key: &str| text.lines().find(|line| line.starts_with(key)).and_then(|line| line.split_once(':')).map(|(_, value)| value.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", field("model name").unwrap_or("a processor without a name"))
}

/// A number with commas.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
