//! The integration tests, one binary.

mod command;
mod corpus;
mod format;
mod hostile;
mod ladder;
mod layers;
mod oracle;
mod pipeline;
mod readme;
mod sample;
mod store;
mod usage;
