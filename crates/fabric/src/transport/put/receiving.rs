//! What a target does with what its streams bring: it accepts or loses PUTs, processes them, and acknowledges.
use backwater_control::CodePoint;
use backwater_control::notify::put::Frame;
use backwater_control::transport::Verdict;
use backwater_units::Time;

use crate::packet::Packet;
use crate::transport::put::lines::owed_at;
use crate::transport::put::streams::Stream;
use crate::transport::put::{Puts, frame, streams};
use crate::world::World;

impl Puts {
    /// The stream of an incoming slot.
    #[inline]
    pub(crate) fn incoming<'a>(&self, slot: u32, world: &'a World) -> &'a Stream {
        streams(world).stream(self.incoming[slot as usize].number)
    }

    /// What becomes of a PUT that has come in, and its number in its stream. The receive queue has so many bytes of at most so many in
    /// it, and has `room` for the packet or not.
    pub(crate) fn judge(
        &mut self,
        packet: &Packet,
        (held, depth): (u64, u64),
        room: bool,
        world: &World,
    ) -> (Verdict, u32) {
        let stream = streams(world).of(packet.flow).expect("a PUT has a stream");
        let spec = streams(world).kind(stream);
        let kept = self.reserved_by_others(stream.kind);
        let incoming = &mut self.incoming[stream.in_slot as usize];
        let desk = &mut self.desks[usize::from(stream.kind)];
        let seq = frame::whole(frame::number(packet.seq), incoming.order.accepted() + 1);
        let fits = room && desk.release.admits(u64::from(packet.size), held + kept, depth, incoming.own);
        let verdict = incoming.order.on_packet(seq, fits);
        let now = Time::from_ps(packet.time);
        match verdict {
            Verdict::Accept => desk.release.give_back(std::mem::take(&mut incoming.own)),
            Verdict::Duplicate => incoming.acks.on_duplicate(now),
            Verdict::Drop { nack: true, .. } => {
                incoming.lost = packet.size;
                incoming.acks.on_lost(now);
            }
            Verdict::Drop { nack: false, .. } => {}
        }
        incoming.line_up(stream.in_slot, stream.class, spec, &mut self.lines.owed, packet.time);
        (verdict, seq)
    }

    /// A PUT has been accepted and stands in the receive queue, which holds so many bytes.
    pub(crate) fn accept(&mut self, packet: &Packet, seq: u32, held: u64, world: &World) {
        let stream = streams(world).of(packet.flow).expect("a PUT has a stream");
        let spec = streams(world).kind(stream);
        let incoming = &mut self.incoming[stream.in_slot as usize];
        let desk = &mut self.desks[usize::from(stream.kind)];
        let congested = desk.release.congested(&spec.target, held);
        incoming.acks.on_accepted(&spec.target, congested, Time::from_ps(packet.time));
        desk.accepted(stream.in_slot, seq, packet.size);
        incoming.line_up(stream.in_slot, stream.class, spec, &mut self.lines.owed, packet.time);
        self.release(stream.kind, held, packet.time, world);
    }

    /// A PUT has been processed `now`; its number in its stream.
    #[inline]
    pub(crate) fn processed(&mut self, packet: &Packet, held: u64, now: u64, world: &World) -> u32 {
        let stream = streams(world).of(packet.flow).expect("a PUT has a stream");
        let accepted = self.incoming[stream.in_slot as usize].order.accepted();
        self.desks[usize::from(stream.kind)].release.processed(u64::from(packet.size));
        self.release(stream.kind, held, now, world);
        frame::whole(frame::number(packet.seq), accepted)
    }

    /// What a packet that leaves for the initiator of an incoming stream acknowledges: low bits and code.
    #[inline]
    pub(crate) fn ack_aboard(
        &mut self,
        stream: &Stream,
        held: u64,
        now: u64,
        world: &World,
    ) -> (u32, CodePoint) {
        let spec = streams(world).kind(stream);
        let congested = self.desks[usize::from(stream.kind)].release.congested(&spec.target, held);
        let incoming = &mut self.incoming[stream.in_slot as usize];
        let frame = incoming.acks.piggyback(&spec.target, congested, Time::from_ps(now));
        let owed = owed_at(&mut self.lines, &mut self.by_port, stream.in_slot);
        incoming.line_up(stream.in_slot, stream.class, spec, owed, now);
        (frame.seq, if frame.marked { CodePoint::Congestion } else { CodePoint::Capable })
    }

    /// What the ACK or NACK says that is owed for longest and leaves now.
    #[inline]
    pub(crate) fn compose(&mut self, slot: u32, (held, depth): (u64, u64), now: u64, world: &World) -> Frame {
        let incoming = &mut self.incoming[slot as usize];
        let stream = streams(world).stream(incoming.number);
        let spec = streams(world).kind(stream);
        let release = &mut self.desks[usize::from(stream.kind)].release;
        self.lines.owed.leave(stream.class);
        let congested = release.congested(&spec.target, held);
        let accepted = incoming.order.accepted();
        let frame = incoming.acks.compose(&spec.target, accepted, congested, Time::from_ps(now));
        if frame.nack {
            incoming.own = release.reserve(&spec.target, u64::from(incoming.lost), depth, incoming.own);
        }
        incoming.line_up(slot, stream.class, spec, &mut self.lines.owed, now);
        frame
    }
}
