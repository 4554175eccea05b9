//! The sender of a flow of UEC, from its start until all is acknowledged.
use backwater_control::uec::{
    Acked, Credit, Delivery, Feedback, Heard, LISTED, Leaving, Nscc, Record, Ring, Room, Sender, Signals,
    Spread, SpreadKind, Wanted, backlog, nscc, patience, whole,
};
use backwater_engine::{Stream, stream};
use backwater_units::Bytes;
use borsh::{BorshDeserialize, BorshSerialize};
use rand_core::Rng;

use crate::packet::{Kind, Packet};
use crate::spec::UecSpec;
use crate::transport::uec::frame::{AGAIN, ASKS, AT_LAST, Body, GAP, NUMBER_BITS, OF_RTS, has, pack};
use crate::world::World;

/// Purpose of the random streams by which flows choose entropies.
const SPREADS: u64 = 0x7565_635f_7370_7264;
/// Least numbers that rings have room for.
const LEAST_RING: u32 = 64;

/// What happened to a flow at its source, over the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct Counts {
    pub(crate) acks: u32,
    pub(crate) nacks: u32,
    pub(crate) timeouts: u32,
    pub(crate) rts: u32,
}

/// Why a packet may not leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum May {
    Send,
    /// There is nothing to send.
    Nothing,
    /// Its window is full, or too many numbers are open.
    Window,
    /// It has no credit.
    Credit,
}

/// A packet that leaves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) packet: Packet,
    pub(crate) leaving: Leaving,
    /// The pull target that goes ahead of it.
    pub(crate) target: Option<u64>,
}

/// See the head of this file.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Outgoing {
    flow: u32,
    class: u8,
    dst: u32,
    /// Its kind among those of the world.
    kind: u16,
    mtu: u16,
    /// Payload of a full packet.
    payload: u16,
    /// It stands in line at the NIC.
    waits: bool,
    sender: Sender,
    nscc: Option<Nscc>,
    credit: Option<Credit>,
    spread: Spread,
    /// ROD: the entropy of all its packets.
    only: Option<u16>,
    random: Stream,
    /// When the timer that is set goes off; `u64::MAX`: none is.
    timer: u64,
    /// When the last RTS left, if one did.
    rts_at: Option<u64>,
    /// ACKs of which what they say has come ahead.
    ahead: u32,
    /// Bytes received, as the last of them says.
    told: u64,
    records: Box<[Record]>,
    open: Box<[u64]>,
    lost: Box<[u64]>,
    scores: Box<[u8]>,
    list: Box<[u16]>,
    /// What the latest ACKs say, by number: as many as may be under way.
    bodies: Box<[(Body, u64)]>,
}

/// The rings of `this` as the rules want them; a macro, as the rest of it stays free.
macro_rules! ring {
    ($this:expr) => {
        Ring { records: &mut $this.records, open: &mut $this.open, lost: &mut $this.lost }
    };
}

macro_rules! room {
    ($this:expr) => {
        &mut Room { scores: &mut $this.scores, list: &mut $this.list }
    };
}

impl Outgoing {
    /// That of flow `index`, which starts.
    pub(crate) fn new(index: u32, kind: u16, spec: &UecSpec, world: &World) -> Self {
        let flow = &world.flows[index as usize];
        let mtu = world.payload + world.header;
        let mut random = stream(world.seed, SPREADS, u64::from(world.path_key(index)));
        let most = spec.most_window();
        let packets = u32::try_from(most / u64::from(mtu) + 1).unwrap_or(u32::MAX);
        let packets = packets.clamp(LEAST_RING, spec.range).next_power_of_two() as usize;
        let (scores, list) = (spec.spread.kind.scores(), spec.spread.kind.lists());
        let size = flow.known_size().map_or(u64::MAX, Bytes::get);
        let nscc = spec.window.and_then(|window| Some((window.first, window.nscc?)));
        Self {
            flow: index,
            class: world.class_of(flow),
            dst: flow.dst,
            kind,
            mtu,
            payload: world.payload,
            waits: false,
            sender: Sender::new(backlog(size, world.payload, world.header)),
            nscc: nscc.map(|(first, config)| Nscc::new(&config, world.base_rtt(index, spec), first)),
            credit: spec.credits.map(|credits| Credit::new(&credits.config)),
            spread: Spread::new(&spec.spread, random.next_u32()),
            only: (spec.delivery == Delivery::Rod)
                .then(|| random.next_u32() as u16 & (spec.spread.entropies - 1)),
            random,
            timer: u64::MAX,
            rts_at: None,
            ahead: 0,
            told: 0,
            records: vec![Record::default(); packets].into(),
            open: vec![0; packets / 64].into(),
            lost: vec![0; packets / 64].into(),
            scores: vec![0; if scores { usize::from(spec.spread.entropies) } else { 0 }].into(),
            list: vec![0; if list { LISTED } else { 0 }].into(),
            bodies: vec![(Body::default(), 0); packets].into(),
        }
    }

