//! Feasibility: how much buffer a link under credits needs so that one flow can hold line rate.
//!
//! Reference: TCD (SIGCOMM 2021) §4.4 (B > C·Tc); the other terms follow from the registers of CBFC, as derived here.
//!
//! ```text
//!   upstream    │ starts          last start on the old credit │
//!               │╲                                            ╱│ tp + frame
//!   downstream  │ ╲tp│ in │ out │ freed ... Tc ... │ 1 packet │   next update leaves
//!               ├────────────────────── W ─────────────────────┤
//! ```
//! A packet takes credit when it starts. Its units are free when its last byte has left the next switch, are advertised by the
//! first update that is composed after that, and can be used when that update has arrived. All this time, W in the worst
//! phase, the flow goes on: buffer for every packet that starts within W must be there.
//!
//! | term of W | unit | source |
//! |---|---|---|
//! | Tc | ps | the time to the next update; 0 if credits come back at once |
//! | 2 tp | ps | data one way, update the other |
//! | 3 MTU/C | ps | the packet comes in completely, leaves completely; the update waits for the packet on its wire |
//! | 3 frames/C | ps | the update itself; two of the other direction, before which the packet may have to wait when it leaves |
//!
//! In a closed interval of length W there start at most ⌊W·C/MTU⌋ + 1 packets back to back, of ⌈MTU/unit⌉ units each. Thus
//! B ≥ (⌊C·(Tc + 2 tp)/MTU + 3 + 3 frames/MTU⌋ + 1) · ⌈MTU/unit⌉ units: the paper's C·Tc, the cable's 2·tp·C, and four packets.
//! Everything is exact in integers.
//!
//! Known deviations: cut-through needs up to one packet less, and hosts one packet less, as they free what has come in; both get
//! the same answer. Flows of smaller packets hold line rate if those fill their last block as well as the largest one.
use core::fmt;

use backwater_units::{Bytes, PS_PER_S, Rate, Span};

use super::{CreditReturn, Unit};

/// Packets in W besides those in C·(Tc + 2 tp): one comes in, one leaves, one keeps the update waiting.
const PACKETS: u64 = 3;
/// Updates in W: the one that is awaited, and two of the other direction.
const FRAMES: u64 = 3;
/// Picoseconds times bit/s in a byte.
const BYTE: u128 = 8 * PS_PER_S as u128;

/// The buffer that a virtual lane of a link needs, with the quantities it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feasibility {
    /// C.
    pub rate: Rate,
    /// tp, one way.
    pub delay: Span,
    /// Tc; zero if credits come back at once.
    pub period: Span,
    /// Largest packet on the wire.
    pub mtu: Bytes,
    /// An update on the wire.
    pub frame: Bytes,
    /// What a credit stands for.
    pub unit: Unit,
    /// C·(Tc + 2 tp), a started byte counted.
    pub in_loop: Bytes,
    /// Packets that may start before the credit of the first of them is back.
    pub packets: u64,
    /// The least buffer, in whole units.
    pub needed: Bytes,
}

/// One line of the derivation; its `Display` is meant for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FeasibilityStep {
    /// The time for which credit is under way or not yet advertised.
    Loop(Feasibility),
    /// What a flow at line rate sends in that time.
    InLoop(Feasibility),
    /// What the packets in hand and the updates add.
    Extra(Feasibility),
    /// Whole packets.
    Packets(Feasibility),
    /// Whole units.
    Needed(Feasibility),
}

