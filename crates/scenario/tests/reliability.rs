//! Queue pairs that send again what is lost, as people write them.
use crate::common::{Said, report, root, says, small, valid};
use backwater_control::transport::selective::{Lost, SelectiveConfig};
use backwater_fabric::{Clock, Queueing, ReliableSpec, Repeat, Spec};
use backwater_traffic::trace::Event;
use backwater_units::Span;

const LOSSY: [&str; 3] = ["switch.flow-control=none", "switch.overflow=drop", "switch.port-buffer=50KB"];

const TWO: &str = r#"profile = "authors"
[topology]
kind = "star"
hosts = 4
rate = "100Gbps"
delay = "1us"
[switch]
flow-control = "none"
overflow = "drop"
[transport]
reliability = "selective-repeat"
[[traffic]]
name = "one"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
[[traffic]]
name = "two"
kind = "flow"
from = "h2"
to = "h3"
size = "1MB"
reliability = "go-back-n"
"#;

/// Four links of 1 us: no timer can wait for less. IRN has two of them, for queue pairs with few packets under way and for the others.
#[test]
fn a_timer_that_expires_before_an_ack_can_be_back_is_said_with_when_it_acts() {
    let said =
        |overrides: &[&str]| valid(TWO, &[&["switch.port-buffer=50KB"], overrides].concat()).caveats().said();
    says(
        &said(&["transport.go-back-n.timeout=3us"]),
        &[
            "transport.go-back-n.timeout = 3us",
            "traffic.two",
            "so it expires before an ACK can be back; raise",
        ],
    );
    let both = said(&["transport.selective-repeat.rto-low=2us", "transport.selective-repeat.rto-high=3us"]);
    says(
        &both,
        &[
            "transport.selective-repeat.rto-low = 2us: an unloaded round trip of traffic.one",
            "back wherever at most 3 packets (rto-low-packets) are under way",
            "transport.selective-repeat.rto-high = 3us",
            "back wherever more than 3 packets (rto-low-packets) are under way",
        ],
    );
    assert!(!said(&[]).contains("expires before"));
}

#[test]
fn the_defaults_are_those_of_infiniband_and_of_irn() {
    let spec = valid(TWO, &["switch.port-buffer=50KB"]).build();
    let of = |entry: usize| spec.pairs[usize::from(spec.pair_of[entry])].reliable.expect("it sends again");
    let back = ReliableSpec {
        repeat: Repeat::GoBackN,
        // 4.096 us times 2 to the power of 14.
        timeout: Span::from_ps(4_096_000 << 14),
        short: None,
        retries: 7,
        backoff: false,
        every_packet: false,
        nack_every: None,
        nack_notifies: false,
    };
    assert_eq!(of(1), back);
    let config = SelectiveConfig { after_nack: Lost::Lost, after_timeout: Lost::Lost };
    let Repeat::Selective { cap, config: found } = of(0).repeat else { panic!("not selective") };
    assert_eq!(found, config);
    assert_eq!(of(0).short, Some((3, Span::from_us(100))));
    assert_eq!(of(0).timeout, Span::from_us(320));
    // Two links of 1 us and 100 Gbps there and back: 50 KB, and what packets and ACKs of 1000 B take on the wire.
    assert!((50_000..60_000).contains(&cap), "{cap}");
    assert!(spec.pairs.iter().all(|pair| pair.ack.is_some()), "who sends again has ACKs");
}

#[test]
fn switches_may_drop_what_is_sent_again_and_nothing_else() {
    let mut lossy = LOSSY.to_vec();
    let Err(error) = small(&lossy) else { panic!("refused") };
    says(&error.to_string(), &["send nothing twice", "transport.reliability = \"go-back-n\""]);
    lossy.push("transport.reliability=go-back-n");
    small(&lossy).expect("fine");
    let said = report(TWO, &["switch.port-buffer=50KB", "traffic.two.reliability=none"]);
    says(&said, &["traffic.two: queue pairs with transport.reliability"]);
}

#[test]
fn messages_that_share_a_queue_pair_are_sent_again_those_of_ranks_too() {
    let lossy = |entry: &str| format!("{}{entry}", TWO.split("[[traffic]]").next().unwrap_or(TWO));
    let room = ["switch.port-buffer=50KB"];
    let loops = "[[traffic]]\nname = \"loop\"\nkind = \"closed-loop\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1MB\"\nmessages = 3\n";
    let spec = valid(&lossy(loops), &room).build();
    assert!(spec.flows.iter().all(|flow| flow.connection == 0), "one queue pair");
    assert!(spec.pairs[usize::from(spec.pair_of[0])].reliable.is_some());
    let ranks = "[[traffic]]\nname = \"halo\"\nkind = \"program\"\nfile = \"HALO\"\n";
    let ranks = ranks.replace("HALO", &root().join("scenarios/programs/halo.program").display().to_string());
    let spec = valid(&lossy(&ranks), &[room[0], "topology.hosts=16"]).build();
    assert!(spec.pairs[usize::from(spec.pair_of[0])].reliable.is_some());
}

#[test]
fn a_step_waits_for_the_ack_of_what_would_be_sent_again() {
    let sum = "[[traffic]]\nname = \"sum\"\nkind = \"collective\"\nop = \"all-reduce\"\nsize = \"1MB\"\n";
    let text = format!("{}{sum}", TWO.split("[[traffic]]").next().unwrap_or(TWO));
    let lossless = text.replace("overflow = \"drop\"\n", "").replace("\"selective-repeat\"", "\"none\"");
    let waits_for_sent = |text: &str, more: &[&str]| {
        let spec = valid(text, more).build();
        spec.steps.iter().flat_map(|step| &step.after).any(|event| matches!(event, Event::Sent(_)))
    };
    assert!(!waits_for_sent(&text, &["switch.port-buffer=50KB"]));
    assert!(waits_for_sent(&lossless, &[]));
}

