//! Faults: links that fail, nodes that lose packets, NICs that do not stop sending PAUSE.
//!
//! ```text
//!   timetable (FaultSpec) ─┬─ changes ─▶ timers of the node (Purpose::Fault): gates, queues, routes        switch/faults.rs, nic/faults.rs
//!                          └─ wires ───▶ asked of each arrival before it is taken in: was it lost?         wire.rs
//! ```
//! The timetable is there before the run, so what a wire loses is a function of the frame and its instant alone: threads and engines
//! cannot differ in it, and nobody keeps an epoch. A run without faults asks none of this: `World::is_watched` stands where it was asked
//! before whether wires are tapped.
//!
//! # What becomes of frames when a link goes down at D
//! - A frame is lost if it has begun by D and its last bit arrives after D: the one that is being sent, and those on the wire. The node
//!   at the far end counts it. What arrives at D itself is there.
//! - A port whose link is up again before the frame that was being sent would have left waits for that instant.
//! - Packets that wait for the port are flushed, and those that come for it are dropped until the switch knows a way round.
//! - Credits begin anew when it is up again: both ends tell what is free in their buffers before the other one may send.
//! - PFC starts anew at both ends: gates open, and PAUSEs that were sent are forgotten. What came in by the port before stays in its
//!   account until it has left the switch. What finds no room behind it is dropped: `link/overrun.rs`.
//! - A host that stops takes in nothing. Its link is up, and goes on: under credits it tells what is free in its buffer, from which all that
//!   comes is discarded; a PAUSE of the host is renewed no more, and ends after the longest time that one can last.
pub(crate) mod wire;

use std::ops::Range;

use backwater_control::flow_control::Watchdog;
use backwater_engine::Post;
use backwater_topology::{Network, Ways};
use backwater_units::{Bytes, Span, Time};

use crate::ctx::Ctx;
use crate::fault::wire::{Line, Loss, Losses, Wire};
use crate::link::failures::FaultState;
use crate::link::ports::{Ports, Purpose};
use crate::packet::{Kind, Packet};
use crate::record::{FaultEvent, FaultKind, FaultRecord};
use crate::spec::{Change, FaultChange, FaultSpec, Spec, WatchdogAction};
use crate::world::World;

/// The timetable, by node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Faults {
    nodes: Vec<OfNode>,
    /// Those of switches and of NICs.
    watchdogs: [Option<(Watchdog, WatchdogAction)>; 2],
    /// What switches get by [`Change::Routes`].
    ways: Ways,
    kinds: Vec<FaultKind>,
}

/// That of one node.
#[derive(Clone, Debug, Default)]
pub(crate) struct OfNode {
    changes: Vec<FaultChange>,
    /// By ingress port; none if no link of the node fails.
    lines: Vec<Line>,
    /// What it loses by whatever port it comes.
    silent: Losses,
    /// When it stops, and by which fault.
    stop: Option<(u64, u16)>,
    /// When an arrival may be lost, from and until: rising, and apart. Between them nobody asks for packets one by one.
    unsafe_times: Vec<(u64, u64)>,
}

impl OfNode {
    /// Whether anything that comes to it may be lost.
    fn loses(&self) -> bool {
        !self.unsafe_times.is_empty()
    }

    /// Of what comes at `now` or later, what comes before this is not lost.
    fn safe_until(&self, now: u64) -> u64 {
        let over = self.unsafe_times.partition_point(|(_, until)| *until < now);
        self.unsafe_times.get(over).map_or(u64::MAX, |(from, _)| *from)
    }

    /// The wire that ends at a port, and what is lost on it.
    fn line(&mut self, (node, port): (u32, u16), network: &Network) -> &mut Line {
        if self.lines.is_empty() {
            self.lines.resize_with(network.ports(node).len(), Line::default);
        }
        &mut self.lines[usize::from(port)]
    }

    /// All is known: finds the times at which something may be lost.
    fn close(&mut self) {
        let mut times: Vec<(u64, u64)> = self.stop.iter().map(|(time, _)| (*time, u64::MAX)).collect();
        let losses = self.lines.iter_mut().map(|line| &mut line.losses);
        for losses in losses.chain([&mut self.silent]) {
            losses.close();
            times.extend(losses.times());
        }
        times.extend(self.lines.iter().filter_map(|line| line.wire.as_ref()).flat_map(Wire::times_of_loss));
        times.sort_unstable();
        times.dedup_by(|next, last| {
            let meets = next.0 <= last.1;
            if meets {
                last.1 = last.1.max(next.1);
            }
            meets
        });
        self.unsafe_times = times;
    }
}

