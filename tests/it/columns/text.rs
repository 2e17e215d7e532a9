//! CSV, TSV, JSON lines and compressed files.

use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;

use robosieve::agent::Agent;
use robosieve::dialect::{GOOGLE, RFC9309};
use robosieve::io::compressed::{Compression, Decoder, Encoder};
use robosieve::io::csv::{CsvFilter, CsvOptions, CsvRows, CsvVerdicts, CsvVerdictsOptions, Malformed};
use robosieve::io::directory::add_directory;
use robosieve::io::filter::{Filter, LineWriter, Require, Undecided};
use robosieve::io::jsonl::{JsonOptions, JsonRows};
use robosieve::io::lines::{MappedLines, StreamedLines};
use robosieve::pipeline::{Batch, Carried, Discard, Evaluator, Source, Summary, run};
use robosieve::store::build::{Builder, Record};
use robosieve::store::{SnapshotTime, Store};
use robosieve::usage::UsageKey;

use crate::claims::tables::{self, Trickle, rows};
use crate::corpus;
use crate::pipeline::{Keep, threads};

fn sample(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample").join(file)
}

fn sample_store() -> Store {
    let mut builder = Builder::new(RFC9309);
    add_directory(&mut builder, &sample("robots")).unwrap();
    builder.finish().unwrap().open().unwrap()
}

fn agents() -> Vec<Agent> {
    ["*", "GPTBot", "Googlebot"].map(|token| Agent::token(token).unwrap()).to_vec()
}

fn csv(url_column: &str) -> CsvOptions {
    CsvOptions { url_column: Some(url_column.to_owned()), ..CsvOptions::default() }
}

fn json(url_column: &str) -> JsonOptions {
    JsonOptions { url_column: Some(url_column.to_owned()), ..JsonOptions::default() }
}

/// Texts of what means something to somebody.
fn text(tokens: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop::sample::select(tokens), 0..40).prop_map(|tokens| tokens.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn tables_with_quotes_are_read_as_the_crate_reads_them(
        way in 0..=255u8,
        text in text(&["\"", "\"", "\"\"", ",", ",", "\t", ";", "\n", "\n", "\r\n", "\r", "a", "http://a.b/", " ", "\u{FEFF}", "é"]),
    ) {
        tables::check(&[&[way], &text[..]].concat());
    }

    #[test]
    fn tables_without_quotes_are_read_as_the_crate_reads_them(
        way in 0..=255u8,
        text in text(&[",", ",", "\t", ";", "\n", "\n", "\r\n", "a", "http://a.b/", " ", "\u{FEFF}"]),
    ) {
        tables::check(&[&[way], &text[..]].concat());
    }

    #[test]
    fn objects_are_read_as_the_crate_reads_them(
        way in any::<u8>(),
        text in text(&[
            "{", "}", "{\"url\":", "{\"m\":", "{\"a.b\":{", "\"a\":{\"b.c\":", "\"b\":{\"c\":", "\"url\":", "\"m.url\":", "\"http://a.b/\"", "\"\\u00e9\\\"\"",
            "\"\\ud800\"", "null", "true", "-1.5e3", "18446744073709551616", "[1,2]", ",", "}\n", "}}\r\n", "\n", " ", "\\", "\u{FEFF}",
        ]),
    ) {
        tables::check(&[&[way | 3], &text[..]].concat());
    }
}

/// The sample's list in another form.
fn table(delimiter: u8, quote_style: csv::QuoteStyle, terminator: csv::Terminator) -> Vec<u8> {
    let list = std::fs::read_to_string(sample("urls.txt")).unwrap();
    let mut out = csv::WriterBuilder::new().delimiter(delimiter).quote_style(quote_style).terminator(terminator).from_writer(Vec::new());
    out.write_record(["id", "url", "text"]).unwrap();
    for (row, url) in list.lines().enumerate() {
        let text = ["plain", "with \"quotes\"", "two\nlines", ",;\t", ""][row % 5];
        out.write_record([&row.to_string(), url, text]).unwrap();
    }
    out.into_inner().unwrap()
}

fn json_lines() -> Vec<u8> {
    let list = std::fs::read_to_string(sample("urls.txt")).unwrap();
    let mut out = Vec::new();
    for (row, url) in list.lines().enumerate() {
        let line = serde_json::json!({ "text": "two\n\"lines\"", "meta": { "id": row, "url": url } }).to_string();
        // As some writers do.
        out.extend(if row % 3 == 0 { line.replace('/', "\\/") } else { line }.into_bytes());
        out.push(b'\n');
    }
    out
}

/// The answers for all rows, and what was counted.
type Answers<'s> = (Keep<'s>, Summary);

