//! DCQCN as the HPCC simulator has it ("mlx"): CNPs are gathered and acted upon by a periodic check.
//!
//! Reference: alibaba-edu/High-Precision-Congestion-Control, the simulator of Li et al.: HPCC (SIGCOMM 2019), its
//! congestion control mode 1, which models a ConnectX-4.
//!
//! ```text
//!   first CNP ─▶ α := 1, Rt := Rc, no cut; both periodic checks start
//!   α check       CNP in the slot: α := (1−g)α + g        none: α := (1−g)α
//!   decrease      CNP since the last cut: Rt := Rc (*), Rc := Rc(1 − α/2), count := 0, increase timer restarts
//!   check         (*) unless the target is not clamped and no increase came since the last cut
//!   increase      Rt += 0 (count < F), RAI (= F), RHAI (> F), at most line;  Rc := (Rc+Rt)/2;  count += 1
//! ```
//! | symbol | unit | default | source (`run.py --cc dcqcn`) |
//! |---|---|---|---|
//! | α initial | 1 | 1 | fixed in the source |
//! | g | 1 | 1/256 | `EWMA_GAIN` |
//! | α timer | ps | 1 µs | `ALPHA_RESUME_INTERVAL` |
//! | decrease interval | ps | 4 µs | `RATE_DECREASE_INTERVAL` |
//! | rate timer | ps | 300 µs | `RP_TIMER` |
//! | F | – | 1 | `FAST_RECOVERY_TIMES` |
//! | RAI | bit/s | 5 Mbps at 25G, in proportion | `RATE_AI` |
//! | RHAI | bit/s | 50 Mbps at 25G, in proportion | `RATE_HAI` |
//! | Rmin | bit/s | 1 Gbps (100 Mbps in the example) | `MIN_RATE` |
//! | clamp target | – | no | `CLAMP_TARGET_RATE` |
//! | on UE | – | timer-hold | the simulator knows no UE; TCD §5.2: a sender keeps its rate, and does not update it |
//!
//! Known deviations: the mean of Rc and Rt is rounded up by a bit/s, so that Rc reaches line rate and the increase
//! timer can rest. An increase due together with a check comes first, as it does in the simulator if the rate timer is
//! the longer one. The periodic checks are evaluated only when a CNP or a cut needs them, α in closed form. A CNP at
//! the very instant of a check or of a slot's end counts for the next one, unless `cnps_first`.
use backwater_units::{Rate, Span, Time};

use super::{Controller, OnUe, Pacer, power};
use crate::{CodePoint, ConfigError, error::require};

/// The simulator runs the decrease check just after the α update of the same instant.
const AFTER_ALPHA: Span = Span::from_ns(1);

/// Parameters of [`DcqcnHpcc`]; see the table above for sources.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcqcnHpccConfig {
    /// α at the first CNP.
    pub alpha_initial: f64,
    /// Weight of a slot with CNPs in α.
    pub g: f64,
    /// Length of a slot.
    pub alpha_timer: Span,
    /// Time between two decrease checks.
    pub decrease_interval: Span,
    /// Time from a cut to an increase and between increases.
    pub rate_timer: Span,
    /// F: increases that leave the target alone.
    pub fast_recovery: u32,
    /// RAI.
    pub rate_ai: Rate,
    /// RHAI.
    pub rate_hai: Rate,
    /// Rmin.
    pub min_rate: Rate,
    /// Every cut sets the target to the rate before it.
    pub clamp_target: bool,
    /// Reaction to UE.
    pub on_ue: OnUe,
    /// A CNP at the very instant at which a slot ends counts for it: where times are whole nanoseconds the two often coincide, and ns-3 runs
    /// what it scheduled first. A CNP is under way for longer than a slot of 1 µs lasts.
    pub cnps_first: bool,
}

impl DcqcnHpccConfig {
    /// `run.py --cc dcqcn` of the HPCC simulator for hosts whose links run at `line`.
    pub fn hpcc(line: Rate) -> Self {
        let at_25g = |mbps: u64| {
            let bps = u128::from(line.as_bps()) * u128::from(mbps) / 25_000;
            Rate::from_bps((bps as u64).max(1))
        };
        Self {
            alpha_initial: 1.0,
            g: 1.0 / 256.0,
            alpha_timer: Span::from_us(1),
            decrease_interval: Span::from_us(4),
            rate_timer: Span::from_us(300),
            fast_recovery: 1,
            rate_ai: at_25g(5),
            rate_hai: at_25g(50),
            min_rate: Rate::from_gbps(1),
            clamp_target: false,
            on_ue: OnUe::TimerHold,
            cnps_first: false,
        }
    }

