//! A small fabric's names, arbitrary records over it, and a reader of what was written.
use backwater_fabric::record::{FlowRecord, MarkRecord, RateRecord};
use backwater_probe::{Demand, Names, Plan, TableId};
use backwater_units::{Bytes, Rate, Span, Time};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
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
        src_port: 0,
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
        acks: 0,
        rts: 0,
        trimmed_packets: 0,
        failed: false,
        early_packets: 0,
        early_most: 0,
        reorder_wait: Span::ZERO,
        connection: None,
        behind: Span::ZERO,
        paced: Span::from_us(1),
        nic_held: Span::ZERO,
        nic_queue: Span::ZERO,
        recovery: Span::ZERO,
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

/// Every row of a Parquet file.
pub(crate) fn read(path: &Path) -> Vec<Row> {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    reader.get_row_iter(None).unwrap().collect::<Result<_, _>>().unwrap()
}

/// What `value` makes of each value of a column.
pub(crate) fn values<T>(rows: &[Row], column: &str, value: impl Fn(&Field) -> Option<T>) -> Vec<T> {
    let one = |row: &Row| {
        let (_, field) = row.get_column_iter().find(|(name, _)| *name == column).unwrap();
        value(field).unwrap_or_else(|| panic!("{column} has {field:?}"))
    };
    rows.iter().map(one).collect()
}

/// The values of a uint64 column; null is `None`.
pub(crate) fn numbers(rows: &[Row], column: &str) -> Vec<Option<u64>> {
    values(rows, column, |field| match field {
        Field::Null => Some(None),
        Field::ULong(value) => Some(Some(*value)),
        _ => None,
    })
}

/// The values of a float64 column; null is `None`.
pub(crate) fn reals(rows: &[Row], column: &str) -> Vec<Option<f64>> {
    values(rows, column, |field| match field {
        Field::Null => Some(None),
        Field::Double(value) => Some(Some(*value)),
        _ => None,
    })
}

/// The values of a text column; null is empty.
pub(crate) fn texts(rows: &[Row], column: &str) -> Vec<String> {
    values(rows, column, |field| match field {
        Field::Null => Some(String::new()),
        Field::Str(value) => Some(value.clone()),
        _ => None,
    })
}

/// Names of what a folder holds, sorted.
pub(crate) fn listing(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}
