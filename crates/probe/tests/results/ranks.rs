//! Tables of rank programs hold what their records say, with the names of entries, roles and series.
use crate::common::{names, numbers, plan, texts};
use crate::tables::write;
use backwater_fabric::record::{RankRecord, TimingRecord};
use backwater_probe::{Sink, Table};
use backwater_units::{Bytes, Span, Time};

fn timing(rank: u32, series: u16) -> TimingRecord {
    TimingRecord { time: Time::from_ps(900), start: Time::from_ps(400), rank, node: 1, series, label: 6 }
}

fn rank(rank: u32, finish: Option<Time>) -> RankRecord {
    RankRecord {
        rank,
        node: 0,
        group: 1,
        number: rank,
        role: rank as u16,
        finish,
        sent_messages: 3,
        sent_bytes: Bytes::new(4096),
        received_messages: 4,
        received_bytes: Bytes::new(8192),
        waited: Span::from_ns(7),
        unexpected: 0,
    }
}

#[test]
fn a_timing_is_from_the_setting_of_a_stopwatch_to_its_reading() {
    let dir = tempfile::tempdir().unwrap();
    let table = write(dir.path(), &[timing(1, 0)]);
    assert_eq!(
        ["start_ps", "end_ps", "elapsed_ps"].map(|column| numbers(&table, column)[0]),
        [Some(400), Some(900), Some(500)]
    );
    let named = ["node", "traffic", "role", "series"].map(|column| texts(&table, column).remove(0));
    assert_eq!(named, ["R", "incast", "sender", "ring"]);
}

#[test]
fn a_rank_whose_program_has_not_ended_has_no_time_of_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let table = write(dir.path(), &[rank(0, None), rank(1, Some(Time::from_ps(5)))]);
    assert_eq!(numbers(&table, "finished_ps"), [None, Some(5)]);
    assert_eq!(texts(&table, "role"), ["root", "sender"]);
    assert_eq!(numbers(&table, "received_bytes"), [Some(8192); 2]);
    assert_eq!(numbers(&table, "waited_ps"), [Some(7000); 2]);
}

#[test]
fn a_timing_of_an_unknown_rank_or_series_is_an_error_that_names_it() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |bad: TimingRecord| {
        let budget = Bytes::from_mb(1);
        let mut sink = Sink::create(dir.path(), names(), &plan(TimingRecord::ID, budget)).unwrap();
        sink.append(&[bad]).and_then(|()| sink.finish()).unwrap_err().to_string()
    };
    assert!(refused(timing(2, 0)).contains("rank 2, but only ranks 0..2"));
    assert!(refused(timing(0, 1)).contains("series 1 of rank programs, but only 0..1"));
}
