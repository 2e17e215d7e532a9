//! The figures as bars: a panel a unit, medians as bars, the shortest and longest runs as whiskers. SVG, written by hand: it is a few rectangles.

use std::io::{self, Write};

use super::measure::{Figure, Unit};
use super::report::Report;

const WIDTH: f64 = 960.0;
/// Where bars begin, and how long they may be.
const LEFT: f64 = 230.0;
const SPAN: f64 = 600.0;
const BAR: f64 = 16.0;
const STEP: f64 = 24.0;
/// Above this ratio of the largest to the smallest median a linear axis hides the small ones.
const LINEAR_UP_TO: f64 = 20.0;

/// Draws a report.
pub fn draw(report: &Report, out: &mut impl Write) -> io::Result<()> {
    let panels: Vec<(Unit, Vec<&Figure>)> = [Unit::Url, Unit::Policy]
        .into_iter()
        .map(|unit| (unit, report.figures.iter().filter(|figure| figure.unit == unit).collect::<Vec<_>>()))
        .filter(|(_, figures)| !figures.is_empty())
        .collect();
    let height = 80.0 + panels.iter().map(|(_, figures)| 70.0 + STEP * figures.len() as f64).sum::<f64>();
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">"
    )?;
    writeln!(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>")?;
    let machine = &report.machine;
    text(out, 16.0, 26.0, "font-size=\"16\"", &format!("robosieve {} on {} rows", env!("CARGO_PKG_VERSION"), report.rows))?;
    text(
        out,
        16.0,
        46.0,
        "fill=\"#555555\"",
        &format!("{}, {} cores, {}, {} build", machine.cpu, machine.cores, machine.date, machine.build),
    )?;
    let mut top = 70.0;
    for (unit, figures) in panels {
        top = panel(out, top, unit, &figures)?;
    }
    writeln!(out, "</svg>")
}

/// Draws one panel, and gives where the next one begins.
fn panel(out: &mut impl Write, top: f64, unit: Unit, figures: &[&Figure]) -> io::Result<f64> {
    let axis = Axis::of(figures);
    let kind = if axis.is_log { "logarithmic axis" } else { "from zero" };
    text(
        out,
        16.0,
        top + 18.0,
        "font-weight=\"bold\"",
        &format!("nanoseconds a {} ({kind}); bars: medians, whiskers: all runs", unit.name()),
    )?;
    let (first, bottom) = (top + 34.0, top + 34.0 + STEP * figures.len() as f64);
    for tick in axis.ticks() {
        let x = axis.place(tick);
        writeln!(out, "<line x1=\"{x:.1}\" y1=\"{first:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#dddddd\"/>")?;
        text(out, x, bottom + 14.0, "text-anchor=\"middle\" fill=\"#555555\"", &short(tick))?;
    }
    for (index, figure) in figures.iter().enumerate() {
        bar(out, first + STEP * index as f64 + 4.0, &axis, figure)?;
    }
    Ok(bottom + 36.0)
}

fn bar(out: &mut impl Write, y: f64, axis: &Axis, figure: &Figure) -> io::Result<()> {
    let [median, min, max] = [figure.median(), figure.min(), figure.max()].map(|value| axis.place(value));
    let (middle, base) = (y + BAR / 2.0, y + BAR - 4.0);
    text(out, LEFT - 8.0, base, "text-anchor=\"end\"", &figure.way)?;
    writeln!(
        out,
        "<rect class=\"bar\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\" fill=\"#4477aa\"><title>",
        median - LEFT
    )?;
    writeln!(out, "{}</title></rect>", escaped(&figure.work))?;
    writeln!(
        out,
        "<line class=\"spread\" x1=\"{min:.1}\" y1=\"{middle:.1}\" x2=\"{max:.1}\" y2=\"{middle:.1}\" stroke=\"#222222\" stroke-width=\"2\"/>"
    )?;
    for x in [min, max] {
        writeln!(out, "<line x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\" stroke=\"#222222\"/>", middle - 4.0, middle + 4.0)?;
    }
    text(out, median.max(max) + 8.0, base, "", &short(figure.median()))
}

/// From nanoseconds to places.
struct Axis {
    is_log: bool,
    low: f64,
    high: f64,
}

impl Axis {
    fn of(figures: &[&Figure]) -> Axis {
        let medians = figures.iter().map(|figure| figure.median()).filter(|median| *median > 0.0);
        let smallest = medians.fold(f64::INFINITY, f64::min);
        let high = figures.iter().map(|figure| figure.max()).fold(1e-3, f64::max);
        let is_log = smallest.is_finite() && high / smallest > LINEAR_UP_TO;
        // A decade below the smallest median, so that its bar has a length.
        let low = if is_log { 10f64.powf(smallest.log10().floor() - 1.0).max(high / 1e12) } else { 0.0 };
        Axis { is_log, low, high }
    }

    fn place(&self, value: f64) -> f64 {
        let share = match self.is_log {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => value / self.high,
        };
        LEFT + SPAN * share.clamp(0.0, 1.0)
    }

    fn ticks(&self) -> Vec<f64> {
        if self.is_log {
            let first = self.low.log10().ceil() as i32;
            return (first..).map(|exponent| 10f64.powi(exponent)).take_while(|tick| *tick <= self.high).collect();
        }
        let decade = 10f64.powf(self.high.log10().floor());
        let step = [0.2, 0.5, 1.0, 2.0].map(|part| part * decade).into_iter().find(|step| self.high / step <= 6.0).unwrap_or(decade * 5.0);
        (0..).map(|index| f64::from(index) * step).take_while(|tick| *tick <= self.high).collect()
    }
}

fn short(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size < 10.0 => format!("{:.2}", value).trim_end_matches('0').trim_end_matches('.').to_owned(),
        size if size < 1e3 => format!("{value:.0}"),
        size if size < 1e6 => format!("{:.1} k", value / 1e3),
        _ => format!("{:.1} M", value / 1e6),
    }
}

fn text(out: &mut impl Write, x: f64, y: f64, style: &str, text: &str) -> io::Result<()> {
    writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" {style}>{}</text>", escaped(text))
}

/// Text that XML takes as text; characters that it does not hold at all become spaces.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            control if control.is_control() || matches!(control, '\u{FFFE}' | '\u{FFFF}') => safe.push(' '),
            other => safe.push(other),
        }
    }
    safe
}
