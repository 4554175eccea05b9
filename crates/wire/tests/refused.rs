//! Bytes that are no frames, and the exact sentence that each is refused with; frames by hand from the standards.
use backwater_wire::{CreditMessage, Ethernet, Frame, LaneCredit, MacAddress, MacControl, Payload, Pfc};

const MAC_CONTROL: &str = "0180c2000001 020000000001 8808";
const CREDIT: &str = "0180c2000001 020000000001 88b5";
/// Priority 3 in VLAN 5.
const TAGGED: &str = "0180c2000001 020000000001 8100 6005";
const IPV4: &str = "020000000002 020000000001 0800";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|digit| !digit.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn refused(hex: &str) -> String {
    Frame::parse(&bytes(hex)).err().map_or_else(|| "it was read".to_owned(), |error| error.to_string())
}

#[test]
fn pfc_by_hand_from_ieee_802_3_annex_31d() {
    // Opcode 0101, vector 0008 (priority 3), times of priorities 0 to 7, zeros up to 60 octets.
    let hex = format!("{MAC_CONTROL} 0101 0008 0000 0000 0000 ffff 0000 0000 0000 0000 {}", "00".repeat(26));
    let mut pfc = Pfc { enabled: 8, ..Pfc::default() };
    pfc.quanta[3] = 65_535;
    assert_eq!(Frame::parse(&bytes(&hex)).unwrap().payload, Payload::MacControl(MacControl::Pfc(pfc)));
    let mut buffer = [0; 60];
    MacControl::Pfc(pfc).emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut buffer).unwrap();
    assert_eq!(buffer.as_slice(), bytes(&hex));
}

#[test]
fn credits_by_hand_from_our_format() {
    // Version 1, lanes 3 and 7, then FCTBS and FCCL of either; 12500 blocks are 800 KB.
    let hex = format!(
        "{CREDIT} 01 88 0000 0000000000000010 00000000000030d4 0000000100000000 ffffffffffffffff {}",
        "00".repeat(10)
    );
    let mut message = CreditMessage { lanes: 0x88, ..CreditMessage::default() };
    message.lane[3] = LaneCredit { fctbs: 16, fccl: 12_500 };
    message.lane[7] = LaneCredit { fctbs: 1 << 32, fccl: u64::MAX };
    assert_eq!(Frame::parse(&bytes(&hex)).unwrap().payload, Payload::Credit(message));
    let mut buffer = [0xAA; 60];
    assert_eq!(message.emit(MacAddress([2, 0, 0, 0, 0, 1]), &mut buffer), Ok(60));
    assert_eq!(buffer.as_slice(), bytes(&hex));
}

#[test]
fn every_malformed_frame_is_refused_with_its_reason() {
    let zeros = |count: usize| "00".repeat(count);
    let ip = |first: &str| format!("{IPV4} {first}");
    let table = [
        (String::new(), "the Ethernet header is too short: 0 B, at least 14 B are needed"),
        ("0180c2000001".into(), "the Ethernet header is too short: 6 B, at least 14 B are needed"),
        (
            "020000000002 020000000001 8100 6005".into(),
            "the VLAN tag is too short: 2 B, at least 4 B are needed",
        ),
        (MAC_CONTROL.into(), "a MAC control frame is too short: 14 B, at least 16 B are needed"),
        (format!("{MAC_CONTROL} 0101 0008"), "a PFC frame is too short: 18 B, at least 34 B are needed"),
        (format!("{MAC_CONTROL} 0001"), "a PAUSE frame is too short: 16 B, at least 18 B are needed"),
        (
            format!("{MAC_CONTROL} 0101 {}", zeros(49)),
            "a PFC frame is too long: 65 B, at most 64 B are allowed",
        ),
        (
            format!("{MAC_CONTROL} 0102 {}", zeros(44)),
            "MAC control opcode is 0x102, expected 0x0001 (PAUSE) or 0x0101 (PFC)",
        ),
        (
            format!("{MAC_CONTROL} 0101 0108 {}", zeros(42)),
            "class-enable vector of a PFC frame is 0x108, expected a vector of eight priorities",
        ),
        (
            format!("020000000002 020000000001 8808 0101 {}", zeros(44)),
            "destination of a PFC frame is 0x20000000002, expected 01:80:c2:00:00:01",
        ),
        (format!("{CREDIT} 01"), "a credit message is too short: 15 B, at least 18 B are needed"),
        (format!("{CREDIT} 02 00 0000"), "version of a credit message is 0x2, expected 1"),
        (format!("{CREDIT} 01 00 0001"), "reserved field of a credit message is 0x1, expected 0"),
        (
            format!("{CREDIT} 01 ff 0000 {}", zeros(127)),
            "a credit message is too short: 145 B, at least 146 B are needed",
        ),
        (
            format!("{CREDIT} 01 08 0000 {}", zeros(47)),
            "a credit message is too long: 65 B, at most 64 B are allowed",
        ),
        (
            format!("020000000002 020000000001 88b5 01 00 0000 {}", zeros(42)),
            "destination of a credit message is 0x20000000002, expected 01:80:c2:00:00:01",
        ),
        (
            format!("{TAGGED} 8808 0101 0008 {}", zeros(42)),
            "a MAC control frame has a VLAN tag (VLAN 5, priority 3): MAC control is not tagged",
        ),
        (
            format!("{TAGGED} 8808 0001 ffff {}", zeros(42)),
            "a MAC control frame has a VLAN tag (VLAN 5, priority 3): MAC control is not tagged",
        ),
        (
            format!("{TAGGED} 88b5 01 08 0000 {}", zeros(16)),
            "a credit message has a VLAN tag (VLAN 5, priority 3): MAC control is not tagged",
        ),
        (ip("45"), "the IPv4 header is too short: 1 B, at least 20 B are needed"),
        (ip(&format!("65 {}", zeros(39))), "version of the IPv4 header is 0x6, expected 4"),
        (ip(&format!("44 {}", zeros(39))), "header length of IPv4 is 0x4, expected 5 to 15 words"),
        (ip(&format!("4f {}", zeros(39))), "the IPv4 header is too short: 40 B, at least 60 B are needed"),
        (
            ip("4500 0014 0000 0000 4011 0000 0a000001 0a000002"),
            "checksum of the IPv4 header is 0x0, the bytes give 0x66d7",
        ),
        (
            ip("4500 0013 0000 0000 4011 66d8 0a000001 0a000002"),
            "total length of IPv4 is too short: 19 B, at least 20 B are needed",
        ),
        (
            ip("4500 0014 0000 2000 4011 46d7 0a000001 0a000002"),
            "fragment field of IPv4 is 0x2000, expected 0: fragments are not put together",
        ),
        (
            ip("4500 0015 0000 0000 4011 66d6 0a000001 0a000002"),
            "the IPv4 packet is too short: 0 B, at least 1 B are needed",
        ),
        (
            ip("4500 0014 0000 0000 4011 66d7 0a000001 0a000002"),
            "the UDP header is too short: 0 B, at least 8 B are needed",
        ),
        (
            ip("4500 001c 0000 0000 4011 66cf 0a000001 0a000002 c000 12b7 0007 0000"),
            "length of UDP is too short: 7 B, at least 8 B are needed",
        ),
        (
            ip("4500 001c 0000 0000 4011 66cf 0a000001 0a000002 c000 12b7 0009 0000"),
            "the UDP datagram is too short: 0 B, at least 1 B are needed",
        ),
        (
            ip("4500 001c 0000 0000 4011 66cf 0a000001 0a000002 c000 12b7 0008 0000"),
            "the BTH is too short: 0 B, at least 12 B are needed",
        ),
    ];
    for (hex, sentence) in table {
        assert_eq!(refused(&hex), sentence, "{hex}");
    }
}

