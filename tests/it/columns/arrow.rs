//! Arrow: every form of a URL column, files and streams, what is filtered, what is written, and what damaged files come to.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Cursor, Seek, SeekFrom, Write};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, BooleanArray, DictionaryArray, Int32Array, Int64Array, LargeStringArray, ListBuilder,
    RecordBatchIterator, StringArray, StringBuilder, StringViewArray, StructArray, TimestampMicrosecondArray, UInt16Array,
};
use arrow::compute::{cast, concat_batches, filter_record_batch};
use arrow::datatypes::{
    DataType, Field, Int8Type, Int32Type, Schema, SchemaRef, TimestampMillisecondType, UInt8Type, UInt32Type, UInt64Type,
};
use arrow::ipc::CompressionType;
use arrow::ipc::reader::{FileReader, StreamReader};
use arrow::ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow::record_batch::{RecordBatch, RecordBatchReader};
use proptest::prelude::*;
use tempfile::NamedTempFile;

use robosieve::agent::Agent;
use robosieve::dialect::{GOOGLE, RFC9309};
use robosieve::fetch::Outcome;
use robosieve::io::arrow::{
    ArrowColumns, ArrowRows, Columns, IpcFile, IpcStream, TableForm, TableOptions, UrlArray, UrlBatch, UrlColumns, VerdictReader, evaluate,
    url_columns, url_type,
};
use robosieve::io::filter::{Filter, Require, Undecided};
use robosieve::io::lines::MappedLines;
use robosieve::pipeline::{Carried, Decided, Discard, Evaluator, Sink, Source, Values, run};
use robosieve::store::build::{Builder, Record};
use robosieve::store::{SnapshotTime, Store};
use robosieve::usage::UsageKey;

use crate::pipeline::threads;

const ROBOTS: &[u8] =
    b"User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\nDisallow: /*?id=\nDisallow: /caf\xE9\n\
    Content-Usage: train-ai=n\n";

fn store() -> Store {
    let mut builder = Builder::new(RFC9309);
    builder.add_name("example.com", Record::body(ROBOTS.to_vec())).unwrap();
    builder.add_name("other.example_8080", Record::body(b"User-agent: *\nDisallow: /x\n".to_vec())).unwrap();
    builder.finish().unwrap().open().unwrap()
}

fn agents() -> Vec<Agent> {
    ["AnyBot", "GPTBot"].map(|token| Agent::token(token).unwrap()).to_vec()
}

/// Keeps the verdicts: for each row one a column, true, false, or nothing.
#[derive(Default)]
struct Verdicts(Vec<Vec<Option<bool>>>);

impl Sink for Verdicts {
    fn write(&mut self, decided: &Decided<'_>) -> std::io::Result<()> {
        assert_eq!(decided.first_row(), self.0.len() as u64);
        let bit = |row, column: &robosieve::pipeline::Column| column.resolved.get(row).then(|| column.allow.get(row));
        self.0.extend((0..decided.row_count()).map(|row| decided.columns().iter().map(|column| bit(row, column)).collect()));
        Ok(())
    }
}

fn verdicts<'s>(source: &mut dyn Source<'s>, evaluator: &Evaluator<'s>, count: usize) -> Vec<Vec<Option<bool>>> {
    let mut verdicts = Verdicts::default();
    run(source, evaluator, &mut verdicts, threads(count)).unwrap();
    verdicts.0
}

/// What the list of these URLs comes to, a row without one being an empty line.
fn of_list(urls: &[Option<Vec<u8>>], evaluator: &Evaluator<'_>) -> Vec<Vec<Option<bool>>> {
    let list: Vec<u8> = urls.iter().flat_map(|url| [url.as_deref().unwrap_or_default(), b"\n"].concat()).collect();
    verdicts(&mut MappedLines::new(&list), evaluator, 1)
}

/// By rows, as the others are.
fn by_row(columns: &[BooleanArray]) -> Vec<Vec<Option<bool>>> {
    let bit = |row, column: &BooleanArray| column.is_valid(row).then(|| column.value(row));
    (0..columns[0].len()).map(|row| columns.iter().map(|column| bit(row, column)).collect()).collect()
}

fn texts(urls: &[Option<Vec<u8>>]) -> Vec<Option<&str>> {
    urls.iter().map(|url| url.as_deref().map(|url| std::str::from_utf8(url).unwrap())).collect()
}

/// The same URLs in every type that holds text.
fn every_type(urls: &[Option<Vec<u8>>]) -> Vec<ArrayRef> {
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(BinaryArray::from_iter(urls.iter().map(Option::as_deref)))];
    let plain = arrays[0].clone();
    for data_type in [DataType::LargeBinary, DataType::BinaryView] {
        arrays.push(cast(&plain, &data_type).unwrap());
    }
    if urls.iter().flatten().all(|url| std::str::from_utf8(url).is_ok()) {
        let strings: ArrayRef = Arc::new(StringArray::from(texts(urls)));
        for data_type in [DataType::LargeUtf8, DataType::Utf8View] {
            arrays.push(cast(&strings, &data_type).unwrap());
        }
        let keys = [DataType::Int16, DataType::Int32, DataType::Int64, DataType::UInt16, DataType::UInt32, DataType::UInt64];
        for key in keys {
            arrays.push(cast(&strings, &DataType::Dictionary(Box::new(key), Box::new(DataType::Utf8))).unwrap());
        }
        let views = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8View));
        arrays.push(cast(&strings, &views).unwrap_or_else(|_| strings.clone()));
        arrays.push(strings);
    }
    if let [Some(first), ..] = urls
        && !first.is_empty()
        && urls.iter().all(|url| url.as_ref() == Some(first))
    {
        arrays.push(cast(&plain, &DataType::FixedSizeBinary(first.len() as i32)).unwrap());
    }
    arrays
}

