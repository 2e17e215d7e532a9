//! robosieve (documentation follows)
pub mod engine;
pub mod protocol;
pub mod target;

pub use engine::{compile, matcher, program};
pub use protocol::{agent, decision, dialect, fetch, parse, policy, text};
pub use target::{form, percent, url};
