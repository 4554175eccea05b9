//! The gap after a packet in Congested: how long the link stays idle.
use backwater_units::{Span, Time};

use super::draw::failures;
use super::law::{blocked, interval, mean, scaled};
use super::{PftConfig, RateLaw};

/// What is left of a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub(super) struct Gap {
    /// It passes from here on.
    from: Time,
    /// So long, in ps, if c stays what it was judged by.
    rest: u64,
    /// The c that it was judged by.
    by: u32,
    /// c is so large that it does not pass at all.
    stopped: bool,
}

impl Gap {
    /// The link may be used.
    pub(super) const NONE: Self = Self { from: Time::ZERO, rest: 0, by: 0, stopped: false };

    /// After a packet of `flits` flits that started when `c` were in use and leaves the wire free at `end`.
    pub(super) fn after(
        config: &PftConfig,
        end: Time,
        c: u32,
        flits: u32,
        random: &mut impl FnMut() -> f64,
    ) -> Self {
        if blocked(config, c) {
            // Only whoever did not ask for the gate gets here; it has nothing to wait for but a smaller c.
            return Self::NONE;
        }
        let rest = match config.law {
            RateLaw::RandomInterval { bits } => {
                let range = (1u64 << bits) as f64;
                let (fails, goes) = mean(config, c);
                config.cycles(failures(flits, goes as f64 / range, fails as f64 / range, random).into(), 1)
            }
            RateLaw::FixedInterval | RateLaw::MeanInterval { .. } => {
                let (idle, parts) = mean(config, c);
                config.cycles(u128::from(flits) * u128::from(idle), parts)
            }
        };
        Self { from: end, rest, by: c, stopped: false }
    }

    /// c changes at `now`.
    #[inline]
    pub(super) fn judge(&mut self, config: &PftConfig, now: Time, c: u32) {
        if self.rest == 0 {
            return;
        }
        if now > self.from {
            if !self.stopped {
                self.rest = self.rest.saturating_sub(now.since(self.from).as_ps());
            }
            self.from = now;
        }
        self.stopped = blocked(config, c);
        if !self.stopped && self.rest > 0 && interval(config, c) != interval(config, self.by) {
            self.rest = scaled(config, self.rest, self.by, c);
            self.by = c;
        }
    }

    /// When the link may be used again if c stays and is not so large that nothing leaves.
    #[inline]
    pub(super) const fn end(&self) -> Time {
        self.from.saturating_add(Span::from_ps(self.rest))
    }
}
