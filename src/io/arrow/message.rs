//! Messages of the IPC format: checked before the crate that decodes them sees them.
//!
//! The crate takes the lengths that a message states for true: a damaged one makes it panic, or ask for memory that nobody has. Here every length is held
//! to what is there first. What is left (a structure that contradicts the schema) is caught and told as damage too.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::ops::Range;

use arrow::array::ArrayRef;
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, UnionMode};
use arrow::error::ArrowError;
use arrow::ipc::convert::fb_to_schema;
use arrow::ipc::reader::{read_dictionary, read_record_batch};
use arrow::ipc::{self, CompressionType, MessageHeader, MetadataVersion};
use arrow::record_batch::RecordBatch;

use crate::io::guard::guard;

/// Octets that one octet may decompress to at most: zstd's blocks of one repeated octet are 128 KiB from four octets, lz4 stays far below.
const MAX_RATIO: u64 = 1 << 16;

/// What a message says, without the body.
#[derive(Debug, Clone)]
pub(super) struct Header(Vec<u8>);

impl Header {
    /// The header in these octets, without the length before it.
    pub(super) fn new(octets: Vec<u8>) -> io::Result<Header> {
        ipc::root_as_message(&octets).map_err(|error| damaged(format!("no message: {error}")))?;
        Ok(Header(octets))
    }

    fn message(&self) -> ipc::Message<'_> {
        ipc::root_as_message(&self.0).expect("it was checked")
    }

    /// What kind of message it is.
    pub(super) fn kind(&self) -> MessageHeader {
        self.message().header_type()
    }

    /// Octets of the body.
    pub(super) fn body_len(&self) -> io::Result<u64> {
        u64::try_from(self.message().bodyLength()).map_err(|_| damaged("a body of negative length"))
    }

    /// The schema, in the message that says it.
    pub(super) fn schema(&self) -> io::Result<Schema> {
        schema_of(self.message().header_as_schema().ok_or_else(|| damaged("a schema that is none"))?)
    }

    /// How record batches are compressed, in the message of one.
    pub(super) fn compression(&self) -> Option<CompressionType> {
        Some(self.message().header_as_record_batch()?.compression()?.codec())
    }

    fn batch(&self) -> io::Result<ipc::RecordBatch<'_>> {
        let message = self.message();
        let dictionary = || message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data());
        message.header_as_record_batch().or_else(dictionary).ok_or_else(|| damaged("no record batch"))
    }

    /// Where the body's buffers of these columns lie, in order. `None` for all columns.
    pub(super) fn needed(&self, schema: &Schema, projection: Option<&[usize]>, body_len: u64) -> io::Result<Vec<Range<u64>>> {
        let (batch, version) = (self.batch()?, self.message().version());
        let buffers: Vec<Range<u64>> =
            batch.buffers().into_iter().flatten().map(|buffer| place(buffer, body_len)).collect::<io::Result<_>>()?;
        let Some(projection) = projection else { return Ok(buffers) };
        let mut views = batch.variadicBufferCounts().into_iter().flatten();
        let (mut needed, mut at) = (Vec::new(), 0_usize);
        for (column, field) in schema.fields().iter().enumerate() {
            let count = buffer_count(field, version, &mut views).ok_or_else(|| damaged("views without buffers"))?;
            let end =
                at.checked_add(count).filter(|&end| end <= buffers.len()).ok_or_else(|| damaged("fewer buffers than columns have"))?;
            if projection.contains(&column) {
                needed.extend_from_slice(&buffers[at..end]);
            }
            at = end;
        }
        Ok(needed)
    }

    /// Holds what the message says of its body to that: places, counts, and lengths after decompression, of the buffers that were read.
    fn check(&self, body: &Buffer, read: &[Range<u64>]) -> io::Result<()> {
        let batch = self.batch()?;
        if batch.length() < 0 || batch.nodes().into_iter().flatten().any(|node| node.length() < 0 || node.null_count() < 0) {
            return Err(damaged("a negative number of rows"));
        }
        if batch.variadicBufferCounts().into_iter().flatten().any(|count| count < 0) {
            return Err(damaged("a negative number of buffers"));
        }
        for buffer in batch.buffers().into_iter().flatten() {
            place(buffer, body.len() as u64)?;
        }
        if batch.compression().is_some() {
            for range in read.iter().filter(|range| !range.is_empty()) {
                check_compressed(&body[range.start as usize..range.end as usize])?;
            }
        }
        Ok(())
    }
}

/// Where a buffer lies in a body.
fn place(buffer: &ipc::Buffer, body_len: u64) -> io::Result<Range<u64>> {
    let (start, len) = (u64::try_from(buffer.offset()).ok(), u64::try_from(buffer.length()).ok());
    let range = start.zip(len).and_then(|(start, len)| Some(start..start.checked_add(len)?));
    range.filter(|range| range.end <= body_len).ok_or_else(|| damaged("a buffer outside of its message"))
}

