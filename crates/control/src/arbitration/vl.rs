//! Virtual-lane arbitration: weighted turns of the virtual lanes (VLs), one table before the other.
//!
//! Reference: InfiniBand Architecture Specification vol. 1, §7.6.9 (VL arbitration).
//!
//! ```text
//!   high table   VL a · weight   VL b · weight   …    served first, until `limit` · 4096 B have gone while the low one waits
//!   low table    VL c · weight   VL d · weight   …    then one packet of it
//! ```
//! An entry is served until its weight (units of 64 B) is used up or its VL has nothing to send; then the next one. A packet
//! that begins within the weight is sent as a whole.

/// One line of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlEntry {
    /// The virtual lane.
    pub vl: u8,
    /// What it may send in its turn, in units of 64 B; 0: the line is skipped.
    pub weight: u8,
}

/// Where an egress port stands in its two tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VlArbiter {
    high: Turn,
    low: Turn,
    /// Bytes of the high table since the low one had nothing to send or was served.
    since_low: u32,
}

/// A place in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Turn {
    line: u16,
    /// What is left of the line's weight, in bytes; not positive: its turn is over.
    left: i32,
}

impl Turn {
    /// The VL whose turn it is among those in `ready`; its turn begins if it was another's.
    fn pick(&mut self, table: &[VlEntry], ready: u8) -> Option<u8> {
        let may = |entry: &VlEntry| entry.weight > 0 && ready & (1 << entry.vl) != 0;
        let current = table.get(usize::from(self.line)).filter(|entry| self.left > 0 && may(entry));
        if let Some(entry) = current {
            return Some(entry.vl);
        }
        let next = (1..=table.len()).map(|ahead| (usize::from(self.line) + ahead) % table.len());
        let line = next.into_iter().find(|&line| may(&table[line]))?;
        self.line = line as u16;
        self.left = i32::from(table[line].weight) * 64;
        Some(table[line].vl)
    }
}

impl VlArbiter {
    /// The VL that sends next, of those in `ready` (bit per VL); `None` if no table names one of them. The caller sends one
    /// packet of it and tells by [`Self::on_sent`].
    pub fn pick(&mut self, high: &[VlEntry], low: &[VlEntry], high_limit: u8, ready: u8) -> Option<u8> {
        let in_low = low.iter().any(|entry| entry.weight > 0 && ready & (1 << entry.vl) != 0);
        if !in_low {
            self.since_low = 0;
        }
        let exhausted = in_low && high_limit < 255 && self.since_low >= u32::from(high_limit).max(1) * 4096;
        if !exhausted && let Some(vl) = self.high.pick(high, ready) {
            return Some(vl);
        }
        self.low.pick(low, ready)
    }

    /// A packet of `bytes` of the VL that was picked was sent.
    pub fn on_sent(&mut self, high: &[VlEntry], low: &[VlEntry], vl: u8, bytes: u32) {
        let at = |turn: &Turn, table: &[VlEntry]| {
            table.get(usize::from(turn.line)).is_some_and(|e| e.vl == vl && turn.left > 0)
        };
        if at(&self.high, high) {
            self.high.left -= bytes as i32;
            self.since_low = self.since_low.saturating_add(bytes);
        } else if at(&self.low, low) {
            self.low.left -= bytes as i32;
            self.since_low = 0;
        }
    }
}
