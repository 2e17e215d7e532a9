//! External matchers: any program that reads URLs and writes verdicts, a line each.
//!
//! ```text
//!   COMMAND ROBOTS AGENT     a robots.txt as it is stored, a product token or `*`
//!   standard input           URLs, one a line
//!   standard output          allow, disallow or error, one a line, in the order of the URLs
//!   standard error           a line that begins with `about:` tells version, flags and the work that is done
//! ```
//!
//! A program may do what it likes with its pipes: input is written and outputs are read by threads of their own, which nobody waits for
//! longer than the timeout. What is timed is the time from the start to the end of standard output, and the same without URLs is subtracted.

use std::fmt;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use robosieve::decision::Verdict;
use robosieve::io::text::to_terminal_text;

use crate::exit::Failure;

/// Octets of standard error that are kept.
const MAX_ERROR_LEN: u64 = 64 << 10;
/// The longest verdict with its line end, and room for spaces.
const MAX_VERDICT_LEN: usize = 16;

/// A program to measure, as `--external` names it.
#[derive(Debug, Clone)]
pub struct Command {
    pub name: String,
    words: Vec<String>,
}

impl FromStr for Command {
    type Err = String;

    fn from_str(text: &str) -> Result<Command, String> {
        let (name, command) = text.split_once('=').ok_or("write NAME=COMMAND, as mine='python3 my_matcher.py'")?;
        let words = words(command)?;
        match (name.trim(), words.is_empty()) {
            ("", _) => Err("the name before `=` is missing".to_owned()),
            (_, true) => Err("the command behind `=` is missing".to_owned()),
            (name, false) => Ok(Command { name: name.to_owned(), words }),
        }
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))
    }
}

/// The words of a command: parted by spaces, `'…'` and `"…"` hold them together, a backslash takes the next character as it is (not in `'…'`).
fn words(command: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    match quote {
        Some(quote) => Err(format!("the command has a {quote} that nothing closes")),
        None => Ok(words.into_iter().chain(word).collect()),
    }
}

/// What one run of a program came to.
pub struct Ran {
    pub elapsed: Duration,
    /// `None` where the program could not tell.
    pub verdicts: Vec<Option<Verdict>>,
    pub about: Option<String>,
}

/// What one run is asked.
pub struct Question<'a> {
    pub robots: &'a Path,
    pub agent: &'a str,
    /// URLs, each with a line end.
    pub urls: Arc<Vec<u8>>,
    pub url_count: usize,
    pub timeout: Duration,
}

impl Command {
    /// Runs the program once.
    pub fn ask(&self, question: &Question<'_>) -> Result<Ran, Failure> {
        let started = Instant::now();
        let mut child = self.start(question)?;
        let streams = Streams::of(&mut child, question);
        self.collect(&mut child, &streams, question, started)
    }

    fn start(&self, question: &Question<'_>) -> Result<Child, Failure> {
        let mut process = Process::new(&self.words[0]);
        process.args(&self.words[1..]).arg(question.robots).arg(question.agent);
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own, so that what it starts can be ended with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut process, 0);
        process.spawn().map_err(|error| self.failed(&format!("it can not be started ({error}): check the command")))
    }

    fn collect(&self, child: &mut Child, streams: &Streams, question: &Question<'_>, started: Instant) -> Result<Ran, Failure> {
        let left = || question.timeout.saturating_sub(started.elapsed());
        let hangs = |child: &mut Child| {
            stop(child);
            let seconds = question.timeout.as_secs_f64();
            self.failed(&format!(
                "its output has not ended after {seconds} s, so it was stopped: it must end at the end of its input; if it is only slow, \
                 give --external-timeout more seconds, or --sample-rows fewer rows"
            ))
        };
        let (output, ended) = streams.output.recv_timeout(left()).map_err(|_| hangs(child))?;
        if output.len() > limit(question.url_count) {
            stop(child);
            return Err(self.failed(&format!("it writes far more than a verdict for each of {} URLs: one line each", question.url_count)));
        }
        let status = loop {
            match child.try_wait().map_err(|error| self.failed(&error.to_string()))? {
                Some(status) => break status,
                None if left().is_zero() => return Err(hangs(child)),
                None => thread::sleep(Duration::from_millis(1)),
            }
        };
        // Whoever inherited standard error may keep it open: what it says does not count then.
        let errors = streams.errors.recv_timeout(Duration::from_secs(1).min(question.timeout)).map_or(Vec::new(), |(errors, _)| errors);
        if !status.success() {
            return Err(self.failed(&format!("it ended with {status}: {}", last_words(&errors))));
        }
        let verdicts = self.verdicts(&output, question.url_count, &errors)?;
        Ok(Ran { elapsed: ended - started, verdicts, about: about(&errors) })
    }

    fn verdicts(&self, output: &[u8], url_count: usize, errors: &[u8]) -> Result<Vec<Option<Verdict>>, Failure> {
        let mut verdicts = Vec::with_capacity(url_count);
        for (number, line) in (1..).zip(super::inputs::rows(output)) {
            verdicts.push(match line.trim_ascii() {
                b"allow" => Some(Verdict::Allow),
                b"disallow" => Some(Verdict::Disallow),
                b"error" => None,
                other => {
                    let other = to_terminal_text(&other[..other.len().min(60)]);
                    return Err(
                        self.failed(&format!("line {number} of its output is {other:?}: write allow, disallow or error, a line a URL"))
                    );
                }
            });
        }
        match verdicts.len() == url_count {
            true => Ok(verdicts),
            false => Err(self.failed(&format!(
                "it wrote {} verdicts for {url_count} URLs: write one line for each, and everything before the end; {}",
                verdicts.len(),
                last_words(errors)
            ))),
        }
    }

    fn failed(&self, what: &str) -> Failure {
        let [name, command] = [self.name.clone(), self.to_string()].map(|text| to_terminal_text(text.as_bytes()).into_owned());
        Failure::new(format!("external matcher {name} ({command}): {what}"))
    }
}

