//! Vector code: what is asked of 64 octets at a time, once portable, once for AVX2 and once for AVX-512.
//!
//! An algorithm is written once, over [`Vector`], and compiled for each instruction set as a whole: [`Isa::run`] enters a function that carries the
//! target features and into which everything else is inlined. (Intrinsics in a function without the features become calls: 7 ns a line became 20.)
//! The right one is chosen when the program runs; building for the native processor gains nothing over that.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod lines;
mod portable;

use std::fmt;
use std::sync::OnceLock;

pub(crate) use lines::find_lines;

/// An instruction set that this processor has.
///
/// ```
/// use robosieve::scan::Isa;
///
/// assert!(Isa::available().any(|isa| isa == Isa::best()));
/// assert_eq!(Isa::by_name("portable"), Some(Isa::PORTABLE));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Isa(Set);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2(avx2::Avx2),
    #[cfg(target_arch = "x86_64")]
    Avx512(avx512::Avx512),
}

impl Isa {
    /// No vector instructions but those that the compiler finds by itself.
    pub const PORTABLE: Isa = Isa(Set::Portable);

    /// The fastest that this processor has.
    pub fn best() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Isa::available().last().unwrap_or(Isa::PORTABLE))
    }

    /// Those that this processor has, the fastest last.
    pub fn available() -> impl Iterator<Item = Isa> {
        #[cfg(target_arch = "x86_64")]
        let vectors = [avx2::Avx2::detect().map(Set::Avx2), avx512::Avx512::detect().map(Set::Avx512)];
        #[cfg(not(target_arch = "x86_64"))]
        let vectors = [];
        [Some(Set::Portable)].into_iter().chain(vectors).flatten().map(Isa)
    }

    /// The one of that name, if this processor has it: `portable`, `avx2` or `avx512`.
    pub fn by_name(name: &str) -> Option<Isa> {
        Isa::available().find(|isa| isa.name() == name)
    }

    /// `portable`, `avx2` or `avx512`.
    pub fn name(self) -> &'static str {
        match self.0 {
            Set::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(_) => "avx512",
        }
    }

    /// Runs `task` with this instruction set.
    #[inline]
    pub(crate) fn run<T: Task>(self, task: T) -> T::Output {
        match self.0 {
            Set::Portable => task.run(portable::Portable),
            #[cfg(target_arch = "x86_64")]
            Set::Avx2(avx2) => avx2.run(task),
            #[cfg(target_arch = "x86_64")]
            Set::Avx512(avx512) => avx512.run(task),
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Brings the octets that `thing` begins with into the cache, where the processor can be told to.
#[inline(always)]
pub(crate) fn prefetch<T>(thing: &T) {
    #[cfg(target_arch = "x86_64")]
    avx2::prefetch(std::ptr::from_ref(thing).cast());
    #[cfg(not(target_arch = "x86_64"))]
    let _ = thing;
}

/// Brings what lies so many octets behind the start of `octets` into the second cache, be it of the same octets or not.
#[inline(always)]
pub(crate) fn prefetch_far(octets: &[u8], behind: usize) {
    #[cfg(target_arch = "x86_64")]
    avx2::prefetch_far(octets.as_ptr().wrapping_add(behind).cast());
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (octets, behind);
}

/// An algorithm over vectors. `run` and all it calls in hot loops are `#[inline(always)]`, so that they are compiled with the target features.
pub(crate) trait Task {
    type Output;

    fn run<V: Vector>(self, vector: V) -> Self::Output;
}

/// A set of octets, as vectors look it up: exact.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct Members {
    /// All bits where the octet is one.
    ascii: [u8; 128],
    /// By low nibble, one bit a high nibble below 8.
    rows: [u8; 16],
    /// Whether all octets from 128 on are, or none.
    high: bool,
}

impl Members {
    /// The octets for which `is_member` holds; those from 128 on are taken to be as 255 is.
    pub(crate) fn new(is_member: impl Fn(u8) -> bool) -> Members {
        let ascii = std::array::from_fn(|octet| if is_member(octet as u8) { 0xFF } else { 0 });
        let bit = |low: usize, high: usize| if is_member((high << 4 | low) as u8) { 1 << high } else { 0 };
        let rows = std::array::from_fn(|low| (0..8).fold(0, |bits, high| bits | bit(low, high)));
        Members { ascii, rows, high: is_member(0xFF) }
    }

    #[inline(always)]
    fn contains(&self, octet: u8) -> bool {
        self.ascii.get(usize::from(octet)).map_or(self.high, |&member| member != 0)
    }
}

/// Octets to eight bits, for one place of a fingerprint.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub(crate) struct Buckets {
    ascii: [u8; 128],
    /// What all octets from 128 on have.
    beyond: u8,
    /// By low nibble and by high nibble, what any octet with it has.
    nibbles: [[u8; 16]; 2],
}

