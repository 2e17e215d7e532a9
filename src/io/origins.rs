//! The origins of rows, counted: whose robots.txt there is to fetch.

use std::collections::HashMap;
use std::io;

use crate::pipeline::{Decided, Sink};
use crate::target::url::Url;

/// Counts rows by origin.
///
/// ```
/// use std::num::NonZeroUsize;
/// use robosieve::{dialect::RFC9309, store::build::Builder};
/// use robosieve::{io::{lines::MappedLines, origins::OriginCounts}, pipeline::{Evaluator, run}};
///
/// let store = Builder::new(RFC9309).finish()?.open()?;
/// let mut counts = OriginCounts::default();
/// let mut rows = MappedLines::new(b"https://EXAMPLE.com/a\nhttps://example.com/b\nhttp://example.org/\nno URL\n");
/// run(&mut rows, &Evaluator::new(&store, Vec::new()), &mut counts, NonZeroUsize::MIN)?;
/// assert_eq!(counts.most_first(), [("https://example.com".to_owned(), 2), ("http://example.org".to_owned(), 1)]);
/// assert_eq!(counts.rows_without_origin(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct OriginCounts {
    /// By the octets before the path, as they were written: the number of the origin.
    known: HashMap<Box<[u8]>, u32>,
    by_origin: HashMap<String, u32>,
    rows: Vec<u64>,
    without: u64,
}

/// Ways to write an origin that are remembered.
const MAX_KNOWN: usize = 1 << 20;

impl OriginCounts {
    /// Rows that name no origin.
    pub fn rows_without_origin(&self) -> u64 {
        self.without
    }

    /// Rows in all.
    pub fn row_count(&self) -> u64 {
        self.without + self.rows.iter().sum::<u64>()
    }

    /// How many origins there are.
    pub fn origin_count(&self) -> usize {
        self.rows.len()
    }

    /// The origins and their rows, those with most rows first, then by name.
    pub fn most_first(&self) -> Vec<(String, u64)> {
        let mut origins: Vec<(String, u64)> =
            self.by_origin.iter().map(|(origin, &number)| (origin.clone(), self.rows[number as usize])).collect();
        origins.sort_unstable_by(|(a, a_rows), (b, b_rows)| b_rows.cmp(a_rows).then_with(|| a.cmp(b)));
        origins
    }

    /// The number of the origin of a row, and the length of the octets that decide it.
    fn number(&mut self, row: &[u8]) -> Option<(u32, usize)> {
        let url = Url::split(row).ok()?;
        let prefix = url.prefix();
        if let Some(&number) = self.known.get(prefix) {
            return Some((number, prefix.len()));
        }
        let next = self.rows.len() as u32;
        let number = *self.by_origin.entry(url.origin().ok()?).or_insert(next);
        if number == next {
            self.rows.push(0);
        }
        if self.known.len() < MAX_KNOWN {
            self.known.insert(prefix.into(), number);
        }
        Some((number, prefix.len()))
    }
}

impl Sink for OriginCounts {
    fn write(&mut self, decided: &Decided<'_>) -> io::Result<()> {
        let mut row = 0;
        while row < decided.row_count() {
            let first = decided.row(row);
            let Some((number, len)) = self.number(first) else {
                self.without += 1;
                row += 1;
                continue;
            };
            // Rows that begin alike have one origin.
            let begins_alike = |&row: &usize| Url::is_prefix(&first[..len], decided.row(row));
            let count = (row..decided.row_count()).take_while(begins_alike).count();
            self.rows[number as usize] += count as u64;
            row += count;
        }
        Ok(())
    }
}
