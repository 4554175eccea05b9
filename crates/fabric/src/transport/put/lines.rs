//! Which PUT streams of a host stand in line at which of its ports. A host with one port has one set of lines and asks for nothing here.
use std::collections::VecDeque;

use borsh::{BorshDeserialize, BorshSerialize};

use crate::transport::put::turns::Turns;
use crate::transport::put::{Puts, streams};
use crate::world::World;

/// Who is in line at a port.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct Lines {
    /// Outgoing streams that may send a new packet.
    pub(super) turns: Turns,
    /// Outgoing streams that have packets to send again, in the order of their NACKs.
    pub(super) replays: VecDeque<u32>,
    /// Incoming streams that owe an ACK or NACK.
    pub(super) owed: Turns,
}

impl Lines {
    /// With nobody in them.
    pub(super) fn new(classes: usize) -> Self {
        Self { turns: Turns::new(classes), replays: VecDeque::new(), owed: Turns::new(classes) }
    }
}

/// Of a host with several ports: each stream sends by one, and each is acknowledged by one.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(super) struct ByPort {
    /// The port that the present event is about, whose lines are those of [`Puts`].
    at: u16,
    /// Those of the others, by port.
    others: Vec<Lines>,
    /// By outgoing stream.
    sends: Vec<u16>,
    /// By incoming stream: the port by which its ACKs leave.
    answers: Vec<u16>,
}

impl ByPort {
    pub(super) fn new(ports: u16, classes: usize) -> Self {
        let others = vec![Lines::new(classes); usize::from(ports)];
        Self { at: 0, others, sends: Vec::new(), answers: Vec::new() }
    }

    pub(super) fn add_outgoing(&mut self, port: u16) {
        self.sends.push(port);
        self.others.iter_mut().for_each(|lines| lines.turns.add_stream());
    }

    pub(super) fn add_incoming(&mut self) {
        self.answers.push(self.at);
        self.others.iter_mut().for_each(|lines| lines.owed.add_stream());
    }
}

/// The line in which an incoming stream stands that owes something.
pub(super) fn owed_at<'a>(
    lines: &'a mut Lines,
    by_port: &'a mut Option<Box<ByPort>>,
    slot: u32,
) -> &'a mut Turns {
    match by_port {
        Some(by) if by.answers[slot as usize] != by.at => {
            &mut by.others[usize::from(by.answers[slot as usize])].owed
        }
        _ => &mut lines.owed,
    }
}

impl Puts {
    /// The present event is about this port.
    pub(crate) fn turn_to(&mut self, port: u16) {
        let Some(by) = &mut self.by_port else { return };
        if by.at != port {
            std::mem::swap(&mut self.lines, &mut by.others[usize::from(by.at)]);
            std::mem::swap(&mut self.lines, &mut by.others[usize::from(port)]);
            by.at = port;
        }
    }

    /// The port by which an outgoing stream sends.
    pub(crate) fn sends_by(&self, slot: u32) -> Option<u16> {
        Some(self.by_port.as_ref()?.sends[slot as usize])
    }

    /// The port by which an incoming stream is acknowledged.
    pub(crate) fn answers_by(&self, slot: u32) -> Option<u16> {
        Some(self.by_port.as_ref()?.answers[slot as usize])
    }

    /// From now on an outgoing stream sends by another port: it is in line nowhere. The senders of its flows that wait.
    pub(crate) fn send_by(&mut self, slot: u32, port: u16) -> Vec<u32> {
        if let Some(from) = self.sends_by(slot) {
            self.turn_to(from);
        }
        self.lines.turns.remove(slot);
        self.lines.replays.retain(|other| *other != slot);
        if let Some(by) = &mut self.by_port {
            by.sends[slot as usize] = port;
        }
        let outgoing = &mut self.outgoing[slot as usize];
        outgoing.replaying = false;
        outgoing.messages.iter().map(|message| message.pair).collect()
    }

    /// From now on an incoming stream is acknowledged by another port, at which it stands in line if it owes something.
    pub(crate) fn answer_by(&mut self, slot: u32, port: u16, now: u64, world: &World) {
        if self.answers_by(slot).is_none_or(|from| from == port) {
            return;
        }
        owed_at(&mut self.lines, &mut self.by_port, slot).remove(slot);
        if let Some(by) = &mut self.by_port {
            by.answers[slot as usize] = port;
        }
        let stream = self.incoming(slot, world);
        let owed = owed_at(&mut self.lines, &mut self.by_port, slot);
        self.incoming[slot as usize].line_up(slot, stream.class, streams(world).kind(stream), owed, now);
    }

    /// How many streams the host sends, and receives.
    pub(crate) fn counts(&self) -> (u32, u32) {
        (self.outgoing.len() as u32, self.incoming.len() as u32)
    }
}
