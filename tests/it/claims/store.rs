//! Any octets are a store or an error, and a damaged store gives the right verdicts or none. The first octet of the input says what the rest is:
//!
//! * `W`: the octets of a file;
//! * `P`: patches of a sound store, four octets each, which no check may miss;
//! * `R`: such patches, after which every checksum is made right again. Then verdicts may be others; nothing may panic or go on without end;
//! * `U`: patches of a program that nobody checks, as if a mapped file changed while it is read.

use std::sync::OnceLock;

use robosieve::agent::Agent;
use robosieve::compile::{Options, compile};
use robosieve::decision::{RuleId, Verdict};
use robosieve::dialect::{Dialect, GOOGLE, RFC9309, SCRAPY};
use robosieve::fetch::Outcome;
use robosieve::io::lines::MappedLines;
use robosieve::matcher::{Matcher, Scratch};
use robosieve::pipeline::{Evaluator, Source, Worker};
use robosieve::policy::Policy;
use robosieve::program::{Detail, Program};
use robosieve::store::build::{Builder, Record};
use robosieve::store::{SnapshotTime, Store};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const LIST: &[u8] = b"https://a.example/x/y\nhttps://a.example/private/1?q\nhttp://a.example/z%2Fb.php\nhttps://b.example/robots.txt\n\
    https://b.example/a.php\nhttps://c.example/\nhttps://d.example/\nno URL\n";

const POLICIES: [(&str, &str); 2] = [
    (
        "a.example",
        "User-agent: *\nDisallow: /private/\nAllow: /private/1$\nDisallow: /x*y\nDisallow: /*%2Fb*.php$\nUser-agent: abot\nAllow: /",
    ),
    ("https_b.example_443", "User-agent: abot\nUser-agent: bbot\nDisallow: /*.php\nAllow: /a\nUser-agent: *\nDisallow: /"),
];

/// No input leads to more steps through a store than this.
const MAX_STEPS: usize = 64;

pub fn check(data: &[u8]) {
    match data {
        [b'W', octets @ ..] => {
            let _ = Store::from_octets(octets.to_vec()).map(|store| look_at(&store));
        }
        [b'P', kind, patches @ ..] => {
            let sound = sound(*kind);
            check_damaged(patched(&sound.octets, patches), &sound.verdicts);
        }
        [b'R', kind, patches @ ..] => {
            let octets = repaired(patched(&sound(*kind).octets, patches));
            let _ = Store::from_octets(octets).map(|store| look_at(&store));
        }
        [b'U', kind, patches @ ..] => look_at_unchecked(&patched(program(*kind), patches)),
        _ => {}
    }
}

/// A sound store and what it answers.
struct Sound {
    octets: Vec<u8>,
    verdicts: Vec<Verdict>,
}

fn sound(kind: u8) -> &'static Sound {
    static STORES: OnceLock<Vec<Sound>> = OnceLock::new();
    let stores = STORES.get_or_init(|| {
        let kinds = [build(RFC9309, true), build(RFC9309, false), build(GOOGLE, true), build(SCRAPY, true), build_for_any(RFC9309)];
        kinds.into_iter().map(Sound::of).collect()
    });
    &stores[usize::from(kind) % stores.len()]
}

impl Sound {
    fn of(octets: Vec<u8>) -> Sound {
        let store = Store::from_octets(octets.clone()).unwrap();
        store.verify().unwrap();
        let verdicts = verdicts(&store, true);
        assert!([Verdict::Allow, Verdict::Disallow].iter().all(|verdict| verdicts.contains(verdict)));
        Sound { octets, verdicts }
    }
}

fn build(dialect: Dialect, keep_bodies: bool) -> Vec<u8> {
    let mut builder = Builder::new(dialect).keep_bodies(keep_bodies);
    for (name, body) in POLICIES {
        builder.add_name(name, Record::body(body.into()).with_time(SnapshotTime::Observed(7))).unwrap();
    }
    builder.add_name("a.example", Record::body(b"# older".to_vec())).unwrap();
    builder.add_name("c.example", Record::body(b"gone".to_vec()).with_outcome(Outcome::Status(404))).unwrap();
    builder.finish().unwrap().into_octets()
}

fn build_for_any(dialect: Dialect) -> Vec<u8> {
    let mut builder = Builder::new(dialect);
    builder.add_any(Record::body(POLICIES[0].1.into()));
    builder.finish().unwrap().into_octets()
}

