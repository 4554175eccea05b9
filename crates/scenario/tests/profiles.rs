//! The profiles say what their sources say, and build the same parameters as the algorithms' own constants.

use crate::common::{Said, report, says, small, validate};
use backwater_control::detector::{Detector, Red, Tcd, Trend};
use backwater_control::flow_control::{Form, Threshold};
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::{DcqcnConfig, DcqcnHpccConfig, ReactionConfig};
use backwater_fabric::Spec;
use backwater_scenario::settings::Profile;
use backwater_units::{Bytes, Rate, Span};

const FIGURE_2: &str = r#"profile = "authors"
[run]
until = "1ms"
[topology]
kind = "tcd-figure-2"
[[traffic]]
name = "F1"
kind = "long-lived"
from = "S1"
to = "R1"
"#;

fn figure_2(overrides: &[&str]) -> Spec {
    validate(FIGURE_2, overrides).unwrap_or_else(|error| panic!("{error}")).build()
}

/// Detector of L0's port towards T2.
fn p2(spec: &Spec) -> Detector {
    let (node, port) = spec.network.alias("P2").unwrap();
    spec.switch.detectors[node as usize][usize::from(port)]
}

#[test]
fn without_a_profile_it_is_what_data_centres_run_today() {
    let text = FIGURE_2.replace("profile = \"authors\"", "");
    let scenario = validate(&text, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.settings().profile, Profile::Roce);
}

#[test]
fn the_authors_profile_is_their_release() {
    let spec = figure_2(&[]);
    assert_eq!(p2(&spec), Detector::Tcd(Tcd::authors()));
    assert_eq!(spec.pairs[0].reaction, ReactionConfig::Dcqcn(DcqcnConfig::authors()));
    assert_eq!(spec.pairs[0].notify, Some(NotifyConfig::authors()));
    let pfc = spec.switch.pfc.as_ref().unwrap();
    let (node, _) = spec.network.alias("P2").unwrap();
    assert_eq!(pfc.form, Form::authors());
    assert!(pfc.thresholds[node as usize].iter().all(|&t| t == Threshold::authors()));
    assert_eq!((spec.packet.payload + spec.packet.header, pfc.frame), (Bytes::new(1020), Bytes::new(31)));
    assert!(spec.pairs[0].ack.is_none());
}

#[test]
fn with_epsilon_the_authors_max_ton_is_that_of_their_sweep() {
    // ceil((2 x 16480 bit + 8 us x 40 Gbps) / (2 eps x 40 Gbps) + 8 us): 449.2, 228.6, 96.24, 52.12, 30.06, 16.82 us
    for (epsilon, us) in [("0.01", 450), ("0.02", 229), ("0.05", 97), ("0.1", 53), ("0.2", 31), ("0.5", 17)] {
        let Detector::Tcd(tcd) = p2(&figure_2(&[&format!("switch.detector.tcd.epsilon={epsilon}")])) else {
            panic!()
        };
        assert_eq!((tcd.max_ton, tcd.period), (Span::from_us(us), Span::from_us(us)), "{epsilon}");
    }
}

#[test]
fn the_ideal_profile_computes_100_4_us_for_the_papers_simulations() {
    let spec = figure_2(&["profile=ideal"]);
    let Detector::Tcd(tcd) = p2(&spec) else { panic!() };
    assert_eq!(tcd, Tcd::flowchart(Trend::Rise, Span::from_ns(100_400), Bytes::new(1000)));
    let pfc = spec.switch.pfc.unwrap();
    assert_eq!(pfc.form, Form::Ideal);
    let (node, _) = spec.network.alias("P2").unwrap();
    assert_eq!(pfc.thresholds[node as usize][0], Threshold::standard(9_000_000));
}

