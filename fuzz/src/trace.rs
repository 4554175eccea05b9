//! Any file is a trace or refused with a line; a trace is written as it is read, and what it becomes can be carried out.
use super::without_lines;
use backwater_traffic::trace::{Event, Program};
use backwater_traffic::{MAX_SIZE, read};

pub(crate) fn target(text: &str) {
    // A line that is done many times is legal, but a fuzzer that waits finds nothing.
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.windows(2).any(|two| two[0] == "times" && two[1].len() > 3) {
        return;
    }
    match read::trace(text) {
        Ok(trace) if trace.flows() <= 10_000 && trace.ranks <= 100 => {
            let program = trace.expand().expect("checked by the reader");
            is_local(&program);
            let again = read::trace(&trace.to_string()).expect("what was written");
            assert_eq!(again.expand().map(without_lines), Ok(without_lines(program)));
        }
        Ok(_) => {}
        Err(error) => assert!(error.line > 0 && !error.what.is_empty()),
    }
}

/// A step waits for what happens at its rank, and starts what that rank sends.
fn is_local(program: &Program) {
    assert!(program.flows.iter().all(|flow| flow.src != flow.dst && flow.bytes <= MAX_SIZE));
    for step in &program.steps {
        assert!(step.starts.iter().all(|flow| program.flows[*flow as usize].src == step.host));
        for event in &step.after {
            let at = match event {
                Event::Sent(flow) | Event::Acked(flow) => program.flows[*flow as usize].src,
                Event::Received(flow) => program.flows[*flow as usize].dst,
                Event::Done(step) => program.steps[*step as usize].host,
            };
            assert_eq!(at, step.host);
        }
    }
}
