//! What the ground truth calls a long queue: what arithmetic says of the network, whatever detector is there, and never a length that
//! no queue can have.

use crate::common::{Said, paper, valid};
use backwater_scenario::ValidScenario;
use backwater_units::Rate;

const KIB: u64 = 1024;

/// The thresholds K of the ports of switch `name`, each once, and what the results say.
fn long_at(name: &str, scenario: ValidScenario) -> (Vec<u64>, String) {
    let said = scenario.caveats().said();
    let spec = scenario.build();
    let switch = spec.network.find(name).unwrap() as usize;
    let mut all: Vec<u64> = spec.probe.blame.unwrap()[switch].iter().map(|own| own.get()).collect();
    all.sort_unstable();
    all.dedup();
    (all, said)
}

/// Those of the only switch of a star, whose ports have one rate.
fn long(text: &str, overrides: &[&str]) -> (u64, String) {
    let (all, said) = long_at("s", valid(text, overrides));
    assert_eq!(all.len(), 1, "{all:?}");
    (all[0], said)
}

fn star(profile: &str, hosts: u32, rate: &str, delay: &str) -> String {
    format!(
        "profile = \"{profile}\"\n[topology]\nkind = \"star\"\nhosts = {hosts}\nrate = \"{rate}\"\ndelay = \"{delay}\"\n\
         [[traffic]]\nname = \"one\"\nkind = \"flow\"\nfrom = \"h0\"\nto = \"h1\"\nsize = \"1MB\"\n"
    )
}

/// Bytes that links of one rate carry in the base round trip of a packet and its ACK of 64 B over so many links.
fn lasting(links: u64, gbps: u64, delay_ps: u64, packet: u64, ports: u64) -> u64 {
    let rate = Rate::from_gbps(gbps);
    let bytes = |bytes| rate.serialize(backwater_units::Bytes::new(bytes)).as_ps();
    let trip = links * (2 * delay_ps + bytes(packet) + bytes(64));
    trip * gbps / 8_000 + ports * packet
}

#[test]
fn a_queue_is_long_that_lasts_for_a_round_trip() {
    // 2 links · (2 us + 80 ns + 5.12 ns) at 100 Gbps are 52.128 KB; and a packet of 1000 B from each of 4 ports.
    let text = star("ideal", 4, "100Gbps", "1us");
    assert_eq!(lasting(2, 100, 1_000_000, 1000, 4), 56_128);
    assert_eq!(long(&text, &[]), (56_128, String::new()));
    // A port at 40 Gbps sends less in that time.
    let mixed = "profile = \"ideal\"\n[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts-per-leaf = 2\n\
                 rate = \"40Gbps\"\nspine-rate = \"100Gbps\"\ndelay = \"1us\"\n\
                 [[traffic]]\nname = \"one\"\nkind = \"flow\"\nfrom = \"h0\"\nto = \"h3\"\nsize = \"1MB\"\n";
    // Two links at 40 Gbps (2 us + 200 + 12.8 ns), two at 100 (2 us + 80 + 5.12 ns): 8 595 840 ps; 3 ports.
    let trip = 2 * (2_000_000 + 200_000 + 12_800) + 2 * (2_000_000 + 80_000 + 5_120);
    assert_eq!(long_at("leaf0", valid(mixed, &[])).0, [trip * 40 / 8000 + 3000, trip * 100 / 8000 + 3000]);
}

#[test]
fn no_detector_and_no_reaction_has_a_part_in_it() {
    let text = star("ideal", 4, "100Gbps", "1us");
    for change in [
        "switch.detector.kind=tcd",
        "switch.detector.kind=none",
        "switch.detector.kind=np-ecn",
        "switch.detector.kmax=20KB",
        "switch.detector.kmax=300KB",
        "cc.kind=dctcp",
        "cc.kind=timely",
        "run.seed=7",
    ] {
        assert_eq!(long(&text, &[change]).0, 56_128, "{change}");
    }
    let text = star("infiniband", 4, "32Gbps", "1us");
    let known = long(&text, &[]).0;
    assert_eq!(known, lasting(2, 32, 1_000_000, 2048, 4));
    for change in
        ["switch.detector.kind=fecn", "switch.detector.fecn.threshold=30KB", "switch.detector.kmin=10KB"]
    {
        assert_eq!(long(&text, &["switch.detector.kind=fecn", change]).0, known, "{change}");
    }
}

