//! A URL split once: the origin that one robots.txt governs, and what a rule is compared with.
//!
//! `scheme://[userinfo@]host[:port][path][?query][#fragment]`, the generic syntax of [RFC 3986]. Nothing is trimmed or repaired:
//! what names no origin is a [`BadUrl`], and says why. The origin of the URLs of one row after another is mostly the same, so
//! [`Url::prefix_len`] tells which octets of a row decide it.
//!
//! [RFC 3986]: https://www.rfc-editor.org/rfc/rfc3986

use std::fmt;
use std::net::Ipv6Addr;

use super::form::OriginKey;
use super::percent::{self, OctetSet};

/// Octets of a host that is taken as it is, but for its letter case.
const HOST: OctetSet = OctetSet::new().with_range(b'a', b'z').with_range(b'A', b'Z').with_range(b'0', b'9').with(b"-._~!$&'()*+,;=");

/// Octets of a host that is its own ASCII form.
#[cfg(feature = "pipeline")]
const PLAIN_HOST: OctetSet = OctetSet::new().with_range(b'a', b'z').with_range(b'0', b'9').with(b"-._");

/// A URL split into its origin and the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Url<'a> {
    prefix: &'a [u8],
    scheme: &'a [u8],
    host: &'a [u8],
    port: Option<u16>,
    rest: &'a [u8],
}

/// Why a row names no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadUrl {
    /// The row is empty.
    Blank,
    /// No `scheme://` at the start.
    NoScheme,
    /// Nothing between `://` and the path.
    NoHost,
    /// The host holds an octet that no host has, or is no domain name that IDNA can map.
    Host,
    /// A bracketed host that is no IPv6 address; one with a zone counts as such.
    Ipv6,
    /// A port that is no number up to 65535.
    Port,
}

impl fmt::Display for BadUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadUrl::Blank => "the row is blank",
            BadUrl::NoScheme => "no scheme:// at its start",
            BadUrl::NoHost => "no host",
            BadUrl::Host => "the host holds a character that no host has",
            BadUrl::Ipv6 => "the bracketed host is not an IPv6 address",
            BadUrl::Port => "the port is not a number up to 65535",
        })
    }
}

impl std::error::Error for BadUrl {}

