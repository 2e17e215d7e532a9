//! Values of rules and URLs to canonical octets, and how they meet.

use crate::quirk::{Quirk, Quirks};

/// A rule's pattern.
pub struct Pattern {
    atoms: Vec<Atom>,
    /// The canonical text, with stars and the final `$`.
    text: Vec<u8>,
    /// The octets that count when several rules match.
    pub specificity: usize,
    matches_nothing: bool,
    quirks: Quirks,
}

enum Atom {
    Star,
    /// A literal stretch, and its second spelling where it starts behind a URL's first `?`.
    Literal(Vec<u8>, Option<Vec<u8>>),
    End,
}

/// What a pattern is compared with.
pub struct Target {
    octets: Vec<u8>,
    /// Where the query begins: the first `?`.
    query: usize,
    pub is_exempt: bool,
}

impl Target {
    /// The target of `url`, which has a scheme and a host.
    pub fn new(url: &[u8], quirks: Quirks) -> Target {
        let rest = if quirks.has(Quirk::UrlUntouched) { cut_by_google(url) } else { behind_authority(url) };
        let end = if quirks.has(Quirk::FragmentKept) { None } else { rest.iter().position(|&octet| octet == b'#') };
        let raw = &rest[..end.unwrap_or(rest.len())];
        let slash = if raw.first() == Some(&b'/') { &b""[..] } else { b"/" };
        let mut octets = slash.to_vec();
        match (quirks.has(Quirk::UrlUntouched), quirks.has(Quirk::PythonEscapes)) {
            (true, _) => octets.extend(raw),
            (false, true) => octets.extend(python_quoted(&without_python_line_ends(raw), false)),
            (false, false) => octets.extend(Pass::new(quirks).literal(raw).octets),
        }
        if quirks.has(Quirk::UrlNul) {
            octets.truncate(octets.iter().position(|&octet| octet == 0).unwrap_or(octets.len()));
        }
        let query = octets.iter().position(|&octet| octet == b'?').unwrap_or(octets.len());
        let is_exempt = is_exempt(rest, &octets, quirks);
        Target { octets, query, is_exempt }
    }
}

fn behind_authority(url: &[u8]) -> &[u8] {
    let authority = url.windows(3).position(|three| three == b"://").map_or(0, |at| at + 3);
    let path = url[authority..].iter().position(|octet| matches!(octet, b'/' | b'?' | b'#'));
    path.map_or(&[], |at| &url[authority + at..])
}

/// The path begins at the first of `/?;` behind a `://` that stands before any of them; two slashes at the start count for nothing.
fn cut_by_google(url: &[u8]) -> &[u8] {
    let start = if url.starts_with(b"//") { 2 } else { 0 };
    let text = &url[start..];
    let path_from = |from: usize| text[from..].iter().position(|octet| b"/?;".contains(octet)).map(|at| from + at);
    let scheme = text.windows(3).position(|three| three == b"://").filter(|&at| path_from(0).is_none_or(|path| path >= at));
    let Some(path) = path_from(scheme.map_or(0, |at| at + 3)) else { return b"" };
    if text[..path].contains(&b'#') { b"" } else { &text[path..] }
}

fn is_exempt(rest: &[u8], canonical: &[u8], quirks: Quirks) -> bool {
    const PATH: &[u8] = b"/robots.txt";
    if quirks.has(Quirk::RobotsTxtRules) {
        return false;
    }
    if quirks.has(Quirk::RobotsTxtParams) {
        let end = rest.iter().position(|octet| matches!(octet, b'?' | b'#')).unwrap_or(rest.len());
        let path = without_python_line_ends(&rest[..end]);
        let last = path.iter().rposition(|&octet| octet == b'/').unwrap_or(0);
        let parameters = path[last..].iter().position(|&octet| octet == b';').map_or(path.len(), |at| last + at);
        return &path[..parameters] == PATH && rest.windows(PATH.len()).any(|window| window == PATH);
    }
    let path_end = canonical.iter().position(|&octet| octet == b'?' && !quirks.has(Quirk::RobotsTxtNoQuery)).unwrap_or(canonical.len());
    &canonical[..path_end] == PATH
}

