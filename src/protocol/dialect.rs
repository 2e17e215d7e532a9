//! A dialect: one named, documented reading of robots.txt, as a table.
//!
//! Everything in which readings differ is a field here, with its source beside it. What leaves the policy is dialect-free: canonical
//! patterns and a [`TargetForm`].

use super::fetch::AccessTable;
use crate::target::form::TargetForm;

/// One reading of robots.txt.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Dialect {
    /// The name by which options and outputs call it.
    pub name: &'static str,
    /// How URLs and agents are looked at.
    pub form: &'static TargetForm,
    /// The access table that goes with it unless another is asked for.
    pub access: AccessTable,
    /// How many octets of a body are read, as stored; `None` for all.
    pub byte_limit: Option<usize>,
}

/// RFC 9309, with the readings that the project's documentation fixes where the RFC is silent.
pub const RFC9309: Dialect = Dialect {
    name: "rfc9309",
    form: TargetForm::RFC9309,
    access: AccessTable::Rfc9309,
    // RFC 9309, section 2.5: "at least 500 kibibytes", which are 512,000 octets.
    byte_limit: Some(512_000),
};

impl Dialect {
    /// Every dialect of this version.
    pub const ALL: [Dialect; 1] = [RFC9309];

    /// The dialect of that name.
    pub fn by_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name == name)
    }

    /// The same reading with another limit on the size of a body.
    ///
    /// ```
    /// use robosieve::dialect::RFC9309;
    ///
    /// assert_eq!(RFC9309.with_byte_limit(None).byte_limit, None);
    /// ```
    pub fn with_byte_limit(self, byte_limit: Option<usize>) -> Dialect {
        Dialect { byte_limit, ..self }
    }
}
