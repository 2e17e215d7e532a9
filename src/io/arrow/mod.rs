//! Arrow: columns of URLs in, verdict columns out. docs/COLUMNS.md defines the latter.

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

pub use columns::{Columns, ColumnsBuilder, boolean_array, schema, text_fields, url_type, usage_array};
pub use evaluate::{VerdictReader, evaluate};
pub use file::IpcFile;
pub use output::{ArrowColumns, ArrowRows, TableForm};
pub use select::{Selection, TableOptions};
pub use stream::IpcStream;
pub use urls::{ColumnError, UrlArray, UrlBatch, UrlColumns, carried_columns, is_surt, url_columns};
