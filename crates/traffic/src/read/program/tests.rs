//! Programs good and bad.
use super::*;
use crate::program::{ANY, FOREVER, INTERNAL, Op};
use backwater_units::Span;

const RING: &str = "backwater-program 1
# every rank tells both neighbours
ranks 4
role end 3
rank * loop 10
rank * start ring
rank * irecv from -1 bytes 4KiB tag 3 request 0
rank * isend to +1 bytes 4096 tag 3    # request 0
rank * wait
rank * stop ring label 7
rank * end
group 5 1,3
rank 1,3 barrier group 5
rank 0 put to 3 bytes 1MB
rank 0 flush
rank 2-3 compute 500ns
";

fn ops(call: &str) -> Vec<Op> {
    let read = program(&format!("backwater-program 1\nranks 4\nrank 1 {call}\nrank 1 wait\nrank 1 flush\n"));
    let ops = &read.unwrap_or_else(|error| panic!("{call}: {error}")).members[1].ops;
    ops[..ops.len() - 2].to_vec()
}

#[test]
fn a_program_says_what_each_rank_does() {
    let read = program(RING).expect("a good program");
    assert_eq!(
        (read.members.len(), &read.roles[..], &read.series[..]),
        (4, &["rank".to_owned(), "end".to_owned()][..], &["ring".to_owned()][..])
    );
    assert_eq!(read.members.iter().map(|member| member.role).collect::<Vec<_>>(), [0, 0, 0, 1]);
    let first = &read.members[0];
    let expected = [
        Op::Loop { times: 10, end: 7 },
        Op::Start { timer: 0 },
        Op::Irecv { from: 3, size: 4096, tag: 3, set: 0 },
        Op::Isend { to: 1, size: 4096, tag: 3, set: 0 },
        Op::Wait { sets: (1 << 63) - 1 },
        Op::Stop { timer: 0, series: 0, label: 7 },
        Op::End { begin: 1 },
        Op::Put { to: 3, size: 1_000_000 },
        Op::Flush,
    ];
    assert_eq!(first.ops, expected);
    assert_eq!(first.lines, [5, 6, 7, 8, 9, 10, 11, 14, 15]);
    let last = &read.members[3].ops;
    assert!(matches!(last[3], Op::Isend { to: 0, .. }), "after the last rank comes the first");
    // A barrier of two is one exchange.
    assert!(
        matches!(last[7..10], [Op::Irecv { from: 1, tag, .. }, Op::Isend { .. }, Op::Wait { .. }] if tag & INTERNAL != 0)
    );
    assert_eq!(last[10], Op::Compute(Span::from_ns(500)));
    assert_eq!(read.members[3].lines[7..], [13, 13, 13, 16]);
}

#[test]
fn every_call_has_its_ops() {
    assert_eq!(
        ops("irecv from any bytes 0 tag any request 62"),
        [Op::Irecv { from: ANY, size: 0, tag: ANY, set: 62 }]
    );
    assert_eq!(ops("isend to +0 bytes 1"), [Op::Isend { to: 1, size: 1, tag: 0, set: 0 }]);
    assert_eq!(ops("get from -2 bytes 8"), [Op::Get { from: 3, size: 8 }]);
    assert_eq!(ops("wait request 2"), [Op::Wait { sets: 4 }]);
    let settle = Op::Wait { sets: 1 << 63 };
    assert_eq!(ops("send to 0 bytes 9 tag 4"), [Op::Isend { to: 0, size: 9, tag: 4, set: 63 }, settle]);
    assert_eq!(ops("recv from any bytes 9"), [Op::Irecv { from: ANY, size: 9, tag: 0, set: 63 }, settle]);
    let both = [
        Op::Irecv { from: 0, size: 5, tag: 1, set: 63 },
        Op::Isend { to: 2, size: 9, tag: 1, set: 63 },
        settle,
    ];
    assert_eq!(ops("sendrecv to +1 bytes 9 from -1 room 5 tag 1"), both);
    // Two rounds among four, an exchange each.
    assert_eq!((ops("barrier").len(), ops("allreduce bytes 64KiB").len()), (6, 6));
    assert_eq!(ops("allreduce bytes 8 algorithm recursive-doubling"), ops("allreduce bytes 8"));
    assert_eq!(ops("allreduce bytes 8 algorithm ring").len(), 18);
    // Rank 1 is a leaf of the tree of rank 2, whose branches are ranks 0 and, over it, 1; rank 3.
    assert!(
        matches!(ops("bcast bytes 9 root 2")[..], [Op::Irecv { from: 0, size: 9, .. }, end] if end == settle)
    );
    let posted = |op: &Op| matches!(op, Op::Irecv { .. } | Op::Isend { size: 9, .. });
    assert_eq!(ops("alltoall bytes 9").iter().filter(|op| posted(op)).count(), 6);
    let endless = program(
        "backwater-program 1\nranks 4\nrank 1 loop forever\nrank 1 recv from 0 bytes 8\nrank 1 end\n",
    );
    assert_eq!(endless.expect("a good program").members[1].ops[0], Op::Loop { times: FOREVER, end: 4 });
}

