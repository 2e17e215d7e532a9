//! Which quirks each dialect and each peer has, read off their sources.

use crate::quirk::{Quirk::*, Quirks};

/// What the reference parser of Google does; the dialect `google` adds the size limit that Google documents.
pub const GOOGLE: Quirks = Quirks::of(&[
    CutLineKept,
    NoUtf16,
    BomPrefix,
    NulEndsLine,
    LineCap,
    TrimAscii,
    Misspelled,
    KeyPrefix,
    NoColonTwoWords,
    TokenLetters,
    AgentAsGiven,
    KeepStarDollar,
    KeepQueryDelimiters,
    KeepUnreserved,
    RawAscii,
    UrlUntouched,
    UrlNul,
    IndexHtm,
    RobotsTxtRules,
]);

/// google/robotstxt, which leaves it to others to limit what they give it.
pub const GOOGLE_ROBOTSTXT: Quirks = GOOGLE.flipped(Quirks::of(&[NoLimit]));

/// The crate robotstxt 0.3.0: a translation of the reference parser as it was in 2020.
pub const ROBOTSTXT: Quirks = GOOGLE.flipped(Quirks::of(&[
    BomPrefix,
    BomAsLetters,
    NulEndsLine,
    UrlNul,
    TrimAscii,
    TrimUnicode,
    NoLimit,
    LineUntrimmed,
    RecordEndsRun,
    SitemapEndsRun,
    BrokenEscapeEats,
    CharsNotOctets,
    FirstOccurrence,
]));

/// The crate robotxt 0.7.0, asked about a path and query.
pub const ROBOTXT: Quirks = Quirks::of(&[
    NoUtf16,
    NulIsNewline,
    TrimUnicode,
    Misspelled,
    MisspelledAllow,
    NoColonSpace,
    CrawlDelayEndsRun,
    TokenWhole,
    SlashAdded,
    KeepStarDollar,
    KeepQueryDelimiters,
    DecodeNextToBroken,
    RawUnwise,
    RobotsTxtNoQuery,
]);

/// The crate texting_robots 0.2.2, asked about a relative URL.
pub const TEXTING_ROBOTS: Quirks = Quirks::of(&[
    NoLimit,
    NoUtf16,
    BomPieces,
    NulIsNewline,
    TrimUnicode,
    Misspelled,
    NoColonSpace,
    ValidCrawlDelayEndsRun,
    NoGroupBindsAll,
    EmptyDisallowAllows,
    TokenWhole,
    KeepStarDollar,
    KeepQueryDelimiters,
    KeepUnreserved,
    KeepHexCase,
    RawUnwise,
    RawBraces,
    DropInvalidPattern,
    FragmentKept,
    DollarAnywhere,
    RobotsTxtNoQuery,
]);

/// Protego 0.7.0, which gets a body as Scrapy decodes it.
pub const PROTEGO: Quirks = Quirks::of(&[
    NoLimit,
    NoUtf16,
    DropInvalidUtf8,
    PythonLines,
    TrimPython,
    Misspelled,
    NoColonWords,
    RecordEndsRun,
    AgentAsGiven,
    AgentWithin,
    AbsoluteSlash,
    PythonEscapes,
    DollarTwice,
    IndexHtml,
    RobotsTxtParams,
]);

/// The reading of the dialect of that name.
pub fn of_dialect(name: &str) -> Quirks {
    match name {
        "google" => GOOGLE,
        "scrapy" => PROTEGO,
        _ => Quirks::NONE,
    }
}
