//! Rank programs against arithmetic.
use backwater_fabric::Violation;
use backwater_topology::generate::star;
use backwater_traffic::program::{BLOCKING, Channel, Costs, Op, Programs, Rank};
use backwater_traffic::{Group, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, ideal};

const COSTS: Costs = Costs {
    send: Span::from_ns(300),
    receive: Span::from_ns(200),
    eager: Bytes::new(4000),
    control: Bytes::new(16),
    local: Span::from_ns(500),
};

/// Two hosts on 1 us links of 100 Gbps to a switch, one rank each.
pub(crate) fn two(programs: [Vec<Op>; 2]) -> backwater_fabric::Spec {
    let group = Group { id: 0, priority: 3, pacing: Pacing::Messages, start: Time::MAX };
    let network = star(2, Rate::from_gbps(100), Span::from_us(1)).expect("a star");
    let flows = [(0, 1), (1, 0), (0, 1), (1, 0)]
        .map(|(src, dst)| group.flow(src, dst, Bytes::MAX, Time::MAX))
        .to_vec();
    let rank = |(host, ops): (u32, Vec<Op>)| Rank {
        host,
        group: 0,
        number: host,
        role: 0,
        costs: 0,
        start: Time::ZERO,
        ops: ops.into(),
        lines: None,
    };
    let mut spec = ideal(network, flows);
    spec.programs = Programs {
        ranks: (0..).zip(programs).map(rank).collect(),
        costs: vec![COSTS],
        roles: vec!["rank".into()],
        series: vec!["time".into()],
        channels: (0..4).map(|n| Channel { flow: n, from: n % 2, to: 1 - n % 2, answers: n > 1 }).collect(),
    };
    spec
}

pub(crate) fn send(to: u32, size: u64) -> [Op; 2] {
    [Op::Isend { to, size, tag: 0, set: BLOCKING }, Op::Wait { sets: 1 << BLOCKING }]
}

pub(crate) fn receive(from: u32, size: u64) -> [Op; 2] {
    [Op::Irecv { from, size, tag: 0, set: BLOCKING }, Op::Wait { sets: 1 << BLOCKING }]
}

pub(crate) const START: [Op; 1] = [Op::Start { timer: 0 }];
pub(crate) const STOP: [Op; 1] = [Op::Stop { timer: 0, series: 0, label: 0 }];

#[test]
fn an_eager_ping_pong_takes_two_software_costs_two_hops_and_two_delays_each_way() {
    let ping = [&START[..], &send(1, 1000), &receive(1, 1000), &STOP].concat();
    let pong = [receive(0, 1000), send(0, 1000)].concat();
    let outcome = scene::run(two([ping, pong]));
    // 80 ns on the wire of each link.
    let way = 300_000 + 2 * (80_000 + 1_000_000) + 200_000;
    let timing = outcome.records.timings[0];
    assert_eq!(timing.time.since(timing.start), Span::from_ps(2 * way));
    let ends = outcome.simulation.ranks();
    assert_eq!(ends[0].finish, Some(Time::from_ps(2 * way)));
    assert_eq!((ends[0].sent_messages, ends[0].received_bytes), (1, Bytes::new(1000)));
}

#[test]
fn a_rendezvous_asks_first_and_its_send_is_done_when_the_last_bit_has_left() {
    let ping = [&START[..], &send(1, 10_000), &STOP].concat();
    let pong = [&START[..], &receive(0, 10_000), &STOP].concat();
    let outcome = scene::run(two([ping, pong]));
    // Two frames of 16 B ask and answer; then ten packets of 1000 B, the first of which is stored and forwarded.
    let asked = 300_000 + 2 * 2 * (1_280 + 1_000_000);
    let ends: Vec<u64> = outcome.records.timings.iter().map(|timing| timing.time.as_ps()).collect();
    assert_eq!(ends, [asked + 10 * 80_000, asked + 11 * 80_000 + 2_000_000 + 200_000]);
}

