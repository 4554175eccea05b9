//! `kind = "program"` and `kind = "gpcnet"`: ranks at hosts that exchange messages.
use backwater_traffic::program::gpcnet::{self, RingTest, SumTest};
use backwater_traffic::program::{self, Application, Costs, Gpcnet, place};
use backwater_traffic::{Flow, Group, MAX_PACKETS, read};
use backwater_units::Bytes;

use super::Entry;
use crate::document::{Step, at};
use crate::quantity::Quantity;
use crate::settings::{self, Congestor, Control, Mpi, NetworkTest, Placement, Workload};
use crate::valid::is_put;
use crate::valid::uec::is_uec;

/// The queue pairs between the ranks of an entry, numbered from 0; the ranks go to the context. `None` if something is wrong, which is
/// reported.
pub(super) fn flows(entry: &mut Entry<'_, '_>, group: &Group) -> Option<Vec<Flow>> {
    let settings = entry.context.settings;
    let good = fits(entry);
    let workload = &settings.traffic[entry.index].workload;
    let (application, hosts) = match workload {
        Workload::Program { .. } => written(entry, group)?,
        Workload::Gpcnet(_) => generated(entry, group)?,
        _ => return None,
    };
    let costs = costs(entry, workload.mpi()?)?;
    sizes(entry, &application)?;
    good?;
    if application.is_endless() {
        crate::valid::jobs::never_ends(entry.context, entry.index);
    }
    let ranks = application.members.len() as u32;
    let skew = entry.context.skew_of(entry.index, ranks);
    let added = entry.context.programs.ranks.len();
    let flows = entry.context.programs.add(application, &hosts, group, costs, 0);
    if let Some(skew) = skew {
        for rank in &skew.ranks {
            skew.delay(&mut entry.context.programs.ranks[added + *rank as usize], settings.run.seed);
        }
    }
    Some(flows)
}

/// What of an entry ranks have no use for.
fn fits(entry: &mut Entry<'_, '_>) -> Option<()> {
    let settings = entry.context.settings;
    let (traffic, before) = (&settings.traffic[entry.index], entry.context.problems.len());
    if is_put(settings, entry.index) {
        let message = "ranks send their messages over queue pairs, and transport = \"put\" has streams that know no messages";
        let help = "set transport = \"roce\" for this entry; its programs have puts and gets of their own";
        entry.report("transport", message, "not for ranks", help);
    }
    if is_uec(settings, entry.index) {
        let message =
            "ranks send their messages over queue pairs, and flows of transport = \"uec\" know no messages";
        entry.report("transport", message, "not for ranks", "set transport = \"roce\" for this entry");
    }
    if traffic.control == Some(Control::LineRate) {
        let message = "the queue pairs of ranks have a reaction point";
        let help =
            "remove this line; for messages that only the link holds back write cc = { kind = \"none\" }";
        entry.report("control", message, "not for ranks", help);
    }
    (entry.context.problems.len() == before).then_some(())
}

/// The programs in a file, and the host of each rank.
fn written(entry: &mut Entry<'_, '_>, group: &Group) -> Option<(Application, Vec<u32>)> {
    let settings = entry.context.settings;
    let Workload::Program { file, hosts, ranks_per_host, placement, .. } =
        &settings.traffic[entry.index].workload
    else {
        return None;
    };
    let names = entry.hosts("hosts", hosts);
    let text = entry.context.read_text(&entry.path("file"), file)?;
    let application = match read::program(&text) {
        Ok(application) => application,
        Err(error) => {
            let help = "docs/programs.md describes the language";
            entry.report("file", format!("{file:?} {error}"), "this file", help);
            return None;
        }
    };
    let (names, ranks) = (names?, application.members.len() as u32);
    let placement = match placement {
        Placement::Block => program::Placement::Block,
        Placement::Cyclic => program::Placement::Cyclic,
        Placement::Random => program::Placement::Random,
    };
    let Some(hosts) = place(ranks, &names, *ranks_per_host, placement, group.id, settings.run.seed) else {
        let least = u64::from(ranks).div_ceil(names.len() as u64);
        let message = format!(
            "{file:?} has {ranks} ranks, and {} hosts with ranks-per-host = {ranks_per_host} have room for {}",
            names.len(),
            names.len() as u64 * u64::from(*ranks_per_host)
        );
        let help = "raise ranks-per-host, or name more hosts";
        entry.report("ranks-per-host", message, format!("allowed: {least} or more"), help);
        return None;
    };
    Some((application, hosts))
}

/// The programs of `GPCNeT`, and the host of each rank.
fn generated(entry: &mut Entry<'_, '_>, group: &Group) -> Option<(Application, Vec<u32>)> {
    let settings = entry.context.settings;
    let workload = &settings.traffic[entry.index].workload;
    let Workload::Gpcnet(keys) = workload else { return None };
    let settings::Gpcnet { hosts, ranks_per_host, .. } = keys;
    let hosts = entry.hosts("hosts", hosts)?;
    let gpcnet = config(keys);
    let wrong = gpcnet.check(hosts.len() as u32);
    let mut good = once(entry, workload).is_some();
    for (key, what) in wrong {
        let (label, help) = advice(key);
        entry.report(key, format!("{key} = {what}"), label, help);
        good = false;
    }
    if !good {
        return None;
    }
    let application = gpcnet.application(hosts.len() as u32, group.id, settings.run.seed);
    let at = hosts.iter().flat_map(|host| std::iter::repeat_n(*host, *ranks_per_host as usize)).collect();
    Some((application, at))
}

