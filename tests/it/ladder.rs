//! Every rung of the ladder against the oracle.

use proptest::prelude::*;

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile, with_ranks};
use robosieve::decision::{Decision, Reason, Verdict};
use robosieve::dialect::{Dialect, RFC9309};
use robosieve::explain::explain;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::policy::Policy;
use robosieve::program::{Binding, Detail, Program, Rung};
use robosieve::url::Url;

pub use crate::claims::decide::right_answer;
use crate::corpus;
use crate::oracle::{self, Oracle};

/// What the tests compare: verdict, reason, line.
type Answer = (Verdict, Reason, u32);

/// Every way to compile.
fn all_options() -> Vec<Options> {
    let mut all = Vec::new();
    for detail in [Detail::Verdicts, Detail::Rules] {
        for rung in [None, Some(Rung::Constant), Some(Rung::Dfa), Some(Rung::Backstop)] {
            all.push(Options::default().with_detail(detail).with_rung(rung));
        }
        // Budgets that end early: without gated rules, without an automaton, with some or all rule sets filtered.
        for (work, merge) in [(0, None), (90, None), (400, Some(200)), (1_000_000, Some(0))] {
            all.push(Options::default().with_detail(detail).with_budgets(work, merge));
        }
    }
    all
}

/// A policy compiled in every way.
pub struct Ladder {
    policy: Policy,
    programs: Vec<(Options, Vec<u8>)>,
    scratch: Scratch,
}

impl Ladder {
    pub fn new(robots: &[u8], options: Vec<Options>) -> Ladder {
        Ladder::in_dialect(robots, &RFC9309, options)
    }

    fn in_dialect(robots: &[u8], dialect: &Dialect, options: Vec<Options>) -> Ladder {
        let policy = Policy::parse(robots, dialect);
        let programs = options.into_iter().flat_map(|options| compiled(&policy, options)).collect();
        Ladder { policy, programs, scratch: Scratch::new() }
    }

    /// The answer of every program, which must be one.
    pub fn decide(&mut self, agent: &Agent, url: &[u8]) -> Answer {
        let Ok(rest) = Url::split(url).and_then(|url| url.write_origin(&mut Vec::new()).map(|()| url.rest())) else {
            return (Verdict::Unresolved, Reason::BadUrl, 0);
        };
        self.decide_raw(agent, rest)
    }

    /// The same about what stands behind an authority.
    fn decide_raw(&mut self, agent: &Agent, rest: &[u8]) -> Answer {
        let mut first = None;
        for (options, octets) in &self.programs {
            let program = Program::check(octets).unwrap();
            let decision = decide(&program, agent, rest, &mut self.scratch);
            let line = self.policy.rule(decision.rule).map_or(0, |rule| rule.line());
            let answer = (decision.verdict, decision.reason, line);
            let first = *first.get_or_insert(answer);
            assert_eq!(answer, first, "{options:?} on {} for {agent:?}\n{program:#}", rest.escape_ascii());
        }
        first.unwrap()
    }
}

/// The program, and if it knows verdicts alone, the one that is made of it to know rules.
fn compiled(policy: &Policy, options: Options) -> Vec<(Options, Vec<u8>)> {
    let octets = compile(policy, &options);
    if options.detail == Detail::Rules {
        return vec![(options, octets)];
    }
    let ranked = with_ranks(&Program::check(&octets).unwrap()).unwrap();
    let ranked_options = options.clone().with_detail(Detail::Rules);
    if options.rung.is_none() && options.work_budget == Options::default().work_budget {
        assert!(ranked == compile(policy, &ranked_options), "not what the policy compiles to: {options:?}");
    }
    vec![(options, octets), (ranked_options, ranked)]
}

fn decide(program: &Program<'_>, agent: &Agent, rest: &[u8], scratch: &mut Scratch) -> Decision {
    let Some(set) = program.bind(agent).rule_set() else {
        let exempt = program.form().is_exempt(rest, &mut Vec::new());
        return Decision::new(Verdict::Allow, if exempt { Reason::RobotsTxt } else { Reason::NoGroup });
    };
    let matcher = Matcher::new(program.rule_set(set).unwrap()).unwrap();
    let decision = matcher.decide(rest, scratch).unwrap();
    let allows = matcher.allows(rest, scratch).unwrap();
    assert_eq!(allows, decision.verdict == Verdict::Allow, "verdict and decision differ on {}\n{program:#}", rest.escape_ascii());
    decision
}

