//! Canonical octets of the `scrapy` form: what Protego 0.7.0 makes of URLs and rules before it compares them.
//!
//! Escapes are decoded to octets, the octets to text, and the text is escaped anew, so that every octet but letters, digits and `-._~/=%` stands as
//! `%XX`. Escapes of `/` and `%` stay (in a rule that of `*` too), a `%` without two digits stays, and what is not UTF-8 becomes U+FFFD. The
//! output is never scanned again: `%%341` gives `%41`. Source: `_quote_path`, `_quote_pattern` and `_unquote` of Protego 0.7.0, measured.

use super::percent::{self, OctetSet, escape_value, push_escape};

/// Octets that stand for themselves on both sides.
const KEPT: OctetSet = OctetSet::new().with_range(b'a', b'z').with_range(b'A', b'Z').with_range(b'0', b'9').with(b"-._~/=");

/// Octets on which quoting a target is not the identity.
pub const NOT_IDENTITY: OctetSet = KEPT.complement();

/// Printable octets that quoting a target escapes wherever they stand: they are part of no escape, and of no character beyond ASCII. A `#` ends the
/// target before it is quoted, and a `%` depends on what follows.
pub const ALWAYS_ESCAPED: OctetSet = OctetSet::new().with(b" !\"$&'()*+,:;<>?@[\\]^`{|}");

/// Appends the quoted form of a target to `out`. `raw` is what stands behind the authority of a URL, with a fragment or without.
///
/// ```
/// use robosieve::quote::quoted_target;
///
/// let mut out = Vec::new();
/// quoted_target(b"/caf\xC3\xA9%3D%2fx?a&b#c", &mut out);
/// assert_eq!(out, b"/caf%C3%A9=%2Fx%3Fa%26b");
/// ```
pub fn quoted_target(raw: &[u8], out: &mut Vec<u8>) {
    let raw = percent::without_fragment(raw);
    if raw.first() != Some(&b'/') {
        out.push(b'/');
    }
    // Python's `urlsplit` takes these out wherever they stand.
    let is_line_space = |octet: &u8| matches!(octet, b'\t' | b'\r' | b'\n');
    if raw.iter().any(is_line_space) {
        let without: Vec<u8> = raw.iter().copied().filter(|octet| !is_line_space(octet)).collect();
        quote(&without, false, out);
    } else {
        quote(raw, false, out);
    }
}

/// Appends the quoted form of a rule's value to `out`: stars are `*`, a final `$` is the anchor, everything else is literal. Its length is the
/// rule's priority.
///
/// ```
/// use robosieve::quote::quoted_pattern;
///
/// let mut out = Vec::new();
/// quoted_pattern(b"/a b*?%2a$", &mut out);
/// assert_eq!(out, b"/a%20b*%3F%2A$");
/// ```
pub fn quoted_pattern(value: &[u8], out: &mut Vec<u8>) {
    // A rule written as a whole URL is looked for as a path.
    if value.starts_with(b"https://") || value.starts_with(b"http://") {
        out.push(b'/');
    }
    let (body, anchored) = match value.strip_suffix(b"$") {
        Some(body) => (body, true),
        None => (value, false),
    };
    quote(body, true, out);
    if anchored {
        out.push(b'$');
    }
}

fn quote(octets: &[u8], is_pattern: bool, out: &mut Vec<u8>) {
    let decoded = unquoted(octets, is_pattern);
    let is_kept = |octet: u8| KEPT.contains(octet) || octet == b'%' || (is_pattern && octet == b'*');
    for &octet in String::from_utf8_lossy(&decoded).as_bytes() {
        if is_kept(octet) { out.push(octet) } else { push_escape(octet, out) }
    }
}

/// The octets with their escapes decoded, but for those of `/`, `%` and, in a pattern, `*`.
fn unquoted(octets: &[u8], is_pattern: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(octets.len());
    let mut rest = octets;
    while let Some(&octet) = rest.first() {
        let value = if octet == b'%' { escape_value(rest) } else { None };
        match value {
            Some(value) if matches!(value, b'/' | b'%') || (is_pattern && value == b'*') => push_escape(value, &mut out),
            Some(value) => out.push(value),
            None => out.push(octet),
        }
        rest = &rest[if value.is_some() { 3 } else { 1 }..];
    }
    out
}

/// Whether Protego lets a URL through before it looks at any rule: the URL holds `/robots.txt` as written, and its path is just that once tabs
/// and line ends are taken out and parameters (`;`) cut off.
pub fn is_robots_txt(raw: &[u8]) -> bool {
    let may_be = matches!(raw, [b'/', b'r' | b'\t' | b'\r' | b'\n', ..]);
    may_be && is_robots_txt_path(raw)
}

