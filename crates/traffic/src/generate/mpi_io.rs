//! MPI and I/O messages of jobs that share a network (TCD paper §5.2.2; its model is Brown et al., ICPP 2018).
//!
//! In each rack some hosts, drawn at random, are I/O servers; a share of all hosts, drawn from the others, are I/O clients.
//! The rest are MPI clients and MPI servers. Each client sends its messages to one server (or to a few), I/O clients to I/O
//! servers and MPI clients to MPI servers, so that several messages go over one connection. All clients of a kind send
//! equally many messages.
//!
//! The paper gives the hosts' parts, the number of messages, the share of I/O messages and the sizes. It does not say how
//! many MPI nodes are clients (the authors' flit-level model: about half), to whom a client sends (there: one receiver,
//! and senders and receivers are different hosts; 192 clients reach 61 of its 64 I/O servers, as a uniform draw does), or
//! when: see [`Arrivals`].
use backwater_engine::{Stream, stream, uniform};
use backwater_units::{PS_PER_S, Rate, Span, Time};

use crate::cdf::Cdf;
use crate::flow::{Flow, Group};
use crate::stream::{HOT, MESSAGES, PLACEMENT, below, choose, entity};

/// When the messages of a client start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrivals {
    /// Independent of each other and uniform over this span: a Poisson process of which the number of messages is known.
    Poisson(Span),
    /// The same time apart, so many in this span; each client begins at a random instant of its first gap.
    Even(Span),
    /// All when the entry begins.
    AtOnce,
}

/// Who does what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// Receivers of I/O messages, rack by rack.
    pub io_servers: Vec<u32>,
    /// Senders of I/O messages.
    pub io_clients: Vec<u32>,
    /// Receivers of MPI messages.
    pub mpi_servers: Vec<u32>,
    /// Senders of MPI messages.
    pub mpi_clients: Vec<u32>,
}

/// MPI and I/O messages between the hosts of racks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiIo {
    /// The hosts, rack by rack.
    pub racks: Vec<Vec<u32>>,
    /// I/O servers in each rack; no rack has fewer hosts.
    pub io_servers_per_rack: u32,
    /// I/O clients in all; no more than there are other hosts.
    pub io_clients: u32,
    /// MPI clients in all; no more than there are hosts left.
    pub mpi_clients: u32,
    /// I/O messages in all.
    pub io_messages: u32,
    /// MPI messages in all.
    pub mpi_messages: u32,
    /// Servers to which a client sends, drawn for each client; for each message one of them is drawn. At least 1; no more
    /// than there are servers of either kind.
    pub connections: u32,
    /// When messages start.
    pub arrivals: Arrivals,
    /// Some of the I/O servers are hot.
    pub hot: Hot,
}

/// I/O servers that many clients have. The hot clients are dealt out to them in turn, one server each; the others have the other servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hot {
    /// So many, drawn from all I/O servers.
    pub servers: u32,
    /// I/O clients that send to them. As clients send equally many messages, their share of the clients is that of the I/O traffic.
    pub clients: u32,
}

impl MpiIo {
    /// The time over which the messages come if their payload is to be `load` of what host links of `capacity` together
    /// carry. Mean sizes count, not those drawn.
    pub fn span_for(io_messages: u32, mpi_messages: u32, load: f64, capacity: Rate) -> Span {
        let bytes = f64::from(io_messages) * Cdf::io().mean() + f64::from(mpi_messages) * Cdf::mpi().mean();
        Span::from_ps((8.0 * bytes * PS_PER_S as f64 / (load * capacity.as_bps() as f64)) as u64)
    }

    /// Draws who does what.
    pub fn place(&self, group: &Group, seed: u64) -> Placement {
        let mut random = stream(seed, PLACEMENT, entity(group.id, 0));
        let mut placement = Placement::default();
        let mut others = Vec::new();
        for rack in &self.racks {
            let mut hosts = rack.clone();
            let servers = (self.io_servers_per_rack as usize).min(hosts.len());
            choose(&mut random, &mut hosts, servers);
            others.extend(hosts.split_off(servers));
            placement.io_servers.append(&mut hosts);
        }
        let mut take = |count: u32| {
            let count = (count as usize).min(others.len());
            choose(&mut random, &mut others, count);
            others.drain(..count).collect::<Vec<u32>>()
        };
        placement.io_clients = take(self.io_clients);
        placement.mpi_clients = take(self.mpi_clients);
        placement.mpi_servers = others;
        placement
    }

