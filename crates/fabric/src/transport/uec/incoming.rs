//! The receiver of a flow of UEC, from the first frame on.
use backwater_control::uec::{Ack, Data, Delivery, Grants, Receiver, Taken, whole};
use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::packet::{Kind, Packet};
use crate::spec::UecSpec;
use crate::transport::uec::frame::{AGAIN, ASKS, AT_LAST, Body, GAP, NUMBER_BITS, OF_RTS, has, pack};
use crate::world::World;

/// Words of the ring at first.
const LEAST_WORDS: usize = 4;

/// See the head of this file.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Incoming {
    flow: u32,
    /// Host index of the sender.
    src: u32,
    /// Its kind among those of the world.
    kind: u16,
    /// Bytes of the flow; `u64::MAX`: it is not known how many.
    size: u64,
    receiver: Receiver,
    grants: Grants,
    /// It stands in the line of those that want credits; of those that may get some ahead.
    pub(super) active: bool,
    pub(super) idle: bool,
    /// The entropy of the last pull.
    entropy: u16,
    /// ACKs that have left.
    acks: u32,
    duplicates: u32,
    trimmed: u32,
    here: Box<[u64]>,
    /// Pull targets of what is under way, by number, of the first copy and of later ones; empty where nobody asks for credits.
    targets: Box<[u64]>,
}

/// An ACK that leaves, and what goes ahead of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) frame: Packet,
    pub(crate) body: Body,
}

impl Incoming {
    /// That of flow `index`.
    pub(crate) fn new(index: u32, kind: u16, spec: &UecSpec, world: &World) -> Self {
        let targets = if spec.credits.is_some() { 2 * 64 * LEAST_WORDS } else { 0 };
        let flow = &world.flows[index as usize];
        Self {
            flow: index,
            src: flow.src,
            kind,
            size: flow.known_size().map_or(u64::MAX, Bytes::get),
            receiver: Receiver::default(),
            grants: Grants::default(),
            active: false,
            idle: false,
            entropy: 0,
            acks: 0,
            duplicates: 0,
            trimmed: 0,
            here: vec![0; LEAST_WORDS].into(),
            targets: vec![0; targets].into(),
        }
    }

    #[inline]
    pub(crate) const fn kind(&self) -> u16 {
        self.kind
    }

    /// Bytes of the flow; `u64::MAX`: it is not known how many.
    #[inline]
    pub(crate) const fn size(&self) -> u64 {
        self.size
    }

    /// Data that came once more.
    pub(crate) const fn duplicates(&self) -> u32 {
        self.duplicates
    }

    /// Headers of data that came.
    pub(crate) const fn trimmed(&self) -> u32 {
        self.trimmed
    }

    /// The whole number of a frame; the rings have room for it.
    #[inline]
    fn number(&mut self, frame: &Packet) -> u32 {
        let psn = whole(frame.psn(), self.receiver.expected(), NUMBER_BITS);
        while !self.receiver.fits(psn, &self.here)
            && psn.wrapping_sub(self.receiver.expected()) < 1 << (NUMBER_BITS - 1)
        {
            self.grow();
        }
        psn
    }

    #[cold]
    fn grow(&mut self) {
        let mut here: Box<[u64]> = vec![0; self.here.len() * 2].into();
        self.receiver.move_to(&self.here, &mut here);
        if !self.targets.is_empty() {
            let mut targets: Box<[u64]> = vec![0; self.targets.len() * 2].into();
            let first = self.receiver.expected();
            for psn in first..first + self.here.len() as u32 * 64 {
                for again in [false, true] {
                    targets[place(psn, again, here.len())] = self.targets[place(psn, again, self.here.len())];
                }
            }
            self.targets = targets;
        }
        self.here = here;
    }

    /// The pull target of data or an RTS has come ahead.
    #[inline]
    pub(crate) fn put_ahead(&mut self, message: &Packet, target: u64) {
        let psn = self.number(message);
        if psn >= self.receiver.expected() && !self.targets.is_empty() {
            self.targets[place(psn, has(message, AGAIN), self.here.len())] = target;
        }
    }

    /// Takes note of the pull target of data or an RTS that has come. Whether that is news.
    #[inline]
    fn note_target(&mut self, psn: u32, frame: &Packet) -> bool {
        if self.targets.is_empty() || psn < self.receiver.expected() {
            return false;
        }
        self.grants.wants(self.targets[place(psn, has(frame, AGAIN), self.here.len())])
    }

