//! Flows of Ultra Ethernet, with the values of the Consortium's simulator (`ultraethernet/uet-htsim` at 40ccb05).
use backwater_control::detector::{Detector, Red};
use backwater_control::uec::{
    CreditConfig, Delivery, NsccChoice, NsccConfig, Reach, SpreadConfig, SpreadKind, nscc,
};
use backwater_fabric::{
    MOST_UEC_RANGE, Overflow, PacketSpec, ProbeSpec, Spec, SwitchSpec, UecCredits, UecSpec, UecWindow,
};
use backwater_topology::Network;
use backwater_traffic::Flow;
use backwater_units::{Bytes, Rate, Span};

use crate::{ideal, per_port};

/// Who says how fast flows of UEC send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// A window that does not change.
    Window,
    /// NSCC.
    Nscc,
    /// RCCC.
    Rccc,
    /// Both.
    Both,
}

/// A full packet on the wire, and what of it is payload.
const MTU: u16 = 4150;
const PAYLOAD: u16 = 4086;

/// Packets of 4150 B, of which 64 are header; hosts with links of `rate`, and a longest round trip of `rtt`. Switches drop what does not fit
/// five bandwidth-delay products, as that simulator's do where they do not trim, and mark from 0.2 of one on, all from 0.8 on.
///
/// # Panics
/// If two hosts cannot reach each other.
pub fn uec(network: Network, flows: Vec<Flow>, rules: Rules, (rate, rtt): (Rate, Span)) -> Spec {
    let spec = ideal(network, flows);
    let reach = Reach { rtt, rate, mtu: MTU, payload: PAYLOAD, trims: false };
    let most = nscc::most_window(rtt.as_ps(), rate);
    let windows = matches!(rules, Rules::Nscc | Rules::Both);
    let nscc = windows.then(|| NsccConfig::new(&reach, &NsccChoice::standard()));
    let config = CreditConfig { quantum: 256, grant: 64, most, mtu: MTU.into(), speculates: true };
    let packets = |share: u64| Bytes::new((reach.bdp() * share / 10).div_ceil(MTU.into()) * u64::from(MTU));
    let marks = Red::new(packets(2), packets(8), 1.0, Bytes::ZERO).expect("0.2 and 0.8");
    let detectors = per_port(&spec.network, |_| Detector::Red(marks));
    let kind = UecSpec {
        delivery: Delivery::Rud,
        window: (rules != Rules::Rccc).then_some(UecWindow { first: most, nscc }),
        credits: matches!(rules, Rules::Rccc | Rules::Both).then_some(UecCredits {
            config,
            rate: 0.99,
            oversubscribed: None,
        }),
        base: rtt,
        pair: None,
        spread: SpreadConfig { kind: SpreadKind::Mixed, entropies: 64 },
        ack_bytes: 16_384,
        frame: Bytes::new(64),
        rto: Span::from_ns(100_656),
        doubles: true,
        range: MOST_UEC_RANGE,
    };
    Spec {
        packet: PacketSpec { payload: Bytes::new(PAYLOAD.into()), header: Bytes::new(64), padded: false },
        uecs: vec![kind],
        uec_of: vec![Some(0)],
        switch: SwitchSpec {
            pfc: None,
            overflow: Overflow::Drop { port: packets(50) },
            detectors,
            ..spec.switch
        },
        probe: ProbeSpec::default(),
        ..spec
    }
}
