//! NICs that take part: hosts 0 to 4 around a switch; 1, 2 and 3 send to 0 as fast as they can, and 1 now and then to 4.
use backwater_fabric::Spec;
use backwater_fabric::record::{IsolationEvent, IsolationRecord};
use backwater_topology::generate::star;
use backwater_traffic::Pacing;
use backwater_units::{Span, Time};
use scene::{
    CONGESTED, NORMAL, Outcome, PACKET, Scheme, burst, cable, flow, isolating, isolation, run_until, us,
};

const HOLD: Span = Span::from_us(200);

/// Everybody's packets are made until 100 us; the bystander's message of ten packets starts at 60 us.
fn scene(change: impl Fn(&mut Spec)) -> Outcome {
    let (rate, delay) = cable();
    let network = star(5, rate, delay).expect("a star");
    let mut flows = burst(&[1, 2, 3], &[0], 100, Time::ZERO, us(100));
    flows.push(flow(1, 4, 10 * PACKET, us(60), Pacing::Controlled));
    // After everything is over: one more packet of a pair that was isolated.
    flows.push(flow(1, 0, PACKET, us(900), Pacing::Controlled));
    let mut spec = isolation(network, flows, Scheme::Ici);
    spec.probe.isolation = true;
    change(&mut spec);
    run_until(spec, us(1000))
}

/// Host 1, which is node 1 or not.
fn nic(outcome: &Outcome) -> u32 {
    outcome.simulation.network().hosts()[1]
}

fn events(outcome: &Outcome) -> Vec<&IsolationRecord> {
    outcome.records.isolation.iter().filter(|record| record.node == nic(outcome)).collect()
}

fn packets(outcome: &Outcome, priority: u8) -> u64 {
    outcome.port((nic(outcome), 0), priority).packets
}

#[test]
fn a_nic_forgets_what_it_was_told_a_hold_after_the_last_cim() {
    let outcome = scene(|_| {});
    let told = events(&outcome);
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((told[0].what, told[1].what), (IsolationEvent::Allocated, IsolationEvent::Released));
    let cims = outcome.records.isolation.iter().filter(|record| {
        record.what == IsolationEvent::Notified
            && record.src == Some(nic(&outcome))
            && record.node != nic(&outcome)
    });
    let sent: Vec<Time> = cims.map(|cim| cim.time).collect();
    // A CIM of 64 B takes 5.12 ns and 25 ns, and waits for a packet of 327.68 ns at most.
    let after = |time: Time, cim: Time| time.since(cim).as_ps();
    let (first, last) = (sent[0], *sent.last().expect("one"));
    assert!((30_120..=357_800).contains(&after(told[0].time, first)));
    assert!((30_120..=357_800).contains(&(after(told[1].time, last) - HOLD.as_ps())));
}

#[test]
fn only_what_is_isolated_leaves_in_the_congested_class_and_only_while_it_is() {
    let outcome = scene(|_| {});
    let (normal, congested) = (packets(&outcome, NORMAL), packets(&outcome, CONGESTED));
    let of_pair = outcome.flows.iter().find(|flow| (flow.group, flow.src) == (1, nic(&outcome)));
    let of_pair = of_pair.expect("the supply of host 1").packets;
    assert_eq!(normal + congested, of_pair + 10 + 1);
    // The crossbar passes two packets in the time of one on a link, of three that come: a CFQ has its eight packets after 24 times,
    // and after 8 at the earliest. Two more may be under way when the CIM comes, and two when what it told has been forgotten.
    let early = normal - 11;
    assert!((8..=24 + 4).contains(&early), "{early} of {of_pair}");
}

#[test]
fn the_bystander_at_a_hot_source_does_not_wait_for_the_hot_destination() {
    let fct = |outcome: &Outcome| {
        let bystander = outcome.flows.iter().find(|flow| flow.packets == 10).expect("ten packets");
        bystander.finish.since(bystander.start)
    };
    // With the NIC's part its packets share a link that the isolated ones cannot fill, at worst one of theirs between two: twice
    // the ideal time and a packet that is on the wire.
    let (with, without) = (scene(|_| {}), scene(|spec| isolating(spec).host_hold = None));
    let ideal = with.flows.iter().find(|flow| flow.packets == 10).expect("ten packets").ideal_fct;
    assert!(fct(&with) < ideal * 2 + Span::from_ns(328), "{} against {ideal}", fct(&with));
    // Without it, they wait behind closed gates with the others: host 1 gets a third of the link.
    assert!(fct(&without) > ideal * 2, "{}", fct(&without));
}

#[test]
fn taking_part_changes_nothing_where_nothing_is_isolated() {
    let alone = |hold| {
        let (rate, delay) = cable();
        let flows = vec![flow(1, 0, 100 * PACKET, Time::ZERO, Pacing::Controlled)];
        let mut spec = isolation(star(5, rate, delay).expect("a star"), flows, Scheme::Ici);
        isolating(&mut spec).host_hold = hold;
        let totals = run_until(spec, us(1000)).totals;
        (totals.digest, totals.events)
    };
    assert_eq!(alone(Some(HOLD)), alone(None));
}

#[test]
fn by_its_destination_or_its_root_a_nic_isolates_the_same_pair_here() {
    use backwater_fabric::KeyKind;
    let of_key = |key| {
        let outcome = scene(|spec| isolating(spec).key = key);
        (packets(&outcome, NORMAL), packets(&outcome, CONGESTED), events(&outcome).len())
    };
    let pair = of_key(KeyKind::Pair);
    assert!(pair.1 > 0);
    // One entry stands for all three sources then, so that CIMs go another way in time; but the bystander is never isolated.
    for key in [KeyKind::Destination, KeyKind::Root] {
        let other = of_key(key);
        assert!(other.0 >= 11 && other.1 > pair.1 * 9 / 10 && other.2 >= 2, "{key:?} {other:?} {pair:?}");
    }
}
