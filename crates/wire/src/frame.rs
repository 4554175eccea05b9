//! Any frame, told by its bytes.
use core::fmt;

use crate::{CreditMessage, Ethernet, Ipv4, MacControl, ROCE_PORT, Roce, Udp, WireError, ethertype};

/// A frame that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its header.
    pub ethernet: Ethernet,
    /// What is behind it.
    pub payload: Payload<'a>,
}

/// What a frame carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload<'a> {
    /// PAUSE or PFC.
    MacControl(MacControl),
    /// Credits.
    Credit(CreditMessage),
    /// RoCEv2.
    Roce(Roce<'a>),
    /// Other `IPv4`.
    Ipv4(Ipv4),
    /// Anything else; only the Ethernet header was read.
    Other(&'a [u8]),
}

impl<'a> Frame<'a> {
    /// Reads a frame without its check sequence. The ICRC of RoCE is not computed, see [`icrc`](crate::icrc).
    pub fn parse(bytes: &'a [u8]) -> Result<Self, WireError> {
        let (ethernet, rest) = Ethernet::parse(bytes)?;
        let payload = match ethernet.ethertype {
            ethertype::MAC_CONTROL => Payload::MacControl(MacControl::parse(&ethernet, rest)?),
            ethertype::CREDIT => Payload::Credit(CreditMessage::parse(&ethernet, rest)?),
            ethertype::IPV4 => {
                let (ip, rest) = Ipv4::parse(rest)?;
                if ip.protocol == 17 { Self::udp(ip, rest)? } else { Payload::Ipv4(ip) }
            }
            _ => Payload::Other(rest),
        };
        Ok(Self { ethernet, payload })
    }

    fn udp(ip: Ipv4, packet: &'a [u8]) -> Result<Payload<'a>, WireError> {
        let (udp, datagram) = Udp::parse(packet)?;
        match udp.destination {
            ROCE_PORT => Ok(Payload::Roce(Roce::parse(ip, udp, datagram)?)),
            _ => Ok(Payload::Ipv4(ip)),
        }
    }
}

impl fmt::Display for Frame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.ethernet)?;
        match &self.payload {
            Payload::MacControl(control) => control.fmt(f),
            Payload::Credit(message) => message.fmt(f),
            Payload::Roce(roce) => roce.fmt(f),
            Payload::Ipv4(ip) => write!(f, "{ip}, protocol {}", ip.protocol),
            Payload::Other(rest) => write!(f, "EtherType {:#06x}, {} B", self.ethernet.ethertype, rest.len()),
        }
    }
}
