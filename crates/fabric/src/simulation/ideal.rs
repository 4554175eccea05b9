//! The flow completion time of a flow that has the network to itself: exact store-and-forward arithmetic.
use std::collections::BTreeMap;

use backwater_topology::Network;
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span};

use crate::spec::PortRule;
use crate::switch::forwarding::ecmp::{PathKey, salt};
use crate::world::World;

/// What a flow would take alone; all zero for flows of unknown size.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ideal {
    /// From its start to its last byte at the receiver.
    pub(super) fct: Span,
    /// From its start to when its last bit has left the source.
    pub(super) sent: Span,
    /// The part of `fct` in which the last packet of the flow (its header, where switches cut through) is on no wire and none
    /// of the flow's other packets is on the first: alone, too, it waits for its application and, at later links, for longer
    /// packets before it or behind those that a slower link has not sent yet, and it crosses combined switches.
    pub(super) wait: Span,
    /// The base of the slowdown in the TCD authors' FCT scripts: the payload at the rate of the source's link, plus the
    /// propagation of the path; no headers, no store-and-forward.
    pub(super) analytic: Span,
}

/// A link, or the way from one side of a combined switch to the other: one packet at a time.
#[derive(Clone, Copy, Debug)]
struct Stage {
    rate: Rate,
    /// Whether it is within a switch.
    crossing: bool,
    /// How much faster than `rate` it is, in hundredths.
    percent: u64,
    delay: u64,
    /// How much of a frame must be in at its end before it goes on, as a time; all of it, if that is less.
    cut: u64,
}

impl Stage {
    fn time(&self, size: u64) -> u64 {
        (self.rate.serialize(Bytes::new(size)).as_ps() * 100).div_ceil(self.percent)
    }

    /// From the start of a frame to when it may go on.
    fn passes(&self, size: u64) -> u64 {
        self.time(size).min(self.cut) + self.delay
    }
}

/// The ways of flows through a network. Messages of a connection have one.
pub(crate) struct Ways<'a> {
    network: &'a Network,
    world: &'a World,
    known: BTreeMap<PathKey, Vec<Vec<Stage>>>,
}

impl<'a> Ways<'a> {
    pub(crate) fn new(network: &'a Network, world: &'a World) -> Self {
        Self { network, world, known: BTreeMap::new() }
    }

    /// Of flow number `index`.
    pub(crate) fn ideal(&mut self, index: u32, flow: &Flow) -> Ideal {
        if flow.known_size().is_none() {
            return Ideal::default();
        }
        let key = self.world.key_of(index);
        if key.is_of(index) && !self.world.has_connections() {
            return by_all(flow, &of_data(key, flow, self.network, self.world), self.world);
        }
        let (network, world) = (self.network, self.world);
        let ways = self.known.entry(key).or_insert_with(|| of_data(key, flow, network, world));
        by_all(flow, ways, world)
    }

    /// Of a message of `size` between ranks, on flow number `index`.
    pub(crate) fn message(&mut self, index: u32, size: Bytes) -> Ideal {
        let flow = Flow { size, pacing: Pacing::Controlled, ..self.world.flows[index as usize] };
        self.ideal(index, &flow)
    }

    /// What a frame of `size` needs alone on its way back to the source of flow number `index`.
    pub(crate) fn back(&self, index: u32, flow: &Flow, size: Bytes) -> Span {
        let (network, world, key) = (self.network, self.world, self.world.key_of(index));
        let came = links(key, (flow.src, flow.dst), false, None, network, world);
        let came = came.last().map(|&(node, port)| network.ports(node)[usize::from(port)].peer_port);
        let ports = world.routes.next_ports(network.hosts()[flow.dst as usize], flow.src);
        // The answer leaves by the port at which the data came, if it is on a shortest way back.
        let first = ports.iter().position(|port| Some(*port) == came);
        let way = stages(&links(key, (flow.dst, flow.src), true, first, network, world), network, world);
        let (last, before) = way.split_last().expect("a way has a link");
        let passes: u64 = before.iter().map(|stage| stage.passes(size.get())).sum();
        Span::from_ps(passes + last.time(size.get()) + last.delay)
    }
}

/// The links of the way of flow number `index`, and those of the way back, of hosts with one port.
pub(crate) fn both_ways(index: u32, flow: &Flow, network: &Network, world: &World) -> [Vec<(u32, u16)>; 2] {
    let (key, ends) = (world.key_of(index), (flow.src, flow.dst));
    [(ends, false), ((ends.1, ends.0), true)].map(|(ends, back)| links(key, ends, back, None, network, world))
}

/// The stages of the ways of the flow that has path key `key`, the source's link first: several if it is sprayed over ports.
fn of_data(key: PathKey, flow: &Flow, network: &Network, world: &World) -> Vec<Vec<Stage>> {
    let ends = (flow.src, flow.dst);
    let ports = world.routes.next_ports(network.hosts()[flow.src as usize], flow.dst).len();
    let first = |port| (world.nic.port == PortRule::Spray).then_some(port);
    let several = if world.nic.port == PortRule::Spray { ports } else { 1 };
    let links = (0..several).map(|port| links(key, ends, false, first(port), network, world));
    links.map(|links| stages(&links, network, world)).collect()
}

/// The links by which something goes from one host to another for the flow that has path key `key`; at its source by the `first` of its ports
/// that lead there, if that is given.
fn links(
    key: PathKey,
    ends: (u32, u32),
    back: bool,
    first: Option<usize>,
    network: &Network,
    world: &World,
) -> Vec<(u32, u16)> {
    let source = network.hosts()[ends.0 as usize];
    let of = |node, ways| match first.filter(|_| node == source) {
        Some(first) => first,
        None => key.way(ways, back, node == source, salt(world.seed, node, &world.hashes), &world.hashes),
    };
    world.routes.path_by(network, ends.0, ends.1, of)
}

