//! The integration tests, one binary.

mod analyse;
mod blocks;
mod claims;
mod columns;
mod command;
mod conformance;
mod corpus;
mod dialects;
mod format;
mod hostile;
mod ladder;
mod layers;
mod oracle;
mod pipeline;
mod ranks;
mod readme;
mod regressions;
mod sample;
mod store;
mod usage;
