//! Workloads: robots.txt policies and URL lists of any size, the same on every machine.
//!
//! Rules and paths are put together from words, extensions, keys and numbers by shapes that real sites have. A part of the URLs is made from the rules, a
//! part of those missing the rule by one octet; the rest are random paths, which rules of one word hit now and then.

use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;

use super::random::Random;

/// What a workload is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// Rules a policy.
    pub rules: usize,
    /// Groups a policy; the first is that of `*`.
    pub groups: usize,
    /// Rules with a `*` among them.
    pub wildcards: usize,
    /// Of a hundred rules with a `*`, how many have it at the front, before anything that could tell targets apart.
    pub floating: usize,
    /// Of a hundred rules, how many allow.
    pub allowing: usize,
    /// Rows of the list.
    pub rows: usize,
    /// Of a hundred URLs, how many are made from a rule.
    pub matching: usize,
    /// Origins, each with a policy of its own.
    pub origins: usize,
    /// Rows of one origin that follow each other, on average.
    pub run: usize,
    /// Another seed, another workload.
    pub seed: u64,
}

impl Shape {
    /// The classes by name: S, M, L, and R, a policy of one long group.
    pub fn class(name: &str) -> Option<Shape> {
        let base = Shape {
            rules: 6,
            groups: 1,
            wildcards: 0,
            floating: 60,
            allowing: 25,
            rows: 200_000,
            matching: 50,
            origins: 1,
            run: 1,
            seed: 1,
        };
        match name {
            "S" => Some(base),
            "M" => Some(Shape { rules: 60, groups: 4, wildcards: 12, ..base }),
            "L" => Some(Shape { rules: 1_000, groups: 30, wildcards: 297, ..base }),
            "R" => Some(Shape { rules: 5_500, ..base }),
            _ => None,
        }
    }
}

/// A policy under the name of its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The host.
    pub host: String,
    /// The robots.txt.
    pub robots: String,
}

/// Policies and a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// One an origin.
    pub policies: Vec<Policy>,
    /// A URL a line.
    pub urls: String,
}

/// The agent that the group of that number names: `*`, then crawlers that sites do name, then made-up ones.
pub fn token(group: usize) -> String {
    TOKENS.split_whitespace().nth(group).map_or_else(|| format!("Crawler{group}"), str::to_owned)
}

/// Makes a workload.
pub fn generate(shape: &Shape) -> Workload {
    let mut random = Random(shape.seed);
    let sites: Vec<Site> = (0..shape.origins.max(1)).map(|number| Site::new(number, shape, &mut random)).collect();
    let urls = urls(shape, &sites, &mut random);
    Workload { policies: sites.into_iter().map(|site| Policy { host: site.host, robots: site.robots }).collect(), urls }
}

/// An origin: its policy, and the patterns of it from which URLs are made.
struct Site {
    host: String,
    robots: String,
    patterns: Vec<String>,
}

impl Site {
    fn new(number: usize, shape: &Shape, random: &mut Random) -> Site {
        let host = match number {
            0 => "www.shop.example".to_owned(),
            _ => format!("{}{number}.example", random.pick(WORDS)),
        };
        let patterns = patterns(shape, random);
        let mut robots = String::new();
        for (group, range) in group_ranges(shape.rules, shape.groups.max(1)).into_iter().enumerate() {
            let blank = if group == 0 { "" } else { "\n" };
            writeln!(robots, "{blank}User-agent: {}", token(group)).unwrap();
            for pattern in &patterns[range] {
                let key = if random.percent(shape.allowing) { "Allow" } else { "Disallow" };
                writeln!(robots, "{key}: {pattern}").unwrap();
            }
        }
        write!(robots, "\nSitemap: https://{host}/sitemap.xml\n").unwrap();
        Site { host, robots, patterns }
    }
}

/// Which rules belong to which group: four tenths to the first, less to the second and third, the rest evenly.
pub fn group_ranges(rules: usize, groups: usize) -> Vec<Range<usize>> {
    let weight = |group: usize| match group {
        0 => 800,
        1 => 300,
        2 => 200,
        _ => 700 / (groups - 3).max(7),
    };
    let total: usize = (0..groups).map(weight).sum();
    let end = |group: usize| (0..group).map(weight).sum::<usize>() * rules / total;
    (0..groups).map(|group| end(group)..end(group + 1)).collect()
}

/// Distinct patterns, those with a star spread among the others.
fn patterns(shape: &Shape, random: &mut Random) -> Vec<String> {
    let mut known = HashSet::new();
    let mut patterns = Vec::with_capacity(shape.rules);
    for at in 0..shape.rules {
        // As many stars up to here as the share of the rules up to here asks for.
        let stars = |at: usize| at * shape.wildcards.min(shape.rules) / shape.rules;
        let shapes = match stars(at + 1) > stars(at) {
            false => LITERAL,
            true if random.percent(shape.floating) => FLOATING,
            true => GATED,
        };
        let mut pattern = random.fill(shapes);
        while !known.insert(pattern.clone()) {
            // The words are used up: a number tells rules apart, where a path may have one.
            pattern = random.fill(shapes).replacen(char::is_alphabetic, &format!("{}", char::from(b'a' + random.below(26) as u8)), 1);
            pattern.insert_str(pattern.rfind(char::is_alphanumeric).unwrap_or(0), &random.below(100).to_string());
        }
        patterns.push(pattern);
    }
    patterns
}

