//! Link-level retry: what a port does with frames that come with a wrong bit (rules: `control/flow_control/llr.rs`).
//!
//! ```text
//!   send ──▶ will it come in whole? ── yes ──▶ on its way
//!                    │ no
//!                    ▼
//!            kept, as all that is sent after it ── the NACK is there, or the timer ──▶ sent again, one by one
//! ```
//! What a wire loses is a function of the frame and the instant at which it comes (`fault/wire.rs`). So the sender knows when it sends it, and
//! nothing that is lost or discarded has to travel: the other end sees each frame once, when it has come in order.
//!
//! Meanwhile the wire is taken by what goes in vain, and from the NACK on by what is sent again: [`Egress::busy_until`] says so, and whoever
//! sends by the port waits for it as for a frame. Where nothing is kept nobody asks: a node whose links repeat says that something
//! travels beside its frames (`link/extensions.rs`), and so all of them come here.
//!
//! [`Egress::busy_until`]: crate::link::egress::Egress::busy_until
use std::collections::{BTreeMap, VecDeque};

use backwater_control::flow_control::llr;
use backwater_engine::Post;
use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::egress::Egress;
use crate::link::extensions::Extension;
use crate::link::ports::{Ports, Purpose};
use crate::packet::Packet;
use crate::world::World;

/// A frame as it was sent, and what travels beside it.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Kept {
    frame: Packet,
    beside: Option<Extension>,
}

/// What a port has sent since a frame that did not come in whole.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Replay {
    kept: VecDeque<Kept>,
    /// Their bytes.
    bytes: u64,
    /// The fault that took the first one.
    fault: u16,
    /// They are sent again, one by one; else the answer to the first one is awaited.
    begun: bool,
    /// When something happens next.
    next: u64,
    /// The port waits for that, as there is no room for one more: when the wire is free.
    free: Option<u64>,
}

/// By port.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Replays(BTreeMap<u16, Replay>);

impl Replays {
    /// The frames that have been sent and have not come, each with its port.
    fn kept(&self) -> impl Iterator<Item = (u16, &Packet)> {
        self.0.iter().flat_map(|(port, replay)| replay.kept.iter().map(move |kept| (*port, &kept.frame)))
    }
}

/// What a port goes by.
#[derive(Clone, Copy)]
struct Link {
    room: u64,
    largest: u64,
}

fn link(egress: &Egress, world: &World) -> Link {
    let largest = Bytes::new(u64::from(world.payload) + u64::from(world.header));
    let room = world.retry.unwrap_or_default().room(egress.rate(), egress.delay(), largest);
    Link { room: room.get(), largest: largest.get() }
}

/// When the answer to a frame is there that has begun at `begun` and come at `frame.time` with a wrong bit; the timer if that is lost.
fn answered(egress: &Egress, begun: u64, frame: &Packet, node: u32, port: u16, world: &World) -> u64 {
    let size = llr::CONTROL.get() as u16;
    let there = begun + egress.until_known(frame.size, true);
    let time = there + egress.until_known(size, true);
    let nack = Packet { time, port, size, ..Packet::NONE };
    if world.corrupts(node, &nack).is_none() {
        return time;
    }
    let largest = Bytes::new(u64::from(world.payload) + u64::from(world.header));
    let timer = world.retry.unwrap_or_default().patience(egress.rate(), egress.delay(), largest);
    time.max(begun + egress.wire_time(frame.size) + timer.as_ps())
}

impl Ports {
    /// From now on all frames of the node that leave are looked at.
    pub(crate) fn keep_frames(&mut self, world: &World) {
        if world.retry.is_some() {
            self.extensions_mut().always();
        }
    }

    /// A frame has begun to leave by a port now: it will come at `frame.time`, if it comes in whole.
    pub(super) fn send_kept<P: Post<Packet>>(
        &mut self,
        port: u16,
        frame: &Packet,
        beside: Option<&Extension>,
        cx: &mut Ctx<'_, P>,
    ) {
        let (node, egress) = (self.node(), *self.egress(port));
        let waits = self.faults().is_some_and(|state| state.replays().0.contains_key(&port));
        let fault = if waits { None } else { cx.world.corrupts(egress.peer(), frame) };
        if !waits && fault.is_none() {
            return on_its_way(&egress, frame, beside, cx);
        }
        let Link { room, largest } = link(&egress, cx.world);
        if let Some(fault) = fault {
            let next = answered(&egress, cx.now, frame, node, port, cx.world);
            let replay = Replay { kept: VecDeque::new(), bytes: 0, fault, begun: false, next, free: None };
            self.faults_mut().replays_mut().0.insert(port, replay);
            self.set_timer(next, port, Purpose::Replay, 0);
        }
        let replays = self.faults_mut().replays_mut();
        let replay = replays.0.get_mut(&port).expect("one waits, or was made");
        replay.kept.push_back(Kept { frame: *frame, beside: beside.copied() });
        replay.bytes += u64::from(frame.size);
        if replay.bytes + largest > room {
            // There is no room for another one before the answer; the port is woken after that.
            replay.free = Some(egress.busy_until());
            let next = replay.next + 1;
            self.egress_mut(port).wait_until(next);
        }
    }

