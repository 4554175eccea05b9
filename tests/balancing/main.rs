//! Spraying, flowlets and adaptive routing beside ECMP: what arithmetic says of loads and times, and one course on every engine.
mod ranks;

use backwater_control::detector::Detector;
use backwater_control::notify::NotifyConfig;
use backwater_fabric::{AckSpec, Balancing, Kind, Spec};
use backwater_topology::{Network, generate};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{Outcome, flow, ideal, per_port, red, run, try_run, with_links};

const LINE: Rate = Rate::from_gbps(40);
const FLOWLET: Balancing = Balancing::Flowlet { gap: Span::from_us(5) };
const ALL: [Balancing; 4] = [Balancing::Ecmp, Balancing::Spray, FLOWLET, Balancing::Adaptive];

fn leaf_spine(leaves: u32, spines: u32, hosts: u32) -> Network {
    generate::leaf_spine(leaves, spines, hosts, LINE, None, Span::from_us(1)).expect("a leaf-spine")
}

fn balanced(network: Network, flows: Vec<Flow>, balancing: Balancing) -> Spec {
    let mut spec = ideal(network, flows);
    spec.switch.balancing = balancing;
    spec
}

/// One flow from the first to the last of two hosts, as many packets of 1000 B as that, through `network`.
fn elephant(network: Network, packets: u64, pacing: Pacing, balancing: Balancing) -> Outcome {
    run(balanced(network, vec![flow(0, 1, packets * 1000, Time::ZERO, pacing)], balancing))
}

/// The first leaf and of the spines.
fn names(network: &Network) -> (u32, Vec<u32>) {
    let leaf = network.ports(network.hosts()[0])[0].peer;
    let spines = network.ports(leaf).iter().map(|port| port.peer).filter(|&peer| network.is_switch(peer));
    (leaf, spines.collect())
}

/// Data packets that the first leaf sent to each spine.
fn to_spines(outcome: &Outcome) -> Vec<u64> {
    let (leaf, spines) = names(outcome.simulation.network());
    let sent = |spine: u32| {
        let here =
            outcome.ports.iter().filter(|port| (port.node, port.peer, port.priority) == (leaf, spine, 3));
        here.map(|port| port.packets).sum()
    };
    spines.into_iter().map(sent).collect()
}

/// Time of a flow over that of an empty network.
fn slowest(outcome: &Outcome) -> f64 {
    let slowdown = |flow: &backwater_fabric::record::FlowRecord| {
        (flow.finish.as_ps() - flow.start.as_ps()) as f64 / flow.ideal_fct.as_ps() as f64
    };
    outcome.flows.iter().map(slowdown).fold(0.0, f64::max)
}

#[test]
fn a_sprayed_flow_loads_each_spine_alike() {
    let outcome = elephant(leaf_spine(2, 4, 1), 4000, Pacing::LineRate, Balancing::Spray);
    // Binomial: mean 1000, standard deviation 27.4; 5 of them allowed.
    let sent = to_spines(&outcome);
    assert!(sent.iter().all(|packets| (863..=1137).contains(packets)), "{sent:?}");
    assert_eq!(sent.iter().sum::<u64>(), 4000);
    let sent = to_spines(&elephant(leaf_spine(2, 4, 1), 4000, Pacing::LineRate, Balancing::Ecmp));
    assert_eq!(sent.iter().filter(|packets| **packets > 0).collect::<Vec<_>>(), [&4000]);
}

#[test]
fn a_permutation_has_the_whole_fabric_for_itself_unless_flows_collide() {
    // Each leaf's four flows go to another leaf's four hosts, over four spines: room for all, if no two take the same one. By hash the
    // chance of that is (4!/4^4)^4 = 1 in 13 000; two that share a link take twice as long.
    let permutation = |balancing| {
        let flows = (0..16).map(|src| flow(src, (src + 4) % 16, 4_000_000, Time::ZERO, Pacing::LineRate));
        run(balanced(leaf_spine(4, 4, 4), flows.collect(), balancing))
    };
    assert!(slowest(&permutation(Balancing::Ecmp)) > 1.9);
    // Spraying fills each link to 1: its queue is a random walk of 4000 packets, standard deviation √(4000·3/4) = 55 packets; four of
    // them are 5.5 % of the flow.
    let sprayed = slowest(&permutation(Balancing::Spray));
    assert!((1.0..1.055).contains(&sprayed), "{sprayed}");
    // The shortest queue never has more than a packet or two.
    let adaptive = slowest(&permutation(Balancing::Adaptive));
    assert!((1.0..1.005).contains(&adaptive), "{adaptive}");
}

