//! When slow hosts pause their switch, so that what still arrives fits their receive queue.
use backwater_control::flow_control::{Threshold, headroom};
use backwater_topology::{Network, Port};
use backwater_traffic::Flow;
use backwater_units::{Bytes, Span};

use crate::document::at;
use crate::quantity::Quantity;
use crate::settings::{AutoOr, FlowControl};
use crate::valid::lanes::Lanes;
use crate::valid::{Context, isolation, mtu};

/// The thresholds of the hosts `slow`, in their order, of each port; `None` where there is no PFC. Thresholds that leave too little room at one that
/// receives something are reported.
pub(super) fn thresholds(
    context: &mut Context<'_>,
    network: &Network,
    slow: &[u32],
    flows: &[Flow],
    lanes: &Lanes,
) -> Vec<Option<Vec<Threshold>>> {
    let settings = context.settings;
    if settings.switch.flow_control != FlowControl::Pfc {
        return vec![None; slow.len()];
    }
    let lossless = settings.switch.pfc.priorities.iter().fold(0u8, |set, priority| set | 1 << priority);
    let mut used = lanes.used;
    if isolation::is_on(settings) {
        // Packets of one flow come in either class.
        let (monitored, congested) = isolation::priorities(settings);
        used |= 1 << monitored | 1 << congested;
    }
    let classes = u64::from((used & lossless).count_ones()).max(1);
    let mut receives = vec![false; network.hosts().len()];
    for flow in flows.iter().filter(|flow| lossless & (1 << flow.priority) != 0) {
        receives[flow.dst as usize] = true;
    }
    let busy: Vec<u32> = slow.iter().copied().filter(|&host| receives[host as usize]).collect();
    if let Some((name, need)) = worst(context, network, &busy) {
        fits(context, &name, need, classes);
    }
    let of_port = |port| threshold(context, needed(context, port), classes);
    slow.iter().map(|&host| Some(network.nics(host).iter().map(of_port).collect())).collect()
}

/// What a host may have to hold beyond Xoff: the packet that crosses it, which counts when it has come in, and what arrives after
/// the PAUSE was decided.
fn needed(context: &Context<'_>, port: &Port) -> Bytes {
    let (packet, frame) = (mtu(context.settings), context.settings.switch.pfc.frame.0);
    packet + headroom(port.rate, port.delay, packet, frame, Span::ZERO).bytes
}

/// The host that may have to hold the most of one port beyond Xoff, and how much.
fn worst(context: &Context<'_>, network: &Network, hosts: &[u32]) -> Option<(String, Bytes)> {
    let needs = |host: &u32| {
        let node = network.hosts()[*host as usize];
        network.nics(*host).iter().map(move |port| (node, needed(context, port)))
    };
    let worst =
        hosts.iter().flat_map(needs).reduce(|worst, other| if other.1 > worst.1 { other } else { worst });
    worst.map(|(node, need)| (network.name(node).to_owned(), need))
}

/// Xoff and Xon of a host that may have to hold `need` beyond Xoff.
fn levels(context: &Context<'_>, need: Bytes, classes: u64) -> (Bytes, Bytes) {
    let host = &context.settings.host;
    let share = Bytes::new(host.queue.0.get() / classes);
    let xoff = match host.pfc.xoff {
        AutoOr::Given(given) => given.0,
        AutoOr::Auto => share.saturating_sub(need),
    };
    let xon = match host.pfc.xon {
        AutoOr::Given(given) => given.0,
        AutoOr::Auto => xoff.saturating_sub(mtu(context.settings) * 2),
    };
    (xoff, xon)
}

fn threshold(context: &Context<'_>, need: Bytes, classes: u64) -> Threshold {
    let (xoff, xon) = levels(context, need, classes);
    Threshold::Static {
        xoff: xoff.get(),
        xon: xon.get(),
        port_xoff: u64::MAX,
        port_xon: u64::MAX,
        buffer: context.settings.host.queue.0.get(),
    }
}

/// The queue holds Xoff and what still arrives, of every class.
fn fits(context: &mut Context<'_>, name: &str, need: Bytes, classes: u64) {
    let (host, (xoff, xon)) = (&context.settings.host, levels(context, need, classes));
    if xon > xoff {
        let (xoff, xon) = (Quantity(xoff), Quantity(xon));
        let message = format!("host.pfc.xon = {xon} is above host.pfc.xoff = {xoff}");
        let label = format!("allowed: at most {xoff}");
        context.report(&at!["host", "pfc", "xon"], message, label, "lower xon or raise xoff");
    }
    let auto = matches!(host.pfc.xoff, AutoOr::Auto);
    // With Xoff = auto there must be something to pause at.
    let least = if auto { mtu(context.settings) } else { xoff };
    let whole = (least + need) * classes;
    if whole <= host.queue.0 {
        return;
    }
    let (queue, need, whole) = (host.queue, Quantity(need), Quantity(whole));
    let message = format!(
        "the receive queue of {name} has no headroom: it may have to hold {whole}, and host.queue is {queue}"
    );
    let what = if auto { "a packet".to_owned() } else { format!("xoff {}", Quantity(xoff)) };
    let instead = if auto { "shorten the link (the delay of the topology)" } else { "lower host.pfc.xoff" };
    let help = format!(
        "{classes} (priorities in use) · ({what} + {need} that may come beyond it) = {whole}; raise host.queue, or {instead}"
    );
    let key = if auto { at!["host", "queue"].to_vec() } else { at!["host", "pfc", "xoff"].to_vec() };
    context.report(&key, message, format!("host.queue must be at least {whole}"), help);
}
