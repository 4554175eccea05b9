//! Requester of a queue pair with selective repeat as the `ConWeave` simulator has it: it walks, and skips what the first block says.
//!
//! Reference: `conweave-project/conweave-ns3` (Song et al.: Network Load Balancing with In-network Reordering Support for RDMA, SIGCOMM
//! 2023), whose rules were read off its answers; IRN (SIGCOMM 2018), which it sets out to follow.
//!
//! ```text
//!   next ──▶ sent, unless it begins the first block: then it is behind that block, which is forgotten
//!   reply with a block, not recovering ──▶ next = oldest; recovering until what was next then
//!   reply without, or oldest has come so far ──▶ not recovering
//!   timeout ──▶ next = oldest, recovering
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | cap | bytes of payload | bandwidth-delay product | IRN §3.2; here what was sent again counts as what was sent once |
//!
//! Blocks are the runs of packets that replies have named, in the caller's ring of bits, as in [`super::selective`]. Only the first one is
//! looked at: a block below `next` hides those above it until `oldest` has passed it. So recovery sends again what is in flight.
//!
//! Known deviations: where its last block ends the flow, that simulator sends a packet without payload; here nothing is sent.
use super::selective::{has, set};

/// What a flow is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Packets {
    /// How many there are.
    pub count: u32,
    /// Payload of all but the last.
    pub payload: u32,
    /// Payload of the last.
    pub last: u32,
}

impl Packets {
    /// Payload of the first `number` packets.
    pub const fn before(&self, number: u32) -> u64 {
        let all = number as u64 * self.payload as u64;
        if number < self.count { all } else { all - (self.payload - self.last) as u64 }
    }
}

/// No packet.
const NONE: u32 = u32::MAX;

/// A requester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Walker {
    /// The first packet that is not known to have arrived.
    oldest: u32,
    /// The next one to be sent, unless it begins the first block.
    next: u32,
    /// Packets sent: the number of the first one that never was.
    newest: u32,
    /// Where the first block begins.
    first: u32,
    /// It recovers until `oldest` has come so far.
    recovers: Option<u32>,
}

impl Default for Walker {
    fn default() -> Self {
        Self { oldest: 0, next: 0, newest: 0, first: NONE, recovers: None }
    }
}

impl Walker {
    /// The packet that is sent next.
    pub fn next(&self, arrived: &[u64]) -> u32 {
        if self.next == self.first { self.end(self.first, arrived) } else { self.next }
    }

    /// Whether the next one may go under a cap of `cap` bytes.
    pub fn may_send(&self, packets: &Packets, cap: u64) -> bool {
        let acknowledged = packets.before(self.oldest);
        let (next, after) = (packets.before(self.next), packets.before((self.next + 1).min(packets.count)));
        let flying = packets.before(self.newest) - acknowledged;
        flying + (after - next) < cap || next < acknowledged + cap
    }

    /// The packet of [`Self::next`] was sent. Whether it had been before.
    pub fn sent(&mut self, arrived: &mut [u64]) -> bool {
        if self.next == self.first {
            let end = self.end(self.first, arrived);
            (self.first..end).for_each(|number| set(arrived, number, false));
            self.next = end;
            self.look(end, arrived);
        }
        let again = self.next < self.newest;
        self.next += 1;
        self.newest = self.newest.max(self.next);
        again
    }

    /// A reply: all before `expected` has arrived; `lost`: and something is missing behind it; `number`: and this packet has come. Whether
    /// recovery begins.
    pub fn on_reply(&mut self, expected: u32, lost: bool, number: Option<u32>, arrived: &mut [u64]) -> bool {
        let expected = expected.min(self.newest);
        self.pass(expected, arrived);
        if let Some(number) = number.filter(|number| (self.oldest..self.newest).contains(number)) {
            set(arrived, number, true);
            self.first = self.first.min(number);
        }
        if self.first == self.oldest {
            self.pass(self.end(self.first, arrived), arrived);
        }
        self.next = self.next.max(self.oldest);
        if self.recovers.is_some_and(|end| self.oldest >= end) || !lost {
            self.recovers = None;
        }
        let begins = lost && self.recovers.is_none();
        if begins {
            self.begin();
        }
        begins
    }

    /// Nothing has come for too long.
    pub fn on_timeout(&mut self) {
        self.begin();
    }

    fn begin(&mut self) {
        self.recovers = Some(self.next);
        self.next = self.oldest;
    }

    /// All before `to` is known to have arrived.
    fn pass(&mut self, to: u32, arrived: &mut [u64]) {
        while self.oldest < to {
            set(arrived, self.oldest, false);
            self.oldest += 1;
        }
        if self.first < self.oldest {
            self.look(self.oldest, arrived);
        }
    }

    /// Looks for the first block from `from` on.
    fn look(&mut self, from: u32, arrived: &[u64]) {
        self.first = (from..self.newest).find(|number| has(arrived, *number)).unwrap_or(NONE);
    }

    /// Where the block ends that begins at `from`.
    fn end(&self, from: u32, arrived: &[u64]) -> u32 {
        (from..self.newest).find(|number| !has(arrived, *number)).unwrap_or(self.newest)
    }

    /// The first packet that is not known to have arrived.
    pub const fn oldest(&self) -> u32 {
        self.oldest
    }

    /// The number of the first packet that was never sent.
    pub const fn newest(&self) -> u32 {
        self.newest
    }
}
