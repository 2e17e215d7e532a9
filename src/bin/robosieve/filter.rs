//! `filter`: the rows that may be crawled, as they came.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;

use robosieve::io::filter::{Filter, LineWriter, Require, Undecided};

use crate::args::{FilterArgs, UndecidedArg};
use crate::eval::{decide, kept, with_evaluator};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::summary::Kept;

pub fn run(args: &FilterArgs) -> Result<Exit, Failure> {
    let undecided_path = match &args.undecided {
        UndecidedArg::File(path) => Some(path.as_path()),
        UndecidedArg::Drop | UndecidedArg::Keep | UndecidedArg::Error => None,
    };
    Output::all_apart(&[Some(&args.output), undecided_path, args.run.summary_json.as_deref()], &kept(&args.run))?;
    // A list may be replaced by what passes, and by nothing else.
    Output::all_apart(&[undecided_path, args.run.summary_json.as_deref()], &[&args.run.urls])?;
    let out = RefCell::new(Output::create(&args.output)?);
    let undecided_out = match &args.undecided {
        UndecidedArg::File(path) if path == Path::new("-") => {
            return Err(Failure::new("rows without an answer go to a file, not to standard output: give --undecided FILE"));
        }
        UndecidedArg::File(path) => Some(RefCell::new(Output::create(path)?)),
        UndecidedArg::Drop | UndecidedArg::Keep | UndecidedArg::Error => None,
    };
    with_evaluator(&args.run, |evaluator, report| {
        let undecided = match (&args.undecided, &undecided_out) {
            (UndecidedArg::Drop, _) => Undecided::Drop,
            (UndecidedArg::Keep, _) => Undecided::Keep,
            (_, Some(out)) => Undecided::Write(Box::new(LineWriter::new(Shared(out)))),
            (UndecidedArg::Error | UndecidedArg::File(_), None) => Undecided::Error,
        };
        let mut sink = Filter::new(LineWriter::new(Shared(&out)), Require::All, undecided);
        decide(&args.run, evaluator, &mut sink, report)?;
        report.kept =
            Some(Kept { rows: sink.kept(), undecided: sink.undecided(), opted_out: sink.opted_out(), what: args.undecided.clone() });
        sink.finish()?;
        // The data first: a summary that nobody reads must not cost it.
        out.into_inner().commit()?;
        undecided_out.map(|out| out.into_inner().commit()).transpose().map(drop)
    })
}

/// An output that the sink writes to and the command puts in its place.
struct Shared<'a>(&'a RefCell<Output>);

impl Write for Shared<'_> {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(octets)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.borrow_mut().flush()
    }
}
