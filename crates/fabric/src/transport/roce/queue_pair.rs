//! The two ends of a flow: the sending and the receiving half of its queue pair, or of its turn on a connection.
use backwater_control::CodePoint;
use backwater_control::notify::{AckConfig, AckEcho};
use backwater_traffic::{Flow, OWN_CONNECTION, Pacing};
use backwater_units::Span;
use backwater_units::relative::{instant, tally};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::ranks::frame::{self, Message};
use crate::app::ranks::outgoing::Outgoing;
use crate::app::supply::Supply;
use crate::observe::recovery::Leaves;
use crate::observe::source_delay::SourceDelay;
use crate::packet::LAST;
use crate::reuse::relative;
use crate::transport::roce::extras::Extras;
use crate::transport::roce::pacer::Pacer;
use crate::transport::roce::segments::Next;
use crate::transport::roce::window::Window;
use crate::world::World;

/// When a queue pair may send again.
#[derive(Clone, Copy, Debug)]
pub(crate) enum After {
    /// Its next packet is due then.
    Due(u64),
    /// It has sent everything.
    Nothing,
    /// Its window is full; an ACK opens it.
    Acknowledged,
    /// Its queue pair sends again what is lost, and knows what is next.
    Repeats,
    /// The flow has been sent; the first packet of the connection's next message is not due before that.
    Message(u64),
}

/// The sending half.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Sender {
    #[borsh(serialize_with = "relative::flow")]
    pub(super) flow: u32,
    class: u8,
    /// Its kind among the world's.
    kind: u16,
    /// What spaces its packets, among those of the host.
    #[borsh(serialize_with = "tally")]
    pacer: u32,
    /// Number of its connection at the host; [`OWN_CONNECTION`] if it has a queue pair of its own.
    connection: u32,
    dst: u32,
    sent: u32,
    packets: u32,
    last_payload: u16,
    /// Packets acknowledged.
    acked: u32,
    /// Packets sent again.
    resent: u32,
    #[borsh(serialize_with = "instant")]
    acked_at: u64,
    cnps_ce: u32,
    cnps_ue: u32,
    source_delay: SourceDelay,
    extras: Option<Box<Extras>>,
}

impl Sender {
    /// The sending half of `flow`, number `index`, with the pacer and the connection of these numbers.
    pub(crate) fn new(index: u32, flow: &Flow, pacer: u32, connection: u32, world: &World) -> Self {
        let kind = world.pair_of(flow);
        Self {
            flow: index,
            class: world.class_of(flow),
            kind,
            pacer,
            connection,
            dst: flow.dst,
            sent: 0,
            packets: world.packets(flow),
            last_payload: world.last_payload(flow),
            acked: 0,
            resent: 0,
            acked_at: u64::MAX,
            cnps_ce: 0,
            cnps_ue: 0,
            source_delay: SourceDelay::default(),
            extras: Extras::new(index, flow, &world.pairs[usize::from(kind)], world),
        }
    }

    /// Its flow.
    #[inline]
    pub(crate) const fn flow(&self) -> u32 {
        self.flow
    }

    #[inline]
    pub(crate) const fn class(&self) -> u8 {
        self.class
    }

    /// Its kind among the world's.
    #[inline]
    pub(crate) const fn kind(&self) -> u16 {
        self.kind
    }

    /// The number of its pacer at the host.
    #[inline]
    pub(crate) const fn pacer(&self) -> u32 {
        self.pacer
    }

    /// Packets that it has to send.
    pub(crate) const fn packets(&self) -> u32 {
        self.packets
    }

    /// The number of its connection at the host, or [`OWN_CONNECTION`].
    #[inline]
    pub(crate) const fn connection(&self) -> u32 {
        self.connection
    }

    #[inline]
    pub(crate) const fn dst(&self) -> u32 {
        self.dst
    }

    /// Where its packets wait before they leave.
    #[inline]
    pub(crate) const fn source_delay(&self) -> &SourceDelay {
        &self.source_delay
    }

    #[inline]
    pub(crate) const fn source_delay_mut(&mut self) -> &mut SourceDelay {
        &mut self.source_delay
    }

