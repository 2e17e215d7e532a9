//! Policies lent by another origin of the same site, for origins without one of their own.

use crate::engine::program::Corrupt;
use crate::store::{Origin, Store};

/// What may lend an origin without a policy that of another.
///
/// Off by default: to each origin its own robots.txt (RFC 9309, section 2.3). An old list may be all `http` where policies are all `https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fallback {
    /// The other of `http` and `https`, on their default ports.
    pub scheme: bool,
    /// The host with `www.` before it, or without.
    pub www: bool,
}

/// Which origin has lent its policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lent {
    /// That of the other scheme.
    Scheme = 1,
    /// That with `www.` or without.
    Www = 2,
    /// Both at once.
    SchemeAndWww = 3,
}

impl Lent {
    /// All of them, in the order in which they are asked.
    pub const ALL: [Lent; 3] = [Lent::Scheme, Lent::Www, Lent::SchemeAndWww];

    /// The name that outputs use.
    pub const fn name(self) -> &'static str {
        match self {
            Lent::Scheme => "scheme",
            Lent::Www => "www",
            Lent::SchemeAndWww => "scheme,www",
        }
    }

    pub(super) fn of_number(number: u8) -> Option<Lent> {
        Lent::ALL.into_iter().find(|&lent| lent as u8 == number)
    }
}

impl Fallback {
    /// Whether nothing may lend anything.
    pub fn is_off(self) -> bool {
        self == Fallback::default()
    }

    /// The origin of that key, or else the first that may lend it its policy.
    pub(super) fn find<'s>(self, store: &'s Store, key: &[u8]) -> Result<Option<(Origin<'s>, Option<Lent>)>, Corrupt> {
        if let Some(origin) = store.find(key)? {
            return Ok(Some((origin, None)));
        }
        for lent in Lent::ALL {
            if let Some(lender) = self.lender(lent, key)
                && let Some(origin) = store.find(&lender)?
            {
                return Ok(Some((origin, Some(lent))));
            }
        }
        Ok(None)
    }

    /// The key of an origin that may lend.
    fn lender(self, lent: Lent, key: &[u8]) -> Option<Vec<u8>> {
        let scheme = || if self.scheme { other_scheme(key) } else { None };
        let www = |key: &[u8]| if self.www { other_host(key) } else { None };
        match lent {
            Lent::Scheme => scheme(),
            Lent::Www => www(key),
            Lent::SchemeAndWww => www(&scheme()?),
        }
    }
}

/// The key of the other scheme, for a host on the default port.
fn other_scheme(key: &[u8]) -> Option<Vec<u8>> {
    let (other, host) = match (key.strip_prefix(b"http://"), key.strip_prefix(b"https://")) {
        (Some(host), _) => (&b"https://"[..], host),
        (_, Some(host)) => (&b"http://"[..], host),
        _ => return None,
    };
    let port = host.iter().rposition(|&octet| octet == b':').filter(|&at| !host[at..].contains(&b']'));
    port.is_none().then(|| [other, host].concat())
}

/// The key of the host with `www.` before it, or without. An address has neither.
fn other_host(key: &[u8]) -> Option<Vec<u8>> {
    let start = key.windows(3).position(|octets| octets == b"://").map_or(0, |at| at + 3);
    let (before, host) = key.split_at(start);
    let name = host.split(|&octet| octet == b':').next().unwrap_or_default();
    let is_address =
        host.starts_with(b"[") || name.rsplit(|&octet| octet == b'.').next().is_some_and(|last| last.iter().all(u8::is_ascii_digit));
    if is_address {
        return None;
    }
    match host.strip_prefix(b"www.") {
        Some(b"") => None,
        Some(rest) => Some([before, rest].concat()),
        None => Some([before, b"www.", host].concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_lend() {
        let text = |key: Option<Vec<u8>>| key.map(|key| String::from_utf8(key).unwrap());
        for (key, scheme, www) in [
            ("http://a.example", Some("https://a.example"), Some("http://www.a.example")),
            ("https://www.a.example", Some("http://www.a.example"), Some("https://a.example")),
            ("https://a.example:8443", None, Some("https://www.a.example:8443")),
            ("ftp://a.example", None, Some("ftp://www.a.example")),
            ("http://192.0.2.1", Some("https://192.0.2.1"), None),
            ("http://192.0.2.1:8080", None, None),
            ("http://[2001:db8::1]", Some("https://[2001:db8::1]"), None),
            ("http://[2001:db8::1]:81", None, None),
            ("a.example", None, Some("www.a.example")),
            ("www.a.example:8080", None, Some("a.example:8080")),
            ("http://www.", Some("https://www."), None),
        ] {
            assert_eq!(text(other_scheme(key.as_bytes())).as_deref(), scheme, "{key}");
            assert_eq!(text(other_host(key.as_bytes())).as_deref(), www, "{key}");
        }
    }
}
