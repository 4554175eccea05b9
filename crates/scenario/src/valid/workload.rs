//! From the kind of a traffic entry to its generator.
mod bale;
pub(super) mod collective;
mod job;
mod mpi_io;
mod poisson;
mod ranks;
mod supply;
mod trace;

use backwater_topology::Network;
use backwater_traffic::generate::{
    Bursts, ClosedLoop, Constant, Incast, LongLived, Message, Permutation, Sizes, Stop, Synchronous,
};
use backwater_traffic::{Cdf, Flow, Group, read};
use backwater_units::{Bytes, Rate, Span, Time};

use super::Context;
use super::flows::MOST_FLOWS;
use crate::document::{Step, at};
use crate::memory;
use crate::quantity::Quantity;
use crate::settings::{Names, SizeChoice, TableName, Workload};

type Pairs = Vec<(u32, u32)>;

/// What a flow takes while flows are listed: three times itself, as a vector that is full moves into one of twice its size.
const FLOW_BYTES: f64 = 3.0 * size_of::<Flow>() as f64;

/// The flows of entry `index`; `None` if something is wrong with it, which is reported.
pub(super) fn flows(
    context: &mut Context<'_>,
    network: &Network,
    index: usize,
    group: &Group,
) -> Option<Vec<Flow>> {
    let settings = context.settings;
    let seed = settings.run.seed;
    let mut entry = Entry { context, network, index, start: group.start };
    let endless = |size: Option<Quantity<Bytes>>| size.map_or(Bytes::MAX, |size| size.0);
    Some(match &settings.traffic[index].workload {
        Workload::LongLived { from, to } => LongLived { pairs: entry.pairs(from, to)? }.flows(group),
        Workload::Constant { from, to, rate, jitter, catch_up, size } => {
            let pairs = entry.pairs(from, to)?;
            entry.constant(&pairs, rate.0)?;
            let (size, jitter_ppm) = (endless(*size), libm::round(jitter * 1e6) as u32);
            Constant { pairs, rate: rate.0, jitter_ppm, catch_up: *catch_up, size }.flows(group)
        }
        Workload::Flow { from, to, size } => {
            Message { pairs: entry.pairs(from, to)?, size: size.0 }.flows(group)
        }
        Workload::Bursts { from, to, size, rounds, interval } => {
            let pairs = entry.pairs(from, to)?;
            entry.count(f64::from(*rounds) * pairs.len() as f64, "rounds")?;
            let rounds = entry.outlined(*rounds, pairs.len() as f64);
            Bursts { pairs, size: size.0, rounds, interval: interval.0 }.flows(group)
        }
        Workload::ClosedLoop { from, to, size, depth, gap, messages } => {
            let pairs = entry.pairs(from, to)?;
            entry.count(f64::from(*messages) * pairs.len() as f64, "messages")?;
            let messages = entry.outlined(*messages, pairs.len() as f64);
            let (flows, steps) =
                ClosedLoop { pairs, size: size.0, depth: *depth, gap: gap.0, messages }.flows(group);
            entry.context.steps = steps;
            flows
        }
        Workload::Incast { from, to, size, fan_in } => {
            let from = entry.hosts("from", from)?;
            let to = entry.host("to", to)?;
            entry.fan_in(&from, to, *fan_in)?;
            Incast { from, to, size: size.0, fan_in: *fan_in }.flows(group, seed)
        }
        Workload::Permutation { hosts, size } => {
            let hosts = entry.hosts("hosts", hosts)?;
            if hosts.len() < 2 {
                entry.report(
                    "hosts",
                    "a permutation needs at least two hosts",
                    "only one host",
                    "name more hosts",
                );
                return None;
            }
            Permutation { hosts, size: endless(*size) }.flows(group, seed)
        }
        Workload::Poisson { .. } => poisson::flows(&mut entry, group, seed)?,
        Workload::Supply { .. } => supply::flows(&mut entry, group)?,
        Workload::Synchronous { from, to, cdf, file, size, sizes, load, interval, until, flows } => {
            let pairs = entry.pairs(from, &Names::One(to.clone()));
            let to = entry.host("to", to);
            let sizes = entry.sizes(*cdf, file.as_deref(), *size, *sizes);
            let stop = entry.stop(*until, *flows);
            let (pairs, to, sizes, stop) = (pairs?, to?, sizes?, stop?);
            let interval = entry.interval((pairs.len(), sizes.mean(), to), *load, *interval)?;
            let stop = entry.stop_count(pairs.len() as f64 / interval.as_secs_f64(), stop)?;
            Synchronous { pairs, sizes, interval, stop }.flows(group, seed)
        }
        Workload::MpiIo { .. } => mpi_io::flows(&mut entry, group, seed)?,
        Workload::HpccFlows { file, time_origin } => entry.hpcc(file, time_origin.0, group)?,
        Workload::Trace { file, hosts } => trace::flows(&mut entry, file, hosts.as_ref(), group)?,
        Workload::Collective(_) => collective::flows(&mut entry, group, seed)?,
        Workload::Steps(steps) => job::flows(&mut entry, steps, group, seed)?,
        Workload::Bale { .. } => bale::flows(&mut entry, group, seed)?,
        Workload::Program { .. } | Workload::Gpcnet(_) => ranks::flows(&mut entry, group)?,
        Workload::Injected {} => Vec::new(),
    })
}

