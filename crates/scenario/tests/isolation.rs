//! Switches with ingress and egress regions, and congestion isolation in them: defaults, and what cannot work.

use crate::common::{PAPER, Said, paper, valid};
use backwater_control::detector::{Detector, max_ton as max_ton_of};
use backwater_control::flow_control::{Band, Bands, Form};
use backwater_control::isolation::{CiConfig, IciConfig, Isolation as Rules};
use backwater_fabric::{Arbiter, Combined, Crossings, KeyKind, MarkAt, MarkBasis, MarkSpec, Queueing, Spec};
use backwater_scenario::settings::IsolationSettings;
use backwater_units::{Bytes, Rate, Span};

fn isolation(overrides: &[&str]) -> IsolationSettings {
    paper(overrides).settings().switch.isolation.clone()
}

fn combined(spec: &Spec) -> Combined {
    let Queueing::Combined(combined) = spec.switch.queueing else { panic!("not combined") };
    combined
}

const fn packets(count: u64) -> Bytes {
    Bytes::new(count * 4096)
}

#[test]
fn the_isolation_profile_is_the_network_of_the_papers_section_4_1() {
    let scenario = paper(&[]);
    assert!(scenario.caveats().is_empty(), "{:?}", scenario.caveats());
    let spec = scenario.build();
    let expected = Combined {
        speedup_percent: 200,
        ingress: packets(64),
        egress: packets(64),
        caps: [packets(64); 8],
        crossbar: Crossings::Single,
        bands: Bands { own: [Band::port(); 8], port: Band::port() },
    };
    assert_eq!(combined(&spec), expected);
    assert!(spec.packet.padded);
    assert_eq!((spec.packet.payload, spec.packet.header), (packets(1), Bytes::ZERO));
    assert_eq!(spec.switch.mark, MarkSpec { at: MarkAt::Enqueue, basis: MarkBasis::Port });
    assert_eq!(spec.switch.arbiter, Arbiter::Deficit { weights: [1; 8] });
    assert!(spec.pairs[0].ack.is_none());
}

#[test]
fn a_port_is_paused_at_50_of_64_packets_and_resumed_at_45() {
    let scenario = paper(&[]);
    let combined = &scenario.settings().switch.combined;
    assert_eq!((combined.stop.unwrap().0, combined.go.unwrap().0), (packets(50), packets(45)));
}

#[test]
fn with_only_a_kind_written_every_default_is_the_papers_number_of_packets() {
    for kind in ["ci", "ici", "ici-plus"] {
        let own = isolation(&[&format!("switch.isolation.kind={kind}"), "switch.detector.kind=none"]);
        let class = |class: backwater_scenario::settings::QueueClass| {
            (class.stop.unwrap().0, class.go.unwrap().0, class.cap.unwrap().0, class.weight.unwrap())
        };
        assert_eq!(class(own.nfq), (packets(22), packets(20), packets(36), 22), "{kind}");
        assert_eq!(class(own.cfq), (packets(17), packets(15), packets(28), 17), "{kind}");
        assert_eq!((own.priority, own.cfq_priority), (Some(3), Some(2)));
        assert_eq!((own.detect.unwrap().0, own.cim.level.unwrap().0), (packets(12), packets(8)));
        assert_eq!(own.ici.quorum.unwrap().0, packets(2));
        let ramp = |ramp: backwater_scenario::settings::Ramp| {
            (ramp.kmin.unwrap().0, ramp.kmax.unwrap().0, ramp.pmax)
        };
        assert_eq!(ramp(own.ici_plus.congested), (packets(8), packets(24), 1.0));
        assert_eq!(ramp(own.ici_plus.monitored), (packets(10), packets(40), 0.2));
    }
}

