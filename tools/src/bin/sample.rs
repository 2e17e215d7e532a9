//! Writes `data/sample`: fictional robots.txt files, a URL list, and the traps that the README's first command shows.
//!
//! All hosts and texts are invented and stand under names reserved for examples. The program has its own generator of
//! random numbers and no clock, so the same source always gives the same bytes. Usage: `sample [DIR]`.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

/// Rows of `urls.txt`.
const ROWS: usize = 10_000;

/// Any start will do; a fixed one keeps the list the same.
const SEED: u64 = 0x0051_6E7E_D0C5;

/// The agents that `traps.tsv` answers for, in the order of each trap's answers.
const AGENTS: [&str; 2] = ["Googlebot", "GPTBot"];

/// How the octets of a robots.txt come from its text.
#[derive(Clone, Copy)]
enum Form {
    Lf,
    CrLf,
    Cr,
    Bom,
    Utf16,
}

/// One robots.txt, under a file name that says which origins it governs.
struct Policy {
    file: &'static str,
    form: Form,
    text: &'static str,
}

/// One host of the URL list. Lists are separated by white space; a repeated word is more likely.
struct Site {
    share: u64,
    origins: &'static str,
    shapes: &'static str,
}

/// A URL with the right answer for each of `AGENTS`.
struct Trap {
    url: &'static str,
    answers: [Answer; 2],
}

struct Answer {
    verdict: &'static str,
    line: u32,
    why: &'static str,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = env::args_os().skip(1).collect();
    let dir = match args.as_slice() {
        [] => PathBuf::from("data/sample"),
        [dir] if !dir.as_encoded_bytes().starts_with(b"-") => PathBuf::from(dir),
        _ => {
            eprintln!("usage: sample [DIR]");
            return ExitCode::from(2);
        }
    };
    match write_all(&dir) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sample: {error}");
            ExitCode::from(2)
        }
    }
}

fn write_all(dir: &Path) -> io::Result<()> {
    let robots = dir.join("robots");
    fs::create_dir_all(&robots).map_err(|error| named(&robots, &error))?;
    for policy in POLICIES {
        write_file(&robots.join(policy.file), &encode(policy.text, policy.form))?;
    }
    write_file(&dir.join("urls.txt"), frontier().as_bytes())?;
    write_file(&dir.join("traps.txt"), trap_list().as_bytes())?;
    write_file(&dir.join("traps.tsv"), trap_table().as_bytes())?;
    write_file(&dir.join("README.md"), README.as_bytes())
}

fn write_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::write(path, bytes).map_err(|error| named(path, &error))
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn encode(text: &str, form: Form) -> Vec<u8> {
    match form {
        Form::Lf => text.into(),
        Form::CrLf => text.replace('\n', "\r\n").into(),
        Form::Cr => text.replace('\n', "\r").into(),
        Form::Bom => format!("\u{feff}{text}").into(),
        Form::Utf16 => {
            let marked = format!("\u{feff}{text}");
            marked.encode_utf16().flat_map(u16::to_le_bytes).collect()
        }
    }
}

fn trap_list() -> String {
    TRAPS.iter().map(|trap| format!("{}\n", trap.url)).collect()
}

fn trap_table() -> String {
    let mut out = String::from("url\tagent\tverdict\tline\twhy\n");
    for trap in TRAPS {
        for (agent, answer) in AGENTS.iter().zip(&trap.answers) {
            let Answer { verdict, line, why } = answer;
            writeln!(out, "{}\t{agent}\t{verdict}\t{line}\t{why}", trap.url).unwrap();
        }
    }
    out
}

/// The URL list: runs of one origin each, as a crawler's frontier has them, with the bad rows spread evenly.
fn frontier() -> String {
    let mut dice = Dice(SEED);
    let mut rows: Vec<String> = Vec::with_capacity(ROWS);
    while rows.len() < ROWS {
        let site = dice.site();
        let origin = dice.origin(site.origins);
        for _ in 0..dice.run_len() {
            let url = dice.url(origin, site.shapes);
            if rows.last() != Some(&url) {
                rows.push(url);
            }
        }
    }
    rows.truncate(ROWS);
    let gap = ROWS / (BAD_ROWS.len() + 1);
    for (bad, at) in BAD_ROWS.iter().zip((gap..).step_by(gap)) {
        rows[at] = (*bad).to_owned();
    }
    rows.join("\n") + "\n"
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn pick<'a>(&mut self, list: &'a str) -> &'a str {
        let words: Vec<&str> = list.split_whitespace().collect();
        let at = self.below(words.len() as u64) as usize;
        words[at]
    }

    fn site(&mut self) -> &'static Site {
        let total = SITES.iter().map(|site| site.share).sum();
        let mut at = self.below(total);
        for site in SITES {
            if at < site.share {
                return site;
            }
            at -= site.share;
        }
        unreachable!("the shares add up to the total")
    }

    /// Mostly the first of the list: the others are rarer spellings or other ports.
    fn origin<'a>(&mut self, origins: &'a str) -> &'a str {
        match origins.split_whitespace().next() {
            Some(first) if !self.one_in(4) => first,
            _ => self.pick(origins),
        }
    }

    fn run_len(&mut self) -> usize {
        let mut len = 1;
        while len < 40 && !self.one_in(8) {
            len += 1;
        }
        len
    }

    fn url(&mut self, origin: &str, shapes: &str) -> String {
        let mut url = if self.one_in(40) { shout(origin) } else { origin.to_owned() };
        self.fill(shapes, &mut url);
        if self.one_in(30) {
            let word = self.pick(WORDS);
            write!(url, "#{word}").unwrap();
        }
        url
    }

    fn fill(&mut self, shapes: &str, out: &mut String) {
        let mut rest = self.pick(shapes);
        while let Some((before, tail)) = rest.split_once('{') {
            let (blank, after) = tail.split_once('}').expect("a shape closes its braces");
            out.push_str(before);
            self.fill_blank(blank, out);
            rest = after;
        }
        out.push_str(rest);
    }

    /// An unknown blank stays as it is: some URLs do hold braces.
    fn fill_blank(&mut self, blank: &str, out: &mut String) {
        match blank {
            "word" => out.push_str(self.pick(WORDS)),
            "page" => write!(out, "{}", 1 + self.below(40)).unwrap(),
            "id" => write!(out, "{}", 100 + self.below(99_900)).unwrap(),
            "year" => write!(out, "{}", 2009 + self.below(17)).unwrap(),
            "month" => write!(out, "{:02}", 1 + self.below(12)).unwrap(),
            "hex" => write!(out, "{:08x}", self.below(1 << 32)).unwrap(),
            _ => write!(out, "{{{blank}}}").unwrap(),
        }
    }
}