    /// Data has come: whether it wants credits that it did not want before, whether it is new, and the ACK that leaves.
    #[inline]
    pub(crate) fn on_data(&mut self, frame: &Packet, spec: &UecSpec) -> (bool, bool, Option<Answer>) {
        let psn = self.number(frame);
        let wants = self.note_target(psn, frame);
        let (marked, request) = (frame.code.is_marked(), has(frame, ASKS));
        let data = Data { psn, size: frame.size, marked, request };
        let Taken { fresh, ack } = match spec.delivery {
            Delivery::Rudi => self.receiver.on_data_alone(&data, &mut self.here),
            _ => self.receiver.on_data(&data, spec.ack_bytes, &mut self.here),
        };
        self.duplicates += u32::from(!fresh);
        (wants, fresh, ack.map(|ack| self.answer(psn, frame, &ack, spec)))
    }

    /// ROD: whether data that comes is behind a gap, and is discarded.
    #[inline]
    pub(crate) fn is_ahead(&mut self, frame: &Packet) -> bool {
        let psn = self.number(frame);
        self.receiver.is_ahead(psn)
    }

    /// The NACK for the gap before such data, unless one has left.
    pub(crate) fn nack_of_gap(&mut self, frame: &Packet, spec: &UecSpec) -> Option<Packet> {
        let seq = pack(self.receiver.on_gap()?, frame.entropy() as u16, GAP);
        Some(Packet { seq, ..self.frame(Kind::UecNack, spec) })
    }

    /// Whether a trimmed packet that it does not have is asked for.
    pub(crate) fn asks_for(&mut self, frame: &Packet, spec: &UecSpec) -> bool {
        let psn = self.number(frame);
        spec.delivery != Delivery::Rod || self.receiver.on_trimmed_in_order(psn)
    }

    /// A trimmed packet has come: an ACK, if it had come whole before. Under RUDI nobody knows.
    pub(crate) fn on_trimmed(&mut self, frame: &Packet, spec: &UecSpec) -> Option<Answer> {
        let psn = self.number(frame);
        self.trimmed += 1;
        let ack = self.receiver.on_trimmed(psn, &self.here).filter(|_| spec.delivery != Delivery::Rudi);
        if ack.is_none() {
            self.note_target(psn, frame);
        }
        ack.map(|ack| {
            self.answer(psn, &Packet { code: backwater_control::CodePoint::NotCapable, ..*frame }, &ack, spec)
        })
    }

    /// The NACK for a trimmed packet.
    pub(crate) fn nack(&self, frame: &Packet, spec: &UecSpec) -> Packet {
        let echo = if frame.code.is_marked() { frame.code } else { backwater_control::CodePoint::NotCapable };
        let seq = pack(frame.psn(), frame.entropy() as u16, frame.seq & AT_LAST);
        Packet { seq, echo, ..self.frame(Kind::UecNack, spec) }
    }

    /// An RTS has come: its ACK.
    pub(crate) fn on_rts(&mut self, frame: &Packet, spec: &UecSpec) -> Answer {
        let psn = self.number(frame);
        self.note_target(psn, frame);
        let ack = self.receiver.on_rts(psn, &mut self.here);
        let answer = self.answer(psn, frame, &ack, spec);
        Answer { frame: Packet { seq: answer.frame.seq | OF_RTS, ..answer.frame }, ..answer }
    }

    #[inline]
    fn answer(&mut self, psn: u32, frame: &Packet, ack: &Ack, spec: &UecSpec) -> Answer {
        let marked = frame.code.is_marked();
        let echo = if marked { frame.code } else { backwater_control::CodePoint::NotCapable };
        let seq = pack(self.acks, frame.entropy() as u16, frame.seq & AGAIN);
        self.acks = self.acks.wrapping_add(1);
        Answer { frame: Packet { seq, echo, ..self.frame(Kind::UecAck, spec) }, body: Body::new(psn, ack) }
    }

    fn frame(&self, kind: Kind, spec: &UecSpec) -> Packet {
        Packet { flow: self.flow, dst: self.src, kind, size: spec.frame.get() as u16, ..Packet::NONE }
    }

    /// Quanta that are wanted and not granted.
    pub(crate) const fn owed(&self) -> u64 {
        self.grants.owed()
    }

    /// What it grants in its turn, or ahead of what is wanted: quanta, whether it may grant ahead once more, and the pull.
    pub(crate) fn pull(&mut self, ahead: bool, spec: &UecSpec) -> (u64, bool, Packet) {
        let config = &spec.credits.as_ref().expect("where pulls are asked for").config;
        let (given, more) =
            if ahead { self.grants.grant_ahead(config) } else { (self.grants.grant(config), false) };
        // Pulls go by all ways in turn (`uec.cpp:2899`).
        self.entropy = (self.entropy + 1) & (spec.spread.entropies - 1);
        let seq = pack(self.grants.latest() as u32, self.entropy, 0);
        (given, more, Packet { seq, ..self.frame(Kind::UecPull, spec) })
    }
}

/// Where the pull target of a number stands, in rings with so many words of bits.
const fn place(psn: u32, again: bool, words: usize) -> usize {
    (psn as usize * 2 + again as usize) & (words * 128 - 1)
}
