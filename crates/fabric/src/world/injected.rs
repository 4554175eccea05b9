//! Flows that are added while the run stands still.
use std::sync::Arc;

use backwater_topology::Network;
use backwater_traffic::Flow;
use backwater_units::Time;

use crate::switch::forwarding::ecmp::{five_tuples, links};
use crate::transport::roce::window::hops_on;
use crate::world::{World, packets};

impl World {
    /// Adds flows after all others, each with a queue pair of its own; `slots` are those of its sender and its receiver.
    pub(crate) fn add_flows(&mut self, flows: &[Flow], slots: &[(u32, u32)], network: &Network) {
        let (first, count) = (self.flows.len() as u32, flows.len() as u32);
        let blames = !self.last_packet.is_empty();
        if first == 0 {
            self.last_packet.clear();
        }
        self.flows.extend_from_slice(flows);
        self.sender_slot.extend(slots.iter().map(|(sender, _)| *sender));
        self.receiver_slot.extend(slots.iter().map(|(_, receiver)| *receiver));
        self.groups = flows.iter().map(|flow| flow.group + 1).fold(self.groups, u16::max);
        let by_number = self.path_keys == self.firsts;
        // Numbers that others have taken their paths by stay theirs.
        let free = self.path_keys.iter().max().map_or(0, |key| key + 1).max(first);
        extend(&mut self.path_keys, free..free + count);
        extend(&mut self.firsts, first..first + count);
        extend(&mut self.bases, (0..count).map(|_| 0));
        if self.pairs.iter().any(|pair| pair.reliable.is_some()) {
            self.repeated.add(flows.len());
        }
        if !self.hashes.is_empty() && by_number {
            // Ports of flows that have not begun may change by this, as if these had been known before. What others start may have
            // begun: it keeps its ports.
            let mut renewed = five_tuples(network, self.seed, &self.flows).to_vec();
            for (index, hash) in self.hashes.iter().enumerate() {
                if self.flows[index].start == Time::MAX {
                    renewed[index] = *hash;
                }
            }
            self.hashes = renewed.into();
        }
        if let Some(streams) = &mut self.streams {
            streams.add_others(flows.len());
        }
        if blames {
            self.last_packet.extend(flows.iter().map(|flow| packets(flow, self.payload) - 1));
        }
        if self.pairs.iter().any(|pair| pair.reaction.has_window()) {
            let ways = (network, &self.routes);
            let hops = |(index, flow): (u32, &Flow)| {
                hops_on(&links(ways, self.seed, &self.hashes, self.key_of(index), flow))
            };
            let hops: Vec<u8> = (first..).zip(flows).map(hops).collect();
            self.hops.extend(hops);
        }
    }
}

/// Adds to a list that is empty where nobody needs it.
fn extend(list: &mut Arc<[u32]>, more: impl Iterator<Item = u32>) {
    if !list.is_empty() {
        *list = list.iter().copied().chain(more).collect();
    }
}
