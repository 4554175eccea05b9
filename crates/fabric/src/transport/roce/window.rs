//! What a flow with a window has under way, and what each ACK tells its reaction point.
use std::collections::VecDeque;
use std::io::{Result, Write};

use backwater_control::reaction::{Feedback, IntHop, MAX_HOPS};
use backwater_traffic::Flow;
use backwater_units::Span;
use backwater_units::relative::{deadline, instant, once};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::telemetry;
use crate::packet::Packet;
use crate::spec::{PairSpec, Spec};
use crate::switch::forwarding::ecmp::{PathKey, links, rails};
use crate::transport::roce::pacer::Pacer;
use crate::transport::roce::reliable::Heard;
use crate::world::World;

/// An instant that has been used up.
const DONE: u64 = u64::MAX;

/// The packets under way of one flow.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Window {
    /// Bytes of a full packet on the wire, or of its payload: what windows count each packet as.
    packet: u64,
    hops: u32,
    /// It is full, and its queue pair is not among those that are due.
    closed: bool,
    /// Packets sent, and acknowledged.
    sent: u32,
    acked: u32,
    /// When the packets from number `first` on started to leave. As long as the most ever under way; it grows no more after that.
    first: u32,
    #[borsh(serialize_with = "save_times")]
    times: VecDeque<u64>,
    /// Size of the latest packet, and when the application had made the one after it.
    wire: u32,
    #[borsh(serialize_with = "deadline")]
    made: u64,
    #[borsh(serialize_with = "once")]
    last: u64,
    /// What the switches reported by the ACK before.
    telemetry: Option<Box<Telemetry>>,
}

fn save_times<W: Write>(times: &VecDeque<u64>, out: &mut W) -> Result<()> {
    (times.len() as u32).serialize(out)?;
    times.iter().try_for_each(|time| instant(time, out))
}

/// Telemetry of one packet.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Telemetry {
    count: usize,
    hops: [IntHop; MAX_HOPS],
}

impl Telemetry {
    const NOTHING: Self = Self { count: 0, hops: [IntHop::NONE; MAX_HOPS] };
}

impl Window {
    pub(crate) fn new(flow: u32, pair: &PairSpec, world: &World) -> Self {
        let header = if pair.payload_windows { 0 } else { u64::from(world.header) };
        Self {
            packet: u64::from(world.payload) + header,
            hops: u32::from(world.hops[flow as usize]),
            closed: false,
            sent: 0,
            acked: 0,
            first: 0,
            times: VecDeque::new(),
            wire: 0,
            made: 0,
            last: 0,
            telemetry: pair.reaction.wants_telemetry().then(|| Box::new(Telemetry::NOTHING)),
        }
    }

    /// A packet of `wire` bytes starts to leave `now`, the `sent`-th of its flow; the next one is there at `made`.
    pub(crate) fn sent(&mut self, sent: u32, now: u64, wire: u32, made: u64) {
        (self.sent, self.wire, self.made, self.last) = (sent, wire, made, now);
        self.times.push_back(now);
    }

    /// Packet `number`, of `wire` bytes, starts to leave once more.
    pub(crate) fn sent_again(&mut self, number: u32, now: u64, wire: u32) {
        (self.wire, self.last) = (wire, now);
        let at = number.checked_sub(self.first).map(|at| at as usize);
        if let Some(time) = at.and_then(|at| self.times.get_mut(at)) {
            *time = now;
        }
    }

    /// Whether one more may be sent while so many are under way.
    pub(crate) fn takes(&self, packets: u32, pacer: &Pacer) -> bool {
        ((u64::from(packets) * self.packet) as f64) < pacer.window()
    }

    /// Whether no more may be sent for now. Then the queue pair waits for an ACK.
    pub(crate) fn closes(&mut self, pacer: &Pacer) -> bool {
        self.closed = self.under_way() as f64 >= pacer.window();
        self.closed
    }

    fn under_way(&self) -> u64 {
        u64::from(self.sent - self.acked) * self.packet
    }

    /// An ACK has come, with `int` beside it. When the next packet is due, if the window was closed and is open now.
    pub(crate) fn acknowledged(
        &mut self,
        ack: &Packet,
        int: &[u8],
        kind: u16,
        pacer: &mut Pacer,
        world: &World,
    ) -> Option<u64> {
        let now = ack.time;
        let number = ack.seq - 1;
        let started = self.take_time(number)?;
        let newly = ack.seq.saturating_sub(self.acked);
        self.acked += newly;
        self.feed(started, newly, ack, int, kind, pacer, world);
        if !self.closed || self.under_way() as f64 >= pacer.window() {
            return None;
        }
        self.closed = false;
        Some(now.max(self.last + pacer.gap(self.wire)).max(self.made))
    }

    /// The same of a sender that sends again what is lost, and knows itself when it may go on: only the latest copy of a packet is
    /// measured, and only by the reply to itself. An ACK for a packet that has been answered already is that of the one that came late
    /// before it: the last one without an answer.
    pub(crate) fn replied(
        &mut self,
        heard: &Heard,
        reply: &Packet,
        int: &[u8],
        kind: u16,
        pacer: &mut Pacer,
        world: &World,
    ) {
        let newly = heard.expected.saturating_sub(self.acked);
        if let Some(started) = self.hear(heard) {
            self.feed(started, newly, reply, int, kind, pacer, world);
        }
    }

