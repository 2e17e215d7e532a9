//! Batches over threads, in order: the threads that decide.
//!
//! ```text
//!             ┌─────────── the table ───────────┐
//!  reads ──▶  │ waiting: batches nobody decides │ ──▶ the other threads decide, oldest first
//!             │ places:  one a batch in flight  │ ◀── decided, in its place
//!  writes ◀── │          oldest first           │
//!             └─────────────────────────────────┘
//! ```
//!
//! The calling thread alone touches the source and the sink. What it finds to do, in this order: hand the oldest batch to the sink if it is decided; read a
//! batch if there is room; decide one that waits. So it sleeps only where it has nothing left but to wait for the oldest batch, and of N threads N decide.
//! The others sleep only where no batch waits: a wake-up costs as much as a tenth of a batch.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::{fmt, io, mem};

use super::batch::Content;
use super::{Batch, Decided, Evaluator, Sink, Source, Summary, Worker};

/// Why a run ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum RunError {
    /// The input can not be read.
    Source(io::Error),
    /// A unit of the input with that number can not be read.
    Unit(u32, io::Error),
    /// The output can not be written.
    Sink(io::Error),
    /// The threads can not be started.
    Threads(rayon::ThreadPoolBuildError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Source(error) | RunError::Unit(_, error) => write!(f, "reading the input: {error}"),
            RunError::Sink(error) => write!(f, "writing the output: {error}"),
            RunError::Threads(error) => write!(f, "starting threads: {error}"),
        }
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RunError::Source(error) | RunError::Unit(_, error) | RunError::Sink(error) => Some(error),
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
    let mut out = InOrder { sink, summary: Summary::new(evaluator.column_count(), evaluator.usage_count()), file: 0, file_rows: 0 };
    let decider = Decider { evaluator, detail: out.sink.wants_decisions(), rows: out.sink.wants_rows() };
    if threads.get() == 1 {
        alone(source, &decider, &mut out)?;
    } else {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.get() - 1).build().map_err(RunError::Threads)?;
        let table = Table::new(source.in_flight().max(1) * threads.get());
        pool.in_place_scope(|scope| {
            let _closed_at_the_end = Closed(&table);
            for _ in 1..threads.get() {
                scope.spawn(|_| table.serve(&decider, Worker::one_of(threads.get())));
            }
            together(source, &decider, Worker::one_of(threads.get()), &table, &mut out)
        })?;
    }
    Ok(out.summary)
}

/// Everything on the calling thread.
fn alone<'s>(source: &mut dyn Source<'s>, decider: &Decider<'_, 's>, out: &mut InOrder<'_>) -> Result<(), RunError> {
    let (mut worker, mut spare) = (Worker::new(), None);
    while let Some(batch) = source.next_batch().map_err(RunError::Source)? {
        match batch.content {
            Content::Unit(mut unit) => {
                while let Some(part) = unit.next_part().map_err(|error| RunError::Unit(batch.file, error))? {
                    let mut decided = decider.decide(&mut worker, part.of_file(batch.file), spare.take());
                    out.take(&mut decided)?;
                    spare = Some(decided);
                }
            }
            content => {
                let mut decided = decider.decide(&mut worker, Batch { content, file: batch.file }, spare.take());
                out.take(&mut decided)?;
                give_back(&mut decided, source);
                spare = Some(decided);
            }
        }
    }
    Ok(())
}

/// The calling thread's part, where there are others.
fn together<'s>(
    source: &mut dyn Source<'s>,
    decider: &Decider<'_, 's>,
    mut worker: Worker<'s>,
    table: &Table<'s>,
    out: &mut InOrder<'_>,
) -> Result<(), RunError> {
    let mut at_end = false;
    loop {
        match table.next_step(at_end) {
            Step::Write(answer) => {
                for mut decided in answer? {
                    out.take(&mut decided)?;
                    give_back(&mut decided, source);
                    table.lock().spares.push(decided);
                }
            }
            Step::Read => match source.next_batch().map_err(RunError::Source)? {
                Some(batch) => table.add(batch),
                None => at_end = true,
            },
            Step::Decide(task) => table.decide(*task, decider, &mut worker),
            Step::End => return Ok(()),
        }
    }
}

/// The octets of a batch go back to the source that they came from; those that values were gathered in are kept.
fn give_back<'s>(decided: &mut Decided<'s>, source: &mut dyn Source<'s>) {
    if decided.values.take().is_some() {
        return;
    }
    if let Cow::Owned(octets) = mem::take(&mut decided.octets)
        && octets.capacity() > 0
    {
        source.recycle(octets);
    }
}

/// What decides a batch.
struct Decider<'e, 's> {
    evaluator: &'e Evaluator<'s>,
    detail: bool,
    /// Whether the rows of units are kept.
    rows: bool,
}

