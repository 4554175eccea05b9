//! Workloads of other tools, good and bad.
use super::chakra::testing::{attribute, node, npu};
use super::*;
use crate::trace::Event;

const GOAL: &str = "num_ranks 3
rank 0 {
l1: calc 500
l2: send 8b to 1 tag 3
l2 requires l1
l3: send 10b to 2
l3 irequires l2
}
rank 1 {
a: recv 8b from 0 tag 3 cpu 1 // then on
b: send 4b to 2 tag 9
b requires a
}
rank 2 { x: recv 4b from 1 tag 9 y: recv 10b from 0 z: calc 7 z requires x z requires y }
";

/// (from, to, bytes) of the messages.
fn sent(imported: &Imported) -> Vec<(u32, u32, u64)> {
    imported.trace.messages.iter().map(|m| (m.src, m.dst, m.bytes.get())).collect()
}

/// When each message starts and the last thing happens if computing takes its time and messages none.
fn timeline(trace: &Trace) -> (Vec<u64>, u64) {
    let program = trace.expand().expect("no circle");
    let mut start: Vec<Option<u64>> =
        program.flows.iter().map(|flow| flow.start.map(backwater_units::Span::as_ps)).collect();
    let mut done: Vec<Option<u64>> = vec![None; program.steps.len()];
    // As often as there are steps: by then everything has happened.
    for _ in 0..=program.steps.len() {
        for (number, step) in program.steps.iter().enumerate() {
            let times: Option<Vec<u64>> = step
                .after
                .iter()
                .map(|event| match event {
                    Event::Sent(flow) | Event::Acked(flow) | Event::Received(flow) => start[*flow as usize],
                    Event::Done(step) => done[*step as usize],
                })
                .collect();
            if let Some(times) = times {
                let at = times.into_iter().max().unwrap_or(0) + step.delay.as_ps();
                done[number] = Some(at);
                step.starts.iter().for_each(|flow| start[*flow as usize] = Some(at));
            }
        }
    }
    let last = done.iter().chain(&start).map(|time| time.expect("it happens")).max().unwrap_or(0);
    (start.into_iter().flatten().collect(), last)
}

#[test]
fn goal_says_who_sends_what_and_when() {
    let read = goal(GOAL).expect("a good schedule");
    assert_eq!(sent(&read), [(0, 1, 8), (0, 2, 10), (1, 2, 4)]);
    // l2 after 500 ns of computing, l3 when l2 has begun, b when the first message is there; z takes 7 ns more.
    assert_eq!(timeline(&read.trace), (vec![500_000, 500_000, 500_000], 507_000));
    assert_eq!(read.notes, [goal::CPUS]);
    let again = crate::read::trace(&read.trace.to_string()).expect("what is written");
    assert_eq!(timeline(&again), timeline(&read.trace));
}

#[test]
fn comments_of_a_goal_schedule_are_those_of_c() {
    let text = "/* two ranks\n rank 9 { */num_ranks 2 // of \"/*\"\nrank 0 { calc/**/5 /* a */ send /* b // */ 8b to 1 }\n/***/ rank 1 { recv 8b from 0 // }\n}";
    let plain = "num_ranks 2 rank 0 { calc 5 send 8b to 1 } rank 1 { recv 8b from 0 }";
    let (read, plain) = (goal(text).expect("good"), goal(plain).expect("good"));
    assert_eq!(read.trace.to_string(), plain.trace.to_string());
    assert_eq!(goal(&text.replace("calc/**/5", "calc soon")).expect_err("no time").place, "line 3");
}

#[test]
fn a_receive_may_have_room_for_more_than_is_sent_and_it_is_said() {
    let read =
        goal("num_ranks 2\nrank 0 { send 5b to 1 send 6b to 1 }\nrank 1 {\nrecv 6b from 0\nrecv 6b from 0 }")
            .expect("good");
    assert_eq!(sent(&read), [(0, 1, 5), (0, 1, 6)]);
    assert_eq!(
        read.notes,
        ["1 receives (the first in line 4) have room for more than is sent: what is sent counts"]
    );
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, ImportError>, message: &str) {
    assert_eq!(result.expect_err("something is wrong").to_string(), message);
}

