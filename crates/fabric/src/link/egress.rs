//! The sending side of a link: when it is free, what gates it, where it leads.
use backwater_engine::Place;
use backwater_topology::Port;
use backwater_units::relative::{deadline, tally};
use backwater_units::{Bytes, Rate, Span};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::spec::Clock;

/// An egress port. One cache line; the queues stand beside it.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
#[repr(align(64))]
pub(crate) struct Egress {
    /// When the frame on the wire has left completely. Who asks compares it with the present.
    #[borsh(serialize_with = "deadline")]
    pub(super) busy_until: u64,
    delay: u64,
    /// How much of a frame must be in before the peer may forward it, in picoseconds on this link; more than any frame takes
    /// if the peer stores it first.
    cut: u64,
    rate: Rate,
    /// Picoseconds per byte where that is whole, else 0.
    ps_per_byte: u32,
    /// The node at the other end and where the engine keeps it.
    pub(super) peer: u32,
    #[borsh(serialize_with = "tally")]
    pub(super) place: Place,
    pub(super) peer_port: u16,
    /// Its detector among those of the world.
    detector: u16,
    /// A settled detector need not be shown a shorter queue: one more than [`backwater_control::detector::Detector::calm`], 0 to show
    /// it all.
    pub(super) calm: u32,
    /// Bit per class: packets wait.
    pub(super) waiting: u8,
    /// Bit per class: the gate is closed.
    pub(super) paused: u8,
    /// Classes that the next PFC frame pauses and resumes upstream.
    pub(super) pfc_pause: u8,
    pub(super) pfc_resume: u8,
    /// Classes of which a credit update is to be sent upstream.
    pub(super) credit_due: u8,
    /// Class served last, for round robin.
    pub(super) turn: u8,
    /// Times on the wire are cut to whole nanoseconds.
    cut_to_ns: bool,
}

impl Egress {
    pub(crate) fn new(port: &Port) -> Self {
        Self {
            busy_until: 0,
            delay: port.delay.as_ps(),
            cut: u64::MAX,
            rate: port.rate,
            ps_per_byte: port.rate.exact_ps_per_byte().unwrap_or(0),
            peer: port.peer,
            place: Place::default(),
            detector: 0,
            calm: u32::MAX,
            peer_port: port.peer_port,
            waiting: 0,
            paused: 0,
            pfc_pause: 0,
            pfc_resume: 0,
            credit_due: 0,
            turn: 0,
            cut_to_ns: false,
        }
    }

    /// The same for frames that leave at another rate than at first, `nominal`: what comes slower than the peer sends it stores first.
    pub(crate) fn at_rate(self, rate: Rate, nominal: &Self) -> Self {
        let cut = if rate < nominal.rate { u64::MAX } else { nominal.cut };
        Self { rate, ps_per_byte: self.whole_ps(rate), cut, ..self }
    }

    /// Times on the wire are those of this clock.
    pub(crate) fn keep_time(&mut self, clock: Clock) {
        self.cut_to_ns = clock == Clock::Ns3;
        self.ps_per_byte = self.whole_ps(self.rate);
    }

    /// Picoseconds per byte, where that is whole and times on the wire are not cut; else 0.
    fn whole_ps(&self, rate: Rate) -> u32 {
        rate.exact_ps_per_byte().filter(|_| !self.cut_to_ns).unwrap_or(0)
    }

    /// The link is down: the port is busy for ever, and owes the other end nothing.
    pub(crate) const fn shut(&mut self) {
        self.busy_until = u64::MAX;
        self.pfc_pause = 0;
        self.pfc_resume = 0;
    }

    /// The link is up again, and free from then on.
    pub(crate) const fn open(&mut self, free: u64) {
        self.busy_until = free;
    }

    /// A PFC frame for these classes is to be sent.
    pub(crate) const fn owe_pfc(&mut self, pause: u8, resume: u8) {
        self.pfc_pause = (self.pfc_pause & !resume) | pause;
        self.pfc_resume = (self.pfc_resume & !pause) | resume;
    }

    /// The peer forwards frames when their first `header` bytes are in.
    pub(crate) fn cut_through(&mut self, header: Bytes) {
        self.cut = self.rate.serialize(header).as_ps();
    }

    /// Occupies the wire from `now` for a frame of `size` bytes; returns when the peer may forward the frame.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is a few instructions on the path of every packet")]
    pub(crate) fn occupy(&mut self, now: u64, size: u16) -> u64 {
        let wire = self.wire_time(size);
        self.busy_until = now + wire;
        now + wire.min(self.cut) + self.delay
    }

    /// The same for a frame of the link itself: returns when it has arrived completely.
    pub(crate) fn occupy_whole(&mut self, now: u64, size: u16) -> u64 {
        self.busy_until = now + self.wire_time(size);
        self.busy_until + self.delay
    }

