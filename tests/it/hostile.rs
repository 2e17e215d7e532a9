//! Files made to hurt: whatever the 512,000 octets of a robots.txt are, parsing and compiling stay below a second and 64 MiB, a decision on a target
//! of 8 KiB stays below a millisecond, and nothing panics.
//!
//! Each kind of file goes for one place: a list that could be looked at in vain, rules that could be copied too often, octets that become more
//! octets. Bounds on time are ten times the promise unless `ROBOSIEVE_TIMINGS` is set, which asks for a release build and a quiet machine. The bound on
//! memory always holds as it stands: the allocator of this binary counts what each thread holds.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile};
use robosieve::decision::Verdict;
use robosieve::dialect::RFC9309;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::policy::Policy;
use robosieve::program::{Detail, Program};

use crate::ladder::right_answer;
use crate::oracle::Oracle;
use random::Random;

#[path = "../../benches/random/mod.rs"]
mod random;

/// The octets that are read of a robots.txt (RFC 9309, section 2.5).
const LIMIT: usize = 512_000;
const TARGET_LEN: usize = 8192;
const COMPILE_TIME: Duration = Duration::from_secs(1);
const DECISION_TIME: Duration = Duration::from_millis(1);
const MEMORY: usize = 64 << 20;

/// Kinds that go beyond: how many times the promised time of a decision they may take, and how many MiB compiling them may hold.
///
/// A quarter of a million segments of one letter: each is found once, for some 4 ns, and that many find themselves in 8 KiB. Automata that fit into no
/// cache: a miss an octet. Octets beyond ASCII: a canonical pattern is three times as long as its text, from UTF-16 nine times, and every octet of a
/// segment is a state.
const BEYOND: &[(&str, u32, usize)] = &[
    ("long_sequences", 2, 64),
    ("gated_sequences", 2, 64),
    ("automaton_out_of_cache", 2, 96),
    ("few_agents_that_share_escapes", 2, 256),
    ("short_segments_of_utf16", 1, 128),
    ("distinct_segments", 1, 96),
    ("distinct_segments_of_high_octets", 1, 128),
    ("one_segment_of_high_octets", 1, 200),
    ("one_gated_segment_of_high_octets", 1, 112),
    ("one_segment_of_utf16", 1, 330),
    ("segments_of_utf16", 1, 80),
];

/// A robots.txt, and targets that it goes well with beside those that every file is asked for.
pub struct Hostile {
    pub robots: Vec<u8>,
    pub targets: Vec<Vec<u8>>,
}

impl Hostile {
    fn new(robots: Vec<u8>) -> Hostile {
        assert!(robots.len() <= LIMIT, "{} octets", robots.len());
        Hostile { robots, targets: Vec::new() }
    }

    fn with(mut self, target: Vec<u8>) -> Hostile {
        self.targets.push(target);
        self
    }
}

macro_rules! kinds {
    ($($name:ident)*) => {
        /// Every kind, by name.
        pub const KINDS: &[(&str, fn() -> Hostile)] = &[$((stringify!($name), $name)),*];

        mod promise {
            $(#[test]
            fn $name() {
                super::check(stringify!($name), &super::$name());
            })*
        }
    };
}

kinds! {
    random_letters repeated_letter two_segments nested_segments nested_segments_to_1000 nested_segments_in_escapes nested_segments_that_wait
    segments_in_binary nested_tails nested_tails_to_1000 tails_behind_absent_parents long_sequences short_sequences one_long_sequence
    distinct_segments distinct_segments_in_two_spellings distinct_segments_of_high_octets automaton_out_of_cache wide_states gated_segments
    gated_long_segment gated_wide gated_sequences nested_gates gates_without_number gated_fibonacci gated_explosion gated_then_literal
    agents_that_share_rules agents_that_share_wildcards agents_that_share_a_long_literal agents_that_share_a_long_segment
    agents_that_share_long_segments agents_in_all_groups_but_one few_agents_that_share_wildcards few_agents_that_share_segments
    few_agents_that_share_escapes duplicates_behind_a_filter duplicates_in_groups_behind_a_filter one_agent_in_all_groups
    groups_of_their_own agent_lines one_literal one_segment nested_literals nested_literals_that_alternate long_literals_in_binary deep_comb
    star_runs stars_alone nested_stars escaped_slashes escaped_delimiters mixed_delimiters mixed_delimiters_beside_raw_ones
    mixed_delimiters_that_wait mixed_delimiters_behind_a_gate mixed_delimiters_at_the_end percents escaped_percents utf8_literals
    utf8_segments one_segment_of_high_octets one_gated_segment_of_high_octets one_segment_of_utf16 segments_of_utf16 short_segments_of_utf16
    lines_without_colon unknown_keys empty_rules
}

// Files.

const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
const EVERYONE: &str = "user-agent:*\n";

