//! RoCEv2: InfiniBand's transport over UDP port 4791.
//!
//! ```text
//!   IPv4 │ UDP 4791 │ BTH 12 │ AETH 4 (acknowledgements) │ payload, filled up to words │ ICRC 4
//!
//!   BTH    opcode 1 │ S M pad₂ version₄ │ P_Key 2 │ F B 0₆ │ destination QP 3 │ A 0₇ │ PSN 3
//!   CNP    opcode 0x81, B (BECN) set, 16 octets of zero; here the ECN field of IP tells whether UE or CE is reported
//!   ICRC   CRC-32 over 8 octets of ones and the packet from the IP header on, in which ones stand for what routers may change: TOS, TTL,
//!          both checksums, F B 0₆ of the BTH; least significant octet first
//! ```
//! Reference: InfiniBand vol. 1 §9.2 (BTH), §9.3 (AETH), §7.8.1 (ICRC); annex A17 (RoCEv2, CNP, its ICRC); TCD (SIGCOMM 2021) §5.2.1 (UE in CNPs).
use core::fmt;

use crate::error::{be16, be32, room, split};
use crate::{Ethernet, Ipv4, LEAST_FRAME, Udp, WireError};

/// The UDP port of RoCEv2.
pub const ROCE_PORT: u16 = 4791;

/// Opcodes of the BTH that we write ourselves; the reliable connection has 0x00 to 0x17 (InfiniBand vol. 1, table 38).
pub mod opcode {
    /// Reliable connection, SEND first.
    pub const SEND_FIRST: u8 = 0x00;
    /// Reliable connection, SEND middle.
    pub const SEND_MIDDLE: u8 = 0x01;
    /// Reliable connection, SEND last.
    pub const SEND_LAST: u8 = 0x02;
    /// Reliable connection, SEND only.
    pub const SEND_ONLY: u8 = 0x04;
    /// Reliable connection, acknowledgement.
    pub const ACKNOWLEDGE: u8 = 0x11;
    /// Congestion notification packet (annex A17).
    pub const CNP: u8 = 0x81;
}

/// Octets of zero in a CNP.
const CNP_PAYLOAD: usize = 16;
const ICRC: usize = 4;

/// Base transport header.
#[expect(clippy::struct_excessive_bools, reason = "they are the bits of the header")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bth {
    /// What this packet is, see [`opcode`].
    pub opcode: u8,
    /// Solicited event.
    pub solicited: bool,
    /// Migration state.
    pub migrated: bool,
    /// Octets of filling at the end of the payload, 0 to 3.
    pub pad: u8,
    /// Partition key.
    pub pkey: u16,
    /// Forward explicit congestion notification.
    pub fecn: bool,
    /// Backward explicit congestion notification: set in a CNP.
    pub becn: bool,
    /// Destination queue pair, 24 bits.
    pub destination_qp: u32,
    /// Whether an acknowledgement is asked for.
    pub ack_request: bool,
    /// Packet sequence number, 24 bits.
    pub psn: u32,
}

impl Bth {
    /// Bytes of the header.
    pub const LEN: usize = 12;

    /// The header and what follows it.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let (header, rest) = split(bytes, Self::LEN, "the BTH")?;
        let opcode = header[0];
        let assigned = matches!(opcode, 0x00..=0x17 | 0x20..=0x2B | 0x40..=0x55 | 0x64 | 0x65 | opcode::CNP | 0xA0..=0xB7);
        let unknown =
            |what, found: u8, expected| Err(WireError::Unknown { what, found: found.into(), expected });
        if !assigned {
            return unknown(
                "BTH opcode",
                opcode,
                "one of InfiniBand's, such as 0x04 (SEND only) or 0x81 (CNP)",
            );
        }
        if header[1] & 15 != 0 {
            return unknown("transport version of the BTH", header[1] & 15, "0");
        }
        let bth = Self {
            opcode,
            solicited: header[1] & 0x80 != 0,
            migrated: header[1] & 0x40 != 0,
            pad: header[1] >> 4 & 3,
            pkey: be16(header, 2),
            fecn: header[4] & 0x80 != 0,
            becn: header[4] & 0x40 != 0,
            destination_qp: be32(header, 4) & 0xFF_FFFF,
            ack_request: header[8] & 0x80 != 0,
            psn: be32(header, 8) & 0xFF_FFFF,
        };
        Ok((bth, rest))
    }

    /// Writes the header.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        let header = room(buffer, Self::LEN, "the BTH")?;
        let bit = |flag: bool, place: u8| u8::from(flag) << place;
        header[0] = self.opcode;
        header[1] = bit(self.solicited, 7) | bit(self.migrated, 6) | (self.pad & 3) << 4;
        header[2..4].copy_from_slice(&self.pkey.to_be_bytes());
        header[4..8].copy_from_slice(&(self.destination_qp & 0xFF_FFFF).to_be_bytes());
        header[4] = bit(self.fecn, 7) | bit(self.becn, 6);
        header[8..12].copy_from_slice(&(self.psn & 0xFF_FFFF).to_be_bytes());
        header[8] = bit(self.ack_request, 7);
        Ok(Self::LEN)
    }
}

