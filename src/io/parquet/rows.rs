//! The URLs of a Parquet file, a row group a unit.

use std::io;
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Type as PhysicalType;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{FileMetaData, ParquetMetaDataBuilder};
use parquet::schema::types::{SchemaDescriptor, Type};

use super::file::{ParquetInput, guarded, invalid};
use crate::io::arrow::{Selection, TableOptions, carried_columns, url_columns};
use crate::io::text::to_terminal_text;
use crate::pipeline::{Batch, Source, Unit};

/// Rows a part has at most: enough that handing one over costs nothing, few enough to stay in the cache.
const PART_ROWS: usize = 8192;
/// Octets of a column in a part, if its rows are of one length: an array of texts holds 2 GiB.
const MAX_PART_LEN: u64 = 1 << 28;
/// Column chunks of a file, above which its metadata is not held twice.
const MAX_CHUNKS: usize = 200_000;

/// The rows of a Parquet file: a [`Unit`] a row group, read by the thread that decides it. Only the columns of URLs and what is carried are read.
///
/// A URL column that the file calls text is read as octets, without a look whether it is UTF-8: a row that is not has an answer like any other.
///
/// ```
/// # use std::{fs::File, num::NonZeroUsize, sync::Arc};
/// # use arrow::{array::{ArrayRef, StringArray}, record_batch::RecordBatch};
/// # use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::io::arrow::TableOptions;
/// use robosieve::io::parquet::{ParquetInput, ParquetRows};
/// use robosieve::pipeline::{Discard, Evaluator, run};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # let urls: ArrayRef = Arc::new(StringArray::from(vec![Some("https://example.com/private/"), Some("https://example.com/"), None]));
/// # let batch = RecordBatch::try_from_iter([("url", urls)])?;
/// # let mut writer = parquet::arrow::ArrowWriter::try_new(File::create(&path)?, batch.schema(), None)?;
/// # writer.write(&batch)?;
/// # writer.close()?;
/// # let mut builder = Builder::new(RFC9309);
/// # builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// # let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
/// let input = ParquetInput::open(File::open(&path)?)?;
/// let mut rows = ParquetRows::new(&input, &TableOptions::default())?;
/// let summary = run(&mut rows, &evaluator, &mut Discard, NonZeroUsize::MIN)?;
/// let tally = &summary.agents[0];
/// assert_eq!((tally.allow, tally.disallow(), tally.unresolved()), (1, 1, 1)); // a null is no URL
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ParquetRows {
    table: Arc<Table>,
    next: usize,
}

/// What row groups have in common.
#[derive(Debug)]
struct Table {
    input: ParquetInput,
    arrow: ArrowReaderMetadata,
    selection: Selection,
    projection: ProjectionMask,
}

impl ParquetRows {
    /// The rows of `input`, with the URLs of [`url_columns`], and what is carried beside them. Whole rows are never read: [`ParquetRowWriter`](super::ParquetRowWriter)
    /// has them from the file.
    ///
    /// # Errors
    ///
    /// When there are no such columns, they hold no text, or the schema can not be read.
    pub fn new(input: &ParquetInput, options: &TableOptions) -> io::Result<ParquetRows> {
        let arrow = guarded(|| schema_of(input)).map_err(|error| input.unreadable("its schema", error))?;
        let selection = Selection::new(arrow.schema(), &TableOptions { whole_rows: false, ..options.clone() })?;
        let carried = carried_columns(arrow.schema(), &options.carry)?;
        let mut octets = url_columns(arrow.schema(), options.url_column.as_deref())?.indices();
        octets.retain(|column| !carried.contains(column)); // what is carried keeps its type
        let table = Table {
            projection: ProjectionMask::roots(arrow.parquet_schema(), selection.projection().unwrap_or_default().iter().copied()),
            selection,
            // A schema that can not be turned so is read as it is.
            arrow: as_octets(input, &arrow, &octets).ok().flatten().unwrap_or(arrow),
            input: input.clone(),
        };
        Ok(ParquetRows { table: Arc::new(table), next: 0 })
    }

    /// The fields of the carried columns.
    pub fn carried_fields(&self) -> &[FieldRef] {
        self.table.selection.carried_fields()
    }

    /// The field of the column of URLs, if one column holds them.
    pub fn url_field(&self) -> Option<&FieldRef> {
        self.table.selection.url_field()
    }
}

impl<'s> Source<'s> for ParquetRows {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        if self.next == self.table.input.row_group_count() {
            self.table.input.check_unchanged()?;
            return Ok(None);
        }
        let unit = RowGroup { table: self.table.clone(), number: self.next, reader: None, rows: 0 };
        self.next += 1;
        Ok(Some(Batch::unit(unit)))
    }

    fn in_flight(&self) -> usize {
        1 // a row group can be large
    }
}

impl Table {
    fn reader(&self, row_group: usize) -> ParquetResult<ParquetRecordBatchReader> {
        ParquetRecordBatchReaderBuilder::new_with_metadata(self.input.octets.clone(), self.arrow.clone())
            .with_projection(self.projection.clone())
            .with_row_groups(vec![row_group])
            .with_batch_size(self.part_rows(row_group))
            .build()
    }

