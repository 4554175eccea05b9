//! `kind = "mpi-io"`: racks of the topology, shares as numbers of hosts, load as a span.
use backwater_codes::Code;
use backwater_topology::generate;
use backwater_traffic::generate::{Arrivals, Hot, MpiIo, Placement};
use backwater_traffic::{Cdf, Flow, Group};
use backwater_units::Span;

use super::Entry;
use crate::settings::{self, Rack, Shape, Workload};

/// The messages; `None` if something is wrong, which is reported.
pub(super) fn flows(entry: &mut Entry<'_, '_>, group: &Group, seed: u64) -> Option<Vec<Flow>> {
    let Workload::MpiIo { messages, io_share, rack, io_servers_per_rack, connections, .. } = *workload(entry)
    else {
        return None;
    };
    entry.count(f64::from(messages), "messages")?;
    let messages = entry.outlined(messages, 1.0);
    let io_messages = libm::round(f64::from(messages) * io_share) as u32;
    let mpi_messages = messages - io_messages;
    let racks = racks(entry, rack.unwrap_or(Rack::Edge), io_servers_per_rack)?;
    let (io_clients, mpi_clients) = clients(entry, &racks, io_messages, mpi_messages)?;
    let arrivals = arrivals(entry, io_messages, mpi_messages)?;
    let hot = hot(entry, io_clients, racks.len() as u32 * io_servers_per_rack)?;
    let mix = MpiIo {
        racks,
        io_servers_per_rack,
        io_clients,
        mpi_clients,
        io_messages,
        mpi_messages,
        connections,
        arrivals,
        hot,
    };
    let placement = mix.place(group, seed);
    servers(entry, &mix, &placement)?;
    overload(entry, &mix, &mix.by_heat(&placement, group, seed));
    Some(mix.flows(group, seed))
}

fn workload<'a>(entry: &Entry<'_, 'a>) -> &'a Workload {
    &entry.context.settings.traffic[entry.index].workload
}

/// The hosts, rack by rack; every rack has enough for its I/O servers.
fn racks(entry: &mut Entry<'_, '_>, rack: Rack, servers: u32) -> Option<Vec<Vec<u32>>> {
    let racks = match (rack, &entry.context.settings.topology.shape) {
        (Rack::Edge, _) => entry.network.racks(),
        (Rack::Pod, Shape::FatTree { k, .. }) => {
            let hosts: Vec<u32> = (0..entry.network.hosts().len() as u32).collect();
            hosts.chunks(generate::fat_tree_pod(*k) as usize).map(<[u32]>::to_vec).collect()
        }
        (Rack::Pod, _) => {
            let help = "let the racks be the hosts at one switch: rack = \"edge\"";
            entry.report("rack", "only a fat tree has pods", "no pods in this topology", help);
            return None;
        }
    };
    if let Some(small) = racks.iter().find(|rack| (rack.len() as u64) < u64::from(servers)) {
        let name = entry.network.name(entry.network.hosts()[small[0] as usize]);
        let least = racks.iter().map(Vec::len).min().unwrap_or_default();
        let message = format!("the rack of {name} has {} hosts for {servers} I/O servers", small.len());
        let help = "give fewer per rack, or a topology with more hosts at each switch (leaf-spine, fat-tree)";
        entry.report("io-servers-per-rack", message, format!("allowed: 1 to {least}"), help);
        return None;
    }
    Some(racks)
}

/// How many I/O clients and MPI clients there are: enough for the messages of their kind, with hosts left for MPI servers.
fn clients(entry: &mut Entry<'_, '_>, racks: &[Vec<u32>], io: u32, mpi: u32) -> Option<(u32, u32)> {
    let Workload::MpiIo { io_servers_per_rack, io_clients, mpi_clients, .. } = *workload(entry) else {
        return None;
    };
    let hosts = entry.network.hosts().len() as u32;
    let others = hosts - racks.len() as u32 * io_servers_per_rack;
    if others == 0 {
        let message = format!(
            "{io_servers_per_rack} I/O servers in each of {} racks are all {hosts} hosts",
            racks.len()
        );
        let help = "lower io-servers-per-rack, or choose a topology with more hosts in a rack";
        entry.report("io-servers-per-rack", message, "no host is left for clients", help);
        return None;
    }
    let wanted = libm::round(f64::from(hosts) * io_clients) as u32;
    if wanted > others || (wanted == 0 && io > 0) {
        let message = format!(
            "{wanted} I/O clients for {io} I/O messages, with {others} hosts that are no I/O servers"
        );
        let most = f64::from(others) / f64::from(hosts);
        let help = "change io-clients or io-servers-per-rack";
        entry.report("io-clients", message, format!("allowed: 1 host to {most:.6} of all"), help);
        return None;
    }
    let left = others - wanted;
    let senders = libm::round(f64::from(left) * mpi_clients) as u32;
    if mpi > 0 && (senders == 0 || senders == left) {
        let message =
            format!("of {left} MPI nodes {senders} are clients: MPI messages need clients and servers");
        let help = "change mpi-clients, or leave more hosts to MPI (io-clients, io-servers-per-rack)";
        entry.report("mpi-clients", message, "needs one host of each", help);
        return None;
    }
    Some((wanted, senders))
}

