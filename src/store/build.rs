//! Policies to a store: parsed and compiled on every core, interned, laid out, written beside the old file and put in its place when complete.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::Path;

use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::error::StoreError;
use super::layout::{self, Index, SECTION_COUNT};
use super::meta::Meta;
use super::replace::Replacement;
use super::tables;
use super::{Preferences, SnapshotTime, Store};
use crate::engine::compile::{Options, compile};
use crate::engine::program::Detail;
use crate::protocol::dialect::Dialect;
use crate::protocol::fetch::Outcome;
use crate::protocol::policy::{FindingCode, Policy};
use crate::protocol::usage::UsageKey;
use crate::target::url::{BadUrl, NamedOrigins, origins_of_name};

/// What is known of one robots.txt at one time.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Record {
    /// How its fetch ended.
    pub outcome: Outcome,
    /// When it was seen or put in force.
    pub time: SnapshotTime,
    /// The URL it finally came from; empty when nobody noted it.
    pub final_url: Vec<u8>,
    /// The body as received, if there was one.
    pub body: Option<Vec<u8>>,
}

impl Record {
    /// An undated success with that body.
    pub fn body(body: Vec<u8>) -> Record {
        Record { outcome: Outcome::OK, time: SnapshotTime::Undated, final_url: Vec::new(), body: Some(body) }
    }

    /// The same record with another outcome.
    pub fn with_outcome(self, outcome: Outcome) -> Record {
        Record { outcome, ..self }
    }

    /// The same record with another time.
    pub fn with_time(self, time: SnapshotTime) -> Record {
        Record { time, ..self }
    }
}

/// Collects policies for a store.
///
/// The store depends on what was added and in which order, and on nothing else: not on the number of threads, not on the clock.
#[derive(Debug)]
pub struct Builder {
    dialect: Dialect,
    options: Options,
    keep_bodies: bool,
    any_origin: bool,
    /// The use whose preferences are compiled instead of the rules.
    usage: Option<UsageKey>,
    entries: Vec<Entry>,
    /// What became of each distinct body.
    bodies: HashMap<[u8; 32], Compiled>,
    programs: Interner,
    rule_tables: Interner,
    body_data: Interner,
    report: BuildReport,
}

/// A snapshot of one origin.
#[derive(Debug)]
struct Entry {
    key: String,
    /// Whether it was named with scheme and port: it then beats those that were not.
    exact: bool,
    source: String,
    time: SnapshotTime,
    outcome: Outcome,
    final_url: Vec<u8>,
    digest: [u8; 32],
    body_len: u64,
    compiled: Option<Compiled>,
}

#[derive(Debug, Clone, Copy)]
struct Compiled {
    program: u32,
    rule_table: u32,
    body: Option<u32>,
    read_len: u64,
}

/// What a store was built from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct BuildReport {
    /// Records added.
    pub record_count: u64,
    /// Distinct bodies.
    pub distinct_body_count: u64,
    /// Rules in distinct bodies.
    pub rule_count: u64,
    /// Octets of the bodies of all records.
    pub body_len: u64,
    /// Findings in distinct bodies, by kind.
    pub findings: BTreeMap<FindingCode, u64>,
    /// Records that were left out because another one answers for the same origin and time: theirs, the other's, and the origin.
    pub conflicts: Vec<Conflict>,
}

/// Two records for one origin and time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The origin.
    pub origin: String,
    /// The name of the record that was kept.
    pub kept: String,
    /// The name of the record that was left out.
    pub left_out: String,
}

/// Things stored once: found again by their hash, compared in full.
#[derive(Debug, Default)]
struct Interner {
    data: Vec<u8>,
    index: Vec<u8>,
    known: HashMap<u64, Vec<u32>>,
}

impl Interner {
    fn intern(&mut self, octets: &[u8], raw_len: usize) -> u32 {
        let candidates = self.known.entry(layout::checksum(octets)).or_default();
        let same = |&candidate: &u32| Index::read(&self.index, &self.data, candidate as usize).is_some_and(|entry| entry.octets == octets);
        if let Some(&known) = candidates.iter().find(|candidate| same(candidate)) {
            return known;
        }
        let id = (self.index.len() / layout::INDEX_LEN) as u32;
        candidates.push(id);
        self.index.extend(Index::write(id, self.data.len(), octets, raw_len));
        self.data.extend_from_slice(octets);
        id
    }
}

