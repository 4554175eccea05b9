//! Which ports are roots of congestion, while the run goes on: for the oracle among the detectors. The definition is that of
//! docs/ground-truth.md, which the analysis of a run follows with all tables before it. Here it is decided by what has happened.
//!
//! ```text
//!   gate closes ─▶ OFF ─▶ gate opens ─▶ sends on what was held back ─▶ held, while the queue stays long ─▶ proof ─▶ free
//!                              │                    ▲
//!                              └─ Kind::Truth ──────┘  what waited behind the ports upstream, a link delay later
//! ```
//! A proof is one of three: the queue fell to K; it grew; the switch holds back a port upstream mainly for its sake. Under credits the
//! last one is known only when that port has been OFF and is ON again, and so the oracle is later than the analysis.
use std::collections::VecDeque;

use backwater_control::CodePoint;
use backwater_control::flow_control::{CreditReturn, Decision};
use backwater_units::{Bytes, Rate, Span};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::egress::Egress;
use crate::observe::ground_truth::Left;
use crate::packet::{Kind, Packet};
use crate::world::World;

/// Never.
const NEVER: u64 = u64::MAX;
/// No congestion tree is deeper.
const DEEPEST: u16 = 32;
/// Holds of an ingress port that are remembered until the port upstream tells what came of them.
const HOLDS: usize = 8;
/// After so many periods of credits the queue upstream of a port that has opened its gate has settled.
const SETTLED: u64 = 5;
/// Times in a frame are in units of 2¹⁰ ps.
const TICK: u32 = 10;

/// What is known of the egress queues of a switch.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Roots {
    /// By egress port and class.
    queues: Vec<Held>,
    /// By ingress port and class.
    ingresses: Vec<Ingress>,
    /// By port.
    links: Vec<Facts>,
    /// By port the threshold K.
    long: Vec<u64>,
    classes: usize,
    /// Tc, 0 where no credits come back by periods.
    period: u64,
    /// The packet that left last has shown its queue to be a root, for those after it.
    shown: Option<Shown>,
}

/// A packet has shown its queue to be a root, by leaving it longer than it was.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Shown {
    pub(crate) at: usize,
    pub(crate) now: u64,
    pub(crate) left: Left,
}

/// What follows from the rate of a port.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Facts {
    rate: Rate,
    delay: u64,
    /// The other end is a switch.
    switch: bool,
    /// How long after the end of a hold the port upstream has told what came of it.
    grace: u64,
    /// For how long a port under credits may be ON although they still take their turns with it.
    turn: u64,
    /// By how much a queue goes up and down without any overload, and how long that takes to be sent.
    slack: u64,
    slack_ps: u64,
    /// The same, and what is sent in a period of credits.
    swing: u64,
}

/// An egress queue and its last OFF interval.
#[derive(Clone, Debug, BorshSerialize, BorshDeserialize)]
struct Held {
    off: u64,
    on: u64,
    /// Bytes in it when the gate opened.
    own: u64,
    /// What waited behind the ports that its switch held back for it.
    upstream: Vec<Upstream>,
    /// Until when earlier OFF intervals hold it.
    until: u64,
    /// The queue is not above K: since the gate opened, or for so short that it has not fallen if it is above K again by then.
    short: Option<u64>,
    free: bool,
    /// The ingress ports that were held back for it.
    children: Vec<usize>,
}

/// The last OFF interval of a port upstream.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
struct Upstream {
    ingress: usize,
    off: u64,
    on: u64,
    behind: u64,
    /// Under credits: what was left of its own queue when it had settled.
    settled: Option<u64>,
}

/// An ingress port.
#[derive(Clone, Debug, Default, BorshSerialize, BorshDeserialize)]
struct Ingress {
    /// The egress queues that it was ever held back for.
    sakes: Vec<usize>,
    /// The port upstream has been told to stop, and has not told yet what waited there.
    awaits: bool,
    asked: u64,
    freed: u64,
    /// When it was held back, and the egress queues that this was mainly for, if their gates were open.
    holds: VecDeque<(u64, Vec<usize>)>,
}