/// A damaged store gives the right verdicts or none; one that passes every check gives all of them.
fn check_damaged(octets: Vec<u8>, right: &[Verdict]) {
    let Ok(store) = Store::from_octets(octets) else { return };
    let verified = store.verify().is_ok();
    for detail in [false, true] {
        let verdicts = verdicts(&store, detail);
        assert_eq!(verdicts.len(), right.len());
        let differs = |(verdict, right): (&Verdict, &Verdict)| verdict != right && (verified || *verdict != Verdict::Unresolved);
        assert!(!verdicts.iter().zip(right).any(differs), "{verdicts:?} where {right:?} is right");
    }
    look_at(&store);
}

/// What the pipeline says of every row and agent, with rules or without.
fn verdicts(store: &Store, detail: bool) -> Vec<Verdict> {
    let agents = ["*", "abot", "zbot"].map(|token| Agent::token(token).unwrap()).to_vec();
    let evaluator = Evaluator::new(store, agents);
    let batch = MappedLines::new(LIST).next_batch().unwrap().unwrap();
    let decided = Worker::new().decide(&evaluator, batch, detail, None);
    let cells = (0..decided.row_count()).flat_map(|row| (0..decided.columns().len()).map(move |agent| (row, agent)));
    let verdict = |(row, agent)| {
        let verdict = decided.verdict(row, agent);
        assert!(!detail || decided.decisions(row)[agent].verdict == verdict);
        verdict
    };
    cells.map(verdict).collect()
}

/// Everything that the store can be asked.
fn look_at(store: &Store) {
    let _ = store.verify();
    let _ = (store.meta(), store.dialect(), store.digest(), store.octet_len());
    let _ = (store.origin_count(), store.snapshot_count(), store.program_count(), store.rule_table_count(), store.body_count());
    let _ = [false, true].map(|detail| verdicts(store, detail));
    for key in [&b"https://a.example"[..], b"http://a.example", b"//b.example", b"https://d.example", b""] {
        let _ = store.find(key).map(|origin| origin.map(|origin| origin.key().len()));
    }
    for origin in store.origins().take(MAX_STEPS).flatten() {
        let _ = origin.newest();
        for snapshot in origin.snapshots().take(MAX_STEPS).flatten() {
            let _ = (snapshot.time(), snapshot.outcome(), snapshot.final_url(), snapshot.digest(), snapshot.read_len());
            let _ = store.body(&snapshot);
            let table = store.rule_table(&snapshot);
            let rules = table.iter().flat_map(|table| (0..table.len().min(MAX_STEPS)).map(|id| table.rule(RuleId::new(id as u32))));
            rules.flatten().for_each(|rule| assert!(rule.text.len() <= store.octet_len()));
        }
    }
    for program in store.programs().take(MAX_STEPS).flatten() {
        let _ = format!("{program:#}");
    }
}

fn program(kind: u8) -> &'static [u8] {
    static PROGRAMS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let programs = PROGRAMS.get_or_init(|| {
        let options = [Options::default(), Options::default().with_detail(Detail::Rules), Options::default().with_budgets(0, Some(0))];
        let policies = [RFC9309, SCRAPY].map(|dialect| Policy::parse(POLICIES.map(|(_, body)| body).join("\n").as_bytes(), &dialect));
        policies.iter().flat_map(|policy| options.iter().map(|options| compile(policy, options))).collect()
    });
    &programs[usize::from(kind) % programs.len()]
}

fn look_at_unchecked(octets: &[u8]) {
    let Ok(program) = Program::view(octets) else { return };
    let mut scratch = Scratch::new();
    for agent in ["abot", "zbot"] {
        let bound = program.bind(&Agent::token(agent).unwrap()).rule_set();
        let Some(Ok(matcher)) = bound.map(|set| program.rule_set(set).and_then(Matcher::new)) else { continue };
        for target in [&b"/private/1?q"[..], b"/x/y/z%2Fb.php", b"/xaaaaaaaaaaaay", b"", b"/robots.txt", b"/a?b=%2Fb.php"] {
            let _ = (matcher.allows(target, &mut scratch), matcher.decide(target, &mut scratch));
        }
    }
    let _ = format!("{program:#}");
}

/// `sound` with patches: the first octet of each chooses a section and what to do, the next two a place there, the last a value.
fn patched(sound: &[u8], patches: &[u8]) -> Vec<u8> {
    let mut octets = sound.to_vec();
    for &[choice, low, high, value] in patches.as_chunks::<4>().0.iter().take(32) {
        let (start, len) = section(sound, usize::from(choice & 15)).unwrap_or((0, sound.len()));
        if len == 0 || start + len > octets.len() {
            continue;
        }
        let place = usize::from(u16::from_le_bytes([low, high])) % len;
        let at = start + place;
        match choice >> 4 {
            0..=3 => octets[at] = value,
            4..=6 => octets[at] ^= value,
            7..=9 => octets[at] = octets[at].wrapping_add(value as i8 as u8),
            // A word from elsewhere in the section: records that change places, indices that meet.
            10..=12 => {
                let from = start + place.wrapping_add(usize::from(value) * 4) % len;
                let count = 8.min(start + len - at).min(start + len - from);
                octets.copy_within(from..from + count, at);
            }
            13 | 14 => octets[at..(at + 8).min(start + len)].fill(value),
            _ => octets.truncate(at),
        }
    }
    octets
}

