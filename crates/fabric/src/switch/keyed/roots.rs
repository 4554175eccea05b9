//! The ways of flows as Pyrrha and RECN look at them: the egress ports of switches, any of which may be a root.
use backwater_control::isolation::recn::Aside;
use backwater_topology::Network;
use backwater_traffic::Flow;

use crate::link::holds::{parts, root};
use crate::spec::{Queueing, Spec};
use crate::switch::forwarding::ecmp::{PathKey, links, rails};
use crate::world::World;

/// The egress ports on the way of each flow, and how far each node is from the nearest host.
#[derive(Clone)]
pub(crate) struct Ways {
    of_flow: Vec<Box<[u32]>>,
    tiers: Vec<u32>,
}

impl Ways {
    /// Of flows whose ways are chosen by these keys, or by their own numbers; `None`: nobody asks.
    pub(crate) fn new(spec: &Spec, flows: &[Flow], path_keys: &[u32]) -> Option<Self> {
        let by_roots = match spec.switch.queueing {
            Queueing::Pyrrha(_) => true,
            Queueing::Recn(spec) => spec.rules.aside == Aside::Root,
            _ => false,
        };
        if !by_roots {
            return None;
        }
        let rails = rails(spec);
        let number = |index: u32| path_keys.get(index as usize).copied().unwrap_or(index);
        let key = |index: u32| PathKey::new(index, number(index), &rails);
        let network = &spec.network;
        let way = |(index, flow)| {
            ports(&links((network, &spec.routes), spec.seed, &spec.switch.hashes, key(index), flow))
        };
        Some(Self { of_flow: (0..).zip(flows).map(way).collect(), tiers: network.tiers() })
    }

    /// Those of all flows of a world, which may be more than before and take other ways.
    pub(crate) fn renew(&mut self, world: &World, network: &Network) {
        let way = |(index, flow)| {
            ports(&links((network, &world.routes), world.seed, &world.hashes, world.key_of(index), flow))
        };
        self.of_flow = (0..).zip(&world.flows).map(way).collect();
    }

    /// The egress ports on the way of a flow, the first one first.
    pub(crate) fn of(&self, flow: u32) -> &[u32] {
        &self.of_flow[flow as usize]
    }

    /// Those beyond a switch.
    pub(super) fn beyond(&self, flow: u32, node: u32) -> &[u32] {
        let way = self.of(flow);
        let here = way.iter().position(|hop| parts(*hop).0 == node);
        &way[here.map_or(0, |here| here + 1)..]
    }

    /// By port of a node whether it leads to a host or a lower tier, and whether to a higher one.
    pub(super) fn directions(&self, network: &Network, node: u32) -> Vec<(bool, bool)> {
        let own = self.tiers[node as usize];
        let of = |peer: u32| (self.tiers[peer as usize] < own, self.tiers[peer as usize] > own);
        network.ports(node).iter().map(|port| of(port.peer)).collect()
    }
}

/// The links of a way that begin at switches.
fn ports(links: &[(u32, u16)]) -> Box<[u32]> {
    links.iter().skip(1).map(|(node, port)| root(*node, *port)).collect()
}
