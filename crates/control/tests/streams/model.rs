//! A few initiators, one target and a bad channel between them, tick by tick: just enough to drive the state machines.
use std::collections::VecDeque;

use backwater_control::notify::put::{Acks, Fairness, Frame, Release, Sample, TargetConfig, Triggers};
use backwater_control::reaction::{AckFacts, Controller, Load, Policy, PolicyConfig};
use backwater_control::transport::{Initiator, Next, ReplayMoves, Target, Verdict};
use backwater_units::{Rate, Span, Time};

/// Ticks until a packet expires. A tick is 100 ns, and a sender starts one packet in each.
pub(crate) const RETRY: u64 = 400;

/// What the channel does: lost frames per thousand, and ticks under way: `delay`, and up to `spread` more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Channel {
    pub(crate) data: u32,
    pub(crate) acks: u32,
    pub(crate) delay: u64,
    pub(crate) spread: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) policy: PolicyConfig,
    pub(crate) target: TargetConfig,
    pub(crate) triggers: Triggers,
    pub(crate) moves: ReplayMoves,
    pub(crate) streams: usize,
    /// Of each stream.
    pub(crate) packets: u32,
    /// Least and greatest, in bytes.
    pub(crate) sizes: (u32, u32),
    pub(crate) depth: u64,
    /// Bytes per tick.
    pub(crate) drain: u64,
    /// Data packets of the other direction, per thousand ticks and stream: each carries an ACK.
    pub(crate) reverse: u32,
}

/// A packet as its application made it: the n-th of its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Put {
    content: u32,
    size: u32,
}

struct Sender {
    initiator: Initiator,
    policy: Policy,
    /// What is kept for another time, and when it was last sent.
    ring: VecDeque<(Put, u64)>,
    bytes: u64,
    made: u32,
    /// Timers of packets that wait to be resent count from here.
    restarted: u64,
}

#[derive(Default)]
struct Receiver {
    target: Target,
    acks: Acks,
    reserved: u64,
    accepted: Vec<Put>,
}

struct Accepted {
    stream: usize,
    seq: u32,
    size: u64,
}

pub(crate) struct World {
    setting: Setting,
    channel: Channel,
    random: u64,
    now: u64,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    release: Release,
    /// Accepted and not acknowledged, in the order of acceptance.
    list: Vec<Accepted>,
    queue: VecDeque<u64>,
    occupancy: u64,
    drained: u64,
    data: Vec<(u64, usize, u32, Put)>,
    frames: Vec<(u64, usize, Frame, bool)>,
    progress: u64,
    pub(crate) timeouts: u32,
    pub(crate) nacks: u32,
    pub(crate) resent: u32,
    pub(crate) lost_in_queue: u32,
}

impl World {
    pub(crate) fn new(setting: Setting, channel: Channel, seed: u64) -> Self {
        let sender = || Sender {
            initiator: Initiator::new(setting.moves),
            policy: Policy::new(&setting.policy, Rate::from_gbps(100)),
            ring: VecDeque::new(),
            bytes: 0,
            made: 0,
            restarted: 0,
        };
        Self {
            setting,
            channel,
            random: seed,
            now: 0,
            senders: (0..setting.streams).map(|_| sender()).collect(),
            receivers: (0..setting.streams).map(|_| Receiver::default()).collect(),
            release: Release::default(),
            list: Vec::new(),
            queue: VecDeque::new(),
            occupancy: 0,
            drained: 0,
            data: Vec::new(),
            frames: Vec::new(),
            progress: 0,
            timeouts: 0,
            nacks: 0,
            resent: 0,
            lost_in_queue: 0,
        }
    }

    /// Until everything is acknowledged; panics after `patience` ticks without progress.
    pub(crate) fn run(&mut self, patience: u64) {
        while !self.done() {
            self.now += 1;
            self.drain();
            self.arrive();
            self.balance();
            for stream in 0..self.setting.streams {
                self.acknowledge(stream);
                self.wake(stream);
                self.send(stream);
            }
            assert!(
                self.now - self.progress < patience,
                "no progress since {}: {:?} {:?} {:?}",
                self.progress,
                self.senders.iter().map(|sender| (sender.initiator, sender.policy)).collect::<Vec<_>>(),
                self.receivers.iter().map(|receiver| (receiver.target, receiver.acks)).collect::<Vec<_>>(),
                self.release,
            );
        }
        assert_eq!(self.release.reserved(), 0, "a reservation outlived its stream");
        for receiver in &self.receivers {
            let contents: Vec<u32> = receiver.accepted.iter().map(|put| put.content).collect();
            assert_eq!(contents, (0..self.setting.packets).collect::<Vec<_>>());
        }
    }