#[test]
fn the_hpcc_profile_is_run_py_at_100_gbps() {
    let spec = small(&["profile=hpcc-ns3"]).unwrap_or_else(|error| panic!("{error}")).build();
    assert_eq!(
        spec.pairs[0].reaction,
        ReactionConfig::DcqcnHpcc(DcqcnHpccConfig::hpcc(Rate::from_gbps(100)))
    );
    assert_eq!(spec.pairs[0].notify, None, "marks come back in ACKs");
    let ack = spec.pairs[0].ack.unwrap();
    assert_eq!((ack.every, ack.size, ack.priority), (1, Bytes::new(60), None));
    let switch = spec.network.find("s").unwrap() as usize;
    assert_eq!(spec.switch.detectors[switch][0], Detector::Red(Red::hpcc(Rate::from_gbps(100))));
    // 4 ports of 37 500 B headroom and 4 KiB reserve
    let pool = (32 << 20) - 4 * (37_500 + 4096);
    let expected = Threshold::Dynamic { shift: 3, pool, reserve: 4096, headroom: 37_500, hysteresis: 3072 };
    assert_eq!(spec.switch.pfc.unwrap().thresholds[switch][0], expected);
}

#[test]
fn the_hpcc_thresholds_follow_the_rate_of_the_port() {
    let text = crate::common::SMALL.replace(
        "kind = \"star\"\nhosts = 4",
        "kind = \"leaf-spine\"\nleaves = 2\nspines = 2\nhosts-per-leaf = 2\nspine-rate = \"400Gbps\"",
    );
    let spec = validate(&text, &["profile=hpcc-ns3"]).unwrap_or_else(|error| panic!("{error}")).build();
    let thresholds = &spec.switch.pfc.unwrap().thresholds;
    for (node, ports) in (0..).zip(thresholds) {
        for (port, threshold) in spec.network.ports(node).iter().zip(ports) {
            let Threshold::Dynamic { shift, headroom, .. } = *threshold else { panic!() };
            let (wanted, head) = if port.rate == Rate::from_gbps(400) { (1, 150_000) } else { (3, 37_500) };
            assert_eq!((shift, headroom), (wanted, head));
            let index = spec.network.port_to(node, port.peer).unwrap();
            assert_eq!(
                spec.switch.detectors[node as usize][usize::from(index)],
                Detector::Red(Red::hpcc(port.rate))
            );
        }
    }
}

#[test]
fn at_every_rate_the_hpcc_profile_is_run_py_for_that_rate() {
    for gbps in [10, 25, 100, 400, 800] {
        let rate = format!("topology.rate={gbps}Gbps");
        let scenario = small(&["profile=hpcc-ns3", &rate]).unwrap_or_else(|error| panic!("{error}"));
        let notes = scenario.notes().to_vec();
        let spec = scenario.build();
        let line = Rate::from_gbps(gbps);
        assert_eq!(spec.pairs[0].reaction, ReactionConfig::DcqcnHpcc(DcqcnHpccConfig::hpcc(line)));
        let switch = spec.network.find("s").unwrap() as usize;
        assert_eq!(spec.switch.detectors[switch][0], Detector::Red(Red::hpcc(line)));
        // BUFFER_SIZE: 16 MiB for each 50 Gbps.
        assert_eq!(spec.switch.buffer.get(), gbps * (16 << 20) / 50);
        assert_eq!(notes.len(), usize::from(gbps != 100), "{notes:?}");
    }
}

#[test]
fn one_slow_management_host_does_not_change_what_follows_the_rate() {
    let rates = ["400Gbps", "400Gbps", "400Gbps", "1Gbps"];
    let links: Vec<String> = (0..)
        .zip(rates)
        .map(|(host, rate)| format!("{{ a = \"h{host}\", b = \"s\", rate = \"{rate}\", delay = \"1us\" }}"))
        .collect();
    let (_, traffic) = crate::common::SMALL.split_once("[[traffic]]").unwrap();
    let text = format!(
        "[topology]\nkind = \"edges\"\nhosts = [\"h0\", \"h1\", \"h2\", \"h3\"]\nswitches = [\"s\"]\nlinks = [{}]\n[[traffic]]{traffic}",
        links.join(", ")
    );
    let resolved =
        validate(&text, &["profile=hpcc-ns3"]).unwrap_or_else(|error| panic!("{error}")).resolved();
    // BUFFER_SIZE: 16 MiB for each 50 Gbps.
    assert_eq!(resolved["switch"]["buffer"], format!("{}B", 8 * (16 << 20)));
    assert_eq!(resolved["cc"]["dcqcn"]["rate-ai"], "80Mbps");
}

