//! Queue pairs that lose packets: by hand, as InfiniBand (go-back-N) and IRN §3.1 (selective repeat) have it, and under any loss.
use std::collections::{BTreeSet, VecDeque};

use backwater_control::transport::block_list::{Packets, Walker};
use backwater_control::transport::go_back_n::GoBackN;
use backwater_control::transport::selective::{Lost, Requester, Responder, SelectiveConfig, Taken, words};
use backwater_control::transport::{Initiator, Next, ReplayMoves, Verdict};
use backwater_units::{Span, Time};
use proptest::prelude::*;

const PAPER: SelectiveConfig = SelectiveConfig { after_nack: Lost::Lost, after_timeout: Lost::Lost };
const ALL: SelectiveConfig = SelectiveConfig { after_nack: Lost::All, after_timeout: Lost::All };

fn after(packets: u32) -> (Requester, Vec<u64>) {
    let (mut requester, bits) = (Requester::default(), vec![0; words(64)]);
    for number in 0..packets {
        assert_eq!(requester.sent(&bits), (number, false));
    }
    (requester, bits)
}

/// Sends as long as something is lost.
fn repeats(requester: &mut Requester, bits: &[u64]) -> Vec<u32> {
    let mut sent = Vec::new();
    while requester.again().is_some() {
        sent.push(requester.sent(bits).0);
    }
    sent
}

#[test]
fn a_responder_asks_once_a_gap_and_again_when_that_is_wanted() {
    let at = |us: u64| Time::from_ps(us * 1_000_000);
    let mut once = GoBackN::default();
    assert_eq!(once.on_packet(None, 0, at(0)), Verdict::Accept);
    assert_eq!(once.on_packet(None, 2, at(1)), Verdict::Drop { nack: true, gap: true });
    assert_eq!(once.on_packet(None, 3, at(100)), Verdict::Drop { nack: false, gap: true });
    assert_eq!(once.on_packet(None, 0, at(101)), Verdict::Duplicate);
    assert_eq!((once.on_packet(None, 1, at(102)), once.expected()), (Verdict::Accept, 2));
    assert_eq!(once.on_packet(None, 3, at(103)), Verdict::Drop { nack: true, gap: true });
    let (mut again, every) = (GoBackN::default(), Some(Span::from_us(4)));
    let nacks = [(1, 0), (2, 1), (3, 3), (4, 4), (5, 7), (6, 8)].map(|(number, us)| {
        again.on_packet(every, number, at(us)) == Verdict::Drop { nack: true, gap: true }
    });
    assert_eq!(nacks, [true, false, false, true, false, true]);
}

#[test]
fn a_timeout_of_a_queue_pair_goes_back_to_the_oldest_packet_and_on_to_new_ones() {
    let mut requester = Initiator::new(ReplayMoves::AtOnce);
    for _ in 0..4 {
        let _ = requester.sent();
    }
    requester.on_ack(1);
    assert!(requester.on_implied_nack().replay);
    let sent: Vec<u32> = (0..4).map(|_| requester.sent().seq).collect();
    assert_eq!(sent, [2, 3, 4, 5]);
    requester.on_ack(5);
    assert!(requester.on_implied_nack().ignored, "nothing is under way");
    assert_eq!(requester.next(), Next::New);
}

#[test]
fn recovery_sends_the_cumulative_packet_then_what_is_missing_below_the_highest_sack_then_new_ones() {
    let (mut requester, mut bits) = after(10);
    // 2, 4 and 5 are lost; 3 arrives, then 6.
    requester.on_nack(&PAPER, 2, 3, &mut bits);
    assert_eq!(repeats(&mut requester, &bits), [2]);
    requester.on_nack(&PAPER, 2, 6, &mut bits);
    assert_eq!(repeats(&mut requester, &bits), [4, 5]);
    assert_eq!(requester.sent(&bits), (10, false), "then new packets");
    requester.on_ack(4, &mut bits);
    assert!(requester.recovering());
    requester.on_ack(9, &mut bits);
    assert!(requester.recovering(), "9 had been sent when recovery began");
    requester.on_ack(10, &mut bits);
    assert!(!requester.recovering());
}

