//! The two halves of a host's flows, and what they share on connections.
use std::collections::BTreeMap;

use backwater_control::notify::Notify;
use backwater_traffic::{OWN_CONNECTION, Pacing};
use backwater_units::Rate;

use crate::transport::roce::connection::Connection;
use crate::transport::roce::pacer::Pacer;
use crate::transport::roce::queue_pair::{Receiver, Sender};
use crate::world::World;

/// The sending halves of flows, with what they share on connections. `line` is the rate of the port by which a flow leaves.
pub(crate) fn sending(
    flows: &[u32],
    line: impl Fn(u32) -> Rate,
    world: &World,
) -> (Vec<Sender>, Vec<Pacer>, Vec<Connection>) {
    let mut numbers = BTreeMap::new();
    let mut pacers = Vec::new();
    let mut of_connection = Vec::new();
    let mut new = |index, flow| {
        pacers.push(Pacer::new(index, flow, line(index), world));
        pacers.len() as u32 - 1
    };
    let sender = |index: &u32| {
        let flow = &world.flows[*index as usize];
        if flow.pacing == Pacing::Messages {
            // Its messages follow each other like the flows of a connection.
            of_connection.push(new(*index, flow));
            let number = of_connection.len() - 1;
            return Sender::new(*index, flow, of_connection[number], number as u32, world);
        }
        if flow.connection == OWN_CONNECTION {
            return Sender::new(*index, flow, new(*index, flow), OWN_CONNECTION, world);
        }
        let next = of_connection.len() as u32;
        let number = *numbers.entry(flow.connection).or_insert(next);
        if number == next {
            of_connection.push(new(*index, flow));
        }
        Sender::new(*index, flow, of_connection[number as usize], number, world)
    };
    let senders = flows.iter().map(sender).collect();
    let connections = vec![Connection::default(); of_connection.len()];
    (senders, pacers, connections)
}

/// The receiving halves of flows, with their notification points.
pub(crate) fn receiving(flows: &[u32], world: &World) -> (Vec<Receiver>, Vec<Notify>) {
    let (mut receivers, mut notifiers): (Vec<Receiver>, _) = (Vec::with_capacity(flows.len()), Vec::new());
    for index in flows {
        let flow = &world.flows[*index as usize];
        let first = world.first_of(*index);
        let notes = if world.pairs[usize::from(world.pair_of(flow))].notify.is_none() {
            0
        } else if first == *index {
            notifiers.push(Notify::default());
            notifiers.len() as u32 - 1
        } else {
            receivers[world.receiver_slot[first as usize] as usize].notes
        };
        receivers.push(Receiver::new(*index, flow, notes, world));
    }
    (receivers, notifiers)
}

/// The senders in order of their starts; empty if they are in that order.
pub(crate) fn order(senders: &[Sender], world: &World) -> Vec<u32> {
    let start = |sender: &Sender| world.flows[sender.flow as usize].start;
    if senders.is_sorted_by_key(start) {
        return Vec::new();
    }
    let mut order: Vec<u32> = (0..senders.len() as u32).collect();
    order.sort_by_key(|slot| start(&senders[*slot as usize]));
    order
}
