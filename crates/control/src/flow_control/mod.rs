//! Link side: when is the upstream port paused, how much buffer does that take, and may this port send now?
mod headroom;
mod pfc;
mod threshold;

pub use headroom::{Headroom, Term, headroom, headroom_hpcc};
pub use pfc::{Decision, Form, Gate};
pub use threshold::{Admission, Ingress, Level, Threshold};
