//! What a host knows of one of its ranks.
use crate::saved::{load_heap, save_heap};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use backwater_traffic::program::{self, Op, SETS};
use borsh::{BorshDeserialize, BorshSerialize};

use super::frame::{Message, Word};
use super::matching::Matching;
use super::recorder::After;

/// The most requests that a rank may have outstanding, and the most messages that it may have got without receiving them: beyond, something
/// never waits for what it posts, and the run would need more and more memory.
pub(super) const MOST_OPEN: usize = 1 << 20;

/// What a rank does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(super) enum Doing {
    /// Its time is being spent: on a cost, or its program has not begun.
    Busy,
    /// It waits, since then.
    Waiting(u64),
    /// Its program ended then.
    Ended(u64),
}

/// One rank.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Rank {
    /// Its number in [`program::Programs::ranks`].
    pub(super) id: u32,
    /// Its op.
    pub(super) at: u32,
    pub(super) doing: Doing,
    /// The cost of the op, or of the message that is taken in it, has been paid.
    pub(super) paid: bool,
    /// Turns left of the loops that it is in, the outermost first.
    pub(super) turns: Vec<u32>,
    /// Outstanding requests by set.
    pub(super) requests: [u32; SETS as usize],
    /// Outstanding puts and gets.
    pub(super) one_sided: u32,
    pub(super) stopwatches: Vec<u64>,
    pub(super) matching: Matching,
    /// Sets of the receives whose data is there, in the order in which it came, and what brought it.
    pub(super) ready: VecDeque<(u8, After)>,
    /// Ops of the messages that have asked for a receive and were not answered yet.
    pub(super) asking: VecDeque<u32>,
    /// (when its last bit will have left, op) of messages of which the last packet is on the wire.
    #[borsh(serialize_with = "save_heap", deserialize_with = "load_heap")]
    pub(super) leaving: BinaryHeap<Reverse<(u64, u32, After)>>,
    /// Messages from ranks of its host that are on their way, with their senders.
    pub(super) local: VecDeque<(u32, Message, After)>,
    /// Ops executed.
    pub(super) executed: u64,
    pub(super) waited: u64,
    pub(super) sent_messages: u64,
    pub(super) sent_bytes: u64,
    pub(super) received_messages: u64,
    pub(super) received_bytes: u64,
}

impl Rank {
    pub(super) fn new(id: u32, rank: &program::Rank) -> Self {
        let watches = rank.ops.iter().map(|op| match op {
            Op::Start { timer } | Op::Stop { timer, .. } => usize::from(*timer) + 1,
            _ => 0,
        });
        Self {
            id,
            at: 0,
            doing: Doing::Busy,
            paid: false,
            turns: Vec::new(),
            requests: [0; SETS as usize],
            one_sided: 0,
            stopwatches: vec![0; watches.max().unwrap_or(0)],
            matching: Matching::default(),
            ready: VecDeque::new(),
            asking: VecDeque::new(),
            leaving: BinaryHeap::new(),
            local: VecDeque::new(),
            executed: 0,
            waited: 0,
            sent_messages: 0,
            sent_bytes: 0,
            received_messages: 0,
            received_bytes: 0,
        }
    }

    /// Whether no request of these sets is outstanding.
    pub(super) fn is_done(&self, sets: u64) -> bool {
        let mut left = sets;
        while left != 0 {
            if self.requests[left.trailing_zeros() as usize] != 0 {
                return false;
            }
            left &= left - 1;
        }
        true
    }

    /// Whether it has more open than a rank may.
    pub(super) fn has_too_much(&self) -> bool {
        let open = self.requests.iter().map(|count| *count as usize).sum::<usize>() + self.one_sided as usize;
        open.max(self.matching.unexpected()) > MOST_OPEN
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.doing, Doing::Ended(_))
    }
}

impl Word {
    /// Whether it is the NIC's answer to a message.
    pub(crate) const fn is_answer(self) -> bool {
        matches!(self, Self::Clear | Self::PutDone | Self::GetData)
    }

    /// Whether it carries what the program sends, not what NICs tell each other.
    pub(super) const fn is_payload(self) -> bool {
        matches!(self, Self::Eager | Self::Data | Self::Put | Self::GetData)
    }
}
