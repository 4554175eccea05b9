//! CI, congestion isolation: whoever finds a long queue is congesting.
//!
//! Reference: RECN (HPCA 2005), FBICM and DRBCM (TPDS 2013), DVL (NEAT 2019) and IEEE 802.1Qcz, as ICI paper (arXiv 2511.04639),
//! section 2, describes them: "the congestion root (i.e., the egress port where buffer occupancy exceeds a threshold)".
//!
//! ```text
//!   packet enters the NFQ of egress port e
//!   ┌───────────┐  NFQ of e (with it) ≥ T_DET   ┌────────────────────────┐
//!   │ monitored ├──────────────────────────────▶│ entry: egress + mirror │   the first packet of the key at a further
//!   └───────────┘                               │ at the ingress port    │   ingress port takes a mirror there
//!                                               └────────────────────────┘
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | `T_DET` | B | 48 KiB: 12 packets | reconstructed: below the stop of the NFQ, 22 packets |
//! | `T_RES` | ps | 10 µs | reconstructed |
//! | early | B | off; 44 KiB: 11 packets where it is on | reconstructed: the paper (section 3) only says that it may be |
//!
//! The table's costs are in `cft.rs`, the CIM in `cim.rs`.
//!
//! Known deviations: none from the paper's description, which is all there is here. What it gets wrong stays wrong: any packet
//! that arrives while the queue is long counts as congesting, also at a port that is held back itself.
use backwater_units::{Bytes, Span};

use super::{Common, NotifyConfig};

/// Parameters of CI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct CiConfig {
    /// All of them.
    pub common: Common,
}

impl CiConfig {
    /// 12 packets of 4 KiB, 10 µs, CIMs at 8 packets, no early hint (all reconstructed).
    pub const fn standard() -> Self {
        Self {
            common: Common {
                detect: Bytes::new(12 * 4096),
                residency: Span::from_us(10),
                notify: NotifyConfig::standard(),
                early: None,
            },
        }
    }
}
