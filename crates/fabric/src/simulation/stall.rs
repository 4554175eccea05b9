//! How a run notices that nothing moves any more, and says what waits for what.
use backwater_traffic::Flow;
use backwater_units::Time;
use borsh::{BorshDeserialize, BorshSerialize};

use crate::app::ranks::{Ranks, waiting};
use crate::check::deadlock::{self, Circle};
use crate::link::ports::Ports;
use crate::nic::pft::Throttle;
use crate::nic::receive_queue::{Endpoint, stuck};
use crate::node::HostRef;
use crate::simulation::Simulation;
use crate::spec::Queueing;
use crate::violation::Violation;

/// So many picoseconds ranks wait without anything under way before the run says that they wait for ever.
const QUIET: u64 = 1_000_000_000_000;

/// Since when ranks have waited without anything under way.
#[derive(Clone, Copy, Debug, Default, BorshSerialize, BorshDeserialize)]
pub(crate) struct Quiet {
    /// Ops that had been executed then.
    executed: u64,
    since: u64,
}

impl Simulation {
    pub(crate) fn look_for_circle(&self, now: u64) -> Result<(), Violation> {
        match now.checked_sub(self.settled).and_then(|before| self.circle(before)) {
            Some(circle) => Err(self.deadlock(Some(circle))),
            None => Ok(()),
        }
    }

    /// `hops` is what had moved when it was looked for last.
    pub(crate) fn look_for_deadlock(&self, now: u64, hops: &mut u64) -> Result<(), Violation> {
        self.look_for_stuck(Time::from_ps(now))?;
        let changes = self.world.faults.as_ref().is_some_and(|faults| faults.changes_after(now));
        if changes {
            // What is still to come may open what is closed.
            *hops = self.packet_hops();
            return Ok(());
        }
        self.look_for_circle(now)?;
        let before = std::mem::replace(hops, self.packet_hops());
        let drains = || self.endpoints().any(|(_, endpoint)| endpoint.moves());
        let throttles = || self.throttles().any(|(_, throttle)| throttle.moves());
        if *hops != before || self.any(drains() || throttles()) {
            return Ok(());
        }
        if !self.paused_ports().is_empty() {
            return Err(self.deadlock(None));
        }
        self.look_for_throttled(now)
    }

    /// Whether nothing is pending because the next packet of a host is due after the longest run: then time is what is missing. A
    /// closed gate is another reason.
    pub(crate) fn waits_beyond_the_longest_run(&mut self) -> bool {
        if !self.paused_ports().is_empty() {
            return false;
        }
        let (now, world) = (self.engine.now().as_ps(), &self.world);
        let mut waits = false;
        self.engine.each_node(|_, node| {
            waits |= node.has_next(now, world);
        });
        self.any(waits)
    }

    /// Whether it is true in one of the processes.
    fn any(&self, own: bool) -> bool {
        self.engine.processes().any(own)
    }

    /// The sum over all processes.
    fn sum(&self, own: usize) -> u64 {
        self.engine.processes().sum(own as u64)
    }

    /// What is told of nodes, in their order, in all processes.
    fn told(&self, own: impl Iterator<Item = (u32, String)>) -> Vec<String> {
        self.gather(own.collect(), |(node, _)| *node).into_iter().map(|(_, words)| words).collect()
    }

    /// The throttles of hosts, with their hosts.
    fn throttles(&self) -> impl Iterator<Item = (HostRef<'_>, &Throttle)> {
        self.hosts().flat_map(|host| host.throttles().map(move |throttle| (host, throttle)))
    }

    /// When nothing moves any more, NICs that wait for credits to throttle themselves less wait for ever.
    pub(crate) fn look_for_throttled(&self, now: u64) -> Result<(), Violation> {
        let stopped = self.throttles().filter_map(|(host, throttle)| {
            let (used, capacity) = throttle.stopped()?;
            let node = host.ports().node();
            let (name, ports) = (self.network.name(node), host.ports().count());
            let by = if ports > 1 { format!("port {}: ", throttle.port()) } else { String::new() };
            Some((node, format!("{name} ({by}{used} of {capacity} credits in use)")))
        });
        let hosts = self.told(stopped);
        if hosts.is_empty() {
            return Ok(());
        }
        Err(Violation::Throttled { time: Time::from_ps(now), unfinished: self.unfinished(), hosts })
    }