/// `head`, then lines as long as they fit.
fn filled(head: impl Into<String>, mut line: impl FnMut(usize) -> String) -> Vec<u8> {
    let mut text = head.into();
    for index in 0.. {
        let line = line(index);
        if text.len() + line.len() >= LIMIT {
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text.into_bytes()
}

/// `head` and as many of `unit` as fit.
fn one_rule(head: &str, unit: &[u8]) -> Vec<u8> {
    let mut text = head.as_bytes().to_vec();
    while text.len() + unit.len() <= LIMIT {
        text.extend_from_slice(unit);
    }
    text
}

/// `front` and then `unit` over and over, 8 KiB in all.
fn target(front: &str, unit: impl AsRef<[u8]>) -> Vec<u8> {
    let mut target = front.as_bytes().to_vec();
    let unit = unit.as_ref();
    target.extend(unit.iter().copied().cycle().take(TARGET_LEN - front.len()));
    target
}

/// A name of two octets or more: `index` in digits of product tokens.
fn name(mut index: usize) -> String {
    let digits = b"abcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut name = String::new();
    while index > 0 || name.len() < 2 {
        name.push(char::from(digits[index % digits.len()]));
        index /= digits.len();
    }
    name
}

fn random_letters() -> Hostile {
    let mut random = Random(1);
    Hostile::new(filled(EVERYONE, |_| format!("Disallow: /{}", random.starred(LETTERS, 4))))
}

fn repeated_letter() -> Hostile {
    let mut random = Random(2);
    Hostile::new(filled(EVERYONE, |_| format!("Disallow: /*a*a*a*{}", random.text(LETTERS, 3))))
}

fn two_segments() -> Hostile {
    let mut random = Random(3);
    let mut pair = move || random.text(LETTERS, 2);
    Hostile::new(filled(EVERYONE, |_| format!("Disallow: /*{}*{}*{}", pair(), pair(), pair())))
}

fn nested_segments() -> Hostile {
    let mut random = Random(4);
    Hostile::new(filled(EVERYONE, |at| format!("Disallow: /*{}*{}", "a".repeat(at % 24 + 1), random.text(LETTERS, 2))))
}

/// At each octet of `aaaa`, a thousand segments end.
fn nested_segments_to_1000() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("disallow:*{}*!", "a".repeat(at + 1))))
}

/// The same behind octets that become three, so that segments end at each of the three.
fn nested_segments_in_escapes() -> Hostile {
    let mut robots = EVERYONE.as_bytes().to_vec();
    for count in 1.. {
        for (front, back) in [("", ""), ("F", "%F"), ("FF", "%")] {
            let line = [b"disallow:*".as_slice(), front.as_bytes(), &vec![0xFF; count], back.as_bytes(), b"*!\n"].concat();
            if robots.len() + line.len() > LIMIT {
                return Hostile::new(robots);
            }
            robots.extend(line);
        }
    }
    unreachable!()
}

/// Segments of `aaaa` that are waited for all the time, and each time too late to count.
fn nested_segments_that_wait() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("disallow:{}*!", format!("*{}", "a".repeat(at + 40)).repeat(4500 / (at + 41)))))
}

/// All texts of two letters up to some length: every suffix of a text is a segment, and each is one of two that go on from the next shorter one.
fn segments_in_binary() -> Hostile {
    let texts = (1..).flat_map(|len| (0..1 << len).map(move |at: u32| (0..len).map(|bit| ['a', 'b'][(at >> bit & 1) as usize]).collect()));
    let mut rule = String::from("user-agent:*\ndisallow:*!");
    for text in texts.take_while(|text: &String| text.len() < 15) {
        if rule.len() + text.len() < LIMIT {
            rule.push('*');
            rule.push_str(&text);
        }
    }
    Hostile::new(rule.into_bytes()).with(target("/", "b"))
}

fn nested_tails() -> Hostile {
    let mut random = Random(5);
    Hostile::new(filled(EVERYONE, |at| format!("Disallow: /*{}*{}$", random.text(LETTERS, 2), "a".repeat(at % 24 + 1))))
}

fn nested_tails_to_1000() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("disallow:*!*{}$", "a".repeat(at + 1))))
}

/// Tails that all end where the target ends, behind segments that it lacks.
fn tails_behind_absent_parents() -> Hostile {
    let mut random = Random(6);
    Hostile::new(filled(EVERYONE, |_| format!("disallow:*{}*a$", random.text("bcdefghij", 3))))
}

/// Rules of many segments of one octet, all found in any random text, of which none matches at last: a quarter of a million steps.
fn long_sequences() -> Hostile {
    let mut random = Random(7);
    Hostile::new(filled(EVERYONE, |_| format!("disallow:{}*!", random.starred("ab", 200))))
}

fn short_sequences() -> Hostile {
    let mut random = Random(8);
    Hostile::new(filled(EVERYONE, |_| format!("disallow:{}*!", random.starred("abcd", 24))))
}