/// What Python's URL splitter removes wherever it stands.
fn without_python_line_ends(raw: &[u8]) -> Vec<u8> {
    raw.iter().copied().filter(|octet| !matches!(octet, b'\t' | b'\r' | b'\n')).collect()
}

impl Pattern {
    /// The pattern of a rule's value.
    pub fn new(value: &[u8], quirks: Quirks) -> Pattern {
        let mut value = value.to_vec();
        let is_absolute = value.starts_with(b"http://") || value.starts_with(b"https://");
        if value[0] != b'/' && (quirks.has(Quirk::SlashAdded) || quirks.has(Quirk::AbsoluteSlash) && is_absolute) {
            value.insert(0, b'/');
        }
        if quirks.has(Quirk::BrokenEscapeEats) {
            value = without_broken_escapes(&value);
        }
        let matches_nothing = !matches!(value.first(), Some(b'/' | b'*'));
        let mut pattern = Pattern { atoms: vec![], text: vec![], specificity: 0, matches_nothing, quirks };
        let mut pass = Pass::new(quirks);
        let mut rest = &value[..];
        while let Some(&octet) = rest.first() {
            let is_end = octet == b'$' && (rest.len() == 1 || quirks.has(Quirk::DollarAnywhere));
            if octet == b'*' || is_end {
                pattern.atoms.push(if octet == b'*' { Atom::Star } else { Atom::End });
                pattern.text.push(octet);
                pattern.specificity += 1;
                rest = &rest[1..];
                continue;
            }
            let len = literal_len(rest, quirks);
            pattern.push_literal(&rest[..len], &mut pass);
            rest = &rest[len..];
        }
        pattern
    }

    fn push_literal(&mut self, raw: &[u8], pass: &mut Pass) {
        if self.quirks.has(Quirk::PythonEscapes) {
            let octets = python_quoted(raw, true);
            self.specificity += octets.len();
            self.text.extend(&octets);
            return self.atoms.push(Atom::Literal(octets, None));
        }
        let may_meet_query = self.atoms.iter().any(|atom| matches!(atom, Atom::Star)) && !pass.in_query;
        let literal = pass.literal(raw);
        self.specificity += literal.len;
        self.text.extend(&literal.octets);
        let in_query = may_meet_query.then(|| Pass { in_query: true, ..Pass::new(self.quirks) }.literal(raw).octets);
        self.atoms.push(Atom::Literal(literal.octets, in_query));
    }

    /// The rule that goes with one that allows an index page.
    pub fn without_index(&self, quirks: Quirks) -> Option<Pattern> {
        let slash = self.text.iter().rposition(|&octet| octet == b'/')?;
        let page = &self.text[slash + 1..];
        let is_index =
            quirks.has(Quirk::IndexHtm) && page.starts_with(b"index.htm") || quirks.has(Quirk::IndexHtml) && page == b"index.html";
        let value = [&self.text[..=slash], b"$"].concat();
        is_index.then(|| Pattern::new(&value, quirks))
    }

    /// Whether the pattern meets `target`.
    pub fn matches(&self, target: &Target) -> bool {
        if self.matches_nothing {
            return false;
        }
        if self.quirks.has(Quirk::FirstOccurrence) || self.quirks.has(Quirk::CharsNotOctets) {
            return self.matches_as_robotstxt(&target.octets);
        }
        let len = target.octets.len();
        let mut places = vec![0];
        for atom in &self.atoms {
            places = match atom {
                Atom::Star => (places[0]..=len).collect(),
                Atom::End => places.into_iter().filter(|&at| at == len).collect(),
                Atom::Literal(first, second) => behind(&places, target, first, second.as_deref()),
            };
            if places.is_empty() {
                return false;
            }
        }
        true
    }