    /// A packet has left; the queue pair was busy with copies until `copied`.
    pub(crate) fn note_recovery(&mut self, packet: &Leaves, copied: u64) {
        if let Some(recovery) = self.extras.as_mut().and_then(|extras| extras.recovery.as_mut()) {
            recovery.leaves(packet, &mut self.source_delay, copied);
        }
    }

    /// When its last packet was acknowledged; `u64::MAX`: not yet.
    pub(crate) const fn acked_at(&self) -> u64 {
        self.acked_at
    }

    /// Notifications about CE and UE.
    pub(crate) const fn cnps(&self) -> (u32, u32) {
        (self.cnps_ce, self.cnps_ue)
    }

    /// Packets sent again.
    pub(crate) const fn resent(&self) -> u32 {
        self.resent
    }

    /// Packets sent, each as often as it was.
    pub(crate) fn all_sent(&self) -> u32 {
        let once = if self.is_reliable() { self.losses().fresh } else { self.sent };
        once.wrapping_add(self.resent)
    }

    /// A packet is sent again.
    pub(crate) const fn count_resent(&mut self) {
        self.resent += 1;
    }

    /// Number, destination and size on the wire of the next packet.
    #[inline]
    pub(crate) fn next_packet(&self, world: &World) -> (u32, u32, u16) {
        let payload = if self.sent + 1 == self.packets { self.last_payload } else { world.payload };
        (self.sent, self.dst, payload + world.header)
    }

    /// The next packet, of `size` bytes, was due at `due`, starts to leave `now` and takes `wire_time` for it. When the one
    /// after it is due.
    #[inline]
    pub(crate) fn sent(
        &mut self,
        pacer: &mut Pacer,
        due: u64,
        now: u64,
        size: u16,
        wire_time: u64,
        world: &World,
    ) -> After {
        self.sent += 1;
        if self.extras.is_some() {
            return self.sent_with_extras(pacer, due, now, size, wire_time, world);
        }
        let wire = u32::from(size);
        let last = self.sent == self.packets;
        if last && self.connection == OWN_CONNECTION {
            return After::Nothing;
        }
        let next = Next::Paced { since: now, bytes: wire };
        let due = pacer.next_due(self.kind, &next, due, now, wire, wire_time, world);
        if last { After::Message(due) } else { After::Due(due) }
    }

    /// The same of a sender that has extras.
    #[inline(never)]
    fn sent_with_extras(
        &mut self,
        pacer: &mut Pacer,
        due: u64,
        now: u64,
        size: u16,
        wire_time: u64,
        world: &World,
    ) -> After {
        if self.is_reliable() {
            return After::Repeats;
        }
        let wire = u32::from(size);
        let (next, made) = self.after_extras(now, wire, wire_time);
        let last = self.sent == self.packets;
        if let Some(window) = self.extras.as_mut().and_then(|extras| extras.window.as_mut()) {
            window.sent(self.sent, now, wire, made);
        }
        if last && self.connection == OWN_CONNECTION {
            return After::Nothing;
        }
        let due = pacer.next_due(self.kind, &next, due, now, wire, wire_time, world);
        if last {
            return After::Message(due);
        }
        let is_full = self.window_mut().is_some_and(|window| window.closes(pacer));
        if is_full { After::Acknowledged } else { After::Due(due.max(made)) }
    }

    /// A PUT stream sends the next packet `now`: when the one after it is there, if that was not the last.
    pub(crate) fn put(&mut self, now: u64) -> Option<u64> {
        self.sent += 1;
        let mut made = 0;
        if let Some(supply) = self.extras.as_mut().and_then(|extras| extras.supply.as_mut()) {
            match supply.on_sent(now) {
                Some(at) => made = at,
                None => self.packets = self.sent,
            }
        }
        (self.sent < self.packets).then_some(made)
    }

    /// The target of a PUT stream has acknowledged one more packet; true if it is the last one.
    pub(crate) fn put_acknowledged(&mut self, now: u64) -> bool {
        self.acknowledged(self.acked + 1, now)
    }

