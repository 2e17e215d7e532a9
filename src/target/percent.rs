//! Canonical octets: one code for URLs and for rules.
//!
//! [RFC 9309, section 2.2.2] compares a rule with a URL octet by octet *after* percent-encoding has been brought to one
//! form on both sides. This module is that form. [`canonical_target`] brings the path and query of a URL to it, and
//! [`canonical_pattern`] a rule's value; both read their input through the same function, so they cannot drift apart.
//!
//! The pass goes left to right once, and its output is never scanned again:
//!
//! * escapes of unreserved octets, of `*` and of `$` are decoded;
//! * after the first raw `?`, escapes of `:` `/` `?` `@` `[` `]` are decoded as well;
//! * every other escape stays, with upper-case digits;
//! * octets that no URI can hold raw are escaped;
//! * a `%` without two hexadecimal digits stays as it is, and an escape of a hexadecimal digit stays an escape while one of the
//!   two octets of output before it is such a `%`: so decoding never makes a new escape, and the pass is idempotent.
//!
//! [RFC 9309, section 2.2.2]: https://www.rfc-editor.org/rfc/rfc9309#section-2.2.2

/// A set of octets, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OctetSet([u64; 4]);

impl OctetSet {
    /// The empty set.
    pub const fn new() -> OctetSet {
        OctetSet([0; 4])
    }

    /// This set and the octets of `octets`.
    pub const fn with(mut self, octets: &[u8]) -> OctetSet {
        let mut i = 0;
        while i < octets.len() {
            self.0[(octets[i] >> 6) as usize] |= 1 << (octets[i] & 63);
            i += 1;
        }
        self
    }

    /// This set and every octet from `first` to `last`, both included.
    pub const fn with_range(mut self, first: u8, last: u8) -> OctetSet {
        let mut octet = first as usize;
        while octet <= last as usize {
            self.0[octet >> 6] |= 1 << (octet & 63);
            octet += 1;
        }
        self
    }

    /// The octets that are not in this set.
    pub const fn complement(self) -> OctetSet {
        let [a, b, c, d] = self.0;
        OctetSet([!a, !b, !c, !d])
    }

    /// Whether `octet` is in the set.
    #[inline]
    pub const fn contains(&self, octet: u8) -> bool {
        self.0[(octet >> 6) as usize] >> (octet & 63) & 1 == 1
    }
}

impl Default for OctetSet {
    fn default() -> OctetSet {
        OctetSet::new()
    }
}

/// Octets that no URI can hold raw (RFC 3986, section 2): they are escaped wherever they stand.
pub const NEVER_RAW: OctetSet = OctetSet::new().with_range(0, 0x20).with_range(0x7F, 0xFF).with(b"\"<>\\^`{|}");

/// Octets on which the canonical pass over a target is not the identity: those of [`NEVER_RAW`], and `%`.
pub const NOT_IDENTITY: OctetSet = NEVER_RAW.with(b"%");

/// Unreserved octets (RFC 3986, section 2.3) and the two that have a meaning in rules: their escapes decode everywhere.
const DECODED: OctetSet = OctetSet::new().with_range(b'a', b'z').with_range(b'A', b'Z').with_range(b'0', b'9').with(b"-._~*$");

/// Octets whose escapes decode behind the first raw `?` (the table in RFC 9309, section 2.2.2).
const DECODED_IN_QUERY: OctetSet = OctetSet::new().with(b":/?@[]");

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// How one piece of input stands in the output.
enum Piece {
    /// The octet itself: it may stand raw, or it is a `%` without two digits.
    Raw(u8),
    /// The octet an escape stood for.
    Decoded(u8),
    /// An escape, kept or made.
    Escape(u8),
}

/// The pass's memory between two pieces.
#[derive(Default)]
struct Pass {
    in_query: bool,
    /// Octets of output since a `%` without two digits, itself counted; 0 when there was none or it is out of reach.
    since_broken: u8,
}

impl Pass {
    /// Reads the piece at the start of `input`, which is not empty, and says how many octets it took.
    #[inline]
    fn step(&mut self, input: &[u8]) -> (Piece, usize) {
        let octet = input[0];
        if octet != b'%' {
            self.in_query |= octet == b'?';
            return if NEVER_RAW.contains(octet) {
                (self.escape(octet), 1)
            } else {
                self.since_broken = match self.since_broken {
                    1 => 2,
                    _ => 0,
                };
                (Piece::Raw(octet), 1)
            };
        }
        let Some(value) = escape_value(input) else {
            self.since_broken = 1;
            return (Piece::Raw(b'%'), 1);
        };
        let decodes = DECODED.contains(value) || (self.in_query && DECODED_IN_QUERY.contains(value));
        if !decodes || (self.since_broken > 0 && value.is_ascii_hexdigit()) {
            return (self.escape(value), 3);
        }
        self.since_broken = match self.since_broken {
            1 => 2,
            _ => 0,
        };
        (Piece::Decoded(value), 3)
    }

