//! Flows that meet nobody: their times follow from the sizes of packets, and are those of the published rows.
//!
//! With S = 332 000 ps for 4150 B, s for the last packet, a = 5120 ps for 64 B at 100 Gbps and six links of 1 µs: the last byte is there
//! after (n − 1)·S + 5·S + s + 6 µs, as the last packet, if it is shorter, waits behind the one before it at each switch; its ACK takes
//! 6·a + 6 µs.
use backwater_fabric::record::FlowRecord;
use backwater_units::Time;
use scene::{Rules, run};

use crate::{far, from_zero};

const ALL: [Rules; 4] = [Rules::Window, Rules::Nscc, Rules::Rccc, Rules::Both];
/// The commands of the published rows: NSCC, RCCC and both.
const PUBLISHED: [Rules; 3] = [Rules::Nscc, Rules::Rccc, Rules::Both];

fn alone(bytes: u64, rules: Rules) -> FlowRecord {
    run(far(vec![from_zero(0, 1, bytes)], rules)).flows[0]
}

fn ps(time: Time) -> u64 {
    time.as_ps()
}

/// `validate_uec_connreuse`: 17.0107 and 46.8907 µs, with 4 and 26 ACKs: of packets 0, 4, 8, … and the last one.
#[test]
fn ten_and_a_hundred_packets_take_what_their_bytes_take() {
    for rules in ALL {
        for (packets, took, acks) in [(10, 17_010_720, 4), (100, 46_890_720, 26)] {
            let by_hand = (packets + 5) * 332_000 + 6_000_000 + 6 * 5_120 + 6_000_000;
            assert_eq!(by_hand, took);
            let flow = alone(packets * 4086, rules);
            assert_eq!((ps(flow.acked), flow.acks, flow.packets), (took, acks, packets), "{rules:?}");
            assert_eq!((flow.resent_packets, flow.nacks, flow.timeouts, flow.rts), (0, 0, 0, 0), "{rules:?}");
        }
    }
}

/// `validate_uec_sender` one.cm: 176.2 µs, 124 ACKs: of packets 0, 4, …, 488 and 489. The last packet has 1946 B and takes 160 800 ps.
#[test]
fn two_megabytes_under_a_window_take_what_their_bytes_take() {
    for rules in [Rules::Window, Rules::Nscc] {
        let flow = alone(2_000_000, rules);
        let by_hand = 489 * 332_000 + 5 * 332_000 + 160_800 + 6_000_000 + 6 * 5_120 + 6_000_000;
        assert_eq!(by_hand, 176_199_520);
        assert_eq!((ps(flow.acked), flow.acks, flow.packets), (by_hand, 124, 490), "{rules:?}");
    }
}

/// `validate_uec_rcv` and `validate_uec_both` one.cm: 177.368 µs, 126 ACKs.
///
/// On credit that nobody gave 43 packets leave in the first round trip, and ask for what they took: 17 or 16 quanta of 256 B, ⌈4150·43/256⌉ =
/// 698 in all. The receiver, which begins at 7.992 µs, gives exactly these, one quantum in 20 686 ps. Packet 43 asks for a whole
/// window; from 7.992 µs + 698·20 686 ps on each pull gives 64 quanta. The last packet, k = 446 after them, needs 256·q > 4150·446: of the
/// pulls of 64 that of number 102, which leaves at 157.469036 µs. Sixteen turns of four packets that take 332 ns each, where
/// pulls come each 1323.904 ns, make it 16.384 ns late.
#[test]
fn two_megabytes_under_credits_end_with_the_pull_that_lets_the_last_packet_go() {
    let pull = 7_992_000 + (698 + 64 * 102) * 20_686;
    assert_eq!(pull, 157_469_036);
    let came = pull + 6 * 5_120 + 6_000_000;
    let last = came + 16_384;
    let by_hand = last + 5 * 332_000 + 160_800 + 6_000_000 + 6 * 5_120 + 6_000_000;
    assert_eq!(by_hand, 177_367_660);
    for rules in [Rules::Rccc, Rules::Both] {
        let flow = alone(2_000_000, rules);
        assert_eq!((ps(flow.acked), flow.acks, flow.packets, flow.rts), (by_hand, 126, 490, 0), "{rules:?}");
    }
}

/// `validate_uec_*` bidir: two flows against each other. 118 ACKs leave each host before its last packet: 176.804 µs for both.
#[test]
fn flows_in_both_directions_wait_for_each_others_acks() {
    let both = |rules| run(far(vec![from_zero(0, 1, 2_000_000), from_zero(1, 0, 2_000_000)], rules)).flows;
    for flow in both(Rules::Nscc) {
        assert_eq!(ps(flow.acked), 176_199_520 + 118 * 5_120);
    }
}

/// The same under credits, which wait behind data of the other direction: which of them do follows from the ways that packets draw. That
/// simulator, built from 40ccb05, ends `bidir.cm` with its seeds 1 to 40 between 177.602 and 179.33 µs; the published 178.147 and 178.18 are
/// those of seed 13. Where there is one way no pull passes data.
#[test]
fn credits_in_both_directions_wait_for_data_as_long_as_published_ones_do() {
    for rules in [Rules::Rccc, Rules::Both] {
        for flow in run(far(vec![from_zero(0, 1, 2_000_000), from_zero(1, 0, 2_000_000)], rules)).flows {
            assert!((177_602_000..=179_330_499).contains(&ps(flow.acked)), "{rules:?}: {}", flow.acked);
        }
    }
}

#[test]
fn what_nobody_disturbs_comes_once_and_whole() {
    for rules in PUBLISHED {
        let flow = alone(2_000_000, rules);
        assert_eq!((flow.received.get(), flow.duplicate_packets, flow.trimmed_packets), (2_000_000, 0, 0));
    }
}
