//! Small robots.txt files made of what parsers stumble over.

use crate::random::Random;

const STARTS: &[&[u8]] =
    &[b"\xEF\xBB\xBF", b"\xEF", b"\xEF\xBB", b"\xBB\xBF", b"\xEF\xBB\xBF\xEF\xBB\xBF", "\u{EF}\u{BB}".as_bytes(), b" ", b"\n", b"#\n"];
const ENDS: &[&[u8]] = &[
    b"\n",
    b"\n",
    b"\n",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    b"\n\r",
    b"\r\r\n",
    b"\n\n",
    b"\x0B",
    b"\x0C",
    "\u{85}".as_bytes(),
    "\u{2028}".as_bytes(),
    b"\0",
    b"\0\n",
    b" \n",
    b"\x1C",
];
const SEPARATORS: &[&[u8]] = &[
    b": ",
    b": ",
    b": ",
    b": ",
    b":",
    b" : ",
    b"\t:\t",
    b" ",
    b"\t",
    b"  ",
    b"::",
    b": : ",
    b"",
    b"=",
    b":\x0B",
    b"\xC2\xA0:",
    b":\xC2\xA0",
];
const AGENT_KEYS: &[&[u8]] = &[
    b"User-agent",
    b"User-agent",
    b"user-AGENT",
    b"Useragent",
    b"User agent",
    b"User-agents",
    b" User-agent",
    b"User_agent",
    b"\xC2\xA0User-agent",
    b"User-agent x",
    b"\x0BUser-agent",
];
const ALLOW_KEYS: &[&[u8]] = &[b"Allow", b"Allow", b"allow", b"Allowed", b"alow", b"Allaw", b" Allow", b"Allow x"];
const DISALLOW_KEYS: &[&[u8]] = &[
    b"Disallow",
    b"Disallow",
    b"DISALLOW",
    b"Disallows",
    b"Dissallow",
    b"disalow",
    b"Diasllow",
    b"\tDisallow",
    b"Disallow /a",
    b"Noindex",
];
const RECORDS: &[&[u8]] = &[
    b"Sitemap: https://example.com/s.xml",
    b"sitemap https://a.b/c",
    b"Sitemaps: /a",
    b"Crawl-delay: 1",
    b"Crawl-delay: x",
    b"crawl delay 2",
    b"crawldelay: 3",
    b"Host: example.com",
    b"Host example.com:80",
    b"Foo: bar",
    b"foo bar",
    b"foo",
    b": /a",
    b":",
    b"# comment",
    b"",
    b"Request-rate: 1/5",
    b"visit-time 0100-0200",
    b"Disallow",
    b"User-agent",
    b"Content-Signal: ai-train=no",
    b"http://a/b: c",
    b"Foo:Disallow /a",
    b"user-agent a:b",
];
const NAMES: &[&[u8]] = &[
    b"*",
    b"*",
    b"*",
    b"a",
    b"a",
    b"A",
    b"ab",
    b"a-b",
    b"a_b",
    b"a b",
    b"a/2",
    b"a2",
    b"a.b",
    b"2a",
    b"* a",
    b"*a",
    b"a*",
    b"**",
    b"*\x0Bx",
    b"",
    b"\"a\"",
    b"a # c",
    b"a,b",
    b"\xC3\xA9",
    b"\xC3\x89",
    "\u{212A}a".as_bytes(),
    "\u{130}".as_bytes(),
    "\u{3000}a".as_bytes(),
    b"b",
    b"ab/1.0 (x)",
    b"bot",
];
const PIECES: &[&[u8]] = &[
    b"/",
    b"/",
    b"/",
    b"a",
    b"a",
    b"b",
    b"ab",
    b"A",
    b"*",
    b"*",
    b"$",
    b"?",
    b"&",
    b"=",
    b";",
    b":",
    b"@",
    b"%2F",
    b"%2f",
    b"%3F",
    b"%41",
    b"%61",
    b"%7e",
    b"~",
    b"%2A",
    b"%24",
    b"%25",
    b"%",
    b"%zz",
    b"%4",
    b"%%",
    b"\xC3\xA9",
    b"%C3%A9",
    b"%c3%a9",
    b"\xE9",
    b"%E9",
    b"\xEF\xBF\xBD",
    b" ",
    b"%20",
    b"+",
    b"\\",
    b"^",
    b"|",
    b"{",
    b"}",
    b"<",
    b"\"",
    b"`",
    b"[",
    b"%5B",
    b"!",
    b"(",
    b"'",
    b"~",
    b"index.html",
    b"/index.html",
    b"/index.htm",
    b"/index.htm$",
    b"robots.txt",
    b"/robots.txt",
    b"..",
    b"/./",
    b"//",
    b"http://",
    b"#",
    b"\0",
    b"\t",
    b"\x0B",
    b"\xC2\x85",
    b"\xE2\x80\xA8",
    b"\xC2\xA0",
    "\u{3000}".as_bytes(),
    "\u{FEFF}".as_bytes(),
    "\u{200B}".as_bytes(),
    "\u{1F600}".as_bytes(),
    b"\xF0\x9F",
    b"*a*b",
    b"ab*",
];

