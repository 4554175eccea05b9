//! A NIC that takes part: what a CIM notified it of leaves in the congested class, until no CIM has come for a while. What a Hold frame
//! names waits in a class whose gate never opens, until another one lets it go; what a Halt frame names, for the time that it says.
//!
//! The queue pairs concerned go from one class to the other, also while a class is paused; each keeps its place in time, and in
//! the round. A NIC that nobody has notified has no event and asks nothing. With several ports a CIM concerns what leaves by the one at
//! which it came: a hot spot behind it need not be on the way from another.
use backwater_control::isolation::{Key, KeyKind, Origin};
use backwater_engine::Post;
use backwater_units::{Bytes, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::ports::NIC;
use crate::link::ports::Purpose;
use crate::nic::host::Host;
use crate::nic::nics::{Nics, queue_among};
use crate::observe::isolation_stats::Noted;
use crate::packet::{Kind, Packet};
use crate::record::{ClosureRecord, GateChange, IsolationEvent, KeyedBy};
use crate::switch::cioq::isolation::Rules;
use crate::switch::cioq::isolation::entries::{behind, ends_of, parts_of};
use crate::transport::roce::queue_pair::Sender;
use crate::world::World;

/// What a NIC was notified of.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Notified {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Entry {
    key: Key,
    /// The port by which it was notified: it concerns what leaves by that.
    port: u16,
    root: u32,
    /// Of what a Halt frame names: its name in records, and its class.
    name: (KeyedBy, u32),
    class: u8,
    /// When it is forgotten, if no frame comes before that says so again.
    until: u64,
    /// [`KeyKind::Root`]: the destinations behind the root, a bit each.
    behind: Vec<u64>,
}

impl Notified {
    /// Whether nobody has notified it of anything.
    pub(crate) const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The class in which a queue pair's packets leave now, by that port.
    #[inline]
    pub(crate) fn class_of(&self, sender: &Sender, port: u16, world: &World) -> u8 {
        if self.entries.is_empty() { sender.class() } else { self.class_when_notified(sender, port, world) }
    }

    #[cold]
    fn class_when_notified(&self, sender: &Sender, port: u16, world: &World) -> u8 {
        match &world.isolation {
            Some(rules)
                if sender.class() == rules.lanes.monitored
                    && self.entries.iter().any(|entry| entry.concerns(sender, port, rules, world)) =>
            {
                rules.lanes.congested
            }
            None if self.holds(sender, port, world) => world.held_class(),
            _ => sender.class(),
        }
    }

    /// Whether a queue pair is held at that port.
    fn holds(&self, sender: &Sender, port: u16, world: &World) -> bool {
        let of = (sender.flow(), sender.dst(), sender.class());
        self.entries.iter().any(|entry| entry.port == port && world.is_held_by(entry.key, of))
    }

    /// Keeps a key until `until`. Whether it is a new one.
    fn keep(&mut self, (key, port): (Key, u16), root: u32, until: u64) -> bool {
        let is_it = |entry: &&mut Entry| (entry.key, entry.port) == (key, port);
        if let Some(known) = self.entries.iter_mut().find(is_it) {
            known.until = known.until.max(until);
            return false;
        }
        let name = (KeyedBy::Flow, 0);
        self.entries.push(Entry { key, port, root, name, class: 0, until, behind: Vec::new() });
        true
    }

    /// Forgets what was to be kept until `now`, and returns it.
    fn expire(&mut self, now: u64) -> Vec<Entry> {
        self.entries.extract_if(.., |entry| entry.until <= now).collect()
    }

    /// When to look at it next.
    fn next(&self) -> Option<u64> {
        self.entries.iter().map(|entry| entry.until).min()
    }
}

impl Entry {
    fn concerns(&self, sender: &Sender, port: u16, rules: &Rules, world: &World) -> bool {
        let is_key = || match rules.key {
            KeyKind::Root => self.behind[sender.dst() as usize / 64] >> (sender.dst() % 64) & 1 == 1,
            kind => world.key(kind, sender.flow(), sender.dst()) == self.key,
        };
        port == self.port && is_key()
    }
}

impl<N: Nics> Host<N> {
    /// A congestion isolation message arrived by the present port.
    #[cold]
    pub(crate) fn on_cim<P: Post<Packet>>(&mut self, cim: &Packet, cx: &mut Ctx<'_, P>) {
        let Some((rules, hold)) =
            cx.world.isolation.as_ref().and_then(|rules| Some((rules, rules.host_hold?)))
        else {
            return;
        };
        let key = match rules.key {
            KeyKind::Root => u64::from(cim.seq),
            kind => cx.world.key(kind, cim.flow, cim.dst),
        };
        let until = cim.time + hold;
        let first = self.notified.entries.is_empty();
        let port = self.nic();
        if !self.notified.keep((key, port), cim.seq, until) {
            return;
        }
        if first {
            self.ports.set_timer(until, NIC, Purpose::Forget, 0);
        }
        if rules.key == KeyKind::Root {
            let behind = behind(self.ports.egress(port).peer(), cim.seq, cx.world);
            self.notified.entries.last_mut().expect("pushed above").behind = behind;
        }
        self.note_notified(IsolationEvent::Allocated, (rules.key, key), port, cim.seq, cx);
        self.regroup((rules.lanes.monitored, rules.lanes.congested), cim.time, cx.world);
        self.send_next(cx);
    }

