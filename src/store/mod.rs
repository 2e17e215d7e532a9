//! Where compiled policies are kept: one file, read through a memory map.
//!
//! ```text
//! origin ──hash──▶ slot ──▶ origin record ──▶ snapshots, by time ──▶ program        shared by policies with equal rules
//!                                                               ├──▶ rule table     lines and texts
//!                                                               └──▶ body           as received, compressed
//! ```
//!
//! Opening reads the header, the section table and a page of metadata, and costs the same for ten policies and ten million. Nothing is decoded
//! for a look-up: it is a hash and a comparison. A program's checksum and structure are proved when it is first used, and that is remembered;
//! records carry checks of their own. So a damaged store opens with an error, or answers, or says [`Corrupt`]; [`Store::verify`] looks at
//! everything. docs/FORMAT.md draws the octets.

pub mod build;
mod error;
mod layout;
pub mod map;
mod meta;
mod preferences;
pub mod replace;
mod tables;

use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::engine::program::{Corrupt, Program};
use crate::protocol::dialect::Dialect;
use crate::protocol::fetch::Outcome;

pub use error::StoreError;
use layout::{Index, Sections, u32_at, u64_at};
use map::Octets;
pub use meta::Meta;
pub use preferences::Preferences;
pub use tables::{RuleTable, RuleText};

/// A file of compiled snapshots, keyed by origin.
///
/// ```
/// use robosieve::{agent::Agent, dialect::RFC9309, matcher::{Matcher, Scratch}};
/// use robosieve::store::{Store, build::{Builder, Record}};
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = Store::from_octets(builder.finish()?.into_octets())?;
///
/// let snapshot = store.find(b"https://example.com")?.unwrap().newest()?;
/// let program = store.program(&snapshot)?;
/// let rule_set = program.bind(&Agent::token("AnyBot")?).rule_set().unwrap();
/// let matcher = Matcher::new(program.rule_set(rule_set)?)?;
/// let decision = matcher.decide(b"/private/x", &mut Scratch::new())?;
/// assert_eq!(store.rule_table(&snapshot)?.rule(decision.rule).unwrap().line, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Store {
    octets: Octets,
    sections: Sections,
    meta: Meta,
    dialect: Dialect,
    programs: Checked,
    rule_tables: Checked,
}

/// What is known of things that are checked when first used: a page of states for every 4096 of them.
#[derive(Debug)]
struct Checked(Vec<OnceLock<Box<[AtomicU8; Checked::PAGE]>>>);

impl Checked {
    const PAGE: usize = 4096;
    const SOUND: u8 = 1;
    const DAMAGED: u8 = 2;

    fn new(count: usize) -> Checked {
        Checked((0..count.div_ceil(Checked::PAGE)).map(|_| OnceLock::new()).collect())
    }

    /// Whether the thing at `index` is sound: as remembered, or as `check` says.
    fn is_sound(&self, index: usize, check: impl FnOnce() -> bool) -> bool {
        let Some(page) = self.0.get(index / Checked::PAGE) else { return false };
        let page = page.get_or_init(|| Box::new([const { AtomicU8::new(0) }; Checked::PAGE]));
        let state = &page[index % Checked::PAGE];
        // Nothing is published through the state but itself: what it tells of is in the octets.
        match state.load(Ordering::Relaxed) {
            Checked::SOUND => true,
            Checked::DAMAGED => false,
            _ => {
                let sound = check();
                state.store(if sound { Checked::SOUND } else { Checked::DAMAGED }, Ordering::Relaxed);
                sound
            }
        }
    }
}

/// The hash table of a store's origins.
#[cfg(feature = "pipeline")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slots<'s> {
    /// `None` where one policy answers for every origin.
    slots: Option<&'s [[u8; layout::SLOT_LEN]]>,
    seed: u64,
}

#[cfg(feature = "pipeline")]
impl<'s> Slots<'s> {
    /// The hash by which a key is looked up.
    #[inline(always)]
    pub(crate) fn hash(&self, key: &[u8]) -> u64 {
        layout::hash(key, self.seed)
    }

