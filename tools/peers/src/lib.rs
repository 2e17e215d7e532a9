//! What the comparison with other robots.txt programs is made of: the files to run on, the peers, the clock.

pub mod clock;
pub mod corpus;
pub mod hostile;
pub mod peer;
pub mod policy;