    /// Appends the canonical form of a literal stretch.
    fn run(&mut self, mut rest: &[u8], out: &mut Vec<u8>) {
        while !rest.is_empty() {
            let (piece, taken) = self.step(rest);
            match piece {
                Piece::Raw(octet) | Piece::Decoded(octet) => out.push(octet),
                Piece::Escape(octet) => push_escape(octet, out),
            }
            rest = &rest[taken..];
        }
    }

    fn escape(&mut self, octet: u8) -> Piece {
        self.since_broken = 0;
        Piece::Escape(octet)
    }
}

/// The octet that `%XX` at the start of `input` stands for.
#[inline]
pub(crate) fn escape_value(input: &[u8]) -> Option<u8> {
    let high = (*input.get(1)? as char).to_digit(16)?;
    let low = (*input.get(2)? as char).to_digit(16)?;
    Some((high << 4 | low) as u8)
}

pub(crate) fn push_escape(octet: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[b'%', HEX[usize::from(octet >> 4)], HEX[usize::from(octet & 15)]]);
}

/// Appends the canonical form of a target to `out`.
///
/// `raw` is what stands behind the authority of a URL: path and query, and a fragment, which is left out. A target that
/// does not start with `/` (an empty path) gets one.
///
/// ```
/// use robosieve::percent::canonical_target;
///
/// let mut out = Vec::new();
/// canonical_target(b"/%7Euser/caf\xC3\xA9%2fx?next=%2Fy#top", &mut out);
/// assert_eq!(out, b"/~user/caf%C3%A9%2Fx?next=/y");
/// ```
pub fn canonical_target(raw: &[u8], out: &mut Vec<u8>) {
    let raw = without_fragment(raw);
    if raw.first() != Some(&b'/') {
        out.push(b'/');
    }
    Pass::default().run(raw, out);
}

/// `raw` up to its first `#`.
#[inline]
pub fn without_fragment(raw: &[u8]) -> &[u8] {
    match memchr::memchr(b'#', raw) {
        Some(end) => &raw[..end],
        None => raw,
    }
}

/// Whether [`canonical_target`] would give `raw` back as it is.
#[inline]
pub fn is_canonical_target(raw: &[u8]) -> bool {
    raw.first() == Some(&b'/') && !raw.iter().any(|&octet| NOT_IDENTITY.contains(octet) || octet == b'#')
}

/// Appends the canonical form of a rule's value to `out`, as a rule: stars are `*`, a final `$` is the anchor, and an octet
/// `*` or `$` that the rule meant literally is `%2A` or `%24` (a raw `$` that is not final stays).
///
/// The length of what is appended is the rule's specificity (RFC 9309, section 2.2.2: "the most octets").
///
/// ```
/// use robosieve::percent::canonical_pattern;
///
/// let mut out = Vec::new();
/// canonical_pattern(b"/%62ar/*.php%24$", &mut out);
/// assert_eq!(out, b"/bar/*.php%24$");
/// ```
pub fn canonical_pattern(value: &[u8], out: &mut Vec<u8>) {
    let (mut rest, anchored) = without_anchor(value);
    let mut pass = Pass::default();
    while !rest.is_empty() {
        if rest[0] == b'*' {
            pass.since_broken = 0;
            out.push(b'*');
            rest = &rest[1..];
            continue;
        }
        let (piece, taken) = pass.step(rest);
        match piece {
            Piece::Decoded(octet @ (b'*' | b'$')) => push_escape(octet, out),
            Piece::Raw(octet) | Piece::Decoded(octet) => out.push(octet),
            Piece::Escape(octet) => push_escape(octet, out),
        }
        rest = &rest[taken..];
    }
    if anchored {
        out.push(b'$');
    }
}

/// Whether [`canonical_pattern`] gives `value` back as it is for want of anything to change: nothing is escaped in it, and nothing has to be.
#[inline]
pub(crate) fn is_plain(value: &[u8]) -> bool {
    !value.iter().any(|&octet| NOT_IDENTITY.contains(octet))
}

