//! No progress: hosts that will never drain what waits in their receive queues.
use std::collections::BTreeSet;

use backwater_topology::Network;
use backwater_units::Bytes;

use super::Endpoint;
use crate::host::Host;
use crate::violation::Stuck;
use crate::world::World;

/// The hosts whose first packet will never be drained, with what waits there and for whom.
pub(crate) fn hosts<'a>(
    endpoints: impl Iterator<Item = (&'a Host, &'a Endpoint)>,
    network: &Network,
    world: &World,
) -> Vec<Stuck> {
    let host_name = |index: u32| network.name(network.hosts()[index as usize]);
    let flow = |index: u32| {
        let ends = &world.flows[index as usize];
        format!("flow {index} ({} to {})", host_name(ends.src), host_name(ends.dst))
    };
    let words = |(host, endpoint): (&Host, &Endpoint)| {
        let packets = endpoint.stuck()?;
        let flows: BTreeSet<u32> = endpoint.iter().map(|packet| packet.flow).collect();
        let unfinished = host.receivers.iter().filter(|receiver| receiver.finish == u64::MAX).count();
        Some(Stuck {
            host: network.name(host.ports.node).to_owned(),
            packets,
            held: Bytes::new(endpoint.held()),
            flows: flows.into_iter().map(flow).collect(),
            unfinished: unfinished as u64,
        })
    };
    endpoints.filter_map(words).collect()
}
