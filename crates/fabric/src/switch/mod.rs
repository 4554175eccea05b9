//! A switch: routing, admission, flow control, detection, scheduling. Here is the plain way through it, with output queues in
//! a shared packet memory under PFC; [`voq`] and [`cioq`] are the other two.
mod admission;
mod audit;
pub(crate) mod batch;
pub(crate) mod chassis;
pub(crate) mod cioq;
mod faults;
pub(crate) mod forwarding;
pub(crate) mod keyed;
pub(crate) mod lanes;
pub(crate) mod marking;
pub(crate) mod output;
mod pausing;
mod tail_drop;
pub(crate) mod trimming;
pub(crate) mod truth;
pub(crate) mod two_pools;
pub(crate) mod voq;

use std::io;

use backwater_control::CodePoint;
use backwater_engine::{
    Class, Key, Keys, Message, Node, Place, Post, Saved, Trajectory, Window, in_order, in_order_wakes_last,
    stream,
};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::ctx::Ctx;
use crate::link::bursts::Bursts;
use crate::link::gates::{Scope, Wait};
use crate::link::ingress::{Account, Memory};
use crate::link::ports::{Ports, Purpose};
use crate::node::node_of_ports;
use crate::observe::ground_truth::Truth;
use crate::observe::roots::Roots;
use crate::packet::{Kind, Packet};
use crate::reuse::relative as view;
use crate::spec::{Clock, Spec};
use crate::switch::batch::Batch;
use crate::switch::chassis::{Chassis, Fabric, SwitchFabric};
use crate::switch::forwarding::Forwarding;
use crate::switch::forwarding::ecmp::salt;
use crate::user::{UserFault, UserQueues};
use crate::world::World;

/// Purpose of the random streams of the detectors; entity: node << 16 | port.
const MARKING: u64 = 0x3a7b;

#[derive(Clone)]
pub(crate) struct Switch {
    chassis: Chassis,
    fabric: SwitchFabric,
    /// What goes first of several arrivals, if time is kept as on ns-3.
    bursts: Bursts,
}

impl Saved for Switch {
    fn save(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { chassis, fabric, bursts } = self;
        let Chassis { ports, memory, forwarding, random, truth, roots, user } = chassis;
        forwarding.save(out)?;
        (ports, memory, random, truth, roots).serialize(out)?;
        (user, fabric, bursts).serialize(out)
    }
    fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        let Self { chassis, fabric, bursts } = self;
        let Chassis { ports, memory, forwarding, random, truth, roots, user } = chassis;
        forwarding.load(from)?;
        // Parameters of detectors and thresholds of PFC are those of the run that goes on.
        let (watched, judged) = (ports.watched(), memory.clone());
        (*ports, *memory, *random, *truth, *roots) = BorshDeserialize::deserialize(from)?;
        ports.watch_as(&watched);
        memory.judge_as(&judged);
        (*user, *fabric, *bursts) = BorshDeserialize::deserialize(from)?;
        Ok(())
    }
}

impl Switch {
    /// What it is, relative to an instant.
    pub(crate) fn relative(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let Self { chassis, fabric, bursts: _ } = self;
        let Chassis { ports, memory, forwarding, random, truth, roots, user } = chassis;
        if !forwarding.goes_by_number() {
            view::untold("packets of a flow that go several ways");
        }
        forwarding.save(out)?;
        (ports, memory, random).serialize(out)?;
        if truth.is_some() || roots.is_some() {
            view::untold("the ground truth");
        }
        if user.is_some() {
            view::untold("functions of the user's");
        }
        match fabric {
            SwitchFabric::Output(_) => Ok(()),
            SwitchFabric::Voq(voq) => voq.serialize(out),
            SwitchFabric::Oldest(_) | SwitchFabric::Input(_) => {
                view::untold(
                    "switches that serve the oldest packet, or have one queue for each ingress port",
                );
                Ok(())
            }
            // Nobody has looked yet at what the others keep.
            _ => {
                view::untold("switches with combined queues, two pools, or queues that are held");
                Ok(())
            }
        }
    }
}

/// The parts of a switch whose events are run. Which fabric it has is found out once for each window, and not for each packet.
struct Parts<'a, F> {
    chassis: &'a mut Chassis,
    fabric: &'a mut F,
}