/// A RoCE frame with this behind the UDP header.
fn behind_udp(hex: &str) -> String {
    let inner = bytes(hex);
    let udp = 8 + inner.len();
    let ip = backwater_wire::Ipv4 {
        dscp: 0,
        ecn: 0,
        id: 0,
        dont_fragment: false,
        ttl: 1,
        protocol: 17,
        source: [10, 0, 0, 1],
        destination: [10, 0, 0, 2],
        payload: udp as u16,
    };
    let mut frame = vec![0; 42];
    Ethernet { destination: MacAddress([2; 6]), source: MacAddress([2; 6]), vlan: None, ethertype: 0x0800 }
        .emit(&mut frame)
        .unwrap();
    ip.emit(&mut frame[14..]).unwrap();
    backwater_wire::Udp { source: 1, destination: 4791, payload: inner.len() as u16 }
        .emit(&mut frame[34..])
        .unwrap();
    frame.extend(inner);
    Frame::parse(&frame).err().map_or_else(|| "it was read".to_owned(), |error| error.to_string())
}

#[test]
fn every_malformed_roce_packet_is_refused_with_its_reason() {
    let bth = |opcode: &str| format!("{opcode} 40 ffff 00000010 00000007");
    let table = [
        (
            bth("ff"),
            "BTH opcode is 0xff, expected one of InfiniBand's, such as 0x04 (SEND only) or 0x81 (CNP)",
        ),
        ("04 41 ffff 00000010 00000007".to_owned(), "transport version of the BTH is 0x1, expected 0"),
        (bth("04"), "a RoCE packet behind its headers is too short: 0 B, at least 4 B are needed"),
        (
            "04 70 ffff 00000010 00000007 00000000".to_owned(),
            "a RoCE packet behind its headers is too short: 4 B, at least 7 B are needed",
        ),
        (bth("11"), "the AETH is too short: 0 B, at least 4 B are needed"),
        (
            format!("{} {}", bth("81"), "00".repeat(19)),
            "the payload of a CNP is too short: 15 B, at least 16 B are needed",
        ),
        (
            format!("{} {}", bth("81"), "00".repeat(21)),
            "the payload of a CNP is too long: 17 B, at most 16 B are allowed",
        ),
    ];
    for (hex, sentence) in table {
        assert_eq!(behind_udp(&hex), sentence, "{hex}");
    }
}

#[test]
fn where_there_is_no_room_nothing_is_written() {
    let mut small = [0xAA; 59];
    let error = MacControl::Pause(1).emit(MacAddress::default(), &mut small).unwrap_err();
    assert_eq!(error.to_string(), "no room for a MAC control frame: the buffer has 59 B, 60 B are needed");
    assert_eq!(small, [0xAA; 59]);
}

#[test]
fn addresses_are_read_as_they_are_shown() {
    assert_eq!("02:00:00:00:0a:ff".parse(), Ok(MacAddress([2, 0, 0, 0, 10, 255])));
    assert_eq!(MacAddress([2, 0, 0, 0, 10, 255]).to_string(), "02:00:00:00:0a:ff");
    for wrong in [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:01:02",
        "02-00-00-00-00-01",
        "2:0:0:0:0:1",
        "+2:00:00:00:00:01",
    ] {
        assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
    }
}
