//! Agents: on whose behalf a policy is asked.
//!
//! A robots.txt addresses crawlers by *product token*, a short name such as `Googlebot`. An [`Agent`] says which tokens
//! its owner answers to, and whether the groups for `*` bind it. There are four ways to one:
//!
//! - [`Agent::token`] from a token, as on a command line;
//! - [`Agent::from_header`] from a whole User-Agent header, as in an access log;
//! - [`Agent::crawler_profile`] from the registry of well-known crawlers, with what their operators document: the token
//!   that counts where the own one is missing, and whether `*` is ignored;
//! - [`Agent::profile`] from tokens of your own choice.
//!
//! A [`Preset`] names several at once. Whom a header names, and how sure that is, [`identify`] says.
//!
//! The plain token is the default everywhere: a header that carries `AdsBot-Google` gives an agent that `*` binds,
//! although that crawler ignores `*`. Only the profile says otherwise.
//!
//! ```
//! use robosieve::agent::Agent;
//!
//! let header = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
//! assert_eq!(Agent::from_header(header).name(), "Googlebot");
//! ```

use std::error::Error;
use std::fmt;

mod crawler;
mod header;
mod registry;

pub use crawler::{Crawler, Preset, Purpose, crawlers, lookup, preset, presets};
pub use header::{Identified, Mention, identify, mentions};

/// The name of an agent that no group names.
const ANY: &str = "*";

/// The longest run of letters, digits, `.`, `_` and `-` that `value` starts with.
///
/// RFC 9309 allows letters, `_` and `-` only, but one file in eleven uses digits or dots, so they count.
///
/// ```
/// use robosieve::agent::product_token;
///
/// assert_eq!(product_token(b"Googlebot/2.1"), Some(&b"Googlebot"[..]));
/// assert_eq!(product_token(b"archive.org_bot"), Some(&b"archive.org_bot"[..]));
/// assert_eq!(product_token(b"*"), None);
/// ```
#[must_use]
pub fn product_token(value: &[u8]) -> Option<&[u8]> {
    let len = value.iter().take_while(|&&byte| is_token_byte(byte)).count();
    (len > 0).then(|| &value[..len])
}

/// Whom a `user-agent` line names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineToken<'a> {
    /// Every agent that no other group of the file names: `*`.
    Star,
    /// The agents that answer to this token. It compares without ASCII case.
    Product(&'a [u8]),
}

/// Whom the value of a `user-agent` line names, in the `rfc9309` dialect; `None` where it names nobody.
///
/// The value is taken without the space around it and without a comment. `*` counts only alone or before space or tab:
/// `*bot` names nobody.
///
/// ```
/// use robosieve::agent::{LineToken, line_token};
///
/// assert_eq!(line_token(b"* (everyone)"), Some(LineToken::Star));
/// assert_eq!(line_token(b"CCBot/2.0"), Some(LineToken::Product(b"CCBot")));
/// assert_eq!(line_token(b"*bot"), None);
/// ```
#[must_use]
pub fn line_token(value: &[u8]) -> Option<LineToken<'_>> {
    match value {
        [b'*'] | [b'*', b' ' | b'\t', ..] => Some(LineToken::Star),
        _ => product_token(value).map(LineToken::Product),
    }
}

/// A party on whose behalf a policy is asked: the tokens that it answers to, and whether `*` binds it.
///
/// Tokens are ordered: the first one that any group of a policy names decides, and only if none is named do the groups
/// for `*` count. Tokens compare without ASCII case; two agents are equal only if they were given alike.
///
/// ```
/// use robosieve::agent::Agent;
///
/// let agent = Agent::token("GPTBot")?;
/// assert_eq!(agent.name(), "GPTBot");
/// assert_eq!(agent.tokens(), ["GPTBot"]);
/// assert!(agent.star());
/// # Ok::<(), robosieve::agent::AgentError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    name: String,
    tokens: Vec<String>,
    star: bool,
    given: Given,
}

/// How an agent was given. Some dialects use the text whole, so it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Given {
    Token { text: String, note: Option<String> },
    Profile,
    Header { text: String, note: Option<String> },
}

