//! A collective operation of some ranks, again and again: each message is sent when its rank has received what comes before it.
use backwater_engine::{stream, uniform};
use backwater_units::{Bytes, Span};

use crate::stream::{COLLECTIVE, choose, entity};
use crate::trace::{
    Algorithm, Collective, Dependency, MAX_FLOWS, Op, Part, Parts, Program, Ranks, Ready, Trace,
};

/// Iterations of a collective.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Iterations {
    /// What it does.
    pub op: Op,
    /// By which messages.
    pub algorithm: Algorithm,
    /// Ranks, at least 2.
    pub ranks: u32,
    /// How much; see [`Op`]. Of an uneven one all that a rank sends, to itself too.
    pub size: Bytes,
    /// How often.
    pub times: u32,
    /// How long a rank is busy with a message that it has received before it sends the one that waits for it.
    pub latency: Span,
    /// How long a rank computes between its part in an iteration and the next one.
    pub compute: Span,
    /// An all-to-all that is uneven.
    pub experts: Option<Experts>,
}

/// Where tokens go in a mixture of experts, one expert at each rank. Some experts are more popular than others, so that the shares of
/// all have a Gini coefficient g: the Lorenz curve is L(p) = p^((1 + g) / (1 − g)), and which rank has which share is drawn once.
/// Every token goes to an expert drawn by the shares. Measured in models that people use: g from 0.105 to 0.150 in some
/// architectures and above 0.24 in others (Ma et al., "Diagnosing Overhead in Dispatch Operations", arXiv:2605.20982, 2026, abstract).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experts {
    /// Bytes of a token.
    pub token: Bytes,
    /// Gini coefficient of the shares, from 0 (all alike) to less than 1.
    pub gini: f64,
}

impl Iterations {
    /// Messages of all iterations.
    pub fn messages(&self) -> u64 {
        u64::from(self.times).saturating_mul(self.algorithm.messages(self.op, self.ranks.into()))
    }

    /// Tokens that are drawn.
    pub fn tokens(&self) -> u64 {
        let of = |experts: Experts| self.size.get().div_ceil(experts.token.get().max(1));
        self.experts.map_or(0, of).saturating_mul(u64::from(self.ranks) * u64::from(self.times))
    }

    /// The messages between the ranks of traffic entry `group`, and what they wait for. The flows of an iteration stand together, and
    /// those of each pair of ranks are as many in every iteration.
    ///
    /// # Panics
    /// If there are more than [`MAX_FLOWS`] messages.
    pub fn program(&self, group: u16, seed: u64) -> Program {
        assert!(self.messages() <= MAX_FLOWS, "too many messages for a program");
        let members: Vec<u32> = (0..self.ranks).collect();
        let collective = |number: u32| {
            let (after, delay) = match number.checked_sub(1) {
                None => (Dependency::Start, Span::ZERO),
                Some(before) => (Dependency::Done(before), self.latency + self.compute),
            };
            let uneven = self.uneven(number, &members, group, seed);
            Collective {
                id: u64::from(number),
                op: self.op,
                algorithm: self.algorithm,
                bytes: self.size,
                uneven,
                group: 0,
                root: 0,
                joins: vec![Ready { after, delay, line: 0 }; self.ranks as usize],
                line: 0,
            }
        };
        let trace = Trace {
            ranks: self.ranks,
            groups: vec![Ranks { id: 0, members: members.clone() }],
            messages: Vec::new(),
            collectives: (0..self.times).map(collective).collect(),
            acts: Vec::new(),
            tasks: Vec::new(),
            parts: Parts {
                collectives: (0..self.times).map(|iteration| Part { iteration, ..Part::default() }).collect(),
                ..Parts::default()
            },
        };
        match trace.expand_with(self.latency) {
            Ok(program) => program,
            Err(error) => unreachable!("iterations wait for the one before: {error}"),
        }
    }

    /// Of an uneven one the bytes from each of its `members` to each in an iteration, row by row; else nothing.
    pub(super) fn uneven(&self, number: u32, members: &[u32], group: u16, seed: u64) -> Vec<u64> {
        let Some(experts) = self.experts else { return Vec::new() };
        // Groups draw for themselves: none has a rank of another one.
        let shares = self.shares(experts.gini, entity(group, u32::MAX - members[0]), seed);
        self.draw(experts.token, &shares, number, (group, members), seed)
    }

