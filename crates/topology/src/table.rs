//! The forwarding table. What a switch says of all hosts is a row: short lists of cells for stretches of hosts, and what leads to
//! the others. Switches that say the same of hosts in the same order share their lists, so that a fat tree has as many lists as
//! kinds of switches.
//!
//! ```text
//!   host        0 ……… 15 16 17 18 19 20 ……………… 1023
//!   edge1.0       far   [span: 4 cells]    far          far: all ports up, or by D-mod-k a list that all edge switches share
//! ```
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::RouteError;

/// A cell with this bit names the only port; without it, a group of ports.
const DIRECT: u16 = 1 << 15;
/// In such a cell: the packet is on lane 1 on the link behind the port.
const LANE: u16 = 1 << 14;
/// The bits of the port.
const PORT: u16 = LANE - 1;
/// The group without ports: "no way from here".
pub(crate) const NOWHERE: Cell = Cell(0);
/// Groups have lower numbers.
const MOST: usize = Cell::BEYOND.0 as usize;
/// A run of equal cells that is so long is a span of its own: that takes as much memory as the cells.
const LONG: usize = size_of::<Span>() / size_of::<Cell>();

/// What leads from a switch to a host: one port, or a group of equally near ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell(u16);

/// Port 0, port 1, …: slices of it are groups of one port.
static PORTS: [u16; crate::MAX_PORTS] = {
    let mut ports = [0; crate::MAX_PORTS];
    let mut number = 0;
    while number < ports.len() {
        ports[number] = number as u16;
        number += 1;
    }
    ports
};

impl Cell {
    /// No cell of a table: who keeps a part of a row has it for what the row says elsewhere. No group has its number.
    pub const BEYOND: Self = Self(DIRECT - 1);

    /// That of an only port, on lane 0.
    pub const fn direct(port: u16) -> Self {
        Self(DIRECT | port)
    }

    /// That of a group, by its number in who keeps it.
    pub const fn of_group(group: u16) -> Self {
        Self(group)
    }

    /// The port, if there is only one.
    #[inline]
    pub const fn port(self) -> Option<u16> {
        if self.0 & DIRECT != 0 { Some(self.0 & PORT) } else { None }
    }

    /// The number of the group; no group has that of a cell with only one port.
    #[inline]
    pub const fn group(self) -> usize {
        self.0 as usize
    }
}

/// Cells for a stretch of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cells {
    /// The same for all.
    One(Cell),
    /// A list, by its number.
    List(u32),
}

/// A stretch of hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: u32,
    pub(crate) count: u32,
    pub(crate) cells: Cells,
}

/// What a switch says: spans in the order of hosts, none over another, and what leads to all other hosts. If that is a list, it is by
/// all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    first_span: u32,
    far: Cells,
}

/// Rows are switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    hosts: u32,
    rows: Vec<Row>,
    spans: Vec<Span>,
    lists: Vec<Arc<[Cell]>>,
    groups: Arc<[Box<[u16]>]>,
    /// By group: the lane of its packets.
    lanes: Vec<u8>,
    /// Whether some packets are on lane 1.
    changes: bool,
}

/// A part of a row, laid out for those who look up many hosts: the cells of the hosts from `first` on, and the one of all others, which
/// is [`Cell::BEYOND`] if they have several.
#[derive(Clone, Debug)]
pub struct Near {
    /// The first host.
    pub first: u32,
    /// Its cell, and those of the hosts after it.
    pub cells: Arc<[Cell]>,
    /// That of the others.
    pub otherwise: Cell,
}

impl Table {
    fn spans(&self, row: u32) -> &[Span] {
        let end = self.rows.get(row as usize + 1).map_or(self.spans.len(), |next| next.first_span as usize);
        &self.spans[self.rows[row as usize].first_span as usize..end]
    }

    pub(crate) fn cell(&self, row: u32, host: u32) -> Cell {
        let spans = self.spans(row);
        let after = spans.partition_point(|span| span.first <= host);
        let span =
            after.checked_sub(1).map(|index| spans[index]).filter(|span| host - span.first < span.count);
        let (cells, index) =
            span.map_or((self.rows[row as usize].far, host), |span| (span.cells, host - span.first));
        self.at(cells, index)
    }

