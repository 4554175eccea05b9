//! What each host has of the traffic.
use backwater_traffic::Flow;

use crate::spec::Spec;

/// The flows, steps and ranks of each host, by index, and whether a flow's rate is sampled. Needed only to build the hosts.
pub(crate) struct HostFlows {
    pub(crate) sent: Vec<Vec<u32>>,
    pub(crate) received: Vec<Vec<u32>>,
    /// Numbers of the steps of each host.
    pub(crate) steps: Vec<Vec<u32>>,
    /// Numbers of the ranks of each host.
    pub(crate) ranks: Vec<Vec<u32>>,
    pub(crate) watched: Vec<bool>,
}

impl HostFlows {
    pub(crate) fn new(spec: &Spec, flows: &[Flow]) -> Self {
        let hosts = spec.network.hosts().len();
        let mut ends = Self {
            sent: vec![Vec::new(); hosts],
            received: vec![Vec::new(); hosts],
            steps: vec![Vec::new(); hosts],
            ranks: vec![Vec::new(); hosts],
            watched: vec![false; flows.len()],
        };
        for (index, flow) in (0..).zip(flows) {
            ends.sent[flow.src as usize].push(index);
            ends.received[flow.dst as usize].push(index);
        }
        for (number, step) in (0..).zip(&spec.steps) {
            ends.steps[step.host as usize].push(number);
        }
        for (number, rank) in (0..).zip(&spec.programs.ranks) {
            ends.ranks[rank.host as usize].push(number);
        }
        for flow in &spec.probe.rates {
            ends.watched[*flow as usize] = true;
        }
        ends
    }
}