    /// The I/O servers, the hot ones first.
    pub fn by_heat(&self, placement: &Placement, group: &Group, seed: u64) -> Vec<u32> {
        let mut servers = placement.io_servers.clone();
        choose(&mut stream(seed, HOT, entity(group.id, 0)), &mut servers, self.hot.servers as usize);
        servers
    }

    /// The messages, in the order of the clients. None of a kind that has no client or no server.
    pub fn flows(&self, group: &Group, seed: u64) -> Vec<Flow> {
        let placement = self.place(group, seed);
        let mut flows = Vec::with_capacity(self.io_messages as usize + self.mpi_messages as usize);
        let by_heat = self.by_heat(&placement, group, seed);
        let (hot, others) = by_heat.split_at((self.hot.servers as usize).min(by_heat.len()));
        let kinds = [
            (&placement.io_clients, hot, others, self.io_messages, Cdf::io()),
            (&placement.mpi_clients, &[], &placement.mpi_servers[..], self.mpi_messages, Cdf::mpi()),
        ];
        for (clients, hot, servers, messages, sizes) in kinds {
            if clients.is_empty() || (hot.is_empty() && servers.is_empty()) {
                continue;
            }
            let count = clients.len() as u32;
            for (number, &client) in (0..).zip(clients) {
                // The first ones send one more where the messages are no multiple of the clients.
                let own = messages / count + u32::from(number < messages % count);
                let random = &mut stream(seed, MESSAGES, entity(group.id, client));
                let is_hot = !hot.is_empty() && number < self.hot.clients;
                let servers = if is_hot { &hot[number as usize % hot.len()..][..1] } else { servers };
                self.send(client, servers, own, &sizes, group, random, &mut flows);
            }
        }
        flows
    }