    fn at(&self, cells: Cells, index: u32) -> Cell {
        match cells {
            Cells::One(cell) => cell,
            Cells::List(list) => self.lists[list as usize][index as usize],
        }
    }

    pub(crate) fn ports(&self, row: u32, host: u32) -> &[u16] {
        let cell = self.cell(row, host);
        match cell.port() {
            Some(port) => std::slice::from_ref(&PORTS[usize::from(port)]),
            None => &self.groups[cell.group()],
        }
    }

    pub(crate) fn lane(&self, row: u32, host: u32) -> u8 {
        let cell = self.cell(row, host);
        if cell.port().is_some() { u8::from(cell.0 & LANE != 0) } else { self.lanes[cell.group()] }
    }

    /// Whether some packets are on lane 1.
    pub(crate) const fn changes_lanes(&self) -> bool {
        self.changes
    }

    pub(crate) const fn hosts(&self) -> u32 {
        self.hosts
    }

    pub(crate) const fn groups(&self) -> &Arc<[Box<[u16]>]> {
        &self.groups
    }

    /// The longest list of a row.
    pub(crate) fn near(&self, row: u32) -> Near {
        let (spans, far) = (self.spans(row), self.rows[row as usize].far);
        let list = |span: &&Span| matches!(span.cells, Cells::List(_));
        let near = spans.iter().filter(list).max_by_key(|span| span.count);
        let (first, cells) = match near.map(|near| (near.first, near.cells)) {
            Some((first, Cells::List(list))) => (first, self.lists[list as usize].clone()),
            _ => (0, Arc::default()),
        };
        let otherwise = match far {
            Cells::One(cell) if spans.len() == usize::from(near.is_some()) => cell,
            _ => Cell::BEYOND,
        };
        Near { first, cells, otherwise }
    }

    /// The different cells of a row that some host has.
    fn cells_of(&self, row: u32) -> impl Iterator<Item = Cell> {
        let (spans, far) = (self.spans(row), self.rows[row as usize].far);
        let rest = spans.iter().map(|span| span.count).sum::<u32>() < self.hosts;
        let all = spans.iter().map(|span| span.cells).chain(rest.then_some(far));
        all.flat_map(|cells| match cells {
            Cells::One(cell) => [cell].to_vec(),
            Cells::List(list) => self.lists[list as usize].to_vec(),
        })
    }

    /// Whether a row has several ports for some host.
    pub(crate) fn has_choice(&self, row: u32) -> bool {
        self.cells_of(row).any(|cell| cell.port().is_none() && !self.groups[cell.group()].is_empty())
    }

    /// Whether a row has no port for some host.
    pub(crate) fn has_gaps(&self, row: u32) -> bool {
        self.cells_of(row).any(|cell| cell == NOWHERE)
    }

    /// Heap memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let lists: usize =
            self.lists.iter().map(|list| size_of_val(&**list) + size_of::<Arc<[Cell]>>()).sum();
        let groups: usize =
            self.groups.iter().map(|ports| size_of_val(&**ports) + size_of::<Box<[u16]>>()).sum();
        size_of_val(&*self.rows) + size_of_val(&*self.spans) + lists + groups + self.lanes.len()
    }
}

/// A table being filled, row after row; equal lists and equal groups get equal numbers.
pub(crate) struct TableBuilder {
    table: Table,
    groups: Vec<Box<[u16]>>,
    ids: BTreeMap<(Box<[u16]>, u8), Cell>,
    lists: BTreeMap<Arc<[Cell]>, u32>,
}

impl TableBuilder {
    pub(crate) fn new(hosts: u32) -> Self {
        let table = Table {
            hosts,
            rows: Vec::new(),
            spans: Vec::new(),
            lists: Vec::new(),
            groups: Arc::default(),
            lanes: vec![0],
            changes: false,
        };
        let ids = BTreeMap::from([((Box::default(), 0), NOWHERE)]);
        Self { table, groups: vec![Box::default()], ids, lists: BTreeMap::new() }
    }

    pub(crate) const fn hosts(&self) -> u32 {
        self.table.hosts
    }

    /// The cell of these ports, on lane 0.
    pub(crate) fn cell(&mut self, ports: &[u16]) -> Result<Cell, RouteError> {
        self.cell_on(ports, 0)
    }

