//! What rows are asked.

use std::sync::atomic::{AtomicU64, Ordering};

use super::fallback::Fallback;
use super::prepare::Shared;
use super::usage::AskedUsage;
use crate::engine::scan::Isa;
use crate::protocol::agent::Agent;
use crate::protocol::fetch::AccessTable;
use crate::protocol::usage::UsageKey;
use crate::store::{Preferences, Slots, Store};
use crate::target::form::TargetForm;

/// What every row is asked: by which policies, for which agents, how outcomes are read.
///
/// Policies may be read in several ways at once (see [`Evaluator::and_by`]): then there is a column a reading and agent, those of the first reading
/// first.
#[derive(Debug)]
pub struct Evaluator<'s> {
    /// No other evaluator has this number: what a thread remembers is true for one alone.
    number: u64,
    pub(super) readings: Vec<Reading<'s>>,
    pub(super) agents: Vec<Agent>,
    pub(super) uses: Vec<Use<'s>>,
    pub(super) isa: Isa,
    pub(super) blocks: Blocks,
    pub(super) fallback: Fallback,
    /// What threads have prepared.
    pub(super) prepared: Shared,
}

/// When rows are decided many at once, by the automata's prepared copies, and when one after another. The answers are the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Blocks {
    /// When enough rows of one place follow each other, and enough rows have asked for the rule set to pay for its copy.
    #[default]
    Worthwhile,
    /// From the first row on. For tests and measurements.
    Always,
    /// One after another. For tests and measurements.
    Never,
}

impl Blocks {
    /// Rows of one place that are decided at once.
    pub(super) fn min_rows(self) -> usize {
        match self {
            Blocks::Worthwhile => 4,
            Blocks::Always => 1,
            Blocks::Never => usize::MAX,
        }
    }
}

/// A use that is asked about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use<'s> {
    /// The index of the reading whose verdicts say where preferences apply.
    pub(super) reading: usize,
    pub(super) preferences: &'s Preferences,
}

/// Policies read in one way.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'s> {
    pub(super) store: &'s Store,
    pub(super) form: &'static TargetForm,
    pub(super) access: AccessTable,
}

impl<'s> Reading<'s> {
    /// The policies.
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// The table by which fetch outcomes are read.
    pub fn access(&self) -> AccessTable {
        self.access
    }

    /// Whether each row is cut by itself, and nothing is a bad URL.
    pub(super) fn cuts_itself(&self) -> bool {
        self.store.has_any_origin() && self.form.cuts_anything()
    }

    fn of(store: &'s Store) -> Reading<'s> {
        let dialect = store.dialect();
        Reading { store, form: dialect.form, access: dialect.access }
    }
}

/// What one column answers.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'e, 's> {
    /// The index of the reading.
    pub reading: usize,
    /// The policies.
    pub store: &'s Store,
    /// The agent.
    pub agent: &'e Agent,
    /// The dialect, where there are several readings.
    pub dialect: Option<&'static str>,
}

impl Asked<'_, '_> {
    /// What people read of it: the agent, and the dialect where there are several.
    pub fn label(&self) -> String {
        match self.dialect {
            Some(dialect) => format!("{} {dialect}", self.agent.name()),
            None => self.agent.name().to_owned(),
        }
    }
}

impl<'s> Evaluator<'s> {
    /// Asks the policies of `store` for `agents`.
    pub fn new(store: &'s Store, agents: Vec<Agent>) -> Evaluator<'s> {
        Evaluator {
            number: 0,
            readings: vec![Reading::of(store)],
            agents,
            uses: Vec::new(),
            isa: Isa::best(),
            blocks: Blocks::default(),
            fallback: Fallback::default(),
            prepared: Shared::default(),
        }
        .renumbered()
    }

    /// Asks these policies too: the same ones, read in another dialect (see [`Store::recompiled`]).
    ///
    /// ```
    /// use robosieve::{agent::Agent, dialect::{GOOGLE, RFC9309}, pipeline::Evaluator, store::build::{Builder, Record}};
    ///
    /// let mut builder = Builder::new(RFC9309);
    /// builder.add_name("example.com", Record::body(b"User-agent: *\nDisalow: /x\n".to_vec()))?;
    /// let store = builder.finish()?.open()?;
    /// let as_google = store.recompiled(GOOGLE)?;
    /// let evaluator = Evaluator::new(&store, vec![Agent::token("GPTBot")?]).and_by(&as_google);
    /// assert_eq!(evaluator.columns().count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn and_by(mut self, store: &'s Store) -> Evaluator<'s> {
        self.readings.push(Reading::of(store));
        self.renumbered()
    }

