//! The scenarios of this repository are valid and mean what their comments say.

use crate::common::root;
use backwater_codes::Code;
use backwater_scenario::{Scenario, ValidScenario};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};

fn load(name: &str) -> ValidScenario {
    let path = root().join("scenarios").join(name);
    Scenario::load(&path, &[]).and_then(Scenario::validate).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_scenario_file_is_valid() {
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let scenario = Scenario::load(&path, &[]).and_then(Scenario::validate);
            let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
            // One that is run with faults, too (--set), sends again what they lose.
            let said = scenario.caveats().iter().filter(|caveat| caveat.code != Code::ReliabilityIdle);
            let said: Vec<_> = said.collect();
            assert!(said.is_empty(), "{}: {said:?}", path.display());
            count += 1;
        }
    }
    assert!(count >= 8);
}

#[test]
fn the_single_congestion_point_has_the_papers_flows() {
    let scenario = load("single-congestion-point.toml");
    // the bursts begin at 1 ms and are offered for 3 ms
    assert!(scenario.until() >= Some(Time::from_ps(4_000_000_000)));
    let network = scenario.network();
    let name = |host: u32| network.name(network.hosts()[host as usize]).to_owned();
    let entry = |wanted: &str| {
        let group = scenario.settings().traffic.iter().position(|entry| entry.name == wanted).unwrap();
        scenario.flows().iter().filter(|flow| usize::from(flow.group) == group).collect::<Vec<_>>()
    };
    let f1 = entry("F1");
    assert_eq!((name(f1[0].src), name(f1[0].dst)), ("S1".to_owned(), "R1".to_owned()));
    assert!(f1[0].is_endless() && f1[0].pacing == Pacing::Controlled && f1[0].start == Time::ZERO);
    let bursts = entry("A");
    assert_eq!(bursts.len(), 15 * 64);
    assert_eq!(bursts.iter().map(|flow| flow.size).sum::<Bytes>(), Bytes::from_kb(15 * 64 * 64));
    assert_eq!(bursts[959].start.since(bursts[0].start), Span::from_ns(63 * 47_500));
    assert!(bursts.iter().all(|flow| name(flow.src).starts_with('A') && name(flow.dst) == "R1"));
    for (flow, source) in [("F0", "S0"), ("F2", "S2")] {
        let flow = entry(flow)[0];
        let pacing = Pacing::Constant { rate: Rate::from_gbps(5), jitter_ppm: 100_000, catch_up: true };
        assert_eq!((name(flow.src), name(flow.dst)), (source.to_owned(), "R0".to_owned()));
        assert_eq!((flow.pacing, flow.start.since(bursts[0].start)), (pacing, Span::from_us(183)));
    }
    let spec = scenario.build();
    assert_eq!(spec.probe.ports.len(), 4);
    let sampled: Vec<bool> = spec.probe.rates.iter().copied().take(2).collect();
    assert_eq!(sampled, [true, false]);
    assert!(spec.flows.is_sorted_by_key(|flow| (flow.start, flow.src, flow.dst, flow.group)));
}

#[test]
fn the_files_of_the_hpcc_simulator_give_its_nodes_and_times() {
    let scenario = load("my-topology.toml");
    let listed: Vec<_> = scenario.flows().iter().filter(|flow| flow.group == 0).collect();
    assert_eq!(listed.len(), 8);
    assert_eq!((listed[0].src, listed[0].dst, listed[0].start), (0, 3, Time::ZERO));
    assert_eq!(listed[7].start, Time::from_ps(100_000_000));
}

#[test]
fn the_same_seed_gives_the_same_flows_and_another_seed_gives_others() {
    let flows = |seed: &str| {
        let path = root().join("scenarios/fat-tree.toml");
        let scenario = Scenario::load(&path, &[format!("run.seed={seed}")]).and_then(Scenario::validate);
        scenario.unwrap_or_else(|error| panic!("{error}")).build().flows
    };
    assert_eq!(flows("1"), flows("1"));
    assert_ne!(flows("1"), flows("2"));
}

#[test]
fn in_the_put_incast_eight_sources_offer_what_the_link_of_a_host_carries_that_drains_half_of_it() {
    let spec = load("put-incast.toml").build();
    let rate = |flow: &backwater_traffic::Flow| match flow.pacing {
        Pacing::Supplied { rate, .. } => rate,
        other => panic!("{other:?}"),
    };
    let link = spec.network.ports(spec.network.hosts()[0])[0].rate;
    assert_eq!(spec.flows.iter().map(rate).sum::<Rate>(), link);
    assert!(spec.flows.len() == 8 && spec.flows.iter().all(|flow| flow.dst == 0));
    let slow: Vec<_> =
        spec.endpoints.iter().map(|host| host.as_ref().map(|host| host.drain.clone())).collect();
    let half = backwater_fabric::DrainSpec::Constant(Rate::from_bps(link.as_bps() / 2));
    assert_eq!(slow, [vec![Some(half)], vec![None; 8]].concat());
}