impl<F: Fabric + Send> Node for Parts<'_, F> {
    node_of_ports!(chassis.ports);

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "measured: with a second caller, by the clock of ns-3, the call costs 31 instructions a hop"
    )]
    fn receive<P: Post<Packet>>(&mut self, packet: &Packet, world: &World, post: &mut P) {
        // A context for each of those who need one: the packets that pass need none, and it is in memory.
        self.chassis.ports.sample_until(&mut Ctx { now: packet.time, world, post });
        self.chassis.ports.note(packet);
        if packet.is_flow_control() {
            self.frame_of_link(packet, &mut Ctx { now: packet.time, world, post });
        } else {
            self.forward(packet, world, post);
        }
    }

    #[inline]
    fn fire<P: Post<Packet>>(&mut self, key: Key, world: &World, post: &mut P) {
        let cx = &mut Ctx { now: key.time, world, post };
        self.chassis.ports.sample_until(cx);
        if key.class() == Class::Wake {
            let port = self.chassis.ports.take_wake();
            self.chassis.send_next(self.fabric, port, cx);
            return;
        }
        let (timer, port) = self.chassis.ports.take_timer();
        let class = timer.argument as u8;
        match timer.purpose {
            Purpose::PauseExpiry => {
                if self.chassis.ports.pause_expired(port, class, cx) {
                    self.chassis.resumed(self.fabric, port, class, cx);
                    self.chassis.send_next(self.fabric, port, cx);
                }
            }
            Purpose::Poll => self.chassis.poll(self.fabric, port, class, cx),
            Purpose::Credit => {
                self.chassis.ports.credit_timer(port, timer.argument, timer.time);
                self.chassis.send_next(self.fabric, port, cx);
            }
            Purpose::Fault => self.fault_due(cx),
            Purpose::Watchdog => self.watchdog_due(port, class, cx),
            Purpose::Tell => self.chassis.tell_queues(cx),
            Purpose::Replay => {
                self.chassis.ports.replay_due(port, cx);
                self.chassis.send_next(self.fabric, port, cx);
            }
            of_fabric => self.fabric.timer(self.chassis, of_fabric, (port, timer.argument), cx),
        }
    }
}

impl Node for Switch {
    node_of_ports!(chassis.ports);

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "it is that of another name")]
    fn receive<P: Post<Packet>>(&mut self, packet: &Packet, world: &World, post: &mut P) {
        self.parts().receive(packet, world, post);
    }

    #[inline]
    fn fire<P: Post<Packet>>(&mut self, key: Key, world: &World, post: &mut P) {
        self.parts().fire(key, world, post);
    }

    fn close_period(&mut self) {
        self.chassis.memory.note_peaks();
    }

    #[inline]
    fn run<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        window: Window,
        keys: &mut Keys,
        batch: &mut Batch,
        world: &World,
        post: &mut P,
    ) {
        if world.batching_untapped && self.run_batch(arrivals, window, batch, world, post) {
            return;
        }
        if world.is_watched {
            self.run_watched(arrivals, window, keys, batch, world, post);
            return;
        }
        self.run_in_order(arrivals, window, keys, world, post);
    }
}

impl Switch {
    /// The same, event by event.
    #[inline(never)]
    fn run_in_order<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        window: Window,
        keys: &mut Keys,
        world: &World,
        post: &mut P,
    ) {
        self.chassis.memory.refresh_shared();
        let Self { chassis, fabric, .. } = self;
        match fabric {
            SwitchFabric::Output(fabric) => {
                in_order(&mut Parts { chassis, fabric }, arrivals, window, keys, world, post);
            }
            SwitchFabric::Voq(fabric) => {
                in_order(&mut Parts { chassis, fabric: &mut **fabric }, arrivals, window, keys, world, post);
            }
            fabric => in_order(&mut Parts { chassis, fabric }, arrivals, window, keys, world, post),
        }
    }
}

