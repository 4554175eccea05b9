//! Virtual-lane arbitration: weighted turns of the virtual lanes (VLs), one table before the other.
//!
//! Reference: InfiniBand Architecture Specification vol. 1, §7.6.9 (VL arbitration and prioritization).
//!
//! ```text
//!   high  ─▶ │ VL a · weight │ VL b · weight │ … ─┐  until `high limit` · 4096 B have left while a packet of
//!                                                 ├─▶ the low table waited; then one packet of the low table
//!   low   ─▶ │ VL c · weight │ VL d · weight │ … ─┘  (also whenever no packet of the high table may go)
//! ```
//! A line of a table keeps its turn until its weight is used up or its VL has nothing to send; then it is the next line's
//! that has. A packet that begins within the weight is sent as a whole, and what it was too long is not held against
//! the line. A turn of the low table goes on where it was interrupted. A VL may stand in several lines and in both tables.
//!
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | weight | 64 B | – | InfiniBand specification: 0 to 255; 0: the line is skipped |
//! | high limit | 4096 B | 255 | InfiniBand specification; 0: one packet, 255: without end |
//! | lines per table | – | – | InfiniBand specification: at most 64 |
//!
//! Known deviations: eight VLs, not fifteen; VL 15, which management packets use, is not modelled.
use crate::ConfigError;
use crate::error::require;

/// Bytes in a unit of weight.
const UNIT: i32 = 64;
/// Bytes in a unit of the high limit.
const LIMIT_UNIT: u32 = 4096;
/// Lines that a table may have.
const LINES: usize = 64;

/// One line of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlEntry {
    /// The virtual lane, 0 to 7.
    pub vl: u8,
    /// What it may send in its turn, in units of 64 B; 0: the line is skipped.
    pub weight: u8,
}

impl VlEntry {
    /// Whether the line's VL is in `ready` and has a weight at all.
    const fn may(self, ready: u8) -> bool {
        self.weight > 0 && ready & (1 << self.vl) != 0
    }
}

/// Refuses tables that name a VL above 7, have no weight at all, are longer than 64 lines, or leave out a VL of `used` (bit
/// per VL), which would never be served.
pub fn validate(high: &[VlEntry], low: &[VlEntry], used: u8) -> Result<(), ConfigError> {
    for table in [high, low] {
        let lines = table.len() as f64;
        require(
            table.len() <= LINES,
            "lines",
            lines,
            "at most 64 in a table",
            "sum up lines of the same VL",
        )?;
    }
    let lines = || high.iter().chain(low);
    for line in lines() {
        require(line.vl < 8, "vl", f64::from(line.vl), "0 to 7", "name one of the eight VLs")?;
    }
    let sum: u32 = lines().map(|line| u32::from(line.weight)).sum();
    require(
        sum > 0,
        "weight",
        f64::from(sum),
        "above 0 in the sum of all lines of high and low",
        "give a line a weight of 1 to 255 (units of 64B)",
    )?;
    for vl in (0..8).filter(|vl| used & (1 << vl) != 0) {
        require(
            lines().any(|line| line.may(1 << vl)),
            "vl",
            f64::from(vl),
            "in a line of high or low with a weight above 0, as it carries traffic",
            "add such a line; without one it would never be served",
        )?;
    }
    Ok(())
}

/// Where an egress port stands in its two tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct VlArbiter {
    high: Turn,
    low: Turn,
    /// Bytes of the high table since the low one had nothing to send or was served.
    since_low: u32,
    /// Whether the latest pick was of the low table.
    from_low: bool,
}

/// A place in a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
struct Turn {
    /// The line whose turn it is or was, counted from 1; 0: none yet.
    line: u8,
    /// What is left of the line's weight, in bytes; not positive: its turn is over.
    left: i32,
}

impl Turn {
    /// The line whose turn is not over.
    fn current(self, table: &[VlEntry]) -> Option<VlEntry> {
        let at = usize::from(self.line).checked_sub(1)?;
        table.get(at).copied().filter(|_| self.left > 0)
    }

    fn is_of(self, table: &[VlEntry], vl: u8) -> bool {
        self.current(table).is_some_and(|line| line.vl == vl)
    }

