//! From a User-Agent header to a token: one pass over the header, for every needle of the registry.
//!
//! A needle counts only at the boundaries of tokens: `Googlebot` does not stand in `Googlebot-Mobile`, nor in `bingbot.htm`. Needles may hold spaces
//! and slashes (`Sogou web spider`), so one may lie in another; the longer one is meant then.

use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::registry::CRAWLERS;
use super::{Crawler, is_token_byte, leading_token};

/// Whom a header names.
///
/// ```
/// use robosieve::agent::{Identified, identify};
///
/// let header = "Mozilla/5.0 (compatible; Googlebot-Image/1.0; like Googlebot/2.1)";
/// assert!(matches!(identify(header), Identified::Crawler(crawler) if crawler.token == "Googlebot-Image"));
///
/// let header = "Mozilla/5.0 (compatible; GPTBot/1.3) Googlebot/2.1";
/// let Identified::Ambiguous(crawlers) = identify(header) else { panic!("two operators") };
/// assert_eq!(crawlers.iter().map(|crawler| crawler.operator).collect::<Vec<_>>(), ["OpenAI", "Google"]);
///
/// assert_eq!(identify("ExampleBot/0.9"), Identified::Product("ExampleBot"));
/// assert_eq!(identify("Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101"), Identified::Nobody);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Identified<'h> {
    /// Nobody: there is no token, as in a browser's header.
    Nobody,
    /// A product that the registry does not hold.
    Product(&'h str),
    /// A well-known crawler.
    Crawler(&'static Crawler),
    /// Well-known crawlers of several operators, each once. [`Agent::from_header`](super::Agent::from_header) takes the first.
    Ambiguous(Vec<&'static Crawler>),
}

impl<'h> Identified<'h> {
    /// The token that [`Agent::from_header`](super::Agent::from_header) takes.
    ///
    /// ```
    /// use robosieve::agent::identify;
    ///
    /// assert_eq!(identify("Sogou web spider/4.0").token(), Some("Sogou"));
    /// ```
    #[must_use]
    pub fn token(&self) -> Option<&'h str> {
        match self {
            Identified::Nobody => None,
            Identified::Product(product) => Some(product),
            Identified::Crawler(crawler) => Some(crawler.token),
            Identified::Ambiguous(crawlers) => crawlers.first().map(|crawler| crawler.token),
        }
    }

    /// What a person should know, if the header is ambiguous.
    pub(super) fn note(&self) -> Option<String> {
        let Identified::Ambiguous(crawlers) = self else { return None };
        let names: Vec<String> = crawlers.iter().map(|crawler| format!("{} ({})", crawler.token, crawler.operator)).collect();
        Some(format!(
            "the header is ambiguous, it names crawlers of several operators: {}; it is read as {}",
            names.join(", "),
            crawlers[0].token
        ))
    }
}

/// A place where a header names a well-known crawler.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mention {
    /// The crawler.
    pub crawler: &'static Crawler,
    /// The octets of the header that say so.
    pub range: Range<usize>,
    /// Whether it stands right after `compatible;`.
    pub after_compatible: bool,
}

/// Every place where a header names a well-known crawler, in order.
///
/// Names inside an address count too: operators point from there to the page that says which token binds a crawler, as
/// `special_archiver/3.1.1 +http://www.archive.org/details/archive.org_bot` does.
///
/// ```
/// use robosieve::agent::mentions;
///
/// let header = "TelegramBot (like TwitterBot)";
/// let found: Vec<_> = mentions(header).into_iter().map(|mention| (mention.crawler.token, &header[mention.range])).collect();
/// assert_eq!(found, [("TelegramBot", "TelegramBot"), ("Twitterbot", "TwitterBot")]);
/// ```
#[must_use]
pub fn mentions(header: &str) -> Vec<Mention> {
    scan(header).mentions
}