#[test]
fn a_cap_or_a_timer_that_cannot_be_is_refused() {
    let selective =
        |more: &str| report(TWO, &["switch.port-buffer=50KB", &format!("transport.selective-repeat.{more}")]);
    says(&selective("rto-low=1ms"), &["rto-low = 1ms is more than rto-high = 320us"]);
    says(&selective("bdp=1GB"), &["is more than 4095 packets"]);
}

/// A star under the profile of the `ConWeave` simulator.
fn conweave(overrides: &[&str]) -> Spec {
    valid(&TWO.replace("authors", "conweave-ns3").replace("flow-control = \"none\"\n", ""), overrides).build()
}

#[test]
fn the_profile_of_the_conweave_simulator_has_its_memory_timers_and_recovery() {
    let spec = conweave(&[]);
    let of = |entry: usize| spec.pairs[usize::from(spec.pair_of[entry])].reliable.expect("it sends again");
    assert_eq!(of(0).repeat, Repeat::BlockList { cap: 104_000 });
    assert_eq!((of(0).short, of(0).timeout), (Some((3, Span::from_us(100))), Span::from_us(320)));
    assert_eq!((of(1).repeat, of(1).timeout), (Repeat::GoBackN, Span::from_ms(4)));
    for reliable in [of(0), of(1)] {
        assert_eq!(reliable.nack_every, Some(Span::from_us(4)));
        assert!(reliable.every_packet && reliable.nack_notifies && !reliable.backoff);
    }
    assert_eq!(spec.clock, Clock::Ns3);
    let Queueing::TwoPools(pools) = spec.switch.queueing else { panic!("not two pools") };
    assert_eq!((pools.egress, pools.ingress), (None, None));
    assert_eq!((pools.egress_log_alpha, pools.ingress_log_alpha), (0, -4));
    assert_eq!(pools.headroom.get(), 2 * 100_000_000_000 / 1_000_000 / 8 + 2 * 1048);
    assert_eq!(spec.switch.pfc.expect("PFC is on").form.pause(), Some(Span::from_us(5)));
}

#[test]
fn two_pools_lose_packets_have_shares_that_are_powers_of_two_and_no_credits() {
    let text = TWO.replace("authors", "conweave-ns3").replace("flow-control = \"none\"\n", "");
    let said = |more: &str| report(&text, &[more]);
    says(&said("switch.overflow=stop"), &["queueing = \"two-pools\" loses what is beyond a queue's share"]);
    says(&said("switch.flow-control=credits"), &["has PAUSE or nothing"]);
    says(
        &said("switch.two-pools.egress-alpha=0.3"),
        &["egress-alpha = 0.3 is no power of two", "write 0.25"],
    );
}

#[test]
fn a_timer_below_the_round_trip_and_a_fabric_that_loses_nothing_are_worth_a_word() {
    let short = valid(TWO, &["switch.port-buffer=50KB", "transport.selective-repeat.rto-low=2us"]);
    says(&short.caveats().said(), &["transport.selective-repeat.rto-low = 2us: an unloaded round trip"]);
    let idle = small(&["transport.reliability=go-back-n"]).expect("fine");
    says(&idle.caveats().said(), &["has nothing to do"]);
}

#[test]
fn keys_that_no_queue_pair_reads_are_named() {
    let said = |overrides: &[&str]| small(overrides).expect("fine").caveats().said();
    let (back, selective) = ("transport.reliability=go-back-n", "transport.reliability=selective-repeat");
    for (overrides, wanted) in [
        (
            &["transport.go-back-n.timeout=1ms"][..],
            "without effect with transport.reliability = \"none\": transport.{go-back-n}",
        ),
        // More than rto-high: no error where nobody reads them.
        (
            &[back, "transport.selective-repeat.rto-low=1s"],
            "without effect with transport.reliability = \"go-back-n\": transport.{selective-repeat}",
        ),
        (
            &[selective, "transport.go-back-n.retries=3"],
            "without effect with transport.reliability = \"selective-repeat\": transport.{go-back-n}",
        ),
        (
            &[
                selective,
                "transport.selective-repeat.scoreboard=block-list",
                "transport.selective-repeat.after-nack=all",
            ],
            "without effect with transport.selective-repeat.scoreboard = \"block-list\": transport.selective-repeat.{after-nack}",
        ),
        (
            &[back, "cc.kind=swift", "transport.nack-notifies=true"],
            "without effect with cc.kind = \"swift\": transport.{nack-notifies}",
        ),
        (
            &["host.transport=put", back],
            "without effect with traffic without queue pairs: transport.{reliability}",
        ),
        (
            &["traffic.one.reliability=go-back-n", selective],
            "without effect with traffic.one.reliability = \"go-back-n\": transport.{reliability}",
        ),
    ] {
        says(&said(overrides), &[wanted]);
    }
    let read = [
        "transport.selective-repeat.bdp=100KB",
        "transport.go-back-n.timeout=1ms",
        "switch.port-buffer=50KB",
    ];
    let said = valid(TWO, &read).caveats().said();
    assert!(!said.contains("without effect"), "{said}");
    let cnps = small(&[back, "transport.nack-notifies=true"]).expect("fine").caveats().said();
    assert!(!cnps.contains("nack-notifies"), "{cnps}");
}
