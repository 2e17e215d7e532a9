//! How a verdict is found: rules become automata, automata become octets, octets are walked.

pub mod analyse;
pub mod compile;
pub mod explain;
pub mod lint;
pub mod matcher;
pub mod program;
#[cfg(feature = "pipeline")]
pub mod scan;