fn table(name: &str, array: &ArrayRef) -> RecordBatch {
    let id: ArrayRef = Arc::new(Int64Array::from_iter_values(0..array.len() as i64));
    let text: ArrayRef = Arc::new(LargeStringArray::from_iter_values((0..array.len()).map(|row| format!("text of {row}"))));
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, false),
        Field::new(name, array.data_type().clone(), true),
        Field::new("text", DataType::LargeUtf8, true),
    ]);
    RecordBatch::try_new(Arc::new(schema), vec![id, array.clone(), text]).unwrap()
}

fn options(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(compression).unwrap()
}

fn file_of(schema: &Schema, batches: &[RecordBatch], compression: Option<CompressionType>) -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    let mut writer = FileWriter::try_new_with_options(file.as_file(), schema, options(compression)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.write_metadata("note", "of the footer");
    writer.finish().unwrap();
    file
}

fn stream_of(schema: &Schema, batches: &[RecordBatch], compression: Option<CompressionType>) -> Vec<u8> {
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), schema, options(compression)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.into_inner().unwrap()
}

/// Cut into batches of so many rows.
fn cut(batch: &RecordBatch, rows: usize) -> Vec<RecordBatch> {
    (0..batch.num_rows()).step_by(rows).map(|at| batch.slice(at, rows.min(batch.num_rows() - at))).collect()
}

fn open(file: &NamedTempFile, options: &TableOptions) -> std::io::Result<IpcFile> {
    IpcFile::open(file.reopen().unwrap(), options)
}

fn whole_rows() -> TableOptions {
    TableOptions { whole_rows: true, ..TableOptions::default() }
}

fn url() -> impl Strategy<Value = Option<Vec<u8>>> {
    let urls: Vec<&[u8]> = vec![
        b"https://example.com/",
        b"https://example.com/private/a",
        b"https://example.com/private/open/and/some/more",
        b"https://example.com/x?id=7",
        b"http://other.example:8080/x",
        b"http://other.example:8080/caf\xC3\xA9",
        b"https://example.com/caf\xE9",
        b"https://unknown.test/",
        b"no url",
        b"",
        b"https://example.com/private/\nb",
        b"https://example.com/robots.txt",
    ];
    prop_oneof![1 => Just(None), 6 => prop::sample::select(urls).prop_map(|url| Some(url.to_vec()))]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_form_gives_what_the_list_gives(
        urls in prop::collection::vec(url(), 1..60),
        valid_utf8 in any::<bool>(),
        before in 0..3_usize,
        rows in 1..40_usize,
        count in 1..4_usize,
        compression in prop::sample::select(vec![None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)]),
    ) {
        // A row of a list ends at its line end.
        let mut urls: Vec<_> = urls.into_iter().filter(|url| !url.as_ref().is_some_and(|url| url.contains(&b'\n'))).collect();
        if valid_utf8 {
            urls.retain(|url| url.as_ref().is_none_or(|url| std::str::from_utf8(url).is_ok()));
        }
        let (store, before) = (store(), before.min(urls.len()));
        let evaluator = Evaluator::new(&store, agents());
        let right = of_list(&urls[before..], &evaluator);
        for array in every_type(&urls) {
            let array = array.slice(before, urls.len() - before);
            let of_array = evaluate(&evaluator, &array).unwrap();
            if !right.is_empty() {
                prop_assert_eq!(&by_row(&of_array), &right, "{}", array.data_type());
            }
            let batch = table("url", &array);
            let batches = cut(&batch, rows);
            let file = file_of(&batch.schema(), &batches, compression);
            for options in [TableOptions::default(), whole_rows()] {
                prop_assert_eq!(&verdicts(&mut open(&file, &options).unwrap(), &evaluator, count), &right, "{}", array.data_type());
                let octets = stream_of(&batch.schema(), &batches, compression);
                let mut stream = IpcStream::new(&octets[..], &options).unwrap();
                prop_assert_eq!(&verdicts(&mut stream, &evaluator, count), &right, "{}", array.data_type());
                // A file is a stream too.
                let mut stream = IpcStream::new(file.reopen().unwrap(), &options).unwrap();
                prop_assert_eq!(&verdicts(&mut stream, &evaluator, count), &right, "{}", array.data_type());
            }
        }
    }

    #[test]
    fn damaged_files_are_errors_or_rows_and_never_more(
        at in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut_at in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
        compression in prop::sample::select(vec![None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)]),
    ) {
        let store = store();
        let evaluator = Evaluator::new(&store, agents());
        let batches = rich_batches(40, 16);
        let file = file_of(&batches[0].schema(), &batches, compression);
        let stream = stream_of(&batches[0].schema(), &batches, compression);
        for (is_file, mut octets) in [(true, std::fs::read(file.path()).unwrap()), (false, stream)] {
            if is_cut {
                octets.truncate(cut_at.index(octets.len()));
            } else {
                at.iter().for_each(|(at, octet)| *at.get_mut(&mut octets) ^= octet);
            }
            for options in [TableOptions::default(), whole_rows()] {
                if is_file {
                    let mut file = NamedTempFile::new().unwrap();
                    file.write_all(&octets).unwrap();
                    if let Ok(mut rows) = open(&file, &options) {
                        let ran = run(&mut rows, &evaluator, &mut Discard, threads(1));
                        prop_assert!(!is_cut, "a file that was cut short is read: {ran:?}");
                    }
                } else if let Ok(mut rows) = IpcStream::new(&octets[..], &options) {
                    _ = run(&mut rows, &evaluator, &mut Discard, threads(1));
                }
            }
        }
    }
}

/// URLs with everything beside them that a table may have.
fn rich_table(rows: usize) -> RecordBatch {
    rich_batches(rows, rows).remove(0)
}

