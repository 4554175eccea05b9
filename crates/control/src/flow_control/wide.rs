//! Credits between machines that do not trust each other: registers of 64 bits, and messages that are refused where no buffer
//! allows what they say.
//!
//! Reference: as [`CreditSender`](super::CreditSender); 12 bits (2048 blocks, 128 KiB) cannot express the 800 KB of TCD's testbed.
//!
//! ```text
//!   message (FCTBS, FCCL) from the other end        refused, both registers untouched, if
//!     FCCL  < the FCCL known so far                   past: it was reordered, or the peer has forgotten
//!     FCCL  > FCTBS here + the peer's buffer          future: more room than there is
//!     FCTBS < ABR                                     past: it sent less than has arrived
//!     FCTBS > FCCL granted                            future: it sent more than it was allowed to
//! ```
//! What was lost on the way makes FCTBS exceed ABR, which then follows, as the specification has it.
//!
//! Known deviations: the simulator's registers have 32 bits, and what its links carry is not checked.
use super::Unit;

/// What a message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Verdict {
    /// Both registers are taken over.
    Fine = 0,
    /// The same; units were lost on the way.
    Resync = 1,
    /// Refused: behind what is known.
    Past = 2,
    /// Refused: beyond what any buffer allows.
    Future = 3,
}

/// Both directions of one virtual lane of a port, in units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditLane {
    /// FCTBS: sent in all.
    pub sent: u64,
    /// FCCL of the other end: may be sent in all.
    pub limit: u64,
    /// The buffer at the other end.
    pub peer_buffer: u64,
    /// ABR: received in all.
    pub received: u64,
    /// In the buffer here.
    pub held: u64,
    /// The buffer here.
    pub buffer: u64,
}

impl CreditLane {
    /// A link that has just come up, with buffers of so many bytes here and at the other end.
    pub const fn new(unit: Unit, buffer_bytes: u64, peer_buffer_bytes: u64) -> Self {
        let shift = unit.size().get().trailing_zeros();
        let (buffer, peer_buffer) = (buffer_bytes >> shift, peer_buffer_bytes >> shift);
        Self { sent: 0, limit: peer_buffer, peer_buffer, received: 0, held: 0, buffer }
    }

    /// Whether a packet of so many units may start.
    #[inline]
    pub const fn fits(&self, units: u64) -> bool {
        self.limit.saturating_sub(self.sent) >= units
    }

    /// A packet that [`Self::fits`] starts.
    #[inline]
    pub const fn on_sent(&mut self, units: u64) {
        self.sent = self.sent.wrapping_add(units);
    }

    /// A packet arrived; false if there is no room for it, which a correct other end never lets happen. It is not held then.
    #[inline]
    pub const fn on_arrival(&mut self, units: u64) -> bool {
        self.received = self.received.wrapping_add(units);
        if units > self.buffer.saturating_sub(self.held) {
            return false;
        }
        self.held += units;
        true
    }

    /// A packet left the buffer.
    #[inline]
    pub const fn on_departure(&mut self, units: u64) {
        self.held = self.held.saturating_sub(units);
    }

    /// FCCL for the next message: what the other end may send in all.
    #[inline]
    pub const fn granted(&self) -> u64 {
        self.received.wrapping_add(self.buffer - self.held)
    }

    /// A message arrived. Takes both registers over, or neither.
    pub fn on_message(&mut self, fctbs: u64, fccl: u64) -> Verdict {
        if fccl < self.limit || fctbs < self.received {
            return Verdict::Past;
        }
        if fccl > self.sent.saturating_add(self.peer_buffer) || fctbs > self.granted() {
            return Verdict::Future;
        }
        self.limit = fccl;
        if fctbs == self.received {
            return Verdict::Fine;
        }
        self.received = fctbs;
        Verdict::Resync
    }

