//! Round-trip times of segments, as TIMELY measures them (Mittal et al., SIGCOMM 2015, §3 and §4.1): from a segment's
//! first packet to its completion, without the time that the segment takes on the wire of the NIC.
use std::collections::VecDeque;
use std::io::{Result, Write};

use backwater_units::Span;
use backwater_units::relative::{instant, once};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::spec::SegmentSpec;

/// The segments of one flow.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Segments {
    spec: SegmentSpec,
    /// Packets, bytes and time on the wire of the current segment so far, and when it began.
    packets: u32,
    bytes: u32,
    wire: u64,
    #[borsh(serialize_with = "once")]
    began: u64,
    /// Segments without ACK: the flow's packets up to their end, and the instant from which the round trip counts. As
    /// long as the most segments ever under way; it grows no more after that.
    #[borsh(serialize_with = "save_open")]
    open: VecDeque<(u32, u64)>,
    /// The flow's packets sent so far, and how many that were at the latest measurement.
    sent: u32,
    measured: u32,
    /// Packets were lost since the current segment began: it counts from its next packet on.
    lost: bool,
}

fn save_open<W: Write>(open: &VecDeque<(u32, u64)>, out: &mut W) -> Result<()> {
    (open.len() as u32).serialize(out)?;
    open.iter().try_for_each(|(packets, counted)| {
        packets.serialize(out)?;
        instant(counted, out)
    })
}

/// When the packet after the one just sent may leave.
pub(crate) enum Next {
    /// In the same burst: back to back.
    AtOnce,
    /// A pacing gap for so many bytes after this instant.
    Paced { since: u64, bytes: u32 },
}

impl Segments {
    pub(crate) const fn new(spec: SegmentSpec) -> Self {
        Self {
            spec,
            packets: 0,
            bytes: 0,
            wire: 0,
            began: 0,
            open: VecDeque::new(),
            sent: 0,
            measured: 0,
            lost: false,
        }
    }

    /// A packet of `bytes` starts to leave `now` and takes `wire` for it; the flow's packets up to and including it are
    /// `sent`, and it may be the `last` one.
    pub(crate) fn on_sent(&mut self, sent: u32, last: bool, now: u64, bytes: u32, wire: u64) -> Next {
        if self.packets == 0 || std::mem::take(&mut self.lost) {
            self.began = now;
        }
        self.sent = sent;
        self.packets += 1;
        self.bytes += bytes;
        self.wire += wire;
        let ends = last || self.packets == self.spec.packets;
        let (began, total) = (self.began, self.bytes);
        if ends {
            // A paced segment takes long to leave by intent: its round trip is that of its last packet.
            let counted = match (self.spec.once_per_round_trip, self.spec.burst) {
                (true, _) => now,
                (false, true) => self.began + self.wire,
                (false, false) => now + wire,
            };
            self.open.push_back((sent, counted));
            (self.packets, self.bytes, self.wire) = (0, 0, 0);
        }
        match (self.spec.burst, ends) {
            (true, true) => Next::Paced { since: began, bytes: total },
            (true, false) => Next::AtOnce,
            (false, _) => Next::Paced { since: now, bytes },
        }
    }

    /// Packets are sent again: what is under way has no round trip that counts (Karn and Partridge, SIGCOMM 1987).
    pub(crate) fn lose(&mut self) {
        self.open.clear();
        self.lost = true;
    }

    /// An ACK for the first `packets` packets arrived `now`: the round-trip time of the latest segment it completes.
    pub(crate) fn on_ack(&mut self, packets: u32, now: u64) -> Option<Span> {
        let mut completed = None;
        while let Some(&(end, counted)) = self.open.front()
            && end <= packets
        {
            self.open.pop_front();
            if self.spec.once_per_round_trip {
                if end <= self.measured {
                    continue;
                }
                self.measured = self.sent;
            }
            completed = Some(Span::from_ps(now.saturating_sub(counted)));
        }
        completed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_two_packets_is_paced_as_one_and_its_round_trip_leaves_out_its_own_time_on_the_wire() {
        let mut segments = Segments::new(SegmentSpec { packets: 2, burst: true, once_per_round_trip: false });
        assert!(matches!(segments.on_sent(1, false, 1_000, 500, 100), Next::AtOnce));
        let next = segments.on_sent(2, false, 1_100, 500, 100);
        assert!(matches!(next, Next::Paced { since: 1_000, bytes: 1_000 }));
        assert_eq!(segments.on_ack(1, 9_000), None);
        assert_eq!(segments.on_ack(2, 9_200), Some(Span::from_ps(8_000)));
        assert_eq!(segments.on_ack(2, 9_300), None);
    }

    #[test]
    fn a_paced_segment_s_round_trip_is_that_of_its_last_packet() {
        let mut segments =
            Segments::new(SegmentSpec { packets: 2, burst: false, once_per_round_trip: false });
        segments.on_sent(1, false, 0, 500, 100);
        segments.on_sent(2, false, 5_000, 500, 100);
        assert_eq!(segments.on_ack(2, 13_100), Some(Span::from_ps(8_000)));
    }

    #[test]
    fn once_per_round_trip_the_next_measurement_is_of_a_packet_that_was_not_yet_sent_at_the_one_before() {
        let spec = SegmentSpec { packets: 1, burst: false, once_per_round_trip: true };
        let mut segments = Segments::new(spec);
        for (number, at) in (1..).zip([0, 100, 200]) {
            segments.on_sent(number, false, at, 500, 100);
        }
        assert_eq!(segments.on_ack(1, 1_000), Some(Span::from_ps(1_000)));
        segments.on_sent(4, false, 1_000, 500, 100);
        assert_eq!(segments.on_ack(2, 1_100), None);
        assert_eq!(segments.on_ack(3, 1_200), None);
        assert_eq!(segments.on_ack(4, 2_300), Some(Span::from_ps(1_300)));
    }

    #[test]
    fn the_shorter_last_segment_of_a_flow_is_measured_too() {
        let mut segments =
            Segments::new(SegmentSpec { packets: 16, burst: true, once_per_round_trip: false });
        segments.on_sent(1, true, 0, 100, 20);
        assert_eq!(segments.on_ack(1, 1_020), Some(Span::from_ps(1_000)));
    }
}
