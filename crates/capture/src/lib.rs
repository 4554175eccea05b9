//! For whoever wants to look at a simulated wire with Wireshark: recorded frames as a pcapng file.
//!
//! The simulator's frames have a kind, a size and a few numbers; here they get the bytes that such a frame has on Ethernet
//! ([`backwater_wire`]). Host h is 10.0.0.0 + h + 1 with the MAC address 02:00:00 and then h; a flow is a queue pair. A frame is as
//! long as it was on the simulated wire, the check sequence not counted, up to three bytes less, as RoCE carries whole words, and never
//! shorter than its headers and 60 bytes; what it carries are zeros.
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use backwater_wire::{
    Aeth, Bth, CreditMessage, Datagram, Ethernet, Ipv4, LEAST_FRAME, LaneCredit, MacAddress, MacControl, Pfc,
    WireError, opcode,
};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

/// `EtherType` of congestion isolation messages: the second one for local experiments (IEEE 802).
const CIM: u16 = 0x88B6;
/// Bytes of Ethernet, IPv4, UDP, BTH and ICRC.
const ROCE_HEADERS: usize = 14 + 20 + 8 + 12 + 4;
/// The least number of bytes of a frame that may be kept: all headers, with those of an acknowledgement.
pub const LEAST_SNAP: u32 = 64;

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Data of a flow: its packet `seq`, the last one or not.
    Data {
        /// Packet number within the flow.
        seq: u32,
        /// Whether it is the flow's last.
        last: bool,
    },
    /// An acknowledgement of so many packets.
    Ack {
        /// Packets received in order.
        received: u32,
        /// Whether it says that one is missing.
        negative: bool,
    },
    /// A congestion notification packet.
    Cnp,
    /// PAUSE of some priorities (bit p) and RESUME of others.
    Pfc {
        /// Priorities that are paused.
        paused: u8,
        /// Priorities that are let go.
        resumed: u8,
        /// For how long, in quanta of 512 bit times.
        quanta: u16,
    },
    /// The registers of a virtual lane.
    Credit {
        /// The lane.
        lane: u8,
        /// Credits sent in all.
        fctbs: u64,
        /// Credits that may have been sent in all.
        fccl: u64,
    },
    /// A congestion isolation message.
    Cim,
}

/// A frame that was on a wire.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// The wire, by its place in the list of interfaces.
    pub interface: u32,
    /// When its first bit was sent, in picoseconds.
    pub sent_ps: u64,
    /// Bytes on the simulated wire.
    pub size: u16,
    /// What it is.
    pub kind: Kind,
    /// The flow, from 0; 0 for frames of the link.
    pub flow: u32,
    /// The host that it comes from, or the node for a frame of the link.
    pub source: u32,
    /// The host that it goes to.
    pub destination: u32,
    /// The two ECN bits.
    pub ecn: u8,
}

/// Why a capture cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The format.
    #[error("{0}")]
    Format(PcapError),
    /// A frame that no Ethernet has.
    #[error("{0}")]
    Frame(#[from] WireError),
}

impl From<PcapError> for CaptureError {
    /// What the system said stays in its words: the library's are those of reading.
    fn from(error: PcapError) -> Self {
        match error {
            PcapError::IoError(error) => Self::File(error),
            other => Self::Format(other),
        }
    }
}

/// Writes the frames, which are in the order of their times, of wires with these names. Of each frame the first `snap` bytes are kept.
///
/// # Errors
/// If the file cannot be written.
pub fn write(
    out: impl Write,
    interfaces: &[String],
    frames: impl IntoIterator<Item = Frame>,
    snap: u32,
) -> Result<u64, CaptureError> {
    let mut writer = PcapNgWriter::new(out)?;
    for name in interfaces {
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            InterfaceDescriptionOption::IfTsResol(9),
        ];
        writer.write_pcapng_block(InterfaceDescriptionBlock {
            linktype: DataLink::ETHERNET,
            snaplen: snap,
            options,
        })?;
    }
    let mut buffer = vec![0; usize::from(u16::MAX) + 1];
    let mut count = 0;
    for frame in frames {
        let length = frame.emit(&mut buffer)?;
        let kept = length.min(snap as usize);
        writer.write_pcapng_block(EnhancedPacketBlock {
            interface_id: frame.interface,
            timestamp: Duration::from_nanos(frame.sent_ps / 1000),
            original_len: length as u32,
            data: Cow::Borrowed(&buffer[..kept]),
            options: Vec::new(),
        })?;
        count += 1;
    }
    writer.into_inner().flush()?;
    Ok(count)
}