#[test]
fn what_is_wrong_with_a_goal_schedule_is_said_with_its_line() {
    let two = |rank_0: &str, rank_1: &str| {
        goal(&format!("num_ranks 2\nrank 0 {{\n{rank_0}\n}}\nrank 1 {{\n{rank_1}\n}}"))
    };
    refused(goal(""), "line 1: `num_ranks` is expected, but the file ends");
    refused(goal("num_ranks 1"), "line 1: num_ranks 1 is not a number from 2 to 65536");
    refused(goal("num_ranks 2 rank 2 {}"), "line 1: there is no rank 2; the 2 ranks are 0 to 1");
    refused(goal("num_ranks 2 rank 0 {} rank 0 {}"), "line 1: there are two of rank 0");
    refused(goal("num_ranks 2 rank 0 {"), "line 1: the file ends within a rank; its `}` is missing");
    refused(
        two("wait 3", ""),
        "line 3: `wait` is not one of send, recv, calc, or a label with requires or irequires",
    );
    let any = "is not supported; write the one that it is matched with";
    refused(two("", "recv 8b from -1"), &format!("line 6: -1, a rank to receive from of any kind, {any}"));
    refused(two("", "recv 8b from 0 tag -1"), &format!("line 6: -1, a tag of any kind, {any}"));
    refused(two("send 8b to -1", ""), "line 3: `-1` is not a rank");
    refused(
        two("/* calc 1 */ calc 2 /* then\n", ""),
        "line 3: a comment begins with `/*` and never ends; close it with `*/`",
    );
    refused(two("calc soon", ""), "line 3: `soon` is not a time in nanoseconds");
    refused(two("a: send 8b 1", ""), "line 3: `to` is expected, not `1`");
    refused(
        two("send 8b to 0", ""),
        "line 3: rank 0 sends to itself, which needs no network; write a computation instead",
    );
    refused(two("send 8b to 7", ""), "line 3: there is no rank 7; the 2 ranks are 0 to 1");
    refused(
        two("send 8b to 1 tag 4", ""),
        "line 3: rank 1 never receives what rank 0 sends it here with tag 4",
    );
    refused(
        two("", "recv 8b from 0"),
        "line 6: rank 1 receives from rank 0 with tag 0, which sends nothing more to it",
    );
    refused(two("send 9b to 1", "recv 8b from 0"), "line 6: there is room for 8 B, but rank 0 sends 9 B");
    refused(two("a: calc 1\na: calc 2", ""), "line 4: there are two of label `a`");
    refused(two("a: calc 1\na requires b", ""), "line 4: no operation of this rank has the label `b`");
    refused(
        two("a: calc 1\nb: calc 2\na requires b\nb irequires a", ""),
        "line 3: never becomes ready: what it waits for waits, by way of other records, for itself; let one of them wait for \
         something earlier",
    );
}

/// The schedule of rank 0: compute 500 ns, then send 8 B to rank 1; rank 1 receives.
fn binary() -> Vec<u8> {
    let operation = |waits: u32, kind: u8, peer: u32, size: u64, ends: (u32, u32)| {
        let mut bytes =
            [waits.to_le_bytes().as_slice(), &[kind], &peer.to_le_bytes(), &size.to_le_bytes()].concat();
        bytes.extend(
            [3u32.to_le_bytes().as_slice(), &[0, 0], &ends.0.to_le_bytes(), &ends.1.to_le_bytes()].concat(),
        );
        bytes.extend([0u32.to_le_bytes(), u32::MAX.to_le_bytes()].concat());
        bytes
    };
    let part = |operations: &[Vec<u8>], list: &[u32]| {
        let mut bytes =
            [(operations.len() as u32).to_le_bytes(), 1u32.to_le_bytes(), 0u32.to_le_bytes()].concat();
        for operation in operations {
            bytes.extend(operation);
        }
        for number in list {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    };
    let zero = part(&[operation(0, 3, 0, 500, (1, 0)), operation(1, 1, 1, 8, (0, 999))], &[1]);
    let one = part(&[operation(0, 2, 0, 8, (0, 999))], &[]);
    // The parts begin behind ranks, cpu, nic and two pairs of places: 38 bytes.
    let (first, second) = (38 + zero.len() as u64, 38 + zero.len() as u64 + one.len() as u64);
    let mut bytes = [GOAL_MAGIC.to_le_bytes().as_slice(), &2u32.to_le_bytes(), &[0, 0]].concat();
    for place in [38, first, first, second] {
        bytes.extend(u64::to_le_bytes(place));
    }
    [bytes, zero, one].concat()
}

#[test]
fn binary_goal_says_the_same_as_text() {
    let text = "num_ranks 2 rank 0 { a: calc 500 b: send 8b to 1 tag 3 b requires a } rank 1 { recv 8b from 0 tag 3 }";
    let (binary, text) = (goal_binary(&binary()).expect("good"), goal(text).expect("good"));
    assert_eq!((sent(&binary), timeline(&binary.trace)), (sent(&text), timeline(&text.trace)));
    assert!(binary.notes.is_empty());
}

#[test]
fn binary_goal_that_is_damaged_is_refused_with_the_place() {
    let good = binary();
    let with = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        goal_binary(&bytes)
    };
    refused(goal_binary(b"goal"), "byte 0: the file is cut off: 8 more bytes are expected");
    refused(with(0, 0), "the file: it does not begin with 4223, as binary GOAL does");
    refused(with(8, 1), "the file: it has 1 ranks; allowed are 2 to 65536");
    // It ends at 38 + 12 + 2 · 39 + 4; the third byte of that number is 65536.
    refused(with(24, 1), "rank 0: its part is said to be from 38 to 65668, but the file has 191 bytes");
    refused(with(46, 9), "rank 0: 9 operations and 1 roots do not fit into its 94 bytes");
    refused(with(62, 9), "rank 0, operation 0: there is no kind 9; 1 is send, 2 receive, 3 compute");
    refused(with(136, 5), "rank 0, operation 0: operation 5 waits for it, but the rank has only 2");
    refused(with(81, 2), "rank 0: 2 dependencies are announced, but its list has room for 1");
    for end in 0..good.len() {
        assert!(goal_binary(&good[..end]).is_err(), "cut off at {end}");
    }
}

