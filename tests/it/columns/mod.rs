//! Columns in and out: the same verdicts for the same URLs, whatever form they come in; and rows as they came.

mod arrow;
mod parquet;
mod text;
