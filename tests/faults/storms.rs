//! A NIC that sends PAUSE without end, and the watchdog.
use backwater_fabric::record::{DropReason, FaultEvent};
use scene::{FAST, try_run, us};

use crate::{KINDS, dropped, events, run, spec};

/// h0 and h2 send to h1 and h3; the switch is node 4, and its port 1 leads to h1.
const PFC: &str = r#"
profile = "ideal"
run = { until = "2ms" }
host = { transport = "put" }
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
[switch]
flow-control = "pfc"
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "100MB"
[[traffic]]
name = "y"
kind = "flow"
from = "h2"
to = "h3"
size = "100MB"
"#;

fn storm(rest: &str) -> String {
    format!("[[fault]]\nkind = \"pause-storm\"\nhost = \"h1\"\nat = \"100us\"\n{rest}\n")
}

fn watchdog(action: &str) -> String {
    format!("[switch.pfc.watchdog]\naction = \"{action}\"\ndetect = \"200us\"\nrestore = \"300us\"\n")
}

#[test]
fn a_storm_stops_the_port_and_ends_with_a_resume() {
    let outcome = run(PFC, &storm("until = \"600us\""), 2000);
    assert_eq!(events(&outcome, FaultEvent::Storm), [(100_000_000, 1)]);
    assert_eq!(events(&outcome, FaultEvent::Calm), [(600_000_000, 1)]);
    let paused = outcome.pauses_at((4, 1));
    // A PFC frame of 64 B takes 5.12 ns, after the ACK that is being sent, and 1 us.
    let times: Vec<u64> = paused.iter().map(|pause| pause.time.as_ps()).collect();
    assert_eq!(paused.len(), 2, "{times:?}");
    assert!((101_005_120..101_100_000).contains(&times[0]), "{times:?}");
    assert!((601_005_120..601_100_000).contains(&times[1]), "{times:?}");
    assert_eq!(outcome.records.drops.len(), 0);
}

#[test]
fn a_watchdog_that_drops_lets_the_rest_go_on_and_obeys_again_when_the_storm_is_over() {
    let more = storm("until = \"1ms\"") + &watchdog("drop");
    let outcome = run(PFC, &more, 2000);
    let triggered = events(&outcome, FaultEvent::Triggered);
    // Closed at 101 us: 200 us later.
    assert_eq!(triggered.len(), 1);
    assert!((301_005_120..301_100_000).contains(&triggered[0].0), "{triggered:?}");
    let lost = dropped(&outcome, DropReason::Watchdog);
    assert!(!lost.is_empty());
    assert!(lost.iter().all(|drop| drop.time.as_ps() >= triggered[0].0));
    // PAUSEs come every half of 65 535 quanta, which is 167.8 us at 100 Gbps: the last one between 832 us and 1 ms.
    let restored = events(&outcome, FaultEvent::Restored);
    assert_eq!(restored.len(), 1, "{restored:?}");
    assert!((1_130_000_000..1_310_000_000).contains(&restored[0].0), "{restored:?}");
}

#[test]
fn a_watchdog_that_forwards_loses_nothing() {
    let more = storm("until = \"1ms\"") + &watchdog("forward");
    let outcome = run(PFC, &more, 2000);
    assert_eq!(events(&outcome, FaultEvent::Triggered).len(), 1);
    assert!(outcome.records.drops.is_empty());
    let without = run(PFC, &storm("until = \"1ms\""), 2000);
    assert!(outcome.flows[0].received > without.flows[0].received);
}

#[test]
fn storms_are_the_same_on_every_engine_and_number_of_threads() {
    for action in ["none", "drop", "forward"] {
        let more = storm("until = \"1ms\"") + &watchdog(action);
        let runs = KINDS.map(|kind| {
            let outcome = try_run(spec(PFC, &more), kind, Some(us(2000))).unwrap_or_else(|v| panic!("{v}"));
            (outcome.totals.digest, outcome.records.drops, outcome.records.faults)
        });
        assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "{action}");
    }
}

#[test]
fn a_storm_that_stops_the_fabric_for_good_ends_the_run_which_names_it() {
    let one = PFC.split("[[traffic]]").take(2).collect::<Vec<_>>().join("[[traffic]]");
    let text =
        one.replace("run = { until = \"2ms\" }", "").replace("transport = \"put\"", "transport = \"roce\"");
    let violation = try_run(spec(&text, &storm("")), FAST, None).err().expect("it stands still").to_string();
    assert!(violation.contains("The NIC of h1 sends PAUSE without end"), "{violation}");
    assert!(violation.contains("switch.pfc.watchdog.action"), "{violation}");
}

#[test]
fn a_storm_that_holds_packets_when_the_run_ends_is_named_with_its_port() {
    let held = |more: &str| run(PFC, more, 2000).simulation.held_by_storms();
    assert_eq!(held(&storm("")), [("h1".to_owned(), "s->h1 (port 1)".to_owned())]);
    assert!(held(&storm("until = \"600us\"")).is_empty(), "it is over");
    assert!(held(&(storm("") + &watchdog("drop"))).is_empty(), "nothing waits any more");
}

