//! MAC control: PAUSE for a whole link, PFC for each of its priorities.
//!
//! ```text
//!   PAUSE   0x0001 │ quanta 2 │ zero to 60 B
//!   PFC     0x0101 │ class-enable vector 2 (bit p: the time of priority p counts) │ quanta of priority 0 … 7, 2 each │ zero to 60 B
//! ```
//! A quantum is 512 bit times; time 0 resumes. PFC goes to 01:80:C2:00:00:01 only, PAUSE there or to the station itself; neither has a
//! VLAN tag.
use core::fmt;

use crate::error::{be16, room, untagged};
use crate::{Ethernet, LEAST_FRAME, MacAddress, WireError, ethertype};

/// Where PAUSE and PFC go; bridges do not forward it.
pub const PAUSE_ADDRESS: MacAddress = MacAddress([0x01, 0x80, 0xC2, 0x00, 0x00, 0x01]);
const PAUSE: u16 = 0x0001;
const PFC: u16 = 0x0101;
/// With the check sequence, which some devices leave on.
const MOST: usize = LEAST_FRAME + 4;

/// The times of a PFC frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pfc {
    /// Bit p: `quanta[p]` counts.
    pub enabled: u8,
    /// For each priority a time in quanta of 512 bit times; 0 resumes.
    pub quanta: [u16; 8],
}

impl Pfc {
    /// The time for a priority, if the frame has one.
    pub fn of(&self, priority: u8) -> Option<u16> {
        let quanta = self.quanta.get(usize::from(priority))?;
        (self.enabled >> priority & 1 == 1).then_some(*quanta)
    }
}

/// A MAC control frame that we understand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacControl {
    /// Of the whole link, in quanta.
    Pause(u16),
    /// Of each priority.
    Pfc(Pfc),
}

impl MacControl {
    /// Reads what follows the `header` of a frame of `length` bytes in all.
    pub fn parse(header: &Ethernet, payload: &[u8]) -> Result<Self, WireError> {
        let length = header.len() + payload.len();
        let short = |what, least| WireError::TooShort { what, have: length, least: header.len() + least };
        untagged(header, "a MAC control frame")?;
        if payload.len() < 2 {
            return Err(short("a MAC control frame", 2));
        }
        let opcode = be16(payload, 0);
        let (what, meant) = match opcode {
            PAUSE => ("a PAUSE frame", 4),
            PFC => ("a PFC frame", 20),
            _ => {
                let expected = "0x0001 (PAUSE) or 0x0101 (PFC)";
                return Err(WireError::Unknown {
                    what: "MAC control opcode",
                    found: opcode.into(),
                    expected,
                });
            }
        };
        if payload.len() < meant {
            return Err(short(what, meant));
        }
        if length > MOST {
            return Err(WireError::TooLong { what, have: length, most: MOST });
        }
        if opcode == PAUSE {
            return Ok(Self::Pause(be16(payload, 2)));
        }
        if header.destination != PAUSE_ADDRESS {
            let found = header.destination.0.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
            let what = "destination of a PFC frame";
            return Err(WireError::Unknown { what, found, expected: "01:80:c2:00:00:01" });
        }
        if payload[2] != 0 {
            let what = "class-enable vector of a PFC frame";
            let found = be16(payload, 2).into();
            return Err(WireError::Unknown { what, found, expected: "a vector of eight priorities" });
        }
        let quanta = core::array::from_fn(|priority| be16(payload, 4 + 2 * priority));
        Ok(Self::Pfc(Pfc { enabled: payload[3], quanta }))
    }

    /// Writes the whole frame of 60 bytes, to 01:80:C2:00:00:01.
    pub fn emit(&self, source: MacAddress, buffer: &mut [u8]) -> Result<usize, WireError> {
        let frame = room(buffer, LEAST_FRAME, "a MAC control frame")?;
        frame.fill(0);
        let header =
            Ethernet { destination: PAUSE_ADDRESS, source, vlan: None, ethertype: ethertype::MAC_CONTROL };
        let at = header.emit(frame)?;
        let payload = &mut frame[at..];
        match self {
            Self::Pause(quanta) => {
                payload[..2].copy_from_slice(&PAUSE.to_be_bytes());
                payload[2..4].copy_from_slice(&quanta.to_be_bytes());
            }
            Self::Pfc(pfc) => {
                payload[..2].copy_from_slice(&PFC.to_be_bytes());
                payload[3] = pfc.enabled;
                for (priority, quanta) in pfc.quanta.iter().enumerate() {
                    payload[4 + 2 * priority..][..2].copy_from_slice(&quanta.to_be_bytes());
                }
            }
        }
        Ok(LEAST_FRAME)
    }
}

impl fmt::Display for MacControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pause(0) => f.write_str("RESUME"),
            Self::Pause(quanta) => write!(f, "PAUSE {quanta} quanta"),
            Self::Pfc(pfc) => {
                f.write_str("PFC")?;
                for priority in 0..8 {
                    match pfc.of(priority) {
                        Some(0) => write!(f, " {priority}:resume")?,
                        Some(quanta) => write!(f, " {priority}:{quanta}")?,
                        None => {}
                    }
                }
                Ok(())
            }
        }
    }
}
