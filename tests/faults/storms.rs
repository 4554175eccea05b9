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