    /// The messages of one client.
    #[allow(clippy::too_many_arguments, reason = "one client of one kind")]
    fn send(
        &self,
        client: u32,
        servers: &[u32],
        messages: u32,
        sizes: &Cdf,
        group: &Group,
        random: &mut Stream,
        flows: &mut Vec<Flow>,
    ) {
        let mut peers = servers.to_vec();
        let connections = (self.connections as usize).clamp(1, peers.len());
        choose(random, &mut peers, connections);
        peers.truncate(connections);
        let phase = uniform(random);
        for number in 0..messages {
            let after = match self.arrivals {
                Arrivals::Poisson(span) => uniform(random) * span.as_ps() as f64,
                Arrivals::Even(span) => {
                    (phase + f64::from(number)) / f64::from(messages) * span.as_ps() as f64
                }
                Arrivals::AtOnce => 0.0,
            };
            let start: Time = group.start.saturating_add(Span::from_ps(after as u64));
            let server = peers[below(random, peers.len() as u32) as usize];
            flows.push(group.flow(client, server, sizes.draw(random), start));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::generate::testing::GROUP;

    /// The paper's fat tree: 1024 hosts, racks of `rack`.
    fn paper(rack: u32) -> MpiIo {
        MpiIo {
            racks: (0..1024 / rack).map(|r| (r * rack..(r + 1) * rack).collect()).collect(),
            io_servers_per_rack: 4,
            io_clients: 256,
            mpi_clients: (1024 - 4 * (1024 / rack) - 256) / 2,
            io_messages: 8_000,
            mpi_messages: 72_000,
            connections: 1,
            arrivals: Arrivals::Poisson(Span::from_ms(100)),
            hot: Hot::default(),
        }
    }

    /// By I/O server how many clients it has.
    fn fan_ins(mix: &MpiIo, seed: u64) -> BTreeMap<u32, usize> {
        let placement = mix.place(&GROUP, seed);
        let flows = mix.flows(&GROUP, seed);
        let io = flows.iter().filter(|flow| placement.io_clients.contains(&flow.src));
        let pairs: BTreeSet<(u32, u32)> = io.map(|flow| (flow.dst, flow.src)).collect();
        pairs.iter().fold(BTreeMap::new(), |mut counts, (server, _)| {
            *counts.entry(*server).or_insert(0) += 1;
            counts
        })
    }

    #[test]
    fn two_hot_servers_share_half_of_the_clients_and_of_the_traffic_evenly() {
        let mix = MpiIo { hot: Hot { servers: 2, clients: 128 }, ..paper(64) };
        let placement = mix.place(&GROUP, 1);
        let hot = mix.by_heat(&placement, &GROUP, 1)[..2].to_vec();
        let counts = fan_ins(&mix, 1);
        // 128 clients on two servers, 128 on the 62 others: two each, give or take what is drawn.
        assert!(hot.iter().all(|server| counts[server] == 64));
        assert_eq!(counts.values().sum::<usize>(), 256);
        assert!(counts.iter().all(|(server, count)| hot.contains(server) || *count < 16));
        // 8000 messages are 31 or 32 of each client: half of them are for the hot ones.
        let flows = mix.flows(&GROUP, 1);
        let to_hot = flows.iter().filter(|flow| hot.contains(&flow.dst)).count();
        assert!((128 * 31..=128 * 32).contains(&to_hot));
    }

    #[test]
    fn without_hot_servers_nothing_is_drawn_otherwise() {
        // Who is where and what the clients that are not hot send does not depend on the others.
        let (plain, skewed) = (paper(64), MpiIo { hot: Hot { servers: 2, clients: 128 }, ..paper(64) });
        assert_eq!(plain.place(&GROUP, 1), skewed.place(&GROUP, 1));
        let mpi = |mix: &MpiIo| {
            let clients = mix.place(&GROUP, 1).mpi_clients;
            mix.flows(&GROUP, 1).into_iter().filter(|flow| clients.contains(&flow.src)).collect::<Vec<_>>()
        };
        assert_eq!(mpi(&plain), mpi(&skewed));
    }

    #[test]
    fn every_io_server_is_equally_likely_to_be_hot() {
        // Seeds 1 to 3200, two of 64 servers: 100 times each are expected. By racks, as each run draws its own servers.
        let mix = MpiIo { hot: Hot { servers: 2, clients: 128 }, ..paper(64) };
        let mut seen = [0u32; 64];
        for seed in 1..=3200 {
            let placement = mix.place(&GROUP, seed);
            let hot = &mix.by_heat(&placement, &GROUP, seed)[..2];
            for (place, server) in placement.io_servers.iter().enumerate() {
                seen[place] += u32::from(hot.contains(server));
            }
        }
        assert_eq!(seen.iter().sum::<u32>(), 6400);
        let chi_square: f64 = seen.iter().map(|&n| (f64::from(n) - 100.0).powi(2) / 100.0).sum();
        // 63 degrees of freedom: 0.1 % of draws are above 103.4.
        assert!(chi_square < 103.4, "{chi_square}");
    }

    #[test]
    fn four_io_servers_stand_in_each_rack_and_no_host_has_two_parts() {
        for (rack, servers, mpi) in [(64, 64, 704), (8, 512, 256)] {
            let placement = paper(rack).place(&GROUP, 1);
            let in_rack = |r: u32| placement.io_servers.iter().filter(|&&host| host / rack == r).count();
            assert!((0..1024 / rack).all(|r| in_rack(r) == 4));
            assert_eq!((placement.io_servers.len(), placement.io_clients.len()), (servers, 256));
            assert_eq!((placement.mpi_clients.len(), placement.mpi_servers.len()), (mpi / 2, mpi / 2));
            let Placement { io_servers, io_clients, mpi_servers, mpi_clients } = placement;
            let all: BTreeSet<u32> =
                [io_servers, io_clients, mpi_servers, mpi_clients].concat().into_iter().collect();
            assert_eq!(all.len(), 1024);
        }
    }

    #[test]
    fn of_80_000_messages_8_000_are_io_between_io_hosts_and_the_others_mpi() {
        let mix = paper(64);
        let (flows, placement) = (mix.flows(&GROUP, 1), mix.place(&GROUP, 1));
        assert_eq!(flows.len(), 80_000);
        let (io, mpi): (Vec<&Flow>, Vec<&Flow>) = flows.iter().partition(|f| f.size.get() >= 512 * 1024);
        assert_eq!(io.len(), 8_000);
        let between = |flows: &[&Flow], from: &[u32], to: &[u32]| {
            flows.iter().all(|f| from.contains(&f.src) && to.contains(&f.dst))
        };
        assert!(between(&io, &placement.io_clients, &placement.io_servers));
        assert!(between(&mpi, &placement.mpi_clients, &placement.mpi_servers));
        let sizes: BTreeSet<u64> = flows.iter().map(|f| f.size.get() / 1024).collect();
        assert_eq!(sizes, BTreeSet::from([2, 4, 8, 16, 32, 512, 1024, 2048, 4096]));
    }

    #[test]
    fn all_messages_of_a_client_go_to_one_server_and_clients_send_equally_many() {
        let mut pairs = BTreeMap::new();
        for flow in paper(64).flows(&GROUP, 1) {
            *pairs.entry((flow.src, flow.dst)).or_insert(0u32) += 1;
        }
        // 256 + 352 clients; 8000/256 = 31.25 and 72 000/352 = 204.5 messages
        assert_eq!(pairs.len(), 608);
        let counts: BTreeSet<u32> = pairs.into_values().collect();
        assert_eq!(counts, BTreeSet::from([31, 32, 204, 205]));
    }

    #[test]
    fn with_three_connections_a_client_has_three_servers() {
        let mix = MpiIo { connections: 3, ..paper(64) };
        let mut servers: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for flow in mix.flows(&GROUP, 1) {
            servers.entry(flow.src).or_default().insert(flow.dst);
        }
        // a server is left out by all of 31 messages with probability (2/3)^31 = 3e-6
        assert!(servers.values().all(|servers| servers.len() == 3));
    }

    #[test]
    fn the_seed_fixes_the_messages() {
        let flows = |seed| paper(8).flows(&GROUP, seed);
        assert_eq!(flows(1), flows(1));
        assert_ne!(flows(1), flows(2));
        assert_ne!(paper(8).place(&GROUP, 1), paper(8).place(&Group { id: 5, ..GROUP }, 1));
    }

    #[test]
    fn poisson_messages_come_uniformly_over_the_span_and_even_ones_at_equal_distances() {
        let starts = |arrivals| -> Vec<u64> {
            let flows = MpiIo { arrivals, ..paper(64) }.flows(&GROUP, 1);
            let io = flows.iter().filter(|f| f.src == flows[0].src);
            let mut starts: Vec<u64> = io.map(|f| f.start.since(GROUP.start).as_ps()).collect();
            starts.sort_unstable();
            starts
        };
        let span = Span::from_ms(32);
        let even = starts(Arrivals::Even(span));
        assert_eq!(even.len(), 32);
        // 32 messages in 32 ms, rounded down to the picosecond
        assert!(even.windows(2).all(|pair| (pair[1] - pair[0]).abs_diff(1_000_000_000) <= 1));
        assert!(even[0] < 1_000_000_000);
        let all = MpiIo { arrivals: Arrivals::Poisson(span), ..paper(64) }.flows(&GROUP, 1);
        let mean = all.iter().map(|f| f.start.since(GROUP.start).as_ps() as f64).sum::<f64>() / 80_000.0;
        // uniform over 32 ms: standard deviation 9.2 ms, of the mean 33 us; five of them
        assert!((mean / 1e9 - 16.0).abs() < 0.165, "{mean}");
        assert!(all.iter().all(|f| f.start.since(GROUP.start) < span));
        assert!(starts(Arrivals::AtOnce).iter().all(|&start| start == 0));
    }

    #[test]
    fn a_load_of_5_percent_of_1024_links_of_32_gbps_is_offered_in_79_ms() {
        // 8000 · 1 966 080 B + 72 000 · 7475.2 B = 16.267 GB; 0.05 · 1024 · 4 GB/s = 204.8 GB/s
        let span = MpiIo::span_for(8_000, 72_000, 0.05, Rate::from_gbps(32 * 1024));
        assert!((span.as_secs_f64() - 0.079_428).abs() < 1e-5, "{span}");
        let offered: u64 = paper(64).flows(&GROUP, 1).iter().map(|f| f.size.get()).sum();
        assert!((offered as f64 / 16.267e9 - 1.0).abs() < 0.03, "{offered}");
    }

    #[test]
    fn where_nobody_may_receive_nothing_is_sent() {
        let mix = MpiIo { racks: vec![vec![0, 1, 2, 3]], io_clients: 0, mpi_clients: 0, ..paper(64) };
        assert!(mix.flows(&GROUP, 1).is_empty());
    }
}
