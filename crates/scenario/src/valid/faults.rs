//! `[[fault]]`: what goes wrong, checked against the network, and the timetable that follows from it.
mod timetable;

use backwater_codes::Code;
use backwater_control::flow_control::{LinkRetry, Watchdog, llr};
use backwater_fabric::record::{FaultKind, NO_FAULT};
use backwater_fabric::{FaultSpec, LossShare, LossSpec, WatchdogAction};
use backwater_topology::{Link, Network, Port, Routes};
use backwater_units::{Span, Time};

use self::timetable::{Down, Timetable};
use super::cc::below;
use super::{Context, Lanes, mtu};
use crate::document::{Step, at, nearest};
use crate::quantity::{AutoOr, Quantity};
use crate::settings::{self, Fault, FlowControl, Form, Instants, Llr, OnStorm, PfcWatchdog, Settings};

/// The faults of the run; what is wrong with them is reported.
pub(super) fn faults(
    context: &mut Context<'_>,
    network: &Network,
    routes: &Routes,
    lanes: &Lanes,
) -> FaultSpec {
    let settings = context.settings;
    let [watchdog, nic_watchdog] =
        [("switch.pfc", &settings.switch.pfc.watchdog), ("host.nic", &settings.host.nic.watchdog)]
            .map(|(place, it)| watchdog(context, place, it));
    if settings.fault.is_empty() {
        return FaultSpec { watchdog, nic_watchdog, ..FaultSpec::default() };
    }
    let most = usize::from(NO_FAULT);
    if settings.fault.len() > most {
        let message = format!("there are {} faults", settings.fault.len());
        let help = "let one fault happen several times (a list in at, or every and times)";
        context.report(&at!["fault"], message, format!("allowed: at most {most}"), help);
        return FaultSpec::default();
    }
    let mut made = Made { timetable: Timetable::default(), losses: Vec::new(), good: true };
    for (index, fault) in settings.fault.iter().enumerate() {
        made.add(context, network, index, fault);
        if let Some(why) = idle(settings, fault, lanes) {
            let message = format!("fault {index} ({}) changes nothing: {why}", fault.kind());
            context.caveat(Code::NoEffect, "fault", message);
        }
    }
    made.good &= made.timetable.overlaps(context, network);
    let Made { timetable, losses, good } = made;
    let kinds = settings.fault.iter().map(kind).collect();
    let retry = retry(context, network);
    let (changes, ways) = if good { timetable.changes(context, network, routes) } else { Default::default() };
    FaultSpec { changes, losses, ways, watchdog, nic_watchdog, kinds, retry }
}

/// Of a link whose frames get lost more often, one is sent again more than 255 times on average: `replay_ct_max` of SAI's proposal for LLR.
const MOST_LOST: f64 = 255.0 / 256.0;

/// How links send again what comes with a wrong bit; a buffer that a link has more on its way than, and what never comes, is reported.
fn retry(context: &mut Context<'_>, network: &Network) -> Option<LinkRetry> {
    let settings = context.settings;
    if !repeats(settings) {
        return None;
    }
    let Llr { buffer, timer } = settings.fault_handling.llr;
    let retry = LinkRetry {
        buffer: if let AutoOr::Given(Quantity(given)) = buffer { Some(given) } else { None },
        timer: if let AutoOr::Given(Quantity(given)) = timer { Some(given) } else { None },
    };
    let largest = mtu(settings);
    let needed = |link: &Link| llr::needed(link.rate, link.delay, largest);
    let round_trip = |link: &Link| llr::round_trip(link.rate, link.delay, largest);
    let ends = |link: &Link| format!("{}-{}", network.name(link.a), network.name(link.b));
    if let (Some(given), Some(most)) = (retry.buffer, network.links().iter().max_by_key(|it| needed(it)))
        && given < needed(most)
    {
        let (given, need) = (Quantity(given), Quantity(needed(most)));
        let message = format!(
            "fault-handling.llr.buffer = {given} is less than what the link {} has sent until an answer is there, {need}",
            ends(most)
        );
        let help = "raise it, or write \"auto\"";
        context.report(&at!["fault-handling", "llr", "buffer"], message, format!("at least {need}"), help);
    }
    if let (Some(given), Some(most)) = (retry.timer, network.links().iter().max_by_key(|it| round_trip(it)))
        && given < round_trip(most)
    {
        let (given, need) = (Quantity(given), Quantity(round_trip(most)));
        let message = format!(
            "fault-handling.llr.timer = {given} is over before an answer on the link {} can be there, {need}",
            ends(most)
        );
        let help = "raise it, or write \"auto\"";
        context.report(&at!["fault-handling", "llr", "timer"], message, format!("at least {need}"), help);
    }
    for (index, fault) in settings.fault.iter().enumerate() {
        let Fault::Loss { frames, bits, until: None, .. } = fault else { continue };
        let bits = bits.map(|rate| 1.0 - (1.0 - rate).powf(8.0 * largest.get() as f64));
        let share = frames.or(bits).unwrap_or_default();
        if share > MOST_LOST {
            let message = format!(
                "fault {index}: a link that loses {share} of its frames of {} would send each again more than 255 times, where UEC's \
                 LLR gives up (`replay_ct_max`)",
                Quantity(largest)
            );
            let help = "lower the share, give until, or write kind = \"link-down\"";
            context.report(
                &at!["fault", index],
                message,
                "not with fault-handling.link-retry = \"llr\"",
                help,
            );
        }
    }
    Some(retry)
}

