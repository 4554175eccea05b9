//! What the last packet of a message tells: what kind of message it is, and which op of which program it belongs to.
use crate::packet::LAST;
use borsh::{BorshDeserialize, BorshSerialize};

/// Kinds of messages between ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) enum Word {
    /// Data of an [`Isend`](backwater_traffic::program::Op::Isend) that nobody has asked for.
    Eager,
    /// A longer message asks for a receive (RTS).
    Request,
    /// A receive is there (CTS).
    Clear,
    /// The data that it is for.
    Data,
    /// Data of a put.
    Put,
    /// The put is in memory.
    PutDone,
    /// Asks for the data of a get.
    Get,
    /// The data.
    GetData,
}

const WORDS: [Word; 8] =
    [Word::Eager, Word::Request, Word::Clear, Word::Data, Word::Put, Word::PutDone, Word::Get, Word::GetData];

const OP_BITS: u32 = 20;
const NUMBER_BITS: u32 = 8;

/// A message on a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Message {
    pub(crate) word: Word,
    /// The op of the rank that began it all: of the sender of an [`Word::Eager`], [`Word::Request`], [`Word::Data`], [`Word::Put`]
    /// or [`Word::Get`], of the receiver of the others.
    pub(crate) op: u32,
    /// Bytes, at least 1.
    pub(crate) size: u64,
}

/// `seq` of the last packet of a message, which is the queue pair's packet `number`.
pub(crate) const fn pack(word: Word, op: u32, number: u32) -> u32 {
    let number = number & ((1 << NUMBER_BITS) - 1);
    LAST | (word as u32) << (OP_BITS + NUMBER_BITS) | number << OP_BITS | op
}

/// Whether `seq` may be that of the queue pair's packet `number`, the last one of a message.
pub(crate) const fn ends(seq: u32, number: u32) -> bool {
    seq & LAST != 0 && (seq >> OP_BITS ^ number) & ((1 << NUMBER_BITS) - 1) == 0
}

/// Kind and op of a message by the `seq` of its last packet.
pub(crate) const fn unpack(seq: u32) -> (Word, u32) {
    (WORDS[(seq >> (OP_BITS + NUMBER_BITS) & 7) as usize], seq & ((1 << OP_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_packet_of_a_message_tells_its_kind_and_its_op() {
        for word in WORDS {
            let seq = pack(word, 0xf_fffe, 0x1_03);
            assert_eq!(unpack(seq), (word, 0xf_fffe));
            assert!(ends(seq, 0x1_03) && !ends(seq, 0x1_04));
        }
        assert!(!ends(0x103, 0x103), "a packet in the middle");
    }
}
