//! Flows that are added while the run stands still.
use std::sync::Arc;

use backwater_topology::Network;
use backwater_traffic::{Flow, OWN_CONNECTION};
use backwater_units::Time;

use crate::switch::forwarding::ecmp::{links, renewed};
use crate::transport::roce::window::hops_on;
use crate::world::{World, packets};

impl World {
    /// Adds flows after all others, each with a queue pair of its own, or as PUTs of the stream of its ends; `slots` are those of its
    /// sender and its receiver. Returns the streams that begin with them, by flow.
    pub(crate) fn add_flows(
        &mut self,
        flows: &[Flow],
        slots: &[(u32, u32)],
        network: &Network,
    ) -> Vec<Option<u32>> {
        let (first, count) = (self.flows.len() as u32, flows.len() as u32);
        let blames = !self.last_packet.is_empty();
        if first == 0 {
            self.last_packet.clear();
        }
        let (begun, firsts) = self.add_to_streams(flows);
        let flows = &self.flows[first as usize..];
        self.sender_slot.extend(slots.iter().map(|(sender, _)| *sender));
        self.receiver_slot.extend(slots.iter().map(|(_, receiver)| *receiver));
        self.groups = flows.iter().map(|flow| flow.group + 1).fold(self.groups, u16::max);
        let by_number = self.path_keys == self.firsts;
        // Numbers that others have taken their paths by stay theirs.
        let free = self.path_keys.iter().max().map_or(0, |key| key + 1).max(first);
        let key = |of: &u32| if *of < first { self.path_key(*of) } else { free + (*of - first) };
        let keys: Vec<u32> = firsts.iter().map(key).collect();
        let shares = !self.firsts.is_empty() || !(first..).eq(firsts.iter().copied());
        if shares || !self.path_keys.is_empty() {
            self.path_keys = longer(&self.path_keys, first, &keys);
        }
        if shares {
            self.firsts = longer(&self.firsts, first, &firsts);
        }
        if !self.bases.is_empty() {
            self.bases = longer(&self.bases, first, &vec![0; count as usize]);
        }
        if self.pairs.iter().any(|pair| pair.reliable.is_some()) {
            self.repeated.add(flows.len());
        }
        if let Some(&kind) = self.hashes.first().filter(|_| by_number) {
            // Ports of flows that have not begun may change by this, as if these had been known before. What others start may have
            // begun: it keeps its ports.
            let mut renewed = renewed(kind, network, self.seed, &self.flows).to_vec();
            for (index, hash) in self.hashes.iter().enumerate() {
                if self.flows[index].start == Time::MAX {
                    renewed[index] = *hash;
                }
            }
            self.hashes = renewed.into();
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
        if let Some(mut ways) = self.ways.take() {
            ways.renew(self, network);
            self.ways = Some(ways);
        }
        begun
    }

    /// Adds flows, PUTs as those of their streams: by flow the stream that begins with it, and the first flow of its stream or queue pair.
    fn add_to_streams(&mut self, flows: &[Flow]) -> (Vec<Option<u32>>, Vec<u32>) {
        let first = self.flows.len() as u32;
        let Some(streams) = &mut self.streams else {
            self.flows.extend_from_slice(flows);
            return (vec![None; flows.len()], (first..first + flows.len() as u32).collect());
        };
        let connections = self.flows.iter().map(|flow| flow.connection);
        let last = connections.filter(|number| *number != OWN_CONNECTION).max();
        let mut next = last.map_or(0, |last| last + 1);
        let each = (first..).zip(flows).map(|(index, flow)| {
            let Some((number, is_new)) = streams.add(flow, self.classes.class(flow.priority)) else {
                self.flows.push(*flow);
                return (None, index);
            };
            let first = streams.stream(number).flow;
            let connection = if is_new { next } else { self.flows[first as usize].connection };
            next += u32::from(is_new);
            self.flows.push(Flow { connection, ..*flow });
            (Some(number).filter(|_| is_new), first)
        });
        each.unzip()
    }
}

/// A list with more for the flows after those before `first`. One that is empty had their own numbers.
fn longer(list: &[u32], first: u32, more: &[u32]) -> Arc<[u32]> {
    let own = if list.is_empty() { 0..first } else { 0..0 };
    own.chain(list.iter().copied()).chain(more.iter().copied()).collect()
}
