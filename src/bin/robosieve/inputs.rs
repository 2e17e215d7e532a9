//! URLS: the files that rows come from, opened one after another.

use std::fs::{File, Metadata};
use std::io::{self, Read, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::FieldRef;

use robosieve::io::arrow::{ArrowRows, IpcFile, IpcStream, TableOptions, text_fields};
use robosieve::io::compressed::{Compression, Decoder};
use robosieve::io::csv::{CsvFilter, CsvOptions, CsvRows, Malformed};
use robosieve::io::filter::{LineWriter, NoAnswer, RowWriter};
use robosieve::io::inputs::{Format, InputFile, Inputs};
use robosieve::io::jsonl::{JsonOptions, JsonRows};
use robosieve::io::lines::{MappedLines, StreamedLines};
use robosieve::io::parquet::{ParquetInput, ParquetRowWriter, ParquetRows};
use robosieve::pipeline::{Batch, Evaluator, RunError, Source};
use robosieve::store::map::{Octets, map};

use crate::args::InputArgs;
use crate::exit::{Failure, say, shown};
use crate::output::named;
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
    /// The columns that rows carry for an output.
    pub carried: &'a [String],
    /// Those that are added up.
    pub sums: &'a [String],
    /// Whether whole rows are given back.
    pub whole: bool,
}

impl Wanted<'_> {
    /// Nothing.
    pub const URLS: Wanted<'static> = Wanted { carried: &[], sums: &[], whole: false };
}

/// Files to be read one after another, of which the first is open: what it is like decides what outputs are like.
pub struct Reading<'f> {
    files: &'f [InputFile],
    args: &'f InputArgs,
    /// The names of all columns that rows carry: first those for an output.
    carried: Vec<String>,
    output_count: usize,
    /// The numbers of those that are added up.
    pub sum_columns: Vec<usize>,
    whole: bool,
    meter: Meter,
    first: Option<Opened>,
    /// What is said about the files when they have been read.
    pub remarks: Vec<Remark>,
}

/// What is to be said about a file.
pub struct Remark {
    /// Its name.
    pub file: String,
    /// Rows that have no URL because they are not as they should be, and the line of the first.
    pub malformed: Malformed,
    /// What else there is.
    pub notes: Vec<String>,
}

impl Remark {
    /// Prints it.
    pub fn print(&self) {
        if let Some(line) = self.malformed.first_line {
            say!(
                "{}: {} rows are not as they should be and have no URL, the first at line {line}",
                self.file,
                grouped(self.malformed.rows)
            );
        }
        self.notes.iter().for_each(|note| say!("{}: {note}", self.file));
    }
}

/// An open file.
enum Opened {
    List(PathBuf, File, Metadata),
    Lines(Box<dyn Read + Send>),
    Csv(CsvRows<'static>),
    JsonLines(JsonRows<'static>),
    ArrowFile(IpcFile),
    ArrowStream(IpcStream<Box<dyn Read + Send>>),
    Parquet(ParquetInput, ParquetRows),
}

impl<'f> Reading<'f> {
    /// Opens the first file.
    pub fn open(files: &'f [InputFile], args: &'f InputArgs, wanted: Wanted<'_>, meter: Meter) -> Result<Reading<'f>, Failure> {
        let mut carried = wanted.carried.to_vec();
        let sum_columns = wanted.sums.iter().map(|name| place_of(name, &mut carried)).collect();
        let mut reading = Reading {
            files,
            args,
            carried,
            output_count: wanted.carried.len(),
            sum_columns,
            whole: wanted.whole,
            meter,
            first: None,
            remarks: Vec::new(),
        };
        if let Some(file) = files.first() {
            reading.first = Some(reading.open_file(file, files.len() == 1).map_err(|error| Failure::of(shown_name(file), &error))?);
        }
        Ok(reading)
    }

    /// The files.
    pub fn files(&self) -> &'f [InputFile] {
        self.files
    }

    /// The fields of the carried columns for an output, as Arrow has them.
    pub fn carried_fields(&self) -> Vec<FieldRef> {
        let mut fields = match &self.first {
            Some(Opened::ArrowFile(rows)) => rows.carried_fields().to_vec(),
            Some(Opened::ArrowStream(rows)) => rows.carried_fields().to_vec(),
            Some(Opened::Parquet(_, rows)) => rows.carried_fields().to_vec(),
            _ => text_fields(&self.carried),
        };
        fields.truncate(self.output_count);
        fields
    }

    /// The field of the column of URLs, where it has a type.
    pub fn url_field(&self) -> Option<&FieldRef> {
        match &self.first {
            Some(Opened::ArrowFile(rows)) => rows.url_field(),
            Some(Opened::ArrowStream(rows)) => rows.url_field(),
            Some(Opened::Parquet(_, rows)) => rows.url_field(),
            _ => None,
        }
    }

    /// What writes rows in the form that those of the first file come in.
    pub fn row_writer<'w>(&self, out: impl Write + Send + 'w, threads: NonZeroUsize) -> io::Result<Box<dyn RowWriter + 'w>> {
        Ok(match &self.first {
            None | Some(Opened::List(..) | Opened::Lines(_) | Opened::JsonLines(_)) => Box::new(LineWriter::new(out)),
            Some(Opened::Csv(rows)) => Box::new(CsvFilter::new(out, rows.header())),
            Some(Opened::ArrowFile(rows)) => Box::new(ArrowRows::file(out, &rows.form())?),
            Some(Opened::ArrowStream(rows)) => Box::new(ArrowRows::stream(out, &rows.form())?),
            Some(Opened::Parquet(input, _)) => Box::new(ParquetRowWriter::new(input, out, threads)?),
        })
    }

