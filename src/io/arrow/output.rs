//! Record batches as Arrow IPC files and streams.

use std::io::{self, Write};

use arrow::array::BooleanArray;
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow::record_batch::RecordBatch;

use super::columns::{Columns, ColumnsBuilder, boolean_buffer, to_io, urls_of};
use super::compact::compact;
use crate::io::filter::RowWriter;
use crate::pipeline::{Bits, Decided, Evaluator, Sink};

/// A file, or a stream.
enum IpcWriter<W: Write> {
    File(FileWriter<W>),
    Stream(StreamWriter<W>),
}

impl<W: Write> IpcWriter<W> {
    fn file(out: W, schema: &Schema, options: IpcWriteOptions) -> io::Result<IpcWriter<W>> {
        FileWriter::try_new_with_options(out, schema, options).map(IpcWriter::File).map_err(to_io)
    }

    fn stream(out: W, schema: &Schema, options: IpcWriteOptions) -> io::Result<IpcWriter<W>> {
        StreamWriter::try_new_with_options(out, schema, options).map(IpcWriter::Stream).map_err(to_io)
    }

    fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        match self {
            IpcWriter::File(writer) => writer.write(batch),
            IpcWriter::Stream(writer) => writer.write(batch),
        }
        .map_err(to_io)
    }

    fn finish(&mut self) -> io::Result<()> {
        match self {
            IpcWriter::File(writer) => writer.finish(),
            IpcWriter::Stream(writer) => writer.finish(),
        }
        .map_err(to_io)
    }

    fn into_inner(self) -> io::Result<W> {
        match self {
            IpcWriter::File(writer) => writer.into_inner(),
            IpcWriter::Stream(writer) => writer.into_inner(),
        }
        .map_err(to_io)
    }
}

/// Writes verdict columns as an Arrow IPC file or stream: those that docs/COLUMNS.md defines.
pub struct ArrowColumns<'s, W: Write> {
    writer: IpcWriter<W>,
    builder: ColumnsBuilder<'s>,
}

impl<'s, W: Write> ArrowColumns<'s, W> {
    /// An IPC file of the verdicts that `evaluator` gives.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn file(out: W, evaluator: &Evaluator<'s>, columns: Columns) -> io::Result<ArrowColumns<'s, W>> {
        let builder = ColumnsBuilder::new(evaluator, columns);
        Ok(ArrowColumns { writer: IpcWriter::file(out, builder.schema(), IpcWriteOptions::default())?, builder })
    }

    /// An IPC stream of the verdicts that `evaluator` gives.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn stream(out: W, evaluator: &Evaluator<'s>, columns: Columns) -> io::Result<ArrowColumns<'s, W>> {
        let builder = ColumnsBuilder::new(evaluator, columns);
        Ok(ArrowColumns { writer: IpcWriter::stream(out, builder.schema(), IpcWriteOptions::default())?, builder })
    }

    /// Rows that were not UTF-8: their octets stand as `%XX` in the column `url`.
    pub fn escaped(&self) -> u64 {
        self.builder.escaped()
    }

    /// Writes what belongs at the end; gives the output back.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.writer.finish()?;
        self.writer.into_inner()
    }
}

impl<W: Write> Sink for ArrowColumns<'_, W> {
    fn wants_decisions(&self) -> bool {
        self.builder.wants_decisions()
    }

    fn wants_rows(&self) -> bool {
        self.builder.wants_rows()
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let batch = self.builder.batch(decided)?;
        self.writer.write(&batch)
    }
}

/// What of a table's form goes over into what is filtered out of it.
#[derive(Debug, Clone)]
pub struct TableForm {
    /// The schema, with its metadata.
    pub schema: SchemaRef,
    /// How record batches are compressed.
    pub compression: Option<CompressionType>,
    /// What the footer of a file says beside its schema.
    pub footer_metadata: Vec<(String, String)>,
}

impl TableForm {
    fn options(&self) -> io::Result<IpcWriteOptions> {
        IpcWriteOptions::default().try_with_compression(self.compression).map_err(to_io)
    }
}

/// Writes rows of record batches as they came, with all their columns: for a filter whose source is an Arrow file or stream and keeps whole rows.
///
/// ```
/// use std::num::NonZeroUsize;
/// use arrow::{array::{Int64Array, StringArray}, ipc::{reader::StreamReader, writer::StreamWriter}, record_batch::RecordBatch};
/// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::io::{arrow::{ArrowRows, IpcStream, TableOptions}, filter::{Filter, Require, Undecided}};
/// use robosieve::pipeline::{Evaluator, run};
///
/// let urls = StringArray::from(vec!["https://example.com/private/x", "https://example.com/"]);
/// let ids = Int64Array::from(vec![7, 8]);
/// let batch = RecordBatch::try_from_iter([("id", std::sync::Arc::new(ids) as _), ("url", std::sync::Arc::new(urls) as _)])?;
/// let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
/// writer.write(&batch)?;
/// let octets = writer.into_inner()?;
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
/// let mut rows = IpcStream::new(&octets[..], &TableOptions { whole_rows: true, ..TableOptions::default() })?;
/// let mut out = Vec::new();
/// let mut filter = Filter::new(ArrowRows::stream(&mut out, &rows.form())?, Require::All, Undecided::Drop);
/// run(&mut rows, &evaluator, &mut filter, NonZeroUsize::MIN)?;
/// filter.finish()?;
/// let kept = StreamReader::try_new(&out[..], None)?.next().unwrap()?;
/// assert_eq!(kept, batch.slice(1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArrowRows<W: Write> {
    writer: IpcWriter<W>,
    schema: SchemaRef,
}

impl<W: Write> ArrowRows<W> {
    /// An IPC file of rows of a table of that form.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn file(out: W, form: &TableForm) -> io::Result<ArrowRows<W>> {
        let mut writer = FileWriter::try_new_with_options(out, &form.schema, form.options()?).map_err(to_io)?;
        form.footer_metadata.iter().for_each(|(key, value)| writer.write_metadata(key, value));
        Ok(ArrowRows { writer: IpcWriter::File(writer), schema: form.schema.clone() })
    }

    /// An IPC stream of rows of a table of that form.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn stream(out: W, form: &TableForm) -> io::Result<ArrowRows<W>> {
        Ok(ArrowRows { writer: IpcWriter::stream(out, &form.schema, form.options()?)?, schema: form.schema.clone() })
    }
}

impl<W: Write> RowWriter for ArrowRows<W> {
    fn write_rows(&mut self, decided: &Decided<'_>, rows: &Bits) -> io::Result<()> {
        let batch =
            urls_of(decided).ok_or_else(|| io::Error::other("rows that are no record batches can not be written as Arrow"))?.batch();
        if batch.schema_ref() != &self.schema {
            return Err(io::Error::other("its columns are not those of the first input: filter each into an output of its own"));
        }
        if rows.count_ones() == 0 {
            return Ok(());
        }
        let kept = filter_record_batch(batch, &BooleanArray::new(boolean_buffer(rows), None)).map_err(to_io)?;
        let arrays = kept.columns().iter().map(compact).collect::<Result<Vec<_>, _>>().map_err(to_io)?;
        self.writer.write(&RecordBatch::try_new(self.schema.clone(), arrays).map_err(to_io)?)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.writer.finish()
    }
}
