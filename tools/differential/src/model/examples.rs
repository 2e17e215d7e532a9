//! For every quirk a file, an agent and a URL for which it alone turns the verdict.

use super::Reading;
use crate::question::Agent;
use crate::quirk::{Quirk, Quirk::*, Quirks};

struct Example {
    quirk: Quirk,
    /// Quirks without which it has nothing to turn.
    beside: &'static [Quirk],
    body: Vec<u8>,
    agent: &'static str,
    target: Vec<u8>,
}

fn example(quirk: Quirk, lines: &[u8], target: &[u8]) -> Example {
    Example { quirk, beside: &[], body: [b"User-agent: *\n", lines].concat(), agent: "*", target: target.to_vec() }
}

fn of_file(quirk: Quirk, body: &[u8], agent: &'static str) -> Example {
    Example { quirk, beside: &[], body: body.to_vec(), agent, target: b"/".to_vec() }
}

fn beside(beside: &'static [Quirk], example: Example) -> Example {
    Example { beside, ..example }
}

fn at_limit(rule: &[u8], len_before: usize) -> Vec<u8> {
    let mut body = b"User-agent: *\n".to_vec();
    body.resize(len_before, b'\n');
    [&body, rule].concat()
}

fn of_bodies() -> Vec<Example> {
    let utf16: Vec<u8> = "\u{FEFF}User-agent: *\nDisallow: /".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        of_file(NoLimit, &at_limit(b"Disallow: /\n", 512_000), "*"),
        of_file(CutLineKept, &at_limit(b"Disallow: /a\n", 512_000 - 11), "*"),
        of_file(NoUtf16, &utf16, "*"),
        of_file(BomPrefix, b"\xEFUser-agent: *\nDisallow: /", "*"),
        of_file(BomPieces, b"\xBBUser-agent: *\nDisallow: /", "*"),
        of_file(BomAsLetters, b"\xC3\xAFUser-agent: *\nDisallow: /", "*"),
        example(DropInvalidUtf8, b"Disallow: /a\xFFb", b"/ab"),
        example(NulEndsLine, b"Disallow: /a\0b", b"/ac"),
        example(NulIsNewline, b"Disallow: /a\0b", b"/ac"),
        example(PythonLines, b"Disallow: /a\x0Bb", b"/ac"),
        example(LineCap, &[&b"Disallow: /"[..], &[b'a'; 16_700]].concat(), &[&b"/"[..], &[b'a'; 16_660]].concat()),
    ]
}

fn of_lines() -> Vec<Example> {
    let run = |record: &str| format!("User-agent: a\n{record}\nUser-agent: b\nDisallow: /").into_bytes();
    vec![
        example(TrimAscii, b"Disallow: /a\x0C", b"/ac"),
        example(TrimUnicode, b"Disallow: /a\xC2\xA0", b"/ac"),
        example(TrimPython, b"Disallow: /a\x1C", b"/ac"),
        beside(&[NoColonTwoWords], example(LineUntrimmed, b" Disallow /a", b"/a")),
        example(Misspelled, b"Disalow: /a", b"/a"),
        example(MisspelledAllow, b"Disallow: /\nAlow: /a", b"/a"),
        example(KeyPrefix, b"Disallows: /a", b"/a"),
        example(NoColonTwoWords, b"Disallow /a", b"/a"),
        example(NoColonSpace, b"Disallow /a b", b"/a%20b"),
        example(NoColonWords, b"Disallow /a:b", b"/a:b"),
        of_file(CrawlDelayEndsRun, &run("Crawl-delay: x"), "a"),
        of_file(ValidCrawlDelayEndsRun, &run("Crawl-delay: 1"), "a"),
        of_file(RecordEndsRun, &run("Foo: 1"), "a"),
        of_file(SitemapEndsRun, &run("Sitemap: 1"), "a"),
    ]
}

fn of_groups() -> Vec<Example> {
    vec![
        of_file(NoGroupBindsAll, b"Disallow: /", "*"),
        example(EmptyDisallowAllows, b"Disallow: /\nDisallow:", b"/"),
        of_file(TokenWhole, b"User-agent: a/2\nDisallow: /", "a"),
        of_file(TokenLetters, b"User-agent: a2\nDisallow: /", "a"),
        of_file(AgentAsGiven, b"User-agent: a\nDisallow: /", "a/2"),
        of_file(AgentWithin, b"User-agent: b\nDisallow: /", "a (b)"),
    ]
}

fn of_patterns() -> Vec<Example> {
    vec![
        example(SlashAdded, b"Disallow: a", b"/a"),
        example(AbsoluteSlash, b"Disallow: http://x", b"/http://x"),
        example(KeepStarDollar, b"Disallow: /a%24", b"/a$"),
        example(KeepQueryDelimiters, b"Disallow: /a?b=%2F", b"/a?b=/"),
        example(KeepUnreserved, b"Disallow: /%41", b"/A"),
        example(KeepHexCase, b"Disallow: /%2f", b"/%2F"),
        example(DecodeNextToBroken, b"Disallow: /%5B", b"/%5%42"),
        example(RawUnwise, b"Disallow: /^", b"/%5E"),
        example(RawBraces, b"Disallow: /{", b"/%7B"),
        example(RawAscii, b"Disallow: / b", b"/%20b"),
        example(UrlUntouched, b"Disallow: /A", b"/%41"),
        beside(&[UrlUntouched], example(UrlNul, b"Disallow: /a$", b"/a\0b")),
        example(PythonEscapes, b"Disallow: /a&", b"/a%26"),
        example(BrokenEscapeEats, b"Disallow: /%zz\xC3\xA9", b"/%C3%A9"),
        example(DropInvalidPattern, b"Disallow: /\xE9", b"/%E9"),
        example(FragmentKept, b"Disallow: /a$", b"/a#b"),
        beside(&[UrlUntouched], example(CharsNotOctets, b"Disallow: /*a$", b"/\xC3\xA9a")),
        example(FirstOccurrence, b"Disallow: /*ab", b"/aab"),
        example(DollarAnywhere, b"Disallow: /a$b", b"/a$b"),
        example(DollarTwice, b"Disallow: /a$", b"/a$"),
        example(IndexHtm, b"Disallow: /\nAllow: /a/index.htm", b"/a/"),
        example(IndexHtml, b"Disallow: /\nAllow: /a/index.html", b"/a/"),
        example(RobotsTxtRules, b"Disallow: /", b"/robots.txt"),
        example(RobotsTxtNoQuery, b"Disallow: /", b"/robots.txt?x"),
        example(RobotsTxtParams, b"Disallow: /", b"/robots.txt;x"),
    ]
}

#[test]
fn every_quirk_turns_a_verdict() {
    let examples = Vec::from_iter([of_bodies(), of_lines(), of_groups(), of_patterns()].into_iter().flatten());
    for example in &examples {
        let agent = Agent::token(example.agent).unwrap_or_else(|| Agent::header(example.agent));
        let url = [b"https://example.com", &example.target[..]].concat();
        let without = Quirks::of(example.beside);
        let with = without.flipped(Quirks::of(&[example.quirk]));
        let verdicts = [without, with].map(|quirks| Reading::of(&example.body, quirks).allows(&agent, &url));
        assert_ne!(verdicts[0], verdicts[1], "{}", example.quirk.name());
    }
    let missing: Vec<_> = Quirk::ALL.iter().filter(|&&quirk| examples.iter().all(|example| example.quirk != quirk)).collect();
    assert!(missing.is_empty(), "no example for {missing:?}");
}