const TABLE: usize = 64;
const SECTION_COUNT: usize = 11;

fn word(octets: &[u8], at: usize) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(*octets.get(at..)?.first_chunk()?)).ok()
}

fn half(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*octets.get(at..)?.first_chunk()?))
}

fn put(octets: &mut [u8], at: usize, value: &[u8]) -> Option<()> {
    octets.get_mut(at..)?.get_mut(..value.len())?.copy_from_slice(value);
    Some(())
}

/// Where a section lies: header and section table for the first number behind the last, nothing for others.
fn section(octets: &[u8], index: usize) -> Option<(usize, usize)> {
    if index == SECTION_COUNT {
        return Some((0, TABLE + SECTION_COUNT * 24));
    }
    let at = (index < SECTION_COUNT).then_some(TABLE + index * 24)?;
    let (offset, len) = (word(octets, at)?, word(octets, at + 8)?);
    octets.get(offset..)?.get(..len)?;
    Some((offset, len))
}

/// The octets with every checksum right (docs/FORMAT.md), as far as what they cover can be found.
fn repaired(mut octets: Vec<u8>) -> Vec<u8> {
    let len = octets.len() as u64;
    let _ = put(&mut octets, 16, &len.to_le_bytes());
    for index in [4, 6, 8] {
        repair_index(&mut octets, index);
    }
    let _ = repair_records(&mut octets);
    for index in 0..SECTION_COUNT {
        if let Some((offset, len)) = section(&octets, index) {
            let checksum = xxh3_64(&octets[offset..offset + len]);
            let _ = put(&mut octets, TABLE + index * 24 + 16, &checksum.to_le_bytes());
        }
    }
    if let (Some(head), Some(table)) = (octets.get(..32), octets.get(TABLE..TABLE + SECTION_COUNT * 24)) {
        let digest = xxh3_64_with_seed(table, xxh3_64(head));
        let _ = put(&mut octets, 32, &digest.to_le_bytes());
    }
    octets
}

fn repair_index(octets: &mut [u8], index: usize) {
    let (Some((start, len)), Some((data, data_len))) = (section(octets, index), section(octets, index + 1)) else { return };
    for (place, at) in (start..start + len).step_by(32).enumerate() {
        let checksum = || {
            let (offset, len, raw_len) = (word(octets, at)?, word(octets, at + 8)?, word(octets, at + 16)? as u64);
            let entry = octets[data..data + data_len].get(offset..)?.get(..len)?;
            Some(xxh3_64_with_seed(entry, raw_len ^ (place as u64) << 40))
        };
        if let Some(checksum) = checksum() {
            let _ = put(octets, at + 24, &checksum.to_le_bytes());
        }
    }
}

fn repair_records(octets: &mut [u8]) -> Option<()> {
    let ((origins, origins_len), (snapshots, snapshots_len)) = (section(octets, 2)?, section(octets, 3)?);
    let (strings, strings_len) = section(octets, 10)?;
    for at in (origins..origins + origins_len).step_by(24) {
        let (offset, len) = (word(octets, at)?, half(octets, at + 8)? as usize);
        let (first, count) = (half(octets, at + 12)?, half(octets, at + 16)?);
        let Some(key) = octets[strings..strings + strings_len].get(offset..).and_then(|rest| rest.get(..len)) else { continue };
        let key = key.to_vec();
        let check = xxh3_64_with_seed(&key, u64::from(first) << 32 | u64::from(count)) as u32;
        put(octets, at + 20, &check.to_le_bytes())?;
        for index in (first..first.saturating_add(count)).take(MAX_STEPS) {
            let place = index as usize * 88;
            let Some(record) = octets[snapshots..snapshots + snapshots_len].get(place..).and_then(|rest| rest.get(..88)) else { break };
            let owner = xxh3_64_with_seed(&key, u64::from(index));
            let check = xxh3_64_with_seed(&record[..36], xxh3_64_with_seed(&record[40..], owner)) as u32;
            put(octets, snapshots + place + 36, &check.to_le_bytes())?;
        }
    }
    Some(())
}
