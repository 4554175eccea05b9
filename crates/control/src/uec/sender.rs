//! What a sender has under way, what it sends next, and what ACKs, NACKs and timeouts make of that.
//!
//! Reference: Ultra Ethernet Specification 1.0, section 3.5 (PDS: PSN, SACK, NACK of trimmed packets, RTO). Where it is silent, the Consortium's
//! simulator, `ultraethernet/uet-htsim` at 40ccb05: `uec.cpp:904` (ACK), `:1524` (NACK), `:2046` (what is sent), `:2319` (timeout), `:1737`
//! (the backlog counts headers).
//!
//! ```text
//!   new ──▶ under way ──ACK──▶ done             next: what is to be sent again, the lowest number first; then new ones
//!            │    ▲  ▲                          bytes under way: + each sending, − what receivers say they got, − NACK, − timeout
//!      NACK, │    │  │ ACK of an earlier copy: its bytes had been taken off already, and are given back
//!     timeout▼    │  └────────────┐
//!          to be sent again ──────┴─▶ done
//! ```
//! Bytes under way go by what receivers have counted, not by which packets that were: a lost ACK loses nothing. A round trip is that of the
//! packet which an ACK answers, if it was sent once, or twice and the answer is that of the second copy. The timer is for the packet that was
//! sent first of those under way.
//!
//! Packets are numbered from 0; an RTS takes a number, too. The caller has the rings, as large as the numbers from the oldest that is not
//! acknowledged to the newest: powers of two.
//!
//! Known deviations: bytes under way fall with a timeout under RCCC alone, too (in the simulator they are not lowered there; nothing goes by
//! them); an RTS that is lost is sent again as an RTS (there: as a packet of its size).
use super::bits;
use super::receiver::reference;

/// A packet that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Record {
    /// When it started to leave the last time, in picoseconds.
    pub sent: u64,
    /// Bytes on the wire; 0: it is an RTS.
    pub size: u16,
    /// Its entropy, the last time.
    pub entropy: u16,
    /// How often it was sent, as far as that counts.
    pub times: u8,
    /// How often it has timed out.
    pub late: u8,
}

/// The rings of a sender: as many bits as records, in powers of two of 64.
#[derive(Debug)]
pub struct Ring<'a> {
    /// Records by number.
    pub records: &'a mut [Record],
    /// Which numbers are not acknowledged.
    pub open: &'a mut [u64],
    /// Which of these are to be sent again.
    pub lost: &'a mut [u64],
}

impl Ring<'_> {
    #[inline]
    const fn at(&self, psn: u32) -> usize {
        psn as usize & (self.records.len() - 1)
    }

    #[inline]
    fn is_under_way(&self, psn: u32) -> bool {
        bits::get(self.open, psn) && !bits::get(self.lost, psn)
    }
}

/// What leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    /// Its number.
    pub psn: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// It has been sent before.
    pub again: bool,
    /// How often it has timed out.
    pub late: u8,
}

/// What an ACK says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The packet that it answers.
    pub psn: u32,
    /// That was a copy.
    pub again: bool,
    /// What it says beside.
    pub ack: super::Ack,
}

/// What an ACK makes known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acked {
    /// Bytes that have come since the one before.
    pub fresh: u64,
    /// The round trip of the packet that it answers, if it is known: picoseconds.
    pub rtt: Option<u64>,
}

/// A sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Sender {
    /// Bytes that are to be sent for the first time, with their headers.
    backlog: u64,
    /// All before this number are acknowledged.
    cumulative: u32,
    /// The next new number.
    next: u32,
    /// Packets that are to be sent again, and their bytes.
    again: u32,
    again_bytes: u64,
    /// Bytes under way. Less than none between two parts of an ACK.
    in_flight: i64,
    /// Bytes that the receiver has.
    received: u64,
}

impl Sender {
    /// A sender of so many bytes with headers ([`backlog`]).
    #[must_use]
    pub const fn new(backlog: u64) -> Self {
        Self { backlog, cumulative: 0, next: 0, again: 0, again_bytes: 0, in_flight: 0, received: 0 }
    }