impl fmt::Display for FeasibilityStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loop(t) => {
                write!(f, "Tc + 2 tp = {} + 2*{} = {}", t.period, t.delay, t.period + t.delay * 2)
            }
            Self::InLoop(t) => {
                write!(f, "C (Tc + 2 tp) = {} * {} = {}", t.rate, t.period + t.delay * 2, t.in_loop)
            }
            Self::Extra(t) => {
                let (packets, frames) = (t.mtu * PACKETS, t.frame * FRAMES);
                write!(
                    f,
                    "3 MTU (one comes in, one leaves, one delays the update) + 3 updates = 3*{} + 3*{} = {}",
                    t.mtu,
                    t.frame,
                    packets + frames
                )
            }
            Self::Packets(t) => {
                let sum = t.in_loop + t.mtu * PACKETS + t.frame * FRAMES;
                write!(
                    f,
                    "whole packets, and the one that starts = floor({sum} / {}) + 1 = {}",
                    t.mtu, t.packets
                )
            }
            Self::Needed(t) => {
                let (each, unit) = (units(t.mtu, t.unit), t.unit.size());
                let name = if t.unit == Unit::BLOCK { "blocks" } else { "units" };
                write!(f, "buffer >= {} * {each} {name} of {unit} = {}", t.packets, t.needed)
            }
        }
    }
}

impl Feasibility {
    /// The derivation, line by line.
    pub const fn steps(self) -> [FeasibilityStep; 5] {
        use FeasibilityStep::{Extra, InLoop, Loop, Needed, Packets};
        [Loop(self), InLoop(self), Extra(self), Packets(self), Needed(self)]
    }
}

/// Units of a packet.
const fn units(mtu: Bytes, unit: Unit) -> u64 {
    mtu.get().div_ceil(unit.size().get())
}

/// The buffer of one virtual lane that lets one flow hold line rate whatever the phase of the updates, for a link of `rate`
/// and one-way `delay` and packets up to `mtu` (at least 1 B). `frame` is what the updates of all virtual lanes take that leave
/// together, and a credit stands for a `unit`.
pub fn feasibility(
    rate: Rate,
    delay: Span,
    returned: CreditReturn,
    mtu: Bytes,
    frame: Bytes,
    unit: Unit,
) -> Feasibility {
    let period = match returned {
        CreditReturn::Periodic(period) => period,
        CreditReturn::AtOnce => Span::ZERO,
    };
    let time = u128::from(period.as_ps()) + 2 * u128::from(delay.as_ps());
    let in_loop = time * u128::from(rate.as_bps());
    let extra = u128::from((mtu * PACKETS + frame * FRAMES).get()) * BYTE;
    let mtu = Bytes::new(mtu.get().max(1));
    let packets = saturate((in_loop + extra) / (u128::from(mtu.get()) * BYTE) + 1);
    let needed = packets.saturating_mul(units(mtu, unit)).saturating_mul(unit.size().get());
    let in_loop = Bytes::new(saturate(in_loop.div_ceil(BYTE)));
    Feasibility { rate, delay, period, mtu, frame, unit, in_loop, packets, needed: Bytes::new(needed) }
}

/// The longest Tc for which `buffer` suffices; `None` if it does not even for credits that come back at once.
pub fn longest_period(
    rate: Rate,
    delay: Span,
    buffer: Bytes,
    mtu: Bytes,
    frame: Bytes,
    unit: Unit,
) -> Option<Span> {
    let mtu = Bytes::new(mtu.get().max(1));
    let packets = unit.within(buffer) / units(mtu, unit);
    // (Tc + 2 tp)·C + 3 MTU + 3 frames < packets · MTU
    let room = u128::from(packets) * u128::from(mtu.get());
    let room = room.checked_sub(u128::from((mtu * PACKETS + frame * FRAMES).get()))? * BYTE;
    let time = room.div_ceil(u128::from(rate.as_bps()).max(1)).checked_sub(1)?;
    let period = time.checked_sub(2 * u128::from(delay.as_ps()))?;
    Some(Span::from_ps(saturate(period)))
}