    /// Calls `work` with the rows of all files, and with `evaluator`.
    pub fn with_source<T>(
        &mut self,
        evaluator: &Evaluator<'_>,
        work: impl for<'s> FnOnce(&mut dyn Source<'s>, &Evaluator<'s>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if let Some(Opened::List(path, ..)) = &self.first {
            let name = shown(path);
            let Some(Opened::List(path, file, metadata)) = self.first.take() else { unreachable!("it was just looked at") };
            let octets = map(&file).map(Octets::Mapped).map_err(|error| Failure::of(shown(&path), &error))?;
            let watch = Watch { file, metadata };
            let lines = octets.as_slice().strip_prefix(BYTE_ORDER_MARK).unwrap_or(octets.as_slice());
            let mut source = Mapped { lines: MappedLines::new(lines), watch, meter: self.meter.clone(), name };
            return work(&mut source, evaluator);
        }
        let mut chain = Chain { reading: self, next: 0, current: None, ended: Vec::new() };
        let result = work(&mut chain, evaluator);
        chain.remark();
        result
    }

    fn options(&self) -> TableOptions {
        TableOptions { url_column: self.args.url_column.clone(), carry: self.carried.clone(), whole_rows: self.whole }
    }

    fn open_file(&self, file: &InputFile, is_only_one: bool) -> io::Result<Opened> {
        let InputFile { path, format, .. } = file;
        let (url_column, carry) = (self.args.url_column.clone(), self.carried.clone());
        if *format == Format::Lines {
            if let Some(name) = carry.first().or(url_column.as_ref()) {
                return Err(io::Error::other(format!(
                    "a list has a URL a line, and no column {name:?}: give --input-format if it is something else"
                )));
            }
            if let Some(list) = is_only_one.then(|| open_list(path)).transpose()?.flatten() {
                return Ok(list);
            }
        }
        let text =
            || Ok::<Box<dyn Read + Send>, io::Error>(Box::new(Decoder::new(open_stream(path, &self.meter)?, Compression::of_name(path))?));
        Ok(match format {
            Format::Lines => Opened::Lines(without_mark(text()?)?),
            Format::Csv => Opened::Csv(CsvRows::streamed(text()?, &CsvOptions { url_column, carry, ..CsvOptions::default() })?),
            Format::Tsv => Opened::Csv(CsvRows::streamed(text()?, &CsvOptions { url_column, carry, ..CsvOptions::tsv() })?),
            Format::JsonLines => {
                Opened::JsonLines(JsonRows::streamed(text()?, &JsonOptions { url_column, carry, ..JsonOptions::default() })?)
            }
            Format::ArrowStream => Opened::ArrowStream(IpcStream::new(text()?, &self.options())?),
            Format::ArrowFile => Opened::ArrowFile(IpcFile::open(self.open_whole(path)?, &self.options())?),
            Format::Parquet => {
                let input = ParquetInput::open(self.open_whole(path)?)?;
                let rows = ParquetRows::new(&input, &self.options())?;
                Opened::Parquet(input, rows)
            }
        })
    }

    /// A file whose end is read before its beginning.
    fn open_whole(&self, path: &Path) -> io::Result<File> {
        let needs_file = || io::Error::other("such a file is read from its end, so it can not come as a stream: give its name");
        if path == Path::new("-") {
            return Err(needs_file());
        }
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        match (metadata.is_dir(), metadata.is_file()) {
            (true, _) => Err(io::Error::from(io::ErrorKind::IsADirectory)),
            (_, true) => Ok(file),
            _ => Err(needs_file()),
        }
    }
}

