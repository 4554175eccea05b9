//! The profile `infiniband` says what the TCD paper and its flit-level model say, and a fabric that cannot work under credits
//! is refused with its arithmetic.

use crate::common::{Said, report, says, validate};
use backwater_control::detector::{Detector, Fecn, Red, Tcd, Trend, max_ton};
use backwater_control::flow_control::CreditReturn;
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{IbCcConfig, ReactionConfig};
use backwater_fabric::{Arbiter, Queueing, Spec, Switching};
use backwater_scenario::ValidScenario;
use backwater_units::{Bytes, Rate, Span};

/// Figure 2 of the TCD paper over InfiniBand: 40 Gbps of signalling, which carry 32 Gbps.
const FIGURE_2: &str = r#"
profile = "infiniband"
[run]
until = "1ms"
[topology]
kind = "tcd-figure-2"
rate = "32Gbps"
[[traffic]]
name = "F1"
kind = "long-lived"
from = "S1"
to = "R1"
"#;

fn figure_2(overrides: &[&str]) -> ValidScenario {
    validate(FIGURE_2, overrides).unwrap_or_else(|error| panic!("{error}"))
}

/// Detector of L0's port towards T2.
fn p2(spec: &Spec) -> Detector {
    let (node, port) = spec.network.alias("P2").unwrap();
    spec.switch.detectors[node as usize][usize::from(port)]
}

