//! Queues of flows or destinations at egress ports, which are held upstream, windows of destinations, and pauses of sources: what they need of
//! the traffic.
use backwater_codes::Code;
use backwater_control::isolation::dst_pfc::Thresholds;
use backwater_control::isolation::floodgate::FloodgateConfig;
use backwater_control::isolation::pyrrha::Rules;
use backwater_control::isolation::recn::{Aside, RecnConfig};
use backwater_control::isolation::sfc::SfcConfig;
use backwater_control::isolation::{BfcParams, DstPfcParams, FloodgateParams, PyrrhaParams, SfcParams};
use backwater_fabric::{
    Apart, BfcSpec, DstPfcSpec, FloodgateSpec, Pace, Pauses, PoolOrder, PyrrhaSpec, Queueing, RecnSpec,
    SfcSpec,
};
use backwater_topology::Network;

use super::idle::is;
use super::lanes::Lanes;
use super::{Context, mtu};
use crate::document::at;
use crate::settings::{self, IsolationKind, QueueOrder, RootMatch, RootPace, Settings};

/// Whether switches hold flows or destinations instead of classes, or sources beside them.
pub(super) fn holds(settings: &Settings) -> bool {
    let kind = settings.switch.isolation.kind;
    kind.sets_aside()
        || matches!(
            kind,
            IsolationKind::Bfc | IsolationKind::DstPfc | IsolationKind::Pyrrha | IsolationKind::Sfc
        )
}

/// Whether switches do so beside the flow control of links, and know nothing of each other that a fault could break.
pub(super) fn is_beside(settings: &Settings) -> bool {
    settings.switch.isolation.kind == IsolationKind::Sfc
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
        // A root for which no queue is left closes a whole port.
        IsolationKind::Pyrrha => usize::from(isolation.pyrrha.queues) < hosts,
        // The keys of RECN are egress ports of switches.
        IsolationKind::Recn => usize::from(isolation.recn.queues) < network.map_or(0, egress_ports),
        kind if kind.sets_aside() => {
            let range = range_of(settings) as usize;
            usize::from(isolation.recn.queues) < hosts.div_ceil(range)
                || network.is_some_and(|network| spreads(network, range))
        }
        _ => false,
    }
}

/// How many egress ports the switches have.
fn egress_ports(network: &Network) -> usize {
    let switches = (0..network.nodes().len() as u32).filter(|node| network.is_switch(*node));
    switches.map(|node| network.ports(node).len()).sum()
}

/// Whether a range of so many hosts has some below different switches: they share a queue, and it follows the tree of none.
fn spreads(network: &Network, range: usize) -> bool {
    let above = |host: &u32| network.ports(*host).first().map(|port| port.peer);
    network.hosts().chunks(range).any(|hosts| hosts.iter().any(|host| above(host) != above(&hosts[0])))
}

/// How many destinations have a set-aside queue in common.
fn range_of(settings: &Settings) -> u32 {
    let isolation = &settings.switch.isolation;
    if isolation.kind == IsolationKind::Drbcm { isolation.drbcm.range } else { 1 }
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
    let (kind, bfc, dst_pfc, floodgate, pyrrha) =
        (isolation.kind, isolation.bfc, isolation.dst_pfc, isolation.floodgate, isolation.pyrrha);
    let sfc = isolation.sfc;
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
        IsolationKind::Pyrrha => Queueing::Pyrrha(of_roots(context, network, pyrrha)),
        kind if kind.sets_aside() => Queueing::Recn(set_aside(context, network)),
        IsolationKind::Sfc => Queueing::Sfc(of_sources(context, sfc)),
        _ => Queueing::Bfc(of_flows(bfc)),
    })
}

fn of_sources(context: &mut Context<'_>, given: SfcParams) -> SfcSpec {
    let (threshold, target) = (given.threshold.0, given.target.0);
    if target >= threshold {
        context.report(
            &at!["switch", "isolation", "sfc", "target"],
            format!("a pause begins above {threshold} and is to last until {target} are left"),
            "below threshold",
            "write a target of less than threshold, such as half of it",
        );
    }
    let pauses = match given.pauses {
        settings::Pauses::Priority => Pauses::Priority,
        settings::Pauses::Flow => Pauses::Flow,
    };
    SfcSpec { rules: SfcConfig { threshold, target }, pauses, cache: given.cache, frame: given.frame.0 }
}

fn of_flows(bfc: BfcParams) -> BfcSpec {
    BfcSpec { queues: bfc.queues, sticky: bfc.sticky, order: order(bfc.order), frame: bfc.frame.0 }
}

fn order(given: QueueOrder) -> PoolOrder {
    match given {
        QueueOrder::RoundRobin => PoolOrder::RoundRobin,
        QueueOrder::LowestFirst => PoolOrder::LowestFirst,
    }
}

