//! Lines to directives. Parsing cannot fail: what is no directive is a line of another kind, and findings are made of those.

use std::borrow::Cow;

use super::dialect::{Dialect, KeyMatch, MissingColon, WhiteSpace};
use super::text::{Lines, Text};
use crate::target::quote::is_python_space;

pub use super::record::{Key, RecordKind};

/// What a line says. Values are without the white space around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Directive<'a> {
    /// `user-agent`
    UserAgent(Cow<'a, [u8]>),
    /// `allow`
    Allow(Cow<'a, [u8]>),
    /// `disallow`
    Disallow(Cow<'a, [u8]>),
    /// A record outside the protocol that is kept.
    Record(RecordKind, Cow<'a, [u8]>),
    /// A key that nobody knows, and its value.
    Unknown(&'a [u8], &'a [u8]),
    /// A line without a colon that is no record.
    NoColon(&'a [u8]),
}

/// What a dialect forgave in a line that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgiven {
    /// There is no colon behind the key.
    Colon,
    /// The key is spelled otherwise.
    Spelling,
}

/// One line that is neither blank nor a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: u32,
    /// What it says.
    pub directive: Directive<'a>,
    /// What the dialect forgave to read it so.
    pub forgiven: Option<Forgiven>,
}

/// The directives of a text with their line numbers. Blank lines and comments are left out.
///
/// ```
/// use robosieve::{dialect::{GOOGLE, RFC9309}, parse::{Directive, directives}, text::Text};
///
/// let text = Text::read(b"User-agent: a # we\n\nDisallow: /b\n", &RFC9309);
/// let lines: Vec<_> = directives(&text).map(|line| (line.number, line.directive)).collect();
/// assert_eq!(lines, [(1, Directive::UserAgent(b"a".into())), (3, Directive::Disallow(b"/b".into()))]);
///
/// let text = Text::read(b"Disalow /b\n", &GOOGLE);
/// assert_eq!(directives(&text).next().unwrap().directive, Directive::Disallow(b"/b".into()));
/// ```
pub fn directives<'a>(text: &'a Text<'_>) -> Directives<'a> {
    Directives { lines: text.lines(), dialect: text.dialect() }
}

/// See [`directives`].
#[derive(Debug, Clone)]
pub struct Directives<'a> {
    lines: Lines<'a>,
    dialect: &'a Dialect,
}

impl<'a> Iterator for Directives<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        loop {
            let (number, line) = self.lines.next()?;
            let code = self.dialect.trim(memchr::memchr(b'#', line).map_or(line, |comment| &line[..comment]));
            if !code.is_empty() {
                let (directive, forgiven) = self.dialect.directive(code);
                return Some(Line { number, directive, forgiven });
            }
        }
    }
}

impl Dialect {
    /// What `code`, a line without comment and white space around it, says.
    fn directive<'a>(&self, code: &'a [u8]) -> (Directive<'a>, Option<Forgiven>) {
        let Some(colon) = memchr::memchr(b':', code) else {
            let words = self.words(code).map(|(key, value)| (directive(key, value), Some(Forgiven::Colon)));
            return words.unwrap_or((Directive::NoColon(code), None));
        };
        let (name, raw_value) = (self.trim(&code[..colon]), &code[colon + 1..]);
        let value = self.trim(raw_value);
        match self.key(name) {
            Some((key, is_exact)) => (directive(key, value.into()), (!is_exact).then_some(Forgiven::Spelling)),
            None => {
                let may_be_words =
                    self.missing_colon == MissingColon::KnownKey && !raw_value.is_empty() && !self.starts_with_space(raw_value);
                let words = may_be_words.then(|| self.words(code)).flatten();
                words.map_or((self.other(name, value), None), |(key, value)| (directive(key, value), Some(Forgiven::Colon)))
            }
        }
    }

    /// A record whose key is not the protocol's.
    fn other<'a>(&self, name: &'a [u8], value: &'a [u8]) -> Directive<'a> {
        match RecordKind::of(name) {
            Some(kind) => Directive::Record(kind, value.into()),
            None => Directive::Unknown(name, value),
        }
    }

    /// The key of that name, and whether it is spelled as the protocol has it.
    fn key(&self, name: &[u8]) -> Option<(Key, bool)> {
        let fits = |spelling: &str| match self.key_match {
            KeyMatch::Equal => name.eq_ignore_ascii_case(spelling.as_bytes()),
            KeyMatch::Prefix => name.get(..spelling.len()).is_some_and(|front| front.eq_ignore_ascii_case(spelling.as_bytes())),
        };
        let &(_, key) = self.keys.iter().find(|(spelling, _)| fits(spelling))?;
        Some((key, name.eq_ignore_ascii_case(key.name().as_bytes())))
    }

    /// Key and value of a line whose colon is missing, or means something else, where the dialect reads it all the same.
    fn words<'a>(&self, code: &'a [u8]) -> Option<(Key, Cow<'a, [u8]>)> {
        match self.missing_colon {
            MissingColon::NoRecord => None,
            MissingColon::TwoWords => self.two_words(code),
            MissingColon::KnownKey => self.known_words(code),
        }
    }

    fn two_words<'a>(&self, code: &'a [u8]) -> Option<(Key, Cow<'a, [u8]>)> {
        let is_separator = |octet: &u8| matches!(octet, b' ' | b'\t');
        let end = code.iter().position(is_separator)?;
        let start = end + code[end..].iter().position(|octet| !is_separator(octet))?;
        if code[start..].iter().any(is_separator) {
            return None;
        }
        Some((self.key(self.trim(&code[..end]))?.0, self.trim(&code[start..]).into()))
    }

    fn known_words<'a>(&self, code: &'a [u8]) -> Option<(Key, Cow<'a, [u8]>)> {
        let words: Vec<&str> = std::str::from_utf8(code).ok()?.split(is_python_space).filter(|word| !word.is_empty()).collect();
        let key = |count: usize| self.key(words[..count].join(" ").as_bytes()).map(|(key, _)| (key, count));
        let (key, count) = (1..=words.len().min(2)).find_map(key)?;
        Some((key, words[count..].join(" ").into_bytes().into()))
    }

    /// `octets` without white space at both ends.
    pub(crate) fn trim<'a>(&self, octets: &'a [u8]) -> &'a [u8] {
        match self.white_space {
            WhiteSpace::SpaceTab => trim_octets(octets, |octet| matches!(octet, b' ' | b'\t')),
            WhiteSpace::Ascii => trim_octets(octets, is_ascii_space),
            WhiteSpace::Unicode => match std::str::from_utf8(octets) {
                Ok(text) => text.trim_matches(is_python_space).as_bytes(),
                Err(_) => trim_octets(octets, is_ascii_space),
            },
        }
    }

    fn starts_with_space(&self, octets: &[u8]) -> bool {
        let first = octets.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
        first.is_some_and(is_python_space)
    }
}

