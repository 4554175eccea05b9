//! The flows of all traffic entries.
use backwater_codes::Code;
use backwater_fabric::LONGEST_RUN;
use backwater_topology::Network;
use backwater_traffic::program::Rank;
use backwater_traffic::{Flow, Group, MAX_PACKETS, Pacing, connect, trace};
use backwater_units::{Bytes, Time};

use super::put::{Puts, is_put, streams};
use super::{Context, reliability, workload};
use crate::document::at;
use crate::quantity::Quantity;
use crate::settings::{
    BaleKernel, Connection, Control, PeerOrder, Rack, Settings, Shape, Traffic, Transport, Workload,
};

/// Priority of entries that give none: that of the flow files of the TCD authors and of the HPCC simulator.
pub(super) const PRIORITY: u8 = 3;

/// What waits at a source of a supply that gives no limit.
const BACKLOG: Quantity<Bytes> = Quantity(Bytes::new(256 * 1024));

/// Most flows of one run: 64 B each, 1.3 GB.
pub(super) const MOST_FLOWS: u64 = 20_000_000;

/// The last instant at which a flow may start.
const LATEST_START: Time = Time::from_ps(LONGEST_RUN.as_ps() - 1);

/// Writes out an entry's defaults.
pub(super) fn fill(entry: &mut Traffic, shape: &Shape) {
    let fat_tree = matches!(shape, Shape::FatTree { .. });
    if !matches!(entry.workload, Workload::HpccFlows { .. }) {
        entry.priority.get_or_insert(PRIORITY);
    }
    let pairs = !matches!(entry.transport, Some(Transport::Put | Transport::Uec));
    if !matches!(entry.workload, Workload::Constant { .. }) && pairs {
        entry.control.get_or_insert(Control::Cc);
    }
    let mixed = matches!(entry.workload, Workload::MpiIo { .. } | Workload::ClosedLoop { .. });
    if entry.workload.repeats() && pairs {
        entry.connection.get_or_insert(if mixed { Connection::Pair } else { Connection::Message });
    }
    match &mut entry.workload {
        Workload::Bale { kernel: BaleKernel::AllToAll, updates, order, .. } => {
            updates.get_or_insert(1);
            order.get_or_insert(PeerOrder::Rotated);
        }
        Workload::MpiIo { rack, .. } => {
            rack.get_or_insert(if fat_tree { Rack::Pod } else { Rack::Edge });
        }
        Workload::Supply { backlog, packets: None, .. } => {
            backlog.get_or_insert(BACKLOG);
        }
        _ => {}
    }
}

/// All flows, in the order in which the run numbers them.
pub(super) fn flows(context: &mut Context<'_>, network: &Network, puts: &Puts) -> Vec<Flow> {
    let settings = context.settings;
    names(context);
    let (mut flows, mut steps) = (Vec::new(), Vec::new());
    let mut connections = 0;
    if announces_too_many(context) {
        return flows;
    }
    for (index, entry) in settings.traffic.iter().enumerate() {
        let group = Group {
            id: index as u16,
            priority: entry.priority.unwrap_or(PRIORITY),
            pacing: match entry.control {
                Some(Control::LineRate) => Pacing::LineRate,
                Some(Control::Cc) | None => Pacing::Controlled,
            },
            start: Time::from_ps(entry.start.0.as_ps()),
        };
        let before = context.problems.len();
        let channels = context.programs.channels.len();
        let mut own = workload::flows(context, network, index, &group).unwrap_or_default();
        for channel in &mut context.programs.channels[channels..] {
            channel.flow += flows.len() as u32;
        }
        let mut own_steps = std::mem::take(&mut context.steps);
        reliability::complete(settings, index, &mut own_steps);
        if context.problems.len() == before {
            check(context, index, &own);
        }
        if connects(context, index) {
            trace::sort_with(&mut own, &mut own_steps, &mut []);
            connections = connect(&mut own, connections);
        }
        trace::append(&mut steps, own_steps, flows.len() as u32);
        let made = own.len();
        if flows.is_empty() {
            flows = own;
        } else {
            flows.extend(own);
        }
        context.made += made as f64 * context.each_stands_for[index];
        if context.made > MOST_FLOWS as f64 {
            let message = format!("the traffic has {:.0} flows up to here", context.made);
            context.report(
                &at!["traffic", index],
                message,
                format!("at most {MOST_FLOWS} flows in a run"),
                "choose fewer rounds or an earlier end",
            );
            break;
        }
    }
    trace::sort_with(&mut flows, &mut steps, &mut context.programs.channels);
    context.steps = steps;
    streams::connect(context, &mut flows, &puts.of_entry, connections);
    end(context, &flows);
    flows
}