    /// The same hash, and no key that is said to be lacking.
    pub(crate) fn that_never_lack(self) -> Slots<'s> {
        Slots { slots: None, ..self }
    }

    /// The slot that is looked at first, to bring it into the cache.
    #[inline(always)]
    pub(crate) fn first(&self, hash: u64) -> Option<&'s [u8; layout::SLOT_LEN]> {
        let slots = self.slots?;
        slots.get(hash as usize & slots.len().wrapping_sub(1))
    }

    /// Whether [`Store::find`] finds nothing for a key of that hash, and nothing damaged. A key that it does not find may have the hash of one that it does.
    #[inline(always)]
    pub(crate) fn lack(&self, hash: u64) -> bool {
        let Some(slots) = self.slots else { return false };
        for probe in 0..layout::MAX_PROBES {
            let Some(slot) = slots.get((hash as usize).wrapping_add(probe) & slots.len().wrapping_sub(1)) else { return true };
            let slot = u64::from_le_bytes(*slot);
            if slot >> 32 == 0 {
                return true;
            }
            if slot as u32 == layout::tag(hash) {
                return false;
            }
        }
        true
    }
}

impl Store {
    /// Opens a store file through a memory map.
    ///
    /// The file may be replaced while it is open (the map keeps the old one); it must not be written to in place.
    ///
    /// # Errors
    ///
    /// [`StoreError`] when the file can not be read or is no sound store of a version that this one reads.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let octets = map::open(path).map_err(|error| StoreError::io(error).at(path))?;
        Store::of(octets).map_err(|error| error.at(path))
    }

    /// A store in memory.
    ///
    /// # Errors
    ///
    /// As [`Store::open`].
    pub fn from_octets(octets: Vec<u8>) -> Result<Store, StoreError> {
        Store::of(Octets::Memory(octets))
    }

    fn of(octets: Octets) -> Result<Store, StoreError> {
        let sections = Sections::read(octets.as_slice())?;
        let meta = Meta::decode(sections.get(octets.as_slice(), layout::META))?;
        sections.check_tables(octets.as_slice())?;
        let dialect = Dialect::by_name(&meta.dialect).ok_or_else(|| StoreError::unknown_dialect(&meta.dialect))?;
        let dialect = dialect.with_byte_limit(meta.byte_limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)));
        let count = |section| sections.len(section) / layout::INDEX_LEN;
        let (programs, rule_tables) = (Checked::new(count(layout::PROGRAM_INDEX)), Checked::new(count(layout::RULE_INDEX)));
        Ok(Store { octets, sections, meta, dialect, programs, rule_tables })
    }

    /// Whether a file whose first octets are `head` is meant as a store, be its label damaged a little or not.
    pub fn is_store(head: &[u8]) -> bool {
        head.iter().zip(&layout::LABEL).filter(|(octet, label)| octet == label).count() >= 6
    }

    fn section(&self, section: usize) -> &[u8] {
        self.sections.get(self.octets.as_slice(), section)
    }

    /// What the store was made from and how.
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// The dialect the policies were read in.
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Whether its one policy answers for every origin.
    pub fn has_any_origin(&self) -> bool {
        self.meta.any_origin
    }

    /// Size of the store in octets.
    pub fn octet_len(&self) -> usize {
        self.octets.as_slice().len()
    }

    /// A checksum of the section table, and so of everything: it names the store's content.
    pub fn digest(&self) -> u64 {
        self.sections.digest()
    }

    /// How many origins have snapshots.
    pub fn origin_count(&self) -> usize {
        self.sections.len(layout::ORIGINS) / layout::ORIGIN_LEN
    }

    /// How many snapshots there are.
    pub fn snapshot_count(&self) -> usize {
        self.sections.len(layout::SNAPSHOTS) / layout::SNAPSHOT_LEN
    }

    /// How many distinct programs there are.
    pub fn program_count(&self) -> usize {
        self.sections.len(layout::PROGRAM_INDEX) / layout::INDEX_LEN
    }

    /// How many distinct rule tables there are.
    pub fn rule_table_count(&self) -> usize {
        self.sections.len(layout::RULE_INDEX) / layout::INDEX_LEN
    }

    /// How many distinct bodies there are.
    pub fn body_count(&self) -> usize {
        self.sections.len(layout::BODY_INDEX) / layout::INDEX_LEN
    }

    /// The origin of that key (see [`Url::write_key`](crate::target::url::Url::write_key)): `None` when the store knows no policy for it.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when the record of the origin does not pass its check.
    pub fn find(&self, key: &[u8]) -> Result<Option<Origin<'_>>, Corrupt> {
        if self.meta.any_origin {
            return self.origin(0).map(Some);
        }
        let slots = self.section(layout::SLOTS);
        let slot_count = slots.len() / layout::SLOT_LEN;
        if slot_count == 0 {
            return Ok(None);
        }
        let hash = layout::hash(key, self.meta.hash_seed);
        let mut slot = hash as usize & (slot_count - 1);
        for _ in 0..layout::MAX_PROBES {
            let at = slot * layout::SLOT_LEN;
            let (Some(tag), Some(reference)) = (u32_at(slots, at), u32_at(slots, at + 4)) else { break };
            let Some(index) = reference.checked_sub(1) else { return Ok(None) };
            if tag == layout::tag(hash) {
                let origin = self.origin_unchecked(index as usize)?;
                if origin.key == key {
                    return self.origin(index as usize).map(Some);
                }
                self.origin(index as usize)?; // another key with this tag, or a damaged one
            }
            slot = (slot + 1) & (slot_count - 1);
        }
        Ok(None)
    }

    /// The slots that tell of most keys, by their hash alone, that they are none of an origin.
    #[cfg(feature = "pipeline")]
    pub(crate) fn slots(&self) -> Slots<'_> {
        let slots = if self.meta.any_origin { None } else { Some(self.section(layout::SLOTS).as_chunks().0) };
        Slots { slots, seed: self.meta.hash_seed }
    }

    /// The origins, in order of their keys.
    pub fn origins(&self) -> impl Iterator<Item = Result<Origin<'_>, Corrupt>> {
        (0..self.origin_count()).map(|index| self.origin(index))
    }

    fn origin(&self, index: usize) -> Result<Origin<'_>, Corrupt> {
        let origin = self.origin_unchecked(index)?;
        if origin.check == layout::origin_check(origin.key, origin.first_snapshot, origin.snapshot_count) {
            Ok(origin)
        } else {
            Err(Corrupt::new("origin record"))
        }
    }

    fn origin_unchecked(&self, index: usize) -> Result<Origin<'_>, Corrupt> {
        self.read_origin(index).ok_or(Corrupt::new("origin record"))
    }

    fn read_origin(&self, index: usize) -> Option<Origin<'_>> {
        let at = index.checked_mul(layout::ORIGIN_LEN)?;
        let record = self.section(layout::ORIGINS).get(at..)?.get(..layout::ORIGIN_LEN)?;
        let key = self.string(u64_at(record, 0)?, u32_at(record, 8)?)?;
        Some(Origin {
            store: self,
            key,
            first_snapshot: u32_at(record, 12)?,
            snapshot_count: u32_at(record, 16)?,
            check: u32_at(record, 20)?,
        })
    }

    fn string(&self, offset: u64, len: u32) -> Option<&[u8]> {
        self.section(layout::STRINGS).get(usize::try_from(offset).ok()?..)?.get(..len as usize)
    }

    fn snapshot(&self, key: &[u8], index: u32) -> Result<Snapshot<'_>, Corrupt> {
        let at = index as usize * layout::SNAPSHOT_LEN;
        let record = self.section(layout::SNAPSHOTS).get(at..).and_then(|rest| rest.get(..layout::SNAPSHOT_LEN));
        let record = record.ok_or(Corrupt::new("snapshot record"))?;
        if u32_at(record, layout::SNAPSHOT_CHECK) != Some(layout::snapshot_check(record, key, index)) {
            return Err(Corrupt::new("snapshot record"));
        }
        self.read_snapshot(record).ok_or(Corrupt::new("snapshot record"))
    }

    fn read_snapshot<'s>(&'s self, record: &'s [u8]) -> Option<Snapshot<'s>> {
        let reference = |at| u32_at(record, at).map(|index| index.checked_sub(1));
        Some(Snapshot {
            time: layout::time_of(record)?,
            outcome: layout::outcome_of(record)?,
            final_url: self.string(u64_at(record, 24)?, u32_at(record, 32)?)?,
            program: reference(12)?,
            rule_table: reference(16)?,
            body: reference(20)?,
            body_len: u64_at(record, 40)?,
            read_len: u64_at(record, 48)?,
            digest: record.get(56..88)?.first_chunk::<32>()?,
        })
    }

    /// The program of a snapshot, proved sound when it is first used.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when its octets are damaged, or the snapshot has none.
    pub fn program(&self, snapshot: &Snapshot<'_>) -> Result<Program<'_>, Corrupt> {
        let index = snapshot.program.ok_or(Corrupt::new("snapshot without a program"))? as usize;
        self.program_at(index)
    }

    fn program_at(&self, index: usize) -> Result<Program<'_>, Corrupt> {
        let entry = self.entry(layout::PROGRAM_INDEX, layout::PROGRAMS, index).ok_or(Corrupt::new("program index"))?;
        let sound = || entry.is_sound() && Program::check(entry.octets).is_ok();
        if !self.programs.is_sound(index, sound) {
            return Err(Corrupt::new("checksum or structure"));
        }
        Program::view(entry.octets)
    }

    /// The programs, each with its octets proved sound.
    pub fn programs(&self) -> impl Iterator<Item = Result<Program<'_>, Corrupt>> {
        (0..self.program_count()).map(|index| self.program_at(index))
    }

    /// The rule table of a snapshot.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when its octets are damaged, or the snapshot has none.
    pub fn rule_table(&self, snapshot: &Snapshot<'_>) -> Result<RuleTable<'_>, Corrupt> {
        let index = snapshot.rule_table.ok_or(Corrupt::new("snapshot without a rule table"))? as usize;
        self.rule_table_at(index)
    }

    fn rule_table_at(&self, index: usize) -> Result<RuleTable<'_>, Corrupt> {
        let entry = self.entry(layout::RULE_INDEX, layout::RULES, index).ok_or(Corrupt::new("rule table index"))?;
        if !self.rule_tables.is_sound(index, || entry.is_sound()) {
            return Err(Corrupt::new("checksum of a rule table"));
        }
        Ok(RuleTable::new(entry.octets))
    }

    /// The body of a snapshot as received: `None` when the store keeps no bodies or there was none.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when its octets are damaged.
    pub fn body(&self, snapshot: &Snapshot<'_>) -> Result<Option<Vec<u8>>, Corrupt> {
        let Some(index) = snapshot.body else { return Ok(None) };
        let body = self.body_at(index as usize)?;
        if body.len() as u64 == snapshot.body_len { Ok(Some(body)) } else { Err(Corrupt::new("length of a body")) }
    }

    fn body_at(&self, index: usize) -> Result<Vec<u8>, Corrupt> {
        let entry = self.entry(layout::BODY_INDEX, layout::BODIES, index).ok_or(Corrupt::new("body index"))?;
        if !entry.is_sound() {
            return Err(Corrupt::new("checksum of a body"));
        }
        decompressed(entry.octets, entry.raw_len).ok_or(Corrupt::new("compressed body"))
    }

    fn entry(&self, index: usize, data: usize, at: usize) -> Option<Index<'_>> {
        Index::read(self.section(index), self.section(data), at)
    }

    /// Checks every section's checksum, and everything that an origin leads to: records, programs, rule tables, bodies.
    ///
    /// # Errors
    ///
    /// [`StoreError`] for the first thing that is not sound.
    pub fn verify(&self) -> Result<(), StoreError> {
        self.sections.verify(self.octets.as_slice())?;
        for origin in self.origins() {
            let origin = origin.map_err(StoreError::corrupt)?;
            let found = self.find(origin.key()).map_err(StoreError::corrupt)?;
            if found.map(|found| found.first_snapshot) != Some(origin.first_snapshot) {
                return Err(StoreError::corrupt(Corrupt::new("an origin that its own key does not find")));
            }
            for snapshot in origin.snapshots() {
                self.verify_snapshot(&snapshot.map_err(StoreError::corrupt)?).map_err(StoreError::corrupt)?;
            }
        }
        Ok(())
    }

    fn verify_snapshot(&self, snapshot: &Snapshot<'_>) -> Result<(), Corrupt> {
        if snapshot.program.is_some() {
            let program = self.program(snapshot)?;
            if self.rule_table(snapshot)?.len() != program.rule_count() {
                return Err(Corrupt::new("a rule table that is not its program's"));
            }
        }
        self.body(snapshot).map(drop)
    }
}

