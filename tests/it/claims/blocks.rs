//! Rows that are decided many at once, by the block walk, get what the backstop says of each: on every instruction set, verdicts alone and decisions.
//!
//! The input is an octet that says how the rest is read, then parts with a NUL between them: the robots.txt of `https://a.example`, if there are three parts
//! that of `https://b.example`, and a list of URLs. Octets 1 to 4 of the list stand for what a fuzzer would be long in finding: three origins, of which the
//! last has no policy, and NUL.

use std::sync::OnceLock;

use robosieve::agent::Agent;
use robosieve::compile::Options;
use robosieve::decision::Decision;
use robosieve::dialect::Dialect;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Blocks, Column, Decided, Evaluator, Source, Summary, Worker};
use robosieve::program::{Detail, Rung};
use robosieve::scan::Isa;
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};

/// More octets of list than this show nothing new: it is more rows than are walked at once.
const MAX_LIST: usize = 64 << 10;
/// Rules are compiled and asked a dozen times.
const MAX_BODY: usize = 8 << 10;
/// How often the list comes.
const REPEATS: [usize; 4] = [1, 1, 2, 300];

pub fn check(data: &[u8]) {
    let Some((&way, parts)) = data.split_first() else { return };
    let way = usize::from(way);
    let (dialect, way) = (Dialect::ALL[way % 3], way / 3);
    let parts: Vec<&[u8]> = parts.splitn(3, |&octet| octet == 0).collect();
    let (Some((list, bodies)), true) = (parts.split_last(), data.len() <= MAX_BODY) else { return };
    // One way of many, since it takes long.
    let many = if way >> 3 == 10 { many_rules() } else { b"" };
    let policies = Policies { bodies: bodies.iter().map(|body| [many, body].concat()).collect(), any: way & 1 == 1 };
    let agents = ["*", "abot", "bbot", "cbot"].map(|token| Agent::token(token).unwrap());
    let agents = [&agents[..], &[Agent::profile("x-bbot", ["bbot", "abot"], false)]].concat();
    let list = list_of(list, REPEATS[way >> 1 & 3]);
    check_list(|options| policies.store(dialect, options), &agents, &list).unwrap();
}

struct Policies {
    bodies: Vec<Vec<u8>>,
    /// Whether the first holds for every origin.
    any: bool,
}

impl Policies {
    fn store(&self, dialect: Dialect, options: Options) -> Store {
        let mut builder = Builder::new(dialect).options(options);
        for (name, body) in ["https_a.example_443", "https_b.example_443"].into_iter().zip(&self.bodies) {
            let record = Record::body(body.clone());
            if self.any {
                builder.add_any(record);
                break;
            }
            builder.add_name(name, record).unwrap();
        }
        builder.finish().unwrap().open().unwrap()
    }
}

/// Rules whose automaton has states that sixteen bits can not number.
fn many_rules() -> &'static [u8] {
    static RULES: OnceLock<Vec<u8>> = OnceLock::new();
    RULES.get_or_init(|| {
        let letters = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!&'()+,;=:@";
        let rule = |number: usize| {
            let verdict = if number.is_multiple_of(3) { "Allow" } else { "Disallow" };
            // A way of its own behind two octets, over as many classes of octets as can be.
            let text = [number / 29, number % 29, number * 7, number * 3, number].map(|at| char::from(letters[at % letters.len()]));
            format!("{verdict}: /{}{}\n", String::from_iter(text), ["", "*x", "$"][number * 7 % 3])
        };
        let rules: String = (0..29 * 29).map(rule).collect();
        format!("User-agent: *\nUser-agent: abot\n{rules}").into_bytes()
    })
}

/// The list that `text` stands for, so often, in a buffer of its very length: a read behind it is one behind the buffer.
fn list_of(text: &[u8], times: usize) -> Box<[u8]> {
    let mut once = Vec::new();
    for octet in text {
        match octet {
            1 => once.extend_from_slice(b"https://a.example"),
            2 => once.extend_from_slice(b"https://b.example"),
            3 => once.extend_from_slice(b"http://c.example:8080"),
            4 => once.push(0),
            _ => once.push(*octet),
        }
    }
    let times = times.min(MAX_LIST / once.len().max(1)).max(1);
    once.repeat(times).into_boxed_slice()
}