/// An egress queue in which packets wait that came in by a port that is held back.
#[derive(Clone, Copy, Debug, BorshSerialize, BorshDeserialize)]
pub(crate) struct Sake {
    pub(crate) at: usize,
    pub(crate) bytes: u64,
    pub(crate) open: bool,
}

impl Facts {
    fn new(port: &Egress, switch: bool, ports: usize, period: u64, packet: u16) -> Self {
        let rate = port.rate();
        let slack = u64::from(packet) * ports as u64;
        let slack_ps = rate.serialize(Bytes::new(slack)).as_ps().max(1);
        let turn = if period == 0 { 0 } else { period + port.wire_time(packet) };
        let known = port.until_known(packet, true);
        Self {
            rate,
            delay: port.until_known(0, true),
            switch,
            grace: 2 * known,
            turn,
            slack,
            slack_ps,
            swing: slack + (u128::from(slack) * u128::from(period) / u128::from(slack_ps)) as u64,
        }
    }
}

impl Held {
    const NEVER_OFF: Self = Self {
        off: NEVER,
        on: NEVER,
        own: 0,
        upstream: Vec::new(),
        until: 0,
        short: None,
        free: true,
        children: Vec::new(),
    };

    fn behind(&self) -> u64 {
        self.own + self.upstream.iter().map(|upstream| upstream.behind).sum::<u64>()
    }

    /// When the port can have sent on all that was held back.
    fn sent(&self, facts: &Facts) -> u64 {
        let sending = facts.rate.serialize(Bytes::new(self.behind())).as_ps();
        self.on.saturating_add(sending.max(facts.turn))
    }
}

impl Packet {
    /// What a port tells: how long ago its gate closed and opened, its own bytes then, and all that waited behind it.
    const fn truth(class: u8, (off, on): (u64, u64), own: u64, behind: u64, depth: u16) -> Self {
        Self {
            flow: least(off >> TICK),
            dst: least(on >> TICK),
            next: least(own),
            seq: least(behind),
            size: depth,
            kind: Kind::Truth,
            code: CodePoint::NotCapable,
            class,
            ..Self::NONE
        }
    }
}

const fn least(value: u64) -> u32 {
    if value > u32::MAX as u64 { u32::MAX } else { value as u32 }
}

impl Roots {
    /// `switches` says of each port whether a switch is at its other end.
    pub(crate) fn new(egress: &[Egress], switches: &[bool], long: &[Bytes], world: &World) -> Self {
        let classes = usize::from(world.classes.count);
        let period = match &world.credits {
            Some(credits) => match credits.returned {
                CreditReturn::Periodic(period) => period.as_ps(),
                CreditReturn::AtOnce => 0,
            },
            None => 0,
        };
        let packet = world.payload + world.header;
        let facts =
            |(port, switch): (&Egress, &bool)| Facts::new(port, *switch, egress.len(), period, packet);
        Self {
            queues: vec![Held::NEVER_OFF; egress.len() * classes],
            ingresses: vec![Ingress::default(); egress.len() * classes],
            links: egress.iter().zip(switches).map(facts).collect(),
            long: long.iter().map(|long| long.get()).collect(),
            classes,
            period,
            shown: None,
        }
    }

    /// The gate of a queue closes.
    pub(crate) fn closed(&mut self, at: usize, now: u64) {
        let facts = &self.links[at / self.classes];
        let queue = &mut self.queues[at];
        if !queue.free {
            queue.until = queue.until.max(queue.sent(facts));
        }
        queue.upstream.retain(|upstream| upstream.on.saturating_add(facts.turn) >= now);
        for upstream in &mut queue.upstream {
            upstream.settled = None;
        }
        (queue.off, queue.on, queue.free) = (now, NEVER, false);
    }

