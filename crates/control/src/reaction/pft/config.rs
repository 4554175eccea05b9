//! Parameters of PFT, and which of them are refused.
use crate::ConfigError;
use crate::error::require;

/// The length of the windows of AT, and how many samples must be hits, in cycles of the core clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    /// W: samples in a window.
    pub(super) window: u32,
    /// N: hits in one window that change the state, at once.
    pub(super) hits: u32,
}

/// Which c changes the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum StateRule {
    /// FT: Congested when c > `enter`, Normal when c < `escape`.
    Fixed {
        /// `t_e`, in flits.
        enter: u32,
        /// `t_s`, in flits.
        escape: u32,
    },
    /// AT: the same in enough samples of a window.
    Average {
        /// `t_e`, in flits.
        enter: u32,
        /// `t_s`, in flits.
        escape: u32,
        /// `W_e`: samples in a window in Normal.
        enter_window: u32,
        /// `N_e`: so many of them above `enter` lead to Congested.
        enter_hits: u32,
        /// `W_s`: samples in a window in Congested.
        escape_window: u32,
        /// `N_s`: so many of them below `escape` lead to Normal.
        escape_hits: u32,
    },
}

impl StateRule {
    /// `t_e` and `t_s`.
    #[inline]
    pub const fn thresholds(&self) -> (u32, u32) {
        match *self {
            Self::Fixed { enter, escape } | Self::Average { enter, escape, .. } => (enter, escape),
        }
    }

    /// The windows of AT in the two states.
    #[inline]
    pub(super) const fn windows(&self, congested: bool) -> Option<Windows> {
        match *self {
            Self::Fixed { .. } => None,
            Self::Average { escape_window, escape_hits, .. } if congested => {
                Some(Windows { window: escape_window, hits: escape_hits })
            }
            Self::Average { enter_window, enter_hits, .. } => {
                Some(Windows { window: enter_window, hits: enter_hits })
            }
        }
    }
}

/// How f(c) slows a NIC down in Congested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub enum RateLaw {
    /// FI: f(c) idle cycles after each flit.
    FixedInterval,
    /// RI: in each cycle a random number in [0, R) is drawn; a flit goes if it is f(c) or more.
    RandomInterval {
        /// R is 2 to this power.
        bits: u8,
    },
    /// RI with the mean of its gaps in place of a draw.
    MeanInterval {
        /// R is 2 to this power.
        bits: u8,
    },
}

/// Which credits `enter` and `escape` are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Polarity {
    /// Those that are used: sent, and not come back. Congested above `enter`, no longer below `escape`.
    Used,
    /// Those that are left. Congested below `enter`, no longer above `escape`.
    Available,
}

/// What has a state of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "config", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
#[cfg_attr(feature = "config", serde(rename_all = "kebab-case"))]
pub enum Scope {
    /// The port: the credits of all virtual lanes are added up, and what the NIC sends waits alike. ACKs and CNPs of a priority without
    /// credits wait as well, but leave no gap.
    #[default]
    Port,
    /// Each virtual lane under credits, by its own c. What is not under credits is not throttled.
    #[cfg_attr(feature = "config", serde(rename = "vl"))]
    VirtualLane,
}

/// Parameters of PFT, shared by all NICs that use them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct PftConfig {
    /// FT or AT.
    pub rule: StateRule,
    /// FI or RI.
    pub law: RateLaw,
    /// Left shift of c in f(c).
    pub m: u8,
    /// Right shift of that.
    pub n: u8,
    /// Added to that; f is 0 where the sum is negative.
    pub k: i64,
    /// What the thresholds are compared with.
    pub polarity: Polarity,
    /// C: flits that the buffer behind the link holds.
    pub capacity: u32,
    /// The core clock that AT samples by, and of which f(c) counts idle cycles, in Hz.
    pub clock: u64,
}

/// A cycle is at least a picosecond, the unit of time.
const FASTEST: u64 = 1_000_000_000_000;

impl PftConfig {
    /// The defaults of the table: AT-RI with the setting that the paper found best, at 100 Gbps.
    pub const fn standard() -> Self {
        Self {
            rule: StateRule::Average {
                enter: 592,
                escape: 672,
                enter_window: 1024,
                enter_hits: 768,
                escape_window: 1024,
                escape_hits: 768,
            },
            law: RateLaw::RandomInterval { bits: 30 },
            m: 18,
            n: 0,
            k: 0,
            polarity: Polarity::Used,
            capacity: 4096,
            clock: 700_000_000,
        }
    }