/// A body parsed and compiled, on whichever thread.
struct Prepared {
    program: Vec<u8>,
    rule_table: Vec<u8>,
    body: Option<Vec<u8>>,
    raw_len: usize,
    read_len: usize,
    rule_count: usize,
    findings: Vec<FindingCode>,
}

impl Builder {
    /// An empty store in that dialect.
    pub fn new(dialect: Dialect) -> Builder {
        Builder {
            dialect,
            options: Options::default(),
            keep_bodies: true,
            any_origin: false,
            usage: None,
            entries: Vec::new(),
            bodies: HashMap::new(),
            programs: Interner::default(),
            rule_tables: Interner::default(),
            body_data: Interner::default(),
            report: BuildReport::default(),
        }
    }

    /// How to compile.
    pub fn options(mut self, options: Options) -> Builder {
        self.options = options;
        self
    }

    /// Whether bodies are kept: explaining and recompiling need them.
    pub fn keep_bodies(mut self, keep: bool) -> Builder {
        self.keep_bodies = keep;
        self
    }

    /// Adds one record under a name (see [`origins_of_name`]).
    ///
    /// # Errors
    ///
    /// [`BadUrl`] when the name stands for no origin.
    pub fn add_name(&mut self, name: &str, record: Record) -> Result<(), BadUrl> {
        let origins = origins_of_name(name)?;
        self.add_batch(vec![(name.to_owned(), origins, record)]);
        Ok(())
    }

    /// Adds one record that answers for every origin. A store holds no other then.
    pub fn add_any(&mut self, record: Record) {
        self.any_origin = true;
        let (digest, compiled) = self.compile_all(std::slice::from_ref(&record)).remove(0);
        self.push("*".to_owned(), true, "*".to_owned(), &record, digest, compiled);
    }

    /// Adds every snapshot of a store, from the body it keeps.
    fn add_store(&mut self, store: &Store) -> Result<(), StoreError> {
        let damaged = |_| StoreError::damaged("a record or body");
        for origin in store.origins() {
            let origin = origin.map_err(damaged)?;
            let mut records = Vec::new();
            for snapshot in origin.snapshots() {
                let snapshot = snapshot.map_err(damaged)?;
                let (outcome, time, final_url) = (snapshot.outcome(), snapshot.time(), snapshot.final_url().to_vec());
                records.push(Record { outcome, time, final_url, body: store.body(&snapshot).map_err(damaged)? });
            }
            self.add_origin(store, String::from_utf8_lossy(origin.key()).into_owned(), records)?;
        }
        Ok(())
    }

    /// Adds what a store knows of an origin. Its key stays as it is where both stores' keys are of one kind: made anew, it would be that of others too.
    fn add_origin(&mut self, store: &Store, key: String, records: Vec<Record>) -> Result<(), StoreError> {
        if store.has_any_origin() {
            records.into_iter().for_each(|record| self.add_any(record));
        } else if store.dialect().form.origin() == self.dialect.form.origin() {
            let compiled = self.compile_all(&records);
            for (record, (digest, compiled)) in records.iter().zip(compiled) {
                self.push(key.clone(), true, key.clone(), record, digest, compiled);
            }
        } else {
            let origins = NamedOrigins::of_key(&key).map_err(|_| StoreError::damaged("an origin key"))?;
            self.add_batch(records.into_iter().map(|record| (key.clone(), origins.clone(), record)).collect());
        }
        Ok(())
    }

    /// Adds records under their names and origins, compiling on every core. The order counts, not the threads.
    pub fn add_batch(&mut self, batch: Vec<(String, NamedOrigins, Record)>) {
        let (names, records): (Vec<_>, Vec<_>) = batch.into_iter().map(|(name, origins, record)| ((name, origins), record)).unzip();
        let compiled = self.compile_all(&records);
        for (((name, origins), record), (digest, compiled)) in names.into_iter().zip(&records).zip(compiled) {
            for key in origins.keys(self.dialect.form.origin()) {
                self.push(key, origins.is_exact(), name.clone(), record, digest, compiled);
            }
        }
    }

    fn push(&mut self, key: String, exact: bool, source: String, record: &Record, digest: [u8; 32], compiled: Option<Compiled>) {
        self.entries.push(Entry {
            key,
            exact,
            source,
            time: record.time,
            outcome: record.outcome,
            final_url: record.final_url.clone(),
            digest,
            body_len: record.body.as_ref().map_or(0, |body| body.len() as u64),
            compiled,
        });
    }

