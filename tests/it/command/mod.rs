//! The command as people run it: the binary, real files, exit codes, both streams.

mod agents;
mod bench;
mod check;
mod compile;
mod eval;
mod filter;
mod help;
mod inputs;
mod inspect;
mod manifest;
mod origins;
mod outputs;
mod readings;
mod rows;
mod scale;
mod tables;
mod usage;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use arrow::ipc::reader::FileReader;
use arrow::record_batch::RecordBatch;
use serde_json::Value;
use tempfile::TempDir;

/// GPTBot may crawl nothing, all others everything but `/private/`, except `/private/open`.
const ROBOTS: &str = "User-agent: GPTBot\nDisallow: /\n\nUser-agent: *\nDisallow: /private/\nAllow: /private/open\n";

/// For an unnamed agent: four allowed, three disallowed (two by path, one by a whole site), two without an answer.
const URLS: &str = "https://example.com/\nhttps://example.com/private/a\nhttps://example.com/private/open\nhttp://example.com/private/b\n\
    https://closed.example/a\nhttps://closed.example/robots.txt\nhttps://unknown.test/\nno url\nhttps://example.com/last\n";
const URL_COUNT: u64 = 9;

/// How long anything may take before a test says that it hangs.
const PATIENCE: Duration = Duration::from_secs(15);

/// A folder to run in.
struct Place(TempDir);

impl Place {
    fn empty() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// With `robots.txt`, `robots/` (two policies), `urls.txt`.
    fn new() -> Place {
        let place = Place::empty();
        place.write("robots.txt", ROBOTS);
        place.write("robots/example.com", ROBOTS);
        place.write("robots/closed.example", "User-agent: *\nDisallow: /\n");
        place.write("urls.txt", URLS);
        place
    }

    /// As [`Place::new`], and `store.rsieve` made of `robots/`.
    fn with_store() -> Place {
        let place = Place::new();
        place.run("compile -o store.rsieve robots").is(0);
        place
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: impl AsRef<Path>, octets: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, octets).unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    fn json(&self, name: &str) -> Value {
        serde_json::from_slice(&self.read(name)).unwrap()
    }

    /// Everything in the folder, hidden files too.
    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The command with these arguments, which hold no space, to be run here.
    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_robosieve"));
        command.args(line.split_whitespace()).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    fn run(&self, line: &str) -> Ran {
        run(&mut self.command(line), b"")
    }

    fn run_and(&self, line: &str, more: &[impl AsRef<OsStr>]) -> Ran {
        run(self.command(line).args(more), b"")
    }

    fn pipe(&self, input: impl AsRef<[u8]>, line: &str) -> Ran {
        run(&mut self.command(line), input.as_ref())
    }
}

/// What a run came to.
struct Ran {
    code: Option<i32>,
    out: Vec<u8>,
    err: String,
}

impl Ran {
    /// Ends the test if the exit code is another one.
    #[track_caller]
    fn is(self, code: i32) -> Ran {
        assert_eq!(self.code, Some(code), "standard error: {}", self.err);
        self
    }

    /// Ends the test if this is no error that says each of `words`, or if there is data.
    #[track_caller]
    fn fails(self, words: &[&str]) -> Ran {
        let ran = self.is(2);
        for word in words {
            assert!(ran.err.contains(word), "{word:?} is missing: {}", ran.err);
        }
        assert!(ran.out.is_empty(), "data beside an error: {}", ran.text());
        ran
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// The cells of a table, without its header.
    fn cells(&self) -> Vec<Vec<&str>> {
        self.text().lines().skip(1).map(|line| line.split_whitespace().collect()).collect()
    }

    fn objects(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// One key of each JSON line.
    fn values(&self, key: &str) -> Vec<String> {
        self.objects().iter().map(|object| object[key].as_str().unwrap_or("null").to_owned()).collect()
    }

    fn last_words(&self) -> &str {
        self.err.lines().last().unwrap_or_default()
    }
}

fn run(command: &mut Command, input: &[u8]) -> Ran {
    if !input.is_empty() {
        command.stdin(Stdio::piped());
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let stdin = child.stdin.take();
    let output = thread::scope(|scope| {
        // A command that does not want its input closes it: that is its business.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input)));
        child.wait_with_output().unwrap()
    });
    Ran { code: output.status.code(), out: output.stdout, err: String::from_utf8_lossy(&output.stderr).into_owned() }
}

/// Waits for a child that might hang, and ends it then.
#[track_caller]
fn wait(child: &mut Child) -> Option<i32> {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("the command hangs");
}

/// The lines of a stream as they come, for tests that must not wait forever.
fn lines_of(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    receiver
}

/// Whether a terminal shows `text` and does nothing else: no controls but line ends, nothing that turns the direction of text.
fn is_harmless(text: &str) -> bool {
    let turns = |c| matches!(c, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    !text.chars().any(|c| turns(c) || c.is_control() && c != '\n')
}

/// A file of the sample in the repository.
fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/sample").join(name)
}

/// An Arrow file, read back.
struct Columns(Vec<RecordBatch>, arrow::datatypes::SchemaRef);

impl Columns {
    fn read(octets: Vec<u8>) -> Columns {
        let reader = FileReader::try_new(std::io::Cursor::new(octets), None).unwrap();
        let schema = reader.schema();
        Columns(reader.map(Result::unwrap).collect(), schema)
    }

    fn names(&self) -> Vec<&str> {
        self.1.fields().iter().map(|field| &field.name()[..]).collect()
    }

    fn rows(&self) -> Vec<u64> {
        self.0.iter().flat_map(|batch| batch["row"].as_primitive::<UInt64Type>().values().to_vec()).collect()
    }

    fn urls(&self) -> Vec<&str> {
        self.0.iter().flat_map(|batch| batch["url"].as_string::<i32>().iter().map(Option::unwrap)).collect()
    }

    fn strings(&self, name: &str) -> Vec<Option<String>> {
        self.0.iter().flat_map(|batch| batch[name].as_string::<i32>().iter().map(|text| text.map(str::to_owned))).collect()
    }

    /// As the JSON lines put it.
    fn verdicts(&self, name: &str) -> Vec<&'static str> {
        let verdict = |bit| match bit {
            Some(true) => "allow",
            Some(false) => "disallow",
            None => "unresolved",
        };
        self.0.iter().flat_map(|batch| batch[name].as_boolean().iter().map(verdict)).collect()
    }
}
