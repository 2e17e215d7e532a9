//! `bench`: agreement, external matchers, outputs. Nothing here depends on how long anything takes.

use super::*;

/// A matcher for rules without stars of the `*` group: enough for the policies of [`Place::new`], and for an agent that they do not name.
const MATCHER: &str = r#"
function verdict(path,   i, best, word) {
    if (path == "/robots.txt") return "allow"
    best = 0
    word = "allow"
    for (i = 1; i <= count; i++)
        if (index(path, rule[i]) == 1 && length(rule[i]) >= best) {
            if (length(rule[i]) > best || key[i] == "allow") word = key[i]
            best = length(rule[i])
        }
    return word
}
BEGIN {
    print "about: longest prefix, 1.0" > "/dev/stderr"
    while ((getline line < ARGV[1]) > 0) {
        split(line, part, /: */)
        if (tolower(part[1]) == "user-agent") bound = part[2] == "*"
        else if (bound && part[2] != "") { key[++count] = tolower(part[1]); rule[count] = part[2] }
    }
    ARGC = 1
}
{
    url = $0
    sub(/^[a-z]+:\/\/[^\/]*/, "", url)
    print (url == wrong) ? "disallow" : verdict(url)
}
"#;

impl Place {
    fn bench(&self, options: &str, externals: &[&str]) -> Ran {
        let mut command = self.command(&format!("bench robots urls.txt --agent AnyBot --runs 1 --time 5 {options}"));
        for external in externals {
            command.args(["--external", external]);
        }
        run(&mut command, b"")
    }
}

/// Of each way, what was compared and what differs.
fn agreement(report: &Value) -> Vec<(String, u64, u64)> {
    let ways = report["agreement"].as_array().unwrap().iter();
    ways.map(|way| (way["way"].as_str().unwrap().to_owned(), way["compared"].as_u64().unwrap(), way["differ"].as_u64().unwrap())).collect()
}

#[test]
fn all_ways_agree_and_each_is_timed() {
    let place = Place::new();
    let ran = place.bench("--threads 3 --format json", &[]).is(0);
    let report = &ran.objects()[0];
    for key in ["robosieve", "build", "date", "machine", "policies", "urls", "sample", "agents", "agents_named", "reference", "agreement"] {
        assert!(!report[key].is_null(), "{key} is missing: {report}");
    }
    for key in ["figures", "payoff", "externals", "notes"] {
        assert!(!report[key].is_null(), "{key} is missing: {report}");
    }
    assert_eq!((report["reference"].as_str(), report["agents_named"].as_u64()), (Some("backstop"), Some(1)));
    assert_eq!((&report["urls"]["rows"], &report["sample"]["rows"], &report["policies"]["met"]), (&9.into(), &7.into(), &2.into()));
    let agents = report["agents"].as_array().unwrap().len() as u64;
    assert!(agents > 2);
    let ways = agreement(report);
    for (way, compared) in [
        ("engine", URL_COUNT),
        ("backstop", URL_COUNT),
        ("dfa", URL_COUNT),
        ("engine, row by row", URL_COUNT),
        ("engine, with rules", URL_COUNT),
        ("engine, 2 threads", URL_COUNT),
        ("engine, 3 threads", URL_COUNT),
        ("engine, cold", URL_COUNT),
        ("scan of ranked rules", 7),
        (&format!("{agents} agents, one pass"), agents * URL_COUNT),
        (&format!("{agents} agents, {agents} passes"), agents * URL_COUNT),
    ] {
        assert!(ways.contains(&(way.to_owned(), compared, 0)), "{way}: {ways:?}");
    }
    let figures = report["figures"].as_array().unwrap();
    let timed: Vec<&str> = figures.iter().map(|figure| figure["way"].as_str().unwrap()).collect();
    let untimed: Vec<_> = ways.iter().filter(|(way, _, _)| !timed.contains(&way.as_str())).collect();
    let sets: Vec<_> = robosieve::scan::Isa::available().map(|isa| isa.name()).collect();
    let by_set = timed.iter().filter(|way| way.strip_prefix("engine, ").is_some_and(|name| sets.contains(&name))).count();
    assert_eq!(by_set, sets.len() - 1, "{timed:?}");
    assert!(figures.iter().all(|figure| figure["times_floor"].is_null() == (figure["section"] == "policies")), "{report}");
    assert!(untimed.is_empty() && timed[0] == "floor" && timed.contains(&"parse") && timed.contains(&"compile"), "{untimed:?} {timed:?}");
    for figure in figures {
        let number = |key: &str| figure[key].as_f64().unwrap_or_else(|| panic!("{key}: {figure}"));
        assert!(0.0 < number("min") && number("min") <= number("median") && number("median") <= number("max"), "{figure}");
        assert!(figure["repeats"].as_u64() > Some(0) && figure["work"].as_str().unwrap().len() > 20, "{figure}");
        assert_eq!((&figure["runs"], figure["quartiles"].as_array().unwrap().len()), (&1.into(), 2));
    }
    assert_eq!(report["payoff"]["policies"], 2);
}