#[test]
fn long_messages_in_both_directions_pass_each_other() {
    // Rank 1 asks when rank 0 has been sending for some 16 us; the answer must not wait until all of its 1 MB has left.
    let both = |peer, compute| {
        let exchange = [
            Op::Irecv { from: peer, size: 1_000_000, tag: 0, set: 0 },
            Op::Compute(compute),
            Op::Isend { to: peer, size: 1_000_000, tag: 0, set: 0 },
            Op::Wait { sets: 1 },
        ];
        [&START[..], &exchange, &STOP].concat()
    };
    let outcome = scene::run(two([both(1, Span::ZERO), both(0, Span::from_us(20))]));
    let timing = outcome.records.timings.iter().find(|timing| timing.rank == 0).expect("it ends");
    // Rank 1 asks and is answered over two links each, sends 1000 packets, and the last one is stored, forwarded and taken. On each of its
    // links the answer waits for at most a packet of 80 ns.
    let least = 20_300_000 + 2 * 2 * (1_280 + 1_000_000) + 1001 * 80_000 + 2_000_000 + 200_000;
    let took = timing.time.since(timing.start).as_ps();
    assert!((least..=least + 2 * 80_000).contains(&took), "{took} ps, at least {least}");
}

#[test]
fn a_put_and_a_flush_take_a_round_trip_and_a_get_brings_its_data() {
    let ops = [
        &START[..],
        &[Op::Put { to: 1, size: 1000 }, Op::Flush],
        &STOP,
        &[Op::Get { from: 1, size: 1000 }, Op::Flush],
        &STOP,
    ];
    let outcome = scene::run(two([ops.concat(), Vec::new()]));
    let trip = 300_000 + 2 * (80_000 + 1_000_000) + 2 * (1_280 + 1_000_000);
    let ends: Vec<u64> = outcome.records.timings.iter().map(|timing| timing.time.as_ps()).collect();
    assert_eq!(ends, [trip, 2 * trip]);
}

#[test]
fn two_ranks_that_both_receive_first_are_named_with_what_they_wait_for() {
    let wrong = |peer| [receive(peer, 8), send(peer, 8)].concat();
    let Err(violation) = scene::try_run(two([wrong(1), wrong(0)]), FAST, None) else { panic!("it ends") };
    let Violation::RanksWait { unfinished, waiting, .. } = violation else { panic!("{violation}") };
    assert_eq!(unfinished, 2);
    assert_eq!(
        waiting,
        [
            "rank 0 (h0) waits in op 1 for a message from rank 1 with tag 0",
            "rank 1 (h1) waits in op 1 for a message from rank 0 with tag 0"
        ]
    );
}

#[test]
fn a_transfer_that_takes_longer_than_any_patience_is_no_deadlock_of_the_rank_that_waits_for_it() {
    // 1.2 s at 100 Gbps.
    let size = 15_000_000_000;
    let mut spec = two([send(1, size).to_vec(), receive(0, size).to_vec()]);
    (spec.packet.payload, spec.packet.header) = (Bytes::new(60_000), Bytes::ZERO);
    let outcome = scene::run(spec);
    assert_eq!(outcome.simulation.ranks()[1].received_bytes, Bytes::new(size));
}

#[test]
fn ranks_that_wait_beside_an_endless_one_are_named_when_nothing_for_them_is_under_way() {
    // Rank 0 gives rank 1 one message and goes on for ever by itself; rank 1 wants two.
    let body = [Op::Compute(Span::from_us(10)), Op::Put { to: 0, size: 8 }, Op::Flush];
    let forever = [&[Op::Loop { times: u32::MAX, end: 7 }], &body[1..], &[Op::End { begin: 3 }]].concat();
    let ping = [&send(1, 8)[..], &forever].concat();
    let pong = [receive(0, 8), receive(0, 8)].concat();
    let Err(violation) = scene::try_run(two([ping, pong]), FAST, None) else { panic!("it ends") };
    let Violation::RanksWait { unfinished, waiting, .. } = violation else { panic!("{violation}") };
    assert_eq!((unfinished, waiting.len()), (2, 1));
    assert!(waiting[0].starts_with("rank 1 (h1) waits in op 3 for a message from rank 0"), "{}", waiting[0]);
}

#[test]
fn a_rank_that_never_receives_what_an_endless_one_sends_is_named() {
    let sends = [Op::Isend { to: 1, size: 8, tag: 1, set: 0 }, Op::Wait { sets: 1 }];
    let floods = [&[Op::Loop { times: u32::MAX, end: 4 }], &sends[..], &[Op::End { begin: 1 }]].concat();
    let mut spec = two([floods, receive(0, 8).to_vec()]);
    spec.programs.costs[0].send = Span::from_ns(1);
    let Err(violation) = scene::try_run(spec, FAST, None) else { panic!("it ends") };
    let Violation::TooMuchOpen { rank, unexpected, .. } = violation else { panic!("{violation}") };
    assert_eq!((rank.as_str(), unexpected), ("rank 1 (h1), op 1,", (1 << 20) + 1));
}