const MATRIX: &str = "Nodes 4
Connections 4
Triggers 2
0->1 id 1 start 1000000 size 100000 recv_done_trigger 1
2->1 id 2 start 0 size 5000 recv_done_trigger 1
1->3 id 3 trigger 1 size 1000 send_done_trigger 2
1->0 id 4 trigger 2 size 70 prio 3
trigger id 1 barrier count 2
trigger id 2 oneshot
";

fn matrix(text: &str) -> Result<(Imported, Vec<HtsimFailure>), ImportError> {
    htsim_matrix(text, HtsimRules::default())
}

#[test]
fn flows_of_a_connection_matrix_start_at_their_times_and_when_their_triggers_let_them() {
    let (read, failures) = matrix(MATRIX).expect("a good matrix");
    assert!(failures.is_empty());
    assert_eq!(sent(&read), [(0, 1, 100_000), (2, 1, 5000), (1, 3, 1000), (1, 0, 70)]);
    // The barrier waits for both; without a network that is the later one, at 1 us.
    assert_eq!(timeline(&read.trace), (vec![1_000_000, 0, 1_000_000, 1_000_000], 1_000_000));
    assert_eq!(read.notes.len(), 2, "priorities, acknowledgements: {:?}", read.notes);
}

#[test]
fn what_a_connection_matrix_cannot_mean_here_is_said_with_its_line() {
    let with = |lines: &str| matrix(&format!("Nodes 3\n{lines}"));
    refused(matrix("0->1 start 0 size 1"), "line 1: `Nodes N` must come before the flows");
    refused(matrix(""), "line 1: `Nodes N` is missing");
    refused(
        with("0->2 start 0 size 1\nNodes 2"),
        "line 3: `Nodes` is said a second time; one line of it is allowed",
    );
    refused(with("0->3 start 0 size 1"), "line 2: there is no node 3; the 3 nodes are 0 to 2");
    refused(with("0->0 start 0 size 1"), "line 2: the flow goes from node 0 to itself");
    refused(with("0->1 start 0"), "line 2: a flow needs `size` and a size");
    refused(
        with("0->1 size 9"),
        "line 2: a flow has either `start` or `trigger`: at that time, or when that happens",
    );
    refused(with("0->1 start now size 9"), "line 2: start `now` is not a time in picoseconds");
    refused(
        with("0->1 at 0 size 9"),
        "line 2: `at` is not one of id, start, size, trigger, send_done_trigger, recv_done_trigger, prio, flowid",
    );
    refused(with("Connections 2\n0->1 start 0 size 1"), "line 2: 2 connections are announced, but 1 follow");
    refused(with("0->1 trigger 4 size 1"), "line 2: no line says `trigger id 4 ...`");
    refused(
        with("0->1 trigger 4 size 1\ntrigger id 4 oneshot"),
        "line 2: no flow activates trigger 4, so that this one would never start",
    );
    refused(with("trigger id 4 sometimes"), "line 2: `sometimes` is not one of oneshot, multishot, barrier");
    refused(
        with("0->1 start 0 size 1 send_done_trigger 4\n1->2 trigger 4 size 1\ntrigger id 4 oneshot"),
        "line 3: trigger 4 is activated at node 0 (line 2), but this flow starts at node 1, which cannot know it; let a small \
         flow from 0 to 1 carry the news",
    );
    let both = "0->1 start 0 size 1 recv_done_trigger 4\n2->1 start 0 size 1 recv_done_trigger 4\n1->2 trigger 4 size 1\n";
    refused(
        with(&format!("{both}trigger id 4 oneshot")),
        "line 4: trigger 4 is activated by 2 flows and acts at the first of them, which a trace cannot say; only a barrier may \
         be activated by several",
    );
    refused(
        with(&format!("{both}trigger id 4 barrier count 3")),
        "line 4: trigger 4 (line 5) needs 3 activations, but 2 flows activate it",
    );
    refused(
        with(
            "0->1 start 0 size 1 send_done_trigger 4\n0->1 trigger 4 size 1\n0->2 trigger 4 size 1\ntrigger id 4 multishot",
        ),
        "line 3: trigger 4 is activated once, but several flows wait for it and multishot lets one go each time",
    );
}