/// A traffic entry under examination.
struct Entry<'a, 'b> {
    context: &'a mut Context<'b>,
    network: &'a Network,
    index: usize,
    start: Time,
}

impl Entry<'_, '_> {
    fn path(&self, key: &'static str) -> [Step; 3] {
        at!["traffic", self.index, key]
    }

    fn report(
        &mut self,
        key: &'static str,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let message = format!("{}: {}", self.context.title(self.index), message.into());
        self.context.report(&self.path(key), message, label, help);
    }

    fn hosts(&mut self, key: &'static str, names: &Names) -> Option<Vec<u32>> {
        self.context.hosts(self.network, &self.path(key), names).map(|hosts| hosts.list)
    }

    fn host(&mut self, key: &'static str, name: &str) -> Option<u32> {
        self.context.host(self.network, &self.path(key), name)
    }

    /// Every pair of different hosts. A host named on both sides is a flow to itself.
    fn pairs(&mut self, from: &Names, to: &Names) -> Option<Pairs> {
        let from = self.context.hosts(self.network, &self.path("from"), from);
        let to = self.context.hosts(self.network, &self.path("to"), to);
        let (from, to) = (from?, to?);
        if let Some(&host) = from.named.iter().find(|host| to.named.contains(host)) {
            let name = self.network.name(self.network.hosts()[host as usize]);
            let message = format!("a flow from {name} to itself");
            self.report("to", message, format!("{name} is the source, too"), "name a different host");
            return None;
        }
        self.count(from.list.len() as f64 * to.list.len() as f64, "from")?;
        let pairs = backwater_traffic::pairs(&from.list, &to.list);
        if pairs.is_empty() {
            self.report(
                "to",
                "source and destination are the same host",
                "the source",
                "name a different host",
            );
            return None;
        }
        Some(pairs)
    }

    /// Refuses entries whose expected number of flows would fill the memory.
    fn count(&mut self, flows: f64, key: &'static str) -> Option<()> {
        let before = self.context.made;
        let together = flows + before;
        let sum =
            if before == 0.0 { String::new() } else { format!(", {together:.0} with the entries before") };
        let message = format!("this means {flows:.0} flows{sum}");
        if together <= MOST_FLOWS as f64 {
            return self.fits_memory(together * FLOW_BYTES, key, &message);
        }
        self.report(
            key,
            message,
            format!("at most {MOST_FLOWS} flows"),
            "fewer hosts or rounds, a lower load or an earlier end",
        );
        None
    }

    /// Refuses what would take more memory than there is, before it is taken: who runs out of it is killed.
    fn fits_memory(&mut self, bytes: f64, key: &'static str, message: &str) -> Option<()> {
        let free = match memory::free() {
            Ok(free) => free,
            Err(error) => {
                self.report(key, error, "how many flows there may be", "unset it to ask the machine");
                return None;
            }
        };
        let Some(free) = free.filter(|free| bytes > free.bytes as f64) else {
            return Some(());
        };
        let [needed, there] = [bytes, free.bytes as f64].map(|bytes| format!("{:.1} GB", bytes * 1e-9));
        let label = format!("{there} of memory are left ({})", free.source);
        let help = format!(
            "choose fewer flows, or set {}=SIZE (such as 64GB) if you know that there is more",
            memory::VARIABLE
        );
        self.report(key, format!("{message}, and to list them takes {needed}"), label, help);
        None
    }