/// The same in batches of so many rows, with one dictionary. They are no slices: a slice of views would be written with the octets of all.
fn rich_batches(rows: usize, step: usize) -> Vec<RecordBatch> {
    let dumps: ArrayRef = Arc::new(StringArray::from(vec!["CC-MAIN-2024-10", "CC-MAIN-2024-18", "a third"]));
    (0..rows).step_by(step).map(|at| rich_batch(at..rows.min(at + step), &dumps)).collect()
}

fn rich_batch(rows: Range<usize>, dumps: &ArrayRef) -> RecordBatch {
    let url = |row: usize| match row % 5 {
        0 => None,
        1 => Some("https://example.com/private/x".to_owned()),
        4 => Some(format!("https://unknown.test/{row}")),
        _ => Some(format!("https://example.com/a-path-that-is-no-inline-view/{row}")),
    };
    let mut tags = ListBuilder::new(StringBuilder::new());
    for row in rows.clone() {
        (0..row % 4).for_each(|tag| tags.values().append_value(format!("tag {tag}")));
        tags.append(row % 7 > 0);
    }
    let keys = rows.clone().map(|row| (row % 4 < 3).then_some((row % 4) as i8)).collect();
    let dump = DictionaryArray::<Int8Type>::new(keys, dumps.clone());
    let day = TimestampMicrosecondArray::from_iter_values(rows.clone().map(|row| row as i64 * 86_400_000_000)).with_timezone("UTC");
    let text = |row: usize| (!row.is_multiple_of(3)).then(|| format!("a text that no view holds by itself, of row {row}"));
    let views: ArrayRef = Arc::new(StringViewArray::from_iter(rows.clone().map(text)));
    let inner = StructArray::from(vec![(Arc::new(Field::new("text", DataType::Utf8View, true)), views.clone())]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(rows.clone().map(|row| row as i64)))),
        ("url", Arc::new(StringArray::from_iter(rows.map(url)))),
        ("tags", Arc::new(tags.finish())),
        ("dump", Arc::new(dump)),
        ("date", Arc::new(day)),
        ("text", views),
        ("inner", Arc::new(inner)),
    ];
    let note = |name: &str| HashMap::from([("note".to_owned(), format!("of {name}"))]);
    let fields: Vec<Field> =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true).with_metadata(note(name))).collect();
    let schema = Schema::new_with_metadata(fields, note("the schema"));
    RecordBatch::try_new(Arc::new(schema), columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

#[test]
fn urls_in_parts_are_put_together() {
    let whole = [
        Some("https://example.com/private/x"),
        Some("http://other.example:8080/x"),
        Some("https://example.com/x?id=7"),
        Some("https://example.com/?"),
        Some("https://example.com"),
        None,
    ];
    let text = |values: [Option<&str>; 6]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let protocol = text([Some("https"), Some("http"), Some("https"), Some("https"), Some("https"), Some("https")]);
    let host = text([Some("example.com"), Some("other.example"), Some("example.com"), Some("example.com"), Some("example.com"), None]);
    let path = text([Some("/private/x"), Some("/x"), Some("/x"), Some("/"), None, Some("/")]);
    let query = text([None, None, Some("id=7"), Some(""), None, None]);
    let number: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(8080), None, Some(-1), None, None]));
    let ports: [ArrayRef; 4] = [
        number.clone(),
        Arc::new(UInt16Array::from(vec![None, Some(8080), None, None, None, None])),
        cast(&number, &DataType::Float64).unwrap(),
        text([None, Some("8080"), Some(""), None, None, None]),
    ];
    let store = store();
    let evaluator = Evaluator::new(&store, agents());
    let urls: Vec<Option<Vec<u8>>> = whole.iter().map(|url| url.map(|url| url.as_bytes().to_vec())).collect();
    let right = of_list(&urls, &evaluator);
    assert_eq!(right[2], [Some(false), Some(false)], "the query counts");
    for port in ports {
        // In another order, and with another column between them.
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("url_query", query.clone(), true),
            ("fetch_time", number.clone(), true),
            ("url_host_name", host.clone(), true),
            ("url_path", path.clone(), true),
            ("url_port", port, true),
            ("url_protocol", protocol.clone(), true),
            ("url_surtkey", host.clone(), true),
        ])
        .unwrap();
        let file = file_of(&batch.schema(), &cut(&batch, 2), None);
        assert_eq!(verdicts(&mut open(&file, &TableOptions::default()).unwrap(), &evaluator, 2), right);
        let mut out = ArrowColumns::file(Vec::new(), &evaluator, Columns { with_url: true, ..Columns::default() }).unwrap();
        run(&mut open(&file, &TableOptions::default()).unwrap(), &evaluator, &mut out, threads(1)).unwrap();
        let (_, batches) = read_file(out.finish().unwrap());
        let urls: Vec<_> =
            batches.iter().flat_map(|batch| batch["url"].as_string::<i32>().iter().map(|url| url.map(str::to_owned))).collect();
        assert_eq!(urls.iter().map(Option::as_deref).collect::<Vec<_>>(), whole);
    }
}

fn read_file(octets: Vec<u8>) -> (SchemaRef, Vec<RecordBatch>) {
    let reader = FileReader::try_new(Cursor::new(octets), None).unwrap();
    (reader.schema(), reader.map(Result::unwrap).collect())
}

fn read_stream(octets: &[u8]) -> (SchemaRef, Vec<RecordBatch>) {
    let reader = StreamReader::try_new(octets, None).unwrap();
    (reader.schema(), reader.map(Result::unwrap).collect())
}