/// Whether links send again what comes with a wrong bit.
pub(super) fn repeats(settings: &Settings) -> bool {
    settings.fault_handling.link_retry == settings::LinkRetry::Llr
}

/// Whether a fault loses packets that nobody sends again before they are missed.
pub(super) fn loses(settings: &Settings, fault: &Fault) -> bool {
    fault.loses() && !(repeats(settings) && matches!(fault, Fault::Loss { .. }))
}

fn kind(fault: &Fault) -> FaultKind {
    match fault {
        Fault::LinkDown { .. } => FaultKind::LinkDown,
        Fault::LinkSlow { .. } => FaultKind::LinkSlow,
        Fault::Loss { .. } => FaultKind::Loss,
        Fault::SwitchDown { .. } => FaultKind::SwitchDown,
        Fault::Gray { .. } => FaultKind::Gray,
        Fault::PauseStorm { .. } => FaultKind::PauseStorm,
        Fault::HostStop { .. } => FaultKind::HostStop,
    }
}

/// Why a fault changes nothing, if it does not.
fn idle(settings: &Settings, fault: &Fault, lanes: &Lanes) -> Option<String> {
    match fault {
        Fault::Loss { frames: Some(0.0), .. } => Some("frames = 0".to_owned()),
        Fault::Loss { bits: Some(0.0), .. } => Some("bits = 0".to_owned()),
        Fault::Gray { share: 0.0, .. } => Some("share = 0".to_owned()),
        Fault::PauseStorm { priorities, .. } => {
            let wanted = priorities.as_ref().unwrap_or(&settings.switch.pfc.priorities);
            let used = |priority: &u8| lanes.used & (1 << priority) != 0;
            let named = wanted.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
            (!wanted.iter().any(used))
                .then(|| format!("nothing is sent in the priorities that it pauses ({named})"))
        }
        _ => None,
    }
}

/// A watchdog, if there is one and something to watch.
fn watchdog(
    context: &mut Context<'_>,
    place: &str,
    watchdog: &PfcWatchdog,
) -> Option<(Watchdog, WatchdogAction)> {
    let action = match watchdog.action {
        OnStorm::None => return None,
        OnStorm::Drop => WatchdogAction::Drop,
        OnStorm::Forward => WatchdogAction::Forward,
    };
    let switch = &context.settings.switch;
    if switch.flow_control != FlowControl::Pfc {
        return None;
    }
    let (pause, poll) = (switch.pfc.pause.0, switch.pfc.poll.0);
    let renewed = Span::from_ps(pause.as_ps() / 2).max(poll);
    if switch.pfc.form == Form::Timed && watchdog.restore.0 < renewed {
        let message = format!(
            "{place}.watchdog.restore = {}, and PAUSEs are renewed every {}: the watchdog takes a storm for over between two of them",
            watchdog.restore,
            Quantity(renewed)
        );
        context.caveat(Code::WatchdogFlaps, format!("{place}.watchdog.restore"), message);
    }
    Some((Watchdog { detect: watchdog.detect.0, restore: watchdog.restore.0 }, action))
}

/// Whether packets are lost in the network by faults or by a watchdog.
pub(super) fn lose(settings: &Settings) -> bool {
    let watchdogs = [&settings.switch.pfc.watchdog, &settings.host.nic.watchdog];
    let drops = watchdogs.iter().any(|it| it.action != OnStorm::None);
    settings.fault.iter().any(|fault| loses(settings, fault))
        || drops && settings.switch.flow_control == FlowControl::Pfc
}

/// What has been made of the entries so far.
struct Made {
    timetable: Timetable,
    losses: Vec<LossSpec>,
    good: bool,
}

