//! What a wire loses: a function of the frame and its instant.
use backwater_engine::mix;
use backwater_topology::{Network, Port};
use backwater_units::{Rate, Time};

use crate::fault::OfNode;
use crate::link::egress::Egress;
use crate::packet::Packet;
use crate::record::DropReason;
use crate::spec::{LossShare, LossSpec};
use crate::world::World;

/// Purpose of the random choices; entity: node << 16 | port, then the instant: no two frames of a wire share one.
const LOSS: u64 = 0xfa17;

/// What goes wrong on the way to an ingress port.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    /// Its wire, if that goes down or slows.
    pub(super) wire: Option<Wire>,
    /// What it loses besides.
    pub(super) losses: Losses,
}

/// A wire that fails, as the node knows it at which it ends.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    /// When it goes down, rising, and by which fault.
    downs: Vec<(u64, u16)>,
    /// The sender's side at each of its rates: since when, rising.
    rates: Vec<(u64, Egress)>,
}

impl Wire {
    /// `port` is the sender's.
    pub(crate) fn new(port: &Port, network: &Network, world: &World) -> Self {
        let mut egress = Egress::new(port);
        egress.keep_time(world.clock);
        if let Some(header) = world.cut(network, port) {
            egress.cut_through(header);
        }
        Self { downs: Vec::new(), rates: vec![(0, egress)] }
    }

    pub(crate) fn goes_down(&mut self, time: u64, fault: u16) {
        self.downs.push((time, fault));
    }

    pub(crate) fn slows(&mut self, time: u64, rate: Rate) {
        let nominal = self.rates[0].1;
        self.rates.push((time, nominal.at_rate(rate, &nominal)));
    }

    /// When the first bit of a frame left, and when its last one is there.
    pub(crate) fn times(&self, packet: &Packet) -> (u64, u64) {
        let times = |egress: &Egress| {
            let begun = packet.time.saturating_sub(egress.until_known(packet.size, packet.is_flow_control()));
            (begun, begun + egress.until_known(packet.size, true))
        };
        // A frame keeps the rate at which it began.
        let began = self.rates.iter().rev().map(|(since, egress)| (*since, times(egress)));
        let at_rate = began.into_iter().find(|(since, (begun, _))| since <= begun);
        at_rate.map_or_else(|| times(&self.rates[0].1), |(_, times)| times)
    }

    /// From when until when arrivals may be frames that it lost: no frame begins or ends further from its arrival than this.
    pub(super) fn times_of_loss(&self) -> impl Iterator<Item = (u64, u64)> {
        let longest = self.rates.iter().map(|(_, egress)| egress.until_known(u16::MAX, true)).max();
        let longest = longest.unwrap_or_default();
        self.downs.iter().map(move |(time, _)| (time.saturating_sub(longest), time.saturating_add(longest)))
    }

    /// When a frame is lost and by which fault: the link went down when it had begun and its last bit was not there.
    fn cut(&self, packet: &Packet) -> Option<(u64, u16)> {
        let (begun, there) = self.times(packet);
        let before = self.downs.partition_point(|(time, _)| *time < there);
        let (time, fault) = self.downs[..before].last()?;
        (begun <= *time).then_some((*time, *fault))
    }
}

/// What a node loses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Loss {
    spec: LossSpec,
    seed: u64,
}

impl Loss {
    pub(crate) const fn new(spec: &LossSpec, seed: u64) -> Self {
        Self { spec: *spec, seed }
    }

    fn takes(&self, packet: &Packet, world: &World) -> bool {
        let LossSpec { node, from, until, share, source, destination, .. } = self.spec;
        if packet.time < from.as_ps() || until.as_ps() < packet.time {
            return false;
        }
        // What goes back has its ends the other way round.
        let dst = packet.destination();
        let origin = || {
            let flow = &world.flows[packet.flow as usize];
            if dst == flow.dst { flow.src } else { flow.dst }
        };
        if destination.is_some_and(|host| host != dst) || source.is_some_and(|host| host != origin()) {
            return false;
        }
        let share = match share {
            LossShare::Frames(share) | LossShare::Silent(share) => share,
            LossShare::Bits(rate) => 1.0 - power(1.0 - rate, 8 * u32::from(packet.size)),
        };
        let wire = u64::from(node) << 16 | u64::from(packet.port);
        let draw = mix(mix(self.seed, LOSS, wire), u64::from(self.spec.fault), packet.time) >> 11;
        (draw as f64) < share * (1u64 << 53) as f64
    }
}

/// Several of them, by when they begin.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    all: Vec<Loss>,
    /// The latest end of each and those before it.
    latest: Vec<Time>,
}

impl Losses {
    pub(super) fn add(&mut self, loss: Loss) {
        self.all.push(loss);
    }

