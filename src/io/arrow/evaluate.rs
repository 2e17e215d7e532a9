//! Verdicts for arrays and record batches that the caller has: no source, no sink, no threads.

use std::sync::Arc;

use arrow::array::BooleanBufferBuilder;
use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchReader};

use super::columns::{boolean_array, metadata, usage_array};
use super::urls::{ColumnError, UrlArray, UrlColumns, url_columns};
use crate::io::names::{Beside, ColumnNames};
use crate::pipeline::{Batch, Decided, Evaluator, Worker};

/// Rows decided at once: their octets stay in the cache.
const ROWS: usize = 8_192;

/// The verdicts for an array of URLs: an array a column of `evaluator`, true for allow, false for disallow, null where the URL is null or there is no answer.
///
/// The array may be one of strings or octets, plain, large, views, of fixed size, or a dictionary of those, sliced or not.
///
/// ```
/// use arrow::array::{Array, DictionaryArray, types::Int32Type};
/// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::{io::arrow::evaluate, pipeline::Evaluator};
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
///
/// let urls = [Some("https://example.com/"), None, Some("https://example.com/private/x"), Some("https://example.org/")];
/// let urls: DictionaryArray<Int32Type> = urls.into_iter().collect();
/// let verdicts = &evaluate(&evaluator, &urls)?[0];
/// assert_eq!(verdicts.iter().collect::<Vec<_>>(), [Some(true), None, Some(false), None]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`ColumnError`] when the array's type holds no text.
pub fn evaluate(evaluator: &Evaluator<'_>, urls: &dyn Array) -> Result<Vec<BooleanArray>, ColumnError> {
    let mut columns = Answers::of(evaluator.columns().len(), urls.len());
    let mut asked = Asked::default();
    for at in (0..urls.len()).step_by(ROWS) {
        let part = UrlArray::new(&urls.slice(at, ROWS.min(urls.len() - at)))?;
        let decided = asked.decide(evaluator, part);
        columns.add(decided.columns().iter().map(boolean_array));
    }
    Ok(columns.finish())
}

/// The state of whoever decides, kept from batch to batch.
#[derive(Debug, Default)]
struct Asked<'s> {
    worker: Worker<'s>,
    decided: Option<Decided<'s>>,
}

impl<'s> Asked<'s> {
    fn decide(&mut self, evaluator: &Evaluator<'s>, urls: UrlArray) -> &Decided<'s> {
        let spare = self.decided.take();
        self.decided.insert(self.worker.decide(evaluator, Batch::values(urls), false, spare))
    }
}

/// Columns that grow part by part.
struct Answers(Vec<(BooleanBufferBuilder, BooleanBufferBuilder)>);

impl Answers {
    fn of(columns: usize, rows: usize) -> Answers {
        Answers((0..columns).map(|_| (BooleanBufferBuilder::new(rows), BooleanBufferBuilder::new(rows))).collect())
    }

    fn add(&mut self, parts: impl Iterator<Item = BooleanArray>) {
        for ((values, valid), part) in self.0.iter_mut().zip(parts) {
            values.append_buffer(part.values());
            match part.nulls() {
                Some(nulls) => valid.append_buffer(nulls.inner()),
                None => valid.append_n(part.len(), true),
            }
        }
    }

    fn finish(self) -> Vec<BooleanArray> {
        let array = |(mut values, mut valid): (BooleanBufferBuilder, BooleanBufferBuilder)| {
            let values: BooleanBuffer = values.finish();
            BooleanArray::new(values, Some(NullBuffer::new(valid.finish())))
        };
        self.0.into_iter().map(array).collect()
    }
}

/// Record batches of another reader, with the verdict and usage columns behind their own.
///
/// The columns are named as docs/COLUMNS.md says; a name that the batches have already gets `_2` behind it. What the verdicts depend on is added to the
/// schema's metadata.
///
/// ```
/// use arrow::{array::{AsArray, StringViewArray}, record_batch::{RecordBatch, RecordBatchIterator, RecordBatchReader}};
/// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::{io::arrow::VerdictReader, pipeline::Evaluator};
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
///
/// let links = StringViewArray::from(vec!["https://example.com/private/x", "https://example.com/"]);
/// let batch = RecordBatch::try_from_iter([("link", std::sync::Arc::new(links) as _)])?;
/// let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
/// let mut reader = VerdictReader::new(reader, &evaluator, Some("link"), "allow_")?;
/// assert_eq!(reader.schema().field(1).name(), "allow_AnyBot");
/// let batch = reader.next().unwrap()?;
/// assert_eq!(batch["allow_AnyBot"].as_boolean().iter().collect::<Vec<_>>(), [Some(false), Some(true)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct VerdictReader<'e, 's, R> {
    reader: R,
    evaluator: &'e Evaluator<'s>,
    urls: UrlColumns,
    schema: SchemaRef,
    asked: Asked<'s>,
}

impl<'e, 's, R: RecordBatchReader> VerdictReader<'e, 's, R> {
    /// The batches of `reader` with what `evaluator` answers. `url_column` names the column of URLs as in [`url_columns`]; the names of verdict columns begin
    /// with `prefix`.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] when there is no such column, or it holds no text.
    pub fn new(reader: R, evaluator: &'e Evaluator<'s>, url_column: Option<&str>, prefix: &str) -> Result<Self, ColumnError> {
        let schema = reader.schema();
        let urls = url_columns(&schema, url_column)?;
        let schema = Arc::new(with_verdicts(&schema, evaluator, prefix));
        Ok(VerdictReader { reader, evaluator, urls, schema, asked: Asked::default() })
    }

    fn answer(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let evaluator = self.evaluator;
        let mut answers = Answers::of(evaluator.columns().len() + evaluator.usages().len(), batch.num_rows());
        for at in (0..batch.num_rows()).step_by(ROWS) {
            let part = batch.slice(at, ROWS.min(batch.num_rows() - at));
            let urls = UrlArray::of(&self.urls, &part).map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
            let decided = self.asked.decide(evaluator, urls);
            answers.add(decided.columns().iter().map(boolean_array).chain(decided.usages().iter().map(usage_array)));
        }
        let answers = answers.finish().into_iter().map(|array| Arc::new(array) as ArrayRef);
        RecordBatch::try_new(self.schema.clone(), batch.columns().iter().cloned().chain(answers).collect())
    }
}

fn with_verdicts(schema: &Schema, evaluator: &Evaluator<'_>, prefix: &str) -> Schema {
    let taken: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let names = ColumnNames::new(evaluator, prefix, Beside { carried: &taken, ..Beside::default() });
    let answer = |name: &String| -> FieldRef { Arc::new(Field::new(name, DataType::Boolean, true)) };
    let fields: Vec<FieldRef> = schema.fields().iter().cloned().chain(names.verdicts.iter().chain(&names.usages).map(answer)).collect();
    let mut all = schema.metadata().clone();
    all.extend(metadata(evaluator, &names));
    Schema::new_with_metadata(fields, all)
}

impl<R: RecordBatchReader> Iterator for VerdictReader<'_, '_, R> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.reader.next().map(|batch| self.answer(&batch?))
    }
}

impl<R: RecordBatchReader> RecordBatchReader for VerdictReader<'_, '_, R> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}