impl<F: Fabric> Parts<'_, F> {
    /// A frame of the flow control has come.
    #[inline]
    fn frame_of_link<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        self.chassis.ports.note_link_frame();
        if packet.kind == Kind::Credit {
            self.chassis.ports.take_credit(packet);
            self.fabric.credit(self.chassis, packet.port, packet.class, cx);
            return;
        }
        if packet.kind != Kind::Pfc {
            match packet.kind {
                Kind::Truth => self.chassis.hear_truth(packet, cx),
                Kind::Queue => self.chassis.hear_queue(packet),
                Kind::Heed => self.hear_heed(packet, cx),
                _ => self.fabric.frame(self.chassis, packet, cx),
            }
            return;
        }
        let open = !self.chassis.ports.egress(packet.port).paused();
        let opened = self.chassis.ports.obey(packet, cx);
        self.fabric.pfc(packet.port, packet.time);
        let closed = open & self.chassis.ports.egress(packet.port).paused();
        if closed != 0 {
            self.chassis.gate_closed(self.fabric, packet.port, closed, cx);
        }
        for class in (0..cx.world.classes.count).filter(|class| opened & (1 << class) != 0) {
            self.chassis.resumed(self.fabric, packet.port, class, cx);
        }
        if opened != 0 {
            self.chassis.send_next(self.fabric, packet.port, cx);
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: the call costs 2 to 4 instructions a hop")]
    fn forward<P: Post<Packet>>(&mut self, packet: &Packet, world: &World, post: &mut P) {
        let Some(out) = self.chassis.forwarding.port_if_by_flow(packet) else {
            return self.forward_spread(packet, &mut Ctx { now: packet.time, world, post });
        };
        self.forward_by(out, packet, world, post);
    }

    /// The same where packets of a flow are spread. Nothing comes after it in its caller, so that this costs the others nothing.
    #[cold]
    #[inline(never)]
    fn forward_spread<P: Post<Packet>>(&mut self, packet: &Packet, cx: &mut Ctx<'_, P>) {
        match self.chassis.forwarding.spread(packet, &self.chassis.ports) {
            Some(out) => self.forward_by(out, packet, cx.world, cx.post),
            None => self.forward_around(packet, cx),
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "one of its two callers is on the path of every packet")]
    fn forward_by<P: Post<Packet>>(&mut self, out: u16, packet: &Packet, world: &World, post: &mut P) {
        if self.chassis.may_pass(packet, out) {
            if !self.chassis.ports.passes(out, packet, packet.time, post) {
                self.chassis.leave(out, packet, &mut Ctx { now: packet.time, world, post });
            }
            return;
        }
        self.fabric.arrive(self.chassis, packet, out, &mut Ctx { now: packet.time, world, post });
    }
}

