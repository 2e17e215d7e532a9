//! The arguments of `bench`.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueHint};

use robosieve::dialect::Dialect;

use super::external::Command;
use crate::args::{Format, PolicyArgs, ThreadArgs, dialect};

#[derive(Debug, Args)]
pub struct BenchArgs {
    /// A store, a directory of files named by origin, a manifest (.jsonl), or one robots.txt
    #[arg(value_name = "POLICIES", value_hint = ValueHint::AnyPath, requires = "urls")]
    policies: Option<PathBuf>,
    /// The URL list, one a line, or `-` for standard input
    #[arg(value_name = "URLS", value_hint = ValueHint::FilePath)]
    pub urls: Option<PathBuf>,
    /// The origin that a single robots.txt governs, as https://example.com
    #[arg(long, value_name = "URL", conflicts_with = "any_origin", requires = "policies")]
    origin: Option<String>,
    /// Let a single robots.txt answer for every origin
    #[arg(long, requires = "policies")]
    any_origin: bool,
    /// Rows of the sample that is made up where no POLICIES are given
    #[arg(long, value_name = "N", default_value = "200000", conflicts_with = "policies")]
    pub rows: NonZeroUsize,
    /// Ask for this product token, or @NAME for a preset (repeatable): the first is the one that most figures are about; with several, passes for all
    /// of them are timed too [default: `*`, and @apertus for several]
    #[arg(long = "agent", value_name = "TOKEN")]
    pub agents: Vec<String>,
    /// How robots.txt is read: rfc9309, google or scrapy [default: rfc9309, or what a store was compiled in]
    #[arg(long, value_parser = dialect, value_name = "NAME")]
    pub dialect: Option<Dialect>,
    #[command(flatten)]
    pub threads: ThreadArgs,
    /// Rounds: each times everything once, so that a machine that becomes slower or faster does so for all
    #[arg(long, value_name = "N", default_value = "15")]
    pub runs: NonZeroUsize,
    /// Seconds that timing may take: no round begins later, and the first is always finished
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub time: Duration,
    /// Compare verdicts and time nothing
    #[arg(long)]
    pub agreement_only: bool,
    /// Measure this program beside robosieve (repeatable): it is started as COMMAND ROBOTS AGENT, reads URLs, one a line, from standard input, and writes
    /// allow or disallow, one a line
    #[arg(long = "external", value_name = "NAME=COMMAND", value_parser = Command::from_str)]
    pub externals: Vec<Command>,
    /// Seconds after which an external matcher is taken to hang
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub external_timeout: Duration,
    /// Rows at most on which slow matchers (the scan over ranked rules, and external ones) are measured
    #[arg(long, value_name = "N", default_value = "20000")]
    pub sample_rows: NonZeroUsize,
    /// Policies at most to which these rows belong: those that answer for the most rows
    #[arg(long, value_name = "N", default_value = "10")]
    pub sample_policies: NonZeroUsize,
    /// How figures are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Draw the figures as bars into this file, too
    #[arg(long, value_name = "FILE.svg", value_hint = ValueHint::FilePath, conflicts_with = "agreement_only")]
    pub plot: Option<PathBuf>,
}

impl BenchArgs {
    /// Where policies come from, if any are given.
    pub fn policies(&self) -> Option<PolicyArgs> {
        let policies = self.policies.clone()?;
        Some(PolicyArgs { policies, origin: self.origin.clone(), any_origin: self.any_origin })
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds > 0.0);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration
        .filter(|duration| *duration <= Duration::from_secs(86_400))
        .ok_or_else(|| "give seconds, above 0 and at most a day's".to_owned())
}
