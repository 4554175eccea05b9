//! Two flows of one entry and one of another, over two ports.
use super::*;
use backwater_units::Rate;

fn names() -> Names {
    let nodes = ["S", "R", "T"].map(str::to_owned).to_vec();
    let traffic = ["web", "incast", "silent"].map(str::to_owned).to_vec();
    Names::new(nodes, &[vec![2], vec![2], vec![0, 1]], traffic, vec![0, 1, 1]).unwrap()
}

fn flow(group: u16, start_us: u64, finish: Time, received: u64) -> FlowRecord {
    FlowRecord {
        flow: 0,
        group,
        src: 0,
        src_port: 0,
        dst: 1,
        priority: 3,
        size: Bytes::new(received),
        start: Time::ZERO + Span::from_us(start_us),
        finish,
        acked: Time::MAX,
        packets: received / 1000,
        received: Bytes::new(received),
        ce_packets: 3,
        ue_packets: 1,
        cnps_ce: 2,
        cnps_ue: 1,
        resent_packets: 0,
        dropped_packets: 0,
        duplicate_packets: 0,
        nacks: 0,
        timeouts: 0,
        acks: 0,
        rts: 0,
        trimmed_packets: 0,
        failed: false,
        early_packets: 0,
        early_most: 0,
        reorder_wait: Span::ZERO,
        connection: None,
        behind: Span::ZERO,
        paced: Span::ZERO,
        nic_held: Span::ZERO,
        nic_queue: Span::ZERO,
        recovery: Span::ZERO,
        ideal_fct: Span::from_us(5),
        ideal_wait: Span::ZERO,
        analytic_fct: Span::from_us(4),
    }
}

fn port(node: u32, port: u16, bytes: u64, peak_ingress: u64) -> PortRecord {
    PortRecord {
        node,
        port,
        peer: 2,
        priority: 3,
        rate: Rate::from_gbps(40),
        packets: bytes / 1000,
        bytes: Bytes::new(bytes),
        peak_queue: Bytes::new(bytes / 2),
        peak_ingress: Bytes::new(peak_ingress),
        pauses: u64::from(bytes > 0),
        pauses_sent: 0,
        paused: Span::from_us(1),
        ce_marks: 0,
        ue_marks: 0,
        dropped_packets: 0,
        dropped_bytes: Bytes::new(0),
        in_state: [1, 2, 3, 4].map(Span::from_us),
    }
}

fn us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

#[test]
fn flows_are_summed_by_traffic_entry_and_an_entry_without_flows_has_no_means() {
    let flows = [flow(0, 0, us(10), 50_000), flow(1, 0, us(10), 50_000), flow(1, 10, us(40), 75_000)];
    let summary = summarize(&flows, &[], &names(), us(100)).unwrap();
    let incast = &summary.traffic[1];
    assert_eq!((incast.traffic.as_str(), incast.flows, incast.finished), ("incast", 2, 2));
    assert_eq!((incast.packets, incast.ce_packets, incast.ue_packets), (125, 6, 2));
    // 50 kB in 10 us are 40 Gbps, 75 kB in 30 us are 20 Gbps.
    assert_eq!(incast.mean_goodput_bps, Some(30e9));
    // FCTs of 10 and 30 us where 5 us are ideal.
    let slowdown = incast.slowdown.as_ref().unwrap();
    assert_eq!((slowdown.p50, slowdown.max, slowdown.mean), (2.0, 6.0, 4.0));
    assert_eq!(incast.fct_ps.as_ref().map(|fct| fct.max), Some(30e6));
    let silent = &summary.traffic[2];
    assert_eq!((silent.flows, silent.mean_goodput_bps, silent.fct_ps.as_ref()), (0, None, None));
    assert_eq!((summary.totals.flows, summary.totals.packets, summary.totals.cnps), (3, 175, 9));
}

#[test]
fn an_endless_flow_has_the_goodput_of_its_time_in_the_run_and_no_fct() {
    let mut endless = flow(0, 20, Time::MAX, 100_000);
    (endless.size, endless.ideal_fct) = (Bytes::MAX, Span::ZERO);
    let late = flow(0, 500, Time::MAX, 0);
    let summary = summarize(&[endless, late], &[], &names(), us(40)).unwrap();
    // 100 kB in the 20 us from its start to the end; a flow that never started does not count.
    assert_eq!(summary.traffic[0].mean_goodput_bps, Some(40e9));
    assert_eq!((summary.traffic[0].finished, summary.traffic[0].slowdown.as_ref()), (0, None));
}

#[test]
fn only_ports_that_did_something_are_listed_with_their_share_of_the_wire() {
    let ports = [port(2, 0, 0, 0), port(2, 1, 250_000, 0)];
    let summary = summarize(&[], &ports, &names(), us(100)).unwrap();
    let [used] = &summary.ports[..] else { panic!("one port was used") };
    assert_eq!((used.port.as_str(), used.pauses, used.paused_ps), ("T->R", 1, 1_000_000));
    // 250 kB at 40 Gbps take 50 of 100 us.
    assert!((used.utilization - 0.5).abs() < 1e-12);
    assert_eq!((used.congestion_ps, used.judging_ps), (2_000_000, 4_000_000));
}

#[test]
fn the_fullest_ingress_is_named_and_a_tie_goes_to_the_first() {
    let ports = [port(0, 0, 0, 0), port(2, 0, 0, 4000), port(2, 1, 0, 4000)];
    let peak = summarize(&[], &ports, &names(), us(1)).unwrap().totals.peak_ingress.unwrap();
    assert_eq!((peak.node.as_str(), peak.port.as_str(), peak.bytes), ("T", "T->S", 4000));
    assert_eq!(summarize(&[], &ports[..1], &names(), us(1)).unwrap().totals.peak_ingress, None);
}

#[test]
fn a_summary_is_plain_json() {
    let summary = summarize(&[flow(0, 0, us(10), 50_000)], &[], &names(), us(10)).unwrap();
    let json = serde_json::to_value(&summary).unwrap();
    assert_eq!(json["traffic"][0]["slowdown"]["max"], 2.0);
    assert_eq!(json["traffic"][0]["slowdown"]["p99"], serde_json::Value::Null);
    assert_eq!(json["traffic"][0]["slowdown"]["too_few"], "of 1 values: p95 needs 20, p99 needs 100");
    assert_eq!(json["totals"]["peak_ingress"], serde_json::Value::Null);
}