#[test]
fn the_guard_of_a_root_is_the_time_in_which_its_queue_leaves_twice() {
    let guard = |overrides: &[&str]| {
        let all: Vec<&str> = ["switch.isolation.kind=ici", "switch.detector.kind=none"]
            .iter()
            .chain(overrides)
            .copied()
            .collect();
        match paper(&all).build().switch.isolation.unwrap().rules {
            Rules::Ici(ici) => ici.guard,
            Rules::Ci(_) => panic!("not ICI"),
        }
    };
    // 24 packets of 327.68 ns
    assert_eq!(guard(&[]), Span::from_ps(7_864_320));
    assert_eq!(guard(&["topology.rate=40Gbps"]), Span::from_ps(19_660_800));
    assert_eq!(guard(&["switch.isolation.ici.guard=1us"]), Span::from_us(1));
}

#[test]
fn the_rules_that_are_built_are_those_of_the_algorithms_own_constants() {
    let rules = |kind: &str| {
        paper(&[&format!("switch.isolation.kind={kind}"), "switch.detector.kind=none"])
            .build()
            .switch
            .isolation
            .unwrap()
    };
    assert_eq!(rules("ci").rules, Rules::Ci(CiConfig::standard()));
    assert_eq!(rules("ici").rules, Rules::Ici(IciConfig::standard()));
    let plus = rules("ici-plus");
    assert_eq!(plus.rules, Rules::Ici(IciConfig::plus()));
    assert_eq!((plus.slots, plus.monitored, plus.congested), (Some(32), 3, 2));
    assert_eq!(
        (plus.key, plus.frame, plus.host_hold),
        (KeyKind::Pair, Bytes::new(64), Some(Span::from_us(200)))
    );
}

#[test]
fn the_two_classes_have_their_own_limits_and_the_port_has_the_papers() {
    let spec = paper(&["switch.isolation.kind=ici", "switch.detector.kind=none"]).build();
    let built = combined(&spec);
    assert_eq!(
        (built.bands.own[3], built.bands.own[2], built.bands.port),
        (Band::normal(), Band::congested(), Band::port())
    );
    assert_eq!((built.caps[3], built.caps[2]), (packets(36), packets(28)));
    let Arbiter::Deficit { weights } = spec.switch.arbiter else { panic!() };
    assert_eq!((weights[3], weights[2]), (22, 17));
}

#[test]
fn defaults_scale_with_the_regions_and_times_stay() {
    // Regions of 128 and 512 KiB: stop 100 KiB; 22/50 and 17/50 of it; caps 36/64 and 28/64 of 512 KiB.
    let own = isolation(&[
        "switch.combined.ingress=128KiB",
        "switch.combined.egress=512KiB",
        "switch.isolation.kind=ici-plus",
        "switch.detector.kind=none",
    ]);
    assert_eq!((own.nfq.stop.unwrap().0, own.cfq.stop.unwrap().0), (packets(11), Bytes::new(34 * 1024)));
    assert_eq!((own.nfq.cap.unwrap().0, own.cfq.cap.unwrap().0), (packets(72), packets(56)));
    assert_eq!((own.detect.unwrap().0, own.cim.level.unwrap().0), (packets(24), packets(4)));
    assert_eq!(own.ici_plus.congested.kmin.unwrap().0, packets(16));
    assert_eq!(own.ici.quorum.unwrap().0, packets(2), "two packets, whatever the region");
    assert_eq!((own.residency.0, own.ici_plus.persist.0), (Span::from_us(10), Span::from_ms(2)));
}

#[test]
fn a_stop_that_is_given_takes_its_go_along() {
    let own = isolation(&[
        "switch.isolation.kind=ci",
        "switch.isolation.nfq.stop=40KB",
        "switch.detector.kind=none",
    ]);
    assert_eq!(own.nfq.go.unwrap().0, Bytes::from_kb(36));
    let port = paper(&["switch.combined.stop=100KB"]).settings().switch.combined.clone();
    assert_eq!(port.go.unwrap().0, Bytes::from_kb(90));
}

