//! Routes that go by coordinates, and the lanes on which packets take them: dimension order in grids, at most one global link
//! in dragonflies.
//!
//! On which lane a packet is depends on the switch that it leaves and on its destination alone, so that tables can say it:
//!
//! | network | lane 0 | lane 1 | why no circle is left |
//! |---|---|---|---|
//! | torus | will still go around the end of its row | will not, or not any more | the link around the end is never taken on lane 1, and on lane 0 the one after it is not (Dally and Seitz, IEEE Trans. Computers 1987, section 4); dimensions follow each other |
//! | dragonfly | has not come to its group | within the group of its destination | local 0, global 0, local 1: never back (Kim et al., ISCA 2008, section 4.1) |
//! | mesh | all | | rows have no way around; dimensions follow each other |
//!
//! The last link, to the host itself, is on lane 0.
use std::collections::BTreeMap;

use crate::table::TableBuilder;
use crate::{Network, RouteError, Routing, Structure};

/// The lane of each switch and host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LaneTable {
    columns: usize,
    cells: Vec<u8>,
}

impl LaneTable {
    pub(crate) fn lane(&self, row: u32, column: u32) -> u8 {
        self.cells[row as usize * self.columns + column as usize]
    }

    /// Heap memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.cells.len()
    }

    /// True if all switches but `except` have the same lanes for both columns.
    pub(crate) fn same_column_except(&self, except: Option<u32>, one: u32, other: u32) -> bool {
        let rows = self.cells.chunks(self.columns).zip(0..).filter(|&(_, row)| Some(row) != except);
        rows.into_iter().all(|(cells, _)| cells[one as usize] == cells[other as usize])
    }
}

/// One way to the next switch, for the switches of one network.
enum Steps {
    Grid { sizes: Vec<u32>, wraps: bool, first: u32 },
    Dragonfly { gateways: Vec<Vec<(u32, Vec<u16>)>>, groups: u32 },
}

/// Fills the table of all `switches`, which are its rows; the lanes, if packets change theirs.
pub(crate) fn fill(
    net: &Network,
    routing: Routing,
    switches: &[u32],
    table: &mut TableBuilder,
) -> Result<Option<LaneTable>, RouteError> {
    let steps = Steps::new(net, routing)?;
    let columns = net.hosts().len();
    let mut lanes = LaneTable { columns, cells: vec![0; switches.len() * columns] };
    let attachments = crate::routes::hosts_by_attachment(net);
    for (row, &switch) in (0..).zip(switches) {
        let by_peer = ByPeer::new(net, switch);
        // What is reached by the same ports is set together: finding a group of ports takes longer than a step.
        let mut together: BTreeMap<Way, Vec<u32>> = BTreeMap::new();
        for (&to, hosts) in &attachments {
            if switch == to {
                for &host in hosts {
                    table.set(row, host, &[net.ports(net.hosts()[host as usize])[0].peer_port])?;
                }
                continue;
            }
            let (way, lane) = steps.next(net, switch, to);
            together.entry(way).or_default().extend(hosts);
            for &host in hosts {
                lanes.cells[row as usize * columns + host as usize] = lane;
            }
        }
        for (way, hosts) in together {
            table.set_all(row, &hosts, &steps.ports(net, switch, way, &by_peer))?;
        }
    }
    Ok(lanes.cells.iter().any(|lane| *lane > 0).then_some(lanes))
}

/// The ports of a switch by the node behind them, sorted.
struct ByPeer(Vec<(u32, u16)>);

impl ByPeer {
    fn new(net: &Network, switch: u32) -> Self {
        let mut ports: Vec<(u32, u16)> = net.ports(switch).iter().map(|port| port.peer).zip(0..).collect();
        ports.sort_unstable();
        Self(ports)
    }

    fn to(&self, peer: u32) -> impl Iterator<Item = u16> + '_ {
        let from = self.0.partition_point(|(node, _)| *node < peer);
        self.0[from..].iter().take_while(move |(node, _)| *node == peer).map(|(_, port)| *port)
    }
}

