//! A value of an Arrow array as outputs that are no Arrow write it.

use std::borrow::Cow;
use std::fmt::Write as _;

use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::urls::UrlArray;
use crate::io::text::to_text;
use crate::pipeline::Carried;

/// The value of a row: what JSON has no type for is text (a date, a decimal number), and what is nested is JSON.
pub(super) fn carried(array: &dyn Array, row: usize) -> Carried<'_> {
    if array.is_null(row) {
        return Carried::Null;
    }
    let text = |text| Carried::Text(Cow::Borrowed(text));
    match array.data_type() {
        DataType::Null => Carried::Null,
        DataType::Boolean => Carried::Bool(array.as_boolean().value(row)),
        DataType::Float16 => Carried::Float(array.as_primitive::<Float16Type>().value(row).into()),
        DataType::Float32 => Carried::Float(array.as_primitive::<Float32Type>().value(row).into()),
        DataType::Float64 => Carried::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => text(array.as_string::<i32>().value(row).as_bytes()),
        DataType::LargeUtf8 => text(array.as_string::<i64>().value(row).as_bytes()),
        DataType::Utf8View => text(array.as_string_view().value(row).as_bytes()),
        DataType::Binary => text(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => text(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => text(array.as_binary_view().value(row)),
        data_type if data_type.is_integer() => formatted(array, row).parse().map_or(Carried::Null, Carried::Integer),
        data_type if data_type.is_nested() => {
            let mut json = String::new();
            write_json(array, row, &mut json);
            Carried::Json(Cow::Owned(json))
        }
        DataType::Dictionary(..) => {
            let key = array.slice(row, 1).as_any_dictionary().normalized_keys()[0];
            carried(array.as_any_dictionary().values(), key)
        }
        _ => match UrlArray::new(array) {
            Ok(texts) => texts.value(row).map_or(Carried::Null, |text| Carried::Text(Cow::Owned(text.to_vec()))),
            Err(_) => Carried::Text(Cow::Owned(formatted(array, row).into_bytes())),
        },
    }
}

fn write_json(array: &dyn Array, row: usize, json: &mut String) {
    let items = |items: &dyn Array, json: &mut String| {
        json.push('[');
        for item in 0..items.len() {
            if item > 0 {
                json.push(',');
            }
            write_json(items, item, json);
        }
        json.push(']');
    };
    match array.data_type() {
        _ if array.is_null(row) => json.push_str("null"),
        DataType::List(_) => items(&array.as_list::<i32>().value(row), json),
        DataType::LargeList(_) => items(&array.as_list::<i64>().value(row), json),
        DataType::ListView(_) => items(&array.as_list_view::<i32>().value(row), json),
        DataType::LargeListView(_) => items(&array.as_list_view::<i64>().value(row), json),
        DataType::FixedSizeList(..) => items(&array.as_fixed_size_list().value(row), json),
        // As Parquet and Arrow see them: a list of keys and values.
        DataType::Map(..) => items(&array.as_map().value(row), json),
        DataType::Struct(fields) => {
            json.push('{');
            for (index, (field, values)) in fields.iter().zip(array.as_struct().columns()).enumerate() {
                if index > 0 {
                    json.push(',');
                }
                write_string(field.name(), json);
                json.push(':');
                write_json(values, row, json);
            }
            json.push('}');
        }
        data_type if data_type.is_nested() => write_string(&formatted(array, row), json),
        _ => match carried(array, row) {
            Carried::Null => json.push_str("null"),
            Carried::Bool(value) => _ = write!(json, "{value}"),
            Carried::Integer(value) => _ = write!(json, "{value}"),
            Carried::Float(value) if value.is_finite() => _ = write!(json, "{value}"),
            Carried::Float(_) => json.push_str("null"),
            Carried::Text(text) => write_string(&to_text(&text).0, json),
            Carried::Json(nested) => json.push_str(&nested),
        },
    }
}

fn write_string(text: &str, json: &mut String) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            character if character.is_control() => _ = write!(json, "\\u{:04x}", u32::from(character)),
            character => json.push(character),
        }
    }
    json.push('"');
}

fn formatted(array: &dyn Array, row: usize) -> String {
    let (array, options) = (without_zone(array.slice(row, 1)), FormatOptions::default());
    ArrayFormatter::try_new(&array, &options).map_or_else(|_| String::new(), |formatter| formatter.value(0).to_string())
}

/// Points in time as they are in UTC: names of time zones are nothing that the formatter knows.
fn without_zone(array: ArrayRef) -> ArrayRef {
    let DataType::Timestamp(unit, Some(_)) = *array.data_type() else { return array };
    let utc = DataType::Timestamp(unit, Some("+00:00".into()));
    array.to_data().into_builder().data_type(utc).build().map_or(array, make_array)
}
