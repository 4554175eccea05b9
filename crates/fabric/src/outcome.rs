//! What became of each flow and each port, when a run is over.
use std::convert::Infallible;

use backwater_traffic::{Flow, OWN_CONNECTION};
use backwater_units::{Bytes, Span, Time};

use crate::ideal::{Ideal, Ways};
use crate::nic::host::Host;
use crate::nic::reorder::Counts;
use crate::node::FabricNode;
use crate::record::{BlockedRecord, FlowRecord, PortRecord, RankRecord, SwitchRecord};
use crate::simulation::Simulation;
use crate::switch::chassis::Fabric;
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
        let mut records = Vec::with_capacity(PIECE);
        for (i, flow) in (0..).zip(&self.world.flows) {
            records.push(self.flow_record(i, flow, (host(flow.src), host(flow.dst)), ways.ideal(i, flow)));
            if records.len() == PIECE {
                take(&records)?;
                records.clear();
            }
        }
        take(&records)
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
        let receiver = &destination.receivers[at as usize];
        let sender = &source.senders[slot as usize];
        let received = Bytes::new(receiver.received);
        let source_delay = &sender.source_delay;
        let reordered =
            destination.reorder.as_ref().map_or_else(Counts::default, |reorder| reorder.counts(at));
        FlowRecord {
            flow: index,
            group: flow.group,
            src: self.network.hosts()[flow.src as usize],
            dst: self.network.hosts()[flow.dst as usize],
            priority: flow.priority,
            size: if receiver.finish == u64::MAX { flow.size } else { received },
            start: source.start_of(slot, &self.world),
            finish: Time::from_ps(receiver.finish),
            acked: Time::from_ps(sender.acked_at),
            packets: u64::from(receiver.packets),
            received,
            ce_packets: u64::from(receiver.ce_packets),
            ue_packets: u64::from(receiver.ue_packets),
            cnps_ce: u64::from(sender.cnps_ce),
            cnps_ue: u64::from(sender.cnps_ue),
            resent_packets: u64::from(sender.resent),
            dropped_packets: u64::from(receiver.refused),
            early_packets: u64::from(reordered.early),
            early_most: u64::from(reordered.most),
            reorder_wait: Span::from_ps(match receiver.finish {
                u64::MAX => 0,
                finish => reordered.last_waited(receiver.packets, finish),
            }),
            connection: Some(flow.connection).filter(|number| *number != OWN_CONNECTION),
            behind: Span::from_ps(source_delay.behind),
            paced: Span::from_ps(source_delay.paced),
            nic_held: Span::from_ps(source_delay.held),
            nic_queue: Span::from_ps(source_delay.queued),
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
                && let Some(ranks) = &host.ranks
            {
                records.extend(ranks.outcome(host.ports.node, now, &self.world));
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
            .map(|node| node.ports().isolation_counts.record(node.ports().node, self.world.slots))
            .collect()
    }

    /// One record per egress port of a switch and priority in use: what head-of-line blocking cost it.
    pub fn blocked(&self) -> Vec<BlockedRecord> {
        let now = self.engine.now().as_ps();
        let mut records = Vec::new();
        for node in self.engine.nodes() {
            let FabricNode::Switch(switch) = node else { continue };
            let ports = &switch.chassis.ports;
            for (port, class) in (0..ports.egress.len() as u16)
                .flat_map(|port| (0..ports.classes as u8).map(move |class| (port, class)))
            {
                records.push(BlockedRecord {
                    node: ports.node,
                    port,
                    priority: self.world.classes.priority(class),
                    blocked: Span::from_ps(switch.fabric.blocked(ports, ports.at(port, class), now)),
                });
            }
        }
        records
    }

    /// One record per node, port and priority in use.
    pub fn ports(&self) -> Vec<PortRecord> {
        let now = self.engine.now().as_ps();
        let mut records = Vec::new();
        for node in self.engine.nodes() {
            let ports = node.ports();
            for (number, port) in (0..).zip(self.network.ports(ports.node)) {
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
    let (queue, gate) = (&ports.queues[at], &ports.gates[at]);
    let (paused, in_state) = ports.accounts(number, class, now);
    let (peak_ingress, pauses_sent) = match node {
        FabricNode::Host(host) => host
            .endpoint
            .as_ref()
            .map_or((0, 0), |endpoint| (endpoint.peak(class), endpoint.memory.accounts[at].pauses_sent)),
        FabricNode::Switch(switch) => {
            let account = &switch.chassis.memory.accounts[at];
            (u64::from(account.peak), account.pauses_sent)
        }
    };
    PortRecord {
        node: ports.node,
        port: number,
        peer: port.peer,
        priority: world.classes.priority(class),
        rate: port.rate,
        packets: queue.sent_packets,
        bytes: Bytes::new(queue.sent_bytes),
        peak_queue: Bytes::new(u64::from(queue.peak)),
        peak_ingress: Bytes::new(peak_ingress),
        pauses: u64::from(gate.pauses),
        pauses_sent: u64::from(pauses_sent),
        paused,
        ce_marks: u64::from(gate.ce_marks),
        ue_marks: u64::from(gate.ue_marks),
        dropped_packets: gate.dropped_packets,
        dropped_bytes: Bytes::new(gate.dropped_bytes),
        in_state,
    }
}
