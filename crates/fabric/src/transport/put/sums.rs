//! What the ends of PUT streams at one host do, summed up over sampling periods.
use backwater_engine::Post;
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::record::{PutEvent, StreamId, StreamRecord};

/// The open period of one host.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Sums {
    start: u64,
    /// Exclusive; `u64::MAX` in the last period that a run can have.
    end: u64,
    /// Length of a period.
    sample: u64,
    /// By the host's numbers of the streams that it sends.
    initiators: Vec<StreamRecord>,
    /// By the host's numbers of the streams that it receives.
    targets: Vec<StreamRecord>,
}

impl Sums {
    /// Of no stream yet, by periods of `sample` ps.
    pub(crate) const fn new(sample: u64) -> Self {
        Self { start: 0, end: sample, sample, initiators: Vec::new(), targets: Vec::new() }
    }

    /// The host has one more stream, of which it is the target or the initiator.
    pub(crate) fn add(&mut self, stream: StreamId, target: bool) {
        let list = if target { &mut self.targets } else { &mut self.initiators };
        list.push(nothing(stream, target));
    }

    /// Something happened to stream number `at`: of those that the host receives if the event is one of the target's, else
    /// of those that it sends. `bytes` are those on the wire of what is sent, and the payload of what is accepted or
    /// processed; of other events they do not count.
    pub(crate) fn note<P: Post<Packet>>(
        &mut self,
        at: usize,
        event: PutEvent,
        bytes: u64,
        ports: &mut Ports,
        cx: &mut Ctx<'_, P>,
    ) {
        self.turn(ports, cx);
        let sum = if event.at_target() { &mut self.targets[at] } else { &mut self.initiators[at] };
        add(sum, event, Bytes::new(bytes));
    }

    /// What the policy of stream number `at` of those that the host sends allows now; see [`StreamRecord`].
    pub(crate) fn allow(&mut self, at: usize, window: Option<u64>, state: Option<i8>) {
        let sum = &mut self.initiators[at];
        (sum.window, sum.state) = (window, state);
    }

    /// Goes on to the period that `now` is in.
    #[inline]
    pub(crate) fn turn<P: Post<Packet>>(&mut self, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        if cx.now >= self.end {
            self.close(ports, &mut cx.at(self.end));
            self.start = cx.now - cx.now % self.sample;
            self.end = self.start.saturating_add(self.sample);
        }
    }

    /// Records what the open period has had until `now`, and forgets it.
    #[cold]
    pub(crate) fn close<P: Post<Packet>>(&mut self, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        for sum in self.initiators.iter_mut().chain(&mut self.targets) {
            let forgotten =
                StreamRecord { window: sum.window, state: sum.state, ..nothing(sum.stream, sum.target) };
            let record = std::mem::replace(sum, forgotten);
            if record != forgotten {
                let (start, end) = (Time::from_ps(self.start), Time::from_ps(cx.now.min(self.end)));
                ports.records_mut().streams.push(StreamRecord { start, end, ..record });
                cx.post.recorded(1);
            }
        }
    }
}

fn add(sum: &mut StreamRecord, event: PutEvent, bytes: Bytes) {
    match event {
        PutEvent::Sent => {
            sum.sent_packets += 1;
            sum.sent_bytes += bytes;
        }
        PutEvent::Resent => {
            sum.resent_packets += 1;
            sum.resent_bytes += bytes;
        }
        PutEvent::Accepted => {
            sum.accepted_packets += 1;
            sum.accepted_bytes += bytes;
        }
        PutEvent::Processed => sum.processed_bytes += bytes,
        PutEvent::Dropped => sum.dropped_packets += 1,
        PutEvent::OutOfOrder => sum.out_of_order_packets += 1,
        PutEvent::Duplicate => sum.duplicate_packets += 1,
        PutEvent::IackSent | PutEvent::Iack => sum.iacks += 1,
        PutEvent::DackSent | PutEvent::Dack => sum.dacks += 1,
        PutEvent::MarkedSent | PutEvent::Marked => {
            sum.iacks += 1;
            sum.marked_iacks += 1;
        }
        PutEvent::NackSent | PutEvent::Nack => sum.nacks += 1,
        PutEvent::Timeout => sum.timeouts += 1,
        PutEvent::State => {}
    }
}

const fn nothing(stream: StreamId, target: bool) -> StreamRecord {
    StreamRecord {
        start: Time::ZERO,
        end: Time::ZERO,
        stream,
        target,
        sent_packets: 0,
        sent_bytes: Bytes::new(0),
        resent_packets: 0,
        resent_bytes: Bytes::new(0),
        accepted_packets: 0,
        accepted_bytes: Bytes::new(0),
        processed_bytes: Bytes::new(0),
        dropped_packets: 0,
        out_of_order_packets: 0,
        duplicate_packets: 0,
        iacks: 0,
        marked_iacks: 0,
        dacks: 0,
        nacks: 0,
        timeouts: 0,
        window: None,
        state: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: StreamId = StreamId { src: 0, dst: 1, priority: 3, kind: 0 };

    #[test]
    fn what_was_sent_again_is_counted_apart_from_what_was_new() {
        let mut sum = nothing(STREAM, false);
        add(&mut sum, PutEvent::Sent, Bytes::new(2112));
        add(&mut sum, PutEvent::Resent, Bytes::new(2112));
        add(&mut sum, PutEvent::Resent, Bytes::new(576));
        assert_eq!((sum.sent_packets, sum.sent_bytes.get()), (1, 2112));
        assert_eq!((sum.resent_packets, sum.resent_bytes.get()), (2, 2688));
    }

    #[test]
    fn a_marked_iack_is_an_iack_and_no_dack_of_its_own() {
        let mut sum = nothing(STREAM, false);
        for event in [PutEvent::Iack, PutEvent::Marked, PutEvent::Dack, PutEvent::State] {
            add(&mut sum, event, Bytes::new(0));
        }
        assert_eq!((sum.iacks, sum.marked_iacks, sum.dacks), (2, 1, 1));
    }
}
