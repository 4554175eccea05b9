//! DRR, deficit round robin: classes share a port in proportion to their weights, in bytes.
//!
//! Reference: Shreedhar and Varghese, Efficient Fair Queueing Using Deficit Round-Robin (SIGCOMM 1995).
//!
//! ```text
//!        ┌────────────── turn of class c begins: deficit += quantum ◀──────────────┐
//!        ▼                                                                         │
//!   head of c ≤ deficit ──▶ send it, deficit −= its bytes; was it the last one? deficit = 0
//!        │ no                                                                      │
//!        └──▶ what is left is kept; turn of the next class that may send ──────────┘
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | weight | – | – | 22 : 17 of the ICI paper (section 4.1: PFC thresholds "derived from traffic class weights") |
//! | quantum | B | weight · ⌈4096 / largest weight⌉ | reconstructed: the paper has none; a packet of 4 KiB fits one turn of the heaviest class |
//!
//! Classes of weight 0 take no part: whoever has some serves them strictly before the others ([`Quanta::strict`]), as the credit-based
//! and the strict-priority transmission selection algorithms of IEEE 802.1Q go before ETS.
//!
//! As every quantum is the weight times the same number, the shares are those of the weights to the byte.
//!
//! Known deviations: eight classes. A class whose gate is closed keeps its deficit, but gets no quantum.
use crate::ConfigError;
use crate::error::require;

/// Bytes that the quantum of the heaviest class is at least.
const LEAST: u32 = 4096;

/// What each class gets per turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quanta {
    bytes: [u32; 8],
    /// Classes with a weight, a bit each.
    served: u8,
}

impl Quanta {
    /// In proportion to the weights. A class of weight 0 has no share.
    pub fn new(weights: &[u16; 8]) -> Self {
        let heaviest = u32::from(weights.iter().copied().max().unwrap_or(0)).max(1);
        let unit = LEAST.div_ceil(heaviest);
        let bytes = weights.map(|weight| u32::from(weight) * unit);
        let served = (0..8).filter(|&class| bytes[class] > 0).fold(0, |set, class| set | 1 << class);
        Self { bytes, served }
    }

    /// Bytes that a class gets per turn.
    pub const fn of(&self, class: u8) -> u32 {
        self.bytes[class as usize]
    }

    /// The classes of `ready` that have no share.
    #[inline]
    pub const fn strict(&self, ready: u8) -> u8 {
        ready & !self.served
    }

    /// Refuses weights that leave out a class of `used` (a bit each), which would never be served.
    pub fn validate(&self, used: u8) -> Result<(), ConfigError> {
        require(
            used & !self.served == 0,
            "weight",
            0.0,
            "1 to 65535 for a class that carries traffic",
            "give it a weight; without one it would never be served",
        )
    }
}

/// The packet at the head of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Its bytes on the wire.
    pub bytes: u32,
    /// Nothing waits behind it.
    pub last: bool,
}

/// Where a port stands in its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct Drr {
    deficit: [u32; 8],
    turn: u8,
    /// Whether the class whose turn it is has got its quantum.
    begun: bool,
}

impl Drr {
    /// The class that sends next, of those in `ready` (bit per class: a packet waits and may go); `None` if none of them has a
    /// weight. `head` is asked for classes in `ready` only. The caller sends the head of that class.
    #[inline]
    pub fn pick(&mut self, quanta: &Quanta, ready: u8, head: impl Fn(u8) -> Head) -> Option<u8> {
        let ready = ready & quanta.served;
        if ready == 0 {
            return None;
        }
        if let Some(class) = self.serve(quanta, ready, &head) {
            return Some(class);
        }
        let mut visits = ready.count_ones();
        loop {
            self.advance(ready);
            if visits == 0 {
                self.skip_rounds(quanta, ready, &head);
                visits = ready.count_ones() + 1;
            }
            if let Some(class) = self.serve(quanta, ready, &head) {
                return Some(class);
            }
            visits -= 1;
        }
    }

    /// Lets the class whose turn it is send, if it is `ready` and its deficit allows.
    #[inline]
    fn serve(&mut self, quanta: &Quanta, ready: u8, head: &impl Fn(u8) -> Head) -> Option<u8> {
        let class = self.turn;
        if ready & (1 << class) == 0 {
            return None;
        }
        let deficit = &mut self.deficit[usize::from(class)];
        if !self.begun {
            *deficit += quanta.of(class);
            self.begun = true;
        }
        let Head { bytes, last } = head(class);
        *deficit = deficit.checked_sub(bytes)?;
        if last {
            *deficit = 0;
        }
        Some(class)
    }

    /// The turn of the next class in `ready` begins.
    fn advance(&mut self, ready: u8) {
        let after = ready.rotate_right(u32::from(self.turn) + 1).trailing_zeros() as u8;
        self.turn = (self.turn + 1 + after) & 7;
        self.begun = false;
    }

    /// All rounds in which nobody could send, at once: packets much longer than the quanta.
    #[cold]
    fn skip_rounds(&mut self, quanta: &Quanta, ready: u8, head: &impl Fn(u8) -> Head) {
        let classes = || (0..8_u8).filter(|class| ready & (1 << class) != 0);
        let rounds = classes()
            .map(|class| {
                let lacking = head(class).bytes.saturating_sub(self.deficit[usize::from(class)]);
                lacking.div_ceil(quanta.of(class))
            })
            .min();
        let skipped = rounds.unwrap_or(0).saturating_sub(1);
        for class in classes() {
            self.deficit[usize::from(class)] += skipped * quanta.of(class);
        }
    }
}
