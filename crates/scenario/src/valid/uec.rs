//! Flows of Ultra Ethernet: which traffic entries are made of them, their kinds, and what does not go together with them.
use backwater_control::uec::settings::WhenOversubscribed;
use backwater_control::uec::{NsccConfig, Reach, SpreadConfig, nscc};
use backwater_fabric::{UecCredits, UecSpec, UecWindow};
use backwater_topology::{Network, Routes, facts};
use backwater_units::{Bytes, Rate, Span};

use super::cc::{below, name};
use super::{Context, is_put, mtu};
use crate::document::{Step, at};
use crate::quantity::{AutoOr, Quantity};
use crate::settings::{BaseRtt, CcKind, CcSettings, Kinds, OnOverflow, Settings, Transport};

/// So many quanta a pull may be ahead of the one before that a sender knows: half of what its 20 bits count.
const MOST_QUANTA: u64 = 1 << 19;

/// Whether a traffic entry is made of flows of UEC.
pub(super) fn is_uec(settings: &Settings, entry: usize) -> bool {
    settings.traffic.get(entry).is_some_and(|entry| entry.transport == Some(Transport::Uec))
}

/// Whether some entry is.
pub(super) fn some(settings: &Settings) -> bool {
    (0..settings.traffic.len()).any(|entry| is_uec(settings, entry))
}

/// Whether some flows of UEC go by credits of their receivers.
pub(super) fn by_credits(settings: &Settings) -> bool {
    let entries = settings.traffic.iter().enumerate().filter(|(index, _)| is_uec(settings, *index));
    let kinds = entries.map(|(_, entry)| entry.cc.as_ref().unwrap_or(&settings.cc).kind);
    kinds.into_iter().any(|kind| matches!(kind, CcKind::Rccc | CcKind::NsccRccc))
}

/// Whether it has queue pairs.
pub(super) fn has_pairs(settings: &Settings, entry: usize) -> bool {
    !is_put(settings, entry) && !is_uec(settings, entry)
}

/// Whether a reaction point rules flows of UEC alone.
const fn is_of_uec(kind: CcKind) -> bool {
    matches!(kind, CcKind::Nscc | CcKind::Rccc | CcKind::NsccRccc)
}

/// The kinds of flows of UEC, and which of them each traffic entry has.
pub(super) struct Uecs {
    kinds: Vec<(CcSettings, Vec<Step>)>,
    pub(super) of_entry: Vec<Option<u16>>,
}

impl Uecs {
    /// Entries with the same control have the same kind.
    pub(super) fn new(settings: &Settings) -> Self {
        let mut uecs = Self { kinds: Vec::new(), of_entry: Vec::new() };
        for (index, entry) in settings.traffic.iter().enumerate() {
            let (cc, place) = match &entry.cc {
                Some(own) => (own, at!["traffic", index, "cc"].to_vec()),
                None => (&settings.cc, at!["cc"].to_vec()),
            };
            let kind = is_uec(settings, index).then(|| uecs.kind(cc, place));
            uecs.of_entry.push(kind);
        }
        uecs
    }

    fn kind(&mut self, cc: &CcSettings, place: Vec<Step>) -> u16 {
        let known = self.kinds.iter().position(|(kind, _)| kind == cc).unwrap_or(self.kinds.len());
        if known == self.kinds.len() {
            self.kinds.push((cc.clone(), place));
        }
        known as u16
    }

    /// The kinds as the fabric needs them; `None` if something is wrong, which is reported.
    pub(super) fn specs(
        &self,
        context: &mut Context<'_>,
        network: &Network,
        routes: &Routes,
    ) -> Option<Vec<UecSpec>> {
        let before = context.problems.len();
        queue_pairs(context);
        if self.kinds.is_empty() {
            return (context.problems.len() == before).then(Vec::new);
        }
        fits(context, network);
        let facts = Facts::new(context.settings, network, routes);
        let specs = self.kinds.iter().filter_map(|(cc, place)| spec(context, cc, place, &facts)).collect();
        (context.problems.len() == before).then_some(specs)
    }
}

