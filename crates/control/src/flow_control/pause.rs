//! PFC on a real link: PAUSEs of limited length that are renewed at half of it, the gate that obeys them and opens by itself,
//! and the watchdog for a peer that never resumes.
//!
//! Reference: IEEE 802.1Q-2018 clause 36 and annex O; IEEE 802.3-2018 annex 31B (quanta); the watchdog is `pfcwd` of `SONiC`.
//!
//! ```text
//!   downstream  above Xoff, none in force ─▶ PAUSE(t) ─ every t/2 ─▶ PAUSE(t) … at or below Xon ─▶ RESUME (time 0)
//!   upstream    open ──PAUSE(t)──▶ closed until now + t ──RESUME, or t is over──▶ open
//!                                    │ closed for `detect` with frames waiting
//!                                    └──────▶ storm: open, PAUSEs are not obeyed ──none for `restore`──▶ open, obeyed again
//! ```
//! A PAUSE that lasts until its RESUME stands for all those that keep it up on a real link, where none lasts longer than 65 535 quanta. It
//! counts as renewed until the RESUME. That is how both plug-ins of `pfcwd` (sonic-swss, orchagent) see a PAUSE that is kept up:
//! `pfc_restore.lua` starts anew with each PFC frame that has been counted (commit 6f1cfd06), and `pfc_restore_cisco-8000.lua` as long
//! as the queue's PAUSE status is true (commit 70c3525e).
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | Xoff, Xon | B | 800 000, 770 000 | TCD (SIGCOMM 2021) §5.1.1, its testbed |
//! | quanta | 512 bit times | 65 535 | IEEE 802.1Q: the largest; renewed long before it ends |
//! | detect, restore | ps | none: no watchdog | IEEE 802.1Q has none; who wants one takes `SONiC`'s 200 ms, 200 ms |
//!
//! Known deviations: the simulator takes the watchdog from here, with the gate that it looks after, and [`quanta_span`] for storms. Its own
//! PAUSEs have another [`Form`](super::Form), that of the TCD authors' release or the ideal one.
use backwater_units::{Rate, Span, Time};

use super::Decision;
use crate::ConfigError;
use crate::error::require;

/// Bits in one quantum of a PAUSE.
pub const QUANTUM_BITS: u64 = 512;

/// How long `quanta` are at `rate`, rounded up.
pub const fn quanta_span(rate: Rate, quanta: u16) -> Span {
    let ps = QUANTUM_BITS as u128 * quanta as u128 * backwater_units::PS_PER_S as u128;
    let bps = rate.as_bps();
    if bps == 0 { Span::ZERO } else { Span::from_ps(ps.div_ceil(bps as u128) as u64) }
}

/// When one ingress priority holds back the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PauseConfig {
    /// PAUSE above this many bytes.
    pub xoff_bytes: u64,
    /// RESUME at or below this many.
    pub xon_bytes: u64,
    /// How long one PAUSE lasts: its quanta at the rate of the link.
    pub pause: Span,
}

impl PauseConfig {
    /// Refuses an Xon above Xoff, and a PAUSE of no length (which is a RESUME).
    pub fn validate(&self) -> Result<(), ConfigError> {
        let xon = backwater_units::Bytes::new(self.xon_bytes);
        require(self.xon_bytes <= self.xoff_bytes, "xon", xon, "at most xoff", "raise xoff or lower xon")?;
        let fix = "65535 quanta are the most, and usual";
        require(self.pause > Span::ZERO, "pause", self.pause, "longer than 0ps", fix)
    }
}

/// The bytes of one ingress priority, and whether a PAUSE for them is in force.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseIngress {
    /// Held now.
    pub bytes: u64,
    /// When the PAUSE in force is to be renewed.
    pub renew_at: Time,
    /// Whether one is in force.
    pub holding: bool,
}

impl PauseIngress {
    /// A frame of `bytes` came into the buffer.
    #[inline]
    pub fn on_arrival(&mut self, config: &PauseConfig, now: Time, bytes: u32) -> Decision {
        self.bytes += u64::from(bytes);
        if self.holding || self.bytes <= config.xoff_bytes {
            Decision::Nothing
        } else {
            self.pause(config, now)
        }
    }