fn evaluate<'s>(source: &mut dyn Source<'s>, evaluator: &Evaluator<'s>, count: usize) -> Answers<'s> {
    let mut keep = Keep::new(evaluator.store(), true);
    let summary = run(source, evaluator, &mut keep, threads(count)).unwrap();
    (keep, summary)
}

fn check<'s>(what: &str, source: &mut dyn Source<'s>, evaluator: &Evaluator<'s>, right: &Answers<'s>) {
    let (keep, summary) = evaluate(source, evaluator, 1 + what.len() % 3);
    assert!(keep.rows == right.0.rows && keep.answers == right.0.answers, "{what}");
    assert_eq!(format!("{:?}", summary.agents), format!("{:?}", right.1.agents), "{what}");
}

fn compressed(octets: &[u8], compression: Compression) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), compression).unwrap();
    encoder.write_all(octets).unwrap();
    encoder.finish().unwrap()
}

fn decoded(octets: Vec<u8>, named: Compression) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    Decoder::new(Cursor::new(octets), named)?.read_to_end(&mut out)?;
    Ok(out)
}

#[test]
fn every_format_has_the_verdicts_of_the_list() {
    let store = sample_store();
    let evaluator = Evaluator::new(&store, agents());
    let list = std::fs::read(sample("urls.txt")).unwrap();
    let right = evaluate(&mut MappedLines::new(&list), &evaluator, 1);
    assert!(right.1.agents[0].disallow() > 1000);
    let tables = [
        ("csv", table(b',', csv::QuoteStyle::Necessary, csv::Terminator::Any(b'\n')), CsvOptions::default()),
        ("quoted", table(b',', csv::QuoteStyle::Always, csv::Terminator::CRLF), CsvOptions::default()),
        ("tsv", table(b'\t', csv::QuoteStyle::Necessary, csv::Terminator::CRLF), CsvOptions::tsv()),
    ];
    for (name, text, options) in &tables {
        for stretch_len in [100, 10_000, options.stretch_len] {
            let options = CsvOptions { stretch_len, ..options.clone() };
            check(name, &mut CsvRows::mapped(text, &options).unwrap(), &evaluator, &right);
            check(&format!("{name} streamed"), &mut CsvRows::streamed(&text[..], &options).unwrap(), &evaluator, &right);
        }
    }
    let json = json_lines();
    for stretch_len in [100, 10_000, JsonOptions::default().stretch_len] {
        let options = JsonOptions { stretch_len, ..self::json("meta.url") };
        check("json", &mut JsonRows::mapped(&json, &options).unwrap(), &evaluator, &right);
        check("json streamed", &mut JsonRows::streamed(&json[..], &options).unwrap(), &evaluator, &right);
    }
    for compression in [Compression::None, Compression::Gzip, Compression::Zstd] {
        let decoder = |octets: &[u8]| Decoder::new(Cursor::new(compressed(octets, compression)), compression).unwrap();
        check("a list", &mut StreamedLines::new(decoder(&list)), &evaluator, &right);
        check("json", &mut JsonRows::streamed(decoder(&json), &self::json("meta.url")).unwrap(), &evaluator, &right);
        check("quoted", &mut CsvRows::streamed(decoder(&tables[1].1), &tables[1].2).unwrap(), &evaluator, &right);
    }
}

#[test]
fn real_lists_have_the_same_counts_in_every_format() {
    let Some(list) = corpus::unpacked("urls-gov.txt.zst", "real_lists_have_the_same_counts_in_every_format") else { return };
    let list: Vec<u8> = list.split_inclusive(|octet| *octet == b'\n').take(200_000).collect::<Vec<_>>().concat();
    let store = sample_store();
    let evaluator = Evaluator::new(&store, agents());
    let right = run(&mut MappedLines::new(&list), &evaluator, &mut Discard, threads(1)).unwrap();
    let mut table = csv::Writer::from_writer(Vec::new());
    let (mut json, mut texts) = (Vec::new(), true);
    table.write_record(["url"]).unwrap();
    for line in list.split_inclusive(|octet| *octet == b'\n') {
        let url = line.strip_suffix(b"\n").unwrap_or(line);
        table.write_record([url.strip_suffix(b"\r").unwrap_or(url)]).unwrap();
        texts &= std::str::from_utf8(url).is_ok();
        json.extend(serde_json::json!({ "url": String::from_utf8_lossy(url) }).to_string().into_bytes());
        json.push(b'\n');
    }
    let table = table.into_inner().unwrap();
    let by = |source: &mut dyn Source<'_>| tables::rows(source, 2).len() as u64;
    assert_eq!(by(&mut CsvRows::mapped(&table, &CsvOptions::default()).unwrap()), right.rows);
    let counts = |summary: Summary| format!("{} {:?}", summary.rows, summary.agents);
    let right = counts(right);
    let by_csv = run(&mut CsvRows::mapped(&table, &CsvOptions::default()).unwrap(), &evaluator, &mut Discard, threads(2)).unwrap();
    assert_eq!(counts(by_csv), right);
    let by_json = run(&mut JsonRows::streamed(&json[..], &JsonOptions::default()).unwrap(), &evaluator, &mut Discard, threads(2)).unwrap();
    assert!(!texts || counts(by_json) == right);
    let decoder = Decoder::new(Cursor::new(compressed(&list, Compression::Gzip)), Compression::Gzip).unwrap();
    assert_eq!(counts(run(&mut StreamedLines::new(decoder), &evaluator, &mut Discard, threads(1)).unwrap()), right);
}

