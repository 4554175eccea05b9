//! Egress port: which of the virtual lanes that may send goes next?
mod vl;

pub use vl::{VlArbiter, VlEntry, validate};
