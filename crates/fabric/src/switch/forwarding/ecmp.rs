//! The hash by which switches choose among equally short ways: [`way`], for the packet path, windows and ideal times alike.
use std::collections::BTreeSet;
use std::sync::Arc;

use backwater_engine::mix;
use backwater_topology::{Network, Routes, flow_hash};
use backwater_traffic::Flow;
use backwater_traffic::program::{Programs, Rank};

use crate::packet::{ENTROPY_BITS, Packet};
use crate::spec::{PortRule, Spec};

/// What switches take for the hash of a flow, or make it of: of its data, and of what goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathHash {
    /// All the same.
    Same([u32; 2]),
    /// Each what `MurmurHash3` gives of this with the number of its node as the seed.
    Seeded([[u32; 3]; 2]),
}

impl PathHash {
    fn at(self, back: bool, seed: u32) -> u32 {
        match self {
            Self::Same(hashes) => hashes[usize::from(back)],
            Self::Seeded(tuples) => murmur3(tuples[usize::from(back)], seed),
        }
    }
}

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

/// What a switch mixes into the hashes of flows.
pub(crate) fn salt(seed: u64, node: u32, hashes: &[PathHash]) -> u32 {
    match hashes.first() {
        Some(PathHash::Seeded(_)) => node,
        _ => mix(seed, 0xec3f, u64::from(node)) as u32,
    }
}

/// Which of so many ways the packets with this path key take at a switch with this salt.
#[inline]
pub(crate) fn way(ways: usize, key: u32, back: bool, salt: u32, hashes: &[PathHash]) -> usize {
    match hashes.get(key as usize) {
        None => salted(ways, key, back, salt),
        Some(hash) => hash.at(back, salt) as usize % ways,
    }
}

/// What a flow's way is chosen by: the number that it is drawn by, and the rail by which it leaves a host with several ports, if its rule
/// is [`crate::PortRule::Rail`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PathKey {
    number: u32,
    rail: Option<u32>,
}

impl PathKey {
    /// Of a flow that is drawn by this number; `rails` are those of all flows, or nothing.
    pub(crate) fn new(flow: u32, number: u32, rails: &[u32]) -> Self {
        let rail = rails.get(flow as usize).copied().filter(|rail| *rail != NO_RAIL);
        Self { number, rail }
    }

    /// Whether it is the number of this flow itself.
    pub(crate) const fn is_of(self, flow: u32) -> bool {
        self.number == flow
    }

    /// Which of so many ways its data, or what goes `back`, takes at a node: at its source, or at another one.
    pub(crate) fn way(
        self,
        ways: usize,
        back: bool,
        at_source: bool,
        salt: u32,
        hashes: &[PathHash],
    ) -> usize {
        match self.rail.filter(|_| at_source && !back) {
            Some(rail) => rail as usize % ways,
            None => way(ways, self.number, back, salt, hashes),
        }
    }
}

/// By flow the rail of the rank that receives; empty unless hosts with several ports go by it.
pub(crate) fn rails(spec: &Spec) -> Arc<[u32]> {
    if spec.nic.port != PortRule::Rail || spec.network.with_several_ports().is_none() {
        return Arc::default();
    }
    let Programs { ranks, channels, .. } = &spec.programs;
    let mut at_host = vec![0; spec.network.hosts().len()];
    let number = |rank: &Rank| {
        let ranks: &mut u32 = &mut at_host[rank.host as usize];
        *ranks += 1;
        *ranks - 1
    };
    let numbers: Vec<u32> = ranks.iter().map(number).collect();
    let flows = channels.iter().map(|channel| channel.flow as usize + 1).max().unwrap_or(0);
    let mut rails = vec![NO_RAIL; flows];
    for channel in channels {
        rails[channel.flow as usize] = numbers[channel.to as usize];
    }
    rails.into()
}

/// Of a flow that no rank receives.
const NO_RAIL: u32 = u32::MAX;

