//! What frames of UEC say in their 32 bytes, and what goes ahead of them.
//!
//! ```text
//!            31 .. 12                   11 .. 2    1       0
//!   data     number                     entropy    again   asks for an ACK
//!   trimmed  number                     entropy    again   trimmed at the last switch
//!   NACK     number                     entropy    a gap   trimmed at the last switch      echo: the mark of the trimmed packet
//!   ACK      number of the ACK          entropy    again   answers an RTS                  echo: the mark of the packet
//!   RTS      number                     entropy    again
//!   pull     low bits of its number     entropy
//! ```
//! Neither what an ACK says (cumulative number, SACK word, bytes received) nor the pull target of data fits. Both go ahead, once: a
//! message of no time on any wire from one end to the other, which is there before its frame can be, and is read when the frame comes. So
//! nothing is known earlier than by the frame, nothing is carried from hop to hop, and what the network loses says nothing. Those of ACKs
//! count as ACKs do; those of data stand under its number.
use backwater_control::CodePoint;
use backwater_control::uec::{Ack, whole};

use crate::packet::{ENTROPY_AT, Kind, PSN_AT, Packet};

/// Data asks for an ACK.
pub(crate) const ASKS: u32 = 1;
/// What a trimmed packet says, and its NACK: that was at the last switch.
pub(crate) const AT_LAST: u32 = 1;
/// A NACK of ROD is for a gap: nothing was trimmed.
pub(crate) const GAP: u32 = 2;
/// An ACK answers an RTS.
pub(crate) const OF_RTS: u32 = 1;
/// The packet, or that which is answered, was sent before.
pub(crate) const AGAIN: u32 = 2;

/// Bits of a number in a frame.
pub(crate) const NUMBER_BITS: u32 = 32 - PSN_AT;

/// The word of a frame.
#[inline]
pub(crate) const fn pack(number: u32, entropy: u16, flags: u32) -> u32 {
    number << PSN_AT | (entropy as u32) << ENTROPY_AT | flags
}

/// Whether a frame has a flag.
#[inline]
pub(crate) const fn has(frame: &Packet, flag: u32) -> bool {
    frame.seq & flag != 0
}

/// What an ACK says beside which packet it answers, as it goes ahead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub(crate) struct Body {
    sack: u64,
    /// Low 20 bits of the cumulative number, whether the SACK word begins at the packet, low 11 bits of how far the packet is from there.
    word: u32,
    /// Low 24 bits of the bytes received; above them the high 4 bits of that distance.
    rest: u32,
}

const CUMULATIVE: u32 = (1 << NUMBER_BITS) - 1;
const OWN: u32 = 1 << NUMBER_BITS;
const NEAR_AT: u32 = NUMBER_BITS + 1;
const NEAR_BITS: u32 = 32 - NEAR_AT;
const BYTES_BITS: u32 = 24;
const FAR_BITS: u32 = 4;

impl Body {
    /// That of an ACK for packet `psn`.
    pub(crate) const fn new(psn: u32, ack: &Ack) -> Self {
        let far = psn.wrapping_sub(ack.cumulative);
        let own = if ack.own { OWN } else { 0 };
        let bytes = ack.bytes as u32 & ((1 << BYTES_BITS) - 1);
        Self {
            sack: ack.sack,
            word: ack.cumulative & CUMULATIVE | own | far << NEAR_AT,
            rest: bytes | (far >> NEAR_BITS & ((1 << FAR_BITS) - 1)) << BYTES_BITS,
        }
    }

    /// Bytes received, where the one that went ahead before it said `bytes`. They come in order and none is lost, and an ACK is due long
    /// before so many bytes have come that this could not tell.
    pub(crate) const fn bytes_after(&self, bytes: u64) -> u64 {
        let more = self.rest.wrapping_sub(bytes as u32) & ((1 << BYTES_BITS) - 1);
        bytes + more as u64
    }

    /// Which packet it is about, and the ACK, which says `bytes`, at a sender that knows of all before `cumulative`.
    pub(crate) fn read(&self, cumulative: u32, bytes: u64) -> (u32, Ack) {
        let cumulative = whole(self.word & CUMULATIVE, cumulative, NUMBER_BITS);
        let far = self.word >> NEAR_AT | self.rest >> BYTES_BITS << NEAR_BITS;
        let psn = cumulative.wrapping_add(whole(far, 0, NEAR_BITS + FAR_BITS));
        (psn, Ack { cumulative, sack: self.sack, bytes, own: self.word & OWN != 0 })
    }

    /// The message in which it goes ahead to the source of a flow, to be there at `time`.
    pub(crate) const fn ahead(self, flow: u32, time: u64, port: u16) -> Packet {
        let far = self.rest >> BYTES_BITS;
        Packet {
            seq: self.word,
            dst: self.sack as u32,
            next: (self.sack >> 32) as u32,
            size: self.rest as u16,
            class: (self.rest >> 16) as u8,
            code: CodePoint::from_bits(far as u8),
            echo: CodePoint::from_bits((far >> 2) as u8),
            ..ahead(flow, time, port)
        }
    }

    /// What such a message brings.
    pub(crate) fn of(message: &Packet) -> Self {
        let far = u32::from(message.code.bits()) | u32::from(message.echo.bits()) << 2;
        Self {
            sack: u64::from(message.dst) | u64::from(message.next) << 32,
            word: message.seq,
            rest: u32::from(message.size) | u32::from(message.class) << 16 | far << BYTES_BITS,
        }
    }
}

const fn ahead(flow: u32, time: u64, port: u16) -> Packet {
    Packet { time, flow, port, kind: Kind::UecAhead, ..Packet::NONE }
}

/// The message in which the pull target of packet `psn` goes ahead to the destination of a flow, to be there at `time`.
pub(crate) const fn target_ahead(
    flow: u32,
    psn: u32,
    again: bool,
    target: u64,
    time: u64,
    port: u16,
) -> Packet {
    let flags = if again { AGAIN } else { 0 };
    let seq = pack(psn, 0, flags);
    Packet { seq, dst: target as u32, next: (target >> 32) as u32, ..ahead(flow, time, port) }
}

/// The pull target that such a message brings.
pub(crate) const fn target_of(message: &Packet) -> u64 {
    message.dst as u64 | (message.next as u64) << 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_ack_says_comes_out_at_the_other_end_as_it_was() {
        let cases = [
            (0, 1, 0, 4150, false, (0, 0)),
            (1_048_580, 1_048_570, u64::MAX, 4_351_594_000, true, (1_048_500, 4_351_400_000)),
            (70_000, 80_000, 1 << 63, 290_500_000, false, (69_900, 290_400_000)),
            (16_000, 4, 0x1234_5678_9abc_def0, 60_000_000, false, (3, 59_000_000)),
        ];
        for (psn, cumulative, sack, bytes, own, (known, told)) in cases {
            let ack = Ack { cumulative, sack, bytes, own };
            let body = Body::of(&Body::new(psn, &ack).ahead(7, 9, 1));
            assert_eq!(body.bytes_after(told), bytes);
            assert_eq!(body.read(known, bytes), (psn, ack));
            // What is old says so.
            assert_eq!(body.read(cumulative + 500, bytes).1, ack);
        }
    }

    #[test]
    fn a_target_comes_out_as_it_was() {
        let message = target_ahead(7, 5, true, 0x12_3456_789a, 9, 1);
        assert_eq!((message.psn(), has(&message, AGAIN), target_of(&message)), (5, true, 0x12_3456_789a));
    }
}