#[track_caller]
fn refused(lines: &str, line: usize, what: &str) {
    let text = format!("backwater-program 1\nranks 4\nrank 0 flush\n{lines}");
    let error = program(&text).expect_err("something is wrong");
    assert!(error.line == line && error.what.contains(what), "{error}");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    assert_eq!(program("").expect_err("no header").line, 1);
    assert_eq!(program("ranks 4").expect_err("no header").line, 1);
    assert_eq!(program("backwater-program 1\n\nranks 0").expect_err("no rank").line, 3);
    refused("pe 1 flush", 4, "`pe` is not one of rank, group, role");
    refused("rank", 4, "rank needs ranks, such as 0-3,7 or *, and a call");
    refused("rank 1", 4, "a rank needs something to do: one of isend, irecv, send");
    refused("rank 1 scan", 4, "`scan` is not one of isend");
    refused("rank 1 bcast", 4, "a bcast needs `bytes` and a size");
    refused("rank 1 allgather bytes 8 root 1", 4, "`root` is not one of bytes, algorithm, within, group");
    refused("rank 1 bcast bytes 8 root 4", 4, "root 4 is not in the group");
    refused("rank 1 bcast bytes 8 algorithm ring", 4, "no algorithm for bcast; there are binomial, linear");
    refused("rank 4 flush", 4, "there is no rank 4; the 4 ranks are 0 to 3");
    refused("rank all flush", 4, "`all` is not a rank, such as 3, 0-3,7 or *");
    refused("rank 3-1 flush", 4, "`3-1` counts down; write 1-3");
    refused("rank 0-2,1 flush", 4, "names rank 1 twice");
    refused("rank 1 isend bytes 9", 4, "isend needs `to` and a rank, or +1 for the next one");
    refused("rank 1 isend to any bytes 9", 4, "to `any` is not a rank, or +1 for the next one");
    refused("rank 1 irecv from all bytes 9", 4, "from `all` is not a rank, +1 for the next one, or any");
    refused("rank 1 isend to 7 bytes 9", 4, "there is no rank 7");
    refused("rank 1 isend to 2", 4, "isend needs `bytes` and a size");
    refused("rank 1 isend to 2 bytes 9PB", 4, "`9PB` is not a size such as 4096, 4KiB or 1MB");
    refused("rank 1 isend to 2 bytes 2000TB", 4, "is too much: allowed are up to 1000TB");
    refused("rank 1 isend to 2 bytes 9 tag any", 4, "tag `any` is not a number");
    refused(
        "rank 1 isend to 2 bytes 9 tag 2147483648",
        4,
        "tag 2147483648: allowed are 0 to 2147483647; coll",
    );
    refused("rank 1 isend to 2 bytes 9 request 63", 4, "request 63: allowed are 0 to 62");
    refused("rank 1 wait request 900", 4, "request `900` is not a number from 0 to 62");
    refused("rank 1 send to 2 bytes 9 request 1", 4, "`request` is not one of to, bytes, tag");
    refused("rank 1 put to 2 bytes 9 bytes 8", 4, "twice");
    refused("rank 1 barrier group 2", 4, "no line above says `group 2 ...`");
    refused("group 1 0 2\nrank * barrier group 1", 5, "rank 1: is not in the group");
    refused("group 1 0 0", 4, "each of them once");
    refused("group 0 1", 4, "group 0 is all ranks");
    refused("group 1 0\ngroup 1 2", 5, "there are two of group 1");
    refused("role 0-3", 4, "a role needs a name and ranks");
    refused("rank 1 flush now", 4, "nothing follows flush, but here stands `now`");
    refused("rank 1 compute", 4, "compute needs one thing: a time such as 500ns");
    refused("rank 1 compute soon", 4, "compute `soon` is not a time such as 500ns");
    refused("rank 1 loop 0", 4, "loop `0` is not a number of turns from 1 to 4294967294, or forever");
    refused("rank 1 stop ring label x", 4, "stop needs the name of a stopwatch, and may have a label");
}

