//! Whole domains: a registered domain is opted out if one of its hosts is.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::num::NonZeroUsize;

use super::filter::Scope;
use super::lines::MappedLines;
use super::sums::{Total, number_of};
use crate::pipeline::{Decided, Evaluator, RunError, Sink, run};
use crate::protocol::decision::Verdict;
use crate::target::url::Url;

/// The registered domain of a host: its public suffix (<https://publicsuffix.org>, private ones too) and the label before it. A host that is an address or a
/// public suffix itself stands for itself.
///
/// ```
/// use robosieve::io::domains::registered_domain;
///
/// assert_eq!(registered_domain("www.news.example.co.uk"), "example.co.uk");
/// assert_eq!(registered_domain("someone.github.io"), "someone.github.io");
/// assert_eq!(registered_domain("192.0.2.1"), "192.0.2.1");
/// ```
pub fn registered_domain(host: &str) -> &str {
    if host.starts_with('[') || host.parse::<Ipv4Addr>().is_ok() {
        return host;
    }
    psl::domain_str(host).unwrap_or(host)
}

/// What policies say about whole domains.
///
/// A registered domain is disallowed to an agent if, of the origins that the policies know in it, one disallows it the start page, `/`; else it is
/// allowed if one of them has an answer, and unresolved if not. That is how published lists of opted-out domains are made ("if any subdomain of a given
/// domain disallows crawling", <https://data-compliance.github.io/tools>): a page is left out for what another host of its domain says, and kept in spite
/// of rules for its path.
#[derive(Debug, Default)]
pub struct DomainRule {
    /// The verdicts, one a column.
    verdicts: HashMap<Box<str>, Box<[Verdict]>>,
    columns: usize,
}

impl DomainRule {
    /// The rule by the policies and for the agents of `evaluator`.
    ///
    /// # Errors
    ///
    /// When the threads can not be started.
    pub fn of(evaluator: &Evaluator<'_>, threads: NonZeroUsize) -> Result<DomainRule, RunError> {
        let mut list = Vec::new();
        for origin in evaluator.readings().iter().flat_map(|reading| reading.store().origins()).filter_map(Result::ok) {
            let key = origin.key();
            // Where keys have no scheme, any will do.
            if !key.windows(3).any(|octets| octets == b"://") {
                list.extend_from_slice(b"http://");
            }
            list.extend_from_slice(key);
            list.extend_from_slice(b"/\n");
        }
        let mut rule = DomainRule { verdicts: HashMap::new(), columns: evaluator.columns().len() };
        run(&mut MappedLines::new(&list), evaluator, &mut Learn(&mut rule), threads)?;
        Ok(rule)
    }

    /// How many domains are known.
    pub fn domain_count(&self) -> usize {
        self.verdicts.len()
    }

    /// How many domains are disallowed in a column.
    pub fn opted_out_count(&self, column: usize) -> usize {
        self.verdicts.values().filter(|verdicts| verdicts[column] == Verdict::Disallow).count()
    }

    /// The verdict on the domain of a URL.
    pub fn verdict(&self, url: &[u8], column: usize) -> Verdict {
        self.verdicts_of(url).map_or(Verdict::Unresolved, |verdicts| verdicts[column])
    }

    fn verdicts_of(&self, url: &[u8]) -> Option<&[Verdict]> {
        let host = host_of(url)?;
        self.verdicts.get(registered_domain(&host)).map(|verdicts| &**verdicts)
    }
}

/// The host of a URL, as its origin has it.
fn host_of(url: &[u8]) -> Option<String> {
    let mut origin = Url::split(url).and_then(|url| url.origin()).ok()?;
    let start = origin.find("://")? + 3;
    let end = match origin[start..].starts_with('[') {
        true => start + origin[start..].find(']')? + 1,
        false => origin[start..].find(':').map_or(origin.len(), |at| start + at),
    };
    origin.truncate(end);
    origin.drain(..start);
    Some(origin)
}

