//! PFT, proactive flow throttling: a NIC that sends more slowly while many credits of its link are in use.
//!
//! Reference: the PFT paper (Qi, Lai, Dong, Dai, Chang, Cao: PFT: A Congestion Avoidance Method based on Proactive Flow Throttling at
//! Endpoints, 2021), sections III-A to III-C, equation 1, Algorithms 1 and 2.
//!
//! ```text
//!                  FT: c > t_e                                   c: credits in use, one per flit
//!                  AT: c > t_e in N_e samples of one window W_e
//!   ┌────────┐────────────────────────────────────▶┌───────────┐
//!   │ Normal │                                     │ Congested │  a flit at a time, by f(c) = 2^m c / 2^n + k
//!   └────────┘◀────────────────────────────────────└───────────┘  FI: f(c) idle cycles after each flit
//!   line rate      FT: c < t_s                                    RI: a flit in a cycle with p = 1 − f(c)/R
//!                  AT: c < t_s in N_s samples of one window W_s
//! ```
//! Under AT a window tumbles: it ends after W samples, or with the state, and hits do not outlive it. Sample k is taken in the first
//! picosecond that is not before k cycles of the core clock, and sees what is in use when that picosecond is over; the state that it
//! leads to is in force from the next one. So it does not matter in which order things happen within a picosecond.
//!
//! As c is constant between two changes, either all samples in between are hits or none is: the next change of state has a time in
//! closed form, and no cycle costs anything. A packet of L flits leaves whole. What its flits would have waited for is the gap after
//! it: L f(c) cycles of the same clock under FI, and under RI the number of failures before L successes (NegBin(L, p)), with the c at the start of the
//! packet, before its own flits are taken. While the gap lasts, every later change of c scales what remains of it, by what the law says
//! on average for the two c. Where p = 0 nothing leaves until c or the state changes. Whoever leaves Congested owes no gap any more.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | `t_e`, `t_s` (`enter`, `escape`) | flits | 592, 672 | the PFT paper, section IV-C: 0x250, 0x2a0 |
//! | m, n, k | | 18, 0, 0 | the PFT paper, section IV-C |
//! | `W_e`, `W_s` | cycles | 1024 | reconstructed: the paper does not say; a few round trips of three hops (1.46 µs) |
//! | `N_e`, `N_s` | cycles | 768 | reconstructed: the paper does not say; three quarters of a window |
//! | core clock | Hz | 700 MHz | the PFT paper, section IV-B |
//! | C (`capacity`) | flits | 4096 | reconstructed: Fig. 1(a) has n up to 12, which does nothing below c = 2^12 |
//! | R | | 2^30 | reconstructed: at C = 4096 and m = 18 the rate falls from 1 to 0 over exactly what c can be |
//! | flit | | 16 B | reconstructed: 100 Gbps at 700 MHz are 142.9 bits a cycle: 16 B and 2 B of the link |
//!
//! What the paper leaves open or says twice, and what is done here:
//!
//! 1. Its best setting has `t_e` < `t_s`, which Algorithm 1 forbids. That is a setting of AT, under which it means something: for
//!    `t_e` < c < `t_s` the state alternates, `N_s` cycles Congested and `N_e` cycles Normal. FT refuses it. [`Polarity::Available`] is the
//!    other reading: the register counts what is left, and the thresholds are plain hysteresis.
//! 2. Algorithm 2 calls both the window and the threshold `T_e` (and `T_s`). They are two numbers, as in the text.
//! 3. `T_s'` is a threshold of credits in the text and a number of cycles in the algorithm. It is a number of cycles, like `T_e'`.
//! 4. Lines 1 and 2 clear both counters each time. They are cleared at reset.
//! 5. No transition clears the counters. Here both do, or the hits of one state would count in the other.
//! 6. The tests of lines 15 and 30 do not ask for the state. Here they do, and a sample leads to one transition at most.
//! 7. The sample at a window's end is dropped. Here it counts, then the window ends.
//! 8. "The larger the n, the smaller the injection rate" contradicts equation 1, which is followed.
//! 9. Under FI "the faster the injection rate decreases" as c grows: 1/(1+f) is convex. Equation 1 is followed.
//! 10. RI is of a packet in one sentence and of a clock cycle in the next. Both laws are of flits and cycles.
//! 11. The range R of the random number is not given: a setting, 2 to the power `bits`.
//! 12. "Sends a packet, deducts one credit": a credit is for a flit, else thresholds of 592 would mean nothing.
//! 13. With m = 22 f(c) overflows 32 bits from c = 1024 on. f is exact here, and saturates at 2^64 − 1; then p = 0.
//! 14. Whether c is of the link or of a virtual lane is not said. That is up to whoever owns this value: one for each, or one for all.
//! 15. "In general `F_C` > 1" is a result, not a rule: nothing here.
//! 16. `threshold_enter` and `threshold_escape` are `t_e` and `t_s`.
//!
//! Known deviations: a packet is not stretched, as it would hold up the outputs that it is cut through to. On an idle link its first
//! flit does not wait either: all of its waiting is in the gap after it. [`RateLaw::MeanInterval`] is RI without its chance.
//! Frames that take no credits (acknowledgements and notifications of a priority without flow control) are not in c and leave no gap,
//! but a throttle of a whole port holds them like all others, as its transmitter sends nothing: the paper does not say. Updates of the
//! credits themselves are never held.
use backwater_units::{Span, Time};

