//! Frames lost at random: shares within what chance allows, and the ends that are meant.
use backwater_fabric::record::{DropReason, FaultEvent};
use scene::{Outcome, try_run, us};

use crate::{KINDS, PAIR, dropped, events, run, spec};

/// Frames that came to a node, and those of them that were lost for a reason.
fn lost(outcome: &Outcome, reason: DropReason) -> (u64, u64) {
    let lost = dropped(outcome, reason).len() as u64;
    let sent = outcome.port((0, 0), 3).packets;
    (sent, lost)
}

/// Whether `k` of `n` is within four standard deviations of a share.
fn likely(k: u64, n: u64, share: f64) -> bool {
    let mean = n as f64 * share;
    (k as f64 - mean).abs() <= 4.0 * (mean * (1.0 - share)).sqrt()
}

fn text() -> String {
    PAIR.replace("size = \"1MB\"", "size = \"40MB\"").replace("100us", "4ms")
}

#[test]
fn a_link_loses_the_share_of_frames_that_it_is_told_to() {
    let loss = "[[fault]]\nkind = \"loss\"\nlink = [\"h0\", \"s\"]\nfrom = \"h0\"\nframes = 0.01\n";
    let outcome = run(&text(), loss, 4000);
    let (sent, lost) = lost(&outcome, DropReason::Corrupted);
    assert!(sent > 5_000 && likely(lost, sent, 0.01), "{lost} of {sent}");
}

#[test]
fn a_bit_error_rate_loses_frames_with_a_wrong_bit() {
    // 16 000 bits: 1 - (1 - 1e-6)^16000 = 1 - exp(-0.016) = 0.01587 of the frames.
    let loss = "[[fault]]\nkind = \"loss\"\nlink = [\"h0\", \"s\"]\nfrom = \"h0\"\nbits = 1e-6\n";
    let outcome = run(&text(), loss, 4000);
    let (sent, lost) = lost(&outcome, DropReason::Corrupted);
    assert!(sent > 5_000 && likely(lost, sent, 0.015_872_8), "{lost} of {sent}");
}

#[test]
fn losses_are_the_same_on_every_engine_and_number_of_threads() {
    let loss = "[[fault]]\nkind = \"loss\"\nlink = [\"h0\", \"s\"]\nframes = 0.02\n";
    let runs = KINDS.map(|kind| {
        let outcome = try_run(spec(PAIR, loss), kind, Some(us(100))).unwrap_or_else(|v| panic!("{v}"));
        (outcome.totals.digest, outcome.records.drops)
    });
    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]));
    assert!(!runs[0].1.is_empty());
}

#[test]
fn a_gray_switch_loses_the_packets_of_one_pair_and_leaves_the_others_alone() {
    let text = PAIR.replace("hosts = 2", "hosts = 3").replace("from = \"h0\"", "from = [\"h0\", \"h2\"]");
    let gray = "[[fault]]\nkind = \"gray\"\nswitch = \"s\"\nfrom = \"h2\"\nto = \"h1\"\nat = \"10us\"\n";
    let outcome = run(&text, gray, 100);
    let of = dropped(&outcome, DropReason::Gray);
    let flow = |src: u32| outcome.flows.iter().position(|flow| flow.src == src).expect("one") as u32;
    assert!(!of.is_empty() && of.iter().all(|drop| drop.flow == flow(2) && drop.data && drop.time >= us(10)));
    assert_eq!(outcome.flows[flow(0) as usize].resent_packets, 0);
}

#[test]
fn a_host_that_stops_takes_in_nothing_and_sends_nothing() {
    let stop = "[[fault]]\nkind = \"host-stop\"\nhost = \"h1\"\nat = \"20us\"\n";
    let outcome = run(PAIR, stop, 100);
    assert_eq!(events(&outcome, FaultEvent::Stopped), [(20_000_000, 1)]);
    let dead = dropped(&outcome, DropReason::DeadNode);
    assert!(!dead.is_empty() && dead.iter().all(|drop| drop.node == 1 && drop.time > us(20)));
    let before = run(&PAIR.replace("100us", "20us"), "", 20);
    assert_eq!(outcome.flows[0].received, before.flows[0].received);
}
