//! What came out, and how people read it.

use std::io::{self, Write};

use robosieve::decision::Verdict;
use robosieve::io::text::to_terminal_text;

use super::agreement::{Agreement, Difference, Keep};
use super::inputs::{Inputs, Places, Sample};
use super::machine::Machine;
use super::measure::{Figure, Section, Unit};
use super::payoff::{self, Payoff};
use super::peers::Peer;
use super::ways::WORK;
use crate::summary::grouped;

pub struct Report {
    pub machine: Machine,
    /// What verdicts are compared with.
    pub reference: &'static str,
    pub rows: u64,
    pub sample_rows: u64,
    pub sample_policies: usize,
    /// Policies whose rules answer for rows.
    pub met: usize,
    pub rungs: String,
    pub agreement: Vec<Agreement>,
    pub figures: Vec<Figure>,
    pub payoff: Option<Payoff>,
    pub peers: Vec<PeerFacts>,
    pub left_out: Vec<String>,
}

/// What is known of an external matcher.
pub struct PeerFacts {
    pub name: String,
    pub command: String,
    pub about: Option<String>,
    /// Nanoseconds of a run without URLs: `None` if it was not timed.
    pub start: Option<f64>,
}

impl PeerFacts {
    pub fn of(peer: &Peer<'_>) -> PeerFacts {
        let start = (!peer.starts.is_empty()).then(|| peer.start());
        PeerFacts { name: peer.command.name.clone(), command: peer.command.to_string(), about: peer.about.clone(), start }
    }
}

impl Report {
    pub fn new(inputs: &Inputs, reference: &Keep, is_backstop: bool) -> Report {
        Report {
            machine: Machine::here(),
            reference: if is_backstop { "backstop" } else { "engine" },
            rows: reference.rows,
            sample_rows: 0,
            sample_policies: 0,
            met: 0,
            // Of a damaged program the rungs are unknown; its verdicts differ, which is reported.
            rungs: crate::compile::rungs(&inputs.store).unwrap_or_else(|failure| failure.to_string()),
            agreement: Vec::new(),
            figures: Vec::new(),
            payoff: None,
            peers: Vec::new(),
            left_out: Vec::new(),
        }
    }

    /// Notes how much there is of what was met.
    pub fn count(&mut self, places: &Places<'_>, sample: &Sample) {
        self.met = places.met.len();
        (self.sample_rows, self.sample_policies) = (sample.rows.len() as u64, sample.policies().len());
    }

    /// Whether robosieve's own ways give the same verdicts.
    pub fn own_ways_agree(&self) -> bool {
        self.agreement.iter().all(|agreement| agreement.external || agreement.differ == 0)
    }

    /// How often a figure is the floor, where both are about URLs.
    pub fn times_floor(&self, figure: &Figure) -> Option<f64> {
        let floor = self.figures.iter().find(|figure| figure.way == FLOOR)?.median();
        (figure.unit == Unit::Url && floor > 0.0).then(|| figure.median() / floor)
    }

    pub fn print(&self, inputs: &Inputs, out: &mut impl Write) -> io::Result<()> {
        self.print_facts(inputs, out)?;
        self.print_agreement(inputs, out)?;
        for section in Section::ALL {
            self.print_section(section, inputs, out)?;
        }
        if let Some(payoff) = &self.payoff {
            print_payoff(payoff, out)?;
        }
        self.print_work(out)?;
        self.print_peers(out)
    }

    fn print_facts(&self, inputs: &Inputs, out: &mut impl Write) -> io::Result<()> {
        let machine = &self.machine;
        let build = if machine.build == "debug" { " (a debug build: its times mean nothing)" } else { "" };
        writeln!(out, "robosieve {}{build}, {}", env!("CARGO_PKG_VERSION"), machine.date)?;
        let sets = if machine.instruction_sets.is_empty() { String::new() } else { format!(", {}", machine.instruction_sets.join(" ")) };
        writeln!(out, "machine    {}, {} cores, {}{sets}", safe(&machine.cpu), machine.cores, machine.system)?;
        let origins = if inputs.store.has_any_origin() { "all".to_owned() } else { grouped(inputs.store.origin_count() as u64) };
        let dialect = inputs.store.dialect().name;
        writeln!(
            out,
            "policies   {}: {origins} origins, {} programs, dialect {dialect}",
            inputs.policies_name,
            grouped(inputs.store.program_count() as u64)
        )?;
        writeln!(out, "           {}", self.rungs)?;
        let octets = inputs.list.octets().len() as u64;
        writeln!(out, "urls       {}: {} rows, {} octets", inputs.list_name, grouped(self.rows), grouped(octets))?;
        writeln!(out, "agent      {}", safe(inputs.agents[0].name()))?;
        for text in &self.left_out {
            writeln!(out, "note       {text}")?;
        }
        Ok(())
    }

    fn print_agreement(&self, inputs: &Inputs, out: &mut impl Write) -> io::Result<()> {
        let cells = |agreement: &Agreement| {
            let share = if agreement.external { format!("{:.2} %", agreement.share() * 100.0) } else { String::new() };
            [safe(&agreement.way), grouped(agreement.compared), grouped(agreement.differ), share]
        };
        let header = [format!("verdicts beside the {}'s", self.reference), "compared".to_owned(), "differ".to_owned(), "agree".to_owned()];
        let rows: Vec<_> = std::iter::once(header).chain(self.agreement.iter().map(cells)).collect();
        writeln!(out)?;
        print_table(&rows, out)?;
        for agreement in &self.agreement {
            for difference in &agreement.shown {
                print_difference(&agreement.way, difference, inputs, out)?;
            }
            let more = agreement.differ - agreement.shown.len() as u64;
            if more > 0 {
                writeln!(out, "  {}: and {} more", safe(&agreement.way), grouped(more))?;
            }
        }
        Ok(())
    }

