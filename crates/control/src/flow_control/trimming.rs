//! Trimming: a packet for which a queue has no room is cut to its header, which goes ahead of all that waits.
//!
//! Reference: Handley et al., Re-architecting datacenter networks and stacks (NDP), SIGCOMM 2017, section 3.1, after Cheng et al.,
//! Catch the Whole Lot in an Action (CP), NSDI 2014; Ultra Ethernet specification 1.0, packet trimming. Where they leave something open:
//! the composite queue of the Consortium's public simulator (ultraethernet/uet-htsim, commit 40ccb05, `compositequeue.cpp`).
//!
//! ```text
//!   data ── room? ──yes──▶ queue of its class ──────────▶ link
//!              └─no─▶ cut: it, or the last that waits
//!                       └─ header ── room? ──yes──▶ queue of headers and ACKs, served first ──▶ link
//!                                       └─no─▶ lost
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | queue | B | 1 BDP | UE 1.0: trim at 1 BDP; `main_uec.cpp`: the same with trimming |
//! | headers | queues | 2 | `compositequeue.cpp`: a header is lost above twice the queue; UE 1.0: 1 BDP of their class |
//! | size | B | 64 | `main_uec.cpp`, `-trimsize` |
//! | victim | | coin | `compositequeue.cpp`, NDP section 3.1: half of the times the last packet that waits, against phase effects |
//!
//! A packet in transmission counts until it has left. Known deviations: headers are served strictly first, where UE 1.0 gives their class a
//! share of the link.
use backwater_units::{Bytes, Rate};

/// Which packet is cut where one has no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Victim {
    /// The one that finds no room, or the last one that waits, each half of the times.
    #[default]
    Coin,
    /// The one that finds no room.
    Arriving,
}

/// How switches trim.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Trimming {
    /// Bytes of a queue of data.
    pub queue: Bytes,
    /// Bytes of a queue of headers.
    pub headers: Bytes,
    /// What is left of a packet.
    pub size: u16,
    /// Which one is cut.
    pub victim: Victim,
    /// The rate of the ports that have such queues: those of others are in proportion. `None`: all ports have them.
    pub rate: Option<Rate>,
}

/// What may wait at one port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct TrimRoom {
    queue: u32,
    headers: u32,
}

impl Trimming {
    /// That of a port of this rate.
    #[must_use]
    pub fn room(&self, rate: Rate) -> TrimRoom {
        let of = |bytes: Bytes| {
            let (bytes, most) = (u128::from(bytes.get()), u128::from(u32::MAX));
            let at_rate = self
                .rate
                .map_or(bytes, |full| bytes * u128::from(rate.as_bps()) / u128::from(full.as_bps()).max(1));
            at_rate.min(most) as u32
        };
        TrimRoom { queue: of(self.queue), headers: of(self.headers) }
    }
}

impl TrimRoom {
    /// Whether a packet has room behind `held` bytes of its class, that in transmission included.
    #[inline]
    #[must_use]
    pub const fn takes(self, held: u32, size: u16) -> bool {
        held as u64 + size as u64 <= self.queue as u64
    }

    /// All that may wait in so many queues of which one is that of headers: the last packet may be longer than the one whose place it takes.
    #[must_use]
    pub const fn most(self, classes: u64) -> u64 {
        self.headers as u64 + (self.queue as u64 + u16::MAX as u64) * classes.saturating_sub(1)
    }

    /// Whether a header, or another frame of that class, has room behind so many.
    #[inline]
    #[must_use]
    pub const fn takes_header(self, held: u32, size: u16) -> bool {
        held as u64 + size as u64 <= self.headers as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trimming(rate: Option<Rate>) -> Trimming {
        let (queue, headers) = (Bytes::new(415_000), Bytes::new(830_000));
        Trimming { queue, headers, size: 64, victim: Victim::Coin, rate }
    }

    #[test]
    fn a_queue_of_a_hundred_packets_takes_a_hundred() {
        let room = trimming(None).room(Rate::from_gbps(25));
        assert!(room.takes(99 * 4150, 4150));
        assert!(!room.takes(99 * 4150 + 1, 4150));
        // 2 · 415 000 / 64 = 12 968.75.
        assert!(room.takes_header(12_967 * 64, 64));
        assert!(!room.takes_header(12_968 * 64, 64));
        assert!(!room.takes(u32::MAX, u16::MAX));
    }

    #[test]
    fn a_slow_port_has_its_part_of_a_queue() {
        let trimming = trimming(Some(Rate::from_gbps(400)));
        let (fast, slow) = (trimming.room(Rate::from_gbps(400)), trimming.room(Rate::from_gbps(100)));
        assert!(fast.takes(99 * 4150, 4150));
        // A quarter: 25 packets.
        assert!(slow.takes(24 * 4150, 4150) && !slow.takes(25 * 4150, 64));
    }
}
