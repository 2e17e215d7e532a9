//! Vector code: what is asked of many octets at a time, once portable, once for AVX2 and once for AVX-512.
//!
//! ```text
//!   Task ──▶ Vector     what algorithms ask: lines, heads, chains, fingerprints
//!              ├── Portable              words, tables and the crate memchr
//!              └── Blocks                64 octets to a mask of 64 bits
//!                    ├── Avx2
//!                    └── Avx512
//! ```
//!
//! An algorithm is written once, over `Vector`, and compiled for each instruction set as a whole: `Isa::run` enters a function that carries the
//! target features and into which everything else is inlined. (Intrinsics in a function without the features become calls: 7 ns a line became 20.
//! Closures count as such functions, above all those given to `array::map`: no intrinsic is called in one.)
//! The right one is chosen when the program runs; building for the native processor gains nothing over that.
//!
//! Masks of 64 bits cost too much to make without vectors, so `Vector` asks no more than algorithms want to know: whether, where first, which places.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod blocks;
mod fingerprints;
mod lines;
mod portable;

use std::fmt;
use std::sync::OnceLock;

pub(crate) use fingerprints::{Fingerprints, Found, Hit, Lines};
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
    /// No vector instructions but those that the compiler and the crate memchr find by themselves.
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

/// What algorithms ask of octets. Answers are exact but where a method says otherwise.
pub(crate) trait Vector: Copy {
    /// Replaces `ends` with the place of each LF; gives how many CR there are. `octets` are at most 4 GiB.
    fn line_ends(self, octets: &[u8], ends: &mut Vec<u32>) -> usize;

    /// Whether the first `len` octets are those of `head`; `len` is 1 to 64.
    fn begins(self, octets: &[u8; 64], head: &[u8; 64], len: usize) -> bool;

    /// How many octets `a` and `b` begin with alike, `len` at most, which is at most 32.
    fn shared(self, a: &[u8; 32], b: &[u8; 32], len: u32) -> u32;

    /// Which numbers are odd: bit `i` is about number `i`.
    fn odd(self, numbers: &[u16; 64]) -> u64;

    /// Replaces `found` with what stands on the lines that `rows` lists: where fingerprints may stand, in no order, and which lines have a special octet,
    /// which is exact. An instruction set may find more places than another: whoever asks looks closer. What `rows` lists afterwards is of no use.
    ///
    /// # Panics
    ///
    /// If fewer than 66 octets follow a line.
    fn search(self, lines: Lines<'_>, fingerprints: &Fingerprints, rows: &mut Vec<u16>, found: &mut Found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_numbers() -> impl FnMut() -> u64 {
        let mut seed = 0x9E37_79B9_7F4A_7C15u64;
        move || {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed
        }
    }

