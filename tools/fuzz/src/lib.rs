//! What the fuzz targets call: the claims of the project's integration tests, and the oracle that some of them ask.

#[path = "../../../tests/it/claims/mod.rs"]
pub mod claims;
#[path = "../../../tests/it/oracle.rs"]
pub mod oracle;
