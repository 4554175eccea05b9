//! What is appended is what a Parquet reader finds.
use crate::common::{any_mark, flow, listing, names, numbers, plan, rate, read, reals, texts};
use backwater_fabric::record::{
    DeliveredRecord, FlowRecord, InjectedRecord, IsolationEvent, IsolationRecord, MarkRecord, PauseRecord,
    PortRecord, RateRecord, SampleRecord, StateRecord,
};
use backwater_probe::{Demand, Plan, Sink, Table, TableId, dictionary};
use backwater_units::{Bytes, Rate, Span, Time};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Row;
use proptest::prelude::*;
use std::path::Path;

const BUDGET: Bytes = Bytes::from_mb(100);

pub(crate) fn write<R: Table>(dir: &Path, rows: &[R]) -> Vec<Row> {
    let mut sink = Sink::create(dir, names(), &plan(R::ID, BUDGET)).unwrap();
    sink.append(rows).unwrap();
    let written = sink.finish().unwrap();
    assert_eq!(written.tables[0].rows, rows.len() as u64);
    assert_eq!(written.tables[0].bytes, dir.join(R::ID.file()).metadata().unwrap().len());
    read(&dir.join(R::ID.file()))
}

#[test]
fn a_finished_flow_has_fct_slowdown_and_goodput_and_an_unfinished_one_has_none() {
    let dir = tempfile::tempdir().unwrap();
    let unfinished = FlowRecord { finish: Time::MAX, ..flow() };
    let endless = FlowRecord { size: Bytes::MAX, ideal_fct: Span::ZERO, ..unfinished };
    let table = write(dir.path(), &[flow(), unfinished, endless]);
    assert_eq!(numbers(&table, "fct_ps"), [Some(5_000_000), None, None]);
    // 10 kB in 5 us are 16 Gbps.
    assert_eq!(numbers(&table, "goodput_bps"), [Some(16_000_000_000), None, None]);
    assert_eq!(numbers(&table, "size_bytes"), [Some(10_000), Some(10_000), None]);
    assert_eq!(numbers(&table, "ideal_fct_ps"), [Some(4_000_000), Some(4_000_000), None]);
    assert_eq!(numbers(&table, "acked_ps"), [None; 3]);
    assert_eq!(reals(&table, "slowdown"), [Some(1.25), None, None]);
    assert_eq!(texts(&table, "traffic"), ["incast"; 3]);
    assert_eq!((texts(&table, "src")[0].as_str(), texts(&table, "dst")[0].as_str()), ("S", "R"));
}

#[test]
fn a_port_row_names_its_link_and_splits_its_time_into_the_four_states() {
    let dir = tempfile::tempdir().unwrap();
    let port = PortRecord {
        node: 2,
        port: 1,
        peer: 1,
        priority: 3,
        rate: Rate::from_gbps(40),
        packets: 5,
        bytes: Bytes::new(5150),
        peak_queue: Bytes::new(4120),
        peak_ingress: Bytes::new(77),
        pauses: 1,
        pauses_sent: 2,
        paused: Span::from_us(5),
        ce_marks: 3,
        ue_marks: 4,
        dropped_packets: 0,
        dropped_bytes: Bytes::new(0),
        in_state: [10, 20, 30, 40].map(Span::from_ps),
    };
    let table = write(dir.path(), &[port]);
    assert_eq!(texts(&table, "port"), ["T->R"]);
    assert_eq!(texts(&table, "peer"), ["R"]);
    let times = ["non_congestion_ps", "congestion_ps", "undetermined_ps", "judging_ps"];
    assert_eq!(times.map(|column| numbers(&table, column)[0].unwrap()), [10, 20, 30, 40]);
    assert_eq!(numbers(&table, "paused_ps"), [Some(5_000_000)]);
}

