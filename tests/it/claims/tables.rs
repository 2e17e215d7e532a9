//! Tables as text are cut and read as the crates `csv` and `serde_json` read them whole. The input is an octet that says how (see `Way`), and what stands
//! behind the first lines of the table.

use std::borrow::Cow;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::LazyLock;

use robosieve::agent::Agent;
use robosieve::dialect::RFC9309;
use robosieve::io::csv::{CsvOptions, CsvRows, Malformed};
use robosieve::io::jsonl::{JsonOptions, JsonRows};
use robosieve::pipeline::{Carried, Decided, Evaluator, Sink, Source, run};
use robosieve::store::Store;
use robosieve::store::build::Builder;

/// How the input is read, by the bits of an octet.
#[derive(Debug, Clone, Copy)]
pub struct Way(pub u8);

impl Way {
    fn format(self) -> u8 {
        self.0 & 3
    }

    fn is_streamed(self) -> bool {
        self.0 & 4 != 0
    }

    /// From one octet on, so that every record is cut by itself; up to all at once.
    fn stretch_len(self) -> usize {
        [1, 2, 3, 5, 8, 13, 21, 1000][usize::from(self.0 >> 3 & 7)]
    }

    /// Which first lines there are.
    fn variant(self) -> usize {
        usize::from(self.0 >> 6)
    }
}

pub fn check(input: &[u8]) {
    let Some((&way, rest)) = input.split_first() else { return };
    let way = Way(way);
    match way.format() {
        0 => check_csv(way, b',', true, rest),
        1 => check_csv(way, b'\t', true, rest),
        2 => check_csv(way, b';', false, rest),
        _ => check_json(way, rest),
    }
}

/// What came out of a row.
#[derive(Debug, PartialEq)]
pub struct Row {
    pub url: Vec<u8>,
    pub is_null: bool,
    pub record: Vec<u8>,
    pub carried: Carried<'static>,
}

/// The rows of a source, with the first of what they carry.
pub fn rows<'s>(source: &mut dyn Source<'s>, threads: usize) -> Vec<Row> {
    struct Keep(Vec<Row>);
    impl Sink for Keep {
        fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
            let values = decided.values().expect("a table has values");
            for row in 0..decided.row_count() {
                assert_eq!(decided.row(row), values.value(row));
                assert_eq!(decided.line(row), values.record(row));
                let carried = match values.carried(0, row) {
                    Carried::Text(text) => Carried::Text(Cow::Owned(text.into_owned())),
                    Carried::Json(text) => Carried::Json(Cow::Owned(text.into_owned())),
                    Carried::Null => Carried::Null,
                    Carried::Bool(truth) => Carried::Bool(truth),
                    Carried::Integer(number) => Carried::Integer(number),
                    Carried::Float(number) => Carried::Float(number),
                };
                self.0.push(Row {
                    url: values.value(row).to_vec(),
                    is_null: values.is_null(row),
                    record: values.record(row).to_vec(),
                    carried,
                });
            }
            Ok(())
        }
    }
    static NOTHING: LazyLock<Store> = LazyLock::new(|| Builder::new(RFC9309).finish().unwrap().open().unwrap());
    let evaluator = Evaluator::new(&NOTHING, vec![Agent::token("*").unwrap()]);
    let mut keep = Keep(Vec::new());
    let summary = run(source, &evaluator, &mut keep, NonZeroUsize::new(threads).unwrap()).unwrap();
    assert_eq!(summary.rows, keep.0.len() as u64);
    keep.0
}

/// A reader that gives a few octets at a time.
pub struct Trickle<'a>(pub &'a [u8]);

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.0.len().min(buffer.len()).min(7);
        buffer[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        Ok(len)
    }
}

/// The line of the octet at `at`.
fn line_of(text: &[u8], at: usize) -> u64 {
    1 + text[..at].iter().filter(|octet| **octet == b'\n').count() as u64
}

fn is_line_end(octet: &u8) -> bool {
    matches!(octet, b'\n' | b'\r')
}

fn check_csv(way: Way, delimiter: u8, quoting: bool, rest: &[u8]) {
    let part = char::from(delimiter);
    // The last one has nothing behind it but blank lines.
    let heads = ["url\n".to_owned(), format!("id{part}url\r\n"), format!("\u{FEFF}{part}x{part}url\r"), "url\n\r\n".to_owned()];
    let (head, url_at) = (&heads[way.variant()], [0, 1, 2, 0][way.variant()]);
    let text = [head.as_bytes(), rest].concat();
    let carry = vec!["url".to_owned()];
    let options = CsvOptions { delimiter, quoting, stretch_len: way.stretch_len(), carry, ..CsvOptions::default() };
    let source = match way.is_streamed() {
        true => CsvRows::streamed(Trickle(&text), &options),
        false => CsvRows::mapped(&text, &options),
    };
    let mut source = match source {
        Ok(source) => source,
        Err(error) => return assert!(error.to_string().contains("SURT"), "{error}"),
    };
    let mut pos = source.header().len();
    assert_eq!(source.header(), &text[..pos]);
    assert!(source.header().iter().rev().take_while(|octet| is_line_end(octet)).count() <= 2);
    let found = rows(&mut source, 1);

    let mut builder = csv::ReaderBuilder::new();
    builder.flexible(true).delimiter(delimiter).quoting(quoting).has_headers(false);
    let right: Vec<csv::ByteRecord> = builder.from_reader(&text[..]).into_byte_records().skip(1).map(|record| record.unwrap()).collect();
    assert_eq!(found.len(), right.len());
    let mut malformed = Malformed::default();
    for (row, right) in found.iter().zip(&right) {
        let url = right.get(url_at).unwrap_or_default();
        assert_eq!((&row.url[..], row.is_null), (url, url.is_empty()));
        assert_eq!(row.carried, if url.is_empty() { Carried::Null } else { Carried::Text(url.to_vec().into()) });
        // Records follow each other with nothing but blank lines between them, and each says the same alone.
        pos += text[pos..].iter().take_while(|octet| is_line_end(octet)).count();
        assert!(text[pos..].starts_with(&row.record) && !row.record.is_empty(), "record at {pos}");
        let again: Vec<csv::ByteRecord> =
            builder.from_reader(io::Read::chain(&b"\n"[..], &row.record[..])).into_byte_records().map(|record| record.unwrap()).collect();
        assert_eq!(again, std::slice::from_ref(right));
        if right.len() <= url_at {
            malformed.rows += 1;
            malformed.first_line.get_or_insert(line_of(&text, pos));
        }
        pos += row.record.len();
    }
    assert!(text[pos..].iter().all(is_line_end), "nothing is left behind the last record");
    assert_eq!(source.malformed(), malformed);
    assert!(quoting || source.notes().is_empty(), "{:?}", source.notes());
}

