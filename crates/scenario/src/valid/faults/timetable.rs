//! From faults to what changes at nodes: links at both ends, what switches notice, and the routes that follow.
//!
//! ```text
//!   link   down ───────────────────── up
//!   switch      └─ detect ─▶ avoids it  └─ detect ─▶ uses it again      what is over sooner is not noticed
//!   routes                     └─ converge ─▶ without it    └─ converge ─▶ with it
//! ```
use std::collections::BTreeMap;

use backwater_codes::Code;
use backwater_fabric::{Change, FaultChange};
use backwater_topology::{Network, Rerouted, Reroutes, Routes, Routing, Ways};
use backwater_units::{Bytes, Rate, Span, Time};

use super::directions;
use crate::document::at;
use crate::quantity::Quantity;
use crate::settings;
use crate::valid::Context;
use crate::valid::idle::is;

/// The most memory that new routes take in all.
const MOST_BYTES: usize = 2 << 30;

/// A link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Down {
    pub(super) link: u32,
    pub(super) from: Time,
    /// [`Time::MAX`]: it stays down.
    pub(super) until: Time,
    pub(super) fault: u16,
}

type During = (Time, Time);

/// What goes wrong when, by link and by host.
#[derive(Clone, Debug, Default)]
pub(super) struct Timetable {
    pub(super) downs: Vec<Down>,
    /// The node and port that send.
    pub(super) slow: Vec<((u32, u16), Rate, During, u16)>,
    /// Host index and port, priorities.
    pub(super) storms: Vec<((u32, u16), u8, During, u16)>,
    /// Host index.
    pub(super) stops: Vec<(u32, Time, u16)>,
}

/// A switch notices a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Notice {
    time: Time,
    link: u32,
    down: bool,
    fault: u16,
}

impl Timetable {
    /// Reports what is the case twice at a time. Whether nothing is.
    pub(super) fn overlaps(&mut self, context: &mut Context<'_>, network: &Network) -> bool {
        let before = context.problems.len();
        self.downs.sort_unstable();
        let downs = self.downs.iter().map(|down| (down.link, (down.from, down.until), down.fault));
        twice(context, downs.collect(), |link| format!("the link {} is down", name_of(network, link)));
        let slow = self.slow.iter().map(|(port, _, during, fault)| (*port, *during, *fault));
        twice(context, slow.collect(), |(node, port)| {
            format!("the link {} is slow", name_of(network, network.ports(node)[usize::from(port)].link))
        });
        let host = |host: u32| network.name(network.hosts()[host as usize]).to_owned();
        let storms = self.storms.iter().map(|(port, _, during, fault)| (*port, *during, *fault));
        twice(context, storms.collect(), |(of, port)| {
            let by = if network.nics(of).len() > 1 { format!(" by port {port}") } else { String::new() };
            format!("host {} sends PAUSE without end{by}", host(of))
        });
        let stops = self.stops.iter().map(|(host, at, fault)| (*host, (*at, Time::MAX), *fault));
        twice(context, stops.collect(), |of| format!("host {} has stopped", host(of)));
        context.problems.len() == before
    }

    /// What changes at nodes, by time, and the ways that a change can bring.
    pub(super) fn changes(
        self,
        context: &mut Context<'_>,
        network: &Network,
        routes: &Routes,
    ) -> (Vec<FaultChange>, Ways) {
        let mut changes = Vec::new();
        for down in &self.downs {
            for (_, node, port) in directions(network, down.link) {
                let change = |time, what| FaultChange { time, node, fault: down.fault, what };
                changes.push(change(down.from, Change::Down(port)));
                if down.until < Time::MAX {
                    changes.push(change(down.until, Change::Up(port)));
                }
            }
        }
        for ((node, port), rate, (from, until), fault) in &self.slow {
            let (node, fault, nominal) = (*node, *fault, network.ports(*node)[usize::from(*port)].rate);
            let change = |time, rate| FaultChange { time, node, fault, what: Change::Rate(*port, rate) };
            changes.push(change(*from, *rate));
            if *until < Time::MAX {
                changes.push(change(*until, nominal));
            }
        }
        for ((host, port), priorities, (from, until), fault) in &self.storms {
            let node = network.hosts()[*host as usize];
            let change = |time, what| FaultChange { time, node, fault: *fault, what };
            changes.push(change(*from, Change::Storm(*port, *priorities)));
            if *until < Time::MAX {
                changes.push(change(*until, Change::Calm(*port)));
            }
        }
        for (host, time, fault) in &self.stops {
            let node = network.hosts()[*host as usize];
            changes.push(FaultChange { time: *time, node, fault: *fault, what: Change::Stop });
        }
        let notices = self.notices(context);
        for notice in &notices {
            for (_, node, port) in directions(network, notice.link) {
                if network.is_switch(node) {
                    let what = if notice.down { Change::Avoid(port) } else { Change::Admit(port) };
                    changes.push(FaultChange { time: notice.time, node, fault: notice.fault, what });
                }
            }
        }
        let ways = reroute(context, network, routes, &notices, &mut changes);
        changes.sort_by_key(|change| (change.time, order(&change.what), change.node));
        (changes, ways)
    }

