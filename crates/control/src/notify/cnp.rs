//! When a receiver sends a congestion notification packet (CNP), and which of UE and CE it carries.
//!
//! Reference: DCQCN (SIGCOMM 2015) §3.1, the NP algorithm; TCD (SIGCOMM 2021) §5.2.1 (CE wins over UE); the grid
//! is that of ns3-rdma and of the TCD authors' ns-3 release. Each mark: the backward notification (BECN) of the InfiniBand
//! Architecture Specification vol. 1, Annex A10, as in the authors' flit-level model.
//!
//! ```text
//!   Grid        │first packet    │               │               │    slots for ever; one CNP at the end of a
//!               └ slot 50 µs ────┴───────────────┴───────────────┘    slot in which a marked packet came
//!   FirstMark       ▼ marked: CNP at once  ▼ marked          ▼ CNP
//!                   └──────── 50 µs ───────────────┘ CNP     at least 50 µs between two
//!   EachMark        ▼ CE: CNP(CE)   ▼ UE: CNP(UE)   ▼ ▼ ▼      one for each, at once, none summed up
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | interval | ps | 50 µs; none with each-mark | DCQCN paper; TCD authors' configuration |
//! | mode | – | grid; each-mark on InfiniBand | TCD authors' release; first-mark is the DCQCN paper |
//! | fraction | 1 | 0 (0.95 with NP-ECN); none with each-mark | DCQCN paper: any mark counts / PCN (NSDI 2020), TCD §7 |
//!
//! CE is reported for a slot if at least one packet and at least the share `fraction` of all the flow's packets of that
//! slot carried it, else UE if one carried that, else nothing. Slots are
//!
//! - grid: (k·interval, (k+1)·interval] from the flow's first packet on, which is a slot by itself. A packet at a
//!   boundary belongs to the slot that ends there if that one is to be evaluated, else to the next.
//! - first-mark: as long as the interval. A slot begins with a CNP, or else with the first packet after the end of
//!   the one before. It is evaluated at its first mark, unless a CNP left less than the interval ago; if that sends
//!   nothing, and for every later mark, at its end.
//!
//! With each-mark there are no slots: every marked packet is answered at once with its own code point. An interval or a
//! fraction has no meaning then and is refused. With advice (PCN) the rules are those of `advice.rs`.
//!
//! Known deviations: the grid's evaluations of slots without a mark send nothing and are therefore not armed. The
//! fraction is rounded to a millionth, so that 19 of 20 packets are 95 % exactly.
use backwater_units::{Span, Time};

use crate::{CodePoint, ConfigError, error::require};

/// When CNPs may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Only at the ends of slots that are counted from the flow's first packet (which is evaluated at once).
    Grid,
    /// At the first marked packet, then not before `interval` has passed.
    FirstMark,
    /// At every marked packet, with the packet's own code point (BECN).
    EachMark,
    /// At the end of each slot in which a packet came, with the rate at which they came: see [`super::Advice`].
    Advice,
}

/// Parameters of the notification point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotifyConfig {
    /// Least time between two CNPs of a flow; zero with [`Mode::EachMark`].
    pub interval: Span,
    /// When they leave.
    pub mode: Mode,
    /// Least share of a slot's packets that must carry CE for CE to be reported; 0: any. Zero with [`Mode::EachMark`].
    pub fraction: f64,
}

/// Parts of the whole in which shares are compared.
const PPM: f64 = 1e6;

impl NotifyConfig {
    /// The TCD authors' release: 50 µs grid.
    pub const fn authors() -> Self {
        Self { interval: Span::from_us(50), mode: Mode::Grid, fraction: 0.0 }
    }
    /// The DCQCN paper: at once, then at most one in 50 µs.
    pub const fn standard() -> Self {
        Self { interval: Span::from_us(50), mode: Mode::FirstMark, fraction: 0.0 }
    }
    /// InfiniBand: one CNP (BECN) for every marked packet, nothing summed up (authors' flit-level model).
    pub const fn each_mark() -> Self {
        Self { interval: Span::ZERO, mode: Mode::EachMark, fraction: 0.0 }
    }
    /// Refuses an interval of zero and a fraction that is none; with [`Mode::EachMark`], either of them at all.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if self.mode == Mode::EachMark {
            require(
                self.interval == Span::ZERO,
                "cnp-interval",
                self.interval,
                "0ps with np = \"each-mark\"",
                "leave it out: every marked packet is answered at once",
            )?;
            return require(
                self.fraction == 0.0,
                "np-fraction",
                self.fraction,
                "0 with np = \"each-mark\"",
                "leave it out, or use np = \"grid\": a share needs a period to be a share of",
            );
        }
        require(
            self.interval > Span::ZERO,
            "cnp-interval",
            self.interval,
            "longer than 0ps",
            "DCQCN uses 50us",
        )?;
        require(
            (0.0..=1.0).contains(&self.fraction),
            "np-fraction",
            self.fraction,
            "a share, 0 to 1",
            "write 95 % as 0.95; 0 reports every mark",
        )
    }
}

