//! Policies as stores, verdicts that are kept, and what is right.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use robosieve::agent::Agent;
use robosieve::compile::Options;
use robosieve::decision::Verdict;
use robosieve::dialect::RFC9309;
use robosieve::io::directory::add_directory;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Decided, Evaluator, Sink, Source, Summary, count_rows, run};
use robosieve::policy::Policy;
use robosieve::program::{Program, Rung};
use robosieve::scan::Isa;
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};
use robosieve::url::Url;

/// The naive reading of RFC 9309 that the tests hold the engine to.
#[path = "../../../tests/it/oracle.rs"]
#[allow(dead_code, missing_docs)]
mod oracle;

use oracle::Oracle;

pub const ONE: NonZeroUsize = NonZeroUsize::MIN;

/// A store of one policy, under the origin of the list's first row.
pub fn single(body: &[u8], list: &[u8], options: Options) -> Store {
    let row = list.split(|&octet| octet == b'\n').next().expect("a row");
    let origin = Url::split(row).and_then(|url| url.origin()).expect("a first row with an origin");
    let mut builder = Builder::new(RFC9309).options(options);
    builder.add_name(&origin, Record::body(body.to_vec())).expect("an origin is a name");
    builder.finish().and_then(|built| built.open()).expect("a sound store")
}

/// A store of the policies of folders, written to a file and opened there.
pub fn of_folders(folders: &[&Path], options: Options, path: &Path) -> io::Result<Store> {
    let mut builder = Builder::new(RFC9309).options(options);
    for folder in folders {
        add_directory(&mut builder, folder)?;
    }
    let built = builder.finish().map_err(io::Error::other)?;
    built.write(path).map_err(io::Error::other)?;
    Store::open(path).map_err(io::Error::other)
}

/// Options that decide by the backstop alone.
pub fn backstop() -> Options {
    Options::default().with_rung(Some(Rung::Backstop))
}

/// Agents by their tokens.
pub fn agents<'t>(tokens: impl IntoIterator<Item = &'t str>) -> Vec<Agent> {
    tokens.into_iter().map(|token| Agent::token(token).expect("a token")).collect()
}

/// `*` and the tokens of a policy, as many as are asked for, no two of which are bound by the same rules.
pub fn distinct_tokens(body: &[u8], count: usize) -> Vec<String> {
    let octets = robosieve::compile::compile(&Policy::parse(body, &RFC9309), &Options::default());
    let program = Program::check(&octets).expect("a sound program");
    let named = (0..program.token_count()).filter_map(|index| program.token(index));
    let named = named.map(|(token, set)| (String::from_utf8_lossy(token).into_owned(), set));
    let mut chosen: Vec<(String, u32)> = Vec::new();
    for (token, set) in program.star_rule_set().map(|set| ("*".to_owned(), set)).into_iter().chain(named) {
        let rules = |set: u32| program.rule_set(set).expect("a sound rule set");
        if chosen.len() < count && !chosen.iter().any(|(_, known)| rules(*known).has_verdicts_of(&rules(set))) {
            chosen.push((token, set));
        }
    }
    chosen.into_iter().map(|(token, _)| token).collect()
}

/// A sink that keeps every verdict, a list a column.
#[derive(Default)]
pub struct Kept(pub Vec<Vec<Verdict>>);

impl Sink for Kept {
    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        self.0.resize_with(decided.columns().len(), Vec::new);
        for (column, kept) in self.0.iter_mut().enumerate() {
            kept.extend((0..decided.row_count()).map(|row| decided.verdict(row, column)));
        }
        Ok(())
    }
}

/// A sink that holds every verdict to those of a list that is repeated.
pub struct Held<'k> {
    pub right: &'k Kept,
    pub wrong: u64,
    pub with_decisions: bool,
}

impl Sink for Held<'_> {
    fn wants_decisions(&self) -> bool {
        self.with_decisions
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        for (column, right) in self.right.0.iter().enumerate() {
            let first = (decided.first_row() % right.len() as u64) as usize;
            let right = right.iter().cycle().skip(first);
            self.wrong += (0..decided.row_count()).zip(right).filter(|&(row, &right)| decided.verdict(row, column) != right).count() as u64;
        }
        Ok(())
    }
}

/// A sink that asks for the deciding rules and keeps nothing.
pub struct WithRules;

impl Sink for WithRules {
    fn wants_decisions(&self) -> bool {
        true
    }

    fn write(&mut self, _: &Decided<'_>) -> io::Result<()> {
        Ok(())
    }
}

/// Every verdict of a list.
pub fn verdicts(store: &Store, agents: &[Agent], list: &[u8]) -> Kept {
    let mut kept = Kept::default();
    evaluate(&Evaluator::new(store, agents.to_vec()), &mut MappedLines::new(list), &mut kept, ONE);
    kept
}

