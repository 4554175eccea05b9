//! Responder of a queue pair with go-back-N; its requester is [`Initiator`](super::Initiator), to which a timeout is a NACK that nobody
//! sent ([`Initiator::on_implied_nack`](super::Initiator::on_implied_nack)).
//!
//! Reference: InfiniBand Architecture Specification, volume 1, §9.7.5 (acknowledges, NAK of a sequence error), §9.7.6.1.3 (the local ACK
//! timeout) and §9.9.2 (retries of a requester); `RoCEv2` (Annex A17) keeps it.
//!
//! ```text
//!   expected ──▶ take it: ACK
//!   later one ─▶ discard it: NACK(expected), once until the expected one has come │ again after `every`
//!   older one ─▶ duplicate: ACK(expected)
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | every | ps | never | InfiniBand §9.7.5: one NAK until the expected PSN; HPCC's and conweave's ns-3 simulators: a time |
//!
//! Known deviations: a packet is a message, so that its number stands for PSN and message number both. A timeout is found at its end,
//! where §9.7.6.1.3 lets it take up to four times as long. Retries are spent on timeouts alone; Linux' `rxe` spends them on NAKs of
//! sequence errors, too.
use backwater_units::{Span, Time};

use super::{Target, Verdict};

/// A responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct GoBackN {
    target: Target,
    nacked: Option<Time>,
}

impl GoBackN {
    /// Packet `number` (from 0) has come `now`. A drop asks for a NACK once a gap, and again `every` so long if that is given.
    pub fn on_packet(&mut self, every: Option<Span>, number: u32, now: Time) -> Verdict {
        let verdict = self.target.on_packet(number + 1, true);
        let Verdict::Drop { nack, gap } = verdict else { return verdict };
        let late = |every| self.nacked.is_some_and(|last| now.since(last) >= every);
        let nack = nack || every.is_some_and(late);
        if nack {
            self.nacked = Some(now);
        }
        Verdict::Drop { nack, gap }
    }

    /// The next packet in order.
    pub const fn expected(&self) -> u32 {
        self.target.accepted()
    }
}
