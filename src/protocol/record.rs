//! The keys of records: the protocol's three, and those outside of it that are kept.

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