impl Agent {
    /// An agent that answers to one product token, or to none if `text` is `*`.
    ///
    /// A version after the token is dropped, and [`note`](Agent::note) says so.
    ///
    /// ```
    /// use robosieve::agent::Agent;
    ///
    /// let agent = Agent::token("CCBot/2.0")?;
    /// assert_eq!(agent.name(), "CCBot");
    /// assert!(agent.note().is_some());
    ///
    /// let nobody_in_particular = Agent::token("*")?;
    /// assert!(nobody_in_particular.tokens().is_empty());
    ///
    /// let error = Agent::token("Mozilla/5.0 (compatible; GPTBot/1.3)").unwrap_err();
    /// assert!(error.to_string().contains("--user-agent"));
    /// # Ok::<(), robosieve::agent::AgentError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If `text` is empty, holds white space, or holds a character that cannot stand in a token, other than in a version
    /// after a slash.
    pub fn token(text: &str) -> Result<Agent, AgentError> {
        let text = text.trim_ascii();
        if text == ANY {
            return Ok(Agent::of_token(ANY, None, text));
        }
        let token = leading_token(text).ok_or_else(|| AgentError::new(text, text))?;
        match &text[token.len()..] {
            "" => Ok(Agent::of_token(token, Some(token), text)),
            tail if is_version(tail) => Ok(Agent::of_token(token, Some(token), text)),
            tail => Err(AgentError::new(text, tail)),
        }
    }

    fn of_token(name: &str, token: Option<&str>, text: &str) -> Agent {
        let note = (name != text).then(|| format!("`{text}` is read as the product token `{name}`"));
        Agent {
            name: name.to_owned(),
            tokens: token.map(str::to_owned).into_iter().collect(),
            star: true,
            given: Given::Token { text: text.to_owned(), note },
        }
    }

    /// An agent that answers to several tokens in order, under a name of its own.
    ///
    /// `star` says whether the groups for `*` bind it where no token is named. Tokens are taken as they are, except that
    /// empty ones and `*` name nobody and are left out; check each with [`Agent::token`] if they come from a person.
    ///
    /// ```
    /// use robosieve::agent::Agent;
    ///
    /// let images = Agent::profile("images", ["Googlebot-Image", "Googlebot"], true);
    /// assert_eq!(images.tokens(), ["Googlebot-Image", "Googlebot"]);
    /// ```
    #[must_use]
    pub fn profile<T: Into<String>>(name: impl Into<String>, tokens: impl IntoIterator<Item = T>, star: bool) -> Agent {
        let tokens = tokens.into_iter().map(Into::into);
        Agent { name: name.into(), tokens: tokens.filter(|token| !token.is_empty() && token != ANY).collect(), star, given: Given::Profile }
    }

    /// The profile of a well-known crawler: its token, the fallbacks that its operator documents, and whether it heeds
    /// `*`. `None` if the registry does not hold `token`.
    ///
    /// ```
    /// use robosieve::agent::Agent;
    ///
    /// let images = Agent::crawler_profile("googlebot-image").unwrap();
    /// assert_eq!(images.tokens(), ["Googlebot-Image", "Googlebot"]);
    ///
    /// let ads = Agent::crawler_profile("AdsBot-Google").unwrap();
    /// assert!(!ads.star());
    /// ```
    #[must_use]
    pub fn crawler_profile(token: &str) -> Option<Agent> {
        let crawler = lookup(token)?;
        let tokens = std::iter::once(&crawler.token).chain(crawler.fallback);
        Some(Agent::profile(crawler.token, tokens.copied(), crawler.star))
    }

    /// The agent behind a whole User-Agent header. Never fails: a header without any token, such as a browser's, gives
    /// an agent that no group names and `*` binds.
    ///
    /// The token is, in this order: a well-known crawler's that stands right after `compatible;`; any other well-known
    /// crawler's in the header, the longest one and of equally long ones the first; the product after `compatible;`; the
    /// product that the header starts with. `Mozilla` is no product in this sense. Names that another crawler in the header is
    /// known to carry do not count; crawlers of several operators are ambiguous, and [`note`](Agent::note) says so: see
    /// [`identify`].
    ///
    /// ```
    /// use robosieve::agent::Agent;
    ///
    /// let known = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.3; +https://openai.com/gptbot";
    /// assert_eq!(Agent::from_header(known).name(), "GPTBot");
    ///
    /// let unknown = "ExampleBot/0.9 (+https://example.com/bot)";
    /// assert_eq!(Agent::from_header(unknown).name(), "ExampleBot");
    ///
    /// let browser = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
    /// assert_eq!(Agent::from_header(browser).name(), "*");
    /// assert!(Agent::from_header(browser).star());
    /// ```
    #[must_use]
    pub fn from_header(header: &str) -> Agent {
        let identified = identify(header);
        let token = identified.token();
        Agent {
            name: token.unwrap_or(ANY).to_owned(),
            tokens: token.map(str::to_owned).into_iter().collect(),
            star: true,
            given: Given::Header { text: header.to_owned(), note: identified.note() },
        }
    }

