//! Servers with a NIC in each of two planes: what a NIC whose link fails has to send leaves by the other one.
use backwater_fabric::record::FaultEvent;
use scene::try_run;

use crate::{KINDS, events, read, spec};

/// Nodes: hosts h0 to h3, switches a and b. Port 0 of a host is at a, port 1 at b; nothing joins the planes.
const PLANES: &str = r#"
profile = "ideal"
run = { until = "2ms" }
fault-handling = { detect = "20us", converge = "30us" }
transport = { reliability = "selective-repeat" }
[topology]
kind = "edges"
hosts = ["h0", "h1", "h2", "h3"]
switches = ["a", "b"]
links = [
  { a = "h0", b = "a", rate = "100Gbps", delay = "1us" }, { a = "h0", b = "b", rate = "100Gbps", delay = "1us" },
  { a = "h1", b = "a", rate = "100Gbps", delay = "1us" }, { a = "h1", b = "b", rate = "100Gbps", delay = "1us" },
  { a = "h2", b = "a", rate = "100Gbps", delay = "1us" }, { a = "h2", b = "b", rate = "100Gbps", delay = "1us" },
  { a = "h3", b = "a", rate = "100Gbps", delay = "1us" }, { a = "h3", b = "b", rate = "100Gbps", delay = "1us" },
]
[switch]
flow-control = "none"
overflow = "drop"
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "2MB"
[[traffic]]
name = "y"
kind = "flow"
from = "h0"
to = "h2"
size = "2MB"
[[traffic]]
name = "z"
kind = "flow"
from = "h0"
to = "h3"
size = "2MB"
[[traffic]]
name = "w"
kind = "flow"
from = "h3"
to = "h0"
size = "2MB"
"#;

fn down(host: &str, plane: &str, rest: &str) -> String {
    format!("[[fault]]\nkind = \"link-down\"\nlink = [\"{host}\", \"{plane}\"]\nat = \"50us\"\n{rest}\n")
}

/// The bytes that each port of h0 has sent, and who was rerouted when: the same on all engines. Everything arrives.
fn same(more: &str) -> ([u64; 2], Vec<(u64, u32)>) {
    same_by("hash", more)
}

/// The same by another rule for ports.
fn same_by(rule: &str, more: &str) -> ([u64; 2], Vec<(u64, u32)>) {
    let text = format!("host = {{ nic = {{ port = \"{rule}\" }} }}\n{PLANES}");
    let runs = KINDS.map(|kind| {
        let outcome =
            try_run(spec(&text, more), kind, None).unwrap_or_else(|violation| panic!("{violation}"));
        assert!(outcome.flows.iter().all(|flow| flow.received.get() == 2_000_000));
        let sent = [0, 1].map(|port| outcome.port((0, port), 3).bytes.get());
        let rerouted = events(&outcome, FaultEvent::Rerouted);
        (outcome.totals.digest, sent, rerouted, format!("{:?} {:?}", outcome.flows, outcome.records.drops))
    });
    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]));
    (runs[0].1, runs[0].2.clone())
}

#[test]
fn both_planes_are_used_and_what_fails_in_one_leaves_by_the_other() {
    // Of three flows of 2 MB at least one leaves by each port, and by one of them the answers to another.
    let ([a, b], _) = same("");
    assert!(a.min(b) >= 2_000_000 && a.max(b) > 4_000_000, "{a} {b}");
    // Down for good: what was on its way when the link failed is sent again.
    for plane in ["a", "b"] {
        let (sent, _) = same(&down("h0", plane, ""));
        let [dead, alive] = if plane == "a" { sent } else { [sent[1], sent[0]] };
        // 50 us at 100 Gbps are 625 KB; answers to flow w may be among them.
        assert!((500_000..=640_000).contains(&dead), "{dead}");
        assert!(alive > 5_400_000, "{alive}");
    }
}

#[test]
fn a_nic_whose_link_is_up_again_sends_again() {
    let ([a, b], _) = same(&down("h0", "a", "for = \"40us\""));
    assert!(a > 800_000 && b > 2_000_000, "{a} {b}");
}

#[test]
fn senders_leave_a_plane_in_which_their_destination_is_down_when_routes_have_converged() {
    // Nothing joins the planes: until 100 us what goes to h1 by a is lost, and from then on it leaves by b.
    for plane in ["a", "b"] {
        let (_, rerouted) = same(&down("h1", plane, ""));
        let hosts: Vec<u32> = rerouted.iter().filter(|(_, node)| *node < 4).map(|(_, node)| *node).collect();
        assert_eq!(hosts, [0, 1, 2, 3]);
        assert!(rerouted.iter().all(|(time, _)| *time == 100_000_000));
    }
}