/// A run that can not fail.
pub fn evaluate<'s>(evaluator: &Evaluator<'s>, source: &mut dyn Source<'s>, sink: &mut dyn Sink, threads: NonZeroUsize) -> Summary {
    run(source, evaluator, sink, threads).expect("rows that can be read")
}

/// Asks the oracle about rows spread over a list, until `time` is over. Gives how many were asked, and those it disagrees on.
pub fn ask_the_oracle(store: &Store, agents: &[Agent], list: &[u8], verdicts: &Kept, time: Duration) -> (usize, Vec<String>) {
    let start = Instant::now();
    let rows: Vec<&[u8]> = list.split(|&octet| octet == b'\n').collect();
    let (mut judge, mut wrong, mut asked) = (Judge { store, oracles: HashMap::new() }, Vec::new(), 0);
    let row_count = verdicts.0[0].len();
    // A step that shares no divisor with most lengths goes through the whole list in an order without pattern.
    for row in (0..row_count).map(|at| (at as u64 * 2_654_435_761 % row_count as u64) as usize) {
        if start.elapsed() > time {
            break;
        }
        asked += 1;
        for (agent, kept) in agents.iter().zip(&verdicts.0) {
            let url = rows[row].strip_suffix(b"\r").unwrap_or(rows[row]);
            let right = judge.verdict(agent, url);
            if right != kept[row] {
                wrong.push(format!("{} for {}: {:?}, the oracle says {right:?}", url.escape_ascii(), agent.name(), kept[row]));
            }
        }
    }
    (asked, wrong)
}

/// The oracle for every origin of a store.
struct Judge<'s> {
    store: &'s Store,
    oracles: HashMap<Vec<u8>, Option<Oracle>>,
}

impl Judge<'_> {
    fn verdict(&mut self, agent: &Agent, url: &[u8]) -> Verdict {
        let Some(origin) = oracle::origin(url) else { return Verdict::Unresolved };
        let store = self.store;
        let known = self.oracles.entry(origin.into_bytes()).or_insert_with_key(|key| {
            let snapshot = store.find(key).expect("a sound store")?.newest().expect("a sound store");
            Some(Oracle::parse(&store.body(&snapshot).expect("a sound body").unwrap_or_default()))
        });
        let tokens: Vec<&str> = agent.tokens().iter().map(String::as_str).collect();
        let status = if known.is_some() { "200" } else { "unknown" };
        let nothing = Oracle::parse(b"");
        match known.as_ref().unwrap_or(&nothing).decide_fetched(status, "rfc9309", &tokens, agent.star(), url).verdict {
            oracle::Verdict::Allow => Verdict::Allow,
            oracle::Verdict::Disallow => Verdict::Disallow,
            oracle::Verdict::Unresolved => Verdict::Unresolved,
        }
    }
}

/// The rows of a list in memory, found by the code that evaluation uses, and nothing else.
pub fn floor(octets: &[u8]) -> u64 {
    count_rows(&mut MappedLines::new(octets), Isa::best()).expect("rows in memory")
}

/// Every file of a folder with its octets, in order of name.
pub fn bodies(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let mut paths = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.iter().filter(|path| path.is_file()).map(fs::read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"User-agent: a\nDisallow: /x\nUser-agent: b\nDisallow: /x\nUser-agent: c\nDisallow: /y\nUser-agent: *\nAllow: /\n";
    const LIST: &[u8] = b"https://example.com/x\nhttps://example.com/y\nhttps://example.org/\nno URL";

    #[test]
    fn agents_that_differ() {
        assert_eq!(distinct_tokens(BODY, 9), ["*", "a", "c"]);
        assert_eq!(distinct_tokens(BODY, 2).len(), 2);
    }

    #[test]
    fn the_oracle_agrees_and_notices() {
        let store = single(BODY, LIST, backstop());
        let agents = agents(["a", "c"]);
        let mut kept = verdicts(&store, &agents, LIST);
        let time = Duration::from_secs(9);
        assert_eq!(ask_the_oracle(&store, &agents, LIST, &kept, time), (4, vec![]));
        kept.0[1][0] = Verdict::Unresolved;
        assert_eq!(ask_the_oracle(&store, &agents, LIST, &kept, time).1.len(), 1);
    }

    #[test]
    fn a_repeated_list_is_held_to_the_list() {
        let store = single(BODY, LIST, Options::default());
        let agents = agents(["a"]);
        let mut right = verdicts(&store, &agents, LIST);
        let repeated = [LIST, b"\n", LIST].concat();
        let wrong = |right: &Kept| {
            let mut held = Held { right, wrong: 0, with_decisions: true };
            let summary = evaluate(&Evaluator::new(&store, agents.clone()), &mut MappedLines::new(&repeated), &mut held, ONE);
            assert_eq!(summary.rows, 8);
            held.wrong
        };
        assert_eq!(wrong(&right), 0);
        right.0[0][1] = Verdict::Disallow;
        assert_eq!(wrong(&right), 2);
    }
}
