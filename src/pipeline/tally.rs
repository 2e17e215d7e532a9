//! Counting: every row, for every agent, under exactly one heading.

use crate::protocol::decision::Reason;
use crate::protocol::usage::Preference;

/// What became of the rows for one agent. The counts of verdicts add up to the rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// Rows allowed.
    pub allow: u64,
    /// Rows disallowed by a group that names the agent.
    pub disallow_named: u64,
    /// Rows disallowed by a `*` group.
    pub disallow_star: u64,
    /// Rows disallowed by the outcome of the fetch.
    pub disallow_fetch: u64,
    /// Of those disallowed by a group: rows of origins where everything but robots.txt is disallowed.
    pub disallow_site: u64,
    /// Rows without an answer, by [`Reason`], in the order of [`Reason::ALL`].
    pub unresolved: [u64; Reason::ALL.len()],
    /// Rows of origins where a group names the agent.
    pub named: u64,
}

impl Tally {
    /// Rows disallowed.
    pub fn disallow(&self) -> u64 {
        self.disallow_named + self.disallow_star + self.disallow_fetch
    }

    /// Rows without an answer.
    pub fn unresolved(&self) -> u64 {
        self.unresolved.iter().sum()
    }

    /// Rows without an answer for that reason.
    pub fn unresolved_for(&self, reason: Reason) -> u64 {
        self.unresolved[reason as usize]
    }

    fn add(&mut self, other: &Tally) {
        self.allow += other.allow;
        self.disallow_named += other.disallow_named;
        self.disallow_star += other.disallow_star;
        self.disallow_fetch += other.disallow_fetch;
        self.disallow_site += other.disallow_site;
        self.unresolved.iter_mut().zip(&other.unresolved).for_each(|(mine, theirs)| *mine += theirs);
        self.named += other.named;
    }
}

/// What was stated about a use, for one agent. The other rows state nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsageTally {
    /// Rows for which the use is fine.
    pub yes: u64,
    /// Rows for which it is unwanted.
    pub no: u64,
}

impl UsageTally {
    pub(super) fn count(&mut self, preference: Preference) {
        match preference {
            Preference::Yes => self.yes += 1,
            Preference::No => self.no += 1,
        }
    }

    fn add(&mut self, other: &UsageTally) {
        self.yes += other.yes;
        self.no += other.no;
    }
}

/// What a run came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// Rows read.
    pub rows: u64,
    /// Rows answered by an undated snapshot.
    pub undated: u64,
    /// Rows answered by a snapshot that has a time.
    pub dated: u64,
    /// Rows answered by a policy that another origin has lent, in the order of [`Lent::ALL`](super::Lent::ALL).
    pub lent: [u64; 3],
    /// Look-ups: runs of consecutive rows of one origin cost one each.
    pub lookups: u64,
    /// One tally a column, in the order of the columns.
    pub agents: Vec<Tally>,
    /// One tally a usage column, in the order of those.
    pub usages: Vec<UsageTally>,
}

impl Summary {
    /// Of no rows, for so many columns and usage columns.
    pub fn new(column_count: usize, usage_count: usize) -> Summary {
        let (agents, usages) = (vec![Tally::default(); column_count], vec![UsageTally::default(); usage_count]);
        Summary { agents, usages, ..Summary::default() }
    }

    /// Adds what other rows came to, in the same columns.
    pub fn add(&mut self, other: &Summary) {
        self.rows += other.rows;
        self.undated += other.undated;
        self.dated += other.dated;
        self.lent.iter_mut().zip(other.lent).for_each(|(mine, theirs)| *mine += theirs);
        self.lookups += other.lookups;
        self.agents.iter_mut().zip(&other.agents).for_each(|(mine, theirs)| mine.add(theirs));
        self.usages.iter_mut().zip(&other.usages).for_each(|(mine, theirs)| mine.add(theirs));
    }
}