impl<'a> Url<'a> {
    /// Splits `row`.
    ///
    /// The host's octets are checked, and an IDN is mapped, only when [`Url::write_origin`] asks for them.
    ///
    /// ```
    /// use robosieve::url::Url;
    ///
    /// let url = Url::split(b"HTTP://user@Example.COM:8080/a?b#c").unwrap();
    /// assert_eq!(url.origin().unwrap(), "http://example.com:8080");
    /// assert_eq!(url.rest(), b"/a?b#c");
    /// ```
    pub fn split(row: &'a [u8]) -> Result<Url<'a>, BadUrl> {
        if row.is_empty() {
            return Err(BadUrl::Blank);
        }
        let colon = memchr::memchr(b':', row).ok_or(BadUrl::NoScheme)?;
        let (scheme, behind) = (&row[..colon], &row[colon..]);
        if !is_scheme(scheme) || !behind.starts_with(b"://") {
            return Err(BadUrl::NoScheme);
        }
        let start = colon + 3;
        let end = row[start..].iter().position(|octet| matches!(octet, b'/' | b'?' | b'#')).map_or(row.len(), |at| start + at);
        let authority = &row[start..end];
        let host_port = memchr::memrchr(b'@', authority).map_or(authority, |at| &authority[at + 1..]);
        let (host, port) = split_port(host_port)?;
        if host.is_empty() {
            return Err(BadUrl::NoHost);
        }
        Ok(Url { scheme, host, port, prefix: &row[..end], rest: &row[end..] })
    }

    /// The octets before the path of a row, where they are the key of its origin as they stand: `http://` or `https://`, and a host of lower-case letters,
    /// digits, `-`, `_` and `.`, the last not at its end. `None` of any other row.
    #[cfg(feature = "pipeline")]
    #[inline]
    pub(crate) fn plain_origin(row: &'a [u8]) -> Option<&'a [u8]> {
        let host = match row {
            [b'h', b't', b't', b'p', b's', b':', b'/', b'/', ..] => 8,
            [b'h', b't', b't', b'p', b':', b'/', b'/', ..] => 7,
            _ => return None,
        };
        let len = row[host..].iter().position(|&octet| !PLAIN_HOST.contains(octet)).unwrap_or(row.len() - host);
        let (prefix, behind) = row.split_at(host + len);
        let is_plain = len > 0 && prefix.last() != Some(&b'.') && matches!(behind, [] | [b'/' | b'?' | b'#', ..]);
        is_plain.then_some(prefix)
    }

    /// What stands behind the authority: path, query and fragment, as written. [`percent::canonical_target`] reads it.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// How many octets of the row stand before [`Url::rest`]. A row that starts with the same octets and goes on with `/`, `?`,
    /// `#` or nothing has the same origin.
    #[inline]
    pub fn prefix_len(&self) -> usize {
        self.prefix.len()
    }

    /// Whether `row` begins with the octets before the [`Url::rest`] of another row, and goes on as a URL may: then it has the same origin.
    #[inline]
    pub fn is_prefix(prefix: &[u8], row: &[u8]) -> bool {
        matches!(row.strip_prefix(prefix), Some([] | [b'/' | b'?' | b'#', ..]))
    }

    /// The octets of the row before [`Url::rest`].
    #[inline]
    pub fn prefix(&self) -> &'a [u8] {
        self.prefix
    }

    /// Appends the origin key: `scheme://host` with `:port` behind it unless that is the scheme's default; in lower case, the host in
    /// its ASCII form without a trailing dot.
    ///
    /// # Errors
    ///
    /// [`BadUrl::Host`] or [`BadUrl::Ipv6`] when the host is none. `out` may then hold a part of the key.
    pub fn write_origin(&self, out: &mut Vec<u8>) -> Result<(), BadUrl> {
        let scheme_start = out.len();
        out.extend(self.scheme.iter().map(u8::to_ascii_lowercase));
        let default = default_port(&out[scheme_start..]);
        out.extend_from_slice(b"://");
        write_host(self.host, out)?;
        if let Some(port) = self.port.filter(|&port| Some(port) != default) {
            out.push(b':');
            out.extend_from_slice(port.to_string().as_bytes());
        }
        Ok(())
    }

    /// Appends the key that a form knows the origin by: as [`Url::write_origin`], or without the scheme and with the port as written.
    ///
    /// # Errors
    ///
    /// As [`Url::write_origin`].
    pub fn write_key(&self, key: OriginKey, out: &mut Vec<u8>) -> Result<(), BadUrl> {
        match key {
            OriginKey::SchemeHostPort => self.write_origin(out),
            OriginKey::HostPort => {
                out.extend_from_slice(b"//");
                write_host(self.host, out)?;
                if let Some(port) = self.port {
                    out.extend_from_slice(format!(":{port}").as_bytes());
                }
                Ok(())
            }
        }
    }

    /// The origin key as a string. See [`Url::write_origin`].
    ///
    /// # Errors
    ///
    /// As [`Url::write_origin`].
    pub fn origin(&self) -> Result<String, BadUrl> {
        let mut out = Vec::with_capacity(self.prefix.len());
        self.write_origin(&mut out)?;
        Ok(String::from_utf8(out).expect("an origin key is ASCII"))
    }

    /// Appends the canonical target of this URL.
    pub fn write_target(&self, out: &mut Vec<u8>) {
        percent::canonical_target(self.rest, out);
    }
}

fn is_scheme(scheme: &[u8]) -> bool {
    scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|octet| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'-' | b'.'))
}

fn split_port(host_port: &[u8]) -> Result<(&[u8], Option<u16>), BadUrl> {
    if host_port.first() == Some(&b'[') {
        let close = memchr::memchr(b']', host_port).ok_or(BadUrl::Ipv6)?;
        let (host, behind) = host_port.split_at(close + 1);
        return match behind {
            [] => Ok((host, None)),
            [b':', digits @ ..] => Ok((host, port_number(digits)?)),
            _ => Err(BadUrl::Ipv6),
        };
    }
    match memchr::memchr(b':', host_port) {
        Some(colon) => Ok((&host_port[..colon], port_number(&host_port[colon + 1..])?)),
        None => Ok((host_port, None)),
    }
}

fn port_number(digits: &[u8]) -> Result<Option<u16>, BadUrl> {
    if digits.is_empty() {
        return Ok(None);
    }
    let mut port = 0u32;
    for digit in digits {
        if !digit.is_ascii_digit() {
            return Err(BadUrl::Port);
        }
        port = (port * 10 + u32::from(digit - b'0')).min(1 << 16);
    }
    u16::try_from(port).map(Some).map_err(|_| BadUrl::Port)
}

fn default_port(scheme: &[u8]) -> Option<u16> {
    match scheme {
        b"http" | b"ws" => Some(80),
        b"https" | b"wss" => Some(443),
        b"ftp" => Some(21),
        _ => None,
    }
}