    /// It has more to send.
    pub const fn add(&mut self, backlog: u64) {
        self.backlog = self.backlog.saturating_add(backlog);
    }

    /// Bytes that are to be sent for the first time, with headers.
    #[inline]
    pub const fn backlog(&self) -> u64 {
        self.backlog
    }

    /// Bytes that are to be sent again.
    #[inline]
    pub const fn again_bytes(&self) -> u64 {
        self.again_bytes
    }

    /// Bytes under way.
    #[inline]
    pub const fn in_flight(&self) -> i64 {
        self.in_flight
    }

    /// Bytes that the receiver is known to have.
    #[inline]
    pub const fn received(&self) -> u64 {
        self.received
    }

    /// The next new number.
    #[inline]
    pub const fn next(&self) -> u32 {
        self.next
    }

    /// All before it are acknowledged.
    #[inline]
    pub const fn cumulative(&self) -> u32 {
        self.cumulative
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub const fn is_done(&self) -> bool {
        self.backlog == 0 && self.cumulative == self.next
    }

    /// Whether a packet is to be sent again.
    #[inline]
    pub const fn repeats(&self) -> bool {
        self.again > 0
    }

    /// Whether the rings have room for one more number.
    #[inline]
    pub const fn has_room(&self, records: usize) -> bool {
        ((self.next - self.cumulative) as usize) < records
    }

    /// Bytes of what goes next, if full packets have `mtu` bytes; 0: nothing.
    #[inline]
    pub fn next_size(&self, mtu: u16, ring: &Ring<'_>) -> u16 {
        match self.first_lost(ring) {
            Some(psn) => ring.records[ring.at(psn)].size,
            None if self.backlog < u64::from(mtu) => self.backlog as u16,
            None => mtu,
        }
    }

    #[inline]
    fn first_lost(&self, ring: &Ring<'_>) -> Option<u32> {
        if self.again == 0 { None } else { bits::first(ring.lost, self.cumulative, self.next) }
    }

    /// What goes next leaves by a way; there is something, and room for it.
    #[inline]
    pub fn sends(&mut self, mtu: u16, entropy: u16, now: u64, ring: &mut Ring<'_>) -> Leaving {
        let size = self.next_size(mtu, ring);
        let lost = self.first_lost(ring);
        let psn = lost.unwrap_or(self.next);
        let at = ring.at(psn);
        let (times, late) = match (lost, ring.records[at]) {
            (Some(_), before) => (before.times.saturating_add(1), before.late),
            (None, _) => (1, 0),
        };
        ring.records[at] = Record { sent: now, size, entropy, times, late };
        self.in_flight += i64::from(size);
        if lost.is_some() {
            bits::clear(ring.lost, psn);
            self.again -= 1;
            self.again_bytes -= u64::from(size);
        } else {
            bits::set(ring.open, psn);
            self.next += 1;
            self.backlog -= u64::from(size);
        }
        Leaving { psn, size, again: lost.is_some(), late }
    }

    /// An RTS leaves, for which there is room: its number.
    pub fn sends_rts(&mut self, entropy: u16, now: u64, ring: &mut Ring<'_>) -> u32 {
        let psn = self.next;
        let at = ring.at(psn);
        ring.records[at] = Record { sent: now, size: 0, entropy, times: 1, late: 0 };
        bits::set(ring.open, psn);
        self.next += 1;
        psn
    }

    /// An ACK comes.
    #[inline]
    pub fn on_ack(&mut self, heard: &Heard, now: u64, ring: &mut Ring<'_>) -> Acked {
        let ack = &heard.ack;
        let fresh = ack.bytes.saturating_sub(self.received);
        self.received += fresh;
        self.in_flight -= fresh.cast_signed();
        let rtt = self.round_trip(heard, now, ring);
        let cumulative = ack.cumulative.min(self.next);
        if cumulative > self.cumulative {
            self.pass(cumulative, ring);
        }
        if ack.sack != 0 {
            self.sack(reference(heard.psn, ack.cumulative, ack.own), ack.sack, ring);
        }
        Acked { fresh, rtt }
    }

    #[inline]
    fn round_trip(&self, heard: &Heard, now: u64, ring: &Ring<'_>) -> Option<u64> {
        let psn = heard.psn;
        if psn < self.cumulative || psn >= self.next || !ring.is_under_way(psn) {
            return None;
        }
        let record = ring.records[ring.at(psn)];
        (record.times == 1 + u8::from(heard.again)).then(|| now - record.sent)
    }

    /// All before `cumulative` are acknowledged.
    #[inline]
    fn pass(&mut self, cumulative: u32, ring: &mut Ring<'_>) {
        while self.again > 0
            && let Some(psn) = bits::first(ring.lost, self.cumulative, cumulative)
        {
            self.found(psn, ring);
        }
        while let Some(psn) = bits::first(ring.open, self.cumulative, cumulative) {
            // All of a word at once; below them it has numbers one turn later.
            let word = (psn / 64) as usize & (ring.open.len() - 1);
            let rest = cumulative - psn / 64 * 64;
            ring.open[word] &= !(u64::MAX << (psn % 64)) | u64::MAX.unbounded_shl(rest);
        }
        self.cumulative = cumulative;
    }

    #[inline]
    fn sack(&mut self, from: u32, sack: u64, ring: &mut Ring<'_>) {
        // What is acknowledged already need not be looked at; the ring may have other numbers in its place.
        let skipped = self.cumulative.saturating_sub(from).min(64);
        let rest = self.next.saturating_sub(from).min(64);
        let known = u64::MAX.unbounded_shl(skipped) & !u64::MAX.unbounded_shl(rest);
        let mut fresh = sack & known & bits::window(ring.open, from);
        while fresh != 0 {
            let psn = from + fresh.trailing_zeros();
            fresh &= fresh - 1;
            if bits::get(ring.lost, psn) {
                self.found(psn, ring);
            }
            bits::clear(ring.open, psn);
        }
    }

    /// A packet has come after all that was to be sent again.
    #[cold]
    fn found(&mut self, psn: u32, ring: &mut Ring<'_>) {
        let size = ring.records[ring.at(psn)].size;
        bits::clear(ring.lost, psn);
        bits::clear(ring.open, psn);
        self.again -= 1;
        self.again_bytes -= u64::from(size);
        self.in_flight += i64::from(size);
    }

    /// A NACK for a packet comes: the bytes of the packet and its round trip, unless it is not under way.
    pub fn on_nack(&mut self, psn: u32, now: u64, ring: &mut Ring<'_>) -> Option<(u16, u64)> {
        if psn < self.cumulative || psn >= self.next || !ring.is_under_way(psn) {
            return None;
        }
        let record = ring.records[ring.at(psn)];
        self.lose(psn, ring);
        Some((record.size, now - record.sent))
    }

    /// A packet under way has timed out, and is to be sent again: what it was. An RTS, of no bytes, stays under way, sent `now`.
    pub fn on_timeout(&mut self, psn: u32, now: u64, ring: &mut Ring<'_>) -> Record {
        let at = ring.at(psn);
        let before = ring.records[at];
        let record = Record { late: before.late.saturating_add(1), ..before };
        ring.records[at] = record;
        if record.size == 0 {
            ring.records[at] = Record { sent: now, times: record.times.saturating_add(1), ..record };
        } else {
            self.lose(psn, ring);
        }
        record
    }

    /// ROD: all packets from a number on that are under way are to be sent again, as their receiver discards what is behind a gap.
    pub fn go_back(&mut self, psn: u32, ring: &mut Ring<'_>) {
        for psn in psn.max(self.cumulative)..self.next {
            if ring.is_under_way(psn) && ring.records[ring.at(psn)].size > 0 {
                self.lose(psn, ring);
            }
        }
    }

    /// RUDI: an ACK comes for a packet alone.
    pub fn on_ack_alone(&mut self, psn: u32, again: bool, now: u64, ring: &mut Ring<'_>) -> Acked {
        let ack = super::Ack { cumulative: 0, sack: 0, bytes: 0, own: true };
        let rtt = self.round_trip(&Heard { psn, again, ack }, now, ring);
        let mut fresh = 0;
        if psn >= self.cumulative && psn < self.next && bits::get(ring.open, psn) {
            fresh = u64::from(ring.records[ring.at(psn)].size);
            if bits::get(ring.lost, psn) {
                self.found(psn, ring);
            }
            bits::clear(ring.open, psn);
            self.received += fresh;
            self.in_flight -= fresh.cast_signed();
            let open = bits::first(ring.open, self.cumulative, self.next);
            self.cumulative = open.unwrap_or(self.next);
        }
        Acked { fresh, rtt }
    }

    fn lose(&mut self, psn: u32, ring: &mut Ring<'_>) {
        let size = ring.records[ring.at(psn)].size;
        bits::set(ring.lost, psn);
        self.in_flight -= i64::from(size);
        self.again += 1;
        self.again_bytes += u64::from(size);
    }

    /// The packet under way whose timer ends first, and when, if it runs for `rto` at first and twice as long each time with `doubling`.
    /// Asked when a timer ends, not for each packet.
    pub fn oldest(&self, rto: u64, doubling: bool, ring: &Ring<'_>) -> Option<(u32, u64)> {
        let (mut from, mut oldest) = (self.cumulative, None::<(u64, u32)>);
        while let Some(psn) = bits::first(ring.open, from, self.next) {
            from = psn + 1;
            if !bits::get(ring.lost, psn) {
                let record = ring.records[ring.at(psn)];
                let ends = record.sent.saturating_add(patience(rto, doubling, record.late));
                oldest = Some(oldest.map_or((ends, psn), |other| other.min((ends, psn))));
            }
        }
        oldest.map(|(ends, psn)| (psn, ends))
    }

    /// What rings have goes to larger ones, which are empty.
    pub fn move_to(&self, old: &Ring<'_>, new: &mut Ring<'_>) {
        bits::copy(old.open, new.open, self.cumulative);
        bits::copy(old.lost, new.lost, self.cumulative);
        for psn in self.cumulative..self.next {
            let at = new.at(psn);
            new.records[at] = old.records[old.at(psn)];
        }
    }
}

/// UE 1.0, section 3.5: RTO is doubled up to 5 times by default.
const MOST_DOUBLED: u32 = 5;

/// How long the timer of a packet runs that has timed out so often.
#[inline]
#[must_use]
pub fn patience(rto: u64, doubling: bool, late: u8) -> u64 {
    let turns = if doubling { u32::from(late).min(MOST_DOUBLED) } else { 0 };
    rto.saturating_mul(1 << turns)
}

/// Bytes of a flow with the headers of its packets. `size` of an endless one is `u64::MAX`.
#[must_use]
pub const fn backlog(size: u64, payload: u16, header: u16) -> u64 {
    if size == u64::MAX {
        return u64::MAX / 4;
    }
    size + size.div_ceil(payload as u64) * header as u64
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::super::Ack;
    use super::*;

    const MTU: u16 = 4150;

    struct Rings {
        records: Vec<Record>,
        open: Vec<u64>,
        lost: Vec<u64>,
    }

    impl Rings {
        fn new(packets: usize) -> Self {
            let words = packets / 64;
            Self { records: vec![Record::default(); packets], open: vec![0; words], lost: vec![0; words] }
        }
        fn ring(&mut self) -> Ring<'_> {
            Ring { records: &mut self.records, open: &mut self.open, lost: &mut self.lost }
        }
    }