impl Made {
    #[allow(clippy::too_many_lines, reason = "an arm for each kind")]
    fn add(&mut self, context: &mut Context<'_>, network: &Network, index: usize, fault: &Fault) {
        let (place, number) = (at!["fault", index], index as u16);
        let before = context.problems.len();
        match fault {
            Fault::LinkDown { link, at, lasts, until, every, times } => {
                let links = links(context, network, &below(&place, "link"), link);
                let repeats = repeated(context, &place, at, *every, *times);
                let spans = spans(context, &place, &repeats, *lasts, *until);
                for link in links {
                    let down = |(from, until)| Down { link, from, until, fault: number };
                    self.timetable.downs.extend(spans.iter().copied().map(down));
                }
            }
            Fault::SwitchDown { switch, at, lasts, until } => {
                let node = switch_of(context, network, &below(&place, "switch"), switch);
                let spans = spans(context, &place, at.list(), *lasts, *until);
                for port in node.iter().flat_map(|node| network.ports(*node)) {
                    let down = |(from, until)| Down { link: port.link, from, until, fault: number };
                    self.timetable.downs.extend(spans.iter().copied().map(down));
                }
            }
            Fault::LinkSlow { link: ends, rate, from, at, until } => {
                let links = links(context, network, &below(&place, "link"), ends);
                let span = span(context, &place, *at, *until);
                for link in &links {
                    let nominal = Quantity(network.links()[*link as usize].rate);
                    if *rate >= nominal {
                        let message = format!(
                            "fault {index}: {rate} is not slower than the link {}-{}",
                            ends[0], ends[1]
                        );
                        let label = format!("allowed: less than {nominal}");
                        context.report(
                            &below(&place, "rate"),
                            message,
                            label,
                            "lower it, or leave the fault out",
                        );
                    }
                }
                let sender = sender(context, network, (index, &place), ends, from.as_deref());
                for (_, node, port) in links.iter().flat_map(|link| directions(network, *link)) {
                    if sender.is_none_or(|sender| sender == node) {
                        self.timetable.slow.push(((node, port), rate.0, span, number));
                    }
                }
            }
            Fault::Loss { link, frames, bits, from, at, until } => {
                let links = links(context, network, &below(&place, "link"), link);
                let span = span(context, &place, *at, *until);
                let share = match (frames, bits) {
                    (Some(frames), None) => LossShare::Frames(*frames),
                    (None, Some(bits)) => LossShare::Bits(*bits),
                    _ => {
                        let message = "a fault of kind \"loss\" has either frames or bits".to_owned();
                        let help =
                            "write frames = 0.001 (a share of the frames), or bits = 1e-9 (a bit error rate)";
                        context.report(&place, message, "one of the two", help);
                        return;
                    }
                };
                let sender = sender(context, network, (index, &place), link, from.as_deref());
                for (sends, takes, port) in links.iter().flat_map(|link| directions(network, *link)) {
                    if sender.is_none_or(|sender| sender == sends) {
                        self.losses.push(loss(number, (takes, Some(port)), span, share));
                    }
                }
            }
            Fault::Gray { switch, from, to, share, at, until } => {
                let node = switch_of(context, network, &below(&place, "switch"), switch);
                let span = span(context, &place, *at, *until);
                let mut host = |key, name: &Option<String>| {
                    name.as_ref().and_then(|name| context.host(network, &below(&place, key), name))
                };
                let (source, destination) = (host("from", from), host("to", to));
                if let Some(node) = node {
                    let loss = loss(number, (node, None), span, LossShare::Silent(*share));
                    self.losses.push(LossSpec { source, destination, ..loss });
                }
            }
            Fault::PauseStorm { host, port, priorities, at, until } => {
                let host = context.host(network, &below(&place, "host"), host);
                let ports = host.map(|host| ports_of(context, network, &below(&place, "port"), host, *port));
                let span = span(context, &place, *at, *until);
                let lossless = &context.settings.switch.pfc.priorities;
                let wanted = priorities.as_ref().unwrap_or(lossless);
                if let Some(other) = wanted.iter().find(|priority| !lossless.contains(priority)) {
                    let message =
                        format!("fault {index}: PAUSE for priority {other} has no effect: it is lossy");
                    let help =
                        "name priorities of switch.pfc.priorities, or leave the key out for all of them";
                    context.report(&below(&place, "priorities"), message, "not a lossless priority", help);
                }
                let set = wanted.iter().fold(0, |set, priority| set | 1 << priority);
                let storm = |port| (port, set, span, number);
                self.timetable.storms.extend(ports.into_iter().flatten().map(storm));
            }
            Fault::HostStop { host, at } => {
                let host = context.host(network, &below(&place, "host"), host);
                let (from, _) = span(context, &place, *at, None);
                self.timetable.stops.extend(host.map(|host| (host, from, number)));
            }
        }
        self.good &= context.problems.len() == before;
    }
}