    /// All are known.
    pub(super) fn close(&mut self) {
        self.all.sort_by_key(|loss| loss.spec.from);
        let latest = self.all.iter().scan(Time::ZERO, |latest, loss| {
            *latest = loss.spec.until.max(*latest);
            Some(*latest)
        });
        self.latest = latest.collect();
    }

    /// From when until when each of them loses something.
    pub(super) fn times(&self) -> impl Iterator<Item = (u64, u64)> {
        self.all.iter().map(|loss| (loss.spec.from.as_ps(), loss.spec.until.as_ps()))
    }

    /// Those that may be in force at an instant.
    fn around(&self, time: u64) -> impl Iterator<Item = &Loss> {
        let time = Time::from_ps(time);
        let begun = self.all.partition_point(|loss| loss.spec.from <= time);
        let known = self.all[..begun].iter().zip(&self.latest).rev();
        known.take_while(move |(_, latest)| **latest >= time).map(|(loss, _)| loss)
    }
}

impl OfNode {
    /// Why a frame that has come is lost, by which fault, and when: where its header is enough to be known, a link may fail after that.
    pub(crate) fn lost(&self, packet: &Packet, world: &World) -> Option<(DropReason, u16, u64)> {
        if !packet.kind.is_on_a_wire() {
            return None;
        }
        if let Some((_, fault)) = self.stop.filter(|(time, _)| packet.time > *time) {
            return Some((DropReason::DeadNode, fault, packet.time));
        }
        let line = self.lines.get(usize::from(packet.port));
        let cut = line.and_then(|line| line.wire.as_ref()?.cut(packet));
        if let Some((time, fault)) = cut {
            return Some((DropReason::LinkDown, fault, time.max(packet.time)));
        }
        // A PAUSE here holds until its RESUME: to lose one of them would hold for good, which no link does that repeats them.
        if packet.is_flow_control() {
            return None;
        }
        // What has a wrong bit a link that repeats has sent again before it came.
        let of_wire = line.filter(|_| world.retry.is_none()).map(|line| &line.losses);
        let loss = taken_by(of_wire.into_iter().chain([&self.silent]), packet, world)?;
        let silent = matches!(loss.spec.share, LossShare::Silent(_));
        let reason = if silent { DropReason::Gray } else { DropReason::Corrupted };
        Some((reason, loss.spec.fault, packet.time))
    }
}

impl World {
    /// The fault by which a frame that comes to a node has a wrong bit, if it has.
    pub(crate) fn corrupts(&self, node: u32, frame: &Packet) -> Option<u16> {
        let line = self.faults.as_ref()?.of(node).lines.get(usize::from(frame.port))?;
        taken_by([&line.losses], frame, self).map(|loss| loss.spec.fault)
    }
}

/// The loss that takes a frame; of several the first of the timetable.
fn taken_by<'a>(
    losses: impl IntoIterator<Item = &'a Losses>,
    packet: &Packet,
    world: &World,
) -> Option<&'a Loss> {
    let around = losses.into_iter().flat_map(|losses| losses.around(packet.time));
    around.filter(|loss| loss.takes(packet, world)).min_by_key(|loss| loss.spec.fault)
}

