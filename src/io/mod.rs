//! The formats of the world, in and out.

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod directory;
#[cfg(feature = "domains")]
pub mod domains;
pub mod filter;
pub mod inputs;
#[cfg(feature = "json")]
pub mod json;
pub mod lines;
#[cfg(feature = "json")]
pub mod manifest;
pub mod names;
pub mod origins;
pub mod sums;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod table;
pub mod text;