#[test]
fn all_that_wait_for_a_barrier_at_a_node_wait_for_one_task() {
    let pair = |start| format!("0->1 start {start} size 9 recv_done_trigger 4\n1->2 trigger 4 size 9\n");
    let pairs: Vec<String> = (0..100).map(pair).collect();
    let text = format!("Nodes 3\ntrigger id 4 barrier\n{}", pairs.concat());
    let (read, _) = matrix(&text).expect("a good matrix");
    assert_eq!(read.trace.tasks.len(), 1);
    assert_eq!(read.trace.tasks[0].after.len(), 100);
    // Without a network the last of them comes at 99 ps.
    assert!(timeline(&read.trace).0.iter().skip(1).step_by(2).all(|at| *at == 99));
}

#[test]
fn a_matrix_for_htsim_uec_starts_its_flows_in_microseconds() {
    let of_uec = HtsimRules { microseconds: true, ..HtsimRules::default() };
    let (read, _) = htsim_matrix("Nodes 2\n0->1 start 40 size 1\n1->0 start 0 size 1", of_uec).expect("good");
    assert_eq!(timeline(&read.trace).0, [40_000_000, 0]);
    refused(
        htsim_matrix("Nodes 2\n0->1 start 18446744073710 size 1", of_uec),
        "line 2: start 18446744073710 is too late; allowed are up to 18446744073709 us",
    );
}

#[test]
fn messages_of_one_id_are_of_one_connection_where_connections_are_used_again() {
    let reused = |lines: &str| {
        let rules = HtsimRules { reuse: true, ..HtsimRules::default() };
        htsim_matrix(&format!("Nodes 3\n{lines}"), rules)
    };
    let two = "0->1 id 1 msg start 0 size 40\n0->1 id 1 msg 7 start 0 size 50\n1->2 id 2 start 0 size 60";
    let (read, _) = reused(two).expect("good");
    assert_eq!(sent(&read), [(0, 1, 40), (0, 1, 50), (1, 2, 60)]);
    refused(
        matrix(&format!("Nodes 3\n{two}")),
        "line 3: there are two of flow 1; with -conn_reuse in --flags they are messages of one connection",
    );
    refused(
        reused("0->1 id 1 start 0 size 40\n0->2 id 1 start 0 size 40"),
        "line 3: connection 1 goes from node 0 to node 1 (its first line), so none of its messages goes from 0 to 2",
    );
    let other = "line 3: this is another connection from node 0 to node 1; with -conn_reuse there is one, so give its messages one id";
    refused(reused("0->1 id 1 start 0 size 40\n0->1 id 2 start 0 size 40"), other);
    refused(reused("0->1 start 0 size 40\n0->1 start 0 size 40"), other);
}

