//! For whoever builds a switch, a NIC or a simulator of one: the algorithms of lossless fabrics, one file each.
//!
//! Everything here is sans-IO: a value with a few methods that take `now` and facts and return a decision. There
//! is no clock, no queue, no allocation and no simulator in this crate, so the same code runs per packet in a
//! simulation, behind a C interface in a data plane, and from a script in a test.
//!
//! | family | question | files |
//! |---|---|---|
//! | [`detector`] | congestion point: in what state is this egress port, and is this packet marked? | `red`, `np_ecn`, `fecn`, `tcd`, `max_ton`; the user's `custom` |
//! | [`reaction`] | reaction point: how fast may this flow send? | `dcqcn`, `dcqcn_hpcc`, `timely`, `ib_cc`, the user's `custom`; of PUTs `opt`, `aimd`, `dack`; of a whole NIC `pft` |
//! | [`transport`] | both ends of a reliable stream: which packet goes next, is this one taken? | `initiator`, `target` |
//! | [`uec`] | Ultra Ethernet: what has come, what is next, by which way, how fast? | `sender`, `receiver`, `spread`, `nscc`, `credit`, `oversubscribed` |
//! | [`notify`] | notification point: what goes back to the source, and when? | `cnp`, `ack`, `put` |
//! | [`flow_control`] | link: may the upstream port send, and how much buffer does that take? | `pfc`, `threshold`, `headroom`, `bands`, `cbfc`, `feasibility`; of real links `pause`, `wide` |
//! | [`arbitration`] | egress port: which of the virtual lanes or classes that may send goes next? | `vl`, `drr` |
//! | [`isolation`] | switch: which flow goes to the congested-flow queue? | `cft`, `ci`, `ici`, `cim`, `history`; holding queues upstream `bfc`, `dst_pfc`, `pyrrha`, `recn`; pausing sources `sfc` |
//!
//! Arithmetic is deterministic: integers, or floats with `+ - * /`; the logarithms that `pft` draws with are `libm`'s, the same on
//! every machine. Parameters (shared, `Copy`) are kept apart from registers (one per port, priority or flow, small).
#![cfg_attr(not(test), no_std)]

#[cfg(feature = "config")]
extern crate alloc;

pub mod arbitration;
mod code;
#[cfg(feature = "config")]
pub mod config;
pub mod detector;
mod error;
pub mod flow_control;
pub mod isolation;
pub mod notify;
pub mod reaction;
pub mod transport;
pub mod uec;

pub use code::{CodePoint, PortState};
pub use error::{ConfigError, Value};
