//! The target form: everything the engine has to know about how a dialect looks at URLs and agents.
//!
//! Dialects end at the policy. What the compiler, the program and the matcher see of one is this table: data and a few functions, so that no
//! branch in the matcher asks for a dialect.

use super::percent::{self, OctetSet, Parts};
use super::quote;

/// How the agent of a query is compared with the tokens of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AgentComparison {
    /// The agent's product tokens, equal without ASCII case.
    EqualIgnoringCase,
    /// The agent's token as it was given, with a version behind it if there was one, equal without ASCII case.
    GivenIgnoringCase,
    /// The longest token that stands in the text the agent was given as, behind nothing that goes on with a name. `*` counts as one octet, and of
    /// equally long ones the first in the file wins.
    Contained,
}

/// Which parts of a URL name the robots.txt that governs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OriginKey {
    /// Scheme, host and port (RFC 6454).
    SchemeHostPort,
    /// Host and port as written, whatever the scheme.
    HostPort,
}

/// Whether robots.txt itself is allowed whatever the rules say.
#[derive(Debug, Clone, Copy)]
enum Exemption {
    Nothing,
    /// Known from the canonical target alone: compiled as a rule above all others.
    Canonical,
    /// Known from the raw target alone: asked before any rule.
    Raw(fn(&[u8]) -> bool),
}

/// How the octets of a URL become those that rules are compared with.
#[derive(Debug)]
pub struct TargetForm {
    id: u8,
    name: &'static str,
    /// Octets of a raw target on which `canonicalise` is not the identity.
    not_identity: OctetSet,
    /// Those of them that stand in the canonical target as their escape, whatever surrounds them.
    always_escaped: OctetSet,
    canonicalise: fn(&[u8], &mut Vec<u8>),
    parts: fn(&[u8], &[u8]) -> Parts,
    has_two_spellings: fn(&[u8]) -> bool,
    start: fn(&[u8]) -> usize,
    cuts_anything: bool,
    exemption: Exemption,
    agents: AgentComparison,
    origin: OriginKey,
}

