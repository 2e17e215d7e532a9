//! Fingerprints: three octets in a row that a pattern may have, looked for on a line together with octets that need a closer look.
//!
//! ```text
//!   octet ──table──▶ buckets that have it at that place        three places, one AND: the buckets whose fingerprint may stand here
//! ```
//!
//! Eight buckets are a set, and a set is what vectors look up at once; words look up all sets and the special octets at once.

/// Octets of a fingerprint.
pub(crate) const PLACES: usize = 3;
/// Sets at most.
const MAX_SETS: usize = 2;
/// In words, the bit of special octets; of the buckets it is behind.
pub(super) const SPECIAL: u32 = 1 << (MAX_SETS * 8);

/// Lines to search: the octets of each are `starts[row]..ends[row]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines<'a> {
    pub(crate) octets: &'a [u8],
    pub(crate) starts: &'a [u32],
    pub(crate) ends: &'a [u32],
}

/// A place where fingerprints may stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Hit {
    pub(crate) row: u16,
    pub(crate) place: u32,
}

/// What a search found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Lines with special octets; a long one may be there more than once.
    pub(crate) special: Vec<u16>,
    pub(crate) hits: Vec<Hit>,
    /// Of lines with hits, where these stand among 64 octets.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "vectors find hits so"))]
    pub(super) masks: Vec<(u16, u64)>,
}

/// Fingerprints and special octets, in the forms that instruction sets look them up in.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprints {
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "vectors look octets up in it"))]
    pub(super) special: Members,
    pub(super) sets: Vec<[Buckets; PLACES]>,
    /// Whether windows are so few that a wrong hit is rare anyway.
    pub(super) are_few: bool,
    /// By place and octet, the buckets of all sets, and [`SPECIAL`]: at the first place if the octet is special, at the others always.
    pub(super) words: Box<[[u32; 256]; PLACES]>,
}

impl Fingerprints {
    /// No fingerprints yet. Octets from 128 on are special if 255 is.
    pub(crate) fn new(is_special: impl Fn(u8) -> bool) -> Fingerprints {
        let special = |octet: usize| is_special(if octet < 128 { octet as u8 } else { 0xFF });
        let first = std::array::from_fn(|octet| if special(octet) { SPECIAL } else { 0 });
        Fingerprints {
            special: Members::new(is_special),
            sets: Vec::new(),
            are_few: true,
            words: Box::new([first, [SPECIAL; 256], [SPECIAL; 256]]),
        }
    }

    /// Adds eight buckets: of each place, those of each ASCII octet. Other octets have those that all ASCII octets have. `are_few`: no bucket
    /// has more than one window.
    pub(crate) fn add_set(&mut self, places: &[[u8; 128]; PLACES], are_few: bool) {
        self.are_few &= are_few && self.sets.is_empty();
        let shift = self.sets.len() * 8;
        assert!(self.sets.len() < MAX_SETS, "words hold the buckets of two sets");
        for (words, ascii) in self.words.iter_mut().zip(places) {
            let beyond = ascii.iter().fold(0xFF, |all, bits| all & bits);
            for (octet, word) in words.iter_mut().enumerate() {
                *word |= u32::from(ascii.get(octet).copied().unwrap_or(beyond)) << shift;
            }
        }
        self.sets.push(places.map(Buckets::new));
    }

    /// Size in octets, but for the value itself.
    pub(crate) fn octet_len(&self) -> usize {
        size_of_val(&*self.sets) + size_of_val(&*self.words)
    }
}

/// A set of octets, as vectors look it up: exact.
#[derive(Debug, Clone)]
#[repr(align(64))]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "vectors look octets up in it"))]
pub(super) struct Members {
    /// All bits where the octet is one.
    pub(super) ascii: [u8; 128],
    /// By low nibble, one bit a high nibble below 8.
    pub(super) rows: [u8; 16],
    /// Whether all octets from 128 on are, or none.
    pub(super) high: bool,
}

impl Members {
    /// The octets for which `is_member` holds; those from 128 on are taken to be as 255 is.
    fn new(is_member: impl Fn(u8) -> bool) -> Members {
        let ascii = std::array::from_fn(|octet| if is_member(octet as u8) { 0xFF } else { 0 });
        let bit = |low: usize, high: usize| if is_member((high << 4 | low) as u8) { 1 << high } else { 0 };
        let rows = std::array::from_fn(|low| (0..8).fold(0, |bits, high| bits | bit(low, high)));
        Members { ascii, rows, high: is_member(0xFF) }
    }
}

/// Octets to eight bits, for one place of a fingerprint.
#[derive(Debug, Clone)]
#[repr(align(64))]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "vectors look octets up in it"))]
pub(super) struct Buckets {
    /// An octet from 128 on may be looked up by its lower bits: it has no more than any of these.
    pub(super) ascii: [u8; 128],
    /// By the lower six bits, what any octet with them has.
    pub(super) folded: [u8; 64],
    /// By low nibble and by high nibble, what any octet with it has.
    pub(super) nibbles: [[u8; 16]; 2],
}

impl Buckets {
    fn new(ascii: [u8; 128]) -> Buckets {
        let any = |holds: &dyn Fn(usize) -> bool| (0..128).filter(|&octet| holds(octet)).fold(0, |bits, octet| bits | ascii[octet]);
        let beyond = ascii.iter().fold(0xFF, |all, bits| all & bits);
        let low = std::array::from_fn(|nibble| any(&|octet| octet & 15 == nibble));
        let high = std::array::from_fn(|nibble| if nibble < 8 { any(&|octet| octet >> 4 == nibble) } else { beyond });
        let folded = std::array::from_fn(|octet| ascii[octet] | ascii[octet + 64]);
        Buckets { ascii, folded, nibbles: [low, high] }
    }
}
