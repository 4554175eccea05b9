//! A node of the fabric as the engine sees it.
use std::io;

use backwater_engine::{Key, Keys, Node, Place, Post, Saved, Trajectory, Window};
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::ranks::Ranks;
use crate::app::steps::Steps;
use crate::ctx::Ctx;
use crate::link::gates::{Scope, Wait};
use crate::link::ports::Ports;
use crate::nic::host::Host;
use crate::nic::nics::{Nics, OnePort, SeveralPorts};
use crate::nic::pft::Throttle;
use crate::nic::receive_queue::Endpoint;
use crate::nic::reorder::Counts;
use crate::packet::Packet;
use crate::switch::Switch;
use crate::switch::batch::Batch;
use crate::transport::roce::queue_pair::{Receiver, Sender};
use crate::transport::uec::outgoing as uec;
use crate::user::UserFault;
use crate::world::World;

#[derive(Clone)]
pub(crate) enum FabricNode {
    /// With one port.
    Host(Box<Host<OnePort>>),
    Switch(Box<Switch>),
    /// A host with several ports.
    Several(Box<Host<SeveralPorts>>),
}

/// A host, with however many ports.
#[derive(Clone, Copy)]
pub(crate) enum HostRef<'a> {
    One(&'a Host<OnePort>),
    Several(&'a Host<SeveralPorts>),
}

/// What is asked of hosts between two stretches of a run, whatever their ports.
macro_rules! asked_of_hosts {
    ($($(#[$meta:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl<'a> HostRef<'a> {
            $($(#[$meta])* pub(crate) fn $name(self, $($argument: $type),*) -> $result {
                match self {
                    Self::One(host) => host.$name($($argument),*),
                    Self::Several(host) => host.$name($($argument),*),
                }
            })*
        }
    };
}

asked_of_hosts! {
    ports() -> &'a Ports;
    sender(slot: u32) -> &'a Sender;
    senders() -> &'a [Sender];
    receivers() -> &'a [Receiver];
    steps() -> Option<&'a Steps>;
    ranks() -> Option<&'a Ranks>;
    endpoint() -> Option<&'a Endpoint>;
    reordered(slot: u32) -> Counts;
    duplicates(slot: u32) -> u32;
    trimmed(slot: u32) -> u32;
    uec_counts(slot: u32) -> uec::Counts;
    start_of(slot: u32, world: &World) -> Time;
    has_begun(slot: u32, world: &World) -> bool;
    has_pending_step(world: &World) -> bool;
    port_of_sender(slot: u32) -> u16;
    observed(world: &World) -> u64;
}

impl<'a> HostRef<'a> {
    /// Data that has come in and that no receiver has taken yet.
    pub(crate) fn kept(self) -> Box<dyn Iterator<Item = &'a Packet> + 'a> {
        match self {
            Self::One(host) => Box::new(host.kept()),
            Self::Several(host) => Box::new(host.kept()),
        }
    }

    /// What holds its ports back when they use many credits.
    pub(crate) fn throttles(self) -> Box<dyn Iterator<Item = &'a Throttle> + 'a> {
        match self {
            Self::One(host) => Box::new(host.throttles()),
            Self::Several(host) => Box::new(host.throttles()),
        }
    }

    /// Calls of functions of the user's that failed.
    pub(crate) fn user_faults(self) -> Box<dyn Iterator<Item = &'a UserFault> + 'a> {
        match self {
            Self::One(host) => Box::new(host.user_faults()),
            Self::Several(host) => Box::new(host.user_faults()),
        }
    }
}

impl FabricNode {
    #[inline]
    pub(crate) fn ports(&self) -> &Ports {
        match self {
            Self::Host(host) => host.ports(),
            Self::Switch(switch) => switch.ports(),
            Self::Several(host) => host.ports(),
        }
    }

    #[inline]
    pub(crate) fn ports_mut(&mut self) -> &mut Ports {
        match self {
            Self::Host(host) => host.ports_mut(),
            Self::Switch(switch) => switch.ports_mut(),
            Self::Several(host) => host.ports_mut(),
        }
    }

    /// The host that it is.
    pub(crate) fn host(&self) -> Option<HostRef<'_>> {
        match self {
            Self::Host(host) => Some(HostRef::One(host)),
            Self::Several(host) => Some(HostRef::Several(host)),
            Self::Switch(_) => None,
        }
    }

    /// The steps of a host.
    pub(crate) fn steps_mut(&mut self) -> Option<&mut Steps> {
        match self {
            Self::Host(host) => host.steps_mut(),
            Self::Several(host) => host.steps_mut(),
            Self::Switch(_) => None,
        }
    }

    /// One more flow leaves from it, `now` or later. `number`: the stream of PUTs that begins with it.
    pub(crate) fn add_sender(&mut self, index: u32, number: Option<u32>, now: u64, world: &World) {
        match self {
            Self::Host(host) => host.add_sender(index, number, now, world),
            Self::Several(host) => host.add_sender(index, number, now, world),
            Self::Switch(_) => {}
        }
    }

    /// One more flow ends at it.
    pub(crate) fn add_receiver(&mut self, index: u32, number: Option<u32>, world: &World) {
        match self {
            Self::Host(host) => host.add_receiver(index, number, world),
            Self::Several(host) => host.add_receiver(index, number, world),
            Self::Switch(_) => {}
        }
    }

    /// Whether a host will send anything if nothing happens.
    pub(crate) fn has_next(&mut self, now: u64, world: &World) -> bool {
        match self {
            Self::Host(host) => host.has_next(now, world),
            Self::Several(host) => host.has_next(now, world),
            Self::Switch(_) => false,
        }
    }

    /// Bytes of state for its ports: hot, cold, queues and accounts, without the packets.
    pub(crate) fn state_bytes(&self) -> usize {
        let ports = self.ports().state_bytes();
        match self {
            Self::Host(_) | Self::Several(_) => ports,
            Self::Switch(switch) => ports + switch.state_bytes(),
        }
    }

    /// Packets on their way across a crossbar.
    pub(crate) fn crossing(&self) -> Vec<Packet> {
        match self {
            Self::Host(_) | Self::Several(_) => Vec::new(),
            Self::Switch(switch) => switch.crossing(),
        }
    }

    /// What its closed gates wait for.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        match self {
            Self::Switch(switch) => switch.waits(),
            _ => self.ports().waits().collect(),
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
            Self::Switch(_) => (0, 0),
            _ => self.host().and_then(HostRef::endpoint).map_or((0, 0), Endpoint::slots),
        };
        (pool.slots() + slots, pool.memory() + bytes + self.ports().extensions().memory())
    }

    /// Records per sampling instant.
    pub(crate) fn observed(&self, world: &World) -> u64 {
        let queues = self.ports().sampled() as u64 * u64::from(world.classes.count - 1);
        queues + self.host().map_or(0, |host| host.observed(world))
    }

    /// The run ends `now`: what crowds its ports is recorded as far as it has come.
    pub(crate) fn close_crowds(&mut self, now: u64, world: &World) {
        match self {
            Self::Host(host) => host.close_crowds(now, world),
            Self::Several(host) => host.close_crowds(now, world),
            Self::Switch(switch) => switch.close_crowds(now, world),
        }
    }

    /// Records the periods of what a host got, and of its receive queue, that are over at `now`, and the open one if the run `ends`.
    pub(crate) fn close_periods<P: Post<Packet>>(&mut self, ends: bool, cx: &mut Ctx<'_, P>) {
        match self {
            Self::Host(host) => host.close_periods(ends, cx),
            Self::Several(host) => host.close_periods(ends, cx),
            Self::Switch(_) => {}
        }
    }

    /// Takes the samples that are due up to and including `now`, although no event wakes the node.
    pub(crate) fn sample_until<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        match self {
            Self::Host(host) => host.sample_until(cx),
            Self::Several(host) => host.sample_until(cx),
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

fn load_host<N: Nics>(host: &mut Host<N>, from: &mut &[u8]) -> io::Result<()> {
    let built = std::mem::replace(host, BorshDeserialize::deserialize(from)?);
    // Thresholds of PFC are those of the run that goes on.
    host.judge_as(&built);
    Ok(())
}

impl Saved for FabricNode {
    fn save(&self, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Host(host) => host.serialize(out),
            Self::Several(host) => host.serialize(out),
            Self::Switch(switch) => switch.save(out),
        }
    }
    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        match self {
            Self::Host(host) => load_host(host, from)?,
            Self::Several(host) => load_host(host, from)?,
            Self::Switch(switch) => switch.load(from)?,
        }
        Ok(())
    }
}

/// Calls of their own: beside them, what hosts with one port do would be dearer where all nodes are run from one heap.
#[inline(never)]
fn fire<P: Post<Packet>>(host: &mut Host<SeveralPorts>, key: Key, world: &World, post: &mut P) {
    host.fire(key, world, post);
}

#[inline(never)]
fn receive<P: Post<Packet>>(host: &mut Host<SeveralPorts>, packet: &Packet, world: &World, post: &mut P) {
    host.receive(packet, world, post);
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
            Self::Several(host) => fire(host, key, world, post),
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
            Self::Several(host) => receive(host, packet, world, post),
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
            Self::Several(host) => {
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
    fn busy_until(&self, now: u64, world: &World) -> u64 {
        match self {
            Self::Host(host) => host.busy_until(now, world),
            Self::Several(host) => host.busy_until(now, world),
            Self::Switch(_) => 0,
        }
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
            Self::Several(host) => host.run(arrivals, window, keys, batch, world, post),
        }
    }
    fn close_period(&mut self) {
        if let Self::Switch(switch) = self {
            switch.close_period();
        }
    }
}
