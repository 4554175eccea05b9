//! Frames of chosen ports, recorded where they arrive: the plain path sees nothing of it.
use backwater_engine::Post;
use backwater_topology::Network;
use backwater_units::Time;

use crate::ctx::Ctx;
use crate::link::egress::Egress;
use crate::link::holds::parts;
use crate::link::ports::Ports;
use crate::packet::{Kind, Packet};
use crate::record::FrameRecord;
use crate::world::World;

/// A wire whose frames are recorded, as the node sees it at which it ends.
#[derive(Clone, Debug)]
pub(crate) struct Tap {
    /// The sender and its egress port.
    node: u32,
    port: u16,
    /// What is known of that port from the start: rate, delay, whether this node cuts through.
    wire: Egress,
}

/// `[node][ingress port]`; empty if no wire is tapped.
pub(crate) type Taps = Vec<Vec<Option<Tap>>>;

/// Taps the wires of these egress ports.
pub(crate) fn taps(network: &Network, tapped: &[(u32, u16)], world: &World) -> Taps {
    if tapped.is_empty() {
        return Vec::new();
    }
    let ports = |node| vec![None; network.ports(node).len()];
    let mut taps: Taps = (0..network.nodes().len() as u32).map(ports).collect();
    for &(node, port) in tapped {
        let link = &network.ports(node)[usize::from(port)];
        let mut wire = Egress::new(link);
        wire.keep_time(world.clock);
        if let Some(header) = world.cut(network, link) {
            wire.cut_through(header);
        }
        taps[link.peer as usize][usize::from(link.peer_port)] = Some(Tap { node, port, wire });
    }
    taps
}

impl Ports {
    /// What happens to arrivals before they are taken in: those of tapped wires are recorded, and faults lose some. What is left, if
    /// that is not all.
    #[cold]
    pub(crate) fn watch<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        end: u64,
        cx: &mut Ctx<'_, P>,
    ) -> Option<Vec<Packet>> {
        if !cx.world.taps.is_empty() {
            self.tap(arrivals, end, cx);
        }
        self.spared(arrivals, end, cx)
    }

    /// Records those of the arrivals before `end` that came by a tapped wire: what the last window of a run is cut off from
    /// does not happen.
    #[cold]
    fn tap<P: Post<Packet>>(&mut self, arrivals: &[Packet], end: u64, cx: &mut Ctx<'_, P>) {
        let taps = &cx.world.taps[self.node() as usize];
        for packet in arrivals.iter().filter(|packet| packet.time < end && packet.kind.is_on_a_wire()) {
            let Some(Tap { node, port, wire }) = &taps[usize::from(packet.port)] else { continue };
            let nominal = || packet.time - wire.until_known(packet.size, packet.is_flow_control());
            let begun = cx.world.begun(self.node(), packet).unwrap_or_else(nominal);
            self.records_mut().frames.push(FrameRecord {
                time: Time::from_ps(packet.time),
                sent: Time::from_ps(begun),
                node: *node,
                port: *port,
                kind: packet.kind,
                priority: (packet.class != 0).then(|| cx.world.classes.priority(packet.class)),
                size: packet.size,
                code: packet.code as u8,
                echo: packet.echo as u8,
                flow: packet.flow,
                root: (packet.is_flow_control() && cx.world.ways.is_some()).then(|| parts(packet.flow)),
                seq: match packet.kind {
                    Kind::Hold => packet.held_priorities(cx.world),
                    _ if packet.is_data() => packet.number(),
                    _ => packet.seq,
                },
            });
            cx.post.recorded(1);
        }
    }
}