/// Learns what the start page of each origin says.
struct Learn<'r>(&'r mut DomainRule);

impl Sink for Learn<'_> {
    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for row in 0..decided.row_count() {
            let Some(host) = host_of(decided.row(row)) else { continue };
            let columns = self.0.columns;
            let known = self.0.verdicts.entry(registered_domain(&host).into()).or_insert_with(|| vec![Verdict::Unresolved; columns].into());
            for (column, known) in known.iter_mut().enumerate() {
                *known = match (*known, decided.verdict(row, column)) {
                    (Verdict::Disallow, _) | (_, Verdict::Disallow) => Verdict::Disallow,
                    (Verdict::Allow, _) | (_, Verdict::Allow) => Verdict::Allow,
                    _ => Verdict::Unresolved,
                };
            }
        }
        Ok(())
    }
}

/// What the domain of a row says, as long as rows have the same.
#[derive(Debug)]
struct Cursor<'r> {
    rule: &'r DomainRule,
    prefix: Vec<u8>,
    verdicts: Option<&'r [Verdict]>,
}

impl<'r> Cursor<'r> {
    fn new(rule: &'r DomainRule) -> Cursor<'r> {
        Cursor { rule, prefix: Vec::new(), verdicts: None }
    }

    fn verdict(&mut self, row: &[u8], column: usize) -> Verdict {
        if self.prefix.is_empty() || !Url::is_prefix(&self.prefix, row) {
            self.prefix.clear();
            if let Ok(url) = Url::split(row) {
                self.prefix.extend_from_slice(url.prefix());
            }
            self.verdicts = self.rule.verdicts_of(row);
        }
        self.verdicts.map_or(Verdict::Unresolved, |verdicts| verdicts[column])
    }
}

/// Lets a filter decide by whole domains.
#[derive(Debug)]
pub struct WholeDomains<'r>(Cursor<'r>);

impl<'r> WholeDomains<'r> {
    /// By that rule.
    pub fn new(rule: &'r DomainRule) -> WholeDomains<'r> {
        WholeDomains(Cursor::new(rule))
    }
}

impl Scope for WholeDomains<'_> {
    fn verdict(&mut self, decided: &Decided<'_>, row: usize, column: usize) -> Verdict {
        self.0.verdict(decided.row(row), column)
    }
}

/// What the two rules come to in one column: rows, and sums of carried columns.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DomainTally {
    /// Rows by the verdict on their domain: allow, disallow, unresolved.
    pub rows: [u64; 3],
    /// Rows that are disallowed both as pages and by their domain.
    pub both: u64,
    /// Sums of the carried columns asked for, likewise.
    pub sums: Vec<[Total; 3]>,
}

impl DomainTally {
    /// Adds what other rows come to.
    pub fn add(&mut self, other: &DomainTally) {
        self.rows.iter_mut().zip(other.rows).for_each(|(mine, theirs)| *mine += theirs);
        self.both += other.both;
        self.sums.resize(other.sums.len(), [Total::default(); 3]);
        let pairs = self.sums.iter_mut().flatten().zip(other.sums.iter().flatten());
        pairs.for_each(|(mine, theirs)| mine.add(*theirs));
    }
}

/// A sink that counts what the rule for whole domains says, on the way to another sink.
pub struct DomainTallies<'k, 'r> {
    sink: &'k mut dyn Sink,
    cursor: Cursor<'r>,
    sum_columns: Vec<usize>,
    tallies: Vec<DomainTally>,
}

impl<'k, 'r> DomainTallies<'k, 'r> {
    /// Counts on the way to `sink`, and adds up the carried columns of those numbers.
    pub fn new(sink: &'k mut dyn Sink, rule: &'r DomainRule, sum_columns: Vec<usize>) -> DomainTallies<'k, 'r> {
        let tally = DomainTally { sums: vec![[Total::default(); 3]; sum_columns.len()], ..DomainTally::default() };
        DomainTallies { sink, cursor: Cursor::new(rule), sum_columns, tallies: vec![tally; rule.columns] }
    }