#[test]
fn sprayed_flows_leave_out_a_port_whose_link_is_down() {
    let ([a, b], _) = same_by("spray", "");
    assert!(a.abs_diff(b) < 100_000, "{a} {b}");
    let ([dead, alive], _) = same_by("spray", &down("h0", "a", ""));
    assert!((500_000..=640_000).contains(&dead), "{dead}");
    assert!(alive > 5_400_000, "{alive}");
    // It takes part again after 40 us, and before the others have sent all: at 100 Gbps that is 480 us for half of it.
    let ([back, _], _) = same_by("spray", &down("h0", "a", "for = \"40us\""));
    assert!(back > 2_000_000, "{back}");
    // A port that does not reach one destination any more still takes what goes to the others.
    let ([some, all], _) = same_by("spray", &down("h1", "a", ""));
    assert!(some > 1_000_000 && all > 2_000_000, "{some} {all}");
}

#[test]
fn put_streams_leave_a_port_whose_link_is_down_and_lose_nothing() {
    let puts = PLANES.replace("size = \"2MB\"", "size = \"2MB\"\ntransport = \"put\"");
    let sent = |more: &str| {
        let runs = KINDS.map(|kind| {
            let outcome =
                try_run(spec(&puts, more), kind, None).unwrap_or_else(|violation| panic!("{violation}"));
            assert!(outcome.flows.iter().all(|flow| flow.received.get() == 2_000_000));
            let sent = [0, 1].map(|port| outcome.port((0, port), 3).bytes.get());
            (outcome.totals.digest, sent, format!("{:?} {:?}", outcome.flows, outcome.records.drops))
        });
        assert!(runs.windows(2).all(|pair| pair[0] == pair[1]));
        runs[0].1
    };
    let whole = sent("");
    assert!(whole[0].min(whole[1]) >= 2_000_000, "{whole:?}");
    for (port, plane) in [(0, "a"), (1, "b")] {
        let sent = sent(&down("h0", plane, ""));
        // 50 us at 100 Gbps are 625 KB; ACKs of the flow that comes may be among them.
        assert!(sent[port] <= 640_000 && sent[1 - port] > 5_300_000, "{sent:?}");
    }
    // Up again after 40 us: the streams are back, and nothing is lost for good.
    let back = sent(&down("h0", "a", "for = \"40us\""));
    assert!(back[0] > 800_000, "{back:?}");
}

#[test]
fn a_storm_of_a_port_that_a_host_does_not_have_is_refused_with_those_that_it_has() {
    let storm = |port: &str| {
        let pfc = PLANES.replace("flow-control = \"none\"", "flow-control = \"pfc\"");
        read(&format!("{pfc}\n[[fault]]\nkind = \"pause-storm\"\nhost = \"h2\"\n{port}at = \"1us\"\n"))
    };
    let error = storm("port = 2\n").err().unwrap();
    for what in ["h2 has no port 2", "allowed: 0 to 1", "0 (to a), 1 (to b)"] {
        assert!(error.contains(what), "{error}");
    }
    assert!(storm("port = 1\n").is_ok() && storm("").is_ok());
}

/// Hosts with two ports in each of two planes: ports 0 and 1 at a and b, ports 2 and 3 at c and d.
const TWO_HOMES: &str = r#"
profile = "ideal"
run = { until = "2ms" }
transport = { reliability = "selective-repeat" }
host = { nic = { port = "plane" } }
[topology]
kind = "edges"
hosts = ["h0", "h1"]
switches = ["a", "b", "c", "d"]
links = [
  { a = "h0", b = "a", rate = "100Gbps", delay = "1us" }, { a = "h0", b = "b", rate = "100Gbps", delay = "1us" },
  { a = "h0", b = "c", rate = "100Gbps", delay = "1us" }, { a = "h0", b = "d", rate = "100Gbps", delay = "1us" },
  { a = "h1", b = "a", rate = "100Gbps", delay = "1us" }, { a = "h1", b = "b", rate = "100Gbps", delay = "1us" },
  { a = "h1", b = "c", rate = "100Gbps", delay = "1us" }, { a = "h1", b = "d", rate = "100Gbps", delay = "1us" },
  { a = "a", b = "b", rate = "400Gbps", delay = "1us" }, { a = "c", b = "d", rate = "400Gbps", delay = "1us" },
]
[switch]
flow-control = "none"
overflow = "drop"
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

