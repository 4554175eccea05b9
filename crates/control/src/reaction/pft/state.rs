//! Normal and Congested: when the state changes, in closed form.
use backwater_units::{Span, Time};

use super::{PftConfig, Polarity, StateRule, Transition, Windows};

const PS_PER_S: u64 = 1_000_000_000_000;

/// State and registers of FT or AT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub(super) struct Machine {
    /// AT: the next sample.
    sample: u64,
    /// How long the state was Congested: AT: in samples; FT: in ps, without the time since it was entered last.
    held: u64,
    entered: u64,
    /// FT: when the state changed last.
    since: Time,
    /// AT: samples in this window.
    cycles: u32,
    /// AT: hits among them.
    hits: u32,
    congested: bool,
}

impl Machine {
    pub(super) const fn new() -> Self {
        Self { sample: 0, held: 0, entered: 0, since: Time::ZERO, cycles: 0, hits: 0, congested: false }
    }

    #[inline]
    pub(super) const fn congested(&self) -> bool {
        self.congested
    }

    #[inline]
    pub(super) const fn entered(&self) -> u64 {
        self.entered
    }

    pub(super) fn congested_for(&self, config: &PftConfig, now: Time) -> Span {
        match config.rule {
            StateRule::Fixed { .. } if self.congested => {
                Span::from_ps(self.held.saturating_add(now.since(self.since).as_ps()))
            }
            StateRule::Fixed { .. } => Span::from_ps(self.held),
            StateRule::Average { .. } => {
                let ps = u128::from(self.held) * u128::from(PS_PER_S) / u128::from(config.clock);
                Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
            }
        }
    }

    /// FT: c has changed at `now`. Whether Congested was left.
    #[inline]
    pub(super) fn changed(&mut self, config: &PftConfig, c: u32, now: Time) -> bool {
        if !matches!(config.rule, StateRule::Fixed { .. }) || !hit(config, self.congested, c) {
            return false;
        }
        if self.congested {
            self.held = self.held.saturating_add(now.since(self.since).as_ps());
        }
        self.since = now;
        self.turn();
        !self.congested
    }

    /// AT: takes all samples before `now`, which see `c`. Whether Congested was left meanwhile.
    #[inline]
    pub(super) fn advance(&mut self, config: &PftConfig, c: u32, now: Time) -> bool {
        if matches!(config.rule, StateRule::Fixed { .. }) {
            return false;
        }
        let due = samples_before(now, config.clock);
        due > self.sample && self.take(config, c, due)
    }

    fn take(&mut self, config: &PftConfig, c: u32, due: u64) -> bool {
        let mut left = false;
        while let Some(windows) = config.rule.windows(self.congested)
            && self.take_until_turn(windows, hit(config, self.congested, c), due)
        {
            left |= !self.congested;
            if hit(config, true, c) && hit(config, false, c) {
                self.skip_rounds(config, due);
            }
        }
        left
    }

    /// Between two thresholds that are the wrong way round the state alternates: all whole rounds up to sample `due` at once.
    fn skip_rounds(&mut self, config: &PftConfig, due: u64) {
        let hits = |congested| config.rule.windows(congested).map_or(1, |windows| u64::from(windows.hits));
        let (normal, congested) = (hits(false), hits(true));
        let rounds = (due - self.sample) / (normal + congested);
        self.sample += rounds * (normal + congested);
        self.entered += rounds;
        self.held += rounds * congested;
    }

    /// AT: the first change of state by a sample before `now`.
    pub(super) fn step(&mut self, config: &PftConfig, c: u32, now: Time) -> Option<Transition> {
        let windows = config.rule.windows(self.congested)?;
        let due = samples_before(now, config.clock);
        if due <= self.sample || !self.take_until_turn(windows, hit(config, self.congested, c), due) {
            return None;
        }
        Some(Transition { time: time_of(self.sample - 1, config.clock), congested: self.congested })
    }

    /// Takes samples up to `due`, or to the one that changes the state. Whether it has.
    #[inline]
    fn take_until_turn(&mut self, windows: Windows, hit: bool, due: u64) -> bool {
        let samples = due - self.sample;
        if hit {
            let wait = self.until_turn(windows);
            if wait <= samples {
                self.pass(wait);
                self.turn();
                return true;
            }
        }
        self.pass(samples);
        let cycles = u64::from(self.cycles) + samples;
        if cycles < u64::from(windows.window) {
            self.cycles = cycles as u32;
            self.hits += if hit { samples as u32 } else { 0 };
        } else {
            self.cycles = (cycles % u64::from(windows.window)) as u32;
            self.hits = if hit { self.cycles } else { 0 };
        }
        false
    }

    /// Samples until the state changes, if all of them are hits: in this window if there is room for them in it, else in the next.
    #[inline]
    fn until_turn(&self, windows: Windows) -> u64 {
        let (left, missing) = (windows.window - self.cycles, windows.hits - self.hits);
        if missing <= left { u64::from(missing) } else { u64::from(left) + u64::from(windows.hits) }
    }

    fn pass(&mut self, samples: u64) {
        self.sample += samples;
        if self.congested {
            self.held += samples;
        }
    }

    fn turn(&mut self) {
        self.congested = !self.congested;
        self.entered += u64::from(self.congested);
        (self.cycles, self.hits) = (0, 0);
    }

    /// The first picosecond in which another state is in force if c stays; [`Time::MAX`] for never.
    pub(super) fn next(&self, config: &PftConfig, c: u32) -> Time {
        match config.rule.windows(self.congested) {
            Some(windows) if hit(config, self.congested, c) => {
                let sample = self.sample.saturating_add(self.until_turn(windows) - 1);
                time_of(sample, config.clock).saturating_add(Span::from_ps(1))
            }
            _ => Time::MAX,
        }
    }
}

/// Whether this c speaks for the other state.
#[inline]
const fn hit(config: &PftConfig, congested: bool, c: u32) -> bool {
    let (enter, escape) = config.rule.thresholds();
    match config.polarity {
        Polarity::Used if congested => c < escape,
        Polarity::Used => c > enter,
        Polarity::Available if congested => config.capacity.saturating_sub(c) > escape,
        Polarity::Available => config.capacity.saturating_sub(c) < enter,
    }
}

/// Sample k is taken in the first picosecond that is not before k cycles.
fn time_of(sample: u64, clock: u64) -> Time {
    let ps = match sample.checked_mul(PS_PER_S) {
        Some(scaled) => Some(scaled.div_ceil(clock)),
        None => u64::try_from((u128::from(sample) * u128::from(PS_PER_S)).div_ceil(u128::from(clock))).ok(),
    };
    Time::from_ps(ps.unwrap_or(u64::MAX))
}

/// Samples taken in picoseconds before `now`: those up to number ⌊(now − 1) clock⌋.
#[inline]
fn samples_before(now: Time, clock: u64) -> u64 {
    let Some(last) = now.as_ps().checked_sub(1) else { return 0 };
    1 + match last.checked_mul(clock) {
        Some(scaled) => scaled / PS_PER_S,
        // A cycle is at least a picosecond, so there are not more of them than of these.
        None => (u128::from(last) * u128::from(clock) / u128::from(PS_PER_S)) as u64,
    }
}
