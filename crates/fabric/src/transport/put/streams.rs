//! Which flows make up which PUT stream: what no event changes.
use std::collections::BTreeMap;

use backwater_traffic::{Flow, OWN_CONNECTION};

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
}

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
}

impl Streams {
    /// The streams of those flows that have a kind of PUT; `None` if there are none.
    pub(crate) fn new(
        kinds: &[PutSpec],
        flows: &[Flow],
        kind_of: impl Fn(&Flow) -> Option<u16>,
        class_of: impl Fn(&Flow) -> u8,
    ) -> Option<Box<Self>> {
        let mut streams = Self { kinds: kinds.to_vec(), all: Vec::new(), of: vec![NONE; flows.len()] };
        let mut by_connection = BTreeMap::new();
        let (mut sent, mut received) = (BTreeMap::<u32, u32>::new(), BTreeMap::<u32, u32>::new());
        for (index, flow) in (0..).zip(flows) {
            let Some(kind) = kind_of(flow) else { continue };
            let next = streams.all.len() as u32;
            let number = match flow.connection {
                OWN_CONNECTION => next,
                connection => *by_connection.entry(connection).or_insert(next),
            };
            streams.of[index as usize] = number;
            if number == next {
                let (out, into) = (sent.entry(flow.src).or_default(), received.entry(flow.dst).or_default());
                streams.all.push(Stream {
                    flow: index,
                    src: flow.src,
                    dst: flow.dst,
                    kind,
                    class: class_of(flow),
                    out_slot: *out,
                    in_slot: *into,
                    opposite: None,
                });
                (*out, *into) = (*out + 1, *into + 1);
            }
        }
        streams.pair_up();
        (!streams.all.is_empty()).then(|| Box::new(streams))
    }

    /// There are more flows, after all others, which are none of PUTs.
    pub(crate) fn add_others(&mut self, count: usize) {
        self.of.resize(self.of.len() + count, NONE);
    }

    fn pair_up(&mut self) {
        let mut numbers = BTreeMap::new();
        for (number, stream) in (0u32..).zip(&self.all) {
            numbers.entry((stream.src, stream.dst, stream.class, stream.kind)).or_insert(number);
        }
        for stream in &mut self.all {
            let opposite = (stream.dst, stream.src, stream.class, stream.kind);
            stream.opposite = numbers.get(&opposite).copied();
        }
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

    /// The kind of a stream.
    #[inline]
    pub(crate) fn kind(&self, stream: &Stream) -> &PutSpec {
        &self.kinds[usize::from(stream.kind)]
    }
}
