//! TCD, ternary congestion detection: a port that alternates ON and OFF under flow control is undetermined, and is
//! judged again only once it has been ON for longer than max(Ton).
//!
//! Reference: Zhang, Liu, Meng, Ren: Congestion Detection in Lossless Networks (SIGCOMM 2021), §4 and Figs. 6 and
//! 9; the rules of [`Trend::Authors`] are those of the authors' ns-3 release (2022). Flow control is PFC (§4.3) or
//! credits (§4.4): an OFF period begins when a PAUSE takes effect or a waiting packet finds too few credits, and ends with
//! the RESUME or the update that lets a waiting packet go.
//!
//! ```text
//!                      ┌────────── dequeue within max(Ton) of OFF's end ──────────┐
//!                      │ ③                    ⑥ │                                 │
//!   ┌───────────────┐  │   ┌────────────────────▼─┐   released   ┌────────────────┴┐
//!   │ non-congestion├──┴──▶│     undetermined     ├─────────────▶│     judging     │
//!   └──┬─────────▲──┘      └────────────▲─────────┘              └──┬───────────┬──┘
//!    ① │ q > K ② │ q ≤ K                │ ⑥              q ≤ low ④  │           │ ⑤ rising, over K
//!   ┌──▼─────────┴──┐                   │                 (to non-  ▼           ▼ (to congestion)
//!   │   congestion  ├───────────────────┘               congestion)
//!   └───────────────┘
//! ```
//! Undetermined marks UE, congestion marks CE, judging marks nothing. "Judging" is the paper's `LAST_STATE` =
//! undetermined after its release, made visible.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | max(Ton) | ps | 97 µs (authors), 100.4 µs (Eqn 3 at 40G, 4 µs) | authors' release; paper §4.3 |
//! | | | Tc (credits) | paper §4.4, Eqn 4 |
//! | T | ps | max(Ton) | paper §4.3 |
//! | | | Tc (credits) | paper §4.4 |
//! | | | whole Tc's, at least 4 and 200 µs (credits, [`Trend::RiseBp`]) | see below |
//! | K | B | RED as without TCD | paper §4.2 ("same as in the lossy network") |
//! | | | a step at 50 KB (credits) | paper §3.1: the threshold of FECN |
//! | low | B | 2 060 (authors), 1 MTU | authors' release: 2 units of 1030 B; the paper gives no value |
//! | δ | B | 900 (authors), 2 MTU | authors' release: 0.9 MTU; the paper gives no value |
//! | clock | ps | 1 µs (authors), 1 ps | authors' release keeps whole microseconds |
//!
//! Known deviations: the registers hold the end of the undetermined span (OFF's end + max(Ton)) where the paper
//! holds OFF's end: the same test, one compare. A port that was never paused is always released, at any time; in the
//! authors' release its last OFF counts as ended at time 0, which is the same, as its traffic starts at 2 s. UE is
//! marked over 01 only (see [`CodePoint`]).
//!
//! Under credits the rule of ours, [`Trend::RiseBp`], has a T of its own ([`Tcd::credits`]). What a switch frees in one
//! period Tc is advertised upstream at its end and arrives in the next, in a lump with a gap behind it, so that a queue
//! swings with the period even while it drains. A window of one period can begin before a lump and end before its gap: it
//! aliases with the credits, takes the lump for a rise and marks CE. Four periods hold lumps and gaps alike; a whole
//! number of periods begins and ends at the same phase of the credits; and where Tc is short 200 µs, T at Tc = 50 µs, are
//! more than the 160 µs for which the queue of Figure 12's P2 stays level after its release (with T = 160 µs some seeds
//! take that for congestion).
use backwater_units::{Bytes, Span, Time};

use super::{CongestionPoint, Departure, Red, Registers};
#[cfg(feature = "config")]
use super::{DetectorSettings, PortFacts, max_ton, max_ton_authors};
#[cfg(feature = "config")]
use crate::config::Quantity;
use crate::error::require;
use crate::{CodePoint, ConfigError, PortState};

/// How the trend of the queue is judged after the release. The paper's prose and flowchart differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Trend {
    /// First verdict at the release: congested if the queue is not below what it was at the last RESUME; later ones every
    /// T: congested if it has risen by `delta`. K is not looked at. The RED draw decides state and mark of a port that is
    /// not held back (authors' release).
    Authors,
    /// Congested if risen by more than `delta` in a period T and above K (the paper's flowchart, Fig. 9).
    #[default]
    Rise,
    /// Congested unless fallen in a period T, and if above K (the paper's prose, §4.3).
    #[cfg_attr(feature = "config", serde(rename = "nofall"))]
    NoFall,
    /// `rise`, or a queue that is level (within `delta`) because this switch itself held back an upstream port within
    /// the last T. Backwater's, not in the paper: under ideal PFC or credits a congested port is pinned at the upstream ports'
    /// ceiling.
    RiseBp,
}

