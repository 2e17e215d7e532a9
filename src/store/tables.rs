//! Rule tables: what a rule id stands for in one body. Policies with equal rules share a program and never the lines.

use super::layout::u32_at;
use crate::protocol::decision::RuleId;

pub(super) const HEADER_LEN: usize = 4;
/// Line, text (offset, length).
pub(super) const RECORD_LEN: usize = 12;

/// Lines and texts of the rules of one body.
#[derive(Debug, Clone, Copy)]
pub struct RuleTable<'s> {
    octets: &'s [u8],
}

/// A rule as its file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleText<'s> {
    /// The line, from 1.
    pub line: u32,
    /// The value as written.
    pub text: &'s [u8],
}

impl<'s> RuleTable<'s> {
    pub(super) fn new(octets: &'s [u8]) -> RuleTable<'s> {
        RuleTable { octets }
    }

    /// How many rules there are.
    pub fn len(&self) -> usize {
        u32_at(self.octets, 0).unwrap_or(0) as usize
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rule of that id.
    pub fn rule(&self, id: RuleId) -> Option<RuleText<'s>> {
        let index = id.index()? as usize;
        if index >= self.len() {
            return None;
        }
        let at = HEADER_LEN + index * RECORD_LEN;
        let (offset, len) = (u32_at(self.octets, at + 4)? as usize, u32_at(self.octets, at + 8)? as usize);
        Some(RuleText { line: u32_at(self.octets, at)?, text: self.octets.get(offset..)?.get(..len)? })
    }
}
