//! Packets that an application makes one by one ([`Pacing::Supplied`]), looked at only when one leaves: a packet that is made is
//! no event.
mod counted;
mod timed;

use backwater_traffic::{Flow, Full, Gaps, Pacing};
use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};

use self::counted::{Counted, Share};
use self::timed::Timed;

/// What waits at the source of a supplied flow, and what will be made.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) enum Supply {
    Counted(Counted),
    Timed(Timed),
}

impl Supply {
    /// That of a flow; `None` if it is not supplied. `full` is what a full packet has on the wire.
    pub(crate) fn new(flow: &Flow, full: Bytes, seed: u64) -> Option<Self> {
        let Pacing::Supplied { rate, backlog, until, drawn, gaps, full: rule } = flow.pacing else {
            return None;
        };
        // A rate that no picosecond can tell from an infinite one still makes one packet at a time.
        let every = rate.serialize(full).as_ps().max(1);
        let (start, until) = (flow.start.as_ps(), until.as_ps());
        Some(match (gaps, rule) {
            (Gaps::Even, Full::Skip) => {
                let share = drawn.map(|drawn| Share::new(drawn, seed, flow.group, flow.src));
                Self::Counted(Counted::new(start, every, backlog, until).of(share))
            }
            _ => Self::Timed(Timed::new(start, every, backlog, until, rule).with(gaps, flow, seed)),
        })
    }

    /// When its first packet is made.
    pub(crate) fn first(&self) -> u64 {
        match self {
            Self::Counted(counted) => counted.first(),
            Self::Timed(timed) => timed.first(),
        }
    }

    /// A packet leaves `now`: when the next one is there (long ago, if it waits already), or none if that was the last.
    pub(crate) fn on_sent(&mut self, now: u64) -> Option<u64> {
        match self {
            Self::Counted(counted) => counted.on_sent(now),
            Self::Timed(timed) => timed.on_sent(now),
        }
    }

    /// When the packet sent last was made.
    pub(crate) const fn made(&self) -> u64 {
        match self {
            Self::Counted(counted) => counted.made(),
            Self::Timed(timed) => timed.made(),
        }
    }
}