/// One file, decided by `random`.
pub fn file(random: &mut Random) -> Vec<u8> {
    let mut body = Vec::new();
    if random.one_in(6) {
        body.extend(*random.pick(STARTS));
    }
    let mut lens = Vec::new();
    for _ in 0..1 + random.below(12) {
        line(&mut body, random);
        body.extend(*random.pick(ENDS));
        lens.push(body.len());
    }
    if random.one_in(800) {
        let place = *random.pick(&lens);
        return at_size_limit(&body, place, random);
    }
    if random.one_in(60) {
        return utf16(&body, random);
    }
    body
}

fn line(body: &mut Vec<u8>, random: &mut Random) {
    let keys = match random.below(10) {
        0..=2 => AGENT_KEYS,
        3..=5 => ALLOW_KEYS,
        6..=8 => DISALLOW_KEYS,
        _ => return body.extend(*random.pick(RECORDS)),
    };
    // Most lines are in order, so that those which are not have something to spoil.
    let plain = !random.one_in(4);
    body.extend(if plain { keys[0] } else { *random.pick(keys) });
    body.extend(if plain { SEPARATORS[0] } else { *random.pick(SEPARATORS) });
    if keys == AGENT_KEYS {
        return body.extend(*random.pick(NAMES));
    }
    if random.one_in(12) {
        return;
    }
    if !random.one_in(10) {
        body.push(b'/');
    }
    if random.one_in(300) {
        let len = 16_600 + random.below(100);
        body.extend(std::iter::repeat_n(b'a', len));
    }
    for _ in 0..random.below(6) {
        body.extend(*random.pick(PIECES));
    }
}

/// The body with so many comments at `place` that the size limit of most readers falls behind them.
fn at_size_limit(body: &[u8], place: usize, random: &mut Random) -> Vec<u8> {
    let before = 512_000 - random.below(body.len() - place + 8);
    let mut comments = b"\n".repeat(before - place);
    comments.iter_mut().step_by(100).for_each(|octet| *octet = b'#');
    comments[before - place - 1] = b'\n';
    [&body[..place], &comments, &body[place..]].concat()
}

fn utf16(body: &[u8], random: &mut Random) -> Vec<u8> {
    let text = String::from_utf8_lossy(body);
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    let is_big = random.one_in(2);
    units.flat_map(|unit| if is_big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_decided_by_their_seed_and_full_of_traps() {
        let files: Vec<_> = (0..500).map(|seed| file(&mut Random::new(seed))).collect();
        assert_eq!(files[3], file(&mut Random::new(3)));
        let has = |part: &[u8]| files.iter().any(|body| body.windows(part.len()).any(|window| window == part));
        for part in
            [&b"\xFF\xFE"[..], b"\xEF\xBB\xBF", b"\0", b"\x0B", b"Useragent", b"disalow", b"/index.htm", b"%zz", b"$", b"Crawl-delay"]
        {
            assert!(has(part), "{}", part.escape_ascii());
        }
    }
}