/// The octets that were compressed, `raw_len` of them. Memory grows with what is there: a length that is a lie, with a checksum that agrees, is never
/// allocated.
fn decompressed(octets: &[u8], raw_len: u64) -> Option<Vec<u8>> {
    const TRUSTED_LEN: u64 = 1 << 20;
    let mut raw = Vec::with_capacity(raw_len.min(TRUSTED_LEN) as usize);
    let decoder = zstd::stream::read::Decoder::with_buffer(octets).ok()?;
    decoder.take(raw_len.saturating_add(1)).read_to_end(&mut raw).ok()?;
    (raw.len() as u64 == raw_len).then_some(raw)
}

/// An origin that the store has snapshots of.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'s> {
    store: &'s Store,
    key: &'s [u8],
    first_snapshot: u32,
    snapshot_count: u32,
    check: u32,
}

impl<'s> Origin<'s> {
    /// The origin key; `*` in a store whose one policy answers for every origin.
    pub fn key(&self) -> &'s [u8] {
        self.key
    }

    /// Its snapshots, oldest first; undated ones before all others.
    pub fn snapshots(&self) -> impl ExactSizeIterator<Item = Result<Snapshot<'s>, Corrupt>> + use<'s> {
        let (store, key) = (self.store, self.key);
        (self.first_snapshot..self.first_snapshot.saturating_add(self.snapshot_count)).map(move |index| store.snapshot(key, index))
    }

    /// The newest snapshot.
    ///
    /// # Errors
    ///
    /// [`Corrupt`] when its record does not pass its check.
    pub fn newest(&self) -> Result<Snapshot<'s>, Corrupt> {
        let last = self.snapshot_count.checked_sub(1).and_then(|last| self.first_snapshot.checked_add(last));
        self.store.snapshot(self.key, last.ok_or(Corrupt::new("an origin without snapshots"))?)
    }
}

