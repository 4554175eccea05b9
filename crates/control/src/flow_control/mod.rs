//! Link side: when is the upstream port paused, and how much buffer does that take?
mod headroom;
mod pfc;
mod threshold;

pub use headroom::{Headroom, Term, headroom, headroom_hpcc};
pub use pfc::{Decision, Form};
pub use threshold::{Admission, Ingress, Level, Threshold};