/// Parameters of TCD at the ports of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tcd {
    /// The rule of the port that is not held back; its kmax is K.
    pub red: Red,
    /// How the trend is judged.
    pub trend: Trend,
    /// Longest ON period of an ON-OFF pattern.
    pub max_ton: Span,
    /// T, the period after which the trend is judged.
    pub period: Span,
    /// At or below this many counted bytes a released port has drained.
    pub low: Bytes,
    /// Dead band of the trend.
    pub delta: Bytes,
    /// Resolution of the time registers.
    pub clock: Span,
}

impl Tcd {
    /// The authors' ns-3 release (2022).
    pub fn authors() -> Self {
        Self {
            red: Red::authors(),
            trend: Trend::Authors,
            max_ton: Span::from_us(97),
            period: Span::from_us(97),
            low: Bytes::new(2_060),
            delta: Bytes::new(900),
            clock: Span::from_us(1),
        }
    }

    /// The paper's text with a `trend` policy other than the authors': T = max(Ton), low 1 MTU, δ 2 MTU.
    pub fn flowchart(trend: Trend, max_ton: Span, mtu: Bytes) -> Self {
        Self {
            red: Red::standard(),
            trend,
            max_ton,
            period: max_ton,
            low: mtu,
            delta: mtu * 2,
            clock: Span::from_ps(1),
        }
    }

    /// Credits that come back every `tc` (paper §4.4): T = max(Ton) = Tc, K a step at `threshold`; low 1 MTU, δ 2 MTU, exact clocks.
    /// With [`Trend::RiseBp`] T is the least number of whole Tc's that is at least 4 Tc and 200 µs.
    pub fn credits(trend: Trend, tc: Span, threshold: Bytes, mtu: Bytes) -> Self {
        let periods = match trend {
            Trend::RiseBp => Span::from_us(200).as_ps().div_ceil(tc.as_ps().max(1)).max(4),
            Trend::Authors | Trend::Rise | Trend::NoFall => 1,
        };
        let period = Span::from_ps(tc.as_ps().saturating_mul(periods));
        Self { red: Red::step(threshold), period, ..Self::flowchart(trend, tc, mtu) }
    }

    /// `time` as a register of this clock holds it.
    const fn truncated(&self, time: Time) -> u64 {
        time.as_ps() - time.as_ps() % self.clock.as_ps()
    }

    /// First instant whose truncated value is at least `ps`.
    const fn first_at(&self, ps: u64) -> Time {
        Time::from_ps(match ps.checked_next_multiple_of(self.clock.as_ps()) {
            Some(ps) => ps,
            None => u64::MAX,
        })
    }

    /// First instant at which a window of `span` that was opened at `start` is over.
    const fn window_end(&self, start: Time, span: Span) -> Time {
        self.first_at(self.truncated(start).saturating_add(span.as_ps()))
    }

    /// Transitions ① and ②: a port that is not held back is judged as in a lossy network.
    #[inline]
    fn judge_as_lossy(
        &self,
        registers: &mut Registers,
        departure: &Departure,
        queue: u64,
        draw: impl FnOnce() -> u32,
    ) -> CodePoint {
        let hit = self.red.hits(queue, draw);
        let congested = if matches!(self.trend, Trend::Authors) { hit } else { self.red.above(queue) };
        registers.state = if congested { PortState::Congestion } else { PortState::NonCongestion };
        if hit { departure.code.mark_ce() } else { departure.code }
    }

    /// Transitions ④ and ⑤: released from the ON-OFF pattern.
    #[cold]
    fn judge_trend(
        &self,
        registers: &mut Registers,
        departure: &Departure,
        queue: u64,
        draw: impl FnOnce() -> u32,
    ) -> CodePoint {
        let congested = if matches!(self.trend, Trend::Authors) {
            self.verdict_of_authors(registers, departure.now, queue)
        } else {
            self.verdict_of_flowchart(registers, departure, queue)
        };
        if !congested {
            return departure.code;
        }
        registers.state = PortState::Congestion;
        if self.red.hits(queue, draw) { departure.code.mark_ce() } else { departure.code }
    }

    fn open_window(&self, registers: &mut Registers, now: Time, queue: u64) {
        registers.state = PortState::Judging;
        registers.window_end = self.window_end(now, self.period);
        registers.queue_at_sample = saturate(queue);
    }

