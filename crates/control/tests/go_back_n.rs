//! Both ends of a reliable stream, packet by packet, as section II-A of the EC paper has it.
use backwater_control::transport::{Acked, Initiator, Nacked, Next, ReplayMoves, Sent, Target, Verdict};

/// A stream that has sent so many packets.
fn sent(packets: u32, moves: ReplayMoves) -> Initiator {
    let mut initiator = Initiator::new(moves);
    for seq in 1..=packets {
        assert_eq!(initiator.next(), Next::New);
        assert_eq!(initiator.sent(), Sent { seq, again: false, acked: 0 });
    }
    initiator
}

/// Resends as long as there is something to be resent.
fn replay(initiator: &mut Initiator) -> Vec<u32> {
    let mut resent = Vec::new();
    while let Next::Again(seq) = initiator.next() {
        assert_eq!(initiator.sent().seq, seq);
        resent.push(seq);
    }
    resent
}

#[test]
fn an_ack_frees_everything_up_to_its_number_and_the_same_one_again_is_a_repeat() {
    let mut initiator = sent(10, ReplayMoves::AtOnce);
    assert_eq!(initiator.on_ack(4), Acked { packets: 4, covered: 4, fresh: 4, repeat: false });
    assert_eq!(initiator.on_ack(4), Acked { packets: 0, covered: 0, fresh: 0, repeat: true });
    assert_eq!(initiator.on_ack(3), Acked { packets: 0, covered: 0, fresh: 0, repeat: true });
    assert_eq!(
        (initiator.freed(), initiator.oldest(), initiator.newest(), initiator.outstanding()),
        (4, 5, 10, 6)
    );
}

#[test]
fn a_nack_brings_everything_behind_it_again_in_order_and_then_new_packets() {
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    let nacked = initiator.on_nack(2);
    assert_eq!(nacked, Nacked { packets: 0, covered: 2, replay: true, ignored: false });
    assert!(initiator.replaying());
    assert_eq!(replay(&mut initiator), [3, 4, 5, 6]);
    assert_eq!(initiator.next(), Next::New);
    assert_eq!(initiator.sent().seq, 7);
}

#[test]
fn acks_that_come_during_a_replay_count_when_it_ends() {
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    initiator.on_nack(2);
    assert_eq!(initiator.sent(), Sent { seq: 3, again: true, acked: 0 });
    assert_eq!(initiator.on_ack(3), Acked { packets: 0, covered: 1, fresh: 1, repeat: false });
    assert_eq!((initiator.outstanding(), initiator.oldest()), (6, 4));
    assert_eq!(initiator.sent().acked, 0);
    assert_eq!(initiator.sent().acked, 0);
    assert_eq!(initiator.sent(), Sent { seq: 6, again: true, acked: 3 });
    assert_eq!(initiator.outstanding(), 3);
}

#[test]
fn a_replay_passes_over_what_an_ack_has_covered_since() {
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    initiator.on_nack(2);
    initiator.on_ack(5);
    assert_eq!(replay(&mut initiator), [6]);
    initiator.on_nack(5);
    assert_eq!(initiator.on_ack(6).packets, 1);
    assert_eq!(initiator.next(), Next::New);
}

#[test]
fn a_second_nack_moves_the_replay_at_once_or_starts_another_at_its_end() {
    let mut at_once = sent(6, ReplayMoves::AtOnce);
    at_once.on_nack(1);
    at_once.sent();
    at_once.sent();
    assert!(at_once.on_nack(2).replay);
    assert_eq!(replay(&mut at_once), [3, 4, 5, 6]);

    let mut at_end = sent(6, ReplayMoves::AtEnd);
    at_end.on_nack(1);
    at_end.sent();
    at_end.sent();
    assert!(at_end.on_nack(2).replay);
    assert_eq!(replay(&mut at_end), [4, 5, 6, 3, 4, 5, 6]);
    assert_eq!(at_end.next(), Next::New);
}

#[test]
fn the_second_replay_is_not_needed_if_its_packets_are_acknowledged_meanwhile() {
    let mut initiator = sent(6, ReplayMoves::AtEnd);
    initiator.on_nack(1);
    initiator.sent();
    initiator.on_nack(2);
    initiator.on_ack(4);
    assert_eq!(replay(&mut initiator), [5, 6]);
    assert_eq!(initiator.next(), Next::New);
}

