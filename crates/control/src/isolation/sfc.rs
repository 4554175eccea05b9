//! SFC, source flow control: a switch whose queue is long tells the sources of what comes how long to send nothing.
//!
//! References: Le et al.: SFC: Near-Source Congestion Signaling and Flow Control, arXiv 2305.00538, 2023 (read: its abstract). US patent 12,273,270
//! of authors of that paper (read: its abstract and claims). IEEE P802.1Qdw, Source Flow Control, a draft (not read).
//!
//! ```text
//!   packet finds a queue longer than `threshold`,        ─▶ signal to its source: pause for (queue − target) / rate of the egress port
//!     and its source is not told to pause any more
//!   signal comes to the last switch before the source    ─▶ that pauses the priority of the flow at the source, as by PFC; or
//!   signal comes to the source                           ─▶ that pauses the flow
//!   packet of a host, to a destination that a signal     ─▶ the switch of that host tells it to pause for what is left of that pause
//!     for another one was about (`cache`)
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | threshold | B | 100 kB | reconstructed: no source at hand has a number |
//! | target | B | 50 kB | reconstructed: half of that |
//! | pause | s | (queue − target) / rate | claim 6: "based at least on a time for the target queue level to drain to the queue depth" |
//! | who is told | – | the sender of the packet, before that is stored | claim 1 |
//! | cache | – | off | the abstract names "in-network caching" of signals; its rules are reconstructed |
//! | frame | B | 64 | reconstructed: least Ethernet frame |
//!
//! Known deviations, beyond that neither the text of the paper nor the draft was at hand (reconstructed): the likelihood that a queue is congested
//! (claim 1) is yes or no, by its length. There is one signal for each pause of a source, and that begins when the signal is sent. A pause that
//! runs is never cut short. The rate is that of the link, also if other priorities share it or PFC holds it.
use backwater_units::{Bytes, Rate, Span, Time};

/// When a source is to pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct SfcConfig {
    /// A longer queue makes sources pause.
    pub threshold: Bytes,
    /// What is to be left of it when the pause is over; less than that.
    pub target: Bytes,
}

impl SfcConfig {
    /// How long the source of a packet is to pause that finds so many bytes before it, where a port sends at `rate`; `None`: not at all.
    pub fn pause(&self, queue: Bytes, rate: Rate) -> Option<Span> {
        (queue > self.threshold).then(|| rate.serialize(queue.saturating_sub(self.target)))
    }
}

/// A pause as a signal has it: whole nanoseconds, no fewer than it is.
pub const fn in_ns(pause: Span) -> u32 {
    let ns = pause.as_ps().div_ceil(1000);
    if ns > u32::MAX as u64 { u32::MAX } else { ns as u32 }
}

/// Until when something is to pause, as far as this switch has told or heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Pausing(Option<Time>);

impl Pausing {
    /// What is left of the pause; `None`: nothing.
    pub fn left(self, now: Time) -> Option<Span> {
        self.0.filter(|until| *until > now).map(|until| until.since(now))
    }

    /// It is to pause until then, at least.
    pub fn extend(&mut self, until: Time) {
        self.0 = self.0.max(Some(until));
    }
}
