//! NICs that throttle themselves.
use backwater_control::reaction::PftConfig;

/// Proactive flow throttling at every host; only under credits, of which it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct ThrottleSpec {
    /// States and rates. `line_flit` and `capacity` are those of each host's own link, whatever is said here.
    pub config: PftConfig,
    /// What has a throttle of its own.
    pub scope: Scope,
}

/// What has a throttle of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The port of a NIC: c adds up the credits of its virtual lanes, and what the NIC sends waits alike. "One state machine", as the
    /// PFT paper's section IV-D counts its hardware. ACKs and CNPs of a priority without credits wait as well, but leave no gap.
    #[default]
    Port,
    /// Each virtual lane under credits, by its own c. What is not under credits is not throttled.
    VirtualLane,
}
