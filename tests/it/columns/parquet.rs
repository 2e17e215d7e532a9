//! Parquet: what comes in is decided as lines are, and what passes comes back as it was.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int32Array,
    Int64Array, LargeStringArray, ListArray, NullArray, StringArray, StringViewArray, StructArray, TimestampMicrosecondArray, UInt64Array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::{concat_batches, filter_record_batch};
use arrow::datatypes::{DataType, Field, Fields, Int32Type};
use arrow::record_batch::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, Int96};
use parquet::file::metadata::{KeyValue, PageIndexPolicy, ParquetMetaData};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesBuilder, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;

use robosieve::agent::Agent;
use robosieve::dialect::RFC9309;
use robosieve::io::arrow::{Columns, TableOptions};
use robosieve::io::filter::{Filter, Require, Undecided};
use robosieve::io::lines::MappedLines;
use robosieve::io::parquet::{ParquetColumns, ParquetInput, ParquetRowWriter, ParquetRows};
use robosieve::pipeline::{Evaluator, RunError, run};
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};

use crate::pipeline::{Keep, threads};

/// What the policy of these tests allows, and what it disallows.
const YES: &str = "https://a.example/yes/";
const NO: &str = "https://a.example/no/";

fn with_evaluator<T>(ask: impl FnOnce(&Evaluator<'_>, &Store) -> T) -> T {
    let mut builder = Builder::new(RFC9309);
    builder.add_name("a.example", Record::body(b"User-agent: *\nDisallow: /no/\n".to_vec())).unwrap();
    let store = builder.finish().unwrap().open().unwrap();
    ask(&Evaluator::new(&store, vec![Agent::token("AnyBot").unwrap()]), &store)
}

/// A file of these octets, open.
fn opened(octets: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(octets).unwrap();
    file
}

fn input(octets: &[u8]) -> ParquetInput {
    ParquetInput::open(opened(octets)).unwrap()
}

/// The octets of a file of a batch.
fn written(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut octets = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut octets, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    octets
}

/// A column of URLs, and columns to carry.
fn asked(url_column: Option<&str>, carry: &[&str]) -> TableOptions {
    let carry = carry.iter().map(|&name| name.to_owned()).collect();
    TableOptions { url_column: url_column.map(str::to_owned), carry, ..TableOptions::default() }
}

fn filter(input: &ParquetInput, count: usize) -> Result<Vec<u8>, String> {
    let mut octets = Vec::new();
    with_evaluator(|evaluator, _| {
        let writer = ParquetRowWriter::new(input, &mut octets, threads(count)).map_err(|error| error.to_string())?;
        let mut filter = Filter::new(writer, Require::All, Undecided::Drop);
        let mut rows = ParquetRows::new(input, &TableOptions::default()).map_err(|error| error.to_string())?;
        run(&mut rows, evaluator, &mut filter, threads(count)).map_err(|error| error.to_string())?;
        filter.finish().map_err(|error| error.to_string())
    })?;
    Ok(octets)
}

fn read(octets: &[u8]) -> RecordBatch {
    let reader = ParquetRecordBatchReaderBuilder::try_new(opened(octets)).unwrap();
    let schema = reader.schema().clone();
    concat_batches(&schema, &reader.build().unwrap().map(Result::unwrap).collect::<Vec<_>>()).unwrap()
}

/// URLs of which those pass whose bit is set.
fn urls(passes: &[bool]) -> StringArray {
    passes.iter().enumerate().map(|(row, passes)| Some(format!("{}{row}", if *passes { YES } else { NO }))).collect()
}

/// Columns of most types that Arrow and Parquet share, some of them deep.
fn all_types(rows: usize) -> Vec<(&'static str, ArrayRef)> {
    let some = |row: usize| row % 7 != 3;
    let texts: StringArray = (0..rows).map(|row| some(row).then(|| format!("text {} {}", row % 50, "x".repeat(row % 90)))).collect();
    let ids: Int64Array = (0..rows as i64).map(|row| Some(row * 1_000_003 % 65_537)).collect();
    let lengths = (0..rows).map(|row| row % 4);
    let offsets = OffsetBuffer::<i32>::from_lengths(lengths);
    let items = *offsets.last().unwrap() as usize;
    let fields = Fields::from(vec![Field::new("number", DataType::Int32, true), Field::new("octets", DataType::Binary, false)]);
    let numbers: Int32Array = (0..items).map(|item| some(item).then_some(item as i32)).collect();
    let octets: BinaryArray = (0..items).map(|item| Some(vec![item as u8; item % 5])).collect();
    let nulls: NullBuffer = (0..items).map(|item| item % 11 != 2).collect::<Vec<_>>().into();
    let structs = StructArray::new(fields.clone(), vec![Arc::new(numbers), Arc::new(octets)], Some(nulls));
    let field = Arc::new(Field::new("element", DataType::Struct(fields), true));
    let list_nulls: NullBuffer = (0..rows).map(some).collect::<Vec<_>>().into();
    let lists = ListArray::new(field, offsets, Arc::new(structs), Some(list_nulls));
    let decimals: Decimal128Array = (0..rows).map(|row| some(row).then_some(row as i128 * 1_000_000_007)).collect();
    let small: Decimal128Array = (0..rows).map(|row| Some(row as i128 % 1000)).collect();
    let words: DictionaryArray<Int32Type> = (0..rows).map(|row| some(row).then_some(["red", "green", "blue"][row % 3])).collect();
    vec![
        ("text", Arc::new(texts)),
        ("id", Arc::new(ids)),
        ("list", Arc::new(lists)),
        ("decimal", Arc::new(decimals.with_precision_and_scale(38, 4).unwrap())),
        ("small", Arc::new(small.with_precision_and_scale(6, 2).unwrap())),
        ("word", Arc::new(words)),
        ("truth", Arc::new((0..rows).map(|row| some(row).then_some(row % 3 == 0)).collect::<BooleanArray>())),
        ("number", Arc::new((0..rows).map(|row| some(row).then_some(row as f64 / 3.0)).collect::<Float64Array>())),
        ("unsigned", Arc::new((0..rows).map(|row| Some(u64::MAX - row as u64)).collect::<UInt64Array>())),
        (
            "time",
            Arc::new((0..rows).map(|row| some(row).then_some(row as i64)).collect::<TimestampMicrosecondArray>().with_timezone("UTC")),
        ),
        ("digest", Arc::new(FixedSizeBinaryArray::try_from_iter((0..rows).map(|row| [(row % 200) as u8; 16])).unwrap())),
        ("nothing", Arc::new(NullArray::new(rows))),
        ("never", Arc::new(StringArray::new_null(rows))),
    ]
}

fn table(passes: &[bool]) -> RecordBatch {
    let mut columns: Vec<(&str, ArrayRef)> = vec![("url", Arc::new(urls(passes)))];
    columns.extend(all_types(passes.len()));
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let schema = batch.schema().as_ref().clone().with_metadata(HashMap::from([("made by".to_owned(), "a test".to_owned())]));
    batch.with_schema(Arc::new(schema)).unwrap()
}

/// Row groups of 1000 rows: one that passes, one that does not, one with every third row, one with a single row, one with all but one, and one of 500 rows.
fn mixed() -> Vec<bool> {
    let passes = |row: usize| match row / 1000 {
        0 => true,
        1 => false,
        2 => row % 3 < 1,
        3 => row == 3999,
        4 => row != 4000,
        _ => row % 100 < 50,
    };
    (0..5500).map(passes).collect()
}

fn settings() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(300)
        .set_write_batch_size(100)
        .set_key_value_metadata(Some(vec![KeyValue::new("key".to_owned(), "value".to_owned()), KeyValue::new("empty".to_owned(), None)]))
}

