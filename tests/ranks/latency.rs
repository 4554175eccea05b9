//! How long messages take, worked out with pencil and paper.
use backwater_traffic::program::{Costs, Op};
use backwater_units::{Bytes, Span};
use scene::{COSTS, START, WAIT, compute, irecv, isend, messages, recv, repeated, send, stop};

use crate::{WAY, across, each, end_of, network, timings};

/// What it costs to send a message, and to take it.
const COST: u64 = 300_000;

fn ping_pong(size: u64, rounds: u32) -> Vec<Vec<Op>> {
    let ping = [&[START], &send(1, size, 0)[..], &recv(1, size, 0), &[stop(0)]].concat();
    let pong = [recv(0, size, 0), send(0, size, 0)].concat();
    vec![repeated(0, rounds, &ping), repeated(0, rounds, &pong)]
}

#[test]
fn a_message_of_8_bytes_takes_the_cost_of_sending_two_links_and_the_cost_of_taking_it() {
    // 300 ns, twice 40 B at 80 ps a byte and 100 ns, 300 ns: 806.4 ns one way.
    assert_eq!(COST + across(8) + COST, 806_400);
    let timings = timings(each(ping_pong(8, 3)));
    let expected = (0..3).map(|round| (0, 0, round * 2 * 806_400, (round + 1) * 2 * 806_400));
    assert_eq!(timings, expected.collect::<Vec<_>>());
}

#[test]
fn a_message_without_bytes_takes_as_long_as_one_of_one_byte() {
    assert_eq!(timings(each(ping_pong(0, 1))), timings(each(ping_pong(1, 1))));
    assert_eq!(timings(each(ping_pong(0, 1)))[0].3, 2 * (COST + across(1) + COST));
}

#[test]
fn packets_of_an_eager_message_follow_each_other_on_both_links() {
    // 8 packets of 2048 B: the last one starts after seven, and crosses both links.
    let one_way = COST + 7 * 2080 * 80 + across(2048) + COST;
    assert_eq!(timings(each(ping_pong(16_384, 1)))[0].3, 2 * one_way);
}

#[test]
fn a_message_of_a_packet_and_a_byte_ends_with_a_packet_of_one_byte() {
    // The small packet waits for the large one on each of the two links.
    let one_way = COST + 2 * (2080 * 80) + 33 * 80 + 2 * WAY + COST;
    assert_eq!(timings(each(ping_pong(2_049, 1)))[0].3, 2 * one_way);
}

#[test]
fn a_rendezvous_asks_first_and_its_data_goes_when_the_receiver_has_a_receive() {
    // RTS and CTS of 16 B cross at no cost of the ranks; then nine packets, the last one of 1 B.
    let one_way = COST + 2 * across(16) + 9 * 2080 * 80 + 33 * 80 + 2 * WAY + COST;
    assert_eq!(timings(each(ping_pong(16_385, 2)))[0].3, 2 * one_way);
}

#[test]
fn the_data_of_a_rendezvous_waits_for_a_receive_that_is_posted_late() {
    // The RTS is there at 0.5 us; the receive comes at 50 us.
    let sender = send(1, 20_480, 0).to_vec();
    let receiver = [&[compute(50_000)], &recv(0, 20_480, 0)[..], &[START, stop(7)]].concat();
    let posted = 50_000_000;
    let data = 9 * 2080 * 80 + across(2048);
    let expected = posted + across(16) + data + COST;
    assert_eq!(end_of(&timings(each(vec![sender, receiver])), 7), expected);
}

#[test]
fn an_unexpected_eager_message_costs_its_receiver_nothing_but_the_work_to_take_it() {
    let sender = send(1, 8, 0).to_vec();
    let receiver = [&[compute(50_000), START], &recv(0, 8, 0)[..], &[stop(7)]].concat();
    assert_eq!(end_of(&timings(each(vec![sender, receiver])), 7), 50_000_000 + COST);
}

#[test]
fn posting_a_receive_takes_no_time_and_sending_takes_the_cost_of_each_message() {
    let posts = [START, irecv(0, 8, 0), irecv(0, 8, 0), irecv(0, 8, 0), stop(1), WAIT];
    let sends = [START, isend(1, 8, 0), stop(2), isend(1, 8, 0), stop(3), isend(1, 8, 0), stop(4), WAIT];
    let timings = timings(each(vec![sends.to_vec(), posts.to_vec()]));
    let ends: Vec<u64> = (1..5).map(|label| end_of(&timings, label)).collect();
    assert_eq!(ends, [0, COST, 2 * COST, 3 * COST]);
}

