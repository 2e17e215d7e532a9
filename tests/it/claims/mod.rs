//! What holds of any input whatever: one function a fuzz target, which panics where a claim does not hold.
//!
//! The fuzz targets in tools/fuzz call these functions with what the fuzzer makes up; the test `regressions` calls them with every input that once
//! broke a claim. So an input means the same in both.

pub mod blocks;
pub mod canonicalise;
pub mod decide;
pub mod header;
pub mod parse;
pub mod store;
pub mod tables;

/// A claim: it panics where it does not hold of the input.
pub type Claim = fn(&[u8]);

/// The claims by the name of their fuzz target.
pub const ALL: [(&str, Claim); 7] = [
    ("parse", parse::check),
    ("canonicalise", canonicalise::check),
    ("decide", decide::check),
    ("store", store::check),
    ("header", header::check),
    ("blocks", blocks::check),
    ("tables", tables::check),
];