/// What a filter keeps that keeps everything, or drops all rows.
fn filtered<'s>(source: &mut dyn Source<'s>, evaluator: &Evaluator<'s>, header: Option<Vec<u8>>, undecided: Undecided<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut filter = match &header {
        Some(header) => Filter::new(CsvFilter::new(&mut out, header), Require::All, undecided),
        None => Filter::new(LineWriter::new(&mut out), Require::All, undecided),
    };
    run(source, evaluator, &mut filter, threads(2)).unwrap();
    filter.finish().unwrap();
    drop(header);
    out
}

#[test]
fn a_filter_gives_records_back_octet_for_octet() {
    let store = Builder::new(RFC9309).finish().unwrap().open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    for (text, end) in [
        (&b"url,x\na,\"b\n\"\"c\"\nd\n"[..], ""),
        (b"\xEF\xBB\xBF\"url\",\"x\ny\"\r\na,\"b\r\n\"\r\n\"d\",e,f\r\nlast", "\r\n"),
        (b"url\ra\r\"b\"\rc", "\r"),
        (b"url\na,\xFF\xFE,\"\"\nb", "\n"),
        (b"url", "\n"),
        (b"url\r\n\"a\nb\",\"never closed\n", ""),
    ] {
        for stretch_len in [1, 7, 1000] {
            let options = CsvOptions { stretch_len, ..CsvOptions::default() };
            let mut source = CsvRows::mapped(text, &options).unwrap();
            let header = source.header().to_vec();
            let all = filtered(&mut source, &evaluator, Some(header.clone()), Undecided::Keep);
            assert_eq!(all, [text, end.as_bytes()].concat(), "{}", text.escape_ascii());
            let mut source = CsvRows::streamed(Trickle(text), &options).unwrap();
            let none = filtered(&mut source, &evaluator, Some(header.clone()), Undecided::Drop);
            assert_eq!(none, [&header[..], if header == text { b"\n" } else { b"" }].concat());
        }
    }
    let text = b"\xEF\xBB\xBF{\"url\":\"a\"}\r\n\n  {\"url\" : null }\nnonsense \xFF\n{\"url\":\"b\"}";
    for stretch_len in [1, 7, 1000] {
        let options = JsonOptions { stretch_len, ..JsonOptions::default() };
        let mut source = JsonRows::streamed(Trickle(text), &options).unwrap();
        assert_eq!(filtered(&mut source, &evaluator, None, Undecided::Keep), [&text[..], b"\n"].concat());
        assert_eq!(source.malformed(), Malformed { rows: 2, first_line: Some(2) });
    }
}

#[test]
fn rows_with_too_few_fields_are_counted() {
    let text = b"id,url\n1,http://a/\n2\n\"3\n3\"\n4,\n5,http://b/,more,fields\n";
    let mut source = CsvRows::mapped(text, &CsvOptions::default()).unwrap();
    let found = rows(&mut source, 1);
    assert_eq!(found.iter().map(|row| &row.url[..]).collect::<Vec<_>>(), [&b"http://a/"[..], b"", b"", b"", b"http://b/"]);
    assert_eq!(source.malformed(), Malformed { rows: 2, first_line: Some(3) });
    assert!(source.notes().is_empty());
}

