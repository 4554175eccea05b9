//! Servers of GPUs: in each a scale-up switch, and NICs at leaves by rails or all together, in one plane or two.
use backwater_units::{Rate, Span};

use super::{Uplinks, count};
use crate::{Builder, MAX_HOST_PORTS, MAX_NODES, Network, Structure, TopologyError};

const KIND: &str = "ai-pod";

/// What makes a network of AI servers (NVIDIA DGX H100: eight GPUs with a NIC each, switches between them, which are one here;
/// Qian et al., Alibaba HPN, SIGCOMM 2024: NICs with two ports, in two planes).
#[derive(Clone, Debug)]
pub struct AiPod {
    /// Pods: sets of units whose leaves share spines. Several are joined by cores.
    pub pods: u32,
    /// Units of a pod: servers that share a set of leaves.
    pub units: u32,
    /// Servers of a unit.
    pub servers: u32,
    /// GPUs of a server.
    pub gpus: u32,
    /// NICs of a GPU.
    pub nics: u32,
    /// Whether each NIC of a server has leaves of its own, which it shares with that NIC of the other servers of its unit; else all NICs of a
    /// unit are at the same leaves.
    pub rails: bool,
    /// Planes: networks that nothing joins but the NICs, which have ports in each.
    pub planes: u32,
    /// Leaves at which a NIC has a port in each plane.
    pub homes: u32,
    /// Rates of the ports of NICs, between leaves and spines, between spines and cores, and of GPUs to their scale-up switch.
    pub rates: [Rate; 4],
    /// Capacity down over capacity up, of a leaf and, of several pods, of a spine.
    pub oversubscription: Vec<f64>,
    /// Delays of the links of scale-up switches, and of all others.
    pub delays: [Span; 2],
}

impl AiPod {
    /// Leaves of a unit in a plane.
    const fn leaves(&self) -> u32 {
        if self.rails { self.gpus * self.nics * self.homes } else { self.homes }
    }

    fn check(&self) -> Result<(), TopologyError> {
        let wrong = |parameter, value: u32, allowed| {
            Err(TopologyError::Parameter { topology: KIND, parameter, value: value.into(), allowed })
        };
        let counts = [("pods", self.pods), ("units", self.units), ("servers", self.servers)];
        for (parameter, value) in counts.into_iter().chain([("gpus", self.gpus), ("nics", self.nics)]) {
            count(KIND, parameter, value)?;
        }
        for (parameter, value) in [("planes", self.planes), ("homes", self.homes)] {
            if !(1..=2).contains(&value) {
                return wrong(parameter, value, "1 or 2");
            }
        }
        if self.nics * self.planes * self.homes >= MAX_HOST_PORTS as u32 {
            let allowed = "so few that nics x planes x homes is at most 15: a GPU has at most 16 ports, one of them to its scale-up switch";
            return wrong("nics", self.nics, allowed);
        }
        let ratios = self.oversubscription.len() as u32;
        match (ratios, self.pods) {
            (1, _) | (2, 2..) => Ok(()),
            (2, _) => wrong(
                "pods",
                self.pods,
                "2 or more, or one number in oversubscription: spines of one pod have no cores above them",
            ),
            _ => wrong(
                "oversubscription",
                ratios,
                "a list of one number, for leaves, or of two, for leaves and spines",
            ),
        }
    }

    /// Spines of a pod in a plane, and cores for each of them.
    fn above(&self) -> Result<[u32; 2], TopologyError> {
        let [rate, spine_rate, core_rate, _] = self.rates;
        let at_leaf = self.servers * if self.rails { 1 } else { self.gpus * self.nics };
        let (of, parameter) = ("a leaf", "oversubscription");
        let leaf = Uplinks {
            topology: KIND,
            parameter,
            place: Some(0),
            of,
            ratio: self.oversubscription[0],
            down: (at_leaf, rate),
            up: spine_rate,
        };
        let spines = leaf.number()?;
        if self.pods == 1 {
            return Ok([spines, 0]);
        }
        let (down, place) = ((self.units.saturating_mul(self.leaves()), spine_rate), Some(1));
        let ratio = self.oversubscription.get(1).copied().unwrap_or(1.0);
        let cores = Uplinks { place, of: "a spine", ratio, down, up: core_rate, ..leaf }.number()?;
        Ok([spines, cores])
    }
}