/// Extended header of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aeth {
    /// 0 to 31: ACK with that credit count; 0x60 and up: NAK.
    pub syndrome: u8,
    /// Message sequence number, 24 bits.
    pub msn: u32,
}

/// A RoCEv2 packet that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roce<'a> {
    /// IP.
    pub ip: Ipv4,
    /// UDP.
    pub udp: Udp,
    /// BTH.
    pub bth: Bth,
    /// Of an acknowledgement (opcode 0x11). Other extended headers are the beginning of the payload.
    pub aeth: Option<Aeth>,
    /// What is between the headers and the ICRC, without the filling.
    pub payload: &'a [u8],
    /// The ICRC as it was read; [`icrc`] says what it should be.
    pub icrc: u32,
}

impl<'a> Roce<'a> {
    /// Reads what is in a UDP datagram to port 4791.
    pub fn parse(ip: Ipv4, udp: Udp, datagram: &'a [u8]) -> Result<Self, WireError> {
        let (bth, rest) = Bth::parse(datagram)?;
        let have = rest.len();
        let (aeth, rest) = if bth.opcode == opcode::ACKNOWLEDGE {
            let (header, rest) = split(rest, 4, "the AETH")?;
            (Some(Aeth { syndrome: header[0], msn: be32(header, 0) & 0xFF_FFFF }), rest)
        } else {
            (None, rest)
        };
        let least = ICRC + usize::from(bth.pad);
        let behind = rest.len().checked_sub(least);
        let what = "a RoCE packet behind its headers";
        let length = behind.ok_or(WireError::TooShort { what, have: rest.len(), least })?;
        let (payload, trailer) = rest.split_at(length);
        if bth.opcode == opcode::CNP {
            cnp_payload(have - ICRC, payload)?;
        }
        let at = usize::from(bth.pad);
        let icrc = u32::from_le_bytes([trailer[at], trailer[at + 1], trailer[at + 2], trailer[at + 3]]);
        Ok(Self { ip, udp, bth, aeth, payload, icrc })
    }
}

/// What stands behind the BTH of a CNP: 16 octets, reserved, not looked at.
fn cnp_payload(have: usize, payload: &[u8]) -> Result<(), WireError> {
    let what = "the payload of a CNP";
    if payload.len() < CNP_PAYLOAD {
        return Err(WireError::TooShort { what, have, least: CNP_PAYLOAD });
    }
    if payload.len() > CNP_PAYLOAD {
        return Err(WireError::TooLong { what, have, most: CNP_PAYLOAD });
    }
    Ok(())
}

/// The ICRC of a RoCEv2 packet over `IPv4`: `packet` begins with the IP header and ends before the ICRC.
pub fn icrc(packet: &[u8]) -> Result<u32, WireError> {
    let (_, rest) = split(packet, Ipv4::LEN, "the IPv4 header")?;
    let ip_length = (usize::from(packet[0] & 15) * 4).max(Ipv4::LEN);
    split(rest, ip_length - Ipv4::LEN + Udp::LEN + Bth::LEN, "a RoCE packet")?;
    let headers_length = ip_length + Udp::LEN + Bth::LEN;
    // At most 60 + 8 + 12.
    let mut headers = [0; 80];
    let headers = &mut headers[..headers_length];
    headers.copy_from_slice(&packet[..headers_length]);
    for at in [1, 8, 10, 11, ip_length + 6, ip_length + 7, ip_length + Udp::LEN + 4] {
        headers[at] = 0xFF;
    }
    let mut crc = crc32fast::Hasher::new();
    crc.update(&[0xFF; 8]);
    crc.update(headers);
    crc.update(&packet[headers_length..]);
    Ok(crc.finalize())
}

