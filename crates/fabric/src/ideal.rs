//! The flow completion time of a flow that has the network to itself: exact store-and-forward arithmetic.
use backwater_topology::{Network, Port, flow_hash};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span};

use crate::switch::salt;
use crate::world::World;

/// The base of the slowdown in the TCD authors' FCT scripts: the payload at the rate of the source's link, plus the
/// propagation of the path; no headers, no store-and-forward. Zero for flows of unknown size.
pub(crate) fn analytic_fct(index: u32, flow: &Flow, network: &Network, world: &World) -> Span {
    if flow.known_size().is_none() {
        return Span::ZERO;
    }
    let links = links(index, flow, network, world);
    let propagation = links.iter().map(|link| link.delay.as_ps()).sum();
    Span::from_ps(propagation) + links[0].rate.serialize(flow.size)
}

/// The links of a flow's path.
fn links<'a>(index: u32, flow: &Flow, network: &'a Network, world: &World) -> Vec<&'a Port> {
    let key = world.path_key(index);
    let hash_of = |node| flow_hash(key, false, salt(world.seed, node));
    let path = world.routes.path(network, flow.src, flow.dst, hash_of);
    path.into_iter().map(|(node, port)| &network.ports(node)[usize::from(port)]).collect()
}

/// The same, with how much of a frame must be in at the far end before it is forwarded.
fn cut_links<'a>(index: u32, flow: &Flow, network: &'a Network, world: &World) -> Vec<(&'a Port, u64)> {
    let cut = |link: &'a Port| match world.cut(network, link) {
        Some(header) => (link, link.rate.serialize(header).as_ps()),
        None => (link, u64::MAX),
    };
    links(index, flow, network, world).into_iter().map(cut).collect()
}

/// FCT of `flow` (number `index`) alone: from its start to its last byte at the receiver; zero for flows of unknown size.
///
/// With `s(i)` the serialisation time of a full packet on link `i`, `d(i)` its delay, `l(i)` how much of it must be in before
/// the next switch forwards it (all of it, `s(i)`, unless the switch cuts through) and `n` packets, the last full packet but
/// one of them starts on link `h` at `Σ (l(i) + d(i)) + (n-2)·max s(j)`, i < h, j ≤ h (equal jobs in a permutation flow shop);
/// the last, shorter one follows `S(h) = max(S(h-1) + l'(h-1) + d(h-1), full(h) + s(h))` and is complete `s'(H) + d(H)` after
/// its start on the last link.
pub(crate) fn fct(index: u32, flow: &Flow, network: &Network, world: &World) -> Span {
    if flow.known_size().is_none() {
        return Span::ZERO;
    }
    let packets = u64::from(world.packets(flow));
    let last = u64::from(world.last_payload(flow)) + u64::from(world.header);
    let full = u64::from(world.payload) + u64::from(world.header);
    let spaced = |rate: Rate, size: u64| rate.serialize(Bytes::new(size)).as_ps();
    // When the source may start the last packet, if its application spaces the packets wider than the link.
    let mut last_start = match flow.pacing {
        Pacing::Constant { rate, .. } => spaced(rate, full) * (packets - 1),
        _ => 0,
    };
    let (mut way, mut slowest, mut done) = (0, 0, 0);
    for (link, cut) in cut_links(index, flow, network, world) {
        let (s, delay) = (spaced(link.rate, full), link.delay.as_ps());
        slowest = slowest.max(s);
        if packets > 1 {
            last_start = last_start.max(way + (packets - 2) * slowest + s);
        }
        done = last_start + spaced(link.rate, last) + delay;
        last_start += spaced(link.rate, last).min(cut) + delay;
        way += s.min(cut) + delay;
    }
    Span::from_ps(done)
}

/// The part of [`fct`] in which the last packet of the flow (its header, where switches cut through) is on no wire and none of the flow's other packets is on the
/// first: alone, too, it waits for its application and, at later links, for longer packets before it or behind those
/// that a slower link has not sent yet.
pub(crate) fn wait(index: u32, flow: &Flow, network: &Network, world: &World) -> Span {
    if flow.known_size().is_none() {
        return Span::ZERO;
    }
    let packets = u64::from(world.packets(flow));
    let header = u64::from(world.header);
    let last = u64::from(world.last_payload(flow)) + header;
    let links = cut_links(index, flow, network, world);
    let full = Bytes::new(u64::from(world.payload) + header);
    let before = links[0].0.rate.serialize(full).as_ps() * (packets - 1);
    let on_link = |(link, cut): &(&Port, u64)| {
        link.rate.serialize(Bytes::new(last)).as_ps().min(*cut) + link.delay.as_ps()
    };
    let way: u64 = links.iter().map(on_link).sum();
    Span::from_ps(fct(index, flow, network, world).as_ps() - before - way)
}