/// The octets of a row group, as they are in the file.
fn octets_of(octets: &[u8], metadata: &ParquetMetaData, row_group: usize) -> Vec<u8> {
    let ranges = metadata.row_group(row_group).columns().iter().map(|chunk| chunk.byte_range());
    ranges.flat_map(|(start, len)| octets[start as usize..][..len as usize].to_vec()).collect()
}

/// What of `before` has to stay in `after`: the schema and what is said of the file and of its columns.
fn assert_same_manner(before: &ParquetMetaData, after: &ParquetMetaData, groups: &[usize]) {
    assert_eq!(before.file_metadata().schema(), after.file_metadata().schema());
    assert_eq!(before.file_metadata().key_value_metadata(), after.file_metadata().key_value_metadata());
    assert_eq!(before.file_metadata().version(), after.file_metadata().version());
    assert_eq!(after.file_metadata().created_by(), Some(&format!("robosieve version {}", env!("CARGO_PKG_VERSION"))[..]));
    assert_eq!(after.num_row_groups(), groups.len());
    for (after, &before_group) in after.row_groups().iter().zip(groups) {
        let before = before.row_group(before_group);
        assert_eq!(before.sorting_columns(), after.sorting_columns());
        for (before, after) in before.columns().iter().zip(after.columns()) {
            let name = before.column_path();
            assert_eq!(before.compression_codec(), after.compression_codec(), "{name}");
            assert_eq!(before.dictionary_page_offset().is_some(), after.dictionary_page_offset().is_some(), "{name}");
            assert_eq!(before.statistics().is_some(), after.statistics().is_some(), "{name}");
            assert_eq!(before.bloom_filter_offset().is_some(), after.bloom_filter_offset().is_some(), "{name}");
            assert_eq!(before.column_index_offset().is_some(), after.column_index_offset().is_some(), "{name}");
            assert_eq!(before.offset_index_offset().is_some(), after.offset_index_offset().is_some(), "{name}");
        }
    }
}