    fn heard(psn: u32, cumulative: u32, sack: u64, bytes: u64) -> Heard {
        Heard { psn, again: false, ack: Ack { cumulative, sack, bytes, own: false } }
    }

    #[test]
    fn a_flow_of_2_mb_is_490_packets_of_which_the_last_has_what_is_left() {
        // ceil(2 000 000 / 4086) = 490; 2 000 000 − 489 · 4086 = 1946, and 64 of header.
        let mut sender = Sender::new(backlog(2_000_000, 4086, 64));
        let mut rings = Rings::new(512);
        let sizes: Vec<u16> = std::iter::from_fn(|| {
            (sender.backlog() > 0).then(|| sender.sends(MTU, 0, 0, &mut rings.ring()).size)
        })
        .collect();
        assert_eq!((sizes.len(), sizes[0], sizes[488], sizes[489]), (490, 4150, 4150, 2010));
    }

    #[test]
    fn what_is_nacked_goes_first_the_lowest_number_before_the_others() {
        let (mut sender, mut rings) = (Sender::new(10 * 4150), Rings::new(64));
        for now in 0..6 {
            sender.sends(MTU, 0, now, &mut rings.ring());
        }
        assert_eq!(sender.on_nack(4, 100, &mut rings.ring()), Some((4150, 96)));
        assert_eq!(sender.on_nack(1, 100, &mut rings.ring()), Some((4150, 99)));
        assert_eq!(sender.on_nack(1, 100, &mut rings.ring()), None, "it is to be sent again already");
        assert_eq!((sender.in_flight(), sender.again_bytes()), (4 * 4150, 8300));
        let sent: Vec<(u32, bool)> = (0..3)
            .map(|_| sender.sends(MTU, 0, 200, &mut rings.ring()))
            .map(|leaving| (leaving.psn, leaving.again))
            .collect();
        assert_eq!(sent, [(1, true), (4, true), (6, false)]);
    }