    fn print_section(&self, section: Section, inputs: &Inputs, out: &mut impl Write) -> io::Result<()> {
        let figures: Vec<&Figure> = self.figures.iter().filter(|figure| figure.section == section).collect();
        let Some(first) = figures.first() else { return Ok(()) };
        let title = match section {
            Section::Whole => format!("the list, for {}", safe(inputs.agents[0].name())),
            Section::Agents => "the list, for several agents".to_owned(),
            Section::Sample => format!("{} rows of {} policies", grouped(self.sample_rows), self.sample_policies),
            Section::Policies => format!("the {} policies met", grouped(self.met as u64)),
        };
        let unit = format!("ns a {}", first.unit.name());
        let header = [title, unit, "min".to_owned(), "max".to_owned(), "runs".to_owned(), "x floor".to_owned()];
        let row = |figure: &&Figure| {
            let floor = self.times_floor(figure).map_or(String::new(), number);
            let [median, min, max] = [figure.median(), figure.min(), figure.max()].map(number);
            [safe(&figure.way), median, min, max, figure.samples.len().to_string(), floor]
        };
        let rows: Vec<_> = std::iter::once(header).chain(figures.iter().map(row)).collect();
        writeln!(out)?;
        print_table(&rows, out)
    }

    fn print_work(&self, out: &mut impl Write) -> io::Result<()> {
        if self.figures.is_empty() {
            return Ok(());
        }
        writeln!(out, "\nwhat each time includes\n  *: {WORK}")?;
        for figure in &self.figures {
            let work = figure.work.strip_prefix(WORK).map_or(figure.work.clone(), |more| format!("*{more}"));
            writeln!(out, "  {}: {}", safe(&figure.way), safe(&work))?;
        }
        Ok(())
    }

    fn print_peers(&self, out: &mut impl Write) -> io::Result<()> {
        for peer in &self.peers {
            writeln!(out, "\nexternal   {}: {}", safe(&peer.name), safe(&peer.command))?;
            let about = peer.about.as_deref().unwrap_or("nothing (a line on standard error that begins with `about:` would)");
            writeln!(out, "           says of itself: {}", safe(about))?;
            if let Some(start) = peer.start {
                writeln!(out, "           a run without URLs takes {:.1} ms, which are subtracted", start / 1e6)?;
            }
        }
        let unmeasurable = self.figures.iter().filter(|figure| figure.min() <= 0.0);
        for figure in unmeasurable {
            writeln!(out, "note       {}: its start takes longer than its answers: give it more rows", safe(&figure.way))?;
        }
        Ok(())
    }
}

/// The name of the floor among the ways.
pub const FLOOR: &str = "floor";

fn safe(text: &str) -> String {
    to_terminal_text(text.as_bytes()).into_owned()
}

/// A number with three digits, or all before the point.
fn number(value: f64) -> String {
    match value.abs() {
        small if small < 9.995 => format!("{value:.2}"),
        small if small < 99.95 => format!("{value:.1}"),
        _ => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", grouped(value.abs().round() as u64))
        }
    }
}

fn print_difference(way: &str, difference: &Difference, inputs: &Inputs, out: &mut impl Write) -> io::Result<()> {
    let answer = difference.answer.map_or("error", Verdict::name);
    let agent = safe(inputs.agents[difference.agent].name());
    let (row, reference, url) = (grouped(difference.row + 1), difference.reference, to_terminal_text(&difference.url));
    writeln!(out, "  {}: row {row}, {agent}: {answer}, not {reference}: {url}", safe(way))
}

/// The first column to the left, numbers to the right; columns without any cell but the header are left out.
fn print_table<const N: usize>(rows: &[[String; N]], out: &mut impl Write) -> io::Result<()> {
    let is_used = |column: usize| rows[1..].iter().any(|row| !row[column].is_empty());
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    for row in rows {
        let mut line = format!("{:<width$}", row[0], width = width(0));
        for column in (1..N).filter(|&column| is_used(column)) {
            line.push_str(&format!("  {:>width$}", row[column], width = width(column)));
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn print_payoff(found: &Payoff, out: &mut impl Write) -> io::Result<()> {
    let urls = |urls: f64| if urls.is_finite() { format!("from {} URLs on", grouped(urls as u64)) } else { "never".to_owned() };
    let [low, median, high] = found.urls.map(urls);
    let (policies, never) = (grouped(found.policies as u64), grouped(found.never as u64));
    writeln!(out, "\ncompiling a policy pays {median} (quartiles: {low}, {high}; of {policies} policies, {never} never)")?;
    for (work, [low, median, high]) in payoff::WORK.iter().zip(found.costs) {
        writeln!(out, "  {:>9} ns ({} to {})  {work}", number(median), number(low), number(high))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let cases = [(3.104, "3.10"), (45.12, "45.1"), (99.96, "100"), (1_234.5, "1,235"), (-2_000.0, "-2,000"), (0.0, "0.00")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
