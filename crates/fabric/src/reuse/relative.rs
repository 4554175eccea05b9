//! State written relative to an instant and to an iteration: what is alike but for both is alike byte by byte.
//!
//! Instants and counts are written by `backwater_units::relative`. Here are flows, which are meant by the iteration they belong to as
//! counted from the present one; what is meant by its place in memory; and what the state of an iteration cannot be told of.
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{Result, Write};
use std::sync::Arc;

use backwater_units::relative;
use borsh::BorshSerialize;

use crate::packet::{Kind, Packet};
use crate::reuse::laps::{AtHost, Lap, Laps};

/// What state is written relative to, and what is found on the way.
pub(crate) struct View {
    laps: Arc<Laps>,
    /// The iteration that has begun last.
    iteration: u32,
    /// The earliest iteration that something is said of.
    earliest: u32,
    /// What cannot be told, by what it is a part of.
    untold: BTreeSet<&'static str>,
    /// Whether a detector asks when a switch held back others last.
    asks_last_hold: bool,
    /// The host of the present node.
    host: Option<usize>,
    /// Its memory for packets that wait: each has the place of the next one of its queue.
    memory: Vec<Packet>,
    /// By port and class: units that it has sent under credits, and that the other end has.
    sent: Vec<(u32, u32)>,
    /// What the gate of the present sender had been closed in all.
    closed: u64,
}

thread_local! {
    static VIEW: RefCell<Option<View>> = const { RefCell::new(None) };
}

/// Writes state relative to `now` and the iteration that has begun last. Returns what `something` does, the earliest iteration that it
/// said something of, and what it could not tell.
pub(crate) fn written<T>(
    now: u64,
    (laps, iteration): (&Arc<Laps>, u32),
    asks_last_hold: bool,
    something: impl FnOnce() -> T,
) -> (T, u32, BTreeSet<&'static str>) {
    VIEW.set(Some(View {
        laps: Arc::clone(laps),
        iteration,
        earliest: iteration,
        untold: BTreeSet::new(),
        asks_last_hold,
        host: None,
        memory: Vec::new(),
        sent: Vec::new(),
        closed: 0,
    }));
    let done = relative::written(now, something);
    let view = VIEW.take();
    let (earliest, untold) = view.map_or((0, BTreeSet::new()), |view| (view.earliest, view.untold));
    (done, earliest, untold)
}

/// What follows is of another node: the host that it is, its memory for packets, and by port and class the units that it and the other end
/// have sent under credits.
pub(crate) fn at(host: Option<usize>, memory: &[Packet], sent: Vec<(u32, u32)>) {
    with(|view| (view.host, view.memory, view.sent) = (host, memory.to_vec(), sent));
}

/// Whether a detector asks when a switch held back others last; `None`: state is written as it is.
pub(crate) fn asks_last_hold() -> Option<bool> {
    with(|view| view.asks_last_hold)
}

/// Asks the view, if state is written relative to one.
fn with<T>(ask: impl FnOnce(&mut View) -> T) -> Option<T> {
    relative::now()?;
    VIEW.with_borrow_mut(|view| view.as_mut().map(ask))
}

impl View {
    fn since(&mut self, lap: Lap) -> (i64, u32) {
        self.earliest = self.earliest.min(lap.iteration);
        (i64::from(lap.iteration) - i64::from(self.iteration), lap.place)
    }

    fn flow(&mut self, flow: u32) -> (i64, u32) {
        match self.laps.of_flow.get(flow as usize) {
            Some(lap) => self.since(*lap),
            None => (i64::MAX, flow),
        }
    }

    fn here(&self) -> Option<&AtHost> {
        self.laps.hosts.get(self.host?)
    }

    /// What a slot of the host stands for.
    fn slot(&mut self, slot: u32, of: impl Fn(&AtHost) -> Option<Lap>) -> (i64, u32) {
        let lap = self.here().and_then(of);
        match lap {
            Some(lap) => self.since(lap),
            None => (i64::MAX, slot),
        }
    }
}

