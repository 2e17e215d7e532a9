//! What a rule matches, as a union of patterns in which every stretch has one spelling and the first octet is a `/`.

use crate::target::percent::{Parts, Segment};

/// A pattern of literal stretches, its targets all matched by the rule it is a variant of; all variants together match every canonical target that
/// the rule matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variant<'p> {
    /// The stretch tied to the start. It begins with `/`.
    prefix: &'p [u8],
    /// The stretches behind stars.
    stretches: Vec<&'p [u8]>,
    anchored: bool,
}

impl<'p> Variant<'p> {
    /// The variants of a rule, the plain one first.
    ///
    /// Stretches of two spellings: in a canonical query no delimiter is escaped, so from the first decoded stretch on all are decoded, and the
    /// first `?` stands behind the last one that is not, in a gap: no literal of the rule before a decoded stretch has one, or it would have been decoded
    /// in the rule already. So there is one variant as written, and one for each gap in which the first `?` may stand.
    pub(super) fn of(parts: &'p Parts) -> impl Iterator<Item = Variant<'p>> {
        let last_of_two = parts.segments.iter().rposition(|segment| segment.in_query.is_some());
        let gaps = last_of_two.map_or(0, |last| last + 1);
        std::iter::once(None).chain((0..gaps).map(Some)).flat_map(|gap| Variant::with_query_in(parts, gap).at_root())
    }

    /// The first `?` in front of the segment `gap`.
    fn with_query_in(parts: &'p Parts, gap: Option<usize>) -> Variant<'p> {
        let mut stretches = Vec::with_capacity(parts.segments.len() + 1);
        for (index, segment) in parts.segments.iter().enumerate() {
            if gap == Some(index) {
                stretches.push(&b"?"[..]);
            }
            let Segment { octets, in_query } = segment;
            let decoded = in_query.as_deref().filter(|_| gap.is_some_and(|gap| gap <= index));
            stretches.push(decoded.unwrap_or(octets));
        }
        Variant { prefix: &parts.prefix, stretches, anchored: parts.anchored }
    }

    /// The same for targets that begin with `/`: a pattern that begins with a star meets that octet with the star, or with its first stretch.
    fn at_root(self) -> impl Iterator<Item = Variant<'p>> {
        if !self.prefix.is_empty() {
            return [Some(self).filter(|variant| variant.prefix.starts_with(b"/")), None].into_iter().flatten();
        }
        let tied = match self.stretches.split_first() {
            Some((first, rest)) if first.starts_with(b"/") => Some(Variant { prefix: first, stretches: rest.to_vec(), ..self }),
            _ => None,
        };
        // `$` alone asks for a target without any octet.
        let behind = (!self.anchored || !self.stretches.is_empty()).then_some(Variant { prefix: b"/", ..self });
        [behind, tied].into_iter().flatten()
    }

    /// How many stars it has, the one that ends every pattern without an anchor among them.
    pub(super) fn star_count(&self) -> usize {
        self.stretches.len() + usize::from(!self.anchored)
    }

    pub(super) fn len(&self) -> usize {
        self.prefix.len() + self.stretches.iter().map(|stretch| stretch.len()).sum::<usize>()
    }

    /// The target that has `octet` for each star that `is_filled`, and nothing for the others.
    pub(super) fn filled(&self, octet: u8, is_filled: impl Fn(usize) -> bool) -> Vec<u8> {
        let mut target = Vec::with_capacity(self.len() + self.star_count());
        target.extend_from_slice(self.prefix);
        for (index, stretch) in self.stretches.iter().enumerate() {
            target.extend(is_filled(index).then_some(octet));
            target.extend_from_slice(stretch);
        }
        target.extend((!self.anchored && is_filled(self.stretches.len())).then_some(octet));
        target
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::percent::canonical_pattern;

    fn filled(value: &[u8]) -> Vec<String> {
        let mut pattern = Vec::new();
        canonical_pattern(value, &mut pattern);
        let parts = Parts::of(&pattern, value);
        Variant::of(&parts).map(|variant| variant.filled(b'~', |_| true).escape_ascii().to_string()).collect()
    }

    #[test]
    fn one_spelling_and_a_root_each() {
        assert_eq!(filled(b"/a*b$"), ["/a~b"]);
        assert_eq!(filled(b"/a$"), ["/a"]);
        assert_eq!(filled(b"*"), ["/~"]);
        assert_eq!(filled(b"*$"), ["/~"]);
        assert_eq!(filled(b"*/a"), ["/~/a~", "/a~"]);
        assert_eq!(filled(b"*a$"), ["/~a"]);
        assert_eq!(filled(b"*/a$"), ["/~/a", "/a"]);
        assert_eq!(filled(b"/*x*%2Fa*b*%3A"), ["/~x~%2Fa~b~%3A~", "/~?~x~/a~b~:~", "/~x~?~/a~b~:~", "/~x~%2Fa~?~b~:~", "/~x~%2Fa~b~?~:~"]);
        assert_eq!(filled(b"/*x?a*%2F"), ["/~x?a~/~"]);
    }
}
