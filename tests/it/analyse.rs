//! Shadowing proved: what the analysis calls shadowed never decides, and what it does not has a target that shows it, for the engine as it is used.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use robosieve::analyse::{Analysis, Budget, Reach, Shadow, can_match};
use robosieve::compile::{Options, compile};
use robosieve::decision::{Reason, RuleId};
use robosieve::dialect::{Dialect, GOOGLE, RFC9309, SCRAPY};
use robosieve::form::{TargetForm, is_robots_txt};
use robosieve::matcher::{Matcher, Scratch};
use robosieve::percent::Parts;
use robosieve::policy::{Policy, Rule};
use robosieve::program::{Detail, Program, Rung};

use crate::corpus;
use crate::hostile::{self, KINDS};

/// A policy, what compiles from it by default, and what the analysis says.
struct Case {
    policy: Policy,
    octets: Vec<u8>,
}

impl Case {
    fn new(robots: &str, dialect: &Dialect) -> Case {
        let policy = Policy::parse(robots.as_bytes(), dialect);
        let octets = compile(&policy, &Options::default().with_detail(Detail::Rules));
        Case { policy, octets }
    }

    fn reaches(&self) -> Vec<Reach> {
        Analysis::of(&self.policy).reaches(Budget::default())
    }

    fn shadows(&self) -> Vec<Shadow> {
        Analysis::of(&self.policy).shadows(Budget::default())
    }

    fn rules(&self) -> Vec<Rule<'_>> {
        self.policy.rules().collect()
    }

    fn parts(&self, rule: u32) -> Parts {
        let rule = self.rules()[rule as usize];
        self.policy.dialect().form.parts(rule.pattern(), rule.value())
    }

    /// The rule that decides in a rule set.
    fn decides(&self, rule_set: u32, raw: &[u8]) -> Option<u32> {
        let program = Program::check(&self.octets).unwrap();
        let matcher = Matcher::new(program.rule_set(rule_set).unwrap()).unwrap();
        let decision = matcher.decide(raw, &mut Scratch::new()).unwrap();
        assert_eq!(decision.reason == Reason::Rule, decision.rule.index().is_some());
        decision.rule.index()
    }

    fn outranks(&self, rule: u32, other: u32) -> bool {
        let rank = |id: u32| {
            let rule = self.rules()[id as usize];
            (rule.specificity(), rule.allows(), Reverse(id))
        };
        rank(rule) > rank(other)
    }

    /// Holds what is said of one rule in one rule set to all `targets`, which are raw.
    fn check(&self, rule_set: u32, rule: u32, reach: &Reach, targets: &[Vec<u8>]) {
        let form = self.policy.dialect().form;
        let text = || format!("rule {rule} in rule set {rule_set}: {reach:?}\n{:?}", self.rules().iter().map(text).collect::<Vec<_>>());
        match reach {
            Reach::Decides { witness, rule_set: named } => {
                assert_eq!(*named, rule_set);
                assert_eq!(self.decides(rule_set, witness), Some(rule), "{}", text());
                assert!(witness.starts_with(b"/") && !witness.contains(&b'#'), "{}", text());
            }
            Reach::NeverMatches if self.rules()[rule as usize].pattern().is_empty() => {}
            Reach::NeverMatches => {
                let parts = self.parts(rule);
                let matched = |raw: &&Vec<u8>| parts.matches(form.canonical(raw, &mut Vec::new()));
                assert_eq!(targets.iter().find(matched), None, "{}", text());
            }
            Reach::Shadowed { by, robots_txt } => {
                let parts = self.parts(rule);
                let by: Vec<u32> = by.iter().map(|by| by.index().unwrap()).collect();
                assert!(by.iter().all(|&by| self.outranks(by, rule)), "{}", text());
                assert!(!by.is_empty() || *robots_txt, "{}", text());
                let by: Vec<Parts> = by.into_iter().map(|by| self.parts(by)).collect();
                for raw in targets {
                    let mut buffer = Vec::new();
                    let target = form.canonical(raw, &mut buffer);
                    if parts.matches(target) {
                        let is_exempt = form.robots_txt_exempt() && is_robots_txt(target);
                        let is_covered = by.iter().any(|by| by.matches(target)) || (*robots_txt && is_exempt);
                        assert!(is_covered, "{} on {}", text(), raw.escape_ascii());
                        assert_ne!(self.decides(rule_set, raw), Some(rule), "{} on {}", text(), raw.escape_ascii());
                    }
                }
            }
            _ => panic!("{}", text()),
        }
    }

    fn check_all(&self, targets: &[Vec<u8>]) {
        let analysis = Analysis::of(&self.policy);
        let mut decided_somewhere = BTreeSet::new();
        let mut bound = BTreeSet::new();
        let program = Program::check(&self.octets).unwrap();
        assert_eq!(analysis.rule_sets().len(), program.rule_set_count());
        let mut in_sets = Vec::new();
        for rule_set in 0..analysis.rule_sets().len() as u32 {
            for (rule, reach) in analysis.reaches_in(rule_set, Budget::default()) {
                let rule = rule.index().unwrap();
                self.check(rule_set, rule, &reach, targets);
                bound.insert(rule);
                if matches!(reach, Reach::Decides { .. }) {
                    decided_somewhere.insert(rule);
                }
                in_sets.push((rule, rule_set));
            }
        }
        for (rule, reach) in (0..).zip(analysis.reaches(Budget::default())) {
            assert_eq!(matches!(reach, Reach::Decides { .. }), decided_somewhere.contains(&rule), "rule {rule}: {reach:?}");
            assert_eq!(matches!(reach, Reach::BindsNobody), !bound.contains(&rule), "rule {rule}: {reach:?}");
            match &reach {
                Reach::Decides { rule_set, .. } => self.check(*rule_set, rule, &reach, targets),
                Reach::BindsNobody => {}
                _ => in_sets.iter().filter(|(other, _)| *other == rule).for_each(|&(_, set)| self.check(set, rule, &reach, targets)),
            }
        }
    }
}

