//! What a node knows of the faults of a run: links that are down, gates that a watchdog looks after, and what was lost.
use std::collections::{BTreeMap, BTreeSet};

use backwater_control::flow_control::{Decision, PauseGate};
use backwater_engine::Post;
use backwater_units::{Bytes, Rate, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::egress::Egress;
use crate::link::ingress::Memory;
use crate::link::overrun::Overrun;
use crate::link::ports::Ports;
use crate::link::retry::Replays;
use crate::packet::Packet;
use crate::record::{DropReason, FaultEvent, FaultRecord};
use crate::world::World;

/// A gate that a watchdog looks after.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Watched {
    /// What `control` goes by.
    gate: PauseGate,
    /// Its timer is set.
    armed: bool,
}

impl Watched {
    pub(crate) const fn gate_mut(&mut self) -> &mut PauseGate {
        &mut self.gate
    }

    /// Whether its timer must be set now.
    pub(crate) const fn arm(&mut self) -> bool {
        !std::mem::replace(&mut self.armed, true)
    }

    pub(crate) const fn disarm(&mut self) {
        self.armed = false;
    }
}

/// What a fault cost at a port.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Cost {
    packets: u64,
    bytes: u64,
    flows: BTreeSet<u32>,
    first: u64,
    last: u64,
}

/// What a node knows of its faults.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct FaultState {
    /// The next change of its timetable.
    next: usize,
    /// Ports whose link is down: the fault, and until when the wire has what was being sent.
    down: BTreeMap<u16, (u16, u64)>,
    /// Ports that are known to be down.
    avoided: BTreeSet<u16>,
    /// The fault that has brought its routes.
    rerouted_by: u16,
    /// Queues behind a PAUSE without end of which everything is dropped: (port, class).
    blocked: BTreeSet<(u16, u8)>,
    /// What the watchdog knows of gates, by the number of their queue.
    watched: BTreeMap<usize, Watched>,
    /// Ports whose rate has changed, as they were before.
    nominal: BTreeMap<u16, Egress>,
    /// Classes for which ports of the NIC send PAUSE without end, where there are any.
    storms: BTreeMap<u16, u8>,
    /// It has stopped.
    stopped: bool,
    /// By port: classes of which its link is to tell all the same what is free, and when its wire is.
    stopped_tells: BTreeMap<u16, (u8, u64)>,
    /// Ports and classes by which packets were lost that have spent credits, since the last update of the other end.
    spent: BTreeSet<(u16, u8)>,
    costs: BTreeMap<(u16, u16), Cost>,
    /// Ingress ports and classes that may come to hold more than there is room for, and why: see `link/overrun.rs`.
    overruns: BTreeMap<(u16, u8), Overrun>,
    /// Packets that came in by each port of a node at whose ports some are lost, without those.
    spared: Vec<u64>,
    /// Packets lost on the way here, by port and reason.
    lost_on_wires: BTreeMap<(u16, DropReason), u64>,
    /// What ports send again that has not come in whole.
    replays: Replays,
    /// What they have sent again so far, by fault and port: packets, bytes, when first and last.
    replayed: BTreeMap<(u16, u16), [u64; 4]>,
}

impl FaultState {
    fn lost(&mut self, fault: u16, port: u16, packet: &Packet, now: u64) {
        let new = || Cost { packets: 0, bytes: 0, flows: BTreeSet::new(), first: now, last: now };
        let cost = self.costs.entry((fault, port)).or_insert_with(new);
        cost.packets += 1;
        cost.bytes += u64::from(packet.size);
        cost.flows.insert(packet.flow);
        (cost.first, cost.last) = (cost.first.min(now), cost.last.max(now));
    }
}

impl FaultState {
    pub(super) const fn replays(&self) -> &Replays {
        &self.replays
    }

    pub(super) const fn replays_mut(&mut self) -> &mut Replays {
        &mut self.replays
    }

    /// A port begins to send so many packets and bytes again, as a fault took the first of them.
    pub(super) fn replayed(&mut self, of: (u16, u16), (packets, bytes): (u64, u64), now: u64) {
        let all = self.replayed.entry(of).or_insert([0, 0, now, now]);
        *all = [all[0] + packets, all[1] + bytes, all[2], now];
    }

    /// The number of the next change.
    pub(crate) const fn next(&self) -> usize {
        self.next
    }

    pub(crate) const fn advance(&mut self) {
        self.next += 1;
    }

    /// Ports that are known to be down.
    pub(crate) const fn avoided(&self) -> &BTreeSet<u16> {
        &self.avoided
    }

    /// The fault by which the link of a port is down.
    pub(crate) fn down(&self, port: u16) -> Option<u16> {
        self.down.get(&port).map(|(fault, _)| *fault)
    }

    pub(crate) const fn has_stopped(&self) -> bool {
        self.stopped
    }

    pub(crate) const fn stop(&mut self) {
        self.stopped = true;
    }

