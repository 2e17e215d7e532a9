//! Arrow IPC streams as rows: messages are read as they come, and decoded by the threads that decide them.

use std::io::{self, Read};
use std::sync::Arc;

use arrow::buffer::Buffer;
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::ipc::{CompressionType, MessageHeader};

use super::file::{MAGIC, Parts};
use super::message::{Decoder, Header, damaged, located};
use super::output::TableForm;
use super::select::{Selection, TableOptions};
use crate::pipeline::{Batch, Source, Unit};

/// Octets of a length that a stream states which are believed before they came.
const TRUSTED_LEN: u64 = 1 << 20;

/// An Arrow IPC stream as a source of rows. An IPC file is read as one as well: a stream lies in it.
///
/// Memory is bounded by the record batches in flight, one a thread, and the dictionaries.
///
/// ```
/// use arrow::{array::StringArray, ipc::writer::StreamWriter, record_batch::RecordBatch};
/// use robosieve::{io::arrow::{IpcStream, TableOptions}, pipeline::count_rows, scan::Isa};
///
/// let urls = StringArray::from(vec!["https://example.com/", "https://example.org/"]);
/// let batch = RecordBatch::try_from_iter([("link", std::sync::Arc::new(urls) as _)])?;
/// let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema())?;
/// writer.write(&batch)?;
/// let octets = writer.into_inner()?;
///
/// let options = TableOptions { url_column: Some("link".to_owned()), ..TableOptions::default() };
/// let mut rows = IpcStream::new(&octets[..], &options)?;
/// assert_eq!(count_rows(&mut rows, Isa::best())?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct IpcStream<R> {
    messages: Messages<R>,
    decoder: Arc<Decoder>,
    selection: Arc<Selection>,
    whole_rows: bool,
    /// The first record batch, read with the schema to know how it is compressed.
    first: Option<(Header, Buffer)>,
    compression: Option<CompressionType>,
    /// Record batches given.
    count: u64,
    /// What follows is no longer the stream: in a file, it is the footer.
    at_end: bool,
}

impl<R: Read> IpcStream<R> {
    /// The rows of a stream, whose schema and first record batch are read at once.
    ///
    /// # Errors
    ///
    /// When it can not be read, is no such stream, or has not the columns that are asked for.
    pub fn new(stream: R, options: &TableOptions) -> io::Result<IpcStream<R>> {
        let mut messages = Messages { stream, is_file: false };
        let header = messages.first_header()?;
        let schema = header.schema()?;
        messages.body(&header)?;
        let selection = Selection::new(&schema, options)?;
        let decoder = Decoder::new(Arc::new(schema), selection.projection().map(<[usize]>::to_vec));
        let mut stream = IpcStream {
            messages,
            decoder: Arc::new(decoder),
            selection: Arc::new(selection),
            whole_rows: options.whole_rows,
            first: None,
            compression: None,
            count: 0,
            at_end: false,
        };
        stream.first = stream.next_message()?;
        stream.compression = stream.first.as_ref().and_then(|(header, _)| header.compression());
        Ok(stream)
    }

    /// The schema of the stream, with all its columns.
    pub fn schema(&self) -> &SchemaRef {
        self.decoder.schema()
    }

    /// The fields of the carried columns.
    pub fn carried_fields(&self) -> &[FieldRef] {
        self.selection.carried_fields()
    }

    /// The field of the column of URLs, if one column holds them.
    pub fn url_field(&self) -> Option<&FieldRef> {
        self.selection.url_field()
    }

    /// What goes over into what is filtered out of it: record batches are compressed as the first one is.
    pub fn form(&self) -> TableForm {
        TableForm { schema: self.schema().clone(), compression: self.compression, footer_metadata: Vec::new() }
    }

    /// The next record batch; dictionaries before it are taken in.
    fn next_message(&mut self) -> io::Result<Option<(Header, Buffer)>> {
        if self.at_end {
            return Ok(None);
        }
        let message = self.read_message().map_err(|error| located(format_args!("behind {} record batches", self.count), &error))?;
        self.at_end = message.is_none();
        Ok(message)
    }

    fn read_message(&mut self) -> io::Result<Option<(Header, Buffer)>> {
        while let Some(header) = self.messages.header()? {
            let body = self.messages.body(&header)?;
            match header.kind() {
                MessageHeader::RecordBatch => return Ok(Some((header, body))),
                // Record batches that are still to be decoded keep the dictionaries of their time.
                MessageHeader::DictionaryBatch => Arc::make_mut(&mut self.decoder).add_dictionary(&header, &body)?,
                MessageHeader::Schema => return Err(damaged("a second schema")),
                other => return Err(damaged(format!("a message of another kind: {other:?}"))),
            }
        }
        Ok(None)
    }
}