fn stages(links: &[(u32, u16)], network: &Network, world: &World) -> Vec<Stage> {
    let mut way: Vec<Stage> = Vec::new();
    for &(node, port) in links {
        let link = &network.ports(node)[usize::from(port)];
        if let (Some(combined), Some(last)) = (&world.combined, way.last()) {
            let rate = last.rate.max(link.rate);
            way.push(Stage {
                rate,
                crossing: true,
                percent: combined.speedup_percent(),
                delay: 0,
                cut: u64::MAX,
            });
        }
        let cut = world.cut(network, link).map_or(u64::MAX, |header| link.rate.serialize(header).as_ps());
        way.push(Stage { rate: link.rate, crossing: false, percent: 100, delay: link.delay.as_ps(), cut });
    }
    way
}

/// By one way, or sprayed over several.
fn by_all(flow: &Flow, ways: &[Vec<Stage>], world: &World) -> Ideal {
    if let [way] = ways { alone(flow, way, world) } else { sprayed(flow, ways, world) }
}

/// Packet by packet: each leaves by the port, of those that are idle, whose turn it is, no sooner after the one before it than the ports
/// together take for that. Where ways meet they count as if each had the link for itself.
fn sprayed(flow: &Flow, ways: &[Vec<Stage>], world: &World) -> Ideal {
    let packets = u64::from(world.packets(flow));
    let (header, payload) = (u64::from(world.header), u64::from(world.payload));
    let line = Rate::from_bps(ways.iter().map(|way| way[0].rate.as_bps()).sum());
    let spaced = |size| match flow.pacing {
        Pacing::Constant { rate, .. } => rate.serialize(Bytes::new(size)),
        _ => line.serialize(Bytes::new(size)),
    };
    // When each link has sent what it was given.
    let mut free: Vec<Vec<u64>> = ways.iter().map(|way| vec![0; way.len()]).collect();
    let (mut turn, mut due, mut done, mut under_way) = (0, 0, 0, 0);
    for number in 1..=packets {
        let size = header + if number == packets { u64::from(world.last_payload(flow)) } else { payload };
        let idle = free.iter().map(|links| links[0]).min().unwrap_or(0);
        let start = due.max(idle);
        let in_turn = (turn..turn + ways.len()).map(|port| port % ways.len());
        let port = in_turn.into_iter().find(|port| free[*port][0] <= start).unwrap_or(0);
        (turn, due, under_way) = (port + 1, start + spaced(size).as_ps(), 0);
        let (mut at, mut came) = (start, start);
        for (stage, free) in ways[port].iter().zip(&mut free[port]) {
            at = at.max(*free);
            *free = at + stage.time(size);
            came = *free + stage.delay;
            at += stage.passes(size);
            under_way += if stage.crossing { 0 } else { stage.passes(size) };
        }
        done = done.max(came);
    }
    let sent = free.iter().map(|links| links[0]).max().unwrap_or(0);
    let before = line.serialize(Bytes::new(header + payload)).as_ps() * (packets - 1);
    let propagation: u64 = ways[0].iter().map(|stage| stage.delay).sum();
    Ideal {
        fct: Span::from_ps(done),
        sent: Span::from_ps(sent),
        wait: Span::from_ps(done - before - under_way),
        analytic: Span::from_ps(propagation) + line.serialize(flow.size),
    }
}

/// With `s(i)` the time of a full packet on stage `i`, `d(i)` its delay, `l(i)` how much of it must be in before it goes on
/// (all of it, `s(i)`, unless the next switch cuts through) and `n` packets, the last full packet but one of them starts on
/// stage `h` at `Σ (l(i) + d(i)) + (n-2)·max s(j)`, i < h, j ≤ h (equal jobs in a permutation flow shop); the last, shorter
/// one follows `S(h) = max(S(h-1) + l'(h-1) + d(h-1), full(h) + s(h))` and is complete `s'(H) + d(H)` after its start on the
/// last stage.
fn alone(flow: &Flow, way: &[Stage], world: &World) -> Ideal {
    let packets = u64::from(world.packets(flow));
    let last = u64::from(world.last_payload(flow)) + u64::from(world.header);
    let full = u64::from(world.payload) + u64::from(world.header);
    // When the source may start the last packet, if its application spaces the packets wider than the link.
    let mut last_start = match flow.pacing {
        Pacing::Constant { rate, .. } => rate.serialize(Bytes::new(full)).as_ps() * (packets - 1),
        _ => 0,
    };
    let (mut ahead, mut slowest, mut sent, mut done, mut under_way) = (0, 0, 0, 0, 0);
    for (number, stage) in way.iter().enumerate() {
        let s = stage.time(full);
        slowest = slowest.max(s);
        if packets > 1 {
            last_start = last_start.max(ahead + (packets - 2) * slowest + s);
        }
        if number == 0 {
            sent = last_start + stage.time(last);
        }
        done = last_start + stage.time(last) + stage.delay;
        last_start += stage.passes(last);
        ahead += stage.passes(full);
        if !stage.crossing {
            under_way += stage.passes(last);
        }
    }
    let before = way[0].time(full) * (packets - 1);
    let propagation: u64 = way.iter().map(|stage| stage.delay).sum();
    Ideal {
        fct: Span::from_ps(done),
        sent: Span::from_ps(sent),
        wait: Span::from_ps(done - before - under_way),
        analytic: Span::from_ps(propagation) + way[0].rate.serialize(flow.size),
    }
}
