//! What is measured on: policies, rows, agents, and the rows that slow matchers get.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use robosieve::agent::{Agent, preset};
use robosieve::decision::Verdict;
use robosieve::dialect::RFC9309;
use robosieve::fetch::{Access, Outcome};
use robosieve::policy::Policy;
use robosieve::store::Store;
use robosieve::store::map::{Octets, open as open_map};
use robosieve::url::Url;

use super::args::BenchArgs;
use super::generate::sample;
use crate::args::AgentArgs;
use crate::exit::{Failure, shown};
use crate::{agents, policies};

/// Where agents are many and none was named.
const SEVERAL: &str = "@apertus";

pub struct Inputs {
    pub store: Store,
    pub list: List,
    /// The first is the one that most figures are about.
    pub agents: Vec<Agent>,
    /// How many of the agents were asked for; the others were added to have several.
    pub named: usize,
    pub policies_name: String,
    pub list_name: String,
}

pub enum List {
    Mapped(Octets),
    Read(Vec<u8>),
}

impl List {
    pub fn octets(&self) -> &[u8] {
        match self {
            List::Mapped(octets) => octets.as_slice(),
            List::Read(octets) => octets,
        }
    }

    fn open(path: &Path) -> Result<List, Failure> {
        let mut octets = Vec::new();
        if path == Path::new("-") {
            io::stdin().lock().read_to_end(&mut octets).map_err(|error| Failure::of("standard input", &error))?;
            return Ok(List::Read(octets));
        }
        let failed = |error: io::Error| Failure::of(shown(path), &error);
        let mut file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_file() {
            return open_map(path).map(List::Mapped).map_err(failed);
        }
        file.read_to_end(&mut octets).map_err(failed)?;
        Ok(List::Read(octets))
    }
}

impl Inputs {
    pub fn load(args: &BenchArgs) -> Result<Inputs, Failure> {
        let (agents, named) = asked(&args.agents)?;
        let Some((source, urls)) = args.policies().zip(args.urls.as_deref()) else {
            let (store, list) = sample(args.dialect.unwrap_or(RFC9309), args.rows.get())?;
            let (policies_name, list_name) = ("a sample, made up".to_owned(), "a sample, made up".to_owned());
            return Ok(Inputs { store, list: List::Read(list), agents, named, policies_name, list_name });
        };
        if source.policies == Path::new("-") && urls == Path::new("-") {
            return Err(Failure::new("standard input can be the policies or the URLs, not both"));
        }
        let store = policies::load_all(&source, args.dialect.as_slice())?.remove(0);
        let list = List::open(urls)?;
        if list.octets().is_empty() {
            return Err(Failure::new(format!("{}: no row to measure on", shown(urls))));
        }
        Ok(Inputs { store, list, agents, named, policies_name: shown(&source.policies), list_name: shown(urls) })
    }
}

/// The agents, several in any case, and how many of them were named.
fn asked(named: &[String]) -> Result<(Vec<Agent>, usize), Failure> {
    let named = if named.is_empty() { vec!["*".to_owned()] } else { named.to_vec() };
    let mut agents = agents::collect(&AgentArgs { agents: named, user_agents: Vec::new(), profiles: false, agent_file: Vec::new() })?;
    let count = agents.len();
    if count == 1 {
        let others = preset(SEVERAL).map(|preset| preset.agents().filter(|agent| *agent != agents[0]).collect::<Vec<_>>());
        agents.extend(others.unwrap_or_default());
    }
    Ok((agents, count))
}

/// The rows of a list, as the pipeline has them.
pub fn rows(list: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    list.split_inclusive(|&octet| octet == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

/// A policy whose rules answer for some rows, of one origin or several.
pub struct Met {
    pub body: Vec<u8>,
    pub policy: Policy,
}

/// An origin of some rows, of which something is known.
pub struct MetOrigin {
    /// Its key, or `*` where one policy answers for all.
    pub key: Vec<u8>,
    pub outcome: Outcome,
    /// The index of its policy, if rules count.
    pub met: Option<usize>,
}

/// What answers for a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The row names no origin.
    BadUrl,
    /// This, but for robots.txt itself.
    Same(Verdict),
    /// The rules of the policy of that index.
    Rules(usize),
}

/// Finds what answers for rows, and keeps what it found.
pub struct Places<'s> {
    store: &'s Store,
    known: HashMap<Vec<u8>, Standing>,
    pub met: Vec<Met>,
    digests: HashMap<[u8; 32], usize>,
    pub origins: Vec<MetOrigin>,
    key: Vec<u8>,
    /// What the last row began with, what answers for rows that begin so, and where their targets begin.
    last: (Vec<u8>, Standing, usize),
}