impl TargetForm {
    /// RFC 9309, as [`percent`] describes.
    pub const RFC9309: &'static TargetForm = &TargetForm {
        id: 1,
        name: "rfc9309",
        not_identity: percent::NOT_IDENTITY,
        // Others are so rare in URLs that the columns in every table would not pay.
        always_escaped: OctetSet::new(),
        canonicalise: percent::canonical_target,
        parts: Parts::of,
        has_two_spellings: percent::has_two_spellings,
        start: <[u8]>::len,
        cuts_anything: false,
        exemption: Exemption::Canonical,
        agents: AgentComparison::EqualIgnoringCase,
        origin: OriginKey::SchemeHostPort,
    };

    /// Google's open-source parser: URLs are cut and not touched. Source: `GetPathParamsQuery` and `RobotsMatchStrategy::Matches` in robots.cc of
    /// github.com/google/robotstxt.
    pub const GOOGLE: &'static TargetForm = &TargetForm {
        id: 2,
        name: "google",
        // A NUL: the path goes on as a C string.
        not_identity: OctetSet::new().with(b"\0"),
        always_escaped: OctetSet::new(),
        canonicalise: untouched_target,
        parts: |pattern, _| Parts::literal(pattern),
        has_two_spellings: |_| false,
        start: reference_start,
        cuts_anything: true,
        exemption: Exemption::Nothing,
        agents: AgentComparison::GivenIgnoringCase,
        origin: OriginKey::SchemeHostPort,
    };

    /// Protego 0.7.0 under Scrapy, as [`quote`] describes.
    pub const SCRAPY: &'static TargetForm = &TargetForm {
        id: 3,
        name: "scrapy",
        not_identity: quote::NOT_IDENTITY,
        always_escaped: quote::ALWAYS_ESCAPED,
        canonicalise: quote::quoted_target,
        parts: |pattern, _| Parts::literal(pattern),
        has_two_spellings: |_| false,
        start: <[u8]>::len,
        cuts_anything: false,
        exemption: Exemption::Raw(quote::is_robots_txt),
        agents: AgentComparison::Contained,
        origin: OriginKey::HostPort,
    };

    /// [`RFC9309`](TargetForm::RFC9309) for questions other than who may crawl: robots.txt is a target like others. Never in a store file.
    const RFC9309_BARE: &'static TargetForm = &TargetForm { id: 129, exemption: Exemption::Nothing, ..*TargetForm::RFC9309 };

    /// The same of [`SCRAPY`](TargetForm::SCRAPY).
    const SCRAPY_BARE: &'static TargetForm = &TargetForm { id: 131, exemption: Exemption::Nothing, ..*TargetForm::SCRAPY };

    const ALL: [&'static TargetForm; 5] =
        [TargetForm::RFC9309, TargetForm::GOOGLE, TargetForm::SCRAPY, TargetForm::RFC9309_BARE, TargetForm::SCRAPY_BARE];

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

    /// Those of the octets on which canonicalising is not the identity that become their escape (`%3F`) whatever surrounds them, if everything before
    /// them is canonical as it stands or such an octet: an automaton can read them as the three octets that they stand for.
    pub fn always_escaped(&self) -> &OctetSet {
        &self.always_escaped
    }

    /// Whether `/robots.txt`, with any query, is allowed by a rule above all others.
    #[inline]
    pub fn robots_txt_exempt(&self) -> bool {
        matches!(self.exemption, Exemption::Canonical)
    }

    /// Whether robots.txt is known from the raw target alone, and allowed before any rule is asked.
    #[inline]
    pub fn exempts_as_written(&self) -> bool {
        matches!(self.exemption, Exemption::Raw(_))
    }

    /// Whether `raw` is robots.txt itself and allowed before any rule is asked.
    #[inline]
    pub fn is_exempt_as_written(&self, raw: &[u8]) -> bool {
        match self.exemption {
            Exemption::Raw(is_robots_txt) => is_robots_txt(raw),
            Exemption::Nothing | Exemption::Canonical => false,
        }
    }

    /// Whether `raw` (what stands behind a URL's authority) is robots.txt itself and so allowed whatever the rules say. `buffer` may be overwritten.
    #[inline]
    pub fn is_exempt(&self, raw: &[u8], buffer: &mut Vec<u8>) -> bool {
        match self.exemption {
            Exemption::Nothing => false,
            Exemption::Raw(is_robots_txt) => is_robots_txt(raw),
            // Most targets show with their second octet that they are not robots.txt.
            Exemption::Canonical => matches!(raw, [b'/', b'r' | b'%', ..]) && is_robots_txt(self.canonical(raw, buffer)),
        }
    }

    /// The same form without the exemption of robots.txt, for questions other than whether something may be crawled.
    pub fn without_exemption(&'static self) -> &'static TargetForm {
        match self.id {
            1 => TargetForm::RFC9309_BARE,
            3 => TargetForm::SCRAPY_BARE,
            _ => self,
        }
    }

    /// How agents are compared.
    pub fn agents(&self) -> AgentComparison {
        self.agents
    }

    /// What names the robots.txt that governs a URL.
    pub fn origin(&self) -> OriginKey {
        self.origin
    }

    /// Where the raw target begins in `url`: the whole URL, or what of it stands before the path, which is the same for all URLs that begin so.
    #[inline]
    pub fn start(&self, url: &[u8]) -> usize {
        (self.start)(url)
    }

    /// Whether anything at all is cut to a target where the policy is given, so that nothing is a bad URL.
    pub fn cuts_anything(&self) -> bool {
        self.cuts_anything
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

    /// Takes a pattern apart: `pattern` as the dialect writes it, `value` as the rule has it.
    pub fn parts(&self, pattern: &[u8], value: &[u8]) -> Parts {
        (self.parts)(pattern, value)
    }

    /// Whether the value of a rule, and not its pattern alone, decides what it matches.
    pub fn has_two_spellings(&self, pattern: &[u8]) -> bool {
        (self.has_two_spellings)(pattern)
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

fn untouched_target(path_and_query: &[u8], out: &mut Vec<u8>) {
    if path_and_query.first() != Some(&b'/') {
        out.push(b'/');
    }
    let end = memchr::memchr(0, path_and_query).unwrap_or(path_and_query.len());
    out.extend_from_slice(&path_and_query[..end]);
}

/// Where Google's parser takes the path of a URL to begin: at the first `/`, `?` or `;` behind `://`, if there is one before any of them, or else
/// behind two slashes at the very start. A `#` before that leaves nothing of the URL.
fn reference_start(url: &[u8]) -> usize {
    let is_path = |octet: &u8| matches!(octet, b'/' | b'?' | b';');
    let find_path = |from: usize| url[from..].iter().position(is_path).map(|at| from + at);
    let start = if url.starts_with(b"//") { 2 } else { 0 };
    let early = find_path(start).unwrap_or(url.len());
    let scheme_end = memchr::memmem::find(&url[start..], b"://").map(|at| start + at).filter(|&at| at <= early);
    let path = find_path(scheme_end.map_or(start, |at| at + 3)).unwrap_or(url.len());
    match memchr::memchr(b'#', &url[start..]) {
        Some(hash) if start + hash < path => start + hash,
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_one_without_exemption() {
        for form in TargetForm::ALL {
            let bare = form.without_exemption();
            assert!(matches!(bare.exemption, Exemption::Nothing), "{}", form.name);
            assert_eq!((bare.name, bare.agents, bare.origin), (form.name, form.agents, form.origin));
            assert_eq!(TargetForm::by_id(bare.id).map(|form| form.id), Some(bare.id));
        }
    }

    /// What `GetPathParamsQuery` of google/robotstxt gives; the first seventeen stand in its own documentation of itself and were measured.
    #[test]
    fn cut_as_the_reference_does() {
        for (url, target) in [
            ("", "/"),
            ("http://www.example.com", "/"),
            ("http://www.example.com/", "/"),
            ("http://www.example.com/a", "/a"),
            ("http://www.example.com/a/", "/a/"),
            ("http://www.example.com/a/b?c=http://d.e/", "/a/b?c=http://d.e/"),
            ("http://www.example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
            ("example.com", "/"),
            ("example.com/", "/"),
            ("example.com/a", "/a"),
            ("example.com/a/b?c=d&e=f#fragment", "/a/b?c=d&e=f"),
            ("a", "/"),
            ("a/", "/"),
            ("/a", "/a"),
            ("a/b", "/b"),
            ("example.com?a", "/?a"),
            ("example.com/a;b#c", "/a;b"),
            ("//a/b/c", "/b/c"),
            ("//a#b/c", "/"),
            ("http://u;p@h/x", "/;p@h/x"),
            ("a?b://c/d", "/?b://c/d"),
            ("#x", "/"),
            ("///x", "/x"),
            ("http://h/a\0b", "/a"),
            ("http://h\0/a", "/a"),
            ("http://h?\0", "/?"),
        ] {
            let raw = &url.as_bytes()[TargetForm::GOOGLE.start(url.as_bytes())..];
            let mut buffer = Vec::new();
            assert_eq!(TargetForm::GOOGLE.canonical(raw, &mut buffer).escape_ascii().to_string(), target, "{url}");
        }
    }
}
