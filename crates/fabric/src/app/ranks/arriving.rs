//! What a message does that comes in.
use backwater_traffic::program::Op;

use super::Ranks;
use super::frame::{Message, Word};
use super::matching::{Came, Posted};
use super::recorder::After;
use crate::link::ports::Ports;
use crate::violation::What;
use crate::world::World;

impl Ranks {
    /// Bytes of a message from another host. Its frames tell the op that it belongs to; the rest is in the programs.
    pub(crate) fn size_of(&self, rank: u32, from: u32, word: Word, op: u32, world: &World) -> u64 {
        let own = self.own[rank as usize].id;
        match word {
            Word::Eager | Word::Data | Word::Put => bytes(world.op(from, op)),
            Word::GetData => bytes(world.op(own, op)),
            Word::Request | Word::Clear | Word::PutDone | Word::Get => world.costs(from).control.get(),
        }
    }

    /// A message of rank `from` has come in for a rank of this host, after something.
    #[allow(clippy::too_many_arguments, reason = "they are what every part of an event needs")]
    pub(crate) fn arrives(
        &mut self,
        rank: u32,
        from: u32,
        message: &Message,
        after: After,
        now: u64,
        world: &World,
        ports: &mut Ports,
    ) {
        let own = &mut self.own[rank as usize];
        if message.word.is_payload() {
            own.received_messages += 1;
            own.received_bytes += message.size;
        }
        let (id, op) = (own.id, message.op);
        let control = world.costs(id).control.get().max(1);
        match message.word {
            Word::Eager | Word::Request => self.asks(rank, from, message, after, now, world, ports),
            Word::Clear => {
                let place = own.asking.iter().position(|asking| *asking == op);
                own.asking.remove(place.expect("an answer comes to who has asked"));
                if let Op::Isend { to, size, .. } = *world.op(id, op) {
                    let data = Message { word: Word::Data, op, size: size.max(1) };
                    self.give(rank, to, data, &[after], now, world, ports);
                }
            }
            Word::Data => {
                let set = own.matching.data(from, op);
                own.ready.push_back((set, after));
                self.wake(rank, now, world, ports);
            }
            // Between ranks of one host the one that puts or gets knows by itself when that is done.
            Word::Put | Word::Get if world.same_host(id, from) => {
                if message.word == Word::Get {
                    own.sent_messages += 1;
                    own.sent_bytes += message.size;
                }
                self.done_locally(from, message, after, now, world, ports);
            }
            Word::Put => {
                let answer = Message { word: Word::PutDone, op, size: control };
                self.give(rank, from, answer, &[after], now, world, ports);
            }
            Word::Get => {
                let reply = Message { word: Word::GetData, op, size: bytes(world.op(from, op)) };
                self.give(rank, from, reply, &[after], now, world, ports);
            }
            Word::PutDone | Word::GetData => {
                own.one_sided -= 1;
                self.complete(rank, after);
                self.wake(rank, now, world, ports);
            }
        }
    }

    fn complete(&mut self, rank: u32, after: After) {
        if let Some(recorder) = &mut self.recorder {
            recorder.complete(rank, after);
        }
    }

    fn done_locally(
        &mut self,
        from: u32,
        message: &Message,
        after: After,
        now: u64,
        world: &World,
        ports: &mut Ports,
    ) {
        let rank = self.local(from).expect("it is of this host");
        let own = &mut self.own[rank as usize];
        own.one_sided -= 1;
        if message.word == Word::Get {
            own.received_messages += 1;
            own.received_bytes += message.size;
        }
        self.complete(rank, after);
        self.wake(rank, now, world, ports);
    }

    /// A message looks for its receive.
    #[allow(clippy::too_many_arguments, reason = "they are what every part of an event needs")]
    fn asks(
        &mut self,
        rank: u32,
        from: u32,
        message: &Message,
        after: After,
        now: u64,
        world: &World,
        ports: &mut Ports,
    ) {
        let Op::Isend { size, tag, .. } = *world.op(from, message.op) else { return };
        let came = Came { from, op: message.op, tag, size, eager: message.word == Word::Eager, after };
        if let Some(posted) = self.own[rank as usize].matching.came(came) {
            self.matched(rank, &came, &posted, now, world, ports);
            self.wake(rank, now, world, ports);
        } else {
            self.limit(rank);
        }
    }

    /// Ends the run if a rank has more open than any memory can hold in the long run.
    pub(super) fn limit(&mut self, rank: u32) {
        let own = &self.own[rank as usize];
        if own.has_too_much() {
            let (rank, at) = (own.id, own.at);
            self.broken = Some(What::TooMuchOpen { rank, at, unexpected: own.matching.unexpected() as u32 });
        }
    }

    /// A rank posts a receive.
    pub(super) fn receive(&mut self, rank: u32, posted: Posted, now: u64, world: &World, ports: &mut Ports) {
        if let Some(came) = self.own[rank as usize].matching.post(posted) {
            self.matched(rank, &came, &posted, now, world, ports);
        }
    }

    /// A message and a receive have found each other: the data is there, or is asked for.
    fn matched(
        &mut self,
        rank: u32,
        came: &Came,
        posted: &Posted,
        now: u64,
        world: &World,
        ports: &mut Ports,
    ) {
        let own = &mut self.own[rank as usize];
        if came.size > posted.room {
            let (rank, from) = (own.id, came.from);
            self.broken = Some(What::Truncated { rank, from, op: came.op, at: own.at, room: posted.room });
            return;
        }
        if came.eager {
            own.ready.push_back((posted.set, came.after));
            return;
        }
        own.matching.clear(came, posted.set);
        let size = world.costs(own.id).control.get().max(1);
        let answer = Message { word: Word::Clear, op: came.op, size };
        self.give(rank, came.from, answer, &[came.after, posted.after], now, world, ports);
    }
}

/// Bytes that the op moves.
const fn bytes(op: &Op) -> u64 {
    match op {
        Op::Isend { size, .. } | Op::Put { size, .. } | Op::Get { size, .. } => {
            if *size == 0 {
                1
            } else {
                *size
            }
        }
        _ => 0,
    }
}
