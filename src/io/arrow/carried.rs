//! A value of an Arrow array as outputs that are no Arrow write it.

use std::borrow::Cow;

use arrow::array::{Array, AsArray};
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::urls::UrlArray;
use crate::pipeline::Carried;

/// The value of a row.
pub(super) fn carried(array: &dyn Array, row: usize) -> Carried<'_> {
    if array.is_null(row) {
        return Carried::Null;
    }
    match array.data_type() {
        DataType::Null => Carried::Null,
        DataType::Boolean => Carried::Bool(array.as_boolean().value(row)),
        DataType::Float16 => Carried::Float(array.as_primitive::<Float16Type>().value(row).into()),
        DataType::Float32 => Carried::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Carried::Float(array.as_primitive::<Float64Type>().value(row)),
        data_type if data_type.is_integer() => formatted(array, row).parse().map_or(Carried::Null, Carried::Integer),
        _ => match UrlArray::new(array) {
            Ok(texts) => texts.value(row).map_or(Carried::Null, |text| Carried::Text(Cow::Owned(text.to_vec()))),
            Err(_) => Carried::Text(Cow::Owned(formatted(array, row).into_bytes())),
        },
    }
}

fn formatted(array: &dyn Array, row: usize) -> String {
    let options = FormatOptions::default();
    ArrayFormatter::try_new(array, &options).map_or_else(|_| String::new(), |formatter| formatter.value(row).to_string())
}
