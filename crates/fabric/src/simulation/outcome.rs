//! What became of each flow and each port, when a run is over.
use std::convert::Infallible;

use backwater_traffic::OWN_CONNECTION;
use backwater_units::{Bytes, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::node::{FabricNode, HostRef};
use crate::observe::recovery;
use crate::record::{
    BlockedRecord, DropCount, FaultRecord, FlowRecord, PortRecord, RankRecord, SwitchRecord,
};
use crate::simulation::Simulation;
use crate::simulation::ideal::{Ideal, Ways};
use crate::world::World;

/// Flows per piece of [`Simulation::each_flow`].
const PIECE: usize = 8 * 1024;

/// What the destination of a flow knows of it.
#[derive(BorshSerialize, BorshDeserialize)]
struct Came {
    finish: Time,
    packets: u32,
    received: Bytes,
    ce: u64,
    ue: u64,
    refused: u64,
    duplicates: u64,
    trimmed: u64,
    early: u64,
    early_most: u64,
    reorder_wait: Span,
}

/// What the source of a flow knows of it.
#[derive(BorshSerialize, BorshDeserialize)]
struct Sent {
    port: u16,
    start: Time,
    acked: Time,
    cnps_ce: u64,
    cnps_ue: u64,
    resent: u64,
    nacks: u64,
    timeouts: u64,
    acks: u64,
    rts: u64,
    failed: bool,
    /// Behind earlier messages, paced, held, queued.
    delay: [Span; 4],
    recovery: Span,
}

impl Simulation {
    /// One record per flow, in flow order.
    pub fn flows(&self) -> Vec<FlowRecord> {
        let mut all = Vec::with_capacity(self.world.flows.len());
        let Ok(()) = self.each_flow(|records| {
            all.extend_from_slice(records);
            Ok::<(), Infallible>(())
        });
        all
    }

    /// The same in pieces: of millions of flows the records take more memory than the flows.
    ///
    /// # Errors
    /// The first one of `take`.
    pub fn each_flow<E>(&self, mut take: impl FnMut(&[FlowRecord]) -> Result<(), E>) -> Result<(), E> {
        let mut ways = Ways::new(&self.network, &self.world);
        let lost = recovery::lost(&self.engine);
        let mut records = Vec::with_capacity(PIECE);
        let count = self.world.flows.len() as u32;
        let counted = self.counted.as_deref();
        for first in (0..count).step_by(PIECE) {
            let flows = first..count.min(first + PIECE as u32);
            let flow = |index: u32| &self.world.flows[index as usize];
            // A flow that was counted has the row of one that was simulated, later.
            let source = |index: u32| counted.map_or((index, Span::ZERO), |counted| counted.source(index));
            // What came is known at one end, what was sent at the other: they may be in two processes.
            let came = flows
                .clone()
                .filter_map(|index| Some((index, self.came(source(index).0, self.host(flow(index).dst)?))));
            let came = self.gather(came.collect(), |(index, _)| *index);
            let sent = flows.clone().zip(&came).filter_map(|(index, (_, came))| {
                let lost = lost.get(&index).map_or(&[][..], Vec::as_slice);
                Some((index, self.sent(source(index).0, self.host(flow(index).src)?, came, lost)))
            });
            let sent = self.gather(sent.collect(), |(index, _)| *index);
            records.clear();
            let each = came.into_iter().zip(sent);
            records.extend(each.map(|((index, came), (_, sent))| {
                let (_, later) = source(index);
                self.flow_record(index, &sent, &came, ways.ideal(index, flow(index))).later(later)
            }));
            if records.len() == PIECE {
                take(&records)?;
                records.clear();
            }
        }
        take(&records)
    }

    /// What its destination knows of a flow.
    fn came(&self, index: u32, destination: HostRef<'_>) -> Came {
        let at = self.world.receiver_slot[index as usize];
        let receiver = &destination.receivers()[at as usize];
        let (reordered, marks) = (destination.reordered(at), receiver.marks());
        Came {
            finish: Time::from_ps(receiver.finish()),
            packets: receiver.packets(),
            received: Bytes::new(receiver.received()),
            ce: marks.0.into(),
            ue: marks.1.into(),
            refused: receiver.refused().into(),
            duplicates: destination.duplicates(at).into(),
            trimmed: destination.trimmed(at).into(),
            early: reordered.early.into(),
            early_most: reordered.most.into(),
            reorder_wait: Span::from_ps(match receiver.finish() {
                u64::MAX => 0,
                finish => reordered.last_waited(receiver.packets(), finish),
            }),
        }
    }

    /// What its source knows of a flow of which so much came.
    fn sent(&self, index: u32, source: HostRef<'_>, came: &Came, lost: &[recovery::Lost]) -> Sent {
        let slot = self.world.sender_slot[index as usize];
        let sender = source.sender(slot);
        let (cnps, losses, uec) = (sender.cnps(), sender.losses(), source.uec_counts(slot));
        Sent {
            port: source.port_of_sender(slot),
            start: source.start_of(slot, &self.world),
            acked: Time::from_ps(sender.acked_at()),
            cnps_ce: cnps.0.into(),
            cnps_ue: cnps.1.into(),
            resent: sender.resent().into(),
            nacks: u64::from(losses.nacks) + u64::from(uec.nacks),
            timeouts: u64::from(losses.timeouts) + u64::from(uec.timeouts),
            acks: uec.acks.into(),
            rts: uec.rts.into(),
            failed: losses.failed,
            delay: sender.source_delay().parts().map(Span::from_ps),
            recovery: self.recovery(index, source, came, lost),
        }
    }

    /// What a flow spent until the copy of its last packet left that its receiver took.
    fn recovery(&self, index: u32, source: HostRef<'_>, came: &Came, lost: &[recovery::Lost]) -> Span {
        let slot = self.world.sender_slot[index as usize];
        let sender = source.sender(slot);
        let Some(recovery) = sender.recovery() else { return Span::ZERO };
        let arrived = match came.finish {
            Time::MAX => u64::MAX,
            finish => finish.as_ps() - came.reorder_wait.as_ps(),
        };
        let of = &self.world.flows[index as usize];
        let egress = source.ports().egress(source.port_of_sender(slot));
        let passes = egress.until_known(self.world.last_payload(of) + self.world.header, false);
        Span::from_ps(recovery.until_counted(lost, arrived, (egress.peer(), passes)))
    }

    fn flow_record(&self, index: u32, sent: &Sent, came: &Came, ideal: Ideal) -> FlowRecord {
        let flow = &self.world.flows[index as usize];
        let [behind, paced, nic_held, nic_queue] = sent.delay;
        FlowRecord {
            flow: index,
            group: flow.group,
            src: self.network.hosts()[flow.src as usize],
            src_port: sent.port,
            dst: self.network.hosts()[flow.dst as usize],
            priority: flow.priority,
            size: if came.finish == Time::MAX { flow.size } else { came.received },
            start: sent.start,
            finish: came.finish,
            acked: sent.acked,
            packets: came.packets.into(),
            received: came.received,
            ce_packets: came.ce,
            ue_packets: came.ue,
            cnps_ce: sent.cnps_ce,
            cnps_ue: sent.cnps_ue,
            resent_packets: sent.resent,
            dropped_packets: came.refused,
            duplicate_packets: came.duplicates,
            nacks: sent.nacks,
            timeouts: sent.timeouts,
            acks: sent.acks,
            rts: sent.rts,
            trimmed_packets: came.trimmed,
            failed: sent.failed,
            early_packets: came.early,
            early_most: came.early_most,
            reorder_wait: came.reorder_wait,
            connection: Some(flow.connection).filter(|number| *number != OWN_CONNECTION),
            behind,
            paced,
            nic_held,
            nic_queue,
            recovery: sent.recovery,
            ideal_fct: ideal.fct,
            ideal_wait: ideal.wait,
            analytic_fct: ideal.analytic,
        }
    }

    /// One record per rank, in their order.
    pub fn ranks(&self) -> Vec<RankRecord> {
        let now = self.engine.now().as_ps();
        let with_ranks = self.hosts().filter_map(|host| Some((host.ports().node(), host.ranks()?)));
        let own = with_ranks.flat_map(|(node, ranks)| ranks.outcome(node, now, &self.world)).collect();
        let mut records = self.engine.processes().gather(own);
        records.sort_by_key(|record: &RankRecord| record.rank);
        records
    }

    /// One record per switch: what tables, regions and queues apart did.
    pub fn switches(&self) -> Vec<SwitchRecord> {
        let nodes = self.engine.nodes();
        let records = nodes.iter().filter_map(|node| {
            let FabricNode::Switch(switch) = node else { return None };
            let (ports, queues) = (switch.ports(), switch.most_queues());
            Some(ports.isolation_counts().record(ports.node(), self.world.slots, queues))
        });
        self.gather(records.collect(), |record| record.node)
    }

    /// One record per egress port of a switch and priority in use: what head-of-line blocking cost it.
    pub fn blocked(&self) -> Vec<BlockedRecord> {
        let now = self.engine.now().as_ps();
        let of_hosts = self.network.hosts().len();
        let classes = usize::from(self.world.classes.count);
        let mut records = Vec::with_capacity((self.network.port_count() - of_hosts) * classes);
        for node in self.engine.nodes() {
            let FabricNode::Switch(switch) = node else { continue };
            let ports = switch.ports();
            for (port, class) in
                (0..ports.count()).flat_map(|port| (0..ports.classes() as u8).map(move |class| (port, class)))
            {
                records.push(BlockedRecord {
                    node: ports.node(),
                    port,
                    priority: self.world.classes.priority(class),
                    blocked: Span::from_ps(switch.blocked(ports.at(port, class), now)),
                });
            }
        }
        self.gather(records, |record| record.node)
    }

    /// One record per port, priority and reason for which something was dropped there.
    pub fn drop_counts(&self) -> Vec<DropCount> {
        let counts = self.engine.nodes().into_iter().flat_map(|node| node.ports().drop_counts(&self.world));
        self.gather(counts.collect(), |count| count.node)
    }

    /// One record per fault and port: what it lost there.
    pub fn fault_costs(&self) -> Vec<FaultRecord> {
        let costs = self.engine.nodes().into_iter().flat_map(|node| node.ports().fault_costs(&self.world));
        self.gather(costs.collect(), |cost| cost.node)
    }

    /// One record per node, port and priority in use.
    pub fn ports(&self) -> Vec<PortRecord> {
        let now = self.engine.now().as_ps();
        let classes = usize::from(self.world.classes.count);
        // Of large networks they are what takes the most memory at the end: none for more than there are.
        let mut records = Vec::with_capacity(self.network.port_count() * classes);
        for node in self.engine.nodes() {
            let ports = node.ports();
            for (number, port) in (0..).zip(self.network.ports(ports.node())) {
                for class in 0..self.world.classes.count {
                    records.push(port_record(node, number, class, port, now, &self.world));
                }
            }
        }
        let records = self.gather(records, |record| record.node);
        match &self.counted {
            Some(counted) => counted.ports(records),
            None => records,
        }
    }
}

impl FlowRecord {
    /// The same of a flow that was so much later.
    fn later(self, by: Span) -> Self {
        let [start, finish, acked] =
            [self.start, self.finish, self.acked].map(|at| if at < Time::MAX { at + by } else { at });
        Self { start, finish, acked, ..self }
    }
}

fn port_record(
    node: &FabricNode,
    number: u16,
    class: u8,
    port: &backwater_topology::Port,
    now: u64,
    world: &World,
) -> PortRecord {
    let ports = node.ports();
    let at = ports.at(number, class);
    let (queue, gate) = (ports.queue(at), ports.gate(at));
    let (paused, in_state) = ports.accounts(number, class, now);
    let (peak_ingress, pauses_sent) = if let FabricNode::Switch(switch) = node {
        let (peak, pauses_sent) = switch.ingress(at);
        (u64::from(peak), pauses_sent)
    } else {
        let endpoint = node.host().and_then(HostRef::endpoint);
        endpoint.map_or((0, 0), |endpoint| (endpoint.peak(number, class), endpoint.pauses_sent(at)))
    };
    let (dropped_packets, dropped_bytes) = ports.dropped(number, class);
    PortRecord {
        node: ports.node(),
        port: number,
        peer: port.peer,
        priority: world.classes.priority(class),
        rate: port.rate,
        packets: queue.sent_packets(),
        bytes: Bytes::new(queue.sent_bytes()),
        peak_queue: Bytes::new(u64::from(queue.peak())),
        peak_ingress: Bytes::new(peak_ingress),
        pauses: u64::from(gate.pauses()),
        pauses_sent: u64::from(pauses_sent),
        paused,
        ce_marks: u64::from(gate.marks().0),
        ue_marks: u64::from(gate.marks().1),
        dropped_packets,
        dropped_bytes: Bytes::new(dropped_bytes),
        in_state,
    }
}
