//! Bands: which classes of an ingress port are to be paused, where two classes share the port's memory.
//!
//! Reference: IEEE 802.1Qbb (PFC); ICI paper (arXiv 2511.04639), section 4.1: stop at 50 packets per ingress port, 22 and 17 per
//! virtual lane, their sum below "the global 50-packet limit", go "slightly below".
//!
//! ```text
//!   own         held by the class ──────go══════stop──▶   at or above stop: PAUSE; at or below go: RESUME
//!   strays      some of the class's packets are stored with another class that is paused: PAUSE
//!   port guard  held by the port ───────go══════stop──▶   at or above stop: PAUSE of every class
//!   RESUME of a class: at or below its own go, no strays in the way, and the port at or below its go
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | stop, go of the port | B | 200 KiB, 180 KiB: 50, 45 packets | ICI paper, section 4.1 |
//! | stop of NFQ, CFQ | B | 88 KiB, 68 KiB: 22, 17 packets | ICI paper, section 4.1 |
//! | go of NFQ, CFQ | B | 80 KiB, 60 KiB: 20, 15 packets | reconstructed: "proportionally lower", 0.9 |
//!
//! A packet counts for the class in whose queue it is stored: the caller moves the charge when it moves the packet. Strays are
//! packets that came as congested ones from a switch that isolates their flow, to one that does not and stores them as normal
//! ones. To pause the normal class alone would not stop them.
//!
//! Known deviations: the rule for strays and the guard as a limit of the sum are reconstructed; the paper names neither.
use backwater_units::Bytes;

use crate::ConfigError;
use crate::error::require;

/// Thresholds of one counter, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Band {
    /// PAUSE at or above. `u64::MAX`: not under flow control.
    pub stop: u64,
    /// RESUME at or below.
    pub go: u64,
}

impl Band {
    /// Never pauses anybody.
    pub const NONE: Self = Self { stop: u64::MAX, go: u64::MAX };

    /// So many bytes.
    pub const fn new(stop: Bytes, go: Bytes) -> Self {
        Self { stop: stop.get(), go: go.get() }
    }

    /// 50 and 45 packets of 4 KiB for a whole port (ICI paper, section 4.1).
    pub const fn port() -> Self {
        Self { stop: 50 * 4096, go: 45 * 4096 }
    }

    /// 22 packets of 4 KiB (ICI paper, section 4.1) and 20 (reconstructed) for the NFQ.
    pub const fn normal() -> Self {
        Self { stop: 22 * 4096, go: 20 * 4096 }
    }

    /// 17 packets of 4 KiB (ICI paper, section 4.1) and 15 (reconstructed) for the CFQ.
    pub const fn congested() -> Self {
        Self { stop: 17 * 4096, go: 15 * 4096 }
    }

    /// Refuses thresholds by which a PAUSE would be taken back at once, or sent to a port that holds nothing.
    pub fn validate(&self) -> Result<(), ConfigError> {
        require(
            self.stop > 0,
            "stop",
            Bytes::new(self.stop),
            "above 0B",
            "the port would be paused for ever; take at least one packet",
        )?;
        require(
            self.go < self.stop || self.stop == u64::MAX,
            "go",
            Bytes::new(self.go),
            "below stop",
            "nine tenths of stop is usual",
        )
    }

    /// Whether a counter that was `before` past its stop still is.
    #[inline]
    const fn holds(&self, held: u64, before: bool) -> bool {
        held >= self.stop || before && held > self.go
    }
}

/// Packets of one class in the queue of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strays {
    /// The class they arrived as.
    pub of: u8,
    /// The class in whose queue they are.
    pub held_in: u8,
}

/// The thresholds of an ingress port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Bands {
    /// Of each class.
    pub own: [Band; 8],
    /// Of their sum.
    pub port: Band,
}

impl Bands {
    /// The classes that are to be paused now, a bit each. `held` are the bytes stored for each class, `strays` says whether there
    /// are any at this port, `before` is the answer of the last time. A class with no band is never paused.
    #[inline]
    pub fn paused(&self, held: &[u32], strays: Option<Strays>, before: u8) -> u8 {
        let total: u64 = held.iter().map(|&bytes| u64::from(bytes)).sum();
        let full = total >= self.port.stop;
        let relaxed = total <= self.port.go;
        let mut paused = 0;
        for (class, (&bytes, band)) in held.iter().zip(&self.own).enumerate() {
            let was = before & (1 << class) != 0;
            let guarded = full || was && !relaxed;
            let controlled = band.stop != u64::MAX;
            let own = band.holds(u64::from(bytes), was);
            paused |= u8::from(controlled && (guarded || own)) << class;
        }
        if let Some(Strays { of, held_in }) = strays {
            paused |= u8::from(paused & (1 << held_in) != 0) << of;
        }
        paused
    }
}