fn urls(shape: &Shape, sites: &[Site], random: &mut Random) -> String {
    let mut urls = String::new();
    let mut site = &sites[0];
    for _ in 0..shape.rows {
        if random.below(shape.run.max(1)) == 0 {
            site = &sites[random.below(sites.len())];
        }
        write!(urls, "https://{}", site.host).unwrap();
        match site.patterns.is_empty() || !random.percent(shape.matching) {
            true => random.path(&mut urls),
            false => {
                let pattern = &site.patterns[random.below(site.patterns.len())];
                random.path_of(pattern, &mut urls);
            }
        }
        urls.push('\n');
    }
    urls
}

impl Random {
    fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    fn pick<'w>(&mut self, words: &'w str) -> &'w str {
        let count = words.split_whitespace().count();
        words.split_whitespace().nth(self.below(count)).expect("one of them")
    }

    /// One of `shapes` with its blanks filled.
    fn fill(&mut self, shapes: &str) -> String {
        let mut out = String::new();
        let mut rest = self.pick(shapes);
        while let Some((before, tail)) = rest.split_once('{') {
            let (blank, after) = tail.split_once('}').expect("a shape closes its braces");
            out.push_str(before);
            self.blank(blank, &mut out);
            rest = after;
        }
        out.push_str(rest);
        out
    }

    fn blank(&mut self, blank: &str, out: &mut String) {
        match blank {
            "w" => out.push_str(self.pick(WORDS)),
            "d" => out.push_str(self.pick(DIRECTORIES)),
            "x" => out.push_str(self.pick(EXTENSIONS)),
            "k" => out.push_str(self.pick(KEYS)),
            "n" => write!(out, "{}", 1 + self.below(99)).unwrap(),
            "id" => write!(out, "{}", 1_000 + self.below(9_999_000)).unwrap(),
            "year" => write!(out, "{}", 2008 + self.below(18)).unwrap(),
            "month" => write!(out, "{:02}", 1 + self.below(12)).unwrap(),
            "hex" => write!(out, "{:010x}", self.next() >> 24).unwrap(),
            "esc" => out.push_str(self.pick(ESCAPED)),
            other => panic!("no blank is called {other}"),
        }
    }

    /// A path that knows no rule.
    fn path(&mut self, out: &mut String) {
        let path = self.fill(PATHS);
        out.push_str(&path);
        if path.len() < 24 {
            self.tail(out);
        }
        if !path.contains('?') && self.percent(30) {
            self.query('?', out);
        }
    }

    /// A path that a rule matches, or misses by an octet in one of eight.
    fn path_of(&mut self, pattern: &str, out: &mut String) {
        let start = out.len();
        let text = pattern.strip_suffix('$').unwrap_or(pattern);
        if !text.starts_with('/') {
            out.push('/');
        }
        for (at, stretch) in text.split('*').enumerate() {
            if at > 0 && self.percent(75) {
                let filling = self.fill("{w} {w}-{w} {d}/{w} {w}/{id} {hex}");
                out.push_str(&filling);
            }
            out.push_str(stretch);
        }
        if self.percent(12) {
            self.spoil(start, out);
        }
        if text.len() == pattern.len() {
            self.end(start, out);
        }
    }

    /// What may follow where a rule has no `$`.
    fn end(&mut self, start: usize, out: &mut String) {
        let has_query = out[start..].contains('?');
        match out.as_bytes().last() {
            Some(b'=') => out.push_str(&self.fill("{w} {n} {id} {hex}")),
            Some(b'?') => out.push_str(&self.fill("{k}={w} {k}={id}")),
            _ if !has_query => self.tail(out),
            _ => {}
        }
        if self.percent(40) {
            self.query(if has_query { '&' } else { '?' }, out);
        }
    }

    /// Another letter in place of the last one behind `start`.
    fn spoil(&mut self, start: usize, out: &mut String) {
        if let Some(at) = out[start..].rfind(|letter: char| letter.is_ascii_alphabetic()) {
            let letter = char::from(b'a' + self.below(26) as u8);
            out.replace_range(start + at..=start + at, letter.encode_utf8(&mut [0; 4]));
        }
    }

    fn tail(&mut self, out: &mut String) {
        let tail = self.fill(TAILS);
        out.push_str(if out.ends_with('/') { tail.trim_start_matches('/') } else { &tail });
    }

    fn query(&mut self, mark: char, out: &mut String) {
        let query = self.fill("{k}={w} {k}={id} {k}={hex} {k}={n}&{k}={w} {k}={w}&{k}={hex} {k}={w}+{w} {k}={n}&{k}={n}&{k}={w}");
        out.push(mark);
        out.push_str(&query);
    }
}

