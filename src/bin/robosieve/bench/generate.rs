//! A sample to measure on where none is given: six sites, from no policy over one rule to 5,000, and URLs half of which are made from the rules.
//!
//! The same rows on every machine.

use robosieve::agent::crawlers;
use robosieve::dialect::Dialect;
use robosieve::store::Store;
use robosieve::store::build::{Builder, Record};

use crate::exit::Failure;

/// A site: its host, its groups, its rules, and how many of these hold a star.
struct Site {
    host: &'static str,
    groups: usize,
    rules: usize,
    starred: usize,
}

const SITES: [Site; 4] = [
    Site { host: "small.example", groups: 1, rules: 6, starred: 0 },
    Site { host: "medium.example", groups: 4, rules: 60, starred: 12 },
    Site { host: "large.example", groups: 30, rules: 1_000, starred: 300 },
    Site { host: "flat.example", groups: 1, rules: 5_000, starred: 0 },
];

const WORDS: [&str; 40] = [
    "account", "archive", "articles", "assets", "basket", "blog", "brands", "calendar", "catalog", "category", "comments", "contact",
    "docs", "download", "events", "export", "feed", "forum", "gallery", "guide", "help", "images", "index", "jobs", "login", "map",
    "media", "news", "offers", "orders", "photos", "press", "print", "product", "profile", "review", "search", "shop", "support", "tag",
];
const PARAMETERS: [&str; 8] = ["page", "sort", "id", "lang", "view", "filter", "session", "ref"];
const ENDINGS: [&str; 6] = [".html", ".php", ".pdf", "/", "", ".json"];

/// Xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound
    }

    fn of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

/// The policies, compiled, and a list of `rows` URLs.
pub fn sample(dialect: Dialect, rows: usize) -> Result<(Store, Vec<u8>), Failure> {
    let mut random = Random(0x9309_2022_0000_0001);
    let mut builder = Builder::new(dialect);
    let mut paths = Vec::new();
    for site in &SITES {
        let rules = (0..site.rules).map(|index| rule(&mut random, index < site.starred)).collect::<Vec<_>>();
        builder.add_name(site.host, Record::body(robots(&mut random, site, &rules).into_bytes()))?;
        paths.push((site.host, rules));
    }
    builder.add_name("closed.example", Record::body(b"User-agent: *\nDisallow: /\n".to_vec()))?;
    paths.push(("closed.example", Vec::new()));
    paths.push(("unknown.example", Vec::new()));
    Ok((builder.finish()?.open()?, list(&mut random, &paths, rows)))
}

fn path(random: &mut Random) -> String {
    let mut path = String::new();
    for _ in 0..1 + random.below(4) {
        path.push('/');
        path.push_str(random.of(&WORDS));
        if random.below(2) == 0 {
            path.push_str(&format!("-{}", random.below(5_000)));
        }
    }
    path
}

fn rule(random: &mut Random, starred: bool) -> String {
    let start = path(random);
    match (starred, random.below(5)) {
        (false, _) => start + random.of(&["/", "", ".html", "/"]),
        (true, 0) => format!("/*{}$", random.of(&ENDINGS[..3])),
        (true, 1) => format!("/*?*{}=", random.of(&PARAMETERS)),
        (true, 2) => format!("/*{start}/"),
        (true, 3) => format!("{start}/*/{}", random.of(&WORDS)),
        (true, _) => format!("{start}*{}$", random.of(&ENDINGS[..3])),
    }
}

/// The rules, dealt out to the groups: a third to `*`, the rest evenly. One in eight allows.
fn robots(random: &mut Random, site: &Site, rules: &[String]) -> String {
    let mut names = std::iter::once("*").chain(crawlers().iter().map(|crawler| crawler.token));
    let mut groups: Vec<String> = names.by_ref().take(site.groups).map(|name| format!("User-agent: {name}\n")).collect();
    for rule in rules {
        let group = if random.below(3) == 0 { 0 } else { random.below(site.groups) };
        let key = if random.below(8) == 0 { "Allow" } else { "Disallow" };
        groups[group].push_str(&format!("{key}: {rule}\n"));
    }
    groups.join("\n")
}

/// Rows in runs of one host, as crawlers' frontiers and archives have them.
fn list(random: &mut Random, sites: &[(&str, Vec<String>)], rows: usize) -> Vec<u8> {
    let mut list = String::with_capacity(rows * 70);
    let (mut written, mut left) = (0, 0);
    let mut site = &sites[0];
    while written < rows {
        if left == 0 {
            site = &sites[random.below(sites.len())];
            left = 1 + random.below(64);
        }
        let path = match site.1.is_empty() || random.below(2) == 0 {
            true => path(random) + random.of(&ENDINGS),
            false => {
                let rule = random.below(site.1.len());
                like(random, &site.1[rule])
            }
        };
        list.push_str(&format!("https://{}{path}", site.0));
        if random.below(4) == 0 && !path.contains('?') {
            list.push_str(&format!("?{}={}", random.of(&PARAMETERS), random.below(100_000)));
        }
        list.push('\n');
        (written, left) = (written + 1, left - 1);
    }
    list.into_bytes()
}

/// A path that the rule matches, or nearly.
fn like(random: &mut Random, rule: &str) -> String {
    let middle = format!("{}{}", random.of(&WORDS), random.below(1_000));
    let text = rule.replace('*', &middle);
    match text.strip_suffix('$') {
        Some(whole) => whole.to_owned(),
        None => format!("{text}{}", random.below(10_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use robosieve::dialect::RFC9309;

    #[test]
    fn the_sample_is_the_same_each_time_and_has_every_row() {
        let (store, list) = sample(RFC9309, 1_000).unwrap();
        let (again, same) = sample(RFC9309, 1_000).unwrap();
        assert_eq!((store.digest(), &list), (again.digest(), &same));
        assert_eq!(list.iter().filter(|&&octet| octet == b'\n').count(), 1_000);
        assert_eq!(store.origin_count(), 2 * (SITES.len() + 1));
    }
}