#[test]
fn what_is_given_does_not_follow_the_rate_and_is_said() {
    let set = ["profile=hpcc-ns3", "topology.rate=400Gbps", "switch.buffer=32MiB", "cc.dcqcn.rate-ai=20Mbps"];
    let notes = small(&set).unwrap().notes().said();
    assert!(
        notes.contains(
            "switch.detector.kmin = 1.6MB, switch.detector.kmax = 6.4MB, cc.dcqcn.rate-hai = 800Mbps"
        ),
        "{notes}"
    );
    assert!(
        notes.contains("switch.buffer = 33554432B (134217728B), cc.dcqcn.rate-ai = 20Mbps (80Mbps)"),
        "{notes}"
    );
    let other = ["profile=hpcc-ns3", "topology.rate=400Gbps", "line-rate.scale=false"];
    let scenario = small(&other).unwrap();
    assert_eq!(scenario.resolved()["cc"]["dcqcn"]["rate-ai"], "20Mbps");
    assert!(
        scenario
            .caveats()
            .iter()
            .any(|caveat| caveat.message.starts_with("most links have 400Gbps, and profile hpcc-ns3"))
    );
}

#[test]
fn every_mechanism_can_be_switched_off() {
    let spec = figure_2(&["cc.kind=none", "switch.flow-control=none", "switch.detector.kind=none"]);
    assert_eq!(spec.pairs[0].reaction, ReactionConfig::LineRate(()));
    assert!(spec.pairs[0].notify.is_none() && spec.switch.pfc.is_none());
    assert_eq!(p2(&spec), Detector::None);
}

#[test]
fn what_was_written_without_effect_is_a_caveat() {
    let scenario = small(&["switch.detector.kind=red", "switch.detector.tcd.epsilon=0.1"]).unwrap();
    assert_eq!(
        scenario.caveats().said(),
        "without effect with switch.detector.kind = \"red\": switch.detector.{tcd}"
    );
    assert!(small(&[]).unwrap().caveats().is_empty());
}

#[test]
fn ground_truth_without_the_pauses_is_a_caveat() {
    let caveats = |overrides: &[&str]| small(overrides).unwrap().caveats().said();
    assert!(caveats(&["probe.pauses=false"]).starts_with("probe.blame = true without probe.pauses"));
    assert_eq!(caveats(&["probe.pauses=false", "probe.blame=false"]), "");
}

/// Rates of the links for which profile roce is meant.
const ROCE_GBPS: [u64; 4] = [25, 100, 400, 800];

/// A star of 65 hosts of profile roce, whose links take 1 us.
fn roce(gbps: u64) -> Spec {
    let rate = format!("topology.rate={gbps}Gbps");
    let scenario =
        small(&["profile=roce", "topology.hosts=65", &rate]).unwrap_or_else(|error| panic!("{error}"));
    assert!(scenario.caveats().is_empty(), "{}", scenario.caveats().said());
    scenario.build()
}

fn thresholds(spec: &Spec) -> &[Threshold] {
    &spec.switch.pfc.as_ref().unwrap().thresholds[spec.network.find("s").unwrap() as usize]
}

#[test]
fn the_roce_profile_reserves_62_754_b_for_what_comes_after_a_pause_at_100_gbps() {
    // 2 · 12 500 B in flight, 2 packets of 4096 + 62 B, a PFC frame of 64 B, 394 pause quanta of 64 B; and the packet that
    // crosses.
    let headroom = 2 * 12_500 + 2 * 4158 + 64 + 394 * 64 + 4158;
    assert_eq!(headroom, 62_754);
    let spec = roce(100);
    // 32 MiB less the headroom and 4 KiB for each of 65 ports.
    let pool = (32 << 20) - 65 * (62_754 + 4096);
    let expected = Threshold::Dynamic { shift: 0, pool, reserve: 4096, headroom, hysteresis: 3072 };
    assert!(thresholds(&spec).iter().all(|&threshold| threshold == expected));
    assert_eq!(spec.switch.pfc.as_ref().unwrap().form, Form::Ideal);
}

