//! What is asked about a robots.txt: agents that its lines name, and URLs made from its rules.
//!
//! Both are read off the file loosely, by code that is none of the readings under test, and depend on nothing but its octets.

use std::collections::HashSet;

use robosieve::agent::Agent as Product;

use crate::random::Random;

/// Where every URL lies.
const ORIGIN: &[u8] = b"https://example.com";
/// Longer URLs are left out: they make peers slow and find nothing more.
const MAX_URL_LEN: usize = 2_000;
/// Longer names are left out.
const MAX_NAME_LEN: usize = 200;

/// What an agent is given as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A product token, or `*`.
    Token,
    /// A product token and a version.
    Versioned,
    /// A whole User-Agent header.
    Header,
}

/// An agent, as a peer is given it and as RFC 9309 compares it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Agent {
    /// As given.
    pub text: String,
    /// The product token; none for `*` and for a header without one.
    pub token: Option<String>,
    pub kind: Kind,
}

impl Agent {
    /// A token, with or without a version. None if `text` is neither.
    pub fn token(text: &str) -> Option<Agent> {
        let product = Product::token(text).ok()?;
        let token = product.tokens().first().cloned();
        let kind = if token.as_deref().unwrap_or("*") == text { Kind::Token } else { Kind::Versioned };
        Some(Agent { text: text.to_owned(), token, kind })
    }

    /// A whole header.
    pub fn header(text: &str) -> Agent {
        Agent { text: text.to_owned(), token: Product::from_header(text).tokens().first().cloned(), kind: Kind::Header }
    }
}

/// The agents and URLs that are asked about one file.
#[derive(Debug, PartialEq, Eq)]
pub struct Questions {
    pub agents: Vec<Agent>,
    pub urls: Vec<Vec<u8>>,
}

/// How many questions, and which.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    pub agents: usize,
    pub urls: usize,
    /// Whether to ask about what is no URL too.
    pub odd: bool,
}

impl Questions {
    /// The questions about `body`.
    pub fn about(body: &[u8], size: Size) -> Questions {
        let mut random = Random::of(body);
        let values = Values::of(body);
        Questions { agents: agents(&values.names, size.agents, &mut random), urls: urls(&values.patterns, size, &mut random) }
    }
}

/// What looks like the value of an agent line or of a rule.
#[derive(Default)]
struct Values {
    names: Vec<Vec<u8>>,
    patterns: Vec<Vec<u8>>,
}

impl Values {
    fn of(body: &[u8]) -> Values {
        let mut values = Values::default();
        let is_end = |octet: &u8| matches!(octet, b'\n' | b'\r' | 0 | 0x0B | 0x0C);
        for line in body.split(is_end) {
            let line = &line[..line.iter().position(|&octet| octet == b'#').unwrap_or(line.len())];
            let separator =
                line.iter().position(|&octet| octet == b':').or_else(|| line.trim_ascii().iter().position(|&octet| octet == b' '));
            let Some(separator) = separator else { continue };
            let (key, value) = (line[..separator].to_ascii_lowercase(), line[separator + 1..].trim_ascii());
            let has = |part: &[u8]| key.windows(part.len()).any(|window| window == part);
            if value.is_empty() {
                continue;
            }
            if has(b"agent") {
                values.names.push(value.to_vec());
            } else if has(b"low") || has(b"llaw") {
                values.patterns.push(value.to_vec());
            }
        }
        values
    }
}

fn agents(names: &[Vec<u8>], count: usize, random: &mut Random) -> Vec<Agent> {
    let mut agents = vec![Agent::token("*"), Agent::token("UnheardOfBot")];
    let texts: Vec<&str> =
        names.iter().filter(|name| name.len() <= MAX_NAME_LEN).filter_map(|name| std::str::from_utf8(name).ok()).collect();
    for _ in 0..4 * count {
        let Some(name) = (!texts.is_empty()).then(|| random.pick(&texts)) else { break };
        let is_token = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let token = &name[..name.find(|letter| !is_token(letter)).unwrap_or(name.len())];
        agents.push(match random.below(8) {
            0 => Some(Agent::header(&header(name, token, texts[random.below(texts.len())], random))),
            1 => Agent::token(&format!("{token}/2.1")),
            2 => token.get(..token.len().saturating_sub(1)).and_then(Agent::token),
            3 => Agent::token(&format!("{token}x")),
            4 => Agent::token(&token.to_ascii_uppercase()),
            _ => Agent::token(token),
        });
    }
    let mut seen = HashSet::new();
    let is_askable = |agent: &Agent| !agent.text.is_empty() && (agent.kind == Kind::Header || agent.text.is_ascii());
    agents.into_iter().flatten().filter(is_askable).filter(|agent| seen.insert(agent.clone())).take(count).collect()
}

