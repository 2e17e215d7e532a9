//! The formats of the world, in and out.

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod compressed;
#[cfg(feature = "csv")]
pub mod csv;
pub mod directory;
#[cfg(feature = "domains")]
pub mod domains;
pub mod filter;
#[cfg(feature = "arrow")]
pub mod guard;
pub mod inputs;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "json")]
pub mod jsonl;
pub mod lines;
#[cfg(feature = "json")]
pub mod manifest;
pub mod names;
pub mod origins;
#[cfg(feature = "parquet")]
pub mod parquet;
#[cfg(feature = "arrow")]
mod steady;
#[cfg(any(feature = "csv", feature = "json"))]
mod stretches;
pub mod sums;
pub mod table;
#[cfg(any(feature = "arrow", feature = "csv", feature = "json"))]
mod tables;
pub mod text;
