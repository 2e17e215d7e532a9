//! Octets to lines to directives.

use crate::quirk::{Quirk, Quirks};

/// What a line says.
pub enum Line {
    Agent(Vec<u8>),
    Rule {
        allows: bool,
        value: Vec<u8>,
    },
    /// Any other record that ends a run of agent lines.
    EndsRun,
}

const SIZE_LIMIT: usize = 512_000;
const LINE_LIMIT: usize = 16_663;
const BOM: [u8; 3] = [0xEF, 0xBB, 0xBF];

/// The lines of `body` that say something.
pub fn read(body: &[u8], quirks: Quirks) -> Vec<Line> {
    split(&text(body, quirks), quirks).into_iter().filter_map(|line| directive(&line, quirks)).collect()
}

fn text(body: &[u8], quirks: Quirks) -> Vec<u8> {
    let read = if quirks.has(Quirk::NoLimit) { body } else { &body[..body.len().min(SIZE_LIMIT)] };
    let is_end = |octet: &u8| matches!(octet, b'\n' | b'\r') || *octet == 0 && quirks.has(Quirk::NulIsNewline);
    let is_cut = read.len() < body.len() && !is_end(&body[read.len()]);
    let mut text = decoded(read, quirks);
    if is_cut && !quirks.has(Quirk::CutLineKept) {
        text.truncate(text.iter().rposition(is_end).map_or(0, |end| end + 1));
    }
    text
}

fn decoded(body: &[u8], quirks: Quirks) -> Vec<u8> {
    if !quirks.has(Quirk::NoUtf16) {
        let unit: Option<fn([u8; 2]) -> u16> = match body {
            [0xFF, 0xFE, ..] => Some(u16::from_le_bytes),
            [0xFE, 0xFF, ..] => Some(u16::from_be_bytes),
            _ => None,
        };
        if let Some(unit) = unit {
            let units: Vec<u16> = body[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]])).collect();
            return String::from_utf16_lossy(&units).into_bytes();
        }
    }
    let body = &body[mark_len(body, quirks)..];
    if quirks.has(Quirk::DropInvalidUtf8) {
        return body.utf8_chunks().flat_map(|chunk| chunk.valid().bytes()).collect();
    }
    body.to_vec()
}

/// How many octets at the start are skipped as a byte order mark.
fn mark_len(body: &[u8], quirks: Quirks) -> usize {
    if quirks.has(Quirk::BomPrefix) {
        return body.iter().zip(BOM).take_while(|(octet, mark)| **octet == *mark).count();
    }
    if quirks.has(Quirk::BomPieces) {
        return BOM.iter().fold(0, |at, mark| at + usize::from(body.get(at) == Some(mark)));
    }
    if quirks.has(Quirk::BomAsLetters) {
        let text = std::str::from_utf8(body).unwrap_or_default();
        return 2 * text.chars().zip("\u{EF}\u{BB}\u{BF}".chars()).take_while(|(letter, mark)| letter == mark).count();
    }
    if body.starts_with(&BOM) { 3 } else { 0 }
}

fn split(text: &[u8], quirks: Quirks) -> Vec<Vec<u8>> {
    let mut lines = vec![Vec::new()];
    let mut rest = text;
    while let Some(&octet) = rest.first() {
        let end_len = line_end_len(rest, quirks);
        rest = &rest[end_len.max(1)..];
        match end_len {
            0 => lines.last_mut().expect("never empty").push(octet),
            _ => lines.push(Vec::new()),
        }
    }
    for line in &mut lines {
        if quirks.has(Quirk::LineCap) {
            line.truncate(LINE_LIMIT);
        }
        if quirks.has(Quirk::NulEndsLine) {
            line.truncate(line.iter().position(|&octet| octet == 0).unwrap_or(line.len()));
        }
    }
    lines
}

