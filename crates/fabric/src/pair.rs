//! The two ends of a flow: the sending and the receiving half of its queue pair, or of its turn on a connection.
use backwater_control::CodePoint;
use backwater_control::notify::{AckConfig, AckEcho, Notify};
use backwater_control::reaction::{Reaction, ReactionConfig};
use backwater_engine::{Stream, stream, uniform};
use backwater_traffic::{Flow, OWN_CONNECTION, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};

use crate::lateness::Lateness;
use crate::packet::LAST;
use crate::segments::{Next, Segments};
use crate::supply::Supply;
use crate::world::World;

/// Purpose of the random streams of constant-rate sources; entity: flow.
const JITTER: u64 = 0x1e77;

/// What spaces the packets of a flow.
#[derive(Clone, Debug)]
enum Spacing {
    /// A reaction point.
    Reaction(Reaction),
    /// An application with a rate of its own.
    Constant { rate: Rate, jitter_ppm: u32, catch_up: bool, random: Stream },
}

/// When a queue pair may send again.
pub(crate) enum After {
    /// Its next packet is due then.
    Due(u64),
    /// It has sent everything.
    Nothing,
    /// The flow has been sent; the first packet of the connection's next message is not due before that.
    Message(u64),
}

/// The sending half.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    pub(crate) flow: u32,
    pub(crate) class: u8,
    /// Its kind among the world's.
    kind: u16,
    /// Number of its connection at the host; [`OWN_CONNECTION`] if it has a queue pair of its own.
    pub(crate) connection: u32,
    pub(crate) dst: u32,
    sent: u32,
    packets: u32,
    last_payload: u16,
    /// Packets acknowledged.
    acked: u32,
    pub(crate) acked_at: u64,
    pub(crate) cnps_ce: u32,
    pub(crate) cnps_ue: u32,
    pub(crate) lateness: Lateness,
    spacing: Spacing,
    special: Option<Box<Special>>,
}

/// What only some senders have.
#[derive(Clone, Debug)]
struct Special {
    /// If its reaction point wants round-trip times.
    segments: Option<Segments>,
    /// If its application makes the packets one by one.
    supply: Option<Supply>,
}

impl Sender {
    pub(crate) fn new(index: u32, flow: &Flow, line: Rate, world: &World) -> Self {
        let packets = world.packets(flow);
        let kind = world.pair_of(flow);
        let pair = &world.pairs[usize::from(kind)];
        let spacing = match flow.pacing {
            Pacing::Controlled | Pacing::Supplied { .. } => {
                Spacing::Reaction(Reaction::new(&pair.reaction, line))
            }
            Pacing::LineRate => Spacing::Reaction(Reaction::new(&ReactionConfig::LineRate, line)),
            Pacing::Constant { rate, jitter_ppm, catch_up } => {
                let random = stream(world.seed, JITTER, u64::from(index));
                Spacing::Constant { rate, jitter_ppm, catch_up, random }
            }
        };
        let segments = match (pair.segment, &spacing) {
            (Some(segment), Spacing::Reaction(_)) => Some(Segments::new(segment)),
            _ => None,
        };
        let supply = match flow.pacing {
            Pacing::Supplied { rate, backlog, until } => {
                let full = Bytes::new(u64::from(world.payload) + u64::from(world.header));
                Some(Supply::new(flow.start.as_ps(), rate.serialize(full).as_ps(), backlog, until.as_ps()))
            }
            _ => None,
        };
        Self {
            flow: index,
            class: world.class_of(flow),
            kind,
            connection: OWN_CONNECTION,
            dst: flow.dst,
            sent: 0,
            packets,
            last_payload: world.last_payload(flow),
            acked: 0,
            acked_at: u64::MAX,
            cnps_ce: 0,
            cnps_ue: 0,
            lateness: Lateness::default(),
            special: (segments.is_some() || supply.is_some()).then(|| Box::new(Special { segments, supply })),
            spacing,
        }
    }

    /// Number, destination and size on the wire of the next packet.
    #[inline]
    pub(crate) fn next_packet(&self, world: &World) -> (u32, u32, u16) {
        let payload = if self.sent + 1 == self.packets { self.last_payload } else { world.payload };
        (self.sent, self.dst, payload + world.header)
    }

