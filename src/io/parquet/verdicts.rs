//! Verdict columns as a Parquet file.

use std::io::{self, Write};

use arrow::datatypes::Schema;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::Result as ParquetResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::compression;
use super::filter::{created_by, unwritable};
use crate::io::arrow::{Columns, ColumnsBuilder};
use crate::pipeline::{Decided, Evaluator, Sink};

/// Rows of a row group.
const GROUP_ROWS: usize = 1 << 20;
/// Octets of a row group, as they are encoded: URLs and what is carried can be long.
const GROUP_LEN: usize = 128 << 20;

/// Writes verdict columns as a Parquet file, compressed with zstd: those that docs/COLUMNS.md defines.
///
/// A row group has about a million rows, fewer where they are long, and is held until it is complete, encoded. The metadata of the schema stands in the file's
/// key-value metadata, for readers that know nothing of Arrow, and in `ARROW:schema`.
///
/// ```
/// # use std::{fs::File, num::NonZeroUsize};
/// # use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::io::arrow::Columns;
/// use robosieve::io::lines::MappedLines;
/// use robosieve::io::parquet::{ParquetColumns, ParquetInput};
/// use robosieve::pipeline::{Evaluator, run};
///
/// # let mut builder = Builder::new(RFC9309);
/// # builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// # let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
/// let out = tempfile::tempfile()?;
/// let mut sink = ParquetColumns::new(out.try_clone()?, &evaluator, Columns { with_url: true, ..Columns::default() })?;
/// let list = b"https://example.com/private/\nhttps://example.com/\n";
/// run(&mut MappedLines::new(list), &evaluator, &mut sink, NonZeroUsize::MIN)?;
/// sink.finish()?;
///
/// let output = ParquetInput::open(out)?;
/// let names = output.metadata().file_metadata().schema_descr().columns().iter().map(|column| column.name().to_owned());
/// assert_eq!((output.row_count(), names.collect::<Vec<_>>().join(" ")), (2, "row url allow_AnyBot".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetColumns<'s, W: Write + Send> {
    writer: ArrowWriter<W>,
    builder: ColumnsBuilder<'s>,
}

impl<'s, W: Write + Send> ParquetColumns<'s, W> {
    /// A Parquet file of the verdicts that `evaluator` gives.
    ///
    /// # Errors
    ///
    /// When the output can not be written, or a carried column has a type that Parquet has not.
    pub fn new(out: W, evaluator: &Evaluator<'s>, columns: Columns) -> io::Result<ParquetColumns<'s, W>> {
        let builder = ColumnsBuilder::new(evaluator, columns);
        let properties = properties(builder.schema()).map_err(unwritable)?;
        let writer = ArrowWriter::try_new(out, builder.schema().clone(), Some(properties)).map_err(unwritable)?;
        Ok(ParquetColumns { writer, builder })
    }

    /// Rows that were not UTF-8: their octets stand as `%XX` in the column `url`.
    pub fn escaped(&self) -> u64 {
        self.builder.escaped()
    }

    /// Writes what is still held, and what belongs at the end; gives the output back.
    ///
    /// # Errors
    ///
    /// When the output can not be written.
    pub fn finish(self) -> io::Result<W> {
        self.writer.into_inner().map_err(unwritable)
    }
}

impl<W: Write + Send> Sink for ParquetColumns<'_, W> {
    fn wants_decisions(&self) -> bool {
        self.builder.wants_decisions()
    }

    fn wants_rows(&self) -> bool {
        self.builder.wants_rows()
    }

    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let batch = self.builder.batch(decided)?;
        self.writer.write(&batch).map_err(unwritable)
    }
}

fn properties(schema: &Schema) -> ParquetResult<WriterProperties> {
    let mut pairs: Vec<_> = schema.metadata().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    pairs.sort_by(|one, other| one.key.cmp(&other.key));
    // Ever new values: a dictionary would be tried in vain.
    Ok(WriterProperties::builder()
        .set_created_by(created_by())
        .set_key_value_metadata(Some(pairs))
        .set_compression(compression(Compression::ZSTD(ZstdLevel::default()))?)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_column_dictionary_enabled("row".into(), false)
        .set_column_encoding("row".into(), Encoding::DELTA_BINARY_PACKED)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_LEN))
        .build())
}