impl<'s> Decider<'_, 's> {
    fn decide(&self, worker: &mut Worker<'s>, batch: Batch<'s>, spare: Option<Decided<'s>>) -> Decided<'s> {
        worker.decide(self.evaluator, batch, self.detail, spare)
    }

    /// Decides a batch, or all parts of a unit.
    fn answer(&self, worker: &mut Worker<'s>, batch: Batch<'s>, mut spare: Option<Decided<'s>>) -> Answer<'s> {
        let Content::Unit(mut unit) = batch.content else {
            return Ok(vec![self.decide(worker, batch, spare)]);
        };
        let mut parts = Vec::new();
        while let Some(part) = unit.next_part().map_err(|error| RunError::Unit(batch.file, error))? {
            let mut decided = self.decide(worker, part.of_file(batch.file), spare.take());
            if !self.rows {
                decided.values = None;
            }
            // Values hold the rows themselves: what they were gathered in serves the next part.
            if !self.rows || decided.values.is_some() {
                spare = Some(Decided { octets: mem::take(&mut decided.octets), ..Decided::default() });
            }
            parts.push(decided);
        }
        Ok(parts)
    }
}

/// A decided batch, or the parts of a unit; or why that could not be read.
type Answer<'s> = Result<Vec<Decided<'s>>, RunError>;

/// A batch to decide.
struct Task<'s> {
    number: u64,
    batch: Batch<'s>,
    spare: Option<Decided<'s>>,
}

/// What the calling thread does next.
enum Step<'s> {
    Write(Answer<'s>),
    Read,
    Decide(Box<Task<'s>>),
    /// Nothing is in flight and nothing comes; or a thread panicked, and the pool raises that.
    End,
}

/// Where the threads meet. Its lock is taken a few times a batch.
struct Table<'s> {
    flow: Mutex<Flow<'s>>,
    /// A batch waits, or no more come.
    waiting: Condvar,
    /// The oldest batch is decided, or a thread panicked.
    oldest: Condvar,
    /// Batches in flight at most.
    room: usize,
}

#[derive(Default)]
struct Flow<'s> {
    /// Batches that nobody decides yet, oldest first. They are the newest of those in flight.
    waiting: VecDeque<Batch<'s>>,
    /// One a batch in flight, oldest first.
    places: VecDeque<Option<Answer<'s>>>,
    /// Batches that left.
    written: u64,
    spares: Vec<Decided<'s>>,
    /// Threads that sleep until a batch waits.
    idle: usize,
    closed: bool,
    panicked: bool,
}

impl<'s> Flow<'s> {
    fn task(&mut self) -> Option<Task<'s>> {
        let number = self.written + (self.places.len() - self.waiting.len()) as u64;
        let batch = self.waiting.pop_front()?;
        Some(Task { number, batch, spare: self.spares.pop() })
    }
}

impl<'s> Table<'s> {
    fn new(room: usize) -> Table<'s> {
        Table { flow: Mutex::default(), waiting: Condvar::new(), oldest: Condvar::new(), room }
    }

    /// No thread panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, Flow<'s>> {
        self.flow.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn add(&self, batch: Batch<'s>) {
        let mut flow = self.lock();
        flow.waiting.push_back(batch);
        flow.places.push_back(None);
        if flow.idle > 0 {
            self.waiting.notify_one();
        }
    }

    /// Waits only where nothing can be done before the oldest batch is decided.
    fn next_step(&self, at_end: bool) -> Step<'s> {
        let mut flow = self.lock();
        loop {
            if flow.panicked {
                return Step::End;
            }
            if let Some(answer) = flow.places.front_mut().and_then(Option::take) {
                flow.places.pop_front();
                flow.written += 1;
                return Step::Write(answer);
            }
            if !at_end && flow.places.len() < self.room {
                return Step::Read;
            }
            if flow.places.is_empty() {
                return Step::End;
            }
            if let Some(task) = flow.task() {
                return Step::Decide(Box::new(task));
            }
            flow = self.oldest.wait(flow).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn decide(&self, task: Task<'s>, decider: &Decider<'_, 's>, worker: &mut Worker<'s>) {
        let answer = decider.answer(worker, task.batch, task.spare);
        let mut flow = self.lock();
        let place = (task.number - flow.written) as usize;
        flow.places[place] = Some(answer);
        if place == 0 {
            self.oldest.notify_one();
        }
    }

    /// Decides batches until no more come.
    fn serve(&self, decider: &Decider<'_, 's>, mut worker: Worker<'s>) {
        let alarm = Alarm(self);
        while let Some(task) = self.next_task() {
            self.decide(task, decider, &mut worker);
        }
        mem::forget(alarm);
    }

    fn next_task(&self) -> Option<Task<'s>> {
        let mut flow = self.lock();
        while !flow.closed {
            if let Some(task) = flow.task() {
                return Some(task);
            }
            flow.idle += 1;
            flow = self.waiting.wait(flow).unwrap_or_else(|poisoned| poisoned.into_inner());
            flow.idle -= 1;
        }
        None
    }
}

/// Sends the other threads home, however the calling thread leaves.
struct Closed<'t, 's>(&'t Table<'s>);

impl Drop for Closed<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.waiting.notify_all();
    }
}

/// Wakes the calling thread if this one panics.
struct Alarm<'t, 's>(&'t Table<'s>);

impl Drop for Alarm<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().panicked = true;
        self.0.oldest.notify_one();
    }
}

/// Numbers rows and adds up as batches come in order.
struct InOrder<'k> {
    sink: &'k mut dyn Sink,
    summary: Summary,
    /// The input that rows come from, and how many came.
    file: u32,
    file_rows: u64,
}

impl InOrder<'_> {
    fn take(&mut self, decided: &mut Decided<'_>) -> Result<(), RunError> {
        if self.file != decided.file {
            (self.file, self.file_rows) = (decided.file, 0);
        }
        decided.first_row = self.file_rows;
        self.file_rows += decided.rows.len() as u64;
        self.sink.write(decided).map_err(RunError::Sink)?;
        self.summary.add(&decided.summary);
        Ok(())
    }
}
