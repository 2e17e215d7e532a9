//! What the outcome of fetching robots.txt means before any rule is read ([RFC 9309, section 2.3.1]).
//!
//! Fetching is someone else's job: the [`Outcome`] is an input. An [`AccessTable`] reads it, and only where that says
//! [`Access::Rules`] do the rules of the body count.
//!
//! [RFC 9309, section 2.3.1]: https://www.rfc-editor.org/rfc/rfc9309#section-2.3.1

use std::fmt;
use std::str::FromStr;

/// How the fetch of a robots.txt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// An HTTP status, 100 to 999: the last one, where redirects were followed. A 3xx is a redirect that was not.
    Status(u16),
    /// More than five redirects, one after another.
    TooManyRedirects,
    /// No answer: DNS, timeout, reset.
    Unreachable,
    /// Never fetched, or nobody noted how it went.
    Unknown,
}

impl Outcome {
    /// A plain success.
    pub const OK: Outcome = Outcome::Status(200);
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Status(code) => write!(f, "{code}"),
            Outcome::TooManyRedirects => f.write_str("too-many-redirects"),
            Outcome::Unreachable => f.write_str("unreachable"),
            Outcome::Unknown => f.write_str("unknown"),
        }
    }
}

/// A text that names no outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomeError(String);

impl fmt::Display for OutcomeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no outcome of a fetch: give an HTTP status (100 to 999), unreachable, too-many-redirects or unknown", self.0)
    }
}

impl std::error::Error for OutcomeError {}

impl FromStr for Outcome {
    type Err = OutcomeError;

    fn from_str(text: &str) -> Result<Outcome, OutcomeError> {
        match text {
            "too-many-redirects" => Ok(Outcome::TooManyRedirects),
            "unreachable" => Ok(Outcome::Unreachable),
            "unknown" => Ok(Outcome::Unknown),
            code => match code.parse() {
                Ok(status @ 100..=999) if code.len() == 3 => Ok(Outcome::Status(status)),
                _ => Err(OutcomeError(text.to_owned())),
            },
        }
    }
}

/// What an outcome lets a crawler do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// The rules of the body count.
    Rules,
    /// Everything may be accessed.
    Allow,
    /// Nothing may be accessed but robots.txt itself.
    Disallow,
    /// Nobody can say.
    Unresolved,
}

/// A reading of fetch outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AccessTable {
    /// RFC 9309: 4xx is "unavailable" (2.3.1.3) and allows, 5xx and no answer are "unreachable" (2.3.1.4) and disallow.
    Rfc9309,
    /// As Google documents its crawlers: 429 counts as a server error.
    Google,
    /// As Scrapy does: the status is never looked at, and no answer allows.
    Scrapy,
    /// Never invents a permission: everything but a success and a plain missing file stays open.
    Hold,
}

/// The classes of outcome that tables tell apart: the rows of the table.
#[derive(Debug, Clone, Copy)]
enum Class {
    Success,
    Redirect,
    Missing,
    Forbidden,
    TooManyRequests,
    ServerError,
    NoAnswer,
    Unknown,
}

impl Class {
    fn of(outcome: Outcome) -> Class {
        match outcome {
            Outcome::Status(200..=299) => Class::Success,
            Outcome::Status(300..=399) | Outcome::TooManyRedirects => Class::Redirect,
            Outcome::Status(401 | 403) => Class::Forbidden,
            Outcome::Status(429) => Class::TooManyRequests,
            Outcome::Status(400..=499) => Class::Missing,
            // An informational answer is no final one, and below 100 there is no status at all.
            Outcome::Status(0..=199) | Outcome::Unreachable => Class::NoAnswer,
            // RFC 9110, section 15: a status outside 100..599 is treated as a server error.
            Outcome::Status(_) => Class::ServerError,
            Outcome::Unknown => Class::Unknown,
        }
    }
}

impl AccessTable {
    /// Every table, in the order in which documentation lists them.
    pub const ALL: [AccessTable; 4] = [AccessTable::Rfc9309, AccessTable::Google, AccessTable::Scrapy, AccessTable::Hold];

    /// The name by which options and outputs call it.
    pub fn name(self) -> &'static str {
        match self {
            AccessTable::Rfc9309 => "rfc9309",
            AccessTable::Google => "google",
            AccessTable::Scrapy => "scrapy",
            AccessTable::Hold => "hold",
        }
    }

    /// The table of that name.
    pub fn by_name(name: &str) -> Option<AccessTable> {
        AccessTable::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Reads an outcome.
    ///
    /// ```
    /// use robosieve::fetch::{Access, AccessTable, Outcome};
    ///
    /// assert_eq!(AccessTable::Rfc9309.read(Outcome::Status(404)), Access::Allow);
    /// assert_eq!(AccessTable::Rfc9309.read(Outcome::Status(503)), Access::Disallow);
    /// assert_eq!(AccessTable::Hold.read(Outcome::Status(503)), Access::Unresolved);
    /// ```
    pub fn read(self, outcome: Outcome) -> Access {
        use Access::{Allow, Disallow, Rules, Unresolved};
        // Columns in the order of `ALL`.
        let row = match Class::of(outcome) {
            Class::Success => [Rules, Rules, Rules, Rules],
            Class::Redirect => [Allow, Allow, Rules, Unresolved],
            Class::Missing => [Allow, Allow, Rules, Allow],
            Class::Forbidden => [Allow, Allow, Rules, Unresolved],
            Class::TooManyRequests => [Allow, Disallow, Rules, Unresolved],
            Class::ServerError => [Disallow, Disallow, Rules, Unresolved],
            Class::NoAnswer => [Disallow, Disallow, Allow, Unresolved],
            Class::Unknown => [Unresolved; 4],
        };
        row[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        let row = |text: &str| AccessTable::ALL.map(|table| table.read(text.parse().unwrap()));
        use Access::{Allow as A, Disallow as D, Rules as R, Unresolved as U};
        for (outcomes, expected) in [
            ("200 204 299", [R, R, R, R]),
            ("301 399 too-many-redirects", [A, A, R, U]),
            ("400 404 410 418 451", [A, A, R, A]),
            ("401 403", [A, A, R, U]),
            ("429", [A, D, R, U]),
            ("500 503 599 999", [D, D, R, U]),
            ("unreachable 100", [D, D, A, U]),
            ("unknown", [U, U, U, U]),
        ] {
            for outcome in outcomes.split(' ') {
                assert_eq!(row(outcome), expected, "{outcome}");
            }
        }
    }

    #[test]
    fn texts() {
        for text in ["", "99", "1000", "+20", "200 ", "Unreachable", "0x1"] {
            assert!(text.parse::<Outcome>().is_err(), "{text}");
        }
        for text in ["200", "unreachable", "too-many-redirects", "unknown"] {
            assert_eq!(text.parse::<Outcome>().unwrap().to_string(), text);
        }
    }
}
