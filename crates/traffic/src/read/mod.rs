//! Readers of flow lists that other simulators use.
mod hpcc;
mod trace;

pub use hpcc::{HpccFlow, ReadError, hpcc};
pub use trace::trace;