    /// `run.py --cc dcqcn_paper`: the periods of the DCQCN paper in the same machine.
    pub fn hpcc_paper(line: Rate) -> Self {
        Self {
            alpha_timer: Span::from_us(50),
            decrease_interval: Span::from_us(50),
            rate_timer: Span::from_us(55),
            ..Self::hpcc(line)
        }
    }

    /// Refuses parameters for which the algorithm is not defined.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let long = "longer than 0ps";
        require(
            (0.0..=2.0).contains(&self.alpha_initial),
            "alpha-initial",
            self.alpha_initial,
            "0 to 2 (the cut is 1 - alpha/2)",
            "the HPCC simulator uses 1",
        )?;
        require(
            self.g > 0.0 && self.g <= 1.0,
            "g",
            self.g,
            "above 0 and at most 1",
            "DCQCN uses 0.00390625",
        )?;
        require(
            self.alpha_timer > Span::ZERO,
            "alpha-timer",
            self.alpha_timer,
            long,
            "HPCC's run.py uses 1us",
        )?;
        let interval = self.decrease_interval;
        require(interval > Span::ZERO, "decrease-interval", interval, long, "HPCC's run.py uses 4us")?;
        require(
            self.rate_timer > Span::ZERO,
            "rate-timer",
            self.rate_timer,
            long,
            "HPCC's run.py uses 300us",
        )?;
        require(
            self.rate_ai > Rate::ZERO,
            "rate-ai",
            self.rate_ai,
            "above 0bps",
            "HPCC's run.py uses 20Mbps at 100G",
        )?;
        require(
            self.min_rate > Rate::ZERO,
            "min-rate",
            self.min_rate,
            "above 0bps",
            "HPCC's run.py uses 1Gbps",
        )
    }
}

/// Reaction point of one flow.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct DcqcnHpcc {
    pacer: Pacer,
    /// The earlier of `check` and `increase`.
    next: Time,
    /// Next decrease check that will find a CNP; `MAX` if none came since the last.
    check: Time,
    /// Next increase; `MAX` while it rests.
    increase: Time,
    line: Rate,
    target: Rate,
    alpha: f64,
    /// End of the present α slot.
    slot_end: Time,
    /// The first CNP, from which decrease checks are counted; `MAX` before it.
    first_cnp: Time,
    count: u32,
    cnp_in_slot: bool,
}

impl DcqcnHpcc {
    /// Rt.
    pub const fn target(&self) -> Rate {
        self.target
    }

    /// α at `now`, every slot that ended up to then applied.
    pub fn alpha(&self, config: &DcqcnHpccConfig, now: Time) -> f64 {
        let mut copy = *self;
        copy.close_slots(config, now);
        copy.alpha
    }

    #[cold]
    fn expire(&mut self, config: &DcqcnHpccConfig, now: Time) -> bool {
        let before = self.rate();
        while self.next <= now && self.next < Time::MAX {
            // 300 µs are 75 checks: the two often coincide, and the simulator runs what it scheduled first.
            if self.increase <= self.check {
                self.raise(config);
            } else {
                self.cut(config);
            }
            self.next = self.check.min(self.increase);
        }
        self.rate() != before
    }

    /// A CNP arrived, or an ACK with the CNP bit: `code` is UE or CE. True if the rate changed.
    pub fn on_notification(&mut self, config: &DcqcnHpccConfig, now: Time, code: CodePoint) -> bool {
        let changed = self.advance(config, now);
        match (code, config.on_ue) {
            (CodePoint::Congestion, _) => self.on_ce(config, now),
            (CodePoint::Undetermined, hold) if self.first_cnp < Time::MAX => self.hold(config, now, hold),
            _ => {}
        }
        self.next = self.check.min(self.increase);
        changed
    }

    fn on_ce(&mut self, config: &DcqcnHpccConfig, now: Time) {
        if self.first_cnp == Time::MAX {
            self.first_cnp = now;
            self.slot_end = now.saturating_add(config.alpha_timer);
            self.target = self.rate();
        } else {
            self.close_slots(config, Time::from_ps(now.as_ps().saturating_sub(u64::from(config.cnps_first))));
            self.cnp_in_slot = true;
        }
        if self.check == Time::MAX {
            let interval = config.decrease_interval.as_ps();
            let origin = self.first_cnp.saturating_add(AFTER_ALPHA);
            let checks = now.since(origin).as_ps() / interval + 1;
            self.check = origin.saturating_add(Span::from_ps(checks.saturating_mul(interval)));
        }
    }

