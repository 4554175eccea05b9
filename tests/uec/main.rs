//! Flows of Ultra Ethernet: what the Consortium's simulator prints to the last digit, by arithmetic; and laws that hold for any of them.
mod closed_form;
mod delivery;
mod laws;
mod retry;
mod trimming;

use backwater_fabric::Spec;
use backwater_topology::Network;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Rate, Span, Time};
use scene::{Rules, chain, flow, star, uec};

const LINE: Rate = Rate::from_gbps(100);
const LINK: Span = Span::from_us(1);

/// Two hosts with six links between them: the longest path of that simulator's default tree, whose round trip is 12 µs, and six times the
/// 0.332 µs of a packet and the 5.12 ns of an ACK.
fn far(flows: Vec<Flow>, rules: Rules) -> Spec {
    uec(chain(&[(LINE, LINK); 6]), flows, rules, (LINE, Span::from_ps(14_022_720)))
}

/// Hosts at one switch: 4 µs, and twice both.
fn near(hosts: u32, flows: Vec<Flow>, rules: Rules) -> Spec {
    let network: Network = star(hosts, LINE, LINK);
    uec(network, flows, rules, (LINE, Span::from_ps(4_674_240)))
}

fn from_zero(src: u32, dst: u32, bytes: u64) -> Flow {
    flow(src, dst, bytes, Time::ZERO, Pacing::Controlled)
}
