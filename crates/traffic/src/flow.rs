//! What a flow is, what the flows of one traffic entry share, and the order in which a run numbers them.
use std::collections::BTreeMap;

use backwater_units::{Bytes, Rate, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// The largest finite flow, 1 PB: 5.6 hours at 400 Gbps. It keeps every byte and packet count far from 64 bits.
pub const MAX_SIZE: Bytes = Bytes::new(1_000_000_000_000_000);

/// The most packets of a flow of known size. More stand for a flow without an end, and bit 31 of a packet's number marks the
/// last packet of a flow whose size is not known before.
pub const MAX_PACKETS: u32 = (1 << 31) - 2;

/// How a source spaces the packets of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Pacing {
    /// By the reaction point (congestion control) of its queue pair.
    Controlled,
    /// As fast as the link and its flow control allow.
    LineRate,
    /// At a fixed rate set by the application.
    Constant {
        /// Rate on the wire, headers included.
        rate: Rate,
        /// Each gap is scaled by a uniform factor in `1 ± jitter_ppm / 10⁶`.
        jitter_ppm: u32,
        /// Whether the application goes on producing while the NIC is paused, so that the backlog follows at
        /// line rate. `false`: pacing restarts after the pause and what was not sent then is never sent.
        catch_up: bool,
    },
    /// The application makes full packets at a rate of its own; the reaction point of the queue pair spaces those that wait. The
    /// flow has the size [`Bytes::MAX`]: how much it carries is known when it has ended.
    Supplied {
        /// Rate on the wire, headers included, at which the application makes packets: one at the start of the flow, and one
        /// every time that a full packet takes at this rate, exactly or in the mean.
        rate: Rate,
        /// The most packets that wait at the source, at least 1. One that leaves at the instant at which another is made makes
        /// room for it.
        backlog: u32,
        /// No packet but the first is made at or after this time; [`Time::MAX`]: the flow never ends.
        until: Time,
        /// Whether each packet is for this flow, if its source draws that for each. Only with even gaps and an application
        /// that skips: with exponential gaps flows that are drawn and flows of the same mean rate are the same thing.
        drawn: Option<Drawn>,
        /// The time between packets.
        gaps: Gaps,
        /// What the application does when too many packets wait.
        full: Full,
    },
    /// A rank of an application gives it messages while the run goes on ([`crate::program`]), which it sends one after the other;
    /// the reaction point of the queue pair spaces their packets. The flow has the size [`Bytes::MAX`] and the
    /// start [`Time::MAX`].
    Messages,
}

/// The time from one packet that an application makes to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Gaps {
    /// Always the same.
    #[default]
    Even,
    /// Exponential, from a stream of the run's seed that belongs to the flow's entry, source and destination: a Poisson process.
    Exponential,
}

/// What an application does that would make a packet while as many wait as may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Full {
    /// It does not make this one.
    #[default]
    Skip,
    /// It waits, and makes it when one has left; its next gap began when it wanted to make this one. Such is the blocking PUT
    /// of the streaming kernel in the public simulator of the EC paper's authors (commit 6ef0eb3).
    Wait,
}

/// A source that makes packets for several flows and draws, uniformly, for which one each of them is. `rate` is then that of all of
/// them together, and `start` and `until` are the same. The draws come from the run's seed, the entry, the source and the packet's
/// number, so that each flow knows them without the others. A flow that would get none gets the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Drawn {
    /// Flows of the source, at least 1.
    pub of: u16,
    /// This one, from 0.
    pub number: u16,
}

impl Pacing {
    /// Supplied at even gaps by an application that skips what has no room.
    pub const fn supplied(rate: Rate, backlog: u32, until: Time, drawn: Option<Drawn>) -> Self {
        Self::Supplied { rate, backlog, until, drawn, gaps: Gaps::Even, full: Full::Skip }
    }

    /// Whether the reaction point of the queue pair spaces the packets.
    pub fn is_controlled(&self) -> bool {
        matches!(self, Self::Controlled | Self::Supplied { .. } | Self::Messages)
    }
}

/// The [`Flow::connection`] of a flow that has a queue pair of its own.
pub const OWN_CONNECTION: u32 = u32::MAX;