/// A RoCEv2 packet that is to be written. Lengths, filling, checksum and ICRC follow from the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram<'a> {
    /// Ethernet; its `EtherType` is written as that of `IPv4`.
    pub ethernet: Ethernet,
    /// IP; protocol and payload length are written as they must be.
    pub ip: Ipv4,
    /// UDP source port.
    pub udp_source: u16,
    /// BTH; the filling is written as it must be.
    pub bth: Bth,
    /// Written if the opcode is that of an acknowledgement.
    pub aeth: Option<Aeth>,
    /// Behind the headers. A CNP has 16 octets of zero instead.
    pub payload: &'a [u8],
}

impl Datagram<'_> {
    fn payload(&self) -> &[u8] {
        if self.bth.opcode == opcode::CNP { &[0; CNP_PAYLOAD] } else { self.payload }
    }

    fn aeth(&self) -> Option<Aeth> {
        self.aeth.filter(|_| self.bth.opcode == opcode::ACKNOWLEDGE)
    }

    /// Bytes from the BTH to the ICRC, without either.
    fn filled(&self) -> usize {
        self.payload().len().next_multiple_of(4) + if self.aeth().is_some() { 4 } else { 0 }
    }

    /// Bytes of the frame, filled up to the least frame.
    pub fn len(&self) -> usize {
        let headers = self.ethernet.len() + Ipv4::LEN + Udp::LEN + Bth::LEN;
        (headers + self.filled() + ICRC).max(LEAST_FRAME)
    }

    /// Never: clippy wants it beside `len`.
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Writes the whole frame.
    pub fn emit(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        const MOST: usize = u16::MAX as usize - Ipv4::LEN;
        let udp_payload = Bth::LEN + self.filled() + ICRC;
        let udp_length = Udp::LEN + udp_payload;
        if udp_length > MOST {
            return Err(WireError::TooLong { what: "a UDP datagram", have: udp_length, most: MOST });
        }
        let frame = room(buffer, self.len(), "a RoCE frame")?;
        frame.fill(0);
        let ip_at = Ethernet { ethertype: crate::ethertype::IPV4, ..self.ethernet }.emit(frame)?;
        let ip = Ipv4 { protocol: 17, payload: udp_length as u16, ..self.ip };
        let mut at = ip_at + ip.emit(&mut frame[ip_at..])?;
        let udp = Udp { source: self.udp_source, destination: ROCE_PORT, payload: udp_payload as u16 };
        at += udp.emit(&mut frame[at..])?;
        let payload = self.payload();
        let pad = (payload.len().next_multiple_of(4) - payload.len()) as u8;
        at += Bth { pad, ..self.bth }.emit(&mut frame[at..])?;
        if let Some(aeth) = self.aeth() {
            frame[at..at + 4].copy_from_slice(&(aeth.msn & 0xFF_FFFF).to_be_bytes());
            frame[at] = aeth.syndrome;
            at += 4;
        }
        frame[at..at + payload.len()].copy_from_slice(payload);
        at += payload.len().next_multiple_of(4);
        let crc = icrc(&frame[ip_at..at])?;
        frame[at..at + ICRC].copy_from_slice(&crc.to_le_bytes());
        Ok(self.len())
    }
}

impl fmt::Display for Roce<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.bth.opcode {
            opcode::SEND_FIRST => "RoCE SEND first",
            opcode::SEND_MIDDLE => "RoCE SEND middle",
            opcode::SEND_LAST => "RoCE SEND last",
            opcode::SEND_ONLY => "RoCE SEND only",
            opcode::ACKNOWLEDGE => "RoCE ACK",
            opcode::CNP => "RoCE CNP",
            _ => "RoCE",
        };
        write!(f, "{}, {what}", self.ip)?;
        if matches!(what, "RoCE") {
            write!(f, " opcode {:#04x}", self.bth.opcode)?;
        }
        write!(f, " QP {} PSN {}", self.bth.destination_qp, self.bth.psn)?;
        for (flag, name) in [(self.bth.fecn, " FECN"), (self.bth.becn, " BECN")] {
            f.write_str(if flag { name } else { "" })?;
        }
        write!(f, ", {} B", self.payload.len())
    }
}
