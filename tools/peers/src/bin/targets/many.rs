//! Many origins, each with its own policy, from a store.

use std::fs;
use std::io;
use std::time::Duration;

use hashbrown::HashMap;

use robosieve::compile::Options;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::Evaluator;
use robosieve::store::Store;
use robosieve::store::map::Octets;
use robosieve_peers::clock::{Contestant, take_turns};
use robosieve_peers::corpus::{Corpus, row_count};
use robosieve_peers::policy::{self, Held, ONE, floor};

use crate::Plan;
use crate::report::{Report, Target, grouped};
use crate::single::{evaluate, ns, touched};

/// A list and a store of policies.
pub struct Setting {
    pub list: Octets,
    pub rows: u64,
    pub store: Store,
    archive: &'static str,
}

impl Setting {
    pub fn new(corpus: &Corpus, list: &str, archive: &'static str) -> io::Result<Setting> {
        let path = corpus.scratch(list);
        fs::write(&path, corpus.octets(list)?)?;
        let list = touched(&path)?;
        let rows = row_count(list.as_slice());
        let store = policy::of_folders(&[&corpus.files(archive)?], Options::default(), &corpus.scratch("policies.rsieve"))?;
        Ok(Setting { list, rows, store, archive })
    }

    fn check(&self, what: &str, corpus: &Corpus, report: &mut Report) -> io::Result<()> {
        let (agents, list) = (policy::agents(["*"]), self.list.as_slice());
        let folder = corpus.files(self.archive)?;
        let by_backstop = policy::of_folders(&[&folder], policy::backstop(), &corpus.scratch("backstop.rsieve"))?;
        let right = policy::verdicts(&by_backstop, &agents, list);
        let mut held = Held { right: &right, wrong: 0, with_decisions: false };
        policy::evaluate(&Evaluator::new(&self.store, agents.clone()), &mut MappedLines::new(list), &mut held, ONE);
        let (asked, mut wrong) = policy::ask_the_oracle(&self.store, &agents, list, &right, Duration::from_secs(3));
        if held.wrong > 0 {
            wrong.push(format!("{} verdicts are not those of the backstop", held.wrong));
        }
        report.note(&format!("{} verdicts held to the backstop, {asked} to the oracle: {} wrong", grouped(self.rows), wrong.len()));
        report.check(what, &wrong);
        Ok(())
    }
}

/// Real URLs of 240 hosts, sorted, each host with its own policy: against the floor.
pub fn gov(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let setting = Setting::new(corpus, "urls-gov.txt", "robots-gov")?;
    let octets = setting.list.as_slice();
    let evaluator = Evaluator::new(&setting.store, policy::agents(["*"]));
    let times = take_turns(
        2 * plan.rounds,
        vec![Contestant::new(|| assert_eq!(floor(octets), setting.rows)), Contestant::new(|| evaluate(&evaluator, octets, setting.rows))],
    );
    let what = "urls-gov *: times the floor";
    report.line(what, times[1].over(setting.rows, &times[0], setting.rows), Target::AtMost(6.0));
    report.note(&ns(&[("floor", &times[0], setting.rows), ("robosieve", &times[1], setting.rows)]));
    if plan.check { setting.check(what, corpus, report) } else { Ok(()) }
}

/// Random hosts: against a bare split, hash and look-up of the same rows.
pub fn mixed(corpus: &Corpus, plan: &Plan, report: &mut Report) -> io::Result<()> {
    let setting = Setting::new(corpus, "urls-mixed.txt", "robots-top")?;
    let octets = setting.list.as_slice();
    let evaluator = Evaluator::new(&setting.store, policy::agents(["*"]));
    let hosts = hosts(&setting.store);
    let mut found = 0;
    let times = take_turns(
        2 * plan.rounds,
        vec![
            Contestant::new(|| assert_eq!(floor(octets), setting.rows)),
            Contestant::new(|| found = look_up(octets, &hosts)),
            Contestant::new(|| evaluate(&evaluator, octets, setting.rows)),
        ],
    );
    let what = "urls-mixed *: times a bare split, hash and look-up";
    report.line(what, times[2].over(setting.rows, &times[1], setting.rows), Target::AtMost(1.5));
    report.note(&ns(&[("floor", &times[0], setting.rows), ("bare", &times[1], setting.rows), ("robosieve", &times[2], setting.rows)]));
    report.note(&format!("{} of {} rows have a host that the table holds", grouped(found), grouped(setting.rows)));
    if plan.check { setting.check(what, corpus, report) } else { Ok(()) }
}

/// The hosts of a store, numbered.
fn hosts(store: &Store) -> HashMap<&[u8], u32> {
    let origins = store.origins().map(|origin| origin.expect("a sound store").key());
    origins.map(host).zip(0..).collect()
}

/// What stands between `://` and the next `/`.
fn host(url: &[u8]) -> &[u8] {
    let start = memchr::memchr(b':', url).filter(|&at| url[at..].starts_with(b"://")).map_or(0, |at| at + 3);
    let end = memchr::memchr(b'/', &url[start..]).map_or(url.len(), |at| start + at);
    &url[start..end]
}

/// How many rows have a host in the table: what any evaluation by host must do at least.
fn look_up(octets: &[u8], hosts: &HashMap<&[u8], u32>) -> u64 {
    let (mut start, mut found, mut sum) = (0, 0, 0);
    for end in memchr::memchr_iter(b'\n', octets) {
        if let Some(&index) = hosts.get(host(&octets[start..end])) {
            found += 1;
            sum += u64::from(index);
        }
        start = end + 1;
    }
    std::hint::black_box(sum);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bare_hosts() {
        for (url, right) in
            [("https://a.b/c", "a.b"), ("http://a.b", "a.b"), ("x", "x"), ("mailto:a", "mailto:a"), ("http://a/b://c/", "a")]
        {
            assert_eq!(host(url.as_bytes()), right.as_bytes());
        }
        let hosts = HashMap::from([(b"a".as_slice(), 1), (b"b".as_slice(), 2)]);
        assert_eq!(look_up(b"http://a/b\nhttp://c/\nhttp://b/\n", &hosts), 2);
    }
}