    fn compile_all(&mut self, records: &[Record]) -> Vec<([u8; 32], Option<Compiled>)> {
        let digests: Vec<[u8; 32]> =
            records.par_iter().map(|record| Sha256::digest(record.body.as_deref().unwrap_or_default()).into()).collect();
        let mut new: Vec<(&[u8; 32], &Vec<u8>)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for (digest, record) in digests.iter().zip(records) {
            let body = record.body.as_ref();
            new.extend(body.filter(|_| !self.bodies.contains_key(digest) && seen.insert(digest)).map(|body| (digest, body)));
        }
        let prepared: Vec<Prepared> = new.par_iter().map(|(_, body)| self.prepare(body)).collect();
        for ((digest, _), prepared) in new.into_iter().zip(prepared) {
            let compiled = self.intern(&prepared);
            self.bodies.insert(*digest, compiled);
        }
        self.report.record_count += records.len() as u64;
        self.report.body_len += records.iter().flat_map(|record| &record.body).map(|body| body.len() as u64).sum::<u64>();
        let known = |(digest, record): ([u8; 32], &Record)| (digest, record.body.as_ref().and_then(|_| self.bodies.get(&digest).copied()));
        digests.into_iter().zip(records).map(known).collect()
    }

    fn prepare(&self, body: &[u8]) -> Prepared {
        let policy = Policy::parse(body, &self.dialect);
        let policy = match &self.usage {
            Some(key) => policy.usage_rules(key),
            None => policy,
        };
        Prepared {
            program: compile(&policy, &self.options),
            rule_table: rule_table(&policy),
            body: self.keep_bodies.then(|| zstd::bulk::compress(body, 0).expect("compressing into a growing buffer can not fail")),
            raw_len: body.len(),
            read_len: policy.read_len(),
            rule_count: policy.rules().len(),
            findings: policy.findings().iter().map(|finding| finding.code).collect(),
        }
    }

    fn intern(&mut self, prepared: &Prepared) -> Compiled {
        self.report.distinct_body_count += 1;
        self.report.rule_count += prepared.rule_count as u64;
        for &code in &prepared.findings {
            *self.report.findings.entry(code).or_default() += 1;
        }
        Compiled {
            program: self.programs.intern(&prepared.program, prepared.program.len()),
            rule_table: self.rule_tables.intern(&prepared.rule_table, prepared.rule_table.len()),
            body: prepared.body.as_ref().map(|body| self.body_data.intern(body, prepared.raw_len)),
            read_len: prepared.read_len as u64,
        }
    }

    /// Lays the store out.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when there is more than the format holds.
    pub fn finish(mut self) -> Result<Built, StoreError> {
        let entries = self.resolve();
        if entries.len() as u64 >= u64::from(u32::MAX) {
            return Err(StoreError::too_large("more than 2^32 - 2 snapshots"));
        }
        let mut strings = Vec::new();
        let mut origins: Vec<u8> = Vec::new();
        let mut snapshots: Vec<u8> = Vec::new();
        let mut keys: Vec<&str> = Vec::new();
        for group in entries.chunk_by(|a, b| a.key == b.key) {
            let first = (snapshots.len() / layout::SNAPSHOT_LEN) as u32;
            snapshots.extend((first..).zip(group).flat_map(|(index, entry)| snapshot_record(entry, index, &mut strings)));
            origins.extend(origin_record(&group[0].key, first, group.len() as u32, &mut strings));
            keys.push(&group[0].key);
        }
        let (slots, hash_seed) = slots(&keys);
        let meta = Meta {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            dialect: self.dialect.name.to_owned(),
            byte_limit: self.dialect.byte_limit.map(|limit| limit as u64),
            has_bodies: self.keep_bodies,
            any_origin: self.any_origin,
            hash_seed,
        };
        let mut sections: [Vec<u8>; SECTION_COUNT] = Default::default();
        sections[layout::META] = meta.encode();
        sections[layout::SLOTS] = slots;
        sections[layout::ORIGINS] = origins;
        sections[layout::SNAPSHOTS] = snapshots;
        (sections[layout::PROGRAM_INDEX], sections[layout::PROGRAMS]) = (self.programs.index, self.programs.data);
        (sections[layout::RULE_INDEX], sections[layout::RULES]) = (self.rule_tables.index, self.rule_tables.data);
        (sections[layout::BODY_INDEX], sections[layout::BODIES]) = (self.body_data.index, self.body_data.data);
        sections[layout::STRINGS] = strings;
        Ok(Built { sections, report: self.report })
    }