fn one_long_sequence() -> Hostile {
    Hostile::new(one_rule("user-agent:*\ndisallow:/", b"*a*b"))
}

/// Segments of which each is another, as short as that goes.
fn distinct_segments() -> Hostile {
    let mut random = Random(26);
    let mut rule = String::from("user-agent:*\ndisallow:/");
    while rule.len() + 4 <= LIMIT {
        rule.push('*');
        rule.push_str(&random.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!&'()+,;=@[]", 3));
    }
    Hostile::new(rule.into_bytes())
}

fn distinct_segments_in_two_spellings() -> Hostile {
    let mut random = Random(27);
    let mut rule = String::from("user-agent:*\ndisallow:/");
    while rule.len() + 6 <= LIMIT {
        rule.push_str("*%3A");
        rule.push_str(&random.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~!&'()+,;=@[]", 2));
    }
    Hostile::new(rule.into_bytes())
}

fn distinct_segments_of_high_octets() -> Hostile {
    let mut random = Random(28);
    let mut rule = b"user-agent:*\ndisallow:/".to_vec();
    while rule.len() + 4 <= LIMIT {
        rule.push(b'*');
        rule.extend((0..3).map(|_| 0x80 + random.below(128) as u8));
    }
    Hostile::new(rule)
}

/// An automaton larger than the caches, read by octets that become three each.
fn automaton_out_of_cache() -> Hostile {
    let mut random = Random(31);
    let mut letters = move |len: usize| (0..len).map(|_| 0xA0 + random.below(4) as u8).collect::<Vec<u8>>();
    let mut rule = b"user-agent:*\ndisallow:/".to_vec();
    while rule.len() + 21 <= LIMIT {
        rule.push(b'*');
        rule.extend(letters(20));
    }
    Hostile::new(rule).with(target("/", letters(TARGET_LEN)))
}

/// States with as many ways on as there are octets, at every depth that a text climbs and falls.
fn wide_states() -> Hostile {
    let octets: Vec<char> = (b'%'..b'~').map(char::from).filter(|octet| !"\"<>\\^`{|}*!".contains(*octet)).collect();
    let robots = filled(EVERYONE, |at| format!("disallow:*{}{}!!", "~".repeat(at / octets.len()), octets[at % octets.len()]));
    let depth = robots.len() / 2 / octets.len();
    let depth = (1..).find(|n| n * (n + 18) / 2 >= depth).unwrap();
    let climbs = target("/", "~".repeat(depth) + "!");
    Hostile::new(robots).with(climbs).with(target("/", "~")).with(target("/", "~!"))
}

fn gated_segments() -> Hostile {
    let mut random = Random(9);
    let mut pair = move || random.text(LETTERS, 2);
    Hostile::new(filled(EVERYONE, |_| format!("Disallow: /{}*{}*{}", pair(), pair(), pair()))).with(target("/ab", "abcdefg"))
}

fn gated_long_segment() -> Hostile {
    Hostile::new(one_rule("user-agent:*\ndisallow:/a*", b"a")).with(target("/a", "ab"))
}

/// One gate for all rules.
fn gated_wide() -> Hostile {
    let mut random = Random(10);
    Hostile::new(filled(EVERYONE, |_| format!("disallow:/ab*{}*!", random.text(LETTERS, 3)))).with(target("/ab", LETTERS))
}

fn gated_sequences() -> Hostile {
    let mut random = Random(11);
    let letters = Random(12).text("ab", TARGET_LEN);
    Hostile::new(filled(EVERYONE, |_| format!("disallow:/ab{}*!", random.starred("ab", 90)))).with(target("/ab", letters))
}

fn nested_gates() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("disallow:/{}*b*!", "a".repeat(at + 1)))).with(target("/aaaa", "ab"))
}

fn gates_without_number() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("{}:/{}*b*c", ["allow", "disallow"][at % 2], name(at)))).with(target("/ab", "abc"))
}

/// Segments with the longest chains of places to look at when another octet comes.
fn gated_fibonacci() -> Hostile {
    let (mut shorter, mut word) = ("a".to_owned(), "ab".to_owned());
    while word.len() < 377 {
        (shorter, word) = (word.clone(), word + &shorter);
    }
    let robots = filled(EVERYONE, |at| format!("disallow:/ab*{}{}", &word[..100 + at % 200], name(at)));
    Hostile::new(robots).with(target("/ab", word))
}

fn gated_explosion() -> Hostile {
    let mut random = Random(13);
    let letters = Random(14).text("ab", TARGET_LEN);
    Hostile::new(filled(EVERYONE, |at| format!("{}:/ab*{}", ["allow", "disallow"][at % 2], random.text("ab", 12))))
        .with(target("/ab", letters))
}