fn write_host(host: &[u8], out: &mut Vec<u8>) -> Result<(), BadUrl> {
    if let Some(bracketed) = host.strip_prefix(b"[") {
        let text = bracketed.strip_suffix(b"]").and_then(|inner| std::str::from_utf8(inner).ok()).ok_or(BadUrl::Ipv6)?;
        let address: Ipv6Addr = text.parse().map_err(|_| BadUrl::Ipv6)?;
        out.extend_from_slice(format!("[{address}]").as_bytes());
        return Ok(());
    }
    let start = out.len();
    if host.iter().all(|&octet| HOST.contains(octet)) {
        out.extend(host.iter().map(u8::to_ascii_lowercase));
    } else {
        out.extend_from_slice(mapped_host(host).ok_or(BadUrl::Host)?.as_bytes());
    }
    if out.last() == Some(&b'.') {
        out.pop();
    }
    if out.len() == start { Err(BadUrl::NoHost) } else { Ok(()) }
}

/// The ASCII form of a host that holds escapes or octets beyond ASCII.
fn mapped_host(host: &[u8]) -> Option<String> {
    let decoded = String::from_utf8(decode(host)).ok()?;
    let mapped = idna::domain_to_ascii(&decoded).ok()?;
    mapped.bytes().all(|octet| HOST.contains(octet)).then_some(mapped)
}

fn decode(octets: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(octets.len());
    let mut rest = octets;
    while let Some(&octet) = rest.first() {
        let value = (octet == b'%').then(|| percent::escape_value(rest)).flatten();
        out.push(value.unwrap_or(octet));
        rest = &rest[if value.is_some() { 3 } else { 1 }..];
    }
    out
}

/// The origins that a name stands for: a file name or key of one robots.txt.
///
/// `HOST` stands for both schemes on their default ports, `HOST_PORT` for the schemes that speak on that port (443 https, 80 http, any
/// other both), `SCHEME_HOST_PORT` and a URL for one origin.
///
/// ```
/// use robosieve::url::origins_of_name;
///
/// assert_eq!(origins_of_name("example.com").unwrap().origins(), ["http://example.com", "https://example.com"]);
/// assert_eq!(origins_of_name("example.com_443").unwrap().origins(), ["https://example.com"]);
/// assert_eq!(origins_of_name("http_example.com_8080").unwrap().origins(), ["http://example.com:8080"]);
/// assert!(origins_of_name("not a host").is_err());
/// ```
///
/// # Errors
///
/// [`BadUrl`] when the name is none of these.
pub fn origins_of_name(name: &str) -> Result<NamedOrigins, BadUrl> {
    if name.contains("://") {
        let origin = Url::split(name.as_bytes())?.origin()?;
        return Ok(NamedOrigins { origins: vec![origin], exact: true });
    }
    let (front, port) = match name.rsplit_once('_') {
        Some((front, port)) if !port.is_empty() && port.bytes().all(|octet| octet.is_ascii_digit()) => (front, Some(port)),
        _ => (name, None),
    };
    let Some(port) = port else {
        return named(&["http", "https"], name, "", false);
    };
    for scheme in ["http", "https"] {
        if let Some(host) = front.strip_prefix(scheme).and_then(|rest| rest.strip_prefix('_')) {
            return named(&[scheme], host, port, true);
        }
    }
    match port_number(port.as_bytes())? {
        Some(443) => named(&["https"], front, port, true),
        Some(80) => named(&["http"], front, port, true),
        _ => named(&["http", "https"], front, port, false),
    }
}

/// What [`origins_of_name`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedOrigins {
    origins: Vec<String>,
    exact: bool,
}

impl NamedOrigins {
    /// The origins of a key (see [`NamedOrigins::keys`]): one without a scheme stands for both.
    ///
    /// # Errors
    ///
    /// [`BadUrl`] when it is no key.
    pub fn of_key(key: &str) -> Result<NamedOrigins, BadUrl> {
        let origins = match key.strip_prefix("//") {
            Some(host) => vec![format!("http://{host}"), format!("https://{host}")],
            None => vec![key.to_owned()],
        };
        let origins = origins.iter().map(|origin| Url::split(origin.as_bytes())?.origin()).collect::<Result<_, _>>()?;
        Ok(NamedOrigins { origins, exact: true })
    }

    /// The origin keys.
    pub fn origins(&self) -> &[String] {
        &self.origins
    }