/// Filters `source` into `out`, and gives the rows that have no answer.
fn filter<'s>(
    source: &mut dyn Source<'s>,
    evaluator: &Evaluator<'s>,
    out: ArrowRows<&mut Vec<u8>>,
    form: &TableForm,
    count: usize,
) -> Vec<u8> {
    let mut undecided = Vec::new();
    let mut filter = Filter::new(out, Require::All, Undecided::Write(Box::new(ArrowRows::stream(&mut undecided, form).unwrap())));
    run(source, evaluator, &mut filter, threads(count)).unwrap();
    filter.finish().unwrap();
    undecided
}

#[test]
fn a_filter_leaves_every_column_as_it_is() {
    let store = store();
    let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot").unwrap()]);
    let batch = rich_table(70_000);
    let verdicts = &evaluate(&evaluator, &batch["url"]).unwrap()[0];
    let kept: BooleanArray = verdicts.iter().map(|verdict| Some(verdict == Some(true))).collect();
    let kept = filter_record_batch(&batch, &kept).unwrap();
    let undecided: BooleanArray = verdicts.iter().map(|verdict| Some(verdict.is_none())).collect();
    let undecided = filter_record_batch(&batch, &undecided).unwrap();
    assert_eq!((kept.num_rows(), undecided.num_rows()), (28_000, 28_000));
    for compression in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        for rows in [1_000, 70_000] {
            let batches = rich_batches(70_000, rows);
            let file = file_of(&batch.schema(), &batches, compression);
            let octets = stream_of(&batch.schema(), &batches, compression);
            let mut source = open(&file, &whole_rows()).unwrap();
            let form = source.form();
            assert_eq!(form.compression, compression);
            let mut out = Vec::new();
            let rest = filter(&mut source, &evaluator, ArrowRows::file(&mut out, &form).unwrap(), &form, 2);
            let ratio = out.len() as f64 / file.as_file().metadata().unwrap().len() as f64;
            assert!(ratio < 0.55, "two fifths of the rows take {ratio} of the octets");
            let reader = FileReader::try_new(Cursor::new(&out), None).unwrap();
            assert_eq!(reader.custom_metadata().get("note").map(String::as_str), Some("of the footer"));
            let (schema, batches) = read_file(out);
            assert_eq!(schema, batch.schema());
            assert_eq!(concat_batches(&schema, &batches).unwrap(), kept);
            let (schema, batches) = read_stream(&rest);
            assert_eq!(concat_batches(&schema, &batches).unwrap(), undecided);

            let mut source = IpcStream::new(&octets[..], &whole_rows()).unwrap();
            let form = source.form();
            assert_eq!(form.compression, compression);
            let mut out = Vec::new();
            filter(&mut source, &evaluator, ArrowRows::stream(&mut out, &form).unwrap(), &form, 3);
            let (schema, batches) = read_stream(&out);
            assert_eq!(schema, batch.schema());
            assert_eq!(concat_batches(&schema, &batches).unwrap(), kept);
        }
    }
}

#[test]
fn rows_of_another_table_are_refused() {
    let store = store();
    let evaluator = Evaluator::new(&store, agents());
    let (one, other) = (rich_table(3), table("url", &(Arc::new(StringArray::from(vec!["https://example.com/"])) as ArrayRef)));
    let octets = stream_of(&other.schema(), &[other], None);
    let form = TableForm { schema: one.schema(), compression: None, footer_metadata: Vec::new() };
    for options in [whole_rows(), TableOptions::default()] {
        let mut filter = Filter::new(ArrowRows::stream(Vec::new(), &form).unwrap(), Require::All, Undecided::Drop);
        let mut source = IpcStream::new(&octets[..], &options).unwrap();
        let error = run(&mut source, &evaluator, &mut filter, threads(1)).unwrap_err().to_string();
        assert!(error.contains("not those of the first input"), "{error}");
    }
    let mut filter = Filter::new(ArrowRows::stream(Vec::new(), &form).unwrap(), Require::All, Undecided::Drop);
    let error = run(&mut MappedLines::new(b"https://example.com/\n"), &evaluator, &mut filter, threads(1)).unwrap_err().to_string();
    assert!(error.contains("no record batches"), "{error}");
}

