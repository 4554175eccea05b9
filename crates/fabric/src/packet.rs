//! A frame under way: 32 bytes, copied by value from inbox to queue to inbox.
use std::io::{Result, Write};

use backwater_control::CodePoint;
use backwater_engine::{Class, Message};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::reuse::relative;
use crate::transport::put::frame;

/// Bit of [`Packet::seq`]: the receiver cannot know from the flow's size that this is its last packet.
pub(crate) const LAST: u32 = 1 << 31;

/// In [`Packet::dst`] a third group counts by this, from 1; hosts have lower numbers.
const THROUGH: u32 = backwater_topology::MAX_NODES as u32;

const _: () = assert!(THROUGH.is_power_of_two(), "hosts have the bits below");

/// So many groups may be third groups.
pub const MOST_GROUPS: u32 = u32::MAX / THROUGH;

/// Makes the kinds of frames of one list: number in the trajectory digest, and word in tables.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal, $word:literal;)*) => {
        /// What a frame is. The numbers are a part of the trajectory digest: a new kind leaves those of the others alone. From 3 on they
        /// are frames of the link, which end at the next node; those with bit 7 do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
        #[borsh(use_discriminant = true)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $kind = $number,)*
        }

        impl Kind {
            const ALL: &'static [Self] = &[$(Self::$kind,)*];
            /// The words of all kinds in tables.
            pub const WORDS: &'static [&'static str] = &[$($word,)*];
        }
    };
}

kinds! {
    /// Data of a flow; `seq` is the packet's number, with the highest bit set on the last packet of a supplied flow.
    Data = 0, "data";
    /// Acknowledgement; `seq` is the number of packets received in order.
    Ack = 1, "ack";
    /// Congestion notification packet, or BECN; `echo` says which congestion, `seq` the rate at which the flow came, in kbit/s (0: it does
    /// not say).
    Cnp = 2, "cnp";
    /// PAUSE/RESUME; `seq` holds the paused priorities (bits 0–7) and the resumed ones (bits 8–15).
    Pfc = 3, "pfc";
    /// Credit update of a class; `flow` holds FCTBS, `seq` FCCL.
    Credit = 4, "credit";
    /// Congestion isolation message: `flow` and `dst` stand for the flows it is about, `seq` is the root (node << 10 | port).
    Cim = 5, "cim";
    /// What a port whose gate has opened tells the next switch where a detector asks for the ground truth. It takes no time on the wire:
    /// no switch could send it. See `observe/roots.rs`.
    Truth = 6, "truth";
    /// What waits at a global port of a dragonfly's switch, told to the others of its group: `flow` is its number among these, `seq` the
    /// bytes. It takes no time on the wire. See `switch/forwarding/around.rs`.
    Queue = 11, "queue";
    /// What has become of PAUSE in a class: it closes the gate of this port no more (`seq` 0), or again (1); or the sender's has run out
    /// (2). It takes no time on the wire: no port could send it. See `link/overrun.rs`.
    Heed = 10, "heed";
    /// A rank has ended: told to the host that counts them, by a scheduler beside the network. `flow` is the gate (`app/jobs.rs`).
    JobEnd = 7, "job-end";
    /// A job begins: told to each of its hosts.
    JobStart = 8, "job-start";
    /// What a frame of UEC has no room for: it goes ahead of it, from one end of the flow to the other. It takes no time on the wire. See
    /// `transport/uec/frame.rs`.
    UecAhead = 12, "uec-ahead";
    /// A queue at the other end of a link is held, or let go; at a NIC that flow is. `seq` is packed (`link/holds.rs`).
    Hold = 9, "hold";
    /// What a switch gives back of the windows of destinations: beside it an entry for each (`switch/keyed/floodgate.rs`). `flow` is the
    /// port that it leaves by (node << 10 | port), `seq` its number at that switch.
    Return = 13, "return";
    /// Pyrrha and RECN: the other end has no queue for a root (`flow`) any more.
    Free = 14, "free";
    /// RECN: what goes to a root (`flow`), or to a destination (`dst`), is to have a queue of its own at the other end.
    Aside = 17, "aside";
    /// Pyrrha: a root (`dst`) has become a part of another one (`flow`).
    Merge = 15, "merge";
    /// A switch tells the source of a flow to pause: `seq` is for how many nanoseconds (`switch/keyed/sfc.rs`).
    Halt = 0x84, "halt";
    /// A packet of a PUT stream; `seq` is packed (`transport/put/frame.rs`), `echo` says what it acknowledges beside: not capable
    /// nothing, capable an ACK, congestion a marked one.
    Put = 0x80, "put";
    /// Acknowledgement of a PUT stream; `seq` is the last number accepted in order, `echo` congestion if it is marked.
    PutAck = 0x81, "put-ack";
    /// The same, and everything after it is lost.
    PutNack = 0x82, "put-nack";
    /// Negative acknowledgement of a queue pair; `seq` is packed (`transport/roce/reliable.rs`), `echo` what the packet carried.
    Nack = 0x83, "nack";
    /// A packet of an Ultra Ethernet (UEC) flow; `seq` is packed, as in all of its frames: see [`Packet::psn`]. The flags ask for an ACK,
    /// and say that it was sent before.
    UecData = 0x90, "uec-data";
    /// What a switch has left of one for which it had no room: its header. The flags say that this happened at the last switch, and that
    /// the packet was sent before.
    UecTrimmed = 0xa0, "uec-trimmed";
    /// A sender without credits asks its receiver for some.
    UecRts = 0xb0, "uec-rts";
    /// Acknowledgement of UEC data, by the entropy of that; `echo` is congestion if that was marked.
    UecAck = 0x91, "uec-ack";
    /// A trimmed packet has come, and is to be sent again; the same.
    UecNack = 0x92, "uec-nack";
    /// Credits of a receiver.
    UecPull = 0x93, "uec-pull";
}

