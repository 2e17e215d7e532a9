//! The rows that pass, as they came.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};

use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use rayon::prelude::*;

use super::chunk::{Chunk, Manner, copied, rewritten};
use super::file::{ParquetInput, Streamed, guarded, invalid, place};
use crate::io::filter::RowWriter;
use crate::pipeline::{Bits, Decided};

/// Writes the rows of a Parquet file that pass into another, all columns as they were.
///
/// What stays as it was: the schema, the key-value metadata, the order of rows, the compression of each column chunk, and whether it had a dictionary,
/// statistics, bloom filters and page indexes, which are made anew for the rows that are left. A row group that passes whole is copied octet for octet; one of
/// which nothing passes vanishes; of any other, what passes is a row group of its own, however few rows that are. What is lost: the level of a compression, which a
/// file does not tell (zstd is written with level 3), and `created_by`.
///
/// Row groups are encoded on threads of the writer's own, at most `threads` at once, and written in their order. Memory is bounded by as many row groups, as
/// they are compressed.
///
/// ```
/// # use std::{fs::File, num::NonZeroUsize, sync::Arc};
/// # use arrow::{array::{ArrayRef, Int32Array, StringArray}, record_batch::RecordBatch};
/// # use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::io::arrow::TableOptions;
/// use robosieve::io::filter::{Filter, Require, Undecided};
/// use robosieve::io::parquet::{ParquetInput, ParquetRowWriter, ParquetRows};
/// use robosieve::pipeline::{Evaluator, run};
///
/// # let path = tempfile::NamedTempFile::new()?.into_temp_path();
/// # let urls: ArrayRef = Arc::new(StringArray::from(vec!["https://example.com/private/", "https://example.com/"]));
/// # let batch = RecordBatch::try_from_iter([("url", urls), ("id", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)])?;
/// # let mut writer = parquet::arrow::ArrowWriter::try_new(File::create(&path)?, batch.schema(), None)?;
/// # writer.write(&batch)?;
/// # writer.close()?;
/// # let mut builder = Builder::new(RFC9309);
/// # builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// # let store = builder.finish()?.open()?;
/// # let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
/// let input = ParquetInput::open(File::open(&path)?)?;
/// let out = tempfile::tempfile()?;
/// let threads = NonZeroUsize::MIN;
/// let mut filter = Filter::new(ParquetRowWriter::new(&input, out.try_clone()?, threads)?, Require::All, Undecided::Drop);
/// run(&mut ParquetRows::new(&input, &TableOptions::default())?, &evaluator, &mut filter, threads)?;
/// filter.finish()?;
///
/// let output = ParquetInput::open(out)?;
/// assert_eq!((input.row_count(), output.row_count()), (2, 1));
/// assert_eq!(output.metadata().file_metadata().schema(), input.metadata().file_metadata().schema());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ParquetRowWriter<W: Write + Send> {
    input: ParquetInput,
    manner: Manner,
    writer: SerializedFileWriter<W>,
    pool: rayon::ThreadPool,
    threads: usize,
    /// The row group that rows come from, and those of its rows that came already.
    row_group: usize,
    rows: Bits,
    filled: usize,
    /// Row groups that are decided and not yet written, in their order.
    pending: VecDeque<Pending>,
}

/// A row group on its way out.
enum Pending {
    Whole(usize),
    Part(Receiver<io::Result<Vec<Chunk>>>),
}

impl<W: Write + Send> ParquetRowWriter<W> {
    /// Writes rows of `input` to `out`, encoded on so many threads.
    ///
    /// # Errors
    ///
    /// When the output can not be written, or threads can not be started.
    pub fn new(input: &ParquetInput, out: W, threads: NonZeroUsize) -> io::Result<ParquetRowWriter<W>> {
        let schema = input.metadata.file_metadata().schema_descr().root_schema_ptr();
        let writer = SerializedFileWriter::new(out, schema, Arc::new(properties(input))).map_err(unwritable)?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build().map_err(io::Error::other)?;
        let mut rows = ParquetRowWriter {
            input: input.clone(),
            manner: Manner::of(input),
            writer,
            pool,
            threads: threads.get(),
            row_group: 0,
            rows: Bits::default(),
            filled: 0,
            pending: VecDeque::new(),
        };
        rows.begin(0);
        Ok(rows)
    }

    /// Begins a row group, or the next one that has rows.
    fn begin(&mut self, row_group: usize) {
        let count = self.input.row_group_count();
        self.row_group = (row_group..count).find(|&group| self.input.rows_in(group) > 0).unwrap_or(count);
        let len = if self.row_group < count { self.input.rows_in(self.row_group) } else { 0 };
        (self.rows, self.filled) = (Bits::zeros(len), 0);
    }

