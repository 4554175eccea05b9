//! Connections: queue pairs that send several flows (messages), one after the other.
//!
//! Each message has a [`crate::transport::roce::queue_pair::Sender`]; all have the same [`crate::transport::roce::pacer::Pacer`].
//! A connection without anything to send is not among the queue pairs that are due.
use std::collections::VecDeque;

use borsh::{BorshDeserialize, BorshSerialize};

/// The messages of one connection that have started and not been sent.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Connection {
    /// Indices of the host's senders, in the order in which they are sent.
    waiting: VecDeque<u32>,
    sending: bool,
    /// When the packet after the latest one is due.
    due: u64,
    /// When the wire is done with the latest packet.
    free_at: u64,
}

impl Connection {
    /// A message has started.
    pub(crate) fn start(&mut self, message: u32) {
        self.waiting.push_back(message);
    }

    /// Whether it has nothing to send.
    pub(crate) fn is_idle(&self) -> bool {
        !self.sending && self.waiting.is_empty()
    }

    /// The message that was being sent has been; its successor would be due at `due`, with the wire free at `free_at`.
    pub(crate) fn sent(&mut self, due: u64, free_at: u64) {
        (self.due, self.free_at, self.sending) = (due, free_at, false);
    }

    /// When the packet after the latest one is due.
    pub(crate) const fn due(&self) -> u64 {
        self.due
    }

    /// When the wire is done with the latest packet.
    pub(crate) const fn free_at(&self) -> u64 {
        self.free_at
    }

    /// Begins the next message, if one has started and none is being sent.
    pub(crate) fn begin(&mut self) -> Option<u32> {
        if self.sending {
            return None;
        }
        let next = self.waiting.pop_front();
        self.sending = next.is_some();
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_has_started_waits_for_the_one_before_it() {
        let mut connection = Connection::default();
        connection.start(4);
        assert_eq!(connection.begin(), Some(4));
        connection.start(7);
        assert_eq!(connection.begin(), None);
        connection.sent(100, 90);
        assert_eq!(connection.begin(), Some(7));
    }

    #[test]
    fn an_idle_connection_begins_what_starts_next() {
        let mut connection = Connection::default();
        connection.start(4);
        connection.begin();
        connection.sent(100, 90);
        assert_eq!(connection.begin(), None);
        connection.start(7);
        assert_eq!((connection.begin(), connection.due, connection.free_at), (Some(7), 100, 90));
    }
}