    /// The entries that count, by origin and time: an exact name beats a host alone, the first of two equals the second.
    fn resolve(&mut self) -> Vec<Entry> {
        let mut entries = std::mem::take(&mut self.entries);
        let exact: std::collections::HashSet<String> = entries.iter().filter(|entry| entry.exact).map(|entry| entry.key.clone()).collect();
        entries.retain(|entry| entry.exact || !exact.contains(&entry.key));
        entries.sort_by(|a, b| a.key.cmp(&b.key).then(by_time(a.time).cmp(&by_time(b.time))));
        let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
        for entry in entries {
            match kept.last().filter(|last| last.key == entry.key && last.time == entry.time) {
                Some(last) => self.report.conflicts.push(Conflict { origin: entry.key, kept: last.source.clone(), left_out: entry.source }),
                None => kept.push(entry),
            }
        }
        kept
    }
}

impl Store {
    /// The same policies read in another dialect, in memory: compiled anew from the bodies that the store keeps. A limit on bodies that is not the
    /// dialect's own stays in force.
    ///
    /// ```
    /// use robosieve::{dialect::{GOOGLE, RFC9309}, store::build::{Builder, Record}};
    ///
    /// let mut builder = Builder::new(RFC9309);
    /// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /x\n".to_vec()))?;
    /// let store = builder.finish()?.open()?;
    /// assert_eq!(store.recompiled(GOOGLE)?.dialect().name, "google");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the store keeps no bodies, or one of them is damaged.
    pub fn recompiled(&self, dialect: Dialect) -> Result<Store, StoreError> {
        self.recompiled_with(dialect, Options::default())
    }

    /// As [`Store::recompiled`], with other options: to measure one rung of the engine alone, say.
    ///
    /// # Errors
    ///
    /// When the store keeps no bodies, or one of them is damaged.
    pub fn recompiled_with(&self, dialect: Dialect, options: Options) -> Result<Store, StoreError> {
        if !self.meta().has_bodies {
            return Err(StoreError::no_bodies());
        }
        let own = Dialect::by_name(self.dialect().name).map(|own| own.byte_limit);
        let is_own_limit = own == Some(self.dialect().byte_limit);
        let dialect = if is_own_limit { dialect } else { dialect.with_byte_limit(self.dialect().byte_limit) };
        let mut builder = Builder::new(dialect).options(options);
        builder.add_store(self)?;
        builder.finish()?.open()
    }

    /// What the same policies state about a use in their `content-usage` records, in memory: compiled from the bodies that the store keeps.
    ///
    /// # Errors
    ///
    /// When the store keeps no bodies, or one of them is damaged.
    pub fn preferences(&self, key: &UsageKey) -> Result<Preferences, StoreError> {
        if !self.meta().has_bodies {
            return Err(StoreError::no_records());
        }
        let options = Options::default().with_detail(Detail::Rules);
        let mut builder = Builder::new(*self.dialect()).options(options).keep_bodies(false);
        builder.usage = Some(key.clone());
        builder.add_store(self)?;
        Ok(Preferences::new(key.clone(), builder.finish()?.open()?))
    }
}

/// The octets of a policy's rule table.
fn rule_table(policy: &Policy) -> Vec<u8> {
    let count = policy.rules().len();
    let mut octets = Vec::with_capacity(tables::HEADER_LEN + count * (tables::RECORD_LEN + 16));
    octets.extend((count as u32).to_le_bytes());
    let mut text_at = tables::HEADER_LEN + count * tables::RECORD_LEN;
    for rule in policy.rules() {
        for word in [rule.line(), text_at as u32, rule.value().len() as u32] {
            octets.extend(word.to_le_bytes());
        }
        text_at += rule.value().len();
    }
    policy.rules().for_each(|rule| octets.extend_from_slice(rule.value()));
    octets
}

/// Undated snapshots stand first, the others by their seconds.
fn by_time(time: SnapshotTime) -> (bool, i64, SnapshotTime) {
    let (seconds, kind) = layout::time_fields(time);
    (kind != 0, seconds, time)
}

fn origin_record(key: &str, first: u32, count: u32, strings: &mut Vec<u8>) -> [u8; layout::ORIGIN_LEN] {
    let mut record = [0; layout::ORIGIN_LEN];
    record[..8].copy_from_slice(&(strings.len() as u64).to_le_bytes());
    let check = layout::origin_check(key.as_bytes(), first, count);
    for (i, word) in [key.len() as u32, first, count, check].into_iter().enumerate() {
        record[8 + i * 4..12 + i * 4].copy_from_slice(&word.to_le_bytes());
    }
    strings.extend_from_slice(key.as_bytes());
    record
}

