//! Link side: may this port send now, and how much buffer does that take?
mod bands;
mod cbfc;
mod feasibility;
mod headroom;
pub mod llr;
mod lossy_pool;
mod pause;
mod pfc;
mod shared_credits;
mod threshold;
mod trimming;
mod two_pools;
mod wide;

pub use bands::{Band, Bands, Strays};
pub use cbfc::{CreditReceiver, CreditReturn, CreditSender, LONGEST_PERIOD, Unit};
pub use feasibility::{Feasibility, FeasibilityStep, feasibility, longest_period};
pub use headroom::{Headroom, RESPONSE, Term, headroom, headroom_hpcc};
pub use llr::LinkRetry;
pub use lossy_pool::LossyPool;
pub use pause::{
    GateChange, PauseConfig, PauseGate, PauseIngress, QUANTUM_BITS, StormChange, Watchdog, quanta_span,
};
pub use pfc::{Decision, Form};
pub use shared_credits::CreditPool;
pub use threshold::{Admission, Ingress, Level, Threshold};
pub use trimming::{TrimRoom, Trimming, Victim};
pub use two_pools::{Refusal, TwoPools};
pub use wide::{CreditLane, Verdict};
