//! CIM, the congestion isolation message: when a switch tells the port upstream to isolate a flow too.
//!
//! Reference: IEEE 802.1Qcz (the message; at most three per flow); ICI paper (arXiv 2511.04639), section 2 (isolation spreads
//! upstream), which gives no rule for the instant.
//!
//! ```text
//!   a packet of an entry is stored in the ingress CFQ of port p
//!     CFQ of p below TH_CIM ─────────────────────────────────────▶ nothing      (not with `on_allocation`)
//!     none sent for (entry, p) yet ──────────────────────────────▶ CIM
//!     it came as a monitored one, T_CIM since the last, fewer than most ─▶ CIM: upstream does not isolate it (any more)
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | `TH_CIM` | B | 32 KiB: 8 packets | reconstructed: below the stop of the CFQ, or the CFQ pauses before anybody is notified |
//! | `T_CIM` | ps | 4 µs | reconstructed |
//! | most | – | any number | reconstructed; 3 in IEEE 802.1Qcz |
//! | on allocation | – | no | reconstructed; yes is what IEEE 802.1Qcz describes |
//!
//! Known deviations: the message is 64 B with the flow's key and the root, not 48 octets of the packet's header.
use backwater_units::{Bytes, Span, Time};

use crate::ConfigError;
use crate::error::require;

/// When CIMs are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct NotifyConfig {
    /// `TH_CIM`: none while the ingress CFQ holds less than this, the packet included.
    pub level: Bytes,
    /// As soon as there is an entry, whatever the CFQ holds.
    pub on_allocation: bool,
    /// `T_CIM`: between two CIMs of an entry by the same port.
    pub gap: Span,
    /// CIMs of an entry by the same port; `None`: any number.
    pub most: Option<u8>,
}

/// What a switch remembers of the CIMs of one entry and ingress port. Begins anew with the entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct CimState {
    /// The earliest instant for another one.
    again: Time,
    sent: u8,
}

impl CimState {
    /// CIMs sent, up to 255.
    pub const fn sent(&self) -> u8 {
        self.sent
    }
}

/// A packet of an entry was stored in an ingress CFQ, or caused its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CimFacts {
    /// Bytes in the CFQ of that ingress port, with the packet.
    pub level: u64,
    /// The packet came in the monitored class: upstream did not isolate it.
    pub as_monitored: bool,
    /// The entry was made just now, because of this packet.
    pub allocated: bool,
    /// When.
    pub now: Time,
}

impl NotifyConfig {
    /// 8 packets of 4 KiB, 4 µs, any number (all reconstructed).
    pub const fn standard() -> Self {
        Self { level: Bytes::new(8 * 4096), on_allocation: false, gap: Span::from_us(4), most: None }
    }

    /// Whether a CIM goes out by the ingress port; if so, it is booked.
    #[inline]
    pub fn notifies(&self, cim: &mut CimState, facts: &CimFacts) -> bool {
        let due = if self.on_allocation { true } else { !facts.allocated && facts.level >= self.level.get() };
        let repeat =
            facts.as_monitored && facts.now >= cim.again && self.most.is_none_or(|most| cim.sent < most);
        if !due || cim.sent > 0 && !repeat {
            return false;
        }
        cim.sent = cim.sent.saturating_add(1);
        cim.again = facts.now.saturating_add(self.gap);
        true
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        require(
            self.gap > Span::ZERO,
            "cim.gap",
            self.gap,
            "longer than 0ps",
            "4us is the default; a CIM for every packet would load the link",
        )?;
        require(
            self.most != Some(0),
            "cim.most",
            0.0,
            "at least 1, or left out for any number",
            "IEEE 802.1Qcz has 3; without any CIM nothing is isolated upstream",
        )
    }
}