#[test]
fn a_flow_stays_in_its_plane_while_a_port_of_it_is_up() {
    let sent = |more: &str| {
        let outcome =
            try_run(spec(TWO_HOMES, more), KINDS[0], None).unwrap_or_else(|broken| panic!("{broken}"));
        assert_eq!(outcome.flows[0].received.get(), 1_000_000);
        [0, 1, 2, 3].map(|port| outcome.port((0, port), 3).bytes.get() > 0)
    };
    let at = |port: usize| [0, 1, 2, 3].map(|other| other == port);
    let before = sent("");
    let home = (0..4).find(|port| before == at(*port)).expect("one port");
    let switches = ["a", "b", "c", "d"];
    let mut used = at(home);
    used[home ^ 1] = true;
    assert_eq!(sent(&down("h0", switches[home], "")), used, "the other port of the plane");
    // Both ports of the plane: the flow leaves it.
    let both = [home, home ^ 1].map(|port| down("h0", switches[port], ""));
    let left = sent(&both.concat());
    // The first port of the other plane.
    let other = 2 - 2 * (home / 2);
    assert!(left[other] || left[other + 1], "{left:?}");
    assert!(!left[home ^ 1], "{left:?}");
}

/// Two links side by side between h0 and a (ports 0 and 1 of both), and two between a and b (ports 2 and 3 of a, 0 and 1 of b).
const SIDE_BY_SIDE: &str = r#"
profile = "ideal"
run = { until = "1ms" }
transport = { reliability = "selective-repeat" }
[topology]
kind = "edges"
parallel-links = true
hosts = ["h0", "h1"]
switches = ["a", "b"]
links = [
  { a = "h0", b = "a", rate = "100Gbps", delay = "1us" }, { a = "h0", b = "a", rate = "100Gbps", delay = "1us" },
  { a = "a", b = "b", rate = "100Gbps", delay = "1us" }, { a = "a", b = "b", rate = "100Gbps", delay = "1us" },
  { a = "b", b = "h1", rate = "200Gbps", delay = "1us" },
]
[switch]
flow-control = "none"
overflow = "drop"
[[traffic]]
name = "x"
kind = "flow"
from = "h0"
to = "h1"
size = "1MB"
"#;

#[test]
fn one_of_several_links_side_by_side_fails_alone() {
    let gone = |link: &str| -> Vec<(u32, Option<u16>)> {
        let more = format!("[[fault]]\nkind = \"link-down\"\nlink = {link}\nat = \"10us\"\nfor = \"5us\"\n");
        let outcome = try_run(spec(SIDE_BY_SIDE, &more), KINDS[0], None).unwrap();
        assert_eq!(outcome.flows[0].received.get(), 1_000_000);
        let downs = outcome.records.faults.iter().filter(|record| record.event == FaultEvent::Down);
        downs.map(|record| (record.node, record.port)).collect()
    };
    let ports =
        |ports: &[(u32, u16)]| ports.iter().map(|(node, port)| (*node, Some(*port))).collect::<Vec<_>>();
    assert_eq!(gone(r#"["h0", "a:1"]"#), ports(&[(0, 1), (2, 1)]));
    assert_eq!(gone(r#"["h0:0", "a"]"#), ports(&[(0, 0), (2, 0)]));
    assert_eq!(gone(r#"["b", "a:1"]"#), ports(&[(2, 3), (3, 1)]));
    assert_eq!(gone(r#"["h1", "b:0"]"#), ports(&[(1, 0), (3, 2)]));
    let mut all = gone(r#"["h0", "a"]"#);
    all.sort_unstable();
    assert_eq!(all, ports(&[(0, 0), (0, 1), (2, 0), (2, 1)]));
    // Each end may say which, and an end of that link may be the one whose frames are lost.
    let loss = "[[fault]]\nkind = \"loss\"\nlink = [\"a:1\", \"b:1\"]\nframes = 1.0\nfrom = \"a\"\n";
    let made = spec(SIDE_BY_SIDE, loss);
    let lost: Vec<_> = made.faults.losses.iter().map(|loss| (loss.node, loss.port)).collect();
    assert_eq!(lost, [(3, Some(1))]);
}

#[test]
fn a_link_that_is_not_there_is_refused_with_those_that_are() {
    let refused = |link: &str, what: &[&str]| {
        let fault = format!("[[fault]]\nkind = \"link-down\"\nlink = {link}\nat = \"1us\"\n");
        let error = read(&format!("{SIDE_BY_SIDE}\n{fault}")).err().unwrap();
        assert!(what.iter().all(|what| error.contains(what)), "{error}");
    };
    refused(r#"["a", "b:2"]"#, &["no link number 2 between them", "allowed: 0 to 1", "\"b:0\""]);
    refused(r#"["h1", "b:1"]"#, &["no link number 1 between them", "allowed: 0"]);
    refused(r#"["a:0", "b:1"]"#, &["number 0 by its first end and number 1 by the second"]);
    refused(r#"["a", "b:x"]"#, &["there is no node \"b:x\""]);
}
