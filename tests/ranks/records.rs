//! What a run tells of each rank at its end.
use backwater_fabric::record::RankRecord;
use backwater_traffic::program::{Costs, FOREVER, Op};
use backwater_units::{Bytes, Span, Time};
use scene::{COSTS, START, WAIT, compute, isend, messages, recv, repeated, run, run_until, send, stop, us};

use crate::{across, each, end_of, network, timings};

const COST: u64 = 300_000;

fn ranks(spec: backwater_fabric::Spec) -> Vec<RankRecord> {
    run(spec).simulation.ranks()
}

#[test]
fn a_rank_has_waited_for_its_message_to_leave_and_for_the_answer_but_not_while_it_worked() {
    let ping = [send(1, 8, 0), recv(1, 100, 0)].concat();
    let pong = [recv(0, 8, 0), send(0, 100, 0)].concat();
    let ranks = ranks(each(vec![ping, pong]));
    let waited: Vec<u64> = ranks.iter().map(|rank| rank.waited.as_ps()).collect();
    // The answer is given at two messages' costs after the first, and comes a way later.
    let answer = COST + across(8) + 2 * COST + across(100);
    assert_eq!(waited, [answer - COST, COST + across(8) + 132 * 80]);
    let finish: Vec<u64> = ranks.iter().map(|rank| rank.finish.expect("ended").as_ps()).collect();
    assert_eq!(finish, [answer + COST, COST + across(8) + 2 * COST + 132 * 80]);
    let bytes = |rank: &RankRecord| {
        (rank.sent_messages, rank.sent_bytes, rank.received_messages, rank.received_bytes)
    };
    assert_eq!(bytes(&ranks[0]), (1, Bytes::new(8), 1, Bytes::new(100)));
    assert_eq!(bytes(&ranks[1]), (1, Bytes::new(100), 1, Bytes::new(8)));
}

#[test]
fn a_rank_that_still_waits_when_the_run_ends_has_waited_until_then() {
    let spec = each(vec![recv(1, 8, 0).to_vec(), [&[compute(1_000_000)], &send(0, 8, 0)[..]].concat()]);
    let ranks = run_until(spec, us(10)).simulation.ranks();
    assert_eq!((ranks[0].waited, ranks[0].finish), (Span::from_us(10), None));
    assert_eq!((ranks[1].waited, ranks[1].finish), (Span::ZERO, None));
}

#[test]
fn messages_that_nobody_took_are_counted() {
    let sender = [send(1, 8, 0), send(1, 8, 1), send(1, 8, 2)].concat();
    let receiver = [&[compute(20_000)], &recv(0, 8, 1)[..]].concat();
    let ranks = ranks(each(vec![sender, receiver]));
    assert_eq!((ranks[0].unexpected, ranks[1].unexpected), (0, 2));
}

#[test]
fn puts_and_gets_count_at_both_ends_within_a_host_and_across_the_network() {
    let ops = [Op::Put { to: 1, size: 1_000 }, Op::Get { from: 1, size: 30_000 }, Op::Flush];
    for other in [0, 1] {
        let spec = messages(network(2), &[(0, ops.to_vec()), (other, vec![compute(50_000)])], COSTS);
        let ranks = ranks(spec);
        let bytes = |rank: &RankRecord| (rank.sent_bytes.get(), rank.received_bytes.get());
        assert_eq!((bytes(&ranks[0]), bytes(&ranks[1])), ((1_000, 30_000), (30_000, 1_000)), "host {other}");
    }
}

#[test]
fn a_loop_of_no_turns_is_passed_over_and_loops_may_stand_in_loops() {
    let none = [&repeated(0, 0, &[compute(1_000)])[..], &[START, stop(1)]].concat();
    let inner = repeated(1, 3, &[compute(10)]);
    let nested = [&repeated(0, 4, &[&inner[..], &[compute(1)]].concat())[..], &[START, stop(2)]].concat();
    let timings = timings(each(vec![none, nested]));
    assert_eq!((end_of(&timings, 1), end_of(&timings, 2)), (0, 4 * 31 * 1_000));
}

#[test]
fn of_one_send_that_is_made_twice_the_first_message_goes_to_the_receive_posted_first() {
    // Both have asked, and have been answered, before the data of the first one has come.
    let size = 20_480;
    let sender = [&repeated(0, 2, &[Op::Isend { to: 1, size, tag: 0, set: 0 }])[..], &[WAIT]].concat();
    let post = |set| Op::Irecv { from: 0, size, tag: 0, set };
    let (first, second) = (Op::Wait { sets: 2 }, Op::Wait { sets: 4 });
    let receiver = [START, post(1), post(2), first, stop(1), second, stop(2)].to_vec();
    let timings = timings(each(vec![sender, receiver]));
    let packet = 2_080 * 80;
    let come = COST + 2 * across(16) + 9 * packet + across(2_048);
    assert_eq!(end_of(&timings, 1), come + COST);
    assert_eq!(end_of(&timings, 2), come + 10 * packet + COST);
}

#[test]
fn what_takes_long_is_no_deadlock() {
    // 2 s for a send, and 2 s more within a host.
    let two = Span::from_ms(2_000);
    let slow = Costs { local: two, send: two, ..COSTS };
    let placed = [(0, send(1, 8, 0).to_vec()), (0, recv(0, 8, 0).to_vec())];
    let ends = ranks(messages(network(2), &placed, slow));
    assert_eq!(ends[1].finish, Some(Time::ZERO + two * 2 + COSTS.receive));
    // A program without end that sends now and then.
    let body = [Op::Compute(two), isend(1, 8, 0)];
    let endless = repeated(0, FOREVER, &body);
    let ends = ranks(each(vec![endless, recv(0, 8, 0).to_vec()]));
    assert!(ends[1].finish > Some(Time::ZERO + two), "{ends:?}");
}
