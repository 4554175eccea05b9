//! The ways that the HPCC simulator's ECMP gives to flows, and how to make the fabric take them.
//!
//! That simulator hashes (sip, dip, sport, dport) by `MurmurHash3` (32 bit) seeded with the switch's number, modulo its
//! list of next hops, whose order comes from memory addresses. Of the orders that are alike for all switches of a tier
//! one fits its answers: with it the fabric's FCTs are as near to its own as those of two seeds of the fabric to each
//! other (standard deviation of the log ratio 0.35 against 0.39); with the others, 0.58 to 0.76.
//!
//! The fabric hashes the number of a flow. So each flow gets a number by which the fabric's hash takes the same ports,
//! there and back; numbers in between go to flows that never start.
use backwater_engine::mix;
use backwater_topology::{Network, Routes, flow_hash};
use backwater_traffic::{Flow, Pacing};
use scene::{flow, us};

use crate::peer::Case;

/// `MurmurHash3_x86_32` (Appleby, public domain) of three words.
fn murmur3(words: [u32; 3], seed: u32) -> u32 {
    const LENGTH: u32 = size_of::<[u32; 3]>() as u32;
    let mut h = seed;
    for word in words {
        h ^= word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
        h = h.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    h ^= LENGTH;
    h = (h ^ (h >> 16)).wrapping_mul(0x85eb_ca6b);
    h = (h ^ (h >> 13)).wrapping_mul(0xc2b2_ae35);
    h ^ (h >> 16)
}

/// What it hashes for one direction of a flow.
fn tuple(from: u32, to: u32, from_port: u32, to_port: u32) -> [u32; 3] {
    let address = |node: u32| 0x0b00_0001 + ((node / 256) << 16) + ((node % 256) << 8);
    [address(from), address(to), from_port | to_port << 16]
}

/// Whether hosts hang on this switch.
fn is_edge(network: &Network, node: u32) -> bool {
    network.ports(node).iter().any(|port| !network.is_switch(port.peer))
}

/// (node, egress port) of every switch on a way.
type Way = Vec<(u32, u16)>;

/// The ports that it gives to packets with this tuple, from one host to another (host indices).
fn way(network: &Network, routes: &Routes, from: u32, to: u32, tuple: [u32; 3]) -> Way {
    let mut node = network.ports(network.hosts()[from as usize])[0].peer;
    let mut way = Vec::new();
    while network.is_switch(node) {
        let next = routes.next_ports(node, to);
        let pick = murmur3(tuple, node) as usize % next.len();
        // Up from an edge switch its list is in descending order.
        let up = is_edge(network, node);
        let port = next[if up { next.len() - 1 - pick } else { pick }];
        way.push((node, port));
        node = network.ports(node)[usize::from(port)].peer;
    }
    way
}

/// Numbers for the flows of a case under which the fabric sends them, and their ACKs, the way that the peer does: the
/// flows in the order of their numbers, with fillers that start after a second, and the number of each flow.
pub(crate) fn numbered(case: &Case, routes: &Routes, seed: u64) -> (Vec<Flow>, Vec<usize>) {
    let network = &case.network;
    let mut ports = std::collections::BTreeMap::new();
    let mut waiting: Vec<(usize, [Way; 2])> = Vec::new();
    for (i, flow) in case.flows.iter().enumerate() {
        let [src, dst] = [flow.src, flow.dst].map(|host| network.hosts()[host as usize]);
        let port = ports.entry((src, dst)).or_insert(10_000);
        let there = way(network, routes, flow.src, flow.dst, tuple(src, dst, *port, 100));
        let back = way(network, routes, flow.dst, flow.src, tuple(dst, src, 100, *port));
        *port += 1;
        waiting.push((i, [there, back]));
    }
    let takes = |number: u32, reverse: bool, to: u32, way: &[(u32, u16)]| {
        way.iter().all(|&(node, port)| {
            let salt = mix(seed, 0xec3f, u64::from(node)) as u32;
            routes.choose(node, to, flow_hash(number, reverse, salt)) == port
        })
    };
    let (mut flows, mut numbers) = (Vec::new(), vec![0; case.flows.len()]);
    while !waiting.is_empty() {
        let number = flows.len();
        let fits = |(i, ways): &(usize, [Way; 2])| {
            let flow = &case.flows[*i];
            takes(number as u32, false, flow.dst, &ways[0]) && takes(number as u32, true, flow.src, &ways[1])
        };
        if let Some(at) = waiting.iter().position(fits) {
            let (i, _) = waiting.remove(at);
            numbers[i] = number;
            flows.push(case.flows[i]);
        } else {
            flows.push(flow(0, 1, 1, us(1_000_000), Pacing::LineRate));
        }
    }
    (flows, numbers)
}
