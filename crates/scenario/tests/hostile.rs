//! No text and no override, however broken, makes the reader panic.

use std::time::{Duration, Instant};

use crate::common::{SMALL, small, validate};
use proptest::prelude::*;

/// Pieces that occur in scenarios, to reach beyond the parser.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "[run]",
        "[topology]",
        "[switch.pfc]",
        "[[traffic]]",
        "[switch.detector]",
        "[switch.credits]",
        "[switch.vl-arbitration]",
        "[cc.ib-cc]",
        "profile",
        "\"infiniband\"",
        "flow-control",
        "\"credits\"",
        "\"weighted\"",
        "high",
        "vl",
        "weight",
        "\n",
        "\n",
        "\n",
        "seed",
        "until",
        "kind",
        "name",
        "rate",
        "from",
        "links",
        "by-rate",
        "=",
        "=",
        "=",
        "=",
        "1",
        "-1",
        "0.5",
        "nan",
        "true",
        "\"star\"",
        "\"edges\"",
        "\"poisson\"",
        "\"mpi-io\"",
        "\"supply\"",
        "\"endpoint\"",
        "[host]",
        "[host.pattern]",
        "[put.dack]",
        "drain",
        "put",
        "\"on-off\"",
        "\"aimd\"",
        "\"k-ary-n-tree\"",
        "\"rlft\"",
        "\"xgft\"",
        "\"hpc\"",
        "\"gpcnet\"",
        "\"program\"",
        "[host.throttle.pft]",
        "[put.dack.experimental]",
        "throttle",
        "enter",
        "unit",
        "mpi",
        "\"h[0-3/2]\"",
        "\"!h0\"",
        "random",
        "of",
        "connection",
        "messages",
        "\"pair\"",
        "\"4us\"",
        "\"0Gbps\"",
        "\"é\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        ".",
        "\"",
    ];
    prop::sample::select(words.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in prop_oneof!["\\PC{0,120}".boxed(), prop::collection::vec(piece(), 0..40).prop_map(|p| p.join(" ")).boxed()]) {
        if let Err(error) = validate(&text, &[]) {
            prop_assert!(!error.problems().is_empty() && !error.to_string().is_empty());
        }
    }

    #[test]
    fn any_damage_to_a_good_scenario_is_read_or_refused(at in 0..SMALL.len(), length in 0usize..20, new in "\\PC{0,6}") {
        let end = (at + length).min(SMALL.len());
        let text = format!("{}{new}{}", &SMALL[..at], &SMALL[end..]);
        if let Err(error) = validate(&text, &[]) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_override_is_applied_or_refused(
        path in prop_oneof!["[a-z.0-9]{0,12}".boxed(), prop::sample::select(vec!["traffic", "traffic.0", "traffic.size", "traffic.connection", "topology", "run.until", "switch.pfc.headroom", "switch.detector.by-rate", "switch.flow-control", "switch.credits.priorities", "switch.vl-arbitration.low", "cc.ib-cc.limit"]).prop_map(str::to_owned).boxed()],
        value in prop_oneof!["\\PC{0,12}".boxed(), prop::collection::vec(piece(), 0..6).prop_map(|p| p.concat()).boxed()],
    ) {
        if let Err(error) = small(&[&format!("{path}={value}")]) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

/// The better of two times that the unknown tables of a scenario take.
fn unknown_tables(count: usize) -> Duration {
    let text = (0..count).map(|at| format!("[x{at}]\na = 1\n")).collect::<Vec<_>>().concat();
    let once = || {
        let begin = Instant::now();
        assert!(validate(&text, &[]).is_err());
        begin.elapsed()
    };
    once().min(once())
}

#[test]
fn the_time_that_problems_take_grows_as_their_number() {
    // In proportion it is 15 times as long; with a look at all tables for each of them it was more than 50.
    let (few, many) = (unknown_tables(2_000), unknown_tables(30_000));
    assert!(many < few * 40, "{few:?}, {many:?}");
}
