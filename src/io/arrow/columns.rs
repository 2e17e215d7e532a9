//! Verdict columns as record batches.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BooleanArray, DictionaryArray, Int8Array, Int32Array, StringArray, StringBuilder, TimestampMillisecondArray, UInt32Builder,
    UInt64Array,
};
use arrow::buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;

use super::compact::compact;
use super::urls::UrlBatch;
use crate::io::names::{Beside, ColumnNames};
use crate::io::text::to_text;
use crate::pipeline::{Bits, Carried, Column, Decided, Evaluator, Lent, Reading, UsageColumn};
use crate::protocol::decision::Reason;
use crate::store::{RuleTable, SnapshotTime, Store};

/// What the columns hold beside verdicts, and what they are called.
///
/// ```
/// use robosieve::io::arrow::Columns;
///
/// let columns = Columns { with_url: true, explain: true, ..Columns::default() };
/// assert_eq!(columns.prefix, "allow_");
/// ```
#[derive(Debug, Clone)]
pub struct Columns {
    /// Whether there is a column `url`.
    pub with_url: bool,
    /// What the names of verdict columns begin with: `allow_` unless told.
    pub prefix: String,
    /// The type of the column `url`: Utf8 unless told, or the string type that an Arrow source has (see [`url_type`]), whose values are then not copied.
    pub url_type: DataType,
    /// The names of the inputs by their number, for a column `file`.
    pub files: Option<Vec<String>>,
    /// The fields of the columns that are carried, in the order in which the source was asked for them: those that an Arrow source has, or [`text_fields`].
    pub carry: Vec<FieldRef>,
    /// Whether there are the columns that explain verdicts.
    pub explain: bool,
}

impl Default for Columns {
    fn default() -> Columns {
        Columns { with_url: false, prefix: "allow_".to_owned(), url_type: DataType::Utf8, files: None, carry: Vec::new(), explain: false }
    }
}

/// The type of the column `url` for a source whose URLs are in `field`: its own if that is a string type. Octets and dictionaries become text.
pub fn url_type(field: Option<&FieldRef>) -> DataType {
    match field.map(|field| field.data_type()) {
        Some(DataType::LargeUtf8 | DataType::LargeBinary) => DataType::LargeUtf8,
        Some(DataType::Utf8View | DataType::BinaryView) => DataType::Utf8View,
        _ => DataType::Utf8,
    }
}

/// The fields of columns that are carried from a text, which has no types: strings as they are, all else as JSON writes it.
pub fn text_fields(names: &[String]) -> Vec<FieldRef> {
    names.iter().map(|name| Arc::new(Field::new(name, DataType::Utf8, true))).collect()
}

/// A dictionary of reasons, in their order.
const REASON: (DataType, DataType) = (DataType::Int8, DataType::Utf8);

/// Makes record batches of decided rows: the columns of docs/COLUMNS.md.
#[derive(Debug)]
pub struct ColumnsBuilder<'s> {
    columns: Columns,
    schema: SchemaRef,
    /// Of each verdict column: the reading, its store, and the agent's tokens.
    asked: Vec<(usize, &'s Store, Vec<String>)>,
    /// Whether it is said who has lent the policy.
    with_lent: bool,
    reading_count: usize,
    reasons: ArrayRef,
    files: ArrayRef,
    escaped: u64,
}

