//! The ACKs that a target owes one stream: IACKs one by one, DACKs, NACKs, and when each may go in a frame of its own.
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), sections II-A, II-C, II-D, II-G; the authors'
//! public simulator (commit 6ef0eb3) for the triggers and for the mark.
//!
//! ```text
//!   released ─────▶ owed ── every-th, or after a while, or on any data packet ──▶ IACK(acked + 1), marked if congested
//!   accepted while congested ── at once ──▶ DACK(acked), marked                      │  as a frame: DACK(acked) before it
//!   lost ── at once, or as an ACK ──▶ NACK(accepted)                                 ▼
//!   duplicate ──▶ owed: any ACK                                                  acked + 1 ≤ released
//!   suppress: no DACK and no mark until so many IACKs have gone without; skip: two IACKs become one, of the second
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | every | ACKs | 1 | the authors' public simulator has 4; "instantly sent" DACKs (EC paper, section II-D) need 1 |
//! | after | time | 780 ns | the authors' public simulator: 312 cycles |
//! | NACK | | at once | reconstructed; in the authors' simulator it waits as an ACK does |
//! | IACKs per frame | packets | 1 while paced, else all | the authors' public simulator |
//! | ACKs after a NACK | | IACKs | the authors' public simulator; the paper, section II-F: "continues to send DACKs" |
//!
//! An accepted packet turns a NACK that has not been sent into an ACK, as in the authors' simulator.
//!
//! Known deviations: once a trigger has fired, it holds until nothing is owed. While a stream's DACKs are suppressed, none is sent on
//! its own either: an initiator would else never see two IACKs in a row.
use backwater_units::Time;

use super::{AfterNack, Fairness, Sample, Signal, TargetConfig, Triggers};

/// What a frame, or the field of a data packet, says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Everything up to this number is acknowledged.
    pub seq: u32,
    /// Whether the target is congested.
    pub marked: bool,
    /// Whether everything behind `seq` was lost.
    pub nack: bool,
    /// Whether nothing is acknowledged that was not before: a DACK, or a repeat on a data packet.
    pub repeat: bool,
}

/// One stream at its target.
#[expect(clippy::struct_excessive_bools, reason = "independent facts, not one state")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Acks {
    /// The latest that may be acknowledged, the latest that an ACK or, for good, a NACK has acknowledged, and the one that the latest ACK
    /// named: a NACK names some too.
    released: u32,
    acked: u32,
    named: u32,
    /// DACKs owed for packets that a NACK has reported.
    dacks: u32,
    /// Packets accepted, and bytes released, in this period.
    packets: u32,
    bytes: u64,
    suppress: u32,
    skip: u32,
    /// When the oldest of what is owed became so; `MAX` if nothing is.
    since: Time,
    /// When the first unsent IACK was released.
    first: Time,
    /// A DACK is owed because a packet was accepted while congested.
    dack: bool,
    /// Any ACK is owed: a packet was old, or has come after the one that a NACK would have named.
    repeat: bool,
    nack: bool,
    /// A trigger has fired, and not all has been sent.
    flush: bool,
    /// The DACK that goes before the next IACK was sent.
    dacked: bool,
}

impl Default for Acks {
    fn default() -> Self {
        Self::new()
    }
}

impl Acks {
    /// A stream of which nothing was accepted.
    pub const fn new() -> Self {
        Self {
            released: 0,
            acked: 0,
            named: 0,
            dacks: 0,
            packets: 0,
            bytes: 0,
            suppress: 0,
            skip: 0,
            since: Time::MAX,
            first: Time::MAX,
            dack: false,
            repeat: false,
            nack: false,
            flush: false,
            dacked: false,
        }
    }

    /// A packet of the stream was accepted; whether the host is `congested` with it.
    #[inline]
    pub fn on_accepted(&mut self, config: &TargetConfig, congested: bool, now: Time) {
        self.packets = self.packets.saturating_add(1);
        if self.nack {
            self.nack = false;
            self.repeat = true;
        }
        if config.pacing && congested && self.suppress == 0 {
            self.dack = true;
            self.owe(now);
        }
    }

    /// Packet `seq`, of `size` bytes, may be acknowledged; in order.
    #[inline]
    pub fn on_released(&mut self, seq: u32, size: u64, now: Time) {
        self.bytes += size;
        if seq <= self.acked {
            self.dacks += 1;
        } else if self.released == self.acked {
            self.first = now;
        }
        self.released = self.released.max(seq);
        self.owe(now);
    }

    /// An old packet came in.
    pub fn on_duplicate(&mut self, now: Time) {
        self.repeat = true;
        self.owe(now);
    }

    /// A packet was lost, and the initiator is to be notified.
    pub fn on_lost(&mut self, now: Time) {
        self.nack = true;
        self.owe(now);
    }

    fn owe(&mut self, now: Time) {
        self.since = self.since.min(now);
    }

