//! Rows cut into runs that begin alike.
//!
//! ```text
//!   https://example.com/a     64 octets from the start of the row:  which of them stand in no plain host? the first behind the scheme ends the prefix
//!   https://example.com/b     one comparison with the row before, `/` and all
//!   https://Example.org:443   anything but lower-case letters, digits, `-`, `_` and `.` is split octet by octet
//! ```

use super::place::Origin;
use super::rows::Lines;
use crate::engine::scan::{Task, Vector, prefetch_far};
use crate::store::Slots;
use crate::target::form::OriginKey;

/// Consecutive rows that begin alike, and the next such rows of that place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Link {
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) next: u32,
    /// Octets before the path; none where the rows name no origin.
    pub(super) prefix_len: u32,
    /// Of the key of a plain origin, as the store hashes it; of those octets else.
    pub(super) hash: u64,
    /// Whether the key of the origin is those octets as they stand, or their end.
    pub(super) is_plain: bool,
}

/// No run.
pub(super) const NONE: u32 = u32::MAX;

/// What a row begins with: so many octets before its path, 0 if it names no origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    prefix_len: usize,
    is_plain: bool,
}

/// Cuts lines into runs.
pub(super) struct Cut<'a, 's> {
    pub(super) octets: &'a [u8],
    pub(super) lines: Lines<'a>,
    /// Where origins are looked up.
    pub(super) slots: Slots<'s>,
    pub(super) key: OriginKey,
    /// How far ahead octets are brought into the cache.
    pub(super) ahead: usize,
    pub(super) runs: &'a mut Vec<Link>,
}

impl Task for Cut<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) {
        let Cut { octets, lines, slots, key, ahead, runs } = self;
        runs.clear();
        let ends = lines.ends_from(0);
        let (mut row, mut start) = (0, 0);
        let Some(&end) = ends.first() else { return };
        let mut head = Head::of(vector, octets, start, end as usize);
        while row < ends.len() {
            let first = row;
            let prefix = &octets[start..start + head.prefix_len];
            let hash = match key {
                _ if prefix.is_empty() => 0,
                // `//host`
                OriginKey::HostPort if head.is_plain => slots.hash(&prefix[if prefix[4] == b':' { 5 } else { 6 }..]),
                _ => slots.hash(prefix),
            };
            // With the `/` behind the prefix one comparison tells that a row begins with it and goes on as a URL may.
            let begun = octets[start..].first_chunk::<64>().filter(|begun| begun.get(head.prefix_len) == Some(&b'/'));
            let this = head;
            loop {
                prefetch_far(&octets[start..], ahead);
                prefetch_far(&octets[start..], ahead + 64);
                start = ends[row] as usize + 1;
                row += 1;
                let Some(&end) = ends.get(row) else { break };
                let next = octets.get(start..).and_then(|octets| octets.first_chunk::<64>());
                if let (Some(begun), Some(next)) = (begun, next)
                    && this.prefix_len > 0
                    && vector.begins(next, begun, this.prefix_len + 1)
                {
                    continue;
                }
                head = Head::of(vector, octets, start, end as usize);
                let goes_on = head == this && this.prefix_len > 0 && octets[start..].starts_with(prefix);
                if !goes_on {
                    break;
                }
            }
            let (count, prefix_len) = ((row - first) as u32, this.prefix_len as u32);
            runs.push(Link { first: first as u32, count, next: NONE, prefix_len, hash, is_plain: this.is_plain });
        }
    }
}

impl Head {
    /// Of the row from `start` to `end`.
    #[inline(always)]
    fn of<V: Vector>(vector: V, octets: &[u8], start: usize, end: usize) -> Head {
        match octets.get(start..).and_then(|octets| octets.first_chunk::<64>()) {
            Some(head) => match plain_len(vector, head) {
                0 => Head::split(octets, start, end),
                prefix_len => Head { prefix_len, is_plain: true },
            },
            None => Head::split(octets, start, end),
        }
    }

    #[cold]
    fn split(octets: &[u8], start: usize, end: usize) -> Head {
        let row = octets.get(start..end).unwrap_or_default();
        let origin = Origin::of(row.strip_suffix(b"\r").unwrap_or(row));
        let is_plain = matches!(origin, Ok(Origin::Plain(_)));
        Head { prefix_len: origin.map_or(0, |origin| origin.prefix().len()), is_plain }
    }
}

/// The length of a plain origin and the path, query, fragment or LF behind it; 0 if `head` does not tell.
#[inline(always)]
fn plain_len<V: Vector>(vector: V, head: &[u8; 64]) -> usize {
    const HTTP: u64 = u64::from_le_bytes(*b"http://\0");
    const HTTPS: u64 = u64::from_le_bytes(*b"https://");
    let scheme = u64::from_le_bytes(*head.first_chunk().expect("eight of 64 octets"));
    let host = match scheme {
        HTTPS => 8,
        _ if scheme << 8 == HTTP << 8 => 7,
        _ => return 0,
    };
    let mut others = [0u16; 64];
    for (other, &octet) in others.iter_mut().zip(head) {
        let is_plain = octet.wrapping_sub(b'a') < 26 || octet.wrapping_sub(b'0') < 10 || octet == b'-' || octet == b'.' || octet == b'_';
        *other = u16::from(!is_plain);
    }
    let others = vector.odd(&others) >> host;
    let len = host + others.trailing_zeros() as usize;
    let ends = match head.get(len) {
        Some(b'/' | b'?' | b'#' | b'\n') => len > host && head[len - 1] != b'.',
        _ => false,
    };
    if ends { len } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::scan::Isa;
    use crate::target::url::Url;

    struct PlainLen<'a>(&'a [u8; 64]);

    impl Task for PlainLen<'_> {
        type Output = usize;

        #[inline(always)]
        fn run<V: Vector>(self, vector: V) -> usize {
            plain_len(vector, self.0)
        }
    }

    #[test]
    fn a_plain_prefix_is_that_of_a_split_row() {
        let long = format!("https://{}.example/", "a".repeat(60));
        let (mut plain, mut odd) = (0, 0);
        for row in [
            "http://example.com/a",
            "https://example.com",
            "https://a-b_c.9.example?x",
            "http://example.com#x",
            "http://example.com./",
            "http:///x",
            "https://?",
            "http://Example.com/",
            "http://example.com:80/",
            "http://user@example.com/",
            "https:/example.com/",
            "httpx://example.com/",
            "ftp://example.com/",
            "http://exa mple.com/",
            "http://b\u{fc}cher.example/",
            "",
            "\r",
            long.as_str(),
        ] {
            let mut head = [b'x'; 64];
            let line = format!("{row}\n");
            let shown = line.len().min(64);
            head[..shown].copy_from_slice(&line.as_bytes()[..shown]);
            let expected = Url::plain_origin(row.as_bytes()).map_or(0, <[u8]>::len);
            for isa in Isa::available() {
                let found = isa.run(PlainLen(&head));
                assert!(found == expected || found == 0 && expected > 63, "{row:?}, {isa}: {found}, not {expected}");
                *if found > 0 { &mut plain } else { &mut odd } += 1;
            }
        }
        assert!(plain >= 4 && odd >= 4);
    }
}
