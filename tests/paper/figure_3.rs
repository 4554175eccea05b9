//! Figure 3 (a), the baseline: plain ECN takes the victims of P2's ON-OFF for culprits.
use backwater_units::Span;
use scene::red;

use crate::figure_2::{F0, F1, F2, LONG, SINGLE, START, Seen, near, scene, seen};

fn baseline() -> Seen {
    seen(scene(SINGLE, START, LONG, red()), Span::from_ms(4))
}

#[test]
fn p2_is_paused_on_and_off_from_0_089_to_1_611_ms_and_its_queue_peaks_at_743_kb() {
    let run = baseline();
    near("peak of P2, KB", run.peak_kb("P2"), 743.0, 1.0);
    let (first, last) = run.off_from_to("P2");
    near("first OFF", first, 0.089, 2.0);
    near("last OFF", last, 1.611, 1.0);
}

#[test]
fn p2_is_empty_at_1_9_ms() {
    let run = baseline();
    near("P2 empty", run.empty_after("P2", 1.2), 1.91, 2.0);
}

#[test]
fn ecn_marks_some_900_packets_of_each_victim_with_ce() {
    let run = baseline();
    near("CE on F0", run.marked(F0).0 as f64, 888.0, 5.0);
    near("CE on F2", run.marked(F2).0 as f64, 958.0, 5.0);
    assert!(run.marked(F1).0 > 0 && run.marked(F0).1 == 0);
}