/// The length that stands before compressed octets; -1 says that they are not.
fn check_compressed(octets: &[u8]) -> io::Result<()> {
    let (len, rest) = octets.split_first_chunk::<8>().ok_or_else(|| damaged("a compressed buffer without its length"))?;
    match i64::from_le_bytes(*len) {
        -1 => Ok(()),
        len if u64::try_from(len).is_ok_and(|len| len <= (rest.len() as u64).saturating_mul(MAX_RATIO)) => Ok(()),
        _ => Err(damaged("a compressed buffer that states an impossible length")),
    }
}

/// How many buffers a column has (<https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout>); `views` has the number of those
/// that views point into.
fn buffer_count(field: &Field, version: MetadataVersion, views: &mut impl Iterator<Item = i64>) -> Option<usize> {
    let mut all = |fields: &[&Field]| fields.iter().try_fold(0_usize, |sum, field| sum.checked_add(buffer_count(field, version, views)?));
    Some(match field.data_type() {
        DataType::Null => 0,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Binary | DataType::LargeBinary => 3,
        DataType::Utf8View | DataType::BinaryView => usize::try_from(views.next()?).ok()?.checked_add(2)?,
        DataType::List(item) | DataType::LargeList(item) | DataType::Map(item, _) => 2 + all(&[item])?,
        DataType::ListView(item) | DataType::LargeListView(item) => 3 + all(&[item])?,
        DataType::FixedSizeList(item, _) => 1 + all(&[item])?,
        DataType::Struct(fields) => 1 + all(&fields.iter().map(|field| &**field).collect::<Vec<_>>())?,
        DataType::RunEndEncoded(ends, values) => all(&[ends, values])?,
        DataType::Union(fields, mode) => {
            let own = 1 + usize::from(version < MetadataVersion::V5) + usize::from(*mode == UnionMode::Dense);
            own + all(&fields.iter().map(|(_, field)| &**field).collect::<Vec<_>>())?
        }
        _ => 2,
    })
}

/// Turns messages into record batches. Dictionaries are what the messages before made them.
#[derive(Debug, Clone)]
pub(super) struct Decoder {
    schema: SchemaRef,
    projection: Option<Vec<usize>>,
    dictionaries: HashMap<i64, ArrayRef>,
}

impl Decoder {
    pub(super) fn new(schema: SchemaRef, projection: Option<Vec<usize>>) -> Decoder {
        Decoder { schema, projection, dictionaries: HashMap::new() }
    }

    pub(super) fn projection(&self) -> Option<&[usize]> {
        self.projection.as_deref()
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Takes in a dictionary, or more of one.
    pub(super) fn add_dictionary(&mut self, header: &Header, body: &Buffer) -> io::Result<()> {
        header.check(body, &header.needed(&self.schema, None, body.len() as u64)?)?;
        let message = header.message();
        let batch = message.header_as_dictionary_batch().ok_or_else(|| damaged("a dictionary that is none"))?;
        let (schema, dictionaries) = (&self.schema, &mut self.dictionaries);
        caught(|| read_dictionary(body, batch, schema, dictionaries, &message.version()))
    }

    /// The record batch in a message, of whose body at least what its columns need was read.
    pub(super) fn decode(&self, header: &Header, body: &Buffer) -> io::Result<RecordBatch> {
        header.check(body, &header.needed(&self.schema, self.projection(), body.len() as u64)?)?;
        let message = header.message();
        let batch = message.header_as_record_batch().ok_or_else(|| damaged("no record batch"))?;
        caught(|| read_record_batch(body, batch, self.schema.clone(), &self.dictionaries, self.projection(), &message.version()))
    }
}

/// The schema that a message or a footer states.
pub(super) fn schema_of(schema: ipc::Schema<'_>) -> io::Result<Schema> {
    if !schema.endianness().equals_to_target_endianness() {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "its numbers have another byte order than this machine's: write it anew on a machine of this kind",
        ));
    }
    caught(|| Ok(fb_to_schema(schema)))
}

/// What `decode` gives; a panic is damage as well.
fn caught<T>(decode: impl FnOnce() -> Result<T, ArrowError>) -> io::Result<T> {
    match guard(decode) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(damaged(error)),
        Err(_) => Err(damaged("what it holds is not what its schema says")),
    }
}

/// The input does not hold what it should.
pub(super) fn damaged(what: impl fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged, or not Arrow IPC: {what}"))
}

/// The same error with where it was found before it.
pub(super) fn located(place: impl fmt::Display, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{place}: {error}"))
}
