//! What a NIC takes its time for: each message that is posted, the first bytes of a queue pair that was idle, each CNP.
//!
//! ```text
//!   posted ──── post ───▶ first packet ... last bit ── gap ──▶ first packet of the next message of the queue pair
//!                         │◀────────── interval ─────────────▶ first packet of the next message of any queue pair
//!   an idle queue pair:   the first bytes at a rate of its own, then at line rate or as its reaction point says
//!   a packet that a CNP answers ── cnp ──▶ the CNP waits for the port
//! ```
//! A message is one flow, or one of those that a connection sends. What does not cost anything is not asked: a host without costs has
//! no [`Requests`], and its senders no [`Start`].
use std::collections::VecDeque;

use backwater_engine::Post;
use backwater_units::relative::deadline;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::Packet;
use crate::spec::NicCosts;
use crate::transport::roce::queue_pair::Sender;

/// What messages and CNPs cost a NIC.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Requests {
    costs: NicCosts,
    /// When the NIC may begin its next message.
    #[borsh(serialize_with = "deadline")]
    next: u64,
    /// CNPs in the making, the earliest first: all take as long.
    cnps: VecDeque<Packet>,
}

impl Requests {
    /// `None` if nothing costs anything.
    pub(crate) fn new(costs: Option<NicCosts>) -> Option<Box<Self>> {
        costs.map(|costs| Box::new(Self { costs, next: 0, cnps: VecDeque::new() }))
    }

    /// When the first packet of a message is due that would be at `due` without costs. It was posted at `posted`, and the message before
    /// it on its queue pair was off the wire at `free_at`; 0: there was none.
    pub(crate) fn follows(&mut self, sender: &mut Sender, posted: u64, free_at: u64, due: u64) -> u64 {
        let behind = if free_at > 0 { free_at + self.costs.gap.as_ps() } else { 0 };
        if posted >= free_at {
            sender.wakes();
        }
        let due = due.max(posted + self.costs.post.as_ps()).max(behind).max(self.next);
        self.next = due + self.costs.interval.as_ps();
        due
    }

    /// Whether CNPs take their time.
    pub(crate) fn makes_cnps(&self) -> bool {
        self.costs.cnp.as_ps() > 0
    }

    /// A CNP is made from `now` on: when it is there.
    pub(crate) fn make(&mut self, cnp: Packet, now: u64) -> u64 {
        self.cnps.push_back(cnp);
        now + self.costs.cnp.as_ps()
    }
}

impl<N: Nics> Host<N> {
    /// When the first packet of a flow is due that starts `now` on a queue pair of its own.
    pub(crate) fn first_due(&mut self, pair: u32, now: u64) -> u64 {
        let sender = &mut self.senders[pair as usize];
        let due = sender.first_due(now);
        match &mut self.requests {
            Some(requests) => requests.follows(sender, now, 0, due),
            None => due,
        }
    }

    /// The first CNP in the making is there.
    #[cold]
    pub(crate) fn cnp_made<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let made = self.requests.as_mut().and_then(|requests| requests.cnps.pop_front());
        self.send_control(&made.expect("a CNP is in the making"), cx);
    }
}