    /// Takes over a message that [`Self::on_message`] refuses, because all have been refused for a while: the other end has begun
    /// anew. What it says it has sent counts as received, as the specification has it of every message; what it grants is believed
    /// as far as its buffer allows. When both ends have done this they agree again, and nothing was granted that has no room.
    pub const fn on_restart(&mut self, fctbs: u64, fccl: u64) {
        self.received = fctbs;
        if fccl <= self.sent.saturating_add(self.peer_buffer) {
            self.limit = fccl;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 800 KB are 12 500 blocks on either side.
    fn lane() -> CreditLane {
        CreditLane::new(Unit::BLOCK, 800_000, 800_000)
    }

    #[test]
    fn a_sender_may_fill_the_buffer_and_no_more() {
        let mut lane = lane();
        assert!(lane.fits(12_500));
        lane.on_sent(12_484);
        assert!(lane.fits(16));
        assert!(!lane.fits(17));
    }

    #[test]
    fn fccl_is_what_came_plus_what_is_free_and_arrivals_do_not_move_it() {
        let mut lane = lane();
        assert_eq!(lane.granted(), 12_500);
        assert!(lane.on_arrival(16));
        assert_eq!(lane.granted(), 12_500);
        lane.on_departure(16);
        assert_eq!(lane.granted(), 12_516);
        assert!(!lane.on_arrival(12_501));
    }

    #[test]
    fn messages_that_no_buffer_allows_are_refused_and_change_nothing() {
        let mut lane = lane();
        lane.on_sent(100);
        assert!(lane.on_arrival(50));
        let before = lane;
        assert_eq!(lane.on_message(50, 12_499), Verdict::Past);
        assert_eq!(lane.on_message(49, 12_500), Verdict::Past);
        assert_eq!(lane.on_message(50, 12_601), Verdict::Future);
        assert_eq!(lane.on_message(12_501, 12_500), Verdict::Future);
        assert_eq!(lane.on_message(u64::MAX, u64::MAX), Verdict::Future);
        assert_eq!(lane, before);
        assert_eq!(lane.on_message(50, 12_600), Verdict::Fine);
        assert!(lane.fits(12_500));
    }

    /// Messages both ways, with what follows a refusal.
    fn exchange(one: &mut CreditLane, other: &mut CreditLane) -> [Verdict; 2] {
        let (from_one, from_other) = ((one.sent, one.granted()), (other.sent, other.granted()));
        let take = |lane: &mut CreditLane, (fctbs, fccl): (u64, u64)| {
            let verdict = lane.on_message(fctbs, fccl);
            if matches!(verdict, Verdict::Past | Verdict::Future) {
                lane.on_restart(fctbs, fccl);
            }
            verdict
        };
        [take(one, from_other), take(other, from_one)]
    }

    #[test]
    fn two_ends_agree_again_after_one_has_begun_anew() {
        let mut survivor = lane();
        survivor.on_sent(100_000);
        (survivor.limit, survivor.received) = (100_500, 70_000);
        assert!(survivor.on_arrival(300));
        let mut fresh = lane();
        fresh.on_sent(16);
        assert_eq!(exchange(&mut survivor, &mut fresh), [Verdict::Past, Verdict::Future]);
        for _ in 0..2 {
            exchange(&mut survivor, &mut fresh);
        }
        assert_eq!(exchange(&mut survivor, &mut fresh), [Verdict::Fine; 2]);
        // Each may fill the other's buffer, but for the 300 blocks that the survivor still holds.
        assert!(survivor.fits(12_500) && !survivor.fits(12_501));
        assert!(fresh.fits(12_200) && !fresh.fits(12_201));
    }

    #[test]
    fn nobody_is_believed_who_grants_more_than_the_buffer() {
        let mut lane = lane();
        lane.on_restart(7, 12_501);
        assert_eq!((lane.received, lane.limit), (7, 12_500));
    }

    #[test]
    fn what_was_lost_on_the_way_does_not_cost_its_room_for_ever() {
        let mut lane = lane();
        assert!(lane.on_arrival(50));
        assert_eq!(lane.on_message(66, 12_500), Verdict::Resync);
        assert_eq!(lane.received, 66);
        lane.on_departure(50);
        assert_eq!(lane.granted(), 12_566);
    }
}