/// Two hosts, four spines; the link between the spine of this number and the leaf with this number has 1 Gbps.
fn with_slow(spine: usize, leaf: u32) -> Network {
    let network = leaf_spine(2, 4, 1);
    let (_, spines) = names(&network);
    let leaf = network.ports(network.hosts()[leaf as usize])[0].peer;
    let slow = (spines[spine].min(leaf), spines[spine].max(leaf));
    with_links(&network, |_, link| {
        if (link.a.min(link.b), link.a.max(link.b)) == slow {
            link.rate = Rate::from_gbps(1);
        }
    })
}

#[test]
fn adaptive_routing_gives_a_slow_link_what_it_can_carry() {
    let outcome = elephant(with_slow(2, 0), 4000, Pacing::LineRate, Balancing::Adaptive);
    // The flow takes 800 us, a packet on the slow link 8 us: the link is never given a packet while it is busy.
    let sent = to_spines(&outcome);
    assert!((1..=101).contains(&sent[2]), "{sent:?}");
    // The latest packet of the slow link, four cables, three other wires.
    assert!(outcome.flows[0].finish < Time::from_ps(815_000_000), "{:?}", outcome.flows[0].finish);
    // By chance it gets a quarter: 863 packets of 8 us at least.
    let outcome = elephant(with_slow(2, 0), 4000, Pacing::LineRate, Balancing::Spray);
    assert!(outcome.flows[0].finish > Time::from_ps(863 * 8_000_000));
}

#[test]
fn adaptive_routing_avoids_a_paused_link() {
    let outcome = elephant(with_slow(1, 1), 4000, Pacing::LineRate, Balancing::Adaptive);
    let (leaf, spines) = names(outcome.simulation.network());
    let held = |port: &&backwater_fabric::record::PortRecord| {
        (port.node, port.peer, port.priority) == (leaf, spines[1], 3)
    };
    let port = outcome.ports.iter().find(held).expect("the port to the spine");
    assert!(port.pauses > 0);
    // What the spine takes until it pauses the leaf (320 KB, or that share of 18 MB), what it drains in 800 us (100 KB), and what is
    // under way when it does (2 us of cables at 40 Gbps, and a packet at each end).
    assert!(port.bytes.get() < 320_000 + 100_000 + 12_000, "{:?}", port.bytes);
    let sprayed = elephant(with_slow(1, 1), 4000, Pacing::LineRate, Balancing::Spray);
    assert!(to_spines(&sprayed)[1] >= 863);
}

#[test]
fn a_flowlet_is_what_comes_within_the_gap() {
    // 1000 B at 1 Gbps: a packet every 8 us.
    let pacing = Pacing::Constant { rate: Rate::from_gbps(1), jitter_ppm: 0, catch_up: false };
    let sent = |us| {
        let gap = Span::from_us(us);
        to_spines(&elephant(leaf_spine(2, 4, 1), 1000, pacing, Balancing::Flowlet { gap }))
    };
    assert_eq!(sent(9).iter().filter(|packets| **packets > 0).collect::<Vec<_>>(), [&1000]);
    // Binomial: mean 250, standard deviation 13.7.
    assert!(sent(7).iter().all(|packets| (181..=319).contains(packets)), "{:?}", sent(7));
}

