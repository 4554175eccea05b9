//! What is lost when a link goes down: frames that have begun and whose last bit is not there, and what waits for the port.
use backwater_fabric::record::{DropReason, FaultEvent, FrameKind};
use backwater_units::Time;
use scene::{Outcome, try_run, us};

use crate::{KINDS, PAIR, dropped, events, run, spec};

/// Node and port of h0's NIC.
const NIC: (u32, u16) = (0, 0);

/// The same with the frames of h0's NIC recorded.
fn with_frames(more: &str) -> Outcome {
    let mut spec = spec(PAIR, more);
    spec.probe.frames = vec![NIC];
    try_run(spec, scene::FAST, Some(us(100))).unwrap_or_else(|violation| panic!("{violation}"))
}

fn down(link: &str, at: u64, lasts: &str) -> String {
    format!("[[fault]]\nkind = \"link-down\"\nlink = {link}\nat = \"{at}ps\"\n{lasts}\n")
}

#[test]
fn frames_are_lost_that_have_begun_and_are_not_there_and_no_others() {
    let without = with_frames("");
    let frames: Vec<(u64, u64)> = without
        .records
        .frames
        .iter()
        .filter(|frame| frame.kind == FrameKind::Put && frame.size == 2000)
        .map(|frame| (frame.sent.as_ps(), frame.time.as_ps()))
        .collect();
    // 160 ns on the wire and 1 us on the way.
    assert!(frames.iter().all(|(sent, there)| there - sent == 1_160_000));
    let (sent, there) = frames[20];
    for at in [sent - 1, sent, sent + 1, there - 1, there, there + 1] {
        let outcome = with_frames(&down(r#"["h0", "s"]"#, at, ""));
        let expected = frames.iter().filter(|(sent, there)| *sent <= at && at < *there).count();
        let lost: Vec<_> = dropped(&outcome, DropReason::LinkDown);
        let on_wire = lost.iter().filter(|drop| drop.node == 2 && drop.data).count();
        assert_eq!(on_wire, expected, "down at {at}");
    }
}

#[test]
fn an_outage_shorter_than_the_flight_of_a_frame_loses_what_is_under_way_and_lets_the_next_ones_pass() {
    let without = with_frames("");
    let (at, until) = (10_000_000, 10_000_500);
    let expected =
        without.records.frames.iter().filter(|f| f.sent.as_ps() <= at && at < f.time.as_ps()).count();
    assert!(expected >= 2, "{expected}");
    let outcome = with_frames(&down(r#"["h0", "s"]"#, at, &format!("until = \"{until}ps\"")));
    let lost = dropped(&outcome, DropReason::LinkDown).iter().filter(|drop| drop.node == 2).count();
    assert_eq!(lost, expected);
    let first = outcome.records.frames.iter().map(|frame| frame.sent.as_ps()).find(|sent| *sent > at);
    assert!(first >= Some(until), "{first:?}");
}

#[test]
fn what_waits_for_a_port_is_flushed_and_what_comes_for_it_is_dropped_until_it_is_up() {
    // Two hosts send to a third at line rate: half of it waits in the switch.
    let incast = PAIR.replace("hosts = 2", "hosts = 3").replace("from = \"h0\"", "from = [\"h0\", \"h2\"]");
    let outcome = run(&incast, &down(r#"["h1", "s"]"#, 8_000_000, "for = \"20us\""), 100);
    assert_eq!(events(&outcome, FaultEvent::Down), [(8_000_000, 1), (8_000_000, 3)]);
    assert_eq!(events(&outcome, FaultEvent::Up), [(28_000_000, 1), (28_000_000, 3)]);
    let at_switch: Vec<Time> = dropped(&outcome, DropReason::LinkDown)
        .iter()
        .filter(|drop| drop.node == 3)
        .map(|drop| drop.time)
        .collect();
    let flushed = at_switch.iter().filter(|time| **time == us(8)).count();
    // The first two are there at 1.16 us. From then on two come every 160 ns and one leaves: (8 - 1.16) us / 160 ns = 42.75.
    assert!((41..=45).contains(&flushed), "{flushed}");
    assert!(at_switch.iter().any(|time| *time > us(8)));
    assert!(at_switch.iter().all(|time| *time < us(28)));
    // The streams go on: what was lost is sent again.
    let received = |outcome: &Outcome| outcome.flows.iter().map(|flow| flow.received.get()).sum::<u64>();
    assert!(outcome.flows.iter().all(|flow| flow.resent_packets > 0));
    assert!(received(&outcome) > 0);
}

#[test]
fn a_flow_over_a_link_that_flaps_ends_and_no_packet_is_unaccounted_for() {
    let flaps = "[[fault]]\nkind = \"link-down\"\nlink = [\"h1\", \"s\"]\nat = \"5us\"\nfor = \"2us\"\nevery = \"15us\"\ntimes = 4\n";
    let text = PAIR.replace("run = { until = \"100us\" }", "");
    let mut digests = Vec::new();
    for kind in KINDS {
        let outcome =
            try_run(spec(&text, flaps), kind, None).unwrap_or_else(|violation| panic!("{violation}"));
        assert_eq!(outcome.flows[0].received.get(), 1_000_000);
        assert_eq!(events(&outcome, FaultEvent::Down).len(), 8);
        digests.push((outcome.totals.digest, outcome.records.drops.len(), outcome.records.faults.len()));
    }
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:?}");
}

#[test]
fn a_slow_link_serialises_from_the_next_frame_on() {
    let slow = "[[fault]]\nkind = \"link-slow\"\nlink = [\"h0\", \"s\"]\nrate = \"10Gbps\"\nat = \"5us\"\nuntil = \"15us\"\n";
    let outcome = with_frames(slow);
    let gaps = outcome.records.frames.windows(2);
    // 2000 B take 160 ns at 100 Gbps and 1600 ns at 10 Gbps.
    for pair in gaps {
        let (sent, next) = (pair[0].sent.as_ps(), pair[1].sent.as_ps());
        let least = if (5_000_001..15_000_000).contains(&sent) { 1_600_000 } else { 160_000 };
        assert!(next - sent >= least, "{sent} {next}");
    }
    let slow = |frame: &&backwater_fabric::record::FrameRecord| {
        (5_000_001..15_000_000).contains(&frame.sent.as_ps())
    };
    // 10 us / 1.6 us.
    let count = outcome.records.frames.iter().filter(slow).count();
    assert!((6..=7).contains(&count), "{count}");
}

#[test]
fn a_switch_that_cuts_through_stores_what_comes_slower_than_it_sends() {
    let text = PAIR.replace("store-and-forward", "cut-through");
    let slow = "[[fault]]\nkind = \"link-slow\"\nlink = [\"h0\", \"s\"]\nrate = \"10Gbps\"\nat = \"5us\"\nuntil = \"25us\"\n";
    let mut spec = spec(&text, slow);
    // h0's NIC, and the port of the switch (node 2) to h1.
    spec.probe.frames = vec![NIC, (2, 1)];
    let outcome = try_run(spec, scene::FAST, Some(us(60))).unwrap_or_else(|violation| panic!("{violation}"));
    let sent = |node: u32| {
        let frames = outcome
            .records
            .frames
            .iter()
            .filter(move |frame| frame.node == node && frame.kind == FrameKind::Put);
        frames.map(|frame| frame.sent.as_ps())
    };
    let mut checked = [0; 2];
    for (came, left) in sent(0).zip(sent(2)) {
        let slow = (5_000_001..25_000_000).contains(&came);
        // The whole frame, 2000 B at 10 Gbps, or no more than it takes at 100 Gbps; and 1 us.
        let wait = left - came;
        if slow {
            assert_eq!(wait, 1_600_000 + 1_000_000, "{came}");
        } else {
            assert!(wait <= 160_000 + 1_000_000, "{came}: {wait}");
        }
        checked[usize::from(slow)] += 1;
    }
    assert!(checked.iter().all(|count| *count > 5), "{checked:?}");
}

#[test]
fn a_link_has_two_names_in_every_kind_of_fault() {
    let kinds = [
        ("link-down", "at = \"1us\""),
        ("link-slow", "at = \"1us\"\nrate = \"1Gbps\""),
        ("loss", "frames = 0.1"),
    ];
    for (kind, more) in kinds {
        for (names, said) in [("", "no names"), ("\"h0\"", "1 name"), ("\"h0\", \"s\", \"h1\"", "3 names")] {
            let text = format!("{PAIR}[[fault]]\nkind = \"{kind}\"\nlink = [{names}]\n{more}\n");
            let error = crate::read(&text).err().expect("it is no link");
            for words in [said, "allowed: two names", "such as link = [\"leaf0\", \"spine0\"]"] {
                assert!(error.contains(words), "{error}");
            }
        }
    }
}
