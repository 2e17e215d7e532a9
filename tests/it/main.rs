//! The integration tests, one binary.

mod corpus;
mod ladder;
mod oracle;
