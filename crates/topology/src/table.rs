//! The forwarding table: one 16-bit group id per switch and host, and the distinct groups of ports behind the ids.
use std::collections::BTreeMap;

use crate::RouteError;

/// Id of the group without ports: "no way from here".
pub(crate) const NOWHERE: u16 = 0;

/// Rows are switches, columns host indices. Groups are shared by all switches, since a set of port numbers means
/// the same everywhere; a fat tree has about k of them, so they stay in the first-level cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    columns: usize,
    cells: Vec<u16>,
    /// Group g: `ports[start[g]..start[g + 1]]`.
    start: Vec<u32>,
    ports: Vec<u16>,
}

impl Table {
    pub(crate) fn group(&self, row: u32, column: u32) -> &[u16] {
        group_of(&self.start, &self.ports, self.cells[row as usize * self.columns + column as usize])
    }

    /// True if all switches but `except` have the same groups for both columns.
    pub(crate) fn same_column_except(&self, except: Option<u32>, one: u32, other: u32) -> bool {
        let rows = self.cells.chunks(self.columns).zip(0..);
        rows.filter(|&(_, row)| Some(row) != except)
            .all(|(cells, _)| cells[one as usize] == cells[other as usize])
    }

    /// Heap memory in bytes.
    pub(crate) fn bytes(&self) -> usize {
        2 * self.cells.len() + 4 * self.start.len() + 2 * self.ports.len()
    }
}

/// Group g: `ports[start[g]..start[g + 1]]`.
pub(crate) fn group_of<'a>(start: &[u32], ports: &'a [u16], group: u16) -> &'a [u16] {
    let group = usize::from(group);
    &ports[start[group] as usize..start[group + 1] as usize]
}

/// A table being filled; equal groups get equal ids.
#[derive(Debug)]
pub(crate) struct TableBuilder {
    table: Table,
    ids: BTreeMap<Vec<u16>, u16>,
}

impl TableBuilder {
    pub(crate) fn new(rows: usize, columns: usize) -> Self {
        let cells = vec![NOWHERE; rows * columns];
        let table = Table { columns, cells, start: vec![0, 0], ports: Vec::new() };
        Self { table, ids: BTreeMap::from([(Vec::new(), NOWHERE)]) }
    }

    /// The id of a group of ports.
    pub(crate) fn intern(&mut self, group: &[u16]) -> Result<u16, RouteError> {
        if let Some(&id) = self.ids.get(group) {
            return Ok(id);
        }
        let id = u16::try_from(self.ids.len()).map_err(|_| RouteError::TooManyGroups)?;
        self.table.ports.extend_from_slice(group);
        self.table.start.push(self.table.ports.len() as u32);
        self.ids.insert(group.to_vec(), id);
        Ok(id)
    }

    /// From switch `row`, `group` leads to the host `column`.
    pub(crate) fn set(&mut self, row: u32, column: u32, group: &[u16]) -> Result<(), RouteError> {
        self.set_all(row, &[column], group)
    }

    /// From switch `row`, `group` leads to all these hosts.
    pub(crate) fn set_all(&mut self, row: u32, columns: &[u32], group: &[u16]) -> Result<(), RouteError> {
        let id = self.intern(group)?;
        for &column in columns {
            self.table.cells[row as usize * self.table.columns + column as usize] = id;
        }
        Ok(())
    }

    /// From switch `row`, the group with this id leads to the host `column`; returns the id of the one that has led there.
    pub(crate) fn replace(&mut self, row: u32, column: u32, id: u16) -> u16 {
        let cell = &mut self.table.cells[row as usize * self.table.columns + column as usize];
        std::mem::replace(cell, id)
    }

    /// The groups, by their ids: where each starts, and the ports.
    pub(crate) fn groups(self) -> (Vec<u32>, Vec<u16>) {
        (self.table.start, self.table.ports)
    }

    pub(crate) fn build(self) -> Table {
        self.table
    }
}

impl From<&Table> for TableBuilder {
    fn from(table: &Table) -> Self {
        let groups = (0..=u16::MAX).zip(table.start.windows(2));
        let ids = groups.map(|(id, _)| (group_of(&table.start, &table.ports, id).to_vec(), id)).collect();
        Self { table: table.clone(), ids }
    }
}