#[test]
fn what_has_arrived_stands_from_one_recovery_to_the_next() {
    let (mut requester, mut bits) = after(6);
    // 0 is lost; recovery ends with packet 5.
    requester.on_nack(&PAPER, 0, 1, &mut bits);
    assert_eq!(repeats(&mut requester, &bits), [0]);
    for number in 6..12 {
        assert_eq!(requester.sent(&bits), (number, false));
    }
    // 6, 8 and 10 are lost, too: 11 has arrived before the cumulative ACK comes.
    requester.on_nack(&PAPER, 0, 11, &mut bits);
    requester.on_ack(6, &mut bits);
    assert!(!requester.recovering());
    // A NACK for 7 begins the next one: all that is missing below 11 is lost, not only what is below 7.
    requester.on_nack(&PAPER, 6, 7, &mut bits);
    assert_eq!(repeats(&mut requester, &bits), [6, 8, 9, 10]);
}

#[test]
fn a_timeout_brings_the_oldest_packet_alone_unless_all_count_as_lost() {
    let (mut requester, mut bits) = after(5);
    requester.on_ack(2, &mut bits);
    let mut all = requester;
    requester.on_timeout(&PAPER, &bits);
    assert_eq!(repeats(&mut requester, &bits), [2]);
    all.on_nack(&PAPER, 2, 3, &mut bits);
    all.on_timeout(&ALL, &bits);
    assert_eq!(repeats(&mut all, &bits), [2, 4]);
    let (mut nothing, bits) = after(0);
    nothing.on_timeout(&PAPER, &bits);
    assert!(!nothing.recovering());
}

#[test]
fn the_cap_counts_from_the_last_cumulative_ack() {
    let (mut requester, mut bits) = after(3);
    assert!(requester.may_send(1000, 3001) && !requester.may_send(1000, 3000));
    requester.on_nack(&PAPER, 0, 2, &mut bits);
    assert!(!requester.may_send(1000, 3000), "a SACK opens nothing");
    requester.on_ack(1, &mut bits);
    assert!(requester.may_send(1000, 3000));
}

#[test]
fn a_responder_keeps_what_is_early_and_answers_each_of_them() {
    let (mut responder, at) = (Responder::default(), |us: u64| Time::from_ps(us * 1_000_000));
    assert_eq!(responder.on_packet(None, 0, 0, false, at(0)), Taken::InOrder);
    assert_eq!(responder.on_packet(None, 2, 1, false, at(1)), Taken::Early { nack: true });
    assert_eq!(responder.on_packet(None, 2, 1, true, at(2)), Taken::Held { nack: true });
    assert_eq!(responder.on_packet(None, 0, 1, false, at(3)), Taken::Duplicate);
    let every = Some(Span::from_us(4));
    assert_eq!(responder.on_packet(every, 2, 1, true, at(5)), Taken::Held { nack: false });
    assert_eq!(responder.on_packet(every, 3, 1, false, at(5)), Taken::Early { nack: true });
    assert_eq!(responder.on_packet(every, 2, 1, true, at(9)), Taken::Held { nack: true });
}

#[test]
fn a_held_packet_is_answered_at_once_when_another_gap_is_open() {
    let (mut responder, at) = (Responder::default(), |us: u64| Time::from_ps(us * 1_000_000));
    let every = Some(Span::from_us(4));
    assert_eq!(responder.on_packet(every, 3, 0, false, at(0)), Taken::Early { nack: true });
    assert_eq!(responder.on_packet(every, 3, 0, true, at(1)), Taken::Held { nack: false });
    assert_eq!(responder.on_packet(every, 0, 0, false, at(2)), Taken::InOrder);
    assert_eq!(responder.on_packet(every, 3, 1, true, at(3)), Taken::Held { nack: true });
}

/// What a walker sends next, at most so many packets, of two bytes each, under a cap of so many bytes.
fn walks(walker: &mut Walker, bits: &mut [u64], cap: u64, most: usize) -> Vec<u32> {
    let packets = Packets { count: 20, payload: 2, last: 2 };
    let mut sent = Vec::new();
    while sent.len() < most && walker.may_send(&packets, cap) {
        sent.push(walker.next(bits));
        walker.sent(bits);
    }
    sent
}

