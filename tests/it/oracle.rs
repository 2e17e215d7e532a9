//! The oracle: robots.txt read naively, for the engine to be held to.
//!
//! It is written from RFC 9309 and the project's semantics alone (dialect `rfc9309`) and has
//! neither code nor ideas in common with the engine: nothing is compiled; each rule meets each
//! target by itself, by dynamic programming over octets. That costs pattern times target at worst,
//! whatever the input. Nothing here is meant to be fast, only to be plainly right.

use std::cmp::Reverse;
use std::net::Ipv6Addr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    Disallow,
    Unresolved,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub verdict: Verdict,
    pub reason: &'static str,
    /// Line of the deciding rule; 0 if no rule decided.
    pub line: u32,
    /// Token that bound the agent, in ASCII lower case, or `*`. None unless rules were read and a
    /// group bound it.
    pub group: Option<String>,
}

impl Answer {
    fn new(verdict: Verdict, reason: &'static str) -> Answer {
        let (line, group) = (0, None);
        Answer { verdict, reason, line, group }
    }
}

/// One robots.txt. The first group has no tokens: it holds the rules before any `user-agent` line,
/// which bind nobody.
pub struct Oracle {
    groups: Vec<Group>,
}

#[derive(Default)]
struct Group {
    tokens: Vec<String>,
    rules: Vec<Rule>,
}

struct Rule {
    line: u32,
    allow: bool,
    pattern: Pattern,
}

impl Oracle {
    pub fn parse(robots: &[u8]) -> Oracle {
        Oracle::parse_with_limit(robots, 512_000)
    }

    pub fn parse_with_limit(robots: &[u8], limit: usize) -> Oracle {
        let mut groups = vec![Group::default()];
        let mut in_agent_run = false;
        for (line, text) in (1..).zip(lines(&readable(robots, limit))) {
            let Some((key, value)) = record(text) else {
                continue;
            };
            match key.as_slice() {
                b"user-agent" => {
                    if !in_agent_run {
                        groups.push(Group::default());
                    }
                    in_agent_run = true;
                    groups.last_mut().unwrap().tokens.extend(agent_token(value));
                }
                b"allow" | b"disallow" => {
                    in_agent_run = false;
                    if !value.is_empty() {
                        let allow = key == b"allow";
                        let pattern = Pattern::new(value);
                        let rule = Rule { line, allow, pattern };
                        groups.last_mut().unwrap().rules.push(rule);
                    }
                }
                _ => {}
            }
        }
        Oracle { groups }
    }

    /// `tokens`: product tokens in order of preference (empty, or only `*`: an agent nobody names).
    /// `star`: may `*` groups bind it.
    pub fn decide(&self, tokens: &[&str], star: bool, url: &[u8]) -> Answer {
        self.decide_fetched("200", "rfc9309", tokens, star, url)
    }

    /// `status`: "200", "404", "301" (a redirect not followed), ..., "unreachable",
    /// "too-many-redirects" or "unknown".
    /// `access`: "rfc9309", "google", "scrapy" or "hold".
    pub fn decide_fetched(&self, status: &str, access: &str, tokens: &[&str], star: bool, url: &[u8]) -> Answer {
        let Some(target) = canonical_target(url) else {
            return Answer::new(Verdict::Unresolved, "bad-url");
        };
        if target == b"/robots.txt" || target.starts_with(b"/robots.txt?") {
            return Answer::new(Verdict::Allow, "robots-txt");
        }
        if status == "unknown" {
            return Answer::new(Verdict::Unresolved, "no-policy");
        }
        if let Some(verdict) = verdict_of_fetch(status, access) {
            return Answer::new(verdict, "fetch-status");
        }
        let Some(group) = self.binding_token(tokens, star) else {
            return Answer::new(Verdict::Allow, "no-group");
        };
        let rule = self.deciding_rule(&group, &target);
        let mut answer = match rule {
            None => Answer::new(Verdict::Allow, "no-rule"),
            Some(rule) if rule.allow => Answer::new(Verdict::Allow, "rule"),
            Some(_) => Answer::new(Verdict::Disallow, "rule"),
        };
        answer.line = rule.map_or(0, |rule| rule.line);
        answer.group = Some(group);
        answer
    }

    /// Number of rules with a value, in all groups and outside of them.
    pub fn rule_count(&self) -> usize {
        self.groups.iter().map(|group| group.rules.len()).sum()
    }

    /// The first token that any group names; else `*`, if the agent heeds it and a group has it.
    fn binding_token(&self, tokens: &[&str], star: bool) -> Option<String> {
        let named = |token: &String| self.groups.iter().any(|group| group.tokens.contains(token));
        let lower = tokens.iter().map(|token| token.to_ascii_lowercase());
        let mut wanted: Vec<String> = lower.filter(|token| token != "*").collect();
        if star {
            wanted.push("*".to_string());
        }
        wanted.into_iter().find(named)
    }

    /// The most specific matching rule; then allow before disallow; then the smallest line.
    fn deciding_rule(&self, token: &String, target: &[u8]) -> Option<&Rule> {
        let groups = self.groups.iter().filter(|group| group.tokens.contains(token));
        let rules = groups.flat_map(|group| &group.rules);
        rules.filter(|rule| rule.pattern.matches(target)).max_by_key(|rule| (rule.pattern.specificity, rule.allow, Reverse(rule.line)))
    }
}

/// The specificity of a rule of that value for a URL that it matches, robots.txt among them.
pub fn specificity_of_match(value: &[u8], url: &[u8]) -> Option<usize> {
    let pattern = Pattern::new(value);
    pattern.matches(&canonical_target(url)?).then_some(pattern.specificity)
}

// Bytes to lines to records.

