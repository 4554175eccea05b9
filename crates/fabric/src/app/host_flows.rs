//! What each host has of the traffic.
use backwater_traffic::Flow;

use crate::spec::Spec;

/// The flows, steps and ranks of each host, by index. Needed only to build the hosts.
pub(crate) struct HostFlows {
    sent: Vec<Vec<u32>>,
    received: Vec<Vec<u32>>,
    /// Numbers of the steps of each host.
    steps: Vec<Vec<u32>>,
    /// Numbers of the ranks of each host.
    ranks: Vec<Vec<u32>>,
}

impl HostFlows {
    pub(crate) fn new(spec: &Spec, flows: &[Flow]) -> Self {
        let hosts = spec.network.hosts().len();
        let mut ends = Self {
            sent: vec![Vec::new(); hosts],
            received: vec![Vec::new(); hosts],
            steps: vec![Vec::new(); hosts],
            ranks: vec![Vec::new(); hosts],
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
        ends
    }

    /// The flows that a host sends.
    pub(crate) fn sent(&self, host: usize) -> &[u32] {
        &self.sent[host]
    }

    /// The flows that a host receives.
    pub(crate) fn received(&self, host: usize) -> &[u32] {
        &self.received[host]
    }

    /// The numbers of its steps.
    pub(crate) fn steps(&self, host: usize) -> &[u32] {
        &self.steps[host]
    }

    /// The numbers of its ranks.
    pub(crate) fn ranks(&self, host: usize) -> &[u32] {
        &self.ranks[host]
    }
}
