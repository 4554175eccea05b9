//! Reliable delivery: which packet goes next, and is this one taken?
//!
//! PUTs of one stream (source, destination, priority, kind) are numbered from 1 and accepted in that order only; what is lost is
//! sent again with everything behind it (go-back-N). [`crate::reaction::Controller`] says when a packet may leave.
//! Queue pairs have the same go-back-N, with the responder in [`go_back_n`], or selective repeat ([`selective`]).
pub mod block_list;
pub mod go_back_n;
mod initiator;
#[cfg(feature = "config")]
pub mod reliability;
pub mod selective;
#[cfg(feature = "config")]
pub mod settings;
mod target;

pub use initiator::{Acked, Initiator, Nacked, Next, ReplayMoves, Sent};
pub use target::{Target, Verdict};