    /// What a host's links carry together.
    fn nic(&self, host: u32) -> Rate {
        self.network.rate_of(host)
    }

    /// A constant source has its own pacing and must fit its link.
    fn constant(&mut self, pairs: &Pairs, rate: Rate) -> Option<()> {
        if self.context.settings.traffic[self.index].control.is_some() {
            self.report(
                "control",
                "a constant source has its own rate",
                "no control here",
                "remove this line",
            );
            return None;
        }
        self.fits_link(pairs, rate)
    }

    /// No source makes more than its link carries.
    fn fits_link(&mut self, pairs: &Pairs, rate: Rate) -> Option<()> {
        // A flow may leave by any of them, a sprayed one too where others are down.
        let slowest = pairs.iter().flat_map(|&(src, _)| self.network.nics(src)).map(|nic| nic.rate).min()?;
        if rate > slowest {
            let message = format!("rate {rate} is more than the link of the source, {slowest}");
            self.report("rate", message, format!("allowed: at most {slowest}"), "lower the rate");
            return None;
        }
        Some(())
    }

    fn fan_in(&mut self, from: &[u32], to: u32, fan_in: Option<u32>) -> Option<()> {
        let senders = from.iter().filter(|&&host| host != to).count();
        if senders == 0 {
            self.report(
                "from",
                "the only source is the destination itself",
                "the destination",
                "name other hosts",
            );
            return None;
        }
        if fan_in.is_some_and(|fan_in| fan_in as usize > senders) {
            let message = format!("fan-in = {} but there are {senders} sources", fan_in.unwrap_or_default());
            self.report(
                "fan-in",
                message,
                format!("allowed: 1 to {senders}"),
                "name more hosts, or lower fan-in",
            );
            return None;
        }
        Some(())
    }

    /// Sizes from exactly one of a built-in table, a file, a fixed size.
    fn sizes(
        &mut self,
        cdf: Option<TableName>,
        file: Option<&str>,
        size: Option<Quantity<Bytes>>,
        choice: SizeChoice,
    ) -> Option<Sizes> {
        let table = match (cdf, file, size) {
            (Some(TableName::WebSearch), None, None) => Cdf::web_search(),
            (Some(TableName::Hadoop), None, None) => Cdf::hadoop(),
            (Some(TableName::Mpi), None, None) => Cdf::mpi(),
            (Some(TableName::Io), None, None) => Cdf::io(),
            (Some(TableName::MpiIo), None, None) => Cdf::mpi_io(),
            (Some(TableName::GoogleAll), None, None) => Cdf::google_all(),
            (None, Some(file), None) => self.table(file)?,
            (None, None, Some(size)) => return Some(Sizes::Fixed(size.0)),
            (None, None, None) => {
                let help = "add a cdf (web-search, hadoop, mpi, io, mpi-io, google-all), file = \"sizes.txt\" or size = \"4KiB\"";
                self.report("kind", "no flow sizes are given", "needs sizes", help);
                return None;
            }
            _ => {
                self.report(
                    "kind",
                    "flow sizes are given twice",
                    "one of them",
                    "give only one of cdf, file and size",
                );
                return None;
            }
        };
        Some(match choice {
            SizeChoice::Independent => Sizes::Independent(table),
            SizeChoice::Common => Sizes::Common(table),
        })
    }

    fn table(&mut self, file: &str) -> Option<Cdf> {
        let text = self.context.read_text(&self.path("file"), file)?;
        match Cdf::parse(&text) {
            Ok(cdf) => Some(cdf),
            Err(error) => {
                let help = "one `bytes percent` pair per line, both never decreasing, ending in 100";
                self.report("file", format!("{file:?} {error}"), "this file", help);
                None
            }
        }
    }

