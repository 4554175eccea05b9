//! Headroom: what still arrives after PAUSE was decided, term by term.
//!
//! Reference: IEEE 802.1Qbb, Annex O (buffer requirements); DCQCN (SIGCOMM 2015) §4.
//!
//! ```text
//!   PAUSE decided ─▶ waits for the packet on the wire ─▶ PFC frame ─▶ one way ─▶ response ─▶ packet begun ─▶ one way
//!                        1 MTU                           1 frame    tp·C        r·C          1 MTU          tp·C
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | C, tp | bit/s, ps | of the link | – |
//! | MTU | B | largest packet on the wire | – |
//! | PFC frame | B | 64 | IEEE 802.3 (least frame); 31 authors' release, 43 HPCC simulator |
//! | response | ps | 0 | a model's PAUSE acts at the next packet boundary; real devices need more: at most [`RESPONSE`] |
//!
//! Known deviations: none. [`headroom_hpcc`] is what the HPCC simulator reserves: it has no MTU term, and overflows
//! on slow links.
use core::fmt;

use backwater_units::{Bytes, Rate, Span};

/// The longest time that a device may take to act on a PAUSE: 394 pause quanta of 512 bits at 100 Gbps (IEEE 802.3, 31B.3.7). At
/// other rates the standard has less: 80 quanta at 25 Gbps are 1.64 µs, 905 at 400 Gbps are 1.16 µs.
pub const RESPONSE: Span = Span::from_ps(2_017_280);

/// One addend of the headroom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// What arrives, in words.
    pub name: &'static str,
    /// How many bytes.
    pub bytes: Bytes,
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.bytes)
    }
}

/// The headroom of one ingress port and lossless priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// The sum.
    pub bytes: Bytes,
    /// The addends.
    pub terms: [Term; 5],
}

impl Headroom {
    /// The bytes to set apart where the packet that crosses the threshold is counted as headroom, too: a switch with dynamic thresholds
    /// books it there before it decides on the PAUSE.
    pub fn with_crossing(&self) -> Bytes {
        self.bytes + self.terms[4].bytes
    }
}

/// Bytes that `rate` delivers within `span`, a started byte counted.
fn arriving(rate: Rate, span: Span) -> Bytes {
    let bits_ps = u128::from(rate.as_bps()) * u128::from(span.as_ps());
    Bytes::new(u64::try_from(bits_ps.div_ceil(8_000_000_000_000)).unwrap_or(u64::MAX))
}

/// Headroom of a link of `rate` and one-way `delay` for packets up to `mtu`, PFC frames of `frame` bytes and a
/// sender that needs `response` to act on one.
pub fn headroom(rate: Rate, delay: Span, mtu: Bytes, frame: Bytes, response: Span) -> Headroom {
    let terms = [
        Term { name: "in flight on the cable, both ways (2 tp C)", bytes: arriving(rate, delay * 2) },
        Term { name: "behind the packet that the PFC frame waits for (1 MTU)", bytes: mtu },
        Term { name: "while the PFC frame is sent (1 frame)", bytes: frame },
        Term { name: "while the sender responds (response C)", bytes: arriving(rate, response) },
        Term { name: "the packet that the sender had begun (1 MTU)", bytes: mtu },
    ];
    Headroom { bytes: terms.iter().map(|term| term.bytes).sum(), terms }
}

/// The HPCC simulator's reservation: 3·C·tp, nothing for packets and frames.
pub const fn headroom_hpcc(rate: Rate, delay: Span) -> Bytes {
    rate.bytes_in(Span::from_ps(delay.as_ps() * 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_40_gbps_and_4_us_about_42_kb_arrive_after_pause() {
        // 2 · 4 µs · 40G = 40 000 B, 2 · 1 000 B, 64 B
        let need =
            headroom(Rate::from_gbps(40), Span::from_us(4), Bytes::new(1_000), Bytes::new(64), Span::ZERO);
        assert_eq!(need.bytes, Bytes::new(42_064));
        assert_eq!(need.terms[0].bytes, Bytes::new(40_000));
    }

    #[test]
    fn a_slow_response_costs_its_time_at_line_rate() {
        let of = |response| {
            headroom(Rate::from_gbps(100), Span::from_us(1), Bytes::new(1_048), Bytes::new(64), response)
                .bytes
        };
        assert_eq!(of(Span::from_ns(600)) - of(Span::ZERO), Bytes::new(7_500));
    }

    #[test]
    fn the_longest_response_is_394_pause_quanta_at_100_gbps() {
        // 394 · 512 bit = 201 728 bit = 25 216 B
        assert_eq!(Rate::from_gbps(100).bytes_in(RESPONSE), Bytes::new(25_216));
        // and no shorter than 80 quanta at 25 Gbps and 905 quanta at 400 Gbps
        assert!(Rate::from_gbps(25).bytes_in(RESPONSE) >= Bytes::new(80 * 64));
        assert!(Rate::from_gbps(400).bytes_in(RESPONSE) >= Bytes::new(905 * 64));
    }

    #[test]
    fn the_hpcc_simulator_reserves_37_500_b_at_100_gbps_and_too_little_at_10_gbps() {
        assert_eq!(headroom_hpcc(Rate::from_gbps(100), Span::from_us(1)), Bytes::new(37_500));
        let slow = Rate::from_gbps(10);
        let need = headroom(slow, Span::from_us(1), Bytes::new(1_048), Bytes::new(43), Span::ZERO);
        // the reservation that overflowed in its issue 15: 3 750 B where about 4.6 KB are needed
        assert_eq!(headroom_hpcc(slow, Span::from_us(1)), Bytes::new(3_750));
        assert_eq!(need.bytes, Bytes::new(4_639));
    }
}