#[test]
fn without_isolation_the_priorities_with_traffic_share_the_regions_equally() {
    let second = PAPER.split("[[traffic]]").nth(1).unwrap().replace("\"one\"", "\"two\"").replace("h0", "h2");
    let text = format!("{PAPER}[[traffic]]{second}priority = 5\n");
    let built = combined(&valid(&text, &[]).build());
    let half = Band::new(packets(25), Bytes::new(45 * 4096 / 2));
    assert_eq!((built.bands.own[3], built.bands.own[5], built.bands.port), (half, half, Band::port()));
    assert_eq!((built.caps[3], built.caps[5]), (packets(32), packets(32)));
    assert_eq!(built.caps[0], packets(64), "nobody there to share with");
}

#[test]
fn the_cfq_has_the_next_priority_below_that_is_free() {
    let cfq = |overrides: &[&str]| {
        let all: Vec<&str> = ["switch.isolation.kind=ci", "switch.detector.kind=none"]
            .iter()
            .chain(overrides)
            .copied()
            .collect();
        let own = isolation(&all);
        (own.priority.unwrap(), own.cfq_priority.unwrap())
    };
    assert_eq!(cfq(&["traffic.priority=6"]), (6, 5));
    assert_eq!(cfq(&["traffic.priority=0"]), (0, 1), "there is none below");
    assert_eq!(cfq(&["traffic.priority=4", "switch.control-priority=3"]), (4, 2));
}

#[test]
fn a_table_of_any_size_is_allowed_and_one_that_holds_nothing_is_said() {
    let slots = |set: &str, kind: &str| {
        let kind = format!("switch.isolation.kind={kind}");
        let scenario = paper(&[&kind, "switch.detector.kind=none", &format!("switch.isolation.slots={set}")]);
        let said = scenario.caveats().said();
        (scenario.build().switch.isolation.unwrap().slots, said)
    };
    assert_eq!(slots("unlimited", "ci"), (None, String::new()));
    assert_eq!(slots("1", "ici"), (Some(1), String::new()));
    assert!(slots("0", "ici-plus").1.contains("slots = 0 holds no flow"));
    assert!(slots("1", "ci").1.contains("an entry takes two slots"));
}

#[test]
fn keys_of_another_kind_of_isolation_are_a_caveat_so_that_schemes_can_share_them() {
    let caveats = |overrides: &[&str]| {
        let all: Vec<&str> = ["probe.blame=false"].iter().chain(overrides).copied().collect();
        paper(&all).caveats().said()
    };
    assert_eq!(
        caveats(&["switch.isolation.slots=16", "switch.isolation.ici.history=500us"]),
        "without effect with switch.isolation.kind = \"none\": switch.isolation.{slots, ici}"
    );
    let ci = ["switch.isolation.kind=ci", "switch.isolation.ici.history=500us"];
    assert_eq!(caveats(&ci), "without effect with switch.isolation.kind = \"ci\": switch.isolation.{ici}");
    let ici = caveats(&["switch.isolation.kind=ici", "switch.isolation.ici-plus.persist=3ms"]);
    assert_eq!(ici, "without effect with switch.isolation.kind = \"ici\": switch.isolation.{ici-plus}");
    let host = caveats(&[
        "switch.isolation.kind=ici",
        "switch.isolation.nic=false",
        "switch.isolation.nic-hold=1ms",
    ]);
    assert_eq!(host, "without effect with switch.isolation.nic = false: switch.isolation.{nic-hold}");
    let weight =
        caveats(&["switch.isolation.kind=ci", "switch.arbiter=strict", "switch.isolation.cfq.weight=3"]);
    assert_eq!(weight, "without effect with switch.arbiter = \"strict\": switch.isolation.cfq.{weight}");
    let told =
        ["switch.isolation.kind=ci", "switch.isolation.cim.on=allocation", "switch.isolation.cim.level=8KiB"];
    assert_eq!(
        caveats(&told),
        "without effect with switch.isolation.cim.on = \"allocation\": switch.isolation.cim.{level}"
    );
    let xoff = caveats(&["switch.pfc.xoff=100KB", "switch.buffer=1MB"]);
    assert!(xoff.contains("whose threshold is switch.combined.stop: switch.pfc.{xoff}"), "{xoff}");
    assert!(xoff.contains("switch.queueing = \"combined\": switch.{buffer}"), "{xoff}");
    let small = crate::common::small(&["switch.combined.speedup=1.5"]).unwrap().caveats().said();
    assert_eq!(small, "without effect with switch.queueing = \"output\": switch.combined.{speedup}");
}

