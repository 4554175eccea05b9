//! Hosts that are slower than their links: which they are, how fast they drain their receive queues, when they pause their switch.
mod pause;
mod trace;

use backwater_codes::Code;
use backwater_fabric::{DrainSpec, EndpointSpec, NicCosts, NicScheduler, NicSpec, PortRule};
use backwater_topology::Network;
use backwater_traffic::Flow;
use backwater_units::{Bytes, Rate, Span};

use super::lanes::Lanes;
use super::{Context, has_pairs, mtu, reliability};
use crate::document::at;
use crate::quantity::Quantity;
use crate::settings::{self, FlowControl, NicAcks, Pattern, ReliabilityKind, Settings, Workload};

/// Whether there are slow hosts.
pub(super) fn is_slow(settings: &Settings) -> bool {
    let host = &settings.host;
    host.drain.given().is_some() || matches!(host.pattern, Pattern::Trace { .. })
}

/// How NICs serve what they have to send.
pub(super) fn nic(settings: &Settings) -> NicSpec {
    NicSpec {
        scheduler: match settings.host.nic.scheduler {
            settings::NicScheduler::RoundRobin => NicScheduler::RoundRobin,
            settings::NicScheduler::LongestDue => NicScheduler::LongestDue,
        },
        port: match settings.host.nic.port {
            settings::NicPort::Hash => PortRule::Hash,
            settings::NicPort::Rail => PortRule::Rail,
            settings::NicPort::Plane => PortRule::Plane,
            settings::NicPort::Spray => PortRule::Spray,
        },
        acks_ignore_pause: settings.host.nic.acks == NicAcks::Unpaused
            && settings.switch.flow_control == FlowControl::Pfc,
        costs: costs(&settings.host.nic),
    }
}

/// What they take their time for, if for anything.
fn costs(nic: &settings::Nic) -> Option<NicCosts> {
    let bytes = nic.start_bytes.0;
    let costs = NicCosts {
        post: nic.post_delay.0,
        gap: nic.message_gap.0,
        interval: nic.message_interval.0,
        start: nic.start_rate.given().filter(|_| bytes > Bytes::ZERO).map(|rate| (bytes, rate.0)),
        cnp: nic.cnp_delay.0,
    };
    Some(costs).filter(|costs| *costs != NicCosts::default())
}

/// How many messages of a queue pair are under way, by traffic entry; empty if none has more than one.
pub(super) fn depths(settings: &Settings) -> Vec<u32> {
    let depth = |entry: &settings::Traffic| match entry.workload {
        Workload::ClosedLoop { depth, .. } => depth,
        _ => 1,
    };
    let depths: Vec<u32> = settings.traffic.iter().map(depth).collect();
    if depths.iter().all(|depth| *depth == 1) { Vec::new() } else { depths }
}

/// The receive queue of each host, by host index; what is wrong with them is reported.
pub(super) fn endpoints(
    context: &mut Context<'_>,
    network: &Network,
    flows: &[Flow],
    lanes: &Lanes,
) -> Option<Vec<Option<EndpointSpec>>> {
    let settings = context.settings;
    let (host, before) = (&settings.host, context.problems.len());
    let slow = context.hosts(network, &at!["host", "of"], &host.of);
    let drain = drain(context);
    if !is_slow(settings) {
        return (context.problems.len() == before).then(Vec::new);
    }
    let slow = slow?.list;
    let queue_pairs = queue_pairs(settings, network, flows);
    let busy: Vec<u32> = slow.iter().copied().filter(|&host| queue_pairs[host as usize]).collect();
    holds_a_packet(context);
    unguarded(context, network, &busy);
    faster_than_links(context, network, &slow);
    let mut specs = vec![None; network.hosts().len()];
    let pauses = pause::thresholds(context, network, &slow, flows, lanes);
    for (index, pfc) in slow.into_iter().zip(pauses) {
        let (depth, drain) = (host.queue.0, drain.clone()?);
        let cached = Some(host.cached.0).filter(|cached| *cached > Bytes::ZERO);
        specs[index as usize] = Some(EndpointSpec { depth, drain, cached, pfc });
    }
    (context.problems.len() == before).then_some(specs)
}

