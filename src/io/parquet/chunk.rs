//! A column of a row group, written again with fewer rows, or copied.

use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Encoding, Type};
use parquet::bloom_filter::Sbbf;
use parquet::column::page::PageReader;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, ColumnWriterImpl, get_column_writer};
use parquet::data_type::DataType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};

use super::compression;
use super::file::{ParquetInput, Positioned};
use crate::pipeline::Bits;

/// Octets of values that are held decoded at once.
const STEP_LEN: u64 = 4 << 20;
/// Rows that are decoded at once at most.
const STEP_ROWS: u64 = 8192;

/// A column chunk, encoded, with what is to be said of it.
pub(super) struct Chunk {
    pub(super) octets: Bytes,
    pub(super) close: ColumnCloseResult,
}

/// What holds for all chunks of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Manner {
    /// Whether places of pages are written: all columns have them, or none.
    pub(super) offset_index: bool,
    /// Whether the extremes of texts may be wrong, so that nobody would have believed them.
    pub(super) doubtful: bool,
}

impl Manner {
    pub(super) fn of(input: &ParquetInput) -> Manner {
        let mut chunks = input.metadata.row_groups().iter().flat_map(|group| group.columns());
        let has_index = input.metadata.offset_index().is_some() && chunks.all(|chunk| chunk.offset_index_offset().is_some());
        let created_by = input.metadata.file_metadata().created_by();
        Manner { offset_index: has_index, doubtful: is_doubtful(created_by) }
    }
}

/// Whether a writer may have written wrong extremes of texts: parquet-mr did before 1.8 (PARQUET-251), and readers that know so go by the name of the writer, which
/// changes when a file is written again.
fn is_doubtful(created_by: Option<&str>) -> bool {
    let Some(created_by) = created_by else { return true };
    let Some(version) = created_by.strip_prefix("parquet-mr version ") else { return created_by.starts_with("parquet-mr") };
    let mut numbers = version.split(['.', ' ', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) < (1, 8)
}

/// What is said of a chunk that is copied octet for octet.
pub(super) fn copied(input: &ParquetInput, row_group: usize, column: usize, manner: Manner) -> Result<ColumnCloseResult> {
    let group = input.metadata.row_group(row_group);
    let chunk = group.column(column);
    let metadata = match manner.doubtful && matches!(chunk.column_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY) {
        true => chunk.clone().into_builder().clear_statistics().build()?,
        false => chunk.clone(),
    };
    let column_index = input.metadata.column_index().map(|index| index[row_group][column].clone());
    let offset_index = input.metadata.offset_index().map(|index| index[row_group][column].clone());
    Ok(ColumnCloseResult {
        bytes_written: chunk.compressed_size() as u64,
        rows_written: group.num_rows() as u64,
        bloom_filter: Sbbf::read_from_column_chunk(chunk, &input.octets)?,
        column_index: column_index.filter(|index| manner.offset_index && !manner.doubtful && !matches!(index, ColumnIndexMetaData::NONE)),
        offset_index: offset_index.filter(|_| manner.offset_index),
        metadata,
    })
}

/// Writes a column of a row group again with the rows whose bit is set, `kept` of them.
pub(super) fn rewritten(input: &ParquetInput, row_group: usize, column: usize, rows: &Bits, manner: Manner) -> Result<Chunk> {
    let chunk = input.metadata.row_group(row_group).column(column);
    let octets = Arc::new(input.octets.clone());
    let properties = Arc::new(properties(&octets, chunk, rows, manner)?);
    let pages = SerializedPageReader::new(octets, chunk, rows.len(), None)?;
    let share = rows.count_ones() as f64 / rows.len() as f64;
    let mut written = TrackedWrite::new(Vec::with_capacity((chunk.compressed_size() as f64 * share) as usize));
    let reader = get_column_reader(chunk.column_descr_ptr(), Box::new(pages));
    let writer = get_column_writer(chunk.column_descr_ptr(), properties, Box::new(SerializedPageWriter::new(&mut written)));
    let close = pass(reader, writer, chunk, rows)?;
    Ok(Chunk { octets: written.into_inner()?.into(), close })
}

fn pass(reader: ColumnReader, writer: ColumnWriter<'_>, chunk: &ColumnChunkMetaData, rows: &Bits) -> Result<ColumnCloseResult> {
    use {ColumnReader as R, ColumnWriter as W};
    match (reader, writer) {
        (R::BoolColumnReader(reader), W::BoolColumnWriter(writer)) => Passage::new(chunk, rows).pass(reader, writer),
        (R::Int32ColumnReader(reader), W::Int32ColumnWriter(writer)) => Passage::new(chunk, rows).pass(reader, writer),
        (R::Int64ColumnReader(reader), W::Int64ColumnWriter(writer)) => Passage::new(chunk, rows).pass(reader, writer),
        (R::Int96ColumnReader(reader), W::Int96ColumnWriter(writer)) => Passage::new(chunk, rows).pass(reader, writer),
        (R::FloatColumnReader(reader), W::FloatColumnWriter(writer)) => Passage::new(chunk, rows).pass(reader, writer),
        (R::DoubleColumnReader(reader), W::DoubleColumnWriter(writer)) => Passage::new(chunk, rows).pass(reader, writer),
        (R::ByteArrayColumnReader(reader), W::ByteArrayColumnWriter(writer)) => Passage::new(chunk, rows).pass(reader, writer),
        (R::FixedLenByteArrayColumnReader(reader), W::FixedLenByteArrayColumnWriter(writer)) => {
            Passage::new(chunk, rows).pass(reader, writer)
        }
        _ => unreachable!("both are made for the same column"),
    }
}

/// The rows of a chunk on their way.
struct Passage<'r, T> {
    rows: &'r Bits,
    /// How many rows are decoded at once.
    step: usize,
    has_definitions: bool,
    has_repetitions: bool,
    /// The definition level at which a value stands.
    defined: i16,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    values: Vec<T>,
}