    /// The link of a host that has stopped has something to tell of a class; false if it was known.
    pub(super) fn tells_though_stopped(&mut self, port: u16, class: u8) -> bool {
        let (tells, _) = self.stopped_tells.entry(port).or_default();
        let new = *tells & (1 << class) == 0;
        *tells |= 1 << class;
        new
    }

    /// It has told so, and its wire is free from then on.
    pub(super) fn updated_though_stopped(&mut self, port: u16, class: u8, free: u64) {
        let (tells, wire) = self.stopped_tells.entry(port).or_default();
        *tells &= !(1 << class);
        *wire = free;
    }

    pub(super) fn free_though_stopped(&self, port: u16) -> u64 {
        self.stopped_tells.get(&port).map_or(0, |(_, free)| *free)
    }

    /// A packet that has spent credits was lost.
    pub(super) fn spent_in_vain(&mut self, port: u16, class: u8) {
        self.spent.insert((port, class));
    }

    /// Whether one was since the last update.
    pub(super) fn forget_spent(&mut self, port: u16, class: u8) -> bool {
        self.spent.remove(&(port, class))
    }

    /// Classes for which a port of the NIC sends PAUSE without end.
    pub(crate) fn storm(&self, port: u16) -> u8 {
        self.storms.get(&port).copied().unwrap_or_default()
    }

    pub(crate) fn set_storm(&mut self, port: u16, classes: u8) {
        if classes == 0 {
            self.storms.remove(&port);
        } else {
            self.storms.insert(port, classes);
        }
    }

    /// A switch has noticed that the link of a port is down, or up.
    pub(crate) fn notice(&mut self, port: u16, down: bool) {
        if down {
            self.avoided.insert(port);
        } else {
            self.avoided.remove(&port);
        }
    }

    /// New routes are in force.
    pub(crate) const fn route_by(&mut self, fault: u16) {
        self.rerouted_by = fault;
    }

    /// The fault by which there is no way.
    pub(crate) const fn rerouted_by(&self) -> u16 {
        self.rerouted_by
    }

    /// Whether everything for a queue is dropped, or all that comes from its port.
    pub(crate) fn blocks(&self, port: u16, class: u8) -> bool {
        self.blocked.contains(&(port, class))
    }

    pub(crate) fn block(&mut self, port: u16, class: u8, blocked: bool) {
        if blocked {
            self.blocked.insert((port, class));
        } else {
            self.blocked.remove(&(port, class));
        }
    }

    /// What the watchdog knows of a gate.
    pub(crate) fn watched(&mut self, at: usize) -> &mut Watched {
        self.watched.entry(at).or_default()
    }

    /// Ingress ports and classes that may come to hold more than there is room for.
    pub(super) const fn overruns(&self) -> &BTreeMap<(u16, u8), Overrun> {
        &self.overruns
    }

    pub(super) const fn overruns_mut(&mut self) -> &mut BTreeMap<(u16, u8), Overrun> {
        &mut self.overruns
    }

    /// A port as it was before its rate changed, if it has.
    pub(super) fn nominal(&self, port: u16) -> Option<&Egress> {
        self.nominal.get(&port)
    }

    /// Whether packets are asked for one by one.
    pub(crate) fn is_aside(&self, gaps: bool) -> bool {
        gaps || !self.down.is_empty() || !self.blocked.is_empty() || !self.overruns.is_empty()
    }
}

impl Ports {
    /// The link of a port is down. Returns the classes whose gate was closed: they are open now.
    pub(crate) fn shut_link<P: Post<Packet>>(&mut self, port: u16, fault: u16, cx: &mut Ctx<'_, P>) -> u8 {
        let busy_until = self.egress(port).busy_until();
        let waited = cx.world.retry.is_some() && self.lose_kept(port, cx);
        let busy_until = if waited { cx.now } else { busy_until };
        self.faults_mut().down.insert(port, (fault, busy_until));
        let egress = self.egress_mut(port);
        egress.shut();
        let closed = egress.paused();
        for class in 0..cx.world.classes.count {
            if closed & (1 << class) != 0 {
                self.open_gate(port, class, false, cx);
            } else {
                // A gate that a watchdog has opened already.
                self.pause_ended(port, class, cx);
            }
        }
        self.clear_wake(port);
        closed
    }

    /// It is up again.
    pub(crate) fn open_link(&mut self, port: u16, now: u64) {
        let (_, busy_until) = self.faults_mut().down.remove(&port).unwrap_or_default();
        self.egress_mut(port).open(now.max(busy_until));
        self.restart_credits(port, now);
    }

    /// The rate of a port if no fault changes it.
    pub(crate) fn rate_at_first(&self, port: u16) -> Rate {
        self.faults().and_then(|faults| faults.nominal(port)).unwrap_or(self.egress(port)).rate()
    }

    /// The link of a port sends at another rate from the next frame on.
    pub(crate) fn set_rate(&mut self, port: u16, rate: Rate) {
        let egress = *self.egress(port);
        let nominal = *self.faults_mut().nominal.entry(port).or_insert(egress);
        *self.egress_mut(port) = egress.at_rate(rate, &nominal);
    }

