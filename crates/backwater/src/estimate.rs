//! What a scenario will take, from arithmetic alone: the estimate before a run, and the files that it depends on.
use crate::collectives::Collectives;
use crate::error::Error;
use crate::tables;
use backwater_fabric::{Sizes, Spec, sizes};
use backwater_probe::Plan;
use backwater_scenario::{Scenario, ScenarioError, ValidScenario};
use backwater_traffic::{Flow, Pacing};
use backwater_units::{Bytes, Rate, Time};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Flows whose ways are looked up; of more of them, evenly chosen ones stand for all.
const SAMPLED: usize = 4096;
/// Picoseconds of a second, and bits of a byte.
const SECOND_PS: f64 = 1e12;
const BITS: f64 = 8.0;
/// Bytes of an empty run, mostly buffers of its tables; of a flow with its queue pair; of a stream of PUTs, one for each pair of hosts;
/// of a row that waits to be written. Measured; rows are written away in groups, so that no more than so many wait.
const EMPTY_BYTES: f64 = 11e6;
/// Lists grow to twice their length when they are full: between one and two times what they have to hold.
const GROWN: f64 = 1.5;
const FLOW_BYTES: f64 = 900.0;
/// Of a flow, what every process lists of it: where it begins and ends, and its places there.
const LISTED_BYTES: f64 = (size_of::<Flow>() + 6 * size_of::<u32>()) as f64;
const STREAM_BYTES: f64 = 25e3;
const ROW_BYTES: f64 = 100.0;
const MOST_ROWS: f64 = 2e6;
/// Rows that isolation writes for each flow, if it writes any.
const ENTRY_ROWS: f64 = 5.0;

/// Checks a scenario that is only to be asked: of many flows some are made ([`Scenario::outline`]).
///
/// # Errors
/// As [`Run::new`](crate::Run::new).
pub fn outline(scenario: Scenario) -> Result<ValidScenario, ScenarioError> {
    let scenario = scenario.outline()?;
    let collectives = Collectives::new(scenario.settings(), scenario.flows());
    tables::plan(&scenario, scenario.flows().len() as u64, &collectives)?;
    Ok(scenario)
}

/// What a scenario holds and will take. Of an outline ([`Scenario::outline`]) it is told as if all flows had been made, without the
/// time and the memory that making them takes: `scenario` (resolved), `files` (absolute paths of those it names), `caveats`, `hosts`,
/// `switches`, `ports`, `flows`, `ranks`, `until_ps` (null if it ends with its flows), `memory_bytes`, `packets` and
/// `packet_hops` that it will send at most (ranks of programs and what congestion control holds back are not known), `sampled`
/// (rows of sampled tables), `limit` (of the results, a sentence) and `above_share` (tables whose known rows may take more, before
/// compression, than the budget leaves them: `table`, `bytes`, `share`). The memory is that of each of `processes` that share the run.
///
/// # Errors
/// Results that do not fit what the scenario allows them; more processes than the network has nodes.
pub fn estimate(scenario: &ValidScenario, processes: usize) -> Result<Value, Error> {
    crate::processes::fit(processes, scenario)?;
    let until = scenario.until();
    let files: Vec<String> = scenario.files().iter().map(|file| file.display().to_string()).collect();
    let collectives = Collectives::new(scenario.settings(), scenario.flows());
    let like = Like(scenario.flows_like().to_vec());
    let spec = scenario.spec();
    let flows = like.all(spec);
    let end = until.map_or_else(|| last_end(spec, &like), |until| until.as_ps() as f64);
    let (packets, hops) = work(spec, &like, end);
    let hosts = spec.network.hosts().len();
    let plan = tables::plan(scenario, flows.round() as u64, &collectives)?;
    Ok(json!({
        "scenario": scenario.resolved(),
        "files": files,
        "caveats": scenario.caveats(),
        "hosts": hosts,
        "switches": spec.network.nodes().len() - hosts,
        "ports": spec.network.port_count(),
        "flows": flows.round() as u64,
        "ranks": spec.programs.ranks.len(),
        "until_ps": until.map(Time::as_ps),
        "memory_bytes": memory(spec, &like, until, processes),
        "packets": packets.round(),
        "packet_hops": hops.round(),
        "sampled": sampled(spec, end),
        "limit": plan.to_string(),
        "above_share": above_share(&plan),
    }))
}