fn text(rule: &Rule<'_>) -> String {
    format!("{} {}", if rule.allows() { "allow" } else { "disallow" }, rule.value().escape_ascii())
}

// Random policies.

fn value() -> impl Strategy<Value = String> {
    let pieces = ["a", "b", "/", "*", "*", "?", "%2F", "%", "2", "%41", "$", ":", "index.html", "robots.txt"];
    let weights = [8, 4, 8, 6, 6, 3, 4, 1, 1, 1, 1, 1, 1, 2];
    let piece = prop::strategy::Union::new_weighted(weights.into_iter().zip(pieces.map(Just)).collect());
    let body = prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat());
    (prop::sample::select(&["/", "/", "/", "*", "/a", "/*"][..]), body, prop::bool::weighted(0.2))
        .prop_map(|(start, body, anchored)| format!("{start}{body}{}", if anchored { "$" } else { "" }))
}

fn robots() -> impl Strategy<Value = String> {
    let rule = (any::<bool>(), value()).prop_map(|(allows, value)| format!("{}: {value}\n", if allows { "Allow" } else { "Disallow" }));
    let agents = prop::sample::select(&["*", "one", "two", "one\nUser-agent: two", "two\nUser-agent: *", ""][..]);
    let group = (agents, prop::collection::vec(rule, 1..8)).prop_map(|(agents, rules)| format!("User-agent: {agents}\n{}", rules.concat()));
    prop::collection::vec(group, 1..4).prop_map(|groups| groups.concat())
}

/// All texts of at most `len` pieces behind a `/`.
fn strings(pieces: &[&str], len: usize) -> Vec<Vec<u8>> {
    let mut all = vec![b"/".to_vec()];
    let mut from = 0;
    for _ in 0..len {
        let end = all.len();
        for at in from..end {
            let text = all[at].clone();
            all.extend(pieces.iter().map(|piece| [&text[..], piece.as_bytes()].concat()));
        }
        from = end;
    }
    all
}

