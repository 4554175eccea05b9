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
use crate::table::{Cell, Table, TableBuilder};
use crate::{Network, RouteError, Routing, Structure};

/// One way to the next switch, for the switches of one network.
enum Steps {
    Grid { sizes: Vec<u32>, wraps: bool },
    Dragonfly { gateways: Vec<Vec<(u32, Vec<u16>)>>, groups: u32 },
}

/// The table of all `switches`, which are its rows. They are the last nodes, in the order of their coordinates, and so are the hosts at
/// them, as many at each.
pub(crate) fn table(net: &Network, routing: Routing, switches: &[u32]) -> Result<Table, RouteError> {
    let steps = Steps::new(net, routing)?;
    let mut table = TableBuilder::new(net.hosts().len() as u32);
    for &switch in switches {
        let mut row = Row {
            net,
            switch,
            first: switches[0],
            by_peer: ByPeer::new(net, switch),
            each: (net.hosts().len() / switches.len()) as u32,
            runs: Vec::new(),
            table: &mut table,
        };
        match &steps {
            Steps::Grid { sizes, wraps } => row.grid(sizes, *wraps, &mut net.place(switch).at.clone(), 0)?,
            Steps::Dragonfly { gateways, groups } => row.dragonfly(gateways, *groups)?,
        }
        let runs = row.runs;
        table.runs(&runs);
    }
    Ok(table.build())
}

/// The row of a switch while it is made: what leads to the hosts of one switch after the other.
struct Row<'a> {
    net: &'a Network,
    switch: u32,
    /// The first of all switches.
    first: u32,
    by_peer: ByPeer,
    /// Hosts at each switch.
    each: u32,
    runs: Vec<(Cell, u32)>,
    table: &'a mut TableBuilder,
}

impl Row<'_> {
    /// So many switches more are reached by these ports, on a lane.
    fn by(&mut self, ports: &[u16], lane: u8, switches: u32) -> Result<(), RouteError> {
        let cell = self.table.cell_on(ports, lane)?;
        let before = self.runs.last().map_or(0, |(_, end)| *end);
        self.runs.push((cell, before + switches * self.each));
        Ok(())
    }

    /// The hosts at the switch itself come next.
    fn own(&mut self) {
        let before = self.runs.last().map_or(0, |(_, end)| *end);
        for host in before..before + self.each {
            let port = self.net.ports(self.net.hosts()[host as usize])[0].peer_port;
            self.runs.push((Cell::direct(port), host + 1));
        }
    }

    /// The switches whose coordinates before `axis` are those of this one.
    fn grid(&mut self, sizes: &[u32], wraps: bool, there: &mut [u32], axis: usize) -> Result<(), RouteError> {
        let Some(&size) = sizes.get(axis) else {
            self.own();
            return Ok(());
        };
        let stride: u32 = sizes[axis + 1..].iter().product();
        let here = self.net.place(self.switch).at[axis];
        for x in 0..size {
            if x == here {
                self.grid(sizes, wraps, there, axis + 1)?;
                continue;
            }
            there[axis] = x;
            let own = &self.net.place(self.switch).at;
            let (peer, lane) = grid_step(self.switch - self.first, own, there, sizes, wraps);
            there[axis] = here;
            let ports: Vec<u16> = self.by_peer.to(self.first + peer).collect();
            self.by(&ports, lane, stride)?;
        }
        Ok(())
    }

    /// Group after group; in the own one, switch after switch.
    fn dragonfly(&mut self, gateways: &[Vec<(u32, Vec<u16>)>], groups: u32) -> Result<(), RouteError> {
        let size = (self.net.nodes().len() as u32 - self.first) / groups;
        let own = self.net.place(self.switch).at[0];
        for group in 0..groups {
            if group != own {
                let gateways = &gateways[(own * groups + group) as usize];
                let mut ports = match gateways.iter().find(|(gateway, _)| *gateway == self.switch) {
                    Some((_, links)) => links.clone(),
                    None => gateways.iter().flat_map(|(gateway, _)| self.by_peer.to(*gateway)).collect(),
                };
                ports.sort_unstable();
                self.by(&ports, 0, size)?;
                continue;
            }
            for switch in self.first + own * size..self.first + (own + 1) * size {
                if switch == self.switch {
                    self.own();
                } else {
                    let ports: Vec<u16> = self.by_peer.to(switch).collect();
                    self.by(&ports, 1, 1)?;
                }
            }
        }
        Ok(())
    }
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
        match (routing, net.structure()) {
            (Routing::DimensionOrder, Structure::Grid { sizes, wraps }) => {
                Ok(Self::Grid { sizes: sizes.clone(), wraps: *wraps })
            }
            (Routing::Minimal | Routing::NonMinimal, Structure::Dragonfly) => Ok(Self::dragonfly(net)),
            (routing, _) => {
                let grid = routing == Routing::DimensionOrder;
                let wanted = if grid { "kind torus or mesh" } else { "kind dragonfly" };
                Err(RouteError::Structure { routing: routing.by_place().unwrap_or_default(), wanted })
            }
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