/// The octets of the file that are read: up to the limit, without a line that the limit cuts,
/// without a byte order mark, and in UTF-8 if the file announces UTF-16.
fn readable(robots: &[u8], limit: usize) -> Vec<u8> {
    let end = robots.len().min(limit);
    match &robots[..end] {
        [0xFF, 0xFE, ..] => readable_utf16(robots, end, u16::from_le_bytes),
        [0xFE, 0xFF, ..] => readable_utf16(robots, end, u16::from_be_bytes),
        read => {
            let next = robots.get(end);
            let whole = next.is_none_or(|&octet| is_line_end(octet.into()));
            let kept = if whole { read } else { without_cut_line(read) };
            kept.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(kept).to_vec()
        }
    }
}

fn readable_utf16(robots: &[u8], end: usize, unit: fn([u8; 2]) -> u16) -> Vec<u8> {
    let pairs = robots.chunks_exact(2);
    let units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).collect();
    let next = units.get(end / 2);
    let whole = end == robots.len() || next.is_some_and(|&unit| is_line_end(unit));
    let text = String::from_utf16_lossy(&units[1..end / 2]);
    let kept = if whole { text.as_bytes() } else { without_cut_line(text.as_bytes()) };
    kept.to_vec()
}

fn is_line_end(unit: u16) -> bool {
    unit == u16::from(b'\n') || unit == u16::from(b'\r')
}

fn without_cut_line(text: &[u8]) -> &[u8] {
    let last_end = text.iter().rposition(|&octet| is_line_end(octet.into()));
    &text[..last_end.map_or(0, |at| at + 1)]
}

fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut start = 0;
    for at in 0..text.len() {
        if !is_line_end(text[at].into()) {
            continue;
        }
        let ends_crlf = text[at] == b'\n' && at > 0 && text[at - 1] == b'\r';
        if !ends_crlf {
            lines.push(&text[start..at]);
        }
        start = at + 1;
    }
    lines.push(&text[start..]);
    lines
}

/// Key, in lower case, and value of a line. None if it has no colon outside its comment.
fn record(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (content, _) = split_before(line, |octet| octet == b'#');
    let colon = content.iter().position(|&octet| octet == b':')?;
    let key = trim(&content[..colon]).to_ascii_lowercase();
    Some((key, trim(&content[colon + 1..])))
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}

/// The text before the first octet that `stop` names, and the text from there on.
fn split_before(text: &[u8], stop: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let at = text.iter().position(|&octet| stop(octet));
    text.split_at(at.unwrap_or(text.len()))
}

/// Whom a `user-agent` line names: a token in lower case, or `*`.
fn agent_token(value: &[u8]) -> Option<String> {
    if matches!(value, [b'*'] | [b'*', b' ' | b'\t', ..]) {
        return Some("*".to_string());
    }
    let ends = |octet: u8| !octet.is_ascii_alphanumeric() && !b"-_.".contains(&octet);
    let token = String::from_utf8_lossy(split_before(value, ends).0).to_ascii_lowercase();
    (!token.is_empty()).then_some(token)
}

// The canonical pass.

struct Canonical {
    octets: Vec<u8>,
    /// How many `%2A` and `%24` were decoded.
    specials: usize,
}

/// One pass from left to right. `in_query` says whether a raw `?` came before, and is set when one
/// comes.
fn canonical(input: &[u8], in_query: &mut bool) -> Canonical {
    let mut octets = Vec::new();
    let mut specials = 0;
    let mut last_broken = None; // where in the output the last `%` without two hex digits stands
    let mut at = 0;
    while at < input.len() {
        let octet = input[at];
        if octet != b'%' {
            *in_query |= octet == b'?';
            if is_never_raw(octet) {
                push_escape(&mut octets, octet);
            } else {
                octets.push(octet);
            }
            at += 1;
        } else if let Some(meant) = escape(&input[at..]) {
            let after_broken = last_broken.is_some_and(|broken| octets.len() - broken <= 2);
            let makes_escape = after_broken && meant.is_ascii_hexdigit();
            if decodes(meant, *in_query) && !makes_escape {
                octets.push(meant);
                specials += usize::from(b"*$".contains(&meant));
            } else {
                push_escape(&mut octets, meant);
            }
            at += 3;
        } else {
            last_broken = Some(octets.len());
            octets.push(b'%');
            at += 1;
        }
    }
    Canonical { octets, specials }
}