#[test]
fn rows_that_pass_come_back_as_they_were() {
    let passes = mixed();
    let table = table(&passes);
    let expected = filter_record_batch(&table, &BooleanArray::from(passes.clone())).unwrap();
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ];
    for (number, codec) in codecs.into_iter().enumerate() {
        let version = if number % 2 == 0 { WriterVersion::PARQUET_1_0 } else { WriterVersion::PARQUET_2_0 };
        let statistics = [EnabledStatistics::Page, EnabledStatistics::Chunk, EnabledStatistics::None][number % 3];
        let properties = settings()
            .set_compression(codec)
            .set_writer_version(version)
            .set_dictionary_enabled(number % 4 < 2)
            .set_statistics_enabled(statistics)
            .set_bloom_filter_enabled(number % 3 == 0)
            .set_offset_index_disabled(statistics == EnabledStatistics::None)
            .build();
        let octets = written(&table, properties);
        let input = input(&octets);
        assert_eq!(input.row_group_count(), 6);
        let filtered = filter(&input, 1 + number % 3).unwrap();
        assert!(read(&filtered).columns() == expected.columns(), "{codec}");
        assert_eq!(read(&filtered).schema(), read(&octets).schema(), "{codec}");
        let output = self::input(&filtered);
        assert_same_manner(input.metadata(), output.metadata(), &[0, 2, 3, 4, 5]);
        assert_eq!(octets_of(&octets, input.metadata(), 0), octets_of(&filtered, output.metadata(), 0), "{codec}: copied octet for octet");
    }
}

#[test]
fn statistics_and_bloom_filters_are_those_of_the_rows_that_are_left() {
    let passes: Vec<bool> = (0..3000).map(|row| row < 1000 || row % 10 == 5).collect();
    let properties = settings().set_statistics_enabled(EnabledStatistics::Page).set_bloom_filter_enabled(true).build();
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..3000));
    let batch = RecordBatch::try_from_iter([("url", Arc::new(urls(&passes)) as ArrayRef), ("id", ids)]).unwrap();
    let octets = filter(&input(&written(&batch, properties)), 2).unwrap();
    let output = input(&octets);
    let bounds = |group: usize| {
        let statistics = output.metadata().row_group(group).column(1).statistics().unwrap();
        let number = |octets: Option<&[u8]>| i32::from_le_bytes(octets.unwrap().try_into().unwrap());
        (number(statistics.min_bytes_opt()), number(statistics.max_bytes_opt()), statistics.null_count_opt())
    };
    assert_eq!([bounds(0), bounds(1), bounds(2)], [(0, 999, Some(0)), (1005, 1995, Some(0)), (2005, 2995, Some(0))]);
    let builder = ParquetRecordBatchReaderBuilder::try_new(opened(&octets)).unwrap();
    let rows_of = |group: usize| builder.get_row_group_column_bloom_filter(group, 1).unwrap().unwrap();
    assert!(rows_of(0).check(&7i32) && rows_of(1).check(&1005i32) && rows_of(2).check(&2995i32));
    assert!((1000..2000).filter(|id| id % 10 != 5 && rows_of(1).check(id)).count() < 100, "what was left out is not in it");
    // Pages are found by their indexes: a selection of rows skips whole pages.
    let index = output.metadata().offset_index().unwrap();
    assert!(index[0][1].page_locations().len() > 1);
    use parquet::arrow::arrow_reader::{ArrowReaderOptions, RowSelection, RowSelector};
    let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
    let selected = ParquetRecordBatchReaderBuilder::try_new_with_options(opened(&octets), options).unwrap();
    let selection = RowSelection::from(vec![RowSelector::skip(1190), RowSelector::select(10)]);
    let batches: Vec<_> = selected.with_row_selection(selection).build().unwrap().map(Result::unwrap).collect();
    let ids: Vec<i32> =
        batches.iter().flat_map(|batch| batch.column(1).as_any().downcast_ref::<Int32Array>().unwrap().values().to_vec()).collect();
    assert_eq!(ids, (0..10).map(|n| 2905 + 10 * n).collect::<Vec<_>>());
}