    /// A frame of `bytes` left it. More than there are leaves none.
    #[inline]
    pub fn on_departure(&mut self, config: &PauseConfig, bytes: u32) -> Decision {
        self.bytes = self.bytes.saturating_sub(u64::from(bytes));
        if !self.holding || self.bytes > config.xon_bytes {
            return Decision::Nothing;
        }
        self.holding = false;
        Decision::Resume
    }

    /// Time passes: a PAUSE in force is sent again at half of its length.
    #[inline]
    pub fn on_time(&mut self, config: &PauseConfig, now: Time) -> Decision {
        if self.holding && now >= self.renew_at { self.pause(config, now) } else { Decision::Nothing }
    }

    fn pause(&mut self, config: &PauseConfig, now: Time) -> Decision {
        self.holding = true;
        self.renew_at = now.saturating_add(Span::from_ps(config.pause.as_ps() / 2));
        Decision::Pause
    }
}

/// What happened to a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GateChange {
    /// Nothing.
    Same = 0,
    /// An OFF period has ended: tell the detector.
    Opened = 1,
    /// An OFF period begins.
    Closed = 2,
}

/// The gate of one egress priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct PauseGate {
    /// When the pause ends by itself; [`Time::MAX`]: it lasts until RESUME.
    pub opens_at: Time,
    /// Begin of the OFF period.
    pub closed_since: Time,
    /// The last PAUSE, obeyed or not.
    pub last_pause: Time,
    /// Whether nothing may be sent.
    pub closed: bool,
    /// Whether PAUSEs are not obeyed because one never ended.
    pub storm: bool,
}

/// What the watchdog found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StormChange {
    /// Nothing.
    Same = 0,
    /// The gate was closed for too long; it is open now and stays so.
    Begins = 1,
    /// No PAUSE has come for long enough: they are obeyed again.
    Ends = 2,
}

/// The PFC watchdog of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// A gate that is closed for so long with frames behind it is in a storm; zero: there is no watchdog.
    pub detect: Span,
    /// A storm is over when no PAUSE has come for so long.
    pub restore: Span,
}

impl PauseGate {
    /// A PAUSE of length `lasts` arrived; zero is a RESUME.
    #[inline]
    pub fn on_pause(&mut self, now: Time, lasts: Span) -> GateChange {
        if lasts > Span::ZERO {
            self.last_pause = now;
        }
        if lasts == Span::ZERO && self.opens_at == Time::MAX {
            // It was renewed until now.
            self.last_pause = now;
        }
        self.opens_at = now.saturating_add(lasts);
        if self.storm {
            return GateChange::Same;
        }
        if lasts == Span::ZERO {
            return self.open();
        }
        if self.closed {
            return GateChange::Same;
        }
        (self.closed, self.closed_since) = (true, now);
        GateChange::Closed
    }

    /// Time passes: a pause ends by itself.
    #[inline]
    pub fn on_time(&mut self, now: Time) -> GateChange {
        if self.closed && now >= self.opens_at { self.open() } else { GateChange::Same }
    }

    fn open(&mut self) -> GateChange {
        if core::mem::take(&mut self.closed) { GateChange::Opened } else { GateChange::Same }
    }

