//! `rows`.

use super::*;

/// Blank lines, octets of all kinds, CRLF, CR alone, a row of ten megabytes, no final line end.
fn odd_rows() -> Vec<(Vec<u8>, &'static [u8], &'static str)> {
    let long = [b"https://example.com/private/".to_vec(), b"long/".repeat(2_000_000)].concat();
    vec![
        (b"https://example.com/".to_vec(), b"\n", "allow"),
        (b"".to_vec(), b"\n", "unresolved"),
        (b"".to_vec(), b"\r\n", "unresolved"),
        (b"https://example.com/crlf".to_vec(), b"\r\n", "allow"),
        (b"https://example.com/a\rhttps://closed.example/".to_vec(), b"\n", "allow"),
        (b"https://example.com/cr\r".to_vec(), b"\r\n", "allow"),
        ((0..=255).filter(|&octet| octet != b'\n').collect(), b"\n", "unresolved"),
        (b"https://example.com/\0\xFF\xC3\x28\xE2\x82".to_vec(), b"\n", "allow"),
        (b"https://example.com/private/\xFF".to_vec(), b"\n", "disallow"),
        (b"  ".to_vec(), b"\n", "unresolved"),
        (long, b"\n", "disallow"),
        (b"\xEF\xBB\xBFhttps://example.com/bom".to_vec(), b"\n", "unresolved"),
        (b"https://example.com/last".to_vec(), b"", "allow"),
    ]
}

fn odd_list() -> Vec<u8> {
    odd_rows().iter().flat_map(|(row, end, _)| [row, *end].concat()).collect()
}

/// The rows of one verdict, with a line end behind the last one too.
fn kept(verdicts: &[&str]) -> Vec<u8> {
    let rows = odd_rows().into_iter().filter(|(_, _, verdict)| verdicts.contains(verdict));
    rows.flat_map(|(row, end, _)| [&row[..], if end.is_empty() { b"\n" } else { end }].concat()).collect()
}

fn as_text(row: &[u8]) -> String {
    let escaped = |octets: &[u8]| octets.iter().map(|octet| format!("%{octet:02X}")).collect::<String>();
    row.utf8_chunks().map(|chunk| format!("{}{}", chunk.valid(), escaped(chunk.invalid()))).collect()
}

#[test]
fn every_row_has_its_row_in_every_format() {
    let place = Place::with_store();
    place.write("odd.txt", odd_list());
    let rows = odd_rows();
    let verdicts: Vec<_> = rows.iter().map(|(_, _, verdict)| *verdict).collect();
    let urls: Vec<_> = rows.iter().map(|(row, _, _)| as_text(row)).collect();
    for list in ["odd.txt", "-"] {
        let eval = |format: &str| {
            let input = if list == "-" { odd_list() } else { Vec::new() };
            place.pipe(input, &format!("eval store.rsieve {list} --agent A -o - --with-url --output-format {format}")).is(0)
        };
        let columns = Columns::read(eval("arrow").out);
        assert_eq!(columns.rows(), (0..rows.len() as u64).collect::<Vec<_>>());
        assert_eq!(columns.verdicts("allow_A"), verdicts);
        assert!(columns.urls() == urls);
        let lines = eval("jsonl");
        assert_eq!(lines.values("verdict"), verdicts);
        assert!(lines.values("url") == urls);
        assert_eq!(eval("text").cells().iter().map(|cells| cells[0]).collect::<Vec<_>>(), verdicts);
    }
}

#[test]
fn a_filter_keeps_octets_as_they_came() {
    let place = Place::with_store();
    place.write("odd.txt", odd_list());
    for (undecided, verdicts) in [("drop", &["allow"][..]), ("keep", &["allow", "unresolved"])] {
        let file = place.run(&format!("filter store.rsieve odd.txt --agent A --undecided {undecided}")).is(0);
        assert!(file.out == kept(verdicts), "{undecided}");
        let piped = place.pipe(odd_list(), &format!("filter store.rsieve - --agent A --undecided {undecided}")).is(0);
        assert!(piped.out == kept(verdicts), "{undecided}, piped");
    }
    let any = place.run("filter robots.txt odd.txt --any-origin --agent A --undecided rest.txt").is(0);
    assert!(any.out == kept(&["allow"]) && place.read("rest.txt") == kept(&["unresolved"]));
}

#[test]
fn an_empty_list_and_one_blank_line() {
    let place = Place::with_store();
    for (list, count) in [("", 0), ("\n", 1), ("\r\n", 1), ("\r", 1), ("\n\n", 2)] {
        place.write("list.txt", list);
        place.run("eval store.rsieve list.txt --agent A -o out.arrow --summary-json summary.json").is(0);
        let columns = Columns::read(place.read("out.arrow"));
        assert_eq!((columns.names(), columns.rows().len()), (vec!["row", "allow_A"], count), "{list:?}");
        assert_eq!(place.json("summary.json")["rows"], count, "{list:?}");
        assert_eq!(place.pipe(list, "eval store.rsieve - --agent A -o - --output-format jsonl").is(0).objects().len(), count);
        assert!(place.run("filter store.rsieve list.txt --agent A").is(0).out.is_empty());
        assert_eq!(place.run("filter store.rsieve list.txt --agent A --undecided error").code, Some(if count == 0 { 0 } else { 2 }));
    }
}
