//! What a node drops: counted by port, class and reason, and recorded one by one where that is asked for.
use std::collections::BTreeMap;

use backwater_engine::Post;
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::packet::{Kind, LAST, Packet};
use crate::record::{DropCount, DropReason, DropRecord};
use crate::world::World;

/// Packets and bytes by port, class and reason.
pub(crate) type Drops = BTreeMap<(u16, u8, DropReason), (u64, u64)>;

/// A copy of a flow's last packet that ended on its way.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct LostLast {
    /// Its flow.
    pub(crate) flow: u32,
    /// As it stood in the packet.
    pub(crate) seq: u32,
    /// When.
    pub(crate) at: u64,
    /// Other copies that stood in the node.
    pub(crate) ahead: u32,
}

impl LostLast {
    /// If a packet that has ended is the last one of a flow on a queue pair.
    fn of(packet: &Packet, now: u64, world: &World) -> Option<Self> {
        if packet.kind != Kind::Data {
            return None;
        }
        let flow = &world.flows[packet.flow as usize];
        let last = packet.seq & LAST != 0 || packet.number() + 1 == world.packets(flow);
        let repeats = || world.pairs[usize::from(world.pair_of(flow))].reliable.is_some();
        (last && repeats()).then_some(Self { flow: packet.flow, seq: packet.seq, at: now, ahead: 0 })
    }

    /// Whether `packet` is a copy of it.
    const fn is_of(&self, packet: &Packet) -> bool {
        matches!(packet.kind, Kind::Data) && self.flow == packet.flow && self.seq == packet.seq
    }
}

impl Ports {
    /// A packet that has come in, and that was to leave by `out`, is gone.
    #[cold]
    pub(crate) fn drop_packet<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        out: u16,
        reason: DropReason,
        cx: &mut Ctx<'_, P>,
    ) {
        self.extensions_mut().take(packet);
        self.count_drop(packet, out, reason, cx);
    }

    /// The same of a packet without anything beside it, or of which that has been read.
    #[cold]
    pub(crate) fn count_drop<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        out: u16,
        reason: DropReason,
        cx: &mut Ctx<'_, P>,
    ) {
        let port = if reason.is_at_ingress() { packet.port } else { out };
        let (packets, bytes) = self.drops.entry((port, packet.class, reason)).or_default();
        *packets += 1;
        *bytes += u64::from(packet.size);
        // What a receiver does not take it counts itself.
        if packet.is_data() && reason != DropReason::NotTaken {
            self.count_lost(packet.flow, Some(reason));
        }
        if let Some(mut lost) = LostLast::of(packet, cx.now, cx.world) {
            // Of a packet that was sent once no other copy stands anywhere: nothing to look for.
            if cx.world.repeated.has(packet.flow) {
                lost.ahead = self.pool().count(|standing| lost.is_of(standing)) as u32;
            }
            self.lost_last.push(lost);
        }
        if cx.world.drops {
            let record = DropRecord {
                time: Time::from_ps(cx.now),
                node: self.node(),
                port,
                priority: cx.world.classes.priority(packet.class),
                reason,
                flow: packet.flow,
                data: packet.is_data(),
                seq: packet.number(),
            };
            self.records_mut().drops.push(record);
            cx.post.recorded(1);
        }
    }

    /// A data packet of a flow ends here; without a reason, as it has come before.
    pub(crate) fn count_lost(&mut self, flow: u32, reason: Option<DropReason>) {
        *self.lost.entry((flow, reason)).or_default() += 1;
    }

    /// Data packets of flows that ended here, and why.
    pub(crate) fn lost_of_flows(&self) -> impl Iterator<Item = (u32, Option<DropReason>, u32)> {
        self.lost.iter().map(|((flow, reason), packets)| (*flow, *reason, *packets))
    }

    /// The packet that was dropped just now came behind these.
    pub(crate) fn dropped_behind<'a>(&mut self, packet: &Packet, standing: impl Iterator<Item = &'a Packet>) {
        if let Some(lost) = self.lost_last.last_mut().filter(|lost| lost.is_of(packet)) {
            lost.ahead += standing.filter(|standing| lost.is_of(standing)).count() as u32;
        }
    }

    /// The copies of flows' last packets that ended here.
    pub(crate) fn lost_last(&self) -> &[LostLast] {
        &self.lost_last
    }

    /// For tests of the books: as if a packet had been dropped in silence. False if none was dropped.
    pub(crate) fn forget_a_drop(&mut self) -> bool {
        self.lost.pop_first().is_some()
    }

    /// Packets and bytes dropped at a port in a class, but for those that a receiver did not take, and those of which the headers went on.
    pub(crate) fn dropped(&self, port: u16, class: u8) -> (u64, u64) {
        let first = (port, class, DropReason::ALL[0]);
        let of_port = self.drops.range(first..).take_while(|((at, of, _), _)| (*at, *of) == (port, class));
        let lost = of_port.filter(|((_, _, reason), _)| !reason.is_no_drop());
        lost.fold((0, 0), |sum, (_, (packets, bytes))| (sum.0 + packets, sum.1 + bytes))
    }

    /// Packets dropped in all, but for those of which the headers went on.
    pub(crate) fn all_dropped(&self) -> u64 {
        let gone = self.drops.iter().filter(|((_, _, reason), _)| *reason != DropReason::Trimmed);
        gone.map(|(_, (packets, _))| packets).sum()
    }

    /// The same by port, priority and reason.
    pub(crate) fn drop_counts(&self, world: &World) -> impl Iterator<Item = DropCount> {
        self.drops.iter().map(|((port, class, reason), (packets, bytes))| DropCount {
            node: self.node,
            port: *port,
            priority: world.classes.priority(*class),
            reason: *reason,
            packets: *packets,
            bytes: Bytes::new(*bytes),
        })
    }
}
