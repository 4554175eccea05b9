//! What of PUT streams is recorded.
use backwater_control::reaction::{Policy, State};
use backwater_engine::Post;
use backwater_units::Time;

use crate::nic::host::Host;
use crate::packet::Packet;
use crate::record::{PutEvent, PutRecord};
use crate::transport::put::streams;
use crate::world::World;

/// Something that happened to a packet of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Note {
    /// Slot of the stream, outgoing or incoming as the event is the initiator's or the target's.
    pub(crate) slot: u32,
    pub(crate) flow: u32,
    pub(crate) seq: u32,
    pub(crate) event: PutEvent,
    /// What [`crate::transport::put::sums::Sums`] add up.
    pub(crate) bytes: u64,
    /// See [`PutRecord::value`].
    pub(crate) value: i64,
}

impl Host {
    /// Records what happened, if anybody wants to know.
    #[inline]
    pub(crate) fn note_put<P: Post<Packet>>(&mut self, note: Note, now: u64, world: &World, post: &mut P) {
        let Some(puts) = &mut self.puts else { return };
        if let Some(sums) = &mut puts.sums {
            sums.note(note.slot as usize, note.event, note.bytes, now, &mut self.ports, post);
        }
        if !world.puts_of.is_empty() {
            self.record_put(note, now, world, post);
        }
    }

    #[cold]
    fn record_put<P: Post<Packet>>(&mut self, note: Note, now: u64, world: &World, post: &mut P) {
        if world.puts_of.get(usize::from(world.flows[note.flow as usize].group)) != Some(&true) {
            return;
        }
        let stream = streams(world).of(note.flow).expect("a PUT has a stream");
        self.ports.records.puts.push(PutRecord {
            time: Time::from_ps(now),
            flow: note.flow,
            src: world.hosts[stream.src as usize],
            dst: world.hosts[stream.dst as usize],
            seq: note.seq,
            event: note.event,
            value: note.value,
        });
        post.recorded(1);
    }

    /// Records the periods that are over at `now`, and the open one if the run `ends`.
    pub(crate) fn turn_stream_sums<P: Post<Packet>>(&mut self, now: u64, ends: bool, post: &mut P) {
        if let Some(puts) = &mut self.puts
            && let Some(sums) = &mut puts.sums
        {
            sums.turn(now, &mut self.ports, post);
            if ends {
                sums.close(now, &mut self.ports, post);
            }
        }
    }

    /// Records what the policy of an outgoing stream allows, after it may have changed from `before`.
    #[inline]
    pub(crate) fn note_policy<P: Post<Packet>>(
        &mut self,
        slot: u32,
        before: State,
        now: u64,
        world: &World,
        post: &mut P,
    ) {
        let Some(puts) = &mut self.puts else { return };
        if puts.sums.is_none() && world.puts_of.is_empty() {
            return;
        }
        let outgoing = &puts.outgoing[slot as usize];
        let (policy, number) = (outgoing.policy, outgoing.number);
        let after = policy.state();
        if after == before {
            return;
        }
        if let Some(sums) = &mut puts.sums {
            sums.turn(now, &mut self.ports, post);
            sums.allow(slot as usize, window(after, &policy), level(after, &policy));
        }
        if let (Some(old), Some(new)) = (level(before, &policy), level(after, &policy))
            && old != new
        {
            let flow = streams(world).all[number as usize].flow;
            let note = Note { slot, flow, seq: 0, event: PutEvent::State, bytes: 0, value: i64::from(new) };
            self.note_put(note, now, world, post);
        }
    }
}

/// The allowance or the congestion window, if the policy has one.
pub(crate) fn window(state: State, policy: &Policy) -> Option<u64> {
    (!matches!(policy, Policy::Opt)).then_some(state.allowance)
}

/// The halt state, if the policy has one.
fn level(state: State, policy: &Policy) -> Option<i8> {
    matches!(policy, Policy::Dack(_)).then_some(state.level)
}