#[test]
fn dictionaries_that_grow_or_change_within_a_stream() {
    let store = store();
    let evaluator = Evaluator::new(&store, agents());
    let all = ["https://example.com/private/x", "https://example.com/", "https://unknown.test/", "https://example.com/x?id=1"];
    let batch_of = |keys: Vec<Option<i32>>, values: &[&str]| {
        let array = DictionaryArray::<Int32Type>::new(keys.into(), Arc::new(StringArray::from(values.to_vec())));
        RecordBatch::try_from_iter_with_nullable([("url", Arc::new(array) as ArrayRef, true)]).unwrap()
    };
    let growing =
        vec![batch_of(vec![Some(0), None, Some(1)], &all[..2]), batch_of(vec![Some(2), Some(0)], &all[..3]), batch_of(vec![Some(3)], &all)];
    let changing = vec![batch_of(vec![Some(0), Some(1)], &all[..2]), batch_of(vec![Some(1), Some(0)], &all[2..]), growing[2].clone()];
    for (batches, handling) in
        [(&growing, DictionaryHandling::Delta), (&growing, DictionaryHandling::Resend), (&changing, DictionaryHandling::Resend)]
    {
        let urls: Vec<Option<Vec<u8>>> = batches
            .iter()
            .flat_map(|batch| {
                let plain = cast(&batch["url"], &DataType::Utf8).unwrap();
                plain.as_string::<i32>().iter().map(|url| url.map(|url| url.as_bytes().to_vec())).collect::<Vec<_>>()
            })
            .collect();
        let right = of_list(&urls, &evaluator);
        let options = options(None).with_dictionary_handling(handling);
        let mut writer = StreamWriter::try_new_with_options(Vec::new(), &batches[0].schema(), options).unwrap();
        batches.iter().for_each(|batch| writer.write(batch).unwrap());
        let octets = writer.into_inner().unwrap();
        for count in [1, 3] {
            let mut source = IpcStream::new(&octets[..], &whole_rows()).unwrap();
            assert_eq!(verdicts(&mut source, &evaluator, count), right);
        }
        // What passes has the dictionary of its time.
        let mut source = IpcStream::new(&octets[..], &whole_rows()).unwrap();
        let form = source.form();
        let mut out = Vec::new();
        filter(&mut source, &Evaluator::new(&store, agents()[..1].to_vec()), ArrowRows::stream(&mut out, &form).unwrap(), &form, 1);
        let kept: Vec<String> = read_stream(&out)
            .1
            .iter()
            .flat_map(|batch| {
                cast(&batch["url"], &DataType::Utf8).unwrap().as_string::<i32>().iter().flatten().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect();
        let pass: Vec<String> = urls
            .iter()
            .zip(&right)
            .filter(|(_, verdicts)| verdicts[0] == Some(true))
            .map(|(url, _)| String::from_utf8(url.clone().unwrap()).unwrap())
            .collect();
        assert_eq!(kept, pass);
    }
    // A file may have more of a dictionary behind the first of it, too.
    let file = NamedTempFile::new().unwrap();
    let options = options(None).with_dictionary_handling(DictionaryHandling::Delta);
    let mut writer = FileWriter::try_new_with_options(file.as_file(), &growing[0].schema(), options).unwrap();
    growing.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
    let right = vec![
        vec![Some(false), Some(false)],
        vec![None, None],
        vec![Some(true), Some(false)],
        vec![None, None],
        vec![Some(false), Some(false)],
        vec![Some(false), Some(false)],
    ];
    assert_eq!(verdicts(&mut open(&file, &TableOptions::default()).unwrap(), &evaluator, 2), right);
}

#[test]
fn columns_that_nobody_needs_are_not_read() {
    let store = store();
    let evaluator = Evaluator::new(&store, agents());
    let urls: ArrayRef = Arc::new(StringArray::from(vec!["https://example.com/"; 100]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["find me: ".repeat(1_000); 100]));
    let batch = RecordBatch::try_from_iter([("text", text.clone()), ("url", urls), ("more", text)]).unwrap();
    let mut octets = std::fs::read(file_of(&batch.schema(), std::slice::from_ref(&batch), None).path()).unwrap();
    // Text that is none any more.
    let places: Vec<usize> = memchr::memmem::find_iter(&octets, "find me").collect();
    places.iter().for_each(|&at| octets[at] = 0xFF);
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&octets).unwrap();
    let error = run(&mut open(&file, &whole_rows()).unwrap(), &evaluator, &mut Discard, threads(1)).unwrap_err().to_string();
    assert!(error.contains("record batch 1 of 1") && error.contains("damaged"), "{error}");
    let right = vec![vec![Some(true), Some(false)]; 100];
    assert_eq!(verdicts(&mut open(&file, &TableOptions::default()).unwrap(), &evaluator, 1), right);
}

#[test]
fn parts_are_small_and_rows_go_on_over_batches() {
    let store = store();
    let evaluator = Evaluator::new(&store, agents());
    let urls: ArrayRef = Arc::new(StringArray::from_iter_values((0..200_000).map(|row| format!("https://example.com/{row}"))));
    let batch = table("url", &urls);
    struct Largest(usize, u64);
    impl Sink for Largest {
        fn write(&mut self, decided: &Decided<'_>) -> std::io::Result<()> {
            assert_eq!(decided.first_row(), self.1);
            self.0 = self.0.max(decided.row_count());
            self.1 += decided.row_count() as u64;
            Ok(())
        }
    }
    let file = file_of(&batch.schema(), &cut(&batch, 150_000), None);
    for options in [TableOptions::default(), whole_rows()] {
        for count in [1, 2] {
            let mut largest = Largest(0, 0);
            run(&mut open(&file, &options).unwrap(), &evaluator, &mut largest, threads(count)).unwrap();
            assert!(largest.0 <= 65_536 && largest.1 == 200_000, "{} {}", largest.0, largest.1);
        }
    }
}

#[test]
fn what_is_no_url_column_is_an_error_that_says_what_to_do() {
    let array: ArrayRef = Arc::new(StringArray::from(vec!["com,example)/path?x", "org,example,www)/"]));
    let surt = table("url", &array);
    let said = |batch: &RecordBatch, url_column: Option<&str>, carry: &[&str]| {
        let options = TableOptions {
            url_column: url_column.map(str::to_owned),
            carry: carry.iter().map(|name| (*name).to_owned()).collect(),
            whole_rows: false,
        };
        let file = file_of(&batch.schema(), std::slice::from_ref(batch), None);
        let store = store();
        let evaluator = Evaluator::new(&store, agents());
        let of_file = open(&file, &options)
            .map_err(|error| error.to_string())
            .and_then(|mut rows| run(&mut rows, &evaluator, &mut Discard, threads(1)).map_err(|error| error.to_string()));
        let octets = stream_of(&batch.schema(), std::slice::from_ref(batch), None);
        let of_stream = IpcStream::new(&octets[..], &options)
            .map_err(|error| error.to_string())
            .and_then(|mut rows| run(&mut rows, &evaluator, &mut Discard, threads(1)).map_err(|error| error.to_string()));
        assert_eq!(of_file, of_stream);
        of_file.unwrap_err()
    };
    assert_eq!(said(&surt, Some("link\x1B[2J"), &[]), "no column link%1B[2J: there are id, url, text");
    assert_eq!(said(&surt, Some("url"), &["date"]), "no column date: there are id, url, text");
    assert!(said(&surt, Some("id"), &[]).starts_with("the column id holds no text but Int64"));
    assert!(said(&surt, None, &[]).contains("the column url holds SURT keys"));
    let renamed = table("url_surtkey", &array);
    assert!(said(&renamed, Some("url_surtkey"), &[]).contains("lose the scheme"));
    let error = said(&renamed, None, &[]);
    assert!(
        error.starts_with("no column url, nor url_protocol, ") && error.ends_with("say which holds the URLs (--url-column)"),
        "{error}"
    );
    assert!(
        said(&table("url_path", &array), None, &[])
            .contains("of a URL's parts url_protocol, url_host_name, url_port, url_query are missing")
    );
    // Of several columns with one name the first counts.
    let twice = Schema::new(vec![Field::new("url", DataType::Utf8, true), Field::new("url", DataType::Int64, true)]);
    assert_eq!(url_columns(&twice, None), Ok(UrlColumns::One(0)));
    // A SURT key among URLs is a bad URL, and no reason to stop.
    let mixed: ArrayRef = Arc::new(StringArray::from(vec!["com,example)/path", "https://example.com/"]));
    let batch = table("url", &mixed);
    let (store, file) = (store(), file_of(&batch.schema(), std::slice::from_ref(&batch), None));
    let evaluator = Evaluator::new(&store, agents());
    let rows = verdicts(&mut open(&file, &TableOptions::default()).unwrap(), &evaluator, 1);
    assert_eq!(rows, [[None, None], [Some(true), Some(false)]]);
}

#[test]
fn what_is_no_arrow_file_is_an_error_that_says_what_it_is() {
    let batch = rich_table(3);
    let stream = stream_of(&batch.schema(), std::slice::from_ref(&batch), None);
    let whole = std::fs::read(file_of(&batch.schema(), std::slice::from_ref(&batch), None).path()).unwrap();
    let said = |octets: &[u8]| {
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(octets).unwrap();
        open(&file, &TableOptions::default()).unwrap_err().to_string()
    };
    assert!(said(&stream).contains("--input-format arrows"));
    assert!(said(b"").contains("empty"));
    assert!(said(b"https://example.com/\n").contains("no Arrow file"));
    assert!(said(b"FEA1xxxxxxxxxxxxxxx").contains("Feather of version 1"));
    for len in [6, 8, 20, 400, whole.len() - 1] {
        assert!(said(&whole[..len]).contains("cut short"), "{len}: {}", said(&whole[..len]));
    }
    let said = |octets: &[u8]| match IpcStream::new(octets, &TableOptions::default()) {
        Ok(mut rows) => {
            let store = store();
            run(&mut rows, &Evaluator::new(&store, agents()), &mut Discard, threads(1)).unwrap_err().to_string()
        }
        Err(error) => error.to_string(),
    };
    assert!(said(b"").contains("empty"));
    assert!(said(b"https://example.com/\n").contains("no Arrow stream"));
    for len in [6, 20, 400, stream.len() - 60] {
        assert!(said(&stream[..len]).contains("cut short"), "{len}: {}", said(&stream[..len]));
    }
}

#[test]
fn a_file_that_is_written_to_while_it_is_read_is_an_error() {
    let store = store();
    let evaluator = Evaluator::new(&store, agents());
    let batches = rich_batches(100, 10);
    type Change = fn(&mut File);
    let changes: [Change; 2] = [
        |file| file.set_len(600).unwrap(),
        |file| {
            file.seek(SeekFrom::End(0)).unwrap();
            file.write_all(b"more").unwrap();
        },
    ];
    for change in changes {
        let file = file_of(&batches[0].schema(), &batches, None);
        let mut source = open(&file, &TableOptions::default()).unwrap();
        change(&mut std::fs::OpenOptions::new().write(true).open(file.path()).unwrap());
        let error = run(&mut source, &evaluator, &mut Discard, threads(2)).unwrap_err().to_string();
        assert!(error.contains("while it was read"), "{error}");
    }
}

/// Policies with times and outcomes, for what explains.
fn dated_store() -> Store {
    let mut builder = Builder::new(RFC9309);
    let mut record = Record::body(ROBOTS.to_vec());
    record.time = SnapshotTime::Observed(1_700_000_000);
    builder.add_name("example.com", record).unwrap();
    builder.add_name("undated.example", Record::body(b"User-agent: *\nDisallow: /x\n".to_vec())).unwrap();
    let mut record = Record::body(Vec::new());
    record.outcome = Outcome::Status(503);
    builder.add_name("gone.example", record).unwrap();
    builder.finish().unwrap().open().unwrap()
}

#[test]
fn all_the_columns_there_are() {
    let store = dated_store();
    let google = store.recompiled(GOOGLE).unwrap();
    let preferences = store.preferences(&UsageKey::new("train-ai").unwrap()).unwrap();
    let evaluator = Evaluator::new(&store, agents()).and_by(&google).and_usage(&preferences);
    let urls = [
        Some("https://example.com/private/x"),
        Some("https://example.com/"),
        Some("https://undated.example/x"),
        Some("https://gone.example/"),
        Some("https://unknown.test/"),
        None,
        Some("https://example.com/robots.txt"),
    ];
    let urls: ArrayRef = Arc::new(StringViewArray::from(urls.to_vec()));
    let batch = table("url", &urls);
    let dump: DictionaryArray<UInt8Type> = ["a", "b", "a", "a", "b", "a", "b"].into_iter().collect();
    let note = HashMap::from([("note".to_owned(), "of dump".to_owned())]);
    let mut fields = batch.schema().fields().to_vec();
    fields.push(Arc::new(Field::new("allow_AnyBot_rfc9309", dump.data_type().clone(), true).with_metadata(note.clone())));
    let mut arrays = batch.columns().to_vec();
    arrays.push(Arc::new(dump.clone()));
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let file = file_of(&batch.schema(), &cut(&batch, 4), None);
    let options = TableOptions { carry: ["allow_AnyBot_rfc9309", "id", "url"].map(str::to_owned).to_vec(), ..TableOptions::default() };
    for count in [1, 2] {
        let mut source = open(&file, &options).unwrap();
        let columns = Columns {
            with_url: true,
            url_type: url_type(source.url_field()),
            files: Some(vec!["urls.arrow".to_owned()]),
            carry: source.carried_fields().to_vec(),
            explain: true,
            ..Columns::default()
        };
        let mut out = ArrowColumns::stream(Vec::new(), &evaluator, columns).unwrap();
        run(&mut source, &evaluator, &mut out, threads(count)).unwrap();
        assert_eq!(out.escaped(), 0);
        let (schema, batches) = read_stream(&out.finish().unwrap());
        let names: Vec<&str> = schema.fields().iter().map(|field| &field.name()[..]).collect();
        assert_eq!(names[..6], ["row", "file", "url", "allow_AnyBot_rfc9309", "id", "url_2"]);
        assert_eq!(names[6..10], ["allow_AnyBot_rfc9309_2", "allow_GPTBot_rfc9309", "allow_AnyBot_google", "allow_GPTBot_google"]);
        assert_eq!(names[10..12], ["usage_train-ai_AnyBot_rfc9309", "usage_train-ai_GPTBot_rfc9309"]);
        assert_eq!(names[12..16], ["reason_AnyBot_rfc9309", "group_AnyBot_rfc9309", "rule_AnyBot_rfc9309", "line_AnyBot_rfc9309"]);
        assert_eq!(names[28..], ["snapshot_digest_rfc9309", "snapshot_time_rfc9309", "snapshot_digest_google", "snapshot_time_google"]);
        assert_eq!(schema.field(2).data_type(), &DataType::Utf8View);
        assert_eq!((schema.field(3).data_type(), schema.field(3).metadata()), (dump.data_type(), &note));
        let all = concat_batches(&schema, &batches).unwrap();
        assert_eq!(&all["url"], &urls);
        assert_eq!(&all["url_2"], &urls);
        assert_eq!(all["row"].as_primitive::<UInt64Type>().values(), &[0, 1, 2, 3, 4, 5, 6]);
        let text = |name: &str| -> Vec<Option<String>> {
            let array = cast(&all[name], &DataType::Utf8).unwrap();
            array.as_string::<i32>().iter().map(|text| text.map(str::to_owned)).collect()
        };
        let texts = |values: [&str; 7]| values.map(|value| (!value.is_empty()).then(|| value.to_owned()));
        assert_eq!(text("file"), texts(["urls.arrow"; 7]));
        assert_eq!(text("allow_AnyBot_rfc9309"), texts(["a", "b", "a", "a", "b", "a", "b"]));
        assert_eq!(text("reason_AnyBot_rfc9309"), texts(["rule", "no-rule", "rule", "fetch-status", "no-policy", "bad-url", "robots-txt"]));
        assert_eq!(text("reason_AnyBot_google")[6], Some("no-rule".to_owned()));
        assert_eq!(text("group_AnyBot_rfc9309"), texts(["*", "*", "*", "", "", "", "*"]));
        assert_eq!(text("group_GPTBot_rfc9309")[0], Some("GPTBot".to_owned()));
        assert_eq!(text("rule_AnyBot_rfc9309"), texts(["/private/", "", "/x", "", "", "", ""]));
        assert_eq!(text("rule_GPTBot_google")[1], Some("/".to_owned()));
        let lines: Vec<Option<u32>> = all["line_AnyBot_rfc9309"].as_primitive::<UInt32Type>().iter().collect();
        assert_eq!(lines, [Some(5), None, Some(2), None, None, None, None]);
        let digests = text("snapshot_digest_rfc9309");
        assert_eq!(digests, text("snapshot_digest_google"));
        let digest = digests[0].as_deref().unwrap();
        assert!(digest.len() == 64 && digest.bytes().all(|octet| octet.is_ascii_hexdigit()), "{digest}");
        assert_eq!((digests[1].as_deref(), &digests[4], &digests[5]), (Some(digest), &None, &None));
        let times: Vec<Option<i64>> = all["snapshot_time_rfc9309"].as_primitive::<TimestampMillisecondType>().iter().collect();
        assert_eq!(times, [Some(1_700_000_000_000), Some(1_700_000_000_000), None, None, None, None, Some(1_700_000_000_000)]);
        let verdicts: Vec<Option<bool>> = all["allow_AnyBot_rfc9309_2"].as_boolean().iter().collect();
        assert_eq!(verdicts, [Some(false), Some(true), Some(false), Some(false), None, None, Some(true)]);
    }
}

#[test]
fn urls_are_written_in_the_type_they_have_and_octets_as_text() {
    let store = store();
    let evaluator = Evaluator::new(&store, agents());
    let urls = [Some(&b"https://example.com/caf\xE9"[..]), None, Some(b"https://example.com/a-rather-long-path")];
    let octets: ArrayRef = Arc::new(BinaryArray::from_iter(urls));
    let written = [Some("https://example.com/caf%E9"), None, Some("https://example.com/a-rather-long-path")];
    for (data_type, wanted) in [
        (DataType::Binary, DataType::Utf8),
        (DataType::LargeBinary, DataType::LargeUtf8),
        (DataType::BinaryView, DataType::Utf8View),
        (DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Binary)), DataType::Utf8),
    ] {
        let batch = table("url", &cast(&octets, &data_type).unwrap());
        let octets = stream_of(&batch.schema(), &[batch], None);
        let mut source = IpcStream::new(&octets[..], &TableOptions::default()).unwrap();
        let columns = Columns { with_url: true, url_type: url_type(source.url_field()), ..Columns::default() };
        assert_eq!(columns.url_type, wanted);
        let mut out = ArrowColumns::file(Vec::new(), &evaluator, columns).unwrap();
        run(&mut source, &evaluator, &mut out, threads(1)).unwrap();
        assert_eq!(out.escaped(), 1);
        let (_, batches) = read_file(out.finish().unwrap());
        let texts = cast(&batches[0]["url"], &DataType::Utf8).unwrap();
        assert_eq!(texts.as_string::<i32>().iter().collect::<Vec<_>>(), written);
    }
}