/// How fast; `None` if hosts are not slow, or if something is wrong, which is reported.
fn drain(context: &mut Context<'_>) -> Option<DrainSpec> {
    let host = &context.settings.host;
    let given = host.drain.given();
    match &host.pattern {
        Pattern::Constant {} => given.map(|rate| DrainSpec::Constant(rate.0)),
        Pattern::Trace { file } => trace::read(context, file).map(DrainSpec::Trace),
        Pattern::OnOff { low, high_for, low_for, sigma } => {
            let Some(high) = given else {
                let message = "host.pattern.kind = \"on-off\" needs a rate to go down from, and host.drain is unlimited";
                let help =
                    "write host.drain = \"102.4Gbps\", or whatever the hosts drain while they are fast";
                context.report(&at!["host", "pattern"], message.to_owned(), "host.drain is missing", help);
                return None;
            };
            if low.0 >= high.0 {
                let message =
                    format!("host.pattern.low = {low} is not below host.drain = {high}, the higher rate");
                let help = "lower host.pattern.low, or raise host.drain";
                let label = format!("allowed: 0bps up to less than {high}");
                context.report(&at!["host", "pattern", "low"], message, label, help);
            }
            let sigma = Some(*sigma).filter(|&sigma| sigma > 0.0);
            let (high_for, low_for) = (high_for.0, low_for.0);
            Some(DrainSpec::OnOff { high: high.0, low: low.0, high_for, low_for, sigma })
        }
    }
}

/// Whether queue pairs that must not lose anything end at each host.
fn queue_pairs(settings: &Settings, network: &Network, flows: &[Flow]) -> Vec<bool> {
    let mut found = vec![false; network.hosts().len()];
    let loses = |flow: &&Flow| {
        let entry = usize::from(flow.group);
        !has_pairs(settings, entry) || reliability::of(settings, entry) != ReliabilityKind::None
    };
    for flow in flows.iter().filter(|flow| !loses(flow)) {
        found[flow.dst as usize] = true;
    }
    found
}

/// A queue that is shorter than a packet takes none.
fn holds_a_packet(context: &mut Context<'_>) {
    let settings = context.settings;
    let (queue, packet) = (settings.host.queue, Quantity(mtu(settings)));
    if settings.switch.flow_control != FlowControl::Credits && queue < packet {
        let message = format!(
            "host.queue = {queue} holds no packet: one has {packet} on the wire, and would never be accepted"
        );
        let help =
            "raise host.queue, or lower packet.payload; the EC paper has 81 KB for packets of up to 8 KB";
        context.report(&at!["host", "queue"], message, format!("at least {packet}"), help);
    }
}

/// What keeps the receive queues of queue pairs from overflowing.
fn unguarded(context: &mut Context<'_>, network: &Network, busy: &[u32]) {
    let (FlowControl::None, Some(&host)) = (context.settings.switch.flow_control, busy.first()) else {
        return;
    };
    let name = network.name(network.hosts()[host as usize]);
    context.caveat(Code::HostNotGuarded, "switch.flow-control", format!(
        "switch.flow-control = \"none\": nothing keeps the receive queue of {name} from overflowing, and what queue pairs send is not \
         sent again; a full queue stops the run"
    ));
}

/// A drain that is always faster than the link has no queue: worth a word, as `unlimited` says the same.
fn faster_than_links(context: &mut Context<'_>, network: &Network, slow: &[u32]) {
    let (Pattern::Constant {}, Some(drain)) =
        (&context.settings.host.pattern, context.settings.host.drain.given())
    else {
        return;
    };
    let rate_of = |&host: &u32| network.nics(host).iter().map(|nic| nic.rate.as_bps()).sum();
    let Some(fastest) = slow.iter().map(rate_of).max().map(Rate::from_bps) else { return };
    if drain.0 > fastest {
        context.caveat(Code::DrainTooFast, "host.drain", format!(
            "host.drain = {drain} is more than the links of any of these hosts bring, {}: no more than a packet ever waits there, as \
             with \"unlimited\"",
            Quantity(fastest)
        ));
    }
}

/// How long a packet may stand in a receive queue before only `above` bytes are there, if the rate is always the same and not 0.
pub(super) fn longest_wait(settings: &Settings, above: Bytes) -> Option<Span> {
    let host = &settings.host;
    let rate = match &host.pattern {
        Pattern::Constant {} => host.drain.given()?.0,
        Pattern::OnOff { .. } | Pattern::Trace { .. } => return None,
    };
    (rate > Rate::ZERO).then(|| rate.serialize(host.queue.0.saturating_sub(above)))
}
