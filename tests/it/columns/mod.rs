//! Columns in and out: the same verdicts whatever URLs come in, and rows as they came.

mod parquet;
mod text;
