//! A Parquet file that several threads read at once.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::sync::Arc;

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader};
use parquet::file::reader::{ChunkReader, Length};

use crate::io::guard::guard;
use crate::io::steady::Steady;

/// What stands at both ends of a Parquet file, and at the end of one whose footer is encrypted.
const MAGIC: &[u8; 4] = b"PAR1";
const MAGIC_ENCRYPTED: &[u8; 4] = b"PARE";
/// The least a Parquet file can have: both magics and the length of the footer.
const LEAST_LEN: u64 = 12;

/// An open Parquet file: its metadata is read once, and its pages from any thread.
///
/// It is cheap to clone. Nothing but what is asked for is read, by its place: the file has no position that threads could take from each other. It has to stay as it is
/// meanwhile, and whoever reads it looks again now and then whether it did.
///
/// ```
/// # use std::sync::Arc;
/// # use arrow::{array::{ArrayRef, StringArray}, record_batch::RecordBatch};
/// use robosieve::io::parquet::ParquetInput;
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # let urls: ArrayRef = Arc::new(StringArray::from(vec!["https://example.com/"]));
/// # let batch = RecordBatch::try_from_iter([("url", urls)])?;
/// # let mut writer = parquet::arrow::ArrowWriter::try_new(std::fs::File::create(&path)?, batch.schema(), None)?;
/// # writer.write(&batch)?;
/// # writer.close()?;
/// let input = ParquetInput::open(std::fs::File::open(&path)?)?;
/// assert_eq!((input.row_count(), input.row_group_count()), (1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct ParquetInput {
    pub(super) octets: Positioned,
    pub(super) metadata: Arc<ParquetMetaData>,
}

impl ParquetInput {
    /// Reads the metadata of an open file.
    ///
    /// # Errors
    ///
    /// When the file can not be read, is no Parquet file, is cut short, damaged or encrypted, or keeps its columns in other files.
    pub fn open(file: File) -> io::Result<ParquetInput> {
        let octets = Positioned(Steady::new(file)?);
        check_ends(&octets)?;
        let metadata = guarded(|| read_metadata(&octets)).map_err(|error| damaged("its metadata", error))?;
        check_places(&metadata, octets.0.len())?;
        Ok(ParquetInput { octets, metadata: Arc::new(metadata) })
    }

    /// How many rows there are.
    pub fn row_count(&self) -> u64 {
        self.metadata.row_groups().iter().map(|group| group.num_rows() as u64).sum()
    }

    /// How many row groups there are.
    pub fn row_group_count(&self) -> usize {
        self.metadata.num_row_groups()
    }

    /// What the file says of itself: schema, key-value metadata, row groups and their columns.
    pub fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// Whether the file is as it was when it was opened, by its length and the time of its last change.
    ///
    /// # Errors
    ///
    /// When it is not: what was read since can be anything.
    pub fn check_unchanged(&self) -> io::Result<()> {
        self.octets.0.check_unchanged()
    }

    /// Why part of the file can not be read: because it changed, if it did, or else because it is damaged.
    pub(super) fn unreadable(&self, what: &str, error: ParquetError) -> io::Error {
        match self.check_unchanged() {
            Err(changed) => changed,
            Ok(()) => damaged(what, error),
        }
    }

    /// The rows of a row group.
    pub(super) fn rows_in(&self, row_group: usize) -> usize {
        self.metadata.row_group(row_group).num_rows() as usize
    }
}

/// The name of a place in a file, for errors: row groups and rows are counted from 0, as in outputs.
pub(super) fn place(row_group: usize, column: &ColumnChunkMetaData) -> String {
    format!("column {} of row group {row_group}", super::super::text::to_terminal_text(column.column_path().string().as_bytes()))
}

fn damaged(what: &str, error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            // Decompressors have errors of this type too: those do not come from the system.
            Ok(error) if error.raw_os_error().is_some() => io::Error::new(error.kind(), format!("{what} can not be read: {error}")),
            Ok(error) => does_not_decode(what, &error),
            Err(error) => does_not_decode(what, &error),
        },
        ParquetError::NYI(message) => io::Error::new(
            io::ErrorKind::Unsupported,
            format!("{what} is written in a way that is not supported ({message}): write the file again with other settings"),
        ),
        other => does_not_decode(what, &other),
    }
}

fn does_not_decode(what: &str, error: &dyn std::fmt::Display) -> io::Error {
    let text = error.to_string();
    // The kind of the crate's error says nothing to a user.
    let text = ["Parquet error: ", "EOF: ", "Arrow: "].iter().fold(&text[..], |text, kind| text.strip_prefix(kind).unwrap_or(text));
    invalid(format!("{what} does not decode: the Parquet file is damaged, fetch or write it again ({text})"))
}

