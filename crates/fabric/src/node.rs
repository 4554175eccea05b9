//! A node of the fabric as the engine sees it.
use std::io;

use backwater_engine::{Key, Keys, Node, Place, Post, Saved, Trajectory, Window};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::gates::{Scope, Wait};
use crate::link::ports::Ports;
use crate::nic::host::Host;
use crate::nic::receive_queue::Endpoint;
use crate::packet::Packet;
use crate::switch::Switch;
use crate::switch::batch::Batch;
use crate::world::World;

#[derive(Clone)]
pub(crate) enum FabricNode {
    Host(Box<Host>),
    Switch(Box<Switch>),
}

impl FabricNode {
    #[inline]
    pub(crate) fn ports(&self) -> &Ports {
        match self {
            Self::Host(host) => host.ports(),
            Self::Switch(switch) => switch.ports(),
        }
    }

    #[inline]
    pub(crate) fn ports_mut(&mut self) -> &mut Ports {
        match self {
            Self::Host(host) => host.ports_mut(),
            Self::Switch(switch) => switch.ports_mut(),
        }
    }

    /// Bytes of state for its ports: hot, cold, queues and accounts, without the packets.
    pub(crate) fn state_bytes(&self) -> usize {
        let ports = self.ports().state_bytes();
        match self {
            Self::Host(_) => ports,
            Self::Switch(switch) => ports + switch.state_bytes(),
        }
    }

    /// Packets on their way across a crossbar.
    pub(crate) fn crossing(&self) -> Vec<Packet> {
        match self {
            Self::Host(_) => Vec::new(),
            Self::Switch(switch) => switch.crossing(),
        }
    }

    /// What its closed gates wait for.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        match self {
            Self::Host(host) => host.ports().waits().collect(),
            Self::Switch(switch) => switch.waits(),
        }
    }

    /// What a node does not take in by a port, as its upstream gate is notified, waits for: closed or open, (node, port, what of it). A
    /// host waits for nobody else.
    pub(crate) fn waits_for(&self, ingress: u16, scope: Scope, world: &World) -> Vec<(u32, u16, Scope)> {
        let Self::Switch(switch) = self else { return Vec::new() };
        let node = switch.ports().node();
        switch.waits_for(ingress, scope, world).map(|(port, scope)| (node, port, scope)).collect()
    }

    /// Sizes of the packets of a switch that may be next to pass a gate; what waits at a gate of a host is not made yet.
    pub(crate) fn first_sizes(&self, port: u16, class: u8) -> impl Iterator<Item = u16> {
        let switch = if let Self::Switch(switch) = self { Some(switch) } else { None };
        switch.into_iter().flat_map(move |switch| switch.first_sizes(switch.ports().at(port, class)))
    }

    /// Slots for packets that wait, and their bytes.
    pub(crate) fn slots(&self) -> (usize, usize) {
        let pool = self.ports().pool();
        let (slots, bytes) = match self {
            Self::Host(host) => host.endpoint().map_or((0, 0), Endpoint::slots),
            Self::Switch(_) => (0, 0),
        };
        (pool.slots() + slots, pool.memory() + bytes + self.ports().extensions().memory())
    }

    /// Records per sampling instant.
    pub(crate) fn observed(&self, world: &World) -> u64 {
        let queues = self.ports().sampled() as u64 * u64::from(world.classes.count - 1);
        match self {
            Self::Host(host) => queues + host.observed(world),
            Self::Switch(_) => queues,
        }
    }

    /// The run ends `now`: what crowds its ports is recorded as far as it has come.
    pub(crate) fn close_crowds(&mut self, now: u64, world: &World) {
        match self {
            Self::Host(host) => host.close_crowds(now, world),
            Self::Switch(switch) => switch.close_crowds(now, world),
        }
    }

    /// Records the periods of what a host got, and of its receive queue, that are over at `now`, and the open one if the run `ends`.
    pub(crate) fn close_periods<P: Post<Packet>>(&mut self, ends: bool, cx: &mut Ctx<'_, P>) {
        if let Self::Host(host) = self {
            host.close_periods(ends, cx);
        }
    }

    /// Takes the samples that are due up to and including `now`, although no event wakes the node.
    pub(crate) fn sample_until<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        match self {
            Self::Host(host) => host.sample_until(cx),
            Self::Switch(switch) => switch.ports_mut().sample_until(cx),
        }
    }
}

/// The part of [`Node`] that hosts and switches have in common.
macro_rules! node_of_ports {
    ($($ports:ident).+) => {
        type Message = Packet;
        type World = World;
        type Scratch = Batch;

        #[inline]
        fn local_key(&self) -> Key {
            self.$($ports).+.next()
        }
        #[inline]
        fn rank(&self, port: u16) -> u16 {
            self.$($ports).+.rank(port)
        }
        fn placed(&mut self, places: &[Place]) {
            self.$($ports).+.place(places);
        }
        fn extension(&mut self, packet: &Packet, extension: &[u8]) {
            self.$($ports).+.extensions_mut().put(packet, extension);
        }
        fn trajectory(&self) -> &Trajectory {
            self.$($ports).+.trajectory()
        }
    };
}
pub(crate) use node_of_ports;

impl Saved for FabricNode {
    fn save(&self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Host(host) => host.serialize(out),
            Self::Switch(switch) => switch.save(out),
        }
    }
    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        match self {
            Self::Host(host) => *host = BorshDeserialize::deserialize(from)?,
            Self::Switch(switch) => switch.load(from)?,
        }
        Ok(())
    }
}

impl Node for FabricNode {
    type Message = Packet;
    type World = World;
    type Scratch = Batch;

    #[inline]
    fn local_key(&self) -> Key {
        self.ports().next()
    }
    fn fire<P: Post<Packet>>(&mut self, key: Key, world: &World, post: &mut P) {
        match self {
            Self::Host(host) => host.fire(key, world, post),
            Self::Switch(switch) => switch.fire(key, world, post),
        }
    }
    fn receive<P: Post<Packet>>(&mut self, packet: &Packet, world: &World, post: &mut P) {
        if world.is_watched {
            let cx = &mut Ctx { now: packet.time, world, post };
            if self.ports_mut().watch(std::slice::from_ref(packet), u64::MAX, cx).is_some() {
                return;
            }
        }
        match self {
            Self::Host(host) => host.receive(packet, world, post),
            Self::Switch(switch) => switch.receive(packet, world, post),
        }
    }
    fn rank(&self, port: u16) -> u16 {
        self.ports().rank(port)
    }
    fn placed(&mut self, places: &[Place]) {
        match self {
            Self::Host(host) => {
                host.placed(places);
                host.place_jobs(places);
            }
            Self::Switch(switch) => switch.placed(places),
        }
    }
    fn extension(&mut self, packet: &Packet, extension: &[u8]) {
        self.ports_mut().extensions_mut().put(packet, extension);
    }
    fn neighbour(&self, port: u16) -> Option<u32> {
        self.ports().peer(port)
    }
    fn trajectory(&self) -> &Trajectory {
        self.ports().trajectory()
    }
    #[inline]
    fn run<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        window: Window,
        keys: &mut Keys,
        batch: &mut Batch,
        world: &World,
        post: &mut P,
    ) {
        match self {
            Self::Host(host) => host.run(arrivals, window, keys, batch, world, post),
            Self::Switch(switch) => switch.run(arrivals, window, keys, batch, world, post),
        }
    }
    fn close_period(&mut self) {
        if let Self::Switch(switch) = self {
            switch.close_period();
        }
    }
}
