//! Records that pass, as they came.

use std::io::{self, Write};

use crate::io::filter::RowWriter;
use crate::pipeline::{Bits, Decided};

/// Writes a table's header, and those of its records that pass, octet for octet.
#[derive(Debug)]
pub struct CsvFilter<W> {
    out: W,
    /// Until it is written.
    header: Vec<u8>,
    /// What a last record without a line end gets, so that no two ever become one.
    line_end: &'static [u8],
}

impl<W: Write> CsvFilter<W> {
    /// Writes to `out`, the header first, which is that of [`CsvRows::header`](super::CsvRows::header).
    pub fn new(out: W, header: &[u8]) -> CsvFilter<W> {
        let line_end: &[u8] = match header {
            [.., b'\r', b'\n'] => b"\r\n",
            [.., b'\r'] => b"\r",
            _ => b"\n",
        };
        CsvFilter { out, header: header.to_vec(), line_end }
    }

    fn write_record(&mut self, record: &[u8]) -> io::Result<()> {
        self.out.write_all(record)?;
        if !record.ends_with(b"\n") && !record.ends_with(b"\r") {
            self.out.write_all(self.line_end)?;
        }
        Ok(())
    }

    fn write_header(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.header) {
            header if header.is_empty() => Ok(()),
            header => self.write_record(&header),
        }
    }
}

impl<W: Write> RowWriter for CsvFilter<W> {
    fn write_rows(&mut self, decided: &Decided<'_>, rows: &Bits) -> io::Result<()> {
        self.write_header()?;
        rows.ones().try_for_each(|row| self.write_record(decided.line(row)))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.write_header()?;
        self.out.flush()
    }
}
