//! The command: arguments, inputs and outputs around the library.

mod agents;
mod args;
mod bench;
mod check;
mod compile;
mod crawlers;
mod diff;
mod eval;
mod exit;
mod explain;
#[cfg(target_os = "linux")]
mod fault;
mod filter;
mod inputs;
mod inspect;
mod lint;
mod origins;
mod output;
mod policies;
mod progress;
mod summary;

use clap::Parser;

use robosieve::io::guard::is_guarded;

use args::{Arguments, Command};
use exit::{Exit, say};

fn main() -> std::process::ExitCode {
    let arguments = Arguments::parse();
    #[cfg(target_os = "linux")]
    if let Err(error) = fault::watch() {
        say!("robosieve: {error}");
        return Exit::Error.into();
    }
    let hook = std::panic::take_hook();
    // A panic of a decoder becomes an error that says more.
    std::panic::set_hook(Box::new(move |panic| {
        if !is_guarded() {
            hook(panic);
        }
    }));
    let result = match arguments.command {
        Command::Check(args) => check::run(&args),
        Command::Compile(args) => compile::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Eval(args) => eval::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Filter(args) => filter::run(&args),
        Command::Origins(args) => origins::run(&args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Agents(args) => crawlers::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Lint(args) => lint::run(&args),
    };
    match result {
        Ok(exit) => exit.into(),
        // Whoever read our output has had enough: that is no error.
        Err(failure) if failure.is_broken_pipe() => Exit::Done.into(),
        Err(failure) => {
            say!("robosieve: {failure}");
            Exit::Error.into()
        }
    }
}