/// Reports queue pairs that are to be ruled by what rules UEC.
fn queue_pairs(context: &mut Context<'_>) {
    let settings = context.settings;
    for (index, entry) in settings.traffic.iter().enumerate().filter(|(index, _)| has_pairs(settings, *index))
    {
        let (cc, place) = match &entry.cc {
            Some(own) => (own, at!["traffic", index, "cc", "kind"].to_vec()),
            None => (&settings.cc, at!["cc", "kind"].to_vec()),
        };
        if is_of_uec(cc.kind) {
            let (key, kind, entry) = (name(&place), cc.kind.word(), &entry.name);
            let message = format!(
                "{key} = {kind:?} rules flows of transport = \"uec\", and traffic.{entry} has queue pairs"
            );
            let help = format!(
                "write host.transport = \"uec\", or traffic.{entry}.transport = \"uec\"; or another {key}"
            );
            context.report(&place, message, "not for queue pairs", help);
        }
    }
}

/// Reports networks and numbers that UEC does not go with; with which choices it does not is in the table (`compatibility.rs`).
fn fits(context: &mut Context<'_>, network: &Network) {
    let settings = context.settings;
    if network.with_several_ports().is_some() {
        context.report(
            &at!["host", "transport"],
            "transport = \"uec\" sends by the one port of a host, and some host has several".to_owned(),
            "not with uec",
            "write host.transport = \"roce\"",
        );
    }
    if !settings.uec.entropies.is_power_of_two() {
        let entropies = settings.uec.entropies;
        let help = format!("write {}", entropies.next_power_of_two());
        context.report(
            &at!["uec", "entropies"],
            format!("uec.entropies = {entropies} is no power of two"),
            "allowed: 1, 2, 4, … 1024",
            help,
        );
    }
    if !settings.uec.range.is_power_of_two() {
        let range = settings.uec.range;
        let help = format!("write {}", range.next_power_of_two());
        context.report(
            &at!["uec", "range"],
            format!("uec.range = {range} is no power of two"),
            "allowed: 64, 128, … 16384",
            help,
        );
    }
}

/// The network as all flows see it.
struct Facts {
    rate: Rate,
    /// The longest unloaded round trip, of which twice the propagation.
    rtt: Span,
    propagation: Span,
    /// How much more hosts send than switches forward to others.
    ratio: f64,
}

impl Facts {
    /// Every link counts with the rate of the fastest host (`main_uec.cpp:51`).
    fn new(settings: &Settings, network: &Network, routes: &Routes) -> Self {
        let nics = network.hosts().iter().flat_map(|host| network.ports(*host));
        let rate = nics.map(|port| port.rate).max().unwrap_or(Rate::from_gbps(1));
        let frames = [mtu(settings), settings.uec.ack_size.0].map(|size| rate.serialize(size).as_ps());
        let rtt = facts::farthest(network, routes, |link| 2 * link.delay.as_ps() + frames[0] + frames[1]);
        let propagation = facts::farthest(network, routes, |link| 2 * link.delay.as_ps());
        Self { rate, rtt: Span::from_ps(rtt), propagation: Span::from_ps(propagation), ratio: ratio(network) }
    }
}

/// The largest share of what hosts bring to a switch that it has links to other switches for, the other way round.
fn ratio(network: &Network) -> f64 {
    let switches = (0..network.nodes().len() as u32).filter(|node| network.is_switch(*node));
    let of = |node| {
        let (mut down, mut up) = (0, 0);
        for port in network.ports(node) {
            *(if network.is_switch(port.peer) { &mut up } else { &mut down }) += port.rate.as_bps();
        }
        if up == 0 { 1.0 } else { down as f64 / up as f64 }
    };
    switches.map(of).fold(1.0, f64::max)
}

