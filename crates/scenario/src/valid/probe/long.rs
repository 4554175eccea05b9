//! From which queue on the ground truth calls an egress queue long: the threshold K. It follows from the network alone, so that it is
//! the same for every detector and every reaction.
//!
//! ```text
//!   K = min( C·T + n·P , M/2 )   C   rate of the port
//!                                T   longest base round trip between two hosts: before that no source can react
//!                                n·P a packet from each port of the switch: they may come at once
//!                                M   what may wait for the port of what came by one link, before that link is held back
//! ```
use backwater_codes::Code;
use backwater_control::flow_control::Threshold;
use backwater_fabric::{CreditSpec, PfcSpec};
use backwater_topology::{Network, Routes, facts};
use backwater_units::{Bytes, Rate, Span};
use serde::Serialize;

use crate::quantity::Quantity;
use crate::settings::{AutoOr, FlowControl, OnOverflow, Settings};
use crate::valid::combined::is_combined;
use crate::valid::lanes::Lanes;
use crate::valid::{Context, combined, isolation, mtu, round_trip};

/// What bounds the queues of switches.
pub(in crate::valid) struct Memory<'a> {
    pub(in crate::valid) lanes: &'a Lanes,
    pub(in crate::valid) pfc: Option<&'a PfcSpec>,
    pub(in crate::valid) credits: Option<&'a CreditSpec>,
    /// What a queue holds of which packets are trimmed.
    pub(in crate::valid) trimmed: Option<Bytes>,
}

/// What the ground truth of a run calls a long queue, for `run.json`.
#[derive(Clone, Debug, Serialize)]
pub struct LongQueues {
    /// The longest base round trip between two hosts: a full packet and its ACK.
    round_trip_ps: u64,
    /// By rate of the port, then by threshold.
    thresholds: Vec<Long>,
}

/// The ports that have one threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Long {
    rate_bps: u64,
    threshold_bytes: u64,
    /// Why it is that.
    from: From,
    /// So many egress ports of switches have it.
    ports: u64,
}

/// What a threshold follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum From {
    RoundTrip,
    Memory,
    Given,
}

/// The threshold K of each egress port of a switch. One that no queue can exceed is a caveat.
pub(in crate::valid) fn thresholds(
    context: &mut Context<'_>,
    (network, routes): (&Network, &Routes),
    memory: &Memory<'_>,
) -> Vec<Vec<Bytes>> {
    let settings = context.settings;
    let trip = Span::from_ps(facts::farthest(network, routes, |link| round_trip(settings, link)));
    let (mut found, mut unsound) = (Vec::<Long>::new(), None);
    let mut of = |node: u32| -> Vec<Bytes> {
        let ports = if network.is_switch(node) { network.ports(node) } else { &[] };
        let most = memory.most(settings, node, ports.len());
        let long = |(index, rate): (u16, Rate)| {
            let long = long(settings, (rate, trip, ports.len()), most);
            let threshold = Bytes::new(long.threshold_bytes);
            if threshold + mtu(settings) >= most {
                unsound.get_or_insert((node, index, long, most));
            }
            match found.iter_mut().find(|known| Long { ports: 1, ..**known } == long) {
                Some(known) => known.ports += 1,
                None => found.push(long),
            }
            threshold
        };
        (0..).zip(ports.iter().map(|port| port.rate)).map(long).collect()
    };
    let all = (0..network.nodes().len() as u32).map(&mut of).collect();
    found.sort_unstable();
    context.long = Some(LongQueues { round_trip_ps: trip.as_ps(), thresholds: found });
    if let Some((node, port, long, most)) = unsound {
        let message = unreachable(settings, &network.port_name(node, port), long, most);
        context.caveat(Code::UnreachableThreshold, "probe.blame-threshold", message);
    }
    all
}

/// The threshold of a port of this rate, of a switch with so many, for which so much may wait from one link.
fn long(settings: &Settings, (rate, trip, ports): (Rate, Span, usize), most: Bytes) -> Long {
    let at_once = mtu(settings) * ports as u64;
    let lasting = Bytes::new(rate.bytes_in(trip).get().saturating_add(at_once.get()));
    let half = combined::part(most, 1, 2);
    let (threshold, from) = match settings.probe.blame_threshold {
        AutoOr::Given(Quantity(given)) => (given, From::Given),
        AutoOr::Auto if lasting <= half => (lasting, From::RoundTrip),
        AutoOr::Auto => (half, From::Memory),
    };
    Long { rate_bps: rate.as_bps(), threshold_bytes: threshold.get(), from, ports: 1 }
}

fn unreachable(settings: &Settings, port: &str, long: Long, most: Bytes) -> String {
    let (most, packet) = (Quantity(most), Quantity(mtu(settings)));
    let threshold = Quantity(Bytes::new(long.threshold_bytes));
    if long.from == From::Given {
        let half = Quantity(Bytes::new(most.0.get() / 2));
        return format!(
            "probe.blame-threshold = {threshold} is more than can wait for {port} from one link, {most}: a port that one link fills is \
             no root to the ground truth, and its flows are no culprits; write \"auto\", or at most {half}"
        );
    }
    format!(
        "the ground truth has no sound threshold for {port}: what came by one link may wait there with {most}, and a packet has {packet}; \
         with probe.blame-threshold = \"auto\" (here {threshold}) a port that one link fills may be no root; give switches more memory"
    )
}

impl Memory<'_> {
    /// What may wait for an egress port of a switch with so many ports, of what came by one link, whatever else waits in the switch:
    /// beyond that the link is held back, or packets are lost.
    fn most(&self, settings: &Settings, node: u32, ports: usize) -> Bytes {
        let switch = &settings.switch;
        if is_combined(settings) {
            // Isolation or not, so that both can be compared: the smallest part of an egress region that a class has.
            let classes = u64::from(self.lanes.used.count_ones().max(1));
            let share = combined::part(switch.combined.egress.0, 1, classes);
            return share.min(isolation::least_cap(settings));
        }
        if let Some(credits) = self.credits {
            return credits.buffer;
        }
        if let Some(pfc) = self.pfc {
            let held = pfc.thresholds[node as usize].iter().map(|threshold| held(threshold, ports));
            return held.min().unwrap_or(switch.buffer.0);
        }
        if let Some(queue) = self.trimmed {
            return queue;
        }
        let share = combined::part(switch.buffer.0, 1, (ports as u64).max(1));
        match switch.overflow {
            OnOverflow::Drop if switch.flow_control == FlowControl::None => share.min(switch.port_buffer.0),
            _ => share,
        }
    }
}

/// What an ingress port holds when it is paused. Dynamic thresholds T are least where all n ports hold as much: T = α·(pool − n·T).
fn held(threshold: &Threshold, ports: usize) -> Bytes {
    Bytes::new(match *threshold {
        Threshold::Static { xoff, port_xoff, .. } => xoff.min(port_xoff),
        Threshold::Dynamic { shift, pool, reserve, .. } => reserve + pool / ((1 << shift) + ports as u64),
    })
}