/// A canonical pattern taken apart: what the matcher compares.
///
/// ```
/// use robosieve::percent::{Parts, canonical_pattern};
///
/// let value = b"/a*next=%2fb*.php$";
/// let mut pattern = Vec::new();
/// canonical_pattern(value, &mut pattern);
/// let parts = Parts::of(&pattern, value);
/// assert_eq!(parts.prefix, b"/a");
/// assert_eq!(parts.segments[0].octets, b"next=%2Fb");
/// assert_eq!(parts.segments[0].in_query.as_deref(), Some(&b"next=/b"[..]));
/// assert_eq!(parts.segments[1].octets, b".php");
/// assert!(parts.anchored);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parts {
    /// The octets before the first star, tied to the start of the target.
    pub prefix: Vec<u8>,
    /// The literal stretches behind stars, none of them empty, in order.
    pub segments: Vec<Segment>,
    /// Whether the last stretch (the prefix, if there is no segment) is tied to the end of the target.
    pub anchored: bool,
}

/// A literal stretch behind a star.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Segment {
    /// The octets as the rule spells them.
    pub octets: Vec<u8>,
    /// The second spelling, when the stretch holds an escaped delimiter that may also meet the query, where it is decoded. It
    /// counts only where it starts behind the target's first `?`.
    pub in_query: Option<Vec<u8>>,
}

impl Parts {
    /// Takes apart the pattern that [`canonical_pattern`] made of a rule's value.
    pub fn of(pattern: &[u8], value: &[u8]) -> Parts {
        let (body, mut anchored) = without_anchor(pattern);
        // Raw stars are the only ones on both sides, so the stretches correspond.
        let mut stretches = body.split(is_star).zip(without_anchor(value).0.split(is_star));
        let prefix = stretches.next().map(|(stretch, _)| literal(stretch)).unwrap_or_default();
        if body.ends_with(b"*") {
            anchored = false; // `*$` is `*`: the star takes what the anchor would ask for
        }
        let segments = stretches.filter(|(stretch, _)| !stretch.is_empty()).map(|(stretch, raw)| Segment::of(stretch, raw)).collect();
        Parts { prefix, segments, anchored }
    }

    /// Takes apart a pattern in which every octet but `*` and a final `$` stands for itself.
    pub fn literal(pattern: &[u8]) -> Parts {
        let (body, anchored) = without_anchor(pattern);
        let mut stretches = body.split(is_star);
        let prefix = stretches.next().unwrap_or_default().to_vec();
        let segments = stretches.filter(|stretch| !stretch.is_empty()).map(|stretch| Segment { octets: stretch.to_vec(), in_query: None });
        Parts { prefix, segments: segments.collect(), anchored: anchored && !body.ends_with(b"*") }
    }

    /// Whether the pattern matches a canonical target. In time linear in both, for one pattern at a time: explanations and proofs ask so; the
    /// engine asks all patterns at once.
    ///
    /// ```
    /// use robosieve::percent::Parts;
    ///
    /// let parts = Parts::literal(b"/a*.php$");
    /// assert!(parts.matches(b"/ab.php") && !parts.matches(b"/ab.php5"));
    /// ```
    pub fn matches(&self, target: &[u8]) -> bool {
        let Some(mut rest) = target.strip_prefix(&self.prefix[..]) else {
            return false;
        };
        let Some((last, front)) = self.segments.split_last() else {
            return !self.anchored || rest.is_empty();
        };
        let query = memchr::memchr(b'?', target).map_or(target.len(), |at| at + 1);
        for segment in front {
            match segment.find(rest, query.saturating_sub(target.len() - rest.len())) {
                Some(end) => rest = &rest[end..],
                None => return false,
            }
        }
        let query = query.saturating_sub(target.len() - rest.len());
        if self.anchored { last.ends(rest, query) } else { last.find(rest, query).is_some() }
    }
}

/// Whether a canonical pattern has a stretch of two spellings: of such a one, the second depends on the rule's value.
pub fn has_two_spellings(pattern: &[u8]) -> bool {
    memchr::memchr(b'*', pattern).is_some_and(|star| has_escaped_delimiter(&pattern[star..]))
}

fn has_escaped_delimiter(octets: &[u8]) -> bool {
    memchr::memchr_iter(b'%', octets).any(|at| escape_value(&octets[at..]).is_some_and(|value| DECODED_IN_QUERY.contains(value)))
}

fn without_anchor(value: &[u8]) -> (&[u8], bool) {
    match value.strip_suffix(b"$") {
        Some(body) => (body, true),
        None => (value, false),
    }
}

fn is_star(octet: &u8) -> bool {
    *octet == b'*'
}

