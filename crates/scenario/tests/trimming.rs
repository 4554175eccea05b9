//! Queues whose packets are trimmed: how long they are, and what they do not go with.
use crate::common::{Said, report, says, valid};
use backwater_control::detector::Detector;
use backwater_control::flow_control::{Trimming, Victim};
use backwater_fabric::Overflow;
use backwater_units::{Bytes, Rate};

/// Packets and links of the Consortium's published rows; queue pairs that send again what is lost.
const ROWS: &str = r#"profile = "roce"
[packet]
payload = "4086B"
header = "64B"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 2
hosts-per-leaf = 2
rate = "400Gbps"
delay = "1us"
[switch]
overflow = "trim"
flow-control = "none"
detector = { kind = "red", kmin = "103750B", kmax = "311250B", pmax = 1.0, by-rate = [] }
[transport]
reliability = "go-back-n"
[[traffic]]
name = "across"
kind = "flow"
from = "h0"
to = "h3"
size = "1MB"
"#;

fn trimming(overrides: &[&str]) -> Trimming {
    let Overflow::Trim(trimming) = valid(ROWS, overrides).build().switch.overflow else { panic!("it trims") };
    trimming
}

#[test]
fn a_queue_holds_what_is_under_way_on_the_longest_round_trip() {
    // Ways of four links of 1 us: 8 us, 4 · 83 ns and 4 · 1.28 ns, in which 416 856 B leave: 101 packets of 4150 B.
    let line = Some(Rate::from_gbps(400));
    let expected = Trimming {
        queue: Bytes::new(101 * 4_150),
        headers: Bytes::new(2 * 101 * 4_150),
        size: 64,
        victim: Victim::Coin,
        rate: line,
    };
    assert_eq!(trimming(&[]), expected);
    // At 100 Gbps 116 856 B leave in 9.34848 us: 29 packets. A slow link between switches changes nothing of that.
    let queue = |overrides: &[&str]| trimming(overrides).queue.get();
    assert_eq!(queue(&["topology.rate=100Gbps"]), 29 * 4_150);
    assert_eq!(queue(&["topology.spine-rate=100Gbps"]), 101 * 4_150);
    assert_eq!(queue(&["switch.trimming.bdps=5"]), 505 * 4_150);
    let given = trimming(&[
        "switch.trimming.queue=415KB",
        "switch.trimming.headers=1",
        "switch.trimming.victim=arriving",
    ]);
    assert_eq!((given.queue.get(), given.headers.get(), given.victim), (415_000, 415_000, Victim::Arriving));
    assert_eq!(trimming(&["switch.trimming.by-rate=false"]).rate, None);
}

#[test]
fn marks_of_slow_links_begin_in_proportion_to_their_rate() {
    let ramps = |overrides: &[&str]| {
        let spec = valid(ROWS, overrides).build();
        let mut ramps: Vec<(u64, u64, u64)> = Vec::new();
        for (node, detectors) in (0..).zip(&spec.switch.detectors) {
            for (port, detector) in spec.network.ports(node).iter().zip(detectors) {
                let Detector::Red(red) = detector else { panic!("red") };
                ramps.push((port.rate.as_bps() / 1_000_000_000, red.kmin().get(), red.kmax().get()));
            }
        }
        ramps.sort_unstable();
        ramps.dedup();
        ramps
    };
    let slow = "topology.spine-rate=100Gbps";
    // 25 and 75 packets of 4150 B, and a quarter of them.
    assert_eq!(ramps(&[slow]), [(100, 25_937, 77_812), (400, 103_750, 311_250)]);
    let same = [(100, 103_750, 311_250), (400, 103_750, 311_250)];
    assert_eq!(ramps(&[slow, "switch.trimming.by-rate=false"]), same);
    assert_eq!(ramps(&[slow, "switch.overflow=drop"]), same);
}