fn line_end_len(text: &[u8], quirks: Quirks) -> usize {
    match text {
        [b'\n' | b'\r', ..] => 1,
        [0, ..] if quirks.has(Quirk::NulIsNewline) => 1,
        _ if !quirks.has(Quirk::PythonLines) => 0,
        [0x0B | 0x0C | 0x1C..=0x1E, ..] => 1,
        [0xC2, 0x85, ..] => 2,
        [0xE2, 0x80, 0xA8 | 0xA9, ..] => 3,
        _ => 0,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Agent,
    Allow,
    Disallow,
    /// A record that speaks of the site.
    Site,
    CrawlDelay,
    Other,
}

fn directive(line: &[u8], quirks: Quirks) -> Option<Line> {
    let comment = line.iter().position(|&octet| octet == b'#');
    let code = &line[..comment.unwrap_or(line.len())];
    let (key, value) = match quirks.has(Quirk::NoColonSpace) {
        true => spelled(code, quirks)?,
        false if quirks.has(Quirk::LineUntrimmed) && comment.is_none() => key_and_value(code, quirks)?,
        false => key_and_value(trim(code, quirks), quirks)?,
    };
    match key {
        Key::Agent => Some(Line::Agent(value)),
        Key::Allow | Key::Disallow => Some(Line::Rule { allows: key == Key::Allow, value }),
        Key::CrawlDelay if ends_run_by_delay(&value, quirks) => Some(Line::EndsRun),
        Key::Site if quirks.has(Quirk::SitemapEndsRun) => Some(Line::EndsRun),
        Key::CrawlDelay | Key::Other if quirks.has(Quirk::RecordEndsRun) => Some(Line::EndsRun),
        Key::CrawlDelay | Key::Site | Key::Other => None,
    }
}

fn ends_run_by_delay(value: &[u8], quirks: Quirks) -> bool {
    let is_number = || std::str::from_utf8(value).is_ok_and(|text| text.parse::<f32>().is_ok_and(|delay| delay >= 0.0));
    quirks.has(Quirk::CrawlDelayEndsRun) || quirks.has(Quirk::ValidCrawlDelayEndsRun) && is_number()
}

fn key_and_value(code: &[u8], quirks: Quirks) -> Option<(Key, Vec<u8>)> {
    let is_space = |octet: &u8| matches!(octet, b' ' | b'\t');
    if let Some(colon) = code.iter().position(|&octet| octet == b':') {
        let key = trim(&code[..colon], quirks);
        let may_be_empty = quirks.has(Quirk::NoColonWords) || quirks.has(Quirk::LineUntrimmed) && colon > 0;
        if key.is_empty() && !may_be_empty {
            return None;
        }
        let kind = key_kind(key, quirks);
        let value = &code[colon + 1..];
        let is_separator = value.is_empty() || starts_with_python_space(value);
        if kind == Key::Other && quirks.has(Quirk::NoColonWords) && !is_separator && !is_known(key) {
            return Some(words(code, quirks).unwrap_or((Key::Other, vec![])));
        }
        return Some((kind, trim(value, quirks).to_vec()));
    }
    if quirks.has(Quirk::NoColonWords) {
        return words(code, quirks);
    }
    if !quirks.has(Quirk::NoColonTwoWords) {
        return None;
    }
    let space = code.iter().position(is_space)?;
    let value = trim(&code[space..], quirks);
    if value.is_empty() || value.iter().any(is_space) || space == 0 {
        return None;
    }
    Some((key_kind(trim(&code[..space], quirks), quirks), value.to_vec()))
}

/// Records that Protego knows and that are no rules.
fn is_known(key: &[u8]) -> bool {
    ["crawl-delay", "crawl delay", "request-rate", "request rate", "visit-time", "visit time"]
        .iter()
        .any(|known| key.eq_ignore_ascii_case(known.as_bytes()))
}

/// The first one or two words as a key.
fn words(code: &[u8], quirks: Quirks) -> Option<(Key, Vec<u8>)> {
    let text = String::from_utf8_lossy(code).into_owned();
    let words: Vec<&str> = text.split(is_python_space).filter(|word| !word.is_empty()).collect();
    (1..=2.min(words.len())).find_map(|count| {
        let key = words[..count].join(" ");
        let kind = key_kind(key.as_bytes(), quirks);
        (kind != Key::Other || is_known(key.as_bytes())).then(|| (kind, words[count..].join(" ").into_bytes()))
    })
}

fn key_kind(key: &[u8], quirks: Quirks) -> Key {
    let lower = key.to_ascii_lowercase();
    let is = |name: &&str| if quirks.has(Quirk::KeyPrefix) { lower.starts_with(name.as_bytes()) } else { lower == name.as_bytes() };
    let found = spellings(quirks).find(|(name, _)| is(name));
    found.map_or(Key::Other, |(_, key)| key)
}

fn spellings(quirks: Quirks) -> impl Iterator<Item = (&'static str, Key)> {
    let exact =
        [("user-agent", Key::Agent), ("allow", Key::Allow), ("disallow", Key::Disallow), ("sitemap", Key::Site), ("site-map", Key::Site)];
    let exact = exact.into_iter().chain([("sitemaps", Key::Site), ("host", Key::Site), ("crawl-delay", Key::CrawlDelay)]);
    let misspelled = ["dissallow", "dissalow", "disalow", "diasllow", "disallaw"].map(|name| (name, Key::Disallow));
    let misspelled = misspelled.into_iter().chain([("useragent", Key::Agent), ("user agent", Key::Agent)]);
    let misspelled_allow = [("alow", Key::Allow), ("allaw", Key::Allow)].into_iter();
    exact
        .chain(misspelled.filter(move |_| quirks.has(Quirk::Misspelled)))
        .chain(misspelled_allow.filter(move |_| quirks.has(Quirk::MisspelledAllow)))
}

/// A key at the start, and behind it a colon or space.
fn spelled(code: &[u8], quirks: Quirks) -> Option<(Key, Vec<u8>)> {
    let code = trim_blanks_start(code);
    let delays = [("crawl delay", Key::CrawlDelay), ("crawldelay", Key::CrawlDelay)];
    let starts = |name: &str| code.get(..name.len()).is_some_and(|key| key.eq_ignore_ascii_case(name.as_bytes()));
    spellings(quirks).chain(delays).filter(|(name, _)| starts(name)).find_map(|(name, key)| {
        let rest = &code[name.len()..];
        let behind = trim_blanks_start(rest);
        let value = match behind {
            [b':', value @ ..] => value,
            _ if behind.len() < rest.len() => behind,
            _ => return None,
        };
        Some((key, trim(value, quirks).to_vec()))
    })
}

fn trim_blanks_start(octets: &[u8]) -> &[u8] {
    &octets[octets.iter().take_while(|octet| matches!(octet, b' ' | b'\t')).count()..]
}

fn trim_blanks(octets: &[u8]) -> &[u8] {
    let octets = trim_blanks_start(octets);
    &octets[..octets.len() - octets.iter().rev().take_while(|octet| matches!(octet, b' ' | b'\t')).count()]
}

fn trim(octets: &[u8], quirks: Quirks) -> &[u8] {
    if quirks.has(Quirk::TrimUnicode) {
        return trim_chars(octets, char::is_whitespace);
    }
    if quirks.has(Quirk::TrimPython) {
        return trim_chars(octets, is_python_space);
    }
    if quirks.has(Quirk::TrimAscii) {
        return trim_chars(octets, |letter| letter.is_ascii_whitespace() || letter == '\u{B}');
    }
    trim_blanks(octets)
}

/// Whether `octets` begin with what is trimmed.
pub fn starts_with_space(octets: &[u8], quirks: Quirks) -> bool {
    let closed = [octets, b"x"].concat();
    trim(&closed, quirks).len() < closed.len()
}

fn trim_chars(octets: &[u8], is_space: impl Fn(char) -> bool) -> &[u8] {
    let spaces = |chunk: &str| chunk.char_indices().find(|&(_, letter)| !is_space(letter)).map_or(chunk.len(), |(at, _)| at);
    let start = octets.utf8_chunks().next().map_or(0, |chunk| spaces(chunk.valid()));
    let rest = &octets[start..];
    let Some(last) = rest.utf8_chunks().last() else { return rest };
    if !last.invalid().is_empty() {
        return rest;
    }
    let kept = last.valid().trim_end_matches(&is_space);
    &rest[..rest.len() - (last.valid().len() - kept.len())]
}

/// What Python's `str.isspace` says.
pub fn is_python_space(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&letter)
}

fn starts_with_python_space(octets: &[u8]) -> bool {
    octets.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next()).is_some_and(is_python_space)
}

/// What Python's `str.strip` leaves.
pub fn trim_python(text: &str) -> &str {
    text.trim_matches(is_python_space)
}