#[test]
fn columns_are_found_by_name() {
    let error = |text: &[u8], options: &CsvOptions| CsvRows::mapped(text, options).map(drop).unwrap_err().to_string();
    let split = ", nor url_protocol, url_host_name, url_port, url_path, url_query";
    assert_eq!(error(b"id,link\n", &csv("urls")), "no column urls: there are id, link");
    let asks = "say which holds the URLs (--url-column)";
    assert_eq!(error(b"id,li\x1Bnk\n", &CsvOptions::default()), format!("no column url{split}: there are id, li%1Bnk; {asks}"));
    assert!(error(b"https://example.com/a\n", &CsvOptions::default()).ends_with("--input-format lines"));
    assert!(error(b"", &csv("url")).contains("no header"));
    assert!(error(b"\n\r\n", &csv("url")).contains("no header"));
    assert!(error(b"\xFF\xFEu\0r\0l\0", &csv("url")).contains("UTF-16"));
    assert!(error(b"url_surtkey\ncom,example)/a\n", &csv("url_surtkey")).contains("SURT"));
    assert!(error(b"url\n\n\"com,example)/a\"\n\"org,example,www)/\"\n", &csv("url")).contains("SURT"));
    assert!(CsvRows::mapped(b"url\ncom,example)/a\nhttp://example.com/\n", &CsvOptions { delimiter: b';', ..csv("url") }).is_ok());
    let carry = |name: &str| CsvOptions { carry: vec![name.to_owned()], ..CsvOptions::default() };
    assert_eq!(error(b"url,id\n", &carry("dump")), "no column dump: there are url, id");
    let long = [b"\"".to_vec(), b"x".repeat(600 << 10)].concat();
    assert!(error(&long, &csv("url")).contains("header does not end"));
    assert!(error(b"url\n", &CsvOptions { delimiter: b'"', ..csv("url") }).contains("delimiter"));
    let many = (0..100).map(|index| format!("c{index}")).collect::<Vec<_>>().join(",");
    assert!(error(many.as_bytes(), &csv("url")).ends_with("c39, and 60 more"));

    let mut twice = CsvRows::mapped(b"url,id,url\nhttp://a/,7,http://b/\n", &carry("id")).unwrap();
    assert_eq!(twice.notes(), ["2 columns are called url: the first of them is read, field 1"]);
    let found = rows(&mut twice, 1);
    assert_eq!((&found[0].url[..], &found[0].carried), (&b"http://a/"[..], &Carried::Text(b"7"[..].into())));
}

#[test]
fn urls_are_put_together_of_their_parts() {
    let text = b"url_query,url_path,url_port,url_host_name,url_protocol,id\n\
        ,/a,,example.com,https,1\na=b&c,/b,8080,example.com,http,2\n,,,example.org,https,3\n,/x,,,https,4\n,/x,,example.com\n";
    let mut source = CsvRows::mapped(text, &CsvOptions::default()).unwrap();
    let found = rows(&mut source, 1);
    let urls: Vec<&[u8]> = found.iter().map(|row| &row.url[..]).collect();
    assert_eq!(urls, [&b"https://example.com/a"[..], b"http://example.com:8080/b?a=b&c", b"https://example.org", b"", b""]);
    assert_eq!(found.iter().map(|row| row.is_null).collect::<Vec<_>>(), [false, false, false, true, true]);
    assert_eq!(source.malformed(), Malformed { rows: 1, first_line: Some(6) });
}

#[test]
fn a_quote_that_nothing_closes_is_told() {
    let text = b"url,x\nhttp://a/,b\nhttp://b/,\"c\nhttp://c/,d\n";
    for stretch_len in [1, 1000] {
        let options = CsvOptions { stretch_len, ..CsvOptions::default() };
        let mut mapped = CsvRows::mapped(text, &options).unwrap();
        assert_eq!(rows(&mut mapped, 1).len(), 2);
        let mut streamed = CsvRows::streamed(Trickle(text), &options).unwrap();
        assert_eq!(rows(&mut streamed, 2).len(), 2);
        for notes in [mapped.notes(), streamed.notes()] {
            assert_eq!(notes, ["line 3: a quote opens a field that nothing closes: all that follows was read as one record"]);
        }
    }
    let plain = CsvOptions { quoting: false, ..CsvOptions::default() };
    let mut source = CsvRows::mapped(text, &plain).unwrap();
    assert_eq!((rows(&mut source, 1).len(), source.notes().len()), (3, 0));
}

#[test]
fn a_record_without_end_is_an_error() {
    // 300 MiB of a text that never ends its first field.
    let stream = (&b"url,x\nhttp://a/,\""[..]).chain(io::repeat(b'x').take(300 << 20));
    let mut source = CsvRows::streamed(stream, &CsvOptions::default()).unwrap();
    let error = loop {
        match source.next_batch() {
            Ok(batch) => assert!(batch.is_some()),
            Err(error) => break error.to_string(),
        }
    };
    assert!(error.starts_with("line 2: a record does not end within 256 MiB"), "{error}");
}

