//! Pyrrha, flow control by congestion root: which egress port is a root, which packets wait for it apart from the others, and when they go on.
//!
//! Reference: Liu et al.: Pyrrha: Congestion-Root-Based Flow Control to Eliminate Head-of-Line Blocking in Datacenter, NSDI 2025 (read: its abstract);
//! the rules as its authors' simulator has them, in words (`NASA-NJU/Pyrrha-NS3`, commit 3765687, `FC_MODE 4`).
//!
//! ```text
//!   packet enters the ordinary queue of a root, longer than high · hop      ─▶ the node that it came from holds that root
//!   packet leaves it, queue shorter than low · hop                          ─▶ each node that holds it lets it go
//!   node is told to hold a root                                             ─▶ an isolation queue for it at that port, closed
//!   packet comes whose way has such a root further on                       ─▶ it waits there; by the same limits that root is held upstream, too
//!   queue is open                                                           ─▶ each time of a packet one moves on: to the queue of a nearer root
//!                                                                              on its way, or to the ordinary queue
//!   queue is open and empty, and nobody upstream has one for the root       ─▶ it is freed, and the node downstream told (leaf first)
//!   node is told to hold a root at a port to a lower tier that is a root    ─▶ merge: who holds the old root has the new one instead
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | hop | B | egress rate · 2 · delay of the ingress link | Pyrrha-NS3 |
//! | high | hops | 2 | `TH_CONGESTION 2` of Pyrrha-NS3 |
//! | low | hops | 1 | `TH_RESUME 1` |
//! | hol | mean queues of ports to higher tiers | 2 | `TH_HOL 2` of its `config-CI.ini`; its test compares with a counter that nothing sets |
//! | merge, nearest | – | on | `CONGESTION_MERGE 1`, `NEAREST_MATCH 1` |
//! | pace | a packet from each queue in the time of a largest packet | that of its port | reconstructed; Pyrrha-NS3 takes that of the last port of the switch |
//! | queues | – | 32 | reconstructed; Pyrrha-NS3 makes as many as it needs |
//!
//! Known deviations, beyond that the text of the paper was not at hand (reconstructed): a packet goes to the queue of a farther root as long as
//! anything waits there, though that of a nearer one is asked for: else it would overtake. A queue that was merged away takes only what has
//! no other. Where no queue is left, the whole port waits for the root. ACKs wait for no root, and make none.
use super::dst_pfc::Thresholds;

/// When something is held for the sake of a root, and what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Rules {
    /// A queue beyond `high` is held upstream, and let go below `low`.
    pub thresholds: Thresholds,
    /// The queue of a port to a higher tier makes a root beyond so many thousandths of the mean of those ports.
    pub hol: u32,
    /// Only ports to lower tiers and hosts are roots.
    pub only_down: bool,
    /// A root behind which another one lies becomes a part of that.
    pub merge: bool,
    /// A packet waits for the nearest root on its way, not the farthest.
    pub nearest: bool,
}

/// The queues of the ports of a switch to higher tiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uplinks {
    /// How many ports.
    pub count: u32,
    /// Bytes in all of them.
    pub bytes: u64,
}

impl Rules {
    /// Whether a port with so many bytes in its ordinary queue can be a root; `uplinks` if it leads to a higher tier.
    pub const fn is_root(&self, queue: u64, uplinks: Option<Uplinks>) -> bool {
        match uplinks {
            None => true,
            Some(_) if self.only_down => false,
            Some(Uplinks { count, bytes }) => {
                queue as u128 * count as u128 * 1000 > self.hol as u128 * bytes as u128
            }
        }
    }

    /// Whether a queue of so many bytes is to be held upstream where its port sends `hop` bytes in a round trip.
    pub const fn holds(&self, queue: u64, hop: u64) -> bool {
        self.thresholds.holds(queue, hop)
    }

    /// Whether it is to be let go.
    pub const fn lets_go(&self, queue: u64, hop: u64) -> bool {
        queue == 0 || queue * 1000 < self.thresholds.low as u64 * hop
    }
}

/// What a switch knows of a root at a node upstream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum Child {
    /// It has no queue for the root, as far as this switch knows.
    #[default]
    Free,
    /// It holds the root.
    Held,
    /// It has a queue for it, which is open.
    Open,
}

impl Child {
    /// The root is to be held there. Whether that is new.
    pub const fn hold(&mut self) -> bool {
        let new = !matches!(self, Self::Held);
        *self = Self::Held;
        new
    }

    /// It is to be let go there. Whether it was held.
    pub const fn let_go(&mut self) -> bool {
        let held = matches!(self, Self::Held);
        if held {
            *self = Self::Open;
        }
        held
    }

    /// It has a queue for this root now, instead of one for another.
    pub const fn merge(&mut self) {
        if matches!(self, Self::Free) {
            *self = Self::Open;
        }
    }

    /// The node has freed its queue. A hold that it did not know of then stays.
    pub const fn free(&mut self) {
        if matches!(self, Self::Open) {
            *self = Self::Free;
        }
    }

    /// Whether the queue for the root may be freed for its sake. Hosts free nothing.
    pub const fn is_done(self, is_host: bool) -> bool {
        match self {
            Self::Free => true,
            Self::Open => is_host,
            Self::Held => false,
        }
    }
}

/// An isolation queue of an egress port whose root is on the way of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number.
    pub queue: u16,
    /// Whether nothing waits there.
    pub empty: bool,
    /// Whether it was merged away.
    pub merged: bool,
}

/// Which of these, the nearest first, a packet waits in.
pub fn choose(nearest: bool, found: impl Iterator<Item = Candidate>) -> Option<u16> {
    let (mut chosen, mut keeps) = (None, false);
    for it in found {
        let takes = !it.empty || !keeps || !nearest;
        if takes {
            chosen = Some(it.queue);
        }
        keeps |= !it.merged;
    }
    chosen
}
