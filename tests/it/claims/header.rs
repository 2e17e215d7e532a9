//! Agents from headers, tokens and lines. The input is any octets.

use std::ops::Range;

use robosieve::agent::{Agent, Crawler, LineToken, crawlers, line_token, lookup, product_token};

pub fn check(octets: &[u8]) {
    check_line(octets);
    let text = String::from_utf8_lossy(octets);
    check_header(&text);
    check_token(&text);
    check_profile(&text);
}

fn is_token_octet(octet: u8) -> bool {
    octet.is_ascii_alphanumeric() || b"._-".contains(&octet)
}

/// The leading run of token octets, maybe empty.
fn run(octets: &[u8]) -> &[u8] {
    octets.split(|octet| !is_token_octet(*octet)).next().unwrap_or_default()
}

fn check_line(value: &[u8]) {
    assert_eq!(product_token(value), Some(run(value)).filter(|token| !token.is_empty()));
    let right = match value {
        [b'*'] | [b'*', b' ' | b'\t', ..] => Some(LineToken::Star),
        _ => product_token(value).map(LineToken::Product),
    };
    assert_eq!(line_token(value), right);
}

fn check_header(header: &str) {
    let agent = Agent::from_header(header);
    let (name, is_ambiguous) = header_name(header);
    assert_eq!((agent.header(), agent.given(), agent.star()), (Some(header), header, true));
    assert_eq!((agent.name(), agent.note().is_some()), (name.unwrap_or("*"), is_ambiguous), "{header:?}");
    check_agent(&agent);
}

fn check_agent(agent: &Agent) {
    let tokens: Vec<&str> = agent.tokens().iter().map(String::as_str).collect();
    assert_eq!(tokens, [agent.name()].into_iter().filter(|name| *name != "*").collect::<Vec<_>>());
    assert!(tokens.iter().all(|token| run(token.as_bytes()) == token.as_bytes()));
    assert_eq!(agent.is_known(), tokens.first().is_some_and(|token| lookup(token).is_some()));
    assert_eq!(agent.column_suffix(), if tokens.is_empty() { "any" } else { agent.name() });
    assert_eq!(agent.to_string(), agent.name());
}

fn check_token(text: &str) {
    let trimmed = text.trim_ascii();
    match Agent::token(text) {
        Ok(agent) => {
            assert_eq!(agent.given(), trimmed);
            assert_eq!(agent.note().is_some(), agent.name() != trimmed);
            assert!(trimmed.starts_with(agent.name()) && !trimmed.contains(char::is_whitespace));
            assert!(trimmed == agent.name() || trimmed[agent.name().len()..].starts_with('/'));
            assert_eq!(Agent::token(agent.name()).as_ref().map(Agent::name), Ok(agent.name()));
            check_agent(&agent);
        }
        Err(error) => {
            assert!(trimmed != "*" && run(trimmed.as_bytes()) != trimmed.as_bytes() || trimmed.is_empty(), "{text:?}");
            assert!(error.to_string().starts_with("a"), "{error}");
        }
    }
}

fn check_profile(text: &str) {
    let agent = Agent::profile(text, text.split(' '), false);
    assert!(agent.tokens().iter().all(|token| !token.is_empty() && token != "*"));
    assert_eq!((agent.name(), agent.given(), agent.header()), (text, text, None));
    let suffix = agent.column_suffix();
    assert!(!suffix.is_empty() && suffix.bytes().all(is_token_octet), "{suffix:?}");
    let crawler = Agent::crawler_profile(text);
    assert_eq!(crawler.is_some(), lookup(text).is_some());
    assert!(crawler.is_none_or(|agent| agent.name().eq_ignore_ascii_case(text) && agent.is_known()));
}

/// The token of a header, from the documentation of [`Agent::from_header`], place by place; and whether it names crawlers of several operators.
fn header_name(header: &str) -> (Option<&str>, bool) {
    let marks: Vec<usize> = marks(header).collect();
    let known = known(header);
    let after_mark = known.iter().find(|(range, _)| marks.contains(&range.start));
    let longest = known.iter().map(|(range, _)| range.len()).max();
    let best = after_mark.or_else(|| known.iter().find(|(range, _)| Some(range.len()) == longest));
    let after_marks = || marks.iter().find_map(|&at| product(&header[at..]));
    let name = best.map(|(_, crawler)| crawler.token).or_else(after_marks).or_else(|| product(header.trim_ascii_start()));
    (name, known.iter().any(|(_, crawler)| crawler.operator != known[0].1.operator))
}

/// The crawlers that a header carries, with their places: none that lies in another, and none that another one is known to carry.
fn known(header: &str) -> Vec<(Range<usize>, &'static Crawler)> {
    let at = |at: usize| {
        crawlers().iter().flat_map(move |crawler| crawler.header.iter().map(move |needle| (at..at + needle.len(), *needle, crawler)))
    };
    let all: Vec<_> = starts(header)
        .flat_map(at)
        .filter(|(range, needle, _)| {
            header.get(range.clone()).is_some_and(|text| text.eq_ignore_ascii_case(needle)) && ends(&header[range.end..])
        })
        .map(|(range, _, crawler)| (range, crawler))
        .collect();
    let lies_in = |inner: &Range<usize>, outer: &Range<usize>| inner != outer && outer.start <= inner.start && inner.end <= outer.end;
    let outer: Vec<_> = all.iter().filter(|(range, _)| !all.iter().any(|(other, _)| lies_in(range, other))).cloned().collect();
    let is_carried = |token: &str| outer.iter().any(|(_, crawler)| crawler.carries.contains(&token));
    outer.iter().filter(|(_, crawler)| !is_carried(crawler.token)).cloned().collect()
}

/// Whether a name ends before `rest`: full stops that nothing of a name follows do not go on with it.
fn ends(rest: &str) -> bool {
    !rest.trim_start_matches('.').bytes().next().is_some_and(is_token_octet)
}

/// Where a token can start.
fn starts(header: &str) -> impl Iterator<Item = usize> {
    header.char_indices().map(|(at, _)| at).filter(|&at| at == 0 || !is_token_octet(header.as_bytes()[at - 1]))
}

/// Where products stand behind `compatible;`.
fn marks(header: &str) -> impl Iterator<Item = usize> {
    let behind = |at: usize| {
        let (mark, rest) = header[at..].split_at_checked("compatible;".len())?;
        mark.eq_ignore_ascii_case("compatible;").then(|| header.len() - rest.trim_ascii_start().len())
    };
    starts(header).filter_map(behind)
}

fn product(text: &str) -> Option<&str> {
    let name = text[..run(text.as_bytes()).len()].trim_end_matches('.');
    (name.contains(|c: char| c.is_ascii_alphanumeric()) && !name.eq_ignore_ascii_case("mozilla")).then_some(name)
}