/// A file as old writers made them: INT96, a list of two levels, field ids, text that is not UTF-8, and a group of two optional levels.
fn old_file(passes: &[bool], rows_in_group: usize) -> Vec<u8> {
    let message = "message old {
        required binary url (UTF8) = 4;
        required int96 seen = 9;
        optional group tags (LIST) = 11 { repeated binary array (UTF8); }
        optional group outer { optional group inner { optional int32 deep (INT_8) = 77; } }
    }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let properties = WriterProperties::builder().set_created_by("an old writer version 1".to_owned()).build();
    let mut octets = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut octets, schema, Arc::new(properties)).unwrap();
    for (group, passes) in passes.chunks(rows_in_group).enumerate() {
        let mut rows = writer.next_row_group().unwrap();
        let mut column_number = 0;
        while let Some(mut column) = rows.next_column().unwrap() {
            match column.untyped() {
                ColumnWriter::ByteArrayColumnWriter(writer) if column_number == 0 => {
                    let url = |(row, passes): (usize, &bool)| {
                        let mut url = format!("{}{}-", if *passes { YES } else { NO }, group * rows_in_group + row).into_bytes();
                        url.push(0xff);
                        ByteArray::from(url)
                    };
                    writer.write_batch(&passes.iter().enumerate().map(url).collect::<Vec<_>>(), None, None).unwrap();
                }
                ColumnWriter::Int96ColumnWriter(writer) => {
                    let mut times = vec![Int96::new(); passes.len()];
                    times.iter_mut().enumerate().for_each(|(row, time)| time.set_data(row as u32, 7, 2_440_589));
                    writer.write_batch(&times, None, None).unwrap();
                }
                ColumnWriter::ByteArrayColumnWriter(writer) => {
                    // Null, empty, one, two, three and so on.
                    let (mut values, mut definitions, mut repetitions) = (Vec::new(), Vec::new(), Vec::new());
                    for row in 0..passes.len() {
                        let count = row % 5;
                        definitions.extend(if count < 2 { vec![count as i16] } else { vec![2; count] });
                        repetitions.extend((0..count.max(1)).map(|item| i16::from(item > 0)));
                        values.extend(
                            (0..if count < 2 { 0 } else { count }).map(|item| ByteArray::from(format!("{row}.{item}").into_bytes())),
                        );
                    }
                    writer.write_batch(&values, Some(&definitions), Some(&repetitions)).unwrap();
                }
                ColumnWriter::Int32ColumnWriter(writer) => {
                    let definitions: Vec<i16> = (0..passes.len()).map(|row| row as i16 % 4).collect();
                    let values: Vec<i32> = (0..passes.len() as i32).filter(|row| row % 4 == 3).map(|row| row % 100).collect();
                    writer.write_batch(&values, Some(&definitions), None).unwrap();
                }
                _ => panic!("a column of another type"),
            }
            column.close().unwrap();
            column_number += 1;
        }
        rows.close().unwrap();
    }
    writer.close().unwrap();
    octets
}

/// All rows of a file below Arrow, as text: URLs that are not UTF-8 too.
fn records(octets: &[u8]) -> Vec<String> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let reader = SerializedFileReader::new(opened(octets)).unwrap();
    let mut rows = Vec::new();
    for group in 0..reader.num_row_groups() {
        let group_reader = reader.get_row_group(group).unwrap();
        let count = group_reader.metadata().num_rows() as usize;
        let mut columns: Vec<Vec<String>> = Vec::new();
        for column in 0..group_reader.num_columns() {
            columns.push(column_records(group_reader.get_column_reader(column).unwrap(), count));
        }
        rows.extend((0..count).map(|row| columns.iter().map(|column| column[row].clone()).collect::<Vec<_>>().join(" | ")));
    }
    rows
}