/// The first kind whose `seq` holds an entropy: all from here on do.
const FIRST_UEC: u8 = Kind::UecData as u8;

/// Bits of a [`Kind`] that those of data have not.
const NOT_DATA: u8 = 0x6f;
/// Bits of a [`Kind`] that those have not which go to the destination of their flow.
const BACK: u8 = 0x4f;

/// Flag of [`Packet::seq`] of UEC: data wants an ACK; what is trimmed was so at the last switch of its way.
pub(crate) const ACK_OR_LAST_HOP: u32 = 0b01;
/// Of [`Packet::seq`] of UEC: two flags, the entropy above them, and above that the number.
pub(crate) const ENTROPY_AT: u32 = 2;
/// Bits of an entropy.
pub(crate) const ENTROPY_BITS: u32 = 10;
/// Where the number begins, of which there is room for 20 bits.
pub(crate) const PSN_AT: u32 = ENTROPY_AT + ENTROPY_BITS;

impl Kind {
    /// Whether it is a frame of the link's flow control, which ends at the next node.
    #[inline]
    pub const fn is_flow_control(self) -> bool {
        (self as u8).cast_signed() >= Self::Pfc as i8
    }

    /// Whether it is on a wire: who taps one sees it.
    pub const fn is_on_a_wire(self) -> bool {
        !matches!(
            self,
            Self::Truth | Self::Queue | Self::JobEnd | Self::JobStart | Self::Heed | Self::UecAhead
        )
    }

    /// Whether hosts with flows of UEC take it.
    pub(crate) const fn is_of_uec(self) -> bool {
        self as u8 >= FIRST_UEC || matches!(self, Self::UecAhead)
    }

    /// Its word in tables.
    pub fn word(self) -> &'static str {
        Self::WORDS[usize::from(self.index())]
    }

    /// The place of its word among [`Kind::WORDS`].
    pub fn index(self) -> u8 {
        Self::ALL.iter().position(|kind| *kind == self).expect("all kinds are in the list") as u8
    }
}