/// One flow between two hosts, or one message of several that a queue pair sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Flow {
    /// The traffic entry it belongs to.
    pub group: u16,
    /// Source, as an index into the hosts of the network.
    pub src: u32,
    /// Destination, as an index into the hosts of the network; never equal to `src`.
    pub dst: u32,
    /// Payload to carry, at least 1 B and at most [`MAX_SIZE`]; [`Bytes::MAX`]: without an end, or ([`Pacing::Supplied`]) as
    /// much as the application makes.
    pub size: Bytes,
    /// When the first byte is ready to be sent.
    pub start: Time,
    /// Priority (PFC class) of its data packets, 0 to 7.
    pub priority: u8,
    /// What spaces its packets.
    pub pacing: Pacing,
    /// Flows with the same number are messages of one connection: they share a queue pair, which sends one after the other
    /// in the order of their starts. They have the same source, destination, priority, pacing and entry; PUTs of one stream may have different
    /// pacings and entries.
    /// [`OWN_CONNECTION`]: a queue pair for this flow alone.
    pub connection: u32,
}

impl Flow {
    /// The same flow as a message of a connection.
    #[must_use]
    pub fn on(self, connection: u32) -> Self {
        Self { connection, ..self }
    }

    /// Whether the flow never finishes.
    pub fn is_endless(&self) -> bool {
        match self.pacing {
            Pacing::Supplied { until, .. } => until == Time::MAX,
            _ => self.size == Bytes::MAX,
        }
    }

    /// What the flow carries, if that is known before it is sent.
    pub fn known_size(&self) -> Option<Bytes> {
        Some(self.size).filter(|size| *size != Bytes::MAX)
    }
}

/// What all flows of one traffic entry have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// Number of the entry in the scenario, from 0.
    pub id: u16,
    /// Priority of the data packets.
    pub priority: u8,
    /// What spaces them.
    pub pacing: Pacing,
    /// When the entry begins.
    pub start: Time,
}

impl Group {
    /// A flow of this entry with a queue pair of its own.
    pub fn flow(&self, src: u32, dst: u32, size: Bytes, start: Time) -> Flow {
        Flow {
            group: self.id,
            src,
            dst,
            size,
            start,
            priority: self.priority,
            pacing: self.pacing,
            connection: OWN_CONNECTION,
        }
    }
}

/// Every pair of a source and a destination that are different hosts, sources first.
pub fn pairs(from: &[u32], to: &[u32]) -> Vec<(u32, u32)> {
    from.iter()
        .flat_map(|&src| to.iter().map(move |&dst| (src, dst)))
        .filter(|(src, dst)| src != dst)
        .collect()
}

/// Makes the flows of one source, destination and priority the messages of one connection. Connections are numbered from
/// `first` in the order of their first flows; returns the next number.
pub fn connect(flows: &mut [Flow], first: u32) -> u32 {
    // A map for each source, since a search among the destinations of one is much shorter than one among all pairs.
    let mut numbers: Vec<BTreeMap<(u32, u8), u32>> = Vec::new();
    let mut next = first;
    for flow in flows {
        let src = flow.src as usize;
        if numbers.len() <= src {
            numbers.resize_with(src + 1, BTreeMap::new);
        }
        flow.connection = *numbers[src].entry((flow.dst, flow.priority)).or_insert(next);
        next += u32::from(flow.connection == next);
    }
    next
}

/// Puts flows into the order in which a run numbers them: by start, source, destination and entry; flows equal
/// in all four keep the order in which they were generated.
pub fn sort(flows: &mut [Flow]) {
    flows.sort_by_key(|flow| (flow.start, flow.src, flow.dst, flow.group));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(group: u16, src: u32, start: u64, size: u64) -> Flow {
        let group = Group { id: group, priority: 3, pacing: Pacing::Controlled, start: Time::ZERO };
        group.flow(src, 9, Bytes::new(size), Time::from_ps(start))
    }

    #[test]
    fn flows_are_numbered_by_start_then_source_and_ties_keep_their_order() {
        let mut flows =
            vec![flow(1, 2, 5, 1), flow(0, 2, 5, 2), flow(0, 2, 5, 3), flow(0, 1, 5, 4), flow(7, 3, 4, 5)];
        sort(&mut flows);
        assert_eq!(flows.iter().map(|f| f.size.get()).collect::<Vec<_>>(), [5, 4, 2, 3, 1]);
    }

    #[test]
    fn flows_between_two_hosts_share_a_connection_and_others_do_not() {
        let mut flows = [flow(0, 1, 0, 1), flow(0, 2, 0, 1), flow(0, 1, 5, 1), flow(0, 1, 9, 1)];
        flows[3].priority = 4;
        assert_eq!(connect(&mut flows, 10), 13);
        assert_eq!(flows.map(|f| f.connection), [10, 11, 10, 12]);
    }

    #[test]
    fn a_host_is_never_paired_with_itself() {
        assert_eq!(pairs(&[0, 1, 2], &[1]), [(0, 1), (2, 1)]);
        assert!(pairs(&[1], &[1]).is_empty());
    }
}
