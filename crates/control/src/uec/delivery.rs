//! How packets of a flow are delivered: the modes of UE's packet delivery as far as they matter for congestion.
//!
//! Reference: Ultra Ethernet Specification 1.0, section 3.5, by public descriptions of its modes; the specification itself was not read. The
//! Consortium's simulator, `ultraethernet/uet-htsim` at 40ccb05, has RUD alone.
//!
//! | mode | by | receiver | after a loss |
//! |---|---|---|---|
//! | RUD | many ways | takes any order, each packet once; SACK words | that packet |
//! | ROD | one way | takes the next in order, discards what is behind a gap | all from the gap on (go-back-N) |
//! | RUDI | many ways | knows nothing of a flow: acknowledges each packet by itself, delivers copies again | that packet |
//!
//! Reconstructed: a receiver under ROD sends one NACK for each gap, and none for what is behind a packet that it has been told is trimmed. If
//! what it asks for is lost again, the timer of the sender finds out. A NACK for a gap says nothing of queues, so that no window shrinks by it;
//! one for a trimmed packet does.
//!
//! Known deviations: UE's receivers may also put packets of ROD in order behind a gap; here none does. Under RUDI receivers count what has come
//! for the results, which nothing goes by; and a flow is one message of the initiator, with one window.

/// How packets of a flow are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Delivery {
    /// Reliable, in no order: each packet once.
    #[default]
    Rud,
    /// Reliable, in order, by one way: what is behind a gap is sent again.
    Rod,
    /// Reliable, in no order, for operations that may be done twice: the receiver keeps no state, and takes copies again.
    Rudi,
}
