//! Which columns hold URLs, and the URLs of a record batch without converting them.

use std::any::Any;
use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BinaryViewArray, FixedSizeBinaryArray, Int64Array, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow::buffer::NullBuffer;
use arrow::compute::cast;
use arrow::datatypes::{
    ArrowDictionaryKeyType, DataType, Int8Type, Int16Type, Int32Type, Int64Type, Schema, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow::record_batch::RecordBatch;

use super::carried::carried;
use crate::io::tables::{SPLIT, are_parts, are_surt, listed, why_no_surt};
use crate::io::text::to_terminal_text;
use crate::pipeline::{Carried, Values};

/// Which columns of a schema make up the URLs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum UrlColumns {
    /// One column holds them.
    One(usize),
    /// Their parts stand apart, as in Common Crawl's columnar index.
    Split {
        /// The scheme.
        protocol: usize,
        /// The host.
        host: usize,
        /// The port, a number; null where the URL had none.
        port: usize,
        /// The path.
        path: usize,
        /// The query, without `?`; null where the URL had none.
        query: usize,
    },
}

/// Which columns of `schema` make up the URLs: that named `asked`, else `url`, else the split columns of Common Crawl's columnar index (`url_protocol`,
/// `url_host_name`, `url_port`, `url_path`, `url_query`). Of several with one name the first.
///
/// ```
/// use arrow::datatypes::{DataType, Field, Schema};
/// use robosieve::io::arrow::{UrlColumns, url_columns};
///
/// let text = |name: &str| Field::new(name, DataType::Utf8, true);
/// let schema = Schema::new(vec![text("id"), text("url"), text("seed")]);
/// assert_eq!(url_columns(&schema, None)?, UrlColumns::One(1));
/// assert_eq!(url_columns(&schema, Some("seed"))?, UrlColumns::One(2));
/// assert!(url_columns(&schema, Some("link")).unwrap_err().to_string().starts_with("no column link: there are id, url, seed"));
/// # Ok::<(), robosieve::io::arrow::ColumnError>(())
/// ```
///
/// # Errors
///
/// When there is no such column, when its type holds no text, or when it holds keys for sorting (SURT) by its name.
pub fn url_columns(schema: &Schema, asked: Option<&str>) -> Result<UrlColumns, ColumnError> {
    let place = |name: &str| schema.fields().iter().position(|field| field.name() == name);
    let no_column = |name: &str| ColumnError::Missing { name: name.to_owned(), columns: names(schema) };
    let index = match asked {
        Some("url_surtkey") => return Err(ColumnError::Surt { column: "url_surtkey".to_owned() }),
        Some(asked) => place(asked).ok_or_else(|| no_column(asked))?,
        None => match place("url") {
            Some(index) => index,
            None => return split_columns(schema),
        },
    };
    let field = schema.field(index);
    match holds_text(field.data_type()) {
        true => Ok(UrlColumns::One(index)),
        false => Err(ColumnError::no_text(field.name(), field.data_type())),
    }
}

fn split_columns(schema: &Schema) -> Result<UrlColumns, ColumnError> {
    let places = SPLIT.map(|name| schema.fields().iter().position(|field| field.name() == name));
    let [Some(protocol), Some(host), Some(port), Some(path), Some(query)] = places else {
        let missing = SPLIT.iter().zip(places).filter(|(_, place)| place.is_none()).map(|(name, _)| *name).collect::<Vec<_>>();
        return Err(match missing.len() == SPLIT.len() {
            true => ColumnError::NoUrl { columns: names(schema) },
            false => ColumnError::Unsplit { missing: missing.join(", "), columns: names(schema) },
        });
    };
    for index in [protocol, host, path, query] {
        let field = schema.field(index);
        if !holds_text(field.data_type()) {
            return Err(ColumnError::no_text(field.name(), field.data_type()));
        }
    }
    let field = schema.field(port);
    if !(holds_text(field.data_type()) || field.data_type().is_numeric()) {
        return Err(ColumnError::no_text(field.name(), field.data_type()));
    }
    Ok(UrlColumns::Split { protocol, host, port, path, query })
}

/// The places of the columns with these names, in this order.
///
/// # Errors
///
/// When there is no such column.
pub fn carried_columns(schema: &Schema, asked: &[String]) -> Result<Vec<usize>, ColumnError> {
    let place = |name: &String| {
        let place = schema.fields().iter().position(|field| field.name() == name);
        let place = place.ok_or_else(|| ColumnError::Missing { name: name.clone(), columns: names(schema) })?;
        let data_type = schema.field(place).data_type();
        match can_be_carried(data_type) {
            true => Ok(place),
            false => Err(ColumnError::NotCarried { column: name.clone(), data_type: data_type.to_string() }),
        }
    };
    asked.iter().map(place).collect()
}

