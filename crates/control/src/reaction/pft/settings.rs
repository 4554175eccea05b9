//! The table in which people choose what throttles a NIC.
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PftConfig, Polarity, RateLaw, Scope, StateRule};
use crate::config::{Reads, kinds};

kinds! {
    /// What holds a host's packets back besides credits.
    ThrottleKind;
    /// Nothing.
    None = "none" reads Reads::Only(&[]);
    /// Proactive flow throttling (PFT). Needs switch.flow-control = credits.
    Pft = "pft" reads Reads::All(&[]);
}

/// What holds the packets of hosts back besides the reaction point of a flow and flow control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(rename = "Throttle")]
pub struct ThrottleSettings {
    /// Which throttle; the table of that name has what it reads. PFT holds everything that a host sends but credit updates: with
    /// pft.per = port also ACKs and CNPs of a priority without flow control, although they use no credits and leave no gap
    /// (reconstructed: the PFT paper does not say). All profiles: none (the PFT paper measures with PFT and without).
    pub kind: ThrottleKind,
    /// kind = pft: what it alone reads.
    pub pft: PftParams,
}

kinds! {
    /// When a port of a host takes its path for congested.
    RuleKind;
    /// FT, fixed threshold (PFT paper, Algorithm 1): as soon as the used credits are above `enter`, until they are below `escape`.
    Fixed = "fixed" reads Reads::All(&[]);
    /// AT, average threshold (PFT paper, Algorithm 2): when they were above `enter` in `enter-hits` of a window's `enter-window`
    /// cycles, until they were below `escape` in `escape-hits` of `escape-window` cycles.
    Average = "average" reads Reads::All(&[]);
}

/// How a port of a host that is congested spaces what it sends; f(c) = 2^m / 2^n · c + k, c the used credits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IntervalKind {
    /// FI, fixed interval: f(c) idle cycles for each flit; the rate is 1 / (1 + f) where a flit takes a cycle.
    Fixed,
    /// RI, random interval: in each cycle a flit may go if a random number below 2^`random-bits` is at least f(c).
    Random,
    /// RI without chance: a packet takes as long as it does on average under random.
    Mean,
}

/// The windows of the average threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AverageParams {
    /// Cycles of a window while the port is not congested (Te). All profiles: 1024, 1.46 µs (reconstructed: the PFT
    /// paper does not say; a few round trips over three hops).
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub enter_window: u32,
    /// Cycles above `enter` in a window that make it congested (Te'). All profiles: 768 (reconstructed: the PFT paper
    /// says only that it is less than the window; three quarters of it).
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub enter_hits: u32,
    /// Cycles of a window while it is congested (Ts). All profiles: 1024 (reconstructed: as `enter-window`).
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub escape_window: u32,
    /// Cycles below `escape` in a window that end it (Ts'). All profiles: 768 (reconstructed: as `enter-hits`).
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub escape_hits: u32,
}

/// Proactive flow throttling at the NIC (PFT): a host's port that has used many credits of its link sends more slowly, whatever it
/// sends. A flit is what one credit stands for, `switch.credits.unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PftParams {
    /// When a port is congested. All profiles: average (PFT paper, section IV-C: the best of its settings is AT-RI).
    pub rule: RuleKind,
    /// How it then spaces flits. All profiles: random (PFT paper, section IV-C).
    pub interval: IntervalKind,
    /// Threshold of the way in, in credits. All profiles: 592 (0x250; PFT paper, section IV-C). With rule = fixed not below `escape`.
    #[schemars(range(max = 1_000_000_000))]
    pub enter: u32,
    /// Threshold of the way out, in credits. All profiles: 672 (0x2a0; PFT paper, section IV-C). It is above `enter`, which Algorithm 1
    /// forbids and Algorithm 2 makes a duty cycle: with `enter` < c < `escape` the state alternates.
    #[schemars(range(max = 1_000_000_000))]
    pub escape: u32,
    /// f(c) = ((c << m) >> n) + k. All profiles: 18 (PFT paper, section IV-C; with interval = random it tries 15 to 22, with fixed 0).
    #[schemars(range(max = 63))]
    pub m: u8,
    /// See `m`. All profiles: 0 (PFT paper, section IV-C; with interval = fixed it tries 8 to 12).
    #[schemars(range(max = 63))]
    pub n: u8,
    /// See `m`; a sum below 0 counts as 0. All profiles: 0 (PFT paper, section IV-C).
    #[schemars(range(min = -1_000_000_000_000_i64, max = 1_000_000_000_000_i64))]
    pub k: i64,
    /// interval = random: the random number is below 2 to this power. All profiles: 30 (reconstructed: the PFT paper does not say; with
    /// m = 18 its rates then span a buffer of 4096 flits, the least for which the curves of its Fig. 1(a) differ).
    #[schemars(range(min = 1, max = 62))]
    pub random_bits: u8,
    /// Core clock of the port, in MHz: its cycles are those of f(c) and of the windows of rule = average. All profiles: 700 (PFT paper,
    /// section IV-B).
    #[schemars(range(min = 1, max = 100_000))]
    pub clock_mhz: u32,
    /// Which credits the thresholds are compared with. All profiles: used (PFT paper, section III-A: c is the number of used credits);
    /// with available its thresholds, which enter below where they escape, are a hysteresis.
    pub credits: Polarity,
    /// What has a state of its own. All profiles: port (PFT paper, section V: one FSM and four counters at the sending end of a port).
    pub per: Scope,
    /// rule = average: its windows.
    pub average: AverageParams,
}

impl PftParams {
    /// The state machine and the law of every port of `capacity` credits.
    pub const fn resolve(&self, capacity: u32) -> PftConfig {
        let Self {
            rule,
            interval,
            enter,
            escape,
            m,
            n,
            k,
            random_bits: bits,
            clock_mhz,
            credits,
            per: _,
            average,
        } = *self;
        PftConfig {
            rule: match rule {
                RuleKind::Fixed => StateRule::Fixed { enter, escape },
                RuleKind::Average => StateRule::Average {
                    enter,
                    escape,
                    enter_window: average.enter_window,
                    enter_hits: average.enter_hits,
                    escape_window: average.escape_window,
                    escape_hits: average.escape_hits,
                },
            },
            law: match interval {
                IntervalKind::Fixed => RateLaw::FixedInterval,
                IntervalKind::Random => RateLaw::RandomInterval { bits },
                IntervalKind::Mean => RateLaw::MeanInterval { bits },
            },
            m,
            n,
            k,
            polarity: credits,
            capacity,
            clock: clock_mhz as u64 * 1_000_000,
        }
    }
}
