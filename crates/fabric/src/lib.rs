//! For model builders: the fabric itself — links, ports, switches, NICs and queue pairs on the event core.
//!
//! ```text
//!   queue pair ─▶ NIC ─▶ link ─▶ ingress account ─▶ routing ─▶ egress queue ─▶ detector ─▶ arbiter & gate ─▶ link …
//!      ▲                          │ Xoff / Xon                                               ▲
//!      └── CNP, ACK ◀── receiver  └──▶ PAUSE / RESUME frame upstream ───────────────────────┘
//! ```
//! [`Spec`] says what to build, [`Simulation`] builds and runs it, [`record`] is what it reports. The algorithms
//! come from `backwater-control`; this crate gives them clocks, queues and frames.
mod admission;
mod audit;
mod batch;
mod combined;
mod connection;
mod credits;
mod crossbar;
mod deadlock;
mod delivered;
mod dropping;
mod due;
mod ecmp;
mod egress;
mod endpoint;
mod ends;
mod explain;
mod forwarding;
mod gates;
mod halves;
mod host;
mod ideal;
mod ingress;
mod isolating;
mod lanes;
mod lateness;
mod log;
mod marking;
mod nic;
mod node;
mod outcome;
mod packet;
mod pair;
mod pausing;
mod ports;
mod put;
mod queue;
mod ranks;
mod receiving;
pub mod record;
mod reorder;
pub mod retrace;
mod segments;
mod simulation;
mod spacing;
mod spec;
mod special;
mod spread;
mod stalled;
mod steps;
mod supply;
mod switch;
mod tally;
mod taps;
mod telemetry;
mod throttle;
mod truth;
mod user;
mod violation;
mod voq;
mod window;
mod world;

pub use backwater_engine::Kind;
pub use ecmp::five_tuples;
pub use log::Records;
pub use put::frame::MOST_BUFFERED;
pub use simulation::{Control, End, Simulation, Totals};
pub use spec::{
    AckSpec, Arbiter, Balancing, Combined, CreditSpec, Crossings, DrainSpec, EndpointSpec, IsolationSpec,
    KeyKind, MarkAt, MarkBasis, MarkSpec, NicScheduler, NicSpec, Overflow, PacketSpec, PairSpec, PfcSpec,
    ProbeSpec, PutSpec, Queueing, Scope, SegmentSpec, Spec, Start, SwitchSpec, Switching, ThrottleSpec,
};
pub use user::{UserFault, UserSpec};
pub use violation::{Stuck, Violation};

/// The longest simulated time: 18 014 s (a wake's time has 54 bits of picoseconds).
pub const LONGEST_RUN: backwater_units::Span = backwater_units::Span::from_ps(ports::LONGEST_RUN);