    #[test]
    fn an_ack_gives_back_the_bytes_of_what_came_after_it_was_given_up() {
        let (mut sender, mut rings) = (Sender::new(10 * 4150), Rings::new(64));
        for now in 0..4 {
            sender.sends(MTU, 0, now, &mut rings.ring());
        }
        sender.on_timeout(0, 50, &mut rings.ring());
        assert_eq!(sender.in_flight(), 3 * 4150);
        let acked = sender.on_ack(&heard(3, 4, 0, 4 * 4150), 100, &mut rings.ring());
        assert_eq!(acked, Acked { fresh: 4 * 4150, rtt: Some(97) });
        assert_eq!((sender.in_flight(), sender.repeats()), (0, false));
    }

    #[test]
    fn a_round_trip_is_that_of_the_copy_that_is_answered() {
        let (mut sender, mut rings) = (Sender::new(10 * 4150), Rings::new(64));
        sender.sends(MTU, 0, 0, &mut rings.ring());
        sender.on_nack(0, 10, &mut rings.ring());
        assert_eq!(sender.on_ack(&heard(0, 0, 0, 0), 20, &mut rings.ring()).rtt, None, "it is not under way");
        sender.sends(MTU, 0, 30, &mut rings.ring());
        assert_eq!(sender.on_ack(&heard(0, 0, 0, 0), 40, &mut rings.ring()).rtt, None, "of the first copy");
        let answer = Heard { again: true, ..heard(0, 1, 0, 4150) };
        assert_eq!(sender.on_ack(&answer, 45, &mut rings.ring()).rtt, Some(15));
    }