    /// PAUSEs that were sent by a port have no effect any more, by a fault. Returns the classes that had one outstanding.
    pub(crate) fn forget_pauses(
        &mut self,
        memory: &mut Memory,
        (port, fault): (u16, u16),
        now: u64,
        world: &World,
    ) -> u8 {
        let outstanding = |class: &u8| memory.account(self.at(port, *class)).is_outstanding();
        let classes: Vec<u8> = (0..world.classes.count).filter(outstanding).collect();
        for class in &classes {
            memory.book(port, *class, Decision::Resume, now, world.pfc.form.pause());
            self.may_overrun(port, *class, fault);
        }
        classes.into_iter().fold(0, |set, class| set | 1 << class)
    }

    /// A packet that was to leave by `port`, or came by it, is lost by a fault.
    pub(crate) fn lose<P: Post<Packet>>(
        &mut self,
        packet: &Packet,
        port: u16,
        reason: DropReason,
        fault: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let now = cx.now;
        self.faults_mut().lost(fault, port, packet, now);
        // Whichever side of the port it was.
        self.drop_packet(&Packet { port, ..*packet }, port, reason, cx);
    }

    /// Packets have come in, before `end`, at a node at whose ports some are lost; these were not.
    pub(crate) fn count_spared(&mut self, arrivals: &[Packet], end: u64) {
        let count = usize::from(self.count());
        let spared = &mut self.faults_mut().spared;
        if spared.is_empty() {
            spared.resize(count, 0);
        }
        // What is not of the fabric may come by no real port.
        for packet in arrivals.iter().filter(|packet| packet.time < end && !packet.is_flow_control()) {
            spared[usize::from(packet.port)] += 1;
        }
    }

    /// What came by each port before anything could be lost.
    pub(crate) fn begin_spared(&mut self, arrived: &[u64]) {
        let spared = &mut self.faults_mut().spared;
        if spared.is_empty() {
            spared.extend_from_slice(arrived);
        }
    }

    /// One was lost on its way here.
    pub(crate) fn count_lost_on_wire(&mut self, port: u16, reason: DropReason) {
        *self.faults_mut().lost_on_wires.entry((port, reason)).or_default() += 1;
    }

    /// What came in by a port at which some are lost, without those.
    pub(crate) fn spared_from(&self, port: usize) -> u64 {
        self.faults.as_ref().and_then(|state| state.spared.get(port)).copied().unwrap_or_default()
    }

    /// What was lost on the way here, by port and reason.
    pub(crate) fn lost_on_wires(&self) -> impl Iterator<Item = (u16, DropReason, u64)> {
        let all = self.faults.iter().flat_map(|state| &state.lost_on_wires);
        all.map(|((port, reason), packets)| (*port, *reason, *packets))
    }

    /// The ports by which the NIC sends PAUSE without end.
    pub(crate) fn storms(&self) -> impl Iterator<Item = u16> {
        self.faults.iter().flat_map(|state| state.storms.keys().copied())
    }

    /// What it knows of its faults.
    pub(crate) fn faults_mut(&mut self) -> &mut FaultState {
        self.faults.get_or_insert_default()
    }

    pub(crate) fn faults(&self) -> Option<&FaultState> {
        self.faults.as_deref()
    }

    /// The faults that lost packets of a flow here.
    pub(crate) fn faults_of(&self, flow: u32) -> impl Iterator<Item = u16> {
        let costs = self.faults.iter().flat_map(|state| &state.costs);
        costs.filter(move |(_, cost)| cost.flows.contains(&flow)).map(|((fault, _), _)| *fault)
    }

    /// What the faults cost here, over the run.
    pub(crate) fn fault_costs(&self, world: &World) -> impl Iterator<Item = FaultRecord> {
        let record = move |fault: u16, event, port| FaultRecord {
            time: Time::ZERO,
            fault,
            kind: world.kind_of(fault),
            event,
            node: self.node(),
            port: Some(port),
            packets: 0,
            bytes: Bytes::ZERO,
            flows: 0,
            last: None,
        };
        let costs = self.faults.iter().flat_map(|state| &state.costs);
        let lost = costs.map(move |((fault, port), cost)| FaultRecord {
            time: Time::from_ps(cost.first),
            packets: cost.packets,
            bytes: Bytes::new(cost.bytes),
            flows: cost.flows.len() as u64,
            last: Some(Time::from_ps(cost.last)),
            ..record(*fault, FaultEvent::Lost, *port)
        });
        let replayed = self.faults.iter().flat_map(|state| &state.replayed);
        lost.chain(replayed.map(move |((fault, port), [packets, bytes, first, last])| FaultRecord {
            time: Time::from_ps(*first),
            packets: *packets,
            bytes: Bytes::new(*bytes),
            last: Some(Time::from_ps(*last)),
            ..record(*fault, FaultEvent::Replayed, *port)
        }))
    }
}