    /// Whether the port is congested; leaves the registers for the case that it is not.
    fn verdict_of_authors(&self, registers: &mut Registers, now: Time, queue: u64) -> bool {
        if matches!(registers.state, PortState::Undetermined) {
            // The first window ran from the RESUME to the release; only a fall opens a second one.
            if queue >= u64::from(registers.at_resume) {
                return true;
            }
            self.open_window(registers, now, queue);
            return false;
        }
        if now >= registers.window_end {
            if queue >= u64::from(registers.queue_at_sample) + self.delta.get() {
                return true;
            }
            self.open_window(registers, now, queue);
        }
        if queue <= self.low.get() {
            registers.state = PortState::NonCongestion;
        }
        false
    }

    /// Whether the port is congested; leaves the registers for the case that it is not.
    fn verdict_of_flowchart(&self, registers: &mut Registers, departure: &Departure, queue: u64) -> bool {
        let now = departure.now;
        if matches!(registers.state, PortState::Undetermined) {
            self.open_window(registers, now, queue);
        }
        if queue <= self.low.get() {
            registers.state = PortState::NonCongestion;
            return false;
        }
        if now < registers.window_end {
            return false;
        }
        let before = u64::from(registers.queue_at_sample);
        // "Never" is time zero; a window that began after max(Ton) ends later than one period after that.
        let held_back = now.since(departure.last_hold) <= self.period;
        let rising = match self.trend {
            Trend::NoFall => queue >= before,
            Trend::RiseBp if held_back && queue.abs_diff(before) <= self.delta.get() => true,
            _ => queue > before + self.delta.get(),
        };
        registers.queue_at_sample = saturate(queue);
        // Periods stay on the grid that began at the release, however long nothing was dequeued.
        let period = self.period.as_ps();
        let missed = now.since(registers.window_end).as_ps() / period;
        registers.window_end =
            registers.window_end.saturating_add(Span::from_ps((missed + 1).saturating_mul(period)));
        rising && self.red.above(queue)
    }
}

impl CongestionPoint for Tcd {
    #[cfg(feature = "config")]
    const SHARED: &'static [&'static str] = super::RAMP;
    #[cfg(feature = "config")]
    const MARKS_UE: bool = true;

    /// The end of an OFF period: the only event that starts (or prolongs) the undetermined span.
    #[inline]
    fn on_resume(&self, registers: &mut Registers, now: Time, queue: u64, _packets: impl FnOnce() -> u32) {
        // The authors stay undetermined for elapsed <= R, the paper for Ton < max(Ton).
        registers.release = if matches!(self.trend, Trend::Authors) {
            let last = self.truncated(now).saturating_add(self.max_ton.as_ps());
            self.first_at(last.saturating_add(1))
        } else {
            self.window_end(now, self.max_ton)
        };
        registers.at_resume = saturate(self.red.counted(queue));
    }

    #[inline]
    fn on_dequeue(
        &self,
        registers: &mut Registers,
        departure: &Departure,
        draw: impl FnOnce() -> u32,
    ) -> CodePoint {
        if departure.now < registers.release {
            registers.state = PortState::Undetermined;
            return departure.code.mark_ue();
        }
        let queue = self.red.counted(departure.queue);
        match registers.state {
            PortState::NonCongestion | PortState::Congestion => {
                self.judge_as_lossy(registers, departure, queue, draw)
            }
            PortState::Undetermined | PortState::Judging => {
                self.judge_trend(registers, departure, queue, draw)
            }
        }
    }

    fn calm(&self) -> u64 {
        self.red.calm()
    }

    #[inline]
    fn wants_last_hold(&self) -> bool {
        matches!(self.trend, Trend::RiseBp)
    }

    fn validate(&self) -> Result<(), ConfigError> {
        self.red.validate()?;
        let long = "longer than 0ps";
        require(
            self.max_ton > Span::ZERO,
            "max-ton",
            self.max_ton,
            long,
            "leave it out to have it computed",
        )?;
        require(self.period > Span::ZERO, "period", self.period, long, "leave it out: T = max(Ton)")?;
        require(self.clock > Span::ZERO, "truncate", self.clock, "at least 1ps", "write 1ps for exact clocks")
    }

    #[cfg(feature = "config")]
    fn resolve(settings: &DetectorSettings, port: &PortFacts) -> Result<Self, ConfigError> {
        let red = Red::resolve(settings, port)?;
        let params = settings.tcd.complete(port.mtu);
        let (max_ton, period) = params.times(port)?;
        let bytes = |size: Option<Quantity<Bytes>>| size.map_or(Bytes::ZERO, |size| size.0);
        Ok(Self {
            red,
            trend: params.trend,
            max_ton,
            period,
            low: bytes(params.low),
            delta: bytes(params.delta),
            clock: params.truncate.0,
        })
    }
}

