//! Arrow IPC files as rows: record batches are read and decoded by the threads that decide them.
//!
//! A file is read by position, not mapped: what is decoded is checked once and trusted then, and a file that is written to in place while it is mapped
//! would change under that. Of a record batch, only the buffers of the columns that are needed are read; the memory of the others is never touched.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow::buffer::Buffer;
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::ipc::{self, CompressionType};
use arrow::record_batch::RecordBatch;

use super::message::{Decoder, Header, damaged, located, schema_of};
use super::output::TableForm;
use super::select::{Selection, TableOptions};
use crate::io::steady::Steady;
use crate::pipeline::{Batch, Source, Unit};

/// What an IPC file begins and ends with.
pub(super) const MAGIC: &[u8; 6] = b"ARROW1";

/// Rows a part has at most where whole rows are kept: as many as writers put into a record batch.
const WHOLE_ROWS: usize = 65_536;

/// Rows a part has at most where URLs alone are: their octets stay in the cache.
const ROWS: usize = 8_192;

/// Octets between two buffers that are rather read than skipped.
const GAP: u64 = 64 << 10;

/// An Arrow IPC file as a source of rows.
///
/// ```
/// use std::num::NonZeroUsize;
/// use arrow::{array::StringArray, ipc::writer::FileWriter, record_batch::RecordBatch};
/// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::{io::arrow::{IpcFile, TableOptions}, pipeline::{Discard, Evaluator, run}};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("urls.arrow");
/// let urls = StringArray::from(vec![Some("https://example.com/private/x"), None, Some("https://example.com/")]);
/// let batch = RecordBatch::try_from_iter([("url", std::sync::Arc::new(urls) as _)])?;
/// let mut writer = FileWriter::try_new(std::fs::File::create(&path)?, &batch.schema())?;
/// writer.write(&batch)?;
/// writer.finish()?;
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
/// let mut rows = IpcFile::open(std::fs::File::open(&path)?, &TableOptions::default())?;
/// let summary = run(&mut rows, &evaluator, &mut Discard, NonZeroUsize::MIN)?;
/// let tally = &summary.agents[0];
/// assert_eq!((tally.allow, tally.disallow(), tally.unresolved()), (1, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IpcFile {
    shared: Arc<Shared>,
    next: usize,
}

/// What the threads share.
#[derive(Debug)]
struct Shared {
    file: Messages,
    decoder: Decoder,
    selection: Selection,
    blocks: Vec<Block>,
    whole_rows: bool,
    metadata: Vec<(String, String)>,
    compression: Option<CompressionType>,
}

/// Where a message lies.
#[derive(Debug, Clone)]
struct Block {
    header: Range<u64>,
    body: Range<u64>,
}

impl IpcFile {
    /// The rows of an IPC file.
    ///
    /// # Errors
    ///
    /// When it can not be read, is no such file, or has not the columns that are asked for.
    pub fn open(file: File, options: &TableOptions) -> io::Result<IpcFile> {
        let file = Messages(Steady::new(file)?);
        let footer = Footer::read(&file)?;
        let selection = Selection::new(&footer.schema, options)?;
        let mut decoder = Decoder::new(Arc::new(footer.schema), selection.projection().map(<[usize]>::to_vec));
        for block in &footer.dictionaries {
            let header = file.header(block)?;
            let needed = header.needed(decoder.schema(), None, block.body.end - block.body.start)?;
            decoder.add_dictionary(&header, &file.body(block, &needed)?).map_err(|error| located("a dictionary", &error))?;
        }
        let compression = footer.batches.first().map(|block| file.header(block)).transpose()?.and_then(|header| header.compression());
        let (blocks, metadata, whole_rows) = (footer.batches, footer.metadata, options.whole_rows);
        Ok(IpcFile { shared: Arc::new(Shared { file, decoder, selection, blocks, whole_rows, metadata, compression }), next: 0 })
    }

