//! A switch's forwarding table, laid out for the packet path.
pub(crate) mod around;
pub(crate) mod detour;
pub(crate) mod ecmp;
pub(crate) mod spread;

use std::io;
use std::sync::Arc;

use backwater_topology::{Cell, Near, Routes};
use borsh::{BorshDeserialize, BorshSerialize};

use crate::link::ports::Ports;
use crate::packet::Packet;
use crate::spec::Balancing;
use crate::switch::forwarding::around::Detours;
use crate::switch::forwarding::detour::Ways;
use crate::switch::forwarding::ecmp::{PathHash, by_entropy, salted};
use crate::switch::forwarding::spread::Spread;

/// The ports of the groups of equally short ways.
type Groups = Arc<[Box<[u16]>]>;

/// Next ports by destination host. Most packets find theirs in the largest list of the switch, which others may share, or by the one
/// cell of all other hosts; the check of a group's number tells who does not.
#[derive(Clone, Debug)]
pub(crate) struct Forwarding {
    /// The hosts of the list begin here.
    first: u32,
    otherwise: Cell,
    near: Arc<[Cell]>,
    /// Empty if the switch does not go by a flow's number.
    groups: Groups,
    salt: u32,
    /// [`crate::world::World::path_keys`].
    path_keys: Arc<[u32]>,
    all: Box<All>,
}

/// What holds for all packets, those that find no port in what is laid out, too.
#[derive(Clone, Debug)]
struct All {
    node: u32,
    /// Those with all links up.
    routes: Routes,
    /// What it goes by since other ways came.
    ways: Option<Ways>,
    groups: Groups,
    choice: Choice,
    /// While a link of the switch is down, or if packets go through third groups: nothing is laid out.
    aside: bool,
    /// What [`Forwarding::otherwise`] would be where it is [`Cell::BEYOND`], as frames may carry more in their destination.
    otherwise: Cell,
}

/// How one of several ways is chosen.
#[derive(Clone, Debug)]
enum Choice {
    /// By a flow's number.
    Number,
    /// By that and the entropy of a frame.
    Entropy,
    Spread(Spread),
    /// Through third groups of a dragonfly.
    Around(Detours),
}

impl Forwarding {
    pub(crate) fn new(
        node: u32,
        routes: &Routes,
        balancing: Balancing,
        salt: u32,
        path_keys: Arc<[u32]>,
        hashes: Arc<[PathHash]>,
    ) -> Self {
        let choice = match (balancing, routes.around()) {
            (Balancing::Around(rule), Some(groups)) => Choice::Around(Detours::new(rule, *groups, node)),
            (Balancing::Entropy, _) => Choice::Entropy,
            (Balancing::Ecmp | Balancing::Around(_), _) if hashes.is_empty() => Choice::Number,
            _ => Choice::Spread(Spread::new(balancing, salt, path_keys.clone(), hashes)),
        };
        let aside = matches!(choice, Choice::Around(_));
        let (routes, groups) = (routes.clone(), routes.groups().clone());
        let mut forwarding = Self {
            first: 0,
            otherwise: Cell::BEYOND,
            near: Arc::default(),
            groups: Arc::default(),
            salt,
            path_keys,
            all: Box::new(All { node, routes, ways: None, groups, choice, aside, otherwise: Cell::BEYOND }),
        };
        forwarding.lay_out();
        forwarding
    }

    /// From now on flows have these path keys and hashes: there are more flows.
    pub(crate) fn hash_by(&mut self, path_keys: &Arc<[u32]>, hashes: &Arc<[PathHash]>) {
        self.path_keys = path_keys.clone();
        if let Choice::Spread(spread) = &mut self.all.choice {
            spread.hash_by(path_keys, hashes);
        }
    }

    /// Whether it chooses by a flow's number alone.
    pub(crate) const fn goes_by_number(&self) -> bool {
        matches!(self.all.choice, Choice::Number) && self.all.ways.is_none()
    }

    /// Writes what has changed since the run began.
    pub(crate) fn save(&self, out: &mut Vec<u8>) -> io::Result<()> {
        let All { node: _, routes, ways, groups, choice, aside, otherwise: _ } = &*self.all;
        let others = (!Arc::ptr_eq(groups, routes.groups())).then_some(&**groups);
        (ways, others, aside).serialize(out)?;
        match choice {
            Choice::Number | Choice::Entropy => Ok(()),
            Choice::Spread(spread) => spread.save(out),
            Choice::Around(detours) => detours.save(out),
        }
    }

    /// Takes what [`Self::save`] has written of the same switch.
    pub(crate) fn load(&mut self, from: &mut &[u8]) -> io::Result<()> {
        let all = &mut *self.all;
        let others: Option<Vec<Box<[u16]>>>;
        (all.ways, others, all.aside) = BorshDeserialize::deserialize(from)?;
        if let Some(groups) = others {
            all.groups = groups.into();
        }
        match &mut all.choice {
            Choice::Number | Choice::Entropy => {}
            Choice::Spread(spread) => spread.load(from)?,
            Choice::Around(detours) => detours.load(from)?,
        }
        self.lay_out();
        Ok(())
    }