    /// The next packet, of `size` bytes, was due at `due`, starts to leave `now` and takes `wire_time` for it. When the one
    /// after it is due.
    #[inline]
    pub(crate) fn sent(&mut self, due: u64, now: u64, size: u16, wire_time: u64, world: &World) -> After {
        self.sent += 1;
        let wire = u32::from(size);
        let (mut next, mut made) = (Next::Paced { since: now, bytes: wire }, 0);
        if self.special.is_some() {
            (next, made) = self.sent_special(now, wire, wire_time);
        }
        if self.sent != self.packets {
            let due = self.spacing.next_due(self.kind, &next, due, now, wire, wire_time, world);
            return After::Due(due.max(made));
        }
        if self.connection == OWN_CONNECTION {
            return After::Nothing;
        }
        After::Message(self.spacing.next_due(self.kind, &next, due, now, wire, wire_time, world))
    }

    /// How the packet after the one just sent is spaced, and when it is there. A supplied flow learns whether it is over.
    #[inline(never)]
    fn sent_special(&mut self, now: u64, wire: u32, wire_time: u64) -> (Next, u64) {
        let (mut next, mut made) = (Next::Paced { since: now, bytes: wire }, 0);
        if let Some(special) = &mut self.special {
            if let Some(supply) = &mut special.supply {
                match supply.on_sent(now) {
                    Some(at) => made = at,
                    None => self.packets = self.sent,
                }
            }
            if let Some(segments) = &mut special.segments {
                next = segments.on_sent(self.sent, self.sent == self.packets, now, wire, wire_time);
            }
        }
        (next, made)
    }

    /// When the application made the packet sent last, at a time of its own.
    pub(crate) fn made(&self) -> u64 {
        let supply = self.special.as_ref().and_then(|special| special.supply.as_ref());
        supply.map_or(0, Supply::made)
    }

    /// What the last packet carries in its number.
    pub(crate) fn end_mark(&self) -> u32 {
        if self.special.as_ref().is_some_and(|special| special.supply.is_some()) { LAST } else { 0 }
    }

    /// The reaction point of a connection goes on to its next message.
    pub(crate) fn hand_over(senders: &mut [Self], from: u32, to: u32) {
        if let Ok([from, to]) = senders.get_disjoint_mut([from as usize, to as usize]) {
            std::mem::swap(&mut from.spacing, &mut to.spacing);
        }
    }

    /// An ACK for the first `packets` packets; true if it is the last one.
    #[inline]
    pub(crate) fn acknowledged(&mut self, packets: u32, now: u64) -> bool {
        self.acked = self.acked.max(packets);
        if self.acked == self.packets && self.acked_at == u64::MAX {
            self.acked_at = now;
            return true;
        }
        false
    }

    /// Whether its ACKs tell the reaction point round-trip times.
    #[inline]
    pub(crate) fn measures(&self) -> bool {
        self.special.as_ref().is_some_and(|special| special.segments.is_some())
    }

    /// An ACK for the first `packets` packets: the round-trip time of a segment, if it completes one.
    pub(crate) fn round_trip(&mut self, packets: u32, now: u64) -> Option<Span> {
        self.special.as_mut()?.segments.as_mut().and_then(|segments| segments.on_ack(packets, now))
    }

    /// An ACK tells the reaction point something: a mark, or a round-trip time.
    pub(crate) fn informed(&mut self, echo: CodePoint, rtt: Option<Span>, now: u64, world: &World) {
        if let Spacing::Reaction(reaction) = &mut self.spacing {
            let (time, config) = (Time::from_ps(now), &world.pairs[usize::from(self.kind)].reaction);
            reaction.advance(config, time);
            reaction.on_ack(config, time, echo);
            if let Some(rtt) = rtt {
                reaction.on_completion(config, time, rtt, echo);
            }
        }
    }

    /// A congestion notification for the reaction point.
    pub(crate) fn notified(&mut self, code: CodePoint, now: u64, world: &World) {
        if let Spacing::Reaction(reaction) = &mut self.spacing {
            let (time, config) = (Time::from_ps(now), &world.pairs[usize::from(self.kind)].reaction);
            reaction.advance(config, time);
            reaction.on_cnp(config, time, code);
        }
    }

    /// Counts a notification about this flow.
    pub(crate) fn count(&mut self, code: CodePoint) {
        match code {
            CodePoint::Congestion => self.cnps_ce += 1,
            CodePoint::Undetermined => self.cnps_ue += 1,
            _ => {}
        }
    }

