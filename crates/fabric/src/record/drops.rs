//! Packets that are lost: one by one, and how many of them where and why.
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

/// Makes the reasons of one list, each with its word in tables.
macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident = $word:literal;)*) => {
        /// Why a packet was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
        #[repr(u8)]
        pub enum DropReason {
            $($(#[$doc])* $reason,)*
        }

        impl DropReason {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$reason,)*];
            /// Their words in tables.
            pub const WORDS: &'static [&'static str] = &[$($word,)*];
        }
    };
}

reasons! {
    /// Its egress port held as much as it may.
    PortBuffer = "port-buffer";
    /// Its egress queue was above its share of the pool for classes that may lose, or that pool was full.
    Pool = "pool";
    /// The packet memory of the switch was full.
    Memory = "memory";
    /// The headroom of its ingress port was full.
    Headroom = "headroom";
    /// RED dropped it early: its egress queue was long, though there was room.
    Red = "red";
    /// Its link was down.
    LinkDown = "link-down";
    /// Bits of it were wrong.
    Corrupted = "corrupted";
    /// A node lost it in silence.
    Gray = "gray";
    /// Its node was dead.
    DeadNode = "dead-node";
    /// The PFC watchdog dropped what waited behind a PAUSE without end.
    Watchdog = "watchdog";
    /// The receiver of its queue pair did not take it: it had no room, or another packet was missing before it.
    NotTaken = "not-taken";
    /// A switch had room for its header only, which went on.
    Trimmed = "trimmed";
    /// The queue of headers and ACKs at its egress port was full.
    Headers = "headers";
}

impl DropReason {
    /// Its word in tables.
    pub const fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }

    /// Whether something of the packet goes on, or its receiver counts it: it was not dropped by the port.
    pub(crate) const fn is_no_drop(self) -> bool {
        matches!(self, Self::NotTaken | Self::Trimmed)
    }

    /// Whether it is the port by which the packet came in that lost it; else the one by which it was to leave.
    pub const fn is_at_ingress(self) -> bool {
        matches!(self, Self::Headroom | Self::LinkDown | Self::Corrupted | Self::NotTaken)
    }
}

/// A packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct DropRecord {
    /// When.
    pub time: Time,
    /// Node index of the switch, or of the host.
    pub node: u32,
    /// The port that lost it, see [`DropReason::is_at_ingress`].
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Why.
    pub reason: DropReason,
    /// Flow index.
    pub flow: u32,
    /// Whether it was data; else a control frame of the flow, such as an ACK.
    pub data: bool,
    /// The packet's number in its flow, or the one that the frame is about; of PUTs the low 15 bits of that in the stream.
    pub seq: u32,
}

/// What was dropped at one port in one priority for one reason, over the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct DropCount {
    /// Node index.
    pub node: u32,
    /// The port that lost it, see [`DropReason::is_at_ingress`].
    pub port: u16,
    /// Priority.
    pub priority: u8,
    /// Why.
    pub reason: DropReason,
    /// How many packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: Bytes,
}
