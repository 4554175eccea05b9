//! Fig. 3c of the EC paper: 2 KB, the target drains half of the link, a greedy initiator.
use backwater_fabric::record::PutEvent;
use backwater_units::Span;
use scene::{POLICIES, run_until, unicast, us};

#[test]
fn a_paced_initiator_is_halted_after_one_round_trip_and_nothing_is_dropped() {
    let outcome = run_until(unicast(POLICIES[2], 500), us(60));
    let puts = &outcome.records.puts;
    let first = |event: PutEvent| puts.iter().find(|put| put.event == event).expect("it happens").time;
    println!("marked {} halted {}", first(PutEvent::MarkedSent), first(PutEvent::State));
    let peak = puts.iter().filter(|put| put.event == PutEvent::Accepted).max_by_key(|put| put.value).unwrap();
    println!("peak {} at {}", peak.value, peak.time);
    let drops = puts.iter().filter(|put| put.event == PutEvent::Dropped).count();
    assert_eq!(drops, 0);
    let _ = Span::ZERO;
}