/// Compiled in every way that blocks are asked in, the rows of a list get what the backstop says of each. The error tells the first difference.
pub fn check_list(store: impl Fn(Options) -> Store, agents: &[Agent], list: &[u8]) -> Result<(), String> {
    let backstop = store(Options::default().with_rung(Some(Rung::Backstop)));
    let one_by_one = Evaluator::new(&backstop, agents.to_vec()).with_isa(Isa::PORTABLE).with_blocks(Blocks::Never);
    let expected = Answers::of(&one_by_one, list, true, &mut Worker::new());
    for (rung, detail) in [(None, Detail::Verdicts), (Some(Rung::Dfa), Detail::Verdicts), (Some(Rung::Dfa), Detail::Rules)] {
        let store = store(Options::default().with_rung(rung).with_detail(detail));
        // One for all: what it keeps of earlier lists must not show.
        let mut worker = Worker::new();
        for isa in Isa::available() {
            let at_once = Evaluator::new(&store, agents.to_vec()).with_isa(isa).with_blocks(Blocks::Always);
            for decisions in [true, false] {
                if let Some(difference) = expected.difference(&Answers::of(&at_once, list, decisions, &mut worker)) {
                    let asked = if decisions { "decisions" } else { "verdicts" };
                    return Err(format!("{isa}, {rung:?}, {detail:?}, {}, {asked}: {difference}", store.dialect().name));
                }
            }
        }
    }
    Ok(())
}

/// What came out of a list.
#[derive(Default)]
struct Answers {
    rows: Vec<Vec<u8>>,
    /// Row by row, an answer a column: whether it is allowed, and whether that is known.
    verdicts: Vec<Vec<(bool, bool)>>,
    /// None unless asked for.
    decisions: Option<Vec<Vec<Decision>>>,
    /// One a batch.
    summaries: Vec<Summary>,
}

impl Answers {
    fn of<'s>(evaluator: &Evaluator<'s>, list: &'s [u8], decisions: bool, worker: &mut Worker<'s>) -> Answers {
        let mut answers = Answers { decisions: decisions.then(Vec::new), ..Answers::default() };
        let mut source = MappedLines::new(list);
        let mut spare = None;
        while let Some(batch) = source.next_batch().unwrap() {
            let decided = worker.decide(evaluator, batch, decisions, spare);
            answers.take(&decided);
            spare = Some(decided);
        }
        answers
    }

    fn take(&mut self, decided: &Decided<'_>) {
        for row in 0..decided.row_count() {
            let verdict = |column: &Column| (column.allow.get(row), column.resolved.get(row));
            self.rows.push(decided.row(row).to_vec());
            self.verdicts.push(decided.columns().iter().map(verdict).collect());
            if let Some(decisions) = &mut self.decisions {
                decisions.push(decided.decisions(row).to_vec());
            }
        }
        self.summaries.push(decided.summary().clone());
    }

    /// The first row on which another run differs, or what it counts otherwise.
    fn difference(&self, found: &Answers) -> Option<String> {
        if self.rows != found.rows {
            return Some("other rows".to_owned());
        }
        if let Some(row) = (0..self.rows.len()).find(|&row| self.verdicts[row] != found.verdicts[row]) {
            let url = self.rows[row].escape_ascii();
            return Some(format!("row {row}, {url}: {:?} one by one, {:?} at once", self.verdicts[row], found.verdicts[row]));
        }
        if let (Some(expected), Some(found)) = (&self.decisions, &found.decisions)
            && let Some(row) = (0..expected.len()).find(|&row| expected[row] != found[row])
        {
            let url = self.rows[row].escape_ascii();
            return Some(format!("row {row}, {url}: {:?} one by one, {:?} at once", expected[row], found[row]));
        }
        (self.summaries != found.summaries).then(|| format!("{:?} counted one by one, {:?} at once", self.summaries, found.summaries))
    }
}
