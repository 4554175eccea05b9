//! Deficit round robin: shares in bytes, small turns, nobody starves, and the same order as the algorithm of the paper.
use std::collections::VecDeque;

use backwater_control::arbitration::{Drr, Head, Quanta};
use proptest::prelude::*;

/// Weights of the ICI paper's two classes (section 4.1), as priorities 3 and 2.
const NFQ: u8 = 3;
const CFQ: u8 = 2;

fn two() -> Quanta {
    Quanta::new(&[0, 0, 17, 22, 0, 0, 0, 0])
}

/// The classes of the next `n` packets, if each class of `ready` has no end of packets of its size.
fn order(drr: &mut Drr, quanta: &Quanta, ready: u8, sizes: [u32; 8], n: usize) -> Vec<u8> {
    let head = |class: u8| Head { bytes: sizes[usize::from(class)], last: false };
    (0..n).map(|_| drr.pick(quanta, ready, head).expect("they have weights")).collect()
}

/// How many of the packets are of a class.
fn of(class: u8, sent: &[u8]) -> usize {
    sent.iter().map(|&other| usize::from(other == class)).sum()
}

#[test]
fn the_quantum_of_the_heaviest_class_is_the_least_multiple_of_its_weight_of_at_least_4_kib() {
    // 4096/22 = 186.2: 187 bytes per unit of weight.
    assert_eq!((two().of(NFQ), two().of(CFQ)), (22 * 187, 17 * 187));
    let one = Quanta::new(&[0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!((one.of(1), one.of(0)), (4096, 0));
    assert_eq!(Quanta::new(&[u16::MAX; 8]).of(7), 65_535);
}

#[test]
fn weights_of_22_and_17_share_a_busy_port_as_22_to_17_in_packets_of_4_kib() {
    let mut drr = Drr::default();
    let sent = order(&mut drr, &two(), 0b1100, [4096; 8], 39_000);
    let normal = of(NFQ, &sent);
    // Never more than a packet and a quantum apart from 22 000.
    assert!((21_998..=22_002).contains(&normal), "{normal}");
}

#[test]
fn shares_are_in_bytes_not_in_packets() {
    let mut drr = Drr::default();
    let mut sizes = [4096; 8];
    sizes[usize::from(CFQ)] = 64;
    let sent = order(&mut drr, &two(), 0b1100, sizes, 100_000);
    let small = of(CFQ, &sent) as u64;
    let (normal, congested) = ((100_000 - small) * 4096, small * 64);
    // 22 : 17 within a quantum and a packet of each.
    assert!((normal * 17).abs_diff(congested * 22) <= 22 * 17 * 2 * 187 * 22, "{normal} {congested}");
}

#[test]
fn nobody_waits_for_more_than_three_packets_of_the_other_class() {
    // The CFQ (3179 B a turn) sends in every second turn at least; the NFQ (4114 B) sends one packet a turn and, having
    // saved 18 B in each, sometimes two.
    let mut drr = Drr::default();
    let sent = order(&mut drr, &two(), 0b1100, [4096; 8], 10_000);
    let longest = |class| sent.chunk_by(|a, b| a == b).filter(|run| run[0] == class).map(<[u8]>::len).max();
    assert_eq!((longest(NFQ), longest(CFQ)), (Some(3), Some(1)));
}

#[test]
fn a_class_alone_has_the_port_for_itself() {
    let mut drr = Drr::default();
    assert_eq!(order(&mut drr, &two(), 1 << CFQ, [4096; 8], 50), [CFQ; 50]);
    assert_eq!(order(&mut drr, &two(), 1 << NFQ, [4096; 8], 50), [NFQ; 50]);
}

#[test]
fn a_class_that_ran_empty_has_saved_nothing_for_later() {
    // Equal weights, quanta of 4096 B. Class 0 sends one packet of 96 B and is empty: what is left of its turn is lost, so
    // that later, with packets of 4096 B, it gets every second turn and no more.
    let quanta = Quanta::new(&[1, 1, 0, 0, 0, 0, 0, 0]);
    let mut drr = Drr::default();
    assert_eq!(drr.pick(&quanta, 0b01, |_| Head { bytes: 96, last: true }), Some(0));
    assert_eq!(order(&mut drr, &quanta, 0b11, [4096; 8], 6), [1, 0, 1, 0, 1, 0]);
    // Had it not run empty, 4000 B were left: enough for 41 more packets of 96 B in the same turn.
    let mut drr = Drr::default();
    let mut sizes = [4096; 8];
    sizes[0] = 96;
    assert_eq!(order(&mut drr, &quanta, 0b11, sizes, 43)[41..], [0, 1]);
}

#[test]
fn a_class_held_back_by_pfc_keeps_its_deficit_but_earns_nothing() {
    let quanta = Quanta::new(&[2, 1, 0, 0, 0, 0, 0, 0]);
    let mut drr = Drr::default();
    // Quanta 4096 and 2048: class 1 can send after its second turn.
    assert_eq!(order(&mut drr, &quanta, 0b11, [4096; 8], 2), [0, 0]);
    // It has had one turn. While it is held back, class 0 sends; then one more turn suffices.
    assert_eq!(order(&mut drr, &quanta, 0b01, [4096; 8], 10), [0; 10]);
    assert_eq!(order(&mut drr, &quanta, 0b11, [4096; 8], 1), [1]);
}

#[test]
fn a_class_without_weight_is_never_served_and_refused_if_it_carries_traffic() {
    let mut drr = Drr::default();
    assert_eq!(of(0, &order(&mut drr, &two(), 0b1101, [4096; 8], 100)), 0);
    assert_eq!(drr.pick(&two(), 0b0001, |_| Head { bytes: 64, last: true }), None);
    assert_eq!(drr.pick(&two(), 0, |_| Head { bytes: 64, last: true }), None);
    assert_eq!(two().validate(0b1100), Ok(()));
    let refused = two().validate(0b1101).unwrap_err().to_string();
    assert!(
        refused.starts_with("weight = 0: must be 1 to 65535 for a class that carries traffic"),
        "{refused}"
    );
}

#[test]
fn packets_of_many_quanta_are_sent_in_proportion_too() {
    // Quanta of 65 and 4095 B, packets of 9000 B: 1 : 63, one packet of class 0 in 139 rounds.
    let quanta = Quanta::new(&[1, 63, 0, 0, 0, 0, 0, 0]);
    let mut drr = Drr::default();
    let sent = order(&mut drr, &quanta, 0b11, [9_000; 8], 6_400);
    let few = of(0, &sent);
    assert!((99..=101).contains(&few), "{few}");
}

/// The algorithm as it stands in the paper (Figure 2 of Shreedhar and Varghese): all queues in a ring, quanta one by one.
struct Naive {
    quantum: [u32; 8],
    deficit: [u32; 8],
    turn: usize,
    begun: bool,
}

impl Naive {
    fn pick(&mut self, queues: &[VecDeque<u32>; 8]) -> usize {
        loop {
            let at = self.turn;
            if let Some(&bytes) = queues[at].front() {
                if !self.begun {
                    self.deficit[at] += self.quantum[at];
                    self.begun = true;
                }
                if bytes <= self.deficit[at] {
                    self.deficit[at] -= bytes;
                    if queues[at].len() == 1 {
                        self.deficit[at] = 0;
                    }
                    return at;
                }
            }
            self.turn = (at + 1) % 8;
            self.begun = false;
        }
    }
}

proptest! {
    #[test]
    fn the_order_is_that_of_the_algorithm_in_the_paper(
        weights in prop::array::uniform8(1..200_u16),
        script in prop::collection::vec((0..8_usize, 1..20_000_u32, 0..3_u8), 1..300),
    ) {
        let quanta = Quanta::new(&weights);
        let mut naive = Naive {
            quantum: std::array::from_fn(|class| quanta.of(class as u8)),
            deficit: [0; 8],
            turn: 0,
            begun: false,
        };
        let (mut drr, mut queues) = (Drr::default(), <[VecDeque<u32>; 8]>::default());
        for (class, bytes, sends) in script {
            queues[class].push_back(bytes);
            for _ in 0..sends {
                let ready = (0..8).filter(|&c| !queues[c].is_empty()).fold(0, |set, c| set | 1 << c);
                let head = |c: u8| {
                    let queue = &queues[usize::from(c)];
                    Head { bytes: queue[0], last: queue.len() == 1 }
                };
                let picked = drr.pick(&quanta, ready, head);
                prop_assert_eq!(picked.is_none(), ready == 0);
                let Some(picked) = picked else { break };
                prop_assert_eq!(usize::from(picked), naive.pick(&queues));
                queues[usize::from(picked)].pop_front();
            }
        }
    }
}
