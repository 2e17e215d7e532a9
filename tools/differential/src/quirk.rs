//! Quirks: the ways in which readings of robots.txt differ, each a switch of the [model](crate::model).
//!
//! A dialect or a peer is a set of them, next to RFC 9309 as the project reads it (the empty set). A difference between two programs is explained by the
//! smallest change from the one set to the other that turns the one verdict into the other: so a class is never a guess from how a file looks.

use std::fmt;

/// Who is right where a quirk makes the difference, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    /// RFC 9309 decides against the quirk, in that section.
    Rfc(&'static str),
    /// The grammar of RFC 9309 has no such line. What to do with one it does not say; by its word the line is no rule.
    Grammar,
    /// RFC 9309 leaves it open: both readings conform.
    Open(&'static str),
}

impl fmt::Display for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Right::Rfc(section) => write!(f, "RFC 9309, {section}, is against it"),
            Right::Grammar => {
                f.write_str("the grammar of RFC 9309, section 2.2, has no such line; section 2.2.4 is lenient with other records alone")
            }
            Right::Open(why) => write!(f, "the RFC leaves it open: {why}"),
        }
    }
}

macro_rules! quirks {
    ($($name:ident, $kebab:literal, $says:literal, $right:expr;)*) => {
        /// One way in which a reading departs from RFC 9309 as robosieve's dialect of that name reads it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Quirk { $($name),* }

        impl Quirk {
            pub const ALL: &[Quirk] = &[$(Quirk::$name),*];

            /// The name in tables.
            pub const fn name(self) -> &'static str {
                match self { $(Quirk::$name => $kebab),* }
            }

            /// What a reading with it does.
            pub const fn says(self) -> &'static str {
                match self { $(Quirk::$name => $says),* }
            }

            /// Who is right.
            pub const fn right(self) -> Right {
                match self { $(Quirk::$name => $right),* }
            }
        }
    };
}

use Right::{Grammar, Open, Rfc};

