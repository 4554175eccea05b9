//! max(Ton): how long a port that is paused on and off can stay ON, and therefore when TCD believes it released.
//!
//! Reference: TCD (SIGCOMM 2021), Eqns (1) to (4), §4.3 for PFC and §4.4 for credits.
//!
//! ```text
//!   ingress queue        τ   time of the feedback loop
//!   B1 ─ ─ ─ ─ ─╱╲─ ─    Ton = (B1 − B0 + τ·Rd) / (Ri − Rd) + τ                        (1)
//!             ╱    ╲     ε = (Ri − Rd)/C, Rd ≤ C/2:
//!   B0 ─ ─ ─╱─ ─ ─ ─╲    max(Ton) = [2(B1 − B0) + τ·C] / (2·ε·C) + τ                  (3)
//!           ON    OFF    τ = 2·MTU/C + 2·tp
//!
//!   credits:               Ton = Rd·Tc / Ri < Tc,  hence max(Ton) = Tc                (4)
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | C, tp | bit/s, ps | of the link | – |
//! | MTU | B | 1 000 | paper §4.3 |
//! | B1 − B0 | B | Xoff − Xon = 2 MTU | paper §4.2 |
//! | ε | 1 | 0.05 | paper §5.1.4 |
//!
//! Everything is exact in integers (ε in millionths) and rounded up once, to the picosecond. The authors' 97 µs
//! comes from [`max_ton_authors`]: τ = 2·tp without the two packets, a gap of 2·1030 B, whole microseconds.
use core::fmt;

use backwater_units::{Bytes, PS_PER_S, Rate, Span};

use crate::ConfigError;
use crate::error::require;

/// max(Ton) with the quantities it was made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaxTon {
    /// C.
    pub rate: Rate,
    /// tp, one way.
    pub delay: Span,
    /// Largest packet on the wire.
    pub mtu: Bytes,
    /// B1 − B0.
    pub gap: Bytes,
    /// ε in millionths.
    pub epsilon_ppm: u32,
    /// Response time of the feedback loop.
    pub tau: Span,
    /// The result.
    pub max_ton: Span,
}

/// One line of the derivation; its `Display` is meant for people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Time of one packet on the wire.
    Packet(MaxTon),
    /// The feedback loop.
    Tau(MaxTon),
    /// The distance between the thresholds.
    Gap(MaxTon),
    /// The least rate at which the queue must grow for the estimate to hold.
    Growth(MaxTon),
    /// Eqn (3).
    MaxTon(MaxTon),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packet(t) => write!(f, "MTU/C = {} / {} = {}", t.mtu, t.rate, t.rate.serialize(t.mtu)),
            Self::Tau(t) => {
                let packet = t.rate.serialize(t.mtu);
                write!(f, "tau = 2 MTU/C + 2 tp = 2*{packet} + 2*{} = {}", t.delay, t.tau)
            }
            Self::Gap(t) => write!(f, "B1 - B0 = Xoff - Xon = {}", t.gap),
            Self::Growth(t) => {
                let growth = u128::from(t.rate.as_bps()) * u128::from(t.epsilon_ppm) / u128::from(PPM);
                let growth = Rate::from_bps(growth as u64);
                write!(f, "Ri - Rd = epsilon C = {} * {} = {growth}", f64::from(t.epsilon_ppm) / 1e6, t.rate)
            }
            Self::MaxTon(t) => {
                write!(f, "max(Ton) = [2 (B1 - B0) + tau C] / (2 epsilon C) + tau = {}", t.max_ton)
            }
        }
    }
}

impl MaxTon {
    /// The derivation, line by line.
    pub const fn steps(self) -> [Step; 5] {
        [Step::Packet(self), Step::Tau(self), Step::Gap(self), Step::Growth(self), Step::MaxTon(self)]
    }
}

const PPM: u64 = 1_000_000;

/// ε as millionths; refuses what is not in (0, 1].
fn parts_per_million(epsilon: f64) -> Result<u32, ConfigError> {
    let ppm = (epsilon * 1e6 + 0.5) as u32;
    let good = epsilon <= 1.0 && ppm >= 1;
    require(good, "epsilon", epsilon, "between 0.000001 and 1", "the paper recommends 0.05")?;
    Ok(ppm)
}

/// Eqn (3) in ps: ⌈([2·gap + τC] / (2εC) + τ)⌉, where τ is `tau_bits / C` seconds.
fn eqn_3(rate: Rate, gap: Bytes, tau_bits_ps: u128, epsilon_ppm: u32) -> Span {
    let two_epsilon = 2 * u128::from(epsilon_ppm);
    let gap_bits_ps = 16 * u128::from(gap.get()) * u128::from(PS_PER_S);
    let numerator = (gap_bits_ps + tau_bits_ps) * u128::from(PPM) + tau_bits_ps * two_epsilon;
    let ps = numerator.div_ceil(two_epsilon * u128::from(rate.as_bps()));
    Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
}