/// What to do about a key of `gpcnet` that does not fit.
fn advice(key: &str) -> (&'static str, &'static str) {
    match key {
        "hosts" => ("too few", "name more hosts, or take a larger topology"),
        "ranks-per-host" => ("too many", "lower ranks-per-host, or name fewer hosts"),
        "congestor-share" => (
            "leaves too few for one of the two",
            "choose another congestor-share (GPCNeT has 0.8), name more hosts, or fewer kinds of congestors",
        ),
        "congestors" => ("each kind once", "for no congestors at all write congested = false"),
        "tests" => (
            "needs a test",
            "for example tests = [\"latency\"]; for the congestors alone write isolated = false, and run.until",
        ),
        "congested" => ("needs one of the two", "set isolated = true, congested = true or both"),
        "rings" => ("too many calls", "lower rings, or bandwidth.messages"),
        _ => ("not allowed", "choose a smaller number"),
    }
}

/// A test that is named twice would run once.
fn once(entry: &mut Entry<'_, '_>, workload: &Workload) -> Option<()> {
    let Workload::Gpcnet(settings::Gpcnet { tests, .. }) = workload else { return None };
    let again = (1..tests.len()).find(|&index| tests[..index].contains(&tests[index]));
    let Some(index) = again else { return Some(()) };
    let path = [&entry.path("tests")[..], &[Step::Index(index)]].concat();
    let name = &entry.context.settings.traffic[entry.index].name;
    let message = format!("traffic.{name}: a test is named twice");
    entry.context.report(&path, message, "the second time", "name each test once");
    None
}

/// The settings as the generator has them.
fn config(keys: &settings::Gpcnet) -> Gpcnet {
    let settings::Gpcnet {
        ranks_per_host,
        congestor_share,
        congestors,
        congestor_size,
        warm_up_passes,
        rings,
        latency,
        bandwidth,
        allreduce,
        tests,
        isolated,
        congested,
        ..
    } = keys;
    let has = |test| tests.contains(&test);
    let ring =
        |size: Quantity<Bytes>, messages, warm_up, timed| RingTest { size: size.0, messages, warm_up, timed };
    let kind = |congestor: &Congestor| match congestor {
        Congestor::AllToAll => gpcnet::Congestor::AllToAll,
        Congestor::Incast => gpcnet::Congestor::Incast,
        Congestor::PutIncast => gpcnet::Congestor::PutIncast,
        Congestor::GetBroadcast => gpcnet::Congestor::GetBroadcast,
    };
    Gpcnet {
        ranks_per_host: *ranks_per_host,
        congestor_share_ppm: libm::round(congestor_share * 1e6) as u32,
        congestors: congestors.iter().map(kind).collect(),
        congestor_size: congestor_size.0,
        warm_up_passes: *warm_up_passes,
        rings: *rings,
        latency: has(NetworkTest::Latency).then(|| ring(latency.size, 1, latency.warm_up, latency.timed)),
        bandwidth: has(NetworkTest::Bandwidth)
            .then(|| ring(bandwidth.size, bandwidth.messages, bandwidth.warm_up, bandwidth.timed)),
        allreduce: has(NetworkTest::Allreduce).then_some(SumTest {
            size: allreduce.size.0,
            warm_up: allreduce.warm_up,
            timed: allreduce.timed,
        }),
        isolated: *isolated,
        congested: *congested,
    }
}

/// What calls cost.
fn costs(entry: &mut Entry<'_, '_>, mpi: &Mpi) -> Option<Costs> {
    let costs = Costs {
        send: mpi.send.0,
        receive: mpi.receive.0,
        eager: mpi.eager.0,
        control: mpi.control.0,
        local: mpi.local.0,
    };
    let Err((key, what)) = costs.check() else { return Some(costs) };
    let name = &entry.context.settings.traffic[entry.index].name;
    let path = at!["traffic", entry.index, "mpi", key];
    let message = format!("traffic.{name}: mpi.{key} = {what}");
    entry.context.report(&path, message, "not allowed", "the defaults are in the JSON Schema");
    None
}

/// A frame numbers the packets of its message.
fn sizes(entry: &mut Entry<'_, '_>, application: &Application) -> Option<()> {
    let payload = entry.context.settings.packet.payload.0;
    let most = Bytes::new(payload.get().saturating_mul(u64::from(MAX_PACKETS)));
    let largest = application.longest();
    if largest <= most {
        return Some(());
    }
    let message = format!("a message of {} has more than 2^31 - 2 packets of {payload}", Quantity(largest));
    let help = format!("give at most {}, or a larger packet.payload", Quantity(most));
    entry.report("kind", message, "too large", help);
    None
}