fn agents() -> [Agent; 4] {
    [
        Agent::token("*").unwrap(),
        Agent::token("abot").unwrap(),
        Agent::profile("b", ["bbot", "abot"], true),
        Agent::profile("cbot", ["cbot"], false),
    ]
}

/// Pieces that patterns and targets are made of, few enough that they meet.
fn pieces() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(
        prop::sample::select(vec![
            "a",
            "b",
            "ab",
            "aa",
            "/",
            "/a",
            ".php",
            "?",
            "?a=",
            "&",
            "%2F",
            "%2f",
            "%3A",
            ":",
            "%41",
            "%",
            "%4",
            "%2A",
            "%24",
            "$",
            "é",
            " ",
            "robots.txt",
            "/robots.txt",
            "%C3%A9",
            "abcabc",
            "//",
            "{",
            "%25",
            "=http:",
            "/index.html",
            "3F",
        ]),
        0..7,
    )
}

fn pattern() -> impl Strategy<Value = String> {
    let starred = prop::collection::vec(prop_oneof![3 => Just(""), 2 => Just("*"), 1 => Just("**")], 8);
    (pieces(), starred, prop::sample::select(vec!["/", "/", "/", "", "*", "/*"]), any::<bool>()).prop_map(
        |(pieces, stars, front, anchor)| {
            let mut pattern = String::from(front);
            for (piece, star) in pieces.iter().zip(stars) {
                pattern.push_str(piece);
                pattern.push_str(star);
            }
            if anchor && pattern.len() % 3 == 0 {
                pattern.push('$');
            }
            pattern
        },
    )
}

pub fn robots() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        2 => prop::sample::select(vec!["*", "abot", "ABOT/2", "bbot", "cbot", "", "other"]).prop_map(|agent| format!("User-agent: {agent}")),
        7 => (any::<bool>(), pattern()).prop_map(|(allow, pattern)| format!("{}: {pattern}", if allow { "Allow" } else { "Disallow" })),
        1 => prop::sample::select(vec!["", "# c", "Crawl-delay: 1", "foo", "Disallow:"]).prop_map(str::to_owned),
    ];
    prop::collection::vec(line, 1..24).prop_map(|lines| format!("User-agent: *\n{}", lines.join("\n")))
}

/// Targets: some free, some made from the patterns by filling their stars.
pub fn target() -> impl Strategy<Value = String> {
    (pieces(), prop::sample::select(vec!["", "/", "?", "/a", "#x"])).prop_map(|(pieces, front)| format!("{front}{}", pieces.concat()))
}

/// Targets that a rule's own text suggests.
pub fn targets_of(policy: &Policy) -> Vec<Vec<u8>> {
    let mut targets = Vec::new();
    for rule in policy.rules() {
        for fill in [&b""[..], b"x", b"a/b", b"?q=%2F"] {
            let mut target: Vec<u8> = rule.value().split(|&octet| octet == b'*').collect::<Vec<_>>().join(fill);
            if target.last() == Some(&b'$') {
                target.pop();
            }
            targets.push([&target[..], b"a"].concat());
            targets.push([&target[..target.len().saturating_sub(1)], b"?"].concat());
            targets.push(target);
        }
    }
    targets
}