    /// Ranks whose programs end wait for ever if for [`QUIET`] none of them executes an op, none computes, and nothing that they or
    /// others sent to them is under way. What goes on for ever may go on beside it.
    pub(crate) fn look_for_waiting(&self, quiet: &mut Quiet) -> Result<(), Violation> {
        let now = self.engine.now().as_ps();
        if self.world.programs.ranks.is_empty() {
            return Ok(());
        }
        let processes = self.engine.processes();
        let executed = processes.sum(self.host_ranks().map(|ranks| ranks.executed(&self.world)).sum());
        let waits = self.any(self.host_ranks().any(|ranks| ranks.waits(&self.world)));
        let failed = self.failed() > 0;
        let busy = self.any(self.host_ranks().any(|ranks| ranks.is_busy(failed, &self.world)));
        if executed != quiet.executed || !waits || busy || self.messages_under_way() {
            *quiet = Quiet { executed, since: now };
        }
        if now - quiet.since >= QUIET { Err(self.ranks_wait(false)) } else { Ok(()) }
    }

    /// Whether a queue pair with a rank at one end whose program ends has something to send, or under way.
    fn messages_under_way(&self) -> bool {
        let (ranks, channels) = (&self.world.programs.ranks, &self.world.programs.channels);
        let received = (0_u32..).zip(channels).filter_map(|(number, channel)| {
            let target = self.host(self.world.flows[channel.flow as usize].dst)?;
            let slot = self.world.receiver_slot[channel.flow as usize];
            Some((number, target.receivers()[slot as usize].packets()))
        });
        let received = self.gather(received.collect(), |(number, _)| *number);
        let has_some = channels.iter().zip(received).any(|(channel, (_, received))| {
            let ends = [channel.from, channel.to].map(|rank| !ranks[rank as usize].is_endless());
            let source = self.host(self.world.flows[channel.flow as usize].src);
            ends.contains(&true)
                && source.is_some_and(|source| {
                    !source.sender(self.world.sender_slot[channel.flow as usize]).has_arrived(received)
                })
        });
        self.any(has_some)
    }

    /// The ranks of the hosts that have some.
    fn host_ranks(&self) -> impl Iterator<Item = &Ranks> {
        self.hosts().filter_map(HostRef::ranks)
    }

    pub(crate) fn unfinished_ranks(&self) -> u64 {
        self.sum(self.host_ranks().map(Ranks::unfinished).sum())
    }

    pub(crate) fn ranks_wait(&self, endless: bool) -> Violation {
        let own = self.host_ranks().flat_map(|ranks| ranks.waiting(endless, &self.network, &self.world));
        let mut waiting: Vec<(u32, String)> = self.engine.processes().gather(own.collect());
        waiting.sort();
        let waiting = waiting.into_iter().map(|(_, words)| words).collect();
        let (time, unfinished) = (self.engine.now(), self.unfinished_ranks());
        Violation::RanksWait { time, unfinished, waiting, failed: self.failed_channels() }
    }

    /// The queue pairs between ranks that are in error, each with the message that it has given up.
    fn failed_channels(&self) -> Vec<String> {
        let failed = (0..).zip(&self.world.programs.channels).filter_map(|(number, channel)| {
            let source = self.host(self.world.flows[channel.flow as usize].src)?;
            let message = source.sender(self.world.sender_slot[channel.flow as usize]).given_up()?;
            let ends = (channel.from, channel.to);
            Some((number, waiting::given_up(ends, message, &self.network, &self.world)))
        });
        self.told(failed)
    }

    /// The receive queues of slow hosts, with their hosts.
    fn endpoints(&self) -> impl Iterator<Item = (HostRef<'_>, &Endpoint)> {
        self.hosts().filter_map(|host| Some((host, host.endpoint()?)))
    }

    /// Packets in a receive queue that will never be drained are an end without success, even if all else goes on.
    pub(crate) fn look_for_stuck(&self, time: Time) -> Result<(), Violation> {
        let own = stuck::hosts(self.endpoints(), &self.network, &self.world);
        let hosts: Vec<_> = self.gather(own, |(node, _)| *node).into_iter().map(|(_, stuck)| stuck).collect();
        if hosts.is_empty() { Ok(()) } else { Err(Violation::NoProgress { time, hosts }) }
    }

    /// Flows that still have something to send. When nothing moves any more that includes the endless ones.
    pub(crate) fn unfinished(&self) -> u64 {
        let mut unfinished = 0;
        for host in self.hosts() {
            unfinished +=
                host.receivers().iter().filter(|r| r.finish() == u64::MAX && !r.has_messages()).count();
            unfinished += host.ranks().map_or(0, Ranks::unfinished);
        }
        self.sum(unfinished)
    }

    /// Flows whose queue pair is in error.
    pub(crate) fn failed(&self) -> u64 {
        let of = |host: HostRef<'_>| host.senders().iter().filter(|sender| sender.losses().failed).count();
        self.sum(self.hosts().map(of).sum())
    }