/// The origin with its host in upper case.
fn shout(origin: &str) -> String {
    match origin.split_once("://") {
        Some((scheme, host)) => format!("{scheme}://{}", host.to_ascii_uppercase()),
        None => origin.to_owned(),
    }
}

const fn trap(url: &'static str, googlebot: Answer, gptbot: Answer) -> Trap {
    Trap { url, answers: [googlebot, gptbot] }
}

const fn allow(line: u32, why: &'static str) -> Answer {
    Answer { verdict: "allow", line, why }
}

const fn disallow(line: u32, why: &'static str) -> Answer {
    Answer { verdict: "disallow", line, why }
}

const fn unresolved(why: &'static str) -> Answer {
    Answer { verdict: "unresolved", line: 0, why }
}

const TRAPS: &[Trap] = &[
    trap(
        "https://bakery.example/orders/17",
        disallow(5, "crawl-delay does not end the run of agent lines: * is bound too"),
        disallow(5, "the run names * and GPTBot"),
    ),
    trap(
        "https://gazette.example/archive/1998",
        disallow(3, "nobody names Googlebot: * binds it"),
        allow(0, "its own group binds it alone, and no rule there matches"),
    ),
    trap("https://gazette.example/archive/photos/9", disallow(3, "* binds it"), disallow(7, "the one rule of its own group")),
    trap("https://files.example/a/b.txt", disallow(3, "the same slash in rule and URL"), allow(0, "a slash is not %2F in a path")),
    trap("https://files.example/a%2Fb.txt", allow(0, "%2F is not a slash in a path"), disallow(6, "the case of hex digits does not count")),
    trap(
        "https://board.example/old.php/new.php",
        disallow(3, "the star reaches to the last .php, where the URL ends"),
        disallow(6, "without $ any .php will do"),
    ),
    trap(
        "https://board.example/topic.php?id=7",
        allow(0, "the URL ends in its query, not in .php"),
        disallow(6, "without $ the query may follow"),
    ),
    trap(
        "https://museum.example/loans/1889",
        disallow(5, "the run names GPTBot and *"),
        disallow(5, "sitemap does not end the run of agent lines"),
    ),
    trap(
        "https://travel.example/booking/7",
        disallow(10, "both * groups bind it, and line 10 is longer than line 4"),
        disallow(7, "its own group"),
    ),
    trap("https://manual.example/api/public/start", allow(4, "12 octets beat 5"), allow(8, "12 octets beat 1")),
    trap(
        "https://manual.example/api/public/keys",
        disallow(5, "16 octets beat 12 and 5"),
        allow(8, "12 octets beat 1, though line 9 comes later"),
    ),
    trap("https://market.example/sale", allow(4, "5 octets each: allow wins"), allow(7, "the star counts one: 5 octets each, allow wins")),
    trap("https://market.example/sale/shoes", allow(4, "5 octets each: allow wins"), disallow(9, "6 octets beat 5")),
    trap("https://campus.example/~anna/cv", disallow(3, "%7E in the rule is ~"), disallow(7, "as written")),
    trap(
        "https://campus.example/caf%c3%a9/menu",
        disallow(4, "the rule's é is %C3%A9"),
        disallow(8, "the case of hex digits does not count"),
    ),
    trap(
        "https://shop.example/shoes?page=2&sort=up",
        disallow(4, "sort is not the first parameter: the & rule meets it"),
        allow(8, "8 octets beat 3"),
    ),
    trap("https://shop.example/shoes?size=9", allow(0, "no sort in the query"), disallow(7, "any query")),
    trap(
        "https://library.example/private/list",
        allow(0, "a rule without / or * in front matches nothing"),
        disallow(7, "the same word with its slash"),
    ),
    trap("https://library.example/about/staff", disallow(4, "a star may stand in front"), allow(0, "no rule of its own group matches")),
    trap(
        "https://poetry.example/odes/4",
        disallow(3, "the empty Disallow does not cancel line 3"),
        allow(0, "a group of its own without any rule"),
    ),
    trap(
        "https://radio.example/live/3",
        disallow(6, "the token ends before the slash of the version"),
        allow(0, "GPTBot2 is another crawler: * binds GPTBot, and no rule there matches"),
    ),
    trap(
        "https://radio.example/studio/cam",
        allow(0, "its own group binds it alone"),
        disallow(9, "GPTBot2 is another crawler: * binds GPTBot"),
    ),
    trap(
        "https://vault.example/robots.txt",
        allow(0, "robots.txt itself is always allowed"),
        allow(0, "robots.txt itself is always allowed, even against line 6"),
    ),
    trap("https://vault.example/robots.txt.bak", disallow(3, "not exactly /robots.txt"), disallow(6, "11 octets beat 1")),
    trap("https://bank.example/login?next=%2Faccount", disallow(3, "in a query %2F equals a slash"), disallow(6, "as written")),
    trap("https://bank.example/login/next=/account", allow(0, "no ? in the URL"), allow(0, "in a path a slash is not %2F")),
    trap("https://old.example.net/attic/box", disallow(3, "CR alone ends a line"), disallow(6, "CR alone ends a line")),
    trap(
        "https://data.example.org/raw/9",
        disallow(3, "a file that announces UTF-16 is decoded"),
        allow(0, "its own group binds it alone"),
    ),
    trap("https://bücher.example/konto/", disallow(3, "hosts compare in punycode"), allow(0, "its own group binds it alone")),
    trap("http://staging.test:8080/preview/1", allow(6, "9 octets beat 1"), disallow(3, "* binds it")),
    trap("https://staging.test/preview/1", unresolved("the file governs port 8080 alone"), unresolved("the file governs port 8080 alone")),
    trap(
        "https://img.shop.example/a.png",
        unresolved("nothing is inherited from shop.example"),
        unresolved("nothing is inherited from shop.example"),
    ),
];