/// The place of a name among names, at whose end it is put if it is not there.
fn place_of(name: &str, names: &mut Vec<String>) -> usize {
    names.iter().position(|known| known == name).unwrap_or_else(|| {
        names.push(name.to_owned());
        names.len() - 1
    })
}

/// What some programs begin texts in UTF-8 with. It is no part of the first URL.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A list without a byte order mark.
fn without_mark(mut list: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut head = Vec::new();
    (&mut list).take(8).read_to_end(&mut head)?;
    refuse_tables(&head)?;
    let start = if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    head.drain(..start);
    Ok(Box::new(io::Cursor::new(head).chain(list)))
}

/// An error for what begins as no list does.
fn refuse_tables(head: &[u8]) -> io::Result<()> {
    let what = match head {
        [b'P', b'A', b'R', b'1', ..] => "Parquet: call it .parquet, or give --input-format parquet",
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => "Arrow: call it .arrow, or give --input-format arrow",
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => "in UTF-16: write it anew in UTF-8",
        _ => return Ok(()),
    };
    Err(io::Error::other(format!("no list of URLs, but {what}")))
}

/// A list that can be mapped: a regular file that is not compressed.
fn open_list(path: &Path) -> io::Result<Option<Opened>> {
    if path == Path::new("-") || Compression::of_name(path) != Compression::None {
        return Ok(None);
    }
    // A named pipe can be opened only once.
    if !std::fs::metadata(path)?.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut head = [0; 8];
    let len = file.read(&mut head)?;
    let is_plain = Compression::of_octets(&head[..len]) == Compression::None;
    refuse_tables(&head[..len])?;
    Ok((metadata.is_file() && metadata.len() > 0 && is_plain).then(|| Opened::List(path.to_path_buf(), file, metadata)))
}

fn open_stream(path: &Path, meter: &Meter) -> io::Result<Box<dyn Read + Send>> {
    let meter = meter.clone();
    if path == Path::new("-") {
        let stdin = io::stdin();
        widen(&stdin);
        return Ok(Box::new(Counted { stream: stdin, watch: None, meter }));
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(io::Error::from(io::ErrorKind::IsADirectory));
    }
    let metadata_len = if metadata.is_file() { metadata.len() } else { 0 };
    let watch = if metadata.is_file() { Some(Watch { file: file.try_clone()?, metadata }) } else { None };
    if watch.is_none() {
        widen(&file);
    }
    // What grows is read as far as it went. (Some files of the system say that they are empty.)
    let len = if metadata_len > 0 { metadata_len } else { u64::MAX };
    Ok(Box::new(Counted { stream: file.take(len), watch, meter }))
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
    name: String,
}

impl<'s> Source<'s> for Mapped<'s> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        self.watch.check().map_err(|error| named(&self.name, &error))?;
        let batch = self.lines.next_batch()?;
        self.meter.add(batch.as_ref().map_or(0, |batch| batch.octets().len() as u64));
        Ok(batch)
    }
}

/// A stream that counts, and notices a file that ends too early.
struct Counted<R> {
    stream: R,
    watch: Option<Watch>,
    meter: Meter,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.stream.read(buffer)?;
        self.meter.add(len as u64);
        if let Some(watch) = self.watch.as_ref().filter(|_| len == 0 && !buffer.is_empty()) {
            watch.check()?;
        }
        Ok(len)
    }
}