#[test]
fn a_walker_goes_back_to_the_oldest_packet_and_skips_the_first_block_alone() {
    let (mut walker, mut bits) = (Walker::default(), vec![0; words(64)]);
    assert_eq!(walks(&mut walker, &mut bits, 100, 10), (0..10).collect::<Vec<u32>>());
    // 0 has come, 1 is lost, 2 and 3 have come, 4 is lost, 5 has come.
    assert!(!walker.on_reply(1, false, None, &mut bits));
    assert!(walker.on_reply(1, true, Some(2), &mut bits), "recovery begins");
    assert_eq!(walks(&mut walker, &mut bits, 100, 1), [1]);
    assert!(!walker.on_reply(1, true, Some(3), &mut bits), "it goes on");
    assert!(!walker.on_reply(1, true, Some(5), &mut bits));
    // The first block is 2 and 3: it is skipped and forgotten. Then 5 is the first one. 6 and above are in flight, and go again.
    assert_eq!(walks(&mut walker, &mut bits, 100, 3), [4, 6, 7]);
    assert_eq!(walker.oldest(), 1);
    // All that had been next has come: 10 packets. A reply without a block ends recovery before that, too.
    assert!(!walker.on_reply(8, false, None, &mut bits));
    assert!(walker.on_reply(8, true, Some(9), &mut bits), "another recovery");
}

#[test]
fn a_walker_may_let_the_packet_go_that_crosses_its_cap() {
    let (mut walker, mut bits) = (Walker::default(), vec![0; words(64)]);
    // Four bytes are less than five, and then there are six.
    assert_eq!(walks(&mut walker, &mut bits, 5, 99), [0, 1, 2]);
    walker.on_timeout();
    assert_eq!(walks(&mut walker, &mut bits, 5, 99), [0, 1, 2]);
    let packets = Packets { count: 3, payload: 1000, last: 1 };
    assert_eq!([0, 2, 3].map(|number| packets.before(number)), [0, 2000, 2001]);
}

/// A requester of either kind.
enum Sends {
    GoBackN(Initiator),
    Selective(Requester, Vec<u64>, SelectiveConfig),
}

impl Sends {
    /// The number of the next packet, if one may go: of so many, with this cap.
    fn next(&self, packets: u32, cap: u32) -> Option<u32> {
        let (again, newest, open) = match self {
            Self::GoBackN(it) => {
                let again = if let Next::Again(seq) = it.next() { Some(seq - 1) } else { None };
                (again, it.newest(), it.next() != Next::Nothing)
            }
            Self::Selective(it, ..) => (it.again(), it.newest(), it.may_send(1, u64::from(cap))),
        };
        again.or((open && newest < packets).then_some(newest))
    }

    fn sent(&mut self) {
        match self {
            Self::GoBackN(it) => drop(it.sent()),
            Self::Selective(it, bits, _) => drop(it.sent(bits)),
        }
    }

    fn reply(&mut self, reply: Reply) {
        match (self, reply) {
            (Self::GoBackN(it), Reply::Ack(expected)) => drop(it.on_ack(expected)),
            (Self::GoBackN(it), Reply::Nack(expected, _)) => drop(it.on_nack(expected)),
            (Self::Selective(it, bits, _), Reply::Ack(expected)) => drop(it.on_ack(expected, bits)),
            (Self::Selective(it, bits, config), Reply::Nack(expected, number)) => {
                it.on_nack(config, expected, number, bits);
            }
        }
    }

    fn timeout(&mut self) {
        match self {
            Self::GoBackN(it) => drop(it.on_implied_nack()),
            Self::Selective(it, bits, config) => it.on_timeout(config, bits),
        }
    }