    /// Asks what the same policies state about a use as well: a usage column for each agent.
    ///
    /// The longest path decides, as among rules, in the groups that bind the agent; a record without a path is the shortest. On equal length *no*
    /// wins. A record that says nothing about the use hides none that does. Where the verdict is not `allow` nothing is stated
    /// (draft-ietf-aipref-attach-05, "Content-Usage Rule Semantics": preferences apply to what may be crawled).
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use robosieve::{agent::Agent, dialect::RFC9309, usage::UsageKey, store::build::{Builder, Record}};
    /// use robosieve::{io::lines::MappedLines, pipeline::{Discard, Evaluator, run}};
    ///
    /// let mut builder = Builder::new(RFC9309);
    /// let robots = b"User-agent: *\nDisallow: /never/\nContent-Usage: train-ai=n\nContent-Usage: /ai-ok/ train-ai=y\n";
    /// builder.add_name("example.com", Record::body(robots.to_vec()))?;
    /// let store = builder.finish()?.open()?;
    /// let preferences = store.preferences(&UsageKey::new("train-ai")?)?;
    /// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]).and_usage(&preferences);
    /// let mut rows = MappedLines::new(b"https://example.com/test\nhttps://example.com/never/test\nhttps://example.com/ai-ok/test\n");
    /// let summary = run(&mut rows, &evaluator, &mut Discard, NonZeroUsize::MIN)?;
    /// assert_eq!((summary.usages[0].yes, summary.usages[0].no), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// When there is no reading in the dialect of `preferences` yet.
    pub fn and_usage(mut self, preferences: &'s Preferences) -> Evaluator<'s> {
        let name = preferences.dialect_name();
        let reading = self.readings.iter().position(|reading| reading.store.dialect().name == name);
        let reading = reading.unwrap_or_else(|| panic!("no reading in the dialect {name}, that of the preferences"));
        self.uses.push(Use { reading, preferences });
        self.renumbered()
    }

    /// Evaluates with another instruction set than the best one. The answers are the same.
    pub fn with_isa(mut self, isa: Isa) -> Evaluator<'s> {
        self.isa = isa;
        self.renumbered()
    }

    /// Decides rows many at once, or one after another. The answers are the same.
    pub fn with_blocks(mut self, blocks: Blocks) -> Evaluator<'s> {
        self.blocks = blocks;
        self.renumbered()
    }

    /// The instruction set that is used.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// Lets origins without a policy of their own be answered by that of another.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    /// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
    /// use robosieve::{io::lines::MappedLines, pipeline::{Discard, Evaluator, Fallback, run}};
    ///
    /// let mut builder = Builder::new(RFC9309);
    /// builder.add_name("https://www.example.com", Record::body(b"User-agent: *\nDisallow: /x\n".to_vec()))?;
    /// let store = builder.finish()?.open()?;
    /// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]).with_fallback(Fallback { scheme: true, www: true });
    /// let mut rows = MappedLines::new(b"http://example.com/x\n");
    /// let summary = run(&mut rows, &evaluator, &mut Discard, NonZeroUsize::MIN)?;
    /// assert_eq!((summary.agents[0].disallow(), summary.lent), (1, [0, 0, 1]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_fallback(mut self, fallback: Fallback) -> Evaluator<'s> {
        self.fallback = fallback;
        self.renumbered()
    }

    /// What may lend policies.
    pub fn fallback(&self) -> Fallback {
        self.fallback
    }

    /// Reads fetch outcomes by another table than the dialects' own.
    pub fn with_access(mut self, access: AccessTable) -> Evaluator<'s> {
        self.readings.iter_mut().for_each(|reading| reading.access = access);
        self.renumbered()
    }

    /// What tells of most keys at once that the policies of the first reading do not know their origin.
    pub(super) fn slots(&self) -> Slots<'s> {
        let slots = self.readings[0].store.slots();
        // A key that they lack may be lent a policy.
        if self.fallback.is_off() { slots } else { slots.that_never_lack() }
    }

    fn renumbered(mut self) -> Evaluator<'s> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        self.number = NEXT.fetch_add(1, Ordering::Relaxed);
        self
    }

    /// What tells this evaluator from all others.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// The agents.
    pub fn agents(&self) -> &[Agent] {
        &self.agents
    }

    /// How the policies are read.
    pub fn readings(&self) -> &[Reading<'s>] {
        &self.readings
    }

    /// The policies of the first reading.
    pub fn store(&self) -> &'s Store {
        self.readings[0].store
    }

    /// The table by which the first reading takes fetch outcomes.
    pub fn access(&self) -> AccessTable {
        self.readings[0].access
    }

    /// What the columns answer, in their order: agents within readings.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = Asked<'_, 's>> {
        let (agents, several) = (&self.agents, self.readings.len() > 1);
        (0..self.column_count()).map(move |column| {
            let reading = column / agents.len();
            let store = self.readings[reading].store;
            let dialect = several.then(|| store.dialect().name);
            Asked { reading, store, agent: &agents[column % agents.len()], dialect }
        })
    }

    /// What the usage columns answer, in their order: agents within preferences.
    pub fn usages(&self) -> impl ExactSizeIterator<Item = AskedUsage<'_, 's>> {
        let several = self.readings.len() > 1;
        (0..self.usage_count()).map(move |index| {
            let (asked, agent) = (self.uses[index / self.agents.len()], index % self.agents.len());
            AskedUsage {
                key: asked.preferences.key(),
                column: asked.reading * self.agents.len() + agent,
                agent: &self.agents[agent],
                dialect: several.then(|| asked.preferences.dialect_name()),
            }
        })
    }

    /// Of each column: the uses asked about, and the indices of their usage columns.
    pub(crate) fn usages_by_column(&self) -> Vec<Vec<(&'s UsageKey, usize)>> {
        let mut usages = vec![Vec::new(); self.column_count()];
        for (index, asked) in self.usages().enumerate() {
            usages[asked.column].push((asked.key, index));
        }
        usages
    }

    pub(super) fn column_count(&self) -> usize {
        self.readings.len() * self.agents.len()
    }

    pub(super) fn usage_count(&self) -> usize {
        self.uses.len() * self.agents.len()
    }
}