    /// Picoseconds from a frame's first bit on the wire until the other end knows of it ([`Packet::time`](crate::packet::Packet)).
    pub(crate) fn until_known(&self, size: u16, of_the_link: bool) -> u64 {
        let wire = self.wire_time(size);
        self.delay + if of_the_link { wire } else { wire.min(self.cut) }
    }

    /// Picoseconds that a frame of `size` bytes occupies the wire.
    #[inline]
    pub(crate) fn wire_time(&self, size: u16) -> u64 {
        match self.ps_per_byte {
            0 => self.serialize_exactly(size),
            ps => u64::from(ps) * u64::from(size),
        }
    }

    /// Rates at which a byte is no whole number of picoseconds, and clocks of whole nanoseconds.
    #[cold]
    #[inline(never)]
    fn serialize_exactly(&self, size: u16) -> u64 {
        let exact = self.rate.serialize(Bytes::new(u64::from(size))).as_ps();
        if self.cut_to_ns { exact - exact % 1000 } else { exact }
    }

    /// Whether a frame of the flow control is to be sent.
    #[inline]
    pub(crate) const fn owes_frame(&self) -> bool {
        self.pfc_pause | self.pfc_resume | self.credit_due != 0
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    /// The wire is taken until then, if it was not for longer.
    pub(crate) fn wait_until(&mut self, time: u64) {
        self.busy_until = self.busy_until.max(time);
    }

    /// How long a bit takes to the other end.
    pub(crate) const fn delay(&self) -> Span {
        Span::from_ps(self.delay)
    }

    /// When the frame on the wire has left completely.
    #[inline]
    pub(crate) const fn busy_until(&self) -> u64 {
        self.busy_until
    }

    /// The classes of which packets wait: a bit each.
    #[inline]
    pub(crate) const fn waiting(&self) -> u8 {
        self.waiting
    }

    /// The classes whose gate is closed: a bit each.
    #[inline]
    pub(crate) const fn paused(&self) -> u8 {
        self.paused
    }

    /// Packets of a class wait.
    #[inline]
    pub(crate) const fn set_waiting(&mut self, class: u8) {
        self.waiting |= 1 << class;
    }

    /// No packets of a class wait any more.
    #[inline]
    pub(crate) const fn clear_waiting(&mut self, class: u8) {
        self.waiting &= !(1 << class);
    }

    /// Whether the frame that is to be sent first is a credit update.
    #[inline]
    pub(crate) const fn owes_credit(&self) -> bool {
        self.credit_due != 0
    }

    /// The class served last.
    #[inline]
    pub(crate) const fn turn(&self) -> u8 {
        self.turn
    }

    /// The detector of this number looks at the port: at queues that are not shorter than `from`.
    pub(crate) fn watch(&mut self, detector: u16, from: u64) {
        self.detector = detector;
        self.calm = from.min(u64::from(u32::MAX)) as u32;
    }

    /// What [`Self::watch`] was told.
    pub(super) const fn watched(&self) -> (u16, u32) {
        (self.detector, self.calm)
    }

    /// Queues that are not shorter than `from` are to be looked at, too.
    pub(crate) fn watch_from(&mut self, from: u32) {
        self.calm = self.calm.min(from);
    }

    /// The node at the other end.
    pub(crate) const fn peer(&self) -> u32 {
        self.peer
    }

    /// Where the engine keeps it.
    pub(crate) const fn place(&self) -> Place {
        self.place
    }

    pub(crate) const fn peer_port(&self) -> u16 {
        self.peer_port
    }

    /// The number of its detector among those of the world.
    #[inline]
    pub(crate) const fn detector(&self) -> u16 {
        self.detector
    }
}

/// Picks the class that sends: class 0 (control) strictly first, then by `turn` or by order. `ready` is not 0.
#[inline]
pub(crate) const fn pick(ready: u8, turn: u8, round_robin: bool) -> u8 {
    if ready & 1 != 0 || !round_robin {
        return ready.trailing_zeros() as u8;
    }
    // The first ready class after `turn`, wrapping.
    let after = ready & (!0u8).unbounded_shl(turn as u32 + 1);
    if after != 0 { after.trailing_zeros() as u8 } else { ready.trailing_zeros() as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_cache_line() {
        assert_eq!(size_of::<Egress>(), 64);
    }

    #[test]
    fn round_robin_serves_the_ready_classes_in_turn_and_control_always_first() {
        assert_eq!(pick(0b0110, 1, true), 2);
        assert_eq!(pick(0b0110, 2, true), 1);
        assert_eq!(pick(0b0100, 2, true), 2);
        assert_eq!(pick(0b0111, 1, true), 0);
        assert_eq!(pick(0b1000_0010, 7, true), 1);
        assert_eq!(pick(0b0110, 1, false), 1);
    }
}