fn set_aside(context: &mut Context<'_>, network: &Network) -> RecnSpec {
    let isolation = &context.settings.switch.isolation;
    let (kind, given) = (isolation.kind, isolation.recn);
    let thresholds = thresholds(context, ("recn", "root"), given.high, given.low);
    if given.notify > given.high {
        context.report(
            &at!["switch", "isolation", "recn", "notify"],
            format!("packets are set aside from {} hops on, and held from {} on", given.notify, given.high),
            "above high",
            "write notify at most as large as high",
        );
    }
    let aside = if kind == IsolationKind::Recn {
        Aside::Root
    } else {
        few_hosts(context, network, "a switch may have a queue for each");
        Aside::Destinations(range_of(context.settings))
    };
    holds_packets(context, network, given.low);
    let rules = RecnConfig {
        detect: thousandths(given.detect),
        notify: thousandths(given.notify),
        thresholds,
        aside,
        marks_roots: kind == IsolationKind::Ccfit,
    };
    RecnSpec { queues: given.queues, rules, order: order(given.order), frame: given.frame.0 }
}

/// What is let go at less than a packet is let go when nothing is left.
fn holds_packets(context: &mut Context<'_>, network: &Network, low: f64) {
    let packet = mtu(context.settings);
    let hops = (0..network.nodes().len() as u32).filter(|node| network.is_switch(*node)).filter_map(|node| {
        let ports = || (0u16..).zip(network.ports(node));
        let (out, slowest) = ports().min_by_key(|(_, port)| port.rate)?;
        let nearest = ports().filter(|(port, _)| *port != out).map(|(_, port)| port.delay).min()?;
        Some((slowest.rate.bytes_in(nearest * 2).get(), node, out))
    });
    let Some((hop, node, out)) = hops.min() else { return };
    let bytes = low * hop as f64;
    if low >= 1.0 && bytes < packet.get() as f64 {
        context.caveat(
            Code::HoldsTooLong,
            "switch.isolation.recn.low",
            format!(
                "switch.isolation.recn.low = {low}: {bytes} B at {}, less than a packet of {packet}; what is let go there has nothing left, and its \
                 link idles",
                network.port_name(node, out)
            ),
        );
    }
}

/// From which length on a queue holds something, and at which it lets it go, in hops.
fn thresholds(
    context: &mut Context<'_>,
    (kind, what): (&'static str, &str),
    high: f64,
    low: f64,
) -> Thresholds {
    if low > high {
        context.report(
            &at!["switch", "isolation", kind, "low"],
            format!("a queue lets its {what} go at {low} hops, and holds it only above {high}"),
            "above high",
            "write low at most as large as high",
        );
    }
    if low < 1.0 {
        context.caveat(
            Code::HoldsTooLong,
            format!("switch.isolation.{kind}.low"),
            format!(
                "switch.isolation.{kind}.low = {low}: a queue that lets its {what} go at less than 1 hop is empty before more can come, and its \
                 link idles"
            ),
        );
    }
    Thresholds { high: thousandths(high), low: thousandths(low) }
}

fn of_roots(context: &mut Context<'_>, network: &Network, given: PyrrhaParams) -> PyrrhaSpec {
    let thresholds = thresholds(context, ("pyrrha", "root"), given.high, given.low);
    let tiers = network.tiers();
    let uplinks = |node: u32| {
        let ports = network.ports(node).iter();
        ports.filter(|port| tiers[port.peer as usize] > tiers[node as usize]).count()
    };
    let never = |node: &u32| {
        let count = uplinks(*node);
        network.is_switch(*node) && count > 0 && (given.only_down || count as f64 <= given.hol)
    };
    if let Some(node) = (0..network.nodes().len() as u32).find(never) {
        let (name, count) = (network.name(node), uplinks(node));
        let why = if given.only_down {
            "only-down = true".to_owned()
        } else {
            format!("hol = {}, which none of {count} reaches", given.hol)
        };
        context.caveat(
            Code::UplinksNotHeld,
            "switch.isolation.pyrrha",
            format!("no port of {name} to a higher tier is ever a root (switch.isolation.pyrrha.{why}): nothing is held for their sake"),
        );
    }
    let rules = Rules {
        thresholds,
        hol: (given.hol * 1000.0).round() as u32,
        only_down: given.only_down,
        merge: given.merge,
        nearest: given.r#match == RootMatch::Nearest,
    };
    let pace = match given.pace {
        RootPace::OwnPort => Pace::OwnPort,
        RootPace::LastPort => Pace::LastPort,
    };
    PyrrhaSpec { queues: given.queues, rules, pace, frame: given.frame.0 }
}

fn of_destinations(context: &mut Context<'_>, network: &Network, given: DstPfcParams) -> DstPfcSpec {
    let thresholds = thresholds(context, ("dst-pfc", "destination"), given.high, given.low);
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
