//! Puts and gets: one side alone.
use backwater_traffic::program::Op;
use scene::{COSTS, START, compute, messages, stop};

use crate::{WAY, across, each, end_of, network, timings};

const COST: u64 = 300_000;

/// The other side works all the time.
fn against_a_busy_rank(ops: &[Op]) -> Vec<(u32, u32, u64, u64)> {
    timings(each(vec![[&[START], ops, &[Op::Flush, stop(1)]].concat(), vec![compute(1_000_000)]]))
}

#[test]
fn a_put_and_its_flush_take_the_way_there_and_the_answers_way_back() {
    let put = Op::Put { to: 1, size: 4_096 };
    let there = 2080 * 80 + across(2_048);
    assert_eq!(end_of(&against_a_busy_rank(&[put]), 1), COST + there + across(16));
}

#[test]
fn a_get_takes_the_way_of_a_request_and_the_way_of_the_data() {
    let get = Op::Get { from: 1, size: 4_096 };
    let back = 2080 * 80 + across(2_048);
    assert_eq!(end_of(&against_a_busy_rank(&[get]), 1), COST + across(16) + back);
}

#[test]
fn a_put_of_any_size_goes_without_asking() {
    let put = Op::Put { to: 1, size: 100 * 2_048 };
    assert_eq!(end_of(&against_a_busy_rank(&[put]), 1), COST + 99 * 2080 * 80 + across(2_048) + across(16));
}

#[test]
fn a_flush_waits_for_all_puts_and_gets_and_without_any_for_nothing() {
    assert_eq!(end_of(&against_a_busy_rank(&[]), 1), 0);
    let both = [Op::Put { to: 1, size: 8 }, Op::Get { from: 1, size: 8 }, Op::Put { to: 1, size: 8 }];
    // The last put is given after three costs.
    assert_eq!(end_of(&against_a_busy_rank(&both), 1), 3 * COST + across(8) + across(16));
}

#[test]
fn a_put_costs_its_caller_the_cost_of_a_message_and_no_more() {
    let ops = [START, Op::Put { to: 1, size: 100_000 }, stop(1), Op::Get { from: 1, size: 100_000 }, stop(2)];
    let timings = timings(each(vec![ops.to_vec(), Vec::new()]));
    assert_eq!((end_of(&timings, 1), end_of(&timings, 2)), (COST, 2 * COST));
}

#[test]
fn gets_of_two_ranks_share_the_link_of_the_one_that_they_read_from() {
    // Two replies of 8 packets each leave by one link, which is never idle from the first request on.
    let reader = |late| {
        [&[compute(late), Op::Get { from: 0, size: 16_384 }, Op::Flush, START, stop(late as u32)][..]]
            .concat()
    };
    let timings = timings(each(vec![Vec::new(), reader(0), reader(1)]));
    let request = COST + across(16);
    let all = request + 16 * 2080 * 80 + WAY + 2080 * 80 + WAY;
    let last = end_of(&timings, 0).max(end_of(&timings, 1));
    assert_eq!(last, all);
}

#[test]
fn puts_and_gets_within_a_host_are_done_when_a_message_would_have_come() {
    for op in [Op::Put { to: 1, size: 1_000_000 }, Op::Get { from: 1, size: 1_000_000 }] {
        let a = [START, op, Op::Flush, stop(1)].to_vec();
        let spec = messages(network(2), &[(0, a), (0, Vec::new())], COSTS);
        assert_eq!(end_of(&timings(spec), 1), COST + 500_000);
    }
}