    /// Which share of the tokens each rank's expert gets, summed up from the first on.
    fn shares(&self, gini: f64, drawn_for: u64, seed: u64) -> Vec<f64> {
        let power = (1.0 + gini) / (1.0 - gini);
        let lorenz = |place: u32| libm::pow(f64::from(place) / f64::from(self.ranks), power);
        let mut places: Vec<u32> = (0..self.ranks).collect();
        choose(&mut stream(seed, COLLECTIVE, drawn_for), &mut places, self.ranks as usize);
        let shares = places.iter().map(|place| lorenz(place + 1) - lorenz(*place));
        shares.scan(0.0, |sum, share| (*sum += share, Some(*sum)).1).collect()
    }

    /// Bytes from each rank to each, row by row.
    fn draw(
        &self,
        token: Bytes,
        shares: &[f64],
        number: u32,
        (group, members): (u16, &[u32]),
        seed: u64,
    ) -> Vec<u64> {
        let n = self.ranks as usize;
        let mut bytes = vec![0; n * n];
        let all = shares.last().copied().unwrap_or(1.0);
        for (rank, row) in members.iter().zip(bytes.chunks_mut(n)) {
            // One stream for each rank, of which every iteration has a part of its own.
            let purpose = COLLECTIVE ^ (u64::from(number) + 1) << 32;
            let mut random = stream(seed, purpose, entity(group, *rank));
            let mut left = self.size.get();
            while left > 0 {
                let drawn = uniform(&mut random) * all;
                let to = shares.partition_point(|share| *share <= drawn).min(n - 1);
                let size = left.min(token.get().max(1));
                row[to] += size;
                left -= size;
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn iterations(op: Op, algorithm: Algorithm, ranks: u32, size: u64) -> Iterations {
        let (latency, compute) = (Span::from_ns(600), Span::ZERO);
        Iterations { op, algorithm, ranks, size: Bytes::new(size), times: 1, latency, compute, experts: None }
    }

    /// Messages and bytes that each rank sends.
    fn sent(of: &Iterations) -> Vec<(u64, u64)> {
        let mut sent = vec![(0, 0); of.ranks as usize];
        for flow in of.program(0, 1).flows {
            let rank = &mut sent[flow.src as usize];
            *rank = (rank.0 + 1, rank.1 + flow.bytes.get());
        }
        sent
    }

    #[test]
    fn every_rank_of_a_ring_sends_all_parts_but_one_twice() {
        // 2 (n - 1) / n of the size; sizes that every n divides
        for n in [2, 3, 4, 5, 7, 8, 12] {
            let size = 840 * 100;
            let expected = (2 * u64::from(n - 1), 2 * u64::from(n - 1) * size / u64::from(n));
            let ring = iterations(Op::Allreduce, Algorithm::Ring, n, size);
            assert_eq!(sent(&ring), vec![expected; n as usize], "{n}");
            let half = (expected.0 / 2, expected.1 / 2);
            assert_eq!(
                sent(&iterations(Op::ReduceScatter, Algorithm::Ring, n, size)),
                vec![half; n as usize]
            );
            let gather = iterations(Op::Allgather, Algorithm::Ring, n, size);
            assert_eq!(sent(&gather), vec![(u64::from(n - 1), u64::from(n - 1) * size); n as usize]);
        }
    }

    #[test]
    fn halving_and_doubling_sends_as_many_bytes_as_a_ring_in_a_logarithm_of_messages() {
        for log in 1..6 {
            let n = 1 << log;
            let expected = (2 * log, 2 * (n - 1) * 6400 / n);
            let halving = iterations(Op::Allreduce, Algorithm::HalvingDoubling, n as u32, 6400);
            assert_eq!(sent(&halving), vec![expected; n as usize]);
        }
    }

    #[test]
    fn of_six_ranks_two_pairs_fold_and_four_halve() {
        // 0 hands to 1 and 2 to 3; 1, 3, 4, 5 halve: 2 messages there and 2 back, 2 x 3/4 of the size; 1 and 3 hand back
        let halving = iterations(Op::Allreduce, Algorithm::HalvingDoubling, 6, 800);
        let expected = [(1, 800), (5, 2000), (1, 800), (5, 2000), (4, 1200), (4, 1200)];
        assert_eq!(sent(&halving), expected);
        let first: Vec<(u32, u32, u64)> =
            halving.program(0, 1).flows.iter().map(|f| (f.src, f.dst, f.bytes.get())).take(6).collect();
        assert_eq!(first, [(0, 1, 800), (2, 3, 800), (1, 3, 400), (3, 1, 400), (4, 5, 400), (5, 4, 400)]);
    }

    #[test]
    fn a_tree_reduces_to_its_root_and_spreads_from_it() {
        for n in [2u64, 3, 5, 8, 13] {
            let tree = sent(&iterations(Op::Allreduce, Algorithm::Binomial, n as u32, 1000));
            assert_eq!(tree.iter().map(|sent| sent.0).sum::<u64>(), 2 * (n - 1));
            assert_eq!(tree.iter().map(|sent| sent.1).sum::<u64>(), 2 * (n - 1) * 1000);
            let rounds = u64::from(n.next_power_of_two().trailing_zeros());
            assert_eq!(tree[0].0, rounds, "the root sends to a child in every round");
        }
    }

    #[test]
    fn an_all_to_all_has_a_message_for_every_other_rank_whatever_their_number() {
        for n in [2u32, 3, 6, 7] {
            for algorithm in [Algorithm::Pairwise, Algorithm::Linear] {
                let expected = (u64::from(n) - 1, (u64::from(n) - 1) * 500);
                assert_eq!(sent(&iterations(Op::Alltoall, algorithm, n, 500)), vec![expected; n as usize]);
            }
        }
    }

    fn experts(gini: f64) -> Iterations {
        let experts = Some(Experts { token: Bytes::new(1000), gini });
        Iterations { experts, times: 2, ..iterations(Op::Alltoall, Algorithm::Linear, 16, 2_000_000) }
    }

    /// The Gini coefficient by its definition: the mean difference of all pairs over twice the mean.
    fn gini(of: &[f64]) -> f64 {
        let (n, mean) = (of.len() as f64, of.iter().sum::<f64>() / of.len() as f64);
        let differences: f64 = of.iter().flat_map(|x| of.iter().map(move |y| (x - y).abs())).sum();
        differences / (2.0 * n * n * mean)
    }

    #[test]
    fn popular_experts_get_more_and_no_token_is_lost() {
        for wanted in [0.0, 0.15, 0.24, 0.5] {
            let case = experts(wanted);
            let members: Vec<u32> = (0..16).collect();
            let bytes = case.uneven(0, &members, 0, 1);
            assert!(bytes.chunks(16).all(|row| row.iter().sum::<u64>() == 2_000_000));
            let received: Vec<f64> =
                (0..16).map(|to| bytes.iter().skip(to).step_by(16).sum::<u64>() as f64).collect();
            // 32 000 tokens; steps of a Lorenz curve in 16 places have a little less than the curve
            assert!((gini(&received) - wanted).abs() < 0.02, "{wanted}: {}", gini(&received));
        }
    }

    #[test]
    fn tokens_are_drawn_anew_in_every_iteration_and_for_every_seed() {
        let case = experts(0.24);
        let sizes =
            |seed| -> Vec<u64> { case.program(3, seed).flows.iter().map(|flow| flow.bytes.get()).collect() };
        let all = sizes(1);
        assert_eq!(all.len() as u64, case.messages());
        assert_ne!(all[..240], all[240..]);
        assert_ne!(all, sizes(2));
        assert_eq!(all, sizes(1));
    }

    #[test]
    fn an_iteration_begins_at_a_rank_when_the_rank_is_done_with_the_one_before() {
        let twice = Iterations {
            times: 2,
            compute: Span::from_us(1),
            ..iterations(Op::Allgather, Algorithm::Ring, 3, 10)
        };
        let program = twice.program(0, 1);
        // 2 rounds of 3 messages in each; every first message of the second waits 600 ns and 1 us after the end of the first
        assert_eq!(program.flows.len(), 12);
        let first = program.steps.iter().filter(|step| step.starts.iter().any(|flow| (6..9).contains(flow)));
        let delays: Vec<Span> = first.map(|step| step.delay).collect();
        assert_eq!(delays, vec![Span::from_ns(1600); 3]);
        // and a second round 600 ns after its message has come
        let later = program.steps.iter().filter(|step| step.starts.iter().any(|flow| (3..6).contains(flow)));
        assert!(later.into_iter().all(|step| step.delay == Span::from_ns(600)));
    }
}
