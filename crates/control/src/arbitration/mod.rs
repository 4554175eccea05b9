//! Egress port: which of the virtual lanes or classes that may send goes next?
mod drr;
mod vl;

pub use drr::{Drr, Head, Quanta};
pub use vl::{VlArbiter, VlEntry, validate};