/// Few rules that make many states, and then many literals.
fn gated_then_literal() -> Hostile {
    let mut random = Random(15);
    let head = "user-agent:*\nallow:/ab*a???????b\nallow:/ab*b????????b\nallow:/ab*c???????a??????????????\n".replace('?', "*a");
    Hostile::new(filled(head, |at| format!("{}:/ab{}", ["allow", "disallow"][at % 2], random.text("abcdefgh", 9))))
}

/// Rules that `agents` share, and one rule that each has for itself.
fn shared(agents: usize, own: impl Fn(usize) -> String, rule: impl FnMut(usize) -> String) -> Vec<u8> {
    let mut text = String::new();
    for agent in 0..agents {
        writeln!(text, "user-agent:{}\nallow:/{}", name(agent), own(agent)).unwrap();
    }
    for agent in 0..agents {
        writeln!(text, "user-agent:{}", name(agent)).unwrap();
    }
    filled(text, rule)
}

fn agents_that_share_rules() -> Hostile {
    Hostile::new(shared(5500, name, |at| format!("disallow:/{}", name(at))))
}

fn agents_that_share_wildcards() -> Hostile {
    let mut random = Random(16);
    let mut pair = move || random.text(LETTERS, 2);
    Hostile::new(shared(3000, |at| format!("*{}", name(at)), |_| format!("disallow:/*{}*{}*!", pair(), pair())))
}

/// Few rules, but long: copies of them have to be counted in octets.
fn agents_that_share_a_long_literal() -> Hostile {
    let mut robots = shared(300, name, |_| "x".repeat(LIMIT));
    robots.extend(b"disallow:/");
    Hostile::new(one_rule(&String::from_utf8(robots).unwrap(), b"abcdefg"))
}

fn agents_that_share_a_long_segment() -> Hostile {
    let mut robots = shared(20, name, |_| "x".repeat(LIMIT));
    robots.extend(b"disallow:/*");
    Hostile::new(one_rule(&String::from_utf8(robots).unwrap(), b"abcdefg"))
}

fn agents_that_share_long_segments() -> Hostile {
    let mut random = Random(17);
    Hostile::new(shared(60, name, |_| format!("disallow:/{}", random.starred("abcdefgh", 2000))))
}

fn few_agents_that_share_wildcards() -> Hostile {
    let mut random = Random(18);
    Hostile::new(shared(12, name, |_| format!("disallow:/{}", random.starred("abcdefgh", 7))))
}

fn few_agents_that_share_segments() -> Hostile {
    let mut random = Random(29);
    Hostile::new(shared(12, name, |_| format!("disallow:*{}", random.text(LETTERS, 60))))
}

fn few_agents_that_share_escapes() -> Hostile {
    let mut robots = shared(12, name, |_| "x".repeat(LIMIT));
    let mut random = Random(19);
    while robots.len() + 80 < LIMIT {
        robots.extend(b"disallow:*%2F");
        robots.extend((0..60).map(|_| 0xA0 + random.below(8) as u8));
        robots.push(b'\n');
    }
    Hostile::new(robots)
}

fn agents_in_all_groups_but_one() -> Hostile {
    let mut text = String::new();
    for group in 0..182 {
        for agent in (0..195).filter(|&agent| agent != group) {
            writeln!(text, "user-agent:{}", name(agent)).unwrap();
        }
        writeln!(text, "disallow:/*{}*{}", name(group), name(group * 7)).unwrap();
    }
    Hostile::new(text.into_bytes())
}

/// Rules of equal pattern that bind others, in front of those that bind `zz`.
fn duplicates_behind_a_filter() -> Hostile {
    let mut text = String::new();
    for _ in 0..5000 {
        text.push_str("user-agent:zz\nallow:/q\n");
    }
    for agent in 0..60 {
        writeln!(text, "user-agent:{}\nallow:/{}", name(agent), name(agent)).unwrap();
    }
    text.push_str("user-agent:zz\n");
    for agent in 0..60 {
        writeln!(text, "user-agent:{}", name(agent)).unwrap();
    }
    text.push_str(&"allow:*\n".repeat(10_000));
    text.push_str("user-agent:zzz\n");
    Hostile::new(filled(text, |_| "allow:/".to_owned()))
}

fn duplicates_in_groups_behind_a_filter() -> Hostile {
    let mut text = String::new();
    for agent in 0..120 {
        writeln!(text, "user-agent:{}\nallow:/{}", name(agent), name(agent)).unwrap();
    }
    text.push_str("user-agent:zz\n");
    for agent in 0..120 {
        writeln!(text, "user-agent:{}", name(agent)).unwrap();
    }
    text.push_str(&"allow:*\n".repeat(1000));
    let groups = ["user-agent:zz\nallow:/!", "user-agent:zzz\nallow:/*a"];
    Hostile::new(filled(text, |at| groups[at % 2].to_owned()))
}

fn one_agent_in_all_groups() -> Hostile {
    Hostile::new(filled("", |at| format!("user-agent:x\ndisallow:/{}", name(at))))
}

