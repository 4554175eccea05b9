//! What a receive queue did, summed up over sampling periods.
use backwater_engine::Post;
use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::record::EndpointRecord;

/// The open period of one host.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Sums {
    period: u64,
    start: u64,
    /// Exclusive; `u64::MAX` in the last period that a run can have.
    end: u64,
    drained: u64,
    dropped_packets: u64,
    dropped_bytes: u64,
    peak: u64,
    held_back: u64,
    /// By port and class: until when the upstream port is held back; counted up to `counted`.
    until: Vec<[u64; 8]>,
    counted: u64,
}

impl Sums {
    pub(crate) fn new(period: u64, ports: usize) -> Self {
        Self {
            period,
            start: 0,
            end: period,
            drained: 0,
            dropped_packets: 0,
            dropped_bytes: 0,
            peak: 0,
            held_back: 0,
            until: vec![[0; 8]; ports],
            counted: 0,
        }
    }

    /// So much is in the queue now, more than before.
    pub(crate) fn grown(&mut self, held: u64) {
        self.peak = self.peak.max(held);
    }

    pub(crate) fn drained(&mut self, size: u16) {
        self.drained += u64::from(size);
    }

    pub(crate) fn dropped(&mut self, size: u16) {
        self.dropped_packets += 1;
        self.dropped_bytes += u64::from(size);
    }

    /// From `now` on the upstream port of a port is held back in a class until `until`, if nothing else is said before.
    pub(crate) fn holds(&mut self, (port, class): (u16, u8), now: u64, until: u64) {
        self.count(now);
        self.until[usize::from(port)][usize::from(class)] = until;
    }

    fn count(&mut self, now: u64) {
        for until in self.until.iter().flatten() {
            self.held_back += (*until).min(now).saturating_sub(self.counted);
        }
        self.counted = now;
    }

    /// Goes on to the period that `now` is in; `held` bytes have been in the queue since the last change.
    #[inline]
    pub(crate) fn turn<P: Post<Packet>>(&mut self, held: u64, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        while cx.now >= self.end {
            let (end, period) = (self.end, self.period);
            self.close(held, ports, &mut cx.at(end));
            let goes_on = held > 0 || self.until.iter().flatten().any(|until| *until > end);
            self.start = if goes_on { end } else { cx.now - cx.now % period };
            self.end = self.start.saturating_add(period);
            self.peak = held;
        }
    }

    /// Records what the open period has had up to its end at `now`, and forgets it.
    #[cold]
    pub(crate) fn close<P: Post<Packet>>(&mut self, held: u64, ports: &mut Ports, cx: &mut Ctx<'_, P>) {
        self.count(cx.now);
        let silent = self.peak == 0 && self.dropped_packets == 0 && self.held_back == 0;
        if cx.now > self.start && !silent {
            let record = EndpointRecord {
                start: Time::from_ps(self.start),
                end: Time::from_ps(cx.now),
                node: ports.node(),
                drained_bytes: Bytes::new(self.drained),
                dropped_packets: self.dropped_packets,
                dropped_bytes: Bytes::new(self.dropped_bytes),
                queue: Bytes::new(held),
                peak: Bytes::new(self.peak),
                paused_upstream: Span::from_ps(self.held_back),
            };
            ports.records_mut().endpoints.push(record);
            cx.post.recorded(1);
        }
        (self.drained, self.dropped_packets, self.dropped_bytes) = (0, 0, 0);
        (self.held_back, self.peak) = (0, 0);
    }
}
