//! What of PUT streams is recorded.
use backwater_control::reaction::State;
use backwater_engine::Post;
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::nic::host::Host;
use crate::nic::nics::Nics;
use crate::packet::Packet;
use crate::record::{PutEvent, PutRecord};
use crate::transport::put::{Puts, streams};

/// Something that happened to a packet of a stream.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Note {
    /// Slot of the stream, outgoing or incoming as the event is the initiator's or the target's.
    pub(super) slot: u32,
    pub(super) flow: u32,
    pub(super) seq: u32,
    pub(super) event: PutEvent,
    /// What [`crate::transport::put::sums::Sums`] add up.
    pub(super) bytes: u64,
    /// See [`PutRecord::value`].
    pub(super) value: i64,
}

impl<N: Nics> Host<N> {
    /// Records what happened, if anybody wants to know.
    #[inline]
    pub(crate) fn note_put<P: Post<Packet>>(&mut self, note: Note, cx: &mut Ctx<'_, P>) {
        let Some(puts) = self.transports.puts_mut() else { return };
        if let Some(sums) = puts.sums_mut() {
            sums.note(note.slot as usize, note.event, note.bytes, &mut self.ports, cx);
        }
        if !cx.world.puts_of.is_empty() {
            self.record_put(note, cx);
        }
    }

    #[cold]
    fn record_put<P: Post<Packet>>(&mut self, note: Note, cx: &mut Ctx<'_, P>) {
        if cx.world.puts_of.get(usize::from(cx.world.flows[note.flow as usize].group)) != Some(&true) {
            return;
        }
        let stream = streams(cx.world).of(note.flow).expect("a PUT has a stream");
        self.ports.records_mut().puts.push(PutRecord {
            time: Time::from_ps(cx.now),
            flow: note.flow,
            src: cx.world.hosts[stream.src as usize],
            dst: cx.world.hosts[stream.dst as usize],
            seq: note.seq,
            event: note.event,
            value: note.value,
        });
        cx.post.recorded(1);
    }

    /// Records the periods that are over at `now`, and the open one if the run `ends`.
    pub(crate) fn turn_stream_sums<P: Post<Packet>>(&mut self, ends: bool, cx: &mut Ctx<'_, P>) {
        if let Some(sums) = self.transports.puts_mut().and_then(Puts::sums_mut) {
            sums.turn(&mut self.ports, cx);
            if ends {
                sums.close(&mut self.ports, cx);
            }
        }
    }

    /// Records what the policy of an outgoing stream allows, after it may have changed from `before`.
    #[inline]
    pub(crate) fn note_policy<P: Post<Packet>>(&mut self, slot: u32, before: State, cx: &mut Ctx<'_, P>) {
        let Some(puts) = self.transports.puts_mut() else { return };
        if puts.sums_mut().is_none() && cx.world.puts_of.is_empty() {
            return;
        }
        let (after, flow) = (puts.allows(slot), puts.outgoing(slot, cx.world).flow);
        if after == before {
            return;
        }
        if let Some(sums) = puts.sums_mut() {
            sums.turn(&mut self.ports, cx);
            sums.allow(slot as usize, after.allowance, after.level);
        }
        if let (Some(old), Some(new)) = (before.level, after.level)
            && old != new
        {
            let note = Note { slot, flow, seq: 0, event: PutEvent::State, bytes: 0, value: i64::from(new) };
            self.note_put(note, cx);
        }
    }
}
