//! Usage preferences: what a site states about uses of its content, beside who may crawl it.
//!
//! A `content-usage` record is an optional path and a statement, as `/ai-ok/ train-ai=y, search=n`. The path is that of a rule
//! (draft-ietf-aipref-attach-05, "Robots Exclusion Protocol Content-Usage Rule"); the statement is a dictionary of structured fields
//! (RFC 9651, section 3.2) whose keys are uses and whose values are the tokens `y` and `n` (draft-ietf-aipref-vocab-08, "Exemplary Serialization
//! Format"). A key that is missing, and any other value, states nothing.

use std::collections::HashMap;
use std::fmt;

/// What is stated about a use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Preference {
    /// `y`: the use is fine.
    Yes,
    /// `n`: the use is unwanted.
    No,
}

impl Preference {
    /// The token: `y` or `n`.
    pub const fn name(self) -> &'static str {
        match self {
            Preference::Yes => "y",
            Preference::No => "n",
        }
    }
}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The name of a use, as `train-ai`.
///
/// ```
/// use robosieve::usage::UsageKey;
///
/// assert_eq!(UsageKey::new("train-ai")?.name(), "train-ai");
/// assert!(UsageKey::new("Train-AI").is_err());
/// # Ok::<(), robosieve::usage::BadUsageKey>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UsageKey(String);

impl UsageKey {
    /// The names that the vocabulary has (draft-ietf-aipref-vocab-08, "Usage Category Labels"). It may grow, and sites may use others.
    pub const VOCABULARY: [&'static str; 3] = ["train-ai", "ai-use", "search"];

    /// The use of that name.
    ///
    /// # Errors
    ///
    /// [`BadUsageKey`] when no dictionary can have such a key.
    pub fn new(name: &str) -> Result<UsageKey, BadUsageKey> {
        let mut reader = Reader(name.as_bytes());
        match reader.key() {
            Some(_) if reader.0.is_empty() => Ok(UsageKey(name.to_owned())),
            _ => Err(BadUsageKey(name.to_owned())),
        }
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UsageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// No name of a use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadUsageKey(String);

impl fmt::Display for BadUsageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no name of a use: it begins with a small letter or `*`, and small letters, digits, `_`, `-`, `.` and `*` follow, as in {}",
            self.0,
            UsageKey::VOCABULARY.join(", ")
        )
    }
}

impl std::error::Error for BadUsageKey {}

/// A `content-usage` record.
///
/// ```
/// use robosieve::usage::{ContentUsage, Preference, UsageKey};
///
/// let record = ContentUsage::parse(b"/ai-ok/ train-ai=y, search=n;why=\"x\", other=5").unwrap();
/// assert_eq!(record.path, Some(&b"/ai-ok/"[..]));
/// assert_eq!(record.preference(&UsageKey::new("train-ai")?), Some(Preference::Yes));
/// assert_eq!(record.preference(&UsageKey::new("other")?), None);
/// # Ok::<(), robosieve::usage::BadUsageKey>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContentUsage<'a> {
    /// Where it holds, as written; `None` for everywhere.
    pub path: Option<&'a [u8]>,
    /// What is stated, each key once.
    pub members: Vec<Member<'a>>,
}

/// A key of a statement and its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value as written, without its parameters; `?1` (true) where the key stands alone.
    pub value: &'a [u8],
}

impl<'a> ContentUsage<'a> {
    /// Reads the value of a record; `None` when the statement is no dictionary, or is empty.
    pub fn parse(value: &'a [u8]) -> Option<ContentUsage<'a>> {
        let is_space = |octet: &u8| matches!(octet, b' ' | b'\t');
        let (path, statement) = match value.first() {
            Some(b'/') => {
                let end = value.iter().position(is_space).unwrap_or(value.len());
                let start = value[end..].iter().position(|octet| !is_space(octet)).map_or(value.len(), |skipped| end + skipped);
                (Some(&value[..end]), &value[start..])
            }
            _ => (None, value),
        };
        let members = Reader(statement).dictionary().filter(|members| !members.is_empty())?;
        Some(ContentUsage { path, members })
    }

    /// What it states about a use.
    pub fn preference(&self, key: &UsageKey) -> Option<Preference> {
        self.members.iter().find(|member| member.key == key.0.as_bytes())?.preference()
    }
}

impl Member<'_> {
    /// What it states; `None` for a value that states nothing.
    pub fn preference(&self) -> Option<Preference> {
        match self.value {
            b"y" => Some(Preference::Yes),
            b"n" => Some(Preference::No),
            _ => None,
        }
    }
}

