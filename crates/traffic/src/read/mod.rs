//! Readers of flow lists and traces, our own and those of other simulators.
mod hpcc;
mod trace;
mod vef;

pub use hpcc::{HpccFlow, ReadError, hpcc};
pub use trace::trace;
pub use vef::{VEF_CAVEAT, vef};