    #[test]
    fn the_timer_is_for_what_was_sent_first_and_doubles_with_each_copy() {
        let (mut sender, mut rings) = (Sender::new(10 * 4150), Rings::new(64));
        for now in [0, 10, 20] {
            sender.sends(MTU, 0, now, &mut rings.ring());
        }
        assert_eq!(sender.oldest(100, true, &rings.ring()), Some((0, 100)));
        sender.on_timeout(0, 100, &mut rings.ring());
        assert_eq!(sender.oldest(100, true, &rings.ring()), Some((1, 110)));
        sender.sends(MTU, 0, 105, &mut rings.ring());
        sender.on_ack(&heard(2, 0, 0b11, 8300), 108, &mut rings.ring());
        // The reference of an ACK of packet 2 below which nothing has come is 1.
        assert_eq!(sender.oldest(100, true, &rings.ring()), Some((0, 305)));
        assert_eq!(sender.oldest(100, false, &rings.ring()), Some((0, 205)));
    }

    #[test]
    fn an_rts_takes_a_number_of_its_own_and_no_bytes() {
        let (mut sender, mut rings) = (Sender::new(4150), Rings::new(64));
        sender.sends(MTU, 0, 0, &mut rings.ring());
        assert_eq!((sender.sends_rts(0, 5, &mut rings.ring()), sender.in_flight()), (1, 4150));
        sender.on_ack(&heard(0, 1, 0, 4150), 10, &mut rings.ring());
        assert_eq!((sender.is_done(), sender.on_timeout(1, 20, &mut rings.ring()).size), (false, 0));
        sender.on_ack(&heard(1, 2, 0, 4150), 30, &mut rings.ring());
        assert!(sender.is_done());
    }