    /// The schema of the file, with all its columns.
    pub fn schema(&self) -> &SchemaRef {
        self.shared.decoder.schema()
    }

    /// The fields of the carried columns.
    pub fn carried_fields(&self) -> &[FieldRef] {
        self.shared.selection.carried_fields()
    }

    /// The field of the column of URLs, if one column holds them.
    pub fn url_field(&self) -> Option<&FieldRef> {
        self.shared.selection.url_field()
    }

    /// What goes over into what is filtered out of it.
    pub fn form(&self) -> TableForm {
        let Shared { compression, metadata, .. } = &*self.shared;
        TableForm { schema: self.schema().clone(), compression: *compression, footer_metadata: metadata.clone() }
    }
}

impl<'s> Source<'s> for IpcFile {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        if self.next == self.shared.blocks.len() {
            return Ok(None);
        }
        let block = BlockRows { shared: self.shared.clone(), number: self.next, parts: None };
        self.next += 1;
        Ok(Some(Batch::unit(block)))
    }

    fn in_flight(&self) -> usize {
        1 // a record batch may hold much
    }
}

/// One record batch.
struct BlockRows {
    shared: Arc<Shared>,
    number: usize,
    parts: Option<Parts>,
}

impl BlockRows {
    fn read(&self) -> io::Result<RecordBatch> {
        let Shared { file, decoder, blocks, .. } = &*self.shared;
        let block = &blocks[self.number];
        let decode = || {
            let header = file.header(block)?;
            let needed = header.needed(decoder.schema(), decoder.projection(), block.body.end - block.body.start)?;
            decoder.decode(&header, &file.body(block, &needed)?)
        };
        let batch = decode();
        // Before anyone takes nonsense for damage, or for rows.
        file.0.check_unchanged()?;
        batch.map_err(|error| located(format_args!("record batch {} of {}", self.number + 1, blocks.len()), &error))
    }
}

impl<'s> Unit<'s> for BlockRows {
    fn next_part(&mut self) -> io::Result<Option<Batch<'s>>> {
        if self.parts.is_none() {
            self.parts = Some(Parts::of(self.read()?, self.shared.whole_rows));
        }
        let parts = self.parts.as_mut().expect("it was just read");
        let is_first = self.number == 0 && parts.at == 0;
        parts.next(&self.shared.selection, is_first)
    }
}

/// A record batch, part by part.
pub(super) struct Parts {
    batch: RecordBatch,
    rows: usize,
    at: usize,
}

impl Parts {
    pub(super) fn of(batch: RecordBatch, whole_rows: bool) -> Parts {
        Parts { batch, rows: if whole_rows { WHOLE_ROWS } else { ROWS }, at: 0 }
    }

    /// The first part of the first batch is where SURT keys are told from URLs.
    pub(super) fn next<'s>(&mut self, selection: &Selection, is_first: bool) -> io::Result<Option<Batch<'s>>> {
        let len = self.rows.min(self.batch.num_rows() - self.at);
        if len == 0 {
            return Ok(None);
        }
        let part = selection.batch(self.batch.slice(self.at, len))?;
        self.at += len;
        if is_first {
            selection.refuse_surt(&part)?;
        }
        Ok(Some(Batch::values(part)))
    }
}

/// What the end of the file says.
struct Footer {
    schema: arrow::datatypes::Schema,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
    metadata: Vec<(String, String)>,
}

