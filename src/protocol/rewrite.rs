//! One-time rewrites: what patterns the value of a rule stands for in a dialect.
//!
//! What leaves here is compared octet by octet with canonical targets of the dialect's form, and the length of a pattern is its specificity.

use crate::target::percent::{canonical_pattern, escape_value, is_plain, push_escape};
use crate::target::quote::quoted_pattern;

/// Calls back with each pattern that a rule's value stands for, and with none if it matches nothing. The flag says whether it is an allow rule.
pub type Rewrite = fn(&[u8], bool, &mut dyn FnMut(&[u8]));

/// RFC 9309: the canonical pattern (see [`canonical_pattern`]).
pub fn rfc9309(value: &[u8], _allows: bool, emit: &mut dyn FnMut(&[u8])) {
    if !matches!(value.first(), Some(b'/' | b'*')) {
        return;
    }
    if is_plain(value) {
        emit(value);
    } else {
        let mut pattern = Vec::with_capacity(value.len());
        canonical_pattern(value, &mut pattern);
        emit(&pattern);
    }
}

/// Google's parser: octets from 0x80 up are escaped and the digits of escapes upper-cased (`MaybeEscapePattern`); the page `index.htm…` of a folder
/// that is allowed allows the folder itself (`RobotsMatcher::HandleAllow`; it tries this only where the rule itself does not match, where it could
/// not win either, being shorter).
pub fn google(value: &[u8], allows: bool, emit: &mut dyn FnMut(&[u8])) {
    let mut pattern = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some(&octet) = rest.first() {
        match escape_value(rest).filter(|_| octet == b'%') {
            Some(value) => {
                push_escape(value, &mut pattern);
                rest = &rest[3..];
                continue;
            }
            None if octet >= 0x80 => push_escape(octet, &mut pattern),
            None => pattern.push(octet),
        }
        rest = &rest[1..];
    }
    emit_if_reachable(&pattern, emit);
    if let Some(slash) = memchr::memrchr(b'/', &pattern).filter(|&slash| allows && pattern[slash..].starts_with(b"/index.htm")) {
        pattern.truncate(slash + 1);
        pattern.push(b'$');
        emit_if_reachable(&pattern, emit);
    }
}

/// Protego 0.7.0: the quoted pattern (see [`quoted_pattern`]); a value with a `$` also as if every `$` in it were literal; an allowed `…/index.html`
/// allows the folder itself (`_RuleSet.allow`).
pub fn scrapy(value: &[u8], allows: bool, emit: &mut dyn FnMut(&[u8])) {
    if value.contains(&b'$') {
        let literal = value.iter().flat_map(|octet| if *octet == b'$' { &b"%24"[..] } else { std::slice::from_ref(octet) });
        emit_quoted(&literal.copied().collect::<Vec<u8>>(), allows, emit);
    }
    emit_quoted(value, allows, emit);
}

fn emit_quoted(value: &[u8], allows: bool, emit: &mut dyn FnMut(&[u8])) {
    let mut pattern = Vec::with_capacity(value.len());
    quoted_pattern(value, &mut pattern);
    emit_if_reachable(&pattern, emit);
    if allows && pattern.ends_with(b"/index.html") {
        pattern.truncate(pattern.len() - b"index.html".len());
        pattern.push(b'$');
        emit_if_reachable(&pattern, emit);
    }
}

/// A target starts with `/`, so a pattern must with that or a star.
fn emit_if_reachable(pattern: &[u8], emit: &mut dyn FnMut(&[u8])) {
    if matches!(pattern.first(), Some(b'/' | b'*')) {
        emit(pattern);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(rewrite: Rewrite, value: &str, allows: bool) -> Vec<String> {
        let mut patterns = Vec::new();
        rewrite(value.as_bytes(), allows, &mut |pattern| patterns.push(pattern.escape_ascii().to_string()));
        patterns
    }

    #[test]
    fn google_escapes_and_knows_index_pages() {
        assert_eq!(rewritten(google, "/é%c3%zz", false), ["/%C3%A9%C3%zz"]);
        assert_eq!(rewritten(google, "/a/index.htm", false), ["/a/index.htm"]);
        assert_eq!(rewritten(google, "/a/index.htmx$", true), ["/a/index.htmx$", "/a/$"]);
        assert_eq!(rewritten(google, "x/index.html", true), [""; 0]);
        assert_eq!(rewritten(google, "*/index.html/b", true), ["*/index.html/b"]);
    }

    #[test]
    fn scrapy_takes_a_dollar_both_ways() {
        assert_eq!(rewritten(scrapy, "/a$", false), ["/a%24", "/a$"]);
        assert_eq!(rewritten(scrapy, "/a$b", false), ["/a%24b", "/a%24b"]);
        assert_eq!(rewritten(scrapy, "/x/index.html", true), ["/x/index.html", "/x/$"]);
        assert_eq!(rewritten(scrapy, "/x/index.html$", true), ["/x/index.html%24", "/x/index.html$"]);
        assert_eq!(rewritten(scrapy, "http://x", true), ["/http%3A//x"]);
        assert_eq!(rewritten(scrapy, "$", true), [""; 0]);
    }
}