    struct All<'a>(&'a [u8; 64], &'a [u8; 64], usize, &'a [u16; 64]);

    impl Task for All<'_> {
        type Output = (bool, u32, u64);

        #[inline(always)]
        fn run<V: Vector>(self, vector: V) -> (bool, u32, u64) {
            let All(octets, other, len, numbers) = self;
            let [a, b] = [octets, other].map(|octets| octets.first_chunk().unwrap());
            (vector.begins(octets, other, len), vector.shared(a, b, len as u32 / 2), vector.odd(numbers))
        }
    }

    #[test]
    fn twins_agree() {
        let mut random = random_numbers();
        let mut begun = [0; 2];
        for _ in 0..20_000 {
            let octets: [u8; 64] = std::array::from_fn(|_| random() as u8);
            let (rarity, first) = (1 + random() % 64, (random() % 64) as usize);
            let other: [u8; 64] =
                std::array::from_fn(|at| if at >= first && random().is_multiple_of(rarity) { random() as u8 } else { octets[at] });
            let numbers: [u16; 64] = std::array::from_fn(|_| random() as u16);
            let len = 1 + (random() % 64) as usize;
            let begins = octets[..len] == other[..len];
            let shared = (0..len / 2).take_while(|&at| octets[at] == other[at]).count() as u32;
            let odd = numbers.iter().rev().fold(0, |bits, number| bits << 1 | u64::from(number % 2));
            begun[usize::from(begins)] += 1;
            for isa in Isa::available() {
                assert_eq!(isa.run(All(&octets, &other, len, &numbers)), (begins, shared, odd), "{isa}: {len}");
            }
        }
        assert!(begun.iter().all(|&count| count > 1000), "{begun:?}");
    }

    struct Search<'a>(Lines<'a>, &'a Fingerprints);

    impl Task for Search<'_> {
        type Output = (Vec<u16>, Vec<Hit>);

        #[inline(always)]
        fn run<V: Vector>(self, vector: V) -> Self::Output {
            let Search(lines, fingerprints) = self;
            // Every other line is listed.
            let mut rows = (0..lines.starts.len() as u16).step_by(2).collect();
            let mut found = Found { special: vec![7], hits: vec![Hit::default()], ..Found::default() };
            vector.search(lines, fingerprints, &mut rows, &mut found);
            let Found { mut special, mut hits, .. } = found;
            special.sort_unstable();
            special.dedup();
            hits.sort_unstable();
            (special, hits)
        }
    }

    #[test]
    fn twins_find_all_fingerprints_and_exactly_the_special_octets() {
        let mut random = random_numbers();
        let mut seen = [[0; 2]; 2];
        for round in 0..5_000 {
            let set_count = 1 + round % 2;
            // Some buckets take any octet at the last place, as those of short windows do.
            let any = [0, 0, (random() & random() & random()) as u8];
            let sets: Vec<[[u8; 128]; 3]> =
                (0..set_count).map(|_| any.map(|any| std::array::from_fn(|_| any | (random() & random() & random()) as u8))).collect();
            // Now and then none is special.
            let (few, high) = (random() & random() & random(), random().is_multiple_of(2));
            let set = if random().is_multiple_of(4) { [0; 2] } else { [few, random() & random() & random()] };
            let is_special = |octet: u8| match octet {
                b'\n' => false,
                128.. => high,
                _ => set[usize::from(octet >> 6)] >> (octet & 63) & 1 == 1,
            };
            let mut fingerprints = Fingerprints::new(is_special);
            let are_few = random().is_multiple_of(2);
            sets.iter().for_each(|set| fingerprints.add_set(set, are_few));
            let beyond = if random().is_multiple_of(2) { 0x80 } else { 0 };
            let octets: [u8; 700] = std::array::from_fn(|_| random() as u8 & 0x7F | if random().is_multiple_of(16) { beyond } else { 0 });
            let starts: Vec<u32> = (0..6).map(|line| line * 100 + (random() % 80) as u32).collect();
            let ends: Vec<u32> = starts.iter().map(|start| start + (random() % 150) as u32).map(|end| end.min(634)).collect();
            let lines = Lines { octets: &octets, starts: &starts, ends: &ends };
            let of = |place: usize, octet: u8, set: &[[u8; 128]; 3]| set[place].get(usize::from(octet)).copied().unwrap_or(any[place]);
            let bits = |at: usize, set: &[[u8; 128]; 3]| (0..3).fold(0xFF, |bits, place| bits & of(place, octets[at + place], set));
            let places = |row: u16| starts[usize::from(row)]..ends[usize::from(row)];
            let is_expected = |hit: &Hit| sets.iter().any(|set| bits(hit.place as usize, set) != 0);
            let rows = [0, 2, 4];
            let all: Vec<Hit> = rows.iter().flat_map(|&row| places(row).map(move |place| Hit { row, place })).collect();
            let expected: Vec<Hit> = all.iter().copied().filter(is_expected).collect();
            let has_special = |row: &u16| places(*row).any(|place| is_special(octets[place as usize]));
            let special: Vec<u16> = rows.into_iter().filter(has_special).collect();
            seen[0][usize::from(special.is_empty())] += 1;
            seen[1][usize::from(expected.is_empty())] += 1;
            for isa in Isa::available() {
                let (found_special, hits) = isa.run(Search(lines, &fingerprints));
                assert_eq!(found_special, special, "{isa}: {lines:?}");
                assert!(hits.iter().all(|hit| all.contains(hit)) && hits.windows(2).all(|pair| pair[0] != pair[1]), "{isa}: {hits:?}");
                assert!(expected.iter().all(|hit| hits.binary_search(hit).is_ok()), "{isa}: {hits:?} {expected:?}");
                let is_exact = isa == Isa::PORTABLE || isa.name() == "avx512" && beyond == 0 && !fingerprints.are_few;
                assert!(!is_exact || hits == expected, "{isa}: {lines:?}");
            }
        }
        assert!(seen.iter().flatten().all(|&count| count > 50), "{seen:?}");
    }
}