    /// The walk of the crate robotstxt: a list of places in which new ones are inserted where they should replace old ones.
    fn matches_as_robotstxt(&self, target: &[u8]) -> bool {
        let units = |octets: &[u8]| -> Vec<u32> {
            match self.quirks.has(Quirk::CharsNotOctets) {
                true => String::from_utf8_lossy(octets).chars().map(u32::from).collect(),
                false => octets.iter().map(|&octet| u32::from(octet)).collect(),
            }
        };
        let (path, pattern) = (units(target), units(&self.text));
        let inserts = self.quirks.has(Quirk::FirstOccurrence);
        let put = |places: &mut Vec<usize>, at: usize, place: usize| match at < places.len() && !inserts {
            true => places[at] = place,
            false => places.insert(at, place),
        };
        let (len, mut places, mut count) = (target.len(), vec![0], 1);
        for (index, &unit) in pattern.iter().enumerate() {
            if unit == u32::from(b'$') && index + 1 == self.text.len() {
                return places[count - 1] == len;
            }
            if unit == u32::from(b'*') {
                count = len - places[0] + 1;
                for at in 1..count {
                    let place = places[at - 1] + 1;
                    put(&mut places, at, place);
                }
                continue;
            }
            let mut kept = 0;
            for at in 0..count {
                if places[at] < len && path.get(places[at]) == Some(&unit) {
                    let place = places[at] + 1;
                    put(&mut places, kept, place);
                    kept += 1;
                }
            }
            count = kept;
            if count == 0 {
                return false;
            }
        }
        true
    }
}

