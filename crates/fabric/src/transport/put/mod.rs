//! PUT streams: reliable delivery over a fabric that may drop, beside the queue pairs of RoCE.
//!
//! ```text
//!   initiator                                                                target
//!   flows ─▶ Outgoing ─▶ Turns ─▶ NIC ─▶ fabric ─▶ admission ─▶ receive queue ─▶ processed
//!               ▲  window, policy                     │ verdict      │ release
//!               └── effects (after `processing`) ◀── fabric ◀── ACK, NACK: owed, then alone or with data
//! ```
//! What is decided stands in `control`: [`backwater_control::transport`] which packet is next and which is accepted,
//! [`backwater_control::reaction::Controller`] when one may leave, [`backwater_control::notify`] what is acknowledged when.
//! The way of a PUT:
//!
//! 1. The flows between two hosts are messages of one stream, which numbers its packets, sends again what is lost and delivers in order. A
//!    stream gets in line when its policy, its window and its application let it send. Replays go before new packets.
//! 2. A lossy switch (`switch.overflow = "drop"`) drops what does not fit its port or its memory, and counts it.
//! 3. A packet that is expected and fits is accepted. It stands in the receive queue of a slow host; other hosts process it at once.
//! 4. Accepted packets wait to be acknowledged. Under DACK the target releases ACKs at its threshold, so that they pace the initiator. An ACK
//!    leaves in a frame of its own, or in the sequence word of any packet that goes there (`frame.rs`).
//! 5. An ACK takes effect at the initiator when it has been processed: it frees the window, moves the policy, and may end a replay. One
//!    timer per stream looks for expired packets and for what the policy waits for.
//! 6. A lossless fabric drops nothing: the receive queue sends PAUSE to its switch, or gives its credits back late. `blame` shows its drain
//!    as a root.
pub(crate) mod effect;
pub(crate) mod frame;
mod incoming;
mod lines;
mod offer;
pub(crate) mod outgoing;
mod receiving;
mod release;
pub(crate) mod sending;
pub(crate) mod streams;
mod sums;
mod turns;

use std::collections::VecDeque;

use backwater_units::Rate;
use borsh::{BorshDeserialize, BorshSerialize};

pub(crate) use offer::What;

use crate::transport::put::effect::Effect;
use crate::transport::put::incoming::{Desk, Incoming};
use crate::transport::put::lines::{ByPort, Lines};
use crate::transport::put::outgoing::Outgoing;
use crate::transport::put::streams::{Stream, Streams};
use crate::transport::put::sums::Sums;
use crate::world::World;

/// The PUT streams of one host.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Puts {
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
    /// Who is in line; with several ports, at the one that the present event is about.
    lines: Lines,
    /// Where the others are, with several.
    by_port: Option<Box<ByPort>>,
    /// When a packet was sent again the last time.
    replayed_at: u64,
    /// No new packet starts before this: the initiator's overhead.
    spaced_until: u64,
    /// ACKs and NACKs that have come in and take effect later, by kind of PUT.
    effects: Vec<VecDeque<Effect>>,
    /// What the host decides about all its incoming streams of a kind.
    desks: Vec<Desk>,
    /// What happened, by period, if that is recorded.
    sums: Option<Box<Sums>>,
}

impl Puts {
    /// The streams that a host sends and receives; `None` if there are none. `way` says by which of its `ports` a stream leaves, and the
    /// rate of that.
    pub(crate) fn new(
        host: u32,
        ports: u16,
        way: impl Fn(&Stream) -> (u16, Rate),
        world: &World,
    ) -> Option<Box<Self>> {
        let mut puts = Self::empty(ports, world);
        for (number, stream) in (0..).zip(&world.streams.as_deref()?.all) {
            if stream.src == host {
                puts.add_outgoing(number, way(stream), world);
            }
            if stream.dst == host {
                puts.add_incoming(number, world);
            }
        }
        (!puts.outgoing.is_empty() || !puts.incoming.is_empty()).then(|| Box::new(puts))
    }

    /// Those of a host that has none.
    pub(crate) fn empty(ports: u16, world: &World) -> Self {
        let kinds = world.streams.as_deref().map_or(&[][..], |streams| &streams.kinds);
        let classes = usize::from(world.classes.count);
        Self {
            outgoing: Vec::new(),
            incoming: Vec::new(),
            lines: Lines::new(classes),
            by_port: (ports > 1).then(|| Box::new(ByPort::new(ports, classes))),
            replayed_at: 0,
            spaced_until: 0,
            effects: vec![VecDeque::new(); kinds.len()],
            desks: kinds.iter().map(Desk::new).collect(),
            sums: world.stream_sums.then(|| Box::new(Sums::new(world.sample))),
        }
    }

    /// The host sends one more stream, after all others.
    pub(crate) fn add_outgoing(&mut self, number: u32, (port, line): (u16, Rate), world: &World) {
        let streams = streams(world);
        let stream = streams.stream(number);
        self.outgoing.push(Outgoing::new(number, streams.kind(stream), line));
        self.lines.turns.add_stream();
        self.by_port.iter_mut().for_each(|by| by.add_outgoing(port));
        self.sums.iter_mut().for_each(|sums| sums.add(stream.id(world), false));
    }

    /// The host receives one more stream, after all others.
    pub(crate) fn add_incoming(&mut self, number: u32, world: &World) {
        self.incoming.push(Incoming::new(number));
        self.lines.owed.add_stream();
        self.by_port.iter_mut().for_each(|by| by.add_incoming());
        self.sums.iter_mut().for_each(|sums| sums.add(streams(world).stream(number).id(world), true));
    }

    /// What is summed up by period, if anything is.
    #[inline]
    pub(crate) fn sums_mut(&mut self) -> Option<&mut Sums> {
        self.sums.as_deref_mut()
    }

    /// Records per sampling period.
    pub(crate) fn observed(&self) -> u64 {
        if self.sums.is_some() { (self.outgoing.len() + self.incoming.len()) as u64 } else { 0 }
    }
}

/// The streams of a run; there are some where there are PUTs.
pub(crate) fn streams(world: &World) -> &Streams {
    world.streams.as_deref().expect("a host with PUTs has streams")
}