    /// How the packet after the one just sent is spaced, and when it is there. A supplied flow learns whether it is over.
    pub(super) fn after_extras(&mut self, now: u64, wire: u32, wire_time: u64) -> (Next, u64) {
        let (mut next, mut made) = (Next::Paced { since: now, bytes: wire }, 0);
        if let Some(extras) = &mut self.extras {
            if let Some(supply) = &mut extras.supply {
                match supply.on_sent(now) {
                    Some(at) => made = at,
                    None => self.packets = self.sent,
                }
            }
            if let Some(segments) = &mut extras.segments {
                next = segments.on_sent(self.sent, self.sent == self.packets, now, wire, wire_time);
            }
            if let Some(start) = &mut extras.start {
                made = made.max(start.on_sent(now, wire));
            }
        }
        (next, made)
    }

    /// It was idle when its message was posted.
    pub(crate) fn wakes(&mut self) {
        if let Some(start) = self.extras.as_mut().and_then(|extras| extras.start.as_mut()) {
            start.wakes();
        }
    }

    /// Number in the flow of the packet sent last, if one was.
    pub(crate) const fn last_sent(&self) -> u32 {
        self.sent.wrapping_sub(1)
    }

    /// When the application made the packet sent last, at a time of its own.
    pub(crate) fn made(&self) -> u64 {
        let supply = self.extras.as_ref().and_then(|extras| extras.supply.as_ref());
        supply.map_or(0, Supply::made)
    }

    /// When the first packet of a flow that starts `now` is there.
    pub(crate) fn first_due(&self, now: u64) -> u64 {
        let supply = self.extras.as_ref().and_then(|extras| extras.supply.as_ref());
        supply.map_or(now, Supply::first)
    }

    /// What the last packet, number `seq`, carries as its number.
    pub(crate) fn last_seq(&self, seq: u32) -> u32 {
        match self.extras.as_deref() {
            Some(Extras { outgoing: Some(outgoing), .. }) => outgoing.last(seq),
            Some(Extras { supply: Some(_), .. }) => seq | LAST,
            _ => seq,
        }
    }

    /// A rank gives it one more message.
    pub(crate) fn give(&mut self, message: Message, now: u64) {
        if let Some(outgoing) = self.outgoing_mut() {
            outgoing.push(message, now);
        }
    }

    /// Turns to the next message that it was given, if ranks give it messages.
    pub(crate) fn begin_message(&mut self, world: &World) {
        let Some(size) = self.outgoing_mut().map(Outgoing::begin) else { return };
        self.packets = self.sent.wrapping_add(size.div_ceil(u64::from(world.payload)) as u32);
        self.end_with(size, world);
    }

    /// The last packet of a message of `size` bytes has what the others leave.
    fn end_with(&mut self, size: u64, world: &World) {
        let payload = u64::from(world.payload);
        let whole = size.div_ceil(payload) - 1;
        self.last_payload = if world.padded { world.payload } else { (size - whole * payload) as u16 };
    }

    /// Turns to a message that it has begun before, whose packets end at number `end`.
    pub(crate) fn turn_to(&mut self, message: Message, end: u32, world: &World) {
        if let Some(outgoing) = self.outgoing_mut() {
            outgoing.turn_to(message);
        }
        self.packets = end;
        self.end_with(message.size, world);
    }

    /// The message that it sends, or sent last, if ranks give it messages.
    pub(crate) fn message(&self) -> Option<&Message> {
        self.extras.as_ref()?.outgoing.as_ref().map(Outgoing::current)
    }

    /// Whether nothing is to come of the messages that ranks have given it any more, if the other end has `received` packets.
    pub(crate) fn has_arrived(&self, received: u32) -> bool {
        let extras = self.extras.as_ref();
        let outgoing = extras.and_then(|extras| extras.outgoing.as_ref());
        if let Some(reliable) = extras.and_then(|extras| extras.reliable.as_ref()) {
            // What is not acknowledged is sent again, unless that is given up.
            let open =
                reliable.waits_for().is_some() || outgoing.is_some_and(|outgoing| !outgoing.is_empty());
            return self.losses().failed || !open;
        }
        let is_done = |outgoing: &Outgoing| {
            outgoing.begun() == u64::MAX || (self.sent == self.packets && outgoing.is_empty())
        };
        received == self.sent && outgoing.is_none_or(is_done)
    }

    /// When ranks gave it its first message; `u64::MAX`: not yet.
    pub(crate) fn begun(&self) -> Option<u64> {
        self.extras.as_ref()?.outgoing.as_ref().map(Outgoing::begun)
    }

