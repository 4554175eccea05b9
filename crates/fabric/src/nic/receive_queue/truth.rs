//! The ground truth at a slow host. Its drain is one more egress port of the host, [`drain_of`], that no gate can close: what its
//! PAUSEs, or its lack of credits, hold back is held back by the drain, and chains of holds end there.
use backwater_engine::Post;
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use super::Endpoint;
use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::observe::ground_truth::{Crowd, Left, followed};
use crate::packet::Packet;
use crate::record::{HoldRecord, WaitRecord};
use crate::world::World;

/// The drain as an egress port: the one after those that a host has.
pub(crate) fn drain_of(ports: &Ports) -> u16 {
    ports.count()
}

/// What a slow host keeps to record the ground truth: by class, the flows that are drained while more than K stays.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Truth {
    crowds: [Crowd; 8],
}

impl Endpoint {
    fn left(&self, ports: &Ports, class: u8, world: &World) -> Left {
        Left {
            node: ports.node(),
            port: drain_of(ports),
            priority: world.classes.priority(class),
            queue: self.waiting(class),
            threshold: self.long(class),
        }
    }
}

impl<N: Nics> Host<N> {
    /// A PAUSE of a class is about to be sent. If it is not one that only keeps up another, records what holds the switch.
    pub(super) fn note_pause<P: Post<Packet>>(&mut self, (port, class): (u16, u8), cx: &mut Ctx<'_, P>) {
        let Some(endpoint) = self.endpoint.as_deref().filter(|endpoint| endpoint.truth.is_some()) else {
            return;
        };
        if !endpoint.memory.holds(port, class, cx.now) {
            let whole = endpoint.memory.whole_port(port);
            let classes = if whole { endpoint.lossless } else { 1 << class };
            self.record_holds((port, class), classes, cx);
        }
    }

    /// An update of a class was sent that leaves the switch less than line rate takes until the next one acts.
    pub(crate) fn note_short<P: Post<Packet>>(&mut self, class: u8, cx: &mut Ctx<'_, P>) {
        if self.endpoint.as_ref().is_some_and(|endpoint| endpoint.truth.is_some()) {
            self.record_holds((self.nic(), class), 1 << class, cx);
        }
    }

    #[cold]
    fn record_holds<P: Post<Packet>>(&mut self, (port, class): (u16, u8), blockers: u8, cx: &mut Ctx<'_, P>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let closed = endpoint.is_still(cx.now);
        let (upstream, drain) = (*self.ports.egress(port), drain_of(&self.ports));
        for blocker in (0..cx.world.classes.count).filter(|blocker| blockers & (1 << blocker) != 0) {
            let [bytes, queue] =
                [endpoint.waiting_by(port, blocker), endpoint.waiting(blocker)].map(Bytes::new);
            if bytes > Bytes::ZERO {
                let record = HoldRecord {
                    time: Time::from_ps(cx.now),
                    node: self.ports.node(),
                    port,
                    held_node: upstream.peer(),
                    held_port: upstream.peer_port(),
                    priority: cx.world.classes.priority(class),
                    held_key: None,
                    blocker: drain,
                    blocker_priority: cx.world.classes.priority(blocker),
                    blocker_key: None,
                    bytes,
                    queue,
                    closed,
                };
                self.ports.records_mut().holds.push(record);
                cx.post.recorded(1);
            }
        }
    }

    /// A packet, which came at its time, has been drained.
    pub(super) fn note_drained<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let Some(endpoint) = &mut self.endpoint else { return };
        let left = endpoint.left(&self.ports, packet.class, cx.world);
        let Some(truth) = &mut endpoint.truth else { return };
        let crowd = &mut truth.crowds[usize::from(packet.class)];
        let made = crowd.leaves(packet, packet.code, left, cx.now, &mut self.ports.records_mut().crowds);
        if made > 0 {
            cx.post.recorded(made);
        }
        if let Some(last) = followed(packet, cx.world) {
            let record = WaitRecord {
                start: Time::from_ps(packet.time),
                end: Time::from_ps(cx.now),
                node: self.ports.node(),
                port: drain_of(&self.ports),
                priority: left.priority,
                key: None,
                flow: packet.flow,
                seq: cx.world.number(packet),
                last,
            };
            self.ports.records_mut().waits.push(record);
            cx.post.recorded(1);
        }
    }

    /// The run ends.
    pub(crate) fn close_crowds(&mut self, now: u64, world: &World) {
        let Some(endpoint) = &mut self.endpoint else { return };
        for class in 0..world.classes.count {
            let left = endpoint.left(&self.ports, class, world);
            if let Some(truth) = &mut endpoint.truth {
                truth.crowds[usize::from(class)].disperse(left, now, &mut self.ports.records_mut().crowds);
            }
        }
    }
}
