//! What switches write into packets (INT: in-band network telemetry), beside them: a frame under way has no room for it.
//!
//! Each packet that may be under way has a place of its own, which its flow and number name. It is the packet's: only the node at which
//! the packet is writes there, and its source reads it when the ACK is back, at least one window of the engine later. So it is memory
//! that travels, not memory that nodes share, and relaxed atomics do for it.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use backwater_control::reaction::{IntHop, MAX_HOPS, ReactionConfig};
use backwater_traffic::Flow;
use backwater_units::{Rate, Time};

use crate::packet::{Kind, Packet};
use crate::spec::Spec;
use crate::world::packets;

/// Words of a hop, and of a packet: how many hops have written, and what.
const HOP: usize = 4;
const PLACE: usize = 1 + HOP * MAX_HOPS;

/// The places of a flow: the first, and how many there are (0: it has no telemetry).
#[derive(Clone, Copy, Debug)]
struct Places {
    first: u32,
    count: u32,
}

/// The telemetry of all packets under way.
#[derive(Debug)]
pub(crate) struct Telemetry {
    places: Vec<Places>,
    words: Vec<AtomicU64>,
}

impl Telemetry {
    /// For the flows whose reaction points want it; `None` if none does.
    pub(crate) fn new(spec: &Spec, flows: &[Flow]) -> Option<Box<Self>> {
        if !spec.pairs.iter().any(|pair| pair.reaction.wants_telemetry()) {
            return None;
        }
        let payload = spec.packet.payload.get() as u16;
        let kind = |flow: &Flow| spec.pair_of.get(usize::from(flow.group)).copied().unwrap_or(0);
        let mut total = 0;
        let place = |flow: &Flow| {
            let pair = &spec.pairs[usize::from(kind(flow))];
            let count = match pair.reaction {
                // A packet may leave while less than a window is under way.
                ReactionConfig::Hpcc(config) => {
                    // What windows count a packet as, whatever their configuration takes for its size.
                    let most = config.initial.max(u64::from(config.mss)) / pair.counted(&spec.packet) + 2;
                    packets(flow, payload).min(most.min(u64::from(u32::MAX)) as u32)
                }
                _ => 0,
            };
            let first = total;
            total += count;
            Places { first, count }
        };
        let places: Vec<Places> = flows.iter().map(place).collect();
        let words = (0..total as usize * PLACE).map(|_| AtomicU64::new(0)).collect();
        (total > 0).then(|| Box::new(Self { places, words }))
    }

    /// The words of a packet, if it has any.
    fn words(&self, flow: u32, number: u32) -> Option<&[AtomicU64]> {
        let Places { first, count } = self.places[flow as usize];
        let at = (first + number.checked_rem(count)?) as usize * PLACE;
        Some(&self.words[at..at + PLACE])
    }

    /// A packet leaves its source: nothing has been written into it.
    pub(crate) fn begin(&self, flow: u32, number: u32) {
        if let Some(words) = self.words(flow, number) {
            words[0].store(0, Relaxed);
        }
    }

    /// A packet leaves a switch.
    pub(crate) fn write(&self, packet: &Packet, hop: &IntHop) {
        if packet.kind != Kind::Data {
            return;
        }
        let Some(words) = self.words(packet.flow, packet.number()) else { return };
        let count = words[0].load(Relaxed);
        if let Some(place) = words[1..].chunks_exact(HOP).nth(count as usize) {
            let values = [u64::from(hop.id) << 32 | hop.queue, hop.at.as_ps(), hop.sent, hop.rate.as_bps()];
            for (word, value) in place.iter().zip(values) {
                word.store(value, Relaxed);
            }
            words[0].store(count + 1, Relaxed);
        }
    }

    /// What was written into a packet; how many hops.
    pub(crate) fn read(&self, flow: u32, number: u32, hops: &mut [IntHop; MAX_HOPS]) -> usize {
        let Some(words) = self.words(flow, number) else { return 0 };
        let count = words[0].load(Relaxed) as usize;
        for (hop, place) in hops.iter_mut().zip(words[1..].chunks_exact(HOP)).take(count) {
            let [first, at, sent, rate] = [0, 1, 2, 3].map(|i: usize| place[i].load(Relaxed));
            *hop = IntHop {
                id: (first >> 32) as u32,
                queue: first & u64::from(u32::MAX),
                at: Time::from_ps(at),
                sent,
                rate: Rate::from_bps(rate),
            };
        }
        count
    }
}
