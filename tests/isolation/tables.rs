//! What the congested-flow tables hold.
use backwater_fabric::KeyKind;
use backwater_fabric::record::IsolationEvent;
use backwater_units::Time;
use scene::{Outcome, Scheme, burst, hot_sources, ici, isolating, isolation, run_until, tree, us};

use crate::{FOUR, drained, workload};

/// Sixteen sources and one target, nobody else.
fn lone_tree(scheme: Scheme, change: impl Fn(&mut backwater_fabric::Spec)) -> Outcome {
    let sources: Vec<u32> = hot_sources().collect();
    let mut spec = isolation(tree(), burst(&sources, &[0], 100, Time::ZERO, us(300)), scheme);
    spec.probe.isolation = true;
    change(&mut spec);
    run_until(spec, us(1500))
}

fn peak(outcome: &Outcome) -> u32 {
    outcome.switches.iter().map(|switch| switch.peak_slots).max().expect("switches")
}

#[test]
fn a_tree_of_sixteen_sources_takes_as_many_slots_as_its_key_tells_apart() {
    let of_key = |key| peak(&lone_tree(Scheme::Ici, |spec| isolating(spec).key = key));
    // Each source of the tree passes the switch of the root; those across the top have gaps in which their entries may end.
    assert!((12..=16).contains(&of_key(KeyKind::Pair)));
    assert!((12..=16).contains(&of_key(KeyKind::Flow)));
    assert_eq!(of_key(KeyKind::Destination), 1);
    // The root may be found at the host's port, and before that at the ports towards it.
    assert!((1..=3).contains(&of_key(KeyKind::Root)));
}

#[test]
fn ci_pays_for_its_mirrors() {
    // The same flows, each by one ingress port: an entry and a mirror each.
    let both = [Scheme::Ici, Scheme::Ci].map(|scheme| peak(&lone_tree(scheme, |_| {})));
    assert_eq!(both[1] % 2, 0);
    assert!((24..=32).contains(&both[1]) && both[0] <= 16, "{both:?}");
}

#[test]
fn an_entry_says_where_the_congestion_was_found_first() {
    let outcome = lone_tree(Scheme::Ici, |_| {});
    let network = outcome.simulation.network();
    for record in &outcome.records.isolation {
        let Some((node, port)) = record.root else { panic!("{record:?}") };
        // All roots are on the way down to host 0, or where its traffic gathers on the way up.
        assert!(network.is_switch(node));
        if record.origin == 1 {
            assert_eq!((node, port), (record.node, record.port), "its own judgement names its own port");
        } else {
            assert_ne!(node, record.node, "what a CIM tells is the root of another node");
        }
    }
}

#[test]
fn an_entry_lives_its_residency_at_least_and_every_entry_ends() {
    let outcome = lone_tree(Scheme::Ici, |_| {});
    let mut live = std::collections::BTreeMap::new();
    for record in &outcome.records.isolation {
        let entry = (record.node, record.src, record.dst);
        match record.what {
            IsolationEvent::Allocated => assert_eq!(live.insert(entry, record.time), None, "{record:?}"),
            IsolationEvent::Released => {
                let since = live.remove(&entry).expect("an entry");
                let least =
                    if outcome.simulation.network().is_switch(record.node) { us(10) } else { us(200) };
                assert!(record.time.since(since) >= least.since(Time::ZERO), "{record:?}");
            }
            _ => {}
        }
    }
    assert!(live.is_empty());
}

#[test]
fn a_table_of_one_tree_has_no_room_for_four() {
    let refused = |outcome: &Outcome| outcome.switches.iter().map(|switch| switch.refusals).sum::<u64>();
    let ici = drained(workload(Scheme::Ici, FOUR));
    let ci = drained(workload(Scheme::Ci, FOUR));
    assert!(refused(&ici) > 0 && refused(&ci) > refused(&ici), "CI {}, ICI {}", refused(&ci), refused(&ici));
    let mut spec = workload(Scheme::Ici, FOUR);
    isolating(&mut spec).slots = None;
    assert_eq!(refused(&drained(spec)), 0);
}

#[test]
fn without_slots_there_is_no_entry_no_cim_and_no_packet_in_a_congested_queue() {
    for scheme in [Scheme::Ci, Scheme::Ici, Scheme::IciPlus] {
        let outcome = lone_tree(scheme, |spec| isolating(spec).slots = Some(0));
        for switch in &outcome.switches {
            assert_eq!((switch.allocations, switch.cims_sent, switch.moved_packets), (0, 0, 0), "{scheme:?}");
        }
        assert!(outcome.switches.iter().any(|switch| switch.refusals > 0));
        assert!(outcome.ports.iter().all(|port| port.priority != scene::CONGESTED || port.packets == 0));
    }
}

#[test]
fn every_cim_of_a_switch_arrives_at_the_next_node() {
    let outcome = lone_tree(Scheme::Ici, |_| {});
    let sent: u64 = outcome.switches.iter().map(|switch| switch.cims_sent).sum();
    let at_switches: u64 = outcome.switches.iter().map(|switch| switch.cims_received).sum();
    let network = outcome.simulation.network();
    let to_hosts = outcome.records.isolation.iter().filter(|record| {
        record.what == IsolationEvent::Notified
            && record.ingress.is_some_and(|port| {
                network.host_index(network.ports(record.node)[usize::from(port)].peer).is_some()
            })
    });
    assert_eq!(sent, at_switches + to_hosts.count() as u64);
    assert!(at_switches > 0 && sent > at_switches);
}

#[test]
fn a_nic_that_takes_no_part_is_never_told() {
    let outcome = lone_tree(Scheme::Ici, |spec| isolating(spec).host_hold = None);
    let network = outcome.simulation.network();
    assert!(outcome.records.isolation.iter().all(|record| network.is_switch(record.node)));
    let hosts = outcome.ports.iter().filter(|port| !network.is_switch(port.node));
    assert!(hosts.filter(|port| port.priority == scene::CONGESTED).all(|port| port.packets == 0));
}

#[test]
fn a_port_that_is_held_back_is_no_root_for_ici() {
    // A guard longer than the run: who was ever paused or resumed makes no entry of its own after it.
    let outcome = lone_tree(Scheme::Ici, |spec| ici(spec).guard = backwater_units::Span::from_ms(100));
    let held = |node: u32, port: u16, before: Time| {
        let mut pauses = outcome.records.pauses.iter();
        pauses.any(|pause| (pause.node, pause.port) == (node, port) && pause.time < before)
    };
    let mut own = outcome.records.isolation.iter().filter(|record| {
        record.origin == 1 && matches!(record.what, IsolationEvent::Allocated | IsolationEvent::Refused)
    });
    assert!(own.all(|record| !held(record.node, record.port, record.time)));
}