/// Writes the number of a flow.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "so a derived form calls it")]
pub(crate) fn flow<W: Write>(number: &u32, out: &mut W) -> Result<()> {
    match with(|view| view.flow(*number)) {
        Some(since) => since.serialize(out),
        None => number.serialize(out),
    }
}

/// Writes the number that a step has at its host.
pub(crate) fn step<W: Write>(number: u32, out: &mut W) -> Result<()> {
    let lap = |at: &AtHost| at.of_step.get(number as usize).copied();
    with(|view| view.slot(number, lap)).serialize(out)
}

/// The gate of the senders that follow had been closed for so long in all.
pub(crate) fn behind_gate(closed: u64) {
    with(|view| view.closed = closed);
}

/// Something that nobody has looked at: state with it is like no other.
pub(crate) fn untold(what: &'static str) {
    with(|view| view.untold.insert(what));
}

/// Writes what is not there where iterations are looked at, as nobody has said yet which parts of it are instants.
#[allow(clippy::ref_option, reason = "so a derived form calls it")]
pub(crate) fn seldom<T: BorshSerialize, W: Write>(it: &Option<T>, out: &mut W) -> Result<()> {
    if relative::now().is_none() {
        return it.serialize(out);
    }
    if it.is_some() {
        untold(std::any::type_name::<T>());
    }
    it.is_some().serialize(out)
}

/// Writes the slot of a sender of the host.
pub(crate) fn sender<W: Write>(slot: u32, out: &mut W) -> Result<()> {
    let lap = |at: &AtHost| at.of_sender.get(slot as usize).copied();
    with(|view| view.slot(slot, lap)).serialize(out)
}

/// Writes the slot of a receiver of the host.
pub(crate) fn receiver<W: Write>(slot: u32, out: &mut W) -> Result<()> {
    let lap = |at: &AtHost| at.of_receiver.get(slot as usize).copied();
    with(|view| view.slot(slot, lap)).serialize(out)
}

/// Writes what a gate had been closed in all, as what has come to it since.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "so a derived form calls it")]
pub(crate) fn closed<W: Write>(closed: &u64, out: &mut W) -> Result<()> {
    with(|view| closed.wrapping_sub(view.closed)).unwrap_or(*closed).serialize(out)
}

/// Units that were sent under credits by the present node, and by the other end, by the number of a port and class.
pub(crate) fn sent(at: usize) -> (u32, u32) {
    with(|view| view.sent.get(at).copied()).flatten().unwrap_or_default()
}

/// The packets of a queue of the present node, of which the first one is at `head`, if state is written relative to an instant.
pub(crate) fn waiting(head: u32) -> Option<Vec<Packet>> {
    with(|view| {
        let at = |head: u32| view.memory.get(head as usize).copied();
        std::iter::successors(at(head), |packet| at(packet.next)).collect()
    })
}

/// A frame, but for its place in memory.
pub(crate) fn packet<W: Write>(packet: &Packet, out: &mut W) -> Result<()> {
    // Frames of a NIC's own have no time before they leave.
    relative::once(&packet.time, out)?;
    match packet.kind {
        Kind::Data | Kind::Ack | Kind::Cnp => {
            flow(&packet.flow, out)?;
            packet.seq.serialize(out)?;
        }
        Kind::Pfc => packet.seq.serialize(out)?,
        Kind::Credit => {
            let classes = with(|view| view.laps.classes).unwrap_or_default();
            let (own, other) = sent(usize::from(packet.port) * classes + usize::from(packet.class));
            (packet.flow.wrapping_sub(other), packet.seq.wrapping_sub(own)).serialize(out)?;
        }
        _ => untold("frames of other schemes"),
    }
    (packet.dst, packet.port, packet.size, packet.kind).serialize(out)?;
    (packet.code, packet.class, packet.echo).serialize(out)
}
