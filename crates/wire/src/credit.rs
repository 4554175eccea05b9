//! Credit messages: what each virtual lane of a link has sent in all, and may send in all.
//!
//! ```text
//!   EtherType 0x88B5, to 01:80:C2:00:00:01 (bridges do not forward it)
//!   14        15       16      18
//!   ┌─────────┬────────┬───────┬──────────────────┬──────────────────┬─ for each lane of `lanes`, lowest first ─
//!   │version 1│ lanes  │ zero  │ FCTBS, 8 octets  │ FCCL, 8 octets   │  …                          zero to 60 B
//!   └─────────┴────────┴───────┴──────────────────┴──────────────────┴─
//! ```
//! The flow control packet of InfiniBand (vol. 1 §7.9) has 12 bits for each: 2048 blocks of 64 B, not the 800 KB of TCD's testbed.
//! Numbers are big-endian and count units since the link came up. There is no VLAN tag.
use core::fmt;

use crate::error::{be16, be64, room, untagged};
use crate::{Ethernet, LEAST_FRAME, MacAddress, PAUSE_ADDRESS, WireError, ethertype};

/// Lanes that a message can speak of.
pub const CREDIT_LANES: usize = 8;
/// The format above.
pub const CREDIT_VERSION: u8 = 1;
const FIXED: usize = 4;
const EACH: usize = 16;

/// The registers of one virtual lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaneCredit {
    /// FCTBS: units sent in all.
    pub fctbs: u64,
    /// FCCL: units that the other end may send in all.
    pub fccl: u64,
}

/// A credit message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CreditMessage {
    /// Bit v: `lane[v]` is in the message; others are zero.
    pub lanes: u8,
    /// For each lane its registers.
    pub lane: [LaneCredit; CREDIT_LANES],
}

impl CreditMessage {
    const fn meant(lanes: u8) -> usize {
        FIXED + EACH * lanes.count_ones() as usize
    }

    /// Reads what follows the `header`.
    pub fn parse(header: &Ethernet, payload: &[u8]) -> Result<Self, WireError> {
        const WHAT: &str = "a credit message";
        let have = header.len() + payload.len();
        let short = |least| WireError::TooShort { what: WHAT, have, least: header.len() + least };
        untagged(header, WHAT)?;
        if payload.len() < FIXED {
            return Err(short(FIXED));
        }
        let unknown = |what, found, expected| Err(WireError::Unknown { what, found, expected });
        if payload[0] != CREDIT_VERSION {
            return unknown("version of a credit message", payload[0].into(), "1");
        }
        if header.destination != PAUSE_ADDRESS {
            let found = header.destination.0.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            return unknown("destination of a credit message", found, "01:80:c2:00:00:01");
        }
        if be16(payload, 2) != 0 {
            return unknown("reserved field of a credit message", be16(payload, 2).into(), "0");
        }
        let lanes = payload[1];
        let meant = Self::meant(lanes);
        if payload.len() < meant {
            return Err(short(meant));
        }
        // As for MAC control, some devices leave the check sequence on.
        let most = (header.len() + meant).max(LEAST_FRAME) + 4;
        if have > most {
            return Err(WireError::TooLong { what: WHAT, have, most });
        }
        let mut message = Self { lanes, ..Self::default() };
        let mut at = FIXED;
        for (index, lane) in message.lane.iter_mut().enumerate() {
            if lanes >> index & 1 == 1 {
                *lane = LaneCredit { fctbs: be64(payload, at), fccl: be64(payload, at + 8) };
                at += EACH;
            }
        }
        Ok(message)
    }

    /// Writes the whole frame.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Result<usize, WireError> {
        let header =
            Ethernet { destination: PAUSE_ADDRESS, source, vlan: None, ethertype: ethertype::CREDIT };
        let length = (header.len() + Self::meant(self.lanes)).max(LEAST_FRAME);
        let frame = room(buffer, length, "a credit message")?;
        frame.fill(0);
        let at = header.emit(frame)?;
        let payload = &mut frame[at..];
        (payload[0], payload[1]) = (CREDIT_VERSION, self.lanes);
        let mut at = FIXED;
        for (index, lane) in self.lane.iter().enumerate() {
            if self.lanes >> index & 1 == 1 {
                payload[at..at + 8].copy_from_slice(&lane.fctbs.to_be_bytes());
                payload[at + 8..at + 16].copy_from_slice(&lane.fccl.to_be_bytes());
                at += EACH;
            }
        }
        Ok(length)
    }
}

impl fmt::Display for CreditMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("credits")?;
        for (index, lane) in self.lane.iter().enumerate().filter(|(index, _)| self.lanes >> index & 1 == 1) {
            write!(f, " {index}:FCTBS={},FCCL={}", lane.fctbs, lane.fccl)?;
        }
        Ok(())
    }
}
