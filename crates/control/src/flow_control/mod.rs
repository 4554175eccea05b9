//! Link side: may this port send now, and how much buffer does that take?
mod bands;
mod cbfc;
mod feasibility;
mod headroom;
mod pfc;
mod threshold;

pub use bands::{Band, Bands, Strays};
pub use cbfc::{CreditReceiver, CreditReturn, CreditSender, Unit};
pub use feasibility::{Feasibility, FeasibilityStep, feasibility, longest_period};
pub use headroom::{Headroom, Term, headroom, headroom_hpcc};
pub use pfc::{Decision, Form};
pub use threshold::{Admission, Ingress, Level, Threshold};
