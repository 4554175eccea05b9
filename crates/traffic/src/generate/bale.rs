//! The communication of bale's kernels (<https://github.com/jdevinney/bale>, its AGP form: puts and gets of single elements), as
//! one-sided programs. Element i of a distributed array is on PE i mod n, so that uniformly random elements are on uniformly random
//! PEs; what a PE does with its own elements needs no network.
use backwater_engine::stream;
use backwater_units::{Bytes, Span};

use crate::stream::{BALE, below, choose, entity};
use crate::trace::{Act, Call, Peer, Ranks, Trace};

/// What every PE does before it meets the others in a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// It changes random elements of a table: a put each.
    Histogram,
    /// It reads random elements of a table: a get each.
    IndexGather,
    /// It puts a block to each other PE, to the next one first and to the one before it last.
    Rotated,
    /// The same in an order that each PE draws once, as bale's `exstack_exchange` does.
    Shuffled,
}

/// A kernel on so many PEs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bale {
    /// What they do.
    pub kernel: Kernel,
    /// PEs, at least 2.
    pub pes: u32,
    /// Puts or gets of each, those of its own elements among them; exchanges, with a barrier after each.
    pub updates: u32,
    /// Payload of an element or block.
    pub size: Bytes,
    /// Whether a PE goes on when its put has left or its get has come, or at once.
    pub blocking: bool,
    /// How long a PE computes before each put or get.
    pub compute: Span,
}

impl Bale {
    /// The most messages that it may become.
    pub fn most_messages(&self) -> f64 {
        let (pes, updates) = (f64::from(self.pes), f64::from(self.updates));
        let rounds = f64::from(self.pes.next_power_of_two().trailing_zeros());
        pes * match self.kernel {
            Kernel::Histogram => updates + rounds,
            Kernel::IndexGather => 2.0 * updates + rounds,
            Kernel::Rotated | Kernel::Shuffled => updates * (pes - 1.0 + rounds),
        }
    }

    /// The programs of the PEs of traffic entry `group`.
    pub fn trace(&self, group: u16, seed: u64) -> Trace {
        let mut round = Vec::new();
        let mut rounds = self.updates;
        match self.kernel {
            Kernel::Histogram | Kernel::IndexGather => {
                (0..self.pes).for_each(|pe| self.elements(pe, group, seed, &mut round));
                rounds = 1;
            }
            Kernel::Rotated => {
                (1..self.pes).for_each(|further| self.one(None, Peer::Further(further), &mut round));
            }
            Kernel::Shuffled => {
                for pe in 0..self.pes {
                    for peer in self.order(pe, group, seed) {
                        self.one(Some(pe), Peer::Rank(peer), &mut round);
                    }
                }
            }
        }
        round.push(Act { pe: None, call: Call::Barrier, times: 1, line: 0 });
        let acts = round.repeat(rounds as usize);
        let groups = vec![Ranks { id: 0, members: (0..self.pes).collect() }];
        Trace {
            ranks: self.pes,
            groups,
            tasks: Vec::new(),
            messages: Vec::new(),
            collectives: Vec::new(),
            acts,
            parts: crate::trace::Parts::default(),
        }
    }

    /// A PE's puts or gets.
    fn elements(&self, pe: u32, group: u16, seed: u64, acts: &mut Vec<Act>) {
        let mut random = stream(seed, BALE, entity(group, pe));
        for _ in 0..self.updates {
            match below(&mut random, self.pes) {
                own if own == pe => self.compute(Some(pe), acts),
                peer => self.one(Some(pe), Peer::Rank(peer), acts),
            }
        }
    }

    /// The other PEs in a random order.
    fn order(&self, pe: u32, group: u16, seed: u64) -> Vec<u32> {
        let mut others: Vec<u32> = (0..self.pes).filter(|other| *other != pe).collect();
        let count = others.len();
        choose(&mut stream(seed, BALE, entity(group, pe)), &mut others, count);
        others
    }

    /// A put or get.
    fn one(&self, pe: Option<u32>, peer: Peer, acts: &mut Vec<Act>) {
        self.compute(pe, acts);
        let (bytes, blocking) = (self.size, self.blocking);
        let call = match self.kernel {
            Kernel::IndexGather => Call::Get { from: peer, bytes, blocking },
            _ => Call::Put { to: peer, bytes, blocking },
        };
        acts.push(Act { pe, call, times: 1, line: 0 });
    }

