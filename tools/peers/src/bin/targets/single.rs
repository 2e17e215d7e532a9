//! One policy, one agent, one list: against the floor and the best peer.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;

use robosieve::compile::Options;
use robosieve::decision::Verdict;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Discard, Evaluator};
use robosieve::store::Store;
use robosieve::store::map::{Octets, open};
use robosieve_peers::clock::{Contestant, Times, short, take_turns};
use robosieve_peers::corpus::{Corpus, row_count};
use robosieve_peers::peer::{Peer, Rows};
use robosieve_peers::policy::{self, Held, Kept, ONE, floor};

use crate::report::{Report, Target, grouped};
use crate::{Part, Plan};

/// A policy and agent with what is promised.
pub struct Single {
    pub part: Part,
    pub file: &'static str,
    pub agent: &'static str,
    floor: f64,
    peer: f64,
}

pub const TARGETS: &[Single] = &[
    Single { part: Part::S, file: "bench-S", agent: "*", floor: 5.0, peer: 8.0 },
    Single { part: Part::M, file: "bench-M", agent: "*", floor: 6.5, peer: 17.0 },
    Single { part: Part::MGooglebot, file: "bench-M", agent: "Googlebot", floor: 5.5, peer: 15.0 },
    Single { part: Part::L, file: "bench-L", agent: "*", floor: 16.0, peer: 70.0 },
    Single { part: Part::LGooglebot, file: "bench-L", agent: "Googlebot", floor: 9.0, peer: 45.0 },
    Single { part: Part::R3, file: "bench-R3", agent: "*", floor: 7.0, peer: 700.0 },
];

/// How long the peer may run in all.
const PEER_TIME: Duration = Duration::from_secs(4);

/// How long the oracle may be asked about a list.
const ORACLE_TIME: Duration = Duration::from_secs(1);

/// A list, its repetition in a mapped file, and the policy.
pub struct Setting {
    pub body: Vec<u8>,
    pub list: Vec<u8>,
    pub store: Store,
    /// The list over and over, every page of it touched.
    pub repeated: Octets,
    pub rows: u64,
}

impl Setting {
    pub fn new(corpus: &Corpus, file: &str, rows: u64) -> io::Result<Setting> {
        let (body, list) = (corpus.octets(&format!("{file}.robots"))?, corpus.octets(&format!("{file}.urls"))?);
        let path = corpus.scratch("repeated");
        let times = corpus.repeat(&list, rows, &path)?;
        let rows = times * row_count(&list);
        let store = policy::single(&body, &list, Options::default());
        let repeated = touched(&path)?;
        fs::remove_file(&path)?; // the map keeps it
        Ok(Setting { body, list, store, repeated, rows })
    }

    /// Holds every verdict on the repeated list to the backstop, and some to the oracle. Gives the verdicts of the list.
    pub fn check(&self, what: &str, evaluator: &Evaluator<'_>, with_decisions: bool, report: &mut Report) -> Kept {
        let agents = evaluator.agents();
        let by_backstop = policy::single(&self.body, &self.list, policy::backstop());
        let right = policy::verdicts(&by_backstop, agents, &self.list);
        let mut held = Held { right: &right, wrong: 0, with_decisions };
        policy::evaluate(evaluator, &mut MappedLines::new(self.repeated.as_slice()), &mut held, ONE);
        let (asked, mut wrong) = policy::ask_the_oracle(&self.store, agents, &self.list, &right, ORACLE_TIME);
        if held.wrong > 0 {
            wrong.push(format!("{} verdicts are not those of the backstop", held.wrong));
        }
        let verdicts = grouped(self.rows * agents.len() as u64);
        report.note(&format!("{verdicts} verdicts held to the backstop, {} to the oracle: {} wrong", asked * agents.len(), wrong.len()));
        report.check(what, &wrong);
        right
    }
}

/// A file mapped, every page of it touched.
pub fn touched(path: &Path) -> io::Result<Octets> {
    let octets = open(path)?;
    std::hint::black_box(octets.as_slice().chunks(4096).map(|page| u64::from(page[0])).sum::<u64>());
    Ok(octets)
}

/// A run over a mapped list on one thread.
pub fn evaluate(evaluator: &Evaluator<'_>, octets: &[u8], rows: u64) {
    let summary = policy::evaluate(evaluator, &mut MappedLines::new(octets), &mut Discard, ONE);
    assert_eq!(summary.rows, rows);
}

pub fn measure(target: &Single, corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let what = format!("{} {}", target.file.trim_start_matches("bench-"), target.agent);
    let setting = Setting::new(corpus, target.file, plan.rows)?;
    let octets = setting.repeated.as_slice();
    let list = std::str::from_utf8(&setting.list).map_err(io::Error::other)?;
    let paths = Rows::new(list);
    let peer = Peer::new("texting_robots", target.agent, &setting.body).map_err(io::Error::other)?;
    let evaluator = Evaluator::new(&setting.store, policy::agents([target.agent]));
    let mut allowed = 0;
    let times = take_turns(
        plan.rounds,
        vec![
            Contestant::new(|| assert_eq!(floor(octets), setting.rows)),
            Contestant::new(|| evaluate(&evaluator, octets, setting.rows)),
            Contestant::new(|| allowed = peer.allowed(&paths)).within(PEER_TIME),
        ],
    );
    let [floor, ours, theirs] = &times[..] else { unreachable!("three ran") };
    let peer_rows = paths.urls.len() as u64;
    report.line(&format!("{what}: times the floor"), ours.over(setting.rows, floor, setting.rows), Target::AtMost(target.floor));
    let faster = theirs.over(peer_rows, ours, setting.rows);
    report.line(&format!("{what}: times faster than texting_robots"), faster, Target::AtLeast(target.peer));
    report.note(&ns(&[("floor", floor, setting.rows), ("robosieve", ours, setting.rows), ("texting_robots", theirs, peer_rows)]));
    if plan.check {
        let right = setting.check(&what, &evaluator, false, report);
        let ours = right.0[0].iter().filter(|&&verdict| verdict == Verdict::Allow).count();
        report.note(&format!("of the list's {peer_rows} rows robosieve allows {ours}, texting_robots {allowed}"));
    }
    Ok(())
}

/// Nanoseconds a row of some contestants.
pub fn ns(all: &[(&str, &Times, u64)]) -> String {
    let one = |(name, times, units): &(&str, &Times, u64)| format!("{name} {} ns", short(times.median_ns(*units)));
    format!("{} a row", all.iter().map(one).collect::<Vec<_>>().join(", "))
}