#[test]
fn a_watchdog_that_looks_later_than_the_fabric_is_checked_for_a_standstill_sets_it_free() {
    // 20 ms: nothing moves for as long, as there is no other flow, and no other fault comes.
    let one = PFC.split("[[traffic]]").take(2).collect::<Vec<_>>().join("[[traffic]]");
    let text = one.replace("run = { until = \"2ms\" }", "").replace("100MB", "2MB");
    let slow = "[switch.pfc.watchdog]\naction = \"forward\"\ndetect = \"20ms\"\nrestore = \"20ms\"\n";
    let outcome = try_run(spec(&text, &(storm("") + slow)), FAST, None).unwrap_or_else(|v| panic!("{v}"));
    assert_eq!(events(&outcome, FaultEvent::Triggered).len(), 1);
    assert_eq!(outcome.flows[0].received.get(), 2_000_000);
}

/// h1 does not stop sending PAUSE, the switch fills, and pauses h0, whose NIC has a watchdog.
fn of_nics(action: &str) -> String {
    let watchdog = format!(
        "nic = {{ watchdog = {{ action = \"{action}\", detect = \"200us\", restore = \"300us\" }} }}"
    );
    let host = format!(
        "host = {{ transport = \"roce\", {watchdog} }}\ntransport = {{ reliability = \"go-back-n\" }}"
    );
    PFC.replace("host = { transport = \"put\" }", &host)
}

/// When the gate of a NIC closes.
fn closings(outcome: &scene::Outcome, host: u32) -> Vec<u64> {
    outcome.pauses_at((host, 0)).iter().filter(|pause| pause.paused).map(|pause| pause.time.as_ps()).collect()
}

#[test]
fn a_nic_that_forwards_is_held_no_longer_than_detection_takes() {
    let until = storm("until = \"1500us\"");
    assert_eq!(
        closings(&run(&of_nics("none"), &until, 2000), 0).len(),
        1,
        "once, as long as the storm lasts"
    );
    let outcome = run(&of_nics("forward"), &until, 2000);
    let closed = closings(&outcome, 0)[0];
    assert_eq!(events(&outcome, FaultEvent::Triggered), [(closed + 200_000_000, 0)]);
    // The switch sends its PAUSE once. It is in force until its RESUME, and what h0 sends keeps the switch full.
    assert!(events(&outcome, FaultEvent::Restored).is_empty());
}

#[test]
fn a_nic_that_drops_loses_the_acks_that_wait_and_keeps_its_data() {
    // h0 also receives: the ACKs of z wait behind the gate that x's PAUSE closes.
    let both = "[[traffic]]\nname = \"z\"\nkind = \"flow\"\nfrom = \"h2\"\nto = \"h0\"\nsize = \"100MB\"\n";
    let outcome = run(&of_nics("drop"), &(storm("until = \"1500us\"") + both), 2000);
    let closed = closings(&outcome, 0)[0];
    assert_eq!(events(&outcome, FaultEvent::Triggered), [(closed + 200_000_000, 0)]);
    let lost = dropped(&outcome, DropReason::Watchdog);
    assert!(!lost.is_empty() && lost.iter().all(|drop| drop.node == 0 && !drop.data), "{lost:?}");
    // The PAUSE of the switch was sent once, and is in force until its RESUME: that comes when h1 lets the switch go.
    let resumed = outcome.pauses_at((0, 0)).iter().find(|pause| !pause.paused).expect("resumed").time;
    assert!(us(1500) < resumed && resumed < us(1510), "{resumed}");
    assert_eq!(events(&outcome, FaultEvent::Restored), [(resumed.as_ps() + 300_000_000, 0)]);
}

#[test]
fn watchdogs_of_nics_are_the_same_on_every_engine_and_number_of_threads() {
    let more = storm("until = \"1ms\"") + &watchdog("forward");
    let runs = KINDS.map(|kind| {
        let outcome =
            try_run(spec(&of_nics("drop"), &more), kind, Some(us(2000))).unwrap_or_else(|v| panic!("{v}"));
        (outcome.totals.digest, outcome.records.drops, outcome.records.faults)
    });
    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn what_a_storm_holds_is_held_by_the_host_that_storms() {
    let mut spec = spec(PFC, &storm(""));
    spec.probe.blame = Some(scene::per_port(&spec.network, |_| backwater_units::Bytes::new(100_000)));
    let outcome = try_run(spec, FAST, Some(us(2000))).unwrap_or_else(|v| panic!("{v}"));
    let holds: Vec<_> = outcome.records.holds.iter().filter(|hold| hold.node == 1).collect();
    // At 100 us, and again every half of 65 535 quanta of 5.12 ns: 167.7696 us.
    let times: Vec<u64> = holds.iter().map(|hold| hold.time.as_ps()).collect();
    let expected: Vec<u64> =
        (0..12).map(|number| 100_000_000 + number * 167_769_600).take_while(|t| *t < 2_000_000_000).collect();
    assert_eq!(times, expected);
    // Port 1 of a host with one port is the host itself; what it holds is port 1 of the switch, node 4.
    assert!(holds.iter().all(|hold| (hold.blocker, hold.held_node, hold.held_port) == (1, 4, 1)));
}
