//! Thresholds of isolation against the switch they are set in: combinations in which a rule could never act, or too late.
//!
//! | refused | because |
//! |---|---|
//! | `TH_CIM` at or above the stop of the CFQ | the CFQ would pause the link before anybody upstream is notified |
//! | `T_DET`, `Q_MIN` above the cap of the NFQ | the egress NFQ never gets so long: no entry, ever |
//! | early level at or above the stop of the NFQ | the link would be paused before the hint |
//! | kmin of a ramp at or above the cap of its queue | ICI+ would be ICI |
//! | CI with more than 128 ports | an entry knows its mirrors by one bit each |
//!
//! All of it is arithmetic; the values are the caller's.
use backwater_units::Bytes;

use super::{Isolation, Slot};
use crate::ConfigError;
use crate::error::require;

/// What of the switch the thresholds must fit into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Surroundings {
    /// What the NFQ may take of an egress region.
    pub nfq_cap: Bytes,
    /// The same of the CFQ.
    pub cfq_cap: Bytes,
    /// From where on the NFQ of an ingress port is paused.
    pub nfq_stop: Bytes,
    /// The same of the CFQ.
    pub cfq_stop: Bytes,
    /// Most ports of a switch.
    pub ports: u16,
}

impl Surroundings {
    /// Caps of 36 and 28 packets of 4 KiB (reconstructed: 64 in the proportion of the stops), stops of 22 and 17 (ICI paper,
    /// section 4.1), 8 ports (4-ary 3-tree; reconstructed).
    pub const fn standard() -> Self {
        Self {
            nfq_cap: Bytes::new(36 * 4096),
            cfq_cap: Bytes::new(28 * 4096),
            nfq_stop: Bytes::new(22 * 4096),
            cfq_stop: Bytes::new(17 * 4096),
            ports: 8,
        }
    }
}

impl Isolation {
    /// Refuses thresholds that cannot work in such a switch. [`Self::validate`] has passed.
    pub fn fits(&self, switch: &Surroundings) -> Result<(), ConfigError> {
        self.common_fits(switch)?;
        self.ici_fits(switch)?;
        require(
            !self.mirrors() || switch.ports <= Slot::PORTS,
            "kind",
            f64::from(switch.ports),
            "ici or ici-plus in a switch of more than 128 ports",
            "CI has a mirror per ingress port; use ici, or a topology with smaller switches",
        )
    }

    fn common_fits(&self, switch: &Surroundings) -> Result<(), ConfigError> {
        let common = self.common();
        require(
            common.notify.on_allocation || common.notify.level < switch.cfq_stop,
            "cim.level",
            common.notify.level,
            "below cfq.stop",
            "lower it, to half of cfq.stop for instance: the CFQ would pause the link before anybody upstream is notified",
        )?;
        require(
            common.detect <= switch.nfq_cap,
            "detect",
            common.detect,
            "at most nfq.cap",
            "lower it or raise nfq.cap: the NFQ of an egress port never gets so long, so nothing would be isolated",
        )?;
        let early = common.early.unwrap_or_default();
        require(
            early < switch.nfq_stop,
            "early",
            early,
            "below nfq.stop",
            "lower it, to half of nfq.stop for instance: the link would be paused before the hint",
        )
    }

    fn ici_fits(&self, switch: &Surroundings) -> Result<(), ConfigError> {
        let Self::Ici(ici) = self else { return Ok(()) };
        require(
            ici.quorum <= switch.nfq_cap,
            "ici.quorum",
            ici.quorum,
            "at most nfq.cap",
            "lower it to a few packets: no destination ever has so much of the NFQ, so nothing would be isolated",
        )?;
        let Some(marking) = &ici.marking else { return Ok(()) };
        require(
            marking.monitored.kmin() < switch.nfq_cap,
            "ici-plus.monitored.kmin",
            marking.monitored.kmin(),
            "below nfq.cap",
            "lower it: the NFQ never gets longer, so ICI+ would mark none of its packets",
        )?;
        require(
            marking.congested.kmin() < switch.cfq_cap,
            "ici-plus.congested.kmin",
            marking.congested.kmin(),
            "below cfq.cap",
            "lower it: the CFQ hardly gets longer, so ICI+ would mark none of its packets",
        )
    }
}
