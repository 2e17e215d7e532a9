//! `bench`: whether matchers agree, and how long they take.
//!
//! ```text
//!  inputs ──▶ ways ────▶ agreement ──▶ measure ──▶ report ──▶ table, JSON
//!    │         scan         every         rounds      └────▶ plot
//!    └──────▶  peers        verdict       of all
//! ```
//!
//! Nothing is timed whose verdicts were not compared before.

mod agreement;
mod args;
mod external;
mod generate;
mod inputs;
mod json;
mod machine;
mod measure;
mod payoff;
mod peers;
mod plot;
mod policies;
mod report;
mod scan;
mod ways;

use std::path::Path;

pub use args::BenchArgs;

use agreement::{Agreement, Verdicts};
use inputs::{Inputs, Places, Sample};
use measure::{Job, Section, Unit, measure, timed};
use payoff::payoff;
use peers::{Asked, Peer};
use policies::Cold;
use report::{PeerFacts, Report};
use scan::Scan;
use ways::{Rungs, Way};

use crate::args::Format;
use crate::exit::{Exit, Failure, say};
use crate::output::Output;

pub fn run(args: &BenchArgs) -> Result<Exit, Failure> {
    let plot = open_plot(args)?;
    let mut out = Output::create(Path::new("-"))?;
    let inputs = Inputs::load(args)?;
    let report = bench(args, &inputs)?;
    match args.format {
        Format::Text => report.print(&inputs, &mut out)?,
        Format::Json => report.write_json(&inputs, &mut out)?,
    }
    out.commit()?;
    if let Some(mut plot) = plot {
        plot::draw(&report, &mut plot)?;
        plot.commit()?;
    }
    Ok(if report.own_ways_agree() { Exit::Done } else { Exit::Found })
}

/// Opened before hours of work, and never over something that is read.
fn open_plot(args: &BenchArgs) -> Result<Option<Output>, Failure> {
    let policies = args.policies().map(|source| source.policies);
    let read: Vec<&Path> = policies.iter().chain(&args.urls).map(|path| path.as_path()).collect();
    Output::all_apart(&[Some(Path::new("-")), args.plot.as_deref()], &read)?;
    args.plot.as_deref().map(Output::create).transpose()
}

/// Everything about slow matchers: the rows that they get, and who they are.
struct Slow<'a> {
    sample: Sample,
    engine: Way<'a>,
    scan: Scan<'a>,
    asked: Option<Asked>,
    peers: Vec<Peer<'a>>,
    agreement: Vec<Agreement>,
}

impl<'a> Slow<'a> {
    /// Compares verdicts on the sample.
    fn check(args: &'a BenchArgs, inputs: &'a Inputs, places: &mut Places<'a>, reference: &Verdicts) -> Result<Slow<'a>, Failure> {
        let sample = Sample::choose(places, inputs.list.octets(), args.sample_rows.get(), args.sample_policies.get())?;
        let mut scan = Scan::new(&inputs.store, &inputs.agents[0], &sample.list)?;
        let mut agreement = vec![compare_scan(&mut scan, &sample, reference)?];
        let (mut peers, mut asked) = (Vec::new(), None);
        if !args.externals.is_empty() {
            let name = inputs.agents[0].name();
            let asked = asked.insert(Asked::new(&sample, &places.met, name, args.external_timeout)?);
            for command in &args.externals {
                let (peer, compared) = Peer::check(command, asked, &sample, reference)?;
                peers.push(peer);
                agreement.push(compared);
            }
        }
        Ok(Slow { engine: ways::on_sample(inputs, sample.rows.len()), sample, scan, asked, peers, agreement })
    }

    /// The engine, the scan and all peers on the sample.
    fn jobs(&mut self) -> Vec<Job<'_>> {
        let Slow { sample, engine, scan, asked, peers, .. } = self;
        let (sample, row_count) = (&*sample, sample.rows.len());
        if row_count == 0 {
            return Vec::new();
        }
        let work = "lines, origin look-up in a table, then rules in order of precedence until one matches; ranked beforehand, nothing compiled; one thread";
        let scan = Job {
            section: Section::Sample,
            way: SCAN.to_owned(),
            work: work.to_owned(),
            unit: Unit::Url,
            count: row_count as u64,
            pass: Box::new(move || timed(|| scan.pass(&sample.list))),
        };
        let peers = peers.iter_mut().zip(std::iter::repeat(&*asked));
        let peers = peers.filter_map(|(peer, asked)| Some(peer.job(asked.as_ref()?, row_count)));
        [engine.job(&sample.list, row_count as u64), scan].into_iter().chain(peers).collect()
    }
}