/// Whether the crate can cut, compare and write arrays of the type: it does not know all about unions and runs.
fn can_be_carried(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(..) | DataType::RunEndEncoded(..) => false,
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => {
            can_be_carried(field.data_type())
        }
        DataType::ListView(field) | DataType::LargeListView(field) => can_be_carried(field.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| can_be_carried(field.data_type())),
        DataType::Dictionary(_, values) => can_be_carried(values),
        _ => true,
    }
}

fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// Whether arrays of the type can be read as URLs.
fn holds_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => true,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => true,
        DataType::Dictionary(_, values) => holds_text(values),
        _ => false,
    }
}

impl UrlColumns {
    /// The places of the columns that are read, in order of the URL's parts.
    pub fn indices(&self) -> Vec<usize> {
        match *self {
            UrlColumns::One(index) => vec![index],
            UrlColumns::Split { protocol, host, port, path, query } => vec![protocol, host, port, path, query],
        }
    }

    /// The same columns in batches that hold the columns `projection` of the schema alone, in that order.
    ///
    /// # Panics
    ///
    /// When one of them is not among those.
    pub fn projected(&self, projection: &[usize]) -> UrlColumns {
        let at = |index: usize| projection.iter().position(|&column| column == index).expect("the projection has the columns of URLs");
        match *self {
            UrlColumns::One(index) => UrlColumns::One(at(index)),
            UrlColumns::Split { protocol, host, port, path, query } => {
                UrlColumns::Split { protocol: at(protocol), host: at(host), port: at(port), path: at(path), query: at(query) }
            }
        }
    }
}

/// Why a table's URLs can not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ColumnError {
    /// There is no column of that name.
    Missing {
        /// The name.
        name: String,
        /// The columns that there are.
        columns: Vec<String>,
    },
    /// No column was named, and none is known by its name.
    NoUrl {
        /// The columns that there are.
        columns: Vec<String>,
    },
    /// Some of the columns that make up a URL are there, and others are not.
    Unsplit {
        /// Those that are not.
        missing: String,
        /// The columns that there are.
        columns: Vec<String>,
    },
    /// The column's type holds no text.
    NoText {
        /// Its name.
        column: String,
        /// Its type.
        data_type: String,
    },
    /// The column is of a type that can not be carried.
    NotCarried {
        /// Its name.
        column: String,
        /// Its type.
        data_type: String,
    },
    /// The column holds SURT keys, which are no URLs.
    Surt {
        /// Its name.
        column: String,
    },
}

impl ColumnError {
    fn no_text(column: &str, data_type: &DataType) -> ColumnError {
        ColumnError::NoText { column: column.to_owned(), data_type: data_type.to_string() }
    }
}

impl fmt::Display for ColumnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnError::NotCarried { column, data_type } => {
                write!(f, "the column {} holds {data_type}, which is not carried: leave it out", to_terminal_text(column.as_bytes()))
            }
            ColumnError::Missing { name, columns } => {
                write!(
                    f,
                    "no column {}: there are {}",
                    to_terminal_text(name.as_bytes()),
                    listed(columns.iter().map(|name| name.as_bytes()))
                )
            }
            ColumnError::NoUrl { columns } => {
                write!(
                    f,
                    "no column url, nor {}: there are {}; say which holds the URLs (--url-column)",
                    SPLIT.join(", "),
                    listed(columns.iter().map(|name| name.as_bytes()))
                )
            }
            ColumnError::Unsplit { missing, columns } => {
                write!(
                    f,
                    "no column url, and of a URL's parts {missing} are missing: there are {}; say which holds whole URLs (--url-column)",
                    listed(columns.iter().map(|name| name.as_bytes()))
                )
            }
            ColumnError::NoText { column, data_type } => {
                write!(
                    f,
                    "the column {} holds no text but {data_type}: URLs are read from text or octets",
                    to_terminal_text(column.as_bytes())
                )
            }
            ColumnError::Surt { column } => f.write_str(&why_no_surt(column)),
        }
    }
}

impl std::error::Error for ColumnError {}

impl From<ColumnError> for io::Error {
    fn from(error: ColumnError) -> io::Error {
        io::Error::new(io::ErrorKind::InvalidInput, error)
    }
}