/// A header in which the name stands in one of many ways.
fn header(name: &str, token: &str, other: &str, random: &mut Random) -> String {
    match random.below(8) {
        0 => format!("Mozilla/5.0 (compatible; {token}/1.0; +https://example.com/bot)"),
        1 => format!("{name}/2.1"),
        2 => format!("{name} {other}"),
        3 => format!("Mozilla/5.0 {other}/1 {name}/2"),
        4 => format!("\u{3000} {name}\t"),
        5 => format!("\u{E9}{name}, \u{2014}{name}"),
        6 => format!("x{name} -{name} .{name}"),
        _ => name.to_uppercase(),
    }
}

/// URLs that every file is asked about.
const ALWAYS: &[&[u8]] = &[b"/", b"", b"/robots.txt"];
const OFTEN: &[&[u8]] = &[
    b"?q=1",
    b"/robots.txt?x=1",
    b"/robots.txt/",
    b"/robots.txt;x",
    b"/robots.txt#x",
    b"/robots.txt ",
    b"/robots.txt\n",
    b"/robots\t.txt",
    b"/robots\t.txt#/robots.txt",
    b"/robots.txt;a/b",
    b"/x;/robots.txt",
    b"?/robots.txt",
    b"/%72obots.txt",
    b"/ROBOTS.TXT",
    b"//robots.txt",
    b"/index.html",
    b"/index.htm",
    b"/#/x",
    b"/x?/robots.txt",
    b"/a/../b",
    b"/%",
    b"/\xC3\xA9",
];

/// What stands before a target that is no URL, or one with much in its authority.
const ODD: &[&[u8]] = &[
    b"",
    b"/",
    b"//",
    b"//host",
    b"host",
    b"host;",
    b"a:",
    b"http:",
    b"http:/",
    b"http://",
    b"http://u;p@h",
    b"http://h?",
    b"h#",
    b"://",
    b"?",
    b"x://y://z",
    b"///",
];

fn urls(patterns: &[Vec<u8>], size: Size, random: &mut Random) -> Vec<Vec<u8>> {
    let count = size.urls;
    let mut rests: Vec<Vec<u8>> = ALWAYS.iter().map(|rest| rest.to_vec()).collect();
    rests.extend((0..OFTEN.len().min(count / 8)).map(|_| random.pick(OFTEN).to_vec()));
    for _ in 0..4 * count {
        let Some(value) = (!patterns.is_empty()).then(|| random.pick(patterns)) else { break };
        let other = random.pick(patterns).clone();
        let filled = fill(value, &other, random);
        rests.push(if random.one_in(4) { filled } else { vary(filled, value, random) });
    }
    let mut seen = HashSet::new();
    let mut place = |rest: Vec<u8>| if size.odd && random.one_in(8) { [*random.pick(ODD), &rest].concat() } else { url(rest) };
    let urls: Vec<Vec<u8>> = rests.into_iter().map(&mut place).collect();
    urls.into_iter().filter(|url| url.len() <= MAX_URL_LEN && seen.insert(url.clone())).take(count).collect()
}

fn url(rest: Vec<u8>) -> Vec<u8> {
    let slash = if rest.first().is_none_or(|octet| matches!(octet, b'/' | b'?' | b'#')) { &b""[..] } else { b"/" };
    [ORIGIN, slash, &rest].concat()
}

/// The value with something for every star, and without its anchor.
fn fill(value: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let literal = value.strip_suffix(b"$").unwrap_or(value);
    let filler: &[u8] = match random.below(5) {
        0 | 1 => b"",
        2 => b"x",
        3 => b"a/b?c=d",
        _ => other,
    };
    let stretches: Vec<&[u8]> = literal.split(|&octet| octet == b'*').collect();
    stretches.join(filler)
}