/// The links of a flow's way: those of its data.
pub(crate) fn links(
    (network, routes): (&Network, &Routes),
    seed: u64,
    hashes: &[PathHash],
    key: PathKey,
    flow: &Flow,
) -> Vec<(u32, u16)> {
    let source = network.hosts()[flow.src as usize];
    let of = |node, ways| key.way(ways, false, node == source, salt(seed, node, hashes), hashes);
    routes.path_by(network, flow.src, flow.dst, of)
}

/// That of flows hashed by their number, by multiply-shift.
#[inline]
pub(crate) fn salted(ways: usize, key: u32, back: bool, salt: u32) -> usize {
    ((u64::from(flow_hash(key, back, salt)) * ways as u64) >> 32) as usize
}

/// Purpose of the hash of a flow and an entropy; entity: flow << 32 | goes back << 10 | entropy.
const ENTROPY: u64 = 0x0e27;

/// That of a frame of UEC, by its flow's key and its own entropy. Any good hash gives each flow the same number of ways; what counts is that
/// a flow and an entropy stay together.
#[inline]
pub(crate) fn by_entropy(ways: usize, key: u32, packet: &Packet, salt: u32) -> usize {
    let back = u64::from(packet.goes_back()) << ENTROPY_BITS;
    let entity = u64::from(key) << 32 | back | u64::from(packet.entropy());
    (((mix(u64::from(salt), ENTROPY, entity) >> 32) * ways as u64) >> 32) as usize
}

/// Addresses are 10.x.y.1 by the host's number: those of its link, as hosts' links are the first in the authors' files.
const fn address(host: u32) -> u32 {
    10 << 24 | (host / 254 + 1) << 16 | (host % 254 + 1) << 8 | 1
}

/// Protocol of their data (UDP), and of their CNPs, which have no ports.
const UDP: u32 = 17;
const CNP: u32 = 255;
/// The port before the first one that a host gives to a flow of its own.
const BEFORE_FIRST: u32 = 49_152;
/// Destination ports are below this, each used once.
const PORTS: u32 = 40_000;
/// Of Pyrrha-NS3: the first source port, and the destination port.
const FIRST: u32 = 10_000;
const TO: u32 = 100;

/// For [`crate::SwitchSpec::hashes`], those of the TCD authors' release: src·59 ⊕ dst ⊕ protocol ⊕ source port · 2^16 ⊕ destination port ⊕
/// priority, the same at every switch. Addresses are 10.x.y.1 by the host's number, source ports 49153 and so on in the order of the
/// starts of a host's flows, destination ports those that the release draws if its `SEED_NUMBER` is `seed`. What goes back has no
/// ports.
#[must_use]
pub fn five_tuples(network: &Network, seed: u64, flows: &[Flow]) -> Arc<[PathHash]> {
    let source_port = source_ports(network, BEFORE_FIRST + 1, flows);
    let destination_port = destination_ports(network, seed, flows.len());
    let tuple = |((flow, source), destination): ((&Flow, u32), u32)| {
        let (src, dst) = (address(flow.src), address(flow.dst));
        let data = src.wrapping_mul(59) ^ dst ^ UDP ^ source << 16 ^ destination ^ u32::from(flow.priority);
        PathHash::Same([data, dst.wrapping_mul(59) ^ src ^ CNP])
    };
    flows.iter().zip(source_port).zip(destination_port).map(tuple).collect()
}

/// For [`crate::SwitchSpec::hashes`], those of Pyrrha-NS3 (commit 3765687): `MurmurHash3` of addresses and ports, seeded with the number of the
/// switch, modulo the number of ways in the order of the links. Addresses are 11.x.y.1 by the number of the node, source ports 10000 and so on
/// in the order of the starts of a host's flows, the destination port is 100. What goes back has both exchanged.
#[must_use]
pub fn murmur_tuples(network: &Network, flows: &[Flow]) -> Arc<[PathHash]> {
    let source_port = source_ports(network, FIRST, flows);
    let tuple = |(flow, port): (&Flow, u32)| {
        let address = |host: u32| 11 << 24 | network.hosts()[host as usize] << 8 | 1;
        let (src, dst) = (address(flow.src), address(flow.dst));
        PathHash::Seeded([[src, dst, port | TO << 16], [dst, src, TO | port << 16]])
    };
    flows.iter().zip(source_port).map(tuple).collect()
}

