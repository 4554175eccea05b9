//! The sending half of a queue pair between two ranks: messages that it has been given and has not sent.
use std::collections::VecDeque;

use crate::app::ranks::frame::{Message, pack};
use borsh::{BorshDeserialize, BorshSerialize};

/// The messages of one queue pair.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Outgoing {
    waiting: VecDeque<Message>,
    /// The one that is being sent, or was last.
    current: Message,
    /// When it was given the first one; `u64::MAX`: not yet.
    begun: u64,
}

impl Outgoing {
    pub(crate) fn new() -> Self {
        let current = Message { word: super::frame::Word::Eager, op: 0, size: 0 };
        Self { waiting: VecDeque::new(), current, begun: u64::MAX }
    }

    pub(crate) fn push(&mut self, message: Message, now: u64) {
        self.begun = self.begun.min(now);
        self.waiting.push_back(message);
    }

    /// Whether every message that it was given has begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Turns to the next message: its size.
    pub(crate) fn begin(&mut self) -> u64 {
        self.current = self.waiting.pop_front().expect("a queue pair begins a message that it was given");
        self.current.size
    }

    /// Turns back to a message that has begun, or from that to a later one.
    pub(crate) fn turn_to(&mut self, message: Message) {
        self.current = message;
    }

    /// When it was given the first one; `u64::MAX`: not yet.
    pub(crate) const fn begun(&self) -> u64 {
        self.begun
    }

    pub(crate) const fn current(&self) -> &Message {
        &self.current
    }

    /// `seq` of the last packet of the message that is being sent, number `number`.
    pub(crate) const fn last(&self, number: u32) -> u32 {
        pack(self.current.word, self.current.op, number)
    }
}