impl Steps {
    fn new(net: &Network, routing: Routing) -> Result<Self, RouteError> {
        let count = net.nodes().len() as u32;
        match (routing, net.structure()) {
            (Routing::DimensionOrder, Structure::Grid { sizes, wraps }) => {
                let first = count - sizes.iter().product::<u32>();
                Ok(Self::Grid { sizes: sizes.clone(), wraps: *wraps, first })
            }
            (Routing::Minimal, Structure::Dragonfly) => Ok(Self::dragonfly(net)),
            (Routing::DimensionOrder, _) => {
                Err(RouteError::Structure { routing: "dimension-order", wanted: "kind torus or mesh" })
            }
            _ => Err(RouteError::Structure { routing: "minimal", wanted: "kind dragonfly" }),
        }
    }

    /// For each pair of groups the switches of the first that have links to the second, and these.
    fn dragonfly(net: &Network) -> Self {
        let count = net.nodes().len() as u32;
        let group = |node: u32| net.place(node).at[0];
        let switches = || (0..count).filter(|node| net.is_switch(*node));
        let groups = switches().map(group).max().unwrap_or(0) + 1;
        let mut gateways = vec![Vec::<(u32, Vec<u16>)>::new(); (groups * groups) as usize];
        for switch in switches() {
            for (number, port) in (0..).zip(net.ports(switch)) {
                if !net.is_switch(port.peer) || group(port.peer) == group(switch) {
                    continue;
                }
                let pair = &mut gateways[(group(switch) * groups + group(port.peer)) as usize];
                match pair.last_mut() {
                    Some((last, ports)) if *last == switch => ports.push(number),
                    _ => pair.push((switch, vec![number])),
                }
            }
        }
        Self::Dragonfly { gateways, groups }
    }

    /// How a switch sends to the hosts of another one, and the lane.
    fn next(&self, net: &Network, from: u32, to: u32) -> (Way, u8) {
        let (here, there) = (&net.place(from).at, &net.place(to).at);
        match self {
            Self::Grid { sizes, wraps, first } => {
                let (peer, lane) = grid_step(from - first, here, there, sizes, *wraps);
                (Way::To(first + peer), lane)
            }
            Self::Dragonfly { .. } if here[0] == there[0] => (Way::To(to), 1),
            Self::Dragonfly { .. } => (Way::Group(there[0]), 0),
        }
    }

    /// The ports of a switch that lead there, ascending.
    fn ports(&self, net: &Network, from: u32, way: Way, by_peer: &ByPeer) -> Vec<u16> {
        match (way, self) {
            (Way::Group(there), Self::Dragonfly { gateways, groups }) => {
                let gateways = &gateways[(net.place(from).at[0] * groups + there) as usize];
                let own = gateways.iter().find(|(gateway, _)| *gateway == from);
                let mut next = match own {
                    Some((_, links)) => links.clone(),
                    None => gateways.iter().flat_map(|(gateway, _)| by_peer.to(*gateway)).collect(),
                };
                next.sort_unstable();
                next
            }
            (Way::To(peer) | Way::Group(peer), _) => by_peer.to(peer).collect(),
        }
    }
}

/// Where a packet goes next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// To this node.
    To(u32),
    /// To this group, by any of the switches with links to it.
    Group(u32),
}

/// The number of the next switch after number `from`, and the lane. In the first dimension in which they differ, the shorter way
/// round; of two as short, up from even coordinates and down from odd ones.
fn grid_step(from: u32, here: &[u32], there: &[u32], sizes: &[u32], wraps: bool) -> (u32, u8) {
    let Some(axis) = (0..sizes.len()).find(|axis| here[*axis] != there[*axis]) else {
        return (from, 0);
    };
    let (x, d, size) = (here[axis], there[axis], sizes[axis]);
    let (above, ring) = ((d + size - x) % size, wraps && size > 2);
    let up = match ring {
        false => d > x,
        true if 2 * above == size => x.is_multiple_of(2),
        true => 2 * above < size,
    };
    let stride: u32 = sizes[axis + 1..].iter().product();
    let next = if up { (x + 1) % size } else { (x + size - 1) % size };
    let goes_around = up != (d > x);
    (from - x * stride + next * stride, u8::from(ring && !goes_around))
}