/// `base` to a whole power, by multiplications only: the same on every machine.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use backwater_units::Span;

    /// 100 Gbps, 1 µs: a frame of 1000 B takes 80 ns on the wire.
    fn wire() -> Wire {
        let port =
            Port { peer: 1, peer_port: 0, rate: Rate::from_gbps(100), delay: Span::from_us(1), link: 0 };
        Wire { downs: Vec::new(), rates: vec![(0, Egress::new(&port))] }
    }

    fn sent(begun: u64, wire: u64) -> Packet {
        Packet { time: begun + wire + 1_000_000, size: 1000, ..Packet::NONE }
    }

    #[test]
    fn a_frame_is_lost_if_it_has_begun_and_its_last_bit_is_not_there() {
        let mut wire = wire();
        wire.goes_down(10_000_000, 3);
        // Begun a picosecond after, and at that instant.
        assert_eq!(wire.cut(&sent(10_000_001, 80_000)), None);
        assert_eq!(wire.cut(&sent(10_000_000, 80_000)).map(|(_, fault)| fault), Some(3));
        // There at that instant, and a picosecond later.
        assert_eq!(wire.cut(&sent(8_920_000, 80_000)), None);
        assert_eq!(wire.cut(&sent(8_920_001, 80_000)).map(|(_, fault)| fault), Some(3));
    }

    #[test]
    fn of_several_failures_the_one_in_the_flight_of_a_frame_counts() {
        let mut wire = wire();
        for (number, time) in (0..).zip([1_000_000, 5_000_000, 9_000_000]) {
            wire.goes_down(time, number);
        }
        assert_eq!(wire.cut(&sent(4_500_000, 80_000)).map(|(_, fault)| fault), Some(1));
        assert_eq!(wire.cut(&sent(6_000_000, 80_000)), None);
        assert_eq!(wire.cut(&sent(8_999_999, 80_000)).map(|(_, fault)| fault), Some(2));
    }

    #[test]
    fn a_frame_keeps_the_rate_at_which_it_began() {
        let mut wire = wire();
        wire.slows(2_000_000, Rate::from_gbps(10));
        wire.goes_down(3_500_000, 0);
        // At 10 Gbps it takes 800 ns: begun at 2 µs it is there at 3.8 µs, begun before it would be at 3.08 µs at most.
        assert_eq!(wire.times(&sent(2_000_000, 800_000)), (2_000_000, 3_800_000));
        assert_eq!(wire.cut(&sent(2_000_000, 800_000)).map(|(_, fault)| fault), Some(0));
        assert_eq!(wire.times(&sent(1_999_999, 80_000)), (1_999_999, 3_079_999));
        assert_eq!(wire.cut(&sent(1_999_999, 80_000)), None);
    }

    /// A tenth of all frames at port 0 of node 0, in microseconds.
    fn loss(fault: u16, from: u64, until: u64) -> Loss {
        let [from, until] = [from, until].map(|us| Time::from_ps(us * 1_000_000));
        let share = LossShare::Frames(0.1);
        let (source, destination) = (None, None);
        Loss::new(&LossSpec { fault, node: 0, port: Some(0), from, until, share, source, destination }, 1)
    }

    fn losses(all: impl IntoIterator<Item = Loss>) -> Losses {
        let mut losses = Losses::default();
        all.into_iter().for_each(|loss| losses.add(loss));
        losses.close();
        losses
    }

    fn around(losses: &Losses, us: u64) -> Vec<u16> {
        let mut found: Vec<u16> = losses.around(us * 1_000_000).map(|loss| loss.spec.fault).collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn of_many_losses_one_after_the_other_a_frame_is_asked_about_one() {
        // Given last first; each ends a microsecond before the next one begins.
        let losses = losses(
            (0..10_000).rev().map(|fault| loss(fault, 10 * u64::from(fault), 10 * u64::from(fault) + 9)),
        );
        assert_eq!(around(&losses, 0), [0]);
        assert_eq!(around(&losses, 50_004), [5000]);
        assert_eq!(around(&losses, 50_009), [5000]);
        assert_eq!(around(&losses, 99_999), [9999]);
        assert_eq!(around(&losses, 100_000), [0; 0]);
    }

    #[test]
    fn of_losses_that_overlap_all_in_force_are_asked() {
        let losses = losses([loss(0, 0, 100), loss(1, 10, 20), loss(2, 30, 40), loss(3, 35, 200)]);
        assert_eq!(around(&losses, 15), [0, 1]);
        assert!([0, 2, 3].iter().all(|fault| around(&losses, 36).contains(fault)));
        assert!(around(&losses, 150).contains(&3));
        assert_eq!(around(&losses, 201), [0; 0]);
    }

    #[test]
    fn nobody_asks_while_nothing_can_be_lost() {
        let mut node = OfNode { lines: vec![Line::default(), Line::default()], ..OfNode::default() };
        node.lines[0].losses = losses([loss(0, 10, 20), loss(1, 15, 30)]);
        node.silent = losses([loss(2, 100, 110)]);
        let mut wire = wire();
        wire.goes_down(200_000_000, 3);
        node.lines[1].wire = Some(wire);
        node.close();
        let us = |us: u64| us * 1_000_000;
        assert_eq!(node.safe_until(0), us(10));
        assert_eq!(node.safe_until(us(30)), us(10));
        assert_eq!(node.safe_until(us(31)), us(100));
        // 65 535 B take 5.2428 us at 100 Gbps and 1 us on the way: no frame that comes earlier or later was there at 200 us.
        assert_eq!(node.safe_until(us(111)), us(200) - 6_242_800);
        assert_eq!(node.safe_until(us(200) + 6_242_801), u64::MAX);
        // A link that only slows loses nothing.
        let mut slow =
            OfNode { lines: vec![Line { wire: Some(self::wire()), ..Line::default() }], ..OfNode::default() };
        slow.close();
        assert!(!slow.loses());
    }

    #[test]
    fn a_power_is_a_product() {
        assert_eq!(power(0.5, 10).to_bits(), (1.0_f64 / 1024.0).to_bits());
        assert_eq!(power(0.9, 0).to_bits(), 1.0_f64.to_bits());
    }
}
