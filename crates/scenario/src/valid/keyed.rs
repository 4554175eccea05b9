//! Queues of flows or destinations at egress ports, which are held upstream, and windows of destinations: what they need of the traffic.
use backwater_codes::Code;
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::floodgate::FloodgateConfig;
use backwater_control::isolation::{BfcParams, DstPfcParams, FloodgateParams};
use backwater_fabric::{Apart, BfcSpec, DstPfcSpec, FloodgateSpec, PoolOrder, Queueing};
use backwater_topology::Network;

use super::idle::is;
use super::lanes::Lanes;
use super::{Context, mtu};
use crate::document::at;
use crate::settings::{self, IsolationKind, QueueOrder, Settings};

/// Whether switches hold flows or destinations instead of classes.
pub(super) fn holds(settings: &Settings) -> bool {
    matches!(settings.switch.isolation.kind, IsolationKind::Bfc | IsolationKind::DstPfc)
}

/// The same, or have windows for destinations.
pub(super) fn is_on(settings: &Settings) -> bool {
    holds(settings) || settings.switch.isolation.kind == IsolationKind::Floodgate
}

/// Whether what switches hold may wait for each other as classes do: flows share queues; those of destinations follow its tree.
pub(super) fn shares(settings: &Settings, network: Option<&Network>) -> bool {
    let isolation = &settings.switch.isolation;
    let hosts = network.map_or(0, |network| network.hosts().len());
    match isolation.kind {
        IsolationKind::Bfc => true,
        IsolationKind::Floodgate => usize::from(isolation.floodgate.voqs) < hosts,
        _ => false,
    }
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
    let (kind, bfc, dst_pfc, floodgate) =
        (isolation.kind, isolation.bfc, isolation.dst_pfc, isolation.floodgate);
    if kind == IsolationKind::Floodgate {
        return Some(Queueing::Floodgate(windows(context, network, floodgate)));
    }
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
    few_hosts(context, network, "each egress port has a queue for each");
    let apart = match given.apart {
        settings::Apart::Always => Apart::Always,
        settings::Apart::Held => Apart::Held,
    };
    let thresholds = Thresholds { high: thousandths(given.high), low: thousandths(given.low) };
    DstPfcSpec { apart, thresholds, first_packets: given.first_packets, frame: given.frame.0 }
}

fn thousandths(hops: f64) -> u32 {
    (hops * 1000.0).round() as u32
}

/// Destinations have numbers of 16 bits.
fn few_hosts(context: &mut Context<'_>, network: &Network, what: &str) {
    let hosts = network.hosts().len();
    if hosts > MOST_HOSTS {
        context.report(
            &at!["switch", "isolation", "kind"],
            format!("{what} of {hosts} hosts"),
            format!("allowed: {MOST_HOSTS} hosts"),
            "choose kind = \"bfc\", or a smaller network",
        );
    }
}

/// Windows between switches, of which each must hold a packet.
fn windows(context: &mut Context<'_>, network: &Network, given: FloodgateParams) -> FloodgateSpec {
    few_hosts(context, network, "each switch has a window for each");
    let rules = FloodgateConfig {
        window: thousandths(given.window),
        interval: given.interval.0,
        count: given.count.0.get(),
        delay: thousandths(given.delay),
    };
    let packet = mtu(context.settings);
    let switches = (0..network.nodes().len() as u32).filter(|node| network.is_switch(*node));
    let links = switches.flat_map(|node| (0u16..).zip(network.ports(node)).map(move |port| (node, port)));
    let between = links.filter(|(_, (_, link))| network.is_switch(link.peer));
    let least =
        between.map(|(node, (port, link))| (rules.window(link.rate, link.delay * 2), node, port)).min();
    if let Some((window, node, port)) = least.filter(|(window, ..)| *window < packet.get()) {
        let interval = given.interval;
        context.report(
            &at!["switch", "isolation", "floodgate", "window"],
            format!(
                "a window of {} round trips and an interval of {interval} is {window} B at {}, and a packet has {packet}: none would ever pass",
                given.window,
                network.port_name(node, port)
            ),
            format!("allowed: windows of {packet} or more"),
            "write a larger window or, with count above 1B, a longer interval",
        );
    }
    FloodgateSpec { rules, voqs: given.voqs, frame: given.frame.0, entry: given.entry.0 }
}
