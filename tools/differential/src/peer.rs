//! The peers: other programs, each asked in the way its own documentation tells.

use std::cell::Cell;
use std::collections::VecDeque;
use std::io::{self, BufReader, Read, Write};
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use clap::ValueEnum;

use crate::question::{Agent, Kind, Questions, Size};
use crate::quirk::Quirks;
use crate::reading;

/// One file and what is asked about it.
pub struct Job {
    /// Where it comes from.
    pub name: String,
    pub body: Vec<u8>,
    pub questions: Questions,
}

impl Job {
    /// How many verdicts it asks for.
    pub fn len(&self) -> usize {
        self.questions.agents.len() * self.questions.urls.len()
    }
}

/// What a program said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Allow,
    Disallow,
    /// It panicked or raised an exception.
    Panic,
    /// It refused the file.
    Refused,
    /// It can not be asked this: it takes text, and this is none.
    NotAsked,
}

impl Answer {
    /// The verdict, if there is one.
    pub fn allows(self) -> Option<bool> {
        match self {
            Answer::Allow => Some(true),
            Answer::Disallow => Some(false),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Answer::Allow => "allow",
            Answer::Disallow => "disallow",
            Answer::Panic => "panic",
            Answer::Refused => "refused",
            Answer::NotAsked => "not asked",
        }
    }

    fn of(allows: bool) -> Answer {
        if allows { Answer::Allow } else { Answer::Disallow }
    }
}

/// A program that robosieve is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Peer {
    /// The crate robotstxt 0.3.0.
    Robotstxt,
    /// The crate robotxt 0.7.0.
    Robotxt,
    /// The crate texting_robots 0.2.2.
    TextingRobots,
    /// Protego 0.7.0 (Python).
    Protego,
    /// google/robotstxt itself, as jwm.robotstxt 1.0.8 wraps it (Python).
    Google,
}

impl Peer {
    pub fn title(self) -> &'static str {
        match self {
            Peer::Robotstxt => "robotstxt 0.3.0",
            Peer::Robotxt => "robotxt 0.7.0",
            Peer::TextingRobots => "texting_robots 0.2.2",
            Peer::Protego => "Protego 0.7.0",
            Peer::Google => "google/robotstxt (jwm.robotstxt 1.0.8)",
        }
    }

    pub fn reading(self) -> Quirks {
        match self {
            Peer::Robotstxt => reading::ROBOTSTXT,
            Peer::Robotxt => reading::ROBOTXT,
            Peer::TextingRobots => reading::TEXTING_ROBOTS,
            Peer::Protego => reading::PROTEGO,
            Peer::Google => reading::GOOGLE_ROBOTSTXT,
        }
    }

    /// Whether it may be asked as `agent` where robosieve reads `dialect`. Protego asks for whatever a crawler calls itself. Google's parser asks for a
    /// product token, and what it makes of one with a version is a part of the dialect `google` alone. The others ask for a product token.
    pub fn takes(self, agent: &Agent, dialect: &str) -> bool {
        match self {
            Peer::Protego => true,
            Peer::Google | Peer::Robotstxt => agent.kind == Kind::Token || agent.kind == Kind::Versioned && dialect == "google",
            Peer::Robotxt | Peer::TextingRobots => agent.kind == Kind::Token,
        }
    }

    /// How much may be asked about a body of `len` octets: some peers read it anew for every verdict.
    pub fn size(self, len: usize, wanted: Size) -> Size {
        let octets = match self {
            Peer::Robotstxt => 500_000,
            Peer::Google => 2_000_000,
            _ => return wanted,
        };
        let verdicts = (octets / len.max(1)).max(12);
        let agents = wanted.agents.min((verdicts / 6).max(2));
        Size { agents, urls: wanted.urls.min((verdicts / agents).max(6)), ..wanted }
    }

    /// Starts it. `python` and `script` are for those that are not Rust.
    pub fn start(self, python: &Path, script: &Path) -> io::Result<Asked> {
        match self {
            Peer::Robotstxt => Ok(Asked::Here(ask_robotstxt, VecDeque::new())),
            Peer::Robotxt => Ok(Asked::Here(ask_robotxt, VecDeque::new())),
            Peer::TextingRobots => Ok(Asked::Here(ask_texting_robots, VecDeque::new())),
            Peer::Protego => Python::start(python, script, "protego").map(Asked::Python),
            Peer::Google => Python::start(python, script, "google").map(Asked::Python),
        }
    }
}