    fn outgoing_mut(&mut self) -> Option<&mut Outgoing> {
        self.extras.as_mut()?.outgoing.as_mut()
    }

    /// All that it has sent has been acknowledged, but ranks may give it more.
    pub(crate) fn goes_on(&mut self) {
        self.acked_at = u64::MAX;
    }

    /// An ACK for the first `packets` packets; true if it is the last one.
    #[inline]
    pub(crate) fn acknowledged(&mut self, packets: u32, now: u64) -> bool {
        self.acked = self.acked.max(packets);
        if self.acked == self.packets && self.acked_at == u64::MAX {
            self.acked_at = now;
            return true;
        }
        false
    }

    /// All of its packets are known to have come; true if that is new.
    pub(crate) fn completed(&mut self, now: u64) -> bool {
        let fresh = self.acked_at == u64::MAX;
        if fresh {
            (self.acked, self.acked_at) = (self.packets, now);
        }
        fresh
    }

    /// Whether its ACKs tell somebody something beside marks: the reaction point round-trip times, or what arrived.
    #[inline]
    pub(crate) fn measures(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| {
            extras.segments.is_some() || extras.window.is_some() || extras.losses.is_some()
        })
    }

    pub(super) fn extras(&self) -> Option<&Extras> {
        self.extras.as_deref()
    }

    pub(super) fn extras_mut(&mut self) -> Option<&mut Extras> {
        self.extras.as_deref_mut()
    }

    /// Its next packet is that of this number.
    pub(crate) const fn set_next(&mut self, number: u32) {
        self.sent = number;
    }

    /// Whether there is a packet of that number.
    pub(crate) const fn has_next(&self) -> bool {
        self.sent < self.packets
    }

    /// Whether the packet sent last was its last one.
    pub(crate) const fn has_sent_last(&self) -> bool {
        self.sent == self.packets
    }

    /// Whether its ACKs tell the reaction point round-trip times of segments.
    pub(crate) fn has_segments(&self) -> bool {
        self.extras().is_some_and(|extras| extras.segments.is_some())
    }

    /// Packets are sent again: segments under way are not measured.
    pub(crate) fn forget_round_trips(&mut self) {
        if let Some(segments) = self.extras_mut().and_then(|extras| extras.segments.as_mut()) {
            segments.lose();
        }
    }

    /// What it has under way, if that is limited.
    pub(crate) fn window_mut(&mut self) -> Option<&mut Window> {
        self.extras.as_mut()?.window.as_mut()
    }

    /// An ACK for the first `packets` packets: the round-trip time of a segment, if it completes one.
    pub(crate) fn round_trip(&mut self, packets: u32, now: u64) -> Option<Span> {
        self.extras.as_mut()?.segments.as_mut().and_then(|segments| segments.on_ack(packets, now))
    }

    /// Counts a notification about this flow.
    pub(crate) fn count(&mut self, code: CodePoint) {
        match code {
            CodePoint::Congestion => self.cnps_ce += 1,
            CodePoint::Undetermined => self.cnps_ue += 1,
            _ => {}
        }
    }
}

/// The receiving half.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Receiver {
    #[borsh(serialize_with = "relative::flow")]
    flow: u32,
    /// Its kind among the world's.
    kind: u16,
    packets: u32,
    expected: u32,
    #[borsh(serialize_with = "instant")]
    finish: u64,
    received: u64,
    ce_packets: u32,
    ue_packets: u32,
    /// Arrivals of PUTs that were not accepted.
    refused: u32,
    /// Its notification point, if it has one, among those of the host.
    #[borsh(serialize_with = "tally")]
    pub(super) notes: u32,
    /// It receives messages of a rank, each with an end of its own.
    messages: bool,
    echo: AckEcho,
}

/// What the receiver makes of a data packet.
pub(crate) enum Verdict {
    /// It is not the one expected.
    OutOfOrder,
    /// Fine; it is or is not the flow's last. An ACK with this echo is due.
    Fine { last: bool, ack: Option<CodePoint> },
}