    fn done(&self) -> bool {
        self.senders.iter().all(|sender| {
            sender.made == self.setting.packets && sender.initiator.oldest() > sender.initiator.newest()
        })
    }

    fn clock(&self) -> Time {
        Time::from_ps(self.now * 100_000)
    }

    fn draw(&mut self, below: u64) -> u64 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % below.max(1)
    }

    /// When a frame arrives; none if it is lost.
    fn travel(&mut self, lost: u32) -> Option<u64> {
        let (delay, spread) = (self.channel.delay, self.channel.spread);
        let arrival = self.now + delay + self.draw(spread + 1);
        (self.draw(1_000) >= u64::from(lost)).then_some(arrival)
    }

    fn drain(&mut self) {
        self.drained += self.setting.drain;
        while let Some(&size) = self.queue.front().filter(|&&size| size <= self.drained) {
            self.queue.pop_front();
            self.drained -= size;
            self.occupancy -= size;
            self.release.processed(size);
            self.release();
        }
        if self.queue.is_empty() {
            self.drained = 0;
        }
    }

    fn arrive(&mut self) {
        let now = self.now;
        let (due, later) = self.data.drain(..).partition(|packet| packet.0 <= now);
        self.data = later;
        let mut due: Vec<_> = due;
        due.sort_by_key(|packet| packet.0);
        for (_, stream, seq, put) in due {
            self.take(stream, seq, put);
        }
        let (due, later) = self.frames.drain(..).partition(|frame| frame.0 <= now);
        self.frames = later;
        let mut due: Vec<_> = due;
        due.sort_by_key(|frame| frame.0);
        for (_, stream, frame, piggybacked) in due {
            self.hear(stream, frame, piggybacked);
        }
    }

    fn take(&mut self, stream: usize, seq: u32, put: Put) {
        let (config, now) = (self.setting.target, self.clock());
        let size = u64::from(put.size);
        let receiver = &mut self.receivers[stream];
        let fits = self.release.admits(size, self.occupancy, self.setting.depth, receiver.reserved);
        match receiver.target.on_packet(seq, fits) {
            Verdict::Accept => {
                self.occupancy += size;
                assert!(self.occupancy <= self.setting.depth);
                self.progress = self.now;
                self.queue.push_back(size);
                receiver.accepted.push(put);
                self.release.give_back(std::mem::take(&mut receiver.reserved));
                receiver.acks.on_accepted(&config, self.release.congested(&config, self.occupancy), now);
                self.list.push(Accepted { stream, seq, size });
                self.release();
            }
            Verdict::Duplicate => receiver.acks.on_duplicate(now),
            Verdict::Drop { nack, gap } => {
                self.lost_in_queue += u32::from(!gap);
                if nack {
                    receiver.acks.on_lost(now);
                }
            }
        }
    }

    fn release(&mut self) {
        let now = self.clock();
        let ordered = matches!(self.setting.target.fairness, Fairness::Ordered { .. });
        while !self.list.is_empty() {
            let first = |&at: &usize| self.receivers[self.list[at].stream].acks.bytes();
            let next = if ordered { (0..self.list.len()).min_by_key(first).unwrap() } else { 0 };
            let Accepted { stream, seq, size } = self.list[next];
            if !self.release.releases(&self.setting.target, self.occupancy, size) {
                break;
            }
            self.list.remove(next);
            self.receivers[stream].acks.on_released(seq, size, now);
        }
    }

    fn balance(&mut self) {
        let fairness = self.setting.target.fairness;
        let ticks = |span: Span| span.as_ps() / 100_000;
        if fairness.period().is_some_and(|period| self.now.is_multiple_of(ticks(period))) {
            let mut sample = Sample::default();
            self.receivers.iter().for_each(|receiver| sample.add(receiver.acks.packets()));
            self.receivers.iter_mut().for_each(|receiver| receiver.acks.judge(&fairness, &sample));
        }
    }

    fn acknowledge(&mut self, stream: usize) {
        let (config, now) = (self.setting.target, self.clock());
        let congested = self.release.congested(&config, self.occupancy);
        if self.draw(1_000) < u64::from(self.setting.reverse) {
            let frame = self.receivers[stream].acks.piggyback(&config, congested, now);
            self.post(stream, frame, true);
        }
        let receiver = &mut self.receivers[stream];
        if receiver.acks.due(&config, &self.setting.triggers).is_some_and(|at| at <= now) {
            let frame = receiver.acks.compose(&config, receiver.target.accepted(), congested, now);
            if frame.nack {
                let size = u64::from(self.setting.sizes.1);
                let (release, own) = (&mut self.release, receiver.reserved);
                receiver.reserved = release.reserve(&config, size, self.setting.depth, own);
            }
            self.post(stream, frame, false);
        }
    }

    fn post(&mut self, stream: usize, frame: Frame, piggybacked: bool) {
        if let Some(arrival) = self.travel(self.channel.acks) {
            self.frames.push((arrival, stream, frame, piggybacked));
        }
    }

    fn hear(&mut self, stream: usize, frame: Frame, piggybacked: bool) {
        let (config, clock) = (self.setting.policy, self.clock());
        let sender = &mut self.senders[stream];
        let before = sender.initiator;
        let replaying = before.replaying() && !before.recovering();
        let freed = if frame.nack {
            self.nacks += 1;
            let nacked = sender.initiator.on_nack(frame.seq);
            sender.policy.on_nack(&config, clock);
            if nacked.replay {
                sender.restarted = self.now;
            }
            nacked.packets
        } else {
            let acked = sender.initiator.on_ack(frame.seq);
            let first = before.oldest() - before.freed() - 1;
            let covered = sender.ring.iter().skip(first as usize).take(acked.covered as usize);
            let facts = AckFacts {
                packets: acked.fresh,
                bytes: covered.map(|(put, _)| u64::from(put.size)).sum(),
                marked: frame.marked,
                repeat: acked.repeat,
                piggybacked,
                replaying,
                idle: sender.initiator.outstanding() == 0,
            };
            sender.policy.on_ack(&config, clock, &facts);
            acked.packets
        };
        if sender.initiator.oldest() > before.oldest() {
            self.progress = self.now;
        }
        sender.free(freed);
    }

    fn wake(&mut self, stream: usize) {
        let (config, clock) = (self.setting.policy, self.clock());
        let sender = &mut self.senders[stream];
        sender.policy.advance(&config, clock);
        let (now, restarted) = (self.now, sender.restarted);
        let expired = |&&(_, sent): &&(Put, u64)| sent.max(restarted) + RETRY <= now;
        let covered = sender.initiator.oldest() - 1 - sender.initiator.freed();
        let expired = sender.ring.iter().skip(covered as usize).take_while(expired).count();
        if expired > 0 {
            self.timeouts += 1;
            sender.initiator.on_timeout(sender.initiator.oldest() + expired as u32 - 1);
            sender.policy.on_timeout(&config);
            sender.restarted = now;
        }
    }

    fn send(&mut self, stream: usize) {
        let (least, most) = self.setting.sizes;
        let fresh = least + self.draw(u64::from(most - least + 1)) as u32;
        let (config, clock) = (self.setting.policy, self.clock());
        let sender = &mut self.senders[stream];
        let put = match sender.initiator.next() {
            Next::Nothing => return,
            Next::New if sender.made == self.setting.packets => return,
            Next::New => Put { content: sender.made, size: fresh },
            Next::Again(seq) => sender.ring[(seq - sender.initiator.freed() - 1) as usize].0,
        };
        let again = sender.initiator.next() != Next::New;
        let load =
            Load { packets: sender.initiator.outstanding(), bytes: sender.bytes, size: put.size, again };
        if !sender.policy.may_send(&config, &load) {
            return;
        }
        sender.policy.on_sent(&config, clock, &load);
        let front = sender.initiator.freed();
        let sent = sender.initiator.sent();
        assert_eq!(sent.again, again);
        if again {
            self.resent += 1;
            sender.ring[(sent.seq - front - 1) as usize].1 = self.now;
            if !sender.initiator.replaying() {
                sender.policy.on_replay_end(&config);
            }
        } else {
            sender.made += 1;
            sender.bytes += u64::from(put.size);
            sender.ring.push_back((put, self.now));
        }
        sender.free(sent.acked);
        if let Some(arrival) = self.travel(self.channel.data) {
            self.data.push((arrival, stream, sent.seq, put));
        }
    }
}

impl Sender {
    fn free(&mut self, packets: u32) {
        for (put, _) in self.ring.drain(..packets as usize) {
            self.bytes -= u64::from(put.size);
        }
        assert_eq!(self.ring.len(), self.initiator.outstanding() as usize);
    }
}