/// Priorities of flows that are injected, which no flow may have before.
pub(super) fn idle(settings: &Settings) -> Vec<u8> {
    let of_injected = settings.traffic.iter().filter(|entry| entry.workload.is_injected());
    of_injected.map(|entry| entry.priority.unwrap_or(PRIORITY)).collect()
}

/// Whether the entries say themselves that they have too many flows together, which is reported at the last of them.
fn announces_too_many(context: &mut Context<'_>) -> bool {
    let announced = |entry: &Traffic| match &entry.workload {
        Workload::Poisson { flows: Some(flows), .. } | Workload::Synchronous { flows: Some(flows), .. } => {
            u64::from(*flows)
        }
        _ => 0,
    };
    let each: Vec<u64> = context.settings.traffic.iter().map(announced).collect();
    let sum: u64 = each.iter().sum();
    // One entry alone is refused where its flows are counted.
    let several = each.iter().filter(|flows| **flows > 0).count() > 1;
    let Some(last) = each.iter().rposition(|flows| *flows > 0).filter(|_| several && sum > MOST_FLOWS) else {
        return false;
    };
    let message = format!("the traffic entries have {sum} flows together");
    let label = format!("at most {MOST_FLOWS} flows in a run");
    context.report(&at!["traffic", last, "flows"], message, label, "choose fewer flows for some of them");
    true
}

/// Whether the messages of an entry share connections; refused where there is but one for each.
fn connects(context: &mut Context<'_>, index: usize) -> bool {
    let entry = &context.settings.traffic[index];
    if is_put(context.settings, index) {
        return false;
    }
    if let (Some(_), true) = (entry.connection, entry.workload.mpi().is_some()) {
        let message = format!("traffic.{}: each rank has one queue pair to each other one", entry.name);
        context.report(&at!["traffic", index, "connection"], message, "not for ranks", "remove this line");
    } else if let (Some(_), false) = (entry.connection, entry.workload.repeats()) {
        let (name, kind) = (&entry.name, entry.workload.kind());
        let message = format!("traffic.{name}: kind = \"{kind}\" has one flow per source and destination");
        let help = "remove this line: each flow has a queue pair of its own";
        context.report(&at!["traffic", index, "connection"], message, "nothing to share", help);
    }
    entry.connection == Some(Connection::Pair)
}

/// Names must be there, distinct, and such that a path in an override can name them.
fn names(context: &mut Context<'_>) {
    let traffic = &context.settings.traffic;
    if traffic.is_empty() && context.settings.job.is_empty() {
        context.report(
            &at!["traffic"],
            "there is no traffic".to_owned(),
            "empty",
            "add a [[traffic]] or a [[job]] entry",
        );
    }
    if traffic.len() > usize::from(u16::MAX) {
        let message = format!("there are {} traffic entries", traffic.len());
        context.report(&at!["traffic"], message, "at most 65535", "use lists and patterns of hosts");
    }
    for (index, entry) in traffic.iter().enumerate() {
        let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let number = entry.name.chars().all(|c| c.is_ascii_digit());
        if !entry.name.chars().all(good) || number {
            let message = format!("{:?} is no name for a traffic entry", entry.name);
            let help = "use letters, digits, - and _, and not digits only";
            context.report(&at!["traffic", index, "name"], message, "not allowed", help);
        }
        if traffic[..index].iter().any(|other| other.name == entry.name) {
            let message = format!("two traffic entries are named {:?}", entry.name);
            context.report(&at!["traffic", index, "name"], message, "the second one", "rename one of them");
        }
    }
}

