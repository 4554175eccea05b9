//! What a network takes in memory, by the sizes of what it is made of: told before it is built.
use backwater_engine::{Engine, Stream};
use backwater_topology::{Link, Network, Node, Port};
use backwater_units::{Bytes, Span};

use crate::link::credits::Credits;
use crate::link::egress::Egress;
use crate::link::gates::Gate;
use crate::link::ingress::Memory;
use crate::link::ports::Queue;
use crate::nic::host::Host;
use crate::nic::nics::{OnePort, SeveralPorts};
use crate::nic::pacing_queue::PacingQueue;
use crate::node::FabricNode;
use crate::packet::Packet;
use crate::spec::Spec;
use crate::switch::Switch;
use crate::world::classes;

/// Bytes of nodes, and packets that they may have to keep.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Bytes of all nodes and ports when nothing has happened.
    pub at_rest: f64,
    /// Packets that are under way at once if all links are full.
    pub under_way: f64,
    /// Packets that wait if each detector is about to see congestion.
    pub waiting: f64,
    /// Bytes of one packet.
    pub packet: f64,
}

/// The sizes of the network of `spec`.
pub fn sizes(spec: &Spec) -> Sizes {
    let network = &spec.network;
    let frame = spec.packet.payload + spec.packet.header;
    let (lookahead, reach) = spans(network, frame);
    let live = Engine::<FabricNode>::live(lookahead, reach);
    let window = Engine::<FabricNode>::width_for(lookahead).as_ps();
    let count = usize::from(classes(spec, &spec.flows).count);
    let port = size_of::<Port>()
        + size_of::<Link>().div_ceil(2)
        + size_of::<Egress>()
        + size_of::<u64>() // its wake
        + count * (size_of::<Queue>() + size_of::<Gate>())
        + if spec.switch.credits.is_some() { Credits::port_bytes(count) } else { 0 };
    let port_of_switch = Memory::port_bytes(count) + size_of::<Stream>();
    let (mut at_rest, mut under_way, mut waiting) = (0, 0.0, 0.0);
    for (number, node) in (0..).zip(network.nodes()) {
        let (is_switch, ports) = (network.is_switch(number), network.ports(number));
        // The engine knows when it is due and where it is, and has a list of messages for each window of its ring.
        let lists = live.next_power_of_two().max(4) * size_of::<Vec<Packet>>();
        let of_engine = size_of::<FabricNode>() + size_of::<u64>() + size_of::<u32>() + lists;
        // A network finds nodes by name, too.
        let of_network = size_of::<Node>() + size_of::<(String, u32)>() + 2 * node.name.len();
        let of_fabric = match ports.len() {
            _ if is_switch => size_of::<Switch>(),
            0 | 1 => size_of::<Host<OnePort>>(),
            several => size_of::<Host<SeveralPorts>>() + (several - 1) * size_of::<PacingQueue>(),
        };
        let each = port + if is_switch { port_of_switch } else { 0 };
        at_rest += of_engine + of_network + of_fabric + ports.len() * each;
        for port in ports {
            under_way +=
                live as f64 * (window as f64 / port.rate.serialize(frame).as_ps().max(1) as f64).ceil();
        }
        for detector in spec.switch.detectors.get(number as usize).into_iter().flatten() {
            let most = spec.switch.buffer.get() / ports.len().max(1) as u64;
            waiting += (detector.calm().min(most) / frame.get().max(1)) as f64;
        }
    }
    Sizes { at_rest: at_rest as f64, under_way, waiting, packet: size_of::<Packet>() as f64 }
}

/// The shortest link; and after how long a message takes effect at the latest.
pub(super) fn spans(network: &Network, frame: Bytes) -> (Span, Span) {
    let delays = || network.links().iter().map(|link| link.delay);
    let serialise = network.links().iter().map(|link| link.rate.serialize(frame)).max();
    let reach = delays().max().expect("a network has links") + serialise.unwrap_or(Span::ZERO);
    (delays().min().expect("a network has links"), reach)
}