impl<'s> ColumnsBuilder<'s> {
    /// The columns of what `evaluator` answers.
    pub fn new(evaluator: &Evaluator<'s>, columns: Columns) -> ColumnsBuilder<'s> {
        let asked = evaluator.columns().map(|asked| (asked.reading, asked.store, asked.agent.tokens().to_vec())).collect();
        ColumnsBuilder {
            schema: Arc::new(schema(evaluator, &columns)),
            asked,
            reading_count: evaluator.readings().len(),
            reasons: Arc::new(StringArray::from_iter_values(Reason::ALL.map(Reason::name))),
            files: Arc::new(StringArray::from_iter_values(columns.files.as_deref().unwrap_or_default())),
            columns,
            with_lent: !evaluator.fallback().is_off(),
            escaped: 0,
        }
    }

    /// The schema of every batch.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows that were not UTF-8: their octets stand as `%XX` in the column `url`.
    pub fn escaped(&self) -> u64 {
        self.escaped
    }

    /// Whether batches have to keep their rows (see [`Sink::wants_rows`](crate::pipeline::Sink::wants_rows)).
    pub fn wants_rows(&self) -> bool {
        self.columns.with_url || !self.columns.carry.is_empty()
    }

    /// Whether batches have to have whole decisions (see [`Sink::wants_decisions`](crate::pipeline::Sink::wants_decisions)).
    pub fn wants_decisions(&self) -> bool {
        self.columns.explain
    }

    /// The columns of decided rows.
    ///
    /// # Errors
    ///
    /// When what is carried has another type than was said, or the octets of the URLs are more than their type holds.
    pub fn batch(&mut self, decided: &Decided<'_>) -> io::Result<RecordBatch> {
        let rows = decided.row_count() as u64;
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(UInt64Array::from_iter_values(decided.first_row()..decided.first_row() + rows))];
        if self.columns.files.is_some() {
            arrays.push(self.file(decided)?);
        }
        if self.columns.with_url {
            arrays.push(self.urls(decided)?);
        }
        for (index, field) in self.columns.carry.iter().enumerate() {
            arrays.push(carried_array(decided, index, field)?);
        }
        arrays.extend(decided.columns().iter().map(|column| Arc::new(boolean_array(column)) as ArrayRef));
        arrays.extend(decided.usages().iter().map(|column| Arc::new(usage_array(column)) as ArrayRef));
        if self.columns.explain {
            self.explain(decided, &mut arrays)?;
        }
        if self.with_lent {
            let names = (0..decided.row_count()).map(|row| decided.lent(row).map(Lent::name));
            arrays.push(Arc::new(names.collect::<StringArray>()));
        }
        RecordBatch::try_new(self.schema.clone(), arrays).map_err(to_io)
    }

    fn file(&self, decided: &Decided<'_>) -> io::Result<ArrayRef> {
        let keys = Int32Array::from_value(decided.file() as i32, decided.row_count());
        Ok(Arc::new(DictionaryArray::try_new(keys, self.files.clone()).map_err(to_io)?))
    }

    fn urls(&mut self, decided: &Decided<'_>) -> io::Result<ArrayRef> {
        let wanted = &self.columns.url_type;
        if let Some(array) = urls_of(decided).and_then(|batch| batch.urls().text()).filter(|array| array.data_type() == wanted) {
            return compact(&array).map_err(to_io);
        }
        let is_null = |row| decided.values().is_some_and(|values| values.is_null(row));
        let octets = (0..decided.row_count()).map(|row| decided.row(row).len()).sum();
        within_type(octets, "url")?;
        let mut urls = StringBuilder::with_capacity(decided.row_count(), octets);
        for row in 0..decided.row_count() {
            if is_null(row) {
                urls.append_null();
                continue;
            }
            let (url, escaped) = to_text(decided.row(row));
            self.escaped += u64::from(escaped);
            urls.append_value(url);
        }
        cast(&urls.finish(), wanted).map_err(to_io)
    }

