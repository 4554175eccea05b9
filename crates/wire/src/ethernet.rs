//! The Ethernet header with at most one VLAN tag.
//!
//! ```text
//!   0            6            12        14                      12     14        16        18
//!   ┌────────────┬────────────┬─────────┬─ ─       tagged:      ┬──────┬─────────┬─────────┬─ ─
//!   │ destination│ source     │EtherType│                       │0x8100│PCP D VID│EtherType│
//!   └────────────┴────────────┴─────────┴─ ─                    ┴──────┴─────────┴─────────┴─ ─
//! ```
use core::fmt;

use crate::WireError;
use crate::error::{be16, room, split};

/// `EtherTypes` that this crate knows.
pub mod ethertype {
    /// `IPv4`.
    pub const IPV4: u16 = 0x0800;
    /// `IPv6`.
    pub const IPV6: u16 = 0x86DD;
    /// VLAN tag (IEEE 802.1Q C-tag).
    pub const VLAN: u16 = 0x8100;
    /// MAC control: PAUSE and PFC.
    pub const MAC_CONTROL: u16 = 0x8808;
    /// Local experimental `EtherType` 1 (IEEE 802 §9.2.4): our credit messages.
    pub const CREDIT: u16 = 0x88B5;
}

/// A MAC address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Whether it names a group of stations, which no source does.
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            write!(f, "{}{byte:02x}", if index == 0 { "" } else { ":" })?;
        }
        Ok(())
    }
}

/// Not six pairs of hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a MAC address is six pairs of hexadecimal digits with colons between them, such as 02:00:00:00:00:01"
)]
pub struct NoMacAddress;

impl core::str::FromStr for MacAddress {
    type Err = NoMacAddress;

    fn from_str(text: &str) -> Result<Self, NoMacAddress> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|part| part.len() == 2).ok_or(NoMacAddress)?;
            if !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(NoMacAddress);
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| NoMacAddress)?;
        }
        if parts.next().is_some() { Err(NoMacAddress) } else { Ok(Self(bytes)) }
    }
}

/// A VLAN tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// Priority code point, 0 to 7.
    pub priority: u8,
    /// Drop eligible indicator.
    pub drop_eligible: bool,
    /// VLAN identifier, 0 to 4095; 0: the tag carries a priority only.
    pub id: u16,
}

/// An Ethernet header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// Where it goes.
    pub destination: MacAddress,
    /// Where it comes from.
    pub source: MacAddress,
    /// Its tag.
    pub vlan: Option<Vlan>,
    /// What follows (behind the tag).
    pub ethertype: u16,
}

impl Ethernet {
    /// Bytes of the header.
    pub const fn len(&self) -> usize {
        if self.vlan.is_some() { 18 } else { 14 }
    }

    /// Never: clippy wants it beside `len`.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// The header and what follows it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, rest) = split(bytes, 14, "the Ethernet header")?;
        let mac = |at: usize| MacAddress(core::array::from_fn(|i| header[at + i]));
        let plain = Self { destination: mac(0), source: mac(6), vlan: None, ethertype: be16(header, 12) };
        if plain.ethertype != ethertype::VLAN {
            return Ok((plain, rest));
        }
        let (tag, rest) = split(rest, 4, "the VLAN tag")?;
        let control = be16(tag, 0);
        let vlan = Vlan {
            priority: (control >> 13) as u8,
            drop_eligible: control & 0x1000 != 0,
            id: control & 0xFFF,
        };
        Ok((Self { vlan: Some(vlan), ethertype: be16(tag, 2), ..plain }, rest))
    }

    /// Writes the header; returns its length.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let header = room(buffer, self.len(), "the Ethernet header")?;
        header[..6].copy_from_slice(&self.destination.0);
        header[6..12].copy_from_slice(&self.source.0);
        let mut at = 12;
        if let Some(vlan) = self.vlan {
            let control =
                u16::from(vlan.priority & 7) << 13 | u16::from(vlan.drop_eligible) << 12 | vlan.id & 0xFFF;
            header[12..14].copy_from_slice(&ethertype::VLAN.to_be_bytes());
            header[14..16].copy_from_slice(&control.to_be_bytes());
            at = 16;
        }
        header[at..at + 2].copy_from_slice(&self.ethertype.to_be_bytes());
        Ok(self.len())
    }
}

impl fmt::Display for Ethernet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} > {}", self.source, self.destination)?;
        match self.vlan {
            Some(vlan) => write!(f, ", vlan {} priority {}", vlan.id, vlan.priority),
            None => Ok(()),
        }
    }
}
