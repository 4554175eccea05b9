//! Tables of throttled NICs hold what their records say.
use crate::common::{numbers, reals, texts, values};
use crate::tables::write;
use backwater_fabric::record::{ThrottleRecord, ThrottleStateRecord};
use backwater_units::{Span, Time};
use parquet::record::Field;

#[test]
fn the_mean_of_used_credits_is_told_in_credits() {
    let dir = tempfile::tempdir().unwrap();
    let record = ThrottleRecord {
        start: Time::ZERO,
        end: Time::from_ps(1000),
        node: 0,
        port: 0,
        used_end: 590,
        used_max: 700,
        used_mean_milli: 592_500,
        congested: Span::from_ps(250),
        held: Span::from_ps(40),
        sent_flits: 132,
        entries: 3,
    };
    let table = write(dir.path(), &[record]);
    let mean = reals(&table, "used_mean")[0].unwrap();
    assert!((mean - 592.5).abs() < 1e-12);
    assert_eq!(texts(&table, "node"), ["S"]);
    let times = ["congested_ps", "held_ps", "end_ps"].map(|column| numbers(&table, column)[0]);
    assert_eq!(times, [Some(250), Some(40), Some(1000)]);
    assert_eq!(numbers(&table, "sent_flits"), [Some(132)]);
}

#[test]
fn a_change_of_state_says_which_state_it_is_from_then_on() {
    let dir = tempfile::tempdir().unwrap();
    let change = |time, congested| ThrottleStateRecord {
        time: Time::from_ps(time),
        node: 1,
        port: 0,
        lane: 0,
        congested,
        used: 593,
    };
    let table = write(dir.path(), &[change(5, true), change(9, false)]);
    assert_eq!(numbers(&table, "time_ps"), [Some(5), Some(9)]);
    let congested = values(&table, "congested", |field| match field {
        Field::Bool(value) => Some(*value),
        _ => None,
    });
    assert_eq!(congested, [true, false]);
}