fn loss(
    fault: u16,
    (node, port): (u32, Option<u16>),
    (from, until): (Time, Time),
    share: LossShare,
) -> LossSpec {
    LossSpec { fault, node, port, from, until, share, source: None, destination: None }
}

/// The port of a host that is named, or all, each with the host.
fn ports_of(
    context: &mut Context<'_>,
    network: &Network,
    place: &[Step],
    host: u32,
    port: Option<u16>,
) -> Vec<(u32, u16)> {
    let count = network.nics(host).len() as u16;
    if let Some(port) = port.filter(|port| *port >= count) {
        report_port(context, network, place, network.hosts()[host as usize], port.into());
        return Vec::new();
    }
    port.map_or(0..count, |port| port..port + 1).map(|port| (host, port)).collect()
}

/// Reports that a node does not have this port.
fn report_port(context: &mut Context<'_>, network: &Network, place: &[Step], node: u32, port: u64) {
    let (name, ports) = (network.name(node), network.ports(node));
    let last = ports.len().saturating_sub(1);
    let message = format!("{name} has no port {port}");
    let to = |(number, port): (usize, &Port)| format!("{number} (to {})", network.name(port.peer));
    let some: Vec<String> = ports.iter().enumerate().take(8).map(to).collect();
    let help = format!("ports are counted from 0 in the order of the links: {}", some.join(", "));
    context.report(place, message, format!("allowed: 0 to {last}"), help);
}

/// Both directions of a link: who sends, who takes in, and by which port.
fn directions(network: &Network, link: u32) -> [(u32, u32, u16); 2] {
    let ends = &network.links()[link as usize];
    let to = |from: u32, to: u32| {
        let port = network.ports(to).iter().position(|port| port.link == link);
        (from, to, port.expect("a link has two ends") as u16)
    };
    [to(ends.a, ends.b), to(ends.b, ends.a)]
}

/// The end of a link that a fault names in `from`; `None`: both.
fn sender(
    context: &mut Context<'_>,
    network: &Network,
    (index, place): (usize, &[Step]),
    link: &[String],
    from: Option<&str>,
) -> Option<u32> {
    let name = from?;
    let is_end = |end: &String| numbered(network, end).0 == name;
    let end = link.iter().any(is_end).then(|| network.find(name)).flatten();
    if end.is_none() {
        let message = format!("fault {index}: {name:?} is no end of the link {link:?}");
        let help = "from is the end that sends; without it both are meant";
        context.report(&below(place, "from"), message, "one of the two ends", help);
    }
    end
}

/// The links between two nodes, or the one of several whose number stands behind a name: `b:1` is the second.
fn links(context: &mut Context<'_>, network: &Network, place: &[Step], ends: &[String]) -> Vec<u32> {
    if ends.len() != 2 {
        let message = match ends.len() {
            0 => "the link of a fault has no names".to_owned(),
            1 => "the link of a fault has 1 name".to_owned(),
            more => format!("the link of a fault has {more} names"),
        };
        let help = "name the two nodes that it joins, such as link = [\"leaf0\", \"spine0\"]";
        context.report(place, message, "allowed: two names", help);
        return Vec::new();
    }
    let (mut nodes, mut numbers) = (Vec::new(), Vec::new());
    for (index, text) in ends.iter().enumerate() {
        let place = [place, &[Step::Index(index)]].concat();
        let (name, number) = numbered(network, text);
        nodes.extend(node(context, network, &place, name, "node"));
        numbers.extend(number.map(|number| (place, number)));
    }
    let &[a, b] = &nodes[..] else { return Vec::new() };
    let found: Vec<u32> =
        network.ports(a).iter().filter(|port| port.peer == b).map(|port| port.link).collect();
    for (place, number) in &numbers {
        let of_all = found.get(usize::try_from(*number).unwrap_or(usize::MAX));
        if of_all.is_none() && !found.is_empty() {
            let ([a, b], count) = ([a, b].map(|node| network.name(node)), found.len());
            let message = format!("{a:?} and {b:?} have no link number {number} between them");
            let label =
                if count > 1 { format!("allowed: 0 to {}", count - 1) } else { "allowed: 0".to_owned() };
            let help = format!(
                "links side by side are counted from 0 in their order: \"{b}:0\"; a name alone is all of them"
            );
            context.report(place, message, label, &help);
            return Vec::new();
        }
    }
    if let [(_, one), (place, other)] = &numbers[..]
        && one != other
    {
        let message = format!("the link is number {one} by its first end and number {other} by the second");
        context.report(place, message, "one number", "write it behind one of the names");
        return Vec::new();
    }
    if let ([(_, number), ..], false) = (&numbers[..], found.is_empty()) {
        return vec![found[*number as usize]];
    }
    if found.is_empty() {
        let [a_name, b_name] = [a, b].map(|node| network.name(node));
        let near: Vec<&str> = network.ports(a).iter().map(|port| network.name(port.peer)).take(8).collect();
        let message = format!("no link joins {a_name:?} and {b_name:?}");
        let help = format!("{a_name:?} has links to {}", near.join(", "));
        context.report(place, message, "no such link", help);
    }
    found
}