/// The rows of files one after another, each opened when its turn comes.
struct Chain<'r, 'f, 's> {
    reading: &'r mut Reading<'f>,
    /// The number of the file to be opened next.
    next: usize,
    current: Option<Current<'s>>,
    /// Files that were read, with their numbers, whose last rows may not be decided yet.
    ended: Vec<(usize, Current<'s>)>,
}

/// The file that is read.
enum Current<'s> {
    Csv(CsvRows<'s>),
    JsonLines(JsonRows<'s>),
    Other(Box<dyn Source<'s> + 's>),
    Parquet(ParquetRows, u64),
}

impl<'s> Chain<'_, '_, 's> {
    fn open_next(&mut self) -> io::Result<bool> {
        let Some(file) = self.reading.files.get(self.next) else { return Ok(false) };
        let opened = match self.reading.first.take() {
            Some(opened) => opened,
            None => self.reading.open_file(file, false).map_err(|error| named(&shown_name(file), &error))?,
        };
        self.next += 1;
        self.current = Some(match opened {
            Opened::List(..) => unreachable!("a list alone is mapped"),
            Opened::Lines(stream) => Current::Other(Box::new(StreamedLines::new(stream))),
            Opened::Csv(rows) => Current::Csv(rows),
            Opened::JsonLines(rows) => Current::JsonLines(rows),
            Opened::ArrowFile(rows) => Current::Other(Box::new(rows)),
            Opened::ArrowStream(rows) => Current::Other(Box::new(rows)),
            Opened::Parquet(input, rows) => {
                let groups = input.row_group_count().max(1) as u64;
                let len = std::fs::metadata(&file.path).map_or(0, |metadata| metadata.len());
                Current::Parquet(rows, len / groups)
            }
        });
        Ok(true)
    }

    /// Notes what there is to say about files whose rows are all decided.
    fn remark(&mut self) {
        self.ended.extend(self.current.take().map(|current| (self.next - 1, current)));
        for (number, ended) in self.ended.drain(..) {
            let (malformed, notes) = match ended {
                Current::Csv(rows) => (rows.malformed(), rows.notes()),
                Current::JsonLines(rows) => (rows.malformed(), Vec::new()),
                Current::Other(_) | Current::Parquet(..) => continue,
            };
            if malformed.rows > 0 || !notes.is_empty() {
                let file = shown_name(&self.reading.files[number]);
                self.reading.remarks.push(Remark { file, malformed, notes });
            }
        }
    }

    /// Keeps a file that was read for what there is to say when its rows are decided.
    fn end_file(&mut self) {
        if let Some(current @ (Current::Csv(_) | Current::JsonLines(_))) = self.current.take() {
            self.ended.push((self.next - 1, current));
        }
    }
}

impl<'s> Source<'s> for Chain<'_, '_, 's> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        loop {
            let batch = match &mut self.current {
                Some(Current::Csv(rows)) => rows.next_batch(),
                Some(Current::JsonLines(rows)) => rows.next_batch(),
                Some(Current::Other(source)) => source.next_batch(),
                Some(Current::Parquet(rows, octets)) => {
                    let (batch, octets) = (rows.next_batch(), *octets);
                    self.reading.meter.add(octets);
                    batch
                }
                None => Ok(None),
            };
            if self.current.is_some() {
                let number = self.next - 1;
                let batch = batch.map_err(|error| named(&shown_name(&self.reading.files[number]), &error))?;
                if let Some(batch) = batch {
                    return Ok(Some(batch.of_file(number as u32)));
                }
                self.end_file();
            }
            if !self.open_next()? {
                return Ok(None);
            }
        }
    }

    fn in_flight(&self) -> usize {
        // A row group may be large.
        if self.reading.files.iter().any(|file| file.format == Format::Parquet) { 1 } else { 2 }
    }

    fn recycle(&mut self, octets: Vec<u8>) {
        if let Some(Current::Other(source)) = &mut self.current {
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
            // A writer of rows goes back to its input, and outputs have their own names in their errors.
            None if files.len() == 1 && error.kind() == io::ErrorKind::InvalidData => Failure::of(shown_name(&files[0]), &error),
            None => Failure::from(error),
        },
        RunError::Source(error) => Failure::from(error),
        RunError::Unit(file, error) => Failure::of(shown_name(&files[file as usize]), &error),
        other => Failure::from(other),
    }
}