    /// The gate of a queue opens with so many bytes in it: what the next switch is told, if there is one.
    pub(crate) fn opened(&mut self, at: usize, now: u64, bytes: u64) -> Option<Packet> {
        let queue = &mut self.queues[at];
        (queue.on, queue.own, queue.short) = (now, bytes, Some(now));
        self.news(at, now, 0)
    }

    /// What a queue with an open gate has to tell.
    fn news(&self, at: usize, now: u64, depth: u16) -> Option<Packet> {
        let queue = &self.queues[at];
        let since = (now - queue.off, now - queue.on);
        let class = (at % self.classes) as u8;
        let told = self.links[at / self.classes].switch && depth < DEEPEST;
        told.then(|| Packet::truth(class, since, queue.own, queue.behind(), depth))
    }

    /// A PAUSE or RESUME is decided for an ingress port; a timed pause has a length.
    pub(crate) fn told(&mut self, ingress: usize, decision: Decision, now: u64, pause: Option<Span>) {
        let facts = &self.links[ingress / self.classes];
        let port = &mut self.ingresses[ingress];
        if decision != Decision::Pause {
            port.freed = now;
            return;
        }
        if facts.switch && !(port.awaits && now <= port.freed.saturating_add(facts.grace)) {
            (port.awaits, port.asked) = (true, now);
        }
        port.freed = pause.map_or(NEVER, |pause| now + pause.as_ps());
    }

    /// An ingress port is held back for the sake of queues. Returns those that are roots from now on, as this shows.
    pub(crate) fn held_back(&mut self, ingress: usize, sakes: &[Sake], now: u64) -> Vec<usize> {
        let most = sakes.iter().map(|sake| sake.bytes).max();
        let mainly = || sakes.iter().filter(|sake| sake.open && Some(sake.bytes) == most).map(|sake| sake.at);
        for sake in sakes {
            let port = &mut self.ingresses[ingress];
            if !port.sakes.contains(&sake.at) {
                port.sakes.push(sake.at);
                self.queues[sake.at].children.push(ingress);
            }
        }
        if self.period > 0 {
            let holds = &mut self.ingresses[ingress].holds;
            if holds.len() == HOLDS {
                holds.pop_front();
            }
            holds.push_back((now, mainly().collect()));
            return Vec::new();
        }
        mainly().filter(|&at| self.shown(at, now)).collect()
    }

    /// A queue was shown to be its own cause: whether it is a root by that.
    fn shown(&mut self, at: usize, now: u64) -> bool {
        let shown = !self.queues[at].free && self.has_sent(at, now);
        self.queues[at].free |= shown;
        shown
    }

    /// Whether a port with an open gate has had the time to send on all that was held back.
    fn has_sent(&self, at: usize, now: u64) -> bool {
        let queue = &self.queues[at];
        queue.on != NEVER && now >= queue.sent(&self.links[at / self.classes]) && !self.is_waiting(queue, now)
    }

    /// Whether a port upstream that was held back for a queue has not told yet what waited there.
    fn is_waiting(&self, queue: &Held, now: u64) -> bool {
        queue.children.iter().any(|&ingress| {
            let (port, facts) = (&self.ingresses[ingress], &self.links[ingress / self.classes]);
            let until = port.freed.saturating_add(facts.grace);
            port.awaits && port.asked + facts.delay <= queue.on && now <= until
        })
    }