#[test]
fn the_headroom_of_the_roce_profile_is_for_every_lossless_priority_in_use() {
    let two = crate::common::SMALL.to_owned()
        + "[[traffic]]\nname = \"two\"\nkind = \"flow\"\nfrom = \"h2\"\nto = \"h1\"\nsize = \"1MB\"\npriority = 4\n";
    let spec = validate(&two, &["profile=roce"]).unwrap_or_else(|error| panic!("{error}")).build();
    let Threshold::Dynamic { headroom, .. } = thresholds(&spec)[0] else { panic!() };
    assert_eq!(headroom, 2 * 62_754);
}

#[test]
fn the_roce_profile_follows_the_rate_of_the_links() {
    for gbps in ROCE_GBPS {
        let spec = roce(gbps);
        // run.py of the HPCC simulator: 100 and 400 KB, 5 and 50 Mbps for each 25 Gbps, 16 MiB for each 50 Gbps.
        let switch = spec.network.find("s").unwrap() as usize;
        let red = Red::new(Bytes::new(gbps * 4000), Bytes::new(gbps * 16_000), 0.2, Bytes::ZERO).unwrap();
        assert_eq!(spec.switch.detectors[switch][0], Detector::Red(red));
        assert_eq!(spec.switch.buffer.get(), gbps * (16 << 20) / 50);
        let ReactionConfig::DcqcnHpcc(dcqcn) = spec.pairs[0].reaction else { panic!() };
        let hpcc = DcqcnHpccConfig::hpcc(Rate::from_gbps(gbps));
        assert_eq!(dcqcn, DcqcnHpccConfig { min_rate: Rate::from_mbps(100), ..hpcc });
        assert_eq!(spec.packet.payload + spec.packet.header, Bytes::new(4158));
    }
}

#[test]
fn the_rule_of_the_rate_says_where_it_is_not_meant_for_the_links() {
    let said = |gbps: u64| {
        let valid = small(&["profile=roce", &format!("topology.rate={gbps}Gbps")]);
        let valid = valid.unwrap_or_else(|error| panic!("{error}"));
        valid.notes().iter().any(|note| note.message.contains("meant for 25Gbps to 800Gbps"))
    };
    assert_eq!([10, 25, 800, 1600].map(said), [true, false, false, true]);
}

#[test]
fn with_the_roce_profile_a_queue_is_marked_long_before_it_is_paused() {
    for gbps in ROCE_GBPS {
        let spec = roce(gbps);
        let Threshold::Dynamic { shift: 0, pool, .. } = thresholds(&spec)[0] else { panic!() };
        // n ingress ports with as much each are paused when that is what is free: at pool / (n + 1) each. Of one queue they are n
        // · that.
        for ports in [1, 2, 8, 64] {
            assert!(pool * ports / (ports + 1) > gbps * 16_000, "{gbps} Gbps, {ports} ports");
        }
    }
}

#[test]
fn under_credits_what_the_roce_profile_has_for_pfc_is_idle_without_a_word() {
    let at_once = "switch.credits.returned=at-once";
    let scenario = small(&["profile=roce", "switch.flow-control=credits", at_once]).unwrap();
    assert!(!scenario.caveats().said().contains("without effect"), "{}", scenario.caveats().said());
    let own =
        small(&["profile=roce", "switch.flow-control=credits", at_once, "switch.pfc.headroom=802.1qbb"])
            .unwrap();
    assert!(own.caveats().said().contains("switch.pfc.{headroom}"), "{}", own.caveats().said());
}

#[test]
fn a_headroom_is_a_rule_or_a_size() {
    let error = report(crate::common::SMALL, &["profile=roce", "switch.pfc.headroom=802.1qaz"]);
    says(&error, &["switch.pfc.headroom", "802.1qbb", "auto"]);
}
