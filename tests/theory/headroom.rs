//! What still arrives after PAUSE: the bound of IEEE 802.1Qbb is met, and it is met exactly in the worst case.
//!
//! ```text
//!   a ──40G──▶ s ──1 Mbps──▶ b      nothing drains while the loop closes
//!   c ──40G──▶ ┘                    c -> a keeps the reverse wire busy, so that the PFC frame waits
//! ```
use backwater_control::flow_control::{Threshold, headroom};
use backwater_fabric::{Spec, Violation};
use backwater_topology::{Builder, generate};
use backwater_traffic::Pacing;
use backwater_units::{Bytes, Rate, Span, Time};
use scene::{FAST, flow, hpcc_ns3, ideal, per_port, run_until, try_run, us};

const RATE: Rate = Rate::from_gbps(40);
const DELAY: Span = Span::from_us(4);
const MTU: u64 = 1000;
const XOFF: u64 = 20_000;

/// The scene with `buffer` bytes of memory; `reverse`: when c starts to send to a.
fn blocked(buffer: u64, reverse: Option<Time>) -> Spec {
    let mut builder = Builder::new();
    let [a, b, c] = ["a", "b", "c"].map(|name| builder.host(name));
    let s = builder.switch("s");
    builder.link(a, s, RATE, DELAY);
    builder.link(b, s, Rate::from_mbps(1), DELAY);
    builder.link(c, s, RATE, DELAY);
    let mut flows = vec![flow(0, 1, u64::MAX, Time::ZERO, Pacing::LineRate)];
    flows.extend(reverse.map(|start| flow(2, 0, u64::MAX, start, Pacing::LineRate)));
    let mut spec = ideal(builder.build().unwrap(), flows);
    let threshold = Threshold::Static {
        xoff: XOFF,
        xon: XOFF - 2 * MTU,
        port_xoff: u64::MAX,
        port_xon: u64::MAX,
        buffer,
    };
    spec.switch.buffer = Bytes::new(buffer);
    spec.switch.pfc.as_mut().unwrap().thresholds = per_port(&spec.network, |_| threshold);
    spec
}

/// Peak of the ingress counter of the port to a.
fn peak(reverse: Option<Time>) -> u64 {
    let outcome = run_until(blocked(1_000_000, reverse), us(50));
    outcome.port((3, 0), 3).peak_ingress.get()
}

fn bound() -> u64 {
    let after = headroom(RATE, DELAY, Bytes::new(MTU), Bytes::new(64), Span::ZERO);
    // 40 000 B of cable, two packets, one frame; and the packet that crosses Xoff
    assert_eq!(after.bytes, Bytes::new(42_064));
    XOFF + MTU + after.bytes.get()
}

#[test]
fn the_ingress_counter_stays_below_xoff_plus_headroom_and_reaches_it_to_the_packet() {
    // The reverse traffic shifts in steps of 10 ns through a whole packet time of 200 ns.
    let peaks: Vec<u64> = (0..20).map(|step| peak(Some(Time::from_ps(step * 10_000)))).collect();
    let worst = *peaks.iter().max().unwrap();
    assert!(worst <= bound(), "{worst} > {}", bound());
    // 63 064 B; whole packets of it
    assert_eq!(worst, bound() / MTU * MTU, "{peaks:?}");
}

#[test]
fn with_an_idle_reverse_wire_the_pfc_frame_does_not_wait_and_one_packet_less_arrives() {
    // Packet k starts at 0.2k us and is in at 4.2 + 0.2k. The first passes, the 22nd crosses Xoff at 8.4 us, PAUSE is
    // at a at 8.4 + 0.0128 + 4 = 12.4128 us: packets 0 to 62 have started, 62 of them stay.
    assert_eq!(peak(None), 62_000);
}

#[test]
fn a_buffer_of_exactly_the_peak_loses_nothing_and_one_packet_less_overflows() {
    let just = try_run(blocked(62_000, None), FAST, Some(us(50)));
    assert!(just.is_ok());
    let Err(violation) = try_run(blocked(61_000, None), FAST, Some(us(50))) else {
        panic!("62 packets in 61 000 B");
    };
    let Violation::BufferOverflow { node, from, held, buffer, .. } = &violation else {
        panic!("{violation}");
    };
    assert_eq!((node.as_str(), from.as_str()), ("s", "a"));
    assert_eq!((held.get(), buffer.get()), (62_000, 61_000));
}

/// 60 senders of 1 MB into one port at 10 Gbps, 1 us links, 1 MiB of buffer, no congestion control: issue 15 of the
/// HPCC simulator. `headroom`: instead of that simulator's.
fn incast_at_10_gbps(headroom: Option<u64>) -> Spec {
    let net = generate::star(61, Rate::from_gbps(10), Span::from_us(1)).unwrap();
    let flows = (1..61).map(|src| flow(src, 0, 1_000_000, Time::ZERO, Pacing::LineRate)).collect();
    let mut spec = hpcc_ns3(net, flows, 1 << 20);
    if let Some(bytes) = headroom {
        let thresholds = &mut spec.switch.pfc.as_mut().unwrap().thresholds;
        for threshold in thresholds.iter_mut().flatten() {
            if let Threshold::Dynamic { headroom, pool, .. } = threshold {
                *pool -= 61 * (bytes - *headroom);
                *headroom = bytes;
            }
        }
    }
    spec
}

#[test]
fn the_hpcc_simulators_headroom_without_mtu_overflows_at_10_gbps() {
    let Err(violation) = try_run(incast_at_10_gbps(None), FAST, None) else {
        panic!("3 750 B of headroom took what needs about 4.6 KB");
    };
    assert!(matches!(violation, Violation::HeadroomOverflow { .. }), "{violation}");
    let text = violation.to_string();
    assert!(text.contains("-> s ") && text.contains("3.75KB"), "{text}");
}

#[test]
fn the_headroom_of_802_1qbb_loses_nothing_in_the_same_incast() {
    let need = headroom(Rate::from_gbps(10), Span::from_us(1), Bytes::new(1048), Bytes::new(43), Span::ZERO);
    // and the packet that crosses the threshold, which the dynamic threshold charges to the headroom
    let outcome = try_run(incast_at_10_gbps(Some(need.bytes.get() + 1048)), FAST, None);
    let outcome = outcome.unwrap_or_else(|violation| panic!("{violation}"));
    assert!(outcome.flows.iter().all(|f| f.received.get() == 1_000_000));
}
