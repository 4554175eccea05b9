//! Programs good and bad.
use super::super::testing::execute;
use super::*;

const SIZE: Bytes = Bytes::new(4096);

fn built(calls: impl Fn(&mut Builder)) -> Result<Vec<Op>, Wrong> {
    let mut builder = Builder::new(4);
    calls(&mut builder);
    builder.finish()
}

#[track_caller]
fn refused(op: usize, what: &str, calls: impl Fn(&mut Builder)) {
    let wrong = built(calls).expect_err("something is wrong");
    assert!(wrong.op == op && wrong.what.contains(what), "{wrong}");
}

#[test]
fn a_blocking_call_is_its_request_and_a_wait_for_it() {
    let ops = built(|rank| {
        rank.send_blocking(1, SIZE, 7).receive_blocking(ANY, SIZE, ANY).sendrecv((2, SIZE), (3, SIZE), 0);
    });
    let wait = Op::Wait { sets: 1 << 63 };
    let expected = [
        Op::Isend { to: 1, size: 4096, tag: 7, set: 63 },
        wait,
        Op::Irecv { from: ANY, size: 4096, tag: ANY, set: 63 },
        wait,
        Op::Irecv { from: 3, size: 4096, tag: 0, set: 63 },
        Op::Isend { to: 2, size: 4096, tag: 0, set: 63 },
        wait,
    ];
    assert_eq!(ops.expect("a good program"), expected);
}

#[test]
fn loops_know_where_they_end_and_where_their_bodies_begin() {
    let ops = built(|rank| {
        rank.repeat(3).repeat(2).put(1, SIZE).end().flush().end().compute(Span::from_ns(1));
    });
    let ops = ops.expect("a good program");
    assert_eq!(ops[0], Op::Loop { times: 3, end: 6 });
    assert_eq!(ops[1], Op::Loop { times: 2, end: 4 });
    assert_eq!((ops[3], ops[5]), (Op::End { begin: 2 }, Op::End { begin: 1 }));
}

#[test]
fn a_nested_loop_repeats_its_body_as_often_as_the_product_of_the_turns() {
    let ops = built(|rank| {
        rank.repeat(3).repeat(4).isend(1, SIZE, 0, 0).end().isend(2, SIZE, 0, 0).end();
    });
    let ranks = [ops.expect("a good program"), Vec::new(), Vec::new(), Vec::new()];
    let sent = &execute(&ranks)[0].sent;
    let to = |peer| sent.iter().filter(|(to, ..)| *to == peer).count();
    assert_eq!((to(1), to(2)), (12, 3));
}

#[test]
fn calls_to_nobody_and_of_too_much_are_refused() {
    refused(0, "there is no rank 4; the 4 ranks are 0 to 3", |rank| {
        rank.isend(4, SIZE, 0, 0);
    });
    refused(0, "there is no rank 9", |rank| {
        rank.irecv(9, SIZE, 0, 0);
    });
    refused(1, "there is no rank 4", |rank| {
        rank.flush().get(4, SIZE);
    });
    refused(0, "allowed are up to 1000TB", |rank| {
        rank.put(1, Bytes::MAX);
    });
    refused(0, "set 63 of requests: allowed are 0 to 62", |rank| {
        rank.isend(1, SIZE, 0, 63);
    });
    refused(0, "set 200 of requests", |rank| {
        rank.irecv(1, SIZE, 0, 200);
    });
    refused(0, "waits for no request", |rank| {
        rank.wait(0);
    });
}

#[test]
fn tags_of_collectives_are_not_for_users() {
    for tag in [INTERNAL, INTERNAL | 5, ANY] {
        refused(0, "allowed are 0 to 2147483647; collectives", |rank| {
            rank.isend(1, SIZE, tag, 0);
        });
        refused(0, "collectives use those above", |rank| {
            rank.sendrecv((1, SIZE), (1, SIZE), tag);
        });
    }
    refused(0, "allowed are 0 to 2147483647, or any", |rank| {
        rank.irecv(1, SIZE, INTERNAL, 0);
    });
    assert!(
        built(|rank| {
            rank.irecv(1, SIZE, ANY, 0).isend(1, SIZE, INTERNAL - 1, 0);
        })
        .is_ok()
    );
}