#[test]
fn keys_are_found_by_name_or_path() {
    let error = |text: &[u8], options: &JsonOptions| JsonRows::mapped(text, options).map(drop).unwrap_err().to_string();
    let text = b"{\"id\":1,\"link\":\"x\"}\n{\"id\":2}\n";
    let asks = "say which holds the URLs (--url-column)";
    assert_eq!(error(text, &JsonOptions::default()), format!("no key url in the first 2 objects: there are id, link; {asks}"));
    assert!(error(text, &json("id.x")).starts_with("no key id.x in the first 2 objects"));
    assert!(error(b" [{\"url\":\"x\"}]", &json("url")).contains("jq -c"));
    assert!(error(b"{\"url\":\"com,example)/\"}\n", &json("url")).contains("SURT"));
    assert!(error(b"{\"url_surtkey\":\"com,example)/\"}\n", &json("url_surtkey")).contains("SURT"));
    assert!(error(b"\xFE\xFF\0{", &json("url")).contains("UTF-16"));
    // Lines that are no objects stop nothing.
    let mut source = JsonRows::mapped(b"http://a/\n\n7\n", &JsonOptions::default()).unwrap();
    assert_eq!(rows(&mut source, 1).len(), 3);
    assert_eq!(source.malformed(), Malformed { rows: 3, first_line: Some(1) });

    let dots = br#"{"a.b":"dots","a":{"b":"path"}}
{"a":{"b":"path"}}
{"a":{"c":1}}
{"a":{"b":7}}
{"a":"b"}
"#;
    let mut source = JsonRows::mapped(dots, &json("a.b")).unwrap();
    let found = rows(&mut source, 1);
    assert_eq!(found.iter().map(|row| &row.url[..]).collect::<Vec<_>>(), [&b"dots"[..], b"path", b"", b"", b""]);
    assert_eq!(source.malformed(), Malformed { rows: 3, first_line: Some(3) });
}

#[test]
fn carried_values_keep_their_type() {
    let text = r#"{"url":"a","x":7}
{"url":"a","x":-170141183460469231731687303715884105728}
{"url":"a","x":1.5}
{"url":"a","x":"t\u00e9xt"}
{"url":"a","x":true}
{"url":"a","x":null}
{"url":"a"}
{"url":"a","x":{"b": [1, 2]}}
{"url":"a","x":"\ud800"}
nonsense
"#;
    let options = JsonOptions { carry: vec!["x".to_owned()], ..JsonOptions::default() };
    let found: Vec<Carried<'_>> =
        rows(&mut JsonRows::mapped(text.as_bytes(), &options).unwrap(), 1).into_iter().map(|row| row.carried).collect();
    let right = [
        Carried::Integer(7),
        Carried::Integer(i128::MIN),
        Carried::Float(1.5),
        Carried::Text("téxt".as_bytes().into()),
        Carried::Bool(true),
        Carried::Null,
        Carried::Null,
        Carried::Json("{\"b\": [1, 2]}".into()),
        Carried::Text(b"\\ud800"[..].into()),
        Carried::Null,
    ];
    assert_eq!(found, right);
}

fn verdicts<'s>(source: &mut dyn Source<'s>, evaluator: &Evaluator<'s>, options: CsvVerdictsOptions) -> (String, u64) {
    let mut sink = CsvVerdicts::new(Vec::new(), evaluator, options).unwrap();
    run(source, evaluator, &mut sink, threads(2)).unwrap();
    let escaped = sink.escaped();
    (String::from_utf8(sink.finish().unwrap()).unwrap(), escaped)
}

fn small_store() -> Store {
    let mut builder = Builder::new(RFC9309);
    let body = b"User-agent: *\nDisallow: /x\nUser-agent: GPTBot\nAllow: /x/=1\nDisallow: /x\nContent-Usage: train-ai=n\n".to_vec();
    builder.add_name("a.example", Record::body(body)).unwrap();
    builder.finish().unwrap().open().unwrap()
}