/// Each record of a column: its levels and values.
fn column_records(reader: parquet::column::reader::ColumnReader, count: usize) -> Vec<String> {
    use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
    use parquet::data_type::DataType;
    fn each<T: DataType>(mut reader: ColumnReaderImpl<T>, count: usize) -> Vec<String> {
        let record = |_| {
            let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
            let (records, _, _) = reader.read_records(1, Some(&mut definitions), Some(&mut repetitions), &mut values).unwrap();
            assert_eq!(records, 1);
            format!("{definitions:?} {repetitions:?} {values:?}")
        };
        (0..count).map(record).collect()
    }
    match reader {
        ColumnReader::ByteArrayColumnReader(reader) => each(reader, count),
        ColumnReader::Int96ColumnReader(reader) => each(reader, count),
        ColumnReader::Int32ColumnReader(reader) => each(reader, count),
        _ => panic!("a column of another type"),
    }
}

#[test]
fn what_arrow_does_not_know_stays_too() {
    let passes: Vec<bool> = (0..2000).map(|row| row < 500 || (row >= 1000 && row % 7 < 3)).collect();
    let octets = old_file(&passes, 500);
    let filtered = filter(&input(&octets), 2).unwrap();
    let expected: Vec<String> = records(&octets).into_iter().zip(&passes).filter(|(_, passes)| **passes).map(|(row, _)| row).collect();
    assert_eq!(records(&filtered), expected);
    assert_same_manner(input(&octets).metadata(), input(&filtered).metadata(), &[0, 2, 3]);
    let output = input(&filtered);
    let root = output.metadata().file_metadata().schema();
    assert_eq!(root.get_fields()[1].get_basic_info().id(), 9);
}

#[test]
fn encodings_stay_where_no_dictionary_is() {
    let passes = mixed();
    let encodings = [
        ("url", Encoding::DELTA_BYTE_ARRAY),
        ("text", Encoding::DELTA_LENGTH_BYTE_ARRAY),
        ("id", Encoding::DELTA_BINARY_PACKED),
        ("number", Encoding::BYTE_STREAM_SPLIT),
        ("digest", Encoding::BYTE_STREAM_SPLIT),
        ("truth", Encoding::RLE),
    ];
    let table = table(&passes);
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let mut properties = settings().set_writer_version(version).set_dictionary_enabled(false);
        for (name, encoding) in encodings {
            properties = properties.set_column_encoding(name.into(), encoding);
        }
        let octets = written(&table, properties.build());
        let filtered = filter(&input(&octets), 2).unwrap();
        let expected = filter_record_batch(&table, &BooleanArray::from(passes.clone())).unwrap();
        assert!(read(&filtered).columns() == expected.columns());
        let output = input(&filtered);
        for (name, encoding) in encodings {
            for group in output.metadata().row_groups() {
                let chunk = group.columns().iter().find(|chunk| chunk.column_path().string() == name).unwrap();
                assert!(chunk.encodings().any(|other| other == encoding), "{name}: {:?}", chunk.encodings().collect::<Vec<_>>());
            }
        }
    }
}

#[test]
fn extremes_of_texts_by_writers_that_made_them_wrong_are_not_passed_on() {
    let octets = |created_by: &str| {
        let properties = settings().set_created_by(created_by.to_owned()).build();
        let batch = RecordBatch::try_from_iter([("url", Arc::new(urls(&[true; 10])) as ArrayRef)]).unwrap();
        filter(&input(&written(&batch, properties)), 1).unwrap()
    };
    let has = |created_by: &str| input(&octets(created_by)).metadata().row_group(0).column(0).statistics().is_some();
    assert!(!has("parquet-mr version 1.6.0 (build abc)"));
    assert!(has("parquet-mr version 1.8.1") && has("parquet-mr version 1.12.3 (build abc)") && has("parquet-cpp-arrow version 26.0.0"));
}

#[test]
fn nothing_left_is_a_file_without_rows() {
    let batch = RecordBatch::try_from_iter([("url", Arc::new(urls(&[false; 50])) as ArrayRef)]).unwrap();
    let octets = filter(&input(&written(&batch, settings().build())), 2).unwrap();
    assert_eq!((input(&octets).row_group_count(), read(&octets).num_rows()), (0, 0));
    let again = filter(&input(&octets), 2).unwrap();
    assert_eq!(read(&again).num_rows(), 0);
}

/// The URLs as lists of lines see them; one that is missing is an empty line.
fn lines(urls: &[Option<String>]) -> String {
    urls.iter().map(|url| format!("{}\n", url.as_deref().unwrap_or_default())).collect()
}

