//! How switches spread data over equally short ways.
use backwater_units::Span;

/// Which of several equally good egress ports a packet of data takes. ACKs and CNPs always go by [`Balancing::Ecmp`].
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
}
