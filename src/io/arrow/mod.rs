//! Arrow: columns of URLs in, verdict columns out. docs/COLUMNS.md defines the latter.

mod carried;
mod columns;
mod urls;

pub use columns::*;
pub use urls::{ColumnError, UrlArray, UrlBatch, UrlColumns, carried_columns, is_surt, url_columns};