fn groups_of_their_own() -> Hostile {
    Hostile::new(filled("", |at| format!("user-agent:{}\ndisallow:/{}", name(at), name(at))))
}

fn agent_lines() -> Hostile {
    let lines = filled("", |at| format!("user-agent:{}", if at == 0 { "*".to_owned() } else { name(at) }));
    let end = lines.len() - 20;
    Hostile::new([&lines[..end], b"\ndisallow:/a"].concat())
}

fn one_literal() -> Hostile {
    Hostile::new(one_rule("user-agent:*\ndisallow:/", b"abcdefgh"))
}

/// One segment, longer than any target.
fn one_segment() -> Hostile {
    Hostile::new(one_rule("user-agent:*\ndisallow:/*", b"a")).with(target("/", "aaaaaab"))
}

fn nested_literals() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("disallow:/{}", "a".repeat(at))))
}

/// Each literal goes three octets on from the one before, the shortest stretch that becomes a chain, and changes the verdict.
fn nested_literals_that_alternate() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("{}:/{}", ["allow", "disallow"][at % 2], "aaa".repeat(at))))
}

fn long_literals_in_binary() -> Hostile {
    let mut random = Random(20);
    let letters = Random(20).text("ab", TARGET_LEN);
    let robots = filled(EVERYONE, |at| format!("{}:/{}", ["allow", "disallow"][at % 2], random.text("ab", 10 + at % 90)));
    Hostile::new(robots).with(target("/", letters))
}

fn deep_comb() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("{}:/{}b", ["allow", "disallow"][at % 2], "a".repeat(at))))
}

fn star_runs() -> Hostile {
    let mut random = Random(21);
    Hostile::new(filled(EVERYONE, |at| format!("disallow:/{}{}", "*".repeat(at % 200), random.text(LETTERS, 2))))
}

fn stars_alone() -> Hostile {
    let rule = format!("user-agent:*\ndisallow:/{}\ndisallow:/", "*".repeat(100_000));
    Hostile::new(one_rule(&rule, b"*"))
}

/// Patterns of which each is another and all mean the same.
fn nested_stars() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("{}:*a{}", ["allow", "disallow"][at % 2], "*".repeat(at))))
}

fn escaped_slashes() -> Hostile {
    Hostile::new(one_rule("user-agent:*\ndisallow:/", b"*%2F")).with(target("/?", "/")).with(target("/", "%2F"))
}

fn escaped_delimiters() -> Hostile {
    let mut random = Random(22);
    let robots = filled(EVERYONE, |_| format!("disallow:/*%2F{}*%3F{}", random.text("ab", 2), random.text("ab", 1)));
    Hostile::new(robots).with(target("/?", "/aa?b/ba?a")).with(target("/", "%2Faa%3Fb%2Fba%3Fa"))
}

/// All spellings of runs of slashes in which some are escaped: behind a `?` every one of them is the same run.
fn delimiter_spellings() -> Vec<String> {
    // By length: a spelling ends with a raw slash or with an escaped one.
    let mut by_len: Vec<Vec<String>> = vec![vec![String::new()]];
    let mut all = Vec::new();
    while all.iter().map(String::len).sum::<usize>() < LIMIT {
        let len = by_len.len();
        let mut spellings: Vec<String> = by_len[len - 1].iter().map(|front| front.clone() + "/").collect();
        if let Some(fronts) = len.checked_sub(3).map(|len| &by_len[len]) {
            spellings.extend(fronts.iter().map(|front| front.clone() + "%2F"));
        }
        all.extend(spellings.iter().filter(|spelling| spelling.contains('%')).cloned());
        by_len.push(spellings);
    }
    all
}

fn mixed_delimiters() -> Hostile {
    let spellings = delimiter_spellings();
    Hostile::new(filled(EVERYONE, |at| format!("disallow:*{}*!", spellings[at]))).with(target("/?", "/"))
}

/// The run itself is a segment too, so that it is looked for in the path, where no spelling with escapes counts.
fn mixed_delimiters_beside_raw_ones() -> Hostile {
    let spellings = delimiter_spellings();
    let raw: String = (1..30).map(|len| format!("disallow:*{}*!\n", "/".repeat(len))).collect();
    Hostile::new(filled(EVERYONE.to_owned() + &raw, |at| format!("disallow:*{}*!", spellings[at]))).with(target("/?", "/"))
}

/// At each octet another rule begins to wait for the run of 13, and all its other spellings have been found.
fn mixed_delimiters_that_wait() -> Hostile {
    let long: String = (1..14).map(|first| format!("disallow:*{}{}*!\n", "/".repeat(first), "*%2F////////////".repeat(600))).collect();
    let spelling = |at: usize| -> String { (0..13).map(|bit| if at >> bit & 1 == 1 { "%2F" } else { "/" }).collect() };
    let short: String = (1..1 << 13).map(|at| format!("disallow:*{}*!\n", spelling(at))).collect();
    Hostile::new((EVERYONE.to_owned() + &long + &short).into_bytes()).with(target("/?", "/"))
}

