//! Dependencies as a host carries them out: each step waits for events at its own host, and for a time, and starts flows there.
use backwater_units::Span;

use super::label::{Finishes, Part};
use crate::flow::Flow;
use crate::program::Channel;

/// Something that happens at a host. Numbers are those of flows and steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// The last bit of a flow that the host sends has left.
    Sent(u32),
    /// The last packet of a flow that the host sends has been acknowledged. Needs a transport with acknowledgements.
    Acked(u32),
    /// A flow that the host receives is complete.
    Received(u32),
    /// A step of the host has been carried out.
    Done(u32),
}

/// Waits for all of some events, then for a time, and then starts flows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Host index, or rank. All its events happen there, and all its flows start there.
    pub host: u32,
    /// The rank whose step it is.
    pub rank: u32,
    /// The traffic entry that it belongs to.
    pub group: u16,
    /// Line of the trace's file; 0: none.
    pub line: u32,
    /// What it waits for; nothing: for the start of the traffic entry.
    pub after: Vec<Event>,
    /// How long it waits after the last of them.
    pub delay: Span,
    /// Flows, which have [`backwater_units::Time::MAX`] as their start and begin now.
    pub starts: Vec<u32>,
    /// Which part of the program it is, if that has parts; so are the messages that it starts.
    pub part: Option<Part>,
}

impl Step {
    /// What its rank is done with when it has been carried out.
    pub fn ends(&self) -> Finishes {
        self.part.map_or(Finishes::Nothing, |part| part.ends)
    }
}

/// Sorts flows like [`crate::sort`], and renumbers what `steps` and `channels` say about them.
pub fn sort_with(flows: &mut Vec<Flow>, steps: &mut [Step], channels: &mut [Channel]) {
    if steps.is_empty() && channels.is_empty() {
        return crate::sort(flows);
    }
    let mut order: Vec<u32> = (0..flows.len() as u32).collect();
    order.sort_by_key(|number| {
        let flow = &flows[*number as usize];
        (flow.start, flow.src, flow.dst, flow.group)
    });
    let mut place = vec![0; flows.len()];
    for (new, old) in (0..).zip(&order) {
        place[*old as usize] = new;
    }
    *flows = order.iter().map(|number| flows[*number as usize]).collect();
    for channel in channels {
        channel.flow = place[channel.flow as usize];
    }
    for step in steps {
        for event in &mut step.after {
            if let Event::Sent(flow) | Event::Acked(flow) | Event::Received(flow) = event {
                *flow = place[*flow as usize];
            }
        }
        for flow in &mut step.starts {
            *flow = place[*flow as usize];
        }
        // In the order of their numbers, so that the order in the file decides nothing that the numbers do not show.
        step.starts.sort_unstable();
    }
}

/// Adds the steps of another entry, whose flow 0 has become flow `flows`.
pub fn append(steps: &mut Vec<Step>, mut own: Vec<Step>, flows: u32) {
    let before = steps.len() as u32;
    for step in &mut own {
        for event in &mut step.after {
            match event {
                Event::Sent(flow) | Event::Acked(flow) | Event::Received(flow) => *flow += flows,
                Event::Done(step) => *step += before,
            }
        }
        for flow in &mut step.starts {
            *flow += flows;
        }
    }
    steps.append(&mut own);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::testing::GROUP;
    use backwater_units::{Bytes, Time};

    fn step(host: u32, after: Vec<Event>, starts: Vec<u32>) -> Step {
        Step { host, rank: host, group: 0, line: 0, after, delay: Span::ZERO, starts, part: None }
    }

    #[test]
    fn steps_follow_their_flows_to_new_numbers() {
        let flow = |src, start| GROUP.flow(src, 9, Bytes::new(1), start);
        let mut flows = vec![flow(3, Time::MAX), flow(1, Time::MAX), flow(2, Time::ZERO)];
        let after = vec![Event::Sent(2), Event::Done(7), Event::Received(0), Event::Acked(1)];
        let starts = vec![0, 1];
        let mut steps = vec![step(3, after, starts)];
        sort_with(&mut flows, &mut steps, &mut []);
        assert_eq!(flows.iter().map(|flow| flow.src).collect::<Vec<_>>(), [2, 1, 3]);
        let followed = [Event::Sent(0), Event::Done(7), Event::Received(2), Event::Acked(1)];
        assert_eq!(steps[0].after, followed);
        assert_eq!(steps[0].starts, [1, 2]);
    }

    #[test]
    fn the_steps_of_a_second_entry_mean_its_own_flows_and_steps() {
        let of_0 = |after, starts| step(0, after, starts);
        let mut steps = vec![of_0(vec![], vec![0]), of_0(vec![Event::Done(0)], vec![1])];
        let own = vec![of_0(vec![Event::Sent(0)], vec![1]), of_0(vec![Event::Done(0)], vec![])];
        append(&mut steps, own, 10);
        assert_eq!(steps[2], of_0(vec![Event::Sent(10)], vec![11]));
        assert_eq!(steps[3], of_0(vec![Event::Done(2)], vec![]));
    }
}