/// Targets made of the rules, with different things for their stars.
fn targets_of(policy: &Policy) -> Vec<Vec<u8>> {
    let mut targets = Vec::new();
    for rule in policy.rules() {
        let value = String::from_utf8_lossy(rule.value()).into_owned();
        for star in ["", "x", "a", "/", "?", "?a/", "%2F", "/b?", "/robots.txt"] {
            for tail in ["", "x", "/", "?"] {
                let text = value.replace('*', star).replace('$', "") + tail;
                targets.push(if text.starts_with('/') { text } else { format!("/{text}") }.into_bytes());
            }
        }
    }
    targets
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn proofs_and_witnesses_hold(robots in robots()) {
        let mut targets = strings(&["a", "b", "/", "?", "%2F", "%", "2", "x", ":"], 3);
        targets.extend(strings(&["a", "/", "?", "%2f", "b"], 5));
        targets.extend(["/robots.txt", "/robots.txt?", "/robots.txt?a", "/a/robots.txt", "/%72obots.txt", "/index.html", "/a/index.html"].map(|target| target.as_bytes().to_vec()));
        for dialect in &Dialect::ALL {
            let case = Case::new(&robots, dialect);
            let of_rules = targets_of(&case.policy);
            case.check_all(&targets.iter().chain(&of_rules).cloned().collect::<Vec<_>>());
        }
    }
}

// Single cases.

fn everyone(rules: &str) -> String {
    format!("User-agent: *\n{}\n", rules.replace(", ", "\n"))
}

fn lines(case: &Case) -> Vec<(u32, Vec<u32>, bool)> {
    let line = |by: &RuleId| case.rules()[by.index().unwrap() as usize].line();
    case.shadows().iter().map(|shadow| (shadow.line, shadow.by.iter().map(line).collect(), shadow.robots_txt)).collect()
}

#[test]
fn shadowed_lines() {
    for (rules, shadowed) in [
        ("Disallow: /a, Disallow: /a", vec![(3, vec![2], false)]),
        ("Disallow: /a, Allow: /a", vec![(2, vec![3], false)]),
        ("Disallow: /a, Disallow: /a/b", vec![]),
        ("Disallow: /a*, Disallow: /a", vec![(3, vec![2], false)]),
        ("Disallow: /a$, Disallow: /a", vec![]),
        ("Disallow: /*/, Disallow: *", vec![]),
        ("Disallow: /a, Allow: *a$", vec![]),
        ("Disallow: /aa, Allow: /*a", vec![(2, vec![3], false)]),
        ("Disallow: /aab, Allow: /*a*b", vec![(2, vec![3], false)]),
        // Two spellings: the star of the rule above may meet the path or the query.
        ("Disallow: /*%2Fa, Allow: /*****%2Fa", vec![(2, vec![3], false)]),
        ("Disallow: /*%2Fa, Allow: /**/aaaaaaaaa", vec![]),
        ("Disallow: /*%2Fa, Allow: /****?*/a", vec![]),
        ("Disallow: /?*%2Fa, Allow: /***/a", vec![(2, vec![3], false)]),
        // A rule that begins with a star meets the first `/` with it, or with its first stretch.
        ("Disallow: */a, Allow: /*/a", vec![]),
        ("Disallow: */a, Allow: /*/a, Allow: /a***", vec![(2, vec![3, 4], false)]),
        ("Disallow: */a, Allow: ******/a, Allow: /a***", vec![(2, vec![3], false), (4, vec![3], false)]),
        // robots.txt itself.
        ("Disallow: /robots.txt", vec![]),
        ("Disallow: /robots.txt$", vec![(2, vec![], true)]),
        ("Disallow: /robots.txt?x", vec![(2, vec![], true)]),
        ("Disallow: */robots.txt$", vec![]),
        ("Disallow: */robots.txt$, Allow: /*/robots.txt$", vec![(2, vec![3], true)]),
    ] {
        assert_eq!(lines(&Case::new(&everyone(rules), &RFC9309)), shadowed, "{rules}");
    }
}

