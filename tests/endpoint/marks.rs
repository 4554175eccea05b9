//! Fig. 3c of the EC paper: 2 KB, the target drains half of the link, a greedy initiator.
use backwater_fabric::record::PutEvent;
use backwater_units::{Span, Time};
use scene::{POLICIES, run_until, unicast, us};

/// Microseconds in tenths.
const fn tenths(of_us: u64) -> Time {
    Time::from_ps(of_us * 100_000)
}

#[test]
fn a_paced_initiator_is_halted_after_one_round_trip_and_nothing_is_dropped() {
    // DACKs begin "around the 6 us mark", the initiator is throttled "around the 10 us mark"; the authors' public simulator: 5.15 and
    // 9.31 us.
    let outcome = run_until(unicast(POLICIES[2], 500), us(60));
    let puts = &outcome.records.puts;
    let first = |event: PutEvent| puts.iter().find(|put| put.event == event).expect("it happens").time;
    let (marked, halted) = (first(PutEvent::MarkedSent), first(PutEvent::State));
    assert!((tenths(50)..=tenths(65)).contains(&marked), "{marked}");
    assert!((tenths(90)..=tenths(105)).contains(&halted), "{halted}");
    // From 20 us on it sends what the target drains: one packet in 330 ns.
    let sent: Vec<Time> = puts.iter().filter(|put| put.event == PutEvent::Sent).map(|put| put.time).collect();
    let late: Vec<Time> = sent.into_iter().filter(|&time| time >= us(20)).collect();
    assert!(late.windows(2).all(|pair| pair[1].since(pair[0]) == Span::from_ns(330)));
    let bad = [PutEvent::Dropped, PutEvent::OutOfOrder, PutEvent::Resent];
    assert!(!puts.iter().any(|put| bad.contains(&put.event)));
}