/// A frame. While it waits in a queue, `port` is its ingress port and `next` its successor.
#[derive(Clone, Copy, Debug, BorshDeserialize)]
#[repr(C)]
pub(crate) struct Packet {
    /// Picosecond from which the node it is going to knows it and may forward it: its complete arrival, or that of its
    /// header where the node cuts through.
    pub(crate) time: u64,
    pub(crate) flow: u32,
    pub(crate) seq: u32,
    /// Destination host index; on the way to a third group of a dragonfly that group, too: [`Packet::destination`].
    pub(crate) dst: u32,
    pub(crate) next: u32,
    pub(crate) port: u16,
    /// Bytes on the wire.
    pub(crate) size: u16,
    pub(crate) kind: Kind,
    pub(crate) code: CodePoint,
    /// Queue class (see [`crate::world::Classes`]).
    pub(crate) class: u8,
    /// What an ACK or CNP reports about the data; such frames are not markable themselves. Data has a flag here while it waits in a
    /// switch, see [`Packet::is_flagged`].
    pub(crate) echo: CodePoint,
}

impl BorshSerialize for Packet {
    fn serialize<W: Write>(&self, out: &mut W) -> Result<()> {
        if backwater_units::relative::now().is_some() {
            return relative::packet(self, out);
        }
        let Self { time, flow, seq, dst, next, port, size, kind, code, class, echo } = self;
        (time, flow, seq, dst, next, port).serialize(out)?;
        (size, kind, code, class, echo).serialize(out)
    }
}

impl Message for Packet {
    #[inline]
    fn time(&self) -> u64 {
        self.time
    }
    #[inline]
    fn class(&self) -> Class {
        if self.is_flow_control() { Class::FlowControl } else { Class::Arrival }
    }
    #[inline]
    fn port(&self) -> u16 {
        self.port
    }
}

impl Packet {
    /// No frame at all.
    pub(crate) const NONE: Self = Self {
        time: 0,
        flow: u32::MAX,
        seq: 0,
        dst: u32::MAX,
        next: 0,
        port: 0,
        size: 0,
        kind: Kind::Data,
        code: CodePoint::NotCapable,
        class: 0,
        echo: CodePoint::NotCapable,
    };

    /// Its destination, by host index.
    pub(crate) const fn destination(&self) -> u32 {
        self.dst & (THROUGH - 1)
    }

    /// The third group of a dragonfly that it is on its way to.
    pub(crate) const fn through(&self) -> Option<u32> {
        (self.dst / THROUGH).checked_sub(1)
    }

    /// The same on its way to this group, or to its destination.
    pub(crate) fn by_way_of(&self, group: Option<u32>) -> Self {
        let through = group.map_or(0, |group| (group + 1) * THROUGH);
        Self { dst: self.destination() | through, ..*self }
    }

    /// The flag of data that waits in a switch. With a plain crossbar: its port has it down as a candidate for a mark. In an
    /// ingress queue of a combined one: it came in the congested class and waits in the monitored one. In an egress queue there:
    /// it was marked as it came into it.
    #[inline]
    pub(crate) fn is_flagged(&self) -> bool {
        self.kind == Kind::Data && self.echo == CodePoint::Congestion
    }

    /// Whether it is a frame of the link's flow control, which ends at the next node.
    #[inline]
    pub(crate) const fn is_flow_control(&self) -> bool {
        self.kind.is_flow_control()
    }

    /// Whether it carries data of a flow.
    #[inline]
    pub(crate) const fn is_data(&self) -> bool {
        self.kind as u8 & NOT_DATA == Kind::Data as u8
    }

    /// A data packet's number in its flow; of a PUT, the low 15 bits of that in its stream; of UEC the low 20.
    #[inline]
    pub(crate) const fn number(&self) -> u32 {
        match self.kind {
            Kind::Put => frame::number(self.seq),
            Kind::UecData | Kind::UecTrimmed => self.psn(),
            _ => self.seq & !LAST,
        }
    }

    /// Whether it is a frame of UEC, whose sender gave it an entropy.
    #[inline]
    pub(crate) const fn has_entropy(&self) -> bool {
        self.kind as u8 >= FIRST_UEC
    }