/// Beyond 16 EiB or 213 days everything is the same.
fn saturate(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: Bytes = Bytes::new(2_048);
    const FRAME: Bytes = Bytes::new(8);

    fn need(gbps: u64, delay: Span, returned: CreditReturn) -> Feasibility {
        feasibility(Rate::from_gbps(gbps), delay, returned, MTU, FRAME, Unit::BLOCK)
    }

    #[test]
    fn at_32_gbps_4_us_and_a_period_of_50_us_the_280_kb_of_the_paper_suffice() {
        // 58 µs · 4 B/ns = 232 000 B; 6 144 B of packets, 24 B of updates; 238 168/2 048 = 116.3: 117 packets.
        let need = need(32, Span::from_us(4), CreditReturn::Periodic(Span::from_us(50)));
        assert_eq!((need.in_loop.get(), need.packets, need.needed.get()), (232_000, 117, 239_616));
    }

    #[test]
    fn with_280_kb_the_period_may_be_60_us_at_32_gbps_and_46_us_at_40_gbps() {
        // 136 whole packets of 2 048 B fit; (136 − 3) · 2 048 − 24 = 272 360 B: 68.09 µs at 4 B/ns, 54.472 µs at 5 B/ns,
        // less 8 µs on the cable, and less than that.
        let of = |gbps| {
            let (rate, buffer) = (Rate::from_gbps(gbps), Bytes::from_kb(280));
            longest_period(rate, Span::from_us(4), buffer, MTU, FRAME, Unit::BLOCK)
        };
        assert_eq!(of(32), Some(Span::from_ps(60_089_999)));
        assert_eq!(of(40), Some(Span::from_ps(46_471_999)));
    }

    #[test]
    fn credits_that_come_back_at_once_need_the_cable_and_four_packets() {
        // 100 m of cable at 100 Gbps: 2 · 500 ns · 12.5 B/ns = 12 500 B; + 6 144 + 24: 9.1 packets, and the one that starts.
        let need = need(100, Span::from_ns(500), CreditReturn::AtOnce);
        assert_eq!((need.packets, need.needed.get()), (10, 20_480));
        let none = need.needed - Bytes::new(1);
        assert_eq!(longest_period(need.rate, need.delay, none, MTU, FRAME, Unit::BLOCK), None);
        assert!(longest_period(need.rate, need.delay, need.needed, MTU, FRAME, Unit::BLOCK).is_some());
    }

    #[test]
    fn a_packet_that_does_not_fill_its_last_unit_costs_it_all_the_same() {
        let of_unit = |mtu, unit| {
            let tc = CreditReturn::Periodic(Span::from_us(1));
            feasibility(Rate::from_gbps(8), Span::ZERO, tc, Bytes::new(mtu), Bytes::new(0), unit)
        };
        let of = |mtu| of_unit(mtu, Unit::BLOCK);
        // 1 000 B in 1 µs at 1 B/ns. 65 B: ⌊15.4 + 3⌋ + 1 = 19 packets of 2 blocks; 64 B: ⌊15.6 + 3⌋ + 1 = 19 of 1.
        assert_eq!(of(65).needed, Bytes::new(19 * 128));
        assert_eq!(of(64).needed, Bytes::new(19 * 64));
        // The same packets in flits of 16 B: 5 and 4 of them.
        assert_eq!(of_unit(65, Unit::FLIT).needed, Bytes::new(19 * 80));
        assert_eq!(of_unit(64, Unit::FLIT).needed, Bytes::new(19 * 64));
        assert!(of_unit(65, Unit::FLIT).steps()[4].to_string().ends_with("19 * 5 units of 16B = 1.52KB"));
    }

    #[test]
    fn the_derivation_can_be_read_line_by_line() {
        let need = need(32, Span::from_us(4), CreditReturn::Periodic(Span::from_us(50)));
        let lines = need.steps().map(|step| step.to_string());
        assert_eq!(lines[0], "Tc + 2 tp = 50us + 2*4us = 58us");
        assert_eq!(lines[1], "C (Tc + 2 tp) = 32Gbps * 58us = 232KB");
        assert_eq!(lines[4], "buffer >= 117 * 32 blocks of 64B = 239.616KB");
    }
}