    fn compute(&self, pe: Option<u32>, acts: &mut Vec<Act>) {
        if self.compute > Span::ZERO {
            acts.push(Act { pe, call: Call::Compute(self.compute), times: 1, line: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Event, Program};

    fn bale(kernel: Kernel, pes: u32, updates: u32) -> Bale {
        let (size, compute) = (Bytes::new(64), Span::ZERO);
        Bale { kernel, pes, updates, size, blocking: true, compute }
    }

    fn program(bale: &Bale) -> Program {
        bale.trace(3, 7).expand().expect("no circle")
    }

    #[test]
    fn a_histogram_puts_each_element_to_a_uniformly_random_pe_and_keeps_its_own() {
        let flows = program(&bale(Kernel::Histogram, 8, 1000)).flows;
        let barrier = flows.iter().filter(|flow| flow.bytes == Bytes::new(1)).count();
        assert_eq!(barrier, 8 * 3, "three rounds of 8 messages");
        // 8 x 1000 draws of one in 64 pairs of PEs, 8 of which are a PE and itself: 125 each, with a standard deviation of 10.5.
        for (src, dst) in (0..8).flat_map(|src| (0..8).map(move |dst| (src, dst))) {
            let element = (src, dst, Bytes::new(64));
            let count = flows.iter().filter(|flow| (flow.src, flow.dst, flow.bytes) == element).count();
            assert!(if src == dst { count == 0 } else { count.abs_diff(125) < 52 }, "{src} {dst} {count}");
        }
    }

    #[test]
    fn an_index_gather_has_a_request_of_1_b_and_a_reply_for_each_element() {
        let flows = program(&bale(Kernel::IndexGather, 4, 100)).flows;
        for (src, dst) in (0..4).flat_map(|src| (0..4).map(move |dst| (src, dst))) {
            let count = |src, dst, bytes| {
                let bytes = Bytes::new(bytes);
                flows.iter().filter(|flow| (flow.src, flow.dst, flow.bytes) == (src, dst, bytes)).count()
            };
            // The barrier has one message of 1 B to the next PE and one to the one after it.
            let barrier = usize::from((dst + 4 - src) % 4 == 1 || (dst + 4 - src) % 4 == 2);
            assert_eq!(count(src, dst, 1), count(dst, src, 64) + barrier);
        }
    }

    #[test]
    fn in_a_rotated_exchange_no_two_pes_send_to_the_same_one_at_the_same_turn() {
        let program = program(&bale(Kernel::Rotated, 5, 2));
        let of = |src| program.flows.iter().filter(move |flow| flow.src == src && flow.bytes > Bytes::new(1));
        for turn in 0..8 {
            let mut to: Vec<u32> = (0..5).map(|src| of(src).nth(turn).expect("two times four").dst).collect();
            to.sort_unstable();
            assert_eq!(to, [0, 1, 2, 3, 4]);
        }
    }

    #[test]
    fn in_a_shuffled_exchange_each_pe_reaches_all_others_in_an_order_of_its_own() {
        let program = program(&bale(Kernel::Shuffled, 16, 1));
        let order = |src: u32| -> Vec<u32> {
            let own = program.flows.iter().filter(|flow| flow.src == src && flow.bytes > Bytes::new(1));
            own.map(|flow| (flow.dst + 16 - src) % 16).collect()
        };
        let mut sorted = order(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (1..16).collect::<Vec<_>>());
        assert_ne!(order(3), order(4));
    }

    #[test]
    fn the_barrier_at_the_end_waits_for_the_acknowledgement_of_every_put() {
        let program = program(&bale(Kernel::Histogram, 4, 50));
        let acked = program
            .steps
            .iter()
            .flat_map(|step| &step.after)
            .filter(|event| matches!(event, Event::Acked(_)));
        let puts = program.flows.iter().filter(|flow| flow.bytes > Bytes::new(1));
        assert_eq!(acked.count(), puts.count());
    }

    #[test]
    fn messages_are_at_most_as_many_as_announced() {
        for kernel in [Kernel::Histogram, Kernel::IndexGather, Kernel::Rotated, Kernel::Shuffled] {
            let bale = bale(kernel, 6, 20);
            let flows = program(&bale).flows.len() as f64;
            assert!(flows <= bale.most_messages());
            if matches!(kernel, Kernel::Rotated | Kernel::Shuffled) {
                assert!((flows - bale.most_messages()).abs() < 0.5, "{flows}");
            }
        }
    }

    #[test]
    fn another_seed_or_entry_draws_other_elements() {
        let bale = bale(Kernel::Histogram, 4, 50);
        assert_eq!(bale.trace(0, 1), bale.trace(0, 1));
        assert_ne!(bale.trace(0, 1), bale.trace(0, 2));
        assert_ne!(bale.trace(0, 1), bale.trace(1, 1));
    }
}