#[test]
fn shadowed_for_one_agent_and_not_for_another() {
    let robots = "User-agent: one\nUser-agent: two\nDisallow: /a\n\nUser-agent: two\nAllow: /*\nAllow: /a\n";
    let case = Case::new(robots, &RFC9309);
    let analysis = Analysis::of(&case.policy);
    assert!(matches!(&case.reaches()[0], Reach::Decides { witness, .. } if witness == b"/a"));
    let shadowed = |set: u32| matches!(analysis.reaches_in(set, Budget::default())[0].1, Reach::Shadowed { .. });
    let sets: Vec<u32> = (0..2).filter(|&set| shadowed(set)).collect();
    assert_eq!(sets.iter().map(|&set| &analysis.rule_sets()[set as usize][..]).collect::<Vec<_>>(), [[0, 1]]);
    // The last line is equal in rank to the one before it, and no more is.
    assert_eq!(lines(&case), [(7, vec![6], false)]);

    // In every rule set, by another group in each.
    let robots = "User-agent: one\nUser-agent: two\nDisallow: /a\n\nUser-agent: one\nAllow: /a\n\nUser-agent: two\nAllow: /a*\n";
    let case = Case::new(robots, &RFC9309);
    assert_eq!(lines(&case), [(3, vec![6, 9], false)]);
}

/// A line that a dialect reads as several rules is shadowed when all of them are.
#[test]
fn lines_of_several_rules() {
    let case = Case::new(&everyone("Disallow: /a$, Allow: /a$"), &SCRAPY);
    assert_eq!(case.rules().len(), 4);
    assert_eq!(lines(&case), [(2, vec![3, 3], false)]);
    assert!(lines(&Case::new(&everyone("Disallow: /a$, Allow: /a%24"), &SCRAPY)).is_empty());
    // `/x$b` stands there twice, and the second of the two decides nothing.
    let case = Case::new(&everyone("Disallow: /x$b"), &SCRAPY);
    assert!(matches!(&case.reaches()[..], [Reach::Decides { .. }, Reach::Shadowed { .. }]));
    assert!(case.shadows().is_empty());
}

/// Every octet of a canonical target has a rule of its own: they cover another rule together, and none of them could be left out.
#[test]
fn rules_that_cover_only_together() {
    let octets: Vec<u8> = (0x21..0x7F).filter(|octet| *octet != b'#').collect();
    let robots = |left_out: Option<u8>| {
        let written = |octet: u8| match octet {
            b'*' => "%2A".to_owned(),
            b'$' => "%24".to_owned(),
            octet => char::from(octet).to_string(),
        };
        let octets = octets.iter().copied().filter(|octet| Some(*octet) != left_out);
        everyone(&format!(
            "Disallow: /, Allow: /$, {}",
            octets.map(|octet| format!("Allow: /*{}", written(octet))).collect::<Vec<_>>().join(", ")
        ))
    };
    for (dialect, held_count) in [(&RFC9309, 84), (&SCRAPY, 69)] {
        let case = Case::new(&robots(None), dialect);
        let Reach::Shadowed { by, robots_txt: false } = &case.reaches()[0] else {
            panic!("{}: {:?}", dialect.name, case.reaches()[0]);
        };
        assert_eq!(by.len(), held_count + 1, "{}", dialect.name);
        for left_out in *b"~Q-%/" {
            let case = Case::new(&robots(Some(left_out)), dialect);
            let reach = &case.reaches()[0];
            assert!(matches!(reach, Reach::Decides { .. }), "{}: {reach:?}", dialect.name);
            case.check(0, 0, reach, &[]);
        }
    }
    // Google compares octets beyond ASCII with URLs as they are, and no rule can name one.
    let case = Case::new(&robots(None), &GOOGLE);
    assert!(matches!(&case.reaches()[0], Reach::Decides { .. }));
    case.check(0, 0, &case.reaches()[0], &[]);
}