#[test]
fn ports_to_hosts_mark_nothing_where_the_last_hop_is_off() {
    // Of each of the two leaves two ports lead to spines and two to hosts; each spine has two to leaves.
    let marking = |overrides: &[&str]| {
        let spec = valid(ROWS, overrides).build();
        let hosts = spec.network.hosts().len() as u32;
        let of = |to_hosts: bool| {
            let ports = (0..)
                .zip(&spec.switch.detectors)
                .flat_map(|(node, detectors)| spec.network.ports(node).iter().zip(detectors));
            ports
                .filter(|(port, detector)| (port.peer < hosts) == to_hosts && **detector != Detector::None)
                .count()
        };
        (of(true), of(false))
    };
    assert_eq!(marking(&[]), (4, 8));
    for kind in ["red", "np-ecn", "tcd"] {
        let kind = format!("switch.detector.kind={kind}");
        assert_eq!(marking(&["switch.detector.last-hop=false", &kind]), (0, 8), "{kind}");
    }
    // Of one switch all ports lead to hosts. FECN looks at arrivals at all inputs, and does not know the key.
    let star =
        ["topology={kind=\"star\",hosts=4,rate=\"400Gbps\",delay=\"1us\"}", "switch.detector.last-hop=false"];
    says(&valid(ROWS, &star).caveats().said(), &["all ports of switches lead to hosts", "nothing is marked"]);
    let fecn = ["switch.detector.kind=fecn", "switch.detector.last-hop=false"];
    says(&valid(ROWS, &fecn).caveats().said(), &["switch.detector.kind = \"fecn\"", ", last-hop}"]);
    assert_eq!(marking(&fecn), (4, 8));
}

#[test]
fn what_does_not_go_with_trimming_is_refused() {
    let refused: [(&[&str], &[&str]); 9] = [
        (
            &["switch.flow-control=pfc"],
            &["for priorities that PFC does not hold back", "all traffic is in switch.pfc.priorities"],
        ),
        (
            &["switch.flow-control=credits"],
            &["switch.overflow = \"trim\" does not work with switch.flow-control = \"credits\""],
        ),
        (
            &["switch.queueing=voq"],
            &["switch.overflow = \"trim\" does not work with switch.queueing = \"voq\""],
        ),
        (&["switch.switching=cut-through"], &["cuts whole packets", "the first bytes have left by then"]),
        (&["switch.arbiter=deficit"], &["take turns packet by packet", "switch.arbiter = \"deficit\""]),
        (&["switch.trimming.size=4150B"], &["leaves all of a packet, which has 4.15KB on the wire"]),
        (
            &["switch.trimming.queue=4149B", "switch.detector.kind=none"],
            &["holds no packet", "all would be trimmed"],
        ),
        (
            &["switch.trimming.queue=8KB", "topology.spine-rate=100Gbps", "switch.detector.kind=none"],
            &["holds no packet at a port of 100Gbps"],
        ),
        (
            &["switch.trimming.queue=103750B"],
            &["switch.detector.kmin = 103.75KB is no less than the queue, 103.75KB", "none is marked"],
        ),
    ];
    for (overrides, words) in refused {
        says(&report(ROWS, overrides), words);
    }
    says(&report(ROWS, &["transport.reliability=none"]), &["send nothing twice, and switches drop packets"]);
}

#[test]
fn ultra_ethernet_under_pfc_is_refused_where_its_packets_should_be_trimmed() {
    let other = "\n[[traffic]]\nname = \"queue-pair\"\nkind = \"flow\"\nfrom = \"h1\"\nto = \"h2\"\nsize = \"1MB\"\npriority = 1\n";
    let text = format!("{ROWS}transport = \"uec\"\npriority = 5\n{other}");
    let lossless = ["switch.flow-control=pfc", "switch.pfc.priorities=[5]"];
    says(
        &report(&text, &lossless),
        &["traffic.across: its priority is in switch.pfc.priorities", "should be trimmed"],
    );
}

#[test]
fn trimming_beside_a_priority_under_pfc_is_for_the_others() {
    let beside = ["switch.flow-control=pfc", "switch.pfc.priorities=[5]"];
    assert!(matches!(valid(ROWS, &beside).build().switch.overflow, Overflow::Trim(_)));
}

#[test]
fn what_has_no_effect_is_said() {
    let caveats = |overrides: &[&str]| valid(ROWS, overrides).caveats().said();
    says(&caveats(&[]), &["no traffic knows trimmed packets", "are dropped"]);
    says(
        &caveats(&["switch.trimming.queue=300KB"]),
        &["switch.detector.kmax = 311.25KB is more than the queue, 300KB"],
    );
    let idle = "without effect with switch.overflow = \"drop\": switch.trimming.{size}";
    says(&caveats(&["switch.overflow=drop", "switch.trimming.size=80B"]), &[idle]);
    says(&caveats(&["switch.trimming.queue=415KB", "switch.trimming.bdps=2"]), &["switch.trimming.{bdps}"]);
}
