//! The formats of the world, in and out.

#[cfg(feature = "arrow")]
pub mod arrow;
pub mod directory;
pub mod filter;
#[cfg(feature = "json")]
pub mod json;
pub mod lines;
#[cfg(feature = "json")]
pub mod manifest;
pub mod names;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod table;
pub mod text;
