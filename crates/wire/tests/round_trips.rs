//! Whatever is written is read back the same; whatever the bytes, nothing panics.
use backwater_wire::{
    Bth, CreditMessage, Datagram, Ethernet, Frame, Ipv4, LaneCredit, MacAddress, MacControl, Payload, Pfc,
    Vlan, icrc, set_ecn,
};
use proptest::prelude::*;

proptest! {
    #[test]
    fn pfc(enabled: u8, quanta: [u16; 8], source: [u8; 6]) {
        let control = MacControl::Pfc(Pfc { enabled, quanta });
        let mut buffer = [0; 60];
        control.emit(MacAddress(source), &mut buffer).unwrap();
        prop_assert_eq!(Frame::parse(&buffer).unwrap().payload, Payload::MacControl(control));
    }

    #[test]
    fn credits(lanes: u8, registers: [(u64, u64); 8]) {
        let lane = |index: usize| match lanes >> index & 1 {
            1 => LaneCredit { fctbs: registers[index].0, fccl: registers[index].1 },
            _ => LaneCredit::default(),
        };
        let message = CreditMessage { lanes, lane: std::array::from_fn(lane) };
        let mut buffer = [0; 146];
        let length = message.emit(MacAddress::default(), &mut buffer).unwrap();
        prop_assert_eq!(Frame::parse(&buffer[..length]).unwrap().payload, Payload::Credit(message));
    }

    #[test]
    fn roce(
        payload in proptest::collection::vec(any::<u8>(), 0..1500),
        (dscp, ecn, id, ttl) in (0u8..64, 0u8..4, any::<u16>(), any::<u8>()),
        (qp, psn, port) in (0u32..1 << 24, 0u32..1 << 24, any::<u16>()),
        (fecn, becn, ack_request) in any::<(bool, bool, bool)>(),
        tag in proptest::option::of((0u8..8, 0u16..4096)),
        mark in 0u8..4,
    ) {
        let datagram = Datagram {
            ethernet: Ethernet {
                destination: MacAddress([2; 6]),
                source: MacAddress([4; 6]),
                vlan: tag.map(|(priority, id)| Vlan { priority, drop_eligible: false, id }),
                ethertype: 0x0800,
            },
            ip: Ipv4 { dscp, ecn, id, dont_fragment: true, ttl, protocol: 17, source: [10, 0, 0, 1], destination: [10, 0, 0, 2], payload: 0 },
            udp_source: port,
            bth: Bth { opcode: 4, pkey: 0xFFFF, fecn, becn, destination_qp: qp, ack_request, psn, ..Bth::default() },
            aeth: None,
            payload: &payload,
        };
        let mut buffer = vec![0; 2048];
        let length = datagram.emit(&mut buffer).unwrap();
        // A switch marks it: the header's checksum and the ICRC stay right.
        let at = datagram.ethernet.len();
        prop_assert!(set_ecn(&mut buffer[at..length], mark));
        let frame = Frame::parse(&buffer[..length]).unwrap();
        let Payload::Roce(roce) = frame.payload else { panic!("RoCE was written") };
        prop_assert_eq!(frame.ethernet, datagram.ethernet);
        prop_assert_eq!((roce.ip.ecn, roce.ip.dscp, roce.ip.ttl, roce.udp.source), (mark, dscp, ttl, port));
        prop_assert_eq!(roce.bth, Bth { pad: roce.bth.pad, ..datagram.bth });
        prop_assert_eq!(roce.payload, &payload[..]);
        let end = at + 20 + usize::from(roce.ip.payload) - 4;
        prop_assert_eq!(icrc(&buffer[at..end]), Ok(roce.icrc));
    }

    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0usize..4, flip: (usize, u8)) {
        let mut bytes = bytes;
        let types = [[0x88, 0x08], [0x88, 0xB5], [0x08, 0x00], [0x81, 0x00]];
        if bytes.len() >= 14 {
            bytes[12..14].copy_from_slice(&types[kind]);
            let at = flip.0 % bytes.len();
            bytes[at] ^= flip.1;
        }
        match Frame::parse(&bytes) {
            Ok(frame) => prop_assert!(!frame.to_string().is_empty()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
        let _ = icrc(&bytes);
        let _ = set_ecn(&mut bytes, 3);
    }
}
