//! What a receiver has, and when it says so: packet numbers with gaps, coalesced ACKs, SACK words.
//!
//! Reference: Ultra Ethernet Specification 1.0, section 3.5 (PDS: `ACK_Gen_Trigger`, `ACK_On_ECN`, ACK request, 64-bit SACK bitmap). Where it is
//! silent, the Consortium's simulator, `ultraethernet/uet-htsim` at 40ccb05: `uec.cpp:2571` (data), `:2741` (trimmed), `:2795` (RTS), `:2953`
//! (where a SACK word begins).
//!
//! ```text
//!   data  known already ─▶ ACK                          trimmed  known already ─▶ ACK        RTS ─▶ ACK
//!         new: counted; the first one, or an ACK asked for, forces an ACK    else NACK
//!              in order: all behind it that is here, too; no gap left and an ACK was asked for: force
//!              marked, or bytes since the last ACK at the trigger, or forced ─▶ ACK
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | trigger | bytes on the wire | 16384 | UE 3.5, `ACK_Gen_Trigger` 16 KB; `uec.cpp` `_bytes_unacked_threshold` |
//! | SACK word | packets | 64 | UE 3.5 |
//!
//! Known deviations: UE counts a packet with 1 KB at least (`ACK_Gen_Min_Pkt_Add`), and bytes received in units of 256 B; here both are
//! exact, as in the simulator.
use super::bits;

/// Data that has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its number.
    pub psn: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// A switch has marked it.
    pub marked: bool,
    /// Its sender asks for an ACK.
    pub request: bool,
}

/// What an ACK says beside the packet that it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// All before this number has come.
    pub cumulative: u32,
    /// Which of the 64 packets from [`reference()`] on have come beside these.
    pub sack: u64,
    /// Bytes on the wire of all data that has come, each packet once.
    pub bytes: u64,
    /// The SACK word begins at the packet that it answers.
    pub own: bool,
}

/// Where the SACK word begins of an ACK for packet `psn`: at this packet if it was marked or asked for an ACK, else so that it is the last.
#[must_use]
pub fn reference(psn: u32, cumulative: u32, own: bool) -> u32 {
    if own { psn } else { psn.saturating_sub(63).max(cumulative + 1) }
}

/// What becomes of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// It had not come before.
    pub fresh: bool,
    /// The ACK that leaves now.
    pub ack: Option<Ack>,
}

/// One receiver. What came early stands in the caller's ring of bits, a power of two of words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Receiver {
    /// The next packet in order.
    expected: u32,
    /// Packets that are here and behind a gap.
    early: u32,
    /// Bytes since the last ACK.
    accepted: u32,
    /// An ACK was asked for while there were gaps.
    requested: bool,
    /// ROD: the last number for which a NACK left.
    asked: Option<u32>,
    bytes: u64,
}

impl Receiver {
    /// The next packet in order.
    #[inline]
    pub const fn expected(&self) -> u32 {
        self.expected
    }

    /// Packets behind a gap.
    pub const fn early(&self) -> u32 {
        self.early
    }

    /// Bytes on the wire of all data that has come.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a packet has come.
    #[inline]
    pub fn has(&self, psn: u32, here: &[u64]) -> bool {
        psn < self.expected || (self.early > 0 && bits::get(here, psn))
    }

    /// Whether a ring has room for a packet.
    #[inline]
    pub const fn fits(&self, psn: u32, here: &[u64]) -> bool {
        psn.saturating_sub(self.expected) < bits::room(here)
    }

    /// What a ring has goes to a larger one, which is empty.
    pub fn move_to(&self, old: &[u64], new: &mut [u64]) {
        bits::copy(old, new, self.expected);
    }

    /// Data comes, for which the ring has room. An ACK is due after `trigger` bytes.
    #[inline]
    pub fn on_data(&mut self, data: &Data, trigger: u32, here: &mut [u64]) -> Taken {
        self.accepted += u32::from(data.size);
        if self.has(data.psn, here) {
            return Taken { fresh: false, ack: Some(self.ack(data.psn, data.marked, here)) };
        }
        let mut force = self.bytes == 0 || data.request;
        self.bytes += u64::from(data.size);
        self.requested |= data.request;
        self.take(data.psn, here);
        if data.psn < self.expected && self.early == 0 && self.requested {
            force = true;
            self.requested = false;
        }
        let due = force || data.marked || self.accepted >= trigger;
        let ack = due.then(|| self.ack(data.psn, data.marked || data.request, here));
        Taken { fresh: true, ack }
    }

