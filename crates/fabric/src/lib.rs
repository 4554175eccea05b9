//! For model builders: the fabric itself — links, ports, switches, NICs and queue pairs on the event core.
//!
//! ```text
//!   queue pair ─▶ NIC ─▶ link ─▶ ingress account ─▶ routing ─▶ egress queue ─▶ detector ─▶ arbiter & gate ─▶ link …
//!      ▲                          │ Xoff / Xon                                               ▲
//!      └── CNP, ACK ◀── receiver  └──▶ PAUSE / RESUME frame upstream ───────────────────────┘
//! ```
//! [`Spec`] says what to build, [`Simulation`] builds and runs it, [`record`] is what it reports. The algorithms
//! come from `backwater-control`; this crate gives them clocks, queues and frames.
mod app;
mod check;
mod ctx;
mod fault;
mod isolation_counts;
mod link;
mod log;
mod nic;
mod node;
mod observe;
mod packet;
pub mod record;
mod reuse;
mod saved;
mod simulation;
mod spec;
mod switch;
mod transport;
mod user;
mod violation;
mod world;

pub use backwater_control::detector::{MarkAt, MarkBasis};
pub use backwater_control::isolation::KeyKind;
pub use backwater_control::reaction::Scope;
pub use backwater_engine::{Kind, Prediction, Profile, Spent};
pub use check::books::{Account, Book};
pub use log::Records;
pub use packet::MOST_GROUPS;
pub use simulation::look::{Look, Looks, PortLook};
pub use simulation::{
    Completion, Completions, Control, Course, End, Reused, Simulation, Sizes, Totals, form, retrace, sizes,
};
pub use spec::*;
pub use switch::forwarding::ecmp::{PathHash, five_tuples, murmur_tuples};
pub use transport::put::frame::MOST_BUFFERED;
pub use transport::roce::reliable::MOST_SELECTIVE;
pub use user::{UserFault, UserSpec};
pub use violation::{Stuck, Violation};

/// The longest simulated time: 18 014 s (a wake's time has 54 bits of picoseconds).
pub const LONGEST_RUN: backwater_units::Span = backwater_units::Span::from_ps(link::ports::LONGEST_RUN);
