//! VL arbitration: shares, the high table before the low one, the limit, and that nobody with a weight starves.
use backwater_control::arbitration::{VlArbiter, VlEntry, validate};
use proptest::prelude::*;

const MTU: u32 = 2_048;

const fn line(vl: u8, weight: u8) -> VlEntry {
    VlEntry { vl, weight }
}

/// A port whose VLs always have packets of 2 048 B.
struct Port<'a> {
    high: &'a [VlEntry],
    low: &'a [VlEntry],
    limit: u8,
    arbiter: VlArbiter,
}

impl<'a> Port<'a> {
    fn new(high: &'a [VlEntry], low: &'a [VlEntry], limit: u8) -> Self {
        Self { high, low, limit, arbiter: VlArbiter::default() }
    }

    fn send(&mut self, ready: u8, bytes: u32) -> Option<u8> {
        let vl = self.arbiter.pick(self.high, self.low, self.limit, ready)?;
        self.arbiter.on_sent(self.high, self.low, vl, bytes);
        Some(vl)
    }

    /// The VLs of the next `N` packets of 2 048 B.
    fn order<const N: usize>(&mut self, ready: u8) -> [u8; N] {
        std::array::from_fn(|_| self.send(ready, MTU).expect("one of them is in a table"))
    }
}

#[test]
fn backlogged_lanes_share_the_port_by_their_weights() {
    // 32, 64 and 96 units of 64 B are 1, 2 and 3 packets.
    let table = [line(0, 32), line(1, 64), line(2, 96)];
    for (high, low) in [(&table[..], &[][..]), (&[][..], &table[..])] {
        let order: [u8; 12] = Port::new(high, low, 255).order(0b111);
        assert_eq!(order, [0, 1, 1, 2, 2, 2, 0, 1, 1, 2, 2, 2]);
    }
}

#[test]
fn a_packet_that_begins_within_the_weight_is_sent_as_a_whole() {
    // 33 units are 2 112 B: after one packet 64 B are left, enough to begin a second one.
    let table = [line(0, 33), line(1, 32)];
    let order: [u8; 6] = Port::new(&table, &[], 255).order(0b11);
    assert_eq!(order, [0, 0, 1, 0, 0, 1]);
}

#[test]
fn a_lane_in_several_lines_gets_the_sum_of_their_weights_spread_over_the_round() {
    let table = [line(0, 32), line(1, 32), line(0, 32), line(2, 32)];
    let order: [u8; 8] = Port::new(&table, &[], 255).order(0b111);
    assert_eq!(order, [0, 1, 0, 2, 0, 1, 0, 2]);
}

#[test]
fn without_a_limit_the_low_table_waits_until_the_high_one_has_nothing_to_send() {
    let (high, low) = ([line(1, 1)], [line(0, 255)]);
    let mut port = Port::new(&high, &low, 255);
    assert_eq!(port.order::<100>(0b11), [1; 100]);
    assert_eq!(port.order::<2>(0b01), [0; 2]);
    assert_eq!(port.order::<2>(0b11), [1; 2]);
}

#[test]
fn a_limit_of_0_lets_one_packet_of_the_low_table_pass_after_each_of_the_high_one() {
    let (high, low) = ([line(1, 255)], [line(0, 255)]);
    assert_eq!(Port::new(&high, &low, 0).order::<6>(0b11), [1, 0, 1, 0, 1, 0]);
}

#[test]
fn a_limit_of_n_lets_one_packet_of_the_low_table_pass_after_4096_n_bytes_of_the_high_one() {
    let (high, low) = ([line(1, 255), line(2, 255)], [line(0, 255)]);
    assert_eq!(Port::new(&high, &low, 1).order::<6>(0b011), [1, 1, 0, 1, 1, 0]);
    // Two units are 8 192 B: four packets, or the third of 4 000 B, which begins below the limit.
    assert_eq!(Port::new(&high, &low, 2).order::<10>(0b011), [1, 1, 1, 1, 0, 1, 1, 1, 1, 0]);
    let mut port = Port::new(&high, &low, 2);
    let order: Vec<_> = (0..8).map(|_| port.send(0b011, 4_000)).collect();
    assert_eq!(order, [1, 1, 1, 0, 1, 1, 1, 0].map(Some));
}

#[test]
fn the_limit_counts_from_the_last_time_at_which_the_low_table_could_have_sent() {
    let (high, low) = ([line(1, 255)], [line(0, 255)]);
    let mut port = Port::new(&high, &low, 2);
    assert_eq!(port.order::<50>(0b10), [1; 50]);
    // The low lane had its chance before the fiftieth packet, which is the first of the four that make 8 192 B.
    assert_eq!(port.order::<8>(0b11), [1, 1, 1, 0, 1, 1, 1, 1]);
}