/// The URLs of a record batch: strings or octets, plain, large, views, of fixed size, in a dictionary, sliced, or put together of their parts.
/// Nothing is copied but in the last case.
#[derive(Debug, Clone)]
pub struct UrlArray(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Utf8(StringArray),
    LargeUtf8(LargeStringArray),
    Utf8View(StringViewArray),
    Binary(BinaryArray),
    LargeBinary(LargeBinaryArray),
    BinaryView(BinaryViewArray),
    FixedSizeBinary(FixedSizeBinaryArray),
    Dictionary(Box<Dictionary>),
    Joined(Arc<Joined>),
    /// All of them null.
    Null(usize),
}

#[derive(Debug, Clone)]
struct Dictionary {
    /// Where a row's value stands. What stands where a row is null means nothing.
    keys: Keys,
    nulls: Option<NullBuffer>,
    values: Kind,
}

/// The keys of a dictionary, by their type.
#[derive(Debug, Clone)]
enum Keys {
    I8(arrow::buffer::ScalarBuffer<i8>),
    I16(arrow::buffer::ScalarBuffer<i16>),
    I32(arrow::buffer::ScalarBuffer<i32>),
    I64(arrow::buffer::ScalarBuffer<i64>),
    U8(arrow::buffer::ScalarBuffer<u8>),
    U16(arrow::buffer::ScalarBuffer<u16>),
    U32(arrow::buffer::ScalarBuffer<u32>),
    U64(arrow::buffer::ScalarBuffer<u64>),
}

/// URLs put together of their parts.
#[derive(Debug)]
struct Joined {
    octets: Vec<u8>,
    /// Where each ends.
    ends: Vec<usize>,
    nulls: NullBuffer,
}

impl UrlArray {
    /// The URLs in `batch`.
    ///
    /// # Errors
    ///
    /// When a column's type holds no text.
    ///
    /// # Panics
    ///
    /// When the batch has not the columns that `columns` were found in.
    pub fn of(columns: &UrlColumns, batch: &RecordBatch) -> Result<UrlArray, ColumnError> {
        let array = |index: usize| UrlArray::named(batch.column(index), || batch.schema_ref().field(index).name().clone());
        match *columns {
            UrlColumns::One(index) => array(index),
            UrlColumns::Split { protocol, host, port, path, query } => {
                let port = Port::of(batch.column(port)).ok_or_else(|| {
                    let field = batch.schema_ref().field(port);
                    ColumnError::no_text(field.name(), field.data_type())
                })?;
                let parts = Parts { protocol: array(protocol)?, host: array(host)?, port, path: array(path)?, query: array(query)? };
                Ok(UrlArray(Kind::Joined(Arc::new(parts.join()))))
            }
        }
    }

    /// The URLs in an array of strings, octets, views of them, or dictionaries of those.
    ///
    /// ```
    /// use arrow::array::{Array, StringViewArray};
    /// use robosieve::io::arrow::UrlArray;
    ///
    /// let array = StringViewArray::from(vec![None, Some("https://example.com/")]).slice(1, 1);
    /// assert_eq!(UrlArray::new(&array)?.value(0), Some(&b"https://example.com/"[..]));
    /// # Ok::<(), robosieve::io::arrow::ColumnError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the array's type holds no text.
    pub fn new(array: &dyn Array) -> Result<UrlArray, ColumnError> {
        UrlArray::named(array, || "of URLs".to_owned())
    }

    fn named(array: &dyn Array, name: impl Fn() -> String) -> Result<UrlArray, ColumnError> {
        Kind::of(array).map(UrlArray).ok_or_else(|| ColumnError::no_text(&name(), array.data_type()))
    }

    /// Refuses a column whose first values are SURT keys, all of them. `name` is that of the column.
    ///
    /// # Errors
    ///
    /// [`ColumnError::Surt`].
    pub fn refuse_surt(&self, name: &str) -> Result<(), ColumnError> {
        match are_surt((0..self.len()).filter_map(|row| self.value(row))) {
            true => Err(ColumnError::Surt { column: name.to_owned() }),
            false => Ok(()),
        }
    }