    /// The end of random arrivals: exactly one of `until` and `flows`.
    fn stop(&mut self, until: Option<Quantity<Span>>, flows: Option<u32>) -> Option<Stop> {
        match (until, flows) {
            (Some(until), None) if until.0.as_ps() <= self.start.as_ps() => {
                let message = format!("until = {until} is not after start = {}", self.start);
                self.report("until", message, "too early", "let it end later; until counts from time 0");
                None
            }
            (Some(until), None) => Some(Stop::At(Time::from_ps(until.0.as_ps()))),
            (None, Some(flows)) => {
                self.count(f64::from(flows), "flows")?;
                Some(Stop::After(self.outlined(flows, 1.0)))
            }
            (None, None) => {
                self.report("kind", "no end is given", "never ends", "add until = \"5ms\" or flows = 1000");
                None
            }
            (Some(_), Some(_)) => {
                self.report(
                    "flows",
                    "both until and flows are given",
                    "one of the two",
                    "remove one of them",
                );
                None
            }
        }
    }

    /// Refuses arrivals that would be too many, for `per_second` arrivals expected; when those end that are made.
    fn stop_count(&mut self, per_second: f64, stop: Stop) -> Option<Stop> {
        let Stop::At(until) = stop else { return Some(stop) };
        let span = until.since(self.start);
        let expected = per_second * span.as_secs_f64();
        self.count(expected, "until")?;
        let Some(most) = self.context.outline.filter(|most| expected > *most) else { return Some(stop) };
        let part = Span::from_ps((span.as_ps() as f64 * (most / expected)) as u64);
        self.context.each_stands_for[self.index] = span.as_ps() as f64 / part.as_ps().max(1) as f64;
        Some(Stop::At(self.start + part))
    }

    /// How many of `times` an outline makes, each of which has `flows` flows.
    fn outlined(&mut self, times: u32, flows: f64) -> u32 {
        let Some(most) = self.context.outline.filter(|most| f64::from(times) * flows > *most) else {
            return times;
        };
        let made = ((most / flows) as u32).clamp(1, times);
        self.context.each_stands_for[self.index] = f64::from(times) / f64::from(made);
        made
    }

    /// The mean time between ticks: given, or such that `pairs` flows of a mean size load the link of `to`.
    fn interval(
        &mut self,
        (pairs, mean, to): (usize, f64, u32),
        load: Option<f64>,
        interval: Option<Quantity<Span>>,
    ) -> Option<Span> {
        match (load, interval) {
            (Some(load), None) => Some(Synchronous::interval_for(pairs, mean, load, self.nic(to))),
            (None, Some(interval)) => Some(interval.0),
            (None, None) => {
                self.report(
                    "kind",
                    "neither load nor interval is given",
                    "how often?",
                    "add load = 0.7 or interval = \"1ms\"",
                );
                None
            }
            (Some(_), Some(_)) => {
                self.report(
                    "interval",
                    "both load and interval are given",
                    "one of the two",
                    "remove one of them",
                );
                None
            }
        }
    }

    fn hpcc(&mut self, file: &str, origin: Span, group: &Group) -> Option<Vec<Flow>> {
        let text = self.context.read_text(&self.path("file"), file)?;
        let network = self.network;
        let is_file = matches!(self.context.settings.topology.shape, crate::settings::Shape::Hpcc { .. });
        let host_of = |number: u32| match is_file {
            true if (number as usize) < network.nodes().len() => network.host_index(number),
            true => None,
            false => ((number as usize) < network.hosts().len()).then_some(number),
        };
        let lines = match read::hpcc(&text, Time::from_ps(origin.as_ps()), host_of) {
            Ok(lines) => lines,
            Err(error) => {
                let help = "the format is: the number of flows, then `src dst priority port bytes start-in-seconds` per flow";
                self.report("file", format!("{file:?} {error}"), "this file", help);
                return None;
            }
        };
        let priority = self.context.settings.traffic[self.index].priority;
        let flow = |line: &read::HpccFlow| Flow {
            priority: priority.unwrap_or(line.priority),
            ..group.flow(
                line.src,
                line.dst,
                line.size,
                line.start.saturating_add(group.start.since(Time::ZERO)),
            )
        };
        Some(lines.iter().map(flow).collect())
    }
}