    /// ROD: whether data that comes is behind a gap, and is discarded.
    #[inline]
    pub const fn is_ahead(&self, psn: u32) -> bool {
        psn > self.expected
    }

    /// ROD: such data has come: the number that a NACK has to ask for, if none has.
    pub fn on_gap(&mut self) -> Option<u32> {
        let news = self.asked != Some(self.expected);
        self.asked = Some(self.expected);
        news.then_some(self.expected)
    }

    /// ROD: a packet has come trimmed that it does not have. Whether a NACK asks for it: not if one has for it or for one before it that has not
    /// come.
    pub fn on_trimmed_in_order(&mut self, psn: u32) -> bool {
        let asks = self.asked.is_none_or(|asked| asked < self.expected || psn < asked);
        if asks {
            self.asked = Some(psn);
        }
        asks
    }

    /// RUDI: data comes. It counts once, for the results; the ACK is for it alone.
    #[inline]
    pub fn on_data_alone(&mut self, data: &Data, here: &mut [u64]) -> Taken {
        let fresh = !self.has(data.psn, here);
        if fresh {
            self.bytes += u64::from(data.size);
            self.take(data.psn, here);
        }
        Taken { fresh, ack: Some(Ack { cumulative: data.psn, sack: 0, bytes: self.bytes, own: true }) }
    }

    /// A trimmed packet comes: an ACK if it has it; else a NACK is due.
    #[inline]
    pub fn on_trimmed(&mut self, psn: u32, here: &[u64]) -> Option<Ack> {
        self.has(psn, here).then(|| self.word(psn, false, here))
    }

    /// An RTS comes, which has a number of its own: its ACK.
    pub fn on_rts(&mut self, psn: u32, here: &mut [u64]) -> Ack {
        if self.has(psn, here) {
            return self.ack(psn, false, here);
        }
        self.take(psn, here);
        if psn < self.expected && self.early == 0 {
            self.requested = false;
        }
        self.word(psn, true, here)
    }

    #[inline]
    fn take(&mut self, psn: u32, here: &mut [u64]) {
        if psn > self.expected {
            bits::set(here, psn);
            self.early += 1;
            return;
        }
        self.expected += 1;
        while self.early > 0 && bits::get(here, self.expected) {
            bits::clear(here, self.expected);
            self.expected += 1;
            self.early -= 1;
        }
    }

    #[inline]
    fn ack(&mut self, psn: u32, own: bool, here: &[u64]) -> Ack {
        self.accepted = 0;
        self.word(psn, own, here)
    }

    #[inline]
    fn word(&self, psn: u32, own: bool, here: &[u64]) -> Ack {
        let from = reference(psn, self.expected, own);
        let sack = if self.early == 0 { 0 } else { self.sack(from, here) };
        Ack { cumulative: self.expected, sack, bytes: self.bytes, own }
    }