/// What is left to read of a structured field (RFC 9651, section 4.2, whose algorithms these are). `None` is its "fail parsing".
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn dictionary(mut self) -> Option<Vec<Member<'a>>> {
        let mut members: Vec<Member<'a>> = Vec::new();
        let mut places: HashMap<&[u8], usize> = HashMap::new();
        self.skip(b" ");
        while !self.0.is_empty() {
            let key = self.key()?;
            let value = if self.take(b'=') { self.value()? } else { b"?1" };
            self.parameters()?;
            match places.insert(key, members.len()) {
                Some(known) => {
                    // The last value of a key counts.
                    members[known].value = value;
                    places.insert(key, known);
                }
                None => members.push(Member { key, value }),
            }
            self.skip(b" \t");
            if self.0.is_empty() {
                break;
            }
            if !self.take(b',') {
                return None;
            }
            self.skip(b" \t");
            if self.0.is_empty() {
                return None;
            }
        }
        Some(members)
    }

    fn key(&mut self) -> Option<&'a [u8]> {
        let is_key = |octet: &u8| octet.is_ascii_lowercase() || octet.is_ascii_digit() || matches!(octet, b'_' | b'-' | b'.' | b'*');
        self.0.first().filter(|octet| octet.is_ascii_lowercase() || **octet == b'*')?;
        Some(self.take_while(is_key))
    }

    /// An item or an inner list, without parameters.
    fn value(&mut self) -> Option<&'a [u8]> {
        if self.0.first() == Some(&b'(') { self.spanned(Reader::inner_list) } else { self.bare_item() }
    }

    fn inner_list(&mut self) -> Option<()> {
        self.advance(1);
        loop {
            self.skip(b" ");
            if self.take(b')') {
                return Some(());
            }
            self.bare_item()?;
            self.parameters()?;
            matches!(self.0.first(), Some(b' ' | b')')).then_some(())?;
        }
    }

    fn parameters(&mut self) -> Option<()> {
        while self.take(b';') {
            self.skip(b" ");
            self.key()?;
            if self.take(b'=') {
                self.bare_item()?;
            }
        }
        Some(())
    }

    fn bare_item(&mut self) -> Option<&'a [u8]> {
        match self.0.first()? {
            b'-' | b'0'..=b'9' => self.spanned(|reader| reader.number(true)),
            b'"' => self.spanned(Reader::string),
            b'*' | b'a'..=b'z' | b'A'..=b'Z' => Some(self.take_while(is_token)),
            b':' => self.spanned(Reader::octet_sequence),
            b'?' => self.spanned(Reader::boolean),
            b'@' => self.spanned(|reader| {
                reader.advance(1);
                reader.number(false)
            }),
            b'%' => self.spanned(Reader::display_string),
            _ => None,
        }
    }

    /// An integer of at most 15 digits, or where `decimals` may be, at most 12 digits, a point and up to three more.
    fn number(&mut self, decimals: bool) -> Option<()> {
        self.take(b'-');
        let whole = self.take_while(u8::is_ascii_digit).len();
        if decimals && (1..=12).contains(&whole) && self.take(b'.') {
            return (1..=3).contains(&self.take_while(u8::is_ascii_digit).len()).then_some(());
        }
        ((1..=15).contains(&whole) && self.0.first() != Some(&b'.')).then_some(())
    }

    fn string(&mut self) -> Option<()> {
        self.advance(1);
        loop {
            match *self.next()? {
                b'"' => return Some(()),
                b'\\' => matches!(self.next()?, b'"' | b'\\').then_some(())?,
                b' '..=b'~' => {}
                _ => return None,
            }
        }
    }

    fn octet_sequence(&mut self) -> Option<()> {
        self.advance(1);
        self.take_while(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'/' | b'='));
        self.take(b':').then_some(())
    }

    fn boolean(&mut self) -> Option<()> {
        self.advance(1);
        matches!(self.next()?, b'0' | b'1').then_some(())
    }

    fn display_string(&mut self) -> Option<()> {
        self.advance(1);
        self.take(b'"').then_some(())?;
        let mut text = Vec::new();
        loop {
            match *self.next()? {
                b'"' => return std::str::from_utf8(&text).ok().map(|_| ()),
                b'%' => {
                    let (high, low) = (hex_digit(*self.next()?)?, hex_digit(*self.next()?)?);
                    text.push(high << 4 | low);
                }
                octet @ b' '..=b'~' => text.push(octet),
                _ => return None,
            }
        }
    }

    /// The octets that `read` goes over.
    fn spanned(&mut self, read: impl FnOnce(&mut Reader<'a>) -> Option<()>) -> Option<&'a [u8]> {
        let start = self.0;
        read(self)?;
        Some(&start[..start.len() - self.0.len()])
    }

    fn next(&mut self) -> Option<&'a u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    fn take(&mut self, octet: u8) -> bool {
        let is_next = self.0.first() == Some(&octet);
        self.advance(usize::from(is_next));
        is_next
    }

    fn take_while(&mut self, is_wanted: impl Fn(&u8) -> bool) -> &'a [u8] {
        let len = self.0.iter().position(|octet| !is_wanted(octet)).unwrap_or(self.0.len());
        let taken = &self.0[..len];
        self.advance(len);
        taken
    }

    fn skip(&mut self, octets: &[u8]) {
        self.take_while(|octet| octets.contains(octet));
    }

    fn advance(&mut self, len: usize) {
        self.0 = &self.0[len..];
    }
}