/// Hashes of more flows than before, of the kind that there are.
pub(crate) fn renewed(kind: PathHash, network: &Network, seed: u64, flows: &[Flow]) -> Arc<[PathHash]> {
    match kind {
        PathHash::Same(_) => five_tuples(network, seed, flows),
        PathHash::Seeded(_) => murmur_tuples(network, flows),
    }
}

/// By flow its source port: from `first` on, in the order of the starts of a host's flows.
fn source_ports(network: &Network, first: u32, flows: &[Flow]) -> Vec<u32> {
    let mut next = vec![first; network.hosts().len()];
    let mut ports = vec![0; flows.len()];
    let mut by_start: Vec<usize> = (0..flows.len()).collect();
    by_start.sort_by_key(|&flow| flows[flow].start);
    for flow in by_start {
        let next = &mut next[flows[flow].src as usize];
        ports[flow] = *next;
        *next += 1;
    }
    ports
}

/// The destination ports that the authors' release draws for flows in the order of its file: each attempt takes one of ns-3's random
/// streams, each flow one more. Of those before, ns-3's protocols take six per node, switches one each, and its links two.
fn destination_ports(network: &Network, seed: u64, flows: usize) -> Vec<u32> {
    let (nodes, hosts) = (network.nodes().len() as u64, network.hosts().len() as u64);
    let mut streams = Streams::new(seed, 6 * nodes + (nodes - hosts) + 2);
    let mut used = BTreeSet::new();
    let mut port = || {
        // The release would look for a free one for ever.
        if used.len() == PORTS as usize {
            used.clear();
        }
        loop {
            let port = (streams.next() * f64::from(PORTS)) as u32;
            if used.insert(port) {
                streams.next();
                return port;
            }
        }
    };
    (0..flows).map(|_| port()).collect()
}

type Matrix = [[u64; 3]; 3];

/// The first numbers of successive streams of `MRG32k3a` (L'Ecuyer, Simard, Chen and Kelton: An object-oriented random-number package
/// with many long streams and substreams, Operations Research 50(6), 2002): streams begin 2^127 apart, and ns-3's run 1 is the second
/// substream of each, 2^76 further.
#[derive(Clone)]
struct Streams {
    state: [[u64; 3]; 2],
    jump: [Matrix; 2],
}

const MODULI: [u64; 2] = [4_294_967_087, 4_294_944_443];
const STEPS: [Matrix; 2] = [
    [[0, 1, 0], [0, 0, 1], [MODULI[0] - 810_728, 1_403_580, 0]],
    [[0, 1, 0], [0, 0, 1], [MODULI[1] - 1_370_589, 0, 527_612]],
];

impl Streams {
    fn new(seed: u64, first: u64) -> Self {
        let mut state = [[0; 3]; 2];
        let mut jump = STEPS;
        for (half, modulus) in MODULI.into_iter().enumerate() {
            // A seed of all zeros would stay there.
            let begin = [(seed % MODULI[1]).max(1); 3];
            jump[half] = power(&STEPS[half], 1 << 127, modulus);
            let to_first = power(&jump[half], u128::from(first), modulus);
            let substream = power(&STEPS[half], 1 << 76, modulus);
            state[half] = times(&to_first, &times(&substream, &begin, modulus), modulus);
        }
        Self { state, jump }
    }

    /// The first number of the next stream, in (0, 1).
    fn next(&mut self) -> f64 {
        let [one, other] = [0, 1].map(|half| times(&STEPS[half], &self.state[half], MODULI[half])[2]);
        for ((state, jump), modulus) in self.state.iter_mut().zip(&self.jump).zip(MODULI) {
            *state = times(jump, state, modulus);
        }
        let difference = if one > other { one - other } else { one + MODULI[0] - other };
        difference as f64 / (MODULI[0] + 1) as f64
    }
}

