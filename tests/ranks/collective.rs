//! Barriers and sums of all ranks.
use backwater_fabric::Spec;
use backwater_traffic::program::{Builder, Communicator, Op};
use backwater_units::Bytes;
use scene::{START, compute, stop};

use crate::{across, each, end_of, timings, why};

/// A message of 8 B, with the cost of sending and of taking it.
const MESSAGE: u64 = 300_000 + across(8) + 300_000;

/// Ranks that work for a while (nanoseconds) and then do something together.
fn together(late: &[u64], calls: impl Fn(&mut Builder, &Communicator, usize)) -> Spec {
    let ranks = late.len() as u32;
    let all = Communicator::new(0, (0..ranks).collect());
    let program = |(place, late): (usize, &u64)| {
        let mut builder = Builder::new(ranks);
        calls(&mut builder, &all, place);
        let ops = builder.finish().expect("a good program");
        // Ops of collectives stand by themselves: loops would have to be moved.
        assert!(ops.iter().all(|op| !matches!(op, Op::Loop { .. })));
        [&[compute(*late), START], &ops[..], &[stop(place as u32)]].concat()
    };
    each(late.iter().enumerate().map(program).collect())
}

fn barrier(late: &[u64]) -> Vec<u64> {
    let timings = timings(together(late, |rank, all, place| {
        rank.barrier(all, place);
    }));
    (0..late.len() as u32).map(|place| end_of(&timings, place)).collect()
}

#[test]
fn a_barrier_to_which_all_come_at_once_takes_a_message_for_each_doubling_of_the_ranks() {
    for (ranks, rounds) in [(2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)] {
        assert_eq!(barrier(&vec![0; ranks]), vec![rounds * MESSAGE; ranks], "{ranks} ranks");
    }
}

#[test]
fn nobody_leaves_a_barrier_before_the_last_one_has_come() {
    for last in 0..5 {
        let mut late = vec![0; 5];
        late[last] = 50_000;
        let ends = barrier(&late);
        assert!(ends.iter().all(|end| *end > 50_000_000), "{ends:?}");
        // Whoever it tells last needs three messages after it.
        assert!(ends.iter().all(|end| *end <= 50_000_000 + 3 * MESSAGE), "{ends:?}");
    }
}

#[test]
fn a_sum_of_two_four_or_eight_ranks_takes_a_round_for_each_doubling() {
    for (ranks, rounds) in [(2, 1), (4, 2), (8, 3)] {
        let timings = timings(together(&vec![0; ranks], |rank, all, place| {
            rank.allreduce(all, place, Bytes::new(8));
        }));
        assert!((0..ranks as u32).all(|place| end_of(&timings, place) == rounds * MESSAGE), "{timings:?}");
    }
}

#[test]
fn of_three_ranks_the_first_hands_its_number_to_the_second_and_gets_the_sum_from_it() {
    // The third one comes after 1 us. The second has taken the first one's after a message, 806.4 ns, and sends at 1106.4; it takes
    // the third one's at 1506.4 to 1806.4, and hands the sum to the first by 2106.4, which has taken it a way and a cost later.
    let timings = timings(together(&[0, 0, 1_000], |rank, all, place| {
        rank.allreduce(all, place, Bytes::new(8));
    }));
    let cost = 300_000;
    let third = 1_000_000 + cost + across(8);
    let second = third + cost;
    assert_eq!(end_of(&timings, 0), second + cost + across(8) + cost);
    // Its last message has left after the 40 B of its packet.
    assert_eq!(end_of(&timings, 1), second + cost + 40 * 80);
    assert_eq!(end_of(&timings, 2), MESSAGE + cost + across(8) + cost);
}

#[test]
fn a_barrier_that_one_rank_never_comes_to_names_those_who_wait_for_it() {
    let spec = together(&[0, 0, 0], |rank, all, place| {
        if place != 2 {
            rank.barrier(all, place);
        }
    });
    let text = why(spec).to_string();
    // 0 waits for 2 in the first round; 1 has heard from 0, and waits for 2 in the second.
    assert!(text.contains("2 ranks have not ended"), "{text}");
    assert!(text.contains("rank 0 (h0) waits") && text.contains("rank 1 (h1) waits"), "{text}");
    assert!(!text.contains("rank 2 (h2) waits"), "{text}");
}