impl Switch {
    fn parts(&mut self) -> Parts<'_, SwitchFabric> {
        let Self { chassis, fabric, .. } = self;
        Parts { chassis, fabric }
    }

    /// The same where wires are tapped, or fail, or time is kept in another way.
    #[cold]
    #[inline(never)]
    fn run_watched<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        window: Window,
        keys: &mut Keys,
        batch: &mut Batch,
        world: &World,
        post: &mut P,
    ) {
        let spared =
            self.chassis.ports.watch(arrivals, window.end, &mut Ctx { now: window.start, world, post });
        let arrivals = spared.as_deref().unwrap_or(arrivals);
        if world.batching
            && !self.chassis.forwarding.stands_aside()
            && self.run_batch(arrivals, window, batch, world, post)
        {
            return;
        }
        self.chassis.memory.refresh_shared();
        match world.clock {
            Clock::Exact => in_order(&mut self.parts(), arrivals, window, keys, world, post),
            Clock::Ns3 => {
                let rank = |frame: &Packet, left, began| {
                    if world.holds {
                        ((Class::Arrival, left), self.fabric.let_go_as(frame.port, began))
                    } else {
                        ((frame.class(), 0), 0)
                    }
                };
                let arrivals = self.bursts.in_order(arrivals, &self.chassis.ports, window.end, rank);
                in_order_wakes_last(&mut self.parts(), arrivals, window, world, post);
            }
        }
    }

    pub(crate) fn new(node: u32, spec: &Spec, mut ports: Ports, world: &World) -> Self {
        for (port, detector) in (0..).zip(&spec.switch.detectors[node as usize]) {
            // Where there is telemetry, every packet is to be written into.
            let from = if world.telemetry { 0 } else { detector.calm().saturating_add(1) };
            ports.egress_mut(port).watch(world.detector_number(detector), from);
        }
        ports.arm_fault(world);
        let count = usize::from(ports.count());
        let truth = spec.probe.blame.as_ref().map(|above| {
            let truth = Truth::new(&above[node as usize], ports.classes());
            for port in 0..ports.count() {
                // From above K the queue reaches K by a dequeue that is shown to the detector, and so to the crowd.
                let calm = truth.threshold(port).saturating_sub(u32::from(world.payload + world.header));
                ports.egress_mut(port).watch_from(calm.saturating_add(1));
            }
            Box::new(truth)
        });
        let roots = spec.switch.roots.as_ref().map(|long| {
            let links = spec.network.ports(node);
            let switches: Vec<bool> = links.iter().map(|port| spec.network.is_switch(port.peer)).collect();
            Box::new(Roots::new(ports.all_egress(), &switches, &long[node as usize], world))
        });
        let thresholds =
            spec.switch.pfc.as_ref().map_or(Vec::new(), |pfc| pfc.thresholds[node as usize].clone());
        let credited = world.credits.map_or(0, |credits| credits.classes);
        let fabric = SwitchFabric::new(node, &spec.network, &ports, world);
        // What is trimmed where there is no room waits beside the memory of the others.
        let beside =
            if let SwitchFabric::Trimmed(trimmer) = &fabric { trimmer.rooms(ports.classes()) } else { 0 };
        let chassis = Chassis {
            user: UserQueues::new(ports.queues().len(), &world.user),
            memory: Memory::new(
                ports.classes(),
                world.lossless,
                credited,
                !matches!(fabric, SwitchFabric::Output(_)),
                thresholds,
                count,
                world.buffer.saturating_add(beside),
            ),
            forwarding: Forwarding::new(
                node,
                &spec.routes,
                spec.switch.balancing,
                salt(world.seed, node, &world.hashes),
                world.path_keys.clone(),
                world.hashes.clone(),
            ),
            random: (0..count as u64)
                .map(|port| stream(world.seed, MARKING, u64::from(node) << 16 | port))
                .collect(),
            truth,
            roots,
            ports,
        };
        Self { chassis, fabric, bursts: Bursts::default() }
    }

    /// Looks at the rates of its links anew, as parameters are those of the run that goes on.
    pub(crate) fn judge_by_rates(&mut self, world: &World) {
        let ports = &mut self.chassis.ports;
        for port in 0..ports.count() {
            let rate = ports.egress(port).rate();
            self.fabric.rate_changed(ports, port, rate, world);
        }
    }

    /// The world has more flows than before.
    pub(crate) fn learn_flows(&mut self, world: &World) {
        self.chassis.forwarding.hash_by(&world.path_keys, &world.hashes);
    }

    #[inline]
    pub(crate) const fn ports(&self) -> &Ports {
        &self.chassis.ports
    }

    #[inline]
    pub(crate) const fn ports_mut(&mut self) -> &mut Ports {
        &mut self.chassis.ports
    }

    /// What its closed gates wait for.
    pub(crate) fn waits(&self) -> Vec<Wait> {
        self.fabric.waits(&self.chassis)
    }

    /// The egress ports, and what of them, that a packet waits for that an ingress port does not take in.
    pub(crate) fn waits_for(
        &self,
        ingress: u16,
        scope: Scope,
        world: &World,
    ) -> impl Iterator<Item = (u16, Scope)> + use<> {
        let holders = self.fabric.waits_for(&self.chassis, ingress, scope, world);
        holders.into_iter().map(|holder| (holder.out, holder.scope))
    }

    /// Sizes of the packets of an egress queue of which one leaves next.
    pub(crate) fn first_sizes(&self, at: usize) -> Vec<u16> {
        self.fabric.first_sizes(&self.chassis.ports, at)
    }

    /// Picoseconds for which the port of an egress queue was free while all packets for it stood behind others.
    pub(crate) fn blocked(&self, at: usize, now: u64) -> u64 {
        self.fabric.blocked(&self.chassis.ports, at, now)
    }

    /// The most queues of an egress port and class that had packets at a time, where it is them that a scheme has few of.
    pub(crate) fn most_queues(&self) -> Option<u32> {
        self.fabric.most_queues()
    }

    /// Packets on their way across a crossbar.
    pub(crate) fn crossing(&self) -> Vec<Packet> {
        self.fabric.crossing()
    }

    /// Packets that wait in the memory of all ports, but at none of them.
    pub(crate) fn apart(&self) -> Vec<Packet> {
        self.fabric.apart(&self.chassis)
    }

    /// Packets that wait at the ingress port and class of this number.
    pub(crate) fn waiting_at_ingress(&self, at: usize) -> usize {
        self.fabric.waiting_at_ingress(&self.chassis, at)
    }

    /// Most bytes that an ingress port and class has held, and the PAUSEs sent for it.
    pub(crate) fn ingress(&self, at: usize) -> (u32, u32) {
        let account = self.chassis.memory.account(at);
        (account.peak(), account.pauses_sent())
    }

    /// What each ingress port holds of the memory, in bytes.
    pub(crate) fn held_by_port(&self) -> Vec<u64> {
        let Chassis { memory, ports, .. } = &self.chassis;
        memory.accounts().chunks(ports.classes()).map(|of| of.iter().map(Account::held).sum()).collect()
    }

    /// The first account that is not what is there at the end of a run, in words.
    pub(crate) fn check(&self, world: &World) -> Result<(), String> {
        self.fabric.check(&self.chassis, world)
    }

    /// The run ends.
    pub(crate) fn close_crowds(&mut self, now: u64, world: &World) {
        self.chassis.close_crowds(now, world);
    }

    /// The first call of a detector of the user's that failed.
    pub(crate) fn user_fault(&self) -> Option<&UserFault> {
        self.chassis.user.as_ref().and_then(|user| user.fault())
    }

    /// Runs a window port by port, if its fabric can.
    #[inline]
    fn run_batch<P: Post<Packet>>(
        &mut self,
        arrivals: &[Packet],
        window: Window,
        batch: &mut Batch,
        world: &World,
        post: &mut P,
    ) -> bool {
        match &mut self.fabric {
            SwitchFabric::Output(plain) => {
                self.chassis.run_batch(plain, arrivals, window, batch, world, post)
            }
            SwitchFabric::Trimmed(trimmer) => {
                self.chassis.run_batch(&mut **trimmer, arrivals, window, batch, world, post)
            }
            _ => false,
        }
    }

    /// The packets of an egress port and class.
    pub(crate) fn waiting(&self, at: usize) -> impl Iterator<Item = &Packet> {
        self.chassis.waiting(&self.fabric, at)
    }

    /// Bytes of state of all ports beyond what every node has.
    pub(crate) fn state_bytes(&self) -> usize {
        self.chassis.memory.state_bytes()
            + size_of_val(&*self.chassis.random)
            + self.chassis.user.as_ref().map_or(0, |user| user.state_bytes())
            + self.fabric.state_bytes()
    }
}

