//! Columns in and out: the same verdicts for the same URLs, whatever form they come in.

mod arrow;