fn above_share(plan: &Plan) -> Vec<Value> {
    let above = plan.tables().iter().filter(|table| table.bytes.is_some_and(|bytes| bytes > table.share));
    above
        .map(|table| {
            let bytes = table.bytes.map(Bytes::get);
            json!({"table": table.table.name(), "bytes": bytes, "share": table.share.get()})
        })
        .collect()
}

/// How many flows of each traffic entry one that was made stands for.
pub(crate) struct Like(pub(crate) Vec<f64>);

impl Like {
    fn of(&self, flow: &Flow) -> f64 {
        self.0.get(usize::from(flow.group)).copied().unwrap_or(1.0)
    }

    fn all(&self, spec: &Spec) -> f64 {
        spec.flows.iter().map(|flow| self.of(flow)).sum()
    }
}

/// Bytes that the run will hold at its worst, besides rows of tables of events; of one that several processes share, in each of them. Nodes
/// and what is at them are dealt out, routes and the list of flows are in every process.
pub(crate) fn memory(spec: &Spec, like: &Like, until: Option<Time>, processes: usize) -> f64 {
    let end = until.map_or_else(|| last_end(spec, like), |until| until.as_ps() as f64);
    let (hosts, flows) = (spec.network.hosts().len() as f64, like.all(spec));
    let puts = spec.put_of.iter().any(Option::is_some);
    let streams = if puts { flows.min(hosts * (hosts - 1.0)) } else { 0.0 };
    let entries = if spec.probe.isolation { flows * ENTRY_ROWS } else { 0.0 };
    let waiting = (sampled(spec, end) as f64 + flows + entries).min(MOST_ROWS);
    let dealt = at_nodes(spec, like, end) + flows * (FLOW_BYTES - LISTED_BYTES) + streams * STREAM_BYTES;
    EMPTY_BYTES
        + dealt / processes as f64
        + flows * LISTED_BYTES
        + spec.routes.memory() as f64
        + waiting * ROW_BYTES
}

/// Bytes of the nodes and of the packets that they keep. Lists of what is under way keep what they had at their fullest: the data of a
/// full link and the ACKs for that of the other way, no more than crosses links at all. Each packet waits at one port at a time.
fn at_nodes(spec: &Spec, like: &Like, end: f64) -> f64 {
    let Sizes { at_rest, under_way, waiting, packet } = sizes(spec);
    let (packets, hops) = work(spec, like, end);
    let acks = spec.flows.iter().map(|flow| acks_per_packet(spec, flow)).fold(0.0, f64::max);
    at_rest + ((under_way * (1.0 + acks)).min(hops) + waiting.min(packets)) * packet * GROWN
}

/// Rows of the tables that are written at sampling instants: each port has one for each priority with traffic, each flow one.
fn sampled(spec: &Spec, end: f64) -> u64 {
    let Some(period) = spec.probe.sample else { return 0 };
    let instants = (end / period.as_ps().max(1) as f64) as u64 + 1;
    instants.saturating_mul(spec.probe.ports.len() as u64 + spec.sampled_rates())
}

/// Data packets until `end`, and how many links they and their ACKs cross together.
fn work(spec: &Spec, like: &Like, end: f64) -> (f64, f64) {
    let sizes: Vec<f64> = spec.flows.iter().map(|flow| bytes_until(spec, flow, end)).collect();
    let shares = shares(spec, like, &sizes, end);
    let payload = spec.packet.payload.get() as f64;
    let step = spec.flows.len().div_ceil(SAMPLED).max(1);
    let (mut packets, mut hops) = (0.0, 0.0);
    for (index, flow) in spec.flows.iter().enumerate().step_by(step) {
        let count = (sizes[index] * shares[index] / payload).ceil() * step as f64 * like.of(flow);
        let links = spec.routes.path(&spec.network, flow.src, flow.dst, |_| 0).len() as f64;
        packets += count;
        hops += count * links * (1.0 + acks_per_packet(spec, flow));
    }
    (packets, hops)
}

/// What hosts send or receive: by NICs, and within their servers.
struct Sums(Vec<[f64; 2]>);

impl Sums {
    fn new(spec: &Spec) -> Self {
        Self(vec![[0.0; 2]; spec.network.hosts().len()])
    }

    /// Where what two hosts exchange counts at one of them.
    fn at(&mut self, spec: &Spec, host: u32, other: u32) -> &mut f64 {
        &mut self.0[host as usize][usize::from(is_within(spec, host, other))]
    }
}

/// Whether two hosts are of one server.
fn is_within(spec: &Spec, host: u32, other: u32) -> bool {
    let server = |host: u32| spec.network.server_of(spec.network.hosts()[host as usize]);
    server(host).is_some() && server(host) == server(other)
}