#[test]
fn iacks_of_packets_that_a_nack_has_covered_are_no_repeats() {
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    initiator.on_ack(1);
    initiator.on_nack(3);
    assert_eq!(initiator.on_ack(2), Acked { packets: 0, covered: 0, fresh: 1, repeat: false });
    assert_eq!(initiator.on_ack(3), Acked { packets: 0, covered: 0, fresh: 1, repeat: false });
    assert_eq!(initiator.on_ack(3), Acked { packets: 0, covered: 0, fresh: 0, repeat: true });
    // Where the target sends DACKs instead, the next IACK is worth the one packet that is new.
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    initiator.on_ack(1);
    initiator.on_nack(3);
    initiator.sent();
    assert_eq!(initiator.on_ack(4), Acked { packets: 0, covered: 1, fresh: 1, repeat: false });
}

#[test]
fn a_nack_older_than_an_ack_starts_nothing() {
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    initiator.on_ack(4);
    assert_eq!(initiator.on_nack(2), Nacked { packets: 0, covered: 0, replay: false, ignored: true });
    assert_eq!(initiator.next(), Next::New);
}

#[test]
fn after_a_timeout_the_expired_packets_go_and_nothing_new_until_all_is_acknowledged() {
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    initiator.on_ack(2);
    initiator.on_timeout(4);
    assert_eq!(replay(&mut initiator), [3, 4]);
    assert_eq!(initiator.next(), Next::Nothing);
    assert!(initiator.recovering());
    assert_eq!(initiator.on_ack(5).packets, 3);
    assert_eq!(initiator.next(), Next::Nothing);
    assert_eq!(initiator.on_ack(6).packets, 1);
    assert_eq!(initiator.next(), Next::New);
    assert!(!initiator.recovering());
}

#[test]
fn while_a_timeout_is_mended_nacks_start_nothing_but_tell_what_has_arrived() {
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    initiator.on_timeout(1);
    replay(&mut initiator);
    assert_eq!(initiator.on_nack(3), Nacked { packets: 3, covered: 3, replay: false, ignored: true });
    assert_eq!(initiator.next(), Next::Nothing);
    assert_eq!(initiator.oldest(), 4);
}

#[test]
fn a_later_timeout_goes_on_where_the_acks_have_come_to() {
    let mut initiator = sent(6, ReplayMoves::AtOnce);
    initiator.on_timeout(4);
    initiator.sent();
    initiator.on_ack(1);
    initiator.on_timeout(2);
    assert_eq!(replay(&mut initiator), [2, 3, 4]);
}

#[test]
fn a_timeout_takes_the_place_of_a_replay() {
    let mut initiator = sent(6, ReplayMoves::AtEnd);
    initiator.on_nack(0);
    initiator.sent();
    initiator.on_nack(1);
    initiator.on_timeout(3);
    assert_eq!(replay(&mut initiator), [2, 3]);
    assert_eq!(initiator.next(), Next::Nothing);
}

#[test]
fn a_target_accepts_in_order_and_acknowledges_old_packets_again() {
    let mut target = Target::default();
    assert_eq!(target.on_packet(1, true), Verdict::Accept);
    assert_eq!(target.on_packet(2, true), Verdict::Accept);
    assert_eq!(target.on_packet(1, true), Verdict::Duplicate);
    assert_eq!(target.on_packet(2, false), Verdict::Duplicate);
    assert_eq!((target.accepted(), target.in_episode()), (2, false));
}

#[test]
fn an_episode_of_loss_brings_one_nack_and_one_more_each_time_the_expected_packet_is_dropped() {
    let mut target = Target::default();
    let (full, gap) = (|nack| Verdict::Drop { nack, gap: false }, |nack| Verdict::Drop { nack, gap: true });
    target.on_packet(1, true);
    assert_eq!(target.on_packet(2, false), full(true));
    assert_eq!(target.on_packet(3, true), gap(false));
    assert_eq!(target.on_packet(4, false), gap(false));
    assert!(target.in_episode());
    assert_eq!(target.on_packet(2, false), full(true));
    assert_eq!(target.on_packet(1, true), Verdict::Duplicate);
    assert!(target.in_episode());
    assert_eq!(target.on_packet(2, true), Verdict::Accept);
    assert!(!target.in_episode());
}

#[test]
fn a_packet_that_the_network_has_lost_is_noticed_by_the_one_behind_it() {
    let mut target = Target::default();
    assert_eq!(target.on_packet(2, true), Verdict::Drop { nack: true, gap: true });
    assert_eq!(target.on_packet(3, true), Verdict::Drop { nack: false, gap: true });
    assert_eq!(target.accepted(), 0);
}
