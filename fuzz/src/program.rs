//! Any file is the programs of some ranks or refused with a line; what is accepted joins a run and keeps the promises of its builder.
use backwater_traffic::program::{
    Application, FOREVER, MAX_OPS, MAX_TIMERS, Op, Placement, Programs, SETS, place,
};
use backwater_traffic::{Group, MAX_SIZE, Pacing, read};
use backwater_units::{Bytes, Span, Time};

const GROUP: Group = Group { id: 0, priority: 3, pacing: Pacing::Controlled, start: Time::ZERO };

pub(crate) fn target(text: &str) {
    // Many ranks are legal, but a fuzzer that waits finds nothing.
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.windows(2).any(|two| two[0] == "ranks" && two[1].len() > 2) {
        return;
    }
    match read::program(text) {
        Ok(application) => {
            application.members.iter().for_each(|member| keeps(&member.ops, member.lines.len()));
            joins(application);
        }
        Err(error) => assert!(error.line > 0 && !error.what.is_empty()),
    }
}

/// What the executor of programs takes for granted.
fn keeps(ops: &[Op], lines: usize) {
    assert!(ops.len() <= MAX_OPS && ops.len() == lines);
    let mut open = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        match *op {
            Op::Isend { size, set, .. } | Op::Irecv { size, set, .. } => {
                assert!(size <= MAX_SIZE.get() && set < SETS);
            }
            Op::Loop { times, end } => {
                assert!(times > 0 && (times != FOREVER || end as usize == ops.len()));
                open.push((at, end));
            }
            Op::End { begin } => assert_eq!(open.pop(), Some((begin as usize - 1, at as u32 + 1))),
            Op::Start { timer } | Op::Stop { timer, .. } => assert!(timer < MAX_TIMERS),
            _ => {}
        }
    }
    assert!(open.is_empty());
}

/// Twice in a run, with two ranks at each host.
fn joins(application: Application) {
    let ranks = application.members.len() as u32;
    let hosts: Vec<u32> = (0..ranks.div_ceil(2)).collect();
    let places = place(ranks, &hosts, 2, Placement::Random, 0, 1).expect("room for all");
    let span = Span::from_ns(300);
    let costs = backwater_traffic::program::Costs {
        send: span,
        receive: span,
        eager: Bytes::from_kb(16),
        control: Bytes::new(16),
        local: span,
    };
    let mut programs = Programs::default();
    let mut flows = programs.add(application.clone(), &places, &GROUP, costs, 0);
    flows.extend(programs.add(application, &places, &GROUP, costs, flows.len() as u32));
    assert_eq!((programs.ranks.len() as u32, programs.channels.len()), (2 * ranks, flows.len()));
    for channel in &programs.channels {
        let flow = &flows[channel.flow as usize];
        let ends = [channel.from, channel.to].map(|rank| programs.ranks[rank as usize].host);
        assert!(flow.src != flow.dst && ends == [flow.src, flow.dst]);
    }
}