/// The octet that the escape at the start of `text` means. None if no two hex digits follow the
/// `%`.
fn escape(text: &[u8]) -> Option<u8> {
    let &[b'%', high, low, ..] = text else {
        return None;
    };
    let high = char::from(high).to_digit(16)?;
    let low = char::from(low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

fn decodes(meant: u8, in_query: bool) -> bool {
    let unreserved = meant.is_ascii_alphanumeric() || b"-._~".contains(&meant);
    unreserved || b"*$".contains(&meant) || (in_query && b":/?@[]".contains(&meant))
}

fn is_never_raw(octet: u8) -> bool {
    octet <= 0x20 || octet >= 0x7F || b"\"<>\\^`{|}".contains(&octet)
}

fn push_escape(octets: &mut Vec<u8>, meant: u8) {
    octets.extend(format!("%{meant:02X}").bytes());
}

// Patterns.

struct Pattern {
    parts: Vec<Part>,
    anchored: bool,
    specificity: usize,
    /// Starts with neither `/` nor `*`.
    matches_nothing: bool,
}

enum Part {
    Star,
    /// Octets between stars. After a star there is a second spelling, with all delimiters decoded,
    /// which counts only in the URL's query.
    Stretch {
        written: Vec<u8>,
        in_query: Option<Vec<u8>>,
    },
}

impl Pattern {
    fn new(value: &[u8]) -> Pattern {
        let anchored = value.ends_with(b"$");
        let body = value.strip_suffix(b"$").unwrap_or(value);
        let mut parts = Vec::new();
        let mut specificity = usize::from(anchored);
        let mut question_mark_seen = false;
        for (stars_before, text) in body.split(|&octet| octet == b'*').enumerate() {
            if stars_before > 0 {
                parts.push(Part::Star);
                specificity += 1;
            }
            let stretch = canonical(text, &mut question_mark_seen);
            specificity += stretch.octets.len() + 2 * stretch.specials;
            let in_query = (stars_before > 0).then(|| canonical(text, &mut true).octets);
            if !text.is_empty() {
                let written = stretch.octets;
                parts.push(Part::Stretch { written, in_query });
            }
        }
        let matches_nothing = !value.starts_with(b"/") && !value.starts_with(b"*");
        Pattern { parts, anchored, specificity, matches_nothing }
    }

    /// `ends[at]`: the parts so far can match exactly the first `at` octets of the target.
    fn matches(&self, target: &[u8]) -> bool {
        if self.matches_nothing {
            return false;
        }
        let path_len = split_before(target, |octet| octet == b'?').0.len();
        let mut ends = vec![false; target.len() + 1];
        ends[0] = true;
        for part in &self.parts {
            match part {
                Part::Star => {
                    for at in 1..ends.len() {
                        ends[at] |= ends[at - 1];
                    }
                }
                Part::Stretch { written, in_query } => {
                    let mut next = vec![false; ends.len()];
                    for start in (0..ends.len()).filter(|&at| ends[at]) {
                        let decoded = in_query.iter().filter(|_| start > path_len);
                        for spelling in decoded.chain([written]) {
                            if target[start..].starts_with(spelling) {
                                next[start + spelling.len()] = true;
                            }
                        }
                    }
                    ends = next;
                }
            }
        }
        if self.anchored { ends[target.len()] } else { ends.contains(&true) }
    }
}

// URLs.

struct Url {
    origin: String,
    target: Vec<u8>,
}

/// What rules are compared with. None: a bad URL.
pub fn canonical_target(url: &[u8]) -> Option<Vec<u8>> {
    Some(canonical(&split_url(url)?.target, &mut false).octets)
}

/// `scheme://host`, with `:port` if it is not the scheme's default. None: a bad URL.
pub fn origin(url: &[u8]) -> Option<String> {
    Some(split_url(url)?.origin)
}

fn split_url(url: &[u8]) -> Option<Url> {
    let (scheme, rest) = split_before(url, |octet| octet == b':');
    let scheme = canonical_scheme(scheme)?;
    let rest = rest.strip_prefix(b"://")?;
    let (authority, rest) = split_before(rest, |octet| b"/?#".contains(&octet));
    let userinfo_end = authority.iter().rposition(|&octet| octet == b'@');
    let (host, port) = host_and_port(&authority[userinfo_end.map_or(0, |at| at + 1)..])?;
    let port = port.filter(|&port| Some(port) != default_port(&scheme));
    let port = port.map_or(String::new(), |port| format!(":{port}"));
    let origin = format!("{scheme}://{host}{port}");
    let mut target = split_before(rest, |octet| octet == b'#').0.to_vec();
    if !target.starts_with(b"/") {
        target.insert(0, b'/');
    }
    Some(Url { origin, target })
}

fn canonical_scheme(scheme: &[u8]) -> Option<String> {
    let right = |octet: &u8| octet.is_ascii_alphanumeric() || b"+-.".contains(octet);
    if !scheme.first()?.is_ascii_alphabetic() || !scheme.iter().all(right) {
        return None;
    }
    Some(String::from_utf8_lossy(scheme).to_ascii_lowercase())
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" | "ws" => Some(80),
        "https" | "wss" => Some(443),
        "ftp" => Some(21),
        _ => None,
    }
}

fn host_and_port(authority: &[u8]) -> Option<(String, Option<u16>)> {
    if let Some(inside) = authority.strip_prefix(b"[") {
        let (address, rest) = split_before(inside, |octet| octet == b']');
        let address: Ipv6Addr = str::from_utf8(address).ok()?.parse().ok()?;
        return Some((format!("[{address}]"), port(rest.strip_prefix(b"]")?)?));
    }
    let (host, rest) = split_before(authority, |octet| octet == b':');
    Some((canonical_host(host)?, port(rest)?))
}

/// What stands behind the host: nothing, or `:` and digits. The outer None: a bad URL; the inner:
/// the default port.
fn port(text: &[u8]) -> Option<Option<u16>> {
    if text.is_empty() || text == b":" {
        return Some(None);
    }
    let digits = text.strip_prefix(b":")?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    str::from_utf8(digits).ok()?.parse().ok().map(Some)
}

fn canonical_host(host: &[u8]) -> Option<String> {
    let right = |octet: &u8| octet.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(octet);
    let mut ascii = if host.iter().all(right) {
        String::from_utf8_lossy(host).to_ascii_lowercase()
    } else {
        idna::domain_to_ascii(&String::from_utf8(percent_decode(host)).ok()?).ok()?
    };
    if ascii.ends_with('.') {
        ascii.pop();
    }
    (!ascii.is_empty() && ascii.bytes().all(|octet| right(&octet))).then_some(ascii)
}

fn percent_decode(text: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let meant = escape(&text[at..]);
        octets.push(meant.unwrap_or(text[at]));
        at += if meant.is_some() { 3 } else { 1 };
    }
    octets
}

// Fetch outcomes.

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Success,
    RedirectNotFollowed,
    Missing,
    Forbidden,
    TooManyRequests,
    ServerError,
    NoAnswer,
}

