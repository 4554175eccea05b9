//! What became of each flow and each port, when a run is over.
use std::convert::Infallible;

use backwater_traffic::{Flow, OWN_CONNECTION};
use backwater_units::{Bytes, Span, Time};

use crate::link::ports::NIC;
use crate::nic::host::Host;
use crate::node::FabricNode;
use crate::observe::recovery;
use crate::record::{
    BlockedRecord, DropCount, FaultRecord, FlowRecord, PortRecord, RankRecord, SwitchRecord,
};
use crate::simulation::Simulation;
use crate::simulation::ideal::{Ideal, Ways};
use crate::world::World;

/// Flows per piece of [`Simulation::each_flow`].
const PIECE: usize = 8 * 1024;

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
        let nodes = self.engine.nodes();
        let host = |index: u32| match nodes[self.network.hosts()[index as usize] as usize] {
            FabricNode::Host(host) => &**host,
            FabricNode::Switch(_) => unreachable!("hosts are hosts"),
        };
        let mut ways = Ways::new(&self.network, &self.world);
        let lost = recovery::lost(&nodes);
        let mut records = Vec::with_capacity(PIECE);
        for (i, flow) in (0..).zip(&self.world.flows) {
            let mut record = self.flow_record(i, flow, (host(flow.src), host(flow.dst)), ways.ideal(i, flow));
            let lost = lost.get(&i).map_or(&[][..], Vec::as_slice);
            record.recovery = self.recovery(&record, host(flow.src), lost);
            records.push(record);
            if records.len() == PIECE {
                take(&records)?;
                records.clear();
            }
        }
        take(&records)
    }

    /// What a flow spent until the copy of its last packet left that its receiver took.
    fn recovery(&self, flow: &FlowRecord, source: &Host, lost: &[recovery::Lost]) -> Span {
        let sender = source.sender(self.world.sender_slot[flow.flow as usize]);
        let Some(recovery) = sender.recovery() else { return Span::ZERO };
        let arrived = match flow.finish {
            Time::MAX => u64::MAX,
            finish => finish.as_ps() - flow.reorder_wait.as_ps(),
        };
        let of = &self.world.flows[flow.flow as usize];
        let egress = source.ports().egress(NIC);
        let passes = egress.until_known(self.world.last_payload(of) + self.world.header, false);
        Span::from_ps(recovery.until_counted(lost, arrived, (egress.peer(), passes)))
    }

    fn flow_record(
        &self,
        index: u32,
        flow: &Flow,
        (source, destination): (&Host, &Host),
        ideal: Ideal,
    ) -> FlowRecord {
        let slot = self.world.sender_slot[index as usize];
        let at = self.world.receiver_slot[index as usize];
        let receiver = &destination.receivers()[at as usize];
        let sender = source.sender(slot);
        let received = Bytes::new(receiver.received());
        let [behind, paced, held, queued] = sender.source_delay().parts();
        let reordered = destination.reordered(at);
        let losses = sender.losses();
        let (marks, cnps) = (receiver.marks(), sender.cnps());
        FlowRecord {
            flow: index,
            group: flow.group,
            src: self.network.hosts()[flow.src as usize],
            dst: self.network.hosts()[flow.dst as usize],
            priority: flow.priority,
            size: if receiver.finish() == u64::MAX { flow.size } else { received },
            start: source.start_of(slot, &self.world),
            finish: Time::from_ps(receiver.finish()),
            acked: Time::from_ps(sender.acked_at()),
            packets: u64::from(receiver.packets()),
            received,
            ce_packets: u64::from(marks.0),
            ue_packets: u64::from(marks.1),
            cnps_ce: u64::from(cnps.0),
            cnps_ue: u64::from(cnps.1),
            resent_packets: u64::from(sender.resent()),
            dropped_packets: u64::from(receiver.refused()),
            duplicate_packets: u64::from(destination.duplicates(at)),
            nacks: u64::from(losses.nacks),
            timeouts: u64::from(losses.timeouts),
            failed: losses.failed,
            early_packets: u64::from(reordered.early),
            early_most: u64::from(reordered.most),
            reorder_wait: Span::from_ps(match receiver.finish() {
                u64::MAX => 0,
                finish => reordered.last_waited(receiver.packets(), finish),
            }),
            connection: Some(flow.connection).filter(|number| *number != OWN_CONNECTION),
            behind: Span::from_ps(behind),
            paced: Span::from_ps(paced),
            nic_held: Span::from_ps(held),
            nic_queue: Span::from_ps(queued),
            recovery: Span::ZERO,
            ideal_fct: ideal.fct,
            ideal_wait: ideal.wait,
            analytic_fct: ideal.analytic,
        }
    }

    /// One record per rank, in their order.
    pub fn ranks(&self) -> Vec<RankRecord> {
        let now = self.engine.now().as_ps();
        let mut records = Vec::new();
        for node in self.engine.nodes() {
            if let FabricNode::Host(host) = node
                && let Some(ranks) = host.ranks()
            {
                records.extend(ranks.outcome(host.ports().node(), now, &self.world));
            }
        }
        records.sort_by_key(|record| record.rank);
        records
    }

    /// One record per switch: what the tables and regions of combined queueing did.
    pub fn switches(&self) -> Vec<SwitchRecord> {
        let nodes = self.engine.nodes();
        let switches = nodes.iter().filter(|node| matches!(node, FabricNode::Switch(_)));
        switches
            .map(|node| node.ports().isolation_counts().record(node.ports().node(), self.world.slots))
            .collect()
    }

    /// One record per egress port of a switch and priority in use: what head-of-line blocking cost it.
    pub fn blocked(&self) -> Vec<BlockedRecord> {
        let now = self.engine.now().as_ps();
        let mut records = Vec::new();
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
        records
    }

    /// One record per port, priority and reason for which something was dropped there.
    pub fn drop_counts(&self) -> Vec<DropCount> {
        self.engine.nodes().iter().flat_map(|node| node.ports().drop_counts(&self.world)).collect()
    }

    /// One record per fault and port: what it lost there.
    pub fn fault_costs(&self) -> Vec<FaultRecord> {
        self.engine.nodes().iter().flat_map(|node| node.ports().fault_costs(&self.world)).collect()
    }

    /// One record per node, port and priority in use.
    pub fn ports(&self) -> Vec<PortRecord> {
        let now = self.engine.now().as_ps();
        let mut records = Vec::new();
        for node in self.engine.nodes() {
            let ports = node.ports();
            for (number, port) in (0..).zip(self.network.ports(ports.node())) {
                for class in 0..self.world.classes.count {
                    records.push(port_record(node, number, class, port, now, &self.world));
                }
            }
        }
        records
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
    let (peak_ingress, pauses_sent) = match node {
        FabricNode::Host(host) => {
            host.endpoint().map_or((0, 0), |endpoint| (endpoint.peak(class), endpoint.pauses_sent(class)))
        }
        FabricNode::Switch(switch) => {
            let (peak, pauses_sent) = switch.ingress(at);
            (u64::from(peak), pauses_sent)
        }
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
