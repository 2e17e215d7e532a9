//! The cheapest way that compiles nothing: rules in their order of precedence, compared one after another until one matches.

use std::cmp::Reverse;
use std::hint::black_box;

use robosieve::agent::Agent;
use robosieve::decision::Verdict;
use robosieve::explain::{Bound, bound};
use robosieve::form::TargetForm;
use robosieve::percent::Parts;
use robosieve::policy::Policy;
use robosieve::store::Store;

use super::inputs::{Places, Standing, rows};
use crate::exit::Failure;

/// The rules that bind an agent, the one that outranks all others first.
pub struct Ranked {
    form: &'static TargetForm,
    rules: Vec<(Parts, bool)>,
}

impl Ranked {
    /// Ranks the rules of the groups that bind an agent, and takes their patterns apart.
    pub fn new(policy: &Policy, bound: &Bound) -> Ranked {
        let form = policy.dialect().form;
        let groups = bound.groups.iter().map(|&group| policy.group(group));
        let mut rules: Vec<_> = groups.flat_map(|group| group.rules()).filter(|rule| !rule.pattern().is_empty()).collect();
        rules.sort_by_key(|rule| Reverse((rule.specificity(), rule.allows())));
        Ranked { form, rules: rules.iter().map(|rule| (form.parts(rule.pattern(), rule.value()), rule.allows())).collect() }
    }

    /// The verdict on what stands behind a URL's authority.
    pub fn verdict(&self, raw: &[u8], buffer: &mut Vec<u8>) -> Verdict {
        if self.form.is_exempt(raw, buffer) {
            return Verdict::Allow;
        }
        let target = self.form.canonical(raw, buffer);
        match self.rules.iter().find(|(parts, _)| parts.matches(target)) {
            Some((_, false)) => Verdict::Disallow,
            Some((_, true)) | None => Verdict::Allow,
        }
    }
}

/// The ranked rules of every policy that a list meets.
pub struct Scan<'s> {
    places: Places<'s>,
    ranked: Vec<Ranked>,
}

impl<'s> Scan<'s> {
    pub fn new(store: &'s Store, agent: &Agent, list: &[u8]) -> Result<Scan<'s>, Failure> {
        let mut places = Places::new(store);
        for row in rows(list) {
            places.find(row)?;
        }
        let ranked = places.met.iter().map(|met| Ranked::new(&met.policy, &bound(&met.policy, agent))).collect();
        Ok(Scan { places, ranked })
    }

    /// Gives the verdict on each row to `take`.
    pub fn run(&mut self, list: &[u8], mut take: impl FnMut(Verdict)) -> Result<(), Failure> {
        let form = self.places.store().dialect().form;
        let mut buffer = Vec::new();
        for row in rows(list) {
            let (standing, at) = self.places.find(row)?;
            take(match standing {
                Standing::BadUrl => Verdict::Unresolved,
                Standing::Rules(index) => self.ranked[index].verdict(&row[at..], &mut buffer),
                Standing::Same(_) if form.is_exempt(&row[at..], &mut buffer) => Verdict::Allow,
                Standing::Same(verdict) => verdict,
            });
        }
        Ok(())
    }

    /// Evaluates the list and keeps nothing.
    pub fn pass(&mut self, list: &[u8]) -> Result<(), Failure> {
        self.run(list, |verdict| _ = black_box(verdict))
    }
}
