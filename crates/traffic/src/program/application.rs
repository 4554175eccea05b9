//! The programs of all ranks of a traffic entry, and how they join those of a run.
use std::sync::Arc;

use super::{Channel, Costs, Op, Programs, Rank};
use crate::flow::{Flow, Group, Pacing};
use backwater_units::{Bytes, Span, Time};

/// The program of a rank, not yet at a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Member {
    /// What it does, among [`Application::roles`].
    pub role: u16,
    /// Its program. Ranks are places in [`Application::members`].
    pub ops: Vec<Op>,
    /// For each op the line of its file; empty: there is no file.
    pub lines: Vec<u32>,
}

/// What the ranks of a traffic entry do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// The ranks.
    pub members: Vec<Member>,
    /// Names of [`Member::role`].
    pub roles: Vec<String>,
    /// Names of the series of [`Op::Stop`].
    pub series: Vec<String>,
}

impl Application {
    /// The longest message of all.
    pub fn longest(&self) -> Bytes {
        Bytes::new(self.members.iter().map(|member| longest(&member.ops)).max().unwrap_or(0))
    }

    /// Whether nothing in it ever ends.
    pub fn is_endless(&self) -> bool {
        !self.members.is_empty() && self.members.iter().all(|member| super::is_endless(&member.ops))
    }

    /// Whether anybody computes.
    pub fn computes(&self) -> bool {
        let takes_time = |op: &Op| matches!(op, Op::Compute(time) if *time > Span::ZERO);
        self.members.iter().any(|member| member.ops.iter().any(takes_time))
    }
}

/// The longest message of a program.
fn longest(ops: &[Op]) -> u64 {
    let size = |op: &Op| match *op {
        Op::Isend { size, .. } | Op::Put { size, .. } | Op::Get { size, .. } => size,
        _ => 0,
    };
    ops.iter().map(size).max().unwrap_or(0)
}

impl Costs {
    /// What cannot be, and what would: a key and a sentence.
    ///
    /// # Errors
    /// Sends and messages within a host must take time, or ranks could exchange messages for ever in one instant.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let most = crate::MAX_SIZE;
        let spans = [("send", self.send), ("local", self.local)];
        if let Some((key, _)) = spans.into_iter().find(|(_, span)| *span == Span::ZERO) {
            let what =
                "0 would let ranks exchange messages for ever in one instant: allowed are 1 ps and more";
            return Err((key, what.to_owned()));
        }
        let bytes = [("eager", self.eager), ("control", self.control)];
        match bytes.into_iter().find(|(_, bytes)| *bytes > most) {
            Some((key, bytes)) => Err((key, format!("{bytes} are too much: allowed are up to 1000TB"))),
            None => Ok(()),
        }
    }
}

impl Programs {
    /// Adds the ranks of traffic entry `group`, rank r at `hosts[r]`, and the channels that they
    /// need between different hosts. Returns the flows of these channels; the first will be flow `flows` of the run.
    ///
    /// # Panics
    /// If there are fewer hosts than ranks.
    pub fn add(
        &mut self,
        application: Application,
        hosts: &[u32],
        group: &Group,
        costs: Costs,
        flows: u32,
    ) -> Vec<Flow> {
        let first = self.ranks.len() as u32;
        let roles = intern(&mut self.roles, application.roles);
        let series = intern(&mut self.series, application.series);
        let mut pairs = Vec::new();
        for (number, member) in (0..).zip(application.members) {
            frames(number, &member.ops, costs.eager, &mut pairs);
            let ops = member.ops.into_iter().map(|op| moved(op, first, &series)).collect();
            self.ranks.push(Rank {
                host: hosts[number as usize],
                group: group.id,
                number,
                role: roles[usize::from(member.role)],
                costs: self.costs.len() as u16,
                start: group.start,
                ops,
                lines: (!member.lines.is_empty()).then(|| Arc::from(member.lines)),
            });
        }
        self.costs.push(costs);
        pairs.sort_unstable();
        pairs.dedup();
        let place = |rank: u32| hosts[rank as usize];
        pairs.retain(|(from, to, _)| place(*from) != place(*to));
        for (flow, (from, to, answers)) in (flows..).zip(&pairs) {
            self.channels.push(Channel { flow, from: first + from, to: first + to, answers: *answers });
        }
        let group = Group { pacing: Pacing::Messages, ..*group };
        pairs
            .iter()
            .map(|(from, to, _)| group.flow(place(*from), place(*to), Bytes::MAX, Time::MAX))
            .collect()
    }
}

