//! Views that own no more than they show.
//!
//! A slice of an array of views, or a few rows of it, keep all octets that the whole array points into, and the writers of Arrow's formats write them all:
//! a file cut into sixteen parts would come out sixteen times as large.

use arrow::array::{Array, ArrayData, ArrayRef, AsArray, GenericByteViewArray, make_array};
use arrow::datatypes::{ByteViewType, DataType};
use arrow::error::ArrowError;

/// The same array, whose views point into what they need alone; nothing is copied where there are none.
pub(super) fn compact(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    if !has_views(array.data_type()) {
        return Ok(array.clone());
    }
    Ok(make_array(compact_data(array.to_data())?))
}

fn has_views(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8View | DataType::BinaryView => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _)
        | DataType::RunEndEncoded(_, field) => has_views(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_views(field.data_type())),
        DataType::Union(fields, _) => fields.iter().any(|(_, field)| has_views(field.data_type())),
        // A dictionary's values are written once, and told by where they lie: they stay.
        _ => false,
    }
}

fn compact_data(data: ArrayData) -> Result<ArrayData, ArrowError> {
    match data.data_type() {
        DataType::Utf8View => Ok(compact_views(make_array(data).as_string_view()).into_data()),
        DataType::BinaryView => Ok(compact_views(make_array(data).as_binary_view()).into_data()),
        data_type if has_views(data_type) => {
            let children = data.child_data().iter().cloned().map(compact_data).collect::<Result<Vec<_>, _>>()?;
            data.into_builder().child_data(children).build()
        }
        _ => Ok(data),
    }
}

/// As it is where nine tenths of the octets are in use: most of all, where it is a whole array as it was read.
fn compact_views<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> GenericByteViewArray<T> {
    let kept: usize = array.data_buffers().iter().map(|buffer| buffer.len()).sum();
    if array.total_buffer_bytes_used() >= kept / 10 * 9 { array.clone() } else { array.gc() }
}
