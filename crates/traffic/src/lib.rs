//! For workload authors: which flows start where and when. Pure data, no simulator.
//!
//! A [`Flow`] says who sends how much to whom from when on. Flows come from a generator (one file each in
//! [`generate`]) or from a file ([`read`]); sizes come from a [`Cdf`]. Everything random is drawn from streams
//! derived from the run's seed, so the same seed gives the same flows, whatever else the run contains.
//!
//! To add a workload, add a file to `generate/` with a struct of its parameters and a `flows` method.
pub mod cdf;
mod draw;
mod flow;
pub mod generate;
pub mod program;
pub mod read;
mod stream;
pub mod trace;

pub use cdf::{Cdf, CdfError};
pub use draw::draw;
pub use flow::{
    Drawn, Flow, Full, Gaps, Group, MAX_PACKETS, MAX_SIZE, OWN_CONNECTION, Pacing, connect, pairs, sort,
};
pub use stream::exponential;