fn compare_scan(scan: &mut Scan<'_>, sample: &Sample, reference: &Verdicts) -> Result<Agreement, Failure> {
    let mut agreement = Agreement::new(SCAN, false);
    let mut rows = sample.rows.iter().zip(inputs::rows(&sample.list));
    scan.run(&sample.list, |verdict| {
        if let Some((&(row, _), url)) = rows.next() {
            agreement.compare(row, url, 0, reference.get(row), Some(verdict));
        }
    })?;
    Ok(agreement)
}

const SCAN: &str = "scan of ranked rules";

fn bench(args: &BenchArgs, inputs: &Inputs) -> Result<Report, Failure> {
    let list = inputs.list.octets();
    let agent = &inputs.agents[0];
    let rungs = Rungs::compile(&inputs.store)?;
    let reference = ways::reference(rungs.backstop().unwrap_or(&inputs.store), &inputs.agents, list)?;
    let ways = ways::all(inputs, &rungs, args.threads.count());
    let mut report = Report::new(inputs, &reference, rungs.backstop().is_some());
    for way in &ways {
        report.agreement.push(way.check(list, &reference.columns)?);
    }
    let mut places = Places::new(&inputs.store);
    let (mut slow, mut cold) = (None, None);
    if inputs.store.meta().has_bodies {
        let slow = slow.insert(Slow::check(args, inputs, &mut places, &reference.columns[0])?);
        cold = Cold::new(&places, agent)?;
        report.agreement.extend(cold.as_ref().map(|cold| cold.check(list, &reference.columns)).transpose()?);
        report.agreement.append(&mut slow.agreement);
        report.count(&places, &slow.sample);
    } else if !args.externals.is_empty() {
        return Err(Failure::new(
            "the store keeps no bodies, which external matchers read: compile the policies again without --no-bodies",
        ));
    }
    if cold.is_none() {
        report.left_out.push(left_out(inputs));
    }
    if !args.agreement_only {
        let mut jobs = vec![ways::floor(list, reference.rows)];
        jobs.extend(ways.iter().map(|way| way.job(list, reference.rows)));
        jobs.extend(cold.as_ref().map(|cold| cold.job(list, reference.rows)));
        if let Some(slow) = &mut slow {
            jobs.extend(slow.jobs());
        }
        if !places.met.is_empty() {
            jobs.extend(policies::jobs(&places));
        }
        say!("robosieve: verdicts are compared; timing {} ways, {} rounds or {} s", jobs.len(), args.runs, args.time.as_secs_f64());
        report.figures = measure(jobs, args.runs.get(), args.time)?;
        if !places.met.is_empty() {
            report.payoff = Some(payoff(&mut places, agent, list)?);
        }
    }
    report.peers = slow.iter().flat_map(|slow| &slow.peers).map(PeerFacts::of).collect();
    Ok(report)
}

/// Why something is not measured.
fn left_out(inputs: &Inputs) -> String {
    match inputs.store.meta().has_bodies {
        true => format!("cold runs are left out: an origin has no scheme in the dialect {}", inputs.store.dialect().name),
        false => "the store keeps no bodies: rungs, scan, parse, compile and cold runs are left out, and the engine is its own reference"
            .to_owned(),
    }
}