    /// What may have become of a packet.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum Is {
        UnderWay,
        Lost,
        Done,
    }

    proptest! {
        #[test]
        fn it_knows_what_a_map_of_packets_knows(steps in prop::collection::vec((0..4_u8, 0..64_u32, any::<u64>()), 1..300)) {
            let (mut sender, mut rings) = (Sender::new(100_000 * 4150), Rings::new(128));
            let (mut model, mut here, mut cumulative) = (BTreeMap::new(), BTreeSet::<u32>::new(), 0);
            for (now, (step, offset, word)) in steps.into_iter().enumerate() {
                let now = now as u64;
                let psn = cumulative + offset;
                match step {
                    0 | 1 if sender.has_room(128) || sender.repeats() => {
                        let lost = model.iter().find(|(_, is)| **is == Is::Lost).map(|(psn, _)| *psn);
                        let leaving = sender.sends(MTU, 0, now, &mut rings.ring());
                        prop_assert_eq!(leaving.psn, lost.unwrap_or(model.len() as u32));
                        prop_assert_eq!(leaving.again, lost.is_some());
                        model.insert(leaving.psn, Is::UnderWay);
                    }
                    2 => {
                        let is = model.get(&psn).copied();
                        let nacked = sender.on_nack(psn, now, &mut rings.ring());
                        prop_assert_eq!(nacked.is_some(), is == Some(Is::UnderWay));
                        if nacked.is_some() {
                            model.insert(psn, Is::Lost);
                        }
                    }
                    3 if model.contains_key(&psn) => {
                        // The receiver gets some of those that were sent; its ACK is of packet `psn`.
                        for bit in 0..64 {
                            if word >> bit & 1 == 1 && model.contains_key(&(cumulative + bit)) {
                                here.insert(cumulative + bit);
                            }
                        }
                        here.insert(psn);
                        while here.contains(&cumulative) {
                            cumulative += 1;
                        }
                        let from = reference(psn, cumulative, false);
                        let sack = (0..64).filter(|bit| here.contains(&(from + bit)) && from + bit >= cumulative)
                            .fold(0, |word, bit| word | 1_u64 << bit);
                        sender.on_ack(&heard(psn, cumulative, sack, here.len() as u64 * 4150), now, &mut rings.ring());
                        for (number, is) in &mut model {
                            let offset = number.wrapping_sub(from);
                            if *number < cumulative || (*number >= from && offset < 64 && sack >> offset & 1 == 1) {
                                *is = Is::Done;
                            }
                        }
                    }
                    _ => {}
                }
                let count = |what| model.values().filter(|is| **is == what).count() as u64;
                prop_assert_eq!(sender.again_bytes(), count(Is::Lost) * 4150);
                prop_assert_eq!(sender.cumulative(), cumulative);
                // What is under way by itself, less what came and its ACK did not name.
                let unnamed = here.iter().filter(|psn| model[psn] == Is::UnderWay).count() as u64;
                let given_up = here.iter().filter(|psn| model[psn] == Is::Lost).count() as u64;
                let expected = (count(Is::UnderWay) - unnamed).cast_signed() - given_up.cast_signed();
                prop_assert_eq!(sender.in_flight(), expected * 4150);
            }
            let mut larger = Rings::new(256);
            sender.move_to(&rings.ring(), &mut larger.ring());
            prop_assert_eq!(sender.oldest(9, true, &larger.ring()), sender.oldest(9, true, &rings.ring()));
        }
    }
}
