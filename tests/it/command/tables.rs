//! Tables in and out: every format by its name, the same verdicts in each, rows as they came.

use std::io::Cursor;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, Int64Array, StringArray};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::properties::WriterProperties;

use super::*;

const FORMATS: [&str; 7] = ["txt", "csv", "tsv", "jsonl", "arrow", "arrows", "parquet"];

/// The rows of [`URLS`] with a number each, and a row without a URL where the format has such.
fn batch() -> RecordBatch {
    let urls: Vec<&str> = URLS.lines().collect();
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..urls.len() as i64));
    let tokens: ArrayRef = Arc::new(Int64Array::from_iter(urls.iter().map(|url| (!url.ends_with("last")).then_some(url.len() as i64))));
    RecordBatch::try_from_iter([("id", ids), ("url", Arc::new(StringArray::from(urls)) as ArrayRef), ("tokens", tokens)]).unwrap()
}

fn write(format: &str) -> Vec<u8> {
    let (batch, mut out) = (batch(), Vec::new());
    let rows = || {
        batch["id"]
            .as_primitive::<arrow::datatypes::Int64Type>()
            .values()
            .iter()
            .zip(URLS.lines())
            .zip(batch["tokens"].as_primitive::<arrow::datatypes::Int64Type>().iter())
    };
    match format {
        "txt" => out.extend(URLS.as_bytes()),
        "csv" | "tsv" => {
            let part = if format == "csv" { ',' } else { '\t' };
            writeln!(out, "id{part}url{part}tokens").unwrap();
            rows().for_each(|((id, url), tokens)| {
                writeln!(out, "{id}{part}\"{url}\"{part}{}", tokens.map_or(String::new(), |n| n.to_string())).unwrap()
            });
        }
        "jsonl" => rows()
            .for_each(|((id, url), tokens)| writeln!(out, "{}", serde_json::json!({ "id": id, "url": url, "tokens": tokens })).unwrap()),
        "arrow" => {
            let mut writer = FileWriter::try_new(&mut out, batch.schema_ref()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        "arrows" => {
            let mut writer = StreamWriter::try_new(&mut out, batch.schema_ref()).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        "parquet" => {
            let settings = WriterProperties::builder().set_max_row_group_row_count(Some(4)).build();
            let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(settings)).unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
        }
        other => panic!("{other}"),
    }
    out
}

/// The columns of a file of record batches, as one.
fn read(format: &str, octets: Vec<u8>) -> RecordBatch {
    let batches: Vec<RecordBatch> = match format {
        "arrow" => FileReader::try_new(Cursor::new(octets), None).unwrap().map(Result::unwrap).collect(),
        "arrows" => StreamReader::try_new(Cursor::new(octets), None).unwrap().map(Result::unwrap).collect(),
        "parquet" => {
            let octets = bytes::Bytes::from(octets);
            ParquetRecordBatchReaderBuilder::try_new(octets).unwrap().build().unwrap().map(Result::unwrap).collect()
        }
        other => panic!("{other}"),
    };
    arrow::compute::concat_batches(batches[0].schema_ref(), &batches).unwrap()
}

/// With `urls.FORMAT` for each of [`FORMATS`].
fn place() -> Place {
    let place = Place::with_store();
    FORMATS.iter().for_each(|format| place.write(format!("urls.{format}"), write(format)));
    place
}

#[test]
fn every_format_has_the_same_verdicts() {
    let place = place();
    let counts = |list: &str| {
        place.run(&format!("eval store.rsieve {list} --agent A --agent GPTBot --summary-json sum.json")).is(0);
        place.json("sum.json")["agents"].clone()
    };
    let right = counts("urls.txt");
    FORMATS.iter().for_each(|format| assert_eq!(counts(&format!("urls.{format}")), right, "{format}"));
    for (format, threads) in FORMATS.iter().zip([1, 2, 5].into_iter().cycle()) {
        place.write("unnamed", write(format));
        assert_eq!(counts(&format!("unnamed --input-format {} --threads {threads}", format.replace("txt", "lines"))), right, "{format}");
    }
    for format in ["txt", "csv", "tsv", "jsonl", "arrows"] {
        let ran = place.pipe(
            write(format),
            &format!(
                "eval store.rsieve - --input-format {} --agent A --agent GPTBot --summary-json sum.json",
                format.replace("txt", "lines")
            ),
        );
        ran.is(0);
        assert_eq!(place.json("sum.json")["agents"], right, "{format}");
    }
    place.pipe(write("parquet"), "eval store.rsieve - --input-format parquet --agent A").fails(&["standard input", "from its end"]);
    let all = FORMATS.map(|format| format!("urls.{format}")).join(" ");
    assert_eq!(counts(&all)[0]["allow"].as_u64().unwrap(), 7 * right[0]["allow"].as_u64().unwrap());
}

#[test]
fn texts_are_compressed_and_decompressed_by_name() {
    let place = place();
    let plain = place.run("filter store.rsieve urls.csv --agent A").is(0).out;
    for compression in ["gz", "zst"] {
        let run = |line: &str| place.run(line).is(0);
        run(&format!("filter store.rsieve urls.csv --agent A --undecided keep -o all.csv.{compression}"));
        assert!(place.read(&format!("all.csv.{compression}")) != plain);
        assert_eq!(run(&format!("filter store.rsieve all.csv.{compression} --agent A")).out, plain);
        run(&format!("eval store.rsieve all.csv.{compression} --agent A --carry id -o verdicts.jsonl.{compression}"));
        let list = format!("verdicts.jsonl.{compression}");
        assert_eq!(run(&format!("filter store.rsieve {list} --agent A")).objects().len(), 4);
    }
    place.write("wrong.csv.gz", &plain);
    place.run("eval store.rsieve wrong.csv.gz --agent A").fails(&["wrong.csv.gz", "gzip"]);
}

#[test]
fn verdicts_in_every_format() {
    let place = place();
    let objects = place.run("eval store.rsieve urls.txt --agent A -o - --output-format jsonl").is(0).objects();
    for (input, output) in FORMATS[1..].iter().flat_map(|input| ["arrow", "arrows", "parquet"].map(|output| (input, output))) {
        place.run(&format!("eval store.rsieve urls.{input} --agent A --with-url --carry id,tokens --explain -o out.{output}")).is(0);
        let batch = read(output, place.read(&format!("out.{output}")));
        assert_eq!(batch.num_rows() as u64, URL_COUNT, "{input} {output}");
        let strings = |name: &str| arrow::compute::cast(&batch[name], &arrow::datatypes::DataType::Utf8).unwrap();
        let (urls, reasons, rules, ids) = (strings("url"), strings("reason_A"), strings("rule_A"), strings("id"));
        for (row, object) in objects.iter().enumerate() {
            assert_eq!(urls.as_string::<i32>().value(row), object["url"].as_str().unwrap(), "{input} {output}");
            assert_eq!(reasons.as_string::<i32>().value(row), object["reason"].as_str().unwrap());
            let rule = (!object["rule"].is_null()).then(|| object["rule"].as_str().unwrap());
            assert_eq!(rules.as_string::<i32>().iter().nth(row).unwrap(), rule);
            assert_eq!(ids.as_string::<i32>().value(row), row.to_string());
            let allow: &BooleanArray = batch["allow_A"].as_boolean();
            let verdict = allow.iter().nth(row).unwrap().map_or("unresolved", |allow| if allow { "allow" } else { "disallow" });
            assert_eq!(verdict, object["verdict"].as_str().unwrap());
        }
    }
    place.run("eval store.rsieve urls.parquet --agent A --carry id -o out.csv").is(0);
    assert!(place.text("out.csv").starts_with("row,id,allow_A\n0,0,true\n1,1,false\n"), "{}", place.text("out.csv"));
    place.run("eval store.rsieve urls.parquet --agent A --carry id,tokens -o out.jsonl").is(0);
    assert!(place.text("out.jsonl").contains("\"carried\":{\"id\":8,\"tokens\":null}"), "{}", place.text("out.jsonl"));
}

#[test]
fn rows_that_pass_come_back_in_their_format() {
    let place = place();
    let kept = [0, 2, 5, 8];
    for format in FORMATS {
        place.run(&format!("filter store.rsieve urls.{format} --agent A -o kept.{format} --undecided rest.{format}")).is(0);
        if ["arrow", "arrows", "parquet"].contains(&format) {
            let (whole, part) = (batch(), read(format, place.read(&format!("kept.{format}"))));
            assert_eq!(whole.schema(), part.schema(), "{format}");
            for (row, from) in kept.into_iter().enumerate() {
                assert_eq!(part.slice(row, 1), whole.slice(from, 1), "{format}");
            }
            assert_eq!(read(format, place.read(&format!("rest.{format}"))), whole.slice(6, 2), "{format}");
            continue;
        }
        let (whole, part) = (String::from_utf8(write(format)).unwrap(), place.text(&format!("kept.{format}")));
        let header = usize::from(format.ends_with("sv"));
        let expected: Vec<&str> =
            whole.lines().take(header).chain(kept.iter().map(|row| whole.lines().nth(header + row).unwrap())).collect();
        assert_eq!(part.lines().collect::<Vec<_>>(), expected, "{format}");
        assert_eq!(place.text(&format!("rest.{format}")).lines().count(), header + 2, "{format}");
    }
    // A file of which nothing passes is one all the same.
    for format in ["csv", "arrow", "arrows", "parquet"] {
        place
            .run(&format!("filter store.rsieve urls.{format} --agent GPTBot --agent A --origin-fallback www --usage none -o none.{format}"))
            .is(0);
        place.run(&format!("filter store.rsieve none.{format} --agent A")).is(0);
    }
}

#[test]
fn what_a_corpus_is_accounted_for_by() {
    let place = place();
    let sum = |verdicts: &[usize]| {
        URLS.lines()
            .enumerate()
            .filter(|(row, url)| verdicts.contains(row) && !url.ends_with("last"))
            .map(|row| row.1.len() as u64)
            .sum::<u64>()
    };
    for format in ["csv", "jsonl", "arrow", "parquet"] {
        for command in ["eval", "filter"] {
            let output = if command == "filter" { format!("-o kept.{format}") } else { String::new() };
            let ran = place
                .run(&format!(
                    "{command} store.rsieve urls.{format} --agent A --sum tokens --scope registered-domain --summary-json sum.json {output}"
                ))
                .is(0);
            let summary = place.json("sum.json");
            let sums = &summary["agents"][0]["sums"]["tokens"];
            assert_eq!(sums["allow"]["total"], sum(&[0, 2, 5, 8]), "{format}: {}", ran.err);
            assert_eq!(sums["disallow"]["total"], sum(&[1, 3, 4]));
            assert_eq!(sums["disallow"]["rule"], sum(&[1, 3, 4]));
            assert_eq!((&sums["unresolved"]["bad-url"], &sums["unresolved"]["no-policy"]), (&sum(&[7]).into(), &sum(&[6]).into()));
            assert_eq!(summary["sums"]["tokens"], serde_json::json!({ "null": 1, "no_number": 0 }));
            // Of example.com the start page is allowed, of closed.example it is not.
            let domains = &summary["agents"][0]["registered_domains"];
            assert_eq!((&domains["allow"], &domains["disallow"], &domains["unresolved"]), (&5.into(), &2.into(), &2.into()));
            assert_eq!(
                (&domains["disallow_both"], &domains["opted_out"], &summary["registered_domains"]),
                (&1.into(), &1.into(), &2.into())
            );
            assert_eq!(domains["sums"]["tokens"]["disallow"], sum(&[4, 5]));
            if command == "filter" {
                assert_eq!(summary["kept"], 5, "whole domains decide");
            }
        }
    }
    place.run("eval store.rsieve urls.txt --agent A --sum tokens").fails(&["urls.txt", "no column", "tokens"]);
    place.run("eval store.rsieve urls.csv --agent A --sum words").fails(&["urls.csv", "words", "tokens"]);
}

#[test]
fn columns_that_are_not_there() {
    let place = place();
    for format in ["csv", "tsv", "arrow", "arrows", "parquet"] {
        place.run(&format!("eval store.rsieve urls.{format} --agent A --url-column link")).fails(&[
            &format!("urls.{format}"),
            "link",
            "id",
            "tokens",
        ]);
        place
            .run(&format!("eval store.rsieve urls.{format} --agent A --carry words -o out.csv"))
            .fails(&[&format!("urls.{format}"), "words"]);
    }
    place.run("eval store.rsieve urls.jsonl --agent A --url-column link").fails(&["urls.jsonl", "link"]);
    place.run("eval store.rsieve urls.txt --agent A --url-column link").fails(&["urls.txt", "link", "--input-format"]);
    assert!(!place.path("out.csv").exists());
}

#[test]
fn damaged_tables_leave_no_output() {
    let place = place();
    for format in ["arrow", "arrows", "parquet"] {
        let whole = write(format);
        place.write(format!("cut.{format}"), &whole[..whole.len() * 2 / 3]);
        place.run(&format!("filter store.rsieve cut.{format} --agent A -o kept.{format}")).fails(&[&format!("cut.{format}")]);
        place.write(format!("list.{format}"), URLS);
        place.run(&format!("filter store.rsieve list.{format} --agent A -o kept.{format}")).fails(&[&format!("list.{format}")]);
        assert!(!place.path(format!("kept.{format}")).exists());
    }
    place.write(
        "broken.jsonl",
        "{\"url\": \"https://example.com/\"}\n{\"url\": 7}\nnot JSON\n{\"url\": \"https://example.com/private/a\"}\n",
    );
    let ran = place.run("eval store.rsieve broken.jsonl --agent A --summary-json sum.json").is(0);
    assert!(ran.err.contains("broken.jsonl: 2 rows are not as they should be and have no URL, the first at line 2"), "{}", ran.err);
    assert_eq!((&place.json("sum.json")["rows"], &place.json("sum.json")["rows_malformed"]), (&4.into(), &2.into()));
}

#[test]
fn origins_of_tables() {
    let place = place();
    let right = place.run("origins urls.txt").is(0).out;
    FORMATS.iter().for_each(|format| assert_eq!(place.run(&format!("origins urls.{format}")).is(0).out, right, "{format}"));
}

#[test]
fn carried_columns_agree_over_files() {
    let place = place();
    let numbers: ArrayRef = Arc::new(arrow::array::Int8Array::from(vec![1]));
    let urls: ArrayRef = Arc::new(StringArray::from(vec!["https://example.com/"]));
    let other = RecordBatch::try_from_iter([("id", numbers), ("url", urls)]).unwrap();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, other.schema(), None).unwrap();
    writer.write(&other).unwrap();
    writer.close().unwrap();
    place.write("other.parquet", out);
    for (files, output) in
        [("urls.parquet other.parquet", "out.parquet"), ("other.parquet urls.parquet", "out.arrow"), ("urls.arrow urls.csv", "out.arrow")]
    {
        place.run(&format!("eval store.rsieve {files} --agent A --carry id -o {output}")).fails(&["id", "in the first input"]);
        assert!(!place.path(output).exists());
    }
    place.run("eval store.rsieve urls.parquet other.parquet urls.csv --agent A --carry id -o out.csv").is(0);
    assert_eq!(place.text("out.csv").lines().count(), 1 + 9 + 1 + 9);
}

#[test]
fn an_arrow_stream_ends_once() {
    let place = place();
    place.write("two.arrows", [write("arrows"), write("arrows")].concat());
    place.run("eval store.rsieve two.arrows --agent A").fails(&["two.arrows", "more follows behind the end of the stream"]);
}

#[test]
fn a_part_of_a_url_is_no_other_part() {
    let place = place();
    let header = "url_protocol,url_host_name,url_port,url_path,url_query";
    let rows = [
        "https,example.com,,/private/a,",
        "https,,,example.com/a,",
        "https,example.co,,m/a,",
        "https,user@,,example.com/,",
        "https,example.com,443,,x",
    ];
    place.write("parts.csv", format!("{header}\n{}\n", rows.join("\n")));
    let column = |at: usize| -> ArrayRef {
        Arc::new(StringArray::from_iter(rows.iter().map(|row| row.split(',').nth(at).filter(|part| at != 4 || !part.is_empty()))))
    };
    let batch = RecordBatch::try_from_iter(header.split(',').enumerate().map(|(at, name)| (name, column(at)))).unwrap();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    place.write("parts.parquet", out);
    for name in ["parts.csv", "parts.parquet"] {
        let ran = place.run(&format!("eval store.rsieve {name} --agent A -o - --output-format jsonl")).is(0);
        assert_eq!(ran.values("verdict"), ["disallow", "unresolved", "unresolved", "unresolved", "allow"], "{name}");
        assert_eq!(ran.values("reason")[1..4], ["bad-url", "bad-url", "bad-url"], "{name}");
    }
}

#[test]
fn numbers_are_carried_as_they_were_written() {
    let place = place();
    place.write(
        "n.jsonl",
        "{\"url\":\"https://example.com/\",\"n\":[1.0],\"k\":0.1234567890123456789,\"j\":1.5,\"l\":1.0,\"m\":1e400,\"i\":7}\n",
    );
    let ran = place.run("eval store.rsieve n.jsonl --agent A --carry n,k,j,l,m,i -o - --output-format csv").is(0);
    assert_eq!(ran.text().lines().nth(1).unwrap(), "0,[1.0],0.1234567890123456789,1.5,1.0,1e400,7,true");
}

#[test]
fn lists_that_are_none_are_told() {
    let place = place();
    place.write("u.txt", [&b"\xFF\xFE"[..], b"h\0t\0"].concat());
    for (line, words) in [
        ("u.txt", ["u.txt", "UTF-16"]),
        ("urls.parquet --input-format lines", ["urls.parquet", "--input-format parquet"]),
        ("urls.arrow --input-format lines", ["urls.arrow", "--input-format arrow"]),
    ] {
        place.run(&format!("eval store.rsieve {line} --agent A")).fails(&words);
    }
    place.pipe(write("parquet"), "eval store.rsieve - --agent A").fails(&["standard input", "Parquet"]);
    let marked = format!("\u{FEFF}{URLS}");
    place.write("marked.txt", &marked);
    let right = place.run("filter store.rsieve urls.txt --agent A").is(0).out;
    assert_eq!(place.run("filter store.rsieve marked.txt --agent A").is(0).out, right);
    assert_eq!(place.pipe(&marked, "filter store.rsieve - --agent A").is(0).out, right);
}

#[test]
fn the_name_of_an_output_says_what_it_holds() {
    let place = place();
    for (input, output) in
        [("parquet", "x.csv"), ("parquet", "x.parquet.gz"), ("csv", "x.tsv"), ("arrow", "x.arrows"), ("jsonl", "x.parquet")]
    {
        place.run(&format!("filter store.rsieve urls.{input} --agent A -o {output}")).fails(&[output, input]);
    }
    place.write("x.txt", "");
    place.run("filter store.rsieve urls.csv urls.txt --agent A -o x.txt").fails(&["x.txt", "no directory"]);
    place.run("filter store.rsieve urls.csv --agent A --undecided error").fails(&["urls.csv", "row 6 (from 0)"]);
}
