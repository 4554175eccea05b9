//! Ultra Ethernet on the fat trees of the benchmarks: NSCC over switches that trim.
use backwater_control::detector::{Detector, Red};
use backwater_control::flow_control::{Trimming, Victim};
use backwater_control::uec::{Delivery, NsccChoice, NsccConfig, Reach, SpreadConfig, SpreadKind, nscc};
use backwater_fabric::{Balancing, MOST_UEC_RANGE, Overflow, Spec, UecSpec, UecWindow};
use backwater_topology::facts;
use backwater_units::{Bytes, Span};

/// The size of ACKs, NACKs and headers.
const FRAME: Bytes = Bytes::new(64);

/// The same flows as flows of UEC under NSCC, by 64 entropies, in place of queue pairs, PFC and DCQCN. Queues of one bandwidth-delay product of
/// the longest path trim, and mark from 0.2 of one on, all from 0.8 on: the defaults of the Consortium's simulator
/// (`ultraethernet/uet-htsim` at 40ccb05).
///
/// # Panics
/// If some hosts cannot reach each other.
pub fn with_uec(mut spec: Spec) -> Spec {
    let rate = spec.network.ports(spec.network.hosts()[0])[0].rate;
    let mtu = spec.packet.payload + spec.packet.header;
    let sizes = rate.serialize(mtu).as_ps() + rate.serialize(FRAME).as_ps();
    let rtt = facts::farthest(&spec.network, &spec.routes, |link| 2 * link.delay.as_ps() + sizes);
    let reach = Reach {
        rtt: Span::from_ps(rtt),
        rate,
        mtu: mtu.get() as u16,
        payload: spec.packet.payload.get() as u16,
        trims: true,
    };
    let packets = |tenths: u64| Bytes::new((reach.bdp() * tenths / 10).div_ceil(mtu.get()) * mtu.get());
    let queue = packets(10);
    // As `uec.cpp` has it: 15 µs and six queues.
    let rto = Span::from_us(15) + rate.serialize(queue) * 6;
    spec.uecs = vec![UecSpec {
        delivery: Delivery::Rud,
        window: Some(UecWindow {
            first: nscc::most_window(rtt, rate),
            nscc: Some(NsccConfig::new(&reach, &NsccChoice::standard())),
        }),
        credits: None,
        base: reach.rtt,
        pair: None,
        spread: SpreadConfig { kind: SpreadKind::Mixed, entropies: 64 },
        ack_bytes: 16_384,
        frame: FRAME,
        rto,
        doubles: true,
        range: MOST_UEC_RANGE,
    }];
    spec.uec_of = vec![Some(0)];
    let marks = Detector::Red(Red::new(packets(2), packets(8), 1.0, Bytes::ZERO).expect("0.2 and 0.8"));
    spec.switch.pfc = None;
    spec.switch.balancing = Balancing::Entropy;
    spec.switch.overflow = Overflow::Trim(Trimming {
        queue,
        headers: queue * 2,
        size: FRAME.get() as u16,
        victim: Victim::Coin,
        rate: Some(rate),
    });
    for detectors in &mut spec.switch.detectors {
        detectors.fill(marks);
    }
    spec
}
