//! Values that follow the rate of the links: `[line-rate]`.
use backwater_codes::{Code, Remark};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use backwater_topology::Network;
use backwater_units::{Bytes, Rate};

use crate::document::{Step, at};
use crate::quantity::{Quantity, Unit};
use crate::scenario::Scenario;
use crate::settings::{ByRate, CcKind, FlowControl, Settings};

/// The largest `switch.buffer` that the schema allows.
const LARGEST_BUFFER: u64 = 4_000_000_000;

/// Links that are this many times faster or slower than what the profile is meant for are unlike it: a note says so.
const UNLIKE: u64 = 2;

/// So far from it that results may mislead: a caveat says so. From one generation of links to the next but one, such as 100 and 400 Gbps.
const FAR: u64 = 4;

/// The rates that the rule is meant for, in bit/s: those of Ethernet in data centres with RoCE (IEEE 802.3by, 25 Gbps, to 802.3df, 800 Gbps).
const RULE: RangeInclusive<u64> = 25_000_000_000..=800_000_000_000;

/// What was said of values and rates.
#[derive(Default)]
pub(super) struct Said {
    pub(super) notes: Vec<Remark>,
    pub(super) caveats: Vec<Remark>,
}

/// What the remarks are about.
const PLACE: &str = "line-rate";

/// Where values come from, and for which links they are meant.
struct Rule<'a> {
    scenario: &'a Scenario,
    meant_for: u64,
    scale: bool,
}

/// One key that may follow: what it would be by the rule, what it is.
struct Value {
    key: String,
    by_rule: String,
    given: Option<String>,
}

impl Rule<'_> {
    fn of_profile(&self, path: &[Step]) -> bool {
        self.scenario.of_profile(path)
    }

    /// What is `value` at the rate that the profile is meant for, at `rate`.
    fn at(&self, value: u64, rate: Rate) -> u64 {
        let scaled = u128::from(value) * u128::from(rate.as_bps()) / u128::from(self.meant_for);
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }

    /// Lets a value of the profile follow, and says what came of it.
    fn follow<T: Unit + From64>(
        &self,
        path: &[Step],
        value: &mut Quantity<T>,
        (rate, most): (Rate, u64),
    ) -> Value {
        let key = super::cc::name(path);
        let by_rule = |of: T| T::from_u64(self.at(of.to_u64(), rate).clamp(1, most));
        if self.of_profile(path) {
            value.0 = by_rule(value.0);
            return Value { key, by_rule: value.to_string(), given: None };
        }
        let own = self.scenario.default_of(path).and_then(|text| text.parse().ok()).map(by_rule);
        let by_rule = own.map(|own| Quantity(own).to_string()).unwrap_or_default();
        Value { key, by_rule, given: Some(value.to_string()) }
    }
}

/// Units of which a rule makes multiples.
trait From64 {
    fn from_u64(value: u64) -> Self;
    fn to_u64(self) -> u64;
}

impl From64 for Bytes {
    fn from_u64(value: u64) -> Self {
        Self::new(value)
    }
    fn to_u64(self) -> u64 {
        self.get()
    }
}

impl From64 for Rate {
    fn from_u64(value: u64) -> Self {
        Self::from_bps(value)
    }
    fn to_u64(self) -> u64 {
        self.as_bps()
    }
}

