//! The kinds of queue pairs: reaction point, notification point and acknowledgements of each traffic entry.
use backwater_codes::Code;
use std::collections::BTreeSet;

use backwater_control::ConfigError;
use backwater_control::notify::NotifyConfig;
use backwater_control::reaction::ReactionConfig;
use backwater_control::reaction::settings::{Notifications, Pacing, PathFacts, Segments, WindowCounts};
use backwater_fabric::{AckSpec, PairSpec, SegmentSpec};
use backwater_topology::{Network, Port, Routes, facts};
use backwater_traffic::Flow;
use backwater_units::{Bytes, Rate, Span};

use super::uec::is_uec;
use super::{Context, has_pairs, is_put, reliability, user, windows};
use crate::document::{Step, at};
use crate::settings::{
    CcKind, CcSettings, Clock, DetectorKind, Kinds, NicPort, OnUe, Settings, Variant, Workload,
};

/// The kinds of queue pairs, and which of them each traffic entry has.
pub(super) struct Pairs {
    pub(super) kinds: Vec<PairSpec>,
    pub(super) of_entry: Vec<u16>,
    /// By traffic entry: whether it has no queue pairs, but PUTs.
    puts: Vec<bool>,
    /// The same of flows of UEC.
    uecs: Vec<bool>,
}

impl Pairs {
    /// The priority of the ACKs of flows of an entry with a priority, if they have any. TIMELY has them whatever `ack.every` says;
    /// those of PUTs have their own.
    pub(super) fn ack_priority(&self, group: u16, priority: u8) -> Option<u8> {
        if self.puts.get(usize::from(group)) == Some(&true) {
            return Some(priority);
        }
        if self.uecs.get(usize::from(group)) == Some(&true) {
            return None;
        }
        let kind = self.of_entry.get(usize::from(group)).copied().unwrap_or_default();
        self.kinds[usize::from(kind)].ack.map(|ack| ack.priority.unwrap_or(priority))
    }
}

/// Writes out the defaults that depend on the detector.
pub(super) fn fill(settings: &mut Settings) {
    let fraction = settings.switch.detector.kind.congested_share();
    let own = settings.traffic.iter_mut().filter_map(|entry| entry.cc.as_mut());
    for cc in own.chain([&mut settings.cc]) {
        let own = cc.wants().notifications.share();
        cc.np_fraction.get_or_insert(fraction.max(own));
    }
}

/// The queue pairs of all entries; what is wrong with a `[cc]` is reported once.
pub(super) fn pairs(
    context: &mut Context<'_>,
    network: &Network,
    routes: &Routes,
    flows: &[Flow],
) -> Option<Pairs> {
    let settings = context.settings;
    let shares = |flow: &&Flow| {
        let index = usize::from(flow.group);
        has_pairs(settings, index) && settings.traffic.get(index).is_none_or(|entry| entry.cc.is_none())
    };
    // Nobody's: it is judged as if it were everybody's. So is what measures round trips, by the longest of the network.
    let of_common: Vec<Flow> = flows.iter().filter(shares).copied().collect();
    let round_trips = settings.cc.wants().segments.is_some();
    let all = if of_common.is_empty() || round_trips { flows } else { &of_common };
    let common = pair(context, &settings.cc, &at!["cc"], &Fabric { network, routes, flows: all });
    let of = |test: fn(&Settings, usize) -> bool| {
        (0..settings.traffic.len()).map(move |entry| test(settings, entry)).collect()
    };
    let (puts, uecs) = (of(is_put), of(is_uec));
    reliability::check(context, flows, |index| {
        let own: Vec<Flow> = flows.iter().filter(|flow| usize::from(flow.group) == index).copied().collect();
        Fabric { network, routes, flows: &own }.facts(settings)
    });
    let facts = || Fabric { network, routes, flows: all }.facts(settings);
    let shared = settings.transport.reliability;
    let bare = common.as_ref().and_then(|pair| pair.ack);
    let common = common.map(|pair| reliability::with(&pair, shared, settings, facts));
    let mut pairs = Pairs { kinds: common.into_iter().collect(), of_entry: Vec::new(), puts, uecs };
    let mut whole = !pairs.kinds.is_empty();
    for (index, entry) in settings.traffic.iter().enumerate() {
        let own_kind = reliability::of(settings, index);
        if !has_pairs(settings, index) || (entry.cc.is_none() && own_kind == shared) {
            pairs.of_entry.push(0);
            continue;
        }
        let own: Vec<Flow> = flows.iter().filter(|flow| usize::from(flow.group) == index).copied().collect();
        let fabric = Fabric { network, routes, flows: &own };
        let made = match &entry.cc {
            Some(cc) => pair(context, cc, &at!["traffic", index, "cc"], &fabric),
            None => pairs.kinds.first().map(|common| PairSpec { ack: bare, ..common.clone() }),
        };
        let Some(made) = made else {
            whole = false;
            continue;
        };
        let made = reliability::with(&made, own_kind, settings, || fabric.facts(settings));
        let known = pairs.kinds.iter().position(|kind| *kind == made).unwrap_or(pairs.kinds.len());
        if known == pairs.kinds.len() {
            pairs.kinds.push(made);
        }
        pairs.of_entry.push(known as u16);
    }
    whole.then_some(pairs)
}

