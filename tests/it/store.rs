//! Damaged stores and programs: an error, an answer, or `corrupt`; never a panic, never another verdict.

use proptest::prelude::*;

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile};
use robosieve::decision::{Reason, Verdict};
use robosieve::dialect::RFC9309;
use robosieve::io::lines::MappedLines;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::pipeline::{Evaluator, run};
use robosieve::policy::Policy;
use robosieve::program::{Detail, Program, Rung};
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};

use crate::pipeline::{Keep, threads};

const LIST: &[u8] = b"https://a.example/x/y\nhttps://a.example/private/1?q\nhttps://b.example/robots.txt\nhttps://b.example/a.php\n\
    https://c.example/\nhttps://a.example/z%2Fb.php\nhttps://d.example/\n";

const POLICIES: [(&str, &str); 3] = [
    (
        "a.example",
        "User-agent: *\nDisallow: /private/\nAllow: /private/1$\nDisallow: /x*y\nDisallow: /*%2Fb*.php$\nUser-agent: abot\nAllow: /",
    ),
    ("b.example", "User-agent: abot\nUser-agent: bbot\nDisallow: /*.php\nAllow: /a\nUser-agent: *\nDisallow: /"),
    ("c.example", "# nothing"),
];

fn octets(keep_bodies: bool) -> Vec<u8> {
    let mut builder = Builder::new(RFC9309).keep_bodies(keep_bodies);
    for (name, body) in POLICIES {
        builder.add_name(name, Record::body(body.as_bytes().to_vec())).unwrap();
    }
    builder.finish().unwrap().into_octets()
}

type Answers = Vec<Vec<(Verdict, Option<Reason>, u32)>>;

fn answers(store: &Store, detail: bool) -> Answers {
    let agents = ["*", "abot", "zbot"].map(|token| Agent::token(token).unwrap()).to_vec();
    let evaluator = Evaluator::new(store, agents);
    let mut keep = Keep::new(store, detail);
    run(&mut MappedLines::new(LIST), &evaluator, &mut keep, threads(1)).unwrap();
    keep.answers
}

/// A damaged store gives the right verdicts or none.
fn check_damaged(octets: Vec<u8>, right: &[Answers; 2]) -> bool {
    let Ok(store) = Store::from_octets(octets) else { return false };
    let _ = store.verify();
    for (detail, right) in [false, true].into_iter().zip(right) {
        for (row, right) in answers(&store, detail).iter().zip(right) {
            for (answer, right) in row.iter().zip(right) {
                assert!(answer.0 == right.0 || answer.0 == Verdict::Unresolved, "{answer:?} where {right:?} is right");
            }
        }
    }
    true
}

#[test]
fn a_flipped_octet_never_changes_a_verdict() {
    for keep_bodies in [true, false] {
        let sound = octets(keep_bodies);
        let store = Store::from_octets(sound.clone()).unwrap();
        store.verify().unwrap();
        let right = [answers(&store, false), answers(&store, true)];
        assert!(right[0].iter().flatten().any(|answer| answer.0 == Verdict::Disallow));
        let (mut opened, mut missed) = (0, Vec::new());
        for at in 0..sound.len() {
            for bit in [0x01, 0x80, 0xFF] {
                let mut damaged = sound.clone();
                damaged[at] ^= bit;
                if check_damaged(damaged.clone(), &right) {
                    opened += 1;
                    if Store::from_octets(damaged).unwrap().verify().is_ok() {
                        missed.push(at);
                    }
                }
            }
        }
        assert!(opened > 0, "some damage shows only when it is looked at");
        // Only the padding between sections is nobody's.
        assert!(missed.len() < 3 * 8 * 12 && missed.iter().all(|&at| sound[at] == 0), "verify misses damage at {missed:?}");
    }
}

#[test]
fn a_store_cut_at_any_length_is_an_error() {
    let sound = octets(true);
    for len in 0..sound.len() {
        let error = Store::from_octets(sound[..len].to_vec()).unwrap_err().to_string();
        assert!(error.contains("store"), "{error}");
    }
    let error = Store::from_octets([&sound[..], b"x"].concat()).unwrap_err().to_string();
    assert!(error.contains("octets"), "{error}");
}

