//! What a sink leaves behind when the disk, the folder or a record is bad.
use super::*;
use crate::Demand;
use backwater_fabric::record::{MarkRecord, RateRecord};
use backwater_units::{Bytes, Rate, Time};
use std::io::Write;

fn names() -> Names {
    let nodes = ["S", "T"].map(str::to_owned).to_vec();
    Names::new(nodes, &[vec![1], vec![0]], vec!["web".to_owned()], vec![0]).unwrap()
}

#[test]
fn several_links_to_one_neighbour_have_numbered_labels() {
    let nodes = ["S", "T", "U"].map(str::to_owned).to_vec();
    let names = Names::new(nodes, &[vec![1, 2, 1], vec![0, 0], vec![0]], Vec::new(), Vec::new()).unwrap();
    let labels =
        |node: u32, count: u16| (0..count).map(|port| names.port(node, port).unwrap()).collect::<Vec<_>>();
    assert_eq!(labels(0, 3), ["S->T:0", "S->U", "S->T:1"]);
    assert_eq!(labels(1, 2), ["T->S:0", "T->S:1"]);
    assert_eq!(labels(2, 1), ["U->S"]);
}

#[test]
fn the_drain_of_a_slow_host_is_named_after_the_ports_of_the_host() {
    let nodes = ["a", "s", "b"].map(str::to_owned).to_vec();
    let names = Names::new(nodes, &[vec![1], vec![0, 2], vec![1]], Vec::new(), Vec::new()).unwrap();
    let names = names.with_drains(&[2]).unwrap();
    assert_eq!((names.port(2, 0).unwrap(), names.port(2, 1).unwrap()), ("b->s", "b drain"));
    assert_eq!((names.port(0, 0).unwrap(), names.port(1, 1).unwrap()), ("a->s", "s->b"));
    assert!(names.port(0, 1).is_err() && names.with_drains(&[3]).is_err());
}

fn plan(tables: &[TableId]) -> Plan {
    let demands: Vec<_> = tables.iter().map(|&table| Demand { table, rows: None }).collect();
    Plan::new(&demands, Bytes::from_mb(50)).unwrap()
}

fn rates() -> Vec<RateRecord> {
    let rate = |i: u64| Rate::from_bps(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    (0..200_000).map(|i| RateRecord { time: Time::from_ps(i), flow: 0, rate: rate(i) }).collect()
}

/// A disk with room for `room` more bytes per file.
struct SmallDisk {
    file: File,
    room: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(ErrorKind::StorageFull.into());
        }
        let written = self.file.write(&bytes[..bytes.len().min(self.room)])?;
        self.room -= written;
        Ok(written)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn on_small_disk(dir: &Path, room: usize) -> Sink {
    let open =
        |path: &Path| -> io::Result<Part> { Ok(Box::new(SmallDisk { file: File::create(path)?, room })) };
    Sink::create_with(dir, names(), &plan(&[TableId::Marks, TableId::Rates]), &open).unwrap()
}

fn said(error: &SinkError, parts: &[&str]) {
    let error = error.to_string();
    for part in parts {
        assert!(error.contains(part), "{error:?} lacks {part:?}");
    }
}

#[test]
fn a_disk_that_fills_up_during_the_run_ends_it_with_path_reason_and_fix_and_leaves_no_file() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("results");
    let mut sink = on_small_disk(&dir, 100_000);
    let error = sink.append(&rates()).unwrap_err();
    said(&error, &["cannot write", "results/rates.parquet.part", "no storage space", "free some space"]);
    said(&sink.append(&rates()).unwrap_err(), &["given up after an earlier error"]);
    assert!(!sink.wants(TableId::Rates));
    drop(sink);
    assert!(!dir.exists());
}

#[test]
fn a_disk_that_fills_up_at_the_end_of_the_run_publishes_no_table() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = on_small_disk(dir.path(), 500);
    sink.append(&rates()[..1000]).unwrap();
    said(&sink.finish().unwrap_err(), &["marks.parquet.part", "no storage space"]);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
#[cfg(target_os = "linux")]
fn a_device_that_is_always_full_is_a_full_disk() {
    let dir = tempfile::tempdir().unwrap();
    let open =
        |_: &Path| -> io::Result<Part> { Ok(Box::new(File::options().write(true).open("/dev/full")?)) };
    let mut sink = Sink::create_with(dir.path(), names(), &plan(&[TableId::Rates]), &open).unwrap();
    let error = sink.append(&rates()).and_then(|()| sink.finish()).unwrap_err();
    said(&error, &["No space left on device", "free some space"]);
}

#[test]
fn a_folder_that_may_not_be_written_is_refused_before_the_run() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("results");
    let open = |_: &Path| -> io::Result<Part> { Err(ErrorKind::PermissionDenied.into()) };
    let error = Sink::create_with(&dir, names(), &plan(&[TableId::Rates]), &open).err().unwrap();
    said(
        &error,
        &["cannot create", "results/rates.parquet.part", "permission denied", "make the folder writable"],
    );
    assert!(!dir.exists());
}

#[test]
fn a_file_in_the_place_of_the_folder_is_named() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("results");
    fs::write(&path, "mine").unwrap();
    let error = Sink::create(&path, names(), &plan(&[TableId::Rates])).err().unwrap();
    said(&error, &["cannot make the results folder", "results", "a file is where a folder must be"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

#[test]
fn a_sink_that_is_dropped_unfinished_keeps_an_earlier_runs_results_and_leaves_nothing_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("rates.parquet"), "earlier").unwrap();
    fs::write(dir.path().join("run.json"), "{}").unwrap();
    let mut sink = Sink::create(dir.path(), names(), &plan(&[TableId::Rates])).unwrap();
    sink.append(&rates()).unwrap();
    drop(sink);
    let mut left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["rates.parquet", "run.json"]);
    assert_eq!(fs::read_to_string(dir.path().join("rates.parquet")).unwrap(), "earlier");
}

#[test]
fn an_interrupted_run_keeps_the_rows_it_had() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = Sink::create(dir.path(), names(), &plan(&[TableId::Rates])).unwrap();
    sink.append(&rates()[..10]).unwrap();
    assert_eq!(sink.finish().unwrap().tables[0].rows, 10);
    assert!(dir.path().join("rates.parquet").exists());
}

#[test]
fn a_record_of_an_unknown_port_or_with_an_unknown_code_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let (time, queue) = (Time::ZERO, Bytes::new(0));
    let good = MarkRecord { time, node: 1, port: 0, priority: 3, code: 3, flow: 0, seq: 0, queue };
    let refused = |bad: MarkRecord| {
        let mut sink = Sink::create(dir.path(), names(), &plan(&[TableId::Marks])).unwrap();
        sink.append(&[good, bad]).and_then(|()| sink.finish()).unwrap_err()
    };
    said(&refused(MarkRecord { port: 7, ..good }), &["marks: ", "port 7 of node 1 (T), which has 1 ports"]);
    said(&refused(MarkRecord { node: 9, ..good }), &["node 9, but only nodes 0..2"]);
    said(&refused(MarkRecord { code: 4, ..good }), &["code = 4"]);
    said(&refused(MarkRecord { flow: 5, ..good }), &["flow 5, but only flows 0..1"]);
}

#[test]
fn a_sink_can_be_handed_to_another_thread() {
    fn sendable<T: Send>(_: &T) {}
    let dir = tempfile::tempdir().unwrap();
    sendable(&Sink::create(dir.path(), names(), &plan(&[TableId::Rates])).unwrap());
}