    /// How long `count` / `parts` cycles of the core clock are, in ps, rounded down; 2^64 − 1 for more.
    pub(super) fn cycles(&self, count: u128, parts: u64) -> u64 {
        let (parts, clock, second) = (u128::from(parts), u128::from(self.clock), u128::from(FASTEST));
        // Whole cycles apart: only a span that is too long to tell overflows.
        let whole = (count / parts).saturating_mul(second);
        let rest = (whole % clock * parts + count % parts * second) / (parts * clock);
        u64::try_from(whole / clock + rest).unwrap_or(u64::MAX)
    }

    /// Refuses parameters outside the ranges in which the algorithm is defined, in the words of a scenario's `[host.throttle.pft]`.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.validate_link()?;
        self.validate_thresholds()?;
        if let StateRule::Average { enter_window, enter_hits, escape_window, escape_hits, .. } = self.rule {
            hits_of("average.enter-hits", enter_hits, enter_window)?;
            hits_of("average.escape-hits", escape_hits, escape_window)?;
        }
        self.validate_law()
    }

    fn validate_link(&self) -> Result<(), ConfigError> {
        let capacity = f64::from(self.capacity);
        let fix =
            "give the switches a larger switch.credits.buffer, or smaller credits (switch.credits.unit)";
        require(self.capacity >= 2, "capacity", capacity, "at least 2 flits", fix)?;
        let clock = self.clock as f64;
        let fix = "the PFT paper has 700 MHz";
        require((1..=FASTEST).contains(&self.clock), "clock", clock, "from 1 Hz to 10^12 Hz", fix)
    }

    fn validate_thresholds(&self) -> Result<(), ConfigError> {
        let (enter, escape) = self.rule.thresholds();
        let (entering, escaping) = (f64::from(enter), f64::from(escape));
        let fixed = matches!(self.rule, StateRule::Fixed { .. });
        match self.polarity {
            Polarity::Used => {
                let allowed =
                    "below the flits that the buffer behind the link holds, as c must come above it";
                let fix = "lower it, or give the switches a larger switch.credits.buffer";
                require(enter < self.capacity, "enter", entering, allowed, fix)?;
                let allowed =
                    "from 1 to the flits that the buffer behind the link holds, as c must come below it";
                let fix = "with 0 no NIC would ever leave Congested; above the buffer none would stay in it";
                require((1..=self.capacity).contains(&escape), "escape", escaping, allowed, fix)?;
                let allowed = "at least escape under rule = \"fixed\": Algorithm 1 of the PFT paper demands t_e >= t_s, as a NIC \
                               with a c between them would change its state all the time";
                let fix = "swap the two, take rule = \"average\" as the paper does for enter = 592 and escape = 672, or \
                           credits = \"available\" if they are of credits that are left";
                require(!fixed || enter >= escape, "enter", entering, allowed, fix)
            }
            Polarity::Available => {
                let allowed = "from 1 to the flits that the buffer behind the link holds, as what is left must come below it";
                let fix = "with 0 no NIC would ever enter Congested; above the buffer none would ever be in Normal for long";
                require((1..=self.capacity).contains(&enter), "enter", entering, allowed, fix)?;
                let allowed = "below the flits that the buffer behind the link holds, as what is left must come above it";
                let fix = "lower it, or give the switches a larger switch.credits.buffer";
                require(escape < self.capacity, "escape", escaping, allowed, fix)?;
                let allowed = "at most escape under rule = \"fixed\" with credits = \"available\": Algorithm 1 of the PFT paper \
                               demands t_e >= t_s of credits in use, which is enter <= escape of credits that are left";
                let fix = "swap the two, take rule = \"average\", or credits = \"used\" if they are of credits in use";
                require(!fixed || enter <= escape, "enter", entering, allowed, fix)
            }
        }
    }

    fn validate_law(&self) -> Result<(), ConfigError> {
        let fix = "f(c) = 2^m c / 2^n + k; the PFT paper has m from 15 to 22 for RI, n from 8 to 12 for FI, and 0 for the other";
        require(self.m <= 63, "m", f64::from(self.m), "from 0 to 63", fix)?;
        require(self.n <= 63, "n", f64::from(self.n), "from 0 to 63", fix)?;
        match self.law {
            RateLaw::FixedInterval => Ok(()),
            RateLaw::RandomInterval { bits } | RateLaw::MeanInterval { bits } => {
                let fix = "30 spreads the rates of m = 18 over a buffer of 4096 flits";
                require((1..=62).contains(&bits), "random-bits", f64::from(bits), "from 1 to 62", fix)
            }
        }
    }
}

/// The paper's T' of a window of T cycles, section III-B.
fn hits_of(parameter: &'static str, hits: u32, window: u32) -> Result<(), ConfigError> {
    let allowed = "from 1 to one less than its window, as the PFT paper demands T_e > T_e' and T_s > T_s'";
    let fix = "768 hits in a window of 1024 cycles are the default";
    require(hits >= 1 && hits < window, parameter, f64::from(hits), allowed, fix)
}
