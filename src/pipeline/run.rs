//! Batches over threads, in order: the only threads there are.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::{fmt, io};

use super::{Decided, Evaluator, Sink, Source, Summary, Worker};

/// Why a run ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The input can not be read.
    Source(io::Error),
    /// The output can not be written.
    Sink(io::Error),
    /// The threads can not be started.
    Threads(rayon::ThreadPoolBuildError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Source(error) => write!(f, "reading the input: {error}"),
            RunError::Sink(error) => write!(f, "writing the output: {error}"),
            RunError::Threads(error) => write!(f, "starting threads: {error}"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Source(error) | RunError::Sink(error) => Some(error),
            RunError::Threads(error) => Some(error),
        }
    }
}

/// Decides every row of `source` and hands them to `sink` in order. The answers do not depend on the number of threads.
///
/// ```
/// use std::num::NonZeroUsize;
/// use robosieve::{agent::Agent, dialect::RFC9309, store::build::{Builder, Record}};
/// use robosieve::{io::lines::MappedLines, pipeline::{Discard, Evaluator, run}};
///
/// let mut builder = Builder::new(RFC9309);
/// builder.add_name("example.com", Record::body(b"User-agent: *\nDisallow: /private/\n".to_vec()))?;
/// let store = builder.finish()?.open()?;
/// let evaluator = Evaluator::new(&store, vec![Agent::token("AnyBot")?]);
/// let mut rows = MappedLines::new(b"https://example.com/private/x\nhttps://example.com/\nhttps://example.org/\n");
/// let summary = run(&mut rows, &evaluator, &mut Discard, NonZeroUsize::MIN)?;
/// let tally = &summary.agents[0];
/// assert_eq!((tally.allow, tally.disallow(), tally.unresolved()), (1, 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`RunError`] when the input can not be read or the output can not be written. Rows that name no origin are no error: they are unresolved.
pub fn run<'s>(
    source: &mut dyn Source<'s>,
    evaluator: &Evaluator<'s>,
    sink: &mut dyn Sink,
    threads: NonZeroUsize,
) -> Result<Summary, RunError> {
    let flow = Flow { evaluator, detail: sink.wants_decisions(), workers: Mutex::default(), spares: Mutex::default() };
    let mut out = InOrder { sink, summary: Summary::new(evaluator.column_count(), evaluator.usage_count()) };
    if threads.get() == 1 {
        while let Some(batch) = source.next_batch().map_err(RunError::Source)? {
            let decided = flow.decide(batch);
            flow.recycle(out.take(decided)?);
        }
        return Ok(out.summary);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get()).build().map_err(RunError::Threads)?;
    pool.in_place_scope(|scope| {
        let mut in_flight: VecDeque<Receiver<Decided<'s>>> = VecDeque::new();
        let mut at_end = false;
        loop {
            while !at_end && in_flight.len() < 2 * threads.get() {
                let Some(batch) = source.next_batch().map_err(RunError::Source)? else {
                    at_end = true;
                    break;
                };
                let (sender, receiver) = sync_channel(1);
                let flow = &flow;
                // The receiver is gone when the run ended early: nobody wants the batch then.
                scope.spawn(move |_| drop(sender.send(flow.decide(batch))));
                in_flight.push_back(receiver);
            }
            // A worker that panicked sends nothing; the scope raises its panic.
            match in_flight.pop_front().map(|receiver| receiver.recv()) {
                Some(Ok(decided)) => flow.recycle(out.take(decided)?),
                Some(Err(_)) | None => break,
            }
        }
        Ok(())
    })?;
    Ok(out.summary)
}

/// What the threads share. Its locks are taken once a batch.
struct Flow<'e, 's> {
    evaluator: &'e Evaluator<'s>,
    detail: bool,
    workers: Mutex<Vec<Worker<'s>>>,
    spares: Mutex<Vec<Decided<'s>>>,
}

impl<'s> Flow<'_, 's> {
    fn decide(&self, batch: super::Batch<'s>) -> Decided<'s> {
        let mut worker = pop(&self.workers).unwrap_or_default();
        let decided = worker.decide(self.evaluator, batch, self.detail, pop(&self.spares));
        push(&self.workers, worker);
        decided
    }

    fn recycle(&self, decided: Decided<'s>) {
        push(&self.spares, decided);
    }
}

fn pop<T>(stack: &Mutex<Vec<T>>) -> Option<T> {
    stack.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).pop()
}

fn push<T>(stack: &Mutex<Vec<T>>, item: T) {
    stack.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(item);
}

/// Numbers rows and adds up as batches come in order.
struct InOrder<'k> {
    sink: &'k mut dyn Sink,
    summary: Summary,
}

impl InOrder<'_> {
    fn take<'s>(&mut self, mut decided: Decided<'s>) -> Result<Decided<'s>, RunError> {
        decided.first_row = self.summary.rows;
        self.sink.write(&decided).map_err(RunError::Sink)?;
        self.summary.add(&decided.summary);
        Ok(decided)
    }
}