/// Whom a header names: the one well-known crawler that it carries, or the product in its place.
///
/// Of several crawlers of one operator, the one right after `compatible;` is meant, else the longest name, and of equally long ones the
/// first. Crawlers of several operators are ambiguous; a name that another crawler in the header is known to carry does not count
/// ([`Crawler::carries`]).
///
/// Without any well-known crawler it is the product after `compatible;`, else the product that the header starts with. `Mozilla` is no product in this
/// sense.
#[must_use]
pub fn identify(header: &str) -> Identified<'_> {
    let Scan { mut mentions, product } = scan(header);
    let carried = carried(&mentions);
    mentions.retain(|mention| !carried.contains(&mention.crawler.token));
    let Some(best) = best(&mentions) else {
        let product = product.or_else(|| leading_product(header.trim_ascii_start()));
        return product.map_or(Identified::Nobody, Identified::Product);
    };
    if mentions.iter().all(|mention| mention.crawler.operator == best.operator) {
        return Identified::Crawler(best);
    }
    let mut crawlers = vec![best];
    for mention in mentions {
        if !crawlers.contains(&mention.crawler) {
            crawlers.push(mention.crawler);
        }
    }
    Identified::Ambiguous(crawlers)
}

/// Each once, however long the header.
fn carried(mentions: &[Mention]) -> Vec<&'static str> {
    let mut carried = Vec::new();
    for token in mentions.iter().flat_map(|mention| mention.crawler.carries) {
        if !carried.contains(token) {
            carried.push(*token);
        }
    }
    carried
}

fn best(mentions: &[Mention]) -> Option<&'static Crawler> {
    let after_mark = mentions.iter().find(|mention| mention.after_compatible);
    // `max_by_key` takes the last of equals.
    let longest = || mentions.iter().rev().max_by_key(|mention| mention.range.len());
    after_mark.or_else(longest).map(|mention| mention.crawler)
}

/// One automaton finds every needle and the mark that products stand after.
struct Search {
    automaton: AhoCorasick,
    /// By pattern; `None` stands for the mark.
    crawlers: Vec<Option<&'static Crawler>>,
}

const MARK: &str = "compatible;";

static SEARCH: LazyLock<Search> = LazyLock::new(|| {
    let needles = CRAWLERS.iter().flat_map(|crawler| crawler.header.iter().map(move |needle| (*needle, Some(crawler))));
    let (patterns, crawlers): (Vec<_>, Vec<_>) = std::iter::once((MARK, None)).chain(needles).unzip();
    let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(patterns);
    Search { automaton: automaton.expect("a few hundred short patterns stay far below the automaton's limits"), crawlers }
});

/// What one pass finds.
struct Scan<'h> {
    mentions: Vec<Mention>,
    /// The first product after a mark.
    product: Option<&'h str>,
}

/// Matches come in the order of their ends: a mark before what stands right after it, a needle after those that lie in it.
fn scan(header: &str) -> Scan<'_> {
    let mut scan = Scan { mentions: Vec::new(), product: None };
    let mut after_mark = None;
    for found in SEARCH.automaton.find_overlapping_iter(header) {
        if !starts_token(header, found.start()) {
            continue;
        }
        let rest = &header[found.end()..];
        match SEARCH.crawlers[found.pattern().as_usize()] {
            None => {
                let rest = rest.trim_ascii_start();
                after_mark = Some(header.len() - rest.len());
                scan.product = scan.product.or_else(|| leading_product(rest));
            }
            Some(_) if !ends_token(rest) => {}
            Some(crawler) => {
                let mention = Mention { crawler, range: found.range(), after_compatible: after_mark == Some(found.start()) };
                keep(&mut scan.mentions, mention);
            }
        }
    }
    scan
}

