//! What of a table is read.

use arrow::array::ArrayRef;
use arrow::datatypes::{FieldRef, Schema};
use arrow::record_batch::RecordBatch;

use super::urls::{ColumnError, UrlArray, UrlBatch, UrlColumns, carried_columns, url_columns};

/// What is wanted of a table's columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// The column that holds the URLs: `url` unless told, or the split columns of Common Crawl's index (see [`url_columns`]).
    pub url_column: Option<String>,
    /// Columns that are carried into an output.
    pub carry: Vec<String>,
    /// Whether whole rows are wanted, as a filter does that gives them back. Else no other column is read.
    pub whole_rows: bool,
}

/// The columns of a table that are read, and what they are for.
#[derive(Debug, Clone)]
pub struct Selection {
    /// Those columns of the schema; `None` for all.
    projection: Option<Vec<usize>>,
    /// In what is read.
    urls: UrlColumns,
    /// In what is read.
    carried: Vec<usize>,
    carried_fields: Vec<FieldRef>,
    /// What the column of URLs is called, if one column holds them.
    url_field: Option<FieldRef>,
}

impl Selection {
    /// What `options` ask for in tables of that schema.
    ///
    /// # Errors
    ///
    /// When there is no such column, or it does not hold what is asked for.
    pub fn new(schema: &Schema, options: &TableOptions) -> Result<Selection, ColumnError> {
        let urls = url_columns(schema, options.url_column.as_deref())?;
        let carried = carried_columns(schema, &options.carry)?;
        let field = |&column: &usize| schema.fields()[column].clone();
        let carried_fields = carried.iter().map(field).collect();
        let url_field = if let UrlColumns::One(column) = &urls { Some(field(column)) } else { None };
        if options.whole_rows {
            return Ok(Selection { projection: None, urls, carried, carried_fields, url_field });
        }
        let mut projection: Vec<usize> = urls.indices();
        projection.extend(&carried);
        projection.sort_unstable();
        projection.dedup();
        let at = |column: usize| projection.binary_search(&column).expect("it was put there");
        let carried = carried.into_iter().map(at).collect();
        Ok(Selection { urls: urls.projected(&projection), projection: Some(projection), carried, carried_fields, url_field })
    }

    /// The columns to read, in ascending order; `None` for all.
    pub fn projection(&self) -> Option<&[usize]> {
        self.projection.as_deref()
    }

    /// The fields of the carried columns.
    pub fn carried_fields(&self) -> &[FieldRef] {
        &self.carried_fields
    }

    /// The field of the column of URLs, if one column holds them.
    pub fn url_field(&self) -> Option<&FieldRef> {
        self.url_field.as_ref()
    }

    /// The rows of what was read, as the pipeline takes them.
    ///
    /// # Errors
    ///
    /// When a column's type holds no text.
    pub fn batch(&self, batch: RecordBatch) -> Result<UrlBatch, ColumnError> {
        let carried: Vec<ArrayRef> = self.carried.iter().map(|&column| batch.column(column).clone()).collect();
        Ok(UrlBatch::new(UrlArray::of(&self.urls, &batch)?, batch, carried))
    }

    /// Refuses a table whose first rows have SURT keys for URLs.
    ///
    /// # Errors
    ///
    /// [`ColumnError::Surt`].
    pub fn refuse_surt(&self, batch: &UrlBatch) -> Result<(), ColumnError> {
        match &self.url_field {
            Some(field) => batch.urls().refuse_surt(field.name()),
            None => Ok(()),
        }
    }
}
