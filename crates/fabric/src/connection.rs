//! Connections: queue pairs that send several flows (messages), one after the other.
//!
//! Each message has a [`crate::pair::Sender`]; the one being sent, or else the latest that was, has the connection's
//! reaction point. A connection without anything to send is not among the queue pairs that are due.
use std::collections::BTreeMap;

use backwater_traffic::OWN_CONNECTION;

use crate::pair::Sender;
use crate::world::World;

/// The messages of one connection.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    /// Its messages as indices of the host's senders, in the order in which they are sent.
    messages: Vec<u32>,
    /// How many have started.
    started: u32,
    /// How many have been sent or are being sent.
    begun: u32,
    sending: bool,
    /// When the packet after the latest one is due.
    pub(crate) due: u64,
    /// When the wire is done with the latest packet.
    pub(crate) free_at: u64,
}

impl Connection {
    /// `messages` in order of their starts, at least one.
    pub(crate) const fn new(messages: Vec<u32>) -> Self {
        Self { messages, started: 0, begun: 0, sending: false, due: 0, free_at: 0 }
    }

    /// The message that has the reaction point.
    pub(crate) fn holder(&self) -> u32 {
        self.messages[self.begun.saturating_sub(1) as usize]
    }

    /// The next message in order has started.
    pub(crate) fn start(&mut self) {
        self.started += 1;
    }

    /// The message that was being sent has been; its successor would be due at `due`, with the wire free at `free_at`.
    pub(crate) fn sent(&mut self, due: u64, free_at: u64) {
        (self.due, self.free_at, self.sending) = (due, free_at, false);
    }

    /// Begins the next message, if one has started and none is being sent: the holder so far and that message.
    pub(crate) fn begin(&mut self) -> Option<(u32, u32)> {
        if self.sending || self.begun == self.started {
            return None;
        }
        let before = self.holder();
        self.sending = true;
        self.begun += 1;
        Some((before, self.holder()))
    }
}

/// The connections of a host whose senders start in the order of `starts`; those senders learn their numbers.
pub(crate) fn of_host(starts: &[(u64, u32)], senders: &mut [Sender], world: &World) -> Vec<Connection> {
    let mut numbers = BTreeMap::new();
    let mut messages: Vec<Vec<u32>> = Vec::new();
    for &(_, slot) in starts {
        let sender = &mut senders[slot as usize];
        let connection = world.flows[sender.flow as usize].connection;
        if connection != OWN_CONNECTION {
            sender.connection = *numbers.entry(connection).or_insert(messages.len() as u32);
            messages.resize_with(numbers.len(), Vec::new);
            messages[sender.connection as usize].push(slot);
        }
    }
    messages.into_iter().map(Connection::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_has_started_waits_for_the_one_before_it() {
        let mut connection = Connection::new(vec![4, 7, 9]);
        connection.start();
        assert_eq!(connection.begin(), Some((4, 4)));
        connection.start();
        assert_eq!((connection.begin(), connection.holder()), (None, 4));
        connection.sent(100, 90);
        assert_eq!((connection.begin(), connection.holder()), (Some((4, 7)), 7));
    }

    #[test]
    fn an_idle_connection_keeps_its_reaction_point_with_the_latest_message() {
        let mut connection = Connection::new(vec![4, 7]);
        connection.start();
        connection.begin();
        connection.sent(100, 90);
        assert_eq!((connection.begin(), connection.holder()), (None, 4));
        connection.start();
        assert_eq!(connection.begin(), Some((4, 7)));
    }
}
