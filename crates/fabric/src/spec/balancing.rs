//! How switches spread data over equally short ways.
use backwater_units::{Bytes, Span};

/// Which of several equally good egress ports a packet of data takes. ACKs and CNPs of queue pairs always go by [`Balancing::Ecmp`].
///
/// With any but the first, packets of a flow overtake each other: receivers then sort them ([`crate::record::FlowRecord::early_packets`]).
/// The flows are those of queue pairs ([`super::SwitchSpec`] with output or virtual output queues), not PUTs, and not
/// [`backwater_traffic::Pacing::Messages`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balancing {
    /// That of its flow's hash.
    #[default]
    Ecmp,
    /// A random one, each as likely, packet by packet (Dixit et al., INFOCOM 2013).
    Spray,
    /// That of the packet before it in its flow, unless that came to this switch longer ago than `gap`: then a random one (`LetFlow`,
    /// Vanini et al., NSDI 2017).
    Flowlet {
        /// Longest time between two packets of a flowlet.
        gap: Span,
    },
    /// The one at which the least bytes wait, of those whose gate is open if there are any (DRILL with all ports as samples,
    /// Ghorbani et al., SIGCOMM 2017). Of those alike the one that is free first, of those a random one.
    Adaptive,
    /// That of the hash of its flow and of the entropy that its sender gave it (UEC): a packet with the same two takes the same way. ACKs
    /// go so, too. Frames of other transports go by [`Balancing::Ecmp`].
    Entropy,
    /// In a dragonfly, at the switch of its source: one to its group, or to a third group that it goes through first. The routes are those of
    /// [`backwater_topology::Routing::NonMinimal`]; of several ports to a group the flow's hash takes one.
    Around(Around),
}

/// How the first switch of a packet chooses between its way by one global link and one through a third group, drawn at random for each
/// packet (Kim, Dally, Scott and Abts, ISCA 2008, section 4). Packets within a group never leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Always through the third group (Valiant, `SIAM` J. Computing 1982).
    Valiant,
    /// By queues: the minimal way if q₁ ≤ 2 q₂ + bias, of the queues on the one and on the other, weighted by the global links ahead (UGAL:
    /// Singh, Stanford 2005, section 5.2; the weights are those of `BookSim`'s `ugal_dragonflynew`).
    Ugal {
        /// How much the minimal way is preferred.
        bias: Bytes,
        /// Which bytes are a queue.
        queue: QueueOf,
        /// Whose queues: `None` those of the switch's own ports (UGAL-L); else those of the global ports of its group (UGAL-G), which
        /// tell all its switches so often.
        every: Option<Span>,
    },
}

/// Which bytes speak against an egress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueOf {
    /// Those that wait for it in its switch.
    Waiting,
    /// The same, and those that its credits are in use for: on the wire, in the buffers at its other end, or let go there so lately that it
    /// does not know of it. Only under credits. (`GetUsedCredit` of `BookSim`, whose routers take a credit before a flit waits at its output,
    /// which is without limit.)
    Credits,
}

impl Balancing {
    /// Whether switches hash what stands in a packet, so that its way depends on nothing else.
    pub(crate) const fn hashes(self) -> bool {
        matches!(self, Self::Ecmp | Self::Entropy)
    }
}
