//! URLs and patterns become canonical octets in every target form. The input is one row of octets: a URL, a raw target, a pattern and a name at once.

use std::collections::HashSet;

use robosieve::form::{OriginKey, TargetForm, is_robots_txt};
use robosieve::percent::{self, NEVER_RAW, Parts, canonical_pattern, canonical_target, is_canonical_target};
use robosieve::quote::{quoted_pattern, quoted_target};
use robosieve::url::{Url, origins_of_name};

use crate::oracle;

pub fn check(row: &[u8]) {
    check_url(row);
    check_name(row);
    for form in [TargetForm::RFC9309, TargetForm::GOOGLE, TargetForm::SCRAPY] {
        check_form(form, row);
    }
    check_target(row);
    check_pattern(row);
    check_own_text(row);
}

fn check_url(row: &[u8]) {
    let split = Url::split(row);
    let origin = split.and_then(|url| url.origin());
    assert_eq!(origin.as_ref().ok(), oracle::origin(row).as_ref());
    let Ok(url) = split else { return };
    let (prefix, rest) = row.split_at(url.prefix_len());
    assert_eq!(rest, url.rest());
    assert!(matches!(rest, [] | [b'/' | b'?' | b'#', ..]));
    let keys = [OriginKey::SchemeHostPort, OriginKey::HostPort].map(|key| {
        let mut out = Vec::new();
        url.write_key(key, &mut out).map(|()| out)
    });
    match (&origin, keys) {
        (Ok(origin), [Ok(key), Ok(without_scheme)]) => {
            assert_eq!(origin.as_bytes(), key);
            assert!(without_scheme.starts_with(b"//") && without_scheme.is_ascii());
        }
        (Err(why), [Err(one), Err(other)]) => assert!(*why == one && *why == other),
        (origin, keys) => panic!("{origin:?} but {keys:?}"),
    }
    for end in [&b""[..], b"/", b"?x", b"#"] {
        let other = [prefix, end].concat();
        assert_eq!(Url::split(&other).and_then(|url| url.origin()), origin, "the prefix decides the origin");
    }
    if let Ok(origin) = origin {
        let mut target = Vec::new();
        url.write_target(&mut target);
        assert_eq!(Some(target), oracle::canonical_target(row));
        // A host that ends in several full stops loses one of them each time.
        if !origin.contains(".:") && !origin.ends_with('.') {
            assert_eq!(Url::split(origin.as_bytes()).and_then(|url| url.origin()).as_ref(), Ok(&origin), "an origin is its own");
        }
    }
}

fn check_name(row: &[u8]) {
    let Ok(named) = std::str::from_utf8(row).map_or(Err(None), |name| origins_of_name(name).map_err(Some)) else { return };
    assert!((1..=2).contains(&named.origins().len()));
    assert!(!named.is_exact() || named.origins().len() == 1);
    assert_eq!(named.keys(OriginKey::SchemeHostPort), named.origins());
    for origin in named.origins() {
        assert!(origin.is_ascii() && Url::split(origin.as_bytes()).is_ok(), "{origin}");
    }
    let keys = named.keys(OriginKey::HostPort);
    assert_eq!(keys.iter().collect::<HashSet<_>>().len(), keys.len());
    assert!(!keys.is_empty() && keys.iter().all(|key| key.starts_with("//")));
}

fn check_form(form: &TargetForm, row: &[u8]) {
    assert!(form.start(row) <= row.len());
    let (mut buffer, mut other) = (b"old".to_vec(), Vec::new());
    let target = form.canonical(row, &mut buffer).to_vec();
    assert_eq!(target.first(), Some(&b'/'), "{}", form.name());
    assert!(!target.contains(&b'#'), "{}", form.name());
    if matches!(row, [] | [b'/' | b'?' | b'#', ..]) {
        let exempt = if form.robots_txt_exempt() { is_robots_txt(&target) } else { form.is_exempt_as_written(row) };
        assert_eq!(form.is_exempt(row, &mut other), exempt, "{}", form.name());
    }
    let fragment = [percent::without_fragment(row), b"#a?b"].concat();
    assert_eq!(form.canonical(&fragment, &mut other), target, "{}: a fragment counts", form.name());
    // What the map calls the identity is the identity.
    if target != percent::without_fragment(row) {
        let changed = |octet: &u8| form.not_identity().contains(*octet);
        assert!(row.first() != Some(&b'/') || row.iter().any(changed), "{}", form.name());
    }
}

fn check_target(raw: &[u8]) {
    let (mut target, mut again, mut quoted) = (Vec::new(), Vec::new(), Vec::new());
    canonical_target(raw, &mut target);
    canonical_target(&target, &mut again);
    assert_eq!(target, again, "the pass is idempotent");
    assert!(target.iter().all(|&octet| !NEVER_RAW.contains(octet) && octet != b'#'), "{}", target.escape_ascii());
    for escape in target.windows(3).filter(|octets| octets[0] == b'%' && octets[1..].iter().all(u8::is_ascii_hexdigit)) {
        assert!(!escape.iter().any(u8::is_ascii_lowercase), "{}", target.escape_ascii());
    }
    assert_eq!(is_canonical_target(raw), target == raw && !raw.contains(&b'%'));
    quoted_target(raw, &mut quoted);
    let is_kept = |octet: &u8| octet.is_ascii_alphanumeric() || b"-._~/=%".contains(octet);
    assert!(quoted.iter().all(is_kept), "{}", quoted.escape_ascii());
}

fn check_pattern(value: &[u8]) {
    let (mut pattern, mut again, mut quoted) = (Vec::new(), Vec::new(), Vec::new());
    canonical_pattern(value, &mut pattern);
    canonical_pattern(&pattern, &mut again);
    assert_eq!(pattern, again, "a canonical pattern is its own");
    check_parts(&Parts::of(&pattern, value), &pattern);
    quoted_pattern(value, &mut quoted);
    check_parts(&Parts::literal(&quoted), &quoted);
    check_parts(&Parts::literal(value), value);
}

fn check_parts(parts: &Parts, pattern: &[u8]) {
    assert!(parts.segments.iter().all(|segment| !segment.octets.is_empty()));
    assert!(parts.segments.len() <= pattern.iter().filter(|octet| **octet == b'*').count());
    let shortest = [&parts.prefix[..]].into_iter().chain(parts.segments.iter().map(|segment| &segment.octets[..])).collect::<Vec<_>>();
    assert!(parts.matches(&shortest.concat()), "a pattern matches its own stretches: {}", pattern.escape_ascii());
    assert!(parts.segments.is_empty() || parts.matches(&shortest.join(&b"xy"[..])));
}

/// A rule without stars and anchor, but for a star in front, matches its own text.
fn check_own_text(row: &[u8]) {
    let text: Vec<u8> = row.iter().copied().filter(|octet| !matches!(octet, b'*' | b'#')).collect();
    if text.is_empty() || text.ends_with(b"$") {
        return;
    }
    let parts = |front: &[u8]| {
        let value = [front, &text].concat();
        let mut pattern = Vec::new();
        canonical_pattern(&value, &mut pattern);
        Parts::of(&pattern, &value)
    };
    let target = |front: &[u8]| {
        let mut target = Vec::new();
        canonical_target(&[front, &text].concat(), &mut target);
        target
    };
    assert!(parts(b"/").matches(&target(b"/")), "{}", text.escape_ascii());
    for front in [&b"/x"[..], b"/x?", b"/?a=b&"] {
        assert!(parts(b"/*").matches(&target(front)), "{} behind {}", text.escape_ascii(), front.escape_ascii());
    }
}
