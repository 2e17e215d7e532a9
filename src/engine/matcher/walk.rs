//! The walk through a DFA: one table look-up an octet, one comparison.
//!
//! ```text
//!   number      0 … special_count-1 │ special_count, + stride, + 2·stride …
//!   state       final, slow, chain  │ rows of the table
//! ```
//!
//! A number below `special_count` ends the loop or jumps over a literal stretch; any other is where a row begins.

use crate::engine::program::dfa;
use crate::engine::program::view::DfaView;

/// How a walk ends.
pub(super) enum End {
    /// With a value.
    Value(u32),
    /// At an octet that only canonical octets can tell.
    Slow,
}

/// Walks over a raw target, up to its end or a `#`. `None` when the automaton's octets changed since they were checked.
#[inline]
pub(super) fn walk(automaton: &DfaView<'_>, raw: &[u8]) -> Option<End> {
    if raw.first() != Some(&b'/') {
        return Some(End::Slow); // an empty path gets its `/` with the canonical octets
    }
    let mut state = automaton.start;
    let mut rest = raw;
    loop {
        if state >= automaton.special_count {
            let row = (state - automaton.special_count) as usize;
            let [octet, behind @ ..] = rest else {
                return at_end(automaton, row);
            };
            rest = behind;
            state = automaton.entry(row + usize::from(automaton.classes[usize::from(*octet)]))?;
            continue;
        }
        let special = automaton.special(state)?;
        match special.kind {
            dfa::KIND_FINAL => return Some(End::Value(special.value)),
            dfa::KIND_CHAIN => {
                let chain = automaton.chain(&special)?;
                let Some(behind) = rest.strip_prefix(chain) else {
                    return Some(broken_off(automaton, chain, rest, special.value));
                };
                // A chain is never empty in a checked program; if it became so, the walk must still end.
                if chain.is_empty() {
                    return None;
                }
                rest = behind;
                state = special.next;
            }
            _ => return Some(End::Slow),
        }
    }
}

/// The end of the target leads to a final state, in every checked program.
#[inline]
fn at_end(automaton: &DfaView<'_>, row: usize) -> Option<End> {
    let special = automaton.special(automaton.entry(row + usize::from(dfa::CLASS_END))?)?;
    (special.kind == dfa::KIND_FINAL).then_some(End::Value(special.value))
}

/// Where a target leaves a chain: for good, unless canonicalising changes the octet at which it does.
#[cold]
fn broken_off(automaton: &DfaView<'_>, chain: &[u8], rest: &[u8], value: u32) -> End {
    let shared = chain.iter().zip(rest).take_while(|(a, b)| a == b).count();
    match rest.get(shared) {
        Some(&octet) if automaton.classes[usize::from(octet)] == dfa::CLASS_SLOW => End::Slow,
        _ => End::Value(value),
    }
}