#[test]
fn a_table_for_people() {
    let place = Place::new();
    let ran = place.bench("", &[]).is(0);
    for words in
        ["verdicts beside the backstop's", "ns a URL", "ns a policy", "what each time includes", "compiling a policy pays ", "machine    "]
    {
        assert!(ran.text().contains(words), "{words}: {}", ran.text());
    }
    assert!(is_harmless(ran.text()), "{}", ran.text());
}

#[test]
fn the_sample_needs_no_files() {
    let place = Place::empty();
    let ran = place.run("bench --rows 2000 --agreement-only --format json").is(0);
    let report = &ran.objects()[0];
    assert_eq!((&report["urls"]["rows"], report["figures"].as_array().map(Vec::len)), (&2000.into(), Some(0)));
    assert!(agreement(report).iter().all(|(_, compared, differ)| *compared > 0 && *differ == 0), "{report}");
    place.run("bench --rows 50 --agreement-only --dialect google").is(0);
    place.run("bench --rows 50 --agreement-only --dialect scrapy").is(0);
}

#[test]
fn a_store_that_differs_from_its_bodies_is_found() {
    let place = Place::with_store();
    let mut store = place.read("store.rsieve");
    // The entry of section 5, the programs: docs/FORMAT.md.
    let programs = u64::from_le_bytes(store[64 + 5 * 24..][..8].try_into().unwrap()) as usize;
    store[programs + 8] ^= 1;
    place.write("store.rsieve", store);
    let ran = place.run("bench store.rsieve urls.txt --agent AnyBot --agreement-only").is(1);
    assert!(ran.text().contains("  engine: row ") && ran.text().contains("AnyBot: unresolved, not "), "{}", ran.text());
}

#[test]
fn a_store_without_bodies() {
    let place = Place::new();
    place.run("compile -o bare.rsieve robots --no-bodies").is(0);
    let ran = place.run("bench bare.rsieve urls.txt --agreement-only --format json").is(0);
    let report = &ran.objects()[0];
    assert_eq!(report["reference"], "engine");
    assert!(report["notes"][0].as_str().unwrap().contains("no bodies"), "{report}");
    place.run_and("bench bare.rsieve urls.txt", &["--external", "a=cat"]).fails(&["--no-bodies"]);
}