/// A kind as the fabric needs it.
fn spec(context: &mut Context<'_>, cc: &CcSettings, place: &[Step], facts: &Facts) -> Option<UecSpec> {
    let settings = context.settings;
    let (uec, mtu, trims) = (&settings.uec, mtu(settings).get() as u16, trims(settings));
    let (windows, credits) = match cc.kind {
        CcKind::None | CcKind::Nscc => (true, false),
        CcKind::Rccc => (false, true),
        CcKind::NsccRccc => (true, true),
        other => {
            let (key, word) = (name(&below(place, "kind")), other.word());
            let message = format!("{key} = {word:?} rules queue pairs, and not flows of transport = \"uec\"");
            let help = format!("set {key} = \"nscc\", \"rccc\", \"nscc+rccc\" or \"none\"");
            context.report(&below(place, "kind"), message, "not for uec", help);
            return None;
        }
    };
    let reach = Reach {
        rtt: facts.rtt,
        rate: facts.rate,
        mtu,
        payload: settings.packet.payload.0.get() as u16,
        trims,
    };
    let most = nscc::most_window(facts.rtt.as_ps(), facts.rate).max(u64::from(mtu));
    let first = if let AutoOr::Given(Quantity(given)) = uec.window { given.get() } else { most };
    if first < u64::from(mtu) {
        let message = format!(
            "uec.window = {} is less than a packet, {}B: nothing could be sent",
            Quantity(Bytes::new(first)),
            mtu
        );
        context.report(
            &at!["uec", "window"],
            message,
            format!("at least {mtu}B"),
            "raise uec.window, or write \"auto\"",
        );
        return None;
    }
    let nscc = (cc.kind != CcKind::None && windows).then(|| NsccConfig::new(&reach, &cc.nscc.choice()));
    if let Some(Err(error)) = nscc.map(|config| config.validate(&cc.nscc.choice())) {
        context.refuse(&below(place, "nscc"), &error);
        return None;
    }
    let config = cc.rccc.config(most, mtu);
    let ahead = (most / u64::from(config.quantum)).max(config.grant.into());
    if credits && ahead >= MOST_QUANTA {
        let quantum = most.max(cc.rccc.credit.0.get()) / MOST_QUANTA + 1;
        let message = format!(
            "{} = {} is too small: a pull or the largest window, {most}B, is {ahead} quanta, and pulls count up to {MOST_QUANTA} ahead",
            name(&below(&below(place, "rccc"), "quantum")),
            cc.rccc.quantum
        );
        let help = format!("write at least {quantum}B, or lower the credit of a pull");
        context.report(&below(&below(place, "rccc"), "quantum"), message, "too small", help);
        return None;
    }
    Some(UecSpec {
        delivery: uec.delivery,
        window: windows.then_some(UecWindow { first, nscc }),
        credits: credits.then(|| UecCredits {
            config,
            rate: cc.rccc.rate,
            oversubscribed: oversubscribed(cc, windows, facts),
        }),
        base: facts.rtt,
        pair: (uec.base_rtt == BaseRtt::Pair).then_some(facts.propagation),
        spread: SpreadConfig { kind: uec.spread, entropies: uec.entropies as u16 },
        ack_bytes: uec.ack_bytes.0.get() as u32,
        frame: uec.ack_size.0,
        rto: if let AutoOr::Given(Quantity(given)) = uec.rto { given } else { patience(&reach) },
        doubles: uec.backoff,
        range: uec.range,
    })
}

fn oversubscribed(cc: &CcSettings, windows: bool, facts: &Facts) -> Option<f64> {
    let on = match cc.rccc.oversubscribed {
        WhenOversubscribed::Auto => facts.ratio > 1.0 && !windows,
        WhenOversubscribed::On => true,
        WhenOversubscribed::Off => false,
    };
    on.then_some(facts.ratio)
}

/// 15 µs, and what six queues of one bandwidth-delay product in whole packets take (`main_uec.cpp:695`).
fn patience(reach: &Reach) -> Span {
    let packets = reach.bdp().div_ceil(u64::from(reach.mtu));
    let queue = Bytes::new(packets * u64::from(reach.mtu));
    Span::from_us(15) + reach.rate.serialize(queue) * 6
}

/// Whether switches trim.
fn trims(settings: &Settings) -> bool {
    settings.switch.overflow == OnOverflow::Trim
}
