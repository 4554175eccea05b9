//! Queue pairs that send again what is lost, at a switch with links of 40 Gbps and 1 us: 1000 B take 200 ns, an ACK or NACK of 64 B
//! 12.8 ns. A port of the switch keeps one packet that waits. The others' packets come so that exactly one is lost.
use backwater_control::transport::selective::{Lost, SelectiveConfig};
use backwater_fabric::record::FlowRecord;
use backwater_fabric::{AckSpec, Kind, Overflow, PairSpec, ReliableSpec, Repeat, Spec};
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow, ideal, ns, try_run};

const GO_BACK_N: ReliableSpec = ReliableSpec {
    repeat: Repeat::GoBackN,
    timeout: Span::from_us(50),
    short: None,
    retries: 2,
    backoff: false,
    every_packet: false,
    nack_every: None,
    nack_notifies: false,
};

const SELECTIVE: ReliableSpec = ReliableSpec {
    repeat: Repeat::Selective {
        cap: 100_000,
        config: SelectiveConfig { after_nack: Lost::Lost, after_timeout: Lost::Lost },
    },
    short: Some((3, Span::from_us(10))),
    ..GO_BACK_N
};

/// From host 1 to host 0, and what comes between: (source, destination, start in ns), a packet each.
fn scene(reliable: ReliableSpec, packets: u64, start: u64, others: &[(u32, u32, u64)]) -> Spec {
    let of = |group, flow: Flow| Flow { group, ..flow };
    let one = |&(src, dst, at): &(u32, u32, u64)| of(1, flow(src, dst, 1000, ns(at), Pacing::LineRate));
    let mut flows: Vec<Flow> = others.iter().map(one).collect();
    flows.push(of(0, flow(1, 0, packets * 1000, ns(start), Pacing::LineRate)));
    flows.sort_by_key(|flow| flow.start);
    let mut spec = ideal(generate::star(4, Rate::from_gbps(40), Span::from_us(1)).unwrap(), flows);
    spec.switch.pfc = None;
    spec.switch.overflow = Overflow::Drop { port: Bytes::new(1000) };
    let ack = Some(AckSpec { every: 1, size: Bytes::new(64), priority: None });
    let plain = spec.pairs[0].clone();
    spec.pairs = vec![PairSpec { ack, reliable: Some(reliable), ..plain.clone() }, plain];
    spec.pair_of = vec![0, 1];
    spec
}

/// On both engines, and with threads: the same.
fn outcome(make: impl Fn() -> Spec) -> FlowRecord {
    let run = |kind| try_run(make(), kind, None).unwrap_or_else(|violation| panic!("{violation}"));
    let outcomes: Vec<Outcome> =
        [Kind::Windows { threads: 1 }, Kind::Windows { threads: 3 }].map(run).into_iter().collect();
    assert_eq!(outcomes[0].totals.digest, outcomes[1].totals.digest);
    outcomes[0].flows.iter().find(|flow| flow.group == 0).copied().expect("the flow")
}

fn at(tenths_of_ns: u64) -> Time {
    Time::from_ps(tenths_of_ns * 100)
}

/// Of the flow's packets, from 2000 ns on at the switch, number 2 finds the place taken: one of host 2 is sent there from 1900 to 2100,
/// so that each of them waits, and another one comes at 2350.
const LOSES_THE_THIRD: [(u32, u32, u64); 2] = [(2, 0, 700), (2, 0, 1150)];

#[test]
fn go_back_n_sends_all_again_from_the_lost_packet_on() {
    let flow = outcome(|| scene(GO_BACK_N, 10, 800, &LOSES_THE_THIRD));
    // Number 3 waits for the other one and is there at 2700 + 200 + 1000 = 3900; its NACK at the sender 2 · (12.8 + 1000) later:
    // 5925.6. Eight packets follow: the last starts 7 · 200 later, and takes 2 · (200 + 1000).
    assert_eq!(flow.finish, at(97_256));
    assert_eq!(flow.acked, at(97_256 + 20_256));
    assert_eq!((flow.resent_packets, flow.nacks, flow.timeouts), (8, 1, 0));
    assert_eq!((flow.dropped_packets, flow.duplicate_packets, flow.packets), (7, 0, 10));
}

#[test]
fn selective_repeat_sends_the_lost_packet_again_and_nothing_else() {
    let flow = outcome(|| scene(SELECTIVE, 10, 800, &LOSES_THE_THIRD));
    // The same NACK at 5925.6, and one packet.
    assert_eq!(flow.finish, at(83_256));
    assert_eq!(flow.acked, at(83_256 + 20_256));
    assert_eq!((flow.resent_packets, flow.nacks, flow.timeouts), (1, 7, 0));
    assert_eq!((flow.dropped_packets, flow.early_packets, flow.early_most), (0, 7, 7));
}