fn check_json(way: Way, rest: &[u8]) {
    let paths = ["url", "m.url", "a.b.c", "url"];
    let heads = ["{\"url\":null}\n", "{\"m\":{\"url\":null}}\n", "\u{FEFF}{\"a.b\":{\"c\":null}}\n", "\n{\"\\u0075rl\":\"x\"}\r\n"];
    let (path, head) = (paths[way.variant()], heads[way.variant()]);
    let text = [head.as_bytes(), rest].concat();
    let options = JsonOptions { url_column: Some(path.to_owned()), carry: vec![path.to_owned()], stretch_len: way.stretch_len() };
    let source = match way.is_streamed() {
        true => JsonRows::streamed(Trickle(&text), &options),
        false => JsonRows::mapped(&text, &options),
    };
    let mut source = match source {
        Ok(source) => source,
        Err(error) => return assert!(error.to_string().contains("SURT"), "{error}"),
    };
    let found = rows(&mut source, 1);
    let lines: Vec<&[u8]> = text.split_inclusive(|octet| *octet == b'\n').collect();
    assert_eq!(found.len(), lines.len());
    let (mut malformed, mut unclear) = (0, 0);
    for (index, (row, line)) in found.iter().zip(&lines).enumerate() {
        assert_eq!(row.record, *line);
        let line = if index == 0 { line.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(line) } else { line };
        let is_null = |row: &Row| row.url.is_empty() && row.is_null;
        match serde_json::from_slice::<serde_json::Value>(line) {
            Ok(value) => {
                let right = at_path(&value, path);
                match right {
                    Some(serde_json::Value::String(url)) => assert_eq!((&row.url[..], row.is_null), (url.as_bytes(), false)),
                    _ => assert!(is_null(row), "{row:?}"),
                }
                malformed += u64::from(!right.is_some_and(|value| value.is_string() || value.is_null()));
                check_carried(&row.carried, right);
            }
            // Not even its parts are sound.
            Err(_) if serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err() => {
                assert!(is_null(row), "{row:?}");
                assert_eq!(row.carried, Carried::Null);
                malformed += 1;
            }
            // What is wrong may lie where nobody looks: half a character in another text, a number beyond all bounds.
            Err(_) => unclear += 1,
        }
    }
    let counted = source.malformed();
    assert!((malformed..=malformed + unclear).contains(&counted.rows), "{counted:?}");
    assert_eq!(counted.first_line.is_some(), counted.rows > 0);
}

/// What a path leads to: of the keys that begin it the longest.
fn at_path<'v>(value: &'v serde_json::Value, path: &str) -> Option<&'v serde_json::Value> {
    let object = value.as_object()?;
    let ends = std::iter::once(path.len()).chain(path.rmatch_indices('.').map(|(at, _)| at));
    let (end, value) = ends.filter_map(|end| Some((end, object.get(&path[..end])?))).next()?;
    if end == path.len() { Some(value) } else { at_path(value, &path[end + 1..]) }
}

fn check_carried(carried: &Carried<'_>, right: Option<&serde_json::Value>) {
    use serde_json::Value;
    match (carried, right) {
        (Carried::Null, None | Some(Value::Null)) => {}
        (Carried::Bool(truth), Some(Value::Bool(right))) => assert_eq!(truth, right),
        (Carried::Integer(number), Some(Value::Number(right))) => {
            assert!(right.as_i128() == Some(*number) || right.as_f64() == Some(*number as f64), "{number} {right}");
        }
        // serde_json rounds numbers with many digits less exactly.
        (Carried::Float(number), Some(Value::Number(right))) => {
            let right = right.as_f64().unwrap();
            assert!((number - right).abs() <= right.abs() * 1e-15, "{number} {right}");
        }
        (Carried::Text(text), Some(Value::String(right))) => assert_eq!(&text[..], right.as_bytes()),
        (Carried::Json(json), Some(right @ (Value::Array(_) | Value::Object(_)))) => {
            assert_eq!(serde_json::from_str::<Value>(json).unwrap(), *right);
        }
        // As it was written, where a float would write it otherwise.
        (Carried::Json(json), Some(Value::Number(right))) => {
            let (number, right) = (json.parse::<f64>().unwrap(), right.as_f64().unwrap());
            assert!((number - right).abs() <= right.abs() * 1e-15, "{json} {right}");
        }
        other => panic!("{other:?}"),
    }
}
