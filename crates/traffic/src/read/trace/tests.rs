//! Traces good and bad.
use backwater_units::Bytes;

use super::*;
use crate::trace::Event;

const SMALL: &str = "backwater-trace 1
# four ranks, and a group of two
ranks 4
group 7 0 2
message 1 from 0 to 1 bytes 4KiB
message 2 from 1 to 2 bytes 0 after received 1 delay 500ns
collective 5 reduce bytes 1000 algorithm linear group 7 root 2
join 5 rank 2 after received 2
message 3 from 0 to 3 bytes 8 after done 5 delay 1us
message 4 from 0 to 2 bytes 8 after acked 3
task 9 rank 2 after received 2 received 4 done 5 delay 2us
task 10 rank 2 after task 9
message 5 from 2 to 3 bytes 8 after task 10
pe * put-nbi to +1 bytes 8 times 3
pe 2 compute 1us
pe 2 get from 0 bytes 1KiB
pe * barrier
";

#[test]
fn a_trace_says_who_sends_what_after_what() {
    let read = trace(SMALL).expect("a good trace");
    assert_eq!((read.ranks, read.messages.len(), read.flows()), (4, 5, 6 + 12 + 2 + 8));
    assert_eq!(read.messages[0].bytes, Bytes::new(4096));
    let Ready { after, delay, line } = read.messages[1].ready;
    assert_eq!((after, delay, line), (Dependency::Received(0), Span::from_ns(500), 6));
    assert_eq!(read.messages[2].ready.after, Dependency::Done(0));
    let collective = &read.collectives[0];
    assert_eq!((collective.group, collective.root), (1, 1), "rank 2 is the second of its group");
    assert_eq!(collective.joins[1].after, Dependency::Received(1));
}

#[test]
fn a_trace_that_is_written_is_read_back_the_same() {
    let read = trace(SMALL).expect("a good trace");
    let again = trace(&read.to_string()).expect("what is written");
    assert_eq!((&again.groups, again.flows()), (&read.groups, read.flows()));
    assert_eq!(again.to_string(), read.to_string());
    // Its records stand in another order, and so on other lines.
    let program = |trace: &Trace| trace.expand().expect("no circle").without_lines();
    assert_eq!(program(&again), program(&read));
}

#[test]
fn a_task_waits_for_all_that_it_names_and_then_takes_its_time() {
    let read = trace(SMALL).expect("a good trace");
    assert_eq!(read.tasks[0].after, [Dependency::Received(1), Dependency::Received(3), Dependency::Done(0)]);
    let program = read.expand().expect("no circle");
    // The last message starts with the task that it waits for, which waits for the other task.
    let starting = program.steps.iter().position(|step| step.starts.contains(&4)).expect("it starts");
    let [Event::Done(before)] = program.steps[starting].after[..] else { panic!("one task") };
    let waited = &program.steps[before as usize];
    assert_eq!((waited.host, waited.after.len(), waited.delay), (2, 3, Span::from_us(2)));
}

#[test]
fn what_is_wrong_with_a_task_is_said_with_its_line() {
    refused("task 1 rank 4", 4, "there is no rank 4");
    refused(
        "task 1 rank 1 after",
        4,
        "after needs `sent`, `acked`, `received`, `done` or `task` and a number",
    );
    refused("task 1 rank 1 after received", 4, "after needs");
    refused("task 1 rank 1 after received 1 sent", 4, "after needs");
    refused("task 1 rank 1 after received 2", 4, "there is no message 2");
    refused("task 1 rank 2 after received 1", 4, "rank 2, which cannot know it");
    refused("task 1 rank 1 delay 1us after received 1", 4, "`delay` comes after what the task waits for");
    refused("task 1 rank 1 after task 1", 4, "never becomes ready");
    refused("task 1 rank 1\ntask 2 rank 2 after task 1", 5, "task 1 is one of rank 1");
    refused("task 1 rank 1\ntask 1 rank 2", 5, "two of task 1");
    refused("task 1", 4, "a task needs `rank` and a rank");
}

