//! How fast a host drains its receive queue at which time: pieces of constant rate, known one after the other.
use backwater_engine::{Stream, stream, uniform};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::ports::LONGEST_RUN;
use crate::spec::DrainSpec;

/// Purpose of the random streams of intervals; entity: the host's node.
const INTERVALS: u64 = 0xd7a1;

/// The piece at hand, and what comes after it.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Schedule {
    /// Bit/s.
    pub(super) rate: u64,
    /// End of the piece, exclusive; `u64::MAX` if it is the last.
    pub(super) until: u64,
    rest: Rest,
}

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
enum Rest {
    Nothing,
    OnOff(OnOff),
    /// Pieces after the one at hand, the next one last.
    Trace(Vec<(u64, u64)>),
}

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct OnOff {
    high: bool,
    /// (bit/s, picoseconds or their mean), low and high.
    phases: [(u64, u64); 2],
    /// With the standard deviation of the logarithm.
    random: Option<(Stream, f64)>,
}

impl Schedule {
    pub(crate) fn new(spec: &DrainSpec, seed: u64, node: u32) -> Self {
        match spec {
            DrainSpec::Constant(rate) => Self::constant(rate.as_bps()),
            DrainSpec::OnOff { high, low, .. } if high == low => Self::constant(high.as_bps()),
            DrainSpec::OnOff { high, low, high_for, low_for, sigma } => {
                let phase = |rate: u64, span: u64| (rate, span.clamp(1, LONGEST_RUN));
                let mut on_off = OnOff {
                    high: true,
                    phases: [phase(low.as_bps(), low_for.as_ps()), phase(high.as_bps(), high_for.as_ps())],
                    random: sigma.map(|sigma| (stream(seed, INTERVALS, u64::from(node)), sigma)),
                };
                let until = on_off.draw();
                Self { rate: high.as_bps(), until, rest: Rest::OnOff(on_off) }
            }
            DrainSpec::Trace(pieces) => {
                let mut rest: Vec<(u64, u64)> =
                    pieces.iter().rev().map(|(from, rate)| (from.as_ps(), rate.as_bps())).collect();
                let (_, rate) = rest.pop().expect("a trace has at least one piece");
                let until = rest.last().map_or(u64::MAX, |(from, _)| *from);
                Self { rate, until, rest: Rest::Trace(rest) }
            }
        }
    }

    fn constant(rate: u64) -> Self {
        Self { rate, until: u64::MAX, rest: Rest::Nothing }
    }

    /// Goes on to the next piece, if there is one.
    pub(crate) fn turn(&mut self) {
        match &mut self.rest {
            Rest::Nothing => {}
            Rest::OnOff(on_off) => {
                on_off.high = !on_off.high;
                self.rate = on_off.phases[usize::from(on_off.high)].0;
                // Never the last one, however long it lasts.
                self.until = (self.until + on_off.draw()).min(u64::MAX - 1 - LONGEST_RUN);
            }
            Rest::Trace(rest) => {
                if let Some((_, rate)) = rest.pop() {
                    self.rate = rate;
                    self.until = rest.last().map_or(u64::MAX, |(from, _)| *from);
                }
            }
        }
    }

    /// Goes on to the piece that `now` is in.
    pub(crate) fn go_to(&mut self, now: u64) {
        if let Rest::OnOff(OnOff { random: None, phases, .. }) = &self.rest {
            let period = phases[0].1 + phases[1].1;
            self.until += now.saturating_sub(self.until) / period * period;
        }
        while self.until <= now {
            self.turn();
        }
    }
}

impl OnOff {
    /// How long the phase that begins lasts.
    fn draw(&mut self) -> u64 {
        let (_, span) = self.phases[usize::from(self.high)];
        let Some((random, sigma)) = &mut self.random else {
            return span;
        };
        // The mean of exp(sigma z - sigma² / 2) is 1.
        let factor = libm::exp(*sigma * normal(random) - *sigma * *sigma / 2.0);
        ((span as f64 * factor) as u64).clamp(1, LONGEST_RUN)
    }
}

/// A standard normal random number (Box and Muller, 1958).
fn normal(random: &mut Stream) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - uniform(random)));
    radius * libm::cos(std::f64::consts::TAU * uniform(random))
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_units::{Rate, Span, Time};

    fn pieces(mut schedule: Schedule, count: usize) -> Vec<(u64, u64)> {
        let mut pieces = Vec::new();
        for _ in 0..count {
            pieces.push((schedule.rate, schedule.until));
            schedule.turn();
        }
        pieces
    }

    fn on_off(sigma: Option<f64>) -> DrainSpec {
        let (high, low) = (Rate::from_bps(7), Rate::ZERO);
        DrainSpec::OnOff { high, low, high_for: Span::from_us(30), low_for: Span::from_us(10), sigma }
    }

    #[test]
    fn a_fixed_pattern_is_high_first_and_its_phases_add_up() {
        let us = 1_000_000;
        let got = pieces(Schedule::new(&on_off(None), 1, 1), 4);
        assert_eq!(got, [(7, 30 * us), (0, 40 * us), (7, 70 * us), (0, 80 * us)]);
        for (now, rate, until) in [(29, 7, 30), (30, 0, 40), (40, 7, 70), (4_000_039, 0, 4_000_040)] {
            let mut schedule = Schedule::new(&on_off(None), 1, 1);
            schedule.go_to(now * us);
            assert_eq!((schedule.rate, schedule.until), (rate, until * us), "{now}");
        }
    }

    #[test]
    fn drawn_intervals_have_the_mean_and_spread_of_their_log_normal_distribution() {
        let got = pieces(Schedule::new(&on_off(Some(0.5)), 1, 1), 40_000);
        let mut spans = [Vec::new(), Vec::new()];
        let mut before = 0;
        for (rate, until) in got {
            spans[usize::from(rate > 0)].push((until - before) as f64);
            before = until;
        }
        for (spans, mean) in spans.iter().zip([10e6, 30e6]) {
            let n = spans.len() as f64;
            let logs: Vec<f64> = spans.iter().map(|span| libm::log(span / mean)).collect();
            let (m, log) = (spans.iter().sum::<f64>() / n / mean, logs.iter().sum::<f64>() / n);
            let spread = logs.iter().map(|l| (l - log) * (l - log)).sum::<f64>() / n;
            // Of 20 000 draws: the mean within five standard errors of sqrt(e^0.25 - 1) / sqrt(n) = 0.0038.
            assert!((m - 1.0).abs() < 0.019, "{m}");
            // The median of the logarithm is -sigma²/2, its variance sigma²; standard errors 0.0035 and 0.0025.
            assert!((log + 0.125).abs() < 0.018 && (spread - 0.25).abs() < 0.0125, "{log} {spread}");
        }
    }

    #[test]
    fn two_hosts_draw_different_intervals_and_the_same_host_the_same() {
        let of = |node| pieces(Schedule::new(&on_off(Some(1.0)), 1, node), 8);
        assert_eq!(of(3), of(3));
        assert_ne!(of(3), of(4));
    }

    #[test]
    fn a_trace_holds_its_last_rate_for_ever_and_its_first_from_the_beginning() {
        let at = |us, bps| (Time::ZERO + Span::from_us(us), Rate::from_bps(bps));
        let trace = DrainSpec::Trace(vec![at(5, 10), at(8, 20), at(9, 0)]);
        let got = pieces(Schedule::new(&trace, 1, 1), 4);
        assert_eq!(got, [(10, 8_000_000), (20, 9_000_000), (0, u64::MAX), (0, u64::MAX)]);
    }
}
