//! Wireshark's dissectors understand what we write. Skipped, with a word about it, where tshark is not installed.
use std::process::Command;

use backwater_wire::{
    Bth, CreditMessage, Datagram, Ethernet, Ipv4, LaneCredit, MacAddress, MacControl, Pfc, Vlan, opcode,
};

/// A pcap file (libpcap 2.4, Ethernet) of these frames.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xA1B2_C3D4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        file.extend(word.to_le_bytes());
    }
    for frame in frames {
        for word in [0, 0, frame.len() as u32, frame.len() as u32] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// The fields of each frame, as tshark shows them; `None` without tshark.
fn dissect(name: &str, frames: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    std::fs::write(&path, pcap(frames)).unwrap();
    let mut command = Command::new("tshark");
    command.args(["-r", path.to_str().unwrap(), "-T", "fields", "-o", "ip.check_checksum:TRUE"]);
    command.args(fields.iter().flat_map(|field| ["-e", field]));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped: tshark cannot be run ({error}); Debian has it in the package tshark");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

fn emitted(emit: impl FnOnce(&mut [u8]) -> usize) -> Vec<u8> {
    let mut buffer = vec![0; 2048];
    let length = emit(&mut buffer);
    buffer.truncate(length);
    buffer
}

const SOURCE: MacAddress = MacAddress([2, 0, 0, 0, 0, 1]);

#[test]
fn tshark_reads_the_classes_and_times_of_our_pfc() {
    let mut pfc = Pfc { enabled: 0b1000_1000, ..Pfc::default() };
    pfc.quanta[3] = 65_535;
    let frame = emitted(|buffer| MacControl::Pfc(pfc).emit(SOURCE, buffer).unwrap());
    // tshark calls PFC "Class Based Flow Control [CBFC]"; it is not the credit-based one.
    let fields = ["macc.opcode", "macc.cbfc.enbv", "macc.cbfc.pause_time.c3", "macc.cbfc.pause_time.c7"];
    let Some(lines) = dissect("pfc", &[frame], &fields) else { return };
    let numbers: Vec<u64> = lines[0].iter().map(|text| number(text)).collect();
    assert_eq!(numbers, [0x0101, 0x88, 65_535, 0]);
}

/// Decimal, or hexadecimal with 0x.
fn number(text: &str) -> u64 {
    text.strip_prefix("0x")
        .map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16))
        .unwrap_or(u64::MAX)
}

#[test]
fn tshark_reads_the_bth_the_ecn_bits_and_good_checksums_of_our_roce() {
    let datagram = |opcode, ecn, becn| Datagram {
        ethernet: Ethernet {
            destination: MacAddress([2, 0, 0, 0, 0, 2]),
            source: SOURCE,
            vlan: Some(Vlan { priority: 3, drop_eligible: false, id: 5 }),
            ethertype: 0x0800,
        },
        ip: Ipv4 {
            dscp: 24,
            ecn,
            id: 1,
            dont_fragment: true,
            ttl: 64,
            protocol: 17,
            source: [10, 0, 0, 1],
            destination: [10, 0, 0, 2],
            payload: 0,
        },
        udp_source: 49_152,
        bth: Bth { opcode, pkey: 0xFFFF, becn, destination_qp: 0x10, psn: 0x01_0203, ..Bth::default() },
        aeth: None,
        payload: &[7; 1000],
    };
    let frames = [datagram(opcode::SEND_ONLY, 2, false), datagram(opcode::CNP, 3, true)]
        .map(|datagram| emitted(|buffer| datagram.emit(buffer).unwrap()));
    let fields = [
        "vlan.priority",
        "ip.dsfield.ecn",
        "ip.checksum.status",
        "udp.dstport",
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
    ];
    let Some(lines) = dissect("roce", &frames, &fields) else { return };
    let numbers = |line: &[String]| line.iter().map(|text| number(text)).collect::<Vec<u64>>();
    assert_eq!(numbers(&lines[0]), [3, 2, 1, 4791, 4, 0x10, 0x01_0203]);
    assert_eq!(numbers(&lines[1]), [3, 3, 1, 4791, 129, 0x10, 0x01_0203]);
}

#[test]
fn tshark_takes_our_credit_messages_for_frames_of_an_experimental_type() {
    let mut message = CreditMessage { lanes: 8, ..CreditMessage::default() };
    message.lane[3] = LaneCredit { fctbs: 16, fccl: 12_500 };
    let frame = emitted(|buffer| message.emit(SOURCE, buffer).unwrap());
    let Some(lines) = dissect("credit", &[frame], &["eth.dst", "eth.type", "frame.len"]) else { return };
    assert_eq!(lines[0], ["01:80:c2:00:00:01", "0x88b5", "60"]);
}