    /// Numbers for which the ring has no room stand for none.
    #[inline]
    fn sack(&self, from: u32, here: &[u64]) -> u64 {
        // Below the next in order all bits of the ring belong to numbers one turn later.
        let skipped = self.expected.saturating_sub(from).min(64);
        let rest =
            (u64::from(self.expected) + u64::from(bits::room(here))).saturating_sub(from.into()).min(64);
        let known = u64::MAX.unbounded_shl(skipped) & !u64::MAX.unbounded_shl(rest as u32);
        bits::window(here, from) & known
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const TRIGGER: u32 = 16_384;

    fn data(psn: u32) -> Data {
        Data { psn, size: 4150, marked: false, request: false }
    }

    #[test]
    fn in_order_the_first_packet_and_each_fourth_one_after_it_are_acknowledged() {
        // 4 · 4150 B = 16600 B are more than 16384 B, 3 · 4150 B are less.
        let (mut receiver, mut here) = (Receiver::default(), [0; 4]);
        let acked = (0..13).filter(|psn| receiver.on_data(&data(*psn), TRIGGER, &mut here).ack.is_some());
        assert_eq!(acked.collect::<Vec<_>>(), [0, 4, 8, 12]);
    }

    #[test]
    fn a_mark_and_a_request_are_acknowledged_at_once_and_a_request_again_when_the_last_gap_closes() {
        let (mut receiver, mut here) = (Receiver::default(), [0; 4]);
        receiver.on_data(&data(0), TRIGGER, &mut here);
        let ack = receiver.on_data(&Data { marked: true, ..data(1) }, TRIGGER, &mut here).ack;
        assert_eq!(ack, Some(Ack { cumulative: 2, sack: 0, bytes: 8300, own: true }));
        let ack = receiver.on_data(&Data { request: true, ..data(4) }, TRIGGER, &mut here).ack;
        assert_eq!(ack, Some(Ack { cumulative: 2, sack: 1, bytes: 12_450, own: true }));
        assert_eq!(receiver.on_data(&data(3), TRIGGER, &mut here).ack, None);
        let ack = receiver.on_data(&data(2), TRIGGER, &mut here).ack;
        assert_eq!(ack, Some(Ack { cumulative: 5, sack: 0, bytes: 20_750, own: false }));
        assert_eq!(receiver.on_data(&data(5), TRIGGER, &mut here).ack, None, "the request is forgotten");
    }

    #[test]
    fn what_comes_once_more_is_acknowledged_and_not_counted() {
        let (mut receiver, mut here) = (Receiver::default(), [0; 4]);
        receiver.on_data(&data(0), TRIGGER, &mut here);
        receiver.on_data(&data(2), TRIGGER, &mut here);
        for psn in [0, 2] {
            let taken = receiver.on_data(&data(psn), TRIGGER, &mut here);
            assert!(!taken.fresh && taken.ack.is_some());
            assert!(receiver.on_trimmed(psn, &here).is_some());
        }
        assert_eq!((receiver.bytes(), receiver.on_trimmed(1, &here)), (8300, None));
    }

    #[test]
    fn an_rts_takes_a_number_and_no_bytes() {
        let (mut receiver, mut here) = (Receiver::default(), [0; 4]);
        receiver.on_data(&data(0), TRIGGER, &mut here);
        let ack = receiver.on_rts(1, &mut here);
        assert_eq!((ack.cumulative, ack.bytes), (2, 4150));
    }

    proptest! {
        #[test]
        fn it_knows_what_a_set_of_numbers_knows(psns in prop::collection::vec((0..120_u32, any::<bool>()), 1..400)) {
            let (mut receiver, mut here, mut known) = (Receiver::default(), [0; 2], BTreeSet::new());
            let (mut fresh, mut larger) = (0, [0; 4]);
            for (at, (psn, request)) in psns.iter().enumerate() {
                let psn = (*psn + at as u32 / 4).min(receiver.expected() + 127);
                let taken = receiver.on_data(&Data { request: *request, ..data(psn) }, TRIGGER, &mut here);
                prop_assert_eq!(taken.fresh, known.insert(psn));
                fresh += u64::from(taken.fresh);
                let expected = (0..1000).find(|psn| !known.contains(psn)).expect("it has fewer");
                prop_assert_eq!(receiver.expected(), expected);
                prop_assert_eq!(receiver.early() as usize, known.range(expected..).count());
                prop_assert_eq!(receiver.bytes(), fresh * 4150);
                prop_assert!(!*request || taken.ack.is_some());
                if let Some(ack) = taken.ack {
                    let from = reference(psn, ack.cumulative, ack.own);
                    let has = |bit: u32| from + bit >= expected && known.contains(&(from + bit));
                    let word = (0..64).filter(|bit| has(*bit)).fold(0, |word, bit| word | 1_u64 << bit);
                    prop_assert_eq!(ack.sack, word);
                }
            }
            receiver.move_to(&here, &mut larger);
            for psn in 0..receiver.expected() + 128 {
                prop_assert_eq!(receiver.has(psn, &larger), known.contains(&psn));
            }
        }
    }
}
