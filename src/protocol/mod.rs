//! What a robots.txt says: from octets to groups of canonical patterns, and what a fetch and an agent are.

pub mod agent;
pub mod decision;
pub mod dialect;
pub mod fetch;
pub mod parse;
pub mod policy;
pub mod record;
pub mod rewrite;
pub mod text;
pub mod usage;