/// What the queue pairs run over.
pub(super) struct Fabric<'a> {
    pub(super) network: &'a Network,
    pub(super) routes: &'a Routes,
    pub(super) flows: &'a [Flow],
}

impl Fabric<'_> {
    /// The network as each flow has it for itself.
    pub(super) fn facts(&self, settings: &Settings) -> PathFacts {
        let ends: BTreeSet<(u32, u32)> = self.flows.iter().map(|flow| (flow.src, flow.dst)).collect();
        let trip = |(src, dst)| {
            let path = self.routes.path(self.network, src, dst, |_| 0);
            let ports = path.iter().map(|&(node, port)| &self.network.ports(node)[usize::from(port)]);
            let one_way: u64 = ports.clone().map(|port| port.delay.as_ps()).sum();
            (ports.map(|port| super::round_trip(settings, port)).sum::<u64>(), path.len() as u64, one_way)
        };
        let mut trips: Vec<(u64, u64, u64)> = ends.iter().copied().map(trip).collect();
        // What will be injected may go between any two hosts.
        let is_any = settings.traffic.iter().any(|entry| matches!(entry.workload, Workload::Injected {}));
        if is_any {
            let most = |cost: &dyn Fn(&Port) -> u64| facts::farthest(self.network, self.routes, cost);
            let round_trip = |port: &Port| super::round_trip(settings, port);
            trips.push((most(&round_trip), most(&|_| 1), most(&|port| port.delay.as_ps())));
        }
        let (rtt, links) = trips.iter().map(|&(rtt, links, _)| (rtt, links)).max().unwrap_or((1, 1));
        let shortest = trips.iter().map(|&(rtt, ..)| rtt).min().unwrap_or(rtt);
        let one_way = trips.iter().map(|&(.., one_way)| one_way).max().unwrap_or(1);
        // A host that only receives, or nothing, sets no pace; nor does a port by which nothing leaves.
        let by = |&(src, dst): &(u32, u32)| {
            let node = self.network.hosts()[src as usize];
            let ports = self.routes.next_ports(node, dst).iter();
            let rates = ports.map(move |port| self.network.ports(node)[usize::from(*port)].rate);
            if settings.host.nic.port == NicPort::Spray {
                vec![Rate::from_bps(rates.map(Rate::as_bps).sum())]
            } else {
                rates.collect()
            }
        };
        let hosts = if is_any { self.network.hosts().len() as u32 } else { 0 };
        let any = (0..hosts).flat_map(|host| self.network.nics(host)).map(|nic| nic.rate);
        let nics = ends.iter().flat_map(by).chain(any);
        let line = nics.clone().max().unwrap_or(Rate::from_gbps(1));
        PathFacts {
            propagation: Span::from_ps(2 * one_way),
            rtt: Span::from_ps(rtt),
            shortest: Span::from_ps(shortest),
            links: links.max(1),
            line,
            slowest: nics.min().unwrap_or(line),
            payload: settings.packet.payload.0,
            mtu: super::mtu(settings),
        }
    }
}

/// The key by which a kind wants something of receivers, and its value: the one that chooses a variant, or the kind where it has none.
fn wanting(kind: CcKind, why: (&'static str, &'static str), place: &[Step]) -> (Vec<Step>, &'static str) {
    match why {
        ("", _) => (below(place, "kind"), kind.word()),
        (key, word) => (below(&below(place, kind.word()), key), word),
    }
}

