//! From indices and counters to a message that says what to change.
use backwater_topology::{Network, Port};
use backwater_traffic::program::Op;
use backwater_units::{Bytes, Time};

use crate::app::ranks::waiting::place;
use crate::node::FabricNode;
use crate::spec::Queueing;
use crate::violation::{Breach, Violation, What};
use crate::world::World;

pub(crate) fn explain(breach: &Breach, network: &Network, world: &World, node: &FabricNode) -> Violation {
    let time = Time::from_ps(breach.time);
    let names = network.nodes();
    let name = names[breach.node as usize].name.clone();
    let port = &network.ports(breach.node)[usize::from(breach.port)];
    let from = names[port.peer as usize].name.clone();
    match breach.what {
        What::Buffer(held, buffer) => Violation::BufferOverflow {
            time,
            node: name,
            from,
            held: Bytes::new(held),
            buffer: Bytes::new(buffer),
            arithmetic: occupancy(node, world, network),
            fix: if world.lossless != 0 {
                "Raise switch.buffer or lower switch.pfc.xoff".into()
            } else if world.credits.is_some() {
                "Priorities without credits, the control priority among them, share switch.buffer: raise it, or put them \
                 under credits (switch.credits.priorities)"
                    .into()
            } else {
                unguarded("switch.buffer", world)
            },
        },
        What::Headroom(used, headroom) => Violation::HeadroomOverflow {
            time,
            node: name,
            from,
            used: Bytes::new(used),
            headroom: Bytes::new(headroom),
            arithmetic: headroom_arithmetic(port, world),
        },
        What::Region(held, region) => Violation::RegionOverflow {
            time,
            node: name,
            from,
            held: Bytes::new(held),
            region: Bytes::new(region),
            fix: if world.lossless != 0 {
                format!(
                    "After PAUSE a port must absorb {}. Lower the thresholds of PFC (stop) or raise switch.combined.ingress",
                    headroom_arithmetic(port, world)
                )
            } else {
                unguarded("switch.combined.ingress", world)
            },
        },
        What::Credits(held, buffer) => Violation::CreditOverflow {
            time,
            node: name,
            from,
            held,
            buffer,
            unit: world.credits.as_ref().map_or(Bytes::ZERO, |credits| credits.unit.size()),
        },
        What::Receive(held, depth, lossless) => Violation::ReceiveOverflow {
            time,
            node: name,
            from,
            held: Bytes::new(held),
            depth: Bytes::new(depth),
            fix: if lossless {
                format!(
                    "In each lossless priority a host must absorb the packet that crosses Xoff and, after PAUSE, {}. Set \
                     host.queue to at least host.pfc.xoff and that, or lower host.pfc.xoff",
                    headroom_arithmetic(port, world)
                )
            } else {
                "Nothing holds its priority back: raise host.queue or host.drain, set switch.flow-control, or send PUTs, \
                 which repeat what is lost"
                    .into()
            },
        },
        What::TooMuchOpen { rank, at, unexpected } => {
            Violation::TooMuchOpen { time, rank: place(rank, at, network, world), unexpected }
        }
        What::Truncated { rank, from, op, at, room } => Violation::Truncated {
            time,
            receiver: place(rank, at, network, world),
            sender: place(from, op, network, world),
            size: Bytes::new(match *world.op(from, op) {
                Op::Isend { size, .. } => size,
                _ => 0,
            }),
            room: Bytes::new(room),
        },
        What::Stuck => Violation::NoProgress { time, hosts: Vec::new() },
        What::NoAck { flow, seq, times } => {
            let host = |index: u32| names[world.hosts[index as usize] as usize].name.clone();
            let ends = &world.flows[flow as usize];
            let (source_host, target) = (host(ends.src), host(ends.dst));
            Violation::NoAck { time, source_host, target, flow, seq, times, faults: Vec::new() }
        }
        What::Order(flow, expected, got) => Violation::OutOfOrder { time, node: name, flow, expected, got },
    }
}

/// What to do where nothing holds back what comes in.
fn unguarded(room: &str, world: &World) -> String {
    if world.pfc.is_on {
        format!(
            "PFC holds back no priority in use: raise {room} or list what has to be lossless in switch.pfc.priorities"
        )
    } else if world.holds {
        format!(
            "What switch.isolation.kind holds upstream was not enough here, and it holds no ACKs at NICs: raise {room}"
        )
    } else if matches!(world.queueing, Queueing::Floodgate(_)) {
        format!("Windows between switches hold no hosts back: raise {room}, or write a cc.kind with a window")
    } else {
        format!("Flow control is off: raise {room} or set switch.flow-control")
    }
}

/// What a port holds of a class beyond its threshold, at most.
fn headroom_arithmetic(port: &Port, world: &World) -> String {
    let mtu = Bytes::new(u64::from(world.payload) + u64::from(world.header));
    let loop_bytes = port.rate.bytes_in(port.delay * 2);
    let frame = Bytes::new(u64::from(world.pfc.frame));
    let need = loop_bytes + mtu * 3 + frame;
    format!(
        "{need} = 2·delay·rate {loop_bytes} + 3·MTU {} + PFC frame {frame} (plus the response time); one MTU is the packet that crosses \
         the threshold",
        mtu * 3
    )
}

/// What fills the memory of a switch: what its ingress ports hold, or without flow control, where nobody counts that, its longest queue.
fn occupancy(node: &FabricNode, world: &World, network: &Network) -> String {
    let FabricNode::Switch(switch) = node else {
        return String::new();
    };
    if matches!(world.queueing, Queueing::Floodgate(_)) {
        return "beside its queues, its VOQs hold what has no window".to_owned();
    }
    let classes = usize::from(world.classes.count);
    if world.lossless == 0 && world.credits.is_none() {
        let ports = switch.ports();
        let bytes = (0..ports.count()).map(|port| {
            let own = ports.at(port, 0);
            ports.queues()[own..own + classes].iter().map(|queue| u64::from(queue.bytes())).sum()
        });
        let longest = bytes.zip(network.ports(ports.node())).max_by_key(|(bytes, _): &(u64, _)| *bytes);
        return longest.map_or_else(String::new, |(bytes, port)| {
            let to = &network.nodes()[port.peer as usize].name;
            format!("its longest queue, to {to}, holds {}", Bytes::new(bytes))
        });
    }
    let held = switch.held_by_port();
    let busy = held.iter().filter(|bytes| **bytes > 0).count();
    let worst = held.iter().max().copied().unwrap_or(0);
    format!(
        "{busy} of {} ingress ports hold packets, the fullest {}; every one may hold Xoff plus headroom",
        held.len(),
        Bytes::new(worst)
    )
}
