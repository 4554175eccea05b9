//! Which flows make up which PUT stream: what no event changes.
use std::collections::BTreeMap;

use backwater_traffic::{Flow, OWN_CONNECTION};
use backwater_units::Time;

use crate::record::StreamId;
use crate::spec::PutSpec;
use crate::world::World;

/// No stream.
const NONE: u32 = u32::MAX;

/// One PUT stream: the flows of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    /// Its first flow, by which its path is chosen and its acknowledgements are named.
    pub(crate) flow: u32,
    /// Initiator and target, as host indices.
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) kind: u16,
    pub(crate) class: u8,
    /// Its index among the outgoing ones of its initiator, and among the incoming ones of its target.
    pub(crate) out_slot: u32,
    pub(crate) in_slot: u32,
    /// The stream that goes the other way, if there is one: packets of either carry the ACKs of the other.
    pub(crate) opposite: Option<u32>,
    /// When the first of its flows begins that have no end: flows behind it are never sent. `Time::MAX`: none is such.
    endless: Time,
}

/// Initiator, target, class and kind: the flows that have these in common are one stream.
type Ends = (u32, u32, u8, u16);

impl Stream {
    /// What records call it.
    pub(crate) fn id(&self, world: &World) -> StreamId {
        StreamId {
            src: world.hosts[self.src as usize],
            dst: world.hosts[self.dst as usize],
            priority: world.classes.priority(self.class),
            kind: self.kind,
        }
    }
}

/// All PUT streams of a run.
#[derive(Clone, Debug)]
pub(crate) struct Streams {
    pub(super) kinds: Vec<PutSpec>,
    pub(super) all: Vec<Stream>,
    /// The stream of each flow.
    of: Vec<u32>,
    /// The kind of each traffic entry that has PUTs.
    kind_of: Vec<Option<u16>>,
    /// The first stream of such ends.
    numbers: BTreeMap<Ends, u32>,
    /// Streams of each host that sends or receives any.
    sent: BTreeMap<u32, u32>,
    received: BTreeMap<u32, u32>,
}

impl Streams {
    /// The streams of those flows whose traffic entry has a kind of PUT; `None` if none can have one.
    pub(crate) fn new(
        kinds: &[PutSpec],
        kind_of: &[Option<u16>],
        flows: &[Flow],
        class_of: impl Fn(&Flow) -> u8,
    ) -> Option<Box<Self>> {
        if kinds.is_empty() {
            return None;
        }
        let mut streams = Self {
            kinds: kinds.to_vec(),
            all: Vec::new(),
            of: Vec::with_capacity(flows.len()),
            kind_of: kind_of.to_vec(),
            numbers: BTreeMap::new(),
            sent: BTreeMap::new(),
            received: BTreeMap::new(),
        };
        let mut by_connection = BTreeMap::new();
        for flow in flows {
            let next = streams.all.len() as u32;
            let known = match flow.connection {
                OWN_CONNECTION => None,
                connection => Some(*by_connection.entry(connection).or_insert(next)),
            };
            streams.add_to(known.filter(|known| *known < next), flow, class_of(flow));
        }
        for number in 0..streams.all.len() as u32 {
            streams.pair_up(number);
        }
        Some(Box::new(streams))
    }

    /// There is one more flow, after all others. A PUT goes on with the stream of its ends, or begins one: the number of the stream, and whether it
    /// is new.
    pub(crate) fn add(&mut self, flow: &Flow, class: u8) -> Option<(u32, bool)> {
        let ends = self.kind_of(flow).map(|kind| (flow.src, flow.dst, class, kind));
        let known = ends.and_then(|ends| self.numbers.get(&ends).copied());
        let number = self.add_to(known, flow, class)?;
        if known.is_none() {
            self.pair_up(number);
            // From now on the one that goes the other way carries its ACKs.
            if let Some(opposite) = self.stream(number).opposite {
                self.pair_up(opposite);
            }
        }
        Some((number, known.is_none()))
    }

    fn pair_up(&mut self, number: u32) {
        let Stream { src, dst, class, kind, .. } = *self.stream(number);
        self.all[number as usize].opposite = self.numbers.get(&(dst, src, class, kind)).copied();
    }

    /// Whether a flow would never be sent, as its stream has one before it that has no end.
    pub(crate) fn holds_up(&self, flow: &Flow, class: u8) -> bool {
        let ends = self.kind_of(flow).map(|kind| (flow.src, flow.dst, class, kind));
        let number = ends.and_then(|ends| self.numbers.get(&ends));
        number.is_some_and(|number| self.stream(*number).endless <= flow.start)
    }

    fn kind_of(&self, flow: &Flow) -> Option<u16> {
        self.kind_of.get(usize::from(flow.group)).copied().flatten()
    }

    /// Adds a flow to a stream or, without one, to a new one, if it is a PUT: its stream.
    fn add_to(&mut self, known: Option<u32>, flow: &Flow, class: u8) -> Option<u32> {
        let index = self.of.len() as u32;
        let Some(kind) = self.kind_of(flow) else {
            self.of.push(NONE);
            return None;
        };
        let next = self.all.len() as u32;
        let number = known.unwrap_or(next);
        self.of.push(number);
        if number == next {
            let slot = |of: &mut BTreeMap<u32, u32>, host: u32| {
                let count = of.entry(host).or_default();
                *count += 1;
                *count - 1
            };
            let Flow { src, dst, .. } = *flow;
            let (out_slot, in_slot) = (slot(&mut self.sent, src), slot(&mut self.received, dst));
            let (opposite, endless) = (None, Time::MAX);
            self.all.push(Stream {
                flow: index,
                src,
                dst,
                kind,
                class,
                out_slot,
                in_slot,
                opposite,
                endless,
            });
            self.numbers.entry((src, dst, class, kind)).or_insert(next);
        }
        if flow.is_endless() {
            let endless = &mut self.all[number as usize].endless;
            *endless = (*endless).min(flow.start);
        }
        Some(number)
    }

    /// The stream of a flow.
    #[inline]
    pub(crate) fn of(&self, flow: u32) -> Option<&Stream> {
        self.all.get(self.of[flow as usize] as usize)
    }

    /// The stream of a number.
    #[inline]
    pub(crate) fn stream(&self, number: u32) -> &Stream {
        &self.all[number as usize]
    }

    /// The number of a PUT's stream.
    #[inline]
    pub(crate) fn number(&self, flow: u32) -> u32 {
        self.of[flow as usize]
    }

    /// All flows of a flow's stream.
    pub(crate) fn flows_of(&self, flow: u32) -> impl Iterator<Item = u32> {
        let number = self.number(flow);
        (0..).zip(&self.of).filter(move |(_, of)| **of == number).map(|(flow, _)| flow)
    }

    /// The kind of a stream.
    #[inline]
    pub(crate) fn kind(&self, stream: &Stream) -> &PutSpec {
        &self.kinds[usize::from(stream.kind)]
    }
}
