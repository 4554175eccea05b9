//! Messages of ranks of which a packet is lost, against arithmetic.
use backwater_control::transport::selective::{Lost, SelectiveConfig};
use backwater_fabric::record::FaultKind;
use backwater_fabric::{AckSpec, LossShare, LossSpec, PairSpec, ReliableSpec, Repeat, Spec, Violation};
use backwater_traffic::program::{BLOCKING, Op};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Span, Time};
use scene::{FAST, flow};

use crate::ranks::{START, STOP, receive, send, two};

/// A packet of 1000 B and an ACK of 64 B on a link of 100 Gbps; both links have 1 us, and a send costs a rank 300 ns.
const PACKET: u64 = 80_000;
const ACK: u64 = 5_120;
const DELAY: u64 = 1_000_000;
const SEND: u64 = 300_000;
const RECEIVE: u64 = 200_000;
/// From the first bit on the first link to the last one on the second.
const WAY: u64 = 2 * (PACKET + DELAY);
const BACK: u64 = 2 * (ACK + DELAY);
const TIMEOUT: u64 = 50_000_000;

const GO_BACK_N: Repeat = Repeat::GoBackN;
const SELECTIVE: Repeat = Repeat::Selective {
    cap: 1_000_000,
    config: SelectiveConfig { after_nack: Lost::Lost, after_timeout: Lost::Lost },
};

/// Queue pairs that send again what is lost.
fn again(spec: &Spec, repeat: Repeat, retries: u32) -> PairSpec {
    let reliable = ReliableSpec {
        repeat,
        timeout: Span::from_ps(TIMEOUT),
        short: None,
        retries,
        backoff: false,
        every_packet: false,
        nack_every: None,
        nack_notifies: false,
    };
    let ack = AckSpec { every: 1, size: Bytes::new(64), priority: None };
    PairSpec { ack: Some(ack), reliable: Some(reliable), ..spec.pairs[0].clone() }
}

/// Two ranks whose queue pairs send again, over a switch that loses what rank 0 sends between these instants.
fn lossy(programs: [Vec<Op>; 2], repeat: Repeat, retries: u32, lost: (u64, u64)) -> Spec {
    let mut spec = two(programs);
    spec.programs.costs[0].eager = Bytes::new(100_000);
    spec.pairs[0] = again(&spec, repeat, retries);
    spec.faults.kinds = vec![FaultKind::Gray];
    spec.faults.losses = vec![LossSpec {
        fault: 0,
        node: 2,
        port: Some(0),
        from: Time::from_ps(lost.0),
        until: Time::from_ps(lost.1),
        share: LossShare::Silent(1.0),
        source: None,
        destination: None,
    }];
    spec
}

/// When packet `number` of rank 0, which began to send at `SEND`, comes to the switch, and a bit more.
fn comes(number: u64) -> (u64, u64) {
    let at = SEND + (number + 1) * PACKET + DELAY;
    (at - PACKET / 2, at + PACKET / 2)
}

/// When the stopwatches of the ranks were stopped.
fn stops(spec: Spec) -> [u64; 2] {
    let outcome = scene::run(spec);
    let of = |rank| outcome.records.timings.iter().find(|timing| timing.rank == rank).expect("it ends").time;
    [of(0).as_ps(), of(1).as_ps()]
}

/// A message of so many packets of which one is lost: when its send and its receive are done.
fn one_message(packets: u64, lost: u64, repeat: Repeat) -> [u64; 2] {
    let size = packets * 1000;
    let one = [&START[..], &send(1, size), &STOP].concat();
    let other = [&START[..], &receive(0, size), &STOP].concat();
    stops(lossy([one, other], repeat, 7, comes(lost)))
}

#[test]
fn a_packet_lost_in_the_middle_is_asked_for_by_the_next_one() {
    for (packets, lost) in [(2, 0), (10, 3), (10, 8), (20, 0)] {
        // The next packet is there, and the NACK back, when all have left.
        let asked = SEND + (lost + 1) * PACKET + WAY + BACK;
        // All from the lost one on.
        let there = asked + (packets - lost - 1) * PACKET + WAY;
        let expected = [there + BACK, there + RECEIVE];
        assert_eq!(one_message(packets, lost, GO_BACK_N), expected, "go-back-N: {lost} of {packets}");
        // That one alone.
        let there = asked + WAY;
        let expected = [there + BACK, there + RECEIVE];
        assert_eq!(one_message(packets, lost, SELECTIVE), expected, "selective repeat: {lost} of {packets}");
    }
}

