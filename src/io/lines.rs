//! URL lists: one URL a line, mapped or streamed.

use std::io::{self, Read};

use crate::pipeline::{Batch, Source};

/// Octets a batch has at least, but for the last one: enough rows that handing one over costs nothing, few enough to stay in the cache.
const BATCH_LEN: usize = 256 << 10;

/// Lines of octets in memory, or in a mapped file.
#[derive(Debug, Clone)]
pub struct MappedLines<'s> {
    rest: &'s [u8],
}

impl<'s> MappedLines<'s> {
    /// The lines of `octets`.
    pub fn new(octets: &'s [u8]) -> MappedLines<'s> {
        MappedLines { rest: octets }
    }
}

impl<'s> Source<'s> for MappedLines<'s> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let end = match self.rest.get(BATCH_LEN..).and_then(|behind| memchr::memchr(b'\n', behind)) {
            Some(at) => BATCH_LEN + at + 1,
            None => self.rest.len(),
        };
        let (batch, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(Some(Batch::lines(batch)))
    }
}

/// Octets a pipe should hold: as many as the system gives anyone who asks, and enough that its writer goes on while some batches are decided.
#[cfg(target_os = "linux")]
const PIPE_LEN: usize = 1 << 20;

/// Makes a pipe hold more, where it may be; anything else is left as it is.
///
/// What a pipe holds by itself (64 KiB) is less than a batch: whoever writes sleeps while rows are decided, and whoever reads while more is written. On Linux a pipe
/// gets room for a mebibyte, on other systems this does nothing.
///
/// ```
/// use robosieve::io::lines::{StreamedLines, widen_pipe};
///
/// let stdin = std::io::stdin();
/// widen_pipe(&stdin);
/// let rows = StreamedLines::new(stdin);
/// ```
#[cfg(unix)]
pub fn widen_pipe(stream: impl std::os::fd::AsFd) {
    #[cfg(target_os = "linux")]
    if rustix::pipe::fcntl_getpipe_size(&stream).is_ok_and(|len| len < PIPE_LEN) {
        // Refused, say because the user's pipes hold too much in all, it stays slower and right.
        let _ = rustix::pipe::fcntl_setpipe_size(&stream, PIPE_LEN);
    }
    #[cfg(not(target_os = "linux"))]
    drop(stream);
}

/// Lines of a stream. Memory is bounded by the batches in flight and the longest line.
#[derive(Debug)]
pub struct StreamedLines<R> {
    stream: R,
    /// What was read behind the last whole line.
    kept: Vec<u8>,
    /// Buffers that came back.
    spares: Vec<Vec<u8>>,
    at_end: bool,
}

impl<R: Read> StreamedLines<R> {
    /// The lines of `stream`.
    pub fn new(stream: R) -> StreamedLines<R> {
        StreamedLines { stream, kept: Vec::new(), spares: Vec::new(), at_end: false }
    }

    /// Reads until the buffer, which holds `len` octets, is full or the stream ends; gives how many it holds then.
    fn fill(&mut self, buffer: &mut [u8], mut len: usize) -> io::Result<usize> {
        while len < buffer.len() {
            match self.stream.read(&mut buffer[len..]) {
                Ok(0) => {
                    self.at_end = true;
                    break;
                }
                Ok(read) => len += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(len)
    }

    /// A buffer of the length of a batch, or of twice what is kept, that begins with that. One that came back is as long as its batch was: little is
    /// written that the stream does not write anyway.
    fn buffer(&mut self) -> Vec<u8> {
        let mut buffer = self.spares.pop().unwrap_or_default();
        buffer.resize(BATCH_LEN.max(2 * self.kept.len()), 0);
        buffer[..self.kept.len()].copy_from_slice(&self.kept);
        buffer
    }
}

impl<'s, R: Read> Source<'s> for StreamedLines<R> {
    fn next_batch(&mut self) -> io::Result<Option<Batch<'s>>> {
        if self.at_end {
            return Ok(None);
        }
        let mut buffer = self.buffer();
        let mut searched = self.kept.len();
        let mut len = searched;
        let end = loop {
            len = self.fill(&mut buffer, len)?;
            match memchr::memrchr(b'\n', &buffer[searched..len]) {
                _ if self.at_end => break len,
                Some(at) => break searched + at + 1,
                None => {
                    searched = len;
                    buffer.resize(2 * len, 0);
                }
            }
        };
        self.kept.clear();
        self.kept.extend_from_slice(&buffer[end..len]);
        buffer.truncate(end);
        if buffer.is_empty() { Ok(None) } else { Ok(Some(Batch::lines(buffer))) }
    }

    fn recycle(&mut self, octets: Vec<u8>) {
        // Not the buffer of a line of megabytes.
        if octets.capacity() <= 2 * BATCH_LEN {
            self.spares.push(octets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batches<'s>(source: &mut dyn Source<'s>) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| source.next_batch().unwrap()).map(|batch| batch.octets().to_vec()).collect()
    }

    /// A reader that gives a few octets at a time.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.0.len().min(buffer.len()).min(10_007);
            buffer[..len].copy_from_slice(&self.0[..len]);
            self.0 = &self.0[len..];
            Ok(len)
        }
    }

    #[test]
    fn batches_are_whole_lines_and_lose_nothing() {
        let long = [b"x".repeat(3 * BATCH_LEN), b"\n".to_vec()].concat();
        let short = b"http://example.com/some/path\r\n".repeat(40_000);
        for text in
            [b"".to_vec(), b"a".to_vec(), b"\n".to_vec(), short.clone(), long.clone(), [&short[..], &long, &short, b"last"].concat()]
        {
            for batches in [batches(&mut MappedLines::new(&text)), batches(&mut StreamedLines::new(Trickle(&text)))] {
                assert_eq!(batches.concat(), text);
                let but_last = &batches[..batches.len().saturating_sub(1)];
                assert!(but_last.iter().all(|batch| batch.ends_with(b"\n") && batch.len() >= BATCH_LEN / 2));
            }
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_widened_pipe_holds_more_than_a_batch() {
        let text = b"http://example.com/some/path\n".repeat(BATCH_LEN / 20);
        let (reader, mut writer) = io::pipe().unwrap();
        widen_pipe(&reader);
        widen_pipe(&reader);
        let len = rustix::pipe::fcntl_getpipe_size(&reader).unwrap();
        assert!(len > text.len(), "{len}");
        // Nobody reads yet.
        io::Write::write_all(&mut writer, &text).unwrap();
        drop(writer);
        assert_eq!(batches(&mut StreamedLines::new(reader)).concat(), text);
        widen_pipe(std::fs::File::open("/dev/null").unwrap());
    }
}