fn vary(mut url: Vec<u8>, value: &[u8], random: &mut Random) -> Vec<u8> {
    const TAILS: &[&[u8]] = &[
        b"x",
        b"/",
        b"?",
        b"?a=b",
        b"&a",
        b";a",
        b"#a",
        b"=",
        b"\xC3\xA9",
        b"\xE9",
        b"%",
        b"$",
        b"*",
        b" ",
        b"\\",
        b"{",
        b"|",
        b"%2F",
        b"%3f",
        b"\0",
    ];
    let slash = url.iter().rposition(|&octet| octet == b'/').map_or(0, |at| at + 1);
    let place = if url.is_empty() { 0 } else { random.below(url.len()) };
    match random.below(16) {
        0 => drop(url.pop()),
        1..=4 => url.extend(*random.pick(TAILS)),
        5 => return url.iter().map(|octet| if octet.is_ascii_alphabetic() { octet ^ 0x20 } else { *octet }).collect(),
        6 => return decoded(&url),
        7 if !url.is_empty() => drop(url.splice(place..=place, format!("%{:02x}", url[place]).into_bytes())),
        8 => return url.iter().flat_map(|&octet| if octet == b'%' { b"%25".to_vec() } else { vec![octet] }).collect(),
        9 => return lower_escapes(&url),
        10 => url.insert(0, b'/'),
        11 => return value.to_vec(),
        12 => {
            url.truncate(slash);
            url.extend(random.pick(&[&b"index.html"[..], b"index.htm", b""]).iter());
        }
        13 => drop(url.splice(place..place, random.pick(TAILS).to_vec())),
        14 => return [value, *random.pick(TAILS)].concat(),
        _ => url.truncate(place),
    }
    url
}

fn escape_at(octets: &[u8]) -> Option<u8> {
    let digits = octets.strip_prefix(b"%")?.get(..2)?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit))
}

fn decoded(url: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = url;
    while let Some(&octet) = rest.first() {
        let value = escape_at(rest);
        out.push(value.unwrap_or(octet));
        rest = &rest[if value.is_some() { 3 } else { 1 }..];
    }
    out
}

fn lower_escapes(url: &[u8]) -> Vec<u8> {
    let mut out = url.to_vec();
    for at in 0..out.len() {
        if escape_at(&out[at..]).is_some() {
            out[at + 1..at + 3].make_ascii_lowercase();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &[u8] = b"User-agent: Alpha-Bot/2.0\nUser agent Beta\nDisallow: /a/*%2Fb$ # x\nAllow: /c?d=*\nDisalow /e\n";

    #[test]
    fn values_are_read_loosely() {
        let values = Values::of(BODY);
        assert_eq!(values.names, [&b"Alpha-Bot/2.0"[..], b"agent Beta"][..1]);
        assert_eq!(values.patterns, [&b"/a/*%2Fb$"[..], b"/c?d=*", b"/e"]);
    }

    #[test]
    fn questions_depend_on_the_body_alone() {
        let size = Size { agents: 8, urls: 64, odd: false };
        let questions = Questions::about(BODY, size);
        assert_eq!(questions, Questions::about(BODY, size));
        assert_eq!((questions.agents.len() <= 8, questions.urls.len()), (true, 64));
        let distinct: HashSet<_> = questions.urls.iter().collect();
        assert_eq!(distinct.len(), questions.urls.len());
    }

    #[test]
    fn urls_meet_the_rules_and_miss_them_narrowly() {
        let urls = Questions::about(BODY, Size { agents: 2, urls: 400, odd: false }).urls;
        for wanted in [
            "https://example.com",
            "https://example.com/robots.txt",
            "https://example.com/a/%2Fb",
            "https://example.com/a/%2fb",
            "https://example.com//e",
        ] {
            assert!(urls.iter().any(|url| url == wanted.as_bytes()), "{wanted}");
        }
        assert!(urls.iter().all(|url| url.starts_with(ORIGIN)));
    }

    #[test]
    fn agents_are_named_in_the_file_or_nearly() {
        let agents = Questions::about(BODY, Size { agents: 200, urls: 1, odd: false }).agents;
        let has = |text: &str| agents.iter().any(|agent| agent.text == text);
        for text in ["*", "UnheardOfBot", "Alpha-Bot", "Alpha-Bo", "Alpha-Botx", "ALPHA-BOT", "Alpha-Bot/2.0/2.1"] {
            assert!(has(text), "{text}");
        }
        assert!(agents.iter().any(|agent| agent.kind == Kind::Versioned && agent.token.as_deref() == Some("Alpha-Bot")));
        let header = agents.iter().find(|agent| agent.text.starts_with("Mozilla/5.0 (compatible; Alpha-Bot/")).unwrap();
        assert_eq!(header.token.as_deref(), Some("Alpha-Bot"));
    }

    #[test]
    fn a_file_without_rules_is_asked_about_too() {
        let questions = Questions::about(b"", Size { agents: 4, urls: 8, odd: true });
        assert_eq!((questions.agents.len(), questions.urls.is_empty()), (2, false));
    }

    #[test]
    fn spellings() {
        assert_eq!(decoded(b"/%41%zz%2"), b"/A%zz%2");
        assert_eq!(lower_escapes(b"/%2F%ZZ%aB"), b"/%2f%ZZ%ab");
    }
}
