//! Tables in and out: the same verdicts whatever the format.

mod text;