impl Footer {
    fn read(file: &Messages) -> io::Result<Footer> {
        let mut head = [0; 8];
        let head = &mut head[..file.0.len().min(8) as usize];
        file.0.read_exact_at(head, 0)?;
        if !head.starts_with(MAGIC) {
            return Err(no_file(head));
        }
        let cut_short = || {
            io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "an Arrow file that ends without a footer: it is cut short, or not yet written to its end",
            )
        };
        let at = file.0.len().checked_sub(10).filter(|&at| at >= 8).ok_or_else(cut_short)?;
        let mut tail = [0; 10];
        file.0.read_exact_at(&mut tail, at)?;
        let len = i32::from_le_bytes(tail[..4].try_into().expect("four octets"));
        let len = u64::try_from(len).ok().filter(|&len| tail[4..] == *MAGIC && len <= at - 8).ok_or_else(cut_short)?;
        let mut octets = vec![0; len as usize];
        file.0.read_exact_at(&mut octets, at - len)?;
        let footer = ipc::root_as_footer(&octets).map_err(|error| damaged(format!("no footer: {error}")))?;
        let block = |block: &ipc::Block| Block::new(block, at - len);
        let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
        Ok(Footer {
            schema: schema_of(footer.schema().ok_or_else(|| damaged("a footer without a schema"))?)?,
            dictionaries: footer.dictionaries().into_iter().flatten().map(block).collect::<io::Result<_>>()?,
            batches: footer.recordBatches().into_iter().flatten().map(block).collect::<io::Result<_>>()?,
            metadata: footer.custom_metadata().into_iter().flatten().map(|pair| (text(pair.key()), text(pair.value()))).collect(),
        })
    }
}

impl Block {
    /// The place that a footer states, within what lies before the footer.
    fn new(block: &ipc::Block, end: u64) -> io::Result<Block> {
        let start = u64::try_from(block.offset()).ok();
        let header_end = start.and_then(|start| start.checked_add(u64::try_from(block.metaDataLength()).ok()?));
        let body_end = header_end.and_then(|at| at.checked_add(u64::try_from(block.bodyLength()).ok()?));
        match (start, header_end, body_end) {
            (Some(start), Some(header_end), Some(body_end)) if body_end <= end => {
                Ok(Block { header: start..header_end, body: header_end..body_end })
            }
            _ => Err(damaged("a record batch outside of the file")),
        }
    }
}

/// Why octets that begin so are no Arrow file.
fn no_file(head: &[u8]) -> io::Error {
    let what = match head {
        [0xFF, 0xFF, 0xFF, 0xFF, ..] => "an Arrow stream, not an Arrow file: read it as one (--input-format arrows)",
        [b'F', b'E', b'A', b'1', ..] => "Feather of version 1, which is not Arrow IPC: write it anew as version 2",
        [] => "empty: no Arrow file",
        _ => "no Arrow file: it does not begin as one",
    };
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// A file of messages.
#[derive(Debug)]
struct Messages(Steady);

impl Messages {
    /// The header of a message, which has its length before it (behind four octets of 0xFF since version 0.15 of the format).
    fn header(&self, block: &Block) -> io::Result<Header> {
        let mut octets = vec![0; (block.header.end - block.header.start) as usize];
        self.0.read_exact_at(&mut octets, block.header.start)?;
        let prefix = if octets.starts_with(&[0xFF; 4]) { 8 } else { 4 };
        if octets.len() < prefix {
            return Err(damaged("a message without a header"));
        }
        octets.drain(..prefix);
        Header::new(octets)
    }

    /// A body of which these places are read, in ascending order; what lies between them is zero.
    fn body(&self, block: &Block, places: &[Range<u64>]) -> io::Result<Buffer> {
        // Zeroed by the system, page by page when they are first touched: what is not read takes no memory.
        let mut octets = vec![0; (block.body.end - block.body.start) as usize];
        let mut places = places.iter().filter(|place| !place.is_empty()).peekable();
        while let Some(place) = places.next() {
            let mut end = place.end;
            while let Some(next) = places.next_if(|next| next.start >= place.start && next.start <= end.saturating_add(GAP)) {
                end = end.max(next.end);
            }
            self.0.read_exact_at(&mut octets[place.start as usize..end as usize], block.body.start + place.start)?;
        }
        Ok(Buffer::from_vec(octets))
    }
}