    /// What switches notice of links, by time.
    fn notices(&self, context: &Context<'_>) -> Vec<Notice> {
        let detect = context.settings.fault_handling.detect.0;
        let mut toggles: BTreeMap<u32, Vec<(Time, bool, u16)>> = BTreeMap::new();
        // Sorted by link and time, and none overlaps another.
        for down in &self.downs {
            let of_link = toggles.entry(down.link).or_default();
            of_link.push((down.from, true, down.fault));
            if down.until < Time::MAX {
                of_link.push((down.until, false, down.fault));
            }
        }
        let mut notices = Vec::new();
        for (link, toggles) in toggles {
            let mut seen = false;
            for (at, &(time, down, fault)) in toggles.iter().enumerate() {
                let noticed = time.saturating_add(detect);
                let lasts = toggles.get(at + 1).is_none_or(|(next, ..)| *next > noticed);
                if lasts && down != seen {
                    seen = down;
                    notices.push(Notice { time: noticed, link, down, fault });
                }
            }
        }
        notices.sort_unstable();
        notices
    }
}

/// Of one instant: links first, then who notices, then routes.
const fn order(change: &Change) -> u8 {
    match change {
        Change::Avoid(_) | Change::Admit(_) => 1,
        Change::Routes { .. } => 2,
        _ => 0,
    }
}

/// A link by its ends; of several side by side with its number.
fn name_of(network: &Network, link: u32) -> String {
    let ends = &network.links()[link as usize];
    let port = network.ports(ends.a).iter().position(|port| port.link == link);
    let number = port.and_then(|port| network.parallel(ends.a, port as u16));
    let number = number.map_or_else(String::new, |number| format!(":{number}"));
    format!("{}-{}{number}", network.name(ends.a), network.name(ends.b))
}

fn at(time: Time) -> Quantity<Span> {
    Quantity(time - Time::ZERO)
}

/// Reports the first two of a thing that overlap.
fn twice<T: Copy + Ord>(
    context: &mut Context<'_>,
    mut all: Vec<(T, During, u16)>,
    what: impl Fn(T) -> String,
) {
    all.sort_unstable();
    for pair in all.windows(2) {
        let [(one, (_, until), first), (other, (from, end), second)] = pair else { continue };
        if one == other && from <= until {
            let both = until.min(end);
            let when = match *both {
                _ if from == both => format!("at {}", at(*from)),
                Time::MAX => format!("from {} on", at(*from)),
                _ => format!("from {} to {}", at(*from), at(*both)),
            };
            let (message, help) = if first == second {
                let message =
                    format!("{} twice at a time: by fault {first} and by its next turn, {when}", what(*one));
                (message, "let each turn end before the next one begins: lower for, or raise every")
            } else {
                let message =
                    format!("{} twice at a time: by fault {first} and by fault {second}, {when}", what(*one));
                (message, "let the second begin after the first has ended (faults are counted from 0)")
            };
            context.report(&at!["fault", usize::from(*second)], message, "overlaps", help);
            return;
        }
    }
}

/// The changes that bring switches new ways after each notice, and these ways.
fn reroute(
    context: &mut Context<'_>,
    network: &Network,
    routes: &Routes,
    notices: &[Notice],
    changes: &mut Vec<FaultChange>,
) -> Ways {
    let converge = context.settings.fault_handling.converge.0;
    let routing = match context.settings.topology.routes_by() {
        settings::Routing::DModK => Routing::DModK,
        settings::Routing::Ecmp => Routing::Ecmp,
        other => {
            if !notices.is_empty() {
                let message = format!(
                    "links fail, and {} are not computed again: what has no other way is lost until they are up",
                    is("the routes of topology.routing", other)
                );
                context.caveat(Code::RoutesStay, "fault", message);
            }
            return Ways::default();
        }
    };
    let end = context.settings.run.until.map_or(Time::MAX, |end| Time::ZERO + end.0);
    let mut reroutes = None;
    for of_instant in notices.chunk_by(|one, other| one.time == other.time) {
        let time = of_instant[0].time.saturating_add(converge);
        if time >= end {
            break;
        }
        if reroutes.is_none() {
            let bytes = Reroutes::table_memory(network);
            if bytes > MOST_BYTES {
                let message =
                    "links fail in a network that is too large to compute its routes again".to_owned();
                let [takes, most] = [bytes, MOST_BYTES].map(|bytes| Bytes::new(bytes as u64));
                let label = format!("that takes {takes}; at most {most}");
                let help = "take a smaller network, or set fault-handling.converge beyond the end of the run";
                context.report(&at!["fault"], message, label, help);
                break;
            }
        }
        let links: Vec<u32> = of_instant.iter().map(|notice| notice.link).collect();
        let toggled = match &mut reroutes {
            Some(reroutes) => Ok(reroutes),
            none => Reroutes::new(network, routing, routes).map(|reroutes| none.insert(reroutes)),
        };
        let rerouted = match toggled.and_then(|reroutes| reroutes.toggle(&links)) {
            Ok(rerouted) => rerouted,
            Err(error) => {
                let help = "let fewer links fail at a time";
                context.report(&at!["fault"], error.to_string(), "without the links that fail", help);
                break;
            }
        };
        let change = |Rerouted { switch, ways }: &Rerouted| {
            let what = Change::Routes { from: ways.start, until: ways.end };
            FaultChange { time, node: *switch, fault: of_instant[0].fault, what }
        };
        changes.extend(rerouted.iter().map(change));
        let memory = reroutes.as_ref().map_or(0, Reroutes::memory) + size_of_val(changes.as_slice());
        if memory > MOST_BYTES {
            let message = "the faults bring switches new routes too often".to_owned();
            let label = format!("their routes take more than {}", Bytes::new(MOST_BYTES as u64));
            let help = "let fewer links fail, or raise fault-handling.converge and detect";
            context.report(&at!["fault"], message, label, help);
            break;
        }
    }
    reroutes.map(Reroutes::ways).unwrap_or_default()
}