fn snapshot_record(entry: &Entry, index: u32, strings: &mut Vec<u8>) -> [u8; layout::SNAPSHOT_LEN] {
    let mut record = [0; layout::SNAPSHOT_LEN];
    let mut put = |at: usize, octets: &[u8]| record[at..at + octets.len()].copy_from_slice(octets);
    let (seconds, time_kind) = layout::time_fields(entry.time);
    let (outcome_kind, status) = layout::outcome_fields(entry.outcome);
    let reference = |field: Option<u32>| field.map_or(0, |index| index + 1).to_le_bytes();
    put(0, &seconds.to_le_bytes());
    put(8, &[time_kind, outcome_kind]);
    put(10, &status.to_le_bytes());
    put(12, &reference(entry.compiled.map(|compiled| compiled.program)));
    put(16, &reference(entry.compiled.map(|compiled| compiled.rule_table)));
    put(20, &reference(entry.compiled.and_then(|compiled| compiled.body)));
    put(24, &(strings.len() as u64).to_le_bytes());
    put(32, &(entry.final_url.len() as u32).to_le_bytes());
    put(40, &entry.body_len.to_le_bytes());
    put(48, &entry.compiled.map_or(0, |compiled| compiled.read_len).to_le_bytes());
    put(56, &entry.digest);
    strings.extend_from_slice(&entry.final_url);
    let check = layout::snapshot_check(&record, entry.key.as_bytes(), index);
    record[layout::SNAPSHOT_CHECK..layout::SNAPSHOT_CHECK + 4].copy_from_slice(&check.to_le_bytes());
    record
}

/// The table of slots, at most half full, and the seed with which no key is more than [`layout::MAX_PROBES`] steps from its slot.
fn slots(keys: &[&str]) -> (Vec<u8>, u64) {
    if keys.is_empty() {
        return (Vec::new(), 0);
    }
    let mut count = (keys.len() * 2).next_power_of_two();
    for seed in 0.. {
        if let Some(slots) = try_slots(keys, seed, count) {
            return (slots, seed);
        }
        // Crafted keys fail with one seed, not with all; a table too full for luck would.
        if seed % 16 == 15 {
            count *= 2;
        }
    }
    unreachable!("a table grows until its keys fit")
}

fn try_slots(keys: &[&str], seed: u64, count: usize) -> Option<Vec<u8>> {
    let mut slots = vec![0u8; count * layout::SLOT_LEN];
    for (index, key) in keys.iter().enumerate() {
        let hash = layout::hash(key.as_bytes(), seed);
        let start = hash as usize & (count - 1);
        let free = (0..layout::MAX_PROBES).map(|step| (start + step) & (count - 1)).find(|slot| {
            let at = slot * layout::SLOT_LEN + 4;
            slots[at..at + 4] == [0; 4]
        })?;
        let at = free * layout::SLOT_LEN;
        slots[at..at + 4].copy_from_slice(&layout::tag(hash).to_le_bytes());
        slots[at + 4..at + 8].copy_from_slice(&(index as u32 + 1).to_le_bytes());
    }
    Some(slots)
}

/// A store laid out, to be written or opened.
#[derive(Debug)]
pub struct Built {
    sections: [Vec<u8>; SECTION_COUNT],
    report: BuildReport,
}

impl Built {
    /// What it was built from.
    pub fn report(&self) -> &BuildReport {
        &self.report
    }

    /// The octets of the store.
    pub fn into_octets(self) -> Vec<u8> {
        let mut octets = Vec::new();
        self.write_to(&mut octets).expect("writing to memory can not fail");
        octets
    }

    /// Opens the store where it lies.
    ///
    /// # Errors
    ///
    /// As [`Store::from_octets`].
    pub fn open(self) -> Result<Store, StoreError> {
        Store::from_octets(self.into_octets())
    }

    /// Writes the store to a temporary file beside `path` and puts it in its place once it is complete and on disk. Whoever holds the old file
    /// mapped keeps it.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the file can not be written; the old one is then as it was.
    pub fn write(&self, path: &Path) -> Result<u64, StoreError> {
        let written = Replacement::beside(path).and_then(|replacement| self.write_into(replacement));
        written.map_err(|error| StoreError::io(error).at(path))
    }

