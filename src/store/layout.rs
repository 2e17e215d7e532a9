//! The octets of a store: header, section table, records. docs/FORMAT.md draws them.

use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::SnapshotTime;
use super::error::StoreError;
use crate::protocol::fetch::Outcome;

/// As PNG's: the first octet is no text, and the line ends show a conversion.
pub(super) const LABEL: [u8; 8] = *b"\x89RSV\r\n\x1A\n";
pub(super) const VERSION: u32 = 1;
const BYTE_ORDER: u32 = 0x0102_0304;
const HEADER_LEN: usize = 64;
const SECTION_LEN: usize = 24;

// Sections, in the order of the file.
pub(super) const META: usize = 0;
pub(super) const SLOTS: usize = 1;
pub(super) const ORIGINS: usize = 2;
pub(super) const SNAPSHOTS: usize = 3;
pub(super) const PROGRAM_INDEX: usize = 4;
pub(super) const PROGRAMS: usize = 5;
pub(super) const RULE_INDEX: usize = 6;
pub(super) const RULES: usize = 7;
pub(super) const BODY_INDEX: usize = 8;
pub(super) const BODIES: usize = 9;
pub(super) const STRINGS: usize = 10;
pub(super) const SECTION_COUNT: usize = 11;

/// Hash tag, origin plus one.
pub(super) const SLOT_LEN: usize = 8;
/// Key (offset, length), first snapshot, count, check.
pub(super) const ORIGIN_LEN: usize = 24;
pub(super) const SNAPSHOT_LEN: usize = 88;
pub(super) const SNAPSHOT_CHECK: usize = 36;
/// Offset, length, length before compression, checksum.
pub(super) const INDEX_LEN: usize = 32;
/// The builder never needs more steps to a free slot: it takes another seed first.
pub(super) const MAX_PROBES: usize = 64;

pub(super) fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    octets.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}

pub(super) fn u64_at(octets: &[u8], at: usize) -> Option<u64> {
    octets.get(at..)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

pub(super) fn checksum(octets: &[u8]) -> u64 {
    xxh3_64(octets)
}

/// The checksum of an indexed thing covers how long it was before compression, so that no damaged length is ever allocated, and its place in the
/// index, so that no other stands in for it.
pub(super) fn entry_checksum(octets: &[u8], raw_len: u64, index: u64) -> u64 {
    xxh3_64_with_seed(octets, raw_len ^ index << 40)
}

pub(super) fn hash(key: &[u8], seed: u64) -> u64 {
    xxh3_64_with_seed(key, seed)
}

/// The part of a hash that a slot keeps: not the one that chose the slot.
pub(super) fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32
}

pub(super) fn origin_check(key: &[u8], first_snapshot: u32, count: u32) -> u32 {
    xxh3_64_with_seed(key, u64::from(first_snapshot) << 32 | u64::from(count)) as u32
}

/// The check of a snapshot covers whose it is and its place, so that no other stands in for it.
pub(super) fn snapshot_check(record: &[u8], key: &[u8], index: u32) -> u32 {
    let (front, rest) = record.split_at(SNAPSHOT_CHECK);
    let owner = xxh3_64_with_seed(key, u64::from(index));
    xxh3_64_with_seed(front, xxh3_64_with_seed(&rest[4..], owner)) as u32
}

/// Where each section lies, and its checksum.
#[derive(Debug)]
pub(super) struct Sections {
    sections: [(usize, usize, u64); SECTION_COUNT],
    digest: u64,
}