#[test]
fn marks_and_states_are_written_as_words() {
    let dir = tempfile::tempdir().unwrap();
    let mark = MarkRecord {
        time: Time::from_ps(9),
        node: 2,
        port: 0,
        priority: 3,
        code: 2,
        flow: 0,
        seq: 8,
        queue: Bytes::new(1030),
    };
    let table = write(dir.path(), &[mark, MarkRecord { code: 3, flow: 2, ..mark }]);
    assert_eq!(texts(&table, "code"), ["UE", "CE"]);
    assert_eq!(texts(&table, "traffic"), ["web", "incast"]);
    assert_eq!(texts(&table, "port"), ["T->S", "T->S"]);

    let state = |state| StateRecord { time: Time::from_ps(9), node: 2, port: 0, priority: 3, state };
    let table = write(dir.path(), &[0, 1, 2, 3].map(state));
    assert_eq!(texts(&table, "state"), ["non-congestion", "congestion", "undetermined", "judging"]);
}

#[test]
fn an_entry_of_a_key_without_a_source_has_none_and_its_root_is_named_if_it_is_known() {
    let dir = tempfile::tempdir().unwrap();
    let made = IsolationRecord {
        time: Time::from_ps(9),
        node: 2,
        port: 1,
        what: IsolationEvent::Allocated,
        ingress: Some(0),
        src: Some(0),
        dst: Some(1),
        origin: 1,
        root: Some((2, 1)),
        used: 1,
    };
    let refused = IsolationRecord {
        what: IsolationEvent::Refused,
        src: None,
        origin: 2,
        root: None,
        ingress: None,
        ..made
    };
    let told = IsolationRecord { what: IsolationEvent::Notified, origin: 3, ..made };
    let table = write(dir.path(), &[made, refused, told]);
    assert_eq!(texts(&table, "what"), ["allocated", "refused", "notified"]);
    assert_eq!(texts(&table, "origin"), ["local", "cim", "both"]);
    assert_eq!(texts(&table, "dst"), ["R"; 3]);
    assert_eq!(numbers(&table, "ingress_index"), [Some(0), None, Some(0)]);
    let nulls = |column| texts(&table, column).iter().filter(|text| text.is_empty()).count();
    assert_eq!((nulls("src"), nulls("root"), nulls("dst")), (1, 1, 0));
    assert_eq!(texts(&table, "root")[0], "T->R");
}

#[test]
fn what_a_host_got_is_named_by_entry_and_a_packet_of_unknown_making_has_no_time_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let got = DeliveredRecord {
        time: Time::from_ps(50_000_000),
        node: 1,
        group: 1,
        bytes: Bytes::new(100),
        wire_bytes: Bytes::new(4096),
        packets: 1,
        ce_packets: 1,
        cnps: 1,
    };
    let table = write(dir.path(), &[got]);
    assert_eq!((texts(&table, "traffic")[0].as_str(), texts(&table, "node")[0].as_str()), ("incast", "R"));
    assert_eq!(numbers(&table, "wire_bytes"), [Some(4096)]);
    let left = InjectedRecord { time: Time::from_ps(7), made: Time::from_ps(5), flow: 2, seq: 3 };
    let table = write(dir.path(), &[left, InjectedRecord { made: Time::MAX, flow: 0, ..left }]);
    assert_eq!(numbers(&table, "made_ps"), [Some(5), None]);
    assert_eq!(texts(&table, "traffic"), ["incast", "web"]);
}