fn behind(places: &[usize], target: &Target, first: &[u8], second: Option<&[u8]>) -> Vec<usize> {
    let mut found = Vec::new();
    for &at in places {
        let rest = &target.octets[at..];
        found.extend(rest.starts_with(first).then_some(at + first.len()));
        let second = second.filter(|octets| at > target.query && rest.starts_with(octets));
        found.extend(second.map(|octets| at + octets.len()));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// How many octets stand before the next star or anchor.
fn literal_len(rest: &[u8], quirks: Quirks) -> usize {
    let ends = |at: usize| rest[at] == b'*' || rest[at] == b'$' && (at + 1 == rest.len() || quirks.has(Quirk::DollarAnywhere));
    (0..rest.len()).find(|&at| ends(at)).unwrap_or(rest.len())
}

/// A canonical stretch, and how many octets it counts in a rule.
struct Literal {
    octets: Vec<u8>,
    len: usize,
}

/// The canonical pass over stretches of a path or a pattern.
struct Pass {
    quirks: Quirks,
    in_query: bool,
}

impl Pass {
    fn new(quirks: Quirks) -> Pass {
        Pass { quirks, in_query: false }
    }

    fn literal(&mut self, raw: &[u8]) -> Literal {
        let mut out: Vec<u8> = Vec::new();
        // Which octets of the output are a `%` that begins no escape.
        let mut broken: Vec<usize> = Vec::new();
        let mut len = 0;
        let mut rest = raw;
        while let Some(&octet) = rest.first() {
            let value = escaped(rest);
            let is_near_broken = broken.last().is_some_and(|&at| at + 2 >= out.len()) && !self.quirks.has(Quirk::DecodeNextToBroken);
            match value {
                Some(value) if self.decodes(value) && !(is_near_broken && value.is_ascii_hexdigit()) => {
                    out.push(value);
                    len += if matches!(value, b'*' | b'$') { 3 } else { 1 };
                }
                Some(_) if self.quirks.has(Quirk::KeepHexCase) => {
                    out.extend(&rest[..3]);
                    len += 3;
                }
                Some(value) => {
                    out.extend(format!("%{value:02X}").bytes());
                    len += 3;
                }
                None if self.escapes(octet) => {
                    out.extend(format!("%{octet:02X}").bytes());
                    len += 3;
                }
                None => {
                    if octet == b'%' {
                        broken.push(out.len());
                    }
                    self.in_query |= octet == b'?';
                    out.push(octet);
                    len += 1;
                }
            }
            let eaten = octet == b'%' && self.quirks.has(Quirk::BrokenEscapeEats);
            let taken = if value.is_some() || eaten { rest.len().min(3) } else { 1 };
            if value.is_none() {
                out.extend(&rest[1..taken]);
                len += taken - 1;
            }
            rest = &rest[taken..];
        }
        Literal { octets: out, len }
    }

    fn decodes(&self, value: u8) -> bool {
        match value {
            b'*' | b'$' => !self.quirks.has(Quirk::KeepStarDollar),
            b'-' | b'.' | b'_' | b'~' => !self.quirks.has(Quirk::KeepUnreserved),
            _ if value.is_ascii_alphanumeric() => !self.quirks.has(Quirk::KeepUnreserved),
            b':' | b'/' | b'?' | b'@' | b'[' | b']' => self.in_query && !self.quirks.has(Quirk::KeepQueryDelimiters),
            _ => false,
        }
    }

    fn escapes(&self, octet: u8) -> bool {
        match octet {
            0x80.. => true,
            _ if self.quirks.has(Quirk::RawAscii) => false,
            b'\\' | b'^' | b'|' => !self.quirks.has(Quirk::RawUnwise),
            b'{' | b'}' => !self.quirks.has(Quirk::RawBraces),
            0..=0x20 | 0x7F | b'"' | b'<' | b'>' | b'`' => true,
            _ => false,
        }
    }
}

fn escaped(rest: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = rest else { return None };
    let digit = |octet: u8| char::from(octet).to_digit(16);
    Some((digit(*high)? * 16 + digit(*low)?) as u8)
}

/// Every escape but those of `/`, `%` and (in patterns) `*` decoded; then everything but unreserved octets, `/`, `%`, `=` and (in patterns) `*` escaped.
fn python_quoted(raw: &[u8], in_pattern: bool) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut rest = raw;
    let keeps = |value: u8| matches!(value, b'/' | b'%') || in_pattern && value == b'*';
    while let Some(&octet) = rest.first() {
        let value = escaped(rest);
        match value {
            Some(value) if keeps(value) => plain.extend(format!("%{value:02X}").bytes()),
            Some(value) => plain.push(value),
            None => plain.push(octet),
        }
        rest = &rest[if value.is_some() { 3 } else { 1 }..];
    }
    let is_safe = |octet: u8| octet.is_ascii_alphanumeric() || b"_.-~/%=".contains(&octet) || in_pattern && octet == b'*';
    let quote = |octet: u8| if is_safe(octet) { vec![octet] } else { format!("%{octet:02X}").into_bytes() };
    String::from_utf8_lossy(&plain).bytes().flat_map(quote).collect()
}

/// The escaping of the crate robotstxt: it takes two octets with every `%`, and where anything has to change, those of no escape vanish.
fn without_broken_escapes(value: &[u8]) -> Vec<u8> {
    let mut pieces: Vec<&[u8]> = Vec::new();
    let mut rest = value;
    while let Some(&octet) = rest.first() {
        let len = if octet == b'%' { rest.len().min(3) } else { 1 };
        pieces.push(&rest[..len]);
        rest = &rest[len..];
    }
    let is_escape = |piece: &&[u8]| piece[0] == b'%' && escaped(piece).is_some();
    let changes = |piece: &&[u8]| piece[0] >= 0x80 || is_escape(piece) && piece.iter().any(u8::is_ascii_lowercase);
    if !pieces.iter().any(changes) {
        return value.to_vec();
    }
    pieces.into_iter().filter(|piece| piece[0] != b'%' || is_escape(piece)).flatten().copied().collect()
}