/// The queue pairs of a `[cc]` that stands at `place`.
fn pair(context: &mut Context<'_>, cc: &CcSettings, place: &[Step], fabric: &Fabric<'_>) -> Option<PairSpec> {
    let settings = context.settings;
    let (mut reaction, wants) = (cc.resolve(&|| fabric.facts(settings)), cc.wants());
    if let ReactionConfig::DcqcnHpcc(config) = &mut reaction {
        config.cnps_first = settings.run.clock == Clock::Ns3;
    }
    if let Err(error) = reaction.validate(super::mtu(settings).get() as u32) {
        let shared = cc.kind.reads(error.parameter);
        context.refuse(&if shared { place.to_vec() } else { below(place, cc.kind.word()) }, &error);
        return None;
    }
    slowest(context, cc, place, fabric.network);
    forgets(context, cc, place, fabric);
    let ack = settings.ack;
    if wants.echoes && ack.every == 0 {
        let (at, word) = wanting(cc.kind, cc.unread().why, place);
        let name = name(&at);
        let message = format!("{name} = {word:?} gets its marks from ACKs, but ack.every = 0 sends none");
        context.report(&at, message, "needs ACKs", format!("set ack.every = 1, or another {name}"));
    }
    let advised = wants.notifications == Notifications::Advice;
    if (wants.step || advised) && settings.switch.detector.kind == DetectorKind::None {
        let (kind, what) = (name(&below(place, "kind")), if advised { "rates" } else { "windows" });
        let caveat = format!(
            "{kind} = {:?} gets no marks with switch.detector.kind = \"none\": its {what} only grow",
            cc.kind.word()
        );
        context.caveat(Code::NoMarks, "switch.detector.kind", caveat);
    }
    if advised {
        countable(context, cc, place, fabric.network);
    }
    let custom = if cc.kind == CcKind::Custom { Some(user::controller(context, cc, place)?) } else { None };
    let segment = wants.segments.map(|segments| segment(segments, cc, settings));
    let has_window = reaction.has_window();
    if has_window {
        windows::check(context, cc, &reaction, place, fabric);
    }
    let every = segment.map_or(if has_window { 1 } else { ack.every }, |segment| segment.packets);
    let prompt = (has_window || segment.is_some()).then_some(settings.switch.control_priority);
    Some(PairSpec {
        reaction,
        custom,
        notify: notify(context, cc, place)?,
        cnp_size: cc.cnp_size.0,
        ack: (every > 0).then_some(AckSpec { every, size: ack.size.0, priority: ack.priority.or(prompt) }),
        segment,
        payload_windows: cc.window_counts == WindowCounts::Payload,
        reliable: None,
    })
}

/// The bytes of a period, which a receiver counts in 32 bits.
fn countable(context: &mut Context<'_>, cc: &CcSettings, place: &[Step], network: &Network) {
    // A flow may come by all links of a host.
    let rate = |&host: &u32| network.ports(host).iter().map(|port| port.rate.as_bps()).sum();
    let Some(line) = network.hosts().iter().map(rate).max().map(Rate::from_bps) else { return };
    let (interval, most) = (cc.cnp_interval.0, line.serialize(Bytes::new(u32::MAX.into())));
    if interval > most {
        let at = below(place, "cnp-interval");
        let message = format!(
            "{} = {interval} is too long for cc.kind = {:?}: receivers count the bytes of it in 32 bits, and links bring {line}",
            name(&at),
            cc.kind.word()
        );
        context.report(
            &at,
            message,
            format!("allowed: {most} or less"),
            "write a shorter one; PCN's is 50us",
        );
    }
}

/// Segments are whole packets, at least one.
fn segment(segments: Segments, cc: &CcSettings, settings: &Settings) -> SegmentSpec {
    if segments == Segments::OncePerRoundTrip {
        return SegmentSpec { packets: 1, burst: false, once_per_round_trip: true };
    }
    let packets = cc.segment.0.get() / settings.packet.payload.0.get();
    SegmentSpec {
        once_per_round_trip: false,
        packets: u32::try_from(packets.max(1)).unwrap_or(u32::MAX),
        burst: cc.pacing == Pacing::Burst,
    }
}

