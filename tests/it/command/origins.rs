//! `origins`.

use super::*;

const LIST: &str = "https://a.example/1\nhttps://a.example/2\nHTTPS://A.example:443/3\nhttp://a.example/\nhttps://user@b.example:8443?x\nno url\n\
    ftp://c.example/\nhttps://a.example.org/\nhttps://a.example\n\nhttps://b.example:8443/\n";

#[test]
fn those_with_most_rows_come_first() {
    let place = Place::empty();
    place.write("list.txt", LIST);
    for threads in [1, 2] {
        let ran = place.run(&format!("origins list.txt --threads {threads}")).is(0);
        assert_eq!(
            ran.text(),
            "https://a.example/robots.txt\t4\nhttps://b.example:8443/robots.txt\t2\nhttp://a.example/robots.txt\t1\n\
            https://a.example.org/robots.txt\t1\n"
        );
        for words in ["4 of 5 origins are listed, 8 of 11 rows", "1 origins are left out: neither http nor https", "2 rows name no origin"]
        {
            assert!(ran.err.contains(words), "{words}: {}", ran.err);
        }
    }
    let objects = place.pipe(LIST, "origins - --format json").is(0).objects();
    assert_eq!(objects[1]["robots_url"], "https://b.example:8443/robots.txt");
    assert_eq!((&objects[1]["origin"], &objects[1]["rows"]), (&"https://b.example:8443".into(), &2.into()));
}

#[test]
fn those_that_policies_do_not_know_or_not_lately() {
    let place = Place::empty();
    place.write("list.txt", LIST);
    let time = |seconds: i64| jiff::Timestamp::now().checked_sub(jiff::SignedDuration::from_secs(seconds)).unwrap();
    let line = |origin: &str, time: jiff::Timestamp| format!("{{\"origin\":\"{origin}\",\"status\":404,\"fetched_at\":\"{time}\"}}\n");
    let manifest = line("https://a.example", time(3_600))
        + &line("https://b.example:8443", time(3 * 86_400))
        + "{\"origin\":\"http://a.example\",\"status\":404}\n";
    place.write("known.jsonl", manifest);
    place.run("compile -o known.rsieve known.jsonl").is(0);
    let origins = |rest: &str| {
        let ran = place.run(&format!("origins list.txt {rest}")).is(0);
        ran.text().lines().map(|line| line.split("/robots.txt").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for known in ["known.rsieve", "known.jsonl"] {
        assert_eq!(origins(&format!("--missing {known}")), ["https://a.example.org"]);
        assert_eq!(origins(&format!("--missing {known} --older-than 2d")), ["https://b.example:8443", "https://a.example.org"]);
        assert_eq!(
            origins(&format!("--missing {known} --older-than 30m")),
            ["https://a.example", "https://b.example:8443", "https://a.example.org"]
        );
    }
    let ran = place.run("origins list.txt --missing known.rsieve --older-than 2d --format json").is(0);
    assert!(ran.err.contains("1 origins have an undated policy, which is never old"), "{}", ran.err);
    assert!(ran.objects()[0]["fetched_at"].is_string() && ran.objects()[1]["fetched_at"].is_null());
    place.run("origins list.txt --older-than 2d").fails(&["--missing"]);
    place.run("origins list.txt --missing known.rsieve --older-than soon").fails(&["no duration", "24h"]);
    place.run("origins list.txt --missing list.txt").fails(&["list.txt", "no store"]);
    place.run("origins none.txt").fails(&["none.txt"]);
}

#[test]
fn what_is_listed_can_be_compiled() {
    let place = Place::empty();
    place.write("list.txt", LIST);
    let lines: String = place
        .run("origins list.txt")
        .is(0)
        .text()
        .lines()
        .map(|line| line.split('\t').next().unwrap().to_owned())
        .fold(String::new(), |lines, url| {
            lines + &format!("{{\"url\":\"{url}\",\"status\":200,\"body\":\"User-agent: *\\nDisallow: /1\\n\"}}\n")
        });
    place.write("fetched.jsonl", lines);
    place.run("compile -o all.rsieve fetched.jsonl").is(0);
    assert_eq!(place.run("origins list.txt --missing all.rsieve").is(0).text(), "");
}