impl<'r, T: Default> Passage<'r, T> {
    fn new(chunk: &ColumnChunkMetaData, rows: &'r Bits) -> Passage<'r, T> {
        let descriptor = chunk.column_descr();
        let row_len = (chunk.uncompressed_size().max(0) as u64 / rows.len().max(1) as u64).max(1);
        Passage {
            rows,
            step: (STEP_LEN / row_len).clamp(1, STEP_ROWS) as usize,
            has_definitions: descriptor.max_def_level() > 0,
            has_repetitions: descriptor.max_rep_level() > 0,
            defined: descriptor.max_def_level(),
            definitions: Vec::new(),
            repetitions: Vec::new(),
            values: Vec::new(),
        }
    }

    fn pass<D: DataType<T = T>>(
        mut self,
        mut reader: ColumnReaderImpl<D>,
        mut writer: ColumnWriterImpl<'_, D>,
    ) -> Result<ColumnCloseResult> {
        let mut first = 0;
        while first < self.rows.len() {
            let count = self.step.min(self.rows.len() - first);
            let kept = (first..first + count).filter(|&row| self.rows.get(row)).count();
            let found = match kept {
                0 => reader.skip_records(count)?,
                _ => self.read(&mut reader, count)?,
            };
            if found != count {
                return Err(ParquetError::EOF(format!("{} rows were promised, {} found", self.rows.len(), first + found)));
            }
            if kept > 0 {
                if kept < count {
                    self.retain(first);
                }
                self.write(&mut writer)?;
            }
            first += count;
        }
        writer.close()
    }

    fn read<D: DataType<T = T>>(&mut self, reader: &mut ColumnReaderImpl<D>, count: usize) -> Result<usize> {
        self.definitions.clear();
        self.repetitions.clear();
        self.values.clear();
        let definitions = self.has_definitions.then_some(&mut self.definitions);
        let repetitions = self.has_repetitions.then_some(&mut self.repetitions);
        Ok(reader.read_records(count, definitions, repetitions, &mut self.values)?.0)
    }

    fn write<D: DataType<T = T>>(&self, writer: &mut ColumnWriterImpl<'_, D>) -> Result<()> {
        let definitions = self.has_definitions.then_some(&self.definitions[..]);
        let repetitions = self.has_repetitions.then_some(&self.repetitions[..]);
        writer.write_batch(&self.values, definitions, repetitions).map(drop)
    }

    /// Leaves out the records whose bit is not set; the first is that of row `first`. A record begins at repetition level 0, and a value stands where the definition
    /// level is the highest.
    fn retain(&mut self, first: usize) {
        let levels = if self.has_definitions { self.definitions.len() } else { self.values.len() };
        let (mut kept_levels, mut kept_values, mut value) = (0, 0, 0);
        let (mut next_row, mut keep) = (first, false);
        for level in 0..levels {
            if !self.has_repetitions || self.repetitions[level] == 0 {
                keep = self.rows.get(next_row);
                next_row += 1;
            }
            let has_value = !self.has_definitions || self.definitions[level] == self.defined;
            if keep {
                if self.has_definitions {
                    self.definitions[kept_levels] = self.definitions[level];
                }
                if self.has_repetitions {
                    self.repetitions[kept_levels] = self.repetitions[level];
                }
                if has_value {
                    self.values.swap(kept_values, value);
                    kept_values += 1;
                }
                kept_levels += 1;
            }
            value += usize::from(has_value);
        }
        self.definitions.truncate(kept_levels);
        self.repetitions.truncate(kept_levels);
        self.values.truncate(kept_values);
    }
}

/// The properties of a chunk as far as its metadata and its first pages tell.
fn properties(octets: &Arc<Positioned>, chunk: &ColumnChunkMetaData, rows: &Bits, manner: Manner) -> Result<WriterProperties> {
    let dictionary = chunk.dictionary_page_offset().is_some()
        || chunk.encodings().any(|encoding| matches!(encoding, Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY));
    // The crate writes dictionaries of values of a fixed length in pages of the second version alone.
    let second = has_second_pages(octets, chunk, rows.len())? || (dictionary && chunk.column_type() == Type::FIXED_LEN_BYTE_ARRAY);
    let statistics = match (chunk.statistics().is_some(), chunk.column_index_offset().is_some() && manner.offset_index) {
        (_, true) => EnabledStatistics::Page,
        (true, false) => EnabledStatistics::Chunk,
        (false, false) => EnabledStatistics::None,
    };
    let mut builder = WriterProperties::builder()
        .set_writer_version(if second { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
        .set_compression(compression(chunk.compression())?)
        .set_dictionary_enabled(dictionary)
        .set_encoding(encoding(chunk))
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(!manner.offset_index);
    if chunk.bloom_filter_offset().is_some() {
        builder = builder.set_bloom_filter_enabled(true).set_bloom_filter_max_ndv(rows.count_ones().max(1));
    }
    Ok(builder.build())
}

/// Whether the first page of data is one of the second version.
fn has_second_pages(octets: &Arc<Positioned>, chunk: &ColumnChunkMetaData, rows: usize) -> Result<bool> {
    let mut pages = SerializedPageReader::new(octets.clone(), chunk, rows, None)?;
    while let Some(page) = pages.peek_next_page()? {
        if !page.is_dict {
            return Ok(page.num_rows.is_some()); // which headers of the first version do not say
        }
        pages.skip_next_page()?;
    }
    Ok(false)
}

/// How values are encoded where no dictionary is: as the chunk has it, if that can be told and is fit for its type.
fn encoding(chunk: &ColumnChunkMetaData) -> Encoding {
    let fits = |encoding: &Encoding| match encoding {
        Encoding::RLE => chunk.column_type() == Type::BOOLEAN && !chunk.encodings().any(|other| other == Encoding::PLAIN),
        Encoding::DELTA_BINARY_PACKED => matches!(chunk.column_type(), Type::INT32 | Type::INT64),
        Encoding::DELTA_LENGTH_BYTE_ARRAY => chunk.column_type() == Type::BYTE_ARRAY,
        Encoding::DELTA_BYTE_ARRAY => matches!(chunk.column_type(), Type::BYTE_ARRAY | Type::FIXED_LEN_BYTE_ARRAY),
        Encoding::BYTE_STREAM_SPLIT => {
            matches!(chunk.column_type(), Type::INT32 | Type::INT64 | Type::FLOAT | Type::DOUBLE | Type::FIXED_LEN_BYTE_ARRAY)
        }
        _ => false,
    };
    chunk.encodings().find(fits).unwrap_or(Encoding::PLAIN)
}
