//! Applications of ranks in few words: programs, and the network they run on.
use std::sync::Arc;

use backwater_fabric::Spec;
use backwater_topology::Network;
use backwater_traffic::program::{Channel, Costs, Op, Programs, Rank};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Span, Time};

use crate::{flow, ideal};

/// 300 ns to send and to take a message, 16 KiB eager, 500 ns within a host.
pub const COSTS: Costs = Costs {
    send: Span::from_ns(300),
    receive: Span::from_ns(300),
    eager: Bytes::new(16_384),
    control: Bytes::new(16),
    local: Span::from_ns(500),
};

/// Begins to send, in set 0.
pub const fn isend(to: u32, size: u64, tag: u32) -> Op {
    Op::Isend { to, size, tag, set: 0 }
}

/// Begins to receive, in set 0.
pub const fn irecv(from: u32, size: u64, tag: u32) -> Op {
    Op::Irecv { from, size, tag, set: 0 }
}

/// Waits for set 0.
pub const WAIT: Op = Op::Wait { sets: 1 };

/// Receives and waits.
pub const fn recv(from: u32, size: u64, tag: u32) -> [Op; 2] {
    [irecv(from, size, tag), WAIT]
}

/// Sends and waits.
pub const fn send(to: u32, size: u64, tag: u32) -> [Op; 2] {
    [isend(to, size, tag), WAIT]
}

/// Works for so many nanoseconds.
pub const fn compute(ns: u64) -> Op {
    Op::Compute(Span::from_ns(ns))
}

/// Sets stopwatch 0.
pub const START: Op = Op::Start { timer: 0 };

/// Reads stopwatch 0.
pub const fn stop(label: u32) -> Op {
    Op::Stop { timer: 0, series: 0, label }
}

/// `body` so many times, in a program in which `before` ops stand before it.
pub fn repeated(before: usize, times: u32, body: &[Op]) -> Vec<Op> {
    let begin = before as u32 + 1;
    let end = begin + body.len() as u32 + 1;
    [&[Op::Loop { times, end }], body, &[Op::End { begin }]].concat()
}

/// Ranks on hosts, all of one application, each from the start of the run. Between every two ranks of different hosts are two
/// queue pairs for each direction.
pub fn application(placed: &[(u32, Vec<Op>)], costs: Costs) -> (Programs, Vec<Flow>) {
    let rank = |(number, (host, ops)): (usize, &(u32, Vec<Op>))| Rank {
        host: *host,
        group: 0,
        number: number as u32,
        role: 0,
        costs: 0,
        start: Time::ZERO,
        ops: Arc::from(&ops[..]),
        lines: None,
    };
    let ranks: Vec<Rank> = placed.iter().enumerate().map(rank).collect();
    let (mut channels, mut flows) = (Vec::new(), Vec::new());
    for (from, a) in (0..).zip(&ranks) {
        for (to, b) in (0..).zip(&ranks).filter(|(_, b)| b.host != a.host) {
            for answers in [false, true] {
                channels.push(Channel { flow: flows.len() as u32, from, to, answers });
                flows.push(flow(a.host, b.host, u64::MAX, Time::MAX, Pacing::Messages));
            }
        }
    }
    let words = |word: &str| vec![word.to_owned()];
    let programs =
        Programs { ranks, costs: vec![costs], roles: words("rank"), series: words("time"), channels };
    (programs, flows)
}

/// Ranks on a lossless network that stores and forwards packets of 2 KiB with headers of 32 B.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn messages(network: Network, placed: &[(u32, Vec<Op>)], costs: Costs) -> Spec {
    let (programs, flows) = application(placed, costs);
    let mut spec = ideal(network, flows);
    (spec.packet.payload, spec.packet.header) = (Bytes::new(2048), Bytes::new(32));
    spec.programs = programs;
    spec
}