#[test]
fn ici_plus_beside_a_detector_or_without_a_listener_is_a_caveat() {
    let caveats = |overrides: &[&str]| {
        let all: Vec<&str> = ["switch.isolation.kind=ici-plus"].iter().chain(overrides).copied().collect();
        paper(&all).caveats().said()
    };
    assert!(caveats(&[]).contains("switch.detector.kind = \"red\" marks beside ICI+"));
    assert_eq!(caveats(&["switch.detector.kind=none"]), "");
    assert!(caveats(&["switch.detector.kind=none", "cc.kind=none"]).contains("no reaction point listens"));
}

#[test]
fn every_detector_works_with_a_crossbar_with_and_without_isolation() {
    let scene = |kind: &str, detector: &str, profile: &str| {
        let text = "[run]\nuntil = \"1ms\"\n[topology]\nkind = \"tcd-figure-2\"\n[[traffic]]\nname = \"F1\"\nkind = \"long-lived\"\nfrom = \"S1\"\nto = \"R1\"\n";
        valid(
            text,
            &[
                &format!("profile={profile}"),
                "switch.queueing=combined",
                &format!("switch.isolation.kind={kind}"),
                &format!("switch.detector.kind={detector}"),
            ],
        )
    };
    for kind in ["none", "ci", "ici", "ici-plus"] {
        for detector in ["none", "red", "tcd", "np-ecn", "fecn"] {
            for profile in ["authors", "ideal", "hpcc-ns3"] {
                let spec = scene(kind, detector, profile).build();
                assert_eq!(spec.switch.isolation.is_some(), kind != "none");
                assert_eq!(
                    spec.switch.mark,
                    MarkSpec::default(),
                    "what is not the isolation profile looks as ever"
                );
                assert_eq!(spec.switch.pfc.unwrap().form, Form::Ideal, "timed pauses of a profile give way");
            }
        }
    }
}

#[test]
fn tcd_takes_its_longest_on_period_from_the_bands_of_the_ports() {
    let text = PAPER.replace("profile = \"isolation\"", "profile = \"ideal\"");
    let max_ton = |kind: &str| {
        let kind = format!("switch.isolation.kind={kind}");
        let spec = valid(&text, &["switch.queueing=combined", &kind, "packet.payload=4KiB"]).build();
        let switch = spec.network.find("s").unwrap() as usize;
        match spec.switch.detectors[switch][0] {
            Detector::Tcd(tcd) => tcd.max_ton,
            _ => panic!("not TCD"),
        }
    };
    // Equation 3 of the TCD paper with B1 - B0 = 5 packets for a whole port and 2 for a class
    let expected =
        |gap| max_ton_of(Rate::from_gbps(100), Span::from_ns(25), packets(1), gap, 0.05).unwrap().max_ton;
    assert_eq!(max_ton("none"), expected(packets(5)));
    assert_eq!(max_ton("ici"), expected(packets(2)));
}

#[test]
fn a_scenario_with_all_defaults_written_out_is_the_same_scenario() {
    let seed =
        std::fs::read_to_string(crate::common::root().join("fuzz/seeds/scenario/isolation.toml")).unwrap();
    let plus = ["switch.isolation.kind=ici-plus", "switch.isolation.slots=unlimited"];
    for (text, overrides) in
        [(seed.as_str(), &[][..]), (PAPER, &[]), (PAPER, &plus), (PAPER, &["switch.detector.kind=tcd"])]
    {
        let first = valid(text, overrides);
        let written = toml::to_string(first.settings()).unwrap();
        assert_eq!(valid(&written, &[]).settings(), first.settings());
    }
}
