//! Flows that are added while a run stands between two steps.
use std::ops::Range;
use std::sync::Arc;

use backwater_traffic::Flow;

use crate::node::FabricNode;
use crate::simulation::{Course, End, Simulation, steps_of};

impl Simulation {
    /// Adds flows of known size, each with a queue pair of its own or in the stream of its PUTs, that start now or later; returns their
    /// numbers. The outcome is that of a run in which they were the last ones from the beginning: what a flow draws, its path and its place
    /// among flows that start at one instant go by its number. But the ACKs of a new stream of PUTs ride on the stream that goes the other
    /// way only from now on.
    ///
    /// The caller has checked them as those of a [`crate::Spec`]; their priorities are in use, and no stream of PUTs
    /// [holds them up](Self::holds_up).
    pub fn inject(&mut self, course: &mut Course, flows: &[Flow]) -> Range<u32> {
        let first = self.world.flows.len() as u32;
        let hosts = self.network.hosts();
        let mut slots = Vec::with_capacity(flows.len());
        {
            let mut used: Vec<u32> = flows.iter().flat_map(|flow| [flow.src, flow.dst]).collect();
            used.sort_unstable();
            used.dedup();
            let counts = |index: u32| {
                let host = self.host(index)?;
                Some((index, (host.senders().len() as u32, host.receivers().len() as u32)))
            };
            let known = self.gather(used.into_iter().filter_map(counts).collect(), |(host, _)| *host);
            let ends = |host: u32| {
                let at = known.binary_search_by_key(&host, |(known, _)| *known);
                known[at.expect("each host is in a process")].1
            };
            let mut more = std::collections::BTreeMap::<u32, (u32, u32)>::new();
            for flow in flows {
                let sender = ends(flow.src).0 + more.get(&flow.src).map_or(0, |more| more.0);
                let receiver = ends(flow.dst).1 + more.get(&flow.dst).map_or(0, |more| more.1);
                more.entry(flow.src).or_default().0 += 1;
                more.entry(flow.dst).or_default().1 += 1;
                slots.push((sender, receiver));
            }
        }
        let now = self.engine.now().as_ps();
        let world = Arc::make_mut(&mut self.world);
        let begun = world.add_flows(flows, &slots, &self.network);
        for ((index, flow), stream) in (first..).zip(flows).zip(begun) {
            let (src, dst) = (hosts[flow.src as usize], hosts[flow.dst as usize]);
            if let Some(source) = self.engine.node_mut(src) {
                source.add_sender(index, stream, now, world);
            }
            if let Some(destination) = self.engine.node_mut(dst) {
                destination.add_receiver(index, stream, world);
            }
            self.engine.changed(src);
            self.goal += steps_of(index, world);
        }
        if !world.path_keys.is_empty() || !world.hashes.is_empty() {
            self.engine.each_node(|_, node| {
                if let FabricNode::Switch(switch) = node {
                    switch.learn_flows(world);
                }
            });
        }
        if flows.iter().any(|flow| world.samples_rate(flow)) {
            course.stretch = self.stretch();
        }
        course.end = course.end.filter(|end| *end != End::Finished);
        first..first + flows.len() as u32
    }

    /// The flows that were injected, in the order of their numbers.
    pub fn injected(&self) -> &[Flow] {
        &self.world.flows[self.given as usize..]
    }

    /// Whether a flow would wait for ever: its stream of PUTs sends flow after flow, and one before it has no end.
    pub fn holds_up(&self, flow: &Flow) -> bool {
        self.world.streams.as_ref().is_some_and(|streams| streams.holds_up(flow, self.world.class_of(flow)))
    }

    /// Whether flows can have this priority: some flow has it, or an ACK.
    pub fn has_priority(&self, priority: u8) -> bool {
        self.world.classes.is_used(priority) && self.world.classes.class(priority) != 0
    }
}
