//! Verdict columns as Arrow arrays and IPC files.

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, StringBuilder, UInt64Array};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::FileWriter;
use arrow::record_batch::RecordBatch;

use crate::io::text::to_text;
use crate::pipeline::{Asked, AskedUsage, Bits, Column, Decided, Evaluator, Reading, Sink, UsageColumn};

/// What the columns hold beside verdicts, and what they are called.
#[derive(Debug, Clone)]
pub struct Columns {
    /// Whether there is a column `url`.
    pub with_url: bool,
    /// What the names of verdict columns begin with: `allow_` unless told.
    pub prefix: String,
}

impl Default for Columns {
    fn default() -> Columns {
        Columns { with_url: false, prefix: "allow_".to_owned() }
    }
}

/// Writes an Arrow IPC file: `row`, `url` where asked for, a boolean column an agent, null where there is no answer, and one a use asked about and
/// agent, null where nothing is stated.
pub struct ArrowFile<W: Write> {
    writer: FileWriter<W>,
    schema: SchemaRef,
    columns: Columns,
    escaped: u64,
}

impl<W: Write> ArrowFile<W> {
    /// An IPC file of the verdicts that `evaluator` gives.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn new(out: W, evaluator: &Evaluator<'_>, columns: Columns) -> io::Result<ArrowFile<W>> {
        let schema = Arc::new(schema(evaluator, &columns));
        let writer = FileWriter::try_new(out, &schema).map_err(to_io)?;
        Ok(ArrowFile { writer, schema, columns, escaped: 0 })
    }

    /// Rows that were not UTF-8: their octets stand as `%XX` in the column `url`.
    pub fn escaped(&self) -> u64 {
        self.escaped
    }

    /// Writes the footer; gives the output back.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.writer.finish().map_err(to_io)?;
        self.writer.into_inner().map_err(to_io)
    }

    fn urls(&mut self, decided: &Decided<'_>) -> ArrayRef {
        let octets = (0..decided.row_count()).map(|row| decided.row(row).len()).sum();
        let mut urls = StringBuilder::with_capacity(decided.row_count(), octets);
        for row in 0..decided.row_count() {
            let (url, escaped) = to_text(decided.row(row));
            self.escaped += u64::from(escaped);
            urls.append_value(url);
        }
        Arc::new(urls.finish())
    }
}

impl<W: Write> Sink for ArrowFile<W> {
    fn wants_rows(&self) -> bool {
        self.columns.with_url
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let rows = decided.row_count() as u64;
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from_iter_values(decided.first_row()..decided.first_row() + rows))];
        if self.columns.with_url {
            arrays.push(self.urls(decided));
        }
        arrays.extend(decided.columns().iter().map(|column| Arc::new(boolean_array(column)) as ArrayRef));
        arrays.extend(decided.usages().iter().map(|column| Arc::new(usage_array(column)) as ArrayRef));
        let batch = RecordBatch::try_new(self.schema.clone(), arrays).map_err(to_io)?;
        self.writer.write(&batch).map_err(to_io)
    }
}

/// A column of verdicts as an Arrow array: true for allow, false for disallow, null for unresolved.
pub fn boolean_array(column: &Column) -> BooleanArray {
    boolean(&column.allow, &column.resolved)
}

/// A usage column as an Arrow array: true for `y`, false for `n`, null where nothing is stated.
pub fn usage_array(column: &UsageColumn) -> BooleanArray {
    boolean(&column.yes, &column.stated)
}

fn boolean(values: &Bits, valid: &Bits) -> BooleanArray {
    let bits = |bits: &Bits| {
        let octets: Vec<u8> = bits.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        BooleanBuffer::new(Buffer::from_vec(octets), 0, bits.len())
    };
    BooleanArray::new(bits(values), Some(NullBuffer::new(bits(valid))))
}

/// The schema of the columns for `evaluator`'s agents, with what they depend on as metadata.
pub fn schema(evaluator: &Evaluator<'_>, columns: &Columns) -> Schema {
    let mut fields = vec![Field::new("row", DataType::UInt64, false)];
    if columns.with_url {
        fields.push(Field::new("url", DataType::Utf8, false));
    }
    let names = column_names(evaluator, &columns.prefix);
    fields.extend(names.iter().chain(&usage_names(evaluator, &names)).map(|name| Field::new(name, DataType::Boolean, true)));
    let agents: Vec<String> = evaluator
        .agents()
        .iter()
        .map(|agent| {
            let tokens = if agent.tokens().is_empty() { "*".to_owned() } else { agent.tokens().join(",") };
            format!("{}={tokens}{}", agent.name(), if agent.star() { "" } else { ",no-star" })
        })
        .collect();
    let mut metadata = vec![
        ("robosieve.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("robosieve.agents", agents.join("\n")),
        ("robosieve.dialect", joined(evaluator, |reading| reading.store().dialect().name.to_owned())),
        ("robosieve.access", joined(evaluator, |reading| reading.access().name().to_owned())),
        ("robosieve.as_of", "newest".to_owned()),
        ("robosieve.store_digest", joined(evaluator, |reading| format!("{:016x}", reading.store().digest()))),
    ];
    if evaluator.usages().len() > 0 {
        let lines: Vec<String> = evaluator.usages().map(|asked| format!("{}={}", asked.key, names[asked.column])).collect();
        metadata.push(("robosieve.usage", lines.join("\n")));
    }
    let metadata: HashMap<String, String> = metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Schema::new_with_metadata(fields, metadata)
}

/// One text a reading, parted by commas.
fn joined(evaluator: &Evaluator<'_>, text: impl Fn(&Reading<'_>) -> String) -> String {
    evaluator.readings().iter().map(text).collect::<Vec<_>>().join(",")
}

/// The names of the verdict columns: prefix and agent, and the dialect behind them where there are several. One that is taken (two agents with one token, a prefix that makes it `row`) gets `_2` behind it, and so on.
pub fn column_names(evaluator: &Evaluator<'_>, prefix: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for Asked { agent, dialect, .. } in evaluator.columns() {
        let name = format!("{prefix}{}{}", agent.column_suffix(), dialect.map_or(String::new(), |name| format!("_{name}")));
        names.push(untaken(name, &[&names]));
    }
    names
}

/// The names of the usage columns: `usage_`, the use, `_`, and what the names of verdict columns have behind their prefix. `verdicts` and those before
/// are taken.
fn usage_names(evaluator: &Evaluator<'_>, verdicts: &[String]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for AskedUsage { key, agent, dialect, .. } in evaluator.usages() {
        let name = format!("usage_{key}_{}{}", agent.column_suffix(), dialect.map_or(String::new(), |name| format!("_{name}")));
        names.push(untaken(name, &[verdicts, &names]));
    }
    names
}

fn untaken(base: String, taken: &[&[String]]) -> String {
    let is_taken = |name: &String| ["row", "url"].contains(&&name[..]) || taken.iter().any(|names| names.contains(name));
    let mut name = base.clone();
    let mut number = 2;
    while is_taken(&name) {
        name = format!("{base}_{number}");
        number += 1;
    }
    name
}

fn to_io(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}
