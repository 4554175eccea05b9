//! The budget bounds the files and never the run.
use crate::common::{flow, names, numbers, plan, rate, read};
use backwater_codes::Code;
use backwater_fabric::record::{MarkRecord, RateRecord};
use backwater_probe::{Demand, Plan, Sink, TableId};
use backwater_units::{Bytes, Rate, Time};
use proptest::prelude::*;

/// A rate sample that no encoder can shorten much.
fn noise(i: u64) -> RateRecord {
    let mixed = (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let rate = Rate::from_bps((mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9));
    RateRecord { time: Time::from_ps(mixed), flow: (mixed % 3) as u32, rate }
}

#[test]
fn a_table_over_its_share_keeps_its_first_rows_and_says_what_is_missing_since_when() {
    let dir = tempfile::tempdir().unwrap();
    let budget = Bytes::from_kb(200);
    let mut sink = Sink::create(dir.path(), names(), &plan(TableId::Rates, budget)).unwrap();
    let rows: Vec<_> = (0..200_000).map(noise).collect();
    rows.chunks(1000).for_each(|rows| sink.append(rows).unwrap());
    assert!(!sink.wants(TableId::Rates));
    let written = sink.finish().unwrap();
    let kept = written.tables[0].rows as usize;
    assert!(kept > 5_000 && kept < rows.len(), "{kept} rows kept");
    let times: Vec<_> = rows[..kept].iter().map(|r| Some(r.time.as_ps())).collect();
    assert_eq!(numbers(&read(&dir.path().join("rates.parquet")), "time_ps"), times);
    let [caveat] = &written.caveats[..] else { panic!("one caveat, got {:?}", written.caveats) };
    assert_eq!((caveat.code, caveat.place.as_str()), (Code::Budget, "rates"));
    let caveat = &caveat.message;
    for part in ["rates:", &format!("after {kept} rows"), &format!("the {} rows", rows.len() - kept)] {
        assert!(caveat.contains(part), "{caveat}");
    }
    assert!(caveat.contains(&format!("from {} on", rows[kept].time)), "{caveat}");
    assert!(caveat.contains("200KB") && caveat.contains("Raise probe.budget"), "{caveat}");
}

/// So a second run with what the caveat says has all rows, even if nothing of them compresses.
#[test]
fn the_caveat_says_what_all_rows_would_take() {
    let told = |budget| {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = Sink::create(dir.path(), names(), &plan(TableId::Rates, budget)).unwrap();
        (0..30_000).for_each(|i| sink.append(&[noise(i)]).unwrap());
        sink.finish().unwrap().caveats.pop().map(|caveat| caveat.message)
    };
    // A row of rates takes 22 B: a time and a rate of 8 B each, two numbers of 4 and 2 B; the file 32 KiB.
    let all = Bytes::new(30_000 * 22 + 32 * 1024);
    let first = told(Bytes::from_kb(200)).unwrap();
    assert!(first.contains(&format!("all its rows take {all} at most")), "{first}");
    assert_eq!(told(all), None);
}

#[test]
fn one_table_over_its_share_takes_nothing_from_the_others() {
    let dir = tempfile::tempdir().unwrap();
    let demands =
        [Demand { table: TableId::Rates, rows: None }, Demand { table: TableId::Flows, rows: Some(500) }];
    let mut sink =
        Sink::create(dir.path(), names(), &Plan::new(&demands, Bytes::from_kb(400)).unwrap()).unwrap();
    (0..300_000).for_each(|i| sink.append(&[noise(i)]).unwrap());
    sink.append(&vec![flow(); 500]).unwrap();
    let written = sink.finish().unwrap();
    assert_eq!(written.tables[0].rows, 500);
    assert!(written.caveats.len() == 1 && written.caveats[0].place == "rates");
}

#[test]
fn a_table_within_its_share_has_no_caveat() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = Sink::create(dir.path(), names(), &plan(TableId::Rates, Bytes::from_mb(2))).unwrap();
    (0..100_000).for_each(|i| sink.append(&[rate(i)]).unwrap());
    let written = sink.finish().unwrap();
    assert_eq!((written.tables[0].rows, written.caveats.len()), (100_000, 0));
}

#[test]
fn even_random_rows_fit_the_estimate_made_before_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let rows = 150_000;
    let plan = Plan::new(&[Demand { table: TableId::Marks, rows: Some(rows) }], Bytes::from_mb(100)).unwrap();
    let mut sink = Sink::create(dir.path(), names(), &plan).unwrap();
    for i in 0..rows {
        let noise = noise(i);
        let queue = Bytes::new(noise.rate.as_bps().rotate_left(7));
        let (port, code) = ((i % 2) as u16, 2 + (i % 2) as u8);
        let (time, seq) = (noise.time, queue.get() as u32);
        let mark = MarkRecord { time, node: 2, port, priority: 3, code, flow: noise.flow, seq, queue };
        sink.append(&[mark]).unwrap();
    }
    let written = sink.finish().unwrap();
    assert_eq!((written.tables[0].rows, written.caveats.len()), (rows, 0));
    assert!(written.tables[0].bytes <= plan.estimate().get());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn no_file_is_larger_than_its_share(budget in 33_000u64..3_000_000, rows in 1u64..200_000) {
        let dir = tempfile::tempdir().unwrap();
        let mut sink = Sink::create(dir.path(), names(), &plan(TableId::Rates, Bytes::new(budget))).unwrap();
        (0..rows).for_each(|i| sink.append(&[noise(i)]).unwrap());
        let written = sink.finish().unwrap();
        prop_assert!(written.tables[0].bytes <= budget, "{} > {budget}", written.tables[0].bytes);
    }
}