#[test]
fn messages_that_start_together_are_one_flow_where_flows_have_connections_of_their_own() {
    let merged = |lines: &str| {
        let rules = HtsimRules { reuse: true, merge: true, microseconds: true };
        htsim_matrix(&format!("Nodes 3\n{lines}"), rules)
    };
    let three = "0->1 id 1 msg start 5 size 40\n1->0 id 2 start 0 size 7\n0->1 id 1 msg start 5 size 50";
    let (read, _) = merged(three).expect("good");
    assert_eq!(sent(&read), [(0, 1, 90), (1, 0, 7)]);
    assert_eq!(timeline(&read.trace).0, [5_000_000, 0]);
    assert_eq!(read.notes.len(), 1, "{:?}", read.notes);
    refused(
        merged("0->1 id 1 start 5 size 40\n0->1 id 1 start 6 size 50"),
        "line 3: this message of the connection from node 0 to node 1 does not start with its first one (line 2), and here they \
         are one flow; give it an id and nodes of its own",
    );
}

#[test]
fn uplinks_that_fail_are_told_beside_the_trace() {
    let flow = "0->1 start 0 size 1";
    let one = format!("Nodes 3\nFailures 1\n{flow}\nfailure switch_type AGG switch_id 3 link_id 2");
    let (_, failures) = matrix(&one).expect("good");
    assert_eq!(failures, [HtsimFailure { switch: 3, link: 2, line: 4 }]);
    refused(
        matrix(&one.replace("AGG", "TOR")),
        "line 4: switch_type `TOR` is not AGG; only uplinks of these can fail there",
    );
    refused(
        matrix(&one.replace("Failures 1", "Failures 2")),
        "line 2: 2 failures are announced, but 1 follow",
    );
    refused(
        matrix(&one.replace(" link_id 2", "")),
        "line 4: a failure needs `link_id` and the number of an uplink",
    );
}

#[test]
fn a_chakra_trace_has_messages_computations_and_collectives() {
    let size = attribute("comm_size", 1000);
    let zero = npu(&[
        node(10, 4, 5, &[], &[]),
        node(11, 5, 0, &[10], &[size.clone(), attribute("comm_dst", 1), attribute("comm_tag", 7)]),
        node(12, 7, 0, &[11], &[size.clone(), attribute("comm_type", 0)]),
    ]);
    let one = npu(&[
        node(1, 6, 0, &[], &[size.clone(), attribute("comm_src", 0), attribute("comm_tag", 7)]),
        node(2, 7, 0, &[1], &[size, attribute("comm_type", 0)]),
    ]);
    let read = chakra(&[&zero, &one]).expect("a good trace");
    assert_eq!(sent(&read), [(0, 1, 1000)]);
    // 5 us of computing, then everything; a ring all-reduce of two ranks has two messages each.
    let (starts, last) = timeline(&read.trace);
    assert_eq!((starts, last), (vec![5_000_000; 5], 5_000_000));
    assert_eq!(read.notes.len(), 1, "what comm_size means: {:?}", read.notes);
}

#[test]
fn what_is_wrong_with_a_chakra_trace_is_said_with_its_node() {
    let nothing = npu(&[]);
    let with = |nodes: &[Vec<u8>]| chakra(&[&npu(nodes), &nothing]);
    refused(chakra(&[&nothing]), "the file: there are 1 files, one for each NPU; allowed are 2 to 65536");
    refused(
        with(&[node(3, 5, 0, &[], &[])]),
        "rank 0, node 3 (n3): its attribute comm_dst is missing or no number",
    );
    refused(
        with(&[node(3, 4, 0, &[8], &[])]),
        "rank 0, node 3 (n3): it depends on node 8, which is not there",
    );
    refused(
        with(&[node(3, 4, 0, &[], &[]), node(3, 4, 0, &[], &[])]),
        "rank 0, node 3 (n3): there is another node with its id",
    );
    refused(
        with(&[node(3, 7, 0, &[], &[attribute("comm_size", 8), attribute("comm_type", 0)])]),
        "the file: rank 1 has no collective number 0, which others wait in; name the ranks of smaller groups by pg_name",
    );
    let mut cut = npu(&[node(3, 4, 9, &[], &[])]);
    cut.pop();
    let told = chakra(&[&cut, &nothing]).expect_err("cut off").to_string();
    assert!(told.starts_with("rank 0, byte ") && told.contains("a node cannot be read"), "{told}");
}

#[test]
fn the_fields_of_chakra_are_those_of_its_schema() {
    // By hand: id 3 = 1; name "n3" = 2; type 5 = 3; duration 9 = 7; one attribute = 10 with name = 1 and int64 = 9.
    let bytes = node(3, 5, 9, &[], &[attribute("a", 2)]);
    assert_eq!(bytes, [0x08, 3, 0x12, 2, b'n', b'3', 0x18, 5, 0x38, 9, 0x52, 5, 0x0a, 1, b'a', 0x48, 2]);
}
