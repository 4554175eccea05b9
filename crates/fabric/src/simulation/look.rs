//! A look at a run from another thread, while it goes on.
use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::node::{FabricNode, HostRef};
use crate::simulation::Simulation;

/// Ports that a look has at most.
const PORTS: usize = 8;

/// Where looks are asked for and found. A run answers at the end of a window; it runs on as if nobody had looked.
#[derive(Debug, Default)]
pub struct Looks {
    wanted: AtomicBool,
    seen: Mutex<Option<Look>>,
}

impl Looks {
    /// Asks for a look, and gives the last one that there is.
    pub fn ask(&self) -> Option<Look> {
        self.wanted.store(true, Relaxed);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) const fn wanted(&self) -> &AtomicBool {
        &self.wanted
    }

    pub(crate) fn answer(&self, look: Look) {
        self.wanted.store(false, Relaxed);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(look);
    }
}

/// How a run stands.
#[derive(Clone, Debug)]
pub struct Look {
    /// The simulated time.
    pub now: Time,
    /// Packet-hops so far.
    pub packet_hops: u64,
    /// Flows that have arrived whole.
    pub flows_done: u64,
    /// The ports with the longest queues, the longest first, and then those that are held back.
    pub ports: Vec<PortLook>,
}

/// How an egress port stands, all priorities together.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub struct PortLook {
    /// The node.
    pub node: u32,
    /// The port of the node.
    pub port: u16,
    /// What waits at it.
    pub queue: Bytes,
    /// Whether a gate of it is closed.
    pub closed: bool,
    /// For how long the gate that was closed longest has been closed so far.
    pub held: Span,
}

impl Simulation {
    /// How the run stands between two stretches.
    pub(crate) fn look(&self) -> Look {
        let now = self.engine.now();
        let nodes = self.engine.nodes();
        let own = nodes.iter().flat_map(|node| ports(node, now.as_ps())).filter(is_hot).collect();
        let ports = hottest(self.engine.processes().gather(hottest(own)));
        let arrived = self.hosts().flat_map(HostRef::receivers).filter(|flow| flow.finish() != u64::MAX);
        let flows_done = self.engine.processes().sum(arrived.count() as u64);
        Look { now, packet_hops: self.packet_hops(), flows_done, ports }
    }
}

fn hottest(mut ports: Vec<PortLook>) -> Vec<PortLook> {
    let hotter = |port: &PortLook| (Reverse((port.queue, port.closed, port.held)), port.node, port.port);
    if ports.len() > PORTS {
        ports.select_nth_unstable_by_key(PORTS, hotter);
        ports.truncate(PORTS);
    }
    ports.sort_by_key(hotter);
    ports
}

fn is_hot(port: &PortLook) -> bool {
    port.queue > Bytes::ZERO || port.closed
}

fn ports(node: &FabricNode, now: u64) -> impl Iterator<Item = PortLook> {
    let ports = node.ports();
    (0..).zip(ports.all_egress()).map(move |(port, egress)| {
        let classes = || 0..ports.classes() as u8;
        let queue: u64 = classes().map(|class| u64::from(ports.queue(ports.at(port, class)).bytes())).sum();
        let held = classes().map(|class| ports.closed_for(port, class, now)).max().unwrap_or(0);
        let closed = egress.paused() != 0;
        PortLook { node: ports.node(), port, queue: Bytes::new(queue), closed, held: Span::from_ps(held) }
    })
}