impl<'s, R: Read> Source<'s> for IpcStream<R> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        let message = match self.first.take() {
            Some(first) => Some(first),
            None => self.next_message()?,
        };
        let Some((header, body)) = message else { return Ok(None) };
        self.count += 1;
        Ok(Some(Batch::unit(MessageRows {
            message: Some((header, body)),
            number: self.count,
            decoder: self.decoder.clone(),
            selection: self.selection.clone(),
            whole_rows: self.whole_rows,
            parts: None,
            is_first: self.count == 1,
        })))
    }

    fn in_flight(&self) -> usize {
        1 // a record batch may hold much
    }
}

/// One record batch.
struct MessageRows {
    message: Option<(Header, Buffer)>,
    number: u64,
    decoder: Arc<Decoder>,
    selection: Arc<Selection>,
    whole_rows: bool,
    parts: Option<Parts>,
    is_first: bool,
}

impl<'s> Unit<'s> for MessageRows {
    fn next_part(&mut self) -> io::Result<Option<Batch<'s>>> {
        if let Some((header, body)) = self.message.take() {
            let batch = self.decoder.decode(&header, &body);
            let batch = batch.map_err(|error| located(format_args!("record batch {}", self.number), &error))?;
            self.parts = Some(Parts::of(batch, self.whole_rows));
        }
        let is_first = std::mem::take(&mut self.is_first);
        self.parts.as_mut().map_or(Ok(None), |parts| parts.next(&self.selection, is_first))
    }
}

/// A stream cut into messages.
#[derive(Debug)]
struct Messages<R> {
    stream: R,
    /// Whether they are those of a file, which has a footer behind them.
    is_file: bool,
}

impl<R: Read> Messages<R> {
    /// The header of the first message; the octets that an IPC file begins with may stand before it.
    fn first_header(&mut self) -> io::Result<Header> {
        let mut start = Vec::new();
        (&mut self.stream).take(4).read_to_end(&mut start)?;
        let header = match &start[..] {
            [] => return Err(io::Error::new(io::ErrorKind::InvalidData, "empty: no Arrow stream")),
            start if start == &MAGIC[..4] => {
                self.is_file = true;
                self.octets(4)?;
                self.header_behind_padding()?
            }
            // Text would be a length of half a gibibyte and more.
            &[a, b, c, d] if u32::from_le_bytes([a, b, c, d]) == u32::MAX || d == 0 => self.header_behind([a, b, c, d])?,
            _ => None,
        };
        let no_stream = || io::Error::new(io::ErrorKind::InvalidData, "no Arrow stream: it does not begin as one");
        header.filter(|header| header.kind() == MessageHeader::Schema).ok_or_else(no_stream)
    }

    /// The first header of a file: zeros before it make it begin at a multiple of 8 octets, or of 64.
    fn header_behind_padding(&mut self) -> io::Result<Option<Header>> {
        for _ in 0..16 {
            match self.octets(4)?[..] {
                [0, 0, 0, 0] => {}
                [a, b, c, d] => return self.header_behind([a, b, c, d]),
                _ => break,
            }
        }
        Ok(None)
    }

    /// The header of the next message, `None` where the stream ends.
    fn header(&mut self) -> io::Result<Option<Header>> {
        let mut start = Vec::new();
        (&mut self.stream).take(4).read_to_end(&mut start)?;
        match start[..] {
            [] => Ok(None), // an end that is not said is one as well
            [a, b, c, d] => self.header_behind([a, b, c, d]),
            _ => Err(cut_short()),
        }
    }

    /// The header behind its first four octets: its length, or 0xFF four times with the length behind; none where that is zero.
    fn header_behind(&mut self, start: [u8; 4]) -> io::Result<Option<Header>> {
        let len = match start {
            [0xFF, 0xFF, 0xFF, 0xFF] => self.octets(4)?.try_into().expect("as many as asked for"),
            len => len,
        };
        match i32::from_le_bytes(len) {
            0 => {
                let mut more = Vec::new();
                if !self.is_file {
                    (&mut self.stream).take(1).read_to_end(&mut more)?;
                }
                match more.is_empty() {
                    true => Ok(None),
                    false => Err(damaged(
                        "more follows behind the end of the stream: give streams that were put one behind another as files of their own",
                    )),
                }
            }
            len => match u64::try_from(len) {
                Ok(len) => Header::new(self.octets(len)?).map(Some),
                Err(_) => Err(damaged("a header of negative length")),
            },
        }
    }

    fn body(&mut self, header: &Header) -> io::Result<Buffer> {
        Ok(Buffer::from_vec(self.octets(header.body_len()?)?))
    }

    /// So many octets; memory grows as they come.
    fn octets(&mut self, len: u64) -> io::Result<Vec<u8>> {
        let mut octets = Vec::with_capacity(len.min(TRUSTED_LEN) as usize);
        (&mut self.stream).take(len).read_to_end(&mut octets)?;
        if octets.len() as u64 == len { Ok(octets) } else { Err(cut_short()) }
    }
}

fn cut_short() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "an Arrow stream that ends within a message: it is cut short")
}
