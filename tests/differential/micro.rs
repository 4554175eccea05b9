//! Lone flows through one switch: both simulators do what store and forward demands of them, each with its own clock.
use backwater_fabric::record::FlowRecord;
use scene::{Hop, arrivals, exact, hpcc_ns3, run, whole_ns};

use crate::peer;

const LINK: Hop = Hop { rate: 100_000_000_000, delay: 1_000_000 };

/// From the start of a flow of `bytes` to its last ACK, over two links and back, with this rule for times on the wire.
fn round_trip(bytes: u64, on_wire: fn(u64, u64) -> u64) -> u64 {
    let mut sizes = vec![1048; ((bytes - 1) / 1000) as usize];
    sizes.push((bytes - 1) % 1000 + 1 + 48);
    let mut start = 0;
    let ready: Vec<u64> = sizes
        .iter()
        .map(|size| {
            start += on_wire(*size, LINK.rate);
            start - on_wire(*size, LINK.rate)
        })
        .collect();
    let received = arrivals(&[LINK, LINK], &ready, &sizes, on_wire);
    let acks = vec![60; sizes.len()];
    *arrivals(&[LINK, LINK], &received, &acks, on_wire).last().expect("an ACK")
}

/// A lone flow in both, in picoseconds.
pub(crate) struct Row {
    pub(crate) bytes: u64,
    pub(crate) peer: u64,
    /// The arithmetic in whole nanoseconds.
    pub(crate) cut: u64,
    pub(crate) ours: u64,
    pub(crate) exact: u64,
}

/// The three flows.
pub(crate) fn rows() -> Vec<Row> {
    let case = peer::case("micro");
    let answers = peer::answers("micro", &case);
    let outcome = run(hpcc_ns3(case.network, case.flows, 32 << 20));
    let row = |(flow, answer): (&FlowRecord, &peer::Answer)| Row {
        bytes: flow.size.get(),
        peer: answer.fct_ns * 1000,
        cut: round_trip(flow.size.get(), whole_ns),
        ours: flow.acked.since(flow.start).as_ps(),
        exact: round_trip(flow.size.get(), exact),
    };
    outcome.flows.iter().zip(&answers).map(row).collect()
}

#[test]
fn the_peers_lone_flows_are_store_and_forward_with_every_time_cut_to_whole_nanoseconds() {
    // 1000 B: 4 · 1000 ns + 2 · 83 ns (83.84) + 2 · 4 ns (4.8)
    assert_eq!(rows()[0].cut, 4_174_000);
    for row in rows() {
        assert_eq!(row.peer, row.cut, "{} B", row.bytes);
    }
}

#[test]
fn the_fabrics_lone_flows_are_the_same_arithmetic_without_the_cut() {
    // 1000 B: 4 · 1000 ns + 2 · 83.84 ns + 2 · 4.8 ns
    assert_eq!(rows()[0].exact, 4_177_280);
    for row in rows() {
        assert_eq!(row.ours, row.exact, "{} B", row.bytes);
    }
}
