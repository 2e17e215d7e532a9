//! What is asked: a URL split once into an origin and a target, and the canonical octets of both sides.

pub mod form;
pub mod percent;
pub mod quote;
pub mod url;