#[test]
fn verdicts_are_those_of_lines() {
    let urls: Vec<Option<String>> = (0..20_000)
        .map(|row| match row % 6 {
            0 => None,
            1 => Some(format!("{NO}{row}")),
            2 => Some(format!("http://b.example/{row}")),
            3 => Some("no URL".to_owned()),
            _ => Some(format!("{YES}é/{row}")),
        })
        .collect();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(urls.clone())),
        Arc::new(LargeStringArray::from(urls.clone())),
        Arc::new(StringViewArray::from(urls.clone())),
        Arc::new(urls.iter().map(|url| url.as_ref().map(|url| url.as_bytes())).collect::<BinaryArray>()),
        Arc::new(urls.iter().map(|url| url.as_deref()).collect::<DictionaryArray<Int32Type>>()),
    ];
    let lines = lines(&urls);
    with_evaluator(|evaluator, store| {
        let mut expected = Keep::new(store, true);
        let summary = run(&mut MappedLines::new(lines.as_bytes()), evaluator, &mut expected, threads(1)).unwrap();
        for (number, column) in columns.into_iter().enumerate() {
            let text: ArrayRef = Arc::new(StringArray::from(vec!["beside"; urls.len()]));
            let nested = all_types(urls.len()).remove(2).1;
            let fields = ["text", "nested", "link"].into_iter().zip([text, nested, column]).map(|(name, array)| (name, array, true));
            let batch = RecordBatch::try_from_iter_with_nullable(fields).unwrap();
            let octets =
                written(&batch, settings().set_max_row_group_row_count(Some(7000)).set_dictionary_enabled(number % 2 == 0).build());
            for count in 1..4 {
                let mut rows = ParquetRows::new(&input(&octets), &asked(Some("link"), &["text"])).unwrap();
                let mut found = Keep::new(store, true);
                let own = run(&mut rows, evaluator, &mut found, threads(count)).unwrap();
                assert_eq!((&found.rows, &found.answers), (&expected.rows, &expected.answers), "{number}");
                assert_eq!(own.agents[0].unresolved(), summary.agents[0].unresolved());
            }
        }
    });
}

#[test]
fn a_url_that_is_not_utf8_stops_nothing() {
    let octets = old_file(&[true, false, true], 10);
    with_evaluator(|evaluator, store| {
        let mut rows = ParquetRows::new(&input(&octets), &TableOptions::default()).unwrap();
        let mut kept = Keep::new(store, false);
        run(&mut rows, evaluator, &mut kept, threads(1)).unwrap();
        assert_eq!(kept.rows[0], b"https://a.example/yes/0-\xff");
    });
}

#[test]
fn wrong_columns_are_refused() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("link", Arc::new(urls(&[true, false]))),
        ("id", Arc::new(Int32Array::from(vec![1, 2]))),
        ("key", Arc::new(StringArray::from(vec!["com,example)/a", "com,example)/b"]))),
    ];
    let input = input(&written(&RecordBatch::try_from_iter(columns).unwrap(), settings().build()));
    let error = |column: Option<&str>| ParquetRows::new(&input, &asked(column, &[])).unwrap_err().to_string();
    assert!(error(None).contains("link, id, key"), "{}", error(None));
    assert!(error(Some("address")).contains("no column address"));
    assert!(error(Some("id")).contains("Int32"));
    let carried = ParquetRows::new(&input, &asked(Some("link"), &["dump"])).unwrap_err().to_string();
    assert!(carried.contains("no column dump"), "{carried}");
    with_evaluator(|evaluator, store| {
        let mut rows = ParquetRows::new(&input, &asked(Some("key"), &[])).unwrap();
        let error = run(&mut rows, evaluator, &mut Keep::new(store, false), threads(1)).unwrap_err();
        assert!(matches!(error, RunError::Unit(..)) && error.to_string().contains("SURT"), "{error}");
    });
}

#[test]
fn carried_columns_keep_their_type() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int32Array::from(vec![7, 8]))),
        ("url", Arc::new(urls(&[true, false]))),
        ("word", Arc::new(["a", "b"].into_iter().collect::<DictionaryArray<Int32Type>>())),
    ];
    let input = input(&written(&RecordBatch::try_from_iter(columns).unwrap(), settings().build()));
    let rows = ParquetRows::new(&input, &asked(None, &["word", "url", "id"])).unwrap();
    let fields = rows.carried_fields();
    let types: Vec<String> = fields.iter().map(|field| format!("{}: {}", field.name(), field.data_type())).collect();
    assert_eq!(types, ["word: Dictionary(Int32, Utf8)", "url: Utf8", "id: Int32"]);
}

