//! A packet memory that is divided among egress queues and among ingress ports.
use backwater_units::Bytes;

/// What each egress queue and each ingress port may have of a switch's packet memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TwoPoolsSpec {
    /// What the egress queues share; `None`: the buffer, less the reserve of each port and each of its eight priorities.
    pub egress: Option<Bytes>,
    /// What the ingress ports share; `None`: the same, less the headroom of each port.
    pub ingress: Option<Bytes>,
    /// log2 of the share of what is left of the egress pool that one queue may have.
    pub egress_log_alpha: i8,
    /// log2 of the share of what is left of the ingress pool that one port and priority may have without a PAUSE.
    pub ingress_log_alpha: i8,
    /// What each queue, and each ingress port and priority, has beside the pools.
    pub reserve: Bytes,
    /// What each ingress port and priority may hold while the ingress pool is full.
    pub headroom: Bytes,
    /// A RESUME wants so much more of the ingress pool to be free.
    pub hysteresis: Bytes,
}