    /// The answer to a frame has come, or it is time to send the next one again.
    pub(crate) fn replay_due<P: Post<Packet>>(&mut self, port: u16, cx: &mut Ctx<'_, P>) {
        let (node, egress) = (self.node(), *self.egress(port));
        let Some(mut replay) = self.take_replay(port, cx.now) else { return };
        if !replay.begun {
            // The frame that is on its way out goes in vain, too.
            let wire = |kept: &Kept| egress.wire_time(kept.frame.size);
            let free = replay.free.take().unwrap_or(egress.busy_until());
            let (start, all) = (cx.now.max(free), replay.kept.iter().map(wire).sum::<u64>());
            (replay.begun, replay.next) = (true, start);
            let (fault, count, bytes) = (replay.fault, replay.kept.len() as u64, replay.bytes);
            self.faults_mut().replayed((fault, port), (count, bytes), cx.now);
            self.egress_mut(port).wait_until(start + all);
            return self.put_replay(port, replay);
        }
        let Some(Kept { frame, beside }) = replay.kept.pop_front() else { return };
        let frame = Packet { time: cx.now + egress.until_known(frame.size, false), ..frame };
        if let Some(fault) = cx.world.corrupts(egress.peer(), &frame) {
            let Link { room, largest } = link(&egress, cx.world);
            let next = answered(&egress, cx.now, &frame, node, port, cx.world);
            (replay.fault, replay.begun, replay.next) = (fault, false, next);
            replay.kept.push_front(Kept { frame, beside });
            if replay.bytes + largest > room {
                replay.free = Some(egress.busy_until());
                self.egress_mut(port).wait_until(next + 1);
            }
            return self.put_replay(port, replay);
        }
        on_its_way(&egress, &frame, beside.as_ref(), cx);
        replay.bytes -= u64::from(frame.size);
        if !replay.kept.is_empty() {
            replay.next = cx.now + egress.wire_time(frame.size);
            self.put_replay(port, replay);
        }
    }

    /// The link of a port goes down `now`: what is kept is lost with it, as what is on the wire. Whether anything was: then the port waits for
    /// nothing any more.
    pub(super) fn lose_kept<P: Post<Packet>>(&mut self, port: u16, cx: &mut Ctx<'_, P>) -> bool {
        let Some(replay) = self.faults_mut().replays_mut().0.remove(&port) else { return false };
        let egress = *self.egress(port);
        for (nth, Kept { frame, beside }) in (0..).zip(replay.kept) {
            // Each is on the wire when that goes down, so that the other end counts it as lost; no two at one instant, as far as
            // there are instants.
            let on_wire = egress.until_known(frame.size, false) - egress.until_known(0, false);
            let time = cx.now + egress.until_known(frame.size, false) - on_wire.min(nth);
            on_its_way(&egress, &Packet { time, ..frame }, beside.as_ref(), cx);
        }
        true
    }

    /// Units of credits of a class that a port has spent on what is kept.
    pub(super) fn kept_units(&self, port: u16, class: u8) -> u32 {
        let of_lane = |(at, frame): &(u16, &Packet)| *at == port && frame.class == class;
        let kept = self.faults().into_iter().flat_map(|state| state.replays().kept());
        kept.filter(of_lane).map(|(_, frame)| self.credits_of(class, frame.size)).sum()
    }

    /// The frames that have been sent and have not come: the port at which each will come, and the node.
    pub(crate) fn kept_frames(&self) -> impl Iterator<Item = (u32, Packet)> {
        let kept = self.faults().into_iter().flat_map(|state| state.replays().kept());
        kept.map(move |(port, frame)| (self.egress(port).peer(), *frame))
    }

    /// What a port replays, if its time has come.
    fn take_replay(&mut self, port: u16, now: u64) -> Option<Replay> {
        let replays = &mut self.faults_mut().replays_mut().0;
        let due = replays.get(&port).is_some_and(|replay| replay.next == now);
        if due { replays.remove(&port) } else { None }
    }

    fn put_replay(&mut self, port: u16, replay: Replay) {
        self.set_timer(replay.next, port, Purpose::Replay, 0);
        self.faults_mut().replays_mut().0.insert(port, replay);
    }
}

fn on_its_way<P: Post<Packet>>(
    egress: &Egress,
    frame: &Packet,
    beside: Option<&Extension>,
    cx: &mut Ctx<'_, P>,
) {
    match beside {
        Some(extension) => cx.post.send_with(egress.place(), frame.time, frame, extension.bytes(), |_| ()),
        None => cx.post.send(egress.place(), frame.time, frame, |_| ()),
    }
}
