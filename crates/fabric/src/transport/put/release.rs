//! What a target acknowledges when the receive queue has room.
use backwater_units::Time;

use crate::transport::put::incoming::Desk;
use crate::transport::put::lines::owed_at;
use crate::transport::put::{Puts, streams};
use crate::world::World;

impl Puts {
    /// Acknowledges what may be acknowledged with so many bytes in the receive queue.
    pub(crate) fn release(&mut self, kind: u16, occupancy: u64, now: u64, world: &World) {
        let streams = streams(world);
        let spec = &streams.kinds[usize::from(kind)];
        let desk = &mut self.desks[usize::from(kind)];
        let all = &streams.all;
        desk.judge(spec, &mut self.incoming, |stream| all[stream.number as usize].kind == kind, now);
        while let Some((slot, seq, bytes)) = desk.release(&spec.target, occupancy, &self.incoming) {
            let incoming = &mut self.incoming[slot as usize];
            incoming.acks.on_released(seq, bytes, Time::from_ps(now));
            let class = all[incoming.number as usize].class;
            let owed = owed_at(&mut self.lines, &mut self.by_port, slot);
            incoming.line_up(slot, class, spec, owed, now);
        }
    }

    /// Bytes that other kinds of PUT than this one keep for streams which lost packets.
    pub(crate) fn reserved_by_others(&self, kind: u16) -> u64 {
        let all: u64 = self.desks.iter().map(Desk::reserved).sum();
        all - self.desks[usize::from(kind)].reserved()
    }
}