    fn explain(&self, decided: &Decided<'_>, arrays: &mut Vec<ArrayRef>) -> io::Result<()> {
        let tables: Vec<Vec<Option<RuleTable<'_>>>> = decided
            .runs()
            .iter()
            .map(|run| self.asked.iter().map(|&(reading, store, _)| run.rule_table(reading, store)).collect())
            .collect();
        for (column, (_, _, tokens)) in self.asked.iter().enumerate() {
            let (mut reasons, mut groups) = (Vec::with_capacity(decided.row_count()), StringBuilder::new());
            let (mut rules, mut lines) = (StringBuilder::new(), UInt32Builder::new());
            for (run, tables) in decided.runs().iter().zip(&tables) {
                let group = run.group(column, tokens).map(|group| to_text(group).0);
                for row in run.rows.clone() {
                    let decision = &decided.decisions(row)[column];
                    let rule = tables[column].as_ref().and_then(|table| table.rule(decision.rule));
                    reasons.push(decision.reason as i8);
                    groups.append_option(group.as_deref());
                    rules.append_option(rule.as_ref().map(|rule| to_text(rule.text).0));
                    lines.append_option(rule.map(|rule| rule.line));
                }
            }
            let reasons = DictionaryArray::try_new(Int8Array::from(reasons), self.reasons.clone()).map_err(to_io)?;
            arrays.push(Arc::new(reasons));
            arrays.push(Arc::new(groups.finish()));
            arrays.push(Arc::new(rules.finish()));
            arrays.push(Arc::new(lines.finish()));
        }
        (0..self.reading_count).for_each(|reading| arrays.extend(snapshots(decided, reading)));
        Ok(())
    }
}

/// Digest and time of the snapshots that answered in a reading.
fn snapshots(decided: &Decided<'_>, reading: usize) -> [ArrayRef; 2] {
    let (mut digests, mut times) = (StringBuilder::new(), Vec::with_capacity(decided.row_count()));
    for run in decided.runs() {
        let snapshot = run.snapshots.get(reading).and_then(Option::as_ref);
        let digest = snapshot.map(|snapshot| snapshot.digest_hex());
        let time = snapshot.and_then(|snapshot| match snapshot.time() {
            SnapshotTime::Undated => None,
            // Parquet knows no seconds.
            SnapshotTime::Effective(time) | SnapshotTime::Observed(time) => time.checked_mul(1000),
        });
        for _ in run.rows.clone() {
            digests.append_option(digest.as_deref());
            times.push(time);
        }
    }
    [Arc::new(digests.finish()), Arc::new(TimestampMillisecondArray::from(times).with_timezone("UTC"))]
}

/// What the rows came in, if that is a record batch.
pub(super) fn urls_of<'d>(decided: &'d Decided<'_>) -> Option<&'d UrlBatch> {
    decided.values()?.as_any()?.downcast_ref()
}

/// What rows carry in a column, as an array of the type that was said.
fn carried_array(decided: &Decided<'_>, index: usize, field: &Field) -> io::Result<ArrayRef> {
    if let Some(array) = urls_of(decided).and_then(|batch| batch.carried_arrays().get(index)) {
        if array.data_type() == field.data_type() {
            return compact(array).map_err(to_io);
        }
        // Between kinds of strings nothing is lost.
        if !(is_text(array.data_type()) && is_text(field.data_type())) {
            return Err(other_type(field, array.data_type()));
        }
        return cast(array, field.data_type()).map_err(|_| other_type(field, array.data_type()));
    }
    if !is_text(field.data_type()) && decided.row_count() > 0 {
        return Err(other_type(field, &DataType::Utf8)); // a text, which has no types, behind a table that has
    }
    let mut texts = StringBuilder::new();
    let mut len = 0_usize;
    for row in 0..decided.row_count() {
        match decided.values().map_or(Carried::Null, |values| values.carried(index, row)) {
            Carried::Null => texts.append_null(),
            value => {
                let text = text_of(&value);
                len = len.saturating_add(text.len());
                within_type(len, field.name())?;
                texts.append_value(text);
            }
        }
    }
    cast(&texts.finish(), field.data_type()).map_err(|_| other_type(field, &DataType::Utf8))
}

/// Whether a type is one of strings.
fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// A value that a text carries, as text.
fn text_of(value: &Carried<'_>) -> String {
    match value {
        Carried::Null => String::new(),
        Carried::Bool(value) => value.to_string(),
        Carried::Integer(value) => value.to_string(),
        Carried::Float(value) => value.to_string(),
        Carried::Text(text) => to_text(text).0.into_owned(),
        Carried::Json(json) => json.clone().into_owned(),
    }
}