#[test]
fn files_that_are_none_or_cut_short_are_refused_by_name_of_what_is_wrong() {
    let octets = written(&table(&mixed()), settings().set_bloom_filter_enabled(true).build());
    let error = |octets: &[u8]| ParquetInput::open(opened(octets)).unwrap_err().to_string();
    assert!(error(b"").contains("has 0 octets"));
    assert!(error(b"https://a.example/yes/\n").contains("no Parquet file"));
    assert!(error(b"PARE....PARE").contains("encrypted"));
    for len in [13, 100, octets.len() / 2, octets.len() - 1] {
        assert!(error(&octets[..len]).contains("cut short"), "{}", error(&octets[..len]));
    }
    let mut footer = octets.clone();
    let at = octets.len() - 200;
    footer[at..at + 150].fill(0xee);
    assert!(error(&footer).contains("damaged"), "{}", error(&footer));
    // A part in the middle is missing.
    let missing = [&octets[..octets.len() / 4], &octets[octets.len() / 2..]].concat();
    let result = ParquetInput::open(opened(&missing)).map_err(|error| error.to_string()).and_then(|input| filter(&input, 2));
    assert!(result.as_ref().is_err_and(|error| error.contains("damaged")), "{:?}", result.map(|octets| octets.len()));
}

#[test]
fn a_damaged_page_is_an_error_that_names_its_place_or_other_values() {
    let passes = mixed();
    let table = table(&passes);
    let properties =
        settings().set_compression(Compression::SNAPPY).set_offset_index_disabled(true).set_statistics_enabled(EnabledStatistics::Chunk);
    let octets = written(&table, properties.build());
    let chunks: Vec<(u64, u64)> = input(&octets).metadata().row_groups()[2].columns().iter().map(|chunk| chunk.byte_range()).collect();
    let mut errors = Vec::new();
    for (number, (start, len)) in chunks.into_iter().enumerate() {
        for at in [start, start + 5, start + len / 2, start + len - 1] {
            let mut damaged = octets.clone();
            damaged[at as usize..(start + len).min(at + 8) as usize].iter_mut().for_each(|octet| *octet ^= 0x5a);
            // Nothing marks every octet: some damage decodes to other values.
            errors.extend(filter(&input(&damaged), 2).err().map(|error| (number, error)));
        }
    }
    assert!(errors.len() > 20, "{errors:#?}");
    assert!(errors.iter().all(|(_, error)| error.contains("row group 2") || error.contains("its metadata")), "{errors:#?}");
    assert!(
        errors.iter().any(|(_, error)| error.contains("column digest of row group 2 does not decode: the Parquet file is damaged")),
        "{errors:#?}"
    );
}

#[test]
fn a_file_that_changes_while_it_is_read_is_an_error() {
    let octets = written(&table(&mixed()), settings().build());
    let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&path, &octets).unwrap();
    let open = || ParquetInput::open(File::open(&path).unwrap()).unwrap();
    let shorter = open();
    File::options().write(true).open(&path).unwrap().set_len(octets.len() as u64 / 3).unwrap();
    let error = filter(&shorter, 2).unwrap_err();
    assert!(error.contains("changed while it was read") && error.contains(&format!("{} octets", octets.len())), "{error}");

    std::fs::write(&path, &octets).unwrap();
    let other = open();
    std::thread::sleep(std::time::Duration::from_millis(20)); // longer than a tick of the file system's clock
    let mut file = File::options().read(true).write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(octets.len() as u64 / 2)).unwrap();
    file.write_all(&[0; 64]).unwrap();
    let error = filter(&other, 2).unwrap_err();
    assert!(error.contains("changed while it was read (it was written to)"), "{error}");
    let mut all = Vec::new();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.read_to_end(&mut all).unwrap();
    assert_eq!(all.len(), octets.len());
}