impl Faults {
    /// The timetable of a run; `None`: nothing goes wrong.
    pub(crate) fn new(spec: &Spec, world: &World) -> Option<Box<Self>> {
        let FaultSpec { changes, losses, ways, watchdog, nic_watchdog, kinds, .. } = &spec.faults;
        if spec.faults.is_empty() {
            return None;
        }
        let network = &spec.network;
        let mut nodes: Vec<OfNode> = network.nodes().iter().map(|_| OfNode::default()).collect();
        for change in changes {
            let of_node = &mut nodes[change.node as usize];
            of_node.changes.push(*change);
            let time = change.time.as_ps();
            match change.what {
                Change::Down(port) => {
                    wire_of(of_node, change.node, port, network, world).goes_down(time, change.fault);
                }
                Change::Rate(port, rate) => {
                    wire_of(of_node, change.node, port, network, world).slows(time, rate);
                }
                Change::Stop => of_node.stop = Some((time, change.fault)),
                _ => {}
            }
        }
        for loss in losses {
            let of_node = &mut nodes[loss.node as usize];
            let losses = match loss.port {
                Some(port) => &mut of_node.line((loss.node, port), network).losses,
                None => &mut of_node.silent,
            };
            losses.add(Loss::new(loss, spec.seed));
        }
        nodes.iter_mut().for_each(OfNode::close);
        let (watchdogs, ways, kinds) = ([*watchdog, *nic_watchdog], ways.clone(), kinds.clone());
        Some(Box::new(Self { nodes, watchdogs, ways, kinds }))
    }

    /// After so long every watchdog has opened the gates that it will open.
    pub(crate) fn watched_for(&self) -> Span {
        // It may look at a gate just before a packet comes for it.
        let most = |(watchdog, _): (Watchdog, _)| watchdog.detect * 2 + watchdog.restore;
        self.watchdogs.into_iter().flatten().map(most).max().unwrap_or(Span::ZERO)
    }

    fn of(&self, node: u32) -> &OfNode {
        &self.nodes[node as usize]
    }

    /// The nodes at which something changes by faults from this number on.
    pub(crate) fn changed_from(&self, fault: u16) -> impl Iterator<Item = u32> {
        let changes = move |node: &&OfNode| node.changes.iter().any(|change| change.fault >= fault);
        (0..).zip(&self.nodes).filter(move |(_, node)| changes(node)).map(|(number, _)| number)
    }

    /// Whether anything changes after `now` that could set free what stands still.
    pub(crate) fn changes_after(&self, now: u64) -> bool {
        self.nodes.iter().filter_map(|node| node.changes.last()).any(|last| last.time.as_ps() > now)
    }
}

impl World {
    /// The PFC watchdog of a node.
    pub(crate) fn watchdog_of(&self, node: u32) -> Option<(Watchdog, WatchdogAction)> {
        self.faults.as_ref()?.watchdogs[usize::from(!self.is_switch(node))]
    }

    /// Whether the PFC watchdog of switches forwards.
    pub(crate) fn switches_forward_storms(&self) -> bool {
        let of_switches = self.faults.as_ref().and_then(|faults| faults.watchdogs[0]);
        of_switches.is_some_and(|(_, action)| action == WatchdogAction::Forward)
    }

    /// When a frame that comes to a node began, if its link has faults.
    pub(crate) fn begun(&self, node: u32, packet: &Packet) -> Option<u64> {
        let line = self.faults.as_ref()?.of(node).lines.get(usize::from(packet.port))?;
        Some(line.wire.as_ref()?.times(packet).0)
    }

    /// New ways that a change brings to a switch: hosts, and the ports that lead to them.
    pub(crate) fn ways(&self, of: Range<u32>) -> impl Iterator<Item = (Range<u32>, &[u16])> {
        self.faults.iter().flat_map(move |faults| faults.ways.of(of.clone()))
    }

    /// Whether something may be lost on the way to a node.
    pub(crate) fn loses_before(&self, node: u32) -> bool {
        self.faults.as_ref().is_some_and(|faults| faults.of(node).loses())
    }

    /// Whether a node is a switch. Hosts are in the order of their nodes.
    pub(crate) fn is_switch(&self, node: u32) -> bool {
        self.hosts.binary_search(&node).is_err()
    }