fn url(target: &[u8]) -> Vec<u8> {
    [b"https://example.com".as_slice(), target].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_rung_agrees_with_the_oracle(robots in robots(), free in prop::collection::vec(target(), 1..12)) {
        let oracle = Oracle::parse(robots.as_bytes());
        let mut ladder = Ladder::new(robots.as_bytes(), all_options());
        let mut targets = targets_of(&ladder.policy);
        targets.extend(free.into_iter().map(String::into_bytes));
        for agent in agents() {
            for target in &targets {
                let url = url(target);
                prop_assert_eq!(ladder.decide(&agent, &url), right_answer(&oracle, &agent, &url), "{} for {:?}", url.escape_ascii(), agent);
            }
        }
    }

    /// In every dialect the engine decides what one rule after another decides.
    #[test]
    fn every_rung_agrees_with_explanations(robots in robots(), free in prop::collection::vec(target(), 1..8)) {
        for dialect in &Dialect::ALL {
            let mut ladder = Ladder::in_dialect(robots.as_bytes(), dialect, all_options());
            let policy = ladder.policy.clone();
            let mut targets = targets_of(&policy);
            targets.extend(free.iter().map(|target| target.clone().into_bytes()));
            // Behind an authority stands a path, a query, a fragment or nothing.
            targets.iter_mut().filter(|target| !matches!(target[..], [] | [b'/' | b'?' | b'#', ..])).for_each(|target| target.insert(0, b'/'));
            for agent in agents() {
                for target in &targets {
                    let explanation = explain(&policy, &agent, target);
                    let decision = explanation.decision;
                    let line = explanation.matches.first().filter(|_| decision.rule.index().is_some()).map_or(0, |(_, rule)| rule.line());
                    let expected = (decision.verdict, decision.reason, line);
                    prop_assert_eq!(ladder.decide_raw(&agent, target), expected, "{} for {:?} in {}", target.escape_ascii(), agent, dialect.name);
                }
            }
        }
    }

    #[test]
    fn any_octets_are_a_policy(robots in prop::collection::vec(any::<u8>(), 0..400), target in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut body = b"user-agent:*\ndisallow:/".to_vec();
        body.extend(robots);
        let oracle = Oracle::parse(&body);
        let mut ladder = Ladder::new(&body, all_options());
        let agent = Agent::token("*").unwrap();
        let url = url(&[b"/", &target[..]].concat());
        prop_assert_eq!(ladder.decide(&agent, &url), right_answer(&oracle, &agent, &url));
    }

    #[test]
    fn origins_agree_with_the_oracle(row in "(http|HTTPS|ftp|x-y)?(://|:/|//)?[a-cA-C.:@%0-9\\[\\]é _-]{0,12}[/?#]?[a-c/?#@]{0,4}") {
        let ours = Url::split(row.as_bytes()).and_then(|url| url.origin()).ok();
        prop_assert_eq!(ours, oracle::origin(row.as_bytes()), "{}", row);
    }

    #[test]
    fn canonical_targets_agree_with_the_oracle(octets in prop::collection::vec(prop_oneof![3 => prop::sample::select(b"%/?#:@4a1AF2$*~ ".to_vec()), 1 => any::<u8>()], 0..24)) {
        let url = url(&[b"/", &octets[..]].concat());
        let mut ours = Vec::new();
        Url::split(&url).unwrap().write_target(&mut ours);
        prop_assert_eq!(Some(ours), oracle::canonical_target(&url));
    }
}