/// Adds a mention, unless it lies in one that is there, and instead of those that lie in it.
fn keep(mentions: &mut Vec<Mention>, new: Mention) {
    while mentions.last().is_some_and(|last| last.range.start >= new.range.start) {
        mentions.pop();
    }
    if mentions.last().is_none_or(|last| last.range.end < new.range.end) {
        mentions.push(new);
    }
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
fn leading_product(text: &str) -> Option<&str> {
    let product = leading_token(text)?.trim_end_matches('.');
    let is_name = product.bytes().any(|byte| byte.is_ascii_alphanumeric());
    (is_name && !product.eq_ignore_ascii_case("Mozilla")).then_some(product)
}

#[cfg(test)]
mod tests {
    use super::super::{Agent, crawlers, lookup};
    use super::*;

    fn name(header: &str) -> String {
        Agent::from_header(header).name().to_owned()
    }

    #[test]
    fn headers_of_known_crawlers() {
        for &(token, header) in KNOWN_HEADERS {
            let agent = Agent::from_header(header);
            assert_eq!((agent.name(), agent.note()), (token, None), "{header}");
            assert_eq!(agent.tokens(), [token]);
            assert_eq!((agent.header(), agent.given()), (Some(header), header));
            assert_eq!(agent.column_suffix(), token);
            assert!(agent.is_known());
        }
    }

    #[test]
    fn examples_of_the_registry_name_their_crawler() {
        let mut count = 0;
        for crawler in crawlers() {
            let Some(example) = crawler.example else { continue };
            assert_eq!(identify(example), Identified::Crawler(crawler), "{example}");
            assert_eq!(name(example), crawler.token, "{example}");
            count += 1;
        }
        assert!(count >= 120, "{count} examples");
    }

    #[test]
    fn every_needle_is_found_alone_and_between_other_words() {
        for crawler in crawlers() {
            for needle in crawler.header {
                for header in
                    [(*needle).to_owned(), format!("Mozilla/5.0 ({needle}) like Gecko"), format!("x; {}/1.0", needle.to_uppercase())]
                {
                    assert_eq!(identify(&header), Identified::Crawler(crawler), "{header}");
                }
                assert_eq!(mentions(&format!("x{needle} {needle}x")), [], "{needle}");
            }
        }
    }

    const KNOWN_HEADERS: &[(&str, &str)] = &[
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
            ("Example", "Mozilla/5.0 (compatible; Example! Spider; http://example.com/spider)"),
            ("Example-Crawler", "Example-Crawler/3.0 (Mozilla-compatible; ; http://example.com/crawler.html)"),
            ("robot", "robot;Owler;crawler@owler.example"),
            ("Googlebot-Mobile", "DoCoMo/2.0 N905i(c100;TB;W24H16) (compatible; Googlebot-Mobile/2.1; +http://www.google.com/bot.html)"),
            ("MSIE", "Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; Trident/4.0)"),
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
    fn crawlers_of_one_operator_are_one() {
        let one = |header: &str, token: &str| assert_eq!(identify(header), Identified::Crawler(lookup(token).unwrap()), "{header}");
        one("Googlebot/2.1 Googlebot-Image/1.0", "Googlebot-Image");
        one("Googlebot-Image/1.0 (compatible; Googlebot/2.1)", "Googlebot");
        one("SemrushBot SiteAuditBot SemrushBot-OCOB", "SemrushBot-OCOB");
        one("facebookexternalhit/1.1 Facebot", "facebookexternalhit");
    }

    #[test]
    fn crawlers_of_several_operators_are_ambiguous() {
        let tokens = |header: &str| match identify(header) {
            Identified::Ambiguous(crawlers) => crawlers.iter().map(|crawler| crawler.token).collect(),
            _ => Vec::new(),
        };
        // Apple's Messages, which has no token of its own.
        let messages = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 \
                        facebookexternalhit/1.1 Facebot Twitterbot/1.0";
        assert_eq!(tokens(messages), ["facebookexternalhit", "Facebot", "Twitterbot"]);
        assert_eq!(tokens("Googlebot/2.1 (compatible; GPTBot/1.3; GPTBot) Googlebot"), ["GPTBot", "Googlebot"]);
        assert_eq!(tokens("bingbot CCBot Googlebot-Image"), ["Googlebot-Image", "Bingbot", "CCBot"]);
        let agent = Agent::from_header("Googlebot/2.1 (compatible; GPTBot/1.3)");
        let note = agent.note().unwrap();
        assert_eq!(agent.name(), "GPTBot");
        assert!(
            note.contains("ambiguous") && note.contains("GPTBot (OpenAI), Googlebot (Google)") && note.ends_with("read as GPTBot"),
            "{note}"
        );
    }

    #[test]
    fn a_token_that_a_crawler_carries_is_not_another_crawler() {
        for (header, token) in [
            ("TelegramBot (like TwitterBot)", "TelegramBot"),
            ("Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)", "Feedly"),
            ("facebookexternalhit/1.1; kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984", "kakaotalk-scrap"),
            ("facebookexternalhit/1.1;kakaotalk-scrap/1.0;", "kakaotalk-scrap"),
        ] {
            assert_eq!(identify(header), Identified::Crawler(lookup(token).unwrap()), "{header}");
            assert_eq!(mentions(header).len(), 2, "{header}");
            assert_eq!((name(header), Agent::from_header(header).note()), (token.to_owned(), None));
        }
        assert!(matches!(identify("TelegramBot (like TwitterBot) Googlebot"), Identified::Ambiguous(_)));
    }

    #[test]
    fn needles_that_are_not_the_token() {
        for (header, token) in [
            ("Sogou inst spider/4.0", "Sogou"),
            ("Mozilla/5.0 (compatible; Baiduspider-render/2.0; +http://www.baidu.com/search/spider.html)", "Baiduspider"),
            ("Mozilla/5.0 (compatible; Kangaroo Bot/1.0)", "Kangaroo"),
            ("Pinterest/0.2 (+http://www.pinterest.com/bot.html)", "Pinterestbot"),
            ("Screaming Frog SEO Spider/19.4", "Screaming"),
        ] {
            assert_eq!(identify(header), Identified::Crawler(lookup(token).unwrap()), "{header}");
            assert_eq!(Agent::from_header(header).tokens(), [token]);
        }
        let application =
            "Mozilla/5.0 (Linux; Android 9; wv) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 [Pinterest/Android]";
        assert_eq!(identify(application), Identified::Nobody);
        assert_eq!(identify("Sogou web spiders/4.0"), Identified::Product("Sogou"));
    }

    #[test]
    fn places_of_mentions() {
        let header = "x GPTBot. (compatible; \tBingbot) http://archive.org/details/archive.org_bot";
        let found: Vec<_> = mentions(header).iter().map(|mention| (&header[mention.range.clone()], mention.after_compatible)).collect();
        assert_eq!(found, [("GPTBot", false), ("Bingbot", true), ("archive.org_bot", false)]);
    }

    #[test]
    fn the_longer_needle_is_meant() {
        let mention = |token: &str, range| Mention { crawler: lookup(token).unwrap(), range, after_compatible: false };
        let kept = |ranges: &[Range<usize>]| {
            let mut mentions = Vec::new();
            ranges.iter().for_each(|range| keep(&mut mentions, mention("GPTBot", range.clone())));
            mentions.into_iter().map(|mention| mention.range).collect::<Vec<_>>()
        };
        assert_eq!(kept(&[0..3, 4..7, 0..9]), std::iter::once(0..9).collect::<Vec<_>>(), "inner ones first");
        assert_eq!(kept(&[2..5, 0..5]), std::iter::once(0..5).collect::<Vec<_>>(), "of one end, the shorter first");
        assert_eq!(kept(&[0..5, 2..5]), std::iter::once(0..5).collect::<Vec<_>>(), "of one end, the longer first");
        assert_eq!(kept(&[0..3, 4..7]), [0..3, 4..7]);
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
        assert_eq!(name(&"TelegramBot like Twitterbot ".repeat(100_000)), "TelegramBot");
        assert!(matches!(identify(&"GPTBot Googlebot ".repeat(100_000)), Identified::Ambiguous(crawlers) if crawlers.len() == 2));
        let dots = ".".repeat(1 << 20);
        assert_eq!(name(&format!("Mozilla/5.0 GPTBot{dots}")), "GPTBot");
        assert_eq!(name(&format!("Mozilla/5.0 GPTBot{dots}x")), "*");
        assert_eq!(name(&"a".repeat(1 << 20)).len(), 1 << 20);
    }
}
