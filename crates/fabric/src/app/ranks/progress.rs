//! A rank goes on with its program as far as it can.
use backwater_traffic::program::{FOREVER, Op};
use backwater_units::Time;

use super::Ranks;
use super::frame::{Message, Word};
use super::matching::Posted;
use super::recorder::{After, is_endless};
use super::state::Doing;
use crate::link::ports::NIC;
use crate::link::ports::{Ports, Purpose};
use crate::record::TimingRecord;
use crate::world::World;

impl Ranks {
    /// A rank begins its program, or has paid for what it is at.
    pub(crate) fn paid(&mut self, rank: u32, now: u64, world: &World, ports: &mut Ports) {
        let own = &mut self.own[rank as usize];
        // At the start of a program nothing has been paid for yet.
        own.paid = own.executed > 0;
        if own.executed == 0 {
            let who = self.who(rank, 0, now);
            if let Some(recorder) = &mut self.recorder {
                recorder.begins(who, world, ports);
            }
        }
        self.go_on(rank, now, world, ports);
    }

    /// Something has happened that a waiting rank may wait for.
    pub(super) fn wake(&mut self, rank: u32, now: u64, world: &World, ports: &mut Ports) {
        let own = &mut self.own[rank as usize];
        if let Doing::Waiting(since) = own.doing {
            own.waited += now - since;
            self.go_on(rank, now, world, ports);
        }
    }

    /// The last bit of a message has left.
    pub(crate) fn gone(&mut self, rank: u32, now: u64, world: &World, ports: &mut Ports) {
        let own = &mut self.own[rank as usize];
        let (_, op, after) = own.leaving.pop().expect("its timer was set for it").0;
        if let Op::Isend { set, .. } = world.op(own.id, op) {
            own.requests[usize::from(*set)] -= 1;
            if let Some(recorder) = &mut self.recorder {
                recorder.gone(rank, *set, after);
            }
        }
        self.wake(rank, now, world, ports);
    }

    /// Executes ops until one takes time or waits.
    fn go_on(&mut self, rank: u32, now: u64, world: &World, ports: &mut Ports) {
        let id = self.own[rank as usize].id;
        let ops = &world.programs.ranks[id as usize].ops;
        while let Some(op) = ops.get(self.own[rank as usize].at as usize) {
            self.own[rank as usize].executed += 1;
            let goes_on = match *op {
                Op::Isend { .. } | Op::Put { .. } | Op::Get { .. } => {
                    let cost = world.costs(id).send.as_ps();
                    let paid = self.pay(rank, cost, now, ports);
                    if paid {
                        self.send(rank, op, now, world, ports);
                        self.limit(rank);
                    }
                    paid
                }
                Op::Compute(time) => self.pay(rank, time.as_ps(), now, ports),
                Op::Irecv { from, size, tag, set } => {
                    self.own[rank as usize].requests[usize::from(set)] += 1;
                    let after = self.recorder.as_ref().map(|recorder| recorder.here(rank, now));
                    let after = after.unwrap_or(After::NOTHING);
                    self.receive(rank, Posted { from, tag, room: size, set, after }, now, world, ports);
                    self.limit(rank);
                    true
                }
                Op::Wait { sets } => {
                    let done = self.wait(rank, now, world, ports, |rank| rank.is_done(sets));
                    let who = self.who(rank, self.own[rank as usize].at, now);
                    if let Some(recorder) = self.recorder.as_mut().filter(|_| done) {
                        recorder.waited(who, sets, world, ports);
                    }
                    done
                }
                Op::Flush => {
                    let done = self.wait(rank, now, world, ports, |rank| rank.one_sided == 0);
                    let who = self.who(rank, self.own[rank as usize].at, now);
                    if let Some(recorder) = self.recorder.as_mut().filter(|_| done) {
                        recorder.flushed(who, world, ports);
                    }
                    done
                }
                Op::Loop { .. } | Op::End { .. } => {
                    if let Some(recorder) = self.recorder.as_mut().filter(|_| is_endless(op)) {
                        recorder.leaves_off(rank);
                    }
                    self.turn(rank, op);
                    continue;
                }
                Op::Start { timer } => {
                    self.own[rank as usize].stopwatches[usize::from(timer)] = now;
                    true
                }
                Op::Stop { timer, series, label } => {
                    let start = self.own[rank as usize].stopwatches[usize::from(timer)];
                    let (time, start) = (Time::from_ps(now), Time::from_ps(start));
                    let timing = TimingRecord { time, start, rank: id, node: ports.node(), series, label };
                    self.record(timing, ports);
                    true
                }
            };
            if !goes_on {
                return;
            }
            self.own[rank as usize].at += 1;
        }
        self.own[rank as usize].doing = Doing::Ended(now);
        let who = self.who(rank, self.own[rank as usize].at, now);
        if let Some(recorder) = &mut self.recorder {
            recorder.goes_on(who, &[], world, ports);
        }
        if !world.programs.ranks[id as usize].is_endless() {
            self.end(id, world);
        }
    }