/// What must hold for the flows of every kind of entry.
fn check(context: &mut Context<'_>, index: usize, flows: &[Flow]) {
    let settings = context.settings;
    let entry = &settings.traffic[index];
    let control = settings.switch.control_priority;
    let idle = entry.workload.is_injected() && entry.priority == Some(control);
    if idle || flows.iter().any(|flow| flow.priority == control) {
        let message =
            format!("{} uses priority {control}, the control priority, which is never paused", entry.name);
        let help = "choose another priority, or another switch.control-priority";
        context.report(&at!["traffic", index, "priority"], message, "never paused", help);
    }
    let payload = settings.packet.payload.0;
    let most = Bytes::new(payload.get().saturating_mul(u64::from(MAX_PACKETS)));
    if let Some(flow) = flows.iter().find(|flow| flow.known_size().is_some_and(|size| size > most)) {
        let size = Quantity(flow.size);
        let message =
            format!("a flow of {} carries {size}, more than 2^31 - 2 packets of {payload}", entry.name);
        let help = format!("give at most {}, or a larger packet.payload", Quantity(most));
        context.report(&at!["traffic", index, "size"], message, "too large", help);
    }
    let ranks = entry.workload.mpi().is_some();
    if flows.is_empty() && !ranks && !entry.workload.is_injected() {
        let message = format!("{} has no flows", entry.name);
        context.report(&at!["traffic", index], message, "no flows", "raise its load, or let it end later");
    }
    start(context, index, flows);
    let until = settings.run.until.map(|until| Time::from_ps(until.0.as_ps()));
    let own = ranks.then(|| Time::from_ps(entry.start.0.as_ps()));
    if let (Some(until), Some(first)) = (until, own.or_else(|| starts(flows).min()))
        && first >= until
    {
        context.caveat(
            Code::StartsLate,
            format!("traffic.{}.start", entry.name),
            format!("{} starts at {first}, when the run is over ({until})", entry.name),
        );
    }
}

/// When flows start, as far as that is known before the run.
fn starts(flows: &[Flow]) -> impl Iterator<Item = Time> {
    flows.iter().map(|flow| flow.start).filter(|start| *start < Time::MAX)
}

/// A flow must start within the longest run. The complaint is at what sets the start of the entry's last flow.
fn start(context: &mut Context<'_>, index: usize, flows: &[Flow]) {
    let entry = &context.settings.traffic[index];
    let Some(last) = starts(flows).max().filter(|&last| last > LATEST_START) else {
        return;
    };
    let key = match entry.workload {
        Workload::Poisson { until: Some(_), .. } | Workload::Synchronous { until: Some(_), .. } => "until",
        Workload::Bursts { .. } | Workload::Synchronous { interval: Some(_), .. } => "interval",
        Workload::Poisson { .. } | Workload::Synchronous { .. } | Workload::MpiIo { load: Some(_), .. } => {
            "load"
        }
        Workload::MpiIo { duration: Some(_), .. } => "duration",
        Workload::HpccFlows { .. } | Workload::Trace { .. } => "file",
        _ => "start",
    };
    let shown = Quantity(last.since(Time::ZERO));
    let message = format!("traffic.{}: a flow starts at {shown}, which no run reaches", entry.name);
    let label = format!("allowed: starts from 0s to {}", Quantity(LATEST_START.since(Time::ZERO)));
    let help = "let the flows start earlier, within 18014s";
    context.report(&at!["traffic", index, key], message, label, help);
}

/// A run must end.
fn end(context: &mut Context<'_>, flows: &[Flow]) {
    let ranks = &context.programs.ranks;
    let nothing = flows.is_empty() && ranks.is_empty();
    let endless = flows.iter().all(Flow::is_endless) && ranks.iter().all(Rank::is_endless);
    if context.settings.run.until.is_none() && !nothing && endless {
        let what = if ranks.is_empty() { "flows" } else { "programs" };
        let message = format!("this run never ends: all {what} are endless and run.until is not given");
        context.report(&at!["run"], message, "until is missing", "add until = \"10ms\" to [run]");
    }
}
