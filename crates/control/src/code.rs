//! The two-bit code point in a packet, and the state a detector sees a port in.
//!
//! Reference: TCD (SIGCOMM 2021), Table 1. In IP the two bits are the ECN field.
//!
//! ```text
//!   00 NotCapable    (never changes)
//!   01 Capable ──UE──▶ 10 Undetermined ──CE──▶ 11 Congestion (never changes)
//!        └───────────────────CE──────────────────▲
//! ```
//! Known deviations: the authors' release marks UE over 00 as well and its hosts send 00; here hosts send 01 and
//! the table of the paper holds. The marks that arrive are the same.

/// What the path has written into a packet so far. The numbers are the bits on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[cfg_attr(feature = "snapshot", borsh(use_discriminant = true))]
#[repr(u8)]
pub enum CodePoint {
    /// 00: the transport does not take part; switches leave the packet alone.
    NotCapable = 0,
    /// 01: what a host sends.
    #[default]
    Capable = 1,
    /// 10: UE, an undetermined port was crossed.
    Undetermined = 2,
    /// 11: CE, a congested port was crossed.
    Congestion = 3,
}

impl CodePoint {
    /// The code point of the two low bits of `bits`.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotCapable,
            1 => Self::Capable,
            2 => Self::Undetermined,
            _ => Self::Congestion,
        }
    }
    /// The two bits on the wire.
    pub const fn bits(self) -> u8 {
        self as u8
    }
    /// An undetermined port forwards the packet: 01 becomes 10, everything else stays.
    #[inline]
    pub const fn mark_ue(self) -> Self {
        match self {
            Self::Capable => Self::Undetermined,
            other => other,
        }
    }
    /// A congested port marks the packet: 01 and 10 become 11, everything else stays.
    #[inline]
    pub const fn mark_ce(self) -> Self {
        match self {
            Self::NotCapable => Self::NotCapable,
            _ => Self::Congestion,
        }
    }
    /// Whether a switch has marked the packet (UE or CE).
    #[inline]
    pub const fn is_marked(self) -> bool {
        self as u8 >= Self::Undetermined as u8
    }
    /// The stronger of two code points: CE over UE over none (how a notification point sums up a period).
    #[inline]
    pub const fn strongest(self, other: Self) -> Self {
        if self as u8 >= other as u8 { self } else { other }
    }
}

/// What a detector holds an egress port (of one priority) to be. The numbers are those of the `states` table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
#[cfg_attr(feature = "snapshot", borsh(use_discriminant = true))]
#[repr(u8)]
pub enum PortState {
    /// The port can send what arrives.
    #[default]
    NonCongestion = 0,
    /// More arrives than the port can send: a root of congestion.
    Congestion = 1,
    /// The port is held back by flow control; its queue says nothing about it.
    Undetermined = 2,
    /// Released from the ON-OFF pattern, the trend of its queue being watched; nothing is marked.
    Judging = 3,
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [CodePoint; 4] =
        [CodePoint::NotCapable, CodePoint::Capable, CodePoint::Undetermined, CodePoint::Congestion];

    #[test]
    fn ue_is_marked_only_over_01() {
        let marked = ALL.map(|code| code.mark_ue().bits());
        assert_eq!(marked, [0b00, 0b10, 0b10, 0b11]);
    }

    #[test]
    fn ce_is_marked_over_01_and_10_and_never_taken_away() {
        let marked = ALL.map(|code| code.mark_ce().bits());
        assert_eq!(marked, [0b00, 0b11, 0b11, 0b11]);
    }

    #[test]
    fn a_packet_that_crosses_both_kinds_of_port_counts_as_congested_in_either_order() {
        assert_eq!(CodePoint::Capable.mark_ue().mark_ce(), CodePoint::Congestion);
        assert_eq!(CodePoint::Capable.mark_ce().mark_ue(), CodePoint::Congestion);
    }

    #[test]
    fn the_bits_on_the_wire_are_those_of_table_1() {
        for bits in 0..4 {
            assert_eq!(CodePoint::from_bits(bits).bits(), bits);
        }
    }
}