    /// The VL whose turn it is among those in `ready`; its turn begins if it was another's.
    fn pick(&mut self, table: &[VlEntry], ready: u8) -> Option<u8> {
        if let Some(line) = self.current(table).filter(|line| line.may(ready)) {
            return Some(line.vl);
        }
        let start = usize::from(self.line);
        let next =
            (start..start + table.len()).map(|at| at % table.len()).find(|&at| table[at].may(ready))?;
        self.line = next as u8 + 1;
        self.left = i32::from(table[next].weight) * UNIT;
        Some(table[next].vl)
    }
}

impl VlArbiter {
    /// The VL that sends next, of those in `ready` (bit per VL: a packet waits and may go); `None` if no line with a weight
    /// names one of them. The caller sends one packet of it and tells by [`Self::on_sent`]. The tables have passed
    /// [`validate`].
    #[inline]
    pub fn pick(&mut self, high: &[VlEntry], low: &[VlEntry], high_limit: u8, ready: u8) -> Option<u8> {
        let in_low = low.iter().any(|line| line.may(ready));
        if !in_low {
            self.since_low = 0;
        }
        let exhausted = match high_limit {
            255 => false,
            0 => self.since_low > 0,
            limit => self.since_low >= u32::from(limit) * LIMIT_UNIT,
        };
        self.from_low = in_low && exhausted;
        if !self.from_low
            && let Some(vl) = self.high.pick(high, ready)
        {
            return Some(vl);
        }
        self.from_low = true;
        self.low.pick(low, ready)
    }

    /// A packet of `bytes` of `vl` was sent. It need not have been picked if no other VL had anything to send.
    #[inline]
    pub fn on_sent(&mut self, high: &[VlEntry], low: &[VlEntry], vl: u8, bytes: u32) {
        let (turn, table) = if self.from_low { (&self.low, low) } else { (&self.high, high) };
        if !turn.is_of(table, vl) && self.pick(high, low, 255, 1 << vl).is_none() {
            return;
        }
        let taken = i32::try_from(bytes).unwrap_or(i32::MAX);
        if self.from_low {
            self.low.left = self.low.left.saturating_sub(taken);
            self.since_low = 0;
        } else {
            self.high.left = self.high.left.saturating_sub(taken);
            self.since_low = self.since_low.saturating_add(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn line(vl: u8, weight: u8) -> VlEntry {
        VlEntry { vl, weight }
    }

    fn refused(high: &[VlEntry], low: &[VlEntry], used: u8) -> String {
        validate(high, low, used).unwrap_err().to_string()
    }

    #[test]
    fn tables_in_which_a_vl_with_traffic_would_never_be_served_are_refused() {
        let good = [line(1, 64), line(0, 1), line(1, 3)];
        assert_eq!(validate(&good, &[], 0b11), Ok(()));
        assert_eq!(validate(&[], &good, 0b11), Ok(()));
        let missing = refused(&good, &[line(2, 0)], 0b101);
        assert!(missing.starts_with("vl = 2: must be in a line of high or low"), "{missing}");
        let nothing = refused(&[line(0, 0)], &[line(1, 0)], 0);
        assert!(nothing.starts_with("weight = 0: must be above 0 in the sum"), "{nothing}");
        assert!(refused(&[line(8, 1)], &[], 0).starts_with("vl = 8: must be 0 to 7"));
        assert!(refused(&[line(0, 1); 65], &[], 1).starts_with("lines = 65: must be at most 64"));
    }

    #[test]
    fn the_first_turn_is_the_first_lines() {
        let table = [line(3, 1), line(5, 1)];
        let mut arbiter = VlArbiter::default();
        assert_eq!(arbiter.pick(&[], &table, 0, 0xFF), Some(3));
        arbiter.on_sent(&[], &table, 3, 64);
        assert_eq!(arbiter.pick(&[], &table, 0, 0xFF), Some(5));
    }

    #[test]
    fn a_port_needs_24_bytes_for_its_places_in_both_tables() {
        assert!(size_of::<VlArbiter>() <= 24);
    }
}
