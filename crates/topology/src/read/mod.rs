//! Readers of other simulators' topology files.

mod hpcc;

pub use hpcc::{ReadError, ReadErrorKind, hpcc, hpcc_bytes};