/// A peer at work: jobs in, answers out, in the same order.
pub enum Asked {
    Here(fn(&Job) -> Vec<Answer>, VecDeque<Arc<Job>>),
    Python(Python),
}

impl Asked {
    pub fn submit(&mut self, job: Arc<Job>) -> io::Result<()> {
        match self {
            Asked::Here(_, jobs) => jobs.push_back(job),
            Asked::Python(python) => python.submit(job)?,
        }
        Ok(())
    }

    /// The answers to the job that was submitted first.
    pub fn collect(&mut self) -> io::Result<Vec<Answer>> {
        match self {
            Asked::Here(ask, jobs) => Ok(ask(&jobs.pop_front().expect("a job was submitted"))),
            Asked::Python(python) => python.collect(),
        }
    }
}

thread_local! {
    static ASKING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the panics of peers, which are answers, from being reported as ours.
pub fn silence_peers() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !ASKING.get() {
            report(info);
        }
    }));
}

fn guarded<T>(ask: impl FnOnce() -> T) -> Option<T> {
    ASKING.set(true);
    let answer = panic::catch_unwind(AssertUnwindSafe(ask)).ok();
    ASKING.set(false);
    answer
}

/// Every URL to every agent, where `path` and what `read` makes of the body are at hand.
fn each<R>(job: &Job, read: impl Fn(&Agent) -> Result<R, Answer>, ask: impl Fn(&R, &str) -> bool) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(job.len());
    for agent in &job.questions.agents {
        let reading = guarded(|| read(agent)).unwrap_or(Err(Answer::Panic));
        answers.extend(job.questions.urls.iter().map(|url| {
            let Ok(url) = std::str::from_utf8(url) else { return Answer::NotAsked };
            match &reading {
                Ok(reading) => guarded(|| ask(reading, url)).map_or(Answer::Panic, Answer::of),
                Err(answer) => *answer,
            }
        }));
    }
    answers
}

/// A path and query with what follows, beginning with `/`: a relative URL.
fn relative(url: &str) -> String {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let rest = url[authority..].find(['/', '?', '#']).map_or("", |at| &url[authority + at..]);
    if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") }
}

/// "`url` must be %-encoded according to RFC3986"; the body is a `str`.
fn ask_robotstxt(job: &Job) -> Vec<Answer> {
    let body = std::str::from_utf8(&job.body).ok();
    let read = |agent: &Agent| body.map(|body| (body.to_owned(), agent.text.clone())).ok_or(Answer::NotAsked);
    each(job, read, |(body, agent), url| robotstxt::DefaultMatcher::default().one_agent_allowed_by_robots(body, agent, url))
}

/// "`is_allowed`: the relative URL (path and query). The fragment is ignored."
fn ask_robotxt(job: &Job) -> Vec<Answer> {
    each(job, |agent| Ok(robotxt::Robots::parse(&job.body, agent.text.as_str())), |robots, url| robots.is_allowed(&relative(url)))
}

/// "The provided URL can be absolute or relative": relative, so that rules and not the crate url are compared.
fn ask_texting_robots(job: &Job) -> Vec<Answer> {
    let read = |agent: &Agent| texting_robots::Robot::new(&agent.text, &job.body).map_err(|_| Answer::Refused);
    each(job, read, |robot, url| robot.allowed(&relative(url)))
}

/// A peer in Python, behind a pipe.
pub struct Python {
    jobs: Option<SyncSender<Vec<u8>>>,
    lens: VecDeque<usize>,
    answers: BufReader<ChildStdout>,
    child: Child,
}