    /// What was counted, one a column.
    pub fn into_tallies(self) -> Vec<DomainTally> {
        self.tallies
    }
}

impl Sink for DomainTallies<'_, '_> {
    fn wants_decisions(&self) -> bool {
        self.sink.wants_decisions()
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for row in 0..decided.row_count() {
            let numbers: Vec<Option<Total>> = self.sum_columns.iter().map(|&column| number_of(decided, column, row)).collect();
            for (column, tally) in self.tallies.iter_mut().enumerate() {
                let verdict = self.cursor.verdict(decided.row(row), column);
                tally.rows[verdict as usize] += 1;
                tally.both += u64::from(verdict == Verdict::Disallow && decided.verdict(row, column) == Verdict::Disallow);
                for (sum, number) in tally.sums.iter_mut().zip(&numbers) {
                    number.iter().for_each(|&number| sum[verdict as usize].add(number));
                }
            }
        }
        self.sink.write(decided)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::agent::Agent;
    use crate::protocol::dialect::RFC9309;
    use crate::store::build::{Builder, Record};
    use crate::target::url::origins_of_name;

    #[test]
    fn one_host_speaks_for_its_domain() {
        let mut builder = Builder::new(RFC9309);
        let policies = [
            ("www.example.co.uk", "User-agent: *\nDisallow: /x\n"),
            ("shop.example.co.uk", "User-agent: GPTBot\nDisallow: /\nAllow: /ads.txt\n"),
            ("a.github.io", "User-agent: *\nDisallow: /\n"),
            ("192.0.2.1", "User-agent: *\nDisallow: /\n"),
        ];
        for (name, body) in policies {
            builder.add_batch(vec![(name.to_owned(), origins_of_name(name).unwrap(), Record::body(body.as_bytes().to_vec()))]);
        }
        let store = builder.finish().unwrap().open().unwrap();
        let evaluator = Evaluator::new(&store, vec![Agent::token("GPTBot").unwrap(), Agent::token("*").unwrap()]);
        let rule = DomainRule::of(&evaluator, NonZeroUsize::MIN).unwrap();
        let both = |url: &str| [rule.verdict(url.as_bytes(), 0), rule.verdict(url.as_bytes(), 1)];
        use Verdict::{Allow, Disallow, Unresolved};
        assert_eq!(both("https://WWW.Example.co.uk:8080/x"), [Disallow, Allow]);
        assert_eq!(both("ftp://example.co.uk"), [Disallow, Allow]);
        assert_eq!(both("https://a.github.io/"), [Disallow, Disallow]);
        assert_eq!(both("https://b.github.io/"), [Unresolved, Unresolved]);
        assert_eq!(both("https://192.0.2.1/"), [Disallow, Disallow]);
        assert_eq!(both("https://198.0.2.1/"), [Unresolved, Unresolved]);
        assert_eq!(both("no URL"), [Unresolved, Unresolved]);
        assert_eq!((rule.domain_count(), rule.opted_out_count(0), rule.opted_out_count(1)), (3, 3, 2));
        let list = b"https://example.co.uk/x\nhttps://www.example.co.uk/x\nhttps://www.example.co.uk/\nhttps://a.github.io/\nx\n";
        let mut discard = crate::pipeline::Discard;
        let mut tallies = DomainTallies::new(&mut discard, &rule, Vec::new());
        run(&mut MappedLines::new(list), &evaluator, &mut tallies, NonZeroUsize::MIN).unwrap();
        let tallies = tallies.into_tallies();
        assert_eq!((tallies[0].rows, tallies[0].both), ([0, 4, 1], 2));
        assert_eq!((tallies[1].rows, tallies[1].both), ([3, 1, 1], 1));
    }
}