    /// Lays out what the packet path looks at.
    fn lay_out(&mut self) {
        let all = &*self.all;
        let nothing = Near { first: 0, cells: Arc::default(), otherwise: Cell::BEYOND };
        let near = match &all.ways {
            _ if all.aside => nothing,
            Some(ways) => Near { cells: ways.cells().into(), ..nothing },
            None => all.routes.near(all.node),
        };
        let packed = matches!(all.choice, Choice::Entropy);
        (self.first, self.near) = (near.first, near.cells);
        self.otherwise = if packed { Cell::BEYOND } else { near.otherwise };
        self.groups = match all.choice {
            Choice::Number if !all.aside => all.groups.clone(),
            _ => Groups::default(),
        };
        self.all.otherwise = near.otherwise;
    }

    /// What is laid out for a host.
    #[inline]
    fn cell(&self, host: u32) -> Cell {
        *self.near.get(host.wrapping_sub(self.first) as usize).unwrap_or(&self.otherwise)
    }

    /// The egress port of a packet at a switch that goes by a flow's number; `None` if it does not and has a choice, or if what is laid
    /// out does not tell.
    #[inline]
    pub(crate) fn port_if_by_flow(&self, packet: &Packet) -> Option<u16> {
        let cell = self.cell(packet.dst);
        if let Some(port) = cell.port() {
            return Some(port);
        }
        let group = self.groups.get(cell.group())?;
        let key = self.path_keys.get(packet.flow as usize).copied().unwrap_or(packet.flow);
        Some(group[salted(group.len(), key, !packet.is_data(), self.salt)])
    }

    /// That of a switch that goes by a flow's number or another hash of it: the same whenever it is asked for.
    pub(crate) fn port_by_flow(&self, packet: &Packet) -> u16 {
        self.port_if_by_flow(packet).unwrap_or_else(|| self.port_beyond(packet))
    }

    /// That of a switch that goes by a flow's number, as those that batch do.
    #[inline]
    pub(crate) fn port(&self, packet: &Packet) -> u16 {
        self.port_if_by_flow(packet).unwrap_or_else(|| self.port_beyond(packet))
    }

    /// The same where nothing is laid out for the packet.
    #[cold]
    #[inline(never)]
    fn port_beyond(&self, packet: &Packet) -> u16 {
        let cell = self.all.cell(packet.destination());
        cell.port().unwrap_or_else(|| {
            let group = &self.all.groups[cell.group()];
            match &self.all.choice {
                Choice::Spread(spread) => spread.port_by_hash(group, packet),
                Choice::Number | Choice::Entropy | Choice::Around(_) => self.by_flow(group, packet),
            }
        })
    }

    /// The same of one that goes by entropies, too.
    #[inline]
    pub(crate) fn port_with_entropy(&self, packet: &Packet) -> u16 {
        let near = self.near.get(packet.destination().wrapping_sub(self.first) as usize);
        let cell = *near.unwrap_or(&self.all.otherwise);
        match (cell.port(), self.all.groups.get(cell.group())) {
            (Some(port), _) => port,
            (None, Some(group)) => self.by_flow(group, packet),
            (None, None) => self.port_beyond(packet),
        }
    }

    /// Whether it goes by entropies, too.
    #[inline]
    pub(crate) const fn goes_by_entropy(&self) -> bool {
        matches!(self.all.choice, Choice::Entropy)
    }

    fn by_flow(&self, group: &[u16], packet: &Packet) -> u16 {
        let key = self.path_keys.get(packet.flow as usize).copied().unwrap_or(packet.flow);
        if packet.has_entropy() && self.goes_by_entropy() {
            return group[by_entropy(group.len(), key, packet, self.salt)];
        }
        group[salted(group.len(), key, !packet.is_data(), self.salt)]
    }

    /// That of a switch with these ports for which [`Forwarding::port_if_by_flow`] has none. To be asked once, when the packet comes.
    /// `None`: its tables stand aside.
    pub(crate) fn spread(&mut self, packet: &Packet, ports: &Ports) -> Option<u16> {
        if self.all.aside { None } else { self.way(packet, ports) }
    }

    /// The same by the whole table; `None`: there is no way.
    fn way(&mut self, packet: &Packet, ports: &Ports) -> Option<u16> {
        let laid_out = self.cell(packet.destination());
        let cell = if laid_out == Cell::BEYOND { self.all.cell(packet.destination()) } else { laid_out };
        if let Some(port) = cell.port() {
            return Some(port);
        }
        let All { groups, choice, .. } = &mut *self.all;
        let group = &*groups[cell.group()];
        if group.is_empty() {
            return None;
        }
        if let Choice::Spread(spread) = choice {
            return Some(spread.port(group, packet, ports));
        }
        Some(self.by_flow(&self.all.groups[cell.group()], packet))
    }

    /// Whether the tables stand aside.
    pub(crate) fn stands_aside(&self) -> bool {
        self.all.aside
    }
}

impl All {
    fn cell(&self, host: u32) -> Cell {
        self.ways
            .as_ref()
            .map_or_else(|| self.routes.cell(self.node, host), |ways| ways.cells()[host as usize])
    }
}