/// What a stream held, and when it ended.
type Held = (Vec<u8>, Instant);

/// The outputs of a program, and when they ended.
struct Streams {
    output: Receiver<Held>,
    errors: Receiver<Held>,
}

impl Streams {
    fn of(child: &mut Child, question: &Question<'_>) -> Streams {
        let urls = question.urls.clone();
        if let Some(mut stdin) = child.stdin.take() {
            // A program that reads no further closes the pipe: its verdicts say whether that is right.
            thread::spawn(move || _ = stdin.write_all(&urls));
        }
        let output = child.stdout.take().expect("standard output is a pipe");
        let errors = child.stderr.take().expect("standard error is a pipe");
        Streams { output: read(output, limit(question.url_count) as u64 + 1, false), errors: read(errors, MAX_ERROR_LEN, true) }
    }
}

fn limit(url_count: usize) -> usize {
    4096 + url_count * MAX_VERDICT_LEN
}

/// Reads a stream to its end, or to a limit; what comes behind is read and dropped, or makes the writer fail.
fn read(mut stream: impl Read + Send + 'static, limit: u64, drain: bool) -> Receiver<Held> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut octets = Vec::new();
        _ = stream.by_ref().take(limit).read_to_end(&mut octets);
        if drain {
            _ = std::io::copy(&mut stream, &mut std::io::sink());
        }
        _ = sender.send((octets, Instant::now()));
    });
    receiver
}

/// Ends a program that nobody has waited for yet, and what it started.
fn stop(child: &mut Child) {
    #[cfg(unix)]
    {
        // The standard library ends one process alone.
        let script = format!("kill -9 -{}", child.id());
        _ = Process::new("sh").arg("-c").arg(script).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
    _ = child.kill();
    _ = child.wait();
}

/// What a program says of itself.
fn about(errors: &[u8]) -> Option<String> {
    let text = super::inputs::rows(errors).find_map(|line| line.strip_prefix(b"about:"))?.trim_ascii();
    Some(String::from_utf8_lossy(&text[..text.len().min(400)]).into_owned())
}

fn last_words(errors: &[u8]) -> String {
    match super::inputs::rows(errors).rfind(|line| !line.trim_ascii().is_empty()) {
        Some(line) => format!("its last words are {:?}", to_terminal_text(&line[..line.len().min(300)])),
        None => "it said nothing on standard error".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_command() {
        let parsed = |text: &str| text.parse::<Command>().map(|command| (command.name, command.words));
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        assert_eq!(parsed("a=b"), Ok(("a".to_owned(), words(&["b"]))));
        assert_eq!(
            parsed(r#"m = sh -c 'x "y"' "a\"b" c\ d '' --k=v"#).unwrap().1,
            words(&["sh", "-c", "x \"y\"", "a\"b", "c d", "", "--k=v"])
        );
        for wrong in ["", "a", "=b", "a=", "a= ", "a='b"] {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }
}
