//! What a host gets: of each traffic entry, summed up over sampling periods, and of some entries packet by packet.
use backwater_control::CodePoint;
use backwater_engine::Post;
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::record::DeliveredRecord;
use crate::world::World;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
struct Sum {
    bytes: u64,
    wire_bytes: u64,
    packets: u64,
    ce_packets: u64,
    cnps: u64,
}

/// The open period of one host.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Delivered {
    start: u64,
    /// Exclusive; `u64::MAX` in the last period that a run can have.
    end: u64,
    /// By traffic entry.
    sums: Vec<Sum>,
}

impl Delivered {
    pub(crate) fn new(world: &World) -> Self {
        Self { start: 0, end: world.sample, sums: vec![Sum::default(); usize::from(world.groups)] }
    }

    /// So many traffic entries may have flows.
    pub(crate) fn of_groups(&mut self, groups: u16) {
        self.sums.resize(usize::from(groups), Sum::default());
    }

    /// A data packet has come in, after all that came before it.
    #[inline]
    pub(crate) fn arrived<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        payload: u64,
        ports: &mut Ports,
        cx: &mut Ctx<'_, P>,
    ) {
        self.turn(ports, cx);
        let sum = &mut self.sums[usize::from(cx.world.flows[packet.flow as usize].group)];
        sum.bytes += payload;
        sum.wire_bytes += u64::from(packet.size);
        sum.packets += 1;
        sum.ce_packets += u64::from(packet.code == CodePoint::Congestion);
    }

    /// The host sends a CNP about a flow.
    pub(crate) fn notified<P: Post<Packet>>(&mut self, flow: u32, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        self.turn(ports, cx);
        self.sums[usize::from(cx.world.flows[flow as usize].group)].cnps += 1;
    }

    /// Goes on to the period that `now` is in.
    #[inline]
    pub(crate) fn turn<P: Post<Packet>>(&mut self, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        if cx.now >= self.end {
            self.close(ports, cx);
            self.start = cx.now - cx.now % cx.world.sample;
            self.end = self.start.saturating_add(cx.world.sample);
        }
    }

    /// Records what the open period has had so far, and forgets it.
    #[cold]
    pub(crate) fn close<P: Post<Packet>>(&mut self, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        for (group, sum) in (0..).zip(&mut self.sums) {
            let Sum { bytes, wire_bytes, packets, ce_packets, cnps } = std::mem::take(sum);
            if packets + cnps == 0 {
                continue;
            }
            let record = DeliveredRecord {
                time: Time::from_ps(self.start),
                node: ports.node(),
                group,
                bytes: Bytes::new(bytes),
                wire_bytes: Bytes::new(wire_bytes),
                packets,
                ce_packets,
                cnps,
            };
            ports.records_mut().delivered.push(record);
            cx.post.recorded(1);
        }
    }
}
