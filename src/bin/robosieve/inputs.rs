//! URLS: the files that rows come from, opened one after another.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use robosieve::io::filter::NoAnswer;
use robosieve::io::inputs::{Format, InputFile, Inputs};
use robosieve::io::lines::{MappedLines, StreamedLines};
use robosieve::pipeline::{Batch, Evaluator, RunError, Source};
use robosieve::store::map::{Octets, map};

use crate::args::InputArgs;
use crate::exit::{Failure, say, shown};
use crate::summary::grouped;

/// Finds the files that the arguments name.
pub fn find(args: &InputArgs) -> Result<Inputs, Failure> {
    let inputs = Inputs::find(&args.urls, args.input_format).map_err(|(path, error)| Failure::of(shown(&path), &error))?;
    if inputs.files.iter().filter(|file| file.path == Path::new("-")).count() > 1 {
        return Err(Failure::new("standard input can be read only once"));
    }
    if let Some(first) = inputs.unknown.first() {
        say!(
            "robosieve: {} files in directories are left out, since their names do not say what they hold (the first: {}): give --input-format to read all",
            grouped(inputs.unknown.len() as u64),
            shown(first)
        );
    }
    if inputs.files.is_empty() {
        return Err(Failure::new(format!(
            "{}: no file there has a name that says what it holds: give --input-format",
            shown(&args.urls[0])
        )));
    }
    Ok(inputs)
}

/// Octets of the files, if all are files.
pub fn octet_len(files: &[InputFile]) -> Option<u64> {
    let len = |file: &InputFile| std::fs::metadata(&file.path).ok().filter(Metadata::is_file).map(|metadata| metadata.len());
    files.iter().map(len).sum()
}

/// How much of the inputs was read.
#[derive(Debug, Default, Clone)]
pub struct Meter(Arc<AtomicU64>);

impl Meter {
    fn add(&self, octets: u64) {
        self.0.fetch_add(octets, Ordering::Relaxed);
    }

    /// Octets read.
    pub fn octets(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What sources give beside URLs.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// The columns that rows carry.
    pub carried: &'a [String],
    /// Whether whole rows are given back.
    pub whole: bool,
}

impl Wanted<'_> {
    /// Nothing.
    pub const URLS: Wanted<'static> = Wanted { carried: &[], whole: false };
}

/// Calls `work` with the rows of `files`, one file after another, and with `evaluator`.
pub fn with_source<T>(
    files: &[InputFile],
    args: &InputArgs,
    wanted: Wanted<'_>,
    meter: &Meter,
    evaluator: &Evaluator<'_>,
    work: impl for<'s> FnOnce(&mut dyn Source<'s>, &Evaluator<'s>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let [InputFile { path, format: Format::Lines, .. }] = files
        && path != Path::new("-")
        && wanted.carried.is_empty()
    {
        let failed = |error: io::Error| Failure::of(shown(path), &error);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.is_file() && metadata.len() > 0 {
            let octets = Octets::Mapped(map(&file).map_err(failed)?);
            let watch = Watch { file, metadata };
            let mut source = Mapped { lines: MappedLines::new(octets.as_slice()), watch, meter: meter.clone() };
            return work(&mut Named { name: shown(path), source: &mut source }, evaluator);
        }
    }
    work(&mut Chain { files, args, wanted, meter: meter.clone(), next: 0, current: None }, evaluator)
}

/// Opens a file as a source.
fn open<'s>(file: &InputFile, args: &InputArgs, wanted: Wanted<'_>, meter: &Meter) -> io::Result<Box<dyn Source<'s> + 's>> {
    let stream = open_stream(&file.path, meter)?;
    _ = args;
    match file.format {
        Format::Lines if !wanted.carried.is_empty() => {
            Err(io::Error::other(format!("a list of lines has URLs alone, and no column {}", wanted.carried[0])))
        }
        Format::Lines => Ok(Box::new(StreamedLines::new(stream))),
        other => Err(io::Error::other(format!("{other} can not be read yet"))),
    }
}

