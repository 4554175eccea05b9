//! Flows of Ultra Ethernet (UEC).
use backwater_control::uec::{CreditConfig, Delivery, NsccConfig, SpreadConfig};
use backwater_units::{Bytes, Span};

/// A kind of flows of UEC: how both ends work together. Each flow is a connection (PDC) of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UecSpec {
    /// How packets are delivered. In order (ROD) only where a flow has one way; other than RUD only without credits.
    pub delivery: Delivery,
    /// The window of a sender, if it has one.
    pub window: Option<UecWindow>,
    /// The credits of receivers, if they give any.
    pub credits: Option<UecCredits>,
    /// The round trip of a full packet and its ACK over the longest path of the network.
    pub base: Span,
    /// Twice the propagation of that path, if a sender knows the round trip of its own path instead.
    pub pair: Option<Span>,
    /// By which entropies packets go.
    pub spread: SpreadConfig,
    /// Bytes on the wire after which a receiver acknowledges what has come.
    pub ack_bytes: u32,
    /// Size on the wire of ACK, NACK, RTS and pull.
    pub frame: Bytes,
    /// How long nothing may be heard of a packet.
    pub rto: Span,
    /// Whether that time doubles each time that the packet is sent.
    pub doubles: bool,
    /// Packets from the oldest that is not acknowledged to the newest at most: a power of two, from 64 to [`MOST_UEC_RANGE`].
    pub range: u32,
}

/// Most packets of a flow from the oldest that is not acknowledged to the newest: what an ACK can tell of.
pub const MOST_UEC_RANGE: u32 = 1 << 14;

/// The window of a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UecWindow {
    /// Bytes at first.
    pub first: u64,
    /// What changes it; `None`: nothing.
    pub nscc: Option<NsccConfig>,
}

/// The credits of a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UecCredits {
    /// What senders and receivers share.
    pub config: CreditConfig,
    /// The share of its link that a receiver gives out.
    pub rate: f64,
    /// The oversubscription of the network, if receivers give less where it is short.
    pub oversubscribed: Option<f64>,
}