    /// The rate that its reaction point allows at `now`, computed on a copy: observing changes nothing.
    pub(crate) fn rate(&self, now: u64, world: &World) -> Rate {
        match &self.spacing {
            Spacing::Reaction(reaction) => {
                let mut copy = *reaction;
                copy.advance(&world.pairs[usize::from(self.kind)].reaction, Time::from_ps(now));
                copy.rate()
            }
            Spacing::Constant { rate, .. } => *rate,
        }
    }
}

impl Spacing {
    /// When the packet after the present one, of `wire` bytes, is due; see [`Sender::sent`].
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "what is known when a packet leaves")]
    fn next_due(
        &mut self,
        kind: u16,
        next: &Next,
        due: u64,
        now: u64,
        wire: u32,
        wire_time: u64,
        world: &World,
    ) -> u64 {
        match self {
            Self::Reaction(reaction) => {
                let time = Time::from_ps(now);
                let config = &world.pairs[usize::from(kind)].reaction;
                reaction.advance(config, time);
                reaction.on_sent(config, time, wire);
                // The gap stands, whatever the rate does before it is over: so in ns3-rdma, in the TCD authors' release and
                // in the HPCC simulator's DCQCN (its ChangeRate, which moves it, serves other controllers).
                match *next {
                    Next::AtOnce => now + wire_time,
                    Next::Paced { since, bytes } => {
                        (since + reaction.gap(bytes).as_ps()).max(now + wire_time)
                    }
                }
            }
            Self::Constant { rate, jitter_ppm, catch_up, random } => {
                let exact = rate.serialize(Bytes::new(u64::from(wire))).as_ps();
                let gap = jittered(exact, *jitter_ppm, random);
                if *catch_up { due + gap } else { now + gap }
            }
        }
    }
}

/// `gap` times a uniform factor in 1 ± `jitter_ppm` / 10⁶.
fn jittered(gap: u64, jitter_ppm: u32, random: &mut Stream) -> u64 {
    if jitter_ppm == 0 {
        return gap;
    }
    let spread = (2.0 * uniform(random) - 1.0) * f64::from(jitter_ppm) * 1e-6;
    (gap as f64 * (1.0 + spread)) as u64
}

/// The receiving half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Receiver {
    pub(crate) flow: u32,
    /// Its kind among the world's.
    pub(crate) kind: u16,
    pub(crate) packets: u32,
    expected: u32,
    pub(crate) finish: u64,
    pub(crate) received: u64,
    pub(crate) ce_packets: u32,
    pub(crate) ue_packets: u32,
    pub(crate) notify: Notify,
    /// The receiver at this host whose notification point counts: that of the connection's first message, or itself.
    pub(crate) notes: u32,
    echo: AckEcho,
}

/// What the receiver makes of a data packet.
pub(crate) enum Verdict {
    /// It is not the one expected.
    OutOfOrder,
    /// Fine; it is or is not the flow's last. An ACK with this echo is due.
    Fine { last: bool, ack: Option<CodePoint> },
}

impl Receiver {
    pub(crate) fn new(index: u32, flow: &Flow, world: &World) -> Self {
        let expected = world.packets(flow);
        Self {
            flow: index,
            kind: world.pair_of(flow),
            packets: 0,
            expected,
            finish: u64::MAX,
            received: 0,
            ce_packets: 0,
            ue_packets: 0,
            notify: Notify::default(),
            notes: world.receiver_slot[world.path_key(index) as usize],
            echo: AckEcho::default(),
        }
    }

    #[inline]
    pub(crate) fn on_data(
        &mut self,
        seq: u32,
        code: CodePoint,
        size: u16,
        now: u64,
        world: &World,
    ) -> Verdict {
        if seq != self.packets {
            if seq != self.packets | LAST {
                return Verdict::OutOfOrder;
            }
            self.expected = self.packets + 1;
        }
        self.packets += 1;
        self.received += u64::from(size - world.header);
        self.ce_packets += u32::from(code == CodePoint::Congestion);
        self.ue_packets += u32::from(code == CodePoint::Undetermined);
        let last = self.packets == self.expected;
        if last {
            self.finish = now;
            // What the last packet was padded with does not count.
            if let Some(size) = world.flows[self.flow as usize].known_size() {
                self.received = size.get();
            }
        }
        let ack = match &world.pairs[usize::from(self.kind)].ack {
            Some(ack) => self.echo.on_packet(&AckConfig { every: ack.every }, code, last),
            None => None,
        };
        Verdict::Fine { last, ack }
    }
}
