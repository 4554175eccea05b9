//! What spaces the packets of a queue pair: one for all the messages of a connection.
use backwater_control::CodePoint;
use backwater_control::reaction::{Controller, Feedback, Load, Reaction, ReactionConfig};
use backwater_engine::{Stream, stream, uniform};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::packet::Packet;
use crate::transport::roce::segments::Next;
use crate::user::{UserFault, UserPacing};
use crate::world::World;

/// Purpose of the random streams of constant-rate sources; entity: flow.
const JITTER: u64 = 0x1e77;

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) enum Pacer {
    /// A reaction point.
    Reaction(Reaction),
    /// An application with a rate of its own.
    Constant { rate: Rate, jitter_ppm: u32, catch_up: bool, random: Stream },
    /// A reaction point of the user's.
    User(Box<UserPacing>),
}

impl Pacer {
    /// For the queue pair that `flow`, number `index`, is the first of, at a NIC with a link of rate `line`.
    pub(crate) fn new(index: u32, flow: &Flow, line: Rate, world: &World) -> Self {
        let pair = &world.pairs[usize::from(world.pair_of(flow))];
        match flow.pacing {
            Pacing::Constant { rate, jitter_ppm, catch_up } => {
                let random = stream(world.seed, JITTER, u64::from(index));
                Self::Constant { rate, jitter_ppm, catch_up, random }
            }
            pacing if pacing.is_controlled() => match pair.custom {
                Some(number) => Self::User(Box::new(UserPacing::new(number, index, line, &world.user))),
                None => Self::Reaction(Reaction::new(&pair.reaction, line)),
            },
            _ => Self::Reaction(Reaction::new(&ReactionConfig::LineRate(()), line)),
        }
    }

    /// The call of a function of the user's that failed.
    pub(crate) fn user_fault(&self) -> Option<&UserFault> {
        match self {
            Self::User(pacing) => pacing.fault(),
            Self::Reaction(_) | Self::Constant { .. } => None,
        }
    }

    /// When the packet after the present one, of `wire` bytes, is due; see [`crate::transport::roce::queue_pair::Sender::sent`].
    #[inline]
    #[allow(clippy::too_many_arguments, reason = "what is known when a packet leaves")]
    pub(crate) fn next_due(
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
                // The gap stands, whatever the rate does before it is over: so in ns3-rdma, in the TCD authors' release and
                // in the HPCC simulator's DCQCN (its ChangeRate, which moves it, serves other controllers).
                match *next {
                    Next::AtOnce => {
                        reaction.leaves(config, time, &Load::of(wire), None);
                        now + wire_time
                    }
                    Next::Paced { since, bytes } => {
                        let gap = reaction.leaves(config, time, &Load::of(wire), Some(bytes));
                        (since + gap.as_ps()).max(now + wire_time)
                    }
                }
            }
            Self::Constant { rate, jitter_ppm, catch_up, random } => {
                let exact = rate.serialize(Bytes::new(u64::from(wire))).as_ps();
                let gap = jittered(exact, *jitter_ppm, random);
                if *catch_up { due + gap } else { now + gap }
            }
            Self::User(pacing) => {
                let paced = match *next {
                    Next::AtOnce => None,
                    Next::Paced { bytes, .. } => Some(bytes),
                };
                let gap = pacing.sent(Time::from_ps(now), wire, paced, &world.user).as_ps();
                match *next {
                    Next::AtOnce => now + wire_time,
                    Next::Paced { since, .. } => (since + gap).max(now + wire_time),
                }
            }
        }
    }

    /// An ACK tells the reaction point something: a mark, or a round-trip time.
    pub(crate) fn informed(
        &mut self,
        kind: u16,
        echo: CodePoint,
        rtt: Option<Span>,
        now: u64,
        world: &World,
    ) {
        match self {
            Self::Reaction(reaction) => {
                let config = &world.pairs[usize::from(kind)].reaction;
                reaction.informed(config, Time::from_ps(now), echo, rtt);
            }
            Self::User(pacing) => pacing.informed(Time::from_ps(now), echo, rtt, &world.user),
            Self::Constant { .. } => {}
        }
    }

    /// An ACK for a flow with a window.
    pub(crate) fn fed_back(&mut self, kind: u16, ack: &Feedback<'_>, now: u64, world: &World) {
        if let Self::Reaction(reaction) = self {
            reaction.on_feedback(&world.pairs[usize::from(kind)].reaction, Time::from_ps(now), ack);
        }
    }

    /// How many bytes may be under way.
    pub(crate) fn window(&self) -> f64 {
        match self {
            Self::Reaction(reaction) => reaction.window(),
            Self::Constant { .. } | Self::User(_) => f64::INFINITY,
        }
    }

    /// The gap after a packet of `wire` bytes, as it is now.
    pub(crate) fn gap(&mut self, wire: u32) -> u64 {
        match self {
            Self::Reaction(reaction) => reaction.gap(wire).as_ps(),
            Self::Constant { .. } | Self::User(_) => 0,
        }
    }

    /// A congestion notification for the reaction point.
    pub(crate) fn notified(&mut self, kind: u16, code: CodePoint, now: u64, world: &World) {
        match self {
            Self::Reaction(reaction) => {
                let (time, config) = (Time::from_ps(now), &world.pairs[usize::from(kind)].reaction);
                reaction.advance(config, time);
                reaction.on_cnp(config, time, code);
            }
            Self::User(pacing) => pacing.notified(Time::from_ps(now), code, &world.user),
            Self::Constant { .. } => {}
        }
    }

    /// A congestion notification that says at which rate the packets came.
    pub(crate) fn advised(&mut self, kind: u16, cnp: &Packet, world: &World) {
        if let Self::Reaction(reaction) = self {
            let (time, config) = (Time::from_ps(cnp.time), &world.pairs[usize::from(kind)].reaction);
            reaction.advance(config, time);
            reaction.on_advice(config, time, cnp.echo, Rate::from_bps(u64::from(cnp.seq) * 1_000));
        }
    }

    /// Packets are lost, and sent again.
    pub(crate) fn lost(&mut self, kind: u16, now: u64, world: &World) {
        if let Self::Reaction(reaction) = self {
            let (time, config) = (Time::from_ps(now), &world.pairs[usize::from(kind)].reaction);
            reaction.advance(config, time);
            reaction.on_nack(config, time);
        }
    }

    /// Nothing was heard for too long.
    pub(crate) fn timed_out(&mut self, kind: u16, world: &World) {
        if let Self::Reaction(reaction) = self {
            reaction.on_timeout(&world.pairs[usize::from(kind)].reaction);
        }
    }

    /// The rate that its reaction point allows at `now`, computed on a copy: observing changes nothing.
    pub(crate) fn rate(&self, kind: u16, now: u64, world: &World) -> Rate {
        match self {
            Self::Reaction(reaction) => {
                let mut copy = *reaction;
                copy.advance(&world.pairs[usize::from(kind)].reaction, Time::from_ps(now));
                copy.rate()
            }
            Self::Constant { rate, .. } => *rate,
            Self::User(pacing) => pacing.rate(Time::from_ps(now), &world.user),
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
