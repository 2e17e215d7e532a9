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
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

mod registry;

use registry::CRAWLERS;

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
    Header(String),
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
    /// product that the header starts with. `Mozilla` is no product in this sense.
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
        let token = header_token(header);
        Agent {
            name: token.unwrap_or(ANY).to_owned(),
            tokens: token.map(str::to_owned).into_iter().collect(),
            star: true,
            given: Given::Header(header.to_owned()),
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
            Given::Token { note, .. } => note.as_deref(),
            Given::Profile | Given::Header(_) => None,
        }
    }

    /// The header that the agent was extracted from, if it was given as one.
    #[must_use]
    pub fn header(&self) -> Option<&str> {
        match &self.given {
            Given::Header(header) => Some(header),
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
            Given::Token { text, .. } | Given::Header(text) => text,
            Given::Profile => &self.name,
        }
    }

    /// The text that the agent was given as, if that was a token and not a header or a profile.
    pub(crate) fn given_token(&self) -> Option<&str> {
        match &self.given {
            Given::Token { text, .. } => Some(text),
            Given::Header(_) | Given::Profile => None,
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

/// A well-known crawler, with the facts that its operator documents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Crawler {
    /// Product token, as the operator spells it.
    pub token: &'static str,
    /// Who runs it.
    pub operator: &'static str,
    /// What the fetched content is for.
    pub purpose: Purpose,
    /// Tokens that bind the crawler, in this order, where no group names its own.
    pub fallback: &'static [&'static str],
    /// Whether groups for `*` bind it.
    pub star: bool,
    /// Whether the token stands in robots.txt only: another crawler fetches, under its own User-Agent.
    pub never_in_header: bool,
    /// Whether the operator says that a person's request starts each fetch.
    pub user_triggered: bool,
    /// The operator's page that documents the crawler.
    pub source: &'static str,
}

/// What a crawler fetches content for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// The index of a search engine.
    Search,
    /// Training of models.
    AiTraining,
    /// The index behind the answers of a model.
    AiSearch,
    /// A request of a person, who reads the page or has it read.
    UserTriggered,
    /// Link indexes and audits sold to owners of sites.
    Seo,
    /// Preservation.
    Archive,
    /// Quality of advertisements and of the pages that carry them.
    Ads,
    /// The card shown for a shared link.
    Preview,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Purpose; 8] = [
        Purpose::Search,
        Purpose::AiTraining,
        Purpose::AiSearch,
        Purpose::UserTriggered,
        Purpose::Seo,
        Purpose::Archive,
        Purpose::Ads,
        Purpose::Preview,
    ];

    /// The name in the registry's file and in presets.
    ///
    /// ```
    /// use robosieve::agent::Purpose;
    ///
    /// assert_eq!(Purpose::AiTraining.name(), "ai-training");
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Purpose::Search => "search",
            Purpose::AiTraining => "ai-training",
            Purpose::AiSearch => "ai-search",
            Purpose::UserTriggered => "user-triggered",
            Purpose::Seo => "seo",
            Purpose::Archive => "archive",
            Purpose::Ads => "ads",
            Purpose::Preview => "preview",
        }
    }
}

impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The registry of well-known crawlers.
///
/// ```
/// use robosieve::agent::{Purpose, crawlers};
///
/// let training = crawlers().iter().filter(|crawler| crawler.purpose == Purpose::AiTraining);
/// assert!(training.map(|crawler| crawler.token).any(|token| token == "GPTBot"));
/// ```
#[must_use]
pub fn crawlers() -> &'static [Crawler] {
    CRAWLERS
}

/// The well-known crawler with this token, compared without ASCII case.
///
/// ```
/// use robosieve::agent::lookup;
///
/// assert_eq!(lookup("claudebot").unwrap().operator, "Anthropic");
/// assert!(lookup("ExampleBot").is_none());
/// ```
#[must_use]
pub fn lookup(token: &str) -> Option<&'static Crawler> {
    CRAWLERS.iter().find(|crawler| crawler.token.eq_ignore_ascii_case(token))
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

/// One automaton finds every well-known token and the mark that products stand after.
///
/// A match counts only if it is a whole run of token octets (full stops after it aside), and no two such matches share
/// an octet. So the leftmost-longest search without overlaps misses none, although it also finds, and then drops,
/// matches that are no whole run, such as `Googlebot` in `Googlebot-Mobile`.
struct HeaderSearch {
    automaton: AhoCorasick,
    /// By pattern; `None` stands for the mark.
    tokens: Vec<Option<&'static str>>,
}

const MARK: &str = "compatible;";

