//! Programs that can never end: which ranks wait, and what for.
use backwater_fabric::Violation;
use backwater_traffic::program::{ANY, Op};
use backwater_units::Time;
use scene::{COSTS, FAST, WAIT, compute, irecv, isend, messages, recv, send, try_run};

use crate::{each, network, why};

/// All facts are in the message.
fn says(violation: &Violation, facts: &[&str]) {
    let text = violation.to_string();
    let missing: Vec<_> = facts.iter().filter(|fact| !text.contains(**fact)).collect();
    assert!(missing.is_empty(), "{missing:?} not in: {text}");
}

#[test]
fn two_ranks_that_receive_first_wait_for_each_other() {
    let one = |other| [recv(other, 8, 3), send(other, 8, 3)].concat();
    says(
        &why(each(vec![one(1), one(0)])),
        &["a message from rank 0 with tag 3", "a message from rank 1 with tag 3"],
    );
}

#[test]
fn two_ranks_that_send_first_wait_for_each_other_if_their_messages_are_long() {
    let one = |other, size| [send(other, size, 3), recv(other, size, 3)].concat();
    says(
        &why(each(vec![one(1, 16_385), one(0, 16_385)])),
        &["for rank 0 to receive", "for rank 1 to receive", "16385", "tag 3"],
    );
    // Short ones do not wait for a receive.
    try_run(each(vec![one(1, 16_384), one(0, 16_384)]), FAST, None).expect("no deadlock");
}

#[test]
fn a_receive_of_another_tag_waits_for_ever() {
    let text = why(each(vec![send(1, 8, 3).to_vec(), recv(0, 8, 4).to_vec()]));
    says(&text, &["rank 1", "tag 4"]);
    assert!(!text.to_string().contains("rank 0 waits"), "rank 0 has ended: {text}");
}

#[test]
fn a_receive_from_anybody_that_nobody_sends_to_waits_for_ever() {
    says(&why(each(vec![recv(ANY, 8, ANY).to_vec(), Vec::new()])), &["rank 0"]);
}

#[test]
fn ranks_of_one_host_can_wait_for_each_other_too() {
    let one = |other| recv(other, 8, 3).to_vec();
    let spec = messages(network(2), &[(0, one(1)), (0, one(0))], COSTS);
    says(&why(spec), &["rank 0", "rank 1"]);
}

#[test]
fn a_rank_that_waits_for_its_own_message_waits_for_ever() {
    let spec = messages(network(2), &[(0, recv(0, 8, 0).to_vec())], COSTS);
    says(&why(spec), &["rank 0"]);
}

#[test]
fn what_goes_on_elsewhere_does_not_hide_a_deadlock_until_a_program_without_end_does() {
    // Two ranks play for 100 us, and then it is found.
    let stuck = recv(1, 8, 0).to_vec();
    let violation = why(each(vec![stuck.clone(), Vec::new(), vec![compute(100_000)]]));
    says(&violation, &["rank 0"]);
    // As long as one goes on for ever, nobody can know that it will not send.
    let endless = vec![Op::Loop { times: u32::MAX, end: 3 }, compute(1_000), Op::End { begin: 1 }];
    let spec = each(vec![stuck, Vec::new(), endless]);
    let until = Some(Time::from_ps(300_000_000));
    try_run(spec, FAST, until).expect("a run to its time");
}

#[test]
fn programs_that_nobody_waits_for_may_leave_messages_behind() {
    let spec = each(vec![send(1, 8, 3).to_vec(), Vec::new()]);
    try_run(spec, FAST, None).expect("an unexpected message is no error");
}

#[test]
fn a_rendezvous_that_nobody_receives_is_found() {
    says(
        &why(each(vec![send(1, 16_385, 3).to_vec(), Vec::new()])),
        &["rank 0 (h0) waits", "for rank 1 to receive", "tag 3"],
    );
    // Without a wait its program ends.
    try_run(each(vec![vec![isend(1, 16_385, 3)], Vec::new()]), FAST, None).expect("rank 0 has ended");
}

#[test]
fn a_wait_for_a_set_without_requests_waits_for_nothing() {
    let ops = vec![irecv(1, 8, 0), Op::Wait { sets: 0xfe }, Op::Wait { sets: 0 }];
    try_run(each(vec![ops, Vec::new()]), FAST, None).expect("nothing to wait for");
    let ops = vec![irecv(1, 8, 0), WAIT];
    why(each(vec![ops, Vec::new()]));
}

#[test]
fn only_what_is_waited_for_is_told() {
    let long = |to, tag, set| Op::Isend { to, size: 20_000, tag, set };
    let sender = vec![long(1, 5, 0), long(2, 6, 1), Op::Wait { sets: 2 }];
    says(&why(each(vec![sender, Vec::new(), Vec::new()])), &["for rank 2 to receive 20000 B with tag 6"]);
    let post = |from, tag, set| Op::Irecv { from, size: 8, tag, set };
    let receiver = vec![post(1, 5, 0), post(2, 6, 1), Op::Wait { sets: 2 }];
    says(&why(each(vec![receiver, Vec::new(), Vec::new()])), &["a message from rank 2 with tag 6"]);
}