impl Receiver {
    /// The receiving half of `flow`, number `index`, with the notification point of this number.
    pub(crate) fn new(index: u32, flow: &Flow, notes: u32, world: &World) -> Self {
        let messages = flow.pacing == Pacing::Messages;
        let expected = if messages { 0 } else { world.packets(flow) };
        Self {
            flow: index,
            kind: world.pair_of(flow),
            packets: 0,
            expected,
            finish: u64::MAX,
            received: 0,
            ce_packets: 0,
            ue_packets: 0,
            refused: 0,
            notes,
            messages,
            echo: AckEcho::default(),
        }
    }

    #[inline]
    pub(crate) const fn flow(&self) -> u32 {
        self.flow
    }

    /// Its kind among the world's.
    #[inline]
    pub(crate) const fn kind(&self) -> u16 {
        self.kind
    }

    /// The number of its notification point at the host, if it has one.
    #[inline]
    pub(crate) const fn notes(&self) -> u32 {
        self.notes
    }

    /// Packets received.
    #[inline]
    pub(crate) const fn packets(&self) -> u32 {
        self.packets
    }

    /// Payload received, in bytes.
    #[inline]
    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    /// When the last packet came; `u64::MAX`: not yet.
    pub(crate) const fn finish(&self) -> u64 {
        self.finish
    }

    /// How many packets it waits for before it ends; 1 where only its last packet says that; `None`: it has ended, or never does.
    pub(crate) fn missing(&self) -> Option<u32> {
        let open = !self.messages && self.finish == u64::MAX;
        open.then(|| self.expected.saturating_sub(self.packets).max(1))
    }

    /// Packets with CE and with UE.
    pub(crate) const fn marks(&self) -> (u32, u32) {
        (self.ce_packets, self.ue_packets)
    }

    /// Whether it receives messages of a rank, and never ends.
    #[inline]
    pub(crate) const fn has_messages(&self) -> bool {
        self.messages
    }

    /// PUTs that were not accepted.
    pub(crate) const fn refused(&self) -> u32 {
        self.refused
    }

    /// What came beside [`Self::on_put`] had this code.
    #[inline]
    pub(crate) fn count_mark(&mut self, code: CodePoint) {
        self.ce_packets += u32::from(code == CodePoint::Congestion);
        self.ue_packets += u32::from(code == CodePoint::Undetermined);
    }

    /// A PUT is not accepted.
    pub(crate) const fn count_refused(&mut self) {
        self.refused += 1;
    }

    /// Whether a packet of this number, which is not that of the one expected, is the last one of a flow or of a message.
    #[cold]
    const fn ends(&self, seq: u32) -> bool {
        if self.messages { frame::ends(seq, self.packets) } else { seq == self.packets | LAST }
    }

    /// The last packet has come. Whether it is that of a message only, and there may be more.
    pub(crate) fn goes_on(&mut self) -> bool {
        if self.messages {
            (self.expected, self.finish) = (0, u64::MAX);
        }
        self.messages
    }

    /// A PUT has been processed; true if it is the last one of its flow.
    pub(crate) fn on_put(&mut self, last: bool, size: u16, now: u64, world: &World) -> bool {
        self.packets += 1;
        self.received += u64::from(size - world.header);
        if last {
            self.finish = now;
            // What the last packet was padded with does not count.
            if let Some(size) = world.flows[self.flow as usize].known_size() {
                self.received = size.get();
            }
        }
        last
    }

    #[inline]
    pub(crate) fn on_data(
        &mut self,
        seq: u32,
        code: CodePoint,
        size: u16,
        now: u64,
        world: &World,
    ) -> Verdict {
        if seq != self.packets {
            if !self.ends(seq) {
                return Verdict::OutOfOrder;
            }
            self.expected = self.packets + 1;
        }
        self.packets += 1;
        self.received += u64::from(size - world.header);
        self.ce_packets += u32::from(code == CodePoint::Congestion);
        self.ue_packets += u32::from(code == CodePoint::Undetermined);
        let last = self.packets == self.expected;
        if last {
            self.finish = now;
            // What the last packet was padded with does not count.
            if let Some(size) = world.flows[self.flow as usize].known_size() {
                self.received = size.get();
            }
        }
        let ack = match &world.pairs[usize::from(self.kind)].ack {
            Some(ack) => self.echo.on_packet(&AckConfig { every: ack.every }, code, last),
            None => None,
        };
        Verdict::Fine { last, ack }
    }
}