#[test]
fn what_cannot_go_on_is_said_with_the_line_where_it_begins() {
    refused("rank 1 end", 4, "there is no loop to end here");
    refused("rank * flush\nrank * loop 3\nrank * flush", 5, "rank 0: this loop has no end");
    refused(
        "rank 2 start a\nrank 1 loop 3\nrank 1 flush",
        4,
        "rank 2: stopwatch `a` is started here, but never stopped",
    );
    refused("rank 1 stop a", 4, "stopwatch `a` is stopped, but does not run");
    refused(
        "rank 1 start b\nrank 1 stop b\nrank 1 start a\nrank 1 start a",
        7,
        "stopwatch `a` is started, but it runs",
    );
    refused("rank 1 loop forever\nrank 1 flush\nrank 1 end", 6, "takes no time and waits for no message");
    refused(
        "rank 1 loop forever\nrank 1 isend to 2 bytes 9\nrank 1 end",
        6,
        "more and more requests of set 0",
    );
    refused(
        "rank 1 loop forever\nrank 1 put to 2 bytes 9\nrank 1 flush\nrank 1 end\nrank 1 flush",
        8,
        "nothing can follow",
    );
}

#[test]
fn a_rank_has_16_stopwatches_but_all_together_may_have_more() {
    let watch = |rank: usize, name: usize| format!("rank {rank} start w{name}\nrank {rank} stop w{name}\n");
    let good: String = (0..32).map(|name| watch(name / 16, name)).collect();
    let text = |lines: &str| format!("backwater-program 1\nranks 4\n{lines}");
    let read = program(&text(&good)).expect("16 for each of two ranks");
    assert_eq!(read.series.len(), 32);
    assert!(matches!(read.members[1].ops[1], Op::Stop { timer: 0, series: 16, .. }));
    let error = program(&text(&(good + &watch(1, 99)))).expect_err("a seventeenth");
    assert!(error.line == 67 && error.what.contains("`w99` would be one of more than 16"), "{error}");
}

#[test]
fn programs_too_long_to_hold_are_refused_where_they_become_so() {
    let text = |lines: &str| format!("backwater-program 1\nranks 64\n{lines}");
    // A barrier of 64 ranks has 6 rounds of three ops: 1152 for all of them.
    let read = |lines: &str| within(&text(lines), 5000).map(|read| read.members.len());
    assert_eq!(read(&"rank * barrier\n".repeat(4)), Ok(64));
    let error = read(&"rank * barrier\n".repeat(5)).expect_err("5760 ops");
    assert_eq!((error.line, &error.what[..]), (7, "with this line the ranks have more than 5000 ops in all"));
    // What needs no op is work for the reader all the same.
    let error =
        read(&format!("group 1 0\n{}", "rank 0 barrier group 1\n".repeat(5001))).expect_err("5001 calls");
    assert_eq!(error.line, 3 + 5001);
    // Alltoalls of 64 ranks, 4032 messages each: one is planned once for all that call it, and two are too many.
    let called = |bytes| format!("rank 0 alltoall bytes {bytes}\n");
    assert_eq!(read(&called(1).repeat(9)), Ok(64));
    let error = read(&(called(1) + &called(2))).expect_err("8064 messages");
    assert_eq!(
        (error.line, &error.what[..]),
        (4, "with this line collectives have more than 5000 messages in all")
    );
    let groups = (1..80).map(|group| format!("group {group} *\n")).collect::<Vec<_>>().concat();
    let error = read(&groups).expect_err("79 groups of 64");
    assert!(error.line == 2 + 79 && error.what.contains("or 5000 ranks in all groups"), "{error}");
}

#[test]
fn a_program_that_ends_with_open_requests_is_refused_where_the_first_one_is() {
    let refused =
        |calls: &str| program(&format!("backwater-program 1\nranks 2\n{calls}")).unwrap_err().to_string();
    let wait = "rank 0 isend to 1 bytes 1MB request 2\nrank 0 wait request 1\nrank 1 recv from 0 bytes 1MB\n";
    assert_eq!(
        refused(wait),
        "line 3: rank 0: nothing waits for this request: add a wait after it (request 2, or all)"
    );
    let flush = "rank 0 flush\nrank 0 loop 3\nrank 0 put to 1 bytes 8\nrank 0 end\n";
    assert_eq!(
        refused(flush),
        "line 5: rank 0: nothing flushes what this puts or gets: add a flush after it"
    );
}