/// A target that falls to the rate at each UE, and increments that do not lead back while the flows last. Of the profile's own words, which
/// are the authors' release, nothing is said.
fn forgets(context: &mut Context<'_>, cc: &CcSettings, place: &[Step], fabric: &Fabric<'_>) {
    let settings = context.settings;
    let chosen = !context.scenario.of_profile(&below(place, "dcqcn.on-ue"));
    let acts = cc.kind == CcKind::Dcqcn && settings.switch.detector.kind.marks_ue();
    let rates =
        fabric.network.hosts().iter().flat_map(|&host| fabric.network.ports(host)).map(|port| port.rate);
    let Some(line) = rates.min().filter(|_| chosen && acts && cc.dcqcn.on_ue == OnUe::ResetHold) else {
        return;
    };
    let sizes = fabric.flows.iter().map(|flow| flow.size).filter(|&size| size < Bytes::MAX);
    let Some(largest) = sizes.max() else { return };
    // From half of the line rate, as after a cut by alpha = 1.
    let half = u128::from(line.as_bps() / 2);
    let dcqcn = &cc.dcqcn;
    let (add, stages) = match dcqcn.variant {
        Variant::ByteCounter => (dcqcn.rate_ai, dcqcn.fast_recovery),
        Variant::DecreaseCheck => (dcqcn.rate_hai, dcqcn.fast_recovery + 1),
    };
    let steps = u128::from(stages) + half / u128::from(add.0.as_bps().max(1));
    let back = u64::try_from(steps * u128::from(dcqcn.rate_timer.0.as_ps())).unwrap_or(u64::MAX);
    let takes = u128::from(largest.get()) * 8 * 1_000_000_000_000 / half.max(1);
    if u128::from(back) > takes {
        let (name, back) = (format!("{}.dcqcn", name(place)), Span::from_ps(back));
        let takes = Span::from_ps(u64::try_from(takes).unwrap_or(u64::MAX));
        context.caveat(Code::TargetForgotten, format!("{name}.on-ue"), format!(
            "{name}.on-ue = \"reset-hold\": a flow that meets UE after a cut has nothing to recover to but what {name}.rate-ai = {}, \
             rate-hai = {} and rate-timer = {} add: from half of {line} back to it that takes {back}, and the largest flow lasts {takes} \
             at that half. The TCD paper (section 5.2) keeps the rate: {name}.on-ue = \"timer-hold\"",
            dcqcn.rate_ai, dcqcn.rate_hai, dcqcn.rate_timer,
        ));
    }
}

/// A flow must be able to go as slowly as it is told at least.
fn slowest(context: &mut Context<'_>, cc: &CcSettings, place: &[Step], network: &Network) {
    let nics = network.hosts().iter().filter_map(|&host| network.ports(host).first());
    let slowest = nics.map(|port| port.rate).min();
    let reads = cc.kind.reads("min-rate");
    if let Some(slowest) = slowest.filter(|&slowest| reads && slowest < cc.min_rate.0) {
        let name = name(place);
        let message =
            format!("{name}.min-rate = {} is more than the slowest host link, {slowest}", cc.min_rate);
        let label = format!("allowed: at most {slowest}");
        context.report(&below(place, "min-rate"), message, label, format!("lower {name}.min-rate"));
    }
}

/// The notification point, if receivers send CNPs; `None` if it is wrong.
#[allow(clippy::option_option, reason = "no notification point is a good outcome, a wrong one is not")]
fn notify(context: &mut Context<'_>, cc: &CcSettings, place: &[Step]) -> Option<Option<NotifyConfig>> {
    let config = cc.notify();
    match config.map_or(Ok(()), |config| config.validate()) {
        Ok(()) => Some(config),
        Err(error) => {
            context.refuse(place, &error);
            None
        }
    }
}

/// A key in a table; one with dots leads through further tables.
pub(super) fn below(place: &[Step], key: &'static str) -> Vec<Step> {
    place.iter().cloned().chain(key.split('.').map(Step::from)).collect()
}

/// The place as messages call it: `traffic.2.cc`.
pub(super) fn name(place: &[Step]) -> String {
    let word = |step: &Step| match step {
        Step::Key(key) => (*key).to_owned(),
        Step::Index(index) => index.to_string(),
    };
    place.iter().map(word).collect::<Vec<_>>().join(".")
}

impl Context<'_> {
    /// Reports what an algorithm says about its parameters, at the parameter's key in a table.
    pub(super) fn refuse(&mut self, table: &[Step], error: &ConfigError) {
        let message = format!("{}.{} = {} is not allowed", name(table), error.parameter, error.value);
        let label = format!("must be {}", error.allowed);
        self.report(&below(table, error.parameter), message, label, error.fix);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_wants_echoes_is_named_by_its_variant_or_where_it_has_none_by_its_kind() {
        let place = below(&[], "cc");
        let of = |why| {
            let (at, word) = wanting(CcKind::Dcqcn, why, &place);
            format!("{} = {word:?}", name(&at))
        };
        assert_eq!(of(("variant", "decrease-check")), "cc.dcqcn.variant = \"decrease-check\"");
        assert_eq!(of(("", "")), "cc.kind = \"dcqcn\"");
    }
}
