//! Floodgate: how much a switch lets be under way to a destination, and when what has gone on is given back.
//!
//! Reference: Liu, Tian, Wang, Zheng, Yu, Sun, Xu, Meng, Han, Fu, Dou, Chen: Floodgate: Taming Incast in Datacenter Networks, CoNEXT 2021 (its
//! abstract; the text was not at hand); the rules as its authors' simulators have them (`NASA-NJU/Floodgate-NS3`, `mix/README.md` and its configurations;
//! `NASA-NJU/Pyrrha-NS3`, commit 3765687, `FC_MODE 1`).
//!
//! ```text
//!   data comes, window left and nothing waits for its destination ─▶ the window shrinks by it; egress queue
//!                else                                            ─▶ the VOQ of its destination
//!   data leaves that came from a switch                          ─▶ that many bytes are owed to the port it came in by
//!   the turn of a port, or `count` bytes are owed to it          ─▶ a frame gives them back, but for destinations whose VOQ is long
//!   such a frame comes                                           ─▶ windows grow; VOQs give a packet each in turn while they fit
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | window | B | 1.5 · rate · 2 · delay of the next link + rate · interval | `SWITCH_WIN_M 1.5` of Floodgate-NS3; BDP + C · T: its `additional_appendix.pdf`, section 2; the factor of the first part only: Pyrrha-NS3 |
//! | interval | s | 10 µs | `SWTICH_CREDIT_INTERVAL 10` of Floodgate-NS3 |
//! | count | B | 10,240 | `SWTICH_BYTE_COUNTER 10240` of Floodgate-NS3; 10,240,000 in Pyrrha-NS3 |
//! | delay | round trips of the fastest port | 1.5 | `SWITCH_ACK_TH_M 1.5` of both |
//! | VOQs | – | 100 | `floodgate_config_doc.txt` of Floodgate-NS3 |
//!
//! With a `count` of one byte each packet is given back by itself, and the window has no part for the interval.
//!
//! Known deviations: what a frame says is how much has left in all, and not since the frame before, so that the next one repairs a lost one (the
//! simulators do so with `SWITCH_ABSOLUTE_PSN`, which is off in their configurations). There is no question for what is lost after the last
//! frame, so data must not be lost. The mode that holds single senders at their own switch (`SRCTOR_DST_PFC`) is left out.
use backwater_units::{Rate, Span, Time};

/// The parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct FloodgateConfig {
    /// Part of a window for the next link, in thousandths of what it takes in a round trip.
    pub window: u32,
    /// Time between two turns of a port.
    pub interval: Span,
    /// So many bytes go back at once.
    pub count: u64,
    /// A VOQ is long that holds more than so much of what the fastest port takes in a round trip, in thousandths.
    pub delay: u32,
}

impl FloodgateConfig {
    /// The window of a destination behind a link with this rate and round trip, in bytes.
    pub fn window(&self, rate: Rate, round_trip: Span) -> u64 {
        let next = rate.bytes_in(round_trip).get() * u64::from(self.window) / 1000;
        next + if self.count > 1 { rate.bytes_in(self.interval).get() } else { 0 }
    }

    /// Whether a VOQ of so many bytes is too long for its destination to be given back anything, where the fastest port takes `hop` bytes in a
    /// round trip.
    pub const fn delays(&self, waiting: u64, hop: u64) -> bool {
        waiting * 1000 > self.delay as u64 * hop
    }
}

/// What is under way to a destination, as a switch knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct UnderWay(u64);

impl UnderWay {
    /// Takes `size` bytes of a window; false, and nothing is taken, if it has no room for them.
    pub const fn take(&mut self, size: u16, window: u64) -> bool {
        let fits = self.0 + size as u64 <= window;
        self.0 += if fits { size as u64 } else { 0 };
        fits
    }

    /// So many bytes are given back.
    pub const fn give_back(&mut self, bytes: u32) {
        self.0 = self.0.saturating_sub(bytes as u64);
    }

    /// What is left of a window.
    pub const fn left(&self, window: u64) -> u64 {
        window.saturating_sub(self.0)
    }

    /// Bytes under way.
    pub const fn bytes(&self) -> u64 {
        self.0
    }
}

/// What left to one destination of what came in by one port, and what the switch there was told of it: both modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Account {
    left: u32,
    told: u32,
}

impl Account {
    /// So many bytes leave.
    pub const fn leave(&mut self, size: u16) {
        self.left = self.left.wrapping_add(size as u32);
    }

    /// Bytes that are owed.
    pub const fn owed(&self) -> u32 {
        self.left.wrapping_sub(self.told)
    }

    /// What a frame says: how much has left in all. Nothing is owed then.
    pub const fn tell(&mut self) -> u32 {
        self.told = self.left;
        self.told
    }
}

/// What the switch at the other end of a port said last about a destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Heard(u32);

impl Heard {
    /// It says that so much has left in all: bytes given back by that.
    pub const fn hear(&mut self, left: u32) -> u32 {
        let new = left.wrapping_sub(self.0);
        self.0 = left;
        new
    }
}

/// When a port has its turn to be given back what it is owed: every interval from where its turns begin, or since it was given something
/// otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Turns {
    /// One of its turns, or when it was given something.
    since: Option<Time>,
    /// The next one that is waited for.
    due: Option<Time>,
}

impl Turns {
    /// The first data to be given back leaves the switch: the turns of all its ports begin.
    pub fn begin(&mut self, now: Time) {
        self.since.get_or_insert(now);
    }

    /// Whether they have begun.
    pub const fn have_begun(&self) -> bool {
        self.since.is_some()
    }

    /// Something is owed: its next turn after `now`, if that is not waited for already.
    pub fn wait(&mut self, now: Time, interval: Span) -> Option<Time> {
        if self.due.is_some() {
            return None;
        }
        let since = *self.since.get_or_insert(now);
        let turns = now.since(since).as_ps() / interval.as_ps() + 1;
        self.due = Some(since + interval * turns);
        self.due
    }

    /// A timer goes off: whether it is for the turn that is waited for, which it ends.
    pub fn take(&mut self, now: Time) -> bool {
        let due = self.due == Some(now);
        if due {
            self.given(now);
        }
        due
    }

    /// Something was given back: the next turn is an interval from now.
    pub const fn given(&mut self, now: Time) {
        self.since = Some(now);
        self.due = None;
    }
}