fn mac(host: u32) -> MacAddress {
    let [_, a, b, c] = host.to_be_bytes();
    MacAddress([0x02, 0, 0, a, b, c])
}

/// The MAC address of a node that speaks to its neighbour: apart from those of hosts.
fn link_mac(node: u32) -> MacAddress {
    let [_, a, b, c] = node.to_be_bytes();
    MacAddress([0x02, 0, 1, a, b, c])
}

/// The queue pair of a flow. Queue pairs 0 and 1 are those of management, and `0xFF_FFFF` is that of multicast (InfiniBand
/// vol. 1, special queue pairs): a dissector reads what goes there as other things than data.
fn queue_pair(flow: u32) -> u32 {
    2 + flow % (0xFF_FFFF - 2)
}

fn address(host: u32) -> [u8; 4] {
    (0x0A00_0001 + (host & 0xFF_FFFF)).to_be_bytes()
}

impl Frame {
    fn emit(&self, buffer: &mut [u8]) -> Result<usize, WireError> {
        match self.kind {
            Kind::Pfc { paused, resumed, quanta } => {
                let time = |priority: u8| if paused >> priority & 1 == 1 { quanta } else { 0 };
                let quanta = core::array::from_fn(|priority| time(priority as u8));
                let pfc = Pfc { enabled: paused | resumed, quanta };
                MacControl::Pfc(pfc).emit(link_mac(self.source), buffer)
            }
            Kind::Credit { lane, fctbs, fccl } => {
                let mut message = CreditMessage { lanes: 1 << (lane & 7), ..CreditMessage::default() };
                message.lane[usize::from(lane & 7)] = LaneCredit { fctbs, fccl };
                message.emit(link_mac(self.source), buffer)
            }
            Kind::Cim => {
                let length = usize::from(self.size).max(LEAST_FRAME);
                let header = Ethernet {
                    destination: mac(self.destination),
                    source: link_mac(self.source),
                    vlan: None,
                    ethertype: CIM,
                };
                buffer[..length].fill(0);
                header.emit(&mut buffer[..length])?;
                Ok(length)
            }
            Kind::Data { seq, last } => {
                let opcode = match (seq, last) {
                    (0, true) => opcode::SEND_ONLY,
                    (0, false) => opcode::SEND_FIRST,
                    (_, true) => opcode::SEND_LAST,
                    (_, false) => opcode::SEND_MIDDLE,
                };
                let room = usize::from(self.size).saturating_sub(ROCE_HEADERS);
                let payload = vec![0; room - room % 4];
                self.roce(Bth { opcode, psn: seq & 0xFF_FFFF, ..Bth::default() }, None, &payload, buffer)
            }
            Kind::Ack { received, negative } => {
                let bth = Bth {
                    opcode: opcode::ACKNOWLEDGE,
                    psn: received.wrapping_sub(1) & 0xFF_FFFF,
                    ..Bth::default()
                };
                // InfiniBand vol. 1 §9.7.5.2.3: 0x60 is the NAK of a packet out of sequence; 31: credits are not counted.
                let syndrome = if negative { 0x60 } else { 31 };
                self.roce(bth, Some(Aeth { syndrome, msn: received & 0xFF_FFFF }), &[], buffer)
            }
            Kind::Cnp => {
                self.roce(Bth { opcode: opcode::CNP, becn: true, ..Bth::default() }, None, &[], buffer)
            }
        }
    }