    /// Of a frame of UEC: the number of the packet that it is or is about (PSN), modulo 2²⁰. Windows are far below half of that, so that
    /// both ends find the whole number by the one that they expect.
    #[inline]
    pub(crate) const fn psn(&self) -> u32 {
        self.seq >> PSN_AT
    }

    /// Of a frame of UEC: the number by which its sender chooses among ways.
    #[inline]
    pub(crate) const fn entropy(&self) -> u32 {
        self.seq >> ENTROPY_AT & ((1 << ENTROPY_BITS) - 1)
    }

    /// Of a frame of UEC: whether it goes to the source of its flow.
    #[inline]
    pub(crate) const fn goes_back(&self) -> bool {
        self.kind as u8 & BACK != 0
    }

    /// Of a packet of UEC data: the header that is left of it where a switch has no room for more.
    pub(crate) const fn trimmed(&self, size: u16, at_last_hop: bool) -> Self {
        let seq = self.seq & !ACK_OR_LAST_HOP | if at_last_hop { ACK_OR_LAST_HOP } else { 0 };
        Self { kind: Kind::UecTrimmed, class: 0, size, seq, ..*self }
    }

    /// What the trajectory notes of its arrival.
    #[inline]
    pub(crate) fn fingerprint(&self) -> (u64, u64) {
        // In the order of the fields in memory, so that each word is one load.
        let entity = u64::from(self.flow) | u64::from(self.seq) << 32;
        let kind = u64::from(self.port)
            | u64::from(self.size) << 16
            | (self.kind as u64) << 32
            | (self.code as u64) << 40
            | u64::from(self.class) << 48
            | (self.echo as u64) << 56;
        (entity, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::{CodePoint, Kind, Packet};

    #[test]
    fn number_and_entropy_of_a_frame_of_uec_stand_side_by_side() {
        let frame = Packet { kind: Kind::UecData, seq: 0xf_edcb << 12 | 0x2a7 << 2 | 0b01, ..Packet::NONE };
        assert_eq!((frame.psn(), frame.number(), frame.entropy()), (0xf_edcb, 0xf_edcb, 0x2a7));
    }

    #[test]
    fn a_header_keeps_number_entropy_mark_and_that_it_was_sent_before() {
        let (code, echo) = (CodePoint::Congestion, CodePoint::NotCapable);
        let seq = 0xf_edcb << 12 | 0x2a7 << 2 | 0b11;
        let packet = Packet { kind: Kind::UecData, seq, class: 3, size: 4150, code, echo, ..Packet::NONE };
        for (at_last_hop, flags) in [(true, 0b11), (false, 0b10)] {
            let header = packet.trimmed(64, at_last_hop);
            assert_eq!((header.kind, header.size, header.class), (Kind::UecTrimmed, 64, 0));
            assert_eq!((header.psn(), header.entropy(), header.seq & 0b11), (0xf_edcb, 0x2a7, flags));
            assert_eq!((header.code, header.echo), (code, echo));
        }
    }

    #[test]
    fn the_number_of_a_kind_tells_data_and_direction() {
        let of = |test: fn(&Packet) -> bool| {
            let kinds = Kind::ALL.iter().filter(|kind| test(&Packet { kind: **kind, ..Packet::NONE }));
            kinds.map(|kind| kind.word()).collect::<Vec<_>>()
        };
        assert_eq!(of(Packet::is_data), ["data", "put", "uec-data"]);
        let uec = ["uec-data", "uec-trimmed", "uec-rts", "uec-ack", "uec-nack", "uec-pull"];
        assert_eq!(of(Packet::has_entropy), uec);
        assert_eq!(of(|frame| frame.has_entropy() && frame.goes_back()), uec[3..]);
        assert!(!of(Packet::is_flow_control).iter().any(|word| uec.contains(word)));
    }

    #[test]
    fn a_frame_is_half_a_cache_line() {
        assert_eq!(size_of::<Packet>(), 32);
    }
}