fn other_type(field: &Field, found: &DataType) -> io::Error {
    let (name, wanted) = (crate::io::text::to_terminal_text(field.name().as_bytes()), field.data_type());
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the column {name} holds {found} here and {wanted} in the first input: carry it from inputs of one type"),
    )
}

/// A batch's strings have 32-bit offsets.
fn within_type(octets: usize, column: &str) -> io::Result<()> {
    match i32::try_from(octets) {
        Ok(_) => Ok(()),
        Err(_) => {
            Err(io::Error::new(io::ErrorKind::InvalidData, format!("the column {column} has more than 2 GiB of text in one batch of rows")))
        }
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
    BooleanArray::new(boolean_buffer(values), Some(NullBuffer::new(boolean_buffer(valid))))
}

/// One bit a row as Arrow holds it.
pub(super) fn boolean_buffer(bits: &Bits) -> BooleanBuffer {
    let octets: Vec<u8> = bits.words().iter().flat_map(|word| word.to_le_bytes()).collect();
    BooleanBuffer::new(Buffer::from_vec(octets), 0, bits.len())
}

/// The schema of the columns for `evaluator`'s agents, with what they depend on as metadata.
pub fn schema(evaluator: &Evaluator<'_>, columns: &Columns) -> Schema {
    let carried: Vec<String> = columns.carry.iter().map(|field| field.name().clone()).collect();
    let beside = Beside { file: columns.files.is_some(), url: columns.with_url, carried: &carried, explained: columns.explain };
    let names = ColumnNames::new(evaluator, &columns.prefix, beside);
    let mut fields = vec![Field::new("row", DataType::UInt64, false)];
    if columns.files.is_some() {
        fields.push(Field::new_dictionary("file", DataType::Int32, DataType::Utf8, false));
    }
    if columns.with_url {
        fields.push(Field::new("url", columns.url_type.clone(), true));
    }
    let carry = |(field, name): (&FieldRef, &String)| field.as_ref().clone().with_name(name).with_nullable(true);
    fields.extend(columns.carry.iter().zip(&names.carried).map(carry));
    fields.extend(names.verdicts.iter().chain(&names.usages).map(|name| Field::new(name, DataType::Boolean, true)));
    for names in &names.explained {
        fields.push(Field::new_dictionary(&names.reason, REASON.0, REASON.1, false));
        fields.push(Field::new(&names.group, DataType::Utf8, true));
        fields.push(Field::new(&names.rule, DataType::Utf8, true));
        fields.push(Field::new(&names.line, DataType::UInt32, true));
    }
    for names in &names.snapshots {
        fields.push(Field::new(&names.digest, DataType::Utf8, true));
        fields.push(Field::new(&names.time, DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into())), true));
    }
    fields.extend(names.lent.iter().map(|name| Field::new(name, DataType::Utf8, true)));
    Schema::new_with_metadata(fields, metadata(evaluator, &names))
}

/// What the verdicts depend on.
pub(super) fn metadata(evaluator: &Evaluator<'_>, names: &ColumnNames) -> HashMap<String, String> {
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
        let lines: Vec<String> = evaluator.usages().map(|asked| format!("{}={}", asked.key, names.verdicts[asked.column])).collect();
        metadata.push(("robosieve.usage", lines.join("\n")));
    }
    metadata.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// One text a reading, parted by commas.
fn joined(evaluator: &Evaluator<'_>, text: impl Fn(&Reading<'_>) -> String) -> String {
    evaluator.readings().iter().map(text).collect::<Vec<_>>().join(",")
}

pub(super) fn to_io(error: ArrowError) -> io::Error {
    match error {
        ArrowError::IoError(_, error) => error,
        other => io::Error::other(other),
    }
}