    #[inline]
    pub(crate) const fn class(&self) -> u8 {
        self.class
    }

    #[inline]
    pub(crate) const fn kind(&self) -> u16 {
        self.kind
    }

    /// Whether it stands in line at the NIC.
    #[inline]
    pub(crate) const fn waits(&self) -> bool {
        self.waits
    }

    /// It gets in line, or leaves it.
    #[inline]
    pub(crate) const fn set_waits(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// Whether everything is acknowledged.
    #[inline]
    pub(crate) const fn is_done(&self) -> bool {
        self.sender.is_done()
    }

    /// Whether all has been sent once.
    #[inline]
    pub(crate) const fn has_sent_all(&self) -> bool {
        self.sender.backlog() == 0
    }

    /// Bytes of the packet that goes next; 0: there is none.
    #[inline]
    pub(crate) fn next_size(&mut self) -> u16 {
        self.sender.next_size(self.mtu, &ring!(self))
    }

    /// Its window, if it has one.
    #[inline]
    fn window(&self, spec: &UecSpec) -> Option<i64> {
        let window = spec.window.as_ref()?;
        Some(self.nscc.as_ref().map_or(window.first.cast_signed(), Nscc::window))
    }

    /// Whether its next packet may leave.
    #[inline]
    pub(crate) fn may_send(&mut self, spec: &UecSpec) -> May {
        let size = self.next_size();
        if size == 0 {
            return May::Nothing;
        }
        if self.credit.is_some_and(|credit| !credit.may_send()) {
            return May::Credit;
        }
        let fits = self.window(spec).is_none_or(|window| window >= self.sender.in_flight() + i64::from(size));
        let numbered = self.sender.repeats() || self.sender.has_room(spec.range as usize);
        if fits && numbered { May::Send } else { May::Window }
    }

    /// The rings have room for one more number.
    #[inline]
    fn make_room(&mut self) {
        if !self.sender.has_room(self.records.len()) {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let packets = self.records.len() * 2;
        let mut records: Box<[Record]> = vec![Record::default(); packets].into();
        let mut open: Box<[u64]> = vec![0; packets / 64].into();
        let mut lost: Box<[u64]> = vec![0; packets / 64].into();
        let mut new = Ring { records: &mut records, open: &mut open, lost: &mut lost };
        self.sender.move_to(&ring!(self), &mut new);
        (self.records, self.open, self.lost) = (records, open, lost);
    }

    /// What may be sent in full packets, as lists of entropies count it (`uec.cpp:2096`).
    fn in_packets(&self, spec: &UecSpec) -> u32 {
        let window = match (&self.nscc, spec.window, spec.credits) {
            (Some(nscc), ..) => nscc.window(),
            (None, Some(window), _) => window.first.cast_signed(),
            (None, None, Some(credits)) => credits.config.most.cast_signed(),
            (None, None, None) => 0,
        };
        (window / i64::from(self.payload)) as u32
    }

    #[inline]
    fn entropy(&mut self, spec: &UecSpec) -> u16 {
        if let Some(only) = self.only {
            return only;
        }
        // Others do not ask for it, and are spared the division.
        let packets = if spec.spread.kind == SpreadKind::RepsList { self.in_packets(spec) } else { 0 };
        let random = &mut self.random;
        self.spread.next(&spec.spread, (self.sender.next(), packets), room!(self), || random.next_u32())
    }

    fn target(&self, spec: &UecSpec, waiting: u32) -> Option<u64> {
        let (credit, credits) = (self.credit.as_ref()?, spec.credits.as_ref()?);
        let wanted = Wanted {
            backlog: self.sender.backlog(),
            again: self.sender.again_bytes(),
            window: self.window(spec),
            waiting,
        };
        Some(credit.target(&credits.config, &wanted))
    }

    /// Its next packet leaves, one of `waiting` flows that stand in line.
    #[inline]
    pub(crate) fn leave(&mut self, spec: &UecSpec, waiting: u32, now: u64) -> Departure {
        self.make_room();
        let entropy = self.entropy(spec);
        let leaving = self.sender.sends(self.mtu, entropy, now, &mut ring!(self));
        if let Some(credit) = &mut self.credit {
            credit.spend(leaving.size);
        }
        let full = self
            .window(spec)
            .is_some_and(|window| self.sender.in_flight() + i64::from(leaving.size) >= window);
        let spent = self.credit.is_some_and(|credit| !credit.may_send());
        let asks = leaving.again || self.sender.backlog() == 0 || full || spent;
        let flags = if asks { ASKS } else { 0 } | if leaving.again { AGAIN } else { 0 };
        let target = self.target(spec, waiting);
        let code = backwater_control::CodePoint::Capable;
        let packet = Packet { size: leaving.size, class: self.class, code, ..self.frame(Kind::UecData) };
        Departure { packet: Packet { seq: pack(leaving.psn, entropy, flags), ..packet }, leaving, target }
    }

    const fn frame(&self, kind: Kind) -> Packet {
        Packet { flow: self.flow, dst: self.dst, kind, ..Packet::NONE }
    }

    /// An RTS leaves, if none has for a round trip: it, its number, and its pull target.
    pub(crate) fn rts(&mut self, spec: &UecSpec, waiting: u32, now: u64) -> Option<(Packet, u32, u64)> {
        let early = self.rts_at.is_some_and(|at| now - at < spec.base.as_ps());
        if early || !self.sender.has_room(spec.range as usize) {
            return None;
        }
        self.make_room();
        let entropy = self.entropy(spec);
        let psn = self.sender.sends_rts(entropy, now, &mut ring!(self));
        self.rts_at = Some(now);
        Some((self.rts_frame(psn, entropy, false, spec), psn, self.target(spec, waiting)?))
    }

    fn rts_frame(&self, psn: u32, entropy: u16, again: bool, spec: &UecSpec) -> Packet {
        let flags = if again { AGAIN } else { 0 };
        let size = spec.frame.get() as u16;
        Packet { seq: pack(psn, entropy, flags), size, ..self.frame(Kind::UecRts) }
    }

    /// What an ACK says has come ahead of it.
    #[inline]
    pub(crate) fn put_ahead(&mut self, body: Body) {
        let at = self.ahead as usize & (self.bodies.len() - 1);
        self.told = body.bytes_after(self.told);
        self.bodies[at] = (body, self.told);
        self.ahead += 1;
    }

    /// What an ACK says, and the bytes received, unless that has been written over.
    #[inline]
    fn body(&self, ack: &Packet) -> Option<(Body, u64)> {
        let number = whole(ack.psn(), self.ahead, NUMBER_BITS);
        let behind = self.ahead.wrapping_sub(number);
        let is_there = behind > 0 && behind as usize <= self.bodies.len();
        is_there.then(|| self.bodies[number as usize & (self.bodies.len() - 1)])
    }

    /// An ACK has come.
    #[inline]
    pub(crate) fn on_ack(&mut self, frame: &Packet, spec: &UecSpec, now: u64) -> Option<Acked> {
        let (body, bytes) = self.body(frame)?;
        let (psn, ack) = body.read(self.sender.cumulative(), bytes);
        let heard = Heard { psn, again: has(frame, AGAIN), ack };
        let acked = match spec.delivery {
            Delivery::Rudi => self.sender.on_ack_alone(psn, heard.again, now, &mut ring!(self)),
            _ => self.sender.on_ack(&heard, now, &mut ring!(self)),
        };
        let marked = frame.echo.is_marked();
        let feedback = if marked { Feedback::Marked } else { Feedback::Good };
        self.spread.heard(&spec.spread, feedback, frame.entropy() as u16, now, room!(self));
        if let (Some(nscc), Some(config)) = (&mut self.nscc, spec.nscc()) {
            let told = Signals {
                fresh: acked.fresh,
                rtt: acked.rtt,
                rts: has(frame, OF_RTS),
                marked,
                in_flight: self.sender.in_flight(),
            };
            nscc.on_ack(config, now, &told);
        }
        self.heard();
        Some(acked)
    }

    #[inline]
    fn heard(&mut self) {
        if let Some(credit) = &mut self.credit {
            credit.heard();
        }
    }

    /// A NACK has come.
    pub(crate) fn on_nack(&mut self, frame: &Packet, spec: &UecSpec, now: u64) {
        let psn = whole(frame.psn(), self.sender.cumulative(), NUMBER_BITS);
        let (before, at_last) = (self.sender.in_flight(), has(frame, AT_LAST));
        if spec.delivery == Delivery::Rod && has(frame, GAP) {
            return self.sender.go_back(psn, &mut ring!(self));
        }
        let nacked = self.sender.on_nack(psn, now, &mut ring!(self));
        if spec.delivery == Delivery::Rod {
            self.sender.go_back(psn, &mut ring!(self));
        }
        let Some(nacked) = nacked else { return };
        if let (Some(nscc), Some(config)) = (&mut self.nscc, spec.nscc()) {
            nscc.on_nack(config, now, nacked, before, at_last && self.credit.is_some());
        }
        self.heard();
        // What its own link's receiver had no room for says nothing about the way.
        let feedback = match (at_last, frame.echo.is_marked()) {
            (false, _) => Feedback::Trimmed,
            (true, true) => Feedback::Marked,
            (true, false) => Feedback::Good,
        };
        self.spread.heard(&spec.spread, feedback, frame.entropy() as u16, now, room!(self));
    }

    /// A pull has come.
    #[inline]
    pub(crate) fn on_pull(&mut self, frame: &Packet, spec: &UecSpec) {
        let (Some(credit), Some(credits)) = (&mut self.credit, &spec.credits) else { return };
        credit.heard();
        let known = credit.pull();
        let more = whole(frame.psn(), known as u32, NUMBER_BITS).wrapping_sub(known as u32).cast_signed();
        credit.on_pull(&credits.config, known.saturating_add_signed(more.into()));
    }

    /// The timer is to go off at `at`, the first one of the flow.
    pub(crate) const fn look_at(&mut self, at: u64) -> u64 {
        self.timer = at;
        at
    }

    /// A packet leaves that has timed out so often: when the timer has to go off, if that is before the one that is set.
    #[inline]
    pub(crate) fn arm(&mut self, spec: &UecSpec, late: u8, now: u64) -> Option<u64> {
        let at = now.saturating_add(patience(spec.rto.as_ps(), spec.doubles, late));
        (at < self.timer).then(|| {
            self.timer = at;
            at
        })
    }

    /// Its timer goes off: the packet that has waited for too long is to be sent again.
    pub(crate) fn expire(&mut self, spec: &UecSpec, now: u64) -> Expired {
        if self.timer != now {
            return Expired::Nothing;
        }
        self.timer = u64::MAX;
        let oldest = self.sender.oldest(spec.rto.as_ps(), spec.doubles, &ring!(self));
        let Some((psn, ends)) = oldest else {
            // Nothing is under way. Where credits rule, the pull that is waited for may be lost.
            if self.credit.is_none() || self.is_done() {
                return Expired::Nothing;
            }
            self.timer = now + spec.rto.as_ps();
            return Expired::Starves(self.timer);
        };
        if ends > now {
            self.timer = ends;
            return Expired::Later(ends);
        }
        let queued = self.sender.repeats();
        let record = self.sender.on_timeout(psn, now, &mut ring!(self));
        if spec.delivery == Delivery::Rod {
            self.sender.go_back(psn, &mut ring!(self));
        }
        // The next one that may wait for too long.
        let next = self.sender.oldest(spec.rto.as_ps(), spec.doubles, &ring!(self));
        let again = next.map(|(_, ends)| ends.max(now + 1));
        self.timer = again.unwrap_or(u64::MAX);
        if record.size == 0 {
            return Expired::Rts(self.rts_frame(psn, record.entropy, true, spec), psn, again);
        }
        self.spread.heard(&spec.spread, Feedback::Lost, record.entropy, now, room!(self));
        if let (Some(nscc), Some(config)) = (&mut self.nscc, spec.nscc()) {
            nscc.on_timeout(config, record.size);
        }
        if queued {
            self.heard();
        }
        Expired::Data { queued, again }
    }

    /// The pull target of an RTS that is sent again.
    pub(crate) fn target_again(&self, spec: &UecSpec) -> Option<u64> {
        self.target(spec, 1)
    }

    /// Whether it goes by credits.
    pub(crate) const fn has_credit(&self) -> bool {
        self.credit.is_some()
    }
}

/// What a timer that goes off finds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expired {
    /// It is not the one that counts, or nothing is under way.
    Nothing,
    /// Nothing has waited for too long; the next one may, then.
    Later(u64),
    /// Nothing is under way, and it may be that credits are waited for. When to look again.
    Starves(u64),
    /// An RTS is lost: this one leaves again, of this number. When to look again.
    Rts(Packet, u32, Option<u64>),
    /// A packet is to be sent again, as others were before it or not. When to look again.
    Data { queued: bool, again: Option<u64> },
}

impl UecSpec {
    /// What changes windows.
    #[inline]
    pub(crate) fn nscc(&self) -> Option<&backwater_control::uec::NsccConfig> {
        self.window.as_ref()?.nscc.as_ref()
    }

    /// The largest window, or the most credit.
    pub(crate) fn most_window(&self) -> u64 {
        let window = self.window.map_or(0, |window| match window.nscc {
            Some(config) => window.first.max(nscc::most_window(self.base.as_ps(), config.rate)),
            None => window.first,
        });
        window.max(self.credits.map_or(0, |credits| credits.config.most))
    }
}