fn mixed_delimiters_behind_a_gate() -> Hostile {
    let spellings = delimiter_spellings();
    Hostile::new(filled(EVERYONE, |at| format!("disallow:/ab*{}*!", spellings[at]))).with(target("/ab?", "/"))
}

fn mixed_delimiters_at_the_end() -> Hostile {
    let spellings = delimiter_spellings();
    Hostile::new(filled(EVERYONE, |at| format!("disallow:*!*{}$", spellings[at]))).with(target("/?", "/"))
}

fn percents() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("disallow:/*{}*{}", "%".repeat(at % 900), "%2".repeat(at % 7)))).with(target("/", "%"))
}

fn escaped_percents() -> Hostile {
    Hostile::new(filled(EVERYONE, |at| format!("disallow:/{}{}", ["", "*"][at % 2], "%25".repeat(at % 400 + 1)))).with(target("/", "%25"))
}

fn utf8_literals() -> Hostile {
    let mut random = Random(23);
    let robots = filled(EVERYONE, |at| format!("disallow:/{}{}", "é".repeat(at % 300), random.text("ab", 4)));
    Hostile::new(robots).with(target("/", "é"))
}

fn utf8_segments() -> Hostile {
    let mut random = Random(24);
    let robots = filled(EVERYONE, |at| format!("disallow:/*{}*{}", "é".repeat(at % 300 + 1), random.text("ab", 4)));
    Hostile::new(robots).with(target("/", "é"))
}

/// Octets that become three each, in two spellings.
fn one_segment_of_high_octets() -> Hostile {
    Hostile::new(one_rule("user-agent:*\ndisallow:*%2F", b"\xFF")).with(target("/?/", b"\xFF"))
}

fn one_gated_segment_of_high_octets() -> Hostile {
    Hostile::new(one_rule("user-agent:*\ndisallow:/ab*", b"\xFF")).with(target("/ab", b"\xFF"))
}

fn utf16(text: &str) -> Vec<u8> {
    "\u{FEFF}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).take(LIMIT).collect()
}

/// The most that octets can become: two octets of UTF-16 are three of UTF-8 and nine of the pattern.
fn one_segment_of_utf16() -> Hostile {
    Hostile::new(utf16(&format!("user-agent:*\ndisallow:*%2F{}", "\u{1000}".repeat(LIMIT / 2))))
}

fn segments_of_utf16() -> Hostile {
    let mut random = Random(25);
    let mut character = move || char::from_u32(0x1000 + random.below(0x3000) as u32).unwrap();
    let mut text = String::from(EVERYONE);
    while text.chars().count() * 2 < LIMIT {
        writeln!(text, "disallow:*%2F{}{}{}{}*%2F{0}{0}", character(), character(), character(), character()).unwrap();
    }
    Hostile::new(utf16(&text))
}

fn short_segments_of_utf16() -> Hostile {
    let mut random = Random(30);
    let mut text = String::from("user-agent:*\ndisallow:");
    for _ in 0..LIMIT / 6 {
        text.push('*');
        text.extend((0..2).map(|_| char::from_u32(0x1000 + random.below(0xC000) as u32).unwrap()));
    }
    Hostile::new(utf16(&text))
}

fn lines_without_colon() -> Hostile {
    Hostile::new(filled("user-agent:*\ndisallow:/a\n", |_| "a".to_owned()))
}

fn unknown_keys() -> Hostile {
    Hostile::new(filled("user-agent:*\ndisallow:/a\n", |_| "a:".to_owned()))
}

fn empty_rules() -> Hostile {
    Hostile::new(filled(EVERYONE, |_| "allow:a".to_owned()))
}

// Targets.

fn targets(hostile: &Hostile, policy: &Policy) -> Vec<Vec<u8>> {
    let mut random = Random(99);
    let mut targets = hostile.targets.clone();
    for unit in ["a", LETTERS, &random.text("abcde", TARGET_LEN), &random.text("ab", TARGET_LEN), "/", "%41", "%2F", "é", "%"] {
        targets.push(target("/", unit));
        targets.push(target("/?", unit));
    }
    targets.push(target("/", b"\xFF"));
    let mut last = target("/", "a");
    last[TARGET_LEN - 1] = b'?';
    targets.push(last);
    targets.extend(targets_of_rules(policy));
    targets
}

