//! What the needles of a segment automaton spell, read from its states.

use super::segments;
use super::view::SegmentsView;

/// The octets of needles, by number; of those that nobody asked for none.
#[derive(Debug)]
pub(crate) struct Spellings(pub(crate) Vec<Vec<u8>>);

impl Spellings {
    /// Those of the wanted needles, in time linear in the states and in what is spelled.
    pub(crate) fn of(view: &SegmentsView<'_>, wanted: impl Iterator<Item = usize>) -> Option<Spellings> {
        // The state from which each one comes, how deep it lies, and the state of each needle.
        let count = view.count(segments::STATE_COUNT);
        // (States are numbered by 32 bits in a program.)
        let (mut parents, mut depths) = (vec![0u32; count], vec![0u32; count]);
        let mut ends = vec![0u32; view.count(segments::NEEDLE_COUNT)];
        for index in 0..count {
            let state = view.state(index)?;
            parents.get_mut(state.first_child..state.first_child + state.child_count)?.fill(index as u32);
            let depth = depths[index];
            depths[state.first_child..state.first_child + state.child_count].fill(depth + 1);
            if let Some(needle) =
                state.longest.checked_sub(1).filter(|&needle| view.needle(needle).is_some_and(|needle| needle.len == depth as usize))
            {
                ends[needle] = index as u32;
            }
        }
        let mut spellings = vec![Vec::new(); ends.len()];
        for needle in wanted {
            if !spellings[needle].is_empty() {
                continue;
            }
            let mut state = ends[needle] as usize;
            while state > 0 {
                spellings[needle].push(view.octet_into(state)?);
                state = parents[state] as usize;
            }
            spellings[needle].reverse();
            if spellings[needle].len() != view.needle(needle)?.len {
                return None;
            }
        }
        Some(Spellings(spellings))
    }
}
