//! `filter`: the rows that may be crawled, as they came.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use robosieve::io::compressed::Compression;
use robosieve::io::domains::WholeDomains;
use robosieve::io::filter::{Filter, Require, Undecided};
use robosieve::io::inputs::{Format, InputFile, Inputs};
use robosieve::pipeline::Evaluator;

use crate::args::{FilterArgs, RequireArg, UndecidedArg};
use crate::eval::{decide, kept, with_evaluator};
use crate::exit::{Exit, Failure, say, shown};
use crate::inputs::{self, Reading, Wanted};
use crate::output::Output;
use crate::summary::{Kept, Report, grouped};

pub fn run(args: &FilterArgs) -> Result<Exit, Failure> {
    let inputs = inputs::find(&args.run.inputs)?;
    if undecided_path(args) == Some(Path::new("-")) {
        return Err(Failure::new("rows without an answer go to a file, not to standard output: give --undecided FILE"));
    }
    let is_one = inputs.files.len() == 1 && !inputs.from_directory;
    match is_one || is_stdout(&args.output) {
        true => run_into_one(args, &inputs),
        false => run_into_folder(args, &inputs),
    }
}

/// All rows go to one output.
fn run_into_one(args: &FilterArgs, inputs: &Inputs) -> Result<Exit, Failure> {
    let files = &inputs.files[..];
    if args.resume {
        return Err(Failure::new("--resume continues a run from a directory or several files into a directory: give -o DIRECTORY"));
    }
    if let [file] = files {
        check_name(&args.output, file.format)?;
    }
    let can_be_joined = files.iter().all(|file| matches!(file.format, Format::Lines | Format::JsonLines) && file.format == files[0].format);
    if files.len() > 1 && !can_be_joined {
        return Err(Failure::new("only lists and JSON lines can be written one after another: give -o DIRECTORY for an output a file"));
    }
    let paths: Vec<&Path> = files.iter().map(|file| &*file.path).collect();
    Output::all_apart(&[Some(&args.output), undecided_path(args), args.run.summary_json.as_deref()], &kept(&args.run))?;
    // A list may be replaced by what passes, and by nothing else.
    Output::all_apart(&[undecided_path(args), args.run.summary_json.as_deref()], &paths)?;
    let outputs = Outputs::create(&args.output, undecided_path(args))?;
    with_evaluator(&args.run, files, |evaluator, report| outputs.fill(args, files, evaluator, report))
}

/// Refuses the name of an output that says something else than it would hold.
fn check_name(output: &Path, format: Format) -> Result<(), Failure> {
    let says = Format::of_file_name(output);
    let is_other = says.is_some_and(|says| says != format && says != Format::Lines);
    let is_compressed = !format.is_text() && Compression::of_name(output) != Compression::None;
    if !is_stdout(output) && (is_other && format != Format::Lines || is_compressed) {
        return Err(Failure::new(format!(
            "{}: rows come back in the format that they came in, {format}: name the output so",
            shown(output)
        )));
    }
    Ok(())
}