    fn roce(
        &self,
        bth: Bth,
        aeth: Option<Aeth>,
        payload: &[u8],
        buffer: &mut [u8],
    ) -> Result<usize, WireError> {
        let ethernet = Ethernet {
            destination: mac(self.destination),
            source: mac(self.source),
            vlan: None,
            ethertype: backwater_wire::ethertype::IPV4,
        };
        let ip = Ipv4 {
            dscp: 0,
            ecn: self.ecn & 3,
            id: 0,
            dont_fragment: true,
            ttl: 64,
            protocol: 17,
            source: address(self.source),
            destination: address(self.destination),
            payload: 0,
        };
        let udp_source = 0xC000 | (self.flow & 0x3FFF) as u16;
        let bth = Bth { pkey: 0xFFFF, destination_qp: queue_pair(self.flow), ..bth };
        Datagram { ethernet, ip, udp_source, bth, aeth, payload }.emit(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcap_file::pcapng::{Block, PcapNgReader};

    fn frame(kind: Kind, size: u16) -> Frame {
        Frame { interface: 0, sent_ps: 1_234_567, size, kind, flow: 5, source: 1, destination: 258, ecn: 2 }
    }

    /// The bytes kept, the original length and the time in ns of each frame.
    fn read(bytes: &[u8]) -> Vec<(Vec<u8>, u32, u128)> {
        let mut reader = PcapNgReader::new(bytes).expect("a section");
        let mut found = Vec::new();
        while let Some(block) = reader.next_block() {
            if let Block::EnhancedPacket(packet) = block.expect("a block") {
                found.push((packet.data.to_vec(), packet.original_len, packet.timestamp.as_nanos()));
            }
        }
        found
    }

    fn written(kind: Kind, size: u16, snap: u32) -> (Vec<u8>, u32, u128) {
        let mut bytes = Vec::new();
        let count = write(&mut bytes, &["P2".to_owned()], [frame(kind, size)], snap).expect("memory");
        assert_eq!(count, 1);
        read(&bytes).remove(0)
    }

    #[test]
    fn data_is_as_long_as_on_the_simulated_wire_and_says_who_sends_to_whom() {
        // 58 B of headers and 992 B
        let (data, length, _) = written(Kind::Data { seq: 0, last: false }, 1050, 65_535);
        assert_eq!((data.len(), length), (1050, 1050));
        assert_eq!(written(Kind::Data { seq: 0, last: false }, 1053, 65_535).1, 1050, "whole words");
        assert_eq!(data[..14], [2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
        // 10.0.0.2 to 10.0.1.3, UE in the ECN bits, UDP 4791, SEND first
        assert_eq!((data[15] & 3, &data[26..34]), (2, &[10, 0, 0, 2, 10, 0, 1, 3][..]));
        assert_eq!((&data[36..38], data[42]), (&[0x12, 0xb7][..], 0x00));
    }

    #[test]
    fn no_flow_goes_to_a_queue_pair_of_management_or_of_multicast() {
        let pairs = [0, 1, 5, 0xFF_FFFC, 0xFF_FFFD, u32::MAX].map(queue_pair);
        assert_eq!(pairs[..4], [2, 3, 7, 0xFF_FFFE]);
        assert!(pairs.iter().all(|pair| (2..0xFF_FFFF).contains(pair)), "{pairs:x?}");
        let (data, ..) = written(Kind::Data { seq: 0, last: false }, 1050, 65_535);
        assert_eq!(data[47..50], [0, 0, 7], "flow 5");
    }

    #[test]
    fn a_pause_names_its_priorities_and_its_time() {
        let (data, ..) = written(Kind::Pfc { paused: 0b1000, resumed: 0b1, quanta: 0x1234 }, 64, 65_535);
        assert_eq!(data[..6], [0x01, 0x80, 0xC2, 0, 0, 1]);
        assert_eq!(data[12..18], [0x88, 0x08, 0x01, 0x01, 0, 0b1001]);
        assert_eq!((&data[18..20], &data[24..26]), (&[0, 0][..], &[0x12, 0x34][..]));
    }

    #[test]
    fn a_frame_that_is_cut_off_keeps_its_length_and_a_short_one_is_filled_up() {
        let (data, length, _) = written(Kind::Data { seq: 3, last: true }, 1050, 96);
        assert_eq!((data.len(), length), (96, 1050));
        assert_eq!(written(Kind::Cnp, 20, 65_535).1, 74, "a CNP has 16 octets behind its headers");
        assert_eq!(written(Kind::Data { seq: 3, last: true }, 5, 65_535).1, 60);
    }
}
