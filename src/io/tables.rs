//! What tables of every format have in common: how columns of URLs are known, and what their values must not be.

use super::text::to_terminal_text;

/// The columns of Common Crawl's columnar index that make up a URL, in the order of a URL (<https://github.com/commoncrawl/cc-index-table>, the flat schema).
#[cfg(any(feature = "arrow", feature = "csv"))]
pub(super) const SPLIT: [&str; 5] = ["url_protocol", "url_host_name", "url_port", "url_path", "url_query"];

/// Whether a host and a path are each one part of a URL: a host with a delimiter in it, or a path that does not begin with `/`, would name another origin.
#[cfg(any(feature = "arrow", feature = "csv"))]
pub(super) fn are_parts(host: &[u8], path: &[u8]) -> bool {
    !host.is_empty() && !host.iter().any(|octet| b"/?#@\\".contains(octet)) && matches!(path, [] | [b'/', ..])
}

/// Whether a value has the form of a SURT key, as `com,example)/path`: the host's labels turned round and parted by commas.
///
/// ```
/// use robosieve::io::arrow::is_surt;
///
/// assert!(is_surt(b"com,example)/path") && is_surt(b"http://(com,example,www,)/"));
/// assert!(!is_surt(b"https://example.com/a,b)/") && !is_surt(b"a,b") && !is_surt(b""));
/// ```
pub fn is_surt(value: &[u8]) -> bool {
    let value = match memchr::memmem::find(value, b"://(") {
        Some(at) => &value[at + 4..],
        None => value,
    };
    let Some(end) = memchr::memchr(b')', value) else { return false };
    let is_of_host = |octet: &u8| octet.is_ascii_alphanumeric() || b",-_.:%".contains(octet) || !octet.is_ascii();
    value[..end].contains(&b',') && value[..end].iter().all(is_of_host) && value.get(end + 1).is_none_or(|&octet| octet == b'/')
}

/// Values of a column that are looked at to tell what it holds.
const MAX_PROBED: usize = 64;

/// Whether all of a column's first values are such keys.
pub(super) fn are_surt<'v>(values: impl Iterator<Item = &'v [u8]>) -> bool {
    let mut values = values.filter(|value| !value.is_empty()).take(MAX_PROBED).peekable();
    values.peek().is_some() && values.all(is_surt)
}

/// Why such keys are refused.
pub(super) fn why_no_surt(column: &str) -> String {
    format!(
        "the column {} holds SURT keys (com,example)/path), which lose the scheme and more of the URL: name a column with whole URLs (--url-column)",
        to_terminal_text(column.as_bytes())
    )
}

/// Names that an error lists at most.
const MAX_LISTED: usize = 40;

/// Names of columns as people read them.
pub(super) fn listed<'n>(names: impl ExactSizeIterator<Item = &'n [u8]>) -> String {
    let more = names.len().saturating_sub(MAX_LISTED);
    let mut list = names.take(MAX_LISTED).map(|name| to_terminal_text(name).into_owned()).collect::<Vec<_>>().join(", ");
    if more > 0 {
        list.push_str(&format!(", and {more} more"));
    }
    if list.is_empty() { "none".to_owned() } else { list }
}