/// When a policy was seen or put in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SnapshotTime {
    /// Nobody knows: it is taken to be in force at all times.
    Undated,
    /// Put in force then, in seconds since 1970-01-01T00:00:00Z.
    Effective(i64),
    /// Fetched then, in seconds since 1970-01-01T00:00:00Z.
    Observed(i64),
}

/// One policy with its time, the outcome of its fetch and what it was made from.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'s> {
    time: SnapshotTime,
    outcome: Outcome,
    final_url: &'s [u8],
    program: Option<u32>,
    rule_table: Option<u32>,
    body: Option<u32>,
    body_len: u64,
    read_len: u64,
    digest: &'s [u8; 32],
}

impl<'s> Snapshot<'s> {
    /// When it was seen or put in force.
    pub fn time(&self) -> SnapshotTime {
        self.time
    }

    /// How its fetch ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// The URL it finally came from; empty when nobody noted it.
    pub fn final_url(&self) -> &'s [u8] {
        self.final_url
    }

    /// SHA-256 of the body as received.
    pub fn digest(&self) -> &'s [u8; 32] {
        self.digest
    }

    /// The same in hexadecimal digits.
    pub fn digest_hex(&self) -> String {
        self.digest.iter().map(|octet| format!("{octet:02x}")).collect()
    }

    /// Octets of the body as received.
    pub fn body_len(&self) -> u64 {
        self.body_len
    }

    /// Octets of the body that the parser read.
    pub fn read_len(&self) -> u64 {
        self.read_len
    }

    /// The number of its program: snapshots of one store with equal numbers have equal rules.
    pub fn program_index(&self) -> Option<u32> {
        self.program
    }
}
