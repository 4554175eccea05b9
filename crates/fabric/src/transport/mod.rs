//! What hosts say to each other: queue pairs of RoCE, and the transports beside them, such as streams of PUTs.
//!
//! A transport beside them keeps what it needs of a host in a field of [`Transports`]. It says here what it has to send; `nic/transports.rs`
//! hands it the flows that start, the frames that come, the timers that go off, and the turn to send. The kinds of its frames stand in the
//! list of `packet.rs`, its timers in that of `link/ports.rs`.
pub(crate) mod put;
pub(crate) mod roce;
pub(crate) mod uec;

use backwater_units::Rate;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::transport::put::Puts;
use crate::transport::put::streams::Stream;
use crate::transport::roce::queue_pair::Sender;
use crate::transport::uec::Uec;
use crate::world::World;

/// The transports of a host beside its queue pairs.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Transports {
    /// Its PUT streams.
    puts: Option<Box<Puts>>,
    /// Its flows of UEC.
    uec: Option<Box<Uec>>,
    /// Whether it has any of these: one question where it has none.
    any: bool,
}

/// A frame that a transport has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// One of a PUT stream.
    Put(put::What),
    /// One of a flow of UEC.
    Uec(uec::What),
}

/// A frame that can leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Since when it has been due: what a queue pair has to be due before to go first.
    pub(crate) since: u64,
    pub(crate) class: u8,
    pub(crate) size: u16,
    pub(crate) what: What,
}

impl Transports {
    /// Those of a host with so many ports, which sends and receives these flows: `way` says by which of the ports a PUT stream leaves, and
    /// the rate of that.
    pub(crate) fn new(
        host: u32,
        ports: u16,
        (sent, received): (&[u32], &[u32]),
        way: impl Fn(&Stream) -> (u16, Rate),
        world: &World,
    ) -> Self {
        let (puts, uec) = (Puts::new(host, ports, way, world), Uec::new(host, sent, received, world));
        Self { any: puts.is_some() || uec.is_some(), puts, uec }
    }

    /// Whether it has nothing but queue pairs.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        !self.any
    }

    /// Records per sampling period.
    pub(crate) fn observed(&self) -> u64 {
        self.puts.as_ref().map_or(0, |puts| puts.observed())
    }

    /// The PUT streams of a host that is to have one more.
    pub(crate) fn puts_or_new(&mut self, ports: u16, world: &World) -> &mut Puts {
        self.any = true;
        self.puts.get_or_insert_with(|| Box::new(Puts::empty(ports, world)))
    }

    /// Its PUT streams.
    #[inline]
    pub(crate) fn puts(&self) -> Option<&Puts> {
        self.puts.as_deref()
    }

    #[inline]
    pub(crate) fn puts_mut(&mut self) -> Option<&mut Puts> {
        self.puts.as_deref_mut()
    }

    /// Its flows of UEC.
    #[inline]
    pub(crate) fn uec(&self) -> Option<&Uec> {
        self.uec.as_deref()
    }

    #[inline]
    pub(crate) fn uec_mut(&mut self) -> Option<&mut Uec> {
        self.uec.as_deref_mut()
    }

    /// What they send now if these classes may; else when to ask again if nothing happens before.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: the call costs PUT streams 8 instructions a hop")]
    pub(crate) fn peek(
        &mut self,
        open: u8,
        senders: &[Sender],
        now: u64,
        world: &World,
    ) -> Result<Frame, u64> {
        match (&mut self.puts, &mut self.uec) {
            (Some(puts), None) => puts.peek(open, senders, now, world),
            _ => self.peek_all(open, senders, now, world),
        }
    }

    /// The same where there are others than PUT streams.
    #[inline]
    fn peek_all(&mut self, open: u8, senders: &[Sender], now: u64, world: &World) -> Result<Frame, u64> {
        let uec = self.uec.as_mut().and_then(|uec| uec.peek(open, world));
        match &mut self.puts {
            Some(puts) => first(puts.peek(open, senders, now, world), uec),
            None => uec.ok_or(u64::MAX),
        }
    }
}

/// What has been due for longer.
#[inline]
fn first(one: Result<Frame, u64>, other: Option<Frame>) -> Result<Frame, u64> {
    match (one, other) {
        (Ok(one), Some(other)) if one.since <= other.since => Ok(one),
        (_, Some(other)) => Ok(other),
        (one, None) => one,
    }
}