/// A code that HTTP does not define counts as a server error (RFC 9110, section 15).
fn outcome(status: &str) -> Outcome {
    match status {
        "unreachable" => return Outcome::NoAnswer,
        "too-many-redirects" => return Outcome::RedirectNotFollowed,
        _ => {}
    }
    match status.parse().expect("a known word or a status code") {
        100..=199 => Outcome::NoAnswer,
        200..=299 => Outcome::Success,
        300..=399 => Outcome::RedirectNotFollowed,
        401 | 403 => Outcome::Forbidden,
        429 => Outcome::TooManyRequests,
        400..=499 => Outcome::Missing,
        0_u32.. => Outcome::ServerError,
    }
}

/// None: the rules of the body are read.
fn verdict_of_fetch(status: &str, access: &str) -> Option<Verdict> {
    let outcome = outcome(status);
    let unreachable = matches!(outcome, Outcome::ServerError | Outcome::NoAnswer);
    match access {
        _ if outcome == Outcome::Success => None,
        "google" if outcome == Outcome::TooManyRequests => Some(Verdict::Disallow),
        "rfc9309" | "google" if unreachable => Some(Verdict::Disallow),
        "rfc9309" | "google" => Some(Verdict::Allow),
        "scrapy" => (outcome == Outcome::NoAnswer).then_some(Verdict::Allow),
        "hold" if outcome == Outcome::Missing => Some(Verdict::Allow),
        "hold" => Some(Verdict::Unresolved),
        _ => panic!("no access table: {access}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cases, each a name, a robots.txt with its line ends and odd bytes escaped as in Rust, and
    /// checks: agent, URL, verdict, line. A URL that starts with `/` is at https://example.com.
    const CASES: &str = r"
tokens are equal without case, not prefixes
| User-agent: bot\nDisallow: /a\n\nUser-agent: Googlebot\nDisallow: /b\n
> Googlebot /a allow 0, GOOGLEBOT /b disallow 5, Googlebot-News /b allow 0
> bot /a disallow 2
a version ends the token of a line
| User-agent: Googlebot/2.1\nDisallow: /\n
> Googlebot /x disallow 2
digits belong to a token
| User-agent: MJ12bot\nDisallow: /\n\nUser-agent: AI2Bot\nUser-agent: 360Spider\n
| Disallow: /a\n
> MJ12bot /x disallow 2, AI2Bot /a disallow 6, AI /a allow 0, 360spider /a disallow 6
a named group without rules silences the star
| User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\n
> ExampleBot /x allow 0, Other /x disallow 2
each line of a run names one more agent
| User-agent: *\nUser-agent: Googlebot\nDisallow: /private\n
> Other /private disallow 3, Googlebot /private disallow 3
a star before a space names everybody, before a letter nobody
| User-agent: * everyone\nDisallow: /x\n\nUser-agent: *bot\nDisallow: /y\n
> ExampleBot /x disallow 2, ExampleBot /y allow 0
crawl-delay ends no run
| User-agent: *\nCrawl-delay: 10\nUser-agent: badbot\nDisallow: /\n
> ExampleBot /x disallow 4, badbot /x disallow 4
sitemap ends no run
| User-agent: barbot\nSitemap: https://example.com/s.xml\nUser-agent: *\nDisallow: /\n
> barbot /x disallow 4, ExampleBot /x disallow 4
a blank line ends no run
| User-agent: a\n\nUser-agent: b\n\nDisallow: /\n
> a /x disallow 5, b /x disallow 5, c /x allow 0
an empty value ends a run and is no rule
| User-agent: a\nDisallow:\nUser-agent: b\nDisallow: /\n
> a /x allow 0, b /x disallow 4
rules before any group bind nobody
| Disallow: /secret\nUser-agent: x\nDisallow: /y\n
> ExampleBot /secret allow 0, x /secret allow 0, x /y disallow 3
an empty rule is beaten by a slash
| User-agent: *\nDisallow: /\nDisallow:\n
> ExampleBot /x disallow 2
an empty rule wipes nothing
| User-agent: *\nDisallow: /disallowed/\nAllow: /allowed/\n\nUser-agent: *\nDisallow:\n
> ExampleBot /disallowed/p disallow 2, ExampleBot /x allow 0
an agent line without a token ends the group before it
| User-agent: *\nDisallow: /wp\n\nUser-agent:\nUser-agent: OtherBot\nDisallow: /\n
> ExampleBot /be/ allow 0, OtherBot /be/ disallow 6
a byte order mark is no part of the first key
| \xEF\xBB\xBFUser-agent: *\nDisallow: /\n
> ExampleBot /x disallow 2
a second byte order mark is
| \xEF\xBB\xBF\xEF\xBB\xBFUser-agent: *\nDisallow: /\n
> ExampleBot /x allow 0
CR alone ends a line
| User-agent: *\rDisallow: /x\r
> ExampleBot /x disallow 2, ExampleBot /y allow 0
CR LF ends one line, LF CR two
| User-agent: *\r\nDisallow: /x\r\n\n\rDisallow: /y
> ExampleBot /x disallow 2, ExampleBot /y disallow 5
comments, space and the case of keys do not count
|   USER-AGENT \t:  ExampleBot   # us\n\tdisallow:/a   # no a\nDisAllow :\t/b\n
> ExampleBot /a disallow 2, ExampleBot /b disallow 3
a misspelled key is no rule
| User-agent: *\nDisalow: /x\nDisallow: /y\n
> ExampleBot /x allow 0, ExampleBot /y disallow 3
a line without a colon is no rule
| User-agent *\nDisallow /x\n
> ExampleBot /x allow 0
a byte that is not UTF-8 stays
| User-agent: *\nDisallow: /caf\xE9\nDisallow: /ok\n
> ExampleBot /cafeteria allow 0, ExampleBot /caf%E9 disallow 2, ExampleBot /ok disallow 3
a NUL cuts nothing
| User-agent: *\nDisallow: /x\0yz\n
> b /xq allow 0, b /x%00yz disallow 2
two star groups merge
| User-Agent: *\nContent-signal: search=yes,ai-train=no\nAllow: /\n\nUser-agent: GPTBot\n
| Disallow: /\n\nUser-agent: *\nDisallow: /lp\n
> ExampleBot /lp/1 disallow 9, ExampleBot /x allow 3, GPTBot /x disallow 6
a bad delay spoils nothing
| User-agent: *\nCrawl-delay: 10s\nCrawl-delay: 3600\nDisallow: /x\n
> ExampleBot /x disallow 4, ExampleBot /y allow 0
named groups merge, the star does not join them
| \nUser-agent: *\nDisallow: /catalog/\n\nUser-agent: ExampleBot\n
| Disallow: /catalog/private/\nAllow: /catalog/private/help/\n\nUser-agent: examplebot\n
| Disallow: /exports/\nAllow: /exports/public/\n
> ExampleBot /catalog/item allow 0, OtherBot /catalog/item disallow 3
> ExampleBot /catalog/private/item disallow 6
> ExampleBot /catalog/private/help/start allow 7, ExampleBot /exports/file disallow 10
> EXAMPLEBOT /exports/public/file allow 11, ExampleBot /Catalog/private/item allow 0
a rule is a prefix of octets, not of segments
| User-agent: *\nDisallow: /private\n
> b /a allow 0, b /private disallow 2, b /private/x disallow 2, b /privatefoo disallow 2
garbage holds no rules
| \0\xFF\x13\xFE\x8A\x0Bw\xC3\xE1\xA9\0\r\n\xD7\xE9\xF1
> mybot /private allow 0
an empty disallow is no rule
| User-agent: ExampleBot\nDisallow:\n\nUser-agent: *\nDisallow: /\n
> ExampleBot /x allow 0, OtherBot /x disallow 5
unknown records end no group
| User-agent: B\nDisallow: /a\nFrobnicate: yes\nDisallow: /b\nSitemap: https://a/s.xml\n
| Disallow: /c\n
> B /a disallow 2, B /b disallow 4, B /c disallow 6
a star is any run of octets
| User-agent: *\nDisallow: /*.pdf$\nDisallow: *private\nDisallow: /a*z/\nDisallow: */test\n
> b /x/y.pdf disallow 2, b /x/y.pdf?v=1 allow 0, b /x/private/y disallow 3
> b /abcz/1 disallow 4, b /abcz allow 0, b /test disallow 5, b /q/test disallow 5
an anchored tail may fit late
| User-agent: *\nDisallow: /*.php$\nDisallow: /b*$\n
> b /a.php/c.php disallow 2, b /a.php?x=.php disallow 2, b /a.php/c allow 0
> b /bcd disallow 3
the anchor does not float
| User-agent: *\nDisallow: /a$\n
> b /a disallow 2, b /x/a allow 0, b /a#top disallow 2, b /ab allow 0
a dollar inside is literal
| User-agent: *\nDisallow: /*$history\nDisallow: /p$$\n
> b /d/blink$history disallow 2, b /d/blink allow 0, b /p$ disallow 3, b /p allow 0
most octets win, then allow, then the smallest line
| User-agent: *\nDisallow: /*a\nAllow: /folder\nDisallow: /tie\nAllow: /tie\n
| Disallow: /ab$\nAllow: /ab\nAllow: /page\nDisallow: /*.htm\nAllow: /tie\n
> b /folder/xyza allow 3, b /tie/x allow 5, b /ab disallow 6, b /abc allow 7
> b /page.htm disallow 9
the query is part of the target
| User-agent: *\nDisallow: /*?\nAllow: /*?page=\nDisallow: /en/*q=*relevance*\n
| Disallow: /*&BL=\n
> b /a? disallow 2, b /a allow 0, b /a?page=2 allow 3
> b /en/c?q=%3Arelevance%3Atype disallow 4, b /a?x=1&BL=y disallow 5
an ampersand or a final question mark
| User-agent: *\nDisallow: /*&BL=\nDisallow: /*?$\n
> b /a?x=1&BL=y disallow 2, b /abc allow 0, b /abc? disallow 3
a rule without slash or star matches nothing
| User-agent: *\nDisallow: private\nDisallow: https://example.com/abs\nDisallow: $\n
| Disallow: ?\n
> b /private allow 0, b /abs allow 0, b / allow 0, b https://example.com?a allow 0
robots.txt itself is allowed
| User-agent: *\nDisallow: /\n
> b /robots.txt allow 0, b /%72obots.txt?a allow 0, b /robots.txt2 disallow 2
> b / disallow 2
two stars and an anchor beat a slash
| User-agent: *\nAllow: /*/filter/page=*/$\nDisallow: /\n
> b /1/filter/page=5/ allow 2, b /1/filter/page=5/x disallow 3
hostile stars cost no more than others
| User-agent: *\nDisallow: /*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n
| Disallow: /****************************x\n
> b /aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa allow 0
no index page without the google dialect
| User-agent: *\nAllow: /a/index.html\nDisallow: /\n
> b /a/ disallow 3
unreserved octets decode
| User-agent: *\nDisallow: /%62ar\nDisallow: /~user\nDisallow: /foo/baz\n
> b /bar disallow 2, b /%7Euser disallow 3, b /foo/%62%61%7A disallow 4
> b /foo/%62%61%7a disallow 4
the case of hex digits does not count
| User-agent: *\nDisallow: /a%2fb\n
> b /a%2fb disallow 2, b /a%2Fb disallow 2, b /a/b allow 0
an escaped slash is no slash
| User-agent: *\nDisallow: /a/b\nDisallow: /*%2F*\n
> b /a%2Fb disallow 3, b /x/y allow 0, b /a/b disallow 2, b /x?a/ disallow 3
octets outside ASCII compare escaped
| User-agent: *\nDisallow: /café\nDisallow: /foo/bar/%E3%83%84\nDisallow: /ツ/x\n
> b /caf%C3%A9 disallow 2, b /café disallow 2, b /caf%c3%a9/1 disallow 2
> b /foo/bar/ツ disallow 3, b /%E3%83%84/x disallow 4, b /cafe allow 0
an escaped special is the character
| User-agent: *\nDisallow: /file-%2A.html\nDisallow: /foo-%24\nDisallow: /*$history\n
> b /file-*.html disallow 2, b /file-%2A.html disallow 2, b /file-abc.html allow 0
> b /foo-$ disallow 3, b /foo-$5 disallow 3, b /foo-%245 disallow 3, b /foo-x allow 0
> b /d/x%24history disallow 4
a raw space is an escaped one
| User-agent: *\nDisallow: /a b\n
> b /a%20b disallow 2, b /abc allow 0
a percent sign without two hex digits is an octet
| User-agent: *\nDisallow: /100%\nDisallow: /%zz\nDisallow: /%%41\nDisallow: /q%4*1\n
> b /100% disallow 2, b /100%/a disallow 2, b /%zz1 disallow 3, b /%%41 disallow 4
> b /%A allow 0, b /q%4%31 disallow 5, b /qA allow 0
after a question mark the delimiters equal their escapes
| User-agent: *\nDisallow: /\nAllow: /r?u=http://a\nAllow: /s?u=http%3A%2F%2Fa\n
> b /r?u=http%3A%2F%2Fa allow 3, b /r?u=http://a allow 3, b /s?u=http://a/x allow 4
> b /s?u=http%3a%2f%2fb disallow 2
an escaped separator is data
| User-agent: *\nDisallow: /*?a=1&b=\n
> b /x?a=1&b=2 disallow 2, b /x?a=1%26b=2 allow 0
an escaped delimiter meets path or query
| User-agent: *\nDisallow: /*next=%2Faccount\nDisallow: /*url=http://x\n
> b /login?next=%2Faccount disallow 2, b /login?next=/account disallow 2
> b /next=%2Faccount disallow 2, b /next=/account allow 0
> b /go?url=http%3A%2F%2Fx disallow 3
an escaped delimiter before the first star, or an escaped question mark
| User-agent: *\nDisallow: /a%3Fb\nDisallow: /*%3Fc\nDisallow: /*%2Fd?e%2Ff\n
> b /a?b allow 0, b /a%3Fb disallow 2, b /x?c allow 0, b /x%3Fc disallow 3
> b /x?y?c disallow 3, b /x?y%3Fc disallow 3, b /x%2Fd?e/f disallow 4, b /x/d?e/f allow 0
> b /x?y/d?e%2Ff disallow 4
characters that no URI holds compare escaped
| User-agent: *\nDisallow: /{id}/\nDisallow: /a%7Cb\n
> b /%7Bid%7D/1 disallow 2, b /{id}/1 disallow 2, b /a|b disallow 3
no path is a slash
| User-agent: *\nDisallow: /\n
> b http://example.com disallow 2, b http://example.com?q=a disallow 2
> b HTTP://EXAMPLE.COM/x disallow 2
paths keep their case, their dots and their slashes
| User-agent: *\nDisallow: /Docs\nDisallow: /forbidden/\n
> b HTTP://EXAMPLE.COM/Docs disallow 2, b /docs allow 0, b //forbidden/f allow 0
> b /%66orbidden/f disallow 3, b /forbidden/../x disallow 3
userinfo, port and fragment are not compared
| User-agent: *\nDisallow: /a\n
> b http://u:p@example.com:8080/a?x#y disallow 2, b http://example.com/#/a allow 0
a bad URL is unresolved
| User-agent: *\nDisallow: /\n
> b http://[::1 unresolved 0, b http:///x unresolved 0, b mailto:a@example.com unresolved 0
";

    fn at_example(url: &str) -> Vec<u8> {
        let relative = url.starts_with('/');
        [if relative { "https://example.com" } else { "" }, url].concat().into_bytes()
    }

    fn shown(answer: &Answer) -> String {
        format!("{:?} {}", answer.verdict, answer.line).to_lowercase()
    }

    /// Octets of a text with the escapes `\n`, `\r`, `\t`, `\0` and `\xHH`.
    fn unescaped(text: &str) -> Vec<u8> {
        let (plain, rest) = text.split_once('\\').unwrap_or((text, ""));
        let (octet, rest) = match rest.split_at_checked(1) {
            None => return plain.into(),
            Some(("n", rest)) => (b'\n', rest),
            Some(("r", rest)) => (b'\r', rest),
            Some(("t", rest)) => (b'\t', rest),
            Some(("0", rest)) => (b'\0', rest),
            Some((_, rest)) => (u8::from_str_radix(&rest[..2], 16).unwrap(), &rest[2..]),
        };
        [plain.as_bytes(), &[octet], &unescaped(rest)].concat()
    }

    #[test]
    fn verdicts_and_lines() {
        let (mut name, mut robots, mut checks) = ("", Vec::new(), 0);
        for row in CASES.trim().lines() {
            if let Some(text) = row.strip_prefix("| ") {
                robots.extend(unescaped(text));
                continue;
            }
            let Some(rows) = row.strip_prefix("> ") else {
                name = row;
                robots.clear();
                continue;
            };
            for check in rows.split(", ") {
                let (agent, rest) = check.split_once(' ').unwrap();
                let (url, right) = rest.split_once(' ').unwrap();
                let answer = Oracle::parse(&robots).decide(&[agent], true, &at_example(url));
                assert_eq!(shown(&answer), right, "{name}: {check}");
                checks += 1;
            }
        }
        assert_eq!(checks, 184);
    }

    #[test]
    fn fetch_outcomes() {
        // Columns: rfc9309, google, scrapy, hold. Allow, disallow, unresolved or the rules.
        let table = [
            ("200 204 299", "rrrr"),
            ("301 304 too-many-redirects", "aaru"),
            ("400 404 410 418 451", "aara"),
            ("401 403", "aaru"),
            ("429", "adru"),
            ("500 503 599", "ddru"),
            ("unreachable 100 103", "ddau"),
        ];
        let oracle = Oracle::parse(b"User-agent: *\nDisallow: /x\n");
        let accesses = ["rfc9309", "google", "scrapy", "hold"];
        for (statuses, letters) in table {
            for status in statuses.split(' ') {
                for (access, letter) in accesses.into_iter().zip(letters.chars()) {
                    let answer = oracle.decide_fetched(status, access, &[], true, b"http://a/x");
                    let right = match letter {
                        'a' => ("fetch-status", "allow 0"),
                        'd' => ("fetch-status", "disallow 0"),
                        'u' => ("fetch-status", "unresolved 0"),
                        _ => ("rule", "disallow 2"),
                    };
                    let got = shown(&answer);
                    assert_eq!((answer.reason, &*got), right, "{status} {access}");
                }
            }
        }
    }

    #[test]
    fn reasons_in_order() {
        let oracle = Oracle::parse(b"User-agent: A\nDisallow: /x\n");
        let rows = [
            ("503 A http://a%20/x", "bad-url unresolved 0 -"),
            ("unknown A x", "bad-url unresolved 0 -"),
            ("unknown A http://a/robots.txt?x", "robots-txt allow 0 -"),
            ("503 A http://a/robots.txt", "robots-txt allow 0 -"),
            ("unknown A http://a/x", "no-policy unresolved 0 -"),
            ("404 A http://a/x", "fetch-status allow 0 -"),
            ("200 B http://a/x", "no-group allow 0 -"),
            ("200 a http://a/x", "rule disallow 2 a"),
            ("200 a http://a/y", "no-rule allow 0 a"),
        ];
        for (asked, right) in rows {
            let [status, agent, url] = asked.split(' ').collect::<Vec<_>>()[..] else { panic!() };
            let answer = oracle.decide_fetched(status, "rfc9309", &[agent], true, url.as_bytes());
            let group = answer.group.as_deref().unwrap_or("-");
            assert_eq!(format!("{} {} {group}", answer.reason, shown(&answer)), right, "{asked}");
        }
    }

    #[test]
    fn agents_of_several_tokens() {
        let oracle = Oracle::parse(b"User-agent: Image\nAllow: /\nUser-agent: Bot\nAllow: /\nUser-agent: *\nAllow: /\n");
        let rows: [(&[&str], bool, &str); 8] = [
            (&["image", "bot"], true, "image"),
            (&["video", "BOT", "image"], true, "bot"),
            (&["*", "bot"], true, "bot"),
            (&["video"], true, "*"),
            (&["video"], false, "no-group"),
            (&["*"], true, "*"),
            (&["*"], false, "no-group"),
            (&[], true, "*"),
        ];
        for (tokens, star, right) in rows {
            let answer = oracle.decide(tokens, star, b"http://a/");
            let got = answer.group.as_deref().unwrap_or(answer.reason);
            assert_eq!(got, right, "{tokens:?} {star}");
        }
    }

    #[test]
    fn rules_are_counted_wherever_they_stand() {
        let robots = b"Allow: /\nUser-agent: a\nAllow:\nDisallow: x\nAlow: /\n";
        assert_eq!(Oracle::parse(robots).rule_count(), 2);
    }

    fn utf16(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn utf16_is_decoded() {
        let text = "\u{FEFF}User-agent: *\r\nDisallow: /é𝄞\r\n";
        for bytes in [u16::to_le_bytes, u16::to_be_bytes] {
            let mut robots = utf16(text, bytes);
            robots.push(b'x'); // half a code unit
            let answer = Oracle::parse(&robots).decide(&[], true, "http://a/é𝄞".as_bytes());
            assert_eq!(shown(&answer), "disallow 2");
        }
        let mut unpaired = utf16("\u{FEFF}User-agent: *\nDisallow: /", u16::to_le_bytes);
        unpaired.extend(0xD834_u16.to_le_bytes());
        let answer = Oracle::parse(&unpaired).decide(&[], true, b"http://a/%EF%BF%BD");
        assert_eq!(shown(&answer), "disallow 2");
    }

    #[test]
    fn a_line_that_the_limit_cuts_is_dropped() {
        // `limit:rules`
        let check = |robots: &[u8], rows: &str| {
            for row in rows.split(' ') {
                let (limit, count) = row.split_once(':').unwrap();
                let oracle = Oracle::parse_with_limit(robots, limit.parse().unwrap());
                assert_eq!(oracle.rule_count().to_string(), count, "{limit}");
            }
        };
        let robots = b"Allow: /a\r\nAllow: /bcd\nAllow: /e";
        check(robots, "33:3 32:3 31:2 24:2 23:2 22:2 21:1 11:1 10:1 9:1 8:0");
        check(&[b"\xEF\xBB\xBF", &robots[..]].concat(), "35:3 34:2 13:1 12:1 11:0 3:0 2:0 0:0");
        let mut wide = utf16("\u{FEFF}Allow: /a\nAllow: /bcd", u16::to_be_bytes);
        check(&wide, "44:2 43:1 22:1 21:1 20:1 19:0 18:0 2:0 1:0 0:0");
        wide.push(0); // one octet over the limit, and no line end
        check(&wide, "45:2 44:1");
        let mut long = vec![b'#'; 511_990];
        long.extend(b"\nAllow: /abc");
        assert_eq!(Oracle::parse(&long[..512_000]).rule_count(), 1);
        assert_eq!(Oracle::parse(&long).rule_count(), 0);
    }

    #[test]
    fn specificity_is_the_length_of_the_canonical_pattern() {
        let rows: &[(&[u8], usize)] = &[
            (b"/", 1),
            (b"/*", 2),
            (b"/***", 4),
            (b"*$", 2),
            (b"/a$b$", 5),
            (b"/%2A%24", 7),
            (b"/%61%2F", 5),
            (b"/?%2F", 3),
            (b"/*%2F", 5),
            (b"/ \xE9", 7),
            (b"/%%%zz", 6),
            (b"/%%41", 5),
        ];
        for (value, right) in rows {
            let got = Pattern::new(value).specificity;
            assert_eq!(got, *right, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn targets() {
        let rows = [
            ("http://a", "/"),
            ("http://a?b#c?d", "/?b"),
            ("http://a#/b", "/"),
            ("http://a/%7e%41%2a%24%2d%5f%2e", "/~A*$-_."),
            ("http://a/%3a%2f%3f%40%5b%5d%26", "/%3A%2F%3F%40%5B%5D%26"),
            ("http://a/?%3a%2f%3f%40%5b%5d%26", "/?:/?@[]%26"),
            ("http://a/%3f%2f", "/%3F%2F"),
            ("http://a/ \t\"<>\\^`{|}", "/%20%09%22%3C%3E%5C%5E%60%7B%7C%7D"),
            ("http://a/\0\u{1f}\u{7f}é ", "/%00%1F%7F%C3%A9%20"),
            ("http://a/!$&'()*+,;=:@[]", "/!$&'()*+,;=:@[]"),
            ("http://a/%", "/%"),
            ("http://a/%4", "/%4"),
            ("http://a/%%41", "/%%41"),
            ("http://a/%4%31", "/%4%31"),
            ("http://a/%%34%31", "/%%341"),
            ("http://a/%a%62%63", "/%a%62c"),
            ("http://a/%%67%41", "/%g%41"),
            ("http://a/%gg%41", "/%ggA"),
            ("http://a/%%2f%41", "/%%2FA"),
            ("http://a/?%%2f%41", "/?%/%41"),
            ("http://a/%25%34%31", "/%2541"),
            ("http://a/%23", "/%23"),
        ];
        for (url, right) in rows {
            let target = canonical_target(url.as_bytes()).unwrap();
            assert_eq!(String::from_utf8_lossy(&target), right, "{url:?}");
        }
    }

    #[test]
    fn the_pass_is_idempotent() {
        let alphabet = b"%41f2?/ ";
        let mut texts: Vec<Vec<u8>> = vec![Vec::new()];
        for _ in 0..6 {
            let longer = |text: &Vec<u8>| alphabet.map(|octet| [text, &[octet][..]].concat());
            texts = texts.iter().flat_map(longer).collect();
            for text in &texts {
                let once = canonical(text, &mut false).octets;
                let twice = canonical(&once, &mut false).octets;
                assert_eq!(twice, once, "{}", text.escape_ascii());
            }
        }
    }

    #[test]
    fn origins() {
        let rows = [
            ("http://Example.COM./x", "http://example.com"),
            ("HTTPS://example.com:443", "https://example.com"),
            ("https://example.com:80?x", "https://example.com:80"),
            ("http://example.com:/", "http://example.com"),
            ("http://example.com:00080#x", "http://example.com"),
            ("http://example.com:65535/", "http://example.com:65535"),
            ("ws://a:80", "ws://a"),
            ("wss://a:443", "wss://a"),
            ("ftp://a:21", "ftp://a"),
            ("gopher+x-1.0://a:70", "gopher+x-1.0://a:70"),
            ("http://u:p@v@a:81/@b", "http://a:81"),
            ("http://@a", "http://a"),
            ("http://[2001:DB8:0::1]:80/", "http://[2001:db8::1]"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("http://bücher.example/", "http://xn--bcher-kva.example"),
            ("http://B%C3%BCcher.example", "http://xn--bcher-kva.example"),
            ("http://例え.テスト。/", "http://xn--r8jz45g.xn--zckzah"),
            ("http://%41.b", "http://a.b"),
            ("http://a_b~!$&'()*+,;=-/", "http://a_b~!$&'()*+,;=-"),
            ("http://127.0.0.1:9960/a", "http://127.0.0.1:9960"),
        ];
        for (url, right) in rows {
            assert_eq!(origin(url.as_bytes()).as_deref(), Some(right), "{url}");
        }
    }

    #[test]
    fn bad_urls() {
        let rows: [&[u8]; 32] = [
            b"",
            b" ",
            b"/x",
            b"//a/x",
            b"a.example/x",
            b"mailto:a@example.com",
            b"http:/a",
            b"http://",
            b"http:///x",
            b"http://?x",
            b"http://u@/x",
            b"http://:80/",
            b"http://./",
            b"://a/",
            b"1http://a/",
            b" http://a/",
            b"ht_tp://a/",
            b"http://[::1",
            b"http://[::1]x/",
            b"http://[::1].:80/",
            b"http://[fe80::1%25eth0]/",
            b"http://[v1.a]/",
            b"http://[]/",
            b"http://a:65536/",
            b"http://a:8x/",
            b"http://a:+8/",
            b"http://a:80:80/",
            b"http://exa mple.com/",
            b"http://a%2Fb/",
            b"http://a%zz/",
            b"http://a\\b/",
            b"http://\xE9.example/",
        ];
        for url in rows {
            assert_eq!(origin(url), None, "{}", url.escape_ascii());
            assert_eq!(canonical_target(url), None, "{}", url.escape_ascii());
        }
    }
}