#[test]
fn external_matchers_are_compared() {
    let place = Place::new();
    place.write("matcher.awk", MATCHER);
    let externals = ["right=awk -f matcher.awk", "other='awk' -v wrong=/last -f matcher.awk", "unsure=sh -c 'sed s/.*/error/'"];
    let ran = place.bench("--format json", &externals).is(0);
    let report = &ran.objects()[0];
    let ways = agreement(report);
    for (way, differ) in [("right", 0), ("other", 1), ("unsure", 7)] {
        assert!(ways.contains(&(way.to_owned(), 7, differ)), "{way}: {ways:?}");
    }
    let other = report["agreement"].as_array().unwrap().iter().find(|way| way["way"] == "other").unwrap();
    let difference = &other["differences"][0];
    assert_eq!((&difference["row"], &difference["url"]), (&8.into(), &"https://example.com/last".into()));
    assert_eq!((&difference["reference"], &difference["answer"]), (&"allow".into(), &"disallow".into()));
    let agree = other["agree"].as_f64().unwrap();
    assert!((agree - 6.0 / 7.0).abs() < 1e-9, "{agree}");
    let [right, .., unsure] = &report["externals"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&right["about"], &unsure["about"]), (&"longest prefix, 1.0".into(), &Value::Null));
    assert!(right["start_ns"].as_f64() > Some(0.0));
    let timed = report["figures"].as_array().unwrap().iter().find(|figure| figure["way"] == "right").unwrap();
    assert!(timed["work"].as_str().unwrap().contains("longest prefix, 1.0"), "{timed}");
    let ran = place.bench("--agreement-only", &externals).is(0);
    for words in ["85.71 %", "says of itself: longest prefix, 1.0", "  other: row 9, AnyBot: disallow, not allow: https://example.com/last"]
    {
        assert!(ran.text().contains(words), "{words}: {}", ran.text());
    }
}

#[test]
fn external_matchers_that_fail_are_errors_that_name_them() {
    let place = Place::new();
    for (external, words) in [
        ("x=/no/such/program", vec!["can not be started", "check the command"]),
        ("x=sh -c 'echo no use >&2; exit 3'", vec!["exit status: 3", "no use"]),
        ("x=sh -c 'kill -9 $$'", vec!["signal: 9", "nothing on standard error"]),
        ("x=sh -c 'sed s/^/\u{1B}[2J/'", vec!["line 1 of its output", "allow, disallow or error"]),
        ("x=echo", vec!["line 1 of its output"]),
        ("x=sh -c 'read url; echo allow; cat >/dev/null'", vec!["1 verdicts for 5 URLs"]),
        ("x=true", vec!["0 verdicts for 5 URLs"]),
        ("x=sh -c 'sed s/.*/allow/; echo allow'", vec!["6 verdicts for 5 URLs"]),
        ("x=yes allow", vec!["far more than a verdict"]),
    ] {
        let ran = place.bench("--agreement-only", &[external]);
        let ran = ran.fails(&[&["external matcher x ("], &words[..]].concat());
        assert!(is_harmless(&ran.err), "{}", ran.err);
    }
    for (external, words) in [("x", "NAME=COMMAND"), ("=x", "name"), ("x=", "command"), ("x='a", "nothing closes")] {
        place.bench("--agreement-only", &[external]).fails(&["--external", words]);
    }
}

/// Neither a matcher that never ends, nor one that reads nothing, nor a child that keeps its output open holds the command up.
#[test]
fn external_matchers_that_hang_are_stopped() {
    let place = Place::new();
    place.write("urls.txt", format!("https://example.com/{}\n", "x".repeat(100)).repeat(4_000));
    for external in [
        "x=sh -c 'cat >/dev/null; sleep 600'",
        "x=sh -c 'sleep 600'",
        "x=sh -c 'sleep 600 & echo $! > child; cat >/dev/null'",
        "x=sh -c 'exec >/dev/null; exec >&-; sleep 600'",
    ] {
        let mut command = place.command("bench robots urls.txt --agreement-only --external-timeout 0.5");
        let mut child = command.args(["--external", external]).stderr(Stdio::piped()).spawn().unwrap();
        let errors = lines_of(child.stderr.take().unwrap());
        assert_eq!(wait(&mut child), Some(2), "{external}");
        let said: Vec<String> = errors.iter().collect();
        assert!(said.iter().any(|line| line.contains("has not ended after 0.5 s") && line.contains("--external-timeout")), "{said:?}");
    }
    let child = place.text("child");
    let is_there = Path::new("/proc").join(child.trim()).join("cmdline");
    assert!(!fs::read(is_there).is_ok_and(|cmdline| !cmdline.is_empty()), "what it started goes on");
}

