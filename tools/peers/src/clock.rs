//! Times that can be compared: contestants take turns, so that whatever slows the machine down slows all of them.

use std::fmt;
use std::time::{Duration, Instant};

/// What one contestant took, round by round.
#[derive(Debug, Clone, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Nanoseconds a unit, at the median.
    pub fn median_ns(&self, units: u64) -> f64 {
        median(&self.ns(units))
    }

    /// Nanoseconds a unit, with the least and the greatest.
    pub fn spread_ns(&self, units: u64) -> Spread {
        Spread::of(self.ns(units))
    }

    /// How many rounds it ran.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it never ran.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This over `other`, both a unit of their own: round by round where both ran in all of them, median over median else.
    pub fn over(&self, units: u64, other: &Times, other_units: u64) -> Spread {
        let (ours, theirs) = (self.ns(units), other.ns(other_units));
        if ours.len() == theirs.len() {
            return Spread::of(ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect());
        }
        let (low, high) =
            (|ns: &[f64]| ns.iter().copied().fold(f64::INFINITY, f64::min), |ns: &[f64]| ns.iter().copied().fold(0.0, f64::max));
        Spread { low: low(&ours) / high(&theirs), median: median(&ours) / median(&theirs), high: high(&ours) / low(&theirs) }
    }

    /// Each round's sum of several contestants' times.
    pub fn sum(all: &[Times]) -> Times {
        let rounds = all.iter().map(Times::len).min().unwrap_or(0);
        Times((0..rounds).map(|round| all.iter().map(|times| times.0[round]).sum()).collect())
    }

    /// Each round's greater time of two.
    pub fn greater(&self, other: &Times) -> Times {
        Times(self.0.iter().zip(&other.0).map(|(one, two)| *one.max(two)).collect())
    }

    fn ns(&self, units: u64) -> Vec<f64> {
        self.0.iter().map(|time| time.as_secs_f64() * 1e9 / units as f64).collect()
    }
}

impl FromIterator<Duration> for Times {
    fn from_iter<I: IntoIterator<Item = Duration>>(times: I) -> Times {
        Times(times.into_iter().collect())
    }
}

/// A median with the least and the greatest.
#[derive(Debug, Clone, Copy)]
pub struct Spread {
    pub low: f64,
    pub median: f64,
    pub high: f64,
}

impl Spread {
    /// Of some values.
    pub fn of(values: Vec<f64>) -> Spread {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        Spread { low, median: median(&values), high: values.iter().copied().fold(0.0, f64::max) }
    }

    /// One over it.
    pub fn inverse(self) -> Spread {
        Spread { low: 1.0 / self.high, median: 1.0 / self.median, high: 1.0 / self.low }
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} ({}..{})", short(self.median), short(self.low), short(self.high));
        f.pad(&text)
    }
}

/// A number with three digits or so.
pub fn short(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// The middle one, or the mean of the two in the middle.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        len if len % 2 == 1 => sorted[len / 2],
        len => (sorted[len / 2 - 1] + sorted[len / 2]) / 2.0,
    }
}

/// One that takes part: what it does, and how long it may run in all.
pub struct Contestant<'c> {
    run: Box<dyn FnMut() + 'c>,
    budget: Duration,
}

impl<'c> Contestant<'c> {
    /// Runs in every round.
    pub fn new(run: impl FnMut() + 'c) -> Contestant<'c> {
        Contestant { run: Box::new(run), budget: Duration::MAX }
    }

    /// Leaves out rounds once it has run so long, but for the first.
    pub fn within(self, budget: Duration) -> Contestant<'c> {
        Contestant { budget, ..self }
    }
}

/// Runs all in turn, `rounds` times, after a round that is not counted (which those with a budget sit out).
pub fn take_turns(rounds: usize, mut contestants: Vec<Contestant<'_>>) -> Vec<Times> {
    let mut times = vec![Times::default(); contestants.len()];
    for contestant in contestants.iter_mut().filter(|contestant| contestant.budget == Duration::MAX) {
        (contestant.run)();
    }
    for _ in 0..rounds {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            let spent: Duration = times.0.iter().sum();
            if times.is_empty() || spent < contestant.budget {
                let start = Instant::now();
                (contestant.run)();
                times.0.push(start.elapsed());
            }
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(ms: &[u64]) -> Times {
        Times(ms.iter().copied().map(Duration::from_millis).collect())
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        let ratio = times(&[10, 40, 30]).over(1, &times(&[5, 10, 10]), 1);
        assert_eq!((ratio.low, ratio.median, ratio.high), (2.0, 3.0, 4.0));
        let ratio = times(&[10, 40]).over(1, &times(&[5]), 2);
        assert_eq!((ratio.low, ratio.median, ratio.high), (4.0, 10.0, 16.0));
        assert_eq!(ratio.inverse().median, 0.1);
    }

    #[test]
    fn whoever_is_slow_sits_out() {
        let mut count = (0, 0);
        let slow = Contestant::new(|| {
            count.0 += 1;
            std::thread::sleep(Duration::from_millis(2));
        });
        let times = take_turns(5, vec![slow.within(Duration::from_millis(1)), Contestant::new(|| count.1 += 1)]);
        assert_eq!((times[0].len(), times[1].len()), (1, 5));
        assert_eq!(count, (1, 6));
    }

    #[test]
    fn sums_and_greater_ones() {
        assert_eq!(Times::sum(&[times(&[1, 2]), times(&[10, 20])]).median_ns(1), 16.5e6);
        assert_eq!(times(&[1, 5]).greater(&times(&[3, 2])).median_ns(1), 4e6);
    }
}