quirks! {
    NoLimit, "no-size-limit", "reads what lies behind 512,000 octets", Open("section 2.5 asks for 500 KiB at least");
    CutLineKept, "cut-line-kept", "reads what is left of a line that the limit cuts", Open("section 2.5 does not say");
    NoUtf16, "no-utf-16", "does not decode a body with a UTF-16 byte order mark", Open("section 2.2.2 lets implementors bridge encodings, and does not say how");
    BomPrefix, "bom-prefix", "skips every beginning of a byte order mark, not only a whole one", Open("section 2.2.2 lets implementors bridge encodings, and does not say how");
    BomPieces, "bom-pieces", "skips each octet of a byte order mark that stands in its turn, others missing", Open("section 2.2.2 lets implementors bridge encodings, and does not say how");
    BomAsLetters, "bom-as-letters", "skips the letters U+00EF U+00BB U+00BF and keeps a byte order mark", Open("section 2.2.2 lets implementors bridge encodings, and does not say how");
    DropInvalidUtf8, "drop-invalid-utf-8", "drops the octets of a body that are not UTF-8", Open("section 2.2.2 lets implementors bridge encodings, and does not say how");
    NulEndsLine, "nul-ends-text", "reads a line up to its first NUL", Rfc("section 2.2 (NL)");
    NulIsNewline, "nul-is-newline", "ends a line at NUL", Rfc("section 2.2 (NL)");
    PythonLines, "python-lines", "ends lines at VT, FF, FS, GS, RS, U+0085, U+2028 and U+2029 too", Rfc("section 2.2 (NL)");
    LineCap, "line-cap", "reads the first 16,663 octets of a line", Open("section 2.5 lets parsers limit");
    TrimAscii, "trim-ascii", "trims VT and FF around keys and values", Rfc("section 2.2 (WS)");
    TrimUnicode, "trim-unicode", "trims all of Unicode's white space around values", Rfc("section 2.2 (WS)");
    TrimPython, "trim-python", "trims what Python's strip does around keys and values", Rfc("section 2.2 (WS)");
    LineUntrimmed, "line-untrimmed", "does not trim a line without a comment before it looks for a separator", Rfc("section 2.2 (rule begins with WS)");
    Misspelled, "misspelled-keys", "takes useragent, user agent and five misspellings of disallow for the keys", Grammar;
    MisspelledAllow, "misspelled-allow", "takes alow and allaw for allow", Grammar;
    KeyPrefix, "key-prefix", "takes every key that begins with one of the protocol's", Grammar;
    NoColonTwoWords, "no-colon-two-words", "takes two words without a colon for key and value", Grammar;
    NoColonSpace, "no-colon-space", "takes space behind a key for the colon", Grammar;
    NoColonWords, "no-colon-words", "reads the first one or two words as a key where what stands before the colon is none", Grammar;
    CrawlDelayEndsRun, "crawl-delay-ends-run", "a crawl-delay line ends a run of user-agent lines", Rfc("section 2.2.4");
    ValidCrawlDelayEndsRun, "valid-crawl-delay-ends-run", "a crawl-delay line with a number ends a run of user-agent lines", Rfc("section 2.2.4");
    RecordEndsRun, "record-ends-run", "any record, known or not, ends a run of user-agent lines", Rfc("section 2.2.4");
    SitemapEndsRun, "sitemap-ends-run", "a sitemap line ends a run of user-agent lines", Rfc("section 2.2.4");
    NoGroupBindsAll, "no-group-binds-all", "rules of a file without user-agent lines bind everybody", Rfc("section 2.2.2 (rules in no group)");
    EmptyDisallowAllows, "empty-disallow-allows", "reads an empty disallow as `allow: /`", Rfc("section 2.2.2 (the match with the most octets)");
    TokenWhole, "token-whole", "compares the whole value of a user-agent line, not its leading product token", Open("section 2.2.1 knows tokens of letters, `-` and `_` alone; of anything else ours reads the leading token");
    TokenLetters, "token-letters", "ends a line's token at the first octet that is not a letter, `-` or `_`", Open("section 2.2.1: its grammar says so, real files do not");
    AgentAsGiven, "agent-as-given", "compares the agent as it is given, version or header and all", Open("section 2.2.1 speaks of product tokens");
    AgentWithin, "agent-within", "takes the longest token that begins a word of the agent as given", Rfc("section 2.2.1");
    SlashAdded, "slash-added", "puts `/` before a pattern that does not begin with it", Grammar;
    AbsoluteSlash, "absolute-slash", "puts `/` before a pattern that begins with http:// or https://", Grammar;
    KeepStarDollar, "keep-star-dollar-escapes", "does not decode %2A and %24", Rfc("section 2.2.3");
    KeepQueryDelimiters, "keep-query-delimiters", "does not take an escaped `:` `/` `?` `@` `[` `]` in a query for the character", Rfc("section 2.2.2 (table)");
    KeepUnreserved, "keep-unreserved-escapes", "does not decode escapes of unreserved characters", Rfc("section 2.2.2");
    KeepHexCase, "keep-hex-case", "holds %aa and %AA for different", Rfc("section 2.2.2, by RFC 3986, section 6.2.2.1");
    DecodeNextToBroken, "decode-next-to-broken", "decodes an escape behind a `%` that is none, and so makes a new one", Open("section 2.2.2 knows well-formed paths alone");
    RawUnwise, "raw-unwise", "leaves a backslash, `^` and `|` raw", Open("section 2.2.2 compares what RFC 3986 lets stand in a URI, and it has no such octet raw");
    RawBraces, "raw-braces", "leaves `{` and `}` raw", Open("section 2.2.2 compares what RFC 3986 lets stand in a URI, and it has no such octet raw");
    RawAscii, "raw-ascii", "escapes nothing but octets from 0x80 up in patterns", Open("section 2.2.2 compares what RFC 3986 lets stand in a URI, and it has no such octet raw");
    UrlUntouched, "url-untouched", "compares URLs as they are given", Rfc("section 2.2.2");
    UrlNul, "url-nul", "reads a URL up to its first NUL", Rfc("section 2.2.2");
    PythonEscapes, "python-escapes", "decodes every escape but those of `/` and `%`, escapes what Python's quote does, and takes octets that are not UTF-8 for one another", Rfc("section 2.2.2");
    BrokenEscapeEats, "broken-escape-eats", "a `%` that is no escape takes two octets with it, and in a pattern that has to be escaped they vanish", Rfc("section 2.2.2");
    DropInvalidPattern, "drop-invalid-pattern", "drops a rule that is not UTF-8", Rfc("section 2.2.2");
    FragmentKept, "fragment-kept", "compares a relative URL with its fragment", Rfc("section 2.2.2");
    CharsNotOctets, "chars-not-octets", "walks a URL by characters and counts it by octets", Rfc("section 2.2.2");
    FirstOccurrence, "first-occurrence", "loses places of a URL on which a star could end, once it has found one", Rfc("section 2.2.3");
    DollarAnywhere, "dollar-anywhere", "takes every `$` for the end of the URL", Rfc("section 2.2.3");
    DollarTwice, "dollar-twice", "adds to a rule with `$` the same with %24", Rfc("section 2.2.3");
    IndexHtm, "index-htm", "`allow: .../index.htm` also allows `.../` alone", Rfc("section 2.2.2");
    IndexHtml, "index-html", "`allow: .../index.html` also allows `.../` alone", Rfc("section 2.2.2");
    RobotsTxtRules, "robots-txt-rules", "rules bind /robots.txt as anything else", Rfc("section 2.2.2 (implicitly allowed)");
    RobotsTxtNoQuery, "robots-txt-no-query", "exempts /robots.txt without a query alone", Open("section 2.2.2 names the path");
    RobotsTxtParams, "robots-txt-params", "exempts /robots.txt as written, with parameters and whatever query, or with tabs and line ends in it where the URL holds it without too", Open("section 2.2.2 names the path");
}

const _: () = assert!(Quirk::ALL.len() <= 64);

/// A set of quirks: a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Quirks(u64);

impl Quirks {
    /// RFC 9309 as robosieve's dialect of that name reads it.
    pub const NONE: Quirks = Quirks(0);

    /// The set of `quirks`.
    pub const fn of(quirks: &[Quirk]) -> Quirks {
        let mut set = 0;
        let mut i = 0;
        while i < quirks.len() {
            set |= 1 << quirks[i] as u8;
            i += 1;
        }
        Quirks(set)
    }

    /// Whether `quirk` is in the set.
    pub const fn has(self, quirk: Quirk) -> bool {
        self.0 >> quirk as u8 & 1 == 1
    }

    /// The set in which each quirk of `other` is the other way round.
    pub const fn flipped(self, other: Quirks) -> Quirks {
        Quirks(self.0 ^ other.0)
    }

    /// The quirks of the set.
    pub fn iter(self) -> impl Iterator<Item = Quirk> {
        Quirk::ALL.iter().copied().filter(move |&quirk| self.has(quirk))
    }
}

impl fmt::Display for Quirks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Quirk::name).collect();
        f.write_str(&names.join(" + "))
    }
}