#[track_caller]
fn refused(lines: &str, line: usize, what: &str) {
    let text = format!("backwater-trace 1\nranks 4\nmessage 1 from 0 to 1 bytes 9\n{lines}");
    let error = trace(&text).expect_err("something is wrong");
    assert!(error.line == line && error.what.contains(what), "{error}");
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    assert_eq!(trace("ranks 4").expect_err("no header").line, 1);
    assert_eq!(trace("backwater-trace 1\n\nranks 1").expect_err("one rank").line, 3);
    refused("message 1 from 1 to 2 bytes 9", 4, "two of message 1");
    refused("message 2 from 1 to 4 bytes 9", 4, "there is no rank 4; the 4 ranks are 0 to 3");
    refused("message 2 from 1 to 1 bytes 9", 4, "itself");
    refused(
        "message 2 from 1 to 2 bytes 9PB",
        4,
        "`9PB` is not a size such as 4096, 4KiB or 1MB (units B to TB",
    );
    refused("message 2 from 1 to 2 bytes 1001TB", 4, "`1001TB` is too much: allowed are up to 1000TB");
    refused("message 2 from 1 to 2", 4, "needs `bytes`");
    refused("message 2 from 1 to 2 bytes 9 at 3", 4, "`at` is not one of");
    refused("message 2 from 1 to 2 bytes 9 bytes 8", 4, "twice");
    refused("message 2 from 1 to 2 bytes 9 after received 3", 4, "there is no message 3");
    refused("message 2 from 2 to 1 bytes 9 after received 1", 4, "rank 2, which cannot know it");
    refused("message 2 from 1 to 2 bytes 9 after sent 1", 4, "sent by rank 0");
    refused("collective 1 allgather bytes 9 algorithm binomial", 4, "there are ring, recursive-doubling");
    refused("group 1 0 1 2\ncollective 1 allgather bytes 9 algorithm recursive-doubling group 1", 5, "not 3");
    let in_groups = "collective 1 allreduce bytes 9 algorithm hierarchical";
    refused(in_groups, 4, "needs `within`");
    refused(&format!("{in_groups} within 3"), 4, "divides 4 ranks");
    refused(&format!("{in_groups} within 0"), 4, "divides 4 ranks");
    refused("collective 1 allreduce bytes 9 within 3", 4, "`within` is for hierarchical");
    refused("collective 1 scan bytes 9", 4, "`scan` is not one of barrier");
    refused("collective 1 bcast bytes 9 root 5", 4, "root 5 is not in the group");
    refused("collective 1 barrier root 0", 4, "a barrier has no root");
    refused("join 3 rank 0", 4, "there is no collective 3");
    refused("group 1 0 1\ncollective 1 barrier group 1\njoin 1 rank 2", 6, "rank 2 is not in collective 1");
    refused("group 1 0 0", 4, "each of them once");
    refused("sleep 4", 4, "`sleep` is not one of group, message");
}

#[test]
fn what_is_wrong_with_a_program_is_said_with_its_line() {
    refused("pe 4 quiet", 4, "there is no rank 4; the 4 ranks are 0 to 3");
    refused("pe all quiet", 4, "pe `all` is not a rank, or * for all");
    refused("pe", 4, "pe needs a rank, or * for all, and what it does: one of put, put-nbi, get");
    refused("pe 1", 4, "a pe needs something to do: one of put, put-nbi, get");
    refused("pe 1 push to 2 bytes 9", 4, "`push` is not one of put, put-nbi");
    refused("pe 1 put to 1 bytes 9", 4, "PE 1 deals with itself, which needs no network");
    refused("pe * put to +4 bytes 9", 4, "deals with itself");
    refused("pe 1 put to next bytes 9", 4, "to `next` is not a rank, or +1 for the next one");
    refused("pe 1 put bytes 9", 4, "needs `to` and a rank");
    refused("pe 1 get from 2", 4, "a get needs `bytes` and a size");
    refused("pe 1 get to 2 bytes 9", 4, "`to` is not one of from, bytes, times");
    refused("pe 1 put to 2 bytes 9 times 0", 4, "times 0 is not a number from 1 to 10000000");
    refused("pe 1 compute", 4, "compute needs one time, such as 500ns");
    refused("pe 1 compute fast", 4, "compute `fast` is not a time such as 500ns");
    refused("pe * quiet now", 4, "nothing follows quiet, but here stands `now`");
    refused("pe * put to +1 bytes 9 times 10000000", 4, "more than 20000000 messages");
    refused(
        "pe * barrier\npe 1 barrier\npe 3 barrier",
        5,
        "PE 1 waits here in its barrier number 2, but PE 0 has only 1; a barrier is one of all PEs: `pe * barrier`",
    );
}

#[test]
fn records_that_wait_for_each_other_are_refused() {
    let circle =
        "message 2 from 1 to 2 bytes 9 after received 3\nmessage 3 from 2 to 1 bytes 9 after received 2";
    refused(
        circle,
        4,
        "never becomes ready: what it waits for waits, by way of other records, for itself; let one of them wait",
    );
    // The barrier waits for rank 1, which waits for a message that rank 0 sends after the barrier.
    let barrier =
        "collective 1 barrier\njoin 1 rank 1 after received 2\nmessage 2 from 0 to 1 bytes 1 after done 1";
    refused(barrier, 4, "never becomes ready");
}