impl Sections {
    /// Reads header and section table. In this order: label, version, byte order, length, checksum of both, bounds.
    pub(super) fn read(octets: &[u8]) -> Result<Sections, StoreError> {
        if !octets.starts_with(&LABEL) {
            return Err(StoreError::foreign());
        }
        let truncated = || StoreError::truncated(u64_at(octets, 16).unwrap_or(HEADER_LEN as u64), octets.len() as u64);
        let version = u32_at(octets, 8).ok_or_else(truncated)?;
        if version != VERSION {
            return Err(StoreError::version(version));
        }
        if u32_at(octets, 12).ok_or_else(truncated)? != BYTE_ORDER {
            return Err(StoreError::byte_order());
        }
        if u64_at(octets, 16) != Some(octets.len() as u64) {
            return Err(truncated());
        }
        let table_end = HEADER_LEN + SECTION_COUNT * SECTION_LEN;
        let table = octets.get(HEADER_LEN..table_end).ok_or_else(truncated)?;
        let digest = head_checksum(&octets[..32], table);
        if u64_at(octets, 32) != Some(digest) || u32_at(octets, 24) != Some(SECTION_COUNT as u32) {
            return Err(StoreError::damaged("header or section table"));
        }
        if octets[40..HEADER_LEN].iter().any(|&octet| octet != 0) {
            return Err(StoreError::damaged("header"));
        }
        let mut sections = [(0, 0, 0); SECTION_COUNT];
        for (index, section) in sections.iter_mut().enumerate() {
            let at = index * SECTION_LEN;
            let word = |i: usize| u64_at(table, at + i * 8).unwrap_or(u64::MAX);
            let (offset, len) = (word(0), word(1));
            if offset < table_end as u64 || offset.checked_add(len).is_none_or(|end| end > octets.len() as u64) {
                return Err(StoreError::damaged("bounds of a section"));
            }
            *section = (offset as usize, len as usize, word(2));
        }
        Ok(Sections { sections, digest })
    }

    pub(super) fn digest(&self) -> u64 {
        self.digest
    }

    pub(super) fn len(&self, section: usize) -> usize {
        self.sections[section].1
    }

    pub(super) fn get<'o>(&self, octets: &'o [u8], section: usize) -> &'o [u8] {
        let (offset, len, _) = self.sections[section];
        // The bounds were checked against these very octets.
        octets.get(offset..offset + len).unwrap_or_default()
    }

    /// What opening checks beside the header: the metadata's checksum, and that tables are whole records.
    pub(super) fn check_tables(&self, octets: &[u8]) -> Result<(), StoreError> {
        if checksum(self.get(octets, META)) != self.sections[META].2 {
            return Err(StoreError::damaged("metadata"));
        }
        let records = [
            (ORIGINS, ORIGIN_LEN),
            (SNAPSHOTS, SNAPSHOT_LEN),
            (PROGRAM_INDEX, INDEX_LEN),
            (RULE_INDEX, INDEX_LEN),
            (BODY_INDEX, INDEX_LEN),
        ];
        let whole = records.iter().all(|&(section, len)| self.len(section).is_multiple_of(len));
        let slot_count = self.len(SLOTS) / SLOT_LEN;
        let slots = self.len(SLOTS).is_multiple_of(SLOT_LEN) && (slot_count == 0 || slot_count.is_power_of_two());
        if whole && slots { Ok(()) } else { Err(StoreError::damaged("length of a section")) }
    }

    /// Checks the checksum of every section.
    pub(super) fn verify(&self, octets: &[u8]) -> Result<(), StoreError> {
        for (section, &(_, _, expected)) in self.sections.iter().enumerate() {
            if checksum(self.get(octets, section)) != expected {
                return Err(StoreError::damaged(SECTION_NAMES[section]));
            }
        }
        Ok(())
    }
}

const SECTION_NAMES: [&str; SECTION_COUNT] = [
    "metadata",
    "origin slots",
    "origin records",
    "snapshot records",
    "program index",
    "programs",
    "rule table index",
    "rule tables",
    "body index",
    "bodies",
    "strings",
];

fn head_checksum(head: &[u8], table: &[u8]) -> u64 {
    xxh3_64_with_seed(table, xxh3_64(head))
}

