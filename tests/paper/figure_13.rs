//! Figure 13: with R0 a bottleneck too, P2 becomes a congestion root once the bursts are over.
use backwater_units::Span;
use scene::tcd;

use crate::figure_2::{F0, F2, LONG, MULTI, START, Seen, near, scene, seen};

const CONGESTION: u8 = 1;
const UNDETERMINED: u8 = 2;

fn multi(start: Span) -> Seen {
    seen(scene(MULTI, start, LONG, tcd()), Span::from_ms(8))
}

#[test]
fn p2_is_found_congested_within_0_8_ms_of_its_last_off_period_and_stays_so() {
    for start in [100, 150, 183, 250, 300, 400].map(Span::from_us) {
        let run = multi(start);
        let verdicts = run.verdicts("P2");
        let last = verdicts.last().unwrap();
        let (_, off) = run.off_from_to("P2");
        assert_eq!(last.1, CONGESTION, "F0 and F2 at {start}: {verdicts:?}");
        // the check saw 0.19 to 0.78 ms over start times and jitter
        let delay = last.0 - off;
        assert!((0.09..0.8).contains(&delay), "F0 and F2 at {start}: {delay} ms after the last OFF");
    }
}

#[test]
fn the_last_off_period_of_p2_ends_at_1_628_ms() {
    let (_, off) = multi(START).off_from_to("P2");
    near("last OFF", off, 1.628, 1.0);
}

#[test]
fn p1_stays_undetermined() {
    let verdicts = multi(START).verdicts("P1");
    assert_eq!(verdicts.last().unwrap().1, UNDETERMINED, "{verdicts:?}");
}

#[test]
fn some_14_800_packets_of_each_flow_through_p2_get_ce_by_8_ms() {
    let run = multi(START);
    near("CE on F0", run.marked(F0).0 as f64, 14_800.0, 5.0);
    near("CE on F2", run.marked(F2).0 as f64, 14_900.0, 5.0);
}
