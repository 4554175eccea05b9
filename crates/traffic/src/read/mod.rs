//! Readers of flow lists, traces and rank programs, our own and those of other simulators.
mod collective;
mod hpcc;
mod import;
mod line;
mod program;
mod trace;
mod vef;

pub use hpcc::{HpccFlow, ReadError, hpcc};
pub use import::{
    GOAL_MAGIC, HtsimFailure, HtsimRules, ImportError, Imported, chakra, goal, goal_binary, htsim_matrix,
};
pub use line::LineError;
pub use program::program;
pub use trace::trace;
pub use vef::{VEF_CAVEAT, vef};