/// Header and section table of a store of these sections, which follow them, each padded with [`padding`].
pub(super) fn head(sections: &[Vec<u8>; SECTION_COUNT]) -> Vec<u8> {
    let table_end = HEADER_LEN + SECTION_COUNT * SECTION_LEN;
    let mut len = table_end;
    let mut table = Vec::with_capacity(SECTION_COUNT * SECTION_LEN);
    for section in sections {
        for word in [len as u64, section.len() as u64, checksum(section)] {
            table.extend(word.to_le_bytes());
        }
        len += section.len() + padding(section.len()).len();
    }
    let mut head = vec![0; HEADER_LEN];
    head[..8].copy_from_slice(&LABEL);
    head[8..12].copy_from_slice(&VERSION.to_le_bytes());
    head[12..16].copy_from_slice(&BYTE_ORDER.to_le_bytes());
    head[16..24].copy_from_slice(&(len as u64).to_le_bytes());
    head[24..28].copy_from_slice(&(SECTION_COUNT as u32).to_le_bytes());
    let digest = head_checksum(&head[..32], &table);
    head[32..40].copy_from_slice(&digest.to_le_bytes());
    head.extend(table);
    head
}

/// Zeroes that bring a section of that length to a multiple of eight.
pub(super) fn padding(len: usize) -> &'static [u8] {
    &[0; 8][..len.next_multiple_of(8) - len]
}

/// An entry of one of the three indices.
pub(super) struct Index<'s> {
    pub(super) octets: &'s [u8],
    pub(super) raw_len: u64,
    index: u64,
    checksum: u64,
}

impl<'s> Index<'s> {
    pub(super) fn read(index: &[u8], data: &'s [u8], at: usize) -> Option<Index<'s>> {
        let record = index.get(at.checked_mul(INDEX_LEN)?..)?.get(..INDEX_LEN)?;
        let (offset, len) = (usize::try_from(u64_at(record, 0)?).ok()?, usize::try_from(u64_at(record, 8)?).ok()?);
        let octets = data.get(offset..)?.get(..len)?;
        Some(Index { octets, raw_len: u64_at(record, 16)?, index: at as u64, checksum: u64_at(record, 24)? })
    }

    /// Whether the octets are those that were written.
    pub(super) fn is_sound(&self) -> bool {
        entry_checksum(self.octets, self.raw_len, self.index) == self.checksum
    }

    pub(super) fn write(index: u32, offset: usize, octets: &[u8], raw_len: usize) -> [u8; INDEX_LEN] {
        let mut record = [0; INDEX_LEN];
        let words = [offset as u64, octets.len() as u64, raw_len as u64, entry_checksum(octets, raw_len as u64, u64::from(index))];
        for (i, word) in words.into_iter().enumerate() {
            record[i * 8..i * 8 + 8].copy_from_slice(&word.to_le_bytes());
        }
        record
    }
}

pub(super) fn time_of(record: &[u8]) -> Option<SnapshotTime> {
    let seconds = u64_at(record, 0)? as i64;
    match record.get(8)? {
        0 => Some(SnapshotTime::Undated),
        1 => Some(SnapshotTime::Effective(seconds)),
        2 => Some(SnapshotTime::Observed(seconds)),
        _ => None,
    }
}

/// Seconds and kind.
pub(super) fn time_fields(time: SnapshotTime) -> (i64, u8) {
    match time {
        SnapshotTime::Undated => (0, 0),
        SnapshotTime::Effective(seconds) => (seconds, 1),
        SnapshotTime::Observed(seconds) => (seconds, 2),
    }
}

pub(super) fn outcome_of(record: &[u8]) -> Option<Outcome> {
    let status = u16::from_le_bytes(*record.get(10..)?.first_chunk()?);
    match record.get(9)? {
        0 => Some(Outcome::Status(status)),
        1 => Some(Outcome::TooManyRedirects),
        2 => Some(Outcome::Unreachable),
        3 => Some(Outcome::Unknown),
        _ => None,
    }
}

/// Kind and status.
pub(super) fn outcome_fields(outcome: Outcome) -> (u8, u16) {
    match outcome {
        Outcome::Status(status) => (0, status),
        Outcome::TooManyRedirects => (1, 0),
        Outcome::Unreachable => (2, 0),
        Outcome::Unknown => (3, 0),
    }
}