#[test]
fn the_request_of_a_rendezvous_is_done_when_its_last_byte_has_left_not_when_it_has_come() {
    let size = 10 * 2048;
    let sender = [&[START, isend(1, size, 0), stop(1), WAIT, stop(2)][..]].concat();
    let receiver = recv(0, size, 0).to_vec();
    let timings = timings(each(vec![sender, receiver]));
    assert_eq!(end_of(&timings, 1), COST);
    assert_eq!(end_of(&timings, 2), COST + 2 * across(16) + 10 * 2080 * 80);
}

#[test]
fn two_messages_that_are_there_are_taken_one_after_the_other() {
    // Both wait for rank 2, which takes 300 ns for each.
    let sender = |to| send(to, 8, 0).to_vec();
    let receiver = [&[compute(10_000), START, irecv(0, 8, 0), irecv(1, 8, 0), WAIT, stop(7)][..]].concat();
    let timings = timings(each(vec![sender(2), sender(2), receiver]));
    assert_eq!(end_of(&timings, 7), 10_000_000 + 2 * COST);
}

#[test]
fn a_wait_ends_when_its_own_requests_are_done_though_others_are_there_to_be_taken() {
    let sender = [isend(1, 8, 0), isend(1, 8, 1), WAIT].to_vec();
    let early = Op::Irecv { from: 0, size: 8, tag: 0, set: 2 };
    let later = Op::Irecv { from: 0, size: 8, tag: 1, set: 3 };
    let (first, second) = (Op::Wait { sets: 1 << 2 }, Op::Wait { sets: 1 << 3 });
    let receiver = [compute(10_000), START, early, later, first, stop(1), second, stop(2)].to_vec();
    let timings = timings(each(vec![sender, receiver]));
    assert_eq!(end_of(&timings, 1), 10_000_000 + COST);
    assert_eq!(end_of(&timings, 2), 10_000_000 + 2 * COST);
}

#[test]
fn what_came_first_is_taken_first_though_the_other_one_is_waited_for() {
    let sender = [isend(1, 8, 0), isend(1, 8, 1), WAIT].to_vec();
    let late = Op::Irecv { from: 0, size: 8, tag: 1, set: 3 };
    let receiver =
        [irecv(0, 8, 0), late, compute(10_000), START, Op::Wait { sets: 1 << 3 }, stop(1), WAIT, stop(2)];
    let timings = timings(each(vec![sender, receiver.to_vec()]));
    assert_eq!(end_of(&timings, 1), 10_000_000 + 2 * COST);
    assert_eq!(end_of(&timings, 2), 10_000_000 + 2 * COST);
}

#[test]
fn two_channels_of_a_nic_share_its_link_packet_by_packet() {
    // Each message has 4 packets. The second one is given 300 ns after the first, while the second packet of that is on the wire
    // (166.4 ns each); from then on they take turns: 1 1 2 1 2 1 2 2. The first one has left after 6, the second after 8 packets.
    let packet = 2080 * 80;
    let sender = [isend(1, 8_192, 0), isend(2, 8_192, 0), WAIT].to_vec();
    let receiver = |label| [&recv(0, 8_192, 0)[..], &[START, stop(label)]].concat();
    let timings = timings(each(vec![sender, receiver(1), receiver(2)]));
    let arrival = |packets: u64| COST + packets * packet + packet + 2 * WAY + COST;
    assert_eq!(end_of(&timings, 1), arrival(6));
    assert_eq!(end_of(&timings, 2), arrival(8));
}

#[test]
fn messages_within_a_host_take_their_own_time_whatever_their_size() {
    for size in [8, 1_000_000] {
        let a = [&[START], &send(1, size, 0)[..], &[stop(1)]].concat();
        let b = [&[START], &recv(0, size, 0)[..], &[stop(2)]].concat();
        let spec = messages(network(2), &[(0, a), (0, b)], COSTS);
        let timings = timings(spec);
        assert_eq!(end_of(&timings, 1), COST);
        assert_eq!(end_of(&timings, 2), COST + 500_000 + COST);
    }
}

#[test]
fn a_rank_may_send_to_itself() {
    let ops = [&[START, irecv(0, 8, 0)], &send(0, 8, 0)[..], &[stop(1)]].concat();
    let spec = messages(network(2), &[(0, ops)], COSTS);
    assert_eq!(end_of(&timings(spec), 1), COST + 500_000 + COST);
}

#[test]
fn costs_are_those_of_the_rank_that_has_them() {
    let costs = Costs {
        send: Span::from_ns(111),
        receive: Span::from_ns(77),
        eager: Bytes::new(7),
        control: Bytes::new(100),
        ..COSTS
    };
    let placed: Vec<(u32, Vec<Op>)> = (0..).zip(ping_pong(8, 1)).collect();
    let one_way = 111_000 + 2 * across(100) + across(8) + 77_000;
    assert_eq!(timings(messages(network(2), &placed, costs))[0].3, 2 * one_way);
}