/// The name of a node, and the number behind it, if that is no part of the name.
fn numbered<'a>(network: &Network, text: &'a str) -> (&'a str, Option<u64>) {
    let parts = text.rsplit_once(':').filter(|_| network.find(text).is_none());
    parts.and_then(|(name, number)| Some((name, Some(number.parse().ok()?)))).unwrap_or((text, None))
}

fn switch_of(context: &mut Context<'_>, network: &Network, place: &[Step], name: &str) -> Option<u32> {
    let node = node(context, network, place, name, "switch")?;
    if network.is_switch(node) {
        return Some(node);
    }
    context.report(place, format!("{name:?} is a host, not a switch"), "not a switch", "name a switch");
    None
}

/// The node of a name.
fn node(context: &mut Context<'_>, network: &Network, place: &[Step], name: &str, what: &str) -> Option<u32> {
    if let Some(node) = network.find(name) {
        return Some(node);
    }
    let names = || network.nodes().iter().map(|node| node.name.as_str());
    let label = match nearest(name, names()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("not a {what}"),
    };
    let some: Vec<&str> =
        names().filter(|name| network.find(name).is_some_and(|n| network.is_switch(n))).take(8).collect();
    let help = format!("some switches are {}; `backwater topology` lists all nodes", some.join(", "));
    context.report(place, format!("there is no {what} {name:?}"), label, help);
    None
}

/// The instants of a fault that happens several times.
fn repeated(
    context: &mut Context<'_>,
    place: &[Step],
    at: &Instants,
    every: Option<Quantity<Span>>,
    times: Option<u32>,
) -> Vec<Quantity<Span>> {
    match (at, every, times) {
        (Instants::Once(first), Some(every), Some(times)) => {
            let after = |number: u32| Span::from_ps(first.0.as_ps() + u64::from(number) * every.0.as_ps());
            (0..times).map(|number| Quantity(after(number))).collect()
        }
        (_, None, None) => at.list().to_vec(),
        _ => {
            let message = "a fault that is repeated has one time at, and both every and times".to_owned();
            let help =
                "write at = \"1ms\", every = \"10ms\", times = 5; or a list in at, without every and times";
            context.report(place, message, "half of it", help);
            Vec::new()
        }
    }
}

/// From when to when, each time.
fn spans(
    context: &mut Context<'_>,
    place: &[Step],
    starts: &[Quantity<Span>],
    lasts: Option<Quantity<Span>>,
    until: Option<Quantity<Span>>,
) -> Vec<(Time, Time)> {
    if lasts.is_some() && until.is_some() || until.is_some() && starts.len() > 1 {
        let message = "for and until say the same twice, and until is for one failure".to_owned();
        context.report(&below(place, "until"), message, "not both", "write for = \"500us\" alone");
        return Vec::new();
    }
    let end = |start: &Quantity<Span>| until.or_else(|| lasts.map(|lasts| Quantity(start.0 + lasts.0)));
    starts.iter().map(|start| span(context, place, *start, end(start))).collect()
}

/// From when to when: within the run, and not backwards.
fn span(
    context: &mut Context<'_>,
    place: &[Step],
    from: Quantity<Span>,
    until: Option<Quantity<Span>>,
) -> (Time, Time) {
    if let Some(end) = context.settings.run.until.filter(|end| from >= *end) {
        let message = format!("the fault begins at {from}, and the run ends at {end}");
        let help = "let it begin earlier, or raise run.until";
        context.report(&below(place, "at"), message, format!("allowed: less than {end}"), help);
    }
    if let Some(until) = until.filter(|until| *until <= from) {
        let message = format!("the fault ends at {until}, before it begins at {from}");
        context.report(&below(place, "until"), message, format!("more than {from}"), "swap the two times");
    }
    let time = |span: Quantity<Span>| Time::ZERO + span.0;
    (time(from), until.map_or(Time::MAX, time))
}