    /// A flow is held, or what goes to a destination or has a root on its way, at the present port; or it is let go. A root that has become
    /// a part of another one is let go, too.
    #[cold]
    pub(crate) fn on_hold<P: Post<Packet>>(&mut self, frame: &Packet, cx: &mut Ctx<'_, P>) {
        let ((holds, class, _), apart) = (frame.held(), cx.world.held_class());
        let of = if frame.kind == Kind::Merge { frame.dst } else { frame.flow };
        let held = (cx.world.hold_key(of, frame.dst, class), self.nic());
        if cx.world.notes_truth() {
            self.note_held((of, frame.dst, class), holds, cx);
        }
        if holds {
            self.notified.keep(held, 0, u64::MAX);
            self.regroup((class, apart), cx.now, cx.world);
        } else {
            self.notified.entries.retain(|entry| (entry.key, entry.port) != held);
            self.regroup((apart, class), cx.now, cx.world);
        }
        self.send_next(cx);
    }

    /// What a Hold frame names is held, or let go.
    fn note_held<P: Post<Packet>>(
        &mut self,
        (flow, dst, class): (u32, u32, u8),
        holds: bool,
        cx: &mut Ctx<'_, P>,
    ) {
        let known = (cx.world.hold_key(flow, dst, class), self.nic());
        if holds == self.notified.entries.iter().any(|entry| (entry.key, entry.port) == known) {
            return;
        }
        let name = cx.world.hold_names(flow, dst, class);
        let change = if holds { GateChange::Closed } else { GateChange::Opened };
        self.note_gate((name, class), self.nic(), change, cx);
    }

    fn note_gate<P: Post<Packet>>(
        &mut self,
        ((scope, key), class): ((KeyedBy, u32), u8),
        port: u16,
        change: GateChange,
        cx: &mut Ctx<'_, P>,
    ) {
        let record = ClosureRecord {
            time: Time::from_ps(cx.now),
            node: self.ports.node(),
            port,
            priority: cx.world.classes.priority(class),
            scope,
            key,
            change,
            bytes: Bytes::ZERO,
        };
        self.ports.records_mut().closures.push(record);
        cx.post.recorded(1);
    }

    /// A flow, or all of its class, is to pause for a time. One that pauses already goes on until the later of both ends.
    #[cold]
    pub(crate) fn on_halt<P: Post<Packet>>(&mut self, halt: &Packet, cx: &mut Ctx<'_, P>) {
        let (world, port) = (cx.world, self.nic());
        let flow = &world.flows[halt.flow as usize];
        let class = world.classes.class(flow.priority);
        let until = cx.now + u64::from(halt.seq) * 1000;
        self.ports.set_timer(until, NIC, Purpose::Forget, 0);
        if !self.notified.keep((world.hold_key(halt.flow, flow.dst, class), port), 0, until) {
            return;
        }
        let name = world.hold_names(halt.flow, flow.dst, class);
        let entry = self.notified.entries.last_mut().expect("pushed above");
        (entry.name, entry.class) = (name, class);
        if world.notes_truth() {
            self.note_gate((name, class), port, GateChange::Closed, cx);
        }
        self.regroup((class, world.held_class()), cx.now, world);
        self.send_next(cx);
    }

    /// Pauses may be over.
    fn go_on<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let over = self.notified.expire(cx.now);
        for entry in &over {
            if cx.world.notes_truth() {
                self.note_gate((entry.name, entry.class), entry.port, GateChange::Opened, cx);
            }
            self.regroup((cx.world.held_class(), entry.class), cx.now, cx.world);
        }
        if !over.is_empty() {
            self.send_next(cx);
        }
    }

    /// Forgets what no CIM has notified it of again in time, and pauses that are over.
    #[cold]
    pub(crate) fn forget<P: Post<Packet>>(&mut self, cx: &mut Ctx<'_, P>) {
        let Some(rules) = &cx.world.isolation else { return self.go_on(cx) };
        let expired = self.notified.expire(cx.now);
        if let Some(next) = self.notified.next() {
            self.ports.set_timer(next, NIC, Purpose::Forget, 0);
        }
        for entry in &expired {
            self.note_notified(IsolationEvent::Released, (rules.key, entry.key), entry.port, entry.root, cx);
        }
        if !expired.is_empty() {
            self.regroup((rules.lanes.congested, rules.lanes.monitored), cx.now, cx.world);
            self.send_next(cx);
        }
    }

    fn note_notified<P: Post<Packet>>(
        &mut self,
        what: IsolationEvent,
        (kind, key): (KeyKind, Key),
        port: u16,
        root: u32,
        cx: &mut Ctx<'_, P>,
    ) {
        let noted = Noted {
            what,
            port,
            origin: 1 << Origin::Cim as u8,
            root: Some(parts_of(root)),
            used: self.notified.entries.len() as u32,
            ..ends_of(kind, key, cx.world)
        };
        self.ports.note_isolation(&noted, cx);
    }

    /// Moves the queue pairs that have something to send `from` a class, and belong to the other.
    fn regroup(&mut self, (from, to): (u8, u8), now: u64, world: &World) {
        for port in 0..self.ports.count() {
            let Self { notified, senders, nics, pacing_queue, .. } = self;
            let goes = |pair| notified.class_of(&senders[pair as usize], port, world) == to;
            let moved = queue_among(pacing_queue, nics, port).take_if(from, goes);
            if moved.is_empty() {
                continue;
            }
            let closed = [from, to].map(|class| self.ports.closed_for(port, class, now));
            for entry in moved {
                self.senders[entry.pair as usize].source_delay_mut().change_gates(closed[0], closed[1]);
                queue_among(&mut self.pacing_queue, &mut self.nics, port).push_entry(to, entry);
            }
        }
    }
}