#[test]
fn a_reader_gets_verdict_columns_behind_its_own() {
    let store = store();
    let preferences = store.preferences(&UsageKey::new("train-ai").unwrap()).unwrap();
    let evaluator = Evaluator::new(&store, agents()).and_usage(&preferences);
    let urls: ArrayRef = Arc::new(StringArray::from_iter((0..20_000).map(|row| match row % 3 {
        0 => None,
        1 => Some("https://example.com/private/x".to_owned()),
        _ => Some(format!("https://example.com/{row}")),
    })));
    let batch = table("allow_AnyBot", &urls);
    let schema = Arc::new(batch.schema().as_ref().clone().with_metadata(HashMap::from([("note".to_owned(), "of the schema".to_owned())])));
    let batch = batch.with_schema(schema.clone()).unwrap();
    let batches = [batch.slice(0, 7), batch.slice(7, 0), batch.slice(7, 19_993)];
    let reader = RecordBatchIterator::new(batches.map(Ok), schema.clone());
    let mut reader = VerdictReader::new(reader, &evaluator, Some("allow_AnyBot"), "allow_").unwrap();
    let schema = reader.schema();
    let names: Vec<&str> = schema.fields().iter().map(|field| &field.name()[..]).collect();
    let own = ["allow_AnyBot_2", "allow_GPTBot", "usage_train-ai_AnyBot", "usage_train-ai_GPTBot"];
    assert_eq!(names, [&["id", "allow_AnyBot", "text"][..], &own].concat());
    assert_eq!(schema.metadata()["note"], "of the schema");
    assert_eq!(schema.metadata()["robosieve.dialect"], "rfc9309");
    let batches: Vec<RecordBatch> = reader.by_ref().map(Result::unwrap).collect();
    assert!(batches.iter().all(|batch| batch.schema() == schema));
    let all = concat_batches(&schema, &batches).unwrap();
    assert_eq!(all.project(&[0, 1, 2]).unwrap().columns(), batch.columns());
    let verdicts = evaluate(&evaluator, &urls).unwrap();
    assert_eq!(all["allow_AnyBot_2"].as_boolean(), &verdicts[0]);
    assert_eq!(all["allow_GPTBot"].as_boolean(), &verdicts[1]);
    let counts = (verdicts[0].true_count(), verdicts[0].false_count(), verdicts[0].null_count());
    assert_eq!(counts, (6_666, 6_667, 6_667));
    assert_eq!(all["usage_train-ai_AnyBot"].as_boolean().false_count(), 6_666);
    let reader = RecordBatchIterator::new([Ok(batch.clone())], batch.schema());
    assert!(VerdictReader::new(reader, &evaluator, None, "allow_").is_err());
}