/// Hosts are GPUs: `gpu<s>.<j>`, server by server, servers counted over all units of all pods. Server s has the scale-up switch `scaleup<s>`. Unit u,
/// counted over all pods, has in plane p the leaves `leaf<p>.<u>.<i>`; pod q the spines `spine<p>.<q>.<m>`, as many as a leaf has links up,
/// each linked once to every leaf of its pod and plane. Spines m of all pods of a plane are linked once to each of the cores `core<p>.<m>.<c>`.
///
/// Ports of a GPU: NIC by NIC, plane by plane, its leaves; the last one leads to its scale-up switch. With rails NIC n of GPU j is at the
/// leaves from (j · nics + n) · homes on, else at all leaves of its unit. Ports of a leaf: its GPUs, then the spines; of a spine: the
/// leaves, then the cores.
///
/// # Errors
/// Counts must be from 1 to 1024, planes and homes 1 or 2, the ports of a GPU at most 16, and oversubscriptions must give whole numbers
/// of links up.
pub fn ai_pod(of: &AiPod) -> Result<Network, TopologyError> {
    of.check()?;
    let ([rate, spine_rate, core_rate, scale_up_rate], [scale_up_delay, delay]) = (of.rates, of.delays);
    let ([spines, cores], leaves) = (of.above()?, of.leaves());
    let all_units = u64::from(of.pods) * u64::from(of.units);
    let in_units = all_units
        * (u64::from(of.servers) * u64::from(of.gpus + 1) + u64::from(of.planes) * u64::from(leaves));
    let above = u64::from(of.planes) * u64::from(spines) * (u64::from(of.pods) + u64::from(cores));
    let nodes = in_units.saturating_add(above);
    if nodes > MAX_NODES as u64 {
        return Err(TopologyError::TooManyNodes { nodes });
    }
    let units = all_units as u32;
    // Those of a unit are drawn together, or those of a pod if there are several.
    let group = |unit: u32| Some(if of.pods == 1 { unit } else { unit / of.units });
    let mut b = Builder::with_parallel_links();
    let mut gpus = Vec::new();
    for (s, j) in (0..units * of.servers).flat_map(|s| (0..of.gpus).map(move |j| (s, j))) {
        let node = b.host(format!("gpu{s}.{j}"));
        b.place(node, 0, group(s / of.servers), &[s, j]);
        gpus.push(node);
    }
    let mut scale_up = Vec::new();
    for s in 0..units * of.servers {
        let node = b.switch(format!("scaleup{s}"));
        b.place(node, 1, group(s / of.servers), &[s]);
        scale_up.push(node);
    }
    let mut leaf = Vec::new();
    for (p, u) in (0..of.planes).flat_map(|p| (0..units).map(move |u| (p, u))) {
        for i in 0..leaves {
            let node = b.switch(format!("leaf{p}.{u}.{i}"));
            b.place(node, 1, group(u), &[p, u, i]);
            leaf.push(node);
        }
    }
    for (index, &gpu) in (0..).zip(&gpus) {
        let (server, j) = (index / of.gpus, index % of.gpus);
        for (n, p) in (0..of.nics).flat_map(|n| (0..of.planes).map(move |p| (n, p))) {
            let first = if of.rails { (j * of.nics + n) * of.homes } else { 0 };
            let of_unit = (p * units + server / of.servers) * leaves;
            for home in first..first + of.homes {
                b.link(gpu, leaf[(of_unit + home) as usize], rate, delay);
            }
        }
        b.link(gpu, scale_up[server as usize], scale_up_rate, scale_up_delay);
    }
    for (p, leaves) in (0..).zip(leaf.chunks((units * leaves) as usize)) {
        let mut core = Vec::new();
        for (m, c) in (0..spines).flat_map(|m| (0..cores).map(move |c| (m, c))) {
            let node = b.switch(format!("core{p}.{m}.{c}"));
            b.place(node, 3, None, &[p, m, c]);
            core.push(node);
        }
        for (q, leaves) in (0..).zip(leaves.chunks(leaves.len() / of.pods as usize)) {
            let mut spine = Vec::new();
            for m in 0..spines {
                let node = b.switch(format!("spine{p}.{q}.{m}"));
                b.place(node, 2, (of.pods > 1).then_some(q), &[p, q, m]);
                spine.push(node);
            }
            for (&leaf, &spine) in leaves.iter().flat_map(|leaf| spine.iter().map(move |spine| (leaf, spine)))
            {
                b.link(leaf, spine, spine_rate, delay);
            }
            for (core, &spine) in core.chunks(cores.max(1) as usize).zip(&spine) {
                for &core in core {
                    b.link(spine, core, core_rate, delay);
                }
            }
        }
    }
    b.structure(Structure::Servers { scale_up });
    b.build()
}
