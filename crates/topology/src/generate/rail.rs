//! Rail-optimised: GPU j of every server is at a switch of rail j, and spines join the rails.
use backwater_units::{Rate, Span};

use super::{Uplinks, count};
use crate::{Builder, MAX_NODES, Network, TopologyError};

const KIND: &str = "rail";

/// What makes a rail-optimised network (NVIDIA DGX `SuperPOD` reference architecture: "rail-optimized"; Qian et al., Alibaba
/// HPN, SIGCOMM 2024, section 5).
#[derive(Clone, Copy, Debug)]
pub struct Rail {
    /// Units of servers that share a set of rail switches.
    pub units: u32,
    /// Servers of a unit.
    pub servers: u32,
    /// GPUs of a server, each with a NIC of its own: as many rails.
    pub gpus: u32,
    /// Rates of the links of GPUs, and between rail switches and spines.
    pub rates: [Rate; 2],
    /// Capacity down over capacity up of a rail switch.
    pub oversubscription: f64,
    /// Delay of all links.
    pub delay: Span,
}

/// Hosts are the NICs of GPUs: `gpu<s>.<j>`, server by server, servers counted over all units. Unit u has a switch
/// `rail<u>.<j>` for each rail; `spine0`, `spine1`, … are linked to all of them once, as many as a rail switch has links up.
///
/// Ports of a rail switch: its servers, then the spines; port u·gpus + j of a spine leads to `rail<u>.<j>`. GPUs of one server
/// have no other link here: what they exchange within the server is not the network's.
///
/// # Errors
/// Counts must be from 1 to 1024, and the oversubscription must give a whole number of links up.
pub fn rail(of: &Rail) -> Result<Network, TopologyError> {
    let (units, servers, gpus) = (of.units, of.servers, of.gpus);
    for (parameter, value) in [("units", units), ("servers", servers), ("gpus", gpus)] {
        count(KIND, parameter, value)?;
    }
    let [rate, spine_rate] = of.rates;
    let uplinks = Uplinks {
        topology: KIND,
        parameter: "oversubscription",
        place: None,
        of: "a rail switch",
        ratio: of.oversubscription,
        down: (servers, rate),
        up: spine_rate,
    };
    let spines = uplinks.number()?;
    let nodes = u64::from(units) * u64::from(gpus) * u64::from(servers + 1) + u64::from(spines);
    if nodes > MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    let mut b = Builder::new();
    let mut host = Vec::new();
    for (server, j) in (0..units * servers).flat_map(|server| (0..gpus).map(move |j| (server, j))) {
        let node = b.host(format!("gpu{server}.{j}"));
        b.place(node, 0, Some(server / servers), &[server, j]);
        host.push(node);
    }
    let mut rail = Vec::new();
    for (u, j) in (0..units).flat_map(|u| (0..gpus).map(move |j| (u, j))) {
        let node = b.switch(format!("rail{u}.{j}"));
        b.place(node, 1, Some(u), &[u, j]);
        rail.push(node);
    }
    for (server, own) in (0..).zip(host.chunks(gpus as usize)) {
        let unit = server / servers as usize;
        for (&host, &rail) in own.iter().zip(&rail[unit * gpus as usize..]) {
            b.link(host, rail, rate, of.delay);
        }
    }
    let spine: Vec<u32> = (0..spines).map(|i| b.switch(format!("spine{i}"))).collect();
    for (i, &spine) in (0..).zip(&spine) {
        b.place(spine, 2, None, &[i]);
    }
    for (&rail, &spine) in rail.iter().flat_map(|rail| spine.iter().map(move |spine| (rail, spine))) {
        b.link(rail, spine, spine_rate, of.delay);
    }
    b.build()
}
