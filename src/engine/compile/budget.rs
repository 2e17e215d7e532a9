//! What compiling one policy may cost.

/// What compiling one policy may still cost.
pub(super) struct Budget {
    /// Octets that merging groups may copy.
    pub(super) octets: usize,
    /// Units of determinising.
    pub(super) work: u64,
}

impl Budget {
    /// Takes units of work; `None` when they are used up.
    pub(super) fn work(&mut self, units: usize) -> Option<()> {
        match self.work.checked_sub(units as u64) {
            Some(left) => {
                self.work = left;
                Some(())
            }
            None => {
                self.work = 0;
                None
            }
        }
    }
}