/// Every file has an output of its name.
fn run_into_folder(args: &FilterArgs, inputs: &Inputs) -> Result<Exit, Failure> {
    let mut names = HashSet::new();
    if let Some(twice) = inputs.files.iter().find(|file| !names.insert(&file.relative)) {
        return Err(Failure::new(format!("two inputs are called {}: their outputs would be one file", shown(&twice.relative))));
    }
    if let Some(stdin) = inputs.files.iter().find(|file| file.path == Path::new("-")) {
        return Err(Failure::new(format!("{} has no name that its output could have", inputs::shown_name(stdin))));
    }
    let folders: Vec<&Path> = std::iter::once(&*args.output).chain(undecided_path(args)).collect();
    for folder in &folders {
        if folder.exists() && !folder.is_dir() {
            return Err(Failure::new(format!("{} is no directory, and there are several inputs: their outputs need one", shown(folder))));
        }
        fs::create_dir_all(folder).map_err(|error| Failure::of(shown(folder), &error))?;
        let place = folder.canonicalize().map_err(|error| Failure::of(shown(folder), &error))?;
        let holds =
            |path: &PathBuf| path.is_dir() && path.canonicalize().is_ok_and(|path| place.starts_with(&path) || path.starts_with(&place));
        if let Some(read) = args.run.inputs.urls.iter().find(|path| holds(path)) {
            return Err(Failure::new(format!("{} would be read and written to: give another directory for the output", shown(read))));
        }
    }
    if let [one, other] = folders[..]
        && one.canonicalize().ok() == other.canonicalize().ok()
    {
        return Err(Failure::new(format!("two outputs can not both go to {}", shown(one))));
    }
    let (done, todo): (Vec<&InputFile>, Vec<&InputFile>) =
        inputs.files.iter().partition(|file| args.resume && args.output.join(&file.relative).exists());
    let files: Vec<InputFile> = todo.into_iter().cloned().collect();
    for file in &files {
        let outputs = folders.iter().map(|folder| folder.join(&file.relative)).collect::<Vec<_>>();
        let outputs: Vec<Option<&Path>> = outputs.iter().map(|path| Some(&**path)).collect();
        Output::all_apart(&outputs, &kept(&args.run))?;
        Output::all_apart(&outputs, &[&file.path])?;
    }
    with_evaluator(&args.run, &files, |evaluator, report| {
        report.resumed = done.len() as u64;
        report.kept = Some(Kept::nothing(args));
        for file in &files {
            let path = |folder: &Path| -> Result<PathBuf, Failure> {
                let path = folder.join(&file.relative);
                let parent = path.parent().unwrap_or(folder);
                fs::create_dir_all(parent).map_err(|error| Failure::of(shown(parent), &error))?;
                Ok(path)
            };
            let undecided = undecided_path(args).map(path).transpose()?;
            Outputs::create(&path(&args.output)?, undecided.as_deref())?.fill(args, std::slice::from_ref(file), evaluator, report)?;
        }
        if !done.is_empty() {
            say!("{} files were left as they are, since their outputs are there (--resume)", grouped(done.len() as u64));
        }
        Ok(())
    })
}

fn undecided_path(args: &FilterArgs) -> Option<&Path> {
    match &args.undecided {
        UndecidedArg::File(path) => Some(path),
        UndecidedArg::Drop | UndecidedArg::Keep | UndecidedArg::Error => None,
    }
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Where rows go.
struct Outputs {
    passing: Mutex<Output>,
    undecided: Option<Mutex<Output>>,
}

impl Outputs {
    fn create(passing: &Path, undecided: Option<&Path>) -> Result<Outputs, Failure> {
        let create = |path: &Path| Output::create(path).map(Mutex::new);
        Ok(Outputs { passing: create(passing)?, undecided: undecided.map(create).transpose()? })
    }

    /// Filters files into the outputs, and puts those in their places.
    fn fill(self, args: &FilterArgs, files: &[InputFile], evaluator: &Evaluator<'_>, report: &mut Report) -> Result<(), Failure> {
        let wanted = Wanted { carried: &[], sums: &args.run.account.sums, whole: true };
        let mut reading = Reading::open(files, &args.run.inputs, wanted, report.progress.meter())?;
        let writer = |out| reading.row_writer(Shared(out), args.run.threads.count());
        let undecided = match (&args.undecided, &self.undecided) {
            (UndecidedArg::Drop, _) => Undecided::Drop,
            (UndecidedArg::Keep, _) => Undecided::Keep,
            (_, Some(out)) => Undecided::Write(writer(out)?),
            (UndecidedArg::Error | UndecidedArg::File(_), None) => Undecided::Error,
        };
        let require = match args.require {
            RequireArg::All => Require::All,
            RequireArg::Any => Require::Any,
        };
        let rule = report.domains.as_ref().map(|domains| domains.rule.clone());
        let mut sink = Filter::new(writer(&self.passing)?, require, undecided);
        if let Some(rule) = &rule {
            sink = sink.with_scope(WholeDomains::new(rule));
        }
        decide(&args.run, &mut reading, evaluator, &mut sink, report)?;
        let kept = report.kept.get_or_insert_with(|| Kept::nothing(args));
        kept.rows += sink.kept();
        kept.undecided += sink.undecided();
        kept.opted_out += sink.opted_out();
        sink.finish()?;
        // The data first: a summary that nobody reads must not cost it. The rows that pass last: --resume looks whether they are there.
        self.undecided.map(|out| out.into_inner().unwrap_or_else(PoisonError::into_inner).commit()).transpose()?;
        self.passing.into_inner().unwrap_or_else(PoisonError::into_inner).commit()
    }
}

/// An output that the sink writes to and the command puts in its place.
struct Shared<'a>(&'a Mutex<Output>);

impl Write for Shared<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        lock(self.0).write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        lock(self.0).flush()
    }
}

/// No thread panics while it holds the lock.
fn lock(output: &Mutex<Output>) -> MutexGuard<'_, Output> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}