/// Rows that name no origin, and the blank one.
const BAD_ROWS: &[&str] = &[
    "mailto:editor@news.example.org",
    "http:///no/host",
    "",
    "https://news.example.org:99999/port-too-big",
    "http://[::1/broken-literal",
    "/relative/path?from=page",
    "https://shop example.com/space-in-host",
    "wiki.example.org/no-scheme",
    "javascript:void(0)",
    "http://docs.example.net:eighty/",
    "http://[fe80::1%25eth0]/zone",
    "tel:+1-555-0100",
];

const WORDS: &str = "amber anchor apple autumn barley basket beacon birch bridge candle canyon cedar cider clover \
    cobalt comet copper coral cotton cypress dune ember falcon fern flint garnet ginger glacier harbor hazel heron \
    indigo iris ivory jasmine juniper kelp lagoon lantern larch lemon linen lotus maple marble meadow mint moss \
    nectar nutmeg oak olive opal orchid otter pepper pine plum quartz quince raven reed river saffron sage slate \
    sparrow spruce thistle thyme topaz tulip umber velvet violet walnut willow wren yarrow zephyr";

const README: &str = "\
# Sample

Invented data to try robosieve on. All hosts stand under names reserved for examples (RFC 2606).

| file | what |
|---|---|
| `robots/` | 42 robots.txt files, named by the origin they govern: a host, `HOST_PORT` or `SCHEME_HOST_PORT` |
| `urls.txt` | 10,000 URLs in runs of one origin, as in a crawl frontier; a few have no policy, a few are no URLs |
| `traps.txt` | 32 URLs on which robots.txt parsers disagree; comments in `robots/` say what the traps are |
| `traps.tsv` | for each of them, and for Googlebot and GPTBot, the right verdict, the deciding line (0: none) and why |

Among the files are one with CRLF and one with CR line ends, one with a byte order mark, one in UTF-16, an empty one,
one that is HTML and one with a typing error. Tools that convert line ends must leave `robots/` alone.

    robosieve eval data/sample/robots data/sample/traps.txt --agent Googlebot --agent GPTBot

The verdicts in `traps.tsv` were reasoned from RFC 9309 and the documented readings of it, not produced by robosieve:
they test it. A program writes this folder; change the tables in its source, not the files:

    cargo run --manifest-path tools/Cargo.toml --bin sample
";

