//! What policies state about uses, row by row, beside the verdicts.

use super::Bits;
use super::fallback::Fallback;
use super::place::Origin;
use crate::engine::matcher::{Matcher, Scratch};
use crate::protocol::agent::Agent;
use crate::protocol::decision::{Reason, Verdict};
use crate::protocol::fetch::{Access, AccessTable};
use crate::protocol::usage::{Preference, UsageKey};
use crate::store::Preferences;

/// What one usage column answers.
#[derive(Debug, Clone, Copy)]
pub struct AskedUsage<'e, 's> {
    /// The use.
    pub key: &'s UsageKey,
    /// The index of the column with the verdicts for the same agent in the same reading.
    pub column: usize,
    /// The agent.
    pub agent: &'e Agent,
    /// The dialect, where there are several readings.
    pub dialect: Option<&'static str>,
}

/// What is stated about one use, for one agent.
#[derive(Debug, Clone, Default)]
pub struct UsageColumn {
    /// Rows for which the use is fine. Never set where nothing is stated.
    pub yes: Bits,
    /// Rows for which something is stated.
    pub stated: Bits,
}

impl UsageColumn {
    pub(super) fn reset(&mut self, len: usize) {
        self.yes.reset(len);
        self.stated.reset(len);
    }

    pub(super) fn set(&mut self, row: usize, preference: Preference) {
        self.yes.set(row, preference == Preference::Yes);
        self.stated.set(row, true);
    }

    /// What is stated for a row.
    ///
    /// # Panics
    ///
    /// When there is no such row.
    pub fn preference(&self, row: usize) -> Option<Preference> {
        let preference = if self.yes.get(row) { Preference::Yes } else { Preference::No };
        self.stated.get(row).then_some(preference)
    }
}

/// What is stated about one use where the current rows stand.
#[derive(Debug, Default)]
pub(super) struct Stated<'s> {
    /// Agents with the same preferences share one.
    matchers: Vec<Matcher<'s>>,
    /// The index of each agent's matcher; `None` where nothing is stated to it.
    asked: Vec<Option<usize>>,
    /// What each matcher said of the current row.
    answers: Vec<Option<Preference>>,
}

impl<'s> Stated<'s> {
    /// Looks up the origin of rows that begin as `origin`; `None` where they name none.
    pub(super) fn enter(
        &mut self,
        preferences: &'s Preferences,
        access: AccessTable,
        agents: &[Agent],
        origin: Option<Origin<'_>>,
        fallback: Fallback,
        key: &mut Vec<u8>,
    ) {
        self.matchers.clear();
        self.asked.clear();
        // Without an answer there is no preference either: the verdict says why.
        _ = self.look_up(preferences, access, agents, origin, fallback, key);
        self.asked.resize(agents.len(), None);
    }

    fn look_up(
        &mut self,
        preferences: &'s Preferences,
        access: AccessTable,
        agents: &[Agent],
        origin: Option<Origin<'_>>,
        fallback: Fallback,
        key: &mut Vec<u8>,
    ) -> Option<()> {
        let store = preferences.store();
        key.clear();
        if !store.has_any_origin() {
            origin?.write_key(store.dialect().form.origin(), key).ok()?;
        }
        let snapshot = fallback.find(store, key).ok()??.0.newest().ok()?;
        snapshot.program_index().filter(|_| access.read(snapshot.outcome()) == Access::Rules)?;
        let program = store.program(&snapshot).ok()?;
        for agent in agents {
            let rules = program.bind(agent).rule_set().and_then(|rule_set| program.rule_set(rule_set).ok());
            let matcher = rules.filter(|rules| rules.block().rule_count() > 0).and_then(|rules| Matcher::new(rules).ok());
            let index = matcher.map(|matcher| self.index(matcher));
            self.asked.push(index);
        }
        Some(())
    }

    fn index(&mut self, matcher: Matcher<'s>) -> usize {
        let known = self.matchers.iter().position(|known| known.rule_set().has_decisions_of(&matcher.rule_set()));
        known.unwrap_or_else(|| {
            self.matchers.push(matcher);
            self.matchers.len() - 1
        })
    }

    /// Whether nothing is stated to any agent.
    pub(super) fn is_silent(&self) -> bool {
        self.matchers.is_empty()
    }

    /// Asks about a row, by its raw target.
    pub(super) fn ask(&mut self, raw: &[u8], scratch: &mut Scratch) {
        self.answers.clear();
        for matcher in &self.matchers {
            let decision = matcher.decide(raw, scratch).ok().filter(|decision| decision.reason == Reason::Rule);
            self.answers.push(decision.map(|decision| match decision.verdict {
                Verdict::Allow => Preference::No,
                _ => Preference::Yes,
            }));
        }
    }

    /// What was said of that row to an agent.
    pub(super) fn answer(&self, agent: usize) -> Option<Preference> {
        self.answers[self.asked[agent]?]
    }
}