/// Lets the profile's values follow the rates of `network`. What the scenario gives stays.
pub(super) fn follow(scenario: &Scenario, settings: &mut Settings, network: &Network) -> Said {
    let rule = Rule {
        scenario,
        meant_for: settings.line_rate.meant_for.0.as_bps(),
        scale: settings.line_rate.scale,
    };
    let hosts = network.hosts().iter().flat_map(|&host| network.outward(host)).map(|port| port.rate);
    let Some(line) = usual(hosts) else { return Said::default() };
    if !rule.scale {
        let mut said = Said::default();
        if let Some(far) = unlike(&rule, settings, network, FAR) {
            said.caveats.push(Remark::new(Code::OtherLineRate, PLACE, far));
        } else {
            let near = unlike(&rule, settings, network, UNLIKE);
            said.notes.extend(near.map(|near| Remark::new(Code::UnlikeLineRate, PLACE, near)));
        }
        return said;
    }
    let mut values =
        vec![rule.follow(&at!["switch", "buffer"], &mut settings.switch.buffer, (line, LARGEST_BUFFER))];
    let (of_line, of_ports) = thresholds(&rule, settings, network, line);
    values.extend(of_line);
    values.extend(increments(&rule, settings, line));
    let mut notes = Vec::new();
    let profile = settings.profile.name();
    let (given, following): (Vec<&Value>, Vec<&Value>) =
        values.iter().partition(|value| value.given.is_some());
    if line.as_bps() != rule.meant_for && !following.is_empty() {
        let list: Vec<String> =
            following.iter().map(|value| format!("{} = {}", value.key, value.by_rule)).collect();
        let message = format!(
            "by the rate of most hosts' links, {line}, as profile {profile} has it for {}: {}",
            settings.line_rate.meant_for,
            list.join(", ")
        );
        let [slowest, fastest] = [*RULE.start(), *RULE.end()].map(Rate::from_bps);
        let beyond = if RULE.contains(&line.as_bps()) {
            String::new()
        } else {
            format!(". The rule is meant for {slowest} to {fastest}: check whether these values fit")
        };
        notes.push(Remark::new(Code::FollowsLineRate, PLACE, message + &beyond));
    }
    if !of_ports.is_empty() {
        let message = format!(
            "by the rate of each port, as profile {profile} has it for {}: switch.detector of ports of {}",
            settings.line_rate.meant_for,
            of_ports.join(", of ")
        );
        notes.push(Remark::new(Code::FollowsLineRate, PLACE, message));
    }
    let other = |value: &&Value| value.given.as_ref().is_some_and(|given| *given != value.by_rule);
    let list: Vec<String> = given
        .into_iter()
        .filter(other)
        .map(|value| {
            format!("{} = {} ({})", value.key, value.given.as_deref().unwrap_or_default(), value.by_rule)
        })
        .collect();
    if !list.is_empty() {
        let message = format!(
            "given, not by the rate of most hosts' links, {line} (in brackets what profile {profile} has for it): {}",
            list.join(", ")
        );
        notes.push(Remark::new(Code::OwnAtLineRate, PLACE, message));
    }
    Said { notes, caveats: Vec::new() }
}

/// The ramp of each rate that a switch's port has: that of most hosts' links, and the others in words.
fn thresholds(
    rule: &Rule<'_>,
    settings: &mut Settings,
    network: &Network,
    line: Rate,
) -> (Vec<Value>, Vec<String>) {
    let mut of_ports = Vec::new();
    let detector = &mut settings.switch.detector;
    let (low, high) = (at!["switch", "detector", "kmin"], at!["switch", "detector", "kmax"]);
    let (kmin, kmax) = (detector.kmin, detector.kmax);
    let follows = [&low, &high].map(|path| rule.of_profile(path));
    if follows.contains(&true) {
        let scaled = |value: Quantity<Bytes>, follows: bool, rate: Rate| {
            Quantity(Bytes::new(if follows { rule.at(value.0.get(), rate) } else { value.0.get() }))
        };
        for rate in rates(network).into_iter().filter(|&rate| rate != line) {
            if detector.by_rate.iter().all(|row| row.rate.0 != rate) {
                let (kmin, kmax) = (scaled(kmin, follows[0], rate), scaled(kmax, follows[1], rate));
                of_ports.push(format!("{rate} kmin = {kmin} and kmax = {kmax}"));
                detector.by_rate.push(ByRate { rate: Quantity(rate), kmin, kmax, pmax: detector.pmax });
            }
        }
    }
    let most = u64::MAX;
    let detector = &mut settings.switch.detector;
    let of_line = vec![
        rule.follow(&low, &mut detector.kmin, (line, most)),
        rule.follow(&high, &mut detector.kmax, (line, most)),
    ];
    (of_line, of_ports)
}

