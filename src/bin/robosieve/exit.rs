//! How the command ends.

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::{fmt, io};

use robosieve::io::text::to_terminal_text;
use robosieve::pipeline::RunError;

/// Prints a line to standard error. Whoever read it may have gone away: that ends nothing.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}
pub(crate) use say;

/// What messages call standard output. Only there is a reader that went away no error.
pub const STDOUT: &str = "standard output";

/// A path as messages show it.
pub fn shown(path: &Path) -> String {
    to_terminal_text(path.as_os_str().as_encoded_bytes()).into_owned()
}

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done; for `check`: everything allowed.
    Done = 0,
    /// Something disallowed (`check`), or more than `--fail-on` lets pass.
    Found = 1,
    /// An error; for `check`: something unresolved.
    Error = 2,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// Why the command could not do its work, in one sentence that says what to do.
#[derive(Debug)]
pub struct Failure {
    message: String,
    broken_pipe: bool,
}

impl Failure {
    pub fn new(message: impl Into<String>) -> Failure {
        Failure { message: message.into(), broken_pipe: false }
    }

    /// A failure of the file or stream of that name.
    pub fn of(name: impl fmt::Display, error: &io::Error) -> Failure {
        Failure {
            broken_pipe: error.kind() == io::ErrorKind::BrokenPipe && name.to_string() == STDOUT,
            message: format!("{}: {error}", to_terminal_text(name.to_string().as_bytes())),
        }
    }

    pub fn is_broken_pipe(&self) -> bool {
        self.broken_pipe
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Failure {
        let mut source: Option<&(dyn Error + 'static)> = Some(&error);
        let mut broken_pipe = false;
        while let Some(inner) = source {
            let io = match inner.downcast_ref::<RunError>() {
                Some(RunError::Sink(io)) => Some(io),
                _ => inner.downcast_ref::<io::Error>(),
            };
            broken_pipe |= io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe);
            source = inner.source();
        }
        Failure { message: error.to_string(), broken_pipe }
    }
}
