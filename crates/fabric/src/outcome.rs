//! What became of each flow and each port, when a run is over.
use backwater_traffic::OWN_CONNECTION;
use backwater_units::{Bytes, Span, Time};

use crate::ideal;
use crate::node::FabricNode;
use crate::record::{FlowRecord, PortRecord, SwitchRecord};
use crate::simulation::Simulation;
use crate::world::World;

impl Simulation {
    /// One record per flow, in flow order.
    pub fn flows(&self) -> Vec<FlowRecord> {
        let mut records: Vec<FlowRecord> = (0..)
            .zip(&self.world.flows)
            .map(|(i, flow)| FlowRecord {
                flow: i,
                group: flow.group,
                src: self.network.hosts()[flow.src as usize],
                dst: self.network.hosts()[flow.dst as usize],
                priority: flow.priority,
                size: flow.size,
                start: flow.start,
                finish: Time::MAX,
                acked: Time::MAX,
                packets: 0,
                received: Bytes::ZERO,
                ce_packets: 0,
                ue_packets: 0,
                cnps_ce: 0,
                cnps_ue: 0,
                connection: Some(flow.connection).filter(|number| *number != OWN_CONNECTION),
                behind: Span::ZERO,
                paced: Span::ZERO,
                nic_held: Span::ZERO,
                nic_queue: Span::ZERO,
                ideal_fct: ideal::fct(i, flow, &self.network, &self.world),
                ideal_wait: ideal::wait(i, flow, &self.network, &self.world),
                analytic_fct: ideal::analytic_fct(i, flow, &self.network, &self.world),
            })
            .collect();
        for node in self.engine.nodes() {
            let FabricNode::Host(host) = node else { continue };
            for (slot, sender) in (0..).zip(&host.senders) {
                let record = &mut records[sender.flow as usize];
                record.start = host.start_of(slot, &self.world);
                record.acked = Time::from_ps(sender.acked_at);
                record.cnps_ce = u64::from(sender.cnps_ce);
                record.cnps_ue = u64::from(sender.cnps_ue);
                record.behind = Span::from_ps(sender.lateness.behind);
                record.paced = Span::from_ps(sender.lateness.paced);
                record.nic_held = Span::from_ps(sender.lateness.held);
                record.nic_queue = Span::from_ps(sender.lateness.queued);
            }
            for receiver in &host.receivers {
                let record = &mut records[receiver.flow as usize];
                record.finish = Time::from_ps(receiver.finish);
                record.packets = u64::from(receiver.packets);
                record.received = Bytes::new(receiver.received);
                if receiver.finish != u64::MAX {
                    record.size = record.received;
                }
                record.ce_packets = u64::from(receiver.ce_packets);
                record.ue_packets = u64::from(receiver.ue_packets);
            }
        }
        records
    }

    /// One record per switch: what the tables and regions of combined queueing did.
    pub fn switches(&self) -> Vec<SwitchRecord> {
        let nodes = self.engine.nodes();
        let switches = nodes.iter().filter(|node| matches!(node, FabricNode::Switch(_)));
        switches.map(|node| node.ports().tally.record(node.ports().node, self.world.slots)).collect()
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
    let account = match node {
        FabricNode::Host(_) => None,
        FabricNode::Switch(switch) => Some(&switch.memory.accounts[at]),
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
        peak_ingress: Bytes::new(account.map_or(0, |account| u64::from(account.peak))),
        pauses: u64::from(gate.pauses),
        pauses_sent: account.map_or(0, |account| u64::from(account.pauses_sent)),
        paused,
        ce_marks: u64::from(gate.ce_marks),
        ue_marks: u64::from(gate.ue_marks),
        in_state,
    }
}
