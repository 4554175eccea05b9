//! Fairness among the streams of a host: DACK suppression and ACK coalescing, or an ordered list of ACKs.
//!
//! Reference: EC paper (Chong, Krishnan: Addressing Endpoint-induced Congestion, 2023), sections II-G and II-H: "if a stream's rate
//! significantly surpasses others, the target performs DACK suppression on the lower-rate stream and ACK coalescing on the
//! higher-rate one"; the authors' public simulator (commit 6ef0eb3) has the ordered list instead, and reads parameters of the two
//! verbs that nothing there uses.
//!
//! ```text
//!   every period: packets accepted of each stream ── (most − least) / all > difference ──▶ streams below the mean: suppress DACKs
//!                                                                                          streams above it: skip IACKs
//!                 ── otherwise ──▶ neither
//!   ordered: of the streams with unacknowledged PUTs, the one with the fewest bytes acknowledged in this period is next
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | which | | ordered | the authors' public simulator: the paper gives neither period nor trigger for its verbs |
//! | period | time | 250 µs | reconstructed: the paper does not say; the period of the authors' ordered list |
//! | difference | ppm | 25,000 | reconstructed: 2.5 %, a parameter that the authors' simulator reads |
//! | hold | time | 25 µs | reconstructed: a time limit for coalescing that the authors' simulator reads |
//! | strength | | 0.05 | reconstructed: see below |
//!
//! A stream below the mean has DACKs suppressed, one above it IACKs skipped, as many as `strength` times the packets that it is away
//! from the mean, at least one. A verb changes what the stream has in flight by one packet, for good, and so its rate by one packet per
//! round trip: 8 us and what the queue adds, about a twentieth of a period. With a strength of 1 streams would swing from one
//! extreme to the other.
//!
//! Known deviations: the paper leaves open how often and how strongly.
use backwater_units::Span;

use crate::ConfigError;
use crate::error::require;

/// How streams are balanced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fairness {
    /// They are not: ACKs are released in the order in which PUTs were accepted.
    None,
    /// DACK suppression and ACK coalescing.
    Verbs {
        /// Time between two comparisons.
        period: Span,
        /// Least difference of two streams' shares, in millionths.
        difference_ppm: u32,
        /// Most time that a coalesced IACK waits for the next one.
        hold: Span,
        /// Verbs per packet that a stream is away from the mean, in millionths.
        strength_ppm: u32,
    },
    /// The list of unacknowledged PUTs is ordered by what their streams got.
    Ordered {
        /// Time after which that is forgotten.
        period: Span,
    },
}

impl Fairness {
    /// Suppression and coalescing with the defaults of the table above.
    pub const fn verbs() -> Self {
        Self::Verbs {
            period: Span::from_us(250),
            difference_ppm: 25_000,
            hold: Span::from_us(25),
            strength_ppm: 50_000,
        }
    }

    /// Time between two periods; none if nothing is compared.
    pub const fn period(&self) -> Option<Span> {
        match self {
            Self::None => None,
            Self::Verbs { period, .. } | Self::Ordered { period } => Some(*period),
        }
    }

    /// Refuses a period of no length, and a difference that is none or cannot be.
    pub fn validate(&self) -> Result<(), ConfigError> {
        if let Some(period) = self.period() {
            require(period > Span::ZERO, "period", period, "longer than 0ps", "250us is the default")?;
        }
        if let Self::Verbs { difference_ppm, strength_ppm, .. } = *self {
            let strength = f64::from(strength_ppm) / 1e6;
            require(strength > 0.0, "strength", strength, "above 0", "0.05 is the default")?;
            let share = f64::from(difference_ppm) / 1e6;
            let allowed = "above 0 and below 1";
            require(share > 0.0 && share < 1.0, "difference", share, allowed, "0.025 is the default")?;
        }
        Ok(())
    }
}

/// Packets that the streams of a host had accepted in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    streams: u32,
    total: u64,
    least: u32,
    most: u32,
}

impl Sample {
    /// One more stream.
    pub fn add(&mut self, packets: u32) {
        self.least = if self.streams == 0 { packets } else { self.least.min(packets) };
        self.most = self.most.max(packets);
        self.streams += 1;
        self.total += u64::from(packets);
    }

    /// What the verbs are to do for a stream of so many packets: (DACKs to suppress, IACKs to skip).
    pub(super) fn verbs(&self, packets: u32, difference_ppm: u32, strength_ppm: u32) -> (u32, u32) {
        let difference = u64::from(self.most - self.least) * 1_000_000;
        if self.streams == 0 || difference <= self.total * u64::from(difference_ppm) {
            return (0, 0);
        }
        let mean = (self.total / u64::from(self.streams)) as u32;
        let verbs = |away: u32| (u64::from(away) * u64::from(strength_ppm)).div_ceil(1_000_000) as u32;
        (verbs(mean.saturating_sub(packets)), verbs(packets.saturating_sub(mean)))
    }
}
