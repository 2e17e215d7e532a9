//! The keys of records: the protocol's three, and those outside of it that are kept; and what the values of those say.

use std::fmt;

use super::usage::ContentUsage;
use crate::target::url::Url;

/// What the key of a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// `user-agent`
    UserAgent,
    /// `allow`
    Allow,
    /// `disallow`
    Disallow,
    /// A record outside the protocol.
    Record(RecordKind),
}

/// A record outside the protocol: kept, never able to open or close a group or to change a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RecordKind {
    /// `crawl-delay`
    CrawlDelay,
    /// `request-rate`
    RequestRate,
    /// `visit-time`
    VisitTime,
    /// `sitemap`
    Sitemap,
    /// `host`
    Host,
    /// `clean-param`
    CleanParam,
    /// `noindex`
    Noindex,
    /// `content-signal`
    ContentSignal,
    /// `content-usage`
    ContentUsage,
    /// `license`
    License,
}

impl RecordKind {
    const ALL: [RecordKind; 10] = [
        RecordKind::CrawlDelay,
        RecordKind::RequestRate,
        RecordKind::VisitTime,
        RecordKind::Sitemap,
        RecordKind::Host,
        RecordKind::CleanParam,
        RecordKind::Noindex,
        RecordKind::ContentSignal,
        RecordKind::ContentUsage,
        RecordKind::License,
    ];

    /// The key, in lower case.
    pub const fn key(self) -> &'static str {
        match self {
            RecordKind::CrawlDelay => "crawl-delay",
            RecordKind::RequestRate => "request-rate",
            RecordKind::VisitTime => "visit-time",
            RecordKind::Sitemap => "sitemap",
            RecordKind::Host => "host",
            RecordKind::CleanParam => "clean-param",
            RecordKind::Noindex => "noindex",
            RecordKind::ContentSignal => "content-signal",
            RecordKind::ContentUsage => "content-usage",
            RecordKind::License => "license",
        }
    }

    /// Whether the record speaks to the agents of the group it stands in, or of the site as a whole.
    pub const fn is_grouped(self) -> bool {
        !matches!(self, RecordKind::Sitemap | RecordKind::Host | RecordKind::CleanParam | RecordKind::License)
    }

    pub(super) fn of(key: &[u8]) -> Option<RecordKind> {
        RecordKind::ALL.into_iter().find(|kind| key.eq_ignore_ascii_case(kind.key().as_bytes()))
    }
}

impl Key {
    /// The key as the protocol spells it, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Key::UserAgent => "user-agent",
            Key::Allow => "allow",
            Key::Disallow => "disallow",
            Key::Record(kind) => kind.key(),
        }
    }
}

/// What the value of a record says, where its format is known.
///
/// ```
/// use robosieve::record::{RecordKind, RecordValue, RequestRate};
///
/// let rate = RecordValue::parse(RecordKind::RequestRate, b"2/10m");
/// assert_eq!(rate, Some(RecordValue::RequestRate(RequestRate { requests: 2, seconds: 600, window: None })));
/// assert_eq!(RecordValue::parse(RecordKind::CrawlDelay, b"soon"), None);
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RecordValue<'a> {
    /// Seconds between two requests.
    CrawlDelay(f64),
    /// How many requests in how much time.
    RequestRate(RequestRate),
    /// When to come.
    VisitTime(TimeWindow),
    /// The URL of a sitemap.
    Sitemap(&'a [u8]),
    /// The host that counts among several with the same content: a host name with or without port, or a URL without a path.
    Host(&'a [u8]),
    /// Query parameters that change nothing.
    CleanParam(CleanParam<'a>),
    /// The pattern of what is not to be indexed.
    Noindex(&'a [u8]),
    /// What may be done with the content, in the words of contentsignals.org.
    ContentSignal(Vec<Signal<'a>>),
    /// What may be done with the content, in the words of the AIPREF drafts.
    ContentUsage(ContentUsage<'a>),
    /// The URL of a licence (RSL 1.0, section on robots.txt).
    License(&'a [u8]),
}

/// So many requests in so many seconds, as Sean Conner's "An Extended Standard for Robot Exclusion" (1996) writes it: `1/10m 0600-0845`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestRate {
    /// Requests.
    pub requests: u32,
    /// Seconds: at least one.
    pub seconds: u32,
    /// The time of day for which this is said; `None` for all day.
    pub window: Option<TimeWindow>,
}

/// A part of the day in UTC, in minutes from midnight, the last included. It goes over midnight where the end comes before the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeWindow {
    /// The first minute.
    pub start: u16,
    /// The last minute.
    pub end: u16,
}

impl fmt::Display for TimeWindow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TimeWindow { start, end } = self;
        write!(f, "{:02}:{:02} to {:02}:{:02} UTC", start / 60, start % 60, end / 60, end % 60)
    }
}

/// Query parameters that change nothing (Yandex's `Clean-param: a&b /path`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CleanParam<'a> {
    /// Their names.
    pub parameters: Vec<&'a [u8]>,
    /// The beginning of the paths they are said of; `None` for all.
    pub path: Option<&'a [u8]>,
}

/// One pair of a `content-signal`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signal<'a> {
    /// What is spoken of, as `search`, `ai-input`, `ai-train`, or something else.
    pub key: &'a [u8],
    /// The value as written.
    pub value: &'a [u8],
}