static HEADER_SEARCH: LazyLock<HeaderSearch> = LazyLock::new(|| {
    let known = CRAWLERS.iter().filter(|crawler| !crawler.never_in_header);
    let tokens: Vec<_> = std::iter::once(None).chain(known.map(|crawler| Some(crawler.token))).collect();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::LeftmostLongest)
        .build(tokens.iter().map(|token| token.unwrap_or(MARK)))
        .expect("a few short patterns stay far below the automaton's limits");
    HeaderSearch { automaton, tokens }
});

/// A token inside an address counts too: operators point from there to the page that says which token binds a crawler,
/// as `special_archiver/3.1.1 +http://www.archive.org/details/archive.org_bot` does.
fn header_token(header: &str) -> Option<&str> {
    let (mut known, mut product, mut after_mark) = (None, None, None);
    for found in HEADER_SEARCH.automaton.find_iter(header) {
        if !starts_token(header, found.start()) {
            continue;
        }
        let rest = &header[found.end()..];
        match HEADER_SEARCH.tokens[found.pattern().as_usize()] {
            None => {
                let rest = rest.trim_ascii_start();
                after_mark = Some(header.len() - rest.len());
                product = product.or_else(|| header_product(rest));
            }
            Some(_) if !ends_token(rest) => {}
            Some(token) if after_mark == Some(found.start()) => return Some(token),
            Some(token) => known = Some(longer(known, token)),
        }
    }
    known.or(product).or_else(|| header_product(header.trim_ascii_start()))
}

fn longer(best: Option<&'static str>, token: &'static str) -> &'static str {
    best.filter(|best| best.len() >= token.len()).unwrap_or(token)
}

fn starts_token(header: &str, at: usize) -> bool {
    at == 0 || !is_token_byte(header.as_bytes()[at - 1])
}

/// A full stop is a token octet, but one that no token octet follows ends a sentence: `GPTBot.` ends, `bingbot.htm` goes on.
fn ends_token(rest: &str) -> bool {
    let next = rest.bytes().find(|&byte| byte != b'.');
    next.is_none_or(|byte| !is_token_byte(byte))
}

