//! Well-known crawlers, and the names for sets of them.

use std::fmt;

use super::Agent;
use super::registry::{CRAWLERS, PRESETS};

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
    /// What its User-Agent header carries: mostly the token; `Sogou web spider` for `Sogou`. Empty if no header carries it.
    pub header: &'static [&'static str],
    /// Tokens of other operators that its real header carries too: a preview of Telegram says that it is like Twitterbot.
    pub carries: &'static [&'static str],
    /// Tokens that bind the crawler, in this order, where no group names its own.
    pub fallback: &'static [&'static str],
    /// Whether groups for `*` bind it.
    pub star: bool,
    /// Whether the token stands in robots.txt only: another crawler fetches, under its own User-Agent.
    pub never_in_header: bool,
    /// Whether the operator says that a person's request starts each fetch.
    pub user_triggered: bool,
    /// What else one should know about it.
    pub note: Option<&'static str>,
    /// A real header of it.
    pub example: Option<&'static str>,
    /// The page that documents the crawler.
    pub source: &'static str,
    /// Whether that page is a list that others keep (under the MIT licence), and not the operator's own.
    pub listed: bool,
}

impl Crawler {
    /// The presets that hold it.
    ///
    /// ```
    /// use robosieve::agent::lookup;
    ///
    /// let presets = lookup("GPTBot").unwrap().presets().map(|preset| preset.name);
    /// assert!(presets.collect::<Vec<_>>().contains(&"ai-training"));
    /// ```
    pub fn presets(&self) -> impl Iterator<Item = &'static Preset> {
        PRESETS.iter().filter(|preset| preset.tokens.contains(&self.token))
    }
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
    /// A question of a person, for which a model or an agent reads the page.
    UserTriggered,
    /// Link indexes and audits sold to owners of sites.
    Seo,
    /// Preservation.
    Archive,
    /// Quality of advertisements and of the pages that carry them.
    Ads,
    /// The card shown for a shared link.
    Preview,
    /// Data sets that are sold, and media monitoring.
    Data,
    /// Research.
    Research,
    /// Anything else that serves a person: feeds, checks, reading aloud.
    Tool,
}

impl Purpose {
    /// Every purpose.
    pub const ALL: [Purpose; 11] = [
        Purpose::Search,
        Purpose::AiTraining,
        Purpose::AiSearch,
        Purpose::UserTriggered,
        Purpose::Seo,
        Purpose::Archive,
        Purpose::Ads,
        Purpose::Preview,
        Purpose::Data,
        Purpose::Research,
        Purpose::Tool,
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
            Purpose::Data => "data",
            Purpose::Research => "research",
            Purpose::Tool => "tool",
        }
    }

    /// The purpose of that name.
    ///
    /// ```
    /// use robosieve::agent::Purpose;
    ///
    /// assert_eq!(Purpose::by_name("seo"), Some(Purpose::Seo));
    /// ```
    #[must_use]
    pub fn by_name(name: &str) -> Option<Purpose> {
        Purpose::ALL.into_iter().find(|purpose| purpose.name() == name)
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

/// A name for several agents, which a command takes as `@name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Preset {
    /// The name, without the `@`.
    pub name: &'static str,
    /// What it holds, in one sentence.
    pub about: &'static str,
    /// The tokens of its agents, in order. `*` is an agent that nobody names.
    pub tokens: &'static [&'static str],
    /// Where a preset that others defined is published.
    pub source: Option<&'static str>,
}

impl Preset {
    /// Its agents: plain tokens, as [`Agent::token`] gives them.
    ///
    /// ```
    /// use robosieve::agent::preset;
    ///
    /// let names: Vec<_> = preset("apertus").unwrap().agents().map(|agent| agent.name().to_owned()).collect();
    /// assert_eq!((&names[0][..], &names[12][..]), ("AI2Bot", "*"));
    /// ```
    pub fn agents(&self) -> impl Iterator<Item = Agent> {
        self.tokens.iter().map(|token| Agent::token(token).expect("the registry's generator checks every token"))
    }
}

/// Every preset.
///
/// ```
/// use robosieve::agent::presets;
///
/// assert!(presets().iter().any(|preset| preset.name == "ai-training"));
/// ```
#[must_use]
pub fn presets() -> &'static [Preset] {
    PRESETS
}

