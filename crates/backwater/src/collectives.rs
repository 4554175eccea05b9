//! When the iterations of collective operations began and ended, from the flows that they are made of.
use backwater_fabric::record::FlowRecord;
use backwater_probe::columns::CollectiveRecord;
use backwater_probe::{Demand, TableId};
use backwater_scenario::settings::{Settings, Workload};
use backwater_traffic::Flow;
use backwater_units::Time;
use std::collections::BTreeMap;

/// Flow belongs to no iteration.
const NONE: u32 = u32::MAX;

/// The iterations of all traffic entries of the kind.
#[derive(Default)]
pub(crate) struct Collectives {
    rows: Vec<CollectiveRecord>,
    /// Row of each flow; empty if there are no rows.
    row_of: Vec<u32>,
}

impl Collectives {
    /// Every pair of ranks has as many messages in each iteration, and flows of a pair stand in the order of the iterations.
    pub(crate) fn new(settings: &Settings, flows: &[Flow]) -> Self {
        let mut entries: BTreeMap<u16, (u32, u32)> = BTreeMap::new();
        let mut rows = Vec::new();
        for (group, entry) in (0..).zip(&settings.traffic) {
            let Workload::Collective(collective) = &entry.workload else { continue };
            let only = &settings.run.only;
            if !only.is_empty() && !only.contains(&entry.name) {
                continue;
            }
            entries.insert(group, (rows.len() as u32, collective.iterations));
            rows.extend((0..collective.iterations).map(|iteration| CollectiveRecord {
                group,
                iteration,
                start: Time::MAX,
                end: Some(Time::ZERO),
                messages: 0,
                bytes: 0,
            }));
        }
        if rows.is_empty() {
            return Self::default();
        }
        let mut of_pair: BTreeMap<(u16, u32, u32), (u32, u32)> = BTreeMap::new();
        for flow in flows.iter().filter(|flow| entries.contains_key(&flow.group)) {
            of_pair.entry((flow.group, flow.src, flow.dst)).or_default().0 += 1;
        }
        let row = |flow: &Flow| {
            let Some((first, iterations)) = entries.get(&flow.group) else { return NONE };
            let (all, seen) = of_pair.entry((flow.group, flow.src, flow.dst)).or_default();
            *seen += 1;
            first + (*seen - 1) / (*all / iterations).max(1)
        };
        Self { row_of: flows.iter().map(row).collect(), rows }
    }

    /// The table that they need, if there are any.
    pub(crate) fn demands(&self) -> Vec<Demand> {
        let rows = Some(self.rows.len() as u64);
        if self.rows.is_empty() { Vec::new() } else { vec![Demand { table: TableId::Collectives, rows }] }
    }

    /// What became of some flows.
    pub(crate) fn add(&mut self, records: &[FlowRecord]) {
        if self.rows.is_empty() {
            return;
        }
        for record in records {
            // What was injected belongs to none.
            let row = self.row_of.get(record.flow as usize).copied().unwrap_or(NONE);
            let Some(row) = self.rows.get_mut(row as usize) else { continue };
            row.start = row.start.min(record.start);
            row.end = row.end.filter(|_| record.finish < Time::MAX).map(|end| end.max(record.finish));
            row.messages += 1;
            row.bytes += record.size.get();
        }
    }

    /// One row per iteration.
    pub(crate) fn rows(&self) -> &[CollectiveRecord] {
        &self.rows
    }
}