    /// A reply to a sender that sends again: when the packet that it measures started to leave.
    fn hear(&mut self, heard: &Heard) -> Option<u64> {
        let newly = heard.expected.saturating_sub(self.acked);
        let own = heard.number.and_then(|number| self.take_time(number));
        let late = || if heard.lost || newly == 0 { None } else { self.take_latest(heard.expected) };
        let started = own.or_else(late);
        self.acked += newly;
        while self.first < self.acked && self.times.pop_front().is_some() {
            self.first += 1;
        }
        started
    }

    /// What an ACK of a packet that left at `started` tells the reaction point.
    #[allow(clippy::too_many_arguments, reason = "what an ACK tells")]
    fn feed(
        &mut self,
        started: u64,
        newly: u32,
        ack: &Packet,
        int: &[u8],
        kind: u16,
        pacer: &mut Pacer,
        world: &World,
    ) {
        let now = ack.time;
        let mut telemetry = Telemetry::NOTHING;
        telemetry.count = telemetry::decode(int, &mut telemetry.hops).expect("switches wrote it");
        let before = self.telemetry.as_deref().copied().unwrap_or(Telemetry::NOTHING);
        let feedback = Feedback {
            acked: u64::from(self.acked) * self.packet,
            newly: u64::from(newly) * self.packet,
            sent: u64::from(self.sent) * self.packet,
            echo: ack.echo,
            rtt: Span::from_ps(now - started),
            hops: self.hops,
            int: &telemetry.hops[..telemetry.count],
            before: &before.hops[..before.count],
        };
        pacer.fed_back(kind, &feedback, now, world);
        if let Some(before) = &mut self.telemetry {
            **before = telemetry;
        }
    }

    /// When the last packet before this one started to leave of which that has not been asked.
    fn take_latest(&mut self, number: u32) -> Option<u64> {
        let below = number.saturating_sub(self.first) as usize;
        let at = self.times.iter().take(below).rposition(|time| *time != DONE)?;
        self.take_time(self.first + at as u32)
    }

    /// When a packet started to leave, the first time that is asked.
    fn take_time(&mut self, number: u32) -> Option<u64> {
        let time = std::mem::replace(self.times.get_mut(number.checked_sub(self.first)? as usize)?, DONE);
        while self.times.front() == Some(&DONE) {
            self.times.pop_front();
            self.first += 1;
        }
        (time != DONE).then_some(time)
    }
}

/// Switches on the path of each flow, as ECMP chooses it; empty unless a reaction point has a window.
pub(crate) fn hops(spec: &Spec, flows: &[Flow]) -> Vec<u8> {
    if !spec.pairs.iter().any(|pair| pair.reaction.has_window()) {
        return Vec::new();
    }
    let rails = rails(spec);
    let number = |index: u32| spec.numbers.get(index as usize).copied().unwrap_or(index);
    let key = |index: u32| PathKey::new(index, number(index), &rails);
    let ways = (&spec.network, &spec.routes);
    let path = |(index, flow)| hops_on(&links(ways, spec.seed, &spec.switch.hashes, key(index), flow));
    (0..).zip(flows).map(path).collect()
}

/// Switches on a path of these links.
pub(crate) fn hops_on(links: &[(u32, u16)]) -> u8 {
    links.len().saturating_sub(1).min(255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that start to leave at these instants.
    fn window(times: &[u64]) -> Window {
        let mut window = Window {
            packet: 1000,
            hops: 1,
            closed: false,
            sent: 0,
            acked: 0,
            first: 0,
            times: VecDeque::new(),
            wire: 0,
            made: 0,
            last: 0,
            telemetry: None,
        };
        for (sent, time) in (1..).zip(times) {
            window.sent(sent, *time, 1000, 0);
        }
        window
    }

    fn ack(expected: u32) -> Heard {
        Heard { expected, number: expected.checked_sub(1), lost: false, notifies: false }
    }

    fn nack(expected: u32, number: u32) -> Heard {
        Heard { expected, number: Some(number), lost: true, notifies: true }
    }

    #[test]
    fn an_ack_that_fills_a_hole_measures_the_packet_that_filled_it() {
        let mut window = window(&[0, 100, 200, 300, 400]);
        assert_eq!(window.hear(&ack(1)), Some(0));
        // Packet 1 is lost: the replies to those behind it measure them.
        let behind = [2, 3, 4].map(|number| window.hear(&nack(1, number)));
        assert_eq!(behind, [Some(200), Some(300), Some(400)]);
        window.sent_again(1, 900, 1000);
        // Packet 1 is there, and with it all: packet 4 has been measured, so this is the reply to packet 1.
        assert_eq!(window.hear(&ack(5)), Some(900));
        assert_eq!(window.hear(&ack(5)), None, "it says nothing new");
    }

    #[test]
    fn of_two_holes_each_one_is_measured_by_the_ack_that_it_brings() {
        let mut window = window(&[0, 100, 200, 300]);
        assert_eq!([1, 3].map(|number| window.hear(&nack(0, number))), [Some(100), Some(300)]);
        window.sent_again(0, 700, 1000);
        window.sent_again(2, 800, 1000);
        assert_eq!([2, 4].map(|expected| window.hear(&ack(expected))), [Some(700), Some(800)]);
    }
}