    /// Sends off the row group that is decided now.
    fn end(&mut self) -> io::Result<()> {
        let rows = std::mem::take(&mut self.rows);
        match rows.count_ones() as usize {
            0 => {}
            all if all == rows.len() => self.pending.push_back(Pending::Whole(self.row_group)),
            _ => {
                while self.pending.iter().filter(|pending| matches!(pending, Pending::Part(_))).count() >= self.threads {
                    self.write_oldest(true)?;
                }
                let part = self.encode(rows);
                self.pending.push_back(Pending::Part(part));
            }
        }
        while self.write_oldest(false)? {}
        self.begin(self.row_group + 1);
        Ok(())
    }

    /// Encodes the rows of the row group that pass, in the background. Its columns go to threads that have nothing else to do.
    fn encode(&self, rows: Bits) -> Receiver<io::Result<Vec<Chunk>>> {
        let (sender, receiver) = sync_channel(1);
        let (input, manner, row_group) = (self.input.clone(), self.manner, self.row_group);
        self.pool.spawn(move || {
            let encode = |column| {
                let chunk = guarded(|| rewritten(&input, row_group, column, &rows, manner));
                chunk.map_err(|error| input.unreadable(&place(row_group, input.metadata.row_group(row_group).column(column)), error))
            };
            let columns = 0..input.metadata.row_group(row_group).num_columns();
            // Nobody listens any more when the run has ended early.
            let _ = sender.send(columns.into_par_iter().map(encode).collect());
        });
        receiver
    }

    /// Writes the oldest row group that is decided, if there is one and it is ready, or after waiting for it. Gives whether it did.
    fn write_oldest(&mut self, wait: bool) -> io::Result<bool> {
        let group = match self.pending.front() {
            None => return Ok(false),
            Some(Pending::Whole(row_group)) => {
                let row_group = *row_group;
                self.copy(row_group).map(|()| true)
            }
            Some(Pending::Part(part)) => {
                let chunks = match wait {
                    true => part.recv().map_err(io::Error::other)?,
                    false => match part.try_recv() {
                        Err(TryRecvError::Empty) => return Ok(false),
                        received => received.map_err(io::Error::other)?,
                    },
                };
                self.append(chunks?).map(|()| true)
            }
        };
        self.pending.pop_front();
        group
    }

    fn copy(&mut self, row_group: usize) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(unwritable)?;
        for (column, chunk) in self.input.metadata.row_group(row_group).columns().iter().enumerate() {
            let close = guarded(|| copied(&self.input, row_group, column, self.manner));
            let close = close.map_err(|error| self.input.unreadable(&place(row_group, chunk), error))?;
            if let Err(error) = group.append_column(&Streamed(&self.input.octets), close) {
                self.input.check_unchanged()?;
                return Err(unwritable(error));
            }
        }
        group.close().map_err(unwritable)?;
        Ok(())
    }

    fn append(&mut self, chunks: Vec<Chunk>) -> io::Result<()> {
        let mut group = self.writer.next_row_group().map_err(unwritable)?;
        for Chunk { octets, close } in chunks {
            group.append_column(&octets, close).map_err(unwritable)?;
        }
        group.close().map_err(unwritable)?;
        Ok(())
    }
}

impl<W: Write + Send> RowWriter for ParquetRowWriter<W> {
    fn wants_rows(&self) -> bool {
        false // they are in the file
    }

    fn write_rows(&mut self, decided: &Decided<'_>, rows: &Bits) -> io::Result<()> {
        for row in 0..decided.row_count() {
            if self.row_group == self.input.row_group_count() {
                return Err(invalid("more rows were decided than the Parquet file has".to_owned()));
            }
            self.rows.set(self.filled, rows.get(row));
            self.filled += 1;
            if self.filled == self.rows.len() {
                self.end()?;
            }
        }
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if self.row_group < self.input.row_group_count() {
            let (row, of) = (self.filled, self.rows.len());
            return Err(invalid(format!("row group {} of the Parquet file was decided up to row {row} of {of}", self.row_group)));
        }
        while self.write_oldest(true)? {}
        self.input.check_unchanged()?;
        self.writer.finish().map_err(unwritable)?;
        Ok(())
    }
}

/// The properties of the file as a whole.
fn properties(input: &ParquetInput) -> WriterProperties {
    let file = input.metadata.file_metadata();
    let version = if file.version() >= 2 { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 };
    // Rows that are left out change no order of those that stay; the crate knows one order for all row groups.
    let mut orders = input.metadata.row_groups().iter().map(|group| group.sorting_columns());
    let first = orders.next().flatten();
    let order = first.filter(|_| orders.all(|order| order == first)).cloned();
    WriterProperties::builder()
        .set_writer_version(version)
        .set_created_by(created_by())
        .set_key_value_metadata(file.key_value_metadata().cloned())
        .set_sorting_columns(order)
        .build()
}

/// Who wrote a file, in the form that readers take apart.
pub(super) fn created_by() -> String {
    format!("robosieve version {}", env!("CARGO_PKG_VERSION"))
}

/// Why the output can not be written.
pub(super) fn unwritable(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(error) => match error.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(error) => io::Error::other(error),
        },
        other => io::Error::other(other),
    }
}