/// The pairs of ranks between which the calls of a rank make frames travel, and whether these are answers.
fn frames(rank: u32, ops: &[Op], eager: Bytes, pairs: &mut Vec<(u32, u32, bool)>) {
    for op in ops {
        match *op {
            // What asks for a rendezvous is answered.
            Op::Isend { to, size, .. } if size > eager.get() => {
                pairs.extend([(rank, to, false), (to, rank, true)]);
            }
            Op::Isend { to, .. } => pairs.push((rank, to, false)),
            // A put is acknowledged, a get is a request and its reply.
            Op::Put { to: peer, .. } | Op::Get { from: peer, .. } => {
                pairs.extend([(rank, peer, false), (peer, rank, true)]);
            }
            _ => {}
        }
    }
}

/// An op of an application in a run in which its ranks begin at `first`.
fn moved(op: Op, first: u32, numbers: &[u16]) -> Op {
    let there = |rank: u32| if rank == super::ANY { rank } else { rank + first };
    match op {
        Op::Isend { to, size, tag, set } => Op::Isend { to: there(to), size, tag, set },
        Op::Irecv { from, size, tag, set } => Op::Irecv { from: there(from), size, tag, set },
        Op::Put { to, size } => Op::Put { to: there(to), size },
        Op::Get { from, size } => Op::Get { from: there(from), size },
        Op::Stop { timer, series, label } => Op::Stop { timer, series: numbers[usize::from(series)], label },
        op => op,
    }
}