/// A client may have no more servers than there are.
fn servers(entry: &mut Entry<'_, '_>, mix: &MpiIo, placement: &Placement) -> Option<()> {
    let kinds = [(mix.io_messages, &placement.io_servers), (mix.mpi_messages, &placement.mpi_servers)];
    let fewest = kinds.iter().filter(|(messages, _)| *messages > 0).map(|(_, servers)| servers.len()).min();
    let fewest = fewest.unwrap_or_default();
    if mix.connections as usize > fewest {
        let message =
            format!("{} connections per client, but one kind has only {fewest} servers", mix.connections);
        let label = format!("allowed: 1 to {fewest}");
        entry.report("connections", message, label, "lower connections, or let more hosts be servers");
        return None;
    }
    Some(())
}

/// The hot servers, of so many, and how many of the I/O clients they have.
fn hot(entry: &mut Entry<'_, '_>, io_clients: u32, io_servers: u32) -> Option<Hot> {
    let Workload::MpiIo { connections, hot_servers, hot_share, .. } = *workload(entry) else { return None };
    let share = match (hot_servers, hot_share) {
        (0, None) => return Some(Hot::default()),
        (0, Some(_)) => {
            let help = "add hot-servers = 2, or remove this line";
            entry.report("hot-share", "hot-share is given, and no server is hot", "without effect", help);
            return None;
        }
        (_, None) => {
            let help = "add hot-share = 0.5: half of the I/O clients have a hot server";
            entry.report("hot-servers", "hot-servers is given without hot-share", "how hot?", help);
            return None;
        }
        (_, Some(share)) => share,
    };
    let clients = libm::round(f64::from(io_clients) * share) as u32;
    if clients == 0 {
        let message = format!(
            "hot-share = {share} of {io_clients} I/O clients is none, and hot servers would stand idle"
        );
        entry.report(
            "hot-share",
            message,
            "no client",
            "raise hot-share, or remove hot-servers and hot-share",
        );
        return None;
    }
    let most = io_servers.saturating_sub(u32::from(clients < io_clients));
    if hot_servers > most {
        let message = format!(
            "{hot_servers} of {io_servers} I/O servers are hot, and other clients need a server, too"
        );
        let help = "lower hot-servers, or give more I/O servers (io-servers-per-rack)";
        entry.report("hot-servers", message, format!("allowed: 0 to {most}"), help);
        return None;
    }
    if connections > 1 {
        let message =
            format!("{connections} connections per client, but a client of a hot server has only that one");
        entry.report("connections", message, "allowed: 1", "remove this line, or hot-servers and hot-share");
        return None;
    }
    Some(Hot { servers: hot_servers, clients })
}

/// When messages start: one of `load` and `duration`, or neither where all come at once.
fn arrivals(entry: &mut Entry<'_, '_>, io: u32, mpi: u32) -> Option<Arrivals> {
    let Workload::MpiIo { arrivals, load, duration, .. } = *workload(entry) else { return None };
    let hosts = 0..entry.network.hosts().len() as u32;
    let capacity = hosts.map(|host| entry.network.rate_of(host)).sum();
    let span = match (arrivals, load, duration) {
        (settings::Arrivals::AtOnce, None, None) => return Some(Arrivals::AtOnce),
        (settings::Arrivals::AtOnce, _, _) => {
            let key = if load.is_some() { "load" } else { "duration" };
            let help = "remove this line, or choose arrivals = \"poisson\" or \"even\"";
            entry.report(key, "all messages come at once", "without effect", help);
            return None;
        }
        (_, Some(load), None) => MpiIo::span_for(io, mpi, load, capacity),
        (_, None, Some(duration)) => {
            let like = entry.context.each_stands_for[entry.index];
            Span::from_ps((duration.0.as_ps() as f64 / like) as u64)
        }
        (_, None, None) => {
            let help = "add load = 0.05, duration = \"100ms\" or arrivals = \"at-once\"";
            entry.report("kind", "neither load nor duration is given", "how fast?", help);
            return None;
        }
        (_, Some(_), Some(_)) => {
            let message = "both load and duration are given";
            entry.report("duration", message, "one of the two", "remove one of them");
            return None;
        }
    };
    Some(match arrivals {
        settings::Arrivals::Even => Arrivals::Even(span),
        _ => Arrivals::Poisson(span),
    })
}

/// I/O messages go to few hosts: says if these are offered more than their links carry, the hot ones or all.
fn overload(entry: &mut Entry<'_, '_>, mix: &MpiIo, servers: &[u32]) {
    let (Arrivals::Poisson(span) | Arrivals::Even(span)) = mix.arrivals else { return };
    let (hot, others) = servers.split_at(mix.hot.servers as usize);
    let to_hot = f64::from(mix.hot.clients) / f64::from(mix.io_clients.max(1));
    let rest = if hot.is_empty() { "" } else { " other" };
    for (word, servers, part) in [(" hot", hot, to_hot), (rest, others, 1.0 - to_hot)] {
        let rates = servers.iter().map(|&host| entry.nic(host).as_bps() as f64);
        let offered = 8.0 * f64::from(mix.io_messages) * Cdf::io().mean() * part;
        let share = offered / (rates.sum::<f64>() * span.as_secs_f64());
        if share > 1.0 {
            let name = &entry.context.settings.traffic[entry.index].name;
            let caveat = format!(
                "traffic.{name}: in {span} the {}{word} I/O servers are offered {share:.2} times what their links carry; the messages \
                 queue up at their clients",
                servers.len()
            );
            entry.context.caveat(Code::Overload, format!("traffic.{name}"), caveat);
        }
    }
}
