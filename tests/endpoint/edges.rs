//! Frames that wait for their time, neighbours at one NIC, sums, and words of the EC paper that are variants here.
use backwater_control::notify::put::{Fairness, Reservation};
use backwater_control::reaction::{Grants, PolicyConfig};
use backwater_fabric::record::{PutEvent, PutRecord};
use backwater_fabric::{Overflow, Spec};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Span, Time};
use scene::{DELAY, FAST, LINE, Outcome, POLICIES, flow, lossy, run_until, slow, star, try_run, unicast, us};

use crate::golden::small;

const OPT: PolicyConfig = POLICIES[0];

fn puts(src: u32, dst: u32, packets: u64) -> Flow {
    let bytes = if packets == u64::MAX { packets } else { packets * 2048 };
    flow(src, dst, bytes, Time::ZERO, Pacing::Controlled)
}

fn events(outcome: &Outcome, event: PutEvent) -> Vec<PutRecord> {
    outcome.records.puts.iter().filter(|put| put.event == event).copied().collect()
}

#[test]
fn an_ack_that_waits_for_three_more_goes_alone_when_its_time_has_come() {
    let mut spec = lossy(star(2, LINE, DELAY), vec![puts(1, 0, 1)], OPT);
    spec.puts[0].triggers.every = 4;
    let outcome = run_until(spec, us(20));
    let (accepted, sent) = (events(&outcome, PutEvent::Accepted), events(&outcome, PutEvent::IackSent));
    assert_eq!(sent[0].time.since(accepted[0].time), Span::from_ns(780));
}

#[test]
fn it_does_so_too_where_the_host_waits_for_the_time_of_its_own_next_put() {
    // Host 0 sends a PUT to host 2 every 5 us; the one of host 1 comes between two of them.
    let mut spec = lossy(star(3, LINE, DELAY), vec![puts(0, 2, 8), puts(1, 0, 1)], OPT);
    let put = &mut spec.puts[0];
    (put.triggers.every, put.overhead) = (4, Span::from_us(5));
    let outcome = run_until(spec, us(60));
    let of_1 = |event| events(&outcome, event).into_iter().find(|put| put.src == 1).expect("one").time;
    assert_eq!(of_1(PutEvent::IackSent).since(of_1(PutEvent::Accepted)), Span::from_ns(780));
}

#[test]
fn a_queue_pair_gets_half_of_a_link_beside_a_stream_that_sends_everything_again() {
    // Host 1: PUTs to host 0, which drains a tenth of the link, and RDMA to host 2, which takes all.
    let rdma = Flow { group: 1, ..flow(1, 2, u64::MAX, Time::ZERO, Pacing::LineRate) };
    let mut spec = lossy(star(3, LINE, DELAY), vec![puts(1, 0, u64::MAX)], OPT);
    spec.flows.push(rdma);
    (spec.put_of, spec.switch.overflow) = (vec![Some(0), None], Overflow::Stop);
    spec.endpoints = vec![Some(slow(100))];
    let outcome = run_until(spec, us(1000));
    let share = outcome.flows[1].received.get() as f64 / 2048.0 * 2112.0 * 8e12 / 1e9 / LINE.as_bps() as f64;
    assert!((0.45..=0.65).contains(&share), "{share}");
    assert!(events(&outcome, PutEvent::Resent).len() > 1000);
}

#[test]
fn the_sums_of_a_stream_are_those_of_its_packets() {
    for policy in POLICIES {
        let mut spec = unicast(policy, 200);
        spec.probe.streams = true;
        spec.probe.sample = Some(Span::from_us(7));
        let outcome = run_until(spec, us(300));
        let count = |event| events(&outcome, event).len() as u64;
        let sum = |field: fn(&backwater_fabric::record::StreamRecord) -> u64| -> u64 {
            outcome.records.streams.iter().map(field).sum()
        };
        assert_eq!(sum(|sums| sums.sent_packets), count(PutEvent::Sent));
        assert_eq!(sum(|sums| sums.sent_bytes.get()), 2112 * count(PutEvent::Sent));
        assert_eq!(sum(|sums| sums.resent_packets), count(PutEvent::Resent));
        assert_eq!(sum(|sums| sums.resent_bytes.get()), 2112 * count(PutEvent::Resent));
        assert_eq!(sum(|sums| sums.accepted_packets), count(PutEvent::Accepted));
        assert_eq!(sum(|sums| sums.accepted_bytes.get()), 2048 * count(PutEvent::Accepted));
        assert_eq!(sum(|sums| sums.processed_bytes.get()), 2048 * count(PutEvent::Processed));
        assert_eq!(sum(|sums| sums.dropped_packets), count(PutEvent::Dropped));
        assert_eq!(sum(|sums| sums.out_of_order_packets), count(PutEvent::OutOfOrder));
        assert_eq!(sum(|sums| sums.nacks), count(PutEvent::Nack) + count(PutEvent::NackSent));
        let dacks = count(PutEvent::Dack) + count(PutEvent::DackSent);
        let marked = count(PutEvent::Marked) + count(PutEvent::MarkedSent);
        let iacks = count(PutEvent::Iack) + count(PutEvent::IackSent);
        assert_eq!(sum(|sums| sums.dacks), dacks);
        assert_eq!(sum(|sums| sums.marked_iacks), marked);
        assert_eq!(sum(|sums| sums.iacks), iacks + marked);
        // What may be sent at the end is what could be when the last packet had left, and what ACKs have allowed since.
        let window = outcome.records.streams.iter().rfind(|sums| !sums.target).expect("an initiator").window;
        let sent =
            outcome.records.puts.iter().rfind(|put| matches!(put.event, PutEvent::Sent | PutEvent::Resent));
        if let Some(window) = window {
            assert!(window >= sent.expect("packets").value.cast_unsigned(), "{policy:?}");
        }
    }
}

