//! How long P2 is paused on and off depends on the pattern of the bursts.
use backwater_control::flow_control::Form;
use backwater_units::Span;
use scene::tcd;

use crate::figure_2::{LONG, Rounds, SINGLE, START, near, scene, seen};

fn last_off(bursts: Rounds, form: Form) -> f64 {
    let mut spec = scene(SINGLE, START, bursts, tcd());
    spec.switch.pfc.as_mut().unwrap().form = form;
    seen(spec, Span::from_ms(4)).off_from_to("P2").1
}

const BACK_TO_BACK: Rounds = Rounds { hosts: 15, count: 16, interval: Span::ZERO };

#[test]
fn with_rounds_of_47_5_us_the_off_periods_end_at_1_61_ms_under_timed_and_2_06_ms_under_ideal_pauses() {
    near("timed", last_off(LONG, Form::authors()), 1.61, 1.0);
    near("ideal", last_off(LONG, Form::Ideal), 2.06, 1.0);
}

#[test]
fn with_16_bursts_back_to_back_they_end_at_2_06_ms_under_both() {
    near("timed", last_off(BACK_TO_BACK, Form::authors()), 2.06, 1.0);
    near("ideal", last_off(BACK_TO_BACK, Form::Ideal), 2.06, 1.0);
}