/// `Mozilla` names no crawler, wherever it stands, and neither does the `-` that logs write for a missing header.
fn header_product(text: &str) -> Option<&str> {
    let product = leading_token(text)?.trim_end_matches('.');
    let is_name = product.bytes().any(|byte| byte.is_ascii_alphanumeric());
    (is_name && !product.eq_ignore_ascii_case("Mozilla")).then_some(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(header: &str) -> String {
        Agent::from_header(header).name().to_owned()
    }

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
    fn headers_of_known_crawlers() {
        for (token, header) in KNOWN_HEADERS {
            let agent = Agent::from_header(header);
            assert_eq!(agent.name(), token, "{header}");
            assert_eq!(agent.tokens(), [token]);
            assert_eq!((agent.header(), agent.given()), (Some(header), header));
            assert_eq!(agent.column_suffix(), token);
            assert!(agent.is_known());
        }
    }

    #[test]
    fn every_token_that_a_header_carries_is_among_the_headers() {
        for crawler in crawlers().iter().filter(|crawler| !crawler.never_in_header) {
            let tested = KNOWN_HEADERS.iter().any(|(token, _)| *token == crawler.token);
            assert!(tested, "{}", crawler.token);
        }
    }

    const KNOWN_HEADERS: [(&str, &str); 46] = [
        ("Googlebot", "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"),
        (
            "Googlebot",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/118.0.5993.117 Safari/537.36",
        ),
        (
            "Googlebot",
            "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.5993.117 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
        ),
        ("Googlebot", "Googlebot/2.1 (+http://www.google.com/bot.html)"),
        ("Googlebot-Image", "Googlebot-Image/1.0"),
        ("Googlebot-Video", "Googlebot-Video/1.0"),
        ("AdsBot-Google", "AdsBot-Google (+http://www.google.com/adsbot.html)"),
        (
            "AdsBot-Google-Mobile",
            "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.5993.117 Mobile Safari/537.36 (compatible; AdsBot-Google-Mobile; +http://www.google.com/mobile/adsbot.html)",
        ),
        ("Mediapartners-Google", "Mediapartners-Google"),
        ("Bingbot", "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"),
        (
            "Bingbot",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/103.0.5060.134 Safari/537.36",
        ),
        ("AdIdxBot", "Mozilla/5.0 (compatible; adidxbot/2.0; +http://www.bing.com/bingbot.htm)"),
        (
            "AdIdxBot",
            "Mozilla/5.0 (Windows Phone 8.1; ARM; Trident/7.0; Touch; rv:11.0; IEMobile/11.0; NOKIA; Lumia 530) like Gecko (compatible; adidxbot/2.0; +http://www.bing.com/bingbot.htm)",
        ),
        ("GPTBot", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; GPTBot/1.3; +https://openai.com/gptbot"),
        ("GPTBot", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.0; +https://openai.com/gptbot)"),
        (
            "OAI-SearchBot",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36; compatible; OAI-SearchBot/1.3; +https://openai.com/searchbot",
        ),
        ("ChatGPT-User", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot"),
        ("ClaudeBot", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)"),
        (
            "Claude-SearchBot",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-SearchBot/1.0; +https://www.anthropic.com)",
        ),
        ("Claude-User", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)"),
        (
            "Applebot",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)",
        ),
        (
            "Applebot",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_10_1) AppleWebKit/600.2.5 (KHTML, like Gecko) Version/8.0.2 Safari/600.2.5 (Applebot/0.1)",
        ),
        (
            "PerplexityBot",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)",
        ),
        (
            "Perplexity-User",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)",
        ),
        (
            "Amazonbot",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot) Chrome/119.0.6045.214 Safari/537.36",
        ),
        (
            "Amazonbot",
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_10_1) AppleWebKit/600.2.5 (KHTML\\, like Gecko) Version/8.0.2 Safari/600.2.5 (Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot)",
        ),
        (
            "Amzn-SearchBot",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amzn-SearchBot/0.1) Chrome/119.0.6045.214 Safari/537.36",
        ),
        ("Amzn-User", "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Amzn-User/0.1) Chrome/119.0.6045.214 Safari/537.36"),
        ("meta-externalagent", "meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)"),
        ("meta-webindexer", "meta-webindexer/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)"),
        ("meta-externalfetcher", "meta-externalfetcher/1.1"),
        ("facebookexternalhit", "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"),
        (
            "MistralAI-User",
            "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; MistralAI-User/1.0; +https://docs.mistral.ai/robots)",
        ),
        ("CCBot", "CCBot/2.0 (https://commoncrawl.org/faq/)"),
        (
            "Bytespider",
            "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; https://zhanzhang.toutiao.com/)",
        ),
        (
            "Bytespider",
            "Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)",
        ),
        ("YandexBot", "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)"),
        ("Baiduspider", "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)"),
        ("DuckDuckBot", "DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)"),
        ("DuckAssistBot", "DuckAssistBot/1.2; (+http://duckduckgo.com/duckassistbot.html)"),
        ("PetalBot", "Mozilla/5.0 (compatible;PetalBot;+https://webmaster.petalsearch.com/site/petalbot)"),
        ("AhrefsBot", "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)"),
        ("SemrushBot", "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)"),
        ("MJ12bot", "Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)"),
        ("archive.org_bot", "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)"),
        (
            "archive.org_bot",
            "Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot) Zeno/62be009 warc/v0.8.85",
        ),
    ];

    #[test]
    fn headers_of_browsers() {
        for header in [
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36 Edg/139.0.0.0",
            "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
            "Mozilla/4.0 (compatible;)",
            "mozilla",
        ] {
            let agent = Agent::from_header(header);
            assert_eq!((agent.name(), agent.column_suffix().as_str()), ("*", "any"), "{header}");
            assert!(agent.tokens().is_empty() && agent.star() && !agent.is_known());
            assert_eq!(agent.header(), Some(header));
        }
    }

    #[test]
    fn headers_of_unknown_products() {
        let cases = [
            ("python-requests", "python-requests/2.32.3"),
            ("Googlebot-Mobile", "DoCoMo/2.0 N905i(c100;TB;W24H16) (compatible; Googlebot-Mobile/2.1; +http://www.google.com/bot.html)"),
            ("Baiduspider-render", "Mozilla/5.0 (compatible; Baiduspider-render/2.0; +http://www.baidu.com/search/spider.html)"),
            ("Yahoo", "Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)"),
            ("LinkedInBot", "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)"),
            ("ICC-Crawler", "ICC-Crawler/3.0 (Mozilla-compatible; ; http://ucri.nict.go.jp/en/icccrawler.html)"),
            ("MSIE", "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0)"),
            ("Sogou", "Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)"),
        ];
        for (token, header) in cases {
            assert_eq!(name(header), token, "{header}");
            assert!(!Agent::from_header(header).is_known());
        }
    }

    #[test]
    fn odd_headers() {
        let cases = [
            ("*", ""),
            ("*", "   "),
            ("*", "-"),
            ("*", "..."),
            ("*", "\u{f1}and\u{fa}bot/1.0"),
            ("*", "Mozilla/5.0 (compatible;"),
            ("*", "Mozilla/5.0 (compatible; )"),
            ("*", "Mozilla/5.0 (compatible; \u{e9}bot)"),
            ("*", "Mozilla/5.0 (compatible; Mozilla/5.0)"),
            ("second", "Mozilla/5.0 (compatible; ; compatible; second/1)"),
            ("first", "Mozilla/5.0 (compatible; first/1; compatible; second/1)"),
            ("after", "Mozilla/5.0 (COMPATIBLE;\tafter/1)"),
            ("Trimmed", "  Trimmed. And more"),
            ("GPTBot", "\u{fc}\u{fc}gptbot\u{fc}\u{fc}"),
            ("GPTBot", "Mozilla/5.0 \u{1f980} (compatible; \u{1f980}; GPTBOT/9)"),
        ];
        for (token, header) in cases {
            assert_eq!(name(header), token, "{header:?}");
        }
    }

    #[test]
    fn known_token_only_at_boundaries() {
        let found = ["Mozilla/5.0 GPTBot", "Mozilla/5.0 (GPTBot.)", "Mozilla/5.0 is GPTBot... not", "Mozilla/5.0 x/GPTBot,y"];
        for header in found {
            assert_eq!(name(header), "GPTBot", "{header}");
        }
        let not_found = ["NotGPTBot", "GPTBot2", "GPTBot-X", "GPTBot.com", "GPTBot._", "www.GPTBot", "-GPTBot", "_GPTBot"];
        for word in not_found {
            assert_eq!(name(&format!("Mozilla/5.0 {word}")), "*", "{word}");
        }
        assert_eq!(name("Mozilla/5.0 Googlebot-Image Googlebot-Imagex"), "Googlebot-Image");
        assert_eq!(name("Mozilla/5.0 Googlebot-Imagex Googlebot"), "Googlebot");
    }

    #[test]
    fn several_crawlers_in_one_header() {
        assert_eq!(name("Googlebot/2.1 Googlebot-Image/1.0"), "Googlebot-Image");
        assert_eq!(name("Googlebot-Image/1.0 (compatible; bingbot/2.0)"), "Bingbot");
        assert_eq!(name("Mozilla/5.0 (compatible; Example/1.0; CCBot/2.0)"), "CCBot");
        assert_eq!(name("GPTBot/1.0 YandexBot/3.0 AhrefsBot/7.0"), "YandexBot");
        assert_eq!(name("(compatible; x; compatible; CCBot) Googlebot-Image/1.0"), "CCBot");
        assert_eq!(
            name("Mozilla/5.0 (compatible; special_archiver/3.1.1 +http://www.archive.org/details/archive.org_bot)"),
            "archive.org_bot"
        );
    }

    #[test]
    fn token_that_no_header_carries_is_not_sought_there() {
        for token in ["Google-Extended", "Applebot-Extended", "Googlebot-News"] {
            assert!(lookup(token).unwrap().never_in_header);
            assert_eq!(name(&format!("Mozilla/5.0 ({token})")), "*");
        }
        assert_eq!(name("Mozilla/5.0 (Applebot-Extended; Applebot/0.1)"), "Applebot");
    }

    #[test]
    fn huge_headers() {
        let noise = "compatible; GPTBotGPTBot.GPTBot-x ".repeat(40_000);
        assert_eq!(name(&format!("Mozilla/5.0 {noise}CCBot")), "CCBot");
        let dots = ".".repeat(1 << 20);
        assert_eq!(name(&format!("Mozilla/5.0 GPTBot{dots}")), "GPTBot");
        assert_eq!(name(&format!("Mozilla/5.0 GPTBot{dots}x")), "*");
        assert_eq!(name(&"a".repeat(1 << 20)).len(), 1 << 20);
    }

    #[test]
    fn registry_is_sound() {
        assert!(crawlers().len() >= 20);
        for crawler in crawlers() {
            let token = crawler.token;
            assert_eq!(lookup(&token.to_ascii_uppercase()), Some(crawler), "{token} is listed once");
            assert_eq!(Agent::token(token).unwrap().note(), None);
            assert!(crawler.fallback.iter().all(|other| Agent::token(other).is_ok()), "{token}");
            assert!(crawler.source.starts_with("https://"), "{token}");
            let is_purpose = crawler.purpose == Purpose::UserTriggered;
            assert_eq!(crawler.user_triggered, is_purpose, "{token}");
        }
    }

    #[test]
    fn purposes_have_distinct_names() {
        let names: std::collections::HashSet<_> = Purpose::ALL.iter().map(Purpose::to_string).collect();
        assert_eq!(names.len(), Purpose::ALL.len());
    }

    #[test]
    fn types_are_send_and_sync() {
        fn check<T: Send + Sync + 'static>() {}
        check::<Agent>();
        check::<AgentError>();
        check::<Crawler>();
    }
}
