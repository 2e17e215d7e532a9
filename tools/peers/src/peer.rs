//! The peers, each asked in the way that is fastest for it: parsed beforehand where it can be, paths cut beforehand where it takes paths.

/// A peer with the policy and the agent that it is asked about.
pub enum Peer {
    /// The crate texting_robots: regular expressions and substrings, one rule after another.
    TextingRobots(texting_robots::Robot),
    /// The crate robotxt: one rule after another.
    Robotxt(robotxt::Robots),
    /// The crate robotstxt, a translation of Google's parser: parses the body for every URL.
    Robotstxt { body: String, agent: String },
}

impl Peer {
    /// The names by which [`Peer::new`] knows them.
    pub const NAMES: [&str; 3] = ["texting_robots", "robotxt", "robotstxt"];

    /// A peer by name; an error says what it does not take.
    pub fn new(name: &str, agent: &str, body: &[u8]) -> Result<Peer, String> {
        match name {
            "texting_robots" => {
                texting_robots::Robot::new(agent, body).map(Peer::TextingRobots).map_err(|error| format!("texting_robots refuses: {error}"))
            }
            "robotxt" => Ok(Peer::Robotxt(robotxt::Robots::parse(body, agent))),
            "robotstxt" => {
                let body = std::str::from_utf8(body).map_err(|error| format!("robotstxt takes UTF-8: {error}"))?;
                Ok(Peer::Robotstxt { body: body.to_owned(), agent: agent.to_owned() })
            }
            other => Err(format!("no peer is called {other}")),
        }
    }

    /// How many of the rows it allows.
    pub fn allowed(&self, rows: &Rows<'_>) -> u64 {
        let count = |asks: &dyn Fn(&str) -> bool, rows: &[&str]| rows.iter().filter(|row| asks(row)).count() as u64;
        match self {
            Peer::TextingRobots(robot) => rows.paths.iter().filter(|path| robot.allowed(path)).count() as u64,
            Peer::Robotxt(robots) => rows.paths.iter().filter(|path| robots.is_allowed(path)).count() as u64,
            Peer::Robotstxt { body, agent } => {
                count(&|url| robotstxt::DefaultMatcher::default().one_agent_allowed_by_robots(body, agent, url), &rows.urls)
            }
        }
    }

    /// Whether it allows a row.
    pub fn allows(&self, rows: &Rows<'_>, row: usize) -> bool {
        let one = Rows { urls: vec![rows.urls[row]], paths: vec![rows.paths[row]] };
        self.allowed(&one) == 1
    }
}

/// Rows as peers take them.
pub struct Rows<'l> {
    /// Whole URLs.
    pub urls: Vec<&'l str>,
    /// Path and query.
    pub paths: Vec<&'l str>,
}

impl<'l> Rows<'l> {
    /// The lines of a list of UTF-8.
    pub fn new(list: &'l str) -> Rows<'l> {
        let urls: Vec<&str> = list.lines().collect();
        let paths = urls.iter().map(|url| path(url)).collect();
        Rows { urls, paths }
    }

    /// The first `len` rows.
    pub fn first(&self, len: usize) -> Rows<'l> {
        let len = len.min(self.urls.len());
        Rows { urls: self.urls[..len].to_vec(), paths: self.paths[..len].to_vec() }
    }
}

fn path(url: &str) -> &str {
    let authority = url.find("://").map_or(0, |at| at + 3);
    url[authority..].find('/').map_or("/", |at| &url[authority + at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_peer_answers() {
        let rows = Rows::new("https://example.com/a/b\nhttps://example.com\nhttps://example.com/c?d\n");
        assert_eq!(rows.paths, ["/a/b", "/", "/c?d"]);
        for name in Peer::NAMES {
            let peer = Peer::new(name, "bot", b"User-agent: bot\nDisallow: /a\nDisallow: /*?\n").unwrap();
            assert_eq!((peer.allowed(&rows), peer.allows(&rows, 0), peer.allows(&rows, 1)), (1, false, true), "{name}");
        }
        assert!(Peer::new("nobody", "bot", b"").is_err());
    }
}