mod config;
mod draw;
mod gap;
mod law;
#[cfg(feature = "config")]
pub mod settings;
mod state;

pub use config::{PftConfig, Polarity, RateLaw, Scope, StateRule};
pub use law::interval;

use config::Windows;
use gap::Gap;
use state::Machine;

/// Whether the next packet may start, as far as throttling goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Now.
    Open,
    /// Not before this time, unless c changes: ask again then.
    At(Time),
    /// Not before c changes.
    Change,
}

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition {
    /// When: the time of the sample that led to it. It is in force from the next picosecond on.
    pub time: Time,
    /// Whether Congested was entered, or left.
    pub congested: bool,
}

/// The throttle of one NIC port, or of one virtual lane of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Pft {
    machine: Machine,
    gap: Gap,
    used: u32,
}

impl Pft {
    /// At time 0: Normal, nothing in use.
    pub const fn new() -> Self {
        Self { machine: Machine::new(), gap: Gap::NONE, used: 0 }
    }

    /// Takes all samples before `now`. `advance(a); advance(b)` is `advance(b)` for a ≤ b.
    #[inline]
    pub fn advance(&mut self, config: &PftConfig, now: Time) {
        if self.machine.advance(config, self.used, now) {
            self.gap = Gap::NONE;
        }
    }

    /// The same up to the first change of state by a sample before `now`; `None` when there is none. Call it until then to see all.
    pub fn step(&mut self, config: &PftConfig, now: Time) -> Option<Transition> {
        let transition = self.machine.step(config, self.used, now)?;
        if !transition.congested {
            self.gap = Gap::NONE;
        }
        Some(transition)
    }

    /// From `now` on `used` flits are in use. Call it when credits come back; [`Pft::on_sent`] knows what a packet takes.
    /// The same number again changes nothing.
    pub fn on_credits(&mut self, config: &PftConfig, now: Time, used: u32) {
        self.advance(config, now);
        if used != self.used {
            self.used = used;
            if self.machine.changed(config, used, now) {
                self.gap = Gap::NONE;
            }
            self.gap.judge(config, now, used);
        }
    }

    /// A packet of `flits` flits started at `start` and leaves the wire free at `end`. Its flits are in use from `start` on, but not
    /// for its own gap. `random` gives uniform numbers in [0, 1); it is called under RI, in Congested, only.
    pub fn on_sent(
        &mut self,
        config: &PftConfig,
        start: Time,
        end: Time,
        flits: u32,
        random: &mut impl FnMut() -> f64,
    ) {
        self.advance(config, start);
        if self.machine.congested() {
            self.gap = Gap::after(config, end, self.used, flits, random);
        }
        self.used = self.used.saturating_add(flits);
        // More credits in use never lead out of Congested.
        self.machine.changed(config, self.used, start);
    }

    /// Whether a packet may start at `now`.
    #[inline]
    pub fn is_open(&mut self, config: &PftConfig, now: Time) -> bool {
        self.advance(config, now);
        !self.machine.congested() || self.opens(config) <= now
    }

    /// When the gap is over in Congested if c and the state stay.
    #[inline]
    fn opens(&self, config: &PftConfig) -> Time {
        if law::blocked(config, self.used) { Time::MAX } else { self.gap.end() }
    }

    /// As [`Self::is_open`]; if it may not, when to ask again.
    pub fn gate(&mut self, config: &PftConfig, now: Time) -> Gate {
        if self.is_open(config, now) {
            return Gate::Open;
        }
        match self.opens(config).min(self.machine.next(config, self.used)) {
            Time::MAX => Gate::Change,
            time => Gate::At(time),
        }
    }

    /// When the state changes if c does not: the first picosecond in which the new one is in force; [`Time::MAX`] for never.
    pub fn next_transition(&self, config: &PftConfig) -> Time {
        self.machine.next(config, self.used)
    }

    /// Whether the state is Congested, as of the latest call.
    #[inline]
    pub const fn congested(&self) -> bool {
        self.machine.congested()
    }

    /// c: flits sent for which no credit has come back.
    #[inline]
    pub const fn used(&self) -> u32 {
        self.used
    }

    /// How often Congested was entered, as of the latest call.
    #[inline]
    pub const fn entered(&self) -> u64 {
        self.machine.entered()
    }

    /// How long the state has been Congested in all, up to `now` (the time of the latest call, or later). Under AT that is
    /// the number of samples taken in it, in cycles.
    pub fn congested_for(&self, config: &PftConfig, now: Time) -> Span {
        self.machine.congested_for(config, now)
    }
}

impl Default for Pft {
    fn default() -> Self {
        Self::new()
    }
}
