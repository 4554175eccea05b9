//! Who gets how much, by arithmetic.
use backwater_control::flow_control::Band;
use backwater_fabric::Arbiter;
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Time};
use scene::{
    CONGESTED, NORMAL, Outcome, PACKET, Scheme, burst, cable, crossbar, flow, flow_of_priority, hot_sources,
    isolation, run_until, tree, us,
};

/// Packets of each flow that arrived between two instants.
fn arrived(outcome: &Outcome, from: Time, to: Time) -> Vec<f64> {
    let mut counts = vec![0.0; outcome.flows.len()];
    for packet in outcome.records.arrived.iter().filter(|packet| packet.time >= from && packet.time < to) {
        counts[packet.flow as usize] += 1.0;
    }
    counts
}

#[test]
fn in_a_tree_without_fairness_the_nearest_source_gets_half_and_those_across_the_top_a_hundredth() {
    // Each crossbar takes its inputs in turn. At the switch of host 0 these are host 3 and the link from above: 1/2 each. That
    // link's switch has three others below with one source each, and the one from the top: 1/8 each. The other twelve share the
    // last eighth: three of the top's links, four of the next switches'. Isolation does not cure that (ICI paper, section 2),
    // though a source across the top has so few packets that its entries end between them, and then finds an empty queue.
    for scheme in [Scheme::None, Scheme::Ci, Scheme::Ici] {
        let sources: Vec<u32> = hot_sources().collect();
        let mut spec = isolation(tree(), burst(&sources, &[0], 100, Time::ZERO, Time::MAX), scheme);
        spec.probe.packets = vec![true; 2];
        let outcome = run_until(spec, us(1000));
        let counts = arrived(&outcome, us(400), us(1000));
        let total: f64 = counts.iter().sum();
        // 600 us of a link that is never idle.
        assert!((total - 600.0 / 0.32768).abs() <= 1.0, "{scheme:?}: {total}");
        for (src, count) in sources.iter().zip(&counts) {
            let share = match src {
                3 => 1.0 / 2.0,
                7 | 11 | 15 => 1.0 / 8.0,
                _ => 1.0 / 96.0,
            };
            // A turn of the whole tree is 96 packets: at most one round more or less.
            let expected = total * share;
            let slack = if scheme == Scheme::None { 3.0 } else { 0.2 * expected + 12.0 };
            assert!((count - expected).abs() <= slack, "{scheme:?}, host {src}: {count} for {expected}");
        }
    }
}

/// Two hosts that send to a third as much as they can, one in each priority. The packets of each that arrived while both had
/// something waiting.
fn two_classes(arbiter: Arbiter) -> [f64; 2] {
    let (rate, delay) = cable();
    let network = generate::star(3, rate, delay).expect("a star");
    let endless = |src, priority| Flow {
        group: u16::from(priority == CONGESTED),
        ..flow_of_priority(priority, src, 0, u64::MAX, Time::ZERO, Pacing::LineRate)
    };
    let mut spec = isolation(network, vec![endless(1, NORMAL), endless(2, CONGESTED)], Scheme::None);
    spec.switch.arbiter = arbiter;
    let combined = crossbar(&mut spec);
    combined.caps = [Bytes::new(30 * PACKET); 8];
    combined.bands.own[usize::from(CONGESTED)] = Band::port();
    spec.probe.packets = vec![true; 2];
    let outcome = run_until(spec, us(1100));
    let counts = arrived(&outcome, us(100), us(1100));
    [counts[0], counts[1]]
}

#[test]
fn weights_of_22_and_17_give_22_and_17_parts_of_a_full_link() {
    let [normal, congested] = two_classes(Arbiter::Deficit { weights: [1, 1, 17, 22, 1, 1, 1, 1] });
    let total = normal + congested;
    assert!((total - 1000.0 / 0.32768).abs() <= 1.0);
    // A deficit is below one packet.
    assert!((normal - total * 22.0 / 39.0).abs() <= 2.0, "{normal} of {total}");
    let [normal, congested] = two_classes(Arbiter::Deficit { weights: [1; 8] });
    assert!((normal - congested).abs() <= 1.0);
}

#[test]
fn a_strict_arbiter_leaves_the_lower_priority_what_the_higher_does_not_need() {
    let [normal, congested] = two_classes(Arbiter::Strict);
    assert!(normal > 3050.0 && congested == 0.0, "{normal}, {congested}");
    let [normal, congested] = two_classes(Arbiter::RoundRobin);
    assert!((normal - congested).abs() <= 1.0);
}

#[test]
fn a_victim_of_the_same_link_waits_without_isolation_and_not_with_it() {
    // 1, 2 and 3 send to 0 what they can; 1 also sends 50 Gbps to 5, and 4 30 Gbps to 6, which nobody else wants. Without isolation
    // packets to 0 and to 5 leave 1 in turn, and both get the 33 Gbps that the crossbar gives 1 for 0.
    let (rate, delay) = cable();
    let supply = |gbps| Pacing::supplied(Rate::from_gbps(gbps), 16, Time::MAX, None);
    let received = |scheme| {
        let network = generate::star(7, rate, delay).expect("a star");
        let flows = [(1, 0, 100), (2, 0, 100), (3, 0, 100), (1, 5, 50), (4, 6, 30)]
            .map(|(src, dst, gbps)| flow(src, dst, u64::MAX, Time::ZERO, supply(gbps)));
        let mut spec = isolation(network, flows.into(), scheme);
        spec.probe.packets = vec![true];
        arrived(&run_until(spec, us(1000)), us(500), us(1000))
    };
    let full = 500.0 / 0.32768;
    for scheme in [Scheme::None, Scheme::Ci, Scheme::Ici] {
        let counts = received(scheme);
        assert!((counts[0] + counts[1] + counts[2] - full).abs() <= 2.0, "{scheme:?}: {counts:?}");
        assert!((counts[4] - 0.3 * full).abs() <= 2.0, "{scheme:?}: {counts:?}");
        let share = if scheme == Scheme::None { 1.0 / 3.0 } else { 0.5 };
        assert!((counts[3] - share * full).abs() <= 0.02 * full, "{scheme:?}: {counts:?}");
    }
}