/// max(Ton) of a port of `rate` whose link takes `delay` one way, for packets of `mtu` and PFC thresholds that
/// are `gap` apart; `epsilon` is the least congestion degree that is to be distinguished from none.
pub fn max_ton(rate: Rate, delay: Span, mtu: Bytes, gap: Bytes, epsilon: f64) -> Result<MaxTon, ConfigError> {
    require(rate > Rate::ZERO, "rate", rate, "above 0bps", "give the rate of the port, such as 40Gbps")?;
    let epsilon_ppm = parts_per_million(epsilon)?;
    let loop_bits_ps = 2 * u128::from(delay.as_ps()) * u128::from(rate.as_bps());
    let tau_bits_ps = 16 * u128::from(mtu.get()) * u128::from(PS_PER_S) + loop_bits_ps;
    let tau = Span::from_ps(tau_bits_ps.div_ceil(u128::from(rate.as_bps())) as u64);
    let max_ton = eqn_3(rate, gap, tau_bits_ps, epsilon_ppm);
    Ok(MaxTon { rate, delay, mtu, gap, epsilon_ppm, tau, max_ton })
}

/// Eqn (3) with a given τ, as in the plane of Fig. 8.
pub fn max_ton_with_tau(rate: Rate, tau: Span, gap: Bytes, epsilon: f64) -> Result<Span, ConfigError> {
    require(rate > Rate::ZERO, "rate", rate, "above 0bps", "give the rate of the port, such as 40Gbps")?;
    let tau_bits_ps = u128::from(tau.as_ps()) * u128::from(rate.as_bps());
    Ok(eqn_3(rate, gap, tau_bits_ps, parts_per_million(epsilon)?))
}

/// The value that the authors' release would be given: τ = 2·`delay`, rounded up to whole microseconds.
pub fn max_ton_authors(rate: Rate, delay: Span, gap: Bytes, epsilon: f64) -> Result<Span, ConfigError> {
    let exact = max_ton_with_tau(rate, delay * 2, gap, epsilon)?;
    Ok(Span::from_us(exact.as_ps().div_ceil(1_000_000)))
}

/// Eqn (1): the ON period of a flow that arrives at `input` and drains at `drain`; `None` if it never ends.
pub fn fluid_ton(gap: Bytes, tau: Span, input: Rate, drain: Rate) -> Option<Span> {
    fluid(gap, tau, drain, input.as_bps().checked_sub(drain.as_bps())?)
}

/// The OFF period of the same model: (B1 − B0 + τ(Ri − Rd))/Rd + τ; `None` if the queue never drains.
pub fn fluid_toff(gap: Bytes, tau: Span, input: Rate, drain: Rate) -> Option<Span> {
    let growth = Rate::from_bps(input.as_bps().checked_sub(drain.as_bps())?);
    fluid(gap, tau, growth, drain.as_bps())
}

/// Eqn (4): the ON period under credits that come back every `tc`, of a flow that arrives at `input` and drains at
/// `drain`: Rd·Tc/Ri, rounded up. The whole `tc` if it drains as fast as it comes.
pub const fn credits_on_period(tc: Span, input: Rate, drain: Rate) -> Span {
    if drain.as_bps() >= input.as_bps() {
        return tc;
    }
    let on = tc.as_ps() as u128 * drain.as_bps() as u128;
    Span::from_ps(on.div_ceil(input.as_bps() as u128) as u64)
}

