//! What policies cost before the first row: parsing, compiling, and both with the list behind them.

use std::hint::black_box;
use std::num::NonZeroUsize;

use rayon::ThreadPool;

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile};
use robosieve::dialect::Dialect;
use robosieve::form::OriginKey;
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Discard, Evaluator, run};
use robosieve::policy::Policy;
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};
use robosieve::url::NamedOrigins;

use super::agreement::{Agreement, Compare, Verdicts};
use super::inputs::Places;
use super::measure::{Job, Section, Unit, timed};
use crate::exit::Failure;
use crate::summary::grouped;

/// The policies that answer for rows, as bodies in memory.
pub struct Cold {
    dialect: Dialect,
    /// `None` as origins: the one policy answers for all.
    records: Vec<(String, Option<NamedOrigins>, Record)>,
    agent: Agent,
    /// One thread: the builder would take every core.
    pool: ThreadPool,
}

impl Cold {
    /// `None` in a dialect whose origins have no scheme: such a key names several, and a store made of keys would hold more than was met.
    pub fn new(places: &Places<'_>, agent: &Agent) -> Result<Option<Cold>, Failure> {
        let dialect = *places.store().dialect();
        if dialect.form.origin() != OriginKey::SchemeHostPort {
            return Ok(None);
        }
        let mut records = Vec::new();
        for origin in &places.origins {
            let mut record = Record::body(Vec::new()).with_outcome(origin.outcome);
            record.body = origin.met.map(|index| places.met[index].body.clone());
            let name = String::from_utf8_lossy(&origin.key).into_owned();
            let origins = if name == "*" { None } else { Some(NamedOrigins::of_key(&name)?) };
            records.push((name, origins, record));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        Ok(Some(Cold { dialect, records, agent: agent.clone(), pool }))
    }

    fn store(&self) -> Result<Store, Failure> {
        let build = || {
            let mut builder = Builder::new(self.dialect).keep_bodies(false);
            let mut batch = Vec::with_capacity(self.records.len());
            for (name, origins, record) in self.records.iter().cloned() {
                match origins {
                    Some(origins) => batch.push((name, origins, record)),
                    None => builder.add_any(record),
                }
            }
            builder.add_batch(batch);
            builder.finish()?.open()
        };
        Ok(self.pool.install(build)?)
    }

    pub fn check(&self, list: &[u8], reference: &[Verdicts]) -> Result<Agreement, Failure> {
        let mut agreement = Agreement::new(COLD, false);
        let store = self.store()?;
        let mut compare = Compare { reference, first: 0, rules: false, agreement: &mut agreement };
        run(&mut MappedLines::new(list), &Evaluator::new(&store, vec![self.agent.clone()]), &mut compare, NonZeroUsize::MIN)?;
        Ok(agreement)
    }

    fn pass(&self, list: &[u8]) -> Result<(), Failure> {
        let store = self.store()?;
        run(&mut MappedLines::new(list), &Evaluator::new(&store, vec![self.agent.clone()]), &mut Discard, NonZeroUsize::MIN)?;
        Ok(())
    }

    pub fn job<'a>(&'a self, list: &'a [u8], rows: u64) -> Job<'a> {
        let count = grouped(self.records.len() as u64);
        let work = format!(
            "the policies of the {count} origins that rows have, from bodies in memory: hashed, parsed, compiled, laid out as a store; then the list once; one thread"
        );
        let pass = Box::new(move || timed(|| self.pass(list)));
        Job { section: Section::Whole, way: COLD.to_owned(), work, unit: Unit::Url, count: rows, pass }
    }
}

const COLD: &str = "engine, cold";

/// Parsing and compiling alone, of every policy that answers for rows.
pub fn jobs<'a>(places: &'a Places<'_>) -> [Job<'a>; 2] {
    let (met, dialect) = (&places.met, *places.store().dialect());
    let count = met.len() as u64;
    let body_len = met.iter().map(|met| met.body.len() as u64).sum::<u64>() / count.max(1);
    let parse = move || {
        timed(|| {
            met.iter().for_each(|met| _ = black_box(Policy::parse(&met.body, &dialect)));
            Ok(())
        })
    };
    let compile = move || {
        timed(|| {
            met.iter().for_each(|met| _ = black_box(compile(&met.policy, &Options::default())));
            Ok(())
        })
    };
    let job = |way: &str, work: String, pass: Box<dyn FnMut() -> Result<f64, Failure> + 'a>| Job {
        section: Section::Policies,
        way: way.to_owned(),
        work,
        unit: Unit::Policy,
        count,
        pass,
    };
    let of = format!("the {} policies that answer for rows, {} octets each on average, one thread", grouped(count), grouped(body_len));
    [
        job("parse", format!("{of}: octets to groups, rules, records and findings"), Box::new(parse)),
        job("compile", format!("{of}: parsed policies to programs, for all agents"), Box::new(compile)),
    ]
}
