//! A dialect: one named, documented reading of robots.txt, as a table.
//!
//! Everything in which readings differ is a field here, with its source beside it. What leaves the policy is dialect-free: canonical
//! patterns and a [`TargetForm`].
//!
//! `google` follows the parser that Google publishes (robots.cc of github.com/google/robotstxt), `scrapy` follows Protego 0.7.0 as Scrapy 2.19
//! calls it. docs/DIALECTS.md has every known difference, with an example each.

use super::fetch::AccessTable;
use super::record::{Key, RecordKind};
use super::rewrite::{self, Rewrite};
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
    /// What becomes of a line that the limit cuts.
    pub cut_line: CutLine,
    /// How octets become text.
    pub decoding: Decoding,
    /// What ends a line.
    pub line_ends: LineEnds,
    /// How many octets of a line are read; `None` for all.
    pub line_limit: Option<usize>,
    /// Whether a NUL ends what is read of a line.
    pub nul_ends_line: bool,
    /// What may stand around keys and values without counting.
    pub white_space: WhiteSpace,
    /// The keys, the first that fits counts.
    pub keys: &'static [(&'static str, Key)],
    /// How a key is compared with those.
    pub key_match: KeyMatch,
    /// What a line without a colon is.
    pub missing_colon: MissingColon,
    /// What ends a run of user-agent lines.
    pub run_end: RunEnd,
    /// Whom the value of a user-agent line names.
    pub agent_line: AgentLine,
    /// What patterns a rule's value stands for.
    pub rewrite: Rewrite,
}

/// What becomes of a line that the limit on a body cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutLine {
    /// It is left out: a shorter rule would be a wider one.
    LeftOut,
    /// What is left of it is read.
    Kept,
}

/// How octets become text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decoding {
    /// A UTF-8 byte order mark is left out, UTF-16 with one is decoded, anything else stays octet for octet.
    AsStored,
    /// Whatever octets of a UTF-8 byte order mark stand first are left out.
    MarkPrefix,
    /// A UTF-8 byte order mark is left out, and every octet that is not UTF-8.
    ValidUtf8,
}

/// What ends a line. Line numbers count LF, CR and CRLF alone, as editors do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnds {
    /// LF, CR and CRLF.
    CrLf,
    /// Those, and what else Python's `splitlines` takes for one: VT, FF, FS, GS, RS, U+0085, U+2028, U+2029.
    Unicode,
}

/// What may stand around keys and values without counting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhiteSpace {
    /// Space and tab (RFC 9309, section 2.2, `WS`).
    SpaceTab,
    /// The six ASCII characters that C's `isspace` takes.
    Ascii,
    /// What Python's `strip` takes: Unicode's white space, FS, GS, RS and US.
    Unicode,
}

/// How a key is compared with the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMatch {
    /// Equal without ASCII case.
    Equal,
    /// The key begins with the table's, without ASCII case.
    Prefix,
}

/// What a line without a colon is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingColon {
    /// No record.
    NoRecord,
    /// A key and a value, if it is exactly two words.
    TwoWords,
    /// A key and a value, if one or two words make a known key. So is a line with a colon whose key is unknown, unless white space or nothing
    /// stands behind that colon.
    KnownKey,
}

/// What ends a run of user-agent lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// An allow or disallow line (RFC 9309, section 2.2.1).
    Rule,
    /// Any line that reads as a record but `sitemap` and `host`, unknown ones included.
    Record,
}

/// Whom the value of a user-agent line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentLine {
    /// The longest leading run of letters, digits, `-`, `_` and `.`; `*` before nothing, space or tab.
    Token,
    /// The longest leading run of letters, `-` and `_`; `*` before nothing or white space.
    Letters,
    /// The whole value in lower case; if it holds stars, also without them.
    Whole,
}

const RFC9309_KEYS: &[(&str, Key)] = &[("user-agent", Key::UserAgent), ("allow", Key::Allow), ("disallow", Key::Disallow)];

// `KeyIsUserAgent`, `KeyIsAllow`, `KeyIsDisallow` and `KeyIsSitemap` of robots.cc, in the order in which `GetKeyType` asks.
const GOOGLE_KEYS: &[(&str, Key)] = &[
    ("user-agent", Key::UserAgent),
    ("useragent", Key::UserAgent),
    ("user agent", Key::UserAgent),
    ("allow", Key::Allow),
    ("disallow", Key::Disallow),
    ("dissallow", Key::Disallow),
    ("dissalow", Key::Disallow),
    ("disalow", Key::Disallow),
    ("diasllow", Key::Disallow),
    ("disallaw", Key::Disallow),
    ("sitemap", Key::Record(RecordKind::Sitemap)),
    ("site-map", Key::Record(RecordKind::Sitemap)),
];