/// What the caller has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing.
    Nothing,
    /// Send a CNP with this code point (UE or CE) now.
    Send(CodePoint),
    /// Call [`Notify::on_timer`] (with [`Mode::Advice`]: [`Notify::advise`]) at this instant, which lies in the future; no other timer is
    /// pending.
    Arm(Time),
}

/// What the receiver remembers about one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Notify {
    /// Grid and advice: the flow's first packet. `FirstMark`: the earliest instant of the next CNP. `MAX`: no packet yet.
    pub(super) anchor: Time,
    /// End of the slot whose packets are counted. Kept only where a fraction asks for it. Advice: the latest packet.
    #[cfg_attr(feature = "snapshot", borsh(serialize_with = "backwater_units::relative::once_time"))]
    pub(super) slot_end: Time,
    /// Advice: the time between two packets, smoothed.
    pub(super) between: Span,
    /// Packets of the slot. Counted only where a fraction asks for it.
    pub(super) packets: u32,
    /// Those with CE.
    pub(super) ce: u32,
    /// Advice: bytes of the slot.
    pub(super) bytes: u32,
    /// Whether one carried UE.
    ue: bool,
    /// Whether the end of the slot will be evaluated.
    pub(super) armed: bool,
}

impl Default for Notify {
    fn default() -> Self {
        Self {
            anchor: Time::MAX,
            slot_end: Time::ZERO,
            between: Span::ZERO,
            packets: 0,
            ce: 0,
            bytes: 0,
            ue: false,
            armed: false,
        }
    }
}

impl Notify {
    /// A data packet of the flow arrived, of `size` bytes on the wire.
    #[inline]
    pub fn on_packet(&mut self, config: &NotifyConfig, now: Time, code: CodePoint, size: u32) -> Action {
        if matches!(config.mode, Mode::EachMark | Mode::Advice) {
            return if config.mode == Mode::Advice {
                self.count_arrival(config, now, code, size)
            } else if code.is_marked() {
                Action::Send(code)
            } else {
                Action::Nothing
            };
        }
        let first = self.anchor == Time::MAX;
        if first {
            self.anchor = now;
        }
        if config.fraction > 0.0 {
            self.count(config, now, first);
        }
        if code.is_marked() { self.on_marked(config, now, code, first) } else { Action::Nothing }
    }

    /// Counts a packet into its slot. Slots follow each other without timers: a packet that comes after the end of the
    /// present one opens the next.
    fn count(&mut self, config: &NotifyConfig, now: Time, first: bool) {
        if !self.armed && now >= self.slot_end {
            self.packets = 0;
            self.slot_end = match config.mode {
                Mode::FirstMark => now.saturating_add(config.interval),
                Mode::Grid if first => now,
                Mode::Grid | Mode::EachMark | Mode::Advice => self.grid_end(config, now),
            };
        }
        self.packets = self.packets.saturating_add(1);
    }

    /// End of the grid's slot in which `now` lies.
    pub(super) fn grid_end(&self, config: &NotifyConfig, now: Time) -> Time {
        let slots = now.since(self.anchor).as_ps() / config.interval.as_ps() + 1;
        self.anchor.saturating_add(Span::from_ps(slots.saturating_mul(config.interval.as_ps())))
    }

    fn on_marked(&mut self, config: &NotifyConfig, now: Time, code: CodePoint, first: bool) -> Action {
        if code == CodePoint::Congestion {
            self.ce = self.ce.saturating_add(1);
        } else {
            self.ue = true;
        }
        if self.armed {
            return Action::Nothing;
        }
        let at_once = first || (config.mode == Mode::FirstMark && now >= self.anchor);
        if at_once && let Some(code) = self.evaluate(config, now) {
            return Action::Send(code);
        }
        self.armed = true;
        Action::Arm(match config.mode {
            Mode::FirstMark => self.anchor.max(self.slot_end),
            Mode::Grid | Mode::EachMark | Mode::Advice => self.grid_end(config, now),
        })
    }

    /// Whether enough of the slot's packets carried CE.
    pub(super) fn is_congested(&self, config: &NotifyConfig) -> bool {
        let needed = u64::from(self.packets) * (config.fraction * PPM + 0.5) as u64;
        self.ce > 0 && u64::from(self.ce) * PPM as u64 >= needed
    }

    /// What the slot has to report; if anything, it ends here.
    fn evaluate(&mut self, config: &NotifyConfig, now: Time) -> Option<CodePoint> {
        let report = if self.is_congested(config) {
            CodePoint::Congestion
        } else if self.ue {
            CodePoint::Undetermined
        } else {
            return None;
        };
        (self.packets, self.ce, self.ue) = (0, 0, false);
        if config.mode == Mode::FirstMark {
            self.anchor = now.saturating_add(config.interval);
            self.slot_end = self.anchor;
        }
        Some(report)
    }