pub(super) fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// What `read` gives; a panic in it is an error: damaged pages are for the decoders of the crate to refuse, and some of them panic.
pub(super) fn guarded<T>(read: impl FnOnce() -> ParquetResult<T>) -> ParquetResult<T> {
    // What `read` borrows is dropped by its owner after an error, and never read from again.
    guard(read).unwrap_or_else(|message| Err(ParquetError::General(message)))
}

/// Whether the file begins and ends as a Parquet file does.
fn check_ends(octets: &Positioned) -> io::Result<()> {
    let (mut head, mut tail) = ([0; 4], [0; 4]);
    let len = octets.0.len();
    if len < LEAST_LEN {
        return Err(invalid(format!("this is no Parquet file: it has {} octets, and the least is {LEAST_LEN}", len)));
    }
    octets.0.read_exact_at(&mut head, 0)?;
    octets.0.read_exact_at(&mut tail, len - 4)?;
    match (&head, &tail) {
        (MAGIC, MAGIC) => Ok(()),
        (MAGIC_ENCRYPTED, _) | (_, MAGIC_ENCRYPTED) => {
            Err(io::Error::new(io::ErrorKind::Unsupported, "the Parquet file is encrypted: that is not supported, write it again without"))
        }
        (MAGIC, _) => Err(invalid("the Parquet file is cut short: it does not end with PAR1; fetch or write it again".to_owned())),
        _ => Err(invalid("this is no Parquet file: it does not begin with PAR1".to_owned())),
    }
}

fn read_metadata(octets: &Positioned) -> ParquetResult<ParquetMetaData> {
    // Encodings page by page, and not as a mask: a row group that is copied keeps them.
    let options = ParquetMetaDataOptions::new().with_encoding_stats_as_mask(false);
    ParquetMetaDataReader::new()
        .with_metadata_options(Some(options))
        .with_page_index_policy(PageIndexPolicy::Optional)
        .parse_and_finish(octets)
}

/// Whether every column chunk lies in the file.
fn check_places(metadata: &ParquetMetaData, len: u64) -> io::Result<()> {
    let column_count = metadata.file_metadata().schema_descr().num_columns();
    for (number, group) in metadata.row_groups().iter().enumerate() {
        if group.num_columns() != column_count || group.num_rows() < 0 {
            return Err(invalid(format!(
                "row group {number} does not fit the schema: the Parquet file is damaged, fetch or write it again"
            )));
        }
        for chunk in group.columns() {
            if chunk.file_path().is_some() {
                let message = "the Parquet file keeps its columns in other files: that is not supported, give those files";
                return Err(io::Error::new(io::ErrorKind::Unsupported, message));
            }
            let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
            let end = start.checked_add(chunk.compressed_size());
            if start < 0 || chunk.compressed_size() < 0 || end.is_none_or(|end| end as u64 > len) {
                return Err(invalid(format!(
                    "{} lies outside the file: it is damaged or cut short, fetch or write it again",
                    place(number, chunk)
                )));
            }
        }
    }
    Ok(())
}

/// A file that is read by place. Seeking, as [`File`] does for the crate, moves a position that all threads share.
#[derive(Debug, Clone)]
pub(super) struct Positioned(Steady);

/// A reader from a place in a file on.
pub(super) struct Reading {
    octets: Positioned,
    at: u64,
}

impl Read for Reading {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.octets.0.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Length for Positioned {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

/// Octets that a page header seldom exceeds: each is read by itself before its page.
const HEADER_LEN: usize = 1 << 10;

impl ChunkReader for Positioned {
    type T = BufReader<Reading>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::with_capacity(HEADER_LEN, Reading { octets: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let mut octets = Vec::with_capacity(length);
        let read = Reading { octets: self.clone(), at: start }.take(length as u64).read_to_end(&mut octets)?;
        if read != length {
            return Err(ParquetError::EOF(format!("{length} octets asked for at {start}, {read} found")));
        }
        Ok(octets.into())
    }
}

/// A file that much is read from at once, to copy it.
pub(super) struct Streamed<'o>(pub(super) &'o Positioned);

impl Length for Streamed<'_> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl ChunkReader for Streamed<'_> {
    type T = BufReader<Reading>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        Ok(BufReader::with_capacity(1 << 20, Reading { octets: self.0.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        self.0.get_bytes(start, length)
    }
}
