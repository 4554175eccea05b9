//! A small fabric's names, arbitrary records over it, and a reader of what was written.
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use backwater_fabric::record::{FlowRecord, MarkRecord, RateRecord};
use backwater_probe::{Demand, Names, Plan, TableId};
use backwater_units::{Bytes, Rate, Span, Time};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use proptest::prelude::*;
use std::fs::File;
use std::path::Path;

/// Two hosts S and R behind one switch T, three flows of two traffic entries, and two ranks of the second, in two roles.
pub(crate) fn names() -> Names {
    let nodes = ["S", "R", "T"].map(str::to_owned).to_vec();
    let peers = [vec![2], vec![2], vec![0, 1]];
    let names =
        Names::new(nodes, &peers, vec!["web".to_owned(), "incast".to_owned()], vec![0, 1, 1]).unwrap();
    let roles = ["root", "sender"].map(str::to_owned).to_vec();
    names.with_programs(roles, vec!["ring".to_owned()], vec![(1, 0), (1, 1)]).unwrap()
}

/// A plan for one table of unknown size.
pub(crate) fn plan(table: TableId, budget: Bytes) -> Plan {
    Plan::new(&[Demand { table, rows: None }], budget).unwrap()
}

/// A flow of 10 kB from S to R at 1 ms that takes 5 us where 4 us are ideal.
pub(crate) fn flow() -> FlowRecord {
    FlowRecord {
        flow: 1,
        group: 1,
        src: 0,
        dst: 1,
        priority: 3,
        size: Bytes::new(10_000),
        start: Time::from_ps(1_000_000_000),
        finish: Time::from_ps(1_005_000_000),
        acked: Time::MAX,
        packets: 10,
        received: Bytes::new(10_000),
        ce_packets: 4,
        ue_packets: 2,
        cnps_ce: 1,
        cnps_ue: 0,
        resent_packets: 0,
        dropped_packets: 0,
        duplicate_packets: 0,
        nacks: 0,
        timeouts: 0,
        failed: false,
        early_packets: 0,
        early_most: 0,
        reorder_wait: Span::ZERO,
        connection: None,
        behind: Span::ZERO,
        paced: Span::from_us(1),
        nic_held: Span::ZERO,
        nic_queue: Span::ZERO,
        ideal_fct: Span::from_us(4),
        ideal_wait: Span::ZERO,
        analytic_fct: Span::from_us(3),
    }
}

/// The rate of flow `i` modulo 3 at `i` us.
pub(crate) fn rate(i: u64) -> RateRecord {
    let time = Time::from_ps(i * 1_000_000);
    RateRecord { time, flow: (i % 3) as u32, rate: Rate::from_mbps(i) }
}

/// Any mark at switch T.
pub(crate) fn any_mark() -> impl Strategy<Value = MarkRecord> {
    (any::<u64>(), 0..2u16, any::<u8>(), 2..4u8, 0..3u32, any::<u32>(), any::<u64>()).prop_map(
        |(time, port, priority, code, flow, seq, queue)| MarkRecord {
            time: Time::from_ps(time),
            node: 2,
            port,
            priority,
            code,
            flow,
            seq,
            queue: Bytes::new(queue),
        },
    )
}

/// Every batch of a Parquet file.
pub(crate) fn read(path: &Path) -> Vec<RecordBatch> {
    let reader =
        ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap().build().unwrap();
    reader.collect::<Result<_, _>>().unwrap()
}

/// The values of a uint64 column; null is `None`.
pub(crate) fn numbers(batches: &[RecordBatch], column: &str) -> Vec<Option<u64>> {
    let arrays = batches.iter().map(|b| b.column_by_name(column).unwrap().as_primitive::<UInt64Type>());
    arrays.flat_map(|array| array.iter().collect::<Vec<_>>()).collect()
}

/// The values of a text column.
pub(crate) fn texts(batches: &[RecordBatch], column: &str) -> Vec<String> {
    let arrays = batches.iter().map(|b| b.column_by_name(column).unwrap().as_dictionary::<UInt32Type>());
    let text = |array: &arrow_array::DictionaryArray<UInt32Type>| -> Vec<String> {
        let values = array.values().as_string::<i32>();
        array.keys().values().iter().map(|&key| values.value(key as usize).to_owned()).collect()
    };
    arrays.flat_map(text).collect()
}

/// Names of what a folder holds, sorted.
pub(crate) fn listing(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}