#[test]
fn verdicts_are_written_as_csv() {
    let store = small_store();
    let google = store.recompiled(GOOGLE).unwrap();
    let preferences = store.preferences(&UsageKey::new("train-ai").unwrap()).unwrap();
    let agents = || ["GPTBot", "*"].map(|token| Agent::token(token).unwrap()).to_vec();
    let evaluator = Evaluator::new(&store, agents()).and_usage(&preferences);
    let text = b"id,url,row,=x\n-1,http://a.example/x,\"=1,2\",\n=2,http://a.example/,b,\n,=cmd,-1e5,@c\n4\n5,http://a.example/\xFF,+1,-\n";
    let carry = ["id", "row", "=x"].map(str::to_owned).to_vec();
    let source = || CsvRows::mapped(text, &CsvOptions { carry: carry.clone(), ..CsvOptions::default() }).unwrap();
    let options = CsvVerdictsOptions { carry: carry.clone(), files: Some(vec!["-list.csv".to_owned()]), ..CsvVerdictsOptions::default() };
    let (out, escaped) = verdicts(&mut source(), &evaluator, options.clone());
    let right = "row,file,url,id,row_2,'=x,allow_GPTBot,allow_any,usage_train-ai_GPTBot,usage_train-ai_any
0,'-list.csv,http://a.example/x,-1,\"'=1,2\",,false,false,,
1,'-list.csv,http://a.example/,'=2,b,,true,true,false,
2,'-list.csv,'=cmd,,-1e5,'@c,,,,
3,'-list.csv,,4,,,,,,
4,'-list.csv,http://a.example/%FF,5,+1,'-,true,true,false,
";
    assert_eq!((&out[..], escaped), (right, 1));
    let (raw, _) = verdicts(&mut source(), &evaluator, CsvVerdictsOptions { raw: true, delimiter: b';', with_url: false, ..options });
    assert!(raw.starts_with("row;file;id;row_2;=x;allow_GPTBot;"), "{raw}");
    assert!(raw.contains("\n0;-list.csv;-1;=1,2;;false;"), "{raw}");

    let both = Evaluator::new(&store, agents()).and_by(&google);
    let options = CsvVerdictsOptions { explain: true, prefix: String::new(), ..CsvVerdictsOptions::default() };
    let (out, _) = verdicts(&mut MappedLines::new(b"http://a.example/x/=1\nhttp://b.example/\n"), &both, options);
    let records: Vec<csv::StringRecord> = csv::Reader::from_reader(out.as_bytes()).into_records().map(|record| record.unwrap()).collect();
    let header: Vec<&str> = out.lines().next().unwrap().split(',').collect();
    let columns = ["GPTBot_rfc9309", "any_rfc9309", "GPTBot_google", "any_google"];
    let mut right: Vec<String> = ["row", "url"].into_iter().chain(columns).map(str::to_owned).collect();
    right.extend(columns.iter().flat_map(|column| {
        ["reason", "group", "rule", "line"].map(|what| {
            let (agent, dialect) = column.split_once('_').unwrap();
            format!("{what}_{agent}_{dialect}")
        })
    }));
    right.extend(
        ["rfc9309", "google"].iter().flat_map(|dialect| ["snapshot_digest", "snapshot_time"].map(|what| format!("{what}_{dialect}"))),
    );
    assert_eq!(header, right);
    let field = |row: usize, name: &str| records[row].get(header.iter().position(|column| *column == name).unwrap()).unwrap();
    assert_eq!([field(0, "GPTBot_rfc9309"), field(0, "any_google"), field(1, "any_google")], ["true", "false", ""]);
    assert_eq!([field(0, "rule_GPTBot_rfc9309"), field(0, "line_GPTBot_rfc9309")], ["/x/=1", "4"]);
    assert_eq!([field(0, "group_GPTBot_google"), field(0, "group_any_google")], ["GPTBot", "*"]);
    assert_eq!([field(1, "reason_any_google"), field(1, "line_any_google"), field(1, "snapshot_digest_google")], ["no-policy", "", ""]);
    assert_eq!((field(0, "snapshot_digest_rfc9309").len(), field(0, "snapshot_time_rfc9309")), (64, ""));
}

#[test]
fn snapshots_have_their_time() {
    let mut builder = Builder::new(RFC9309);
    let mut record = Record::body(b"User-agent: *\nDisallow:\n".to_vec());
    record.time = SnapshotTime::Observed(1_767_225_600);
    builder.add_name("a.example", record).unwrap();
    let store = builder.finish().unwrap().open().unwrap();
    let evaluator = Evaluator::new(&store, vec![Agent::token("*").unwrap()]);
    let options = CsvVerdictsOptions { explain: true, ..CsvVerdictsOptions::default() };
    let (out, _) = verdicts(&mut MappedLines::new(b"http://a.example/\n"), &evaluator, options);
    assert!(out.ends_with(",2026-01-01T00:00:00Z\n"), "{out}");
}