#[test]
fn a_pause_that_is_longer_than_the_gap_begins_a_flowlet() {
    // The last link takes 1 Gbps: switch after switch is paused, and then the source, which else leaves no gaps. It may go on when a packet
    // or more has left, 8 us at that rate, and no pause is as long as 500 us.
    let network = leaf_spine(2, 4, 1);
    let last = network.hosts()[1];
    let slow = with_links(&network, |_, link| {
        if link.a == last || link.b == last {
            link.rate = Rate::from_gbps(1);
        }
    });
    let course = |us| {
        let gap = Span::from_us(us);
        let outcome = elephant(slow.clone(), 4000, Pacing::LineRate, Balancing::Flowlet { gap });
        let source = outcome
            .ports
            .iter()
            .find(|port| port.node == outcome.simulation.network().hosts()[0] && port.priority == 3);
        let source = source.expect("the source's port");
        let long = source.paused.as_ps() > source.pauses * Span::from_us(5).as_ps();
        assert!(source.pauses > 20 && long, "{} pauses, {:?}", source.pauses, source.paused);
        to_spines(&outcome).into_iter().filter(|packets| *packets > 0).count()
    };
    assert_eq!(course(500), 1);
    // Each is a new draw: that 20 of them leave out one of four spines has a chance below 4 (3/4)^20 = 1.3 %; the seed is fixed.
    assert_eq!(course(5), 4);
}

#[test]
fn receivers_put_in_order_what_overtook() {
    // One way is 10 us longer than the others: 50 packets of 200 ns.
    let network = leaf_spine(2, 4, 1);
    let (leaf, spines) = names(&network);
    let long = with_links(&network, |_, link| {
        if (link.a.min(link.b), link.a.max(link.b)) == (spines[3].min(leaf), spines[3].max(leaf)) {
            link.delay = Span::from_us(11);
        }
    });
    let record = elephant(long, 4000, Pacing::LineRate, Balancing::Spray).flows[0];
    assert_eq!((record.packets, record.received), (4000, Bytes::new(4_000_000)));
    // While one that goes the long way is missing, at most those of 10 us can have come that took others, and about 3/4 of 50 have.
    assert!((30..=50).contains(&record.early_most), "{}", record.early_most);
    // Of those that took another way all come early behind which one was sent the long way in the 50 before: all but (3/4)^50.
    assert!((2_850..=3_137).contains(&record.early_packets), "{}", record.early_packets);
    let record = elephant(leaf_spine(2, 4, 1), 4000, Pacing::LineRate, Balancing::Ecmp).flows[0];
    assert_eq!((record.early_packets, record.early_most), (0, 0));
}

/// Incast and permutation with marks, CNPs and ACKs.
fn busy(balancing: Balancing) -> Spec {
    let incast = (1..12).map(|src| flow(src, 0, 150_000, Time::ZERO, Pacing::Controlled));
    let across = (0..16).map(|src| flow(src, (src + 5) % 16, 90_001, Time::ZERO, Pacing::LineRate));
    let mut spec = balanced(leaf_spine(4, 3, 4), incast.chain(across).collect(), balancing);
    spec.switch.detectors = per_port(&spec.network, |_| -> Detector { red() });
    spec.pairs[0].notify = Some(NotifyConfig::authors());
    spec.pairs[0].ack = Some(AckSpec { every: 3, size: Bytes::new(64), priority: Some(7) });
    spec
}

#[test]
fn each_engine_with_any_threads_tells_one_story() {
    for balancing in ALL {
        let course = |kind, batching, samples: bool| {
            let mut spec = busy(balancing);
            spec.batching = batching;
            if samples {
                spec.probe.sample = Some(Span::from_us(3));
                spec.probe.ports = vec![(0, 0)];
                spec.probe.packets = vec![true];
            }
            let outcome = try_run(spec, kind, None).unwrap_or_else(|violation| panic!("{violation}"));
            (outcome.totals.digest, outcome.flows)
        };
        let reference = course(Kind::Heap, false, false);
        assert!(reference.1.iter().all(|flow| flow.finish < Time::MAX && flow.acked < Time::MAX));
        let early: u64 = reference.1.iter().map(|flow| flow.early_packets).sum();
        assert_eq!(early > 0, matches!(balancing, Balancing::Spray | Balancing::Adaptive), "{balancing:?}");
        for (kind, batching, samples) in [
            (Kind::Windows { threads: 1 }, false, true),
            (Kind::Windows { threads: 1 }, true, false),
            (Kind::Windows { threads: 2 }, true, true),
            (Kind::Windows { threads: 8 }, true, false),
        ] {
            assert!(
                course(kind, batching, samples) == reference,
                "{balancing:?} {kind:?} {batching} {samples}"
            );
        }
    }
}