    /// When a frame of its own is to be sent, now or earlier if it is due; none if nothing is owed.
    #[inline]
    pub fn due(&self, config: &TargetConfig, triggers: &Triggers) -> Option<Time> {
        let ready = self.released - self.acked;
        let held = self.held(config, ready);
        let owed = u32::from(self.repeat) + self.dacks + if held.is_some() { 0 } else { ready };
        if self.dack || (self.nack && triggers.nack_at_once) || owed >= triggers.every.max(1) {
            return Some(self.since);
        }
        if owed > 0 || self.nack {
            return Some(if self.flush { self.since } else { self.since.saturating_add(triggers.after) });
        }
        held
    }

    /// Until when the only IACK that could be sent waits for a second one; none if it does not.
    fn held(&self, config: &TargetConfig, ready: u32) -> Option<Time> {
        match config.fairness {
            Fairness::Verbs { hold, .. } if self.skip > 0 && ready == 1 => {
                Some(self.first.saturating_add(hold))
            }
            _ => None,
        }
    }

    /// The next frame of its own; `accepted`: the last packet accepted; whether the host is `congested`.
    pub fn compose(&mut self, config: &TargetConfig, accepted: u32, congested: bool, now: Time) -> Frame {
        if self.nack {
            return self.compose_nack(config, accepted, now);
        }
        let frame = self.acknowledge(config, congested, now);
        self.sent(now);
        frame
    }

    /// What a data packet to the initiator carries.
    pub fn piggyback(&mut self, config: &TargetConfig, congested: bool, now: Time) -> Frame {
        let frame = self.acknowledge(config, congested, now);
        if !self.owes() {
            (self.flush, self.since) = (false, Time::MAX);
        }
        frame
    }

    fn compose_nack(&mut self, config: &TargetConfig, accepted: u32, now: Time) -> Frame {
        self.nack = false;
        if !config.pacing || config.after_nack == AfterNack::Dack {
            // What was released and not acknowledged is acknowledged by this.
            if config.pacing {
                self.dacks += self.released - self.acked;
            }
            self.acked = self.acked.max(accepted);
            self.released = self.released.max(self.acked);
        }
        self.sent(now);
        Frame { seq: accepted, marked: false, nack: true, repeat: false }
    }

    fn acknowledge(&mut self, config: &TargetConfig, congested: bool, now: Time) -> Frame {
        let ready = self.released - self.acked;
        if !config.pacing {
            self.acked = self.released;
            (self.repeat, self.named) = (false, self.acked);
            return Frame { seq: self.acked, marked: false, nack: false, repeat: ready == 0 };
        }
        let mut marked = congested;
        let mut step = self.step(config, ready, now);
        if config.dack == Signal::Frame && step > 0 {
            if congested && self.suppress == 0 && !self.dacked {
                self.dacked = true;
                step = 0;
            } else {
                marked = false;
            }
        }
        if congested && self.suppress > 0 {
            marked = false;
            self.suppress -= u32::from(step > 0);
        }
        if step > 0 {
            self.dacked = false;
            self.skip -= u32::from(self.skip > 0);
            self.acked += step;
            self.first = now;
        } else {
            self.dacks -= u32::from(self.dacks > 0);
        }
        let before = self.named;
        if step > 0 || self.repeat {
            self.named = self.acked;
        }
        self.repeat = false;
        // Any ACK will do, but while congested it must say so.
        self.dack &= congested && !marked && step > 0 && self.suppress == 0;
        Frame { seq: self.named, marked, nack: false, repeat: self.named == before }
    }

    /// Packets that the next IACK covers; 0 if there is none to be sent.
    fn step(&self, config: &TargetConfig, ready: u32, now: Time) -> u32 {
        if self.held(config, ready).is_some_and(|until| now < until) {
            return 0;
        }
        ready.min(if self.skip > 0 { 2 } else { 1 })
    }

    /// After a frame: whatever is still owed is due at once, behind the other streams.
    fn sent(&mut self, now: Time) {
        self.flush = self.owes();
        self.since = if self.flush { now } else { Time::MAX };
    }

    fn owes(&self) -> bool {
        self.nack || self.dack || self.repeat || self.dacks > 0 || self.released > self.acked
    }

    /// A period is over: what the verbs are to do in the next one.
    pub fn judge(&mut self, fairness: &Fairness, sample: &Sample) {
        if let Fairness::Verbs { difference_ppm, strength_ppm, .. } = *fairness {
            (self.suppress, self.skip) = sample.verbs(self.packets, difference_ppm, strength_ppm);
        }
        (self.packets, self.bytes) = (0, 0);
    }

    /// Packets accepted in this period.
    #[inline]
    pub const fn packets(&self) -> u32 {
        self.packets
    }

    /// Bytes released in this period: the ordered list takes the stream with the fewest first.
    #[inline]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}