    fn is_done(&self, packets: u32) -> bool {
        match self {
            Self::GoBackN(it) => it.oldest() > packets,
            Self::Selective(it, ..) => it.oldest() == packets,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Reply {
    Ack(u32),
    Nack(u32, u32),
}

/// A responder of either kind.
enum Takes {
    GoBackN(GoBackN),
    Selective(Responder, BTreeSet<u32>, u32),
}

impl Takes {
    /// What goes back, and what is delivered.
    fn packet(&mut self, number: u32, delivered: &mut Vec<u32>) -> Option<Reply> {
        match self {
            Self::GoBackN(it) => match it.on_packet(None, number, Time::ZERO) {
                Verdict::Accept => {
                    delivered.push(number);
                    Some(Reply::Ack(it.expected()))
                }
                Verdict::Duplicate => Some(Reply::Ack(it.expected())),
                Verdict::Drop { nack, .. } => nack.then(|| Reply::Nack(it.expected(), number)),
            },
            Self::Selective(it, kept, expected) => {
                match it.on_packet(None, number, *expected, kept.contains(&number), Time::ZERO) {
                    Taken::InOrder => {
                        kept.insert(number);
                        while kept.remove(expected) {
                            delivered.push(*expected);
                            *expected += 1;
                        }
                        Some(Reply::Ack(*expected))
                    }
                    Taken::Duplicate => Some(Reply::Ack(*expected)),
                    Taken::Early { nack } | Taken::Held { nack } => {
                        kept.insert(number);
                        nack.then_some(Reply::Nack(*expected, number))
                    }
                }
            }
        }
    }
}

/// What happens between the two ends.
#[derive(Clone, Copy, Debug)]
enum Happens {
    Send,
    Timeout,
    /// Packets or replies under way: one arrives, goes, or is there twice; by its place among them.
    Arrives(bool, usize),
    IsLost(bool, usize),
    Doubles(bool, usize),
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        6 => Just(Happens::Send),
        1 => Just(Happens::Timeout),
        6 => (any::<bool>(), 0..4_usize).prop_map(|(back, at)| Happens::Arrives(back, at)),
        2 => (any::<bool>(), 0..4_usize).prop_map(|(back, at)| Happens::IsLost(back, at)),
        1 => (any::<bool>(), 0..4_usize).prop_map(|(back, at)| Happens::Doubles(back, at)),
    ]
}

fn run(
    mut sends: Sends,
    mut takes: Takes,
    packets: u32,
    cap: u32,
    events: &[Happens],
) -> Result<(), TestCaseError> {
    let (mut forth, mut back, mut delivered) = (VecDeque::new(), VecDeque::new(), Vec::new());
    let send = |sends: &mut Sends, forth: &mut VecDeque<u32>| {
        let next = sends.next(packets, cap);
        if let Some(number) = next {
            sends.sent();
            forth.push_back(number);
        }
        next.is_some()
    };
    for event in events {
        match *event {
            Happens::Send => drop(send(&mut sends, &mut forth)),
            Happens::Timeout => sends.timeout(),
            Happens::Arrives(false, at) => {
                if let Some(number) = forth.remove(at) {
                    back.extend(takes.packet(number, &mut delivered));
                }
            }
            Happens::Arrives(true, at) => {
                if let Some(reply) = back.remove(at) {
                    sends.reply(reply);
                }
            }
            Happens::IsLost(false, at) => drop(forth.remove(at)),
            Happens::IsLost(true, at) => drop(back.remove(at)),
            Happens::Doubles(false, at) => forth.extend(forth.get(at).copied()),
            Happens::Doubles(true, at) => back.extend(back.get(at).copied()),
        }
    }
    // From now on nothing is lost: each round brings at least one packet more.
    for _ in 0..=3 * packets {
        while send(&mut sends, &mut forth) {}
        for number in forth.drain(..) {
            back.extend(takes.packet(number, &mut delivered));
        }
        let silent = back.is_empty();
        for reply in back.drain(..) {
            sends.reply(reply);
        }
        if silent {
            sends.timeout();
        }
    }
    prop_assert!(sends.is_done(packets));
    prop_assert_eq!(delivered, (0..packets).collect::<Vec<_>>());
    Ok(())
}

proptest! {
    #[test]
    fn whatever_is_lost_reordered_or_doubled_each_packet_is_delivered_once_and_in_order(
        packets in 1..40_u32, cap in 1..40_u32, kind in 0..3, events in prop::collection::vec(happens(), 0..300)
    ) {
        let (sends, takes) = match kind {
            0 => (Sends::GoBackN(Initiator::new(ReplayMoves::AtOnce)), Takes::GoBackN(GoBackN::default())),
            kind => (
                Sends::Selective(
                    Requester::default(), vec![0; words(cap)], if kind == 1 { PAPER } else { ALL }
                ),
                Takes::Selective(Responder::default(), BTreeSet::new(), 0),
            ),
        };
        run(sends, takes, packets, cap, &events)?;
    }
}