#[test]
fn verdicts_as_csv_have_the_counts_of_the_summary() {
    let store = sample_store();
    let evaluator = Evaluator::new(&store, agents());
    let table = table(b',', csv::QuoteStyle::Always, csv::Terminator::CRLF);
    let options = CsvOptions { carry: vec!["text".to_owned()], stretch_len: 1000, ..CsvOptions::default() };
    let mut sink =
        CsvVerdicts::new(Vec::new(), &evaluator, CsvVerdictsOptions { carry: vec!["text".to_owned()], ..Default::default() }).unwrap();
    let summary = run(&mut CsvRows::mapped(&table, &options).unwrap(), &evaluator, &mut sink, threads(2)).unwrap();
    let out = sink.finish().unwrap();
    let mut counts = [[0; 3]; 3];
    let records = csv::Reader::from_reader(&out[..]).into_records().map(|record| record.unwrap());
    let originals = csv::Reader::from_reader(&table[..]).into_records().map(|record| record.unwrap());
    for (row, (record, original)) in records.zip(originals).enumerate() {
        assert_eq!((&record[0], &record[1], &record[2]), (&row.to_string()[..], &original[1], &original[2]));
        for (count, verdict) in counts.iter_mut().zip(record.iter().skip(3)) {
            count[["true", "false", ""].iter().position(|text| *text == verdict).unwrap()] += 1;
        }
    }
    let right: Vec<[u64; 3]> = summary.agents.iter().map(|tally| [tally.allow, tally.disallow(), tally.unresolved()]).collect();
    assert_eq!(counts[..], right);
}

#[test]
fn all_members_of_a_gzip_are_read_and_padding_is_none() {
    let gzip = |octets: &[u8]| compressed(octets, Compression::Gzip);
    let files = [
        gzip(b"one\ntwo\n"),
        [gzip(b"one\n"), gzip(b""), gzip(b"two\n")].concat(),
        [gzip(b"one\ntwo\n"), vec![0; 100_000]].concat(),
        [gzip(b"one\n"), vec![0; 512], gzip(b"two\n"), vec![0]].concat(),
    ];
    for file in files {
        for named in [Compression::Gzip, Compression::None] {
            assert_eq!(decoded(file.clone(), named).unwrap(), b"one\ntwo\n");
        }
    }
    let many: Vec<u8> = (0..5000).flat_map(|row| gzip(format!("{row}\n").as_bytes())).collect();
    assert_eq!(decoded(many, Compression::Gzip).unwrap().split(|octet| *octet == b'\n').count(), 5001);
    for (behind, what) in [(&b"more"[..], "behind a member"), (b"\0\0more", "behind padding"), (b"\x1F\x8Bmore and more", "header")] {
        let error = decoded([&gzip(b"one\n")[..], behind].concat(), Compression::Gzip).unwrap_err().to_string();
        assert!(error.starts_with("the gzip is damaged near octet ") && error.contains(what), "{error}");
    }
}

#[test]
fn all_frames_of_a_zstd_are_read() {
    let zstd = |octets: &[u8]| compressed(octets, Compression::Zstd);
    let skippable = b"\x5A\x2A\x4D\x18\x05\x00\x00\x00hello".to_vec();
    // A window of 1 GiB, which decoders refuse unless told; a block of octets as they are, the last one.
    let long = b"\x28\xB5\x2F\xFD\x00\xA0\x21\x00\x00two\n".to_vec();
    for file in [
        [zstd(b"one\n"), zstd(b"two\n")].concat(),
        [skippable.clone(), zstd(b"one\n"), skippable.clone(), skippable.clone(), zstd(b""), zstd(b"two\n"), skippable].concat(),
        [zstd(b"one\n"), long].concat(),
    ] {
        for named in [Compression::Zstd, Compression::None] {
            assert_eq!(decoded(file.clone(), named).unwrap(), b"one\ntwo\n");
        }
    }
}

#[test]
fn damaged_files_are_errors_that_say_where() {
    let list = std::fs::read(sample("urls.txt")).unwrap();
    for compression in [Compression::Gzip, Compression::Zstd] {
        let file = compressed(&list, compression);
        for len in [4, 9, 10, 1000, file.len() / 2, file.len() - 5, file.len() - 1] {
            let error = decoded(file[..len].to_vec(), compression).unwrap_err();
            assert_eq!(error.to_string(), format!("the {compression} ends too early, at octet {len}: the file is not whole, get it again"));
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        }
        let mut found = 0;
        for at in (20..file.len()).step_by(file.len() / 50) {
            let mut damaged = file.clone();
            damaged[at] ^= 0x10;
            match decoded(damaged, compression) {
                Ok(octets) => assert!(octets == list, "damage at {at} shows"),
                Err(error) => {
                    found +=
                        u32::from(error.to_string().starts_with(&format!("the {compression} ")) && error.to_string().contains(" octet "))
                }
            }
        }
        assert!(found >= 45, "{found}");
    }
}

