//! What policies state about a use, as a store of its own kind.

use super::Store;
use crate::protocol::usage::UsageKey;

/// What the policies of a store state about one use, compiled (see [`Store::preferences`]).
///
/// Its rules are preferences and not about crawling: only an [`Evaluator`](crate::pipeline::Evaluator) asks it.
#[derive(Debug)]
pub struct Preferences {
    key: UsageKey,
    store: Store,
}

impl Preferences {
    pub(crate) fn new(key: UsageKey, store: Store) -> Preferences {
        Preferences { key, store }
    }

    /// The use.
    pub fn key(&self) -> &UsageKey {
        &self.key
    }

    /// The name of the dialect the policies were read in.
    pub fn dialect_name(&self) -> &'static str {
        self.store.dialect().name
    }

    /// An origin for each of the policies' store, whose rules are preferences: *no* as `allow`, *yes* as `disallow`.
    #[cfg_attr(not(feature = "pipeline"), allow(dead_code))]
    pub(crate) fn store(&self) -> &Store {
        &self.store
    }
}
