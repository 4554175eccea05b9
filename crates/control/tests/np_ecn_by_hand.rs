//! NP-ECN: what waited behind a closed gate is not marked, everything else is RED's.
use std::collections::VecDeque;

use backwater_control::CodePoint::{self, Capable, Congestion};
use backwater_control::PortState;
use backwater_control::detector::{Departure, Detector, NpEcn, Red, Registers};
use backwater_units::{Bytes, Span, Time};
use proptest::prelude::*;

fn np_ecn(red: Red) -> Detector {
    Detector::NpEcn(NpEcn { red })
}

fn step(bytes: u64) -> Red {
    Red::new(Bytes::new(bytes), Bytes::new(bytes), 1.0, Bytes::ZERO).expect("in range")
}

/// A port with 200 KB as its threshold.
struct Port {
    detector: Detector,
    registers: Registers,
    now: Time,
}

impl Port {
    fn new() -> Self {
        Self { detector: np_ecn(step(200_000)), registers: Registers::default(), now: Time::ZERO }
    }

    fn resume(&mut self, packets: u32) {
        self.now += Span::from_us(1);
        let queue = u64::from(packets) * 1_000;
        self.detector.on_resume(&mut self.registers, self.now, queue, || packets);
    }

    /// Marks of a row of packets that leave `queue` bytes each.
    fn dequeue(&mut self, packets: usize, queue: u64) -> Vec<bool> {
        let one = |_| {
            self.now += Span::from_ns(200);
            let departure = Departure {
                now: self.now,
                queue,
                code: Capable,
                last_hold: Time::ZERO,
                size: 1_000,
                candidate: false,
            };
            let code = self.detector.on_dequeue(&mut self.registers, &departure, || unreachable!());
            code == Congestion
        };
        (0..packets).map(one).collect()
    }
}

#[test]
fn the_packets_that_were_paused_leave_unmarked_and_the_next_one_is_marked() {
    let mut port = Port::new();
    port.resume(3);
    assert_eq!(port.dequeue(5, 300_000), [false, false, false, true, true]);
}

#[test]
fn a_port_that_was_never_paused_marks_like_red() {
    let mut port = Port::new();
    assert_eq!(port.dequeue(2, 200_001), [true, true]);
    assert_eq!(port.dequeue(2, 200_000), [false, false]);
}

#[test]
fn every_resume_counts_anew_what_is_queued() {
    let mut port = Port::new();
    port.resume(5);
    assert_eq!(port.dequeue(2, 300_000), [false, false]);
    // Two packets came meanwhile: 3 + 2 are queued at the next RESUME.
    port.resume(5);
    assert_eq!(port.dequeue(6, 300_000), [false, false, false, false, false, true]);
    port.resume(0);
    assert_eq!(port.dequeue(1, 300_000), [true]);
}

#[test]
fn what_arrives_behind_paused_packets_at_an_open_gate_is_marked_though_the_queue_is_none_of_the_ports_making()
{
    // The known weakness (TCD §7): 250 packets were paused, and as they drain the 251st finds a queue above 200 KB.
    let mut port = Port::new();
    port.resume(250);
    assert!(port.dequeue(250, 250_000).iter().all(|marked| !marked));
    assert_eq!(port.dequeue(1, 249_000), [true]);
}

#[test]
fn a_port_says_non_congestion_while_paused_packets_leave_and_congestion_when_it_marks() {
    let mut port = Port::new();
    port.dequeue(1, 300_000);
    assert_eq!(port.registers.state(), PortState::Congestion);
    port.resume(2);
    for _ in 0..2 {
        port.dequeue(1, 300_000);
        assert_eq!(port.registers.state(), PortState::NonCongestion);
    }
    port.dequeue(1, 300_000);
    assert_eq!(port.registers.state(), PortState::Congestion);
}

#[test]
fn while_a_paused_packet_is_queued_every_dequeue_has_to_be_seen() {
    let mut port = Port::new();
    assert!(port.registers.is_settled(port.now));
    port.resume(2);
    assert!(!port.registers.is_settled(port.now));
    port.dequeue(1, 0);
    assert!(!port.registers.is_settled(Time::from_ps(u64::MAX - 1)));
    port.dequeue(1, 0);
    assert!(port.registers.is_settled(port.now));
    assert_eq!(port.detector.calm(), 200_000);
    port.resume(0);
    assert!(port.registers.is_settled(port.now), "an empty queue holds no paused packet");
}

#[test]
fn with_a_threshold_of_zero_it_is_pcn_which_marks_whatever_leaves_packets_behind() {
    let (detector, mut registers) = (np_ecn(step(0)), Registers::default());
    let mut marks = |queue| {
        let departure = Departure {
            now: Time::ZERO,
            queue,
            code: Capable,
            last_hold: Time::ZERO,
            size: 1_000,
            candidate: false,
        };
        detector.on_dequeue(&mut registers, &departure, || unreachable!()) == Congestion
    };
    assert_eq!([1_000, 0].map(&mut marks), [true, false]);
}

/// A port as its definition has it: each packet carries a flag that is set if the gate was closed while it waited.
#[derive(Default)]
struct Flags {
    waiting: VecDeque<bool>,
    closed: bool,
}

proptest! {
    #[test]
    fn the_counter_tells_exactly_the_packets_that_waited_behind_a_closed_gate(
        kmin in 0..5_u64,
        more in 0..10_u64,
        events in prop::collection::vec((0..10_u8, any::<u32>(), 0..4_u8), 1..400),
    ) {
        let red = Red::new(Bytes::from_kb(kmin), Bytes::from_kb(kmin + more), 0.5, Bytes::ZERO).expect("in range");
        let (detector, mut registers) = (np_ecn(red), Registers::default());
        let (mut port, mut now) = (Flags::default(), Time::ZERO);
        for (kind, draw, code) in events {
            now += Span::from_ns(100);
            match kind {
                0 => port.closed = true,
                1 if port.closed => {
                    port.closed = false;
                    port.waiting.iter_mut().for_each(|paused| *paused = true);
                    let packets = port.waiting.len();
                    detector.on_resume(&mut registers, now, packets as u64 * 1_000, || packets as u32);
                }
                2..=6 => port.waiting.push_back(false),
                _ if port.closed => {}
                _ => {
                    let Some(paused) = port.waiting.pop_front() else { continue };
                    let (queue, code) = (port.waiting.len() as u64 * 1_000, CodePoint::from_bits(code));
                    let expected = if !paused && red.hits(queue, || draw) { code.mark_ce() } else { code };
                    let skipped = queue <= detector.calm() && registers.is_settled(now);
                    if skipped {
                        prop_assert_eq!(expected, code, "a settled port need not look");
                        continue;
                    }
                    let departure = Departure { now, queue, code, last_hold: Time::ZERO, size: 1_000, candidate: false };
                    prop_assert_eq!(detector.on_dequeue(&mut registers, &departure, || draw), expected);
                }
            }
        }
    }
}
