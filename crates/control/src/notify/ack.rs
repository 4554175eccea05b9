//! The code point that an ACK carries back.
//!
//! Reference: HPCC simulator (the CNP is a bit in the ACK of the marked packet); TCD (SIGCOMM 2021) §5.2.2: the
//! ACK of a segment carries CE if any of its packets did, else UE if any did.
//!
//! ```text
//!   packet ─▶ sum up ──(every n-th, or the last)──▶ ACK(strongest code point), start anew
//! ```
//! | symbol | unit | default | source |
//! |---|---|---|---|
//! | every | packets | 0 (none) | TCD: DCQCN needs none; HPCC simulator: 1 |
//!
//! Known deviations: none.
use crate::CodePoint;

/// How often ACKs are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckConfig {
    /// One ACK for so many data packets; 0 for none at all.
    pub every: u32,
}

/// What one flow's receiver remembers since its last ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "snapshot", derive(borsh::BorshSerialize, borsh::BorshDeserialize))]
pub struct AckEcho {
    packets: u32,
    strongest: CodePoint,
}

impl AckEcho {
    /// A data packet arrived, the flow's `last` or not. The code point of the ACK to send, if one is due.
    #[inline]
    pub fn on_packet(&mut self, config: &AckConfig, code: CodePoint, last: bool) -> Option<CodePoint> {
        if config.every == 0 {
            return None;
        }
        self.packets += 1;
        self.strongest = self.strongest.strongest(code);
        if self.packets < config.every && !last {
            return None;
        }
        let echo = self.strongest;
        *self = Self::default();
        Some(echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CodePoint::{Capable, Congestion, Undetermined};

    #[test]
    fn an_ack_of_four_packets_carries_ce_if_one_of_them_did() {
        let (config, mut echo) = (AckConfig { every: 4 }, AckEcho::default());
        let acks =
            [Capable, Congestion, Undetermined, Capable, Capable, Undetermined, Capable, Capable, Capable]
                .map(|code| echo.on_packet(&config, code, false));
        assert_eq!(acks[3], Some(Congestion));
        assert_eq!(acks[7], Some(Undetermined));
        assert_eq!(acks.iter().flatten().count(), 2);
        assert_eq!(echo.on_packet(&config, Capable, true), Some(Capable));
    }

    #[test]
    fn in_the_hpcc_simulator_each_packet_has_its_own_ack() {
        let (config, mut echo) = (AckConfig { every: 1 }, AckEcho::default());
        assert_eq!(echo.on_packet(&config, Congestion, false), Some(Congestion));
        assert_eq!(echo.on_packet(&config, Capable, false), Some(Capable));
    }

    #[test]
    fn without_acks_nothing_is_echoed() {
        let mut echo = AckEcho::default();
        assert_eq!(echo.on_packet(&AckConfig { every: 0 }, Congestion, true), None);
        assert_eq!(echo, AckEcho::default());
    }
}
