//! No progress: hosts that will never drain what waits in their receive queues.
use std::collections::{BTreeMap, BTreeSet};

use backwater_topology::Network;
use backwater_units::Bytes;

use super::Endpoint;
use crate::node::HostRef;
use crate::violation::Stuck;
use crate::world::World;

/// The hosts, by node, whose first packet will never be drained, with what waits there and for whom.
pub(crate) fn hosts<'a>(
    endpoints: impl Iterator<Item = (HostRef<'a>, &'a Endpoint)>,
    network: &Network,
    world: &World,
) -> Vec<(u32, Stuck)> {
    let host_name = |index: u32| network.name(network.hosts()[index as usize]);
    let named = |((src, dst), flows): ((u32, u32), Vec<u32>)| {
        let ends = format!("({} to {})", host_name(src), host_name(dst));
        match flows[..] {
            [flow] => format!("flow {flow} {ends}"),
            _ => format!("{} flows from flow {} on {ends}", flows.len(), flows[0]),
        }
    };
    let words = |(host, endpoint): (HostRef<'_>, &Endpoint)| {
        let packets = endpoint.stuck()?;
        let all: BTreeSet<u32> = endpoint.iter().map(|packet| packet.flow).collect();
        let mut flows: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for flow in all {
            let ends = &world.flows[flow as usize];
            flows.entry((ends.src, ends.dst)).or_default().push(flow);
        }
        let unfinished = host.receivers().iter().filter(|receiver| receiver.finish() == u64::MAX).count();
        let node = host.ports().node();
        let stuck = Stuck {
            host: network.name(node).to_owned(),
            packets,
            held: Bytes::new(endpoint.held()),
            flows: flows.into_iter().map(named).collect(),
            unfinished: unfinished as u64,
        };
        Some((node, stuck))
    };
    endpoints.filter_map(words).collect()
}
