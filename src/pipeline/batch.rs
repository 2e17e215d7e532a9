//! What a source hands over.

use std::any::Any;
use std::borrow::Cow;
use std::io;
use std::ops::Range;

use super::rows::Rows;
use crate::engine::scan::Isa;

/// Rows to decide.
#[derive(Debug)]
pub struct Batch<'s> {
    pub(super) content: Content<'s>,
    /// Which of the inputs it belongs to.
    pub(super) file: u32,
}

/// Where the rows are.
#[derive(Debug)]
pub(super) enum Content<'s> {
    /// Lines.
    Lines(Cow<'s, [u8]>),
    /// At these places.
    Ranges(Cow<'s, [u8]>, Vec<Range<usize>>),
    /// The values of a column.
    Values(Box<dyn Values + 's>),
    /// Still to be read, by the thread that decides them.
    Unit(Box<dyn Unit<'s> + 's>),
}

/// Rows of something richer than a list: a column of URLs, and what came with it.
///
/// The sink gets the same object back with the answers, in [`Decided::values`](super::Decided::values).
pub trait Values: Send {
    /// How many rows there are.
    fn row_count(&self) -> usize;

    /// The URL of a row; empty where it has none, which is a bad URL.
    fn value(&self, row: usize) -> &[u8];

    /// Whether a row has no URL at all (null).
    fn is_null(&self, row: usize) -> bool {
        let _ = row;
        false
    }

    /// The whole row as it came, where rows are records of a text, with its line end.
    fn record(&self, row: usize) -> &[u8] {
        self.value(row)
    }

    /// What a row carries beside its URL: in a column by its number among those that the source was asked to carry.
    fn carried(&self, column: usize, row: usize) -> Carried<'_> {
        let _ = (column, row);
        Carried::Null
    }

    /// For a sink that knows its source: what rows carry, in the source's own form.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
}

/// What a row carries in a column beside its URL.
#[derive(Debug, Clone, PartialEq)]
pub enum Carried<'v> {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Integer(i128),
    /// Any other number.
    Float(f64),
    /// A text, or octets that should be one.
    Text(Cow<'v, [u8]>),
    /// A list or an object, as JSON.
    Json(Cow<'v, str>),
}

/// Rows that one thread reads as well as decides, part by part: a row group of a file, a stretch of text to be parsed.
///
/// All parts of a unit are in memory, decided, until the sink takes them: [`Values`] should hold no more than the sink wants.
pub trait Unit<'s>: Send {
    /// The next rows, `None` at the end. A part is no unit itself.
    ///
    /// # Errors
    ///
    /// When the input can not be read: the run ends with that.
    fn next_part(&mut self) -> io::Result<Option<Batch<'s>>>;
}

impl<'s> Batch<'s> {
    /// A batch of the lines in `octets`.
    ///
    /// LF ends a row; a CR before it, or at the end of the octets, belongs to the line end. A last line without LF is a row; behind a last LF
    /// there is none.
    pub fn lines(octets: impl Into<Cow<'s, [u8]>>) -> Batch<'s> {
        Content::Lines(octets.into()).into()
    }

    /// A batch of rows that lie at these places in `octets`, in this order. Nothing is a line end then.
    pub fn rows(octets: impl Into<Cow<'s, [u8]>>, rows: Vec<Range<usize>>) -> Batch<'s> {
        Content::Ranges(octets.into(), rows).into()
    }

    /// A batch of the values of a column.
    ///
    /// ```
    /// use robosieve::pipeline::{Batch, Values};
    ///
    /// struct Column(Vec<Option<String>>);
    ///
    /// impl Values for Column {
    ///     fn row_count(&self) -> usize {
    ///         self.0.len()
    ///     }
    ///     fn value(&self, row: usize) -> &[u8] {
    ///         self.0[row].as_deref().unwrap_or_default().as_bytes()
    ///     }
    ///     fn is_null(&self, row: usize) -> bool {
    ///         self.0[row].is_none()
    ///     }
    /// }
    ///
    /// let batch = Batch::values(Column(vec![Some("https://example.com/".to_owned()), None]));
    /// ```
    pub fn values(values: impl Values + 's) -> Batch<'s> {
        Content::Values(Box::new(values)).into()
    }

    /// Rows that are still to be read, by the thread that decides them.
    pub fn unit(unit: impl Unit<'s> + 's) -> Batch<'s> {
        Content::Unit(Box::new(unit)).into()
    }

    /// The batch as one of the input with that number. Rows are counted anew where the number changes.
    pub fn of_file(self, file: u32) -> Batch<'s> {
        Batch { file, ..self }
    }

    /// The octets in which the rows lie; none where they are values, or not yet read.
    pub fn octets(&self) -> &[u8] {
        match &self.content {
            Content::Lines(octets) | Content::Ranges(octets, _) => octets,
            Content::Values(_) | Content::Unit(_) => &[],
        }
    }
}

impl<'s> From<Content<'s>> for Batch<'s> {
    fn from(content: Content<'s>) -> Batch<'s> {
        Batch { content, file: 0 }
    }
}

/// Puts values under each other as lines in `octets`, whose content is replaced, and writes where they lie into `rows`: many rows are decided at once where
/// they are lines.
pub(super) fn gather(values: &dyn Values, isa: Isa, octets: &mut Vec<u8>, rows: &mut Rows) {
    octets.clear();
    for row in 0..values.row_count() {
        octets.extend_from_slice(values.value(row));
        octets.push(b'\n');
    }
    rows.set_lines(octets, isa);
    if rows.len() != values.row_count() || rows.has_cr() || rows.lines().is_none() {
        // A value has a line end in it.
        let mut start = 0;
        let place = |row| {
            let place = start..start + values.value(row).len();
            start = place.end + 1;
            place
        };
        rows.set_ranges((0..values.row_count()).map(place).collect());
    }
}

impl std::fmt::Debug for dyn Values + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} values", self.row_count())
    }
}

impl<'s> std::fmt::Debug for dyn Unit<'s> + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a unit")
    }
}