/// DACK, changed.
fn dack(change: impl Fn(&mut backwater_control::reaction::DackConfig)) -> PolicyConfig {
    let mut policy = POLICIES[2];
    if let PolicyConfig::Dack(dack) = &mut policy {
        change(dack);
    }
    policy
}

#[test]
fn in_the_papers_words_a_replay_leads_back_to_the_first_halt_state() {
    // "After retransmission, the initiator returns to the H(-1) state": a halt that no ACK brings, when a packet leaves.
    let halts = |after: bool| {
        let mut spec = small(dack(|dack| dack.halt_after_replay = after));
        spec.puts[0].processing = Span::from_ns(137);
        let outcome = run_until(spec, us(100));
        let times = |event| events(&outcome, event).into_iter().map(|put| put.time).collect::<Vec<_>>();
        let acks = [PutEvent::Iack, PutEvent::Dack, PutEvent::Marked, PutEvent::Nack].map(times).concat();
        let resent = times(PutEvent::Resent);
        let by_itself = |put: &&PutRecord| resent.contains(&put.time) && !acks.contains(&put.time);
        events(&outcome, PutEvent::State).iter().filter(by_itself).map(|put| put.value).collect::<Vec<_>>()
    };
    assert!(halts(false).is_empty());
    let halted = halts(true);
    assert!(!halted.is_empty() && halted.iter().all(|&state| state == -1), "{halted:?}");
}

#[test]
fn streams_that_have_ended_are_not_poor_ones_for_whose_sake_others_lose_acks() {
    // Two streams share the target evenly, a third one has ended: nothing differs by 30 %, every packet has an IACK of its own.
    let policy = dack(|dack| dack.grants = Grants::PerAck);
    let flows = vec![puts(1, 0, u64::MAX), puts(2, 0, u64::MAX), puts(3, 0, 20)];
    let mut spec: Spec = lossy(star(4, LINE, DELAY), flows, policy);
    let (period, hold) = (Span::from_us(20), Span::from_us(25));
    spec.puts[0].target.fairness =
        Fairness::Verbs { period, difference_ppm: 300_000, hold, strength_ppm: 1_000_000 };
    spec.endpoints = vec![Some(slow(500))];
    let outcome = run_until(spec, us(400));
    for src in [1, 2] {
        let told = outcome.records.puts.iter().filter(|put| {
            put.src == src
                && put.time >= us(150)
                && matches!(put.event, PutEvent::IackSent | PutEvent::MarkedSent)
        });
        let told: Vec<u32> = told.map(|put| put.seq).collect();
        assert!(told.len() > 100 && told.windows(2).all(|pair| pair[1] == pair[0] + 1), "{told:?}");
    }
}

#[test]
fn what_is_kept_for_a_stream_that_lost_a_packet_is_kept_from_streams_of_other_kinds() {
    // Drops although there is room: only where a NACK has reserved it for the other one.
    let drops = |reservation| {
        let flows = vec![puts(1, 0, u64::MAX), Flow { group: 1, ..puts(2, 0, u64::MAX) }];
        let mut spec = lossy(star(3, LINE, DELAY), flows, OPT);
        spec.puts[0].target.reservation = reservation;
        (spec.puts, spec.put_of) = (vec![spec.puts[0].clone(); 2], vec![Some(0), Some(1)]);
        spec.probe.puts = vec![true; 2];
        spec.endpoints = vec![Some(slow(500))];
        let outcome = run_until(spec, us(500));
        let dropped = events(&outcome, PutEvent::Dropped);
        assert!(dropped.len() > 10);
        dropped.iter().filter(|put| put.value + 2112 <= 80_992).count()
    };
    assert_eq!(drops(Reservation::None), 0);
    assert!(drops(Reservation::Bytes(20_000)) > 10);
}

#[test]
fn a_packet_of_which_a_nack_tells_at_the_last_moment_is_sent_again_and_does_not_expire() {
    // ACKs and NACKs come 8.23 us after a packet of 2 KB has started, timers go off at 8.4. Two streams of one host replay one after
    // the other, so that what a NACK has told of waits: its time counts from the NACK.
    let mut spec = lossy(star(3, LINE, DELAY), vec![puts(1, 0, u64::MAX), puts(1, 2, u64::MAX)], OPT);
    spec.puts[0].retry = Span::from_ns(8_400);
    spec.endpoints = vec![Some(slow(250)), None, Some(slow(200))];
    let outcome = run_until(spec, us(1000));
    assert!(events(&outcome, PutEvent::Resent).len() > 1000);
    assert_eq!(events(&outcome, PutEvent::Timeout), []);
}

#[test]
fn a_receive_queue_takes_what_fits_to_the_last_byte_and_a_queue_pair_that_sends_more_ends_the_run() {
    for (depth, fits) in [(4 * 2112, true), (4 * 2112 - 1, false)] {
        let mut spec =
            lossy(star(2, LINE, DELAY), vec![flow(1, 0, 4 * 2048, Time::ZERO, Pacing::LineRate)], OPT);
        (spec.put_of, spec.switch.overflow) = (vec![None], Overflow::Stop);
        let mut host = slow(1);
        host.depth = Bytes::new(depth);
        spec.endpoints = vec![Some(host)];
        assert_eq!(try_run(spec, FAST, None).is_ok(), fits, "{depth}");
    }
}