#[test]
fn at_most_half_of_what_may_wait_of_one_link_is_long() {
    // 100 us of cable would be 5 MB.
    let half = |profile: &str, overrides: &[&str]| long(&star(profile, 4, "100Gbps", "100us"), overrides).0;
    let big = "switch.buffer=36MB";
    // PFC: half of Xoff, of a priority or, if that is less, of the port.
    assert_eq!(half("ideal", &[big]), 160_000);
    assert_eq!(half("ideal", &[big, "switch.pfc.port-xoff=100KB", "switch.pfc.port-xon=90KB"]), 50_000);
    // Dynamic thresholds: 4 ports hold T = (pool - 4·T) / 8 each, a twelfth of it; the pool is what 4 reserves and headrooms leave.
    let headroom = ["switch.pfc.headroom=4MB", "switch.buffer=32MiB"];
    let pool = 32 * KIB * KIB - 4 * 4_000_000 - 4 * 4 * KIB;
    assert_eq!(half("hpcc-ns3", &headroom), u64::midpoint(4 * KIB, pool / 12));
    // A lossy port, and a memory that is too small for all of them.
    let lossy = ["traffic.one.transport=put"];
    assert_eq!(half("endpoint", &lossy), 512_000);
    assert_eq!(half("endpoint", &[lossy[0], "switch.buffer=800KB"]), 100_000);
}

#[test]
fn lanes_share_the_buffer_of_a_link_under_credits_and_so_what_is_long() {
    let text = star("hpc", 4, "100Gbps", "1us");
    // Half of 64 KiB, as the round trip would be 52 KB.
    assert_eq!(long(&text, &[]).0, 32 * KIB);
    let two = format!(
        "{text}[[traffic]]\nname = \"two\"\nkind = \"flow\"\nfrom = \"h2\"\nto = \"h1\"\nsize = \"1MB\"\npriority = 5\n"
    );
    assert_eq!(long(&two, &["switch.credits.buffer=128KiB"]).0, 32 * KIB);
    assert_eq!(long(&text, &["switch.credits.buffer=1MB"]).0, lasting(2, 100, 1_000_000, 2080, 4));
}

#[test]
fn a_class_of_an_egress_region_can_exceed_it_with_and_without_isolation() {
    let at = |overrides: &[&str]| {
        let (all, said) = long_at("s", paper(overrides));
        assert_eq!((all.len(), said), (1, String::new()));
        all[0]
    };
    // 2 links of 25 ns: a packet of 4 KiB from each of 4 ports is more than the round trip.
    let short = lasting(2, 100, 25_000, 4 * KIB, 4);
    let far = ["topology.delay=10us", "switch.combined.ingress=2MiB"];
    for kind in ["none", "ci", "ici"] {
        let kind = format!("switch.isolation.kind={kind}");
        assert_eq!(at(&[&kind]), short, "{kind}");
    }
    // The CFQ has 28/64 of 256 KiB: half of it, isolation or not.
    let half = |kind: &str| {
        let kind = format!("switch.isolation.kind={kind}");
        let overrides: Vec<&str> = far.iter().copied().chain([kind.as_str()]).collect();
        long_at("s", paper(&overrides)).0
    };
    assert_eq!((half("ci"), half("ici")), (vec![56 * KIB], vec![56 * KIB]));
    assert_eq!(half("none"), [56 * KIB]);
    // Data on 3, ACKs on 4: 128 KiB each, more than the round trip.
    assert_eq!(at(&["ack.every=1", "ack.priority=4"]), short);
}

#[test]
fn one_key_overrides_it_for_all_ports() {
    let text = star("ideal", 4, "100Gbps", "1us");
    assert_eq!(long(&text, &["probe.blame-threshold=200KB"]), (200_000, String::new()));
    let facts = serde_json::to_value(valid(&text, &[]).long_queues()).unwrap();
    assert_eq!(facts["round_trip_ps"], 2 * (2_000_000 + 80_000 + 5_120));
    assert_eq!(facts["thresholds"][0]["from"], "round-trip");
    assert_eq!(
        (&facts["thresholds"][0]["threshold_bytes"], &facts["thresholds"][0]["ports"]),
        (&56_128.into(), &4.into())
    );
    let given = serde_json::to_value(valid(&text, &["probe.blame-threshold=200KB"]).long_queues()).unwrap();
    assert_eq!(given["thresholds"][0]["from"], "given");
    assert!(valid(&text, &["probe.blame=false"]).long_queues().is_none());
}

#[test]
fn a_threshold_that_no_queue_can_exceed_is_a_caveat() {
    let text = star("hpc", 4, "100Gbps", "1us");
    let (given, said) = long(&text, &["probe.blame-threshold=160KiB"]);
    assert_eq!(given, 160 * KIB);
    assert!(
        said.contains(
            "probe.blame-threshold = 163.84KB is more than can wait for s->h0 from one link, 65.536KB"
        ),
        "{said}"
    );
    // Two packets of 2080 B: K would be one of them, and a queue of two leaves no more than one behind.
    let (_, said) = long(&text, &["switch.credits.buffer=4160B"]);
    assert!(said.contains("the ground truth has no sound threshold for s->h0"), "{said}");
}