#[test]
fn a_turn_of_the_low_table_goes_on_after_the_high_one_came_between() {
    let (high, low) = ([line(7, 255)], [line(0, 64), line(1, 64)]);
    assert_eq!(Port::new(&high, &low, 0).order::<8>(0b1000_0011), [7, 0, 7, 0, 7, 1, 7, 1]);
}

#[test]
fn a_lane_that_falls_silent_loses_the_rest_of_its_turn() {
    let table = [line(0, 96), line(1, 96)];
    let mut port = Port::new(&table, &[], 255);
    assert_eq!(port.order::<1>(0b11), [0]);
    assert_eq!(port.order::<1>(0b10), [1]);
    // Lane 0 is back, but it is still lane 1's turn, and then a whole one of lane 0.
    assert_eq!(port.order::<6>(0b11), [1, 1, 0, 0, 0, 1]);
}

#[test]
fn idle_lanes_cost_nothing() {
    let table = [line(0, 255), line(1, 32), line(2, 255), line(3, 32)];
    assert_eq!(Port::new(&table, &[], 255).order::<4>(0b1010), [1, 3, 1, 3]);
    assert_eq!(Port::new(&table, &[], 255).send(0, MTU), None);
}

#[test]
fn a_line_of_weight_0_is_never_served() {
    let table = [line(0, 0), line(1, 32), line(2, 0)];
    let mut port = Port::new(&[], &table, 0);
    assert_eq!(port.order::<5>(0b111), [1; 5]);
    assert_eq!(port.send(0b101, MTU), None);
}

#[test]
fn a_lane_in_both_tables_is_served_by_both() {
    let (high, low) = ([line(1, 64)], [line(1, 64), line(0, 64)]);
    // Each second packet is the low table's, whose first line is lane 1's as well.
    assert_eq!(Port::new(&high, &low, 0).order::<8>(0b11), [1, 1, 1, 1, 1, 0, 1, 0]);
}

#[test]
fn what_an_idle_port_sends_unasked_counts_as_if_it_had_been_picked() {
    let (high, low) = ([line(1, 64), line(2, 64)], [line(0, 64)]);
    for vl in 0..3 {
        let (mut asked, mut unasked) = (Port::new(&high, &low, 1), Port::new(&high, &low, 1));
        for _ in 0..3 {
            assert_eq!(asked.send(1 << vl, MTU), Some(vl));
            unasked.arbiter.on_sent(&high, &low, vl, MTU);
        }
        assert_eq!(asked.arbiter, unasked.arbiter);
    }
}

fn table(lines: std::ops::Range<usize>) -> impl Strategy<Value = Vec<VlEntry>> {
    prop::collection::vec((0..8_u8, 0..6_u8).prop_map(|(vl, weight)| line(vl, weight)), lines)
}

proptest! {
    #[test]
    fn a_backlogged_lane_with_a_low_weight_never_starves_below_the_limit_of_255(
        high in table(0..6),
        mut low in table(0..6),
        waiting in 0..8_u8,
        weight in 1..6_u8,
        limit in 0..8_u8,
        traffic in prop::collection::vec((any::<u8>(), 64..4_096_u32), 2_000..4_000),
    ) {
        low.push(line(waiting, weight));
        prop_assert_eq!(validate(&high, &low, 1 << waiting), Ok(()));
        // Each packet takes at least a unit of a weight, so that a turn has no more packets than units; between two
        // packets of the low table pass at most the limit's bytes, and at least one packet.
        let round: u32 = low.iter().map(|line| u32::from(line.weight)).sum();
        let most = (round + 1) * (u32::from(limit) * 64 + 2);
        let (mut arbiter, mut since) = (VlArbiter::default(), 0);
        for (others, bytes) in traffic {
            let ready = others | 1 << waiting;
            let vl = arbiter.pick(&high, &low, limit, ready);
            let vl = vl.expect("the backlogged lane may always go");
            prop_assert!(ready & (1 << vl) != 0);
            arbiter.on_sent(&high, &low, vl, bytes);
            since = if vl == waiting { 0 } else { since + 1 };
            prop_assert!(since <= most, "passed over {since} times, at most {most} expected");
        }
    }

    #[test]
    fn a_port_is_never_idle_while_a_lane_of_a_line_with_weight_is_ready_and_picks_no_other(
        high in table(0..6),
        low in table(0..6),
        limit in any::<u8>(),
        traffic in prop::collection::vec((any::<u8>(), 64..4_096_u32), 1..200),
    ) {
        let named = high.iter().chain(&low).filter(|line| line.weight > 0).fold(0, |set, line| set | 1 << line.vl);
        let mut arbiter = VlArbiter::default();
        for (ready, bytes) in traffic {
            let picked = arbiter.pick(&high, &low, limit, ready);
            prop_assert_eq!(picked.is_some(), ready & named != 0);
            if let Some(vl) = picked {
                prop_assert!(ready & named & (1 << vl) != 0);
                arbiter.on_sent(&high, &low, vl, bytes);
            }
        }
    }
}