/// Targets of 8 KiB that hold what rules ask for: rules from all over the file, one behind another, with nothing and with something for stars.
fn targets_of_rules(policy: &Policy) -> Vec<Vec<u8>> {
    let step = policy.rules().len().div_ceil(500).max(1);
    let values: Vec<&[u8]> = policy.rules().step_by(step).map(|rule| rule.value()).collect();
    let mut targets = Vec::new();
    for fill in [&b""[..], b"-?"] {
        let text = |values: &[&[u8]]| {
            let kept = values.iter().flat_map(|value| &value[..value.len().min(TARGET_LEN)]).filter(|&&octet| octet != b'$');
            kept.flat_map(|&octet| if octet == b'*' { fill.to_vec() } else { vec![octet] }).take(2 * TARGET_LEN).collect::<Vec<u8>>()
        };
        let texts =
            [text(&values), text(values.last().map_or(&[], std::slice::from_ref)), text(values.first().map_or(&[], std::slice::from_ref))];
        targets.extend(texts.into_iter().filter(|text| !text.is_empty()).map(|text| target("", text)));
    }
    targets
}

/// Short targets, for the oracle.
fn short_targets(policy: &Policy) -> Vec<Vec<u8>> {
    let mut targets: Vec<Vec<u8>> = [&b"/"[..], b"/a", b"/aaaaaaaa?b", b"/robots.txt", b"/?////", b"/ab%FF%2f!"].map(<[u8]>::to_vec).into();
    let step = policy.rules().len().div_ceil(4).max(1);
    for rule in policy.rules().step_by(step).filter(|rule| rule.value().len() < 200) {
        let value: Vec<u8> = rule.value().iter().copied().filter(|octet| !b"*$".contains(octet)).collect();
        targets.push([b"/".as_slice(), value.strip_prefix(b"/").unwrap_or(&value)].concat());
    }
    targets
}

/// Agents that the program binds: everyone, some of those that it names, and some of those whose rules it filters.
fn agents(program: &Program<'_>) -> Vec<Agent> {
    let tokens: Vec<(&str, u32)> = (0..program.token_count())
        .filter_map(|index| program.token(index))
        .map(|(token, set)| (std::str::from_utf8(token).unwrap(), set))
        .collect();
    let is_filtered = |set: u32| program.rule_set(set).unwrap().is_filtered();
    let mut chosen = Vec::new();
    for filtered in [true, false] {
        let of_kind: Vec<&str> = tokens.iter().filter(|(_, set)| is_filtered(*set) == filtered).map(|(token, _)| *token).collect();
        chosen.extend([of_kind.first(), of_kind.get(of_kind.len() / 2), of_kind.last()].into_iter().flatten().copied());
    }
    let distinct: BTreeSet<&str> = chosen.into_iter().collect();
    let mut agents: Vec<Agent> = distinct.into_iter().map(|token| Agent::token(token).unwrap()).collect();
    if program.star_rule_set().is_some() {
        agents.push(Agent::token("*").unwrap());
    }
    agents
}

// Measuring.

/// Counts what each thread holds.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// What the thread holds, and the most it held, since it was last reset.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

fn count(octets: isize) {
    let (held, most) = HELD.get();
    HELD.set((held + octets, most.max(held + octets)));
}

// SAFETY: every call goes on to the system's allocator as it is; the counters are plain numbers of the thread, without allocation or destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those that the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above; the pointer came from the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// What `work` gives, how long it took, and how much more than before this thread held at most.
fn measured<T>(work: impl FnOnce() -> T) -> (T, Duration, usize) {
    HELD.set((0, 0));
    let start = Instant::now();
    let result = work();
    (result, start.elapsed(), HELD.get().1 as usize)
}

/// What `work` gives, and how much more than before this thread held at most.
pub fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let (result, _, peak) = measured(work);
    (result, peak)
}

/// What a kind costs at worst.
#[derive(Default)]
pub struct Cost {
    pub compile: Duration,
    pub peak: usize,
    pub program_len: usize,
    pub check: Duration,
    /// Preparing one of its rule sets for many rows at once: time and memory.
    pub prepare: Duration,
    pub prepare_peak: usize,
    pub allows: Worst,
    pub decides: Worst,
}

/// The longest decision, and for whom and what.
#[derive(Default)]
pub struct Worst {
    pub time: Duration,
    pub of: String,
}

impl Worst {
    fn take(&mut self, time: Duration, of: impl FnOnce() -> String) {
        if time > self.time {
            *self = Worst { time, of: of() };
        }
    }
}

/// The time of one call: the least of some, if the first is suspicious.
fn time_of<T>(mut call: impl FnMut() -> T) -> (T, Duration) {
    let mut once = || {
        let start = Instant::now();
        let result = call();
        (result, start.elapsed())
    };
    let (mut result, mut least) = once();
    for _ in 0..4 {
        if least < DECISION_TIME / 10 || least > DECISION_TIME * 500 {
            break;
        }
        let (again, time) = once();
        result = again;
        least = least.min(time);
    }
    (result, least)
}