/// The numbers of some names in a list, to which new ones are added.
fn intern(list: &mut Vec<String>, names: Vec<String>) -> Vec<u16> {
    let mut number = |name: String| {
        let known = list.iter().position(|other| *other == name);
        known.unwrap_or_else(|| {
            list.push(name);
            list.len() - 1
        }) as u16
    };
    names.into_iter().map(&mut number).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{ANY, Builder, Communicator};
    use super::*;
    use crate::generate::testing::GROUP;

    fn costs() -> Costs {
        let half = Span::from_ns(300);
        let (eager, control) = (Bytes::new(1000), Bytes::new(16));
        Costs { send: half, receive: half, eager, control, local: Span::from_ns(500) }
    }

    fn application(programs: Vec<Builder>) -> Application {
        let member =
            |builder: Builder| Member { ops: builder.finish().expect("a good program"), ..Member::default() };
        let members = programs.into_iter().map(member).collect();
        Application { members, roles: vec!["rank".to_owned()], series: vec!["time".to_owned()] }
    }

    /// (from, to, whether for answers) of the channels of a program of rank 0 of three, each at a host of its own.
    fn channels(program: impl Fn(&mut Builder)) -> Vec<(u32, u32, bool)> {
        let mut first = Builder::new(3);
        program(&mut first);
        let mut programs = Programs::default();
        let all = application(vec![first, Builder::new(3), Builder::new(3)]);
        programs.add(all, &[5, 6, 7], &GROUP, costs(), 0);
        programs.channels.iter().map(|channel| (channel.from, channel.to, channel.answers)).collect()
    }

    #[test]
    fn an_eager_message_needs_a_queue_pair_one_way_and_a_rendezvous_or_a_put_or_get_one_for_answers() {
        let size = |bytes| Bytes::new(bytes);
        assert_eq!(
            channels(|rank| {
                rank.isend(2, size(1000), 0, 0);
            }),
            [(0, 2, false)]
        );
        assert_eq!(
            channels(|rank| {
                rank.isend(2, size(1001), 0, 0);
            }),
            [(0, 2, false), (2, 0, true)]
        );
        assert_eq!(
            channels(|rank| {
                rank.put(1, size(8));
            }),
            [(0, 1, false), (1, 0, true)]
        );
        assert_eq!(
            channels(|rank| {
                rank.get(1, size(8));
            }),
            [(0, 1, false), (1, 0, true)]
        );
        assert_eq!(
            channels(|rank| {
                rank.irecv(ANY, size(8), ANY, 0);
            }),
            []
        );
        assert_eq!(
            channels(|rank| {
                rank.put(0, size(8)).put(1, size(8)).put(1, size(8));
            })
            .len(),
            2
        );
    }

    #[test]
    fn ranks_of_one_host_have_no_queue_pairs_between_them() {
        let ranks = || (0..4).map(|_| Builder::new(4)).collect::<Vec<_>>();
        let mut all = ranks();
        let everybody = Communicator::new(0, vec![0, 1, 2, 3]);
        for (place, rank) in all.iter_mut().enumerate() {
            rank.barrier(&everybody, place);
        }
        let mut programs = Programs::default();
        let flows = programs.add(application(all), &[3, 3, 8, 8], &GROUP, costs(), 10);
        // Rounds to i + 1 and i + 2 of four: 0 and 2 send to 1 and 3 of their own host in the first one.
        let pairs: Vec<_> = programs.channels.iter().map(|channel| (channel.from, channel.to)).collect();
        assert_eq!(pairs, [(0, 2), (1, 2), (1, 3), (2, 0), (3, 0), (3, 1)]);
        assert_eq!(programs.channels[0].flow, 10);
        assert!(flows.iter().all(|flow| flow.src != flow.dst && flow.start == Time::MAX));
        assert!(flows.iter().all(|flow| flow.pacing == Pacing::Messages && flow.size == Bytes::MAX));
    }

    #[test]
    fn ranks_of_a_second_entry_mean_each_other_and_share_names() {
        let one = || {
            let mut rank = Builder::new(2);
            rank.start(0).isend(1, Bytes::new(8), 7, 0).irecv(ANY, Bytes::new(8), 7, 0).wait(1).stop(0, 0, 3);
            rank
        };
        let mut programs = Programs::default();
        programs.add(application(vec![one(), one()]), &[0, 1], &GROUP, costs(), 0);
        let mut second = application(vec![one(), one()]);
        second.series = vec!["other".to_owned()];
        programs.add(second, &[1, 0], &GROUP, costs(), 1);
        assert_eq!(programs.series, ["time", "other"]);
        assert_eq!(programs.roles, ["rank"]);
        let ops = &programs.ranks[3].ops;
        assert_eq!(ops[1], Op::Isend { to: 3, size: 8, tag: 7, set: 0 });
        assert_eq!(ops[2], Op::Irecv { from: ANY, size: 8, tag: 7, set: 0 });
        assert_eq!(ops[4], Op::Stop { timer: 0, series: 1, label: 3 });
        let last = programs.channels.last().expect("a channel");
        assert_eq!((last.flow, last.from, last.to), (1, 2, 3), "rank 3 sends to itself");
        assert_eq!((programs.ranks[3].number, programs.ranks[3].costs), (1, 1));
    }

    #[test]
    fn costs_that_let_time_stand_still_are_refused() {
        assert_eq!(costs().check(), Ok(()));
        let nothing = Costs { send: Span::ZERO, ..costs() };
        assert_eq!(nothing.check().expect_err("no time").0, "send");
        let nothing = Costs { local: Span::ZERO, ..costs() };
        assert_eq!(nothing.check().expect_err("no time").0, "local");
        assert!(Costs { receive: Span::ZERO, eager: Bytes::ZERO, ..costs() }.check().is_ok());
        let (key, what) = Costs { control: Bytes::MAX, ..costs() }.check().expect_err("too much");
        assert!(key == "control" && what.contains("allowed are up to 1000TB"), "{what}");
    }

    #[test]
    fn an_application_is_endless_if_each_of_its_ranks_is_and_its_longest_message_is_that_of_any_call() {
        let rank = |calls: fn(&mut Builder)| {
            let mut rank = Builder::new(2);
            calls(&mut rank);
            rank
        };
        let endless = rank(|rank| {
            rank.repeat(super::super::FOREVER).put(1, Bytes::new(70)).flush().end();
        });
        let ends = rank(|rank| {
            rank.irecv(1, Bytes::new(900), 0, 0).get(1, Bytes::new(80)).isend(1, Bytes::new(60), 0, 0);
        });
        let all = application(vec![endless.clone(), endless.clone()]);
        assert_eq!((all.is_endless(), all.longest()), (true, Bytes::new(70)));
        let mixed = application(vec![endless, ends]);
        assert_eq!((mixed.is_endless(), mixed.longest()), (false, Bytes::new(80)), "room is no message");
        assert!(!Application::default().is_endless());
    }
}