#[test]
fn no_array_of_another_type_is_evaluated() {
    let store = store();
    let evaluator = Evaluator::new(&store, agents());
    assert!(evaluate(&evaluator, &Int64Array::from(vec![1])).unwrap_err().to_string().contains("no text but Int64"));
    let none = evaluate(&evaluator, &StringArray::from(Vec::<&str>::new())).unwrap();
    assert_eq!((none.len(), none[0].len()), (2, 0));
    let nulls = evaluate(&evaluator, &arrow::array::NullArray::new(3)).unwrap();
    assert_eq!((nulls[0].len(), nulls[0].null_count()), (3, 3));
}

#[test]
fn what_rows_carry_into_texts() {
    let batch = rich_table(8);
    let mut arrays: Vec<ArrayRef> = ["id", "url", "tags", "dump", "date", "inner"].map(|name| batch[name].clone()).to_vec();
    arrays.push(Arc::new(arrow::array::Float64Array::from_iter_values((0..8).map(|row| f64::from(row) / 4.0))));
    arrays.push(Arc::new(BooleanArray::from_iter((0..8).map(|row| Some(row % 2 == 0)))));
    let rows = UrlBatch::new(UrlArray::new(&batch["url"]).unwrap(), batch.clone(), arrays);
    let text = |text: &str| Carried::Text(text.as_bytes().to_vec().into());
    let json = |json: &str| Carried::Json(json.to_owned().into());
    let of_row = |row| (0..8).map(|column| rows.carried(column, row)).collect::<Vec<_>>();
    let date = text("1970-01-06T00:00:00Z");
    let inner = json(r#"{"text":"a text that no view holds by itself, of row 5"}"#);
    let right = [
        Carried::Integer(5),
        Carried::Null,
        json(r#"["tag 0"]"#),
        text("CC-MAIN-2024-18"),
        date,
        inner,
        Carried::Float(1.25),
        Carried::Bool(false),
    ];
    assert_eq!(of_row(5), right);
    assert_eq!(of_row(3)[1], text("https://example.com/a-path-that-is-no-inline-view/3"));
    assert_eq!((&of_row(3)[3], &of_row(3)[5]), (&Carried::Null, &json(r#"{"text":null}"#)));
    assert_eq!((rows.is_null(5), rows.is_null(3), rows.value(5)), (true, false, &b""[..]));
}
