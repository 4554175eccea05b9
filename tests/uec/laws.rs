//! What holds for any flows of Ultra Ethernet: everything comes once, everybody gets on, and no thread changes that.
use backwater_fabric::record::FaultKind;
use backwater_fabric::{Control, Kind, LossShare, LossSpec, Simulation, Spec};
use backwater_units::Time;
use proptest::prelude::*;
use scene::{FAST, Rules, run, run_until, try_run, try_saved, us};

use crate::{far, from_zero, near};

const RULES: [Rules; 4] = [Rules::Window, Rules::Nscc, Rules::Rccc, Rules::Both];

/// Hosts 1, 2, … send so much to host 0.
fn incast(sources: u32, bytes: u64, rules: Rules) -> Spec {
    near(sources + 1, (1..=sources).map(|source| from_zero(source, 0, bytes)).collect(), rules)
}

/// What each flow gets between two instants, in µs.
fn between(from: u64, to: u64, spec: impl Fn() -> Spec) -> Vec<u64> {
    let got = |at| run_until(spec(), us(at)).flows.into_iter().map(|flow| flow.received.get());
    got(from).zip(got(to)).map(|(before, after)| after - before).collect()
}

/// Jain's index of fairness.
fn fairness(got: &[u64]) -> f64 {
    let got: Vec<f64> = got.iter().map(|got| *got as f64).collect();
    let (sum, squares) = (got.iter().sum::<f64>(), got.iter().map(|got| got * got).sum::<f64>());
    sum * sum / (squares * got.len() as f64)
}

/// Queues that drop: everything gets through, and the link is not idle for long.
#[test]
fn everything_that_is_sent_to_one_host_comes_once_though_most_of_a_first_window_is_lost() {
    for rules in RULES {
        let outcome = run(incast(16, 400_000, rules));
        for flow in &outcome.flows {
            assert_eq!(flow.received.get(), 400_000, "{rules:?}");
            assert!(flow.acked < Time::MAX);
            assert_eq!(flow.packets, 98);
        }
        let lost: u64 = outcome.flows.iter().map(|flow| flow.resent_packets).sum();
        assert!(lost > 0, "{rules:?}: 16 windows do not fit");
    }
}

/// NSCC: Jain's index of 0.95 or more of what 2, 8 and 64 flows get on one link.
#[test]
fn flows_under_windows_share_a_link() {
    for sources in [2, 8, 64] {
        let got = between(500, 4_000, || incast(sources, u64::MAX, Rules::Nscc));
        let index = fairness(&got);
        assert!(index >= 0.95, "{sources} flows: {index}");
    }
}

/// RCCC: credits are given in turn, so that what flows get differs by little more than one grant.
#[test]
fn flows_under_credits_get_the_same_to_one_grant() {
    for sources in [2, 8] {
        let got = between(500, 2_000, || incast(sources, u64::MAX, Rules::Rccc));
        let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
        assert!(most - least <= 2 * 16_384, "{sources} flows: {got:?}");
        // 0.99 of the link, of which 4086 of 4150 B are payload, and what waited in the switch.
        let all: u64 = got.iter().sum();
        let link = 1_500 * 12_500 * 4086_u64 / 4150;
        assert!((0.985..=1.0).contains(&(all as f64 / link as f64)), "{all} of {link}");
    }
}

/// What wires lose is sent again, whoever rules.
#[test]
fn what_a_wire_loses_is_sent_again_after_a_timeout() {
    for rules in RULES {
        let mut spec = far(vec![from_zero(0, 1, 2_000_000)], rules);
        let (node, share) = (4, LossShare::Frames(0.02));
        let always = LossSpec {
            fault: 0,
            node,
            port: None,
            from: Time::ZERO,
            until: Time::MAX,
            share,
            source: None,
            destination: None,
        };
        spec.faults.losses.push(always);
        spec.faults.kinds = vec![FaultKind::Loss];
        let flow = run(spec).flows[0];
        assert_eq!((flow.received.get(), flow.packets), (2_000_000, 490), "{rules:?}");
        assert!(flow.acked < Time::MAX && flow.timeouts > 0, "{rules:?}: {} timeouts", flow.timeouts);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    /// The same on one thread, on two, from one heap, and port by port or in order.
    #[test]
    fn what_happens_does_not_depend_on_how_it_is_computed(
        ends in prop::collection::vec((0..6_u32, 1..6_u32, 1..300_000_u64), 1..20),
        rules in prop::sample::select(RULES.to_vec()),
    ) {
        let flows = || ends.iter().map(|(src, by, bytes)| from_zero(*src, (src + by) % 6, *bytes)).collect();
        let digest = |kind, batching| {
            let spec = Spec { batching, ..near(6, flows(), rules) };
            let outcome = try_run(spec, kind, None).expect("nothing breaks");
            assert!(outcome.flows.iter().all(|flow| flow.acked < Time::MAX));
            (outcome.totals.digest, outcome.flows)
        };
        let first = digest(FAST, true);
        prop_assert_eq!(&digest(FAST, false), &first);
        prop_assert_eq!(&digest(Kind::Windows { threads: 2 }, true), &first);
        prop_assert_eq!(&digest(Kind::Heap, true), &first);
        // Saved and loaded twice while packets are under way.
        let mut next = || Simulation::new(near(6, flows(), rules), FAST);
        let stops = [(us(7), Vec::new()), (us(30), Vec::new())];
        let saved = try_saved(&mut next, &Control::default(), &stops).expect("nothing breaks");
        prop_assert_eq!(&(saved.totals.digest, saved.flows), &first);
    }
}