/// The names of elements of an XML document in the order in which they open, with their attributes. Ends the test where it is not well-formed.
fn elements(xml: &str) -> Vec<(String, Vec<(String, String)>)> {
    let text_is_fine = |text: &str| {
        assert!(!text.contains('>'), "{text}");
        let entities = text.split('&').skip(1);
        entities.for_each(|rest| assert!(["amp;", "lt;", "gt;", "quot;"].iter().any(|known| rest.starts_with(known)), "&{rest}"));
    };
    let (mut found, mut open) = (Vec::new(), Vec::new());
    let mut parts = xml.split('<');
    assert_eq!(parts.next(), Some(""));
    for part in parts {
        let (tag, text) = part.split_once('>').unwrap();
        text_is_fine(text);
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let (tag, is_empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, rest) = tag.split_once(' ').unwrap_or((tag, ""));
        let mut attributes = Vec::new();
        let mut rest = rest.trim();
        while !rest.is_empty() {
            let (key, behind) = rest.split_once("=\"").unwrap();
            let (value, behind) = behind.split_once('"').unwrap();
            text_is_fine(value);
            attributes.push((key.to_owned(), value.to_owned()));
            rest = behind.trim_start();
        }
        found.push((name.to_owned(), attributes));
        open.extend((!is_empty).then(|| name.to_owned()));
    }
    assert!(open.is_empty(), "{open:?}");
    found
}

#[test]
fn the_plot_is_xml_with_a_bar_a_figure() {
    let place = Place::new();
    place.write("matcher.awk", MATCHER);
    let ran = place.bench("--format json --plot bench.svg", &["<&\">=awk -f matcher.awk"]).is(0);
    let svg = place.text("bench.svg");
    let elements = elements(&svg);
    assert_eq!(elements[0].0, "svg");
    let bars: Vec<_> =
        elements.iter().filter(|(name, attributes)| name == "rect" && attributes.contains(&("class".into(), "bar".into()))).collect();
    assert_eq!(bars.len(), ran.objects()[0]["figures"].as_array().unwrap().len());
    for (_, attributes) in bars {
        let width = &attributes.iter().find(|(key, _)| key == "width").unwrap().1;
        assert!(width.parse::<f64>().unwrap() >= 0.0, "{width}");
    }
    assert!(svg.contains("&lt;&amp;&quot;&gt;"), "{svg}");
}

#[test]
fn what_can_not_be_measured() {
    let place = Place::new();
    place.write("empty.txt", "");
    for (line, words) in [
        ("bench robots", vec!["<URLS>"]),
        ("bench robots empty.txt", vec!["empty.txt", "no row"]),
        ("bench robots none.txt", vec!["none.txt"]),
        ("bench robots.txt urls.txt", vec!["--any-origin"]),
        ("bench - -", vec!["standard input"]),
        ("bench robots urls.txt --rows 5", vec!["--rows"]),
        ("bench robots urls.txt --plot robots/x.svg --runs 1 --agreement-only", vec!["--plot"]),
        ("bench robots urls.txt --plot urls.txt", vec!["urls.txt", "is read"]),
        ("bench --runs 0", vec!["--runs"]),
        ("bench --time 0", vec!["--time", "above 0"]),
    ] {
        place.run(line).fails(&words);
    }
    let ran = place.pipe(URLS, "bench robots.txt - --any-origin --agreement-only --format json").is(0);
    assert_eq!(ran.objects()[0]["urls"]["rows"], URL_COUNT);
}
