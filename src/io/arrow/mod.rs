//! Arrow: URL columns in, rows that pass and verdict columns out. docs/COLUMNS.md defines the latter.
//!
//! | for | there is |
//! |---|---|
//! | verdicts for an array, or for batches of a reader | [`evaluate`], [`VerdictReader`] |
//! | IPC files and streams as sources of rows | [`IpcFile`], [`IpcStream`], asked by [`TableOptions`] |
//! | rows that pass, with all their columns | [`ArrowRows`], for a [`Filter`](super::filter::Filter) |
//! | verdict columns as files and streams | [`ArrowColumns`], as [`Columns`] says |
//! | sources and sinks of one's own | [`Selection`], [`UrlBatch`], [`UrlArray`], [`ColumnsBuilder`] |

mod carried;
mod columns;
mod compact;
mod evaluate;
mod file;
mod message;
mod output;
mod select;
mod stream;
mod urls;

pub use crate::io::tables::is_surt;
pub use columns::{Columns, ColumnsBuilder, boolean_array, schema, text_fields, url_type, usage_array};
pub use evaluate::{VerdictReader, evaluate};
pub use file::IpcFile;
pub use output::{ArrowColumns, ArrowRows, TableForm};
pub use select::{Selection, TableOptions};
pub use stream::IpcStream;
pub use urls::{ColumnError, UrlArray, UrlBatch, UrlColumns, carried_columns, url_columns};