fn tcd(overrides: &[&str]) -> Tcd {
    match p2(&figure_2(overrides).build()) {
        Detector::Tcd(tcd) => tcd,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_profile_is_the_papers_infiniband_fabric() {
    let scenario = figure_2(&[]);
    assert!(scenario.caveats().is_empty(), "{:?}", scenario.caveats());
    let spec = scenario.build();
    assert_eq!((spec.packet.payload, spec.packet.header), (Bytes::new(2048), Bytes::ZERO));
    let switch = &spec.switch;
    assert_eq!(switch.queueing, Queueing::VirtualOutput);
    assert_eq!(switch.switching, Switching::CutThrough { header: Bytes::new(20) });
    assert!(switch.pfc.is_none() && switch.arbiter == Arbiter::RoundRobin);
    let credits = switch.credits.as_ref().unwrap();
    assert_eq!(credits.buffer, Bytes::from_kb(280));
    assert_eq!(credits.returned, CreditReturn::Periodic(Span::from_us(50)));
    assert_eq!((credits.frame, credits.unchanged, credits.loss_ppm), (Bytes::new(8), false, 0));
    assert_eq!(credits.priorities, 0x7f, "all but the control priority");
    let pair = &spec.pairs[0];
    assert_eq!(pair.reaction, ReactionConfig::IbCc(IbCcConfig::standard()));
    assert_eq!(pair.notify, Some(NotifyConfig::each_mark()), "one BECN for every marked packet");
    assert!(pair.ack.is_none());
}

#[test]
fn tcd_on_credits_takes_max_ton_and_t_from_their_period_as_the_paper_does() {
    // Eqn 4 and §4.4: T = max(Ton) = Tc = 50 us; a step at 50 KB; one packet is a drained queue.
    let expected = Tcd {
        red: Red::step(Bytes::from_kb(50)),
        trend: Trend::Rise,
        max_ton: Span::from_us(50),
        period: Span::from_us(50),
        low: Bytes::new(2048),
        delta: Bytes::new(4096),
        clock: Span::from_ps(1),
    };
    assert_eq!(tcd(&[]), expected);
    let short = tcd(&["switch.credits.period=20us"]);
    assert_eq!((short.max_ton, short.period), (Span::from_us(20), Span::from_us(20)));
    // Backwater's own rule looks at whole Tc's, at least 4 and 200 us.
    for (tc, period) in [(20, 200), (50, 200), (60, 240)] {
        let own = tcd(&[&format!("switch.credits.period={tc}us"), "switch.detector.tcd.trend=rise-bp"]);
        assert_eq!((own.max_ton, own.period), (Span::from_us(tc), Span::from_us(period)));
    }
    let own = tcd(&["switch.detector.tcd.max-ton=30us", "switch.detector.tcd.period=90us"]);
    assert_eq!((own.max_ton, own.period), (Span::from_us(30), Span::from_us(90)));
    let resolved = figure_2(&[]).resolved();
    let detector = &resolved["switch"]["detector"]["tcd"];
    assert_eq!((&detector["max-ton"], &detector["period"]), (&"50us".into(), &"50us".into()));
    assert!(detector.get("epsilon").is_none());
}

#[test]
fn what_a_profile_says_about_the_on_time_under_pfc_does_not_hold_under_credits() {
    for (profile, period) in [("authors", 50), ("ideal", 50), ("hpcc-ns3", 200)] {
        let profile = format!("profile={profile}");
        let credits = [&profile, "switch.flow-control=credits", "switch.detector.kind=tcd"];
        let tcd = tcd(&credits);
        assert_eq!((tcd.max_ton, tcd.period), (Span::from_us(50), Span::from_us(period)), "{profile}");
    }
    let caveats = figure_2(&["switch.detector.tcd.epsilon=0.1"]).caveats().said();
    says(&caveats, &["without effect with credits that come back every switch.credits.period", "{epsilon}"]);
}

#[test]
fn credits_that_come_back_at_once_leave_a_gap_of_one_packet() {
    let at_once = "switch.credits.returned=at-once";
    let mtu = Bytes::new(2048);
    let by = |epsilon| max_ton(Rate::from_gbps(32), Span::from_us(4), mtu, mtu, epsilon).unwrap().max_ton;
    assert_eq!((tcd(&[at_once]).max_ton, tcd(&[at_once]).period), (by(0.05), by(0.05)));
    assert_eq!(tcd(&[at_once, "switch.detector.tcd.epsilon=0.1"]).max_ton, by(0.1));
    assert_eq!(tcd(&[at_once, "switch.detector.tcd.max-ton=70us"]).max_ton, Span::from_us(70));
    assert_eq!(tcd(&[at_once, "profile=authors", "switch.flow-control=credits"]).clock, Span::from_us(1));
}

#[test]
fn the_values_written_out_are_a_scenario_that_means_the_same() {
    let at_once = "switch.credits.returned=at-once";
    for overrides in [
        &[][..],
        &["switch.detector.tcd.max-ton=30us"],
        &["switch.detector.tcd.epsilon=0.1"],
        &[at_once],
        &[at_once, "switch.detector.tcd.max-ton=30us"],
        &["profile=authors", "switch.flow-control=credits"],
        &["profile=authors", "switch.flow-control=credits", at_once],
        &["switch.flow-control=pfc"],
        &["switch.arbiter=weighted", "switch.vl-arbitration.low=[{vl=3,weight=64}]"],
    ] {
        let first = figure_2(overrides);
        let text = toml::to_string(first.settings()).unwrap();
        let again = validate(&text, &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.settings(), first.settings(), "{overrides:?}");
    }
}

#[test]
fn fecn_has_its_own_threshold_and_ib_cc_its_own_table() {
    let spec = figure_2(&["switch.detector.kind=fecn", "cc.ib-cc.increase=2"]).build();
    assert_eq!(p2(&spec), Detector::Fecn(Fecn::standard()));
    assert_eq!(spec.pairs[0].reaction, ReactionConfig::IbCc(IbCcConfig::with_tcd()));
    says(&report(FIGURE_2, &["cc.ib-cc.min=127"]), &["cc.ib-cc.min = 127 is not allowed", "below limit"]);
    says(
        &report(FIGURE_2, &["cc.ib-cc.increase=0"]),
        &["cc.ib-cc.increase = 0 is out of range", "1 to 16383"],
    );
}

#[test]
fn a_link_that_starves_under_its_period_is_refused_with_the_arithmetic() {
    // 40 Gbps · (50 us + 2 · 4 us) = 290 000 B, 3 packets and 3 updates more, 296 168 B: 144.6 packets and the one that
    // starts, 145 · 2048 B = 296 960 B. With 280 KB, 136 packets, (136 − 3) · 2048 − 24 = 272 360 B: 54.472 us less 8.
    let error = report(FIGURE_2, &["topology.rate=40Gbps"]);
    says(
        &error,
        &[
            "--set topology.rate=40Gbps",
            "needs a buffer of at least 297KB",
            "the link S0->T0 starves without any congestion",
            "a virtual lane has a buffer of 280KB, and 40Gbps need 296.96KB",
            " Tc + 2 tp = 50us + 2*4us = 58us\n",
            "40Gbps * 58us = 290KB",
            "raise switch.credits.buffer to at least 297KB",
            "shorten switch.credits.period from 50us to at most 46.4us",
            ", or, if 40Gbps is the signalling with 8b/10b, give the links its data rate, 32Gbps. What",
        ],
    );
    let period = ["topology.rate=40Gbps", "switch.credits.period=47us"];
    says(&report(FIGURE_2, &period), &["--set switch.credits.period=47us", "^ at most 46.4us"]);
    assert!(validate(FIGURE_2, &["topology.rate=40Gbps", "switch.credits.period=46.4us"]).is_ok());
    assert!(validate(FIGURE_2, &["topology.rate=40Gbps", "switch.credits.buffer=297KB"]).is_ok());
    let far = report(FIGURE_2, &["topology.delay=1ms"]);
    says(&far, &["at least 8.207MB (no switch.credits.period is short enough). What line rate needs"]);
}

const TWO_LANES: &str =
    "\n[[traffic]]\nname = \"F0\"\nkind = \"long-lived\"\nfrom = \"S0\"\nto = \"R0\"\npriority = 1\n";

#[test]
fn virtual_lanes_share_the_buffer() {
    let text = format!("{FIGURE_2}{TWO_LANES}");
    // 117 packets of 2048 B until credits come back, as in one lane, but only 2187 blocks each
    let error = report(&text, &[]);
    says(
        &error,
        &[
            "139.968KB (a share of 280KB / 2 virtual lanes with traffic)",
            "32Gbps need 239.616KB",
            "at least 480KB",
        ],
    );
    let spec = validate(&text, &["switch.credits.buffer=480KB"]).unwrap().build();
    assert_eq!(spec.switch.credits.unwrap().buffer, Bytes::from_kb(240));
    says(
        &report(&text, &["switch.credits.buffer=4KB"]),
        &["holds no packet", "a packet takes 2.048KB", "at least 480KB"],
    );
}

#[test]
fn the_updates_of_all_virtual_lanes_may_leave_together() {
    // 232 000 B, 3 packets and 3 updates of each of two lanes, 54 000 B: 142.6 packets, and the one that starts. With the
    // updates of one lane they would be 130, 266 240 B.
    let text = format!("{FIGURE_2}{TWO_LANES}");
    let frame = "switch.credits.frame=9000B";
    says(
        &report(&text, &[frame, "switch.credits.buffer=540KB"]),
        &["updates of 2 virtual lanes = 2*9KB = 18KB", "32Gbps need 292.864KB", "at least 586KB"],
    );
    assert!(validate(&text, &[frame, "switch.credits.buffer=586KB"]).is_ok());
}

#[test]
fn a_buffer_too_small_for_line_rate_is_a_caveat_when_credits_come_back_at_once() {
    let at_once = "switch.credits.returned=at-once";
    let caveats = |buffer: &str| figure_2(&[at_once, buffer]).caveats().said();
    assert_eq!(caveats("switch.credits.buffer=39KB"), "");
    let slow = caveats("switch.credits.buffer=20KB");
    // 32 Gbps · 2 · 4 us = 32 000 B; with 3 packets and 3 updates 38 168 B: 18.6 packets and the one that starts
    says(&slow, &["cannot reach its 32Gbps", "a buffer of 19.968KB", "32Gbps * 8us = 32KB", "at least 39KB"]);
    says(&report(FIGURE_2, &[at_once, "switch.credits.buffer=2KB"]), &["holds no packet", "at least 39KB"]);
}

#[test]
fn a_period_beyond_the_standard_s_65_536_symbol_times_is_a_caveat() {
    // 65 536 ns at 40 Gbps of signalling
    let period = |us: &str| {
        let us = format!("switch.credits.period={us}");
        figure_2(&[&us, "switch.credits.buffer=400KB"]).caveats().said()
    };
    assert_eq!(period("65.536us"), "");
    says(&period("65.537us"), &["more than 65 536 symbol times of a 32Gbps link (65.536us"]);
}

#[test]
fn updates_that_go_on_must_leave_time_for_data() {
    // 8 B take 2 ns at 32 Gbps
    let (period, unchanged) = ("switch.credits.period=2ns", "switch.credits.unchanged=true");
    let error = report(FIGURE_2, &[period, unchanged]);
    says(
        &error,
        &[
            "switch.credits.period = 2ns leaves a 32Gbps link no time for data",
            "the updates of one virtual lane take 2ns, 8B each",
            "lengthen switch.credits.period to 20ns or more",
        ],
    );
    assert!(validate(FIGURE_2, &["switch.credits.period=3ns", unchanged]).is_ok());
    assert!(validate(FIGURE_2, &[period]).is_ok());
    let text = format!("{FIGURE_2}{TWO_LANES}");
    let wide = ["switch.credits.period=4ns", unchanged, "switch.credits.buffer=480KB"];
    says(&report(&text, &wide), &["the updates of 2 virtual lanes take 4ns"]);
}

#[test]
fn lost_updates_need_updates_that_go_on() {
    let loss = "switch.credits.loss=0.1";
    says(&report(FIGURE_2, &[loss]), &["switch.credits.loss = 0.1", "set switch.credits.unchanged = true"]);
    let unchanged = "switch.credits.unchanged=true";
    says(
        &report(FIGURE_2, &["switch.credits.loss=0.991", unchanged]),
        &["0.991 is out of range", "0 to 0.99"],
    );
    let most = figure_2(&["switch.credits.loss=0.99", unchanged]).build();
    assert_eq!(most.switch.credits.unwrap().loss_ppm, 990_000);
    assert_eq!(figure_2(&[loss, unchanged]).build().switch.credits.unwrap().loss_ppm, 100_000);
    let at_once = "switch.credits.returned=at-once";
    says(&report(FIGURE_2, &[loss, unchanged, at_once]), &["lost", "returned = \"periodic\""]);
}

#[test]
fn lanes_that_are_not_under_flow_control_are_a_caveat_and_the_control_priority_never_is() {
    let caveats = figure_2(&["switch.credits.priorities=[0,1]"]).caveats().said();
    says(
        &caveats,
        &["priority 3 carries traffic but is not in switch.credits.priorities: it is not lossless"],
    );
    let error = report(FIGURE_2, &["switch.credits.priorities=[3,7]"]);
    says(&error, &["switch.credits.priorities lists 7, the control priority"]);
    says(&report(FIGURE_2, &["switch.credits.priorities=[3,9]"]), &["= 9 is out of range", "0 to 7"]);
}

#[test]
fn the_arbitration_tables_must_serve_every_lane_that_carries_traffic() {
    let weighted = |tables: &[&str]| {
        let tables = tables.iter().map(|table| format!("switch.vl-arbitration.{table}"));
        let all: Vec<String> = ["switch.arbiter=weighted".to_owned()].into_iter().chain(tables).collect();
        validate(FIGURE_2, &all.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let wrong = |tables: &[&str]| match weighted(tables) {
        Ok(_) => panic!("{tables:?} should be refused"),
        Err(error) => error.to_string(),
    };
    let none = "virtual lane 3 carries traffic.F1 but is in no table of switch.vl-arbitration";
    says(&wrong(&[]), &[none, "add { vl = 3, weight = 64 }", "--set switch.arbiter=weighted"]);
    says(&wrong(&["low=[{vl=3,weight=0},{vl=1,weight=0}]"]), &["sum to zero", "{ vl = 3, weight = 64 }"]);
    says(
        &wrong(&["low=[{vl=3,weight=0},{vl=1,weight=9}]"]),
        &["lane 3 carries traffic.F1 but has the weight 0"],
    );
    says(&wrong(&["low=[{vl=8,weight=1}]"]), &["[0].vl = 8 is out of range", "0 to 7"]);
    says(&wrong(&["low=[{vl=3,weight=256}]"]), &["weight = 256 is out of range", "0 to 255"]);
    says(&wrong(&["low=[{vl=7,weight=1},{vl=3,weight=1}]"]), &["low names 7, the control priority"]);
    let long = format!("low=[{}]", ["{vl=3,weight=255}"; 65].join(","));
    says(&wrong(&[&long]), &["switch.vl-arbitration.low has 65 lines", "allowed: 64 lines"]);
    let twice = weighted(&["low=[{vl=3,weight=255},{vl=3,weight=255}]"]);
    assert!(twice.is_ok(), "a lane may be in several lines of a table (InfiniBand specification)");
    let both = weighted(&["low=[{vl=3,weight=0}]", "high=[{vl=3,weight=1}]"]);
    assert!(both.is_ok(), "a lane may be in both tables (InfiniBand specification)");
    let good = weighted(&["low=[{vl=3,weight=64}]", "high=[{vl=1,weight=16}]", "high-limit=4"]).unwrap();
    assert!(good.caveats().is_empty(), "tables may be for several scenarios: {:?}", good.caveats());
    let Arbiter::Weighted { high, low, high_limit } = good.build().switch.arbiter else { panic!() };
    assert_eq!((high[0].vl, high[0].weight, low[0].vl, low[0].weight, high_limit), (1, 16, 3, 64, 4));
}

#[test]
fn weights_that_are_no_whole_packets_act_as_other_weights() {
    let text = format!("{FIGURE_2}{TWO_LANES}");
    let caveats = |[a, b]: [u8; 2], more: &str| {
        let table = format!("switch.vl-arbitration.low=[{{vl=1,weight={a}}},{{vl=3,weight={b}}}]");
        let overrides = ["switch.credits.buffer=600KB", "switch.arbiter=weighted", &table, more];
        validate(&text, &overrides).unwrap().caveats().said()
    };
    let plain = "run.seed=1";
    let short = caveats([1, 3], plain);
    says(&short, &["packets of 2.048KB the weights 1:3 act as 1:1; use multiples of 32"]);
    says(&caveats([16, 64], plain), &["the weights 16:64 act as 1:2"]);
    for exact in [[32, 96], [1, 1], [255, 128]] {
        assert_eq!(caveats(exact, plain), "", "{exact:?}");
    }
    // 3 and 1 packets of 1000 B
    says(
        &caveats([45, 5], "packet.payload=1000B"),
        &["1KB the weights 45:5 act as 3:1; use multiples of 15"],
    );
    assert_eq!(caveats([45, 15], "packet.payload=1000B"), "");
}

#[test]
fn the_acks_that_timely_asks_for_are_traffic_of_their_virtual_lane() {
    // ack.every = 0, but TIMELY measures by ACKs.
    let timely = ["cc.kind=timely", "ack.priority=5", "switch.credits.buffer=480KB"];
    let with = |more: &[&'static str]| [&timely[..], more].concat();
    let spec = validate(FIGURE_2, &timely).unwrap().build();
    assert_eq!(spec.switch.credits.unwrap().buffer, Bytes::from_kb(240), "half for each of two lanes");
    let weighted = ["switch.arbiter=weighted", "switch.vl-arbitration.low=[{vl=3,weight=64}]"];
    says(
        &report(FIGURE_2, &with(&weighted)),
        &["virtual lane 5 carries ack.priority but is in no table of switch.vl-arbitration"],
    );
    let open = validate(FIGURE_2, &with(&["switch.credits.priorities=[3]"])).unwrap();
    says(&open.caveats().said(), &["priority 5 carries traffic but is not in switch.credits.priorities"]);
    let no_acks = validate(FIGURE_2, &with(&["cc.kind=ib-cc"])).unwrap().build();
    assert_eq!(no_acks.switch.credits.unwrap().buffer, Bytes::from_kb(480));
}

#[test]
fn keys_of_another_flow_control_switching_arbiter_or_detector_are_said_in_a_caveat() {
    let caveats = |overrides: &[&str]| figure_2(overrides).caveats().said();
    says(&caveats(&["switch.pfc.xoff=1MB"]), &["with switch.flow-control = \"credits\": switch.pfc.{xoff}"]);
    let pfc = "switch.flow-control=pfc";
    says(&caveats(&[pfc, "switch.credits.period=9us"]), &["= \"pfc\": switch.credits.{period}"]);
    says(&caveats(&[pfc, "topology.allow-cycles=true"]), &["= \"pfc\": topology.{allow-cycles}"]);
    let at_once = "switch.credits.returned=at-once";
    says(
        &caveats(&[at_once, "switch.credits.period=9us"]),
        &["returned = \"at-once\": switch.credits.{period}"],
    );
    let stored = "switch.switching=store-and-forward";
    says(&caveats(&[stored, "switch.header=30B"]), &["= \"store-and-forward\": switch.{header}"]);
    says(
        &caveats(&["switch.vl-arbitration.high-limit=3"]),
        &["= \"round-robin\": switch.vl-arbitration.{high-limit}"],
    );
    says(&caveats(&["switch.detector.fecn.threshold=9KB"]), &["kind = \"tcd\": switch.detector.{fecn}"]);
    let fecn = "switch.detector.kind=fecn";
    says(&caveats(&[fecn, "switch.detector.kmax=90KB"]), &["kind = \"fecn\": switch.detector.{kmax}"]);
    says(&caveats(&["cc.kind=dcqcn", "cc.ib-cc.increase=2"]), &["cc.kind = \"dcqcn\": cc.{ib-cc}"]);
    says(&caveats(&["cc.dcqcn.rate-ai=9Mbps", "cc.np=grid"]), &["cc.kind = \"ib-cc\": cc.{dcqcn, np}"]);
    says(&caveats(&[fecn, "cc.ib-cc.on-ue=ignore"]), &["kind = \"fecn\": cc.ib-cc.{on-ue}"]);
}

#[test]
fn a_header_longer_than_a_packet_is_refused() {
    says(
        &report(FIGURE_2, &["switch.header=4KB"]),
        &["switch.header = 4KB is more than a whole packet, 2.048KB"],
    );
}
