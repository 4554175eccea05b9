//! Who knows of whom after a collective, and how many messages it takes.
use super::super::testing::execute;
use super::super::{self as program, ANY};
use super::*;

fn everybody(n: u32) -> Communicator {
    Communicator::new(3, (0..n).collect())
}

fn programs(n: u32, calls: impl Fn(&mut Builder, &Communicator, usize)) -> Vec<Vec<program::Op>> {
    let all = everybody(n);
    let program = |place| {
        let mut builder = Builder::new(n);
        calls(&mut builder, &all, place as usize);
        builder.finish().expect("a good program")
    };
    (0..n).map(program).collect()
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for n in 1..70 {
        let done = execute(&programs(n, |rank, all, place| {
            rank.barrier(all, place);
        }));
        // Who leaves has heard, by way of others, of everybody.
        assert!(done.iter().all(|rank| rank.ended && rank.knows == (1 << n) - 1), "{n}");
        let rounds = f64::from(n).log2().ceil() as usize;
        assert!(done.iter().all(|rank| rank.sent.len() == rounds), "{n} ranks need {rounds} rounds");
    }
}

#[test]
fn an_allreduce_tells_all_of_all_and_folds_what_is_beyond_a_power_of_two() {
    for n in 1..70u32 {
        let size = Bytes::new(24);
        let done = execute(&programs(n, |rank, all, place| {
            rank.allreduce(all, place, size);
        }));
        assert!(done.iter().all(|rank| rank.ended && rank.knows == (1 << n) - 1), "{n}");
        let whole = 1 << n.ilog2();
        let expected = whole * n.ilog2() + 2 * (n - whole);
        let sent: usize = done.iter().map(|rank| rank.sent.len()).sum();
        assert_eq!(sent, expected as usize, "{n} ranks");
        assert!(done.iter().flat_map(|rank| &rank.sent).all(|(_, bytes, _)| *bytes == 24));
    }
}

#[test]
fn of_24_ranks_16_are_folded_and_the_rest_double_four_times() {
    // 16 places: the 8 odd ones of the first 16 ranks, and ranks 16 to 23.
    let done = execute(&programs(24, |rank, all, place| {
        rank.allreduce(all, place, Bytes::new(8));
    }));
    let sent = |rank: usize| done[rank].sent.iter().map(|(to, ..)| *to).collect::<Vec<_>>();
    assert_eq!(sent(0), [1]);
    assert_eq!(sent(1), [3, 5, 9, 16, 0]);
    assert_eq!(sent(23), [22, 21, 19, 15]);
}

#[test]
fn one_barrier_after_the_other_and_collectives_of_other_communicators_do_not_mix() {
    let (n, pair) = (6, Communicator::new(9, vec![4, 1]));
    let programs = programs(n, |rank, all, place| {
        rank.repeat(5).barrier(all, place);
        if let Some(own) = pair.place(place as u32) {
            rank.allreduce(&pair, own, Bytes::new(8)).barrier(&pair, own);
        }
        rank.allreduce(all, place, Bytes::new(8)).end();
    });
    assert!(execute(&programs).iter().all(|rank| rank.ended));
}

#[test]
fn a_receive_of_any_message_takes_none_of_a_barrier() {
    let programs = programs(2, |rank, all, place| {
        if place == 0 {
            rank.irecv(ANY, Bytes::new(8), ANY, 0).barrier(all, 0).wait(1);
        } else {
            rank.barrier(all, 1).isend(0, Bytes::new(8), 5, 0);
        }
    });
    assert!(execute(&programs).iter().all(|rank| rank.ended));
}

/// What the ranks have done when member 1, or the only one, is the root.
fn scheduled(op: Op, algorithm: Algorithm, n: u32, bytes: u64) -> Vec<program::testing::Done> {
    let schedule = Schedule::new(op, algorithm, n as usize, Bytes::new(bytes), (1 % n) as usize);
    execute(&programs(n, |rank, all, place| {
        rank.collective(&schedule, all, place);
    }))
}

#[test]
fn who_needs_the_data_of_whom_has_heard_of_it_after_a_collective() {
    for n in 1..18u32 {
        let (everybody, root) = ((1u128 << n) - 1, 1 % n);
        for op in [
            Op::Bcast,
            Op::Reduce,
            Op::Allreduce,
            Op::Gather,
            Op::Scatter,
            Op::Allgather,
            Op::Alltoall,
            Op::ReduceScatter,
        ] {
            for algorithm in op.algorithms().iter().filter(|algorithm| algorithm.does(op, n as usize)) {
                let done = scheduled(op, *algorithm, n, 1000);
                let what = format!("{op:?} {algorithm:?} {n}");
                assert!(done.iter().all(|rank| rank.ended), "{what}");
                let sent: usize = done.iter().map(|rank| rank.sent.len()).sum();
                assert_eq!(sent as u64, algorithm.messages(op, u64::from(n)), "{what}");
                for (number, rank) in (0..).zip(&done) {
                    let needs = match op {
                        Op::Bcast | Op::Scatter => 1 << root,
                        Op::Reduce | Op::Gather if number != root => 0,
                        _ => everybody,
                    };
                    assert_eq!(rank.knows & needs, needs, "{what}: rank {number}");
                }
            }
        }
    }
}

#[test]
fn a_collective_sends_as_many_bytes_as_its_arithmetic_says() {
    let sent = |op, algorithm, n| -> u64 {
        let done = scheduled(op, algorithm, n, 840);
        done.iter().flat_map(|rank| &rank.sent).map(|(_, bytes, _)| bytes).sum()
    };
    for n in 2..9 {
        let others = 840 * (u64::from(n) - 1);
        assert_eq!(sent(Op::Bcast, Algorithm::Binomial, n), others);
        assert_eq!(sent(Op::Reduce, Algorithm::Linear, n), others);
        assert_eq!(sent(Op::Scatter, Algorithm::Linear, n), others);
        assert_eq!(sent(Op::ReduceScatter, Algorithm::Ring, n), others);
        assert_eq!(sent(Op::Allreduce, Algorithm::Ring, n), 2 * others);
        assert_eq!(sent(Op::Allgather, Algorithm::Ring, n), u64::from(n) * others);
        assert_eq!(sent(Op::Alltoall, Algorithm::Linear, n), u64::from(n) * others);
    }
    // Each of n = 2^k places hands over (n - 1)/n of all, twice.
    assert_eq!(sent(Op::Allreduce, Algorithm::HalvingDoubling, 8), 2 * 7 * 840);
}