impl Chassis {
    /// Whether the packet can leave the moment it has come without anything else taking notice. It takes no
    /// memory then.
    #[inline]
    fn may_pass(&self, packet: &Packet, out: u16) -> bool {
        let egress = self.ports.egress(out);
        if egress.busy_until() > packet.time
            || (egress.waiting() | egress.paused()) & (1 << packet.class) != 0
        {
            return false;
        }
        self.memory.account(self.ports.at(packet.port, packet.class)).stays_calm(packet.size)
    }

    /// Sends what an idle port may send; a busy port is woken when it is free.
    #[inline]
    pub(crate) fn send_next<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let egress = self.ports.egress(out);
        if egress.busy_until() > cx.now {
            if egress.waiting() & !egress.paused() != 0 || egress.owes_frame() {
                let free = egress.busy_until();
                self.ports.set_wake(out, free);
            }
            return;
        }
        if egress.owes_frame() {
            if egress.owes_credit() {
                self.send_credit(fabric, out, cx);
            } else {
                self.ports.transmit_pfc(out, cx);
            }
        } else {
            fabric.pull(self, out, cx);
        }
        let egress = self.ports.egress(out);
        if egress.waiting() & !egress.paused() != 0 || egress.owes_frame() {
            let free = egress.busy_until();
            self.ports.set_wake(out, free);
        }
    }

    /// The same; where wakes come last, a port is busy until its own has come.
    pub(crate) fn go<F: Fabric, P: Post<Packet>>(&mut self, fabric: &mut F, out: u16, cx: &mut Ctx<'_, P>) {
        let busy_until = self.ports.egress(out).busy_until();
        if cx.world.clock == Clock::Ns3 && busy_until == cx.now {
            self.ports.set_wake(out, busy_until);
        } else {
            self.send_next(fabric, out, cx);
        }
    }

    /// The next packet of an idle port with output queues leaves.
    #[inline]
    pub(crate) fn pull_in_order<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        out: u16,
        cx: &mut Ctx<'_, P>,
    ) {
        let Some(class) = self.ports.choose(out, cx.world.round_robin) else {
            return;
        };
        let packet = self.ports.dequeue(out, class);
        self.waited(&packet, out, cx);
        self.let_go(fabric, &packet, cx);
        self.send_off(out, &packet, cx);
    }

    /// A packet starts to leave by an idle port.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: the call costs a fifth of the function")]
    pub(crate) fn send_off<P: Post<Packet>>(&mut self, out: u16, packet: &Packet, cx: &mut Ctx<'_, P>) {
        if !self.ports.passes(out, packet, cx.now, cx.post) {
            self.leave(out, packet, cx);
        }
    }

    /// A packet that does not [pass](Ports::passes) starts to leave: the detector may judge it, and something may travel beside it.
    #[inline(never)]
    fn leave<P: Post<Packet>>(&mut self, out: u16, packet: &Packet, cx: &mut Ctx<'_, P>) {
        let unseen = self.ports.leaves_unseen(out, packet.class, cx.now);
        let code = if unseen { packet.code } else { self.judge(out, packet, cx) };
        self.ports.transmit(out, packet, code, cx);
    }

    /// The packets of an egress port and class.
    pub(crate) fn waiting<'a, F: Fabric>(
        &'a self,
        fabric: &'a F,
        at: usize,
    ) -> impl Iterator<Item = &'a Packet> {
        fabric.fifos(&self.ports, at).iter().flat_map(|fifo| self.ports.pool().iter(*fifo))
    }

    /// A packet leaves the memory: its ingress port may be let go.
    #[inline]
    pub(crate) fn let_go<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) {
        let (port, class, size) = (packet.port, packet.class, u32::from(packet.size));
        if cx.world.lossless & (1 << class) == 0 {
            if self.memory.is_credited(class) {
                let class = self.came_in(packet, cx.world);
                self.memory.release_credited(port, class, size);
            } else {
                self.release_unpaused(class, size, cx.world);
            }
            return;
        }
        self.memory.release(port, class, size);
        if self.memory.whole_port(port) {
            // What the port holds has paused all its classes; any of them may be the one to resume.
            for class in 1..cx.world.classes.count {
                self.departed(fabric, port, class, cx);
            }
        } else {
            self.departed(fabric, port, class, cx);
        }
    }

    /// A packet leaves of a class without flow control. No class that cannot lose comes here but the control one.
    #[cold]
    #[inline(never)]
    fn release_unpaused(&mut self, class: u8, size: u32, world: &World) {
        if class != 0 && world.lossy.is_some() {
            self.memory.release_lossy(size);
        }
        self.memory.release_unpaused(size);
    }

    /// Something left an ingress port: RESUME for a class that it holds paused?
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "measured: a call of its own costs an instruction a hop")]
    fn departed<F: Fabric, P: Post<Packet>>(
        &mut self,
        fabric: &mut F,
        port: u16,
        class: u8,
        cx: &mut Ctx<'_, P>,
    ) {
        if self.memory.account(self.ports.at(port, class)).is_outstanding() {
            let level = self.memory.level(port, class);
            let form = cx.world.pfc.form;
            self.tell(fabric, port, class, form.on_departure(level, true), cx);
        }
    }

    /// A packet starts to leave by `out`: the detector judges the port; the accounts follow.
    #[inline]
    pub(crate) fn depart<P: Post<Packet>>(
        &mut self,
        out: u16,
        packet: &Packet,
        cx: &mut Ctx<'_, P>,
    ) -> CodePoint {
        if self.ports.leaves_calmly(out, packet, cx.now) { packet.code } else { self.judge(out, packet, cx) }
    }
}