fn open_stream(path: &Path, meter: &Meter) -> io::Result<Box<dyn Read + Send>> {
    let meter = meter.clone();
    if path == Path::new("-") {
        let stdin = io::stdin();
        widen(&stdin);
        return Ok(Box::new(Counted { stream: stdin, count: 0, watch: None, meter }));
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let watch = if metadata.is_file() { Some(Watch { file: file.try_clone()?, metadata }) } else { None };
    if watch.is_none() {
        widen(&file);
    }
    Ok(Box::new(Counted { stream: file, count: 0, watch, meter }))
}

#[cfg(unix)]
fn widen(stream: impl std::os::fd::AsFd) {
    robosieve::io::lines::widen_pipe(stream);
}

#[cfg(not(unix))]
fn widen<T>(_: T) {}

/// A regular file as it was when it was opened.
#[derive(Debug)]
struct Watch {
    file: File,
    metadata: Metadata,
}

impl Watch {
    /// An error if the file is shorter than it was, or was written to in place: what was read of it may be neither what it was nor what it is.
    fn check(&self) -> io::Result<()> {
        let now = self.file.metadata()?;
        let (before, after) = (self.metadata.len(), now.len());
        if after < before {
            return Err(io::Error::other(format!(
                "the file became shorter while it was read ({} octets, now {}): let whoever writes it finish, or read a copy",
                grouped(before),
                grouped(after)
            )));
        }
        // A list that grows at its end is read as far as it went.
        if after == before && now.modified().ok() != self.metadata.modified().ok() {
            return Err(io::Error::other("the file was written to while it was read: let whoever writes it finish, or read a copy"));
        }
        Ok(())
    }
}

/// A mapped list whose file is watched: to read a map behind the end of its file ends the process.
struct Mapped<'s> {
    lines: MappedLines<'s>,
    watch: Watch,
    meter: Meter,
}

impl<'s> Source<'s> for Mapped<'s> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        self.watch.check()?;
        let batch = self.lines.next_batch()?;
        self.meter.add(batch.as_ref().map_or(0, |batch| batch.octets().len() as u64));
        Ok(batch)
    }
}

/// A stream that counts, and notices a file that ends too early.
struct Counted<R> {
    stream: R,
    count: u64,
    watch: Option<Watch>,
    meter: Meter,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.stream.read(buffer)?;
        self.count += len as u64;
        self.meter.add(len as u64);
        if let Some(watch) = self.watch.as_ref().filter(|_| len == 0 && !buffer.is_empty()) {
            watch.check()?;
        }
        Ok(len)
    }
}

/// A source whose errors begin with a name.
struct Named<'n, 's> {
    name: String,
    source: &'n mut dyn Source<'s>,
}

impl<'s> Source<'s> for Named<'_, 's> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        self.source.next_batch().map_err(|error| named(&self.name, &error))
    }

    fn in_flight(&self) -> usize {
        self.source.in_flight()
    }

    fn recycle(&mut self, octets: Vec<u8>) {
        self.source.recycle(octets);
    }
}

/// Files one after another, each opened when its turn comes.
struct Chain<'f, 's> {
    files: &'f [InputFile],
    args: &'f InputArgs,
    wanted: Wanted<'f>,
    meter: Meter,
    /// The number of the file to be opened next.
    next: usize,
    current: Option<Box<dyn Source<'s> + 's>>,
}

impl<'s> Source<'s> for Chain<'_, 's> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        loop {
            if let Some(source) = &mut self.current {
                let number = self.next - 1;
                let batch = source.next_batch().map_err(|error| named(&shown_name(&self.files[number]), &error))?;
                if let Some(batch) = batch {
                    return Ok(Some(batch.of_file(number as u32)));
                }
                self.current = None;
            }
            let Some(file) = self.files.get(self.next) else { return Ok(None) };
            self.next += 1;
            self.current = Some(open(file, self.args, self.wanted, &self.meter).map_err(|error| named(&shown_name(file), &error))?);
        }
    }

    fn in_flight(&self) -> usize {
        let all_lines = self.files.iter().all(|file| file.format == Format::Lines);
        if all_lines { 2 } else { 1 }
    }

    fn recycle(&mut self, octets: Vec<u8>) {
        if let Some(source) = &mut self.current {
            source.recycle(octets);
        }
    }
}

/// A file as messages show it.
pub fn shown_name(file: &InputFile) -> String {
    if file.path == Path::new("-") { "standard input".to_owned() } else { shown(&file.path) }
}

/// Why a run over `files` ended early, with the name of the file that it was.
pub fn failure(files: &[InputFile], error: RunError) -> Failure {
    match error {
        RunError::Sink(error) => match error.get_ref().and_then(|inner| inner.downcast_ref::<NoAnswer>()) {
            Some(no_answer) => Failure::of(shown_name(&files[no_answer.file as usize]), &error),
            None => Failure::from(error),
        },
        RunError::Source(error) => Failure::from(error),
        RunError::Unit(file, error) => Failure::of(shown_name(&files[file as usize]), &error),
        other => Failure::from(other),
    }
}

/// The same error, with the name of what it happened to.
fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
