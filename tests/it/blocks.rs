//! Many rows at once give what one after another gives: every instruction set, every rung, every dialect.

use proptest::prelude::*;

use robosieve::agent::{Agent, LineToken};
use robosieve::compile::Options;
use robosieve::dialect::{Dialect, RFC9309};
use robosieve::policy::Policy;
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};

use crate::claims::blocks::check_list;
use crate::corpus;
use crate::ladder::{robots, target, targets_of};

fn store(robots: &[u8], dialect: Dialect, options: Options) -> Store {
    let mut builder = Builder::new(dialect).options(options);
    builder.add_any(Record::body(robots.to_vec()));
    builder.finish().unwrap().open().unwrap()
}

fn agents() -> Vec<Agent> {
    ["*", "abot", "bbot"].map(|token| Agent::token(token).unwrap()).to_vec()
}

/// Compiled in every way that blocks are asked in, the rows get what the backstop says of each.
fn check(robots: &[u8], dialect: &Dialect, agents: &[Agent], list: &[u8]) -> Result<(), String> {
    check_list(|options| store(robots, *dialect, options), agents, list)
}

/// A list of these targets, with enough behind them that they are not the last of their block, and the odd line end.
fn list(targets: &[Vec<u8>], line_end: &str) -> Vec<u8> {
    let mut list = Vec::new();
    for target in targets {
        list.extend_from_slice(b"https://example.com");
        if !matches!(target[..], [] | [b'/' | b'?' | b'#', ..]) {
            list.push(b'/');
        }
        list.extend(target.iter().filter(|octet| !matches!(octet, b'\n' | b'\r')));
        list.extend_from_slice(line_end.as_bytes());
    }
    list
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn blocks_agree_with_the_backstop(
        robots in robots(),
        free in prop::collection::vec(target(), 1..40),
        line_end in prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]),
    ) {
        for dialect in &Dialect::ALL {
            let mut targets = targets_of(&Policy::parse(robots.as_bytes(), dialect));
            targets.extend(free.iter().map(|target| target.clone().into_bytes()));
            let list = list(&targets, line_end);
            if let Err(difference) = check(robots.as_bytes(), dialect, &agents(), &list) {
                prop_assert!(false, "{}", difference);
            }
        }
    }

    /// Targets that differ from a rule in one octet, of any value, over rules of the same octets: chains break everywhere, windows stand everywhere.
    #[test]
    fn long_literals_break_anywhere(
        stems in prop::collection::vec("[a-c/.]{1,70}", 1..6),
        ends in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..60),
    ) {
        let robots: String = stems.iter().enumerate().map(|(index, stem)| match index % 4 {
            0 | 1 => format!("Disallow: /{stem}\n"),
            2 => format!("Allow: /*{stem}$\n"),
            _ => format!("Disallow: *{stem}*b\n"),
        }).collect();
        let robots = format!("User-agent: *\n{robots}");
        let targets: Vec<Vec<u8>> = ends.into_iter().map(|(stem, place, octet)| {
            let mut target = format!("/{}{}", stem.get(&stems), stem.get(&stems)).into_bytes();
            let place = place.index(target.len());
            target[place] = octet;
            target
        }).collect();
        if let Err(difference) = check(robots.as_bytes(), &RFC9309, &agents(), &list(&targets, "\n")) {
            prop_assert!(false, "{}\n{}", difference, robots);
        }
    }
}

/// A thousand floating rules of all lengths, more than there are buckets, and rows that hold pieces of them.
#[test]
fn many_windows_share_few_buckets() {
    for count in [1, 9, 17, 100, 300] {
        let word = |index: usize| format!("{:x}", (index * 2_654_435_761) % (1 << (4 + index % 24)));
        let mut robots = "User-agent: *\n".to_owned();
        for index in 0..count {
            let verdict = if index % 3 == 0 { "Allow" } else { "Disallow" };
            robots.push_str(&format!("{verdict}: /*{}{}\n", word(index), ["", "$", "*a", ".php"][index % 4]));
        }
        let targets: Vec<Vec<u8>> = (0..2000)
            .map(|index| {
                format!("/p/{}/{}{}", word(index % count), word(index * 7 % count), ["", "#x", "a", "%41"][index % 4]).into_bytes()
            })
            .collect();
        check(robots.as_bytes(), &RFC9309, &agents(), &list(&targets, "\n")).unwrap();
    }
}