// The tables of directives at the head of Protego 0.7.0's `_protego.py`.
const SCRAPY_KEYS: &[(&str, Key)] = &[
    ("disallow", Key::Disallow),
    ("dissallow", Key::Disallow),
    ("dissalow", Key::Disallow),
    ("disalow", Key::Disallow),
    ("diasllow", Key::Disallow),
    ("disallaw", Key::Disallow),
    ("allow", Key::Allow),
    ("user-agent", Key::UserAgent),
    ("useragent", Key::UserAgent),
    ("user agent", Key::UserAgent),
    ("sitemap", Key::Record(RecordKind::Sitemap)),
    ("sitemaps", Key::Record(RecordKind::Sitemap)),
    ("site-map", Key::Record(RecordKind::Sitemap)),
    ("crawl-delay", Key::Record(RecordKind::CrawlDelay)),
    ("crawl delay", Key::Record(RecordKind::CrawlDelay)),
    ("request-rate", Key::Record(RecordKind::RequestRate)),
    ("request rate", Key::Record(RecordKind::RequestRate)),
    ("visit-time", Key::Record(RecordKind::VisitTime)),
    ("visit time", Key::Record(RecordKind::VisitTime)),
    ("host", Key::Record(RecordKind::Host)),
];

/// RFC 9309, with the readings that the project's documentation fixes where the RFC is silent.
pub const RFC9309: Dialect = Dialect {
    name: "rfc9309",
    form: TargetForm::RFC9309,
    access: AccessTable::Rfc9309,
    // RFC 9309, section 2.5: "at least 500 kibibytes", which are 512,000 octets.
    byte_limit: Some(512_000),
    cut_line: CutLine::LeftOut,
    decoding: Decoding::AsStored,
    line_ends: LineEnds::CrLf,
    line_limit: None,
    nul_ends_line: false,
    white_space: WhiteSpace::SpaceTab,
    keys: RFC9309_KEYS,
    key_match: KeyMatch::Equal,
    missing_colon: MissingColon::NoRecord,
    run_end: RunEnd::Rule,
    agent_line: AgentLine::Token,
    rewrite: rewrite::rfc9309,
};

/// Google's open-source parser, and the limit on bodies that Google documents.
pub const GOOGLE: Dialect = Dialect {
    name: "google",
    form: TargetForm::GOOGLE,
    access: AccessTable::Google,
    // developers.google.com/search/docs/crawling-indexing/robots/robots_txt, "File size"; the parser itself has no limit.
    byte_limit: Some(512_000),
    cut_line: CutLine::Kept,
    // `RobotsTxtParser::Parse`
    decoding: Decoding::MarkPrefix,
    line_ends: LineEnds::CrLf,
    // `kMaxLineLen` is 2083 * 8, of which the last octet is the C string's NUL.
    line_limit: Some(16_663),
    nul_ends_line: true,
    // `StripWhitespaceSlowly`
    white_space: WhiteSpace::Ascii,
    keys: GOOGLE_KEYS,
    // `absl::StartsWithIgnoreCase`
    key_match: KeyMatch::Prefix,
    // `GetKeyAndValueFrom`
    missing_colon: MissingColon::TwoWords,
    // `seen_separator_` is set by `HandleAllow` and `HandleDisallow` alone
    run_end: RunEnd::Rule,
    // `ExtractUserAgent`, `HandleUserAgent`
    agent_line: AgentLine::Letters,
    rewrite: rewrite::google,
};

/// Protego 0.7.0 under Scrapy, which decodes the body as `body.decode("utf-8-sig", errors="ignore")`.
pub const SCRAPY: Dialect = Dialect {
    name: "scrapy",
    form: TargetForm::SCRAPY,
    access: AccessTable::Scrapy,
    byte_limit: None,
    cut_line: CutLine::Kept,
    decoding: Decoding::ValidUtf8,
    line_ends: LineEnds::Unicode,
    line_limit: None,
    nul_ends_line: false,
    white_space: WhiteSpace::Unicode,
    keys: SCRAPY_KEYS,
    key_match: KeyMatch::Equal,
    // `_extract_directive`
    missing_colon: MissingColon::KnownKey,
    // `previous_rule_field`
    run_end: RunEnd::Record,
    agent_line: AgentLine::Whole,
    rewrite: rewrite::scrapy,
};

impl Dialect {
    /// Every dialect of this version, the default first.
    pub const ALL: [Dialect; 3] = [RFC9309, GOOGLE, SCRAPY];

    /// The dialect of that name.
    ///
    /// ```
    /// use robosieve::dialect::Dialect;
    ///
    /// assert_eq!(Dialect::by_name("google").unwrap().line_limit, Some(16_663));
    /// ```
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

impl PartialEq for Dialect {
    /// Dialects are equal by name and limit: nothing else of one can be changed.
    fn eq(&self, other: &Dialect) -> bool {
        (self.name, self.byte_limit) == (other.name, other.byte_limit)
    }
}
