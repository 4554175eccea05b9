//! Frames that scapy made (`fixtures.py`): what is read from them, and that we write the same bytes.
use backwater_wire::{
    Aeth, Bth, Datagram, Ethernet, Frame, Ipv4, LEAST_FRAME, MacAddress, MacControl, Payload, Pfc, Roce,
    Vlan, icrc, opcode, set_ecn,
};

/// The bytes of a fixture.
fn fixture(name: &str) -> Vec<u8> {
    let line =
        include_str!("fixtures.hex").lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    let hex = line.unwrap_or_else(|| panic!("no fixture {name}"));
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn roce(bytes: &[u8]) -> (Ethernet, Roce<'_>) {
    let frame = Frame::parse(bytes).unwrap_or_else(|error| panic!("{error}"));
    match frame.payload {
        Payload::Roce(roce) => (frame.ethernet, roce),
        other => panic!("{other:?} is no RoCE"),
    }
}

/// Writes what was read.
fn written(ethernet: Ethernet, roce: &Roce<'_>) -> Vec<u8> {
    let datagram = Datagram {
        ethernet,
        ip: roce.ip,
        udp_source: roce.udp.source,
        bth: roce.bth,
        aeth: roce.aeth,
        payload: roce.payload,
    };
    let mut buffer = vec![0xAA; 2048];
    let length = datagram.emit(&mut buffer).unwrap();
    buffer.truncate(length);
    buffer
}

const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

#[test]
fn pause_and_pfc_are_read_and_written_as_scapy_does() {
    let mut several = Pfc { enabled: 0b1000_1001, ..Pfc::default() };
    (several.quanta[0], several.quanta[7]) = (1, 0x8000);
    let mut third = Pfc { enabled: 0b1000, ..Pfc::default() };
    third.quanta[3] = 0xFFFF;
    for (name, expected) in [
        ("pause", MacControl::Pause(0x1234)),
        ("pfc", MacControl::Pfc(third)),
        ("pfc-several", MacControl::Pfc(several)),
    ] {
        let bytes = fixture(name);
        assert_eq!(Frame::parse(&bytes).unwrap().payload, Payload::MacControl(expected), "{name}");
        let mut buffer = [0xAA; LEAST_FRAME];
        assert_eq!(expected.emit(SOURCE, &mut buffer), Ok(60));
        assert_eq!(buffer.as_slice(), bytes, "{name}");
    }
    assert_eq!([several.of(3), several.of(2), several.of(8)], [Some(0), None, None]);
}

#[test]
fn every_roce_frame_has_the_icrc_of_scapy_and_is_written_back_byte_for_byte() {
    let names =
        include_str!("fixtures.hex").lines().filter_map(|line| line.split_once(' ')).map(|(name, _)| name);
    let names: Vec<&str> = names.filter(|name| !name.starts_with('p')).collect();
    assert_eq!(names.len(), 8);
    for name in names {
        let bytes = fixture(name);
        let (ethernet, roce) = roce(&bytes);
        let end = ethernet.len() + Ipv4::LEN + usize::from(roce.ip.payload) - 4;
        assert_eq!(icrc(&bytes[ethernet.len()..end]), Ok(roce.icrc), "{name}");
        assert_eq!(written(ethernet, &roce), bytes, "{name}");
    }
}

#[test]
fn the_fields_of_a_data_packet_are_where_the_standards_put_them() {
    let bytes = fixture("send-only-vlan");
    let (ethernet, roce) = roce(&bytes);
    assert_eq!(ethernet.vlan, Some(Vlan { priority: 3, drop_eligible: false, id: 5 }));
    // TOS 0x61: DSCP 24 (class selector 3), ECN 01.
    assert_eq!((roce.ip.dscp, roce.ip.ecn, roce.ip.ttl, roce.ip.dont_fragment), (24, 1, 64, true));
    assert_eq!((roce.udp.source, roce.udp.destination), (0xC000, 4791));
    let bth = Bth {
        opcode: opcode::SEND_ONLY,
        migrated: true,
        pkey: 0xFFFF,
        destination_qp: 16,
        psn: 7,
        ..Bth::default()
    };
    assert_eq!(roce.bth, bth);
    assert_eq!(roce.payload, (0..64).collect::<Vec<u8>>());
}

#[test]
fn filling_is_no_payload_and_an_acknowledgement_has_its_header() {
    let padded = fixture("send-padded");
    assert_eq!(roce(&padded).1.payload, [1, 2, 3, 4, 5]);
    let ack = fixture("ack");
    let (_, ack) = roce(&ack);
    assert_eq!(ack.aeth, Some(Aeth { syndrome: 0x1F, msn: 9 }));
    assert_eq!((ack.bth.destination_qp, ack.bth.psn, ack.payload.len()), (0x12_3456, 0xFF_FFFF, 0));
}

#[test]
fn a_cnp_has_opcode_81_becn_and_the_mark_in_its_ecn_field() {
    let bytes = fixture("cnp");
    let (_, cnp) = roce(&bytes);
    assert_eq!((cnp.bth.opcode, cnp.bth.becn, cnp.bth.fecn, cnp.ip.ecn), (0x81, true, false, 3));
    assert_eq!(cnp.payload, [0; 16]);
}

#[test]
fn a_switch_that_marks_keeps_checksum_and_icrc_right() {
    let (mut plain, marked) = (fixture("send-only"), fixture("send-only-ce"));
    assert!(set_ecn(&mut plain[14..], 3));
    assert_eq!(plain, marked, "scapy computed checksum and ICRC of the marked frame anew");
    assert!(!set_ecn(&mut [0; 40], 3));
}