#[test]
fn patterns_that_no_target_has() {
    let ask = |form, pattern: &[u8]| can_match(form, &Parts::literal(pattern), Budget::default()).unwrap();
    for (pattern, rfc9309, google, scrapy) in [
        (&b"/%41"[..], None, Some("/%41"), Some("/%%341")),
        (b"/%2f", None, Some("/%2f"), Some("/%%32f")),
        (b"/%%41", Some("/%%41"), Some("/%%41"), Some("/%%%341")),
        (b"/a b", None, Some("/a b"), None),
        (b"/a?%3A", None, Some("/a?%3A"), None),
        (b"/a%3A", Some("/a%3A"), Some("/a%3A"), Some("/a%3A")),
        (b"/*?*%3A", None, Some("/?%3A"), None),
        (b"/*{", None, Some("/{"), None),
        (b"/\xE9", None, Some("/\\xe9"), None),
        (b"a", None, None, None),
        (b"*#", None, None, None),
        (b"$", None, None, None),
    ] {
        for (form, expected) in [(TargetForm::RFC9309, rfc9309), (TargetForm::GOOGLE, google), (TargetForm::SCRAPY, scrapy)] {
            let found = ask(form, pattern).map(|target| target.escape_ascii().to_string());
            assert_eq!(found.as_deref(), expected, "{} in {}", pattern.escape_ascii(), form.name());
        }
    }
}

#[test]
fn a_small_budget_is_no_answer() {
    let case = Case::new(&everyone("Disallow: /a, Disallow: /a"), &RFC9309);
    let analysis = Analysis::of(&case.policy);
    assert_eq!(analysis.reaches(Budget::default().with_units(10, 10)), [Reach::Unknown, Reach::Unknown]);
    assert!(analysis.shadows(Budget::default().with_units(10, 10)).is_empty());
}

// Hostile and real files.

/// A tenth of the default budget, which then bounds time; ten times the second that compiling may take unless `ROBOSIEVE_TIMINGS` is set. Memory is that of
/// the program and little more.
#[test]
fn hostile_files_cost_little() {
    let most = Duration::from_secs(if std::env::var_os("ROBOSIEVE_TIMINGS").is_some() { 1 } else { 10 });
    for (name, kind) in KINDS {
        let policy = Policy::parse(&kind().robots, &RFC9309);
        let options = Options::default().with_detail(Detail::Rules).with_rung(Some(Rung::Backstop));
        let (_, of_program) = hostile::peak(|| compile(&policy, &options));
        let (analysis, of_analysis) = hostile::peak(|| Analysis::of(&policy));
        let start = Instant::now();
        let (reaches, of_reaches) = hostile::peak(|| analysis.reaches(Budget::default().with_units(2_000_000, 500_000)));
        let time = start.elapsed();
        let count = |is: fn(&Reach) -> bool| reaches.iter().filter(|reach| is(reach)).count();
        let [shadowed, unknown] = [count(|reach| matches!(reach, Reach::Shadowed { .. })), count(|reach| *reach == Reach::Unknown)];
        let mib = [of_program, of_analysis, of_reaches].map(|octets| octets >> 20);
        println!("{name}: {} rules, {shadowed} shadowed, {unknown} unknown, {time:?}, {mib:?} MiB", reaches.len());
        assert!(time < most, "{name} took {time:?}");
        assert!(of_analysis < of_program + (32 << 20) && of_reaches < 64 << 20, "{name} held {mib:?} MiB");
    }
}

#[test]
fn real_files() {
    for archive in ["robots-gov.tar.zst", "robots-top.tar.zst"] {
        let Some(bodies) = corpus::bodies(archive, "analyse::real_files") else {
            return;
        };
        for dialect in &Dialect::ALL {
            let [mut rules, mut shadowed, mut unknown, mut binding_nobody, mut lines] = [0; 5];
            let start = Instant::now();
            for (_, body) in &bodies {
                let policy = Policy::parse(body, dialect);
                let analysis = Analysis::of(&policy);
                let reaches = analysis.reaches(Budget::of(body.len()));
                rules += reaches.len();
                shadowed += reaches.iter().filter(|reach| matches!(reach, Reach::Shadowed { .. })).count();
                unknown += reaches.iter().filter(|reach| **reach == Reach::Unknown).count();
                binding_nobody += reaches.iter().filter(|reach| **reach == Reach::BindsNobody).count();
                lines += analysis.shadows_of(&reaches).len();
            }
            assert!(unknown * 10_000 <= rules, "{archive} {}: {unknown} of {rules} unknown", dialect.name);
            println!(
                "{archive} {}: {rules} rules, {shadowed} shadowed on {lines} lines, {binding_nobody} bind nobody, {unknown} unknown, {:?}",
                dialect.name,
                start.elapsed()
            );
        }
    }
}