fn is_robots_txt_path(raw: &[u8]) -> bool {
    // "As written" counts for the whole URL, its query and fragment too.
    if memchr::memmem::find(raw, b"/robots.txt").is_none() {
        return false;
    }
    let end = raw.iter().position(|octet| matches!(octet, b'?' | b'#')).unwrap_or(raw.len());
    let path: Vec<u8> = raw[..end].iter().copied().filter(|octet| !matches!(octet, b'\t' | b'\r' | b'\n')).collect();
    match path.strip_prefix(b"/robots.txt") {
        Some([]) => true,
        // Parameters begin in the last part of a path only.
        Some([b';', parameters @ ..]) => !parameters.contains(&b'/'),
        _ => false,
    }
}

/// What Python takes for white space: Unicode's, and the four separators from FS to US.
pub fn is_python_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\x1C'..='\x1F')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Protego 0.7.0's `_quote_path` and `_quote_pattern` gave.
    #[test]
    fn quoted_as_measured() {
        for (raw, quoted) in [
            (&b"/a"[..], &b"/a"[..]),
            (b"", b"/"),
            (b"?x=1", b"/%3Fx=1"),
            (b"/%2f%25%2a%3d%41", b"/%2F%25%2A=A"),
            (b"/%%341", b"/%41"),
            (b"/%4%41", b"/%4A"),
            (b"/100%", b"/100%"),
            (b"/%C3%A9", b"/%C3%A9"),
            (b"/%E9x", b"/%EF%BF%BDx"),
            (b"/a\tb\n#c", b"/ab"),
            (b"/$*!", b"/%24%2A%21"),
        ] {
            let mut out = Vec::new();
            quoted_target(raw, &mut out);
            assert_eq!(out, quoted, "{}", raw.escape_ascii());
        }
        for (value, quoted) in [(&b"/a$b$"[..], &b"/a%24b$"[..]), (b"http://x/", b"/http%3A//x/"), (b"*%2A%2a", b"*%2A%2A"), (b"$", b"$")] {
            let mut out = Vec::new();
            quoted_pattern(value, &mut out);
            assert_eq!(out, quoted, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn robots_txt() {
        for raw in
            [&b"/robots.txt"[..], b"/robots.txt?a", b"/robots.txt#a", b"/robots.txt;a", b"/robots.txt\t", b"/robo\tts.txt?/robots.txt"]
        {
            assert!(is_robots_txt(raw), "{}", raw.escape_ascii());
        }
        for raw in [&b"/robots.txt/"[..], b"/robots.txt%3Fa", b"/%72obots.txt", b"/robots.txt;a/b", b"/robo\tts.txt", b"/x/robots.txt"] {
            assert!(!is_robots_txt(raw), "{}", raw.escape_ascii());
        }
    }

    #[test]
    fn always_escaped_agrees_with_the_pass() {
        for octet in (0..=255u8).filter(|&octet| ALWAYS_ESCAPED.contains(octet)) {
            let mut escape = Vec::new();
            push_escape(octet, &mut escape);
            for [before, after] in
                [[&b"/"[..], &b""[..]], [b"/a?", b"41"], [b"/", b"%41"], [b"/a=", b"%C3%A9"], [b"/", b"\xC3\xA9"], [b"/", b"\xA9"]]
            {
                let (mut whole, mut front, mut back) = (Vec::new(), Vec::new(), Vec::new());
                quoted_target(&[before, &[octet], after].concat(), &mut whole);
                quoted_target(before, &mut front);
                quoted_target(&[b"/", after].concat(), &mut back);
                assert_eq!(whole, [&front[..], &escape, &back[1..]].concat(), "{octet:#x} before {}", after.escape_ascii());
            }
        }
        let printable = (b' '..=b'~').filter(|&octet| NOT_IDENTITY.contains(octet) && !b"%#".contains(&octet));
        assert!(printable.into_iter().all(|octet| ALWAYS_ESCAPED.contains(octet)));
    }

    #[test]
    fn identity_map_agrees_with_the_pass() {
        for octet in (0..=255u8).filter(|&octet| octet != b'#') {
            let raw = [b'/', octet, b'a'];
            let mut out = Vec::new();
            quoted_target(&raw, &mut out);
            assert_eq!(out == raw && octet != b'%', !NOT_IDENTITY.contains(octet), "{octet:#x}");
        }
    }
}
