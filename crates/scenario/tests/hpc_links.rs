//! The profiles of today's HPC networks: rates of InfiniBand's lanes, buffers that hold line rate over usual cables, the latency of switches.

use crate::common::{report, says, validate};
use backwater_control::detector::{Detector, Fecn};
use backwater_control::reaction::{IbCcConfig, ReactionConfig};
use backwater_fabric::{Balancing, Queueing, Switching};
use backwater_units::{Bytes, Rate, Span};

/// A fat tree of 32 hosts at 4 leaves with full bisection.
fn tree(profile: &str, gbps: u64, delay: &str) -> String {
    format!(
        r#"profile = "{profile}"
[run]
until = "1ms"
[topology]
kind = "xgft"
m = [8, 4]
w = [1, 8]
rate = "{gbps}Gbps"
delay = "{delay}"
[[traffic]]
name = "all"
kind = "permutation"
size = "1MB"
"#
    )
}

/// Four lanes each (InfiniBand: EDR 25, HDR 50, NDR 100, XDR 200 Gbps of data; Slingshot: 50 Gbps).
const PROFILES: [(&str, u64, u64); 5] = [
    ("edr", 4 * 25, 90),
    ("hdr", 4 * 50, 130),
    ("ndr", 4 * 100, 130),
    ("xdr", 4 * 200, 130),
    ("slingshot-like", 4 * 50, 350),
];

#[test]
fn a_fat_tree_of_32_hosts_at_the_profiles_rate_has_no_caveat_with_cables_of_1_to_100_m() {
    for (profile, gbps, _) in PROFILES {
        for delay in ["5ns", "150ns", "500ns"] {
            let scenario =
                validate(&tree(profile, gbps, delay), &[]).unwrap_or_else(|error| panic!("{error}"));
            assert!(scenario.caveats().is_empty(), "{profile} {delay}: {:?}", scenario.caveats());
            assert_eq!(scenario.settings().line_rate.meant_for.0, Rate::from_gbps(gbps));
        }
    }
}

#[test]
fn a_path_has_the_latency_of_a_switch_once_for_each_switch_on_it() {
    for (profile, gbps, latency) in PROFILES {
        let spec =
            validate(&tree(profile, gbps, "50ns"), &[]).unwrap_or_else(|error| panic!("{error}")).build();
        for (to, links, switches) in [(1, 2, 1), (31, 4, 3)] {
            let path = spec.routes.path(&spec.network, 0, to, |_| 0);
            assert_eq!(path.len(), links);
            let cables = Span::from_ns(50 * links as u64);
            let one_way = spec.network.one_way(&path, Bytes::ZERO);
            assert_eq!(one_way, cables + Span::from_ns(latency * switches), "{profile}");
        }
    }
}

#[test]
fn infiniband_has_credits_adaptive_routing_from_hdr_on_and_congestion_control_when_it_is_turned_on() {
    for (profile, gbps, _) in &PROFILES[..4] {
        let spec =
            validate(&tree(profile, *gbps, "50ns"), &[]).unwrap_or_else(|error| panic!("{error}")).build();
        // 8 B LRH, 12 B BTH, 4 B ICRC, 2 B VCRC
        assert_eq!((spec.packet.payload, spec.packet.header), (Bytes::new(4096), Bytes::new(26)));
        assert_eq!(spec.switch.queueing, Queueing::VirtualOutput);
        assert!(matches!(spec.switch.switching, Switching::CutThrough { .. }));
        let credits = spec.switch.credits.as_ref().unwrap();
        assert_eq!(credits.unit.within(credits.buffer), 2048, "half of what 12 bits tell apart");
        let adaptive = spec.switch.balancing == Balancing::Adaptive;
        assert_eq!(adaptive, *profile != "edr");
        let switch = spec.network.hosts().len();
        // As subnet managers leave it.
        assert_eq!(spec.switch.detectors[switch][0], Detector::None);
        assert_eq!(spec.pairs[0].reaction, ReactionConfig::LineRate(()));
        let on = ["switch.detector.kind=fecn", "cc.kind=ib-cc"];
        let spec =
            validate(&tree(profile, *gbps, "50ns"), &on).unwrap_or_else(|error| panic!("{error}")).build();
        assert_eq!(spec.switch.detectors[switch][0], Detector::Fecn(Fecn::standard()));
        assert_eq!(spec.pairs[0].reaction, ReactionConfig::IbCc(IbCcConfig::standard()));
    }
}

#[test]
fn a_cable_too_long_for_the_credits_is_told() {
    let scenario = validate(&tree("hdr", 800, "50ns"), &[]).unwrap_or_else(|error| panic!("{error}"));
    let told: Vec<&str> = scenario.caveats().iter().map(|caveat| caveat.message.as_str()).collect();
    // 800 is 4 x 200 Gbps: no value in use is meant for a rate, and 128 KiB last 1.3 us.
    assert!(told.is_empty(), "{told:?}");
    // 1 km: 2 x 5 us x 100 B/ns = 1 MB are under way.
    let scenario = validate(&tree("hdr", 800, "5us"), &[]).unwrap_or_else(|error| panic!("{error}"));
    let told: Vec<&str> = scenario.caveats().iter().map(|caveat| caveat.message.as_str()).collect();
    assert!(told.iter().any(|told| told.contains("cannot reach its 800Gbps")), "{told:?}");
}

#[test]
fn where_routes_leave_no_choice_a_profile_spreads_nothing_and_a_user_is_told() {
    let text = tree("hdr", 200, "50ns");
    let static_routes = ["topology.routing=d-mod-k"];
    let spec = validate(&text, &static_routes).unwrap_or_else(|error| panic!("{error}")).build();
    assert_eq!(spec.switch.balancing, Balancing::Ecmp);
    let written = [static_routes[0], "switch.load-balancing=adaptive"];
    says(&report(&text, &written), &["adaptive", "d-mod-k", "has one for each destination"]);
    let star = text.replace("kind = \"xgft\"\nm = [8, 4]\nw = [1, 8]", "kind = \"star\"\nhosts = 4");
    let scenario = validate(&star, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(scenario.caveats().is_empty(), "{:?}", scenario.caveats());
}

#[test]
fn a_dragonfly_spreads_over_its_shortest_ways() {
    let text = tree("slingshot-like", 200, "50ns").replace(
        "kind = \"xgft\"\nm = [8, 4]\nw = [1, 8]",
        "kind = \"dragonfly\"\na = 4\np = 2\nh = 2\nglobal-delay = \"500ns\"",
    );
    let scenario = validate(&text, &[]).unwrap_or_else(|error| panic!("{error}"));
    assert!(scenario.caveats().is_empty(), "{:?}", scenario.caveats());
    assert_eq!(scenario.build().switch.balancing, Balancing::Adaptive);
}