    /// The cell of these ports for packets on a lane.
    pub(crate) fn cell_on(&mut self, ports: &[u16], lane: u8) -> Result<Cell, RouteError> {
        self.table.changes |= lane > 0;
        if let [port] = ports {
            return Ok(Cell(Cell::direct(*port).0 | if lane > 0 { LANE } else { 0 }));
        }
        let key = (Box::from(ports), lane);
        if let Some(&cell) = self.ids.get(&key) {
            return Ok(cell);
        }
        if self.groups.len() == MOST {
            return Err(RouteError::TooManyGroups);
        }
        let cell = Cell(self.groups.len() as u16);
        self.groups.push(key.0.clone());
        self.table.lanes.push(lane);
        self.ids.insert(key, cell);
        Ok(cell)
    }

    /// A cell of some.
    pub(crate) fn at(&self, cells: Cells, index: u32) -> Cell {
        self.table.at(cells, index)
    }

    /// Cells, of which many switches may have the same.
    pub(crate) fn list(&mut self, cells: &[Cell]) -> Cells {
        if let Some(&cell) = cells.first()
            && cells.iter().all(|other| *other == cell)
        {
            return Cells::One(cell);
        }
        if let Some(&known) = self.lists.get(cells) {
            return Cells::List(known);
        }
        let (list, number) = (Arc::<[Cell]>::from(cells), self.table.lists.len() as u32);
        self.table.lists.push(list.clone());
        self.lists.insert(list, number);
        Cells::List(number)
    }

    /// The next row, from what it is made of.
    pub(crate) fn row(&mut self, spans: impl IntoIterator<Item = Span>, far: Cells) {
        self.table.rows.push(Row { first_span: self.table.spans.len() as u32, far });
        self.table.spans.extend(spans);
    }

    /// The next row, from its runs: each has a cell, and ends before a host.
    pub(crate) fn runs(&mut self, runs: &[(Cell, u32)]) {
        let mut begin = 0;
        let alike = runs.chunk_by(|one, other| one.0 == other.0);
        let runs: Vec<(Cell, u32, u32)> = alike
            .map(|run| {
                let end = run[run.len() - 1].1;
                (run[0].0, std::mem::replace(&mut begin, end), end)
            })
            .collect();
        let mut hosts = BTreeMap::<Cell, u32>::new();
        for (cell, first, end) in &runs {
            *hosts.entry(*cell).or_default() += end - first;
        }
        let most = hosts.into_iter().max_by_key(|(cell, hosts)| (*hosts, std::cmp::Reverse(*cell)));
        let far = most.map_or(NOWHERE, |(cell, _)| cell);
        let (mut spans, mut together) = (Vec::new(), Vec::new());
        // What ends a stretch of short runs. Those that say what `far` says are in it only if others follow.
        let close = |together: &mut Vec<Cell>, end: u32, spans: &mut Vec<Span>, own: &mut Self| {
            let surplus = together.iter().rev().take_while(|cell| **cell == far).count();
            let cells = &together[..together.len() - surplus];
            if !cells.is_empty() {
                let (first, count) = (end - together.len() as u32, cells.len() as u32);
                spans.push(Span { first, count, cells: own.list(cells) });
            }
            together.clear();
        };
        for (cell, first, end) in runs {
            if (end - first) as usize >= LONG {
                close(&mut together, first, &mut spans, self);
                if cell != far {
                    spans.push(Span { first, count: end - first, cells: Cells::One(cell) });
                }
            } else if cell != far || !together.is_empty() {
                together.extend((first..end).map(|_| cell));
            }
        }
        close(&mut together, self.hosts(), &mut spans, self);
        self.row(spans, Cells::One(far));
    }

    /// The next row, from the cells of all hosts.
    pub(crate) fn cells(&mut self, cells: &[Cell]) {
        let mut end = 0;
        let runs: Vec<(Cell, u32)> = cells
            .chunk_by(|one, other| one == other)
            .map(|run| {
                end += run.len() as u32;
                (run[0], end)
            })
            .collect();
        self.runs(&runs);
    }

    pub(crate) fn build(mut self) -> Table {
        self.table.groups = self.groups.into();
        self.table
    }
}