/// Compiles a file and asks it all its targets; every answer is checked.
pub fn cost(hostile: &Hostile) -> Cost {
    let mut cost = Cost::default();
    for detail in [Detail::Verdicts, Detail::Rules] {
        let options = Options::default().with_detail(detail);
        let ((policy, octets), time, peak) = measured(|| {
            let policy = Policy::parse(&hostile.robots, &RFC9309);
            let octets = compile(&policy, &options);
            (policy, octets)
        });
        cost.compile = cost.compile.max(time);
        cost.peak = cost.peak.max(peak);
        cost.program_len = cost.program_len.max(octets.len());
        let start = Instant::now();
        let program = Program::check(&octets).unwrap();
        cost.check = cost.check.max(start.elapsed());
        let agents = agents(&program);
        for agent in &agents {
            let matcher = Matcher::new(program.rule_set(program.bind(agent).rule_set().unwrap()).unwrap()).unwrap();
            let (_, time, peak) = measured(|| matcher.decides_blocks());
            cost.prepare = cost.prepare.max(time);
            cost.prepare_peak = cost.prepare_peak.max(peak);
        }
        for (index, target) in targets(hostile, &policy).iter().enumerate() {
            assert!(target.len() == TARGET_LEN);
            for agent in &agents {
                let set = program.bind(agent).rule_set().unwrap();
                let matcher = Matcher::new(program.rule_set(set).unwrap()).unwrap();
                let mut scratch = Scratch::new();
                let (allows, time) = time_of(|| matcher.allows(target, &mut scratch).unwrap());
                let of = || format!("{} on target {index}, {}…, {detail:?}", agent.name(), target[..24].escape_ascii());
                cost.allows.take(time, of);
                let (decision, time) = time_of(|| matcher.decide(target, &mut scratch).unwrap());
                cost.decides.take(time, of);
                assert_eq!(allows, decision.verdict == Verdict::Allow, "{}", of());
            }
        }
    }
    cost
}

/// Holds a file to the oracle, on short targets: the oracle looks at every rule for every octet.
pub fn agrees_with_the_oracle(hostile: &Hostile) {
    let oracle = Oracle::parse(&hostile.robots);
    let policy = Policy::parse(&hostile.robots, &RFC9309);
    let octets = compile(&policy, &Options::default());
    let program = Program::check(&octets).unwrap();
    let mut scratch = Scratch::new();
    for agent in agents(&program).iter().take(3) {
        let set = program.bind(agent).rule_set().unwrap();
        let matcher = Matcher::new(program.rule_set(set).unwrap()).unwrap();
        for target in short_targets(&policy) {
            let decision = matcher.decide(&target, &mut scratch).unwrap();
            let allows = matcher.allows(&target, &mut scratch).unwrap();
            assert_eq!(allows, decision.verdict == Verdict::Allow, "{} for {agent:?}", target.escape_ascii());
            let line = policy.rule(decision.rule).map_or(0, |rule| rule.line());
            let right = right_answer(&oracle, agent, &[b"https://example.com".as_slice(), &target].concat());
            assert_eq!((decision.verdict, decision.reason, line), right, "{} for {agent:?}", target.escape_ascii());
        }
    }
}

#[test]
fn every_kind_fills_the_limit() {
    for (name, kind) in KINDS {
        let len = kind().robots.len();
        assert!((LIMIT * 3 / 4..=LIMIT).contains(&len), "{name} has {len} octets");
    }
}

/// One at a time, so that they do not slow each other.
static ALONE: Mutex<()> = Mutex::new(());

fn check(name: &str, hostile: &Hostile) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    agrees_with_the_oracle(hostile);
    let cost = cost(hostile);
    let slack = if std::env::var_os("ROBOSIEVE_TIMINGS").is_some() { 1 } else { 10 };
    let (times, mib) = BEYOND.iter().find(|kind| kind.0 == name).map_or((1, MEMORY >> 20), |kind| (kind.1, kind.2));
    let decision_time = DECISION_TIME * slack * times;
    let mut broken = String::new();
    let mut hold = |holds: bool, what: String| {
        if !holds {
            writeln!(broken, "{name}: {what}").unwrap();
        }
    };
    hold(cost.compile < COMPILE_TIME * slack, format!("compiling took {:?}", cost.compile));
    hold(cost.peak < mib << 20, format!("compiling held {} MiB", cost.peak >> 20));
    hold(cost.prepare < COMPILE_TIME * slack, format!("preparing took {:?}", cost.prepare));
    hold(cost.prepare_peak < MEMORY, format!("preparing held {} MiB", cost.prepare_peak >> 20));
    hold(cost.check < COMPILE_TIME * slack, format!("checking took {:?}", cost.check));
    hold(cost.allows.time < decision_time, format!("allows took {:?} for {}", cost.allows.time, cost.allows.of));
    hold(cost.decides.time < decision_time, format!("decide took {:?} for {}", cost.decides.time, cost.decides.of));
    assert!(broken.is_empty(), "\n{broken}");
}
