//! Octets to numbered lines: the size limit, byte order marks, line ends.

use std::borrow::Cow;

use super::dialect::{CutLine, Decoding, Dialect, LineEnds};

/// How a body announced its encoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// No byte order mark: UTF-8, and whatever is not is kept as it is.
    Plain,
    /// A UTF-8 byte order mark, left out of the text.
    Utf8Bom,
    /// A UTF-16 byte order mark, little endian: decoded.
    Utf16Le,
    /// A UTF-16 byte order mark, big endian: decoded.
    Utf16Be,
}

/// The text of a robots.txt: what is read of its body.
#[derive(Debug, Clone)]
pub struct Text<'a> {
    octets: Cow<'a, [u8]>,
    encoding: Encoding,
    read_len: usize,
    cut_line: bool,
    dialect: Dialect,
}

impl<'a> Text<'a> {
    /// Reads `body` up to the dialect's limit. The limit counts octets as stored, before decoding.
    pub fn read(body: &'a [u8], dialect: &Dialect) -> Text<'a> {
        let read_len = dialect.byte_limit.map_or(body.len(), |limit| limit.min(body.len()));
        let (encoding, mark_len) = announced(body, dialect.decoding);
        let mark_len = mark_len.min(read_len);
        let (window, behind) = (&body[mark_len..read_len], &body[read_len..]);
        let (mut octets, cut) = match encoding {
            Encoding::Plain | Encoding::Utf8Bom => (Cow::Borrowed(window), !behind.is_empty() && !starts_with_line_end(behind)),
            Encoding::Utf16Le => decode_utf16(window, behind, u16::from_le_bytes),
            Encoding::Utf16Be => decode_utf16(window, behind, u16::from_be_bytes),
        };
        if dialect.decoding == Decoding::ValidUtf8 && std::str::from_utf8(&octets).is_err() {
            octets = Cow::Owned(octets.utf8_chunks().flat_map(|chunk| chunk.valid().bytes()).collect());
        }
        let cut_line = cut && dialect.cut_line == CutLine::LeftOut && drop_last_line(&mut octets);
        Text { octets, encoding, read_len, cut_line, dialect: *dialect }
    }

    /// How the body announced its encoding.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// How many octets of the body were looked at.
    pub fn read_len(&self) -> usize {
        self.read_len
    }

    /// Whether the limit cut a line, which was left out.
    pub fn cut_line(&self) -> bool {
        self.cut_line
    }

    /// Whether the first thing in it is a tag, as in a page.
    pub fn looks_like_html(&self) -> bool {
        matches!(self.octets.trim_ascii_start(), [b'<', next, ..] if next.is_ascii_alphabetic() || matches!(next, b'!' | b'?'))
    }

    /// The dialect it was read in.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Octets of the text.
    pub(crate) fn len(&self) -> usize {
        self.octets.len()
    }

    /// The lines, without their ends and what the dialect does not read of them.
    pub fn lines(&self) -> Lines<'_> {
        let Dialect { line_ends, line_limit, nul_ends_line, .. } = self.dialect;
        Lines { rest: Some(&self.octets), number: 0, is_new: true, line_ends, line_limit: line_limit.unwrap_or(usize::MAX), nul_ends_line }
    }
}

/// How a body announces its encoding, and how many octets of it are no text.
fn announced(body: &[u8], decoding: Decoding) -> (Encoding, usize) {
    let mark = [0xEF, 0xBB, 0xBF];
    let mark_len = body.iter().zip(mark).take_while(|&(&octet, marks)| octet == marks).count();
    match (decoding, body) {
        (_, [0xEF, 0xBB, 0xBF, ..]) => (Encoding::Utf8Bom, mark_len),
        (Decoding::MarkPrefix, _) => (Encoding::Plain, mark_len),
        (Decoding::AsStored, [0xFF, 0xFE, ..]) => (Encoding::Utf16Le, 2),
        (Decoding::AsStored, [0xFE, 0xFF, ..]) => (Encoding::Utf16Be, 2),
        _ => (Encoding::Plain, 0),
    }
}

fn starts_with_line_end(octets: &[u8]) -> bool {
    matches!(octets, [b'\n' | b'\r', ..])
}

/// The window as UTF-8, and whether what stands behind it goes on with its last line.
fn decode_utf16<'a>(window: &[u8], behind: &[u8], unit: fn([u8; 2]) -> u16) -> (Cow<'a, [u8]>, bool) {
    let (pairs, odd) = window.as_chunks::<2>();
    let text: String = char::decode_utf16(pairs.iter().map(|&pair| unit(pair))).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
    let mut next = odd.iter().chain(behind).copied();
    let cut = match (behind.is_empty(), next.next(), next.next()) {
        (true, ..) | (_, None, _) => false,
        (false, Some(first), Some(second)) => !matches!(unit([first, second]), 0x0A | 0x0D),
        (false, Some(_), None) => true,
    };
    (Cow::Owned(text.into_bytes()), cut)
}

/// Takes off what stands behind the last line end. Says whether there was anything.
fn drop_last_line(octets: &mut Cow<'_, [u8]>) -> bool {
    let keep = memchr::memrchr2(b'\n', b'\r', octets).map_or(0, |end| end + 1);
    let dropped = keep < octets.len();
    match octets {
        Cow::Borrowed(borrowed) => *borrowed = &borrowed[..keep],
        Cow::Owned(owned) => owned.truncate(keep),
    }
    dropped
}

