//! robosieve (documentation follows)
pub mod engine;
#[cfg(feature = "pipeline")]
pub mod io;
#[cfg(feature = "pipeline")]
pub mod pipeline;
pub mod protocol;
#[cfg(feature = "store")]
pub mod store;
pub mod target;

pub use engine::{compile, matcher, program};
pub use protocol::{agent, decision, dialect, fetch, parse, policy, text};
pub use target::{form, percent, url};