    fn hold(&mut self, config: &DcqcnHpccConfig, now: Time, hold: OnUe) {
        if hold == OnUe::ResetHold {
            self.close_slots(config, now);
            self.slot_end = now.saturating_add(config.alpha_timer);
            self.target = self.rate();
            self.count = 0;
        }
        if hold != OnUe::Ignore && self.increase < Time::MAX {
            self.increase = now.saturating_add(config.rate_timer);
        }
    }

    /// Applies the α slots that ended up to `now`: the first with its CNPs, the others without.
    fn close_slots(&mut self, config: &DcqcnHpccConfig, now: Time) {
        if now < self.slot_end || self.slot_end == Time::MAX {
            return;
        }
        let period = config.alpha_timer.as_ps();
        let more = now.since(self.slot_end).as_ps() / period;
        if self.cnp_in_slot {
            self.alpha = (1.0 - config.g) * self.alpha + config.g;
            self.alpha *= power(1.0 - config.g, more);
        } else {
            self.alpha *= power(1.0 - config.g, more + 1);
        }
        self.cnp_in_slot = false;
        self.slot_end = self.slot_end.saturating_add(Span::from_ps((more + 1).saturating_mul(period)));
    }

    /// The decrease check finds a CNP.
    fn cut(&mut self, config: &DcqcnHpccConfig) {
        let now = self.check;
        self.check = Time::MAX;
        self.close_slots(config, now);
        if config.clamp_target || self.count > 0 {
            self.target = self.rate();
        }
        let rate = self.rate().as_bps() as f64 * (1.0 - self.alpha / 2.0);
        self.pacer.set(Rate::from_bps(rate as u64).max(config.min_rate.min(self.line)));
        self.count = 0;
        self.increase = now.saturating_add(config.rate_timer);
    }

    fn raise(&mut self, config: &DcqcnHpccConfig) {
        let step = match self.count.cmp(&config.fast_recovery) {
            core::cmp::Ordering::Less => Rate::ZERO,
            core::cmp::Ordering::Equal => config.rate_ai,
            core::cmp::Ordering::Greater => config.rate_hai,
        };
        let (rate, line) = (self.rate().as_bps(), self.line.as_bps());
        let target = self.target.as_bps().saturating_add(step.as_bps()).min(line);
        self.target = Rate::from_bps(target);
        self.pacer.set(Rate::from_bps(rate.midpoint(target) + ((rate ^ target) & 1)));
        self.count = self.count.saturating_add(1);
        // With rate and target at line no increase changes anything but the count, which only tells whether one came.
        let rests = self.rate() == self.line && target == line;
        self.increase = if rests { Time::MAX } else { self.increase.saturating_add(config.rate_timer) };
    }
}

impl Controller for DcqcnHpcc {
    type Config = DcqcnHpccConfig;
    const NOTIFIED: bool = true;

    fn validate(config: &DcqcnHpccConfig, _largest: u32) -> Result<(), ConfigError> {
        config.validate()
    }

    fn on_cnp(&mut self, config: &DcqcnHpccConfig, now: Time, code: CodePoint) -> bool {
        self.on_notification(config, now, code)
    }

    /// The simulator's CNP is a bit in the ACK.
    #[inline]
    fn on_echo(&mut self, config: &DcqcnHpccConfig, now: Time, echo: CodePoint) -> bool {
        echo.is_marked() && self.on_notification(config, now, echo)
    }

    /// A new flow at line rate.
    fn new(config: &DcqcnHpccConfig, line: Rate) -> Self {
        Self {
            pacer: Pacer::new(line),
            next: Time::MAX,
            check: Time::MAX,
            increase: Time::MAX,
            line,
            target: line,
            alpha: config.alpha_initial,
            slot_end: Time::MAX,
            first_cnp: Time::MAX,
            count: 0,
            cnp_in_slot: false,
        }
    }

    /// The next cut or increase.
    #[inline]
    fn next_timer(&self, _: &DcqcnHpccConfig) -> Time {
        self.next
    }

    /// Applies every check and increase up to and including `now`.
    #[inline]
    fn advance(&mut self, config: &DcqcnHpccConfig, now: Time) -> bool {
        now >= self.next && self.expire(config, now)
    }

    /// Rc.
    #[inline]
    fn rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// The pacing gap at Rc.
    #[inline]
    fn gap(&mut self, wire_bytes: u32) -> Span {
        self.pacer.gap(wire_bytes)
    }
}
