//! Parquet: columns of URLs in, rows that pass out as they came, and verdict columns out.
//!
//! ```text
//!                  ┌ row group ┐   columns of URLs, and what is carried, part by part
//!  ParquetInput ───┤ row group ├──▶ ParquetRows ──▶ pipeline ──▶ ParquetColumns: verdicts
//!  one open file   └ row group ┘                       │
//!        │                                             ▼ one bit a row
//!        └────────────── pages of all columns ──▶ ParquetRowWriter: the rows that pass
//! ```
//!
//! A row group is decided by one thread; several are at once. A filter keeps nothing of the rows while they are decided: it gathers which of them pass
//! ([`ParquetRowWriter`]), and goes back to the file for those. Row groups that pass whole are copied octet for octet, others are written again column by column,
//! below Arrow: levels and values as Parquet has them, so that no type is lost that Arrow does not know.
//!
//! Memory: a row group that is decided costs the pages and dictionaries of the columns that are read; one that is written again the same for one column at a time, and
//! what it is encoded to, which is no more than it was. As many are under way as there are threads, of each kind.

mod chunk;
mod file;
mod filter;
mod rows;
mod verdicts;

use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::{ParquetError, Result};

pub use file::ParquetInput;
pub use filter::ParquetRowWriter;
pub use rows::ParquetRows;
pub use verdicts::ParquetColumns;

/// The level that zstd has by itself, and most writers use or come near to.
const ZSTD_LEVEL: i32 = 3;

/// A codec as it is written with: files do not tell levels.
fn compression(codec: Compression) -> Result<Compression> {
    match codec {
        Compression::ZSTD(_) => Ok(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL)?)),
        Compression::LZO => Err(ParquetError::NYI("compression LZO".to_owned())),
        other => Ok(other),
    }
}