    /// The armed instant has come: the code point of the CNP to send now.
    pub fn on_timer(&mut self, config: &NotifyConfig, now: Time) -> Option<CodePoint> {
        self.armed = false;
        let report = self.evaluate(config, now);
        (self.packets, self.ce, self.ue) = (0, 0, false);
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CodePoint::{Capable, Congestion, Undetermined};

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn the_grid_of_a_flow_starts_at_its_first_packet_and_ignores_when_marks_come() {
        let (config, mut np) = (NotifyConfig::authors(), Notify::default());
        assert_eq!(np.on_packet(&config, us(7), Capable, 1_000), Action::Nothing);
        assert_eq!(np.on_packet(&config, us(120), Undetermined, 1_000), Action::Arm(us(157)));
        assert_eq!(np.on_packet(&config, us(130), Congestion, 1_000), Action::Nothing);
        assert_eq!(np.on_packet(&config, us(140), Undetermined, 1_000), Action::Nothing);
        assert_eq!(np.on_timer(&config, us(157)), Some(Congestion));
        assert_eq!(np.on_packet(&config, us(157), Undetermined, 1_000), Action::Arm(us(207)));
        assert_eq!(np.on_timer(&config, us(207)), Some(Undetermined));
    }

    #[test]
    fn a_marked_first_packet_is_notified_at_once() {
        for config in [NotifyConfig::authors(), NotifyConfig::standard()] {
            let mut np = Notify::default();
            assert_eq!(np.on_packet(&config, us(3), Congestion, 1_000), Action::Send(Congestion));
            assert_eq!(np.on_packet(&config, us(4), Congestion, 1_000), Action::Arm(us(53)));
        }
    }

    #[test]
    fn first_mark_sends_at_once_after_a_quiet_time_and_then_at_most_one_cnp_in_50_us() {
        let (config, mut np) = (NotifyConfig::standard(), Notify::default());
        assert_eq!(np.on_packet(&config, us(0), Capable, 1_000), Action::Nothing);
        assert_eq!(np.on_packet(&config, us(10), Undetermined, 1_000), Action::Send(Undetermined));
        assert_eq!(np.on_packet(&config, us(20), Congestion, 1_000), Action::Arm(us(60)));
        assert_eq!(np.on_timer(&config, us(60)), Some(Congestion));
        assert_eq!(np.on_packet(&config, us(61), Undetermined, 1_000), Action::Arm(us(110)));
        assert_eq!(np.on_timer(&config, us(110)), Some(Undetermined));
        assert_eq!(np.on_packet(&config, us(300), Congestion, 1_000), Action::Send(Congestion));
    }

    #[test]
    fn a_mark_at_the_instant_of_the_timer_joins_its_cnp() {
        let (config, mut np) = (NotifyConfig::standard(), Notify::default());
        np.on_packet(&config, us(10), Undetermined, 1_000);
        assert_eq!(np.on_packet(&config, us(20), Undetermined, 1_000), Action::Arm(us(60)));
        assert_eq!(np.on_packet(&config, us(60), Congestion, 1_000), Action::Nothing);
        assert_eq!(np.on_timer(&config, us(60)), Some(Congestion));
    }

    #[test]
    fn a_flow_that_is_never_marked_arms_no_timer() {
        for config in [NotifyConfig::authors(), NotifyConfig::each_mark()] {
            let mut np = Notify::default();
            assert!((0..1000).all(|t| np.on_packet(&config, us(t), Capable, 1_000) == Action::Nothing));
            assert_eq!(np.on_packet(&config, us(1000), CodePoint::NotCapable, 1_000), Action::Nothing);
        }
    }

    #[test]
    fn on_infiniband_every_marked_packet_is_answered_at_once_with_its_own_code_point() {
        let (config, mut np) = (NotifyConfig::each_mark(), Notify::default());
        let codes = [Capable, Congestion, Undetermined, Undetermined, Capable, Congestion, Congestion];
        let sent = codes.map(|code| np.on_packet(&config, us(5), code, 1_000));
        let expected = codes.map(|code| if code == Capable { Action::Nothing } else { Action::Send(code) });
        assert_eq!(sent, expected);
        assert_eq!(np, Notify::default());
    }

    #[test]
    fn an_answer_to_every_mark_has_no_interval_and_no_share() {
        let each = NotifyConfig::each_mark();
        assert_eq!(each.validate(), Ok(()));
        let refused = |config: NotifyConfig| config.validate().unwrap_err().parameter;
        assert_eq!(refused(NotifyConfig { interval: Span::from_us(50), ..each }), "cnp-interval");
        assert_eq!(refused(NotifyConfig { fraction: 0.95, ..each }), "np-fraction");
        assert_eq!(
            refused(NotifyConfig { interval: Span::ZERO, ..NotifyConfig::standard() }),
            "cnp-interval"
        );
    }
}