    /// The array itself, if it is one of strings.
    pub(super) fn text(&self) -> Option<ArrayRef> {
        Some(match &self.0 {
            Kind::Utf8(array) => Arc::new(array.clone()),
            Kind::LargeUtf8(array) => Arc::new(array.clone()),
            Kind::Utf8View(array) => Arc::new(array.clone()),
            _ => return None,
        })
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The URL of a row, `None` where it is null.
    ///
    /// # Panics
    ///
    /// When there is no such row.
    #[inline]
    pub fn value(&self, row: usize) -> Option<&[u8]> {
        self.0.value(row)
    }
}

impl Kind {
    fn of(array: &dyn Array) -> Option<Kind> {
        Some(match array.data_type() {
            DataType::Utf8 => Kind::Utf8(array.as_string().clone()),
            DataType::LargeUtf8 => Kind::LargeUtf8(array.as_string().clone()),
            DataType::Utf8View => Kind::Utf8View(array.as_string_view().clone()),
            DataType::Binary => Kind::Binary(array.as_binary().clone()),
            DataType::LargeBinary => Kind::LargeBinary(array.as_binary().clone()),
            DataType::BinaryView => Kind::BinaryView(array.as_binary_view().clone()),
            DataType::FixedSizeBinary(_) => Kind::FixedSizeBinary(array.as_fixed_size_binary().clone()),
            DataType::Null => Kind::Null(array.len()),
            DataType::Dictionary(key, _) => Kind::Dictionary(Box::new(match **key {
                DataType::Int8 => Dictionary::of::<Int8Type>(array, Keys::I8)?,
                DataType::Int16 => Dictionary::of::<Int16Type>(array, Keys::I16)?,
                DataType::Int32 => Dictionary::of::<Int32Type>(array, Keys::I32)?,
                DataType::Int64 => Dictionary::of::<Int64Type>(array, Keys::I64)?,
                DataType::UInt8 => Dictionary::of::<UInt8Type>(array, Keys::U8)?,
                DataType::UInt16 => Dictionary::of::<UInt16Type>(array, Keys::U16)?,
                DataType::UInt32 => Dictionary::of::<UInt32Type>(array, Keys::U32)?,
                DataType::UInt64 => Dictionary::of::<UInt64Type>(array, Keys::U64)?,
                _ => return None,
            })),
            _ => return None,
        })
    }

    fn len(&self) -> usize {
        match self {
            Kind::Utf8(array) => array.len(),
            Kind::LargeUtf8(array) => array.len(),
            Kind::Utf8View(array) => array.len(),
            Kind::Binary(array) => array.len(),
            Kind::LargeBinary(array) => array.len(),
            Kind::BinaryView(array) => array.len(),
            Kind::FixedSizeBinary(array) => array.len(),
            Kind::Dictionary(dictionary) => dictionary.keys.len(),
            Kind::Joined(joined) => joined.ends.len(),
            Kind::Null(len) => *len,
        }
    }

    #[inline]
    fn value(&self, row: usize) -> Option<&[u8]> {
        match self {
            Kind::Utf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Kind::LargeUtf8(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Kind::Utf8View(array) => array.is_valid(row).then(|| array.value(row).as_bytes()),
            Kind::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Kind::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Kind::BinaryView(array) => array.is_valid(row).then(|| array.value(row)),
            Kind::FixedSizeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Kind::Dictionary(dictionary) => dictionary.value(row),
            Kind::Joined(joined) => joined.value(row),
            Kind::Null(len) => {
                assert!(row < *len, "row {row} of {len}");
                None
            }
        }
    }
}

impl Dictionary {
    fn of<K: ArrowDictionaryKeyType>(
        array: &dyn Array,
        keys: impl Fn(arrow::buffer::ScalarBuffer<K::Native>) -> Keys,
    ) -> Option<Dictionary> {
        let array = array.as_dictionary::<K>();
        let values = Kind::of(array.values())?;
        Some(Dictionary { keys: keys(array.keys().values().clone()), nulls: array.keys().nulls().cloned(), values })
    }

    #[inline]
    fn value(&self, row: usize) -> Option<&[u8]> {
        if self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
            return None;
        }
        self.values.value(self.keys.key(row))
    }
}

impl Keys {
    fn len(&self) -> usize {
        match self {
            Keys::I8(keys) => keys.len(),
            Keys::I16(keys) => keys.len(),
            Keys::I32(keys) => keys.len(),
            Keys::I64(keys) => keys.len(),
            Keys::U8(keys) => keys.len(),
            Keys::U16(keys) => keys.len(),
            Keys::U32(keys) => keys.len(),
            Keys::U64(keys) => keys.len(),
        }
    }

