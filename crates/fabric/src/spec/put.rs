//! Streams of PUTs.
use backwater_control::notify::put::{TargetConfig, Triggers};
use backwater_control::reaction::PolicyConfig;
use backwater_control::transport::ReplayMoves;
use backwater_units::{Bytes, Span};

/// A kind of PUT streams: how both ends work together. All PUTs of a kind between two hosts in one priority are one stream, which
/// numbers them and delivers them in order; they have the same [`backwater_traffic::Flow::connection`].
#[derive(Clone, Debug, PartialEq)]
pub struct PutSpec {
    /// When the initiator may send.
    pub policy: PolicyConfig,
    /// When the target acknowledges what.
    pub target: TargetConfig,
    /// When a NACK that comes during a replay moves it.
    pub moves: ReplayMoves,
    /// When an ACK or NACK is sent without data. One that has been owed for `after` goes before data, others only when no data
    /// may leave.
    pub triggers: Triggers,
    /// Size of an ACK or NACK frame on the wire.
    pub ack_size: Bytes,
    /// From the arrival of an ACK or NACK to its effect.
    pub processing: Span,
    /// Least time from the start of a new packet to the start of the next one, of all streams of the host.
    pub overhead: Span,
    /// From the decision to send a packet to its start. It is added to what decisions wait for: to the start of a flow, to when a
    /// packet of an application is there, and to `processing`.
    pub staging: Span,
    /// Most packets of a stream that are kept to be sent again, whatever the policy; at most [`crate::MOST_BUFFERED`].
    pub buffer: u32,
    /// A packet is sent again if it is not acknowledged so long after it was sent.
    pub retry: Span,
    /// The run ends if one packet has expired more often than this. NACKs do not count: they show that the target is there.
    pub retries: u32,
}

impl PutSpec {
    /// The defaults: 32 B, 430 ns, 95 ns twice, 1 ms and 50 times as in the public simulator of the EC paper's authors (commit 6ef0eb3);
    /// 256 packets (reconstructed: as many as it has in flight to one destination at most). A policy that is paced by ACKs goes with a
    /// target that does so, and a NACK moves its replay at once.
    pub const fn standard(policy: PolicyConfig) -> Self {
        let paced = matches!(policy, PolicyConfig::Dack(_));
        Self {
            policy,
            target: if paced { TargetConfig::standard() } else { TargetConfig::baseline() },
            moves: if paced { ReplayMoves::AtOnce } else { ReplayMoves::AtEnd },
            triggers: Triggers::standard(),
            ack_size: Bytes::new(32),
            processing: Span::from_ns(430),
            overhead: Span::from_ns(95),
            staging: Span::from_ns(95),
            buffer: 256,
            retry: Span::from_ms(1),
            retries: 50,
        }
    }
}