/// Every real robots.txt, against targets built from its own rules.
#[test]
fn real_policies_agree_with_the_oracle() {
    for archive in ["robots-top.tar.zst", "robots-gov.tar.zst"] {
        let Some(bodies) = corpus::bodies(archive, "real_policies_agree_with_the_oracle") else { return };
        let threads = std::thread::available_parallelism().unwrap().get();
        let checks: usize = std::thread::scope(|scope| {
            let bodies = &bodies;
            let share =
                move |first: usize| bodies.iter().skip(first).step_by(threads).map(|(name, body)| check_real(name, body)).sum::<usize>();
            let running: Vec<_> = (0..threads).map(|first| scope.spawn(move || share(first))).collect();
            running.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        eprintln!("{archive}: {} files, {checks} decisions, no difference", bodies.len());
        assert!(bodies.len() > 4000 && checks > 100_000);
    }
}

fn check_real(name: &str, body: &[u8]) -> usize {
    let oracle = Oracle::parse(body);
    let small = body.len() < 4000;
    let options = match small {
        true => all_options(),
        false => {
            vec![Options::default(), Options::default().with_rung(Some(Rung::Backstop)), Options::default().with_detail(Detail::Rules)]
        }
    };
    let mut ladder = Ladder::new(body, options);
    let targets = targets_of(&ladder.policy);
    // Large files are sampled, since the oracle looks at every rule for every target. ROBOSIEVE_THOROUGH looks eight times as closely.
    let looks = if std::env::var_os("ROBOSIEVE_THOROUGH").is_some() { 40_000 } else { 5_000 };
    let step = (targets.len() * ladder.policy.rules().len() / looks).max(1);
    let token = ladder.policy.groups().flat_map(|group| group.agents()).find_map(|agent| match agent.token()? {
        robosieve::agent::LineToken::Product(token) => Agent::token(std::str::from_utf8(token).ok()?).ok(),
        robosieve::agent::LineToken::Star => None,
    });
    let mut checks = 0;
    for agent in [Some(Agent::token("*").unwrap()), token].into_iter().flatten() {
        for target in targets.iter().step_by(step) {
            let url = url(target);
            assert_eq!(ladder.decide(&agent, &url), right_answer(&oracle, &agent, &url), "{name}: {} for {agent:?}", url.escape_ascii());
            checks += 1;
        }
    }
    checks
}

#[test]
fn bindings_follow_the_order_of_tokens() {
    let policy = Policy::parse(b"User-agent: a\nDisallow: /a\nUser-agent: *\nDisallow: /\n", &RFC9309);
    let octets = compile(&policy, &Options::default());
    let program = Program::check(&octets).unwrap();
    let bind = |tokens: &[&str], star| program.bind(&Agent::profile("x", tokens.iter().copied(), star));
    assert!(matches!(bind(&["b", "A"], true), Binding::Named { token: 1, .. }));
    assert!(matches!(bind(&["b"], true), Binding::Star { .. }));
    assert_eq!(bind(&["b"], false), Binding::Nobody);
}

/// Each rung is chosen where it should be, so that the tests above meet them all.
#[test]
fn each_rung_is_chosen_where_it_applies() {
    let choice = |rules: &str, options: &Options| {
        let policy = Policy::parse(format!("User-agent: *\n{rules}").as_bytes(), &RFC9309);
        let octets = compile(&policy, options);
        let program = Program::check(&octets).unwrap();
        let set = program.rule_set(program.star_rule_set().unwrap()).unwrap();
        (set.block().rung(), set.block().has_floating(), set.is_filtered())
    };
    let default = Options::default();
    for (rules, expected) in [
        ("Disallow: /", (Rung::Constant, false, false)),
        ("Allow: /x\nDisallow: /*", (Rung::Dfa, false, false)),
        ("Allow: /a*b", (Rung::Constant, false, false)),
        ("Disallow: /a*b$", (Rung::Dfa, false, false)),
        ("Disallow: /*b", (Rung::Dfa, true, false)),
        ("Disallow: *", (Rung::Constant, false, false)),
    ] {
        assert_eq!(choice(rules, &default), expected, "{rules}");
    }
    let broke = default.clone().with_budgets(3, None);
    assert_eq!(choice("Disallow: /abc\nDisallow: /b", &broke), (Rung::Backstop, false, false));
    let unmerged = default.clone().with_budgets(1_000_000, Some(0));
    assert_eq!(choice("Disallow: /abc", &unmerged), (Rung::Backstop, false, true));
    assert_eq!(choice("Disallow: /", &default.with_rung(Some(Rung::Backstop))).0, Rung::Backstop);
}

/// A rule without stars but one in front matches its own text, in a path and in a query.
#[test]
fn a_rule_meets_its_own_text() {
    for text in ["%%2F%41", "%%2F%31", "%2%2F%41x", "%%3A%%2F%4", "a%2Fb%3a", "%%%2F%66%2f%2", "%4%5B%41"] {
        let robots = format!("User-agent: *\nDisallow: /*{text}\n");
        let oracle = Oracle::parse(robots.as_bytes());
        let mut ladder = Ladder::new(robots.as_bytes(), all_options());
        let agent = Agent::token("*").unwrap();
        for url in [format!("http://h/x{text}"), format!("http://h/x?{text}"), format!("http://h/?a={text}/b")] {
            let answer = ladder.decide(&agent, url.as_bytes());
            assert_eq!(answer, (Verdict::Disallow, Reason::Rule, 2), "{url}");
            assert_eq!(answer, right_answer(&oracle, &agent, url.as_bytes()));
        }
    }
}