impl Python {
    fn start(python: &Path, script: &Path, peer: &str) -> io::Result<Python> {
        let mut child = Command::new(python).arg("-I").arg(script).arg(peer).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut stdin = child.stdin.take().expect("piped");
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        let (jobs, queue) = sync_channel::<Vec<u8>>(4);
        thread::spawn(move || {
            for job in queue {
                // Whether it still listens shows when its answers are read.
                if stdin.write_all(&job).and_then(|()| stdin.flush()).is_err() {
                    break;
                }
            }
        });
        Ok(Python { jobs: Some(jobs), lens: VecDeque::new(), answers, child })
    }

    fn submit(&mut self, job: Arc<Job>) -> io::Result<()> {
        let mut octets = Vec::new();
        let mut put = |part: &[u8]| {
            octets.extend((part.len() as u32).to_le_bytes());
            octets.extend(part);
        };
        put(&job.body);
        put(&framed(job.questions.agents.iter().map(|agent| agent.text.as_bytes())));
        put(&framed(job.questions.urls.iter().map(Vec::as_slice)));
        self.lens.push_back(job.len());
        let jobs = self.jobs.as_ref().expect("open until dropped");
        jobs.send(octets).map_err(|_| io::Error::other("the peer in Python ended early: see what it wrote above"))
    }

    fn collect(&mut self) -> io::Result<Vec<Answer>> {
        let mut answers = vec![0; self.lens.pop_front().expect("a job was submitted")];
        self.answers.read_exact(&mut answers)?;
        answers.into_iter().map(answer).collect()
    }
}

impl Drop for Python {
    fn drop(&mut self) {
        self.jobs = None;
        let _ = self.child.wait();
    }
}

fn framed<'a>(parts: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    parts.flat_map(|part| [&(part.len() as u32).to_le_bytes(), part].concat()).collect()
}

fn answer(octet: u8) -> io::Result<Answer> {
    match octet {
        b'A' => Ok(Answer::Allow),
        b'D' => Ok(Answer::Disallow),
        b'E' => Ok(Answer::Panic),
        b'?' => Ok(Answer::NotAsked),
        other => Err(io::Error::other(format!("the peer in Python answered {:?}", char::from(other)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(ask: fn(&Job) -> Vec<Answer>, body: &[u8], rests: &[&[u8]]) -> Vec<Answer> {
        let urls = rests.iter().map(|rest| [b"https://example.com", *rest].concat()).collect();
        let questions = Questions { agents: vec![Agent::token("a").unwrap()], urls };
        ask(&Job { name: String::new(), body: body.to_vec(), questions })
    }

    #[test]
    fn crates_answer() {
        for peer in [ask_robotstxt, ask_robotxt, ask_texting_robots] {
            let answers = ask(peer, b"User-agent: a\nDisallow: /b\n", &[b"/b?c", b"", b"?b", b"/c", b"/\xFF"]);
            assert_eq!(answers, [Answer::Disallow, Answer::Allow, Answer::Allow, Answer::Allow, Answer::NotAsked]);
        }
    }

    #[test]
    fn a_panic_is_an_answer() {
        silence_peers();
        let line = format!("User-agent: a\nDisallow: /{}\u{E9}\u{E9}\nAllow: /\n", "a".repeat(16_700));
        assert_eq!(ask(ask_robotstxt, line.as_bytes(), &[b"/a"]), [Answer::Panic]);
    }

    #[test]
    fn a_refusal_is_an_answer() {
        let body = format!("User-agent: a\nDisallow: /{}$\n", "a*".repeat(3_000));
        assert_eq!(ask(ask_texting_robots, body.as_bytes(), &[b"/a"]), [Answer::Refused]);
    }

    #[test]
    fn relative_urls() {
        for (url, rest) in [("https://h/a?b#c", "/a?b#c"), ("https://h", "/"), ("https://h?a", "/?a"), ("https://h#/a", "/#/a")] {
            assert_eq!(relative(url), rest);
        }
    }
}