    /// Arrays are valid when they are made: the key of a row that is not null is an index.
    #[inline]
    fn key(&self, row: usize) -> usize {
        match self {
            Keys::I8(keys) => keys[row] as usize,
            Keys::I16(keys) => keys[row] as usize,
            Keys::I32(keys) => keys[row] as usize,
            Keys::I64(keys) => keys[row] as usize,
            Keys::U8(keys) => keys[row].into(),
            Keys::U16(keys) => keys[row].into(),
            Keys::U32(keys) => keys[row] as usize,
            Keys::U64(keys) => keys[row] as usize,
        }
    }
}

impl Joined {
    #[inline]
    fn value(&self, row: usize) -> Option<&[u8]> {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.nulls.is_valid(row).then(|| &self.octets[start..self.ends[row]])
    }
}

/// The parts of the URLs of a batch.
struct Parts {
    protocol: UrlArray,
    host: UrlArray,
    port: Port,
    path: UrlArray,
    query: UrlArray,
}

/// Ports, as numbers or as text.
enum Port {
    Number(Int64Array),
    Text(UrlArray),
}

impl Port {
    fn of(array: &ArrayRef) -> Option<Port> {
        match Kind::of(array) {
            Some(text) => Some(Port::Text(UrlArray(text))),
            None => Some(Port::Number(cast(array, &DataType::Int64).ok()?.as_primitive::<Int64Type>().clone())),
        }
    }

    /// Writes the port of a row with a colon before it, if it has one: -1 stands for none in some tables.
    fn write(&self, row: usize, octets: &mut Vec<u8>) {
        match self {
            Port::Number(numbers) if numbers.is_valid(row) && numbers.value(row) >= 0 => {
                write!(octets, ":{}", numbers.value(row)).expect("a buffer grows");
            }
            Port::Text(text) => {
                if let Some(port) = text.value(row).filter(|port| !port.is_empty()) {
                    octets.push(b':');
                    octets.extend_from_slice(port);
                }
            }
            Port::Number(_) => {}
        }
    }
}

impl Parts {
    /// A row without a scheme or a host has no URL; one without a path asks for the root. A part never reaches into the next one: a host with a delimiter in it,
    /// or a path that does not begin with `/`, would name another origin.
    fn join(&self) -> Joined {
        let rows = self.host.len();
        let (mut octets, mut ends, mut valid) = (Vec::with_capacity(rows * 64), Vec::with_capacity(rows), Vec::with_capacity(rows));
        for row in 0..rows {
            let path = self.path.value(row).unwrap_or_default();
            let origin = self.protocol.value(row).zip(self.host.value(row)).filter(|(_, host)| are_parts(host, path));
            if let Some((protocol, host)) = origin {
                octets.extend_from_slice(protocol);
                octets.extend_from_slice(b"://");
                octets.extend_from_slice(host);
                self.port.write(row, &mut octets);
                octets.extend_from_slice(path);
                if let Some(query) = self.query.value(row) {
                    octets.push(b'?');
                    octets.extend_from_slice(query);
                }
            }
            ends.push(octets.len());
            valid.push(origin.is_some());
        }
        Joined { octets, ends, nulls: NullBuffer::from(valid) }
    }
}

impl Values for UrlArray {
    fn row_count(&self) -> usize {
        self.len()
    }

    fn value(&self, row: usize) -> &[u8] {
        UrlArray::value(self, row).unwrap_or_default()
    }

    fn is_null(&self, row: usize) -> bool {
        UrlArray::value(self, row).is_none()
    }
}

/// The rows of a record batch as values to decide, with what they carry.
///
/// A sink gets it back from [`Values::as_any`].
#[derive(Debug, Clone)]
pub struct UrlBatch {
    urls: UrlArray,
    batch: RecordBatch,
    carried: Vec<ArrayRef>,
}

impl UrlBatch {
    /// The URLs of rows; the rows themselves, as far as a sink will want them; and what is carried into an output.
    ///
    /// # Panics
    ///
    /// When a carried array has another number of rows.
    pub fn new(urls: UrlArray, batch: RecordBatch, carried: Vec<ArrayRef>) -> UrlBatch {
        assert!(carried.iter().all(|array| array.len() == urls.len()), "as many values as rows are carried");
        UrlBatch { urls, batch, carried }
    }

    /// The URLs.
    pub fn urls(&self) -> &UrlArray {
        &self.urls
    }

    /// The rows, or what the source kept of them.
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// What is carried, an array a column asked for.
    pub fn carried_arrays(&self) -> &[ArrayRef] {
        &self.carried
    }
}

impl Values for UrlBatch {
    fn row_count(&self) -> usize {
        self.urls.len()
    }

    fn value(&self, row: usize) -> &[u8] {
        self.urls.value(row).unwrap_or_default()
    }

    fn is_null(&self, row: usize) -> bool {
        self.urls.value(row).is_none()
    }

    fn carried(&self, column: usize, row: usize) -> Carried<'_> {
        carried(&self.carried[column], row)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
