//! Lines to directives. Parsing cannot fail: what is no directive is a line of another kind, and findings are made of those.

use super::text::{Lines, Text};

/// A record outside the protocol: kept, never able to open or close a group or to change a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// `crawl-delay`
    CrawlDelay,
    /// `request-rate`
    RequestRate,
    /// `visit-time`
    VisitTime,
    /// `sitemap`
    Sitemap,
    /// `host`
    Host,
    /// `clean-param`
    CleanParam,
    /// `noindex`
    Noindex,
    /// `content-signal`
    ContentSignal,
    /// `content-usage`
    ContentUsage,
    /// `license`
    License,
}

impl RecordKind {
    const ALL: [RecordKind; 10] = [
        RecordKind::CrawlDelay,
        RecordKind::RequestRate,
        RecordKind::VisitTime,
        RecordKind::Sitemap,
        RecordKind::Host,
        RecordKind::CleanParam,
        RecordKind::Noindex,
        RecordKind::ContentSignal,
        RecordKind::ContentUsage,
        RecordKind::License,
    ];

    /// The key, in lower case.
    pub const fn key(self) -> &'static str {
        match self {
            RecordKind::CrawlDelay => "crawl-delay",
            RecordKind::RequestRate => "request-rate",
            RecordKind::VisitTime => "visit-time",
            RecordKind::Sitemap => "sitemap",
            RecordKind::Host => "host",
            RecordKind::CleanParam => "clean-param",
            RecordKind::Noindex => "noindex",
            RecordKind::ContentSignal => "content-signal",
            RecordKind::ContentUsage => "content-usage",
            RecordKind::License => "license",
        }
    }

    /// Whether the record speaks to the agents of the group it stands in, or of the site as a whole.
    pub const fn is_grouped(self) -> bool {
        !matches!(self, RecordKind::Sitemap | RecordKind::Host | RecordKind::CleanParam | RecordKind::License)
    }

    fn of(key: &[u8]) -> Option<RecordKind> {
        RecordKind::ALL.into_iter().find(|kind| key.eq_ignore_ascii_case(kind.key().as_bytes()))
    }
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Directive<'a> {
    /// `user-agent`
    UserAgent(&'a [u8]),
    /// `allow`
    Allow(&'a [u8]),
    /// `disallow`
    Disallow(&'a [u8]),
    /// A record outside the protocol that is kept.
    Record(RecordKind, &'a [u8]),
    /// A key that nobody knows, and its value.
    Unknown(&'a [u8], &'a [u8]),
    /// A line without a colon.
    NoColon(&'a [u8]),
}

/// The directives of a text with their line numbers. Blank lines and comments are left out.
///
/// ```
/// use robosieve::{dialect::RFC9309, parse::{Directive, directives}, text::Text};
///
/// let text = Text::read(b"User-agent: a # we\n\nDisallow: /b\n", &RFC9309);
/// let lines: Vec<_> = directives(&text).collect();
/// assert_eq!(lines, [(1, Directive::UserAgent(b"a")), (3, Directive::Disallow(b"/b"))]);
/// ```
pub fn directives<'a>(text: &'a Text<'_>) -> Directives<'a> {
    Directives { lines: text.lines() }
}

/// See [`directives`].
#[derive(Debug, Clone)]
pub struct Directives<'a> {
    lines: Lines<'a>,
}

impl<'a> Iterator for Directives<'a> {
    type Item = (u32, Directive<'a>);

    fn next(&mut self) -> Option<(u32, Directive<'a>)> {
        loop {
            let (number, line) = self.lines.next()?;
            if let Some(directive) = directive(line) {
                return Some((number, directive));
            }
        }
    }
}

fn directive(line: &[u8]) -> Option<Directive<'_>> {
    let code = trim(memchr::memchr(b'#', line).map_or(line, |comment| &line[..comment]));
    if code.is_empty() {
        return None;
    }
    let Some(colon) = memchr::memchr(b':', code) else {
        return Some(Directive::NoColon(code));
    };
    let (key, value) = (trim(&code[..colon]), trim(&code[colon + 1..]));
    Some(match key {
        _ if key.eq_ignore_ascii_case(b"disallow") => Directive::Disallow(value),
        _ if key.eq_ignore_ascii_case(b"allow") => Directive::Allow(value),
        _ if key.eq_ignore_ascii_case(b"user-agent") => Directive::UserAgent(value),
        _ => match RecordKind::of(key) {
            Some(kind) => Directive::Record(kind, value),
            None => Directive::Unknown(key, value),
        },
    })
}

/// Without space and tab at both ends: nothing else is white space in the RFC's grammar (section 2.2, `WS`).
pub(crate) fn trim(mut octets: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = octets {
        octets = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = octets {
        octets = rest;
    }
    octets
}