    /// The name that outputs show: the token, the profile's name, or `*` for an agent that no group names.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The product tokens that the agent answers to, the one that counts most first.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Whether groups for `*` bind the agent where no group names one of its tokens.
    #[must_use]
    pub fn star(&self) -> bool {
        self.star
    }

    /// What a person should know about how the text was read, if anything.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        match &self.given {
            Given::Token { note, .. } | Given::Header { note, .. } => note.as_deref(),
            Given::Profile => None,
        }
    }

    /// The header that the agent was extracted from, if it was given as one.
    #[must_use]
    pub fn header(&self) -> Option<&str> {
        match &self.given {
            Given::Header { text, .. } => Some(text),
            Given::Token { .. } | Given::Profile => None,
        }
    }

    /// The text that the agent was given as, for dialects that use it whole: the header, the token with its version, or
    /// the profile's name.
    ///
    /// ```
    /// use robosieve::agent::Agent;
    ///
    /// assert_eq!(Agent::token("CCBot/2.0")?.given(), "CCBot/2.0");
    /// # Ok::<(), robosieve::agent::AgentError>(())
    /// ```
    #[must_use]
    pub fn given(&self) -> &str {
        match &self.given {
            Given::Token { text, .. } | Given::Header { text, .. } => text,
            Given::Profile => &self.name,
        }
    }

    /// The text that the agent was given as, if that was a token and not a header or a profile.
    pub(crate) fn given_token(&self) -> Option<&str> {
        match &self.given {
            Given::Token { text, .. } => Some(text),
            Given::Header { .. } | Given::Profile => None,
        }
    }

    /// The agent's part in the name of an output column: its name, or `any` for an agent that no group names. Octets of
    /// a profile's name that no token has become `_`.
    ///
    /// ```
    /// use robosieve::agent::Agent;
    ///
    /// assert_eq!(Agent::token("GPTBot")?.column_suffix(), "GPTBot");
    /// assert_eq!(Agent::token("*")?.column_suffix(), "any");
    /// # Ok::<(), robosieve::agent::AgentError>(())
    /// ```
    #[must_use]
    pub fn column_suffix(&self) -> String {
        if self.name.is_empty() || self.name == ANY {
            return "any".to_owned();
        }
        let column = |byte: u8| {
            if is_token_byte(byte) { char::from(byte) } else { '_' }
        };
        self.name.bytes().map(column).collect()
    }

    /// Whether the registry holds the agent's first token.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.tokens.first().is_some_and(|token| lookup(token).is_some())
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// A text that is no product token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentError {
    text: String,
    kind: AgentErrorKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum AgentErrorKind {
    Empty,
    WhiteSpace,
    Character(char),
}

impl AgentError {
    /// `rest` is what the text holds from the first character on that does not fit.
    fn new(text: &str, rest: &str) -> AgentError {
        let kind = match rest.chars().next() {
            None => AgentErrorKind::Empty,
            Some(_) if text.contains(char::is_whitespace) => AgentErrorKind::WhiteSpace,
            Some(character) => AgentErrorKind::Character(character),
        };
        AgentError { text: text.to_owned(), kind }
    }
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const HINT: &str = "a whole User-Agent header is given with the option --user-agent";
        let text = &self.text;
        match self.kind {
            AgentErrorKind::Empty => f.write_str("an agent is empty; give a product token such as GPTBot, or *"),
            AgentErrorKind::WhiteSpace => write!(f, "agent {text:?} is more than one word; {HINT}"),
            AgentErrorKind::Character(character) => {
                write!(f, "agent {text:?} is no product token, {character:?} cannot stand there; {HINT}")
            }
        }
    }
}

impl Error for AgentError {}

const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-')
}

fn leading_token(text: &str) -> Option<&str> {
    let len = product_token(text.as_bytes())?.len();
    Some(&text[..len])
}