    /// Rows of a part: fewer where they are so long that their texts would not fit an array.
    fn part_rows(&self, row_group: usize) -> usize {
        let group = self.input.metadata.row_group(row_group);
        let octets = |&root: &usize| {
            let of_root =
                group.columns().iter().enumerate().filter(move |(leaf, _)| self.arrow.parquet_schema().get_column_root_idx(*leaf) == root);
            of_root.map(|(_, column)| column.uncompressed_size().max(0) as u64).sum::<u64>()
        };
        let most = self.selection.projection().unwrap_or_default().iter().map(octets).max().unwrap_or(0);
        let per_row = most / (group.num_rows().max(1) as u64) + 1;
        PART_ROWS.min((MAX_PART_LEN / per_row) as usize).max(1)
    }

    /// The names of the columns that are read, as errors say them.
    fn columns(&self) -> String {
        let fields = self.arrow.schema().fields();
        let names: Vec<&str> = self.selection.projection().unwrap_or_default().iter().map(|&column| &fields[column].name()[..]).collect();
        let text = to_terminal_text(names.join(", ").as_bytes()).into_owned();
        format!("{} {text}", if names.len() > 1 { "one of the columns" } else { "column" })
    }
}

/// A row group, read as it is decided.
struct RowGroup {
    table: Arc<Table>,
    number: usize,
    /// Made by the thread that decides: it holds pages.
    reader: Option<ParquetRecordBatchReader>,
    /// Rows that were read.
    rows: usize,
}

impl<'s> Unit<'s> for RowGroup {
    fn next_part(&mut self) -> io::Result<Option<Batch<'s>>> {
        let read = guarded(|| {
            let reader = match &mut self.reader {
                Some(reader) => reader,
                none => none.insert(self.table.reader(self.number)?),
            };
            reader.next().transpose().map_err(to_parquet)
        });
        let Some(batch) = read.map_err(|error| self.unreadable(error))? else {
            self.reader = None;
            return self.check_end().map(|()| None);
        };
        let part = self.table.selection.batch(batch)?;
        if (self.number, self.rows) == (0, 0) {
            self.table.selection.refuse_surt(&part)?;
        }
        self.rows += part.batch().num_rows();
        Ok(Some(Batch::values(part)))
    }
}

impl RowGroup {
    fn unreadable(&self, error: ParquetError) -> io::Error {
        let what = format!("{} of row group {} (behind its row {})", self.table.columns(), self.number, self.rows);
        self.table.input.unreadable(&what, error)
    }

    /// Whether all rows came, of a file that is as it was.
    fn check_end(&self) -> io::Result<()> {
        self.table.input.check_unchanged()?;
        let promised = self.table.input.rows_in(self.number);
        match self.rows == promised {
            true => Ok(()),
            false => Err(invalid(format!(
                "row group {} should have {promised} rows and has {}: the Parquet file is damaged, fetch or write it again",
                self.number, self.rows
            ))),
        }
    }
}

/// The file's schema in Arrow's terms: as the writer noted it, if it did and that fits, or as it follows from Parquet's.
fn schema_of(input: &ParquetInput) -> ParquetResult<ArrowReaderMetadata> {
    let read = |skip| ArrowReaderMetadata::try_new(input.metadata.clone(), ArrowReaderOptions::new().with_skip_arrow_metadata(skip));
    read(false).or_else(|_| read(true))
}

/// The schema with these columns as octets, where they are text: nobody has to check whether they are UTF-8, and none is refused that is not.
fn as_octets(input: &ParquetInput, arrow: &ArrowReaderMetadata, columns: &[usize]) -> ParquetResult<Option<ArrowReaderMetadata>> {
    let file = input.metadata.file_metadata();
    let root = file.schema_descr().root_schema();
    if input.row_group_count() * file.schema_descr().num_columns() > MAX_CHUNKS || root.get_fields().len() != arrow.schema().fields().len()
    {
        return Ok(None);
    }
    let (mut types, mut fields) = (root.get_fields().to_vec(), arrow.schema().fields().to_vec());
    for &column in columns.iter().filter(|&&column| is_octets(&root.get_fields()[column])) {
        let info = types[column].get_basic_info();
        types[column] = Arc::new(
            Type::primitive_type_builder(info.name(), PhysicalType::BYTE_ARRAY)
                .with_repetition(info.repetition())
                .with_id(info.has_id().then(|| info.id()))
                .build()?,
        );
        fields[column] = Arc::new(fields[column].as_ref().clone().with_data_type(DataType::BinaryView));
    }
    let root = Type::group_type_builder(root.name()).with_fields(types).build()?;
    let descriptor = Arc::new(SchemaDescriptor::new(Arc::new(root)));
    let file = FileMetaData::new(file.version(), file.num_rows(), file.created_by().map(str::to_owned), None, descriptor, None);
    let metadata = ParquetMetaDataBuilder::new(file).set_row_groups(input.metadata.row_groups().to_vec()).build();
    let schema = Arc::new(Schema::new_with_metadata(fields, arrow.schema().metadata().clone()));
    ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new().with_schema(schema)).map(Some)
}

fn is_octets(column: &Type) -> bool {
    column.is_primitive() && column.get_physical_type() == PhysicalType::BYTE_ARRAY
}

fn to_parquet(error: ArrowError) -> ParquetError {
    match error {
        ArrowError::ParquetError(message) => ParquetError::General(message),
        ArrowError::IoError(_, error) => error.into(),
        ArrowError::ExternalError(error) => ParquetError::External(error),
        other => ParquetError::General(other.to_string()),
    }
}