/// The increments of each `[cc]`; those of entries without effect of their own are told once.
fn increments(rule: &Rule<'_>, settings: &mut Settings, line: Rate) -> Vec<Value> {
    let mut told = Vec::new();
    for (index, entry) in settings.traffic.iter_mut().enumerate() {
        let Some(cc) = entry.cc.as_mut() else { continue };
        let place = at!["traffic", index, "cc"];
        let of = |key| super::cc::below(&place, key);
        told.push(rule.follow(&of("dcqcn.rate-ai"), &mut cc.dcqcn.rate_ai, (line, u64::MAX)));
        told.push(rule.follow(&of("dcqcn.rate-hai"), &mut cc.dcqcn.rate_hai, (line, u64::MAX)));
    }
    let cc = &mut settings.cc;
    let dcqcn = &mut cc.dcqcn;
    told.push(rule.follow(&at!["cc", "dcqcn", "rate-ai"], &mut dcqcn.rate_ai, (line, u64::MAX)));
    told.push(rule.follow(&at!["cc", "dcqcn", "rate-hai"], &mut dcqcn.rate_hai, (line, u64::MAX)));
    told
}

/// The rate that most of these ports have; of two as frequent ones the faster.
fn usual(rates: impl Iterator<Item = Rate>) -> Option<Rate> {
    let mut ports = BTreeMap::<Rate, usize>::new();
    rates.for_each(|rate| *ports.entry(rate).or_default() += 1);
    ports.into_iter().max_by_key(|&(rate, count)| (count, rate)).map(|(rate, _)| rate)
}

/// The switches of a network.
fn switches(network: &Network) -> impl Iterator<Item = u32> {
    (0..network.nodes().len() as u32).filter(|&node| network.is_switch(node))
}

/// The rates of the switches' ports, each once.
fn rates(network: &Network) -> BTreeSet<Rate> {
    switches(network).flat_map(|node| network.ports(node)).map(|port| port.rate).collect()
}

/// Values of a profile that is meant for links `factor` times as fast or slow, and that nothing makes follow.
fn unlike(rule: &Rule<'_>, settings: &Settings, network: &Network, factor: u64) -> Option<String> {
    let far =
        |rate: Rate| rate.as_bps() >= rule.meant_for * factor || rate.as_bps() * factor <= rule.meant_for;
    let between = switches(network).filter(|&node| !network.is_scale_up(node));
    let ports = between.flat_map(|node| network.ports(node)).map(|port| port.rate);
    let rate = usual(ports).filter(|&rate| far(rate))?;
    let marks = settings.switch.detector.kind.has_ramp();
    let dcqcn = settings.cc.kind == CcKind::Dcqcn;
    let pfc = settings.switch.flow_control == FlowControl::Pfc;
    let keys = [
        (pfc, at!["switch", "buffer"].to_vec(), settings.switch.buffer.to_string()),
        (marks, at!["switch", "detector", "kmin"].to_vec(), settings.switch.detector.kmin.to_string()),
        (marks, at!["switch", "detector", "kmax"].to_vec(), settings.switch.detector.kmax.to_string()),
        (dcqcn, at!["cc", "dcqcn", "rate-ai"].to_vec(), settings.cc.dcqcn.rate_ai.to_string()),
        (dcqcn, at!["cc", "dcqcn", "rate-hai"].to_vec(), settings.cc.dcqcn.rate_hai.to_string()),
    ];
    let list: Vec<String> = keys
        .into_iter()
        .filter(|(counts, path, _)| *counts && rule.of_profile(path))
        .map(|(_, path, value)| format!("{} = {value}", super::cc::name(&path)))
        .collect();
    (!list.is_empty()).then(|| {
        format!(
            "most links have {rate}, and profile {} is meant for {}: {} are its values for those. Give your own, or make them follow with \
             line-rate.scale = true",
            settings.profile.name(),
            settings.line_rate.meant_for,
            list.join(", ")
        )
    })
}