    /// The kind of a fault; those without a number are of the watchdog.
    pub(crate) fn kind_of(&self, fault: u16) -> FaultKind {
        let kinds = self.faults.as_ref().map(|faults| &faults.kinds);
        kinds.and_then(|kinds| kinds.get(usize::from(fault))).copied().unwrap_or(FaultKind::Watchdog)
    }
}

/// The wire that ends at a port.
fn wire_of<'a>(
    of_node: &'a mut OfNode,
    node: u32,
    port: u16,
    network: &Network,
    world: &World,
) -> &'a mut Wire {
    of_node.line((node, port), network).wire.get_or_insert_with(|| {
        let own = &network.ports(node)[usize::from(port)];
        Wire::new(&network.ports(own.peer)[usize::from(own.peer_port)], network, world)
    })
}

impl Ports {
    /// Of frames that come, before `end`, those that the faults of the run leave; `None`: all of them.
    pub(crate) fn spared<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        end: u64,
        cx: &mut Ctx<'_, P>,
    ) -> Option<Vec<Packet>> {
        let of_node = cx.world.faults.as_ref()?.of(self.node());
        if !of_node.loses() {
            return None;
        }
        let limit = end.min(of_node.safe_until(cx.now));
        let safe = arrivals.iter().position(|packet| packet.time >= limit).unwrap_or(arrivals.len());
        if cx.world.credits.is_some() {
            for update in arrivals[..safe].iter().filter(|packet| packet.kind == Kind::Credit) {
                self.update_comes(update);
            }
        }
        let mut kept: Option<Vec<Packet>> = None;
        for (index, packet) in arrivals.iter().enumerate().skip(safe) {
            if packet.time < end && self.loses(packet, of_node, cx) {
                kept.get_or_insert_with(|| arrivals[..index].to_vec());
                continue;
            }
            if packet.time < end && packet.kind == Kind::Credit {
                self.update_comes(packet);
            }
            if let Some(kept) = &mut kept {
                kept.push(*packet);
            }
        }
        self.count_spared(kept.as_deref().unwrap_or(arrivals), end);
        kept
    }

    /// Whether an arrival is lost: then it is booked as such.
    fn loses<P: Post<Packet>>(&mut self, packet: &Packet, of_node: &OfNode, cx: &mut Ctx<'_, P>) -> bool {
        let Some((reason, fault, time)) = of_node.lost(packet, cx.world) else { return false };
        self.note(packet);
        if packet.is_flow_control() {
            self.note_link_frame();
        } else {
            self.count_lost_on_wire(packet.port, reason);
            self.lose(packet, packet.port, reason, fault, &mut cx.at(time));
            self.lost_credit(packet, reason);
        }
        true
    }

    /// Sets the timer of the next change.
    pub(crate) fn arm_fault(&mut self, world: &World) {
        let Some(faults) = &world.faults else { return };
        let next = self.faults().map_or(0, FaultState::next);
        if let Some(change) = faults.of(self.node()).changes.get(next) {
            self.set_timer(change.time.as_ps(), 0, Purpose::Fault, 0);
        }
    }

    /// There are more changes, at the present time or later: the next one may be another.
    pub(crate) fn rearm_fault(&mut self, world: &World) {
        self.stop_timers(Purpose::Fault);
        self.arm_fault(world);
    }

    /// The next change that is due.
    pub(crate) fn next_change(&mut self, now: u64, world: &World) -> Option<FaultChange> {
        let changes = &world.faults.as_ref()?.of(self.node()).changes;
        let state = self.faults_mut();
        let change = *changes.get(state.next())?;
        (change.time <= Time::from_ps(now)).then(|| {
            state.advance();
            change
        })
    }

    /// Records what happened to a fault.
    pub(crate) fn note_fault<P: Post<Packet>>(
        &mut self,
        fault: u16,
        event: FaultEvent,
        port: Option<u16>,
        cx: &mut Ctx<'_, P>,
    ) {
        let (time, node) = (Time::from_ps(cx.now), self.node());
        let record = FaultRecord {
            time,
            fault,
            kind: cx.world.kind_of(fault),
            event,
            node,
            port,
            packets: 0,
            bytes: Bytes::ZERO,
            flows: 0,
            last: None,
        };
        self.records_mut().faults.push(record);
        cx.post.recorded(1);
    }
}