#[test]
fn the_last_packet_is_sent_again_after_a_timeout_which_is_short_where_few_are_under_way() {
    // The ACK of number 1, there at 3500, is back at 5525.6.
    let flow = outcome(|| scene(GO_BACK_N, 3, 800, &LOSES_THE_THIRD));
    assert_eq!((flow.finish, flow.timeouts, flow.resent_packets), (at(55_256 + 500_000 + 24_000), 1, 1));
    let flow = outcome(|| scene(SELECTIVE, 3, 800, &LOSES_THE_THIRD));
    assert_eq!((flow.finish, flow.timeouts, flow.resent_packets), (at(55_256 + 100_000 + 24_000), 1, 1));
}

#[test]
fn a_packet_whose_ack_is_lost_is_a_duplicate_and_acknowledged_again() {
    // The ACK is at the switch at 2400 + 1012.8; there a packet for host 1 is sent from 3300 to 3500, and the next one waits.
    let others = [(2, 1, 2100), (3, 1, 2200)];
    for (reliable, timeout) in [(GO_BACK_N, 500_000), (SELECTIVE, 100_000)] {
        let flow = outcome(|| scene(reliable, 1, 0, &others));
        assert_eq!((flow.finish, flow.acked), (at(24_000), at(timeout + 24_000 + 20_256)));
        assert_eq!((flow.duplicate_packets, flow.resent_packets, flow.timeouts, flow.packets), (1, 1, 1, 1));
    }
}

#[test]
fn a_nack_that_is_lost_is_made_up_for_by_a_timeout_or_by_the_next_one() {
    // The first NACK is at the switch at 3900 + 1012.8; the way to host 1 is taken from 4800 to 5000, and its place by the next packet.
    let others = [LOSES_THE_THIRD[0], LOSES_THE_THIRD[1], (2, 1, 3600), (3, 1, 3700)];
    let flow = outcome(|| scene(GO_BACK_N, 10, 800, &others));
    assert_eq!((flow.finish, flow.nacks, flow.timeouts), (at(55_256 + 500_000 + 14_000 + 24_000), 0, 1));
    // The next one is there 200 later, finds one packet waiting no more, but its wire taken until 5200.
    let flow = outcome(|| scene(SELECTIVE, 10, 800, &others));
    assert_eq!((flow.finish, flow.nacks, flow.timeouts), (at(52_000 + 10_128 + 24_000), 6, 0));
}

#[test]
fn a_queue_pair_that_never_hears_anything_is_in_error_and_the_run_ends() {
    let endless = || {
        let mut spec = scene(GO_BACK_N, 1, 100, &[]);
        spec.flows.insert(0, Flow { group: 1, ..flow(2, 0, u64::MAX, Time::ZERO, Pacing::LineRate) });
        // Each packet finds the port busy, and there is no room for one that waits.
        spec.switch.overflow = Overflow::Drop { port: Bytes::new(500) };
        spec
    };
    let flow = outcome(endless);
    assert_eq!((flow.finish, flow.acked, flow.failed), (Time::MAX, Time::MAX, true));
    assert_eq!((flow.timeouts, flow.resent_packets, flow.packets), (3, 2, 0));
}

#[test]
fn backoff_doubles_the_time_ten_times_and_no_more() {
    // The packet finds the port busy and no room, until host 2 has sent all: 200 ns a packet, and 1200 ns to get to the switch.
    let busy = |reliable: ReliableSpec, packets: u64| {
        let mut spec = scene(ReliableSpec { retries: 20, backoff: true, ..reliable }, 1, 100, &[]);
        spec.flows.insert(0, Flow { group: 1, ..flow(2, 0, packets * 1000, Time::ZERO, Pacing::LineRate) });
        spec.switch.overflow = Overflow::Drop { port: Bytes::new(500) };
        spec
    };
    let us = Span::from_us(1);
    let alike =
        [ReliableSpec { timeout: us, ..GO_BACK_N }, ReliableSpec { short: Some((3, us)), ..SELECTIVE }];
    for reliable in alike {
        // It is sent again 1, 3, 7, 15 and 31 us after the first time; the port is free after 21.
        let flow = outcome(|| busy(reliable, 100));
        assert_eq!((flow.finish, flow.timeouts, flow.resent_packets), (at(1_000 + 310_000 + 24_000), 5, 5));
        // The port is free after 2501 us: the eleventh time, after 2047 us, is too early, and 1024 us later it is free. Doubled once
        // more they were 2048.
        let flow = outcome(|| busy(reliable, 12_500));
        assert_eq!((flow.finish, flow.timeouts), (at(1_000 + 30_710_000 + 24_000), 12));
    }
}