#[test]
fn a_last_packet_that_is_lost_is_sent_again_by_the_timer() {
    for repeat in [GO_BACK_N, SELECTIVE] {
        // The timer is set anew when the packet before it is acknowledged.
        let there = SEND + 8 * PACKET + WAY + BACK + TIMEOUT + WAY;
        assert_eq!(one_message(10, 9, repeat), [there + BACK, there + RECEIVE]);
        // Nothing is acknowledged: it was set when the packet left.
        let there = SEND + TIMEOUT + WAY;
        assert_eq!(one_message(1, 0, repeat), [there + BACK, there + RECEIVE]);
    }
}

#[test]
fn a_send_is_done_when_its_last_packet_is_acknowledged() {
    let [sent, received] = one_message(10, 900, GO_BACK_N);
    let there = SEND + 9 * PACKET + WAY;
    assert_eq!([sent, received], [there + BACK, there + RECEIVE]);
}

#[test]
fn messages_of_a_queue_pair_are_one_sequence_of_packets() {
    let isend = |size| Op::Isend { to: 1, size, tag: 0, set: BLOCKING };
    let irecv = |size| Op::Irecv { from: 0, size, tag: 0, set: BLOCKING };
    let wait = [Op::Wait { sets: 1 << BLOCKING }];
    let one = [&START[..], &[isend(4000), isend(2000)], &wait, &STOP].concat();
    let other = [&START[..], &[irecv(4000), irecv(2000)], &wait, &STOP].concat();
    // Packet 1 of six: the second message is given when the first one is still leaving.
    let asked = SEND + 2 * PACKET + WAY + BACK;
    let run = |repeat| stops(lossy([one.clone(), other.clone()], repeat, 7, comes(1)));
    // Packets 1 to 5 again. The second message comes when the first one is being taken.
    let first = asked + 2 * PACKET + WAY;
    assert_eq!(run(GO_BACK_N), [first + 2 * PACKET + BACK, first + 2 * RECEIVE]);
    // Packet 1 fills the hole for both.
    let both = asked + WAY;
    assert_eq!(run(SELECTIVE), [both + BACK, both + 2 * RECEIVE]);
}

#[test]
fn a_queue_pair_that_gives_up_ends_the_run_with_the_ranks_and_the_message() {
    for repeat in [GO_BACK_N, SELECTIVE] {
        let one = [send(1, 3000), receive(1, 8)].concat();
        let other = [receive(0, 3000), send(0, 8)].concat();
        let spec = lossy([one, other], repeat, 2, (0, 1_000_000_000_000));
        let Err(violation) = scene::try_run(spec, FAST, None) else { panic!("it breaks") };
        let Violation::RanksWait { time, unfinished, waiting, failed } = &violation else {
            panic!("{violation}")
        };
        // The timer goes off three times: two retries, and the end. It is noticed at the end of a window, of the shortest delay.
        assert_eq!((time.as_ps(), *unfinished), ((SEND + 3 * TIMEOUT).next_multiple_of(DELAY), 2));
        assert_eq!(
            waiting,
            &[
                "rank 0 (h0) waits in op 1 for its sends to be acknowledged",
                "rank 1 (h1) waits in op 1 for a message from rank 0 with tag 0"
            ]
        );
        let message = "the queue pair from rank 0 (h0) to rank 1 (h1) is in error, and 3KB of rank 0 (h0), op 0, are not acknowledged";
        assert_eq!(failed, &[message]);
        assert!(violation.to_string().contains(message), "{violation}");
    }
}

#[test]
fn who_has_given_up_is_named_beside_programs_that_go_on_for_ever() {
    // Rank 1 computes for ever; rank 0 waits for its send.
    let forever =
        [Op::Loop { times: u32::MAX, end: 3 }, Op::Compute(Span::from_us(10_000)), Op::End { begin: 1 }];
    let spec = lossy([send(1, 1000).to_vec(), forever.to_vec()], GO_BACK_N, 1, (0, 1_000_000_000_000));
    let Err(violation) = scene::try_run(spec, FAST, None) else { panic!("it ends") };
    let Violation::RanksWait { waiting, failed, .. } = &violation else { panic!("{violation}") };
    assert_eq!((waiting.len(), failed.len()), (1, 1), "{violation}");
}

#[test]
fn messages_that_nobody_sends_again_arrive_where_flows_beside_them_are_kept_in_order() {
    // Host 1 keeps what comes early of a flow with selective repeat; host 0 sends that flow, and gets none.
    let mut spec = two([send(1, 3000).to_vec(), receive(0, 3000).to_vec()]);
    spec.pairs.push(again(&spec, SELECTIVE, 7));
    spec.pair_of = vec![0, 1];
    spec.flows.insert(0, Flow { group: 1, ..flow(0, 1, 100_000, Time::ZERO, Pacing::LineRate) });
    spec.programs.channels.iter_mut().for_each(|channel| channel.flow += 1);
    let ranks = scene::run(spec).simulation.ranks();
    assert!(ranks.iter().all(|rank| rank.finish.is_some()));
    assert_eq!(ranks[1].received_bytes, Bytes::new(3000));
}