/// TCD: when a port is released, and how it is judged then.
#[cfg(feature = "config")]
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TcdParams {
    /// How a rising queue is recognised. authors: authors (authors' release); ideal, infiniband: rise (Fig. 9 of the TCD paper); the
    /// other profiles: rise-bp, which is Backwater's.
    pub trend: Trend,
    /// max(Ton), how long after the end of an OFF period a port counts as undetermined. authors: 97 µs (authors'
    /// release). Give it or `epsilon`; under periodic credits neither: it is then the credits' period Tc (Eqn 4 of the TCD
    /// paper), whatever the profile says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub max_ton: Option<Quantity<Span>>,
    /// max(Ton) computed for each port from this congestion degree: Eqn 3 of the TCD paper, or, with trend =
    /// authors, the same with τ = 2 · delay, rounded up to microseconds. The profiles but authors: 0.05 (TCD paper §4.2). Not for
    /// periodic credits. With credits returned at once, of which the paper does not speak, the port resumes when one packet
    /// fits: the simulator takes that for the gap of Eqn 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0001, max = 1.0))]
    pub epsilon: Option<f64>,
    /// Period T between verdicts; default max(Ton) (TCD paper §4.4, §5.1). With trend = rise-bp under periodic credits the least
    /// number of whole Tc's that is at least 4 Tc and 200 µs. (T = Tc can take the swing of the queue within a period for its trend.)
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1s"))]
    pub period: Option<Quantity<Span>>,
    /// A queue at or below this has drained. Default with trend = authors 2060 B (authors' release), else one
    /// packet on the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1TB"))]
    pub low: Option<Quantity<Bytes>>,
    /// Dead band of the trend. Default with trend = authors 900 B (authors' release), else two packets on the wire.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-maximum" = "1TB"))]
    pub delta: Option<Quantity<Bytes>>,
    /// Resolution of the detector's clock. authors: 1 µs (authors' release); else 1 ps, that of the simulation.
    #[schemars(extend("x-minimum" = "1ps", "x-maximum" = "1ms"))]
    pub truncate: Quantity<Span>,
}

#[cfg(feature = "config")]
impl Default for TcdParams {
    fn default() -> Self {
        let truncate = Quantity(Span::from_ps(1));
        let trend = Trend::default();
        Self { trend, max_ton: None, epsilon: None, period: None, low: None, delta: None, truncate }
    }
}

#[cfg(feature = "config")]
impl TcdParams {
    /// With what follows from the trend policy and the largest packet written out.
    #[must_use]
    pub fn complete(mut self, mtu: Bytes) -> Self {
        let (low, delta) = match self.trend {
            Trend::Authors => (Tcd::authors().low, Tcd::authors().delta),
            Trend::Rise | Trend::NoFall | Trend::RiseBp => (mtu, mtu * 2),
        };
        self.low.get_or_insert(Quantity(low));
        self.delta.get_or_insert(Quantity(delta));
        self.period = self.period.or(self.max_ton);
        self
    }

    /// max(Ton) and T at a port.
    fn times(&self, port: &PortFacts) -> Result<(Span, Span), ConfigError> {
        let given = self.max_ton.map(|given| given.0);
        let (max_ton, period) = match (port.credits, given) {
            (Some(tc), _) => {
                let own = Tcd::credits(self.trend, tc, Bytes::ZERO, port.mtu);
                (given.unwrap_or(own.max_ton), own.period)
            }
            (None, Some(given)) => (given, given),
            (None, None) => self.computed(port).map(|computed| (computed, computed))?,
        };
        Ok((max_ton, self.period.map_or(period, |period| period.0)))
    }

    /// max(Ton) of a port for a congestion degree.
    fn computed(&self, port: &PortFacts) -> Result<Span, ConfigError> {
        let epsilon = self.epsilon.unwrap_or_default();
        match self.trend {
            Trend::Authors => max_ton_authors(port.rate, port.delay, port.gap, epsilon),
            _ => Ok(max_ton(port.rate, port.delay, port.mtu, port.gap, epsilon)?.max_ton),
        }
    }
}

/// Queues are far below 4 GiB; a register of 32 bits saturates rather than wraps.
const fn saturate(queue: u64) -> u32 {
    if queue > u32::MAX as u64 { u32::MAX } else { queue as u32 }
}