    /// A port upstream tells what waited behind it. Gives what is to be told in turn, and adds the queues that are shown to be
    /// roots by it to `shown`.
    pub(crate) fn hear(&mut self, frame: &Packet, shown: &mut Vec<usize>) -> Vec<(u16, Packet)> {
        let ingress = usize::from(frame.port) * self.classes + usize::from(frame.class);
        let first_hand = frame.size == 0;
        let delay = self.links[usize::from(frame.port)].delay;
        let (now, told) = (frame.time, frame.time - delay);
        let ago = |ticks: u32| told.saturating_sub(u64::from(ticks) << TICK);
        let (off, on, behind) = (ago(frame.flow), ago(frame.dst), u64::from(frame.seq));
        let port = &mut self.ingresses[ingress];
        if first_hand && on >= port.asked + delay {
            port.awaits = false;
        }
        let last = port.holds.iter().rev().find(|(time, _)| *time <= off).cloned();
        let mut news = Vec::new();
        for at in port.sakes.clone() {
            let facts = &self.links[at / self.classes];
            let queue = &mut self.queues[at];
            if queue.off == NEVER {
                continue;
            }
            let before = queue.behind();
            let known = queue.upstream.iter().position(|upstream| upstream.ingress == ingress);
            if off <= queue.on && on.saturating_add(facts.turn) >= queue.off {
                let one = Upstream { ingress, off, on, behind, settled: None };
                match known.map(|known| &mut queue.upstream[known]) {
                    None => queue.upstream.push(one),
                    // Of one interval it only becomes more. Its beginning is rounded.
                    Some(known) if off.abs_diff(known.off) <= 1 << TICK => {
                        known.behind = known.behind.max(behind);
                    }
                    Some(known) if off > known.off => *known = Upstream { settled: known.settled, ..one },
                    Some(_) => {}
                }
            }
            if queue.on != NEVER && queue.behind() != before {
                let port = (at / self.classes) as u16;
                news.extend(self.news(at, now, frame.size + 1).map(|frame| (port, frame)));
            }
            if first_hand
                && self.period > 0
                && self.bites(at, (ingress, on, u64::from(frame.next)), last.as_ref())
            {
                shown.extend(self.shown(at, now).then_some(at));
            }
        }
        news
    }

    /// Under credits: whether an OFF interval of a port upstream, which ended with so many bytes, shows that the queue that it was
    /// mainly for is its own cause: the port upstream has not got rid of any of its own queue since that had settled.
    fn bites(
        &mut self,
        at: usize,
        (ingress, end, bytes): (usize, u64, u64),
        last: Option<&(u64, Vec<usize>)>,
    ) -> bool {
        let facts = &self.links[at / self.classes];
        let queue = &mut self.queues[at];
        if queue.free || queue.on == NEVER {
            return false;
        }
        let sent = queue.sent(facts);
        let settled = queue.on + (SETTLED * self.period).max((sent - queue.on) / 2);
        if end < settled {
            return false;
        }
        let known = queue.upstream.iter().position(|upstream| upstream.ingress == ingress);
        let known = known.unwrap_or_else(|| {
            let nothing = Upstream { ingress, off: 0, on: NEVER, behind: 0, settled: None };
            queue.upstream.push(nothing);
            queue.upstream.len() - 1
        });
        let Some(first) = queue.upstream[known].settled else {
            queue.upstream[known].settled = Some(bytes);
            return false;
        };
        let mainly = last.is_some_and(|(time, mainly)| *time >= sent && mainly.contains(&at));
        mainly && bytes + facts.slack >= first
    }

    /// What the last packet that left has shown, once.
    pub(crate) fn take_shown(&mut self) -> Option<Shown> {
        self.shown.take()
    }

    /// A packet leaves a queue with an open gate, as `left` tells: whether that is a root.
    pub(crate) fn departs(&mut self, at: usize, now: u64, left: Left) -> bool {
        let (facts, long) = (self.links[at / self.classes], self.long[at / self.classes]);
        let bytes = left.queue;
        let queue = &mut self.queues[at];
        if bytes <= long {
            if !queue.free && queue.short.is_none() {
                queue.short = Some(now + facts.slack_ps);
            }
            return false;
        }
        if queue.free {
            return now > queue.until || queue.off == NEVER;
        }
        let (short, until) = (queue.short.take(), queue.until);
        let grown = bytes > queue.own + facts.swing;
        if !self.has_sent(at, now) {
            return false;
        }
        let queue = &mut self.queues[at];
        if short.is_some_and(|short| now > short) && now > queue.sent(&facts) {
            queue.free = true;
            return now > until;
        }
        queue.free = grown;
        self.shown = grown.then_some(Shown { at, now, left: Left { threshold: long, ..left } });
        false
    }
}