/// `/` and an RFC 9110 token, which is wider than a product token: SemrushBot calls itself `SemrushBot/7~bl`.
fn is_version(tail: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    match tail.as_bytes() {
        [b'/', version @ ..] => !version.is_empty() && version.iter().all(|&byte| is_legal(byte)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn product_tokens() {
        let cases: [(&[u8], Option<&[u8]>); 9] = [
            (b"", None),
            (b" Googlebot", None),
            (b"/1.0", None),
            (b"\xffbot", None),
            (b"Googlebot", Some(b"Googlebot")),
            (b"MJ12bot/v1.4.8", Some(b"MJ12bot")),
            (b"archive.org_bot", Some(b"archive.org_bot")),
            (b"Sogou web spider", Some(b"Sogou")),
            (b"caf\xc3\xa9", Some(b"caf")),
        ];
        for (value, token) in cases {
            assert_eq!(product_token(value), token, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn line_tokens() {
        for star in [&b"*"[..], b"* ", b"*\t", b"* everyone", b"* *"] {
            assert_eq!(line_token(star), Some(LineToken::Star), "{}", star.escape_ascii());
        }
        for nobody in [&b""[..], b"**", b"*bot", b"*/", b"*\r", b"*\xc2\xa0", b"\"x\""] {
            assert_eq!(line_token(nobody), None, "{}", nobody.escape_ascii());
        }
        assert_eq!(line_token(b"bot*"), Some(LineToken::Product(b"bot")));
    }

    #[test]
    fn token_alone() {
        let agent = Agent::token("  GPTBot ").unwrap();
        assert_eq!((agent.name(), agent.given()), ("GPTBot", "GPTBot"));
        assert_eq!(agent.tokens(), ["GPTBot"]);
        assert_eq!((agent.note(), agent.header()), (None, None));
        assert!(agent.star() && agent.is_known());
        assert!(!Agent::token("ExampleBot").unwrap().is_known());
    }

    #[test]
    fn token_with_version_carries_a_note() {
        for (text, token) in [("CCBot/2.0", "CCBot"), ("SemrushBot/7~bl", "SemrushBot"), ("a/b", "a")] {
            let agent = Agent::token(text).unwrap();
            assert_eq!((agent.name(), agent.given()), (token, text));
            let note = agent.note().unwrap();
            assert!(note.contains(text) && note.contains(&format!("`{token}`")), "{note}");
        }
    }

    #[test]
    fn star_is_an_agent() {
        let agent = Agent::token("*").unwrap();
        assert_eq!((agent.name(), agent.given(), agent.note()), ("*", "*", None));
        assert_eq!(agent.column_suffix(), "any");
        assert!(agent.tokens().is_empty() && agent.star() && !agent.is_known());
    }

    #[test]
    fn what_is_no_token_says_what_to_do() {
        for text in [
            "Googlebot Image",
            "CCBot/2.0 (https://commoncrawl.org/faq/)",
            "two\u{a0}words",
            "* bot",
            "*bot",
            "/2.0",
            "CCBot/",
            "CCBot/2/3",
            "bot;",
            "b\u{f6}t",
            "\u{1b}[31m",
        ] {
            let message = Agent::token(text).unwrap_err().to_string();
            assert!(message.contains("--user-agent"), "{text:?}: {message}");
            assert!(!message.contains(char::is_control), "{message:?}");
        }
        for text in ["", " ", "\t\n"] {
            let message = Agent::token(text).unwrap_err().to_string();
            assert!(message.contains("empty"), "{message}");
        }
    }

    #[test]
    fn error_names_the_character() {
        let message = Agent::token("bot;").unwrap_err().to_string();
        assert!(message.contains("';'"), "{message}");
        let message = Agent::token("two words").unwrap_err().to_string();
        assert!(message.contains("more than one word"), "{message}");
    }

    #[test]
    fn profiles() {
        let agent = Agent::profile("my crawler", ["A", "", "*", "B"], false);
        assert_eq!((agent.name(), agent.given()), ("my crawler", "my crawler"));
        assert_eq!(agent.tokens(), ["A", "B"]);
        assert_eq!(agent.column_suffix(), "my_crawler");
        assert!(!agent.star() && agent.note().is_none() && agent.header().is_none());
        assert_eq!(Agent::profile("", [""; 0], true).column_suffix(), "any");
    }

    #[test]
    fn crawler_profiles() {
        let profile = |token| Agent::crawler_profile(token).unwrap();
        assert_eq!(profile("APPLEBOT").tokens(), ["Applebot", "Googlebot"]);
        assert_eq!(profile("YandexBot").tokens(), ["YandexBot", "Yandex"]);
        assert_eq!(profile("AdsBot-Google").tokens(), ["AdsBot-Google"]);
        assert!(!profile("AdsBot-Google").star());
        assert!(profile("GPTBot").star() && profile("GPTBot").is_known());
        assert_eq!(Agent::crawler_profile("ExampleBot"), None);
        assert_eq!(Agent::crawler_profile("*"), None);
    }

    #[test]
    fn header_gives_the_plain_token_not_the_profile() {
        let agent = Agent::from_header("AdsBot-Google (+http://www.google.com/adsbot.html)");
        assert_eq!(agent.tokens(), ["AdsBot-Google"]);
        assert!(agent.star());
        assert_eq!(Agent::from_header("Googlebot-Image/1.0").tokens(), ["Googlebot-Image"]);
    }

    #[test]
    fn types_are_send_and_sync() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Agent>();
        check::<AgentError>();
        check::<Crawler>();
        check::<Identified<'static>>();
        check::<Preset>();
    }
}
