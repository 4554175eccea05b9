//! Figure 12: TCD with one congestion point. P2 and P1 are undetermined, then not congested; no victim gets CE.
use backwater_units::Span;
use scene::tcd;

use crate::figure_2::{F0, F1, F2, LONG, SINGLE, START, Seen, near, scene, seen};

const NON_CONGESTION: u8 = 0;
const UNDETERMINED: u8 = 2;
const JUDGING: u8 = 3;

fn single() -> Seen {
    seen(scene(SINGLE, START, LONG, tcd()), Span::from_ms(4))
}

#[test]
fn p2_is_undetermined_from_0_19_judged_from_1_71_and_not_congested_from_1_9_ms() {
    let verdicts = single().verdicts("P2");
    let states: Vec<u8> = verdicts.iter().map(|verdict| verdict.1).collect();
    assert_eq!(states, [UNDETERMINED, JUDGING, NON_CONGESTION], "{verdicts:?}");
    near("undetermined", verdicts[0].0, 0.19, 2.0);
    near("judged", verdicts[1].0, 1.708, 1.0);
    near("not congested", verdicts[2].0, 1.912, 2.0);
}

#[test]
fn p1_is_undetermined_and_then_not_congested_at_1_79_ms() {
    let verdicts = single().verdicts("P1");
    let (first, last) = (verdicts[0], verdicts[verdicts.len() - 1]);
    assert_eq!((first.1, last.1), (UNDETERMINED, NON_CONGESTION), "{verdicts:?}");
    near("not congested", last.0, 1.788, 2.0);
}

#[test]
fn the_queues_peak_at_743_and_151_kb() {
    let run = single();
    near("peak of P2, KB", run.peak_kb("P2"), 743.0, 1.0);
    near("peak of P1, KB", run.peak_kb("P1"), 151.0, 3.0);
}

#[test]
fn no_victim_packet_gets_ce_and_about_1000_of_each_get_ue() {
    let run = single();
    assert_eq!((run.marked(F0).0, run.marked(F2).0), (0, 0));
    near("UE on F0", run.marked(F0).1 as f64, 1040.0, 5.0);
    near("UE on F2", run.marked(F2).1 as f64, 980.0, 5.0);
}

#[test]
fn the_culprit_gets_its_ce_at_p3_only() {
    let run = single();
    let at = |port| run.ce_marks_at(port, F1);
    assert_eq!((at("P0"), at("P1"), at("P2")), (0, 0, 0));
    assert!(at("P3") > 1000);
}
