//! The formats of the world, in and out.

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod compressed;
#[cfg(feature = "csv")]
pub mod csv;
pub mod directory;
pub mod filter;
#[cfg(feature = "json")]
pub mod json;
#[cfg(feature = "json")]
pub mod jsonl;
pub mod lines;
#[cfg(feature = "json")]
pub mod manifest;
#[cfg(any(feature = "csv", feature = "json"))]
mod stretches;
pub mod table;
pub mod text;