impl Signal<'_> {
    /// Whether it says `yes`; `None` for what is neither `yes` nor `no`.
    pub fn is_yes(&self) -> Option<bool> {
        match self.value {
            value if value.eq_ignore_ascii_case(b"yes") => Some(true),
            value if value.eq_ignore_ascii_case(b"no") => Some(false),
            _ => None,
        }
    }
}

impl<'a> RecordValue<'a> {
    /// Reads the value of a record; `None` when it is not of the record's format.
    pub fn parse(kind: RecordKind, value: &'a [u8]) -> Option<RecordValue<'a>> {
        Some(match kind {
            RecordKind::CrawlDelay => RecordValue::CrawlDelay(seconds(value)?),
            RecordKind::RequestRate => RecordValue::RequestRate(request_rate(value)?),
            RecordKind::VisitTime => RecordValue::VisitTime(time_window(value)?),
            RecordKind::Sitemap => RecordValue::Sitemap(url(value)?),
            RecordKind::Host => RecordValue::Host(host(value)?),
            RecordKind::CleanParam => RecordValue::CleanParam(clean_param(value)?),
            RecordKind::Noindex => RecordValue::Noindex(Some(value).filter(|value| matches!(value, [b'/' | b'*', ..]))?),
            RecordKind::ContentSignal => {
                RecordValue::ContentSignal(value.split(|octet| *octet == b',').map(signal).collect::<Option<_>>()?)
            }
            RecordKind::ContentUsage => RecordValue::ContentUsage(ContentUsage::parse(value)?),
            RecordKind::License => RecordValue::License(url(value)?),
        })
    }
}

/// A number without sign or exponent: `f64` would read `inf` and `1e9` as well.
fn seconds(value: &[u8]) -> Option<f64> {
    let is_decimal = value.iter().all(|octet| octet.is_ascii_digit() || *octet == b'.');
    let text = std::str::from_utf8(value).ok().filter(|_| is_decimal)?;
    text.parse().ok().filter(|seconds: &f64| seconds.is_finite())
}

fn request_rate(value: &[u8]) -> Option<RequestRate> {
    let (rate, window) = match value.iter().position(u8::is_ascii_whitespace) {
        Some(end) => (&value[..end], Some(time_window(&value[end..])?)),
        None => (value, None),
    };
    let (requests, period) = split_at(rate, b'/')?;
    let (count, unit) = match period.split_last()? {
        (b's', count) => (count, 1),
        (b'm', count) => (count, 60),
        (b'h', count) => (count, 3600),
        (b'd', count) => (count, 86_400),
        _ => (period, 1),
    };
    let seconds = number(count)?.checked_mul(unit).filter(|seconds| *seconds > 0)?;
    Some(RequestRate { requests: number(requests)?, seconds, window })
}

fn time_window(value: &[u8]) -> Option<TimeWindow> {
    let (start, end) = split_at(value, b'-')?;
    Some(TimeWindow { start: minute_of_day(start)?, end: minute_of_day(end)? })
}

/// `HHMM` as minutes from midnight.
fn minute_of_day(value: &[u8]) -> Option<u16> {
    let value = value.trim_ascii();
    let time = number(value).filter(|_| value.len() == 4)?;
    let (hour, minute) = (time / 100, time % 100);
    u16::try_from(hour * 60 + minute).ok().filter(|_| hour < 24 && minute < 60)
}

fn url(value: &[u8]) -> Option<&[u8]> {
    Url::split(value).and_then(|url| url.origin()).ok().map(|_| value)
}

fn host(value: &[u8]) -> Option<&[u8]> {
    let is_url = memchr::memmem::find(value, b"://").is_some();
    let url = if is_url { value.to_vec() } else { [b"http://", value].concat() };
    let url = Url::split(&url).ok().filter(|url| url.origin().is_ok())?;
    matches!(url.rest(), b"" | b"/").then_some(value)
}

fn clean_param(value: &[u8]) -> Option<CleanParam<'_>> {
    let mut words = value.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let parameters: Vec<&[u8]> = words.next()?.split(|octet| *octet == b'&').collect();
    let path = words.next();
    let is_sound = words.next().is_none() && parameters.iter().all(|name| !name.is_empty());
    is_sound.then_some(CleanParam { parameters, path })
}

