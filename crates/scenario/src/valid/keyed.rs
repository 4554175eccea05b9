//! Queues of flows or destinations at egress ports, which are held upstream: what they need of the traffic.
use backwater_codes::Code;
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::{BfcParams, DstPfcParams};
use backwater_fabric::{Apart, BfcSpec, DstPfcSpec, PoolOrder, Queueing};
use backwater_topology::Network;

use super::Context;
use super::idle::is;
use super::lanes::Lanes;
use crate::document::at;
use crate::settings::{self, IsolationKind, QueueOrder, Settings};

/// Whether switches hold flows or destinations instead of classes.
pub(super) fn is_on(settings: &Settings) -> bool {
    matches!(settings.switch.isolation.kind, IsolationKind::Bfc | IsolationKind::DstPfc)
}

/// Classes that a NIC has beside the one in which what is held waits.
const MOST: u32 = 7;
/// Destinations whose queues have a number.
const MOST_HOSTS: usize = 65_000;

/// The queues; `None`: each egress port has one for each priority.
pub(super) fn queueing(context: &mut Context<'_>, network: &Network, lanes: &Lanes) -> Option<Queueing> {
    if !is_on(context.settings) {
        return None;
    }
    let isolation = &context.settings.switch.isolation;
    let (kind, bfc, dst_pfc) = (isolation.kind, isolation.bfc, isolation.dst_pfc);
    let control = 1 << context.settings.switch.control_priority;
    let used = (lanes.used | control).count_ones();
    if used > MOST {
        let kind = is("switch.isolation.kind", kind);
        let message =
            format!("{kind} keeps what is held apart at NICs, and {used} priorities leave no room for that");
        let help = "put some of the traffic on the same priority";
        context.report(
            &at!["switch", "isolation", "kind"],
            message,
            format!("allowed: {MOST} priorities"),
            help,
        );
    }
    Some(match kind {
        IsolationKind::DstPfc => Queueing::DstPfc(of_destinations(context, network, dst_pfc)),
        _ => Queueing::Bfc(of_flows(bfc)),
    })
}

fn of_flows(bfc: BfcParams) -> BfcSpec {
    let order = match bfc.order {
        QueueOrder::RoundRobin => PoolOrder::RoundRobin,
        QueueOrder::LowestFirst => PoolOrder::LowestFirst,
    };
    BfcSpec { queues: bfc.queues, sticky: bfc.sticky, order, frame: bfc.frame.0 }
}

fn of_destinations(context: &mut Context<'_>, network: &Network, given: DstPfcParams) -> DstPfcSpec {
    if given.low > given.high {
        let (low, high) = (given.low, given.high);
        context.report(
            &at!["switch", "isolation", "dst-pfc", "low"],
            format!("a queue lets its destination go at {low} hops, and holds it only above {high}"),
            "above high",
            "write low at most as large as high",
        );
    }
    if given.low < 1.0 {
        let low = given.low;
        context.caveat(
            Code::HoldsTooLong,
            "switch.isolation.dst-pfc.low",
            format!(
                "switch.isolation.dst-pfc.low = {low}: a queue that lets its destination go at less than 1 hop is empty before more can come, and its \
                 link idles"
            ),
        );
    }
    if given.first_packets
        && given.apart == settings::Apart::Always
        && !context.scenario.of_profile(&at!["switch", "isolation", "dst-pfc", "first-packets"])
    {
        context.caveat(
            Code::NoEffect,
            "switch.isolation.dst-pfc.first-packets",
            "without effect with apart = \"always\": switch.isolation.dst-pfc.{first-packets}",
        );
    }
    let hosts = network.hosts().len();
    if hosts > MOST_HOSTS {
        context.report(
            &at!["switch", "isolation", "kind"],
            format!("each egress port has a queue for each of {hosts} hosts"),
            format!("allowed: {MOST_HOSTS} hosts"),
            "choose kind = \"bfc\", or a smaller network",
        );
    }
    let apart = match given.apart {
        settings::Apart::Always => Apart::Always,
        settings::Apart::Held => Apart::Held,
    };
    let thousandths = |hops: f64| (hops * 1000.0).round() as u32;
    let thresholds = Thresholds { high: thousandths(given.high), low: thousandths(given.low) };
    DstPfcSpec { apart, thresholds, first_packets: given.first_packets, frame: given.frame.0 }
}
