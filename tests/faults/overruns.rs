//! Gates that a fault or a watchdog opens against PAUSE: what the receiver has no room for it drops, and nothing else.
use backwater_fabric::record::{DropReason, DropRecord, FaultEvent};
use scene::{FAST, Outcome, try_run, us};

use crate::{KINDS, dropped, events, run, spec};

/// h0 sends to h1, whose NIC does not stop sending PAUSE. The switch is node 4. Packets of 2000 B take 160 ns.
const STORM: &str = r#"
profile = "ideal"
run = { until = "2ms" }
packet = { payload = "1936B", header = "64B" }
host = { transport = "roce" }
transport = { reliability = "go-back-n" }
topology = { kind = "star", hosts = 4, rate = "100Gbps", delay = "1us" }
[switch]
flow-control = "pfc"
switching = "store-and-forward"
buffer = "2MB"
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "100MB"
[[fault]]
kind = "pause-storm"
host = "h1"
at = "100us"
until = "600us"
"#;

const STATIC: &str = "[switch.pfc]\nxoff = \"100KB\"\nxon = \"90KB\"\n";
const DYNAMIC: &str = "[switch.pfc]\nthreshold = \"dynamic\"\nheadroom = \"802.1qbb\"\n";

fn flaps(link: &str, times: u32) -> String {
    format!(
        "[[fault]]\nkind = \"link-down\"\nlink = [\"{link}\", \"s\"]\nat = \"300us\"\nfor = \"10us\"\nevery = \"20us\"\ntimes = {times}\n"
    )
}

/// What the switch had no room for: all of it came from h0.
fn without_room(outcome: &Outcome) -> Vec<DropRecord> {
    let lost = dropped(outcome, DropReason::Headroom);
    assert!(lost.iter().all(|drop| (drop.node, drop.port) == (4, 0)), "{lost:?}");
    assert!(dropped(outcome, DropReason::Memory).is_empty());
    lost
}

#[test]
fn a_link_that_comes_back_fills_the_headroom_once_more_and_the_rest_is_dropped() {
    let outcome = run(STORM, &(STATIC.to_owned() + &flaps("h0", 1)), 1000);
    // The 51st packet crosses Xoff. Until its PAUSE closes the gate of h0, 1.16 us + 5.12 ns + 1 us after it began, 13 more begin: the
    // port holds 128 000 B. When the link is up again the first packet finds Xoff crossed. 14 begin before its PAUSE is there.
    // Headroom: 25 000 B of the cable both ways, 3 packets, a frame of 64 B; so the port takes 131 064 B, and one of the 14.
    let lost = without_room(&outcome);
    assert_eq!(lost.len(), 13, "{lost:?}");
    assert!(lost.iter().all(|drop| us(311) < drop.time && drop.time < us(314)), "{lost:?}");
    let costs = outcome.simulation.fault_costs();
    let of_link = costs.iter().filter(|it| it.fault == 1 && it.node == 4);
    assert_eq!(of_link.map(|it| it.packets).sum::<u64>(), 13, "counted as what the link's failure cost");
}

#[test]
fn a_link_that_flaps_against_a_full_switch_ends_no_run_whatever_the_thresholds() {
    for thresholds in [STATIC, DYNAMIC] {
        let outcome = run(STORM, &(thresholds.to_owned() + &flaps("h0", 8)), 2000);
        assert!(!without_room(&outcome).is_empty(), "{thresholds}");
        assert!(outcome.flows[0].received.get() > 10_000_000, "it goes on after the storm");
    }
}

#[test]
fn headroom_that_is_too_short_without_a_cause_is_still_a_violation() {
    // 3 delays at line rate are less than 2 and three packets on a short cable.
    let short = STORM.replace("delay = \"1us\"", "delay = \"100ns\"");
    let dynamic = DYNAMIC.replace("802.1qbb", "auto");
    let other = flaps("h3", 1).replace("300us", "50us");
    let violation = try_run(spec(&short, &(dynamic + &other)), FAST, Some(us(2000))).err();
    let words = violation.expect("the headroom overflows").to_string();
    assert!(words.contains("the headroom of ingress port h0 -> s overflows"), "{words}");
}

/// The same with a watchdog at NICs. h0 has 10 MB.
fn nics(action: &str) -> String {
    let nic = format!(
        "host = {{ transport = \"roce\", nic = {{ watchdog = {{ action = \"{action}\", detect = \"200us\", restore = \"300us\" }} }} }}"
    );
    STORM.replace("host = { transport = \"roce\" }", &nic).replace("100MB", "10MB").replace("2ms", "4ms")
}

#[test]
fn a_nic_that_forwards_fills_the_headroom_and_the_switch_drops_the_rest() {
    let outcome = run(&nics("forward"), STATIC, 4000);
    let closed = outcome.pauses_at((0, 0)).iter().find(|pause| pause.paused).expect("h0 is paused").time;
    let triggered = events(&outcome, FaultEvent::Triggered);
    assert_eq!(triggered, [(closed.as_ps() + 200_000_000, 0)]);
    let lost = without_room(&outcome);
    // From 310 us to 600 us h0 sends 1812 packets, of which one finds room. A packet is there 1.16 us after it began.
    assert!((1790..1830).contains(&lost.len()), "{}", lost.len());
    assert!(lost.iter().all(|drop| drop.time.as_ps() >= triggered[0].0 + 1_160_000), "{:?}", lost[0]);
    assert_eq!(outcome.flows[0].received.get(), 10_000_000);
    // The PAUSE of the switch lasts until the account has drained, and that is when h0 has sent all.
    let finish = outcome.flows[0].finish.as_ps();
    let restored = events(&outcome, FaultEvent::Restored);
    assert_eq!(restored.len(), 1, "{restored:?}");
    assert!(
        restored[0].0 > finish + 290_000_000 && restored[0].0 < finish + 310_000_000,
        "{restored:?} {finish}"
    );
}

#[test]
fn a_nic_that_drops_obeys_a_long_pause_until_its_resume() {
    let outcome = run(&nics("drop"), STATIC, 4000);
    assert!(without_room(&outcome).is_empty());
    let opened = outcome.pauses_at((0, 0)).iter().find(|pause| !pause.paused).expect("h0 is resumed").time;
    // 600 us, a PFC frame of 64 B and 1 us, then 19 packets leave until 90 KB are left, and the RESUME is on its way.
    assert!(us(604) < opened && opened < us(608), "{opened}");
    assert_eq!(events(&outcome, FaultEvent::Restored), [(opened.as_ps() + 300_000_000, 0)]);
}

#[test]
fn overruns_are_the_same_on_every_engine_and_number_of_threads() {
    for (text, thresholds) in
        [(nics("forward"), DYNAMIC), (nics("forward"), STATIC), (STORM.to_owned(), STATIC)]
    {
        let more = thresholds.to_owned() + &flaps("h0", 8);
        let runs = KINDS.map(|kind| {
            let outcome = try_run(spec(&text, &more), kind, Some(us(1500))).unwrap_or_else(|v| panic!("{v}"));
            (outcome.totals.digest, outcome.records.drops, outcome.records.faults)
        });
        assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "{thresholds}");
        assert!(!runs[0].1.is_empty());
    }
}