fn is_token(octet: &u8) -> bool {
    octet.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~:/".contains(octet)
}

/// The value of a digit as display strings write it, in lower case.
fn hex_digit(octet: u8) -> Option<u8> {
    match octet {
        b'0'..=b'9' => Some(octet - b'0'),
        b'a'..=b'f' => Some(octet - b'a' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(statement: &str) -> Option<String> {
        let members = Reader(statement.as_bytes()).dictionary()?;
        let text = |member: &Member<'_>| format!("{}={}", member.key.escape_ascii(), member.value.escape_ascii());
        Some(members.iter().map(text).collect::<Vec<_>>().join(" "))
    }

    /// RFC 9651, sections 3.2 and 4.2, and the examples of draft-ietf-aipref-vocab-08.
    #[test]
    fn dictionaries() {
        for (statement, read) in [
            ("train-ai=n", "train-ai=n"),
            ("train-ai=y, search=n", "train-ai=y search=n"),
            ("train-ai=y \t,\tsearch=n  ", "train-ai=y search=n"),
            ("train-ai=y, train-ai, search=n, search=\"n\"", "train-ai=?1 search=\\\"n\\\""),
            ("train-ai;allow=n, train-ai=y", "train-ai=y"),
            ("train-ai;has;parameters=\"?\"", "train-ai=?1"),
            ("a=n;b; c=1;d=:aGk=:;e=?0", "a=n"),
            ("a=(y n), b=( \"x\";q=1  2 );z", "a=(y n) b=( \\\"x\\\";q=1  2 )"),
            ("a=-1.250, b=@-17, c=%\"f%c3%bc\", d=*x/y:z", "a=-1.250 b=@-17 c=%\\\"f%c3%bc\\\" d=*x/y:z"),
            ("a=123456789012345", "a=123456789012345"),
            ("*=y", "*=y"),
            ("", ""),
            ("   ", ""),
        ] {
            assert_eq!(members(statement).as_deref(), Some(read), "{statement:?}");
        }
    }

    #[test]
    fn what_is_no_dictionary() {
        for statement in [
            "Train-ai=n",
            "train-ai=n,",
            "train-ai=n search=n",
            "train-ai = n",
            "=n",
            "train-ai=",
            "a=(y",
            "a=(y,n)",
            "a=(y) ;z",
            "a=\"x",
            "a=\"\\x\"",
            "a=1.",
            "a=1.2345",
            "a=1234567890123456",
            "a=1234567890123.1",
            "a=@1.5",
            "a=?2",
            "a=:x",
            "a=%\"%FF\"",
            "a=%\"%ff\"",
            "a=-",
            "a=n;",
            "a=\u{e9}",
            "\ttrain-ai=n",
        ] {
            assert_eq!(members(statement), None, "{statement:?}");
        }
    }

    #[test]
    fn paths() {
        let read = |value: &'static str| {
            ContentUsage::parse(value.as_bytes())
                .map(|record| (record.path.map(<[u8]>::escape_ascii).map(|path| path.to_string()), record.members.len()))
        };
        assert_eq!(read("train-ai=n"), Some((None, 1)));
        assert_eq!(read("/ train-ai=n"), Some((Some("/".into()), 1)));
        assert_eq!(read("/a*b$ \t train-ai=n, search=y"), Some((Some("/a*b$".into()), 2)));
        for nothing in ["", "/", "/a", "/a ", "/a train-ai=n /b", "*.pdf train-ai=n", "/atrain-ai=n"] {
            assert_eq!(read(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn only_the_tokens_y_and_n_state_something() {
        let key = UsageKey::new("train-ai").unwrap();
        let stated = |statement: &str| ContentUsage::parse(statement.as_bytes()).unwrap().preference(&key);
        assert_eq!(stated("train-ai=n;x=1"), Some(Preference::No));
        assert_eq!(stated("train-ai=n, train-ai=y"), Some(Preference::Yes));
        for silent in ["train-ai", "train-ai=Y", "train-ai=yes", "train-ai=\"n\"", "train-ai=(n)", "train-ai=?0", "search=n"] {
            assert_eq!(stated(silent), None, "{silent}");
        }
    }
}