#[test]
fn every_table_can_be_written_in_one_run_and_holds_its_documented_columns() {
    let dir = tempfile::tempdir().unwrap();
    let demands = TableId::ALL.map(|table| Demand { table, rows: None });
    let mut sink = Sink::create(dir.path(), names(), &Plan::new(&demands, BUDGET).unwrap()).unwrap();
    let (time, node, port, priority) = (Time::from_ps(1), 2, 1, 3);
    sink.append(&[flow()]).unwrap();
    sink.append(&[PauseRecord {
        time,
        node,
        port,
        priority,
        paused: true,
        expired: false,
        queue: Bytes::new(9),
    }])
    .unwrap();
    let (queue, sent) = (Bytes::new(1), Bytes::new(2));
    let sample = SampleRecord { time, node, port, priority, paused: false, state: 3, queue, sent };
    sink.append(&[sample; 4]).unwrap();
    sink.append(&[rate(1)]).unwrap();
    let written = sink.finish().unwrap();
    assert_eq!(written.tables.len(), TableId::ALL.len());
    for info in &written.tables {
        let file = std::fs::File::open(dir.path().join(&info.file)).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let metadata = reader.metadata().file_metadata();
        let stored = metadata.key_value_metadata().unwrap().iter().find(|one| one.key == "columns").unwrap();
        let stored: serde_json::Value = serde_json::from_str(stored.value.as_ref().unwrap()).unwrap();
        let columns = metadata.schema_descr().columns();
        let unit = |name: &str| stored[name]["unit"].as_str().unwrap().to_owned();
        let found: Vec<_> = columns.iter().map(|c| (c.name().to_owned(), unit(c.name()))).collect();
        let documented = dictionary();
        let documented: Vec<_> = documented
            .iter()
            .filter(|e| e.table == info.name)
            .map(|e| (e.column.to_owned(), e.unit.to_owned()))
            .collect();
        assert_eq!(found, documented, "{}", info.name);
    }
}

#[test]
fn a_table_nobody_selected_is_not_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = Sink::create(dir.path(), names(), &plan(TableId::Rates, BUDGET)).unwrap();
    assert!(sink.wants(TableId::Rates) && !sink.wants(TableId::Flows));
    sink.append(&[flow()]).unwrap();
    sink.finish().unwrap();
    assert_eq!(listing(dir.path()), ["rates.parquet"]);
}

#[test]
fn a_new_run_in_an_old_folder_leaves_no_table_of_the_old_run() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &[flow()]);
    std::fs::write(dir.path().join("run.json"), "{}").unwrap();
    std::fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    write(dir.path(), &[rate(1)]);
    assert_eq!(listing(dir.path()), ["notes.txt", "rates.parquet"]);
}

#[test]
fn the_same_records_give_the_same_bytes_however_they_are_sliced() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rows: Vec<RateRecord> = (0..100_000).map(rate).collect();
    write(a.path(), &rows);
    let mut sink = Sink::create(b.path(), names(), &plan(TableId::Rates, BUDGET)).unwrap();
    rows.chunks(777).for_each(|chunk| sink.append(chunk).unwrap());
    sink.finish().unwrap();
    let bytes = |dir: &Path| std::fs::read(dir.join("rates.parquet")).unwrap();
    assert!(bytes(a.path()) == bytes(b.path()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_row_that_goes_in_comes_out_unchanged_and_in_order(
        marks in prop::collection::vec(any_mark(), 0..40_000),
        slice in 1..5000usize,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = Sink::create(dir.path(), names(), &plan(TableId::Marks, BUDGET)).unwrap();
        marks.chunks(slice).for_each(|rows| sink.append(rows).unwrap());
        sink.finish().unwrap();
        let table = read(&dir.path().join("marks.parquet"));
        let times: Vec<_> = marks.iter().map(|m| Some(m.time.as_ps())).collect();
        let queues: Vec<_> = marks.iter().map(|m| Some(m.queue.get())).collect();
        let ports: Vec<_> = marks.iter().map(|m| ["T->S", "T->R"][usize::from(m.port)]).collect();
        let codes: Vec<_> = marks.iter().map(|m| ["UE", "CE"][usize::from(m.code) - 2]).collect();
        prop_assert_eq!(numbers(&table, "time_ps"), times);
        prop_assert_eq!(numbers(&table, "queue_bytes"), queues);
        prop_assert_eq!(texts(&table, "port"), ports);
        prop_assert_eq!(texts(&table, "code"), codes);
    }
}
