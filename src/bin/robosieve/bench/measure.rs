//! Timing: everything once a round, round after round, so that a machine that changes its speed does so for all.

use std::time::{Duration, Instant};

use crate::exit::Failure;

/// A sample shorter than this is repeated until it is not: clocks and interrupts weigh too much in it.
const MIN_SAMPLE: Duration = Duration::from_millis(20);

/// What a figure is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Url,
    Policy,
}

impl Unit {
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Url => "URL",
            Unit::Policy => "policy",
        }
    }
}

/// A group of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Whole,
    Agents,
    Sample,
    Policies,
}

impl Section {
    pub const ALL: [Section; 4] = [Section::Whole, Section::Agents, Section::Sample, Section::Policies];

    pub const fn name(self) -> &'static str {
        match self {
            Section::Whole => "list",
            Section::Agents => "agents",
            Section::Sample => "sample",
            Section::Policies => "policies",
        }
    }
}

/// Something to time.
pub struct Job<'a> {
    pub section: Section,
    pub way: String,
    /// The exact work that the time includes.
    pub work: String,
    pub unit: Unit,
    /// How many of them a pass does.
    pub count: u64,
    /// One pass, and the nanoseconds that it took.
    pub pass: Box<dyn FnMut() -> Result<f64, Failure> + 'a>,
}

/// Nanoseconds that some work takes.
pub fn timed(work: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
    let started = Instant::now();
    work()?;
    Ok(started.elapsed().as_nanos() as f64)
}

/// What came out for one job.
#[derive(Debug, Clone)]
pub struct Figure {
    pub section: Section,
    pub way: String,
    pub work: String,
    pub unit: Unit,
    pub count: u64,
    /// Passes a sample.
    pub repeats: u64,
    /// Nanoseconds a unit, in order.
    pub samples: Vec<f64>,
}

impl Figure {
    pub fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    pub fn min(&self) -> f64 {
        self.quantile(0.0)
    }

    pub fn max(&self) -> f64 {
        self.quantile(1.0)
    }

    /// Between two samples, what lies between them.
    pub fn quantile(&self, share: f64) -> f64 {
        quantile(&self.samples, share)
    }
}

/// The quantile of numbers in order; 0 of none.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = share * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    if below == above { below } else { below + (above - below) * place.fract() }
}

/// Times all jobs: a warm-up each, then rounds until there are `runs` or the time is over.
pub fn measure(mut jobs: Vec<Job<'_>>, runs: usize, bound: Duration) -> Result<Vec<Figure>, Failure> {
    let mut figures = Vec::with_capacity(jobs.len());
    for job in &mut jobs {
        let started = Instant::now();
        (job.pass)()?;
        let repeats = MIN_SAMPLE.as_nanos().div_ceil(started.elapsed().as_nanos().max(1));
        figures.push(Figure {
            section: job.section,
            way: job.way.clone(),
            work: job.work.clone(),
            unit: job.unit,
            count: job.count,
            repeats: repeats as u64,
            samples: Vec::with_capacity(runs),
        });
    }
    let started = Instant::now();
    for round in 0..runs {
        if round > 0 && started.elapsed() >= bound {
            break;
        }
        // Each round begins elsewhere, so that nothing always runs behind the same neighbour's caches and clock.
        let count = jobs.len();
        for index in (0..count).map(|index| (index + round) % count) {
            let (job, figure) = (&mut jobs[index], &mut figures[index]);
            let mut total = 0.0;
            for _ in 0..figure.repeats {
                total += (job.pass)()?;
            }
            figure.samples.push(total / (figure.repeats * figure.count.max(1)) as f64);
        }
    }
    figures.iter_mut().for_each(|figure| figure.samples.sort_by(f64::total_cmp));
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn job<'a>(way: &str, pass: impl FnMut() -> Result<f64, Failure> + 'a) -> Job<'a> {
        Job { section: Section::Whole, way: way.to_owned(), work: String::new(), unit: Unit::Url, count: 10, pass: Box::new(pass) }
    }

    #[test]
    fn rounds_are_interleaved_and_short_passes_repeated() {
        let calls = RefCell::new(Vec::new());
        let slow = |name: &'static str, calls: &RefCell<Vec<&str>>| {
            calls.borrow_mut().push(name);
            std::thread::sleep(MIN_SAMPLE);
            Ok(50.0)
        };
        let jobs = vec![job("a", || slow("a", &calls)), job("b", || slow("b", &calls)), job("quick", || Ok(20.0))];
        let figures = measure(jobs, 3, Duration::from_secs(60)).unwrap();
        assert_eq!(*calls.borrow(), ["a", "b", "a", "b", "b", "a", "a", "b"]);
        assert_eq!(figures.iter().map(|figure| figure.samples.len()).collect::<Vec<_>>(), [3, 3, 3]);
        assert_eq!((figures[0].repeats, figures[0].median(), figures[2].median()), (1, 5.0, 2.0));
        assert!(figures[2].repeats > 1_000);
        let figures = measure(vec![job("a", || slow("a", &calls))], 100, Duration::from_nanos(1)).unwrap();
        assert_eq!(figures[0].samples.len(), 1);
    }

    #[test]
    fn quantiles() {
        let sorted = [1.0, 2.0, 4.0, f64::INFINITY];
        assert_eq!([0.0, 1.0 / 3.0, 0.5, 1.0].map(|share| quantile(&sorted, share)), [1.0, 2.0, 3.0, f64::INFINITY]);
        assert_eq!((quantile(&[], 0.5), quantile(&[7.0], 0.5)), (0.0, 7.0));
    }
}