    /// Whether some flows are in error, and all others that end have ended or wait for those: what goes on for ever would go on for
    /// nothing.
    pub(crate) fn only_failed_are_left(&self) -> bool {
        let world = &self.world;
        let goes_on = |host: HostRef<'_>| {
            host.ranks().is_some_and(|ranks| ranks.has_open(world)) || host.has_pending_step(world)
        };
        if self.failed() == 0 || self.any(self.hosts().any(goes_on)) {
            return false;
        }
        let flows = || (0_u32..).zip(&world.flows);
        let source = |flow: &Flow| self.host(flow.src);
        let slot = |index: u32| world.sender_slot[index as usize];
        let failed = flows().filter(|(index, flow)| {
            source(flow).is_some_and(|host| host.sender(slot(*index)).losses().failed)
        });
        let failed = self.engine.processes().gather(failed.map(|(_, flow)| flow.group).collect());
        let stuck = world.jobs.stuck_behind(failed.into_iter().collect());
        // Of flows that end, one bit each: all has arrived. The others are asked for at their sources.
        let ending = || flows().filter(|(_, flow)| !flow.is_endless());
        let arrived = ending().filter_map(|(index, flow)| {
            let receiver = &self.host(flow.dst)?.receivers()[world.receiver_slot[index as usize] as usize];
            Some((index, receiver.finish() < u64::MAX))
        });
        let arrived = self.gather(arrived.collect(), |(index, _)| *index);
        let goes_on = ending().zip(arrived).any(|((index, flow), (_, arrived))| {
            source(flow).is_some_and(|host| {
                let sender = host.sender(slot(index));
                let acked = world.ack_of(index).is_none() || sender.acked_at() < u64::MAX;
                let waits = stuck.contains(&flow.group) && !host.has_begun(slot(index), world);
                !(sender.losses().failed || (acked && arrived) || waits)
            })
        });
        !self.any(goes_on)
    }

    /// Egress ports with a closed gate.
    pub(crate) fn paused_ports(&self) -> Vec<String> {
        let names = self.network.nodes();
        // What a NIC holds for a time goes on by itself, unlike what waits for a frame that lets it go.
        let ends = match self.world.queueing {
            Queueing::Sfc(_) => 1 << self.world.held_class(),
            _ => 0,
        };
        let mut paused = Vec::new();
        for node in self.engine.nodes() {
            let ports = node.ports();
            for (number, egress) in
                ports.all_egress().iter().enumerate().filter(|(_, egress)| egress.paused() & !ends != 0)
            {
                let (from, to) = (&names[ports.node() as usize].name, &names[egress.peer() as usize].name);
                paused.push((ports.node(), format!("{from}->{to} (port {number})")));
            }
        }
        self.told(paused.into_iter())
    }

    /// A circle of gates that have been closed since `before` or longer.
    pub(crate) fn circle(&self, before: u64) -> Option<Circle> {
        deadlock::find(&self.engine, &self.network, &self.world, before)
    }

    /// Hosts whose NIC sends PAUSE without end, by each port, with the node and the port that it holds.
    fn storming(&self) -> Vec<(u32, (u32, u16))> {
        let nodes = self.engine.nodes();
        let held = |ports: &Ports, port| (ports.egress(port).peer(), ports.egress(port).peer_port());
        let of =
            |ports: &Ports| ports.storms().map(|port| (ports.node(), held(ports, port))).collect::<Vec<_>>();
        self.gather(nodes.iter().flat_map(|node| of(node.ports())).collect(), |(host, _)| *host)
    }

    /// Hosts whose NIC sends PAUSE without end.
    fn storms(&self) -> Vec<String> {
        let mut hosts: Vec<u32> = self.storming().into_iter().map(|(host, _)| host).collect();
        hosts.dedup();
        hosts.into_iter().map(|host| self.network.name(host).to_owned()).collect()
    }

    /// Hosts whose NIC sends PAUSE without end, each with the port that it holds closed with packets behind it, in words.
    pub fn held_by_storms(&self) -> Vec<(String, String)> {
        let held = self.storming().into_iter().filter(|(_, (node, port))| {
            self.engine.node(*node).is_some_and(|holds| {
                let egress = holds.ports().egress(*port);
                egress.paused() & egress.waiting() != 0
            })
        });
        let held = self.gather(held.collect(), |(host, _)| *host);
        held.into_iter()
            .map(|(host, (node, port))| {
                let host = self.network.name(host).to_owned();
                let held = format!("{}->{host} (port {port})", self.network.name(node));
                (host, held)
            })
            .collect()
    }

    pub(crate) fn deadlock(&self, circle: Option<Circle>) -> Violation {
        let (circle, blocked) = circle.map_or_else(Default::default, Circle::words);
        let mut paused = self.paused_ports();
        paused.truncate(16);
        Violation::Deadlock {
            time: self.engine.now(),
            unfinished: self.unfinished(),
            paused: if paused.is_empty() { "nothing".into() } else { paused.join(", ") },
            circle,
            blocked,
            storms: self.storms(),
        }
    }
}
