//! Readers of flow lists that other simulators use.
mod hpcc;

pub use hpcc::{HpccFlow, ReadError, hpcc};