const POLICIES: &[Policy] = &[
    Policy {
        file: "bakery.example",
        form: Form::Lf,
        text: "\
# Trap: a crawl-delay between two agent lines does not end their run, so the rule below binds both.
User-agent: *
Crawl-delay: 10
User-agent: GPTBot
Disallow: /orders/

Sitemap: https://bakery.example/sitemap.xml
",
    },
    Policy {
        file: "gazette.example",
        form: Form::Lf,
        text: "\
# Trap: the group that names a crawler is all that binds it, and the rules of * no longer do.
User-agent: *
Disallow: /archive/
Crawl-delay: 5

User-agent: GPTBot
Disallow: /archive/photos/
",
    },
    Policy {
        file: "files.example",
        form: Form::Lf,
        text: "\
# Trap: an encoded slash in a path is data and no separator, so %2F and / never match each other there.
User-agent: *
Disallow: /a/b

User-agent: GPTBot
Disallow: /a%2fb
",
    },
    Policy {
        file: "board.example",
        form: Form::Lf,
        text: "\
# Trap: in *.php$ the star reaches to the last .php of a URL, and a query after it is part of the URL.
User-agent: *
Disallow: /*.php$

User-agent: GPTBot
Disallow: /*.php
",
    },
    Policy {
        file: "museum.example",
        form: Form::Lf,
        text: "\
# Trap: a sitemap line between two agent lines belongs to the whole file and does not end their run.
User-agent: GPTBot
Sitemap: https://museum.example/sitemap.xml
User-agent: *
Disallow: /loans/
",
    },
    Policy {
        file: "travel.example",
        form: Form::Lf,
        text: "\
# Trap: two groups for * are one, so the block that some service put on top does not hide the site's own rules.
User-agent: *
Content-Signal: search=yes, ai-train=no
Allow: /

User-agent: GPTBot
Disallow: /

User-agent: *
Disallow: /booking/
",
    },
    Policy {
        file: "manual.example",
        form: Form::Lf,
        text: "\
# Trap: the longest matching rule decides, not the first one and not the last one in the file.
User-agent: *
Disallow: /api/
Allow: /api/public/
Disallow: /api/public/keys

User-agent: GPTBot
Allow: /api/public/
Disallow: /
",
    },
    Policy {
        file: "market.example",
        form: Form::Lf,
        text: "\
# Trap: of two matching rules of equal length the allow wins wherever it stands, and a star counts as one octet.
User-agent: *
Disallow: /sale
Allow: /sale

User-agent: GPTBot
Allow: /*ale
Disallow: /sale
Disallow: /sale/
",
    },
    Policy {
        file: "campus.example",
        form: Form::Lf,
        text: "\
# Trap: %7E is ~ and a letter outside ASCII equals its UTF-8 escapes, in rules and in URLs alike.
User-agent: *
Disallow: /%7Eanna/
Disallow: /café/

User-agent: GPTBot
Disallow: /~anna/
Disallow: /caf%C3%A9/
",
    },
    Policy {
        file: "shop.example",
        form: Form::Lf,
        text: "\
# Trap: ? and & in a rule are plain octets, so a rule with ?sort= misses the sort that is not the first parameter.
User-agent: *
Disallow: /*?sort=
Disallow: /*&sort=

User-agent: GPTBot
Disallow: /*?
Allow: /*?page=
",
    },
    Policy {
        file: "library.example",
        form: Form::Lf,
        text: "\
# Trap: a rule that starts with neither / nor * matches nothing, and nobody puts the slash there for it.
User-agent: *
Disallow: private
Disallow: */staff

User-agent: GPTBot
Disallow: /private
",
    },
    Policy {
        file: "poetry.example",
        form: Form::Lf,
        text: "\
# Trap: an empty Disallow is no rule, so it forbids nothing and cancels nothing beside it.
User-agent: *
Disallow: /
Disallow:

User-agent: GPTBot
Disallow:
",
    },
    Policy {
        file: "radio.example",
        form: Form::Lf,
        text: "\
# Trap: digits belong to a token, so GPTBot2 is not GPTBot, while the version after a slash does not.
User-agent: GPTBot2
Disallow: /

User-agent: Googlebot/2.1
Disallow: /live/

User-agent: *
Disallow: /studio/
",
    },
    Policy {
        file: "vault.example",
        form: Form::Lf,
        text: "\
# Trap: exactly /robots.txt stays allowed whatever a rule says, for that is how a crawler learns the rules.
User-agent: *
Disallow: /

User-agent: GPTBot
Disallow: /robots.txt
Allow: /
",
    },
    Policy {
        file: "bank.example",
        form: Form::Lf,
        text: "\
# Trap: behind the ? of a URL an escaped slash equals a slash, in front of it the two differ.
User-agent: *
Disallow: /login?next=/account

User-agent: GPTBot
Disallow: /*next=%2Faccount
",
    },
    Policy {
        file: "old.example.net",
        form: Form::Cr,
        text: "\
# Trap: a bare CR ends a line, and whoever waits for LF sees this file as one long comment.
User-agent: *
Disallow: /attic/

User-agent: GPTBot
Disallow: /
",
    },
    Policy {
        file: "data.example.org",
        form: Form::Utf16,
        text: "\
# Trap: this file is in UTF-16 and says so with its first two octets; read as UTF-8 it holds no rule.
User-agent: *
Disallow: /raw/
Crawl-delay: 20

User-agent: GPTBot
Disallow: /tables/
Disallow: /bulk/
",
    },
    Policy {
        file: "xn--bcher-kva.example",
        form: Form::Lf,
        text: "\
# Trap: bücher.example and xn--bcher-kva.example are the same host.
User-agent: *
Disallow: /konto/
Disallow: /suche?

User-agent: GPTBot
Disallow: /leseprobe/
",
    },
    Policy {
        file: "staging.test_8080",
        form: Form::Lf,
        text: "\
# Trap: these rules hold on port 8080 alone, and the same host on another port is another origin.
User-agent: *
Disallow: /

User-agent: Googlebot
Allow: /preview/
Disallow: /
",
    },
    Policy {
        file: "https_api.example.net_8443",
        form: Form::Lf,
        text: "\
# Gateway of the partner interface. Interactive documentation: https://docs.example.net/
User-agent: *
Allow: /v2/openapi.json$
Allow: /v2/status
Disallow: /v2/
Disallow: /v1/
",
    },
    Policy {
        file: "www.example.com",
        form: Form::Lf,
        text: "\
# Example Trading Company
# Questions about this file: webmaster@example.com

User-agent: *
Disallow: /wp-admin/
Allow: /wp-admin/admin-ajax.php
Disallow: /search
Disallow: /*?replytocom=
Disallow: /cgi-bin/
Disallow: /tmp/

Sitemap: https://www.example.com/sitemap_index.xml
",
    },
    Policy {
        file: "shop.example.com",
        form: Form::Lf,
        text: "\
User-agent: *
Disallow: /cart
Disallow: /checkout
Disallow: /account/
Disallow: /*?*sort=
Disallow: /*?*price=*-*
Disallow: /*/print$
Disallow: /wishlist/*/share
Allow: /*?page=
Crawl-delay: 2

# Price comparison only: no copies of what our customers wrote.
User-agent: GPTBot
User-agent: CCBot
User-agent: Bytespider
Disallow: /reviews/
Disallow: /cart
Disallow: /checkout
Disallow: /account/

User-agent: AdsBot-Google
Disallow: /checkout

Sitemap: https://shop.example.com/sitemaps/products.xml
Sitemap: https://shop.example.com/sitemaps/categories.xml
",
    },
    Policy {
        file: "news.example.org",
        form: Form::Lf,
        text: "\
#
#   The Example Courier: terms for automated readers
#   Text and data mining is reserved; write to licensing@news.example.org
#

User-agent: GPTBot
User-agent: ChatGPT-User
User-agent: CCBot
User-agent: ClaudeBot
User-agent: PerplexityBot
User-agent: Google-Extended
User-agent: Applebot-Extended
User-agent: Bytespider
Disallow: /
Allow: /about/
Allow: /rss/

User-agent: Googlebot-News
Disallow: /sponsored/

User-agent: *
Disallow: /subscribers/
Disallow: /sponsored/
Disallow: /*/comments?
Disallow: /search?

License: https://news.example.org/licence.xml
Sitemap: https://news.example.org/sitemap-news.xml
Sitemap: https://news.example.org/sitemap-archive.xml
",
    },
    Policy {
        file: "wiki.example.org",
        form: Form::Lf,
        text: "\
# Please do not fetch what the servers have to compute; the dumps are at https://dumps.example.org/
User-agent: *
Disallow: /w/
Allow: /w/load.php?
Disallow: /wiki/Special:
Disallow: /wiki/Special%3A
Disallow: /wiki/User_talk:
Disallow: /wiki/Wiki:Deletion_requests/
Disallow: /wiki/Sp%C3%A9cial:
Disallow: /*?action=
Disallow: /*&action=
Disallow: /*&oldid=
Crawl-delay: 1

User-agent: wget
User-agent: HTTrack
User-agent: sitecheck.example
Disallow: /w/
Disallow: /wiki/Special:
",
    },
    Policy {
        file: "forum.example.net",
        form: Form::Lf,
        text: "\
User-agent: *
Disallow: /memberlist.php
Disallow: /posting.php
Disallow: /ucp.php
Disallow: /search.php
Disallow: /*&sid=
Disallow: /*?sid=
Disallow: /viewtopic.php?*&view=
Disallow: /viewtopic.php?p=

User-agent: Amazonbot
User-agent: meta-externalagent
User-agent: GPTBot
Disallow: /viewtopic.php
Disallow: /viewforum.php

User-agent: MJ12bot
User-agent: 360Spider
Disallow: /memberlist.php
Disallow: /viewforum.php
",
    },
    Policy {
        file: "www.university.example",
        form: Form::Lf,
        text: "\
User-Agent: *
Disallow: /cgi-bin/        # old search
Disallow: /intranet/
Disallow: /~*/private/
Disallow: /calendar/*/export
Disallow: /people/*.vcf$
Allow:    /intranet/public/

User-Agent: CCBot          # research corpus, agreed with the library
Allow: /

User-Agent: Yandex
Clean-param: sessionid /courses/
Disallow: /intranet/

Sitemap: https://www.university.example/sitemap.xml
",
    },
    Policy {
        file: "recipes.example.com",
        form: Form::CrLf,
        text: "\
User-agent: *
Content-Signal: search=yes, ai-input=yes, ai-train=no
Disallow: /print/
Disallow: /recipe/*/nutrition$
Disallow: /my-cookbook
Disallow: /*?servings=

User-agent: GPTBot
User-agent: ClaudeBot
Disallow: /recipe/
Allow: /recipe/*/summary$

User-agent: Bingbot
Crawl-delay: 3
Disallow: /print/

Sitemap: https://recipes.example.com/sitemap.xml
",
    },
    Policy {
        file: "docs.example.net",
        form: Form::Lf,
        text: "\
# Only the current version belongs in an index.
User-agent: *
Disallow: /en/
Allow: /en/latest/
Allow: /en/stable/
Disallow: /*/_sources/
Disallow: /*/genindex.html$
Disallow: /*/search.html
",
    },
    Policy {
        file: "www.ministry.example",
        form: Form::Bom,
        text: "\
User-agent: *
Disallow: /internal/
Disallow: /forms/draft/
Disallow: /*.doc$
Disallow: /*.xls$
Disallow: /consultation/*/responses/
Request-rate: 1/5
Visit-time: 0600-2200

User-agent: archive.org_bot
Disallow:

Sitemap: https://www.ministry.example/sitemap.xml
",
    },
    Policy {
        file: "video.example.com",
        form: Form::Lf,
        text: "\
User-agent: *
Allow: /watch?v=
Allow: /channel/*/about$
Disallow: /watch
Disallow: /channel/*/community
Disallow: /results
Disallow: /embed/
Disallow: /api/

User-agent: GPTBot
User-agent: Bytespider
Disallow: /watch
Disallow: /transcripts/

User-agent: Twitterbot
Disallow:
",
    },
    Policy {
        file: "maps.example.org",
        form: Form::Lf,
        text: "\
User-agent: *
Disallow: /tiles/
Disallow: /route?
Disallow: /*;jsessionid=
Disallow: /place/*/@
Disallow: /export/{uuid}/
",
    },
    Policy { file: "quiet.example", form: Form::Lf, text: "" },
    Policy {
        file: "portal.example.net",
        form: Form::Lf,
        text: "\
<!DOCTYPE html>
<html lang=\"en\">
  <head>
    <meta charset=\"utf-8\">
    <title>Page not found: Example Portal</title>
    <style>body { font-family: sans-serif; color: #333 }</style>
  </head>
  <body>
    <h1>We could not find that page</h1>
    <p>Try the <a href=\"https://portal.example.net/\">start page</a> or the search: it knows most things.</p>
  </body>
</html>
",
    },
    Policy {
        file: "garden.example",
        form: Form::Lf,
        text: "\
# The second rule has a typing error, so it is no rule.
User-agent: *
Disallow: /shed/
Disalow: /compost/
Disallow: /seedlings/private/

Sitemap: /sitemap.xml
",
    },
    Policy {
        file: "podcast.example",
        form: Form::Lf,
        text: "\
User-agent:*
Disallow:/members/
Disallow:/episode/*/download
Disallow:/feed/private-

User-agent:Applebot
Disallow:

User-agent:GPTBot
Disallow:/episode/*/transcript
",
    },
    Policy {
        file: "jobs.example.com",
        form: Form::Lf,
        text: "\
User-agent: *
Disallow: /apply/
Disallow: /*?*utm_
Disallow: /*?*ref=
Disallow: /jobs/*/expired$
Noindex: /jobs/archive/

User-agent: Googlebot
User-agent: Bingbot
Disallow: /apply/
Disallow: /jobs/archive/

Host: jobs.example.com
Sitemap: https://jobs.example.com/sitemap-jobs.xml
",
    },
    Policy {
        file: "weather.example.net",
        form: Form::Lf,
        text: "\
User-agent: *
Content-Usage: train-ai=n, search=y
Disallow: /radar/frames/
Disallow: /api
Allow: /api/help
Disallow: /*.grib2$
Disallow: /history/*/hourly
",
    },
    Policy {
        file: "games.example.org",
        form: Form::Lf,
        text: "\
USER-AGENT: *
DISALLOW: /play/
DISALLOW: /leaderboard/*?page=
ALLOW: /play/demo
DISALLOW: /mod/100%25/

USER-AGENT: BAIDUSPIDER
DISALLOW: /play/
",
    },
    Policy {
        file: "code.example.net",
        form: Form::Lf,
        text: "\
# Cloning beats crawling.
User-agent: *
Disallow: /*/*/blame/
Disallow: /*/*/commits/
Disallow: /*/*/raw/
Disallow: /*/*/archive/
Disallow: /*/*/tree/
Allow: /*/*/tree/main$
Allow: /*/*/tree/main/docs
Disallow: /*?tab=
Disallow: /search
Disallow: /*.git$

User-agent: GPTBot
User-agent: ClaudeBot
Disallow: /*/*/blob/
Disallow: /*/*/raw/
",
    },
    Policy {
        file: "mirror.test",
        form: Form::Lf,
        text: "\
# A mirror: fetch from the origin. Two partners have an agreement.
User-agent: *
Disallow: /
Allow: /$
Allow: /status.html

User-agent: Bingbot
User-agent: ia_archiver
Disallow:
",
    },
    Policy {
        file: "blog.example.net",
        form: Form::Lf,
        text: "\
User-agent: *
Disallow: /wp-login.php
Disallow: /feed/$
Disallow: /tag/
Disallow: /*/trackback/$

# I write for people.
User-agent: GPTBot
User-agent: CCBot
User-agent: ClaudeBot
User-agent: Amazonbot
User-agent: AI2Bot
Disallow: /

Sitemap: https://blog.example.net/sitemap.xml.gz
",
    },
    Policy {
        file: "health.example.org",
        form: Form::Lf,
        text: "
Sitemap: https://health.example.org/sitemap.xml

User-agent: Googlebot-Image
Disallow: /scans/

User-agent: Googlebot
Disallow: /symptom-checker/
Disallow: /*?session

User-agent: *
Disallow: /symptom-checker/
Disallow: /patients/
Disallow: /*?session
Disallow: /leaflets/*.pdf$",
    },
];

const SITES: &[Site] = &[
    Site {
        share: 50,
        origins: "https://bakery.example http://bakery.example",
        shapes: "/ /bread /bread/{word} /bread/{word}-{word} /orders/{id} /opening-hours /jobs \
            /news/{year}/{month}",
    },
    Site {
        share: 60,
        origins: "https://gazette.example http://gazette.example",
        shapes: "/{year}/{month}/{word}-{word} /{year}/{month}/{word}-{word}-{word} /archive/{year} \
            /archive/{year}/{month} /archive/photos/{id} /weather",
    },
    Site {
        share: 60,
        origins: "https://files.example",
        shapes: "/a/b.txt /a/{word}.txt /a%2Fb.txt /a%2f{word}.txt /a/b/{word}.tar.gz /{word}/{word}%20{word}.pdf \
            /{word}/{id}.zip /{word}/{hex}.bin",
    },
    Site {
        share: 50,
        origins: "https://board.example",
        shapes: "/topic.php?id={id} /topic.php?id={id}&page={page} /index.php /old.php/new.php /user/{word} /faq \
            /topics/{word}-{word}-{id}",
    },
    Site {
        share: 50,
        origins: "https://museum.example http://museum.example",
        shapes: "/ /collection/{id} /collection/{word}-{word} /loans/{year} /visit /exhibitions/{year}/{word}",
    },
    Site {
        share: 60,
        origins: "https://travel.example",
        shapes: "/{word} /{word}/{word}-{word} /booking/{id} /booking/{id}/confirm /guides/{word}-{word}.html \
            /guides/{word}/map",
    },
    Site {
        share: 50,
        origins: "https://manual.example",
        shapes: "/api/public/start /api/public/keys /api/public/{word}/{word} /api/{word} /guide/{word}.html \
            /guide/{word}-{word}.html",
    },
    Site {
        share: 60,
        origins: "https://market.example",
        shapes: "/sale /sale/{word} /{word}/{word}-{id} /{word} /seller/{word} /seller/{word}/items?page={page} \
            /{word}/{word}-{id} /help/{word}-{word}",
    },
    Site {
        share: 55,
        origins: "https://campus.example http://campus.example",
        shapes: "/~anna/cv /%7Eanna/{word}.html /~{word}/ /caf%c3%a9/menu /café/{word} /caf%C3%A9/{month} \
            /courses/{year}/{word} /map /departments/{word}",
    },
    Site {
        share: 90,
        origins: "https://shop.example",
        shapes: "/shoes?page={page} /shoes?page={page}&sort=up /{word}?sort=price /{word}?color={word} \
            /{word}/{word}-{id} /{word}/{id}",
    },
    Site {
        share: 55,
        origins: "https://library.example",
        shapes: "/private/list /about /about/staff /book/{id} /book/{id}/{word} /search/{word} /shelf/{word}",
    },
    Site { share: 30, origins: "https://poetry.example", shapes: "/odes/{page} /sonnets/{page} /poets/{word} /" },
    Site {
        share: 70,
        origins: "https://radio.example",
        shapes: "/live/{page} /studio/cam /shows/{word} /shows/{word}/{year}-{month} /playlist?from={year} \
            /podcasts/{word} /schedule/{year}/{month}",
    },
    Site {
        share: 25,
        origins: "https://vault.example",
        shapes: "/robots.txt /robots.txt.bak /door/{page} /deposit/{hex} /robots.txt?v={page}",
    },
    Site {
        share: 50,
        origins: "https://bank.example",
        shapes: "/login?next=%2Faccount /login?next=/account /login/next=/account /loans/{word} \
            /branches/{word}?next=%2faccount%2f{id} /rates /cards/{word}-{word}",
    },
    Site {
        share: 60,
        origins: "https://old.example.net http://old.example.net",
        shapes: "/attic/{word} /index.htm /{word}.htm /{word}/{word}.htm /guestbook.cgi?entry={id} /links.htm",
    },
    Site {
        share: 60,
        origins: "https://data.example.org",
        shapes: "/raw/{id} /tables/{id} /tables/{id}.csv /bulk/{year}.parquet /catalog/{word} \
            /catalog/{word}-{word} /catalog/{word}?format=json",
    },
    Site {
        share: 60,
        origins: "https://bücher.example https://xn--bcher-kva.example https://B%C3%BCcher.example",
        shapes: "/ /buch/{id} /buch/{id}/{word} /autor/{word}-{word} /konto/ /suche?q={word} /leseprobe/{id} \
            /verlag/k%C3%B6nig-{word}",
    },
    Site { share: 30, origins: "http://staging.test:8080 https://staging.test", shapes: "/preview/{page} /build/{hex} /build/{hex}/log" },
    Site {
        share: 40,
        origins: "https://api.example.net:8443 https://api.example.net:8443 http://api.example.net:8443",
        shapes: "/v2/openapi.json /v2/status /v2/users/{id} /v1/{word}/{id} /v2/{word}?limit={page} /health /",
    },
    Site {
        share: 360,
        origins: "https://www.example.com http://www.example.com https://www.example.com:443",
        shapes: "/ /about /contact /blog/{year}/{month}/{word}-{word}/ /blog/{year}/{month}/{word}-{word}-{word}/ \
            /blog/{year}/{month}/{word}-{word}/?replytocom={id} /wp-admin/admin-ajax.php?action={word} \
            /wp-content/uploads/{year}/{month}/{word}-{id}.jpg /search?q={word}+{word} \
            /products/{word}-{word} /products/{word}/{id} /wp-admin/ /cgi-bin/{word}.pl /tmp/{hex} \
            /blog/category/{word}/ /blog/category/{word}/page/{page}/ /team/{word}-{word}",
    },
    Site {
        share: 800,
        origins: "https://shop.example.com http://shop.example.com",
        shapes: "/c/{word} /c/{word}?page={page} /c/{word}?page={page}&sort=price \
            /c/{word}?color={word}&price=10-{page} /p/{word}-{word}-{id} /p/{word}-{word}-{id} \
            /p/{word}-{id}/print /cart?add={id} /reviews/{id} /account/orders/{id} /wishlist/{hex}/share \
            /brands/{word} /p/{id} /checkout/{word} /p/{word}-{word}-{id} /p/{word}-{word}-{word}-{id} \
            /c/{word}/{word} /c/{word}/{word}?page={page} /stores/{word} /gift-ideas/{word}-{word} /returns",
    },
    Site {
        share: 300,
        origins: "https://news.example.org http://news.example.org https://user@news.example.org",
        shapes: "/{year}/{month}/{word}-{word}-{word}.html /{year}/{month}/{word}-{word}.html \
            /politics/{word}-{word}-{id} /sport/{word}/{id} /subscribers/{word} \
            /{word}/{id}/comments?page={page} /search?q={word} /about/{word} /rss/{word}.xml \
            /sponsored/{word}-{word}",
    },
    Site {
        share: 800,
        origins: "https://wiki.example.org http://wiki.example.org",
        shapes: "/wiki/{word} /wiki/{word}_{word} /wiki/{word}_({word}) /wiki/{word}_{word} \
            /wiki/Caf%C3%A9_{word} /wiki/Special:Search?q={word} /wiki/Special%3ALog/{word} \
            /wiki/User_talk:{word} /w/index.php?title={word}&action=edit \
            /w/index.php?title={word}&oldid={id} /w/load.php?modules={word} /wiki/{word}?action=history \
            /wiki/Sp%c3%a9cial:{word} /wiki/Talk:{word} /wiki/{word}_{word}_{word} \
            /wiki/List_of_{word}_and_{word} /wiki/File:{word}_{id}.jpg /wiki/Category:{word} \
            /w/api.php?action=query&titles={word} /w/skins/{word}.css /wiki/{word}#{word} \
            /wiki/{word},_{word} /wiki/%E3%83%84_{word} /wiki/{word}",
    },
    Site {
        share: 500,
        origins: "https://forum.example.net http://forum.example.net",
        shapes: "/viewtopic.php?t={id} /viewtopic.php?f={page}&t={id} \
            /viewtopic.php?f={page}&t={id}&start={page}0 /viewtopic.php?p={id} /viewforum.php?f={page} \
            /viewforum.php?f={page}&sid={hex}{hex} /memberlist.php?mode=viewprofile&u={id} /index.php \
            /announcements/{word}-{word} /faq/{word} /gallery/{word}/{id} /blogs/{word}/{id} \
            /posting.php?mode=reply&t={id} /search.php?keywords={word} /rules \
            /blogs/{word}/{year}/{word}-{word} /gallery/{word} /announcements/{year}/{word} \
            /viewforum.php?f={page}&start={page}0 /wiki/{word}-{word} /groups/{word} \
            /events/{year}/{month}/{word} /viewtopic.php?t={id}&view=print /groups/{word}/{id} \
            /polls/{word}-{id} /ucp.php?mode=login /index.php?sid={hex}{hex} /gallery/{word}/{hex}.jpg",
    },
    Site {
        share: 480,
        origins: "https://www.university.example http://www.university.example",
        shapes: "/ /courses/{word}/{year} /courses/{word}-{word} /people/{word}.{word} /people/{word}.vcf \
            /~{word}/ /~{word}/papers/{word}{year}.pdf /~{word}/private/{word}.tex /%7E{word}/private/notes \
            /calendar/{year}/{month} /calendar/{year}/export?format=ics /intranet/{word} \
            /intranet/public/{word} /news/{year}/{word}-{word} /faculties/{word}/staff \
            /library/catalogue/{id} /theses/{year}/{word}-{word}.pdf",
    },
    Site {
        share: 470,
        origins: "https://recipes.example.com http://recipes.example.com",
        shapes: "/recipe/{word}-{word} /recipe/{word}-{word}-{id} /recipe/{word}/summary /recipe/{word}/nutrition \
            /print/{id} /recipe/{word}?servings={page} /category/{word} /category/{word}/{page} \
            /season/{word}/{year} /cooks/{word} /techniques/{word}-{word} /menus/{year}/{month} /my-cookbook \
            /season/{word} /cooks/{word}-{word}/favourites /ingredients/{word} /ingredients/{word}-{word} \
            /videos/{word}-{id} /category/{word}/{word}",
    },
    Site {
        share: 420,
        origins: "https://docs.example.net",
        shapes: "/en/latest/{word}.html /en/latest/{word}/{word}.html /en/stable/{word}.html \
            /en/stable/api/{word}.html /en/v{page}.0/{word}.html /en/latest/_sources/{word}.rst.txt \
            /en/stable/search.html?q={word} /de/latest/{word}.html /fr/latest/{word}/{word}.html \
            /en/latest/genindex.html /en/stable/{word}.html#{word} /changelog /en/latest/{word}-{word}.html \
            /pt/stable/{word}.html /ja/latest/{word}/{word}.html",
    },
    Site {
        share: 420,
        origins: "https://www.ministry.example http://www.ministry.example",
        shapes: "/publications/{year}/{word}-{word} /publications/{year}/{word}-{word}.pdf \
            /press/{year}/{month}/{id} /forms/{word}.pdf /forms/draft/{word}.pdf /circulars/{year}/{id}.doc \
            /statistics/{word}.xls /statistics/{word}.xlsx /consultation/{word}/responses/{id} \
            /consultation/{word} /internal/{word} /laws/{year}/{id} /press/{year}/{month}/{word}-{word} \
            /minister/speeches/{year}/{word} /offices/{word} /budget/{year}/{word}.pdf",
    },
    Site {
        share: 400,
        origins: "https://video.example.com http://video.example.com",
        shapes: "/watch?v={hex} /watch?v={hex}&t={page}s /watch?list={hex}&v={hex} /channel/{word} \
            /channel/{word}/about /channel/{word}/community?lb={hex} /embed/{hex} \
            /results?search_query={word} /transcripts/{hex} /topics/{word} /shorts/{hex} /live/{word}-{word} \
            /api/v1/{hex} /topics/{word}/{word} /shorts/{hex} /playlists/{word}-{word}-{hex} /channel/{word} \
            /live/{word} /channel/{word}/videos /topics/{word}-{word}",
    },
    Site {
        share: 310,
        origins: "https://maps.example.org http://maps.example.org",
        shapes: "/tiles/{page}/{id}/{id}.png /place/{word}-{word} /place/{word}/@{page}.{id},{page}.{id} \
            /route?from={word}&to={word} /city/{word} /city/{word};jsessionid={hex} /export/{id}/map.svg \
            /export/{uuid}/map.svg /trails/{word}-{word} /peaks/{id} /peaks/{word} \
            /trails/{word}/{word}-{word} /city/{word}/{word} /lakes/{id} /city/{word}",
    },
    Site { share: 150, origins: "https://quiet.example", shapes: "/ /{word} /{word}/{word} /notes/{year}-{month}" },
    Site {
        share: 180,
        origins: "https://portal.example.net http://portal.example.net",
        shapes: "/ /go/{word} /directory/{word}/{word} /ask?question={word}%20{word} /stocks/{id} \
            /horoscope/{word}",
    },
    Site {
        share: 160,
        origins: "https://garden.example",
        shapes: "/plants/{word} /plants/{word}-{word} /shed/{word} /compost/{word} /seedlings/{year} \
            /seedlings/private/{id} /almanac/{year}/{month} /tools/{word}",
    },
    Site {
        share: 220,
        origins: "https://podcast.example",
        shapes: "/episode/{id} /episode/{id}/transcript /episode/{id}/download?mirror={page} /shows/{word} \
            /feed/{word}.xml /feed/private-{hex}.xml /members/{word} /hosts/{word}-{word} \
            /shows/{word}-{word} /episode/{id}/notes /topics/{word}",
    },
    Site {
        share: 360,
        origins: "https://jobs.example.com http://jobs.example.com",
        shapes: "/jobs/{id} /jobs/{word}-{word}-{id} /jobs/{word}-{word}-{id}?utm_source={word} \
            /jobs/{id}/expired /jobs/archive/{year} /apply/{id} /companies/{word} \
            /companies/{word}?ref={hex} /salaries/{word} /advice/{word}-{word} /locations/{word} \
            /jobs/{word}-{word}-{id} /companies/{word}-{word} /locations/{word}/{word} \
            /salaries/{word}-{word} /skills/{word} /jobs/{id}",
    },
    Site {
        share: 260,
        origins: "https://weather.example.net http://weather.example.net",
        shapes: "/forecast/{word} /forecast/{word}/{page} /radar/frames/{id}.png /radar/{word} /api/help \
            /api/v3/{word}?days={page} /models/{hex}.grib2 /history/{year}/{month} \
            /history/{year}/hourly/{month} /climate/{word}/{year} /forecast/{word}-{word} \
            /warnings/{year}/{month} /climate/{word} /stations/{id} /api/help/{word}",
    },
    Site {
        share: 220,
        origins: "https://games.example.org",
        shapes: "/play/{word}-{word} /play/demo/{word} /leaderboard/{word} /leaderboard/{word}?page={page} \
            /mod/100%25/{word} /mod/{word}-{id} /reviews/{word}-{word} /guides/{word}/{word} \
            /patch-notes/{year} /news/{year}/{word}-{word} /forum/{word}/{id} /studios/{word}",
    },
    Site {
        share: 620,
        origins: "https://code.example.net",
        shapes: "/{word}/{word} /{word}/{word}/blob/main/src/{word}.rs /{word}/{word}/blob/main/README.md \
            /{word}/{word}/issues/{id} /{word}/{word}/issues /{word}/{word}/pull/{id} \
            /{word}/{word}/tree/main /{word}/{word}/tree/main/docs/{word} /{word}/{word}/tree/v{page}/src \
            /{word}/{word}/raw/main/{word}.txt /{word}/{word}/commits/{hex}{hex} /{word}/{word}.git \
            /{word}?tab=stars /{word}/{word}/releases /{word}/{word}/wiki/{word} \
            /{word}/{word}/blame/main/{word}.c /{word}/{word}/archive/v{page}.zip /search?q={word} \
            /{word}/{word}/issues/{id} /{word}/{word}/pull/{id} /{word}/{word}/releases/tag/v{page}.{page} \
            /{word}/{word}/discussions/{id} /{word}/{word}/labels/{word} /{word} /explore/{word} \
            /{word}/{word}/milestone/{page} /{word}/{word}/wiki /{word}/{word}-{word}",
    },
    Site {
        share: 60,
        origins: "https://mirror.test http://mirror.test",
        shapes: "/ /status.html /pub/{word}/{word}-{page}.tar.gz /pub/{word}/SHA256SUMS",
    },
    Site {
        share: 120,
        origins: "https://blog.example.net http://blog.example.net",
        shapes: "/{year}/{month}/{word}-{word}-{word}/ /{year}/{word}/ /tag/{word} /feed/ \
            /{year}/{month}/{word}/trackback/ /about/",
    },
    Site {
        share: 340,
        origins: "https://health.example.org http://health.example.org",
        shapes: "/conditions/{word} /conditions/{word}/{word}-{word} /symptom-checker/{page} /patients/{hex} \
            /leaflets/{word}-{word}.pdf /leaflets/{word} /hospitals/{id} /news/{year}/{word}?session={hex} \
            /living-with/{word} /medicines/{word}-{id} /scans/{id}.png /conditions/{word}-{word} \
            /hospitals/{word}/{word} /wellbeing/{word} /research/{year}/{word}-{word}",
    },
    Site {
        share: 60,
        origins: "https://cdn.example.net http://cdn.example.net",
        shapes: "/assets/{hex}.js /assets/{hex}.css /img/{word}/{id}.webp?w={page}00",
    },
    Site { share: 25, origins: "https://img.shop.example", shapes: "/a.png /{word}-{id}.png" },
    Site {
        share: 30,
        origins: "https://unknown.test ftp://unknown.test https://news.example.org:8443",
        shapes: "/{word}/{id} /pub/{word}.zip /{word}",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn policy_of(url: &str) -> Option<&'static Policy> {
        let host = url.split('/').nth(2)?;
        let host = if host == "bücher.example" { "xn--bcher-kva.example" } else { host };
        let file = host.replace(':', "_");
        POLICIES.iter().find(|policy| policy.file == file)
    }

    #[test]
    fn every_cited_line_is_a_rule_of_that_verdict() {
        for trap in TRAPS {
            for answer in trap.answers.iter().filter(|answer| answer.line > 0) {
                let policy = policy_of(trap.url).expect(trap.url);
                let line = policy.text.lines().nth(answer.line as usize - 1);
                let key = line.and_then(|line| line.split_once(": ")).expect(trap.url).0;
                assert!(key.eq_ignore_ascii_case(answer.verdict), "{}", trap.url);
            }
        }
    }

    #[test]
    fn every_trap_is_named_in_its_file() {
        for trap in TRAPS {
            if let Some(policy) = policy_of(trap.url) {
                assert!(policy.text.starts_with("# Trap: "), "{}", trap.url);
            }
        }
    }

    #[test]
    fn sizes_are_as_promised() {
        assert_eq!((POLICIES.len(), TRAPS.len()), (42, 32));
        assert!(TRAPS.iter().all(|trap| trap.url.len() <= 60));
        let list = frontier();
        assert_eq!(list.lines().count(), ROWS);
        assert!(list.len() <= 700_000);
    }
}