    /// Spends the time of a rank; true if it has been spent.
    fn pay(&mut self, rank: u32, cost: u64, now: u64, ports: &mut Ports) -> bool {
        let own = &mut self.own[rank as usize];
        if std::mem::take(&mut own.paid) || cost == 0 {
            return true;
        }
        own.doing = Doing::Busy;
        ports.set_timer(now.saturating_add(cost), NIC, Purpose::Rank, rank);
        false
    }

    /// Takes what is ready, one after the other, until `done`; true if it is.
    fn wait(
        &mut self,
        rank: u32,
        now: u64,
        world: &World,
        ports: &mut Ports,
        done: impl Fn(&super::Rank) -> bool,
    ) -> bool {
        let cost = world.costs(self.own[rank as usize].id).receive.as_ps();
        loop {
            let own = &mut self.own[rank as usize];
            if !own.paid && done(own) {
                return true;
            }
            let Some((_, brought)) = own.ready.front().copied() else {
                own.doing = Doing::Waiting(now);
                if let Some(recorder) = &mut self.recorder {
                    recorder.idle(rank, now);
                }
                return false;
            };
            let (paid, who) = (own.paid, self.who(rank, self.own[rank as usize].at, now));
            if let Some(recorder) = self.recorder.as_mut().filter(|_| !paid) {
                recorder.goes_on(who, &[brought], world, ports);
            }
            if !self.pay(rank, cost, now, ports) {
                return false;
            }
            let own = &mut self.own[rank as usize];
            if let Some((set, _)) = own.ready.pop_front() {
                own.requests[usize::from(set)] -= 1;
            }
        }
    }

    /// Begins or ends a turn of a loop.
    fn turn(&mut self, rank: u32, op: &Op) {
        let own = &mut self.own[rank as usize];
        match *op {
            Op::Loop { times: 0, end } => own.at = end,
            Op::Loop { times, .. } => {
                own.turns.push(times);
                own.at += 1;
            }
            Op::End { begin } => {
                let left = own.turns.last_mut().expect("a loop ends that has begun");
                if *left != FOREVER {
                    *left -= 1;
                }
                if *left == 0 {
                    own.turns.pop();
                    own.at += 1;
                } else {
                    own.at = begin;
                }
            }
            _ => {}
        }
    }

    /// What a rank has paid for: a send, a put or a get.
    fn send(&mut self, rank: u32, op: &Op, now: u64, world: &World, ports: &mut Ports) {
        let own = &mut self.own[rank as usize];
        let (id, number) = (own.id, own.at);
        let costs = world.costs(id);
        let control = costs.control.get().max(1);
        let (to, word, size) = match *op {
            Op::Isend { to, size, set, .. } => {
                let is_local = world.same_host(id, to);
                own.requests[usize::from(set)] += u32::from(!is_local);
                if is_local || size <= costs.eager.get() {
                    (to, Word::Eager, size)
                } else {
                    own.asking.push_back(number);
                    (to, Word::Request, control)
                }
            }
            Op::Put { to, size } => {
                own.one_sided += 1;
                (to, Word::Put, size)
            }
            Op::Get { from, size } => {
                own.one_sided += 1;
                let asks = !world.same_host(id, from);
                (from, Word::Get, if asks { control } else { size })
            }
            _ => return,
        };
        self.give(rank, to, Message { word, op: number, size: size.max(1) }, &[], now, world, ports);
    }
}
