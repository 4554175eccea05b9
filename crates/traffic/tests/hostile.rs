//! No text, however broken, makes a reader panic; and what a reader accepts keeps its promises.
use backwater_traffic::program::{FOREVER, Op};
use backwater_traffic::trace::Event;
use backwater_traffic::{Cdf, MAX_SIZE, read};
use backwater_units::Time;
use proptest::prelude::*;

/// A line of a program of three PEs, with another or right peer, or a part of a line.
fn line() -> impl Strategy<Value = String> {
    let who = prop_oneof![Just("*"), Just("0"), Just("1"), Just("2"), Just("3")];
    let call = prop_oneof![
        Just("put to +1 bytes 9"),
        Just("put-nbi to 2 bytes 1KiB times 3"),
        Just("get from 0 bytes 9"),
        Just("get-nbi from +2 bytes 0"),
        Just("quiet"),
        Just("compute 5ns"),
        Just("put to"),
    ];
    let one = (who, call).prop_map(|(who, call)| format!("pe {who} {call}"));
    prop_oneof![8 => one, 3 => Just("pe * barrier".to_owned()), 1 => Just("pe 1 barrier".to_owned())]
}

/// A line of the programs of three ranks.
fn call() -> impl Strategy<Value = String> {
    let who = prop_oneof![4 => Just("*"), 2 => Just("0-1"), 2 => Just("2"), 1 => Just("3")];
    let call = prop_oneof![
        Just("isend to +1 bytes 9 request 1"),
        Just("irecv from any bytes 9"),
        Just("sendrecv to +1 bytes 9 from -1"),
        Just("wait"),
        Just("wait request 1"),
        Just("put to 0 bytes 1MB"),
        Just("flush"),
        Just("barrier"),
        Just("compute 5ns"),
        Just("loop 3"),
        Just("loop forever"),
        Just("end"),
        Just("start a"),
        Just("stop a"),
        Just("get from"),
    ];
    (who, call).prop_map(|(who, call)| format!("rank {who} {call}"))
}

/// Executes the loops of a program alone, so many ops of it: how often it comes to an end of a loop, and whether stopwatches alternate.
fn turns(ops: &[Op], most: usize) -> usize {
    let (mut at, mut left, mut runs, mut ends) = (0, Vec::new(), false, 0);
    for _ in 0..most {
        let Some(op) = ops.get(at) else { break };
        at += 1;
        match *op {
            Op::Loop { times, .. } => left.push(times),
            Op::End { begin } => {
                ends += 1;
                let turns = left.last_mut().expect("a loop");
                *turns -= u32::from(*turns != FOREVER);
                if *turns == 0 {
                    left.pop();
                } else {
                    at = begin as usize;
                }
            }
            Op::Start { .. } => assert!(!std::mem::replace(&mut runs, true)),
            Op::Stop { .. } => assert!(std::mem::replace(&mut runs, false)),
            _ => {}
        }
    }
    ends
}

proptest! {
    #[test]
    fn any_rank_program_is_refused_with_a_line_or_can_be_executed(lines in prop::collection::vec(call(), 0..20)) {
        let text = format!("backwater-program 1\nranks 3\n{}\n", lines.join("\n"));
        match read::program(&text) {
            Ok(application) => for member in &application.members {
                let endless = member.ops.iter().any(|op| matches!(op, Op::Loop { times: FOREVER, .. }));
                let ends = turns(&member.ops, 100_000);
                prop_assert!(!endless || ends > 1000, "a loop without end goes on");
            }
            Err(error) => prop_assert!((3..3 + lines.len().max(1)).contains(&error.line), "{error}"),
        }
    }

    #[test]
    fn any_program_is_refused_with_a_line_or_comes_to_an_end(lines in prop::collection::vec(line(), 0..20)) {
        let text = format!("backwater-trace 1\nranks 3\n{}\n", lines.join("\n"));
        match read::trace(&text) {
            Ok(trace) => {
                // The reader has carried it out once, in a network without delays.
                let program = trace.expand().expect("checked by the reader");
                prop_assert_eq!(program.flows.len() as u64, trace.flows());
                let acked = |event: &&Event| matches!(event, Event::Acked(_));
                let quiet = program.steps.iter().flat_map(|step| &step.after).filter(acked).count();
                prop_assert!(quiet <= program.flows.len(), "a put is waited for once");
            }
            Err(error) => prop_assert!((3..3 + lines.len()).contains(&error.line), "{error}"),
        }
    }

    #[test]
    fn any_text_is_read_or_refused_as_a_distribution(text in "[0-9. \n#e-]{0,80}|\\PC{0,80}") {
        if let Ok(cdf) = Cdf::parse(&text) {
            prop_assert!(cdf.max() <= MAX_SIZE);
            prop_assert!(cdf.mean() <= cdf.max().get() as f64);
        }
    }

    #[test]
    fn any_text_is_read_or_refused_as_a_flow_list(text in "[0-9]{1,2}\n([0-9. -]{1,12}\n){0,8}|\\PC{0,80}") {
        if let Ok(flows) = read::hpcc(&text, Time::ZERO, Some) {
            prop_assert!(flows.iter().all(|f| f.src != f.dst && f.priority < 8 && f.size.get() > 0));
        }
    }

    #[test]
    fn percentiles_of_any_distribution_rise_and_stay_between_its_ends(
        mut sizes in prop::collection::vec(0u64..1_000_000_000, 1..10),
        mut percents in prop::collection::vec(0u32..=1000, 1..10),
        (low, high) in (0.0f64..=100.0, 0.0f64..=100.0),
    ) {
        sizes.sort_unstable();
        percents.sort_unstable();
        let points = sizes.len().min(percents.len());
        percents[points - 1] = 1000;
        let line = |i: usize| format!("{} {}.{}", sizes[i], percents[i] / 10, percents[i] % 10);
        let text = (0..points).map(line).collect::<Vec<_>>().join("\n");
        let cdf = Cdf::parse(&text).unwrap();
        let (low, high) = (low.min(high), low.max(high));
        prop_assert!(cdf.percentile(low) <= cdf.percentile(high));
        prop_assert!(cdf.percentile(0.0).get() >= sizes[0].max(1));
        prop_assert_eq!(cdf.percentile(100.0), cdf.max());
    }
}
