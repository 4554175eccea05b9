//! The books of a run: a packet that is neither delivered nor dropped nor under way is missed, and so is a drop that nobody counts.
use std::path::Path;

use backwater_fabric::record::DropReason;
use backwater_fabric::{Account, Book, Kind, Simulation, Spec, Violation};
use backwater_scenario::Scenario;
use backwater_topology::generate;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Rate, Span, Time};
use scene::{FAST, flow, ideal, try_go, us};

/// 100 flows of a packet each, 200 ns apart, so that none is missed by those that follow; and one that goes on.
fn singles() -> Simulation {
    let mut flows: Vec<Flow> =
        (0..100).map(|n| flow(1, 0, 1000, Time::from_ps(n * 200_000), Pacing::LineRate)).collect();
    let slow = Pacing::Constant { rate: Rate::from_gbps(1), jitter_ppm: 0, catch_up: false };
    flows.push(flow(2, 3, u64::MAX, Time::ZERO, slow));
    flows.sort_by_key(|flow| flow.start);
    let network = generate::star(4, Rate::from_gbps(40), Span::from_us(1)).expect("a star");
    Simulation::new(ideal(network, flows), FAST)
}

fn spec(text: &str) -> Spec {
    let scenario = Scenario::parse(text, "books.toml", Path::new("."), &[]).and_then(Scenario::validate);
    scenario.unwrap_or_else(|error| panic!("{error}\n{text}")).build()
}

/// An incast with selective repeat over links of which one loses a tenth of its frames, into a lossy queue of 20 packets.
const LOSSY: &str = r#"
profile = "roce"
run = { until = "300us" }
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
switch = { overflow = "drop-lossy", pfc = { priorities = [3] }, lossy = { pool = "20KB" } }
fault = [{ kind = "loss", link = ["h1", "s"], frames = 0.1 }]
probe = { drops = true }
[[traffic]]
name = "rest"
kind = "incast"
from = ["h1", "h2", "h3"]
to = "h0"
size = "100KB"
priority = 1
reliability = "selective-repeat"
"#;

fn wrong(simulation: Simulation, until: Time) -> (Vec<(Account, Book)>, String) {
    let violation = try_go(simulation, Some(until)).err().expect("the books do not balance");
    let said = violation.to_string();
    assert_eq!(violation.code().id(), "packets-missing");
    let Violation::PacketsMissing { wrong, .. } = violation else { panic!("{said}") };
    (wrong, said)
}

#[test]
fn a_packet_that_vanishes_from_a_wire_is_missed_in_its_flow_and_on_its_link() {
    let whole = try_go(singles(), Some(us(5))).expect("the books balance");
    let mut simulation = whole.simulation;
    assert!(simulation.forget_a_packet());
    let (wrong, said) = wrong(simulation, us(50));
    let [(link, of_link), (flow, of_flow)] = &wrong[..] else { panic!("{said}") };
    // 100 and the beginning of another were sent; each flow has one packet.
    assert!(!matches!(link, Account::Flow { .. }), "{said}");
    assert!(matches!(flow, Account::Flow { .. }), "{said}");
    assert_eq!((of_link.missing(), of_flow.missing()), (1, 1));
    assert_eq!((of_flow.sent, of_flow.delivered, of_flow.under_way), (1, 0, 0));
    assert!(said.contains("(h1 -> h0): sent 1, delivered 0"), "{said}");
    assert!(said.contains("Do not use the results"), "{said}");
}

#[test]
fn where_a_wire_may_lose_packets_each_link_has_an_account_of_its_own() {
    let whole = try_go(Simulation::new(spec(LOSSY), FAST), Some(us(1))).expect("the books balance");
    let mut simulation = whole.simulation;
    assert!(simulation.forget_a_packet());
    let (wrong, said) = wrong(simulation, us(2));
    let links: Vec<_> = wrong.iter().filter(|(account, _)| matches!(account, Account::Link { .. })).collect();
    let [(Account::Link { to, .. }, book)] = &links[..] else { panic!("{said}") };
    assert_eq!((to.as_str(), book.missing()), ("s", 1), "{said}");
}

#[test]
fn a_drop_that_is_not_counted_is_missed_in_its_flow() {
    for kind in [FAST, Kind::Windows { threads: 2 }, Kind::Heap] {
        let whole = try_go(Simulation::new(spec(LOSSY), kind), Some(us(200))).expect("the books balance");
        let lost = |reason| whole.records.drops.iter().filter(|drop| drop.reason == reason).count();
        assert!(lost(DropReason::Pool) > 0 && lost(DropReason::Corrupted) > 0);
        let mut simulation = whole.simulation;
        assert!(simulation.forget_a_drop());
        let (wrong, said) = wrong(simulation, us(201));
        let [(Account::Flow { destination, .. }, book)] = &wrong[..] else { panic!("{said}") };
        assert_eq!(destination, "h0");
        assert!(book.missing() > 0 && !book.dropped.is_empty(), "{said}");
    }
}

#[test]
fn books_balance_wherever_a_run_ends() {
    for tenths in 1..60 {
        let end = Time::from_ps(tenths * 437_000);
        assert!(try_go(singles(), Some(end)).is_ok(), "{end}");
        let lossy = try_go(Simulation::new(spec(LOSSY), FAST), Some(end));
        assert!(lossy.is_ok(), "{end}");
    }
}
