//! The target form: everything the engine has to know about how a dialect looks at URLs and agents.
//!
//! Dialects end at the policy. What the compiler, the program and the matcher see of one is this table: data and one function, so that no
//! branch in the matcher asks for a dialect.

use super::percent::{self, OctetSet};

/// How the agent of a query is compared with the tokens of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AgentComparison {
    /// Equal without ASCII case.
    EqualIgnoringCase,
}

/// How the octets of a URL become those that rules are compared with.
#[derive(Debug)]
pub struct TargetForm {
    id: u8,
    name: &'static str,
    /// Octets of a raw target on which `canonicalise` is not the identity.
    not_identity: OctetSet,
    canonicalise: fn(&[u8], &mut Vec<u8>),
    robots_txt_exempt: bool,
    agents: AgentComparison,
}

impl TargetForm {
    /// RFC 9309, as [`percent`] describes.
    pub const RFC9309: &'static TargetForm = &TargetForm {
        id: 1,
        name: "rfc9309",
        not_identity: percent::NOT_IDENTITY,
        canonicalise: percent::canonical_target,
        robots_txt_exempt: true,
        agents: AgentComparison::EqualIgnoringCase,
    };

    const ALL: [&'static TargetForm; 1] = [TargetForm::RFC9309];

    /// The form with that id, if this version knows it.
    pub fn by_id(id: u8) -> Option<&'static TargetForm> {
        TargetForm::ALL.into_iter().find(|form| form.id == id)
    }

    /// The id that programs and stores carry.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// The name that outputs use.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The octets of a raw target on which canonicalising is not the identity: a target without any of them, that starts with `/` and
    /// has no fragment, is canonical as it stands.
    #[inline]
    pub fn not_identity(&self) -> &OctetSet {
        &self.not_identity
    }

    /// Whether `/robots.txt` is allowed whatever the rules say.
    #[inline]
    pub fn robots_txt_exempt(&self) -> bool {
        self.robots_txt_exempt
    }

    /// Whether `raw` (what stands behind a URL's authority) is robots.txt itself and so allowed whatever the rules say. `buffer` may be overwritten.
    #[inline]
    pub fn is_exempt(&self, raw: &[u8], buffer: &mut Vec<u8>) -> bool {
        // Most targets show with their second octet that they are not robots.txt.
        let may_be = matches!(raw, [b'/', b'r' | b'%', ..]);
        may_be && self.robots_txt_exempt && is_robots_txt(self.canonical(raw, buffer))
    }

    /// How agents are compared.
    pub fn agents(&self) -> AgentComparison {
        self.agents
    }

    /// The canonical form of `raw` (what stands behind a URL's authority): `raw` itself where it is canonical as it stands, else built in
    /// `buffer`, whose content is replaced.
    #[inline]
    pub fn canonical<'a>(&self, raw: &'a [u8], buffer: &'a mut Vec<u8>) -> &'a [u8] {
        let identity = |&octet: &u8| !self.not_identity.contains(octet);
        let path_and_query = percent::without_fragment(raw);
        if path_and_query.first() == Some(&b'/') && path_and_query.iter().all(identity) {
            return path_and_query;
        }
        buffer.clear();
        (self.canonicalise)(path_and_query, buffer);
        buffer
    }
}

/// Whether a canonical target is robots.txt itself, with any query.
///
/// ```
/// use robosieve::form::is_robots_txt;
///
/// assert!(is_robots_txt(b"/robots.txt"));
/// assert!(is_robots_txt(b"/robots.txt?x=1"));
/// assert!(!is_robots_txt(b"/robots.txt2"));
/// ```
#[inline]
pub fn is_robots_txt(target: &[u8]) -> bool {
    match target.strip_prefix(b"/robots.txt") {
        Some(rest) => matches!(rest, [] | [b'?', ..]),
        None => false,
    }
}