impl<'s> Places<'s> {
    pub fn new(store: &'s Store) -> Places<'s> {
        let last = (Vec::new(), Standing::BadUrl, 0);
        Places { store, known: HashMap::new(), met: Vec::new(), digests: HashMap::new(), origins: Vec::new(), key: Vec::new(), last }
    }

    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// What answers for a row, and where its target begins.
    pub fn find(&mut self, row: &[u8]) -> Result<(Standing, usize), Failure> {
        let form = self.store.dialect().form;
        if self.store.has_any_origin() && form.cuts_anything() {
            return Ok((self.standing(b"")?, form.start(row)));
        }
        let (prefix, standing, at) = &self.last;
        if *standing != Standing::BadUrl && matches!(row.strip_prefix(&prefix[..]), Some([] | [b'/' | b'?' | b'#', ..])) {
            return Ok((*standing, *at));
        }
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        let url = Url::split(row).and_then(|url| url.write_key(form.origin(), &mut key).map(|()| url));
        let found = match url {
            Ok(url) => (url.prefix().to_vec(), self.standing(&key)?, form.start(url.prefix())),
            Err(_) => (Vec::new(), Standing::BadUrl, 0),
        };
        (self.key, self.last) = (key, found);
        Ok((self.last.1, self.last.2))
    }

    fn standing(&mut self, key: &[u8]) -> Result<Standing, Failure> {
        let key = if self.store.has_any_origin() { b"*" } else { key };
        if let Some(&known) = self.known.get(key) {
            return Ok(known);
        }
        let standing = self.look_up(key)?;
        self.known.insert(key.to_vec(), standing);
        Ok(standing)
    }

    fn look_up(&mut self, key: &[u8]) -> Result<Standing, Failure> {
        let Some(origin) = self.store.find(key)? else { return Ok(Standing::Same(Verdict::Unresolved)) };
        let snapshot = origin.newest()?;
        let outcome = snapshot.outcome();
        let standing = match self.store.dialect().access.read(outcome) {
            Access::Allow => Standing::Same(Verdict::Allow),
            Access::Disallow => Standing::Same(Verdict::Disallow),
            Access::Unresolved => Standing::Same(Verdict::Unresolved),
            Access::Rules => match self.store.body(&snapshot)? {
                None => Standing::Same(Verdict::Allow),
                Some(body) => Standing::Rules(self.meet(*snapshot.digest(), body)),
            },
        };
        let met = if let Standing::Rules(index) = standing { Some(index) } else { None };
        self.origins.push(MetOrigin { key: key.to_vec(), outcome, met });
        Ok(standing)
    }

    /// The index of a policy, which may be known from another origin.
    fn meet(&mut self, digest: [u8; 32], body: Vec<u8>) -> usize {
        *self.digests.entry(digest).or_insert_with(|| {
            let policy = Policy::parse(&body, self.store.dialect());
            self.met.push(Met { body, policy });
            self.met.len() - 1
        })
    }
}

/// Rows for slow matchers: evenly spread over those of the policies that answer for the most.
pub struct Sample {
    pub list: Vec<u8>,
    /// Of each row its number in the whole list, and the policy that answers for it.
    pub rows: Vec<(u64, usize)>,
}

impl Sample {
    pub fn choose(places: &mut Places<'_>, list: &[u8], row_limit: usize, policy_limit: usize) -> Result<Sample, Failure> {
        let mut counts: Vec<u64> = Vec::new();
        for row in rows(list) {
            if let (Standing::Rules(index), _) = places.find(row)? {
                counts.resize(counts.len().max(index + 1), 0);
                counts[index] += 1;
            }
        }
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|&index| (std::cmp::Reverse(counts[index]), index));
        let chosen: HashSet<usize> = order.into_iter().take(policy_limit).collect();
        let total: u64 = chosen.iter().map(|&index| counts[index]).sum();
        let wanted = total.min(row_limit as u64);
        let mut sample = Sample { list: Vec::new(), rows: Vec::new() };
        let mut seen = 0;
        for (number, row) in (0..).zip(rows(list)) {
            let (Standing::Rules(index), _) = places.find(row)? else { continue };
            // A second CR before a line end would be taken for a part of it.
            if !chosen.contains(&index) || row.ends_with(b"\r") {
                continue;
            }
            // Of every total / wanted rows one.
            if seen * wanted / total != (seen + 1) * wanted / total {
                sample.list.extend_from_slice(row);
                sample.list.push(b'\n');
                sample.rows.push((number, index));
            }
            seen += 1;
        }
        Ok(sample)
    }

    /// The policies that the rows belong to, each once, in the order in which they are met.
    pub fn policies(&self) -> Vec<usize> {
        let mut seen = HashSet::new();
        self.rows.iter().map(|&(_, index)| index).filter(|&index| seen.insert(index)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robosieve::store::build::{Builder, Record};

    #[test]
    fn a_sample_is_spread_over_the_rows_of_the_policies_that_answer_for_most() {
        let mut builder = Builder::new(RFC9309);
        for host in ["one.example", "two.example", "three.example"] {
            builder.add_name(host, Record::body(format!("User-agent: *\nDisallow: /{host}\n").into_bytes())).unwrap();
        }
        let store = builder.finish().unwrap().open().unwrap();
        let list = "https://one.example/a\nno url\nhttps://two.example/b\r\nhttps://two.example/c\nhttps://nobody.example/\nhttps://two.example/d\n";
        let mut places = Places::new(&store);
        let sample = Sample::choose(&mut places, list.as_bytes(), 2, 1).unwrap();
        assert_eq!(places.met.len(), 2);
        assert_eq!(sample.policies(), [1]);
        assert_eq!(sample.rows.iter().map(|row| row.0).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(sample.list, b"https://two.example/c\nhttps://two.example/d\n");
        assert_eq!(Sample::choose(&mut places, list.as_bytes(), 9, 9).unwrap().rows.len(), 4);
    }
}
