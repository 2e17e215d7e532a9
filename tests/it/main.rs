//! The integration tests, one binary.

mod claims;
mod command;
mod corpus;
mod format;
mod hostile;
mod ladder;
mod layers;
mod oracle;
mod pipeline;
mod readme;
mod regressions;
mod sample;
mod store;