/// Every real robots.txt, for every agent it names (eight at most), against targets built from its own rules.
#[test]
fn real_policies_at_once() {
    let thorough = std::env::var_os("ROBOSIEVE_THOROUGH").is_some();
    for archive in ["robots-top.tar.zst", "robots-gov.tar.zst"] {
        let Some(bodies) = corpus::bodies(archive, "real_policies_at_once") else { return };
        for (name, body) in bodies.iter().step_by(if thorough { 1 } else { 23 }) {
            let policy = Policy::parse(body, &RFC9309);
            let named = policy.groups().flat_map(|group| group.agents().filter_map(|agent| agent.token()).collect::<Vec<_>>());
            let tokens = named.filter_map(|token| match token {
                LineToken::Product(token) => Agent::token(std::str::from_utf8(token).ok()?).ok(),
                LineToken::Star => None,
            });
            let mut agents: Vec<Agent> = tokens.take(8).collect();
            agents.push(Agent::token("*").unwrap());
            let list = list(&targets_of(&policy), "\n");
            check(body, &RFC9309, &agents, &list).unwrap_or_else(|difference| panic!("{archive}, {name}: {difference}"));
        }
    }
}

/// Rule sets of every kind of floating rule are decided at once, and not row by row: fewer looks at rows one by one are what blocks are for.
#[test]
fn floating_rules_of_every_kind_are_decided_at_once() {
    for pattern in
        ["/*?", "*?", "/*.pdf$", "/*a*b*c", "*ab*c$", "/*?a=", "/*/b/", "*;", "/*$", "/*a$", "/*%2Fa", "/*b&f%5B*", "*a*%3Ab*c", "/*%2Fa$"]
    {
        let robots = format!("User-agent: *\nDisallow: {pattern}\nDisallow: /x/y\n");
        let policy = Policy::parse(robots.as_bytes(), &RFC9309);
        let octets = robosieve::compile::compile(&policy, &Options::default());
        let program = robosieve::program::Program::check(&octets).unwrap();
        let matcher = robosieve::matcher::Matcher::new(program.rule_set(0).unwrap()).unwrap();
        assert!(matcher.decides_blocks(), "{pattern}");
    }
}

/// A decoded spelling counts behind the first `?` alone, wherever in its rule it stands.
#[test]
fn escaped_delimiters_behind_stars_count_in_queries() {
    let patterns = ["*&f%5B*", "*?f%5B*", "/*%2Fb", "/*a*%2Fb", "/*%3Aa*%2Fb*c", "/*%2Fb$", "/*a*%40$", "/*%2F", "*%5D*=", "/*/x*%3F"];
    let parts = ["/", "/a", "/b", "/x", "?", "&f[", "f[0]=", "a", ":a", "/b", "b", "c", "@", "%2Fb", "%5B", "%3f", "?f[", "[x]=", "#/b"];
    let mut seed = 7u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    let targets: Vec<Vec<u8>> = (0..3000).map(|_| (0..1 + random(7)).flat_map(|_| parts[random(parts.len())].bytes()).collect()).collect();
    for skip in 0..=patterns.len() {
        let rules = patterns.iter().enumerate().filter(|(index, _)| skip == patterns.len() || *index == skip);
        let rules: String = rules.map(|(index, pattern)| format!("{}: {pattern}\n", ["Disallow", "Allow"][index % 5 / 4])).collect();
        let robots = format!("User-agent: *\nDisallow: /b\n{rules}");
        check(robots.as_bytes(), &RFC9309, &agents(), &list(&targets, "\n")).unwrap();
    }
}