impl Buckets {
    pub(crate) fn new(ascii: [u8; 128], beyond: u8) -> Buckets {
        let any = |holds: &dyn Fn(usize) -> bool| (0..128).filter(|&octet| holds(octet)).fold(0, |bits, octet| bits | ascii[octet]);
        let low = std::array::from_fn(|nibble| any(&|octet| octet & 15 == nibble) | beyond);
        let high = std::array::from_fn(|nibble| if nibble < 8 { any(&|octet| octet >> 4 == nibble) } else { beyond });
        Buckets { ascii, beyond, nibbles: [low, high] }
    }

    #[inline(always)]
    fn of(&self, octet: u8) -> u8 {
        self.ascii.get(usize::from(octet)).copied().unwrap_or(self.beyond)
    }
}

/// What is asked of 64 octets at a time. Bit `i` of an answer is about octet `i`.
pub(crate) trait Vector: Copy {
    /// Which octets equal `octet`.
    fn equal(self, octets: &[u8; 64], octet: u8) -> u64;

    /// Where `a` and `b` differ.
    fn differ(self, a: &[u8; 64], b: &[u8; 64]) -> u64;

    /// Where the 32 octets of `a` and `b` differ.
    fn differ_32(self, a: &[u8; 32], b: &[u8; 32]) -> u32;

    /// Which numbers are odd.
    fn odd(self, numbers: &[u16; 64]) -> u64;

    /// Which octets are members.
    fn members(self, octets: &[u8; 64], members: &Members) -> u64;

    /// Where fingerprints may stand: the octet has a bit in the first table that the next one has in the second and the one after it in the third. `out`
    /// gets those bits. An instruction set may find more: whoever asks looks closer.
    fn fingerprints(self, octets: &[u8; 66], tables: &[Buckets; 3], out: &mut [u8; 64]) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    struct All<'a>(&'a [u8; 66], &'a [u8; 64], &'a [u16; 64], &'a [Buckets; 3], &'a Members);

    struct Answers {
        exact: (u64, u64, u32, u64, u64),
        hits: u64,
        bits: [u8; 64],
    }

    impl Task for All<'_> {
        type Output = Answers;

        #[inline(always)]
        fn run<V: Vector>(self, vector: V) -> Answers {
            let All(octets, other, numbers, buckets, members) = self;
            let block = octets.first_chunk::<64>().unwrap();
            let mut bits = [0; 64];
            let hits = vector.fingerprints(octets, buckets, &mut bits);
            let exact = (
                vector.equal(block, other[0]),
                vector.differ(block, other),
                vector.differ_32(block.first_chunk().unwrap(), other.first_chunk().unwrap()),
                vector.odd(numbers),
                vector.members(block, members),
            );
            Answers { exact, hits, bits }
        }
    }

    #[test]
    fn twins_agree() {
        let mut seed = 0x9E37_79B9_7F4A_7C15u64;
        let mut random = move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        };
        for round in 0..5_000 {
            // Few different octets, so that all answers have some bits set.
            let spread = if round % 2 == 0 { 4 } else { 256 };
            let octets: [u8; 66] = std::array::from_fn(|_| (random() % spread) as u8 ^ if random() % 8 == 0 { 0x80 } else { 0 });
            let other: [u8; 64] = std::array::from_fn(|at| if random() % 3 == 0 { random() as u8 } else { octets[at] });
            let numbers: [u16; 64] = std::array::from_fn(|_| random() as u16);
            let tables: [Buckets; 3] =
                std::array::from_fn(|_| Buckets::new(std::array::from_fn(|_| (random() & random()) as u8), (random() & random()) as u8));
            let (set, high) = ([random(), random()], random() % 2 == 0);
            let is_member = |octet: u8| if octet < 128 { set[usize::from(octet >> 6)] >> (octet & 63) & 1 == 1 } else { high };
            let members = Members::new(is_member);
            let bit = |mask: u64, at: usize| mask >> at & 1 == 1;
            for isa in Isa::available() {
                let Answers { exact, hits, bits } = isa.run(All(&octets, &other, &numbers, &tables, &members));
                for at in 0..64 {
                    assert_eq!(bit(exact.0, at), octets[at] == other[0], "{isa}: equal");
                    assert_eq!(bit(exact.1, at), octets[at] != other[at], "{isa}: differ");
                    assert_eq!(at < 32 && bit(exact.2.into(), at), at < 32 && octets[at] != other[at], "{isa}: differ_32");
                    assert_eq!(bit(exact.3, at), numbers[at] % 2 == 1, "{isa}: odd");
                    assert_eq!(bit(exact.4, at), is_member(octets[at]), "{isa}: members");
                    let expected = (0..3).fold(0xFF, |bits, place| bits & tables[place].of(octets[at + place]));
                    assert_eq!(bits[at] & expected, expected, "{isa}: fingerprints");
                    assert_eq!(bit(hits, at), bits[at] != 0, "{isa}: hits");
                }
            }
        }
    }
}