const TOKENS: &str = "* Googlebot Bingbot GPTBot CCBot ClaudeBot YandexBot Baiduspider DuckDuckBot Applebot AhrefsBot SemrushBot MJ12bot DotBot \
    PetalBot Bytespider Amazonbot FacebookBot PerplexityBot Diffbot Omgilibot ImagesiftBot YouBot Timpibot OAI-SearchBot ChatGPT-User \
    Google-Extended Applebot-Extended Meta-ExternalAgent cohere-ai anthropic-ai Claude-Web ia_archiver archive.org_bot Slurp Sogou SeznamBot";

const LITERAL: &str = "/{d}/ /{d}/ /{d}/{w}/ /{d}/{w}/ /{d}/{w}/{w}/ /{d}-{w}/ /{w}-{w}/ /{w}.{x} /{d}/{w}.{x} /{w}.{x}$ /{d}{n}/ /{w}{n}/{d}/ \
    /{d}? /{d}/{w}?{k}= /{d}.{x}?{k}= /{w}/{d} /{w}/{w}-{n} /{d}/{year}/ /{w}_{w}/ /~{w}/";

const GATED: &str = "/{d}/*/{w} /{d}/*/{w}/ /{d}*.{x}$ /{d}/*?{k}= /{w}/*.{x} /{d}/*-{w}/ /{d}/{w}*{k}= /{w}*/{d}/ /{d}/*/{w}/*/{d}";

const FLOATING: &str = "/*.{x}$ /*.{x} /*?{k}= /*&{k}= /*/{w}/ /*/{d}/{w} *{w}-{w} /*?*{k}= /*{w}.{x}$ /*/{w}-{n}/ *?{k}={w} /*{w}*{d}/";

const PATHS: &str = "/ /{d}/ /{w} /{d}/{w} /{d}/{w} /{d}/{w}-{w} /{d}/{w}/{w}-{w}-{w} /{w}/{w}-{id}.{x} /{w}-{w}/{w}/{w}.{x} /{d}/{year}/{month}/{w}-{w} \
    /{year}/{month}/{w}-{w}-{w}-{w}/ /{d}/{id}/{w}-{w} /{d}/{w}/{id} /{d}/{w}.{x}?{k}={id} /{d}/{w}?{k}={w}&{k}={n} /{w}/{hex}/{w}.{x} \
    /{d}{n}/{w}/{w}-{w} /{d}/{w}/{w}/{w}/{w}-{n}.{x} /{w}_{w}/{w}_{w}_{w}.{x} /~{w}/{w}/{w}.{x} /{d}/{esc}/{w} /{d}/{w}-{esc}?{k}={esc} \
    /{w}/{w}-{w}-{w}-{w}-{w}-{w}-{w}";

const TAILS: &str =
    "/{w} /{w}-{w} /{w}/{w}-{w}-{w} /{w}/{id} /{w}/{w}.{x} /{year}/{month}/{w}-{w} /{w}-{id}.{x} /{hex} /{w}/{w}/{w}-{w} /{w}-{w}-{w}-{w}";

const DIRECTORIES: &str = "account admin ajax api app archive articles assets author basket blog calendar cart catalog category cgi-bin checkout comments \
    compare contact content css customer data docs download events export feed files forum gallery go help images img includes jobs js lib \
    login mail media members modules news node orders pages people plugins print private product products profile public register reports \
    reviews rss scripts search secure services shop sitemap static stats store tags temp themes topics track uploads user users video wiki";

const EXTENSIONS: &str = "html php htm asp aspx jsp pdf xml json txt doc xls zip jpg png gif css js cgi rss";

const KEYS: &str =
    "page sort order id sid q lang ref view print session filter color size price limit offset utm_source replyto action mode cat tag date";

const ESCAPED: &str = "caf%C3%A9 %C3%BCber na%c3%afve 100%25 a%20b %7Ehome %E6%96%B0%E8%81%9E r%C3%A9sum%C3%A9 left%2Fright x%2By";

const WORDS: &str = "acorn almond amber anchor apple apricot arch ash aspen atlas autumn badger bamboo barley basil bay beacon bean beetle birch bloom \
    bramble brass breeze bridge brook button cabin candle canyon carbon cedar chalk cherry chestnut cider clay cliff cloud clover coal cobalt \
    comet copper coral cotton crane creek crystal cypress daisy dawn delta dew dove drift dune dusk eagle echo elm ember fable falcon feather \
    fern field finch fjord flint forest fox frost garnet ginger glacier glade granite grove harbor hazel heath heron hill holly honey horizon \
    indigo iris iron island ivory ivy jade jasmine juniper kelp kettle lagoon lantern larch lark laurel lemon lichen lilac lily linen lotus \
    lunar maple marble marsh meadow mint mist moon moss nectar nettle north nutmeg oak oasis ochre olive onyx opal orchard orchid osprey otter \
    pebble pepper pine plain plum pollen pond poppy prairie quartz quill quince rain raven reed ridge river robin rose rowan saffron sage \
    sand sapphire shell silver slate snow sorrel sparrow spruce star stone storm summit swan teal thistle thyme tide timber topaz trail tulip \
    tundra valley velvet violet walnut wave wheat willow wind winter wren yarrow zephyr";
