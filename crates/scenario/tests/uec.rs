//! Flows of Ultra Ethernet in scenarios: what follows from the network, and what does not fit.
use crate::common::{report, says, valid};
use backwater_control::uec::{SpreadConfig, SpreadKind};
use backwater_fabric::UecSpec;
use backwater_units::{Bytes, Span};

/// The default tree of the Consortium's simulator with 16 hosts: links of 100 Gbps and 1 µs, packets of 4150 B with headers of 64 B.
const TREE: &str = r#"
[topology]
kind = "fat-tree"
k = 4
rate = "100Gbps"
delay = "1us"
[packet]
payload = "4086B"
header = "64B"
[host]
transport = "uec"
[cc]
kind = "nscc"
[switch]
flow-control = "none"
overflow = "drop"
[[traffic]]
name = "one"
kind = "incast"
from = ["h0"]
to = "h13"
size = "2MB"
"#;

fn kind(overrides: &[&str]) -> UecSpec {
    let spec = valid(TREE, overrides).build();
    assert_eq!(spec.uec_of, [Some(0)]);
    spec.uecs[0]
}

#[test]
fn windows_and_timers_follow_from_the_longest_round_trip() {
    // Six links: 12 µs, 6 · 0.332 µs and 6 · 5.12 ns. 1.5 · 175 284 B; 15 µs and six queues of 43 packets.
    let spec = kind(&[]);
    assert_eq!((spec.base, spec.rto), (Span::from_ps(14_022_720), Span::from_ns(100_656)));
    let window = spec.window.expect("NSCC");
    assert_eq!((window.first, window.nscc.expect("it changes").network), (262_926, 14_022_720));
    assert_eq!((spec.credits, spec.pair, spec.ack_bytes, spec.frame), (None, None, 16_384, Bytes::new(64)));
    assert_eq!(spec.spread, SpreadConfig { kind: SpreadKind::Mixed, entropies: 64 });
    assert_eq!(kind(&["uec.window=100KB", "uec.rto=1ms"]).window.expect("NSCC").first, 100_000);
}

#[test]
fn who_rules_is_said_by_the_kind() {
    let rules = |word: &str| {
        let spec = kind(&[&format!("cc.kind={word}")]);
        (spec.window.map(|window| window.nscc.is_some()), spec.credits.is_some())
    };
    assert_eq!(rules("none"), (Some(false), false));
    assert_eq!(rules("nscc"), (Some(true), false));
    assert_eq!(rules("rccc"), (None, true));
    assert_eq!(rules("nscc+rccc"), (Some(true), true));
    let credits = kind(&["cc.kind=rccc"]).credits.expect("RCCC");
    assert_eq!((credits.config.quantum, credits.config.grant, credits.config.most), (256, 64, 262_926));
    assert_eq!(credits.oversubscribed, None, "a fat tree is not");
    assert_eq!(
        kind(&["cc.kind=rccc", "cc.rccc.oversubscribed=on"]).credits.expect("RCCC").oversubscribed,
        Some(1.0)
    );
    assert_eq!(kind(&["uec.base-rtt=pair"]).pair, Some(Span::from_us(12)));
}

#[test]
fn what_does_not_fit_is_refused() {
    let refused: [(&[&str], &[&str]); 14] = [
        (&["cc.kind=dcqcn"], &["cc.kind = \"dcqcn\" rules queue pairs", "\"nscc\", \"rccc\""]),
        (
            &["host.transport=roce", "transport.reliability=go-back-n"],
            &["cc.kind = \"nscc\" rules flows of transport = \"uec\""],
        ),
        (&["uec.entropies=100"], &["uec.entropies = 100 is no power of two", "write 128"]),
        (&["uec.range=100"], &["uec.range = 100 is no power of two"]),
        (&["uec.window=1KB"], &["uec.window = 1KB is less than a packet, 4150B"]),
        (&["host.drain=10Gbps"], &["takes in what comes at once"]),
        (&["packet.padded=true"], &["counts the bytes of a last packet as they are"]),
        (&["traffic.one.reliability=go-back-n"], &["sends again what is lost by itself"]),
        (&["cc.nscc.gamma=0"], &["gamma"]),
        (&["uec.ack-bytes=9MB"], &["ack-bytes", "8MB"]),
        (&["traffic.one.control=line-rate"], &["control", "sent by window or by credit"]),
        (&["host.nic.post-delay=1us"], &["does not read host.nic.post-delay"]),
        (&["host.nic.message-gap=1us"], &["does not read host.nic.message-gap"]),
        // 1.5 times 1.2 ms at 100 Gbps, in quanta of 1 B.
        (
            &["cc.kind=rccc", "cc.rccc.quantum=1B", "topology.delay=100us"],
            &["cc.rccc.quantum = 1B is too small", "pulls count up to 524288 ahead"],
        ),
    ];
    for (overrides, words) in refused {
        says(&report(TREE, overrides), words);
    }
}

#[test]
fn what_nothing_reads_is_said() {
    let said = |overrides: &[&str]| {
        let caveats = valid(TREE, overrides).caveats().to_vec();
        caveats
            .iter()
            .map(|caveat| caveat.message.clone())
            .filter(|it| it.contains("uec.{"))
            .collect::<Vec<_>>()
    };
    assert!(said(&["switch.load-balancing=ecmp"]).is_empty(), "these are values of the profile");
    let keys = ["uec.entropies=128", "uec.spread=reps"];
    assert!(said(&[&["switch.load-balancing=entropy"], &keys[..]].concat()).is_empty());
    let one = said(&[&["switch.load-balancing=ecmp"], &keys[..]].concat());
    assert!(
        one.len() == 1 && one[0].contains("ecmp") && one[0].contains("uec.{entropies, spread}"),
        "{one:?}"
    );
    let one = said(&["cc.kind=rccc", "uec.window=100KB"]);
    assert!(one.len() == 1 && one[0].contains("uec.{window}"), "{one:?}");
    let one = said(&["cc.kind=none", "uec.base-rtt=pair"]);
    assert!(one.len() == 1 && one[0].contains("uec.{base-rtt}"), "{one:?}");
    let roce = ["host.transport=roce", "transport.reliability=go-back-n", "cc.kind=none", "uec.range=64"];
    let one = said(&roce);
    assert!(one.len() == 1 && one[0].contains("traffic without flows of UEC: uec.{range}"), "{one:?}");
}