fn times(matrix: &Matrix, vector: &[u64; 3], modulus: u64) -> [u64; 3] {
    matrix.map(|row| row.iter().zip(vector).fold(0, |sum, (a, b)| (sum + a * b % modulus) % modulus))
}

fn power(matrix: &Matrix, mut exponent: u128, modulus: u64) -> Matrix {
    let product = |a: &Matrix, b: &Matrix| {
        let column = |j: usize| times(a, &[b[0][j], b[1][j], b[2][j]], modulus);
        let columns = [column(0), column(1), column(2)];
        [0, 1, 2].map(|i| [columns[0][i], columns[1][i], columns[2][i]])
    };
    let (mut result, mut square) = ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], *matrix);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = product(&result, &square);
        }
        square = product(&square, &square);
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{ENTROPY_AT, Kind, PSN_AT};

    fn frame(kind: Kind, psn: u32, entropy: u32) -> Packet {
        Packet { kind, seq: psn << PSN_AT | entropy << ENTROPY_AT, ..Packet::NONE }
    }

    #[test]
    fn a_flow_and_an_entropy_have_one_way_whatever_the_packet() {
        for entropy in [0, 1, 517, 1023] {
            let first = by_entropy(64, 7, &frame(Kind::UecData, 0, entropy), 99);
            for (kind, psn) in [(Kind::UecData, 12_345), (Kind::UecTrimmed, 3), (Kind::UecRts, 1 << 19)] {
                assert_eq!(by_entropy(64, 7, &frame(kind, psn, entropy), 99), first);
            }
            let back = by_entropy(64, 7, &frame(Kind::UecAck, 0, entropy), 99);
            for kind in [Kind::UecNack, Kind::UecPull] {
                assert_eq!(by_entropy(64, 7, &frame(kind, 77, entropy), 99), back);
            }
        }
    }

    #[test]
    fn the_ways_of_a_flow_are_as_many_as_chance_hits() {
        // Of 64 ways n entropies hit 64 · (1 − (63/64)ⁿ) on average.
        for (entropies, expected) in [(32, 25.33), (64, 40.64), (128, 55.47)] {
            for kind in [Kind::UecData, Kind::UecAck] {
                let ways = |flow: u32| {
                    let of = |entropy| by_entropy(64, flow, &frame(kind, 0, entropy), 0x5a17);
                    (0..entropies).map(of).collect::<BTreeSet<_>>().len() as f64
                };
                let mean = (0..4000).map(ways).sum::<f64>() / 4000.0;
                // The number of different ways has a standard deviation of at most 2.5: that of the mean is 0.04.
                assert!((mean - expected).abs() < 0.2, "{entropies} entropies: {mean}, expected {expected}");
            }
        }
    }

    #[test]
    fn flows_switches_and_entropies_use_all_ways_alike() {
        let mut hits = [0_u32; 24];
        for (flow, salt) in (0..40).flat_map(|flow| (0..40).map(move |salt| (flow, salt))) {
            for entropy in 0..64 {
                hits[by_entropy(24, flow, &frame(Kind::UecData, 0, entropy), salt)] += 1;
            }
        }
        // Pearson: chi square of 23 degrees of freedom is above 49.7 with a probability of one in a thousand.
        let expected = 40.0 * 40.0 * 64.0 / 24.0;
        let chi: f64 = hits.iter().map(|hit| (f64::from(*hit) - expected).powi(2) / expected).sum();
        assert!(chi < 49.7, "{chi}");
    }

    #[test]
    fn the_first_numbers_of_streams_are_those_of_the_authors_ns_3() {
        // With seed 6: the first eight streams, by exact integer arithmetic in another language.
        let mut streams = Streams::new(6, 0);
        let drawn = [0; 8].map(|_: i32| (streams.next() * 40_000.0) as u32);
        assert_eq!(drawn, [35967, 436, 26534, 36469, 38575, 36148, 10766, 13676]);
    }
}