    /// Writes the store into a file opened before, and puts that in its place; gives its length.
    ///
    /// # Errors
    ///
    /// When the file can not be written; the old one is then as it was.
    pub fn write_into(&self, mut replacement: Replacement) -> io::Result<u64> {
        let len = self.write_to(&mut replacement)?;
        replacement.commit()?;
        Ok(len)
    }

    fn write_to(&self, out: &mut impl Write) -> io::Result<u64> {
        let head = layout::head(&self.sections);
        out.write_all(&head)?;
        let mut len = head.len();
        for section in &self.sections {
            let padding = layout::padding(section.len());
            out.write_all(section)?;
            out.write_all(padding)?;
            len += section.len() + padding.len();
        }
        Ok(len as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(records: &[(&str, &str)]) -> Built {
        let mut builder = Builder::new(crate::protocol::dialect::RFC9309);
        for (name, body) in records {
            builder.add_name(name, Record::body(body.as_bytes().to_vec())).unwrap();
        }
        builder.finish().unwrap()
    }

    #[test]
    fn equal_rules_share_a_program_and_never_the_lines() {
        let built = store(&[("a.example", "User-agent: *\nDisallow: /x"), ("b.example", "# b\nUser-agent: *\nDisallow: /x")]);
        let store = built.open().unwrap();
        assert_eq!((store.program_count(), store.rule_table_count(), store.body_count(), store.origin_count()), (1, 2, 2, 4));
        let line = |key: &str| {
            let snapshot = store.find(key.as_bytes()).unwrap().unwrap().newest().unwrap();
            store.rule_table(&snapshot).unwrap().rule(crate::protocol::decision::RuleId::new(0)).unwrap().line
        };
        assert_eq!((line("http://a.example"), line("https://b.example")), (2, 3));
        store.verify().unwrap();
    }

    #[test]
    fn an_exact_name_beats_a_host_and_the_first_of_equals_stays() {
        let built = store(&[("a.example", "# host"), ("https_a.example_443", "# exact"), ("A.example", "# again")]);
        let conflicts = &built.report().conflicts;
        assert_eq!(conflicts.len(), 1, "{conflicts:?}");
        assert_eq!((&conflicts[0].origin[..], &conflicts[0].left_out[..]), ("http://a.example", "A.example"));
        let store = built.open().unwrap();
        let body = |key: &str| store.body(&store.find(key.as_bytes()).unwrap().unwrap().newest().unwrap()).unwrap().unwrap();
        assert_eq!(body("http://a.example"), b"# host");
        assert_eq!(body("https://a.example"), b"# exact");
    }

    #[test]
    fn snapshots_stand_in_order_of_time() {
        let mut builder = Builder::new(crate::protocol::dialect::RFC9309);
        for time in [SnapshotTime::Observed(9), SnapshotTime::Effective(5), SnapshotTime::Undated, SnapshotTime::Observed(-1)] {
            builder.add_name("a.example", Record::body(b"".to_vec()).with_time(time)).unwrap();
        }
        let store = builder.finish().unwrap().open().unwrap();
        let origin = store.find(b"http://a.example").unwrap().unwrap();
        let times: Vec<_> = origin.snapshots().map(|snapshot| snapshot.unwrap().time()).collect();
        assert_eq!(times, [SnapshotTime::Undated, SnapshotTime::Observed(-1), SnapshotTime::Effective(5), SnapshotTime::Observed(9)]);
    }

    #[test]
    fn a_fetch_without_a_body_has_no_program() {
        let mut builder = Builder::new(crate::protocol::dialect::RFC9309);
        let record = Record { body: None, ..Record::body(Vec::new()) }.with_outcome(Outcome::Unreachable);
        builder.add_name("a.example", record).unwrap();
        let store = builder.finish().unwrap().open().unwrap();
        let snapshot = store.find(b"http://a.example").unwrap().unwrap().newest().unwrap();
        assert_eq!((snapshot.outcome(), snapshot.program_index()), (Outcome::Unreachable, None));
        assert!(store.program(&snapshot).is_err() && store.body(&snapshot).unwrap().is_none());
        store.verify().unwrap();
    }

    #[test]
    fn many_origins_are_found() {
        let names: Vec<String> = (0..3000).map(|i| format!("h{i}.example")).collect();
        let records: Vec<(&str, &str)> = names.iter().map(|name| (&name[..], "")).collect();
        let store = store(&records).open().unwrap();
        for name in &names {
            assert!(store.find(format!("https://{name}").as_bytes()).unwrap().is_some());
            assert!(store.find(format!("https://x{name}").as_bytes()).unwrap().is_none());
        }
    }
}