fn signal(pair: &[u8]) -> Option<Signal<'_>> {
    let (key, value) = split_at(pair, b'=')?;
    let (key, value) = (key.trim_ascii(), value.trim_ascii());
    (!key.is_empty() && !value.is_empty()).then_some(Signal { key, value })
}

fn number(digits: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit))?;
    text.parse().ok()
}

/// What stands before and behind the first `octet`.
fn split_at(value: &[u8], octet: u8) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(octet, value)?;
    Some((&value[..at], &value[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_sound(kind: RecordKind, value: &str) -> bool {
        RecordValue::parse(kind, value.as_bytes()).is_some()
    }

    #[test]
    fn what_is_read_and_what_is_not() {
        use RecordKind::*;
        for (kind, sound, malformed) in [
            (CrawlDelay, &["0", "10", "1.5", ".5", "5."][..], &["", "-1", "1e3", "inf", "10s", "1,5", "1 2", "."][..]),
            (
                RequestRate,
                &["1/5", "1/10m", "2/1h", "9/1d", "1/5s 1300-1659"],
                &["", "1", "1/0", "1/m", "/5", "1/5w", "1/5 13-14", "1/99999d"],
            ),
            (VisitTime, &["0600-0845", "2300 - 0100"], &["", "0600", "600-845", "2400-0100", "0660-0700", "0600-0845 UTC"]),
            (Sitemap, &["https://e.example/s.xml"], &["", "/s.xml", "e.example/s.xml", "mailto:x"]),
            (Host, &["e.example", "e.example:8080", "https://e.example", "https://e.example/"], &["", "e.example/a", "a b", "e:x"]),
            (CleanParam, &["a", "a&b /x", "a\t/x"], &["", "&a", "a& /x", "a /x y"]),
            (Noindex, &["/x", "*.pdf"], &["", "x"]),
            (ContentSignal, &["search=yes,ai-train=no", "use = reference"], &["", "search", "search=yes,", "=no", "search="]),
            (ContentUsage, &["train-ai=n", "/a train-ai=y, x=1"], &["", "/a", "train-ai = n"]),
            (License, &["https://e.example/l.xml"], &["", "/l.xml"]),
        ] {
            sound.iter().for_each(|value| assert!(is_sound(kind, value), "{}: {value:?}", kind.key()));
            malformed.iter().for_each(|value| assert!(!is_sound(kind, value), "{}: {value:?}", kind.key()));
        }
    }

    #[test]
    fn values_are_kept() {
        let window = TimeWindow { start: 780, end: 1019 };
        assert_eq!(window.to_string(), "13:00 to 16:59 UTC");
        let rate = RequestRate { requests: 3, seconds: 7200, window: Some(window) };
        assert_eq!(RecordValue::parse(RecordKind::RequestRate, b"3/2h 1300-1659"), Some(RecordValue::RequestRate(rate)));
        let Some(RecordValue::ContentSignal(signals)) =
            RecordValue::parse(RecordKind::ContentSignal, b"search=yes, ai-train=NO,new = maybe")
        else {
            panic!("three signals");
        };
        let read: Vec<_> = signals.iter().map(|signal| (signal.key, signal.is_yes())).collect();
        assert_eq!(read, [(&b"search"[..], Some(true)), (b"ai-train", Some(false)), (b"new", None)]);
        let clean = CleanParam { parameters: vec![b"a", b"b"], path: Some(b"/x") };
        assert_eq!(RecordValue::parse(RecordKind::CleanParam, b"a&b /x"), Some(RecordValue::CleanParam(clean)));
    }
}
