//! How a run notices that nothing moves any more, and says what waits for what.
use backwater_traffic::Flow;
use backwater_units::Time;

use crate::app::ranks::{Ranks, waiting};
use crate::check::deadlock::{self, Circle};
use crate::link::ports::{NIC, Ports};
use crate::nic::host::Host;
use crate::nic::pft::Throttle;
use crate::nic::receive_queue::{Endpoint, stuck};
use crate::node::FabricNode;
use crate::simulation::Simulation;
use crate::violation::Violation;

/// So many picoseconds ranks wait without anything under way before the run says that they wait for ever.
const QUIET: u64 = 1_000_000_000_000;

/// Since when ranks have waited without anything under way.
#[derive(Clone, Copy, Debug, Default)]
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
        if *hops != before || drains() || throttles() {
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
            if let FabricNode::Host(host) = node {
                waits |= host.has_next(now, world);
            }
        });
        waits
    }

    /// The throttles of hosts, with their hosts.
    fn throttles(&self) -> impl Iterator<Item = (&Host, &Throttle)> {
        self.engine.nodes().into_iter().filter_map(|node| match node {
            FabricNode::Host(host) => Some((&**host, host.throttle()?)),
            FabricNode::Switch(_) => None,
        })
    }

    /// When nothing moves any more, NICs that wait for credits to throttle themselves less wait for ever.
    pub(crate) fn look_for_throttled(&self, now: u64) -> Result<(), Violation> {
        let stopped = self.throttles().filter_map(|(host, throttle)| {
            let (used, capacity) = throttle.stopped()?;
            Some(format!("{} ({used} of {capacity} credits in use)", self.network.name(host.ports().node())))
        });
        let hosts: Vec<String> = stopped.collect();
        if hosts.is_empty() {
            return Ok(());
        }
        Err(Violation::Throttled { time: Time::from_ps(now), unfinished: self.unfinished(), hosts })
    }

    /// Ranks whose programs end wait for ever if for [`QUIET`] none of them executes an op, none computes, and nothing that they or
    /// others sent to them is under way. What goes on for ever may go on beside it.
    pub(crate) fn look_for_waiting(&self, quiet: &mut Quiet) -> Result<(), Violation> {
        let now = self.engine.now().as_ps();
        let executed = self.host_ranks().map(|ranks| ranks.executed(&self.world)).sum();
        let waits = self.host_ranks().any(|ranks| ranks.waits(&self.world));
        let failed = self.failed() > 0;
        let busy = self.host_ranks().any(|ranks| ranks.is_busy(failed, &self.world));
        if executed != quiet.executed || !waits || busy || self.messages_under_way() {
            *quiet = Quiet { executed, since: now };
        }
        if now - quiet.since >= QUIET { Err(self.ranks_wait(false)) } else { Ok(()) }
    }

    /// Whether a queue pair with a rank at one end whose program ends has something to send, or under way.
    fn messages_under_way(&self) -> bool {
        let ranks = &self.world.programs.ranks;
        let nodes = self.engine.nodes();
        let host = |index: u32| match nodes[self.world.hosts[index as usize] as usize] {
            FabricNode::Host(host) => host,
            FabricNode::Switch(_) => unreachable!("hosts are hosts"),
        };
        self.world.programs.channels.iter().any(|channel| {
            let ends = [channel.from, channel.to].map(|rank| !ranks[rank as usize].is_endless());
            let flow = channel.flow as usize;
            let (source, target) = (self.world.flows[flow].src, self.world.flows[flow].dst);
            let received = host(target).receivers()[self.world.receiver_slot[flow] as usize].packets();
            let sender = host(source).sender(self.world.sender_slot[flow]);
            ends.contains(&true) && !sender.has_arrived(received)
        })
    }

    /// The ranks of the hosts that have some.
    fn host_ranks(&self) -> impl Iterator<Item = &Ranks> {
        self.engine.nodes().into_iter().filter_map(|node| match node {
            FabricNode::Host(host) => host.ranks(),
            FabricNode::Switch(_) => None,
        })
    }

    pub(crate) fn unfinished_ranks(&self) -> usize {
        self.host_ranks().map(Ranks::unfinished).sum()
    }

    pub(crate) fn ranks_wait(&self, endless: bool) -> Violation {
        let mut waiting: Vec<(u32, String)> =
            self.host_ranks().flat_map(|ranks| ranks.waiting(endless, &self.network, &self.world)).collect();
        waiting.sort();
        let waiting = waiting.into_iter().map(|(_, words)| words).collect();
        let (time, unfinished) = (self.engine.now(), self.unfinished_ranks() as u64);
        Violation::RanksWait { time, unfinished, waiting, failed: self.failed_channels() }
    }

    /// The queue pairs between ranks that are in error, each with the message that it has given up.
    fn failed_channels(&self) -> Vec<String> {
        let nodes = self.engine.nodes();
        let failed = self.world.programs.channels.iter().filter_map(|channel| {
            let flow = &self.world.flows[channel.flow as usize];
            let FabricNode::Host(host) = nodes[self.world.hosts[flow.src as usize] as usize] else {
                return None;
            };
            let message = host.sender(self.world.sender_slot[channel.flow as usize]).given_up()?;
            let ends = (channel.from, channel.to);
            Some(waiting::given_up(ends, message, &self.network, &self.world))
        });
        failed.collect()
    }

    /// The receive queues of slow hosts, with their hosts.
    fn endpoints(&self) -> impl Iterator<Item = (&Host, &Endpoint)> {
        self.engine.nodes().into_iter().filter_map(|node| match node {
            FabricNode::Host(host) => Some((&**host, host.endpoint()?)),
            FabricNode::Switch(_) => None,
        })
    }

    /// Packets in a receive queue that will never be drained are an end without success, even if all else goes on.
    pub(crate) fn look_for_stuck(&self, time: Time) -> Result<(), Violation> {
        let hosts = stuck::hosts(self.endpoints(), &self.network, &self.world);
        if hosts.is_empty() { Ok(()) } else { Err(Violation::NoProgress { time, hosts }) }
    }

    /// Flows that still have something to send. When nothing moves any more that includes the endless ones.
    pub(crate) fn unfinished(&self) -> u64 {
        let mut unfinished = 0;
        for node in self.engine.nodes() {
            if let FabricNode::Host(host) = node {
                unfinished +=
                    host.receivers().iter().filter(|r| r.finish() == u64::MAX && !r.has_messages()).count();
                unfinished += host.ranks().map_or(0, Ranks::unfinished);
            }
        }
        unfinished as u64
    }

    /// Flows whose queue pair is in error.
    pub(crate) fn failed(&self) -> usize {
        self.hosts().map(|host| host.senders().iter().filter(|sender| sender.losses().failed).count()).sum()
    }

    /// Whether some flows are in error, and all others that end have ended or wait for those: what goes on for ever would go on for
    /// nothing.
    pub(crate) fn only_failed_are_left(&self) -> bool {
        let world = &self.world;
        let goes_on = |host: &&Host| {
            host.ranks().is_some_and(|ranks| ranks.has_open(world)) || host.has_pending_step(world)
        };
        if self.failed() == 0 || self.hosts().any(|host| goes_on(&host)) {
            return false;
        }
        let nodes = self.engine.nodes();
        let host = |index: u32| match nodes[world.hosts[index as usize] as usize] {
            FabricNode::Host(host) => host,
            FabricNode::Switch(_) => unreachable!("hosts are hosts"),
        };
        let sender = |index: u32, flow: &Flow| host(flow.src).sender(world.sender_slot[index as usize]);
        let flows = || (0..).zip(&world.flows);
        let failed = flows().filter(|(index, flow)| sender(*index, flow).losses().failed);
        let stuck = world.jobs.stuck_behind(failed.map(|(_, flow)| flow.group).collect());
        flows().filter(|(_, flow)| !flow.is_endless()).all(|(index, flow): (u32, _)| {
            let sender = sender(index, flow);
            let acked = world.ack_of(index).is_none() || sender.acked_at() < u64::MAX;
            let at = world.receiver_slot[index as usize];
            sender.losses().failed
                || (acked && host(flow.dst).receivers()[at as usize].finish() < u64::MAX)
                || (stuck.contains(&flow.group)
                    && !host(flow.src).has_begun(world.sender_slot[index as usize], world))
        })
    }

    fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.engine.nodes().into_iter().filter_map(|node| match node {
            FabricNode::Host(host) => Some(&**host),
            FabricNode::Switch(_) => None,
        })
    }

    /// Egress ports with a closed gate.
    pub(crate) fn paused_ports(&self) -> Vec<String> {
        let names = self.network.nodes();
        let mut paused = Vec::new();
        for node in self.engine.nodes() {
            let ports = node.ports();
            for (number, egress) in
                ports.all_egress().iter().enumerate().filter(|(_, egress)| egress.paused() != 0)
            {
                let (from, to) = (&names[ports.node() as usize].name, &names[egress.peer() as usize].name);
                paused.push(format!("{from}->{to} (port {number})"));
            }
        }
        paused
    }

    /// A circle of gates that have been closed since `before` or longer.
    pub(crate) fn circle(&self, before: u64) -> Option<Circle> {
        deadlock::find(&self.engine.nodes(), &self.network, &self.world, before)
    }

    /// Hosts whose NIC sends PAUSE without end.
    fn storms(&self) -> Vec<String> {
        let nodes = self.engine.nodes();
        let storming = nodes.iter().map(|node| node.ports()).filter(|ports| ports.storms());
        storming.map(|ports| self.network.name(ports.node()).to_owned()).collect()
    }

    /// Hosts whose NIC sends PAUSE without end, each with the port that it holds closed with packets behind it, in words.
    pub fn held_by_storms(&self) -> Vec<(String, String)> {
        let nodes = self.engine.nodes();
        let held = |storming: &Ports| {
            let own = storming.egress(NIC);
            let (node, port) = (own.peer(), own.peer_port());
            let egress = nodes[node as usize].ports().egress(port);
            let host = self.network.name(storming.node());
            let held = format!("{}->{host} (port {port})", self.network.name(node));
            (egress.paused() & egress.waiting() != 0).then(|| (host.to_owned(), held))
        };
        nodes.iter().map(|node| node.ports()).filter(|ports| ports.storms()).filter_map(held).collect()
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