/// The preset of that name, with or without the `@` before it.
///
/// ```
/// use robosieve::agent::preset;
///
/// assert!(preset("@ai").unwrap().tokens.contains(&"ChatGPT-User"));
/// assert!(preset("AI").is_none());
/// ```
#[must_use]
pub fn preset(name: &str) -> Option<&'static Preset> {
    let name = name.strip_prefix('@').unwrap_or(name);
    PRESETS.iter().find(|preset| preset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_is_sound() {
        assert!(crawlers().len() >= 120);
        for crawler in crawlers() {
            let token = crawler.token;
            assert_eq!(lookup(&token.to_ascii_uppercase()), Some(crawler), "{token} is listed once");
            assert_eq!(Agent::token(token).unwrap().note(), None);
            assert!(crawler.fallback.iter().all(|other| lookup(other).is_some_and(|other| other.token != token)), "{token}");
            assert!(crawler.carries.iter().all(|other| lookup(other).is_some_and(|other| other.operator != crawler.operator)), "{token}");
            assert!(crawler.source.starts_with("https://"), "{token}");
            assert_eq!(crawler.header.is_empty(), crawler.never_in_header, "{token}");
            assert!(crawler.purpose != Purpose::UserTriggered || crawler.user_triggered, "{token}");
        }
    }

    #[test]
    fn every_purpose_has_crawlers_a_name_and_a_preset() {
        for purpose in Purpose::ALL {
            assert_eq!(Purpose::by_name(purpose.name()), Some(purpose));
            let of_purpose: Vec<_> = crawlers().iter().filter(|crawler| crawler.purpose == purpose).map(|crawler| crawler.token).collect();
            assert!(!of_purpose.is_empty(), "{purpose}");
            assert_eq!(preset(purpose.name()).unwrap().tokens, of_purpose, "{purpose}");
        }
        assert_eq!(Purpose::by_name("Search"), None);
    }

    #[test]
    fn presets_hold_known_tokens_once() {
        for preset in presets() {
            let names: Vec<_> = preset.agents().map(|agent| agent.column_suffix().to_ascii_lowercase()).collect();
            let distinct: std::collections::HashSet<_> = names.iter().collect();
            assert_eq!(distinct.len(), names.len(), "@{}", preset.name);
            assert!(preset.agents().all(|agent| agent.name() == "*" || agent.is_known()), "@{}", preset.name);
            assert!(!preset.tokens.is_empty() && !preset.about.is_empty());
        }
        assert_eq!(preset("all").unwrap().tokens.len(), crawlers().len());
    }

    #[test]
    fn ai_is_training_search_and_what_people_ask_for() {
        let of = |name: &str| preset(name).unwrap().tokens.to_vec();
        let mut parts = [of("ai-training"), of("ai-search"), of("user-triggered")].concat();
        let mut whole = of("@ai");
        parts.sort_unstable();
        whole.sort_unstable();
        assert_eq!(whole, parts);
        for token in ["GPTBot", "Google-Extended", "Applebot-Extended", "OAI-SearchBot", "ChatGPT-User", "Perplexity-User"] {
            assert!(whole.contains(&token), "{token}");
        }
        assert!(!whole.contains(&"Googlebot") && !whole.contains(&"FeedFetcher-Google"));
    }

    #[test]
    fn apertus_is_the_published_list() {
        let published = [
            "AI2Bot",
            "Applebot-Extended",
            "Bytespider",
            "CCBot",
            "CCBot/2.0",
            "CCBot/1.0",
            "ClaudeBot",
            "cohere-training-data-crawler",
            "Diffbot",
            "FacebookBot",
            "Meta-ExternalAgent",
            "Google-Extended",
            "GPTBot",
            "PanguBot",
            "*",
        ];
        let mut names: Vec<String> = published.iter().map(|text| Agent::token(text).unwrap().name().to_ascii_lowercase()).collect();
        names.dedup();
        let preset = preset("apertus").unwrap();
        assert_eq!(preset.tokens.iter().map(|token| token.to_ascii_lowercase()).collect::<Vec<_>>(), names);
        assert!(preset.source.is_some());
    }

    #[test]
    fn names_of_presets_are_exact() {
        for name in ["", "@", "@@ai", "AI", "ai ", "nothing"] {
            assert_eq!(preset(name), None, "{name:?}");
        }
    }

    #[test]
    fn facts_that_vendors_document() {
        let of = |token: &str| lookup(token).unwrap();
        for token in ["AdsBot-Google", "AdsBot-Google-Mobile", "Mediapartners-Google", "APIs-Google", "Google-Safety", "YandexDirect"] {
            assert!(!of(token).star, "{token}");
        }
        for token in ["Google-Extended", "Applebot-Extended", "Googlebot-News", "Yandex"] {
            assert!(of(token).never_in_header, "{token}");
        }
        for token in ["ChatGPT-User", "Claude-User", "Perplexity-User", "MistralAI-User", "Amzn-User", "meta-externalfetcher"] {
            assert!(of(token).user_triggered, "{token}");
        }
        assert_eq!(of("Google-InspectionTool").fallback, ["Googlebot"]);
        assert_eq!(of("GoogleOther-Image").fallback, ["GoogleOther"]);
        assert_eq!(of("YandexImages").fallback, ["Yandex"]);
    }
}