/// Records that change places, with nothing else touched: each is bound to its place and its owner.
#[test]
fn records_in_each_others_place_are_corrupt() {
    let sound = octets(true);
    let word = |at: usize| u64::from_le_bytes(sound[at..at + 8].try_into().unwrap()) as usize;
    // Section table: offset and length of the snapshot records, and of the program index.
    for (section, record_len) in [(3, 88), (4, 32)] {
        let (offset, len) = (word(64 + section * 24), word(64 + section * 24 + 8));
        assert!(len >= 2 * record_len);
        let mut swapped = sound.clone();
        for at in 0..record_len {
            swapped.swap(offset + at, offset + len - record_len + at);
        }
        let store = Store::from_octets(swapped).unwrap();
        assert!(store.verify().is_err());
        let reasons: Vec<_> = answers(&store, true).into_iter().flatten().filter_map(|answer| answer.1).collect();
        assert!(reasons.contains(&Reason::Corrupt), "section {section}: {reasons:?}");
    }
}

#[test]
fn foreign_files_are_named_so() {
    let message = |octets: &[u8]| Store::from_octets(octets.to_vec()).unwrap_err().to_string();
    for foreign in [&b""[..], b"User-agent: *\n", b"ARROW1\0\0", b"\x89PNG\r\n\x1A\n"] {
        assert!(message(foreign).contains("robosieve compile"), "{}", message(foreign));
    }
    let mut newer = octets(true);
    newer[8] = 9;
    assert!(message(&newer).contains("format version 9"), "{}", message(&newer));
    let mut converted = octets(true);
    converted[12..16].reverse();
    assert!(message(&converted).contains("byte order"), "{}", message(&converted));
}

/// Octets that change after they were checked: what the matcher reads through its own checks.
fn walk_unchecked(octets: &[u8]) {
    let Ok(program) = Program::view(octets) else { return };
    let mut scratch = Scratch::new();
    for set in 0..program.rule_set_count().min(8) as u32 {
        let Ok(matcher) = program.rule_set(set).and_then(Matcher::new) else { continue };
        for target in [&b"/private/1?q"[..], b"/x/y/z%2Fb.php", b"/aaaaaaaaaaaab", b"", b"/robots.txt", b"/a?b=%2Fc.php"] {
            let _ = matcher.allows(target, &mut scratch);
            let _ = matcher.decide(target, &mut scratch);
        }
    }
    let _ = program.bind(&Agent::token("abot").unwrap());
    let _ = format!("{program:#}");
}

#[test]
fn the_matcher_survives_octets_that_change_under_it() {
    let body = POLICIES.map(|(_, body)| body).join("\n") + "\nUser-agent: c\nDisallow: /aaaaaaaab\nDisallow: /a*a*b\nDisallow: /*a*aa";
    let policy = Policy::parse(body.as_bytes(), &RFC9309);
    for options in [Options::default(), Options::default().with_detail(Detail::Rules), Options::default().with_rung(Some(Rung::Backstop))] {
        let sound = compile(&policy, &options);
        Program::check(&sound).unwrap();
        for at in 0..sound.len() {
            for flip in [0x01, 0x04, 0x80, 0xFF] {
                let mut changed = sound.clone();
                changed[at] ^= flip;
                walk_unchecked(&changed);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_passes_the_check_can_be_used(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let policy = Policy::parse(POLICIES[0].1.as_bytes(), &RFC9309);
        let mut octets = compile(&policy, &Options::default());
        for (at, value) in flips {
            let at = at.index(octets.len());
            octets[at] = value;
        }
        if let Ok(program) = Program::check(&octets) {
            let mut scratch = Scratch::new();
            for set in 0..program.rule_set_count() as u32 {
                let matcher = Matcher::new(program.rule_set(set).unwrap()).unwrap();
                for target in [&b"/private/1"[..], b"/x/y", b"/%2Fb.php", b"/robots.txt"] {
                    matcher.allows(target, &mut scratch).unwrap();
                    matcher.decide(target, &mut scratch).unwrap();
                }
            }
        }
        walk_unchecked(&octets);
    }

    #[test]
    fn any_octets_are_a_store_or_an_error(octets in prop::collection::vec(any::<u8>(), 0..600), labelled in any::<bool>()) {
        let octets = if labelled { [&crate::store::octets(true)[..16], &octets].concat() } else { octets };
        prop_assert!(Store::from_octets(octets).is_err());
    }
}
