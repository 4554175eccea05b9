//! What hosts say to each other: queue pairs of RoCE, and the transports beside them, such as streams of PUTs.
//!
//! A transport beside them keeps what it needs of a host in a field of [`Transports`]. It says here what it has to send; `nic/transports.rs`
//! hands it the flows that start, the frames that come, the timers that go off, and the turn to send. The kinds of its frames stand in the
//! list of `packet.rs`, its timers in that of `link/ports.rs`.
pub(crate) mod put;
pub(crate) mod roce;

use backwater_units::Rate;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::transport::put::Puts;
use crate::transport::put::streams::Stream;
use crate::transport::roce::queue_pair::Sender;
use crate::world::World;

/// The transports of a host beside its queue pairs.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Transports {
    /// Its PUT streams.
    puts: Option<Box<Puts>>,
}

/// A frame that a transport has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// One of a PUT stream.
    Put(put::What),
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
    /// Those of a host with so many ports: `way` says by which of them a PUT stream leaves, and the rate of that.
    pub(crate) fn new(host: u32, ports: u16, way: impl Fn(&Stream) -> (u16, Rate), world: &World) -> Self {
        Self { puts: Puts::new(host, ports, way, world) }
    }

    /// Whether it has nothing but queue pairs.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.puts.is_none()
    }

    /// Records per sampling period.
    pub(crate) fn observed(&self) -> u64 {
        self.puts.as_ref().map_or(0, |puts| puts.observed())
    }

    /// The PUT streams of a host that is to have one more.
    pub(crate) fn puts_or_new(&mut self, ports: u16, world: &World) -> &mut Puts {
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

    /// What they send now if these classes may; else when to ask again if nothing happens before.
    #[inline]
    pub(crate) fn peek(
        &mut self,
        open: u8,
        senders: &[Sender],
        now: u64,
        world: &World,
    ) -> Result<Frame, u64> {
        self.puts.as_mut().map_or(Err(u64::MAX), |puts| puts.peek(open, senders, now, world))
    }
}
