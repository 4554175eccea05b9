//! Switches that trim: what has no room is asked for at once, and nothing else is sent twice.
use backwater_control::flow_control::{Trimming, Victim};
use backwater_fabric::record::DropReason;
use backwater_fabric::{Balancing, Kind, Overflow, Spec};
use backwater_units::{Bytes, Time};
use scene::{FAST, Outcome, Rules, run, try_run};

use crate::{LINE, from_zero, near};

const RULES: [Rules; 4] = [Rules::Window, Rules::Nscc, Rules::Rccc, Rules::Both];
/// Of 400 000 B, 4086 B each.
const PACKETS: u64 = 98;

/// Hosts 1, 2, … send 400 KB each to host 0. Queues hold one product of bandwidth and delay: 15 packets.
fn incast(sources: u32, rules: Rules, victim: Victim) -> Spec {
    let flows = (1..=sources).map(|source| from_zero(source, 0, 400_000)).collect();
    let mut spec = near(sources + 1, flows, rules);
    let queue = Bytes::new(15 * 4_150);
    let headers = Bytes::new(2 * queue.get());
    spec.switch.overflow = Overflow::Trim(Trimming { queue, headers, size: 64, victim, rate: Some(LINE) });
    spec.switch.balancing = Balancing::Entropy;
    spec
}

fn counted(outcome: &Outcome, reason: DropReason) -> (u64, u64) {
    let counts = outcome.simulation.drop_counts();
    let of = counts.iter().filter(|count| count.reason == reason);
    of.fold((0, 0), |sum, count| (sum.0 + count.packets, sum.1 + count.bytes.get()))
}

#[test]
fn each_trimmed_packet_is_sent_again_once_for_each_time_that_it_was_trimmed() {
    for (rules, victim) in
        RULES.into_iter().flat_map(|rules| [(rules, Victim::Coin), (rules, Victim::Arriving)])
    {
        let outcome = run(incast(16, rules, victim));
        let sum =
            |of: fn(&backwater_fabric::record::FlowRecord) -> u64| outcome.flows.iter().map(of).sum::<u64>();
        let (trims, _) = counted(&outcome, DropReason::Trimmed);
        // Sixteen first windows of 14 packets want into one queue of 15.
        assert!(trims > 16, "{rules:?}");
        assert_eq!(counted(&outcome, DropReason::Headers), (0, 0));
        assert_eq!(sum(|flow| flow.trimmed_packets), trims, "{rules:?}");
        assert_eq!((sum(|flow| flow.timeouts), sum(|flow| flow.duplicate_packets)), (0, 0), "{rules:?}");
        assert_eq!((sum(|flow| flow.nacks), sum(|flow| flow.resent_packets)), (trims, trims), "{rules:?}");
        // The link of the receiver takes 16 · 98 packets one after the other, and headers beside them.
        let last = outcome.flows.iter().map(|flow| flow.finish).max().expect("there are flows");
        let least = 16 * (PACKETS - 1) * 332_000;
        assert!(last > Time::from_ps(least), "{rules:?}: {last}");
        for flow in &outcome.flows {
            assert_eq!((flow.received.get(), flow.packets), (400_000, PACKETS), "{rules:?}");
        }
    }
}

#[test]
fn a_queue_never_holds_more_than_its_room_and_the_difference_of_two_packets() {
    for rules in RULES {
        let outcome = run(incast(16, rules, Victim::Coin));
        let most =
            outcome.ports.iter().filter(|port| port.priority == 3).map(|port| port.peak_queue.get()).max();
        assert!(most.expect("ports") <= 15 * 4_150 + 4_150, "{rules:?}: {most:?}");
    }
}

#[test]
fn a_switch_that_trims_runs_alike_in_order_port_by_port_and_on_threads() {
    for rules in RULES {
        let digest = |batching: bool, kind: Kind| {
            let spec = Spec { batching, ..incast(9, rules, Victim::Coin) };
            try_run(spec, kind, None).unwrap_or_else(|violation| panic!("{violation}")).totals.digest
        };
        let expected = digest(true, FAST);
        assert_eq!(digest(false, FAST), expected, "{rules:?}");
        assert_eq!(digest(true, Kind::Windows { threads: 2 }), expected, "{rules:?}");
    }
}
