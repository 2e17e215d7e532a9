//! Octets from outside as text: for formats that hold text alone, and for people's terminals.

use std::borrow::Cow;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

/// `octets` as text. What is not UTF-8 is written as `%XX`: the flag says whether there was any.
///
/// ```
/// use robosieve::io::text::to_text;
///
/// assert_eq!(to_text("/é".as_bytes()), ("/é".into(), false));
/// assert_eq!(to_text(b"/caf\xE9"), ("/caf%E9".into(), true));
/// ```
pub fn to_text(octets: &[u8]) -> (Cow<'_, str>, bool) {
    if let Ok(text) = std::str::from_utf8(octets) {
        return (Cow::Borrowed(text), false);
    }
    let mut text = String::with_capacity(octets.len() + 8);
    for chunk in octets.utf8_chunks() {
        text.push_str(chunk.valid());
        escape_into(chunk.invalid(), &mut text);
    }
    (Cow::Owned(text), true)
}

/// `octets` as text that does nothing to a terminal: control characters, and those that turn the direction of text, are written as `%XX` too.
///
/// ```
/// use robosieve::io::text::to_terminal_text;
///
/// assert_eq!(to_terminal_text(b"/\x1B[2Jx\n"), "/%1B[2Jx%0A");
/// ```
pub fn to_terminal_text(octets: &[u8]) -> Cow<'_, str> {
    let (text, _) = to_text(octets);
    if !text.chars().any(does_something) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match does_something(character) {
            true => escape_into(character.encode_utf8(&mut [0; 4]).as_bytes(), &mut safe),
            false => safe.push(character),
        }
    }
    Cow::Owned(safe)
}

pub(super) fn does_something(character: char) -> bool {
    // Marks, embeddings, overrides and isolates of the bidirectional algorithm (UAX #9, section 2), and the two line separators.
    let turns = matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    turns || character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

fn escape_into(octets: &[u8], text: &mut String) {
    for &octet in octets {
        text.push('%');
        text.push(char::from(HEX[usize::from(octet >> 4)]));
        text.push(char::from(HEX[usize::from(octet & 15)]));
    }
}