fn directive(key: Key, value: Cow<'_, [u8]>) -> Directive<'_> {
    match key {
        Key::UserAgent => Directive::UserAgent(value),
        Key::Allow => Directive::Allow(value),
        Key::Disallow => Directive::Disallow(value),
        Key::Record(kind) => Directive::Record(kind, value),
    }
}

fn trim_octets(mut octets: &[u8], is_space: fn(u8) -> bool) -> &[u8] {
    while let [first, rest @ ..] = octets
        && is_space(*first)
    {
        octets = rest;
    }
    while let [rest @ .., last] = octets
        && is_space(*last)
    {
        octets = rest;
    }
    octets
}

/// C's `isspace`, which unlike [`u8::is_ascii_whitespace`] takes VT.
pub(crate) const fn is_ascii_space(octet: u8) -> bool {
    matches!(octet, b' ' | b'\t'..=b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::dialect::{GOOGLE, RFC9309, SCRAPY};

    fn one(line: &str, dialect: Dialect) -> String {
        let text = Text::read(line.as_bytes(), &dialect);
        let lines: Vec<String> = directives(&text)
            .map(|line| match line.directive {
                Directive::UserAgent(value) => format!("agent {}", value.escape_ascii()),
                Directive::Allow(value) => format!("allow {}", value.escape_ascii()),
                Directive::Disallow(value) => format!("disallow {}", value.escape_ascii()),
                Directive::Record(kind, value) => format!("{} {}", kind.key(), value.escape_ascii()),
                Directive::Unknown(key, value) => format!("? {} {}", key.escape_ascii(), value.escape_ascii()),
                Directive::NoColon(code) => format!("! {}", code.escape_ascii()),
            })
            .collect();
        lines.join("|")
    }

    #[test]
    fn each_dialect_reads_its_own_keys() {
        for (line, rfc9309, google, scrapy) in [
            ("Disallow: /a b", "disallow /a b", "disallow /a b", "disallow /a b"),
            ("disallow /a", "! disallow /a", "disallow /a", "disallow /a"),
            ("disallow /a b", "! disallow /a b", "! disallow /a b", "disallow /a b"),
            ("user agent  *", "! user agent  *", "! user agent  *", "agent *"),
            ("user agent: *", "? user agent *", "agent *", "agent *"),
            ("disallowed: /a", "? disallowed /a", "disallow /a", "? disallowed /a"),
            ("Dissalow: /a", "? Dissalow /a", "disallow /a", "disallow /a"),
            ("Disallow /x:y", "? Disallow /x y", "disallow y", "disallow /x:y"),
            ("Disallow /x: y", "? Disallow /x y", "disallow y", "? Disallow /x y"),
            ("Sitemap https://e/s", "? Sitemap https //e/s", "sitemap //e/s", "sitemap https://e/s"),
            ("sitemaps: x", "? sitemaps x", "sitemap x", "sitemap x"),
            (
                "\u{a0}allow\u{a0}:\u{b}/a\u{2003}",
                "? \\xc2\\xa0allow\\xc2\\xa0 \\x0b/a\\xe2\\x80\\x83",
                "? \\xc2\\xa0allow\\xc2\\xa0 /a\\xe2\\x80\\x83",
                "allow |! /a",
            ),
            ("\u{c}allow\u{c}:/a", "? \\x0callow\\x0c /a", "allow /a", "allow |?  /a"),
            (": /a", "?  /a", "?  /a", "?  /a"),
        ] {
            let read = [RFC9309, GOOGLE, SCRAPY].map(|dialect| one(line, dialect));
            assert_eq!(read, [rfc9309, google, scrapy], "{line:?}");
        }
    }
}
