//! Programs as an ideal network would carry them out: a message takes 100 ps to leave, 1000 ps more to come in, and its
//! acknowledgement 2000 ps more.
use backwater_units::Span;

use super::super::{Event, Planned, Program, Step};
use crate::read;

const LEAVES: u64 = 100;
const COMES: u64 = 1000;
const ACKED: u64 = 3000;

/// When each message starts, in the order of the program, if nothing is in anything's way.
fn starts(lines: &str) -> Vec<(u32, u32, u64, u64)> {
    let program = expanded(lines);
    let mut begun: Vec<Option<u64>> = program.flows.iter().map(|flow| flow.start.map(Span::as_ps)).collect();
    let mut done: Vec<Option<u64>> = vec![None; program.steps.len()];
    // Every pass knows at least one more step.
    for _ in 0..program.steps.len() {
        for (number, step) in program.steps.iter().enumerate() {
            if let Some(at) = at(step, &begun, &done) {
                done[number] = Some(at);
                step.starts.iter().for_each(|flow| begun[*flow as usize] = Some(at));
            }
        }
    }
    let start = |(flow, begun): (&Planned, &Option<u64>)| {
        (flow.src, flow.dst, flow.bytes.get(), begun.expect("it starts"))
    };
    program.flows.iter().zip(&begun).map(start).collect()
}

fn at(step: &Step, begun: &[Option<u64>], done: &[Option<u64>]) -> Option<u64> {
    let mut last = 0;
    for event in &step.after {
        last = last.max(match event {
            Event::Sent(flow) => begun[*flow as usize]? + LEAVES,
            Event::Received(flow) => begun[*flow as usize]? + COMES,
            Event::Acked(flow) => begun[*flow as usize]? + ACKED,
            Event::Done(step) => done[*step as usize]?,
        });
    }
    Some(last + step.delay.as_ps())
}

fn expanded(lines: &str) -> Program {
    let trace = read::trace(&format!("backwater-trace 1\nranks 4\n{lines}")).expect("a good trace");
    let program = trace.expand().expect("no circle");
    assert_eq!(program.flows.len() as u64, trace.flows());
    let again = read::trace(&trace.to_string()).expect("what is written");
    assert_eq!(again.expand(), Ok(program.clone()), "a program that is written is read back the same");
    program
}

#[test]
fn a_put_is_over_when_its_last_bit_has_left_and_one_that_does_not_block_at_once() {
    let lines = "pe 0 put to 1 bytes 8 times 2\npe 0 put-nbi to 2 bytes 9\npe 0 put to 3 bytes 10";
    assert_eq!(starts(lines), [(0, 1, 8, 0), (0, 1, 8, 100), (0, 2, 9, 200), (0, 3, 10, 200)]);
}

#[test]
fn a_get_is_a_request_and_a_reply_that_starts_when_the_request_has_come_in() {
    let lines = "pe 0 get from 2 bytes 500\npe 0 put to 1 bytes 8";
    assert_eq!(starts(lines), [(0, 2, 1, 0), (2, 0, 500, 1000), (0, 1, 8, 2000)]);
    let lines = "pe 0 get-nbi from 2 bytes 500\npe 0 put to 1 bytes 8";
    assert_eq!(starts(lines), [(0, 2, 1, 0), (2, 0, 500, 1000), (0, 1, 8, 0)]);
}

#[test]
fn a_quiet_waits_for_acknowledgements_and_for_gets_that_do_not_block() {
    let lines = "pe 0 put to 1 bytes 8\npe 0 compute 5000ps\npe 0 quiet\npe 0 put to 1 bytes 9";
    assert_eq!(starts(lines)[1], (0, 1, 9, 5100), "what is acknowledged before the PE asks costs nothing");
    let lines = "pe 0 put to 1 bytes 8\npe 0 quiet\npe 0 quiet\npe 0 put to 1 bytes 9";
    assert_eq!(starts(lines)[1], (0, 1, 9, 3000));
    let lines = "pe 0 compute 2ns\npe 0 get-nbi from 1 bytes 8\npe 0 quiet\npe 0 put to 1 bytes 9";
    assert_eq!(starts(lines)[2], (0, 1, 9, 4000));
}

#[test]
fn a_barrier_is_a_quiet_and_two_rounds_among_four_pes() {
    let program = starts("pe 1 put to 2 bytes 8\npe * barrier\npe * put to +1 bytes 9");
    // PE 1 joins when its put is acknowledged, after 3000. It tells PE 2 and then, knowing it from PE 0, PE 3; so PE 3 is told
    // in the second round, at 3100 + 1000, and PE 0 by PE 2, which was told at 4000, at 5000.
    let after: Vec<u64> = program[program.len() - 4..].iter().map(|put| put.3).collect();
    assert_eq!(after, [5000, 3200, 4100, 4100]);
    assert_eq!(program.len(), 1 + 2 * 4 + 4);
}

#[test]
fn lines_of_all_and_lines_of_one_pe_are_done_in_the_order_of_the_file() {
    let lines = "pe * put to 0 bytes 8\npe 1 compute 1ns\npe * put to +3 bytes 9";
    let puts = starts(lines);
    let of = |pe: u32| puts.iter().filter(|put| put.0 == pe).map(|put| (put.1, put.3)).collect::<Vec<_>>();
    assert_eq!([of(0), of(1)], [vec![(3, 0)], vec![(0, 0), (0, 1100)]], "PE 0 does not put to itself");
    assert_eq!(of(3), [(0, 0), (2, 100)]);
}

#[test]
fn the_start_of_a_barrier_may_be_late_by_what_a_pe_computes() {
    let puts = starts("pe 3 compute 7ns\npe * barrier\npe 1 put to 2 bytes 9");
    // PE 3 tells PE 0 in the first round, PE 0 tells PE 2 and PE 3 tells PE 1 in the second.
    assert_eq!(puts.last(), Some(&(1, 2, 9, 8100)));
}