    /// The keys by which a form finds these origins. Where the scheme does not count a default port may be written or not.
    ///
    /// ```
    /// use robosieve::{form::OriginKey, url::origins_of_name};
    ///
    /// let origins = origins_of_name("example.com_443")?;
    /// assert_eq!(origins.keys(OriginKey::HostPort), ["//example.com", "//example.com:443"]);
    /// # Ok::<(), robosieve::url::BadUrl>(())
    /// ```
    pub fn keys(&self, key: OriginKey) -> Vec<String> {
        match key {
            OriginKey::SchemeHostPort => self.origins.clone(),
            OriginKey::HostPort => {
                let mut keys: Vec<String> = self.origins.iter().flat_map(|origin| keys_without_scheme(origin)).collect();
                keys.sort_unstable();
                keys.dedup();
                keys
            }
        }
    }

    /// Whether the name gives scheme and port: such a one beats a name that gives a host alone.
    pub fn is_exact(&self) -> bool {
        self.exact
    }
}

fn keys_without_scheme(origin: &str) -> Vec<String> {
    let (scheme, host) = origin.split_once("://").unwrap_or(("", origin));
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.ends_with(']'));
    let written = format!("//{host}");
    match default_port(scheme.as_bytes()).filter(|_| !has_port) {
        Some(port) => vec![format!("{written}:{port}"), written],
        None => vec![written],
    }
}

fn named(schemes: &[&str], host: &str, port: &str, exact: bool) -> Result<NamedOrigins, BadUrl> {
    if host.bytes().any(|octet| matches!(octet, b'/' | b'?' | b'#' | b'@')) {
        return Err(BadUrl::Host);
    }
    let one = |scheme: &&str| Url::split(format!("{scheme}://{host}:{port}").as_bytes())?.origin();
    Ok(NamedOrigins { origins: schemes.iter().map(one).collect::<Result<_, _>>()?, exact })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(row: &[u8]) -> Result<String, BadUrl> {
        Url::split(row)?.origin()
    }

    #[test]
    fn origins() {
        for (row, key) in [
            ("http://example.com", "http://example.com"),
            ("HTTP://EXAMPLE.com.:80/x", "http://example.com"),
            ("https://a:b@c@example.com:443?x", "https://example.com"),
            ("https://example.com:/x", "https://example.com"),
            ("https://example.com:0080/x", "https://example.com:80"),
            ("http://[::0001]:81/", "http://[::1]:81"),
            ("http://bücher.example/", "http://xn--bcher-kva.example"),
            ("http://B%C3%BCcher.example/", "http://xn--bcher-kva.example"),
            ("http://ex%61mple.com/", "http://example.com"),
            ("gopher://h:70/x", "gopher://h:70"),
            ("http://under_score.example#x", "http://under_score.example"),
        ] {
            assert_eq!(origin(row.as_bytes()).as_deref(), Ok(key), "{row}");
        }
    }

    #[test]
    fn bad_urls() {
        for (row, why) in [
            ("", BadUrl::Blank),
            (" http://a/", BadUrl::NoScheme),
            ("mailto:a@example.com", BadUrl::NoScheme),
            ("//example.com/x", BadUrl::NoScheme),
            ("1http://a/", BadUrl::NoScheme),
            ("http:///x", BadUrl::NoHost),
            ("http://./x", BadUrl::NoHost),
            ("http://user@/x", BadUrl::NoHost),
            ("http://:80/x", BadUrl::NoHost),
            ("http://exa mple.com/x", BadUrl::Host),
            ("http://a\\b/x", BadUrl::Host),
            ("http://[::1", BadUrl::Ipv6),
            ("http://[fe80::1%25eth0]/", BadUrl::Ipv6),
            ("http://[::1]x/", BadUrl::Ipv6),
            ("http://a:65536/", BadUrl::Port),
            ("http://a:8x/", BadUrl::Port),
            ("http://a:1:2/", BadUrl::Port),
            ("http://a:99999999999999999999/", BadUrl::Port),
        ] {
            assert_eq!(origin(row.as_bytes()), Err(why), "{row}");
        }
        assert_eq!(origin(b"http://\xFF\xFE/"), Err(BadUrl::Host));
    }

    #[test]
    fn names() {
        let both = |name: &str| origins_of_name(name).map(|named| named.origins().join(" "));
        assert_eq!(both("my_host.example").unwrap(), "http://my_host.example https://my_host.example");
        assert_eq!(both("example.com_80").unwrap(), "http://example.com");
        assert_eq!(both("example.com_8080").unwrap(), "http://example.com:8080 https://example.com:8080");
        assert_eq!(both("https_example.com_443").unwrap(), "https://example.com");
        assert_eq!(both("[::1]_8080").unwrap(), "http://[::1]:8080 https://[::1]:8080");
        assert_eq!(both("https://example.com:444/robots.txt").unwrap(), "https://example.com:444");
        assert_eq!(both("a/b"), Err(BadUrl::Host));
        assert_eq!(both("example.com_70000"), Err(BadUrl::Port));
    }
}