/// What the links of a host carry by NICs, or within its server, in bytes per picosecond.
fn line(spec: &Spec, host: u32, within: bool) -> f64 {
    let ports = spec.network.nics(host).iter().filter(|port| spec.network.is_scale_up(port.peer) == within);
    ports.map(|port| port.rate.as_bps() as f64).sum::<f64>() / BITS / SECOND_PS
}

/// What a flow can have sent by `end`, alone on its link and as fast as its application makes it.
fn bytes_until(spec: &Spec, flow: &Flow, end: f64) -> f64 {
    let bytes_per_ps = |rate: Rate| rate.as_bps() as f64 / BITS / SECOND_PS;
    let (rate, end) = match flow.pacing {
        Pacing::Constant { rate, .. } => (bytes_per_ps(rate), end),
        Pacing::Supplied { rate, until, .. } => (bytes_per_ps(rate), end.min(until.as_ps() as f64)),
        // What ranks say to each other is known when they say it.
        Pacing::Messages => return 0.0,
        _ => (f64::INFINITY, end),
    };
    let start = if flow.start == Time::MAX { 0.0 } else { flow.start.as_ps() as f64 };
    let most = (end - start).max(0.0) * rate.min(line(spec, flow.src, is_within(spec, flow.src, flow.dst)));
    if flow.size == Bytes::MAX { most } else { most.min(flow.size.get() as f64) }
}

/// The part of it that fits the links of its two hosts, which others use too.
fn shares(spec: &Spec, like: &Like, sizes: &[f64], end: f64) -> Vec<f64> {
    let (mut sent, mut received) = (Sums::new(spec), Sums::new(spec));
    for (flow, size) in spec.flows.iter().zip(sizes) {
        *sent.at(spec, flow.src, flow.dst) += size * like.of(flow);
        *received.at(spec, flow.dst, flow.src) += size * like.of(flow);
    }
    let share = |flow: &Flow| {
        let within = is_within(spec, flow.src, flow.dst);
        let fits = |host: u32, bytes: f64| (end * line(spec, host, within) / bytes.max(1.0)).min(1.0);
        fits(flow.src, *sent.at(spec, flow.src, flow.dst))
            .min(fits(flow.dst, *received.at(spec, flow.dst, flow.src)))
    };
    spec.flows.iter().map(share).collect()
}

/// When a run without `until` is over at the earliest: its last flow has started, and the busiest host has got or sent everything.
fn last_end(spec: &Spec, like: &Like) -> f64 {
    let (mut sent, mut received, mut last) = (Sums::new(spec), Sums::new(spec), 0.0_f64);
    let mut first = BTreeMap::new();
    for flow in spec.flows.iter().filter(|flow| flow.size < Bytes::MAX) {
        let bytes = flow.size.get() as f64 * like.of(flow);
        *sent.at(spec, flow.src, flow.dst) += bytes;
        *received.at(spec, flow.dst, flow.src) += bytes;
        if flow.start < Time::MAX {
            // What an outline leaves out of an entry starts later, as evenly as what it has.
            let start = flow.start.as_ps() as f64;
            let first = *first.entry(flow.group).or_insert(start);
            last = last.max(first + (start - first) * like.of(flow));
        }
    }
    let busiest = (0..).zip(sent.0.iter().zip(&received.0)).flat_map(|(host, (sent, received))| {
        [false, true].map(|within| {
            let bytes = sent[usize::from(within)].max(received[usize::from(within)]);
            if bytes > 0.0 { bytes / line(spec, host, within) } else { 0.0 }
        })
    });
    last + busiest.fold(0.0, f64::max)
}

/// PUTs are acknowledged one by one, unless they are lost or their target holds ACKs back.
fn acks_per_packet(spec: &Spec, flow: &Flow) -> f64 {
    if spec.put_of.get(usize::from(flow.group)).copied().flatten().is_some() {
        return 1.0;
    }
    if let Some(kind) = spec.uec_of.get(usize::from(flow.group)).copied().flatten() {
        let mtu = (spec.packet.payload + spec.packet.header).get();
        return 1.0 / (u64::from(spec.uecs[usize::from(kind)].ack_bytes) / mtu.max(1) + 1) as f64;
    }
    let pair = spec.pair_of.get(usize::from(flow.group)).copied().unwrap_or(0);
    let ack = spec.pairs.get(usize::from(pair)).and_then(|pair| pair.ack);
    ack.map_or(0.0, |ack| 1.0 / f64::from(ack.every.max(1)))
}
