//! `IPv4` and UDP, as far as RoCEv2 needs them; and the two bits in which switches answer.
use core::fmt;

use crate::WireError;
use crate::error::{be16, be32, room, split};

/// An `IPv4` header. Options are skipped when read and not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// ECN field, 0 to 3: the code point of TCD.
    pub ecn: u8,
    /// Identification.
    pub id: u16,
    /// Whether it must not be cut into fragments.
    pub dont_fragment: bool,
    /// Hops that are left.
    pub ttl: u8,
    /// What follows; 17 is UDP.
    pub protocol: u8,
    /// Where it comes from.
    pub source: [u8; 4],
    /// Where it goes.
    pub destination: [u8; 4],
    /// Bytes behind the header.
    pub payload: u16,
}

impl Ipv4 {
    /// Bytes of the header as it is written.
    pub const LEN: usize = 20;

    /// The header (checked), and what it says to be behind it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, _) = split(bytes, Self::LEN, "the IPv4 header")?;
        let unknown =
            |what, found: u16, expected| Err(WireError::Unknown { what, found: found.into(), expected });
        if header[0] >> 4 != 4 {
            return unknown("version of the IPv4 header", u16::from(header[0] >> 4), "4");
        }
        let length = usize::from(header[0] & 15) * 4;
        if length < Self::LEN {
            return unknown("header length of IPv4", u16::from(header[0] & 15), "5 to 15 words");
        }
        let (whole, rest) = split(bytes, length, "the IPv4 header")?;
        if checksum(whole) != 0 {
            let mut blank = [0; 60];
            blank[..length].copy_from_slice(whole);
            blank[10..12].fill(0);
            let (found, computed) = (be16(whole, 10).into(), checksum(&blank[..length]).into());
            return Err(WireError::Check { what: "checksum of the IPv4 header", found, computed });
        }
        let total = usize::from(be16(header, 2));
        if total < length {
            return Err(WireError::TooShort { what: "total length of IPv4", have: total, least: length });
        }
        let fragment = be16(header, 6);
        if fragment & 0x3FFF != 0 {
            return unknown("fragment field of IPv4", fragment, "0: fragments are not put together");
        }
        let (payload, _) = split(rest, total - length, "the IPv4 packet")?;
        let address = |at: usize| core::array::from_fn(|i| header[at + i]);
        let header = Self {
            dscp: header[1] >> 2,
            ecn: header[1] & 3,
            id: be16(header, 4),
            dont_fragment: fragment & 0x4000 != 0,
            ttl: header[8],
            protocol: header[9],
            source: address(12),
            destination: address(16),
            payload: payload.len() as u16,
        };
        Ok((header, payload))
    }

    /// Writes the header with its checksum.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let header = room(buffer, Self::LEN, "the IPv4 header")?;
        header.fill(0);
        header[0] = 0x45;
        header[1] = self.dscp << 2 | self.ecn & 3;
        header[2..4].copy_from_slice(&(self.payload.saturating_add(Self::LEN as u16)).to_be_bytes());
        header[4..6].copy_from_slice(&self.id.to_be_bytes());
        header[6] = u8::from(self.dont_fragment) << 6;
        (header[8], header[9]) = (self.ttl, self.protocol);
        header[12..16].copy_from_slice(&self.source);
        header[16..20].copy_from_slice(&self.destination);
        let sum = checksum(header);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        Ok(Self::LEN)
    }
}

/// The Internet checksum (RFC 1071) of an even number of bytes; 0 over a header that carries the right one.
fn checksum(bytes: &[u8]) -> u16 {
    let sum: u32 = bytes.chunks_exact(2).map(|pair| u32::from(be16(pair, 0))).sum();
    let folded = (sum & 0xFFFF) + (sum >> 16);
    !((folded + (folded >> 16)) as u16)
}

/// Writes the ECN field of an `IPv4` or `IPv6` header that begins at `header`; the checksum of `IPv4` follows (RFC 1624, equation 3).
/// False, and nothing is written, if that is neither.
pub fn set_ecn(header: &mut [u8], ecn: u8) -> bool {
    let ecn = ecn & 3;
    match header.first().map(|byte| byte >> 4) {
        Some(4) if header.len() >= Ipv4::LEN => {
            let before = be16(header, 0);
            header[1] = header[1] & 0xFC | ecn;
            let sum = u32::from(!be16(header, 10)) + u32::from(!before) + u32::from(be16(header, 0));
            let folded = (sum & 0xFFFF) + (sum >> 16);
            let sum = !((folded + (folded >> 16)) as u16);
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            true
        }
        Some(6) if header.len() >= 40 => {
            header[1] = header[1] & 0xCF | ecn << 4;
            true
        }
        _ => false,
    }
}

impl fmt::Display for Ipv4 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dotted = |f: &mut fmt::Formatter<'_>, [a, b, c, d]: [u8; 4]| write!(f, "{a}.{b}.{c}.{d}");
        dotted(f, self.source)?;
        f.write_str(" > ")?;
        dotted(f, self.destination)?;
        let code = ["not capable", "capable", "UE", "CE"][usize::from(self.ecn & 3)];
        write!(f, ", dscp {}, {code}", self.dscp)
    }
}

/// A UDP header. Its checksum is written as 0 (none), as RoCEv2 has it (annex A17), and is not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Source port: tells flows apart for hashing.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Bytes behind the header.
    pub payload: u16,
}

impl Udp {
    /// Bytes of the header.
    pub const LEN: usize = 8;

    /// The header and what it says to be behind it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, rest) = split(bytes, Self::LEN, "the UDP header")?;
        let length = usize::from(be16(header, 4));
        if length < Self::LEN {
            return Err(WireError::TooShort { what: "length of UDP", have: length, least: Self::LEN });
        }
        let (payload, _) = split(rest, length - Self::LEN, "the UDP datagram")?;
        let (ports, payload_length) = (be32(header, 0), payload.len() as u16);
        Ok((
            Self { source: (ports >> 16) as u16, destination: ports as u16, payload: payload_length },
            payload,
        ))
    }

    /// Writes the header without a checksum.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let header = room(buffer, Self::LEN, "the UDP header")?;
        header[..2].copy_from_slice(&self.source.to_be_bytes());
        header[2..4].copy_from_slice(&self.destination.to_be_bytes());
        header[4..6].copy_from_slice(&(self.payload.saturating_add(Self::LEN as u16)).to_be_bytes());
        header[6..8].fill(0);
        Ok(Self::LEN)
    }
}