/// Rows of two flat columns and a list of lists.
fn random_table(passes: &[bool], lists: &[Vec<Option<Vec<Option<i32>>>>], texts: &[Option<String>]) -> RecordBatch {
    use arrow::array::{Int32Builder, ListBuilder};
    let mut builder = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    for row in 0..passes.len() {
        for list in &lists[row % lists.len()] {
            match list {
                Some(items) => {
                    items.iter().for_each(|item| builder.values().values().append_option(*item));
                    builder.values().append(true);
                }
                None => builder.values().append(false),
            }
        }
        builder.append(row % 5 != 4);
    }
    let texts: StringArray = (0..passes.len()).map(|row| texts[row * 31 % texts.len()].as_deref()).collect();
    let columns: Vec<(&str, ArrayRef)> =
        vec![("lists", Arc::new(builder.finish())), ("url", Arc::new(urls(passes))), ("text", Arc::new(texts))];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 80, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_filter_is_the_filter_of_arrow(
        passes in prop::collection::vec((any::<bool>(), 1..60usize), 1..40),
        lists in prop::collection::vec(prop::collection::vec(prop::option::of(prop::collection::vec(prop::option::of(0..9i32), 0..4)), 0..4), 1..20),
        texts in prop::collection::vec(prop::option::of("[a-z]{0,12}"), 1..30),
        (in_group, in_page, batch) in (1..500usize, 1..100usize, 1..50usize),
        (dictionary, second, statistics) in (any::<bool>(), any::<bool>(), 0..3usize),
        count in 1..4usize,
    ) {
        let passes: Vec<bool> = passes.into_iter().flat_map(|(passes, times)| std::iter::repeat_n(passes, times)).collect();
        let table = random_table(&passes, &lists, &texts);
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(in_group))
            .set_data_page_row_count_limit(in_page)
            .set_write_batch_size(batch)
            .set_dictionary_enabled(dictionary)
            .set_dictionary_page_size_limit(if statistics == 0 { 64 } else { 1 << 20 })
            .set_writer_version(if second { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 })
            .set_statistics_enabled([EnabledStatistics::None, EnabledStatistics::Chunk, EnabledStatistics::Page][statistics])
            .build();
        let octets = written(&table, properties);
        let filtered = filter(&input(&octets), count).unwrap();
        prop_assert_eq!(read(&filtered), filter_record_batch(&table, &BooleanArray::from(passes)).unwrap());
        let (before, after) = (input(&octets), input(&filtered));
        prop_assert_eq!(before.metadata().file_metadata().schema(), after.metadata().file_metadata().schema());
    }
}

#[test]
fn verdict_columns_are_read_back() {
    let passes: Vec<bool> = (0..20_000).map(|row| row % 3 == 1).collect();
    let notes: ArrayRef = Arc::new((0..20_000).map(|row| Some(format!("note {row}"))).collect::<StringArray>());
    let mut links: Vec<Option<String>> = urls(&passes).iter().map(|url| url.map(str::to_owned)).collect();
    links[5] = None;
    links[6] = Some("no URL".to_owned());
    let columns = [("note", notes.clone()), ("url", Arc::new(StringArray::from(links.clone())) as ArrayRef)];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let input = input(&written(&batch, settings().set_max_row_group_row_count(Some(6000)).build()));
    let octets = with_evaluator(|evaluator, _| {
        let mut rows = ParquetRows::new(&input, &asked(None, &["note"])).unwrap();
        let columns = Columns { with_url: true, carry: rows.carried_fields().to_vec(), ..Columns::default() };
        let mut octets = Vec::new();
        let mut sink = ParquetColumns::new(&mut octets, evaluator, columns).unwrap();
        run(&mut rows, evaluator, &mut sink, threads(2)).unwrap();
        assert_eq!(sink.escaped(), 0);
        sink.finish().unwrap();
        octets
    });
    let table = read(&octets);
    let names: Vec<&str> = table.schema_ref().fields().iter().map(|field| &field.name()[..]).collect();
    assert_eq!(names, ["row", "url", "note", "allow_AnyBot"]);
    assert_eq!(table.column(0).as_ref(), &UInt64Array::from_iter_values(0..20_000) as &dyn Array);
    assert_eq!(table.column(1).as_ref(), &StringArray::from(links) as &dyn Array);
    assert_eq!(table.column(2).as_ref(), notes.as_ref());
    let allow = |row: usize| if row == 5 || row == 6 { None } else { Some(passes[row]) };
    assert_eq!(table.column(3).as_ref(), &(0..20_000).map(allow).collect::<BooleanArray>() as &dyn Array);
    assert_eq!(table.schema_ref().metadata()["robosieve.dialect"], "rfc9309");
    let output = self::input(&octets);
    let pairs = output.metadata().file_metadata().key_value_metadata().unwrap();
    assert!(pairs.iter().any(|pair| pair.key == "robosieve.agents"), "{pairs:?}");
    assert!(pairs.iter().any(|pair| pair.key == "ARROW:schema"), "{pairs:?}");
    assert_eq!(output.metadata().row_group(0).column(0).compression(), Compression::ZSTD(ZstdLevel::default()));
}