impl Segment {
    /// Where the leftmost fit in `rest` ends. `query` is where the query begins in it.
    fn find(&self, rest: &[u8], query: usize) -> Option<usize> {
        let as_written = memchr::memmem::find(rest, &self.octets).map(|at| at + self.octets.len());
        let decoded = self.in_query.as_ref().and_then(|octets| {
            let behind = rest.get(query..)?;
            memchr::memmem::find(behind, octets).map(|at| query + at + octets.len())
        });
        match (as_written, decoded) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn ends(&self, rest: &[u8], query: usize) -> bool {
        let decoded = self.in_query.as_ref().filter(|octets| rest.ends_with(octets) && rest.len() - octets.len() >= query);
        rest.ends_with(&self.octets) || decoded.is_some()
    }

    /// The second spelling is what the pass makes of the stretch where it stands in a query: so a rule meets its own text there too.
    fn of(stretch: &[u8], raw: &[u8]) -> Segment {
        let in_query = has_escaped_delimiter(stretch).then(|| {
            let mut out = Vec::with_capacity(raw.len());
            Pass { in_query: true, since_broken: 0 }.run(raw, &mut out);
            out
        });
        Segment { octets: literal(stretch), in_query }
    }
}

/// The octets of a stretch, with `%2A` and `%24` as what they stand for.
fn literal(stretch: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(stretch.len());
    let mut rest = stretch;
    while let Some(&octet) = rest.first() {
        match escape_value(rest) {
            Some(value @ (b'*' | b'$')) if octet == b'%' => {
                out.push(value);
                rest = &rest[3..];
            }
            _ => {
                out.push(octet);
                rest = &rest[1..];
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(raw: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        canonical_target(raw, &mut out);
        out
    }

    fn pattern(value: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        canonical_pattern(value, &mut out);
        out
    }

    #[test]
    fn targets() {
        for (raw, canonical) in [
            (&b"/%62%61%7a"[..], &b"/baz"[..]),
            (b"/%7Euser", b"/~user"),
            (b"/a%2fb", b"/a%2Fb"),
            (b"?q=%3A", b"/?q=:"),
            (b"", b"/"),
            (b"#x", b"/"),
            (b"/%3Fa%2F", b"/%3Fa%2F"),
            (b"/a?b=%3F%2f&c=%26", b"/a?b=?/&c=%26"),
            (b"/a b\"\xE9", b"/a%20b%22%E9"),
            (b"/100%", b"/100%"),
            (b"/%zz", b"/%zz"),
            (b"/%%34%31", b"/%%341"),
            (b"/%a%34", b"/%a%34"),
            (b"/%%7e%41", b"/%~%41"),
            (b"/% %41", b"/%%20A"),
            (b"/%4", b"/%4"),
            (b"/%2A%24", b"/*$"),
        ] {
            assert_eq!(target(raw), canonical, "{}", raw.escape_ascii());
            assert_eq!(target(canonical), canonical, "idempotent: {}", raw.escape_ascii());
        }
    }

    #[test]
    fn patterns() {
        for (value, canonical) in [
            (&b"/a$"[..], &b"/a$"[..]),
            (b"/a$b", b"/a$b"),
            (b"/a%24", b"/a%24"),
            (b"/a%2a$", b"/a%2A$"),
            (b"/**a", b"/**a"),
            (b"/*x?u=%2F", b"/*x?u=/"),
            (b"/%*%41", b"/%*A"),
            (b"/%%41", b"/%%41"),
        ] {
            assert_eq!(pattern(value), canonical, "{}", value.escape_ascii());
        }
    }

    #[test]
    fn parts_of_patterns() {
        let of = |value: &[u8]| Parts::of(&pattern(value), value);
        let parts = of(b"/a**b%2A*c*$");
        assert_eq!(parts.prefix, b"/a");
        assert_eq!(parts.segments.iter().map(|s| &s.octets[..]).collect::<Vec<_>>(), [&b"b*"[..], b"c"]);
        assert!(!parts.anchored);
        assert_eq!(of(b"*"), Parts { prefix: vec![], segments: vec![], anchored: false });
        assert!(of(b"/x$").anchored);
        assert_eq!(of(b"/%2f*x").prefix, b"/%2F");
        // The digit stays an escape behind a broken `%`, which only the query brings near to it.
        let both = of(b"/*%%2F%31").segments.remove(0);
        assert_eq!((&both.octets[..], both.in_query.as_deref()), (&b"%%2F1"[..], Some(&b"%/%31"[..])));
    }

    #[test]
    fn identity_map_agrees_with_the_pass() {
        for octet in 0..=255u8 {
            if octet == b'#' {
                continue;
            }
            let raw = [b'/', octet, b'a'];
            assert_eq!(target(&raw) == raw && octet != b'%', !NOT_IDENTITY.contains(octet), "{octet:#x}");
            assert_eq!(is_canonical_target(&raw), !NOT_IDENTITY.contains(octet));
        }
    }
}
