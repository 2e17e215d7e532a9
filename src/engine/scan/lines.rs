//! Where lines end.

use super::{Isa, Task, Vector};

/// What was found beside the line ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LineEnds {
    /// How many CR there are.
    pub(crate) cr_count: usize,
}

/// Writes the place of each LF in `octets` to `ends`, whose content is replaced.
///
/// # Panics
///
/// When there are more than 4 GiB of octets.
pub(crate) fn find_lines(octets: &[u8], isa: Isa, ends: &mut Vec<u32>) -> LineEnds {
    assert!(u32::try_from(octets.len()).is_ok(), "a place in {} octets does not fit into 32 bits", octets.len());
    isa.run(FindLines { octets, ends })
}

struct FindLines<'a> {
    octets: &'a [u8],
    ends: &'a mut Vec<u32>,
}

impl Task for FindLines<'_> {
    type Output = LineEnds;

    #[inline(always)]
    fn run<V: Vector>(self, vector: V) -> LineEnds {
        LineEnds { cr_count: vector.line_ends(self.octets, self.ends) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_is_found() {
        let mut ends = vec![7];
        for len in (0..300).chain([4095, 4096, 70_001]) {
            for step in [1, 2, 3, 20, 63, 64, 65, 1000] {
                let octets: Vec<u8> = (0..len).map(|at| if at % step == step / 2 { b"\n\r"[at / step % 3 / 2] } else { b'x' }).collect();
                let expected: Vec<u32> = memchr::memchr_iter(b'\n', &octets).map(|at| at as u32).collect();
                for isa in Isa::available() {
                    let found = find_lines(&octets, isa, &mut ends);
                    assert_eq!(ends, expected, "{isa}: {len} {step}");
                    assert_eq!(found.cr_count, octets.iter().filter(|&&octet| octet == b'\r').count(), "{isa}: {len} {step}");
                }
            }
        }
    }
}
