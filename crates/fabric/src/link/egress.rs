//! The sending side of a link: when it is free, what gates it, where it leads.
use backwater_engine::Place;
use backwater_topology::Port;
use backwater_units::{Bytes, Rate};

/// An egress port. One cache line; the queues stand beside it.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Egress {
    /// When the frame on the wire has left completely.
    pub(crate) busy_until: u64,
    delay: u64,
    /// How much of a frame must be in before the peer may forward it, in picoseconds on this link; more than any frame takes
    /// if the peer stores it first.
    cut: u64,
    rate: Rate,
    /// Picoseconds per byte where that is whole, else 0.
    ps_per_byte: u32,
    /// The node at the other end and where the engine keeps it.
    pub(crate) peer: u32,
    pub(crate) place: Place,
    pub(crate) peer_port: u16,
    /// Its detector among those of the world.
    pub(crate) detector: u16,
    /// A settled detector need not be shown a shorter queue: one more than [`backwater_control::detector::Detector::calm`], 0 to show
    /// it all.
    pub(crate) calm: u32,
    /// Bit per class: packets wait.
    pub(crate) waiting: u8,
    /// Bit per class: the gate is closed.
    pub(crate) paused: u8,
    /// Classes that the next PFC frame pauses and resumes upstream.
    pub(crate) pfc_pause: u8,
    pub(crate) pfc_resume: u8,
    /// Classes of which a credit update is to be sent upstream.
    pub(crate) credit_due: u8,
    /// Classes whose next credit update has its timer set.
    pub(crate) credit_armed: u8,
    /// Class served last, for round robin.
    pub(crate) turn: u8,
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
            credit_armed: 0,
            turn: 0,
        }
    }

    /// The peer forwards frames when their first `header` bytes are in.
    pub(crate) fn cut_through(&mut self, header: Bytes) {
        self.cut = self.rate.serialize(header).as_ps();
    }

    /// Occupies the wire from `now` for a frame of `size` bytes; returns when the peer may forward the frame.
    #[inline]
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

    /// Rates at which a byte is no whole number of picoseconds.
    #[cold]
    #[inline(never)]
    fn serialize_exactly(&self, size: u16) -> u64 {
        self.rate.serialize(Bytes::new(u64::from(size))).as_ps()
    }

    /// Whether a frame of the flow control is to be sent.
    #[inline]
    pub(crate) const fn owes_frame(&self) -> bool {
        self.pfc_pause | self.pfc_resume | self.credit_due != 0
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
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