    /// Looks for a peer that never resumes; `waiting`: frames are queued behind the gate.
    pub fn watch(&mut self, watchdog: &Watchdog, now: Time, waiting: bool) -> StormChange {
        if self.storm {
            if self.opens_at == Time::MAX || now.since(self.last_pause) < watchdog.restore {
                return StormChange::Same;
            }
            self.storm = false;
            return StormChange::Ends;
        }
        let armed = watchdog.detect > Span::ZERO && self.closed && waiting;
        if !armed || now.since(self.closed_since) < watchdog.detect {
            return StormChange::Same;
        }
        (self.storm, self.closed) = (true, false);
        StormChange::Begins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    fn config() -> PauseConfig {
        // 65 535 quanta at 10 Gbps: 51.2 ns each, 3.355392 ms
        PauseConfig {
            xoff_bytes: 800_000,
            xon_bytes: 770_000,
            pause: quanta_span(Rate::from_gbps(10), 65_535),
        }
    }

    #[test]
    fn a_quantum_is_512_bit_times() {
        assert_eq!(quanta_span(Rate::from_gbps(10), 1), Span::from_ps(51_200));
        assert_eq!(quanta_span(Rate::from_gbps(1), 65_535), Span::from_ps(33_553_920_000));
        assert_eq!(quanta_span(Rate::ZERO, 1), Span::ZERO);
    }

    #[test]
    fn a_full_buffer_pauses_once_renews_at_half_time_and_resumes_at_xon() {
        let (config, mut ingress) = (config(), PauseIngress::default());
        assert_eq!(ingress.on_arrival(&config, us(0), 800_000), Decision::Nothing);
        assert_eq!(ingress.on_arrival(&config, us(10), 1), Decision::Pause);
        assert_eq!(ingress.on_arrival(&config, us(11), 1_000), Decision::Nothing);
        assert_eq!(ingress.on_time(&config, us(1_687)), Decision::Nothing);
        // 10 µs + 3355.392 µs / 2 = 1687.696 µs
        assert_eq!(ingress.on_time(&config, Time::from_ps(1_687_696_000)), Decision::Pause);
        assert_eq!(ingress.on_departure(&config, 31_000), Decision::Nothing);
        assert_eq!(ingress.on_departure(&config, 1), Decision::Resume);
        assert_eq!(ingress.on_departure(&config, 770_000), Decision::Nothing);
        assert_eq!(ingress, PauseIngress { renew_at: ingress.renew_at, ..PauseIngress::default() });
    }

    #[test]
    fn a_gate_opens_at_the_resume_or_when_the_time_is_over_and_a_renewal_keeps_it_closed() {
        let mut gate = PauseGate::default();
        assert_eq!(gate.on_pause(us(1), Span::ZERO), GateChange::Same);
        assert_eq!(gate.on_pause(us(1), Span::from_us(10)), GateChange::Closed);
        assert_eq!(gate.on_pause(us(6), Span::from_us(10)), GateChange::Same);
        assert_eq!(gate.on_time(us(15)), GateChange::Same);
        assert_eq!(gate.on_time(us(16)), GateChange::Opened);
        assert_eq!(gate.on_time(us(17)), GateChange::Same);
        assert_eq!(gate.on_pause(us(20), Span::from_us(10)), GateChange::Closed);
        assert_eq!(gate.on_pause(us(21), Span::ZERO), GateChange::Opened);
    }

    #[test]
    fn a_peer_that_never_resumes_is_not_obeyed_until_it_is_quiet() {
        let watchdog = Watchdog { detect: Span::from_us(100), restore: Span::from_us(50) };
        let mut gate = PauseGate::default();
        gate.on_pause(us(0), Span::from_ms(1));
        assert_eq!(gate.watch(&watchdog, us(99), true), StormChange::Same);
        assert_eq!(gate.watch(&watchdog, us(100), false), StormChange::Same);
        assert_eq!(gate.watch(&watchdog, us(100), true), StormChange::Begins);
        assert!(!gate.closed);
        assert_eq!(gate.on_pause(us(120), Span::from_ms(1)), GateChange::Same);
        assert_eq!(gate.watch(&watchdog, us(169), true), StormChange::Same);
        assert_eq!(gate.watch(&watchdog, us(170), true), StormChange::Ends);
        assert_eq!(gate.on_pause(us(171), Span::from_ms(1)), GateChange::Closed);
        let none = Watchdog { detect: Span::ZERO, restore: Span::ZERO };
        assert_eq!(gate.watch(&none, us(999_999), true), StormChange::Same);
    }

    #[test]
    fn a_pause_until_resume_counts_as_renewed_until_then() {
        let watchdog = Watchdog { detect: Span::from_us(100), restore: Span::from_us(50) };
        let mut gate = PauseGate::default();
        gate.on_pause(us(0), Span::MAX);
        assert_eq!(gate.watch(&watchdog, us(100), true), StormChange::Begins);
        assert_eq!(gate.watch(&watchdog, us(9_000), true), StormChange::Same);
        assert_eq!(gate.on_pause(us(9_010), Span::ZERO), GateChange::Same);
        assert_eq!(gate.watch(&watchdog, us(9_059), true), StormChange::Same);
        assert_eq!(gate.watch(&watchdog, us(9_060), true), StormChange::Ends);
    }

    #[test]
    fn thresholds_in_the_wrong_order_and_pauses_of_no_length_are_refused() {
        assert_eq!(config().validate(), Ok(()));
        let refused = |config: PauseConfig| config.validate().unwrap_err().parameter;
        assert_eq!(refused(PauseConfig { xon_bytes: 800_001, ..config() }), "xon");
        assert_eq!(refused(PauseConfig { pause: Span::ZERO, ..config() }), "pause");
    }
}
