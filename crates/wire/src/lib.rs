//! For whoever reads or writes frames: the bytes of lossless Ethernet and RoCE, as the standards have them.
//!
//! | file | frames | standard |
//! |---|---|---|
//! | `ethernet` | Ethernet header, VLAN tag | IEEE 802.3 clause 3, IEEE 802.1Q clause 9 |
//! | `mac_control` | PAUSE (opcode 0x0001), PFC (0x0101) | IEEE 802.3 annexes 31B and 31D, IEEE 802.1Q clause 36 |
//! | `credit` | FCTBS and FCCL of each virtual lane, `EtherType` 0x88B5 | ours, after InfiniBand vol. 1 §7.9 |
//! | `ip` | `IPv4`, its ECN bits and checksum, UDP | RFC 791, 768, 1624, 3168 |
//! | `roce` | BTH, AETH, CNP, ICRC over UDP 4791 | InfiniBand vol. 1 §9, annexes A16 and A17 |
//! | `frame` | any of them, told by its bytes; `Display` is for people | |
//!
//! Each has a value (`Pfc`, `Bth`, …) with `parse` and `emit`. A parser refuses what is too short, too long or unknown with a
//! [`WireError`] that names the field, and never panics; an emitter asks for room and says how many bytes it wrote. Lengths are
//! those of a frame without its check sequence (FCS), as network cards deliver it.
#![cfg_attr(not(test), no_std)]
#![allow(clippy::doc_markdown, reason = "IPv4, RoCEv2 and EtherType are words here, not items")]

mod credit;
mod error;
mod ethernet;
mod frame;
mod ip;
mod mac_control;
mod roce;

pub use credit::{CREDIT_LANES, CREDIT_VERSION, CreditMessage, LaneCredit};
pub use error::WireError;
pub use ethernet::{Ethernet, MacAddress, Vlan, ethertype};
pub use frame::{Frame, Payload};
pub use ip::{Ipv4, Udp, set_ecn};
pub use mac_control::{MacControl, PAUSE_ADDRESS, Pfc};
pub use roce::{Aeth, Bth, Datagram, ROCE_PORT, Roce, icrc, opcode};

/// The least frame, without its check sequence.
pub const LEAST_FRAME: usize = 60;