#[test]
fn loops_must_balance() {
    refused(1, "this loop has no end", |rank| {
        rank.flush().repeat(2).flush();
    });
    refused(1, "there is no loop to end here", |rank| {
        rank.flush().end();
    });
    refused(0, "a loop of 0 turns", |rank| {
        rank.repeat(0).end();
    });
    refused(MAX_DEPTH, "more than 8 loops in each other", |rank| {
        for _ in 0..=MAX_DEPTH {
            rank.repeat(2);
        }
    });
}

#[test]
fn a_loop_without_end_must_come_last_and_outside_of_others() {
    refused(4, "nothing can follow", |rank| {
        rank.repeat(FOREVER).put(1, SIZE).flush().end().flush();
    });
    refused(1, "inside another one", |rank| {
        rank.repeat(2).repeat(FOREVER).put(1, SIZE).flush().end().end();
    });
    assert!(
        built(|rank| {
            rank.flush().repeat(FOREVER).put(1, SIZE).flush().end();
        })
        .is_ok()
    );
}

#[test]
fn a_loop_without_end_that_takes_no_time_is_refused() {
    let spins: [fn(&mut Builder); 6] = [
        |_| {},
        |rank| {
            rank.flush();
        },
        |rank| {
            rank.wait(0x7f);
        },
        |rank| {
            rank.start(0).stop(0, 0, 0);
        },
        |rank| {
            rank.compute(Span::ZERO);
        },
        |rank| {
            rank.irecv(1, SIZE, 0, 0).wait(2);
        },
    ];
    for spin in spins {
        let wrong = built(|rank| {
            rank.repeat(FOREVER);
            spin(rank);
            rank.end();
        });
        assert!(wrong.expect_err("stands still").what.contains("takes no time"));
    }
    // Who waits for a message waits for its sender, which takes time; so does what is in an inner loop.
    assert!(
        built(|rank| {
            rank.repeat(FOREVER).receive_blocking(1, SIZE, 0).end();
        })
        .is_ok()
    );
    let inner = built(|rank| {
        rank.repeat(FOREVER).repeat(2).compute(Span::from_ns(1)).end().end();
    });
    assert!(inner.is_ok());
}

#[test]
fn a_loop_without_end_waits_for_what_it_posts() {
    refused(3, "more and more requests of set 2", |rank| {
        rank.repeat(FOREVER).isend(1, SIZE, 0, 2).wait(1).end();
    });
    refused(2, "more and more puts or gets", |rank| {
        rank.repeat(FOREVER).get(1, SIZE).end();
    });
}

#[test]
fn turns_that_take_no_time_are_limited_also_in_nested_loops() {
    refused(4, "1000001000 turns", |rank| {
        rank.repeat(1000).repeat(1_000_000).flush();
        rank.end().end();
    });
}

#[test]
fn a_stopwatch_is_stopped_after_it_was_started_and_before_the_end() {
    refused(0, "stopwatch 3 is stopped, but does not run", |rank| {
        rank.stop(3, 0, 0);
    });
    refused(1, "stopwatch 3 is started, but it runs", |rank| {
        rank.start(3).start(3);
    });
    refused(1, "stopwatch 3 is started here, but never stopped", |rank| {
        rank.flush().start(3);
    });
    refused(0, "stopwatch 16: allowed are 0 to 15", |rank| {
        rank.start(16);
    });
    refused(2, "stopwatch 0 runs only at one end of the loop's body", |rank| {
        rank.repeat(2).start(0).end().stop(0, 0, 0);
    });
    // Each turn measures the time since the stop of the last one.
    let handed_on = built(|rank| {
        rank.start(0).repeat(2).stop(0, 0, 0).start(0).end().stop(0, 0, 0);
    });
    assert!(handed_on.is_ok());
}

#[test]
fn a_program_has_a_million_ops_at_most() {
    refused(MAX_OPS, "more than 1048576 ops: use loops", |rank| {
        for _ in 0..=MAX_OPS {
            rank.flush();
        }
    });
}

#[test]
fn what_is_wrong_first_is_said_and_calls_after_it_do_nothing() {
    let mut builder = Builder::new(2);
    builder.flush().put(2, SIZE).put(1, SIZE).end().stop(0, 0, 0);
    assert_eq!(builder.ops(), [Op::Flush]);
    assert_eq!(builder.wrong().map(|wrong| wrong.op), Some(1));
    assert!(builder.finish().expect_err("no rank 2").to_string().starts_with("op 1: there is no rank 2"));
}