#[test]
fn names_that_lie_are_errors() {
    let error = |octets: &[u8], named| decoded(octets.to_vec(), named).unwrap_err().to_string();
    assert!(error(b"https://example.com/\n", Compression::Gzip).starts_with("the name says gzip, and the file is not compressed so"));
    assert!(error(&compressed(b"x", Compression::Zstd), Compression::Gzip).starts_with("the name says gzip, and the file is zstd"));
    assert!(error(&compressed(b"x", Compression::Gzip), Compression::Zstd).starts_with("the name says zstd, and the file is gzip"));
    assert!(error(b"", Compression::Zstd).ends_with("is empty"));
    assert!(error(b"\xFD7zXZ\0\0", Compression::None).contains("xz"));
    assert!(error(b"BZh91AY&SY", Compression::None).contains("bzip2"));
    for plain in [&b""[..], b"x", b"\x1F", b"https://example.com/\n"] {
        assert_eq!(decoded(plain.to_vec(), Compression::None).unwrap(), plain);
    }
}

/// A stream that tells when it is dropped, and fails or panics at its end.
struct Watched(Cursor<Vec<u8>>, Arc<AtomicBool>, &'static str);

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if self.2 == "panic" => panic!("the disk is on fire"),
            0 if self.2 == "error" => Err(io::Error::new(io::ErrorKind::ConnectionReset, "the peer is gone")),
            read => Ok(read),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.1.store(true, Ordering::SeqCst);
    }
}

#[test]
fn what_happens_to_the_stream_comes_through() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        let file = compressed(&b"https://example.com/\n".repeat(200_000), compression);
        let dropped = Arc::new(AtomicBool::new(false));
        let watched = |end| Watched(Cursor::new(file[..file.len() - 8].to_vec()), dropped.clone(), end);
        let mut octets = Vec::new();
        let error = Decoder::new(watched("error"), compression).unwrap().read_to_end(&mut octets).unwrap_err();
        assert_eq!((error.kind(), error.to_string()), (io::ErrorKind::ConnectionReset, "the peer is gone".to_owned()));

        let mut decoder = Decoder::new(watched("panic"), compression).unwrap();
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| decoder.read_to_end(&mut Vec::new()))).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"the disk is on fire"));
        assert_eq!(decoder.read(&mut [0; 10]).unwrap_or(0), 0);
    }
}

#[test]
fn a_decoder_that_nobody_reads_stops() {
    for compression in [Compression::Gzip, Compression::Zstd] {
        let dropped = Arc::new(AtomicBool::new(false));
        let list = b"https://example.com/\n".repeat(1_000_000);
        let watched = Watched(Cursor::new(compressed(&list, compression)), dropped.clone(), "");
        let mut decoder = Decoder::new(watched, compression).unwrap();
        decoder.read_exact(&mut [0; 100]).unwrap();
        std::thread::sleep(Duration::from_millis(50));
        assert!(!dropped.load(Ordering::SeqCst), "it is ahead by a few buffers, not by all");
        drop(decoder);
        let waited = (0..1000).take_while(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !dropped.load(Ordering::SeqCst)
        });
        assert!(waited.count() < 1000, "the thread goes on");
    }
}

#[test]
fn other_tools_read_what_the_encoder_writes() {
    let list = std::fs::read(sample("urls.txt")).unwrap();
    let mut octets = Vec::new();
    flate2::read::GzDecoder::new(&compressed(&list, Compression::Gzip)[..]).read_to_end(&mut octets).unwrap();
    assert!(octets == list);
    assert!(zstd::stream::decode_all(&compressed(&list, Compression::Zstd)[..]).unwrap() == list);
    assert!(compressed(&list, Compression::None) == list);
    // A list that passes a filter in its own compression.
    let store = Builder::new(RFC9309).finish().unwrap().open().unwrap();
    let evaluator = Evaluator::new(&store, agents());
    let mut encoder = Encoder::new(Vec::new(), Compression::Gzip).unwrap();
    let mut filter = Filter::new(LineWriter::new(&mut encoder), Require::All, Undecided::Keep);
    run(&mut StreamedLines::new(Cursor::new(&list)), &evaluator, &mut filter, threads(2)).unwrap();
    filter.finish().unwrap();
    assert!(decoded(encoder.finish().unwrap(), Compression::Gzip).unwrap() == list);
}

#[test]
fn batches_of_nothing_are_none() {
    let end = |source: &mut dyn Source<'_>| source.next_batch().unwrap().map(|batch: Batch<'_>| batch.octets().len());
    assert_eq!(end(&mut CsvRows::mapped(b"url\n", &CsvOptions::default()).unwrap()), None);
    assert_eq!(end(&mut JsonRows::streamed(&b""[..], &JsonOptions::default()).unwrap()), None);
}