/// Numbered lines.
#[derive(Debug, Clone)]
pub struct Lines<'a> {
    rest: Option<&'a [u8]>,
    number: u32,
    /// Whether the next line has a number of its own.
    is_new: bool,
    line_ends: LineEnds,
    line_limit: usize,
    nul_ends_line: bool,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (u32, &'a [u8]);

    fn next(&mut self) -> Option<(u32, &'a [u8])> {
        let rest = self.rest.filter(|rest| !rest.is_empty())?;
        self.number += u32::from(self.is_new);
        let (end, end_len) = match self.line_ends {
            LineEnds::CrLf => memchr::memchr2(b'\n', b'\r', rest).map(|end| (end, line_end_len(&rest[end..]))),
            LineEnds::Unicode => (0..rest.len()).find_map(|at| unicode_line_end_len(&rest[at..]).map(|len| (at, len))),
        }
        .unwrap_or((rest.len(), 0));
        self.is_new = starts_with_line_end(&rest[end..]);
        self.rest = (end_len > 0).then(|| &rest[end + end_len..]);
        Some((self.number, self.read_part(&rest[..end])))
    }
}

impl Lines<'_> {
    fn read_part<'a>(&self, line: &'a [u8]) -> &'a [u8] {
        let line = &line[..line.len().min(self.line_limit)];
        match memchr::memchr(0, line).filter(|_| self.nul_ends_line) {
            Some(nul) => &line[..nul],
            None => line,
        }
    }
}

fn line_end_len(octets: &[u8]) -> usize {
    if octets.starts_with(b"\r\n") { 2 } else { 1 }
}

fn unicode_line_end_len(octets: &[u8]) -> Option<usize> {
    match octets {
        [b'\n' | b'\r', ..] => Some(line_end_len(octets)),
        [0x0B | 0x0C | 0x1C..=0x1E, ..] => Some(1),
        [0xC2, 0x85, ..] => Some(2),
        [0xE2, 0x80, 0xA8 | 0xA9, ..] => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::dialect::{GOOGLE, RFC9309, SCRAPY};

    fn lines(body: &[u8], limit: usize) -> (Vec<(u32, String)>, bool) {
        let text = Text::read(body, &RFC9309.with_byte_limit(Some(limit)));
        let lines = text.lines().map(|(number, line)| (number, line.escape_ascii().to_string())).collect();
        (lines, text.cut_line())
    }

    fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
    }

    #[test]
    fn line_ends() {
        let numbered = |texts: &[&str]| texts.iter().enumerate().map(|(i, s)| (i as u32 + 1, s.to_string())).collect::<Vec<_>>();
        assert_eq!(lines(b"a\nb\rc\r\nd\n\ne", 100).0, numbered(&["a", "b", "c", "d", "", "e"]));
        assert_eq!(lines(b"\n\r", 100).0, numbered(&["", ""]));
        assert_eq!(lines(b"", 100).0, []);
        assert_eq!(lines(b"\xEF\xBB\xBFa\xEF\xBB\xBF", 100).0, numbered(&["a\\xef\\xbb\\xbf"]));
    }

    fn lines_in(body: &[u8], dialect: Dialect) -> Vec<(u32, String)> {
        Text::read(body, &dialect).lines().map(|(number, line)| (number, line.escape_ascii().to_string())).collect()
    }

    #[test]
    fn google_reads_c_strings_of_some_length() {
        assert_eq!(lines_in(b"\xEF\xBBa\0b\nc", GOOGLE), [(1, "a".into()), (2, "c".into())]);
        assert_eq!(lines_in(b"\xEF\xBB\xBFa", GOOGLE), [(1, "a".into())]);
        let long = [b"x".repeat(16_664), b"\ny".to_vec()].concat();
        assert_eq!(lines_in(&long, GOOGLE), [(1, "x".repeat(16_663)), (2, "y".into())]);
        assert_eq!(lines_in(b"ab\ncd", GOOGLE.with_byte_limit(Some(4))), [(1, "ab".into()), (2, "c".into())]);
    }

    #[test]
    fn scrapy_splits_as_python_does_and_counts_as_editors_do() {
        let body = b"a\x0Bb\x1Cc\r\nd\xC2\x85e\xE2\x80\xA8f\rg\xFFh\xC3";
        let wanted = [(1, "a"), (1, "b"), (1, "c"), (2, "d"), (2, "e"), (2, "f"), (3, "gh")];
        assert_eq!(lines_in(body, SCRAPY), wanted.map(|(number, line)| (number, line.to_owned())));
        assert_eq!(lines_in(b"\xFF\xFEa", SCRAPY), [(1, "a".into())]);
    }

    #[test]
    fn the_limit_drops_the_line_it_cuts() {
        assert_eq!(lines(b"ab\ncd\n", 5), (vec![(1, "ab".into()), (2, "cd".into())], false));
        assert_eq!(lines(b"ab\ncd\n", 4), (vec![(1, "ab".into())], true));
        assert_eq!(lines(b"ab\ncd", 5), (vec![(1, "ab".into()), (2, "cd".into())], false));
        assert_eq!(lines(b"ab\ncd", 3), (vec![(1, "ab".into())], false));
        assert_eq!(lines(b"abcd", 3), (vec![], true));
        assert_eq!(lines(b"\xEF\xBB\xBFab", 2), (vec![], false));
    }

    #[test]
    fn utf16_is_decoded_within_the_limit() {
        for unit in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
            let body = utf16("é\nb\n", unit);
            assert_eq!(lines(&body, 100).0, [(1, "\\xc3\\xa9".to_string()), (2, "b".to_string())]);
            assert_eq!(lines(&body, 8), (vec![(1, "\\xc3\\xa9".into()), (2, "b".into())], false));
            assert_eq!(lines(&body, 7), (vec![(1, "\\xc3\\xa9".into())], false), "half of b");
            assert_eq!(lines(&body[..9], 100).0.len(), 2, "an odd octet is left out");
        }
    }
}