/// (gap + τ·overshoot) / slope + τ, rounded up.
fn fluid(gap: Bytes, tau: Span, overshoot: Rate, slope: u64) -> Option<Span> {
    if slope == 0 {
        return None;
    }
    let gap_bits_ps = 8 * u128::from(gap.get()) * u128::from(PS_PER_S);
    let overshoot_bits_ps = u128::from(tau.as_ps()) * u128::from(overshoot.as_bps());
    let ps = (gap_bits_ps + overshoot_bits_ps).div_ceil(u128::from(slope));
    u64::try_from(ps).ok().map(|ps| Span::from_ps(ps) + tau)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: Bytes = Bytes::new(1_000);

    fn paper(gbps: u64, delay_us: u64, epsilon: f64) -> MaxTon {
        max_ton(Rate::from_gbps(gbps), Span::from_us(delay_us), MTU, MTU * 2, epsilon).unwrap()
    }

    #[test]
    fn the_three_values_of_section_4_3_come_out_to_the_last_digit() {
        let shown = [40, 100, 200].map(|gbps| paper(gbps, 1, 0.05));
        assert_eq!(shown.map(|t| t.max_ton.as_ps()), [34_400_000, 26_960_000, 24_480_000]);
        assert_eq!(shown.map(|t| t.tau.as_ps()), [2_400_000, 2_160_000, 2_080_000]);
    }

    #[test]
    fn at_40_gbps_and_4_us_the_formula_gives_100_4_us() {
        let sweep = [0.02, 0.05, 0.1, 0.2, 0.5].map(|epsilon| paper(40, 4, epsilon).max_ton.as_ps());
        // τ = 8.4 µs; (32 000 + 336 000 bit)/(2ε · 40 000 bit/µs) + 8.4 µs
        assert_eq!(sweep, [238_400_000, 100_400_000, 54_400_000, 31_400_000, 17_600_000]);
    }

    #[test]
    fn the_sweep_with_the_authors_quantities_goes_from_450_to_17_us_through_their_97() {
        let sweep = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5].map(|epsilon| {
            let gap = Bytes::new(2 * 1_030);
            max_ton_authors(Rate::from_gbps(40), Span::from_us(4), gap, epsilon).unwrap()
        });
        // (32 960 + 320 000 bit)/(2ε · 40 000 bit/µs) + 8 µs = 449.2, 228.6, 96.24, 52.12, 30.06, 16.824, rounded up
        assert_eq!(sweep, [450, 229, 97, 53, 31, 17].map(Span::from_us));
    }

    #[test]
    fn the_flat_plane_of_figure_8_lies_at_96_us() {
        let plane = max_ton_with_tau(Rate::from_gbps(40), Span::from_us(8), MTU * 2, 0.05);
        assert_eq!(plane, Ok(Span::from_us(96)));
    }

    #[test]
    fn equation_1_meets_the_plane_where_the_flow_drains_at_half_the_link() {
        let (gap, tau) = (MTU * 2, Span::from_us(8));
        let ton = fluid_ton(gap, tau, Rate::from_gbps(22), Rate::from_gbps(20));
        assert_eq!(ton, Some(Span::from_us(96)));
        // (16 000 bit + 8 µs · 20G)/20G + 8 µs with Ri − Rd = 20G: 0.8 + 8 + 8
        let toff = fluid_toff(gap, tau, Rate::from_gbps(40), Rate::from_gbps(20));
        assert_eq!(toff, Some(Span::from_ps(16_800_000)));
    }

    #[test]
    fn a_flow_that_drains_as_fast_as_it_comes_is_never_paused() {
        let tau = Span::from_us(8);
        assert_eq!(fluid_ton(MTU, tau, Rate::from_gbps(20), Rate::from_gbps(20)), None);
        assert_eq!(fluid_ton(MTU, tau, Rate::from_gbps(5), Rate::from_gbps(20)), None);
        assert_eq!(fluid_toff(MTU, tau, Rate::from_gbps(5), Rate::ZERO), None);
    }

    #[test]
    fn under_credits_a_flow_is_on_for_the_share_of_tc_that_it_drains() {
        let (tc, input) = (Span::from_us(50), Rate::from_gbps(32));
        // A quarter of the rate: 12.5 µs of 50.
        assert_eq!(credits_on_period(tc, input, Rate::from_gbps(8)), Span::from_ns(12_500));
        assert_eq!(credits_on_period(tc, input, input), tc);
        assert_eq!(credits_on_period(tc, input, Rate::ZERO), Span::ZERO);
        assert_eq!(credits_on_period(tc, Rate::ZERO, Rate::ZERO), tc);
        // ε = 0.05, Rd = C/2: a little less than Tc, the bound that TCD uses.
        let slow = credits_on_period(tc, Rate::from_mbps(17_600), Rate::from_gbps(16));
        assert_eq!(slow, Span::from_ps(45_454_546));
    }

    #[test]
    fn an_epsilon_of_zero_has_no_longest_on_period() {
        for epsilon in [0.0, -0.05, 1.5, f64::NAN] {
            let refused = max_ton(Rate::from_gbps(40), Span::from_us(1), MTU, MTU, epsilon);
            assert_eq!(refused.unwrap_err().parameter, "epsilon");
        }
    }

    #[test]
    fn the_derivation_can_be_read_line_by_line() {
        let lines = paper(40, 1, 0.05).steps().map(|step| step.to_string());
        assert_eq!(lines[1], "tau = 2 MTU/C + 2 tp = 2*200ns + 2*1us = 2.4us");
        assert_eq!(lines[3], "Ri - Rd = epsilon C = 0.05 * 40Gbps = 2Gbps");
        assert!(lines[4].ends_with("= 34.4us"));
    }
}
